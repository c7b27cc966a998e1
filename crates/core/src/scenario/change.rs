//! Changes of a scenario while it runs: `[[change]]`, and the same from the driver of a live link.
//!
//! A change sets keys to other values, renews random streams, or interrupts a UE: an outage, a pause, a hand-over. The new values make a new scenario, which is
//! validated as a whole; its elements pass their parameters to the running elements ([`crate::element::Change`]). Keys
//! that may change while a scenario runs have `x-changes` in the schema, which is checked here.

use super::Scenario;
use crate::element::{self, Adopt, Element};
use crate::error::ScenarioError;
use crate::handover;
use crate::host::Host;
use crate::link;
use crate::packet::Dir;
use crate::path::Path;
use crate::time::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use toml::{Table, Value};

/// What changes at a time.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    /// When; it comes after everything else at that instant.
    pub at: Duration,
    /// Keys with their new values, as tables or as dotted paths. The schema marks the keys that may change with `x-changes`.
    #[serde(skip_serializing_if = "Table::is_empty")]
    #[schemars(with = "BTreeMap<String, Json>")]
    pub set: Table,
    /// For how long neither direction of the UE starts a transmission; buffers retain their data. No outage if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<Duration>,
    /// Name of the target cell of the hand-over, in a scenario with several. It is out of reach for the time of
    /// `outage`, 1 s if absent; what its old cell holds is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// If true, neither direction of the UE starts a transmission from then on; if false, such a pause ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<bool>,
    /// Number of the UE that has the outage, the pause or the hand-over.
    pub ue: u16,
    /// Seed of new random streams of channels, fading, losses and queues. Streams of flows continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// A valid change, and the scenario that it makes.
#[derive(Clone, Debug)]
pub struct Step {
    /// When it is due.
    pub at: Instant,
    /// What it is, for people: `wired.rate = "1 Mbit/s"`.
    pub text: String,
    /// The scenario from now on.
    scenario: Box<Scenario>,
    sets_keys: bool,
    seed: Option<u64>,
    act: Option<(u16, Act)>,
}

/// What happens to the bearers of a UE.
#[derive(Clone, Debug)]
enum Act {
    Outage(Duration),
    Pause,
    Resume,
    Handover { from: String, to: String, outage: Duration },
}

impl Act {
    /// The act on a UE, for people.
    fn text(&self, ue: u16) -> String {
        match self {
            Self::Outage(length) => format!("outage of UE {ue} for {length}"),
            Self::Pause => format!("pause of UE {ue}"),
            Self::Resume => format!("end of the pause of UE {ue}"),
            Self::Handover { from, to, outage } => {
                format!("hand-over of UE {ue} from {from} to {to}, outage of {outage}")
            }
        }
    }
}

/// A change of the elements of a path, ready to be carried out: applying it is quick.
#[derive(Default)]
pub struct Prepared {
    text: String,
    /// Elements whose parameters or streams are passed on.
    fresh: Vec<(Vec<Box<dyn Element>>, Adopt)>,
    /// An outage, a pause or its end, of a UE.
    interruption: Option<(u16, Act)>,
    handover: Option<Handover>,
}

/// A UE changes from one cell to another.
struct Handover {
    ue: u16,
    outage: Duration,
    /// Elements of both cells.
    cells: [usize; 2],
    /// Elements whose forks have the new ways.
    fresh: Vec<Box<dyn Element>>,
}

impl Step {
    /// Builds the elements with the new parameters, for a path with these real UEs.
    pub fn prepare(&self, real: Option<&[u16]>) -> Prepared {
        let plan = |seed| {
            let end = |dir| Box::new(Host::new(dir, 0, &[], 0)) as Box<dyn Element>;
            let graph = self.scenario.plan(seed, [end(Dir::Downlink), end(Dir::Uplink)], real).graph;
            let (elements, names, _) = graph.into_parts();
            (elements, names)
        };
        let keys = self.sets_keys.then(|| (plan(0).0, Adopt::Parameters));
        let streams = self.seed.map(|seed| (plan(seed).0, Adopt::Streams));
        let fresh = keys.into_iter().chain(streams).collect();
        let mut prepared = Prepared { text: self.text.clone(), fresh, ..Prepared::default() };
        match &self.act {
            Some((ue, Act::Handover { from, to, outage })) => {
                let (forks, names) = plan(0);
                let place = |name: &str| {
                    let cell = self.scenario.cell.iter().find(|cell| cell.name == *name)?;
                    names.iter().position(|own| *own == cell.node_name())
                };
                prepared.handover = place(from).zip(place(to)).map(|(from, to)| Handover {
                    ue: *ue,
                    outage: *outage,
                    cells: [from, to],
                    fresh: forks,
                });
            }
            act => prepared.interruption.clone_from(act),
        }
        prepared
    }
}

