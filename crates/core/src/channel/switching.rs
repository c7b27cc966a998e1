//! A link that switches between rates, over and over: bandwidth oscillation.
//!
//! The steps follow each other and start over after the last. A packet in transmission continues at the new rate; its
//! delay is the delay of the step in which its last bit is sent. A rate of zero is an outage. Nothing is random.
//! ASSUMED: the paper names the oscillation and not its form; steps of any length can approach every form.
//!
//! Left out: losses; `series` has them. Source: \[chan2002\] section 2, "bandwidth oscillation".

use super::piecewise::{Known, Schedule};
use super::{Channel, Component, Kind, Order};
use crate::error::ScenarioError;
use crate::time::Duration;
use crate::units::{Bitrate, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link that switches between rates, over and over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How far into the steps the run begins.
    pub phase: Duration,
    /// Whether a packet may overtake another when the delay falls.
    pub order: Order,
    /// The steps of a period.
    pub steps: Vec<Step>,
}

/// A time with one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Rate at IP level; zero for an outage.
    pub rate: Bitrate,
    /// How long it lasts.
    #[serde(rename = "for")]
    pub length: Duration,
    /// Delay behind the transmission, in addition to the bearer's.
    #[serde(default)]
    pub delay: Duration,
}

impl Default for Config {
    fn default() -> Self {
        let step = |bps| Step {
            rate: Bitrate::from_bps(bps),
            length: Duration::from_secs(1),
            delay: Duration::ZERO,
        };
        Self { phase: Duration::ZERO, order: Order::default(), steps: vec![step(384_000), step(64_000)] }
    }
}

/// Shorter steps would make a packet of a slow link pass through thousands of them.
const SHORTEST: Duration = Duration::from_millis(1);

impl Config {
    fn schedule(&self) -> Schedule {
        let mut from = Duration::ZERO;
        let mut known = Vec::new();
        for Step { rate, length, delay } in &self.steps {
            known.push(Known { from, rate: *rate, delay: *delay, loss: Probability::ZERO });
            from += *length;
        }
        // `from` is zero only where there are no steps, which is refused.
        let phase = self.phase.as_nanos() % from.as_nanos().max(1);
        Schedule { pieces: known.into(), period: Some(from), phase: Duration::from_nanos(phase) }
    }
}

impl Component for Config {
    fn build(&self, run_seed: u64, name: &str) -> Box<dyn Channel> {
        self.schedule().build(run_seed, name)
    }

    fn kind(&self) -> Kind {
        Kind::Packets
    }

    fn order(&self) -> Order {
        self.order
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        for (index, step) in self.steps.iter().enumerate() {
            if step.length < SHORTEST {
                let (key, hint) = (format!("steps[{index}].for"), format!("write at least \"{SHORTEST}\""));
                let message = format!("{} is too short a step", step.length);
                return Err(ScenarioError::new(key, message, hint));
            }
        }
        if self.steps.iter().all(|step| step.rate.as_bps() == 0) {
            let hint = "write steps = [{ rate = \"384 kbit/s\", for = \"1 s\" }], or more of them";
            return Err(ScenarioError::new("steps", "a link without a positive rate never sends", hint));
        }
        Ok(())
    }

    fn mean_rate(&self) -> Option<Bitrate> {
        Some(self.schedule().mean_rate())
    }
}
