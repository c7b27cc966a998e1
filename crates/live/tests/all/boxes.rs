//! Middleboxes on real packets, at the driver: each changes only the fields that `writes` permits for its kind.
//! Input octets are arbitrary.

use crate::octets::{Devices, UE, dir, gap, ones_complement, packet, real, settle, transport_sum};
use airpath_core::element::{Capture, Element};
use airpath_core::middlebox;
use airpath_core::packet::{Dir, Flags, Form, Packet, SackBlocks};
use airpath_core::path::Path;
use airpath_core::scenario::Scenario;
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::ProbeMask;
use airpath_core::wire::{self, Endpoints, parse};
use airpath_live::driver::Driver;
use airpath_live::port::Port;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Changes that a middlebox may make to a packet, in addition to delaying and dropping it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    Nothing,
    /// The bit RNF, in pure ACKs.
    RadioFlag,
    /// "Congestion experienced" where a packet can be marked.
    Congestion,
    /// Acknowledgment number and window of packets from the UE; also creates ACKs.
    AckAndWindow,
    /// The window.
    Window,
    /// NOPs that replace SACK blocks; also retransmits packets and creates ACKs.
    Blocks,
    /// Duplicates and reorders packets.
    Repeats,
    /// It ends connections.
    Everything,
}

/// The changes permitted to this kind of middlebox.
fn writes(config: &middlebox::Config) -> Writes {
    use middlebox::Config;
    match config {
        Config::AckRegulator(_) => Writes::Congestion,
        Config::RncFeedback(_) => Writes::RadioFlag,
        Config::Disturb(_) => Writes::Repeats,
        Config::Freeze(_) => Writes::AckAndWindow,
        Config::Snoop(_) => Writes::Blocks,
        Config::WindowClamp(_) => Writes::Window,
        Config::Split(_) => Writes::Everything,
        _ => Writes::Nothing,
    }
}

/// Bearers slower than the incoming traffic, and an outage.
const CELL: &str = r#"
[[handover]]
at = "300 ms"
outage = "400 ms"
warning = "100 ms"
bearers = "pause"
[radio.dch.downlink]
rate = "400 kbit/s"
delay = "2 ms"
queue.droptail = { packets = 8, in_service = "excluded" }
[radio.dch.uplink]
rate = "200 kbit/s"
delay = "2 ms"
queue.droptail.packets = 8
[[flow]]
app.bulk = {}
"#;

/// More than the defaults of each box.
const MORE: &[&str] = &[
    "ack_filter = { at = \"network\", keep_duplicates = false, limit = 2 }",
    "ack_pacing = { at = \"ue\", rate = \"20 kbit/s\", hold_limit = 3 }",
    "ack_rate_control = { at = \"ue\", release = \"strict\" }",
    "ack_regulator = { alpha = 0.3, loss_signal = \"ecn\" }",
    "ack_regulator = { at = \"ue\", growth = \"acked\", hold_limit = 3 }",
    "freeze = { at = \"ue\" }",
    "freeze = { connections = 1, hold = \"20 ms\" }",
    "packet_loss = { downlink.loss = \"20 %\", uplink = { loss = \"20 %\", burst = 3 } }",
    "policer = { downlink = { rate = \"1 Mbit/s\", burst = \"3 kB\" }, uplink.rate = \"200 kbit/s\" }",
    "rnc_feedback = { cache_segments = 3, connections = 1 }",
    "snoop = { cache_packets = 3, connections = 1, min_timeout = \"10 ms\" }",
    "window_clamp = { window = \"2 kB\", connections = 1 }",
];

/// The scenarios, each with one box.
static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    let defaults = middlebox::Config::NAMES.iter().map(|name| format!("{name} = {{}}"));
    let texts = defaults.chain(MORE.iter().map(|text| (*text).to_owned()));
    let parsed = texts.map(|text| Scenario::parse(&format!("[[middlebox]]\n{text}\n{CELL}"), &[]).unwrap());
    parsed
        .filter(|scenario| !matches!(writes(&scenario.middlebox[0]), Writes::Everything | Writes::Repeats))
        .collect()
});

