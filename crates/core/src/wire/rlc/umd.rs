//! UMD PDUs: data of SDUs in unacknowledged mode (TS 25.322 §9.2.1.3, §9.2.2.5, §9.2.2.8).
//!
//! The header is one octet: 7 bits of sequence number, and E. Length indicators are those of AMD PDUs, except for some
//! special values.
//!
//! Left out: the alternative interpretation of the first E bit, and the values of length indicators that belong to it.

use super::amd::{LiFormat, lis_of_ends};
use super::{BitReader, BitWriter, DecodeError, EncodeError};

/// Sequence number of a UMD PDU: 7 bits, modulo 128 (§9.2.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UmdSn(u8);

impl UmdSn {
    /// Number of sequence numbers.
    pub const MODULUS: u64 = 1 << SN_BITS;

    /// The sequence number of a count that never wraps.
    pub const fn wrap(count: u64) -> Self {
        Self((count % Self::MODULUS) as u8)
    }

    /// Its value, below 128.
    pub const fn value(self) -> u8 {
        self.0
    }
}

/// A PDU of unacknowledged mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UmdPdu {
    /// Sequence number.
    pub sn: UmdSn,
    /// Whether its first octet of data starts an SDU.
    pub begin: Begin,
    /// Positions in `data` where SDUs end: the number of octets up to each last one, increasing.
    pub ends: Vec<u16>,
    /// Octets of SDUs. If one ends an octet before the end of a PDU with indicators of 15 bits, that octet is among
    /// them, and the receiver cuts it off.
    pub data: Vec<u8>,
    /// Whether padding, of any length, follows the data. If not, they fill the PDU.
    pub padding: bool,
}

/// Information of the first length indicator about the first octet of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// None: it continues an SDU of the previous PDU, or the sender does not indicate where SDUs start.
    Untold,
    /// It starts an SDU.
    FirstOctet,
    /// The last octet of the PDU before was the last one of an SDU.
    PreviousExact,
    /// The last octet but one of the previous PDU ended an SDU. Only with 15-bit length indicators.
    PreviousOneOctetShort,
}

impl LiFormat {
    const fn first_octet(self) -> u32 {
        self.ones() - 3
    }

    /// Meaning of `li` as the first indicator, if it is one of the special values.
    fn begin(self, li: u32) -> Option<Begin> {
        match li {
            0 => Some(Begin::PreviousExact),
            _ if li == self.first_octet() => Some(Begin::FirstOctet),
            _ if self.one_octet_short() == Ok(li) => Some(Begin::PreviousOneOctetShort),
            _ => None,
        }
    }

    /// Values for the other interpretation of E.
    const fn is_reserved(self, li: u32) -> bool {
        matches!(self.ones() - li, 1 | 2) || (self.bits == 15 && self.ones() - li == 5)
    }
}

impl UmdPdu {
    /// Octets available for data in a PDU of `pdu_octets` with `length_indicators`.
    pub const fn data_room(pdu_octets: usize, length_indicators: usize) -> usize {
        let each = LiFormat::of(pdu_octets, LARGEST_WITH_SHORT_LI).octets();
        pdu_octets.saturating_sub(HEADER_OCTETS + each * length_indicators)
    }

    /// Writes it into `out`, which has the size of the PDU; unused octets become zero padding.
    ///
    /// # Errors
    ///
    /// If it does not fit, or a field has a value that the format cannot carry.
    pub fn encode(&self, out: &mut [u8]) -> Result<(), EncodeError> {
        if out.len() > LARGEST {
            let allowed = "at most 32760 octets";
            return Err(EncodeError::Field { field: "PDU size", value: out.len(), allowed });
        }
        let format = LiFormat::of(out.len(), LARGEST_WITH_SHORT_LI);
        let lis = self.length_indicators(format)?;
        out.fill(0);
        let mut writer = BitWriter::new(out);
        writer.put(self.sn.0.into(), SN_BITS)?;
        writer.put((!lis.is_empty()).into(), E_BITS)?;
        format.write(&lis, &mut writer)?;
        let wrong = |allowed| EncodeError::Field { field: "octets of data", value: self.data.len(), allowed };
        if !self.padding && self.data.len() < writer.octets_left() {
            return Err(wrong("as many as fill the PDU, or padding after them"));
        }
        if self.padding && self.data.len() != self.last_end() {
            return Err(wrong("none after the last end of an SDU, where the PDU is not full"));
        }
        writer.put_octets(&self.data)
    }

