//! The lines of a series, from CSV and back.

use crate::channel::piecewise::Known;
use crate::csv::{self, Column, shown, wrong};
use crate::error::{ScenarioError, as_text};
use crate::parsed::Parsed;
use crate::time::Duration;
use crate::units::{Bitrate, Probability};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Rates up to 1 Tbit/s, times as in a scenario.
const COLUMNS: [Column<'static>; 4] = [
    csv::TIME,
    Column { name: "rate_kbps", least: 0.0, most: 1e9, form: "a rate in kbit/s, 0 for an outage" },
    Column {
        name: "delay_ms",
        least: 0.0,
        most: Duration::LONGEST.as_nanos() as f64 / 1e6,
        form: "a delay in milliseconds",
    },
    Column { name: "loss", least: 0.0, most: 1.0, form: "a probability from 0 to 1" },
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

    /// How long the series lasts if its last line holds as long as the one before it; `None` of a single line.
    pub fn length(&self) -> Option<Duration> {
        let [.., before, last] = &*self.known else { return None };
        Some(last.from + (last.from - before.from))
    }

    /// The text of the series.
    pub fn to_text(&self) -> Arc<str> {
        self.text.clone()
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

/// The columns in their order in the file.
fn header(names: Vec<&str>) -> Result<Vec<usize>, ScenarioError> {
    let mut columns = Vec::new();
    for name in names {
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

/// What a line says, its numbers by column; zero where the file has no such column.
fn known(from: Duration, values: [f64; COLUMNS.len()]) -> Known {
    let rounded = |value: f64| (value + 0.5) as u64;
    Known {
        from,
        rate: Bitrate::from_bps(rounded(values[RATE] * 1e3)),
        delay: Duration::from_nanos(rounded(values[DELAY] * 1e6)),
        loss: Probability::new(values[LOSS]).unwrap_or_default(),
    }
}

impl FromStr for Rows {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        static PARSED: Parsed<Rows> = Parsed::new();
        PARSED.of(text, Self::read)
    }
}

impl Rows {
    fn read(text: &str) -> Result<Self, ScenarioError> {
        let mut order = Vec::new();
        let lines = csv::series(text, HEADER, |names| {
            order = header(names)?;
            Ok(order.iter().map(|column| COLUMNS[*column]).collect())
        })?;
        let rows = lines.into_iter().map(|(from, numbers)| {
            let mut values = [0.0; COLUMNS.len()];
            order.iter().zip(numbers).for_each(|(column, number)| values[*column] = number);
            known(from, values)
        });
        let rows: Vec<Known> = rows.collect();
        if rows.iter().all(|row| row.rate.as_bps() == 0) {
            let message = "a link without a positive rate never sends";
            return Err(ScenarioError::new("", message, "write a rate above 0 in some line"));
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