/// Normalises the fields that a middlebox may write, to compare the rest; checksums are checked separately.
fn rest(bytes: &[u8], dir: Dir, writes: Writes) -> Vec<u8> {
    let (mut packet, mut rest) = (Packet::default(), bytes.to_vec());
    parse(bytes, &mut packet);
    let is_uplink_tcp = packet.is_tcp() && dir == Dir::Uplink;
    match writes {
        // RFC 3168 (5): of IPv4 the header's checksum changes with it; not-ECT stays.
        Writes::Congestion if packet.is_tcp() && dir == Dir::Downlink && packet.ecn() != Packet::NOT_ECT => {
            packet.set_ecn(Packet::CE);
            packet.body = None;
            wire::rewrite(&mut rest, &packet);
        }
        Writes::RadioFlag if is_uplink_tcp && is_pure_ack(&packet) => {
            packet.flags = packet.flags | Flags::RNF;
            wire::rewrite(&mut rest, &packet);
        }
        Writes::AckAndWindow if is_uplink_tcp && packet.flags.has(Flags::ACK) => {
            (packet.ack, packet.window, packet.seq, packet.ts_val, packet.ts_ecr) = (0, 0, 0, 0, 0);
            wire::rewrite(&mut rest, &packet);
        }
        Writes::Window if packet.is_tcp() => {
            packet.window = 0;
            wire::rewrite(&mut rest, &packet);
        }
        Writes::Blocks if is_uplink_tcp && is_pure_ack(&packet) => {
            packet.hide_blocks();
            wire::rewrite(&mut rest, &packet);
        }
        _ => {}
    }
    rest
}

fn is_pure_ack(packet: &Packet) -> bool {
    let others = Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0;
    packet.payload == 0 && packet.flags.has(Flags::ACK) && packet.flags.0 & others == 0
}

/// What keeps its order: a connection, or the other packets between two ports.
type Line = (bool, Option<(u8, Endpoints)>);

fn line(bytes: &[u8]) -> String {
    let mut packet = Packet::default();
    parse(bytes, &mut packet);
    let line: Line = (packet.is_tcp(), wire::endpoints(bytes));
    format!("{line:?}")
}

fn by_line<'a>(packets: &'a [Vec<u8>]) -> BTreeMap<String, Vec<&'a [u8]>> {
    let mut lines: BTreeMap<String, Vec<&'a [u8]>> = BTreeMap::new();
    for bytes in packets {
        lines.entry(line(bytes)).or_default().push(bytes);
    }
    lines
}

/// Whether the checksums that the packet has are correct.
fn is_sound(bytes: &[u8]) -> bool {
    let mut packet = Packet::default();
    parse(bytes, &mut packet);
    let header = usize::from(bytes.first().map_or(0, |first| first & 15)) * 4;
    let is_v4 = packet.ip() == airpath_core::packet::IpVersion::Ipv4;
    !packet.is_tcp()
        || (!is_v4 || bytes.get(..header).is_none_or(|head| ones_complement(&[head]) == 0xffff))
            && transport_sum(&bytes[..packet.len as usize]) == 0xffff
}

fn run(scenario: &Scenario, packets: Vec<(u32, Dir, Vec<u8>)>, steps: &[u32]) -> Devices {
    let mut elements: Vec<Box<dyn Element>> = vec![Box::new(Port::new(Dir::Downlink, 96))];
    elements.extend(scenario.network_in_session(1, &[UE]));
    elements.push(Box::new(Port::new(Dir::Uplink, 96)));
    let mut path = Path::new(elements, ProbeMask::ALL);
    path.set_capture(Capture::Packets);
    let (mut driver, mut devices) = (Driver::new(path), Devices::default());
    let mut at = Instant::ZERO;
    for (gap_us, dir, bytes) in packets {
        at += Duration::from_nanos(1000 * u64::from(gap_us));
        devices.coming.push_back((at, dir, bytes));
    }
    let mut steps = steps.iter().cycle();
    loop {
        let due = settle(&mut driver, &mut devices);
        let next = due.into_iter().chain(devices.coming.front().map(|coming| coming.0)).min();
        // Snoop's timer never stops, since no ACK arrives.
        let Some(next) = next.filter(|next| *next < at + Duration::from_secs(20)) else { break };
        devices.now = devices.now.max(next) + Duration::from_nanos(1000 * u64::from(*steps.next().unwrap()));
    }
    devices
}

/// Segments of few connections as they come in practice: data one way, ACKs the other way, again and again the same.
fn ordinary() -> impl Strategy<Value = (Dir, Vec<u8>)> {
    let number =
        prop_oneof![0..12_u32, Just(u32::MAX / 100)].prop_map(|n| 1000_u32.wrapping_add(n.wrapping_mul(100)));
    let flags = prop_oneof![30 => Just(0), 2 => Just(1), 1 => Just(2), 1 => Just(4), 2 => Just(0x40), 1 => Just(0x1c2)];
    let blocks = prop::collection::vec((0..12_u32, 1..4_u32), 0..4);
    let window = prop_oneof![Just(100_u16), Just(101), Just(0)];
    (dir(), any::<bool>(), 0..2_u16, number.clone(), number, flags, blocks, window, 0..4_u8, any::<bool>())
        .prop_map(|(dir, is_data, port, seq, ack, flags, blocks, window, ecn, has_timestamps)| {
            let is_data = is_data && (dir == Dir::Downlink || port == 1);
            let mut segment = Packet {
                seq,
                ack,
                window,
                form: Form::TCP.with_ecn(ecn),
                has_timestamps,
                ts_val: 7,
                ..Packet::default()
            };
            segment.flags = Flags(Flags::ACK.0 | flags);
            if !is_data {
                let mut sack = SackBlocks::default();
                for (left, len) in blocks {
                    sack.push(1000 + left * 100, 1000 + (left + len) * 100);
                }
                segment.options_mut().sack = sack;
            }
            let ports = if dir == Dir::Downlink { (80, port) } else { (port, 80) };
            (dir, real(port == 1, ports, &segment, if is_data { &[9; 100] } else { &[] }))
        })
}

