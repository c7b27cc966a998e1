//! Proportional fair: serves the user whose current rate is highest relative to its recent throughput.
//!
//! ```text
//! served:     argmax R_i / T_i             among the users that wait and have a rate
//! each slot:  T_i <- (1 - 1/tc) T_i + R_i / tc      R_i the rate served, 0 if not
//! ```
//!
//! Sources: Jalali, Padovani and Pankaj, "Data throughput of CDMA-HDR", VTC 2000; \[chan2002\] 6.4 (tc = 1000 slots of
//! 1xEV-DO). HSDPA and LTE average over 100 ms: ns-3's `PfFfMacScheduler` has 99 TTIs of LTE, TU Wien's LTE
//! system-level simulator 25. A longer mean causes longer gaps: a user that returns after a pause gets all slots until
//! its mean has caught up with the others', 0.7 tc against one user of equal rate. ASSUMED: T_i starts at 1 bit/s and
//! never drops below it, so a pause of hours leaves a finite preference; among users with equal R_i / T_i, the lowest
//! T_i is served, then the lowest index.

use super::{Component, Scheduler};
use crate::error::ScenarioError;
use crate::registry::parameters;

parameters! {
    /// Serves the user with the highest rate relative to its recent mean throughput.
    pub struct Config {
        /// Time constant of the mean throughput (tc), slots; if absent 1000 (1xEV-DO), 50 (HSDPA) or 100 (LTE).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub window: Option<u32>,
    }
}

impl Component for Config {
    fn build(&self, users: usize, window: u32) -> Box<dyn Scheduler> {
        let window = f64::from(self.window.unwrap_or(window));
        let mut kept = [1.0; AT_ONCE];
        for slots in 1..AT_ONCE {
            kept[slots] = kept[slots - 1] * (1.0 - 1.0 / window);
        }
        Box::new(ProportionalFair { kept, throughputs: vec![LEAST; users], before: vec![LEAST; users] })
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.window == Some(0) {
            let hint = "write at least 1, such as 1000";
            return Err(ScenarioError::new("window", "a mean over no slot", hint));
        }
        Ok(())
    }
}

/// The lowest mean throughput, bit/s.
const LEAST: f64 = 1.0;

/// A power of 1 - 1/tc up to here is looked up.
const AT_ONCE: usize = 64;

struct ProportionalFair {
    /// Share of a mean throughput that is left after this many slots.
    kept: [f64; AT_ONCE],
    /// T_i, bit/s.
    throughputs: Vec<f64>,
    /// T_i before the slots that passed last.
    before: Vec<f64>,
}

impl Scheduler for ProportionalFair {
    fn choose(&mut self, rates: &[f64]) -> Option<usize> {
        // Starts from a rate of 0 at the least mean, so a user without a rate is never better.
        let (mut best, mut best_rate, mut best_throughput) = (None, 0.0, LEAST);
        for (user, (&rate, &throughput)) in rates.iter().zip(&self.throughputs).enumerate() {
            // R_i / T_i compared without division.
            let (mine, others) = (rate * best_throughput, best_rate * throughput);
            if mine > others || (mine >= others && throughput < best_throughput) {
                (best, best_rate, best_throughput) = (Some(user), rate, throughput);
            }
        }
        best
    }

