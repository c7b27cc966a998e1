//! Explicit congestion notification: sender, receiver and negotiation.
//!
//! A router marks a packet (CE) instead of dropping it, and the receiver echoes this to the sender. **Classic**, RFC
//! 3168 (6.1): it echoes the mark in every ACK (ECE) until the sender says that it has reduced its window (CWR).
//! **Accurate**, RFC 9768: it counts marks ([`accurate`]), so the sender learns their number.
//!
//! Negotiated in the SYN and the SYN-ACK, in the bits AE, CWR and ECE; without a handshake, agreement is assumed. New
//! data can be marked (ECT(0), or ECT(1) if the congestion control requires it); SYNs, pure ACKs, retransmissions and
//! probes of a closed window cannot (RFC 3168 (6.1.1), (6.1.4) to (6.1.6)).
//!
//! DEVIATION: at a window of one segment the sender continues with one segment instead of waiting for its timer (RFC
//! 3168 (6.1.2)). Left out: the nonce (RFC 3540); fallback to a SYN or SYN-ACK without ECN where some were lost (RFC
//! 3168 (6.1.1.1), RFC 9768 (3.1.4)).

pub mod accurate;
mod receiving;
mod sending;

pub use accurate::Counts;
pub(super) use receiving::Receiving;
pub(super) use sending::Sending;

use crate::packet::{Flags, Packet};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Variant of ECN that an endpoint offers, or that both use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// None.
    #[default]
    Off,
    /// RFC 3168.
    Classic,
    /// RFC 9768, with the option that counts bytes.
    Accurate,
    /// RFC 9768 without the option: only the counter in the flags.
    AccurateFlags,
}

impl Ecn {
    /// Name in scenarios and meaning; the first two names are not strings in TOML.
    const NAMES: [(Self, &str, &str); 4] = [
        (Self::Off, "false", "None."),
        (
            Self::Classic,
            "true",
            "RFC 3168: the receiver echoes a mark until the sender has reduced its window.",
        ),
        (
            Self::Accurate,
            "accurate",
            "RFC 9768: the receiver counts marked packets in three bits, and bytes in an option.",
        ),
        (Self::AccurateFlags, "accurate_flags", "The same without the option."),
    ];

    /// Whether it is RFC 9768's.
    pub fn is_accurate(self) -> bool {
        matches!(self, Self::Accurate | Self::AccurateFlags)
    }

    /// The bits of a SYN: RFC 3168 (6.1.1), RFC 9768 (3.1.1).
    pub(crate) fn offer(self) -> Flags {
        match self {
            Self::Off => Flags::default(),
            Self::Classic => Flags::CWR | Flags::ECE,
            Self::Accurate | Self::AccurateFlags => Flags::ACE,
        }
    }

    /// The variant that the receiver of a SYN with these bits agrees to: RFC 9768 (3.1.2), (3.1.3).
    fn answering(self, bits: Flags) -> Self {
        let is_classic = bits.has(Flags::CWR | Flags::ECE);
        match self {
            Self::Classic if is_classic => Self::Classic,
            Self::Accurate | Self::AccurateFlags if is_classic && !bits.has(Flags::AE) => Self::Classic,
            Self::Accurate | Self::AccurateFlags if bits.0 & Flags::ACE.0 != 0 => self,
            _ => Self::Off,
        }
    }

    /// The variant that the sender of the SYN uses after a SYN-ACK with these bits: RFC 3168 (6.1.1), RFC 9768 (3.1.2),
    /// (3.1.3).
    fn answered(self, bits: Flags) -> Self {
        let [ae, cwr, ece] = [Flags::AE, Flags::CWR, Flags::ECE].map(|bit| bits.has(bit));
        match self {
            Self::Classic if ece && !cwr => Self::Classic,
            Self::Accurate | Self::AccurateFlags => match (ae, cwr, ece) {
                (false, false, true) => Self::Classic,
                // The second has only thrown back the bits of the SYN.
                (false, false, false) | (true, true, true) => Self::Off,
                _ => self,
            },
            _ => Self::Off,
        }
    }
}

impl Serialize for Ecn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off | Self::Classic => serializer.serialize_bool(*self == Self::Classic),
            Self::Accurate => serializer.serialize_str("accurate"),
            Self::AccurateFlags => serializer.serialize_str("accurate_flags"),
        }
    }
}

