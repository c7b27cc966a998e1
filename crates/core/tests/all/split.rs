//! Split TCP: two connections with a finite buffer between them, instead of one.

use airpath_core::element::Capture;
use airpath_core::middlebox;
use airpath_core::packet::{Dir, Packet};
use airpath_core::path::Path;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};
use airpath_core::time::Instant;
use airpath_core::trace::{Event, Kind, ProbeMask};
use proptest::prelude::*;
use serde_json::Value;

type Overrides<'a> = &'a [(&'a str, &'a str)];

fn build(text: &str, overrides: Overrides<'_>, seed: u64, observe: Observe) -> Simulation {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Simulation::new(&Scenario::parse(text, &overrides).unwrap(), seed, observe)
}

fn run(text: &str, overrides: Overrides<'_>, seed: u64) -> Results {
    let mut simulation = build(text, overrides, seed, Observe::default());
    simulation.run();
    simulation.results()
}

/// What the box says.
fn split(results: &Results) -> &Value {
    results.elements.iter().find(|report| report["element"] == "middlebox.split").unwrap()
}

fn connection(results: &Results) -> &Value {
    &split(results)["connections"][0]
}

/// Packets of 1000 B take 8 ms on the downlink, ACKs of 40 B 1 ms on the uplink, a SYN of 48 B 1.2 ms.
const TWO_SEGMENTS: &str = r#"
    wired.delay = "10 ms"
    [[middlebox]]
    split.delay = "5 ms"
    [radio.dch]
    downlink.rate = "1 Mbit/s"
    uplink.rate = "320 kbit/s"
    [tcp]
    handshake = "none"
    mss = "960 B"
    ack_every = 1
    [[flow]]
    app.file.size = "1920 B"
"#;

#[test]
fn both_segments_are_acknowledged_at_once_and_sent_on() {
    let results = run(TWO_SEGMENTS, &[], 1);
    let flow = &results.flows[0];
    // At the box after 10 ms, whose ACKs take as long back.
    assert_eq!(flow.transfer_s, Some(0.020));
    // To the cell 5 ms, and twice 8 ms on the bearer.
    assert_eq!((flow.received_s, results.simulated_s), (Some(0.031), 0.031));
    // The first ACK left the UE at 23 ms and was at the box at 29 ms; the second is in flight.
    let ahead = &connection(&results)["acked_ahead_bytes"];
    assert_eq!((&ahead["peak"], &ahead["at_end"]), (&1920.into(), &960.into()));
    assert_eq!(flow.sender.rtt_ms.max, Some(20.0));
}

/// The two segments reach the box together after 10 ms: the first is through at 13 ms, the second at 16 ms, and their
/// ACKs arrive 10 ms later. The box sends the second on when the first is on the bearer (18 to 26 ms): it follows at
/// once and has arrived 8 ms later, at 34 ms.
#[test]
fn packets_take_the_processor_one_after_another() {
    let results = run(TWO_SEGMENTS, &[("middlebox.0.split.processing", "3 ms")], 1);
    let flow = &results.flows[0];
    assert_eq!((flow.transfer_s, flow.received_s), (Some(0.026), Some(0.034)));
    assert_eq!(split(&results)["peak_in_processor"], 2);
    // One that takes longer than the bearer sets the pace: 20 and 30 ms in the box, 35 at the cell, 43 at the UE.
    let slow = run(TWO_SEGMENTS, &[("middlebox.0.split.processing", "10 ms")], 1);
    assert_eq!((slow.flows[0].transfer_s, slow.flows[0].received_s), (Some(0.040), Some(0.043)));
}

#[test]
fn the_box_answers_the_syn_and_opens_its_own_connection_at_once() {
    let results = run(TWO_SEGMENTS, &[("tcp.handshake", "three_way")], 1);
    let flow = &results.flows[0];
    // SYN at the box 6.2 ms, at the server 16.2, its answer at the box 26.2, the ACK at the server 36.2, data
    // at the box 46.2, where the UE's ACK of the box's SYN-ACK has been since 17.6.
    assert_eq!((flow.transfer_s, flow.received_s), (Some(0.0562), Some(0.0672)));
}

