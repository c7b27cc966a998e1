//! LTE's scheduled uplink by hand: requests, grants, standing grants, HARQ, power, sharing.

use super::{Cell, over};
use airpath_core::packet::Dir;
use airpath_core::radio;
use airpath_core::time::{Duration, Instant};
use serde_json::{Value, json};

/// A scheduled uplink in which nothing is lost unless the keys say so.
fn scheduled(keys: &Value) -> Value {
    let mut still = json!({"reception": {"mean_sinr": "60 dB"}, "harq": {"bler": [0]}});
    if keys["reception"]["fading"].is_null() {
        still["reception"]["fading"] = json!({"none": {}});
    }
    json!({"uplink": {"queue": {"droptail": {"packets": 5000}}, "scheduled": over(still, keys)}})
}

fn cell(keys: &Value) -> Cell {
    Cell::new("lte", 1, &scheduled(keys))
}

fn micros(us: u64) -> Instant {
    Instant::ZERO + Duration::from_nanos(1000 * us)
}

/// Least, mean and greatest delay in ms of packets of 100 B that enter a silent cell in each 20 µs of a period.
fn delays(keys: &Value, period_us: u64) -> [f64; 3] {
    let mut cell = cell(keys);
    let mut all = Vec::new();
    for step in 0..period_us / 20 {
        let at = micros(1_000_010 + 200_000 * step + 20 * step);
        cell.run_until(at);
        cell.outputs();
        cell.send(at, Dir::Uplink, 0, 100);
        cell.run_until(at + Duration::from_millis(100));
        all.extend(cell.outputs().iter().map(|(out, _)| out.since(at).as_secs_f64() * 1000.0));
    }
    assert_eq!(all.len() as u64, period_us / 20);
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    [all.iter().copied().fold(f64::MAX, f64::min), mean, all.iter().copied().fold(0.0, f64::max)]
}

fn near(own: [f64; 3], expected: [f64; 3]) {
    for (own_one, one) in own.iter().zip(expected) {
        assert!((own_one - one).abs() < 0.011, "{own:?}, not {expected:?}");
    }
}

/// Acceptance test 15: an SR every 10 ms, a grant 4 ms later, a block 4 ms later of 1 ms, and 3 ms to the network.
#[test]
fn an_idle_uplink_asks_first() {
    near(delays(&json!({}), 10_000), [12.0, 17.0, 22.0]);
}

/// Acceptance test 16: with a grant in each TTI a packet waits for the next TTI that is not being prepared.
#[test]
fn a_standing_grant_waits_for_the_next_tti() {
    near(delays(&json!({"standing": {"every": "1 ms", "block": "300 B"}}), 1000), [5.0, 5.5, 6.0]);
    near(delays(&json!({"standing": {"every": "5 ms", "block": "300 B"}}), 5000), [5.0, 7.5, 10.0]);
}

/// When packets of 1250 B that enter at 4 ms leave the eNodeB, ms, with blocks of 2.5 kB.
fn chain(keys: &Value, packets: u32) -> (Cell, Vec<f64>) {
    let blocks = json!({"first_block": "2.5 kB", "most_block": "2.5 kB"});
    let mut cell = cell(&over(blocks, keys));
    cell.run_until(micros(4000));
    (0..packets).for_each(|_| _ = cell.send(micros(4000), Dir::Uplink, 0, 1250));
    cell.run_until(micros(1_000_000));
    let times = cell.outputs().iter().map(|(at, _)| at.as_nanos() as f64 / 1e6).collect();
    (cell, times)
}

/// Acceptance test 17: the SR of TTI 10 is granted TTI 18, whose BSR is granted TTIs 26, 27 and 28.
#[test]
fn ten_kilobytes_take_four_blocks() {
    let (mut cell, times) = chain(&json!({}), 8);
    assert_eq!(times, [22.0, 22.0, 30.0, 30.0, 31.0, 31.0, 32.0, 32.0]);
    let harq = &cell.report()["ues"][0]["uplink"]["harq"];
    assert_eq!((&harq["requests"], &harq["blocks"]), (&json!(1), &json!(4)), "{harq}");
}

