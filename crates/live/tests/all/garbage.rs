//! Hostile packets: no input on a device stops the driver, is changed in transit except by a middlebox, or is lost
//! uncounted.
//!
//! The paths are those of the bundled scenarios and of a link by traces, between the ports of a live link. Packets
//! are arbitrary bytes, and real packets corrupted in many ways.

use crate::octets::{Devices, UE, dir, gap, ones_complement, packet, real, segment, settle, transport_sum};
use airpath_core::element::{self, Capture, Cx, Element, Layout};
use airpath_core::flows::MOST_FLOWS;
use airpath_core::middlebox::tap::OpaqueCounts;
use airpath_core::packet::{Dir, Flags, IpVersion, Kind, Opaque, Packet};
use airpath_core::path::Path;
use airpath_core::scenario::{BUNDLED, Scenario};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{ProbeMask, Reason};
use airpath_core::wire::parse;
use airpath_live::driver::{Driver, MOST_INSIDE};
use airpath_live::port::Port;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Opportunities in bursts, a queue that overflows, and mahimahi's way of counting.
const BY_TRACE: &str = r#"
[wired]
delay = "3 ms"
[radio.variable.downlink]
delay = "2 ms"
[radio.variable.downlink.queue.droptail]
packets = 5
bytes = "70 kB"
[radio.variable.downlink.channel.trace_file]
trace = "1\n1\n1\n7\n"
accounting = "tun_1504"
[radio.variable.uplink.channel.trace_file]
trace = "0\n4\n"
spacing = "at_once"
[[flow]]
[flow.app.bulk]
"#;

/// Name, scenario, and whether packets keep their order.
static SCENARIOS: LazyLock<Vec<(String, Scenario, bool)>> = LazyLock::new(|| {
    let mut texts = BUNDLED.to_vec();
    texts.push(("by trace", BY_TRACE));
    texts.sort();
    let parsed = texts.into_iter().map(|(name, text)| {
        // Flows take turns, or one waits where others pass.
        let reorders = ["out_of_sequence", "per_flow", "ack_regulator"];
        let in_order = !reorders.iter().any(|word| text.contains(word));
        (name.to_owned(), Scenario::parse(text, &[]).unwrap(), in_order)
    });
    parsed.collect()
});

/// The path of a live run, with `boxes` between the cell and the UE.
fn path(scenario: &Scenario, boxes: Vec<Box<dyn Element>>) -> (Path, usize) {
    let mut elements: Vec<Box<dyn Element>> = vec![Box::new(Port::new(Dir::Downlink, 96))];
    elements.extend(scenario.network(1));
    elements.extend(boxes);
    elements.push(Box::new(Port::new(Dir::Uplink, 96)));
    let last = elements.len() - 1;
    let mut path = Path::new(elements, ProbeMask::ALL);
    path.set_capture(Capture::Packets);
    (path, last)
}

fn dropped(path: &Path, last: usize) -> u64 {
    (0..=last).map(|element| Reason::ALL.iter().map(|reason| path.drops(element, *reason)).sum::<u64>()).sum()
}

/// Packets that boxes hold.
fn held_by_boxes(path: &mut Path) -> u64 {
    let reports = path.reports();
    let flows = reports.iter().filter_map(|report| report["flows"].as_array()).flatten();
    flows.filter_map(|flow| flow["held_at_end"].as_u64()).sum()
}

/// Whether all of `written` is in `read`, and in this order if it has to be.
fn came_from(written: &[Vec<u8>], read: &[Vec<u8>], in_order: bool) -> bool {
    if in_order {
        let mut rest = read.iter();
        return written.iter().all(|packet| rest.any(|other| other == packet));
    }
    let mut left: HashMap<&[u8], i64> = HashMap::new();
    read.iter().for_each(|packet| *left.entry(packet).or_default() += 1);
    written.iter().for_each(|packet| *left.entry(packet).or_default() -= 1);
    left.values().all(|count| *count >= 0)
}

/// Counts packets as a port does: by the parser's result for the same bytes.
fn opaque(packets: &[Vec<u8>]) -> OpaqueCounts {
    let mut counts = OpaqueCounts::default();
    for bytes in packets {
        let mut packet = Packet::default();
        parse(bytes, &mut packet);
        match packet.kind() {
            Kind::Tcp => {}
            Kind::Opaque(Opaque::OtherProtocol) => counts.other_protocol += 1,
            Kind::Opaque(Opaque::Encrypted) => counts.encrypted += 1,
            Kind::Opaque(Opaque::Fragment) => counts.fragment += 1,
            Kind::Opaque(Opaque::Malformed) => counts.malformed += 1,
        }
    }
    counts
}