impl Prepared {
    /// Carries the change out now. Returns the number of elements that changed: none if all values were so already, if the
    /// UE is in an outage or soon will be, or if there was no pause.
    pub fn apply(self, path: &mut Path) -> usize {
        let mut changed = 0;
        for (elements, adopt) in self.fresh {
            for (index, element) in elements.into_iter().enumerate() {
                changed += usize::from(path.change(index, element::Change::Fresh(element, adopt)));
            }
        }
        if let Some((ue, act)) = self.interruption {
            for index in 0..path.element_count() {
                let change = match act {
                    Act::Outage(length) => element::Change::Outage { ue, length },
                    Act::Pause => element::Change::Pause { ue },
                    Act::Resume | Act::Handover { .. } => element::Change::Resume { ue },
                };
                changed += usize::from(path.change(index, change));
            }
        }
        if let Some(Handover { ue, outage: length, cells: [from, to], fresh }) = self.handover
            && path.change(from, element::Change::Leave { ue, length })
        {
            changed += 1 + usize::from(path.change(to, element::Change::Enter { ue, length }));
            for (index, fork) in fresh.into_iter().enumerate() {
                let reroute = element::Change::Reroute { ue, switch: length, fork };
                changed += usize::from(path.change(index, reroute));
            }
        }
        if changed > 0 {
            path.keep_change(&self.text);
        }
        changed
    }
}

impl Scenario {
    /// Whether anything may change while it runs.
    pub fn may_change(&self) -> bool {
        self.is_steered || !self.change.is_empty()
    }

    /// The changes of the list by time; those of one instant in their order.
    ///
    /// # Errors
    /// Names the key of the list, what is wrong with it, and what would be right.
    pub fn steps(&self) -> Result<Vec<Step>, ScenarioError> {
        let mut order: Vec<usize> = (0..self.change.len()).collect();
        order.sort_by_key(|index| self.change[*index].at);
        let mut scenario = Self { change: Vec::new(), is_steered: true, ..self.clone() };
        let steps = order.into_iter().map(|index| {
            let change = &self.change[index];
            scenario.step(change).map_err(|error| error.under(&format!("change[{index}]")))
        });
        steps.collect()
    }

    /// The next change of a scenario without a list of them, which is the changed one from now on.
    ///
    /// # Errors
    /// Names the key of the change, what is wrong with it, and what would be right. Nothing has changed then.
    pub fn step(&mut self, change: &Change) -> Result<Step, ScenarioError> {
        let mut keys = Vec::new();
        flatten(&change.set, "", &mut keys);
        let act = self.act(change)?;
        if keys.is_empty() && act.is_none() && change.seed.is_none() {
            let hint = "write set = { \"wired.rate\" = \"1 Mbit/s\" }, or outage = \"3 s\"";
            return Err(ScenarioError::new("", "changes nothing", hint));
        }
        if !keys.is_empty() {
            *self = self.changed(&keys).map_err(|error| error.under("set"))?;
        }
        if let Some(Act::Handover { to, .. }) = &act {
            let mut attached = self.ue.iter_mut().flat_map(|ue| &mut ue.attach);
            attached.nth(change.ue.into()).into_iter().for_each(|place| place.clone_from(to));
        }
        let shown = |(key, value): &(String, Value)| format!("{key} = {value}");
        let mut words: Vec<_> = keys.iter().map(shown).collect();
        words.extend(change.seed.map(|seed| format!("seed {seed}")));
        words.extend(act.iter().map(|act| act.text(change.ue)));
        Ok(Step {
            at: Instant::ZERO + change.at,
            text: words.join(", "),
            scenario: Box::new(self.clone()),
            sets_keys: !keys.is_empty(),
            seed: change.seed,
            act: act.map(|act| (change.ue, act)),
        })
    }

