//! Shadowing: a lognormal law whose autocorrelation falls exponentially (M. Gudmundson, "Correlation model for shadow
//! fading in mobile radio systems", Electronics Letters 27(23), 1991).
//!
//! In dB the process is Gaussian and first-order autoregressive. It has a value in every sixteenth of its decorrelation
//! time, and is interpolated linearly between these, where its standard deviation is 1 % less on average. To make a
//! value depend only on the index of its step, each is computed from the draws of the 128 steps before it; the first of
//! these represents all earlier ones, whose share is exp(-8).

use super::ShadowingConfig;
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::rng::{self, Stream};
use crate::time::Duration;
use crate::units::Decibel;

/// Steps of a decorrelation time.
const STEPS: u32 = 16;

/// Steps that a value remembers.
const MEMORY: u64 = 8 * STEPS as u64;

const MOST_SD: Decibel = Decibel::from_thousandths(30_000);

/// With a shorter one several steps would lie in a slot.
const SHORTEST: Duration = Duration::from_millis(100);

impl ShadowingConfig {
    /// Refuses shadowing that no UE has.
    ///
    /// # Errors
    /// With the key below this table.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        if !(Decibel::default()..=MOST_SD).contains(&self.sd) {
            let message = format!("{} is no standard deviation of shadowing", self.sd);
            return Err(ScenarioError::new("sd", message, format!("write \"0 dB\" to \"{MOST_SD}\"")));
        }
        if self.decorrelation < SHORTEST {
            let message = format!("{} is faster than obstacles pass", self.decorrelation);
            return Err(ScenarioError::new(
                "decorrelation",
                message,
                format!("write at least \"{SHORTEST}\""),
            ));
        }
        Ok(())
    }
}

/// A Gaussian process of mean 0 and variance 1, whose autocorrelation falls exponentially.
#[derive(Clone)]
pub struct Slow {
    steps_per_s: f64,
    /// Draws of the normal law, two numbers each.
    stream: Stream,
    /// A step, its value and that of the next one.
    step: u64,
    values: [f64; 2],
}

impl Slow {
    /// Creates the process whose autocorrelation is 1/e after `decorrelation`.
    pub fn new(decorrelation: Duration, stream: Stream) -> Self {
        let steps_per_s = f64::from(STEPS) / decorrelation.as_secs_f64();
        let values = [value(&stream, 0), value(&stream, 1)];
        Self { steps_per_s, stream, step: 0, values }
    }

    /// Returns the value at a time.
    pub fn at(&mut self, time_s: f64) -> f64 {
        let steps = time_s * self.steps_per_s;
        self.seek(steps as u64);
        let [from, to] = self.values;
        from + (to - from) * (steps - self.step as f64)
    }

    fn seek(&mut self, step: u64) {
        if step == self.step {
            return;
        }
        let first = if step == self.step + 1 { self.values[1] } else { value(&self.stream, step) };
        self.values = [first, value(&self.stream, step + 1)];
        self.step = step;
    }
}

/// Shadowing of one direction of a UE, in dB.
#[derive(Clone)]
pub struct Shadowing {
    own_db: f64,
    own: Slow,
    /// The part that both directions of the UE have in common, with its standard deviation.
    common: Option<(f64, Slow)>,
}

impl Shadowing {
    /// Creates the shadowing of one direction of a UE, or `None` if the configuration has none.
    ///
    /// Of the variance, `shared` comes from the stream of the UE, the rest from that of the direction: the correlation
    /// of both directions is `shared`.
    pub fn new(config: &ShadowingConfig, run_seed: u64, (ue, dir): (u16, Dir)) -> Option<Self> {
        if config.sd <= Decibel::default() {
            return None;
        }
        let (sd_db, shared) = (config.sd.as_db(), config.shared.as_f64());
        let slow = |name: String| Slow::new(config.decorrelation, rng::stream(run_seed, &name));
        let common = (shared > 0.0).then(|| (sd_db * libm::sqrt(shared), slow(format!("ue{ue}.shadowing"))));
        let own_db = if common.is_some() { sd_db * libm::sqrt(1.0 - shared) } else { sd_db };
        Some(Self { own_db, own: slow(format!("ue{ue}.{}.shadowing", dir.name())), common })
    }

    /// Creates shadowing with a stream of its own, or `None` if the configuration has none.
    pub fn of_stream(config: &ShadowingConfig, stream: Stream) -> Option<Self> {
        let own =
            || Self { own_db: config.sd.as_db(), own: Slow::new(config.decorrelation, stream), common: None };
        (config.sd > Decibel::default()).then(own)
    }

