//! The signal-to-interference-and-noise ratio (SINR) that a UE has in every slot of a shared downlink.
//!
//! ```text
//! SINR = mean + shadowing - blockage + 10 log10(gain of the fading),   in dB
//! ```
//!
//! The mean is a number, or a [series](Rows) over time for a UE moving through a cell. Between two lines of a series
//! the mean is interpolated linearly, or holds the first value ([`Between`]). [Shadowing](shadowing) varies over
//! seconds, as the UE passes obstacles; fading over milliseconds, as it moves through standing waves. A receiver that
//! combines several independent paths or antennas has the mean of their gains (`diversity`): a channel such as ITU
//! Vehicular A is like 2 to 4 of them.
//!
//! In an [outage](outages) a level replaces mean and shadowing.
//!
//! Everything is a function of the slot's index, computed in blocks of [`BLOCK`]: neither load nor scheduler change a
//! channel, and a UE that has nothing to receive costs nothing.
//!
//! Left out: selectivity in frequency, except for subbands of NR that fade on their own. Interference that varies with the load of other
//! cells: [`crate::mobility`].

mod blockage;
mod outages;
mod rows;
mod shadowing;
mod signal;

pub use outages::Outages;
pub(crate) use rows::Mean;
pub use rows::Rows;
pub use shadowing::{Shadowing, Slow};
pub use signal::Signal;

use crate::each::Each;
use crate::element::{Adopt, adopt};
use crate::error::ScenarioError;
use crate::fading::{self, BLOCK, Fading};
use crate::packet::Dir;
use crate::recording::Offset;
use crate::registry::parameters;
use crate::rng;
use crate::time::Duration;
use crate::units::{Decibel, Probability};
use blockage::Blockage;

parameters! {
    /// The SINR of the UEs of a cell.
    pub struct Config {
        /// Mean signal-to-interference-and-noise ratio: one for all UEs, or a list with one for each.
        #[schemars(extend("x-changes" = true))]
        pub mean_sinr: Each<Decibel> = Each::All(Decibel::from_thousandths(10_000)),
        /// The mean as a series in time, instead of mean_sinr.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub series: Option<SeriesConfig>,
        /// Slow variation around the mean, for each UE on its own.
        pub shadowing: ShadowingConfig,
        /// Times in which the line of sight between the UE and its cell is blocked; none if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub blockage: Option<BlockageConfig>,
        /// Fast variation around that, for each UE on its own.
        pub fading: fading::Config,
        /// Number of independent fadings, 1 to 8, whose mean gain a UE has.
        pub diversity: u8 = 1,
        /// Times with almost no reception, for each UE on its own; none if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub outages: Option<OutagesConfig>,
    }

    /// A mean SINR that is a series in time.
    pub struct SeriesConfig {
        /// Path of the series, from the folder of the scenario. A resolved scenario has its text instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub file: Option<String>,
        /// The series itself, instead of a file: CSV with the columns time_s and sinr_db, or time_s and for each UE a
        /// separate column, ue0_db, ue1_db and so on.
        pub rows: Rows,
        /// Between two lines: "line", a straight line from one value to the other; or "hold", the first value, as
        /// `channel.series` does.
        pub between: Between,
        /// Where in the series the run begins: a time, or "random", by the seed, which requires repeat. At its
        /// beginning if absent. UEs with columns of their own begin at the same offset.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub offset: Option<Offset>,
        /// Period after which the series restarts; it holds its last line if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub repeat: Option<Duration>,
    }

    /// Blockage, for each UE on its own and in both of its directions at the same times.
    pub struct BlockageConfig {
        /// Mean time from the end of one blockage to the beginning of the next, exponential.
        pub every: Duration = Duration::from_secs(5),
        /// Mean duration of a blockage, lognormal.
        pub lasts: Duration = Duration::from_millis(280),
        /// By how much the SINR is lower.
        pub depth: Decibel = Decibel::from_thousandths(25_000),
        /// How long the SINR takes to fall, and to rise again, within the blockage.
        pub ramp: Duration = Duration::from_millis(60),
    }

    /// The mean SINR between two lines of a series.
    pub enum Between {
        /// On a straight line from one value to the next.
        #[default]
        Line,
        /// The value of the line before.
        Hold,
    }

    /// Shadowing with a lognormal law.
    pub struct ShadowingConfig {
        /// Standard deviation; without shadowing 0 dB.
        pub sd: Decibel,
        /// Time after which the autocorrelation is 1/e: decorrelation distance divided by speed.
        pub decorrelation: Duration = Duration::from_secs(10),
        /// Correlation with the shadowing of the UE's other direction, which has the same values of `shared` and
        /// `decorrelation` in its table.
        pub shared: Probability,
    }

    /// Outages of reception, in episodes.
    pub struct OutagesConfig {
        /// Mean number of outages per minute.
        pub per_minute: f64 = 1.0,
        /// Median length of an outage.
        pub median: Duration = Duration::from_secs(1),
        /// Standard deviation of the natural logarithm of the length.
        pub log_sd: f64 = 0.5,
        /// Probability that another outage follows within the episode.
        pub again: Probability,
        /// Mean time between two outages of an episode.
        pub calm: Duration = Duration::from_secs(1),
        /// SINR during an outage, without fading.
        pub level: Decibel = Decibel::from_thousandths(-9000),
        /// Share of the episodes that both directions of the UE have at once: their tables of outages are equal then.
        pub shared: Probability,
    }
}

