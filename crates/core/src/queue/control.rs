//! CoDel's control law: decides when the sojourn time has been too long for too long, and how often a packet is dropped
//! then.
//!
//! RFC 8289, section 5. At each departure:
//!
//! ```text
//! sojourn < target, or at most an MTU is left:  first_above = 0
//! else if first_above = 0:                      first_above = now + interval
//! else if now >= first_above:                   the packet may be dropped
//!
//! dropping, it may not:       stop
//! dropping, now >= drop_next: count += 1; drop; drop_next += interval / sqrt(count); and look at the next packet
//! not dropping, it may:       drop; count = what it grew by in the last episode, if that was more than 1 and
//!                             drop_next is less than 16 intervals ago, else 1; drop_next = now + interval / sqrt(count)
//! ```
//!
//! With ECN an ECN-capable packet is marked instead of dropped. It then departs, so one packet is judged per departure
//! (`codel_dequeue` of Linux's `codel_impl.h`).

use super::fifo::{Fifo, Waiting};
use super::{Evicted, Next};
use crate::packet::Packet;
use crate::time::{Duration, Instant};

/// An episode begins where the last one was left if that is not longer ago, in intervals.
const REMEMBERED: u64 = 16;

/// Parameters of the law.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    pub target: Duration,
    pub interval: Duration,
    /// Bytes: while no more are left, nothing is dropped.
    pub mtu: u64,
    /// Whether packets that can be marked are.
    pub ecn: bool,
    /// So much of a packet's wait is no queue.
    pub excused: Duration,
}

impl Law {
    /// The law for the rate of a link. `interval` is the expected RTT without queueing; the interval used is CAKE's
    /// max(interval + target - 5 ms, 2 target).
    pub fn fitted(interval: Duration, target: Duration, mtu: u64, ecn: bool) -> Self {
        let round_trip = (interval + target).saturating_sub(LEAST_TARGET);
        Self { target, interval: round_trip.max(target * 2), mtu, ecn, excused: Duration::ZERO }
    }

    /// Time between two drops.
    fn step(&self, count: u32) -> Duration {
        let nanos = self.interval.as_nanos() as f64 / libm::sqrt(f64::from(count));
        Duration::from_nanos((nanos + 0.5) as u64)
    }

    fn marks(&self, packet: &Packet) -> bool {
        self.ecn && packet.can_be_marked()
    }
}

/// RFC 8289 (4.2): below this no queue needs control.
pub(super) const LEAST_TARGET: Duration = Duration::from_millis(5);

/// The state of a queue under the law.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    first_above: Option<Instant>,
    dropping: bool,
    count: u32,
    last_count: u32,
    drop_next: Instant,
}

