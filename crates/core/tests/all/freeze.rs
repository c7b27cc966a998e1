//! Freezing over a hand-over, on a whole path: M-TCP at the network, Freeze-TCP at the UE, and neither.

use airpath_core::host::FlowReport;
use airpath_core::middlebox::Place;
use airpath_core::packet::{Dir, Flags, Packet};
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::testing::beside::Beside;
use airpath_core::trace::{Event, Kind, ProbeMask};
use serde_json::Value;

/// A download whose window of 32 kB fills the bearer: a round trip takes 0.7 s, most of it in the buffer, and with
/// retransmissions of AM up to 1.3 s. The UE's warning is longer: nothing is in flight when the outage begins.
const DOWNLOAD: &str = r#"
duration = "50 s"
wired = { rate = "10 Mbit/s", delay = "50 ms" }
[[handover]]
outage = "3 s"
warning = "2 s"
[[middlebox]]
freeze = {}
[radio.dch.downlink]
rate = "384 kbit/s"
delay = "15 ms"
queue.droptail.packets = 50
RLC
[radio.dch.uplink]
rate = "64 kbit/s"
delay = "15 ms"
RLC
[tcp]
receive_buffer = "32 kB"
initial_ssthresh = "40 kB"
[[flow]]
app.bulk = {}
"#;

/// Acknowledged mode whose channel destroys a tenth of the TTIs, and which never gives up; and unacknowledged mode.
const AM: &str = "rlc.am = { pdu = \"42 B\", timer_poll = \"150 ms\", timer_status_prohibit = \"100 ms\" }\n\
                  channel.bernoulli.bler = \"10 %\"";
const UM: &str = "rlc.um = {}";

const OUTAGES_S: [u32; 3] = [1, 3, 10];

/// Start of the outage in a seed's run: at varying phases of round trip, window and TTI.
fn begins(seed: u64) -> f64 {
    18.0 + 0.2137 * seed as f64
}

