//! Messages over one TCP connection: an application that limits TCP.
//!
//! The next message is supplied an interval after the last one was supplied (`after = "start"`: TCP limited by a rate,
//! or a server that pushes), or an interval after it was acknowledged (`after = "ack"`: a user who reads, then requests
//! more; an on-off user). The connection stays open: after a pause the window restarts as defined in RFC 5681 (4.1). A
//! message is complete when its last byte is acknowledged. Left out: messages that travel as separate records (TLS),
//! teardown.

use super::transfers::Tally;
use super::{App, Carrier, Component, StreamReport, Traffic};
use crate::distribution::{self, Sampler};
use crate::error::ScenarioError;
use crate::rng::Stream;
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Messages over one TCP connection, with pauses: an application that limits TCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// TCP payload of a message.
    pub size: distribution::Config<Bytes>,
    /// Time from one message to the next.
    pub interval: distribution::Config<Duration>,
    /// What the interval follows.
    pub after: After,
    /// Number of messages; no end if absent.
    pub count: Option<u32>,
}

/// What an interval follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// The time when the last message was supplied.
    #[default]
    Start,
    /// The acknowledgment of the last message.
    Ack,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            size: distribution::Config::Constant(Bytes::from_bytes(10_000)),
            interval: distribution::Config::Constant(Duration::from_millis(100)),
            after: After::default(),
            count: None,
        }
    }
}

impl Component for Config {
    fn build(&self, stream: Stream) -> Traffic {
        Traffic::Stream(Box::new(Messages {
            size: self.size.sampler(),
            interval: self.interval.sampler(),
            after: self.after,
            stream,
            left: self.count.unwrap_or(u32::MAX),
            endless: self.count.is_none(),
            supplied: 0,
            next: None,
            opened: false,
            open: VecDeque::new(),
            started: 0,
            tally: Tally::default(),
        }))
    }

    fn carrier(&self) -> Carrier {
        Carrier::Tcp
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        self.size.validate().map_err(|error| error.under("size"))?;
        self.interval.validate().map_err(|error| error.under("interval"))?;
        if self.after == After::Start && self.interval.mean().is_zero() {
            let hint = "write a positive time such as \"100 ms\", or after = \"ack\"";
            return Err(ScenarioError::new("interval", "all messages would be supplied at once", hint));
        }
        super::validate_count("count", self.count)
    }
}

/// A message that is not fully acknowledged.
struct Open {
    /// Offset of its end in the connection.
    end: u64,
    bytes: u64,
    start: Instant,
}

struct Messages {
    size: Sampler<Bytes>,
    interval: Sampler<Duration>,
    after: After,
    stream: Stream,
    /// Messages that have not been supplied.
    left: u32,
    endless: bool,
    supplied: u64,
    next: Option<Instant>,
    opened: bool,
    /// Messages that are not fully acknowledged, in the order of their starts.
    open: VecDeque<Open>,
    started: u64,
    tally: Tally,
}

/// Messages in the sender's buffer at most: a longer list means that the path carries less than the application offers, and
/// the application waits as a blocking socket does.
const MOST_OPEN: usize = 4096;

impl Messages {
    fn schedule(&mut self, from: Instant) {
        let wait = self.interval.draw(&mut self.stream);
        self.next =
            (self.left > 0).then(|| Instant::from_nanos(from.as_nanos().saturating_add(wait.as_nanos())));
    }
}

impl App for Messages {
    fn poll_supply(&mut self, now: Instant) -> u64 {
        if !self.opened {
            (self.opened, self.next) = (true, Some(now));
        }
        let before = self.supplied;
        // A drawn interval may be zero: several messages at one instant, within the bound of the buffer.
        while let Some(at) = self.next.filter(|at| *at <= now)
            && self.open.len() < MOST_OPEN
        {
            self.next = None;
            let bytes = self.size.draw(&mut self.stream).as_u64();
            self.supplied = self.supplied.saturating_add(bytes);
            self.left -= u32::from(!self.endless);
            self.started += 1;
            self.open.push_back(Open { end: self.supplied, bytes, start: at });
            if self.after == After::Start {
                self.schedule(at);
            }
        }
        self.supplied - before
    }

    fn deadline(&self) -> Option<Instant> {
        self.next.filter(|_| self.open.len() < MOST_OPEN)
    }

    fn awaits_acked(&self) -> Option<u64> {
        self.open.front().map(|open| open.end)
    }

    fn handle_acked(&mut self, now: Instant, acked: u64) {
        while self.open.front().is_some_and(|open| open.end <= acked)
            && let Some(open) = self.open.pop_front()
        {
            self.tally.complete(open.bytes, now.since(open.start));
            if self.after == After::Ack {
                self.schedule(now);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.left == 0
    }

    fn report(&self, _now: Instant) -> StreamReport {
        StreamReport { transfers: Some(self.tally.report(self.started, 0)), ..StreamReport::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    fn app(config: &Config) -> Box<dyn App> {
        let Traffic::Stream(app) = config.build(rng::stream(1, "messages")) else { unreachable!() };
        app
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_rate_limited_application_supplies_by_the_clock() {
        let mut app = app(&Config { count: Some(3), ..Config::default() });
        assert_eq!(app.poll_supply(at(5)), 10_000);
        assert_eq!((app.deadline(), app.awaits_acked(), app.is_done()), (Some(at(105)), Some(10_000), false));
        assert_eq!((app.poll_supply(at(104)), app.poll_supply(at(105))), (0, 10_000));
        // A late poll does not shift the schedule of the messages.
        assert_eq!((app.poll_supply(at(300)), app.deadline(), app.is_done()), (10_000, None, true));
        app.handle_acked(at(400), 30_000);
        let report = app.report(at(400)).transfers.unwrap();
        assert_eq!((report.started, report.completed, report.mean_bytes), (3, 3, Some(10_000.0)));
        // 395, 295 and 195 ms.
        assert_eq!((report.completion_ms.max, report.completion_ms.min), (Some(395.0), Some(195.0)));
    }

    #[test]
    fn a_user_waits_for_the_acknowledgment() {
        let mut app = app(&Config { after: After::Ack, ..Config::default() });
        assert_eq!((app.poll_supply(at(0)), app.deadline()), (10_000, None));
        app.handle_acked(at(70), 10_000);
        assert_eq!((app.deadline(), app.poll_supply(at(170))), (Some(at(170)), 10_000));
        assert!(!app.is_done());
    }
}
