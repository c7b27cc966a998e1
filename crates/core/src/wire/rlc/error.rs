//! Errors in a PDU that cannot be decoded.

/// Octets that are no PDU of this format. A receiver discards such a PDU (TS 25.322 §10).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The PDU ends within a field.
    #[error("the PDU ends within a field")]
    Truncated,
    /// A control PDU of a reserved type (§9.2.2.2).
    #[error("control PDU of reserved type {0}")]
    ReservedPduType(u8),
    /// A reserved value of the header extension type (§9.2.2.7).
    #[error("HE is 3, which is reserved")]
    ReservedHeaderExtension,
    /// Reserved bits that are not zero (R1, R2; §9.2.2).
    #[error("reserved bits are not zero")]
    ReservedBits,
    /// A length indicator that is reserved in its mode (§9.2.2.8).
    #[error("length indicator {0:#x} is reserved")]
    ReservedLengthIndicator(u16),
    /// A length indicator that points beyond the PDU or not beyond the previous one, or one after an indicator that
    /// already describes the rest of the PDU.
    #[error("length indicator {0:#x} is out of place")]
    LengthIndicatorOrder(u16),
    /// A super-field of a reserved type (§9.2.2.11).
    #[error("super-field of reserved type {0}")]
    ReservedSufi(u8),
    /// A super-field POLL, which belongs to flexible PDU sizes only.
    #[error("super-field POLL, which only flexible PDU sizes know")]
    PollSufi,
    /// A super-field WINDOW that closes the window (§9.2.2.11.3).
    #[error("super-field WINDOW with a window of 0")]
    ZeroWindow,
    /// A super-field LIST of LENGTH 0 (§9.2.2.11.4).
    #[error("super-field LIST of LENGTH 0")]
    EmptyList,
    /// Codewords of a super-field RLIST that are no list of numbers (§9.2.2.11.6).
    #[error("codewords of RLIST that do not end as numbers do")]
    Codewords,
}