#[test]
fn with_data_in_the_syn_an_upload_is_one_way_on_either_side() {
    let overrides = [("tcp.handshake", "ttcp"), ("flow.0.direction", "uplink"), ("tcp.initial_window", "2")];
    let results = run(TWO_SEGMENTS, &overrides, 1);
    // Twice 25 ms on the uplink, 5 ms to the box, 10 ms to the server.
    assert_eq!(results.flows[0].received_s, Some(0.065));
}

#[test]
fn without_a_box_both_ends_are_complete_within_a_round_trip() {
    let text = TWO_SEGMENTS.replace("[[middlebox]]\n    split.delay = \"5 ms\"", "");
    let flow = &run(&text, &[], 1).flows[0];
    // 10 ms and twice 8 ms; then 1 ms and 10 ms for the ACK.
    assert_eq!((flow.received_s, flow.transfer_s), (Some(0.026), Some(0.037)));
}

/// A download over a lossy wire and a bearer that loses blocks, and an upload.
const LOSSY: &str = r#"
    duration = "2 h"
    wired.delay = "40 ms"
    wired.rate = "2 Mbit/s"
    [[middlebox]]
    split.delay = "10 ms"
    [radio.dch]
    [radio.dch.downlink]
    rlc.fixed_delay_arq.delivery = "out_of_sequence"
    [radio.dch.uplink]
    rate = "128 kbit/s"
    rlc.fixed_delay_arq.delivery = "out_of_sequence"
    [[flow]]
    app.file.size = "120 kB"
    [[flow]]
    direction = "uplink"
    app.file.size = "99999 B"
"#;

const HANDSHAKES: [&str; 3] = ["three_way", "none", "ttcp"];
const VARIANTS: [Overrides<'static>; 5] = [
    &[],
    &[("tcp.recovery.reno", "{}"), ("tcp.window_arithmetic", "ns2"), ("tcp.ack_every", "1")],
    &[("tcp.sack", "true"), ("tcp.recovery.sack", "{}"), ("tcp.undo.frto", "{}"), ("tcp.ip", "ipv6")],
    &[("tcp.timestamps", "true"), ("tcp.undo.eifel", "{}"), ("tcp.initial_sequence", "4294967290")],
    &[("tcp.mss", "536 B"), ("tcp.receive_buffer", "1 MB"), ("middlebox.0.split.tcp.mss", "\"1000 B\"")],
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    #[ignore = "slow"]
    fn every_byte_arrives_once_and_in_order_and_the_buffer_is_never_exceeded(
        loss in 0..6_u32,
        bler in 0..30_u32,
        buffer in prop_oneof![1460..6000_u64, 6000..70_000_u64, 70_000..300_000_u64],
        handshake in 0..HANDSHAKES.len(),
        variant in 0..VARIANTS.len(),
        delay_ms in prop_oneof![Just(0_u32), 1..200_u32],
        seed in 0..1000_u64,
    ) {
        let (loss, bler) = (format!("{loss} %"), format!("{bler} %"));
        let (buffer_text, delay) = (format!("{buffer} B"), format!("{delay_ms} ms"));
        let mut overrides = vec![
            ("wired.loss", loss.as_str()),
            ("radio.dch.downlink.channel.bernoulli.bler", &bler),
            ("radio.dch.uplink.channel.bernoulli.bler", &bler),
            ("middlebox.0.split.buffer", &buffer_text),
            ("middlebox.0.split.delay", &delay),
            ("tcp.handshake", HANDSHAKES[handshake]),
        ];
        overrides.extend(VARIANTS[variant]);
        let mut simulation = build(LOSSY, &overrides, seed, Observe::default());
        let mut until = Instant::ZERO;
        while !simulation.advance_to(until) {
            until += airpath_core::time::Duration::from_millis(50);
            let results = simulation.results();
            // What is not at the receiver yet is nowhere but in the buffer, or on its way to it.
            for connection in split(&results)["connections"].as_array().unwrap() {
                let held = connection["buffer_bytes"]["at_end"].as_u64().unwrap();
                let flow = &results.flows[connection["flow"].as_u64().unwrap() as usize];
                prop_assert!(flow.bytes_received + held >= flow.bytes_acked);
            }
        }
        let results = simulation.results();
        prop_assert!(results.simulated_s < 3000.0, "it took {} s", results.simulated_s);
        for (flow, size) in results.flows.iter().zip([120_000, 99_999]) {
            prop_assert_eq!((flow.bytes_acked, flow.bytes_received), (size, size));
            prop_assert!(flow.received_s.unwrap() > 0.0 && flow.transfer_s.is_some());
        }
        for connection in split(&results)["connections"].as_array().unwrap() {
            let peak = |what: &str| connection[what]["peak"].as_u64().unwrap();
            prop_assert!(peak("buffer_bytes") <= buffer && peak("acked_ahead_bytes") <= buffer);
            prop_assert!(peak("acked_ahead_bytes") > 0);
        }
    }
}

