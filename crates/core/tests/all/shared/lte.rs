//! LTE: rates, HARQ and sharing by hand.

use super::{Cell, near};
use airpath_core::packet::Dir;
use airpath_core::time::{Duration, Instant};
use serde_json::{Value, json};

/// 5 MHz in groups of 2 PRBs, 24 PRBs of them used, without errors and with one I_TBS.
fn narrow(i_tbs: &Value) -> Value {
    json!({"downlink": {
        "blocks": {"bandwidth": "5 MHz", "i_tbs": i_tbs},
        "group": 2,
        "adaptation": {"outer_loop": false},
        "harq": {"bler": [0]},
    }})
}

/// Acceptance test 4.
#[test]
fn processes_bound_the_rate() {
    let rate = |processes: u8| {
        let mut keys = narrow(&json!(20));
        keys["downlink"]["harq"]["processes"] = processes.into();
        Cell::new("lte", 1, &keys).saturated(5)[0]
    };
    let all = rate(8);
    assert!(near(all, 11_064.0, 0.02), "{all} kbit/s");
    assert!(near(rate(4), all / 2.0, 0.01) && near(rate(1), all / 8.0, 0.01));
}

/// Acceptance test 7, kB/s in transport blocks.
#[test]
#[ignore = "slow"]
fn equal_ues_share_as_in_ns3() {
    let share = |ues: u16, scheduler: &str, sharing: &str| {
        let mut keys = narrow(&json!(26));
        keys["downlink"]["scheduler"] = json!({ scheduler: {} });
        keys["downlink"]["sharing"] = sharing.into();
        let mut cell = Cell::new("lte", ues, &keys);
        cell.saturated(4);
        let report = cell.report();
        let of = |ue: &Value| ue["downlink"]["harq"]["bits"].as_f64().unwrap() / 8000.0 / 4.0;
        let rates: Vec<f64> = report["ues"].as_array().unwrap().iter().map(of).collect();
        assert!(rates.iter().all(|rate| near(*rate, rates[0], 0.02)), "{rates:?}");
        rates[0]
    };
    for ues in [1, 3, 4, 8, 12] {
        let got = share(ues, "proportional_fair", "in_turn");
        assert!(near(got, 2196.0 / f64::from(ues), 0.02), "{ues} UEs: {got} kB/s");
    }
    for (ues, expected) in [(3, 749.0), (4, 549.0), (6, 373.0), (8, 185.0)] {
        let got = share(ues, "round_robin", "equally");
        assert!(near(got, expected, 0.02), "{ues} UEs: {got} kB/s");
    }
}

/// Acceptance test 5: a block takes 1 + 1 + 0.248 or 1 + 0.074 transmissions in the mean, each of 1 ms.
#[test]
fn repetitions_take_their_share_of_the_rate() {
    for (bler, transmissions) in
        [(json!(["100 %", "24.8 %", 0]), 2.248), (json!(["100 %", "7.4 %", 0]), 2.074)]
    {
        let mut keys = narrow(&json!(9));
        keys["downlink"]["harq"]["bler"] = bler;
        let mut cell = Cell::new("lte", 1, &keys);
        cell.saturated(20);
        let report = cell.report();
        let bits = report["ues"][0]["downlink"]["harq"]["bits"].as_f64().unwrap();
        // 24 PRBs of 157.9 bits, in whole octets.
        let expected = 3784.0 * 20_000.0 / transmissions;
        assert!(near(bits, expected, 0.01), "{bits} bits, not {expected}");
    }
}

