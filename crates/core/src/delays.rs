//! Delays in bounded memory: exact mean and extremes, and percentiles from a histogram.
//!
//! The histogram is log-linear, like HDR Histogram's, but in the distance from the first delay: a percentile is off by
//! at most 0.8 % of its distance from the first delay, plus 2 µs. The first packets of a flow meet a nearly empty path,
//! so the error is as small relative to the queueing delay, the part above the minimum: RFC 5481 (3.1), (4.2).
//!
//! Percentiles interpolate linearly between the two neighbouring samples, type 7 of Hyndman and Fan (1996), which is also
//! numpy's default. Left out: the order of the delays.

use crate::time::Duration;
use airpath_prefetch::prefetch;
use serde::Serialize;

/// Bits of the mantissa that distinguish buckets: 64 per octave.
const MANTISSA_BITS: u32 = 6;
/// Bits of the mantissa that do not.
const DROPPED_BITS: u32 = f64::MANTISSA_DIGITS - 1 - MANTISSA_BITS;

/// Added to each distance, nanoseconds: below it, buckets are equally wide, 4 µs.
const OFFSET: u64 = 1 << OFFSET_BITS;
const OFFSET_BITS: u64 = 18;

/// Leading bits of `OFFSET` as a floating-point number, whose exponent has a bias of 1023.
const FIRST_BUCKET: u64 = (1023 + OFFSET_BITS) << MANTISSA_BITS;

/// Step in which the number of buckets grows, four octaves. With many flows the buckets are a large part of the memory;
/// doubling would waste up to half of it.
const GROWTH: usize = 4 << MANTISSA_BITS;

/// Percentiles of a report, as shares.
const SHARES: [f64; 4] = [0.5, 0.9, 0.95, 0.99];

/// Delays of one kind, such as the round-trip times of a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// The first delay minus `OFFSET`, nanoseconds modulo 2^64; meaningless before there is one.
    origin: u64,
    sum: u64,
    min: u64,
    max: u64,
    /// Numbers of delays by how far they are above the first one.
    above: Vec<u32>,
    /// Numbers of delays by how far they are below it.
    below: Vec<u32>,
    /// Where in `above` the latest delay was counted.
    latest: u32,
}

/// Summary of delay samples, in milliseconds; `None` without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DelayReport {
    /// Mean of all samples.
    pub mean: Option<f64>,
    /// Minimum.
    pub min: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
    /// Number of samples.
    pub samples: u64,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

impl DelayReport {
    /// Packet delay variation: how far the delays are above their minimum, RFC 5481 (4.2). It is the queueing delay where
    /// one packet met empty queues and the rest of the path has a constant delay, RFC 5481 (3.1).
    #[must_use]
    pub fn variation(&self) -> Self {
        // A mean is rounded, and may be below the minimum.
        let above = |value: Option<f64>| value.zip(self.min).map(|(value, min)| (value - min).max(0.0));
        Self {
            mean: above(self.mean),
            min: above(self.min),
            max: above(self.max),
            samples: self.samples,
            p50: above(self.p50),
            p90: above(self.p90),
            p95: above(self.p95),
            p99: above(self.p99),
        }
    }
}

impl Delays {
    /// Starts to load the buckets around the latest delay, an octave of them: a queue changes slowly.
    pub(crate) fn prefetch(&self) {
        let first = (self.latest as usize).saturating_sub(1 << (MANTISSA_BITS - 1));
        let end = (first + (1 << MANTISSA_BITS)).min(self.above.len());
        prefetch(self.above.get(first..end).unwrap_or_default());
    }

    /// Counts a delay.
    #[inline]
    pub fn add(&mut self, delay: Duration) {
        let nanos = delay.as_nanos();
        self.sum = self.sum.wrapping_add(nanos);
        // A delay below the first one has a number beyond all buckets, as the difference wraps.
        let at = bucket(nanos.wrapping_sub(self.origin));
        if nanos <= self.max
            && let Some(count) = self.above.get_mut(at)
        {
            self.latest = at as u32;
            *count = count.wrapping_add(1);
            if *count == 0 {
                saturate(count);
            }
        } else {
            self.add_elsewhere(nanos);
        }
    }

