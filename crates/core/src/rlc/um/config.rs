//! Parameters of RLC UM (TS 25.322 §9.6).

use super::Sender;
use crate::error::ScenarioError;
use crate::rlc::reassembly::Reassembly;
use crate::rlc::{Errors, Rlc, Ttis};
use crate::rng::Stream;
use crate::time::Duration;
use crate::units::{Bitrate, Bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Octets of the header of a UMD PDU, without length indicators (§9.2.1.3).
const HEADER_OCTETS: u64 = 1;
/// They have 7 bits (§9.2.2.3).
const SEQUENCE_NUMBERS: u64 = 128;
/// The largest PDU with length indicators of 7 bits, in octets (§9.2.2.8).
const LARGEST_WITH_SHORT_LI: u64 = 125;
/// A PDU needs room for two length indicators and data; above, 15 bits hold no length.
const PDU_OCTETS: std::ops::RangeInclusive<u64> = 10..=4096;

/// Unacknowledged Mode, one direction: what is lost stays lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Length of a TTI.
    pub tti: Duration,
    /// Start of the first TTI; the others follow without gap.
    pub offset: Duration,
    /// Correlation of losses within a TTI.
    pub errors: Errors,
    /// Size of a PDU with its header.
    pub pdu: Bytes,
    /// Whether a length indicator tells that an SDU begins with a PDU. UEs send it; networks may. Without it a
    /// lost PDU costs the SDU behind it too, if that begins with the next PDU.
    pub first_octet_indicator: bool,
    /// Discard an SDU that was not sent within this time; absent: never.
    pub timer_discard: Option<Duration>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tti: Duration::from_millis(10),
            offset: Duration::ZERO,
            errors: Errors::PerTti,
            pdu: Bytes::from_bytes(41),
            first_octet_indicator: true,
            timer_discard: None,
        }
    }
}

impl Config {
    /// Both ends are needed to make any: see [`ends`](crate::rlc::ends).
    pub(in crate::rlc) fn build(&self, _rate: Bitrate, _stream: Stream) -> Option<Box<dyn Rlc>> {
        None
    }

    /// When there are TTIs, and what fits into one.
    pub fn ttis(&self) -> Ttis {
        let Self { tti, offset, errors, .. } = *self;
        Ttis {
            tti,
            offset,
            payload: self.payload(),
            errors,
            sequence_numbers: SEQUENCE_NUMBERS,
            resends: false,
        }
    }

    /// The transmitting entity.
    pub fn sender(&self) -> Sender {
        Sender::new(self)
    }

    /// The receiving entity.
    pub fn receiver(&self) -> Reassembly {
        Reassembly::new(self.first_octet_indicator)
    }

    /// What entities with these parameters could not work with.
    pub fn check(&self) -> Result<(), ScenarioError> {
        if !PDU_OCTETS.contains(&self.pdu.as_u64()) {
            let hint = format!("write {} to {} bytes", PDU_OCTETS.start(), PDU_OCTETS.end());
            return Err(ScenarioError::new("pdu", "is no size of a PDU", hint));
        }
        if self.timer_discard.is_some_and(Duration::is_zero) {
            let hint = "write a time, or leave it out";
            return Err(ScenarioError::new("timer_discard", "is zero", hint));
        }
        Ok(())
    }

    /// Octets of a PDU behind its header: data and length indicators.
    pub(super) fn payload(&self) -> u64 {
        self.pdu.as_u64() - HEADER_OCTETS
    }

    /// Octets of a length indicator with its E bit: 7 bits, or 15 in larger PDUs.
    pub(super) fn li_octets(&self) -> u64 {
        if self.pdu.as_u64() <= LARGEST_WITH_SHORT_LI { 1 } else { 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_named_with_a_remedy() {
        let error =
            |config: Config| config.check().map_or_else(|error| error.to_string(), |()| String::new());
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
