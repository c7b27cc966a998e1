//! MAC PDUs of LTE, for captures and tests: subheaders, then PDUs of RLC (TS 36.321 §6.1.2).
//!
//! Left out: control elements (buffer status reports, power headroom) and padding: a MAC PDU ends with its last RLC PDU.

use super::rlc::DecodeError;

const E: u8 = 0x20;
const LCID: u8 = 0x1f;
/// F: L has 15 bits.
const F: u8 = 0x80;

/// Writes RLC PDUs of a logical channel, each of fewer than 32,768 octets, into one MAC PDU. A subheader is R, R, E, LCID, and
/// F and L of 7 or 15 bits; the last one has no F and L.
pub fn encode(lcid: u8, pdus: &[Vec<u8>]) -> Vec<u8> {
    let mut block = Vec::with_capacity(pdus.iter().map(|pdu| pdu.len() + 3).sum());
    let Some((_, others)) = pdus.split_last() else { return block };
    for pdu in others {
        block.push(E | lcid & LCID);
        let [high, low] = (pdu.len() as u16).to_be_bytes();
        match pdu.len() {
            0..128 => block.push(low),
            _ => block.extend_from_slice(&[F | high, low]),
        }
    }
    block.push(lcid & LCID);
    pdus.iter().for_each(|pdu| block.extend_from_slice(pdu));
    block
}

/// Reads the RLC PDUs of a MAC PDU without padding, each with its LCID.
///
/// # Errors
///
/// If it ends within the subheaders or an RLC PDU.
pub fn decode(mut block: &[u8]) -> Result<Vec<(u8, &[u8])>, DecodeError> {
    let mut next = || {
        let (&first, rest) = block.split_first()?;
        block = rest;
        Some(first)
    };
    let mut lengths = Vec::new();
    let last = loop {
        let first = next().ok_or(DecodeError::Truncated)?;
        if first & E == 0 {
            break first & LCID;
        }
        let length = next().ok_or(DecodeError::Truncated)?;
        let low = if length & F == 0 { None } else { Some(next().ok_or(DecodeError::Truncated)?) };
        let octets = low.map_or(u16::from(length), |low| u16::from_be_bytes([length & !F, low]));
        lengths.push((first & LCID, usize::from(octets)));
    };
    let mut pdus = Vec::new();
    for (lcid, length) in lengths {
        let (pdu, behind) = block.split_at_checked(length).ok_or(DecodeError::Truncated)?;
        pdus.push((lcid, pdu));
        block = behind;
    }
    pdus.push((last, block));
    Ok(pdus)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: L has 7 bits up to 127 octets, and the last PDU has none.
    #[test]
    fn subheaders_come_first_and_the_last_has_no_length() {
        let pdus = [vec![1; 127], vec![2; 300], vec![3; 5]];
        let block = encode(3, &pdus);
        assert_eq!(block[..6], [0x23, 127, 0x23, 0x81, 44, 0x03]);
        assert_eq!(block.len(), 6 + 127 + 300 + 5);
        assert_eq!(decode(&block), Ok(vec![(3, &pdus[0][..]), (3, &pdus[1][..]), (3, &pdus[2][..])]));
        assert_eq!(encode(3, &[vec![9, 8]]), [0x03, 9, 8]);
        assert!(encode(3, &[]).is_empty());
    }

    #[test]
    fn what_ends_too_early_is_refused() {
        for block in [&[][..], &[0x23], &[0x23, 0x81], &[0x23, 2], &[0x23, 2, 0x03, 1]] {
            assert_eq!(decode(block), Err(DecodeError::Truncated), "{block:?}");
        }
    }
}
