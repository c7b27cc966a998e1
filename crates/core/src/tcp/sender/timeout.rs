//! The sender when its retransmission timer expires: RFC 6298 (5.4) to (5.6), RFC 5681 (3.1).

use super::Sender;
use crate::tcp::WindowArithmetic;
use crate::tcp::state::Phase;
use crate::tcp::undo::response::Prior;
use crate::time::{Duration, Instant};

impl Sender {
    /// What a timeout means whatever the loss recovery: it is counted, and told to whom it concerns.
    pub(super) fn begin_timeout(&mut self, now: Instant) {
        self.counters.timeouts += 1;
        self.probe = None;
        if let Some(undo) = &mut self.undo {
            // RFC 4015 (3.2): not again for a recovery that has begun and not ended.
            let state = &self.state;
            let first = state.phase != Phase::Recovery && state.recover.is_none_or(|end| state.una >= end);
            if first {
                self.prior = Some(Prior::of(state, &self.rto, true));
            }
            undo.on_loss(state, true, first);
        }
        self.cc.on_timeout(now);
        let state = &mut self.state;
        state.losses.on_timeout(now, state.cut(), self.rto.value());
        if let Some(fixed) = self.fixed_threshold.filter(|_| state.phase == Phase::Disorder) {
            // Duplicate ACKs had come, and the threshold kept the fast retransmit back.
            state.dupack_threshold = fixed;
        }
    }

    /// A timeout where everything is sent again from the oldest unacknowledged byte on.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.begin_timeout(now);
        let state = &mut self.state;
        // RFC 5681 (3.1): a segment that times out again leaves the threshold alone.
        let again =
            self.timeout_una == Some(state.una) && state.window.arithmetic == WindowArithmetic::Rfc5681;
        self.timeout_una = Some(state.una);
        state.inflation = 0;
        if !again {
            state.window.ssthresh = self.cc.ssthresh_after_loss(state);
        }
        state.window.cwnd = state.loss_window;
        state.dupacks = 0;
        state.limited_transmit = 0;
        state.limited_bytes = 0;
        state.retransmit = None;
        state.recover = Some(state.max);
        state.phase = Phase::Loss;
        state.nxt = state.una;
        if self.reads_sack {
            // RFC 2018 (8): the receiver may have discarded what it has reported.
            state.clear_scoreboard();
        }
        if let Some(duplicates) = &mut self.duplicates {
            duplicates.forget();
        }
        if let Some(ecn) = &mut self.ecn {
            ecn.on_reduction(state.max);
        }
        self.timed = None;
        self.timed_out = true;
        self.rto.on_timeout();
        self.rto_deadline = Some(now + self.rto.value());
    }

    /// Counts a round-trip time; the congestion control hears of the latest of its ACK.
    pub(super) fn note_sample(&mut self, rtt: Duration, latest: Duration) {
        self.counters.on_sample(rtt);
        self.last_sample = Some(rtt);
        if self.cc_measures {
            self.cc.on_rtt_sample(latest);
        }
    }
}
