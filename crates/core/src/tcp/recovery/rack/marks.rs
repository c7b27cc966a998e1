//! Sums over the marks of all segments in flight, so that the bytes in the network are known without a walk.

use crate::tcp::window::state::{Outcome, Segment, State};

/// Sums over the segments in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Bytes SACKed.
    pub sacked: u64,
    /// Segments SACKed.
    pub sacked_segments: u32,
    /// Bytes marked lost, retransmitted or not.
    pub lost: u64,
    /// Bytes of these that were retransmitted.
    pub again: u64,
}

impl Marks {
    /// Bytes in the network.
    pub fn pipe(&self, state: &State) -> u64 {
        debug_assert_eq!(*self, Self::of(state));
        state.flight_size() - self.sacked - self.lost + self.again
    }

    /// A segment is SACKed for the first time.
    pub fn on_sacked(&mut self, segment: &mut Segment) {
        let len = u64::from(segment.len);
        self.remove_unsacked(segment.outcome, len);
        self.sacked += len;
        self.sacked_segments += 1;
        segment.outcome = Outcome::InFlight;
    }

    /// Removes the first `bytes` of a segment from the outstanding bytes.
    pub fn remove(&mut self, segment: &Segment, bytes: u64) {
        if segment.is_sacked {
            self.sacked -= bytes;
            self.sacked_segments -= u32::from(bytes == u64::from(segment.len));
        } else {
            self.remove_unsacked(segment.outcome, bytes);
        }
    }

    fn remove_unsacked(&mut self, outcome: Outcome, bytes: u64) {
        match outcome {
            Outcome::InFlight => {}
            Outcome::Lost => self.lost -= bytes,
            Outcome::Retransmitted => {
                self.lost -= bytes;
                self.again -= bytes;
            }
        }
    }

    /// Counts the marks from scratch.
    fn of(state: &State) -> Self {
        let mut marks = Self::default();
        for segment in &state.segments {
            let len = u64::from(segment.len);
            if segment.is_sacked {
                marks.sacked += len;
                marks.sacked_segments += 1;
            } else if segment.outcome != Outcome::InFlight {
                marks.lost += len;
                marks.again += if segment.outcome == Outcome::Retransmitted { len } else { 0 };
            }
        }
        marks
    }
}
