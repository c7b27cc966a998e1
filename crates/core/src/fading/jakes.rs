//! Rayleigh fading after Clarke and Jakes: what a moving receiver without line of sight hears of a carrier.
//!
//! A sum of sinusoids with random phases, in the form of Zheng and Xiao ("Improved models for the generation
//! of multiple uncorrelated Rayleigh fading waveforms", IEEE Communications Letters 6(6), 2002):
//!
//! ```text
//! h(t) = sqrt(1/M) sum over n = 1..M of cos(2 pi fd t cos a_n + p_n) + j cos(2 pi fd t sin a_n + q_n)
//! a_n  = (2 pi n - pi + u) / (4 M),   u, p_n, q_n uniform on (-pi, pi)
//! ```
//!
//! The power |h|^2 has mean 1. With M to infinity it is exponentially distributed, and the autocorrelation of
//! either quadrature is J0(2 pi fd tau) / 2. A finite M bends that distribution, at most by 0.086 / M, and
//! makes strong peaks rarer: the power never exceeds 2 M.
//!
//! Gains are computed in blocks of [`BLOCK`] samples, as a sum over the oscillators of
//! cos(m + d) = cos m cos d - sin m sin d, where m is the phase in the middle of the block and the factors of
//! the distances d are a table. From block to block m is turned by a complex multiplication, and every 64
//! blocks evaluated anew, so that nothing accumulates; a jump costs as much as ten to twenty blocks.

use super::{BLOCK, Component, Fading};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::rng::Stream;
use crate::units::Frequency;
use std::f64::consts::{PI, TAU};
use std::ops::Range;

parameters! {
    /// Rayleigh fading with the spectrum of Clarke and Jakes.
    pub struct Config {
        /// Largest Doppler shift: speed divided by the wavelength of the carrier.
        pub doppler: Frequency = Frequency::from_millihertz(35_000),
        /// Sinusoids in either quadrature (M), 8 to 256.
        pub oscillators: u16 = OSCILLATORS,
    }
}

/// The default of `oscillators`: the distribution of the power is right to 0.003.
const OSCILLATORS: u16 = 32;

/// With a higher shift the phases of long runs would lose precision.
const FASTEST: Frequency = Frequency::from_millihertz(10_000_000);

impl Component for Config {
    fn build(&self, samples_per_s: f64, mut stream: Stream) -> Box<dyn Fading> {
        let doppler_per_sample = self.doppler.as_hz() / samples_per_s;
        Box::new(Jakes::new(usize::from(self.oscillators), doppler_per_sample, &mut stream))
    }

    fn share_from(&self, gain: f64) -> f64 {
        libm::exp(-gain)
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.doppler.as_millihertz() == 0 {
            let hint = "write for example \"35 Hz\", or fading.none = {} for a channel that stands still";
            return Err(ScenarioError::new("doppler", "without Doppler shift nothing fades", hint));
        }
        if self.doppler > FASTEST {
            let message = format!("{} is faster than anything that moves", self.doppler);
            return Err(ScenarioError::new("doppler", message, format!("write at most \"{FASTEST}\"")));
        }
        if !(8..=256).contains(&self.oscillators) {
            let message = format!("{} oscillators per quadrature", self.oscillators);
            return Err(ScenarioError::new("oscillators", message, "write 8 to 256"));
        }
        Ok(())
    }
}

const HALF: usize = BLOCK / 2;

/// Blocks computed at once where one follows the other: the tables of many channels do not fit into a cache, and are
/// read once for all of these.
const AT_ONCE: usize = 4;

/// Blocks after which the phases are evaluated anew.
const ANCHOR: u64 = 64;

/// The generator. What it keeps of each oscillator is in lists: first those in phase, then those in quadrature.
struct Jakes {
    /// Cycles per sample.
    frequencies: Vec<f64>,
    /// At sample 0, cycles.
    phases: Vec<f64>,
    /// In the middle of the block.
    middle: Phasors,
    /// How far the phases turn in a block.
    turn: Phasors,
    tables: Vec<Table>,
    /// The number of the block in the middle of which `middle` is.
    block: u64,
    /// Gains of as many successive blocks as are filled, from `first` on.
    powers: [[f32; BLOCK]; AT_ONCE],
    first: u64,
    filled: usize,
}

/// Phases by their cosines and sines.
struct Phasors {
    cosines: Vec<f64>,
    sines: Vec<f64>,
}

/// How far a phase turns from the middle of a block to each sample of the second half; amplitude included.
struct Table {
    cosines: [f32; HALF],
    sines: [f32; HALF],
}

