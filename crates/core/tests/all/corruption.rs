//! Corrupted packets: hosts drop them, count them, and endpoints repair what can be repaired.

use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};

fn run(flow: &str) -> Results {
    let text = format!(
        "duration = \"60 s\"\n[wired]\ndelay = \"20 ms\"\n[radio.dch]\ndownlink = {{ rate = \"2 Mbit/s\", delay = \"5 ms\" }}\n\
         uplink = {{ rate = \"1 Mbit/s\", delay = \"5 ms\" }}\n[[middlebox]]\n\
         [middlebox.disturb]\ndownlink.corrupt = \"5 %\"\nuplink.corrupt = \"5 %\"\n[[flow]]\n{flow}"
    );
    let mut simulation = Simulation::new(&Scenario::parse(&text, &[]).unwrap(), 1, Observe::default());
    simulation.run();
    simulation.results()
}

fn corrupted(results: &Results, dir: &str) -> u64 {
    let of = |element: &&serde_json::Value| element["element"] == "middlebox.disturb";
    results.elements.iter().find(of).unwrap()[dir]["corrupted"].as_u64().unwrap()
}

#[test]
fn tcp_and_quic_repair_what_was_corrupted() {
    for flow in ["app.file.size = \"500 kB\"", "app.web = { http = \"3\", objects = 40 }"] {
        let results = run(flow);
        assert!(results.flows[0].received_s.is_some(), "{flow}");
        assert!(corrupted(&results, "downlink") > 5 && corrupted(&results, "uplink") > 0, "{flow}");
    }
}

#[test]
fn a_corrupted_datagram_is_lost() {
    let results = run("app.cbr = { rate = \"500 kbit/s\", size = \"1000 B\" }");
    let datagrams = results.flows[0].datagrams.as_ref().unwrap();
    assert_eq!(datagrams.lost, corrupted(&results, "downlink"));
    // 5 % of 62.5 packets a second for a minute.
    assert!((130..260).contains(&datagrams.lost), "{}", datagrams.lost);
}
