//! RLC PDUs, bit by bit as transmitted.
//!
//! Source: TS 25.322 §9.2 (Release 6). [`Pdu`] is any PDU of acknowledged mode: [`AmdPdu`] carries data, [`Status`]
//! reports received PDUs, [`Reset`] resets the entity. [`UmdPdu`] carries data in unacknowledged mode; in transparent
//! mode PDUs are their data. [`udp`] puts them into UDP datagrams that Wireshark reads. The simulator passes PDUs on
//! without encoding them; these bytes are for captures and tests.
//!
//! Left out: ciphering, flexible PDU sizes (and with them the super-field POLL).

mod amd;
mod bits;
mod error;
mod status;
mod sufi;
pub mod udp;
mod udp_lte;
mod udp_nr;
mod umd;

pub(in crate::wire) use bits::{BitReader, BitWriter};

pub use amd::{AmdPdu, PreviousEnd, Tail};
pub use error::DecodeError;

use super::EncodeError;
pub use status::{Status, StatusEnd};
pub use sufi::{ListPair, RlistStep, Sufi};
pub use umd::{Begin, UmdPdu, UmdSn};

/// Sequence number of an AMD PDU: 12 bits, modulo 4096 (§9.2.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sn(u16);

impl Sn {
    /// Number of sequence numbers.
    pub const MODULUS: u64 = 1 << SN_BITS;

    /// The sequence number of a count that never wraps.
    pub const fn wrap(count: u64) -> Self {
        Self((count % Self::MODULUS) as u16)
    }

    /// Its value, below 4096.
    pub const fn value(self) -> u16 {
        self.0
    }

    /// The sequence number `steps` after this one.
    #[must_use]
    pub fn plus(self, steps: u16) -> Self {
        Self::wrap(u64::from(self.0) + u64::from(steps))
    }

    /// Distance from `base`; sequence numbers are compared only by this (§9.4).
    pub fn after(self, base: Sn) -> u16 {
        Self::wrap(Self::MODULUS + u64::from(self.0) - u64::from(base.0)).0
    }
}

/// Resets the entity after a protocol error or a PDU that could not be delivered (§9.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    /// Reset sequence number: changes with every new reset, not when one is repeated.
    pub rsn: bool,
    /// Hyper frame number, 20 bits.
    pub hfni: u32,
}

/// A PDU of acknowledged mode (§9.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pdu {
    /// Data.
    Amd(AmdPdu),
    /// STATUS.
    Status(Status),
    /// RESET.
    Reset(Reset),
    /// RESET ACK.
    ResetAck(Reset),
}

impl Pdu {
    /// Writes it into `out`, which has the size of the PDU; unused octets become zero padding.
    ///
    /// # Errors
    ///
    /// If it does not fit, or a field has a value that the format cannot carry.
    pub fn encode(&self, out: &mut [u8]) -> Result<(), EncodeError> {
        out.fill(0);
        let mut writer = BitWriter::new(out);
        match self {
            Self::Amd(pdu) => pdu.encode(&mut writer),
            Self::Status(status) => status.encode(&mut writer),
            Self::Reset(reset) => reset.encode(TYPE_RESET, &mut writer),
            Self::ResetAck(reset) => reset.encode(TYPE_RESET_ACK, &mut writer),
        }
    }

    /// Reads a PDU of the size of `bytes`.
    ///
    /// # Errors
    ///
    /// If it is no PDU of this format.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = BitReader::new(bytes);
        if reader.take(DC_BITS)? == DATA {
            return AmdPdu::decode(bytes.len(), &mut reader).map(Self::Amd);
        }
        match reader.take(TYPE_BITS)? {
            TYPE_STATUS => Status::decode_sufis(&mut reader).map(Self::Status),
            TYPE_RESET => Reset::decode(&mut reader).map(Self::Reset),
            TYPE_RESET_ACK => Reset::decode(&mut reader).map(Self::ResetAck),
            reserved => Err(DecodeError::ReservedPduType(reserved as u8)),
        }
    }
}

impl Reset {
    fn encode(self, kind: u32, writer: &mut BitWriter<'_>) -> Result<(), EncodeError> {
        if self.hfni >> HFNI_BITS != 0 {
            return Err(EncodeError::Field { field: "HFNI", value: self.hfni as usize, allowed: "20 bits" });
        }
        writer.put(CONTROL, DC_BITS)?;
        writer.put(kind, TYPE_BITS)?;
        writer.put(self.rsn.into(), 1)?;
        writer.put(0, R1_BITS)?;
        writer.put(self.hfni, HFNI_BITS)
    }

    fn decode(reader: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let rsn = reader.take(1)? == 1;
        if reader.take(R1_BITS)? != 0 {
            return Err(DecodeError::ReservedBits);
        }
        Ok(Self { rsn, hfni: reader.take(HFNI_BITS)? })
    }
}

const SN_BITS: usize = 12;
const DC_BITS: usize = 1;
const TYPE_BITS: usize = 3;
const R1_BITS: usize = 3;
const HFNI_BITS: usize = 20;

/// Values of the D/C bit (§9.2.2.1).
const CONTROL: u32 = 0;
const DATA: u32 = 1;

/// Types of control PDUs (§9.2.2.2).
const TYPE_STATUS: u32 = 0;
const TYPE_RESET: u32 = 1;
const TYPE_RESET_ACK: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_wrap_and_are_compared_from_a_base() {
        assert_eq!(Sn::wrap(4095).plus(2), Sn::wrap(1));
        assert_eq!(Sn::wrap(1).after(Sn::wrap(4095)), 2);
        assert_eq!(Sn::wrap(4095).after(Sn::wrap(1)), 4094);
        assert_eq!(Sn::wrap(3 * 4096 + 7).value(), 7);
    }

    #[test]
    fn a_reset_has_its_number_and_20_bits_of_the_hyper_frame_number() {
        // TS 25.322 §9.2.1: 0 001 1 000, HFNI, padding.
        let bytes = [0b0001_1000, 0xab, 0xcd, 0xe0, 0];
        let reset = Reset { rsn: true, hfni: 0xabcde };
        let mut out = [0xff; 5];
        Pdu::Reset(reset).encode(&mut out).unwrap();
        assert_eq!(out, bytes);
        assert_eq!(Pdu::decode(&bytes), Ok(Pdu::Reset(reset)));
        let answer = [0b0010_1000, 0xab, 0xcd, 0xe0, 0];
        assert_eq!(Pdu::decode(&answer), Ok(Pdu::ResetAck(reset)));
    }

    #[test]
    fn what_is_wrong_with_a_control_pdu_is_named() {
        assert_eq!(Pdu::decode(&[]), Err(DecodeError::Truncated));
        assert_eq!(Pdu::decode(&[0b0111_0000]), Err(DecodeError::ReservedPduType(7)));
        assert_eq!(Pdu::decode(&[0b0001_0001, 0, 0, 0]), Err(DecodeError::ReservedBits));
        assert_eq!(Pdu::decode(&[0b0001_0000, 0, 0]), Err(DecodeError::Truncated));
        let wide = Pdu::Reset(Reset { rsn: false, hfni: 1 << 20 });
        let error = wide.encode(&mut [0; 42]).unwrap_err();
        assert_eq!(error.to_string(), "HFNI is 1048576, expected 20 bits");
    }
}
