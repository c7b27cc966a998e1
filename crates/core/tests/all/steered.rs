//! A sender that a program steers: settings take effect, measurements agree with the flow's report, and steps change
//! nothing by themselves.

use airpath_core::scenario::Scenario;
use airpath_core::sim::steered::{COLUMNS, Progress, Row, Settings, Steered, StepLength};
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::Duration;

/// 1 Mbit/s in both directions, 20 ms each way, a long buffer.
const LINK: &str = r#"
duration = "20 s"
wired = { rate = "100 Mbit/s", delay = "20 ms" }
[radio.dch.downlink]
rate = "1 Mbit/s"
delay = "0 ms"
queue.droptail.packets = 400
[radio.dch.uplink]
rate = "1 Mbit/s"
delay = "0 ms"
"#;
const TCP: &str = r#"
[[flow]]
app = "bulk"
[flow.tcp]
profile = "linux"
cc = "constant"
"#;
const CALL: &str = "[[flow]]\napp.call.controller = \"fixed\"";
const EVERY: StepLength = StepLength { time: Duration::from_millis(100), reports: None };

fn scenario(flows: &str) -> Scenario {
    Scenario::parse(&format!("{LINK}{flows}"), &[]).unwrap()
}

fn at(row: &Row, name: &str) -> f64 {
    row[COLUMNS.iter().position(|column| *column == name).unwrap()]
}

fn steps(run: &mut Steered, count: usize, settings: Settings, length: StepLength) -> Vec<Row> {
    let step = |_| {
        let mut row = Row::default();
        run.step(settings, length, &mut row).unwrap();
        row
    };
    (0..count).map(step).collect()
}

fn window(segments: f64) -> Settings {
    Settings { window: Some(segments), rate: None }
}

fn rate(bps: f64) -> Settings {
    Settings { window: None, rate: Some(bps) }
}

fn sum(rows: &[Row], name: &str) -> f64 {
    rows.iter().map(|row| at(row, name)).sum()
}

#[test]
fn a_window_gives_its_rate_by_the_round_trip_time() {
    let mut run = Steered::new(&scenario(TCP), 1, 0).unwrap();
    steps(&mut run, 50, window(2.0), EVERY);
    let rows = steps(&mut run, 50, window(2.0), EVERY);
    // Two segments per round trip of 40 ms and some transmission times; delayed ACKs come for each second segment.
    let rtt_s = at(&rows[49], "rtt_s");
    assert!((0.05..0.08).contains(&rtt_s), "{rtt_s}");
    let goodput = sum(&rows, "acked_bytes") / 5.0;
    let expected = at(&rows[0], "window_bytes") / rtt_s;
    assert!((goodput / expected - 1.0).abs() < 0.05, "{goodput} B/s, {expected}");
    // Six times the window fills the link, of which headers take a share; the rest waits.
    steps(&mut run, 20, window(12.0), EVERY);
    let filled = steps(&mut run, 50, window(12.0), EVERY);
    let at_link = 8.0 * sum(&filled, "acked_bytes") / 5.0;
    assert!((0.95e6..0.98e6).contains(&at_link), "{at_link}");
    assert!(at(&filled[49], "rtt_s") > 0.1);
    assert_eq!(sum(&filled, "lost_bytes"), 0.0);
}

#[test]
fn a_pacing_rate_is_the_rate_of_the_payload() {
    let mut run = Steered::new(&scenario(TCP), 1, 0).unwrap();
    let both = Settings { window: Some(200.0), rate: Some(400e3) };
    steps(&mut run, 20, both, EVERY);
    let rows = steps(&mut run, 100, both, EVERY);
    let goodput = 8.0 * sum(&rows, "acked_bytes") / 10.0;
    assert!((goodput / 400e3 - 1.0).abs() < 0.02, "{goodput}");
    assert_eq!(at(&rows[0], "rate_bps"), 400e3);
}

#[test]
fn a_larger_window_is_used_at_once() {
    let mut run = Steered::new(&scenario(TCP), 1, 0).unwrap();
    steps(&mut run, 20, window(2.0), EVERY);
    // Without an ACK, and within a millisecond.
    let instant = StepLength { time: Duration::from_millis(1), reports: None };
    let before = run.simulation().flows()[0].clone();
    steps(&mut run, 1, window(30.0), instant);
    let after = run.simulation().flows()[0].clone();
    let sent = |flow: &airpath_core::host::FlowReport| flow.sender.segments_sent;
    assert!((27..=30).contains(&(sent(&after) - sent(&before))), "{} {}", sent(&before), sent(&after));
}

