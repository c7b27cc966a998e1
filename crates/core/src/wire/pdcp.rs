//! PDUs of PDCP, bit by bit, for captures and tests.
//!
//! Sources: TS 38.323 §6.2, TS 36.323 §6.2. [`Pdu`] is a data PDU of a data radio bearer without integrity protection, or a
//! status report of NR. NR has sequence numbers of 12 and 18 bits, LTE also of 7 and 15; a data PDU of 12 or 18 bits is the
//! same in both.

use super::rlc::DecodeError;

/// A PDU of PDCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pdu {
    /// An SDU (TS 38.323 §6.2.2.2, §6.2.2.3; TS 36.323 §6.2.3, §6.2.4, §6.2.9, §6.2.11).
    Data {
        /// SN: 7, 12, 15 or 18 bits.
        sn: u32,
        /// The SDU.
        sdu: Vec<u8>,
    },
    /// A status report (TS 38.323 §6.2.3.1).
    Status {
        /// FMC: COUNT of the first missing SDU.
        fmc: u32,
        /// One bit for each SDU after that one, padded to whole octets.
        bitmap: Vec<u8>,
    },
}

const DATA: u8 = 0x80;
/// PDU type: a status report.
const STATUS: u8 = 0;

/// Octets of the header of a PDU with data, by bits of its sequence number: 7 (LTE), 12, 15 (LTE) or 18 (TS 38.323
/// §6.2.2.2, §6.2.2.3; TS 36.323 §6.2.3, §6.2.4, §6.2.9, §6.2.11).
pub const fn header_octets(sn_bits: u8) -> u32 {
    match sn_bits {
        7 => 1,
        12 | 15 => 2,
        _ => 3,
    }
}

/// The header of a data PDU.
pub fn data_header(sn: u32, sn_bits: u8) -> Vec<u8> {
    let octets = (sn % (1 << sn_bits)).to_be_bytes();
    let mut header = octets[octets.len() - header_octets(sn_bits) as usize..].to_vec();
    header[0] |= DATA;
    header
}

/// The octets of a status report.
pub fn status(fmc: u32, bitmap: &[bool]) -> Vec<u8> {
    let mut octets = vec![STATUS << 4];
    octets.extend_from_slice(&fmc.to_be_bytes());
    octets.extend(bitmap.chunks(8).map(|bits| {
        bits.iter().enumerate().fold(0, |octet, (place, bit)| octet | u8::from(*bit) << (7 - place))
    }));
    octets
}

impl Pdu {
    /// Reads a PDU with a sequence number of `sn_bits` bits.
    ///
    /// # Errors
    ///
    /// If it is no PDU of this format.
    pub fn decode(bytes: &[u8], sn_bits: u8) -> Result<Self, DecodeError> {
        let (&first, rest) = bytes.split_first().ok_or(DecodeError::Truncated)?;
        if first & DATA == 0 {
            let kind = first >> 4;
            if kind != STATUS {
                return Err(DecodeError::ReservedPduType(kind));
            }
            let (fmc, bitmap) = rest.split_first_chunk().ok_or(DecodeError::Truncated)?;
            return Ok(Self::Status { fmc: u32::from_be_bytes(*fmc), bitmap: bitmap.to_vec() });
        }
        let octets = header_octets(sn_bits) as usize - 1;
        let high_bits = usize::from(sn_bits) - 8 * octets;
        if (first & !DATA) >> high_bits != 0 {
            return Err(DecodeError::ReservedBits);
        }
        let low = rest.get(..octets).ok_or(DecodeError::Truncated)?;
        let sn = low.iter().fold(u32::from(first & !DATA), |sn, octet| sn << 8 | u32::from(*octet));
        Ok(Self::Data { sn, sdu: rest[octets..].to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// §6.2.2.2: D/C, R R R, SN of 12 bits. §6.2.2.3: D/C, five R, SN of 18 bits.
    #[test]
    fn a_data_pdu_has_its_sequence_number() {
        assert_eq!(data_header(0x1234, 12), [0b1000_0010, 0x34]);
        assert_eq!(data_header(0x2_1234, 18), [0b1000_0010, 0x12, 0x34]);
        // The lower bits of COUNT.
        assert_eq!(data_header(0x4_0001, 18), [0b1000_0000, 0, 1]);
        // TS 36.323 §6.2.3: 7 bits fill the octet; §6.2.9: 15 bits fill two.
        assert_eq!(data_header(0x1234, 7), [0b1011_0100]);
        assert_eq!(data_header(0x1_1234, 15), [0b1001_0010, 0x34]);
        let data = |sn, sdu: &[u8]| Ok(Pdu::Data { sn, sdu: sdu.to_vec() });
        assert_eq!(Pdu::decode(&[0b1000_0010, 0x34, 9], 12), data(0x234, &[9]));
        assert_eq!(Pdu::decode(&[0b1000_0010, 0x12, 0x34], 18), data(0x2_1234, &[]));
        assert_eq!(Pdu::decode(&[0b1011_0100, 9], 7), data(0x34, &[9]));
        assert_eq!(Pdu::decode(&[0b1111_0010, 0x34, 9], 15), data(0x7234, &[9]));
    }

    /// §6.2.3.1: D/C 0, PDU type 000, four R; FMC; the bitmap begins with FMC + 1.
    #[test]
    fn a_status_report_has_a_bit_for_each_sdu_behind_the_first_missing() {
        assert_eq!(status(0x0102_0304, &[]), [0, 1, 2, 3, 4]);
        let bitmap = [true, false, false, true, false, false, false, false, true];
        let written = status(5, &bitmap);
        assert_eq!(written, [0, 0, 0, 0, 5, 0b1001_0000, 0b1000_0000]);
        assert_eq!(Pdu::decode(&written, 18), Ok(Pdu::Status { fmc: 5, bitmap: vec![0x90, 0x80] }));
    }

    #[test]
    fn what_is_no_pdu_is_refused() {
        assert_eq!(Pdu::decode(&[], 12), Err(DecodeError::Truncated));
        assert_eq!(Pdu::decode(&[0x80], 12), Err(DecodeError::Truncated));
        assert_eq!(Pdu::decode(&[0x90, 0], 12), Err(DecodeError::ReservedBits));
        assert_eq!(Pdu::decode(&[0x84, 0, 0], 18), Err(DecodeError::ReservedBits));
        assert_eq!(Pdu::decode(&[0x10, 0, 0, 0, 0], 18), Err(DecodeError::ReservedPduType(1)));
        assert_eq!(Pdu::decode(&[0, 0, 0, 0], 18), Err(DecodeError::Truncated));
    }

    proptest! {
        #[test]
        fn no_octets_make_a_reader_panic(octets in prop::collection::vec(any::<u8>(), 0..40)) {
            for sn_bits in [7, 12, 15, 18] {
                let _ = Pdu::decode(&octets, sn_bits);
            }
        }
    }
}
