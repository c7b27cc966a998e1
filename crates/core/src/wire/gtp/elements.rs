//! Information elements of the messages that are not G-PDUs (TS 29.281 §8; TS 29.060 §7.7 where they are the same).

use std::net::IpAddr;

use super::{Body, DecodeError, EncodeError};
use super::{ECHO_REQUEST, ECHO_RESPONSE, ERROR_INDICATION};

/// Appends the elements of a message in ascending order of their types (§8.1).
pub(super) fn encode(body: &Body<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    match *body {
        Body::EchoResponse { recovery } => out.extend_from_slice(&[RECOVERY, recovery]),
        Body::ErrorIndication { teid, peer } => {
            out.push(TEID_DATA_I);
            out.extend_from_slice(&teid.to_be_bytes());
            match peer {
                IpAddr::V4(peer) => put_long(PEER_ADDRESS, &peer.octets(), out),
                IpAddr::V6(peer) => put_long(PEER_ADDRESS, &peer.octets(), out),
            }
        }
        Body::SupportedExtensionHeaders(types) => {
            let count = u8::try_from(types.len()).map_err(|_| EncodeError::Field {
                field: "Extension Header Type List",
                value: types.len(),
                allowed: "at most 255 types",
            })?;
            out.extend_from_slice(&[EXTENSION_HEADER_TYPES, count]);
            out.extend_from_slice(types);
        }
        Body::EchoRequest | Body::GPdu(_) | Body::Other { .. } => {}
    }
    Ok(())
}

/// An element with a length of two octets; `value` is an address.
fn put_long(kind: u8, value: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&(value.len() as u16).to_be_bytes());
    out.extend_from_slice(value);
}

/// Reads the elements of a message of one of the four types.
pub(super) fn decode(message_type: u8, bytes: &[u8]) -> Result<Body<'_>, DecodeError> {
    let found = Found::read(bytes)?;
    let missing = DecodeError::ElementMissing;
    Ok(match message_type {
        ECHO_REQUEST => Body::EchoRequest,
        ECHO_RESPONSE => Body::EchoResponse { recovery: found.recovery.ok_or(missing(RECOVERY))? },
        ERROR_INDICATION => Body::ErrorIndication {
            teid: found.teid.ok_or(missing(TEID_DATA_I))?,
            peer: found.peer.ok_or(missing(PEER_ADDRESS))?,
        },
        _ => {
            let types = found.extension_header_types.ok_or(missing(EXTENSION_HEADER_TYPES))?;
            Body::SupportedExtensionHeaders(types)
        }
    })
}

/// The elements that some message has a use for.
#[derive(Default)]
struct Found<'a> {
    recovery: Option<u8>,
    teid: Option<u32>,
    peer: Option<IpAddr>,
    extension_header_types: Option<&'a [u8]>,
}

impl<'a> Found<'a> {
    fn read(mut bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut found = Self::default();
        while let [kind, rest @ ..] = bytes {
            bytes = found.read_one(*kind, rest)?;
        }
        Ok(found)
    }

    /// Reads the element after its type; returns the octets after it.
    fn read_one(&mut self, kind: u8, rest: &'a [u8]) -> Result<&'a [u8], DecodeError> {
        let truncated = DecodeError::ElementTruncated(kind);
        match kind {
            RECOVERY => {
                let (&recovery, behind) = rest.split_first().ok_or(truncated)?;
                self.recovery.get_or_insert(recovery);
                Ok(behind)
            }
            TEID_DATA_I => {
                let (teid, behind) = rest.split_first_chunk().ok_or(truncated)?;
                self.teid.get_or_insert(u32::from_be_bytes(*teid));
                Ok(behind)
            }
            EXTENSION_HEADER_TYPES => {
                let (&count, behind) = rest.split_first().ok_or(truncated)?;
                let (types, behind) = behind.split_at_checked(count.into()).ok_or(truncated)?;
                self.extension_header_types.get_or_insert(types);
                Ok(behind)
            }
            FIRST_WITH_LENGTH.. => {
                let (&length, behind) = rest.split_first_chunk().ok_or(truncated)?;
                let length = usize::from(u16::from_be_bytes(length));
                let (value, behind) = behind.split_at_checked(length).ok_or(truncated)?;
                if kind == PEER_ADDRESS {
                    let peer = address(value).ok_or(DecodeError::ElementLength(kind))?;
                    self.peer.get_or_insert(peer);
                }
                Ok(behind)
            }
            _ => Err(DecodeError::ElementUnknown(kind)),
        }
    }
}

fn address(value: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(value).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(value).map(IpAddr::from)).ok()
}

