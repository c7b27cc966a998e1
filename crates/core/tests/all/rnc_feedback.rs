//! RNC feedback on a whole path: what the box changes and whom it tells, and what a sender makes of it.

use airpath_core::host::FlowReport;
use airpath_core::packet::{Dir, Flags, Packet};
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::testing::beside::Beside;
use airpath_core::trace::{Event, Kind, ProbeMask};
use proptest::prelude::*;

/// Downloads over UM: what the channel destroys stays lost. A packet of 1000 B takes 13 TTIs.
const OVER_UM: &str = r#"
duration = "2 h"
wired = { rate = "10 Mbit/s", delay = "30 ms" }
[[middlebox]]
rnc_feedback = {}
[radio.dch.downlink]
rate = "64 kbit/s"
delay = "15 ms"
rlc.um = {}
channel.bernoulli.bler = "0.5 %"
[radio.dch.uplink]
rate = "64 kbit/s"
delay = "15 ms"
rlc.um = {}
[tcp]
mss = "960 B"
initial_window = 2
receive_buffer = "8760 B"
rnf = "first_flagged"
recovery.reno = {}
[[flow]]
app.file.size = "100 kB"
"#;

fn scenario(overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Scenario::parse(OVER_UM, &overrides).unwrap()
}

fn flow(overrides: &[(&str, &str)], seed: u64) -> FlowReport {
    let mut simulation = Simulation::new(&scenario(overrides), seed, Observe::default());
    simulation.run();
    simulation.results().flows[0].clone()
}

const LOSSY: (&str, &str) = ("radio.dch.downlink.channel.bernoulli.bler", "1 %");
const LOSSLESS: (&str, &str) = ("radio.dch.downlink.channel.bernoulli.bler", "0 %");

/// Ten runs: the time that they take, their timeouts, fast retransmits and wireless fast retransmits.
fn ten(overrides: &[(&str, &str)]) -> (f64, [u64; 3]) {
    let flows: Vec<_> = (0..10).map(|seed| flow(overrides, seed)).collect();
    let wireless = |flow: &FlowReport| flow.rnf.map_or(0, |report| report.wireless_fast_retransmits);
    let sum = |of: &dyn Fn(&FlowReport) -> u64| flows.iter().map(of).sum::<u64>();
    let counts =
        [sum(&|flow| flow.sender.timeouts), sum(&|flow| flow.sender.fast_retransmits), sum(&wireless)];
    (flows.iter().map(|flow| flow.transfer_s.unwrap()).sum(), counts)
}

#[test]
fn losses_of_the_radio_cost_less_with_feedback() {
    for cc in ["{ reno = {} }", "{ westwood = {} }"] {
        let run = |rnf| ten(&[LOSSY, ("tcp.cc", cc), ("tcp.rnf", rnf)]);
        let (without, [timeouts, fast, none]) = run("off");
        let (with, [fewer, no_fast, wireless]) = run("first_flagged");
        // A tenth of the time at least, and nothing is left to the threshold.
        assert!(with < 0.9 * without, "{cc}: {with} and {without} s");
        assert!(fewer < timeouts && no_fast == 0 && wireless > fast, "{cc}: {fewer} and {timeouts}");
        assert_eq!(none, 0);
        // As printed, the mechanism acts later.
        let (later, [more, ..]) = run("two_flagged");
        assert!(with < later && fewer < more, "{cc}: {with} and {later} s, {fewer} and {more}");
    }
}

#[test]
fn losses_before_the_box_are_congestion() {
    let (_, [_, fast, wireless]) = ten(&[LOSSLESS, ("wired.loss", "2 %")]);
    assert!(fast > 10 && wireless == 0, "{fast} and {wireless}");
}

/// A buffer of three packets behind the box, and a window of nine: slow start overflows it.
#[test]
fn what_the_buffer_behind_the_box_drops_is_congestion() {
    let overrides = [LOSSLESS, ("radio.dch.downlink.queue.droptail.packets", "3")];
    let mut simulation = Simulation::new(&scenario(&overrides), 1, Observe::default());
    simulation.run();
    let results = simulation.results();
    let report = |name: &str| results.elements.iter().find(|part| part["element"] == name).unwrap();
    let dropped = &report("radio.dch")["ues"][0]["downlink"]["sdus_dropped"];
    assert!(dropped.as_u64() > Some(3), "{dropped}");
    let feedback = report("middlebox.rnc_feedback");
    assert_eq!(&feedback["forgotten_drops"], dropped);
    // ACKs are flagged after the sender has retransmitted, when the flag no longer has an effect.
    let flow = &results.flows[0];
    assert_eq!(flow.rnf.unwrap().wireless_fast_retransmits, 0);
    assert!(flow.sender.fast_retransmits > 0);
}

