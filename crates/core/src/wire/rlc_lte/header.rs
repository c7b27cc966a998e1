//! Headers of PDUs with data: a fixed part, and a length indicator for each SDU but the last (TS 36.322 §6.2.1.3,
//! §6.2.2.5, §6.2.2.6).

use super::Data;
use crate::wire::EncodeError;
use crate::wire::rlc::{BitReader, BitWriter, DecodeError};

const LI_BITS: usize = 11;
const LARGEST_LI: u16 = (1 << LI_BITS) - 1;

/// A value of `bits` bits.
pub(super) fn bits(field: &'static str, value: u16, bits: usize) -> Result<u32, EncodeError> {
    let allowed = if bits == 15 {
        "15 bits"
    } else if bits == 10 {
        "10 bits"
    } else {
        "5 bits"
    };
    if value >> bits == 0 {
        Ok(value.into())
    } else {
        Err(EncodeError::Field { field, value: value.into(), allowed })
    }
}

/// A sequence number.
pub(super) fn sn(value: u16, width: usize) -> Result<u32, EncodeError> {
    bits("SN", value, width)
}

/// Data that the format can carry.
pub(super) struct Payload<'a>(&'a Data);

impl<'a> Payload<'a> {
    pub fn of(data: &'a Data) -> Result<Self, EncodeError> {
        if let Some(&li) = data.lengths.iter().find(|li| !(1..=LARGEST_LI).contains(*li)) {
            return Err(EncodeError::Field { field: "LI", value: li.into(), allowed: "1 to 2047" });
        }
        let before: usize = data.lengths.iter().map(|&li| usize::from(li)).sum();
        if data.octets.len() <= before {
            let allowed = "more than the octets before the last SDU";
            let value = data.octets.len();
            return Err(EncodeError::Field { field: "octets of data", value, allowed });
        }
        Ok(Self(data))
    }

    /// Writes a PDU with the given header octets and length indicators; `fixed` writes the header octets, with FI and
    /// E.
    pub fn write(
        &self,
        fixed_octets: usize,
        fixed: impl FnOnce(&mut BitWriter<'_>, u32, u32) -> Result<(), EncodeError>,
    ) -> Result<Vec<u8>, EncodeError> {
        let Data { begins, ends, lengths, octets: data } = self.0;
        let header = fixed_octets + (lengths.len() * (1 + LI_BITS)).div_ceil(8);
        let mut octets = Vec::with_capacity(header + data.len());
        octets.resize(header, 0);
        let mut writer = BitWriter::new(&mut octets);
        let framing = u32::from(!begins) << 1 | u32::from(!ends);
        fixed(&mut writer, framing, (!lengths.is_empty()).into())?;
        for (place, &li) in lengths.iter().enumerate() {
            writer.put((place + 1 < lengths.len()).into(), 1)?;
            writer.put(li.into(), LI_BITS)?;
        }
        octets.extend_from_slice(data);
        Ok(octets)
    }
}

impl Data {
    /// Reads length indicators, if there are any, and the rest of the PDU.
    pub(super) fn decode(
        framing: u32,
        mut extended: bool,
        reader: &mut BitReader<'_>,
    ) -> Result<Self, DecodeError> {
        let mut lengths = Vec::new();
        while extended {
            extended = reader.take(1)? == 1;
            match reader.take(LI_BITS)? as u16 {
                0 => return Err(DecodeError::ReservedLengthIndicator(0)),
                li => lengths.push(li),
            }
        }
        let octets = reader.rest().to_vec();
        let before: usize = lengths.iter().map(|&li| usize::from(li)).sum();
        if octets.len() > before {
            return Ok(Self { begins: framing & 2 == 0, ends: framing & 1 == 0, lengths, octets });
        }
        Err(lengths.last().map_or(DecodeError::Truncated, |&li| DecodeError::LengthIndicatorOrder(li)))
    }
}
