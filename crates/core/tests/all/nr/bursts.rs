//! What a TDD cell does to streams: bursts behind a lost block, windows of numbers, a blockage, independence of others.

use super::{at, cell, fdd_15, ms};
use crate::shared::{Cell, near, over};
use airpath_core::packet::Dir;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use serde_json::{Value, json};

/// Arrival times (ns) and numbers of the packets delivered by a cell that is offered `packets` packets of 1500 B per
/// millisecond.
fn stream(cell: &mut Cell, millis: u64, packets: u32) -> Vec<(u64, u32)> {
    let mut arrived = Vec::new();
    for step in 0..millis {
        cell.run_until(at(ms(step as f64)));
        arrived.extend(cell.outputs().iter().map(|(at, packet)| (at.as_nanos(), packet.seq)));
        (0..packets).for_each(|_| _ = cell.send(at(ms(step as f64)), Dir::Downlink, 0, 1500));
    }
    arrived.extend(cell.run_dry().iter().map(|(at, packet)| (at.as_nanos(), packet.seq)));
    arrived
}

/// A cell whose UE receives nothing in slot 210, the first of a pattern, in which no report is made.
fn deaf_in_one_slot(pdcp: &Value) -> Cell {
    let rows = "time_s,sinr_db\n0,45\n0.105,-20\n0.1055,45\n";
    let reception = json!({"series": {"rows": rows, "between": "hold"}, "fading": {"none": {}}});
    cell(&json!({"downlink": {"reception": reception, "harq": {"bler": []}, "pdcp": pdcp}}))
}

/// Acceptance test 21: PDCP holds what ten slots bring behind a lost block, and hands it up in one instant.
#[test]
fn what_a_lost_block_holds_up_comes_in_one_burst() {
    let arrived = stream(&mut deaf_in_one_slot(&json!({})), 150, 135);
    assert!(arrived.is_sorted_by_key(|(_, number)| *number));
    let begin = ms(105.0);
    let burst = arrived.iter().filter(|(at, _)| *at == begin + ms(8.0)).count() as f64;
    // Ten blocks of 1,081,512 bits and one of 385,272 in packets of 1509 B.
    let expected = (10.0 * 1_081_512.0 + 385_272.0) / (8.0 * 1509.0);
    assert!((burst - expected).abs() <= 2.0, "{burst} packets, not {expected}");
    let before = arrived.iter().filter(|(at, _)| (begin + ms(1.0)..begin + ms(8.0)).contains(at)).count();
    assert_eq!(before, 0);
}

/// Acceptance test 21: without order only the lost block is late, by its round trip.
#[test]
fn without_order_only_the_lost_block_is_late() {
    let arrived = stream(&mut deaf_in_one_slot(&json!({"out_of_order": true})), 150, 135);
    let begin = ms(105.0);
    let at_end_of = |slot: f64| begin + ms(0.5 * (slot + 1.0) + 1.0);
    for slot in [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 10.0, 11.0, 12.0] {
        assert!(arrived.iter().any(|(at, _)| *at == at_end_of(slot)), "slot {slot}");
    }
    let late: Vec<u32> =
        arrived.iter().filter(|(at, _)| *at == at_end_of(13.0)).map(|(_, number)| *number).collect();
    // 89.6 packets; the first has started before, and the last ends after the outage.
    assert!((89..=91).contains(&late.len()), "{}", late.len());
    let overtaken =
        arrived.iter().filter(|(at, number)| *at < at_end_of(13.0) && *number > late[0]).count() as f64;
    assert!(near(overtaken, (9.0 * 1_081_512.0 + 385_272.0) / (8.0 * 1509.0), 0.01), "{overtaken}");
}

/// Acceptance test 23: 2048 SDUs are in transit at most with numbers of 12 bits: a longer round trip of RLC, by 20 ms, takes
/// 20 ms more for each of these windows. Numbers of 18 bits fill the cell.
#[test]
#[ignore = "slow"]
fn twelve_bits_of_numbers_bound_the_rate() {
    let rate = |sn: u8, uplink_delay: &str| {
        let rlc = json!({"am_nr": {"sn": sn, "t_status_prohibit": "0 ms"}});
        let mut cell = cell(&json!({
            "downlink": {"rlc": rlc},
            "uplink": {"delay": uplink_delay, "rlc": rlc, "standing": {"every": "0.5 ms", "block": "300 B"}},
        }));
        let mut arrived = 0;
        for step in 0..1100 {
            cell.run_until(at(ms(f64::from(step))));
            let packets = cell.outputs().len();
            arrived += if step >= 100 { packets } else { 0 };
            (0..if step == 0 { 6000 } else { packets.max(1) }).for_each(|_| {
                _ = cell.send(at(ms(f64::from(step))), Dir::Downlink, 0, 1500);
            });
        }
        arrived as f64 * 12_000.0 / 1e6
    };
    let [near_by, far, wide] = [rate(12, "20 ms"), rate(12, "40 ms"), rate(18, "40 ms")];
    let window = |mbps: f64| 2048.0 * 12_000.0 / 1e6 / mbps * 1e3;
    let longer = window(far) - window(near_by);
    assert!((longer - 20.0).abs() < 1.0, "{longer} ms: {near_by} and {far} Mbit/s");
    assert!(wide > 1500.0, "{wide}");
}

/// Acceptance test 29: a blockage of 280 ms with -5 dB instead of 20 dB.
const BLOCKED: &str = "time_s,sinr_db\n0,20\n1,-5\n1.28,20\n";