impl<'de> Deserialize<'de> for Ecn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl Visitor<'_> for Name {
            type Value = Ecn;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, \"accurate\" or \"accurate_flags\"")
            }

            fn visit_bool<E: Error>(self, is_on: bool) -> Result<Ecn, E> {
                Ok(if is_on { Ecn::Classic } else { Ecn::Off })
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Ecn, E> {
                let known = Ecn::NAMES.iter().find(|(_, name, _)| *name == text);
                known
                    .map(|known| known.0)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(Name)
    }
}

impl schemars::JsonSchema for Ecn {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ecn".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let choice =
            |(ecn, _, about): (Self, &str, &str)| serde_json::json!({"const": ecn, "description": about});
        schemars::json_schema!({"oneOf": Self::NAMES.map(choice)})
    }
}

/// Result of the negotiation by the SYNs of both ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreement {
    /// Variant of ECN that both use.
    pub ecn: Ecn,
    /// The ECN field of the IP header with which the other endpoint's SYN or SYN-ACK came.
    came: u8,
    /// This endpoint has sent the SYN.
    is_client: bool,
    /// How the other endpoint saw the ECN field of this endpoint's SYN or SYN-ACK.
    seen: Seen,
    /// Whether the report was made in an ACK, whose bits then are no counter.
    is_in_ack: bool,
}

/// Reported ECN field of a SYN or SYN-ACK, for accurate ECN: RFC 9768 (3.1.1), (3.2.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Seen {
    /// No report, or an unknown one.
    #[default]
    Unknown,
    /// Zero, which no endpoint with accurate ECN says.
    Zero,
    /// This field.
    Field(u8),
}

impl Seen {
    /// Tables 2 and 3.
    const CODES: [(u8, u8); 4] =
        [(Packet::NOT_ECT, 0b010), (Packet::ECT_1, 0b011), (Packet::ECT_0, 0b100), (Packet::CE, 0b110)];

    fn of(packet: &Packet) -> Self {
        match Self::CODES.iter().find(|(_, code)| *code == packet.ace()) {
            Some((field, _)) => Self::Field(*field),
            None if packet.ace() == 0 => Self::Zero,
            None => Self::Unknown,
        }
    }
}

impl Agreement {
    /// The agreement assumed without a handshake.
    pub fn assumed(ecn: Ecn) -> Self {
        Self { ecn, ..Self::default() }
    }

    /// A SYN, or a SYN-ACK, arrived at an endpoint that offers `ours`.
    pub fn of_syn(ours: Ecn, packet: &Packet) -> Self {
        let is_client = packet.flags.has(Flags::ACK);
        let ecn = if is_client { ours.answered(packet.flags) } else { ours.answering(packet.flags) };
        let seen = if is_client && ecn.is_accurate() { Seen::of(packet) } else { Seen::Unknown };
        Self { ecn, came: packet.ecn(), is_client, seen, is_in_ack: false }
    }

    /// The SYN came again, with this ECN field: the latest counts, RFC 9768 (3.1.5).
    pub fn on_syn_again(&mut self, packet: &Packet) {
        self.came = packet.ecn();
    }

    /// The ACK of the SYN-ACK arrived. Without data and SACK blocks it reports the ECN field of the SYN-ACK: RFC 9768
    /// (3.2.2.1).
    pub fn on_ack_of_syn(&mut self, packet: &Packet) {
        if self.ecn.is_accurate() && packet.payload == 0 && !packet.has_blocks() {
            (self.seen, self.is_in_ack) = (Seen::of(packet), true);
        }
    }

    /// Completes a SYN-ACK, or the pure ACK of one: it reports the ECN field that the SYN, or the SYN-ACK, arrived
    /// with. It has the option to show the other end that the path forwards it (RFC 9768 (3.2.3.2.1)), unless that
    /// `is_in_doubt`.
    pub fn write_answer(self, packet: &mut Packet, is_in_doubt: bool) {
        match self.ecn {
            Ecn::Off => {}
            Ecn::Classic if packet.flags.has(Flags::SYN) => packet.flags = packet.flags | Flags::ECE,
            Ecn::Classic => {}
            Ecn::Accurate | Ecn::AccurateFlags => {
                let code = Seen::CODES.iter().find(|(field, _)| *field == self.came);
                packet.set_ace(code.map_or(0, |(_, code)| *code));
                if self.ecn == Ecn::Accurate && !is_in_doubt {
                    packet.options_mut().ecn = Counts::default().option();
                }
            }
        }
    }
}

