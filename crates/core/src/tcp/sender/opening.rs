//! What a sender takes from the handshake.

use super::Sender;
use crate::packet::{Flags, Packet};
use crate::tcp::recovery;
use crate::time::Instant;

impl Sender {
    /// The handshake has just been completed.
    #[cold]
    pub(super) fn established(&mut self, now: Instant) {
        if self.reads_sack && !self.handshake.permits_sack() {
            self.reads_sack = false;
            if self.uses_scoreboard {
                self.uses_scoreboard = false;
                self.recovery = recovery::Config::default().build();
            }
        }
        if self.ecn.take_if(|_| !self.handshake.permits_ecn()).is_some() {
            self.plain_from = 1;
        }
        if let Some(sent_at) = self.handshake.sent_at() {
            self.sample(now, sent_at);
        }
        if self.handshake.lost_syn() {
            // RFC 5681 (3.1), RFC 6298 (5.7).
            self.state.window.cwnd = self.state.window.mss;
            self.rto.on_lost_syn();
        }
    }

    /// What the other endpoint's SYN says of its window. RFC 7323 (2.3).
    pub(super) fn take_options(&mut self, packet: &Packet) {
        if packet.flags.has(Flags::SYN) {
            self.peer_shift = packet.options().window_scale_plus_1.saturating_sub(1);
            self.state.rwnd = u64::from(packet.window);
        }
    }
}
