//! How the gain of a radio channel varies around its mean: fading.
//!
//! A gain is a ratio of powers of mean 1, in equal steps of time, which whoever builds it calls slots.

pub mod jakes;
pub mod none;

use crate::error::ScenarioError;
use crate::registry::registry;
use crate::rng::Stream;

/// Samples of a block.
pub const BLOCK: usize = 32;

/// The fading of one channel.
pub trait Fading: Send + Sync {
    /// The gains of the samples of a block, from `number * BLOCK` on. They depend on that number alone, not on
    /// which blocks were asked for before; but following blocks one by one costs least.
    fn block(&mut self, number: u64) -> &[f32; BLOCK];
}

registry! {
    /// A kind of fading and its parameters; `build` takes the number of samples in a second.
    pub enum Config: build(samples_per_s: f64, stream: Stream) -> Box<dyn Fading> {
        Jakes = jakes,
        None = none,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::Jakes(jakes::Config::default())
    }
}

impl Config {
    /// Refuses what does not fade, or not as it should.
    ///
    /// # Errors
    /// Names the key below `fading`, what is wrong, and what would be right.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        match self {
            Self::Jakes(config) => config.validate(),
            Self::None(_) => Ok(()),
        }
        .map_err(|error| error.under(self.name()))
    }

    /// The probability that the gain is at least so much; of Jakes' that of the law which it approaches.
    pub fn share_from(&self, gain: f64) -> f64 {
        match self {
            Self::Jakes(_) => libm::exp(-gain),
            Self::None(_) => f64::from(u8::from(gain <= 1.0)),
        }
    }
}
