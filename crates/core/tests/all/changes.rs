//! Changes of parameters and outages while a scenario runs: `[[change]]`.

use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};
use airpath_core::time::Instant;
use airpath_core::trace::{Event, Kind, ProbeMask};

const FLOW: &str = "duration = \"30 s\"\n[[flow]]\napp = \"bulk\"\n";

fn run(text: &str) -> (Results, Vec<(Instant, Event)>) {
    let scenario = Scenario::parse(&format!("{FLOW}{text}"), &[]).unwrap();
    let probes = ProbeMask::NONE.with(Kind::Change).with(Kind::Outage).with(Kind::BearerDelivered);
    let mut simulation = Simulation::new(&scenario, 1, Observe { probes, ..Observe::default() });
    simulation.run();
    let trace = simulation.take_trace();
    (simulation.results(), trace)
}

/// Bit/s of the downlink bearer, IP level, between two times.
fn rate_bps(trace: &[(Instant, Event)], from_s: u64, to_s: u64) -> f64 {
    let within = |at: Instant| (from_s..to_s).contains(&(at.as_nanos() / 1_000_000_000));
    let bits = trace.iter().filter(|(at, _)| within(*at)).map(|(_, event)| match event {
        Event::BearerDelivered { direction, len_bytes, .. } if direction.name() == "downlink" => {
            8 * len_bytes
        }
        _ => 0,
    });
    f64::from(bits.sum::<u32>()) / (to_s - from_s) as f64
}

fn error(text: &str) -> String {
    Scenario::parse(&format!("{FLOW}{text}"), &[]).unwrap_err().to_string()
}

/// Cells whose downlink carries 2 Mbit/s, then 0.5 Mbit/s from 10 s on, then 1 Mbit/s from 20 s on, by the key.
const RATES: [(&str, &str); 4] = [
    (
        "[wired]\nrate = \"1984 kbit/s\"\n[radio.dch]\ndownlink.rate = \"50 Mbit/s\"\nuplink.rate = \"10 Mbit/s\"",
        "wired.rate",
    ),
    ("[radio.dch]\ndownlink.rate = \"1984 kbit/s\"\nuplink.rate = \"1 Mbit/s\"", "radio.dch.downlink.rate"),
    (
        "[radio.dch]\ndownlink = { rate = \"1984 kbit/s\", rlc.am.tti = \"10 ms\" }\n\
         uplink = { rate = \"384 kbit/s\", rlc.am.tti = \"10 ms\" }",
        "radio.dch.downlink.rate",
    ),
    (
        "[radio.dch]\ndownlink = { rate = \"1984 kbit/s\", rlc = \"fixed_delay_arq\" }\n\
         uplink = { rate = \"384 kbit/s\", rlc = \"fixed_delay_arq\" }",
        "radio.dch.downlink.rate",
    ),
];

#[test]
fn a_rate_holds_from_the_change_on_for_every_packet_that_waits() {
    for (cell, key) in RATES {
        let change =
            |at: &str, rate: &str| format!("\n[[change]]\nat = \"{at}\"\nset = {{ \"{key}\" = \"{rate}\" }}");
        let queue = "[tcp]\nmax_window = 70\n";
        let text = format!("{queue}{cell}{}{}", change("20 s", "1024 kbit/s"), change("10 s", "512 kbit/s"));
        let (results, trace) = run(&text);
        // 100 kB wait at the change: at the old rate they would have gone in 0.4 s.
        for (from_s, to_s, expected) in [(5, 10, 2e6), (11, 20, 0.512e6), (21, 30, 1.024e6)] {
            let rate = rate_bps(&trace, from_s, to_s);
            assert!(
                (rate / expected - 1.0).abs() < 0.1,
                "{cell}: {rate} in place of {expected} from {from_s} s"
            );
        }
        let events: Vec<_> = trace.iter().filter(|(_, event)| event.kind() == Kind::Change).collect();
        let times: Vec<_> = events.iter().map(|(at, _)| at.as_secs_f64()).collect();
        assert_eq!(times, [10.0, 20.0], "{cell}");
        let told: Vec<_> = results.changes.iter().map(|one| one.what.clone()).collect();
        assert_eq!(told, [format!("{key} = \"512 kbit/s\""), format!("{key} = \"1024 kbit/s\"")]);
    }
}

