//! Flows that come and go: files that start at random instants or by a list, each over a TCP connection of its own.
//!
//! With exponential intervals the files arrive as a Poisson process. Sizes and intervals are drawn independently from the
//! flow's own stream of random numbers, so the offered load does not depend on the path. File n uses connection n modulo
//! `connections`: with the ports of the scenario's UE that is how a client reuses them. A file that is still incomplete when
//! its connection is needed again is abandoned at both endpoints and counted. Memory is bounded by `connections`.
//!
//! Left out: connections without data, teardown (FIN), congestion state that connections share.
//!
//! Sources: processor sharing, against which the tests compare: L. Kleinrock, Queueing Systems II, 4.4. Bounded Pareto sizes:
//! M. Crovella, M. Harchol-Balter, C. Murta, "Task Assignment in a Distributed System", 1998.

use super::{Carrier, Component, Traffic};
use crate::distribution::{self, Sampler};
use crate::error::{ScenarioError, as_text};
use crate::rng::Stream;
use crate::time::{Duration, Instant};
use crate::units::{Bytes, ParseUnitError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use std::sync::Arc;

/// Files that arrive at random or by a list, each over a TCP connection of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// TCP payload of a file.
    pub size: distribution::Config<Bytes>,
    /// Time from the start of one file to the start of the next; exponential for Poisson arrivals.
    pub interval: distribution::Config<Duration>,
    /// Start and size of every file, instead of `size` and `interval`.
    pub trace: Option<Trace>,
    /// Number of files; no end if absent.
    pub count: Option<u32>,
    /// Connections that the files use in turn: the largest number of incomplete files.
    pub connections: u16,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            size: distribution::Config::Constant(Bytes::from_bytes(100_000)),
            interval: distribution::Config::Exponential(distribution::Mean { mean: Duration::from_secs(1) }),
            trace: None,
            count: None,
            connections: 256,
        }
    }
}

/// A list of files.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Trace {
    /// Path of the list, from the folder of the scenario. A resolved scenario has its text instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The list itself, instead of a file: in each line the start, counted from the start of the flow, and the size.
    pub list: List,
}

/// Starts and sizes of files, in the order of the starts.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct List(Arc<[(Duration, Bytes)]>);

impl List {
    /// The text of the list.
    pub fn to_text(&self) -> String {
        self.0.iter().map(|(start, size)| format!("{start}, {size}\n")).collect()
    }
}

impl FromStr for List {
    type Err = ScenarioError;

    fn from_str(text: &str) -> Result<Self, ScenarioError> {
        let mut files: Vec<(Duration, Bytes)> = Vec::new();
        for (number, line) in (1_u64..).zip(text.lines()) {
            let hint = "write start and size in each line, such as \"1.5 s, 20 kB\"";
            let wrong = |message: &str| ScenarioError::new("", format!("line {number}: {message}"), hint);
            let (start, size) = line.split_once(',').ok_or_else(|| wrong("has no comma"))?;
            let unit = |error: ParseUnitError| {
                let error = ScenarioError::from(error);
                ScenarioError::new("", format!("line {number}: {}", error.message), error.hint)
            };
            let (start, size): (Duration, Bytes) =
                (start.trim().parse().map_err(unit)?, size.trim().parse().map_err(unit)?);
            if size.as_u64() == 0 {
                return Err(wrong("a file of no bytes"));
            }
            if files.last().is_some_and(|(before, _)| *before > start) {
                return Err(wrong("starts before the line above"));
            }
            files.push((start, size));
        }
        if files.is_empty() {
            let hint = "write start and size in each line, such as \"1.5 s, 20 kB\"";
            return Err(ScenarioError::new("", "the list is empty", hint));
        }
        Ok(Self(files.into()))
    }
}

as_text!(List, "List", "a string", { "type": "string" });

/// A connection is used again after at least this time on average, so that no packet of its last file is in transit.
const SHORTEST_REUSE: Duration = Duration::from_secs(10);

/// Connections of one flow at most.
const MOST_CONNECTIONS: u16 = 16_000;

impl Component for Config {
    fn build(&self, stream: Stream) -> Traffic {
        Traffic::Arrivals(Arrivals {
            source: match &self.trace {
                Some(trace) => Source::List { files: trace.list.0.clone(), next: 0 },
                None => Source::Drawn {
                    size: self.size.sampler(),
                    interval: self.interval.sampler(),
                    stream,
                    at: Duration::ZERO,
                },
            },
            left: self.count.map_or(u64::MAX, u64::from),
            connections: self.connections,
        })
    }

