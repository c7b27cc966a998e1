//! Scenarios with several cells, wires and interfaces: `[[way]]`, `[[cell]]` and `[[ue]]`.
//!
//! Ways and cells form a tree whose root is the server. Interfaces of UEs are attached to its leaves, and each has a number
//! of its own, in the order of the UEs and of `attach`: the `ue` of flows, results and traces. A scenario with one cell has
//! `[wired]`, `[[middlebox]]` and `[radio]` instead, and as many UEs as the cell says.
//!
//! Left out: `[umts]`; data forwarding between cells (what the old cell holds at a change is lost); the return of an
//! interface to a cell that it has left; boxes on a way keep their state across a change of cell.

use super::Scenario;
use crate::element::{Element, Graph, Joint, NodeId, Port};
use crate::error::ScenarioError;
use crate::fork::{Change, Fork};
use crate::handover::{Episode, Role};
use crate::host::FlowSpec;
use crate::link;
use crate::middlebox::{self, Place};
use crate::packet::Dir;
use crate::radio;
use crate::rng;
use crate::tcp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// A wired link from the server, or from the end of another way, to cells, further ways and wired interfaces.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Way {
    /// Name, by which cells, ways and UEs refer to it.
    pub name: String,
    /// Name of the way at whose end it begins; at the server if absent.
    pub behind: Option<String>,
    /// The link.
    pub wired: link::Config,
    /// Boxes behind the link, from the server's side.
    pub middlebox: Vec<middlebox::Config>,
}

/// A cell, and what leads to it alone.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cell {
    /// Name, by which UEs and hand-overs refer to it.
    pub name: String,
    /// Name of the way at whose end it is; at the server if absent.
    pub behind: Option<String>,
    /// Link to the cell, beside those of the ways.
    pub wired: Option<link::Config>,
    /// Boxes between that link and the cell, and between the cell and the UEs, each from the server's side.
    pub middlebox: Vec<middlebox::Config>,
    /// The cell itself. The number of its UEs is that of all interfaces.
    pub radio: radio::Config,
}

/// A UE.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ue {
    /// Name, by which flows and hand-overs refer to it.
    pub name: String,
    /// Names of the cells and ways to which it is attached at the start, each by an interface of its own.
    pub attach: Vec<String>,
}

/// Elements of a scenario between two ends, as a graph.
pub struct Plan {
    /// The graph, with both ends.
    pub graph: Graph,
    /// The end of the UEs.
    pub ues: NodeId,
}

/// What is directly behind the server or a way.
#[derive(Clone, Copy)]
enum Child<'a> {
    Way(&'a Way),
    Cell(&'a Cell),
    /// Interfaces that are attached to the way itself.
    Interfaces,
}

/// Keys that hold for the only cell of a scenario.
pub(super) const OF_ONE_CELL: [&str; 4] = ["wired", "middlebox", "radio", "umts"];

fn named<'a>(table: &'a Table, list: &str) -> Vec<&'a Table> {
    table.get(list).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table).collect()
}

fn text<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key).and_then(Value::as_str)
}

