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
        let mut tables: Vec<Self> = Kind::ALL.iter().map(|kind| Self::new(*kind)).collect();
        for (at, event) in events {
            let table = &mut tables[event.kind() as usize];
            table.time_ns.push(at.as_nanos());
            let mut columns = table.columns.iter_mut();
            event.values(|value| {
                if let Some(column) = columns.next() {
                    column.push(value);
                }
            });
        }
        tables.retain(|table| !table.time_ns.is_empty());
        tables
    }

    fn new(kind: Kind) -> Self {
        let columns = kind.columns().iter().map(|_| Column::default()).collect();
        Self { kind, time_ns: Vec::new(), columns }
    }

    /// The columns with their names, the time left out.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &Column)> {
        self.kind.columns().iter().copied().zip(&self.columns)
    }
}

impl Column {
    fn push(&mut self, value: Value) {
        match value {
            Value::Number(number) => self.numbers.push(number),
            Value::Word(word) => {
                let code = self.words.iter().position(|known| *known == word).unwrap_or_else(|| {
                    self.words.push(word);
                    self.words.len() - 1
                });
                self.codes.push(code as u8);
            }
        }
    }
}
