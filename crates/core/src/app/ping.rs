//! Requests at equal intervals, each answered at once, like ICMP's echo (RFC 792).
//!
//! Requests go in the direction of the flow, answers back. Request n leaves at start + n * interval,
//! whether the one before was answered or not. Such a flow never ends a run; with `requests` it falls
//! silent.

use super::datagram::Datagram;
use super::datagrams::{Arrival, Datagrams, Ends, Report, Seen, Sink, Timed};
use super::{Carrier, Component, Traffic};
use crate::delays::Delays;
use crate::error::ScenarioError;
use crate::rng::Stream;
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests at equal intervals, each answered at once, like ICMP's echo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Length of a request, IP header included.
    pub request: Bytes,
    /// Length of an answer, IP header included.
    pub answer: Bytes,
    /// From one request to the next.
    pub interval: Duration,
    /// How many requests are sent; no end if absent.
    pub requests: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        // The lengths of Linux's ping: 56 bytes of data, 8 of ICMP, 20 of IPv4.
        let len = Bytes::from_bytes(84);
        Self { request: len, answer: len, interval: Duration::from_secs(1), requests: None }
    }
}

impl Component for Config {
    fn build(&self, _stream: Stream) -> Traffic {
        let interval = self.interval;
        let leaves = move |number: u32| interval.saturating_mul(number.into());
        let requests = Timed::new(self.request.as_u64() as u32, self.requests, leaves);
        let requester =
            Requester { requests, answered: Seen::default(), answers: 0, rtts: Delays::default() };
        let responder = Sink::new(Some(self.answer.as_u64() as u32));
        Traffic::Datagrams(Ends { sender: Box::new(requester), receiver: Box::new(responder) })
    }

    fn datagram_bytes(&self) -> [Bytes; 2] {
        [self.request, self.answer]
    }

    fn carrier(&self) -> Carrier {
        Carrier::Datagrams
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        super::validate_packet("request", self.request)?;
        super::validate_packet("answer", self.answer)?;
        if self.interval.is_zero() {
            let hint = "write a time such as \"1 s\"";
            return Err(ScenarioError::new("interval", "all requests would leave at once", hint));
        }
        super::validate_count("requests", self.requests)
    }
}

struct Requester<T> {
    requests: T,
    answered: Seen,
    answers: u64,
    rtts: Delays,
}

impl<T: Datagrams> Datagrams for Requester<T> {
    fn open(&mut self, start: Instant) {
        self.requests.open(start);
    }

    fn deadline(&self) -> Option<Instant> {
        self.requests.deadline()
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        self.requests.poll_transmit(now)
    }

    fn handle_packet(&mut self, now: Instant, datagram: Datagram) {
        if self.answered.add(datagram.number) == Arrival::Duplicate {
            return;
        }
        self.answers += 1;
        self.rtts.add(now.since(datagram.stamp));
    }

    fn report(&self, report: &mut Report) {
        self.requests.report(report);
        report.answers = Some(self.answers);
        report.rtt_ms = self.rtts.report();
    }
}
