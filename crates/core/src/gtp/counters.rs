//! Counters of an endpoint.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::wire::gtp::{DecodeError, OuterError};

/// Why a datagram led to no packet and was no message for the endpoint either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// No datagram with GTP-U.
    Outer(OuterError),
    /// The datagram was sent to another address.
    Address,
    /// No message of GTP-U.
    Malformed(DecodeError),
    /// A message of a type that is not known (TS 29.060 §11.1.3: silently discarded).
    MessageType(u8),
    /// An extension header of this type, which must be understood and is not (TS 29.281 §5.2.1).
    ExtensionHeader(u8),
    /// A G-PDU for a tunnel that there is not.
    Teid(u32),
}

impl Rejection {
    /// Its reason, as in [`Counters::report`].
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Outer(_) => "bad_datagram",
            Self::Address => "other_address",
            Self::Malformed(DecodeError::TooShort { .. }) => "too_short",
            Self::Malformed(DecodeError::Version(_)) => "version",
            Self::Malformed(DecodeError::GtpPrime) => "gtp_prime",
            Self::Malformed(DecodeError::Length { .. }) => "length",
            Self::Malformed(DecodeError::ExtensionTruncated(_) | DecodeError::ExtensionEmpty(_)) => {
                "extension_headers"
            }
            Self::Malformed(
                DecodeError::ElementTruncated(_)
                | DecodeError::ElementLength(_)
                | DecodeError::ElementUnknown(_)
                | DecodeError::ElementMissing(_),
            ) => "information_elements",
            Self::MessageType(_) => "message_type",
            Self::ExtensionHeader(_) => "not_comprehended",
            Self::Teid(_) => "unknown_teid",
        }
    }
}

/// Datagrams received and sent at an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// G-PDUs that came for a tunnel.
    pub packets_in: u64,
    /// G-PDUs that were sent.
    pub packets_out: u64,
    /// Echo Requests that were answered.
    pub echoes_answered: u64,
    /// Echo Responses that came.
    pub echo_responses: u64,
    /// Error Indications that came.
    pub error_indications: u64,
    /// Supported Extension Headers Notifications that came.
    pub notifications: u64,
    /// Rejected datagrams by reason, only for reasons that occurred.
    rejected: BTreeMap<&'static str, u64>,
}

impl Counters {
    pub(super) fn reject(&mut self, rejection: Rejection) {
        *self.rejected.entry(rejection.reason()).or_default() += 1;
    }

    /// Datagrams refused for the same reason, regardless of its details.
    pub fn rejected(&self, rejection: Rejection) -> u64 {
        self.rejected.get(rejection.reason()).copied().unwrap_or(0)
    }

    /// Datagrams that were refused.
    pub fn all_rejected(&self) -> u64 {
        self.rejected.values().sum()
    }

    /// All of them by name, under `rejected` those reasons that occurred.
    pub fn report(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
