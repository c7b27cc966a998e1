//! RLC of NR (TS 38.322) with PDCP above it (TS 38.323): acknowledged mode ([`am`]) and unacknowledged mode ([`um`]).
//!
//! A PDU has one SDU or one segment of one in it, and MAC puts as many PDUs into a transport block as there is room for.
//! So the room of a TTI is that of the MAC PDU, and each RLC PDU takes its subheader of two or three octets from it.
//! A whole packet of 1500 octets costs 1509 with 18-bit sequence numbers: three of PDCP, three of RLC, three of MAC.
//!
//! An SDU has one sequence number, whatever it is segmented into, and SDUs go up as soon as they are whole: order is
//! PDCP's. `docs/models/rlc-nr.md` lists clause by clause what is implemented, and by which test that shows.

pub mod am;
mod encoder;
mod segments;
mod timers;
pub mod um;

pub use super::nr_pdus::{LARGEST_SDU, Nack, Pdu, Pdus, Status, mac_octets, payload};
pub use encoder::Encoder;
pub use timers::{Repair, remarks};

use super::{SduEnd, Tti};
use crate::pdcp::Content;

/// Adds a data PDU to a TTI.
#[inline]
fn put(tti: &mut Tti, pdu: Pdu) {
    if let Content::Data { number, .. } = pdu.sdu
        && pdu.last
        && !pdu.again
    {
        tti.data.ends.push(SduEnd { sdu: number, first: pdu.sn, sn: pdu.sn });
    }
    tti.nr.data.push(pdu);
}
