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
//! Gains are computed in blocks of [`BLOCK`] samples, as a sum over the oscillators of cos(m + d) = cos m cos d - sin m sin d, where m is the phase in the middle of the block and the factors of
//! the distances d are a table. From block to block m is turned by a complex multiplication, and evaluated
//! anew every [`ANCHOR`] blocks, so that nothing accumulates; a jump costs little more than one block.

use super::{BLOCK, Fading};
use crate::error::ScenarioError;
use crate::rng::Stream;
use crate::units::Frequency;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, TAU};

/// Rayleigh fading with the spectrum of Clarke and Jakes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Largest Doppler shift: speed divided by the wavelength of the carrier.
    pub doppler: Frequency,
    /// Sinusoids in either quadrature (M), 8 to 256.
    pub oscillators: u16,
}

/// The default of `oscillators`: the distribution of the power is right to 0.003.
const OSCILLATORS: u16 = 32;

impl Default for Config {
    fn default() -> Self {
        Self { doppler: Frequency::from_millihertz(35_000), oscillators: OSCILLATORS }
    }
}

impl Config {
    /// Refuses what does not fade.
    pub(super) fn validate(&self) -> Result<(), ScenarioError> {
        if self.doppler.as_millihertz() == 0 {
            let hint = "write for example \"35 Hz\", or fading.none = {} for a channel that stands still";
            return Err(ScenarioError::new("doppler", "without Doppler shift nothing fades", hint));
        }
        if !(8..=256).contains(&self.oscillators) {
            let message = format!("{} oscillators per quadrature", self.oscillators);
            return Err(ScenarioError::new("oscillators", message, "write 8 to 256"));
        }
        Ok(())
    }

    pub(super) fn build(&self, samples_per_s: f64, mut stream: Stream) -> Box<dyn Fading> {
        let doppler_per_sample = self.doppler.as_hz() / samples_per_s;
        Box::new(Jakes::new(usize::from(self.oscillators), doppler_per_sample, &mut stream))
    }
}

const HALF: usize = BLOCK / 2;

/// Every so many blocks the phases are evaluated anew.
const ANCHOR: u64 = 32;

/// The generator.
struct Jakes {
    /// In phase, quadrature.
    parts: [Vec<Oscillator>; 2],
    /// The number of the block in `power`.
    block: u64,
    power: [f32; BLOCK],
}

struct Oscillator {
    /// Frequency in cycles per sample.
    frequency: f64,
    /// Phase at sample 0 in cycles.
    phase: f64,
    /// Cosine and sine of the phase in the middle of the block.
    middle: [f64; 2],
    /// Cosine and sine of how far the phase turns in a block.
    turn: [f64; 2],
    /// Cosines and sines of how far it turns from the middle to each sample of the second half; amplitude
    /// included.
    cosines: [f32; HALF],
    sines: [f32; HALF],
}

impl Jakes {
    fn new(oscillators: usize, doppler_per_sample: f64, stream: &mut Stream) -> Self {
        let amplitude = libm::sqrt(1.0 / oscillators as f64);
        // Uniform on (-pi, pi), in parts of the whole circle.
        let mut draw = || stream.uniform() - 0.5;
        let u = TAU * draw();
        let mut parts = [Vec::with_capacity(oscillators), Vec::with_capacity(oscillators)];
        for n in 1..=oscillators {
            let angle = (TAU * n as f64 - PI + u) / (4.0 * oscillators as f64);
            for (part, shift) in parts.iter_mut().zip([libm::cos(angle), libm::sin(angle)]) {
                part.push(Oscillator::new(doppler_per_sample * shift, draw(), amplitude));
            }
        }
        let mut jakes = Self { parts, block: 0, power: [0.0; BLOCK] };
        jakes.evaluate(0);
        jakes.fill();
        jakes
    }

    #[cfg(test)]
    fn quadratures(&self) -> [[f32; BLOCK]; 2] {
        [0, 1].map(|part| sum(&self.parts[part]))
    }

    #[cfg(test)]
    fn power(&mut self, sample: u64) -> f64 {
        f64::from(self.block(sample / BLOCK as u64)[(sample % BLOCK as u64) as usize])
    }

    fn seek(&mut self, number: u64) {
        let anchor = number - number % ANCHOR;
        if self.block < anchor || self.block > number {
            self.evaluate(anchor);
        }
        while self.block < number {
            self.parts.iter_mut().flatten().for_each(Oscillator::turn);
            self.block += 1;
        }
    }

    fn evaluate(&mut self, number: u64) {
        let middle = (number * BLOCK as u64) as f64 + (BLOCK - 1) as f64 / 2.0;
        for oscillator in self.parts.iter_mut().flatten() {
            oscillator.evaluate(middle);
        }
        self.block = number;
    }

    fn fill(&mut self) {
        let [in_phase, quadrature] = [sum(&self.parts[0]), sum(&self.parts[1])];
        for (power, (i, q)) in self.power.iter_mut().zip(in_phase.iter().zip(&quadrature)) {
            *power = i * i + q * q;
        }
    }
}