    /// Counts the first delay, one below it, or one longer than any before.
    #[cold]
    #[inline(never)]
    fn add_elsewhere(&mut self, nanos: u64) {
        if self.above.is_empty() {
            (self.origin, self.min) = (nanos.wrapping_sub(OFFSET), nanos);
        }
        (self.min, self.max) = (self.min.min(nanos), self.max.max(nanos));
        let first = self.first();
        let counts = if nanos < first { &mut self.below } else { &mut self.above };
        let at = bucket(nanos.abs_diff(first) + OFFSET);
        if at >= counts.len() {
            let room = (at + 1).next_multiple_of(GROWTH);
            counts.reserve_exact(room - counts.len());
            counts.resize(room, 0);
        }
        counts[at] = counts[at].saturating_add(1);
    }

    fn first(&self) -> u64 {
        self.origin.wrapping_add(OFFSET)
    }

    /// Summary of the samples.
    pub fn report(&self) -> DelayReport {
        let samples = self.above.iter().chain(&self.below).copied().map(u64::from).sum();
        if samples == 0 {
            return DelayReport::default();
        }
        let ms = |nanos: u64| Duration::from_nanos(nanos).as_secs_f64() * 1e3;
        let (min, max) = (ms(self.min), ms(self.max));
        // Dividing may round a percentile to the other side of an extreme that it equals.
        let [p50, p90, p95, p99] = self.percentiles(samples).map(|nanos| Some((nanos / 1e6).clamp(min, max)));
        let mean = Some(ms(self.sum) / samples as f64);
        DelayReport { mean, min: Some(min), max: Some(max), samples, p50, p90, p95, p99 }
    }

    /// The delays below which each of `SHARES` lies, nanoseconds; there are `samples`.
    fn percentiles(&self, samples: u64) -> [f64; SHARES.len()] {
        let below = self.below.iter().enumerate().rev().map(|bucket| (bucket, -1.0));
        let mut buckets = below.chain(self.above.iter().enumerate().map(|bucket| (bucket, 1.0)));
        // The latest bucket with delays, which has the places from `start` to before `seen`, and the one before it: of the
        // two places around a share, the lower one may be there.
        let (mut at, mut before, mut start, mut seen) = ((0, 1.0), (0, 1.0), 0, 0);
        let mut at_place = |place: u64| {
            while seen <= place {
                let Some(((bucket, count), side)) = buckets.next() else { break };
                if *count > 0 {
                    (at, before, start, seen) = ((bucket, side), at, seen, seen + u64::from(*count));
                }
            }
            let (bucket, side) = if place < start { before } else { at };
            self.first() as f64 + side * middle(bucket)
        };
        SHARES.map(|share| {
            let place = share * (samples - 1) as f64;
            let whole = place as u64;
            let lower = at_place(whole);
            let rest = place - whole as f64;
            // Without a remainder to interpolate, the next place could be beyond the last.
            let upper = if rest > 0.0 { at_place(whole + 1) } else { lower };
            (lower + rest * (upper - lower)).clamp(self.min as f64, self.max as f64)
        })
    }
}

/// Keeps a bucket full that has counted 2^32 delays. Out of line: so the count above is one instruction and a jump.
#[cold]
#[inline(never)]
fn saturate(count: &mut u32) {
    *count = u32::MAX;
}

/// Bucket of a distance from the first delay, after `OFFSET` was added.
#[inline]
fn bucket(shifted: u64) -> usize {
    // Signed, which is one instruction; the leading bits of a floating-point number are a log-linear scale.
    let bits = (shifted as i64 as f64).to_bits() >> DROPPED_BITS;
    bits.wrapping_sub(FIRST_BUCKET) as usize
}

