//! Outages of reception: times with almost no reception at a UE, e.g. in the shadow of a building or below ground.
//!
//! Outages come in episodes. Episodes start as a Poisson process; after each outage another one follows within the
//! episode with the same probability, after an exponential time. Lengths are lognormal. During an outage the SINR is
//! `level` plus the fading, without mean and shadowing.
//!
//! The uplink and the downlink of a UE may have a share of their episodes in common. These come from a stream that is
//! named after the UE, so each direction can be queried independently, in any order of times; a later time costs as
//! many draws as there are episodes before it.
//!
//! Left out: that episodes are more frequent in bad seconds. ASSUMED: the laws; recorded links show the episodes, and the
//! share that directions have in common.

use super::OutagesConfig;
use crate::distribution::standard_exponential;
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::rng::{self, Stream};
use crate::time::Duration;
use std::ops::Range;

const MOST_PER_MINUTE: f64 = 600.0;
const MOST_SD: f64 = 3.0;
const MOST_AGAIN: f64 = 0.99;
const LONGEST: Duration = Duration::from_secs(3600);

/// Most of the time that outages may last.
const MOST_SHARE: f64 = 0.9;

/// The process starts so long before the run, which may start within an outage.
const BEFORE_S: f64 = 60.0;

impl OutagesConfig {
    /// Refuses outages that no UE has.
    ///
    /// # Errors
    /// With the key below this table.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        let error = |key: &str, message: String, hint: &str| Err(ScenarioError::new(key, message, hint));
        if !(0.0..=MOST_PER_MINUTE).contains(&self.per_minute) {
            let message = format!("{} is no number of outages per minute", self.per_minute);
            return error("per_minute", message, "write 0 to 600, such as 1.7");
        }
        if self.median.is_zero() || self.median > LONGEST {
            let message = format!("{} is no median length of an outage", self.median);
            return error("median", message, "write up to \"1 h\", such as \"0.8 s\"");
        }
        if !(0.0..=MOST_SD).contains(&self.log_sd) {
            let message = format!("{} is no standard deviation of the logarithm of lengths", self.log_sd);
            return error("log_sd", message, "write 0 to 3, such as 0.9");
        }
        if self.again.as_f64() > MOST_AGAIN {
            let message = format!("{} is too likely: an episode would hardly end", self.again);
            return error("again", message, "write at most \"99 %\", such as \"70 %\"");
        }
        if self.calm.is_zero() || self.calm > LONGEST {
            let message = format!("{} is no time between outages of an episode", self.calm);
            return error("calm", message, "write up to \"1 h\", such as \"1 s\"");
        }
        let share = self.episode_s() / self.cycle_s(1.0);
        if share > MOST_SHARE {
            let message = format!("outages would last {:.0} % of the time", 100.0 * share);
            return error("per_minute", message, "lower per_minute or median: at most 90 %");
        }
        Ok(())
    }

    /// Mean time from the start of an episode to the start of the next, seconds, where a share of them counts.
    fn cycle_s(&self, share: f64) -> f64 {
        60.0 / (share * self.per_minute * (1.0 - self.again.as_f64()))
    }

    /// Mean length of an episode, seconds.
    fn episode_s(&self) -> f64 {
        let outages = 1.0 / (1.0 - self.again.as_f64());
        let outage_s = self.median.as_secs_f64() * libm::exp(self.log_sd * self.log_sd / 2.0);
        outages * outage_s + (outages - 1.0) * self.calm.as_secs_f64()
    }
}

/// Outages of one direction of a UE.
pub struct Outages {
    level_db: f32,
    /// Episodes of the UE, and those of this direction.
    walks: [Option<Walk>; 2],
}

impl Outages {
    /// Creates the outages of one direction of a UE, or `None` if the configuration has none.
    pub fn new(config: &OutagesConfig, run_seed: u64, (ue, dir): (u16, Dir)) -> Option<Self> {
        if config.per_minute <= 0.0 {
            return None;
        }
        let walk = |name: String, share: f64| {
            (share > 0.0).then(|| Walk::new(config, share, rng::stream(run_seed, &name)))
        };
        let shared = config.shared.as_f64();
        let walks = [
            walk(format!("ue{ue}.outages"), shared),
            walk(format!("ue{ue}.{}.outages", dir.name()), 1.0 - shared),
        ];
        Some(Self { level_db: config.level.as_db() as f32, walks })
    }

