//! Flows without TCP through whole paths: instants by hand, and nothing goes missing unaccounted.

use airpath_core::app::datagrams::Report;
use airpath_core::element::Capture;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};
use airpath_core::time::Instant;
use airpath_core::trace::{Event, Kind, ProbeMask};

/// 1 Mbit/s and 20 ms on the wire; 100 kbit/s down and 50 kbit/s up over the air, 5 ms each.
const IDEAL: &str = r#"
    duration = "10 s"
    [wired]
    rate = "1 Mbit/s"
    delay = "20 ms"
    [radio.dch]
    downlink = { rate = "100 kbit/s", delay = "5 ms" }
    uplink = { rate = "50 kbit/s", delay = "5 ms" }
    [[flow]]
"#;

fn run(text: &str, overrides: &[(&str, &str)]) -> (Results, Vec<(Instant, Event)>) {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let observe = Observe { probes: ProbeMask::NONE.with(Kind::Dropped), capture: Capture::Nothing };
    let mut simulation = Simulation::new(&Scenario::parse(text, &overrides).unwrap(), 1, observe);
    simulation.run();
    let trace = simulation.take_trace();
    (simulation.results(), trace)
}

fn datagrams(results: &Results, flow: usize) -> &Report {
    results.flows[flow].datagrams.as_ref().unwrap()
}

fn near(value: Option<f64>, expected: f64) {
    let value = value.unwrap();
    assert!((value - expected).abs() < 1e-6, "{value}, not {expected}");
}

#[test]
fn every_request_is_answered_after_the_sum_of_all_delays() {
    // 125 B: 1 ms on the wire, 10 ms down, 20 ms up; 250 B up: 40 ms and 2 ms.
    let ping = r#"{ request = "125 B", answer = "250 B", interval = "1 s" }"#;
    let (results, _) = run(IDEAL, &[("flow.0.app.ping", ping), ("flow.0.start", "500 ms")]);
    let (flow, report) = (&results.flows[0], datagrams(&results, 0));
    // Requests at 0.5, 1.5 ... 9.5 s.
    assert_eq!((report.sent, report.received, report.answers, report.lost), (10, 10, Some(10), 0));
    near(report.delay_ms.mean, 1.0 + 20.0 + 10.0 + 5.0);
    assert_eq!(report.jitter_ms, Some(0.0));
    near(flow.sender.rtt_ms.mean, 36.0 + 40.0 + 5.0 + 2.0 + 20.0);
    assert_eq!((flow.sender.rtt_ms.samples, flow.sender.rtt_ms.min), (10, flow.sender.rtt_ms.max));
    assert_eq!((flow.app, flow.bytes_received, flow.transfer_s), ("ping", 10 * (125 - 28), None));
}

#[test]
fn a_ue_can_ask_as_well() {
    let ping = r#"{ request = "125 B", answer = "125 B", requests = 3 }"#;
    let (results, _) = run(IDEAL, &[("flow.0.app.ping", ping), ("flow.0.direction", "uplink")]);
    assert_eq!((datagrams(&results, 0).sent, datagrams(&results, 0).answers), (3, Some(3)));
    near(datagrams(&results, 0).delay_ms.max, 20.0 + 5.0 + 1.0 + 20.0);
    near(results.flows[0].sender.rtt_ms.min, 46.0 + 36.0);
}

#[test]
fn packets_at_a_constant_rate_leave_at_equal_distances() {
    // 125 B at 40 kbit/s: every 25 ms, at 0 to 9.975 s; the last two are in flight for 36 ms at the end.
    let cbr = r#"{ size = "125 B", rate = "40 kbit/s" }"#;
    let (results, _) = run(IDEAL, &[("flow.0.app.cbr", cbr)]);
    let report = datagrams(&results, 0);
    assert_eq!((report.sent, report.received, report.lost, report.answers), (401, 399, 0, None));
    near(report.delay_ms.min, 36.0);
    near(report.delay_ms.max, 36.0);
    near(Some(results.flows[0].goodput_bps), 399.0 * 97.0 * 8.0 / 10.0);
}

