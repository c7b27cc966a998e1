//! Rayleigh fading after Clarke and Jakes: the carrier at a moving receiver without line of sight.
//!
//! A sum of sinusoids with random phases, in the form of Zheng and Xiao ("Improved models for the generation
//! of multiple uncorrelated Rayleigh fading waveforms", IEEE Communications Letters 6(6), 2002):
//!
//! ```text
//! h(t) = sqrt(1/M) sum over n = 1..M of cos(2 pi fd t cos a_n + p_n) + j cos(2 pi fd t sin a_n + q_n)
//! a_n  = (2 pi n - pi + u) / (4 M),   u, p_n, q_n uniform on (-pi, pi)
//! ```
//!
//! The power |h|^2 has mean 1. With M to infinity it is exponentially distributed, and the autocorrelation of either
//! quadrature is J0(2 pi fd tau) / 2. A finite M distorts that distribution, at most by 0.086 / M, and makes strong
//! peaks rarer: the power never exceeds 2 M.
//!
//! Gains are computed in groups of [`GROUP`] blocks, as a sum over the oscillators of cos(m + d) = cos m cos d - sin m
//! sin d, where m is the phase in the middle of the block and the factors of the distances d are a table. From block to
//! block m is rotated by a complex multiplication. It is re-evaluated every 64 blocks, so errors do not accumulate; a
//! jump costs as much as ten to twenty blocks.
//!
//! SIMD only computes several samples or phases at once: the operations on each, and their order, are the same with any
//! vector width.

use fearless_simd::{Level, Simd, dispatch, f32x16, f64x8, prelude::*};
use std::f64::consts::{PI, TAU};

/// Samples of a block.
pub const BLOCK: usize = 32;

const HALF: usize = BLOCK / 2;

/// Blocks computed at once: the tables of many channels do not fit into a cache, and are read once for all of these.
const GROUP: usize = 4;

/// Blocks after which the phases are re-evaluated; a multiple of the blocks of a group.
const ANCHOR: u64 = 64;

/// Oscillators whose phases turn at once.
const LANES: usize = 8;

/// The generator of one channel's gains, ratios of powers of mean 1.
pub struct Jakes {
    /// The in-phase oscillators, followed by as many quadrature ones.
    oscillators: Vec<Oscillators>,
    /// The group computed last. The phases are at the middle of the block after it.
    group: Option<u64>,
    /// The gains of its blocks.
    powers: [[f32; BLOCK]; GROUP],
}

/// Oscillators of a quadrature. Unused lanes have amplitude 0.
struct Oscillators {
    /// Cycles per sample.
    frequencies: [f64; LANES],
    /// Phases at sample 0, cycles.
    phases: [f64; LANES],
    /// In the middle of a block.
    middle: Phasors,
    /// Phase rotation per block.
    turn: Phasors,
    tables: [Table; LANES],
}

/// Phases by their cosines and sines.
struct Phasors {
    cosines: [f64; LANES],
    sines: [f64; LANES],
}

/// Phase rotation from the middle of a block to each sample of the second half; amplitude included.
struct Table {
    cosines: [f32; HALF],
    sines: [f32; HALF],
}

impl Jakes {
    /// A generator of `oscillators` sinusoids in either quadrature (M), whose largest Doppler shift is
    /// `doppler_per_sample` cycles a sample. It draws `2 M + 1` numbers, uniform from 0 to below 1.
    pub fn new(oscillators: usize, doppler_per_sample: f64, uniform: &mut dyn FnMut() -> f64) -> Self {
        let amplitude = libm::sqrt(1.0 / oscillators as f64);
        // Uniform on (-pi, pi), in parts of the whole circle.
        let mut draw = || uniform() - 0.5;
        let u = TAU * draw();
        // Frequency and phase of each oscillator.
        let mut quadratures = [Vec::new(), Vec::new()];
        for n in 0..oscillators {
            let angle = (TAU * (n + 1) as f64 - PI + u) / (4.0 * oscillators as f64);
            let (sine, cosine) = libm::sincos(angle);
            for (quadrature, shift) in quadratures.iter_mut().zip([cosine, sine]) {
                quadrature.push((doppler_per_sample * shift, draw()));
            }
        }
        let chunks = quadratures.iter().flat_map(|quadrature| quadrature.chunks(LANES));
        Self {
            oscillators: chunks.map(|chunk| Oscillators::new(chunk, amplitude)).collect(),
            group: None,
            powers: [[0.0; BLOCK]; GROUP],
        }
    }

