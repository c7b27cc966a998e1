//! What the two modes of NR's RLC (TS 38.322) share: PDUs of one SDU or one segment each.
//!
//! MAC puts as many PDUs into a transport block as there is room for. So the room of a TTI is that of the MAC PDU, and each RLC PDU takes its subheader of two or three octets from it.
//! A whole packet of 1500 octets costs 1509 with 18-bit sequence numbers: three of PDCP, three of RLC, three of MAC.
//!
//! An SDU has one sequence number for all its segments, and SDUs are delivered as soon as they are whole: order is
//! PDCP's. `docs/models/rlc-nr.md` lists clause by clause what is implemented, and the test that shows it.

pub mod am;
mod encoder;
mod segments;
mod timers;
pub mod um;

pub use super::pdus::nr::{LARGEST_SDU, Nack, Pdu, Pdus, Status, mac_octets, payload};
pub use encoder::Encoder;
pub use timers::{Repair, remarks};

use super::{SduEnd, Tti};
use crate::error::ScenarioError;
use crate::pdcp::Content;
use crate::time::Duration;
use crate::units::Bitrate;

/// A STATUS PDU that names a segment, with a NACK range, 18 bits and MAC's subheader, has 13 octets.
const LEAST_ROOM: u64 = 16;

/// Refuses TTIs of a bearer of this rate in which nothing fits; those of a cell that grants rooms have no rate.
pub(super) fn check_room(tti: Duration, rate: Bitrate) -> Result<(), ScenarioError> {
    let octets = rate.bytes_in(tti);
    if rate == Bitrate::default() || octets >= LEAST_ROOM {
        return Ok(());
    }
    let message =
        format!("a TTI of {tti} at {rate} carries {octets} B, less than a STATUS PDU of NR may need");
    let hint = format!("lengthen it, or raise the rate of the bearer: {LEAST_ROOM} B or more");
    Err(ScenarioError::new("tti", message, hint))
}

/// Adds a data PDU to a TTI.
#[inline]
pub(super) fn put(tti: &mut Tti, pdu: Pdu) {
    if let Content::Data { number, .. } = pdu.sdu
        && pdu.last
        && !pdu.again
    {
        tti.data.ends.push(SduEnd { sdu: number, first: pdu.sn, sn: pdu.sn });
    }
    tti.nr.data.push(pdu);
}
