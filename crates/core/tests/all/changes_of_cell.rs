//! Hand-overs between several cells: to a third one, back to an earlier one, with and without forwarding.

use airpath_core::host::FlowReport;
use airpath_core::packet::Dir;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::Instant;
use airpath_core::trace::{Event, Kind, ProbeMask, Reason};
use std::collections::BTreeSet;

const SEED: u64 = 3;

/// Every link layer and kind of cell that has hand-overs, as the parameters of a cell that loses no packet for good.
const RADIOS: [(&str, &str); 8] = [
    ("dch whole", "radio.dch = { downlink.rate = \"2 Mbit/s\", uplink.rate = \"1 Mbit/s\" }"),
    (
        "dch fixed_delay_arq",
        "radio.dch.downlink = { rate = \"1 Mbit/s\", rlc = \"fixed_delay_arq\", channel.bernoulli.bler = \"10 %\" }\n\
         radio.dch.uplink = { rate = \"1 Mbit/s\", rlc = \"fixed_delay_arq\" }",
    ),
    (
        "dch am",
        "radio.dch.downlink = { rate = \"768 kbit/s\", rlc.am.tti = \"10 ms\", channel.bernoulli.bler = \"10 %\" }\n\
         radio.dch.uplink = { rate = \"384 kbit/s\", rlc.am.tti = \"10 ms\", channel.bernoulli.bler = \"10 %\" }",
    ),
    (
        "dch um",
        "radio.dch.downlink = { rate = \"768 kbit/s\", rlc.um.tti = \"10 ms\" }\n\
         radio.dch.uplink = { rate = \"384 kbit/s\", rlc.um.tti = \"10 ms\" }",
    ),
    ("hsdpa", "radio.hsdpa.uplink = { rate = \"384 kbit/s\", rlc.am.tti = \"10 ms\" }"),
    ("lte", "radio.lte.downlink.queue.codel = {}"),
    ("nr", "radio = \"nr\""),
    (
        "nr dedicated",
        "radio.dch.downlink = { rate = \"2 Mbit/s\", rlc = \"am_nr\" }\nradio.dch.uplink = { rate = \"1 Mbit/s\", rlc = \"am_nr\" }",
    ),
];

/// A UE walks from `a` to `b` to `c` and back to `a`, twice; `hand_over` goes into each of its hand-overs. `radio` is
/// the cell `a`; the others are a cell of dedicated channels and one of LTE.
fn walk(radio: &str, hand_over: &str, flows: &str) -> String {
    let moves = ["b", "c", "a", "b", "c", "a"];
    let moves = (1..).zip(moves).map(|(number, to)| {
        format!("[[handover]]\nue = \"walker\"\nto = \"{to}\"\nat = \"{number} s\"\noutage = \"60 ms\"\nwarning = \"0 s\"\n{hand_over}\n")
    });
    format!(
        r#"
duration = "8 s"
tcp.profile = "linux"
[[way]]
name = "backhaul"
wired = {{ rate = "100 Mbit/s", delay = "10 ms" }}
[[cell]]
name = "a"
behind = "backhaul"
{radio}
[[cell]]
name = "b"
behind = "backhaul"
[cell.radio.dch.downlink]
rate = "1536 kbit/s"
rlc.am.tti = "10 ms"
[cell.radio.dch.uplink]
rate = "768 kbit/s"
rlc.am.tti = "10 ms"
[[cell]]
name = "c"
behind = "backhaul"
radio = "lte"
[[ue]]
name = "walker"
attach = ["a"]
[[ue]]
name = "neighbour"
attach = ["a"]
{}
{flows}"#,
        moves.collect::<String>()
    )
}

/// A burst of packets in each direction, some of which wait in the cell at each change.
const DATAGRAMS: &str = r#"
[[flow]]
ue = "walker"
app.cbr = { size = "1200 B", rate = "560 kbit/s", packets = 400 }
[[flow]]
ue = "walker"
direction = "uplink"
app.cbr = { size = "600 B", rate = "250 kbit/s", packets = 370 }
"#;

struct Run {
    flows: Vec<FlowReport>,
    results: serde_json::Value,
    /// Numbers of packets that reached a host, in their order, by direction.
    arrived: [Vec<u32>; 2],
    dropped: Vec<Reason>,
    /// Packets that came to a cell from another one, by number.
    forwarded: BTreeSet<u32>,
}

