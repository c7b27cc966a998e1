//! The persist timer: what happens while the receiver's window keeps back all that there is to send, and nothing
//! is in flight whose ACK could tell that it has opened.
//!
//! A closed window is probed with the one byte beyond it, first after the retransmission timeout and then at
//! intervals that double up to the timer's maximum: RFC 9293 (3.8.6.1), RFC 1122 (4.2.2.17). No end is set to
//! this as long as the connection lasts. The byte is not counted as in flight: where it was refused, it travels
//! again as the first of the next segment. A window that is open, but not for a segment, gets what fits when the
//! timer expires: the override of RFC 9293 (3.8.6.2.1). With `tcp.window_probe = "empty"` a probe has no data: its
//! number is that of the last byte acknowledged, so that the receiver takes it for a duplicate and answers. ASSUMED: its timeout is that of the first probe, as BSD
//! has one timer for both.
//!
//! **Frozen** is a sender whose receiver takes the window back, down to zero, while data is in flight
//! (`tcp.shrunk_window`). "If the window shrinks to zero, the TCP implementation MUST probe it in the standard way"
//! (RFC 9293 (3.8.6), MUST-35, from RFC 1122 (4.2.2.16)): the retransmission timer gives way to the persist timer, and
//! the probe is the oldest unacknowledged byte. Nothing else is sent, ACKs of what is in flight count as ever, but
//! duplicates do not, since they answer probes. Congestion window, threshold and timeout are what they were. BSD does
//! so (`tcp_output`: a window that shrank to zero cancels a pending retransmission and enters persist state), and M-TCP
//! and Freeze-TCP rest on it. When the window opens, BSD has gone back to the oldest unacknowledged byte and sends
//! everything from there again, which repairs what was lost without a timeout and is a waste where nothing was; the
//! RFCs ask for neither. Linux has no such state: its retransmission timer runs on (`tcp_retransmit_timer`), and at its
//! expiry the sender enters the loss state and sends the oldest segment as a probe, so that freezing does not keep the
//! window. A round-trip time is not measured over a freeze, except by timestamps, which know nothing of it.

use super::{Sender, ShrunkWindow, State, Transmit, WindowProbe};
use crate::tcp::state::Phase;
use crate::time::{Duration, Instant};
use crate::trace::SendCause;

/// Waiting for a window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Persist {
    /// The timer has expired: something is to be sent.
    pub is_due: bool,
    /// Probes sent since the window closed.
    probes: u32,
    /// It has closed over data in flight.
    is_frozen: bool,
    /// Frozen, and a probe is due: what `nxt` was.
    nxt: u64,
}

impl Persist {
    /// The timer has expired: the endpoint is about to be asked for segments.
    pub fn expire(&mut self, state: &mut State) {
        self.is_due = true;
        if self.is_frozen {
            // Not the usual case in which new data follows what is in flight.
            self.nxt = state.nxt;
            state.nxt = state.una;
        }
    }
}

impl Sender {
    /// An ACK of `ack` with a window of `rwnd` arrived: a probe may have been taken in, the window have opened.
    #[cold]
    pub(super) fn on_answer_to_probe(&mut self, now: Instant, ack: u64, rwnd: u64) {
        if self.is_frozen() {
            return self.on_ack_while_frozen(now, ack, rwnd);
        }
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

    /// An ACK of `ack` changes the window.
    #[cold]
    pub(super) fn on_window_change(&mut self, now: Instant, ack: u64, rwnd: u64) {
        self.state.rwnd = rwnd;
        let freezes = rwnd == 0 && ack < self.state.max && self.shrunk_window != ShrunkWindow::Retransmit;
        if freezes && self.persist.is_none() {
            self.persist = Some(Persist { is_frozen: true, ..Persist::default() });
            self.rto_deadline = Some(now + self.persist_interval(0));
            self.timed = None;
        }
    }

    /// Whether the window has closed over data in flight.
    pub(super) fn is_frozen(&self) -> bool {
        self.persist.is_some_and(|persist| persist.is_frozen)
    }

    fn on_ack_while_frozen(&mut self, now: Instant, ack: u64, rwnd: u64) {
        if ack > self.state.max || ack < self.state.una {
            return;
        }
        if rwnd > 0 {
            return self.thaw(now, ack);
        }
        if let Some(persist) = self.persist.as_mut().filter(|_| ack == self.state.max) {
            // Nothing is in flight any more: a closed window like any other.
            persist.is_frozen = false;
        }
    }

    /// The window opens, and `ack` bytes are acknowledged.
    fn thaw(&mut self, now: Instant, ack: u64) {
        self.stop_persist();
        let state = &mut self.state;
        // Karn's algorithm: the time from sending to ACK may hold the freeze.
        for segment in &mut state.segments {
            segment.transmissions = segment.transmissions.saturating_add(1);
        }
        if ack == state.max {
            return;
        }
        self.rto_deadline = Some(now + self.rto.value());
        if self.shrunk_window == ShrunkWindow::PersistAndGoBack {
            state.nxt = state.una;
            state.retransmit = None;
            state.inflation = 0;
            state.dupacks = 0;
            state.phase = Phase::Open;
            // What arrives twice brings duplicate ACKs, which mean nothing: RFC 6582 (3.2) step 4.
            state.recover = Some(state.max);
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

    /// The window has closed over data in flight: the probe that is due, and nothing else.
    pub(super) fn poll_frozen(&mut self, now: Instant) -> Option<Transmit> {
        let persist = self.persist.as_mut().filter(|persist| persist.is_due)?;
        persist.is_due = false;
        persist.probes += 1;
        let probes = persist.probes;
        self.state.nxt = persist.nxt;
        self.rto_deadline = Some(now + self.persist_interval(probes));
        self.counters.window_probes += 1;
        let seq = self.state.una;
        if let Some(segment) = self.state.segment_mut(seq) {
            // Karn's algorithm: a byte of it is sent again.
            segment.transmissions = segment.transmissions.saturating_add(1);
        }
        Some(self.sent(now, seq, 1, SendCause::WindowProbe))
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
        let len = u32::from(self.window_probe == WindowProbe::Byte);
        Some(self.sent(now, seq, len, SendCause::WindowProbe))
    }
}