    /// Returns the SINR without fading at a time if that is in an outage, dB.
    pub fn level_at(&mut self, time_s: f64) -> Option<f32> {
        // Query both, so that both walks advance.
        let [common, own] =
            self.walks.each_mut().map(|walk| walk.as_mut().is_some_and(|walk| walk.covers(time_s)));
        (common || own).then_some(self.level_db)
    }
}

/// Outages one after the other; they never overlap.
struct Walk {
    start: Stream,
    stream: Stream,
    /// Mean time from the end of an episode to the next, seconds.
    apart_s: f64,
    median_s: f64,
    log_sd: f64,
    again: f64,
    calm_s: f64,
    /// The present outage, or the next one.
    outage: Range<f64>,
    /// End of the outage before it, and whether both are of one episode.
    passed_s: f64,
    continues: bool,
}

impl Walk {
    /// Creates the outages of a share of the episodes.
    fn new(config: &OutagesConfig, share: f64, start: Stream) -> Self {
        let mut walk = Self {
            stream: start.clone(),
            start,
            apart_s: config.cycle_s(share) - config.episode_s(),
            median_s: config.median.as_secs_f64(),
            log_sd: config.log_sd,
            again: config.again.as_f64(),
            calm_s: config.calm.as_secs_f64(),
            outage: 0.0..0.0,
            passed_s: 0.0,
            continues: false,
        };
        walk.restart();
        walk
    }

    fn restart(&mut self) {
        self.stream = self.start.clone();
        (self.outage, self.continues) = (-BEFORE_S..-BEFORE_S, false);
        self.advance();
        self.passed_s = f64::NEG_INFINITY;
    }

    /// Whether a time is in an outage.
    fn covers(&mut self, time_s: f64) -> bool {
        if time_s < self.passed_s {
            self.restart();
        }
        while self.outage.end <= time_s {
            self.advance();
        }
        self.outage.contains(&time_s)
    }

