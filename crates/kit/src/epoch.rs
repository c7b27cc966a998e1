//! Conversion between link times and standard library times, for stacks that use the latter.

use crate::Instant;
use std::time;

/// Start of virtual time on the scale of [`std::time::Instant`].
///
/// ```
/// use airpath::{Duration, Epoch, Instant};
///
/// let epoch = Epoch::new();
/// let at = Instant::ZERO + Duration::from_millis(1500);
/// assert_eq!(epoch.at(epoch.std(at)), at);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch(time::Instant);

impl Epoch {
    /// Begins at the present instant. It matters to no result: only differences do.
    #[allow(clippy::disallowed_methods)]
    pub fn new() -> Self {
        Self(time::Instant::now())
    }

    /// Begins at `start`.
    pub const fn from_std(start: time::Instant) -> Self {
        Self(start)
    }

    /// A time of the link as the standard library's.
    ///
    /// # Panics
    /// If it exceeds the range of the standard library, which is more than centuries.
    pub fn std(&self, at: Instant) -> time::Instant {
        self.0 + time::Duration::from_nanos(at.as_nanos())
    }

    /// A time of the standard library's as the link's: zero if it is before the beginning.
    pub fn at(&self, std: time::Instant) -> Instant {
        let nanos = std.saturating_duration_since(self.0).as_nanos();
        Instant::from_nanos(nanos.try_into().unwrap_or(u64::MAX))
    }
}

impl Default for Epoch {
    fn default() -> Self {
        Self::new()
    }
}
