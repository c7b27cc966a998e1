//! A bearer of a packet service without link layer: what its channel is decides how packets are sent.

use super::config::BearerConfig;
use super::opportunities::OpportunityBearer;
use super::packets::PacketBearer;
use crate::channel::Kind;
use crate::element::Cx;
use crate::packet::{Dir, Packet};
use crate::radio::buffer::Buffer;

/// One direction of a UE's bearer.
pub(in crate::radio) enum Bearer {
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
