//! Measurements, and event A3: a neighbour becomes better than the serving cell by an offset (TS 36.331 §5.5.4.4).
//!
//! ```text
//! F = (1 - a) F + a M,  a = 1/2^(k/4) at a period of 200 ms                 layer 3 filter, §5.5.3.2
//! enters if  F of the neighbour - hysteresis > F of the serving cell + offset
//! ```
//!
//! The UE reports when the condition has held at all measurements in the time to trigger. Of several cells that are due at
//! once it reports the strongest.

use super::Config;
use crate::time::Duration;

/// Measurement period that the filter's coefficient is defined for (TS 36.331 §5.5.3.2).
const OF_COEFFICIENT: Duration = Duration::from_millis(200);

/// Measurements of a UE by cell; `None` for cells that it does not receive.
pub(super) struct Measurements {
    /// Share of the new value in the filter.
    share: f64,
    over_db: f64,
    time_to_trigger: Duration,
    pub filtered: Vec<Option<f64>>,
    /// Since when each neighbour has met the condition.
    entered: Vec<Option<Duration>>,
}

impl Measurements {
    pub fn new(config: &Config, cells: usize) -> Self {
        let forget = 1.0 - libm::pow(0.5, f64::from(config.filter) / 4.0);
        let periods = config.period.as_secs_f64() / OF_COEFFICIENT.as_secs_f64();
        Self {
            share: 1.0 - libm::pow(forget, periods),
            over_db: config.offset.as_db() + config.hysteresis.as_db(),
            time_to_trigger: config.time_to_trigger,
            filtered: vec![None; cells],
            entered: vec![None; cells],
        }
    }

    /// New values enter the filter; the first one is taken as it is.
    pub fn measure(&mut self, values: &[Option<f64>]) {
        for (filtered, value) in self.filtered.iter_mut().zip(values) {
            *filtered = match (*filtered, *value) {
                (Some(old), Some(new)) => Some(old + self.share * (new - old)),
                (old, new) => new.or(old),
            };
        }
    }

    /// Compares all cells with the serving one.
    pub fn evaluate(&mut self, now: Duration, serving: usize) {
        let Some(own) = self.filtered[serving] else { return };
        for (cell, (filtered, entered)) in self.filtered.iter().zip(&mut self.entered).enumerate() {
            let meets = cell != serving && filtered.is_some_and(|other| other > own + self.over_db);
            *entered = meets.then(|| entered.unwrap_or(now));
        }
    }

    /// The cell that is reported first at that time or before, and when.
    pub fn due(&self, now: Duration) -> Option<(Duration, usize)> {
        let times = self.entered.iter().enumerate();
        let due = times.filter_map(|(cell, entered)| {
            let at = (*entered)? + self.time_to_trigger;
            (at <= now).then_some((at, cell))
        });
        let stronger = |one: usize, other: usize| self.filtered[one] > self.filtered[other];
        due.reduce(|best, new| {
            let is_better = new.0 < best.0 || (new.0 == best.0 && stronger(new.1, best.1));
            if is_better { new } else { best }
        })
    }

    /// Another cell serves the UE: no condition is met any longer; the filters continue.
    pub fn forget_events(&mut self) {
        self.entered.fill(None);
    }
}
