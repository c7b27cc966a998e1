//! A message or a PDU that cannot be written as asked.

use std::fmt;

/// What cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// A message needs `octets` octets, and no length field of GTP, UDP or IPv4 goes beyond `room`.
    TooLong {
        /// Octets of the message, without what the length field leaves out.
        octets: usize,
        /// The most that the field can say.
        room: usize,
    },
    /// A PDU needs `bits` bits or more, and has `room`.
    NoRoom {
        /// Bits up to the end of the field that did not fit.
        bits: usize,
        /// Bits of the PDU.
        room: usize,
    },
    /// A field has a value that the format cannot carry.
    Field {
        /// Name of the field, as in its standard.
        field: &'static str,
        /// The value.
        value: usize,
        /// What would be right.
        allowed: &'static str,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { octets, room } => write!(f, "{octets} octets, at most {room} can be told"),
            Self::NoRoom { bits, room } => write!(f, "{bits} bits or more, the PDU has {room}"),
            Self::Field { field, value, allowed } => write!(f, "{field} is {value}, expected {allowed}"),
        }
    }
}

impl std::error::Error for EncodeError {}
