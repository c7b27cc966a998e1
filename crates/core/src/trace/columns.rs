//! Events column by column, as required by tables and files.

use super::{Event, Kind};
use crate::time::Instant;

/// The events of one kind, column by column.
#[derive(Clone, Debug)]
pub struct Table {
    /// Kind of the events.
    pub kind: Kind,
    /// When, nanoseconds.
    pub time_ns: Vec<u64>,
    /// A column for each of `kind.columns()`.
    pub columns: Vec<Column>,
}

/// A column: numbers, or words as codes into the list of them.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Values of a column of numbers.
    pub numbers: Vec<u64>,
    /// Words that occur; none in a column of numbers.
    pub words: Vec<&'static str>,
    /// Indices into `words`, one for each value.
    pub codes: Vec<u8>,
}

impl Table {
    /// Sorts events by kind; kinds without an event are left out.
    pub fn from_events(events: &[(Instant, Event)]) -> Vec<Self> {
        let mut rows = vec![Vec::new(); Kind::ALL.len()];
        for (at, event) in events {
            event.append(*at, &mut rows[event.kind() as usize]);
        }
        let tables = Kind::ALL.iter().zip(&rows).map(|(kind, rows_of_kind)| Self::new(*kind, rows_of_kind));
        tables.filter(|table| !table.time_ns.is_empty()).collect()
    }

    /// The table of a kind from its rows, each the time and then a number for each column.
    fn new(kind: Kind, rows: &[u64]) -> Self {
        let rows = rows.chunks_exact(1 + kind.columns().len());
        let numbers = |place: usize| rows.clone().map(move |row| row[place]);
        let columns = (1..).zip(kind.columns()).map(|(place, column)| match column.words {
            [] => Column { numbers: numbers(place).collect(), ..Column::default() },
            words => Column::of_words(numbers(place), words),
        });
        Self { kind, time_ns: numbers(0).collect(), columns: columns.collect() }
    }

    /// The columns with their names, the time left out.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &Column)> {
        self.kind.columns().iter().map(|column| column.name).zip(&self.columns)
    }
}

impl Column {
    /// Words by their places in a list.
    fn of_words(places: impl Iterator<Item = u64>, list: &[&'static str]) -> Self {
        let mut occur = Vec::new();
        let code = |place| {
            occur.iter().position(|known| *known == place).unwrap_or_else(|| {
                occur.push(place);
                occur.len() - 1
            }) as u8
        };
        let codes = places.map(code).collect();
        let words = occur.into_iter().map(|place| list[place as usize]).collect();
        Self { words, codes, ..Self::default() }
    }
}
