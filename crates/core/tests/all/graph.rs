//! Paths that are no line: two cells behind a fork, and UEs that change from one to the other.

use airpath_core::element::{Element, Graph, NodeId, Port};
use airpath_core::fork::{Change, Fork};
use airpath_core::host::{FlowReport, Host, flow_reports};
use airpath_core::packet::Dir;
use airpath_core::path::Path;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, ProbeMask};

const UES: u16 = 2;
const SEED: u64 = 7;

const UMTS: &str = r#"
[radio.dch]
ues = 2
[radio.dch.downlink]
rate = "384 kbit/s"
delay = "15 ms"
rlc.am = {}
channel.bernoulli.bler = "10 %"
[radio.dch.uplink]
rate = "64 kbit/s"
delay = "15 ms"
rlc.am.tti = "20 ms"
"#;
const LTE: &str = "radio.lte.ues = 2";

fn scenario(radio: &str) -> Scenario {
    let common = r#"
        duration = "30 s"
        tcp.profile = "linux"
        wired = { rate = "100 Mbit/s", delay = "20 ms" }
        flow = [{ ue = "each", stagger = "10 ms", app.bulk = {} }]
    "#;
    Scenario::parse(&format!("{common}{radio}"), &[]).unwrap()
}

fn plain(radio: &str) -> Vec<FlowReport> {
    let mut run = Simulation::new(&scenario(radio), SEED, Observe::default());
    run.run();
    run.flows()
}

struct Run {
    flows: Vec<FlowReport>,
    /// Packets that each fork passed to each way.
    forks: Vec<serde_json::Value>,
    trace: Vec<(Instant, Event)>,
}

/// Server, link and gateway; after it a UMTS and an LTE cell; both UEs change from UMTS to LTE at `change`, if ever.
fn run(change: Option<u64>, probes: ProbeMask) -> Run {
    let [slow, fast] = [UMTS, LTE].map(scenario);
    let flows = slow.flows();
    let mut graph = Graph::default();
    let [link, slow_cell]: [Box<dyn Element>; 2] = slow.network(SEED).try_into().ok().unwrap();
    let host = |dir| Box::new(Host::new(dir, UES, &flows, SEED));
    let server = graph.node(host(Dir::Downlink));
    let link = graph.append((server, Port::DOWN), link);
    // Nodes are numbered in the order in which they are added: the cells follow the gateway.
    let cells = [3, 4].map(NodeId);
    let fork = |dir| {
        let changes = change.into_iter().flat_map(|at| {
            let at = Instant::ZERO + Duration::from_secs(at);
            (0..UES).map(move |ue| Change { at, ue, to: 1 })
        });
        let fork = Fork::new(dir, 2, vec![0; UES.into()], changes.collect());
        Box::new(if dir == Dir::Uplink { fork.with_cells(cells.map(Some).to_vec()) } else { fork })
    };
    let (gateway, _) = graph.append(link, fork(Dir::Downlink));
    let way = |dir, number| Fork::port(dir, number);
    let umts = graph.append((gateway, way(Dir::Downlink, 0)), slow_cell);
    let lte = graph.append((gateway, way(Dir::Downlink, 1)), fast.network(SEED).pop().unwrap());
    assert_eq!([umts.0, lte.0], cells);
    let below = graph.node(fork(Dir::Uplink));
    for (number, cell) in [umts, lte].into_iter().enumerate() {
        graph.join(cell, (below, way(Dir::Uplink, number as u16)));
    }
    let ues = graph.node(host(Dir::Uplink));
    graph.join((below, Port::DOWN), (ues, Port::UP));

    let mut path = Path::of(graph, probes);
    path.handle_timeout(Instant::ZERO + Duration::from_secs(30));
    let ends = [server, ues].map(|node| path.element::<Host>(node.0.into()).unwrap());
    let dropped = |ue, flow, dir| path.datagrams_dropped(ue, flow, dir);
    let reports = flow_reports(ends[0], ends[1], path.now(), dropped);
    let forks = path.reports().into_iter().filter(|report| report["element"] == "fork").collect();
    Run { flows: reports, forks, trace: path.take_trace() }
}

