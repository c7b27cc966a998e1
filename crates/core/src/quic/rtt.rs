//! Estimation of the round-trip time: RFC 9002 (5).

use crate::time::Duration;

/// Granularity of timers: RFC 9002 (6.1.2).
pub const GRANULARITY: Duration = Duration::from_millis(1);
/// Round-trip time before the first sample: RFC 9002 (6.2.2).
const INITIAL: Duration = Duration::from_millis(333);

/// The estimate.
#[derive(Clone, Copy, Debug)]
pub struct Rtt {
    /// The latest sample.
    pub latest: Duration,
    /// The smoothed round-trip time.
    pub smoothed: Duration,
    /// Mean deviation of the samples.
    pub variation: Duration,
    /// The smallest sample; `None` before the first.
    pub min: Option<Duration>,
}

impl Default for Rtt {
    fn default() -> Self {
        Self { latest: INITIAL, smoothed: INITIAL, variation: half(INITIAL), min: None }
    }
}

fn half(time: Duration) -> Duration {
    Duration::from_nanos(time.as_nanos() / 2)
}

impl Rtt {
    /// A sample, and how long the receiver says that it delayed the ACK: (5.3).
    pub fn add(&mut self, sample: Duration, ack_delay: Duration) {
        self.latest = sample;
        let Some(min) = self.min else {
            (self.min, self.smoothed, self.variation) = (Some(sample), sample, half(sample));
            return;
        };
        let min = min.min(sample);
        self.min = Some(min);
        let adjusted = if sample >= min + ack_delay { sample.saturating_sub(ack_delay) } else { sample };
        let deviation = self.smoothed.as_nanos().abs_diff(adjusted.as_nanos());
        self.variation = Duration::from_nanos((3 * self.variation.as_nanos() + deviation) / 4);
        self.smoothed = Duration::from_nanos((7 * self.smoothed.as_nanos() + adjusted.as_nanos()) / 8);
    }

    /// The time threshold of losses: (6.1.2).
    pub fn loss_delay(&self) -> Duration {
        let longest = self.latest.max(self.smoothed);
        Duration::from_nanos(longest.as_nanos() * 9 / 8).max(GRANULARITY)
    }

    /// The probe timeout without ACK delay and backoff: (6.2.1).
    pub fn probe_timeout(&self) -> Duration {
        self.smoothed + self.variation.saturating_mul(4).max(GRANULARITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_those_computed_by_hand() {
        let ms = Duration::from_millis;
        let mut rtt = Rtt::default();
        // (6.2.2): before a sample a probe timeout is 333 ms and four times half of it.
        assert_eq!(rtt.probe_timeout(), ms(999));
        rtt.add(ms(100), ms(20));
        assert_eq!((rtt.smoothed, rtt.variation, rtt.probe_timeout()), (ms(100), ms(50), ms(300)));
        // 160 ms less a delay of 20: smoothed 7/8 * 100 + 140/8 = 105, variation 3/4 * 50 + 40/4 = 47.5.
        rtt.add(ms(160), ms(20));
        assert_eq!((rtt.smoothed, rtt.variation), (ms(105), Duration::from_nanos(47_500_000)));
        // The delay does not take a sample below the minimum.
        rtt.add(ms(105), ms(20));
        assert_eq!(rtt.smoothed, ms(105));
        // 9/8 of the larger of the latest and the smoothed.
        assert_eq!(rtt.loss_delay(), Duration::from_nanos(118_125_000));
    }
}
