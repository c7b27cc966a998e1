//! Drop-head: if there is no room, the packet that has waited longest is dropped.
//!
//! The sender learns of the loss one queueing delay earlier than with drop-tail, and the remaining data is more recent.
//! The victim is the first unsent packet; if the transmission of every packet has started, the arriving one is dropped.
//! Source: mm-link(1) of mahimahi, `drophead`.

use super::fifo::Limit;
use super::{Aqm, Component, Discipline, Place, Verdict};
use crate::element::Bearer;
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::registry::parameters;
use crate::time::Instant;
use crate::units::Bytes;

parameters! {
    /// A packet without room replaces the packet that has waited longest.
    pub struct Config {
        /// At most this many packets, including packets in transmission; unlimited if absent.
        pub packets: Option<u32>,
        /// At most this many bytes, including packets in transmission; unlimited if absent.
        pub bytes: Option<Bytes>,
    }
}

impl Component for Config {
    fn build(&self, _place: &Place<'_>) -> Discipline {
        Discipline::Other(Box::new(Drophead(Limit::new(self.packets, self.bytes))))
    }

    fn limits(&self) -> (Option<u32>, Option<Bytes>) {
        (self.packets, self.bytes)
    }

    fn is_unlimited(&self) -> bool {
        self.packets.is_none() && self.bytes.is_none()
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        Limit::validate(self.packets, self.bytes)
    }

    fn needs_line(&self) -> bool {
        true
    }
}

struct Drophead(Limit);

impl Aqm for Drophead {
    fn admit(&mut self, _now: Instant, packet: &Packet, buffer: &Bearer) -> Verdict {
        let fits = self.0.fits(buffer.sdus(), buffer.bytes(), packet.len);
        if fits { Verdict::Enter } else { Verdict::DropWaiting }
    }
}
