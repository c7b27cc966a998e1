//! The sender where it has agreed on ECN: RFC 3168 (6.1.2). Other flows never come here.

use super::Sender;
use crate::packet::{Flags, Packet};
use crate::tcp::ecn;
use crate::tcp::state::Phase;
use crate::time::Instant;

impl Sender {
    /// An ACK, which may echo a mark. The window is then halved, as for a loss, but once in a window of data and
    /// without sending anything again; and it does not grow.
    #[cold]
    pub(super) fn handle_ack_with_ecn(&mut self, now: Instant, ack: u64, same_window: bool, packet: &Packet) {
        // The ECE of a SYN-ACK belongs to the handshake.
        let echoes = packet.flags.has(Flags::ECE) && !packet.flags.has(Flags::SYN);
        let before = self.state.window.cwnd;
        let in_recovery = matches!(self.state.phase, Phase::Recovery | Phase::Loss);
        let is_news = self.ecn.as_ref().is_some_and(|ecn| ecn.is_news(ack));
        let reduced = (echoes && is_news && !in_recovery).then(|| self.cc.ssthresh_after_loss(&self.state));
        self.handle_any_ack(now, ack, same_window, packet);
        let state = &mut self.state;
        let Some(ecn) = &mut self.ecn else { return };
        let lost = state.losses.fast_retransmits() > ecn.fast_retransmits;
        if lost {
            ecn.fast_retransmits = state.losses.fast_retransmits();
            ecn.on_reduction(state.max);
        }
        if !echoes {
            return;
        }
        ecn.echoes += 1;
        if lost || in_recovery {
            return;
        }
        state.window.cwnd = state.window.cwnd.min(before);
        if let Some(reduced) = reduced {
            ecn.reductions += 1;
            ecn.on_reduction(state.max);
            state.window.ssthresh = reduced;
            state.window.cwnd = state.window.cwnd.min(reduced);
        }
    }

    /// What has been counted of ECN, if it is in use: echoes and reductions.
    pub fn ecn(&self) -> Option<ecn::Report> {
        let ecn = self.ecn.as_ref()?;
        Some(ecn::Report { echoes: ecn.echoes, reductions: ecn.reductions, marks: 0 })
    }
}
