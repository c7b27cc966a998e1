//! Delivery opportunities from a file: a link whose rate was recorded, packet by packet.
//!
//! The format is mahimahi's: a text of whole milliseconds, one in each line, never falling; each line is
//! one opportunity to deliver 1500 bytes. At its end the trace begins anew, with its last time as the
//! zero of the next round: a line 0 coincides with the last line of the round before, and both count.
//!
//! Where mahimahi's program and its documentation differ, or a file says too little, there is an option:
//! what an opportunity carries ([`Accounting`]) and where in its millisecond it lies ([`Spacing`]).
//!
//! Left out: whatever a trace does not tell, such as losses and delay; a cell adds a delay.
//! Source: mm-link(1), the manual page of mahimahi, and how its program behaves; no code of it.

mod schedule;
mod trace;

pub use trace::{Trace, constant};

use super::{Channel, Component, Kind, Offered, Opportunity};
use crate::error::ScenarioError;
use crate::time::{Duration, Instant};
use crate::units::Bitrate;
use schedule::Schedule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Delivery opportunities from a file in mahimahi's format.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Path of the trace, from the folder of the scenario. A resolved scenario has its text instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The trace itself, in place of a file: milliseconds, one opportunity in each line.
    pub trace: Trace,
    /// Whether the link is dead after the last line; otherwise the trace begins anew.
    pub once: bool,
    /// What an opportunity carries.
    pub accounting: Accounting,
    /// Where the opportunities of one millisecond lie in it.
    pub spacing: Spacing,
}

/// What an opportunity carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Accounting {
    /// 1500 bytes of IP packets, as the documentation of mahimahi has it.
    #[default]
    #[serde(rename = "ip_1500")]
    Ip1500,
    /// 1504 bytes, of which each packet takes 4 more than it has: mahimahi's program, which sees the
    /// header of a TUN device before each packet.
    #[serde(rename = "tun_1504")]
    Tun1504,
}

/// Where the opportunities of one millisecond lie in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Evenly: k of them 1/k ms apart. A file knows whole milliseconds only; at 100 Mbit/s eight at once
    /// would make packets wait half a millisecond for nothing.
    #[default]
    Even,
    /// All at its beginning, as in mahimahi.
    AtOnce,
}

impl Accounting {
    const fn opportunity_bytes(self) -> u32 {
        match self {
            Self::Ip1500 => 1500,
            Self::Tun1504 => 1504,
        }
    }

    const fn packet_overhead(self) -> u32 {
        match self {
            Self::Ip1500 => 0,
            Self::Tun1504 => 4,
        }
    }
}

impl Config {
    fn schedule(&self) -> Schedule {
        Schedule::new(self.trace.clone(), self.once, self.spacing)
    }
}

impl Component for Config {
    fn build(&self, _run_seed: u64, _name: &str) -> Box<dyn Channel> {
        Box::new(TraceFile { schedule: self.schedule(), next: 0, accounting: self.accounting })
    }

    fn kind(&self) -> Kind {
        Kind::Opportunities
    }

    fn mean_rate(&self) -> Option<Bitrate> {
        Some(self.trace.mean_rate())
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        match self.file {
            None => Ok(()),
            Some(_) => Err(ScenarioError::new("file", "was not read", "give the trace itself, as trace")),
        }
    }

    fn ends(&self) -> Option<Instant> {
        self.once.then(|| self.schedule().time(self.trace.opportunities() - 1)).flatten()
    }
}

struct TraceFile {
    schedule: Schedule,
    /// Number of the first opportunity that was not taken.
    next: u64,
    accounting: Accounting,
}

impl Channel for TraceFile {
    fn next_opportunity(&mut self, from: Instant) -> Option<Opportunity> {
        let mut at = self.schedule.time(self.next)?;
        if at < from {
            self.next = self.schedule.first_from(from);
            at = self.schedule.time(self.next)?;
        }
        self.next += 1;
        Some(Opportunity { at, bytes: self.accounting.opportunity_bytes() })
    }

    fn packet_bytes(&self, len: u32) -> u32 {
        len + self.accounting.packet_overhead()
    }

    fn offered(&self, now: Instant) -> Offered {
        let opportunities = self.schedule.first_from(now + Duration::from_nanos(1));
        let bytes = opportunities.saturating_mul(u64::from(self.accounting.opportunity_bytes()));
        Offered { opportunities, bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(trace: &str) -> Config {
        Config { trace: trace.parse().unwrap(), ..Config::default() }
    }

    fn build(config: &Config) -> Box<dyn Channel> {
        config.build(1, "test")
    }

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(1000 * micros)
    }

    #[test]
    fn an_opportunity_is_taken_once_and_one_that_nobody_asked_for_is_lost() {
        let mut channel = build(&config("2\n2\n5\n"));
        let mut next = |from| channel.next_opportunity(at(from)).unwrap().at;
        // The two of a millisecond lie half of one apart, and 7 is the 2 of the second round.
        assert_eq!([next(0), next(0), next(0), next(0)], [at(2000), at(2500), at(5000), at(7000)]);
        assert_eq!(next(7500), at(7500), "one at the very instant is in time");
        assert_eq!(next(10_001), at(12_000), "10 has passed");
    }

    #[test]
    fn a_trace_that_runs_once_ends() {
        let once = Config { once: true, ..config("2\n5\n5\n") };
        assert_eq!(once.ends(), Some(at(5500)));
        let mut channel = build(&once);
        for expected in [2000, 5000, 5500] {
            assert_eq!(channel.next_opportunity(at(0)).unwrap().at, at(expected));
        }
        assert_eq!(channel.next_opportunity(at(0)), None);
        assert_eq!(channel.offered(at(1_000_000)), Offered { opportunities: 3, bytes: 4500 });
        assert_eq!(config("2\n").ends(), None);
    }

    #[test]
    fn what_was_offered_is_computed_for_any_instant() {
        let channel = build(&config("2\n2\n5\n"));
        let counts = [0, 1999, 2000, 2500, 5000, 6999, 7000, 10_000]
            .map(|micros| channel.offered(at(micros)).opportunities);
        assert_eq!(counts, [0, 0, 1, 2, 3, 3, 4, 6]);
    }

    #[test]
    fn a_tun_header_counts_where_mahimahi_counts_it() {
        let mahimahi = Config { accounting: Accounting::Tun1504, ..config("1\n") };
        let mut channel = build(&mahimahi);
        assert_eq!(channel.next_opportunity(at(0)).unwrap().bytes, 1504);
        assert_eq!(channel.packet_bytes(1500), 1504);
        let mut plain = build(&config("1\n"));
        assert_eq!(plain.next_opportunity(at(0)).unwrap().bytes, 1500);
        assert_eq!(plain.packet_bytes(1500), 1500);
    }

    #[test]
    fn the_names_in_a_scenario_are_those_of_the_documentation() {
        let mahimahi = Config { accounting: Accounting::Tun1504, spacing: Spacing::AtOnce, ..config("1\n") };
        let text = toml::to_string(&mahimahi).unwrap();
        insta::assert_snapshot!(text, @r#"
        trace = """
        1
        """
        once = false
        accounting = "tun_1504"
        spacing = "at_once"
        "#);
        assert_eq!(toml::from_str::<Config>(&text).unwrap(), mahimahi);
    }
}
