//! GTP-U, which carries users' packets between GGSN, SGSN and RNC, octet by octet.
//!
//! Source: TS 29.281 §5 (header, extension headers), §7 (messages), §8 (information elements), and the common parts of
//! TS 29.060. [`Message`] borrows its payload, so reading a G-PDU copies nothing. [`Outer`] encapsulates a message in a
//! UDP datagram over IPv4, and decapsulates it.
//!
//! Left out: outer IPv6, End Marker and Tunnel Status, which UMTS does not use and which are read as [`Body::Other`],
//! and Private Extensions, which are skipped.

mod elements;
mod error;
mod outer;

pub use error::{DecodeError, OuterError};

use super::EncodeError;
pub use super::datagram::Headers as Outer;
pub use outer::decapsulate;

use std::net::IpAddr;

/// UDP port of GTP-U (TS 29.281 §4.4.2).
pub const PORT: u16 = 2152;
/// Octets of the header without optional fields.
pub const HEADER_OCTETS: usize = 8;
/// Octets of the header with sequence number, N-PDU number or extension headers, these not counted.
pub const LONG_HEADER_OCTETS: usize = 12;
/// Octets that a tunnel adds to a packet: IPv4, UDP and the short header.
pub const OVERHEAD_OCTETS: usize = outer::IP_UDP_OCTETS + HEADER_OCTETS;
/// Overhead of a G-PDU with sequence numbers.
pub const LONG_OVERHEAD_OCTETS: usize = outer::IP_UDP_OCTETS + LONG_HEADER_OCTETS;

/// A message of GTP-U.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Tunnel endpoint identifier, which the receiver has allocated; 0 for no tunnel (§5.1).
    pub teid: u32,
    /// Sequence number, where the S flag is set.
    pub sequence_number: Option<u16>,
    /// N-PDU number, where the PN flag is set: between SGSNs only.
    pub n_pdu_number: Option<u8>,
    /// Extension headers in their order.
    pub extension_headers: Vec<ExtensionHeader<'a>>,
    /// Content of the message, with its type.
    pub body: Body<'a>,
}

/// An extension header (§5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtensionHeader<'a> {
    /// Its type, not 0.
    pub kind: u8,
    /// Its octets between length and type of the next: 2 and any multiple of 4, at most 1018.
    pub content: &'a [u8],
}

/// Nodes that must understand an extension header: the two high bits of its type (§5.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comprehension {
    /// Not required; an intermediate node hands it on.
    Forwarded,
    /// Not required; an intermediate node takes it out.
    Removed,
    /// The endpoint; an intermediate node hands it on.
    AtEndpoint,
    /// Every receiver.
    Everywhere,
}

impl ExtensionHeader<'_> {
    /// Nodes that must understand it.
    pub const fn comprehension(&self) -> Comprehension {
        match self.kind >> 6 {
            0 => Comprehension::Forwarded,
            1 => Comprehension::Removed,
            2 => Comprehension::AtEndpoint,
            _ => Comprehension::Everywhere,
        }
    }
}

/// Content of a message. Of several information elements of one type, the first counts; unknown ones are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// Checks whether the peer is alive (§7.2.1).
    EchoRequest,
    /// The answer (§7.2.2).
    EchoResponse {
        /// Restart counter: of the element Recovery, 0 in GTP-U and without meaning.
        recovery: u8,
    },
    /// A G-PDU came for a tunnel that there is not (§7.3.1).
    ErrorIndication {
        /// TEID Data I: the TEID of that G-PDU.
        teid: u32,
        /// GTP-U Peer Address: destination of that G-PDU.
        peer: IpAddr,
    },
    /// The types of all extension headers that the sender understands (§7.2.3).
    SupportedExtensionHeaders(&'a [u8]),
    /// A G-PDU: a user's packet (§7.1).
    GPdu(&'a [u8]),
    /// A message of another type, unread.
    Other {
        /// Its type.
        message_type: u8,
        /// Content after the header.
        payload: &'a [u8],
    },
}

impl Body<'_> {
    /// Message type (§6.1).
    pub const fn message_type(&self) -> u8 {
        match self {
            Self::EchoRequest => ECHO_REQUEST,
            Self::EchoResponse { .. } => ECHO_RESPONSE,
            Self::ErrorIndication { .. } => ERROR_INDICATION,
            Self::SupportedExtensionHeaders(_) => SUPPORTED_EXTENSION_HEADERS,
            Self::GPdu(_) => G_PDU,
            Self::Other { message_type, .. } => *message_type,
        }
    }
}