    /// What a change does to the bearers of its UE, if anything.
    fn act(&self, change: &Change) -> Result<Option<Act>, ScenarioError> {
        let (key, act) = match (change.pause, &change.to, change.outage) {
            (None, None, None) => return Ok(None),
            (Some(_), None, None) => {
                ("pause", if change.pause == Some(true) { Act::Pause } else { Act::Resume })
            }
            (Some(_), ..) => {
                let message = "stands beside an outage or a hand-over of the same UE";
                return Err(ScenarioError::new("pause", message, "write one [[change]] for each"));
            }
            (None, None, Some(outage)) => ("outage", Act::Outage(outage)),
            (None, Some(to), outage) => {
                let from = self.interfaces().nth(change.ue.into()).map(|(_, from)| from.clone());
                let outage = outage.unwrap_or(handover::Config::default().outage);
                ("to", Act::Handover { from: from.unwrap_or_default(), to: to.clone(), outage })
            }
        };
        if change.ue >= self.ues() {
            let message =
                format!("there is no UE {}: the scenario has {}, counted from 0", change.ue, self.ues());
            return Err(ScenarioError::new("ue", message, "choose another"));
        }
        if change.outage.is_some_and(Duration::is_zero) {
            let hint = "write a time such as \"3 s\"";
            return Err(ScenarioError::new("outage", "an outage of no length", hint));
        }
        if let Some((_, cell)) = self.cells().into_iter().find(|(_, cell)| !cell.has_outages()) {
            let message = format!("radio.{} has no outages", cell.name());
            return Err(ScenarioError::new(key, message, "choose another cell, or change its rate"));
        }
        if let Act::Handover { from, to, .. } = &act {
            self.check_handover(change.ue, from, to)?;
        }
        Ok(Some(act))
    }

    /// Refuses a hand-over that cannot be, or that meets those that the scenario plans.
    fn check_handover(&self, ue: u16, from: &str, to: &str) -> Result<(), ScenarioError> {
        let names: Vec<_> = self.cell.iter().map(|cell| format!("\"{}\"", cell.name)).collect();
        let error = |message: String, hint: &str| Err(ScenarioError::new("to", message, hint));
        if names.is_empty() {
            let hint = "remove the key: an outage is a hand-over in the cell";
            return error("the scenario has one cell, and no [[cell]] with names".to_owned(), hint);
        }
        let of_name = |name: &str| self.cell.iter().find(|cell| cell.name == name);
        let (Some(old), Some(new)) = (of_name(from), of_name(to)) else {
            return match of_name(to) {
                Some(_) => error(
                    format!("the interface is attached to \"{from}\", which is no cell"),
                    "choose another with `ue`",
                ),
                None => error(format!("there is no cell \"{to}\""), &format!("known: {}", names.join(", "))),
            };
        };
        if from == to {
            return error(format!("the interface is in \"{to}\" already"), "choose another cell");
        }
        let number = usize::from(ue);
        let is_leg = self.interfaces().nth(number).is_some_and(|(owner, _)| owner.split.is_some());
        let is_planned = self.handover.iter().any(|handover| handover.ue == ue && handover.to.is_some());
        if is_leg || is_planned || self.mobility.is_some() {
            let message = "the scenario says itself when this interface changes its cell";
            return error(
                message.to_owned(),
                "choose another UE, or remove [mobility], split or [[handover]]",
            );
        }
        let own = [handover::Config { ue, to: Some(to.to_owned()), ..handover::Config::default() }];
        [old, new].into_iter().try_for_each(|cell| {
            cell.radio.check_handovers(&own).map_err(|inner| {
                ScenarioError::new("to", format!("{} (\"{}\")", inner.message, cell.name), inner.hint)
            })
        })
    }

    /// The scenario with these keys set.
    fn changed(&self, keys: &[(String, Value)]) -> Result<Self, ScenarioError> {
        // A text is read as `--set` reads it: "5" is a number where one is due.
        let text = |(key, value): &(String, Value)| match value {
            Value::String(text) => (key.clone(), text.clone()),
            value => (key.clone(), value.to_string()),
        };
        let overrides: Vec<_> = keys.iter().map(text).collect();
        let mut changed = Self::read(&self.to_toml()?, &overrides, None)?;
        changed.is_steered = self.is_steered;
        let mut cells = self.cell.iter().zip(&changed.cell);
        if let Some(index) = cells.position(|(old, new)| old.wired.is_some() != new.wired.is_some()) {
            let message = "the cell has no wired link, and gets none while the scenario runs";
            let hint = "give the cell one from the start, such as wired.delay = \"0 s\"";
            return Err(ScenarioError::new(format!("cell.{index}.wired"), message, hint));
        }
        let [before, after] = [self.spelled_out()?, changed.spelled_out()?];
        let mut differing = Vec::new();
        differences(&Value::Table(before), &Value::Table(after), &mut Vec::new(), &mut differing);
        let refused = differing.iter().find_map(|place| {
            let path: Vec<&str> = place.iter().map(String::as_str).collect();
            let is_wire = path.first() == Some(&"wired");
            if !is_marked(schema(), schema(), &path) {
                Some((place.join("."), "does not change while the scenario runs".to_owned()))
            } else if self.umts.is_some() && is_wire {
                let message =
                    "with [umts] a packet's times on the link are computed with those of the core network";
                Some((place.join("."), message.to_owned()))
            } else {
                None
            }
        });
        if let Some((place, message)) = refused {
            let known: Vec<String> = self.changeable()?.into_iter().map(|(key, _)| key).collect();
            let hint = format!("what may change here: {}", known.join(", "));
            return Err(ScenarioError::new(place, message, hint));
        }
        for ((key, old), (_, new)) in self.wires().into_iter().zip(changed.wires()) {
            for dir in Dir::BOTH {
                if old.half(dir).rate.is_some() != new.half(dir).rate.is_some() {
                    let message =
                        "a link without a rate gets none while it runs, and one with a rate keeps one";
                    let hint = "start with a high rate such as \"10 Gbit/s\"";
                    return Err(ScenarioError::new(format!("{key}.rate"), message, hint));
                }
            }
        }
        Ok(changed)
    }