/// Counters of a flow with ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// ACKs that reported marks to the sender: with ECE, or with a larger counter.
    pub echoes: u64,
    /// Windows that the sender has reduced for them.
    pub reductions: u64,
    /// Segments that arrived with CE at the receiver.
    pub marks: u64,
    /// With accurate ECN: the counters of the sender, which follow the receiver's, and the receiver's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accurate: Option<BothCounts>,
}

/// The counters of accurate ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct BothCounts {
    /// The sender's view.
    pub sender: Counts,
    /// The receiver's counters.
    pub receiver: Counts,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Form;

    /// Table 2 of RFC 9768: the client's offer, the server's support, and the negotiated ECN.
    #[test]
    fn the_endpoints_agree_on_what_both_have() {
        use Ecn::{Accurate, AccurateFlags, Classic, Off};
        for (client, server, agreed) in [
            (Accurate, Accurate, Accurate),
            (Accurate, AccurateFlags, Accurate),
            (Accurate, Classic, Classic),
            (Accurate, Off, Off),
            (Classic, Accurate, Classic),
            (Off, Accurate, Off),
            (Classic, Classic, Classic),
            (Classic, Off, Off),
        ] {
            let syn = Packet { flags: Flags::SYN | client.offer(), ..Packet::default() };
            let at_server = Agreement::of_syn(server, &syn);
            let mut answer = Packet { flags: Flags::SYN | Flags::ACK, ..Packet::default() };
            at_server.write_answer(&mut answer, false);
            let at_client = Agreement::of_syn(client, &answer);
            let is_same = at_server.ecn.is_accurate() == at_client.ecn.is_accurate();
            assert!(is_same && at_client.ecn == agreed, "{client:?} {server:?}: {at_client:?}");
        }
    }

    #[test]
    fn the_syn_ack_says_how_the_syn_came_and_the_ack_how_the_syn_ack_came() {
        for (field, bits) in Seen::CODES {
            let syn = Packet {
                flags: Flags::SYN | Flags::ACE,
                form: Form::TCP.with_ecn(field),
                ..Packet::default()
            };
            let mut answer = Packet {
                flags: Flags::SYN | Flags::ACK,
                form: Form::TCP.with_ecn(field),
                ..Packet::default()
            };
            Agreement::of_syn(Ecn::Accurate, &syn).write_answer(&mut answer, true);
            assert_eq!(answer.ace(), bits);
            let client = Agreement::of_syn(Ecn::Accurate, &answer);
            assert_eq!(client.seen, Seen::Field(field));
            let mut ack = Packet { flags: Flags::ACK, ..Packet::default() };
            client.write_answer(&mut ack, true);
            assert_eq!(ack.ace(), bits);
        }
    }

    /// RFC 9768 (3.1.2): broken servers reflect the bits. (3.1.3): reserved values count as accurate.
    #[test]
    fn bits_thrown_back_are_no_answer_and_reserved_ones_are() {
        let with = |bits: u16| Flags(bits << 6);
        assert_eq!(
            [0b111, 0b000, 0b001].map(|bits| Ecn::Accurate.answered(with(bits))),
            [Ecn::Off, Ecn::Off, Ecn::Classic]
        );
        assert_eq!(Ecn::Accurate.answered(with(0b101)), Ecn::Accurate);
        for bits in [0b001, 0b010, 0b100, 0b101, 0b110] {
            assert_eq!(Ecn::Accurate.answering(with(bits)), Ecn::Accurate);
        }
        assert_eq!(Ecn::Classic.answering(with(0b010)), Ecn::Off);
    }

    #[test]
    fn it_is_written_as_a_switch_or_by_name() {
        let read = |text: &str| serde_json::from_str::<Ecn>(text);
        for (ecn, text) in [(Ecn::Off, "false"), (Ecn::Classic, "true"), (Ecn::Accurate, "\"accurate\"")] {
            assert_eq!((serde_json::to_string(&ecn).unwrap().as_str(), read(text).unwrap()), (text, ecn));
        }
        assert_eq!(read("\"true\"").unwrap(), Ecn::Classic);
        let error = read("\"exact\"").unwrap_err().to_string();
        assert!(error.contains("expected true, false, \"accurate\" or \"accurate_flags\""), "{error}");
    }
}