/// Packets in the cell's buffers and on its bearers. (Buffer occupancy may be higher: in acknowledged mode it
/// includes delivered packets that are not acknowledged.)
fn held_by_cell(path: &mut Path) -> u64 {
    let reports = path.reports();
    let is_cell = |name: &str| name.starts_with("radio.");
    let cell = reports.iter().find(|report| report["element"].as_str().is_some_and(is_cell)).unwrap();
    let held = |dir: Dir| {
        let count = |key: &str| cell["ues"][usize::from(UE)][dir.name()][key].as_u64().unwrap();
        count("sdus_in") - count("sdus_delivered") - count("sdus_discarded")
    };
    Dir::BOTH.into_iter().map(held).sum()
}

/// Runs packets through a path, with the clock jumping as `gaps` say, and then until it is empty.
fn run(scenario: &Scenario, in_order: bool, packets: Vec<(u32, Dir, Vec<u8>)>, steps: &[u32]) -> Driver {
    let (path, last) = path(scenario, Vec::new());
    let (mut driver, mut devices) = (Driver::new(path), Devices::default());
    let (mut at, total) = (Instant::ZERO, packets.len() as u64);
    for (gap_us, dir, bytes) in packets {
        at += Duration::from_nanos(1000 * u64::from(gap_us));
        devices.coming.push_back((at, dir, bytes));
    }
    let mut steps = steps.iter().cycle();
    loop {
        let due = settle(&mut driver, &mut devices);
        let count = |both: &[Vec<Vec<u8>>; 2]| both.iter().map(|dir| dir.len() as u64).sum::<u64>();
        let (read, written) = (count(&devices.read), count(&devices.written));
        let gone = written + dropped(&driver.path, last);
        let gone = gone + held_by_boxes(&mut driver.path);
        let held = held_by_cell(&mut driver.path);
        let in_flight = driver.path.in_flight() as u64;
        // A packet sent completely is counted twice: on a lane and in the buffer occupancy.
        assert!(read >= gone + held.max(in_flight), "{read} read, {gone} gone, {held} or {in_flight} inside");
        assert!(read <= gone + held + in_flight, "{read} read, {gone} gone, {held} and {in_flight} inside");
        let next = due.into_iter().chain(devices.coming.front().map(|coming| coming.0)).min();
        let Some(next) = next else { break };
        // Late, and now and then much later.
        let late = Duration::from_nanos(1000 * u64::from(*steps.next().unwrap()));
        devices.now = devices.now.max(next) + late;
    }
    let drops = dropped(&driver.path, last);
    assert_eq!(total, devices.read.iter().map(|dir| dir.len() as u64).sum::<u64>());
    assert_eq!(total, devices.written.iter().map(|dir| dir.len() as u64).sum::<u64>() + drops);
    let ends = [0, last].map(|index| driver.path.element::<Port>(index).unwrap());
    for dir in Dir::BOTH {
        let (read, written) = (&devices.read[dir.index()], &devices.written[dir.index()]);
        assert!(came_from(written, read, in_order), "{dir:?}: not the bytes that went in");
        let (from, to) = (ends[dir.index()], ends[1 - dir.index()]);
        assert_eq!((from.sent.packets, to.received.packets), (read.len() as u64, written.len() as u64));
        assert_eq!((from.sent.opaque, to.received.opaque), (opaque(read), opaque(written)));
    }
    driver
}