/// Puts numbers of interfaces in the place of names of UEs, and says to cells how many there are.
pub(super) fn resolve(table: &mut Table) -> Result<(), ScenarioError> {
    if !["way", "cell", "ue"].iter().any(|key| table.contains_key(*key)) {
        return Ok(());
    }
    if let Some(key) = OF_ONE_CELL.into_iter().find(|key| table.contains_key(*key)) {
        let message = "is for scenarios with one cell, and this one has [[way]], [[cell]] or [[ue]]";
        return Err(ScenarioError::new(key, message, "move it into a [[cell]] or a [[way]]"));
    }
    let mut interfaces: Vec<(String, String)> = Vec::new();
    for (index, ue) in named(table, "ue").into_iter().enumerate() {
        let attached = ue.get("attach").and_then(Value::as_array).into_iter().flatten();
        let attached: Vec<_> = attached.filter_map(Value::as_str).collect();
        if attached.is_empty() {
            let hint = "write the names of cells and ways: attach = [\"NAME\"]";
            return Err(ScenarioError::new(
                format!("ue[{index}].attach"),
                "the UE is attached to nothing",
                hint,
            ));
        }
        let name = text(ue, "name").unwrap_or_default();
        interfaces.extend(attached.into_iter().map(|to| (name.to_owned(), to.to_owned())));
    }
    let count = i64::try_from(interfaces.len()).unwrap_or(i64::MAX).max(1);
    for (index, cell) in list(table, "cell").iter_mut().enumerate() {
        let Some(cell) = cell.as_table_mut() else { continue };
        let radio = cell.entry("radio").or_insert_with(|| Table::from_iter([one("dch")]).into());
        let Some((kind, Value::Table(parameters))) =
            radio.as_table_mut().and_then(|radio| radio.iter_mut().next())
        else {
            continue;
        };
        let ues = parameters.entry("ues").or_insert(Value::Integer(count));
        if *ues != Value::Integer(count) {
            let key = format!("cell[{index}].radio.{kind}.ues");
            let message = format!("there are {count} interfaces of UEs, not {ues}");
            return Err(ScenarioError::new(key, message, "remove the key: the number follows from [[ue]]"));
        }
    }
    for (owner, over) in [("flow", "over"), ("handover", "from")] {
        for (index, entry) in list(table, owner).iter_mut().enumerate() {
            let Some(entry) = entry.as_table_mut() else { continue };
            let own = text(entry, over).map(str::to_owned);
            let Some(name) = text(entry, "ue").filter(|ue| *ue != "each").map(str::to_owned) else {
                continue;
            };
            let place = format!("{owner}[{index}]");
            let number = find(&interfaces, &name, own.as_deref()).map_err(|error| error.under(&place))?;
            entry.insert("ue".to_owned(), Value::Integer(number as i64));
            entry.remove(over);
        }
    }
    Ok(())
}

fn one(component: &str) -> (String, Value) {
    (component.to_owned(), Value::Table(Table::new()))
}

fn list<'a>(table: &'a mut Table, key: &str) -> &'a mut [Value] {
    table.get_mut(key).and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

/// Number of the interface of this UE that is attached there, or of its first one.
fn find(interfaces: &[(String, String)], ue: &str, over: Option<&str>) -> Result<usize, ScenarioError> {
    let own = || interfaces.iter().enumerate().filter(|(_, (name, _))| name == ue);
    if own().next().is_none() {
        let mut known: Vec<_> = interfaces.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        known.dedup();
        let hint = format!("known here: {}; or write \"each\"", known.join(", "));
        return Err(ScenarioError::new("ue", format!("no [[ue]] is called \"{ue}\""), hint));
    }
    let mut found = own().filter(|(_, (_, to))| over.is_none_or(|over| over == to));
    found.next().map(|(number, _)| number).ok_or_else(|| {
        let known: Vec<_> = own().map(|(_, (_, to))| format!("\"{to}\"")).collect();
        let message = format!("\"{ue}\" is not attached to \"{}\"", over.unwrap_or_default());
        ScenarioError::new("over", message, format!("it is attached to {}", known.join(", ")))
    })
}

impl Scenario {
    /// Whether the scenario has the form with several cells.
    pub(super) fn is_graph(&self) -> bool {
        !(self.way.is_empty() && self.cell.is_empty() && self.ue.is_empty())
    }

    /// Number of UEs or, in the form with `[[ue]]`, of their interfaces.
    pub fn ues(&self) -> u16 {
        if self.is_graph() { self.interfaces().count() as u16 } else { self.radio.ues() }
    }

    /// Name of each interface, in the form with `[[ue]]`: that of its UE, with the place where it is attached at the start
    /// if the UE has several.
    pub fn interface_names(&self) -> Vec<String> {
        let name = |(ue, to): (&Ue, &String)| match ue.attach.len() {
            1 => ue.name.clone(),
            _ => format!("{} over {to}", ue.name),
        };
        self.interfaces().map(name).collect()
    }

    fn interfaces(&self) -> impl Iterator<Item = (&Ue, &String)> {
        self.ue.iter().flat_map(|ue| ue.attach.iter().map(move |to| (ue, to)))
    }

    /// Every cell with its key.
    pub fn cells(&self) -> Vec<(String, &radio::Config)> {
        if !self.is_graph() {
            return vec![("radio".to_owned(), &self.radio)];
        }
        let numbered = self.cell.iter().enumerate();
        numbered.map(|(index, cell)| (format!("cell[{index}].radio"), &cell.radio)).collect()
    }

