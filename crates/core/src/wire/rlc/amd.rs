//! AMD PDUs: data of consecutive SDUs, and where they end (TS 25.322 §9.2.1, §9.2.2.3 to §9.2.2.8).
//!
//! A length indicator is the number of octets from the end of the last indicator to the last octet of an SDU that ends
//! in the PDU, so the indicators increase. The lowest and highest values have special meanings. With 15-bit indicators,
//! a single octet after the end of an SDU is padding without an indicator.

use super::{BitReader, BitWriter, DATA, DC_BITS, DecodeError, EncodeError, SN_BITS, Sn, Status};

/// A PDU that carries data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmdPdu {
    /// Sequence number.
    pub sn: Sn,
    /// P: the sender requests a STATUS report.
    pub poll: bool,
    /// Whether an SDU ended in the previous PDU.
    pub previous: PreviousEnd,
    /// Positions in `data` where SDUs end: the number of octets up to each last one, increasing.
    pub ends: Vec<u16>,
    /// Octets of SDUs.
    pub data: Vec<u8>,
    /// The part of the PDU after the data.
    pub tail: Tail,
}

/// End of the previous PDU, if that had no room to indicate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreviousEnd {
    /// No indication needed.
    Told,
    /// Its last octet was the last one of an SDU.
    Exact,
    /// Its last octet but one was the last octet of an SDU. Only with 15-bit length indicators; the remaining octet
    /// counts as data of that PDU, and the receiver removes it.
    OneOctetShort,
}

/// The part of an AMD PDU after the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing: the data fills the PDU, and an SDU that does not end in it continues in the next one.
    Full,
    /// Nothing, and the last octet ends an SDU: the special value of HE, without length indicators.
    FullWithSduEnd,
    /// Padding, of any length, after the end of an SDU.
    Padding,
    /// One octet of padding after the end of an SDU, where 15-bit length indicators leave no room to indicate it.
    PaddingOctet,
    /// A piggybacked STATUS, and padding.
    Status(Status),
}

/// Length indicators of 7 or of 15 bits, by the size of the PDU (§9.2.2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LiFormat {
    pub bits: usize,
}

/// A length indicator's meaning.
enum Li {
    PreviousExact,
    PreviousOneOctetShort,
    End(u16),
    Status,
    Padding,
    Reserved,
}

impl LiFormat {
    /// In a PDU of `octets`, with 7 bits up to `largest_short`.
    pub const fn of(octets: usize, largest_short: usize) -> Self {
        Self { bits: if octets <= largest_short { 7 } else { 15 } }
    }

    /// The greatest value: all ones.
    pub const fn ones(self) -> u32 {
        (1 << self.bits) - 1
    }

    /// Octets of a length indicator and its E bit.
    pub const fn octets(self) -> usize {
        (self.bits + E_BITS) / 8
    }

    /// The value that indicates that the previous PDU was one octet short.
    pub fn one_octet_short(self) -> Result<u32, EncodeError> {
        let allowed = "15 to tell that the PDU before was one octet short";
        let wrong = EncodeError::Field { field: "bits of an LI", value: self.bits, allowed };
        if self.bits == 15 { Ok(self.ones() - 4) } else { Err(wrong) }
    }

    /// Writes length indicators, each with its E bit.
    pub fn write(self, lis: &[u32], writer: &mut BitWriter<'_>) -> Result<(), EncodeError> {
        for (i, &li) in lis.iter().enumerate() {
            writer.put(li, self.bits)?;
            writer.put((i + 1 < lis.len()).into(), E_BITS)?;
        }
        Ok(())
    }

    const fn meaning(self, li: u32) -> Li {
        match self.ones() - li {
            0 => Li::Padding,
            1 => Li::Status,
            2 | 3 => Li::Reserved,
            4 if self.bits == 15 => Li::PreviousOneOctetShort,
            5 if self.bits == 15 => Li::Reserved,
            _ if li == 0 => Li::PreviousExact,
            _ => Li::End(li as u16),
        }
    }
}

/// Length indicators for the ends of SDUs in `octets` octets of data.
pub(super) fn lis_of_ends(ends: &[u16], octets: usize) -> Result<Vec<u32>, EncodeError> {
    let mut before = 0;
    for &end in ends {
        if end <= before || usize::from(end) > octets {
            let allowed = "more than the one before it, and within the data";
            return Err(EncodeError::Field { field: "end of an SDU", value: end.into(), allowed });
        }
        before = end;
    }
    Ok(ends.iter().map(|&end| end.into()).collect())
}

