//! PIE: drops or marks packets on arrival, with a probability that a controller derives from the queueing delay.
//!
//! RFC 8033, Appendix A. The queueing delay q is that of the last departed packet, 0 once the queue is empty (section
//! 5.2, by timestamps, the default of Linux and ns-3). Each `update`:
//!
//! ```text
//! dp = 0.125 (q - qdelay_ref) + 1.25 (q - q_old), in seconds
//! dp /= 2048, 512, 128, 32, 8, 2  for p < 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1; from 0.1 on dp <= 0.02
//! p += dp; p *= 0.98 if q = q_old = 0; 0 <= p <= 1; q_old = q; the burst allowance goes down by the step
//! ```
//!
//! A packet is admitted without a random draw while the burst allowance lasts (`max_burst`, granted again when p = 0
//! and q and q_old are below half of `qdelay_ref`), while q_old is below half of `qdelay_ref` and p < 0.2, and while no
//! more than two MTU wait. With ECN it is marked instead of dropped up to p = 10 % (section 5.1). With `derandomise`
//! probabilities are added up from one drop to the next: below 0.85 nothing is dropped, from 8.5 on the packet is
//! (section 5.4).
//!
//! Left out: the estimate of the departure rate, which takes 16 kB (0.34 s at 384 kbit/s), and switching it off.

use super::fifo::{Fifo, Limit, Waiting};
use super::{Component, Discipline, Evicted, Next, Place, Queue, Verdict};
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::registry::parameters;
use crate::rng::{self, Stream};
use crate::time::{Duration, Instant};
use crate::trace::Reason;
use crate::units::{Bytes, Probability};

parameters! {
    /// Drops or marks arriving packets at random to hold the queueing delay at a target: PIE, RFC 8033.
    pub struct Config {
        /// At most this many packets wait; unlimited if absent.
        pub packets: Option<u32>,
        /// At most this many bytes wait; unlimited if absent.
        pub bytes: Option<Bytes>,
        /// Target queueing delay.
        pub qdelay_ref: Duration = Duration::from_millis(15),
        /// A burst that is not longer passes unharmed.
        pub max_burst: Duration = Duration::from_millis(150),
        /// Update interval of the probability.
        pub update: Duration = Duration::from_millis(15),
        /// Weight of the distance from the reference, 1/s.
        pub alpha: f64 = 0.125,
        /// Weight of the change, 1/s.
        pub beta: f64 = 1.25,
        /// While no more than two of these wait, nothing is dropped.
        pub mtu: Bytes = Bytes::from_bytes(1500),
        /// Whether drops keep apart instead of being independent.
        pub derandomise: bool,
        /// Whether ECN-capable packets are marked instead of dropped.
        pub ecn: bool,
        /// Up to this probability packets are marked, above they are dropped.
        pub mark_up_to: Probability = Probability::new(0.1).unwrap_or_default(),
    }
}

impl Component for Config {
    fn build(&self, place: &Place<'_>) -> Discipline {
        Discipline::Queue(Box::new(self.in_use(place)))
    }

    fn limits(&self) -> (Option<u32>, Option<Bytes>) {
        (self.packets, self.bytes)
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        let error = |key: &str, message: &str, hint: &str| Err(ScenarioError::new(key, message, hint));
        for (key, time) in [("qdelay_ref", self.qdelay_ref), ("update", self.update)] {
            if time.is_zero() {
                return error(key, "is no time", "write a time such as \"15 ms\"");
            }
        }
        for (key, weight) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(weight.is_finite() && weight > 0.0) {
                return error(key, "the probability would not follow the delay", "write a positive number");
            }
        }
        Limit::validate(self.packets, self.bytes)
    }

    fn needs_line(&self) -> bool {
        true
    }

    fn marks(&self) -> bool {
        self.ecn
    }
}