#[test]
fn a_change_to_the_present_value_changes_nothing() {
    for (cell, key) in RATES {
        let same = format!("{cell}\n[[change]]\nat = \"7 s\"\nset = {{ \"{key}\" = \"1984 kbit/s\" }}");
        let (changed, mut trace) = run(&same);
        assert!(changed.changes.is_empty(), "{cell}: {:?}", changed.changes);
        trace.retain(|(_, event)| event.kind() == Kind::Change);
        assert!(trace.is_empty(), "{cell}");
    }
}

#[test]
fn an_outage_stops_both_directions_and_loses_nothing() {
    for (cell, _) in RATES {
        let (results, trace) = run(&format!("{cell}\n[[change]]\nat = \"10 s\"\noutage = \"3 s\""));
        assert!(rate_bps(&trace, 8, 10) > 1e5, "{cell}");
        // What is on the air at its beginning arrives.
        assert!(rate_bps(&trace, 11, 13) == 0.0, "{cell}");
        assert!(rate_bps(&trace, 14, 18) > 1e5, "{cell}");
        let phases: Vec<_> = trace
            .iter()
            .filter_map(|(at, event)| match event {
                Event::Outage { phase, .. } => Some((at.as_secs_f64(), phase.name())),
                _ => None,
            })
            .collect();
        assert_eq!(phases, [(10.0, "began"), (13.0, "ended")], "{cell}");
        assert_eq!(results.changes.len(), 1, "{cell}");
    }
}

#[test]
fn an_outage_as_a_change_is_that_of_a_hand_over() {
    let cell = "[radio.dch]\ndownlink = { rate = \"384 kbit/s\", rlc.am = {} }\nuplink.rlc.am = {}\n";
    // Between two TTIs: at one instant a change comes behind everything else.
    let outage = "at = \"10003 ms\"\noutage = \"2 s\"";
    let (changed, _) = run(&format!("{cell}[[change]]\n{outage}"));
    let (handed_over, _) = run(&format!("{cell}[[handover]]\n{outage}\nwarning = \"0 s\""));
    assert_eq!(changed.flows, handed_over.flows);
    assert_eq!(changed.elements, handed_over.elements);
}

#[test]
fn losses_limits_and_means_change() {
    let lossy = "[wired]\nrate = \"2 Mbit/s\"\n[radio.dch]\ndownlink.rate = \"50 Mbit/s\"\n\
                 [[change]]\nat = \"15 s\"\nset.wired.loss = \"20 %\"";
    let after_loss = run(lossy).1;
    assert!(rate_bps(&after_loss, 20, 30) < 0.5 * rate_bps(&after_loss, 5, 15));
    let limited = |limit: &str| {
        let text = format!(
            "[tcp]\nmax_window = 700\n[radio.dch]\ndownlink = {{ rate = \"1 Mbit/s\", queue.droptail.packets = 1000 }}\n{limit}"
        );
        run(&text)
            .0
            .elements
            .iter()
            .filter_map(|element| element["ues"][0]["downlink"]["sdus_dropped"].as_u64())
            .sum::<u64>()
    };
    assert_eq!(limited(""), 0);
    let change = "[[change]]\nat = \"10 s\"\nset.radio.dch.downlink.queue.droptail.packets = 5";
    assert!(limited(change) > 10);
    for cell in ["lte", "nr", "hsdpa"] {
        let mean = |mean: &str| {
            format!(
                "[[change]]\nat = \"15 s\"\nset = {{ \"radio.{cell}.downlink.reception.mean_sinr\" = \"{mean}\" }}"
            )
        };
        let (results, trace) = run(&format!("[radio.{cell}]\n{}", mean("-2 dB")));
        assert_eq!(results.changes.len(), 1, "{cell}");
        assert!(rate_bps(&trace, 17, 30) < 0.7 * rate_bps(&trace, 5, 15), "{cell}");
    }
}

