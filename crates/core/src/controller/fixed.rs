//! No control: the start rate for the whole call. The reference for every controller. Source: none.

use super::{Component, Feedback, Limits, Permit, RateController};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::time::{Duration, Instant};

parameters! {
    /// No control: the start rate for the whole call.
    pub struct Config {
        /// Pacing rate as a multiple of the rate.
        pub pacing_factor: f64 = 2.5,
    }
}

impl Component for Config {
    fn build(&self, limits: Limits, _start: Instant) -> Box<dyn RateController> {
        Box::new(Fixed { rate: limits.start, pacing_factor: self.pacing_factor })
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
    rate: f64,
    pacing_factor: f64,
}

impl RateController for Fixed {
    fn handle_feedback(&mut self, _now: Instant, _feedback: Feedback<'_>) {}

    fn permit(&self) -> Permit {
        let pacing_bps = self.rate * self.pacing_factor;
        Permit { target_bps: self.rate, pacing_bps, window_bytes: u64::MAX }
    }
}
