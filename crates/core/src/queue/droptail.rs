//! Drop-tail: a packet that finds no room is dropped; without a limit, nothing is.
//!
//! Whether the packet in transmission takes up room is a matter of convention: router queues and ns-2 exclude it, RLC
//! buffers count it until it is acknowledged. Hence the option. (ns-2's `Queue/DropTail set limit_ 50` holds 49 waiting
//! packets in addition to the one in transmission.)

use super::{Aqm, Component, Discipline, Place, Verdict};
use crate::element::Bearer;
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::time::Instant;
use crate::trace::Reason;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A packet that finds no room is dropped.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// At most this many packets; unlimited if absent.
    #[schemars(extend("x-changes" = true))]
    pub packets: Option<u32>,
    /// At most this many bytes; unlimited if absent.
    #[schemars(extend("x-changes" = true))]
    pub bytes: Option<Bytes>,
    /// Whether the packets being transmitted count.
    pub in_service: InService,
}

/// Whether the packets being transmitted take up room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InService {
    /// The limit applies to waiting packets and packets in transmission.
    #[default]
    Counted,
    /// The limit is on waiting packets only.
    Excluded,
}

impl Config {
    pub(super) fn in_use(&self) -> Droptail {
        Droptail {
            packets: self.packets.unwrap_or(u32::MAX),
            bytes: self.bytes.map_or(u64::MAX, Bytes::as_u64),
            in_service: self.in_service,
        }
    }
}

impl Component for Config {
    fn build(&self, _place: &Place<'_>) -> Discipline {
        Discipline::Droptail(self.in_use())
    }

    fn limit_sdus(&self) -> Option<u32> {
        self.in_use().limit_sdus()
    }

    fn limits(&self) -> (Option<u32>, Option<Bytes>) {
        // Without the packet in service, one that finds the transmitter idle does not wait.
        (self.packets, self.bytes.filter(|_| self.in_service == InService::Counted))
    }

    fn is_unlimited(&self) -> bool {
        self.packets.is_none() && self.bytes.is_none()
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        let hints = [
            ("packets", self.packets == Some(0), "write at least 1, or remove the key for no limit"),
            (
                "bytes",
                self.bytes.is_some_and(|bytes| bytes.as_u64() == 0),
                "write a size such as \"64 kB\", or remove the key for no limit",
            ),
        ];
        // Without the packet in service, no room means that no packet waits.
        let refused = hints.iter().find(|(_, is_zero, _)| *is_zero && self.in_service == InService::Counted);
        refused.map_or(Ok(()), |(key, _, hint)| {
            Err(ScenarioError::new(*key, "a buffer without room drops everything", *hint))
        })
    }
}

/// Drop-tail in use.
#[derive(PartialEq)]
pub struct Droptail {
    packets: u32,
    bytes: u64,
    in_service: InService,
}

impl Droptail {
    /// Whether the packet has room in a buffer in which the packet in service counts too.
    #[inline(always)]
    pub(super) fn has_room(&self, packet: &Packet, buffer: &Bearer) -> bool {
        self.in_service == InService::Counted
            && buffer.sdus() < self.packets
            && buffer.bytes() + u64::from(packet.len) <= self.bytes
    }
}

impl Aqm for Droptail {
    #[inline]
    fn admit(&mut self, _now: Instant, packet: &Packet, buffer: &Bearer) -> Verdict {
        let (sdus, bytes) = match self.in_service {
            InService::Counted => (buffer.sdus(), buffer.bytes()),
            // A packet that finds the transmitter idle does not wait.
            InService::Excluded if buffer.sdus() == 0 => return Verdict::Enter,
            InService::Excluded => (buffer.untransmitted_sdus(), buffer.untransmitted_bytes()),
        };
        let fits = sdus < self.packets && bytes + u64::from(packet.len) <= self.bytes;
        if fits { Verdict::Enter } else { Verdict::Drop(Reason::QueueFull) }
    }

    fn limit_sdus(&self) -> Option<u32> {
        let in_service = u32::from(self.in_service == InService::Counted);
        (self.packets < u32::MAX).then(|| self.packets.saturating_sub(in_service))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bitrate;

    /// Whether a packet of 100 bytes is admitted to a buffer that holds `sdus` like it, one of them in
    /// transmission.
    fn admits(config: &Config, sdus: u32) -> bool {
        let packet = Packet { len: 100, ..Packet::default() };
        let mut buffer = Bearer::new(Bitrate::from_bps(8), false);
        for _ in 0..sdus {
            buffer.transmit(Instant::ZERO, &packet);
        }
        config.in_use().admit(Instant::ZERO, &packet, &buffer) == Verdict::Enter
    }

    #[test]
    fn a_limit_in_packets_counts_the_one_in_service_or_not() {
        let counted = Config { packets: Some(10), ..Config::default() };
        assert!(admits(&counted, 9) && !admits(&counted, 10));
        let excluded = Config { in_service: InService::Excluded, ..counted };
        assert!(admits(&excluded, 10) && !admits(&excluded, 11));
    }

    #[test]
    fn a_limit_in_bytes_is_exact() {
        let config = Config { bytes: Some(Bytes::from_bytes(1000)), ..Config::default() };
        assert!(admits(&config, 9) && !admits(&config, 10));
    }

    #[test]
    fn the_limit_of_those_that_wait_is_told() {
        let counted = Config { packets: Some(10), ..Config::default() };
        let excluded = Config { in_service: InService::Excluded, ..counted.clone() };
        let limits = [counted, excluded, Config::default()].map(|config| config.in_use().limit_sdus());
        assert_eq!(limits, [Some(9), Some(10), None]);
    }

    #[test]
    fn without_a_limit_nothing_is_refused() {
        assert!(admits(&Config::default(), 10_000));
    }
}
