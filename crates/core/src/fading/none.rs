//! No fading: the channel stands still, and its gain is 1.

use super::{BLOCK, Fading};
use crate::rng::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The channel stands still.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Config {
    pub(super) fn build(&self, _samples_per_s: f64, _stream: Stream) -> Box<dyn Fading> {
        Box::new(Still)
    }
}

struct Still;

impl Fading for Still {
    fn block(&mut self, _number: u64) -> &[f32; BLOCK] {
        &[1.0; BLOCK]
    }
}
