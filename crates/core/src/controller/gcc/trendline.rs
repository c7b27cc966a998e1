//! Delay-based overuse detection: groups of packets, the trend of their delay, and a threshold that adapts.
//!
//! Groups and burst rule: draft-ietf-rmcat-gcc-02, 5.2. The draft filters delay gradients with a Kalman filter; libwebrtc has
//! replaced it by a line fitted through the smoothed delays of 20 groups, whose slope is compared with the threshold of
//! section 5.4. Constants: libwebrtc of June 2025.

use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// Packets sent within this time are one group.
const BURST_SPAN: Duration = Duration::from_millis(5);
/// A burst at the receiver that counts with a group lasts at most this long.
const LONGEST_BURST: Duration = Duration::from_millis(100);
/// After a pause of this length everything starts over.
const RESET_AFTER: Duration = Duration::from_secs(2);

/// What the delay says about the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Usage {
    /// The queue neither grows nor drains.
    #[default]
    Normal,
    /// The queue grows.
    Over,
    /// The queue drains.
    Under,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Instant,
    last_sent: Instant,
    first_arrival: Instant,
    last_arrival: Instant,
}

/// Detects overuse from the times of packets.
#[derive(Default)]
pub struct Trendline {
    current: Option<Group>,
    previous: Option<Group>,
    first_arrival: Option<Instant>,
    deltas: u32,
    accumulated_ms: f64,
    smoothed_ms: f64,
    /// Arrival of a group since the first one, and its smoothed delay, milliseconds.
    window: VecDeque<(f64, f64)>,
    trend: f64,
    previous_trend: f64,
    threshold: Threshold,
    over_ms: Option<f64>,
    over_count: u32,
    usage: Usage,
}

struct Threshold {
    value: f64,
    updated: Option<Instant>,
}

impl Default for Threshold {
    fn default() -> Self {
        Self { value: 12.5, updated: None }
    }
}

impl Threshold {
    /// Draft 5.4: the threshold follows the trend slowly upwards, fast downwards; outliers are ignored.
    fn update(&mut self, modified: f64, now: Instant) {
        let since = self.updated.replace(now).map_or(0.0, |before| ms(now.since(before)).min(100.0));
        let size = modified.abs();
        if size > self.value + 15.0 {
            return;
        }
        let gain = if size < self.value { 0.039 } else { 0.0087 };
        self.value = (self.value + gain * (size - self.value) * since).clamp(6.0, 600.0);
    }
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// `later - earlier` in milliseconds, of either sign.
fn difference_ms(later: Instant, earlier: Instant) -> f64 {
    (later.as_nanos() as i64).wrapping_sub(earlier.as_nanos() as i64) as f64 / 1e6
}

impl Trendline {
    /// The usage after the packets so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// A packet arrived.
    pub fn add(&mut self, sent: Instant, arrival: Instant) {
        if self.current.is_some_and(|group| arrival.since(group.last_arrival) > RESET_AFTER) {
            *self = Self::default();
        }
        self.first_arrival.get_or_insert(arrival);
        let new = Group { first_sent: sent, last_sent: sent, first_arrival: arrival, last_arrival: arrival };
        let Some(group) = &mut self.current else {
            self.current = Some(new);
            return;
        };
        if sent < group.first_sent {
            // Overtaken: of a group that is complete.
            return;
        }
        if belongs(group, sent, arrival) {
            group.last_sent = group.last_sent.max(sent);
            group.last_arrival = group.last_arrival.max(arrival);
            return;
        }
        let complete = *group;
        if let Some(previous) = self.previous.replace(complete) {
            let sent_ms = difference_ms(complete.last_sent, previous.last_sent);
            let arrival_ms = difference_ms(complete.last_arrival, previous.last_arrival);
            self.add_group(arrival_ms - sent_ms, sent_ms, complete.last_arrival);
        }
        self.current = Some(new);
    }

    fn add_group(&mut self, delta_ms: f64, sent_ms: f64, arrival: Instant) {
        self.deltas = (self.deltas + 1).min(1000);
        self.accumulated_ms += delta_ms;
        self.smoothed_ms = 0.9 * self.smoothed_ms + 0.1 * self.accumulated_ms;
        let since_first = self.first_arrival.map_or(0.0, |first| difference_ms(arrival, first));
        self.window.push_back((since_first, self.smoothed_ms));
        if self.window.len() > 20 {
            self.window.pop_front();
        }
        if self.window.len() == 20
            && let Some(slope) = slope(&self.window)
        {
            self.trend = slope;
        }
        self.detect(sent_ms, arrival);
    }

    fn detect(&mut self, sent_ms: f64, now: Instant) {
        if self.deltas < 2 {
            return;
        }
        let modified = f64::from(self.deltas.min(60)) * self.trend * 4.0;
        if modified > self.threshold.value {
            let over_ms = self.over_ms.map_or(sent_ms / 2.0, |over_ms| over_ms + sent_ms);
            self.over_ms = Some(over_ms);
            self.over_count += 1;
            if over_ms > 10.0 && self.over_count > 1 && self.trend >= self.previous_trend {
                (self.over_ms, self.over_count) = (Some(0.0), 0);
                self.usage = Usage::Over;
            }
        } else {
            (self.over_ms, self.over_count) = (None, 0);
            self.usage = if modified < -self.threshold.value { Usage::Under } else { Usage::Normal };
        }
        self.previous_trend = self.trend;
        self.threshold.update(modified, now);
    }
}

/// Whether a packet belongs to the group: sent together with it, or arrived in one burst with it although sent later.
fn belongs(group: &Group, sent: Instant, arrival: Instant) -> bool {
    if sent.since(group.first_sent) <= BURST_SPAN {
        return true;
    }
    let gap_ms = difference_ms(arrival, group.last_arrival);
    gap_ms - difference_ms(sent, group.last_sent) < 0.0
        && gap_ms <= ms(BURST_SPAN)
        && arrival.since(group.first_arrival) < LONGEST_BURST
}

/// Slope of the line of least squares.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / n, sum.1 + point.1 / n));
    let (mut covariance, mut variance) = (0.0, 0.0);
    for point in points {
        covariance += (point.0 - x) * (point.1 - y);
        variance += (point.0 - x) * (point.0 - x);
    }
    (variance > 0.0).then(|| covariance / variance)
}
