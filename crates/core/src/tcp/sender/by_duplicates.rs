//! The sender that counts duplicate ACKs as segments which have left the network: all that it knows of that without
//! SACK. Other flows never come here.
//!
//! Proportional rate reduction goes by it. RFC 9937 (5): a duplicate ACK stands for a segment delivered, and an ACK that
//! advances for what it covers less those that duplicates have told of. A partial ACK tells of the next loss, and what
//! is lost is sent again when the reduction lets it.
//!
//! Linux's threshold follows it (`recovery.newreno.variant = "linux"`). One of the segments in flight is missing, so
//! duplicates that leave none have another reason, reordering or segments that came twice: the threshold becomes the
//! number of segments in flight. After a small window that is less than three.

use super::Sender;
use super::by_prr::Before;
use crate::tcp::Config;
use crate::tcp::prr::{Progress, Prr};
use crate::tcp::recovery::{self, newreno};
use crate::tcp::state::{Phase, State};
use crate::trace::SendCause;

/// What duplicate ACKs have told.
#[derive(Debug)]
pub(super) struct Duplicates {
    /// Segments that have left the network and that no ACK has covered.
    left: u64,
    /// The segment taken for lost that may not be sent again yet.
    waits: Option<(u64, SendCause)>,
    /// The threshold follows reordering, up to this.
    max_reordering: Option<u32>,
}

impl Duplicates {
    /// If this TCP counts them.
    pub fn of(config: &Config) -> Option<Self> {
        match &config.recovery {
            recovery::Config::Newreno(newreno) => Self::wanted(newreno, config.prr),
            _ => None,
        }
    }

    /// If NewReno counts them, with proportional rate reduction or without.
    pub fn wanted(newreno: &newreno::Config, uses_prr: bool) -> Option<Self> {
        let max_reordering = newreno.max_reordering();
        newreno.counts_duplicates(uses_prr).then_some(Self { left: 0, waits: None, max_reordering })
    }

    /// A timeout: everything may be lost.
    pub fn forget(&mut self) {
        (self.left, self.waits) = (0, None);
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
}

impl Sender {
    /// Segments that duplicates have told of.
    pub(super) fn told(&self) -> u64 {
        self.duplicates.as_ref().map_or(0, |duplicates| duplicates.left)
    }

    /// Of `acked` bytes those that duplicates have not told of, a segment at least: what the window grows by in Linux.
    pub(super) fn not_told_of(&self, acked: u64) -> u64 {
        let told = match &self.duplicates {
            Some(duplicates) if duplicates.max_reordering.is_some() => duplicates.left * self.state.mss(),
            _ => 0,
        };
        acked.saturating_sub(told).max(acked.min(self.state.mss()))
    }

    /// A duplicate ACK has been counted. Those that cannot be of a loss count for nothing in Linux.
    #[cold]
    pub(super) fn count_duplicate(&mut self) {
        let (Some(duplicates), state) = (&mut self.duplicates, &mut self.state) else { return };
        if state.phase == Phase::Recovery && !state.is_below_recover() {
            return;
        }
        if state.phase == Phase::Loss && state.recover.is_none_or(|recover| state.max <= recover) {
            return;
        }
        duplicates.left += 1;
        duplicates.leave_one(state, 0);
        if duplicates.max_reordering.is_some() && state.phase != Phase::Recovery {
            state.dupacks = duplicates.left as u32;
        }
    }

    /// An ACK has been taken in.
    pub(super) fn follow_duplicates(&mut self, before: &Before) {
        let (Some(duplicates), state) = (&mut self.duplicates, &mut self.state) else { return };
        let acked = before.segments.saturating_sub(state.segments.len()) as u64;
        let begins = state.losses.fast_retransmits() > before.fast_retransmits;
        let mut delivered = duplicates.left.saturating_sub(before.told);
        if state.una > before.una {
            // One of them filled the hole, and the others had been told of.
            delivered = acked.saturating_sub(before.told).max(1);
            duplicates.left -= before.told.min(acked.saturating_sub(1));
            duplicates.leave_one(state, acked);
            if state.phase != Phase::Recovery || !state.is_below_recover() {
                duplicates.left = 0;
            }
        } else if delivered == 0 && !begins && state.phase != Phase::Open {
            // One that does not count lets nothing go.
            state.inflation = before.inflation;
            state.limited_transmit = before.limited_transmit;
        }
        let Some(prr) = &mut self.prr else { return };
        if state.phase != Phase::Recovery {
            duplicates.waits = None;
            return;
        }
        let (mss, flight) = (state.mss(), state.flight_size());
        if begins {
            **prr = Prr::new(flight.saturating_sub(duplicates.left.saturating_sub(1) * mss));
            delivered = delivered.max(1);
        }
        if begins || state.una > before.una {
            duplicates.waits = state.retransmit.take();
        }
        if delivered == 0 {
            return;
        }
        let lost = u64::from(duplicates.waits.is_some());
        let in_flight = flight.saturating_sub((duplicates.left + lost) * mss);
        let is_safe = state.una > before.una && lost == 0;
        let progress = Progress { delivered: delivered * mss, in_flight, is_safe };
        let allowed = prr.on_ack(state.window.ssthresh as u64, mss, progress);
        if allowed >= mss && lost > 0 {
            state.retransmit = duplicates.waits.take();
        }
        let again = if state.retransmit.is_some() { mss } else { 0 };
        state.window.cwnd = (in_flight + allowed) as f64;
        state.inflation = flight as i64 - (in_flight + again) as i64;
    }
}
