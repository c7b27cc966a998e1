//! Queue disciplines at every place where packets wait: their orders, what they tell, and what they do to flows.

use airpath_core::element::{Capture, Element};
use airpath_core::packet::{Dir, Packet};
use airpath_core::path::Path;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};
use airpath_core::time::Instant;
use airpath_core::trace::{Event, Kind, ProbeMask, Reason};
use airpath_core::{link, radio};
use serde_json::{Value, json};

const ALL: ProbeMask = ProbeMask::NONE
    .with(Kind::BearerEnqueued)
    .with(Kind::BearerDelivered)
    .with(Kind::RlcSdu)
    .with(Kind::Marked)
    .with(Kind::Dropped);

/// Everything with a queue that can be this one, and microseconds from one packet of 750 bytes to the next that are more
/// than it carries.
fn places(queue: &Value) -> Vec<(String, u64, Box<dyn Element>)> {
    let wire: link::Config = serde_json::from_value(json!({"rate": "300 kbit/s", "queue": queue})).unwrap();
    wire.half(Dir::Downlink).validate_queue().unwrap();
    let mut all = vec![("link".to_owned(), 10_000, wire.build(1, "wired"))];
    let mut add = |cell: &str, gap_us: u64, downlink: Value, uplink: Value| {
        let mut downlink = downlink;
        downlink["queue"] = queue.clone();
        let name = format!("{cell}: {downlink}");
        let config: radio::Config =
            serde_json::from_value(json!({cell: {"downlink": downlink, "uplink": uplink}})).unwrap();
        config.validate().unwrap();
        all.push((name, gap_us, config.build(&radio::Plan::of(1))));
    };
    for rlc in ["none", "fixed_delay_arq", "am", "um", "am_lte", "um_lte", "am_nr", "um_nr"] {
        let bearer = json!({"rate": "320 kbit/s", "rlc": {rlc: {}}});
        add("dch", 10_000, bearer.clone(), bearer);
    }
    let trace = json!({"trace_file": {"trace": "40\n"}});
    let drawn = json!({"distribution": {"rate": {"constant": "300 kbit/s"}}});
    for channel in [trace, drawn] {
        add("variable", 10_000, json!({"channel": channel}), json!({}));
    }
    add("evdo", 10_000, json!({"mean_sinr": "-5 dB"}), json!({}));
    add("lte", 500, json!({"reception": {"mean_sinr": "0 dB"}}), json!({}));
    add("hsdpa", 1000, json!({"reception": {"mean_sinr": "-3 dB"}, "iub": {"capacity": 2}}), json!({}));
    all
}

fn push(path: &mut Path, at_us: u64, number: u32, (flow, len, ecn): (u16, u32, u8)) {
    let mut packet = path.packet();
    (packet.seq, packet.flow, packet.len, packet.payload) = (number, flow, len, len - 40);
    packet.set_ecn(ecn);
    path.handle_packet(Instant::from_nanos(1000 * at_us), Dir::Downlink, packet);
}

fn finish(path: &mut Path) -> Vec<(Instant, Packet)> {
    while let Some(next) = path.poll_timeout() {
        path.handle_timeout(next);
    }
    assert_eq!(path.in_flight(), 0);
    std::iter::from_fn(|| path.poll_output()).map(|(at, _, packet)| (at, *packet)).collect()
}

/// By hand, with a quantum of 1500 bytes: A has used its turn up with the first packet. B and C are new and come before
/// the rest of A, whatever carries them. An RNC begins with the first packet as it comes, and takes the next one.
#[test]
fn flows_take_turns_at_every_place() {
    let (a, b, c) = (0, 1, 2);
    let packets = [(a, 1500), (a, 1500), (a, 1500), (b, 500), (b, 500), (b, 500), (c, 100)];
    for (name, _, element) in places(&json!({"fq_codel": {"quantum": "1500 B"}})) {
        let mut path = Path::new(vec![element], ALL);
        for (number, (flow, len)) in (0..).zip(packets) {
            push(&mut path, 0, number, (flow, len, Packet::NOT_ECT));
        }
        let flows: Vec<u16> = finish(&mut path).iter().map(|(_, packet)| packet.flow).collect();
        let expected = if name.starts_with("hsdpa") { [a, a, b, b, b, c, a] } else { [a, b, b, b, c, a, a] };
        assert_eq!(flows, expected, "{name}");
    }
}

