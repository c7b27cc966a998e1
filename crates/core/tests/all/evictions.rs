//! An evicting discipline removes the first unsent packet, in every kind of buffer.

use airpath_core::channel::Channel;
use airpath_core::packet::{Dir, Packet};
use airpath_core::path::Path;
use airpath_core::rlc::{self, Rlc, Slot, SlotReport, fixed_delay_arq};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{ProbeMask, Reason};
use airpath_core::units::{Bitrate, Bytes};
use airpath_core::{radio, rng};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn cell(kind: &str, bearer: &Value) -> Path {
    let config: radio::Config =
        serde_json::from_value(json!({kind: {"downlink": bearer, "uplink": bearer}})).unwrap();
    config.validate().unwrap();
    Path::new(vec![config.build(&radio::Plan::of(1))], ProbeMask::NONE)
}

/// Sends packets of 100 bytes at these milliseconds down a cell. Their numbers as they came out, and the report.
fn send(kind: &str, bearer: &Value, times_ms: &[u64]) -> (Vec<u32>, Value) {
    let mut path = cell(kind, bearer);
    for (number, ms) in times_ms.iter().enumerate() {
        let mut packet = path.packet();
        (packet.seq, packet.len, packet.payload) = (number as u32, 100, 60);
        path.handle_packet(Instant::from_nanos(ms * 1_000_000), Dir::Downlink, packet);
    }
    path.handle_timeout(Instant::from_nanos(100_000_000_000));
    let out = std::iter::from_fn(|| path.poll_output()).map(|(_, _, packet)| packet.seq).collect();
    assert_eq!(path.drops(0, Reason::Evicted) + path.drops(0, Reason::EarlyDrop), 1, "{kind}");
    (out, path.reports()[0]["ues"][0]["downlink"].clone())
}

/// Six packets at once and PDPC with a threshold of four: the fourth to come finds three. Where a transmission begins
/// with the first packet, that one is safe; where the first opportunity is yet to come, it is the victim.
#[test]
fn the_victim_is_the_first_packet_of_which_nothing_was_sent() {
    let queue = json!({"pdpc": {"max_threshold": 4}});
    let drawn = json!({"distribution": {"rate": {"constant": "8 kbit/s"}}});
    let trace = json!({"trace_file": {"trace": "50\n"}});
    let arq = json!({"fixed_delay_arq": {}});
    let am = json!({"am": {}});
    let cells = [
        ("variable", json!({"queue": queue, "channel": drawn, "buffer": "shared"}), 1),
        ("variable", json!({"queue": queue, "channel": drawn, "buffer": "per_flow"}), 1),
        ("variable", json!({"queue": queue, "channel": trace}), 0),
        ("dch", json!({"rate": "64 kbit/s", "queue": queue, "rlc": arq}), 1),
        ("dch", json!({"rate": "64 kbit/s", "queue": queue, "rlc": am}), 0),
    ];
    for (kind, bearer, victim) in cells {
        let (out, report) = send(kind, &bearer, &[0; 6]);
        let expected: Vec<u32> = (0..6).filter(|number| *number != victim).collect();
        assert_eq!(out, expected, "{kind}: {bearer}");
        let counts = ["sdus_in", "sdus_delivered", "sdus_dropped", "sdus_discarded", "bytes_delivered"];
        let counted = counts.map(|key| report[key].as_u64().unwrap());
        assert_eq!(counted, [5, 5, 1, 0, 500], "{kind}: {report}");
    }
}

/// All that came before has begun: in a TTI of 160 bytes the whole of the first packet and part of the second, and
/// then nothing waits but the one that comes.
#[test]
fn where_everything_has_begun_the_packet_that_comes_is_dropped() {
    let bearer = json!({
        "rate": "64 kbit/s", "queue": {"pdpc": {"max_threshold": 3}},
        "rlc": {"am": {"tti": "20 ms"}}, "delay": "200 ms",
    });
    // Two packets in TTIs at 0 and 20 ms, acknowledged half a second later; the third comes in between.
    let (out, report) = send("dch", &bearer, &[0, 0, 100, 130, 2000]);
    assert_eq!(out, [0, 1, 3, 4]);
    assert_eq!(report["sdus_dropped"], 1);
}

/// A link in which each packet has a flow: the turn of a flow whose only packet is taken out passes to its new one.
#[test]
fn a_flow_keeps_its_turn_when_its_packet_is_replaced() {
    let bearer = json!({
        "queue": {"pdpc": {"max_threshold": 2}}, "buffer": "per_flow",
        "channel": {"distribution": {"rate": {"constant": "8 kbit/s"}}},
    });
    let mut path = cell("variable", &bearer);
    // Flow 0 is served; flows 1 and 2 wait, and flow 1 gets another packet.
    for (number, flow) in [0, 1, 2, 1].into_iter().enumerate() {
        let mut packet = path.packet();
        (packet.seq, packet.len, packet.flow) = (number as u32, 100, flow);
        path.handle_packet(Instant::ZERO, Dir::Downlink, packet);
    }
    path.handle_timeout(Instant::from_nanos(10_000_000_000));
    let out: Vec<u32> = std::iter::from_fn(|| path.poll_output()).map(|(_, _, packet)| packet.seq).collect();
    assert_eq!(out, [0, 3, 2]);
}

