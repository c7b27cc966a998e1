//! NR RLC PDUs, bit by bit as transmitted.
//!
//! Source: TS 38.322 §6.2. [`Pdu`] is any PDU of acknowledged mode: [`AmdPdu`] carries an SDU or a segment of one, and
//! [`StatusPdu`] reports received SDUs. [`UmdPdu`] carries an SDU or a segment in unacknowledged mode. These bytes are
//! for captures and tests. Left out: transparent mode.

use super::EncodeError;
use super::rlc::{BitReader, BitWriter, DecodeError};

const CONTROL: u32 = 0;
const DATA: u32 = 1;
/// CPT: a STATUS PDU.
const STATUS: u32 = 0;
const CPT_BITS: usize = 3;
/// SOend: up to the last octet of the SDU (§6.2.3.17).
const TO_THE_END: u16 = u16::MAX;

/// Part of its SDU that a PDU carries: SI and SO (§6.2.3.4, §6.2.3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole SDU.
    Whole,
    /// The first segment.
    First,
    /// The last segment, after this many octets.
    Last(u16),
    /// Neither the first nor the last segment, after this many octets.
    Middle(u16),
}

/// An AMD PDU (§6.2.2.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmdPdu {
    /// SN, 12 or 18 bits.
    pub sn: u32,
    /// P: a STATUS PDU is requested.
    pub poll: bool,
    /// SI and SO.
    pub part: Part,
    /// Octets of the SDU.
    pub data: Vec<u8>,
}

/// A UMD PDU (§6.2.2.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UmdPdu {
    /// SN, 6 or 12 bits; a whole SDU has none, and this is 0.
    pub sn: u32,
    /// SI and SO.
    pub part: Part,
    /// Octets of the SDU.
    pub data: Vec<u8>,
}

/// A STATUS PDU (§6.2.2.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusPdu {
    /// ACK_SN.
    pub ack_sn: u32,
    /// SDUs and segments reported missing.
    pub nacks: Vec<Nack>,
}

/// Adjacent SDUs or octets of them that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// NACK_SN.
    pub sn: u32,
    /// SOstart, and SOend unless that is the end of the SDU.
    pub offsets: Option<(u16, Option<u16>)>,
    /// NACK range.
    pub range: Option<u8>,
}

/// A PDU of acknowledged mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pdu {
    /// Data.
    Amd(AmdPdu),
    /// STATUS.
    Status(StatusPdu),
}

fn sn(value: u32, bits: usize) -> Result<u32, EncodeError> {
    let allowed = match bits {
        6 => "6 bits",
        12 => "12 bits",
        _ => "18 bits",
    };
    match value >> bits {
        0 => Ok(value),
        _ => Err(EncodeError::Field { field: "SN", value: value as usize, allowed }),
    }
}

impl Part {
    const fn si(self) -> u32 {
        match self {
            Self::Whole => 0b00,
            Self::First => 0b01,
            Self::Last(_) => 0b10,
            Self::Middle(_) => 0b11,
        }
    }

    const fn offset(self) -> Option<u16> {
        match self {
            Self::Whole | Self::First => None,
            Self::Last(so) | Self::Middle(so) => Some(so),
        }
    }

    fn decode(si: u32, reader: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        Ok(match si {
            0b00 => Self::Whole,
            0b01 => Self::First,
            0b10 => Self::Last(reader.take(16)? as u16),
            _ => Self::Middle(reader.take(16)? as u16),
        })
    }
}

/// Fields with their lengths in bits, SO, and the data.
fn write(fields: &[(u32, usize)], part: Part, data: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let so = part.offset().map(|so| (u32::from(so), 16));
    let bits: usize = fields.iter().chain(&so).map(|(_, bits)| bits).sum();
    let mut octets = Vec::with_capacity(bits / 8 + data.len());
    octets.resize(bits / 8, 0);
    let mut writer = BitWriter::new(&mut octets);
    fields.iter().chain(&so).try_for_each(|&(value, width)| writer.put(value, width))?;
    octets.extend_from_slice(data);
    Ok(octets)
}

