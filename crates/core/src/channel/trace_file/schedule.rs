//! When the opportunities of a trace come, round after round.
//!
//! Opportunities are numbered from 0 over all rounds. Number and time follow from each other by a search
//! in one period; nothing is added up from round to round.

use super::Spacing;
use super::trace::{Place, Trace};
use crate::time::Instant;

const NANOS_PER_MS: u64 = 1_000_000;

/// All opportunities of a link.
#[derive(PartialEq)]
pub(super) struct Schedule {
    trace: Trace,
    once: bool,
    spacing: Spacing,
    /// Opportunities in the trace's first millisecond, if that is 0, and in its last: from round to round
    /// these two are one millisecond.
    at_zero: u64,
    at_end: u64,
}

impl Schedule {
    pub fn new(trace: Trace, once: bool, spacing: Spacing) -> Self {
        let (_, at_zero) = trace.millisecond(0);
        let (_, at_end) = trace.millisecond(trace.period_ms());
        Self { trace, once, spacing, at_zero, at_end }
    }

    /// When an opportunity comes; `None` if the trace has ended before.
    pub fn time(&self, number: u64) -> Option<Instant> {
        let in_round = self.trace.opportunities();
        let (round, inner) = (number / in_round, number % in_round);
        let Place { at_ms, mut place, mut count } = self.trace.place(inner);
        let period = self.trace.period_ms();
        if self.once && round > 0 {
            return None;
        }
        // At the seam the last of a round come first, then the line 0 of the next.
        if at_ms == period && !self.once {
            count += self.at_zero;
        } else if at_ms == 0 && round > 0 {
            place += self.at_end;
            count += self.at_end;
        }
        let offset = match self.spacing {
            Spacing::Even => place * NANOS_PER_MS / count,
            Spacing::AtOnce => 0,
        };
        Some(Instant::from_nanos((round * period + at_ms) * NANOS_PER_MS + offset))
    }

    /// Number of the first opportunity at or after an instant; where a trace has ended, of the one behind
    /// its last.
    pub fn first_from(&self, from: Instant) -> u64 {
        let (at_ms, into) = (from.as_nanos() / NANOS_PER_MS, from.as_nanos() % NANOS_PER_MS);
        let (before, count) = self.millisecond(at_ms);
        let passed = match self.spacing {
            Spacing::Even => (into * count).div_ceil(NANOS_PER_MS),
            Spacing::AtOnce if into == 0 => 0,
            Spacing::AtOnce => count,
        };
        before + passed
    }

    /// How many opportunities are before a millisecond of the run, and how many in it.
    fn millisecond(&self, at_ms: u64) -> (u64, u64) {
        if self.once {
            return self.trace.millisecond(at_ms);
        }
        let period = self.trace.period_ms();
        let (round, inner) = (at_ms / period, at_ms % period);
        let earlier = round.saturating_mul(self.trace.opportunities());
        if inner == 0 && round > 0 {
            return (earlier - self.at_end, self.at_end + self.at_zero);
        }
        let (before, count) = self.trace.millisecond(inner);
        (earlier.saturating_add(before), count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedule(text: &str, spacing: Spacing) -> Schedule {
        Schedule::new(text.parse().unwrap(), false, spacing)
    }

    fn micros(schedule: &Schedule, count: u64) -> Vec<u64> {
        (0..count).map(|number| schedule.time(number).unwrap().as_nanos() / 1000).collect()
    }

    #[test]
    fn the_last_time_of_a_trace_is_the_zero_of_the_next_round() {
        let even = schedule("1\n3\n", Spacing::Even);
        assert_eq!(micros(&even, 5), [1000, 3000, 4000, 6000, 7000]);
    }

    #[test]
    fn a_line_zero_shares_its_millisecond_with_the_end_of_the_round_before() {
        let text = "0\n1\n2\n2\n";
        assert_eq!(
            micros(&schedule(text, Spacing::AtOnce), 9),
            [0, 1000, 2000, 2000, 2000, 3000, 4000, 4000, 4000]
        );
        // Three in that millisecond, from the second round on.
        assert_eq!(
            micros(&schedule(text, Spacing::Even), 9),
            [0, 1000, 2000, 2333, 2666, 3000, 4000, 4333, 4666]
        );
        let once = Schedule::new(text.parse().unwrap(), true, Spacing::Even);
        assert_eq!(micros(&once, 4), [0, 1000, 2000, 2500]);
        assert_eq!(once.time(4), None);
        assert_eq!(once.first_from(Instant::from_nanos(2_500_001)), 4);
    }

    #[test]
    fn after_years_the_times_are_still_exact() {
        let thirds = schedule("1\n1\n1\n", Spacing::Even);
        let years = 150_000_000_000_u64;
        let at = thirds.time(3 * years + 1).unwrap();
        assert_eq!(at.as_nanos(), (years + 1) * 1_000_000 + 333_333);
        assert_eq!(thirds.first_from(at), 3 * years + 1);
    }

    proptest! {
        /// Against a walk over the opportunities one by one.
        #[test]
        fn the_first_from_an_instant_is_found_as_by_walking(
            mut times in prop::collection::vec(0..6_u32, 0..12),
            last in 1..7_u32,
            once: bool,
            even: bool,
            micros in 0..40_000_u64,
        ) {
            times.push(last);
            times.iter_mut().for_each(|time| *time = (*time).min(last));
            times.sort_unstable();
            let text: String = times.iter().map(|time| format!("{time}\n")).collect();
            let spacing = if even { Spacing::Even } else { Spacing::AtOnce };
            let schedule = Schedule::new(text.parse().unwrap(), once, spacing);
            let walked: Vec<Instant> = (0..1000).map_while(|number| schedule.time(number)).collect();
            prop_assert!(walked.windows(2).all(|pair| pair[0] <= pair[1]), "{walked:?}");
            for nanos in [micros * 1000, micros / 1000 * 1_000_000, micros * 1000 / 3] {
                let from = Instant::from_nanos(nanos);
                let expected = walked.iter().position(|at| *at >= from).unwrap_or(walked.len());
                prop_assert_eq!(schedule.first_from(from), expected as u64);
            }
            // Whole milliseconds, as a walk over the lines of the file gives them.
            let lines: Vec<u64> = walked.iter().map(|at| at.as_nanos() / 1_000_000).collect();
            let rounds = if once { 1 } else { 4 };
            let read = (0..rounds).flat_map(|round| {
                times.iter().map(move |time| round * u64::from(last) + u64::from(*time))
            });
            prop_assert!(read.zip(&lines).all(|(read, line)| read == *line));
        }
    }
}
