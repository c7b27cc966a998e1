//! `robust_mpc`: model predictive control of X. Yin et al., SIGCOMM 2015 (section 5.2), with the lower bound of the throughput.
//!
//! The throughput of the next segments is predicted as the harmonic mean of the last five, divided by one plus the largest error
//! of the last five predictions. Of all sequences of levels for the next five segments the one with the largest QoE is chosen, its
//! first level is requested, and the choice is made again for the next segment. QoE: sum of the rates minus 4.3 times the stalled
//! seconds minus the changes of rate, Mbit/s. Of equal sequences the last in ascending order, as in Pensieve's `mpc.py`.
//!
//! Left out: that a full buffer delays requests, as there.

use std::collections::VecDeque;

/// Segments looked ahead.
pub const HORIZON: usize = 5;
/// Weight of a second of stalling, Mbit/s.
pub const STALL_WEIGHT: f64 = 4.3;
/// Past segments that the prediction uses.
const PAST: usize = 5;

/// Prediction of the throughput.
#[derive(Clone, Debug, Default)]
pub struct Prediction {
    /// Throughput of the last segments, bit/s.
    past: VecDeque<f64>,
    /// Relative errors of the last predictions.
    errors: VecDeque<f64>,
}

fn keep(values: &mut VecDeque<f64>, value: f64) {
    if values.len() == PAST {
        values.pop_front();
    }
    values.push_back(value);
}

impl Prediction {
    /// A segment came with this throughput, bit/s.
    pub fn add(&mut self, bps: f64) {
        if let Some(mean) = self.harmonic_mean() {
            keep(&mut self.errors, (mean - bps).abs() / bps);
        }
        keep(&mut self.past, bps);
    }

    fn harmonic_mean(&self) -> Option<f64> {
        let inverse: f64 = self.past.iter().map(|bps| 1.0 / bps).sum();
        (inverse > 0.0).then(|| self.past.len() as f64 / inverse)
    }

    /// The lower bound of the throughput to come, bit/s; `None` before the first segment.
    pub fn lower_bound(&self) -> Option<f64> {
        let error = self.errors.iter().copied().fold(0.0, f64::max);
        self.harmonic_mean().map(|mean| mean / (1.0 + error))
    }
}

/// What the choice depends on.
pub struct Outlook<'a> {
    /// Rates of the levels, bit/s.
    pub rates: &'a [f64],
    /// Playing time of a segment, seconds.
    pub segment_s: f64,
    /// Throughput to come, bit/s.
    pub bps: f64,
}

impl Outlook<'_> {
    /// The level of the next of `left` segments, with `buffer_s` in the buffer after one of `level`.
    pub fn choose(&self, buffer_s: f64, level: usize, left: usize) -> usize {
        let mut best = (f64::NEG_INFINITY, 0);
        for first in 0..self.rates.len() {
            let qoe = self.best_from(buffer_s, level, first, left.min(HORIZON));
            if qoe >= best.0 {
                best = (qoe, first);
            }
        }
        best.1
    }

    /// The largest QoE of `left` segments whose first one has level `next`, Mbit/s.
    fn best_from(&self, buffer_s: f64, level: usize, next: usize, left: usize) -> f64 {
        let rate = self.rates[next];
        let download_s = rate * self.segment_s / self.bps;
        let stall_s = (download_s - buffer_s).max(0.0);
        let buffer_s = (buffer_s - download_s).max(0.0) + self.segment_s;
        let qoe = (rate - (rate - self.rates[level]).abs()) / 1e6 - STALL_WEIGHT * stall_s;
        if left <= 1 {
            return qoe;
        }
        let rest = (0..self.rates.len()).map(|after| self.best_from(buffer_s, next, after, left - 1));
        qoe + rest.fold(f64::NEG_INFINITY, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prediction_is_the_harmonic_mean_less_its_largest_error() {
        let mut prediction = Prediction::default();
        assert_eq!(prediction.lower_bound(), None);
        prediction.add(2e6);
        assert_eq!(prediction.lower_bound(), Some(2e6));
        // 2 predicted, 1 came: an error of 1. The mean of 2 and 1 is 4/3.
        prediction.add(1e6);
        assert!((prediction.lower_bound().unwrap_or(0.0) - 4e6 / 3.0 / 2.0).abs() < 1e-3);
        // The error leaves the last five after five more, and so do 2 and 1.
        (0..6).for_each(|_| prediction.add(3e6));
        let error = prediction.errors.iter().copied().fold(0.0, f64::max);
        assert!(error < 0.5 && prediction.past.iter().all(|bps| *bps == 3e6));
    }

    /// Two levels of 1 and 3 Mbit/s, segments of 4 s, 2 Mbit/s: a high segment takes 6 s, a low one 2 s. One segment ahead, from a
    /// low one: high gives 3 - 2 = 1 as long as the buffer has 6 s, low always 1, so that high (the last of equals) is
    /// chosen from 6 s on. Two ahead with 6 s: low low 2; high low 3 - 2 + 1 - 2 = 0; high high 1 + 3 - 4.3 x 2; low high
    /// 1 + 3 - 2 = 2 as the buffer has 8 s then. Low, to be followed by high.
    #[test]
    fn choices_are_those_computed_by_hand() {
        let outlook = Outlook { rates: &[1e6, 3e6], segment_s: 4.0, bps: 2e6 };
        assert_eq!([5.9, 6.0].map(|buffer_s| outlook.choose(buffer_s, 0, 1)), [0, 1]);
        assert_eq!(outlook.choose(6.0, 0, 2), 0);
        assert_eq!(outlook.choose(30.0, 1, 5), 1);
    }
}
