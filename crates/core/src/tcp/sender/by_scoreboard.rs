//! The sender where the SACK scoreboard (RFC 6675) or the detection of spurious recoveries (`undo`) has a say: what an
//! ACK means, and what is sent next. Flows that use neither, nor ECN, nor radio network feedback, never come here.

use super::{Sender, Transmit};
use crate::packet::{Flags, Packet, SackBlocks};
use crate::tcp::handshake::unwrap_sequence;
use crate::tcp::recovery::Next;
use crate::tcp::scoreboard::SackNews;
use crate::tcp::state::Phase;
use crate::tcp::undo::{Ack, Verdict};
use crate::time::Instant;
use crate::trace::SendCause;

impl Sender {
    /// An ACK where SACK blocks, the detection of spurious recoveries or ECN matter.
    #[cold]
    pub(super) fn handle_ack(&mut self, now: Instant, ack: u64, same_window: bool, packet: &Packet) {
        if self.ecn.is_some() {
            self.handle_ack_with_ecn(now, ack, same_window, packet);
        } else {
            self.handle_any_ack(now, ack, same_window, packet);
        }
    }

    /// The same, whether it echoes a mark or not.
    pub(super) fn handle_any_ack(&mut self, now: Instant, ack: u64, same_window: bool, packet: &Packet) {
        if self.rnf.is_some() && self.handle_nack(now, ack, packet) {
            return;
        }
        if let Some(mut rack) = self.rack.take() {
            rack.handle_ack(self, now, ack, packet);
            self.rack = Some(rack);
            return;
        }
        let before = (self.prr.is_some() || self.duplicates.is_some()).then(|| self.before_ack());
        self.handle_ack_by_scoreboard(now, ack, same_window, packet);
        if let Some(before) = before {
            self.reduce_proportionally(&before);
        }
    }

    /// An ACK of what has been acknowledged already, or was never sent, arrived.
    #[cold]
    pub(super) fn handle_old_ack(&mut self, now: Instant, ack: u64, packet: &Packet) {
        if ack > self.state.max || !packet.flags.has(Flags::ACK) {
            return;
        }
        if let Some(mut rack) = self.rack.take() {
            rack.handle_old_ack(self, now, ack, packet);
            self.rack = Some(rack);
        }
    }

    fn handle_ack_by_scoreboard(&mut self, now: Instant, ack: u64, same_window: bool, packet: &Packet) {
        let una = self.state.una;
        self.rto.set_sent(ack, self.state.max);
        let news = self.take_sack(ack, packet);
        // RFC 6675 (2): new SACK information makes a duplicate ACK, whatever else the segment does.
        let is_dupack = match self.uses_scoreboard {
            true => news.sacked > 0,
            false => ack == una && packet.payload == 0 && same_window && self.state.max > una,
        };
        match self.judge(ack, is_dupack, news, packet) {
            Verdict::Spurious => return self.take_back(now, ack, packet),
            Verdict::Genuine => {
                // RFC 5682 (2.1) step 3a: two round trips have passed since the timeout.
                self.probe = None;
                self.state.nxt = una;
                self.state.window.cwnd = 3.0 * self.state.window.mss;
            }
            Verdict::Probe => self.probe = Some(2),
            Verdict::Open => {}
        }
        let samples = self.counters.rtt_samples;
        if ack > una {
            self.handle_new_ack(now, ack, packet);
        }
        if is_dupack && self.rnf.is_some() && (ack == una || self.is_named(ack)) {
            self.handle_dupack_with_rnf(now, packet);
        } else if is_dupack {
            self.handle_dupack(now);
        }
        if self.adapt_timer(ack, samples) {
            self.rto_deadline = self.rto_deadline.map(|_| now + self.rto.value());
        }
    }

    /// RFC 4015 (3.2) step 8: after a spurious timeout, the first sample of new data. `samples` is how many there
    /// were before this ACK.
    pub(super) fn adapt_timer(&mut self, ack: u64, samples: u64) -> bool {
        let Some((prior, _)) =
            self.adapts.take_if(|(_, end)| ack > *end && self.counters.rtt_samples > samples)
        else {
            return false;
        };
        prior.adapt(&mut self.rto, self.counters.rtt_last);
        true
    }

    /// Reads SACK blocks into the scoreboard.
    fn take_sack(&mut self, ack: u64, packet: &Packet) -> SackNews {
        let (blocks, count) = self.sack_blocks(packet);
        if count == 0 { SackNews::default() } else { self.state.update_scoreboard(ack, &blocks[..count]) }
    }

    /// The SACK blocks of an ACK as offsets, and how many.
    pub(super) fn sack_blocks(&self, packet: &Packet) -> ([(u64, u64); SackBlocks::MAX], usize) {
        let una = self.state.una;
        let mut blocks = [(0, 0); SackBlocks::MAX];
        let mut count = 0;
        if !self.reads_sack || packet.options.is_none() {
            return (blocks, count);
        }
        for (left, right) in packet.options().sack.as_slice() {
            let offset = |wire| unwrap_sequence(una, self.handshake.wire_seq(una), wire);
            if let (Some(left), Some(right)) = (offset(*left), offset(*right)) {
                blocks[count] = (left, right);
                count += 1;
            }
        }
        (blocks, count)
    }

