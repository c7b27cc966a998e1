//! Octets of the option of Multipath TCP: RFC 8684 (3.1), (3.2), (3.3), figures 4, 5, 6, 7 and 9.

use crate::packet::Flags;
use crate::packet::mptcp::{Mapping, Mptcp};

/// Kind of the option.
pub(super) const KIND: u8 = 30;
const NOP: u8 = 1;

const CAPABLE: u8 = 0;
const JOIN: u8 = 1;
const DSS: u8 = 2;
const VERSION: u8 = 1;
/// HMAC-SHA256, flag H of MP_CAPABLE.
const SHA256: u8 = 1;
/// Flags of DSS: a data ACK, of eight octets.
const ACK_8: u8 = 0b0000_0011;
/// A mapping, with a data sequence number of eight octets.
const MAPPING_8: u8 = 0b0000_1100;

/// Appends the option with its padding.
pub(super) fn write(option: &Mptcp, out: &mut Vec<u8>) {
    let before = out.len();
    // The length follows below.
    out.extend_from_slice(&[KIND, 0]);
    match option {
        Mptcp::Capable => out.extend_from_slice(&[CAPABLE << 4 | VERSION, SHA256]),
        Mptcp::CapableKeys { own, peer } => {
            out.extend_from_slice(&[CAPABLE << 4 | VERSION, SHA256]);
            out.extend_from_slice(&own.to_be_bytes());
            out.extend(peer.iter().flat_map(|key| key.to_be_bytes()));
        }
        Mptcp::JoinSyn { backup, address, token, nonce } => {
            out.extend_from_slice(&[JOIN << 4 | u8::from(*backup), *address]);
            out.extend_from_slice([token.to_be_bytes(), nonce.to_be_bytes()].as_flattened());
        }
        Mptcp::JoinSynAck { backup, address, hmac, nonce } => {
            out.extend_from_slice(&[JOIN << 4 | u8::from(*backup), *address]);
            out.extend_from_slice(&hmac.to_be_bytes());
            out.extend_from_slice(&nonce.to_be_bytes());
        }
        Mptcp::JoinAck(hmac) => {
            out.extend_from_slice(&[JOIN << 4, 0]);
            out.extend_from_slice(hmac);
        }
        Mptcp::Data { ack, mapping } => {
            let mapped = if mapping.is_some() { MAPPING_8 } else { 0 };
            out.extend_from_slice(&[DSS << 4, ACK_8 | mapped]);
            out.extend_from_slice(&ack.to_be_bytes());
            if let Some(Mapping { data, subflow, len }) = mapping {
                out.extend_from_slice(&data.to_be_bytes());
                out.extend_from_slice(&subflow.to_be_bytes());
                out.extend_from_slice(&len.to_be_bytes());
            }
        }
    }
    let len = out.len() - before;
    out[before + 1] = len as u8;
    out.extend(std::iter::repeat_n(NOP, option.octets() as usize - len));
}

/// Reads the option after kind and length, in a segment with these control bits; `None` of a form that [`Mptcp`] leaves out.
pub(super) fn read(value: &[u8], flags: Flags) -> Option<Mptcp> {
    let (&[kind, second], rest) = value.split_first_chunk()?;
    let (is_syn, backup) = (flags.has(Flags::SYN), kind & 1 == 1);
    match (kind >> 4, rest.len(), is_syn) {
        (CAPABLE, 0, true) => Some(Mptcp::Capable),
        (CAPABLE, 8, true) => Some(Mptcp::CapableKeys { own: octets_8(rest, 0)?, peer: None }),
        (CAPABLE, 16, false) => {
            Some(Mptcp::CapableKeys { own: octets_8(rest, 0)?, peer: Some(octets_8(rest, 8)?) })
        }
        (JOIN, 8, true) => {
            let (token, nonce) = (octets_4(rest, 0)?, octets_4(rest, 4)?);
            Some(Mptcp::JoinSyn { backup, address: second, token, nonce })
        }
        (JOIN, 12, true) => {
            let (hmac, nonce) = (octets_8(rest, 0)?, octets_4(rest, 8)?);
            Some(Mptcp::JoinSynAck { backup, address: second, hmac, nonce })
        }
        (JOIN, 20, false) => Some(Mptcp::JoinAck(rest.try_into().ok()?)),
        (DSS, 8, false) if second == ACK_8 => Some(Mptcp::Data { ack: octets_8(rest, 0)?, mapping: None }),
        (DSS, 22, false) if second == ACK_8 | MAPPING_8 => {
            let len = u16::from_be_bytes([rest[20], rest[21]]);
            let mapping = Mapping { data: octets_8(rest, 8)?, subflow: octets_4(rest, 16)?, len };
            Some(Mptcp::Data { ack: octets_8(rest, 0)?, mapping: Some(mapping) })
        }
        _ => None,
    }
}

fn octets_8(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn octets_4(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(option: &Mptcp) -> Vec<u8> {
        let mut out = Vec::new();
        write(option, &mut out);
        assert_eq!(out.len() as u32, option.octets(), "{option:?}");
        let flags = match option {
            Mptcp::JoinAck(_) | Mptcp::Data { .. } | Mptcp::CapableKeys { peer: Some(_), .. } => Flags::ACK,
            _ => Flags::SYN,
        };
        assert_eq!(read(&out[2..usize::from(out[1])], flags).as_ref(), Some(option));
        out
    }

    #[test]
    fn options_are_encoded_byte_for_byte() {
        assert_eq!(octets(&Mptcp::Capable), [30, 4, 0x01, 0x01]);
        let keys = Mptcp::CapableKeys { own: 1, peer: Some(2) };
        assert_eq!(octets(&keys), [30, 20, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
        let join = Mptcp::JoinSyn { backup: true, address: 2, token: 3, nonce: 4 };
        assert_eq!(octets(&join), [30, 12, 0x11, 2, 0, 0, 0, 3, 0, 0, 0, 4]);
        let answer = Mptcp::JoinSynAck { backup: false, address: 2, hmac: 5, nonce: 6 };
        assert_eq!(octets(&answer), [30, 16, 0x10, 2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 6]);
        assert_eq!(octets(&Mptcp::JoinAck([7; 20]))[..5], [30, 24, 0x10, 0, 7]);
        let ack = Mptcp::Data { ack: 8, mapping: None };
        assert_eq!(octets(&ack), [30, 12, 0x20, 0x03, 0, 0, 0, 0, 0, 0, 0, 8]);
        let mapping = Some(Mapping { data: 9, subflow: 10, len: 1420 });
        let data = octets(&Mptcp::Data { ack: 8, mapping });
        assert_eq!(data[..4], [30, 26, 0x20, 0x0f]);
        assert_eq!(data[12..], [0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 10, 5, 140, 1, 1]);
    }
}
