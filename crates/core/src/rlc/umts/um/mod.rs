//! RLC Unacknowledged Mode (TS 25.322 §4.2.1.2, §9.2.1.3, §11.2): the entities of one direction of a bearer.
//!
//! The [`Sender`] cuts SDUs into PDUs with a sequence number and sends each once. The receiver
//! ([`Reassembly`]) finds gaps and discards the SDUs with parts in them.
//!
//! Here are: segmentation and concatenation with the octets of length indicators (§9.2.2.8), the indicator of an
//! SDU's first octet, discard by timer without signalling (§9.7.3.2, §11.2.4.3).
//!
//! Left out: the alternative interpretation of the E bit, delivery out of sequence (§11.2.3.2), duplicate avoidance
//! and reordering (§9.7.10), which are for broadcast; flexible PDU sizes, suspending, ciphering. Sequence numbers are
//! counted without wrapping: a real receiver would not see a gap of just 128 PDUs, and hand up an SDU whose checksums
//! are wrong.

mod encoder;
mod sender;

pub use encoder::Encoder;
pub use sender::Sender;

use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::rlc::entities::{self, Receive, Transmit};
use crate::rlc::{Component, Encode, Errors, Reassembly, Ttis};
use crate::time::Duration;
use crate::units::{Bitrate, Bytes};

/// Octets of the header of a UMD PDU, without length indicators (§9.2.1.3).
const HEADER_OCTETS: u64 = 1;
/// They have 7 bits (§9.2.2.3).
const SEQUENCE_NUMBERS: u64 = 128;
/// The largest PDU with length indicators of 7 bits, in octets (§9.2.2.8).
const LARGEST_WITH_SHORT_LI: u64 = 125;

parameters! {
    /// Unacknowledged Mode, one direction: lost PDUs are not retransmitted.
    pub struct Config {
        /// Length of a TTI.
        pub tti: Duration = Duration::from_millis(10),
        /// Start of the first TTI; the others follow without gap.
        pub offset: Duration,
        /// Correlation of losses within a TTI.
        pub errors: Errors = Errors::PerTti,
        /// Size of a PDU with its header.
        pub pdu: Bytes = Bytes::from_bytes(41),
        /// Whether a length indicator marks an SDU that starts with a PDU. UEs send it; networks may. Without it a lost
        /// PDU costs the next SDU too, if that starts with the next PDU.
        pub first_octet_indicator: bool = true,
        /// Discard an SDU that was not sent within this time. If absent, no SDU is discarded.
        pub timer_discard: Option<Duration>,
    }
}

impl Config {
    /// Octets of a PDU behind its header: data and length indicators.
    fn payload(&self) -> u64 {
        self.pdu.as_u64().saturating_sub(HEADER_OCTETS) // Asked of what `check_pdu` refuses, too.
    }

    /// Octets of a length indicator with its E bit: 7 bits, or 15 in larger PDUs.
    fn li_octets(&self) -> u64 {
        entities::li_octets(self.pdu, LARGEST_WITH_SHORT_LI)
    }
}

impl Component for Config {
    fn halves(&self) -> Option<(Box<dyn Transmit>, Box<dyn Receive>)> {
        Some((Box::new(Sender::new(self)), Box::new(Reassembly::new(self.first_octet_indicator))))
    }

    fn ttis(&self) -> Option<Ttis> {
        let (payload, sequence_numbers, retransmits) = (self.payload(), SEQUENCE_NUMBERS, false);
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
        entities::check_pdu(self.pdu)?;
        entities::check_timer("timer_discard", self.timer_discard)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_named_with_a_remedy() {
        let error = |config: Config| {
            config.validate(Bitrate::default()).map_or_else(|error| error.to_string(), |()| String::new())
        };
        assert_eq!(error(Config::default()), "");
        let pdu = |octets| Config { pdu: Bytes::from_bytes(octets), ..Config::default() };
        assert_eq!(error(pdu(9)), "pdu: is no size of a PDU; write 10 to 4096 bytes");
        assert_eq!(error(pdu(4097)), "pdu: is no size of a PDU; write 10 to 4096 bytes");
        let timer = Config { timer_discard: Some(Duration::ZERO), ..Config::default() };
        assert_eq!(error(timer), "timer_discard: is zero; write a time, or leave it out");
    }

    /// §9.2.2.8: 125 octets are the last with 7 bits.
    #[test]
    fn large_pdus_have_long_length_indicators() {
        let of = |pdu| Config { pdu: Bytes::from_bytes(pdu), ..Config::default() }.li_octets();
        assert_eq!((of(41), of(125), of(126)), (1, 1, 2));
    }
}
