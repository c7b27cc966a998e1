//! Files that a scenario names: what they hold takes their place.
//!
//! A scenario may give the path of a trace. Before anything else is made of the table its text is put
//! there instead, so that a resolved scenario is the same wherever it is run. Reading is passed in: the
//! core opens nothing.

use crate::channel::trace_file::Trace;
use crate::error::ScenarioError;
use toml::{Table, Value};

/// Reads the file at a path as the scenario writes it; an error says what is wrong, as in "is too large".
pub(super) type Read<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

// In tables of this name the one key makes way for the other.
const TABLE: &str = "trace_file";
const FILE: &str = "file";
const TEXT: &str = "trace";

/// Puts the text of every file that the table names in its place.
pub(super) fn inline(table: &mut Table, read: &mut Option<Read<'_>>) -> Result<(), ScenarioError> {
    for (key, value) in table.iter_mut() {
        let within = match value {
            Value::Table(inner) if key == TABLE => replace(inner, read),
            Value::Table(inner) => inline(inner, read),
            _ => Ok(()),
        };
        within.map_err(|error| error.under(key))?;
    }
    Ok(())
}

/// Anything but a text under `file` is left for the types to refuse.
fn replace(table: &mut Table, read: &mut Option<Read<'_>>) -> Result<(), ScenarioError> {
    let Some(Value::String(path)) = table.get(FILE) else { return Ok(()) };
    if table.contains_key(TEXT) {
        return Err(ScenarioError::new("", "has both a file and a trace", "keep one of them"));
    }
    let error = |message: String, hint: &str| ScenarioError::new(FILE, message, hint);
    let Some(read) = read else {
        return Err(error(format!("'{path}' is not read here"), "write its text, under the key trace"));
    };
    let text = read(path).map_err(|what| {
        error(format!("'{path}' {what}"), "write the path of a trace, from the scenario's folder")
    })?;
    let trace: Trace = text
        .parse()
        .map_err(|wrong: ScenarioError| error(format!("'{path}', {}", wrong.message), &wrong.hint))?;
    table.insert(TEXT.to_owned(), Value::String(trace.to_text()));
    table.remove(FILE);
    Ok(())
}
