//! The signal-to-noise ratio of a terminal in each slot, and the rate that it requests.
//!
//! The terminal requests the highest rate whose threshold its ratio in the slot meets (data rate control,
//! DRC), or none. Left out: the delay of some slots between a request and its use, and errors in requests.

use super::DownlinkConfig;
use crate::fading::{self, BLOCK, Fading};
use crate::packet::Dir;
use crate::radio::phy::evdo::PER_SECOND;
use crate::radio::phy::evdo::{PhysicalPacket, RATES};
use crate::sinr::{Outages, Shadowing};
use crate::units::Decibel;
use fearless_simd::{Level, Simd, dispatch, f32x16, prelude::*, u8x32, u32x16};
use serde_json::{Map, Value, json};
use std::ops::Range;

/// Slow variation of a UE's gain, in addition to fading: shadowing and outages.
pub(super) struct Slow {
    shadowing: Option<Shadowing>,
    outages: Option<Outages>,
    mean_db: f64,
}

impl Slow {
    /// Creates the slow variation of a UE, or `None` if it has none.
    pub fn new(config: &DownlinkConfig, mean_sinr: Decibel, run_seed: u64, ue: u16) -> Option<Self> {
        let of = (ue, Dir::Downlink);
        let shadowing = Shadowing::new(&config.shadowing, run_seed, of);
        let outages = config.outages.as_ref().and_then(|own| Outages::new(own, run_seed, of));
        let has_any = shadowing.is_some() || outages.is_some();
        has_any.then(|| Self { shadowing, outages, mean_db: mean_sinr.as_db() })
    }

    /// Multiplies the gains of the slots of a block by shadowing and outages, relative to the mean.
    #[cold]
    fn apply(&mut self, block: u64, gains: &mut [f32; BLOCK]) {
        for (slot, gain) in (block * BLOCK as u64..).zip(gains) {
            let time_s = slot as f64 / PER_SECOND as f64;
            let shadow = self.shadowing.as_mut().map_or(0.0, |shadowing| shadowing.at(time_s));
            let level = self.outages.as_mut().and_then(|outages| outages.level_at(time_s));
            let db = level.map_or(shadow, |level| f64::from(level) - self.mean_db);
            *gain *= libm::pow(10.0, db / 10.0) as f32;
        }
    }
}

/// The receiver of one UE.
pub(super) struct Terminal {
    fading: Box<dyn Fading>,
    slow: Option<Slow>,
    /// Physical-layer packets by rate.
    packets: &'static [PhysicalPacket; RATES],
    /// Minimum gain for which each rate is requested.
    thresholds: [f32; RATES],
    /// For each slot of the current block, the number of thresholds met; 0 for no rate.
    requests: [u8; BLOCK],
    block: u64,
    /// First slot whose request is not counted yet; `None` while the UE has no data queued.
    next: Option<u64>,
    /// Number of slots by request, counted while data is queued.
    histogram: [u64; RATES + 1],
}

impl Terminal {
    pub fn new(
        (fading, slow): (Box<dyn Fading>, Option<Slow>),
        mean_sinr: Decibel,
        thresholds: &[Decibel; RATES],
        packets: &'static [PhysicalPacket; RATES],
    ) -> Self {
        Self {
            fading,
            slow,
            packets,
            thresholds: gains(mean_sinr, thresholds).map(|gain| gain as f32),
            requests: [0; BLOCK],
            block: u64::MAX,
            next: None,
            histogram: [0; RATES + 1],
        }
    }

