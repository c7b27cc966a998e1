//! The numbers of a process: as a file has them, checked, and prepared for drawing.

use super::rank::{BIN_MS, CLASSES, MOST_SCALES, Weights};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::units::{Bitrate, Probability};
use std::ops::RangeInclusive;

/// Standard deviation of the logarithm of the ratio of an episode's length to the recorded length.
pub(super) const LENGTH_SD: f64 = 0.15;
/// Mean rates of a process, bit/s.
pub(super) const RATES_BPS: RangeInclusive<f64> = 1e3..=2e10;

const MOST_VALUES: usize = 1000;
const MOST_PIECES: usize = 10_000;
/// Most packets in a bin or in a piece of an episode.
const MOST_PACKETS: f64 = 1e6;
const LONGEST_EPISODE_MS: u32 = 3_600_000;
const BITS_OF_PACKET: f64 = 12_000.0;

parameters! {
    /// A random process of delivery opportunities of 1500 bytes, in bins of 100 ms.
    pub struct Model {
        /// Where the model is from.
        pub origin: String,
        /// Opportunities in a bin outside episodes: means of equal shares of the bins, ascending.
        pub counts: Vec<f64> = vec![100.0],
        /// Time constants of the autocorrelation, in seconds: at most 8.
        pub time_constants_s: Vec<f64>,
        /// Share of the variance that each time constant has; the remainder to 1 is uncorrelated from bin to bin.
        pub weights: Vec<f64>,
        /// Share of each component that both directions of a UE have in common; none if empty. The components of both
        /// directions correspond by their place in the list.
        pub shared: Vec<f64>,
        /// Silences of more than 300 ms.
        pub outages: Outages,
        /// How opportunities lie within a bin, from the worst bins to the best, each for an equal share of them; evenly
        /// if empty.
        pub texture: Vec<Texture>,
    }

    /// Outages, in episodes.
    pub struct Outages {
        /// Episodes per second that begin after a second of the worst 10 % (by mean rank), the next 20 %, the next 30 %
        /// and the best 40 %.
        pub per_s: [f64; 4],
        /// Episodes to draw from, each a sequence of pieces: milliseconds, and opportunities in them.
        pub episodes: Vec<Vec<[u32; 2]>>,
        /// Probability that an episode is drawn for both directions of a UE at once.
        pub shared: Probability,
    }

    /// Bursts and silences within a bin.
    pub struct Texture {
        /// Opportunities in a millisecond that has any: means of equal shares, ascending.
        pub packets: Vec<f64>,
        /// Milliseconds from one that has any to the next: means of equal shares, ascending.
        pub silences_ms: Vec<f64>,
        /// Order of bursts and silences, -1 to 1. With the probability of its absolute value, a draw is followed by one
        /// of the opposite rank if negative, which is more even than independent draws, or of the same rank if positive,
        /// which clumps.
        pub pairing: f64,
    }
}

/// A distribution by the means of equal shares of its values, joined by straight lines: its mean is their mean.
#[derive(Clone, Debug)]
pub(super) struct Quantiles(Vec<f64>);

impl Quantiles {
    /// The value at rank `u`, 0 to 1.
    pub fn at(&self, u: f64) -> f64 {
        let last = self.0.len() - 1;
        let place = (u * self.0.len() as f64 - 0.5).clamp(0.0, last as f64);
        let index = (place as usize).min(last);
        let next = self.0[(index + 1).min(last)];
        self.0[index] + (next - self.0[index]) * (place - index as f64)
    }
}

/// Bursts and silences of bins of a level.
pub(super) struct Level {
    pub packets: Quantiles,
    pub silences_ms: Quantiles,
    pub pairing: f64,
}

/// A checked model, ready for drawing.
pub(super) struct Prepared {
    pub weights: Weights,
    pub counts: Quantiles,
    /// Probability of an episode before a bin, by class.
    pub hazards: [f64; 4],
    pub episodes: Vec<Vec<[u32; 2]>>,
    /// Milliseconds of all episodes before and including each.
    pub ends_ms: Vec<u64>,
    pub shared_episodes: f64,
    /// Share of time within episodes.
    pub outage: f64,
    /// How opportunities lie in a bin, by level.
    pub texture: Vec<Level>,
    /// By this the model's rate is multiplied.
    pub scale: f64,
}