/// Types of information elements (§8.1).
const RECOVERY: u8 = 14;
const TEID_DATA_I: u8 = 16;
const PEER_ADDRESS: u8 = 133;
/// Has a length of one octet, unlike all others with a length (§8.5).
const EXTENSION_HEADER_TYPES: u8 = 141;
/// Elements with lower types have fixed lengths; from this type on they have a length field.
const FIRST_WITH_LENGTH: u8 = 128;

#[cfg(test)]
mod tests {
    use super::super::{Message, SUPPORTED_EXTENSION_HEADERS};
    use super::*;

    fn elements_of(body: Body<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(&body, &mut bytes).unwrap();
        assert_eq!(decode(body.message_type(), &bytes), Ok(body));
        bytes
    }

    #[test]
    fn elements_have_their_octets() {
        assert!(elements_of(Body::EchoRequest).is_empty());
        assert_eq!(elements_of(Body::EchoResponse { recovery: 3 }), [14, 3]);
        let v4 = Body::ErrorIndication { teid: 0x0a0b_0c0d, peer: [192, 0, 2, 9].into() };
        assert_eq!(elements_of(v4), [16, 0x0a, 0x0b, 0x0c, 0x0d, 133, 0, 4, 192, 0, 2, 9]);
        let v6 = elements_of(Body::ErrorIndication { teid: 1, peer: [7_u8; 16].into() });
        assert_eq!((v6.len(), &v6[5..8]), (24, &[133, 0, 16][..]));
        assert_eq!(elements_of(Body::SupportedExtensionHeaders(&[0x40, 0xc0])), [141, 2, 0x40, 0xc0]);
    }

    #[test]
    fn unknown_elements_are_passed_over_and_the_first_of_a_type_counts() {
        let bytes = [14, 1, 14, 2, 255, 0, 3, 0, 1, 9];
        assert_eq!(decode(ECHO_RESPONSE, &bytes), Ok(Body::EchoResponse { recovery: 1 }));
        assert_eq!(decode(ECHO_REQUEST, &bytes), Ok(Body::EchoRequest));
    }

    #[test]
    fn broken_elements_have_a_reason() {
        let indication = |bytes| decode(ERROR_INDICATION, bytes).unwrap_err();
        assert_eq!(indication(&[]), DecodeError::ElementMissing(TEID_DATA_I));
        assert_eq!(indication(&[16, 0, 0, 0, 1]), DecodeError::ElementMissing(PEER_ADDRESS));
        assert_eq!(indication(&[16, 0, 0, 0]), DecodeError::ElementTruncated(TEID_DATA_I));
        assert_eq!(indication(&[133, 0, 4, 1, 2, 3]), DecodeError::ElementTruncated(PEER_ADDRESS));
        assert_eq!(indication(&[133, 0, 3, 1, 2, 3]), DecodeError::ElementLength(PEER_ADDRESS));
        assert_eq!(indication(&[99, 0]), DecodeError::ElementUnknown(99));
        let list = decode(SUPPORTED_EXTENSION_HEADERS, &[141, 2, 1]);
        assert_eq!(list, Err(DecodeError::ElementTruncated(EXTENSION_HEADER_TYPES)));
        let many = Message::signalling(0, Body::SupportedExtensionHeaders(&[1; 256]));
        assert!(matches!(many.encode(&mut Vec::new()), Err(EncodeError::Field { value: 256, .. })));
    }
}
