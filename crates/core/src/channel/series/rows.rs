//! The lines of a series, from CSV and back.

use crate::channel::piecewise::Known;
use crate::error::{ScenarioError, as_text};
use crate::time::Duration;
use crate::units::{Bitrate, Probability};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A column: its name, the largest number in it, and what a number in it is.
struct Column {
    name: &'static str,
    most: f64,
    form: &'static str,
}

/// Rates up to 1 Tbit/s, times as in a scenario.
const COLUMNS: [Column; 4] = [
    Column { name: "time_s", most: Duration::LONGEST.as_nanos() as f64 / 1e9, form: "a time in seconds" },
    Column { name: "rate_kbps", most: 1e9, form: "a rate in kbit/s, 0 for an outage" },
    Column {
        name: "delay_ms",
        most: Duration::LONGEST.as_nanos() as f64 / 1e6,
        form: "a delay in milliseconds",
    },
    Column { name: "loss", most: 1.0, form: "a probability from 0 to 1" },
];
const TIME: usize = 0;
const RATE: usize = 1;
const DELAY: usize = 2;
const LOSS: usize = 3;

const HEADER: &str =
    "write a first line of time_s and rate_kbps, and of delay_ms and loss where they are known";

/// The lines of a series that is valid.
#[derive(Clone)]
pub struct Rows {
    /// As it was given.
    text: Arc<str>,
    known: Arc<[Known]>,
}

impl Rows {
    pub(super) fn known(&self) -> Arc<[Known]> {
        self.known.clone()
    }

    /// The text of the series.
    pub fn to_text(&self) -> String {
        self.text.to_string()
    }
}

impl Default for Rows {
    /// 384 kbit/s without end.
    fn default() -> Self {
        let rate = Bitrate::from_bps(384_000);
        let row = Known { from: Duration::ZERO, rate, delay: Duration::ZERO, loss: Probability::ZERO };
        Self { text: "time_s,rate_kbps\n0,384\n".into(), known: Arc::new([row]) }
    }
}

fn wrong<T>(line: usize, message: impl fmt::Display, hint: impl Into<String>) -> Result<T, ScenarioError> {
    Err(ScenarioError::new("", format!("line {line}: {message}"), hint))
}

/// What a line has in a column, cut for display.
fn shown(field: &str) -> String {
    field.chars().take(30).flat_map(char::escape_debug).collect()
}

/// The columns in their order in the file.
fn header(line: &str) -> Result<Vec<usize>, ScenarioError> {
    let mut columns = Vec::new();
    for name in line.split(',').map(str::trim) {
        match COLUMNS.iter().position(|column| column.name == name) {
            None => return wrong(1, format!("unknown column '{}'", shown(name)), HEADER),
            Some(column) if columns.contains(&column) => {
                return wrong(1, format!("column {name} twice"), "write each column once");
            }
            Some(column) => columns.push(column),
        }
    }
    match [TIME, RATE].into_iter().find(|column| !columns.contains(column)) {
        Some(missing) => wrong(1, format!("no column {}", COLUMNS[missing].name), HEADER),
        None => Ok(columns),
    }
}

/// The numbers of a line, by column; zero where the file has no such column.
fn numbers(columns: &[usize], number: usize, line: &str) -> Result<[f64; COLUMNS.len()], ScenarioError> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() != columns.len() {
        let message = format!("not {} fields but {}", columns.len(), fields.len());
        return wrong(number, message, "write a number for each column");
    }
    let mut values = [0.0; COLUMNS.len()];
    for (column, field) in columns.iter().zip(fields) {
        let Column { name, most, form } = &COLUMNS[*column];
        match field.parse::<f64>() {
            Ok(value) if (0.0..=*most).contains(&value) => values[*column] = value,
            _ => {
                let message = format!("'{}' in column {name}", shown(field));
                return wrong(number, message, format!("write {form}"));
            }
        }
    }
    Ok(values)
}

fn known(values: [f64; COLUMNS.len()]) -> Known {
    let rounded = |value: f64| (value + 0.5) as u64;
    Known {
        from: Duration::from_nanos(rounded(values[TIME] * 1e9)),
        rate: Bitrate::from_bps(rounded(values[RATE] * 1e3)),
        delay: Duration::from_nanos(rounded(values[DELAY] * 1e6)),
        loss: Probability::new(values[LOSS]).unwrap_or_default(),
    }
}

impl FromStr for Rows {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        // Spreadsheets may put a byte order mark in front.
        let mut lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
        let Some((_, first)) = lines.next() else {
            return Err(ScenarioError::new("", "the series is empty", HEADER));
        };
        let columns = header(first)?;
        let mut rows: Vec<Known> = Vec::new();
        for (number, line) in lines {
            if line.trim().is_empty() {
                return wrong(number, "is empty", "write a row in each line");
            }
            let row = known(numbers(&columns, number, line)?);
            match rows.last() {
                None if !row.from.is_zero() => {
                    let message = format!("the series begins at {}", row.from);
                    return wrong(number, message, "write 0 as its first time");
                }
                Some(last) if row.from <= last.from => {
                    let message =
                        format!("{} is not after {}, the time in the line above", row.from, last.from);
                    return wrong(number, message, "write the times in their order, each once");
                }
                _ => rows.push(row),
            }
        }
        if rows.iter().all(|row| row.rate.as_bps() == 0) {
            let (message, hint) = match rows.is_empty() {
                true => ("the series has no line but the names of its columns", "write at least one more"),
                false => ("a link without a positive rate never sends", "write a rate above 0 in some line"),
            };
            return Err(ScenarioError::new("", message, hint));
        }
        Ok(Self { text: text.into(), known: rows.into() })
    }
}

impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({} lines)", self.known.len())
    }
}

as_text!(Rows, "Rows", "a string", { "type": "string", "pattern": "time_s" });
