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
use super::cc::CongestionControl;
use super::window::state::{Phase, State};
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
    /// End of what had been sent when the window was reduced last: echoes before that are of marks answered by it.
    end: Option<u64>,
    pub report: Report,
}

/// An echoed mark, read before the rest of its ACK is taken in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Echo {
    /// The congestion window before the ACK: it does not grow.
    cwnd: f64,
    /// The threshold to which the window is reduced, if it was not yet reduced for this window of data.
    ssthresh: Option<f64>,
}

impl Sending {
    /// The window has been reduced, for whatever reason, when `max` bytes had been sent: the next new segment says
    /// so (CWR).
    pub fn on_reduction(&mut self, max: u64) {
        self.end = Some(max);
    }

    /// An ACK of `ack` arrived. `None` if it echoes no mark, or a loss has reduced the window already. The ECE of a
    /// SYN-ACK belongs to the handshake.
    pub fn on_ack(
        &mut self,
        ack: u64,
        flags: Flags,
        state: &State,
        cc: &mut dyn CongestionControl,
    ) -> Option<Echo> {
        if !flags.has(Flags::ECE) || flags.has(Flags::SYN) {
            return None;
        }
        self.report.echoes += 1;
        if matches!(state.phase, Phase::Recovery | Phase::Loss) {
            return None;
        }
        let is_new = self.end.is_none_or(|end| ack > end);
        let ssthresh = is_new.then(|| cc.ssthresh_after_loss(state));
        Some(Echo { cwnd: state.window.cwnd, ssthresh })
    }

    /// The ACK with the echo was taken in, and no recovery began: the window is halved as for a loss, but once in a
    /// window of data and without sending anything again.
    pub fn answer(&mut self, echo: Echo, state: &mut State) {
        let window = &mut state.window;
        window.cwnd = window.cwnd.min(echo.cwnd);
        if let Some(ssthresh) = echo.ssthresh {
            self.report.reductions += 1;
            window.ssthresh = ssthresh;
            window.cwnd = window.cwnd.min(ssthresh);
            self.on_reduction(state.max);
        }
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
