//! Hand-overs: what a UE's outage does to its bearers, whatever their link layer.

use airpath_core::element::{Cx, Element, Layout, Outage, Port};
use airpath_core::packet::{Dir, Packet};
use airpath_core::path::Path;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, Kind, ProbeMask, Reason};

/// Two downloads at 384 kbit/s, and an upload by the first UE; UE 0 is out of reach from 10 to 13 s.
const SCENARIO: &str = r#"
duration = "30 s"
wired = { rate = "10 Mbit/s", delay = "50 ms" }
[[handover]]
at = "10 s"
outage = "3 s"
[radio.dch]
ues = 2
[radio.dch.downlink]
rate = "384 kbit/s"
delay = "15 ms"
queue.droptail.packets = 50
[radio.dch.uplink]
rate = "384 kbit/s"
delay = "15 ms"
[tcp]
mss = "400 B"
[[flow]]
app.bulk = {}
[[flow]]
ue = 1
app.bulk = {}
[[flow]]
direction = "uplink"
app.cbr = { rate = "8 kbit/s", size = "172 B" }
"#;

/// Every link layer: the words that choose it, and the longest transmission.
const LINK_LAYERS: [(&str, &str, Duration); 6] = [
    ("none", "{ none = {} }", Duration::from_millis(10)),
    ("slots", "{ fixed_delay_arq = {} }", Duration::from_millis(20)),
    (
        "slots on a grid",
        "{ fixed_delay_arq = { slots = \"grid\", tti = \"10 ms\" } }",
        Duration::from_millis(10),
    ),
    ("AM", "{ am = {} }", Duration::from_millis(10)),
    ("UM", "{ um = {} }", Duration::from_millis(10)),
    ("TM", "{ tm = { segmentation = true, timer_discard = \"9 s\" } }", Duration::from_millis(10)),
];

const BEGINS: f64 = 10.0;
const ENDS: f64 = 13.0;

