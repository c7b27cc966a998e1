//! ECN at the sender: its response to reported marks, and the selection of segments that can be marked.

use super::accurate::Follower;
use super::{Agreement, BothCounts, Counts, Ecn, Report, Seen};
use crate::packet::{Flags, Packet};
use crate::tcp::Transmit;
use crate::tcp::cc::{CongestionControl, Marks};
use crate::tcp::window::state::{Phase, State};
use crate::time::Instant;
use crate::trace::SendCause;

/// The half of the sender.
#[derive(Debug)]
pub(in crate::tcp) struct Sending {
    /// The code point of segments that can be marked.
    ect: u8,
    /// Counters of accurate ECN.
    follower: Option<Follower>,
    /// The next ACK has been read in the handshake.
    was_read: bool,
    /// Whether reports of marks are ignored.
    is_deaf: bool,
    /// End of the data sent when the sender last responded to a mark: earlier echoes belong to marks covered by that
    /// response.
    end: Option<u64>,
    /// Bytes with CE so far, with accurate ECN.
    marked: u64,
    report: Report,
}

/// An echoed mark, read before the rest of its ACK is processed.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Echo {
    /// The congestion window before the ACK, beyond which it does not grow.
    cwnd: f64,
    /// The threshold for the reduction of the window, if it was not yet reduced in this window of data.
    ssthresh: Option<f64>,
}

impl Sending {
    /// If ECN is offered or agreed on; `ect` is the code point that the congestion control uses with accurate ECN.
    pub fn new(ecn: Ecn, ect: u8) -> Option<Self> {
        if ecn == Ecn::Off {
            return None;
        }
        let is_accurate = ecn.is_accurate();
        Some(Self {
            ect: if is_accurate { ect } else { Packet::ECT_0 },
            follower: is_accurate.then(Follower::default),
            was_read: false,
            is_deaf: false,
            end: None,
            marked: 0,
            report: Report::default(),
        })
    }

    /// Applies the result of the negotiation. If the other endpoint reports that a SYN or SYN-ACK arrived with another
    /// ECN field than it was sent with, the path modifies it, and nothing may be marked from now on: RFC 9768
    /// (3.2.2.3). Reports of marks are ignored if it reported nothing where it should (3.2.2.1).
    pub fn agreed(&self, agreement: &Agreement) -> Option<Self> {
        let mut sending = Self::new(agreement.ecn, self.ect)?;
        if let Some(follower) = &mut sending.follower {
            let seen = agreement.seen;
            sending.was_read = agreement.is_in_ack;
            sending.is_deaf = seen == Seen::Zero;
            if !matches!(seen, Seen::Unknown | Seen::Field(Packet::NOT_ECT)) {
                sending.ect = Packet::NOT_ECT;
            }
            // The SYN-ACK came with CE.
            let is_marked = seen == Seen::Field(Packet::CE) && agreement.is_in_ack;
            follower.told.ce_packets = u64::from(is_marked);
        }
        Some(sending)
    }

    /// Bytes with CE that the other endpoint has reported; `None` without accurate ECN.
    pub fn marked(&self) -> Option<u64> {
        self.follower.as_ref().map(|_| self.marked)
    }

    /// The window has been reduced, for any reason, when `max` bytes had been sent. With classic ECN the next new
    /// segment says so (CWR).
    pub fn on_reduction(&mut self, max: u64) {
        self.end = Some(max);
    }

    /// With accurate ECN: the marks that an ACK reports. The flags of a SYN-ACK belong to the handshake, and so may
    /// those of an ACK that acknowledges nothing new: RFC 9768 (3.2.2.2).
    fn read(&mut self, packet: &Packet, (ack, blocks): (u64, &[(u64, u64)]), state: &State) -> Marks {
        let delivered = state.newly_delivered(ack, blocks);
        let was_read = std::mem::take(&mut self.was_read) || packet.flags.has(Flags::SYN);
        let is_of_handshake = was_read || ack == 0 && delivered.0 == 0;
        let Some(follower) = self.follower.as_mut().filter(|_| !is_of_handshake && !self.is_deaf) else {
            return Marks::default();
        };
        follower.read(packet, delivered, state.mss())
    }

    /// An ACK of `ack` with SACK `blocks` arrived. `None` if it reports no mark, if a loss has already reduced the
    /// window, or if the congestion control models the path and sets the window itself.
    pub fn on_ack(
        &mut self,
        packet: &Packet,
        now: Instant,
        (ack, blocks): (u64, &[(u64, u64)]),
        state: &State,
        cc: &mut dyn CongestionControl,
    ) -> Option<Echo> {
        let is_accurate = self.follower.is_some();
        let is_marked = if is_accurate {
            let marks = self.read(packet, (ack, blocks), state);
            cc.on_marks(now, &marks, ack, state);
            self.marked += marks.bytes;
            marks.packets > 0
        } else {
            packet.flags.has(Flags::ECE) && !packet.flags.has(Flags::SYN)
        };
        if !is_marked {
            return None;
        }
        self.report.echoes += 1;
        if matches!(state.phase, Phase::Recovery | Phase::Loss) || cc.model().is_some() {
            return None;
        }
        let is_new = self.end.is_none_or(|end| ack > end);
        let ssthresh = match is_accurate {
            _ if !is_new => None,
            true => {
                // A mark that reduces nothing uses up its window of data, too: Linux is in CWR until that is acknowledged.
                self.end = Some(state.max);
                cc.ssthresh_after_marks(now, state)
            }
            false => Some(cc.ssthresh_after_loss(state)),
        };
        let grows = is_accurate && cc.grows_beside_marks();
        Some(Echo { cwnd: if grows { f64::INFINITY } else { state.window.cwnd }, ssthresh })
    }

    /// The ACK with the echo was processed and started no recovery: the window is reduced as for a loss, but once per
    /// window of data and without a retransmission.
    pub fn answer(&mut self, echo: Echo, state: &mut State, cc: &mut dyn CongestionControl) {
        let window = &mut state.window;
        window.cwnd = window.cwnd.min(echo.cwnd);
        if let Some(ssthresh) = echo.ssthresh {
            self.report.reductions += 1;
            window.ssthresh = ssthresh;
            window.cwnd = window.cwnd.min(ssthresh);
            self.on_reduction(state.max);
            cc.on_reduced();
        }
    }

    /// Completes the header of a segment of data, or of a probe.
    #[cold]
    pub fn write(&self, transmit: &Transmit, packet: &mut Packet) {
        if packet.flags.has(Flags::SYN) {
            return;
        }
        if self.follower.is_some() {
            // No packet that could be marked has arrived from the other end; with data in that direction, the receiver
            // writes the counter.
            packet.set_ace(Counts::default().ace());
        }
        if transmit.len == 0 || !matches!(transmit.cause, SendCause::New | SendCause::LimitedTransmit) {
            return;
        }
        packet.set_ecn(self.ect);
        if self.end == Some(transmit.seq) && self.follower.is_none() {
            packet.flags = packet.flags | Flags::CWR;
        }
    }

    /// Counters of this end.
    pub fn report(&self) -> Report {
        let accurate = self
            .follower
            .as_ref()
            .map(|follower| BothCounts { sender: follower.counts(), receiver: Counts::default() });
        Report { accurate, ..self.report }
    }
}
