//! The sender where it acts on radio network feedback: [`crate::tcp::rnf`]. Other flows never come here.

use super::{Sender, Transmit};
use crate::packet::{Flags, Packet};
use crate::tcp::handshake::unwrap_sequence;
use crate::tcp::rnf;
use crate::tcp::state::Phase;
use crate::time::Instant;
use crate::trace::SendCause;

impl Sender {
    /// A NACK: sends again what its SACK blocks leave out. Returns false if this is none, or nobody acts on it.
    #[cold]
    pub(super) fn handle_nack(&mut self, now: Instant, ack: u64, packet: &Packet) -> bool {
        if !self.reads_sack || self.rnf.is_none() || !rnf::is_nack(packet) {
            return false;
        }
        if ack > self.state.una {
            self.handle_new_ack(now, ack, packet);
        }
        let una = self.state.una;
        let gaps = self.gaps_in(packet);
        let Some(feedback) = &mut self.rnf else { return false };
        feedback.report.nacks += 1;
        feedback.forget_before(una);
        // After a timeout everything is on its way again.
        if self.state.phase == Phase::Loss {
            return true;
        }
        let srtt = self.rto.srtt();
        let patience = if srtt.is_zero() { self.rto.value() } else { srtt };
        for (left, right) in gaps {
            let from = self.state.segments.partition_point(|segment| segment.start < left);
            for segment in self.state.segments.range(from..).take_while(|segment| segment.end() <= right) {
                let is_under_way = segment.transmissions > 1 && now.since(segment.sent_at) < patience;
                if !segment.is_sacked && !is_under_way && feedback.on_named(segment.start) {
                    feedback.again.push_back(segment.start);
                }
            }
        }
        if !feedback.again.is_empty() {
            if self.state.phase == Phase::Open {
                self.state.phase = Phase::Disorder;
            }
            self.rto_deadline = Some(now + self.rto.value());
            // Karn's algorithm.
            self.timed = None;
        }
        true
    }

    /// What the blocks of a NACK leave out, as offsets, from the lowest on.
    fn gaps_in(&self, packet: &Packet) -> Vec<(u64, u64)> {
        let una = self.state.una;
        let wire_una = self.handshake.wire_seq(una);
        let offset = |wire| unwrap_sequence(una, wire_una, wire);
        let blocks = packet.options().sack.as_slice().iter();
        let mut blocks: Vec<_> = blocks
            .filter_map(|(left, right)| offset(*left).zip(offset(*right)))
            .filter(|(l, r)| l < r)
            .collect();
        blocks.sort_unstable();
        let mut end = una;
        let mut gaps = Vec::new();
        for (left, right) in blocks.into_iter().filter(|(_, right)| *right <= self.state.max) {
            if left > end {
                gaps.push((end, left));
            }
            end = end.max(right);
        }
        gaps
    }

    /// The next segment that a NACK has named.
    #[inline]
    pub(super) fn poll_named(&mut self, now: Instant) -> Option<Transmit> {
        let seq = self.rnf.as_mut()?.again.pop_front()?;
        let len = self.mark_sent_again(now, seq)?;
        if let Some(feedback) = &mut self.rnf {
            feedback.report.wireless_fast_retransmits += 1;
        }
        Some(self.sent(now, seq, len, SendCause::WirelessFastRetransmit))
    }

    /// Whether a NACK has had the segment at `una` sent again.
    pub(super) fn is_named(&self, una: u64) -> bool {
        self.rnf.as_ref().is_some_and(|feedback| feedback.has_repaired(una))
    }

    /// A duplicate ACK that advances nothing, which may say that the radio has lost the segment.
    #[cold]
    pub(super) fn handle_dupack_with_rnf(&mut self, now: Instant, packet: &Packet) {
        if self.is_frozen() {
            return;
        }
        let Some(feedback) = &mut self.rnf else { return self.handle_dupack(now) };
        let una = self.state.una;
        let acts = packet.flags.has(Flags::RNF) && packet.payload == 0 && feedback.on_flagged(una);
        if feedback.has_repaired(una) {
            self.state.repaired = Some(una);
        }
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
        self.cc.on_arrival(now, &mut self.state, 0);
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
