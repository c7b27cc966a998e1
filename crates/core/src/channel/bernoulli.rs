//! Independent block errors: each block is lost with the same probability, retransmissions included.
//!
//! Leaves out all correlation in time. The power control of a dedicated channel justifies it:
//! it keeps the block error rate at its target. Source: \[lundsten\] §5.2.2.

use super::{Channel, Component, Kind, as_same};
use crate::element::{Adopt, adopt};
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
    #[schemars(extend("x-changes" = true))]
    pub bler: Probability,
}

impl Component for Config {
    fn build(&self, run_seed: u64, name: &str) -> Box<dyn Channel> {
        Box::new(Bernoulli { lost: Threshold::from(self.bler), stream: rng::stream(run_seed, name) })
    }

    fn kind(&self) -> Kind {
        Kind::Blocks
    }

    fn is_error_free(&self) -> bool {
        self.bler.as_f64() <= 0.0
    }

    fn loses_everything(&self) -> bool {
        self.bler.as_f64() >= 1.0
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

    fn adopt(&mut self, _now: Instant, fresh: Box<dyn Channel>, how: Adopt) -> bool {
        as_same::<Self>(fresh).is_some_and(|fresh| match how {
            Adopt::Parameters => adopt(&mut self.lost, fresh.lost),
            Adopt::Streams => rng::renew([&mut self.stream], [fresh.stream]),
        })
    }
}