/// The rest of a PDU, which has an octet of data at least.
fn data(reader: &mut BitReader<'_>) -> Result<Vec<u8>, DecodeError> {
    let data = reader.rest().to_vec();
    if data.is_empty() { Err(DecodeError::Truncated) } else { Ok(data) }
}

fn reserved(reader: &mut BitReader<'_>, bits: usize) -> Result<(), DecodeError> {
    if reader.take(bits)? == 0 { Ok(()) } else { Err(DecodeError::ReservedBits) }
}

impl Pdu {
    /// The octets of the PDU, with a sequence number of 12 or 18 bits.
    ///
    /// # Errors
    ///
    /// If a field has a value that the format cannot carry.
    pub fn encode(&self, sn_bits: usize) -> Result<Vec<u8>, EncodeError> {
        match self {
            Self::Amd(AmdPdu { sn: number, poll, part, data }) => {
                let reserved = if sn_bits == 12 { 0 } else { 2 };
                let fields = [
                    (DATA, 1),
                    (u32::from(*poll), 1),
                    (part.si(), 2),
                    (0, reserved),
                    (sn(*number, sn_bits)?, sn_bits),
                ];
                write(&fields, *part, data)
            }
            Self::Status(pdu) => pdu.encode(sn_bits),
        }
    }

    /// Reads a PDU with a sequence number of `sn_bits` bits.
    ///
    /// # Errors
    ///
    /// If it is no PDU of this format.
    pub fn decode(bytes: &[u8], sn_bits: usize) -> Result<Self, DecodeError> {
        let mut reader = BitReader::new(bytes);
        if reader.take(1)? == CONTROL {
            return match reader.take(CPT_BITS)? {
                STATUS => StatusPdu::decode(&mut reader, sn_bits).map(Self::Status),
                other => Err(DecodeError::ReservedPduType(other as u8)),
            };
        }
        let poll = reader.take(1)? == 1;
        let si = reader.take(2)?;
        reserved(&mut reader, if sn_bits == 12 { 0 } else { 2 })?;
        let number = reader.take(sn_bits)?;
        let part = Part::decode(si, &mut reader)?;
        Ok(Self::Amd(AmdPdu { sn: number, poll, part, data: data(&mut reader)? }))
    }
}

impl UmdPdu {
    /// The octets of the PDU, with a sequence number of 6 or 12 bits.
    ///
    /// # Errors
    ///
    /// If a field has a value that the format cannot carry.
    pub fn encode(&self, sn_bits: usize) -> Result<Vec<u8>, EncodeError> {
        let si = (self.part.si(), 2);
        let number = (sn(self.sn, sn_bits)?, sn_bits);
        match self.part {
            Part::Whole => write(&[si, (0, 6)], self.part, &self.data),
            _ if sn_bits == 6 => write(&[si, number], self.part, &self.data),
            _ => write(&[si, (0, 2), number], self.part, &self.data),
        }
    }

    /// Reads a PDU; its sequence number, if any, has `sn_bits` bits.
    ///
    /// # Errors
    ///
    /// If it is no PDU of this format.
    pub fn decode(bytes: &[u8], sn_bits: usize) -> Result<Self, DecodeError> {
        let mut reader = BitReader::new(bytes);
        let si = reader.take(2)?;
        if si == Part::Whole.si() {
            reserved(&mut reader, 6)?;
            return Ok(Self { sn: 0, part: Part::Whole, data: data(&mut reader)? });
        }
        reserved(&mut reader, if sn_bits == 6 { 0 } else { 2 })?;
        let number = reader.take(sn_bits)?;
        let part = Part::decode(si, &mut reader)?;
        Ok(Self { sn: number, part, data: data(&mut reader)? })
    }
}

/// Reserved bits after E1 of ACK_SN, and after E3.
const fn padding(sn_bits: usize) -> [usize; 2] {
    if sn_bits == 12 { [7, 1] } else { [1, 3] }
}