impl Config {
    fn in_use(&self, place: &Place<'_>) -> Pie {
        Pie {
            config: self.clone(),
            limit: Limit::new(self.packets, self.bytes),
            stream: rng::stream(place.run_seed, place.name),
            fifo: Fifo::default(),
            probability: 0.0,
            accumulated: 0.0,
            delay: Duration::ZERO,
            old_delay: Duration::ZERO,
            burst: self.max_burst,
            next_update: Instant::ZERO + self.update,
            excused: Duration::ZERO,
        }
    }
}

/// Upper limit of a range of probabilities, and the divisor of a change in that range.
const SCALES: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (0.01, 8.0), (0.1, 2.0)];

/// Maximum growth of the probability per step once it exceeds the last of these.
const LARGEST_STEP: f64 = 0.02;

/// The probability shrinks to this share in a step while the queue is idle.
const DECAY: f64 = 0.98;

/// While packets waited for less than half of the reference, nothing is dropped below this probability.
const SAFE: f64 = 0.2;

/// Added probabilities between which a draw decides, with `derandomise`.
const DERANDOMISED: (f64, f64) = (0.85, 8.5);

struct Pie {
    config: Config,
    limit: Limit,
    stream: Stream,
    fifo: Fifo,
    probability: f64,
    /// Probabilities since the last drop.
    accumulated: f64,
    /// `q`.
    delay: Duration,
    /// `q_old`.
    old_delay: Duration,
    /// Remaining burst allowance.
    burst: Duration,
    next_update: Instant,
    /// So much of a packet's wait is no queue.
    excused: Duration,
}

impl Pie {
    /// Performs the pending updates up to `now`.
    fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now {
            let is_at_rest = self.probability <= 0.0 && self.delay.is_zero() && self.old_delay.is_zero();
            let steps = match is_at_rest {
                true => 1 + now.since(self.next_update).as_nanos() / self.config.update.as_nanos(),
                false => 1,
            };
            self.next_update += self.config.update.saturating_mul(steps);
            self.burst = self.burst.saturating_sub(self.config.update.saturating_mul(steps));
            self.update();
        }
    }

    fn update(&mut self) {
        let Config { alpha, beta, .. } = self.config;
        let [delay, old, reference] =
            [self.delay, self.old_delay, self.config.qdelay_ref].map(Duration::as_secs_f64);
        let p = self.probability;
        let mut step = alpha * (delay - reference) + beta * (delay - old);
        match SCALES.iter().find(|(below, _)| p < *below) {
            Some((_, divisor)) => step /= divisor,
            None => step = step.min(LARGEST_STEP),
        }
        let mut p = p + step;
        if self.delay.is_zero() && self.old_delay.is_zero() {
            p *= DECAY;
        }
        self.probability = p.clamp(0.0, 1.0);
        self.old_delay = self.delay;
    }

    /// Whether a packet shall be dropped that comes.
    fn drops(&mut self) -> bool {
        let draw = self.stream.uniform();
        let (p, half) = (self.probability, self.config.qdelay_ref.as_nanos() / 2);
        let is_short = |delay: Duration| delay.as_nanos() < half;
        if p <= 0.0 && is_short(self.delay) && is_short(self.old_delay) {
            self.burst = self.config.max_burst;
        }
        if !self.burst.is_zero()
            || (is_short(self.old_delay) && p < SAFE)
            || self.fifo.bytes() <= 2 * self.config.mtu.as_u64()
        {
            return false;
        }
        if self.config.derandomise {
            let (least, most) = DERANDOMISED;
            self.accumulated = if p <= 0.0 { 0.0 } else { self.accumulated + p };
            if self.accumulated < least {
                return false;
            }
            if self.accumulated >= most {
                return true;
            }
        }
        draw < p
    }
}

impl Queue for Pie {
    fn stream(&mut self) -> Option<&mut Stream> {
        Some(&mut self.stream)
    }

