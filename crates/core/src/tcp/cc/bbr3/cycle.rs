//! ProbeBW: down, cruise, refill, up.
//!
//! The effect of a probe becomes visible one round trip later. ACKs are therefore distinguished ([`Feedback`]): ACKs of
//! the round in which the probe starts, ACKs that reflect the probe, and ACKs of the round after its end, which advance
//! the window of the bandwidth filter.

use super::bounds::is_too_high;
use super::{Bbr, ModelState};
use crate::tcp::cc::model::PathAck;
use crate::tcp::window::state::Window;
use crate::time::{Duration, Instant};

/// Maximum time between probes, rounds: the growth of a Reno flow at its fair share.
const MOST_ROUNDS: u64 = 63;
const WAIT: Duration = Duration::from_secs(2);
/// Rounds in which the step of the long-term bound doubles at most.
const MOST_STEPS: u32 = 30;
/// Factor applied to the flight after a probe that lost too much: Beta.
const BETA: f64 = 0.7;

/// `ack_phase`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Feedback {
    /// No feedback of a probe.
    #[default]
    None,
    Refilling,
    Starting,
    Probe,
    Stopping,
}

/// State of the ProbeBW cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    /// Cycles so far: the clock of the bandwidth filter.
    pub count: u64,
    /// `bw_probe_samples`: losses are judged as those of a probe.
    pub judges_probe: bool,
    begun_at: Instant,
    wait: Duration,
    feedback: Feedback,
    /// `bw_probe_up_rounds`.
    steps: u32,
    /// `bw_probe_up_acked`, bytes, and `probe_up_acked_per_inc`.
    acked: f64,
    acked_per_segment: f64,
    /// `prev_probe_too_high`: the last probe lost too much, so this one stops at the bound.
    last_was_too_high: bool,
    /// `prev_probe_precautionary`: it did.
    stopped_at_bound: bool,
}

impl Cycle {
    /// The ACKs from now on are of no probe.
    pub fn stop_probing(&mut self) {
        self.feedback = Feedback::Stopping;
    }
}

impl Bbr {
    /// BBRStartProbeBW_DOWN.
    pub(super) fn begin_down(&mut self, now: Instant, delivered: u64) {
        self.bounds.reset_signals();
        self.marks.forget_round();
        self.cycle.acked_per_segment = f64::INFINITY;
        // BBRPickProbeWait.
        self.round.since_probe = u64::from(self.stream.uniform() < 0.5);
        self.cycle.wait = WAIT + Duration::from_nanos((self.stream.uniform() * 1e9) as u64);
        self.cycle.begun_at = now;
        self.cycle.stop_probing();
        self.begin_round(delivered);
        self.state = ModelState::ProbeBwDown;
    }

    /// BBRStartProbeBW_REFILL.
    pub(super) fn begin_refill(&mut self, delivered: u64) {
        self.bounds.forget_short();
        (self.cycle.steps, self.cycle.acked) = (0, 0.0);
        self.cycle.feedback = Feedback::Refilling;
        self.begin_round(delivered);
        self.state = ModelState::ProbeBwRefill;
    }

    /// BBRStartProbeBW_UP.
    fn begin_up(&mut self, ack: &PathAck, window: &Window) {
        self.cycle.feedback = Feedback::Starting;
        self.begin_round(ack.delivered);
        self.full.reset(ack.sample.map_or(0.0, |sample| sample.rate()));
        self.state = ModelState::ProbeBwUp;
        self.raise_step(window);
    }

