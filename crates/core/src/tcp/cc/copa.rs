//! Copa: a rate inversely proportional to the queueing delay, so that each flow keeps about two segments queued.
//!
//! V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018. Queueing
//! delay is the standing RTT (minimum over the last half RTT) minus the minimum RTT over ten seconds. The target rate
//! is 1 / (delta x queueing delay) segments per second; the window moves towards it by v / (delta cwnd) segments with
//! each one acknowledged. The velocity v doubles each round trip from the third one in the same direction on, and is
//! 1 again when that changes. Segments are paced at twice the window over the standing round-trip time.
//!
//! **Competitive mode.** A queue shared only by Copa flows empties every few round trips. If the queueing delay was
//! never below a tenth of its range in the last five round trips, other flows fill the buffer: 1/delta then grows by
//! one per round trip without a loss and is halved, down to 2, in one with a loss. Apart from that, only timeouts
//! matter among losses.
//!
//! ASSUMED: a window of at least two segments. A round trip ends with the ACK of a segment sent after the previous one
//! ended. Before the first queueing delay the target is unbounded. DEVIATION: competitive mode is off by default
//! (`competitive = true` enables it). It assumes one ACK per packet. If two segments leave and are acknowledged
//! together, every sample exceeds the minimum RTT by at least one packet's transmission time, so at 10 Mbit/s a lone
//! flow mistakes its own queue for competing traffic.

use super::model::{ModelView, PathAck, PathModel};
use super::{Component, CongestionControl};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::rng::Stream;
use crate::tcp::window::state::{State, Window};
use crate::time::{Duration, Instant};
use crate::trace::ModelState;
use std::collections::VecDeque;

parameters! {
    /// Copa, NSDI 2018: the rate is inverse to the queueing delay, which stays at a few segments. Requires
    /// `recovery.rack`.
    pub struct Config {
        /// Segments of a flow that wait in equilibrium are 1 over this (delta); 0.01 to 1.
        pub delta: f64 = 0.5,
        /// Whether it takes its share from flows that fill buffers. Off, since it takes delayed ACKs for such flows where a
        /// packet lasts longer than a tenth of the queueing delay.
        pub competitive: bool,
    }
}

impl Component for Config {
    fn build(&self) -> Box<dyn CongestionControl> {
        Box::new(Copa {
            delta: self.delta,
            least_inverse: 1.0 / self.delta,
            competitive: self.competitive,
            mss: 1.0,
            slow_start: true,
            velocity: Velocity::default(),
            min_rtt: Recent::default(),
            standing: Recent::default(),
            max_rtt: Recent::default(),
            round: Round::default(),
            nearly_empty_at: None,
            is_competing: false,
            pacing_rate: f64::INFINITY,
        })
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if !(0.01..=1.0).contains(&self.delta) {
            let message = format!("{} segments waiting for each flow", 1.0 / self.delta);
            return Err(ScenarioError::new("delta", message, "write 0.01 to 1, such as 0.5"));
        }
        Ok(())
    }

    fn keeps_smaller_window(&self) -> bool {
        true
    }

    fn models_path(&self) -> bool {
        true
    }
}

/// Window of the minimum RTT filter.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// Round trips in which the range of delays is seen, and without an empty queue before it competes.
const RANGE_ROUNDS: u64 = 4;
const BUSY_ROUNDS: u64 = 5;
/// Part of the range below which the queue counts as empty.
const NEARLY_EMPTY: f64 = 0.1;
/// Round trips in one direction before the velocity doubles.
const STEADY_ROUNDS: u32 = 3;
/// Largest velocity. ASSUMED: beyond it a window doubles in a fraction of a round trip anyway.
const MOST_VELOCITY: f64 = 65_536.0;
/// Least window, segments.
const LEAST: f64 = 2.0;

/// Windowed minimum of the values inserted; with negated values, the maximum.
#[derive(Clone, Debug, Default)]
struct Recent(VecDeque<(Instant, i64)>);

