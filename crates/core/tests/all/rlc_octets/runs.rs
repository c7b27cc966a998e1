//! The capture of a whole run: its PDUs, its trace and its packets tell the same.

use std::collections::BTreeMap;

use airpath_core::element::Capture;
use airpath_core::packet::Dir;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::Instant;
use airpath_core::trace::{Event, Kind, ProbeMask};
use airpath_core::wire::rlc::{Pdu, Sn, StatusEnd, Sufi, UmdPdu};
use airpath_core::wire::rlc_lte;
use airpath_core::wire::{mac_lte, pdcp};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::{Block, PcapNgReader};

use super::lte;
use super::reassembly::Reassembly;
use super::unacknowledged::Unacknowledged;

/// Two UEs with a download and an upload each; losses of whole TTIs down, and of single PDUs up.
const TEXT: &str = r#"
duration = "100 s"

[radio.dch]
ues = 2

[radio.dch.downlink]
rate = "384 kbit/s"
delay = "15 ms"

[radio.dch.downlink.rlc.am]
tti = "10 ms"
errors = "per_tti"

[radio.dch.downlink.channel.markov_fading]
bler = 0.1
doppler = "1 Hz"
step = "10 ms"

[radio.dch.uplink]
rate = "64 kbit/s"
delay = "15 ms"

[radio.dch.uplink.rlc.am]
tti = "20 ms"
errors = "per_pdu"

[radio.dch.uplink.channel.bernoulli]
bler = 0.15

[[flow]]
app.bulk = {}

[[flow]]
direction = "uplink"
app.bulk = {}

[[flow]]
ue = 1
app.bulk = {}

[[flow]]
ue = 1
direction = "uplink"
app.bulk = {}
"#;

/// Sequence numbers of the modes.
const AM: Option<u64> = Some(4096);
const UM: Option<u64> = Some(128);

const AND_PDUS: Capture = Capture::PacketsAnd { pdus: true, iu: false };

/// Interfaces of the capture, in their order.
const SERVER: u32 = 0;
const UE: u32 = 1;
const RLC: u32 = 2;

/// IP and UDP headers in front of the framing.
const HEADERS: usize = 28;

/// A bearer: number of the UE, and which way it leads.
type Bearer = (u16, Dir);

struct Frame {
    interface: u32,
    at: Instant,
    octets: Vec<u8>,
    len: u32,
    lost: bool,
}

fn frames(capture: &[u8]) -> Vec<Frame> {
    let mut reader = PcapNgReader::new(capture).unwrap();
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else { continue };
        let comments =
            packet.options.iter().filter(|option| matches!(option, EnhancedPacketOption::Comment(_)));
        frames.push(Frame {
            interface: packet.interface_id,
            at: Instant::from_nanos(packet.timestamp.as_nanos() as u64),
            lost: comments.count() > 0,
            len: packet.original_len,
            octets: packet.data.into_owned(),
        });
    }
    frames
}

/// The mode of LTE's framing: acknowledged, or unacknowledged with so many bits of sequence number.
const LTE_AM: u8 = 100;

/// Reads the framing of LTE: a mode, tags of one octet, and of two for the UE and the channel. Mode, bearer and PDU.
fn framed_lte(octets: &[u8]) -> (u8, Bearer, Vec<u8>) {
    let (mut mode, mut rest) = (octets[0], &octets[1..]);
    let (mut dir, mut ue) = (None, None);
    while let [tag, behind @ ..] = rest {
        let (value, next) = behind.split_at(if *tag >= 5 { 2 } else { 1 });
        match tag {
            1 if mode == 4 => return (LTE_AM, (ue.unwrap(), dir.unwrap()), behind.to_vec()),
            1 => return (mode, (ue.unwrap(), dir.unwrap()), behind.to_vec()),
            2 => mode = value[0],
            3 => dir = Some(if value == [1] { Dir::Downlink } else { Dir::Uplink }),
            5 => ue = Some(u16::from_be_bytes([value[0], value[1]]) - 1),
            _ => {}
        }
        rest = next;
    }
    panic!("no PDU in {octets:02x?}");
}

