//! Errors in a GTP message, or in a datagram around it, that cannot be decoded.

/// Octets that are no message of GTP-U. A receiver discards them (TS 29.060 §11.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer octets than the header has.
    #[error("{octets} octets, the header has {needed}")]
    TooShort {
        /// Octets that are there.
        octets: usize,
        /// Octets of the header: 8, or 12 with optional fields.
        needed: usize,
    },
    /// Another version than 1.
    #[error("version {0}, expected 1")]
    Version(u8),
    /// Protocol type 0: GTP', the protocol for charging (TS 32.295).
    #[error("protocol type 0, which is GTP'")]
    GtpPrime,
    /// The length field disagrees with the number of octets after the first eight.
    #[error("length {claimed}, there are {present} octets")]
    Length {
        /// Length in the field.
        claimed: u16,
        /// Octets present.
        present: usize,
    },
    /// An extension header of this type extends beyond the message.
    #[error("the message ends within extension header {0:#x}")]
    ExtensionTruncated(u8),
    /// An extension header of this type claims to have no octets (§5.2.1).
    #[error("extension header {0:#x} has length 0")]
    ExtensionEmpty(u8),
    /// An information element of this type extends beyond the message.
    #[error("the message ends within information element {0}")]
    ElementTruncated(u8),
    /// An information element of this type has a length that its content cannot have.
    #[error("information element {0} has a wrong length")]
    ElementLength(u8),
    /// An information element of this type has a fixed length that is not known here.
    #[error("information element {0} has an unknown length")]
    ElementUnknown(u8),
    /// The message must have an information element of this type, and has not.
    #[error("information element {0} is missing")]
    ElementMissing(u8),
}

/// An IP datagram that carries no GTP-U.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OuterError {
    /// No IPv4 header, or one whose length field goes beyond the octets.
    #[error("no whole IPv4 datagram")]
    NotIpv4,
    /// The checksum of the IPv4 header is wrong.
    #[error("wrong checksum of the IPv4 header")]
    HeaderChecksum,
    /// A fragment; fragments are not reassembled here.
    #[error("a fragment")]
    Fragment,
    /// Another protocol than UDP.
    #[error("protocol {0}, expected UDP (17)")]
    NotUdp(u8),
    /// The UDP header is cut, or its length field is below 8 or goes beyond the datagram.
    #[error("the UDP length and the datagram disagree")]
    UdpLength,
    /// There is a UDP checksum, and it is wrong.
    #[error("wrong UDP checksum")]
    UdpChecksum,
    /// Neither port is that of GTP-U.
    #[error("UDP ports {src} and {dst}, expected 2152")]
    Ports {
        /// Source port.
        src: u16,
        /// Destination port.
        dst: u16,
    },
}
