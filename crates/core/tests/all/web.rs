//! Web pages over whole paths: instants by hand, and every byte arrives whatever is lost.

use airpath_core::app::web::Report;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};
use proptest::prelude::*;

/// 1 Mbit/s and 25 ms each way: 250 B take 2 ms, 1000 B, a full packet, 8 ms. A request is a packet of 250 B.
const IDEAL: &str = r#"
    duration = "10 s"
    [wired]
    delay = "20 ms"
    [radio.dch]
    downlink = { rate = "1 Mbit/s", delay = "5 ms" }
    uplink = { rate = "1 Mbit/s", delay = "5 ms" }
    [tcp]
    handshake = "none"
    mss = "960 B"
    window_scaling = false
    [[flow]]
    app.web = { request = "210 B", page = "960 B", objects = 2, object = "960 B" }
"#;

fn run(text: &str, overrides: &[(&str, &str)], seed: u64) -> Results {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let mut simulation =
        Simulation::new(&Scenario::parse(text, &overrides).unwrap(), seed, Observe::default());
    simulation.run();
    simulation.results()
}

fn page(results: &Results) -> &Report {
    results.flows[0].web.as_ref().unwrap()
}

fn near_ms(seconds: Option<f64>, expected_ms: f64) {
    let value = seconds.unwrap() * 1e3;
    assert!((value - expected_ms).abs() < 1e-6, "{value} ms, not {expected_ms} ms");
}

#[test]
fn on_a_persistent_connection_a_request_follows_the_response_before_it() {
    let results = run(IDEAL, &[], 1);
    // Request 27 ms, response 33 ms, three times.
    near_ms(page(&results).first_byte_s, 60.0);
    near_ms(page(&results).page_load_s, 180.0);
    assert_eq!((page(&results).requests, page(&results).objects, page(&results).connections), (3, 2, 1));
    let flow = &results.flows[0];
    assert_eq!((flow.bytes_to_send, flow.bytes_acked, flow.bytes_received), (Some(2880), 2880, 2880));
    // Requests acknowledge the responses before them; the last ACK is delayed by 200 ms, and takes 25.32 ms.
    assert_eq!((flow.sender.segments_sent, flow.receiver.segments, flow.receiver.acks_sent), (3, 3, 1));
    near_ms(flow.transfer_s, 180.0 + 200.0 + 25.32);
    assert_eq!((flow.app, flow.start_s, results.simulated_s), ("web", 0.0, flow.transfer_s.unwrap()));
}

#[test]
fn a_handshake_costs_a_round_trip() {
    let results = run(IDEAL, &[("tcp.handshake", "three_way")], 1);
    // SYN and SYN-ACK of 44 B, 25.352 ms each; the ACK, 0.32 ms, goes before the request.
    near_ms(page(&results).first_byte_s, 50.704 + 0.32 + 60.0);
    near_ms(page(&results).page_load_s, 51.024 + 180.0);
}

#[test]
fn with_ttcp_the_request_travels_in_the_syn() {
    let results = run(IDEAL, &[("tcp.handshake", "ttcp")], 1);
    near_ms(page(&results).page_load_s, 180.0);
    assert_eq!((page(&results).request_retransmissions, results.flows[0].sender.segments_sent), (0, 3));
}

#[test]
fn pipelined_requests_go_together() {
    let results = run(IDEAL, &[("flow.0.app.web.pipelining", "true")], 1);
    // At 60 ms both requests go in one packet of 460 B, 28.68 ms; the responses follow each other.
    near_ms(page(&results).first_byte_s, 60.0);
    near_ms(page(&results).page_load_s, 60.0 + 28.68 + 33.0 + 8.0);
    // The second full segment is acknowledged at once.
    near_ms(results.flows[0].transfer_s, 129.68 + 25.32);
    assert_eq!((page(&results).requests, results.flows[0].receiver.acks_sent), (3, 1));
}

const PER_OBJECT: [(&str, &str); 2] =
    [("flow.0.app.web.connections", "per_object"), ("flow.0.app.web.parallel", "2")];

