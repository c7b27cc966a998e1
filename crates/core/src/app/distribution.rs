//! How a quantity of an application is distributed around its mean.

use crate::distribution::standard_exponential;
use crate::rng::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a quantity is distributed around its mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Always the same.
    Fixed,
    /// Exponentially.
    #[default]
    Exponential,
}

impl Distribution {
    /// A value of this mean, cut to a whole number. Draws in either case.
    pub(super) fn draw(self, stream: &mut Stream, mean: u64) -> u64 {
        let uniform = stream.uniform();
        match self {
            Self::Fixed => mean,
            Self::Exponential => (standard_exponential(uniform) * mean as f64) as u64,
        }
    }
}
