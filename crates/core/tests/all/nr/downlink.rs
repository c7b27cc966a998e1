//! The downlink: times, HARQ, rates.

use super::{at, cell, dddsu, dddsuddsuu, delay, delays, fdd_15, fdd_30, mmwave, ms, narrow};
use crate::shared::{Cell, near, over};
use airpath_core::packet::Dir;
use serde_json::{Value, json};

/// Fills the buffer each millisecond with so many packets of 1500 B, from the beginning on.
fn saturate(cell: &mut Cell, millis: u64, packets: u32) -> Vec<(u64, u32)> {
    let mut arrived = Vec::new();
    for step in 0..millis {
        cell.run_until(at(ms(step as f64)));
        (0..packets).for_each(|_| _ = cell.send(at(ms(step as f64)), Dir::Downlink, 0, 1500));
        arrived.extend(cell.outputs().iter().map(|(at, packet)| (at.as_nanos(), packet.seq)));
    }
    arrived
}

/// Goodput of a saturated cell between 100 ms and the end, Mbit/s.
fn goodput(keys: &Value, millis: u64, packets: u32) -> f64 {
    let arrived = saturate(&mut cell(keys), millis, packets);
    let counted = arrived.iter().filter(|(at, _)| *at > ms(100.0)).count();
    counted as f64 * 12_000.0 / ((millis - 1 - 100) as f64 * 1000.0)
}

/// Acceptance test 6, and that a lead and a delay of other sizes shift it.
#[test]
fn an_idle_downlink_waits_for_a_slot_that_is_not_decided() {
    for (entry, expected) in [(0.0, 2.5), (3.0, 3.5), (2.5, 2.5)] {
        assert_eq!(delay(&mut cell(&json!({})), Dir::Downlink, ms(entry), 1500), expected, "at {entry} ms");
    }
    let just_after = delay(&mut cell(&json!({})), Dir::Downlink, ms(2.5) + 1, 1500);
    assert_eq!(just_after, 4.0 - 1e-6);
    let other = json!({"lead": "0.6 ms", "downlink": {"delay": "0.25 ms"}});
    // Two slots of lead, as with 1 ms.
    assert_eq!(delay(&mut cell(&other), Dir::Downlink, 0, 1500), 1.75);
}

/// Acceptance tests 6 and 7: least, mean and greatest delay over a pattern.
#[test]
fn an_idle_downlink_by_pattern() {
    let check = |keys: Value, period: f64, expected: [f64; 3], slot: f64| {
        let own = delays(&keys, Dir::Downlink, 40, period);
        let sampled = period / 200.0;
        assert!((own[1] - expected[1]).abs() < 0.001, "{keys}: {own:?}");
        assert!((own[0] - expected[0]).abs() < sampled + slot / 100.0, "{keys}: {own:?}");
        assert!((own[2] - expected[2]).abs() < sampled + slot / 100.0, "{keys}: {own:?}");
    };
    check(json!({}), 5.0, [2.5, 2.90, 4.0], 0.5);
    check(dddsu(), 2.5, [2.5, 2.85, 3.5], 0.5);
    check(dddsuddsuu(), 5.0, [2.5, 2.95, 4.0], 0.5);
    check(
        over(fdd_15(), &json!({"downlink": {"blocks": {"bandwidth": "5 MHz"}}})),
        1.0,
        [3.0, 3.50, 4.0],
        1.0,
    );
    check(fdd_30(), 0.5, [2.5, 2.75, 3.0], 0.5);
    let wide = json!({"downlink": {"blocks": {"bandwidth": "50 MHz"}, "delay": "0.5 ms"}, "uplink": {"blocks": {"bandwidth": "50 MHz"}}});
    check(over(mmwave(), &wide), 0.625, [1.125, 1.2125, 1.375], 0.125);
}

