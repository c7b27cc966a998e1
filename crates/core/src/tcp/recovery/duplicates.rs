//! Duplicate ACKs counted as segments that have left the network: the only information about deliveries without SACK.
//!
//! Proportional rate reduction uses this count. RFC 9937 (5): a duplicate ACK represents one delivered segment, and an
//! advancing ACK represents the segments that it covers minus those already counted by duplicates. A partial ACK
//! reveals the next loss, and that segment is retransmitted when the reduction permits it.
//!
//! Linux's threshold of duplicate ACKs follows the count too (`recovery.newreno.variant = "linux"`). One of the
//! segments in flight is missing. If the duplicates account for all of them, the cause is reordering or duplicated
//! segments: the threshold becomes the number of segments in flight. After a small window that is less than three.

use super::prr::{Progress, Prr};
use crate::tcp::window::scoreboard::AckOutcome;
use crate::tcp::window::state::{Phase, State};
use crate::trace::SendCause;

/// Duplicate ACKs as segments.
#[derive(Debug)]
pub(super) struct Duplicates {
    /// Segments that have left the network and are not covered by an ACK.
    left: u64,
    /// A segment considered lost whose retransmission is not permitted yet.
    waits: Option<(u64, SendCause)>,
    /// The threshold follows reordering, up to this.
    max_reordering: Option<u32>,
}

/// Effect of a duplicate ACK.
#[derive(Clone, Copy, Default)]
pub(super) struct Duplicate {
    /// A fast recovery began.
    pub begins: bool,
    /// Number of segments that it counts for, if they are counted.
    pub segments: u64,
}

impl Duplicates {
    /// No duplicates yet.
    pub fn new(max_reordering: Option<u32>) -> Self {
        Self { left: 0, waits: None, max_reordering }
    }

    /// A timeout: everything may be lost.
    pub fn forget(&mut self) {
        (self.left, self.waits) = (0, None);
    }

    /// Bytes of `acked` not yet counted by duplicates, at least one segment: the growth of the window in Linux.
    pub fn not_covered(&self, state: &State, acked: u64) -> u64 {
        let covered = if self.max_reordering.is_some() { self.left * state.mss() } else { 0 };
        acked.saturating_sub(covered).max(acked.min(state.mss()))
    }

    /// A duplicate ACK arrived. Returns the segments that it counts for; in Linux none if it cannot be of a loss.
    #[cold]
    pub fn count(&mut self, state: &mut State) -> u64 {
        if state.phase == Phase::Recovery && !state.is_below_recover() {
            return 0;
        }
        if state.phase == Phase::Loss && state.recover.is_none_or(|recover| state.max <= recover) {
            return 0;
        }
        let before = self.left;
        self.left += 1;
        self.leave_one(state, 0);
        if self.max_reordering.is_some() && state.phase != Phase::Recovery {
            state.dupacks = self.left as u32;
        }
        self.left.saturating_sub(before)
    }

    /// One of the segments in flight is missing; `acked` have just been acknowledged.
    fn leave_one(&mut self, state: &mut State, acked: u64) {
        let in_flight = state.segments.len() as u64;
        if self.left < in_flight || self.left == 0 {
            return;
        }
        self.left = in_flight.saturating_sub(1);
        if let Some(most) = self.max_reordering {
            state.dupack_threshold = (in_flight + acked).clamp(1, u64::from(most)) as u32;
        }
    }

    /// An ACK has been processed.
    pub fn on_ack(
        &mut self,
        state: &mut State,
        prr: Option<&mut Prr>,
        ack: &AckOutcome,
        duplicate: Duplicate,
    ) {
        let mut delivered = duplicate.segments;
        if ack.advances() {
            // One of them filled the gap, and the others had been counted.
            delivered = ack.segments.saturating_sub(self.left).max(1);
            self.left -= self.left.min(ack.segments.saturating_sub(1));
            self.leave_one(state, ack.segments);
            if state.phase != Phase::Recovery || !state.is_below_recover() {
                self.left = 0;
            }
        }
        if let Some(prr) = prr {
            self.reduce(state, prr, delivered, ack.advances(), duplicate.begins);
        }
    }

    /// Proportional rate reduction after an ACK that stands for `delivered` segments: RFC 9937 (6).
    fn reduce(&mut self, state: &mut State, prr: &mut Prr, mut delivered: u64, advances: bool, begins: bool) {
        if state.phase != Phase::Recovery {
            self.waits = None;
            return;
        }
        let (mss, flight) = (state.mss(), state.flight_size());
        if begins {
            *prr = Prr::new(flight.saturating_sub(self.left.saturating_sub(1) * mss));
            delivered = delivered.max(1);
        }
        if begins || advances {
            self.waits = state.retransmit.take();
        }
        if delivered == 0 {
            return;
        }
        let lost = u64::from(self.waits.is_some());
        let in_flight = flight.saturating_sub((self.left + lost) * mss);
        let progress = Progress { delivered: delivered * mss, in_flight, is_safe: advances && lost == 0 };
        let allowed = prr.on_ack(state.window.ssthresh as u64, mss, progress);
        if allowed >= mss && lost > 0 {
            state.retransmit = self.waits.take();
        }
        let again = if state.retransmit.is_some() { mss } else { 0 };
        state.window.cwnd = (in_flight + allowed) as f64;
        state.inflation = flight as i64 - (in_flight + again) as i64;
    }
}
