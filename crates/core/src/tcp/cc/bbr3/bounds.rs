//! The bounds that losses set on the model.
//!
//! **Long-term**: the data in flight when a probe lost more than 2 %, before that the most in flight without such
//! losses. **Short-term**: set one round after the first loss outside of probes to the bandwidth and flight of that
//! round, but at least to 0.7 of the previous bounds; cleared when the next probe starts.

use super::{Bbr, ModelState};
use crate::tcp::cc::model::{LostSegment, PathAck};
use crate::tcp::window::state::Window;
use crate::time::Instant;

/// LossThresh.
pub(super) const LOSS_THRESHOLD: f64 = 0.02;
/// Beta.
const BETA: f64 = 0.7;
/// Headroom.
const HEADROOM: f64 = 0.15;

/// Bounds on the data in flight, bytes, and on the rate, B/s; infinite while no bound is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// inflight_longterm.
    pub long: f64,
    /// inflight_shortterm.
    pub short: f64,
    /// bw_shortterm.
    pub short_bw: f64,
    /// Largest delivery rate, and most delivered in a sample, of this round of losses.
    pub latest_bw: f64,
    pub latest_inflight: f64,
    /// A segment was lost in this round.
    lost_in_round: bool,
    round_end: u64,
    round_begins: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            long: f64::INFINITY,
            short: f64::INFINITY,
            short_bw: f64::INFINITY,
            latest_bw: 0.0,
            latest_inflight: 0.0,
            lost_in_round: false,
            round_end: 0,
            round_begins: false,
        }
    }
}

impl Bounds {
    /// BBRUpdateLatestDeliverySignals.
    pub fn begin_ack(&mut self, ack: &PathAck) {
        self.round_begins = false;
        if let Some(sample) = ack.sample {
            self.latest_bw = self.latest_bw.max(sample.rate());
            self.latest_inflight = self.latest_inflight.max(sample.delivered as f64);
        }
        if ack.prior_delivered.is_some_and(|prior| prior >= self.round_end) {
            (self.round_end, self.round_begins) = (ack.delivered, true);
        }
    }

    /// BBRNoteLoss: a segment was lost when `delivered` bytes had been delivered. The first loss begins a round, so the
    /// bounds are updated after a whole round trip of deliveries has measured the path.
    pub fn note_loss(&mut self, delivered: u64) {
        if !self.lost_in_round {
            (self.round_end, self.lost_in_round) = (delivered, true);
        }
    }

    /// BBRAdvanceLatestDeliverySignals.
    pub fn end_ack(&mut self, ack: &PathAck) {
        if self.round_begins
            && let Some(sample) = ack.sample
        {
            (self.latest_bw, self.latest_inflight) = (sample.rate(), sample.delivered as f64);
        }
    }

    /// BBRResetCongestionSignals.
    pub fn reset_signals(&mut self) {
        (self.lost_in_round, self.latest_bw, self.latest_inflight) = (false, 0.0, 0.0);
    }

    /// BBRResetShortTermModel.
    pub fn forget_short(&mut self) {
        (self.short, self.short_bw) = (f64::INFINITY, f64::INFINITY);
    }

    /// BBRInflightWithHeadroom, without its minimum window.
    pub fn with_headroom(&self, mss: f64) -> f64 {
        if self.long.is_infinite() { self.long } else { self.long - (HEADROOM * self.long).max(mss) }
    }

    /// A round outside of probes had losses.
    fn lower(&mut self, max_bw: f64) {
        if self.short_bw.is_infinite() {
            self.short_bw = max_bw;
        }
        self.short_bw = self.latest_bw.max(BETA * self.short_bw);
        self.short = self.latest_inflight.max(BETA * self.short);
    }

    /// A recovery was spurious: the bounds become no narrower than `before` it.
    pub fn undo(&mut self, before: &Self) {
        self.lost_in_round = false;
        self.long = self.long.max(before.long);
        self.short = self.short.max(before.short);
        self.short_bw = self.short_bw.max(before.short_bw);
    }
}

impl Bbr {
    /// BBRUpdateCongestionSignals.
    pub(super) fn adapt_short_bounds(&mut self, window: &Window) {
        let bounds = &mut self.bounds;
        if !bounds.round_begins {
            return;
        }
        let had_losses = std::mem::take(&mut bounds.lost_in_round);
        let cut = self.marks.take_cut();
        let probes =
            matches!(self.state, ModelState::Startup | ModelState::ProbeBwRefill | ModelState::ProbeBwUp);
        if probes {
            return;
        }
        if (had_losses || cut.is_some()) && bounds.short.is_infinite() {
            bounds.short = window.cwnd;
        }
        let marked = cut.map_or(f64::INFINITY, |cut| cut * bounds.short);
        if had_losses {
            bounds.lower(self.max_bw.max());
        }
        bounds.short = bounds.short.min(marked);
    }

    /// BBRHandleLostPacket: a loss while the segments of a probe are being judged.
    pub(super) fn note_probe_loss(&mut self, now: Instant, lost: &LostSegment, window: &Window) {
        if !self.cycle.judges_probe || !is_too_high(lost.lost_since, lost.tx_in_flight) {
            return;
        }
        // BBRInflightAtLoss: where in this segment the threshold was crossed.
        let len = lost.len as f64;
        let in_flight_before = lost.tx_in_flight as f64 - len;
        let lost_before = lost.lost_since as f64 - len;
        let part = (LOSS_THRESHOLD * in_flight_before - lost_before).max(0.0) / (1.0 - LOSS_THRESHOLD);
        let in_flight = in_flight_before + part;
        self.on_inflight_too_high(now, lost.delivered, in_flight, lost.is_app_limited, window);
    }
}

/// IsInflightTooHigh.
pub(super) fn is_too_high(lost: u64, tx_in_flight: u64) -> bool {
    lost as f64 > LOSS_THRESHOLD * tx_in_flight as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_two_percent_of_what_was_in_flight() {
        assert!(!is_too_high(2_000, 100_000));
        assert!(is_too_high(2_001, 100_000));
    }
}
