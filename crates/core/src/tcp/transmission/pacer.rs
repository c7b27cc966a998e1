//! Pacing: segments leave at a rate, a quantum at a time.
//!
//! After a burst of up to a quantum the next starts when the pacing rate has drained it. The rate counts payload, and
//! the remainder of each division is kept, so the mean rate is exact. As in Linux with its internal pacing timer
//! (`tcp_internal_pacing`), the first ten segments are not paced, and a late burst is compensated by at most half of
//! its duration: there is no other credit for idle time.
//!
//! Without a control that models the path, the rate is Linux's: the window over the smoothed round-trip time, times 2 in
//! slow start up to half of the threshold, else times 1.2.

use crate::tcp::cc::{Pace, model};
use crate::tcp::window::state::State;
use crate::time::{Duration, Instant};
use crate::units::Bitrate;

/// Number of segments at the start of a connection that are not paced.
const FREE_SEGMENTS: u32 = 10;
const NANOS: u64 = 1_000_000_000;

/// The pacer of a sender.
#[derive(Clone, Debug)]
pub struct Pacer {
    /// B/s; `None` while it is not known.
    rate: Option<u64>,
    /// B/s that are never exceeded.
    most: u64,
    quantum: u64,
    pace: Pace,
    free_segments: u32,
    /// The next burst leaves no earlier.
    next: Instant,
    /// Departure time of the present burst, and the rest of its quantum, bytes.
    burst: (Instant, u64),
    /// How late the present burst was, minus the part already compensated.
    late: Duration,
    /// Remainder of the last division, in bytes times nanoseconds per second.
    remainder: u64,
    /// Whether a segment is held that could leave otherwise.
    pub holds: bool,
}

impl Pacer {
    /// A pacer that lets everything go until it knows a rate, unless there is a limit.
    pub fn new(limit: Option<Bitrate>, pace: Pace) -> Self {
        let most = limit.map_or(u64::MAX, |limit| (limit.as_bps() / 8).max(1));
        Self {
            rate: None,
            most,
            quantum: 0,
            pace,
            free_segments: FREE_SEGMENTS,
            next: Instant::ZERO,
            burst: (Instant::ZERO, 0),
            late: Duration::ZERO,
            remainder: 0,
            holds: false,
        }
    }

    /// The rate from now on, B/s, of segments of `mss` bytes.
    pub fn set(&mut self, rate: f64, mss: f64) {
        let rate = (rate as u64).clamp(1, self.most);
        if self.rate != Some(rate) {
            (self.rate, self.remainder) = (Some(rate), 0);
            self.quantum = model::burst_of(&self.pace, rate as f64, mss);
        }
    }

    /// The rate of a window that grows by ACKs, B/s: `tcp_update_pacing_rate` of Linux. `None` before the first round-trip
    /// time.
    pub fn rate_of(&self, state: &State, srtt: Duration) -> Option<f64> {
        if srtt.is_zero() {
            return None;
        }
        let window = &state.window;
        let gain = if window.cwnd < window.ssthresh / 2.0 { 2.0 } else { self.pace.gain };
        let outstanding = (state.max - state.una) as f64;
        Some(gain * window.cwnd.max(outstanding) / srtt.as_secs_f64())
    }

    /// The rate in B/s, once there is one.
    pub fn rate(&self) -> Option<u64> {
        self.rate.or((self.most < u64::MAX).then_some(self.most))
    }

    /// When the next segment may leave.
    pub fn next(&self) -> Instant {
        self.next
    }

    /// Whether a segment may leave now.
    pub fn permits(&self, now: Instant, len: u64) -> bool {
        now >= self.next || self.burst.0 == now && self.burst.1 >= len
    }