    fn handle_slots(&mut self, slots: u64, served: &[(usize, f64)]) {
        let kept = usize::try_from(slots).ok().and_then(|slots| self.kept.get(slots).copied());
        let kept = kept.unwrap_or_else(|| libm::pow(self.kept[1], slots as f64));
        // Updates all users alike, so it is vectorised.
        std::mem::swap(&mut self.throughputs, &mut self.before);
        for (throughput, before) in self.throughputs.iter_mut().zip(&self.before) {
            *throughput = (before * kept).max(LEAST);
        }
        // The sum of a geometric series: `slots` slots at the same rate.
        for &(user, rate) in served {
            self.throughputs[user] = self.before[user] * kept + rate * (1.0 - kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fading::{self, BLOCK, Fading, jakes};
    use crate::rng;
    use crate::units::Frequency;

    #[test]
    fn the_rate_counts_in_proportion_to_what_was_had() {
        let mut scheduler = Config { window: Some(4) }.build(2, 1000);
        // Equal so far: the higher rate, then the lower number.
        assert_eq!(scheduler.choose(&[100.0, 200.0]), Some(1));
        assert_eq!(scheduler.choose(&[100.0, 100.0]), Some(0));
        // T becomes 0.75 + 1000/4 = 250.75, and 1, the least: 250.75 times the rate is needed to be preferred.
        scheduler.handle_slots(1, &[(0, 1000.0)]);
        assert_eq!(scheduler.choose(&[1002.0, 4.0]), Some(1));
        assert_eq!(scheduler.choose(&[1004.0, 4.0]), Some(0));
        // Equal in proportion: the one that has had less.
        assert_eq!(scheduler.choose(&[1003.0, 4.0]), Some(1));
        assert_eq!(scheduler.choose(&[0.0, 0.0]), None);
        assert_eq!(scheduler.choose(&[5.0, 0.0]), Some(0));
    }

    #[test]
    fn slots_at_once_are_slots_one_by_one() {
        let mut at_once = Config::default().build(2, 7);
        let mut one_by_one = Config { window: Some(7) }.build(2, 1000);
        for (slots, served) in
            [(3, &[(0, 5000.0)][..]), (16, &[(1, 900.0)]), (70, &[(0, 80_000.0), (1, 10.0)]), (20, &[])]
        {
            at_once.handle_slots(slots, served);
            (0..slots).for_each(|_| one_by_one.handle_slots(1, served));
        }
        // Both now require the same ratio of rates, to 1e-9.
        let turns = |scheduler: &mut Box<dyn Scheduler>| {
            let (mut low, mut high) = (1e-9, 1e9);
            for _ in 0..100 {
                let middle = libm::sqrt(low * high);
                if scheduler.choose(&[middle, 1.0]) == Some(0) { high = middle } else { low = middle }
            }
            high
        };
        let (one, other) = (turns(&mut at_once), turns(&mut one_by_one));
        assert!((one / other - 1.0).abs() < 1e-9, "{one} {other}");
        assert!((1.0..1e9).contains(&one));
    }

    /// Users with independent fading of equal mean, rate proportional to the power: what each got, by scheduler.
    fn shares<const N: usize>(
        configs: [&super::super::Config; N],
        users: usize,
        slots: u64,
    ) -> [Vec<f64>; N] {
        // Fast compared with the window of the scheduler: a mean over 1000 slots has settled.
        let fading = fading::Config::Jakes(jakes::Config {
            doppler: Frequency::from_millihertz(200_000),
            ..jakes::Config::default()
        });
        let build = |user| fading.build(600.0, rng::stream(1, &format!("user{user}")));
        let mut fadings: Vec<Box<dyn Fading>> = (0..users).map(build).collect();
        let mut schedulers = configs.map(|config| (config.build(users, 1000), vec![0.0; users]));
        for slot in 0..slots {
            let (block, sample) = (slot / BLOCK as u64, (slot % BLOCK as u64) as usize);
            let gain = |one: &mut Box<dyn Fading>| f64::from(one.block(block)[sample]);
            let rates: Vec<f64> = fadings.iter_mut().map(|one| 1e6 * gain(one)).collect();
            for (scheduler, got) in &mut schedulers {
                let user = scheduler.choose(&rates).unwrap();
                got[user] += rates[user];
                scheduler.handle_slots(1, &[(user, rates[user])]);
            }
        }
        schedulers.map(|(_, got)| got)
    }

    fn jain(got: &[f64]) -> f64 {
        let (sum, squares) = (got.iter().sum::<f64>(), got.iter().map(|got| got * got).sum::<f64>());
        sum * sum / (got.len() as f64 * squares)
    }

    /// The mean of the largest of n exponential values is the harmonic number H_n; max C/I is equally good
    /// where users are alike, and round robin gains nothing.
    #[test]
    #[ignore = "slow"]
    fn alike_rayleigh_users_gain_the_harmonic_number_and_share_equally() {
        const SLOTS: u64 = 200_000;
        let fair = super::super::Config::default();
        let [highest, turns] = ["max_ci", "round_robin"]
            .map(|name| serde_json::from_value(serde_json::json!({ name: {} })).unwrap());
        for (users, harmonic) in
            [(2, 1.5), (4, 25.0 / 12.0), (8, 761.0 / 280.0), (16, 2_436_559.0 / 720_720.0)]
        {
            let [plain, all @ ..] = shares([&turns, &fair, &highest], users, SLOTS);
            let plain = plain.iter().sum::<f64>();
            assert!((plain / (1e6 * SLOTS as f64) - 1.0).abs() < 0.01, "{users} users, round robin: {plain}");
            for (config, got) in [&fair, &highest].into_iter().zip(all) {
                let gain = got.iter().sum::<f64>() / plain;
                let name = config.name();
                assert!((gain / harmonic - 1.0).abs() < 0.03, "{users} users, {name}: gain {gain}");
                assert!(jain(&got) > 0.999, "{users} users, {name}: {}", jain(&got));
            }
        }
    }
}