impl Recent {
    /// Inserts `value` and removes values older than `window`.
    fn update(&mut self, now: Instant, value: i64, window: Duration) {
        while self.0.back().is_some_and(|(_, last)| *last >= value) {
            self.0.pop_back();
        }
        self.0.push_back((now, value));
        while self.0.front().is_some_and(|(at, _)| *at + window < now) {
            self.0.pop_front();
        }
    }

    /// The smallest, ns; 0 before the first.
    fn least(&self) -> i64 {
        self.0.front().map_or(0, |entry| entry.1)
    }
}

/// A round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// The round trip ends when this much is delivered.
    end: u64,
    had_loss: bool,
}

#[derive(Clone, Copy, Debug)]
struct Velocity {
    value: f64,
    is_up: bool,
    /// Round trips in this direction.
    rounds: u32,
    /// The window when the round trip began, bytes.
    cwnd: f64,
}

impl Default for Velocity {
    fn default() -> Self {
        Self { value: 1.0, is_up: true, rounds: 0, cwnd: 0.0 }
    }
}

impl Velocity {
    /// A round trip has ended with a window of `cwnd`.
    fn on_round(&mut self, cwnd: f64) {
        let is_up = cwnd > self.cwnd;
        if is_up == self.is_up {
            self.rounds += 1;
            if self.rounds >= STEADY_ROUNDS {
                self.value = (2.0 * self.value).min(MOST_VELOCITY);
            }
        } else {
            *self = Self { is_up, ..Self::default() };
        }
        self.cwnd = cwnd;
    }

    /// Velocity for a move up or down; 1 if it reverses the direction of the previous round trips.
    fn towards(&mut self, is_up: bool) -> f64 {
        if is_up != self.is_up && self.value > 1.0 {
            *self = Self { is_up, cwnd: self.cwnd, ..Self::default() };
        }
        self.value
    }
}

struct Copa {
    delta: f64,
    /// 1/delta of the default mode.
    least_inverse: f64,
    competitive: bool,
    mss: f64,
    slow_start: bool,
    velocity: Velocity,
    min_rtt: Recent,
    standing: Recent,
    max_rtt: Recent,
    round: Round,
    nearly_empty_at: Option<Instant>,
    is_competing: bool,
    pacing_rate: f64,
}

impl Copa {
    /// Queueing delay in seconds: standing RTT minus minimum RTT.
    fn queueing_s(&self) -> f64 {
        (self.standing.least() - self.min_rtt.least()) as f64 / 1e9
    }

    fn standing_s(&self) -> f64 {
        self.standing.least() as f64 / 1e9
    }

    fn update_delays(&mut self, now: Instant, rtt: Duration, srtt: Duration) {
        let nanos = i64::try_from(rtt.as_nanos()).unwrap_or(i64::MAX);
        self.min_rtt.update(now, nanos, MIN_RTT_WINDOW);
        self.standing.update(now, nanos, Duration::from_nanos(srtt.as_nanos() / 2));
        self.max_rtt.update(now, -nanos, srtt.saturating_mul(RANGE_ROUNDS));
        let range_s = (-self.max_rtt.least() - self.min_rtt.least()) as f64 / 1e9;
        if self.queueing_s() < NEARLY_EMPTY * range_s || self.nearly_empty_at.is_none() {
            self.nearly_empty_at = Some(now);
        }
    }

    /// Updates the mode and, once per round trip, delta.
    fn update_mode(&mut self, now: Instant, srtt: Duration, had_loss: bool) {
        let busy = srtt.saturating_mul(BUSY_ROUNDS);
        self.is_competing = self.competitive && self.nearly_empty_at.is_some_and(|at| at + busy < now);
        if !self.is_competing {
            self.delta = 1.0 / self.least_inverse;
            return;
        }
        let inverse = if had_loss { 0.5 / self.delta } else { 1.0 / self.delta + 1.0 };
        self.delta = 1.0 / inverse.max(self.least_inverse);
    }

