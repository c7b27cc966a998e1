//! TOML tables on their way to a scenario: parsing, overrides, inheritance, errors with their key.

use crate::error::ScenarioError;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Tables that hold one component each: naming another replaces the present one.
const CHOICES: &[&str] = &["cc", "recovery", "rlc", "channel", "queue", "radio", "app"];

pub(super) fn parse(text: &str) -> Result<Table, ScenarioError> {
    text.parse::<Table>().map_err(|error| {
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

/// Sets `path` to a value, given as TOML or as a bare word.
pub(super) fn set(table: &mut Table, path: &str, text: &str) -> Result<(), ScenarioError> {
    let hint = "write --set path.to.key=value, such as --set radio.dch.ues=2";
    let indexed = index_in_brackets(path);
    let keys: Vec<&str> = indexed.split('.').map(str::trim).collect();
    let Some((last, parents)) = keys.split_last().filter(|_| keys.iter().all(|key| !key.is_empty())) else {
        return Err(ScenarioError::new(path, "not a path of keys", hint));
    };
    let mut here = table;
    let mut chosen = None;
    for key in parents {
        choose(here, chosen, key);
        chosen = Some(*key);
        let (name, index) = split_index(key);
        let entry = here.entry(name).or_insert_with(|| Value::Table(Table::new()));
        let entry = match (entry, index) {
            (Value::Array(items), index) => {
                let length = items.len();
                items.get_mut(index.unwrap_or(0)).ok_or_else(|| {
                    ScenarioError::new(
                        path,
                        format!("there is no [{}]: {name} has {length}", index.unwrap_or(0)),
                        hint,
                    )
                })?
            }
            (entry, _) => entry,
        };
        let Value::Table(next) = entry else {
            return Err(ScenarioError::new(path, format!("{key} is no table"), hint));
        };
        here = next;
    }
    choose(here, chosen, last);
    // What is no TOML value is taken as text: rates, times and sizes need no quotes on a command line.
    let value = format!("value = {text}").parse::<Table>().ok().and_then(|mut parsed| parsed.remove("value"));
    here.insert((*last).to_owned(), value.unwrap_or_else(|| Value::String(text.to_owned())));
    Ok(())
}

/// Under a table of choice, another component's parameters make way.
fn choose(table: &mut Table, parent: Option<&str>, key: &str) {
    if parent.is_some_and(|parent| CHOICES.contains(&parent)) {
        table.retain(|name, _| name == key);
    }
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

/// `flow[1]` as (`flow`, 1).
fn split_index(key: &str) -> (&str, Option<usize>) {
    let indexed = key.strip_suffix(']').and_then(|key| key.split_once('['));
    match indexed.and_then(|(name, index)| Some((name, index.parse().ok()?))) {
        Some((name, index)) => (name, Some(index)),
        None => (key, None),
    }
}

/// A flow's `[tcp]` holds only what differs from the scenario's.
pub(super) fn inherit_tcp(table: &mut Table) {
    let Some(Value::Table(shared)) = table.get("tcp").cloned() else { return };
    let Some(Value::Array(flows)) = table.get_mut("flow") else { return };
    for flow in flows {
        if let Some(Value::Table(own)) = flow.get_mut("tcp") {
            *own = merged(&shared, own);
        }
    }
}

fn merged(base: &Table, over: &Table) -> Table {
    let mut result = base.clone();
    for (key, value) in over {
        let value = match (result.get(key), value) {
            (Some(Value::Table(below)), Value::Table(above)) if !CHOICES.contains(&key.as_str()) => {
                Value::Table(merged(below, above))
            }
            _ => value.clone(),
        };
        result.insert(key.clone(), value);
    }
    result
}

pub(super) fn deserialize<T: DeserializeOwned>(table: Table) -> Result<T, ScenarioError> {
    serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
        let path = error.path().to_string();
        let message = one_line(error.inner().message());
        explain(if path == "." { "" } else { &path }, &message)
    })
}

/// Splits serde's words into what is wrong and what would be right.
fn explain(path: &str, message: &str) -> ScenarioError {
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
        let word = if what == "field" { "unknown key" } else { "unknown name" };
        return ScenarioError::new(under(key), word, suggestion(key, &known));
    }
    // The words of units.rs and of serde: what is wrong, then what would be right.
    const TURNS: [(&str, &str); 6] = [
        (": write ", "write "),
        ("; write ", "write "),
        (": use one of ", "use one of "),
        (": did you mean ", "did you mean "),
        (": at most ", "write at most "),
        (", expected ", "write "),
    ];
    for (turn, start) in TURNS {
        if let Some((what, right)) = message.split_once(turn) {
            return ScenarioError::new(path, what, format!("{start}{right}"));
        }
    }
    match message.strip_prefix("expected ") {
        Some(right) => {
            ScenarioError::new(path, "not a value that can be used here", format!("write {right}"))
        }
        None => ScenarioError::new(path, message, "`airpath list` shows what may be written"),
    }
}

fn suggestion(key: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|name| (distance(key, name), *name)).min();
    match nearest {
        Some((distance, name)) if distance <= 1 + key.len() / 4 => format!("did you mean {name}?"),
        _ if known.is_empty() => "there is nothing to set here".to_owned(),
        _ => format!("known here: {}", known.join(", ")),
    }
}

/// Edit distance (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
