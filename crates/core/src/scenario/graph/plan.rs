//! The graph of elements that a scenario describes.

use super::{Cell, Moves, Scenario, Way};
use crate::element::{Element, Graph, Joint, NodeId, Port};
use crate::fork::{Change, Fork};
use crate::handover::Config;
use crate::host::FlowSpec;
use crate::link;
use crate::middlebox::{self, Place};
use crate::mobility::CellAir;
use crate::packet::Dir;
use crate::radio;
use crate::rng;
use crate::split_bearer::SplitBearers;
use crate::tcp;
use crate::time::Instant;
use std::cmp::Reverse;
use std::ops::Range;

/// Elements of a scenario between two ends, as a graph.
pub struct Plan {
    /// The graph, with both ends.
    pub graph: Graph,
    /// The end of the UEs.
    pub ues: NodeId,
}

/// Seed of one of several links or cells. A single one has the seed of the run, as in a scenario without names.
fn seed_of(run_seed: u64, kind: &str, name: &str, is_only: bool) -> u64 {
    if is_only { run_seed } else { rng::stream(run_seed, &format!("{kind}.{name}")).next_u64() }
}

/// A part of a scenario's graph.
pub(crate) struct Part {
    /// The graph.
    pub graph: Graph,
    /// The end of the UEs.
    pub ues: NodeId,
    /// The nodes that other parts do not have.
    pub own: Range<usize>,
}

/// How a scenario's graph falls into parts.
pub(crate) enum Split<'a> {
    /// Into so many that meet at the server.
    Apart(usize),
    /// Into so many that meet at the end of a way.
    Behind(&'a Way, usize),
    /// Not at all.
    Whole,
}