    /// A segment of `len` bytes leaves.
    pub fn on_sent(&mut self, now: Instant, len: u64) {
        if self.free_segments > 0 {
            self.free_segments -= 1;
            self.next = self.next.max(now);
            return;
        }
        let Some(rate) = self.rate() else { return };
        if now >= self.next {
            self.late = now.since(self.next);
            self.next = now;
            self.burst = (now, self.quantum);
        }
        self.burst.1 = self.burst.1.saturating_sub(len);
        let product = u128::from(len) * u128::from(NANOS) + u128::from(self.remainder);
        self.remainder = (product % u128::from(rate)) as u64;
        let mut time = Duration::from_nanos(u64::try_from(product / u128::from(rate)).unwrap_or(u64::MAX));
        let credit = self.late.min(Duration::from_nanos(time.as_nanos() / 2));
        self.late = self.late.saturating_sub(credit);
        time = time.saturating_sub(credit);
        self.next += time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    /// A pacer after its free segments.
    fn pacer(rate: f64, quantum: u64) -> Pacer {
        let mut pacer = Pacer::new(None, Pace::default());
        pacer.set(rate, 1000.0);
        pacer.quantum = quantum;
        for _ in 0..FREE_SEGMENTS {
            assert!(pacer.permits(Instant::ZERO, 1000));
            pacer.on_sent(Instant::ZERO, 1000);
        }
        pacer
    }

    /// Departures of `count` segments of 1000 bytes, each as early as it may leave.
    fn departures(pacer: &mut Pacer, count: usize) -> Vec<u64> {
        let mut now = Instant::ZERO;
        let mut sent = Vec::new();
        for _ in 0..count {
            if !pacer.permits(now, 1000) {
                now = pacer.next();
            }
            pacer.on_sent(now, 1000);
            sent.push(now.as_nanos());
        }
        sent
    }

    #[test]
    fn a_megabit_a_second_is_a_thousand_bytes_each_eight_milliseconds() {
        let sent = departures(&mut pacer(125_000.0, 1000), 4);
        assert_eq!(sent, [0, 8_000_000, 16_000_000, 24_000_000]);
    }

    #[test]
    fn the_remainder_of_each_division_is_kept() {
        // 1000 B at 3 B/ns do not take a whole number of nanoseconds.
        let sent = departures(&mut pacer(3e9, 1000), 3001);
        assert_eq!(sent[3000], 1_000_000);
    }

    #[test]
    fn bursts_of_a_quantum_leave_at_once() {
        let sent = departures(&mut pacer(125_000.0, 2500), 5);
        assert_eq!(sent, [0, 0, 16_000_000, 16_000_000, 32_000_000]);
    }

    #[test]
    fn a_late_burst_makes_up_for_it_by_half_of_its_time_at_most() {
        for (late_ms, next_ms) in [(0, 8), (1, 8), (4, 8), (100, 104)] {
            let mut pacer = pacer(125_000.0, 1000);
            pacer.on_sent(Instant::ZERO, 1000);
            let now = at((8 + late_ms) * 1_000_000);
            pacer.on_sent(now, 1000);
            assert_eq!(pacer.next(), at((8 + next_ms) * 1_000_000), "{late_ms} ms late");
        }
    }

    #[test]
    fn without_a_rate_everything_leaves() {
        let mut pacer = Pacer::new(None, Pace::default());
        for _ in 0..100 {
            assert!(pacer.permits(Instant::ZERO, 1000));
            pacer.on_sent(Instant::ZERO, 1000);
        }
    }

    #[test]
    fn the_limit_holds_whatever_the_rate() {
        let mut pacer = Pacer::new(Some(Bitrate::from_bps(800_000)), Pace::default());
        pacer.set(1e9, 1000.0);
        assert_eq!(pacer.rate(), Some(100_000));
    }

    proptest! {
        /// As long as there is something to send, no more leaves than the rate and a quantum.
        #[test]
        fn no_more_leaves_than_the_rate_and_a_quantum(
            rate in 1000..10_000_000_u64, quantum in 1000..20_000_u64,
            pauses in prop::collection::vec(0..50_000_000_u64, 1..100),
        ) {
            let mut pacer = pacer(rate as f64, quantum);
            let (mut now, mut sent) = (Instant::ZERO, 0_u64);
            for pause in pauses {
                now = if pacer.permits(now, 1000) { now } else { pacer.next().max(now) } + Duration::from_nanos(pause);
                pacer.on_sent(now, 1000);
                sent += 1000;
                // A late burst takes back at most half of its own time.
                let carried = 2 * (u128::from(now.as_nanos()) * u128::from(rate)).div_ceil(1_000_000_000);
                prop_assert!(u128::from(sent) <= carried + u128::from(quantum) + 1000);
            }
        }
    }
}