#[test]
fn a_shorter_delay_lets_no_packet_overtake() {
    let text = "[wired]\nrate = \"5 Mbit/s\"\ndelay = \"100 ms\"\n[radio.dch]\ndownlink.rate = \"50 Mbit/s\"\n\
                [[change]]\nat = \"10 s\"\nset.wired.delay = \"5 ms\"";
    let (results, _) = run(text);
    let flow = &results.flows[0];
    assert_eq!(results.changes.len(), 1);
    assert_eq!(serde_json::to_value(flow).unwrap()["retransmissions"]["total"], 0);
}

#[test]
fn what_cannot_change_is_refused_with_what_can() {
    let cell = "[radio.dch]\ndownlink.rate = \"1 Mbit/s\"\n";
    for (change, words) in [
        ("at = \"1 s\"", "change[0]: changes nothing; write set = "),
        (
            "at = \"1 s\"\nset.radio.dch.ues = 2",
            "change[0].set.radio.dch.ues: does not change while the scenario runs; what may change here: ",
        ),
        ("at = \"1 s\"\nset.tcp.mss = \"500 B\"", "change[0].set.tcp.mss: does not change while"),
        (
            "at = \"1 s\"\nset.radio.dch.downlink.rate = \"0 bit/s\"",
            "change[0].set.radio.dch.downlink.rate: ",
        ),
        ("at = \"1 s\"\nset.radio.dch.downlink.rat = 3", "change[0].set.radio.dch.downlink.rat: "),
        (
            "at = \"1 s\"\nset.wired.rate = \"1 Mbit/s\"",
            "change[0].set.wired.rate: a link without a rate gets none",
        ),
        ("at = \"1 s\"\noutage = \"0 s\"", "change[0].outage: an outage of no length"),
        ("at = \"1 s\"\noutage = \"1 s\"\nue = 3", "change[0].ue: there is no UE 3"),
    ] {
        let said = error(&format!("{cell}[[change]]\n{change}"));
        assert!(said.starts_with(words), "{said}");
    }
    let said = error("[radio.evdo]\n[[change]]\nat = \"1 s\"\noutage = \"1 s\"");
    assert!(said.starts_with("change[0].outage: radio.evdo has no outages"), "{said}");
}

/// Every key that the schema marks, in a scenario that has it, reaches an element.
#[test]
fn every_marked_key_is_adopted() {
    let cells = [
        "[wired]\nrate = \"2 Mbit/s\"\nuplink = { rate = \"3 Mbit/s\" }\n[radio.dch]\ndownlink.rlc.am = {}\nuplink.rlc.am = {}\n\
         [[middlebox]]\npacket_loss = {}",
        "[radio.lte]",
        "[radio.nr]",
        "[radio.hsdpa]",
        "[radio.variable]\ndownlink.channel.trace_file.trace = \"6\\n\"\nuplink.channel.trace_file.trace = \"12\\n\"",
    ];
    let mut tried = std::collections::BTreeSet::new();
    for cell in cells {
        let scenario = Scenario::parse(&format!("{FLOW}{cell}"), &[]).unwrap();
        for (key, value) in scenario.changeable().unwrap() {
            let other = match key.rsplit('.').next().unwrap() {
                "rate" => "\"768 kbit/s\"",
                "trace" => "\"4\\n8\\n\"",
                "delay" => "\"7 ms\"",
                "loss" | "bler" => "\"3 %\"",
                "mean_sinr" => "\"5 dB\"",
                "bytes" => "\"90 kB\"",
                "packets" => "90",
                "burst" => "2.0",
                last => panic!("{last} = {value}: add another value"),
            };
            tried.insert(key.rsplit('.').next().unwrap().to_owned());
            let text = format!("{cell}\n[[change]]\nat = \"1 s\"\nset = {{ \"{key}\" = {other} }}");
            assert_eq!(run(&text).0.changes.len(), 1, "{cell}: {key} reaches no element");
        }
    }
    assert_eq!(tried.len(), 8, "{tried:?}");
}
