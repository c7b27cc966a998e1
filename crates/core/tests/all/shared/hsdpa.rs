//! HSDPA: rates, HARQ and reordering by hand.

use super::{Cell, near};
use airpath_core::packet::Dir;
use airpath_core::scenario::{BUNDLED, Scenario, bundled};
use airpath_core::time::{Duration, Instant};
use serde_json::{Value, json};

/// A UE that reports this row, whose blocks are lost with these probabilities.
fn row(cqi: u8, bler: &Value) -> Value {
    // In the middle of the row: CQI = floor(s / 1.02 + 16.62).
    let sinr = format!("{:.2} dB", 1.02 * (f64::from(cqi) + 0.5 - 16.62));
    json!({"downlink": {
        "category": 6,
        "reception": {"mean_sinr": sinr},
        "adaptation": {"outer_loop": false},
        "harq": {"bler": bler},
        "iub": {"capacity": 1000},
    }, "uplink": {"rate": "384 kbit/s"}})
}

fn rate(keys: &Value) -> f64 {
    Cell::new("hsdpa", 1, keys).saturated(11)[0]
}

/// Acceptance test 2: 3360 kbit/s of PDUs at CQI 22; an SDU of 1500 B with its length indicator takes 1501.
#[test]
fn the_rate_of_a_row_is_that_of_its_pdus() {
    for (cqi, rlc) in [(22, 3360.0), (15, 1440.0), (10, 480.0)] {
        let got = rate(&row(cqi, &json!([0])));
        assert!(near(got, rlc * 1500.0 / 1501.0, 0.01), "CQI {cqi}: {got} kbit/s");
    }
}

/// Acceptance test 3: each lost block is retransmitted exactly one round trip later.
#[test]
fn lost_blocks_are_retransmitted_after_a_round_trip() {
    for (kind, keys, round_trip_ms) in [
        ("hsdpa", row(22, &json!(["10 %", 0])), 12),
        ("lte", json!({"downlink": {"harq": {"bler": ["10 %", 0]}}}), 8),
    ] {
        let mut cell = Cell::new(kind, 1, &keys);
        cell.saturated(4);
        let sent = cell.blocks();
        let again: Vec<_> = sent.iter().filter(|block| block.transmission == 2).collect();
        assert!(near(again.len() as f64 / (sent.len() - again.len()) as f64, 0.1, 0.15), "{kind}");
        for block in again {
            let before = block.at_ms - round_trip_ms;
            let first = sent.iter().find(|first| first.at_ms == before && first.process == block.process);
            assert!(first.is_some_and(|first| first.lost && first.transmission == 1), "{kind}: {block:?}");
        }
    }
}

/// Acceptance test 3.
#[test]
fn first_losses_cost_a_transmission_each() {
    let (without, with) = (rate(&row(22, &json!([0]))), rate(&row(22, &json!(["10 %", 0]))));
    assert!(near(with, without / 1.1, 0.01), "{with} beside {without} kbit/s");
}

/// Acceptance test 4.
#[test]
fn processes_bound_the_rate() {
    for (processes, share) in [(1, 1.0 / 6.0), (4, 2.0 / 3.0), (6, 1.0)] {
        let mut keys = row(22, &json!([0]));
        keys["downlink"]["harq"]["processes"] = processes.into();
        let got = rate(&keys);
        assert!(near(got, share * 3358.0, 0.01), "{processes} processes: {got} kbit/s");
    }
    let mut third = row(22, &json!([0]));
    third["downlink"]["category"] = 1.into();
    assert!(near(rate(&third), 3358.0 / 3.0, 0.01));
}

/// Acceptance test 6, second half: blocks that HARQ gives up are repaired by RLC.
#[test]
fn rlc_repairs_what_harq_gives_up() {
    let mut keys = row(22, &json!(["5 %"]));
    keys["downlink"]["harq"]["max_transmissions"] = 1.into();
    let mut cell = Cell::new("hsdpa", 1, &keys);
    let sent: Vec<u32> = (0..300).map(|_| cell.send(Instant::ZERO, Dir::Downlink, 0, 1500)).collect();
    let arrived: Vec<u32> = cell.run_dry().iter().map(|(_, packet)| packet.seq).collect();
    assert_eq!(arrived, sent);
    let report = cell.report();
    let downlink = &report["ues"][0]["downlink"];
    assert!(
        downlink["harq"]["blocks_lost"].as_u64().unwrap() > 10 && downlink["sdus_discarded"] == 0,
        "{downlink}"
    );
}

/// NACK read as ACK loses a block: RLC repairs that too.
#[test]
fn a_misread_answer_loses_its_block() {
    let mut keys = row(22, &json!(["50 %", 0]));
    keys["downlink"]["harq"]["nack_as_ack"] = json!("20 %");
    let mut cell = Cell::new("hsdpa", 1, &keys);
    let sent: Vec<u32> = (0..300).map(|_| cell.send(Instant::ZERO, Dir::Downlink, 0, 1500)).collect();
    let arrived: Vec<u32> = cell.run_dry().iter().map(|(_, packet)| packet.seq).collect();
    assert_eq!(arrived, sent);
    let report = cell.report();
    let harq = &report["ues"][0]["downlink"]["harq"];
    let lost = harq["blocks_lost"].as_f64().unwrap() / harq["first_lost"].as_f64().unwrap();
    assert!(near(lost, 0.2, 0.4), "{harq}");
}

