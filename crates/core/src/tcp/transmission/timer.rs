//! The timer of a sender: the retransmission timer, or the persist timer while the receiver's window blocks all pending
//! data and nothing is in flight whose ACK could reopen it.
//!
//! A closed window is probed with the one byte beyond it, first after the retransmission timeout and then at intervals
//! that double up to the timer's maximum: RFC 9293 (3.8.6.1), RFC 1122 (4.2.2.17). Probing continues as long as the
//! connection lasts. The byte is not counted as in flight: if it was refused, it is sent as the first byte of the next
//! segment. A window that is open but smaller than a segment is filled when the timer expires: the override of RFC 9293
//! (3.8.6.2.1). With `tcp.window_probe = "empty"` a probe has no data: its sequence number is that of the last byte
//! acknowledged, so the receiver treats it as a duplicate and replies. ASSUMED: its timeout is that of the first probe,
//! as BSD has one timer for both.
//!
//! A sender is **frozen** if its receiver shrinks the window to zero while data is in flight (`tcp.shrunk_window`). "If
//! the window shrinks to zero, the TCP implementation MUST probe it in the standard way" (RFC 9293 (3.8.6), MUST-35,
//! from RFC 1122 (4.2.2.16)): the retransmission timer gives way to the persist timer, and the probe is the oldest
//! unacknowledged byte. Nothing else is sent. ACKs of data in flight count as ever, but duplicates do not, since they
//! answer probes. Congestion window, threshold and timeout stay unchanged. BSD does so (`tcp_output`: a window that
//! shrank to zero cancels a pending retransmission and enters persist state), and M-TCP and Freeze-TCP rest on it. When
//! the window opens, BSD goes back N from the oldest unacknowledged byte, which repairs losses without a timeout but is
//! wasteful if there were none; the RFCs require neither. Linux has no such state: its retransmission timer runs on
//! (`tcp_retransmit_timer`), and at its expiry the sender enters the loss state and sends the oldest segment as a
//! probe, so freezing does not preserve the window. No RTT is measured across a freeze, except by timestamps, which
//! cannot detect it.

use super::Transmission;
use crate::tcp::window::state::Phase;
use crate::tcp::{ShrunkWindow, Transmit, WindowProbe};
use crate::time::{Duration, Instant};
use crate::trace::SendCause;

/// The timer of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendTimer {
    /// When it expires; `None` while it does not run.
    pub at: Option<Instant>,
    waits: Waits,
}

/// Event that a sender waits for while its timer runs.
#[derive(Clone, Copy, Debug, Default)]
enum Waits {
    /// An ACK: the retransmission timer. With RACK-TLP its reordering and probe timers expire here too.
    #[default]
    Retransmit,
    /// A window, while nothing is in flight.
    Persist(Probing),
    /// A window, which has closed over data in flight. While a probe is due, `nxt` is the offset to return to.
    Frozen { probing: Probing, nxt: u64 },
}

/// Probing a closed window.
#[derive(Clone, Copy, Debug, Default)]
struct Probing {
    /// The timer has expired: the endpoint is about to be polled for segments.
    is_due: bool,
    /// Probes sent since the window closed.
    probes: u32,
}

impl SendTimer {
    /// Whether the window is closed: the persist timer is in use.
    #[inline]
    pub fn is_probing(&self) -> bool {
        !matches!(self.waits, Waits::Retransmit)
    }

    /// Whether the window has closed over data in flight.
    #[inline]
    pub fn is_frozen(&self) -> bool {
        matches!(self.waits, Waits::Frozen { .. })
    }
}

impl Transmission {
    /// The persist timer has expired, if it is in use.
    pub fn expire_probing(&mut self) -> bool {
        match &mut self.timer.waits {
            Waits::Retransmit => return false,
            Waits::Persist(probing) => probing.is_due = true,
            Waits::Frozen { probing, nxt } => {
                probing.is_due = true;
                // So that `poll_transmit` does not use its fast path for new data.
                *nxt = std::mem::replace(&mut self.state.nxt, self.state.una);
            }
        }
        self.timer.at = None;
        true
    }

