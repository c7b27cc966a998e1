//! Bytes in flight over time, and the free part of the receiver's window.

use airpath_core::time::Instant;
use serde::Serialize;

use crate::series::{Curve, Series};

/// Bytes in flight between the place of the capture and the ACKs.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    latest: Option<Instant>,
    now: u64,
    window: Option<u64>,
    full_segment: u64,
    largest: u64,
    /// Integral of bytes over time.
    byte_seconds: f64,
    idle_s: f64,
    limited_s: f64,
    known_window_s: f64,
    closed_s: f64,
    total_s: f64,
    smallest_window: Option<u64>,
    largest_window: Option<u64>,
    zero_windows: u64,
    series: Series,
    windows: Series,
}

/// Flight and windows as reported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Most bytes in flight; `None`, as the mean, without a captured ACK.
    pub max_bytes: Option<u64>,
    /// Mean over the time from the first data to the last ACK.
    pub mean_bytes: Option<f64>,
    /// Share of this time in which nothing was in flight.
    pub idle_share: Option<f64>,
    /// Share of the time in which less than a segment more would have fitted the receiver's window; `None` if the
    /// window is not known.
    pub window_limited_share: Option<f64>,
    /// Share of the time in which the window held no segment at all.
    pub window_closed_share: Option<f64>,
    /// Smallest window announced.
    pub min_window_bytes: Option<u64>,
    /// Largest window announced.
    pub max_window_bytes: Option<u64>,
    /// Number of times that a zero window was advertised after a larger one.
    pub zero_windows: u64,
    /// Bytes in flight over time.
    pub over_time: Curve,
    /// The receiver's window over time, bytes.
    pub window_over_time: Curve,
}

impl Flight {
    pub fn set(&mut self, now: Instant, bytes: u64, full_segment: u64) {
        self.pass(now);
        self.now = bytes;
        self.full_segment = full_segment;
        self.largest = self.largest.max(bytes);
        self.series.add(now, bytes as f64);
    }

    /// The receiver advertises a window; `None` if it is unknown.
    pub fn set_window(&mut self, now: Instant, window: Option<u64>) {
        if window == self.window {
            return;
        }
        self.pass(now);
        if let Some(bytes) = window {
            self.zero_windows += u64::from(bytes == 0 && self.window.is_some());
            self.smallest_window = Some(self.smallest_window.map_or(bytes, |least| least.min(bytes)));
            self.largest_window = self.largest_window.max(window);
            self.windows.add(now, bytes as f64);
        }
        self.window = window;
    }

    /// Time passes: nothing is counted before the first data.
    fn pass(&mut self, now: Instant) {
        if self.latest.is_none() && self.full_segment == 0 {
            return;
        }
        let Some(latest) = self.latest.replace(now) else { return };
        let seconds = now.since(latest).as_secs_f64();
        self.total_s += seconds;
        self.byte_seconds += self.now as f64 * seconds;
        if self.now == 0 {
            self.idle_s += seconds;
        }
        if let Some(window) = self.window {
            self.known_window_s += seconds;
            // A closed window limits a sender that has nothing in flight, too.
            if (self.now > 0 || window == 0) && self.now + self.full_segment > window {
                self.limited_s += seconds;
            }
            if window < self.full_segment {
                self.closed_s += seconds;
            }
        }
    }

    pub fn start(&mut self, now: Instant) {
        self.latest.get_or_insert(now);
    }

    /// The receiver's window.
    pub fn window(&self) -> Option<u64> {
        self.window
    }

    pub fn report(&self, start: Instant) -> Report {
        let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        Report {
            max_bytes: Some(self.largest),
            mean_bytes: share(self.byte_seconds, self.total_s),
            idle_share: share(self.idle_s, self.total_s),
            window_limited_share: share(self.limited_s, self.known_window_s),
            window_closed_share: share(self.closed_s, self.known_window_s),
            min_window_bytes: self.smallest_window,
            max_window_bytes: self.largest_window,
            zero_windows: self.zero_windows,
            over_time: self.series.curve(start, 1.0),
            window_over_time: self.windows.curve(start, 1.0),
        }
    }

    pub fn bytes(&self) -> usize {
        self.series.bytes() + self.windows.bytes()
    }
}
