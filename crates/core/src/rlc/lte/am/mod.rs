//! LTE's RLC Acknowledged Mode (TS 36.322): the entities of a UE's bearers.
//!
//! There is an [`Entity`] at each end. Its [`Sender`] segments SDUs into AMD PDUs that fill the room of a TTI, in
//! octets, and keeps them until they are acknowledged. Its [`Receiver`] reorders PDUs, which HARQ delivers out of
//! order: a PDU counts as missing when it has not come t-Reordering after a later one. It reports that in a STATUS PDU,
//! which is sent in the TTIs of the other direction; a missing PDU is retransmitted, whole or in segments as the room
//! allows, and segments are segmented again.
//!
//! Unlike in UMTS ([`am`](crate::rlc::am)) a PDU has no fixed size, there is no reset, no MRW, no WINDOW, and a STATUS PDU
//! is as long as it must be. PDUs hold no octets, but ranges of the stream of SDUs ([`lte`]). Sequence numbers are
//! counted without wrapping; in real PDUs they are taken modulo 1024, and the window is 512, so this loses nothing.
//! `docs/models/rlc-lte.md` lists clause by clause what is implemented, the test that shows it, and what is left out.
//!
//! **maxRetxThreshold.** When a PDU would exceed this number of retransmissions, RLC indicates a radio link failure,
//! and RRC re-establishes the connection (TS 36.331 §5.3.7), with it the entities at both ends (§5.4). ASSUMED: here
//! the end that reaches the limit re-establishes itself at once, and the other end does when it receives a PDU of the
//! new establishment; the time that RRC takes (random access, a few messages, 50 ms and more) is not modelled. PDCP
//! then retransmits the unconfirmed SDUs, from the first one on and whole.
//!
//! DEVIATION: §5.4 delivers whole SDUs beyond a gap to PDCP, which keeps them for the order. Here the receiver drops
//! them, and the sender, which confirms SDUs in order, retransmits them: PDCP without status reports (TS 36.323
//! §5.2.1.1) repeats them too.

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
use crate::rlc::{self, Component, Encode, End, Ttis, lte};
use crate::time::Duration;
use crate::units::Bitrate;

/// Octets of a STATUS PDU with a NACK of a segment (§6.2.1.6), which is larger than a segment of one octet.
const LEAST_ROOM: u64 = 8;
/// AM_Window_Size (§7.2): half of the sequence numbers.
const WINDOW: u64 = 512;
/// SN has 10 bits (§6.2.2.3).
const SEQUENCE_NUMBERS: u64 = 1024;

impl Component for Config {
    fn ends(&self, uplink: &rlc::Config) -> Option<[Box<dyn End>; 2]> {
        let rlc::Config::AmLte(uplink) = uplink else { return None };
        Some([Box::new(Entity::new(self, uplink)), Box::new(Entity::new(uplink, self))])
    }

    fn ttis(&self) -> Option<Ttis> {
        let Self { tti, offset, errors, .. } = *self;
        let (sequence_numbers, retransmits) = (SEQUENCE_NUMBERS, true);
        Some(Ttis { tti, offset, payload: 1, least: LEAST_ROOM, errors, sequence_numbers, retransmits })
    }

    fn harq_timer(&self) -> Option<(&'static str, Duration)> {
        Some(("t_reordering", self.t_reordering))
    }

    fn largest_sdu(&self) -> Option<u32> {
        self.pdcp_sn_size.map(|_| lte::LARGEST_PDCP_SDU)
    }

    fn encoder(&self) -> Option<Box<dyn Encode>> {
        Some(Box::new(lte::Encoder::am(self.pdcp_sn_size)))
    }

    fn validate(&self, _rate: Bitrate) -> Result<(), ScenarioError> {
        self.check()
    }

    fn check_bearer(&self, channel: &channel::Config) -> Result<(), ScenarioError> {
        lte::check_channel(channel)
    }
}
