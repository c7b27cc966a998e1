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
