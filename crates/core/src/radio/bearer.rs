//! A bearer of a packet service without link layer: what its channel is decides how packets are sent.

use super::buffer::Buffer;
use super::flow_buffers::Sharing;
use super::opportunities::OpportunityBearer;
use super::packets::PacketBearer;
use crate::channel::{self, Kind, Order};
use crate::element::Cx;
use crate::error::ScenarioError;
use crate::packet::{Dir, Packet};
use crate::queue;
use crate::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One direction of a UE's bearer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BearerConfig {
    /// One-way delay behind the transmission.
    pub delay: Duration,
    /// Discipline of the SDU buffer.
    pub queue: queue::Config,
    /// Whether all flows share a buffer, or each has its own.
    pub buffer: Sharing,
    /// When how much may be sent, or how long a packet takes.
    pub channel: channel::Config,
}

impl Default for BearerConfig {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            queue: queue::Config::default(),
            buffer: Sharing::default(),
            channel: channel::Config::TraceFile(channel::trace_file::Config::default()),
        }
    }
}

impl BearerConfig {
    pub(super) fn validate(&self) -> Result<(), ScenarioError> {
        self.queue.validate().map_err(|error| error.under("queue"))?;
        self.channel.validate().map_err(|error| error.under("channel"))?;
        match self.channel.kind() {
            Kind::Packets => Ok(()),
            Kind::Opportunities if self.buffer == Sharing::Shared => Ok(()),
            Kind::Opportunities => Err(ScenarioError::new(
                "buffer",
                format!("packets share the opportunities of {} in one line", self.channel.name()),
                "write \"shared\", or choose channel.distribution",
            )),
            Kind::Blocks => Err(ScenarioError::new(
                "channel",
                format!("{} loses blocks, and here packets are sent whole", self.channel.name()),
                "choose channel.trace_file, or radio.dch as the cell",
            )),
        }
    }

    /// Whether the bearer needs a second timer: its packets may overtake each other.
    pub(super) fn overtakes(&self) -> bool {
        self.channel.order() == Order::Free
    }
}

/// One direction of a UE's bearer.
pub(super) enum Bearer {
    Opportunities(OpportunityBearer),
    Packets(PacketBearer),
}

impl Bearer {
    /// A bearer whose own timer has the number of the bearer; `arrivals` is its second one.
    pub fn new(config: &BearerConfig, run_seed: u64, ue: u16, dir: Dir, arrivals: u32) -> Self {
        match config.channel.kind() {
            Kind::Packets => Self::Packets(PacketBearer::new(config, run_seed, ue, dir, arrivals)),
            Kind::Opportunities | Kind::Blocks => {
                Self::Opportunities(OpportunityBearer::new(config, run_seed, ue, dir))
            }
        }
    }

    pub fn buffer(&self) -> &Buffer {
        match self {
            Self::Opportunities(bearer) => bearer.buffer(),
            Self::Packets(bearer) => bearer.buffer(),
        }
    }

    pub fn open(&self, cx: &mut Cx<'_>) {
        match self {
            Self::Opportunities(bearer) => bearer.open(cx),
            Self::Packets(bearer) => bearer.open(cx),
        }
    }

    #[inline]
    pub fn handle_sdu(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        match self {
            Self::Opportunities(bearer) => bearer.handle_sdu(cx, packet),
            Self::Packets(bearer) => bearer.handle_sdu(cx, packet),
        }
    }

    /// The bearer's own timer.
    pub fn handle_timer(&mut self, cx: &mut Cx<'_>) {
        match self {
            Self::Opportunities(bearer) => bearer.handle_opportunity(cx),
            Self::Packets(bearer) => bearer.handle_end(cx),
        }
    }

    /// Its second timer.
    pub fn handle_arrival(&mut self, cx: &mut Cx<'_>) {
        if let Self::Packets(bearer) = self {
            bearer.handle_arrival(cx);
        }
    }

    pub fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        match self {
            Self::Opportunities(bearer) => bearer.report(cx),
            Self::Packets(bearer) => bearer.report(cx),
        }
    }
}
