//! SCReAM version 2: a reference window that follows marks, losses and queueing delay, and a rate from window and RTT.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2 (August 2026). Marks reduce the window in proportion to their share, as in
//! DCTCP; a queueing delay above half of the target acts like a share of marks.
//!
//! Left out: adjustments of the rate by frame size deviation and by the sender's queue, clock drift compensation, competition
//! with loss-based flows (a higher delay target), the 10-minute history of base delays (the minimum of the call is used).

use super::{Component, Feedback, Limits, Permit, RateController};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::time::{Duration, Instant};

parameters! {
    /// SCReAM v2: a window that follows marks, losses and queueing delay.
    pub struct Config {
        /// Target of the queueing delay; the window shrinks from half of it on.
        pub delay_target: Duration = Duration::from_millis(60),
        /// Pacing rate as a multiple of the target rate.
        pub pacing_factor: f64 = 1.5,
        /// Whether packets are sent with ECT(1).
        pub ecn: bool = true,
    }
}

const MSS: f64 = 1000.0;
/// Smallest reference window, bytes.
const MIN_WINDOW: f64 = 3000.0;
/// RTT below which growth and reduction are scaled, seconds.
const VIRTUAL_RTT_S: f64 = 0.025;
const LOSS_FACTOR: f64 = 0.7;
/// Headroom of the rate over window / RTT.
const RATE_HEADROOM: f64 = 1.2;
/// Bytes in flight may exceed the reference window by this factor.
const WINDOW_OVERHEAD: f64 = 1.5;
/// Growth per RTT as a share of the window, once there was no congestion for 100 RTTs.
const MULTIPLICATIVE: f64 = 0.02;

impl Component for Config {
    fn build(&self, limits: Limits, _start: Instant) -> Box<dyn RateController> {
        Box::new(Scream {
            config: self.clone(),
            limits,
            // The window whose rate at an RTT of 50 ms is the start rate.
            window: (limits.start * 0.05 / 8.0 * RATE_HEADROOM).max(MIN_WINDOW),
            window_at_congestion: None,
            srtt_s: None,
            base_s: f64::INFINITY,
            delay_s: 0.0,
            alpha: 1.0,
            counted: (0.0, 0.0),
            alpha_updated: None,
            reduced: None,
            last_congestion: None,
        })
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.delay_target < Duration::from_millis(2) {
            return Err(ScenarioError::new(
                "delay_target",
                "is below 2 ms",
                "write a time such as \"60 ms\"",
            ));
        }
        if self.pacing_factor.is_finite() && self.pacing_factor >= 1.0 {
            return Ok(());
        }
        Err(ScenarioError::new("pacing_factor", "the sender would fall behind", "write at least 1"))
    }

    /// Draft, section 5: every 16 packets, at a marker bit, or after 40 ms. libwebrtc: 25 ms.
    fn feedback_interval(&self) -> Duration {
        Duration::from_millis(25)
    }

    fn reads_marks(&self) -> bool {
        self.ecn
    }
}

struct Scream {
    config: Config,
    limits: Limits,
    /// Reference window, bytes.
    window: f64,
    /// Reference window before the latest reduction.
    window_at_congestion: Option<f64>,
    srtt_s: Option<f64>,
    /// Shortest one-way delay.
    base_s: f64,
    /// Queueing delay: falls at once, rises by a quarter of the difference.
    delay_s: f64,
    /// Share of bytes marked.
    alpha: f64,
    /// Bytes acknowledged and marked since `alpha` was updated.
    counted: (f64, f64),
    alpha_updated: Option<Instant>,
    reduced: Option<Instant>,
    last_congestion: Option<Instant>,
}

impl Scream {
    fn srtt(&self) -> f64 {
        self.srtt_s.unwrap_or(0.05)
    }

    /// Scales steps by the distance of the window from the last window with congestion: small steps near it.
    fn scale(&self) -> f64 {
        let Some(at) = self.window_at_congestion else { return 1.0 };
        let apart = 8.0 * (self.window - at) / at;
        (apart * apart).clamp(0.1, 1.0)
    }

    fn update_delay(&mut self, feedback: &Feedback<'_>) {
        for packet in feedback.packets {
            let Some(arrived) = packet.arrived_at else { continue };
            let delay_ns = (arrived.as_nanos() as i64).wrapping_sub(packet.sent_at.as_nanos() as i64);
            let delay_s = delay_ns as f64 / 1e9;
            self.base_s = self.base_s.min(delay_s);
            let queue_s = delay_s - self.base_s;
            let gain = if queue_s < self.delay_s { 1.0 } else { 0.25 };
            self.delay_s += gain * (queue_s - self.delay_s);
        }
    }