/// By hand: A sent and was idle since, so that it is new again and not behind B. An RNC takes two of C.
#[test]
fn a_flow_that_was_idle_is_new_again_at_every_place() {
    let (a, b, c) = (0, 1, 2);
    for (name, _, element) in places(&json!({"fq_codel": {"quantum": "1500 B"}})) {
        let mut path = Path::new(vec![element], ALL);
        push(&mut path, 0, 0, (a, 1500, Packet::NOT_ECT));
        while let Some(next) = path.poll_timeout().filter(|next| *next < Instant::from_nanos(1_000_000_000)) {
            path.handle_timeout(next);
        }
        for (number, flow) in [(1, c), (2, c), (3, a), (4, b)] {
            push(&mut path, 1_000_000, number, (flow, 1500, Packet::NOT_ECT));
        }
        let flows: Vec<u16> = finish(&mut path).iter().map(|(_, packet)| packet.flow).collect();
        let expected = if name.starts_with("hsdpa") { [a, c, c, a, b] } else { [a, c, a, b, c] };
        assert_eq!(flows, expected, "{name}");
    }
}

/// Of 30 packets that arrive at once, at most six are kept: the last ones are sent, after the packets already started.
#[test]
fn drop_head_keeps_the_newest() {
    for (name, _, element) in places(&json!({"drophead": {"packets": 6}})) {
        let mut path = Path::new(vec![element], ProbeMask::NONE);
        (0..30).for_each(|number| push(&mut path, 0, number, (0, 500, Packet::NOT_ECT)));
        let numbers: Vec<u32> = finish(&mut path).iter().map(|(_, packet)| packet.seq).collect();
        assert!(numbers.ends_with(&[25, 26, 27, 28, 29]) && numbers.len() <= 6, "{name}: {numbers:?}");
        assert_eq!(path.drops(0, Reason::Evicted), 30 - numbers.len() as u64, "{name}");
    }
}

/// Twice what can be sent for some seconds, all of it marked where that can be.
#[test]
#[ignore = "slow"]
fn marks_are_counted_told_and_carried() {
    let codel = json!({"target": "20 ms", "interval": "50 ms", "ecn": true});
    let pie = json!({"qdelay_ref": "20 ms", "max_burst": "0 ms", "ecn": true, "mark_up_to": 1});
    let disciplines = [
        json!({"codel": codel}),
        json!({"fq_codel": codel}),
        json!({"pie": pie}),
        json!({"dualpi2": {"target": "20 ms", "coupling": 1}}),
        json!({"red": {"min_threshold": 2, "max_threshold": 2000, "max_probability": 0.5, "weight": 0.5, "ecn": true}}),
        json!({"predicted_sojourn": {}}),
    ];
    for (discipline, ecn) in disciplines.iter().flat_map(|one| [(one, Packet::ECT_0), (one, Packet::ECT_1)]) {
        for (name, gap_us, element) in places(discipline) {
            let mut path = Path::new(vec![element], ALL);
            (0..500).for_each(|number| push(&mut path, gap_us * u64::from(number), number, (0, 750, ecn)));
            let out = finish(&mut path);
            let marked = out.iter().filter(|(_, packet)| packet.ecn() == Packet::CE).count() as u64;
            let trace = path.take_trace();
            let told = trace.iter().filter(|(_, event)| matches!(event, Event::Marked { .. })).count() as u64;
            let report = path.reports()[0].clone();
            let counted = match name.as_str() {
                "link" if report["downlink"]["packets_marked"].is_null() => told,
                "link" => report["downlink"]["packets_marked"].as_u64().unwrap(),
                _ => report["ues"][0]["downlink"]["sdus_marked"].as_u64().unwrap(),
            };
            let lost: u64 = Reason::ALL.iter().map(|reason| path.drops(0, *reason)).sum();
            assert!(marked > 3, "{discipline} {ecn}, {name}: {marked} marked of {}", out.len());
            assert_eq!((told, counted), (marked, marked), "{discipline} {ecn}, {name}");
            // Even DualPI2: with a coupling of 1 its probability knows no overload.
            assert_eq!(lost, 0, "{discipline} {ecn}, {name}");
        }
    }
}

