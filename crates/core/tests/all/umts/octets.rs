//! The box at the RNC, octet by octet: datagrams come out of GTP-U, are read, pass the box, are written back and
//! continue in GTP-U; and the same packets without tunnels.

use airpath_core::gtp::{Endpoint, Received, Relay, Relayed, Side, Tunnel};
use airpath_core::middlebox::{Config, Plan, rnc_feedback};
use airpath_core::packet::{Body, Dir, Flags, Form, Packet};
use airpath_core::path::Path;
use airpath_core::time::Instant;
use airpath_core::trace::ProbeMask;
use airpath_core::wire::{octets_of, parse, rewrite};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use std::net::Ipv4Addr;

const RNC: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SGSN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const GGSN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 3);
/// TEIDs of the tunnels' ends.
const AT_RNC: u32 = 0x11;
const AT_GGSN: u32 = 0x33;

/// The nodes of a network.
struct Nodes {
    rnc: Endpoint,
    sgsn: Relay,
    ggsn: Endpoint,
}

impl Nodes {
    fn new() -> Self {
        let (mut rnc, mut ggsn) = (Endpoint::new(RNC, true), Endpoint::new(GGSN, false));
        let mut sgsn = Relay::new(SGSN, false);
        let tunnel = |peer_teid, has_sequence_numbers| Tunnel {
            peer: SGSN,
            peer_teid,
            bearer: 0,
            has_sequence_numbers,
        };
        rnc.open(AT_RNC, tunnel(0x21, true)).unwrap();
        ggsn.open(AT_GGSN, tunnel(0x23, false)).unwrap();
        let iu = Side { teid: 0x21, peer: RNC, peer_teid: AT_RNC };
        let gn = Side { teid: 0x23, peer: GGSN, peer_teid: AT_GGSN };
        sgsn.join(iu, gn).unwrap();
        Self { rnc, sgsn, ggsn }
    }

    /// Packets at the far end of both tunnels.
    fn carry(&mut self, dir: Dir, packet: &[u8]) -> Vec<u8> {
        let (from, to, teid) = match dir {
            Dir::Downlink => (&mut self.ggsn, &mut self.rnc, AT_GGSN),
            Dir::Uplink => (&mut self.rnc, &mut self.ggsn, AT_RNC),
        };
        let mut datagram = Vec::new();
        from.send(teid, packet, &mut datagram).unwrap();
        let Relayed::Onward(datagram) = self.sgsn.receive(&datagram) else { panic!("not relayed") };
        match to.receive(&datagram) {
            Received::Packet { packet: came, .. } => came.to_vec(),
            other => panic!("{other:?}"),
        }
    }
}

/// The box alone, driven as a live driver does: octets in, octets out.
struct AtRnc(Path);

impl AtRnc {
    fn new() -> Self {
        let config = Config::RncFeedback(rnc_feedback::Config::default());
        Self(Path::new(vec![config.build(&Plan::of(1, &[]))], ProbeMask::NONE))
    }

    fn pass(&mut self, dir: Dir, octets: &[u8]) -> Vec<u8> {
        let mut packet = self.0.packet();
        parse(octets, &mut packet);
        (packet.ue, packet.flow) = (0, 0);
        packet.body = Some(Box::new(Body::new(octets.to_vec())));
        self.0.handle_packet(Instant::ZERO, dir, packet);
        let (_, _, mut boxed) = self.0.poll_output().unwrap();
        let mut body = boxed.body.take().unwrap();
        if body.touched {
            rewrite(&mut body.bytes, &boxed);
        }
        body.bytes
    }
}

fn segment(seq: u32) -> Vec<u8> {
    let packet = Packet {
        len: 1052,
        payload: 1000,
        seq,
        flags: Flags::ACK,
        has_timestamps: true,
        ..Packet::default()
    };
    octets_of(&packet, Dir::Downlink, seq as u16)
}

