//! DualPI2: one queue for senders that respond to marks in proportion (L4S) and one for all others, coupled so that
//! flows of both get about the same rate while the L4S queue stays short.
//!
//! RFC 9332, Appendix A, with the choices of Linux's `sch_dualpi2.c`. Packets with ECT(1) or CE wait in the low-latency
//! queue L, all others in the classic queue C. Each `update`, with q the longer of the waiting times of both heads:
//!
//! ```text
//! p += alpha (q - target) + beta (q - q_old), 0 <= p <= 1
//!
//! C:  dropped with probability p^2, or marked if it has ECT(0)
//! L:  marked with probability coupling x p, and if it waited longer than `step`
//! coupling x p > 1, overload:  C drops what it would mark; L drops with probability p^2 and marks what it sends
//! ```
//!
//! L is served first, but C gets `classic_share` of the bytes while both wait. While less than two MTU wait nothing is
//! dropped or marked at random. A queue shorter than a TTI or the time of an MTU does not exist on a slow bearer:
//! `step = "auto"` is longer than both, and 1 ms marks everything there.
//!
//! ASSUMED: one random draw per departing packet instead of the two that make p^2 in Linux. Left out: the ramp instead
//! of the step, classification by anything except ECN, and splitting of offloaded segments.

use super::fifo::{Fifo, Limit, Waiting};
use super::{Component, Discipline, Evicted, Next, Place, Queue, Target, Verdict};
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::registry::parameters;
use crate::rng::{self, Stream};
use crate::time::{Duration, Instant};
use crate::trace::Reason;
use crate::units::{Bytes, Probability};

const TARGET: Duration = Duration::from_millis(15);
const STEP: Duration = Duration::from_millis(1);

parameters! {
    /// A short queue for ECT(1) and a classic one, coupled by their marks and drops: DualPI2, RFC 9332.
    pub struct Config {
        /// At most this many packets wait in both queues.
        pub packets: u32 = 10_000,
        /// At most this many bytes wait in both queues; unlimited if absent.
        pub bytes: Option<Bytes>,
        /// Target sojourn time of classic packets; "auto": at least 15 ms, and 1.5 times an MTU's time and a TTI.
        pub target: Target = Target::Time(TARGET),
        /// Update interval of the probability.
        pub update: Duration = Duration::from_millis(16),
        /// Weight of the distance from the target, 1/s.
        pub alpha: f64 = 0.16,
        /// Weight of the change, 1/s.
        pub beta: f64 = 3.2,
        /// Marks of the low-latency queue over the square root of drops of the classic one.
        pub coupling: f64 = 2.0,
        /// Low-latency packets that waited longer are marked; "auto": at least 1 ms, and 1.5 times an MTU's time and a TTI.
        pub step: Target = Target::Time(STEP),
        /// Share of the bytes that the classic queue gets at least while both wait.
        pub classic_share: Probability = Probability::new(0.1).unwrap_or_default(),
        /// While less than two of these wait, nothing is dropped or marked at random.
        pub mtu: Bytes = Bytes::from_bytes(1500),
    }
}

impl Component for Config {
    fn build(&self, place: &Place<'_>) -> Discipline {
        Discipline::Queue(Box::new(self.in_use(place)))
    }

    fn limits(&self) -> (Option<u32>, Option<Bytes>) {
        (Some(self.packets), self.bytes)
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        let error = |key: &str, message: &str, hint: &str| Err(ScenarioError::new(key, message, hint));
        if self.target.is_zero() {
            return error(
                "target",
                "every packet waits longer",
                "write a time such as \"15 ms\", or \"auto\"",
            );
        }
        if self.update.is_zero() {
            return error("update", "is no time", "write a time such as \"16 ms\"");
        }
        for (key, weight) in [("alpha", self.alpha), ("beta", self.beta), ("coupling", self.coupling)] {
            if !(weight.is_finite() && weight > 0.0) {
                return error(key, "the probability would not follow the delay", "write a positive number");
            }
        }
        let share = self.classic_share.as_f64();
        if !(share > 0.0 && share < 1.0) {
            return error("classic_share", "one of the queues would starve", "write for example \"10 %\"");
        }
        Limit::validate(Some(self.packets), self.bytes)
    }

