//! No fading: the channel stands still, and its gain is 1.

use super::{BLOCK, Component, Fading};
use crate::registry::parameters;
use crate::rng::Stream;

parameters! {
    /// The channel stands still.
    pub struct Config {}
}

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
