//! Independent block errors: each block is lost with the same probability, retransmissions included.
//!
//! Leaves out all correlation in time. The power control of a dedicated channel justifies it:
//! it keeps the block error rate at its target. Source: \[lundsten\] §5.2.2.

use super::Channel;
use crate::rng::{self, Stream, Threshold};
use crate::time::Instant;
use crate::units::Probability;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Independent block errors of equal probability.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Block error rate: the probability that a block is lost.
    pub bler: Probability,
}

impl Config {
    pub(super) fn build(&self, run_seed: u64, name: &str) -> Box<dyn Channel> {
        Box::new(Bernoulli { lost: Threshold::from(self.bler), stream: rng::stream(run_seed, name) })
    }
}

struct Bernoulli {
    lost: Threshold,
    stream: Stream,
}

impl Channel for Bernoulli {
    fn block_lost(&mut self, _now: Instant) -> bool {
        self.stream.chance(self.lost)
    }
}
