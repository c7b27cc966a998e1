//! Block errors of a Rayleigh channel as a Markov chain of two states.
//!
//! Time is divided into steps, the TTIs of the bearer: all blocks whose transmission ends in the same step are lost or
//! received together. A step after a bad one is good with a probability that follows from block error rate and Doppler
//! shift (see `transition`); bursts are geometric, of mean 1 / P(bad to good) steps. The chain starts in its stationary
//! state. Steps without transmissions are skipped: over n steps the chain forgets the factor (1 - P(good to bad) -
//! P(bad to good))^n of its state, and one draw decides.
//!
//! Leaves out what the first order leaves out: fades of real channels vary less in length than geometric ones. Source:
//! M. Zorzi, R. R. Rao, L. B. Milstein, IEEE ICUPC 1995; for its use over 3G bearers J. J. Alcaraz, F. Cerdan,
//! "Combining ACK Rate Control and AQM to Enhance TCP Performance over 3G Links". Their own reference for it, \[14\],
//! is A. Chockalingam, M. Zorzi, "Wireless TCP Performance with Link Layer FEC/ARQ", IEEE ICC 1999. ASSUMED: the chain
//! there is the one of 1995, where its probabilities are derived; the paper states that the Doppler shift determines
//! the length of bursts, and prints no formula.

mod transition;

use super::{Channel, Component, Kind, as_same, bursts};
use crate::element::Adopt;
use crate::error::ScenarioError;
use crate::rng::{self, Stream};
use crate::time::{Duration, Instant};
use crate::units::{Frequency, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Block errors in bursts: a two-state Markov chain fitted to Rayleigh fading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Block error rate: the share of steps in which blocks are lost.
    pub bler: Probability,
    /// Largest Doppler shift: speed divided by the wavelength of the carrier.
    pub doppler: Frequency,
    /// Step of the chain: the bearer's TTI.
    pub step: Duration,
}

impl Default for Config {
    fn default() -> Self {
        let bler = Probability::new(0.1).unwrap_or_default();
        Self { bler, doppler: Frequency::from_millihertz(1000), step: Duration::from_millis(10) }
    }
}

impl Component for Config {
    fn build(&self, run_seed: u64, name: &str) -> Box<dyn Channel> {
        Box::new(MarkovFading::new(self, rng::stream(run_seed, name)))
    }

    fn kind(&self) -> Kind {
        Kind::Blocks
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        bursts::check(self.bler, self.doppler, self.step)
    }
}

struct MarkovFading {
    step_ns: u64,
    bler: f64,
    /// P(good to bad) and P(bad to good) together are less than 1 by this.
    memory: f64,
    /// The step queried last, and whether it is bad.
    last: Option<(u64, bool)>,
    stream: Stream,
}

impl MarkovFading {
    fn new(config: &Config, stream: Stream) -> Self {
        let bler = config.bler.as_f64();
        let to_good = transition::bad_to_good(bler, bursts::doppler_per_step(config.doppler, config.step));
        // P(good to bad) is P(bad to good) bler / (1 - bler).
        let memory = 1.0 - to_good / (1.0 - bler);
        Self { step_ns: config.step.as_nanos(), bler, memory, last: None, stream }
    }

    /// The probability that the channel is bad `steps` steps after it was bad, and after it was good.
    fn bad_after(&self, steps: u64, was_bad: bool) -> f64 {
        let remembered = if steps == 1 { self.memory } else { libm::pow(self.memory, steps as f64) };
        if was_bad { self.bler + (1.0 - self.bler) * remembered } else { self.bler * (1.0 - remembered) }
    }
}

impl Channel for MarkovFading {
    fn block_lost(&mut self, now: Instant) -> bool {
        let step = bursts::step_of(now, self.step_ns);
        let p = match self.last {
            Some((last, is_bad)) if last == step => return is_bad,
            Some((last, was_bad)) => self.bad_after(step - last, was_bad),
            None => self.bler,
        };
        let is_bad = self.stream.uniform() < p;
        self.last = Some((step, is_bad));
        is_bad
    }

