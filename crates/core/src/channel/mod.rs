//! What the radio channel does to the blocks sent over it.

pub mod bernoulli;

use crate::registry::registry;
use crate::rng::Stream;
use crate::time::Instant;

/// A channel of one bearer and direction.
pub trait Channel: Send + Sync {
    /// Whether a block whose transmission ends at `now` is destroyed. Called in order of time, once
    /// for each block.
    fn block_lost(&mut self, now: Instant) -> bool;
}

registry! {
    /// A channel and its parameters.
    pub enum Config: build(stream: Stream) -> Box<dyn Channel> {
        Bernoulli = bernoulli,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::Bernoulli(bernoulli::Config::default())
    }
}

impl Config {
    /// Whether no block is ever lost.
    pub fn is_error_free(&self) -> bool {
        match self {
            Self::Bernoulli(config) => config.bler.as_f64() <= 0.0,
        }
    }

    /// Whether every block is lost for certain: then only a limit of transmissions ends the wait.
    pub fn loses_everything(&self) -> bool {
        match self {
            Self::Bernoulli(config) => config.bler.as_f64() >= 1.0,
        }
    }
}
