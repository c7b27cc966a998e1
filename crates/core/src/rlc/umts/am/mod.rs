//! RLC Acknowledged Mode (TS 25.322): the entities of a UE's bearers.
//!
//! There is an [`Entity`] at each end of a UE's bearers. It has a [`Sender`] for its own direction and a [`Receiver`]
//! for the other, whose STATUS PDUs share the TTIs with the sender's data. All three are pure logic: SDUs, PDUs and
//! STATUS PDUs go in with the time, and at each TTI the owner polls for the PDUs to transmit. They carry no octets. An
//! SDU is a length and an index that the sender assigns; PDUs are runs of sequence numbers ([`Run`](crate::rlc::Run)). These
//! are counted without wrapping; in real PDUs they are taken modulo 4096, and no window is larger than 2048, so this
//! loses nothing.
//!
//! It implements the parts of the standard that a bearer of one fixed PDU size needs: segmentation and concatenation,
//! windows, polls, status reports, retransmission, delivery in and out of sequence, `MaxDAT` with the reset of the
//! link, and the discard of SDUs. `docs/models/rlc-am.md` lists clause by clause what is implemented, the test that
//! shows it, and what is left out.

mod config;
mod discard;
mod encoder;
mod entity;
mod on_wire;
mod polling;
mod receiver;
mod reset;
mod sender;
mod status_report;
mod vt_dat;

pub use config::{Config, Delivery, SduDiscard};
pub use encoder::Encoder;
pub use entity::{Counts, Entity};
pub use receiver::Receiver;
pub use sender::{Erroneous, Sender};

use crate::channel;
use crate::error::ScenarioError;
use crate::rlc::{self, Component, Encode, End, Ttis};
use crate::units::Bitrate;

impl Component for Config {
    fn ends(&self, uplink: &rlc::Config) -> Option<[Box<dyn End>; 2]> {
        let rlc::Config::Am(uplink) = uplink else { return None };
        Some([Box::new(Entity::at_network(self, uplink)), Box::new(Entity::at_ue(uplink, self))])
    }

    fn ttis(&self) -> Option<Ttis> {
        let (payload, sequence_numbers, retransmits) = (self.payload(), config::SEQUENCE_NUMBERS, true);
        let Self { tti, offset, errors, .. } = *self;
        Some(Ttis { tti, offset, payload, least: 0, errors, sequence_numbers, retransmits })
    }

    fn pdu_octets(&self) -> Option<u64> {
        Some(self.pdu.as_u64())
    }

    fn encoder(&self) -> Option<Box<dyn Encode>> {
        Some(Box::new(Encoder::new(self)))
    }

    fn validate(&self, _rate: Bitrate) -> Result<(), ScenarioError> {
        self.check()
    }

    fn check_bearer(&self, channel: &channel::Config) -> Result<(), ScenarioError> {
        if channel.loses_everything() {
            let hint = "lower the block error rate";
            return Err(ScenarioError::new("channel", "every block is lost, and so for ever", hint));
        }
        Ok(())
    }

    fn check_with_losses(&self) -> Result<(), ScenarioError> {
        let repeats = [self.timer_poll, self.timer_poll_periodic, self.timer_status_periodic];
        if repeats.iter().any(Option::is_some) {
            return Ok(());
        }
        Err(ScenarioError::new(
            "timer_poll",
            "is absent, so that a lost poll or status report stalls the link for ever",
            "set timer_poll, timer_poll_periodic or timer_status_periodic",
        ))
    }
}