impl<'a> Message<'a> {
    /// A G-PDU with the packet for the tunnel of this TEID.
    pub const fn g_pdu(teid: u32, sequence_number: Option<u16>, packet: &'a [u8]) -> Self {
        Self::plain(teid, sequence_number, Body::GPdu(packet))
    }

    /// A message about the path or a tunnel: it has TEID 0 and a sequence number (§5.1).
    pub const fn signalling(sequence_number: u16, body: Body<'a>) -> Self {
        Self::plain(0, Some(sequence_number), body)
    }

    const fn plain(teid: u32, sequence_number: Option<u16>, body: Body<'a>) -> Self {
        Self { teid, sequence_number, n_pdu_number: None, extension_headers: Vec::new(), body }
    }

    /// Appends the message to `out`.
    ///
    /// # Errors
    ///
    /// Content that the format cannot carry: [`Body::Other`] of a type with a separate variant, extension headers of
    /// type 0 or of a wrong length, more than 65 535 octets after the first 8. `out` is then unchanged.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        let result = self.encode_from(start, out);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    fn encode_from(&self, start: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let flags = self.flags();
        out.extend_from_slice(&[VERSION << VERSION_SHIFT | PT | flags, self.body.message_type(), 0, 0]);
        out.extend_from_slice(&self.teid.to_be_bytes());
        if flags != 0 {
            out.extend_from_slice(&self.sequence_number.unwrap_or(0).to_be_bytes());
            out.push(self.n_pdu_number.unwrap_or(0));
            self.encode_extension_headers(out)?;
        }
        match self.body {
            Body::GPdu(payload) => out.extend_from_slice(payload),
            Body::Other { message_type, payload } => {
                refuse_known(message_type)?;
                out.extend_from_slice(payload);
            }
            ref body => elements::encode(body, out)?,
        }
        let octets = out.len() - start - HEADER_OCTETS;
        let length = u16::try_from(octets).map_err(|_| EncodeError::TooLong { octets, room: MAX_LENGTH })?;
        out[start + LENGTH_AT..start + LENGTH_AT + 2].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    fn flags(&self) -> u8 {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        flag(!self.extension_headers.is_empty(), FLAG_E)
            | flag(self.sequence_number.is_some(), FLAG_S)
            | flag(self.n_pdu_number.is_some(), FLAG_PN)
    }

    /// The type of each header is in the last octet of the previous one.
    fn encode_extension_headers(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        for &ExtensionHeader { kind, content } in &self.extension_headers {
            let wrong = |field, value, allowed| Err(EncodeError::Field { field, value, allowed });
            if kind == NO_MORE_EXTENSION_HEADERS {
                return wrong("Extension Header Type", 0, "1 to 255");
            }
            let octets = content.len() + EXTENSION_FRAME_OCTETS;
            if !octets.is_multiple_of(EXTENSION_UNIT) || octets / EXTENSION_UNIT > usize::from(u8::MAX) {
                let allowed = "octets with 2 more in 1 to 255 units of 4";
                return wrong("Extension Header Content", content.len(), allowed);
            }
            out.push(kind);
            out.push((octets / EXTENSION_UNIT) as u8);
            out.extend_from_slice(content);
        }
        out.push(NO_MORE_EXTENSION_HEADERS);
        Ok(())
    }

