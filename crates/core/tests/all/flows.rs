//! Whole runs with several flows in both directions: everything arrives, whatever lies between.

use airpath_core::element::Capture;
use airpath_core::packet::Dir;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};
use airpath_core::trace::{Event, Kind, ProbeMask};

/// Two UEs with a download and an upload each, over a lossy wire, a small buffer and a bearer that
/// loses blocks in both directions.
const BUSY: &str = r#"
    duration = "20 min"
    [wired]
    rate = "2 Mbit/s"
    delay = "40 ms"
    loss = "0.5 %"
    [[middlebox]]
    tap = {}
    [radio.dch]
    ues = 2
    [radio.dch.downlink]
    queue.droptail.packets = 20
    rlc.fixed_delay_arq.delivery = "out_of_sequence"
    channel.bernoulli.bler = "10 %"
    [radio.dch.uplink]
    rate = "128 kbit/s"
    delay = "10 ms"
    rlc.fixed_delay_arq.pdu = "40 B"
    channel.bernoulli.bler = "5 %"
    [[flow]]
    ue = "each"
    stagger = "700 ms"
    app.file.size = "200 kB"
    [[flow]]
    ue = "each"
    direction = "uplink"
    start = "1 s"
    app.file.size = "99999 B"
"#;

fn build(text: &str, overrides: &[(&str, &str)], seed: u64, observe: Observe) -> Simulation {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Simulation::new(&Scenario::parse(text, &overrides).unwrap(), seed, observe)
}

fn run(text: &str, overrides: &[(&str, &str)], seed: u64) -> Results {
    let mut simulation = build(text, overrides, seed, Observe::default());
    simulation.run();
    simulation.results()
}

#[test]
fn every_flow_of_every_ue_arrives_whole_in_either_direction() {
    let variants: [&[(&str, &str)]; 13] = [
        &[],
        &[("flow.0.encrypted", "true")],
        &[("tcp.ip", "ipv6"), ("tcp.timestamps", "true")],
        &[("tcp.handshake", "none"), ("tcp.initial_window", "1"), ("tcp.ack_every", "1")],
        &[("tcp.recovery.reno", "{}"), ("tcp.window_arithmetic", "ns2"), ("tcp.rto.tick", "100 ms")],
        &[("tcp.rtt_sampling", "one_per_window"), ("tcp.initial_sequence", "4294900000")],
        &[("tcp.mss", "200 B"), ("tcp.receive_buffer", "1 MB"), ("tcp.max_window", "30")],
        &[("tcp.sack", "true"), ("tcp.recovery.sack", "{}"), ("tcp.undo.dsack", "{}")],
        &[("tcp.recovery.tahoe", "{}"), ("tcp.undo.frto", "{}"), ("tcp.loss_window", "2")],
        &[("tcp.timestamps", "true"), ("tcp.undo.eifel", "{}"), ("tcp.adaptive_dupack_threshold", "true")],
        &[("tcp.handshake", "ttcp"), ("tcp.initial_sequence", "4294967295")],
        &[
            ("tcp.handshake", "ttcp"),
            ("tcp.sack", "true"),
            ("tcp.recovery.sack", "{}"),
            ("tcp.undo.frto", "{}"),
        ],
        &[("tcp.rto.timer", "eifel_timer"), ("tcp.timestamps", "true")],
    ];
    for (seed, overrides) in (1..).zip(variants) {
        let results = run(BUSY, overrides, seed);
        assert!(results.complete && results.flows.len() == 4, "{overrides:?}");
        for flow in &results.flows {
            let size = if flow.direction == Dir::Downlink { 200_000 } else { 99_999 };
            assert_eq!((flow.bytes_acked, flow.bytes_received), (size, size), "{overrides:?}: {flow:?}");
            assert!(flow.transfer_s.unwrap() > 5.0 && flow.sender.rtt_ms.min.unwrap() >= 80.0, "{flow:?}");
        }
        let lost: u64 = results.flows.iter().map(|flow| flow.sender.retransmissions.total).sum();
        assert!(lost > 0, "nothing was lost, so nothing was shown: {overrides:?}");
    }
}

/// Common random numbers: the n-th block of a bearer has the same outcome for every sender.
#[test]
fn a_channel_keeps_its_losses_when_the_tcp_is_exchanged() {
    let outcomes = |overrides: &[(&str, &str)]| -> Vec<u32> {
        let probes = ProbeMask::NONE.with(Kind::SlotEnded);
        let mut simulation = build(BUSY, overrides, 5, Observe { probes, capture: Capture::Nothing });
        simulation.run();
        let events = simulation.take_trace().into_iter();
        let of_first_downlink = |(_, event)| match event {
            Event::SlotEnded { ue: 0, direction: Dir::Downlink, pdus_lost, .. } => Some(pdus_lost),
            _ => None,
        };
        events.filter_map(of_first_downlink).collect()
    };
    let newreno = outcomes(&[]);
    let reno = outcomes(&[("tcp.recovery.reno", "{}"), ("tcp.initial_window", "2"), ("tcp.mss", "700 B")]);
    let both = newreno.len().min(reno.len());
    assert!(both > 200 && newreno.len() != reno.len(), "{} and {} slots", newreno.len(), reno.len());
    assert_eq!(newreno[..both], reno[..both]);
    assert!(newreno.contains(&1) && newreno.contains(&0));
}

#[test]
fn a_run_ends_at_its_duration_and_says_whether_transfers_are_complete() {
    let results = run(BUSY, &[("duration", "2 s")], 1);
    assert_eq!(results.simulated_s, 2.0);
    assert!(results.complete && results.flows.iter().all(|flow| flow.transfer_s.is_none()));
    assert!(results.flows.iter().any(|flow| flow.bytes_acked > 0));
}

#[test]
fn a_run_of_endless_flows_is_done_by_time_alone() {
    let text = "duration = \"60 s\"\nflow = [{ app.bulk = {} }, { app.file.size = \"10 kB\" }]\n";
    let mut simulation = Simulation::new(&Scenario::parse(text, &[]).unwrap(), 1, Observe::default());
    simulation.advance_to(airpath_core::time::Instant::from_nanos(6_000_000_000));
    assert!((simulation.progress() - 0.1).abs() < 1e-9, "{}", simulation.progress());
}