    fn needs_line(&self) -> bool {
        true
    }

    fn marks(&self) -> bool {
        true
    }
}

impl Config {
    fn in_use(&self, place: &Place<'_>) -> DualPi2 {
        DualPi2 {
            limit: Limit::new(Some(self.packets), self.bytes),
            target: self.target.at(place, TARGET, self.mtu),
            step: self.step.at(place, STEP, self.mtu),
            stream: rng::stream(place.run_seed, place.name),
            low: Fifo::default(),
            classic: Fifo::default(),
            probability: 0.0,
            old_delay: Duration::ZERO,
            next_update: Instant::ZERO + self.update,
            excused: Duration::ZERO,
            credit: 0.0,
            config: self.clone(),
        }
    }
}

struct DualPi2 {
    config: Config,
    limit: Limit,
    target: Duration,
    step: Duration,
    stream: Stream,
    low: Fifo,
    classic: Fifo,
    /// `p`.
    probability: f64,
    /// `q_old`.
    old_delay: Duration,
    next_update: Instant,
    /// So much of a packet's wait is no queue.
    excused: Duration,
    /// Bytes that the classic queue may send before the other, times its share of them: see `take`.
    credit: f64,
}

impl DualPi2 {
    /// Performs the pending updates up to `now`.
    fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now {
            let is_at_rest = self.bytes() == 0 && self.probability <= 0.0 && self.old_delay.is_zero();
            let steps = match is_at_rest {
                true => 1 + now.since(self.next_update).as_nanos() / self.config.update.as_nanos(),
                false => 1,
            };
            let at = self.next_update;
            self.next_update += self.config.update.saturating_mul(steps);
            let waited =
                |fifo: &Fifo| fifo.head().map_or(Duration::ZERO, |entered| self.sojourn(at, entered));
            self.update(waited(&self.low).max(waited(&self.classic)));
        }
    }

    /// How long a packet has waited in a queue.
    fn sojourn(&self, now: Instant, entered: Instant) -> Duration {
        now.since(entered).saturating_sub(self.excused)
    }

    fn update(&mut self, delay: Duration) {
        let Config { alpha, beta, .. } = self.config;
        let [q, old, target] = [delay, self.old_delay, self.target].map(Duration::as_secs_f64);
        self.probability = (self.probability + alpha * (q - target) + beta * (q - old)).clamp(0.0, 1.0);
        self.old_delay = delay;
    }

    /// The packet whose turn it is, and whether it is of the low-latency queue. While both wait, each byte of that one
    /// gives the other `classic_share` bytes of credit, and each of its own costs it the rest.
    fn take(&mut self) -> Option<(Waiting, bool)> {
        let share = self.config.classic_share.as_f64();
        let both = self.low.packets() > 0 && self.classic.packets() > 0;
        if !both {
            self.credit = 0.0;
        }
        let is_low = self.low.packets() > 0 && (!both || self.credit <= 0.0);
        let waiting = if is_low { self.low.pop() } else { self.classic.pop() }?;
        if both {
            let weight = if is_low { share } else { share - 1.0 };
            self.credit += weight * f64::from(waiting.packet.len);
        }
        Some((waiting, is_low))
    }
}

impl Queue for DualPi2 {
    fn stream(&mut self) -> Option<&mut Stream> {
        Some(&mut self.stream)
    }

    fn admit(&mut self, now: Instant, packet: &Packet) -> Verdict {
        self.catch_up(now);
        let packets = self.low.packets() + self.classic.packets();
        let fits = self.limit.fits(packets, self.bytes(), packet.len);
        if fits { Verdict::Enter } else { Verdict::Drop(Reason::QueueFull) }
    }

