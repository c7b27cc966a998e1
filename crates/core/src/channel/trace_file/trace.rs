//! A trace: from text and back, and of constant rate.
//!
//! Opportunities are kept by millisecond and not one by one, and are shared by all who use the trace: a
//! trace of 1 Gbit/s has 83 in each millisecond, and a cell may have many UEs.

use crate::error::{ScenarioError, as_text};
use crate::parsed::Parsed;
use crate::units::Bitrate;
use std::fmt::{self, Write};
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

/// With as many opportunities in every millisecond of the longest run, their number still fits 64 bits.
const MOST_OPPORTUNITIES: u64 = 1 << 26;

/// The longest period of a trace that [`constant`] makes, in milliseconds.
const LONGEST_CONSTANT_MS: u32 = 60_000;
/// The highest rate that it makes a trace of, in bit/s: more lines take longer to write than a user waits.
const HIGHEST_CONSTANT_BPS: u128 = 1_000_000_000_000;

/// Rate of one opportunity of 1500 bytes in each millisecond, in bit/s.
const BPS_OF_ONE_PER_MS: u64 = 12_000_000;

const FORM: &str = "write whole milliseconds, one in each line";

/// A valid trace.
#[derive(Clone)]
pub struct Trace {
    /// The milliseconds in which there are opportunities, ascending; never empty.
    milliseconds: Arc<[Millisecond]>,
    /// Opportunities in a period.
    opportunities: u32,
    /// Its text, once that is needed; scenarios are written more often than changed.
    text: Arc<OnceLock<Arc<str>>>,
}

impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.milliseconds, &other.milliseconds)
            || (self.opportunities == other.opportunities && self.milliseconds == other.milliseconds)
    }
}

impl Eq for Trace {}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Millisecond {
    at_ms: u32,
    /// Opportunities of the period before this millisecond.
    before: u32,
}

/// Where an opportunity stands among those of its millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub at_ms: u64,
    /// Counted from 0.
    pub place: u64,
    pub count: u64,
}

impl Trace {
    /// A trace from times that were found to be in order.
    fn from_times(times: impl Iterator<Item = u32>) -> Self {
        let (mut milliseconds, mut opportunities): (Vec<Millisecond>, u32) = (Vec::new(), 0);
        for at_ms in times {
            if milliseconds.last().is_none_or(|last| last.at_ms != at_ms) {
                milliseconds.push(Millisecond { at_ms, before: opportunities });
            }
            opportunities += 1;
        }
        Self { milliseconds: milliseconds.into(), opportunities, text: Arc::default() }
    }

    /// The text of the trace.
    pub fn to_text(&self) -> Arc<str> {
        self.text.get_or_init(|| self.write().into()).clone()
    }

    fn write(&self) -> String {
        let mut text = String::new();
        for (index, millisecond) in self.milliseconds.iter().enumerate() {
            for _ in 0..self.count(index) {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{}", millisecond.at_ms);
            }
        }
        text
    }

    /// Opportunities in a period; at least one.
    pub fn opportunities(&self) -> u64 {
        u64::from(self.opportunities)
    }

    /// Period of the trace in milliseconds, at least one.
    pub fn period_ms(&self) -> u64 {
        self.milliseconds.last().map_or(1, |last| u64::from(last.at_ms))
    }

    /// The rate of a period at IP level.
    pub fn mean_rate(&self) -> Bitrate {
        Bitrate::from_bps(self.opportunities() * BPS_OF_ONE_PER_MS / self.period_ms())
    }

    /// How many opportunities of a period are before a millisecond, and how many in it.
    pub(super) fn millisecond(&self, at_ms: u64) -> (u64, u64) {
        let index = self.milliseconds.partition_point(|one| u64::from(one.at_ms) < at_ms);
        match self.milliseconds.get(index) {
            None => (self.opportunities(), 0),
            Some(next) if u64::from(next.at_ms) > at_ms => (u64::from(next.before), 0),
            Some(this) => (u64::from(this.before), self.count(index)),
        }
    }

    /// Position of an opportunity of the period, given its index from 0.
    pub(super) fn place(&self, number: u64) -> Place {
        let after = self.milliseconds.partition_point(|one| u64::from(one.before) <= number);
        let index = after.saturating_sub(1);
        let this = self.milliseconds[index];
        Place {
            at_ms: u64::from(this.at_ms),
            place: number - u64::from(this.before),
            count: self.count(index),
        }
    }

    fn count(&self, index: usize) -> u64 {
        let end = self.milliseconds.get(index + 1).map_or(self.opportunities, |next| next.before);
        u64::from(end - self.milliseconds[index].before)
    }
}