proptest! {
    #[test]
    #[ignore = "slow"]
    fn whatever_arrives_leaves_as_it_was_or_is_counted(
        which in any::<prop::sample::Index>(),
        packets in prop::collection::vec((gap(), dir(), packet()), 1..80),
        steps in prop::collection::vec(gap(), 1..20),
    ) {
        let (_, scenario, in_order) = &SCENARIOS[which.index(SCENARIOS.len())];
        let driver = run(scenario, *in_order, packets, &steps);
        // Three ports at each end, two versions, two protocols, and what the spoiling makes of them.
        prop_assert!(driver.flows.keys().len() <= usize::from(MOST_FLOWS));
    }

    #[test]
    fn a_box_changes_what_it_touches_and_nothing_else(
        packets in prop::collection::vec(
            (any::<bool>(), segment(), prop::collection::vec(any::<u8>(), 0..50), any::<bool>(), dir()), 1..30
        ),
        window in any::<u16>(),
        ack in any::<u32>(),
    ) {
        let (_, scenario, in_order) = SCENARIOS.iter().find(|(name, ..)| name == "umts-384").unwrap();
        prop_assert!(in_order);
        let (path, _) = path(scenario, vec![Box::new(Meddler { window, ack })]);
        let (mut driver, mut devices) = (Driver::new(path), Devices::default());
        for (n, (v6, segment, payload, is_sound, dir)) in packets.into_iter().enumerate() {
            let mut bytes = real(v6, (80, 4000), &segment, &payload);
            if !is_sound {
                let last = bytes.len() - 1;
                bytes[last] ^= 0x5a;
            }
            devices.coming.push_back((Instant::from_nanos(400_000_000 * n as u64), dir, bytes));
        }
        while let Some(next) =
            settle(&mut driver, &mut devices).into_iter().chain(devices.coming.front().map(|p| p.0)).min()
        {
            devices.now = next;
        }
        for dir in Dir::BOTH {
            let (read, written) = (&devices.read[dir.index()], &devices.written[dir.index()]);
            prop_assert_eq!(read.len(), written.len());
            for (before, after) in read.iter().zip(written) {
                let mut packet = Packet::default();
                parse(before, &mut packet);
                let was_sound = transport_sum(before) == 0xffff;
                if !Meddler::wants(&packet) {
                    prop_assert_eq!(before, after);
                    continue;
                }
                let start = packet.ip().header_bytes() as usize;
                let mut expected = before.clone();
                expected[start + 8..start + 12].copy_from_slice(&ack.to_be_bytes());
                expected[start + 14..start + 16].copy_from_slice(&window.to_be_bytes());
                expected[start + 16..start + 18].copy_from_slice(&after[start + 16..start + 18]);
                prop_assert_eq!(&expected, after);
                prop_assert_eq!(transport_sum(after) == 0xffff, was_sound, "a checksum changed sides");
                // Of IPv4 the header's own: still right.
                prop_assert!(packet.ip() == IpVersion::Ipv6 || ones_complement(&[&after[..20]]) == 0xffff);
            }
        }
    }
}

/// Changes window and acknowledgment number of every ACK with an even sequence number.
struct Meddler {
    window: u16,
    ack: u32,
}

impl Meddler {
    fn wants(packet: &Packet) -> bool {
        packet.is_tcp() && packet.flags.has(Flags::ACK) && packet.seq.is_multiple_of(2)
    }
}

impl Element for Meddler {
    fn layout(&self) -> Layout {
        Layout::default()
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: element::Port, mut packet: Box<Packet>) {
        let dir = port.dir();
        if Self::wants(&packet) {
            (packet.window, packet.ack) = (self.window, self.ack);
            packet.body.as_mut().unwrap().touched = true;
        }
        cx.emit(dir, packet);
    }
}

#[test]
#[ignore = "slow"]
fn a_flood_of_connections_fills_the_table_of_flows_and_no_more() {
    let (_, scenario, _) = SCENARIOS.iter().find(|(name, ..)| name == "by trace").unwrap();
    let syn = Packet { flags: Flags::SYN, seq: 5, ..Packet::default() };
    let packets = (0..20_000_u32).map(|n| {
        let ports = ((n >> 8) as u16, (n & 0xff) as u16);
        (1, Dir::BOTH[n as usize % 2], real(n % 3 == 0, ports, &syn, b""))
    });
    let driver = run(scenario, true, packets.collect(), &[0]);
    assert_eq!(driver.flows.keys().len(), usize::from(MOST_FLOWS));
}

#[test]
#[ignore = "slow"]
fn a_flood_into_a_buffer_without_limit_is_bounded() {
    let (_, scenario, _) = SCENARIOS.iter().find(|(name, ..)| name == "umts-384").unwrap();
    let (path, _) = path(scenario, Vec::new());
    let (mut driver, mut devices) = (Driver::new(path), Devices::default());
    for _ in 0..MOST_INSIDE + 1000 {
        devices.coming.push_back((Instant::ZERO, Dir::Uplink, vec![0x45; 40]));
    }
    settle(&mut driver, &mut devices);
    let inside = driver.path.radio(UE, Dir::Uplink).sdus;
    assert!(driver.left_out >= 1000 && u64::from(inside) <= MOST_INSIDE);
    assert_eq!(u64::from(inside) + driver.left_out, MOST_INSIDE + 1000);
}