fn goodput(flows: &[FlowReport]) -> f64 {
    flows.iter().map(|flow| flow.goodput_bps).sum()
}

#[test]
#[ignore = "slow"]
fn ues_that_stay_in_a_cell_have_what_they_have_where_it_is_the_only_one() {
    assert_eq!(run(None, ProbeMask::NONE).flows, plain(UMTS));
    assert_eq!(run(Some(0), ProbeMask::NONE).flows, plain(LTE));
}

#[test]
#[ignore = "slow"]
fn ues_that_change_the_cell_go_on_in_the_other() {
    let changed = run(Some(15), ProbeMask::NONE);
    let [slow, fast] = [UMTS, LTE].map(|radio| goodput(&plain(radio)));
    let between = goodput(&changed.flows);
    assert!(slow < between && between < fast, "{slow} {between} {fast}");
    for fork in &changed.forks {
        assert!(fork["packets"].as_array().unwrap().iter().all(|count| count.as_u64() > Some(100)), "{fork}");
    }
}

#[test]
#[ignore = "slow"]
fn observation_changes_nothing_in_a_graph() {
    let observed = run(Some(15), ProbeMask::ALL);
    assert_eq!(observed.flows, run(Some(15), ProbeMask::NONE).flows);
    // Each node has packets: of the cells, the first until the change, the second from then on.
    let change = Instant::ZERO + Duration::from_secs(15);
    let at_cell = |number: u16| {
        let arrivals = observed.trace.iter().filter_map(move |(at, event)| match event {
            Event::Packet { element, direction: Dir::Downlink, .. } if *element == number => Some(*at),
            _ => None,
        });
        arrivals.collect::<Vec<_>>()
    };
    assert!(at_cell(3).into_iter().all(|at| at <= change));
    assert!(at_cell(4).into_iter().all(|at| at >= change));
    assert!([3, 4].into_iter().all(|cell| at_cell(cell).len() > 100));
}

/// Two wires, two cells behind one of them, and UEs of all kinds; `further` goes behind.
fn town(further: &str) -> String {
    let umts = UMTS.replace("[radio", "[cell.radio").replace("ues = 2\n", "");
    format!(
        r#"
duration = "20 s"
tcp.profile = "linux"
[[way]]
name = "backhaul"
wired = {{ rate = "1 Gbit/s", delay = "20 ms" }}
[[way]]
name = "fixed"
wired = {{ rate = "8 Mbit/s", delay = "10 ms", queue.droptail.packets = 40 }}
[[cell]]
name = "macro"
behind = "backhaul"
{umts}
[[cell]]
name = "small"
behind = "backhaul"
radio = "lte"
[[ue]]
name = "walker"
attach = ["macro"]
[[ue]]
name = "phone"
attach = ["small", "fixed"]
[[flow]]
ue = "walker"
app = "bulk"
{further}"#
    )
}

