//! Parameters of RLC UM (TS 25.322 §9.6).

use crate::error::ScenarioError;
use crate::rlc::{Errors, limits};
use crate::time::Duration;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Octets of the header of a UMD PDU, without length indicators (§9.2.1.3).
const HEADER_OCTETS: u64 = 1;
/// They have 7 bits (§9.2.2.3).
pub(super) const SEQUENCE_NUMBERS: u64 = 128;
/// The largest PDU with length indicators of 7 bits, in octets (§9.2.2.8).
const LARGEST_WITH_SHORT_LI: u64 = 125;

/// Unacknowledged Mode, one direction: lost PDUs are not sent again.
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
    /// Whether a length indicator marks an SDU that begins with a PDU. UEs send it; networks may. Without it a
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
    /// What entities with these parameters could not work with.
    pub fn check(&self) -> Result<(), ScenarioError> {
        limits::check_pdu(self.pdu)?;
        limits::check_timer("timer_discard", self.timer_discard)
    }

    /// Octets of a PDU behind its header: data and length indicators.
    pub(super) fn payload(&self) -> u64 {
        self.pdu.as_u64() - HEADER_OCTETS
    }

    /// Octets of a length indicator with its E bit: 7 bits, or 15 in larger PDUs.
    pub(super) fn li_octets(&self) -> u64 {
        limits::li_octets(self.pdu, LARGEST_WITH_SHORT_LI)
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
