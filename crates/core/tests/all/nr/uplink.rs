//! The uplink: requests, grants, standing grants, HARQ.

use super::{at, cell, dddsu, dddsuddsuu, ddsuu, delay, delays, fdd_15, mmwave, ms};
use crate::shared::{Cell, over};
use airpath_core::packet::Dir;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::Duration;
use airpath_core::trace::{Event, Kind, ProbeMask};
use serde_json::{Value, json};
use std::collections::HashMap;

fn check(keys: &Value, period: f64, expected: [f64; 3]) {
    let own = delays(keys, Dir::Uplink, 100, period);
    let sampled = period / 200.0 + 1e-9;
    assert!((own[1] - expected[1]).abs() < 0.001, "{keys}: {own:?}, not {expected:?}");
    let near = |at: usize| (own[at] - expected[at]).abs() <= sampled;
    assert!(near(0) && near(2), "{keys}: {own:?}, not {expected:?}");
}

fn wide_mmwave() -> Value {
    over(
        mmwave(),
        &json!({"downlink": {"blocks": {"bandwidth": "50 MHz"}}, "uplink": {"blocks": {"bandwidth": "50 MHz"}, "delay": "1 ms"}}),
    )
}

/// Acceptance test 15.
#[test]
fn an_idle_uplink_asks_first() {
    check(&json!({}), 10.0, [7.5, 12.5, 17.5]);
    check(&dddsu(), 10.0, [7.5, 12.5, 17.5]);
    check(&ddsuu(), 10.0, [8.0, 13.0, 18.0]);
    check(&fdd_15(), 10.0, [10.0, 15.0, 20.0]);
    check(&wide_mmwave(), 5.0, [3.625, 6.125, 8.625]);
    assert_eq!(delay(&mut cell(&json!({})), Dir::Uplink, ms(4.0), 100), 7.5);
}

/// Acceptance test 16: a standing grant in each uplink slot.
#[test]
fn a_standing_grant_waits_for_the_next_uplink_slot() {
    let standing = json!({"uplink": {"standing": {"every": "0.5 ms", "block": "300 B"}}});
    check(&standing, 5.0, [3.0, 5.05, 7.5]);
    check(&over(dddsu(), &standing), 2.5, [3.0, 4.25, 5.5]);
    check(&over(dddsuddsuu(), &standing), 5.0, [3.0, 4.05, 5.5]);
    check(&over(ddsuu(), &standing), 2.5, [3.0, 3.85, 5.0]);
    let each_ms = json!({"uplink": {"standing": {"every": "1 ms", "block": "300 B"}}});
    check(&over(fdd_15(), &each_ms), 1.0, [4.0, 4.5, 5.0]);
}

/// When packets of 1250 B that enter at 4 ms leave the gNB, ms.
fn chain(keys: &Value, packets: u32) -> (Cell, Vec<f64>) {
    let mut cell =
        cell(&over(keys.clone(), &json!({"uplink": {"first_block": "2.5 kB", "most_block": "2.5 kB"}})));
    cell.run_until(at(ms(4.0)));
    (0..packets).for_each(|_| _ = cell.send(at(ms(4.0)), Dir::Uplink, 0, 1250));
    cell.run_until(at(ms(1000.0)));
    let times = cell.outputs().iter().map(|(at, _)| at.as_nanos() as f64 / 1e6).collect();
    (cell, times)
}

/// Acceptance test 17: blocks of 2.5 kB in slots 18, 28, 29 and 38.
#[test]
fn ten_kilobytes_take_four_blocks() {
    let (cell, times) = chain(&json!({}), 8);
    let leave = |slot: f64| (slot + 1.0) * 0.5 + 2.0;
    let expected = [18.0, 18.0, 28.0, 28.0, 29.0, 29.0, 38.0, 38.0].map(leave);
    assert_eq!(times, expected);
    assert_eq!(times.last(), Some(&21.5));
    let mut cell = cell;
    let harq = &cell.report()["ues"][0]["uplink"]["harq"];
    assert_eq!((&harq["requests"], &harq["blocks"]), (&json!(1), &json!(4)), "{harq}");
}

