//! Load of other UEs as a random process: their use of a shared downlink, without simulating them.
//!
//! Their share of the resource units is Gaussian around its mean, with an autocorrelation that falls
//! exponentially, and is limited to 0 and 1. They use it TTI by TTI or unit by unit ([`Grain`]). Both depend
//! only on the slot index, so the traffic of the simulated UEs does not change them.
//!
//! Retransmissions of the simulated UEs take precedence over the load. Left out: other UEs that yield when
//! the scheduler prefers a simulated UE, and their load on the uplink.

use super::reception::Draws;
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::rng;
use crate::sinr::Slow;
use crate::time::Duration;
use crate::units::Probability;

parameters! {
    /// Load of other UEs on a shared downlink.
    pub struct Load {
        /// Mean share of the resource units used by other UEs.
        pub mean: Probability,
        /// Standard deviation of that share over time, before it is limited to 0 and 100 %.
        pub sd: Probability,
        /// Time after which the autocorrelation of the share is 1/e.
        pub decorrelation: Duration = Duration::from_secs(2),
        /// Whether other UEs use whole slots, or a part of each slot.
        pub grain: Grain,
    }

    /// Granularity of the load.
    pub enum Grain {
        /// Other UEs use a slot completely or not at all.
        #[default]
        Tti,
        /// Other UEs use some resource units (PRBs, codes) of every slot.
        Units,
    }
}

const MOST_MEAN: f64 = 0.95;
const MOST_SD: f64 = 0.5;
const SHORTEST: Duration = Duration::from_millis(100);

impl Load {
    /// Rejects a load that leaves no units.
    ///
    /// # Errors
    /// With the key below this table.
    pub(in crate::radio) fn validate(&self) -> Result<(), ScenarioError> {
        let error = |key: &str, message: String, hint: &str| Err(ScenarioError::new(key, message, hint));
        if self.mean.as_f64() > MOST_MEAN {
            let message = format!("{} leaves nothing for the simulated UEs", self.mean);
            return error("mean", message, "write at most \"95 %\", such as \"60 %\"");
        }
        if self.sd.as_f64() > MOST_SD {
            let message = format!("{} is no standard deviation of a share", self.sd);
            return error("sd", message, "write at most \"50 %\", such as \"20 %\"");
        }
        if self.decorrelation < SHORTEST {
            let message = format!("{} is faster than downloads come and go", self.decorrelation);
            return error("decorrelation", message, "write at least \"100 ms\"");
        }
        Ok(())
    }
}

/// The load of a cell during a run.
pub(super) struct Others {
    mean: f64,
    sd: f64,
    grain: Grain,
    slots_per_s: f64,
    share: Slow,
    draws: Draws,
}

impl Others {
    pub fn new(config: &Load, run_seed: u64, slots_per_s: f64) -> Self {
        Self {
            mean: config.mean.as_f64(),
            sd: config.sd.as_f64(),
            grain: config.grain,
            slots_per_s,
            share: Slow::new(config.decorrelation, rng::stream(run_seed, "downlink.load")),
            draws: Draws::new(rng::stream(run_seed, "downlink.load.slots")),
        }
    }

    /// Units of a slot used by other UEs, out of `units` in groups of `group`.
    pub fn units(&mut self, slot: u64, units: u32, group: u32) -> u32 {
        let share = (self.mean + self.sd * self.share.at(slot as f64 / self.slots_per_s)).clamp(0.0, 1.0);
        let draw = self.draws.at(slot);
        match self.grain {
            Grain::Tti if draw < share => units,
            Grain::Tti => 0,
            // The fraction of a group is taken in that fraction of the slots.
            Grain::Units => ((share * f64::from(units.div_ceil(group)) + draw) as u32 * group).min(units),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Load {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn others_take_their_share_on_average_in_slots_or_in_units() {
        for (grain, shares) in [("tti", &[0, 50][..]), ("units", &[28, 30, 32][..])] {
            let config = load(&format!("mean = \"60 %\"\ngrain = \"{grain}\""));
            let mut others = Others::new(&config, 1, 1000.0);
            let taken: Vec<u32> = (0..100_000).map(|slot| others.units(slot, 50, 2)).collect();
            let mean = taken.iter().map(|units| f64::from(*units)).sum::<f64>() / 100_000.0;
            // Four standard errors of whole slots: 4 * 50 * sqrt(0.24 / n).
            assert!((mean - 30.0).abs() < 0.31, "{grain}: {mean}");
            assert!(taken.iter().all(|units| shares.contains(units)), "{grain}");
        }
    }

    #[test]
    fn the_share_varies_by_its_deviation_and_depends_on_the_slot_alone() {
        let config = load("mean = \"50 %\"\nsd = \"15 %\"\ndecorrelation = \"1 s\"\ngrain = \"units\"");
        let mut others = Others::new(&config, 2, 1000.0);
        let taken: Vec<u32> = (0..2_000_000).map(|slot| others.units(slot, 100, 1)).collect();
        let mean = taken.iter().map(|units| f64::from(*units)).sum::<f64>() / 2e6;
        let variance = taken.iter().map(|units| libm::pow(f64::from(*units) - mean, 2.0)).sum::<f64>() / 2e6;
        // 2000 decorrelation times: the standard errors are about 0.5 and 0.4 units.
        assert!((mean - 50.0).abs() < 2.0 && (variance.sqrt() - 15.0).abs() < 1.6, "{mean} {variance}");
        let mut back = Others::new(&config, 2, 1000.0);
        for slot in [1_999_999, 5, 700_000, 700_001, 0] {
            assert_eq!(back.units(slot, 100, 1), taken[slot as usize]);
        }
    }

    #[test]
    fn a_load_that_leaves_nothing_is_refused() {
        let refused = |text: &str| load(text).validate().unwrap_err().to_string();
        let message = "leaves nothing for the simulated UEs; write at most \"95 %\", such as \"60 %\"";
        assert!(refused("mean = \"96 %\"").ends_with(message));
        assert!(refused("sd = \"60 %\"").starts_with("sd: "));
        assert!(refused("decorrelation = \"1 ms\"").starts_with("decorrelation: "));
    }
}
