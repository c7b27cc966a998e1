//! Early delivery changes no result: the same run is made at once, in steps, and with a probe that records nothing but
//! makes every packet wait for its time.

use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Kind, ProbeMask};
use serde_json::Value;

fn results(scenario: &Scenario, step: Duration, end: Instant, probes: ProbeMask) -> String {
    let mut simulation = Simulation::new(scenario, 1, Observe { probes, ..Observe::default() });
    let mut until = Instant::ZERO + step;
    while !simulation.advance_to(until.min(end)) && until < end {
        until += step;
    }
    simulation.results().to_json()
}

fn assert_exact(name: &str, scenario: &Scenario, whole: Duration) {
    let end = Instant::ZERO + whole;
    let in_time = results(scenario, whole, end, ProbeMask::NONE.with(Kind::Outage));
    for step in [whole, Duration::from_millis(137)] {
        assert!(results(scenario, step, end, ProbeMask::NONE) == in_time, "{name} in steps of {step:?}");
    }
}

/// Three UEs on dedicated channels that send packets whole, on bearers whose delay varies, and in a cell of 1xEV-DO.
const CELLS: [&str; 3] = [
    r#"
    wired = { rate = "2 Mbit/s", delay = "30 ms", queue.droptail.packets = 30 }
    [radio.dch]
    ues = 3
    downlink = { rate = "384 kbit/s", delay = "60 ms", queue.droptail.packets = 20 }
    uplink = { rate = "64 kbit/s", delay = "60 ms" }
    "#,
    r#"
    wired = { rate = "2 Mbit/s", delay = "1 ms" }
    [radio.variable]
    ues = 3
    downlink.channel.distribution = { rate.constant = "200 kbit/s", delay.exponential.mean = "100 ms" }
    uplink.channel.distribution = { rate.constant = "64 kbit/s", delay.exponential.mean = "30 ms", order = "free" }
    "#,
    r#"
    wired = { rate = "10 Mbit/s", delay = "1 ms" }
    [radio.evdo]
    ues = 3
    downlink.delay.uniform = { mean = "75 ms", sd = "30 ms" }
    "#,
];

/// Flows of each UE that begin at the same instant: unlimited, finite, bidirectional, pages, and datagrams with timers
/// at the UE; TCP alongside the latter.
const FLOWS: [&str; 6] = [
    "[[flow]]\nue = \"each\"\napp.bulk = {}",
    "[[flow]]\nue = \"each\"\napp.file.size = \"100 kB\"",
    "[[flow]]\nue = \"each\"\napp.file.size = \"100 kB\"
     [[flow]]\nue = 1\ndirection = \"uplink\"\napp.file.size = \"20 kB\"",
    "[[flow]]\nue = \"each\"\napp.web = {}\n[[flow]]\nue = 1\napp.bulk = {}",
    "[[flow]]\nue = \"each\"\napp.ping = {}\n[[flow]]\nue = \"each\"\ndirection = \"uplink\"\napp.bulk = {}",
    "[[flow]]\nue = \"each\"\napp.cbr = {}\n[[flow]]\nue = \"each\"\napp.bulk = {}",
];

/// TCP's acknowledgment and recovery, and the middleboxes.
const SET: [&[(&str, &str)]; 8] = [
    &[],
    &[("tcp.profile", "linux"), ("wired.loss", "1 %")],
    &[("tcp.profile", "linux"), ("tcp.cc", "bbr"), ("wired.loss", "1 %")],
    &[("tcp.ack_every", "1"), ("tcp.handshake", "none"), ("tcp.max_window", "3")],
    &[("wired.delay", "0 s"), ("wired.loss", "5 %"), ("tcp.sack", "true"), ("tcp.recovery", "{ sack = {} }")],
    &[("middlebox", "[{ tap = {} }, { packet_loss.downlink.loss = \"2 %\" }]")],
    &[("middlebox", "[{ disturb.downlink = { loss = \"1 %\", duplicate = \"2 %\", reorder = \"2 %\" } }]")],
    &[("middlebox", "[{ snoop = {} }]"), ("wired.loss", "1 %")],
];

#[test]
#[ignore = "slow"]
fn the_same_of_every_kind_of_flow_through_anything_that_hands_on_ahead_of_time() {
    for (number, cell) in CELLS.iter().enumerate() {
        for flows in FLOWS {
            for set in SET {
                let set: Vec<_> =
                    set.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
                let scenario = Scenario::parse(&format!("{cell}{flows}"), &set).unwrap();
                assert_exact(&format!("cell {number}, {flows}, {set:?}"), &scenario, Duration::from_secs(12));
            }
        }
    }
}

/// Results after each step, without the reports of taps.
fn steps(scenario: &Scenario, seed: u64) -> Vec<Value> {
    let mut simulation = Simulation::new(scenario, seed, Observe::default());
    let mut found = Vec::new();
    for step in 1..=24 {
        simulation.advance_to(Instant::ZERO + Duration::from_millis(step * 250));
        let mut results = serde_json::to_value(simulation.results()).unwrap();
        let elements = results["elements"].as_array_mut().unwrap();
        elements.retain(|report| report["element"] != "middlebox.tap");
        found.push(results);
    }
    found
}

#[test]
#[ignore = "slow"]
fn a_link_and_the_cell_as_one_element_do_what_they_do_with_a_box_between_them() {
    let drops = ("radio.dch.downlink.queue.droptail.packets", "3");
    let red = ("radio.dch.downlink.queue", "\"red\"");
    let sets: [&[(&str, &str)]; 6] = [
        &[],
        &[("radio.dch.ues", "1"), ("tcp.ack_every", "1")],
        &[("radio.dch.ues", "1"), ("wired.loss", "2 %"), drops],
        &[("wired.queue", "\"red\""), red, ("wired.rate", "500 kbit/s")],
        &[("wired.queue.droptail.packets", "4"), ("wired.uplink", "{ loss = \"1 %\", delay = \"7 ms\" }")],
        &[("wired", "{}"), ("tcp.profile", "linux"), drops],
    ];
    for (flows, set) in FLOWS.iter().flat_map(|flows| sets.map(|set| (flows, set))) {
        let one_ue = set.contains(&("radio.dch.ues", "1"));
        let flows = if one_ue { flows.replace("ue = 1", "ue = 0") } else { flows.to_string() };
        let text = format!("{}{flows}", CELLS[0]);
        let mut set: Vec<_> = set.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let joined = Scenario::parse(&text, &set).unwrap();
        set.push(("middlebox".to_owned(), "[{ tap = {} }]".to_owned()));
        let apart = Scenario::parse(&text, &set).unwrap();
        for seed in 1..=2 {
            for (one, two) in steps(&joined, seed).iter().zip(&steps(&apart, seed)) {
                assert_eq!(one, two, "{flows}, {set:?}");
            }
        }
    }
}
