//! What is wrong with a GTP message, or with a datagram around it, that cannot be read.

use std::fmt;

/// Octets that are no message of GTP-U. A receiver discards them (TS 29.060 §11.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Fewer octets than the header has.
    TooShort {
        /// Octets that are there.
        octets: usize,
        /// Octets of the header: 8, or 12 with optional fields.
        needed: usize,
    },
    /// Another version than 1.
    Version(u8),
    /// Protocol type 0: GTP', the protocol for charging (TS 32.295).
    GtpPrime,
    /// The length field and the octets behind the first eight disagree.
    Length {
        /// What the field says.
        claimed: u16,
        /// What is there.
        present: usize,
    },
    /// An extension header of this type ends behind the message.
    ExtensionTruncated(u8),
    /// An extension header of this type claims to have no octets (§5.2.1).
    ExtensionEmpty(u8),
    /// An information element of this type ends behind the message.
    ElementTruncated(u8),
    /// An information element of this type has a length that its content cannot have.
    ElementLength(u8),
    /// An information element of this type has a fixed length that is not known here.
    ElementUnknown(u8),
    /// The message must have an information element of this type, and has not.
    ElementMissing(u8),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { octets, needed } => write!(f, "{octets} octets, the header has {needed}"),
            Self::Version(version) => write!(f, "version {version}, expected 1"),
            Self::GtpPrime => f.write_str("protocol type 0, which is GTP'"),
            Self::Length { claimed, present } => write!(f, "length {claimed}, there are {present} octets"),
            Self::ExtensionTruncated(kind) => write!(f, "the message ends within extension header {kind:#x}"),
            Self::ExtensionEmpty(kind) => write!(f, "extension header {kind:#x} has length 0"),
            Self::ElementTruncated(kind) => write!(f, "the message ends within information element {kind}"),
            Self::ElementLength(kind) => write!(f, "information element {kind} has a wrong length"),
            Self::ElementUnknown(kind) => write!(f, "information element {kind} has an unknown length"),
            Self::ElementMissing(kind) => write!(f, "information element {kind} is missing"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// An IP datagram that carries no GTP-U.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OuterError {
    /// No IPv4 header, or one whose length field goes beyond the octets.
    NotIpv4,
    /// The checksum of the IPv4 header is wrong.
    HeaderChecksum,
    /// A fragment, and fragments are not put together here.
    Fragment,
    /// Another protocol than UDP.
    NotUdp(u8),
    /// The UDP header is cut, or its length field is below 8 or goes beyond the datagram.
    UdpLength,
    /// There is a UDP checksum, and it is wrong.
    UdpChecksum,
    /// Neither port is that of GTP-U.
    Ports {
        /// Of the sender.
        src: u16,
        /// Of the receiver.
        dst: u16,
    },
}

impl fmt::Display for OuterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotIpv4 => f.write_str("no whole IPv4 datagram"),
            Self::HeaderChecksum => f.write_str("wrong checksum of the IPv4 header"),
            Self::Fragment => f.write_str("a fragment"),
            Self::NotUdp(protocol) => write!(f, "protocol {protocol}, expected UDP (17)"),
            Self::UdpLength => f.write_str("the UDP length and the datagram disagree"),
            Self::UdpChecksum => f.write_str("wrong UDP checksum"),
            Self::Ports { src, dst } => write!(f, "UDP ports {src} and {dst}, expected 2152"),
        }
    }
}

impl std::error::Error for OuterError {}
