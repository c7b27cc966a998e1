//! Linux's retransmission timeout: the smoothed RTT plus a variation that is never below `rto.min`. So RTO = SRTT +
//! max(4 * RTTVAR, 200 ms), where RFC 6298 (2.4) applies the minimum to the sum. P. Sarolahti, A. Kuznetsov,
//! "Congestion Control in Linux TCP", USENIX 2002, section 4.
//!
//! The variation is the largest mean deviation seen within a window of data: an increase counts at once, a decrease by
//! a quarter of the difference at the end of each window. A sample below the average changes the deviation only if it
//! is beyond the mean deviation, and then by an eighth of the usual weight: a decreasing RTT does not prolong the
//! timeout.
//!
//! Left out: the kernel's clock, whose ticks truncate timeouts to whole milliseconds or tens of them.

use crate::time::Duration;

/// Four times the deviations of the round-trip time, as the kernel keeps them.
#[derive(Clone, Copy, Debug)]
pub struct Variation {
    /// Four times the mean deviation, ns.
    deviation: u64,
    /// The largest of this window of data, ns.
    largest: u64,
    /// Part of the timeout added to the smoothed RTT, ns.
    added: u64,
    /// End of the present window of data.
    window_end: u64,
}

/// Sender state at a sample: acknowledged data and the end of the data sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// Oldest unacknowledged byte.
    pub una: u64,
    /// End offset (exclusive) of the data sent.
    pub max: u64,
}

impl Variation {
    /// The first sample: RFC 6298 (2.2), with the lower bound `min`.
    pub fn first(rtt: Duration, min: Duration, sent: Sent) -> Self {
        let deviation = 2 * rtt.as_nanos();
        let added = deviation.max(min.as_nanos());
        Self { deviation, largest: added, added, window_end: sent.max }
    }

    /// A further sample, the average before it being `srtt`. Gives the new average.
    pub fn on_sample(&mut self, srtt: Duration, rtt: Duration, min: Duration, sent: Sent) -> Duration {
        let (srtt, sample) = (srtt.as_nanos(), rtt.as_nanos());
        let distance = srtt.abs_diff(sample);
        let mean = self.deviation / 4;
        if distance < mean {
            self.deviation -= mean - distance;
        } else {
            let beyond = distance - mean;
            self.deviation += if sample < srtt { beyond / 8 } else { beyond };
        }
        if self.deviation > self.largest {
            self.largest = self.deviation;
            self.added = self.added.max(self.largest);
        }
        if sent.una > self.window_end {
            self.added -= self.added.saturating_sub(self.largest) / 4;
            self.largest = min.as_nanos();
            self.window_end = sent.max;
        }
        Duration::from_nanos(srtt - srtt / 8 + sample / 8)
    }

    /// Mean deviation, as `tcpi_rttvar`.
    pub fn mean_deviation(&self) -> Duration {
        Duration::from_nanos(self.deviation / 4)
    }

    /// The part of the timeout added to the smoothed RTT.
    pub fn added(&self) -> Duration {
        Duration::from_nanos(self.added)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn sent(una: u64, max: u64) -> Sent {
        Sent { una, max }
    }

    #[test]
    fn the_minimum_bounds_the_variation_and_not_the_whole() {
        let mut variation = Variation::first(ms(60), ms(200), sent(0, 10));
        // 4 * 30 ms is below the bound.
        assert_eq!((variation.added(), variation.mean_deviation()), (ms(200), ms(30)));
        let srtt = variation.on_sample(ms(60), ms(60), ms(200), sent(1, 10));
        assert_eq!((srtt, variation.added()), (ms(60), ms(200)));
        // 4 * 30 - 30: the deviation itself decays as in RFC 6298.
        assert_eq!(variation.mean_deviation(), Duration::from_nanos(22_500_000));
    }

    #[test]
    fn a_rise_counts_at_once_and_is_forgotten_by_a_quarter_for_each_window() {
        let mut variation = Variation::first(ms(400), ms(200), sent(0, 10));
        assert_eq!(variation.added(), ms(800));
        // A deviation of 600 ms: 800 + 600 - 200.
        let srtt = variation.on_sample(ms(400), ms(1000), ms(200), sent(1, 10));
        assert_eq!((srtt, variation.added()), (ms(475), ms(1200)));
        // The window ends with 11; its largest is 1200 ms. The deviation falls to 1200 - 300 within it.
        variation.on_sample(ms(475), ms(475), ms(200), sent(11, 30));
        assert_eq!(variation.added(), ms(1200));
        // In the next window, without deviation, the largest is 675 = 900 * 3/4.
        variation.on_sample(ms(475), ms(475), ms(200), sent(31, 60));
        assert_eq!(variation.added(), Duration::from_nanos(1_068_750_000));
    }

    #[test]
    fn a_fall_weighs_an_eighth() {
        let mut variation = Variation::first(ms(400), ms(200), sent(0, 10));
        // 400 ms below the average, 200 ms beyond the mean deviation.
        variation.on_sample(ms(400), Duration::ZERO, ms(200), sent(1, 10));
        assert_eq!(variation.added(), ms(825));
        let mut within = Variation::first(ms(400), ms(200), sent(0, 10));
        within.on_sample(ms(400), ms(300), ms(200), sent(1, 10));
        assert_eq!(within.mean_deviation(), ms(175));
    }
}