const MOST_DIVERSITY: u8 = 8;

impl Config {
    /// Refuses what no UE has, in a cell of so many UEs.
    ///
    /// # Errors
    /// With the key below this table.
    pub fn validate(&self, ues: u16) -> Result<(), ScenarioError> {
        self.mean_sinr.check("mean_sinr", usize::from(ues), "UEs")?;
        if let Some(series) = &self.series {
            series.validate(ues).map_err(|error| error.under("series"))?;
        }
        self.shadowing.validate().map_err(|error| error.under("shadowing"))?;
        if let Some(blockage) = &self.blockage {
            blockage.validate().map_err(|error| error.under("blockage"))?;
        }
        if !(1..=MOST_DIVERSITY).contains(&self.diversity) {
            let message = format!("a mean of {} fadings", self.diversity);
            return Err(ScenarioError::new("diversity", message, format!("write 1 to {MOST_DIVERSITY}")));
        }
        if let Some(outages) = &self.outages {
            outages.validate().map_err(|error| error.under("outages"))?;
        }
        self.fading.validate().map_err(|error| error.under("fading"))
    }

    /// Refuses what the directions of a UE cannot share: their processes would not be at the same times.
    ///
    /// # Errors
    /// With the key below the table of the uplink.
    pub fn check_shared(&self, uplink: &Self) -> Result<(), ScenarioError> {
        let hint = "write the values of the downlink, or remove shared from both";
        let is_shared = |one: Probability, other: Probability| one.as_f64().max(other.as_f64()) > 0.0;
        let (down, up) = (&self.shadowing, &uplink.shadowing);
        let both_have = down.sd.min(up.sd) > Decibel::default();
        if both_have
            && is_shared(down.shared, up.shared)
            && (down.shared, down.decorrelation) != (up.shared, up.decorrelation)
        {
            let message = "shared or decorrelation differ from those of the downlink";
            return Err(ScenarioError::new("shadowing.shared", message, hint));
        }
        match (&self.outages, &uplink.outages) {
            (Some(own), Some(other)) if own != other && is_shared(own.shared, other.shared) => Err(
                ScenarioError::new("outages.shared", "the outages differ from those of the downlink", hint),
            ),
            _ => Ok(()),
        }
    }

    /// How long a blockage lasts in the mean; zero if there is none.
    pub fn blocked(&self) -> Duration {
        self.blockage.as_ref().map_or(Duration::ZERO, |blockage| blockage.lasts)
    }
}