impl AmdPdu {
    /// Octets available for data in a PDU of `pdu_octets` with `length_indicators`.
    pub const fn data_room(pdu_octets: usize, length_indicators: usize) -> usize {
        let each = LiFormat::of(pdu_octets, LARGEST_WITH_SHORT_LI).octets();
        pdu_octets.saturating_sub(HEADER_OCTETS + each * length_indicators)
    }

    pub(super) fn encode(&self, writer: &mut BitWriter<'_>) -> Result<(), EncodeError> {
        let octets = writer.octets_left();
        if octets > LARGEST {
            let allowed = "at most 32761 octets";
            return Err(EncodeError::Field { field: "PDU size", value: octets, allowed });
        }
        let format = LiFormat::of(octets, LARGEST_WITH_SHORT_LI);
        let lis = self.length_indicators(format)?;
        let extension = match self.tail {
            _ if !lis.is_empty() => HE_LENGTH_INDICATOR,
            Tail::FullWithSduEnd => HE_SDU_END,
            _ => HE_DATA,
        };
        writer.put(DATA, DC_BITS)?;
        writer.put_sn(self.sn)?;
        writer.put(self.poll.into(), 1)?;
        writer.put(extension, HE_BITS)?;
        format.write(&lis, writer)?;
        self.encode_data(format, writer)
    }

    fn encode_data(&self, format: LiFormat, writer: &mut BitWriter<'_>) -> Result<(), EncodeError> {
        let wrong = |allowed| EncodeError::Field { field: "octets of data", value: self.data.len(), allowed };
        match &self.tail {
            Tail::Full | Tail::FullWithSduEnd => {
                if self.data.len() < writer.octets_left() {
                    return Err(wrong("as many as fill the PDU, or padding after them"));
                }
                writer.put_octets(&self.data)
            }
            Tail::PaddingOctet => {
                if self.ends.is_empty() || self.data.len() != self.last_end() || format.bits != 15 {
                    return Err(wrong(
                        "an SDU's end behind length indicators of 15 bits, where one octet is left",
                    ));
                }
                writer.put_octets(&self.data)?;
                if writer.octets_left() == 1 { Ok(()) } else { Err(wrong("all that is free but one octet")) }
            }
            Tail::Padding | Tail::Status(_) => {
                if self.data.len() != self.last_end() {
                    return Err(wrong("none after the last end of an SDU, where the PDU is not full"));
                }
                writer.put_octets(&self.data)?;
                if let Tail::Status(status) = &self.tail { status.encode(writer) } else { Ok(()) }
            }
        }
    }

    fn length_indicators(&self, format: LiFormat) -> Result<Vec<u32>, EncodeError> {
        let mut lis = match self.previous {
            PreviousEnd::Told => Vec::new(),
            PreviousEnd::Exact => vec![0],
            PreviousEnd::OneOctetShort => vec![format.one_octet_short()?],
        };
        lis.extend(lis_of_ends(&self.ends, self.data.len())?);
        match self.tail {
            Tail::Full | Tail::PaddingOctet => {}
            Tail::Padding => lis.push(format.ones()),
            Tail::Status(_) => lis.push(format.ones() - 1),
            Tail::FullWithSduEnd if lis.is_empty() => {}
            Tail::FullWithSduEnd => {
                let field = "number of length indicators with the special value of HE";
                return Err(EncodeError::Field { field, value: lis.len(), allowed: "0" });
            }
        }
        Ok(lis)
    }

    fn last_end(&self) -> usize {
        self.ends.last().copied().unwrap_or(0).into()
    }

    /// Reads the part after D/C of a PDU of `octets`.
    pub(super) fn decode(octets: usize, reader: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let (sn, poll) = (reader.take_sn()?, reader.take(1)? == 1);
        let (previous, ends) = (PreviousEnd::Told, Vec::new());
        let mut pdu = Self { sn, poll, previous, ends, data: Vec::new(), tail: Tail::Full };
        let mut rest = Li::Reserved;
        let format = LiFormat::of(octets, LARGEST_WITH_SHORT_LI);
        match reader.take(HE_BITS)? {
            HE_DATA => {}
            HE_SDU_END => pdu.tail = Tail::FullWithSduEnd,
            HE_LENGTH_INDICATOR => rest = pdu.decode_length_indicators(format, reader)?,
            _ => return Err(DecodeError::ReservedHeaderExtension),
        }
        let bytes = reader.rest();
        let Some((data, behind)) = bytes.split_at_checked(pdu.last_end()) else {
            return Err(DecodeError::LengthIndicatorOrder(pdu.last_end() as u16));
        };
        pdu.data = match rest {
            Li::Padding => {
                pdu.tail = Tail::Padding;
                data.to_vec()
            }
            Li::Status => {
                pdu.tail = Tail::Status(Status::decode_piggybacked(behind)?);
                data.to_vec()
            }
            Li::End(_) if behind.len() == 1 && format.bits == 15 => {
                pdu.tail = Tail::PaddingOctet;
                data.to_vec()
            }
            _ => bytes.to_vec(),
        };
        Ok(pdu)
    }

