//! Delivery opportunities from a file: a link whose rate was recorded, packet by packet.
//!
//! The format is mahimahi's: a text of whole milliseconds, one in each line, never falling; each line is one
//! opportunity to deliver 1500 bytes. At its end the trace restarts, with its last time as the zero of the next round:
//! a line 0 coincides with the last line of the round before, and both count.
//!
//! Where mahimahi's program and its documentation differ, or a file says too little, there is an option:
//! what an opportunity carries ([`Accounting`]) and where in its millisecond it lies ([`Spacing`]).
//!
//! Left out: whatever a trace does not tell, such as losses and delay; a cell adds a delay.
//! Source: mm-link(1), the manual page of mahimahi, and how its program behaves; no code of it.

mod schedule;
mod trace;

pub use trace::{Trace, constant};

use super::{Channel, Component, Kind, Offered, Opportunity, as_same, ue_of};
use crate::element::Adopt;
use crate::error::ScenarioError;
use crate::recording::Offset;
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
    /// The trace itself, instead of a file: milliseconds, one opportunity in each line.
    #[schemars(extend("x-changes" = true))]
    pub trace: Trace,
    /// Where in the trace the run begins: a time, or "random", by the seed. At its beginning if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Offset>,
    /// Whether the link is dead after the last line; otherwise the trace restarts.
    pub once: bool,
    /// What an opportunity carries.
    pub accounting: Accounting,
    /// Where the opportunities of one millisecond lie in it.
    pub spacing: Spacing,
}

/// What an opportunity carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Accounting {
    /// 1500 bytes of IP packets, as in mahimahi's documentation.
    #[default]
    #[serde(rename = "ip_1500")]
    Ip1500,
    /// 1504 bytes, and each packet takes 4 bytes more than its length: mahimahi's program, which sees the header of a
    /// TUN device before each packet.
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

    fn period(&self) -> Duration {
        Duration::from_millis(self.trace.period_ms())
    }
}

impl Component for Config {
    fn build(&self, run_seed: u64, name: &str) -> Box<dyn Channel> {
        let offset =
            self.offset.map_or(Duration::ZERO, |offset| offset.draw(self.period(), run_seed, ue_of(name)));
        let schedule = self.schedule();
        let first = schedule.first_from(Instant::ZERO + offset);
        Box::new(TraceFile {
            schedule,
            offset,
            first,
            next: first,
            accounting: self.accounting,
            before: Offered::default(),
        })
    }

    fn kind(&self) -> Kind {
        Kind::Opportunities
    }

    fn mean_rate(&self) -> Option<Bitrate> {
        Some(self.trace.mean_rate())
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.file.is_some() {
            return Err(ScenarioError::new("file", "was not read", "give the trace itself, as trace"));
        }
        let period = (!self.once).then(|| self.period());
        let hint = "write a time, or remove once";
        self.offset.map_or(Ok(()), |offset| offset.validate(self.period(), period, hint))
    }

    fn ends(&self) -> Option<Instant> {
        let last = self.once.then(|| self.schedule().time(self.trace.opportunities() - 1)).flatten()?;
        match self.offset {
            Some(Offset::At(offset)) => Some(Instant::ZERO + last.since(Instant::ZERO + offset)),
            _ => Some(last),
        }
    }
}

struct TraceFile {
    schedule: Schedule,
    /// How far into the trace the run begins.
    offset: Duration,
    /// Number of the first opportunity of the run.
    first: u64,
    /// Number of the first opportunity that was not taken.
    next: u64,
    accounting: Accounting,
    /// What traces have offered that were in use before this one.
    before: Offered,
}

impl Channel for TraceFile {
    fn next_opportunity(&mut self, from: Instant) -> Option<Opportunity> {
        let from = from + self.offset;
        let mut at = self.schedule.time(self.next)?;
        if at < from {
            self.next = self.schedule.first_from(from);
            at = self.schedule.time(self.next)?;
        }
        self.next += 1;
        let at = Instant::ZERO + at.since(Instant::ZERO + self.offset);
        Some(Opportunity { at, bytes: self.accounting.opportunity_bytes() })
    }