    /// The gains of the samples of a block, from `number * BLOCK` on. They depend only on `number`, not on earlier
    /// calls; consecutive blocks are cheapest.
    pub fn block(&mut self, number: u64) -> &[f32; BLOCK] {
        let group = number / GROUP as u64;
        if self.group != Some(group) {
            dispatch!(Level::new(), simd => self.compute(simd, group));
        }
        &self.powers[(number % GROUP as u64) as usize]
    }

    /// Computes the gains of a group.
    #[inline(always)]
    fn compute<S: Simd>(&mut self, simd: S, group: u64) {
        let [in_phase, quadrature] = self.quadratures(simd, group);
        for (block, powers) in self.powers.iter_mut().enumerate() {
            for (power, (i, q)) in powers.iter_mut().zip(in_phase[block].iter().zip(&quadrature[block])) {
                *power = i * i + q * q;
            }
        }
    }

    #[inline(always)]
    fn quadratures<S: Simd>(&mut self, simd: S, group: u64) -> [[[f32; BLOCK]; GROUP]; 2] {
        self.seek(simd, group);
        self.group = Some(group);
        let half = self.oscillators.len() / 2;
        let (in_phase, quadrature) = self.oscillators.split_at_mut(half);
        [sum(simd, in_phase), sum(simd, quadrature)]
    }

    /// Turns the phases to the first block of a group.
    #[inline(always)]
    fn seek<S: Simd>(&mut self, simd: S, group: u64) {
        let block = group * GROUP as u64;
        let anchor = block - block % ANCHOR;
        let present = self.group.map(|last| (last + 1) * GROUP as u64);
        let present = present.filter(|present| (anchor + 1..=block).contains(present));
        if present.is_none() {
            self.oscillators.iter_mut().for_each(|lanes| lanes.evaluate(anchor));
        }
        for _ in present.unwrap_or(anchor)..block {
            for lanes in &mut self.oscillators {
                lanes.middle.turn(simd, &lanes.turn);
            }
        }
    }
}

/// One quadrature over the blocks of a group. The phases advance from the group's first block to the block after it.
#[inline(always)]
fn sum<S: Simd>(simd: S, oscillators: &mut [Oscillators]) -> [[f32; BLOCK]; GROUP] {
    let zeros = [f32x16::splat(simd, 0.0); GROUP];
    let (mut even, mut odd) = (zeros, zeros);
    for lanes in oscillators {
        let mut middles = [[0.0; 2 * LANES]; GROUP];
        for middle in &mut middles {
            *middle = lanes.middle.turn(simd, &lanes.turn);
        }
        for (block, middle) in middles.iter().enumerate() {
            let (cosines, sines) = middle.split_at(LANES);
            let (mut all_even, mut all_odd) = (even[block], odd[block]);
            for (table, (cosine, sine)) in lanes.tables.iter().zip(cosines.iter().zip(sines)) {
                all_even += f32x16::simd_from(simd, table.cosines) * *cosine;
                all_odd += f32x16::simd_from(simd, table.sines) * *sine;
            }
            (even[block], odd[block]) = (all_even, all_odd);
        }
    }
    let mut samples = [[0.0; BLOCK]; GROUP];
    for (block, halves) in samples.iter_mut().enumerate() {
        let (before, behind) = halves.split_at_mut(HALF);
        (even[block] + odd[block]).store_slice(before);
        before.reverse();
        (even[block] - odd[block]).store_slice(behind);
    }
    samples
}

impl Oscillators {
    /// Oscillators from frequencies and phases, at most as many as there are lanes.
    fn new(chunk: &[(f64, f64)], amplitude: f64) -> Self {
        let [mut frequencies, mut phases, mut amplitudes] = [[0.0; LANES]; 3];
        for (lane, (frequency, phase)) in chunk.iter().enumerate() {
            (frequencies[lane], phases[lane], amplitudes[lane]) = (*frequency, *phase, amplitude);
        }
        Self {
            middle: Phasors::new(phases),
            turn: Phasors::new(frequencies.map(|frequency| frequency * BLOCK as f64)),
            tables: std::array::from_fn(|lane| Table::new(frequencies[lane], amplitudes[lane])),
            frequencies,
            phases,
        }
    }

    fn evaluate(&mut self, block: u64) {
        let middle = (block * BLOCK as u64) as f64 + (BLOCK - 1) as f64 / 2.0;
        let cycles = |lane| self.phases[lane] + self.frequencies[lane] * middle;
        self.middle = Phasors::new(std::array::from_fn(cycles));
    }
}