    /// Draws the next outage.
    fn advance(&mut self) {
        self.passed_s = self.outage.end;
        let wait_s = if self.continues { self.calm_s } else { self.apart_s };
        let start = self.passed_s + wait_s * standard_exponential(self.stream.uniform());
        let length_s = self.median_s * libm::exp(self.log_sd * self.stream.normal());
        self.continues = self.stream.uniform() < self.again;
        self.outage = start..start + length_s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> OutagesConfig {
        toml::from_str(text).unwrap()
    }

    fn outages(text: &str, seed: u64, dir: Dir) -> Outages {
        let config = config(text);
        config.validate().unwrap();
        Outages::new(&config, seed, (0, dir)).unwrap()
    }

    /// Start and end of each outage, ms, looked at each 20 ms.
    fn spells(outages: &mut Outages, seconds: u32) -> Vec<(u32, u32)> {
        const STEP: u32 = 20;
        let mut found: Vec<(u32, u32)> = Vec::new();
        let times = (0..1000 / STEP * seconds).map(|step| step * STEP);
        for ms in times.filter(|ms| outages.level_at(f64::from(*ms) / 1e3).is_some()) {
            match found.last_mut() {
                Some(last) if last.1 == ms => last.1 = ms + STEP,
                _ => found.push((ms, ms + STEP)),
            }
        }
        found
    }

    #[test]
    fn a_time_has_the_same_answer_in_any_order() {
        let text = "per_minute = 20\nmedian = \"1 s\"\nlog_sd = 1.0\nagain = \"70 %\"\nshared = \"50 %\"";
        let mut in_order = outages(text, 1, Dir::Downlink);
        let levels: Vec<_> = (0..4000).map(|k| in_order.level_at(f64::from(k) * 0.05)).collect();
        let mut back = outages(text, 1, Dir::Downlink);
        for k in (0..4000).rev().step_by(7).chain([3999, 5, 2000, 2001]) {
            assert_eq!(back.level_at(k as f64 * 0.05), levels[k], "{k}");
        }
        assert!(levels.iter().flatten().all(|level| *level == -9.0));
        let other = |seed, dir| {
            let mut other = outages(text, seed, dir);
            (0..4000).map(|k| other.level_at(f64::from(k) * 0.05)).collect::<Vec<_>>()
        };
        assert_ne!(other(2, Dir::Downlink), levels);
        assert_ne!(other(1, Dir::Uplink), levels);
    }

    /// 20 hours. Counts of a renewal process vary by at most the square root of what is expected where the spells are
    /// shorter than the time between them; an episode of 1 / (1 - again) outages counts as one.
    #[test]
    #[ignore = "slow"]
    fn as_many_outages_come_as_the_configuration_says() {
        for (text, per_episode) in [
            ("per_minute = 2\nmedian = \"0.8 s\"\nlog_sd = 0.9\nagain = \"0 %\"", 1.0),
            ("per_minute = 4\nmedian = \"0.5 s\"\nlog_sd = 0.7\nagain = \"75 %\"\ncalm = \"1 s\"", 4.0),
        ] {
            let found = spells(&mut outages(text, 3, Dir::Downlink), 72_000);
            let config = config(text);
            let number = config.per_minute * 1200.0;
            let error = 4.0 * libm::sqrt(number * 2.0 * per_episode);
            assert!((found.len() as f64 - number).abs() < error, "{} of {number}", found.len());
            let mut lengths: Vec<u32> = found.iter().map(|(from, to)| to - from).collect();
            lengths.sort_unstable();
            let median_ms = f64::from(lengths[lengths.len() / 2]);
            let allowed = 4.0 * 1.2533 * config.log_sd / libm::sqrt(lengths.len() as f64);
            let apart = libm::log(median_ms / 1e3 / config.median.as_secs_f64());
            assert!(apart.abs() < allowed + 0.02, "{median_ms} ms");
            // The next one follows within 3 s if it is of the same episode, by a mean of 1 s.
            let near = found.windows(2).filter(|pair| pair[1].0 - pair[0].1 < 3000).count();
            let share = near as f64 / found.len() as f64;
            let again = 1.0 - 1.0 / per_episode;
            let by_chance = 3.0 / (60.0 / config.per_minute * per_episode);
            let expected = again * (1.0 - libm::exp(-3.0)) + (1.0 - again) * by_chance;
            assert!((share - expected).abs() < 0.05, "{share} {expected}");
        }
    }

    #[test]
    #[ignore = "slow"]
    fn both_directions_have_the_shared_part_of_the_outages_at_once() {
        let text =
            |shared: u32| format!("per_minute = 3\nmedian = \"1 s\"\nlog_sd = 0.0\nshared = \"{shared} %\"");
        for (shared, least, most) in [(0, 0.02, 0.15), (75, 0.7, 0.85), (100, 1.0, 1.0)] {
            let both = Dir::BOTH.map(|dir| spells(&mut outages(&text(shared), 4, dir), 36_000));
            let is_in_uplink = |(from, to): &(u32, u32)| both[1].iter().any(|up| up.0 < *to && *from < up.1);
            let share =
                both[0].iter().filter(|spell| is_in_uplink(spell)).count() as f64 / both[0].len() as f64;
            assert!((least..=most).contains(&share), "{shared} %: {share}");
        }
    }

    #[test]
    fn outages_that_no_ue_has_are_refused() {
        for (text, message) in [
            ("per_minute = -1", "-1 is no number of outages per minute; write 0 to 600, such as 1.7"),
            (
                "median = \"0 s\"",
                "0 s is no median length of an outage; write up to \"1 h\", such as \"0.8 s\"",
            ),
            (
                "log_sd = 4",
                "4 is no standard deviation of the logarithm of lengths; write 0 to 3, such as 0.9",
            ),
            (
                "per_minute = 30\nmedian = \"2 s\"",
                "outages would last 113 % of the time; lower per_minute or median: at most 90 %",
            ),
        ] {
            let error = config(text).validate().unwrap_err().to_string();
            assert!(error.ends_with(message), "{error}");
        }
    }
}