/// Reads the framing: tags of one octet, and of four for the UE. Mode, bearer and PDU.
fn framed(octets: &[u8]) -> (u8, Bearer, Vec<u8>) {
    if let Some(rest) = octets[HEADERS..].strip_prefix(b"rlc-lte") {
        return framed_lte(rest);
    }
    let mut rest = octets[HEADERS..].strip_prefix(b"umts-rlc").unwrap();
    let (mut mode, mut dir, mut ue) = (None, None, None);
    while let [tag, behind @ ..] = rest {
        let (value, next) = behind.split_at(if *tag == 5 { 4 } else { 1 });
        match tag {
            1 => return (mode.unwrap(), (ue.unwrap(), dir.unwrap()), behind.to_vec()),
            3 => mode = Some(value[0]),
            4 => dir = Some(if value == [1] { Dir::Downlink } else { Dir::Uplink }),
            5 => ue = Some(u16::from_be_bytes([value[2], value[3]]) - 1),
            _ => {}
        }
        rest = next;
    }
    panic!("no PDU in {octets:02x?}");
}

/// Reads the framing of a PDU of LTE's PDCP: three fixed fields, then tags. Bits of its sequence number, bearer and PDU.
fn framed_pdcp(octets: &[u8]) -> (u8, Bearer, Vec<u8>) {
    let [0, 2, 0, 2, bits, 3, down, 14, ue_high, ue, 13, 0, 5, 1, pdu @ ..] = octets else {
        panic!("{octets:02x?}")
    };
    let dir = if *down == 1 { Dir::Downlink } else { Dir::Uplink };
    (*bits, (u16::from_be_bytes([*ue_high, *ue]) - 1, dir), pdu.to_vec())
}

/// The SDU of PDCP that RLC has handed up, and its sequence number.
fn without_pdcp(sdu: &[u8], sn_bits: u8) -> (u32, Vec<u8>) {
    match pdcp::Pdu::decode(sdu, sn_bits).unwrap() {
        pdcp::Pdu::Data { sn, sdu } => (sn, sdu),
        status => panic!("{status:?}"),
    }
}

/// PDUs sent, in order: (time, content, lost).
type Log = Vec<(Instant, String, bool)>;

/// PDUs from the events of the trace, with sequence numbers modulo `numbers`, if they are transmitted.
fn traced(events: &[(Instant, Event)], numbers: Option<u64>) -> BTreeMap<Bearer, Log> {
    let mut logs: BTreeMap<Bearer, Log> = BTreeMap::new();
    for &(at, ref event) in events {
        match *event {
            Event::RlcData { ue, direction, first_sn, pdus, poll, lost, .. } => {
                let log = logs.entry((ue, direction)).or_default();
                for sn in first_sn..first_sn + u64::from(pdus) {
                    let sn = numbers.map_or(String::new(), |numbers| format!("{} ", sn % numbers));
                    log.push((at, format!("data {sn}poll {poll}"), lost));
                }
            }
            Event::RlcStatus { ue, direction, lsn, missing_pdus, lost, .. } => {
                let lsn = numbers.map_or(lsn, |numbers| lsn % numbers);
                let text = format!("status {lsn} missing {missing_pdus}");
                logs.entry((ue, direction)).or_default().push((at, text, lost));
            }
            _ => {}
        }
    }
    logs
}

/// A receiver of octets, in the modes as the framing numbers them.
enum Reader {
    Transparent(Vec<Vec<u8>>),
    Unacknowledged(Unacknowledged),
    Acknowledged(Reassembly),
    LteAcknowledged(lte::Acknowledged),
    /// With so many bits of sequence number.
    LteUnacknowledged(u8, lte::Unacknowledged),
}

impl Reader {
    fn new(mode: u8) -> Self {
        match mode {
            0 => Self::Transparent(Vec::new()),
            1 => Self::Unacknowledged(Unacknowledged::default()),
            2 => Self::Acknowledged(Reassembly::default()),
            LTE_AM => Self::LteAcknowledged(lte::Acknowledged::default()),
            bits => Self::LteUnacknowledged(bits, lte::Unacknowledged::default()),
        }
    }