    /// Reads all length indicators; gives the last one.
    fn decode_length_indicators(
        &mut self,
        format: LiFormat,
        reader: &mut BitReader<'_>,
    ) -> Result<Li, DecodeError> {
        let mut first = true;
        loop {
            let li = reader.take(format.bits)?;
            let last = reader.take(E_BITS)? == 0;
            let meaning = format.meaning(li);
            match meaning {
                Li::PreviousExact if first => self.previous = PreviousEnd::Exact,
                Li::PreviousOneOctetShort if first => self.previous = PreviousEnd::OneOctetShort,
                Li::End(end) if usize::from(end) > self.last_end() => self.ends.push(end),
                Li::Padding | Li::Status if last => {}
                Li::Reserved => return Err(DecodeError::ReservedLengthIndicator(li as u16)),
                _ => return Err(DecodeError::LengthIndicatorOrder(li as u16)),
            }
            if last {
                return Ok(meaning);
            }
            first = false;
        }
    }
}

const HEADER_OCTETS: usize = (DC_BITS + SN_BITS + 1 + HE_BITS) / 8;
const HE_BITS: usize = 2;
const E_BITS: usize = 1;
/// Largest PDU with length indicators of 7 bits, octets (§9.2.2.8).
pub(super) const LARGEST_WITH_SHORT_LI: usize = 126;
/// The greatest length indicator of 15 bits without a meaning of its own.
const LARGEST: usize = 0x7ff9;

/// Values of the header extension type (§9.2.2.7).
const HE_DATA: u32 = 0;
const HE_LENGTH_INDICATOR: u32 = 1;
const HE_SDU_END: u32 = 2;

#[cfg(test)]
mod tests {
    use super::super::{Pdu, StatusEnd};
    use super::*;

    fn pdu(sn: u64, data: &[u8], ends: &[u16], tail: Tail) -> AmdPdu {
        let (ends, data) = (ends.to_vec(), data.to_vec());
        AmdPdu { sn: Sn::wrap(sn), poll: false, previous: PreviousEnd::Told, ends, data, tail }
    }

    #[track_caller]
    fn same(pdu: AmdPdu, bytes: &[u8]) {
        let pdu = Pdu::Amd(pdu);
        let mut out = vec![0xff; bytes.len()];
        pdu.encode(&mut out).unwrap();
        assert_eq!(out, bytes);
        assert_eq!(Pdu::decode(bytes), Ok(pdu));
    }

    #[test]
    fn data_alone_follow_a_header_of_two_octets() {
        // TS 25.322 §9.2.1: 1, SN 1010 1011 1100, P 1, HE 00.
        let poll = AmdPdu { poll: true, ..pdu(0xabc, &[1, 2, 3], &[], Tail::Full) };
        same(poll, &[0b1101_0101, 0b1110_0100, 1, 2, 3]);
        same(pdu(0xabc, &[1, 2, 3], &[], Tail::FullWithSduEnd), &[0b1101_0101, 0b1110_0010, 1, 2, 3]);
    }

    #[test]
    fn length_indicators_count_from_their_own_end_and_the_last_one_names_the_padding() {
        // 1, SN 1, P 0, HE 01 | LI 2, E 1 | LI 3, E 1 | LI 127, E 0 | 3 octets | padding.
        let two = pdu(1, &[7, 8, 9], &[2, 3], Tail::Padding);
        same(two, &[0x80, 0b0000_1001, 0b0000_0101, 0b0000_0111, 0b1111_1110, 7, 8, 9, 0, 0]);
        // The second SDU continues in the next PDU.
        same(pdu(1, &[7, 8, 9], &[2], Tail::Full), &[0x80, 0b0000_1001, 0b0000_0100, 7, 8, 9]);
    }

    #[test]
    fn an_sdu_that_filled_the_pdu_before_is_told_by_a_first_zero() {
        let told = AmdPdu { previous: PreviousEnd::Exact, ..pdu(2, &[], &[], Tail::Padding) };
        same(told, &[0x80, 0b0001_0001, 0b0000_0001, 0b1111_1110, 0, 0]);
    }

