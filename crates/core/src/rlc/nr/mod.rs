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
use crate::pdcp::Content;

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
