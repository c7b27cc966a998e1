//! No control: the start rate for the whole call. The reference for every controller, and the one that a program steers:
//! `airpath.gym` sets the rate during the run ([`crate::steering`]). Source: none.

use super::{Component, Feedback, Limits, Permit, RateController};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::steering::Steering;
use crate::time::{Duration, Instant};

parameters! {
    /// No control: the start rate for the whole call. `airpath.gym` steers it.
    pub struct Config {
        /// Pacing rate as a multiple of the rate.
        pub pacing_factor: f64 = 2.5,
    }
}

impl Component for Config {
    fn build(&self, limits: Limits, _start: Instant) -> Box<dyn RateController> {
        let steering = Steering { rate: Some(limits.start), ..Steering::default() };
        Box::new(Fixed { start: limits.start, pacing_factor: self.pacing_factor, steering })
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.pacing_factor.is_finite() && self.pacing_factor >= 1.0 {
            return Ok(());
        }
        Err(ScenarioError::new("pacing_factor", "the sender would fall behind", "write at least 1"))
    }

    fn feedback_interval(&self) -> Duration {
        Duration::from_millis(100)
    }
}

struct Fixed {
    start: f64,
    pacing_factor: f64,
    steering: Steering,
}

impl RateController for Fixed {
    fn handle_feedback(&mut self, _now: Instant, feedback: Feedback<'_>) {
        let measured = &mut self.steering.measured;
        measured.reports += 1;
        measured.in_flight = feedback.in_flight;
        for packet in feedback.packets {
            let bytes = u64::from(packet.len);
            measured.in_flight = measured.in_flight.saturating_sub(bytes);
            if packet.arrived_at.is_some() {
                measured.acked += bytes
            } else {
                measured.lost += bytes
            }
            measured.marked += if packet.ce { bytes } else { 0 };
        }
        if let Some(rtt) = feedback.rtt {
            measured.add_rtt(rtt);
        }
    }

    fn permit(&self) -> Permit {
        let target_bps = self.steering.rate.unwrap_or(self.start);
        Permit { target_bps, pacing_bps: target_bps * self.pacing_factor, window_bytes: u64::MAX }
    }

    fn steering(&mut self) -> Option<&mut Steering> {
        Some(&mut self.steering)
    }
}
