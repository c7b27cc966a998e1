//! MAC PDUs of NR, for captures and tests: RLC PDUs after subheaders (TS 38.321 §6.1.2).
//!
//! Left out: control elements (buffer status reports, power headroom).

use super::rlc::DecodeError;

/// LCID of padding (table 6.2.1-1).
const PADDING: u8 = 63;
const F: u8 = 0x40;
const LCID: u8 = 0x3f;

/// Adds an RLC PDU of a logical channel with its subheader: R, F, LCID, and L of 8 or of 16 bits.
pub fn put(block: &mut Vec<u8>, lcid: u8, pdu: &[u8]) {
    match u8::try_from(pdu.len()) {
        Ok(length) => block.extend_from_slice(&[lcid & LCID, length]),
        Err(_) => {
            let [high, low] = (pdu.len() as u16).to_be_bytes();
            block.extend_from_slice(&[F | lcid & LCID, high, low]);
        }
    }
    block.extend_from_slice(pdu);
}

/// Pads a block to `octets` octets: a subheader of one octet, and zeros.
pub fn pad(block: &mut Vec<u8>, octets: usize) {
    if block.len() < octets {
        block.push(PADDING);
        block.resize(octets, 0);
    }
}

/// RLC PDUs with their LCIDs, and octets of padding.
pub type Block<'a> = (Vec<(u8, &'a [u8])>, usize);

/// Reads the RLC PDUs of a MAC PDU, each with its LCID, and the octets of padding.
///
/// # Errors
///
/// If it ends within a subheader or an RLC PDU.
pub fn decode(mut block: &[u8]) -> Result<Block<'_>, DecodeError> {
    let mut pdus = Vec::new();
    while let Some((&first, rest)) = block.split_first() {
        if first & LCID == PADDING {
            return Ok((pdus, block.len()));
        }
        let (length, rest) = if first & F == 0 {
            let (&length, rest) = rest.split_first().ok_or(DecodeError::Truncated)?;
            (usize::from(length), rest)
        } else {
            let (length, rest) = rest.split_first_chunk().ok_or(DecodeError::Truncated)?;
            (usize::from(u16::from_be_bytes(*length)), rest)
        };
        let (pdu, behind) = rest.split_at_checked(length).ok_or(DecodeError::Truncated)?;
        pdus.push((first & LCID, pdu));
        block = behind;
    }
    Ok((pdus, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: F is 0 up to 255 octets.
    #[test]
    fn each_pdu_follows_a_subheader_with_its_length() {
        let (short, long) = ([1; 255], [2; 256]);
        let mut block = Vec::new();
        put(&mut block, 4, &short);
        put(&mut block, 4, &long);
        assert_eq!((&block[..2], &block[257..260], block.len()), (&[4, 255][..], &[0x44, 1, 0][..], 516));
        pad(&mut block, 519);
        assert_eq!(block[516..], [63, 0, 0]);
        assert_eq!(decode(&block), Ok((vec![(4, &short[..]), (4, &long[..])], 3)));
    }

    #[test]
    fn a_block_that_is_full_has_no_padding() {
        let mut block = Vec::new();
        put(&mut block, 4, &[9]);
        pad(&mut block, 3);
        assert_eq!(decode(&block), Ok((vec![(4, &[9][..])], 0)));
        assert_eq!(decode(&[4, 2, 0]), Err(DecodeError::Truncated));
        assert_eq!(decode(&[0x44, 2]), Err(DecodeError::Truncated));
    }
}