impl SeriesConfig {
    fn validate(&self, ues: u16) -> Result<(), ScenarioError> {
        if self.file.is_some() {
            return Err(ScenarioError::new("file", "was not read", "give the series itself, as rows"));
        }
        self.rows.check(ues)?;
        let last = self.rows.last();
        if self.repeat.is_some_and(|repeat| repeat <= last) {
            let message = format!("the last line of the series begins at {last}");
            return Err(ScenarioError::new("repeat", message, "write a later time, or remove the key"));
        }
        let hint = "write a time, or add repeat, the length of the series";
        self.offset.map_or(Ok(()), |offset| offset.validate(self.repeat.unwrap_or(last), self.repeat, hint))
    }

    /// How far into the series a UE begins.
    fn offset(&self, run_seed: u64, ue: u16) -> Duration {
        // Columns of several UEs were recorded together.
        let name = format!("ue{}", if self.rows.is_for_all() { ue } else { 0 });
        let period = self.repeat.unwrap_or_else(|| self.rows.last());
        self.offset.map_or(Duration::ZERO, |offset| offset.draw(period, run_seed, &name))
    }
}

/// The SINR of one UE.
pub struct Sinr {
    mean: Mean,
    /// RSRP at the UE, and its noise, dBm; used instead of the mean.
    signal: Option<(Signal, f64)>,
    shadowing: Option<Shadowing>,
    outages: Option<Outages>,
    blockage: Option<Blockage>,
    branches: Vec<Box<dyn Fading>>,
    slots_per_s: f64,
    block: [f32; BLOCK],
    number: Option<u64>,
}

/// Name of a random stream of a UE on a carrier; the first carrier has none in it.
pub(crate) fn stream_name(ue: u16, dir: Dir, carrier: u8, part: &str) -> String {
    match carrier {
        0 => format!("ue{ue}.{}.{part}", dir.name()),
        _ => format!("ue{ue}.{}.carrier{carrier}.{part}", dir.name()),
    }
}

/// A gain of -90 dB: fadings have lower ones for an instant, and no block is received at either.
const LEAST_GAIN: f32 = 1e-9;

impl Sinr {
    /// The SINR of a UE in a cell with valid parameters, in one direction, with this many slots per second.
    pub fn new(config: &Config, run_seed: u64, (ue, dir): (u16, Dir), slots_per_s: f64) -> Self {
        Self::on_carrier(config, run_seed, (ue, dir, 0), slots_per_s)
    }

    /// Like [`Self::new`], on a carrier of several: they fade independently, and have mean and shadowing in common.
    pub fn on_carrier(config: &Config, run_seed: u64, of: (u16, Dir, u8), slots_per_s: f64) -> Self {
        Self::on_subband(config, run_seed, (of, 0), slots_per_s)
    }

    /// Like [`Self::on_carrier`], on a subband of the carrier: they fade independently.
    pub fn on_subband(
        config: &Config,
        run_seed: u64,
        ((ue, dir, carrier), subband): ((u16, Dir, u8), u8),
        slots_per_s: f64,
    ) -> Self {
        let stream = |part: &str| rng::stream(run_seed, &stream_name(ue, dir, carrier, part));
        let of_subband = if subband > 0 { format!("subband{subband}.") } else { String::new() };
        let branch = |number| match number {
            0 => config.fading.build(slots_per_s, stream(&format!("{of_subband}fading"))),
            _ => config.fading.build(slots_per_s, stream(&format!("{of_subband}fading{number}"))),
        };
        let mean = match &config.series {
            Some(series) => series.rows.mean(ue, series.between, series.repeat, series.offset(run_seed, ue)),
            None => Mean::Constant(config.mean_sinr.of(usize::from(ue)).as_db()),
        };
        Self {
            mean,
            signal: None,
            shadowing: Shadowing::new(&config.shadowing, run_seed, (ue, dir)),
            outages: config.outages.as_ref().and_then(|own| Outages::new(own, run_seed, (ue, dir))),
            // Belongs to the UE, not to a direction.
            blockage: (config.blockage.as_ref())
                .map(|own| Blockage::new(own, rng::stream(run_seed, &format!("ue{ue}.blockage")))),
            branches: (0..config.diversity).map(branch).collect(),
            slots_per_s,
            block: [0.0; BLOCK],
            number: None,
        }
    }

