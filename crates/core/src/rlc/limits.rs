//! What the sizes of PDUs and the timers of entities may be.

use crate::error::ScenarioError;
use crate::time::Duration;
use crate::units::Bytes;

/// A PDU with length indicators needs room for two of them and data; above, 15 bits hold no length.
const PDU_OCTETS: std::ops::RangeInclusive<u64> = 10..=4096;

/// Refuses a size that no PDU with length indicators has.
pub fn check_pdu(pdu: Bytes) -> Result<(), ScenarioError> {
    if PDU_OCTETS.contains(&pdu.as_u64()) {
        return Ok(());
    }
    let hint = format!("write {} to {} bytes", PDU_OCTETS.start(), PDU_OCTETS.end());
    Err(ScenarioError::new("pdu", "is no size of a PDU", hint))
}

/// Refuses a timer that has expired when it starts.
pub fn check_timer(key: &str, timer: Option<Duration>) -> Result<(), ScenarioError> {
    if timer.is_some_and(Duration::is_zero) {
        return Err(ScenarioError::new(key, "is zero", "write a time, or leave it out"));
    }
    Ok(())
}

/// Octets of a length indicator with its E bit: 7 bits, or 15 in PDUs larger than `largest_with_short` octets.
pub fn li_octets(pdu: Bytes, largest_with_short: u64) -> u64 {
    if pdu.as_u64() <= largest_with_short { 1 } else { 2 }
}