impl Jakes {
    fn new(oscillators: usize, doppler_per_sample: f64, stream: &mut Stream) -> Self {
        let amplitude = libm::sqrt(1.0 / oscillators as f64);
        // Uniform on (-pi, pi), in parts of the whole circle.
        let mut draw = || stream.uniform() - 0.5;
        let u = TAU * draw();
        let mut frequencies = vec![0.0; 2 * oscillators];
        let mut phases = vec![0.0; 2 * oscillators];
        for n in 0..oscillators {
            let angle = (TAU * (n + 1) as f64 - PI + u) / (4.0 * oscillators as f64);
            let (sine, cosine) = libm::sincos(angle);
            for (index, shift) in [(n, cosine), (oscillators + n, sine)] {
                frequencies[index] = doppler_per_sample * shift;
                phases[index] = draw();
            }
        }
        let mut jakes = Self {
            tables: frequencies.iter().map(|frequency| Table::new(*frequency, amplitude)).collect(),
            turn: Phasors::new(frequencies.iter().map(|frequency| frequency * BLOCK as f64)),
            middle: Phasors::new(phases.iter().copied()),
            frequencies,
            phases,
            block: 0,
            powers: [[0.0; BLOCK]; AT_ONCE],
            first: 0,
            filled: 1,
        };
        jakes.evaluate(0);
        jakes.fill(0);
        jakes
    }

    fn seek(&mut self, number: u64) {
        let anchor = number - number % ANCHOR;
        if self.block < anchor || self.block > number {
            self.evaluate(anchor);
        }
        while self.block < number {
            self.middle.turn(&self.turn);
            self.block += 1;
        }
    }

    fn evaluate(&mut self, number: u64) {
        let middle = (number * BLOCK as u64) as f64 + (BLOCK - 1) as f64 / 2.0;
        let oscillators = self.phases.iter().zip(&self.frequencies);
        self.middle = Phasors::new(oscillators.map(|(phase, frequency)| phase + frequency * middle));
        self.block = number;
    }

    /// Computes the gains of the block into a place.
    fn fill(&mut self, place: usize) {
        let [in_phase, quadrature] = self.quadratures();
        for (power, (i, q)) in self.powers[place].iter_mut().zip(in_phase.iter().zip(&quadrature)) {
            *power = i * i + q * q;
        }
    }

    fn quadratures(&self) -> [[f32; BLOCK]; 2] {
        let half = self.tables.len() / 2;
        [self.sum(0..half), self.sum(half..2 * half)]
    }

    /// One quadrature over the block.
    fn sum(&self, oscillators: Range<usize>) -> [f32; BLOCK] {
        let (mut even, mut odd) = ([0.0_f32; HALF], [0.0_f32; HALF]);
        let middle =
            self.middle.cosines[oscillators.clone()].iter().zip(&self.middle.sines[oscillators.clone()]);
        for (table, (cosine, sine)) in self.tables[oscillators].iter().zip(middle) {
            let (cosine, sine) = (*cosine as f32, *sine as f32);
            for k in 0..HALF {
                even[k] += cosine * table.cosines[k];
                odd[k] += sine * table.sines[k];
            }
        }
        let mut samples = [0.0; BLOCK];
        for k in 0..HALF {
            samples[HALF + k] = even[k] - odd[k];
            samples[HALF - 1 - k] = even[k] + odd[k];
        }
        samples
    }
}

impl Fading for Jakes {
    fn block(&mut self, number: u64) -> &[f32; BLOCK] {
        let behind = number.wrapping_sub(self.first);
        if behind < self.filled as u64 {
            return &self.powers[behind as usize];
        }
        let follows = behind == self.filled as u64;
        (self.first, self.filled) = (number, if follows { AT_ONCE } else { 1 });
        for place in 0..self.filled {
            self.seek(number + place as u64);
            self.fill(place);
        }
        &self.powers[0]
    }
}

impl Phasors {
    /// Of phases in cycles.
    fn new(cycles: impl Iterator<Item = f64>) -> Self {
        let (sines, cosines) =
            cycles.map(|cycles| libm::sincos(TAU * (cycles - libm::floor(cycles)))).unzip();
        Self { cosines, sines }
    }

    /// Each phase turns by another: a complex multiplication.
    fn turn(&mut self, by: &Self) {
        let turns = by.cosines.iter().zip(&by.sines);
        for ((cosine, sine), (c, s)) in self.cosines.iter_mut().zip(&mut self.sines).zip(turns) {
            (*cosine, *sine) = (*cosine * c - *sine * s, *cosine * s + *sine * c);
        }
    }
}