/// Acceptance test 29: at -5 dB the cell has MCS 0 on one layer. By hand: seven blocks of 8,448 bits and one of 48 instead of
/// 132 elements in 5 ms.
#[test]
fn the_rate_in_a_blockage_is_that_of_the_lowest_row() {
    let mut cell = cell(&json!({"downlink": {"reception": {"mean_sinr": "-5 dB", "fading": {"none": {}}}}}));
    let arrived = stream(&mut cell, 600, 2);
    let steady = arrived.iter().filter(|(at, _)| (ms(100.0)..ms(600.0)).contains(at)).count();
    let rate = steady as f64 * 12_000.0 / 0.5e6;
    let blocks = cell.blocks();
    assert!(blocks.iter().all(|block| block.cqi == 0), "{:?}", blocks.iter().map(|block| block.cqi).max());
    // Headers are 9 octets for each packet and 8 for each segment.
    let expected = (7.0 + 48.0 / 132.0) * 8448.0 / 5e3 * (1056.0 - 8.0) / 1056.0 * 1500.0 / 1509.0;
    assert!(near(rate, expected, 0.02), "{rate}, not {expected}");
}

/// Acceptance test 29 with TCP: CUBIC outlasts a blockage that is shorter than its timeout.
#[test]
fn tcp_outlasts_a_blockage() {
    let text = format!(
        r#"
duration = "3 s"
wired = {{ rate = "2.5 Gbit/s", delay = "10 ms" }}
[radio.nr.downlink]
blocks.bandwidth = "20 MHz"
reception = {{ series = {{ rows = "{}", between = "hold" }}, fading.none = {{}} }}
[tcp]
profile = "linux"
receive_buffer_max = "16 MB"
[[flow]]
app.bulk = {{}}
"#,
        BLOCKED.replace('\n', "\\n")
    );
    let scenario = Scenario::parse(&text, &[]).unwrap();
    let mut simulation = Simulation::new(&scenario, 1, Observe::default());
    simulation.run();
    let results = simulation.results();
    let sender = &results.flows[0].sender;
    assert_eq!((sender.timeouts, sender.retransmissions.timeout), (0, 0));
    let queueing = results.flows[0].queueing_delay_ms.max.unwrap();
    assert!(queueing > 100.0, "{queueing}");
}

/// Acceptance test 29 without TCP: 48 Mbit/s of UDP, of which some packets are in blocks that HARQ gives up when the
/// blockage begins. RLC repairs them all; PDCP passes over those that come later than t_reordering. Without it, which is
/// what TS 38.331 has where RRC says nothing, or with a longer one than the blockage, nothing is lost.
#[test]
fn pdcp_passes_over_what_rlc_repairs_in_a_blockage() {
    let missing = |t_reordering: Value| {
        let reception = json!({"series": {"rows": BLOCKED, "between": "hold"}, "fading": {"none": {}}});
        let keys = json!({"downlink": {
            "blocks": {"bandwidth": "20 MHz"}, "reception": reception, "harq": {"bler": []},
            "pdcp": {"t_reordering": t_reordering},
        }});
        let mut cell = cell(&keys);
        let arrived = stream(&mut cell, 1800, 4);
        assert!(arrived.is_sorted_by_key(|(_, number)| *number));
        let report = cell.report()["ues"][0]["downlink"].clone();
        assert_eq!(
            (&report["sdus_dropped"], &report["rlc"]["discarded_sdus"]),
            (&json!(0), &json!(0)),
            "{report}"
        );
        4 * 1800 - arrived.len()
    };
    let [short, long, infinite] = [json!("100 ms"), json!("350 ms"), Value::Null].map(missing);
    assert!(short > 5, "{short}");
    assert_eq!((long, infinite), (0, 0), "{short}");
}

/// Acceptance test 30: what UE 0 hears, and by which row it is sent to, does not depend on others in the cell.
#[test]
fn a_ue_hears_the_same_whoever_else_is_there() {
    let heard = |ues: u16| {
        let keys = over(
            fdd_15(),
            &json!({"downlink": {
                "reception": {"mean_sinr": "18 dB", "fading": {"jakes": {"doppler": "20 Hz"}}},
                "adaptation": {"outer_loop": false}, "scheduler": {"round_robin": {}}, "harq": {"bler": []},
            }}),
        );
        let mut cell = Cell::new("nr", ues, &keys);
        for step in 0..500 {
            cell.run_until(at(ms(f64::from(step))));
            for ue in 0..ues {
                (0..4).for_each(|_| _ = cell.send(at(ms(f64::from(step))), Dir::Downlink, ue, 1500));
            }
            cell.outputs();
        }
        let blocks = cell.blocks().into_iter().filter(|block| block.ue == 0);
        let first = blocks.filter(|block| block.transmission == 1);
        first.map(|block| (block.at_ms, (block.sinr_thousandths, block.cqi))).collect::<Vec<_>>()
    };
    let (alone, among) = (heard(1), heard(8));
    let common: Vec<_> = among
        .iter()
        .filter_map(|(at_ms, own)| {
            alone.iter().find(|(other, _)| other == at_ms).map(|(_, other)| (own, other))
        })
        .collect();
    // Each UE is sent to in every eighth slot, and one alone not in each.
    assert!(common.len() > 15, "{}", common.len());
    assert!(common.iter().all(|(own, other)| own == other), "{common:?}");
}