/// The trace of a constant rate at IP level, with the shortest period that gives this rate or, where none of up to a
/// minute does, the nearest. An opportunity comes in the first whole millisecond when its bytes are due: 12 Mbit/s is
/// the trace of the one line 1.
///
/// # Errors
/// If the rate is too low or too high for a trace.
pub fn constant(rate: Bitrate) -> Result<Trace, ScenarioError> {
    let bps = u128::from(rate.as_bps());
    let unit = u128::from(BPS_OF_ONE_PER_MS);
    // How far off a period is, as a fraction: the whole number nearest to the opportunities due in it.
    let choice = |period: u32| {
        let due = u128::from(period) * bps;
        let count = (due + unit / 2) / unit;
        (count, (count * unit).abs_diff(due), u128::from(period))
    };
    let nearest = (1..=LONGEST_CONSTANT_MS)
        .map(choice)
        .filter(|(count, ..)| (1..=u128::from(MOST_OPPORTUNITIES)).contains(count))
        .min_by(|(_, off, period), (_, other_off, other)| (off * other).cmp(&(other_off * period)));
    let lowest = unit / u128::from(LONGEST_CONSTANT_MS);
    let Some((count, _, period)) = nearest.filter(|_| (lowest..=HIGHEST_CONSTANT_BPS).contains(&bps)) else {
        let message = format!("{rate} is no rate of a trace");
        return Err(ScenarioError::new("", message, "write a rate from \"200 bit/s\" to \"1000 Gbit/s\""));
    };
    Ok(Trace::from_times((1..=count).map(|number| (number * period).div_ceil(count) as u32)))
}

impl Default for Trace {
    /// One opportunity each millisecond: 12 Mbit/s.
    fn default() -> Self {
        Self::from_times([1].into_iter())
    }
}

impl FromStr for Trace {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        static PARSED: Parsed<Trace> = Parsed::new();
        PARSED.of(text, Self::read)
    }
}

impl Trace {
    fn read(text: &str) -> Result<Self, ScenarioError> {
        let error = |message: String, hint: &str| Err(ScenarioError::new("", message, hint));
        let mut times = Vec::new();
        let mut last = 0;
        for (number, line) in (1_u64..).zip(text.lines()) {
            let at_ms = match line.parse::<u32>() {
                _ if line.is_empty() => return error(format!("line {number} is empty"), FORM),
                _ if !line.bytes().all(|byte| byte.is_ascii_digit()) => {
                    let shown: String = line.chars().take(30).flat_map(char::escape_debug).collect();
                    let message = format!("line {number}: '{shown}' is not a whole number of milliseconds");
                    return error(message, FORM);
                }
                Err(_) => {
                    let hint = format!("write times up to {}", u32::MAX);
                    return error(format!("line {number}: more milliseconds than a trace can have"), &hint);
                }
                Ok(at_ms) => at_ms,
            };
            if at_ms < last {
                let message = format!("line {number}: {at_ms} is before {last}, the time in the line above");
                return error(message, "write the times in their order");
            }
            if number > MOST_OPPORTUNITIES {
                let hint = format!("write at most {MOST_OPPORTUNITIES} lines");
                return error(format!("line {number}: more lines than a trace can have"), &hint);
            }
            last = at_ms;
            times.push(at_ms);
        }
        match (times.is_empty(), last) {
            (true, _) => error("the trace is empty".into(), FORM),
            (_, 0) => error("the trace ends at 0, so it has no length".into(), "write a last line above 0"),
            _ => Ok(Self::from_times(times.into_iter())),
        }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({} opportunities in {} ms)", self.opportunities, self.period_ms())
    }
}

