//! Processing of TOML tables into a scenario: parsing, overrides, inheritance, errors with their key.

use super::choice::{self, Assumed, holds_component, is_at_choice, merged, split_index};
use super::reader::{ABSENT, Reader, Step};
use crate::activity;
use crate::error::ScenarioError;
use crate::tcp::profile;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Maximum number of parts of a key, the number of levels that TOML's parser allows: the code below processes tables
/// recursively.
const MOST_PARTS: usize = 80;

/// Parses a scenario, and writes components given by their bare names as tables.
pub(super) fn parse(text: &str) -> Result<Table, ScenarioError> {
    let mut table = parse_toml(text)?;
    table.iter_mut().for_each(|(key, value)| spell_out(key, value));
    Ok(table)
}

/// Writes a component that is given by its bare name as a table: `cc = "cubic"` as `cc = { cubic = {} }`.
fn spell_out(key: &str, value: &mut Value) {
    match value {
        Value::String(name) if holds_component(key) => {
            let parameters = Value::Table(Table::new());
            *value = Value::Table(Table::from_iter([(std::mem::take(name), parameters)]));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| spell_out(key, item)),
        Value::Table(table) => table.iter_mut().for_each(|(name, own)| spell_out(name, own)),
        _ => {}
    }
}

fn parse_toml(text: &str) -> Result<Table, ScenarioError> {
    text.parse::<Table>().map_err(|error| {
        if error.message().contains("recurs") {
            let hint = format!("write at most {MOST_PARTS} levels");
            return ScenarioError::new("", "not TOML: nested too deeply", hint);
        }
        let at = error.span().map(|span| {
            let before = text.get(..span.start).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            format!("line {line}, column {column}")
        });
        let message = format!("not TOML: {}", one_line(error.message()));
        ScenarioError::new(at.unwrap_or_default(), message, "see the bundled scenarios for examples")
    })
}

/// Sets `path` to a value, given as TOML or as a bare word. Components that the path assumes to be in use are put into
/// `assumed`.
pub(super) fn set(
    table: &mut Table,
    path: &str,
    text: &str,
    assumed: &mut Vec<Assumed>,
) -> Result<(), ScenarioError> {
    let hint = "write --set path.to.key=value, such as --set radio.dch.ues=2";
    let indexed = index_in_brackets(path);
    let keys: Vec<&str> = indexed.split('.').map(str::trim).collect();
    if keys.len() > MOST_PARTS {
        let message = format!("a key of {} parts", keys.len());
        return Err(ScenarioError::new(keys[0], message, format!("write at most {MOST_PARTS}")));
    }
    let Some((last, parents)) = keys.split_last().filter(|_| keys.iter().all(|key| !key.is_empty())) else {
        return Err(ScenarioError::new(path, "not a path of keys", hint));
    };
    let mut here = table;
    let mut place = Vec::new();
    for key in parents {
        choice::assume(here, &place, key, assumed);
        place.push(counted(here, key));
        let Value::Table(next) = entry(here, key, path, true)? else {
            return Err(ScenarioError::new(path, format!("{key} is no table"), hint));
        };
        here = next;
    }
    // Text that is not a TOML value is used as a string: rates, times and sizes need no quotes on a command line.
    let value = format!("value = {text}").parse::<Table>().ok().and_then(|mut parsed| parsed.remove("value"));
    let mut value = value.unwrap_or_else(|| Value::String(text.to_owned()));
    spell_out(last, &mut value);
    if is_at_choice(&place) {
        // A component's own table is written whole, as any other; it is the only one there.
        *here = Table::from_iter([((*last).to_owned(), value)]);
    } else {
        place.push(counted(here, last));
        choice::set(entry(here, last, path, false)?, &place, value);
    }
    choice::forget(&place, assumed);
    Ok(())
}

