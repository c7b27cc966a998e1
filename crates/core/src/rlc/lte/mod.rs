//! Common parts of the two modes of LTE's RLC (TS 36.322): PDUs that fill the room they are given, and the stream of
//! SDUs that they are segments of.

pub mod am;
mod encoder;
mod stream;
pub mod um;

pub use super::pdus::lte::{End, Nack, Part, Pdu, Pdus, Status, li_octets};
pub use encoder::Encoder;
pub use stream::Stream;

pub(super) use super::pdus::lte::insert_end;

use super::{Run, SduEnd, SnRange, Tti, entities};
use crate::channel;
use crate::error::ScenarioError;
use crate::time::Duration;

/// Refuses what neither mode can work with.
pub(super) fn check(tti: Duration, discard_timer: Option<Duration>) -> Result<(), ScenarioError> {
    if tti.is_zero() {
        return Err(ScenarioError::new("tti", "is zero", "write a TTI such as \"1 ms\""));
    }
    entities::check_timer("discard_timer", discard_timer)
}

/// Octets of the largest SDU of PDCP (TS 36.323 §4.3.1).
pub(super) const LARGEST_PDCP_SDU: u32 = 8188;

/// Refuses a size of PDCP's sequence number that the mode does not have (TS 36.331 §6.3.2, PDCP-Config).
pub(super) fn check_pdcp(sn_bits: Option<u8>, sizes: &[u8], hint: &str) -> Result<(), ScenarioError> {
    let Some(bits) = sn_bits.filter(|bits| !sizes.contains(bits)) else { return Ok(()) };
    let message = format!("is {bits}, which is no size of a sequence number here");
    Err(ScenarioError::new("pdcp_sn_size", message, hint))
}

/// Refuses a channel on which acknowledged mode repeats for ever.
pub(super) fn check_channel(channel: &channel::Config) -> Result<(), ScenarioError> {
    if channel.loses_everything() {
        let hint = "lower the block error rate";
        return Err(ScenarioError::new("channel", "every block is lost, and so for ever", hint));
    }
    Ok(())
}

/// Adds a PDU with octets taken from the stream; returns the octets of its length indicators. `begun_in` is the PDU
/// with the first octet of the SDU that continues in a new PDU; `None` if the PDU is not new.
pub(super) fn put(
    tti: &mut Tti,
    stream: &Stream,
    sn: u64,
    octets: SnRange,
    begun_in: Option<&mut u64>,
) -> u64 {
    let (begins, all) = stream.within(octets);
    let first_end = tti.lte.ends.len();
    let mut last = 0;
    for (end, first) in all {
        tti.lte.ends.push(end);
        last = end.at;
        if let Some(begun_in) = &begun_in {
            let first = if first >= octets.first { sn } else { **begun_in };
            tti.data.ends.push(SduEnd { sdu: end.sdu, first, sn });
        }
    }
    let ends = tti.lte.ends.len() - first_end;
    let ends_with = ends > 0 && last == octets.end;
    if let Some(begun_in) = begun_in
        && (ends > 0 || begins)
    {
        *begun_in = sn;
    }
    let (first_end, next_end) = (first_end as u32, tti.lte.ends.len() as u32);
    tti.lte.data.push(Pdu { sn, poll: false, octets, begins, part: None, first_end, next_end });
    tti.data.runs.push(Run { sns: SnRange::new(sn, sn + 1), poll: false });
    li_octets((ends - usize::from(ends_with)) as u64)
}
