//! The cell of 1xEV-DO, against hand computation on a channel that stands still, and against theory on one
//! that fades.

use airpath_core::packet::{Dir, Packet};
use airpath_core::path::Path;
use airpath_core::radio;
use airpath_core::scenario::{Scenario, bundled};
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::Instant;
use airpath_core::trace::ProbeMask;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A path of one cell whose downlink has these keys. Unless they say otherwise its channel stands still.
fn cell(ues: u16, downlink: &Value) -> Path {
    let mut keys = json!({"fading": {"none": {}}, "mean_sinr": "0 dB"});
    for (key, value) in downlink.as_object().unwrap() {
        keys[key] = value.clone();
    }
    let config: radio::Config =
        serde_json::from_value(json!({"evdo": {"ues": ues, "downlink": keys}})).unwrap();
    config.validate().unwrap();
    Path::new(vec![config.build(&radio::Plan::of(1))], ProbeMask::ALL)
}

fn send(path: &mut Path, at_micros: u64, ue: u16, number: u32, len: u32) {
    let mut packet = path.packet();
    (packet.ue, packet.seq, packet.len) = (ue, number, len);
    path.handle_packet(Instant::from_nanos(1000 * at_micros), Dir::Downlink, packet);
}

fn run_dry(path: &mut Path) {
    while let Some(next) = path.poll_timeout() {
        path.handle_timeout(next);
    }
}

fn outputs(path: &mut Path) -> Vec<(Instant, Packet)> {
    std::iter::from_fn(|| path.poll_output()).map(|(at, _, packet)| (at, *packet)).collect()
}

/// Output: the slot that starts when a packet leaves, and the packet's number.
fn ends(path: &mut Path) -> Vec<(u64, u32)> {
    run_dry(path);
    let slot = |at: Instant| {
        let slot = at.as_nanos() * 3 / 5_000_000;
        // A slot begins at the first whole nanosecond.
        assert!(at.as_nanos() == (slot * 5_000_000).div_ceil(3), "{at:?} is no start of a slot");
        slot
    };
    outputs(path).into_iter().map(|(at, packet)| (slot(at), packet.seq)).collect()
}

fn report(path: &mut Path) -> Value {
    path.reports()[0].clone()
}

#[test]
fn a_packet_travels_in_physical_packets_of_whole_slots() {
    // 614.4 kbit/s: 128 bytes in each slot, so that 1000 bytes take 8.
    let mut one_slot_each = cell(1, &json!({}));
    send(&mut one_slot_each, 0, 0, 0, 1000);
    send(&mut one_slot_each, 1_000, 0, 1, 128);
    send(&mut one_slot_each, 1_001, 0, 2, 129);
    assert_eq!(ends(&mut one_slot_each), [(8, 0), (9, 1), (11, 2)]);
    // 38.4 kbit/s: 128 bytes in 16 slots; 3000 bytes are more than what is computed ahead. 921.6: 384 bytes in
    // 2. 2457.6: 512 bytes in each.
    for (mean_sinr, slots) in [("-12.5 dB", [128, 512]), ("2.9 dB", [6, 22]), ("9.5 dB", [2, 8])] {
        let mut path = cell(1, &json!({"mean_sinr": mean_sinr}));
        send(&mut path, 0, 0, 0, 1000);
        send(&mut path, 0, 0, 1, 3000);
        assert_eq!(ends(&mut path), [(slots[0], 0), (slots[1], 1)], "{mean_sinr}");
    }
}

#[test]
fn a_plain_slot_carries_its_rate_and_no_packet_lasts_several() {
    // 921.6 kbit/s at 1.3 dB: a packet of 1000 B takes 5.2 slots of 192 B, or three packets of two slots with 384 B.
    for (slots, last) in [("plain", [6, 12]), ("physical", [6, 12])] {
        let mut path = cell(1, &json!({"slots": slots, "mean_sinr": "2 dB"}));
        send(&mut path, 0, 0, 1, 1000);
        send(&mut path, 0, 0, 2, 1000);
        assert_eq!(ends(&mut path), [(last[0], 1), (last[1], 2)], "{slots}");
    }
    // 38.4 kbit/s: 8 B per slot, or packets of 128 B in 16 slots.
    for (slots, last) in [("plain", 13), ("physical", 16)] {
        let mut path = cell(1, &json!({"slots": slots, "mean_sinr": "-12 dB"}));
        send(&mut path, 0, 0, 1, 100);
        assert_eq!(ends(&mut path), [(last, 1)], "{slots}");
    }
    // 102.4 kbit/s: 64 B in three slots, which no whole number of bytes a slot gives.
    let mut path = cell(1, &json!({"slots": "plain", "mean_sinr": "-8 dB"}));
    send(&mut path, 0, 0, 1, 640);
    assert_eq!(ends(&mut path), [(30, 1)]);
}

