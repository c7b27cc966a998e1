//! A mean SINR as a series in time, from CSV and back.
//!
//! The columns are `time_s` and `sinr_db`, for all UEs, or `time_s` and `ue0_db`, `ue1_db` and so on.

use super::Between;
use crate::csv::{self, Column, shown, wrong};
use crate::error::{ScenarioError, as_text};
use crate::parsed::Parsed;
use crate::time::Duration;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

const HEADER: &str = "write a first line of time_s and sinr_db, or of time_s, ue0_db, ue1_db and so on";

const ALL: &str = "sinr_db";

fn sinr(name: &str) -> Column<'_> {
    Column { name, least: -100.0, most: 100.0, form: "a ratio in dB from -100 to 100" }
}

/// The lines of a series that is valid.
#[derive(Clone)]
pub struct Rows {
    /// As it was given.
    text: Arc<str>,
    /// For each column of SINR its lines.
    columns: Arc<[Arc<[Line]>]>,
    /// Whether the only column is for all UEs.
    is_for_all: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    from: Duration,
    sinr_db: f64,
}

/// A mean over time, dB.
#[derive(Clone)]
pub(crate) enum Mean {
    Constant(f64),
    /// `offset_s` is how far into the series the run begins.
    Series {
        lines: Arc<[Line]>,
        between: Between,
        period_s: Option<f64>,
        offset_s: f64,
    },
}

impl Mean {
    /// Values joined by straight lines, from the start of the run; at least one value is required.
    pub fn on_lines(values: impl IntoIterator<Item = (Duration, f64)>) -> Self {
        let lines = values.into_iter().map(|(from, sinr_db)| Line { from, sinr_db }).collect();
        Self::Series { lines, between: Between::Line, period_s: None, offset_s: 0.0 }
    }

    /// At a time, dB.
    pub fn at(&self, time_s: f64) -> f64 {
        let (lines, between, time_s) = match self {
            Self::Constant(sinr_db) => return *sinr_db,
            Self::Series { lines, between, period_s: None, offset_s } => (lines, *between, time_s + offset_s),
            Self::Series { lines, between, period_s: Some(period_s), offset_s } => {
                (lines, *between, libm::fmod(time_s + offset_s, *period_s))
            }
        };
        let next = lines.partition_point(|line| line.from.as_secs_f64() <= time_s);
        match (next.checked_sub(1).and_then(|last| lines.get(last)), lines.get(next)) {
            (Some(last), Some(_)) if between == Between::Hold => last.sinr_db,
            (Some(last), Some(next)) => {
                let from_s = last.from.as_secs_f64();
                let part = (time_s - from_s) / (next.from.as_secs_f64() - from_s);
                last.sinr_db + part * (next.sinr_db - last.sinr_db)
            }
            (Some(only), None) | (None, Some(only)) => only.sinr_db,
            (None, None) => 0.0,
        }
    }
}

impl Rows {
    /// Refuses a series with columns for another number of UEs.
    pub(super) fn check(&self, ues: u16) -> Result<(), ScenarioError> {
        let columns = self.columns.len();
        if self.is_for_all || columns == usize::from(ues) {
            return Ok(());
        }
        let message = format!("the series has columns for {columns} UEs, and the cell has {ues}");
        Err(ScenarioError::new("rows", message, "write a column for each UE, or sinr_db for all"))
    }

    /// The time of the last line.
    pub(super) fn last(&self) -> Duration {
        self.columns[0].last().map_or(Duration::ZERO, |line| line.from)
    }

    /// Whether the only column is for all UEs.
    pub(super) fn is_for_all(&self) -> bool {
        self.is_for_all
    }

    pub(super) fn mean(&self, ue: u16, between: Between, repeat: Option<Duration>, offset: Duration) -> Mean {
        let column = if self.is_for_all { 0 } else { usize::from(ue) };
        let period_s = repeat.map(Duration::as_secs_f64);
        let offset_s = offset.as_secs_f64();
        Mean::Series { lines: self.columns[column].clone(), between, period_s, offset_s }
    }

    /// The text of the series.
    pub fn to_text(&self) -> Arc<str> {
        self.text.clone()
    }
}

/// The columns of the first line, in their order: that of times, and those of the UEs, which stand in order too.
fn header(names: Vec<&str>) -> Result<Vec<Column<'_>>, ScenarioError> {
    let mut ues = 0;
    let mut columns = Vec::new();
    for name in names {
        let is_next = name == format!("ue{ues}_db");
        let is_known = name == csv::TIME.name || name == ALL || is_next;
        if columns.iter().any(|column: &Column<'_>| column.name == name) {
            return wrong(1, format!("column {} twice", shown(name)), "write each column once");
        }
        if !is_known {
            return wrong(1, format!("unknown column '{}'", shown(name)), HEADER);
        }
        ues += u32::from(is_next);
        columns.push(if name == csv::TIME.name { csv::TIME } else { sinr(name) });
    }
    let has_all = columns.iter().any(|column| column.name == ALL);
    match (has_all, ues) {
        (true, 1..) => wrong(1, "a column for all UEs and columns for each", HEADER),
        (false, 0) => wrong(1, format!("no column {ALL}"), HEADER),
        _ => Ok(columns),
    }
}

impl Default for Rows {
    /// 10 dB without end.
    fn default() -> Self {
        let line = Line { from: Duration::ZERO, sinr_db: 10.0 };
        let columns = [[line].as_slice().into()].as_slice().into();
        Self { text: "time_s,sinr_db\n0,10\n".into(), columns, is_for_all: true }
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
        let mut names = Vec::new();
        let lines = csv::series(text, HEADER, |first| {
            let columns = header(first)?;
            names = columns.iter().map(|column| column.name).collect();
            Ok(columns)
        })?;
        let of = |column: usize| -> Arc<[Line]> {
            lines.iter().map(|(from, numbers)| Line { from: *from, sinr_db: numbers[column] }).collect()
        };
        let ratios = names.iter().enumerate().filter(|(_, name)| **name != csv::TIME.name);
        let columns = ratios.map(|(column, _)| of(column)).collect();
        Ok(Self { text: text.into(), columns, is_for_all: names.contains(&ALL) })
    }
}

impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({} lines)", self.columns[0].len())
    }
}

as_text!(Rows, "SinrRows", "a string", { "type": "string", "pattern": "time_s" });