    fn carrier(&self) -> Carrier {
        Carrier::TcpEach
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        self.size.validate().map_err(|error| error.under("size"))?;
        self.interval.validate().map_err(|error| error.under("interval"))?;
        if self.interval.mean().is_zero() {
            let hint = "write a positive time such as \"1 s\"";
            return Err(ScenarioError::new("interval", "all files would start at once", hint));
        }
        super::validate_count("count", self.count)?;
        if !(1..=MOST_CONNECTIONS).contains(&self.connections) {
            let hint = format!("write a number from 1 to {MOST_CONNECTIONS}");
            return Err(ScenarioError::new("connections", "too few or too many", hint));
        }
        if let Some(trace) = &self.trace {
            if trace.file.is_some() {
                return Err(ScenarioError::new(
                    "trace.file",
                    "was not read",
                    "give the list itself, as list",
                ));
            }
            if trace.list.0.is_empty() {
                let hint = "write start and size in each line, such as \"1.5 s, 20 kB\"";
                return Err(ScenarioError::new("trace.list", "is empty", hint));
            }
            return Ok(());
        }
        let reuse = self.interval.mean().saturating_mul(self.connections.into());
        if self.reuses_connections() && reuse < SHORTEST_REUSE {
            let needed = SHORTEST_REUSE.as_secs_f64() / self.interval.mean().as_secs_f64();
            let message = format!("each would be used again after {reuse} on average");
            let hint = format!("write at least {}, or a longer interval", libm::ceil(needed));
            return Err(ScenarioError::new("connections", message, hint));
        }
        Ok(())
    }

    fn ends(&self, connection: u16) -> u32 {
        if connection == 0 { self.files().map_or(0, |files| files.saturating_mul(2)) } else { 0 }
    }

    /// Connection 0 has no packets: its number is that of the flow in results.
    fn connections(&self) -> u16 {
        1 + self.connections
    }

    fn reuses_connections(&self) -> bool {
        self.files().is_none_or(|files| files > self.connections.into())
    }
}

impl Config {
    /// Number of files, if there is an end.
    fn files(&self) -> Option<u32> {
        let listed = self.trace.as_ref().map(|trace| u32::try_from(trace.list.0.len()).unwrap_or(u32::MAX));
        listed.into_iter().chain(self.count).min()
    }
}

/// A file to be transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// When it starts, from the start of the flow.
    pub start: Duration,
    /// TCP payload, bytes.
    pub size: u64,
}

/// Files in the order of their starts. Both hosts have one, with the same files.
pub struct Arrivals {
    source: Source,
    left: u64,
    /// Connections that they use in turn.
    pub connections: u16,
}

enum Source {
    Drawn { size: Sampler<Bytes>, interval: Sampler<Duration>, stream: Stream, at: Duration },
    List { files: Arc<[(Duration, Bytes)]>, next: usize },
}

impl Iterator for Arrivals {
    type Item = Transfer;

    fn next(&mut self) -> Option<Transfer> {
        self.left = self.left.checked_sub(1)?;
        match &mut self.source {
            Source::Drawn { size, interval, stream, at } => {
                let transfer = Transfer { start: *at, size: size.draw(stream).as_u64() };
                *at = Duration::from_nanos(at.as_nanos().saturating_add(interval.draw(stream).as_nanos()));
                Some(transfer)
            }
            Source::List { files, next } => {
                let (start, size) = *files.get(*next)?;
                *next += 1;
                Some(Transfer { start, size: size.as_u64() })
            }
        }
    }
}

impl Transfer {
    /// When it starts, in a flow that starts at `flow`.
    pub fn at(&self, flow: Instant) -> Instant {
        Instant::from_nanos(flow.as_nanos().saturating_add(self.start.as_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    fn transfers(config: &Config, seed: u64, count: usize) -> Vec<Transfer> {
        let Traffic::Arrivals(arrivals) = config.build(rng::stream(seed, "arrivals")) else { unreachable!() };
        arrivals.take(count).collect()
    }

    /// Numbers of arrivals in disjoint windows of a Poisson process have variance equal to the mean.
    #[test]
    fn arrivals_are_poisson() {
        let config = Config::default();
        let all = transfers(&config, 1, 100_000);
        let mut counts = vec![0_u32; 9_000];
        for transfer in &all {
            if let Some(count) = counts.get_mut((transfer.start.as_secs_f64() / 10.0) as usize) {
                *count += 1;
            }
        }
        let n = counts.len() as f64;
        let mean = counts.iter().copied().map(f64::from).sum::<f64>() / n;
        let variance = counts.iter().map(|count| libm::pow(f64::from(*count) - mean, 2.0)).sum::<f64>() / n;
        // 9000 windows of 10 arrivals: standard errors 0.033 and about 0.15.
        assert!((mean - 10.0).abs() < 0.2 && (variance - 10.0).abs() < 0.9, "{mean} {variance}");
        assert_eq!(transfers(&config, 1, 5), transfers(&config, 1, 5));
        assert_ne!(transfers(&config, 1, 5), transfers(&config, 2, 5));
    }

    #[test]
    fn a_list_gives_starts_and_sizes_and_reads_back() {
        let list: List = "0 s, 1 kB\n1.5 s, 20 kB\n1.5 s, 3 B".parse().unwrap();
        assert_eq!(list.to_text().parse::<List>().unwrap(), list);
        let trace = Some(Trace { file: None, list });
        let config = Config { trace, count: Some(2), ..Config::default() };
        let expected = [(0, 1000), (1_500_000_000, 20_000)];
        let got: Vec<_> = transfers(&config, 1, 9).iter().map(|t| (t.start.as_nanos(), t.size)).collect();
        assert_eq!(got, expected);
        assert_eq!((config.ends(0), config.ends(1)), (4, 0));
        for wrong in ["", "1 s", "1 s, 0 B", "1 s, 1 kB\n0 s, 1 kB", "x, 1 kB"] {
            assert!(wrong.parse::<List>().is_err(), "{wrong:?}");
        }
    }
}