/// Acceptance test 9: by the slot of the block, how much later it arrives after one and after two losses, ms.
#[test]
fn lost_blocks_come_a_round_trip_later() {
    let once = [6.5, 6.0, 5.5, 5.0, 4.5, 4.5, 8.5, 8.0];
    let twice = [11.5, 11.0, 10.5, 10.0, 9.5, 9.0, 13.5, 13.0];
    for (bler, expected) in [(json!([1, 0]), once), (json!([1, 1, 0]), twice)] {
        for (slot, later) in (0_u32..).zip(expected) {
            let mut cell = cell(&json!({"downlink": {"harq": {"bler": bler}}}));
            // Two slots of lead before the slot; one for the slot and two for the delay after it.
            let entry = ms(10.0 + 0.5 * f64::from(slot) - 1.0);
            assert_eq!(delay(&mut cell, Dir::Downlink, entry, 1500) - 2.5, later, "slot {slot}");
        }
    }
}

/// Acceptance test 10: which share of the slots with a downlink so many processes fill.
#[test]
fn processes_bound_the_slots() {
    let share = |keys: &Value, processes: u8| {
        let keys = over(keys.clone(), &json!({"downlink": {"harq": {"processes": processes}}}));
        let mut cell = cell(&keys);
        saturate(&mut cell, 400, 16);
        cell.report()["slots_busy_share"].as_f64().unwrap()
    };
    let check = |keys: &Value, shares: &[(u8, f64)]| {
        for (processes, expected) in shares {
            let own = share(keys, *processes);
            assert!((own - expected).abs() < 0.01, "{keys}, {processes} processes: {own}, not {expected}");
        }
    };
    let n78 = [
        (1, 0.125),
        (2, 0.25),
        (4, 7.0 / 16.0),
        (8, 11.0 / 16.0),
        (10, 13.0 / 16.0),
        (12, 15.0 / 16.0),
        (13, 1.0),
    ];
    check(&narrow(), &n78);
    check(&over(narrow(), &dddsu()), &[(4, 5.0 / 12.0), (8, 0.75), (10, 11.0 / 12.0), (12, 1.0)]);
    let narrow_mmwave = json!({"downlink": {"blocks": {"bandwidth": "50 MHz", "layers": 1}}});
    check(&over(mmwave(), &narrow_mmwave), &[(8, 0.5), (16, 0.9), (18, 1.0)]);
    let narrow_fdd = over(fdd_15(), &json!({"downlink": {"blocks": {"bandwidth": "5 MHz", "layers": 1}}}));
    check(&narrow_fdd, &[(1, 1.0 / 7.0), (3, 3.0 / 7.0), (7, 1.0)]);
}

/// Acceptance test 11, Mbit/s of packets of 1500 B.
#[test]
fn the_rate_at_the_peak() {
    for (keys, expected, packets) in [
        (json!({}), 1581.7, 135),
        (dddsu(), 1557.3, 135),
        (fdd_15(), 154.85, 14),
        (json!({"downlink": {"blocks": {"bandwidth": "20 MHz", "layers": 2}}}), 146.84, 14),
        // 16 processes fill 9 of 10 slots there.
        (over(mmwave(), &json!({"downlink": {"harq": {"processes": 18}}})), 557.1, 50),
        (over(mmwave(), &json!({"carriers": 4, "downlink": {"harq": {"processes": 18}}})), 4.0 * 557.1, 190),
    ] {
        let own = goodput(&keys, 251, packets);
        assert!(near(own, expected, 0.01), "{keys}: {own}, not {expected}");
    }
}

/// Acceptance test 12: what is repeated takes a slot.
#[test]
fn repetitions_take_slots() {
    let rate = |bler: Value| {
        let mut cell = cell(&over(narrow(), &json!({"downlink": {"harq": {"bler": bler}}})));
        saturate(&mut cell, 8000, 2);
        cell.report()["ues"][0]["downlink"]["harq"]["bits"].as_f64().unwrap()
    };
    let (all, some) = (rate(json!([0])), rate(json!(["10 %", 0])));
    assert!(near(some, all / 1.1, 0.01), "{some} of {all}");
}

