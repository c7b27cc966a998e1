//! PDUs of LTE as the simulator carries them.
//!
//! A PDU fills the room that it is given, so each has its own size. It holds no octets: the SDUs of one direction,
//! concatenated, are a stream of octets, and a PDU is a range of it, with the ends of SDUs in that range. Octets of the
//! stream are counted from 0 since the entities were established last.

use crate::rlc::ranges::SnRange;
use std::collections::VecDeque;

/// A data PDU: UMD, AMD, or a segment of an AMD PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// SN, not wrapped.
    pub sn: u64,
    /// P: requests a STATUS PDU.
    pub poll: bool,
    /// The octets of the stream that it carries.
    pub octets: SnRange,
    /// FI, first bit: an SDU begins with its first octet.
    pub begins: bool,
    /// In a segment of an AMD PDU, which part it is.
    pub part: Option<Part>,
    /// Place of its first end of an SDU in [`Pdus::ends`],
    pub first_end: u32,
    /// and the place after its last one.
    pub next_end: u32,
}

/// Which part of an AMD PDU a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// SO: octets of the AMD PDU's data before the segment's.
    pub so: u32,
    /// LSF: its last octet is the last one of the AMD PDU.
    pub last: bool,
}

/// The end of an SDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The octet of the stream behind its last one.
    pub at: u64,
    /// Its number.
    pub sdu: u64,
}

/// Keeps an end in order among `ends`, if it is not there yet. Most come in order.
pub(in crate::rlc) fn insert_end(ends: &mut VecDeque<End>, end: End) {
    if ends.back().is_none_or(|last| last.at < end.at) {
        return ends.push_back(end);
    }
    let place = ends.partition_point(|held| held.at < end.at);
    if ends.get(place).is_none_or(|held| held.at != end.at) {
        ends.insert(place, end);
    }
}

/// SO, SOstart and SOend have 15 bits, and all ones means the end of the PDU (§6.2.2.7, §6.2.2.19): no data field is
/// longer.
pub const LARGEST_OFFSET: u64 = 0x7ffe;

/// Octets of so many length indicators with their E bits: 12 bits each, with padding to whole octets (§6.2.1.3).
pub const fn li_octets(indicators: u64) -> u64 {
    (indicators * 12).div_ceil(8)
}

/// A STATUS PDU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// ACK_SN, not wrapped: PDUs below this one that are not named have arrived.
    pub ack_sn: u64,
    /// Missing PDUs and parts of PDUs, in increasing order.
    pub nacks: Vec<Nack>,
}

/// A PDU, or a part of one, that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// NACK_SN, not wrapped.
    pub sn: u64,
    /// SOstart, and the octet behind SOend, or `None` where that is the end of the PDU. Absent: the whole PDU.
    pub part: Option<(u32, Option<u32>)>,
}

impl Nack {
    /// NACK_SN, E1 and E2; SOstart and SOend.
    pub const fn bits(self) -> u64 {
        if self.part.is_some() { 12 + 30 } else { 12 }
    }
}

impl Status {
    /// D/C, CPT, ACK_SN and E1.
    pub const HEADER_BITS: u64 = 15;

    /// How many PDUs are named.
    pub fn missing(&self) -> u32 {
        self.nacks.chunk_by(|one, next| one.sn == next.sn).count() as u32
    }

    /// Size of the PDU in octets (§6.2.1.6).
    pub fn octets(&self) -> u64 {
        let nacks: u64 = self.nacks.iter().map(|nack| nack.bits()).sum();
        (Self::HEADER_BITS + nacks).div_ceil(8)
    }
}

/// The PDUs of a TTI. Its [`Transmission`](crate::rlc::Transmission) has a run of one sequence number for each data
/// PDU, in the same order, and the ends of SDUs in PDUs that are sent for the first time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pdus {
    /// How often the sender was re-established.
    pub establishment: u32,
    /// A STATUS PDU; it goes first.
    pub status: Option<Status>,
    /// Data PDUs.
    pub data: Vec<Pdu>,
    /// Ends of SDUs in them, as they are named there.
    pub ends: Vec<End>,
}

impl Pdus {
    /// The ends of SDUs in a PDU.
    pub fn ends_of(&self, pdu: &Pdu) -> &[End] {
        self.ends.get(pdu.first_end as usize..pdu.next_end as usize).unwrap_or_default()
    }

    /// Takes everything out but the STATUS PDU.
    #[inline]
    pub fn clear_data(&mut self) {
        self.establishment = 0;
        self.data.clear();
        self.ends.clear();
    }
}
