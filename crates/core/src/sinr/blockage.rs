//! Blockage: people, vehicles and hands that come between a UE and its cell, as they do at millimetre waves.
//!
//! An alternating renewal process: the time between two blockages is exponential, and the duration of a blockage lognormal. In
//! a blockage the SINR is `depth` lower; it falls and rises in dB on straight lines of `ramp`. Both directions of a UE are
//! blocked at the same times, and so are all carriers of a cell.
//!
//! Sources: G. R. MacCartney, T. S. Rappaport, S. Rangan, "Rapid Fading Due to Human Blockage in Pedestrian Crowds at 5G
//! Millimeter-Wave Frequencies", IEEE GLOBECOM 2017 (arXiv 1709.05883): 260 to 300 ms in the mean at 73 GHz. ASSUMED: the
//! standard deviation of the duration's logarithm, 0.5.

use super::BlockageConfig;
use crate::error::ScenarioError;
use crate::rng::Stream;
use crate::time::Duration;
use crate::units::Decibel;

/// Standard deviation of the logarithm of a duration.
const SPREAD: f64 = 0.5;

const MOST_DEPTH: Decibel = Decibel::from_thousandths(60_000);

impl BlockageConfig {
    pub(super) fn validate(&self) -> Result<(), ScenarioError> {
        let shortest = Duration::from_millis(1);
        for (key, time) in [("every", self.every), ("lasts", self.lasts)] {
            if time < shortest {
                let message = format!("{time} is no time of a blockage");
                return Err(ScenarioError::new(key, message, "write 1 ms or more, such as \"280 ms\""));
            }
        }
        if !(Decibel::default()..=MOST_DEPTH).contains(&self.depth) {
            let message = format!("{} is no depth of a blockage", self.depth);
            return Err(ScenarioError::new("depth", message, format!("write \"0 dB\" to \"{MOST_DEPTH}\"")));
        }
        Ok(())
    }
}

pub(super) struct Blockage {
    every_s: f64,
    lasts_s: f64,
    depth_db: f64,
    ramp_s: f64,
    stream: Stream,
    /// Begin and end of the blockages drawn so far, s.
    episodes: Vec<(f64, f64)>,
}

impl Blockage {
    pub fn new(config: &BlockageConfig, stream: Stream) -> Self {
        Self {
            every_s: config.every.as_secs_f64(),
            lasts_s: config.lasts.as_secs_f64(),
            depth_db: config.depth.as_db(),
            ramp_s: config.ramp.as_secs_f64(),
            stream,
            episodes: Vec::new(),
        }
    }

    /// By how much the SINR is lower at a time, dB.
    pub fn at(&mut self, time_s: f64) -> f64 {
        while self.episodes.last().is_none_or(|(_, end)| *end <= time_s) {
            self.draw();
        }
        let (begin, end) = self.episodes[self.episodes.partition_point(|(_, end)| *end <= time_s)];
        let inside = (time_s - begin).min(end - time_s);
        match () {
            () if inside < 0.0 => 0.0,
            () if inside < self.ramp_s => self.depth_db * inside / self.ramp_s,
            () => self.depth_db,
        }
    }

    fn draw(&mut self) {
        let before = self.episodes.last().map_or(0.0, |(_, end)| *end);
        let begin = before - self.every_s * libm::log(1.0 - self.stream.uniform());
        // The mean of exp(s z) is exp(s^2 / 2).
        let lasts = self.lasts_s * libm::exp(SPREAD * self.stream.normal() - SPREAD * SPREAD / 2.0);
        self.episodes.push((begin, begin + lasts));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    fn blockage(seed: u64) -> Blockage {
        let config = BlockageConfig { ramp: Duration::from_millis(60), ..BlockageConfig::default() };
        Blockage::new(&config, rng::stream(seed, "ue0.blockage"))
    }

    #[test]
    fn a_value_depends_on_its_time_alone() {
        let mut in_order = blockage(1);
        let values: Vec<f64> = (0..4000).map(|k| in_order.at(f64::from(k) * 0.01)).collect();
        let mut back = blockage(1);
        assert!((0..4000).rev().all(|k| back.at(k as f64 * 0.01) == values[k]));
        assert!(values.contains(&25.0) && values.contains(&0.0));
        assert!((0..4000).any(|k| blockage(2).at(k as f64 * 0.01) != values[k]));
    }

    /// 10,000 blockages: the standard error of the mean gap is 1 %, that of the mean duration 0.53 % (a lognormal law with 0.5 has
    /// sd / mean = sqrt(exp(0.25) - 1) = 0.533).
    #[test]
    fn gaps_and_durations_have_their_means() {
        let mut blockage = blockage(3);
        (0..10_000).for_each(|_| blockage.draw());
        let lasts = blockage.episodes.iter().map(|(begin, end)| end - begin).sum::<f64>() / 1e4;
        let all = blockage.episodes.last().map_or(0.0, |(_, end)| *end) / 1e4;
        assert!((lasts / 0.28 - 1.0).abs() < 4.0 * 0.0053, "{lasts}");
        assert!(((all - lasts) / 5.0 - 1.0).abs() < 0.04, "{all}");
    }

    #[test]
    fn it_falls_and_rises_on_its_ramp() {
        let mut blockage = blockage(4);
        blockage.draw();
        let (begin, end) = blockage.episodes[0];
        let depths = [begin - 1e-6, begin + 0.03, begin + 0.06, end - 0.03, end].map(|at| blockage.at(at));
        for (own, expected) in depths.into_iter().zip([0.0, 12.5, 25.0, 12.5, 0.0]) {
            assert!((own - expected).abs() < 1e-6, "{depths:?} of {begin} to {end}");
        }
    }
}
