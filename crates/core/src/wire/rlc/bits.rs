//! Fields of any width up to 32 bits, most significant bit first, in a slice of octets.
//!
//! Super-fields of a STATUS PDU are not octet aligned (TS 25.322 §9.2.2.11), so that everything of a PDU
//! is written and read bit by bit.

use super::{DecodeError, EncodeError};

/// Writes into a slice that its owner has cleared.
pub(in crate::wire) struct BitWriter<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl<'a> BitWriter<'a> {
    pub(in crate::wire) fn new(out: &'a mut [u8]) -> Self {
        Self { out, at: 0 }
    }

    /// Appends the lowest `bits` bits of `value`.
    pub(in crate::wire) fn put(&mut self, value: u32, bits: usize) -> Result<(), EncodeError> {
        let room = self.out.len() * 8;
        if self.at + bits > room {
            return Err(EncodeError::NoRoom { bits: self.at + bits, room });
        }
        for shift in (0..bits).rev() {
            let bit = (value >> shift & 1) as u8;
            self.out[self.at / 8] |= bit << (7 - self.at % 8);
            self.at += 1;
        }
        Ok(())
    }

    /// Appends octets.
    pub(in crate::wire) fn put_octets(&mut self, octets: &[u8]) -> Result<(), EncodeError> {
        octets.iter().try_for_each(|&octet| self.put(octet.into(), 8))
    }

    /// Octets after the last one started.
    pub(in crate::wire) fn octets_left(&self) -> usize {
        self.out.len() - self.at.div_ceil(8)
    }
}

/// Reads a slice from its first bit on.
pub(in crate::wire) struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(in crate::wire) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next field of at most 32 bits.
    pub(in crate::wire) fn take(&mut self, bits: usize) -> Result<u32, DecodeError> {
        if self.at + bits > self.bytes.len() * 8 {
            return Err(DecodeError::Truncated);
        }
        let value = (self.at..self.at + bits)
            .fold(0, |value, at| value << 1 | u32::from(self.bytes[at / 8] >> (7 - at % 8) & 1));
        self.at += bits;
        Ok(value)
    }

    /// The next field of at most 8 bits.
    pub(in crate::wire) fn take_octet(&mut self, bits: usize) -> Result<u8, DecodeError> {
        self.take(bits).map(|value| value as u8)
    }

    /// Whole octets that have not been begun.
    pub(in crate::wire) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at.div_ceil(8)..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_cross_octets_are_written_most_significant_bit_first() {
        let mut out = [0; 3];
        let mut writer = BitWriter::new(&mut out);
        writer.put(0b1, 1).unwrap();
        writer.put(0xabc, 12).unwrap();
        writer.put_octets(&[0x81]).unwrap();
        assert_eq!(writer.octets_left(), 0);
        // 1 1010 1011 1100 1000 0001 000
        assert_eq!(out, [0b1101_0101, 0b1110_0100, 0b0000_1000]);

        let mut reader = BitReader::new(&out);
        assert_eq!(reader.take(1), Ok(1));
        assert_eq!(reader.take(12), Ok(0xabc));
        assert_eq!(reader.rest(), &out[2..]);
        assert_eq!(reader.take_octet(8), Ok(0x81));
    }

    #[test]
    fn no_field_goes_beyond_the_end() {
        let mut out = [0; 1];
        let mut writer = BitWriter::new(&mut out);
        writer.put(0, 5).unwrap();
        assert_eq!(writer.put(0, 4), Err(EncodeError::NoRoom { bits: 9, room: 8 }));
        let mut reader = BitReader::new(&out);
        reader.take(5).unwrap();
        assert_eq!(reader.take(4), Err(DecodeError::Truncated));
        assert_eq!(reader.take(3), Ok(0), "a refused field takes nothing");
    }
}
