//! Virtual time: integer nanoseconds, passed into every call.
//!
//! Nothing in this crate reads a clock. An [`Instant`] counts from the start of the run; the
//! simulator advances it from event to event, the live driver maps the wall clock onto it.
//! Instants of a periodic grid are computed from the number of the period, never by adding a
//! rounded period again and again: a 1xEV-DO slot lasts 5/3 ms, which no integer nanosecond holds.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A point in virtual time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A span of virtual time, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than everything: "never".
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the start of the run.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start of the run.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start of the run; for output only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// Time passed since `earlier`, zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// The first start of a period at or after `self` on the grid of periods
    /// `numerator / denominator` nanoseconds long that begins at zero.
    pub const fn next_grid_point(self, numerator: u64, denominator: u64) -> Self {
        let wanted = self.0 as u128 * denominator as u128;
        let n = wanted.div_ceil(numerator as u128);
        Self((n * numerator as u128).div_ceil(denominator as u128) as u64)
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than every run.
    pub const MAX: Self = Self(u64::MAX);
    /// The longest time that a scenario may name: a hundred such times added up are still a time.
    pub const LONGEST: Self = Self::from_secs(5 * 365 * 24 * 3600);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * NANOS_PER_SECOND)
    }

    /// Length in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Length in whole microseconds, the unit of the kernel's `tcpi_*` times.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Length in seconds; for output only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SECOND as f64
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self - other`, zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self * factor`, at most [`Duration::MAX`].
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9}s", self.as_secs_f64())
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9}s", self.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_of_a_slot_that_is_no_whole_number_of_nanoseconds_does_not_drift() {
        // 1xEV-DO: 600 slots last exactly one second.
        let (numerator, denominator) = (5_000_000, 3);
        let mut at = Instant::ZERO;
        for _ in 0..600 {
            at = (at + Duration::from_nanos(1)).next_grid_point(numerator, denominator);
        }
        assert_eq!(at, Instant::ZERO + Duration::from_secs(1));
    }

    #[test]
    fn a_grid_point_is_its_own_next() {
        let at = Instant::from_nanos(40_000_000);
        assert_eq!(at.next_grid_point(20_000_000, 1), at);
        let later = at + Duration::from_nanos(1);
        assert_eq!(later.next_grid_point(20_000_000, 1), Instant::from_nanos(60_000_000));
    }
}