    #[test]
    fn above_126_octets_length_indicators_have_15_bits() {
        let data = [5; 200];
        let mut bytes = vec![0x80, 0b0001_0001, 0b1111_1111, 0b1111_0111, 0b0000_0000, 0b1100_1000];
        bytes.extend(data);
        let short = AmdPdu { previous: PreviousEnd::OneOctetShort, ..pdu(2, &data, &[100], Tail::Full) };
        same(short, &bytes);
        assert_eq!(AmdPdu::data_room(126, 2), 122);
        assert_eq!(AmdPdu::data_room(127, 2), 121);
        assert_eq!(AmdPdu::data_room(3, 2), 0);
    }

    /// §9.2.2.8: it is no octet of the next SDU.
    #[test]
    fn with_15_bits_one_octet_behind_an_sdu_is_padding_without_an_indicator() {
        let data = [5; 122];
        let mut bytes = vec![0x80, 0b0001_0001, 0, 122 << 1];
        bytes.extend(data);
        bytes.push(0);
        same(pdu(2, &data, &[122], Tail::PaddingOctet), &bytes);
        // With 7 bits it is the first one of an SDU.
        same(pdu(1, &[7, 8, 9], &[2], Tail::Full), &[0x80, 0b0000_1001, 0b0000_0100, 7, 8, 9]);
    }

    #[test]
    fn a_status_rides_in_the_padding() {
        // LI 1, E 1 | LI 126, E 0 | data | R2 0, 000, 0010, LSN 0x123 | padding.
        let status = Status { sufis: vec![], end: StatusEnd::Ack(Sn::wrap(0x123)) };
        let bytes = [0x80, 0b0000_1001, 0b0000_0011, 0b1111_1100, 9, 0x02, 0x12, 0x30, 0];
        same(pdu(1, &[9], &[1], Tail::Status(status)), &bytes);
        let mut wrong = bytes;
        wrong[5] |= 0x80;
        assert_eq!(Pdu::decode(&wrong), Err(DecodeError::ReservedBits));
        wrong[5] = 0x12;
        assert_eq!(Pdu::decode(&wrong), Err(DecodeError::ReservedPduType(1)));
    }

    #[test]
    fn what_is_wrong_with_the_header_is_named() {
        let order = DecodeError::LengthIndicatorOrder;
        for (bytes, error) in [
            (&[0x80][..], DecodeError::Truncated),
            (&[0x80, 0b011], DecodeError::ReservedHeaderExtension),
            (&[0x80, 0b001], DecodeError::Truncated),
            (&[0x80, 0b001, 0b1111_1010, 0], DecodeError::ReservedLengthIndicator(0x7d)),
            (&[0x80, 0b001, 0b1111_1000, 0], DecodeError::ReservedLengthIndicator(0x7c)),
            (&[0x80, 0b001, 4 << 1, 1, 2, 3], order(4)),
            (&[0x80, 0b001, 2 << 1 | 1, 2 << 1, 1, 2], order(2)),
            (&[0x80, 0b001, 2 << 1 | 1, 0, 1, 2], order(0)),
            (&[0x80, 0b001, 0xff, 2 << 1, 1, 2], order(0x7f)),
        ] {
            assert_eq!(Pdu::decode(bytes), Err(error), "{bytes:02x?}");
        }
    }

    #[test]
    fn what_the_format_cannot_carry_is_refused() {
        let short = AmdPdu { previous: PreviousEnd::OneOctetShort, ..pdu(0, &[0; 38], &[], Tail::Full) };
        for (pdu, words) in [
            (pdu(0, &[0; 41], &[], Tail::Full), "344 bits or more, the PDU has 336"),
            (
                pdu(0, &[0; 39], &[], Tail::Full),
                "octets of data is 39, expected as many as fill the PDU, or padding after them",
            ),
            (
                pdu(0, &[0; 9], &[8], Tail::Padding),
                "octets of data is 9, expected none after the last end of an SDU, where the PDU is not full",
            ),
            (
                pdu(0, &[0; 9], &[9, 9], Tail::Padding),
                "end of an SDU is 9, expected more than the one before it, and within the data",
            ),
            (
                pdu(0, &[0; 39], &[39], Tail::FullWithSduEnd),
                "number of length indicators with the special value of HE is 1, expected 0",
            ),
            (
                pdu(0, &[0; 38], &[38], Tail::PaddingOctet),
                "octets of data is 38, expected an SDU's end behind length indicators of 15 bits, where one octet is left",
            ),
            (short, "bits of an LI is 7, expected 15 to tell that the PDU before was one octet short"),
        ] {
            assert_eq!(Pdu::Amd(pdu).encode(&mut [0; 42]).unwrap_err().to_string(), words);
        }
        let huge = Pdu::Amd(pdu(0, &[], &[], Tail::Padding)).encode(&mut [0; 40_000]).unwrap_err();
        assert_eq!(huge.to_string(), "PDU size is 40000, expected at most 32761 octets");
    }
}
