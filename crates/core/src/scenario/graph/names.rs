//! Conversion of UE names to interface indices.

use crate::error::ScenarioError;
use toml::{Table, Value};

/// Interfaces at most: two bearers of each have numbers of 16 bits.
const MOST_INTERFACES: usize = 32_767;
/// Keys that hold for the only cell of a scenario.
pub(in crate::scenario) const OF_ONE_CELL: [&str; 4] = ["wired", "middlebox", "radio", "umts"];

fn named<'a>(table: &'a Table, list: &str) -> Vec<&'a Table> {
    table.get(list).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table).collect()
}

fn text<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key).and_then(Value::as_str)
}

/// Replaces names of UEs by interface indices, and sets the number of interfaces in each cell.
pub(in crate::scenario) fn resolve(table: &mut Table) -> Result<(), ScenarioError> {
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
    if interfaces.len() > MOST_INTERFACES {
        let message = format!("{} interfaces of UEs", interfaces.len());
        return Err(ScenarioError::new("ue", message, format!("attach at most {MOST_INTERFACES}")));
    }
    let count = interfaces.len().max(1) as i64;
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
            let place = format!("{owner}[{index}]");
            resolve_paths(entry, &interfaces).map_err(|error| error.under(&place))?;
            let own = text(entry, over).map(str::to_owned);
            let Some(name) = text(entry, "ue").filter(|ue| *ue != "each").map(str::to_owned) else {
                continue;
            };
            let number = find(&interfaces, &name, own.as_deref()).map_err(|error| error.under(&place))?;
            entry.insert("ue".to_owned(), Value::Integer(number as i64));
            if !entry.get(over).is_some_and(Value::is_array) {
                entry.remove(over);
            }
        }
    }
    Ok(())
}

/// Replaces the names of the paths of a flow over several by interface indices.
fn resolve_paths(flow: &mut Table, interfaces: &[(String, String)]) -> Result<(), ScenarioError> {
    let Some(name) = text(flow, "ue").filter(|ue| *ue != "each").map(str::to_owned) else { return Ok(()) };
    let number = |key: &str, place: &mut Value| -> Result<(), ScenarioError> {
        if let Some(over) = place.as_str() {
            let found = find(interfaces, &name, Some(over));
            let at = |error: ScenarioError| {
                if error.path == "ue" { error } else { ScenarioError { path: key.to_owned(), ..error } }
            };
            let found = found.map_err(at)?;
            *place = Value::Integer(found as i64);
        }
        Ok(())
    };
    if let Some(Value::Array(over)) = flow.get_mut("over") {
        over.iter_mut().try_for_each(|place| number("over", place))?;
        if let Some(first) = over.first().and_then(Value::as_integer) {
            flow.insert("ue".to_owned(), Value::Integer(first));
        }
    }
    match flow.get_mut("multipath").and_then(|multipath| multipath.get_mut("backup")) {
        Some(Value::Array(backup)) => {
            backup.iter_mut().try_for_each(|place| number("multipath.backup", place))
        }
        _ => Ok(()),
    }
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
