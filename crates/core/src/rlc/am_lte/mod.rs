//! LTE's RLC Acknowledged Mode (TS 36.322): the entities of a UE's bearers.
//!
//! An [`Entity`] stands at either end. Its [`Sender`] cuts SDUs into AMD PDUs that fill the room of a TTI, in octets,
//! and keeps them until they are acknowledged. Its [`Receiver`] puts PDUs in order, which HARQ hands over out of
//! order: a PDU counts as missing when it has not come t-Reordering after a later one. It reports that in a STATUS
//! PDU, which goes with the TTIs of the other direction; a missing PDU is sent again, whole or in segments as the room
//! allows, and segments are cut again.
//!
//! Unlike in UMTS ([`am`](super::am)) a PDU has no size of its own, there is no reset, no MRW, no WINDOW, and a
//! STATUS PDU is as long as it must be. PDUs hold no octets, but ranges of the stream of SDUs
//! ([`lte`]). Sequence numbers are counted without wrapping; on the wire they are taken modulo 1024, and
//! the window is 512, so that this loses nothing. `docs/models/rlc-lte.md` lists clause by clause what is
//! implemented, by which test that shows, and what is left out.
//!
//! **maxRetxThreshold.** When a PDU would be sent again once more than that, RLC indicates a radio link failure, and
//! RRC re-establishes the connection (TS 36.331 §5.3.7), with it the entities at both ends (§5.4). ASSUMED: here the
//! end that counts so far re-establishes itself at once, and the other end does when it hears a PDU of the
//! new establishment; the time that RRC takes (random access, a few messages, 50 ms and more) is no part of this.
//! PDCP then sends the SDUs again that are not confirmed, from the first one on and whole.
//!
//! DEVIATION: §5.4 hands whole SDUs behind a gap up to PDCP, which keeps them for the order. Here the receiver drops
//! them, and the sender, which confirms SDUs in order, sends them again: PDCP without status reports (TS 36.323
//! §5.2.1.1) repeats them too.

mod config;
mod entity;
mod receiver;
mod sender;

pub use config::Config;
pub use entity::{Counts, Entity};
pub use receiver::Receiver;
pub use sender::Sender;

use super::{Component, Encode, End, Ttis, lte};
use crate::channel;
use crate::error::ScenarioError;
use crate::time::Duration;
use crate::units::Bitrate;

/// AM_Window_Size (§7.2): half of the sequence numbers.
const WINDOW: u64 = 512;
/// SN has 10 bits (§6.2.2.3).
const SEQUENCE_NUMBERS: u64 = 1024;

impl Component for Config {
    fn ends(&self, uplink: &super::Config) -> Option<[Box<dyn End>; 2]> {
        let super::Config::AmLte(uplink) = uplink else { return None };
        Some([Box::new(Entity::new(self, uplink)), Box::new(Entity::new(uplink, self))])
    }

    fn ttis(&self) -> Option<Ttis> {
        let Self { tti, offset, errors, .. } = *self;
        let (sequence_numbers, resends) = (SEQUENCE_NUMBERS, true);
        Some(Ttis { tti, offset, payload: 1, errors, sequence_numbers, resends })
    }

    fn harq_timer(&self) -> Option<(&'static str, Duration)> {
        Some(("t_reordering", self.t_reordering))
    }

    fn encoder(&self) -> Option<Box<dyn Encode>> {
        Some(Box::new(lte::Encoder::am()))
    }

    fn validate(&self, _rate: Bitrate) -> Result<(), ScenarioError> {
        self.check()
    }

    fn check_bearer(&self, channel: &channel::Config) -> Result<(), ScenarioError> {
        lte::check_channel(channel)
    }
}