#[test]
fn a_call_has_the_rate_that_is_set() {
    let mut run = Steered::new(&scenario(CALL), 1, 0).unwrap();
    for bps in [200e3, 600e3] {
        steps(&mut run, 30, rate(bps), EVERY);
        let rows = steps(&mut run, 50, rate(bps), EVERY);
        let received = 8.0 * sum(&rows, "acked_bytes") / 5.0;
        assert!((received / bps - 1.0).abs() < 0.08, "{received} of {bps}");
        assert_eq!((at(&rows[0], "window_bytes"), at(&rows[0], "rate_bps")), (0.0, bps));
    }
    // Beyond the link's rate packets wait, and the round trip grows.
    let rows = steps(&mut run, 30, rate(1.5e6), EVERY);
    assert!(at(&rows[29], "rtt_s") > at(&rows[0], "rtt_s") + 0.5, "{:?}", rows[29]);
}

#[test]
fn steps_without_settings_are_the_run_without_steps() {
    for flows in [TCP, CALL] {
        let scenario = scenario(flows);
        let mut whole = Simulation::new(&scenario, 7, Observe::default());
        whole.run();
        for length in [EVERY, StepLength { time: Duration::from_secs(1), reports: Some(3) }] {
            let mut run = Steered::new(&scenario, 7, 0).unwrap();
            let mut row = Row::default();
            let mut acked = 0.0;
            while run.step(Settings::default(), length, &mut row).unwrap() == Progress::Goes {
                acked += at(&row, "acked_bytes");
            }
            acked += at(&row, "acked_bytes");
            let results = run.simulation().results();
            assert_eq!(results.to_json(), whole.results().to_json());
            if flows == TCP {
                assert_eq!(acked, results.flows[0].bytes_acked as f64);
            }
        }
    }
}

#[test]
fn a_step_ends_with_its_reports() {
    let mut run = Steered::new(&scenario(TCP), 1, 0).unwrap();
    let rows =
        steps(&mut run, 50, window(10.0), StepLength { time: Duration::from_secs(5), reports: Some(4) });
    for row in &rows {
        assert!((4.0..6.0).contains(&at(row, "reports")), "{row:?}");
    }
    assert!(rows.windows(2).any(|two| at(&two[0], "elapsed_s") != at(&two[1], "elapsed_s")));
}

#[test]
fn lost_bytes_are_those_that_the_link_dropped() {
    let text =
        format!("{LINK}{TCP}").replace("= 400", "= 10").replace("\"bulk\"", "{ file.size = \"300 kB\" }");
    let mut run = Steered::new(&Scenario::parse(&text, &[]).unwrap(), 1, 0).unwrap();
    let (mut lost, mut row) = (0.0, Row::default());
    let progress = loop {
        let progress = run.step(window(40.0), EVERY, &mut row).unwrap();
        lost += at(&row, "lost_bytes");
        if progress != Progress::Goes {
            break progress;
        }
    };
    assert_eq!(progress, Progress::Finished, "the file is acknowledged before the end");
    let flow = run.simulation().flows()[0].clone();
    let retransmitted = flow.sender.retransmissions.total;
    assert!(lost > 0.0 && retransmitted > 0);
    // 1448 bytes of payload in a packet with timestamps.
    assert_eq!(lost / 1448.0, retransmitted as f64);
}

#[test]
fn only_one_tcp_connection_or_a_call_can_be_steered() {
    let cases = [
        ("[[flow]]\napp = \"bulk\"", 0, "flow.0", "tcp.cc = \"constant\""),
        ("[[flow]]\napp = \"cbr\"", 0, "flow.0", "a call with controller"),
        (CALL, 1, "flow", "from 0 to 0"),
    ];
    for (flows, entry, path, hint) in cases {
        let error = Steered::new(&scenario(flows), 1, entry).err().unwrap();
        assert_eq!(error.path, path);
        assert!(error.hint.contains(hint), "{error:?}");
    }
}
