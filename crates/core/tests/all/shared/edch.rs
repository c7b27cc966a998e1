//! The enhanced dedicated channel (E-DCH) of an HSDPA cell by hand: grants, HARQ, load and power.

use super::{Cell, over};
use airpath_core::packet::Dir;
use airpath_core::radio;
use airpath_core::time::{Duration, Instant};
use serde_json::{Value, json};

/// An uplink without errors that grants what is needed at once, unless the keys say otherwise.
fn edch(keys: &Value) -> Value {
    let still = json!({
        "reception": {"mean_sinr": "20 dB", "fading": {"none": {}}}, "step": "40 dB", "harq": {"bler": [0]},
    });
    // STATUS PDUs so often that the window of 2047 PDUs is none of the bounds.
    let rlc = json!({"am": {
        "configured_tx_window_size": 2047, "configured_rx_window_size": 2047, "timer_poll": "200 ms",
        "timer_status_prohibit": "20 ms",
    }});
    json!({
        "downlink": {"rlc": rlc.clone()},
        "uplink": {
            "rlc": rlc, "queue": {"droptail": {"packets": 5000}}, "delay": "15 ms", "edch": over(still, keys),
        },
    })
}

fn micros(us: u64) -> Instant {
    Instant::ZERO + Duration::from_nanos(1000 * us)
}

const SHORT: &str = "2 ms";

/// Least and greatest delay in ms of a packet of one PDU that enters a silent cell, over a TTI.
fn delays(keys: &Value, tti_us: u64) -> [f64; 2] {
    let mut cell = Cell::new("hsdpa", 1, &edch(keys));
    let mut all = Vec::new();
    for step in 0..20 {
        let at = micros(1_000_000 * (step + 1) + tti_us / 20 * step + 10);
        cell.run_until(at);
        cell.outputs();
        cell.send(at, Dir::Uplink, 0, 38);
        cell.run_until(at + Duration::from_millis(500));
        all.extend(cell.outputs().iter().map(|(out, _)| out.since(at).as_secs_f64() * 1000.0));
    }
    assert_eq!(all.len(), 20);
    [all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(0.0, f64::max)]
}

/// SI in the next TTI n, a block in n + 8 (n + 4 with TTIs of 10 ms), and 15 ms from its end on. Without a grant the block is
/// the next that is not being prepared.
#[test]
fn an_idle_uplink_asks_first() {
    let near = |own: [f64; 2], least: f64, most: f64, sampled: f64| {
        assert!(own[0] >= least && own[0] < least + sampled + 0.02, "{own:?}");
        assert!(own[1] <= most && own[1] > most - sampled - 0.02, "{own:?}");
    };
    near(delays(&json!({"tti": SHORT, "category": 6}), 2000), 33.0, 35.0, 0.1);
    near(delays(&json!({}), 10_000), 65.0, 75.0, 0.5);
    near(delays(&json!({"tti": SHORT, "category": 6, "unscheduled": 1}), 2000), 19.0, 21.0, 0.1);
    near(delays(&json!({"unscheduled": 1}), 10_000), 35.0, 45.0, 0.5);
}

/// Uplink goodput of each UE between the second and the sixth second, kbit/s, with buffers that are never empty.
fn uploads(ues: u16, keys: &Value) -> (Vec<f64>, Value) {
    let mut cell = Cell::new("hsdpa", ues, &edch(keys));
    let mut bytes = vec![0_u64; ues.into()];
    for step in 0..600 {
        let now = micros(10_000 * step);
        cell.run_until(now);
        for ue in 0..ues {
            (0..6).for_each(|_| _ = cell.send(now, Dir::Uplink, ue, 1500));
        }
        for (at, packet) in cell.outputs() {
            bytes[usize::from(packet.ue)] += if at < micros(2_000_000) { 0 } else { u64::from(packet.len) };
        }
    }
    (bytes.into_iter().map(|bytes| bytes as f64 * 8.0 / 4000.0).collect(), cell.report())
}

fn near(own: f64, expected: f64, within: f64) {
    assert!((own / expected - 1.0).abs() < within, "{own}, not {expected}");
}

/// PDUs of a block x 320 bit / TTI, x 1500/1501; a tenth of first transmissions lost costs a tenth more.
#[test]
fn the_peak_of_a_category_is_that_of_its_pdus() {
    for (tti, category, pdus, ms) in [(SHORT, 6, 34.0, 2.0), (SHORT, 4, 17.0, 2.0), ("10 ms", 2, 43.0, 10.0)]
    {
        let peak = pdus * 320.0 / ms * 1500.0 / 1501.0;
        let keys = json!({"tti": tti, "category": category});
        near(uploads(1, &keys).0[0], peak, 0.01);
        let lossy = over(keys, &json!({"harq": {"bler": ["10 %", 0]}}));
        near(uploads(1, &lossy).0[0], peak / 1.1, 0.015);
    }
}

/// MAC-es puts blocks in order: RLC retransmits nothing that HARQ repairs.
#[test]
fn blocks_that_harq_repairs_cost_rlc_nothing() {
    for tti in [SHORT, "10 ms"] {
        let (_, report) = uploads(1, &json!({"tti": tti, "category": 2, "harq": {"bler": ["30 %", 0]}}));
        let uplink = &report["ues"][0]["uplink"];
        assert_eq!(uplink["rlc"]["retransmitted_pdus"], 0, "{uplink}");
        assert!(uplink["harq"]["repeats"].as_u64() > Some(100), "{uplink}");
    }
}

