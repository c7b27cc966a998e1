//! The option of Multipath TCP in a segment: RFC 8684 (3), version 1, without checksums.
//!
//! Numbers are those of the wire. Left out: ADD_ADDR, REMOVE_ADDR, MP_PRIO, MP_FAIL, MP_FASTCLOSE, MP_TCPRST and DATA_FIN,
//! since the addresses of a simulated connection are known and it is never closed; data numbers of four octets.

/// An option of Multipath TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mptcp {
    /// MP_CAPABLE of the first SYN: RFC 8684 (3.1).
    Capable,
    /// MP_CAPABLE with the sender's key: of the SYN-ACK, or with both keys of the ACK after it.
    CapableKeys {
        /// Key of the segment's sender.
        own: u64,
        /// Key of the other endpoint, in the ACK.
        peer: Option<u64>,
    },
    /// MP_JOIN of the SYN of another subflow: RFC 8684 (3.2).
    JoinSyn {
        /// The subflow is to be used only if no other works.
        backup: bool,
        /// Number of the sender's address.
        address: u8,
        /// Names the connection: the receiver's token.
        token: u32,
        /// Random number of the sender.
        nonce: u32,
    },
    /// MP_JOIN of the SYN-ACK.
    JoinSynAck {
        /// The subflow is to be used only if no other works.
        backup: bool,
        /// Number of the sender's address.
        address: u8,
        /// Leftmost 64 bits of the sender's authentication code.
        hmac: u64,
        /// Random number of the sender.
        nonce: u32,
    },
    /// MP_JOIN of the ACK: leftmost 160 bits of the sender's authentication code.
    JoinAck([u8; 20]),
    /// DSS: RFC 8684 (3.3).
    Data {
        /// Data sequence number expected next, of the reverse direction: the data ACK.
        ack: u64,
        /// Place of the payload among all data of the connection.
        mapping: Option<Mapping>,
    },
}

/// Place of payload: RFC 8684 (3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Data sequence number of its first byte.
    pub data: u64,
    /// Sequence number of that byte in the subflow, relative to the subflow's first one.
    pub subflow: u32,
    /// Length in bytes.
    pub len: u16,
}

impl Mptcp {
    /// Octets of DSS with a mapping, and padding: what every segment with data carries.
    pub const MAPPED_OCTETS: u32 = 28;

    /// Octets in a header, padding to whole words included.
    pub const fn octets(&self) -> u32 {
        match self {
            Self::Capable => 4,
            Self::CapableKeys { peer: None, .. }
            | Self::JoinSyn { .. }
            | Self::Data { mapping: None, .. } => 12,
            Self::JoinSynAck { .. } => 16,
            Self::CapableKeys { peer: Some(_), .. } => 20,
            Self::JoinAck(_) => 24,
            Self::Data { mapping: Some(_), .. } => Self::MAPPED_OCTETS,
        }
    }
}
