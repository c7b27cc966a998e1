//! The sender where it acts on radio network feedback: [`crate::tcp::rnf`]. Other flows never come here.

use super::Sender;
use crate::packet::{Flags, Packet};
use crate::tcp::rnf;
use crate::tcp::state::Phase;
use crate::time::Instant;
use crate::trace::SendCause;

impl Sender {
    /// A duplicate ACK that advances nothing, which may say that the radio has lost the segment.
    #[cold]
    pub(super) fn handle_dupack_with_rnf(&mut self, now: Instant, packet: &Packet) {
        if self.is_frozen() {
            return;
        }
        let Some(feedback) = &mut self.rnf else { return self.handle_dupack(now) };
        let una = self.state.una;
        let acts = packet.flags.has(Flags::RNF) && packet.payload == 0 && feedback.on_flagged(una);
        let is_open = matches!(self.state.phase, Phase::Open | Phase::Disorder);
        let is_repaired = self.state.repaired == Some(una);
        if !is_open || !acts && !is_repaired {
            return self.handle_dupack(now);
        }
        if !is_repaired {
            feedback.report.wireless_fast_retransmits += 1;
            self.state.repaired = Some(una);
            self.state.retransmit = Some((una, SendCause::WirelessFastRetransmit));
            self.state.limited_transmit = 0;
            self.rto_deadline = Some(now + self.rto.value());
            // Karn's algorithm.
            self.timed = None;
        }
        self.cc.on_arrival(now, &self.state.window, 0);
        self.counters.dupacks += 1;
        self.state.dupacks += 1;
        self.state.phase = Phase::Disorder;
        if !self.uses_scoreboard {
            // As in fast recovery; the scoreboard has its pipe instead.
            self.state.inflation = i64::from(self.state.dupacks) * self.state.mss() as i64;
        }
    }

    /// What has been counted of radio network feedback, if the sender acts on it.
    pub fn rnf(&self) -> Option<rnf::Report> {
        self.rnf.as_ref().map(|feedback| feedback.report)
    }
}
