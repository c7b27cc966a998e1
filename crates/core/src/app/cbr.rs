//! Constant bit rate over UDP: packets of one size at equal distances, one way, never repeated.
//!
//! Packet n leaves at start + n * size / rate, to the nanosecond, whatever became of the others. Such a
//! flow never ends a run; with `packets` it falls silent.

use super::Traffic;
use super::datagrams::{Arrivals, Datagram, Datagrams, Ends, Report};
use crate::error::ScenarioError;
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

impl Config {
    pub(super) fn build(&self) -> Traffic {
        let clock = Clock { start: Instant::ZERO, size: self.size.as_u64(), rate: self.rate };
        Traffic::Datagrams(Ends {
            sender: Box::new(Source { clock, packets: self.packets.unwrap_or(u32::MAX), next: 0 }),
            receiver: Box::new(Sink { clock, arrivals: Arrivals::default() }),
        })
    }

    pub(super) fn validate(&self) -> Result<(), ScenarioError> {
        super::validate_packet("size", self.size)?;
        if self.rate.as_bps() == 0 {
            let hint = "write a positive rate such as \"64 kbit/s\"";
            return Err(ScenarioError::new("rate", "nothing would be sent", hint));
        }
        super::validate_count("packets", self.packets)
    }
}

/// When each packet leaves.
#[derive(Clone, Copy)]
struct Clock {
    start: Instant,
    size: u64,
    rate: Bitrate,
}

impl Clock {
    fn sent_at(&self, number: u32) -> Instant {
        let bit_nanos = u128::from(number) * u128::from(self.size) * 8 * 1_000_000_000;
        let nanos = bit_nanos / u128::from(self.rate.as_bps());
        let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
        Instant::from_nanos(self.start.as_nanos().saturating_add(nanos))
    }
}

struct Source {
    clock: Clock,
    packets: u32,
    next: u32,
}

impl Datagrams for Source {
    fn open(&mut self, start: Instant) {
        self.clock.start = start;
    }

    fn deadline(&self) -> Option<Instant> {
        (self.next < self.packets).then(|| self.clock.sent_at(self.next))
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        self.deadline().filter(|at| *at <= now)?;
        let number = self.next;
        self.next += 1;
        Some(Datagram { number, len: self.clock.size as u32 })
    }

    fn handle_packet(&mut self, _now: Instant, _datagram: Datagram) {}

    fn report(&self, report: &mut Report) {
        report.sent = self.next.into();
    }
}

struct Sink {
    clock: Clock,
    arrivals: Arrivals,
}

impl Datagrams for Sink {
    fn open(&mut self, start: Instant) {
        self.clock.start = start;
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Datagram> {
        None
    }

    fn handle_packet(&mut self, now: Instant, datagram: Datagram) {
        self.arrivals.add(datagram, now.since(self.clock.sent_at(datagram.number)));
    }

    fn report(&self, report: &mut Report) {
        self.arrivals.report(report);
    }
}
