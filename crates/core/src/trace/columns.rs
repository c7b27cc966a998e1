//! Events column by column, as tables and files want them.

use super::{Event, Kind, Value};
use crate::time::Instant;

/// The events of one kind, column by column.
#[derive(Clone, Debug)]
pub struct Table {
    /// What happened.
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
        let mut rows = vec![0; Kind::ALL.len()];
        for (_, event) in events {
            rows[event.kind() as usize] += 1;
        }
        let mut tables: Vec<Self> =
            Kind::ALL.iter().zip(rows).map(|(kind, rows)| Self::new(*kind, rows)).collect();
        for (at, event) in events {
            let table = &mut tables[event.kind() as usize];
            let room = table.time_ns.capacity();
            table.time_ns.push(at.as_nanos());
            let mut columns = table.columns.iter_mut();
            event.values(|value| {
                if let Some(column) = columns.next() {
                    column.push(value, room);
                }
            });
        }
        tables.retain(|table| !table.time_ns.is_empty());
        tables
    }

    /// A table with room for so many rows.
    fn new(kind: Kind, rows: usize) -> Self {
        let columns = kind.columns().iter().map(|_| Column::default()).collect();
        Self { kind, time_ns: Vec::with_capacity(rows), columns }
    }

    /// The columns with their names, the time left out.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &Column)> {
        self.kind.columns().iter().copied().zip(&self.columns)
    }
}

impl Column {
    /// Adds a value to a column that will have so many `rows`.
    fn push(&mut self, value: Value, rows: usize) {
        match value {
            Value::Number(number) => {
                if self.numbers.is_empty() {
                    self.numbers.reserve_exact(rows);
                }
                self.numbers.push(number);
            }
            Value::Word(word) => {
                let code = self.words.iter().position(|known| *known == word).unwrap_or_else(|| {
                    self.words.push(word);
                    self.words.len() - 1
                });
                if self.codes.is_empty() {
                    self.codes.reserve_exact(rows);
                }
                self.codes.push(code as u8);
            }
        }
    }
}
