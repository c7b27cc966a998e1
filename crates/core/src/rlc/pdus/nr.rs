//! PDUs of NR as the simulator carries them (TS 38.322 §6.2).
//!
//! A PDU has one SDU or one segment of one in it; there is no concatenation. It holds no octets, but says which of its SDU
//! it carries. Sequence numbers are counted without wrapping.

use crate::pdcp::{Content, StatusReport};

/// A data PDU: UMD or AMD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// SN, not wrapped. A UMD PDU with a whole SDU has none: here it is that of the next SDU that is segmented.
    pub sn: u64,
    /// The SDU: a PDU of PDCP.
    pub sdu: Content,
    /// SO: octets of the SDU before the first one here.
    pub so: u32,
    /// End offset in the SDU (exclusive).
    pub end: u32,
    /// Whether the last octet here is that of the SDU.
    pub last: bool,
    /// P: a STATUS PDU is requested.
    pub poll: bool,
    /// Whether it is a retransmission of RLC.
    pub again: bool,
}

impl Pdu {
    /// SI: whether there is a whole SDU in it.
    #[inline]
    pub const fn is_whole(&self) -> bool {
        self.so == 0 && self.last
    }

    /// Octets of data.
    #[inline]
    pub const fn data_octets(&self) -> u64 {
        (self.end - self.so) as u64
    }
}

/// SO, SOstart and SOend have 16 bits, and all ones mean the end of the SDU (§6.2.3.5, §6.2.3.17): PDCP's SDUs have 9000
/// octets at most.
pub const LARGEST_SDU: u32 = 0xffff;

/// Octets of MAC's subheader of a PDU with so many octets: R, F, LCID, and L of 8 or 16 bits (TS 38.321 §6.1.2).
#[inline]
pub const fn mac_octets(pdu: u64) -> u64 {
    if pdu < 256 { 2 } else { 3 }
}

/// How many octets of data a PDU with a header of so many octets can carry, where `room` octets are left for it and its
/// subheader.
#[inline]
pub const fn payload(room: u64, header: u64) -> u64 {
    let short = room.saturating_sub(2);
    let pdu = if short < 256 {
        short
    } else if room < 3 + 256 {
        255
    } else {
        room - 3
    };
    pdu.saturating_sub(header)
}

/// A STATUS PDU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// ACK_SN, not wrapped: SDUs below this one that are not named have arrived.
    pub ack_sn: u64,
    /// Missing SDUs and segments, in increasing order.
    pub nacks: Vec<Nack>,
}

/// Adjacent octets of one SDU or several ones that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// NACK_SN, not wrapped.
    pub sn: u64,
    /// NACK range: how many SDUs from this one on; 1 where the field is absent.
    pub range: u8,
    /// SOstart: the first octet of the first SDU that is missing.
    pub start: u32,
    /// The octet behind SOend in the last SDU; `None` if the end of the SDU is missing.
    pub end: Option<u32>,
}

impl Nack {
    /// Whether there are SOstart and SOend (E2).
    pub const fn has_offsets(&self) -> bool {
        self.start > 0 || self.end.is_some()
    }

    /// NACK_SN with E1, E2 and E3; SOstart and SOend; NACK range.
    pub const fn octets(&self, sn_bits: u8) -> u64 {
        let sn = if sn_bits == 12 { 2 } else { 3 };
        sn + if self.has_offsets() { 4 } else { 0 } + if self.range > 1 { 1 } else { 0 }
    }
}

impl Status {
    /// D/C, CPT, ACK_SN, E1 and R.
    pub const HEADER_OCTETS: u64 = 3;

    /// How many SDUs are named.
    pub fn missing(&self) -> u32 {
        let (mut missing, mut end) = (0, 0);
        for nack in &self.nacks {
            let named = nack.sn + u64::from(nack.range);
            missing += named.saturating_sub(nack.sn.max(end)) as u32;
            end = named;
        }
        missing
    }

    /// Octets of the PDU (§6.2.2.5), where sequence numbers have so many bits.
    pub fn octets(&self, sn_bits: u8) -> u64 {
        Self::HEADER_OCTETS + self.nacks.iter().map(|nack| nack.octets(sn_bits)).sum::<u64>()
    }
}

/// The PDUs of a TTI. Its [`Transmission`](crate::rlc::Transmission) has the ends of SDUs in PDUs that are sent for the
/// first time, and no runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pdus {
    /// How often the sender was re-established.
    pub establishment: u32,
    /// Octets of the MAC PDU; what PDUs and their subheaders leave free is padding. 0 where there are no PDUs.
    pub room: u64,
    /// Octets of it that PDUs and their subheaders leave free.
    pub left: u64,
    /// Number of the first SDU that the sender may still transmit, for the first time or again.
    pub needed_from: u64,
    /// A STATUS PDU; it goes first.
    pub status: Option<Status>,
    /// Data PDUs.
    pub data: Vec<Pdu>,
    /// PDCP's status reports that data PDUs carry.
    pub reports: Vec<StatusReport>,
}

impl Pdus {
    /// Takes everything out.
    #[inline]
    pub fn clear(&mut self) {
        (self.establishment, self.room) = (0, 0);
        self.status = None;
        self.data.clear();
        self.reports.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: L has 8 bits up to 255 octets.
    #[test]
    fn a_subheader_has_two_octets_up_to_255_and_three_above() {
        assert_eq!([1, 255, 256, 1506].map(mac_octets), [2, 2, 3, 3]);
        // Rooms of 257, 258 and 259 take PDUs of 255, 255 and 256 octets.
        assert_eq!([257, 258, 259, 260].map(|room| payload(room, 3)), [252, 252, 253, 254]);
        assert_eq!([0, 4, 5, 6, 1512].map(|room| payload(room, 3)), [0, 0, 0, 1, 1506]);
    }

    /// Acceptance test 19.
    #[test]
    fn a_range_of_sdus_takes_one_octet_more_than_one() {
        let whole = Nack { sn: 7, range: 90, start: 0, end: None };
        let status = |nack| Status { ack_sn: 97, nacks: vec![nack] };
        assert_eq!((status(whole).octets(18), status(whole).octets(12), status(whole).missing()), (7, 6, 90));
        let cut = [Nack { start: 1, ..whole }, Nack { end: Some(1), ..whole }];
        assert_eq!(cut.map(|nack| status(nack).octets(18)), [11, 11]);
        let one = Nack { range: 1, ..whole };
        assert_eq!((status(one).octets(18), status(one).octets(12)), (6, 5));
        assert_eq!(Status::default().octets(18), 3);
    }

    #[test]
    fn an_sdu_of_which_several_parts_are_missing_counts_once() {
        let nack = |sn, range, start, end| Nack { sn, range, start, end };
        let nacks =
            vec![nack(3, 1, 0, Some(5)), nack(3, 2, 9, Some(2)), nack(4, 1, 7, None), nack(6, 1, 0, None)];
        assert_eq!(Status { ack_sn: 9, nacks }.missing(), 3);
    }
}