    /// Every wired link with its key.
    pub(super) fn wires(&self) -> Vec<(String, &link::Config)> {
        if !self.is_graph() {
            return vec![("wired".to_owned(), &self.wired)];
        }
        let ways =
            self.way.iter().enumerate().map(|(index, way)| (format!("way[{index}].wired"), &way.wired));
        let cells = self.cell.iter().enumerate();
        let cells =
            cells.filter_map(|(index, cell)| Some((format!("cell[{index}].wired"), cell.wired.as_ref()?)));
        ways.chain(cells).collect()
    }

    /// Every box with its key and the cells whose bearers it may read.
    pub(super) fn boxes(&self) -> Vec<(String, &middlebox::Config, Vec<&radio::Config>)> {
        let keyed = |place: String, boxes: &'_ [middlebox::Config]| {
            (0..boxes.len()).map(move |index| format!("{place}middlebox[{index}]")).collect::<Vec<_>>()
        };
        let mut all = Vec::new();
        let mut add = |place: String, boxes, cells: Vec<_>| {
            for (key, config) in keyed(place, boxes).into_iter().zip(boxes) {
                all.push((key, config, cells.clone()));
            }
        };
        if !self.is_graph() {
            add(String::new(), &self.middlebox[..], vec![&self.radio]);
        }
        for (index, way) in self.way.iter().enumerate() {
            let below = self.cell.iter().filter(|cell| self.is_behind(cell.behind.as_deref(), &way.name));
            add(format!("way[{index}]."), &way.middlebox, below.map(|cell| &cell.radio).collect());
        }
        for (index, cell) in self.cell.iter().enumerate() {
            add(format!("cell[{index}]."), &cell.middlebox, vec![&cell.radio]);
        }
        all
    }

    /// Whether what is behind `place` is behind the way `name`, at any distance.
    fn is_behind(&self, place: Option<&str>, name: &str) -> bool {
        let mut here = place;
        for _ in 0..=self.way.len() {
            match here {
                Some(at) if at == name => return true,
                Some(at) => {
                    here = self.way.iter().find(|way| way.name == at).and_then(|way| way.behind.as_deref())
                }
                None => return false,
            }
        }
        false
    }

    /// Refuses names that are missing, taken or unknown, circles of ways, and what leads nowhere.
    pub(super) fn validate_graph(&self) -> Result<(), ScenarioError> {
        self.refuse_names()?;
        if !self.is_graph() {
            return Ok(());
        }
        let error = |key: String, message: String, hint: String| Err(ScenarioError::new(key, message, hint));
        let places: Vec<(String, &str, Option<&str>)> =
            (self.way.iter().enumerate())
                .map(|(index, way)| (format!("way[{index}]"), way.name.as_str(), way.behind.as_deref()))
                .chain(self.cell.iter().enumerate().map(|(index, cell)| {
                    (format!("cell[{index}]"), cell.name.as_str(), cell.behind.as_deref())
                }))
                .collect();
        let ues = self.ue.iter().enumerate().map(|(index, ue)| (format!("ue[{index}]"), ue.name.as_str()));
        let mut taken = Vec::new();
        for (key, name) in places.iter().map(|(key, name, _)| (key.clone(), *name)).chain(ues) {
            if name.is_empty() {
                return error(format!("{key}.name"), "is missing".into(), "write a name".into());
            }
            if taken.contains(&name) {
                let message = format!("\"{name}\" is the name of another");
                return error(format!("{key}.name"), message, "write a name of its own".into());
            }
            taken.push(name);
        }
        let ways: Vec<_> = self.way.iter().map(|way| format!("\"{}\"", way.name)).collect();
        for (key, name, behind) in &places {
            let Some(behind) = behind else { continue };
            if !self.way.iter().any(|way| way.name == *behind) {
                let hint = if ways.is_empty() {
                    "add a [[way]]".into()
                } else {
                    format!("known: {}", ways.join(", "))
                };
                return error(format!("{key}.behind"), format!("there is no way \"{behind}\""), hint);
            }
            if self.is_behind(Some(behind), name) {
                let hint = "let one of them begin at the server: remove its `behind`".into();
                return error(format!("{key}.behind"), "the ways form a circle".into(), hint);
            }
        }
        if self.ue.is_empty() {
            let hint = "add [[ue]] with a name and attach = [\"NAME OF A CELL OR WAY\"]".into();
            return error("ue".into(), "no UE is attached to any of the cells and ways".into(), hint);
        }
        let names: Vec<_> = places.iter().map(|(_, name, _)| format!("\"{name}\"")).collect();
        for (index, ue) in self.ue.iter().enumerate() {
            let key = format!("ue[{index}].attach");
            if let Some(to) = ue.attach.iter().find(|to| !places.iter().any(|(_, name, _)| name == to)) {
                let hint = format!("known: {}", names.join(", "));
                return error(key, format!("there is no cell and no way \"{to}\""), hint);
            }
        }
        for (index, way) in self.way.iter().enumerate() {
            if let Some(number) = way.middlebox.iter().position(|config| config.place() == Place::Ue) {
                let key = format!("way[{index}].middlebox[{number}].{}.at", way.middlebox[number].name());
                return error(
                    key,
                    "no UE is at the end of this box".into(),
                    "move the box into a [[cell]]".into(),
                );
            }
            let leads = places.iter().any(|(_, _, behind)| *behind == Some(&way.name))
                || self.interfaces().any(|(_, to)| *to == way.name);
            if !leads {
                let hint = "let a cell be `behind` it, or attach a UE to it".into();
                return error(format!("way[{index}].name"), format!("\"{}\" leads nowhere", way.name), hint);
            }
        }
        if self.interfaces().count() > usize::from(u16::MAX) / 2 {
            let hint = format!("attach at most {} interfaces", u16::MAX / 2);
            return error("ue".into(), "too many interfaces".into(), hint);
        }
        self.validate_changes()
    }

    /// Refuses keys that go with names of UEs and cells, where there are none.
    fn refuse_names(&self) -> Result<(), ScenarioError> {
        // Where `ue` is a name, `over` and `from` have been read with it.
        let mut flows = (0..).zip(&self.flow).filter(|(_, flow)| flow.over.is_some());
        let over = flows.next().map(|(at, _): (usize, _)| format!("flow[{at}].over"));
        let mut moves = (0..).zip(&self.handover);
        let moved = moves.find_map(|(at, handover): (usize, _)| {
            let key = if handover.from.is_some() { "from" } else { "to" };
            let is_misplaced = handover.from.is_some() || handover.to.is_some() && !self.is_graph();
            is_misplaced.then(|| format!("handover[{at}].{key}"))
        });
        let Some(key) = over.or(moved) else { return Ok(()) };
        let (message, hint) = match self.is_graph() {
            true => ("goes with the name of a UE, and `ue` is a number", "write the name, or remove the key"),
            false => (
                "the scenario has one cell, and no [[ue]] with names",
                "remove the key, or write [[cell]] and [[ue]]",
            ),
        };
        Err(ScenarioError::new(key, message, hint))
    }

    /// Refuses changes of cell that cannot be.
    fn validate_changes(&self) -> Result<(), ScenarioError> {
        let starts: Vec<_> = self.interfaces().map(|(_, to)| to.clone()).collect();
        let mut visited: Vec<Vec<String>> = starts.into_iter().map(|start| vec![start]).collect();
        let mut ordered: Vec<_> = self.handover.iter().enumerate().collect();
        ordered.sort_by_key(|(_, handover)| handover.at);
        for (index, handover) in ordered {
            let error = |key: &str, message: String, hint: String| {
                Err(ScenarioError::new(format!("handover[{index}].{key}"), message, hint))
            };
            let cells: Vec<_> = self.cell.iter().map(|cell| format!("\"{}\"", cell.name)).collect();
            let Some(visits) = visited.get_mut(usize::from(handover.ue)) else { continue };
            let here = visits.last().cloned().unwrap_or_default();
            if !self.cell.iter().any(|cell| cell.name == here) {
                let message = format!("the interface is attached to \"{here}\", which is no cell");
                return error("ue", message, "choose another with `from`".into());
            }
            let Some(to) = &handover.to else { continue };
            if !self.cell.iter().any(|cell| cell.name == *to) {
                return error(
                    "to",
                    format!("there is no cell \"{to}\""),
                    format!("known: {}", cells.join(", ")),
                );
            }
            if visits.contains(to) {
                let message = format!("the interface has been in \"{to}\" before");
                return error(
                    "to",
                    message,
                    "a return to a cell is not modelled: choose another cell".into(),
                );
            }
            visits.push(to.clone());
        }
        for (index, cell) in self.cell.iter().enumerate() {
            let episodes = self.episodes(&cell.name);
            let own: Vec<_> = episodes.into_iter().map(|episode| episode.handover).collect();
            cell.radio.check_handovers(&own).map_err(|error| error.under(&format!("cell[{index}]")))?;
        }
        Ok(())
    }

    /// Where an interface is when a hand-over begins, and where it is afterwards.
    fn ends_of(&self, number: usize) -> Option<(&str, &str)> {
        let handover = &self.handover[number];
        let start = self.interfaces().nth(usize::from(handover.ue))?.1.as_str();
        let before = self.handover.iter().filter(|other| other.ue == handover.ue && other.at < handover.at);
        let last = before.filter(|other| other.to.is_some()).max_by_key(|other| other.at);
        let from = last.and_then(|other| other.to.as_deref()).unwrap_or(start);
        Some((from, handover.to.as_deref().unwrap_or(from)))
    }

    /// What hand-overs are for one cell.
    fn episodes(&self, cell: &str) -> Vec<Episode> {
        let each = self.handover.iter().enumerate().filter_map(|(number, handover)| {
            let (from, to) = self.ends_of(number)?;
            let role = match (from == cell, to == cell) {
                (true, true) => Role::Stay,
                (true, false) => Role::Leave,
                (false, true) => Role::Enter,
                (false, false) => return None,
            };
            Some(Episode { handover: handover.clone(), role })
        });
        each.collect()
    }

    /// The elements between two ends: a line where there is one cell, else a tree of ways whose leaves meet again at the
    /// UEs. `real` are UEs that are not simulated.
    pub fn plan(&self, run_seed: u64, ends: [Box<dyn Element>; 2], real: Option<&[u16]>) -> Plan {
        let [server, ues] = ends;
        if !self.is_graph() {
            let network = match real {
                Some(real) => self.network_in_session(run_seed, real),
                None => self.network(run_seed),
            };
            let elements: Vec<_> = [server].into_iter().chain(network).chain([ues]).collect();
            let last = NodeId(elements.len() as u16 - 1);
            return Plan { graph: Graph::from(elements), ues: last };
        }
        let flows = real.map_or_else(|| self.flows(), |real| self.flows_beside(real));
        let mut planner = Planner {
            scenario: self,
            run_seed,
            flows: &flows,
            session: real.map(|_| &self.tcp),
            graph: Graph::default(),
            leaves: Vec::new(),
            boxes: 0,
        };
        let server = (planner.node("server", server), Port::DOWN);
        planner.branch(server, None);
        planner.finish(ues)
    }

    /// What is directly behind a way, or the server.
    fn children(&self, place: Option<&str>) -> Vec<Child<'_>> {
        let ways = self.way.iter().filter(|way| way.behind.as_deref() == place).map(Child::Way);
        let cells = self.cell.iter().filter(|cell| cell.behind.as_deref() == place).map(Child::Cell);
        let attached = self.interfaces().any(|(_, to)| Some(to.as_str()) == place);
        ways.chain(cells).chain(attached.then_some(Child::Interfaces)).collect()
    }

    /// Which of these children of `place` leads to the cell or way called `name`.
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

