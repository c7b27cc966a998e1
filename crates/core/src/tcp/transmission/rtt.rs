//! RTT sampling: which acknowledged segments give a sample.

use super::Transmission;
use crate::tcp::{Config, RttSampling, timestamp};
use crate::time::{Duration, Instant};

/// Takes round-trip times.
pub struct RttMeter {
    /// ACKs echo timestamps.
    pub has_timestamps: bool,
    sampling: RttSampling,
    /// With one sample at a time: the end of the segment being timed, and when it was sent.
    timed: Option<(u64, Instant)>,
    /// The latest sample, until it is taken.
    pub latest: Option<Duration>,
}

impl RttMeter {
    pub fn new(config: &Config) -> Self {
        let (has_timestamps, sampling) = (config.timestamps, config.rtt_sampling);
        Self { has_timestamps, sampling, timed: None, latest: None }
    }

    /// New data up to `end` is sent.
    #[inline]
    pub fn on_new(&mut self, now: Instant, end: u64) {
        if self.timed.is_none() && self.sampling == RttSampling::OnePerWindow {
            self.timed = Some((end, now));
        }
    }

    /// The segment being timed is retransmitted, or its ACK was withheld: it gives no sample.
    pub fn forget(&mut self) {
        self.timed = None;
    }
}

impl Transmission {
    /// An ACK has advanced to `ack`. The oldest segment that it acknowledges was sent at `sent_at`, if all were sent
    /// once. Returns whether this gives a round-trip time.
    #[inline(always)]
    pub(super) fn sample_acked(
        &mut self,
        now: Instant,
        ack: u64,
        sent_at: Option<Instant>,
        ts_ecr: u32,
    ) -> bool {
        if self.rtt.has_timestamps {
            self.sample_echoed(now, ts_ecr);
            return true;
        }
        let sent_at = match self.rtt.sampling {
            RttSampling::EverySegment => sent_at,
            RttSampling::OnePerWindow => self.rtt.timed.take_if(|(end, _)| ack >= *end).map(|timed| timed.1),
        };
        if let Some(sent_at) = sent_at {
            self.sample(now, sent_at);
        }
        sent_at.is_some()
    }

    /// A segment sent at `sent_at` was acknowledged.
    #[inline(always)]
    pub fn sample(&mut self, now: Instant, sent_at: Instant) {
        self.rto.on_sample(now, sent_at);
        let rtt = now.since(sent_at);
        self.count_sample(rtt, rtt);
    }

    /// An ACK that advances echoes a timestamp: RFC 7323 (4.1).
    pub fn sample_echoed(&mut self, now: Instant, ts_ecr: u32) {
        let elapsed = timestamp(now).wrapping_sub(ts_ecr);
        let rtt = Duration::from_millis(u64::from(elapsed));
        self.rto.on_echoed_sample(rtt);
        self.count_sample(rtt, rtt);
    }

    /// Counts an RTT sample; notifies the congestion control of the `newest` one of its ACK.
    #[inline]
    pub fn count_sample(&mut self, rtt: Duration, newest: Duration) {
        self.rtts.add(rtt);
        self.rtt.latest = Some(rtt);
        if self.cc_measures {
            self.cc.on_rtt_sample(newest);
        }
    }
}
