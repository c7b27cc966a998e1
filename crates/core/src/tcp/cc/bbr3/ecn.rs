//! BBR's response to marks: version 3 of google/bbr (`tcp_bbr.c`). The draft leaves it open.
//!
//! Active only with accurate ECN and a minimum RTT of at most 5 ms, where the marking threshold suits that RTT; a
//! cellular network never meets this. In each round `alpha` moves by a sixteenth towards the share of bytes marked. A
//! round with marks outside of probes lowers the short-term bound on the flight by a third of alpha. More than half
//! marked since a segment was sent ends a probe; in two consecutive rounds it ends Startup.

use super::Bbr;
use crate::tcp::cc::model::PathAck;
use crate::time::Duration;

/// bbr_ecn_max_rtt_us.
const LONGEST_RTT: Duration = Duration::from_millis(5);
/// ecn_alpha_gain.
const GAIN: f64 = 1.0 / 16.0;
/// ecn_factor.
const FACTOR: f64 = 1.0 / 3.0;
/// ecn_thresh.
const THRESHOLD: f64 = 0.5;
/// full_ecn_cnt.
const FULL_ROUNDS: u32 = 2;

/// State of the response to marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    /// ecn_eligible.
    counts: bool,
    /// ecn_alpha.
    alpha: f64,
    /// ecn_in_round.
    in_round: bool,
    /// startup_ecn_rounds.
    rounds: u32,
    /// Delivered, and marked, when alpha changed last, bytes.
    before: (u64, u64),
    /// Marked before this ACK, bytes.
    last: u64,
}

impl Default for Marks {
    fn default() -> Self {
        Self { counts: false, alpha: 1.0, in_round: false, rounds: 0, before: (0, 0), last: 0 }
    }
}

impl Marks {
    /// A round has ended: factor to apply to the flight because of its marks; `None` without marks.
    pub fn take_cut(&mut self) -> Option<f64> {
        std::mem::take(&mut self.in_round).then_some(1.0 - FACTOR * self.alpha)
    }

    /// Forgets the marks of this round.
    pub fn forget_round(&mut self) {
        self.in_round = false;
    }

    /// bbr_is_inflight_too_high.
    pub fn are_too_many(&self, ack: &PathAck) -> bool {
        let delivered = ack.sample.map_or(0, |sample| sample.delivered) as f64;
        self.counts && ack.marked_since as f64 > THRESHOLD * delivered
    }
}

impl Bbr {
    /// bbr_update_ecn_alpha, bbr_check_ecn_too_high_in_startup; called after [`Bbr::update_bandwidth`].
    pub(super) fn update_marks(&mut self, ack: &PathAck) {
        let Some(marked) = ack.marked else { return };
        let marks = &mut self.marks;
        marks.counts |= self.min_rtt.value.is_some_and(|rtt| rtt <= LONGEST_RTT);
        marks.in_round |= marks.counts && marked > marks.last;
        marks.last = marked;
        if !self.round.begins {
            return;
        }
        let (delivered, in_round) = (ack.delivered - marks.before.0, marked - marks.before.1);
        if !marks.counts || delivered == 0 {
            return;
        }
        let share = (in_round as f64 / delivered as f64).min(1.0);
        marks.alpha += GAIN * (share - marks.alpha);
        marks.before = (ack.delivered, marked);
        marks.rounds = if share >= THRESHOLD { marks.rounds + 1 } else { 0 };
        if marks.rounds >= FULL_ROUNDS && !self.full.reached {
            self.stop_startup();
        }
    }
}
