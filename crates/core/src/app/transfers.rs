//! Completion times of transfers that an application makes one after another or side by side.

use crate::delays::{DelayReport, Delays};
use crate::time::Duration;
use serde::Serialize;

/// Report on the transfers of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Transfers that have started.
    pub started: u64,
    /// Transfers that are complete.
    pub completed: u64,
    /// Transfers that were abandoned.
    pub abandoned: u64,
    /// Mean size of the completed transfers, bytes.
    pub mean_bytes: Option<f64>,
    /// From the start of a transfer to its completion, milliseconds: the arrival of its last byte at the receiver, or its
    /// acknowledgment where transfers share a connection.
    pub completion_ms: DelayReport,
}

/// Counts transfers.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Transfers that are complete.
    pub completed: u64,
    bytes: u64,
    times: Delays,
}

impl Tally {
    /// A transfer of `bytes` bytes is complete after `time`.
    pub fn complete(&mut self, bytes: u64, time: Duration) {
        self.completed += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.times.add(time);
    }

    /// Reports on the transfers; the caller supplies `started` and `abandoned`.
    pub fn report(&self, started: u64, abandoned: u64) -> Report {
        Report {
            started,
            completed: self.completed,
            abandoned,
            mean_bytes: (self.completed > 0).then(|| self.bytes as f64 / self.completed as f64),
            completion_ms: self.times.report(),
        }
    }
}
