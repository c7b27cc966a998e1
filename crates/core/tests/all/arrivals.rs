//! Files that come and go: bounded memory, and what happens when connections run out. Messages, and flows that stop.
//! `tests/runs/test_arrivals.py` has the completion times of many files.

use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};

/// A link that shares its rate among flows: FQ-CoDel, whose target is out of reach.
const SHARED: &str = r#"
    duration = "1000000 s"
    tcp.profile = "linux"
    [wired]
    rate = "10 Mbit/s"
    delay = "0.2 ms"
    queue.fq_codel = { target = "10 s", interval = "100 s", packets = 10000, bytes = "absent" }
    [radio.dch]
    downlink = { rate = "1 Gbit/s", delay = "0.1 ms" }
    uplink = { rate = "1 Gbit/s", delay = "0.1 ms" }
    [[flow]]
"#;

fn simulation(text: &str, overrides: &[(&str, &str)], seed: u64) -> Simulation {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Simulation::new(&Scenario::parse(text, &overrides).unwrap(), seed, Observe::default())
}

fn run(text: &str, overrides: &[(&str, &str)]) -> Results {
    let mut simulation = simulation(text, overrides, 1);
    simulation.run();
    simulation.results()
}

/// Packets are made once and used again: five times as many files need as many at once.
#[test]
#[ignore = "slow"]
fn memory_does_not_grow_with_the_number_of_files() {
    let app = |count: u32| {
        format!(
            r#"{{ count = {count}, connections = 200, size.constant = "50 kB", interval.exponential.mean = "80 ms" }}"#
        )
    };
    let created = [300, 1_500].map(|count| {
        let mut simulation = simulation(SHARED, &[("flow.0.app.arrivals", &app(count))], 1);
        simulation.run();
        let transfers = simulation.flows()[0].transfers.clone().unwrap();
        assert_eq!((transfers.completed, simulation.flows().len()), (u64::from(count), 1));
        simulation.created()
    });
    assert!(created[1] < 2 * created[0] && created[1] < 5_000, "{created:?}");
}

#[test]
fn files_of_a_list_start_when_it_says_in_either_direction_and_with_a_handshake() {
    for direction in ["downlink", "uplink"] {
        for handshake in ["none", "three_way"] {
            let list = r#"{ trace.list = "0 s, 10 kB\n1 s, 20 kB\n2.5 s, 1 B", connections = 2 }"#;
            let results = run(
                SHARED,
                &[
                    ("flow.0.app.arrivals", list),
                    ("flow.0.direction", direction),
                    ("flow.0.start", "500 ms"),
                    ("tcp.handshake", handshake),
                ],
            );
            let flow = &results.flows[0];
            let transfers = flow.transfers.as_ref().unwrap();
            assert_eq!((transfers.started, transfers.completed), (3, 3), "{direction} {handshake}");
            assert_eq!((flow.bytes_acked, flow.bytes_received), (30_001, 30_001));
            assert!((3.0..3.1).contains(&results.simulated_s), "{direction}: {}", results.simulated_s);
            assert_eq!(flow.start_s, 0.5);
        }
    }
}

