//! What is wrong with a PDU that cannot be read.

use std::fmt;

/// Octets that are no PDU of this format. A receiver discards such a PDU (TS 25.322 §10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The PDU ends within a field.
    Truncated,
    /// A control PDU of a reserved type (§9.2.2.2).
    ReservedPduType(u8),
    /// A reserved value of the header extension type (§9.2.2.7).
    ReservedHeaderExtension,
    /// Reserved bits that are not zero (R1, R2; §9.2.2).
    ReservedBits,
    /// A length indicator that is reserved in its mode (§9.2.2.8).
    ReservedLengthIndicator(u16),
    /// A length indicator that points behind the PDU or not behind the one before it, or one that follows
    /// where the rest of the PDU has already been described.
    LengthIndicatorOrder(u16),
    /// A super-field of a reserved type (§9.2.2.11).
    ReservedSufi(u8),
    /// A super-field POLL, which belongs to flexible PDU sizes only.
    PollSufi,
    /// A super-field WINDOW that closes the window (§9.2.2.11.3).
    ZeroWindow,
    /// A super-field LIST of LENGTH 0 (§9.2.2.11.4).
    EmptyList,
    /// Codewords of a super-field RLIST that are no list of numbers (§9.2.2.11.6).
    Codewords,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the PDU ends within a field"),
            Self::ReservedPduType(kind) => write!(f, "control PDU of reserved type {kind}"),
            Self::ReservedHeaderExtension => f.write_str("HE is 3, which is reserved"),
            Self::ReservedBits => f.write_str("reserved bits are not zero"),
            Self::ReservedLengthIndicator(li) => write!(f, "length indicator {li:#x} is reserved"),
            Self::LengthIndicatorOrder(li) => write!(f, "length indicator {li:#x} is out of place"),
            Self::ReservedSufi(kind) => write!(f, "super-field of reserved type {kind}"),
            Self::PollSufi => f.write_str("super-field POLL, which only flexible PDU sizes know"),
            Self::ZeroWindow => f.write_str("super-field WINDOW with a window of 0"),
            Self::EmptyList => f.write_str("super-field LIST of LENGTH 0"),
            Self::Codewords => f.write_str("codewords of RLIST that do not end as numbers do"),
        }
    }
}

impl std::error::Error for DecodeError {}