    /// The same where the mean is this signal over the noise, dBm.
    #[must_use]
    pub fn of_signal(mut self, signal: Option<(Signal, f64)>) -> Self {
        self.signal = signal.or(self.signal);
        self
    }

    /// SINR of the slots of a block, dB, from slot `number * BLOCK` on. They depend on that number alone; following
    /// blocks one by one costs least.
    pub fn block(&mut self, number: u64) -> &[f32; BLOCK] {
        if self.number != Some(number) {
            self.fill(number);
            self.number = Some(number);
        }
        &self.block
    }

    /// Takes over the mean of a UE with other parameters, where shadowing and fading stay as they are, or these in another
    /// realisation. Returns whether anything differs.
    #[cold]
    pub fn adopt(&mut self, fresh: Self, how: Adopt) -> bool {
        if how == Adopt::Streams {
            let Self { shadowing, outages, blockage, branches, .. } = fresh;
            (self.shadowing, self.outages, self.blockage, self.branches) =
                (shadowing, outages, blockage, branches);
            self.number = None;
            return true;
        }
        let (Mean::Constant(own), Mean::Constant(fresh)) = (&mut self.mean, fresh.mean) else { return false };
        let differs = adopt(own, fresh);
        if differs {
            self.number = None;
        }
        differs
    }

    fn fill(&mut self, number: u64) {
        let mut gains = [0.0; BLOCK];
        for branch in &mut self.branches {
            gains.iter_mut().zip(branch.block(number)).for_each(|(sum, gain)| *sum += gain);
        }
        let share = 1.0 / self.branches.len() as f32;
        let fadings = gains.map(|gain| 10.0 * libm::log10f((gain * share).max(LEAST_GAIN)));
        if let (Mean::Constant(mean), None, None, None) =
            (&self.mean, &self.signal, &self.shadowing, &self.blockage)
        {
            let mean = *mean as f32;
            self.block = fadings.map(|fading| mean + fading);
            return self.interrupt(number, &fadings);
        }
        for (slot, (sinr, fading)) in (number * BLOCK as u64..).zip(self.block.iter_mut().zip(fadings)) {
            let time_s = slot as f64 / self.slots_per_s;
            let shadow = self.shadowing.as_mut().map_or(0.0, |shadowing| shadowing.at(time_s));
            let shadow = shadow - self.blockage.as_mut().map_or(0.0, |blockage| blockage.at(time_s));
            let mean = match &mut self.signal {
                None => self.mean.at(time_s),
                Some((signal, noise_dbm)) => signal.at(time_s) - *noise_dbm,
            };
            *sinr = (mean + shadow) as f32 + fading;
        }
        self.interrupt(number, &fadings);
    }

