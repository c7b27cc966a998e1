//! Constant bit rate over UDP: packets of one size at equal distances, one way, never repeated.
//!
//! Packet n leaves at start + n * size / rate, rounded up to the nanosecond, whatever became of the others. Such a
//! flow never ends a run; with `packets` it falls silent.

use super::datagrams::{Datagram, Datagrams, Ends, Report, Sink};
use super::{Carrier, Component, Traffic};
use crate::error::ScenarioError;
use crate::rng::Stream;
use crate::time::Instant;
use crate::units::{Bitrate, Bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets of one size at a constant rate over UDP, one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Length of a packet, IP and UDP headers included.
    pub size: Bytes,
    /// Rate of the IP packets.
    pub rate: Bitrate,
    /// How many packets are sent; no end if absent.
    pub packets: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self { size: Bytes::from_bytes(200), rate: Bitrate::from_bps(64_000), packets: None }
    }
}

impl Component for Config {
    fn build(&self, _stream: Stream) -> Traffic {
        let source = Source {
            start: Instant::ZERO,
            size: self.size.as_u64(),
            rate: self.rate,
            packets: self.packets.unwrap_or(u32::MAX),
            next: 0,
        };
        Traffic::Datagrams(Ends { sender: Box::new(source), receiver: Box::new(Sink::new(None)) })
    }

    fn carrier(&self) -> Carrier {
        Carrier::Datagrams
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        super::validate_packet("size", self.size)?;
        super::validate_rate("rate", self.rate)?;
        super::validate_count("packets", self.packets)
    }
}

struct Source {
    start: Instant,
    size: u64,
    rate: Bitrate,
    packets: u32,
    next: u32,
}

impl Source {
    fn leaves_at(&self, number: u32) -> Instant {
        let since_start = self.rate.time_to_send(u64::from(number) * self.size);
        Instant::from_nanos(self.start.as_nanos().saturating_add(since_start.as_nanos()))
    }
}

impl Datagrams for Source {
    fn open(&mut self, start: Instant) {
        self.start = start;
    }

    fn deadline(&self) -> Option<Instant> {
        (self.next < self.packets).then(|| self.leaves_at(self.next))
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        self.deadline().filter(|at| *at <= now)?;
        let number = self.next;
        self.next += 1;
        Some(Datagram { number, len: self.size as u32, stamp: now })
    }

    fn handle_packet(&mut self, _now: Instant, _datagram: Datagram) {}

    fn report(&self, report: &mut Report) {
        report.sent = self.next.into();
    }
}