    /// Takes a PDU unless it is lost; returns its entry in the trace.
    fn receive(&mut self, octets: &[u8], lost: bool) -> String {
        match self {
            Self::Transparent(sdus) => {
                sdus.extend((!lost).then(|| octets.to_vec()));
                "data poll false".to_owned()
            }
            Self::Unacknowledged(reader) => {
                let pdu = UmdPdu::decode(octets).unwrap();
                if !lost {
                    reader.receive(&pdu);
                }
                format!("data {} poll false", pdu.sn.value())
            }
            Self::Acknowledged(reader) => {
                let pdu = Pdu::decode(octets).unwrap();
                let text = told(&pdu);
                if !lost {
                    reader.receive(pdu);
                }
                text
            }
            Self::LteAcknowledged(reader) => match rlc_lte::Pdu::decode(octets).unwrap() {
                rlc_lte::Pdu::Amd(pdu) => {
                    let text = format!("data {} poll {}", pdu.sn, pdu.poll);
                    if !lost {
                        reader.receive(pdu);
                    }
                    text
                }
                rlc_lte::Pdu::Status(status) => {
                    let missing = status.nacks.chunk_by(|one, next| one.sn == next.sn).count();
                    format!("status {} missing {missing}", status.ack_sn)
                }
            },
            Self::LteUnacknowledged(bits, reader) => {
                let pdu = rlc_lte::UmdPdu::decode(octets, (*bits).into()).unwrap();
                if !lost {
                    reader.receive(&pdu, 1 << *bits);
                }
                format!("data {} poll false", pdu.sn)
            }
        }
    }

    fn sdus(&self) -> &[Vec<u8>] {
        match self {
            Self::Transparent(sdus) => sdus,
            Self::Unacknowledged(reader) => &reader.sdus,
            Self::Acknowledged(reader) => &reader.sdus,
            Self::LteAcknowledged(reader) => &reader.sdus,
            Self::LteUnacknowledged(_, reader) => &reader.sdus,
        }
    }
}

fn told(pdu: &Pdu) -> String {
    match pdu {
        Pdu::Amd(pdu) => format!("data {} poll {}", pdu.sn.value(), pdu.poll),
        Pdu::Status(status) => {
            let StatusEnd::Ack(lsn) = status.end else { panic!("{status:?}") };
            // A bitmap may extend beyond LSN.
            let missing = status.sufis.iter().flat_map(Sufi::missing);
            let missing = missing.filter(|sn: &Sn| lsn.after(*sn) < 2048 && *sn != lsn);
            format!("status {} missing {}", lsn.value(), missing.count())
        }
        other => panic!("{other:?}"),
    }
}

/// A packet without the fields that an IP capture fills in: identification and the checksum of the header.
fn bare(octets: &[u8]) -> Vec<u8> {
    let mut octets = octets.to_vec();
    octets[4..6].fill(0);
    octets[10..12].fill(0);
    octets
}

/// The bearer of an IPv4 packet by its addresses: the server is 10.0.0.1, and UE n is 10.64.0.1 + n.
fn bearer_of(octets: &[u8]) -> Bearer {
    let [src, dst] = [&octets[12..16], &octets[16..20]];
    if src == [10, 0, 0, 1] {
        (u16::from(dst[3]) - 1, Dir::Downlink)
    } else {
        (u16::from(src[3]) - 1, Dir::Uplink)
    }
}

fn run(changes: &[(&str, &str)]) -> (Vec<(Instant, Event)>, Vec<Frame>) {
    let changes: Vec<_> =
        changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let scenario = Scenario::parse(TEXT, &changes).unwrap();
    let probes = ProbeMask::NONE.with(Kind::RlcData).with(Kind::RlcStatus);
    let mut simulation = Simulation::new(&scenario, 7, Observe { probes, capture: AND_PDUS });
    simulation.run();
    (simulation.take_trace(), frames(&simulation.take_capture()))
}

