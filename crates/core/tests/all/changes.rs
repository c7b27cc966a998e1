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
#[ignore = "slow"]
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
    let wire = "[[change]]\nat = \"1 s\"\nset.\"cell.0.wired.delay\" = \"5 ms\"";
    let text = format!("{CELLS}[[flow]]\nue = \"phone\"\napp.bulk = {{}}\n{wire}");
    let error = Scenario::parse(&text, &[]).unwrap_err().to_string();
    assert!(error.starts_with("change[0].set.cell.0.wired: the cell has no wired link"), "{error}");
}

/// Every key that the schema marks, in a scenario that has it, reaches an element.
#[test]
#[ignore = "slow"]
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

/// Cells of every kind that can stand still.
fn cells() -> Vec<String> {
    let shared = ["lte", "nr", "hsdpa"].map(|cell| format!("[radio.{cell}]\n"));
    let variable = "[radio.variable]\ndownlink.channel.trace_file.trace = \"6\\n\"\n\
                    uplink.channel.trace_file.trace = \"12\\n\"\n";
    let asleep = "[radio.lte.activity.drx]\n";
    let dedicated = RATES[1..].iter().map(|(cell, _)| format!("{cell}\n"));
    dedicated.chain(shared).chain([variable.to_owned(), asleep.to_owned()]).collect()
}

#[test]
#[ignore = "slow"]
fn a_pause_lasts_until_it_ends() {
    let pause = |at: &str, pause| format!("[[change]]\nat = \"{at}\"\npause = {pause}\n");
    for cell in cells() {
        let (stopped, trace) = run(&format!("{cell}{}", pause("10003 ms", true)));
        assert!(rate_bps(&trace, 5, 10) > 1e5, "{cell}");
        assert!(rate_bps(&trace, 11, 30) == 0.0, "{cell}: {}", rate_bps(&trace, 11, 30));
        let last = stopped.elements.iter().find_map(|element| element["outages"][0]["outage_s"].as_f64());
        assert!((last.unwrap() - 19.997).abs() < 1e-6, "{cell}: {last:?}");
        let both = format!("{cell}{}{}", pause("10003 ms", true), pause("13009 ms", false));
        let (ended, whole) = run(&both);
        assert!(rate_bps(&whole, 11, 13) == 0.0, "{cell}");
        assert!(rate_bps(&whole, 14, 20) > 1e5, "{cell}");
        let told: Vec<_> = ended.changes.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(told, ["pause of UE 0", "end of the pause of UE 0"], "{cell}");
        // An outage whose length is known before is the same.
        let (outage, _) = run(&format!("{cell}[[change]]\nat = \"10003 ms\"\noutage = \"3006 ms\"\n"));
        assert_eq!(ended.flows, outage.flows, "{cell}");
        // Only of the latter it is known how long the UE will be away, and awake.
        if !cell.contains("drx") {
            assert_eq!(ended.elements, outage.elements, "{cell}");
        }
    }
}

#[test]
fn a_pause_that_is_none_does_not_end() {
    let cell = RATES[1].0;
    let resumed = format!("{cell}\n[[change]]\nat = \"9 s\"\npause = false\n");
    assert!(run(&resumed).0.changes.is_empty());
    let twice = format!(
        "{cell}\n[[change]]\nat = \"9 s\"\npause = true\n[[change]]\nat = \"10 s\"\noutage = \"1 s\"\n"
    );
    assert_eq!(run(&twice).0.changes.len(), 1);
}

/// A UE that may be in three cells, of which two are in front of a way.
const CELLS: &str = "[[way]]\nname = \"core\"\nwired.rate = \"30 Mbit/s\"\n\
    [[cell]]\nname = \"west\"\nbehind = \"core\"\n[cell.radio.dch]\ndownlink = { rate = \"1984 kbit/s\", rlc.am = {} }\n\
    uplink = { rate = \"384 kbit/s\", rlc.am = {} }\n\
    [[cell]]\nname = \"east\"\nbehind = \"core\"\n[cell.radio.lte]\n\
    [[cell]]\nname = \"south\"\n[cell.radio.nr]\n\
    [[ue]]\nname = \"phone\"\nattach = [\"west\"]\n";

#[test]
fn a_hand_over_as_a_change_is_that_of_the_list() {
    // Between slots: at one instant a change comes behind everything else.
    let moves = [("8003 ms", "east"), ("14007300 us", "south"), ("20011300 us", "west")];
    let as_list = |table: &str| -> String {
        let each = moves.iter().map(|(at, to)| {
            let warning = if table == "handover" { "warning = \"0 s\"\n" } else { "" };
            format!("[[{table}]]\nat = \"{at}\"\nto = \"{to}\"\noutage = \"150 ms\"\n{warning}")
        });
        // Where nothing may change, reports are shorter.
        format!("{CELLS}{}[[change]]\nat = \"1 s\"\npause = false\n", each.collect::<String>())
    };
    let ((changed, trace), (listed, _)) = (run(&as_list("change")), run(&as_list("handover")));
    let told: Vec<_> = changed.changes.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(told[0], "hand-over of UE 0 from west to east, outage of 150 ms");
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(rate_bps(&trace, 10, 14) > 4e6 && rate_bps(&trace, 23, 30) < 2.5e6);
    assert_eq!(changed.flows, listed.flows);
    assert_eq!(changed.elements, listed.elements);
}