/// Synchronous HARQ: the block of TTI 18 is retransmitted in TTIs 26 and 34.
#[test]
fn a_lost_block_is_retransmitted_eight_ms_later() {
    assert_eq!(chain(&json!({"harq": {"bler": [1, 0]}}), 2).1, [30.0, 30.0]);
    assert_eq!(chain(&json!({"harq": {"bler": [1, 1, 0]}}), 2).1, [38.0, 38.0]);
}

/// RLC retransmits blocks that HARQ abandons.
#[test]
fn a_block_that_harq_abandons_is_retransmitted_by_rlc() {
    let (mut cell, times) = chain(&json!({"harq": {"bler": ["30 %"], "max_transmissions": 1}}), 40);
    assert_eq!(times.len(), 40);
    let harq = &cell.report()["ues"][0]["uplink"]["harq"];
    assert!(harq["blocks_lost"].as_u64() > Some(5), "{harq}");
}

/// Acceptance test 18: the ACKs of a download of 30 Mbit/s, one per two segments of 1448 B, leave in the blocks of a
/// standing grant: 12 or 13 in each 10 ms.
#[test]
fn acks_come_in_bunches() {
    let mut cell = cell(&json!({"standing": {"every": "10 ms", "block": "2 kB"}}));
    for number in 0..2600 {
        let now = micros(772 * number);
        cell.run_until(now);
        cell.send(now, Dir::Uplink, 0, 52);
    }
    let times: Vec<u64> = cell.run_dry().iter().map(|(at, _)| at.as_nanos() / 1000).collect();
    assert_eq!(times.len(), 2600);
    let mut bunches = std::collections::BTreeMap::new();
    times.iter().for_each(|at| *bunches.entry(*at).or_insert(0) += 1);
    assert!(bunches.keys().all(|at| at % 10_000 == 4000), "{bunches:?}");
    let whole: Vec<u32> = bunches.values().copied().skip(1).take(190).collect();
    assert!(whole.len() == 190 && whole.iter().all(|count| (12..=13).contains(count)), "{whole:?}");
}

/// Uplink goodput of each UE over the last two of three seconds, Mbit/s, with buffers that are never empty.
fn uploads(ues: u16, keys: &Value) -> Vec<f64> {
    let mut cell = Cell::new("lte", ues, &scheduled(keys));
    let mut bytes = vec![0_u64; ues.into()];
    for step in 0..3000 {
        let now = micros(1000 * step);
        cell.run_until(now);
        let packets = if step < 300 { 8 } else { 4 };
        for ue in 0..ues {
            (0..packets).for_each(|_| _ = cell.send(now, Dir::Uplink, ue, 1000));
        }
        for (at, packet) in cell.outputs() {
            bytes[usize::from(packet.ue)] += if at < micros(1_000_000) { 0 } else { u64::from(packet.len) };
        }
    }
    bytes.into_iter().map(|bytes| bytes as f64 * 8.0 / 2e6).collect()
}

/// 48 PRBs of I_TBS 21 (16QAM) or 26 (64QAM) are 24,096 or 35,472 bits per TTI, minus 1 % for headers.
#[test]
#[ignore = "slow"]
fn a_ue_near_by_has_the_rate_of_its_largest_blocks() {
    for (modulation, peak) in [("16qam", 24.096), ("64qam", 35.472)] {
        let rate = uploads(1, &json!({"blocks": {"modulation": modulation}}))[0];
        assert!((0.98..1.0).contains(&(rate / peak)), "{modulation}: {rate}");
    }
}

/// However many PRBs a UE spreads its power over, it has no more than SINR x 144 x log2(e) bits per TTI: 6.57 Mbit/s at 15
/// dB, and 0.104 at -3 dB.
#[test]
fn power_bounds_a_ue_far_away() {
    let keys = |sinr: Value| json!({"reception": {"mean_sinr": sinr}, "harq": {"bler": []}, "blocks": {"reserved_prbs": 0}});
    let alone = |sinr: &str| uploads(1, &keys(json!(sinr)))[0];
    let (far, middle) = (alone("-3 dB"), alone("15 dB"));
    assert!((0.02..0.104).contains(&far), "{far}");
    assert!((2.0..6.57).contains(&middle), "{middle}");
    // In one cell neither takes the other's PRBs: 50 are enough for both.
    let both = uploads(2, &keys(json!(["-3 dB", "15 dB"])));
    assert!(both[0] < both[1] / 10.0 && both[0] > 0.6 * far && both[1] > 0.6 * middle, "{both:?}");
}

