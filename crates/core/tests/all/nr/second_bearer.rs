//! A second data radio bearer: its own queue, RLC and PDCP, and its place in blocks.

use super::{at, cell, ms, narrow};
use crate::shared::{Cell, near, over};
use airpath_core::packet::{Dir, Packet};
use serde_json::{Value, json};

fn send(cell: &mut Cell, now: u64, dir: Dir, (flow, ecn, len): (u16, u8, u32)) {
    let mut packet = cell.path.packet();
    (packet.flow, packet.len) = (flow, len);
    packet.set_ecn(ecn);
    cell.path.handle_packet(at(now), dir, packet);
}

/// Mbit/s of flows 0 and 1 and the greatest delay of flow 1, ms, where flow 0 fills the default bearer and flow 1 has `packets` each
/// 10 ms.
fn with(second: Value, packets: u32, ecn: u8) -> ([f64; 2], f64) {
    let mut cell = cell(&over(narrow(), &json!({"second_bearer": second})));
    let (mut bytes, mut latest) = ([0_u64; 2], 0.0_f64);
    for step in 0..200_u32 {
        let now = ms(10.0 * f64::from(step));
        cell.run_until(at(now));
        (0..20).for_each(|_| send(&mut cell, now, Dir::Downlink, (0, Packet::ECT_0, 1500)));
        (0..packets).for_each(|_| send(&mut cell, now, Dir::Downlink, (1, ecn, 1500)));
        for (arrived, packet) in cell.outputs() {
            bytes[usize::from(packet.flow)] += u64::from(packet.len);
            if packet.flow == 1 {
                // Packets come each 10 ms.
                let waited = arrived.as_nanos() as f64 / 1e6 % 10.0;
                latest = latest.max(waited);
            }
        }
    }
    (bytes.map(|bytes| bytes as f64 * 8.0 / 2e6), latest)
}

/// What flow 1 has in the queue of the default bearer waits for some 20 packets and more; on its own bearer it does not.
#[test]
fn a_second_bearer_passes_the_queue_of_the_default_one() {
    for second in [json!({"l4s": true}), json!({"flows": [1]})] {
        let ([bulk, own], latest) = with(second, 1, Packet::ECT_1);
        assert!(near(own, 1.2, 0.02), "{own}");
        // As an idle downlink: 2.5 to 4.0 ms.
        assert!((2.5..=4.0).contains(&latest), "{latest} ms");
        assert!(bulk > 5.0, "{bulk}");
    }
}

/// Without ECT(1) a packet goes by the default bearer.
#[test]
fn packets_without_ect_1_stay_on_the_default_bearer() {
    let mut cell = cell(&over(narrow(), &json!({"second_bearer": {"l4s": true}})));
    send(&mut cell, 0, Dir::Downlink, (0, Packet::ECT_0, 1500));
    send(&mut cell, 0, Dir::Downlink, (1, Packet::ECT_1, 1500));
    // ACKs of flow 1, which cannot be marked, come back on the second bearer.
    cell.run_until(at(ms(50.0)));
    send(&mut cell, ms(50.0), Dir::Uplink, (0, 0, 52));
    send(&mut cell, ms(50.0), Dir::Uplink, (1, 0, 52));
    assert_eq!(cell.run_dry().len(), 4);
    let ue = &cell.report()["ues"][0];
    for dir in ["downlink", "uplink"] {
        let of = |report: &Value| (report["sdus_in"].clone(), report["sdus_delivered"].clone());
        assert_eq!(of(&ue[dir]), (json!(1), json!(1)), "{dir}: {}", ue[dir]);
        assert_eq!(of(&ue[dir]["second"]), (json!(1), json!(1)), "{dir}: {}", ue[dir]["second"]);
    }
}

/// Both always have data: strict priority leaves the default bearer nothing, a share of 25 % three quarters.
#[test]
fn blocks_are_shared_by_priority() {
    let ([bulk, own], _) = with(json!({"flows": [1]}), 40, 0);
    assert!(own > 10.0 && bulk < 0.1, "{bulk} {own}");
    let ([most, quarter], _) = with(json!({"flows": [1], "share": "25 %"}), 40, 0);
    assert!(near(quarter, (most + quarter) / 4.0, 0.03), "{most} {quarter}");
    assert!(near(most + quarter, own, 0.03), "{most} {quarter}, {own}");
    // What the default bearer does not need is the second one's.
    let ([rest, all], _) = with(json!({"flows": [0], "share": "25 %"}), 0, 0);
    assert!(rest > 10.0 && all < 0.1, "{rest} {all}");
}