/// Acceptance test 11: 1500 B are 38 PDUs; a block of CQI 22 carries 21 of them and one of CQI 15 nine.
#[test]
fn a_packet_in_an_idle_cell_takes_the_blocks_of_its_pdus() {
    for (cqi, blocks) in [(22, 2), (15, 5)] {
        let mut cell = Cell::new("hsdpa", 1, &row(cqi, &json!([0])));
        cell.send(Instant::ZERO + Duration::from_secs(1), Dir::Downlink, 0, 1500);
        assert_eq!(cell.run_dry().len(), 1);
        let sent = cell.blocks();
        let ttis = sent.last().unwrap().at_ms - sent[0].at_ms;
        assert_eq!((sent.len(), ttis), (blocks, 2 * (blocks as u64 - 1)), "CQI {cqi}");
    }
}

/// A cell change that loses all PDUs in the Node B: RLC in the RNC retransmits them.
#[test]
fn nothing_is_lost_when_a_ue_changes_its_node_b() {
    let handovers = json!([{"ue": 0, "at": "200 ms", "outage": "300 ms", "warning": "0 ms"}]);
    let mut cell = Cell::with_handovers("hsdpa", &row(15, &json!(["10 %", 0])), &handovers);
    let sent: Vec<u32> = (0..200).map(|_| cell.send(Instant::ZERO, Dir::Downlink, 0, 1500)).collect();
    let arrived: Vec<u32> = cell.run_dry().iter().map(|(_, packet)| packet.seq).collect();
    assert_eq!(arrived, sent);
    let silent = cell.blocks();
    assert!(silent.iter().all(|block| !(200..500).contains(&block.at_ms)));
    assert!(silent.iter().any(|block| block.at_ms < 200) && silent.iter().any(|block| block.at_ms >= 500));
}

/// PDUs of 656 bits do not fit into blocks of CQI 7 and below. A PDU in a block of 686 bits is received at CQI 7 like
/// any other; at CQI 4, 3.3 dB below what it needs, two or three transmissions have to be combined; at CQI 1 four are
/// too few.
#[test]
fn a_pdu_larger_than_the_row_has_takes_several_transmissions() {
    let of_row = |cqi: u8| {
        let mut keys = row(cqi, &json!([]));
        keys["downlink"]["category"] = 8.into();
        keys["downlink"]["rlc"] = json!({"um": {"tti": "2 ms", "pdu": "82 B"}});
        keys["uplink"] = json!({"rlc": {"um": {"tti": "20 ms", "pdu": "41 B"}}});
        let mut cell = Cell::new("hsdpa", 1, &keys);
        let goodput = cell.saturated(5)[0];
        let report = cell.report();
        let harq = &report["ues"][0]["downlink"]["harq"];
        let count = |name: &str| harq[name].as_f64().unwrap();
        (goodput, 1.0 + count("repeats") / count("blocks"))
    };
    // 640 bits in 2 ms are 320 kbit/s.
    let [(at_7, once), (at_4, twice), (_, four_times)] = [7, 4, 1].map(of_row);
    assert!(near(at_7, 320.0 / once, 0.02) && once < 1.3, "{at_7}, {once}");
    assert!(near(at_4, 320.0 / twice, 0.02) && (2.0..3.0).contains(&twice), "{at_4}, {twice}");
    assert!(four_times > 3.9, "{four_times}");
}

/// A UE that was alone has had the rate R, one that comes back after a pause nothing: their means R exp(-t / 100 ms) and R (1 -
/// exp(-t / 100 ms)) are equal after 100 ms x ln 2 = 69 ms.
#[test]
fn a_ue_that_comes_back_leaves_the_others_waiting_for_less_than_the_window() {
    let silence = |window: Option<u32>| {
        let mut keys = row(22, &json!([0]));
        if let Some(window) = window {
            keys["downlink"]["scheduler"] = json!({"proportional_fair": {"window": window}});
        }
        let mut cell = Cell::new("hsdpa", 2, &keys);
        cell.returning(4, 3)
    };
    assert!((65..=75).contains(&silence(None)), "{} ms", silence(None));
    // 1000 TTIs of 2 ms.
    assert!(silence(Some(1000)) > 500, "{} ms", silence(Some(1000)));
}

/// docs/models/shared-cells.md: a STATUS PDU that arrives before a retransmission triggers another one.
#[test]
fn timers_of_bundled_scenarios_outlast_a_retransmission_through_the_node_b() {
    for (name, text) in BUNDLED {
        let remarks = Scenario::parse(text, &[]).unwrap().remarks();
        let short: Vec<_> = remarks.iter().filter(|remark| remark.path.contains("timer_")).collect();
        assert!(short.is_empty(), "{name}: {short:?}");
    }
    let prohibit = ("radio.hsdpa.downlink.rlc.am.timer_status_prohibit".to_owned(), "100 ms".to_owned());
    let text = bundled("hsdpa-7.2").unwrap();
    let remarks = Scenario::parse(text, &[prohibit]).unwrap().remarks();
    let keys: Vec<_> = remarks.iter().map(|remark| remark.path.as_str()).collect();
    assert!(keys.contains(&"radio.hsdpa.downlink.rlc.am.timer_status_prohibit"), "{keys:?}");
}