#[test]
fn a_queue_that_grows_makes_every_packet_wait_longer_than_the_last() {
    // 125 B every 8 ms where each takes 10 ms: packet n waits 2 n ms. Jitter tends to the step of 2 ms.
    let cbr = r#"{ size = "125 B", rate = "125 kbit/s", packets = 200 }"#;
    let (results, _) = run(IDEAL, &[("flow.0.app.cbr", cbr)]);
    let report = datagrams(&results, 0);
    assert_eq!((report.sent, report.received), (200, 200));
    near(report.delay_ms.min, 36.0);
    near(report.delay_ms.mean, 36.0 + 199.0);
    near(report.delay_ms.max, 36.0 + 398.0);
    // 2 * (1 - (15/16)^199).
    assert!((report.jitter_ms.unwrap() - 2.0).abs() < 1e-4);
}

#[test]
fn bursts_leave_at_their_times() {
    // Packets of 10 ms at 0, 10 and 20 ms of every tenth of a second; one more at the very end.
    let on_off = r#"{ size = "125 B", rate = "100 kbit/s", on = "25 ms", off = "75 ms", times = "fixed" }"#;
    let (results, _) = run(IDEAL, &[("flow.0.app.on_off", on_off)]);
    let report = datagrams(&results, 0);
    assert_eq!((report.sent, report.received, report.lost), (301, 300, 0));
    near(report.delay_ms.max, 36.0);
}

/// Common random numbers: what a flow sends is its own affair.
#[test]
fn bursts_do_not_depend_on_the_path_or_on_other_flows() {
    let sent = |overrides: &[(&str, &str)]| {
        let (results, _) = run(BUSY, &[&[("flow.0.app.on_off", "{}")], overrides].concat());
        let report = datagrams(&results, 0);
        (report.sent, report.received)
    };
    let (busy, alone) =
        (sent(&[]), sent(&[("wired.loss", "0 %"), ("flow.2.app", "{ file = { size = \"1 kB\" } }")]));
    assert_eq!(busy.0, alone.0);
    assert!(busy.1 < alone.1);
    // Half of the time on: 20 packets per second on average.
    assert!((400..800).contains(&busy.0), "{busy:?}");
}

/// Both kinds and a download through losses and a full buffer.
const BUSY: &str = r#"
    duration = "30 s"
    [wired]
    delay = "30 ms"
    loss = "5 %"
    [radio.dch.downlink]
    rate = "128 kbit/s"
    queue.droptail.packets = 10
    rlc.fixed_delay_arq = {}
    channel.bernoulli.bler = "20 %"
    [radio.dch.uplink]
    rate = "64 kbit/s"
    [[flow]]
    app.cbr = { rate = "100 kbit/s", packets = 1000 }
    [[flow]]
    app.ping = { interval = "200 ms", requests = 100 }
    [[flow]]
    app.bulk = {}
    [[flow]]
    direction = "uplink"
    app.cbr = { size = "300 B", rate = "20 kbit/s", packets = 200 }
"#;

#[test]
fn everything_sent_is_received_or_dropped() {
    let (results, trace) = run(BUSY, &[]);
    let dropped = |wanted: u16| {
        let is_of = |event: &Event| matches!(event, Event::Dropped { flow, .. } if *flow == wanted);
        trace.iter().filter(|(_, event)| is_of(event)).count() as u64
    };
    for (flow, sent) in [(0, 1000), (3, 200)] {
        let report = datagrams(&results, flow);
        assert!(dropped(flow as u16) > 0, "nothing was lost, so nothing is shown");
        assert_eq!((report.sent, report.received + dropped(flow as u16)), (sent, sent), "flow {flow}");
        assert!(report.lost <= dropped(flow as u16) && report.jitter_ms.unwrap() > 0.0);
    }
    let ping = datagrams(&results, 1);
    let answers = ping.answers.unwrap();
    assert_eq!(ping.sent, 100);
    assert_eq!((ping.sent - ping.received) + (ping.received - answers), dropped(1));
    assert_eq!(results.flows[1].sender.rtt_ms.samples, answers);
    assert!(results.flows[2].datagrams.is_none() && results.flows[2].bytes_acked > 0);
}