/// On 50 PRBs two layers peak near the standard's 73.4 Mbit/s, four at twice that; where a single layer carries most, all
/// cells are the same.
#[test]
fn layers_multiply_the_peak() {
    let rate = |layers: u8, sinr: &str| {
        let mut cell = Cell::new(
            "lte",
            1,
            &json!({"downlink": {
                "blocks": {"bandwidth": "10 MHz", "layers": layers},
                "reception": {"mean_sinr": sinr},
                // More than RLC has in transit until a STATUS PDU confirms it.
                "queue": {"droptail": {"packets": 5000}},
                "adaptation": {"outer_loop": false},
                "harq": {"bler": [0]},
            }}),
        );
        let mut bytes = 0;
        for step in 0..1500 {
            let now = Instant::ZERO + Duration::from_millis(step);
            cell.run_until(now);
            (0..14).for_each(|_| _ = cell.send(now, Dir::Downlink, 0, 1500));
            let arrived = cell.outputs().into_iter().filter(|_| step >= 500);
            bytes += arrived.map(|(_, packet)| u64::from(packet.len)).sum::<u64>();
        }
        bytes as f64 * 8.0 / 1e6
    };
    for (layers, peak) in [(1, 36.944), (2, 73.888), (4, 147.776)] {
        let rate = rate(layers, "60 dB");
        // Headers of RLC and MAC.
        assert!((0.99..1.0).contains(&(rate / peak)), "{layers} layers: {rate} Mbit/s");
    }
    assert!(near(rate(4, "0 dB"), rate(1, "0 dB"), 0.001));
    assert!(rate(4, "20 dB") > 1.2 * rate(1, "20 dB"));
}

/// Acceptance test 11: a packet goes into one block of CQI 15 on 50 PRBs.
#[test]
fn a_packet_in_an_idle_cell_takes_one_block() {
    let mut cell = Cell::new("lte", 1, &json!({}));
    cell.send(Instant::ZERO + Duration::from_secs(1), Dir::Downlink, 0, 1500);
    let arrived = cell.run_dry();
    assert_eq!(cell.blocks().len(), 1);
    // A TTI, and the delay after it.
    assert_eq!(arrived[0].0.as_nanos(), 1_004_000_000);
}

/// Acceptance test 11: an idle UE waits for its next occasion, 0 to 10 ms, and 12 ms from there to the network.
#[test]
fn an_idle_uplink_asks_first() {
    let mut cell = Cell::new("lte", 1, &json!({}));
    let mut delays = Vec::new();
    for step in 0..500 {
        // At every millisecond of the period, with time enough to be idle again.
        let at = Instant::ZERO + Duration::from_nanos(1000 * (1000 + 301_020 * step));
        cell.run_until(at);
        cell.outputs();
        cell.send(at, Dir::Uplink, 0, 40);
        cell.run_until(at + Duration::from_millis(100));
        delays.extend(cell.outputs().iter().map(|(arrived, _)| arrived.since(at).as_secs_f64() * 1000.0));
    }
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    let least = delays.iter().copied().fold(f64::MAX, f64::min);
    let most = delays.iter().copied().fold(0.0, f64::max);
    assert_eq!(delays.len(), 500);
    assert!(
        (mean - 17.0).abs() < 0.2 && least >= 12.0 && most <= 22.0 && most - least > 9.9,
        "{mean} {least} {most}"
    );
}

/// A hand-over with forwarding: all arrives, in order, and once.
#[test]
fn nothing_is_lost_in_a_hand_over() {
    let handovers = json!([{"ue": 0, "at": "50 ms", "outage": "40 ms", "warning": "0 ms"}]);
    let keys = json!({"downlink": {"harq": {"bler": ["10 %", 0]}, "blocks": {"i_tbs": 10}}});
    let mut cell = Cell::with_handovers("lte", &keys, &handovers);
    let sent: Vec<u32> = (0..200).map(|_| cell.send(Instant::ZERO, Dir::Downlink, 0, 1500)).collect();
    let arrived: Vec<u32> = cell.run_dry().iter().map(|(_, packet)| packet.seq).collect();
    assert_eq!(arrived, sent);
    let blocks = cell.blocks();
    assert!(blocks.iter().all(|block| !(50..90).contains(&block.at_ms)));
    assert!(blocks.iter().any(|block| block.at_ms < 50) && blocks.iter().any(|block| block.at_ms >= 90));
}