    /// Returns the value at a time, dB.
    pub fn at(&mut self, time_s: f64) -> f64 {
        let own = self.own_db * self.own.at(time_s);
        match &mut self.common {
            Some((sd_db, common)) => own + *sd_db * common.at(time_s),
            None => own,
        }
    }
}

/// The process at a step, of mean 0 and variance 1.
fn value(stream: &Stream, step: u64) -> f64 {
    let keep = libm::exp(-1.0 / f64::from(STEPS));
    let renew = libm::sqrt(1.0 - keep * keep);
    let mut draws = stream.ahead(2 * step);
    (0..MEMORY).fold(draws.normal(), |value, _| keep * value + renew * draws.normal())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Probability;

    fn shared(seed: u64, dir: Dir, shared: f64) -> Shadowing {
        let config = ShadowingConfig {
            sd: Decibel::from_thousandths(8000),
            decorrelation: Duration::from_secs(16),
            shared: Probability::new(shared).unwrap(),
        };
        Shadowing::new(&config, seed, (0, dir)).unwrap()
    }

    fn shadowing(seed: u64) -> Shadowing {
        shared(seed, Dir::Downlink, 0.0)
    }

    /// Each estimate of a correlation over n steps has a standard error of about sqrt(16 / n).
    #[test]
    #[ignore = "slow"]
    fn directions_of_a_ue_correlate_by_the_shared_part_of_the_variance() {
        const N: usize = 40_000;
        for share in [0.0, 0.6, 1.0] {
            let mut both = Dir::BOTH.map(|dir| shared(6, dir, share));
            let values: Vec<[f64; 2]> =
                (0..N).map(|k| [0, 1].map(|way| both[way].at(k as f64) / 8.0)).collect();
            let mean = |product: fn(&[f64; 2]) -> f64| values.iter().map(product).sum::<f64>() / N as f64;
            let error = 4.0 * libm::sqrt(16.0 / N as f64);
            assert!((mean(|[down, up]| down * up) - share).abs() < error, "{share}");
            assert!((mean(|[_, up]| up * up) - 1.0).abs() < libm::sqrt(2.0) * error, "{share}");
        }
    }

    #[test]
    fn a_value_depends_on_its_time_alone() {
        let mut in_order = shadowing(1);
        let values: Vec<f64> = (0..400).map(|k| in_order.at(f64::from(k) * 0.25)).collect();
        let mut back = shadowing(1);
        for k in (0..400).rev().chain([7, 399, 8, 8]) {
            assert_eq!(back.at(k as f64 * 0.25), values[k]);
        }
        assert_ne!(shadowing(2).at(3.0), values[12]);
    }

    /// Steps of 1 s at a decorrelation time of 16 s. Over n of them the estimate of a moment of an AR(1) process has a
    /// variance of about (1 + rho^2) / (1 - rho^2) / n = 16 / n times the square of that moment.
    #[test]
    fn mean_sd_and_autocorrelation_are_gudmundsons() {
        const N: usize = 40_000;
        let mut shadowing = shadowing(3);
        let values: Vec<f64> = (0..N).map(|k| shadowing.at(k as f64) / 8.0).collect();
        let mean = values.iter().sum::<f64>() / N as f64;
        // The variance of the mean is about 2 x 16 / n.
        assert!(mean.abs() < 4.0 * libm::sqrt(32.0 / N as f64), "{mean}");
        for (lag, expected) in [(0, 1.0), (1, 0.9394), (8, 0.6065), (16, 0.3679), (48, 0.0498), (200, 0.0)] {
            let products = values[lag..].iter().zip(&values).map(|(one, other)| one * other);
            let estimate = products.sum::<f64>() / (N - lag) as f64;
            assert!((estimate - expected).abs() < 4.0 * libm::sqrt(32.0 / N as f64), "{lag}: {estimate}");
        }
    }

    #[test]
    fn between_steps_it_lies_on_straight_lines() {
        let mut shadowing = shadowing(4);
        let [from, middle, to] = [5.0, 5.25, 6.0].map(|time_s| shadowing.at(time_s));
        assert!((middle - (0.75 * from + 0.25 * to)).abs() < 1e-12);
    }

    #[test]
    fn draws_are_normal() {
        let mut stream = rng::stream(5, "normal");
        let draws: Vec<f64> = (0..100_000).map(|_| stream.normal()).collect();
        // Shares of the normal law; the standard error of each is at most sqrt(0.25 / n) = 0.0016.
        for (below, share) in [(-2.0, 0.0228), (-1.0, 0.1587), (0.0, 0.5), (1.0, 0.8413), (2.0, 0.9772)] {
            let found = draws.iter().filter(|draw| **draw < below).count() as f64 / 1e5;
            assert!((found - share).abs() < 0.0064, "{below}: {found}");
        }
    }
}
