//! Merging of tables. Some of them hold one component each (`[tcp.cc]`, `[radio]`).
//!
//! One rule holds wherever two tables meet: overrides (`--set`, points of a sweep, `Scenario.with_`), a profile below
//! `[tcp]`, a flow that inherits `[tcp]`, the uplink of the wired link.
//!
//! 1. A table that names the component in use changes its keys: `cc.cubic = { hystart = "off" }` over Linux's CUBIC
//!    keeps `variant`. The bare name is a table without keys, and changes nothing.
//! 2. A table that names another component replaces the one in use.
//! 3. An override of a key (`radio.lte.ues`) of a component that is not in use is an error, unless another override
//!    names the component (`radio = "lte"`): one key would replace a whole cell.
//!
//! An override that ends at the component's name (`queue.droptail = { bytes = "90 kB" }`) writes that table whole, as an
//! override of any other table does: the component with these keys and no others.
//!
//! A table that holds one distribution of several (`delay.normal`) is merged by 1 and 2; its keys need no name, since
//! those of another distribution are incomplete without each other.
//!
//! A component that the scenario does not name is in use by default or by inheritance. Only the resolved scenario shows
//! which one, so [`check`] resolves the scenario without the assumptions.

use super::files;
use crate::error::ScenarioError;
use std::mem;
use toml::{Table, Value};

/// Tables that hold one registered component each.
const COMPONENTS: [&str; 12] = [
    "cc",
    "recovery",
    "undo",
    "rlc",
    "channel",
    "fading",
    "queue",
    "radio",
    "scheduler",
    "app",
    "controller",
    "middlebox",
];
/// Tables that hold one distribution or one function each.
const LAWS: [&str; 6] = ["rate", "delay", "size", "interval", "t_id", "t_id_after_drop"];

/// Whether the table under `key`, such as `cc` or `middlebox[1]`, holds one registered component.
pub(super) fn holds_component(key: &str) -> bool {
    COMPONENTS.contains(&split_index(key).0)
}

/// Whether the table under `key` holds one of several: a component, or a distribution.
fn is_choice(key: &str) -> bool {
    holds_component(key) || LAWS.contains(&split_index(key).0)
}

/// Puts `over` on `base`, key by key; tables of one component by the rule.
pub(super) fn merged(base: &Table, over: &Table) -> Table {
    let mut result = base.clone();
    for (key, value) in over {
        let below = result.remove(key);
        result.insert(key.clone(), put(key, below, value.clone()));
    }
    result
}

/// The value under `key` after `value` is merged over `below`.
fn put(key: &str, below: Option<Value>, value: Value) -> Value {
    match (below, value) {
        (Some(Value::Table(below)), Value::Table(above)) if is_choice(key) => {
            Value::Table(named(below, above))
        }
        (Some(Value::Table(below)), Value::Table(above)) => Value::Table(merged(&below, &above)),
        (_, value) => value,
    }
}

/// A component's table on top of another.
fn named(mut below: Table, above: Table) -> Table {
    // Nothing, several or a constant instead of a table of parameters stands as it is.
    let mut names = above.iter();
    if let (Some((name, Value::Table(keys))), None) = (names.next(), names.next())
        && let Some(Value::Table(mut own)) = below.remove(name)
    {
        keys.keys().for_each(|key| files::make_way(name, &mut own, key));
        return Table::from_iter([(name.clone(), Value::Table(merged(&own, keys)))]);
    }
    above
}

/// A component that an override took to be in use.
pub(super) struct Assumed {
    /// Keys down to the table that holds it, such as `tcp`, `cc`.
    place: Vec<String>,
    name: String,
    /// The component that the scenario names there; `None` if the inherited one or the default is in use.
    in_use: Option<String>,
}

/// Goes from the table `here`, which is at `place`, towards its `key`. If that is the name of another component than
/// the one there, it is assumed.
pub(super) fn assume(here: &mut Table, place: &[String], key: &str, assumed: &mut Vec<Assumed>) {
    if is_at_choice(place) && !here.contains_key(key) {
        let in_use = mem::take(here).into_iter().next().map(|(name, _)| name);
        if place.last().is_some_and(|choice| holds_component(choice)) {
            assumed.push(Assumed { place: place.to_vec(), name: key.to_owned(), in_use });
        }
    }
}

/// Sets what is at `place`, in `slot`.
pub(super) fn set(slot: &mut Value, place: &[String], value: Value) {
    let below = mem::replace(slot, Value::Boolean(false));
    *slot = match place.last() {
        Some(key) if is_choice(key) => put(key, Some(below), value),
        _ => value,
    };
}

/// Forgets the assumptions about tables at and below `place`.
pub(super) fn forget(place: &[String], assumed: &mut Vec<Assumed>) {
    assumed.retain(|one| !one.place.starts_with(place));
}

/// Whether the table at `place` holds one of several.
pub(super) fn is_at_choice(place: &[String]) -> bool {
    place.last().is_some_and(|key| is_choice(key))
}

/// Refuses an assumption that does not hold in `table`, the scenario as written with all overrides. `resolve` writes a
/// scenario with every default.
pub(super) fn check(
    table: &Table,
    assumed: &[Assumed],
    resolve: impl Fn(Table) -> Result<Table, ScenarioError>,
) -> Result<(), ScenarioError> {
    for one in assumed {
        let by_default = || {
            let mut without = table.clone();
            remove(&mut without, &one.place);
            let resolved = resolve(without).ok()?;
            find(&resolved, &one.place)?.as_table()?.keys().next().cloned()
        };
        let Some(in_use) = one.in_use.clone().or_else(by_default).filter(|name| *name != one.name) else {
            continue;
        };
        let error = one.refused(&in_use);
        // A name that is none is the better explanation.
        return Err(match resolve(table.clone()) {
            Err(unknown) if unknown.path == error.path && unknown.message == "unknown name" => unknown,
            _ => error,
        });
    }
    Ok(())
}

impl Assumed {
    fn refused(&self, in_use: &str) -> ScenarioError {
        let Self { place, name, .. } = self;
        let (at, last) = (place.join("."), place.last().map_or("", |key| split_index(key).0));
        let message = format!("{last} is {in_use} here, not {name}");
        let hint = format!("to replace {in_use}, set {at} = \"{name}\" as well");
        ScenarioError::new(format!("{at}.{name}"), message, hint)
    }
}

/// The value at `place`.
fn find<'a>(table: &'a Table, place: &[String]) -> Option<&'a Value> {
    let (last, parents) = place.split_last()?;
    let here = parents.iter().try_fold(table, |here, key| child(here, key)?.as_table())?;
    child(here, last)
}

fn child<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    let (name, index) = split_index(key);
    let value = table.get(name)?;
    index.map_or(Some(value), |index| value.get(index))
}

fn remove(table: &mut Table, place: &[String]) {
    let Some((last, parents)) = place.split_last() else { return };
    let here = parents.iter().try_fold(table, |here, key| {
        let (name, index) = split_index(key);
        let value = here.get_mut(name)?;
        match index {
            Some(index) => value.get_mut(index)?.as_table_mut(),
            None => value.as_table_mut(),
        }
    });
    if let Some(here) = here {
        here.remove(last);
    }
}

/// `flow[1]` as (`flow`, 1).
pub(super) fn split_index(key: &str) -> (&str, Option<usize>) {
    let indexed = key.strip_suffix(']').and_then(|key| key.split_once('['));
    match indexed.and_then(|(name, index)| Some((name, index.parse().ok()?))) {
        Some((name, index)) => (name, Some(index)),
        None => (key, None),
    }
}
