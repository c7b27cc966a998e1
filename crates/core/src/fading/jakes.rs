//! Rayleigh fading after Clarke and Jakes: the carrier at a moving receiver without line of sight.
//!
//! The sums of sinusoids are computed by the crate `airpath-fading`, which documents the method.

use super::{BLOCK, Component, Fading};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::rng::Stream;
use crate::units::Frequency;
use airpath_fading::Jakes;

parameters! {
    /// Rayleigh fading with the spectrum of Clarke and Jakes.
    pub struct Config {
        /// Largest Doppler shift: speed divided by the wavelength of the carrier.
        pub doppler: Frequency = Frequency::from_millihertz(35_000),
        /// Sinusoids in either quadrature (M), 8 to 256.
        pub oscillators: u16 = OSCILLATORS,
    }
}

/// The default of `oscillators`: the distribution of the power is right to 0.003.
const OSCILLATORS: u16 = 32;

/// Maximum Doppler shift: above it the phases of long runs would lose precision.
const FASTEST: Frequency = Frequency::from_millihertz(10_000_000);

impl Component for Config {
    fn build(&self, samples_per_s: f64, mut stream: Stream) -> Box<dyn Fading> {
        let doppler_per_sample = self.doppler.as_hz() / samples_per_s;
        Box::new(Jakes::new(usize::from(self.oscillators), doppler_per_sample, &mut || stream.uniform()))
    }

    fn share_from(&self, gain: f64) -> f64 {
        libm::exp(-gain)
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.doppler.as_millihertz() == 0 {
            let hint = "write for example \"35 Hz\", or fading.none = {} for a channel that stands still";
            return Err(ScenarioError::new("doppler", "without Doppler shift nothing fades", hint));
        }
        if self.doppler > FASTEST {
            let message = format!("{} is faster than anything that moves", self.doppler);
            return Err(ScenarioError::new("doppler", message, format!("write at most \"{FASTEST}\"")));
        }
        if !(8..=256).contains(&self.oscillators) {
            let message = format!("{} oscillators per quadrature", self.oscillators);
            return Err(ScenarioError::new("oscillators", message, "write 8 to 256"));
        }
        Ok(())
    }
}

impl Fading for Jakes {
    fn block(&mut self, number: u64) -> &[f32; BLOCK] {
        Jakes::block(self, number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    #[test]
    fn gains_are_the_same_everywhere() {
        let mut jakes = Config::default().build(600.0, stream(1, "ue0.downlink.fading"));
        let bits = [0, 1, 1000, 2_160_000_u64]
            .map(|sample| jakes.block(sample / 32)[sample as usize % 32].to_bits());
        insta::assert_snapshot!(format!("{bits:08x?}"), @"[3f8e5cce, 3f9b6bb8, 3ef375a1, 3eaf8937]");
    }
}