fn arq(pdu: Option<u64>, concatenation: bool, delivery: fixed_delay_arq::Delivery) -> Box<dyn Rlc> {
    let config = fixed_delay_arq::Config {
        pdu: pdu.map(Bytes::from_bytes),
        concatenation,
        delivery,
        ..fixed_delay_arq::Config::default()
    };
    rlc::Config::FixedDelayArq(config).build(Bitrate::from_bps(64_000), rng::stream(1, "rlc")).unwrap()
}

fn sdu(number: u32, len: u32) -> Box<Packet> {
    Box::new(Packet { seq: number, len, ..Packet::default() })
}

struct Lossy(rng::Stream);

impl Channel for Lossy {
    fn block_lost(&mut self, _now: Instant) -> bool {
        self.0.uniform() < 0.3
    }
}

/// Runs slots until nothing is left, doing `between` before each; what was started and handed up.
fn run(rlc: &mut dyn Rlc, mut between: impl FnMut(&mut dyn Rlc, u32) -> bool) -> (Vec<u32>, Vec<u32>) {
    let (mut now, mut report, mut channel) =
        (Instant::ZERO, SlotReport::default(), Lossy(rng::stream(7, "x")));
    let (mut slot, mut started) = (0, Vec::new());
    loop {
        let more = between(rlc, slot);
        slot += 1;
        match rlc.start_slot(now, true, &mut report) {
            Slot::BusyUntil(end) => {
                now = end;
                rlc.end_slot(now, &mut channel, &mut report);
            }
            Slot::IdleUntil(at) => now = at,
            Slot::Idle if more => now += Duration::from_millis(20),
            Slot::Idle => break,
        }
        started.extend(report.started.drain(..).map(|(_, number, _)| number));
    }
    (started, report.delivered.iter().map(|(packet, _)| packet.seq).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Whatever is taken out had not begun, and everything else is handed up once, in order if in sequence.
    #[test]
    fn fixed_delay_arq_gives_up_what_it_has_not_begun(
        pdu in prop_oneof![Just(None), Just(Some(40)), Just(Some(32))],
        concatenation: bool,
        in_sequence: bool,
        steps in prop::collection::vec((prop::collection::vec(1..400_u32, 0..6), 0..3_u32), 1..20),
    ) {
        let delivery = if in_sequence {
            fixed_delay_arq::Delivery::InSequence
        } else {
            fixed_delay_arq::Delivery::OutOfSequence
        };
        let mut rlc = arq(pdu, concatenation, delivery);
        let (mut sent, mut taken) = (0, Vec::new());
        let (started, up) = run(rlc.as_mut(), |rlc, slot| {
            let Some((lens, takes)) = steps.get(slot as usize) else { return false };
            for len in lens {
                rlc.handle_sdu(Instant::ZERO, sdu(sent, *len));
                sent += 1;
            }
            taken.extend((0..*takes).filter_map(|_| rlc.take_waiting()).map(|packet| packet.seq));
            true
        });
        let gone: BTreeSet<u32> = taken.iter().copied().collect();
        prop_assert!(taken.is_sorted() && gone.len() == taken.len());
        let kept: Vec<u32> = (0..sent).filter(|number| !gone.contains(number)).collect();
        prop_assert_eq!(&started, &kept);
        let mut sorted = up.clone();
        sorted.sort_unstable();
        prop_assert_eq!(&sorted, &kept);
        prop_assert!(!in_sequence || up == kept);
    }
}

/// Before anything is sent, an SDU that came and was taken out leaves no trace: slots are as if it had not come.
#[test]
fn what_is_taken_out_leaves_no_gap() {
    for concatenation in [false, true] {
        let slots = |lens: &[u32], takes: bool| {
            let mut rlc = arq(Some(40), concatenation, fixed_delay_arq::Delivery::InSequence);
            for (number, len) in lens.iter().enumerate() {
                rlc.handle_sdu(Instant::ZERO, sdu(number as u32, *len));
            }
            if takes {
                assert_eq!(rlc.take_waiting().unwrap().len, lens[0]);
            }
            let (mut now, mut report, mut channel) =
                (Instant::ZERO, SlotReport::default(), Lossy(rng::stream(7, "x")));
            let mut ends = Vec::new();
            loop {
                now = match rlc.start_slot(now, true, &mut report) {
                    Slot::BusyUntil(end) => {
                        rlc.end_slot(end, &mut channel, &mut report);
                        end
                    }
                    Slot::IdleUntil(at) => at,
                    Slot::Idle => break,
                };
                ends.push((now, report.pdus_sent, report.delivered.len()));
            }
            ends
        };
        assert_eq!(slots(&[130, 90, 33, 500], true), slots(&[90, 33, 500], false));
    }
}
