//! LTE RLC PDUs, bit by bit as transmitted.
//!
//! Source: TS 36.322 §6.2. [`Pdu`] is any PDU of acknowledged mode: [`AmdPdu`] carries data, whole or as a segment, and
//! [`StatusPdu`] reports received PDUs. [`UmdPdu`] carries data in unacknowledged mode. A PDU ends with its last octet
//! of data: there is no padding. These bytes are for captures and tests.
//!
//! Left out: length indicators of 15 bits and sequence numbers of 16 bits (Release 12 and later), transparent mode, the
//! data of a PDU being SDUs of PDCP: the simulator has no PDCP header.

mod header;

use super::EncodeError;
use super::rlc::{BitReader, BitWriter, DecodeError};
use header::Payload;

/// Bits of the sequence number of an AMD PDU.
const SN_BITS: usize = 10;
/// D/C: a control PDU, or data.
const CONTROL: u32 = 0;
const DATA: u32 = 1;
/// CPT: a STATUS PDU.
const STATUS: u32 = 0;
const CPT_BITS: usize = 3;
const OFFSET_BITS: usize = 15;
/// SOend: up to the last octet of the AMD PDU (§6.2.2.20).
const TO_THE_END: u32 = (1 << OFFSET_BITS) - 1;

/// Octets of consecutive SDUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// FI: the first octet is the first one of an SDU.
    pub begins: bool,
    /// FI: the last octet is the last one of an SDU.
    pub ends: bool,
    /// LI: the octets of each SDU in it but the last.
    pub lengths: Vec<u16>,
    /// The octets.
    pub octets: Vec<u8>,
}

/// An AMD PDU, or a segment of one (§6.2.1.4, §6.2.1.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmdPdu {
    /// SN, 10 bits.
    pub sn: u16,
    /// P: the sender requests a STATUS PDU.
    pub poll: bool,
    /// SO and LSF of a segment: octets of the PDU's data before it, and whether its last octet is that of the PDU.
    pub part: Option<(u16, bool)>,
    /// Data of the PDU.
    pub data: Data,
}

/// A UMD PDU (§6.2.1.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UmdPdu {
    /// SN, 5 or 10 bits.
    pub sn: u16,
    /// Data of the PDU.
    pub data: Data,
}

/// A STATUS PDU (§6.2.1.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusPdu {
    /// ACK_SN, 10 bits.
    pub ack_sn: u16,
    /// PDUs and parts of PDUs reported missing.
    pub nacks: Vec<Nack>,
}

/// A PDU, or a part of one, that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// NACK_SN, 10 bits.
    pub sn: u16,
    /// SOstart, and SOend unless that is the end of the PDU.
    pub part: Option<(u16, Option<u16>)>,
}

/// A PDU of acknowledged mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pdu {
    /// Data.
    Amd(AmdPdu),
    /// STATUS.
    Status(StatusPdu),
}

impl Pdu {
    /// The octets of the PDU.
    ///
    /// # Errors
    ///
    /// If a field has a value that the format cannot carry.
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        match self {
            Self::Amd(pdu) => pdu.encode(),
            Self::Status(pdu) => pdu.encode(),
        }
    }

    /// Reads a PDU.
    ///
    /// # Errors
    ///
    /// If it is no PDU of this format.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = BitReader::new(bytes);
        if reader.take(1)? == DATA {
            return AmdPdu::decode(&mut reader).map(Self::Amd);
        }
        match reader.take(CPT_BITS)? {
            STATUS => StatusPdu::decode(&mut reader).map(Self::Status),
            reserved => Err(DecodeError::ReservedPduType(reserved as u8)),
        }
    }
}

impl AmdPdu {
    fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let payload = Payload::of(&self.data)?;
        let fixed = if self.part.is_some() { 4 } else { 2 };
        payload.write(fixed, |writer, framing, extended| {
            writer.put(DATA, 1)?;
            writer.put(self.part.is_some().into(), 1)?;
            writer.put(self.poll.into(), 1)?;
            writer.put(framing, 2)?;
            writer.put(extended, 1)?;
            writer.put(header::sn(self.sn, SN_BITS)?, SN_BITS)?;
            let Some((offset, last)) = self.part else { return Ok(()) };
            writer.put(last.into(), 1)?;
            writer.put(header::bits("SO", offset, OFFSET_BITS)?, OFFSET_BITS)
        })
    }

    fn decode(reader: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let is_part = reader.take(1)? == 1;
        let poll = reader.take(1)? == 1;
        let (framing, extended) = (reader.take(2)?, reader.take(1)? == 1);
        let sn = reader.take(SN_BITS)? as u16;
        let part = if is_part {
            let last = reader.take(1)? == 1;
            Some((reader.take(OFFSET_BITS)? as u16, last))
        } else {
            None
        };
        Ok(Self { sn, poll, part, data: Data::decode(framing, extended, reader)? })
    }
}

