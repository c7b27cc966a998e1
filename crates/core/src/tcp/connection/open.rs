//! The synchronized states, ESTABLISHED to TIME-WAIT: RFC 9293 (3.6, 3.10.7.4), RFC 5961, RFC 7323 (5).
//!
//! A FIN takes one octet of the sequence space, so the inner sender and receiver treat it as one more octet, the last.
//! On output the segment that holds it loses that octet and gets the FIN bit; on input the bit becomes an octet. Sender
//! and receiver thus handle retransmission, acknowledgment, order and a closed window without knowing about the FIN,
//! except that accurate ECN does not count that octet.

use super::acceptance::{Acceptance, Challenges, Place};
use super::octets::Octets;
use super::reset::Reset;
use super::{Ended, Limits, Sent, State};
use crate::packet::{Flags, Packet};
use crate::tcp::duplex::Outgoing;
use crate::tcp::handshake::{Opened, Role};
use crate::tcp::{Config, Duplex};
use crate::time::Instant;
use crate::trace::SendCause;

/// Minimum and maximum size of the send buffer, octets; in between it is twice the send window.
const SEND_BUFFER: (u64, u64) = (64 << 10, 4 << 20);

/// Result of a segment or a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The connection continues.
    GoesOn,
    /// The connection has ended; a reset may have to be sent.
    Ended(Ended, Option<Reset>),
}

/// A connection whose SYNs have been exchanged.
pub(super) struct Open {
    pub duplex: Duplex,
    pub state: State,
    acceptance: Acceptance,
    challenges: Challenges,
    /// Octets written by the application and not acknowledged by the other endpoint.
    sending: Octets,
    /// Offset of this end's FIN, once the application has closed.
    pub fin: Option<u64>,
    /// Octets received, in order or not, and not yet read.
    receiving: Octets,
    /// Offset of the next octet to be read.
    read: u64,
    /// Offset of the other endpoint's FIN, once it is known.
    peer_fin: Option<u64>,
    /// The application will read no more.
    is_deaf: bool,
    /// End offset (exclusive) of the octets ever sent, including probes of a closed window.
    sent_end: u64,
    /// Since when the other endpoint has failed to acknowledge outstanding octets.
    unanswered_since: Instant,
    /// End of TIME-WAIT, or of waiting for a FIN after the owner has closed.
    timer: Option<Instant>,
}