    /// In an outage its level replaces mean and shadowing.
    fn interrupt(&mut self, number: u64, fadings: &[f32; BLOCK]) {
        let Some(outages) = &mut self.outages else { return };
        for (slot, (sinr, fading)) in (number * BLOCK as u64..).zip(self.block.iter_mut().zip(fadings)) {
            if let Some(level) = outages.level_at(slot as f64 / self.slots_per_s) {
                *sinr = level + fading;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVE: &str = "time_s,ue0_db,ue1_db\n0,20,0\n10,10,0\n12,-5,3\n";

    fn config(text: &str) -> Config {
        toml::from_str(text).unwrap()
    }

    fn still() -> Config {
        config("fading.none = {}")
    }

    fn series(rows: &str) -> Config {
        let series = SeriesConfig { rows: rows.parse().unwrap(), ..SeriesConfig::default() };
        Config { series: Some(series), ..still() }
    }

    /// At slots of 1 ms.
    fn sinr(config: &Config, ue: u16) -> Sinr {
        config.validate(2).unwrap();
        Sinr::new(config, 1, (ue, Dir::Downlink), 1000.0)
    }

    fn at(sinr: &mut Sinr, slot: u64) -> f32 {
        sinr.block(slot / BLOCK as u64)[(slot % BLOCK as u64) as usize]
    }

    fn error(config: &Config, ues: u16) -> String {
        config.validate(ues).unwrap_err().to_string()
    }

    #[test]
    fn a_block_depends_on_its_number_alone() {
        let all = Config {
            shadowing: config("shadowing = { sd = \"8 dB\", decorrelation = \"200 ms\" }").shadowing,
            fading: fading::Config::default(),
            diversity: 2,
            ..series(DRIVE)
        };
        let mut in_order = sinr(&all, 0);
        let blocks: Vec<[f32; BLOCK]> = (0..500).map(|number| *in_order.block(number)).collect();
        let mut back = sinr(&all, 0);
        for number in (0..500).rev().step_by(3).chain([7, 499, 8, 8]) {
            assert_eq!(*back.block(number as u64), blocks[number], "{number}");
        }
        assert_ne!(*sinr(&all, 1).block(0), blocks[0]);
        assert_ne!(*Sinr::new(&all, 2, (0, Dir::Downlink), 1000.0).block(3), blocks[3]);
    }

    #[test]
    fn without_fading_the_sinr_is_the_mean_of_the_ue() {
        let each = Config { mean_sinr: config("mean_sinr = [\"3 dB\", \"-7.5 dB\"]").mean_sinr, ..still() };
        assert_eq!(*sinr(&each, 0).block(9), [3.0; BLOCK]);
        assert_eq!(*sinr(&each, 1).block(9), [-7.5; BLOCK]);
        assert_eq!(*sinr(&still(), 1).block(0), [10.0; BLOCK]);
    }

    #[test]
    fn a_series_lies_on_straight_lines_and_holds_its_last_value() {
        let (mut one, mut other) = (sinr(&series(DRIVE), 0), sinr(&series(DRIVE), 1));
        let by_hand =
            [(0, 20.0, 0.0), (2500, 17.5, 0.0), (10_000, 10.0, 0.0), (11_000, 2.5, 1.5), (99_999, -5.0, 3.0)];
        for (slot, first, second) in by_hand {
            assert_eq!((at(&mut one, slot), at(&mut other, slot)), (first, second), "slot {slot}");
        }
        let mut again = series("time_s,sinr_db\n0,0\n1,4\n");
        again.series.as_mut().unwrap().repeat = Some(Duration::from_secs(2));
        let mut again = sinr(&again, 1);
        assert_eq!([500, 1500, 2500, 3999, 4000].map(|slot| at(&mut again, slot)), [2.0, 4.0, 2.0, 4.0, 0.0]);
    }

    #[test]
    fn a_series_begins_at_its_offset_and_wraps_around() {
        let mut later = series("time_s,sinr_db\n0,0\n1,4\n");
        let own = later.series.as_mut().unwrap();
        (own.repeat, own.offset) = (Some(Duration::from_secs(2)), Some("500 ms".parse().unwrap()));
        let mut later = sinr(&later, 1);
        assert_eq!(
            [0, 250, 500, 1499, 1500, 2000].map(|slot| at(&mut later, slot)),
            [2.0, 3.0, 4.0, 4.0, 0.0, 2.0]
        );
    }

    #[test]
    fn columns_that_were_recorded_together_begin_together() {
        let random = |rows: &str, seed, ue| {
            let mut config = series(rows);
            let own = config.series.as_mut().unwrap();
            (own.repeat, own.offset) = (Some(Duration::from_secs(100)), Some(Offset::Random));
            config.validate(2).unwrap();
            at(&mut Sinr::new(&config, seed, (ue, Dir::Downlink), 1000.0), 0)
        };
        let (joint, one) = ("time_s,ue0_db,ue1_db\n0,0,0\n99,99,99\n", "time_s,sinr_db\n0,0\n99,99\n");
        assert_eq!(random(joint, 5, 0), random(joint, 5, 1));
        assert_eq!(random(one, 5, 0), random(joint, 5, 0));
        assert_ne!(random(one, 5, 0), random(one, 5, 1));
        assert_ne!(random(one, 5, 0), random(one, 6, 0));
    }

    /// A dip of one row lasts from its row to the next, and no longer.
    #[test]
    fn a_series_may_hold_each_value_until_the_next_line() {
        let mut held = series("time_s,sinr_db\n0,20\n60,-5\n60.6,20\n");
        held.series.as_mut().unwrap().between = Between::Hold;
        let mut held = sinr(&held, 0);
        let dips = [0, 30_000, 59_999, 60_000, 60_599, 60_600, 90_000].map(|slot| at(&mut held, slot));
        assert_eq!(dips, [20.0, 20.0, 20.0, -5.0, -5.0, 20.0, 20.0]);
        let written: SeriesConfig = toml::from_str("between = \"hold\"").unwrap();
        assert_eq!((written.between, SeriesConfig::default().between), (Between::Hold, Between::Line));
    }

    /// The mean of n independent gains has the mean of one and an n-th of its variance, which is 1.
    #[test]
    fn diversity_is_the_mean_of_independent_fadings() {
        for diversity in [1, 2, 4] {
            let fading = config("fading.jakes.doppler = \"500 Hz\"\nmean_sinr = \"0 dB\"");
            let mut sinr = sinr(&Config { diversity, ..fading }, 0);
            let blocks = 6000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for number in 0..blocks {
                for sinr_db in *sinr.block(number) {
                    let gain = libm::pow(10.0, f64::from(sinr_db) / 10.0);
                    (sum, squares) = (sum + gain, squares + gain * gain);
                }
            }
            let n = (blocks as usize * BLOCK) as f64;
            let (mean, variance) = (sum / n, squares / n - (sum / n) * (sum / n));
            assert!((mean - 1.0).abs() < 0.02, "{diversity}: {mean}");
            assert!((variance * f64::from(diversity) - 1.0).abs() < 0.06, "{diversity}: {variance}");
        }
    }

    #[test]
    fn shadowing_is_added() {
        let shadowed = Config { shadowing: config("shadowing.sd = \"6 dB\"").shadowing, ..still() };
        let mut sinr = sinr(&shadowed, 0);
        let sinrs: Vec<f32> = (0..2000).map(|k| at(&mut sinr, k * 40_000)).collect();
        let mean = sinrs.iter().sum::<f32>() / 2000.0;
        let sd = (sinrs.iter().map(|one| (one - mean) * (one - mean)).sum::<f32>() / 2000.0).sqrt();
        // Every fourth decorrelation time: four standard errors of the mean and of the deviation.
        assert!((mean - 10.0).abs() < 0.6 && (sd - 6.0).abs() < 0.4, "{mean} {sd}");
    }

    #[test]
    fn an_outage_replaces_mean_and_shadowing() {
        let outages = "outages = { per_minute = 6, median = \"2 s\", level = \"-12 dB\" }\n";
        let text = format!("{outages}shadowing.sd = \"1 dB\"\nmean_sinr = \"30 dB\"\nfading.none = {{}}");
        let mut sinr = sinr(&config(&text), 0);
        let sinrs: Vec<f32> = (0..600_000).map(|slot| at(&mut sinr, slot)).collect();
        let share = sinrs.iter().filter(|one| **one == -12.0).count() as f64 / 600_000.0;
        assert!(sinrs.iter().all(|one| *one == -12.0 || *one > 20.0));
        // 60 outages of 2.27 s on average in 600 s: 23 % of the time, with a standard error of about 3 %.
        assert!((share - 0.227).abs() < 0.12, "{share}");
    }

    #[test]
    fn directions_share_only_equal_processes() {
        let shadowing = |text: &str| config(&format!("shadowing = {{ sd = \"6 dB\", {text} }}"));
        let down = shadowing("shared = \"60 %\"");
        let refused = |up: &Config| down.check_shared(up).map_err(|error| error.to_string());
        assert_eq!(
            refused(&Config { mean_sinr: config("mean_sinr = \"3 dB\"").mean_sinr, ..down.clone() }),
            Ok(())
        );
        assert_eq!(refused(&config("")), Ok(()));
        assert_eq!(
            refused(&shadowing("shared = \"60 %\", decorrelation = \"3 s\"")).unwrap_err(),
            "shadowing.shared: shared or decorrelation differ from those of the downlink; write the values of the \
             downlink, or remove shared from both"
        );
        let outages = |text: &str| config(&format!("outages = {{ {text} }}"));
        let pair = [outages("shared = \"75 %\""), outages("shared = \"75 %\", per_minute = 2")];
        let error = pair[0].check_shared(&pair[1]).unwrap_err().to_string();
        assert!(
            error.starts_with("outages.shared: the outages differ from those of the downlink"),
            "{error}"
        );
        assert!(pair[0].check_shared(&pair[0]).is_ok());
    }

    #[test]
    fn what_no_ue_has_is_refused() {
        let list = config("mean_sinr = [\"3 dB\", \"-1 dB\", \"0 dB\"]");
        assert_eq!(
            error(&list, 4),
            "mean_sinr: mean_sinr has 3 values for 4 UEs; write one value, or a list of 4"
        );
        assert_eq!(
            error(&series(DRIVE), 3),
            "series.rows: the series has columns for 2 UEs, and the cell has 3; write a column for each UE, or \
             sinr_db for all"
        );
        let read = config("series.file = \"drive.csv\"");
        assert_eq!(error(&read, 1), "series.file: was not read; give the series itself, as rows");
        let short = config("series.repeat = \"0 s\"");
        assert_eq!(
            error(&short, 1),
            "series.repeat: the last line of the series begins at 0 s; write a later time, or remove the key"
        );
        for (text, expected) in [
            ("shadowing.sd = \"-1 dB\"", "shadowing.sd: -1 dB is no standard deviation of shadowing"),
            (
                "shadowing.decorrelation = \"1 ms\"",
                "shadowing.decorrelation: 1 ms is faster than obstacles pass",
            ),
            ("diversity = 0", "diversity: a mean of 0 fadings; write 1 to 8"),
            ("fading.jakes.oscillators = 1", "fading.jakes.oscillators: 1 oscillators"),
        ] {
            assert!(error(&config(text), 1).starts_with(expected), "{}", error(&config(text), 1));
        }
    }

    #[test]
    fn a_series_that_is_wrong_names_its_line() {
        let wrong = |text: &str| text.parse::<Rows>().unwrap_err().to_string();
        for (text, expected) in [
            ("", "the series is empty; write a first line of time_s and sinr_db"),
            ("0,3", "line 1: unknown column '0'"),
            ("time_s", "line 1: no column sinr_db"),
            ("sinr_db\n3", "line 1: no column time_s"),
            ("time_s,ue1_db\n0,3", "line 1: unknown column 'ue1_db'"),
            ("time_s,ue0_db,ue0_db\n0,3,3", "line 1: column ue0_db twice"),
            ("time_s,ue0_db,sinr_db\n0,3,3", "line 1: a column for all UEs and columns for each"),
            ("time_s,sinr_db", "the series has no line but the names of its columns"),
            ("time_s,sinr_db\n1,3", "line 2: the series begins at 1 s"),
            ("time_s,sinr_db\n0,3\n0,4", "line 3: 0 s is not after 0 s"),
            ("time_s,sinr_db\n0,3\n\n1,4", "line 3: is empty"),
            ("time_s,sinr_db\n0,3\n1", "line 3: not 2 fields but 1"),
            (
                "time_s,sinr_db\n0,NaN",
                "line 2: 'NaN' in column sinr_db; write a ratio in dB from -100 to 100",
            ),
            ("time_s,sinr_db\n0,300", "line 2: '300' in column sinr_db"),
        ] {
            assert!(wrong(text).starts_with(expected), "{text:?}: {}", wrong(text));
        }
    }
}