/// A slow bearer behind a fast wire.
const SLOW_RADIO: &str = r#"
    duration = "10 min"
    wired.delay = "30 ms"
    wired.rate = "10 Mbit/s"
    [[middlebox]]
    split.buffer = "16 kB"
    [radio.dch]
    downlink.rate = "64 kbit/s"
    uplink.rate = "64 kbit/s"
    [[flow]]
    app.file.size = "300 kB"
"#;

#[test]
fn a_full_buffer_closes_the_window_and_nothing_is_lost() {
    let observe = Observe { probes: ProbeMask::NONE.with(Kind::TcpState), capture: Capture::Nothing };
    for direction in ["downlink", "uplink"] {
        let mut simulation = build(SLOW_RADIO, &[("flow.0.direction", direction)], 1, observe);
        simulation.run();
        let (trace, results) = (simulation.take_trace(), simulation.results());
        let states = trace.iter().filter_map(|(_, event)| match event {
            Event::TcpState { tcpi_unacked, send_window, .. } => Some((*tcpi_unacked, *send_window)),
            _ => None,
        });
        let (most_unacked, least_window) = states
            .fold((0, u32::MAX), |(most, least), (unacked, window)| (most.max(unacked), least.min(window)));
        let (flow, connection) = (&results.flows[0], connection(&results));
        let peak = connection["buffer_bytes"]["peak"].as_u64().unwrap();
        assert_eq!(
            (flow.sender.retransmissions.total, flow.sender.timeouts),
            (0, 0),
            "{direction}: {flow:?}"
        );
        assert_eq!((&connection["retransmissions"], &connection["timeouts"]), (&0.into(), &0.into()));
        assert_eq!(
            flow.receiver.beyond_window + connection["receiver"]["beyond_window"].as_u64().unwrap(),
            0
        );
        if direction == "downlink" {
            assert!(peak > 16_000 - 1460 && peak <= 16_000, "{peak} B were held at most");
            assert!(least_window == 0 && most_unacked <= 10, "{least_window} {most_unacked}");
            // The server is done when no more than a buffer is left to send over the bearer.
            let rest = flow.received_s.unwrap() - flow.transfer_s.unwrap();
            assert!((1.5..2.1).contains(&rest), "16 kB at 64 kbit/s take 2 s and not {rest} s");
        } else {
            // The slow side comes first: nothing ever waits for the wire, except for its round trip.
            assert!(peak < 16_000 && least_window > 0, "{peak} {least_window}");
        }
    }
}

#[test]
fn a_lost_window_update_is_made_good_by_a_probe() {
    let overrides = [
        ("middlebox.0.split.buffer", "3 kB"),
        ("wired.uplink.loss", "30 %"),
        ("flow.0.app.file.size", "100 kB"),
    ];
    let flows: Vec<_> = (1..=20).map(|seed| run(SLOW_RADIO, &overrides, seed).flows.remove(0)).collect();
    assert!(flows.iter().all(|flow| flow.bytes_received == 100_000), "{flows:?}");
    let probes: u64 = flows.iter().map(|flow| flow.sender.window_probes).sum();
    assert!(probes > 20, "{probes}");
}