impl Phasors {
    /// Sines and cosines of phases in cycles.
    fn new(cycles: [f64; LANES]) -> Self {
        let both = cycles.map(|cycles| libm::sincos(TAU * (cycles - libm::floor(cycles))));
        Self { cosines: both.map(|(_, cosine)| cosine), sines: both.map(|(sine, _)| sine) }
    }

    /// Each phase turns by another: a complex multiplication. Returns the cosines and then the sines before.
    #[inline(always)]
    fn turn<S: Simd>(&mut self, simd: S, by: &Self) -> [f32; 2 * LANES] {
        let lists = [self.cosines, self.sines, by.cosines, by.sines];
        let [cosines, sines, c, s] = lists.map(|list| f64x8::simd_from(simd, list));
        self.cosines = (cosines * c - sines * s).into();
        self.sines = (cosines * s + sines * c).into();
        simd.narrow_f64x8(cosines, sines).into()
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
    use airpath_core::rng::{Stream, stream};

    /// The default of `oscillators` in scenarios: the distribution of the power is right to 0.003.
    const OSCILLATORS: usize = 32;

    impl Jakes {
        fn power(&mut self, sample: u64) -> f64 {
            f64::from(self.block(sample / BLOCK as u64)[(sample % BLOCK as u64) as usize])
        }
    }

    fn drawn(oscillators: usize, doppler_per_sample: f64, stream: &mut Stream) -> Jakes {
        Jakes::new(oscillators, doppler_per_sample, &mut || stream.uniform())
    }

    fn jakes(name: &str, oscillators: usize, doppler_per_sample: f64) -> Jakes {
        drawn(oscillators, doppler_per_sample, &mut stream(1, name))
    }

    /// The sum as written in the source.
    fn directly(jakes: &Jakes, sample: u64) -> f64 {
        let (in_phase, quadrature) = jakes.oscillators.split_at(jakes.oscillators.len() / 2);
        let sum = |oscillators: &[Oscillators]| {
            let lanes = oscillators.iter().flat_map(|lanes| lanes.frequencies.iter().zip(&lanes.phases));
            // Unused lanes have frequency 0.
            let lanes: Vec<_> = lanes.filter(|(frequency, _)| **frequency > 0.0).collect();
            let cosine =
                |(frequency, phase): &(&f64, &f64)| libm::cos(TAU * (**frequency * sample as f64 + **phase));
            lanes.iter().map(cosine).sum::<f64>() / libm::sqrt(lanes.len() as f64)
        };
        let (i, q) = (sum(in_phase), sum(quadrature));
        i * i + q * q
    }

    #[test]
    fn blocks_tables_and_rotations_give_the_sum_of_cosines() {
        for oscillators in [16, 9] {
            let mut jakes = jakes("direct", oscillators, 35.0 / 600.0);
            let samples = (0..3000).chain((50_000..51_100).step_by(7)).chain([2_160_000_123, 5, 31, 32]);
            for sample in samples {
                let expected = directly(&jakes, sample);
                let power = jakes.power(sample);
                assert!((power - expected).abs() < 2e-5, "sample {sample}: {power} and not {expected}");
            }
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

    #[test]
    fn the_width_of_vectors_changes_no_bit() {
        let (mut wide, mut narrow) = (jakes("width", 21, 0.06), jakes("width", 21, 0.06));
        for group in [0, 1, 15, 16, 40, 7] {
            dispatch!(Level::new(), simd => wide.compute(simd, group));
            dispatch!(Level::baseline(), simd => narrow.compute(simd, group));
            let bits = |jakes: &Jakes| jakes.powers.map(|powers| powers.map(f32::to_bits));
            assert_eq!(bits(&wide), bits(&narrow), "group {group}");
        }
    }

    /// Kolmogorov-Smirnov against the exponential law of the power, which is Rayleigh's of the envelope: four samples from
    /// each of 25 000 generators, so far apart that the correlation of their powers, J0^2(2 pi fd tau), is below 0.006.
    #[test]
    #[ignore = "slow"]
    fn the_envelope_is_rayleigh() {
        const SAMPLES: usize = 100_000;
        let mut stream = stream(1, "ensemble");
        let mut powers = Vec::new();
        while powers.len() < SAMPLES {
            let mut jakes = drawn(OSCILLATORS, 0.45, &mut stream);
            powers.extend([0, 40, 80, 120].map(|sample| jakes.power(sample)));
        }
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
            for group in 0..blocks / GROUP as u64 {
                let parts = dispatch!(Level::new(), simd => jakes.quadratures(simd, group));
                for (series, part) in both.iter_mut().zip(parts) {
                    series.extend(part.as_flattened());
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
}
