//! How late packets left, compared with the model: the measure of whether a live run was valid.

use airpath_core::time::{Duration, Instant};
use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// Lateness of every packet that left: actual write time minus the model's departure time.
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

    /// The figures for the results, microseconds. `bound_us` is the p99 that a valid run does not pass. The histogram
    /// has of each bucket that is not empty its upper edge, and the packets in it.
    pub fn report(&self, bound_us: f64) -> Value {
        let buckets = self.histogram.iter_log(1000, 2.0);
        let buckets = buckets.map(|one| (us(one.value_iterated_to()), one.count_since_last_iteration()));
        json!({
            "samples": self.histogram.len(),
            "p50": self.quantile_us(0.5),
            "p90": self.quantile_us(0.9),
            "p99": self.quantile_us(0.99),
            "max": us(self.histogram.max()),
            "bound": bound_us,
            "histogram": buckets.filter(|(_, packets)| *packets > 0).collect::<Vec<_>>(),
        })
    }
}

fn us(nanos: u64) -> f64 {
    nanos as f64 / 1e3
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
        assert_eq!((&report["samples"], &report["bound"]), (&json!(1001), &json!(700.0)));
        for (name, expected) in [("p50", 500.0), ("p90", 900.0), ("p99", 990.0)] {
            let found = report[name].as_f64().unwrap();
            assert!((found / expected - 1.0_f64).abs() < 0.01, "{found} instead of {expected}");
        }
        let histogram: Vec<(f64, u64)> = serde_json::from_value(report["histogram"].clone()).unwrap();
        assert_eq!(histogram.iter().map(|(_, count)| count).sum::<u64>(), 1001);
        assert!(histogram.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