/// Ten UEs share 10 MHz: a tenth of the cell each.
#[test]
#[ignore = "slow"]
fn ten_uploads_share_ten_mhz() {
    let rates = uploads(10, &json!({}));
    let all: f64 = rates.iter().sum();
    assert!((0.97..1.0).contains(&(all / 24.096)), "{all}");
    assert!(rates.iter().all(|own| (own / all - 0.1).abs() < 0.005), "{rates:?}");
}

/// The outer loop holds a tenth of first transmissions lost where the channel varies.
#[test]
#[ignore = "slow"]
fn the_outer_loop_holds_its_target() {
    let keys = json!({"harq": {"bler": []}, "reception": {"mean_sinr": "25 dB", "fading": {"jakes": {"doppler": "20 Hz"}}}});
    let mut cell = Cell::new("lte", 1, &scheduled(&keys));
    for step in 0..20_000 {
        cell.run_until(micros(1000 * step));
        (0..3).for_each(|_| _ = cell.send(micros(1000 * step), Dir::Uplink, 0, 1000));
        cell.outputs();
    }
    let report = cell.report();
    let harq = &report["ues"][0]["uplink"]["harq"];
    let lost = harq["first_lost"].as_f64().unwrap() / harq["blocks"].as_f64().unwrap();
    assert!((0.08..0.12).contains(&lost), "{harq}");
}

/// A hand-over: every packet once, in order, and nothing during the outage.
#[test]
fn nothing_is_lost_in_a_hand_over() {
    let handovers = json!([{"ue": 0, "at": "50 ms", "outage": "40 ms", "warning": "0 ms"}]);
    let keys = scheduled(&json!({"harq": {"bler": ["10 %", 0]}}));
    let mut cell = Cell::with_handovers("lte", &keys, &handovers);
    let sent: Vec<u32> = (0..300).map(|_| cell.send(Instant::ZERO, Dir::Uplink, 0, 1500)).collect();
    let outputs = cell.run_dry();
    assert_eq!(outputs.iter().map(|(_, packet)| packet.seq).collect::<Vec<_>>(), sent);
    let silent = |at: &Instant| !(54_000_000..90_000_000).contains(&at.as_nanos());
    assert!(outputs.iter().all(|(at, _)| silent(at)));
}

#[test]
fn an_idle_cell_is_silent() {
    let mut cell = cell(&json!({"standing": {}}));
    assert_eq!(cell.path.poll_timeout(), None);
    cell.send(Instant::ZERO, Dir::Uplink, 0, 100);
    assert_eq!(cell.run_dry().len(), 1);
    assert_eq!(cell.path.poll_timeout(), None);
}

#[test]
fn keys_that_have_no_effect_are_refused() {
    let refused = |keys: Value| {
        let config: radio::Config = serde_json::from_value(json!({"lte": {"uplink": keys}})).unwrap();
        config.validate().unwrap_err().to_string()
    };
    assert_eq!(
        refused(json!({"bler": "10 %", "scheduled": {}})),
        "lte.uplink.bler: has no effect on an uplink that is scheduled; write scheduled.harq.bler"
    );
    assert!(
        refused(json!({"scheduled": {"first_block": "0 B"}}))
            .starts_with("lte.uplink.scheduled.first_block: ")
    );
    assert!(
        refused(json!({"scheduled": {"standing": {"every": "0.5 ms"}}}))
            .starts_with("lte.uplink.scheduled.standing.every: 500 us is no whole number of slots of 1 ms")
    );
    assert!(
        refused(json!({"scheduled": {"blocks": {"reserved_prbs": 50}}}))
            .starts_with("lte.uplink.scheduled.blocks.reserved_prbs: 50 of 50 PRBs leave none")
    );
}