impl Open {
    /// ESTABLISHED, with the configuration that both ends agreed on.
    pub fn new(now: Instant, config: &Config, opened: &Opened) -> Self {
        let mut duplex = Duplex::new(config, Role::Active);
        duplex.receiver.hold(config.receive_buffer.as_u64());
        duplex.adopt(now, opened);
        Self {
            duplex,
            state: State::Established,
            acceptance: Acceptance::new(now, config, opened),
            challenges: Challenges::default(),
            sending: Octets::default(),
            fin: None,
            receiving: Octets::default(),
            read: 0,
            peer_fin: None,
            is_deaf: false,
            sent_end: 0,
            unanswered_since: now,
            timer: None,
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.duplex.deadline().into_iter().chain(self.timer).min()
    }

    /// The deadline has passed.
    pub fn handle_deadline(&mut self, now: Instant, limits: &Limits) -> Verdict {
        if self.timer.is_some_and(|at| at <= now) {
            return Verdict::Ended(Ended::Closed, None);
        }
        let before = self.duplex.deadline();
        self.duplex.handle_deadline(now);
        let is_outstanding = self.sent_end > self.duplex.sender().state().una;
        if is_outstanding
            && before.is_some_and(|at| at <= now)
            && now.since(self.unanswered_since) >= limits.data
        {
            return Verdict::Ended(Ended::TimedOut, Some(self.reset()));
        }
        Verdict::GoesOn
    }

    /// A segment arrived; `payload` are the octets of `packet`. The packet is used up.
    pub fn handle_segment(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        payload: &[u8],
        limits: &Limits,
    ) -> Verdict {
        let place = self.acceptance.place(now, &self.duplex, packet, self.sent_end);
        match place {
            Place::Unacceptable => {}
            Place::Reset if self.state == State::TimeWait => return Verdict::Ended(Ended::Closed, None),
            Place::Reset => return Verdict::Ended(Ended::Reset, None),
            Place::Challenged => self.challenge(now),
            Place::Old => self.handle_old(now, packet, limits),
            Place::Acceptable(start) => return self.handle_acceptable(now, packet, payload, start, limits),
        }
        Verdict::GoesOn
    }

    /// RFC 5961 (3.2, 4.2, 5.2): a challenge ACK with the expected number, at most as often as (7) permits.
    fn challenge(&mut self, now: Instant) {
        if self.challenges.permit(now) {
            self.duplex.acknowledge();
        }
    }

    /// The segment has been acknowledged before; the acknowledgment may have been lost.
    fn handle_old(&mut self, now: Instant, packet: &mut Packet, limits: &Limits) {
        if packet.flags.has(Flags::FIN) && self.state == State::TimeWait {
            // RFC 9293 (3.10.7.4): "acknowledge it, and restart the 2 MSL timeout".
            self.timer = Some(now + limits.time_wait);
        }
        if packet.payload > 0 {
            // The receiver reports to the sender which data arrived twice.
            self.duplex.handle_data(now, packet);
        } else if packet.flags.has(Flags::FIN) {
            self.duplex.acknowledge();
        } else {
            self.challenge(now);
        }
    }

    fn handle_acceptable(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        payload: &[u8],
        start: u64,
        limits: &Limits,
    ) -> Verdict {
        let una = self.duplex.sender().state().una;
        let expected = self.duplex.receiver().rcv_nxt();
        let fin = packet.flags.has(Flags::FIN);
        let taken = self.take_octets(start, packet, payload);
        if self.is_deaf && start + u64::from(taken) > expected && taken > 0 {
            // RFC 9293 (3.10.7.4), RFC 1122 (4.2.2.13): the owner reads no more.
            return Verdict::Ended(Ended::Aborted, Some(self.reset()));
        }
        let window_end = self.duplex.receiver().window_end();
        let brings_fin = fin && self.peer_fin == Some(start + u64::from(taken));
        let takes_fin = brings_fin && self.peer_fin.is_some_and(|at| at < window_end);
        let is_cut = packet.payload > taken || brings_fin && !takes_fin;
        packet.payload = taken + u32::from(takes_fin);
        let taken_out = Flags::PSH | Flags::URG | if takes_fin { Flags::default() } else { Flags::FIN };
        packet.flags = Flags(packet.flags.0 & !taken_out.0);
        self.duplex.handle_segment(now, packet);
        if is_cut || takes_fin {
            self.duplex.acknowledge();
        }
        self.note_acknowledged(now, una);
        self.advance(now, limits)
    }

    /// Stores the segment's octets that fit, and notes the position of the FIN. Returns how many fit.
    fn take_octets(&mut self, start: u64, packet: &Packet, payload: &[u8]) -> u32 {
        let rcv = self.duplex.receiver();
        let (expected, window_end) = (rcv.rcv_nxt(), rcv.window_end());
        let end = self.peer_fin.map_or(window_end, |fin| fin.min(window_end));
        let len = u64::from(packet.payload).min(payload.len() as u64);
        let taken = len.min(end.saturating_sub(start));
        // A FIN below the accepted data contradicts it.
        let is_news = self.peer_fin.is_none() && start + len >= expected && len == u64::from(packet.payload);
        if packet.flags.has(Flags::FIN) && is_news {
            self.peer_fin = Some(start + len);
        }
        // Acknowledged octets stay unchanged.
        let known = expected.saturating_sub(start).min(taken);
        self.receiving.write(start + known, &payload[known as usize..taken as usize]);
        taken as u32
    }

    /// Records which octets of this end have been acknowledged; `una` were acknowledged before.
    fn note_acknowledged(&mut self, now: Instant, una: u64) {
        let state = self.duplex.sender().state();
        self.sending.release(state.una.min(self.fin.unwrap_or(u64::MAX)));
        if state.una > una || state.peer_window() == 0 {
            self.unanswered_since = now;
        }
    }

    /// Processes a pending FIN and makes the resulting state transitions: RFC 9293 (3.3.2), figure 5.
    fn advance(&mut self, now: Instant, limits: &Limits) -> Verdict {
        self.take_late_fin(now);
        let fin_acked = self.fin.is_some_and(|fin| self.duplex.sender().state().una > fin);
        let fin_received = self.peer_fin.is_some_and(|fin| self.duplex.receiver().rcv_nxt() > fin);
        let was = self.state;
        self.state = match (was, fin_acked, fin_received) {
            (State::Established, _, true) => State::CloseWait,
            (State::FinWait1, true, false) => State::FinWait2,
            (State::FinWait1, false, true) => State::Closing,
            (State::FinWait1 | State::FinWait2 | State::Closing, true, true) => State::TimeWait,
            (State::LastAck, true, _) => return Verdict::Ended(Ended::Closed, None),
            _ => was,
        };
        if self.state != was && self.state == State::TimeWait {
            self.timer = Some(now + limits.time_wait);
        }
        self.guard_fin_wait_2(now, limits);
        Verdict::GoesOn
    }

    /// Limits FIN-WAIT-2 once the application has closed: nothing would wait for the other endpoint's FIN forever.
    fn guard_fin_wait_2(&mut self, now: Instant, limits: &Limits) {
        if self.state == State::FinWait2 && self.is_deaf {
            self.timer.get_or_insert(now + limits.fin_wait);
        }
    }

    /// A FIN that came when the window had no room for it is taken when there is some.
    fn take_late_fin(&mut self, now: Instant) {
        if self.peer_fin != Some(self.duplex.receiver().rcv_nxt()) {
            return;
        }
        self.duplex.receiver.offer();
        let rcv = self.duplex.receiver();
        if rcv.window_end() <= rcv.rcv_nxt() {
            return;
        }
        let octet = Packet { seq: rcv.wire_rcv_nxt(), payload: 1, flags: Flags::ACK, ..Packet::default() };
        self.duplex.handle_data(now, &octet);
        self.duplex.acknowledge();
    }

    /// Octets that may be written now.
    pub fn writable(&self) -> u64 {
        let state = self.duplex.sender().state();
        let capacity = (2 * state.send_window()).clamp(SEND_BUFFER.0, SEND_BUFFER.1);
        if self.fin.is_some() { 0 } else { capacity.saturating_sub(self.sending.end() - state.una) }
    }

    /// Takes octets to be sent, all of them.
    pub fn write(&mut self, now: Instant, octets: &[u8]) {
        self.sending.append(octets);
        self.duplex.supply(now, octets.len() as u64);
    }

    /// Octets that may be read now.
    pub fn readable(&self) -> u64 {
        let rcv_nxt = self.duplex.receiver().rcv_nxt();
        rcv_nxt.min(self.peer_fin.unwrap_or(u64::MAX)) - self.read
    }

    /// Reads at most `most` octets.
    pub fn read(&mut self, now: Instant, most: u64, out: &mut Vec<u8>, limits: &Limits) -> Verdict {
        let end = self.read + self.readable().min(most);
        self.receiving.copy(self.read, end, out);
        self.receiving.release(end);
        self.read = end;
        self.duplex.receiver.take(end);
        self.advance(now, limits)
    }

    /// Whether the other endpoint has closed and everything before that has been read.
    pub fn is_read_out(&self) -> bool {
        self.peer_fin == Some(self.read) && self.duplex.receiver().rcv_nxt() > self.read
    }

    /// Whether a SYN is later than everything that has come: RFC 9293 (3.10.7.4), or by its timestamp: RFC 6191 (2).
    pub fn precedes(&self, syn: &Packet) -> bool {
        let rcv = self.duplex.receiver();
        let is_later = |value: u32, than: u32| value.wrapping_sub(than) as i32 > 0;
        let is_later_by_number = is_later(syn.seq, rcv.wire_rcv_nxt());
        match (self.acceptance.has_timestamps, syn.has_timestamps) {
            (true, true) if syn.ts_val != rcv.ts_recent() => is_later(syn.ts_val, rcv.ts_recent()),
            (false, true) => true,
            _ => is_later_by_number,
        }
    }

    /// The application will write no more: RFC 9293 (3.10.4).
    pub fn shutdown(&mut self, now: Instant) {
        if self.fin.is_some() {
            return;
        }
        self.fin = Some(self.sending.end());
        self.duplex.supply(now, 1);
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            other => other,
        };
    }