    fn push(&mut self, waiting: Waiting, _evicted: &mut Evicted) {
        let queue = match waiting.packet.ecn() {
            Packet::ECT_1 | Packet::CE => &mut self.low,
            _ => &mut self.classic,
        };
        queue.push(waiting);
    }

    fn pop(&mut self, now: Instant, evicted: &mut Evicted) -> Option<Next> {
        self.catch_up(now);
        loop {
            let (waiting, is_low) = self.take()?;
            let draw = self.stream.uniform();
            let is_short = self.bytes() < 2 * self.config.mtu.as_u64();
            let p = if is_short { 0.0 } else { self.probability };
            let overload = self.config.coupling * p > 1.0;
            let by_square = draw < p * p;
            let drops = by_square && (overload || !(is_low || waiting.packet.can_be_marked()));
            if drops {
                evicted.push(waiting.packet);
                continue;
            }
            let marks = match is_low {
                true => draw < self.config.coupling * p || self.sojourn(now, waiting.entered) > self.step,
                false => by_square,
            };
            return Some(Next { waiting, marks });
        }
    }

    fn excuse(&mut self, wait: Duration) {
        self.excused = wait;
    }

    fn bytes(&self) -> u64 {
        self.low.bytes() + self.classic.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Form;
    use crate::units::Bitrate;

    fn dualpi2(config: &Config) -> DualPi2 {
        config.in_use(&Place { run_seed: 1, name: "queue", rate: Bitrate::from_bps(1), tti: Duration::ZERO })
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn push(queue: &mut DualPi2, entered: Instant, ecn: u8, len: u32) {
        let packet = Box::new(Packet { len, form: Form::TCP.with_ecn(ecn), ..Packet::default() });
        queue.push(Waiting { number: 0, entered, packet }, &mut Vec::new());
    }

    /// By hand: 0.16 (q - 15 ms) + 3.2 (q - q_old), for q of 0, 8, 24 and 40 ms.
    #[test]
    fn the_probability_follows_the_delay() {
        let mut queue = dualpi2(&Config::default());
        for (ms, expected) in [(0, 0.0), (8, 0.024_48), (24, 0.077_12), (40, 0.132_32)] {
            queue.update(Duration::from_millis(ms));
            assert!((queue.probability - expected).abs() < 1e-12, "{}, not {expected}", queue.probability);
        }
    }

    /// The head came at 8 ms: at 16, 32 and 48 ms it has waited for 8, 24 and 40.
    #[test]
    fn updates_look_at_the_heads_at_their_own_times() {
        let mut queue = dualpi2(&Config::default());
        push(&mut queue, at(8), Packet::ECT_0, 1500);
        push(&mut queue, at(30), Packet::ECT_1, 1500);
        queue.catch_up(at(63));
        assert!((queue.probability - 0.132_32).abs() < 1e-12, "{}", queue.probability);
        let mut idle = dualpi2(&Config::default());
        idle.catch_up(at(1_000_000_000));
        assert!(idle.probability <= 0.0 && idle.next_update > at(1_000_000_000));
    }

    /// By hand: of 100 packets of one size ten are classic while both wait.
    #[test]
    fn the_classic_queue_gets_its_share_of_a_busy_link() {
        let mut queue = dualpi2(&Config::default());
        for _ in 0..200 {
            push(&mut queue, Instant::ZERO, Packet::ECT_1, 1000);
            push(&mut queue, Instant::ZERO, Packet::NOT_ECT, 1000);
        }
        let classic = (0..100).filter(|_| !queue.take().unwrap().1).count();
        assert_eq!(classic, 10);
        // Alone it has everything.
        let mut alone = dualpi2(&Config::default());
        (0..3).for_each(|_| push(&mut alone, Instant::ZERO, Packet::ECT_0, 1000));
        assert!((0..3).all(|_| !alone.take().unwrap().1));
    }

    /// Of 10 000 packets of one kind, those dropped, marked and sent at a probability, in a queue that is long.
    fn shares(probability: f64, ecn: u8) -> (usize, usize, usize) {
        let mut queue = dualpi2(&Config { packets: 20_000, ..Config::default() });
        for _ in 0..10_010 {
            push(&mut queue, Instant::ZERO, ecn, 1500);
        }
        queue.probability = probability;
        let (mut evicted, mut marked, mut left) = (Vec::new(), 0, 0);
        while left + evicted.len() < 10_000 {
            marked += usize::from(queue.pop(Instant::ZERO, &mut evicted).unwrap().marks);
            left += 1;
        }
        (evicted.len(), marked, left)
    }

    #[test]
    fn classic_packets_meet_the_square_and_low_latency_ones_twice_the_probability() {
        // p = 0.2: 4 % and 40 %; within four standard deviations.
        let kinds = [Packet::NOT_ECT, Packet::ECT_0, Packet::ECT_1];
        let [unmarkable, classic, low] = kinds.map(|ecn| shares(0.2, ecn));
        assert!((322..478).contains(&unmarkable.0) && unmarkable.1 == 0, "{unmarkable:?}");
        assert!((322..478).contains(&classic.1) && classic.0 == 0, "{classic:?}");
        assert!((3804..4196).contains(&low.1) && low.0 == 0, "{low:?}");
    }

    #[test]
    fn in_overload_both_queues_drop_and_what_is_sent_of_the_short_one_is_marked() {
        // p = 0.6: 36 %.
        for ecn in [Packet::ECT_0, Packet::ECT_1] {
            let (dropped, marked, left) = shares(0.6, ecn);
            assert!((3408..3792).contains(&dropped), "{dropped}");
            assert_eq!(marked, if ecn == Packet::ECT_1 { left } else { 0 });
        }
    }

    #[test]
    fn a_low_latency_packet_that_waited_longer_than_the_step_is_marked() {
        let mut queue = dualpi2(&Config::default());
        (0..5).for_each(|_| push(&mut queue, Instant::ZERO, Packet::ECT_1, 1500));
        let marks = [500_000, 1_000_000, 1_000_001]
            .map(|ns| queue.pop(Instant::from_nanos(ns), &mut Vec::new()).unwrap().marks);
        assert_eq!(marks, [false, false, true]);
    }

    /// By hand, as before with 10 ms more: at the step, and of the waits that the probability follows.
    #[test]
    fn an_excused_wait_counts_neither_at_the_step_nor_for_the_probability() {
        let mut queue = dualpi2(&Config::default());
        (0..5).for_each(|_| push(&mut queue, Instant::ZERO, Packet::ECT_1, 1500));
        queue.excuse(Duration::from_millis(10));
        let marks = [10_500_000, 11_000_000, 11_000_001]
            .map(|ns| queue.pop(Instant::from_nanos(ns), &mut Vec::new()).unwrap().marks);
        assert_eq!(marks, [false, false, true]);
        let mut excused = dualpi2(&Config::default());
        push(&mut excused, Instant::ZERO, Packet::ECT_0, 1500);
        excused.excuse(Duration::from_millis(8));
        excused.catch_up(at(48));
        // 8, 24 and 40 ms at 16, 32 and 48.
        assert!((excused.probability - 0.132_32).abs() < 1e-12, "{}", excused.probability);
    }

    #[test]
    fn a_short_queue_is_left_alone() {
        let mut queue = dualpi2(&Config::default());
        queue.probability = 1.0;
        (0..3).for_each(|_| push(&mut queue, Instant::ZERO, Packet::NOT_ECT, 1500));
        let mut evicted = Vec::new();
        // 3000 bytes remain after the first packet: it is dropped. 1500 remain after the second: it stays.
        queue.pop(Instant::ZERO, &mut evicted).unwrap();
        assert_eq!((evicted.len(), queue.bytes()), (1, 1500));
    }
}