/// The key with the index that a list of one does not need: `flow` as `flow[0]`.
fn counted(table: &Table, key: &str) -> String {
    match table.get(key) {
        Some(Value::Array(items)) if items.len() == 1 => format!("{key}[0]"),
        _ => key.to_owned(),
    }
}

/// The table under `key`, such as `tcp` or `flow[1]`; created if there is none.
fn entry<'a>(
    table: &'a mut Table,
    key: &str,
    path: &str,
    is_parent: bool,
) -> Result<&'a mut Value, ScenarioError> {
    let (name, index) = split_index(key);
    // A list of one needs no index.
    let only = match table.get(name) {
        Some(Value::Array(items)) if is_parent && items.len() == 1 => Some(0),
        Some(Value::Array(items)) if is_parent && index.is_none() => {
            let message = format!("there are {} of {name}", items.len());
            return Err(ScenarioError::new(path, message, format!("write {name}[0] for the first")));
        }
        _ => None,
    };
    let Some(index) = index.or(only) else {
        return Ok(table.entry(name).or_insert_with(|| Value::Table(Table::new())));
    };
    let items = match table.get_mut(name) {
        Some(Value::Array(items)) => items.as_mut_slice(),
        Some(_) => {
            let hint = format!("write {name} without [{index}]");
            return Err(ScenarioError::new(path, format!("{name} is no list"), hint));
        }
        None => &mut [],
    };
    let length = items.len();
    items.get_mut(index).ok_or_else(|| {
        let hint = match length {
            0 => format!("add [[{name}]] to the scenario"),
            1 => format!("write {name}[0]"),
            _ => format!("write {name}[0] to {name}[{}]", length - 1),
        };
        let message = format!("there is no {name}[{index}]: the list has {length}, counted from 0");
        ScenarioError::new(path, message, hint)
    })
}

/// `flow.1.ue` as `flow[1].ue`.
fn index_in_brackets(path: &str) -> String {
    let mut result = String::new();
    for key in path.split('.') {
        if !key.is_empty() && key.chars().all(|c| c.is_ascii_digit()) {
            result.push_str(&format!("[{key}]"));
        } else {
            result.push_str(if result.is_empty() { "" } else { "." });
            result.push_str(key);
        }
    }
    result
}

/// Completes tables that hold only differences: `[tcp]` of a flow or a middlebox from the scenario's `[tcp]`,
/// `[wired.uplink]` from the downlink, a bearer in `[radio.dch.qos]` from the cell's own, and the leg of a relocation
/// from `[umts.iu]`.
pub(super) fn inherit(table: &mut Table) {
    inherit_link(table);
    inherit_bearers(table);
    for list in ["way", "cell"] {
        let owners = table.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for owner in owners.filter_map(Value::as_table_mut) {
            inherit_link(owner);
            inherit_bearers(owner);
        }
    }
    inherit_legs(table);
    inherit_tcp(table);
}

fn inherit_link(table: &mut Table) {
    if let Some(Value::Table(wired)) = table.get_mut("wired")
        && let Some(uplink) = wired.remove("uplink")
    {
        let uplink = match uplink {
            Value::Table(own) => Value::Table(merged(wired, &own)),
            other => other,
        };
        wired.insert("uplink".to_owned(), uplink);
    }
}

/// Merges `[tcp]` into the `tcp` tables of flows and boxes: the nearest table takes precedence, then the scenario's,
/// then the profile's.
fn inherit_tcp(table: &mut Table) {
    let shared = match table.get("tcp") {
        Some(Value::Table(shared)) => shared.clone(),
        _ => Table::new(),
    };
    let mut apply = |owner: &mut Value| {
        if let Some(Value::Table(own)) = owner.get_mut("tcp") {
            *own = profile::apply(&merged(&shared, own), merged);
        }
    };
    if let Some(Value::Array(flows)) = table.get_mut("flow") {
        flows.iter_mut().for_each(&mut apply);
    }
    let mut apply_to_boxes = |owner: &mut Table| {
        let boxes = owner.get_mut("middlebox").and_then(Value::as_array_mut).into_iter().flatten();
        let boxes = boxes.filter_map(Value::as_table_mut);
        boxes.flat_map(|named| named.iter_mut()).for_each(|(_, parameters)| apply(parameters));
    };
    apply_to_boxes(table);
    for list in ["way", "cell"] {
        let owners = table.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        owners.filter_map(Value::as_table_mut).for_each(&mut apply_to_boxes);
    }
    if let Some(Value::Table(tcp)) = table.get_mut("tcp") {
        *tcp = profile::apply(&shared, merged);
    }
}