impl Prepared {
    pub fn new(model: &Model, mean: Option<Bitrate>) -> Self {
        let scale = mean.map_or(1.0, |mean| mean.as_bps() as f64 / model.mean_bps());
        let scaled = |values: &[f64], by: f64| Quantiles(values.iter().map(|value| value * by).collect());
        let texture = model.texture.iter();
        let mut sum_ms = 0;
        let ends_ms = model.outages.episodes.iter().map(|episode| {
            sum_ms += length_ms(episode);
            sum_ms
        });
        let outage = model.outage_s_per_s();
        Self {
            weights: Weights::new(&model.time_constants_s, &model.weights, &model.shared),
            counts: scaled(&model.counts, scale),
            hazards: if model.outages.episodes.is_empty() {
                [0.0; 4]
            } else {
                model.outages.per_s.map(|rate| rate * BIN_MS as f64 / 1e3)
            },
            ends_ms: ends_ms.collect(),
            episodes: model.outages.episodes.clone(),
            shared_episodes: model.outages.shared.as_f64(),
            outage: outage / (1.0 + outage),
            texture: texture
                .map(|one| Level {
                    packets: scaled(&one.packets, scale),
                    silences_ms: scaled(&one.silences_ms, 1.0),
                    pairing: one.pairing,
                })
                .collect(),
            scale,
        }
    }
}

fn length_ms(episode: &[[u32; 2]]) -> u64 {
    episode.iter().map(|[ms, _]| u64::from(*ms)).sum()
}

impl Model {
    /// The table of a model from its text, JSON or TOML.
    pub(crate) fn read(text: &str) -> Result<toml::Value, ScenarioError> {
        let wrong = |form: &str, error: &dyn std::fmt::Display| {
            let message = format!("is no {form}: {}", error.to_string().lines().next().unwrap_or_default());
            ScenarioError::new("", message, "write a model as airpath fit does, as JSON or TOML")
        };
        let table: toml::Table = match text.trim_start().starts_with('{') {
            true => serde_json::from_str(text).map_err(|error| wrong("JSON", &error))?,
            false => text.parse().map_err(|error: toml::de::Error| wrong("TOML", &error))?,
        };
        if !table.contains_key("counts") {
            return Err(wrong("model", &"counts is missing"));
        }
        Ok(table.into())
    }

    /// Mean rate at IP level, over bins and episodes.
    pub fn mean_rate(&self) -> Bitrate {
        Bitrate::from_bps(self.mean_bps() as u64)
    }

    fn mean_bps(&self) -> f64 {
        let count = self.counts.iter().sum::<f64>() / self.counts.len() as f64;
        let packets: f64 =
            self.outages.episodes.iter().flatten().map(|[_, packets]| f64::from(*packets)).sum();
        let of_episode = packets / self.outages.episodes.len().max(1) as f64;
        let per_s = count * 1e3 / BIN_MS as f64 + self.hazard() * of_episode;
        per_s / (1.0 + self.outage_s_per_s()) * BITS_OF_PACKET
    }

    /// Episodes per second outside them.
    fn hazard(&self) -> f64 {
        match self.outages.episodes.is_empty() {
            true => 0.0,
            false => self.outages.per_s.iter().zip(CLASSES).map(|(rate, share)| rate * share).sum(),
        }
    }

    /// Seconds of episodes per second outside them.
    fn outage_s_per_s(&self) -> f64 {
        let episodes = &self.outages.episodes;
        let all_s = episodes.iter().map(|episode| length_ms(episode)).sum::<u64>() as f64 / 1e3;
        self.hazard() * all_s / episodes.len().max(1) as f64 * libm::exp(LENGTH_SD * LENGTH_SD / 2.0)
    }

    /// Refuses parameters that no draw is possible with.
    pub(super) fn validate(&self) -> Result<(), ScenarioError> {
        ascending("counts", &self.counts, 0.0..=MOST_PACKETS)?;
        self.validate_weights()?;
        self.outages.validate().map_err(|error| error.under("outages"))?;
        for (index, texture) in self.texture.iter().enumerate() {
            let key = format!("texture[{index}]");
            ascending("packets", &texture.packets, 1.0..=MOST_PACKETS).map_err(|error| error.under(&key))?;
            ascending("silences_ms", &texture.silences_ms, 1.0..=1e6).map_err(|error| error.under(&key))?;
            if !(-1.0..=1.0).contains(&texture.pairing) {
                return refuse(&format!("{key}.pairing"), "is out of range", "write a number from -1 to 1");
            }
        }
        if self.texture.len() > MOST_VALUES {
            return refuse("texture", "has too many levels", "write at most 1000");
        }
        if !RATES_BPS.contains(&self.mean_bps()) {
            let message = format!("the mean rate is {:.0} bit/s", self.mean_bps());
            return refuse("counts", &message, "write counts whose mean rate is 1 kbit/s to 20 Gbit/s");
        }
        Ok(())
    }

