//! A link whose rate, delay and loss are a series in time, from a CSV file.
//!
//! The file starts with a line of the columns' names: `time_s` and `rate_kbps`, and `delay_ms` and `loss` where they
//! are known. Each further line holds from its time until the time of the next; the first starts at 0, and times rise.
//! A rate of zero is an outage; a loss is the probability, 0 to 1, that a packet does not arrive. After its last line a
//! series holds the values of that line, or restarts after `repeat`.
//!
//! A packet in transmission continues at the new rate; its delay and its loss are taken from the line in which its last
//! bit is sent: it has used the link whether it arrives or not.
//!
//! Left out: what changes between two lines, which are joined by steps and not by slopes.

mod rows;

pub use rows::Rows;

use super::piecewise::Schedule;
use super::{Channel, Component, Kind, Order, ue_of};
use crate::error::ScenarioError;
use crate::recording::Offset;
use crate::time::{Duration, Instant};
use crate::units::{Bitrate, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link whose rate, delay and loss are a series in time.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Path of the series, from the folder of the scenario. A resolved scenario has its text instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The series itself, instead of a file: CSV with the columns time_s, rate_kbps, delay_ms and loss; delay_ms and
    /// loss are optional. Each line holds until the next.
    pub rows: Rows,
    /// Where in the series the run begins: a time, or "random", by the seed, which requires repeat. At its beginning
    /// if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<Offset>,
    /// Period after which the series restarts; it holds its last line if absent.
    pub repeat: Option<Duration>,
    /// Whether a packet may overtake another when the delay falls.
    pub order: Order,
}

impl Config {
    /// The schedule from its beginning, or from a time in it.
    fn schedule(&self) -> Schedule {
        let phase = match self.offset {
            Some(Offset::At(offset)) => offset,
            _ => Duration::ZERO,
        };
        Schedule { pieces: self.rows.known(), period: self.repeat, phase }
    }
}

impl Component for Config {
    fn build(&self, run_seed: u64, name: &str) -> Box<dyn Channel> {
        let mut schedule = self.schedule();
        if let (Some(offset), Some(period)) = (self.offset, self.repeat) {
            schedule.phase = offset.draw(period, run_seed, ue_of(name));
        }
        schedule.build(run_seed, name)
    }

    fn kind(&self) -> Kind {
        Kind::Packets
    }

    fn order(&self) -> Order {
        self.order
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.file.is_some() {
            return Err(ScenarioError::new("file", "was not read", "give the series itself, as rows"));
        }
        let last = self.rows.known().last().map_or(Duration::ZERO, |last| last.from);
        if self.repeat.is_some_and(|repeat| repeat <= last) {
            let message = format!("the last line of the series begins at {last}");
            return Err(ScenarioError::new("repeat", message, "write a later time, or remove the key"));
        }
        let hint = "write a time, or add repeat, the length of the series";
        self.offset.map_or(Ok(()), |offset| offset.validate(self.repeat.unwrap_or(last), self.repeat, hint))
    }

    fn loses_packets(&self) -> bool {
        self.rows.known().iter().any(|row| row.loss > Probability::ZERO)
    }

    fn mean_rate(&self) -> Option<Bitrate> {
        Some(self.schedule().mean_rate())
    }

    fn ends(&self) -> Option<Instant> {
        self.schedule().ends()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(more: &str) -> Config {
        toml::from_str(&format!("rows = \"time_s,rate_kbps\\n0,8\\n1,16\\n3,32\\n\"\n{more}")).unwrap()
    }

    /// Ends of packets of 1000 bytes, 8000 bits, that begin at these seconds.
    fn ends(config: &Config, starts_s: [u64; 4]) -> [f64; 4] {
        config.validate().unwrap();
        let mut channel = config.build(1, "ue0.downlink.channel");
        starts_s
            .map(|start| channel.serve(Instant::ZERO + Duration::from_secs(start), 1000).end.as_secs_f64())
    }

    #[test]
    fn a_series_begins_at_its_offset_and_wraps_around() {
        // 8, 16, 32 kbit/s from 0, 1 and 3 s; from 2 s on: 16 until 1 s, 32 until 2 s, 8 until 3 s, 16 until 5 s.
        let wraps = config("repeat = \"4 s\"\noffset = \"2 s\"");
        assert_eq!(ends(&wraps, [0, 1, 2, 3]), [0.5, 1.25, 3.0, 3.5]);
        let holds = config("offset = \"2 s\"");
        assert_eq!(ends(&holds, [0, 1, 2, 3]), [0.5, 1.25, 2.25, 3.25]);
    }

    #[test]
    fn an_offset_that_the_series_does_not_have_is_refused() {
        let wrong = |more: &str| config(more).validate().unwrap_err().to_string();
        assert_eq!(
            wrong("offset = \"random\""),
            "offset: the recording has no second round to wrap around to; write a time, or add repeat, the length of \
             the series"
        );
        assert_eq!(
            wrong("offset = \"4 s\"\nrepeat = \"4 s\""),
            "offset: the recording ends at 4 s, before 4 s; write an earlier time"
        );
        assert_eq!(
            wrong("offset = \"3.5 s\""),
            "offset: the recording ends at 3 s, before 3.5 s; write an earlier time"
        );
    }

    #[test]
    fn the_last_line_of_a_series_is_as_long_as_the_one_before() {
        let length = |rows: &str| rows.parse::<Rows>().unwrap().length();
        assert_eq!(length("time_s,rate_kbps\n0,8\n1,16\n3,32\n"), Some(Duration::from_secs(5)));
        assert_eq!(length("time_s,rate_kbps\n0,8\n"), None);
    }

    #[test]
    fn the_end_of_a_link_comes_earlier_by_the_offset() {
        let rows = "time_s,rate_kbps\n0,8\n5,0\n".parse().unwrap();
        let dies = Config { rows, offset: Some("2 s".parse().unwrap()), ..Config::default() };
        assert_eq!(dies.ends(), Some(Instant::ZERO + Duration::from_secs(3)));
    }
}
