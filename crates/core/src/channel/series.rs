//! A link whose rate, delay and loss are a series in time, from a CSV file.
//!
//! The file begins with a line of the columns' names: `time_s` and `rate_kbps`, and `delay_ms` and `loss` where
//! they are known. Each further line holds from its time to that of the next; the first begins at 0, and times
//! rise. A rate of zero is an outage; a loss is the probability, 0 to 1, that a packet does not arrive. Behind
//! its last line a series holds what that says, or begins anew after `repeat`.
//!
//! A packet under way goes on at the new rate; its delay and its loss are those of the line in which its last bit
//! is sent: it has used the link whether it arrives or not.
//!
//! Left out: what changes between two lines, which are joined by steps and not by slopes.

mod rows;

pub use rows::Rows;

use super::piecewise::Schedule;
use super::{Channel, Component, Kind, Order};
use crate::error::ScenarioError;
use crate::time::{Duration, Instant};
use crate::units::{Bitrate, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link whose rate, delay and loss are a series in time.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Path of the series, from the folder of the scenario. A resolved scenario has its text instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The series itself, in place of a file: CSV with the columns time_s, rate_kbps, delay_ms and loss, of which
    /// the latter two may be missing. Each line holds until the next.
    pub rows: Rows,
    /// After this time the series begins anew; it holds its last line if absent.
    pub repeat: Option<Duration>,
    /// Whether a packet may overtake another when the delay falls.
    pub order: Order,
}

impl Config {
    fn schedule(&self) -> Schedule {
        Schedule { pieces: self.rows.known(), period: self.repeat, phase: Duration::ZERO }
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
        if self.file.is_some() {
            return Err(ScenarioError::new("file", "was not read", "give the series itself, as rows"));
        }
        let last = self.rows.known().last().map_or(Duration::ZERO, |last| last.from);
        if self.repeat.is_some_and(|repeat| repeat <= last) {
            let message = format!("the last line of the series begins at {last}");
            return Err(ScenarioError::new("repeat", message, "write a later time, or remove the key"));
        }
        Ok(())
    }

    fn loses_packets(&self) -> bool {
        self.rows.known().iter().any(|row| row.loss > Probability::ZERO)
    }

    fn mean_rate(&self) -> Option<Bitrate> {
        Some(self.schedule().mean_rate())
    }

    fn ends(&self) -> Option<Instant> {
        self.schedule().ends()
    }
}