/// Makes the graph of a scenario, depth first.
struct Planner<'a> {
    scenario: &'a Scenario,
    run_seed: u64,
    flows: &'a [FlowSpec],
    session: Option<&'a tcp::Config>,
    graph: Graph,
    /// Places where interfaces are attached: name, the joint that leads on towards the UEs, and the cell if it is one.
    leaves: Vec<(String, Joint, Option<NodeId>)>,
    /// Boxes made so far.
    boxes: usize,
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

    /// Seed of what belongs to one of several parts. The only part has the seed of the run, as in a scenario without names.
    fn seed_of(&self, kind: &str, name: &str, is_only: bool) -> u64 {
        if is_only { self.run_seed } else { rng::stream(self.run_seed, &format!("{kind}.{name}")).next_u64() }
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
        let seed = self.seed_of("link", owner, self.scenario.wires().len() == 1);
        self.append(at, format!("link {owner}"), link.build(seed, "wired"))
    }

    /// Everything behind a joint of the server or of the way `place`.
    fn branch(&mut self, from: Joint, place: Option<&str>) {
        let scenario = self.scenario;
        let children = scenario.children(place);
        let joints = match u16::try_from(children.len()).unwrap_or(u16::MAX) {
            1 => vec![from],
            count => {
                let way_to = |name: &str| scenario.way_to(&children, place, name);
                let ways = scenario.interfaces().map(|(_, to)| way_to(to).unwrap_or(0)).collect();
                let changes = scenario.handover.iter().filter_map(|handover| {
                    let to = way_to(handover.to.as_deref()?)?;
                    Some(Change {
                        at: handover.ends() + handover.path_switch.unwrap_or_default(),
                        ue: handover.ue,
                        to,
                    })
                });
                let fork = Fork::new(Dir::Downlink, count, ways, changes.collect());
                let (node, _) =
                    self.append(from, format!("fork {}", place.unwrap_or("server")), Box::new(fork));
                (0..count).map(|way| (node, Fork::port(Dir::Downlink, way))).collect()
            }
        };
        for (child, joint) in children.iter().zip(joints) {
            match child {
                Child::Way(way) => {
                    let end = self.append_link(joint, &way.name, &way.wired);
                    let end = self.append_boxes(end, &way.name, &way.middlebox, Place::Network);
                    self.branch(end, Some(&way.name));
                }
                Child::Cell(cell) => self.cell(joint, cell),
                Child::Interfaces => self.leaves.push((place.unwrap_or_default().to_owned(), joint, None)),
            }
        }
    }

    fn cell(&mut self, from: Joint, cell: &Cell) {
        let at = match &cell.wired {
            Some(link) => self.append_link(from, &cell.name, link),
            None => from,
        };
        let at = self.append_boxes(at, &cell.name, &cell.middlebox, Place::Network);
        let episodes = self.scenario.episodes(&cell.name);
        let run_seed = self.seed_of("cell", &cell.name, self.scenario.cell.len() == 1);
        let element = cell.radio.build(&radio::Plan { run_seed, handovers: &episodes, classes: &[] });
        let (node, below) = self.append(at, format!("radio.{} {}", cell.radio.name(), cell.name), element);
        let end = self.append_boxes((node, below), &cell.name, &cell.middlebox, Place::Ue);
        self.leaves.push((cell.name.clone(), end, Some(node)));
    }

    /// Joins all leaves with the end of the UEs.
    fn finish(mut self, ues: Box<dyn Element>) -> Plan {
        let scenario = self.scenario;
        let end = match &self.leaves[..] {
            [(_, joint, _)] => *joint,
            leaves => {
                let leaf =
                    |name: &str| leaves.iter().position(|(own, ..)| own == name).map(|leaf| leaf as u16);
                let ways = scenario.interfaces().map(|(_, to)| leaf(to).unwrap_or(0)).collect();
                // What a UE sends during the outage waits for the new cell.
                let changes = scenario.handover.iter().filter_map(|handover| {
                    let to = leaf(handover.to.as_deref()?)?;
                    Some(Change { at: handover.begins(), ue: handover.ue, to })
                });
                let cells = leaves.iter().map(|(.., cell)| *cell).collect();
                let fork =
                    Fork::new(Dir::Uplink, leaves.len() as u16, ways, changes.collect()).with_cells(cells);
                let joints: Vec<Joint> = leaves.iter().map(|(_, joint, _)| *joint).collect();
                let node = self.node("fork ue", Box::new(fork));
                for (way, joint) in (0..).zip(joints) {
                    self.graph.join(joint, (node, Fork::port(Dir::Uplink, way)));
                }
                (node, Port::DOWN)
            }
        };
        let (ues, _) = self.append(end, "ue".to_owned(), ues);
        Plan { graph: self.graph, ues }
    }
}