#[test]
fn an_idle_cell_waits_for_the_next_slot_and_is_silent_until_then() {
    let mut path = cell(1, &json!({}));
    assert_eq!(path.poll_timeout(), None);
    // Slot 3 begins at 5 ms: in time at that very instant.
    send(&mut path, 5_000, 0, 0, 40);
    assert_eq!(ends(&mut path), [(4, 0)]);
    assert_eq!(path.poll_timeout(), None);
    send(&mut path, 3_600_000_001, 0, 1, 40);
    assert_eq!(ends(&mut path), [(2_160_002, 1)]);
    assert_eq!(path.poll_timeout(), None);
    assert_eq!(report(&mut path)["ues"][0]["downlink"]["slots_served"], 2);
}

#[test]
fn who_is_chosen_for_a_packet_keeps_the_air_and_for_a_slot_does_not() {
    let turns = |choose: &str| {
        let mut path = cell(2, &json!({"choose": choose, "scheduler": {"round_robin": {}}}));
        for number in 0..2 {
            send(&mut path, 0, 0, number, 512);
            send(&mut path, 0, 1, 10 + number, 512);
        }
        ends(&mut path)
    };
    assert_eq!(turns("packet"), [(4, 0), (8, 10), (12, 1), (16, 11)]);
    assert_eq!(turns("slot"), [(7, 0), (8, 10), (15, 1), (16, 11)]);
}

#[test]
fn slots_are_shared_by_packets_if_that_is_wanted() {
    let ends_of_three = |downlink: Value| {
        let mut path = cell(1, &downlink);
        for (number, len) in [(0, 200), (1, 40), (2, 16), (3, 1)] {
            send(&mut path, 0, 0, number, len);
        }
        ends(&mut path)
    };
    let alone = [(2, 0), (3, 1), (4, 2), (5, 3)];
    assert_eq!(ends_of_three(json!({})), alone);
    assert_eq!(ends_of_three(json!({"choose": "slot"})), alone);
    // 200 + 40 + 16 are the 256 bytes of two slots.
    let shared = ends_of_three(json!({"choose": "slot", "share_slots": true}));
    assert_eq!(shared, [(2, 0), (2, 1), (2, 2), (3, 3)]);
}

#[test]
fn flows_of_a_ue_take_turns_if_each_has_a_buffer() {
    let order = |buffer: &str| {
        let queue = json!({"droptail": {"packets": 2, "in_service": "excluded"}});
        let mut path = cell(1, &json!({"buffer": buffer, "queue": queue}));
        for number in 0..6 {
            let mut packet = path.packet();
            (packet.flow, packet.seq, packet.len) = (u16::from(number > 3), number, 100);
            path.handle_packet(Instant::from_nanos(1), Dir::Downlink, packet);
        }
        run_dry(&mut path);
        outputs(&mut path).into_iter().map(|(_, packet)| packet.seq).collect::<Vec<_>>()
    };
    // Nothing is being sent yet when all six come: a packet goes to an idle transmitter, two wait.
    assert_eq!(order("shared"), [0, 1]);
    assert_eq!(order("per_flow"), [0, 4, 1, 5]);
}

#[test]
fn a_lost_physical_packet_is_retransmitted() {
    let mut path = cell(1, &json!({"per": "25 %"}));
    for number in 0..4000 {
        send(&mut path, 0, 0, number, 640);
    }
    let ends = ends(&mut path);
    assert!(ends.iter().map(|(_, number)| *number).eq(0..4000));
    // 20000 physical packets, each sent 4/3 times on average with variance 4/9: the sum is off by more than 4
    // standard deviations once in 16000.
    let slots = ends.last().unwrap().0 as f64;
    assert!((slots - 20_000.0 * 4.0 / 3.0).abs() < 4.0 * (20_000.0 * 4.0 / 9.0_f64).sqrt(), "{slots}");
    assert_eq!(report(&mut path)["slots_busy_share"], 1.0);
}