/// The capture and the trace agree on PDUs, and a decoder of the received octets obtains the packets that arrive at the
/// hosts. Returns the number of PDUs, and of packets.
fn agree(numbers: Option<u64>, changes: &[(&str, &str)]) -> (usize, usize) {
    let (events, frames) = run(changes);
    let mut seen: BTreeMap<Bearer, Log> = BTreeMap::new();
    let mut readers: BTreeMap<Bearer, Reader> = BTreeMap::new();
    let mut arrived: BTreeMap<Bearer, Vec<(Vec<u8>, u32)>> = BTreeMap::new();
    // Of PDCP: bits of the sequence number, and PDUs.
    let mut of_pdcp: BTreeMap<Bearer, (u8, Vec<Vec<u8>>)> = BTreeMap::new();
    // PDUs that no MAC PDU has held yet.
    let mut open: Vec<Vec<u8>> = Vec::new();
    for frame in &frames {
        if let Some(block) =
            frame.octets[HEADERS..].strip_prefix(b"mac-lte").filter(|_| frame.interface == RLC)
        {
            // Three fixed fields, two tags with two octets each, and the tag of the PDU.
            let pdus = mac_lte::decode(&block[10..]).unwrap();
            assert!(pdus.iter().all(|(lcid, _)| *lcid == 3));
            assert_eq!(
                pdus.iter().map(|(_, pdu)| pdu.to_vec()).collect::<Vec<_>>(),
                std::mem::take(&mut open)
            );
            continue;
        }
        if let Some(framed) =
            frame.octets[HEADERS..].strip_prefix(b"pdcp-lte").filter(|_| frame.interface == RLC)
        {
            let (sn_bits, bearer, pdu) = framed_pdcp(framed);
            of_pdcp.entry(bearer).or_insert_with(|| (sn_bits, Vec::new())).1.push(pdu);
            continue;
        }
        if frame.interface == RLC {
            let (mode, bearer, octets) = framed(&frame.octets);
            let reader = readers.entry(bearer).or_insert_with(|| Reader::new(mode));
            if frame.octets[HEADERS..].starts_with(b"rlc-lte") {
                open.push(octets.clone());
            }
            let text = reader.receive(&octets, frame.lost);
            seen.entry(bearer).or_default().push((frame.at, text, frame.lost));
            continue;
        }
        let bearer = bearer_of(&frame.octets);
        let at_the_other_end = if bearer.1 == Dir::Downlink { UE } else { SERVER };
        if frame.interface == at_the_other_end {
            arrived.entry(bearer).or_default().push((bare(&frame.octets), frame.len));
        }
    }
    assert!(open.is_empty());
    let told = traced(&events, numbers);
    assert_eq!(seen.keys().collect::<Vec<_>>(), told.keys().collect::<Vec<_>>());
    for (bearer, log) in &seen {
        assert!(*log == told[bearer], "PDUs of {bearer:?}");
    }
    for (bearer, packets) in &arrived {
        let mut sdus = readers[bearer].sdus().to_vec();
        if let Some((sn_bits, pdus)) = of_pdcp.get(bearer) {
            let mut pdus = (0..).zip(pdus);
            for sdu in &mut sdus {
                // Unacknowledged mode loses some.
                let (count, _) = pdus.find(|(_, pdu)| *pdu == sdu).expect("a PDU of PDCP is in RLC");
                let (sn, inner) = without_pdcp(sdu, *sn_bits);
                assert_eq!(sn, count % (1 << sn_bits));
                *sdu = inner;
            }
        }
        // At the end some are on the wire.
        assert!(packets.len() > 100 && packets.len() <= sdus.len() && sdus.len() < packets.len() + 50);
        for (sdu, (header, len)) in sdus.iter().zip(packets) {
            assert_eq!(sdu.len(), *len as usize);
            let (front, payload) = sdu.split_at(header.len());
            assert_eq!(&bare(front), header, "{bearer:?}");
            assert!(payload.iter().all(|octet| *octet == 0));
        }
    }
    assert_eq!(arrived.len(), 4);
    let has_pdcp = changes.iter().any(|(_, value)| value.contains("pdcp_sn_size"));
    assert_eq!(of_pdcp.len(), if has_pdcp { 4 } else { 0 });
    (seen.values().map(Vec::len).sum(), arrived.values().map(Vec::len).sum())
}

#[test]
#[ignore = "slow"]
fn capture_trace_and_packets_tell_the_same() {
    let (pdus, packets) = agree(AM, &[]);
    // Sequence numbers wrap several times on the downlink.
    assert!(pdus > 10 * 4096 && packets > 1000, "{pdus} PDUs, {packets} packets");
}

/// PDUs of 15 bits' length indicators, and losses of their own.
#[test]
#[ignore = "slow"]
fn large_pdus_tell_the_same() {
    let large = ("radio.dch.downlink.rlc.am.pdu", "162 B");
    agree(
        AM,
        &[
            large,
            ("radio.dch.downlink.rlc.am.errors", "per_pdu"),
            ("radio.dch.downlink.rlc.am.special_he", "true"),
        ],
    );
}

/// Losses that TCP tolerates without RLC retransmission.
const FEW_LOSSES: [(&str, &str); 2] = [
    ("radio.dch.downlink.channel.markov_fading.bler", "0.01"),
    ("radio.dch.uplink.channel.bernoulli.bler", "0.01"),
];

#[test]
#[ignore = "slow"]
fn unacknowledged_mode_tells_the_same() {
    let um = [
        ("radio.dch.downlink.rlc", "{ um = { pdu = \"41 B\" } }"),
        ("radio.dch.uplink.rlc", "{ um = { pdu = \"41 B\" } }"),
    ];
    let (pdus, _) = agree(UM, &[um, FEW_LOSSES].concat());
    assert!(pdus > 10_000, "{pdus}");
    let large = [("radio.dch.downlink.rlc.um.pdu", "161 B")];
    let untold = [("radio.dch.downlink.rlc.um.first_octet_indicator", "false")];
    let late = [("radio.dch.uplink.rlc.um.timer_discard", "400 ms")];
    agree(UM, &[&um[..], &large, &untold, &late, &FEW_LOSSES].concat());
}