impl Table {
    fn new(frequency: f64, amplitude: f64) -> Self {
        let mut table = Self { cosines: [0.0; HALF], sines: [0.0; HALF] };
        for k in 0..HALF {
            let (sine, cosine) = libm::sincos(TAU * frequency * (k as f64 + 0.5));
            table.cosines[k] = (amplitude * cosine) as f32;
            table.sines[k] = (amplitude * sine) as f32;
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    impl Jakes {
        fn power(&mut self, sample: u64) -> f64 {
            f64::from(self.block(sample / BLOCK as u64)[(sample % BLOCK as u64) as usize])
        }
    }

    fn jakes(name: &str, oscillators: u16, doppler_per_sample: f64) -> Jakes {
        Jakes::new(usize::from(oscillators), doppler_per_sample, &mut stream(1, name))
    }

    /// The sum written down as the source has it.
    fn directly(jakes: &Jakes, sample: u64) -> f64 {
        let half = jakes.phases.len() / 2;
        let quadrature = |oscillators: Range<usize>| {
            let cosine = |n: usize| libm::cos(TAU * (jakes.frequencies[n] * sample as f64 + jakes.phases[n]));
            oscillators.map(cosine).sum::<f64>() / libm::sqrt(half as f64)
        };
        let [i, q] = [quadrature(0..half), quadrature(half..2 * half)];
        i * i + q * q
    }

    #[test]
    fn blocks_tables_and_rotations_give_the_sum_of_cosines() {
        let mut jakes = jakes("direct", 16, 35.0 / 600.0);
        let samples = (0..3000).chain((50_000..51_100).step_by(7)).chain([2_160_000_123, 5, 31, 32]);
        for sample in samples {
            let expected = directly(&jakes, sample);
            let power = jakes.power(sample);
            assert!((power - expected).abs() < 2e-5, "sample {sample}: {power} and not {expected}");
        }
    }

    #[test]
    fn a_sample_does_not_depend_on_which_were_asked_for_before() {
        let mut steady = jakes("history", 16, 0.06);
        let all: Vec<u64> = (0..200).map(|block| steady.block(block)[7].to_bits().into()).collect();
        for order in [vec![199, 3, 64, 65, 63, 31, 32, 100], (0..200).rev().collect::<Vec<u64>>()] {
            let mut jumping = jakes("history", 16, 0.06);
            for block in order {
                assert_eq!(
                    u64::from(jumping.block(block)[7].to_bits()),
                    all[block as usize],
                    "block {block}"
                );
            }
        }
    }

    /// Kolmogorov-Smirnov against the exponential law of the power, which is Rayleigh's of the envelope: one
    /// sample from each of 1e5 generators, so that samples are independent.
    #[test]
    #[ignore = "slow"]
    fn the_envelope_is_rayleigh() {
        const SAMPLES: usize = 100_000;
        let mut stream = stream(1, "ensemble");
        let mut powers: Vec<f64> =
            (0..SAMPLES).map(|_| Jakes::new(usize::from(OSCILLATORS), 0.05, &mut stream).power(10)).collect();
        powers.sort_by(f64::total_cmp);
        let steps = powers.iter().enumerate().map(|(index, power)| {
            let law = 1.0 - libm::exp(-power);
            let (below, above) = (index as f64 / SAMPLES as f64, (index + 1) as f64 / SAMPLES as f64);
            (law - below).max(above - law)
        });
        let distance = steps.fold(0.0, f64::max);
        // sqrt(n) D exceeds 1.628 with probability 0.01 (Kolmogorov's distribution).
        assert!(libm::sqrt(SAMPLES as f64) * distance < 1.628, "D = {distance}");
        let mean = powers.iter().sum::<f64>() / SAMPLES as f64;
        // The mean of n values of variance 1 is off by more than 4/sqrt(n) once in 16000.
        assert!((mean - 1.0).abs() < 4.0 / libm::sqrt(SAMPLES as f64), "{mean}");
    }

    /// Both quadratures of many generators, from block 0 on.
    fn quadratures(count: usize, blocks: u64, doppler_per_sample: f64) -> Vec<Vec<f32>> {
        let mut all = Vec::new();
        for number in 0..count {
            let mut jakes = jakes(&format!("quadratures {number}"), OSCILLATORS, doppler_per_sample);
            let mut both = [Vec::new(), Vec::new()];
            for block in 0..blocks {
                jakes.seek(block);
                for (series, part) in both.iter_mut().zip(jakes.quadratures()) {
                    series.extend(part);
                }
            }
            all.extend(both);
        }
        all
    }

    #[test]
    fn the_autocorrelation_of_each_quadrature_is_bessels_j0() {
        let doppler = 0.01;
        let (count, blocks) = (40, 400);
        let all = quadratures(count, blocks, doppler);
        for lag in [0_usize, 5, 10, 20, 38, 61, 100] {
            let expected = libm::j0(TAU * doppler * lag as f64) / 2.0;
            for part in 0..2 {
                let series = all.iter().skip(part).step_by(2);
                let correlations = series.map(|samples| {
                    let pairs = samples.iter().zip(&samples[lag..]);
                    let sum: f64 = pairs.map(|(one, other)| f64::from(*one) * f64::from(*other)).sum();
                    sum / (samples.len() - lag) as f64
                });
                let mean = correlations.sum::<f64>() / count as f64;
                assert!((mean - expected).abs() < 0.01, "lag {lag}, part {part}: {mean} and not {expected}");
            }
        }
    }

    /// Rice: level crossings (upwards) for each second are sqrt(2 pi) fd r exp(-r^2), r the level of the
    /// envelope over its root mean square; fades last (exp(r^2) - 1) / (sqrt(2 pi) fd r) on average.
    #[test]
    #[ignore = "slow"]
    fn level_crossings_and_fade_durations_are_rices() {
        let (doppler, count, blocks) = (0.002, 60, 3000);
        let levels = [0.1, 0.316, 0.7, 1.0, 1.5, 2.0];
        let (mut crossings, mut below) = ([0_u32; 6], [0_u64; 6]);
        for number in 0..count {
            let mut jakes = jakes(&format!("crossings {number}"), OSCILLATORS, doppler);
            let mut last = f32::MAX;
            for block in 0..blocks {
                for power in jakes.block(block) {
                    for (index, level) in levels.iter().enumerate() {
                        let threshold = (level * level) as f32;
                        below[index] += u64::from(*power < threshold);
                        crossings[index] += u32::from(last < threshold && *power >= threshold);
                    }
                    last = *power;
                }
            }
        }
        let samples = (count * blocks * BLOCK as u64) as f64;
        for (index, level) in levels.iter().enumerate() {
            let rate = libm::sqrt(TAU) * doppler * level * libm::exp(-level * level);
            let more = f64::from(crossings[index]) / samples / rate;
            assert!((more - 1.0).abs() < 0.05, "level {level}: {more} times as many crossings as expected");
            let fade = (libm::exp(level * level) - 1.0) / (libm::sqrt(TAU) * doppler * level);
            let longer = below[index] as f64 / f64::from(crossings[index]) / fade;
            assert!((longer - 1.0).abs() < 0.05, "level {level}: fades last {longer} times as long");
        }
    }

    /// A block in ten lost because the power is below -ln(1 - 0.1), at fd T = 0.01. The Markov chain of Zorzi,
    /// Rao and Milstein (1995) for the same fading has bursts of 13.4 blocks on average.
    #[test]
    fn one_block_in_ten_is_lost_in_bursts_of_thirteen() {
        let threshold = -libm::log(0.9) as f32;
        let (mut lost, mut bursts, mut blocks) = (0_u64, 0_u64, 0_u64);
        for number in 0..20 {
            let mut jakes = jakes(&format!("bursts {number}"), 16, 0.01);
            let mut was_lost = false;
            for block in 0..3000 {
                for power in jakes.block(block) {
                    let is_lost = *power < threshold;
                    lost += u64::from(is_lost);
                    bursts += u64::from(is_lost && !was_lost);
                    was_lost = is_lost;
                }
                blocks += BLOCK as u64;
            }
        }
        let (share, mean) = (lost as f64 / blocks as f64, lost as f64 / bursts as f64);
        assert!((share - 0.1).abs() < 0.005, "{share}");
        assert!((mean - 13.4).abs() < 0.7, "{mean}");
    }

    #[test]
    fn gains_are_the_same_everywhere() {
        let mut jakes = Config::default().build(600.0, stream(1, "ue0.downlink.fading"));
        let bits = [0, 1, 1000, 2_160_000_u64]
            .map(|sample| jakes.block(sample / 32)[sample as usize % 32].to_bits());
        insta::assert_snapshot!(format!("{bits:08x?}"), @"[3f8e5cce, 3f9b6bb8, 3ef375a1, 3eaf8937]");
    }
}
