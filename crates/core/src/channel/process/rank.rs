//! The rank of each bin: a sum of Ornstein-Uhlenbeck processes, sampled once per bin, whose value is standard normal.
//!
//! A component with time constant tau keeps exp(-100 ms / tau) of its value from bin to bin and renews the rest. Both
//! directions of a UE have a part of each component in common. The common part follows the time of the run; the part of
//! a direction follows its bins, so it stands still during an episode of outages.

use crate::rng::Stream;
use std::f64::consts::{SQRT_2, TAU};

/// Length of a bin, in milliseconds.
pub(super) const BIN_MS: u64 = 100;
/// Most time constants of a process.
pub(super) const MOST_SCALES: usize = 8;
/// Classes of seconds by their mean rank, from the worst: shares of the time in which the bins run.
pub(super) const CLASSES: [f64; 4] = [0.1, 0.2, 0.3, 0.4];
/// Bins over which the rank is averaged to tell good seconds from bad.
const SECOND: usize = 10;

/// How the components add up.
pub(super) struct Weights {
    scales: Vec<Scale>,
    /// Amplitude of the part that is uncorrelated from bin to bin.
    white: f64,
    /// Bounds of the classes of seconds, as means of the normal score.
    bounds: [f64; 3],
}

struct Scale {
    keep: f64,
    renew: f64,
    own: f64,
    common: f64,
}

impl Weights {
    pub fn new(time_constants_s: &[f64], weights: &[f64], shared: &[f64]) -> Self {
        let sum = weights.iter().sum::<f64>().max(1.0);
        let scales: Vec<Scale> = (time_constants_s.iter().zip(weights).enumerate())
            .map(|(index, (tau_s, weight))| {
                let (weight, share) = (weight / sum, shared.get(index).copied().unwrap_or(0.0));
                let keep = libm::exp(-(BIN_MS as f64) / 1e3 / tau_s);
                Scale {
                    keep,
                    renew: libm::sqrt(1.0 - keep * keep),
                    own: libm::sqrt(weight * (1.0 - share)),
                    common: libm::sqrt(weight * share),
                }
            })
            .collect();
        let white = (1.0 - weights.iter().map(|weight| weight / sum).sum::<f64>()).max(0.0);
        let sd = libm::sqrt(variance_of_mean(&scales, white));
        let [worst, bad, middle, _] = CLASSES;
        let bounds = [worst, worst + bad, worst + bad + middle].map(|share| sd * normal_quantile(share));
        Self { scales, white: libm::sqrt(white), bounds }
    }

    fn has_common(&self, index: usize) -> bool {
        self.scales.get(index).is_some_and(|scale| scale.common > 0.0)
    }
}

/// Variance of the mean score of a second.
fn variance_of_mean(scales: &[Scale], white: f64) -> f64 {
    let covariance = |lag: usize| -> f64 {
        let power = |scale: &Scale| {
            (0..lag).fold(scale.own * scale.own + scale.common * scale.common, |value, _| value * scale.keep)
        };
        scales.iter().map(power).sum()
    };
    let pairs: f64 = (1..SECOND).map(|lag| 2.0 * (SECOND - lag) as f64 * covariance(lag)).sum();
    (SECOND as f64 * (white + covariance(0)) + pairs) / (SECOND * SECOND) as f64
}

/// The share of the standard normal distribution below `z`.
pub(super) fn share_below(z: f64) -> f64 {
    libm::erfc(-z / SQRT_2) / 2.0
}

/// The inverse of [`share_below`], by bisection: asked a few times per run.
fn normal_quantile(share: f64) -> f64 {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if share_below(middle) < share { low = middle } else { high = middle }
    }
    low
}

/// Two draws of the standard normal distribution, after Box and Muller.
pub(super) fn normals(stream: &mut Stream) -> [f64; 2] {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - stream.uniform()));
    let angle = TAU * stream.uniform();
    [radius * libm::cos(angle), radius * libm::sin(angle)]
}