    fn length_indicators(&self, format: LiFormat) -> Result<Vec<u32>, EncodeError> {
        let mut lis = match self.begin {
            Begin::Untold => Vec::new(),
            Begin::FirstOctet => vec![format.first_octet()],
            Begin::PreviousExact => vec![0],
            Begin::PreviousOneOctetShort => vec![format.one_octet_short()?],
        };
        lis.extend(lis_of_ends(&self.ends, self.data.len())?);
        if self.padding {
            lis.push(format.ones());
        }
        Ok(lis)
    }

    fn last_end(&self) -> usize {
        self.ends.last().copied().unwrap_or(0).into()
    }

    /// Reads a PDU of the size of `bytes`.
    ///
    /// # Errors
    ///
    /// If it is no PDU of this format.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = BitReader::new(bytes);
        let sn = UmdSn(reader.take_octet(SN_BITS)?);
        let mut pdu = Self { sn, begin: Begin::Untold, ends: Vec::new(), data: Vec::new(), padding: false };
        let mut more = reader.take(E_BITS)? == 1;
        let format = LiFormat::of(bytes.len(), LARGEST_WITH_SHORT_LI);
        let mut first = true;
        while more {
            let li = reader.take(format.bits)?;
            more = reader.take(E_BITS)? == 1;
            pdu.take_length_indicator(format, li, first, !more)?;
            first = false;
        }
        let rest = reader.rest();
        let Some(data) = rest.get(..pdu.last_end()) else {
            return Err(DecodeError::LengthIndicatorOrder(pdu.last_end() as u16));
        };
        pdu.data = if pdu.padding { data } else { rest }.to_vec();
        Ok(pdu)
    }

    fn take_length_indicator(
        &mut self,
        format: LiFormat,
        li: u32,
        first: bool,
        last: bool,
    ) -> Result<(), DecodeError> {
        let out_of_place = Err(DecodeError::LengthIndicatorOrder(li as u16));
        if format.is_reserved(li) {
            return Err(DecodeError::ReservedLengthIndicator(li as u16));
        }
        if let Some(begin) = format.begin(li) {
            self.begin = begin;
            return if first { Ok(()) } else { out_of_place };
        }
        if li == format.ones() {
            self.padding = true;
            return if last { Ok(()) } else { out_of_place };
        }
        if li as usize <= self.last_end() {
            return out_of_place;
        }
        self.ends.push(li as u16);
        Ok(())
    }
}

