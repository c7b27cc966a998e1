//! Where in a recording a run begins.
//!
//! A trace, a series of rates or a series of SINR is one sample of a link. A run may begin anywhere in it, and the
//! recording wraps around at its end, so several runs over one recording are several samples.
//!
//! A random offset is a whole number of milliseconds, uniform over the recording, from a stream of its own that is
//! named after the UE: no other draw changes, UEs begin at different offsets, and both directions of a UE begin at the
//! same offset if their recordings have the same length. If the lengths differ, both are the same share of them.

use crate::error::{ScenarioError, as_text};
use crate::rng;
use crate::time::Duration;
use std::str::FromStr;

const NANOS_PER_MS: u64 = 1_000_000;

const FORM: &str = "write \"random\", or a time such as \"12.5 s\"";

/// Where in a recording a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// Anywhere, by the seed of the run.
    Random,
    /// This long after the beginning of the recording.
    At(Duration),
}

impl Offset {
    /// How far into a recording of length `period` the UE named `ue`, such as `"ue0"`, begins in the run with this seed.
    pub fn draw(self, period: Duration, run_seed: u64, ue: &str) -> Duration {
        match self {
            Self::At(offset) => offset,
            Self::Random => {
                let drawn = u128::from(rng::stream(run_seed, &format!("{ue}.recording")).next_u64());
                // The high half of the product is below the number of milliseconds.
                let millis = (drawn * u128::from(period.as_nanos() / NANOS_PER_MS)) >> 64;
                Duration::from_nanos(millis as u64 * NANOS_PER_MS)
            }
        }
    }

    /// Refuses an offset into a recording that ends before it. A recording that plays once has no `period`, and then
    /// `once` says what to write instead of a random offset.
    pub(crate) fn validate(
        self,
        length: Duration,
        period: Option<Duration>,
        once: &str,
    ) -> Result<(), ScenarioError> {
        let error = |message: String, hint: &str| Err(ScenarioError::new("offset", message, hint));
        match self {
            Self::Random if period.is_none() => {
                error("the recording has no second round to wrap around to".into(), once)
            }
            Self::At(offset) if offset >= length && !offset.is_zero() => {
                error(format!("the recording ends at {length}, before {offset}"), "write an earlier time")
            }
            Self::Random | Self::At(_) => Ok(()),
        }
    }

    /// The text that a scenario has.
    pub fn to_text(&self) -> String {
        match self {
            Self::Random => "random".into(),
            Self::At(offset) => offset.to_string(),
        }
    }
}

impl FromStr for Offset {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        if text == "random" {
            return Ok(Self::Random);
        }
        let offset = text.parse::<Duration>();
        offset.map(Self::At).map_err(|_| ScenarioError::new("", format!("'{text}' is no offset"), FORM))
    }
}

as_text!(
    Offset,
    "Offset",
    "\"random\", or a time such as \"12.5 s\"",
    { "type": "string", "pattern": "^(random|[0-9].*)$" }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_offset_is_uniform_and_keeps_to_the_ue() {
        let period = Duration::from_millis(1000);
        let draw = |seed, ue: &str| Offset::Random.draw(period, seed, ue).as_nanos() / NANOS_PER_MS;
        assert_eq!(draw(7, "ue0"), draw(7, "ue0"));
        assert_ne!(draw(7, "ue0"), draw(7, "ue1"));
        let drawn: Vec<u64> = (0..4000).map(|seed| draw(seed, "ue0")).collect();
        assert!(drawn.iter().all(|millis| *millis < 1000));
        let mean = drawn.iter().sum::<u64>() as f64 / 4000.0;
        // Four standard errors of a uniform law: 4 * 1000 / sqrt(12 * 4000).
        assert!((mean - 499.5).abs() < 18.3, "{mean}");
    }

    #[test]
    fn recordings_of_two_lengths_begin_at_the_same_share() {
        let of = |millis| Offset::Random.draw(Duration::from_millis(millis), 3, "ue0").as_nanos();
        assert!(of(100_000).abs_diff(of(100_010)) <= 10 * NANOS_PER_MS);
        assert_eq!(of(1), 0);
    }

    #[test]
    fn offset_reads_back_as_text() {
        for text in ["random", "12500 ms", "0 s"] {
            let offset: Offset = text.parse().unwrap();
            assert_eq!(offset.to_text().parse::<Offset>().unwrap(), offset);
        }
        let wrong = "yesterday".parse::<Offset>().unwrap_err().to_string();
        assert_eq!(wrong, "'yesterday' is no offset; write \"random\", or a time such as \"12.5 s\"");
    }
}
