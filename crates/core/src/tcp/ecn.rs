//! Explicit congestion notification, both halves: RFC 3168 (6.1).
//!
//! A router marks a packet (CE) instead of dropping it. The receiver echoes the mark in every ACK (ECE) until the
//! sender says that it has reduced its window (CWR). Negotiated in the SYN and the SYN-ACK; where there is no
//! handshake, both ends are taken to have agreed. Data sent for the first time can be marked (ECT(0)); SYNs, pure
//! ACKs, retransmissions and probes of a closed window cannot (6.1.1, 6.1.4 to 6.1.6).
//!
//! DEVIATION: at a window of one segment the sender goes on with one, instead of waiting for its timer
//! (6.1.2). Left out: the nonce (RFC 3540), fallback to a SYN without ECN (6.1.1.1).

use super::Transmit;
use crate::packet::{Flags, Packet};
use crate::trace::SendCause;

/// What a flow with ECN has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// ACKs with ECE that the sender received.
    pub echoes: u64,
    /// Windows that the sender has reduced for them.
    pub reductions: u64,
    /// Segments that arrived with CE at the receiver.
    pub marks: u64,
}

/// The half of the sender.
#[derive(Debug, Default)]
pub(super) struct Sending {
    /// End of what had been sent when the window was reduced last: before that, an echo is no news.
    pub end: Option<u64>,
    /// Fast retransmits so far: each is a reduction too.
    pub fast_retransmits: u64,
    pub echoes: u64,
    pub reductions: u64,
}

impl Sending {
    /// The window has been reduced, for whatever reason, when `max` bytes had been sent: the next new segment says
    /// so.
    pub fn on_reduction(&mut self, max: u64) {
        self.end = Some(max);
    }

    /// Whether an echo with the acknowledgment `ack` tells of a mark that the sender has not reacted to.
    pub fn is_news(&self, ack: u64) -> bool {
        self.end.is_none_or(|end| ack > end)
    }

    /// Completes the header of a segment of data.
    #[cold]
    pub fn write(&self, transmit: &Transmit, packet: &mut Packet) {
        let is_first = matches!(transmit.cause, SendCause::New | SendCause::LimitedTransmit);
        if !is_first || packet.flags.has(Flags::SYN) {
            return;
        }
        packet.ecn = Packet::ECT_0;
        if self.end == Some(transmit.seq) {
            packet.flags = packet.flags | Flags::CWR;
        }
    }
}

/// The half of the receiver.
#[derive(Debug, Default)]
pub(super) struct Receiving {
    echoes: bool,
    /// Segments that arrived with CE.
    pub marks: u64,
}

impl Receiving {
    /// A segment of data arrived. One with CWR may be marked itself.
    #[cold]
    pub fn on_data(&mut self, packet: &Packet) {
        let is_marked = packet.ecn == Packet::CE;
        self.marks += u64::from(is_marked);
        self.echoes = is_marked || self.echoes && !packet.flags.has(Flags::CWR);
    }

    /// What an acknowledgment says.
    pub fn flags(&self) -> Flags {
        if self.echoes { Flags::ECE } else { Flags::default() }
    }
}