/// Rule 4: a lost block of slot 18 is granted again as a request is, in slot 28.
#[test]
fn a_lost_block_is_granted_again() {
    let (_, times) = chain(&json!({"uplink": {"harq": {"bler": [1, 0]}}}), 2);
    assert_eq!(times, [16.5, 16.5]);
    // Twice: the repetition of slot 28 in slot 38.
    let (_, later) = chain(&json!({"uplink": {"harq": {"bler": [1, 1, 0]}}}), 2);
    assert_eq!(later, [21.5, 21.5]);
}

/// A block that HARQ gives up comes back by RLC, after another request.
#[test]
fn a_block_that_is_given_up_is_asked_for_again() {
    let keys = json!({"uplink": {"harq": {"bler": ["30 %"], "max_transmissions": 1}}});
    let (_, times) = chain(&keys, 40);
    assert_eq!(times.len(), 40);
}

/// Acceptance test 18: ACKs of a download of 500 Mbit/s, one for two segments.
#[test]
fn acks_come_in_bunches() {
    let mut cell = cell(&json!({"uplink": {"standing": {"every": "0.5 ms", "block": "20 kB"}}}));
    for number in 0..4000 {
        let now = at(48_000 * number);
        cell.run_until(now);
        cell.send(now, Dir::Uplink, 0, 52);
    }
    let times: Vec<u64> = cell.run_dry().iter().map(|(at, _)| at.as_nanos()).collect();
    assert_eq!(times.len(), 4000);
    let steady: Vec<u64> = times.into_iter().filter(|at| (ms(50.0)..ms(150.0)).contains(at)).collect();
    assert!((steady.len() as f64 / 20.0 - 104.0).abs() < 1.0, "{}", steady.len());
    for pair in steady.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap <= ms(0.5) || (ms(4.5)..=ms(5.0)).contains(&gap), "{gap} ns");
    }
}

/// Mbit/s of an upload that always has data, over this many carriers, of a UE with this SINR on a single PRB.
fn upload(carriers: u8, sinr: &str, bler: &Value) -> f64 {
    let keys = json!({"carriers": 3, "uplink": {
        "carriers": carriers, "most_block": "27 kB", "queue": {"droptail": {"packets": 5000}},
        "reception": {"mean_sinr": sinr, "fading": {"none": {}}}, "harq": {"bler": bler},
    }});
    let mut cell = cell(&keys);
    let (mut arrived, mut last) = (0, None);
    for step in 0..600 {
        let now = at(ms(f64::from(step)));
        cell.run_until(now);
        (0..22).for_each(|_| _ = cell.send(now, Dir::Uplink, 0, 1500));
        for (at, packet) in cell.outputs() {
            assert!(Some(packet.seq) > last, "{carriers} carriers: {packet:?}");
            last = Some(packet.seq);
            arrived += u32::from(at >= self::at(ms(100.0)));
        }
    }
    f64::from(arrived) * 12_000.0 / 0.5e6
}

/// By hand: 217,128 bits of a carrier in 400 slots/s are 86.85 Mbit/s of blocks, and of packets of 1500 B 1500/1509 of it.
#[test]
fn carriers_multiply_the_uplink() {
    let one = 86.85 * 1500.0 / 1509.0;
    for carriers in 1..=3 {
        let own = upload(carriers, "70 dB", &json!([0]));
        let expected = one * f64::from(carriers);
        assert!((own / expected - 1.0).abs() < 0.02, "{carriers}: {own}, not {expected}");
    }
    // A block of 10 that is repeated takes a slot of its carrier.
    let lossy = upload(3, "70 dB", &json!(["10 %", 0]));
    assert!((lossy / (3.0 * one / 1.1) - 1.0).abs() < 0.04, "{lossy}");
}

/// A UE far away gains nothing by carriers: each has a share of its power.
#[test]
fn carriers_share_the_power_of_a_ue() {
    let [one, three] = [1, 3].map(|carriers| upload(carriers, "15 dB", &json!([])));
    assert!((0.7..1.3).contains(&(three / one)), "{one} and {three}");
}

/// Requests, first grants and standing grants are those of the first carrier.
#[test]
fn an_idle_uplink_with_carriers_waits_as_with_one() {
    let carriers = json!({"carriers": 2, "uplink": {"carriers": 2}});
    check(&carriers, 10.0, [7.5, 12.5, 17.5]);
    check(
        &over(carriers, &json!({"uplink": {"standing": {"every": "0.5 ms", "block": "300 B"}}})),
        5.0,
        [3.0, 5.05, 7.5],
    );
}

