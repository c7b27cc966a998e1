//! No fading: the channel stands still, and its gain is 1.

use super::{BLOCK, Component, Fading};
use crate::rng::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The channel stands still.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Component for Config {
    fn build(&self, _samples_per_s: f64, _stream: Stream) -> Box<dyn Fading> {
        Box::new(Still)
    }

    fn share_from(&self, gain: f64) -> f64 {
        f64::from(u8::from(gain <= 1.0))
    }
}

struct Still;

impl Fading for Still {
    fn block(&mut self, _number: u64) -> &[f32; BLOCK] {
        &[1.0; BLOCK]
    }
}
