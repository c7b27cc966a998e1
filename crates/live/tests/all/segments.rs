//! Segmentation as in the kernel, and coalescing that segmentation reverses exactly.

use crate::octets::{ones_complement, packet, real, transport_sum};
use airpath_core::packet::{Flags, Form, Kind, Opaque, Packet};
use airpath_core::wire::{checked_payload, parse};
use airpath_live::segments::{HEADER_BYTES, Large, Run};
use proptest::prelude::*;

const PORTS: (u16, u16) = (5001, 40_000);
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;
const WITH_CWR: u8 = 0x80;

fn header(flags: u8, kind: u8, words: [usize; 4]) -> Vec<u8> {
    let words = words.iter().flat_map(|word| (*word as u16).to_ne_bytes());
    [flags, kind].into_iter().chain(words).collect()
}

/// What a kernel with offloads hands over: a packet of many segments, its checksum still to be made.
fn handed_over(v6: bool, seed: &Packet, payload: &[u8], size: usize) -> Vec<u8> {
    let mut bytes = real(v6, PORTS, seed, payload);
    let (transport, addresses) = if v6 { (40, 8..40) } else { (20, 12..20) };
    let (protocol, checksum, length, kind) = match (seed.is_tcp(), v6) {
        (true, false) => (6, 16, usize::from(bytes[32] >> 4) * 4, TCP_V4),
        (true, true) => (6, 16, usize::from(bytes[52] >> 4) * 4, TCP_V6),
        (false, _) => (17, 6, 8, UDP),
    };
    let behind = ((bytes.len() - transport) as u32).to_be_bytes();
    let pseudo = ones_complement(&[&bytes[addresses], &behind, &[0, protocol]]);
    bytes[transport + checksum..transport + checksum + 2].copy_from_slice(&pseudo.to_be_bytes());
    let kind = if seed.is_tcp() && seed.flags.has(Flags::CWR) { kind | WITH_CWR } else { kind };
    // A packet of one segment does not say so.
    let (kind, size) = if payload.len() > size { (kind, size) } else { (0, 0) };
    [header(1, kind, [transport + length, size, transport, checksum]), bytes].concat()
}

/// The packets in what was handed over.
fn cut(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut large = Large::new(true);
    large.buffer()[..bytes.len()].copy_from_slice(bytes);
    large.fill(bytes.len());
    let mut packets = Vec::new();
    while !large.is_empty() {
        packets.push(Vec::new());
        large.take(packets.last_mut().unwrap());
    }
    packets
}

/// What is written for packets that leave together.
fn joined(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (mut run, mut written) = (Run::new(true), Vec::new());
    for packet in packets {
        if !run.add(packet) {
            written.push(run.take().to_vec());
            assert!(run.add(packet));
        }
    }
    if run.packets() > 0 {
        written.push(run.take().to_vec());
    }
    written
}

fn parsed(bytes: &[u8]) -> Packet {
    let mut packet = Packet::default();
    parse(bytes, &mut packet);
    packet
}

prop_compose! {
    /// A segment's fields: TCP, of any flags but SYN, or UDP.
    fn fields()(
        numbers: (u32, u32, u32, u32, u16), flags in 0..0x100_u16, ecn in 0..4_u8, has_timestamps: bool, udp: bool,
    ) -> Packet {
        let (seq, ack, ts_val, ts_ecr, window) = numbers;
        let kind = if udp { Kind::Opaque(Opaque::OtherProtocol) } else { Kind::Tcp };
        let flags = Flags(flags & !Flags::SYN.0);
        Packet { seq, ack, ts_val, ts_ecr, window, flags, form: Form::TCP.with_ecn(ecn).with_kind(kind), has_timestamps, ..Packet::default() }
    }
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    (1..9000_usize, any::<u64>()).prop_map(|(length, seed)| {
        (0..length as u64).map(|n| (seed.rotate_left(n as u32 % 64) ^ n) as u8).collect()
    })
}

/// A segment in the middle of a download.
fn data() -> Packet {
    let flags = Flags::ACK;
    Packet {
        seq: 1000,
        ack: 1,
        window: 500,
        flags,
        has_timestamps: true,
        ts_val: 7,
        ts_ecr: 8,
        ..Packet::default()
    }
}