/// Probes without data, as Linux sends them, while the box's window is closed and all of its ACKs are lost.
#[test]
fn empty_probes_carry_nothing_and_open_the_window_again() {
    let text = r#"
        duration = "300 s"
        middlebox = [{ split = {} }]
        change = [
            { at = "1 s", set."wired.uplink.loss" = "100 %" },
            { at = "31 s", set."wired.uplink.loss" = "0 %" },
        ]
        wired = { rate = "100 Mbit/s", delay = "1 ms" }
        [radio.dch.downlink]
        rate = "64 kbit/s"
        delay = "10 ms"
        [radio.dch.uplink]
        rate = "64 kbit/s"
        delay = "10 ms"
        [tcp]
        profile = "linux"
        [[flow]]
        app.file.size = "200000 B"
    "#;
    let results = run(text, &[], 1);
    assert_eq!((results.flows[0].bytes_acked, results.flows[0].bytes_received), (200_000, 200_000));
    // 200 kB in packets of 1500 B at 64 kbit/s last 26 s; the window is open again within a probe's interval after 31 s.
    assert!(
        (57.0..85.0).contains(&results.flows[0].transfer_s.unwrap()),
        "{:?}",
        results.flows[0].transfer_s
    );
    // Nothing is lost on the way to the box, and its sender keeps to the window: whatever is beyond was never sent.
    let whole = run(text, &[("change", "[]")], 1);
    assert_eq!(connection(&whole)["receiver"]["beyond_window"], 0);
}

#[test]
fn with_a_large_buffer_it_is_at_least_as_fast_as_end_to_end() {
    let text = SLOW_RADIO.replace("64 kbit/s", "2 Mbit/s");
    let without = text.replace("[[middlebox]]\n    split.buffer = \"16 kB\"", "");
    for direction in ["downlink", "uplink"] {
        for [wired, radio] in [["0 ms", "200 ms"], ["50 ms", "150 ms"], ["200 ms", "0 ms"]] {
            let end_to_end = [("wired.delay", "200 ms"), ("flow.0.direction", direction)];
            let whole = run(&without, &end_to_end, 1).flows[0].received_s.unwrap();
            let overrides = [
                ("wired.delay", wired),
                ("middlebox.0.split.delay", radio),
                ("middlebox.0.split.buffer", "1 MB"),
                ("flow.0.direction", direction),
            ];
            let halves = run(&text, &overrides, 1).flows[0].received_s.unwrap();
            assert!(halves <= whole, "{direction}, {wired} and {radio}: {halves} s, end to end {whole} s");
            // With all of the delay on one side, only the handshake can make a difference.
            assert!(
                wired != "50 ms" || halves < 0.8 * whole,
                "{direction}: {halves} s, end to end {whole} s"
            );
        }
    }
}

#[test]
fn each_side_repairs_its_own_losses() {
    let counts = |overrides: Overrides<'_>| {
        let results = run(LOSSY, &[&[("tcp.handshake", "none")], overrides].concat(), 3);
        let connection = connection(&results);
        let of_box = |key: &str| connection[key].as_u64().unwrap();
        let flow = &results.flows[0];
        let server = [flow.sender.retransmissions.total, flow.sender.fast_retransmits, flow.sender.dupacks];
        (server, [of_box("retransmissions"), of_box("fast_retransmits"), of_box("timeouts")])
    };
    let on_the_wire = counts(&[("wired.loss", "2 %")]);
    assert!(on_the_wire.0[0] > 0 && on_the_wire.1 == [0; 3], "{on_the_wire:?}");
    // Late blocks reorder segments; the server is not affected.
    let on_the_radio = counts(&[("radio.dch.downlink.channel.bernoulli.bler", "10 %"), ("tcp.mss", "536 B")]);
    assert!(on_the_radio.0 == [0; 3] && on_the_radio.1[1] > 0, "{on_the_radio:?}");
}

#[test]
fn a_loop_that_is_shorter_repairs_losses_sooner() {
    let with = LOSSY.replace("split.delay = \"10 ms\"", "split.delay = \"100 ms\"");
    let without = LOSSY.replace("[[middlebox]]\n    split.delay = \"10 ms\"", "");
    let slow =
        [("radio.dch.downlink.rate", "2 Mbit/s"), ("wired.loss", "1 %"), ("flow.0.app.file.size", "1 MB")];
    let mean = |text: &str, delay: &str| {
        let overrides = [&slow[..], &[("wired.delay", delay)]].concat();
        (1..=10).map(|seed| run(text, &overrides, seed).flows[0].received_s.unwrap()).sum::<f64>() / 10.0
    };
    let (halves, whole) = (mean(&with, "40 ms"), mean(&without, "140 ms"));
    assert!(halves < 0.8 * whole, "{halves} s, end to end {whole} s");
}