    /// Once in an RTT: the share of marked bytes, which rises fast and falls slowly.
    fn update_alpha(&mut self, now: Instant) {
        let before = *self.alpha_updated.get_or_insert(now);
        if now.since(before).as_secs_f64() < self.srtt().min(VIRTUAL_RTT_S) || self.counted.0 <= 0.0 {
            return;
        }
        let share = self.counted.1 / self.counted.0;
        let gain = if share > self.alpha { 1.0 / 8.0 } else { 1.0 / 128.0 };
        self.alpha += gain * (share - self.alpha);
        (self.counted, self.alpha_updated) = ((0.0, 0.0), Some(now));
    }

    /// Reduces the window if there is congestion, at most once in an RTT or 25 ms. Returns whether there is any.
    fn reduce(&mut self, now: Instant, lost: bool, marked: bool) -> bool {
        let half_s = self.config.delay_target.as_secs_f64() / 2.0;
        let virtual_alpha = ((self.delay_s - half_s) / half_s).clamp(0.0, 1.0);
        if !(lost || marked || virtual_alpha > 0.0) {
            return false;
        }
        let wait_s = self.srtt().min(VIRTUAL_RTT_S);
        if self.reduced.is_some_and(|before| now.since(before).as_secs_f64() < wait_s) {
            return true;
        }
        let per_rtt = (self.srtt() / VIRTUAL_RTT_S).max(1.0);
        let before = self.window;
        if lost {
            self.window *= LOSS_FACTOR;
        }
        if marked {
            let near = if self.delay_s < 0.015 { self.scale().max(0.25) } else { 1.0 };
            self.window *= 1.0 - self.alpha / 2.0 / per_rtt * near;
        }
        if virtual_alpha > 0.0 && !lost {
            self.window *= 1.0 - virtual_alpha / 2.0 / per_rtt;
        }
        self.window = self.window.max(MIN_WINDOW);
        // Only the first of successive reductions shows the window where congestion started.
        let is_first = self.last_congestion.is_none_or(|last| now.since(last).as_secs_f64() > self.srtt());
        if is_first {
            self.window_at_congestion = Some(before);
        }
        (self.reduced, self.last_congestion) = (Some(now), Some(now));
        true
    }

    fn grow(&mut self, now: Instant, acked: f64, in_flight: f64) {
        let is_limited = self.window > MSS + WINDOW_OVERHEAD * in_flight;
        if is_limited || self.rate() >= self.limits.max {
            return;
        }
        let scale = self.scale().max(0.25) * (self.srtt() / VIRTUAL_RTT_S).min(1.0);
        let rtts = self.last_congestion.map_or(100.0, |last| now.since(last).as_secs_f64() / self.srtt());
        let faded_in = (rtts / 100.0).min(1.0);
        let multiplicative = 1.0 + faded_in * MULTIPLICATIVE * self.window / MSS;
        self.window += acked * MSS / self.window * scale * multiplicative;
    }

    fn rate(&self) -> f64 {
        8.0 * self.window / self.srtt().max(1e-3) / RATE_HEADROOM * MSS / (MSS + 20.0)
    }
}

impl RateController for Scream {
    fn handle_feedback(&mut self, now: Instant, feedback: Feedback<'_>) {
        if let Some(rtt) = feedback.rtt {
            let rtt_s = rtt.as_secs_f64();
            self.srtt_s = Some(self.srtt_s.map_or(rtt_s, |srtt| srtt + (rtt_s - srtt) / 8.0));
        }
        self.update_delay(&feedback);
        let (mut acked, mut marked, mut lost) = (0.0, 0.0, false);
        for packet in feedback.packets {
            match packet.arrived_at {
                Some(_) if packet.ce => marked += f64::from(packet.len),
                Some(_) => acked += f64::from(packet.len),
                None => lost = true,
            }
        }
        self.counted.0 += acked + marked;
        self.counted.1 += marked;
        self.update_alpha(now);
        if !self.reduce(now, lost, marked > 0.0) {
            self.grow(now, acked, feedback.in_flight as f64);
        }
        let largest = self.limits.max * 1.5 * self.srtt() / 8.0 * RATE_HEADROOM;
        self.window = self.window.min(largest.max(MIN_WINDOW));
    }

    fn permit(&self) -> Permit {
        let target_bps = self.rate().clamp(self.limits.min, self.limits.max);
        Permit {
            target_bps,
            pacing_bps: (target_bps * self.config.pacing_factor).max(50e3),
            window_bytes: (self.window * WINDOW_OVERHEAD + MSS) as u64,
        }
    }
}
