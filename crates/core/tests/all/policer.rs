//! A policer in front of a cell.

use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};

const LINK: &str = r#"
    duration = "30 s"
    tcp.profile = "linux"
    [wired]
    delay = "20 ms"
    [radio.dch]
    downlink = { rate = "20 Mbit/s", delay = "5 ms" }
    uplink = { rate = "20 Mbit/s", delay = "5 ms" }
    [[flow]]
"#;

const POLICER: &str = r#"[{ policer.downlink = { rate = "2 Mbit/s", burst = "20 kB" } }]"#;

fn run(overrides: &[(&str, &str)]) -> Results {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let mut simulation = Simulation::new(&Scenario::parse(LINK, &overrides).unwrap(), 1, Observe::default());
    simulation.run();
    simulation.results()
}

#[test]
fn of_twice_the_rate_half_arrives_and_without_delay() {
    let cbr = ("flow.0.app.cbr", r#"{ rate = "4 Mbit/s", size = "1000 B" }"#);
    let results = run(&[cbr, ("middlebox", POLICER)]);
    let report = results.flows[0].datagrams.as_ref().unwrap();
    let share = report.received as f64 / report.sent as f64;
    assert!((share - 0.5).abs() < 0.01, "{share}");
    assert!(report.delay_ms.max.unwrap() < 26.0, "{:?}", report.delay_ms);
    let dropped = results.elements.iter().find(|one| one["element"] == "middlebox.policer").unwrap();
    assert_eq!(dropped["downlink"]["dropped"], report.lost);
}

/// A bucket bounds what is in transit above the rate, as a queue does, and nobody waits in it. Where it holds less than the
/// path (31 kB at 5 Mbit/s and 50 ms), a window that CUBIC has reduced no longer fills the path; where it holds more, it does.
#[test]
fn cubic_gets_less_than_behind_a_queue_where_the_bucket_holds_less_than_the_path() {
    let goodput = |key: &str, value: &str, rate: &str| {
        let bulk =
            [("flow.0.app", "bulk"), ("duration", "60 s"), ("radio.dch.downlink.rate", rate), (key, value)];
        run(&bulk).flows[0].goodput_bps
    };
    let policed = |burst: &str| {
        let policer = format!(r#"[{{ policer.downlink = {{ rate = "5 Mbit/s", burst = "{burst}" }} }}]"#);
        goodput("middlebox", &policer, "50 Mbit/s")
    };
    let queued = goodput("radio.dch.downlink.queue.droptail.bytes", "20 kB", "5 Mbit/s");
    let (small, large) = (policed("20 kB"), policed("100 kB"));
    assert!(small < 0.85 * queued && large > 0.95 * queued, "{small} {large} {queued}");
}
