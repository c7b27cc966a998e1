//! Random times and rates: the distribution of a quantity, in its own unit, and random draws from it.
//!
//! Mean and standard deviation (`sd`) refer to the quantity itself, before truncation and rounding.
//!
//! **Truncation.** An impossible draw, a delay below zero or a rate below 1 bit/s, is redrawn, at most 63 times; should
//! none be possible, which happens once in 2^64, the least possible value is taken. A distribution with less than half
//! of its probability in the possible range is refused, and so is a uniform one whose range reaches below. So only
//! `normal` (all), and `poisson`, `exponential` and `lognormal` of rates and sizes, are truncated; [`Config::mean`] is
//! the mean after truncation. A draw is rounded to whole nanoseconds, bit/s or bytes, and no time exceeds
//! [`Duration::LONGEST`].
//!
//! Left out: correlation between draws.

mod law;
mod values;

pub use law::standard_exponential;
pub use values::Values;

use crate::error::ScenarioError;
use crate::rng::Stream;
use crate::time::Duration;
use crate::units::{Bitrate, Bytes, ParseUnitError};
use law::{Count, Law};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::{Debug, Display};
use std::str::FromStr;

/// A quantity that can be drawn.
pub trait Amount:
    Copy
    + Debug
    + Default
    + PartialEq
    + PartialOrd
    + Display
    + Send
    + Sync
    + 'static
    + FromStr<Err = ParseUnitError>
    + Serialize
    + DeserializeOwned
    + JsonSchema
{
    /// The least possible value, in the smallest unit.
    const LEAST: f64;
    /// The quantity in words, with its article.
    const WHAT: &'static str;
    /// A value, as it is written.
    const EXAMPLE: &'static str;

    /// The value in its smallest unit.
    fn to_f64(self) -> f64;

    /// The value nearest to a number of the smallest unit that is at least [`Amount::LEAST`].
    fn from_f64(value: f64) -> Self;
}

impl Amount for Duration {
    const LEAST: f64 = 0.0;
    const WHAT: &'static str = "a delay";
    const EXAMPLE: &'static str = "50 ms";

    fn to_f64(self) -> f64 {
        self.as_nanos() as f64
    }

    #[inline]
    fn from_f64(value: f64) -> Self {
        Self::from_nanos((value + 0.5) as u64).min(Self::LONGEST)
    }
}

impl Amount for Bitrate {
    const LEAST: f64 = 1.0;
    const WHAT: &'static str = "a rate";
    const EXAMPLE: &'static str = "200 kbit/s";

    fn to_f64(self) -> f64 {
        self.as_bps() as f64
    }

    #[inline]
    fn from_f64(value: f64) -> Self {
        Self::from_bps((value + 0.5) as u64)
    }
}

impl Amount for Bytes {
    const LEAST: f64 = 1.0;
    const WHAT: &'static str = "a size";
    const EXAMPLE: &'static str = "100 kB";

    fn to_f64(self) -> f64 {
        self.as_u64() as f64
    }

    #[inline]
    fn from_f64(value: f64) -> Self {
        Self::from_bytes((value + 0.5) as u64)
    }
}

/// How a quantity is distributed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", bound = "A: Amount")]
#[schemars(bound = "A: Amount")]
pub enum Config<A> {
    /// Always the same.
    Constant(A),
    /// Uniformly, within sqrt(3) sd of the mean.
    Uniform(Spread<A>),
    /// Exponentially.
    Exponential(Mean<A>),
    /// Normally.
    Normal(Spread<A>),
    /// Such that the logarithm is normal.
    Lognormal(Spread<A>),
    /// Whole numbers of a unit, with a Poisson distribution.
    Poisson(Units<A>),
    /// By a bounded Pareto distribution: heavy-tailed up to a largest value.
    Pareto(Pareto<A>),
    /// One of a list of values, each as likely.
    Empirical(Empirical<A>),
}

/// A distribution by mean and standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spread<A> {
    /// Mean.
    pub mean: A,
    /// Standard deviation.
    pub sd: A,
}

/// A distribution by its mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mean<A> {
    /// Mean.
    pub mean: A,
}

/// A distribution of whole numbers by its mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Units<A> {
    /// Mean.
    pub mean: A,
    /// Unit that is counted; the standard deviation is sqrt(mean unit).
    pub unit: A,
}

/// A bounded Pareto distribution: the density falls with the power -(shape + 1) between two values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pareto<A> {
    /// Exponent of the tail; the smaller, the heavier.
    pub shape: f64,
    /// Smallest value.
    pub min: A,
    /// Largest value.
    pub max: A,
}

/// A distribution by a list of values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "A: Amount")]
#[schemars(bound = "A: Amount")]
pub struct Empirical<A> {
    /// Path of the list, from the folder of the scenario. A resolved scenario has its text instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The list itself, instead of a file: a value with its unit in each line.
    #[serde(default)]
    pub values: Values<A>,
}

impl<A: Amount> Default for Config<A> {
    fn default() -> Self {
        Self::Constant(A::default())
    }
}

/// Draws from a distribution.
#[derive(Clone, Debug)]
pub struct Sampler<A>(Source<A>);

#[derive(Clone, Debug)]
enum Source<A> {
    /// Always the same: nothing is drawn.
    Constant(A),
    Law(Law),
    List(Values<A>),
}

impl<A: Amount> Sampler<A> {
    /// The next value.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> A {
        match &self.0 {
            Source::Constant(value) => *value,
            Source::Law(law) => A::from_f64(law.draw_from(A::LEAST, stream)),
            Source::List(values) => values.draw(stream),
        }
    }
}