    fn move_window(&mut self, acked: u64, window: &mut Window) {
        let (cwnd, queueing_s) = (window.cwnd / self.mss, self.queueing_s());
        let acked = acked as f64 / self.mss;
        let is_below = queueing_s <= 0.0 || cwnd / self.standing_s() <= 1.0 / (self.delta * queueing_s);
        if self.slow_start && is_below {
            window.cwnd += acked * self.mss;
            return;
        }
        self.slow_start = false;
        let step = self.velocity.towards(is_below) * acked / (self.delta * cwnd);
        let moved = if is_below { cwnd + step } else { cwnd - step };
        window.cwnd = moved.max(LEAST) * self.mss;
    }
}

impl CongestionControl for Copa {
    fn on_ack(&mut self, _window: &mut Window, _acked: u64) {}

    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        state.window.ssthresh
    }

    fn on_timeout(&mut self, _now: Instant) {
        (self.slow_start, self.velocity) = (true, Velocity::default());
    }

    fn model(&mut self) -> Option<&mut dyn PathModel> {
        Some(self)
    }
}

impl PathModel for Copa {
    fn seed(&mut self, _stream: Stream) {}

    /// The RTT of the handshake belongs to small packets, not to full segments.
    fn on_established(&mut self, _now: Instant, srtt: Duration, window: &Window) {
        self.mss = window.mss;
        if !srtt.is_zero() {
            self.pacing_rate = 2.0 * window.cwnd / srtt.as_secs_f64();
        }
    }

    fn on_path(&mut self, ack: &PathAck, window: &mut Window) -> bool {
        if let Some(rtt) = ack.rtt {
            self.update_delays(ack.now, rtt, ack.srtt);
        }
        self.round.had_loss |= ack.newly_lost > 0;
        if self.standing.least() == 0 || ack.newly_acked == 0 {
            return false;
        }
        if ack.prior_delivered.is_some_and(|prior| prior >= self.round.end) {
            let had_loss = self.round.had_loss;
            self.round = Round { end: ack.delivered, had_loss: false };
            self.update_mode(ack.now, ack.srtt, had_loss);
            self.velocity.on_round(window.cwnd);
        }
        self.move_window(ack.newly_acked, window);
        self.pacing_rate = 2.0 * window.cwnd / self.standing_s();
        false
    }

    fn on_restart(&mut self, _now: Instant, _window: &mut Window) {}

    fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    fn view(&self) -> ModelView {
        let standing_s = self.standing_s();
        let target = 1.0 / (self.delta * self.queueing_s());
        let nanos = u64::try_from(self.min_rtt.least()).unwrap_or(0);
        ModelView {
            state: match (self.slow_start, self.is_competing) {
                (true, _) => ModelState::Startup,
                (false, true) => ModelState::Competes,
                (false, false) => ModelState::FewWait,
            },
            // The target, if the queue shows one.
            bandwidth: if standing_s > 0.0 && target.is_finite() { target * self.mss } else { 0.0 },
            min_rtt: (nanos > 0).then(|| Duration::from_nanos(nanos)),
            inflight_limit: None,
            extra_acked: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_of_late_is_forgotten_when_its_window_has_passed() {
        let mut recent = Recent::default();
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        let values = [(0, 5), (10, 3), (20, 4), (31, 9), (41, 9)].map(|(ms, value)| {
            recent.update(at(ms), value, Duration::from_millis(20));
            recent.least()
        });
        assert_eq!(values, [5, 3, 3, 4, 9]);
    }

    #[test]
    fn the_velocity_doubles_from_the_third_round_trip_in_one_direction_and_begins_anew_in_the_other() {
        let mut velocity = Velocity::default();
        let seen = [10.0, 11.0, 12.0, 13.0, 14.0, 13.0, 14.0].map(|cwnd| {
            velocity.on_round(cwnd);
            velocity.value
        });
        assert_eq!(seen, [1.0, 1.0, 2.0, 4.0, 8.0, 1.0, 1.0]);
    }

    #[test]
    fn against_its_direction_the_window_moves_by_single_steps() {
        let mut velocity = Velocity { value: 8.0, is_up: true, rounds: 5, cwnd: 10.0 };
        assert_eq!(velocity.towards(true), 8.0);
        assert_eq!(velocity.towards(false), 1.0);
    }
}