    fn admit(&mut self, now: Instant, packet: &Packet) -> Verdict {
        self.catch_up(now);
        let drops = self.drops();
        if !self.limit.fits(self.fifo.packets(), self.fifo.bytes(), packet.len) {
            self.accumulated = 0.0;
            return Verdict::Drop(Reason::QueueFull);
        }
        if !drops {
            return Verdict::Enter;
        }
        self.accumulated = 0.0;
        let marks =
            self.config.ecn && packet.can_be_marked() && self.probability <= self.config.mark_up_to.as_f64();
        if marks { Verdict::Mark } else { Verdict::Drop(Reason::EarlyDrop) }
    }

    fn push(&mut self, waiting: Waiting, _evicted: &mut Evicted) {
        self.fifo.push(waiting);
    }

    fn pop(&mut self, now: Instant, _evicted: &mut Evicted) -> Option<Next> {
        self.catch_up(now);
        let waiting = self.fifo.pop()?;
        self.delay = if self.fifo.bytes() == 0 {
            Duration::ZERO
        } else {
            now.since(waiting.entered).saturating_sub(self.excused)
        };
        Some(Next { waiting, marks: false })
    }

    fn excuse(&mut self, wait: Duration) {
        self.excused = wait;
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Form;
    use crate::units::Bitrate;

    fn pie(config: &Config) -> Pie {
        config.in_use(&Place { run_seed: 1, name: "queue", rate: Bitrate::from_bps(1), tti: Duration::ZERO })
    }

    #[test]
    fn an_excused_wait_is_no_delay() {
        let mut queue = pie(&Config::default());
        for number in 0..3 {
            let packet = Box::new(Packet { len: 1500, ..Packet::default() });
            queue.push(Waiting { number, entered: Instant::ZERO, packet }, &mut Vec::new());
        }
        queue.excuse(Duration::from_millis(12));
        let delays = [10, 30].map(|ms| {
            queue.pop(at(ms), &mut Vec::new());
            queue.delay.as_micros() / 1000
        });
        assert_eq!(delays, [0, 18]);
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn push(pie: &mut Pie, entered: Instant) {
        let packet = Box::new(Packet { len: 1500, ..Packet::default() });
        pie.push(Waiting { number: 0, entered, packet }, &mut Vec::new());
    }

    /// By hand, after the formulas of RFC 8033: p, q and q_old in milliseconds, and the next p.
    #[test]
    fn the_probability_follows_the_delay() {
        let vectors = [
            (0.05, 20, 10, 0.056_562_5),
            (0.2, 200, 50, 0.22),
            (0.01, 0, 0, 0.008_881_25),
            (0.0, 100, 0, 6.622_314e-5),
        ];
        for (probability, delay, old, expected) in vectors {
            let mut pie = pie(&Config::default());
            (pie.probability, pie.delay, pie.old_delay) =
                (probability, Duration::from_millis(delay), Duration::from_millis(old));
            pie.update();
            let next = pie.probability;
            assert!((next / expected - 1.0).abs() < 1e-6, "{next}, not {expected}");
            assert_eq!(pie.old_delay, pie.delay);
        }
    }

    #[test]
    fn at_three_times_the_reference_it_is_one_per_cent_after_34_updates() {
        let mut pie = pie(&Config::default());
        (pie.delay, pie.old_delay) = (Duration::from_millis(45), Duration::from_millis(45));
        let mut updates = 0;
        while pie.probability < 0.01 {
            pie.update();
            updates += 1;
        }
        assert_eq!(updates, 34);
    }

    /// Steps that passed are done when something happens, one by one or, at rest, at once.
    #[test]
    fn updates_are_due_on_a_grid_of_time() {
        let mut pie = pie(&Config::default());
        (pie.delay, pie.old_delay) = (Duration::from_millis(45), Duration::from_millis(45));
        pie.catch_up(at(34 * 15 - 1));
        assert!(pie.probability < 0.01);
        pie.catch_up(at(34 * 15));
        assert!(pie.probability >= 0.01);
        pie.delay = Duration::ZERO;
        pie.catch_up(at(1_000_000_000));
        assert!(pie.probability <= 0.0);
        assert!(pie.next_update > at(1_000_000_000) && pie.next_update <= at(1_000_000_015));
    }

    #[test]
    fn the_delay_is_that_of_the_packet_that_left_last_and_none_of_an_empty_queue() {
        let mut pie = pie(&Config::default());
        [1, 2, 4].into_iter().for_each(|ms| push(&mut pie, at(ms)));
        let delays = [5, 10, 12].map(|ms| {
            pie.pop(at(ms), &mut Vec::new()).unwrap();
            pie.delay
        });
        assert_eq!(delays, [4, 8, 0].map(Duration::from_millis));
    }

    /// A p of 0.3 throughout, as no update is due: three in ten are dropped or, up to the threshold, marked.
    #[test]
    fn what_comes_is_dropped_at_the_probability_or_marked() {
        let shares = |ecn: bool, mark_up_to: f64, derandomise: bool| {
            let mark_up_to = Probability::new(mark_up_to).unwrap();
            let mut pie = pie(&Config { ecn, mark_up_to, derandomise, ..Config::default() });
            (pie.probability, pie.burst) = (0.3, Duration::ZERO);
            (pie.delay, pie.old_delay) = (Duration::from_millis(20), Duration::from_millis(20));
            (0..3).for_each(|_| push(&mut pie, Instant::ZERO));
            let packet = Packet { len: 1500, form: Form::TCP.with_ecn(Packet::ECT_0), ..Packet::default() };
            let verdicts: Vec<_> = (0..10_000).map(|_| pie.admit(Instant::ZERO, &packet)).collect();
            let share = |of| verdicts.iter().filter(|verdict| **verdict == of).count();
            let first = verdicts.iter().position(|verdict| *verdict != Verdict::Enter);
            ([share(Verdict::Drop(Reason::EarlyDrop)), share(Verdict::Mark)], first)
        };
        for (ecn, mark_up_to, marks) in [(false, 0.1, false), (true, 0.3, true), (true, 0.29, false)] {
            let ([dropped, marked], _) = shares(ecn, mark_up_to, false);
            let (those, others) = if marks { (marked, dropped) } else { (dropped, marked) };
            assert!((2850..3150).contains(&those) && others == 0, "{dropped} {marked}");
        }
        // Two that enter for sure between drops, and 1 / 0.3 more on average.
        let ([dropped, _], first) = shares(false, 0.1, true);
        assert!((1780..1980).contains(&dropped) && first >= Some(2), "{dropped} {first:?}");
    }

    #[test]
    fn a_short_queue_a_short_wait_and_a_burst_are_safe() {
        let ready = || {
            let mut pie = pie(&Config::default());
            (pie.probability, pie.burst) = (1.0, Duration::ZERO);
            (pie.delay, pie.old_delay) = (Duration::from_millis(20), Duration::from_millis(20));
            (0..3).for_each(|_| push(&mut pie, Instant::ZERO));
            pie
        };
        assert!(ready().drops());
        let mut short = ready();
        short.pop(Instant::ZERO, &mut Vec::new());
        assert!(!short.drops());
        let mut waited_little = ready();
        (waited_little.probability, waited_little.old_delay) = (0.19, Duration::from_millis(7));
        assert!((0..100).all(|_| !waited_little.drops()));
        let mut burst = ready();
        burst.burst = Duration::from_millis(1);
        assert!(!burst.drops());
        // Granted again once the queue is quiet.
        let mut quiet = ready();
        (quiet.probability, quiet.delay, quiet.old_delay) = (0.0, Duration::ZERO, Duration::ZERO);
        quiet.drops();
        assert_eq!(quiet.burst, Duration::from_millis(150));
    }
}
