//! RSRP of each cell at the UEs, from CSV and back: the columns are `time_s`, and `CELL_dbm` or `UE.CELL_dbm`.

use crate::csv::{self, Column, shown, wrong};
use crate::error::{ScenarioError, as_text};
use crate::parsed::Parsed;
use crate::sinr::Mean;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

const HEADER: &str = "write a first line of time_s and, for each cell, its name and _dbm, such as west_dbm";

/// Behind the name of a cell.
const UNIT: &str = "_dbm";

/// The lines of a series that is valid.
#[derive(Clone)]
pub struct Rows {
    /// As it was given.
    text: Arc<str>,
    /// Name of each column, without its unit, and its values over time.
    columns: Arc<[(String, Mean)]>,
}

impl Rows {
    /// RSRP of a cell at a UE over time; `None` if the UE does not receive it.
    pub(super) fn of(&self, ue: &str, cell: &str) -> Option<Mean> {
        let named =
            |name: &str| self.columns.iter().find(|(own, _)| own == name).map(|(_, mean)| mean.clone());
        named(&format!("{ue}.{cell}")).or_else(|| named(cell))
    }

    /// Whether a UE receives a cell.
    pub fn hears(&self, ue: &str, cell: &str) -> bool {
        self.of(ue, cell).is_some()
    }

    /// The names of the columns, one for each cell.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// The text of the series.
    pub fn to_text(&self) -> Arc<str> {
        self.text.clone()
    }

    fn read(text: &str) -> Result<Self, ScenarioError> {
        let mut names: Vec<&str> = Vec::new();
        let lines = csv::series(text, HEADER, |first| {
            names = first;
            names.iter().enumerate().map(|(at, name)| column(name, &names[..at])).collect()
        })?;
        let series = |at: usize| lines.iter().map(move |(from, numbers)| (*from, numbers[at]));
        let of_cells = names
            .iter()
            .enumerate()
            .filter_map(|(at, name)| Some((name.strip_suffix(UNIT)?.to_owned(), Mean::on_lines(series(at)))));
        let columns: Vec<_> = of_cells.collect();
        if columns.is_empty() {
            return wrong(1, "no column of a cell", HEADER);
        }
        Ok(Self { text: text.into(), columns: columns.into() })
    }
}

fn column<'a>(name: &'a str, before: &[&str]) -> Result<Column<'a>, ScenarioError> {
    if before.contains(&name) {
        return wrong(1, format!("column {} twice", shown(name)), "write each column once");
    }
    if name == csv::TIME.name {
        return Ok(csv::TIME);
    }
    if name.strip_suffix(UNIT).is_none_or(str::is_empty) {
        return wrong(1, format!("unknown column '{}'", shown(name)), HEADER);
    }
    Ok(Column { name, least: -200.0, most: 0.0, form: "a power in dBm from -200 to 0" })
}

impl Default for Rows {
    /// Of no cell.
    fn default() -> Self {
        Self { text: "".into(), columns: Arc::default() }
    }
}

impl FromStr for Rows {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        static PARSED: Parsed<Rows> = Parsed::new();
        PARSED.of(text, Self::read)
    }
}

impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({} columns)", self.columns.len())
    }
}

as_text!(Rows, "RsrpRows", "a string", { "type": "string", "pattern": "time_s" });