#[test]
fn hand_overs_that_cannot_be_are_refused() {
    for (text, words) in [
        (
            "to = \"east\"",
            "change[0].to: the scenario has one cell, and no [[cell]] with names; remove the key",
        ),
        ("outage = \"1 s\"\npause = true", "change[0].pause: stands beside an outage or a hand-over"),
    ] {
        let said = error(&format!("{}\n[[change]]\nat = \"1 s\"\n{text}", RATES[1].0));
        assert!(said.starts_with(words), "{said}");
    }
    for (text, words) in [
        ("to = \"north\"", "change[0].to: there is no cell \"north\"; known: \"west\", \"east\", \"south\""),
        ("to = \"west\"", "change[0].to: the interface is in \"west\" already; choose another cell"),
        ("to = \"east\"\nue = 1", "change[0].ue: there is no UE 1"),
        (
            "to = \"east\"\n[[handover]]\nat = \"9 s\"\nto = \"south\"",
            "change[0].to: the scenario says itself when this interface changes its cell",
        ),
    ] {
        let said = error(&format!("{CELLS}[[change]]\nat = \"1 s\"\n{text}"));
        assert!(said.starts_with(words), "{said}");
    }
}

/// The second of the first difference between two traces.
fn parts_at(one: &[(Instant, Event)], other: &[(Instant, Event)]) -> Option<f64> {
    one.iter().zip(other).find(|(one, other)| one != other).map(|((at, _), _)| at.as_secs_f64())
}

#[test]
#[ignore = "slow"]
fn a_seed_renews_whatever_draws_from_then_on() {
    let lossy = "downlink.channel.bernoulli.bler = \"10 %\"";
    let random = [
        format!("{}\n[wired]\nrate = \"2 Mbit/s\"\nloss = \"2 %\"\n", RATES[1].0),
        format!("{}\n[[middlebox]]\npacket_loss.downlink.loss = \"2 %\"\n", RATES[1].0),
        format!("{}\n[[middlebox]]\ndisturb.downlink.loss = \"2 %\"\n", RATES[1].0),
        format!("{}\n[wired]\nrate = \"1 Mbit/s\"\nqueue.red = {{}}\n", RATES[1].0),
        format!("{}\n[wired]\nrate = \"1 Mbit/s\"\nqueue.pie = {{}}\n", RATES[1].0),
        format!("[radio.dch]\n{lossy}\ndownlink.rlc.am = {{}}\nuplink.rlc.am = {{}}\n"),
        "[radio.dch]\ndownlink.channel.markov_fading = {}\ndownlink.rlc.am = {}\nuplink.rlc.am = {}\n"
            .to_owned(),
        "[radio.dch]\ndownlink.channel.rayleigh = {}\ndownlink.rlc.am = {}\nuplink.rlc.am = {}\n".to_owned(),
        "[radio.variable]\ndownlink.channel.distribution.rate.exponential.mean = \"2 Mbit/s\"\n".to_owned(),
        "[radio.lte]\n".to_owned(),
        "[radio.nr]\n".to_owned(),
        "[radio.hsdpa]\n".to_owned(),
    ];
    let renewed = |seed: u64| format!("[[change]]\nat = \"10003 ms\"\nseed = {seed}\n");
    for text in random {
        let (results, mut changed) = run(&format!("{text}{}", renewed(7)));
        assert_eq!(results.changes.len(), 1, "{text}");
        assert_eq!(results.changes[0].what, "seed 7");
        let again = run(&format!("{text}{}", renewed(7))).1;
        assert_eq!(changed, again, "{text}");
        // A change that changes nothing, so that both are computed in the same way.
        let mut same = run(&format!("{text}[[change]]\nat = \"1 s\"\npause = false\n")).1;
        for trace in [&mut changed, &mut same] {
            trace.retain(|(_, event)| event.kind() != Kind::Change);
        }
        let at_s = parts_at(&changed, &same).expect(&text);
        assert!((10.003..30.0).contains(&at_s), "{text}: {at_s}");
    }
    // Nothing draws in a trace.
    let trace = "[radio.variable]\ndownlink.channel.trace_file.trace = \"6\\n\"\n\
                 uplink.channel.trace_file.trace = \"12\\n\"\n";
    assert!(run(&format!("{trace}{}", renewed(7))).0.changes.is_empty());
}