    /// BBRUpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(&mut self, ack: &PathAck, window: &Window) {
        if !self.full.reached {
            return;
        }
        if self.adapt_long_bound(ack, window) {
            return;
        }
        match self.state {
            ModelState::ProbeBwDown | ModelState::ProbeBwCruise if self.is_time_to_probe(ack, window) => {
                self.begin_refill(ack.delivered);
            }
            ModelState::ProbeBwDown if self.is_time_to_cruise(ack) => self.state = ModelState::ProbeBwCruise,
            ModelState::ProbeBwRefill if self.round.begins => {
                self.cycle.judges_probe = true;
                self.begin_up(ack, window);
            }
            ModelState::ProbeBwUp => self.check_probe_end(ack, window),
            _ => {}
        }
    }

    /// BBRIsTimeToProbeBW.
    fn is_time_to_probe(&self, ack: &PathAck, window: &Window) -> bool {
        let flight = (self.target_inflight(window) / self.mss) as u64;
        ack.now > self.cycle.begun_at + self.cycle.wait || self.round.since_probe >= flight.min(MOST_ROUNDS)
    }

    /// BBRTargetInflight.
    fn target_inflight(&self, window: &Window) -> f64 {
        self.bdp(self.bw(), 1.0).min(window.cwnd)
    }

    /// BBRIsTimeToCruise.
    fn is_time_to_cruise(&self, ack: &PathAck) -> bool {
        let in_flight = ack.in_flight as f64;
        in_flight <= self.bounds.with_headroom(self.mss).max(self.least())
            && in_flight <= self.inflight(self.max_bw.max(), 1.0)
    }

    /// BBRIsTimeToGoDown.
    fn check_probe_end(&mut self, ack: &PathAck, window: &Window) {
        let is_at_bound = ack.is_window_limited && window.cwnd >= self.bounds.long;
        let is_careful = self.cycle.last_was_too_high && ack.in_flight as f64 >= self.bounds.long;
        if is_careful {
            self.cycle.stopped_at_bound = true;
        } else if is_at_bound {
            self.full.reset(ack.sample.map_or(0.0, |sample| sample.rate()));
            return;
        } else if !self.full.now {
            return;
        }
        self.cycle.last_was_too_high = false;
        self.begin_down(ack.now, ack.delivered);
    }

    /// BBRAdaptLongTermModel. Returns whether a probe has begun.
    fn adapt_long_bound(&mut self, ack: &PathAck, window: &Window) -> bool {
        if self.round.begins && self.cycle.feedback == Feedback::Starting {
            self.cycle.feedback = Feedback::Probe;
        } else if self.round.begins && self.cycle.feedback == Feedback::Stopping && self.end_feedback(ack) {
            return true;
        }
        if is_too_high(ack.lost_since, ack.tx_in_flight) || self.marks.are_too_many(ack) {
            if self.cycle.judges_probe {
                let is_app_limited = ack.sample.is_some_and(|sample| sample.is_app_limited);
                let in_flight = ack.tx_in_flight as f64;
                self.on_inflight_too_high(ack.now, ack.delivered, in_flight, is_app_limited, window);
            }
        } else if self.bounds.long.is_finite() {
            self.bounds.long = self.bounds.long.max(ack.tx_in_flight as f64);
            if self.state == ModelState::ProbeBwUp {
                self.raise_long_bound(ack, window);
            }
        }
        false
    }

    /// All ACKs of the last probe have arrived. Returns whether the next begins at once.
    fn end_feedback(&mut self, ack: &PathAck) -> bool {
        self.cycle.judges_probe = false;
        self.cycle.feedback = Feedback::None;
        if !self.probes_bw() || ack.sample.is_some_and(|sample| sample.is_app_limited) {
            return false;
        }
        self.cycle.count += 1;
        // Where the bound did no harm, on from there.
        let goes_on = std::mem::take(&mut self.cycle.stopped_at_bound) && !self.cycle.last_was_too_high;
        if goes_on {
            self.begin_refill(ack.delivered);
        }
        goes_on
    }

    /// BBRProbeInflightLongtermUpward.
    fn raise_long_bound(&mut self, ack: &PathAck, window: &Window) {
        if !ack.is_window_limited || window.cwnd < self.bounds.long {
            return;
        }
        let cycle = &mut self.cycle;
        cycle.acked += ack.newly_acked as f64;
        if cycle.acked >= cycle.acked_per_segment {
            let segments = (cycle.acked / cycle.acked_per_segment).floor();
            cycle.acked -= segments * cycle.acked_per_segment;
            self.bounds.long += segments * self.mss;
        }
        if self.round.begins {
            self.raise_step(window);
        }
    }

    /// BBRRaiseInflightLongtermSlope: 1, 2, 4, ... segments a round.
    fn raise_step(&mut self, window: &Window) {
        let segments = f64::from(1_u32 << self.cycle.steps.min(MOST_STEPS));
        self.cycle.steps = (self.cycle.steps + 1).min(MOST_STEPS);
        self.cycle.acked_per_segment = (window.cwnd / segments).max(self.mss);
    }

    /// BBRHandleInflightTooHigh.
    pub(super) fn on_inflight_too_high(
        &mut self,
        now: Instant,
        delivered: u64,
        in_flight: f64,
        is_app_limited: bool,
        window: &Window,
    ) {
        self.cycle.judges_probe = false;
        self.cycle.last_was_too_high = true;
        if !is_app_limited {
            self.bounds.long = in_flight.max(BETA * self.target_inflight(window));
        }
        if self.state == ModelState::ProbeBwUp {
            self.begin_down(now, delivered);
        }
    }
}