    fn packet_bytes(&self, len: u32) -> u32 {
        len + self.accounting.packet_overhead()
    }

    fn offered(&self, now: Instant) -> Offered {
        let passed = self.schedule.first_from(now + self.offset + Duration::from_nanos(1));
        let opportunities = passed.saturating_sub(self.first);
        let bytes = opportunities.saturating_mul(u64::from(self.accounting.opportunity_bytes()));
        let Offered { opportunities: earlier, bytes: earlier_bytes } = self.before;
        Offered { opportunities: earlier + opportunities, bytes: earlier_bytes.saturating_add(bytes) }
    }

    /// Opportunities that lie after `now` in the new trace; both have run since the start.
    fn adopt(&mut self, now: Instant, fresh: Box<dyn Channel>, how: Adopt) -> bool {
        if how == Adopt::Streams {
            return false;
        }
        let Some(fresh) = as_same::<Self>(fresh).filter(|fresh| fresh.schedule != self.schedule) else {
            return false;
        };
        self.before = self.offered(now);
        self.schedule = fresh.schedule;
        self.first = self.schedule.first_from(now + self.offset + Duration::from_nanos(1));
        self.next = self.first;
        true
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

    /// The trace 2, 2, 5 from its third millisecond on: 5 is 2 ms away, and the 7, 7.5 of the second round follow.
    #[test]
    fn a_trace_begins_at_its_offset_and_wraps_around() {
        let at_3 = Config { offset: Some(Offset::At(Duration::from_millis(3))), ..config("2\n2\n5\n") };
        at_3.validate().unwrap();
        let mut channel = build(&at_3);
        let mut next = |from| channel.next_opportunity(at(from)).unwrap().at;
        assert_eq!([next(0), next(0), next(0), next(0)], [at(2000), at(4000), at(4500), at(7000)]);
        let counts = [0, 1999, 2000, 4500, 7000].map(|micros| channel.offered(at(micros)).opportunities);
        assert_eq!(counts, [0, 0, 1, 3, 4]);
        let once = Config { once: true, ..at_3 };
        assert_eq!(once.ends(), Some(at(2000)));
        let mut ending = build(&once);
        assert_eq!(ending.next_opportunity(at(0)).unwrap().at, at(2000));
        assert_eq!(ending.next_opportunity(at(0)), None);
    }

    #[test]
    fn both_directions_of_a_ue_begin_at_the_same_random_offset_and_others_elsewhere() {
        let lines: String =
            (1..=1000).map(|ms| if ms % 100 < 37 { format!("{ms}\n") } else { String::new() }).collect();
        let random = Config { offset: Some(Offset::Random), ..config(&(lines + "1000\n")) };
        random.validate().unwrap();
        let first = |seed, name| {
            let mut channel = random.build(seed, name);
            (0..500).map(|_| channel.next_opportunity(at(0)).unwrap().at).collect::<Vec<_>>()
        };
        assert_eq!(first(1, "ue0.downlink.channel"), first(1, "ue0.uplink.channel"));
        assert_eq!(first(1, "ue0.downlink.channel"), first(1, "ue0.downlink.channel"));
        assert_ne!(first(1, "ue0.downlink.channel"), first(1, "ue1.downlink.channel"));
        assert_ne!(first(1, "ue0.downlink.channel"), first(2, "ue0.downlink.channel"));
    }

    #[test]
    fn an_offset_that_the_trace_does_not_have_is_refused() {
        let wrong = |offset, once| {
            Config { offset: Some(offset), once, ..config("5\n") }.validate().unwrap_err().to_string()
        };
        let at_5 = Offset::At(Duration::from_millis(5));
        assert_eq!(
            wrong(at_5, false),
            "offset: the recording ends at 5 ms, before 5 ms; write an earlier time"
        );
        assert_eq!(
            wrong(Offset::Random, true),
            "offset: the recording has no second round to wrap around to; write a time, or remove once"
        );
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
