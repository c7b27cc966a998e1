//! Delayed ACKs as in Linux: which ACKs are sent at once, and how long the others are delayed. The first segments of a
//! connection are acknowledged at once (quick ACKs), since the sender's window is small then; later delays follow the
//! time between segments.
//!
//! P. Sarolahti, A. Kuznetsov, "Congestion Control in Linux TCP", USENIX 2002, section 5 (quick and delayed ACKs). The
//! delay (ATO) is at least 40 ms. A segment moves it towards twice the time since the one before, if that is shorter
//! than the delay; an ACK that had to wait until the end of the delay doubles it. It is never longer than
//! `delayed_ack_timeout` and, beyond 40 ms, than the round-trip time of the handshake. After a duplicate, and
//! after a pause longer than a retransmission timeout, ACKs are quick again.
//!
//! The ACK of a second segment is sent when the application has read, a moment later, so segments that arrive together
//! are acknowledged together. A kernel that advertises no smaller window before does the same.
//!
//! While the window grows ([`super::autotuning`]) ACKs are quick, to inform the sender, and quick ACKs last longer. The
//! first three segments beyond a gap are acknowledged at once, later ones once per millisecond or per twentieth of a
//! round trip.
//!
//! Left out: connections on which data flows both ways, whose ACKs Linux delays in the hope of data ("pingpong").

use crate::time::{Duration, Instant};

/// Shortest delay: `TCP_ATO_MIN`, `TCP_DELACK_MIN`.
const SHORTEST: Duration = Duration::from_millis(40);
/// ASSUMED: the application has read so long after data came. Of 0.05 to 0.13 ms on an idle machine with Linux 6.18.
const READING: Duration = Duration::from_nanos(100_000);
/// ACKs with SACK blocks wait so long for others: `tcp_comp_sack_delay_ns`; or a twentieth of a round trip.
const COMPRESSION: Duration = Duration::from_millis(1);
/// Segments beyond a gap before they do, enough for a fast retransmit.
const AT_ONCE_BEYOND_GAP: u32 = 3;
/// Below this time between segments the delay returns to the shortest.
const CLOSE: Duration = Duration::from_millis(20);
/// Shortest variation in a timeout.
const LEAST_VARIATION: Duration = Duration::from_millis(200);

/// State that decides when the next ACK is sent.
#[derive(Clone, Debug, Default)]
pub struct DelayedAck {
    /// Number of segments acknowledged at once at the start, and again after a duplicate.
    at_once: u32,
    /// Segments still to be acknowledged at once.
    quick: u32,
    /// The delay adapts; otherwise it is `longest`.
    pub adapts: bool,
    longest: Duration,
    delay: Duration,
    /// When the latest segment came; `None` before the first.
    latest: Option<Instant>,
    /// Round-trip time of the handshake.
    rtt: Option<Duration>,
    /// When the application will have read the data that has been announced to it.
    reads_at: Option<Instant>,
    /// The latest gap, and segments beyond it that were acknowledged at once.
    beyond_gap: (u64, u32),
}

impl DelayedAck {
    /// Before any segment.
    pub fn new(at_once: u32, adapts: bool, longest: Duration) -> Self {
        let delay = if adapts { SHORTEST.min(longest) } else { longest };
        Self { at_once, adapts, longest, delay, ..Self::default() }
    }