proptest! {
    #[test]
    fn each_packet_of_a_cut_is_whole(fields in fields(), v6: bool, payload in payload(), size in 1..1500_usize) {
        let packets = cut(&handed_over(v6, &fields, &payload, size));
        prop_assert_eq!(packets.len(), payload.len().div_ceil(size));
        let mut data = Vec::new();
        for (n, bytes) in packets.iter().enumerate() {
            let packet = parsed(bytes);
            prop_assert_eq!(packet.len as usize, bytes.len());
            prop_assert_eq!(transport_sum(bytes), 0xffff);
            prop_assert!(v6 || ones_complement(&[&bytes[..20]]) == 0xffff);
            prop_assert!(v6 || u16::from_be_bytes([bytes[4], bytes[5]]) == 1 + n as u16);
            let [first, last] = [n == 0, n + 1 == packets.len()];
            if packet.is_tcp() {
                data.extend_from_slice(&bytes[checked_payload(bytes).unwrap()]);
                let not_first = if first { Flags::default() } else { Flags::CWR };
                let not_last = if last { Flags::default() } else { Flags::PSH | Flags::FIN };
                let expected = Packet {
                    seq: fields.seq.wrapping_add((n * size) as u32),
                    flags: Flags(fields.flags.0 & !(not_first | not_last).0),
                    form: fields.form.with_ip(packet.ip()).with_kind(Kind::Tcp),
                    len: packet.len,
                    payload: if last { payload.len() - n * size } else { size } as u32,
                    ..fields.clone()
                };
                let expected = if fields.has_timestamps { expected } else { Packet { ts_val: 0, ts_ecr: 0, ..expected } };
                prop_assert_eq!(packet, expected);
            } else {
                let headers = if v6 { 48 } else { 28 };
                data.extend_from_slice(&bytes[headers..]);
                let length = u16::from_be_bytes([bytes[headers - 4], bytes[headers - 3]]);
                prop_assert_eq!(usize::from(length), bytes.len() - headers + 8);
                prop_assert_eq!(packet.ecn(), fields.ecn());
            }
        }
        prop_assert_eq!(data, payload);
    }

    #[test]
    fn what_is_joined_and_cut_again_is_what_it_was(
        fields in fields(), v6: bool, payload in payload(), size in 1..1500_usize,
    ) {
        let packets = cut(&handed_over(v6, &fields, &payload, size));
        let written = joined(&packets);
        prop_assert_eq!(written.iter().flat_map(|bytes| cut(bytes)).collect::<Vec<_>>(), packets);
    }

    #[test]
    fn a_download_is_written_at_once(v6: bool, ece: bool, ecn in 0..4_u8, payload in payload(), size in 1..1500_usize) {
        let flags = if ece { Flags::ACK | Flags::ECE } else { Flags::ACK };
        let pushed = Packet { flags: flags | Flags::PSH, form: Form::TCP.with_ecn(ecn), ..data() };
        for fields in [Packet { flags, form: Form::TCP.with_ecn(ecn), ..data() }, pushed] {
            let whole = handed_over(v6, &fields, &payload, size);
            let packets = cut(&whole);
            let mut written = joined(&packets);
            prop_assert_eq!(written.len(), 1);
            if packets.len() == 1 {
                prop_assert_eq!(&written[0][..HEADER_BYTES], &[0; HEADER_BYTES]);
            } else {
                // The kernel requires a checksum in an IPv4 header; `whole` has it too.
                prop_assert_eq!(written.remove(0), whole);
            }
        }
    }

    #[test]
    fn whatever_leaves_together_arrives_octet_by_octet_in_its_order(
        packets in prop::collection::vec((packet(), 1..4_usize), 0..12),
        more in prop::collection::vec((fields(), any::<bool>(), payload(), 1..1500_usize), 0..3),
    ) {
        let mut all = Vec::new();
        packets.into_iter().for_each(|(bytes, times)| all.extend(std::iter::repeat_n(bytes, times)));
        all.extend(more.iter().flat_map(|(fields, v6, payload, size)| cut(&handed_over(*v6, fields, payload, *size))));
        all.retain(|bytes| bytes.len() < 1 << 16);
        let written = joined(&all);
        prop_assert_eq!(written.iter().flat_map(|bytes| cut(bytes)).collect::<Vec<_>>(), all);
    }

    #[test]
    fn no_header_and_no_packet_make_a_cut_fail(
        mut front in prop::collection::vec(any::<u8>(), HEADER_BYTES), kind in prop::sample::select(vec![0, 1, 3, 4, 5, 0x81, 0x85]),
        mut bytes in packet(), flags in 0..2_u8, transport in 0..60_u16, size in 0..200_u16,
    ) {
        bytes.truncate(2000);
        (front[0], front[1]) = (flags, kind);
        front[4..6].copy_from_slice(&size.to_ne_bytes());
        front[6..8].copy_from_slice(&transport.to_ne_bytes());
        for end in [0, 1, 5, HEADER_BYTES, HEADER_BYTES + bytes.len()] {
            let whole = [&front[..], &bytes].concat();
            let packets = cut(&whole[..end]);
            prop_assert!(packets.iter().map(Vec::len).sum::<usize>() >= end.saturating_sub(HEADER_BYTES));
        }
    }
}

/// tun-rs has a cut of its own.
#[cfg(target_os = "linux")]
mod beside_another_implementation {
    use super::*;
    use tun_rs::{VirtioNetHdr, gso_split};

