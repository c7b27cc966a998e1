//! How often the driver wakes up, and when it does not sleep at all.
//!
//! At a gigabit something is due every 12 us, and a driver that woke for each would do nothing else; under
//! SCHED_FIFO the kernel then stops it for 50 ms in each second. So wake-ups pass a leaky bucket: while it
//! has room the driver wakes at the very moment; when it is full, step by step, and the driver does together
//! what fell into a step.
//!
//! A sleeper wakes some tens of microseconds late. While traffic is sparse, the driver gets up that much
//! earlier and watches the clock; this has a budget too, a small share of the time.

use airpath_core::time::{Duration, Instant};

/// The step, and how many wake-ups may come without one.
const STEP: Duration = Duration::from_nanos(50_000);
const BURST: u64 = 16;

/// How much earlier than a deadline the driver gets up.
const EARLY: Duration = Duration::from_nanos(60_000);
/// One part in this many of the time may be spent watching the clock, and this much in a row.
const WATCHED_PART: u64 = 50;
const MOST_WATCHED: Duration = Duration::from_millis(1);

/// The bucket, and what may be spent on watching the clock.
#[derive(Debug)]
pub struct Pace {
    /// When the bucket will be empty: a wake-up fills it by a step (ITU-T I.371, annex A, calls this the
    /// theoretical arrival time).
    empty: Instant,
    may_watch: Duration,
    now: Instant,
}

impl Pace {
    pub fn new() -> Self {
        Self { empty: Instant::ZERO, may_watch: MOST_WATCHED, now: Instant::ZERO }
    }

    pub fn woke(&mut self, now: Instant) {
        let earned = now.since(self.now).as_nanos() / WATCHED_PART;
        self.may_watch = (self.may_watch + Duration::from_nanos(earned)).min(MOST_WATCHED);
        self.now = now;
        self.empty = self.empty.max(now) + STEP;
    }

    /// Before this it does not wake up again.
    pub fn earliest(&self) -> Instant {
        Instant::from_nanos(self.empty.as_nanos().saturating_sub((STEP * (BURST - 1)).as_nanos()))
    }

    /// How much earlier than the next deadline to get up, in order to watch the clock until then.
    pub fn early(&self) -> Duration {
        if self.may_watch >= EARLY { EARLY } else { Duration::ZERO }
    }

    /// The clock was watched for this long.
    pub fn watched(&mut self, time: Duration) {
        self.may_watch = Duration::from_nanos(self.may_watch.as_nanos().saturating_sub(time.as_nanos()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    #[test]
    fn a_burst_is_free_and_a_flood_comes_step_by_step() {
        let mut pace = Pace::new();
        for _ in 0..BURST {
            assert!(pace.earliest() <= us(10_000), "the bucket has room");
            pace.woke(us(10_000));
        }
        // Never two steps without a wake-up: in a flood, a deadline is at most one step late.
        for n in 1..1000 {
            assert_eq!(pace.earliest(), us(10_000 + 50 * n));
            pace.woke(pace.earliest());
        }
    }

    /// Wakes up as often as may be at one instant.
    fn burst(pace: &mut Pace, at: Instant) -> usize {
        let mut wakes = 0;
        while pace.earliest() <= at {
            pace.woke(at);
            wakes += 1;
        }
        wakes
    }

    #[test]
    fn what_was_not_used_comes_back_and_no_more_than_a_burst() {
        let mut pace = Pace::new();
        assert_eq!([10_000, 10_200, 900_000].map(|at| burst(&mut pace, us(at))), [16, 4, 16]);
    }

    #[test]
    fn the_clock_is_watched_for_a_small_share_of_the_time() {
        let mut pace = Pace::new();
        let mut watched = Duration::ZERO;
        for n in 0..10_000 {
            pace.woke(us(100 * n));
            watched += pace.early();
            pace.watched(pace.early());
        }
        // A fiftieth of one second, plus the initial budget.
        assert!(watched <= Duration::from_millis(21), "{watched:?}");
        assert!(watched >= Duration::from_millis(19), "{watched:?}");
    }
}