/// Puts the keys of a cell's activity over those of its preset.
fn inherit_activity(table: &mut Table) {
    let cells =
        table.get_mut("radio").and_then(Value::as_table_mut).into_iter().flat_map(|radio| radio.iter_mut());
    for (_, cell) in cells {
        if let Some(Value::Table(own)) = cell.get_mut("activity") {
            *own = activity::apply(own, merged);
        }
    }
}

fn inherit_bearers(table: &mut Table) {
    inherit_activity(table);
    let dch = table.get_mut("radio").and_then(|radio| radio.get_mut("dch"));
    let Some(Value::Table(dch)) = dch else { return };
    let own = ["downlink", "uplink"].map(|dir| (dir, dch.get(dir).cloned()));
    let Some(Value::Table(classes)) = dch.get_mut("qos") else { return };
    for (_, class) in classes.iter_mut() {
        for (dir, base) in &own {
            if let (Some(Value::Table(base)), Some(Value::Table(bearer))) = (base, class.get_mut(dir)) {
                *bearer = merged(base, bearer);
            }
        }
    }
}

fn inherit_legs(table: &mut Table) {
    let own = table.get("umts").and_then(|umts| umts.get("iu")).cloned();
    let (Some(Value::Table(own)), Some(Value::Array(handovers))) = (own, table.get_mut("handover")) else {
        return;
    };
    for handover in handovers {
        let Some(Value::Table(relocation)) = handover.get_mut("relocation") else { continue };
        let leg = relocation.entry("iu").or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(leg) = leg {
            *leg = merged(&own, leg);
        }
    }
}

/// Writes "absent" for each key that `written` does not have and that reading it gives a value, as `read` shows.
pub(super) fn mark_absent(written: &mut Table, read: &Table) {
    for (key, value) in read {
        match written.get_mut(key) {
            Some(own) => mark_absent_in(own, value),
            None => {
                written.insert(key.clone(), Value::from(ABSENT));
            }
        }
    }
}

fn mark_absent_in(written: &mut Value, read: &Value) {
    match (written, read) {
        (Value::Table(own), Value::Table(other)) => mark_absent(own, other),
        (Value::Array(own), Value::Array(others)) => {
            own.iter_mut().zip(others).for_each(|(one, other)| mark_absent_in(one, other));
        }
        _ => {}
    }
}

pub(super) fn deserialize<T: DeserializeOwned>(table: Table) -> Result<T, ScenarioError> {
    let root = Value::Table(table);
    T::deserialize(Reader(&root)).map_err(|error| {
        let (path, value) = find(&root, &error.back);
        explain(&path, value, &one_line(&error.to_string()))
    })
}

/// The path as written in a scenario, and the value there.
fn find<'a>(root: &'a Value, back: &[Step]) -> (String, Option<&'a Value>) {
    back.iter().rev().fold((String::new(), Some(root)), |(path, here), step| match step {
        Step::Index(index) => (format!("{path}[{index}]"), here.and_then(|value| value.get(*index))),
        Step::Key(key) => {
            let dot = if path.is_empty() { "" } else { "." };
            (format!("{path}{dot}{key}"), here.and_then(|value| value.get(key)))
        }
    })
}

