//! RLC Transparent Mode (TS 25.322 §4.2.1.1, §9.2.1.2, §11.1): the entities of one direction of a bearer.
//!
//! The [`Sender`] adds nothing to SDUs. Without segmentation each is a PDU, and a TTI carries SDUs of one length; with
//! it a TTI carries one SDU. No SDU may be larger than a TTI. The receiver is that of UM
//! ([`Reassembly`](super::Reassembly)): what a TTI does not bring whole is lost.
//!
//! DEVIATION: with segmentation, IP packets are no multiples of a PDU, as §4.2.1.1.1 demands of SDUs; the last PDU is
//! filled up. Left out: delivery of erroneous SDUs (§11.1.3).

mod config;
mod encoder;
mod sender;

pub use config::Config;
pub use encoder::Encoder;
pub use sender::Sender;

use super::entities::{Receive, Transmit};
use super::{Component, Encode, Reassembly, Ttis};
use crate::error::ScenarioError;
use crate::units::Bitrate;

impl Config {
    /// The transmitting entity.
    pub fn sender(&self) -> Sender {
        Sender::new(self)
    }

    /// The receiving entity. PDUs have no numbers on the air; those of an SDU are those of a TTI.
    pub fn receiver(&self) -> Reassembly {
        Reassembly::new(true)
    }
}

impl Component for Config {
    fn halves(&self) -> Option<(Box<dyn Transmit>, Box<dyn Receive>)> {
        Some((Box::new(self.sender()), Box::new(self.receiver())))
    }

    fn ttis(&self) -> Option<Ttis> {
        let Self { tti, offset, errors, .. } = *self;
        Some(Ttis {
            tti,
            offset,
            payload: self.pdu.as_u64(),
            errors,
            sequence_numbers: config::SEQUENCE_NUMBERS,
            resends: false,
        })
    }

    fn encoder(&self) -> Option<Box<dyn Encode>> {
        Some(Box::new(Encoder::new(self)))
    }

    fn validate(&self, _rate: Bitrate) -> Result<(), ScenarioError> {
        self.check()
    }
}
