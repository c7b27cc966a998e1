//! RLC Acknowledged Mode of NR, with PDCP above it: the entities of a UE's bearers.
//!
//! There is an [`Entity`] at each end. Its [`Sender`] fills the room of a TTI with PDUs of one SDU or segment each, and
//! keeps SDUs until they are acknowledged. Its [`Receiver`] delivers SDUs as soon as they are whole; SDUs and segments
//! still missing when t-Reassembly expires are reported in a STATUS PDU, which is sent in the TTIs of the other
//! direction. A missing SDU or segment is retransmitted, whole or in segments as the room allows.
//!
//! **maxRetxThreshold.** When an SDU is retransmitted that often, RLC indicates a radio link failure, and RRC
//! re-establishes the connection (TS 38.331 §5.3.7). ASSUMED: the end that counts so far re-establishes itself at once,
//! and the other end does when it receives a PDU of the new establishment; the time that RRC takes (random access, a few
//! messages, 50 ms and more) is no part of this.

mod config;
mod entity;
mod receiver;
mod sender;

pub use config::Config;
pub use entity::{Counts, Entity};
pub use receiver::Receiver;
pub use sender::Sender;

use crate::channel;
use crate::error::ScenarioError;
use crate::pdcp;
use crate::rlc::{self, Component, Encode, End, Ttis, lte, nr};
use crate::time::Duration;
use crate::units::Bitrate;

/// A STATUS PDU that names a segment, with a NACK range, 18 bits and MAC's subheader, has 13 octets.
const LEAST_ROOM: u64 = 16;

impl Component for Config {
    fn ends(&self, uplink: &rlc::Config) -> Option<[Box<dyn End>; 2]> {
        let pdcp = pdcp::Config::default();
        self.ends_with(uplink, [&pdcp, &pdcp])
    }

    fn ends_with(&self, uplink: &rlc::Config, [down, up]: [&pdcp::Config; 2]) -> Option<[Box<dyn End>; 2]> {
        let rlc::Config::AmNr(uplink) = uplink else { return None };
        let (downlink, uplink) = ((self, down), (uplink, up));
        Some([Box::new(Entity::new(downlink, uplink)), Box::new(Entity::new(uplink, downlink))])
    }

    fn ttis(&self) -> Option<Ttis> {
        let Self { tti, offset, errors, .. } = *self;
        let (sequence_numbers, retransmits) = (1 << self.sn, true);
        Some(Ttis { tti, offset, payload: 1, least: LEAST_ROOM, errors, sequence_numbers, retransmits })
    }

    fn harq_timer(&self) -> Option<(&'static str, Duration)> {
        Some(("t_reassembly", self.t_reassembly))
    }

    fn has_pdcp(&self) -> bool {
        true
    }

    fn encoder_with(&self, pdcp: &pdcp::Config) -> Option<Box<dyn Encode>> {
        Some(Box::new(nr::Encoder::am(self.sn, pdcp.sn)))
    }

    fn validate(&self, _rate: Bitrate) -> Result<(), ScenarioError> {
        self.check()
    }

    fn check_bearer(&self, channel: &channel::Config) -> Result<(), ScenarioError> {
        lte::check_channel(channel)
    }
}