/// A node directly below the server or a way.
#[derive(Clone, Copy)]
enum Child<'a> {
    Way(&'a Way),
    Cell(&'a Cell),
    /// Interfaces that are attached to the way itself.
    Interfaces,
}

impl Scenario {
    /// The elements between two ends: a line with a single cell, otherwise a tree of ways whose leaves meet again at
    /// the UEs. `real` are UEs that are not simulated.
    pub fn plan(&self, run_seed: u64, ends: [Box<dyn Element>; 2], real: Option<&[u16]>) -> Plan {
        let [server, ues] = ends;
        if !self.is_graph() {
            let network = match real {
                Some(real) => self.network_in_session(run_seed, real),
                None => self.network(run_seed),
            };
            let elements: Vec<_> = [server].into_iter().chain(network).chain([ues]).collect();
            let last = NodeId(elements.len() as u16 - 1);
            return self.finished(Plan { graph: Graph::from(elements), ues: last });
        }
        // What UEs measure gives hand-overs as a scenario may write them.
        let mut measured = self.clone();
        let airs = measured.measure(run_seed);
        let scenario = &measured;
        let flows = real.map_or_else(|| self.flows(), |real| self.flows_beside(real));
        let mut planner = Planner {
            scenario,
            moves: scenario.moves(),
            airs: &airs,
            run_seed,
            flows: &flows,
            session: real.map(|_| &self.tcp),
            graph: Graph::default(),
            leaves: Vec::new(),
            splits: Vec::new(),
            boxes: 0,
            only: None,
            own: 0..0,
        };
        let server = (planner.node("server", server), Port::DOWN);
        planner.branch(Some(server), None);
        self.finished(planner.finish(ues))
    }

    /// One part of the graph that [`Scenario::plan`] makes, with the same elements: of the nodes directly below `place`,
    /// the server or a way, only this child with all below it. Begins with `server` or, without it, with the fork at
    /// the end of the way.
    pub(crate) fn part(
        &self,
        run_seed: u64,
        place: Option<&str>,
        child: usize,
        server: Option<Box<dyn Element>>,
        ues: Box<dyn Element>,
    ) -> Part {
        let flows = self.flows();
        let mut planner = Planner {
            scenario: self,
            moves: self.moves(),
            airs: &[],
            run_seed,
            flows: &flows,
            session: None,
            graph: Graph::default(),
            leaves: Vec::new(),
            splits: Vec::new(),
            boxes: place.map_or(0, |place| {
                self.way.iter().filter(|way| way.name == place).map(|way| way.middlebox.len()).sum()
            }),
            only: Some(Only { place, child }),
            own: 0..0,
        };
        let server = server.map(|server| (planner.node("server", server), Port::DOWN));
        planner.branch(server, place);
        let own = planner.own.clone();
        let Plan { graph, ues } = planner.finish(ues);
        Part { graph, ues, own }
    }

    /// Where the graph of the scenario falls into parts that meet at one place alone.
    pub(crate) fn split(&self) -> Split<'_> {
        let roots = self.children(None);
        if let [Child::Way(way)] = roots[..] {
            return match self.children(Some(&way.name)).len() {
                0 | 1 => Split::Whole,
                parts => Split::Behind(way, parts),
            };
        }
        if roots.len() > 1 { Split::Apart(roots.len()) } else { Split::Whole }
    }

    /// Seed of the link of a way or a cell.
    pub(crate) fn link_seed(&self, run_seed: u64, owner: &str) -> u64 {
        seed_of(run_seed, "link", owner, self.wires().len() == 1)
    }

    /// The part of each interface, by its number, where the graph is split below `place`.
    pub(crate) fn parts_of_interfaces(&self, place: Option<&str>) -> Vec<u16> {
        let children = self.children(place);
        self.interfaces().map(|(_, to)| self.way_to(&children, place, to).unwrap_or(0)).collect()
    }

    /// Names of all places where interfaces may be attached, depth first.
    fn leaves_below(&self, place: Option<&str>) -> Vec<String> {
        let leaves = self.children(place).into_iter().flat_map(|child| match child {
            Child::Way(way) => self.leaves_below(Some(&way.name)),
            Child::Cell(cell) => vec![cell.name.clone()],
            Child::Interfaces => vec![place.unwrap_or_default().to_owned()],
        });
        leaves.collect()
    }

    /// Boxes of a node and of all below it.
    fn boxes_of(&self, child: &Child<'_>) -> usize {
        match child {
            Child::Way(way) => {
                let below = self.children(Some(&way.name));
                way.middlebox.len() + below.iter().map(|next| self.boxes_of(next)).sum::<usize>()
            }
            Child::Cell(cell) => cell.middlebox.len(),
            Child::Interfaces => 0,
        }
    }

    fn finished(&self, mut plan: Plan) -> Plan {
        if self.may_change() {
            plan.graph.set_may_change();
        }
        plan
    }

    /// The nodes directly below a way, or below the server.
    fn children(&self, place: Option<&str>) -> Vec<Child<'_>> {
        let ways = self.way.iter().filter(|way| way.behind.as_deref() == place).map(Child::Way);
        let cells = self.cell.iter().filter(|cell| cell.behind.as_deref() == place).map(Child::Cell);
        let attached = self.interfaces().any(|(_, to)| Some(to.as_str()) == place);
        ways.chain(cells).chain(attached.then_some(Child::Interfaces)).collect()
    }

    /// Index of the child of `place` that leads to the cell or way called `name`.
    fn way_to(&self, children: &[Child<'_>], place: Option<&str>, name: &str) -> Option<u16> {
        let cell = self.cell.iter().find(|cell| cell.name == name);
        let behind = cell.map_or(Some(name), |cell| cell.behind.as_deref());
        let leads = |child: &Child<'_>| match child {
            Child::Way(way) => self.is_behind(behind, &way.name),
            Child::Cell(own) => own.name == name,
            Child::Interfaces => place == Some(name),
        };
        children.iter().position(leads).map(|way| way as u16)
    }
}

/// Hand-overs that switch the path of an interface, in the order given: a later one may do so before.
fn path_switches(handovers: &[Config]) -> Vec<&Config> {
    let mut latest_first: Vec<_> = handovers.iter().enumerate().filter(|(_, own)| own.to.is_some()).collect();
    latest_first.sort_by_key(|(_, own)| (own.ue, Reverse(own.at)));
    let mut switches = Vec::new();
    for of_ue in latest_first.chunk_by(|(_, one), (_, other)| one.ue == other.ue) {
        let mut earliest = Instant::NEVER;
        for same in of_ue.chunk_by(|(_, one), (_, other)| one.at == other.at) {
            switches.extend(same.iter().filter(|(_, own)| own.switches() < earliest));
            earliest = same.iter().map(|(_, own)| own.switches()).fold(earliest, Instant::min);
        }
    }
    switches.sort_by_key(|(number, _)| *number);
    switches.into_iter().map(|(_, own)| own).collect()
}