/// Acceptance test 28 in LTE's numbers: a hand-over of 108 ms under load. With forwarding a packet waits for the outage, 4 ms for
/// the block that the hand-over destroyed, 4 ms for its own, and for the SDUs before it that no STATUS PDU has confirmed: those of
/// t-StatusProhibit (50 ms) and of the way of a STATUS PDU (22 ms at most, acceptance test 15).
#[test]
fn a_hand_over_delays_by_its_outage() {
    let handovers = json!([{"ue": 0, "at": "1 s", "outage": "108 ms", "warning": "0 ms"}]);
    let keys = json!({"downlink": {"harq": {"bler": [0]}, "adaptation": {"outer_loop": false}}});
    let mut cell = Cell::with_handovers("lte", &keys, &handovers);
    // 12 of 36 Mbit/s, off the grid of TTIs.
    let entry = |number: u32| Instant::ZERO + Duration::from_nanos(u64::from(number) * 1_000_000 + 300_000);
    for number in 0..1500 {
        cell.run_until(entry(number));
        cell.send(entry(number), Dir::Downlink, 0, 1500);
    }
    let arrived = cell.run_dry();
    assert_eq!(
        arrived.iter().map(|(_, packet)| packet.seq).collect::<Vec<_>>(),
        (0..1500).collect::<Vec<_>>()
    );
    let delays: Vec<f64> =
        arrived.iter().map(|(at, packet)| at.since(entry(packet.seq)).as_secs_f64() * 1e3).collect();
    let most = delays.iter().copied().fold(0.0, f64::max);
    // One SDU per ms, and 4618 octets per TTI.
    let repeated = (50.0 + 22.0) * 1500.0 / 4618.0;
    assert!((112.0..=108.0 + 8.0 + repeated).contains(&most), "{most}");
    // Before, and when what was kept has left at 36.9 minus 12 Mbit/s: 0.7 ms to the TTI, the TTI, and 3 ms.
    let calm = |delay: &f64| (delay - 4.7).abs() < 1e-6;
    assert!(delays[..990].iter().all(calm) && delays[1250..].iter().all(calm));
    assert!(delays[1100..1110].iter().all(|delay| *delay > 4.7));
}

/// Acceptance test 12: the reception of UE 0 in a slot is the same alone, among others, and under another scheduler.
#[test]
fn others_change_nothing_of_what_a_ue_hears() {
    let keys = |scheduler: &str| {
        json!({"downlink": {
            "reception": {"mean_sinr": "12 dB", "fading": {"jakes": {"doppler": "10 Hz"}}, "shadowing": {"sd": "4 dB"}},
            "scheduler": { scheduler: {} }, "adaptation": {"outer_loop": false}, "sharing": "equally",
        }})
    };
    let of_ue_0 = |ues: u16, scheduler: &str| {
        let mut cell = Cell::new("lte", ues, &keys(scheduler));
        cell.saturated(2);
        let first = cell.blocks().into_iter().filter(|block| block.ue == 0);
        let heard = first.map(|block| (block.at_ms, (block.sinr_thousandths, block.cqi, block.transmission)));
        heard.collect::<std::collections::BTreeMap<_, _>>()
    };
    let alone = of_ue_0(1, "proportional_fair");
    for among in [of_ue_0(8, "proportional_fair"), of_ue_0(8, "round_robin")] {
        let mut compared = 0;
        for (at, (sinr, cqi, transmission)) in among {
            let Some((own_sinr, own_cqi, own_transmission)) = alone.get(&at) else { continue };
            assert_eq!(sinr, *own_sinr, "at {at} ms");
            if (transmission, *own_transmission) == (1, 1) {
                assert_eq!(cqi, *own_cqi, "at {at} ms");
                compared += 1;
            }
        }
        assert!(compared > 100, "{compared}");
    }
}

/// Acceptance test 12: a cell without anything to send is silent.
#[test]
fn an_idle_cell_makes_no_events() {
    for kind in ["lte", "hsdpa"] {
        let mut cell = Cell::new(kind, 8, &json!({}));
        assert_eq!(cell.path.poll_timeout(), None, "{kind}");
        cell.send(Instant::ZERO, Dir::Downlink, 3, 1500);
        assert_eq!(cell.run_dry().len(), 1, "{kind}");
        assert_eq!(cell.path.poll_timeout(), None, "{kind}");
    }
}

/// As above for LTE: UEs share each TTI, so that none waits longer than a round trip of HARQ; in turn with a window of
/// 1000 TTIs it waits 0.69 of it, or what the other has to send.
#[test]
fn a_ue_that_comes_back_leaves_the_others_their_share_of_each_tti() {
    let silence = |keys: &Value| Cell::new("lte", 2, keys).returning(4, 3);
    assert!(silence(&json!({})) <= 8, "{} ms", silence(&json!({})));
    let in_turn =
        json!({"downlink": {"sharing": "in_turn", "scheduler": {"proportional_fair": {"window": 1000}}}});
    assert!(silence(&in_turn) > 300, "{} ms", silence(&in_turn));
}

