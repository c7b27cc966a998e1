//! Downloads with `tcp.profile = "linux"` compared with the kernel's: Linux 6.18 with CUBIC over the same path, 20 live
//! runs of each scenario (`airpath compare`). The kernel's figures are the minimum and maximum of its runs.

use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::trace::{Event, Kind, ProbeMask};
use std::ops::RangeInclusive;

/// 5 ms of wire, and a bearer of this rate and delay.
fn link(rate: &str, delay: &str, packets: u32) -> String {
    format!(
        "wired = {{ rate = \"1 Gbit/s\", delay = \"5 ms\" }}\ntcp.profile = \"linux\"\n[radio.variable.downlink]\n\
         delay = \"{delay}\"\nchannel.distribution.rate.constant = \"{rate}\"\nqueue.droptail.packets = {packets}\n\
         [radio.variable.uplink]\nchannel.distribution.rate.constant = \"10 Mbit/s\"\n\
         channel.distribution.delay.constant = \"{delay}\"\n[[flow]]\napp.bulk = {{}}\n"
    )
}

/// What a simulated download gave, on average over five seeds: goodput in kbit/s, retransmissions, recoveries undone.
#[derive(Debug, Default)]
struct Mean {
    goodput_kbps: f64,
    retransmissions: f64,
    undone: f64,
}

fn mean(text: &str, overrides: &[(&str, &str)]) -> Mean {
    const SEEDS: u64 = 5;
    let owned: Vec<_> = overrides.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect();
    let scenario = Scenario::parse(text, &owned).unwrap();
    let mut mean = Mean::default();
    for seed in 1..=SEEDS {
        let mut simulation = Simulation::new(&scenario, seed, Observe::default());
        simulation.run();
        let results = simulation.results();
        let flow = &results.flows[0];
        let part = 1.0 / SEEDS as f64;
        mean.goodput_kbps += part * flow.goodput_bps / 1e3;
        mean.retransmissions += part * flow.sender.retransmissions.total as f64;
        mean.undone += part * flow.sender.spurious_fast_retransmits as f64;
    }
    mean
}

fn within(value: f64, kernel: &RangeInclusive<f64>, what: &Mean) {
    assert!(kernel.contains(&value), "{value} of {what:?}, and {kernel:?} in the kernel");
}

/// RFC 3708 (3): reports of segments that were not retransmitted show that the network duplicates packets. The kernel has
/// 1740 +- 91 kbit/s and 43 +- 2 retransmissions.
#[test]
fn a_network_that_duplicates_packets_does_not_undo_recoveries() {
    let disturbed = [
        ("duration", "30 s"),
        (
            "middlebox",
            "[{ packet_loss = { downlink.loss = \"1 %\" } }, { disturb = { downlink.duplicate = \"5 %\" } }]",
        ),
    ];
    let mean = mean(&link("10 Mbit/s", "40 ms", 200), &disturbed);
    within(mean.goodput_kbps, &(1484.0..=2116.0), &mean);
    assert!(mean.undone <= 1.0, "{mean:?}");
}

/// 2 % of the packets are held for a third of the round-trip time. The kernel has 54 +- 4 retransmissions and 9543 +- 9
/// kbit/s.
#[test]
#[ignore = "slow"]
fn packets_held_for_a_third_of_a_round_trip_are_soon_known_to_be_reordered() {
    let disturbed = [
        ("duration", "30 s"),
        ("middlebox", "[{ disturb = { downlink.reorder = \"2 %\", downlink.hold = \"30 ms\" } }]"),
    ];
    let mean = mean(&link("10 Mbit/s", "40 ms", 200), &disturbed);
    within(mean.retransmissions, &(41.0..=77.0), &mean);
    within(mean.goodput_kbps, &(9472.0..=9560.0), &mean);
}

/// Delays that vary by half a millisecond; the kernel has 1074 +- 43 kbit/s and 35 +- 1 retransmissions. Without
/// variation packets arrive exactly when others leave.
#[test]
fn a_buffer_of_three_packets_loses_what_the_kernel_loses_where_the_delay_varies() {
    let varied = [
        ("duration", "20 s"),
        (
            "radio.variable.uplink",
            "{ channel.distribution.delay.uniform = { mean = \"40 ms\", sd = \"0.5 ms\" } }",
        ),
    ];
    let mean = mean(&link("5 Mbit/s", "40 ms", 3), &varied);
    within(mean.goodput_kbps, &(909.0..=1227.0), &mean);
}

/// Over 20 Mbit/s and 100 ms, the kernel's ACK train ends slow start at 490 segments where it paces
/// (`SO_MAX_PACING_RATE`), and at 245 or 246 where it does not: `tcp_info`, ten runs of each without one outlier.
#[test]
fn hystart_lets_a_train_of_acks_last_twice_as_long_where_the_sender_paces() {
    for (pacing, kernel) in [("true", 490_u32), ("false", 246)] {
        let overrides = [("duration".into(), "3 s".into()), ("tcp.pacing".into(), pacing.into())];
        let scenario = Scenario::parse(&link("20 Mbit/s", "45 ms", 600), &overrides).unwrap();
        let observe = Observe { probes: ProbeMask::NONE.with(Kind::TcpState), ..Observe::default() };
        let mut simulation = Simulation::new(&scenario, 1, observe);
        simulation.run();
        let first = simulation.take_trace().into_iter().find_map(|(_, event)| match event {
            Event::TcpState { tcpi_snd_ssthresh, .. } if tcpi_snd_ssthresh < 1 << 30 => {
                Some(tcpi_snd_ssthresh)
            }
            _ => None,
        });
        let first = first.expect("slow start ends");
        assert!(first.abs_diff(kernel) <= 2, "pacing {pacing}: {first}, and {kernel} in the kernel");
    }
}

/// Whether HyStart's ACK train ends slow start depends on one ACK: the limit between two ACKs is 2 ms, and at 10 Mbit/s the
/// ACK of one segment follows after 1.2 ms, that of two after 2.4 ms. If the second ACK of a round is of two segments, the
/// train breaks, and only the delay ends slow start, a round later. The receive window, which then grows or not, decides
/// which it is, and 0.1 ms of path delay decides about the window. Behind PIE the kernel has at most 230 to 308 segments
/// in flight in half of its runs, and 563 to 638 in the others; a simulated path has the one or the other.
#[test]
fn a_second_ack_of_two_segments_breaks_the_train_that_would_end_slow_start() {
    for (delay, kernel) in [("50 ms", 228..=308_u32), ("49.6 ms", 563..=638)] {
        let text = format!(
            "duration = \"2 s\"\nwired.delay = \"{delay}\"\ntcp.profile = \"linux\"\n[radio.dch]\n\
             uplink = {{ rlc.none = {{}}, rate = \"992 kbit/s\" }}\n\
             downlink = {{ rlc.none = {{}}, rate = \"10 Mbit/s\", queue.pie = {{}} }}\n[[flow]]\napp.bulk = {{}}\n"
        );
        let scenario = Scenario::parse(&text, &[]).unwrap();
        let observe = Observe { probes: ProbeMask::NONE.with(Kind::TcpState), ..Observe::default() };
        let mut simulation = Simulation::new(&scenario, 1, observe);
        simulation.run();
        let in_flight = simulation.take_trace().into_iter().filter_map(|(_, event)| match event {
            Event::TcpState { tcpi_unacked, .. } => Some(tcpi_unacked),
            _ => None,
        });
        let most = in_flight.max().expect("data is sent");
        assert!(kernel.contains(&most), "{delay}: {most}, and {kernel:?} in the kernel");
    }
}
