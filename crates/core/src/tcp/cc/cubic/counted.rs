//! Growth in congestion avoidance as Linux counts it, in whole segments: the window grows by one segment after a number of
//! acknowledged segments that follows from the distance to the target. Source: `tcp_cubic` and `tcp_cong_avoid_ai` of Linux.
//!
//! The number is computed when the window has changed, or after [`STALE`]. Segments acknowledged while the target does
//! not exceed the window count too, so the window grows as soon as the target exceeds it. On a flat part of the
//! function this is up to one RTT earlier than growth in proportion to the segments acknowledged.
//!
//! Left out: clock ticks, Linux's unit of time, and its cube root, which is exact to about 0.2 %.

use crate::time::{Duration, Instant};

/// A number older than this is computed again, although the window has not changed: `HZ / 32`.
const STALE: Duration = Duration::from_nanos(1_000_000_000 / 32);
/// At the target the window grows by 1 % per window of data.
const AT_TARGET: u64 = 100;
/// Before the first loss the window grows by at least 5 % per window of data.
const MOST_BEFORE_LOSS: u64 = 20;
/// The window grows by at most one segment for two that are acknowledged.
const LEAST: u64 = 2;
/// Reno with this reduction grows by one segment for so many eighths of a window: 8 (1 + beta) / 3 (1 - beta), rounded down.
const RENO_EIGHTHS: u64 = 15;

/// Segments counted since congestion avoidance began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    /// Segments to be acknowledged for one segment of growth.
    needed: u64,
    /// The window for which `needed` was computed, segments, and when.
    computed: Option<(u64, Instant)>,
    /// Segments acknowledged since the window grew.
    acked: f64,
    /// Reno's window with the same reduction, segments.
    reno: u64,
    /// Segments acknowledged since Reno's window grew.
    reno_acked: f64,
}

impl Counted {
    /// Congestion avoidance begins with a window of `cwnd` segments.
    pub fn new(cwnd: u64) -> Self {
        Self { needed: LEAST, computed: None, acked: 0.0, reno: cwnd, reno_acked: 0.0 }
    }

    /// An ACK of `acked` segments arrived at `now` with a window of `cwnd` segments. `target` computes the window that the
    /// cubic function aims at, segments; `is_first`: no loss has occurred yet. Returns how many segments the window grows.
    pub fn on_ack(
        &mut self,
        now: Instant,
        cwnd: u64,
        acked: f64,
        is_first: bool,
        target: impl FnOnce() -> u64,
    ) -> u64 {
        self.reno_acked += acked;
        let is_current =
            self.computed.is_some_and(|(for_cwnd, at)| for_cwnd == cwnd && now.since(at) <= STALE);
        if !is_current {
            self.computed = Some((cwnd, now));
            self.compute(cwnd.max(1), is_first, target());
        }
        let mut grown = 0;
        if self.acked >= self.needed as f64 {
            (self.acked, grown) = (0.0, 1);
        }
        self.acked += acked;
        let more = (self.acked / self.needed as f64) as u64;
        self.acked -= (more * self.needed) as f64;
        grown + more
    }

    fn compute(&mut self, cwnd: u64, is_first: bool, target: u64) {
        let needed_for = |aim: u64| cwnd.checked_div(aim.saturating_sub(cwnd));
        self.needed = needed_for(target).unwrap_or(AT_TARGET * cwnd);
        if is_first {
            self.needed = self.needed.min(MOST_BEFORE_LOSS);
        }
        let for_reno = (cwnd * RENO_EIGHTHS / 8) as f64;
        while self.reno_acked > for_reno {
            self.reno_acked -= for_reno;
            self.reno += 1;
        }
        self.needed = self.needed.min(needed_for(self.reno).unwrap_or(u64::MAX)).max(LEAST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// A window of 44 with one ACK per segment and millisecond. The target is `before`, and `after` from ACK `from` on.
    /// Returns the index of the ACK with which the window grows.
    fn grows_with(before: u64, after: u64, from: u64) -> Option<u64> {
        let mut counted = Counted::new(44);
        (0..200)
            .find(|n| counted.on_ack(at(*n), 44, 1.0, false, || if *n < from { before } else { after }) > 0)
    }

    #[test]
    fn a_target_one_segment_away_takes_a_window_of_acks() {
        assert_eq!(grows_with(45, 45, 0), Some(43));
        assert_eq!(grows_with(48, 48, 0), Some(10), "44 / 4");
    }

    #[test]
    fn segments_acknowledged_at_the_target_count_when_the_target_moves() {
        // Computed with ACKs 0, 32 and 64. More than 44 segments are acknowledged by then.
        assert_eq!(grows_with(44, 45, 60), Some(64));
        // Fewer: the rest of the window is still to come.
        assert_eq!(grows_with(44, 45, 20), Some(43));
    }

    #[test]
    fn reno_grows_by_a_segment_for_fifteen_eighths_of_the_window() {
        // ACK 82 is the first beyond 44 * 15 / 8 = 82 segments, and the next computation is at ACK 96.
        assert_eq!(grows_with(44, 44, 0), Some(96));
    }

    #[test]
    fn before_the_first_loss_twenty_segments_suffice() {
        let mut counted = Counted::new(50);
        let grown: Vec<u64> = (0..40).map(|n| counted.on_ack(at(n), 50, 1.0, true, || 50)).collect();
        assert_eq!(grown.iter().sum::<u64>(), 2);
        assert_eq!((grown[19], grown[39]), (1, 1));
        // Far from the target: one segment for two.
        assert_eq!(Counted::new(50).on_ack(at(0), 50, 10.0, true, || 500), 5);
    }
}
