//! Adaptive streaming over TCP on a link: a simulated player agrees with a computation by hand, and adapts.

use airpath_core::app::adaptive_video::Report;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};

const LINK: &str = r#"
    duration = "120 s"
    tcp.profile = "linux"
    [wired]
    delay = "20 ms"
    [radio.dch]
    downlink = { rate = "4 Mbit/s", delay = "10 ms" }
    uplink = { rate = "4 Mbit/s", delay = "10 ms" }
    [[flow]]
"#;

fn play(app: &str, overrides: &[(&str, &str)]) -> Report {
    let mut all = vec![("flow.0.app.adaptive_video".to_owned(), app.to_owned())];
    all.extend(overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())));
    let mut simulation = Simulation::new(&Scenario::parse(LINK, &all).unwrap(), 1, Observe::default());
    simulation.run();
    simulation.flows()[0].video.clone().unwrap()
}

/// By hand: segments of 4 s at 1 Mbit/s are 500 kB, and take 1.03 s with headers at 4 Mbit/s, and slow start at first.
#[test]
fn one_level_takes_as_long_as_its_bytes() {
    let report = play(r#"{ ladder = ["1 Mbit/s"], segments = 20, buffer = "1000 s" }"#, &[]);
    assert_eq!(
        (report.segments, report.stalls, report.switches, report.mean_rate_bps),
        (20, 0, 0, Some(1e6))
    );
    let startup = report.startup_s.unwrap();
    assert!((1.03..1.8).contains(&startup), "{startup}");
    // 4 s at first, and 4 - 1.03 - 0.06 to 4 - 1.03 - 0.3 s more with each of 19 others.
    let mean = report.mean_buffer_s.unwrap();
    assert!((4.0 + 9.5 * 2.67..4.0 + 9.5 * 2.95).contains(&mean), "{mean}");
}

/// The player is computed at the server, which the UE connects to when the flow starts.
#[test]
fn times_of_a_player_count_from_the_start_of_its_flow() {
    let app = r#"{ ladder = ["1 Mbit/s"], segments = 20 }"#;
    let (at_once, later) = (play(app, &[]), play(app, &[("flow.0.start", "10 s")]));
    assert!((at_once.startup_s.unwrap() - later.startup_s.unwrap()).abs() < 1e-6, "{at_once:?} {later:?}");
    assert_eq!((later.stalls, later.stall_s), (0, 0.0));
}

#[test]
#[ignore = "slow"]
fn every_rule_plays_without_stalls_and_near_the_rate_of_the_link() {
    for rule in ["bba", "bola", "throughput"] {
        let report = play(&format!("{{ rule = \"{rule}\" }}"), &[("duration", "400 s")]);
        let mean = report.mean_rate_bps.unwrap() / 1e6;
        assert!(report.stalls == 0 && (2.0..3.9).contains(&mean), "{rule}: {report:?}");
        assert!(report.mean_buffer_s.unwrap() <= 30.0, "{rule}: {report:?}");
    }
}

#[test]
fn impossible_players_are_refused_with_the_key() {
    let cases = [
        (r#"{ ladder = [] }"#, "ladder"),
        (r#"{ ladder = ["2 Mbit/s", "1 Mbit/s"] }"#, "ladder"),
        (r#"{ ladder = ["0 bit/s", "1 Mbit/s"] }"#, "ladder"),
        (r#"{ segment = "1 ms" }"#, "segment"),
        (r#"{ buffer = "3 s" }"#, "buffer"),
        (r#"{ start_buffer = "40 s" }"#, "start_buffer"),
        (r#"{ segments = 0 }"#, "segments"),
        (r#"{ rule = "best" }"#, "rule"),
    ];
    for (app, key) in cases {
        let overrides = [("flow.0.app.adaptive_video".to_owned(), app.to_owned())];
        let error = Scenario::parse(LINK, &overrides).unwrap_err().to_string();
        assert!(error.starts_with(&format!("flow[0].app.adaptive_video.{key}")), "{app}: {error}");
    }
}