/// Three UEs with two flows each, over either version of IP.
#[test]
fn several_flows_and_ues_are_kept_apart() {
    let text = LOSSY
        .replace("[radio.dch]\n", "[radio.dch]\n    ues = 3\n")
        .replace("[[flow]]\n", "[[flow]]\n    ue = \"each\"\n    stagger = \"300 ms\"\n");
    for ip in ["ipv4", "ipv6"] {
        let overrides =
            [("tcp.ip", ip), ("wired.loss", "1 %"), ("radio.dch.downlink.channel.bernoulli.bler", "10 %")];
        let results = run(&text, &overrides, 4);
        let connections = split(&results)["connections"].as_array().unwrap();
        assert_eq!((results.flows.len(), connections.len()), (6, 6));
        for (flow, connection) in results.flows.iter().zip(connections) {
            let size = if flow.direction == Dir::Downlink { 120_000 } else { 99_999 };
            assert_eq!((flow.bytes_acked, flow.bytes_received), (size, size), "{ip}: {flow:?}");
            assert_eq!((&connection["ue"], &connection["flow"]), (&flow.ue.into(), &flow.flow.into()));
        }
    }
}

#[test]
fn one_box_may_follow_another() {
    let text =
        LOSSY.replace("[[middlebox]]\n", "[[middlebox]]\n    split.buffer = \"5 kB\"\n    [[middlebox]]\n");
    for handshake in HANDSHAKES {
        let results = run(&text, &[("tcp.handshake", handshake), ("wired.loss", "2 %")], 5);
        assert!(results.flows.iter().all(|flow| flow.received_s.is_some()), "{handshake}");
        let peaks: Vec<u64> = results
            .elements
            .iter()
            .filter(|report| report["element"] == "middlebox.split")
            .map(|report| report["connections"][0]["buffer_bytes"]["peak"].as_u64().unwrap())
            .collect();
        assert!(peaks.len() == 2 && peaks[0] <= 5000, "{handshake}: {peaks:?}");
    }
}

#[test]
fn datagrams_pass_unchanged_with_the_delay_on_either_side() {
    let text = r#"
        duration = "20 s"
        [wired]
        delay = "15 ms"
        [radio.dch]
        [[flow]]
        app.ping = {}
        [[flow]]
        direction = "uplink"
        app.cbr = { rate = "16 kbit/s" }
    "#;
    let whole = run(text, &[("wired.delay", "40 ms")], 1);
    let halves = run(&format!("{text}\n[[middlebox]]\nsplit.delay = \"25 ms\""), &[], 1);
    assert_eq!(halves.flows, whole.flows);
    let report = split(&halves);
    assert_eq!(report["connections"], serde_json::json!([]));
    let sent = &halves.flows[1].sender.segments_sent;
    assert_eq!(*sent, 0, "{:?}", halves.flows[1]);
    for dir in ["downlink", "uplink"] {
        assert!(report[dir]["passed_unread"].as_u64().unwrap() > 10, "{report}");
        assert_eq!(report[dir]["passed_unknown_flow"], 0);
    }
}

/// What does not begin a connection, or belongs to no flow, is none of the box's business.
#[test]
fn segments_of_unknown_connections_pass_and_are_counted() {
    let scenario = Scenario::parse(TWO_SEGMENTS, &[("tcp.handshake".into(), "three_way".into())]).unwrap();
    let flows = scenario.flows();
    let split = scenario.middlebox[0].build(&middlebox::Plan::of(1, &flows));
    let mut path = Path::new(vec![split], ProbeMask::NONE);
    let mut expected = Vec::new();
    for (number, flow) in [(0_u32, 0), (1, 1), (2, 7)] {
        let mut packet = path.packet();
        (packet.seq, packet.flow, packet.payload, packet.len) = (number, flow, 100, 140);
        expected.push(Packet::clone(&packet));
        let dir = Dir::BOTH[number as usize % 2];
        path.handle_packet(Instant::from_nanos(u64::from(number)), dir, packet);
    }
    path.handle_timeout(Instant::from_nanos(10_000_000));
    let mut out: Vec<Packet> =
        std::iter::from_fn(|| path.poll_output()).map(|(.., packet)| *packet).collect();
    out.sort_by_key(|packet| packet.seq);
    assert_eq!(out, expected);
    let report = &path.reports()[0];
    assert_eq!(report["downlink"]["passed_unknown_flow"], 2);
    assert_eq!(report["uplink"]["passed_unknown_flow"], 1);
}