impl UmdPdu {
    /// The octets of the PDU, with a sequence number of 5 or of 10 bits.
    ///
    /// # Errors
    ///
    /// If a field has a value that the format cannot carry.
    pub fn encode(&self, sn_bits: usize) -> Result<Vec<u8>, EncodeError> {
        let payload = Payload::of(&self.data)?;
        let reserved = if sn_bits == 5 { 0 } else { 3 };
        payload.write((reserved + 3 + sn_bits) / 8, |writer, framing, extended| {
            writer.put(0, reserved)?;
            writer.put(framing, 2)?;
            writer.put(extended, 1)?;
            writer.put(header::sn(self.sn, sn_bits)?, sn_bits)
        })
    }

    /// Reads a PDU with a sequence number of `sn_bits` bits.
    ///
    /// # Errors
    ///
    /// If it is no PDU of this format.
    pub fn decode(bytes: &[u8], sn_bits: usize) -> Result<Self, DecodeError> {
        let mut reader = BitReader::new(bytes);
        if sn_bits != 5 && reader.take(3)? != 0 {
            return Err(DecodeError::ReservedBits);
        }
        let (framing, extended) = (reader.take(2)?, reader.take(1)? == 1);
        let sn = reader.take(sn_bits)? as u16;
        Ok(Self { sn, data: Data::decode(framing, extended, &mut reader)? })
    }
}

