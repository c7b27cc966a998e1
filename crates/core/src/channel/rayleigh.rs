//! Block errors of a Rayleigh channel, from its envelope.
//!
//! A block is lost if the power of the channel is below -ln(1 - bler) of its mean: with exponentially distributed power
//! that is so with probability `bler`. The power is that of [`jakes`], sampled once in each step, the TTI of the
//! bearer: all blocks whose transmission ends in the same step are lost or received together. Steps in which nothing is
//! sent are not computed.
//!
//! `markov_fading` is the first-order model of the same channel, with bursts of the same mean length, but geometric.
//! Here they vary less, and follow one another as fades do. With few oscillators the share of lost blocks is a little
//! below `bler`, by at most 0.086 / `oscillators` (see [`jakes`]). Source of the threshold: M. Zorzi, R. R. Rao, L. B.
//! Milstein, IEEE ICUPC 1995.

use super::{Channel, Component, Kind, as_same, bursts};
use crate::element::Adopt;
use crate::error::ScenarioError;
use crate::fading::{self, BLOCK, Component as _, Fading, jakes};
use crate::rng;
use crate::time::{Duration, Instant};
use crate::units::{Frequency, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Block errors in the fades of a Rayleigh channel after Clarke and Jakes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Block error rate: the share of steps in which blocks are lost.
    pub bler: Probability,
    /// Largest Doppler shift: speed divided by the wavelength of the carrier.
    pub doppler: Frequency,
    /// Time between two samples of the channel: the bearer's TTI.
    pub step: Duration,
    /// Sinusoids in either quadrature, 8 to 256.
    pub oscillators: u16,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            bler: Probability::new(0.1).unwrap_or_default(),
            doppler: Frequency::from_millihertz(1000),
            step: Duration::from_millis(10),
            oscillators: jakes::Config::default().oscillators,
        }
    }
}

impl Config {
    const fn jakes(&self) -> jakes::Config {
        jakes::Config { doppler: self.doppler, oscillators: self.oscillators }
    }
}

impl Component for Config {
    fn build(&self, run_seed: u64, name: &str) -> Box<dyn Channel> {
        let fading = fading::Config::Jakes(self.jakes());
        Box::new(Rayleigh {
            step_ns: self.step.as_nanos(),
            threshold: -libm::log1p(-self.bler.as_f64()) as f32,
            fading: fading.build(1.0 / self.step.as_secs_f64(), rng::stream(run_seed, name)),
        })
    }

    fn kind(&self) -> Kind {
        Kind::Blocks
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        bursts::check(self.bler, self.doppler, self.step)?;
        self.jakes().validate()
    }
}

struct Rayleigh {
    step_ns: u64,
    /// Power below which blocks are lost, relative to its mean.
    threshold: f32,
    fading: Box<dyn Fading>,
}

impl Channel for Rayleigh {
    fn block_lost(&mut self, now: Instant) -> bool {
        let step = bursts::step_of(now, self.step_ns);
        let powers = self.fading.block(step / BLOCK as u64);
        powers[(step % BLOCK as u64) as usize] < self.threshold
    }

    fn adopt(&mut self, _now: Instant, fresh: Box<dyn Channel>, how: Adopt) -> bool {
        let Some(fresh) = as_same::<Self>(fresh).filter(|_| how == Adopt::Streams) else { return false };
        self.fading = fresh.fading;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(10);

    fn channel(seed: u64, oscillators: u16) -> Box<dyn Channel> {
        Config { oscillators, ..Config::default() }.build(seed, "ue0.downlink.channel")
    }

    fn after(steps: u64) -> Instant {
        Instant::ZERO + STEP.saturating_mul(steps)
    }

    /// Share of lost steps, and the lengths of bursts, over many channels.
    fn observe(channels: u64, steps: u64) -> (f64, Vec<f64>) {
        let (mut lost, mut bursts) = (0_u64, Vec::new());
        for seed in 0..channels {
            let mut channel = channel(seed, 16);
            let mut length = 0_u32;
            for step in 1..=steps {
                if channel.block_lost(after(step)) {
                    (length, lost) = (length + 1, lost + 1);
                } else if length > 0 {
                    bursts.push(f64::from(std::mem::take(&mut length)));
                }
            }
        }
        (lost as f64 / (channels * steps) as f64, bursts)
    }

    /// Zheng and Xiao's generator with M = 16 at fd T = 0.01 and a threshold for 10 %, in an independent computation: a
    /// share of 0.098, bursts of 13.4 steps on average with standard deviation 10.4 and median 11. A geometric law of
    /// that mean has 12.9 and 9.
    #[test]
    fn fades_are_as_long_as_those_of_the_envelope_and_not_geometric() {
        let (share, mut bursts) = observe(400, 20_000);
        bursts.sort_by(f64::total_cmp);
        let n = bursts.len() as f64;
        let mean = bursts.iter().sum::<f64>() / n;
        let sd = libm::sqrt(bursts.iter().map(|burst| (burst - mean) * (burst - mean)).sum::<f64>() / n);
        let median = bursts[bursts.len() / 2];
        // Some 58 000 bursts; those of one channel have its angles in common. Rice's formula for the mean: 13.65.
        assert!((share - 0.098).abs() < 0.003, "{share}");
        assert!((mean - 13.4).abs() < 0.4, "{mean} over {n} bursts");
        assert!((sd - 10.4).abs() < 0.3, "{sd}");
        assert!((10.0..=12.0).contains(&median), "{median}");
    }

    #[test]
    fn blocks_of_one_step_share_its_outcome_and_gaps_change_nothing() {
        let mut steady = channel(2, 32);
        let outcomes: Vec<bool> = (1..3000).map(|step| steady.block_lost(after(step))).collect();
        assert!(outcomes.contains(&true) && outcomes.contains(&false));
        let mut seldom = channel(2, 32);
        for step in (1..3000).step_by(37) {
            let end = after(step);
            let earlier = Instant::from_nanos(end.as_nanos() - STEP.as_nanos() + 1);
            let outcome = outcomes[step as usize - 1];
            assert_eq!([earlier, end, end].map(|at| seldom.block_lost(at)), [outcome; 3], "step {step}");
        }
    }

    /// The power of the first step over many channels is exponential, whatever the run's seed.
    #[test]
    fn it_starts_like_any_other_time() {
        let bad = (0..20_000).filter(|seed| channel(*seed, 32).block_lost(after(1))).count();
        // Four standard deviations of a binomial count of 0.1, and 0.086 / 32 for the oscillators.
        assert!((bad as f64 - 2000.0).abs() < 170.0 + 54.0, "{bad}");
    }
}