    proptest! {
        #[test]
        fn cuts_agree(fields in fields(), v6: bool, payload in payload(), size in 1..1500_usize) {
            let mut whole = handed_over(v6, &fields, &payload, size);
            let packets = cut(&whole);
            prop_assume!(packets.len() > 1);
            let header = VirtioNetHdr::decode(&whole).unwrap();
            let (mut theirs, mut sizes) = (vec![vec![0; 1600]; packets.len()], vec![0; packets.len()]);
            let count = gso_split(&mut whole[HEADER_BYTES..], header, &mut theirs, &mut sizes, 0, v6).unwrap();
            prop_assert_eq!(count, packets.len());
            theirs.iter_mut().zip(sizes).for_each(|(bytes, length)| bytes.truncate(length));
            prop_assert_eq!(theirs, packets);
        }
    }
}

/// Found by fuzzing: what says that it is TCP of many segments, with a header of 8 octets.
#[test]
fn what_has_no_whole_tcp_header_is_carried_as_it_is() {
    let mut packet = vec![0; 100];
    (packet[0], packet[20 + 12]) = (0x45, 2 << 4);
    let whole = [header(0, TCP_V4, [28, 10, 20, 6]), packet.clone()].concat();
    assert_eq!(cut(&whole), [packet]);
}

#[test]
fn only_the_next_segment_of_a_flow_with_the_same_fields_joins_a_run() {
    let segment = |fields: &Packet, length: usize| real(false, PORTS, fields, &vec![3; length]);
    let next = Packet { seq: 1100, ..data() };
    type Change = fn(&mut Packet);
    let with = |change: Change| {
        let mut packet = next.clone();
        change(&mut packet);
        second(segment(&packet, 100))
    };
    let joins = |packet: Vec<u8>| joined(&[segment(&data(), 100), packet]).len() == 1;
    assert!(joins(with(|_| {})));
    assert!(joins(with(|packet| packet.flags = packet.flags | Flags::PSH)));
    assert!(joins(second(segment(&next, 99))));
    let others: [(&str, Change); 11] = [
        ("a gap", |packet| packet.seq += 1),
        ("again", |packet| packet.seq -= 100),
        ("acknowledges more", |packet| packet.ack += 1),
        ("another window", |packet| packet.window += 1),
        ("another time", |packet| packet.ts_val += 1),
        ("another echo", |packet| packet.ts_ecr += 1),
        ("no timestamps", |packet| packet.has_timestamps = false),
        ("congestion met", |packet| packet.mark()),
        ("ECE", |packet| packet.flags = packet.flags | Flags::ECE),
        ("FIN", |packet| packet.flags = packet.flags | Flags::FIN),
        ("AE", |packet| packet.flags = packet.flags | Flags::AE),
    ];
    for (what, change) in others {
        assert!(!joins(with(change)), "{what}");
    }
    assert!(!joins(second(segment(&next, 101))), "longer");
    assert!(!joins(second(segment(&next, 0))), "no data");
    assert!(!joins(second(real(false, (5001, 40_001), &next, &[3; 100]))), "another flow");
    assert!(!joins(second(real(true, PORTS, &next, &[3; 100]))), "another version");
    assert!(!joins(segment(&next, 100)), "another identification than the next");
    for octet in [1, 8, 10, 60, 100] {
        let mut bytes = second(segment(&next, 100));
        bytes[octet] ^= 0x04;
        assert!(!joins(bytes), "octet {octet} changed on the way");
    }
}

/// With the identification of a second packet.
fn second(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes[0] == 0x45 {
        bytes[5] += 1;
        bytes[10..12].fill(0);
        let checksum = !ones_complement(&[&bytes[..20]]);
        bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
    bytes
}

#[test]
fn a_run_ends_with_a_push_a_short_segment_and_the_longest_packet() {
    let push = Packet { flags: Flags::ACK | Flags::PSH, ..data() };
    let bulk = cut(&handed_over(true, &data(), &[1; 65_000], 1000));
    let pushed = cut(&handed_over(true, &push, &[1; 3000], 1000));
    let short = cut(&handed_over(true, &data(), &[1; 2500], 1000));
    let ends = |packets: &[Vec<u8>], next: &Vec<u8>| {
        joined(&[packets, std::slice::from_ref(next)].concat()).len() == 2
    };
    let follows = |seq: u32| real(true, PORTS, &Packet { seq, ..data() }, &[1; 1000]);
    assert!(ends(&pushed, &follows(4000)));
    assert!(ends(&short, &follows(3500)));
    assert!(!ends(&cut(&handed_over(true, &data(), &[1; 3000], 1000)), &follows(4000)));
    assert!(ends(&bulk, &follows(66_000)));
    assert_eq!(joined(&bulk).len(), 1);
}

#[test]
fn a_device_without_offloads_gets_and_gives_packets_as_they_are() {
    let bytes = real(false, PORTS, &data(), &[3; 100]);
    let (mut run, mut large, mut out) = (Run::new(false), Large::new(false), Vec::new());
    assert!(run.add(&bytes));
    assert!(!run.add(&second(real(false, PORTS, &Packet { seq: 1100, ..data() }, &[3; 100]))));
    assert_eq!(run.take(), bytes);
    large.buffer()[..bytes.len()].copy_from_slice(&bytes);
    large.fill(bytes.len());
    large.take(&mut out);
    assert_eq!((out, large.is_empty()), (bytes, true));
}