/// 50 PRBs are 16 groups of 3 and one of 2. Three UEs get a third each, and all are used.
#[test]
fn equal_ues_share_all_groups() {
    let keys = json!({"downlink": {"adaptation": {"outer_loop": false}, "harq": {"bler": [0]}}});
    let alone = Cell::new("lte", 1, &keys).saturated(3)[0];
    let shares = Cell::new("lte", 3, &keys).saturated(3);
    assert!(shares.iter().all(|share| near(*share, alone / 3.0, 0.02)), "{shares:?} of {alone}");
}

/// A packet of 40 B in each TTI needs a group of 3 of 50 PRBs: the other UE gets the rest.
#[test]
fn what_a_ue_does_not_need_goes_to_the_others() {
    let beside = |sharing: &str| {
        let keys = json!({"downlink": {
            "sharing": sharing, "adaptation": {"outer_loop": false}, "harq": {"bler": [0]},
        }});
        let mut cell = Cell::new("lte", 2, &keys);
        for ms in 0..2000 {
            let now = Instant::ZERO + Duration::from_millis(ms);
            cell.run_until(now);
            (0..4).for_each(|_| _ = cell.send(now, Dir::Downlink, 0, 1500));
            cell.send(now, Dir::Downlink, 1, 40);
        }
        let report = cell.report();
        report["ues"][0]["downlink"]["harq"]["bits"].as_f64().unwrap() / 2000.0
    };
    // 4618 octets of CQI 15 in 50 PRBs.
    assert!(near(beside("max_min"), 36_944.0 * 47.0 / 50.0, 0.02), "{}", beside("max_min"));
    assert!(near(beside("equally"), 36_944.0 * 24.0 / 50.0, 0.02), "{}", beside("equally"));
}

/// Anti-windup: ACKs of the highest row do not count, so that most blocks arrive when a UE at 30 dB comes to 5 dB.
#[test]
fn a_channel_that_gets_worse_finds_no_offset_from_better_times() {
    for (kind, series, largest) in [
        ("lte", "time_s,sinr_db\n0,30\n5,30\n5.01,5\n", 0.3),
        ("hsdpa", "time_s,sinr_db\n0,15\n5,15\n5.01,-3\n", 0.3),
    ] {
        let keys = json!({"downlink": {"reception": {"series": {"rows": series}}}});
        let mut cell = Cell::new(kind, 1, &keys);
        cell.saturated(6);
        let report = cell.report();
        let offset = report["ues"][0]["downlink"]["harq"]["outer_loop_db"].as_f64().unwrap();
        // 20 ms are the age of the reports.
        let later = cell.blocks().into_iter().filter(|block| (5030..5280).contains(&block.at_ms));
        let first: Vec<_> = later.filter(|block| block.transmission == 1).collect();
        let lost = first.iter().filter(|block| block.lost).count() as f64 / first.len() as f64;
        assert!(lost < largest && first.len() > 50, "{kind}: {lost} of {}", first.len());
        assert!(offset.abs() < 3.0, "{kind}: {offset} dB");
    }
}

/// The network treats all NACKs as ACKs, so the outer loop climbs to the highest row.
#[test]
fn the_outer_loop_hears_what_the_network_hears() {
    let offset = |misread: &str| {
        let keys = json!({"downlink": {
            "reception": {"mean_sinr": "12 dB"}, "harq": {"nack_as_ack": misread}, "rlc": {"um_lte": {}},
        }, "uplink": {"rlc": {"um_lte": {}}}});
        let mut cell = Cell::new("lte", 1, &keys);
        cell.saturated(2);
        let report = cell.report();
        report["ues"][0]["downlink"]["harq"]["outer_loop_db"].as_f64().unwrap()
    };
    assert!(offset("0 %") < 3.0, "{}", offset("0 %"));
    // From 12 dB to the threshold of CQI 15 at 20.1 dB.
    assert!(offset("100 %") > 7.5, "{}", offset("100 %"));
}
