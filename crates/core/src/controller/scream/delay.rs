//! Delays as SCReAM reads them from feedback: smoothed RTT, queueing delay above the base delay, and how much both vary.

use crate::controller::Feedback;
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// The base delay is the least of these many minutes: RFC 6817.
const BASE_MINUTES: usize = 10;
/// Weight of a new sample where the queueing delay rises; it falls at once.
const AVERAGE_GAIN: f64 = 0.25;
/// Weight of a new sample in the averages of jitter, and the jitter from which the window hardly grows, seconds.
const JITTER_GAIN: f64 = 1.0 / 32.0;
const JITTER_S: f64 = 0.01;
/// A queueing delay above this for so long is no queue of this sender, or must be drained: libwebrtc.
const DRAINED_BELOW_S: f64 = 0.005;
const LONGEST_QUEUE_S: f64 = 20.0;
/// The time for which the rate is halved to drain it: libwebrtc.
const DRAIN_RTTS: f64 = 5.0;
const SHORTEST_DRAIN_S: f64 = 0.1;

/// Seconds since an instant; infinite if it never was.
pub fn since_s(now: Instant, before: Option<Instant>) -> f64 {
    before.map_or(f64::INFINITY, |before| now.since(before).as_secs_f64())
}

/// Follows the delays.
#[derive(Default)]
pub struct Delay {
    /// Smoothed RTT, seconds.
    srtt_s: Option<f64>,
    /// Time from the arrival of the first packet of a report until the report, smoothed, seconds.
    pub hold_s: f64,
    /// Shortest one-way delay of each of the last minutes, newest last, and when the newest began.
    base: VecDeque<f64>,
    base_since: Option<Instant>,
    /// Queueing delay of the latest feedback, seconds: the least of its packets.
    pub queue_s: f64,
    /// Its average.
    pub average_s: f64,
    averaged: Option<Instant>,
    /// Average of the queueing delay and of the range of one-way delays in a report, both at most 20 ms.
    least_s: f64,
    range_s: f64,
    /// Since when the queue has not been empty, and since when it is drained.
    queued: Option<Instant>,
    draining: Option<Instant>,
}

impl Delay {
    /// Smoothed RTT, seconds; 50 ms before there is feedback.
    pub fn srtt(&self) -> f64 {
        self.srtt_s.unwrap_or(0.05)
    }

    /// Feedback arrived. The average of the queueing delay takes a sample at most each `interval_s`.
    pub fn update(&mut self, now: Instant, feedback: &Feedback<'_>, interval_s: f64) {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut first, mut last) = (None, None);
        for packet in feedback.packets {
            let Some(arrived) = packet.arrived_at else { continue };
            let delay_ns = (arrived.as_nanos() as i64).wrapping_sub(packet.sent_at.as_nanos() as i64);
            (least, most) = (least.min(delay_ns as f64 / 1e9), most.max(delay_ns as f64 / 1e9));
            first = Some(first.map_or(arrived, |first: Instant| first.min(arrived)));
            last = Some(packet);
        }
        let (Some(rtt), Some(first), Some(last)) = (feedback.rtt, first, last) else { return };
        let rtt_s = rtt.as_secs_f64();
        self.srtt_s = Some(self.srtt_s.map_or(rtt_s, |srtt| srtt + (rtt_s - srtt) / 8.0));
        // What is neither path nor the time between first and last arrival is the report's own wait.
        let held = now.since(last.sent_at).saturating_sub(rtt);
        let arrivals = last.arrived_at.map_or(Duration::ZERO, |arrived| arrived.since(first));
        let hold_s = (held + arrivals).as_secs_f64();
        self.hold_s = if self.hold_s > 0.0 { self.hold_s + (hold_s - self.hold_s) / 8.0 } else { hold_s };
        self.update_base(now, least);
        let queue_s = least - self.base_s();
        if since_s(now, self.averaged) >= interval_s {
            let gain = if queue_s < self.average_s { 1.0 } else { AVERAGE_GAIN };
            self.average_s += gain * (queue_s - self.average_s);
            self.averaged = Some(now);
        }
        self.queue_s = queue_s;
        self.least_s += JITTER_GAIN * (queue_s.min(2.0 * JITTER_S) - self.least_s);
        self.range_s += JITTER_GAIN * ((most - least).min(2.0 * JITTER_S) - self.range_s);
    }

    fn base_s(&self) -> f64 {
        self.base.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn update_base(&mut self, now: Instant, least: f64) {
        if since_s(now, self.base_since) >= 60.0 {
            self.base.push_back(least);
            self.base_since = Some(now);
            if self.base.len() > BASE_MINUTES {
                self.base.pop_front();
            }
        }
        if let Some(newest) = self.base.back_mut() {
            *newest = newest.min(least);
        }
    }

    /// How far the window may grow and exceed itself, by the average of the queueing delay: 1 up to 2.5 ms, `floor` at 10 ms.
    pub fn scale_by_queue(&self, floor: f64) -> f64 {
        (0.1 + 1.2 * (JITTER_S - self.least_s) / JITTER_S).clamp(floor, 1.0)
    }

    /// How far the window may grow, by the average range of delays in a report.
    pub fn scale_by_range(&self) -> f64 {
        (0.1 + 1.2 * (JITTER_S - self.range_s) / JITTER_S).clamp(0.1, 1.0)
    }

    /// Whether the rate must be halved now, as the queue has not been empty for 20 s. If that does not help, the base delay is
    /// measured again: the path has become longer.
    pub fn drains(&mut self, now: Instant) -> bool {
        if self.queue_s <= DRAINED_BELOW_S {
            (self.queued, self.draining) = (None, None);
            return false;
        }
        let queued = *self.queued.get_or_insert(now);
        if since_s(now, Some(queued)) < LONGEST_QUEUE_S {
            return false;
        }
        let draining = *self.draining.get_or_insert(now);
        if since_s(now, Some(draining)) < (DRAIN_RTTS * self.srtt()).max(SHORTEST_DRAIN_S) {
            return true;
        }
        *self = Self { srtt_s: self.srtt_s, hold_s: self.hold_s, ..Self::default() };
        false
    }
}
