//! What an endpoint counts.

use serde_json::{Map, Value};

use crate::wire::gtp::{DecodeError, OuterError};

/// Why a datagram led to no packet and was no message for the endpoint either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// No datagram with GTP-U.
    Outer(OuterError),
    /// It was sent to another address.
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
        REASONS[self.index()]
    }

    const fn index(self) -> usize {
        match self {
            Self::Outer(_) => 0,
            Self::Address => 1,
            Self::Malformed(DecodeError::TooShort { .. }) => 2,
            Self::Malformed(DecodeError::Version(_)) => 3,
            Self::Malformed(DecodeError::GtpPrime) => 4,
            Self::Malformed(DecodeError::Length { .. }) => 5,
            Self::Malformed(DecodeError::ExtensionTruncated(_) | DecodeError::ExtensionEmpty(_)) => 6,
            Self::Malformed(
                DecodeError::ElementTruncated(_)
                | DecodeError::ElementLength(_)
                | DecodeError::ElementUnknown(_)
                | DecodeError::ElementMissing(_),
            ) => 7,
            Self::MessageType(_) => 8,
            Self::ExtensionHeader(_) => 9,
            Self::Teid(_) => 10,
        }
    }
}

/// Names of the reasons, in the order of [`Rejection::index`].
const REASONS: [&str; 11] = [
    "bad_datagram",
    "other_address",
    "too_short",
    "version",
    "gtp_prime",
    "length",
    "extension_headers",
    "information_elements",
    "message_type",
    "not_comprehended",
    "unknown_teid",
];

/// What came and went at an endpoint, in datagrams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    rejected: [u64; REASONS.len()],
}

impl Counters {
    pub(super) fn reject(&mut self, rejection: Rejection) {
        self.rejected[rejection.index()] += 1;
    }

    /// Datagrams that were refused for the same reason, whatever its details.
    pub const fn rejected(&self, rejection: Rejection) -> u64 {
        self.rejected[rejection.index()]
    }

    /// Datagrams that were refused.
    pub fn all_rejected(&self) -> u64 {
        self.rejected.iter().sum()
    }

    /// All of them by name, under `rejected` those reasons that occurred.
    pub fn report(&self) -> Value {
        let rejected: Map<String, Value> = REASONS
            .iter()
            .zip(self.rejected)
            .filter(|(_, count)| *count > 0)
            .map(|(reason, count)| ((*reason).to_owned(), count.into()))
            .collect();
        serde_json::json!({
            "packets_in": self.packets_in,
            "packets_out": self.packets_out,
            "echoes_answered": self.echoes_answered,
            "echo_responses": self.echo_responses,
            "error_indications": self.error_indications,
            "notifications": self.notifications,
            "rejected": rejected,
        })
    }
}