/// If flows take turns and packets are dropped in the queue, `rlc_sdu` still has the numbers of `bearer_enqueued`.
#[test]
fn numbers_of_sdus_are_those_of_their_arrivals() {
    let queue = json!({"fq_codel": {"target": "20 ms", "interval": "50 ms", "packets": 20}});
    let mut dropped = 0;
    for (name, gap_us, element) in places(&queue).into_iter().filter(|(name, ..)| name.contains("am\"")) {
        let mut path = Path::new(vec![element], ALL);
        for number in 0..300 {
            let flow = (number % 7 % 3) as u16;
            push(&mut path, gap_us * u64::from(number), number, (flow, 700 + 100 * u32::from(flow), 0));
        }
        finish(&mut path);
        let trace = path.take_trace();
        let came = trace.iter().filter_map(|(_, event)| match event {
            Event::BearerEnqueued { flow, .. } => Some(*flow),
            _ => None,
        });
        let came: Vec<u16> = came.collect();
        let ended = trace.iter().filter_map(|(_, event)| match event {
            Event::RlcSdu { flow, sdu, .. } => Some((*flow, *sdu)),
            _ => None,
        });
        let ended: Vec<(u16, u64)> = ended.collect();
        assert!(ended.iter().all(|(flow, sdu)| came[*sdu as usize] == *flow), "{name}");
        let mut numbers: Vec<u64> = ended.iter().map(|(_, sdu)| *sdu).collect();
        assert!(!numbers.is_sorted(), "{name}");
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), ended.len(), "{name}");
        dropped += path.drops(0, Reason::Evicted);
    }
    assert!(dropped > 10, "{dropped}");
}

/// RFC 9332 with loads that do not react: 40 Mbit/s, 12 of ECT(1) and 35 of others. What is too much is dropped of the
/// classic queue, which then waits for the target of 15 ms on average; the other one is served at once.
#[test]
fn the_low_latency_queue_stays_short_beside_a_full_one() {
    let config: link::Config =
        serde_json::from_value(json!({"rate": "40 Mbit/s", "queue": {"dualpi2": {}}})).unwrap();
    let mut path = Path::new(vec![config.build(1, "wired")], ALL);
    let mut arrivals: Vec<(u64, u8)> = Vec::new();
    for (mbps, ecn) in [(12, Packet::ECT_1), (35, Packet::NOT_ECT)] {
        arrivals.extend((0..20 * mbps * 1_000_000 / 12_000).map(|n| (n * 12_000 / mbps, ecn)));
    }
    arrivals.sort_unstable();
    for (number, (us, ecn)) in (0..).zip(&arrivals) {
        push(&mut path, *us, number, (0, 1500, *ecn));
    }
    let out = finish(&mut path);
    // After the first five seconds, in milliseconds without the 0.3 of its own transmission.
    let waits = |low: bool| {
        let mine = out.iter().map(|(at, packet)| (at.as_nanos(), arrivals[packet.seq as usize]));
        let mine = mine.filter(|(_, (us, ecn))| *us > 5_000_000 && (*ecn == Packet::ECT_1) == low);
        let mut waits: Vec<f64> = mine.map(|(at, (us, _))| (at - 1000 * us) as f64 / 1e6 - 0.3).collect();
        waits.sort_unstable_by(f64::total_cmp);
        waits
    };
    let (low, classic) = (waits(true), waits(false));
    let mean = classic.iter().sum::<f64>() / classic.len() as f64;
    let high = low[low.len() * 99 / 100];
    assert!(high < 3.0, "{high} ms");
    assert!((10.0..20.0).contains(&mean), "{mean} ms");
    // Once the probability has found its place nothing of the short queue is lost.
    let sent = arrivals.iter().filter(|(us, ecn)| *us > 5_000_000 && *ecn == Packet::ECT_1).count();
    assert_eq!(low.len(), sent);
}