#[test]
fn with_a_connection_for_each_object_so_many_are_open_at_once() {
    let results = run(IDEAL, &[&PER_OBJECT[..], &[("flow.0.app.web.objects", "3")]].concat(), 1);
    // At 60 ms two requests leave back to back and are answered so: objects at 120 and 128 ms. The third is requested
    // at 120 ms.
    near_ms(page(&results).page_load_s, 180.0);
    assert_eq!((page(&results).requests, page(&results).objects, page(&results).connections), (4, 3, 4));
    let starts: Vec<f64> = results.flows.iter().map(|flow| (flow.start_s * 1e3).round()).collect();
    assert_eq!(starts, [0.0, 60.0, 60.0, 120.0]);
    // From its own start, with the delayed ACK.
    near_ms(results.flows[3].transfer_s, 60.0 + 200.0 + 25.32);
    for (number, flow) in (0..).zip(&results.flows) {
        assert_eq!((flow.flow, flow.bytes_to_send, flow.bytes_received), (number, Some(960), 960));
        assert_eq!(flow.web.is_some(), number == 0);
    }
}

#[test]
fn every_connection_has_its_handshake() {
    let results = run(IDEAL, &[&PER_OBJECT[..], &[("tcp.handshake", "three_way")]].concat(), 1);
    near_ms(page(&results).first_byte_s, 111.024);
    // From there: SYNs arrive after 25.352 and 25.704 ms, SYN-ACKs after 50.704 and 51.056. ACK and request of the
    // first take 0.32 and 2 ms, those of the second follow: 78.024 and 80.344. The second response waits for
    // the first, which takes from 78.024 to 86.024.
    near_ms(page(&results).page_load_s, 111.024 + 86.024 + 8.0 + 25.0);
}

#[test]
fn the_server_takes_its_time_for_each_response() {
    let results = run(IDEAL, &[("flow.0.app.web.think", "100 ms")], 1);
    near_ms(page(&results).page_load_s, 3.0 * (27.0 + 100.0 + 33.0));
    // One after the other, pipelined or not: ready at 188.68 and 288.68 ms after the page at 160 ms.
    let pipelined = [("flow.0.app.web.think", "100 ms"), ("flow.0.app.web.pipelining", "true")];
    near_ms(page(&run(IDEAL, &pipelined, 1)).page_load_s, 160.0 + 28.68 + 200.0 + 33.0);
}

#[test]
fn a_page_without_objects_is_complete_when_it_has_arrived() {
    for connections in ["persistent", "per_object"] {
        let changes = [("flow.0.app.web.objects", "0"), ("flow.0.app.web.connections", connections)];
        let results = run(IDEAL, &changes, 1);
        assert_eq!((page(&results).first_byte_s, results.flows.len()), (page(&results).page_load_s, 1));
        near_ms(page(&results).page_load_s, 60.0);
    }
}

