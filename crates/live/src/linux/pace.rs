//! How often the driver wakes up.
//!
//! At a gigabit something is due every 12 us, and a driver that woke for each would do nothing else; under
//! SCHED_FIFO the kernel then stops it for 50 ms in each second. So wake-ups have a budget: short of it
//! the driver wakes at the very moment, beyond it in steps, and does together what fell into a step.

use airpath_core::time::{Duration, Instant};

/// The step, and how many wake-ups may come without one.
const STEP: Duration = Duration::from_nanos(50_000);
const BURST: usize = 16;

/// The last wake-ups.
#[derive(Debug)]
pub struct Pace {
    wakes: [Instant; BURST],
    /// Place of the oldest.
    oldest: usize,
}

impl Pace {
    /// Nothing has happened yet.
    pub fn new() -> Self {
        Self { wakes: [Instant::ZERO; BURST], oldest: 0 }
    }

    /// The driver woke up.
    pub fn woke(&mut self, now: Instant) {
        self.wakes[self.oldest] = now;
        self.oldest = (self.oldest + 1) % BURST;
    }

    /// Before this it does not wake up again.
    pub fn earliest(&self) -> Instant {
        self.wakes[self.oldest] + STEP * BURST as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    #[test]
    fn a_burst_is_free_and_a_flood_comes_in_steps() {
        let mut pace = Pace::new();
        for n in 0..BURST as u64 {
            assert!(pace.earliest() <= us(10_000 + n), "the burst is not used up yet");
            pace.woke(us(10_000 + n));
        }
        assert_eq!(pace.earliest(), us(10_800), "sixteen wake-ups use up 800 us");
        // From here on one wake-up for each step, on average.
        for n in 0..1000 {
            let next = pace.earliest();
            assert!(next >= us(10_800 + n / BURST as u64 * 800));
            pace.woke(next);
        }
    }
}
