//! Something over time in bounded memory: bins of equal width that double when there are too many.

use airpath_core::time::{Duration, Instant};
use serde::Serialize;

/// Never more bins than this.
const MOST_BINS: usize = 256;
const FIRST_WIDTH: Duration = Duration::from_millis(10);

/// A quantity over time.
#[derive(Clone, Debug, Default)]
pub struct Series {
    origin: Option<Instant>,
    width: Duration,
    bins: Vec<Bin>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    count: u32,
    sum: f64,
    min: f32,
    max: f32,
}

/// A series as reported: for each bin with samples its middle, in seconds since the connection's first packet,
/// and the mean, the smallest and the largest sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curve {
    /// Middles of the bins, seconds.
    pub time_s: Vec<f64>,
    pub mean: Vec<f64>,
    pub min: Vec<f64>,
    pub max: Vec<f64>,
}

/// Events over time as reported: for each bin with any its middle, in seconds since the connection's first packet, and
/// their number.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Marks {
    /// Middles of the bins, seconds.
    pub time_s: Vec<f64>,
    /// Events in them.
    pub count: Vec<u32>,
}

/// Growth rate of a sum: means over consecutive intervals of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rates {
    /// Start of the first, in seconds since the connection's first packet.
    pub start_s: f64,
    /// Length of each, seconds.
    pub width_s: f64,
    pub bps: Vec<f64>,
}

impl Series {
    /// Adds a sample; times do not decrease.
    pub fn add(&mut self, at: Instant, value: f64) {
        let origin = *self.origin.get_or_insert(at);
        if self.width.is_zero() {
            self.width = FIRST_WIDTH;
        }
        let since = at.since(origin).as_nanos();
        while since / self.width.as_nanos() >= MOST_BINS as u64 {
            self.halve();
        }
        let at_bin = (since / self.width.as_nanos()) as usize;
        if self.bins.len() <= at_bin {
            self.bins.resize(at_bin + 1, Bin::default());
        }
        self.bins[at_bin].join(Bin { count: 1, sum: value, min: value as f32, max: value as f32 });
    }

    fn halve(&mut self) {
        let bins = self.bins.len().div_ceil(2);
        for at in 0..bins {
            let mut bin = self.bins[2 * at];
            if let Some(&second) = self.bins.get(2 * at + 1) {
                bin.join(second);
            }
            self.bins[at] = bin;
        }
        self.bins.truncate(bins);
        self.width = self.width.saturating_mul(2);
    }

    /// The curve so far, times in seconds since `start`, values times `scale`.
    pub fn curve(&self, start: Instant, scale: f64) -> Curve {
        let mut curve = Curve::default();
        for (time_s, bin) in self.filled(start) {
            curve.time_s.push(time_s);
            curve.mean.push(bin.sum / f64::from(bin.count) * scale);
            curve.min.push(f64::from(bin.min) * scale);
            curve.max.push(f64::from(bin.max) * scale);
        }
        curve
    }

    /// Growth rate of the samples, which are total bytes so far, in each bin; times in seconds since `start`.
    pub fn rates(&self, start: Instant) -> Rates {
        let width_s = self.width.as_secs_f64();
        let start_s = self.origin.map_or(0.0, |origin| origin.since(start).as_secs_f64());
        let mut sum = 0.0_f32;
        let grown = self.bins.iter().map(|bin| {
            let before = sum;
            sum = if bin.count > 0 { bin.max.max(sum) } else { sum };
            f64::from(sum - before) * 8.0 / width_s
        });
        Rates { start_s, width_s, bps: grown.collect() }
    }

    /// Number of samples over time, in seconds since `start`.
    pub fn marks(&self, start: Instant) -> Marks {
        let (time_s, count) = self.filled(start).map(|(time_s, bin)| (time_s, bin.count)).unzip();
        Marks { time_s, count }
    }

    /// Bins with samples, and their middles in seconds since `start`.
    fn filled(&self, start: Instant) -> impl Iterator<Item = (f64, &Bin)> {
        let from = self.origin.map_or(0.0, |origin| origin.since(start).as_secs_f64());
        let width = self.width.as_secs_f64();
        let bins = self.bins.iter().enumerate().filter(|(_, bin)| bin.count > 0);
        bins.map(move |(at, bin)| (from + (at as f64 + 0.5) * width, bin))
    }

    pub fn bytes(&self) -> usize {
        size_of::<Bin>() * self.bins.capacity()
    }
}

impl Bin {
    fn join(&mut self, other: Self) {
        match (self.count, other.count) {
            (_, 0) => {}
            (0, _) => *self = other,
            _ => {
                self.count = self.count.saturating_add(other.count);
                self.sum += other.sum;
                self.min = self.min.min(other.min);
                self.max = self.max.max(other.max);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_grows_at_its_rate_and_stands_still_without_samples() {
        let mut series = Series::default();
        for ms in (0..1000_u64).filter(|ms| !(400..600).contains(ms)) {
            series.add(
                Instant::from_nanos(ms * 1_000_000),
                (125 * (ms.min(400) + ms.max(600) - 600 + 1)) as f64,
            );
        }
        let rates = series.rates(Instant::ZERO);
        assert_eq!((rates.start_s, rates.width_s, rates.bps.len()), (0.0, 0.01, 100));
        let whole: f64 = rates.bps.iter().map(|bps| bps * rates.width_s / 8.0).sum();
        assert!((whole - 100_000.0).abs() < 1e-6, "{whole}");
        assert!((rates.bps[20] - 1e6).abs() < 1.0 && rates.bps[50] == 0.0, "{:?}", rates.bps);
    }

    #[test]
    fn bins_double_and_nothing_is_lost() {
        let mut series = Series::default();
        for second in 0..10_000_u64 {
            series.add(Instant::from_nanos(second * 1_000_000_000), second as f64);
        }
        let curve = series.curve(Instant::ZERO, 1.0);
        assert!(curve.time_s.len() <= MOST_BINS && curve.time_s.len() > MOST_BINS / 3);
        assert_eq!((curve.min[0], curve.max[curve.max.len() - 1]), (0.0, 9999.0));
        assert!(curve.mean.windows(2).all(|pair| pair[0] < pair[1]));
        series.add(Instant::from_nanos(u64::MAX / 2), 1.0);
        assert!(series.curve(Instant::ZERO, 1.0).time_s.len() <= MOST_BINS);
    }
}
