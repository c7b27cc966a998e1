//! Every observable fact of a run, as one list of events.
//!
//! A [`Recorder`] keeps the events whose [`Kind`] was selected; a probe that is switched off costs
//! one branch on a bit mask. Times are in nanoseconds, lengths in bytes; the `tcpi_*` fields carry
//! the names and units of Linux's `struct tcp_info` (times in microseconds, windows in segments).

mod chunk;
mod columns;
mod outcomes;
mod field;
mod schema;
mod tables;
mod words;

pub use chunk::{Chunk, Values};
pub use columns::{Column, Table};
pub use field::Value;
pub use outcomes::Outcomes;
pub use schema::{ColumnInfo, Event, Kind, KindInfo, Store, schema};
pub use tables::{BearerRow, FlowRow, NodeRow, Tables};
pub use words::{Activity, Cause, ModelState, Outage, PlayerState, Reason, SendCause, SnoopAction};

use crate::error::ScenarioError;
use crate::time::Instant;

/// The kinds of event that are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ProbeMask(u64);

impl ProbeMask {
    /// No probe on.
    pub const NONE: Self = Self(0);
    /// Every probe on.
    pub const ALL: Self = Self(u64::MAX);

    /// Also selects the kinds of these names.
    ///
    /// # Errors
    /// If there is no kind of a name.
    pub fn with_named(self, names: &[&str]) -> Result<Self, ScenarioError> {
        names.iter().try_fold(self, |mask, name| {
            let kind = Kind::ALL.iter().find(|kind| kind.name() == *name).ok_or_else(|| {
                let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
                let known = format!("known: {}", known.join(", "));
                ScenarioError::new("probes", format!("there is no probe {name}"), known)
            })?;
            Ok(mask.with(*kind))
        })
    }

    /// Also selects `kind`.
    #[must_use]
    pub const fn with(self, kind: Kind) -> Self {
        Self(self.0 | 1 << kind as u8)
    }

    /// Whether `kind` is selected.
    #[inline]
    pub const fn has(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Whether one of these is selected.
    #[inline]
    pub const fn has_any(self, kinds: Self) -> bool {
        self.0 & kinds.0 != 0
    }
}

/// Keeps the selected events in the order in which they happened.
#[derive(Debug, Default)]
pub struct Recorder {
    /// Kinds to record.
    pub mask: ProbeMask,
    events: Vec<(Instant, Event)>,
}

impl Recorder {
    /// A recorder of the selected kinds.
    pub fn new(mask: ProbeMask) -> Self {
        Self { mask, events: Vec::new() }
    }

    /// Keeps an event; the caller has asked the mask.
    #[inline]
    pub fn push(&mut self, at: Instant, event: Event) {
        self.events.push((at, event));
    }

    /// How many events are kept.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The events recorded since the last call.
    pub fn take(&mut self) -> Vec<(Instant, Event)> {
        // About as many events are expected until the next call.
        let room = Vec::with_capacity(self.events.len());
        std::mem::replace(&mut self.events, room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Dir;

    #[test]
    fn every_kind_fits_the_mask_and_values_match_columns() {
        assert!(Kind::ALL.len() <= 32);
        let (direction, reason) = (Dir::Uplink, Reason::QueueFull);
        let event = Event::Dropped {
            ue: 1,
            flow: 2,
            packet: 9,
            element: 3,
            direction,
            seq: 4,
            len_bytes: 40,
            reason,
        };
        let mut values = Vec::new();
        event.values(|value| values.push(value));
        assert_eq!(values.len(), event.kind().columns().len());
        assert_eq!(values[7], Value::Word("queue_full"));
    }

    #[test]
    fn columns_of_one_name_have_one_unit_and_are_stored_in_one_way() {
        let mut known = std::collections::BTreeMap::new();
        for column in Kind::ALL.iter().flat_map(|kind| kind.columns()) {
            assert!(!column.meaning.is_empty() && column.words.len() == column.word_meanings.len());
            let ways = (column.unit, column.store, column.words);
            assert_eq!(*known.entry(column.name).or_insert(ways), ways, "{}", column.name);
        }
    }

    #[test]
    fn a_mask_selects_what_it_was_given() {
        let mask = ProbeMask::NONE.with(Kind::Dropped);
        assert!(mask.has(Kind::Dropped) && !mask.has(Kind::TcpState));
    }
}
