//! Series in time as CSV: a first line of the columns' names, then lines of numbers, whose times rise from 0.

use crate::error::ScenarioError;
use crate::time::Duration;
use std::fmt;

/// A column: its name, the least and the largest number in it, and what a number in it is.
#[derive(Clone, Copy)]
pub struct Column<'a> {
    pub name: &'a str,
    pub least: f64,
    pub most: f64,
    pub form: &'static str,
}

/// The column of times, which every series has.
pub const TIME: Column<'static> = Column {
    name: "time_s",
    least: 0.0,
    most: Duration::LONGEST.as_nanos() as f64 / 1e9,
    form: "a time in seconds",
};

/// What is wrong with a line.
pub fn wrong<T>(
    line: usize,
    message: impl fmt::Display,
    hint: impl Into<String>,
) -> Result<T, ScenarioError> {
    Err(ScenarioError::new("", format!("line {line}: {message}"), hint))
}

/// What a line has in a column, cut for display.
pub fn shown(field: &str) -> String {
    field.chars().take(30).flat_map(char::escape_debug).collect()
}

/// The lines of a series: times, and the numbers of each line with its time among them. `columns` says what the names
/// of the first line mean, one for each, and has one of them called `time_s`; `header` says what to write there.
pub fn series<'a>(
    text: &'a str,
    header: &str,
    columns: impl FnOnce(Vec<&'a str>) -> Result<Vec<Column<'a>>, ScenarioError>,
) -> Result<Vec<(Duration, Vec<f64>)>, ScenarioError> {
    // Spreadsheets may put a byte order mark in front.
    let mut lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
    let Some((_, first)) = lines.next() else {
        return Err(ScenarioError::new("", "the series is empty", header));
    };
    let columns = columns(first.split(',').map(str::trim).collect())?;
    let Some(time) = columns.iter().position(|column| column.name == TIME.name) else {
        return wrong(1, format!("no column {}", TIME.name), header);
    };
    let mut rows: Vec<(Duration, Vec<f64>)> = Vec::new();
    for (number, line) in lines {
        if line.trim().is_empty() {
            return wrong(number, "is empty", "write a row in each line");
        }
        let values = numbers(&columns, number, line)?;
        let from = Duration::from_nanos((values[time] * 1e9 + 0.5) as u64);
        match rows.last() {
            None if !from.is_zero() => {
                return wrong(number, format!("the series begins at {from}"), "write 0 as its first time");
            }
            Some((last, _)) if from <= *last => {
                let message = format!("{from} is not after {last}, the time in the line above");
                return wrong(number, message, "write the times in their order, each once");
            }
            _ => rows.push((from, values)),
        }
    }
    if rows.is_empty() {
        let message = "the series has no line but the names of its columns";
        return Err(ScenarioError::new("", message, "write at least one more"));
    }
    Ok(rows)
}

/// The numbers of a line.
fn numbers(columns: &[Column<'_>], number: usize, line: &str) -> Result<Vec<f64>, ScenarioError> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() != columns.len() {
        let message = format!("not {} fields but {}", columns.len(), fields.len());
        return wrong(number, message, "write a number for each column");
    }
    let parsed = columns.iter().zip(fields).map(|(Column { name, least, most, form }, field)| {
        match field.parse::<f64>() {
            Ok(value) if (*least..=*most).contains(&value) => Ok(value),
            _ => wrong(number, format!("'{}' in column {name}", shown(field)), format!("write {form}")),
        }
    });
    parsed.collect()
}