#[test]
fn delays_are_drawn_for_each_packet_and_the_order_is_kept_or_not() {
    let arrivals = |order: &str| {
        let delay = json!({"uniform": {"mean": "75 ms", "sd": "30 ms"}});
        let mut path = cell(1, &json!({"delay": delay, "order": order, "mean_sinr": "10 dB"}));
        for number in 0..300 {
            send(&mut path, 10_000 * u64::from(number), 0, number, 500);
        }
        run_dry(&mut path);
        outputs(&mut path).into_iter().map(|(_, packet)| packet.seq).collect::<Vec<_>>()
    };
    assert!(arrivals("kept").into_iter().eq(0..300));
    let mut free = arrivals("free");
    assert!(!free.is_sorted());
    free.sort_unstable();
    assert!(free.into_iter().eq(0..300));
}

/// Keeps something waiting for every UE, for so many seconds.
fn saturate(path: &mut Path, ues: u16, seconds: u64) -> Value {
    let mut number = 0;
    let mut waiting = vec![0; usize::from(ues)];
    let mut now = Instant::ZERO;
    while now < Instant::from_nanos(seconds * 1_000_000_000) {
        for ue in 0..ues {
            while waiting[usize::from(ue)] < 3 {
                waiting[usize::from(ue)] += 1;
                number += 1;
                send(path, now.as_nanos().div_ceil(1000), ue, number, 1000);
            }
        }
        now = path.poll_timeout().unwrap();
        path.handle_timeout(now);
        for (_, packet) in outputs(path) {
            waiting[usize::from(packet.ue)] -= 1;
        }
    }
    report(path)
}

#[test]
#[ignore = "slow"]
fn rates_of_a_saturated_ue_come_as_often_as_the_exponential_law_says() {
    let mut path = cell(1, &json!({"fading": {"jakes": {}}, "mean_sinr": "2.4 dB"}));
    let report = saturate(&mut path, 1, 3600);
    let downlink = &report["ues"][0]["downlink"];
    // Thresholds of the rates, dB; the power is exponential with the mean 2.4 dB.
    let thresholds = [-12.5, -9.5, -8.5, -6.5, -5.7, -4.0, -1.0, 1.3, 3.0, 7.2, 9.5];
    let met = thresholds.map(|threshold: f64| libm::exp(-libm::pow(10.0, (threshold - 2.4) / 10.0)));
    let shares: BTreeMap<String, f64> = serde_json::from_value(downlink["drc"].clone()).unwrap();
    let names = ["none", "38.4", "76.8", "102.4", "153.6", "204.8", "307.2", "614.4", "921.6", "1228.8"];
    for (rate, name) in names.iter().chain(&["1843.2", "2457.6"]).enumerate() {
        let at_least = if rate == 0 { 1.0 } else { met[rate - 1] };
        let expected = at_least - met.get(rate).unwrap_or(&0.0);
        let key = if rate == 0 { "none".to_owned() } else { format!("{name} kbit/s") };
        // The bias of a finite number of sinusoids, plus the random error.
        assert!((shares[&key] - expected).abs() < 0.004, "{key}: {} and not {expected}", shares[&key]);
    }
    // A slot is free only if no rate was requested in it, and a packet of several slots continues in many of these.
    let busy = report["slots_busy_share"].as_f64().unwrap();
    assert!(busy > 1.0 - shares["none"] && busy < 1.0, "{busy}");
}

