//! Receive window autotuning: the window grows with the data that the application reads per round trip, as in Linux
//! (dynamic right-sizing).
//!
//! W. Feng, M. Fisk, M. Gardner, E. Weigle, "Dynamic Right-Sizing: An Automated, Lightweight, and Scalable Technique
//! for Enhancing Grid Performance", PfHSN 2002. A receiver measures round trips by the timestamps that segments echo,
//! or without them by the time that a window of data takes. When more was read in one round trip than ever before, the
//! window may become twice that, and more while the rate grows, so a sender in slow start is not limited. Data beyond a
//! gap is added to that. The window opens by no more than two segments for each that arrives, and never closes again.
//!
//! As in Linux 6.18 (`tcp_rcvbuf_grow`, `tcp_grow_window`); until 6.15 there was a margin of sixteen segments instead
//! of the data beyond gaps. The first window is half of the socket's buffer, since the kernel does not know the memory
//! overhead of segments; when the first has arrived it does, and the window opens to more of the buffer
//! (`tcp_measure_rcv_mss`).
//!
//! ASSUMED: 156 of 256 octets of the buffer are data, as of segments of 1448 B from a TUN device with Linux 6.18 (measured:
//! `tcp_rmem` of 131,072 B gives a window of 79,872 B). Other drivers take more memory or less.

use crate::time::{Duration, Instant};

/// Share of a buffer that is data, in 1/256: see above.
const DATA_SHARE: u64 = 156;
/// Segments that the sender's first window is taken to have.
const FIRST_SEGMENTS: u64 = 10;

/// State of the measurement of the application's read rate. Offsets count bytes of the stream.
#[derive(Clone, Debug, Default)]
pub struct Autotuning {
    mss: u64,
    /// Largest window, bytes.
    most: u64,
    /// Present upper limit of the window.
    goal: u64,
    /// The window.
    window: u64,
    /// Most that was read in a round trip.
    read: u64,
    /// Offset and time at the start of the present round trip.
    from: u64,
    since: Option<Instant>,
    /// The peer may send as soon as the connection is open: its data does not arrive a round trip later.
    at_once: bool,
    rtt: Option<Duration>,
    /// The latest timestamp that was echoed: it gives one sample.
    ts_ecr: u32,
    /// Without timestamps: when the window that ends here began.
    timed: Option<(u64, Instant)>,
}

impl Autotuning {
    /// A window of `window` bytes, in a buffer of 2 * `half` bytes, that may grow to `most`. The first round trip
    /// begins with the handshake: it is over when the first segment arrives, unless the peer may send `at_once`.
    pub fn new(window: u64, half: u64, most: u64, mss: u64, at_once: bool) -> Self {
        let read = window.min(FIRST_SEGMENTS * mss).max(1);
        let goal = (2 * half * DATA_SHARE / 256).min(most).max(window);
        Self { mss, most, goal, window, read, at_once, ..Self::default() }
    }

    /// A segment echoes one of this endpoint's timestamps, in milliseconds. Gives an RTT sample if it is the first to
    /// echo it.
    pub fn on_echo(&mut self, now: u32, ts_ecr: u32) {
        if std::mem::replace(&mut self.ts_ecr, ts_ecr) == ts_ecr {
            return;
        }
        let rtt = Duration::from_millis(now.wrapping_sub(ts_ecr).max(1).into());
        // `tcp_rcv_rtt_update`: a shorter one counts at once, so that a queue does not lengthen the estimate for long.
        let old = self.rtt.unwrap_or(rtt).min(rtt).as_nanos();
        self.rtt = Some(Duration::from_nanos(old - old / 8 + rtt.as_nanos() / 8));
    }

    /// The round-trip time measured so far.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// Sets the round-trip time, as measured elsewhere.
    pub fn set_rtt(&mut self, rtt: Option<Duration>) {
        self.rtt = rtt;
    }

    /// Without timestamps: a window of data takes a round trip at least; the shortest counts.
    pub fn time_a_window(&mut self, now: Instant, rcv_nxt: u64) {
        if let Some((_, began)) = self.timed.take_if(|(end, _)| rcv_nxt >= *end) {
            let took = now.since(began);
            self.rtt = Some(self.rtt.map_or(took, |rtt| rtt.min(took)));
        }
        self.timed.get_or_insert((rcv_nxt + self.window, now));
    }

    /// A segment arrived, the application then reads all before `rcv_nxt`, and data up to `beyond` bytes from there has arrived
    /// beyond a gap. Returns the window from now on, in bytes.
    pub fn on_segment(&mut self, now: Instant, rcv_nxt: u64, beyond: u64) -> u64 {
        if beyond > 0 {
            self.aim(2 * self.read + beyond);
        }
        if self.since.is_none() && !self.at_once {
            self.from = rcv_nxt;
        }
        let since = *self.since.get_or_insert(now);
        self.window = (self.window + 2 * self.mss).min(self.goal).max(self.window);
        // The application reads after the segment was processed: a new goal opens the window with the next segment.
        if self.rtt.is_some_and(|rtt| now.since(since) >= rtt) {
            self.end_round(rcv_nxt - self.from);
            (self.from, self.since) = (rcv_nxt, Some(now));
        }
        self.window
    }