    /// Refuses a mean rate that would put too many opportunities into a bin or a piece of an episode.
    pub(super) fn validate_mean(&self, mean: Bitrate) -> Result<(), ScenarioError> {
        let pieces = self.outages.episodes.iter().flatten().map(|[_, packets]| f64::from(*packets));
        let most = pieces.chain(self.counts.iter().copied()).fold(0.0, f64::max);
        match most * mean.as_bps() as f64 / self.mean_bps() > MOST_PACKETS {
            true => {
                refuse("mean", &format!("{mean} gives too many opportunities at once"), "write a lower rate")
            }
            false => Ok(()),
        }
    }

    fn validate_weights(&self) -> Result<(), ScenarioError> {
        let scales = self.time_constants_s.len();
        if scales > MOST_SCALES {
            return refuse("time_constants_s", &format!("has {scales} values"), "write at most 8");
        }
        let known = |value: &f64, range: RangeInclusive<f64>| range.contains(value);
        if !self.time_constants_s.iter().all(|tau| known(tau, 0.001..=1e6)) {
            return refuse(
                "time_constants_s",
                "has a value out of range",
                "write seconds from 0.001 to 1000000",
            );
        }
        if self.weights.len() != scales {
            let message = format!("has {} values, and time_constants_s {scales}", self.weights.len());
            return refuse("weights", &message, "write one weight for each time constant");
        }
        // A model is written with few digits, so a sum may exceed 1 by their rounding.
        if !self.weights.iter().all(|weight| known(weight, 0.0..=1.0))
            || self.weights.iter().sum::<f64>() > 1.001
        {
            return refuse(
                "weights",
                "are no shares of a whole",
                "write numbers from 0 to 1 with a sum of at most 1",
            );
        }
        if !self.shared.is_empty() && self.shared.len() != scales {
            let message = format!("has {} values, and time_constants_s {scales}", self.shared.len());
            return refuse("shared", &message, "write one share for each time constant, or none");
        }
        if !self.shared.iter().all(|share| known(share, 0.0..=1.0)) {
            return refuse("shared", "has a value out of range", "write numbers from 0 to 1");
        }
        Ok(())
    }
}

impl Outages {
    fn validate(&self) -> Result<(), ScenarioError> {
        // One episode before each bin at most.
        if !self.per_s.iter().all(|rate| (0.0..=1e3 / BIN_MS as f64).contains(rate)) {
            return refuse("per_s", "has a value out of range", "write episodes per second from 0 to 10");
        }
        if self.episodes.is_empty() && self.per_s.iter().any(|rate| *rate > 0.0) {
            return refuse("episodes", "is empty, and per_s is not 0", "write at least one episode");
        }
        if self.episodes.iter().map(Vec::len).sum::<usize>() > MOST_PIECES {
            return refuse("episodes", "has too many pieces", "write at most 10000");
        }
        for (index, episode) in self.episodes.iter().enumerate() {
            let key = format!("episodes[{index}]");
            if episode.is_empty() {
                return refuse(&key, "is empty", "write pieces, such as [[800, 0]]");
            }
            for [ms, packets] in episode {
                if !(1..=LONGEST_EPISODE_MS).contains(ms) || f64::from(*packets) > MOST_PACKETS {
                    let message = format!("[{ms}, {packets}] is no piece of an episode");
                    let hint = "write milliseconds from 1 to 3600000, and at most 1000000 opportunities";
                    return refuse(&key, &message, hint);
                }
            }
            if length_ms(episode) > u64::from(LONGEST_EPISODE_MS) {
                return refuse(&key, "is longer than an hour", "write shorter pieces");
            }
        }
        Ok(())
    }
}

fn refuse(key: &str, message: &str, hint: &str) -> Result<(), ScenarioError> {
    Err(ScenarioError::new(key, message, hint))
}

/// Refuses values that are no distribution by means of equal shares.
fn ascending(key: &str, values: &[f64], range: RangeInclusive<f64>) -> Result<(), ScenarioError> {
    if values.is_empty() || values.len() > MOST_VALUES {
        return refuse(key, &format!("has {} values", values.len()), "write 1 to 1000");
    }
    if !values.iter().all(|value| range.contains(value)) {
        let hint = format!("write numbers from {} to {}", range.start(), range.end());
        return refuse(key, "has a value out of range", &hint);
    }
    match values.is_sorted() {
        true => Ok(()),
        false => refuse(key, "does not ascend", "write the smallest value first"),
    }
}