/// Acceptance test 13, with the packets that a block of 5 MHz has.
#[test]
#[ignore = "slow"]
fn blocks_and_sdus_that_harq_gives_up() {
    let keys = json!({"downlink": {
        "harq": {"bler": ["10 %", "1 %"], "max_transmissions": 2}, "rlc": {"um_nr": {}},
    }, "uplink": {"rlc": {"um_nr": {}}}});
    let mut cell = cell(&over(narrow(), &keys));
    let arrived = saturate(&mut cell, 40_000, 2);
    let report = cell.report();
    let count = |key: &str| report["ues"][0]["downlink"]["harq"][key].as_f64().unwrap();
    let (blocks, lost) = (count("blocks"), count("blocks_lost"));
    // Four standard deviations of a binomial law.
    assert!((lost - 0.001 * blocks).abs() < 4.0 * (0.001 * blocks).sqrt(), "{lost} of {blocks}");
    let missing = report["ues"][0]["downlink"]["sdus_discarded"].as_f64().unwrap();
    let octets = count("bits") / 8.0 / (blocks - lost);
    // A lost block loses every packet with an octet in it.
    let expected = lost * (1.0 + octets / 1500.0);
    assert!(near(missing, expected, 0.2), "{missing} of {}, not {expected}", arrived.len());
}

/// Acceptance test 13 at the peak: a lost block of 89.6 packets takes 90.6 with it. Ten times as many are lost as there, for a
/// shorter test.
#[test]
fn sdus_of_a_lost_block_at_the_peak() {
    let keys = json!({
        "frame": "FDD",
        "downlink": {"harq": {"bler": ["10 %", "10 %"], "max_transmissions": 2}, "rlc": {"um_nr": {}}},
        "uplink": {"rlc": {"um_nr": {}}},
    });
    let mut cell = cell(&keys);
    saturate(&mut cell, 1200, 180);
    let report = cell.report();
    let downlink = &report["ues"][0]["downlink"];
    let lost = downlink["harq"]["blocks_lost"].as_f64().unwrap();
    let missing = downlink["sdus_discarded"].as_f64().unwrap();
    assert!(lost > 12.0, "{lost}");
    assert!(near(missing / lost, 90.6, 0.03), "{missing} packets of {lost} blocks");
}

/// Acceptance test 12: of packets that come one by one, 10 % of the packets are later by the round trip of their slot, and the
/// others as without losses. HARQ repeats in the first slot that it may.
#[test]
fn repetitions_are_late_by_the_round_trip_of_their_slot() {
    let trips = [6.5, 6.0, 5.5, 5.0, 4.5, 4.5, 8.5, 8.0];
    let delays = |bler: Value| {
        let keys = json!({"downlink": {"harq": {"bler": bler}, "pdcp": {"out_of_order": true}}});
        let mut cell = cell(&over(narrow(), &keys));
        let mut entries = Vec::new();
        let mut arrived = Vec::new();
        // One packet in each third pattern, so that none waits for a repetition.
        for number in 0..1600_u32 {
            let slot = number % 8;
            let entry = ms(15.0 * f64::from(number) + 0.5 * f64::from(slot) + 9.0);
            cell.run_until(at(entry));
            arrived.extend(cell.outputs());
            cell.send(at(entry), Dir::Downlink, 0, 200);
            entries.push((entry, slot as usize));
        }
        arrived.extend(cell.run_dry());
        let delay = |(at, packet): (airpath_core::time::Instant, airpath_core::packet::Packet)| {
            let (entry, slot) = entries[packet.seq as usize];
            (slot, (at.as_nanos() - entry) as f64 / 1e6 - 2.5)
        };
        let report = cell.report()["ues"][0]["downlink"].to_string();
        assert_eq!(arrived.len(), entries.len(), "{report}");
        arrived.into_iter().map(delay).collect::<Vec<_>>()
    };
    let all = delays(json!(["10 %", 0]));
    let late = all.iter().filter(|(_, delay)| *delay > 0.0).count();
    // Four standard deviations of a binomial law.
    assert!((late as f64 - 160.0).abs() < 4.0 * (1600.0 * 0.09_f64).sqrt(), "{late}");
    for (slot, delay) in all {
        assert!(delay == 0.0 || delay == trips[slot], "slot {slot}: {delay} ms");
    }
}

