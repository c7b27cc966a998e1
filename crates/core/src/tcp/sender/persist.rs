//! The persist timer: what happens while the receiver's window keeps back all that there is to send, and nothing
//! is in flight whose ACK could tell that it has opened.
//!
//! A closed window is probed with the one byte beyond it, first after the retransmission timeout and then at
//! intervals that double up to the timer's maximum: RFC 9293 (3.8.6.1), RFC 1122 (4.2.2.17). No end is set to
//! this as long as the connection lasts. The byte is not counted as in flight: where it was refused, it travels
//! again as the first of the next segment. A window that is open, but not for a segment, gets what fits when the
//! timer expires: the override of RFC 9293 (3.8.6.2.1). ASSUMED: its timeout is that of the first probe, as BSD
//! has one timer for both.

use super::{Sender, Transmit};
use crate::time::{Duration, Instant};
use crate::trace::SendCause;

/// Waiting for a window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Persist {
    /// The timer has expired: something is to be sent.
    pub is_due: bool,
    /// Probes sent since the window closed.
    probes: u32,
}

impl Sender {
    /// An ACK of `ack` with a window of `rwnd` arrived: a probe may have been taken in, the window have opened.
    #[cold]
    pub(super) fn on_answer_to_probe(&mut self, ack: u64, rwnd: u64) {
        let state = &mut self.state;
        let is_taken = self.persist.is_some_and(|persist| persist.probes > 0) && ack == state.max + 1;
        if is_taken {
            state.max = ack;
        }
        let len = state.mss().min(self.supplied - state.max);
        let opens = ack == state.max && len <= rwnd.min(state.max_window);
        if is_taken || opens {
            self.stop_persist();
        }
    }

    fn stop_persist(&mut self) {
        self.persist = None;
        self.rto_deadline = None;
    }

    /// The time from one probe to the next.
    fn persist_interval(&self, probes: u32) -> Duration {
        self.rto.value().saturating_mul(1 << probes.min(16)).min(self.rto.max())
    }

    /// Nothing is in flight, and the receiver's window lets no segment go: the probe that is due, or what fits.
    #[cold]
    pub(super) fn poll_persist(&mut self, now: Instant) -> Option<Transmit> {
        let room = self.state.peer_window();
        debug_assert!(room < self.state.mss(), "the congestion window holds at least a segment");
        let persist = self.persist.get_or_insert_default();
        if !std::mem::take(&mut persist.is_due) {
            let probes = persist.probes;
            if self.rto_deadline.is_none() {
                self.rto_deadline = Some(now + self.persist_interval(probes));
            }
            return None;
        }
        if room > 0 {
            self.stop_persist();
            return Some(self.send_new(now, room, SendCause::New));
        }
        persist.probes += 1;
        let probes = persist.probes;
        self.rto_deadline = Some(now + self.persist_interval(probes));
        self.counters.window_probes += 1;
        let seq = self.state.max;
        Some(self.sent(now, seq, 1, SendCause::WindowProbe))
    }
}