    fn adopt(&mut self, _now: Instant, fresh: Box<dyn Channel>, how: Adopt) -> bool {
        let Some(fresh) = as_same::<Self>(fresh).filter(|_| how == Adopt::Streams) else { return false };
        rng::renew([&mut self.stream], [fresh.stream])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(10);

    fn channel(seed: u64) -> MarkovFading {
        MarkovFading::new(&Config::default(), rng::stream(seed, "ue0.downlink.channel"))
    }

    fn after(steps: u64) -> Instant {
        Instant::ZERO + STEP.saturating_mul(steps)
    }

    /// 10 % of blocks lost, fd T = 0.01: bursts are geometric with mean 13.671, and so with standard
    /// deviation sqrt(13.671 x 12.671) = 13.16.
    #[test]
    fn bursts_are_as_long_as_the_model_says() {
        const STEPS: u64 = 5_000_000;
        let mut channel = channel(1);
        let (mut bursts, mut length, mut lost) = (Vec::new(), 0_u32, 0_u32);
        for step in 1..=STEPS {
            if channel.block_lost(after(step)) {
                (length, lost) = (length + 1, lost + 1);
            } else if length > 0 {
                bursts.push(f64::from(std::mem::take(&mut length)));
            }
        }
        let n = bursts.len() as f64;
        let mean = bursts.iter().sum::<f64>() / n;
        let sd = libm::sqrt(bursts.iter().map(|burst| (burst - mean) * (burst - mean)).sum::<f64>() / n);
        // Four standard errors: of a mean sd / sqrt(n), of a geometric law's sd about sd sqrt(2 / n).
        assert!((mean - 13.671).abs() < 4.0 * 13.16 / libm::sqrt(n), "{mean} over {n} bursts");
        assert!((sd - 13.16).abs() < 4.0 * 13.16 * libm::sqrt(2.0 / n), "{sd} over {n} bursts");
        // The variance of the share is bler (1 - bler) (1 + memory) / (1 - memory) / n.
        let variance = 0.09 * (1.0 + channel.memory) / (1.0 - channel.memory) / STEPS as f64;
        let share = f64::from(lost) / STEPS as f64;
        assert!((share - 0.1).abs() < 4.0 * libm::sqrt(variance), "{share}");
    }

    #[test]
    fn blocks_of_one_step_share_its_outcome_and_draw_once() {
        let (mut once, mut often) = (channel(2), channel(2));
        for step in 1..1000 {
            let end = after(step);
            let earlier = Instant::from_nanos(end.as_nanos() - STEP.as_nanos() + 1);
            let outcome = often.block_lost(earlier);
            assert_eq!([often.block_lost(end), often.block_lost(end)], [outcome, outcome]);
            assert_eq!(once.block_lost(end), outcome);
        }
        assert_eq!(once.stream, often.stream);
    }

    #[test]
    fn a_gap_is_that_many_steps_at_once() {
        let channel = channel(3);
        for steps in [2, 3, 17, 200] {
            for was_bad in [false, true] {
                let mut p = f64::from(u8::from(was_bad));
                for _ in 0..steps {
                    p = p * channel.bad_after(1, true) + (1.0 - p) * channel.bad_after(1, false);
                }
                assert!((channel.bad_after(steps, was_bad) - p).abs() < 1e-12, "{steps} {was_bad}");
            }
        }
        assert!((channel.bad_after(u64::MAX, true) - 0.1).abs() < 1e-15);
        assert!((1.0 - channel.bad_after(1, true) - 0.073_149).abs() < 0.5001e-6);
    }

    #[test]
    fn it_starts_in_its_stationary_state() {
        let bad = (0..20_000).filter(|seed| self::channel(*seed).block_lost(after(1))).count();
        // Four standard deviations of a binomial count: 4 sqrt(20000 x 0.09).
        assert!((bad as f64 - 2000.0).abs() < 170.0, "{bad}");
    }
}