/// Carriers of a cell: each fades on its own, has its own processes, and carries what the same RLC entity sends; what is lost on
/// one comes a round trip later and in order.
#[test]
fn carriers_fade_and_are_lost_on_their_own() {
    let fading = json!({"mean_sinr": "20 dB", "fading": {"jakes": {"doppler": "20 Hz"}}});
    let keys = json!({"carriers": 3, "downlink": {"harq": {"bler": ["20 %", 0]}, "reception": fading}});
    let mut cell = cell(&over(narrow(), &keys));
    let arrived = saturate(&mut cell, 400, 12);
    assert!(arrived.len() > 300, "{}", arrived.len());
    assert!(arrived.is_sorted_by_key(|(_, number)| *number));
    let blocks = cell.blocks();
    let of = |carrier: u16| blocks.iter().filter(move |block| block.process / 16 == carrier);
    let lost = |carrier| of(carrier).filter(|block| block.lost).count();
    for (one, other) in [(0, 1), (1, 2), (0, 2)] {
        assert!(of(one).count() > 500, "{one}");
        let pairs = of(one).filter_map(|block| {
            let same = of(other).find(|second| second.at_ms == block.at_ms)?;
            Some((block.sinr_thousandths, same.sinr_thousandths))
        });
        let pairs: Vec<_> = pairs.collect();
        let equal = pairs.iter().filter(|(first, second)| first == second).count();
        assert!(
            pairs.len() > 100 && equal < pairs.len() / 20,
            "{one} and {other}: {equal} of {}",
            pairs.len()
        );
        assert!(lost(one) > 50);
    }
    // The uplink reports and answers as with one.
    assert!(of(3).next().is_none());
}

/// Two UEs on three carriers get equally much, and together three times what one carrier carries.
#[test]
fn carriers_are_shared() {
    let bits = |carriers: u8| {
        let keys = json!({"carriers": carriers, "downlink": {"harq": {"bler": [0]}, "blocks": {"bandwidth": "5 MHz", "layers": 1}}});
        let mut cell = Cell::new("nr", 2, &keys);
        for step in 0..600 {
            cell.run_until(at(ms(f64::from(step))));
            for ue in 0..2 {
                (0..10).for_each(|_| _ = cell.send(at(ms(f64::from(step))), Dir::Downlink, ue, 1500));
            }
            cell.outputs();
        }
        let report = cell.report();
        [0, 1].map(|ue| report["ues"][ue]["downlink"]["harq"]["bits"].as_f64().unwrap())
    };
    let ([one, other], [first, second]) = (bits(1), bits(3));
    assert!(near(first, second, 0.02), "{first} {second}");
    assert!(near(first + second, 3.0 * (one + other), 0.02), "{first} {second}, {one} {other}");
}

/// Acceptance test 14: one Rayleigh gain, a report in each slot: what share of first transmissions is lost.
#[test]
#[ignore = "slow"]
fn late_reports_cost_first_transmissions() {
    let lost = |doppler: &str, age: &str, outer_loop: bool| {
        let keys = json!({"frame": "FDD", "scs": "15 kHz",
        "uplink": {"blocks": {"bandwidth": "15 MHz"}},
        "downlink": {
            "blocks": {"bandwidth": "15 MHz", "layers": 1},
            "reception": {"mean_sinr": "18 dB", "fading": {"jakes": {"doppler": doppler}}},
            "adaptation": {"period": "1 ms", "age": age, "outer_loop": outer_loop}, "report": "mcs",
            // Each block once: else repetitions take the slots of bad times.
            "harq": {"bler": [], "max_transmissions": 1},
        }});
        let mut cell = cell(&keys);
        saturate(&mut cell, 25_000, 8);
        let harq = &cell.report()["ues"][0]["downlink"]["harq"];
        harq["first_lost"].as_f64().unwrap() / harq["blocks"].as_f64().unwrap()
    };
    for (doppler, expected) in [("5.6 Hz", 0.26), ("20 Hz", 0.41), ("56 Hz", 0.465)] {
        let own = lost(doppler, "5 ms", false);
        assert!((own - expected).abs() < 0.03, "{doppler}: {own}, not {expected}");
        let known = lost(doppler, "0 ms", false);
        assert!((known - 0.006).abs() < 0.003, "{doppler}: {known}");
        let looped = lost(doppler, "5 ms", true);
        assert!((looped - 0.10).abs() < 0.01, "{doppler}: {looped}");
    }
}
