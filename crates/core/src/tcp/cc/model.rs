//! Congestion controls that model the path: they receive the bytes and the delivery rate of each ACK, and set the
//! window and the pacing rate themselves.
//!
//! Such a control is a [`CongestionControl`](super::CongestionControl) whose [`model`](super::CongestionControl::model)
//! returns itself. Its sender then measures delivery rates (`transmission/delivery`), paces, and leaves the window to
//! it: slow start, proportional rate reduction and restarts after a pause do not touch it.

use super::Pace;
use crate::rng::Stream;
use crate::tcp::window::state::{Phase, Window};
use crate::time::{Duration, Instant};

/// A delivery rate, measured between the sending of a segment and its ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Bytes delivered in the interval.
    pub delivered: u64,
    /// The interval: the longer of the times in which they were sent and acknowledged.
    pub interval: Duration,
    /// The application, not the window, limited the flight.
    pub is_app_limited: bool,
}

impl RateSample {
    /// The rate, B/s.
    pub fn rate(&self) -> f64 {
        self.delivered as f64 / self.interval.as_secs_f64()
    }
}

/// Measurements of the path from one ACK. Volumes are bytes.
#[derive(Clone, Copy, Debug)]
pub struct PathAck {
    /// When it arrived.
    pub now: Instant,
    /// The delivery rate; `None` if it is unknown.
    pub sample: Option<RateSample>,
    /// Bytes delivered when the most recently sent segment that this ACK reports was sent; `None` if it reports none.
    pub prior_delivered: Option<u64>,
    /// In flight when that segment was sent, itself included.
    pub tx_in_flight: u64,
    /// Marked lost since that segment was sent.
    pub lost_since: u64,
    /// The round-trip time of that segment, if it was sent once.
    pub rtt: Option<Duration>,
    /// The receiver may have held the ACK back: it covers less than a full segment.
    pub may_be_delayed: bool,
    /// Reported for the first time.
    pub newly_acked: u64,
    /// Newly marked lost.
    pub newly_lost: u64,
    /// In flight before this ACK.
    pub prior_in_flight: u64,
    /// In flight now.
    pub in_flight: u64,
    /// Delivered since the connection began.
    pub delivered: u64,
    /// When it was delivered last.
    pub delivered_at: Instant,
    /// Marked lost since the connection began.
    pub lost: u64,
    /// Delivered with CE since the connection began; `None` without accurate ECN.
    pub marked: Option<u64>,
    /// And since the latest segment was sent that this ACK reports.
    pub marked_since: u64,
    /// Phase of the loss recovery.
    pub phase: Phase,
    /// The congestion window, and nothing else, keeps data back.
    pub is_window_limited: bool,
    /// When the pacer releases the next segment.
    pub next_send: Instant,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
}

/// A segment that has been marked lost.
#[derive(Clone, Copy, Debug)]
pub struct LostSegment {
    /// Its payload, bytes.
    pub len: u64,
    /// In flight when it was sent, itself included, bytes.
    pub tx_in_flight: u64,
    /// Marked lost since it was sent, itself included, bytes.
    pub lost_since: u64,
    /// Whether the application limited the flight.
    pub is_app_limited: bool,
    /// Delivered since the connection began, bytes.
    pub delivered: u64,
}

/// A congestion control that models the path.
pub trait PathModel {
    /// Sets its random stream, before anything is sent.
    fn seed(&mut self, stream: Stream);

    /// The connection is open; `srtt` is zero if its set-up gave no round-trip time.
    fn on_established(&mut self, now: Instant, srtt: Duration, window: &Window);

    /// An ACK arrived, and losses have been marked. Sets the window. Returns whether the sender counts as
    /// application-limited until the data in flight is delivered, regardless of pending data.
    fn on_path(&mut self, ack: &PathAck, window: &mut Window) -> bool;

    /// A segment was marked lost; called before the ACK or timeout that caused this is processed.
    fn on_lost(&mut self, _now: Instant, _lost: &LostSegment, _window: &Window) {}

    /// Data is about to be sent after an application-limited pause with nothing in flight.
    fn on_restart(&mut self, now: Instant, window: &mut Window);

    /// Pacing rate, B/s of payload.
    fn pacing_rate(&self) -> f64;

    /// State of the model for reports.
    fn view(&self) -> ModelView;
}

/// State of a control that models the path, for traces and results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelView {
    /// Its state, in the words of its specification.
    pub state: crate::trace::ModelState,
    /// Estimated bandwidth of the bottleneck, B/s.
    pub bandwidth: f64,
    /// Recent minimum RTT.
    pub min_rtt: Option<Duration>,
    /// Upper bound on the data in flight, inferred from a loss, bytes.
    pub inflight_limit: Option<f64>,
    /// Allowance of the window for aggregated ACKs, bytes.
    pub extra_acked: f64,
}

/// Burst that a pacer sends at once: a millisecond of its rate up to 64 kB, at least two segments, one below 1.2
/// Mbit/s. As in Linux, which adds more below an RTT of some milliseconds, which no cellular link has.
pub fn burst(rate: f64, mss: f64) -> u64 {
    burst_of(&Pace::default(), rate, mss)
}

/// The same, of pacing like this.
pub fn burst_of(pace: &Pace, rate: f64, mss: f64) -> u64 {
    const SLOW: f64 = 1_200_000.0 / 8.0;
    let least = if rate < SLOW { mss } else { pace.least_segments * mss };
    (rate / pace.bursts).min(65_536.0).max(least) as u64
}

/// The largest value in a sliding window of counts (rounds or cycles).
#[derive(Clone, Debug, Default)]
pub struct MaxFilter {
    /// Counts and values; both rise and fall, respectively, from front to back.
    candidates: std::collections::VecDeque<(u64, f64)>,
}

impl MaxFilter {
    /// Inserts `value` at `count`, and removes values that are `len` or more counts older.
    pub fn update(&mut self, count: u64, value: f64, len: u64) {
        while self.candidates.back().is_some_and(|(_, last)| *last <= value) {
            self.candidates.pop_back();
        }
        self.candidates.push_back((count, value));
        while self.candidates.front().is_some_and(|(first, _)| first + len <= count) {
            self.candidates.pop_front();
        }
    }

    /// The largest value; 0 before the first.
    pub fn max(&self) -> f64 {
        self.candidates.front().map_or(0.0, |candidate| candidate.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_lasts_as_long_as_its_window() {
        let mut filter = MaxFilter::default();
        assert_eq!(filter.max(), 0.0);
        let maxima = [(0, 5.0), (1, 3.0), (2, 4.0), (3, 1.0), (4, 1.0), (5, 0.5)].map(|(count, value)| {
            filter.update(count, value, 3);
            filter.max()
        });
        assert_eq!(maxima, [5.0, 5.0, 5.0, 4.0, 4.0, 1.0]);
    }

    #[test]
    fn pragues_bursts_are_a_quarter_of_that_and_may_be_one_segment() {
        let pace = Pace { bursts: 4096.0, least_segments: 1.0, ..Pace::default() };
        let bytes = [250e3, 12.5e6].map(|rate| burst_of(&pace, rate, 1000.0));
        assert_eq!(bytes, [1000, 3051]);
    }

    #[test]
    fn bursts_are_a_millisecond_of_the_rate_within_bounds() {
        // 64 kbit/s, 2 Mbit/s, 100 Mbit/s and 10 Gbit/s.
        let bytes = [8e3, 250e3, 12.5e6, 1.25e9].map(|rate| burst(rate, 1000.0));
        assert_eq!(bytes, [1000, 2000, 12_500, 65_536]);
    }
}
