//! A UDP datagram, and the readable fields of QUIC.
//!
//! Source: RFC 768, RFC 8999 (long headers and versions), RFC 9000 (17.2, 17.3.1 and 17.4: the spin bit), RFC 9369
//! (version 2).

use std::hash::{DefaultHasher, Hasher};

pub const HEADER_BYTES: usize = 8;

/// Fields of an IP header that distinguish packets with the same content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Identification of IPv4; 0 with IPv6, which has none.
    pub identification: u16,
    /// Time to live, or hop limit.
    pub hops: u8,
}

/// Bytes of payload that distinguish datagrams, in addition to the identification of IPv4: QUIC's payload is encrypted.
const TOLD_APART_BY: usize = 64;
/// Without identification, and with less of a longer payload in the capture, datagrams are not distinguished.
const FEWEST: usize = 16;

const LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
const SPIN: u8 = 0x20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagram {
    /// Bytes of payload on the wire.
    pub payload: u32,
    /// Digest to find it again elsewhere; `None` if too little of it was captured.
    pub digest: Option<u64>,
    /// Version in a long header of QUIC, if this is one.
    pub version: Option<u32>,
    /// The spin bit, if this is a short header of QUIC.
    pub spin: Option<bool>,
    pub mark: Mark,
}

impl Datagram {
    /// Reads the captured part of a payload of `payload` bytes, with its packet's mark.
    pub fn new(captured: &[u8], payload: u32, mark: Mark) -> Self {
        let first = captured.first().copied().unwrap_or(0);
        let version = match captured {
            &[_, a, b, c, d, ..] if first & LONG != 0 => Some(u32::from_be_bytes([a, b, c, d])),
            _ => None,
        };
        Self {
            payload,
            digest: digest(captured, payload, mark.identification),
            version: version.filter(|_| first & FIXED != 0),
            spin: (first & (LONG | FIXED) == FIXED).then_some(first & SPIN != 0),
            mark,
        }
    }

    /// The name of its version of QUIC; `None` if its long header has none that is known.
    pub fn quic(&self) -> Option<&'static str> {
        match self.version? {
            1 => Some("1"),
            0x6b33_43cf => Some("2"),
            draft if (0xff00_001d..=0xff00_0022).contains(&draft) => Some("draft"),
            _ => None,
        }
    }
}

fn digest(captured: &[u8], payload: u32, identification: u16) -> Option<u64> {
    if identification == 0 && captured.len() < FEWEST && captured.len() < payload as usize {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(&captured[..captured.len().min(TOLD_APART_BY)]);
    hasher.write_u32(payload);
    hasher.write_u16(identification);
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quic_is_known_by_its_long_headers() {
        let of = |bytes: &[u8]| Datagram::new(bytes, bytes.len() as u32, Mark::default());
        let initial = of(&[0xc3, 0, 0, 0, 1, 8]);
        assert_eq!((initial.quic(), initial.spin), (Some("1"), None));
        assert_eq!(of(&[0xd3, 0x6b, 0x33, 0x43, 0xcf, 8]).quic(), Some("2"));
        // DNS with an identifier that looks like a long header, and a greased version.
        assert_eq!(of(&[0xc3, 0x21, 1, 0, 0, 1]).quic(), None);
        assert_eq!(of(&[0xc3, 0x1a, 0x2a, 0x3a, 0x4a, 1]).quic(), None);
        assert_eq!(of(&[0x43, 7, 7]).spin, Some(false));
        assert_eq!(of(&[0x63, 7, 7]).spin, Some(true));
        assert_eq!(of(&[]).spin, None);
    }

    #[test]
    fn datagrams_are_told_apart_by_what_was_captured() {
        let long = [7; 100];
        let digest = |captured: &[u8], payload, identification| {
            Datagram::new(captured, payload, Mark { identification, hops: 0 }).digest
        };
        assert_eq!(digest(&long, 1200, 5), digest(&long, 1200, 5));
        for other in [digest(&long, 1201, 5), digest(&[8; 100], 1200, 5), digest(&long, 1200, 6)] {
            assert_ne!(other, digest(&long, 1200, 5));
        }
        assert_eq!(digest(&long[..4], 1200, 0), None);
        assert!(digest(&long[..4], 4, 0).is_some() && digest(&[], 1200, 7).is_some());
    }
}