impl Fading for Jakes {
    fn block(&mut self, number: u64) -> &[f32; BLOCK] {
        if number != self.block {
            self.seek(number);
            self.fill();
        }
        &self.power
    }
}

/// One quadrature over a block.
fn sum(oscillators: &[Oscillator]) -> [f32; BLOCK] {
    let (mut even, mut odd) = ([0.0_f32; HALF], [0.0_f32; HALF]);
    for oscillator in oscillators {
        let [cosine, sine] = oscillator.middle.map(|part| part as f32);
        for (sum, table) in even.iter_mut().zip(&oscillator.cosines) {
            *sum += cosine * table;
        }
        for (sum, table) in odd.iter_mut().zip(&oscillator.sines) {
            *sum += sine * table;
        }
    }
    let mut samples = [0.0; BLOCK];
    for k in 0..HALF {
        samples[HALF + k] = even[k] - odd[k];
        samples[HALF - 1 - k] = even[k] + odd[k];
    }
    samples
}

impl Oscillator {
    fn new(frequency: f64, phase: f64, amplitude: f64) -> Self {
        let (mut cosines, mut sines) = ([0.0; HALF], [0.0; HALF]);
        for (k, (cosine, sine)) in cosines.iter_mut().zip(&mut sines).enumerate() {
            let angle = TAU * frequency * (k as f64 + 0.5);
            *cosine = (amplitude * libm::cos(angle)) as f32;
            *sine = (amplitude * libm::sin(angle)) as f32;
        }
        let turn = unit(frequency * BLOCK as f64);
        Self { frequency, phase, middle: [1.0, 0.0], turn, cosines, sines }
    }

    fn turn(&mut self) {
        let ([a, b], [c, d]) = (self.middle, self.turn);
        self.middle = [a * c - b * d, a * d + b * c];
    }

    fn evaluate(&mut self, sample: f64) {
        self.middle = unit(self.phase + self.frequency * sample);
    }
}

/// Cosine and sine of so many cycles.
fn unit(cycles: f64) -> [f64; 2] {
    let angle = TAU * (cycles - libm::floor(cycles));
    [libm::cos(angle), libm::sin(angle)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    fn jakes(name: &str, oscillators: u16, doppler_per_sample: f64) -> Jakes {
        Jakes::new(usize::from(oscillators), doppler_per_sample, &mut stream(1, name))
    }

    /// The sum written down as the source has it.
    fn directly(jakes: &Jakes, sample: u64) -> f64 {
        let quadrature = |part: &Vec<Oscillator>| {
            let sum: f64 = part
                .iter()
                .map(|oscillator| {
                    libm::cos(TAU * oscillator.frequency * sample as f64 + TAU * oscillator.phase)
                })
                .sum();
            sum / libm::sqrt(part.len() as f64)
        };
        let [i, q] = [quadrature(&jakes.parts[0]), quadrature(&jakes.parts[1])];
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
                assert_eq!(u64::from(jumping.block(block)[7].to_bits()), all[block as usize], "block {block}");
            }
        }
    }

    /// Kolmogorov-Smirnov against the exponential law of the power, which is Rayleigh's of the envelope: one
    /// sample from each of 1e5 generators, so that samples are independent.
    #[test]
    fn the_envelope_is_rayleigh() {
        const SAMPLES: usize = 100_000;
        let mut stream = stream(1, "ensemble");
        let mut powers: Vec<f64> = (0..SAMPLES)
            .map(|_| Jakes::new(usize::from(OSCILLATORS), 0.05, &mut stream).power(10))
            .collect();
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
            let mut series = [Vec::new(), Vec::new()];
            for block in 0..blocks {
                jakes.block(block);
                for (series, part) in series.iter_mut().zip(jakes.quadratures()) {
                    series.extend(part);
                }
            }
            all.extend(series);
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
        for ((level, crossings), below) in levels.iter().zip(crossings).zip(below) {
            let rate = libm::sqrt(TAU) * doppler * level * libm::exp(-level * level);
            let ratio = f64::from(crossings) / samples / rate;
            assert!((ratio - 1.0).abs() < 0.05, "level {level}: {ratio} times as many crossings as expected");
            let fade = (libm::exp(level * level) - 1.0) / (libm::sqrt(TAU) * doppler * level);
            let ratio = below as f64 / f64::from(crossings) / fade;
            assert!((ratio - 1.0).abs() < 0.05, "level {level}: fades last {ratio} times as long");
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
        let bits = [0, 1, 1000, 2_160_000_u64].map(|sample| jakes.block(sample / 32)[sample as usize % 32].to_bits());
        insta::assert_snapshot!(format!("{bits:08x?}"), @"[3f8e5cce, 3f9b6bb8, 3ef375a1, 3eaf8937]");
    }
}
