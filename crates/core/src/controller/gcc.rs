//! Google congestion control as libwebrtc runs it: overuse of the path by the trend of the one-way delay, an AIMD rate, and
//! a limit by loss.
//!
//! Sources: draft-ietf-rmcat-gcc-02 (sections in the files below) and the behaviour and constants of libwebrtc of June 2025.
//! Bursts of 40 ms are Chromium's. The estimate is not limited by the encoder's highest rate, only by 1.5 times the received
//! rate; the target is.
//!
//! DEVIATION: as in libwebrtc, a trendline filter replaces the Kalman filter of the draft, and an estimate by likelihood its
//! loss rule. Left out: libwebrtc's congestion window, its reduction at RTTs over 3 s, application-limited detection with its
//! probes and padding, and field trials.

mod aimd;
mod loss;
mod probes;
mod throughput;
mod trendline;

use super::{Component, Feedback, Limits, Permit, Probe, RateController};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::time::{Duration, Instant};
use aimd::Aimd;
use loss::LossLimit;
use probes::Probes;
use throughput::Throughput;
use trendline::{Trendline, Usage};

parameters! {
    /// Google congestion control: delay trend, AIMD and loss.
    pub struct Config {
        /// Pacing rate as a multiple of the target rate.
        pub pacing_factor: f64 = 2.5,
        /// Packets that the pacing rate carries within this time leave at once.
        pub burst: Duration = Duration::from_millis(40),
        /// Whether bursts at three and six times the start rate probe the path.
        pub probes: bool = true,
    }
}

impl Component for Config {
    fn build(&self, limits: Limits, start: Instant) -> Box<dyn RateController> {
        Box::new(Gcc {
            limits,
            pacing_factor: self.pacing_factor,
            burst: self.burst,
            trendline: Trendline::default(),
            throughput: Throughput::default(),
            aimd: Aimd::new(limits.start, limits.min),
            probes: if self.probes { Probes::new(start, limits.start, limits.max) } else { Probes::none() },
            loss: LossLimit::new(limits.min),
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
    burst: Duration,
    trendline: Trendline,
    throughput: Throughput,
    aimd: Aimd,
    probes: Probes,
    loss: LossLimit,
    rtt: Duration,
}

/// A probe that measured less than the path has carried takes the rate down to this share of the acknowledged rate at most.
const LEAST_PROBED: f64 = 0.85;

impl Gcc {
    /// The estimate of the path's rate, bit/s.
    fn estimate(&self) -> f64 {
        self.aimd.rate.min(self.loss.bps()).max(self.limits.min)
    }
}

impl RateController for Gcc {
    fn handle_feedback(&mut self, now: Instant, feedback: Feedback<'_>) {
        if let Some(rtt) = feedback.rtt {
            self.rtt = rtt;
        }
        let mut arrived: Vec<_> =
            feedback.packets.iter().filter_map(|packet| Some((packet.arrived_at?, packet))).collect();
        if arrived.is_empty() {
            return;
        }
        arrived.sort_by_key(|(at, packet)| (*at, packet.number));
        let mut probed = None;
        for (at, packet) in arrived {
            self.trendline.add(packet.sent_at, at);
            self.throughput.add(packet.sent_at, at, packet.len);
            if packet.probe.is_some() {
                probed = self.probes.add(packet).or(probed);
            }
        }
        let usage = self.trendline.usage();
        let acked = self.throughput.bps();
        match probed {
            Some(rate) if usage != Usage::Over => {
                let least = acked.map_or(0.0, |acked| (LEAST_PROBED * acked).min(self.aimd.rate));
                self.aimd.probed(now, rate.max(least));
            }
            _ => self.aimd.update(now, usage, acked, self.rtt),
        }
        self.loss.update(feedback.packets, acked, self.aimd.rate);
        let is_limited = usage != Usage::Normal || self.loss.limits();
        self.probes.on_target(now, self.estimate(), is_limited);
    }

    fn poll_probe(&mut self, _now: Instant) -> Option<Probe> {
        self.probes.poll()
    }

    fn permit(&self) -> Permit {
        let estimate = self.estimate();
        let target_bps = estimate.min(self.limits.max);
        Permit { target_bps, pacing_bps: estimate * self.pacing_factor, window_bytes: u64::MAX }
    }

    fn burst(&self, _now: Instant) -> Duration {
        self.burst
    }
}

#[cfg(test)]
mod tests;