/// Blocks are lost, a hand-over interrupts: everything arrives once and in order on either bearer.
#[test]
fn both_bearers_repair_what_is_lost() {
    let handovers = json!([{"ue": 0, "at": "60 ms", "outage": "108 ms", "warning": "0 ms"}]);
    let long = json!({"pdcp": {"t_reordering": "400 ms"}});
    let keys = json!({
        "downlink": {"pdcp": {"t_reordering": "400 ms"}, "harq": {"bler": ["30 %"], "max_transmissions": 2}, "blocks": {"bandwidth": "5 MHz", "layers": 1}},
        "uplink": {"pdcp": {"t_reordering": "400 ms"}, "reception": {"mean_sinr": "60 dB", "fading": {"none": {}}}, "harq": {"bler": ["30 %"], "max_transmissions": 2}},
        "second_bearer": {"flows": [1], "downlink": long, "uplink": long, "share": "50 %"},
    });
    for dir in [Dir::Downlink, Dir::Uplink] {
        let mut cell = Cell::with_handovers("nr", &keys, &handovers);
        for number in 0..300 {
            let mut packet = cell.path.packet();
            (packet.flow, packet.seq, packet.len) = ((number % 2) as u16, number, 1200);
            cell.path.handle_packet(at(0), dir, packet);
        }
        let outputs = cell.run_dry();
        for flow in 0..2 {
            let of_flow = outputs.iter().filter(|(_, packet)| u32::from(packet.flow) == flow);
            let arrived: Vec<u32> = of_flow.map(|(_, packet)| packet.seq).collect();
            let sent: Vec<u32> = (0..300).filter(|number| number % 2 == flow).collect();
            assert_eq!(arrived, sent, "{dir:?}, flow {flow}");
        }
    }
}

/// Blocks of UE 0 that its second bearer fills leave nothing behind for UE 1, which uses the default bearer only.
#[test]
fn the_second_bearer_of_a_ue_is_its_own() {
    let keys = over(narrow(), &json!({"frame": "FDD", "second_bearer": {"flows": [1]}}));
    let mut cell = Cell::new("nr", 2, &over(keys, &json!({"downlink": {"harq": {"bler": ["30 %"]}}})));
    let mut sent = [0_u32; 2];
    let mut outputs = Vec::new();
    for step in 0..200_u32 {
        let now = ms(f64::from(step));
        cell.run_until(at(now));
        outputs.extend(cell.outputs());
        for (ue, packets) in [(0, 6), (1, 1)] {
            for _ in 0..packets {
                let mut packet = cell.path.packet();
                (packet.ue, packet.flow, packet.seq, packet.len) = (ue, 1 - ue, sent[usize::from(ue)], 700);
                sent[usize::from(ue)] += 1;
                cell.path.handle_packet(at(now), Dir::Downlink, packet);
            }
        }
    }
    outputs.extend(cell.run_dry());
    for ue in 0..2 {
        let arrived: Vec<u32> =
            outputs.iter().filter(|(_, packet)| packet.ue == ue).map(|(_, packet)| packet.seq).collect();
        assert_eq!(arrived, (0..sent[usize::from(ue)]).collect::<Vec<_>>(), "UE {ue}");
    }
    let second = &cell.report()["ues"][1]["downlink"]["second"];
    assert_eq!((&second["sdus_in"], &second["pdcp"]["discarded_sdus"]), (&json!(0), &json!(0)), "{second}");
    assert_eq!(second["rlc"]["re_establishments"], json!(0), "{second}");
}

/// The marks of a discipline depend on its own bearer's queue.
#[test]
fn a_discipline_sees_the_queue_of_its_own_bearer() {
    let marked = |packets: u32| {
        let queue = json!({"predicted_sojourn": {"threshold": "10 ms"}});
        let keys = json!({"second_bearer": {"l4s": true, "downlink": {"queue": queue}}});
        let mut cell = cell(&over(narrow(), &keys));
        for step in 0..100_u32 {
            let now = ms(10.0 * f64::from(step));
            cell.run_until(at(now));
            (0..20).for_each(|_| send(&mut cell, now, Dir::Downlink, (0, 0, 1500)));
            (0..packets).for_each(|_| send(&mut cell, now, Dir::Downlink, (1, Packet::ECT_1, 1500)));
        }
        let outputs = cell.outputs();
        outputs.iter().filter(|(_, packet)| packet.flow == 1 && packet.ecn() == Packet::CE).count()
    };
    // The queue of flow 0 fills its own bearer; that of flow 1 is empty, or fills the second one.
    assert_eq!(marked(1), 0);
    assert!(marked(30) > 500);
}