#[test]
fn what_cannot_work_is_refused_in_words() {
    let refused = |toml: &str| {
        let text = format!("{toml}\n[[flow]]\n[[flow]]\ntcp.sack = false\n");
        Scenario::parse(&text, &[]).map(|_| ()).map_err(|error| error.to_string())
    };
    for (toml, words) in [
        (
            "buffer = \"1459 B\"",
            "middlebox[0].split.buffer: a buffer of 1459 B is below one segment of 1460 B; write a buffer of \
             several segments, such as \"64 kB\"",
        ),
        (
            "buffer = \"2 GB\"",
            "middlebox[0].split.buffer: no window can express 2 GB; write at most 1 GiB (RFC 7323)",
        ),
        (
            "tcp.handshake = \"none\"",
            "middlebox[0].split.tcp.handshake: both ends of a connection must agree on this; set it in [tcp] or \
             in the flow, or remove it here",
        ),
        (
            "tcp.initial_window = 101",
            "middlebox[0].split.tcp.initial_window: an initial window of 101 segments; write 1 to 100 (10 in RFC 6928)",
        ),
        (
            "tcp.recovery.sack = {}",
            "middlebox[0].split.tcp.recovery: sack requires the SACK option; set tcp.sack = true",
        ),
        ("buffers = \"1 MB\"", "middlebox[0].split.buffers: unknown key; did you mean buffer?"),
    ] {
        assert_eq!(
            refused(&format!("tcp.sack = true\n[[middlebox]]\n[middlebox.split]\n{toml}")),
            Err(words.into())
        );
    }
    // Values that differ from the flow's are inherited from [tcp], and each side may differ in its own keys.
    assert_eq!(refused("tcp.mss = \"536 B\"\n[[middlebox]]\nsplit.tcp.recovery.tahoe = {}"), Ok(()));
}

#[test]
fn a_page_is_refused() {
    let text = "[[middlebox]]\nsplit = {}\n[[flow]]\napp.web = {}";
    let error = Scenario::parse(text, &[]).unwrap_err().to_string();
    let words = "middlebox[0].split: a page's connections carry data both ways, which the box does not split";
    assert_eq!(error, format!("{words}; choose app.file or app.bulk, or remove the box"));
}

#[test]
fn the_radio_side_inherits_what_it_does_not_say() {
    let text = "tcp.mss = \"536 B\"\n[[middlebox]]\nsplit.tcp.initial_window = 2\n[[flow]]";
    let scenario = Scenario::parse(text, &[]).unwrap();
    let airpath_core::middlebox::Config::Split(config) = &scenario.middlebox[0] else { panic!() };
    let tcp = config.tcp.as_ref().unwrap();
    assert_eq!((tcp.mss.as_u64(), tcp.initial_window), (536, 2));
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap(), &[]).unwrap(), scenario);
}

/// Three downloads; the first is handed over while the buffer is full.
const HANDED_OVER: &str = r#"
    duration = "3 min"
    wired.delay = "30 ms"
    wired.rate = "10 Mbit/s"
    [[handover]]
    at = "5 s"
    outage = "500 ms"
    [[middlebox]]
    split = { buffer = "16 kB", handover = "transfer", transfer_delay = "40 ms", transfer_rate = "160 kbit/s" }
    [radio.dch]
    ues = 2
    downlink.rate = "64 kbit/s"
    uplink.rate = "64 kbit/s"
    [[flow]]
    ue = "each"
    app.file.size = "100 kB"
    [[flow]]
    direction = "uplink"
    app.file.size = "50 kB"
"#;

