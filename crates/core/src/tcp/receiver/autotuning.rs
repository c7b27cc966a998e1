//! A receive window that grows with what the application reads in a round trip, as Linux's does: dynamic right-sizing.
//!
//! W. Feng, M. Fisk, M. Gardner, E. Weigle, "Dynamic Right-Sizing: An Automated, Lightweight, and Scalable Technique
//! for Enhancing Grid Performance", PfHSN 2002. A receiver measures round trips by the timestamps that segments echo,
//! or without them by the time that a window of data takes. When more was read in one than ever before, the window may
//! be twice that and sixteen segments, and more while the rate grows, so that a sender in slow start is not held up;
//! but it opens by no more than two segments for each that arrives, as in Linux, and never closes again.
//!
//! Left out: memory that segments take beside their data, which Linux estimates: windows here are data alone.

use crate::time::{Duration, Instant};

/// Segments beyond twice of what was read: room for losses, as in Linux.
const MARGIN_SEGMENTS: u64 = 16;
/// Segments that the sender's first window is taken to have.
const FIRST_SEGMENTS: u64 = 10;

/// What is known of the rate at which the application reads. Offsets count bytes of the stream.
#[derive(Clone, Debug, Default)]
pub struct Autotuning {
    mss: u64,
    /// Largest window, bytes.
    most: u64,
    /// What the window may grow to by now.
    goal: u64,
    /// The window.
    window: u64,
    /// Most that was read in a round trip.
    read: u64,
    /// Where and when the present round trip began.
    from: u64,
    since: Option<Instant>,
    rtt: Option<Duration>,
    /// The latest timestamp that was echoed: it gives one sample.
    ts_ecr: u32,
    /// Without timestamps: when the window that ends here began.
    timed: Option<(u64, Instant)>,
}

impl Autotuning {
    /// A window of `first` bytes that may grow to `most`.
    pub fn new(first: u64, most: u64, mss: u64) -> Self {
        let read = first.min(FIRST_SEGMENTS * mss).max(1);
        Self { mss, most, goal: first, window: first, read, ..Self::default() }
    }

    /// A segment echoes a timestamp of ours, in milliseconds: a round-trip time, if it is the first to echo it.
    pub fn on_echo(&mut self, now: u32, ts_ecr: u32) {
        if std::mem::replace(&mut self.ts_ecr, ts_ecr) == ts_ecr {
            return;
        }
        let rtt = Duration::from_millis(now.wrapping_sub(ts_ecr).max(1).into());
        let old = self.rtt.unwrap_or(rtt).as_nanos();
        self.rtt = Some(Duration::from_nanos(old - old / 8 + rtt.as_nanos() / 8));
    }

    /// Without timestamps: a window of data takes a round trip at least; the shortest counts.
    pub fn time_a_window(&mut self, now: Instant, rcv_nxt: u64) {
        if let Some((_, began)) = self.timed.take_if(|(end, _)| rcv_nxt >= *end) {
            let took = now.since(began);
            self.rtt = Some(self.rtt.map_or(took, |rtt| rtt.min(took)));
        }
        self.timed.get_or_insert((rcv_nxt + self.window, now));
    }

    /// A segment arrived, and the application has read all before `rcv_nxt`. Gives the window from now on.
    pub fn on_read(&mut self, now: Instant, rcv_nxt: u64) -> u64 {
        let since = *self.since.get_or_insert(now);
        if self.rtt.is_some_and(|rtt| now.since(since) >= rtt) {
            self.end_round(rcv_nxt - self.from);
            (self.from, self.since) = (rcv_nxt, Some(now));
        }
        self.window = (self.window + 2 * self.mss).min(self.goal).max(self.window);
        self.window
    }

    fn end_round(&mut self, read: u64) {
        if read <= self.read {
            return;
        }
        let steady = u128::from(2 * read + MARGIN_SEGMENTS * self.mss);
        let grows = steady * u128::from(read - self.read) / u128::from(self.read);
        let wanted = u64::try_from(steady + 2 * grows).unwrap_or(u64::MAX);
        self.goal = self.goal.max(wanted.min(self.most));
        self.read = read;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u64 = 1000;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_window_opens_for_twice_of_what_is_read_and_two_segments_at_a_time() {
        let mut tuning = Autotuning::new(40_000, 1_000_000, MSS);
        tuning.on_echo(110, 10);
        // 20 kB in the first 100 ms, after ten segments were assumed: 2 * 20 + 16 = 56, and twice as much again
        // and again since the rate has doubled.
        let windows: Vec<u64> = (0..=100).map(|n| tuning.on_read(at(5 * n), (n + 1) * MSS)).collect();
        assert_eq!(windows[..20], [40_000; 20]);
        assert_eq!(windows[20..23], [42_000, 44_000, 46_000]);
        // 21 segments: (2 * 21 + 16) * (1 + 2 * 11 / 10) = 185.6; from then on nothing new.
        assert_eq!(windows[100], 185_600);
    }

    #[test]
    fn an_echoed_timestamp_tells_once() {
        let mut tuning = Autotuning::new(10_000, 1_000_000, MSS);
        for now in [150, 180, 400] {
            tuning.on_echo(now, 50);
        }
        assert_eq!(tuning.rtt, Some(Duration::from_millis(100)));
        tuning.on_echo(240, 60);
        assert_eq!(tuning.rtt, Some(Duration::from_millis(110)));
    }

    #[test]
    fn without_timestamps_the_time_of_a_window_is_a_round_trip() {
        let mut tuning = Autotuning::new(10_000, 1_000_000, MSS);
        for n in 0..=30 {
            tuning.time_a_window(at(10 * n), n * MSS);
        }
        assert_eq!(tuning.rtt, Some(Duration::from_millis(100)));
    }

    proptest! {
        #[test]
        fn the_window_never_closes_and_stays_below_its_limit(
            gaps in prop::collection::vec((0..300_u64, 0..4_u64), 1..300), rtt_ms in 1..1000_u32,
        ) {
            let mut tuning = Autotuning::new(20_000, 200_000, MSS);
            tuning.on_echo(rtt_ms + 1, 1);
            let (mut now, mut rcv_nxt, mut before) = (0, 0, 20_000);
            for (gap, segments) in gaps {
                now += gap;
                rcv_nxt += segments * MSS;
                let window = tuning.on_read(at(now), rcv_nxt);
                prop_assert!((before..=200_000).contains(&window) && window <= before + 2 * MSS);
                before = window;
            }
        }
    }
}