fn parsed(text: &str) -> Scenario {
    Scenario::parse(text, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn results(scenario: &Scenario, observe: Observe) -> (Vec<FlowReport>, serde_json::Value) {
    let mut run = Simulation::new(scenario, SEED, observe);
    run.run();
    let results = serde_json::to_value(run.results()).unwrap();
    (run.flows(), results)
}

#[test]
#[ignore = "slow"]
fn one_way_and_one_cell_with_names_are_a_scenario_without_names() {
    let named = r#"
        duration = "30 s"
        tcp.profile = "linux"
        way = [{ name = "wire", wired = { rate = "100 Mbit/s", delay = "20 ms" } }]
        cell = [{ name = "cell", behind = "wire", radio = "lte" }]
        ue = [{ name = "one", attach = ["cell"] }, { name = "other", attach = ["cell"] }]
        flow = [{ ue = "each", stagger = "10 ms", app.bulk = {} }]
    "#;
    let (mut flows, _) = results(&parsed(named), Observe::default());
    let names: Vec<_> = flows.iter_mut().map(|flow| flow.interface.take()).collect();
    assert_eq!(names, [Some("one".to_owned()), Some("other".to_owned())]);
    assert_eq!(flows, plain(LTE));
}

#[test]
#[ignore = "slow"]
fn a_ue_has_a_flow_over_each_of_its_interfaces() {
    let both = "[[flow]]\nue = \"phone\"\napp = \"bulk\"\n[[flow]]\nue = \"phone\"\nover = \"fixed\"\napp = \"bulk\"";
    let (flows, results) = results(&parsed(&town(both)), Observe::default());
    let named: Vec<_> = flows.iter().map(|flow| (flow.ue, flow.interface.as_deref().unwrap())).collect();
    assert_eq!(named, [(0, "walker"), (1, "phone over small"), (2, "phone over fixed")]);
    // Each has a bottleneck of its own: the bearer of 384 kbit/s, LTE, and the wire of 8 Mbit/s.
    let rates: Vec<_> = flows.iter().map(|flow| flow.goodput_bps / 1e6).collect();
    assert!((0.28..0.384).contains(&rates[0]), "{rates:?}");
    assert!((1.5..60.0).contains(&rates[1]), "{rates:?}");
    assert!((7.4..7.8).contains(&rates[2]), "{rates:?}");
    let nodes: Vec<_> =
        results["elements"].as_array().unwrap().iter().map(|own| own["node"].clone()).collect();
    let expected = [
        "fork server",
        "link backhaul",
        "fork backhaul",
        "radio.dch macro",
        "radio.lte small",
        "link fixed",
        "fork ue",
    ];
    assert_eq!(nodes, expected);
    let names = parsed(&town("")).path();
    assert_eq!(names, [&["server"], &expected[..], &["ue"]].concat());
}

#[test]
fn a_hand_over_leads_to_another_cell() {
    let change = "[[handover]]\nue = \"walker\"\nat = \"10 s\"\noutage = \"300 ms\"\nto = \"small\"";
    let moved = parsed(&town(change));
    let (flows, counted) = results(&moved, Observe::default());
    let (stayed, _) = results(&parsed(&town("")), Observe::default());
    assert!(
        flows[0].goodput_bps > 2.0 * stayed[0].goodput_bps,
        "{} {}",
        flows[0].goodput_bps,
        stayed[0].goodput_bps
    );
    let delivered = |node: &str| {
        let element = counted["elements"].as_array().unwrap().iter().find(|own| own["node"] == node).unwrap();
        element["ues"][0]["downlink"]["sdus_delivered"].as_u64().unwrap()
    };
    assert!(delivered("radio.dch macro") > 200 && delivered("radio.lte small") > 1000);
    // Each phase of the outage is reported once, and nothing arrives in it.
    let mut run = Simulation::new(&moved, SEED, Observe { probes: ProbeMask::ALL, ..Observe::default() });
    run.run();
    assert_eq!(run.flows(), flows);
    let trace = run.take_trace();
    let phases = trace.iter().filter_map(|(at, event)| match event {
        Event::Outage { ue: 0, phase } => Some((at.as_nanos() / 1_000_000, phase.name())),
        _ => None,
    });
    assert_eq!(phases.collect::<Vec<_>>(), [(9_500, "expected"), (10_000, "began"), (10_300, "ended")]);
    let ms = |millis| Instant::ZERO + Duration::from_millis(millis);
    let silent = trace.iter().filter(|(at, event)| {
        matches!(event, Event::SegmentReceived { ue: 0, .. }) && (ms(10_100)..ms(10_300)).contains(at)
    });
    assert_eq!(silent.count(), 0);
}

#[test]
fn a_box_hears_of_the_cells_on_its_way() {
    let regulated = town("[[flow]]\nue = \"phone\"\napp = \"bulk\"")
        .replace("name = \"small\"", "name = \"small\"\nmiddlebox = [{ ack_regulator = {} }]")
        .replace("radio = \"lte\"", "radio.lte.downlink.queue.droptail.packets = 100");
    let (_, results) = results(&parsed(&regulated), Observe::default());
    let regulator = results["elements"]
        .as_array()
        .unwrap()
        .iter()
        .find(|own| own["element"] == "middlebox.ack_regulator");
    let flows = regulator.unwrap()["flows"].as_array().unwrap();
    assert_eq!(flows.iter().map(|flow| flow["ue"].clone()).collect::<Vec<_>>(), [1]);
}

#[test]
fn the_resolved_scenario_reads_back_as_the_same() {
    let change = "[[handover]]\nue = \"walker\"\nat = \"10 s\"\nto = \"small\"";
    let scenario = parsed(&town(change));
    let text = scenario.to_toml().unwrap();
    assert!(!text.contains("\n[radio") && !text.contains("[wired]"), "{text}");
    let again = parsed(&text);
    assert_eq!(again, scenario);
    assert_eq!(again.to_toml().unwrap(), text);
}

#[test]
fn every_error_of_names_says_what_would_be_right() {
    let base = town("");
    let cases = [
        (base.replace("behind = \"backhaul\"", "behind = \"backhall\""), "cell[0].behind"),
        (base.replace("name = \"small\"", "name = \"macro\""), "cell[1].name"),
        (base.replace("name = \"phone\"\n", ""), "ue[1].name"),
        (base.replace("\"fixed\"]", "\"wifi\"]"), "ue[1].attach"),
        (base.replace("attach = [\"macro\"]", "attach = []"), "ue[0].attach"),
        (base.replace("ue = \"walker\"", "ue = \"runner\""), "flow[0].ue"),
        (base.replace("ue = \"walker\"", "ue = \"walker\"\nover = \"small\""), "flow[0].over"),
        (base.replace("ue = \"walker\"", "ue = 0\nover = \"macro\""), "flow[0].over"),
        (base.replace("name = \"fixed\"", "name = \"fixed\"\nbehind = \"fixed\""), "way[1].behind"),
        (base.replace(", \"fixed\"]", "]"), "way[1].name"),
        (base.replace("radio = \"lte\"", "radio.lte.ues = 7"), "cell[1].radio.lte.ues"),
        (base.replace("radio = \"lte\"", "radio.lte.downlink.rate = 1"), "cell[1].radio.lte.downlink.rate"),
        (format!("wired.delay = \"1 ms\"\n{base}"), "wired"),
        (
            base.replace("name = \"fixed\"", "name = \"fixed\"\nmiddlebox = [{ ack_regulator = {} }]"),
            "way[1].middlebox[0].ack_regulator",
        ),
        (
            base.replace(
                "name = \"fixed\"",
                "name = \"fixed\"\nmiddlebox = [{ window_clamp.window = \"100 B\" }]",
            ),
            "way[1].middlebox[0].window_clamp.window",
        ),
        (
            town("[[handover]]\nue = \"walker\"\nto = \"small\"")
                .replace("radio = \"lte\"", "radio = \"evdo\""),
            "handover[0]",
        ),
        (town("[[handover]]\nue = \"walker\"\nto = \"large\""), "handover[0].to"),
        (town("[[handover]]\nue = \"walker\"\nto = \"macro\""), "handover[0].to"),
        (town("[[handover]]\nue = \"walker\"\npath_switch = \"1 ms\""), "handover[0].path_switch"),
        (town("[[handover]]\nue = \"phone\"\nfrom = \"fixed\"\nto = \"small\""), "handover[0].ue"),
        ("flow = [{ over = \"a\", app = \"bulk\" }]".to_owned(), "flow[0].over"),
        ("flow = [{ app = \"bulk\" }]\nhandover = [{ to = \"a\" }]".to_owned(), "handover[0].to"),
        ("flow = [{ app = \"bulk\" }]\ncell = [{ name = \"a\" }]".to_owned(), "ue"),
    ];
    for (text, key) in cases {
        let error = Scenario::parse(&text, &[]).expect_err(&text);
        assert_eq!(error.path, key, "{error}");
        assert!(!error.hint.is_empty(), "{error}");
    }
}