/// Slow fading, so that a choice still fits at the end of a packet. All UEs are alike: what they get differs for
/// max C/I by chance alone.
#[test]
#[ignore = "slow"]
fn schedulers_differ_in_what_they_gain() {
    let run = |scheduler: &str| {
        let keys = json!({
            "fading": {"jakes": {"doppler": "5 Hz"}}, "mean_sinr": "2.4 dB", "scheduler": {scheduler: {}},
        });
        let report = saturate(&mut cell(4, &keys), 4, 600);
        let bytes = |ue: usize| report["ues"][ue]["downlink"]["bytes_delivered"].as_u64().unwrap();
        ((0..4).map(bytes).sum::<u64>() as f64, report["jain_index"].as_f64().unwrap())
    };
    let [turns, fair, highest] = ["round_robin", "proportional_fair", "max_ci"].map(run);
    assert!(fair.0 > 1.3 * turns.0, "{fair:?} {turns:?}");
    assert!(highest.0 > fair.0, "{highest:?} {fair:?}");
    assert!(fair.1 > 0.999 && turns.1 > 0.999, "{fair:?} {turns:?}");
}

/// Two of four UEs have nothing to send: the others share the cell evenly.
#[test]
fn who_has_nothing_to_send_does_not_count_as_unfairly_treated() {
    let keys = json!({ "scheduler": {"round_robin": {}} });
    let index = |users| saturate(&mut cell(4, &keys), users, 60)["jain_index"].as_f64();
    assert!(index(4) > Some(0.99) && index(2) > Some(0.99), "{:?} {:?}", index(4), index(2));
}

#[test]
#[ignore = "slow"]
fn four_flows_share_a_cell_in_proportional_fairness() {
    let scenario = Scenario::parse(bundled("hdr-4").unwrap(), &[]).unwrap();
    let mut simulation = Simulation::new(&scenario, 1, Observe::default());
    simulation.run();
    let results = simulation.results();
    let cell = results.elements.last().unwrap();
    assert!(cell["jain_index"].as_f64().unwrap() > 0.99, "{cell}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Computed ahead or from one physical-layer packet to the next: for a UE that is alone it is the same.
    #[test]
    fn a_lone_ue_is_served_alike_whatever_it_is_chosen_for(
        packets in proptest::collection::vec((0..100_000_u64, 1..3000_u32), 1..60),
        mean_sinr in -12..10_i32,
        per in 0..30_u32,
    ) {
        let run = |choose: &str| {
            let keys = json!({
                "fading": {"jakes": {}}, "mean_sinr": format!("{mean_sinr} dB"), "per": format!("{per} %"),
                "choose": choose,
            });
            let mut path = cell(1, &keys);
            let mut at = 0;
            for (number, (gap, len)) in packets.iter().enumerate() {
                at += gap;
                send(&mut path, at, 0, number as u32, *len);
            }
            let ends = ends(&mut path);
            (ends, report(&mut path))
        };
        prop_assert_eq!(run("packet"), run("slot"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// For any choices of the scheduler, packets of a UE arrive in order, and take no more slots than there were.
    #[test]
    fn packets_of_a_ue_keep_their_order_and_slots_are_used_once(
        packets in proptest::collection::vec((0..3_u16, 0..40_000_u64, 1..1500_u32), 1..80),
        choose in prop_oneof![Just("packet"), Just("slot")],
        scheduler in prop_oneof![Just("proportional_fair"), Just("round_robin"), Just("max_ci")],
        share in any::<bool>(),
        doppler in 1..200_u32,
    ) {
        let mut path = cell(3, &json!({
            "fading": {"jakes": {"doppler": format!("{doppler} Hz")}}, "mean_sinr": "3 dB",
            "choose": choose, "share_slots": share && choose == "slot", "scheduler": {scheduler: {}},
        }));
        let mut at = 0;
        for (number, (ue, gap, len)) in packets.iter().enumerate() {
            at += gap;
            send(&mut path, at, *ue, number as u32, *len);
        }
        run_dry(&mut path);
        let out = outputs(&mut path);
        prop_assert_eq!(out.len(), packets.len());
        for ue in 0..3 {
            prop_assert!(out.iter().filter(|(_, packet)| packet.ue == ue).is_sorted_by_key(|(_, packet)| packet.seq));
        }
        let report = report(&mut path);
        let used: u64 = (0..3).map(|ue| report["ues"][ue]["downlink"]["slots_served"].as_u64().unwrap()).sum();
        prop_assert!(used <= path.now().as_nanos() * 3 / 5_000_000 + 1);
        prop_assert!(report["slots_busy_share"].as_f64().unwrap() <= 1.0);
    }
}