fn scenario(rlc: &str, seed: u64, overrides: &[(&str, &str)]) -> Scenario {
    let mut all = vec![("handover.0.at".to_owned(), format!("{} ms", (begins(seed) * 1e3).round()))];
    all.extend(overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    let text = DOWNLOAD.replace("RLC", rlc);
    Scenario::parse(&text, &all).unwrap_or_else(|error| panic!("{error}"))
}

/// What a hand-over did to a download.
#[derive(Debug)]
struct Outcome {
    /// From the end of the outage to the first segment of data sent, and to the first new data received, seconds.
    resumes_s: f64,
    arrives_s: f64,
    /// Smoothed round-trip time before the outage, and the timeout before it and behind, seconds.
    srtt_s: f64,
    rto_s: [f64; 2],
    /// Congestion window before the outage, and its minimum from then until two seconds after it, segments.
    cwnd: [u32; 2],
    flow: FlowReport,
    boxes: Value,
}

fn outcome(rlc: &str, seed: u64, outage_s: u32, overrides: &[(&str, &str)]) -> Outcome {
    let outage = format!("{outage_s} s");
    let scenario = scenario(rlc, seed, &[&[("handover.0.outage", outage.as_str())], overrides].concat());
    let kinds = [Kind::TcpState, Kind::SegmentSent, Kind::SegmentReceived];
    let probes = kinds.iter().fold(ProbeMask::NONE, |mask, kind| mask.with(*kind));
    let mut simulation = Simulation::new(&scenario, seed, Observe { probes, ..Observe::default() });
    simulation.run();
    let (trace, results) = (simulation.take_trace(), simulation.results());
    let (begins, ends) = (begins(seed), begins(seed) + f64::from(outage_s));
    let (mut resumes, mut arrives, mut highest) = (None, None, 0);
    let (mut before, mut after) = ((0, 0, 0), (u32::MAX, 0));
    for (at, event) in &trace {
        let at = at.as_secs_f64();
        match event {
            Event::SegmentSent { payload_bytes, .. } if at >= ends && *payload_bytes > 1 => {
                resumes.get_or_insert(at - ends);
            }
            Event::SegmentReceived { rcv_nxt, .. } => {
                if at >= ends && *rcv_nxt > highest {
                    arrives.get_or_insert(at - ends);
                }
                highest = highest.max(*rcv_nxt);
            }
            Event::TcpState { tcpi_snd_cwnd, tcpi_rtt, tcpi_rto, .. } => {
                if at < begins - 2.0 {
                    before = (*tcpi_snd_cwnd, *tcpi_rtt, *tcpi_rto);
                } else if at < ends + 2.0 {
                    after = (after.0.min(*tcpi_snd_cwnd), *tcpi_rto);
                }
            }
            _ => {}
        }
    }
    let seconds = |micros: u32| f64::from(micros) / 1e6;
    Outcome {
        resumes_s: resumes.unwrap_or(f64::INFINITY),
        arrives_s: arrives.unwrap_or(f64::INFINITY),
        srtt_s: seconds(before.1),
        rto_s: [seconds(before.2), seconds(after.1)],
        cwnd: [before.0, after.0],
        flow: results.flows[0].clone(),
        boxes: results
            .elements
            .iter()
            .find(|r| r["element"] == "middlebox.freeze")
            .cloned()
            .unwrap_or_default(),
    }
}

const NETWORK: (&str, &str) = ("middlebox.0.freeze.at", "network");
const UE: (&str, &str) = ("middlebox.0.freeze.at", "ue");
const LOSE: (&str, &str) = ("handover.0.bearers", "lose");
const GO_BACK: (&str, &str) = ("tcp.shrunk_window", "persist_and_go_back");

/// Sending resumes within one round trip after the outage, with window and timeout unchanged.
fn check_frozen(name: &str, outcome: &Outcome) {
    assert!(outcome.resumes_s <= outcome.srtt_s, "{name}: {outcome:#?}");
    assert!(outcome.arrives_s <= outcome.srtt_s, "{name}: {outcome:#?}");
    assert!(outcome.cwnd[1] >= outcome.cwnd[0], "{name}: {outcome:#?}");
    assert_eq!(
        (outcome.flow.sender.timeouts, outcome.flow.sender.fast_retransmits),
        (0, 0),
        "{name}: {outcome:#?}"
    );
}

#[test]
#[ignore = "slow"]
fn over_a_pause_a_frozen_sender_goes_on_as_if_nothing_had_happened() {
    for (seed, outage_s, rlc, at) in runs() {
        let outcome = outcome(rlc, seed, outage_s, &[at]);
        let name = format!("{} {outage_s} s, {rlc}, seed {seed}", at.1);
        check_frozen(&name, &outcome);
        assert_eq!(outcome.flow.sender.retransmissions.total, 0, "{name}: {outcome:#?}");
        assert!(outcome.rto_s[1] <= 1.5 * outcome.rto_s[0], "{name}: {outcome:#?}");
        assert_eq!(outcome.boxes["freezes"], 1, "{name}");
    }
}

/// Eight seeds, each outage, link layer and place.
fn runs() -> impl Iterator<Item = (u64, u32, &'static str, (&'static str, &'static str))> {
    (0..8).flat_map(|seed| {
        OUTAGES_S.into_iter().flat_map(move |outage_s| {
            [AM, UM].into_iter().flat_map(move |rlc| [NETWORK, UE].map(|at| (seed, outage_s, rlc, at)))
        })
    })
}

/// Acknowledged mode repairs radio losses. In unacknowledged mode a warned sender has nothing in flight, and one
/// without warning has to go back N.
#[test]
#[ignore = "slow"]
fn what_is_on_the_air_may_be_lost_without_a_timeout() {
    for (seed, outage_s, rlc, at) in runs() {
        let overrides = if rlc == UM && at == NETWORK { vec![at, LOSE, GO_BACK] } else { vec![at, LOSE] };
        let outcome = outcome(rlc, seed, outage_s, &overrides);
        check_frozen(&format!("{} {outage_s} s, {rlc}, seed {seed}", at.1), &outcome);
    }
}

#[test]
#[ignore = "slow"]
fn without_freezing_an_outage_costs_timeouts_and_the_window() {
    let mut timeouts = 0;
    for (seed, outage_s, rlc, _) in runs().filter(|(.., at)| *at == NETWORK) {
        for bearers in ["pause", "lose"] {
            let overrides = [("middlebox", "[]"), ("handover.0.bearers", bearers)];
            let outcome = outcome(rlc, seed, outage_s, &overrides);
            let name = format!("{outage_s} s, {bearers}, {rlc}, seed {seed}: {outcome:#?}");
            // Where round-trip times vary as in AM, a second may pass before a timeout does.
            let may_outlast = outage_s == 1 && rlc == AM;
            assert!(may_outlast || outcome.flow.sender.timeouts >= 1, "{name}");
            assert!(may_outlast || outcome.cwnd[1] == 1 && outcome.cwnd[0] > 20, "{name}");
            timeouts += outcome.flow.sender.timeouts;
        }
    }
    assert!(timeouts > 100, "{timeouts} in 96 runs");
}

/// A sender for which a closed window changes nothing about its timer is not frozen by one.
#[test]
fn a_sender_that_retransmits_into_a_closed_window_cannot_be_frozen() {
    let overrides = [NETWORK, ("tcp.shrunk_window", "retransmit")];
    for seed in 0..5 {
        let outcome = outcome(AM, seed, 3, &overrides);
        assert!(outcome.flow.sender.timeouts >= 1 && outcome.cwnd[1] == 1, "{outcome:#?}");
    }
}

/// The probes of a sender that is frozen for long are answered, and go no further.
#[test]
fn probes_are_answered_by_the_box() {
    let outcome = outcome(UM, 1, 10, &[NETWORK]);
    assert_eq!(outcome.flow.sender.window_probes, 3, "after 1, 2 and 4 s");
    assert_eq!((&outcome.boxes["probes_answered"], outcome.flow.receiver.duplicates), (&3.into(), 0));
}

/// The box changes the window and one octet of an acknowledgment number, and nothing else.
#[test]
fn the_box_changes_the_window_and_withholds_an_octet_and_nothing_else() {
    for at in [NETWORK, UE] {
        let scenario = scenario(AM, 2, &[at]);
        let place = if at == NETWORK { Place::Network } else { Place::Ue };
        assert_eq!(scenario.middlebox[0].place(), place);
        let mut run = Beside::run(&scenario, 2);
        let report = run.report();
        let count = |key: &str| report[key].as_u64().unwrap() as usize;
        let expected = count("zero_window_acks_made")
            + count("opening_acks_made")
            + count("withheld_given")
            + count("probes_answered");
        let [before, after] = run.beside_box(Dir::Uplink);
        let made = after.len() - before.len();
        assert!(made == expected && count("opening_acks_made") > 0, "{made} ACKs were made: {report}");
        let mut rest = before.iter();
        let mut made_here = 0;
        for (time, sent) in after {
            let strip = |packet: &Packet| Packet { ack: 0, window: 0, ..packet.clone() };
            let is_next = rest.as_slice().first().is_some_and(|(came, packet)| {
                came == time && strip(packet) == strip(sent) && packet.ack.wrapping_sub(sent.ack) <= 1
            });
            if is_next {
                let (_, came) = rest.next().unwrap();
                assert!(sent.window == came.window || sent.window == 0);
            } else {
                made_here += 1;
                assert!(sent.payload == 0 && sent.flags == Flags::ACK);
            }
        }
        assert_eq!((made_here, rest.len()), (made, 0));
        // The acknowledgment numbers that the sender receives never decrease.
        let acks: Vec<u32> = after.iter().map(|(_, packet)| packet.ack).collect();
        assert!(acks.is_sorted());
        let [came, went] = run.beside_box(Dir::Downlink);
        // Except for probes, which pass unchanged or not at all.
        assert_eq!(came.len(), went.len() + count("probes_answered"));
        assert!(went.iter().all(|passed| came.contains(passed)));
    }
}

/// The last octet of a transfer is acknowledged when nothing newer has come for a while.
#[test]
fn a_transfer_ends_with_its_last_octet() {
    let ends = |withhold: &str| {
        let overrides =
            [("flow.0.app", "{ file = { size = \"100 kB\" } }"), ("middlebox.0.freeze.withhold", withhold)];
        let mut simulation = Simulation::new(&scenario(UM, 1, &overrides), 1, Observe::default());
        simulation.run();
        let flow = simulation.flows()[0].clone();
        assert_eq!((flow.sender.timeouts, flow.bytes_acked), (0, 100_000));
        (flow.transfer_s.unwrap(), flow.received_s.unwrap())
    };
    let (with, without) = (ends("true"), ends("false"));
    assert!((with.0 - without.0 - 0.2).abs() < 0.01, "{with:?} and {without:?}");
    assert!((with.1 - without.1).abs() < 0.01, "{with:?} and {without:?}");
}