/// A file takes 0.83 s at least, and two connections are used again after 0.5 s on average.
#[test]
fn a_file_whose_connection_is_needed_again_is_abandoned_and_counted() {
    let list: String = (0..20).map(|n| format!("{} ms, 1 MB\\n", 250 * n)).collect();
    let app = format!(r#"{{ trace.list = "{list}", connections = 2 }}"#);
    let results = run(SHARED, &[("flow.0.app.arrivals", &app), ("duration", "60 s")]);
    let transfers = results.flows[0].transfers.as_ref().unwrap();
    assert_eq!((transfers.started, transfers.completed, transfers.abandoned), (20, 2, 18));
    assert!(results.complete && results.simulated_s < 10.0, "{}", results.simulated_s);
}

#[test]
fn the_same_seed_gives_the_same_files_and_further_flows_change_none() {
    let app = r#"{ count = 50, size.lognormal = { mean = "20 kB", sd = "40 kB" }, interval.exponential.mean = "50 ms" }"#;
    let bytes = |text: &str, seed| {
        let mut simulation = simulation(text, &[("flow.0.app.arrivals", app)], seed);
        simulation.run();
        simulation.flows()[0].bytes_received
    };
    let beside = format!("{SHARED}\n[[flow]]\napp.file.size = \"5 MB\"\n");
    assert_eq!(bytes(SHARED, 1), bytes(&beside, 1));
    assert_ne!(bytes(SHARED, 1), bytes(SHARED, 2));
}

#[test]
fn arrivals_end_with_stop_and_files_that_have_started_are_completed() {
    let app = r#"{ size.constant = "10 kB", interval.constant = "100 ms" }"#;
    let results =
        run(SHARED, &[("flow.0.app.arrivals", app), ("flow.0.stop", "1.05 s"), ("duration", "3 s")]);
    let transfers = results.flows[0].transfers.as_ref().unwrap();
    assert_eq!((transfers.started, transfers.completed), (11, 11));
}

#[test]
fn a_download_that_stops_repairs_what_it_has_sent_and_sends_nothing_more() {
    let results = run(SHARED, &[("flow.0.app", "bulk"), ("flow.0.stop", "2 s"), ("duration", "10 s")]);
    let flow = &results.flows[0];
    assert_eq!(flow.bytes_acked, flow.bytes_received);
    // 2 s at 9.65 Mbit/s of payload, and at most what waits in the buffer then.
    assert!((2.2e6..4.5e6).contains(&(flow.bytes_acked as f64)), "{}", flow.bytes_acked);
    let transfer_s = flow.transfer_s.unwrap();
    assert!((2.0..4.0).contains(&transfer_s), "{transfer_s}");
}

#[test]
fn datagrams_stop_too_and_answers_still_come() {
    let stop = ("flow.0.stop", "1 s");
    let cbr = run(
        SHARED,
        &[("flow.0.app.cbr", r#"{ size = "1000 B", rate = "80 kbit/s" }"#), stop, ("duration", "5 s")],
    );
    assert_eq!(cbr.flows[0].datagrams.as_ref().unwrap().sent, 10);
    let ping = run(SHARED, &[("flow.0.app.ping", r#"{ interval = "333 ms" }"#), stop, ("duration", "5 s")]);
    let report = ping.flows[0].datagrams.as_ref().unwrap();
    assert_eq!((report.sent, report.answers), (4, Some(4)));
}

/// 10 kB each 100 ms are 800 kbit/s, far below the link.
#[test]
fn messages_limit_tcp_to_their_rate_and_are_complete_after_a_round_trip() {
    let results = run(SHARED, &[("flow.0.app", "messages"), ("duration", "20 s")]);
    let flow = &results.flows[0];
    assert!((flow.goodput_bps - 800e3).abs() < 8e3, "{}", flow.goodput_bps);
    let transfers = flow.transfers.as_ref().unwrap();
    assert!(transfers.completed >= 199 && transfers.completion_ms.p99.unwrap() < 50.0, "{transfers:?}");
    let user = r#"{ after = "ack", size.constant = "1 MB", interval.exponential.mean = "2 s", count = 5 }"#;
    let of_user = &run(SHARED, &[("flow.0.app.messages", user), ("duration", "100 s")]).flows[0];
    let five = of_user.transfers.as_ref().unwrap();
    assert_eq!((five.started, five.completed, of_user.bytes_acked), (5, 5, 5_000_000));
}

/// The server's timer once lay before the SYN that let it send.
#[test]
fn messages_of_a_server_wait_for_the_connection() {
    let messages = r#"{ size.constant = "100 B", interval.constant = "7 ms" }"#;
    for handshake in ["ttcp", "three_way"] {
        let text = format!(
            "duration = \"3 s\"\nwired.delay = \"10 ms\"\ntcp.handshake = \"{handshake}\"\nradio.lte = {{}}
            flow = [{{ app.messages = {messages}, stop = \"9 ms\" }}, {{ app.messages = {messages} }}]"
        );
        let flow = &run(&text, &[]).flows[1];
        // What is missing was sent in the last round trip.
        assert!((42_000..=42_900).contains(&flow.bytes_received), "{handshake}: {}", flow.bytes_received);
    }
}

fn error(overrides: &[(&str, &str)]) -> String {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Scenario::parse(SHARED, &overrides).unwrap_err().to_string()
}

#[test]
fn impossible_arrivals_are_refused_with_the_key() {
    let cases = [
        (r#"{ interval.constant = "0 s" }"#, "flow[0].app.arrivals.interval"),
        (r#"{ connections = 0 }"#, "flow[0].app.arrivals.connections"),
        (r#"{ connections = 3 }"#, "flow[0].app.arrivals.connections"),
        (r#"{ count = 0 }"#, "flow[0].app.arrivals.count"),
        (
            r#"{ size.pareto = { shape = 0, min = "1 kB", max = "1 MB" } }"#,
            "flow[0].app.arrivals.size.pareto.shape",
        ),
        (
            r#"{ size.pareto = { shape = 1.2, min = "1 MB", max = "1 kB" } }"#,
            "flow[0].app.arrivals.size.pareto.max",
        ),
        (r#"{ trace.list = "1 s" }"#, "flow[0].app.arrivals.trace.list"),
        (r#"{ trace = {} }"#, "flow[0].app.arrivals.trace.list"),
    ];
    for (app, key) in cases {
        let error = error(&[("flow.0.app.arrivals", app)]);
        assert!(error.starts_with(key), "{app}: {error}");
    }
    let with_box = error(&[("flow.0.app", "arrivals"), ("middlebox", "[\"snoop\"]")]);
    assert!(with_box.starts_with("flow[0].app.arrivals.connections"), "{with_box}");
    let stop = error(&[("flow.0.start", "2 s"), ("flow.0.stop", "1 s")]);
    assert!(stop.starts_with("flow[0].stop"), "{stop}");
    assert!(error(&[("flow.0.app", "web"), ("flow.0.stop", "1 s")]).starts_with("flow[0].stop"));
}