fn run(text: &str) -> Run {
    let scenario = Scenario::parse(text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let names = scenario.path();
    let (last, cells) = (names.len() - 1, names.iter().map(|name| name.starts_with("radio.")));
    let cells: Vec<bool> = cells.collect();
    let probes = ProbeMask::NONE.with(Kind::Packet).with(Kind::Dropped);
    let mut run = Simulation::new(&scenario, SEED, Observe { probes, ..Observe::default() });
    run.run();
    let (mut arrived, mut dropped) = ([Vec::new(), Vec::new()], Vec::new());
    let (mut seen, mut forwarded) = (BTreeSet::new(), BTreeSet::new());
    for (_, event) in run.take_trace() {
        match event {
            Event::Packet { ue: 0, element, direction, packet, .. } => {
                let at = usize::from(element);
                if at == if direction == Dir::Downlink { last } else { 0 } {
                    arrived[direction.index()].push(packet);
                }
                if cells[at] && !seen.insert((direction, packet)) {
                    forwarded.insert(packet);
                }
            }
            Event::Dropped { ue: 0, reason, .. } => dropped.push(reason),
            _ => {}
        }
    }
    let results = serde_json::to_value(run.results()).unwrap();
    Run { flows: run.flows(), results, arrived, dropped, forwarded }
}

fn is_ascending(numbers: &[u32]) -> bool {
    numbers.windows(2).all(|pair| pair[0] < pair[1])
}

#[test]
fn what_an_old_cell_holds_is_forwarded_in_its_order_and_once() {
    for bearers in ["pause", "lose"] {
        for (name, radio) in RADIOS {
            let run = run(&walk(radio, &format!("forward = true\nbearers = \"{bearers}\""), DATAGRAMS));
            let place = format!("{name}, {bearers}: {:?}", run.dropped);
            assert!(run.arrived.iter().all(|numbers| is_ascending(numbers)), "{place}");
            assert!(run.forwarded.len() > 10, "{place}: {}", run.forwarded.len());
            // Blocks of unacknowledged mode in flight during the outage are lost, as is a packet sent whole.
            if bearers == "pause" || !["dch whole", "dch um"].contains(&name) {
                assert_eq!(run.dropped, [], "{place}");
                assert_eq!(run.arrived.map(|numbers| numbers.len()), [400, 370], "{place}");
            }
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_ue_comes_back_to_a_cell_and_finds_nothing_there() {
    for hand_over in ["", "bearers = \"lose\"", "path_switch = \"20 ms\""] {
        for (name, radio) in RADIOS {
            let run = run(&walk(radio, hand_over, DATAGRAMS));
            let place = format!("{name}, {hand_over}: {:?}", run.dropped);
            assert!(run.arrived.iter().all(|numbers| is_ascending(numbers)), "{place}");
            assert!(run.forwarded.is_empty(), "{place}");
            let lost = run.dropped.iter().filter(|reason| **reason == Reason::CellChanged).count();
            assert!(lost > 5, "{place}");
            // Each cell drops what it holds of the UE, a cell without a return of the UE too.
            let arrived = run.arrived.iter().map(Vec::len).sum::<usize>();
            assert_eq!(arrived + run.dropped.len(), 400 + 370, "{place}");
            // It is served in each cell after its return, too: the last packets come through the first cell.
            let flows = run.flows.iter().map(|flow| flow.datagrams.as_ref().unwrap());
            let total: Vec<_> = flows.clone().map(|datagrams| datagrams.received).collect();
            assert!(total[0] > 300 && total[1] > 280, "{place}: {total:?}");
            assert!(flows.clone().all(|flow| flow.received + flow.lost == flow.sent), "{place}");
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_transfer_goes_on_through_all_changes() {
    for (name, radio) in RADIOS {
        for hand_over in ["forward = true\npath_switch = \"20 ms\"", "bearers = \"lose\""] {
            let flows =
                "[[flow]]\nue = \"walker\"\napp.bulk = {}\n[[flow]]\nue = \"neighbour\"\napp.bulk = {}";
            let text = walk(radio, hand_over, flows);
            let run = run(&text);
            let cells = run.results["elements"].as_array().unwrap().iter();
            let cells = cells.filter(|own| own["node"].as_str().unwrap().starts_with("radio."));
            for cell in cells {
                let bearer = &cell["ues"][0]["downlink"];
                assert!(bearer["sdus_delivered"].as_u64().unwrap() > 30, "{name}: {cell}");
            }
            assert!(run.arrived[0].windows(2).all(|pair| pair[0] != pair[1]), "{name}");
            let distinct: BTreeSet<_> = run.arrived[0].iter().collect();
            assert_eq!(distinct.len(), run.arrived[0].len(), "{name}: a packet arrived twice");
        }
    }
}

#[test]
fn observation_changes_nothing_where_cells_forward() {
    let (_, lte) = RADIOS[5];
    let bulk = "[[flow]]\nue = \"walker\"\napp.bulk = {}";
    let scenario = Scenario::parse(&walk(lte, "forward = true", bulk), &[]).unwrap();
    let flows = |probes| {
        let mut run = Simulation::new(&scenario, SEED, Observe { probes, ..Observe::default() });
        run.run();
        assert!(run.now() > Instant::ZERO);
        run.flows()
    };
    assert_eq!(flows(ProbeMask::ALL), flows(ProbeMask::NONE));
}

#[test]
fn forwarding_is_no_way_between_server_and_ue() {
    let [with, without] = ["forward = true", ""].map(|hand_over| {
        let text = walk("radio = \"lte\"", hand_over, DATAGRAMS);
        Scenario::parse(&text, &[]).unwrap().edges()
    });
    assert_eq!(with, without);
}

#[test]
fn forwarding_without_another_cell_and_a_change_to_the_same_cell_are_refused() {
    let valid = walk("radio = \"lte\"", "forward = true", DATAGRAMS);
    let stays = valid.replacen("to = \"b\"\n", "", 1);
    let same = valid.replacen("to = \"b\"\n", "to = \"a\"\n", 1);
    for (text, key) in [(stays, "handover[0].forward"), (same, "handover[0].to")] {
        let error = Scenario::parse(&text, &[]).unwrap_err();
        assert_eq!(error.path, key, "{error}");
    }
    let plain = "flow = [{ app = \"bulk\" }]\nhandover = [{ forward = true }]";
    assert_eq!(Scenario::parse(plain, &[]).unwrap_err().path, "handover[0].forward");
}