    /// Rate requested in a slot with queued data, if any rate is possible.
    #[inline]
    pub fn request(&mut self, slot: u64) -> Option<&'static PhysicalPacket> {
        if slot / BLOCK as u64 != self.block || self.next.is_none() {
            self.enter_block(slot);
        }
        let met = self.requests[(slot % BLOCK as u64) as usize];
        usize::from(met).checked_sub(1).map(|rate| &self.packets[rate])
    }

    /// Stops counting: no data is queued any more.
    pub fn rest(&mut self, slot: u64) {
        dispatch!(Level::new(), simd => self.count_until(simd, slot));
        self.next = None;
    }

    #[inline(never)]
    fn enter_block(&mut self, slot: u64) {
        dispatch!(Level::new(), simd => {
            self.count_until(simd, slot);
            self.seek(simd, slot / BLOCK as u64);
        });
        self.next = Some(slot);
    }

    /// Counts requests up to a slot.
    #[inline(always)]
    fn count_until<S: Simd>(&mut self, simd: S, slot: u64) {
        let mut next = self.next.unwrap_or(slot);
        while next < slot {
            self.seek(simd, next / BLOCK as u64);
            let end = slot.min((self.block + 1) * BLOCK as u64);
            let first = (next % BLOCK as u64) as usize;
            self.count(simd, first..first + (end - next) as usize);
            next = end;
        }
    }

    /// Counts the requests of these slots of the block.
    #[inline(always)]
    fn count<S: Simd>(&mut self, simd: S, slots: Range<usize>) {
        let requests = u8x32::simd_from(simd, self.requests);
        let counted = (1_u64 << slots.end) - (1 << slots.start);
        for (count, met) in self.histogram.iter_mut().zip(0..) {
            let alike = requests.simd_eq(u8x32::splat(simd, met)).to_bitmask();
            *count += u64::from((alike & counted).count_ones());
        }
    }

    #[inline(always)]
    fn seek<S: Simd>(&mut self, simd: S, block: u64) {
        if block == self.block {
            return;
        }
        self.block = block;
        let mut gains;
        let halves = match &mut self.slow {
            None => self.fading.block(block).as_chunks().0,
            Some(slow) => {
                gains = *self.fading.block(block);
                slow.apply(block, &mut gains);
                gains.as_chunks().0
            }
        };
        for (requests, half) in self.requests.as_chunks_mut().0.iter_mut().zip(halves) {
            let sixteen = f32x16::simd_from(simd, *half);
            let mut met = u32x16::splat(simd, 0);
            for threshold in self.thresholds {
                met = sixteen.simd_ge(threshold).select(met + 1, met);
            }
            *requests = <[u32; 16]>::from(met).map(|met| met as u8);
        }
    }

    /// Share of slots per requested rate, among slots with queued data.
    pub fn report(&self) -> Value {
        let slots = self.histogram.iter().sum::<u64>().max(1);
        let names = std::iter::once("none").chain(self.packets.iter().map(|packet| packet.name));
        let shares = names.zip(&self.histogram);
        let shares: Map<_, _> =
            shares.map(|(name, count)| (name.to_owned(), json!(*count as f64 / slots as f64))).collect();
        shares.into()
    }
}

/// Minimum gain that meets each threshold.
fn gains(mean_sinr: Decibel, thresholds: &[Decibel; RATES]) -> [f64; RATES] {
    let mean = mean_sinr.as_ratio();
    thresholds.map(|threshold| threshold.as_ratio() / mean)
}

/// The probability of each request, none first, with lognormal shadowing.
pub(super) fn probabilities(
    fading: &fading::Config,
    mean_sinr: Decibel,
    shadowing_sd: Decibel,
    thresholds: &[Decibel; RATES],
) -> [f64; RATES + 1] {
    let gains = gains(mean_sinr, thresholds);
    let met = if shadowing_sd <= Decibel::default() {
        gains.map(|gain| fading.share_from(gain))
    } else {
        let shadows = normal_grid(shadowing_sd.as_db());
        gains.map(|gain| {
            let share =
                |(db, weight): &(f64, f64)| weight * fading.share_from(gain / libm::pow(10.0, db / 10.0));
            shadows.iter().map(share).sum()
        })
    };
    let at_least = |rate: usize| if rate == 0 { 1.0 } else { met[rate - 1] };
    std::array::from_fn(|rate| at_least(rate) - met.get(rate).copied().unwrap_or(0.0))
}