fn traffic() -> impl Strategy<Value = Vec<(u32, Dir, Vec<u8>)>> {
    let any = prop_oneof![8 => ordinary(), 1 => (dir(), packet())];
    prop::collection::vec((gap(), any).prop_map(|(gap, (dir, bytes))| (gap, dir, bytes)), 1..150)
}

proptest! {
    #[test]
    fn nothing_but_the_mark_changes(
        which in any::<prop::sample::Index>(),
        packets in traffic(),
        steps in prop::collection::vec(gap(), 1..20),
    ) {
        let scenario = which.get(&SCENARIOS);
        let writes = writes(&scenario.middlebox[0]);
        let devices = run(scenario, packets, &steps);
        for dir in Dir::BOTH {
            let (read, written) = (&devices.read[dir.index()], &devices.written[dir.index()]);
            let sources = by_line(read);
            for (line, arrived) in by_line(written) {
                let sent = sources.get(&line).map_or(&[][..], Vec::as_slice);
                if matches!(writes, Writes::AckAndWindow | Writes::Blocks) && line.starts_with("(true") {
                    check_made(dir, sent, &arrived, writes, &devices)?;
                } else {
                    check_order(dir, sent, &arrived, writes)?;
                }
            }
        }
    }
}

/// Checks that each arrived packet was sent, in this order, and differs only in the permitted fields. Some packets
/// that differ only in their marks may be lost, so each mark is checked against the packet found for it.
fn check_order(dir: Dir, sent: &[&[u8]], arrived: &[&[u8]], writes: Writes) -> Result<(), TestCaseError> {
    let mut left = sent.iter();
    for after in arrived {
        let wanted = rest(after, dir, writes);
        let before = left
            .find(|before| rest(before, dir, writes) == wanted && is_marked_at_most(before, after, writes));
        prop_assert!(before.is_some(), "{dir:?}: {after:02x?} was not sent, or has been overtaken");
    }
    Ok(())
}

/// A mark is set and never taken away, a window written is smaller, and checksums that were wrong stay wrong.
fn is_marked_at_most(before: &[u8], after: &[u8], writes: Writes) -> bool {
    let [mut was, mut is] = [Packet::default(), Packet::default()];
    parse(before, &mut was);
    parse(after, &mut is);
    is.flags.has(was.flags)
        && (is.ecn() == was.ecn() || is.ecn() == Packet::CE && was.ecn() != 0)
        && (is.window == was.window || writes == Writes::Window && is.window < was.window)
        && (is.ack, is.options()) == (was.ack, was.options())
        && is_sound(before) == is_sound(after)
}

/// Checks the output of middleboxes that retransmit packets or create ACKs: each packet equals a sent one except in
/// the permitted fields, or is a bare header.
fn check_made(
    dir: Dir,
    sent: &[&[u8]],
    arrived: &[&[u8]],
    writes: Writes,
    devices: &Devices,
) -> Result<(), TestCaseError> {
    for after in arrived {
        let mut packet = Packet::default();
        parse(after, &mut packet);
        let wanted = rest(after, dir, writes);
        let is_known = sent.iter().any(|before| {
            let mut was = Packet::default();
            parse(before, &mut was);
            let blocks = packet.options().sack;
            (blocks == was.options().sack || blocks == SackBlocks::NONE && writes == Writes::Blocks)
                && rest(before, dir, writes) == wanted
        });
        let is_nack =
            writes == Writes::Blocks && dir == Dir::Downlink && packet.flags == Flags::ACK | Flags::NACK;
        prop_assert!(is_known || is_nack && packet.payload == 0, "{dir:?}: {packet:?} was not sent");
        // A NACK says what the server has said, and blocks lie within what the UE has sent.
        if is_nack && !is_known {
            prop_assert!(is_sound(after));
            let says_so = |bytes: &Vec<u8>| {
                let mut said = Packet::default();
                parse(bytes, &mut said);
                said.is_tcp() && (said.ack, said.window) == (packet.ack, packet.window)
            };
            prop_assert!(devices.read[0].iter().any(says_so));
        }
    }
    Ok(())
}