/// More units than this are no Poisson distribution that a normal one would not be.
const MOST_UNITS: f64 = 1e6;

impl<A: Amount> Config<A> {
    /// Refuses a distribution that cannot be drawn from, or whose mass is mostly impossible.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        let (name, result) = match self {
            Self::Constant(value) => ("constant", possible("", *value)),
            Self::Uniform(spread) => {
                ("uniform", positive("mean", spread.mean).and_then(|()| uniform(spread)))
            }
            Self::Exponential(config) => ("exponential", positive("mean", config.mean)),
            Self::Normal(spread) => ("normal", positive("mean", spread.mean)),
            Self::Lognormal(spread) => ("lognormal", positive("mean", spread.mean)),
            Self::Poisson(config) => ("poisson", poisson(config)),
            Self::Pareto(config) => ("pareto", pareto(config)),
            Self::Empirical(config) => ("empirical", config.validate()),
        };
        result.and_then(|()| self.validate_share()).map_err(|error| error.under(name))
    }

    fn validate_share(&self) -> Result<(), ScenarioError> {
        if self.law().is_some_and(|law| law.share_from(A::LEAST) < 0.5) {
            let message =
                format!("{} below {} in more than half of the draws", A::WHAT, A::from_f64(A::LEAST));
            return Err(ScenarioError::new("", message, "raise the mean, or lower the spread"));
        }
        Ok(())
    }

    /// The law of a distribution that is no list of values.
    fn law(&self) -> Option<Law> {
        let of = |spread: &Spread<A>, law: fn(f64, f64) -> Law| law(spread.mean.to_f64(), spread.sd.to_f64());
        Some(match self {
            Self::Constant(_) | Self::Empirical(_) => return None,
            Self::Uniform(spread) => of(spread, Law::uniform),
            Self::Exponential(config) => Law::Exponential { mean: config.mean.to_f64() },
            Self::Normal(spread) => of(spread, |mean, sd| Law::Normal { mean, sd }),
            Self::Lognormal(spread) => of(spread, Law::lognormal),
            Self::Poisson(config) => {
                let unit = config.unit.to_f64();
                Law::Poisson { unit, count: Count::new(config.mean.to_f64() / unit) }
            }
            Self::Pareto(Pareto { shape, min, max }) => Law::pareto(*shape, min.to_f64(), max.to_f64()),
        })
    }

    /// The mean of draws, truncation included.
    pub fn mean(&self) -> A {
        match (self, self.law()) {
            (_, Some(law)) => A::from_f64(law.mean_from(A::LEAST)),
            (Self::Constant(value), None) => *value,
            (Self::Empirical(config), None) => config.values.mean(),
            (_, None) => A::default(),
        }
    }

    /// A sampler of the distribution.
    pub fn sampler(&self) -> Sampler<A> {
        Sampler(match (self, self.law()) {
            (_, Some(law)) => Source::Law(law),
            (Self::Empirical(config), None) => Source::List(config.values.clone()),
            (_, None) => Source::Constant(self.mean()),
        })
    }
}

fn positive<A: Amount>(key: &str, value: A) -> Result<(), ScenarioError> {
    if value.to_f64() > 0.0 {
        return Ok(());
    }
    let hint = format!("write a positive value such as \"{}\"", A::EXAMPLE);
    Err(ScenarioError::new(key, "is zero", hint))
}

fn possible<A: Amount>(key: &str, value: A) -> Result<(), ScenarioError> {
    if value.to_f64() >= A::LEAST { Ok(()) } else { positive(key, value) }
}

fn uniform<A: Amount>(spread: &Spread<A>) -> Result<(), ScenarioError> {
    let Law::Uniform { low, .. } = Law::uniform(spread.mean.to_f64(), spread.sd.to_f64()) else {
        return Ok(());
    };
    if low >= A::LEAST {
        return Ok(());
    }
    let least = A::from_f64(A::LEAST);
    let most = A::from_f64(libm::floor((spread.mean.to_f64() - A::LEAST) / law::SQRT_3));
    let message = format!("the range, mean +- sqrt(3) sd, reaches below {least}");
    Err(ScenarioError::new("sd", message, format!("write at most \"{most}\", or raise the mean")))
}

fn poisson<A: Amount>(config: &Units<A>) -> Result<(), ScenarioError> {
    positive("mean", config.mean)?;
    positive("unit", config.unit)?;
    if config.mean.to_f64() / config.unit.to_f64() > MOST_UNITS {
        let message = format!("the mean is more than {MOST_UNITS} of it");
        return Err(ScenarioError::new("unit", message, "write a larger unit, or choose normal"));
    }
    Ok(())
}

fn pareto<A: Amount>(config: &Pareto<A>) -> Result<(), ScenarioError> {
    if !(config.shape.is_finite() && config.shape > 0.0) {
        return Err(ScenarioError::new("shape", "is not positive", "write a number such as 1.2"));
    }
    positive("min", config.min).and_then(|()| possible("min", config.min))?;
    if config.max <= config.min {
        let hint = "write a value above min, or choose constant";
        return Err(ScenarioError::new("max", "is not above min", hint));
    }
    Ok(())
}

impl<A: Amount> Empirical<A> {
    fn validate(&self) -> Result<(), ScenarioError> {
        if self.file.is_some() {
            return Err(ScenarioError::new("file", "was not read", "give the list itself, as values"));
        }
        if self.values.is_empty() {
            let hint = format!("write values = \"{}\", with more in further lines", A::EXAMPLE);
            return Err(ScenarioError::new("", "has no values", hint));
        }
        Ok(())
    }
}
