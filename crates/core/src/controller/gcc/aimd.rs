//! The rate from the usage: hold, increase, or decrease (draft-ietf-rmcat-gcc-02, 5.5).
//!
//! Constants: libwebrtc of June 2025. It differs from the draft in the state after a decrease (hold), in the additive increase
//! near the estimated capacity, which it derives from packet size and RTT, and in the limit on decreases per RTT.

use super::trendline::Usage;
use crate::time::{Duration, Instant};

/// Share of the acknowledged rate after overuse: draft 5.5.
const BETA: f64 = 0.85;
/// Taken off in addition, bit/s.
const BELOW: f64 = 5e3;
/// Increase per second without an estimate of the capacity: draft 5.5.
const GROWTH: f64 = 1.08;

/// Weight of a new sample of the capacity.
const WEIGHT: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
}

/// The delay-based rate.
pub struct Aimd {
    /// Bit/s.
    pub rate: f64,
    min: f64,
    state: State,
    /// When the rate was last increased, decreased or measured, or an increase began.
    changed: Option<Instant>,
    /// Latest acknowledged rate, bit/s.
    acked: f64,
    frame_s: f64,
    capacity: Capacity,
}

/// The capacity of the link as seen when it was overused: mean and normalised variance, kbit/s.
struct Capacity {
    estimate: Option<f64>,
    deviation: f64,
}

impl Default for Capacity {
    fn default() -> Self {
        Self { estimate: None, deviation: 0.4 }
    }
}

impl Capacity {
    fn add(&mut self, sample: f64) {
        let kbps = sample / 1e3;
        let estimate = self.estimate.map_or(kbps, |before| before + WEIGHT * (kbps - before));
        let error = estimate - kbps;
        let deviation = (1.0 - WEIGHT) * self.deviation + WEIGHT * error * error / estimate.max(1.0);
        (self.estimate, self.deviation) = (Some(estimate), deviation.clamp(0.4, 2.5));
    }

    /// Three standard deviations around the estimate, bit/s.
    fn bounds(&self) -> Option<(f64, f64)> {
        let estimate = self.estimate?;
        let apart = 3.0 * libm::sqrt(self.deviation * estimate);
        Some(((estimate - apart).max(0.0) * 1e3, (estimate + apart) * 1e3))
    }

    fn bps(&self) -> Option<f64> {
        self.estimate.map(|kbps| kbps * 1e3)
    }
}

impl Aimd {
    pub fn new(start: f64, min: f64) -> Self {
        Self {
            rate: start,
            min,
            state: State::Hold,
            changed: None,
            acked: start,
            frame_s: 1.0 / 30.0,
            capacity: Capacity::default(),
        }
    }

    /// Takes the result of a probe, bit/s.
    pub fn probed(&mut self, now: Instant, rate: f64) {
        (self.rate, self.changed) = (rate.max(self.min), Some(now));
    }

    /// Feedback arrived: `acked` is the acknowledged rate, bit/s, if there is one.
    pub fn update(&mut self, now: Instant, usage: Usage, acked: Option<f64>, rtt: Duration) {
        self.acked = acked.unwrap_or(self.acked);
        match usage {
            Usage::Under => self.state = State::Hold,
            Usage::Normal if self.state == State::Hold => {
                (self.state, self.changed) = (State::Increase, Some(now))
            }
            Usage::Normal => {}
            Usage::Over => return self.overused(now, acked, rtt),
        }
        if self.state == State::Increase {
            self.increase(now, rtt);
        }
    }

    /// Decreases the rate, unless it changed less than an RTT ago: an increase counts, too.
    fn overused(&mut self, now: Instant, acked: Option<f64>, rtt: Duration) {
        let Some(acked) = acked else {
            // Without an estimate of the path's rate: half of the rate.
            (self.rate, self.changed) = ((self.rate / 2.0).max(self.min), Some(now));
            return;
        };
        let wait = rtt.clamp(Duration::from_millis(10), Duration::from_millis(200));
        let is_early = self.changed.is_some_and(|before| now.since(before) < wait);
        if is_early && acked >= self.rate / 2.0 {
            return;
        }
        let mut decreased = BETA * acked;
        if decreased > BELOW {
            decreased -= BELOW;
        }
        if decreased > self.rate
            && let Some(capacity) = self.capacity.bps()
        {
            decreased = BETA * capacity;
        }
        self.rate = self.rate.min(decreased).max(self.min);
        if self.capacity.bounds().is_some_and(|(lower, _)| acked < lower) {
            self.capacity.estimate = None;
        }
        self.capacity.add(acked);
        (self.state, self.changed) = (State::Hold, Some(now));
    }

    fn increase(&mut self, now: Instant, rtt: Duration) {
        if self.capacity.bounds().is_some_and(|(_, upper)| self.acked > upper) {
            self.capacity.estimate = None;
        }
        let since_s = self.changed.replace(now).map_or(0.0, |before| now.since(before).as_secs_f64());
        // An application that sends less than it may learns nothing about the path.
        let limit = 1.5 * self.acked + 10e3;
        if self.rate >= limit {
            return;
        }
        let step = match self.capacity.estimate {
            Some(_) => self.near_capacity(rtt) * since_s,
            None => (self.rate * (libm::pow(GROWTH, since_s.min(1.0)) - 1.0)).max(1e3),
        };
        self.rate = (self.rate + step).min(limit).max(self.min);
    }

    /// Increase near the capacity, bit/s per second: one packet per response time.
    pub fn near_capacity(&self, rtt: Duration) -> f64 {
        let frame_bytes = self.rate * self.frame_s / 8.0;
        let packet_bytes = frame_bytes / libm::ceil(frame_bytes / 1200.0).max(1.0);
        let response_s = 2.0 * (rtt.as_secs_f64() + 0.1);
        (packet_bytes * 8.0 / response_s).max(4e3)
    }
}