/// RFC 8033: a burst of 100 ms to an idle queue passes.
#[test]
fn pie_lets_a_burst_pass() {
    let config: link::Config =
        serde_json::from_value(json!({"rate": "10 Mbit/s", "queue": {"pie": {}}})).unwrap();
    let mut path = Path::new(vec![config.build(1, "wired")], ALL);
    for burst in 0..5 {
        (0..83).for_each(|number| push(&mut path, 2_000_000 * burst, number, (0, 1500, 0)));
    }
    assert_eq!(finish(&mut path).len(), 5 * 83);
}

/// A run of a minute, and the time in milliseconds from entering the buffer of the downlink to arrival of each packet of
/// a flow, after the first ten seconds.
fn run(text: &str, flow: u16) -> (Results, Vec<f64>) {
    run_with(text, flow, 1)
}

fn run_with(text: &str, flow: u16, seed: u64) -> (Results, Vec<f64>) {
    let probes = ProbeMask::NONE.with(Kind::BearerDelivered);
    let scenario = Scenario::parse(text, &[]).unwrap();
    let mut simulation = Simulation::new(&scenario, seed, Observe { probes, capture: Capture::Nothing });
    simulation.run();
    let delays = simulation.take_trace().into_iter().filter_map(|(at, event)| match event {
        Event::BearerDelivered { flow: of, direction: Dir::Downlink, delay_ns, .. } => {
            (of == flow && at.as_nanos() > 10_000_000_000).then_some(delay_ns as f64 / 1e6)
        }
        _ => None,
    });
    let mut delays: Vec<f64> = delays.collect();
    delays.sort_unstable_by(f64::total_cmp);
    (simulation.results(), delays)
}

fn cell(rate: &str, delay: &str, rlc: &str, queue: &str, flows: &str) -> String {
    format!(
        "duration = \"60 s\"\n[wired]\ndelay = \"{delay}\"\n\
         [radio.dch]\nuplink.rlc.{rlc} = {{}}\nuplink.rate = \"992 kbit/s\"\n\
         [radio.dch.downlink]\nrate = \"{rate}\"\nrlc.{rlc} = {{}}\nqueue = {queue}\n\
         [tcp]\nprofile = \"linux\"\n{flows}"
    )
}

const BULK: &str = "[[flow]]\napp = \"bulk\"\n";

fn goodput(results: &Results, flow: usize) -> f64 {
    results.flows[flow].bytes_received as f64
}

/// The slowest of today's questions: CUBIC over 384 kbit/s, whose packets last 31 ms, with and without a link layer.
#[test]
fn codel_with_an_automatic_target_keeps_a_slow_bearer_busy_and_short() {
    for rlc in ["none", "am"] {
        let of = |queue: &str| run(&cell("384 kbit/s", "50 ms", rlc, queue, BULK), 0);
        let (drop_tail, long) = of("{ droptail.packets = 100 }");
        let (codel, short) = of("{ codel.target = \"auto\" }");
        let high = |delays: &[f64]| delays[delays.len() * 95 / 100];
        assert!(high(&long) > 1000.0, "{rlc}: {}", high(&long));
        // With the transmission of the packet itself, and of AM a TTI and its status.
        assert!(high(&short) < 250.0, "{rlc}: {}", high(&short));
        let share = goodput(&codel, 0) / goodput(&drop_tail, 0);
        assert!(share >= 0.9, "{rlc}: {share}");
    }
}

