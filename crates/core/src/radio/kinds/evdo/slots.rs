//! Slots of 5/3 ms: 600 start in each second, the first at the start of the run.

use crate::time::{Duration, Instant};

/// A slot lasts this many nanoseconds over three.
const NUMERATOR: u64 = 5_000_000;
const DENOMINATOR: u64 = 3;

/// Start of a slot, rounded up to a nanosecond.
pub(super) const fn start_of(slot: u64) -> Instant {
    Instant::from_nanos((slot * NUMERATOR).div_ceil(DENOMINATOR))
}

/// The first slot that starts at or after an instant.
pub(super) const fn first_from(at: Instant) -> u64 {
    let Some(before) = at.as_nanos().checked_sub(1) else { return 0 };
    // The slot after the last slot that started earlier. 3 slots start per 5 ms; no product can overflow.
    before / NUMERATOR * DENOMINATOR + before % NUMERATOR * DENOMINATOR / NUMERATOR + 1
}

/// How long this many slots last.
pub(super) const fn lasting(slots: u64) -> Duration {
    start_of(slots).since(Instant::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radio::phy::evdo::PER_SECOND;

    #[test]
    fn slots_are_a_grid_that_does_not_drift() {
        assert_eq!(start_of(PER_SECOND), Instant::ZERO + Duration::from_secs(1));
        assert_eq!(start_of(1), Instant::from_nanos(1_666_667));
        for slot in (0..5000).chain([2_160_000, 94_608_000_000]) {
            let start = start_of(slot);
            assert_eq!(first_from(start), slot);
            assert_eq!(first_from(start + Duration::from_nanos(1)), slot + 1);
        }
    }
}