    /// What the ACK tells of the latest loss.
    pub(super) fn judge(&mut self, ack: u64, is_dupack: bool, news: SackNews, packet: &Packet) -> Verdict {
        let (Some(undo), state) = (&mut self.undo, &self.state) else { return Verdict::Open };
        if let Some(prior) = &mut self.prior {
            prior.dupacks = prior.dupacks.max(state.dupacks);
        }
        let len = state.mss().min(self.supplied - state.max);
        let can_send_new = len > 0 && state.max + len <= ack + state.peer_window();
        undo.on_ack(state, &Ack { ack, is_dupack, ts_ecr: packet.ts_ecr, news, can_send_new })
    }

    /// The latest loss recovery was spurious, says this ACK: RFC 4015 (3.2).
    fn take_back(&mut self, now: Instant, ack: u64, packet: &Packet) {
        let acked = ack - self.state.una;
        self.advance(now, ack, packet);
        if self.restore(acked) {
            let in_flight = self.state.max > self.state.una;
            self.rto_deadline = in_flight.then(|| now + self.rto.value());
        }
    }

    /// Restores the windows after a spurious recovery, if it is known what they were; `acked` bytes were acknowledged
    /// by the ACK that told.
    pub(super) fn restore(&mut self, acked: u64) -> bool {
        self.probe = None;
        self.timed = None;
        let (Some(prior), Some(undo)) = (self.prior.take(), &self.undo) else { return false };
        self.state.losses.on_undo();
        prior.restore(&mut self.state, undo.response(), acked, self.initial_window);
        self.cc.on_undo();
        if prior.is_timeout {
            self.counters.spurious_timeouts += 1;
            self.timed_out = false;
            self.adapts = undo.adapts_timer().then_some((prior, self.state.max));
        } else {
            self.counters.spurious_fast_retransmits += 1;
            if let Some(fixed) = self.fixed_threshold {
                // One segment that is late can bring a duplicate ACK for each of the others.
                let state = &mut self.state;
                let most = ((state.window.cwnd / state.window.mss) as u32).saturating_sub(1).max(fixed);
                state.dupack_threshold = state.dupack_threshold.max(prior.dupacks + 1).min(most);
            }
        }
        true
    }

    /// New data instead of going back: RFC 5682 (2.1) step 2b.
    #[cold]
    pub(super) fn poll_probe(&mut self, now: Instant, segments: u32) -> Option<Transmit> {
        let state = &self.state;
        let len = state.mss().min(self.supplied - state.max);
        if segments == 0 || len == 0 || state.max + len > state.una + state.peer_window() {
            return None;
        }
        self.probe = Some(segments - 1);
        Some(self.send_new(now, len, SendCause::New))
    }

    /// The next segment after duplicate ACKs or a timeout: RFC 6675 (5), (5.1).
    #[cold]
    pub(super) fn poll_by_scoreboard(&mut self, now: Instant) -> Option<Transmit> {
        let state = &mut self.state;
        let window_end = state.una + state.peer_window();
        let new_bytes = state.mss().min(self.supplied - state.max);
        let can_send_new = new_bytes > 0 && state.max + new_bytes <= window_end;
        let beyond_cwnd = state.max + new_bytes > state.una + state.send_window();
        let next = match state.phase {
            Phase::Recovery => self.recovery.next_segment(state, can_send_new)?,
            Phase::Open | Phase::Disorder if !beyond_cwnd => can_send_new.then_some(Next::New)?,
            Phase::Open | Phase::Disorder if state.limited_transmit_enabled || state.is_under_repair() => {
                self.recovery.next_segment(state, can_send_new)?
            }
            Phase::Open | Phase::Disorder => return None,
            Phase::Loss => {
                // Go back, but not over what has been reported since.
                let nxt = state.nxt;
                let mut behind = state.segments.iter().filter(|segment| segment.start >= nxt);
                let hole = behind.find(|segment| !segment.is_sacked).copied();
                let len = hole.map_or(new_bytes, |hole| u64::from(hole.len));
                if state.unsacked_flight() + len > state.send_window() && !self.timed_out {
                    return None;
                }
                match hole {
                    // As without a scoreboard: RFC 1122 (4.2.2.16).
                    Some(hole) if hole.end() <= window_end || self.timed_out => {
                        state.nxt = hole.end();
                        let cause = if self.timed_out { SendCause::Timeout } else { SendCause::GoBackN };
                        let length = self.mark_sent_again(now, hole.start)?;
                        return Some(self.sent(now, hole.start, length, cause));
                    }
                    Some(_) => return None,
                    None => can_send_new.then_some(Next::New)?,
                }
            }
        };
        match next {
            Next::Again(seq) => {
                let len = self.mark_sent_again(now, seq)?;
                Some(self.sent(now, seq, len, SendCause::Sack))
            }
            Next::New => {
                let is_limited =
                    beyond_cwnd && self.state.phase == Phase::Disorder && !self.state.is_under_repair();
                let cause = if is_limited { SendCause::LimitedTransmit } else { SendCause::New };
                Some(self.send_new(now, new_bytes, cause))
            }
        }
    }
}
