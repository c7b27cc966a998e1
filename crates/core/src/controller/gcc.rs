//! Google congestion control as libwebrtc runs it: overuse of the path by the trend of the one-way delay, an AIMD rate, and
//! a limit by loss.
//!
//! Sources: draft-ietf-rmcat-gcc-02 (sections in the files below) and the constants of libwebrtc of June 2025. The loss-based
//! limit is that of the draft (section 6): below 2 % lost the rate may grow, above 10 % it shrinks by half of the share.
//!
//! DEVIATION: the trendline filter of libwebrtc replaces the Kalman filter of the draft. Left out: libwebrtc's loss-based
//! estimate v2, its congestion window, application-limited detection with its probes, and field trials.

mod aimd;
mod probes;
mod throughput;
mod trendline;

use super::{Component, Feedback, Limits, Permit, Probe, RateController};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::time::{Duration, Instant};
use aimd::Aimd;
use probes::Probes;
use throughput::Throughput;
use trendline::{Trendline, Usage};

parameters! {
    /// Google congestion control: delay trend, AIMD and loss.
    pub struct Config {
        /// Pacing rate as a multiple of the target rate.
        pub pacing_factor: f64 = 2.5,
        /// Whether bursts at three and six times the start rate probe the path.
        pub probes: bool = true,
    }
}

impl Component for Config {
    fn build(&self, limits: Limits, _start: Instant) -> Box<dyn RateController> {
        Box::new(Gcc {
            limits,
            pacing_factor: self.pacing_factor,
            trendline: Trendline::default(),
            throughput: Throughput::default(),
            aimd: Aimd::new(limits.start, limits.min, limits.max),
            probes: if self.probes { Probes::new(limits.start, limits.max) } else { Probes::none() },
            loss: LossLimit { rate: f64::INFINITY, counted: (0, 0), since: None },
            rtt: Duration::from_millis(200),
        })
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.pacing_factor.is_finite() && self.pacing_factor >= 1.0 {
            return Ok(());
        }
        Err(ScenarioError::new("pacing_factor", "the sender would fall behind", "write at least 1"))
    }

    /// libwebrtc sends feedback each 50 to 250 ms, at 5 % of the rate: 50 ms above 218 kbit/s.
    fn feedback_interval(&self) -> Duration {
        Duration::from_millis(50)
    }
}

struct Gcc {
    limits: Limits,
    pacing_factor: f64,
    trendline: Trendline,
    throughput: Throughput,
    aimd: Aimd,
    probes: Probes,
    loss: LossLimit,
    rtt: Duration,
}

/// The loss-based rate: draft 6.
struct LossLimit {
    /// Bit/s; infinite until losses limit it.
    rate: f64,
    /// Packets reported and lost since the last update.
    counted: (u32, u32),
    since: Option<Instant>,
}

impl LossLimit {
    /// Losses are counted over a second, as receiver reports do.
    fn update(&mut self, now: Instant, target: f64) {
        let since = *self.since.get_or_insert(now);
        if now.since(since) < Duration::from_secs(1) || self.counted.0 < 20 {
            return;
        }
        let share = f64::from(self.counted.1) / f64::from(self.counted.0);
        (self.counted, self.since) = ((0, 0), Some(now));
        if share > 0.1 {
            self.rate = target * (1.0 - 0.5 * share);
        } else if share < 0.02 {
            self.rate *= 1.05;
        }
    }
}

impl Gcc {
    fn target(&self) -> f64 {
        self.aimd.rate.min(self.loss.rate).clamp(self.limits.min, self.limits.max)
    }
}

impl RateController for Gcc {
    fn handle_feedback(&mut self, now: Instant, feedback: Feedback<'_>) {
        if let Some(rtt) = feedback.rtt {
            self.rtt = rtt;
        }
        let mut arrived: Vec<_> =
            feedback.packets.iter().filter_map(|packet| Some((packet.arrived_at?, packet))).collect();
        arrived.sort_by_key(|(at, packet)| (*at, packet.number));
        let mut probed = None;
        for (at, packet) in &arrived {
            self.trendline.add(packet.sent_at, *at);
            self.throughput.add(packet.sent_at, *at, packet.len);
            if packet.probe.is_some() {
                probed = self.probes.add(now, **packet).or(probed);
            }
        }
        self.loss.counted.0 += feedback.packets.len() as u32;
        self.loss.counted.1 += (feedback.packets.len() - arrived.len()) as u32;
        let usage = self.trendline.usage();
        let acked = self.throughput.bps();
        match probed {
            Some(rate) if usage != Usage::Over => self.aimd.probed(now, rate),
            _ if arrived.is_empty() => {}
            _ => {
                if self.aimd.update(now, usage, acked, self.rtt) {
                    self.probes.abandon();
                }
            }
        }
        let target = self.target();
        self.loss.update(now, target);
    }

    fn poll_probe(&mut self, now: Instant) -> Option<Probe> {
        self.probes.poll(now)
    }

    fn permit(&self) -> Permit {
        let target_bps = self.target();
        Permit { target_bps, pacing_bps: target_bps * self.pacing_factor, window_bytes: u64::MAX }
    }
}

#[cfg(test)]
mod tests;