/// With a concurrent download at 2 Mbit/s, whose packets last 6 ms.
#[test]
fn a_ping_waits_for_two_packets_and_a_tti_beside_a_download() {
    let ping = "[[flow]]\napp.ping.interval = \"100 ms\"\n";
    for (rlc, tti_ms) in [("none", 0.0), ("am", 10.0)] {
        let median = |flows: &str, flow: u16| {
            let queue = "{ fq_codel.target = \"auto\" }";
            let (_, delays) = run(&cell("2016 kbit/s", "20 ms", rlc, queue, flows), flow);
            delays[delays.len() / 2]
        };
        let (alone, beside) = (median(ping, 0), median(&format!("{BULK}{ping}"), 1));
        assert!(beside - alone <= 12.0 + tti_ms, "{rlc}: {alone} ms alone, {beside} ms with the download");
    }
}

#[test]
fn two_flows_get_the_same() {
    let text = cell("2016 kbit/s", "20 ms", "am", "{ fq_codel.target = \"auto\" }", &format!("{BULK}{BULK}"));
    let (results, _) = run(&text, 0);
    let [one, other] = [0, 1].map(|flow| goodput(&results, flow));
    let jain = (one + other) * (one + other) / (2.0 * (one * one + other * other));
    assert!(jain >= 0.99, "{jain}");
}

/// RFC 8033 at 10 Mbit/s and 100 ms, with a reference of 15 ms, over five seeds: for four flows, and for one, for which each
/// drop empties the queue for a time, so that the wait is between half of the reference and the whole. The kernel's CUBIC
/// (Linux 6.18, ten live runs through this bearer) uses 0.898 +- 0.020 of it with one flow.
#[test]
#[ignore = "slow"]
fn pie_holds_the_wait_of_long_flows_at_its_reference() {
    for (flows, waits, uses) in [(1, 7.5..15.0, 0.878..0.918), (4, 10.0..20.0, 0.9..1.0)] {
        let text = cell("10 Mbit/s", "50 ms", "none", "{ pie = {} }", &BULK.repeat(flows));
        let (mut mean, mut used) = (0.0, 0.0);
        for seed in 1..=5 {
            let (results, delays) = run_with(&text, 0, seed);
            // Without the 1.2 ms of its own transmission.
            mean += (delays.iter().sum::<f64>() / delays.len() as f64 - 1.2) / 5.0;
            used += (0..flows).map(|flow| goodput(&results, flow)).sum::<f64>() * 8.0 / 60.0 / 10e6 / 5.0;
        }
        assert!(waits.contains(&mean), "{flows}: {mean} ms");
        assert!(uses.contains(&used), "{flows}: {used}");
    }
}

/// With ECN nothing is lost, and the sender still knows.
#[test]
fn marks_take_the_place_of_losses() {
    for queue in [
        "codel = { target = \"auto\", ecn = true }",
        "fq_codel.target = \"auto\"",
        "dualpi2.target = \"auto\"",
    ] {
        let text = cell("2016 kbit/s", "20 ms", "am", &format!("{{ {queue} }}"), BULK)
            .replace("linux\"", "linux\"\necn = true");
        let (results, delays) = run(&text, 0);
        let bearer = results.elements.last().unwrap()["ues"][0]["downlink"].clone();
        assert!(bearer["sdus_marked"].as_u64() > Some(5), "{queue}: {bearer}");
        // In overload, as in the first slow start, DualPI2 drops.
        let dropped = bearer["sdus_dropped"].as_u64().unwrap();
        assert!(dropped == 0 || queue.starts_with("dualpi2"), "{queue}: {bearer}");
        let high = delays[delays.len() * 95 / 100];
        assert!(high < 250.0, "{queue}: {high} ms");
    }
}

/// What a run gives does not depend on who looks.
#[test]
#[ignore = "slow"]
fn probes_change_nothing() {
    for queue in ["codel", "fq_codel", "pie", "dualpi2"] {
        let text = cell("992 kbit/s", "20 ms", "am", &format!("\"{queue}\""), &format!("{BULK}{BULK}"));
        let results = |probes: ProbeMask| {
            let scenario = Scenario::parse(&text, &[]).unwrap();
            let mut simulation = Simulation::new(&scenario, 1, Observe { probes, capture: Capture::Nothing });
            simulation.run();
            simulation.results().to_json()
        };
        assert_eq!(results(ProbeMask::NONE), results(ProbeMask::ALL), "{queue}");
    }
}