as_text!(
    Trace,
    "Trace",
    "whole milliseconds, one in each line of a text",
    { "type": "string", "pattern": "^([0-9]+\r?\n)*[0-9]+(\r?\n)?$" }
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error(text: &str) -> String {
        text.parse::<Trace>().unwrap_err().to_string()
    }

    fn constant_text(rate: &str) -> String {
        constant(rate.parse().unwrap()).unwrap().to_text().replace('\n', " ")
    }

    #[test]
    fn line_ends_may_be_of_either_kind_and_the_last_may_be_missing() {
        for text in ["0\n3\n3\n", "0\n3\n3", "0\r\n3\r\n3\r\n", "00\n3\n03\n"] {
            assert_eq!(&*text.parse::<Trace>().unwrap().to_text(), "0\n3\n3\n", "{text:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let texts = [
            "",
            "\n",
            "1\n\n2\n",
            "1\n2\n\n",
            "1\nx\n",
            "1\n-2\n",
            "+1\n",
            "1.5\n",
            " 1\n",
            "1 2\n",
            "1\r2\n",
            "# a comment\n1\n",
            "3\n2\n",
            "0\n",
            "0\n0\n",
            "4294967296\n",
            "\u{663}\n",
        ];
        insta::assert_snapshot!(texts.map(error).join("\n"), @r#"
        the trace is empty; write whole milliseconds, one in each line
        line 1 is empty; write whole milliseconds, one in each line
        line 2 is empty; write whole milliseconds, one in each line
        line 3 is empty; write whole milliseconds, one in each line
        line 2: 'x' is not a whole number of milliseconds; write whole milliseconds, one in each line
        line 2: '-2' is not a whole number of milliseconds; write whole milliseconds, one in each line
        line 1: '+1' is not a whole number of milliseconds; write whole milliseconds, one in each line
        line 1: '1.5' is not a whole number of milliseconds; write whole milliseconds, one in each line
        line 1: ' 1' is not a whole number of milliseconds; write whole milliseconds, one in each line
        line 1: '1 2' is not a whole number of milliseconds; write whole milliseconds, one in each line
        line 1: '1\r2' is not a whole number of milliseconds; write whole milliseconds, one in each line
        line 1: '# a comment' is not a whole number of milliseconds; write whole milliseconds, one in each line
        line 2: 2 is before 3, the time in the line above; write the times in their order
        the trace ends at 0, so it has no length; write a last line above 0
        the trace ends at 0, so it has no length; write a last line above 0
        line 1: more milliseconds than a trace can have; write times up to 4294967295
        line 1: '٣' is not a whole number of milliseconds; write whole milliseconds, one in each line
        "#);
    }

    #[test]
    fn the_places_of_opportunities_are_those_of_the_lines() {
        let trace: Trace = "0\n3\n3\n7\n".parse().unwrap();
        assert_eq!((trace.opportunities(), trace.period_ms()), (4, 7));
        assert_eq!(trace.mean_rate(), Bitrate::from_bps(6_857_142));
        let place = |number| {
            let Place { at_ms, place, count } = trace.place(number);
            (at_ms, place, count)
        };
        assert_eq!([0, 1, 2, 3].map(place), [(0, 0, 1), (3, 0, 2), (3, 1, 2), (7, 0, 1)]);
        let milliseconds = [0, 1, 3, 4, 7, 8].map(|at_ms| trace.millisecond(at_ms));
        assert_eq!(milliseconds, [(0, 1), (1, 0), (1, 2), (3, 0), (3, 1), (4, 0)]);
    }

    #[test]
    fn a_constant_rate_has_the_shortest_trace() {
        assert_eq!(constant_text("12 Mbit/s"), "1 ");
        assert_eq!(constant_text("24 Mbit/s"), "1 1 ");
        assert_eq!(constant_text("6 Mbit/s"), "2 ");
        assert_eq!(constant_text("18 Mbit/s"), "1 2 2 ");
        // 31.25 ms each.
        assert_eq!(constant_text("384 kbit/s"), "32 63 94 125 ");
        assert_eq!(constant_text("200 bit/s"), "60000 ");
        let trace = constant("1 Gbit/s".parse().unwrap()).unwrap();
        assert_eq!((trace.opportunities(), trace.period_ms()), (250, 3));
    }

    #[test]
    fn a_rate_without_a_short_period_becomes_the_nearest() {
        // 12 Mbit/s and 1 bit/s: one opportunity more in 12 000 s.
        assert_eq!(constant_text("12000001 bit/s"), "1 ");
        let trace = constant("1234567 bit/s".parse().unwrap()).unwrap();
        let off = trace.mean_rate().as_bps().abs_diff(1_234_567);
        assert!(off <= 1 && trace.period_ms() <= 60_000, "{trace:?} is off by {off} bit/s");
    }

    #[test]
    fn a_rate_that_no_trace_has_is_refused() {
        for rate in ["0 bit/s", "199 bit/s", "1001 Gbit/s", "18000000000 Gbit/s"] {
            let error = constant(rate.parse().unwrap()).unwrap_err();
            assert!(error.hint.contains("200 bit/s"), "{rate}: {error}");
        }
    }

    proptest! {
        #[test]
        fn text_reads_back(mut times in prop::collection::vec(0..50_u32, 1..60), last in 50..5000_u32) {
            times.sort_unstable();
            times.push(last);
            let text: String = times.iter().map(|time| format!("{time}\n")).collect();
            let trace: Trace = text.parse().unwrap();
            prop_assert_eq!(&*trace.to_text(), &*text);
            prop_assert_eq!(trace.opportunities(), times.len() as u64);
        }

        #[test]
        fn no_text_makes_the_parser_panic(alike in "[0-9\r\n]{0,20}", other: String) {
            let _ = (alike.parse::<Trace>(), other.parse::<Trace>());
        }

        #[test]
        fn a_constant_rate_is_never_ahead_of_its_bytes(bps in 200..2_000_000_u64) {
            let trace = constant(Bitrate::from_bps(bps)).unwrap();
            let (count, period) = (trace.opportunities(), trace.period_ms());
            for number in 0..count {
                let at = trace.place(number).at_ms * count;
                let due = (number + 1) * period;
                prop_assert!(at >= due && at < due + count, "opportunity {number} of {trace:?}");
            }
        }
    }
}
