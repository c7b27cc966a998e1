//! Link layers of a bearer: SDUs in, PDUs over the air, SDUs out.
//!
//! There are three sorts. `none` has no link layer at all: the cell sends packets whole and computes when they end. In
//! the second, one [`Rlc`] stands for both ends of one direction, and the outcome of a slot is known to it at its end;
//! the cell keeps the clock, asks for the next slot and says when it has ended. In the third, `am`, `um` and `tm`, each
//! end of a UE's bearers is an [`End`] of its own, and their PDUs travel between them: see [`entities`].

mod cutter;
mod pdus;
mod ranges;
mod reassembly;
mod sdu_queue;

pub mod am;
pub mod encode;
pub mod entities;
pub mod fixed_delay_arq;
pub mod none;
pub mod tm;
pub mod um;

pub use encode::Encode;
pub use entities::{End, Errors, Report, Ttis};
pub use pdus::{Run, SduEnd, Transmission, Tti};
pub use ranges::{Ranges, SnRange};
pub use reassembly::Reassembly;

use crate::channel::Channel;
use crate::packet::Packet;
use crate::registry::registry;
use crate::rng::Stream;
use crate::time::{Duration, Instant};
use crate::units::Bitrate;
use entities::{Halves, Receive, Transmit};

/// A link layer, one direction of a bearer.
pub trait Rlc: Send + Sync {
    /// An SDU enters the buffer.
    fn handle_sdu(&mut self, now: Instant, sdu: Box<Packet>);

    /// Takes the first SDU out of which no octet has been sent, for good; `None` if something of each was sent.
    fn take_waiting(&mut self) -> Option<Box<Packet>>;

    /// Fills a transmission opportunity that may start at `now`. `boundary` tells that another one
    /// ended at this very instant.
    fn start_slot(&mut self, now: Instant, boundary: bool, report: &mut SlotReport) -> Slot;

    /// The opportunity started last has ended: the channel decides what arrived.
    fn end_slot(&mut self, now: Instant, channel: &mut dyn Channel, report: &mut SlotReport);
}

/// What became of a transmission opportunity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// PDUs are on the air until this instant.
    BusyUntil(Instant),
    /// Nothing to send before this instant; ask again then, or when an SDU arrives.
    IdleUntil(Instant),
    /// Nothing to send; ask again when an SDU arrives.
    Idle,
}

/// What happened to SDUs in a transmission opportunity; the cell clears it.
#[derive(Debug, Default)]
pub struct SlotReport {
    /// SDUs of which the first octet went on the air: (flow, sequence number, length).
    pub started: Vec<(u16, u32, u32)>,
    /// SDUs handed up at the other side, in this order, with their time in the buffer.
    pub delivered: Vec<(Box<Packet>, Duration)>,
    /// SDUs given up.
    pub discarded: Vec<Box<Packet>>,
    /// PDUs that were on the air.
    pub pdus_sent: u32,
    /// PDUs of these that were lost.
    pub pdus_lost: u32,
}

registry! {
    /// A link layer and its parameters. `build` returns nothing for `none`, and for those that [`ends`] makes.
    pub enum Config: build(rate: Bitrate, stream: Stream) -> Option<Box<dyn Rlc>> {
        None = none,
        FixedDelayArq = fixed_delay_arq,
        Am = am,
        Um = um,
        Tm = tm,
    }
}

impl Config {
    /// When there are TTIs, if entities at both ends share them.
    pub fn ttis(&self) -> Option<Ttis> {
        match self {
            Self::None(_) | Self::FixedDelayArq(_) => None,
            Self::Am(config) => Some(config.ttis()),
            Self::Um(config) => Some(config.ttis()),
            Self::Tm(config) => Some(config.ttis()),
        }
    }

    /// How long a slot lasts; none without slots.
    pub fn slot(&self) -> Duration {
        match self {
            Self::FixedDelayArq(config) => config.tti,
            other => other.ttis().map_or(Duration::ZERO, |ttis| ttis.tti),
        }
    }

    /// The entities of a direction to which the other one means nothing.
    fn halves(&self) -> Option<(Box<dyn Transmit>, Box<dyn Receive>)> {
        match self {
            Self::None(_) | Self::FixedDelayArq(_) | Self::Am(_) => None,
            Self::Um(config) => Some((Box::new(config.sender()), Box::new(config.receiver()))),
            Self::Tm(config) => Some((Box::new(config.sender()), Box::new(config.receiver()))),
        }
    }

    /// What makes the octets of PDUs sent with these parameters, where captures have any.
    pub fn encoder(&self) -> Option<Box<dyn Encode>> {
        match self {
            Self::None(_) | Self::FixedDelayArq(_) => None,
            Self::Am(config) => Some(Box::new(am::Encoder::new(config))),
            Self::Um(config) => Some(Box::new(um::Encoder::new(config))),
            Self::Tm(config) => Some(Box::new(tm::Encoder::new(config))),
        }
    }
}

/// The ends of a UE's bearers at the network and at the UE, which send in the first and in the second
/// direction; `None` if these do not go by TTIs, or not together.
pub fn ends(downlink: &Config, uplink: &Config) -> Option<[Box<dyn End>; 2]> {
    if let (Config::Am(down), Config::Am(up)) = (downlink, uplink) {
        let [network, ue] = [am::Entity::at_network(down, up), am::Entity::at_ue(up, down)];
        return Some([Box::new(network), Box::new(ue)]);
    }
    let ((down_tx, down_rx), (up_tx, up_rx)) = (downlink.halves()?, uplink.halves()?);
    Some([Box::new(Halves { tx: down_tx, rx: up_rx }), Box::new(Halves { tx: up_tx, rx: down_rx })])
}

impl Default for Config {
    fn default() -> Self {
        Self::None(none::Config::default())
    }
}