    /// Keys that may change while the scenario runs, with their values. Limits that are absent are not among them.
    ///
    /// # Errors
    /// If a value cannot be written as TOML, which no valid scenario holds.
    pub fn changeable(&self) -> Result<Vec<(String, Json)>, ScenarioError> {
        let mut leaves = Vec::new();
        let none = Value::Table(Table::new());
        let table = Value::Table(self.spelled_out()?);
        differences(&none, &table, &mut Vec::new(), &mut leaves);
        let marked = leaves.into_iter().filter(|place| {
            let path: Vec<&str> = place.iter().map(String::as_str).collect();
            is_marked(schema(), schema(), &path)
        });
        let with_value = |place: Vec<String>| {
            let value = place.iter().try_fold(&table, |value, key| child(value, key));
            (place.join("."), value.map_or(Json::Null, |value| json!(value)))
        };
        Ok(marked.map(with_value).collect())
    }

    /// The table of the scenario in which both directions of a wired link are written.
    fn spelled_out(&self) -> Result<Table, ScenarioError> {
        let mut scenario = self.clone();
        let spell = |link: &mut link::Config| link.uplink = Some(link.half(Dir::Uplink));
        spell(&mut scenario.wired);
        scenario.way.iter_mut().for_each(|way| spell(&mut way.wired));
        scenario.cell.iter_mut().filter_map(|cell| cell.wired.as_mut()).for_each(spell);
        scenario.to_table()
    }
}

/// Dotted paths of a table's leaves, with their values.
fn flatten(table: &Table, under: &str, keys: &mut Vec<(String, Value)>) {
    for (key, value) in table {
        let path = if under.is_empty() { key.clone() } else { format!("{under}.{key}") };
        match value {
            Value::Table(inner) if !inner.is_empty() => flatten(inner, &path, keys),
            value => keys.push((path, value.clone())),
        }
    }
}

fn child<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Table(table) => table.get(key),
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        _ => None,
    }
}

/// Finds the paths of the leaves where two values differ.
fn differences(one: &Value, other: &Value, place: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let keys = |value: &Value| -> Vec<String> {
        match value {
            Value::Table(table) => table.keys().cloned().collect(),
            Value::Array(items) if items.iter().any(Value::is_table) => {
                (0..items.len()).map(|index| index.to_string()).collect()
            }
            _ => Vec::new(),
        }
    };
    let mut inner = keys(one);
    inner.extend(keys(other).into_iter().filter(|key| child(one, key).is_none()));
    if inner.is_empty() {
        if one != other {
            found.push(place.clone());
        }
        return;
    }
    let absent = Value::Table(Table::new());
    for key in inner {
        let [left, right] = [one, other].map(|value| child(value, &key).unwrap_or(&absent));
        place.push(key);
        differences(left, right, place, found);
        place.pop();
    }
}

fn schema() -> &'static Json {
    static SCHEMA: OnceLock<Json> = OnceLock::new();
    SCHEMA.get_or_init(Scenario::schema)
}

/// Whether the schema marks this key, or a table above it.
fn is_marked(root: &Json, node: &Json, path: &[&str]) -> bool {
    if node["x-changes"] == true {
        return true;
    }
    if let Some(target) = node["$ref"].as_str().and_then(|place| root.pointer(place.trim_start_matches('#')))
        && is_marked(root, target, path)
    {
        return true;
    }
    let choices = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|kind| node[kind].as_array()).flatten();
    if choices.into_iter().any(|choice| is_marked(root, choice, path)) {
        return true;
    }
    let Some((key, below)) = path.split_first() else { return false };
    let inner = node["properties"].get(*key).or_else(|| {
        let is_index = key.bytes().all(|byte| byte.is_ascii_digit());
        node.get("items").filter(|_| is_index)
    });
    inner.is_some_and(|inner| is_marked(root, inner, below))
}
