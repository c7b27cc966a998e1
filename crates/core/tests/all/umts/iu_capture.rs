//! The capture of the Iu: what it changes (nothing), when packets are in it, and whose they are.

use super::scenario;
use airpath_core::element::Capture;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::Instant;
use airpath_core::trace::{Event, ProbeMask};
use airpath_core::wire::gtp::{Body, Message, decapsulate};
use pcap_file::pcapng::{Block, PcapNgReader};

const WITH_IU: Capture = Capture::PacketsAnd { pdus: false, iu: true };
const WITH_BOTH: Capture = Capture::PacketsAnd { pdus: true, iu: true };

/// Downloads over UM to two UEs; the RNC of the first changes.
const RELOCATED: &str = r#"
duration = "20 s"
[wired]
rate = "10 Mbit/s"
delay = "30 ms"
[umts]
gn = { rate = "10 Mbit/s", delay = "2 ms" }
iu = { rate = "2 Mbit/s", delay = "8 ms" }
sequence_numbers = true
attach = "1 s"
pdp_activation = "500 ms"
[[middlebox]]
rnc_feedback = {}
[radio.dch]
ues = 2
[radio.dch.downlink]
rate = "64 kbit/s"
delay = "15 ms"
rlc.um = {}
channel.bernoulli.bler = "1 %"
[radio.dch.uplink]
rate = "64 kbit/s"
delay = "15 ms"
rlc.um = {}
[[handover]]
at = "9 s"
relocation.iu.delay = "3 ms"
[tcp]
mss = "960 B"
rnf = "first_flagged"
[[flow]]
ue = "each"
app.bulk = {}
"#;

/// A frame: interface, when, octets.
type Frame = (u32, Instant, Vec<u8>);

fn frames(bytes: &[u8]) -> Vec<Frame> {
    let mut reader = PcapNgReader::new(bytes).unwrap();
    let mut found = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            let at = Instant::from_nanos(packet.timestamp.as_nanos() as u64);
            found.push((packet.interface_id, at, packet.data.into_owned()));
        }
    }
    found
}

fn run(scenario: &Scenario, capture: Capture, step_s: u64) -> (Vec<u8>, Vec<(Instant, Event)>, String) {
    let mut simulation = Simulation::new(scenario, 3, Observe { probes: ProbeMask::ALL, capture });
    let mut bytes = Vec::new();
    let mut until = 0;
    while !simulation.is_over() {
        until += step_s;
        simulation.advance_to(Instant::from_nanos(until * 1_000_000_000));
        bytes.extend(simulation.take_capture());
    }
    (bytes, simulation.take_trace(), simulation.results().to_json())
}

#[test]
fn a_capture_of_the_iu_changes_nothing_and_is_in_order() {
    let scenario = scenario(RELOCATED, &[]);
    let (packets, events, results) = run(&scenario, Capture::Packets, 100);
    let (all, same_events, same_results) = run(&scenario, WITH_IU, 100);
    assert!(events == same_events && results == same_results);
    let (packets, all) = (frames(&packets), frames(&all));
    assert!(all.windows(2).all(|pair| pair[0].1 <= pair[1].1), "a frame before one that is earlier");
    let of_hosts: Vec<_> = all.iter().filter(|frame| frame.0 < 2).cloned().collect();
    assert_eq!(of_hosts, packets);
    // However often it is taken.
    assert_eq!(run(&scenario, WITH_IU, 1).0, run(&scenario, WITH_IU, 100).0);
    // Its number follows that of PDUs.
    let both = frames(&run(&scenario, WITH_BOTH, 100).0);
    let renumbered = both.into_iter().filter(|frame| frame.0 != 2);
    assert_eq!(renumbered.map(|(n, at, bytes)| (n.min(2), at, bytes)).collect::<Vec<_>>(), all);
}

/// A G-PDU in a frame on the Iu: direction, RNC, TEID, sequence number and packet.
struct GPdu {
    at: Instant,
    up: bool,
    rnc: u8,
    teid: u32,
    number: Option<u16>,
    packet: Vec<u8>,
}

fn g_pdus(all: &[Frame]) -> Vec<GPdu> {
    let mut found = Vec::new();
    for (_, at, bytes) in all.iter().filter(|frame| frame.0 == 2) {
        let (outer, message) = decapsulate(bytes).unwrap();
        let message = Message::decode(message).unwrap();
        let Body::GPdu(packet) = message.body else { continue };
        let up = outer.dst.ip().octets()[2] == 0;
        let rnc = if up { outer.src } else { outer.dst }.ip().octets()[3];
        let (at, teid, number) = (*at, message.teid, message.sequence_number);
        found.push(GPdu { at, up, rnc, teid, number, packet: packet.to_vec() });
    }
    found
}

