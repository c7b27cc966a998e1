//! Fading: how the gain of a radio channel varies around its mean.
//!
//! A gain is a ratio of powers of mean 1, in equal steps of time, the samples.

pub mod jakes;
pub mod none;

use crate::error::ScenarioError;
use crate::registry::registry;
#[cfg(test)]
use crate::registry::tests::fading as scratch;
use crate::rng::Stream;
pub use airpath_fading::BLOCK;

/// The fading of one channel.
pub trait Fading: Send + Sync {
    /// The gains of the samples of a block, from `number * BLOCK` on. They depend only on `number`, not on earlier
    /// calls; consecutive blocks are cheapest.
    fn block(&mut self, number: u64) -> &[f32; BLOCK];
}

/// Properties of a fading's parameters.
pub trait Component {
    /// Makes the fading.
    fn build(&self, samples_per_s: f64, stream: Stream) -> Box<dyn Fading>;

    /// The probability that the gain is at least `gain`; for Jakes, the probability of its limiting distribution.
    fn share_from(&self, gain: f64) -> f64;

    /// Refuses parameters without fading, or with wrong fading.
    fn validate(&self) -> Result<(), ScenarioError> {
        Ok(())
    }
}

registry! {
    /// A kind of fading and its parameters.
    pub enum Config: Component, default Jakes, validate() {
        Jakes = jakes,
        None = none,
        #[cfg(test)]
        Scratch = scratch,
    }
}