/// A normal law of mean 0 as values with weights, over four standard deviations to either side.
fn normal_grid(sd: f64) -> Vec<(f64, f64)> {
    let weights: Vec<f64> = (-40..=40).map(|tenth| libm::exp(-f64::from(tenth * tenth) / 200.0)).collect();
    let sum: f64 = weights.iter().sum();
    (-40..=40).zip(weights).map(|(tenth, weight)| (sd * f64::from(tenth) / 10.0, weight / sum)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radio::phy::evdo::{PHYSICAL_PACKETS, THRESHOLDS};
    use crate::rng::stream;

    fn sinr(thousandths: i32) -> Decibel {
        Decibel::from_thousandths(thousandths)
    }

    fn still() -> fading::Config {
        fading::Config::None(fading::none::Config::default())
    }

    fn terminal(name: &str, fading: &fading::Config, mean_sinr: Decibel) -> Terminal {
        Terminal::new((fading.build(600.0, stream(1, name)), None), mean_sinr, &THRESHOLDS, &PHYSICAL_PACKETS)
    }

    #[test]
    fn a_channel_that_stands_still_asks_for_the_highest_rate_that_it_meets() {
        let rate = |thousandths| {
            let mut terminal = terminal("still", &still(), sinr(thousandths));
            terminal.request(77).map(|packet| packet.rate_bps)
        };
        assert_eq!(
            [-12_501, -12_500, 0, 2999, 3001, 20_000].map(rate),
            [None, Some(38_400), Some(614_400), Some(921_600), Some(1_228_800), Some(2_457_600)]
        );
    }

    /// What an exponential law of mean 2.4 dB gives, by an independent computation; \[chan2002\] Table 4, whose
    /// sum is 0.972, differs by at most 0.008.
    #[test]
    fn probabilities_are_those_of_an_exponential_law() {
        let by_hand = [0.032, 0.031, 0.016, 0.043, 0.023, 0.061, 0.162, 0.173, 0.143, 0.268, 0.043, 0.006];
        let shares = probabilities(&fading::Config::default(), sinr(2400), sinr(0), &THRESHOLDS);
        for (share, expected) in shares.iter().zip(by_hand) {
            assert!((share - expected).abs() < 0.0006, "{shares:?}");
        }
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let standing = probabilities(&still(), sinr(2400), sinr(0), &THRESHOLDS);
        assert!(standing.iter().enumerate().all(|(rate, share)| *share == f64::from(u8::from(rate == 8))));
    }

    #[test]
    fn requests_are_counted_while_something_waits() {
        let mut terminal = terminal("terminal", &fading::Config::default(), sinr(2400));
        let mut by_hand = [0_u64; RATES + 1];
        for waiting in [10..95, 300..301, 1000..1100] {
            for slot in waiting.clone() {
                let request = terminal.request(slot);
                let index = PHYSICAL_PACKETS.iter().position(|packet| Some(packet) == request);
                by_hand[index.map_or(0, |rate| rate + 1)] += 1;
            }
            terminal.rest(waiting.end);
        }
        assert_eq!(terminal.histogram, by_hand);
    }

    /// The rates of one terminal over a long time, against the exponential law.
    #[test]
    #[ignore = "slow"]
    fn rates_come_as_often_as_the_law_says() {
        let mut terminal = terminal("long", &fading::Config::default(), sinr(2400));
        let slots = 3_000_000;
        terminal.request(0);
        terminal.rest(slots);
        // The finite sum of sinusoids is off by at most 0.0027 from above and from below.
        let law = probabilities(&fading::Config::default(), sinr(2400), sinr(0), &THRESHOLDS);
        for (count, expected) in terminal.histogram.iter().zip(law) {
            let share = *count as f64 / slots as f64;
            assert!((share - expected).abs() < 0.003, "{share} and not {expected}");
        }
    }

    /// Shadowing and outages of a UE without fading: the shares of requests against the normal law.
    #[test]
    #[ignore = "slow"]
    fn shadowing_and_outages_change_what_is_asked_for() {
        let shadowing = "shadowing = { sd = \"6 dB\", decorrelation = \"1 s\" }\n";
        let config =
            |text: &str| toml::from_str::<DownlinkConfig>(&format!("{text}fading.none = {{}}")).unwrap();
        let shares = |of: &DownlinkConfig| {
            let slow = Slow::new(of, sinr(2400), 1, 0);
            let fading = of.fading.build(600.0, stream(1, "still"));
            let mut terminal = Terminal::new((fading, slow), sinr(2400), &THRESHOLDS, &PHYSICAL_PACKETS);
            let slots = 1_200_000;
            terminal.request(0);
            terminal.rest(slots);
            terminal.histogram.map(|count| count as f64 / slots as f64)
        };
        let shadowed = config(shadowing);
        let law = shadowed.probabilities(sinr(2400));
        // The highest rate needs 9.3 dB, 1.15 standard deviations above the mean: 12.5 % of the normal law.
        assert!((law[RATES] - 0.125).abs() < 0.002, "{law:?}");
        for (share, expected) in shares(&shadowed).iter().zip(law) {
            // 2000 decorrelation times.
            assert!(
                (share - expected).abs() < 4.0 * (expected / 1000.0).sqrt() + 0.001,
                "{share} {expected}"
            );
        }
        let outages =
            config("outages = { per_minute = 6, median = \"2 s\", log_sd = 0.0, level = \"-30 dB\" }\n");
        let none = shares(&outages)[0];
        // 200 outages.
        assert!((none - 0.2).abs() < 0.06, "{none}");
        assert!(Slow::new(&config(""), sinr(2400), 1, 0).is_none());
    }
}