/// Draws for a step of 100 ms of the run, from the stream common to both directions of a UE.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// Decides whether the other draws of an episode are common.
    pub is_common: f64,
    /// Decides whether an episode begins.
    pub begins: f64,
    /// Which episode.
    pub which: f64,
    /// How its length differs from the recorded one, standard normal.
    pub length: f64,
}

/// The components that both directions have in common, at a step of the run.
#[derive(Clone)]
pub(super) struct Common {
    stream: Stream,
    /// Number of the step, from 0.
    step: u64,
    values: [f64; MOST_SCALES],
    drawn: Step,
}

impl Common {
    pub fn new(mut stream: Stream) -> Self {
        let mut values = [0.0; MOST_SCALES];
        for pair in values.chunks_exact_mut(2) {
            pair.copy_from_slice(&normals(&mut stream));
        }
        let drawn = draw_step(&mut stream);
        Self { stream, step: 0, values, drawn }
    }

    /// Advances to a step. The number of draws is independent of the weights, so both directions stay aligned.
    pub fn seek(&mut self, step: u64, weights: &Weights) -> Step {
        while self.step < step {
            for index in (0..MOST_SCALES).step_by(2) {
                if weights.has_common(index) || weights.has_common(index + 1) {
                    let draws = normals(&mut self.stream);
                    for (value, (scale, draw)) in
                        self.values[index..].iter_mut().zip(weights.scales[index..].iter().zip(draws))
                    {
                        *value = *value * scale.keep + scale.renew * draw;
                    }
                } else {
                    self.stream = self.stream.ahead(2);
                }
            }
            self.drawn = draw_step(&mut self.stream);
            self.step += 1;
        }
        self.drawn
    }
}

fn draw_step(stream: &mut Stream) -> Step {
    let [is_common, begins, which] = [stream.uniform(), stream.uniform(), stream.uniform()];
    let [length, _] = normals(stream);
    Step { is_common, begins, which, length }
}

/// The scores of a direction, bin after bin.
#[derive(Clone)]
pub(super) struct Scores {
    own: [f64; MOST_SCALES],
    /// Scores of the last second, in a circle.
    recent: [f64; SECOND],
    place: usize,
}

impl Scores {
    pub fn new(stream: &mut Stream, common: &mut Common, weights: &Weights) -> Self {
        let mut own = [0.0; MOST_SCALES];
        for pair in own.chunks_exact_mut(2) {
            pair.copy_from_slice(&normals(stream));
        }
        let mut scores = Self { own, recent: [0.0; SECOND], place: 0 };
        for _ in 0..SECOND {
            common.seek(common.step + 1, weights);
            scores.next(stream, common, weights);
        }
        scores
    }

    /// Number of steps of the common components before time zero.
    pub const fn steps_before() -> u64 {
        SECOND as u64
    }

    /// The score of the next bin.
    pub fn next(&mut self, stream: &mut Stream, common: &Common, weights: &Weights) -> f64 {
        let mut score = 0.0;
        let mut draws = normals(stream);
        if weights.white > 0.0 {
            score += weights.white * draws[0];
        }
        let mut left = 1;
        for (index, scale) in weights.scales.iter().enumerate() {
            if scale.own > 0.0 {
                if left == 0 {
                    (draws, left) = (normals(stream), 2);
                }
                left -= 1;
                self.own[index] = self.own[index] * scale.keep + scale.renew * draws[1 - left];
            }
            score += scale.own * self.own[index] + scale.common * common.values[index];
        }
        self.recent[self.place] = score;
        self.place = (self.place + 1) % SECOND;
        score
    }

    /// Class of the last second, from 0, the worst.
    pub fn class(&self, weights: &Weights) -> usize {
        let mean = self.recent.iter().sum::<f64>() / SECOND as f64;
        weights.bounds.iter().filter(|bound| mean > **bound).count()
    }
}