/// The distance from the first delay in the middle of a bucket, nanoseconds.
fn middle(bucket: usize) -> f64 {
    let lowest = (bucket as u64 + FIRST_BUCKET) << DROPPED_BITS;
    f64::from_bits(lowest + (1 << (DROPPED_BITS - 1))) - OFFSET as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(nanos: impl IntoIterator<Item = u64>) -> Delays {
        let mut delays = Delays::default();
        nanos.into_iter().for_each(|nanos| delays.add(Duration::from_nanos(nanos)));
        delays
    }

    /// Percentile `share` of `sorted`, by linear interpolation.
    fn exact(sorted: &[u64], share: f64) -> f64 {
        let place = share * (sorted.len() - 1) as f64;
        let (below, above) = (place.floor() as usize, place.ceil() as usize);
        sorted[below] as f64 + place.fract() * (sorted[above] as f64 - sorted[below] as f64)
    }

    #[test]
    fn equal_delays_have_exact_percentiles() {
        let report = of([60_000_000; 5]).report();
        let all = [report.mean, report.min, report.max, report.p50, report.p90, report.p95, report.p99];
        assert_eq!(all, [Some(60.0); 7]);
        assert_eq!(report.samples, 5);
        let above = report.variation();
        assert_eq!([above.mean, above.min, above.max, above.p50, above.p99], [Some(0.0); 5]);
    }

    #[test]
    fn percentiles_of_one_to_a_hundred_milliseconds_are_those_computed_by_hand() {
        let report = of((1..=100).map(|ms| ms * 1_000_000)).report();
        assert_eq!(
            (report.mean, report.min, report.max, report.samples),
            (Some(50.5), Some(1.0), Some(100.0), 100)
        );
        // Place p * 99 from 0, whose delay is p * 99 + 1 ms.
        for (found, expected) in
            [(report.p50, 50.5), (report.p90, 90.1), (report.p95, 95.05), (report.p99, 99.01)]
        {
            let found = found.expect("samples");
            assert!((found - expected).abs() <= 0.008 * expected + 0.002, "{found} for {expected}");
        }
    }

    #[test]
    fn percentiles_of_two_delays_lie_between_them() {
        let report = of([100_000_000, 200_000_000]).report();
        for (found, expected) in
            [(report.p50, 150.0), (report.p90, 190.0), (report.p95, 195.0), (report.p99, 199.0)]
        {
            let found = found.expect("samples");
            assert!((found - expected).abs() <= 0.8 + 0.002, "{found} for {expected}");
        }
    }

    #[test]
    fn nothing_is_known_without_a_delay() {
        assert_eq!(Delays::default().report(), DelayReport::default());
        assert_eq!(DelayReport::default().variation(), DelayReport::default());
    }

    #[test]
    fn memory_is_bounded_whatever_comes() {
        let delays = of([1 << 40, 0, u64::MAX >> 1, 1, 1 << 62]);
        assert!(delays.above.len() + delays.below.len() < 2 * 64 * 64);
        assert_eq!(delays.report().samples, 5);
    }

    proptest! {
        #[test]
        fn a_percentile_is_off_by_less_than_said(
            scale in 1..40_u32, nanos in prop::collection::vec(any::<u64>(), 1..200),
        ) {
            let mut nanos: Vec<u64> = nanos.iter().map(|nanos| nanos >> (63 - scale)).collect();
            let (first, report) = (nanos[0] as f64, of(nanos.iter().copied()).report());
            nanos.sort_unstable();
            let (min, max) = (report.min.expect("samples"), report.max.expect("samples"));
            for (share, known) in SHARES.into_iter().zip([report.p50, report.p90, report.p95, report.p99]) {
                let found_ms = known.expect("samples");
                prop_assert!((min..=max).contains(&found_ms), "{found_ms} is not within {min} and {max}");
                let (expected, found) = (exact(&nanos, share), found_ms * 1e6);
                let place = share * (nanos.len() - 1) as f64;
                // The worse bound applies: that of the neighbour further from the first delay.
                let off = [place.floor(), place.ceil()].map(|at| (nanos[at as usize] as f64 - first).abs());
                let bound = off[0].max(off[1]) / 128.0 + 2048.0 + 1.0;
                prop_assert!((found - expected).abs() <= bound, "{found} for {expected}, off by at most {bound}");
            }
            prop_assert_eq!(report.samples, nanos.len() as u64);
            prop_assert_eq!(report.min.map(|ms| (ms * 1e6).round() as u64), nanos.first().copied());
        }
    }
}