/// Each carrier of the uplink fades on its own, and has its own processes and losses.
#[test]
fn uplink_carriers_fade_and_are_lost_on_their_own() {
    let text = r#"
duration = "1 s"
wired = { rate = "2.5 Gbit/s", delay = "10 ms" }
[radio.nr]
carriers = 3
downlink.blocks = { bandwidth = "5 MHz", layers = 1 }
[radio.nr.uplink]
carriers = 3
blocks.bandwidth = "5 MHz"
reception = { mean_sinr = "25 dB", fading.jakes.doppler = "20 Hz" }
[[flow]]
direction = "uplink"
app.bulk = {}
"#;
    let scenario = Scenario::parse(text, &[]).unwrap();
    let observe = Observe { probes: ProbeMask::NONE.with(Kind::UplinkBlock), ..Observe::default() };
    let mut simulation = Simulation::new(&scenario, 1, observe);
    simulation.run();
    let mut by_slot: HashMap<u64, [Option<u64>; 3]> = HashMap::new();
    let mut lost = [0; 3];
    for (_, event) in simulation.take_trace() {
        let Event::UplinkBlock { slot, process, sinr_thousandths, units, lost: is_lost, .. } = event else {
            continue;
        };
        let carrier = usize::from(process / 16);
        lost[carrier] += u32::from(is_lost);
        by_slot.entry(slot).or_default()[carrier] = Some(sinr_thousandths * u64::from(units));
    }
    let all: Vec<[u64; 3]> = by_slot.values().filter_map(|own| Some([own[0]?, own[1]?, own[2]?])).collect();
    assert!(all.len() > 100, "{}", all.len());
    let equal = all.iter().filter(|[one, two, three]| one == two || two == three || one == three).count();
    assert!(equal < all.len() / 20, "{equal} of {}", all.len());
    assert!(lost.iter().all(|lost| *lost > 5), "{lost:?}");
}

/// A UE far away has fewer resource blocks of its power, and the same near it gets all: rates by hand are the most of
/// n PRBs at SINR - 10 log10(n).
#[test]
fn power_bounds_a_ue_far_away() {
    let rate = |sinr: &str| {
        let mut cell = cell(&json!({"uplink": {
            "reception": {"mean_sinr": sinr}, "queue": {"droptail": {"packets": 5000}}, "harq": {"bler": []},
        }}));
        let mut arrived = 0;
        for step in 0..1000 {
            let now = at(ms(f64::from(step)));
            cell.run_until(now);
            (0..8).for_each(|_| _ = cell.send(now, Dir::Uplink, 0, 1500));
            arrived += cell.outputs().len();
        }
        arrived as f64 * 12_000.0 / 1e6
    };
    let (far, middle, near) = (rate("15 dB"), rate("35 dB"), rate("60 dB"));
    // 60 dB: 217,128 bits in 400 slots/s are 86.85 Mbit/s, but 20 kB per slot are 64.
    assert!((63.0..65.0).contains(&near), "{near}");
    // 15 dB: at most 144 elements x 1.44 x 31.6 = 6.6 kbit in 400 slots/s, the limit of many PRBs.
    assert!((1.5..2.6).contains(&far), "{far}");
    assert!(middle > 5.0 * far && middle <= near, "{middle}");
}

/// Ten UEs share the uplink.
#[test]
fn equal_ues_share_the_uplink() {
    let keys = json!({"uplink": {"most_block": "27 kB", "reception": {"mean_sinr": "60 dB", "fading": {"none": {}}}, "harq": {"bler": [0]}}});
    let mut cell = Cell::new("nr", 10, &keys);
    let mut bytes = [0_u64; 10];
    for step in 0..3000 {
        let now = at(ms(f64::from(step)));
        cell.run_until(now);
        for ue in 0..10 {
            cell.send(now, Dir::Uplink, ue, 1500);
        }
        for (_, packet) in cell.outputs() {
            bytes[usize::from(packet.ue)] += u64::from(packet.len);
        }
    }
    let all: u64 = bytes.iter().sum();
    assert!(all as f64 * 8.0 / 3e6 > 70.0, "{all}");
    assert!(bytes.iter().all(|own| (*own as f64 / all as f64 - 0.1).abs() < 0.01), "{bytes:?}");
}