#[test]
fn sizes_can_be_listed() {
    let changes = [("flow.0.app.web.objects", r#"["1 B", "2 kB"]"#), PER_OBJECT[0]];
    let sizes: Vec<_> = run(IDEAL, &changes, 1).flows.iter().map(|flow| flow.bytes_received).collect();
    assert_eq!(sizes, [960, 1, 2000]);
}

#[test]
fn an_unfinished_page_says_so() {
    let results = run(IDEAL, &[("duration", "100 ms")], 1);
    assert_eq!((page(&results).page_load_s, page(&results).objects, page(&results).requests), (None, 0, 2));
    near_ms(page(&results).first_byte_s, 60.0);
    let before = run(IDEAL, &[("duration", "100 ms"), ("flow.0.start", "200 ms")], 1);
    assert_eq!(page(&before), &Report::default());
}

#[test]
fn a_ue_has_no_more_connections_than_ports() {
    let pages = |count| {
        let page = "[[flow]]\napp.web = { connections = \"per_object\", objects = 1000 }\n";
        Scenario::parse(&page.repeat(count), &[]).map(|scenario| scenario.flows().len())
    };
    assert_eq!(pages(16).unwrap(), 16_016);
    let error = pages(17).unwrap_err().to_string();
    let expected = "flow: 17017 connections at UE 0; write flows of at most 16384 connections for each UE";
    assert_eq!(error, expected);
}

/// A lossy path with pages of random sizes for two UEs, followed by a download.
const LOSSY: &str = r#"
    duration = "3 h"
    [wired]
    delay = "30 ms"
    loss = "5 %"
    [radio.dch]
    ues = 2
    [radio.dch.downlink]
    rate = "384 kbit/s"
    queue.droptail.packets = 10
    [radio.dch.uplink]
    rate = "64 kbit/s"
    [[flow]]
    ue = "each"
    stagger = "1 s"
    app.web = { objects = 12, sizes = "exponential" }
    [[flow]]
    app.file.size = "50 kB"
"#;

#[test]
fn the_same_seed_gives_the_same_page_whatever_the_path_or_the_connections() {
    let results = run(LOSSY, &[], 3);
    assert_eq!(results.to_json(), run(LOSSY, &[], 3).to_json());
    let bytes = |run: &Results, ue| {
        let mine = run.flows.iter().filter(|flow| flow.app == "web" && flow.ue == ue);
        mine.map(|flow| flow.bytes_to_send.unwrap()).sum::<u64>()
    };
    let others = run(LOSSY, &[("wired.loss", "0 %"), ("flow.0.app.web.connections", "per_object")], 3);
    assert_eq!([0, 1].map(|ue| bytes(&results, ue)), [0, 1].map(|ue| bytes(&others, ue)));
    assert_ne!(bytes(&results, 0), bytes(&results, 1));
    assert_ne!(bytes(&results, 0), bytes(&run(LOSSY, &[("duration", "1 s")], 4), 0));
    // A page's connections have consecutive numbers; other flows have the numbers after them.
    let numbers = others.flows.iter().filter(|flow| flow.ue == 0).map(|flow| (flow.flow, flow.app));
    let expected = (0..13).map(|number| (number, "web")).chain([(13, "file")]);
    assert!(numbers.eq(expected));
    assert!(others.flows.iter().all(|flow| flow.bytes_to_send == Some(flow.bytes_received)));
}

/// Endpoints that differ in what can go wrong.
const ENDPOINTS: [&str; 7] = [
    "{}",
    r#"{ handshake = "none", initial_window = 1 }"#,
    r#"{ handshake = "ttcp", timestamps = true, initial_sequence = 4294967295 }"#,
    r#"{ timestamps = true, undo.eifel = {}, initial_sequence = 4294960000 }"#,
    r#"{ sack = true, recovery.sack = {}, undo.dsack = {}, ack_every = 1 }"#,
    r#"{ handshake = "ttcp", recovery.tahoe = {}, undo.frto = {}, mss = "400 B" }"#,
    r#"{ window_arithmetic = "ns2", recovery.reno = {}, rtt_sampling = "one_per_window" }"#,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_page_completes_whatever_is_lost(
        endpoints in prop::sample::select(&ENDPOINTS[..]),
        per_object: bool,
        pipelining: bool,
        objects in prop::collection::vec(1..30_000_u64, 0..12),
        request in 1..3_000_u64,
        parallel in 1..6_u32,
        think_ms in prop::sample::select(&[0_u64, 300, 5000][..]),
        loss in 0..25_u32,
        seed: u64,
    ) {
        let list: Vec<String> = objects.iter().map(|size| format!("\"{size} B\"")).collect();
        let connections = if per_object { "per_object" } else { "persistent" };
        let web = format!(
            "{{ request = \"{request} B\", page = \"7777 B\", objects = [{}], connections = \"{connections}\", \
             parallel = {parallel}, pipelining = {}, think = \"{think_ms} ms\" }}",
            list.join(", "), pipelining && !per_object,
        );
        let loss = format!("{loss} %");
        let changes = [("flow.0.app.web", web.as_str()), ("tcp", endpoints), ("wired.loss", &loss)];
        let text = LOSSY.replace("ue = \"each\"", "").replace("stagger = \"1 s\"", "");
        let results = run(&text, &changes, seed);
        prop_assert!(page(&results).page_load_s.is_some(), "{:?}", results.flows);
        prop_assert_eq!(page(&results).objects, objects.len() as u64);
        prop_assert_eq!(page(&results).requests, objects.len() as u64 + 1);
        let of_page = results.flows.iter().filter(|flow| flow.app == "web");
        let all = 7777 + objects.iter().sum::<u64>();
        prop_assert_eq!(of_page.clone().map(|flow| flow.bytes_received).sum::<u64>(), all);
        prop_assert_eq!(of_page.map(|flow| flow.bytes_acked).sum::<u64>(), all);
    }
}