/// Each PDU fills a TTI. Lost PDUs are retransmitted, whole or in segments together with others.
#[test]
#[ignore = "slow"]
fn acknowledged_mode_of_lte_tells_the_same() {
    let long = [
        ("radio.dch.downlink.rlc", "{ am_lte = { tti = \"10 ms\", t_status_prohibit = \"20 ms\" } }"),
        ("radio.dch.uplink.rlc", "{ am_lte = { tti = \"20 ms\" } }"),
    ];
    let (pdus, packets) = agree(Some(1024), &long);
    assert!(pdus > 10 * 1024 && packets > 1000, "{pdus} PDUs, {packets} packets");
}

#[test]
#[ignore = "slow"]
fn unacknowledged_mode_of_lte_tells_the_same() {
    let both = [
        ("radio.dch.downlink.rlc", "{ um_lte = { tti = \"10 ms\", sn_field_length = 5 } }"),
        ("radio.dch.uplink.rlc", "{ um_lte = { tti = \"20 ms\", sn_field_length = 5 } }"),
    ];
    agree(Some(32), &[&both[..], &FEW_LOSSES].concat());
}

/// RLC carries the PDUs of PDCP as the capture has them, numbered from 0 on.
#[test]
#[ignore = "slow"]
fn pdcp_of_lte_tells_the_same() {
    for (numbers, down, up, losses) in [
        (
            1024,
            "am_lte = { tti = \"10 ms\", pdcp_sn_size = 12",
            "am_lte = { tti = \"20 ms\", pdcp_sn_size = 15",
            None,
        ),
        (
            1024,
            "am_lte = { tti = \"10 ms\", pdcp_sn_size = 18",
            "am_lte = { tti = \"20 ms\", pdcp_sn_size = 12",
            None,
        ),
        (
            1024,
            "um_lte = { tti = \"10 ms\", pdcp_sn_size = 7",
            "um_lte = { tti = \"20 ms\", pdcp_sn_size = 12",
            Some(FEW_LOSSES),
        ),
    ] {
        let (down, up) = (format!("{{ {down} }} }}"), format!("{{ {up} }} }}"));
        let rlc =
            [("radio.dch.downlink.rlc", &down[..]), ("radio.dch.uplink.rlc", &up), ("duration", "40 s")];
        let (_, packets) = agree(Some(numbers), &[&rlc[..], &losses.map_or(Vec::new(), Vec::from)].concat());
        // Each bearer's numbers of 7 bits wrap.
        assert!(packets > 4 * 128, "{packets} packets");
    }
}

#[test]
#[ignore = "slow"]
fn transparent_mode_tells_the_same() {
    let pdu = "{ tm = { pdu = \"480 B\" } }";
    let tm = [("radio.dch.downlink.rlc", pdu), ("radio.dch.uplink.rlc", pdu)];
    let fits = [("radio.dch.uplink.rate", "384 kbit/s"), ("tcp.mss", "400 B")];
    let timers = [
        ("radio.dch.downlink.rlc.tm.timer_discard", "2 s"),
        ("radio.dch.uplink.rlc.tm.timer_discard", "2 s"),
    ];
    agree(None, &[tm, fits, timers, FEW_LOSSES].concat());
}

#[test]
fn without_pdus_the_capture_is_as_ever() {
    let scenario = Scenario::parse(TEXT, &[("duration".to_owned(), "3 s".to_owned())]).unwrap();
    let run = |capture| {
        let mut simulation = Simulation::new(&scenario, 7, Observe { probes: ProbeMask::ALL, capture });
        simulation.run();
        (simulation.take_trace(), frames(&simulation.take_capture()))
    };
    let [(events, packets), (same_events, all)] = [Capture::Packets, AND_PDUS].map(run);
    assert!(events == same_events, "a capture changes nothing");
    let of_hosts: Vec<_> =
        all.iter().filter(|frame| frame.interface != RLC).map(|f| (f.at, &f.octets)).collect();
    assert_eq!(packets.iter().map(|f| (f.at, &f.octets)).collect::<Vec<_>>(), of_hosts);
    assert!(all.len() > 10 * of_hosts.len());
}
