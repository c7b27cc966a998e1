//! What shared cells do to TCP.

use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::trace::{Event, Kind, ProbeMask};
use serde_json::Value;

fn run(text: &str, probes: ProbeMask) -> Simulation {
    let scenario = Scenario::parse(text, &[]).unwrap();
    let mut simulation = Simulation::new(&scenario, 1, Observe { probes, ..Observe::default() });
    simulation.run();
    simulation
}

/// Acceptance test 12: RLC forwards what was not confirmed, so that TCP sees a delay and nothing else.
#[test]
fn a_hand_over_with_forwarding_costs_tcp_nothing_but_time() {
    let text = r#"
        duration = "10 s"
        tcp.profile = "linux"
        [wired]
        rate = "1 Gbit/s"
        delay = "10 ms"
        [radio.lte.downlink]
        reception = { mean_sinr = "15 dB", fading.none = {} }
        harq.bler = ["10 %", 0]
        [[handover]]
        at = "2 s"
        outage = "40 ms"
        warning = "0 ms"
        [[handover]]
        at = "4 s"
        outage = "40 ms"
        warning = "0 ms"
        [[flow]]
        app.file.size = "20 MB"
    "#;
    let results = run(text, ProbeMask::NONE).results();
    let flow = serde_json::to_value(&results.flows[0]).unwrap();
    assert_eq!(
        (&flow["retransmissions"]["total"], &flow["timeouts"]),
        (&Value::from(0), &Value::from(0)),
        "{flow}"
    );
    assert!(flow["transfer_s"].as_f64().is_some_and(|seconds| seconds > 4.0 && seconds < 9.0), "{flow}");
}

/// Acceptance test 11: the ACKs of a cycle of request and grant leave together. At 30 Mbit/s a cycle of about 10 ms brings
/// some 25 packets, and an ACK for every second one.
#[test]
fn grants_bunch_acks() {
    let text = r#"
        duration = "10 s"
        tcp = { ack_every = 2, receive_buffer = "1 MB", window_scaling = true }
        [wired]
        rate = "30 Mbit/s"
        delay = "10 ms"
        [radio.lte.downlink]
        blocks.bandwidth = "20 MHz"
        reception = { mean_sinr = "20 dB", fading.none = {} }
        harq.bler = [0]
        [radio.lte.uplink]
        interval = "10 ms"
        [[flow]]
    "#;
    let mut simulation = run(text, ProbeMask::NONE.with(Kind::Packet));
    let mut bursts: Vec<u32> = Vec::new();
    let mut last = None;
    for (at, event) in simulation.take_trace() {
        let Event::Packet { direction, element, .. } = event else { continue };
        // From the cell into the wire.
        if direction.name() != "uplink" || element != 1 || at.as_nanos() < 5_000_000_000 {
            continue;
        }
        match bursts.last_mut() {
            Some(burst) if last == Some(at) => *burst += 1,
            _ => bursts.push(1),
        }
        last = Some(at);
    }
    let acks: u32 = bursts.iter().sum();
    let mean = f64::from(acks) / bursts.len() as f64;
    assert!(acks > 5000 && mean >= 10.0, "{acks} ACKs in {} bursts", bursts.len());
}