/// Arrival times at the UE of a flow's data segments from the hand-over on, in seconds after it.
fn arrivals(overrides: Overrides<'_>) -> (Vec<f64>, Results) {
    let probes = ProbeMask::NONE.with(Kind::SegmentReceived);
    let mut simulation = build(HANDED_OVER, overrides, 1, Observe { probes, capture: Capture::Nothing });
    simulation.run();
    let trace = simulation.take_trace();
    let received = trace.iter().filter_map(|(at, event)| match event {
        Event::SegmentReceived { ue: 0, flow: 0, .. } => Some(at.as_secs_f64() - 5.0),
        _ => None,
    });
    (received.filter(|at| *at > 0.0).collect(), simulation.results())
}

/// 16 kB at 160 kbit/s take 0.8 s, and 40 ms: until then the box sends nothing, and what the cell held of it is sent
/// when the outage is over. Nothing is lost, and the other UE does not notice.
#[test]
fn state_that_moves_takes_its_time() {
    for handshake in HANDSHAKES {
        let overrides = [("tcp.handshake", handshake)];
        let keep = [overrides[0], ("middlebox.0.split.handover", "keep")];
        let ((moved, results), (kept, unmoved)) = (arrivals(&overrides), arrivals(&keep));
        let connections = split(&results)["connections"].as_array().unwrap();
        let bytes = connections[0]["moves"]["bytes"].as_u64().unwrap();
        assert_eq!(
            (&connections[0]["moves"]["number"], &connections[2]["moves"]["number"]),
            (&1.into(), &0.into())
        );
        assert!((10_000..=16_000).contains(&bytes), "{handshake}: {bytes}");
        let takes = 0.040 + bytes as f64 * 8.0 / 160e3;
        // With the next segment, which takes 0.1875 s on the bearer, that follows an ACK.
        assert!(kept.iter().any(|at| *at < takes - 0.2) || handshake == "none", "{handshake}: {kept:?}");
        let silent = moved.iter().zip(moved.iter().skip(1)).map(|(one, next)| next - one).fold(0.0, f64::max);
        assert!(silent > 0.15 || moved[0] > takes - 0.5, "{handshake}: {moved:?}");
        for (flow, other) in results.flows.iter().zip(&unmoved.flows) {
            assert!(flow.received_s.is_some() && flow.transfer_s.is_some(), "{handshake}: {flow:?}");
            assert!(flow.ue == 0 || flow.received_s == other.received_s, "{handshake}");
            assert!(flow.received_s >= other.received_s, "{handshake}");
        }
        assert_eq!(connections[0]["lost_bytes"], Value::Null);
    }
}

/// Data acknowledged to the sender that the UE never receives: the transfer does not complete.
#[test]
fn state_that_is_lost_is_lost_for_good() {
    for handshake in HANDSHAKES {
        let overrides = [("tcp.handshake", handshake), ("middlebox.0.split.handover", "lose")];
        let (_, results) = arrivals(&overrides);
        let connections = split(&results)["connections"].as_array().unwrap();
        let lost: Vec<_> = connections.iter().map(|connection| connection["lost_bytes"].as_u64()).collect();
        assert!(lost[0].unwrap() > 10_000, "{handshake}: {lost:?}");
        assert_eq!(lost[2], None, "{handshake}");
        let [download, upload, other] = &results.flows[..] else { panic!() };
        assert!(download.received_s.is_none() && download.transfer_s.is_none(), "{handshake}: {download:?}");
        // Nothing of the upload waited in the box, whose wire is faster than the radio: it continues end to end. A
        // segment on the wired link, not yet acknowledged to the box, arrives.
        assert!(lost[1].unwrap() <= 1460 && upload.received_s.is_some(), "{handshake}: {lost:?}");
        assert!(other.received_s.is_some() && other.transfer_s.is_some());
        // The server's segments reach the UE over the gap; their ACKs tell nothing new to the server.
        assert!(
            download.sender.timeouts > 3 && download.receiver.out_of_order > 0,
            "{handshake}: {download:?}"
        );
        assert!(download.bytes_acked > download.bytes_received + 5000, "{handshake}: {download:?}");
        let passed = split(&results)["downlink"]["passed_unknown_flow"].as_u64().unwrap();
        assert!(passed > 0, "{handshake}");
    }
}
