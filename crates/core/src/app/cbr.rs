//! Constant bit rate over UDP: packets of one size at equal distances, one way, never repeated.
//!
//! Packet n leaves at start + n * size / rate, rounded up to the nanosecond, whatever became of the others. Such a
//! flow never ends a run; with `packets` it falls silent.

use super::datagrams::{Ends, Sink, Timed};
use super::{Carrier, Component, Traffic};
use crate::error::ScenarioError;
use crate::rng::Stream;
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
        let (rate, size) = (self.rate, self.size.as_u64());
        let leaves = move |number| rate.time_to_send(u64::from(number) * size);
        let source = Timed::new(size as u32, self.packets, leaves);
        Traffic::Datagrams(Ends { sender: Box::new(source), receiver: Box::new(Sink::new(None)) })
    }

    fn datagram_bytes(&self) -> [Bytes; 2] {
        [self.size, Bytes::default()]
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
