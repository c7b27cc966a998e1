//! RLC Unacknowledged Mode (TS 25.322 §4.2.1.2, §9.2.1.3, §11.2): the entities of one direction of a bearer.
//!
//! The [`Sender`] cuts SDUs into PDUs with a sequence number and sends each once. The receiver
//! ([`Reassembly`](super::Reassembly)) finds gaps and discards the SDUs with parts in them.
//!
//! Here are: segmentation and concatenation with the octets of length indicators (§9.2.2.8), the indicator of an
//! SDU's first octet, discard by timer without signalling (§9.7.3.2, §11.2.4.3).
//!
//! Left out: the alternative interpretation of the E bit, delivery out of sequence (§11.2.3.2), duplicate avoidance
//! and reordering (§9.7.10), which are for broadcast; flexible PDU sizes, suspending, ciphering. Sequence numbers are
//! counted without wrapping: a real receiver would not see a gap of just 128 PDUs, and hand up an SDU whose checksums
//! are wrong.

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

    /// The receiving entity.
    pub fn receiver(&self) -> Reassembly {
        Reassembly::new(self.first_octet_indicator)
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
            payload: self.payload(),
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

    fn check_uplink(&self) -> Result<(), ScenarioError> {
        if self.first_octet_indicator {
            return Ok(());
        }
        let message = "a UE always tells where an SDU begins with a PDU";
        let hint = "leave it out (the downlink may be without)";
        Err(ScenarioError::new("first_octet_indicator", message, hint))
    }
}