    /// An ACK of `ack` with a window of `rwnd` arrived while the window was closed: it may have taken a probe in, or
    /// opened the window.
    #[cold]
    pub fn on_answer_to_probe(&mut self, now: Instant, ack: u64, rwnd: u64) {
        match self.timer.waits {
            Waits::Retransmit => {}
            Waits::Frozen { .. } if ack > self.state.max || ack < self.state.una => {}
            Waits::Frozen { .. } if rwnd > 0 => self.thaw(now, ack),
            // Nothing is in flight any more: a closed window like any other.
            Waits::Frozen { probing, .. } if ack == self.state.max => {
                self.timer.waits = Waits::Persist(probing);
            }
            Waits::Frozen { .. } => {}
            Waits::Persist(probing) => {
                let is_taken = probing.probes > 0 && ack == self.state.max + 1;
                if is_taken {
                    self.state.max = ack;
                }
                let room = rwnd.min(self.state.max_window);
                if is_taken || ack == self.state.max && self.new_bytes() <= room {
                    self.timer = SendTimer::default();
                }
            }
        }
    }

    /// An ACK of `ack` changes the window.
    #[cold]
    pub fn on_window_change(&mut self, now: Instant, ack: u64, rwnd: u64) {
        self.state.rwnd = rwnd;
        let freezes = rwnd == 0 && ack < self.state.max && self.shrunk_window != ShrunkWindow::Retransmit;
        if freezes && !self.timer.is_probing() {
            let waits = Waits::Frozen { probing: Probing::default(), nxt: 0 };
            self.timer = SendTimer { at: Some(now + self.persist_interval(0)), waits };
            self.rtt.forget();
        }
    }

    /// The window opens, and everything before `ack` is acknowledged.
    fn thaw(&mut self, now: Instant, ack: u64) {
        self.timer = SendTimer::default();
        let state = &mut self.state;
        // Karn's algorithm: the time from sending to ACK may hold the freeze.
        for segment in &mut state.segments {
            segment.transmissions = segment.transmissions.saturating_add(1);
        }
        if ack == state.max {
            return;
        }
        self.timer.at = Some(now + self.rto.value());
        if self.shrunk_window == ShrunkWindow::PersistAndGoBack {
            (state.nxt, state.retransmit) = (state.una, None);
            (state.inflation, state.dupacks, state.phase) = (0, 0, Phase::Open);
            // Segments that arrive twice cause duplicate ACKs, which are to be ignored: RFC 6582 (3.2) step 4.
            state.recover = Some(state.max);
        }
    }

    /// The time from one probe to the next.
    fn persist_interval(&self, probes: u32) -> Duration {
        self.rto.value().saturating_mul(1 << probes.min(16)).min(self.rto.max())
    }

    /// Sends a probe of `len` bytes at `seq`, after which the sender `waits`.
    fn send_probe(&mut self, now: Instant, (seq, len): (u64, u32), waits: Waits, probes: u32) -> Transmit {
        self.timer = SendTimer { at: Some(now + self.persist_interval(probes)), waits };
        self.counters.window_probes += 1;
        self.sent(now, seq, len, SendCause::WindowProbe)
    }

    /// The window has closed over data in flight: the probe that is due, and nothing else.
    pub fn poll_frozen(&mut self, now: Instant) -> Option<Transmit> {
        let Waits::Frozen { probing: Probing { is_due: true, probes }, nxt } = self.timer.waits else {
            return None;
        };
        let seq = self.state.una;
        self.state.nxt = nxt;
        if let Some(segment) = self.state.segment_mut(seq) {
            // Karn's algorithm: one of its bytes is retransmitted.
            segment.transmissions = segment.transmissions.saturating_add(1);
        }
        let probes = probes + 1;
        let waits = Waits::Frozen { probing: Probing { is_due: false, probes }, nxt };
        Some(self.send_probe(now, (seq, 1), waits, probes))
    }

    /// Nothing is in flight, and the receiver's window permits no full segment: returns the pending probe, or the bytes
    /// that fit.
    #[cold]
    pub fn poll_persist(&mut self, now: Instant) -> Option<Transmit> {
        let room = self.state.peer_window();
        debug_assert!(room < self.state.mss(), "the congestion window holds at least a segment");
        let Probing { is_due, probes } = match self.timer.waits {
            Waits::Retransmit => Probing::default(),
            Waits::Persist(probing) | Waits::Frozen { probing, .. } => probing,
        };
        if !is_due {
            let at = self.timer.at.unwrap_or_else(|| now + self.persist_interval(probes));
            let waits = Waits::Persist(Probing { is_due, probes });
            self.timer = SendTimer { at: Some(at), waits };
            return None;
        }
        if room > 0 {
            self.timer = SendTimer::default();
            return Some(self.send_new(now, room, SendCause::New));
        }
        let probes = probes + 1;
        let len = u32::from(self.window_probe == WindowProbe::Byte);
        let waits = Waits::Persist(Probing { is_due: false, probes });
        Some(self.send_probe(now, (self.state.max, len), waits, probes))
    }
}
