//! A message or a PDU that cannot be written as asked.

/// A value that cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A message needs `octets` octets, and no length field of GTP, UDP or IPv4 goes beyond `room`.
    #[error("{octets} octets, at most {room} can be told")]
    TooLong {
        /// Octets of the message that the length field counts.
        octets: usize,
        /// The most that the field can say.
        room: usize,
    },
    /// A PDU needs `bits` bits or more, and has `room`.
    #[error("{bits} bits or more, the PDU has {room}")]
    NoRoom {
        /// Bits up to the end of the field that did not fit.
        bits: usize,
        /// Bits of the PDU.
        room: usize,
    },
    /// A field has a value that the format cannot carry.
    #[error("{field} is {value}, expected {allowed}")]
    Field {
        /// Name of the field, as in its standard.
        field: &'static str,
        /// The value.
        value: usize,
        /// Allowed values.
        allowed: &'static str,
    },
}
