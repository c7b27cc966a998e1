//! Octets of PDUs, for captures. A simulated PDU has none: an encoder shadows the sending side. It is called with the
//! content of each TTI, and lays SDUs out by itself.

use super::pdus::Tti;
use crate::wire::rlc::udp::Mode;

/// A PDU of a TTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pdu {
    /// The control PDU at this place of the TTI.
    Control(usize),
    /// The data PDU with this sequence number.
    Data(u64),
    /// The STATUS PDU of LTE.
    LteStatus,
    /// The data PDU of LTE at this place of the TTI.
    Lte(usize),
    /// A PDU of LTE's PDCP that RLC takes, with so many bits of sequence number.
    LtePdcp {
        /// Bits of a sequence number.
        sn_bits: u8,
    },
    /// The MAC PDU of LTE.
    LteMac,
    /// The STATUS PDU of NR.
    NrStatus,
    /// The data PDU of NR at this place of the TTI.
    Nr(usize),
    /// A PDU of NR's PDCP that RLC takes, with so many bits of sequence number.
    NrPdcp {
        /// Bits of a sequence number.
        sn_bits: u8,
    },
    /// The MAC PDU of NR, or a part of one that is too long for a capture.
    NrMac,
}

/// Makes the octets of the PDUs that one end sends.
pub trait Encode: Send + Sync {
    /// The mode that its PDUs are of.
    fn mode(&self) -> Mode;

    /// Passes each PDU of a TTI with its octets to `out`, in the order of transmission. `tti` is as filled by the
    /// sending side. `started` yields the SDUs whose first octet is in it: their indices and all their octets.
    fn encode(
        &mut self,
        tti: &Tti,
        started: &mut dyn Iterator<Item = (u64, Vec<u8>)>,
        out: &mut dyn FnMut(Pdu, &[u8]),
    );

    /// SDUs were given up: the rest of them is not sent. Others than these may be named, too.
    fn discard(&mut self, sdus: &[u64]);

    /// SDUs were confirmed: they will not be retransmitted.
    fn confirm(&mut self, sdus: &[u64]) {
        let _ = sdus;
    }

    /// The next PDU is new, and number 0; no SDU continues in it.
    fn begin_anew(&mut self);
}