    /// Nor will it read.
    pub fn close(&mut self, now: Instant, limits: &Limits) -> Verdict {
        if self.readable() > 0 {
            // RFC 1122 (4.2.2.13): unread data is lost, and the other endpoint is notified.
            return Verdict::Ended(Ended::Aborted, Some(self.reset()));
        }
        self.is_deaf = true;
        self.shutdown(now);
        self.guard_fin_wait_2(now, limits);
        Verdict::GoesOn
    }

    /// A reset for this connection: RFC 9293 (3.10.5).
    pub fn reset(&self) -> Reset {
        Reset { seq: self.duplex.sender().wire_max(), ack: Some(self.duplex.receiver().wire_rcv_nxt()) }
    }

    /// The next segment to be sent now: fills in its header and its octets.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        payload: &mut Vec<u8>,
    ) -> Option<Sent> {
        let outgoing = self.duplex.poll_transmit(now)?;
        self.duplex.write(now, &outgoing, packet);
        let Outgoing::Sender(transmit) = outgoing else {
            return Some(Sent { seq: 0, len: 0, cause: SendCause::New });
        };
        if self.sent_end <= self.duplex.sender().state().una {
            self.unanswered_since = now;
        }
        let end = transmit.seq + u64::from(transmit.len);
        self.sent_end = self.sent_end.max(end);
        if self.fin.is_some_and(|fin| end > fin) {
            packet.flags = packet.flags | Flags::FIN;
            packet.payload -= 1;
            packet.len -= 1;
        }
        let octets_end = transmit.seq + u64::from(packet.payload);
        self.sending.copy(transmit.seq, octets_end, payload);
        if packet.payload > 0 && octets_end == self.sending.end() {
            // RFC 9293 (3.9.1.2): nothing more is there to be waited for.
            packet.flags = packet.flags | Flags::PSH;
        }
        Some(Sent { seq: transmit.seq, len: packet.payload, cause: transmit.cause })
    }
}