const SN_BITS: usize = 7;
const E_BITS: usize = 1;
const HEADER_OCTETS: usize = (SN_BITS + E_BITS) / 8;
/// Largest PDU with length indicators of 7 bits, octets (§9.2.2.8).
pub(super) const LARGEST_WITH_SHORT_LI: usize = 125;
/// The greatest 15-bit length indicator without a special meaning, minus one for the header.
const LARGEST: usize = 0x7ff9 - 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn pdu(sn: u64, begin: Begin, data: &[u8], ends: &[u16], padding: bool) -> UmdPdu {
        UmdPdu { sn: UmdSn::wrap(sn), begin, ends: ends.to_vec(), data: data.to_vec(), padding }
    }

    #[track_caller]
    fn same(pdu: &UmdPdu, bytes: &[u8]) {
        let mut out = vec![0xff; bytes.len()];
        pdu.encode(&mut out).unwrap();
        assert_eq!(out, bytes);
        assert_eq!(UmdPdu::decode(bytes).as_ref(), Ok(pdu));
    }

    #[test]
    fn data_alone_follow_a_header_of_one_octet() {
        // TS 25.322 §9.2.1.3: SN 101 0110, E 0.
        same(&pdu(0x56, Begin::Untold, &[1, 2, 3], &[], false), &[0b1010_1100, 1, 2, 3]);
        assert_eq!(UmdSn::wrap(128 + 5).value(), 5);
    }

    #[test]
    fn length_indicators_tell_beginnings_ends_and_padding() {
        // SN 1, E 1 | LI 1111100, E 1 | LI 2, E 1 | LI 3, E 1 | LI 127, E 0 | 3 octets | padding.
        let two = pdu(1, Begin::FirstOctet, &[7, 8, 9], &[2, 3], true);
        same(&two, &[0b0000_0011, 0b1111_1001, 0b0000_0101, 0b0000_0111, 0b1111_1110, 7, 8, 9, 0, 0]);
        // The second SDU continues in the next PDU.
        same(&pdu(1, Begin::Untold, &[7, 8, 9], &[2], false), &[0b0000_0011, 0b0000_0100, 7, 8, 9]);
        // The PDU before ended with an SDU, and nothing follows.
        let told = pdu(2, Begin::PreviousExact, &[], &[], true);
        same(&told, &[0b0000_0101, 0b0000_0001, 0b1111_1110, 0, 0]);
    }

    #[test]
    fn above_125_octets_length_indicators_have_15_bits() {
        let data = [5; 200];
        // LI 0x7ffb, E 1 | LI 100, E 0.
        let mut bytes = vec![0b0000_0101, 0xff, 0xf7, 0x00, 0xc8];
        bytes.extend(data);
        same(&pdu(2, Begin::PreviousOneOctetShort, &data, &[100], false), &bytes);
        bytes[2] = 0xf9;
        same(&pdu(2, Begin::FirstOctet, &data, &[100], false), &bytes);
        assert_eq!(
            (UmdPdu::data_room(125, 2), UmdPdu::data_room(126, 2), UmdPdu::data_room(2, 2)),
            (122, 121, 0)
        );
    }

    #[test]
    fn what_is_wrong_with_the_header_is_named() {
        let order = DecodeError::LengthIndicatorOrder;
        for (bytes, error) in [
            (&[][..], DecodeError::Truncated),
            (&[1], DecodeError::Truncated),
            // Values of the alternative interpretation of E.
            (&[1, 0x7d << 1, 0], DecodeError::ReservedLengthIndicator(0x7d)),
            (&[1, 0x7e << 1, 0], DecodeError::ReservedLengthIndicator(0x7e)),
            (&[1, 4 << 1, 1, 2, 3], order(4)),
            (&[1, 2 << 1 | 1, 2 << 1, 1, 2], order(2)),
            (&[1, 2 << 1 | 1, 0, 1, 2], order(0)),
            (&[1, 2 << 1 | 1, 0x7c << 1, 1, 2], order(0x7c)),
            (&[1, 0xff, 2 << 1, 1, 2], order(0x7f)),
        ] {
            assert_eq!(UmdPdu::decode(bytes), Err(error), "{bytes:02x?}");
        }
        let mut long = [0; 130];
        (long[0], long[1], long[2]) = (1, 0xff, 0xf4);
        assert_eq!(UmdPdu::decode(&long), Err(DecodeError::ReservedLengthIndicator(0x7ffa)));
    }

    #[test]
    fn what_the_format_cannot_carry_is_refused() {
        for (pdu, words) in [
            (pdu(0, Begin::Untold, &[0; 41], &[], false), "336 bits or more, the PDU has 328"),
            (
                pdu(0, Begin::Untold, &[0; 39], &[], false),
                "octets of data is 39, expected as many as fill the PDU, or padding after them",
            ),
            (
                pdu(0, Begin::Untold, &[0; 9], &[8], true),
                "octets of data is 9, expected none after the last end of an SDU, where the PDU is not full",
            ),
            (
                pdu(0, Begin::Untold, &[0; 9], &[9, 9], true),
                "end of an SDU is 9, expected more than the one before it, and within the data",
            ),
            (
                pdu(0, Begin::PreviousOneOctetShort, &[0; 39], &[], false),
                "bits of an LI is 7, expected 15 to tell that the PDU before was one octet short",
            ),
        ] {
            assert_eq!(pdu.encode(&mut [0; 41]).unwrap_err().to_string(), words);
        }
        let huge = pdu(0, Begin::Untold, &[], &[], true).encode(&mut [0; 40_000]).unwrap_err();
        assert_eq!(huge.to_string(), "PDU size is 40000, expected at most 32760 octets");
    }
}