const ENDS_IN_LOSS: &str = r#"
    duration = "30 s"
    [radio.variable.downlink]
    channel.series.rows = "time_s,rate_kbps,delay_ms,loss\n0,1000,10,0\n5,1000,10,1\n"
    [radio.variable.uplink]
    channel.distribution.rate.constant = "1 Mbit/s"
    [[flow]]
    app.cbr = { packets = 100, rate = "16 kbit/s", size = "200 B" }
"#;

/// One packet each 100 ms; the link loses what it ends to send from 5 s on: half of all, and no later one arrives.
#[test]
fn what_is_lost_at_the_end_is_lost() {
    let (results, _) = run(ENDS_IN_LOSS, &[]);
    let report = datagrams(&results, 0);
    assert_eq!((report.sent, report.received, report.lost), (100, 50, 50));
    // All of them.
    let from_zero = "time_s,rate_kbps,delay_ms,loss\n0,1000,10,1\n";
    let rows = ("radio.variable.downlink.channel.series.rows", from_zero);
    let (all_lost, _) = run(ENDS_IN_LOSS, &[rows]);
    let nothing = datagrams(&all_lost, 0);
    assert_eq!((nothing.sent, nothing.received, nothing.lost), (100, 0, 100));
}

/// A network that sends each packet twice delivers each once: goodput, loss and delay are those without copies.
#[test]
fn duplicates_are_counted_apart() {
    let cbr = r#"{ size = "125 B", rate = "40 kbit/s", packets = 300 }"#;
    let doubled = ("middlebox", r#"[{ disturb = { downlink.duplicate = "100 %" } }]"#);
    let lossy = ("wired.loss", "10 %");
    for overrides in [vec![], vec![lossy]] {
        let flow = ("flow.0.app.cbr", cbr);
        let (alone, _) = run(IDEAL, &[&[flow], &overrides[..]].concat());
        let (twice, _) = run(IDEAL, &[&[flow, doubled], &overrides[..]].concat());
        let (alone, copied) = (datagrams(&alone, 0), datagrams(&twice, 0));
        assert_eq!((copied.sent, copied.received, copied.lost), (300, alone.received, alone.lost));
        assert_eq!(copied.received + copied.lost, 300);
        assert_eq!((copied.duplicates, copied.out_of_order), (copied.received, 0));
        near(Some(twice.flows[0].goodput_bps), copied.received as f64 * 97.0 * 8.0 / 10.0);
    }
    // A request and its answer are duplicated on their paths: each is answered once.
    let ping = ("flow.0.app.ping", r#"{ request = "125 B", answer = "125 B", requests = 10 }"#);
    let (results, _) = run(IDEAL, &[ping, doubled]);
    let report = datagrams(&results, 0);
    assert_eq!((report.sent, report.received, report.duplicates, report.answers), (10, 10, 10, Some(10)));
}

#[test]
fn the_same_seed_gives_the_same_results() {
    assert_eq!(run(BUSY, &[]).0.to_json(), run(BUSY, &[]).0.to_json());
}

#[test]
fn results_of_tcp_do_not_speak_of_datagrams() {
    let (results, _) = run(BUSY, &[("duration", "1 s")]);
    let flows = serde_json::to_value(&results.flows).unwrap();
    assert!(flows[2].get("datagrams").is_none());
    let datagrams = flows[0]["datagrams"].as_object().unwrap();
    let keys: Vec<&str> = datagrams.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        ["sent", "received", "lost", "out_of_order", "duplicates", "answers", "delay_ms", "jitter_ms"]
    );
}