impl Control {
    /// The next packet to be sent; dropped packets are appended to `evicted`.
    pub fn pop(&mut self, law: &Law, now: Instant, fifo: &mut Fifo, evicted: &mut Evicted) -> Option<Next> {
        let (mut first, mut may_drop) = self.take(law, now, fifo);
        let mut marks = false;
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                let waiting = first?;
                self.count = self.count.saturating_add(1);
                if law.marks(&waiting.packet) {
                    self.drop_next += law.step(self.count);
                    return Some(Next { waiting, marks: true });
                }
                evicted.push(waiting.packet);
                (first, may_drop) = self.take(law, now, fifo);
                self.dropping = may_drop;
                if may_drop {
                    self.drop_next += law.step(self.count);
                }
            }
        } else if may_drop {
            let waiting = first?;
            marks = law.marks(&waiting.packet);
            if marks {
                first = Some(waiting);
            } else {
                evicted.push(waiting.packet);
                (first, _) = self.take(law, now, fifo);
            }
            self.begin(law, now);
        }
        first.map(|waiting| Next { waiting, marks })
    }

    fn begin(&mut self, law: &Law, now: Instant) {
        let grown = self.count - self.last_count;
        let is_recent = now.since(self.drop_next) < law.interval * REMEMBERED;
        self.count = if grown > 1 && is_recent { grown } else { 1 };
        self.last_count = self.count;
        self.dropping = true;
        self.drop_next = now + law.step(self.count);
    }

    /// Takes the first packet out, and whether it may be dropped.
    fn take(&mut self, law: &Law, now: Instant, fifo: &mut Fifo) -> (Option<Waiting>, bool) {
        let Some(first) = fifo.pop() else {
            self.first_above = None;
            return (None, false);
        };
        if now.since(first.entered).saturating_sub(law.excused) < law.target || fifo.bytes() <= law.mtu {
            self.first_above = None;
            return (Some(first), false);
        }
        let from = *self.first_above.get_or_insert(now + law.interval);
        (Some(first), now >= from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Form;

    /// Packets of 1500 bytes with this ECN field that entered at these milliseconds.
    fn fifo(entered_ms: impl IntoIterator<Item = u64>, ecn: u8) -> Fifo {
        let mut fifo = Fifo::default();
        for (number, ms) in (0..).zip(entered_ms) {
            let packet = Box::new(Packet {
                len: 1500,
                form: Form::TCP.with_ecn(ecn),
                seq: number as u32,
                ..Packet::default()
            });
            fifo.push(Waiting { number, entered: ms_after(ms), packet });
        }
        fifo
    }

    fn ms_after(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    const LAW: Law = Law {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        mtu: 1500,
        ecn: false,
        excused: Duration::ZERO,
    };

    /// Departures at these milliseconds: the packet's number, whether it was marked, and how many packets were dropped.
    fn leave(law: &Law, mut queue: Fifo, at_ms: &[u64]) -> Vec<(u64, bool, usize)> {
        let mut control = Control::default();
        let pop = |ms: &u64| {
            let mut evicted = Vec::new();
            let next = control.pop(law, ms_after(*ms), &mut queue, &mut evicted).unwrap();
            (next.waiting.number, next.marks, evicted.len())
        };
        at_ms.iter().map(pop).collect()
    }

    /// As in ns-3's own test of its CoDel: 20 packets at once, and departures at these times.
    #[test]
    fn drops_begin_an_interval_after_the_target_was_missed() {
        let left = leave(&LAW, fifo([0; 20], 0), &[10, 210, 210, 420]);
        assert_eq!(left, [(0, false, 0), (2, false, 1), (3, false, 0), (6, false, 2)]);
    }

    /// By hand: 100 / sqrt(n) ms from one to the next.
    #[test]
    fn drops_come_faster_with_the_square_root_of_their_number() {
        let (mut queue, mut control) = (fifo([0; 20_000], 0), Control::default());
        let mut evicted = Vec::new();
        let mut drops_us = Vec::new();
        // A departure each 100 us from 10 ms on: first_above is 110 ms.
        for step in 100..6000_u64 {
            let now = Instant::from_nanos(step * 100_000);
            control.pop(&LAW, now, &mut queue, &mut evicted);
            drops_us.extend(evicted.drain(..).map(|_| step * 100));
        }
        let anchors = [0.0, 100.0, 170.7, 228.4, 278.4, 323.2, 364.0, 401.8];
        assert_eq!(drops_us[0], 110_000);
        for (drop, expected) in drops_us.iter().zip(anchors) {
            let after = (drop - 110_000) as f64 / 1e3;
            // At the first departure at or after its time; the anchors have one decimal.
            assert!(after >= expected - 0.05 && after <= expected + 0.15, "{after}, not {expected}");
        }
        // To the nanosecond: 100 ms (1 + 1/sqrt 2 + 1/sqrt 3), each rounded.
        let steps = [1, 2, 3].map(|count| LAW.step(count).as_nanos());
        assert_eq!(steps, [100_000_000, 70_710_678, 57_735_027]);
    }

    #[test]
    fn what_can_be_marked_is_not_dropped_and_one_is_judged_at_a_departure() {
        let law = Law { ecn: true, ..LAW };
        let left = leave(&law, fifo([0; 20], Packet::ECT_0), &[10, 210, 210, 420, 420, 420]);
        let marks: Vec<bool> = left.iter().map(|(_, marks, _)| *marks).collect();
        assert_eq!(marks, [false, true, false, true, true, false]);
        assert!(left.iter().all(|(.., dropped)| *dropped == 0));
        // A packet that is not ECN-capable is dropped instead.
        assert_eq!(leave(&law, fifo([0; 20], Packet::NOT_ECT), &[10, 210])[1], (2, false, 1));
    }

    #[test]
    fn at_most_an_mtu_is_left_alone_and_so_is_a_queue_that_was_short_once() {
        let dropped = |queue: Fifo, at_ms: &[u64]| -> Vec<usize> {
            leave(&LAW, queue, at_ms).iter().map(|(.., dropped)| *dropped).collect()
        };
        // 3000, 1500 and 0 bytes are left: the second departure ends it.
        assert_eq!(dropped(fifo([0; 3], 0), &[10, 500, 1000]), [0, 0, 0]);
        // The second has waited for 2 ms: first_above is set again, to 205 ms.
        let short_once = fifo([0, 98, 0, 0, 0, 0, 0, 0], 0);
        assert_eq!(dropped(short_once, &[10, 100, 105, 204, 205]), [0, 0, 0, 0, 1]);
        assert_eq!(dropped(fifo([0; 8], 0), &[10, 109, 110]), [0, 0, 1]);
    }

    /// The target is 5 ms: 25 with 20 excused. Waits of 24 ms drop nothing for ever, waits of 25 after an interval.
    #[test]
    fn an_excused_wait_is_no_sojourn() {
        let law = Law { excused: Duration::from_millis(20), ..LAW };
        let dropped = |wait: u64| {
            let at: Vec<u64> = (0..30).map(|step| wait + 10 * step).collect();
            let queue = fifo((0..40).map(|step| 10 * step), 0);
            leave(&law, queue, &at).iter().map(|(.., dropped)| dropped).sum::<usize>()
        };
        assert_eq!(dropped(24), 0);
        assert!(dropped(25) > 0);
    }

    /// Episodes follow each other: the second starts at the rate that the first had reached.
    #[test]
    fn an_episode_soon_after_another_begins_where_that_had_come_to() {
        let began = |last_count: u32, ms: u64| {
            let mut control =
                Control { count: 7, last_count, drop_next: ms_after(1000), ..Control::default() };
            control.begin(&LAW, ms_after(ms));
            (control.count, control.last_count)
        };
        // 16 intervals of 100 ms after the time of the next drop.
        assert_eq!([began(1, 2599), began(1, 2600), began(6, 1500)], [(6, 6), (1, 1), (1, 1)]);
    }

    /// By hand, as CAKE at 384 and 64 kbit/s: 46.875 and 281.25 ms of target.
    #[test]
    fn the_interval_grows_with_a_target_beyond_that_of_a_fast_link() {
        let fitted = |us: u64| {
            let target = Duration::from_nanos(us * 1000);
            Law::fitted(Duration::from_millis(100), target, 1500, false).interval.as_micros()
        };
        assert_eq!([fitted(46_875), fitted(281_250), fitted(5_000)], [141_875, 562_500, 100_000]);
    }
}