/// Splits serde's message into the problem and the expected value.
fn explain(path: &str, value: Option<&Value>, message: &str) -> ScenarioError {
    let last = path.rsplit('.').next().unwrap_or_default();
    let under = |key: &str| {
        let repeated = path == key || path.ends_with(&format!(".{key}"));
        match (path.is_empty(), repeated) {
            (true, _) => key.to_owned(),
            (false, true) => path.to_owned(),
            (false, false) => format!("{path}.{key}"),
        }
    };
    for what in ["field", "variant"] {
        let Some(rest) = message.strip_prefix(&format!("unknown {what} `")) else { continue };
        let Some((key, rest)) = rest.split_once('`') else { continue };
        let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        return match value {
            Some(Value::String(_)) if what == "variant" => {
                ScenarioError::new(path, format!("unknown name \"{key}\""), suggestion(key, &known))
            }
            _ if what == "field" => ScenarioError::new(under(key), "unknown key", suggestion(key, &known)),
            _ => ScenarioError::new(under(key), "unknown name", suggestion(key, &known)),
        };
    }
    if let Some(key) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return ScenarioError::new(under(key), "is missing", "write it: there is no default");
    }
    // A choice of one, in words that speak of TOML and not of Rust.
    let words = match (message, value) {
        ("invalid type: unit variant, expected newtype variant", Some(Value::String(name))) => Some((
            format!("\"{name}\" is a key here, not a value"),
            format!("write {last}.{name} = {{}}, or what it needs instead of {{}}"),
        )),
        ("invalid type: unit variant, expected string only", _) => {
            Some(("not a name".into(), "write one in quotes".into()))
        }
        _ if message.starts_with("wanted exactly 1 element, found 0") => {
            Some(("nothing is chosen".into(), "name one; `airpath list` shows what there is".into()))
        }
        _ if message.starts_with("wanted exactly 1 element, more") => {
            Some(("more than one is chosen".into(), "keep one of them".into()))
        }
        _ => None,
    };
    if let Some((what, right)) = words {
        return ScenarioError::new(path, what, right);
    }
    if let Some((what, start, right)) = ScenarioError::split(message) {
        return ScenarioError::new(path, in_toml(what), format!("{start}{}", in_toml(right)));
    }
    match message.strip_prefix("expected ") {
        Some(right) => {
            ScenarioError::new(path, "not a value that can be used here", format!("write {}", in_toml(right)))
        }
        None => ScenarioError::new(path, message, "`airpath list` shows what may be written"),
    }
}

/// Serde's names of types in the words of TOML.
fn in_toml(words: &str) -> &str {
    match words {
        "invalid type: map" => "invalid type: table",
        "invalid type: sequence" => "invalid type: list",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "a boolean" => "true or false",
        "a sequence" => "a list: in double brackets, such as [[flow]]",
        _ if words.starts_with("struct ") => "a table, in braces or under its name in brackets",
        _ => words,
    }
}

fn suggestion(key: &str, known: &[&str]) -> String {
    // The beginning of a name is as near as can be.
    let far = |name: &str| if key.len() > 2 && name.starts_with(key) { 0 } else { distance(key, name) };
    let nearest = known.iter().map(|name| (far(name), *name)).min();
    match nearest {
        Some((away, name)) if away <= 1 + key.len() / 4 => format!("did you mean {name}?"),
        _ if known.is_empty() => "there is nothing to set here".to_owned(),
        _ => format!("known here: {}", known.join(", ")),
    }
}

/// Edit distance without regard to case, in which an exchange of two neighbours is one edit (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let [a, b] = [a, b].map(|text| text.to_lowercase().chars().collect::<Vec<char>>());
    // Rows of the two characters before and of this one.
    let (mut before, mut last): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=b.len()).collect());
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut least = (last[j] + usize::from(x != y)).min(row[j] + 1).min(last[j + 1] + 1);
            if i > 0 && j > 0 && a[i - 1] == *y && *x == b[j - 1] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        (before, last) = (last, row);
    }
    last[b.len()]
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