#[test]
fn g_pdus_have_the_tunnels_and_times_of_their_packets() {
    let scenario = scenario(RELOCATED, &[]);
    let (bytes, events, results) = run(&scenario, WITH_IU, 100);
    let g_pdus = g_pdus(&frames(&bytes));
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    let ues = &results["elements"][1]["ues"];
    for ue in 0..2_u8 {
        let of_ue = |g_pdu: &&GPdu| g_pdu.packet[if g_pdu.up { 15 } else { 19 }] == ue + 1;
        for up in [false, true] {
            let mine: Vec<_> = g_pdus.iter().filter(of_ue).filter(|g_pdu| g_pdu.up == up).collect();
            assert!(mine.len() > 50);
            let numbers: Vec<_> = mine.iter().map(|g_pdu| g_pdu.number.unwrap()).collect();
            assert!(
                numbers.iter().zip(0..).all(|(number, n)| *number == n),
                "they continue over a relocation"
            );
            for g_pdu in mine {
                let moved = ue == 0 && g_pdu.rnc == 2;
                let iu = &ues[usize::from(ue)];
                let teids = if moved { &iu["relocations"][0]["teids"] } else { &iu["iu"]["teids"] };
                assert_eq!(teids[if up { "sgsn" } else { "rnc" }], g_pdu.teid);
                // The outage lasts from 9 s to 10 s. Downlink the SGSN decides, 3 to 8 ms before.
                let sure = Instant::from_nanos(10_000_000_000)..Instant::from_nanos(10_100_000_000);
                if ue == 0 && !sure.contains(&g_pdu.at) {
                    assert_eq!(moved, g_pdu.at >= sure.end, "{:?}", g_pdu.at);
                }
            }
        }
    }
    // Downlink a packet passes the RNC and is in the cell's buffer, or dropped by it, at the same instant.
    let mut in_cell: Vec<_> = events
        .iter()
        .filter_map(|(at, event)| match event {
            Event::BearerEnqueued { direction, .. } if direction.name() == "downlink" => Some(*at),
            Event::Dropped { element, reason, .. } if reason.name() == "queue_full" && *element == 3 => {
                Some(*at)
            }
            _ => None,
        })
        .collect();
    in_cell.sort();
    let passed: Vec<_> = g_pdus.iter().filter(|g_pdu| !g_pdu.up).map(|g_pdu| g_pdu.at).collect();
    assert_eq!(passed, in_cell);
}

#[test]
fn packets_inside_are_those_that_hosts_sent_but_for_what_the_box_sets() {
    let all = frames(&run(&scenario(RELOCATED, &[]), WITH_IU, 100).0);
    let host = |interface, client: usize| {
        let sent = all.iter().filter(move |frame| frame.0 == interface);
        sent.filter(move |frame| frame.2[client] == 64).map(|frame| frame.2.clone()).collect::<Vec<_>>()
    };
    // UEs are in 10.64.0.0/16. Headers alone are in the captures of hosts; the rest is zeros.
    let (from_server, from_ue) = (host(0, 17), host(1, 13));
    let (mut seen, mut flagged) = (0, 0);
    for g_pdu in g_pdus(&all) {
        let all_sent = if g_pdu.up { &from_ue } else { &from_server };
        let is_it = |frame: &&Vec<u8>| g_pdu.packet[..20] == frame[..20];
        let sent = all_sent.iter().find(is_it).unwrap_or_else(|| panic!("{:?}: it was not sent", g_pdu.at));
        let (headers, payload) = g_pdu.packet.split_at(sent.len());
        assert!(payload.iter().all(|octet| *octet == 0));
        seen += 1;
        if headers == sent {
            continue;
        }
        let differs: Vec<_> = (0..sent.len()).filter(|i| headers[*i] != sent[*i]).collect();
        // Octet 12 of TCP holds the bit; 16 and 17 are the checksum: one octet of it changes, or both by a carry.
        assert!(
            g_pdu.up && differs.contains(&32) && differs.iter().all(|i| [32, 36, 37].contains(i)),
            "{differs:?}"
        );
        assert_eq!(headers[32] ^ sent[32], 1);
        flagged += 1;
    }
    assert!(seen > 200 && flagged > 10, "{flagged} of {seen}");
}

#[test]
fn each_path_begins_with_an_echo() {
    let all = frames(&run(&scenario(RELOCATED, &[]), WITH_IU, 100).0);
    let echoes: Vec<_> = all
        .iter()
        .filter(|frame| frame.0 == 2)
        .filter_map(|(_, at, bytes)| {
            let (outer, message) = decapsulate(bytes).unwrap();
            let kind = Message::decode(message).unwrap().body.message_type();
            (kind != 255).then(|| (at.as_nanos() / 1000, kind, outer.src.ip().to_string()))
        })
        .collect();
    // 40 and 42 octets at 2 Mbit/s, and twice the delay.
    let echo = |us, kind, node: &str| (us, kind, node.to_owned());
    let (sgsn, rncs) = ("172.16.0.2", ["172.16.1.1", "172.16.1.2"]);
    let expected = [
        echo(0, 1, rncs[0]),
        echo(16_000 + 160 + 168, 2, sgsn),
        echo(10_000_000, 1, rncs[1]),
        echo(10_000_000 + 6000 + 160 + 168, 2, sgsn),
    ];
    assert_eq!(echoes, expected);
}
