//! How late packets left, compared with the model: the measure of whether a live run was valid.

use airpath_core::time::{Duration, Instant};
use hdrhistogram::Histogram;
use serde::Serialize;

/// Lateness of every packet that left: the time at which it was written minus the model's time for it.
#[derive(Debug)]
pub struct Lateness {
    /// Nanoseconds.
    histogram: Histogram<u64>,
}

/// Longer than this is counted as this.
const LONGEST: Duration = Duration::from_secs(3600);
/// Two digits are enough for a quantile, and keep the histogram small.
const DIGITS: u8 = 2;

impl Default for Lateness {
    fn default() -> Self {
        // Fails for bounds out of order or more than five digits only.
        #[allow(clippy::expect_used)]
        let histogram = Histogram::new_with_bounds(1, LONGEST.as_nanos(), DIGITS).expect("sound bounds");
        Self { histogram }
    }
}

impl Lateness {
    /// A packet that left the model at `due` was written at `written`.
    pub fn record(&mut self, due: Instant, written: Instant) {
        self.histogram.saturating_record(written.since(due).as_nanos());
    }

    /// The value that a share of all packets, 0 to 1, did not exceed; microseconds.
    pub fn quantile_us(&self, share: f64) -> f64 {
        us(self.histogram.value_at_quantile(share))
    }

    /// The figures for the results. `bound_us` is the p99 that a valid run does not pass.
    pub fn report(&self, bound_us: f64) -> Report {
        let buckets =
            self.histogram.iter_log(1000, 2.0).filter(|bucket| bucket.count_since_last_iteration() > 0);
        Report {
            samples: self.histogram.len(),
            p50: self.quantile_us(0.5),
            p90: self.quantile_us(0.9),
            p99: self.quantile_us(0.99),
            max: us(self.histogram.max()),
            bound: bound_us,
            histogram: buckets
                .map(|bucket| (us(bucket.value_iterated_to()), bucket.count_since_last_iteration()))
                .collect(),
        }
    }
}

fn us(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// Lateness in microseconds, as it stands in results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Packets that left.
    pub samples: u64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// The largest.
    pub max: f64,
    /// The largest 99th percentile of a valid run.
    pub bound: f64,
    /// Upper edge of each bucket that is not empty, and packets in it.
    pub histogram: Vec<(f64, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_what_was_recorded() {
        let mut lateness = Lateness::default();
        for us in 1..=1000 {
            lateness.record(Instant::ZERO, Instant::from_nanos(us * 1000));
        }
        // Early is not late.
        lateness.record(Instant::from_nanos(5000), Instant::ZERO);
        let report = lateness.report(700.0);
        assert_eq!((report.samples, report.bound), (1001, 700.0));
        for (found, expected) in [(report.p50, 500.0), (report.p90, 900.0), (report.p99, 990.0)] {
            assert!((found / expected - 1.0_f64).abs() < 0.01, "{found} instead of {expected}");
        }
        let counted: u64 = report.histogram.iter().map(|(_, count)| count).sum();
        assert_eq!(counted, 1001);
        assert!(report.histogram.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