/// Which child of which place is planned alone; other children of other places do not meet it.
#[derive(Clone, Copy)]
struct Only<'a> {
    place: Option<&'a str>,
    child: usize,
}

/// Makes the graph of a scenario, depth first.
struct Planner<'a> {
    scenario: &'a Scenario,
    moves: Moves<'a>,
    /// Reception of each cell at the UEs, in the order of the cells; empty if no UE measures.
    airs: &'a [CellAir],
    run_seed: u64,
    flows: &'a [FlowSpec],
    session: Option<&'a tcp::Config>,
    graph: Graph,
    /// Places where interfaces are attached: name, the joint that leads on towards the UEs, and the cell if it is one.
    leaves: Vec<(String, Joint, Option<NodeId>)>,
    /// Elements of split bearers, each with the cells that give packets back to it.
    splits: Vec<(NodeId, Vec<&'a str>)>,
    /// Boxes made or left out so far.
    boxes: usize,
    /// The part that is planned; the whole if absent.
    only: Option<Only<'a>>,
    /// Its nodes, without those in front of it and behind it.
    own: Range<usize>,
}

impl Planner<'_> {
    fn node(&mut self, name: &str, element: Box<dyn Element>) -> NodeId {
        let node = self.graph.node(element);
        self.graph.set_name(node, name);
        node
    }

    fn append(&mut self, upper: Joint, name: String, element: Box<dyn Element>) -> Joint {
        let joint = self.graph.append(upper, element);
        self.graph.set_name(joint.0, name);
        joint
    }

    fn append_boxes(
        &mut self,
        mut at: Joint,
        owner: &str,
        boxes: &[middlebox::Config],
        place: Place,
    ) -> Joint {
        for config in boxes.iter().filter(|config| config.place() == place) {
            let (run_seed, flows, session) = (self.run_seed, self.flows, self.session);
            let element = config.build(&middlebox::Plan { run_seed, number: self.boxes, flows, session });
            self.boxes += 1;
            at = self.append(at, format!("middlebox.{} {owner}", config.name()), element);
        }
        at
    }

    fn append_link(&mut self, at: Joint, owner: &str, link: &link::Config) -> Joint {
        let seed = self.scenario.link_seed(self.run_seed, owner);
        self.append(at, format!("link {owner}"), link.build_for(seed, "wired", self.scenario.may_change()))
    }

    /// Builds everything below a joint of the server or of the way `place`; without a joint, the graph begins there.
    fn branch(&mut self, from: Option<Joint>, place: Option<&str>) {
        let scenario = self.scenario;
        let from = from.map(|from| self.append_split_bearers(from, place));
        let children = scenario.children(place);
        let joints = match u16::try_from(children.len()).unwrap_or(u16::MAX) {
            1 => Vec::from_iter(from),
            count => {
                let way_to = |name: &str| scenario.way_to(&children, place, name);
                let ways = scenario.interfaces().map(|(_, to)| way_to(to).unwrap_or(0)).collect();
                let changes = path_switches(&scenario.handover).into_iter().filter_map(|handover| {
                    let to = way_to(handover.to.as_deref()?)?;
                    Some(Change { at: handover.switches(), ue: handover.ue, to })
                });
                let fork = Fork::new(Dir::Downlink, count, ways, changes.collect());
                let name = format!("fork {}", place.unwrap_or("server"));
                let node = match from {
                    Some(from) => self.append(from, name, Box::new(fork)).0,
                    None => self.node(&name, Box::new(fork)),
                };
                (0..count).map(|way| (node, Fork::port(Dir::Downlink, way))).collect()
            }
        };
        let only = self.only.filter(|only| only.place == place);
        for ((number, child), joint) in children.iter().enumerate().zip(joints) {
            if only.is_some_and(|only| only.child != number) {
                self.boxes += scenario.boxes_of(child);
                continue;
            }
            let first = self.graph.names().len();
            match child {
                Child::Way(way) => {
                    let end = self.append_link(joint, &way.name, &way.wired);
                    let end = self.append_boxes(end, &way.name, &way.middlebox, Place::Network);
                    self.branch(Some(end), Some(&way.name));
                }
                Child::Cell(cell) => self.cell(joint, cell),
                Child::Interfaces => self.leaves.push((place.unwrap_or_default().to_owned(), joint, None)),
            }
            if only.is_some() {
                self.own = first..self.graph.names().len();
            }
        }
    }

    fn cell(&mut self, from: Joint, cell: &Cell) {
        let at = match &cell.wired {
            Some(link) => self.append_link(from, &cell.name, link),
            None => from,
        };
        let at = self.append_boxes(at, &cell.name, &cell.middlebox, Place::Network);
        let episodes = self.scenario.episodes(&self.moves, &cell.name);
        let run_seed = seed_of(self.run_seed, "cell", &cell.name, self.scenario.cell.len() == 1);
        let air = self.scenario.cell.iter().zip(self.airs).find(|(own, _)| own.name == cell.name);
        let element = cell.radio.build(&radio::Plan {
            run_seed,
            first_ue: 0,
            handovers: &episodes,
            classes: &[],
            air: air.map(|(_, air)| air),
            may_change: self.scenario.may_change(),
            legs: &self.scenario.legs(),
        });
        let (node, below) = self.append(at, cell.node_name(), element);
        let end = self.append_boxes((node, below), &cell.name, &cell.middlebox, Place::Ue);
        self.leaves.push((cell.name.clone(), end, Some(node)));
    }

    /// Joins cells that forward to each other: each has a pair of ports for this, one towards servers and one towards
    /// UEs.
    fn join_neighbours(&mut self) {
        let node =
            |name: &str| self.leaves.iter().find_map(|(own, _, cell)| (own == name).then_some(*cell)?);
        let joints = self.moves.neighbours.iter().filter_map(|[one, other]| {
            let sides = [self.moves.side(one, other)?, self.moves.side(other, one)?];
            Some([(node(one)?, sides[0]), (node(other)?, sides[1])])
        });
        for [one, other] in joints.collect::<Vec<_>>() {
            for (upper, lower) in [(one, other), (other, one)] {
                let port = |(cell, side), dir| (cell, Port::of_pair(side, dir));
                self.graph.join_beside(port(upper, Dir::Downlink), port(lower, Dir::Uplink));
            }
        }
    }

    /// Adds the split bearers whose legs part here.
    fn append_split_bearers(&mut self, from: Joint, place: Option<&str>) -> Joint {
        let plans = self.scenario.split_bearers(place);
        if plans.is_empty() {
            return from;
        }
        let cells = self.scenario.returning_cells(&self.moves, place);
        let element = SplitBearers::new(&plans, cells.len() as u16, self.run_seed);
        let name = format!("split_bearers {}", place.unwrap_or("server"));
        let below = self.append(from, name, Box::new(element));
        self.splits.push((below.0, cells));
        below
    }

    /// Joins cells with the split bearers that receive their packets.
    fn join_split_bearers(&mut self) {
        let mut joints = Vec::new();
        for (split, cells) in &self.splits {
            for (number, name) in (0..).zip(cells) {
                let cell = self.leaves.iter().find_map(|(own, _, cell)| (own == name).then_some(*cell)?);
                let Some(cell) = cell else { continue };
                let (own, other) = ((cell, self.moves.last_side(name)), (*split, SplitBearers::side(number)));
                joints.extend([(own, other), (other, own)]);
            }
        }
        for ((upper, side), (lower, other)) in joints {
            let upper = (upper, Port::of_pair(side, Dir::Downlink));
            self.graph.join_beside(upper, (lower, Port::of_pair(other, Dir::Uplink)));
        }
    }

    /// Joins all leaves with the end of the UEs.
    fn finish(mut self, ues: Box<dyn Element>) -> Plan {
        let scenario = self.scenario;
        self.join_neighbours();
        self.join_split_bearers();
        let names = match self.only {
            Some(_) => scenario.leaves_below(None),
            None => self.leaves.iter().map(|(name, ..)| name.clone()).collect(),
        };
        let end = match &self.leaves[..] {
            [(_, joint, _)] if names.len() == 1 => *joint,
            leaves => {
                let leaf = |name: &str| names.iter().position(|own| own == name).map(|leaf| leaf as u16);
                let ways = scenario.interfaces().map(|(_, to)| leaf(to).unwrap_or(0)).collect();
                // Packets that a UE sends during the outage wait for the new cell. Packets of its old bearers come
                // first, if they are forwarded to the new cell.
                let changes = scenario.handover.iter().filter_map(|handover| {
                    let to = leaf(handover.to.as_deref()?)?;
                    let at = if handover.forward { handover.leaves() } else { handover.begins() };
                    Some(Change { at, ue: handover.ue, to })
                });
                let built = |name: &String| leaves.iter().find(|(own, ..)| own == name);
                let cells = names.iter().map(|name| built(name).and_then(|(.., cell)| *cell)).collect();
                let fork =
                    Fork::new(Dir::Uplink, names.len() as u16, ways, changes.collect()).with_cells(cells);
                let joints = (0..).zip(&names).filter_map(|(way, name)| Some((way, built(name)?.1)));
                let joints: Vec<(u16, Joint)> = joints.collect();
                let node = self.node("fork ue", Box::new(fork));
                for (way, joint) in joints {
                    self.graph.join(joint, (node, Fork::port(Dir::Uplink, way)));
                }
                (node, Port::DOWN)
            }
        };
        let end = self.splits.iter().fold(end, |end, (node, _)| {
            self.graph.join(end, (*node, SplitBearers::from_legs()));
            (*node, SplitBearers::to_ues())
        });
        let (ues, _) = self.append(end, "ue".to_owned(), ues);
        Plan { graph: self.graph, ues }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    const CELLS: [&str; 3] = ["a", "b", "c"];

    fn random_handovers(stream: &mut rng::Stream) -> Vec<Config> {
        let handover = |_| {
            let mut draw = |below: u64| stream.next_u64() % below;
            Config {
                ue: draw(2) as u16,
                at: Duration::from_secs(draw(4)),
                to: CELLS.get(draw(4) as usize).map(|name| (*name).to_owned()),
                path_switch: Some(Duration::from_millis(draw(3) * 1500)),
                ..Config::default()
            }
        };
        (0..8).map(handover).collect()
    }

    /// Both are found in one pass, and defined by comparing each hand-over with all others.
    #[test]
    fn hand_overs_lead_where_the_last_one_before_led_and_switch_paths_unless_a_later_one_did() {
        let cells = CELLS.map(|name| format!("[[cell]]\nname = \"{name}\"\nradio.lte = {{}}\n")).concat();
        let ues = "[[ue]]\nname = \"u\"\nattach = [\"a\"]\n[[ue]]\nname = \"v\"\nattach = [\"b\"]\n";
        let text = format!("{cells}{ues}[[flow]]\nue = \"u\"\napp.bulk = {{}}");
        let mut scenario = Scenario::parse(&text, &[]).unwrap();
        let mut stream = rng::stream(1, "hand-overs");
        for _ in 0..2000 {
            scenario.handover = random_handovers(&mut stream);
            let all = &scenario.handover;
            let ends = all.iter().map(|own| {
                let before = all.iter().filter(|other| other.ue == own.ue && other.at < own.at);
                let last = before.filter(|other| other.to.is_some()).max_by_key(|other| other.at);
                let from =
                    last.and_then(|other| other.to.as_deref()).unwrap_or(["a", "b"][usize::from(own.ue)]);
                Some((from, own.to.as_deref().unwrap_or(from)))
            });
            assert_eq!(scenario.moves().ends, ends.collect::<Vec<_>>(), "{all:?}");
            let is_overtaken = |own: &Config| {
                let of_ue = all.iter().filter(|other| other.ue == own.ue && other.to.is_some());
                of_ue.into_iter().any(|other| other.at > own.at && other.switches() <= own.switches())
            };
            let switches = all.iter().filter(|own| own.to.is_some() && !is_overtaken(own));
            assert_eq!(path_switches(all), switches.collect::<Vec<_>>(), "{all:?}");
        }
    }
}
