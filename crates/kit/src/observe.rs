//! Observation of a link: counts and events.

use crate::Instant;
use airpath_core::trace::{self, Value};
use std::collections::BTreeMap;

/// Counters of your packets, by direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Packets from the server to the UEs.
    pub downlink: Counts,
    /// Packets from the UEs to the server.
    pub uplink: Counts,
}

/// Counters of the packets of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Packets that were [accepted](crate::Sent::Accepted).
    pub sent: u64,
    /// Their bytes, IP headers included.
    pub sent_bytes: u64,
    /// Part of these that boxes let pass because they are not readable TCP, e.g. UDP.
    pub opaque: u64,
    /// Packets that came through.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Packets that the link dropped.
    pub dropped: u64,
    /// Dropped packets by reason, in the words of the event `dropped`, such as `queue_full`.
    pub reasons: BTreeMap<&'static str, u64>,
    /// Packets that a queue discipline marked instead of dropping.
    pub marked: u64,
    /// Packets refused as [too big](crate::Sent::TooBig).
    pub too_big: u64,
    /// Packets refused as the link was [full](crate::Sent::Full).
    pub full: u64,
    /// Packets in the bearers' buffers now: waiting, in transmission, or to be retransmitted.
    pub queued: u64,
    /// Their bytes.
    pub queued_bytes: u64,
}

/// Something that happened inside the link: a kind, and values in columns.
///
/// Kinds and columns are those of `trace.parquet`, the trace of the Python package; `airpath list probes` describes
/// them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub at: Instant,
    pub(crate) core: trace::Event,
}

impl Event {
    /// The name of its kind, such as `bearer_enqueued`.
    pub fn kind(&self) -> &'static str {
        self.core.kind().name()
    }

    /// Its columns with their values.
    pub fn columns(&self) -> Vec<(&'static str, Value)> {
        let mut values = Vec::new();
        self.core.values(|value| values.push(value));
        self.core.kind().columns().iter().map(|column| column.name).zip(values).collect()
    }

    /// The number in a column, if it has this column and it holds numbers.
    pub fn number(&self, column: &str) -> Option<u64> {
        match self.value(column)? {
            Value::Number(number) => Some(number),
            Value::Word(_) => None,
        }
    }

    /// The word in a column, such as a direction or a reason, if it has this column and it holds words.
    pub fn word(&self, column: &str) -> Option<&'static str> {
        match self.value(column)? {
            Value::Number(_) => None,
            Value::Word(word) => Some(word),
        }
    }

    fn value(&self, column: &str) -> Option<Value> {
        self.columns().into_iter().find(|(name, _)| *name == column).map(|(_, value)| value)
    }

    /// For airpath's language bindings.
    #[doc(hidden)]
    pub fn into_core(self) -> (Instant, trace::Event) {
        (self.at, self.core)
    }
}