    /// Reads a message that is all of `bytes`. Spare bits and fields without their flag are passed over.
    ///
    /// # Errors
    ///
    /// If it is no message of GTP-U. An unknown type is no error: [`Body::Other`].
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let too_short = |needed| DecodeError::TooShort { octets: bytes.len(), needed };
        let (header, mut rest) =
            bytes.split_first_chunk::<HEADER_OCTETS>().ok_or(too_short(HEADER_OCTETS))?;
        let [first, message_type, high, low, teid @ ..] = *header;
        match first >> VERSION_SHIFT {
            VERSION if first & PT == 0 => return Err(DecodeError::GtpPrime),
            VERSION => {}
            other => return Err(DecodeError::Version(other)),
        }
        let claimed = u16::from_be_bytes([high, low]);
        if usize::from(claimed) != rest.len() {
            return Err(DecodeError::Length { claimed, present: rest.len() });
        }
        let mut message = Self::g_pdu(u32::from_be_bytes(teid), None, &[]);
        if first & (FLAG_E | FLAG_S | FLAG_PN) != 0 {
            let (&[number_high, number_low, n_pdu_number, next], behind) =
                rest.split_first_chunk::<4>().ok_or(too_short(LONG_HEADER_OCTETS))?;
            message.sequence_number =
                (first & FLAG_S != 0).then_some(u16::from_be_bytes([number_high, number_low]));
            message.n_pdu_number = (first & FLAG_PN != 0).then_some(n_pdu_number);
            rest = behind;
            if first & FLAG_E != 0 {
                rest = message.decode_extension_headers(next, rest)?;
            }
        }
        message.body = match message_type {
            G_PDU => Body::GPdu(rest),
            ECHO_REQUEST | ECHO_RESPONSE | ERROR_INDICATION | SUPPORTED_EXTENSION_HEADERS => {
                elements::decode(message_type, rest)?
            }
            _ => Body::Other { message_type, payload: rest },
        };
        Ok(message)
    }

    /// Returns the octets after them.
    fn decode_extension_headers(
        &mut self,
        mut kind: u8,
        mut rest: &'a [u8],
    ) -> Result<&'a [u8], DecodeError> {
        while kind != NO_MORE_EXTENSION_HEADERS {
            let units = *rest.first().ok_or(DecodeError::ExtensionTruncated(kind))?;
            let octets = usize::from(units) * EXTENSION_UNIT;
            let (header, behind) =
                rest.split_at_checked(octets).ok_or(DecodeError::ExtensionTruncated(kind))?;
            let [_, content @ .., next] = header else { return Err(DecodeError::ExtensionEmpty(kind)) };
            self.extension_headers.push(ExtensionHeader { kind, content });
            (kind, rest) = (*next, behind);
        }
        Ok(rest)
    }
}

/// A known type has its own case, as which it would be read.
fn refuse_known(message_type: u8) -> Result<(), EncodeError> {
    match message_type {
        G_PDU | ECHO_REQUEST | ECHO_RESPONSE | ERROR_INDICATION | SUPPORTED_EXTENSION_HEADERS => {
            let allowed = "a type without a case of its own";
            Err(EncodeError::Field { field: "Message Type", value: message_type.into(), allowed })
        }
        _ => Ok(()),
    }
}

const VERSION: u8 = 1;
const VERSION_SHIFT: u32 = 5;
/// Protocol type: GTP.
const PT: u8 = 0x10;
const FLAG_E: u8 = 0x04;
const FLAG_S: u8 = 0x02;
const FLAG_PN: u8 = 0x01;
/// Position of the length field.
const LENGTH_AT: usize = 2;
const MAX_LENGTH: usize = u16::MAX as usize;

/// Message types (TS 29.281 §6.1).
const ECHO_REQUEST: u8 = 1;
const ECHO_RESPONSE: u8 = 2;
const ERROR_INDICATION: u8 = 26;
const SUPPORTED_EXTENSION_HEADERS: u8 = 31;
const G_PDU: u8 = 255;

const NO_MORE_EXTENSION_HEADERS: u8 = 0;
/// Octets that the length of an extension header counts in.
const EXTENSION_UNIT: usize = 4;
/// Octets of an extension header without its content: its length, and the type of the next.
const EXTENSION_FRAME_OCTETS: usize = 2;

#[cfg(test)]
mod tests;