impl StatusPdu {
    fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let parts = self.nacks.iter().filter(|nack| nack.part.is_some()).count();
        let bits = 15 + 12 * self.nacks.len() + 2 * OFFSET_BITS * parts;
        let mut octets = vec![0; bits.div_ceil(8)];
        let mut writer = BitWriter::new(&mut octets);
        writer.put(CONTROL, 1)?;
        writer.put(STATUS, CPT_BITS)?;
        writer.put(header::sn(self.ack_sn, SN_BITS)?, SN_BITS)?;
        writer.put((!self.nacks.is_empty()).into(), 1)?;
        for (place, nack) in self.nacks.iter().enumerate() {
            writer.put(header::sn(nack.sn, SN_BITS)?, SN_BITS)?;
            writer.put((place + 1 < self.nacks.len()).into(), 1)?;
            writer.put(nack.part.is_some().into(), 1)?;
            let Some((start, end)) = nack.part else { continue };
            writer.put(header::bits("SOstart", start, OFFSET_BITS)?, OFFSET_BITS)?;
            let end = end.map_or(Ok(TO_THE_END), |end| header::bits("SOend", end, OFFSET_BITS))?;
            writer.put(end, OFFSET_BITS)?;
        }
        Ok(octets)
    }

    fn decode(reader: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let ack_sn = reader.take(SN_BITS)? as u16;
        let mut more = reader.take(1)? == 1;
        let mut nacks = Vec::new();
        while more {
            let sn = reader.take(SN_BITS)? as u16;
            more = reader.take(1)? == 1;
            let part = if reader.take(1)? == 1 {
                let start = reader.take(OFFSET_BITS)? as u16;
                let end = reader.take(OFFSET_BITS)?;
                Some((start, (end != TO_THE_END).then_some(end as u16)))
            } else {
                None
            };
            nacks.push(Nack { sn, part });
        }
        Ok(Self { ack_sn, nacks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn data(begins: bool, ends: bool, lengths: &[u16], octets: &[u8]) -> Data {
        Data { begins, ends, lengths: lengths.to_vec(), octets: octets.to_vec() }
    }

    #[track_caller]
    fn same(pdu: &Pdu, bytes: &[u8]) {
        assert_eq!(pdu.encode().as_deref(), Ok(bytes));
        assert_eq!(Pdu::decode(bytes).as_ref(), Ok(pdu));
    }

    /// §6.2.1.4: D/C 1, RF 0, P 1, FI 01, E 0, SN 10 0000 0011.
    #[test]
    fn one_sdu_follows_a_header_of_two_octets() {
        let data = data(true, false, &[], &[7, 8]);
        same(&Pdu::Amd(AmdPdu { sn: 0x203, poll: true, part: None, data }), &[0b1010_1010, 3, 7, 8]);
    }

    /// §6.2.1.4: an odd number of length indicators is followed by four bits of padding.
    #[test]
    fn length_indicators_have_eleven_bits() {
        let one = data(false, true, &[1], &[7, 8]);
        // FI 10, E 1; E 0, LI 1, padding.
        same(
            &Pdu::Amd(AmdPdu { sn: 1, poll: false, part: None, data: one }),
            &[0b1001_0100, 1, 0b0000_0000, 0b0001_0000, 7, 8],
        );
        let two = data(true, true, &[1, 2], &[7, 8, 8, 9]);
        // E 1, LI 1; E 0, LI 2.
        same(
            &Pdu::Amd(AmdPdu { sn: 1, poll: false, part: None, data: two }),
            &[0b1000_0100, 1, 0b1000_0000, 0b0001_0000, 0b0000_0010, 7, 8, 8, 9],
        );
    }

    /// §6.2.1.5: RF 1; LSF 1, SO 000 0001 0000 0010.
    #[test]
    fn a_segment_has_its_offset() {
        let data = data(false, true, &[], &[7]);
        same(
            &Pdu::Amd(AmdPdu { sn: 0, poll: false, part: Some((0x102, true)), data }),
            &[0b1101_0000, 0, 0b1000_0001, 2, 7],
        );
    }

    /// §6.2.1.6: D/C 0, CPT 000, ACK_SN 00 0000 0101, E1; NACK_SN, E1, E2; SOstart, SOend.
    #[test]
    fn a_status_pdu_names_pdus_and_parts() {
        same(&Pdu::Status(StatusPdu { ack_sn: 5, nacks: vec![] }), &[0, 0b0001_0100]);
        let whole = Nack { sn: 2, part: None };
        same(
            &Pdu::Status(StatusPdu { ack_sn: 5, nacks: vec![whole] }),
            &[0, 0b0001_0110, 0b0000_0001, 0b0000_0000],
        );
        let part = Nack { sn: 3, part: Some((1, None)) };
        // ... NACK_SN 2, E1 1, E2 0 | NACK_SN 3, E1 0, E2 1 | SOstart 1 | SOend all ones.
        same(
            &Pdu::Status(StatusPdu { ack_sn: 5, nacks: vec![whole, part] }),
            &[0, 0b0001_0110, 0b0000_0001, 0b0100_0000, 0b0001_1010, 0, 0b0000_0111, 0xff, 0b1111_1000],
        );
    }

    #[test]
    fn umd_pdus_have_five_or_ten_bits_of_sequence_number() {
        let pdu = UmdPdu { sn: 21, data: data(true, true, &[], &[9]) };
        assert_eq!(pdu.encode(5).unwrap(), [0b0001_0101, 9]);
        assert_eq!(pdu.encode(10).unwrap(), [0b0000_0000, 21, 9]);
        assert_eq!(UmdPdu::decode(&[0b0001_0101, 9], 5), Ok(pdu.clone()));
        assert_eq!(UmdPdu::decode(&[0, 21, 9], 10), Ok(pdu));
        assert_eq!(UmdPdu::decode(&[0b0010_0000, 21, 9], 10), Err(DecodeError::ReservedBits));
    }

    #[test]
    fn what_is_no_pdu_is_refused() {
        assert_eq!(Pdu::decode(&[]), Err(DecodeError::Truncated));
        assert_eq!(Pdu::decode(&[0b0001_0000, 0]), Err(DecodeError::ReservedPduType(1)));
        assert_eq!(Pdu::decode(&[0b1000_0000, 0]), Err(DecodeError::Truncated));
        // LI 2 with two octets leaves nothing for the last SDU; LI 0 is reserved.
        assert_eq!(Pdu::decode(&[0b1000_0100, 0, 0, 0x20, 1, 2]), Err(DecodeError::LengthIndicatorOrder(2)));
        assert_eq!(Pdu::decode(&[0b1000_0100, 0, 0, 0, 1, 2]), Err(DecodeError::ReservedLengthIndicator(0)));
    }

    #[test]
    fn what_the_format_cannot_carry_is_refused() {
        let error = |sn, lengths: &[u16], octets: &[u8]| {
            let data = data(true, true, lengths, octets);
            Pdu::Amd(AmdPdu { sn, poll: false, part: None, data }).encode().unwrap_err().to_string()
        };
        assert_eq!(error(1024, &[], &[1]), "SN is 1024, expected 10 bits");
        assert_eq!(error(0, &[2048], &[0; 3000]), "LI is 2048, expected 1 to 2047");
        assert_eq!(
            error(0, &[1], &[0]),
            "octets of data is 1, expected more than the octets before the last SDU"
        );
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            sn in 0_u16..1024,
            poll: bool,
            part in prop::option::of((0_u16..0x7fff, any::<bool>())),
            (begins, ends) in any::<(bool, bool)>(),
            lengths in prop::collection::vec(1_u16..2048, 0..6),
            last in 1_usize..3000,
            nacks in prop::collection::vec(
                (0_u16..1024, prop::option::of((0_u16..0x7fff, prop::option::of(0_u16..0x7fff)))),
                0..30,
            ),
        ) {
            let octets = vec![0xa5; lengths.iter().map(|&li| usize::from(li)).sum::<usize>() + last];
            let data = Data { begins, ends, lengths, octets };
            let umd = UmdPdu { sn: sn % 32, data: data.clone() };
            for bits in [5, 10] {
                prop_assert_eq!(UmdPdu::decode(&umd.encode(bits).unwrap(), bits), Ok(umd.clone()));
            }
            let nacks = nacks.into_iter().map(|(nack_sn, of)| Nack { sn: nack_sn, part: of }).collect();
            for pdu in [Pdu::Amd(AmdPdu { sn, poll, part, data }), Pdu::Status(StatusPdu { ack_sn: sn, nacks })] {
                prop_assert_eq!(Pdu::decode(&pdu.encode().unwrap()), Ok(pdu));
            }
        }

        #[test]
        fn no_octets_make_a_reader_panic(octets in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = (Pdu::decode(&octets), UmdPdu::decode(&octets, 5), UmdPdu::decode(&octets, 10));
        }
    }
}