fn scenario(rlc: &str, overrides: &[(&str, &str)]) -> Scenario {
    let mut all: Vec<(String, String)> =
        Dir::BOTH.map(|dir| (format!("radio.dch.{}.rlc", dir.name()), rlc.to_owned())).to_vec();
    all.extend(overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    Scenario::parse(SCENARIO, &all).unwrap_or_else(|error| panic!("{error}"))
}

fn run(scenario: &Scenario, seed: u64, probes: &[Kind]) -> (Results, Vec<(f64, Event)>) {
    let probes = probes.iter().fold(ProbeMask::NONE, |mask, kind| mask.with(*kind));
    let mut simulation = Simulation::new(scenario, seed, Observe { probes, ..Observe::default() });
    simulation.run();
    let trace = simulation.take_trace().into_iter().map(|(at, event)| (at.as_secs_f64(), event)).collect();
    (simulation.results(), trace)
}

/// When packets of a UE left its bearers, in either direction, within these times.
fn deliveries(trace: &[(f64, Event)], of: u16, from: f64, until: f64) -> [usize; 2] {
    let mut count = [0; 2];
    for (at, event) in trace {
        if let Event::BearerDelivered { ue, direction, .. } = event
            && *ue == of
            && (from..until).contains(at)
        {
            count[direction.index()] += 1;
        }
    }
    count
}

#[test]
fn a_pause_stops_both_directions_of_its_ue_and_loses_nothing() {
    for (name, rlc, _) in LINK_LAYERS {
        let paused = scenario(rlc, &[]);
        let (results, trace) = run(&paused, 1, &[Kind::BearerDelivered]);
        // Packets in transmission arrive up to the delay of the bearer later; in-sequence delivery may hold them;
        // nothing else arrives.
        assert_eq!(deliveries(&trace, 0, BEGINS + 0.05, ENDS), [0, 0], "{name}");
        let [down, up] = deliveries(&trace, 0, ENDS, ENDS + 0.5);
        assert!(down > 8 && up > 3, "{name}: {down} and {up} packets");
        // The other UE does not notice.
        let [others, _] = deliveries(&trace, 1, BEGINS, ENDS);
        assert!(others > 80, "{name}: {others}");
        let cell = results.elements.iter().find(|report| report["element"] == "radio.dch").unwrap();
        for dir in Dir::BOTH {
            assert_eq!(cell["ues"][0][dir.name()]["sdus_discarded"], 0, "{name}");
        }
        let outage = serde_json::json!([{"ue": 0, "at_s": 10.0, "outage_s": 3.0, "bearers": "pause"}]);
        assert_eq!(cell["outages"], outage, "{name}");
    }
}

/// Slots are reported at their end, so one in progress at the end of the run is missing.
#[test]
fn link_layers_with_pdus_tell_of_their_slots() {
    for (name, rlc, _) in LINK_LAYERS {
        let lossy = scenario(rlc, &[("handover.0.bearers", "lose")]);
        let (results, trace) = run(&lossy, 1, &[Kind::SlotEnded]);
        let (unwatched, _) = run(&lossy, 1, &[]);
        assert_eq!(results.elements, unwatched.elements, "{name}");
        let cell = results.elements.iter().find(|report| report["element"] == "radio.dch").unwrap();
        let (mut sent, mut lost) = (0, 0);
        for (_, event) in trace {
            if let Event::SlotEnded { ue: 0, direction: Dir::Downlink, pdus_sent, pdus_lost, .. } = event {
                sent += u64::from(pdus_sent);
                lost += u64::from(pdus_lost);
            }
        }
        let counted = |key: &str| cell["ues"][0]["downlink"][key].as_u64().unwrap();
        assert!((sent..=sent + 24).contains(&counted("pdus_sent")), "{name}: {sent} of {cell}");
        assert_eq!((lost, lost > 0), (counted("pdus_lost"), name != "none"), "{name}");
    }
}

#[test]
fn transmissions_that_are_lost_go_on_and_what_is_on_the_air_is_lost() {
    for (name, rlc, air) in LINK_LAYERS {
        let lossy = scenario(rlc, &[("handover.0.bearers", "lose")]);
        let probes = [Kind::BearerDelivered, Kind::Dropped, Kind::SlotEnded, Kind::RlcData];
        let (_, trace) = run(&lossy, 1, &probes);
        let window = (BEGINS + 0.05, ENDS + 1e-9);
        let received = trace.iter().filter(|(at, event)| match event {
            // If losses are repaired below, the receiving side determines deliveries.
            Event::BearerDelivered { ue: 0, .. } => *at > window.0 && *at < window.1 && name != "none",
            _ => false,
        });
        let slots_lost = trace.iter().all(|(at, event)| match event {
            Event::SlotEnded { ue: 0, pdus_sent, pdus_lost, .. } => {
                let covered = *at > BEGINS && *at < ENDS + air.as_secs_f64() - 1e-9;
                (*pdus_sent == *pdus_lost) == covered || *pdus_sent == 0
            }
            Event::RlcData { ue: 0, lost, .. } => {
                // Recorded when the TTI starts.
                let covered = *at > BEGINS - air.as_secs_f64() + 1e-9 && *at < ENDS;
                *lost == covered
            }
            _ => true,
        });
        assert_eq!(received.count(), 0, "{name}");
        assert!(slots_lost, "{name}");
        let sent = trace.iter().filter(|(at, event)| {
            let on_air = matches!(
                event,
                Event::SlotEnded { ue: 0, .. } | Event::RlcData { ue: 0, .. } | Event::Dropped { ue: 0, .. }
            );
            on_air && (BEGINS..ENDS).contains(at)
        });
        assert!(sent.count() > 3, "{name}: nothing was sent");
    }
}

/// Without a link layer each lost packet is one that was in transmission.
#[test]
fn packets_sent_whole_are_lost_one_by_one() {
    let (results, trace) =
        run(&scenario("{ none = {} }", &[("handover.0.bearers", "lose")]), 1, &[Kind::Dropped]);
    let lost: Vec<f64> = trace
        .iter()
        .filter(|(_, event)| matches!(event, Event::Dropped { ue: 0, reason: Reason::LinkLoss, .. }))
        .map(|(at, _)| *at)
        .collect();
    assert!(lost.len() > 10);
    assert!(lost.iter().all(|at| *at > BEGINS && *at < ENDS + 0.01), "{lost:?}");
    let cell = results.elements.iter().find(|report| report["element"] == "radio.dch").unwrap();
    let discarded: u64 =
        Dir::BOTH.map(|dir| cell["ues"][0][dir.name()]["sdus_discarded"].as_u64().unwrap()).iter().sum();
    assert_eq!(discarded, lost.len() as u64);
}

/// Without outages; and what a transmitter was busy, which is rounded for each packet or for all, to thousandths.
fn round_times(report: &mut serde_json::Value) {
    let Some(report) = report.as_object_mut() else { return };
    report.remove("outages");
    let ues = report.get_mut("ues").and_then(serde_json::Value::as_array_mut);
    for bearer in ues.into_iter().flatten().flat_map(|ue| ue.as_object_mut().unwrap().values_mut()) {
        for key in ["busy_s", "service_rate_packets_per_s"] {
            if let Some(number) = bearer.get(key).and_then(serde_json::Value::as_f64) {
                bearer[key] = serde_json::json!((number * 1e3).round());
            }
        }
    }
}

/// A hand-over that has not come yet changes nothing, however packets are sent.
#[test]
#[ignore = "slow"]
fn before_an_outage_runs_are_those_without() {
    for (name, rlc, _) in LINK_LAYERS {
        for bearers in ["pause", "lose"] {
            let late = scenario(rlc, &[("handover.0.at", "40 s"), ("handover.0.bearers", bearers)]);
            let mut never = late.clone();
            never.handover.clear();
            let probes = [Kind::TcpState, Kind::SegmentSent, Kind::SegmentReceived];
            let ((mut with, trace), (mut without, expected)) =
                (run(&late, 3, &probes), run(&never, 3, &probes));
            assert_eq!(trace, expected, "{name}, {bearers}");
            for results in [&mut with, &mut without] {
                results.elements.iter_mut().for_each(round_times);
            }
            let text = |results: &Results| serde_json::to_value(results).unwrap();
            assert_eq!(text(&with), text(&without), "{name}, {bearers}");
        }
    }
}

/// Where there is a grid of TTIs, at the next one.
#[test]
fn the_first_transmission_begins_when_the_outage_ends() {
    for (name, rlc, air) in LINK_LAYERS {
        let odd = scenario(rlc, &[("handover.0.outage", "3.003 s")]);
        let (_, trace) = run(&odd, 1, &[Kind::SlotEnded, Kind::RlcData, Kind::BearerDelivered]);
        let first = trace.iter().find_map(|(at, event)| match event {
            Event::SlotEnded { ue: 0, direction: Dir::Downlink, .. } => {
                (*at > 13.0).then_some(at - air.as_secs_f64())
            }
            Event::RlcData { ue: 0, direction: Dir::Downlink, .. } => (*at > 13.0).then_some(*at),
            Event::BearerDelivered { ue: 0, direction: Dir::Downlink, len_bytes, .. } if name == "none" => {
                (*at > 13.0).then_some(at - f64::from(*len_bytes) * 8.0 / 384e3)
            }
            _ => None,
        });
        let expected = match name {
            "none" | "slots" => 13.003,
            _ => 13.01,
        };
        assert!((first.unwrap() - expected).abs() < 1e-6, "{name}: {first:?}");
    }
}

/// Records the outage events.
#[derive(Default)]
struct Listener {
    heard: Vec<(u64, u16, Outage)>,
}

impl Element for Listener {
    fn layout(&self) -> Layout {
        Layout { outages: true, ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        cx.emit(dir, packet);
    }

    fn handle_outage(&mut self, cx: &mut Cx<'_>, ue: u16, phase: Outage) {
        self.heard.push((cx.now.as_nanos() / 1_000_000, ue, phase));
    }
}

#[test]
fn subscribers_hear_of_each_outage_and_the_trace_says_the_same() {
    let words = [(
        "handover",
        r#"[{ at = "1 s", outage = "1 s", warning = "250 ms" }, { at = "2 s", outage = "1 s", warning = "0 s" },
            { ue = 1, at = "2 s", outage = "500 ms", warning = "2 s" }]"#,
    )];
    for (_, rlc, _) in LINK_LAYERS {
        let scenario = scenario(rlc, &words);
        let mut elements = scenario.network(1);
        elements.push(Box::new(Listener::default()));
        let mut path = Path::new(elements, ProbeMask::NONE.with(Kind::Outage));
        path.handle_timeout(Instant::ZERO + Duration::from_secs(5));
        use Outage::{Began, Ended, Expected};
        let expected = vec![
            (0, 1, Expected),
            (750, 0, Expected),
            (1000, 0, Began),
            (2000, 0, Ended),
            (2000, 0, Began),
            (2000, 1, Began),
            (2500, 1, Ended),
            (3000, 0, Ended),
        ];
        assert_eq!(path.element::<Listener>(2).unwrap().heard, expected);
        let traced: Vec<_> = path
            .take_trace()
            .into_iter()
            .map(|(at, event)| match event {
                Event::Outage { ue, phase } => (at.as_nanos() / 1_000_000, ue, phase),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(traced, expected);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |key: &str, value: &str| {
        let overrides = [(key.to_owned(), value.to_owned())];
        Scenario::parse(SCENARIO, &overrides).unwrap_err().to_string()
    };
    let overlap = r#"[{ at = "1 s", outage = "2 s" }, { ue = 1, at = "2 s" }, { at = "2.9 s" }]"#;
    let error = refused("handover", overlap);
    assert!(error.starts_with("handover[2].at: the outage of UE 0 from 2.9 s"), "{error}");
    for cell in ["variable", "evdo"] {
        let refusal = refused("radio", &format!("{{ {cell} = {{ ues = 2 }} }}"));
        assert!(refusal.starts_with(&format!("handover: radio.{cell} has no hand-overs")), "{refusal}");
    }
}