/// With an ECN field, a window, timestamps and SACK blocks, which the box must not change.
fn ack(number: u16, ack: u32, flags: Flags) -> Vec<u8> {
    let mut packet = Packet {
        ack,
        flags: Flags::ACK | flags,
        window: 777,
        form: Form::TCP.with_ecn(2),
        ..Packet::default()
    };
    (packet.has_timestamps, packet.ts_val, packet.ts_ecr) = (true, 1000 + u32::from(number), 999);
    if number > 0 {
        packet.options_mut().sack.push(3001, 3001 + 1000 * u32::from(number));
        packet.len = 64;
    } else {
        packet.len = 52;
    }
    octets_of(&packet, Dir::Uplink, number)
}

fn assert_checksums(octets: &[u8]) {
    let sliced = SlicedPacket::from_ip(octets).unwrap();
    let Some(NetSlice::Ipv4(ip)) = &sliced.net else { panic!("no IPv4") };
    let header = ip.header().to_header();
    assert_eq!(header.header_checksum, header.calc_header_checksum());
    let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else { panic!("no TCP") };
    assert_eq!(Ok(tcp.checksum()), tcp.calc_checksum_ipv4(header.source, header.destination));
}

#[test]
fn in_tunnels_and_without_the_box_changes_one_bit_and_the_checksum() {
    let (mut nodes, mut in_tunnels, mut plain) = (Nodes::new(), AtRnc::new(), AtRnc::new());
    for seq in (1..10_000).step_by(1000) {
        let sent = segment(seq);
        let at_rnc = nodes.carry(Dir::Downlink, &sent);
        assert_eq!(in_tunnels.pass(Dir::Downlink, &at_rnc), sent);
        assert_eq!(plain.pass(Dir::Downlink, &sent), sent);
    }
    // The segment from 2001 on does not arrive: the first ACK of it is new, then there are duplicates.
    let mut flagged = Vec::new();
    for number in 0..5 {
        let sent = ack(number, 2001, if number == 3 { Flags::ECE } else { Flags::default() });
        let boxed = in_tunnels.pass(Dir::Uplink, &sent);
        let came = nodes.carry(Dir::Uplink, &boxed);
        assert_eq!(came, boxed);
        assert_eq!(plain.pass(Dir::Uplink, &sent), came);
        assert_checksums(&came);
        let mut back = came.clone();
        back[20 + 12] &= !1;
        back[20 + 16..20 + 18].copy_from_slice(&sent[20 + 16..20 + 18]);
        assert_eq!(back, sent, "ACK {number}");
        flagged.push(came != sent);
        assert_eq!(flagged.last(), Some(&(came[20 + 12] & 1 == 1)));
    }
    // The third ACK is the second duplicate.
    assert_eq!(flagged, [false, false, true, true, true]);
    assert_eq!((nodes.ggsn.counters().packets_out, nodes.ggsn.counters().packets_in), (10, 5));
    assert_eq!(nodes.rnc.counters().all_rejected() + nodes.ggsn.counters().all_rejected(), 0);
}

/// A checksum that was wrong when it came is as wrong when it goes: the receiver still notices.
#[test]
fn a_wrong_checksum_stays_wrong() {
    let mut plain = AtRnc::new();
    plain.pass(Dir::Downlink, &segment(1));
    for number in 0..3 {
        let mut sent = ack(number, 1, Flags::default());
        let right = sent.clone();
        sent[20 + 17] ^= 1;
        let came = plain.pass(Dir::Uplink, &sent);
        let sum = |octets: &[u8]| u32::from(u16::from_be_bytes([octets[36], octets[37]]));
        let off = |one: u32, other: u32| (one + 0xffff - other) % 0xffff;
        let mut other = AtRnc::new();
        other.pass(Dir::Downlink, &segment(1));
        for earlier in 0..number {
            other.pass(Dir::Uplink, &ack(earlier, 1, Flags::default()));
        }
        let good = other.pass(Dir::Uplink, &right);
        assert_eq!(off(sum(&came), sum(&good)), off(sum(&sent), sum(&right)));
    }
}