/// What HARQ abandons, RLC retransmits: everything arrives, once and in order.
#[test]
fn blocks_that_harq_abandons_come_back_by_rlc() {
    let keys =
        edch(&json!({"tti": SHORT, "category": 6, "harq": {"bler": ["20 %"], "max_transmissions": 1}}));
    let mut cell = Cell::new("hsdpa", 1, &keys);
    let sent: Vec<u32> = (0..300).map(|_| cell.send(Instant::ZERO, Dir::Uplink, 0, 1500)).collect();
    let arrived: Vec<u32> = cell.run_dry().iter().map(|(_, packet)| packet.seq).collect();
    assert_eq!(arrived, sent);
    let report = cell.report();
    assert!(report["ues"][0]["uplink"]["harq"]["blocks_lost"].as_u64() > Some(5), "{report}");
}

/// 500 PDUs: one by the SI in TTI 8, then from TTI 16 on 1 dB more in each while the happy bit is not set, up to 34.
#[test]
fn grants_rise_by_a_step_per_tti() {
    let keys = json!({"tti": SHORT, "category": 6, "step": "1 dB", "happy_delay": "2 ms"});
    let mut cell = Cell::new("hsdpa", 1, &edch(&keys));
    (0..50).for_each(|_| _ = cell.send(Instant::ZERO, Dir::Uplink, 0, 399));
    let last = cell.run_dry().last().map(|(at, _)| at.as_nanos() / 1_000_000);
    let (mut sent, mut tti) = (1, 16);
    loop {
        sent += (libm::pow(10.0, 0.1 * f64::from(tti - 16)) as u32).min(34);
        tti += 1;
        if sent >= 500 {
            break;
        }
    }
    // The first SDU waits for no TTI: the SI is in TTI 0.
    let expected = 2 * u64::from(tti as u32) + 15;
    let last = last.unwrap();
    assert!(last == expected || last == expected + 2, "{last} ms, not {expected}");
}

/// 43 PDUs in 10 ms are half of the largest load: two UEs have their peaks, four share them.
#[test]
fn ues_share_the_load() {
    let peak = 43.0 * 32.0 * 1500.0 / 1501.0;
    let keys = json!({"category": 2});
    let two = uploads(2, &keys).0;
    two.iter().for_each(|own| near(*own, peak, 0.01));
    let four = uploads(4, &keys).0;
    near(four.iter().sum(), 2.0 * peak, 0.02);
    four.iter().for_each(|own| near(*own, peak / 2.0, 0.05));
}

/// At -10 dB a UE's full power causes a load of 0.0251: 62 kbit/s, which fits a single PDU of 336 bits in 10 ms.
#[test]
fn power_bounds_a_ue_far_away() {
    let keys = |sinr: &str| json!({"category": 2, "reception": {"mean_sinr": sinr}});
    let (_, report) = uploads(1, &keys("-10 dB"));
    let bits = report["ues"][0]["uplink"]["harq"]["bits"].as_f64().unwrap();
    near(bits / 6000.0, 35.4, 0.02);
    near(uploads(1, &keys("1.8 dB")).0[0], 43.0 * 32.0, 0.01);
}

#[test]
fn nothing_is_lost_when_a_ue_changes_its_node_b() {
    let handovers = json!([{"ue": 0, "at": "100 ms", "outage": "50 ms", "warning": "0 ms"}]);
    let keys = edch(&json!({"tti": SHORT, "category": 6, "harq": {"bler": ["10 %", 0]}}));
    let mut cell = Cell::with_handovers("hsdpa", &keys, &handovers);
    let sent: Vec<u32> = (0..300).map(|_| cell.send(Instant::ZERO, Dir::Uplink, 0, 1500)).collect();
    assert_eq!(cell.run_dry().iter().map(|(_, packet)| packet.seq).collect::<Vec<_>>(), sent);
}

#[test]
fn an_idle_cell_is_silent() {
    let mut cell = Cell::new("hsdpa", 4, &edch(&json!({"unscheduled": 1})));
    assert_eq!(cell.path.poll_timeout(), None);
    cell.send(Instant::ZERO, Dir::Uplink, 3, 100);
    assert_eq!(cell.run_dry().len(), 1);
    assert_eq!(cell.path.poll_timeout(), None);
}

#[test]
fn what_no_e_dch_has_is_refused() {
    let refused = |keys: Value| {
        let config: radio::Config = serde_json::from_value(json!({"hsdpa": {"uplink": keys}})).unwrap();
        config.validate().unwrap_err().to_string()
    };
    assert_eq!(
        refused(json!({"rate": "384 kbit/s", "edch": {}})),
        "hsdpa.uplink.rate: has no effect on an enhanced dedicated channel; remove it: edch.category bounds the rate"
    );
    assert_eq!(
        refused(json!({"edch": {"tti": "2 ms", "category": 5}})),
        "hsdpa.uplink.edch.tti: category 5 has no TTI of 2 ms; write \"10 ms\", or \"2 ms\" and category 2, 4 or 6"
    );
    assert!(
        refused(json!({"edch": {"category": 7}})).starts_with("hsdpa.uplink.edch.category: 7 is no category")
    );
    assert!(refused(json!({"edch": {"rise": "0 dB"}})).starts_with("hsdpa.uplink.edch.rise: "));
    assert!(
        refused(json!({"edch": {"tti": "2 ms", "category": 6, "harq": {"max_transmissions": 5}}}))
            .starts_with("hsdpa.uplink.edch.harq.max_transmissions: ")
    );
}
