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

/// Server, link and gateway; behind it a UMTS and an LTE cell; both UEs change from UMTS to LTE at `change`, if ever.
fn run(change: Option<u64>, probes: ProbeMask) -> Run {
    let [slow, fast] = [UMTS, LTE].map(scenario);
    let flows = slow.flows();
    let mut graph = Graph::default();
    let [link, slow_cell]: [Box<dyn Element>; 2] = slow.network(SEED).try_into().ok().unwrap();
    let host = |dir| Box::new(Host::new(dir, UES, &flows, SEED));
    let server = graph.node(host(Dir::Downlink));
    let link = graph.append((server, Port::DOWN), link);
    // Nodes are numbered in the order in which they are added: the cells follow the gateway.
    let [first, second] = [3, 4].map(NodeId);
    let changes = |deciding: bool| {
        let each = change.into_iter().flat_map(move |at| {
            let at = Instant::ZERO + Duration::from_secs(at);
            (0..UES).map(move |ue| Change { at, ue, to: 1, cell: deciding.then_some(second) })
        });
        each.collect()
    };
    let fork = |dir| Box::new(Fork::new(dir, 2, vec![0; UES.into()], changes(dir == Dir::Downlink)));
    let (gateway, _) = graph.append(link, fork(Dir::Downlink));
    let way = |dir, number| Fork::port(dir, number);
    let umts = graph.append((gateway, way(Dir::Downlink, 0)), slow_cell);
    let lte = graph.append((gateway, way(Dir::Downlink, 1)), fast.network(SEED).pop().unwrap());
    assert_eq!([umts.0, lte.0], [first, second]);
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
fn ues_that_stay_in_a_cell_have_what_they_have_where_it_is_the_only_one() {
    assert_eq!(run(None, ProbeMask::NONE).flows, plain(UMTS));
    assert_eq!(run(Some(0), ProbeMask::NONE).flows, plain(LTE));
}

#[test]
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