#[test]
fn a_sender_without_the_option_ignores_the_box() {
    for seed in 0..3 {
        let ignoring = flow(&[LOSSY, ("tcp.rnf", "off")], seed);
        assert!(ignoring.sender.dupacks > 10);
        assert_eq!(ignoring, flow(&[LOSSY, ("tcp.rnf", "off"), ("middlebox", "[]")], seed));
    }
}

#[test]
fn the_trace_tells_how_much_is_cached() {
    let probes = ProbeMask::NONE.with(Kind::RncFeedback);
    let mut simulation = Simulation::new(&scenario(&[LOSSY]), 1, Observe { probes, ..Observe::default() });
    simulation.run();
    let (mut peak, mut flags, mut last) = (0, 0, 0);
    for (_, event) in simulation.take_trace() {
        let Event::RncFeedback { cached_segments, flagged, .. } = event else { panic!("{event:?}") };
        assert!(cached_segments != last || flagged, "nothing has changed");
        (peak, flags, last) = (cached_segments.max(peak), flags + u64::from(flagged), cached_segments);
    }
    let results = simulation.results();
    let report = results.elements.iter().find(|part| part["element"] == "middlebox.rnc_feedback").unwrap();
    assert_eq!((&report["peak_cached_segments"], &report["acks_flagged"]), (&peak.into(), &flags.into()));
    // No more than nine segments fit the window of 8760 B.
    assert!((5..=9).contains(&peak) && last == 0 && flags > 0, "{peak} {flags}");
}

#[test]
fn what_cannot_work_is_refused_in_words() {
    for (overrides, message) in [
        (
            vec![("tcp.dupack_threshold", "2"), ("tcp.rnf", "two_flagged")],
            "tcp.rnf: 2 duplicate ACKs bring a fast retransmit before a flag can; write off, or a dupack_threshold of at \
             least 3",
        ),
        (
            vec![("middlebox.0.rnc_feedback.cache_segments", "0")],
            "middlebox[0].rnc_feedback.cache_segments: the box could remember nothing; write at least 1",
        ),
    ] {
        let overrides: Vec<_> =
            overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let error = Scenario::parse(OVER_UM, &overrides).expect_err(message).to_string();
        assert!(error.ends_with(message), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Nothing is delayed or dropped, no bit but this one changes, and what is flagged has gone to the radio.
    #[test]
    fn only_the_bit_changes_and_only_for_what_went_to_the_radio(
        bler in 0..15_u32, wired in 0..40_u32, sack: bool, limit in 1..12_u32, seed in 0..1000_u64,
    ) {
        let (bler, wired) = (format!("0.{bler:02} %"), format!("0.{wired:02} %"));
        let (limit, sack) = (limit.to_string(), if sack { "true" } else { "false" });
        let flows = r#"[{ app = { file = { size = "30 kB" } } }, { app = { file = { size = "40 kB" } } },
            { direction = "uplink", app = { file = { size = "20 kB" } } }]"#;
        let mut run = Beside::run(&scenario(&[
            ("flow", flows), ("wired.loss", &wired), ("tcp.sack", sack),
            ("radio.dch.downlink.channel.bernoulli.bler", &bler),
            ("middlebox.0.rnc_feedback.cache_segments", &limit),
            ("tcp.initial_sequence", "4294960000"),
        ]), seed);
        let [data, passed] = run.beside_box(Dir::Downlink);
        prop_assert_eq!(data, passed);
        let [came, left] = run.beside_box(Dir::Uplink);
        let unflagged: Vec<_> = left.iter().map(|(at, packet)| {
            let flags = Flags(packet.flags.0 & !Flags::RNF.0);
            (*at, Packet { flags, ..packet.clone() })
        }).collect();
        prop_assert_eq!(came, &unflagged);
        let flagged: Vec<_> = left.iter().filter(|(_, packet)| packet.flags.has(Flags::RNF)).cloned().collect();
        for (at, ack) in &flagged {
            let is_missing = |packet: &Packet| {
                packet.flow == ack.flow && ack.ack.wrapping_sub(packet.seq) < packet.payload
            };
            prop_assert!(data.iter().any(|(then, packet)| then <= at && is_missing(packet)));
            let same = came.iter().filter(|(then, one)| then <= at && one.flow == ack.flow && one.ack == ack.ack);
            prop_assert!(same.count() >= 3, "a first duplicate");
        }
        let report = run.report();
        prop_assert_eq!(report["acks_flagged"].as_u64(), Some(flagged.len() as u64));
        let limit: u64 = limit.parse().unwrap();
        prop_assert!(report["peak_cached_segments"].as_u64().unwrap() <= 2 * limit);
    }
}