impl StatusPdu {
    fn encode(&self, sn_bits: usize) -> Result<Vec<u8>, EncodeError> {
        let [behind_ack, behind_nack] = padding(sn_bits);
        let mut fields = vec![
            (CONTROL, 1),
            (STATUS, CPT_BITS),
            (sn(self.ack_sn, sn_bits)?, sn_bits),
            (u32::from(!self.nacks.is_empty()), 1),
            (0, behind_ack),
        ];
        for (place, nack) in self.nacks.iter().enumerate() {
            fields.extend([
                (sn(nack.sn, sn_bits)?, sn_bits),
                (u32::from(place + 1 < self.nacks.len()), 1),
                (u32::from(nack.offsets.is_some()), 1),
                (u32::from(nack.range.is_some()), 1),
                (0, behind_nack),
            ]);
            if let Some((start, end)) = nack.offsets {
                fields.extend([(start.into(), 16), (end.unwrap_or(TO_THE_END).into(), 16)]);
            }
            fields.extend(nack.range.map(|range| (u32::from(range), 8)));
        }
        write(&fields, Part::Whole, &[])
    }

    fn decode(reader: &mut BitReader<'_>, sn_bits: usize) -> Result<Self, DecodeError> {
        let [behind_ack, behind_nack] = padding(sn_bits);
        let ack_sn = reader.take(sn_bits)?;
        let mut more = reader.take(1)? == 1;
        reserved(reader, behind_ack)?;
        let mut nacks = Vec::new();
        while more {
            let number = reader.take(sn_bits)?;
            more = reader.take(1)? == 1;
            let (has_offsets, has_range) = (reader.take(1)? == 1, reader.take(1)? == 1);
            reserved(reader, behind_nack)?;
            let mut take = |bits| reader.take(bits).map(|value| value as u16);
            let offsets = if has_offsets { Some((take(16)?, take(16)?)) } else { None };
            let range = if has_range { Some(take(8)? as u8) } else { None };
            let offsets = offsets.map(|(start, end)| (start, Some(end).filter(|end| *end != TO_THE_END)));
            nacks.push(Nack { sn: number, offsets, range });
        }
        Ok(Self { ack_sn, nacks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn same(pdu: &Pdu, sn_bits: usize, bytes: &[u8]) {
        assert_eq!(pdu.encode(sn_bits).as_deref(), Ok(bytes));
        assert_eq!(Pdu::decode(bytes, sn_bits).as_ref(), Ok(pdu));
    }

    fn amd(sn: u32, poll: bool, part: Part) -> Pdu {
        Pdu::Amd(AmdPdu { sn, poll, part, data: vec![7, 8] })
    }

    /// §6.2.2.4: D/C 1, P, SI, R R with 18 bits, SN, SO.
    #[test]
    fn an_amd_pdu_has_its_header_and_an_offset_behind_the_first_segment() {
        same(&amd(0x203, true, Part::Whole), 12, &[0b1100_0010, 3, 7, 8]);
        same(&amd(0x203, false, Part::First), 12, &[0b1001_0010, 3, 7, 8]);
        same(&amd(0x203, false, Part::Last(0x0102)), 12, &[0b1010_0010, 3, 1, 2, 7, 8]);
        same(&amd(0x2_0304, false, Part::Whole), 18, &[0b1000_0010, 3, 4, 7, 8]);
        same(&amd(0x2_0304, true, Part::Middle(0x0102)), 18, &[0b1111_0010, 3, 4, 1, 2, 7, 8]);
    }

    /// §6.2.2.3: SI, and R up to the octet, or SN.
    #[test]
    fn a_umd_pdu_with_a_whole_sdu_has_no_sequence_number() {
        let umd = |sn, part| UmdPdu { sn, part, data: vec![9] };
        let cases: [(UmdPdu, usize, &[u8]); 5] = [
            (umd(0, Part::Whole), 6, &[0, 9]),
            (umd(0, Part::Whole), 12, &[0, 9]),
            (umd(21, Part::First), 6, &[0b0101_0101, 9]),
            (umd(0x215, Part::First), 12, &[0b0100_0010, 0x15, 9]),
            (umd(0x215, Part::Middle(3)), 12, &[0b1100_0010, 0x15, 0, 3, 9]),
        ];
        for (pdu, bits, bytes) in cases {
            assert_eq!(pdu.encode(bits).as_deref(), Ok(bytes));
            assert_eq!(UmdPdu::decode(bytes, bits), Ok(pdu));
        }
    }

    /// §6.2.2.5, with 12 bits: D/C 0, CPT 000, ACK_SN, E1, seven R; NACK_SN, E1, E2, E3, R.
    #[test]
    fn a_status_pdu_of_12_bits_names_sdus_segments_and_ranges() {
        let nack = |sn, offsets, range| Nack { sn, offsets, range };
        let status = |nacks| Pdu::Status(StatusPdu { ack_sn: 0x105, nacks });
        same(&status(vec![]), 12, &[0b0000_0001, 5, 0]);
        same(&status(vec![nack(2, None, None)]), 12, &[1, 5, 0b1000_0000, 0, 0b0010_0000]);
        same(
            &status(vec![nack(2, None, Some(90)), nack(0x103, Some((1, None)), None)]),
            12,
            &[1, 5, 0b1000_0000, 0, 0b0010_1010, 90, 0b0001_0000, 0b0011_0100, 0, 1, 0xff, 0xff],
        );
    }

    /// §6.2.2.5, with 18 bits: ACK_SN, E1, R; NACK_SN, E1, E2, E3, three R.
    #[test]
    fn a_status_pdu_of_18_bits_names_sdus_segments_and_ranges() {
        let nacks = vec![Nack { sn: 7, offsets: Some((0x0102, Some(4))), range: Some(90) }];
        // ACK_SN 97 = 0b1100001 in 18 bits after 0000: 0000 0000 | 0000 0001 | 1000 01, E1 1, R 0.
        same(
            &Pdu::Status(StatusPdu { ack_sn: 97, nacks }),
            18,
            &[0, 0b0000_0001, 0b1000_0110, 0, 1, 0b1101_1000, 1, 2, 0, 4, 90],
        );
    }

    #[test]
    fn what_is_no_pdu_is_refused() {
        assert_eq!(Pdu::decode(&[], 12), Err(DecodeError::Truncated));
        assert_eq!(Pdu::decode(&[0b0001_0000, 0, 0], 12), Err(DecodeError::ReservedPduType(1)));
        assert_eq!(Pdu::decode(&[0b1000_0100, 0, 0, 1], 18), Err(DecodeError::ReservedBits));
        assert_eq!(Pdu::decode(&[0b1000_0000, 0], 12), Err(DecodeError::Truncated));
        assert_eq!(UmdPdu::decode(&[1, 9], 12), Err(DecodeError::ReservedBits));
        let error = amd(4096, false, Part::Whole).encode(12).unwrap_err();
        assert_eq!(error.to_string(), "SN is 4096, expected 12 bits");
    }

    fn part() -> impl Strategy<Value = Part> {
        (0_u8..4, any::<u16>()).prop_map(|(kind, so)| match kind {
            0 => Part::Whole,
            1 => Part::First,
            2 => Part::Last(so),
            _ => Part::Middle(so),
        })
    }

    fn nack() -> impl Strategy<Value = Nack> {
        let offsets = prop::option::of((any::<u16>(), prop::option::of(0..u16::MAX)));
        (0_u32..4096, offsets, any::<Option<u8>>()).prop_map(|(sn, offsets, range)| Nack {
            sn,
            offsets,
            range,
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            sn in 0_u32..4096,
            poll: bool,
            part in part(),
            data in prop::collection::vec(any::<u8>(), 1..40),
            nacks in prop::collection::vec(nack(), 0..30),
        ) {
            let status = Pdu::Status(StatusPdu { ack_sn: sn, nacks });
            for pdu in [Pdu::Amd(AmdPdu { sn, poll, part, data: data.clone() }), status] {
                for bits in [12, 18] {
                    prop_assert_eq!(Pdu::decode(&pdu.encode(bits).unwrap(), bits), Ok(pdu.clone()));
                }
            }
            for bits in [6, 12] {
                let sn = if part == Part::Whole { 0 } else { sn % (1 << bits) };
                let pdu = UmdPdu { sn, part, data: data.clone() };
                prop_assert_eq!(UmdPdu::decode(&pdu.encode(bits).unwrap(), bits), Ok(pdu));
            }
        }

        #[test]
        fn no_octets_make_a_reader_panic(octets in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = (Pdu::decode(&octets, 12), Pdu::decode(&octets, 18));
            let _ = (UmdPdu::decode(&octets, 6), UmdPdu::decode(&octets, 12));
        }
    }
}