/// A cell without any data to send makes no events, with standing grants too.
#[test]
fn an_idle_cell_is_silent() {
    let mut cell = cell(&json!({"uplink": {"standing": {}}}));
    assert_eq!(cell.path.poll_timeout(), None);
    cell.send(at(0), Dir::Uplink, 0, 100);
    cell.send(at(0), Dir::Downlink, 0, 1500);
    assert_eq!(cell.run_dry().len(), 2);
    assert_eq!(cell.path.poll_timeout(), None);
}

/// A hand-over: every packet of both directions once and in order.
#[test]
fn nothing_is_lost_in_a_hand_over() {
    let handovers = json!([{"ue": 0, "at": "50 ms", "outage": "108 ms", "warning": "0 ms"}]);
    // PDCP waits for what the hand-over holds up.
    for carriers in [1, 2] {
        let keys = json!({
            "carriers": carriers,
            "downlink": {"pdcp": {"t_reordering": "200 ms"}, "harq": {"bler": ["10 %", 0]}, "blocks": {"bandwidth": "5 MHz", "layers": 1}},
            "uplink": {"carriers": carriers, "pdcp": {"t_reordering": "200 ms"}, "harq": {"bler": ["10 %", 0]}, "reception": {"mean_sinr": "40 dB", "fading": {"none": {}}}},
        });
        for dir in [Dir::Downlink, Dir::Uplink] {
            let mut cell = Cell::with_handovers("nr", &keys, &handovers);
            let sent: Vec<u32> = (0..300).map(|_| cell.send(at(0), dir, 0, 1500)).collect();
            let outputs = cell.run_dry();
            let arrived: Vec<u32> = outputs.iter().map(|(_, packet)| packet.seq).collect();
            assert_eq!(arrived, sent, "{dir:?}");
            let times: Vec<_> = outputs.iter().map(|(at, _)| *at).collect();
            let gap = times.windows(2).map(|pair| pair[1].since(pair[0])).max();
            assert!(gap >= Some(Duration::from_millis(100)), "{gap:?}");
        }
    }
}

/// Acceptance test 28: a hand-over of 108 ms delays packets by that and a pattern at most, and loses none in acknowledged mode.
/// In unacknowledged mode the packets of the blocks in the air and in decoding are lost: 1 to 5 of one per ms.
#[test]
fn a_hand_over_delays_by_the_outage_and_a_pattern() {
    let handovers = json!([{"ue": 0, "at": "50 ms", "outage": "108 ms", "warning": "0 ms"}]);
    let run = |rlc: &str| {
        let link = json!({"rlc": {rlc: {}}, "pdcp": {"t_reordering": "200 ms"}, "harq": {"bler": [0]}});
        let still = json!({"reception": {"mean_sinr": "40 dB", "fading": {"none": {}}}});
        let both = over(link, &still);
        let mut cell = Cell::with_handovers("nr", &json!({"downlink": both, "uplink": both}), &handovers);
        let mut arrived = Vec::new();
        for step in 0..300_u32 {
            let now = at(ms(f64::from(step)));
            cell.run_until(now);
            arrived.extend(cell.outputs());
            cell.send(now, Dir::Downlink, 0, 1500);
        }
        arrived.extend(cell.run_dry());
        assert!(arrived.is_sorted_by_key(|(_, packet)| packet.seq));
        let delay = |(at, seq): (u64, u32)| at as f64 / 1e6 - f64::from(seq);
        let delays = arrived.iter().map(|(at, packet)| delay((at.as_nanos(), packet.seq)));
        (arrived.len(), delays.fold(0.0, f64::max))
    };
    let (all, longest) = run("am_nr");
    assert_eq!(all, 300);
    assert!((108.0..108.0 + 5.0 + 4.0).contains(&longest), "{longest} ms");
    let (some, late) = run("um_nr");
    assert!((295..300).contains(&some), "{some}");
    assert!((108.0..108.0 + 5.0 + 4.0).contains(&late), "{late} ms");
}
