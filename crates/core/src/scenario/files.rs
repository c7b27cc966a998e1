//! Files that a scenario names: their contents replace the names.
//!
//! A scenario may give the path of a trace or of a list of values. Before anything else is made of the table its text
//! is put there instead, so that a resolved scenario is the same wherever it is run. Reading is passed in: the core
//! opens nothing.

use crate::app::arrivals::List;
use crate::channel;
use crate::channel::process;
use crate::channel::trace_file::Trace;
use crate::distribution::Values;
use crate::error::ScenarioError;
use crate::mobility;
use crate::sinr;
use crate::time::Duration;
use crate::units::{Bitrate, Bytes};
use toml::{Table, Value};

/// Reads the file at a path as written in the scenario; an error describes the problem, as in "is too large".
pub(super) type Read<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

/// A table that may name a file instead of giving its text.
struct Inlined {
    /// The name of the table.
    table: &'static str,
    /// The key of the text, for which that of the file makes way.
    text: &'static str,
    /// Kind of content, with its article, for errors.
    what: &'static str,
    /// Converts the text of the file to the value in a resolved scenario. Also given the table's parent.
    read: fn(&str, &str) -> Result<Value, ScenarioError>,
}

const FILE: &str = "file";

const INLINED: [Inlined; 5] = [
    Inlined {
        table: "trace_file",
        text: "trace",
        what: "a trace",
        read: |_, text| Ok(text.parse::<Trace>()?.to_text().to_string().into()),
    },
    Inlined {
        table: "trace",
        text: "list",
        what: "a list of files",
        read: |_, text| Ok(text.parse::<List>()?.to_text().into()),
    },
    Inlined { table: "process", text: "model", what: "a model", read: |_, text| process::Model::read(text) },
    Inlined {
        table: "series",
        text: "rows",
        what: "a series",
        read: |parent, text| match parent {
            "channel" => Ok(text.parse::<channel::series::Rows>()?.to_text().to_string().into()),
            "mobility" => Ok(text.parse::<mobility::Rows>()?.to_text().to_string().into()),
            _ => Ok(text.parse::<sinr::Rows>()?.to_text().to_string().into()),
        },
    },
    Inlined {
        table: "empirical",
        text: "values",
        what: "a list of values",
        read: |parent, text| match parent {
            "rate" => Ok(text.parse::<Values<Bitrate>>()?.to_text().into()),
            "size" => Ok(text.parse::<Values<Bytes>>()?.to_text().into()),
            _ => Ok(text.parse::<Values<Duration>>()?.to_text().into()),
        },
    },
];

/// Makes way in a component's table for `key` of one that is put on it: a file and the text that it would give exclude
/// each other.
pub(super) fn make_way(component: &str, table: &mut Table, key: &str) {
    let Some(inlined) = INLINED.iter().find(|inlined| inlined.table == component) else { return };
    let other = if key == FILE { inlined.text } else { FILE };
    if key == FILE || key == inlined.text {
        table.remove(other);
    }
}

/// Puts the text of every file that the table names in its place.
pub(super) fn inline(table: &mut Table, read: &mut Option<Read<'_>>) -> Result<(), ScenarioError> {
    inline_below("", table, read)
}

fn inline_below(parent: &str, table: &mut Table, read: &mut Option<Read<'_>>) -> Result<(), ScenarioError> {
    for (key, value) in table.iter_mut() {
        if let Value::Array(items) = value {
            for (index, item) in items.iter_mut().enumerate() {
                let Value::Table(inner) = item else { continue };
                inline_below(key, inner, read).map_err(|error| error.under(&format!("{key}[{index}]")))?;
            }
        }
        let Value::Table(inner) = value else { continue };
        let within = match INLINED.iter().find(|inlined| inlined.table == key) {
            Some(inlined) => inlined.replace(parent, inner, read),
            None => inline_below(key, inner, read),
        };
        within.map_err(|error| error.under(key))?;
    }
    Ok(())
}

impl Inlined {
    /// Anything but a text under `file` is left for the types to refuse.
    fn replace(
        &self,
        parent: &str,
        table: &mut Table,
        read: &mut Option<Read<'_>>,
    ) -> Result<(), ScenarioError> {
        let Some(Value::String(path)) = table.get(FILE) else { return Ok(()) };
        let Self { text: key, what, .. } = self;
        if table.contains_key(*key) {
            return Err(ScenarioError::new("", format!("has both a file and {what}"), "keep one of them"));
        }
        let error = |message: String, hint: &str| ScenarioError::new(FILE, message, hint);
        let Some(read) = read else {
            let hint = format!("write its text, under the key {key}");
            return Err(error(format!("'{path}' is not read here"), &hint));
        };
        let hint = format!("write the path of {what}, from the scenario's folder");
        let text = read(path).map_err(|wrong| error(format!("'{path}' {wrong}"), &hint))?;
        let text = (self.read)(parent, &text)
            .map_err(|wrong| error(format!("'{path}', {}", wrong.message), &wrong.hint))?;
        table.insert((*key).to_owned(), text);
        table.remove(FILE);
        Ok(())
    }
}