    fn end_round(&mut self, read: u64) {
        if read <= self.read {
            return;
        }
        let steady = u128::from(2 * read);
        let grows = steady * u128::from(read - self.read) / u128::from(self.read);
        self.aim(u64::try_from(steady + 2 * grows).unwrap_or(u64::MAX));
        self.read = read;
    }

    fn aim(&mut self, wanted: u64) {
        self.goal = self.goal.max(wanted.min(self.most));
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
        let mut tuning = Autotuning::new(40_000, 40_000, 1_000_000, MSS, true);
        tuning.on_echo(110, 10);
        let windows: Vec<u64> = (0..=100).map(|n| tuning.on_segment(at(5 * n), (n + 1) * MSS, 0)).collect();
        // Of 80 kB, 156 / 256 are 48,750 B.
        assert_eq!(windows[..5], [42_000, 44_000, 46_000, 48_000, 48_750]);
        assert_eq!(windows[5..21], [48_750; 16]);
        // 21 segments in the first 100 ms, after ten were assumed: 2 * 21 * (1 + 2 * 11 / 10) = 134.4; then nothing new.
        assert_eq!(windows[21..24], [50_750, 52_750, 54_750]);
        assert_eq!(windows[100], 134_400);
        // With 93 kB beyond a gap it is 42 + 93 = 135 kB, and opens by two segments with each of the 19 that follow.
        let wider: Vec<u64> = (1..=50).map(|n| tuning.on_segment(at(500 + n), 101 * MSS, 3000 * n)).collect();
        assert_eq!((wider[0], wider[49]), (134_400, 173_000));
    }

    /// Windows that a kernel (Linux 6.18) advertised, in whole segments of 1448 B, over 5 Mbit/s and 50 ms in slow start.
    #[test]
    fn the_window_opens_as_a_kernel_s_does() {
        let mss = 1448;
        let mut tuning = Autotuning::new(64_240, 65_535, 3_833_856, mss, false);
        let mut windows = Vec::new();
        for n in 1..=110_u64 {
            // Ten segments in the first round trip, 20 in the next; then the link is never idle.
            let us = match n {
                1..=10 => 102_500 + 2400 * (n - 1),
                11..=30 => 154_900 + 2400 * (n - 11),
                _ => 208_500 + 2400 * (n - 31),
            };
            // Two segments echo one ACK, and wait longer from pair to pair of a round.
            let queueing = 2400 * ((n.max(11) - 11) % 20 / 2);
            tuning.on_echo((us / 1000) as u32, ((us - 52_400 - queueing) / 1000) as u32);
            let now = Instant::from_nanos(1000 * us);
            windows.push(tuning.on_segment(now, n * mss, 0) / mss);
        }
        assert_eq!(windows[..8], [46, 48, 50, 52, 54, 55, 55, 55]);
        assert_eq!(windows[30..34], [55, 57, 59, 61]);
        // 20 segments in the second round trip allow 120; there it was 20 or 21, which allow 134.
        assert_eq!(windows[109], 120);
    }

    #[test]
    fn an_echoed_timestamp_tells_once() {
        let mut tuning = Autotuning::new(10_000, 10_000, 1_000_000, MSS, true);
        for now in [150, 180, 400] {
            tuning.on_echo(now, 50);
        }
        assert_eq!(tuning.rtt, Some(Duration::from_millis(100)));
        tuning.on_echo(240, 60);
        assert_eq!(tuning.rtt, Some(Duration::from_millis(110)));
        tuning.on_echo(140, 70);
        assert_eq!(tuning.rtt, Some(Duration::from_millis(70)));
    }

    #[test]
    fn without_timestamps_the_time_of_a_window_is_a_round_trip() {
        let mut tuning = Autotuning::new(10_000, 10_000, 1_000_000, MSS, true);
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
            let mut tuning = Autotuning::new(20_000, 20_000, 200_000, MSS, true);
            tuning.on_echo(rtt_ms + 1, 1);
            let (mut now, mut rcv_nxt, mut before) = (0, 0, 20_000);
            for (gap, segments) in gaps {
                now += gap;
                rcv_nxt += segments * MSS;
                let window = tuning.on_segment(at(now), rcv_nxt, gap % 7 * MSS);
                prop_assert!((before..=200_000).contains(&window) && window <= before + 2 * MSS);
                before = window;
            }
        }
    }
}