    /// The handshake took this long.
    pub fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = Some(rtt);
    }

    /// A timeout derived from the RTT; without a sample, the one of RFC 6298 (2.1).
    fn timeout(&self) -> Duration {
        self.rtt.map_or(Duration::from_secs(1), |rtt| rtt + rtt.saturating_mul(2).max(LEAST_VARIATION))
    }

    /// A segment with new data came in order, and the window grew or not. Whether it is acknowledged at once.
    pub fn on_segment(&mut self, now: Instant, window_grows: bool) -> bool {
        match self.latest.replace(now) {
            None => self.quick = self.at_once,
            Some(before) => self.adapt(now.since(before)),
        }
        if window_grows && self.adapts {
            // `tcp_grow_window` makes the number odd: it grows by one or not at all.
            self.quick |= 1;
        }
        let is_quick = self.quick > 0;
        self.quick = self.quick.saturating_sub(1);
        if is_quick && self.quick == 0 && self.adapts {
            self.delay = SHORTEST;
        }
        is_quick
    }

    fn adapt(&mut self, gap: Duration) {
        if gap > self.timeout() {
            self.quick = self.quick.max(self.at_once);
        } else if self.adapts && (gap <= CLOSE || gap < self.delay) {
            self.delay = Duration::from_nanos(self.delay.as_nanos() / 2) + gap.max(CLOSE);
            self.delay = self.delay.min(self.timeout());
        }
    }

    /// The application is woken; when it has read, unless it is about to read already.
    pub fn wait_for_reader(&mut self, now: Instant) -> Option<Instant> {
        let is_waiting = self.reads_at.is_some_and(|at| at > now);
        (!is_waiting).then(|| *self.reads_at.insert(now + READING))
    }

    /// Whether the ACK of a segment beyond a gap at `rcv_nxt` may wait for more of them: after three that did not.
    pub fn compresses(&mut self, rcv_nxt: u64) -> bool {
        if !self.adapts || self.quick > 0 {
            return false;
        }
        if self.beyond_gap.0 != rcv_nxt {
            self.beyond_gap = (rcv_nxt, 0);
        }
        let at_once = self.beyond_gap.1 < AT_ONCE_BEYOND_GAP;
        self.beyond_gap.1 += u32::from(at_once);
        !at_once
    }

    /// Departure time of an ACK that waits for more segments beyond a gap.
    pub fn compressed_at(&self, now: Instant) -> Instant {
        let twentieth = |rtt: Duration| Duration::from_nanos(rtt.as_nanos() / 20);
        now + self.rtt.map_or(COMPRESSION, |rtt| twentieth(rtt).min(COMPRESSION))
    }

    /// Duplicate data arrived.
    pub fn on_duplicate(&mut self, now: Instant) {
        self.latest = Some(now);
        self.quick = self.quick.max(self.at_once);
    }

    /// An ACK has waited until the end of its delay.
    pub fn on_expiry(&mut self) {
        if self.adapts {
            self.delay = self.delay.saturating_mul(2).min(self.timeout());
        }
    }

    /// How long the next ACK may wait.
    pub fn delay(&self) -> Duration {
        if !self.adapts {
            return self.longest;
        }
        let most = self.rtt.map_or(self.longest, |rtt| rtt.max(SHORTEST));
        let delay = if self.delay > SHORTEST { self.delay.min(most) } else { self.delay };
        delay.min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + ms(millis)
    }

    /// Past its quick ACKs, at time zero.
    fn settled() -> DelayedAck {
        let mut acks = DelayedAck::new(1, true, ms(200));
        acks.set_rtt(ms(150));
        assert!(acks.on_segment(at(0), false));
        acks
    }

    #[test]
    fn the_first_segments_are_acknowledged_at_once_and_those_after_a_duplicate() {
        let mut acks = DelayedAck::new(3, true, ms(200));
        let quick = |of: &mut DelayedAck, from: u64| {
            (from..from + 5).filter(|n| of.on_segment(at(*n), false)).count()
        };
        assert_eq!(quick(&mut acks, 0), 3);
        acks.on_duplicate(at(10));
        assert_eq!(quick(&mut acks, 11), 3);
        // A pause longer than a timeout, 1 s without a round-trip time.
        assert_eq!(quick(&mut acks, 1000), 0);
        assert_eq!(quick(&mut acks, 2010), 3);
    }

    #[test]
    fn quick_acks_last_longer_where_the_window_grows() {
        let mut acks = DelayedAck::new(16, true, ms(200));
        // As a kernel does (Linux 6.18) whose window grows with each of the first six segments: 16 more.
        let quick = (0..30).filter(|n| acks.on_segment(at(*n), *n < 6)).count();
        assert_eq!(quick, 22);
        assert!(acks.on_segment(at(30), true) && !acks.on_segment(at(31), false));
    }

    #[test]
    fn the_delay_tends_to_twice_the_time_between_segments() {
        let mut acks = settled();
        let mut seen = Vec::new();
        for n in 1..=20 {
            acks.on_segment(at(30 * n), false);
            seen.push(acks.delay());
        }
        assert_eq!(seen[..3], [ms(50), ms(55), Duration::from_nanos(57_500_000)]);
        assert!(seen[19] > ms(59) && seen[19] <= ms(60));
        for n in 1..=20 {
            acks.on_segment(at(600 + n), false);
        }
        assert!(acks.delay() < Duration::from_nanos(40_100_000));
    }

    #[test]
    fn an_ack_that_waited_in_vain_doubles_the_delay_up_to_its_bounds() {
        let mut acks = settled();
        acks.on_expiry();
        assert_eq!(acks.delay(), ms(80));
        acks.on_expiry();
        assert_eq!(acks.delay(), ms(150), "the round-trip time");
        let mut slow = DelayedAck::new(0, true, ms(200));
        slow.set_rtt(ms(500));
        for _ in 0..5 {
            slow.on_expiry();
        }
        assert_eq!(slow.delay(), ms(200));
    }

    #[test]
    fn a_fixed_delay_stays() {
        let mut acks = DelayedAck::new(1, false, ms(100));
        assert!(acks.on_segment(at(0), false) && !acks.on_segment(at(1), false));
        acks.on_expiry();
        assert_eq!(acks.delay(), ms(100));
    }
}
