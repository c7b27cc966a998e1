//! The sender whose recovery sends in proportion to what is delivered ([`Prr`]), which the SACK scoreboard tells (RFC
//! 6675), or duplicate ACKs (`by_duplicates`). Other flows never come here.

use super::Sender;
use crate::tcp::prr::{Progress, Prr};
use crate::tcp::state::Phase;

/// Where the sender stood before an ACK.
pub(super) struct Before {
    pub una: u64,
    /// Segments outstanding.
    pub segments: usize,
    /// Segments of which duplicate ACKs have told.
    pub told: u64,
    pub inflation: i64,
    pub limited_transmit: u32,
    /// Bytes outstanding and not SACKed.
    unsacked: u64,
    lost_end: u64,
    pub fast_retransmits: u64,
    was_in_recovery: bool,
}

impl Sender {
    /// Where the sender stands before an ACK.
    pub(super) fn before_ack(&self) -> Before {
        let state = &self.state;
        Before {
            una: state.una,
            segments: state.segments.len(),
            told: self.told(),
            inflation: state.inflation,
            limited_transmit: state.limited_transmit,
            unsacked: self.unsacked(),
            lost_end: state.lost_end(),
            fast_retransmits: state.losses.fast_retransmits(),
            was_in_recovery: state.phase == Phase::Recovery,
        }
    }

    fn unsacked(&self) -> u64 {
        let segments = self.state.segments.iter().filter(|segment| !segment.is_sacked);
        segments.map(|segment| u64::from(segment.len)).sum()
    }

    /// The window after an ACK of a recovery, and after the one that ended it: RFC 9937 (6).
    pub(super) fn reduce_proportionally(&mut self, before: &Before) {
        let is_over = self.state.recover.is_some_and(|recover| self.state.una >= recover);
        if self.prr.is_some() && self.state.phase == Phase::Open && before.was_in_recovery && is_over {
            self.state.window.cwnd = self.state.window.ssthresh;
        }
        if self.duplicates.is_some() {
            return self.follow_duplicates(before);
        }
        if self.state.phase != Phase::Recovery {
            return;
        }
        let delivered = before.unsacked.saturating_sub(self.unsacked());
        // What is about to be sent again at once counts as in the network already.
        let pending = if self.state.retransmit.is_some() { self.state.mss() } else { 0 };
        let in_flight = self.recovery.pipe(&self.state).saturating_sub(pending);
        let state = &mut self.state;
        let Some(prr) = &mut self.prr else { return };
        if state.losses.fast_retransmits() > before.fast_retransmits {
            **prr = Prr::new(before.unsacked);
        } else if delivered == 0 {
            return;
        }
        let is_safe = state.una > before.una && state.lost_end() <= before.lost_end.max(state.una);
        let progress = Progress { delivered, in_flight, is_safe };
        let allowed = prr.on_ack(state.window.ssthresh as u64, state.mss(), progress);
        state.window.cwnd = (in_flight + allowed) as f64;
    }

    /// `len` bytes are sent, maybe in a recovery.
    pub(super) fn note_reduced(&mut self, len: u32) {
        if let Some(prr) = self.prr.as_mut().filter(|_| self.state.phase == Phase::Recovery) {
            prr.on_sent(len.into());
        }
    }
}
