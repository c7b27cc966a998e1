//! Parameters of a bearer of a packet service without link layer.

use crate::channel::{self, Kind, Order};
use crate::error::ScenarioError;
use crate::queue;
use crate::radio::flow_buffers::Sharing;
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
    pub(in crate::radio) fn validate(&self) -> Result<(), ScenarioError> {
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
    pub(in crate::radio) fn overtakes(&self) -> bool {
        self.channel.order() == Order::Free
    }
}
