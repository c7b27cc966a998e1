//! Changes of a scenario while it runs: `[[change]]`, and the same from the driver of a live link.
//!
//! A change sets keys to other values, or starts an outage of a UE. The new values make a new scenario, which is
//! validated as a whole; its elements pass their parameters to the running elements ([`crate::element::Change`]). Keys
//! that may change while a scenario runs have `x-changes` in the schema, which is checked here.

use super::Scenario;
use crate::element::{Element, Graph};
use crate::error::ScenarioError;
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
    /// Number of the UE that has the outage.
    pub ue: u16,
}

/// A valid change, and the scenario that it makes.
#[derive(Clone, Debug)]
pub struct Step {
    /// When it is due.
    pub at: Instant,
    /// What it is, for people: `wired.rate = "1 Mbit/s"`.
    pub text: String,
    /// The scenario from now on, if keys change.
    scenario: Option<Box<Scenario>>,
    outage: Option<(u16, Duration)>,
}

/// A change with new elements, whose parameters are passed to the elements of a path: applying it is quick.
pub struct Prepared {
    text: String,
    graph: Option<Graph>,
    outage: Option<(u16, Duration)>,
}

impl Step {
    /// Builds the elements with the new parameters, for a path with these real UEs.
    pub fn prepare(&self, real: Option<&[u16]>) -> Prepared {
        let graph = self.scenario.as_ref().map(|scenario| {
            let end = |dir| Box::new(Host::new(dir, 0, &[], 0)) as Box<dyn Element>;
            scenario.plan(0, [end(Dir::Downlink), end(Dir::Uplink)], real).graph
        });
        Prepared { text: self.text.clone(), graph, outage: self.outage }
    }
}

impl Prepared {
    /// A change of nothing.
    pub fn nothing() -> Self {
        Self { text: String::new(), graph: None, outage: None }
    }

    /// Carries the change out now. Returns the number of elements that changed: none if all values were so already, or if
    /// the UE is in an outage.
    pub fn apply(self, path: &mut Path) -> usize {
        path.change(&self.text, self.graph, self.outage)
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
        if keys.is_empty() && change.outage.is_none() {
            let hint = "write set = { \"wired.rate\" = \"1 Mbit/s\" }, or outage = \"3 s\"";
            return Err(ScenarioError::new("", "changes nothing", hint));
        }
        let outage = change.outage.map(|outage| self.outage(change.ue, outage)).transpose()?;
        let changed = if keys.is_empty() {
            None
        } else {
            Some(self.changed(&keys).map_err(|error| error.under("set"))?)
        };
        let shown = |(key, value): &(String, Value)| format!("{key} = {value}");
        let mut words: Vec<_> = keys.iter().map(shown).collect();
        words.extend(outage.map(|(ue, outage)| format!("outage of UE {ue} for {outage}")));
        let scenario = changed.map(|changed| {
            *self = changed;
            Box::new(self.clone())
        });
        let text = words.join(", ");
        Ok(Step { at: Instant::ZERO + change.at, text, scenario, outage })
    }

    fn outage(&self, ue: u16, outage: Duration) -> Result<(u16, Duration), ScenarioError> {
        if ue >= self.ues() {
            let message = format!("there is no UE {ue}: the scenario has {}, counted from 0", self.ues());
            return Err(ScenarioError::new("ue", message, "choose another"));
        }
        if outage.is_zero() {
            let hint = "write a time such as \"3 s\"";
            return Err(ScenarioError::new("outage", "an outage of no length", hint));
        }
        match self.cells().into_iter().find(|(_, cell)| !cell.has_outages()) {
            Some((_, cell)) => {
                let message = format!("radio.{} has no outages", cell.name());
                Err(ScenarioError::new("outage", message, "choose another cell, or change its rate"))
            }
            None => Ok((ue, outage)),
        }
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
