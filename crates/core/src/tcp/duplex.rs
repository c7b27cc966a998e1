//! An endpoint of a connection that carries data in both directions: a [`Sender`] and a [`Receiver`] in one.
//!
//! The sender opens the connection; the receiver starts after that. Every data segment carries the acknowledgment of
//! the other direction, so the delayed ACK is no longer needed: RFC 9293 (3.8.6.3), RFC 5681 (4.2). An ACK that reports
//! a gap or a duplicate is sent without data, before any data segment: with data it would not count as a duplicate ACK
//! (RFC 5681 (2)) and would have no room for SACK blocks. After a pause longer than the timeout the congestion window
//! restarts: RFC 5681 (4.1).
//!
//! Left out: the features that [`super`] leaves out. ASSUMED: with `ttcp`, an ACK that must precede the first data of
//! its endpoint has no SYN; the SYN follows with the data.

use super::handshake::{Opened, Role};
use super::{Config, Handshake, Receiver, Sender, Transmit};
use crate::packet::{Flags, Packet};
use crate::time::Instant;
use crate::trace::SendCause;

/// A segment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outgoing {
    /// From the sender: data, or a segment of the handshake.
    Sender(Transmit),
    /// A pure ACK.
    Ack(SendCause),
}

/// An endpoint of a connection that carries data both ways.
pub struct Duplex {
    sender: Sender,
    pub(super) receiver: Receiver,
    /// The pending ACK is sent without data: it reports a gap or a duplicate.
    ack_alone: bool,
    last_sent: Instant,
}

impl Duplex {
    /// An endpoint that has sent and received nothing.
    pub fn new(config: &Config, role: Role) -> Self {
        let opened = Config { handshake: Handshake::None, ..config.clone() };
        let mut receiver = Receiver::new(&opened, role);
        receiver.open();
        Self { sender: Sender::new(config, role), receiver, ack_alone: false, last_sent: Instant::ZERO }
    }

    /// Opens the connection, or listens.
    pub fn open(&mut self) {
        self.sender.open();
    }

    /// The connection was opened by another handshake, with the options in `config`.
    pub(super) fn adopt(&mut self, now: Instant, opened: &Opened) {
        self.sender.open();
        self.sender.adopt(now, opened);
        self.receiver.adopt(opened);
    }

    /// Schedules a pure ACK.
    pub(super) fn acknowledge(&mut self) {
        self.ack_alone = true;
        self.receiver.acknowledge();
    }

    /// The application supplies `bytes` more.
    pub fn supply(&mut self, now: Instant, bytes: u64) {
        self.sender.supply_after(now.since(self.last_sent), bytes);
    }

    /// When `handle_deadline` must be called.
    pub fn deadline(&self) -> Option<Instant> {
        self.sender.deadline().into_iter().chain(self.receiver.deadline()).min()
    }

    /// A segment arrived. Returns the offset of its data, if it had any that could be taken.
    pub fn handle_segment(&mut self, now: Instant, packet: &Packet) -> Option<u64> {
        if packet.flags.has(Flags::SYN) {
            return self.handle_opening(now, packet);
        }
        self.sender.handle_segment(now, packet);
        self.handle_data(now, packet)
    }

    /// A segment with SYN arrived. The sender handles it; the receiver ignores any data in it.
    #[cold]
    fn handle_opening(&mut self, now: Instant, packet: &Packet) -> Option<u64> {
        let mut rest = packet.clone();
        rest.flags = Flags(packet.flags.0 & !Flags::SYN.0);
        rest.seq = packet.seq.wrapping_add(1);
        if packet.payload > 0 && self.sender.is_established() {
            self.sender.handle_segment(now, &rest);
        } else {
            self.sender.handle_segment(now, packet);
        }
        self.handle_data(now, &rest)
    }

    /// Like [`Duplex::handle_segment`], for the data only.
    pub(super) fn handle_data(&mut self, now: Instant, packet: &Packet) -> Option<u64> {
        if !self.sender.is_established() {
            return None;
        }
        let expected = self.receiver.rcv_nxt();
        let seq = self.receiver.handle_segment(now, packet)?;
        self.ack_alone |= self.receiver.rcv_nxt() == expected || self.receiver.has_gaps();
        Some(seq)
    }

    /// The deadline has passed: of the handshake, of a segment in flight or of a delayed ACK.
    pub fn handle_deadline(&mut self, now: Instant) {
        self.sender.handle_deadline(now);
        self.receiver.handle_deadline(now);
    }

    /// The next segment to be sent now, if any. [`Duplex::write`] must follow before the next call.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Outgoing> {
        if std::mem::take(&mut self.ack_alone)
            && let Some(cause) = self.receiver.poll_transmit(now)
        {
            return Some(Outgoing::Ack(cause));
        }
        if let Some(transmit) = self.sender.poll_transmit(now) {
            self.last_sent = now;
            return Some(Outgoing::Sender(transmit));
        }
        self.receiver.poll_transmit(now).map(Outgoing::Ack)
    }

    /// Fills in the header of the segment that `poll_transmit` announced.
    pub fn write(&mut self, now: Instant, outgoing: &Outgoing, packet: &mut Packet) {
        match outgoing {
            Outgoing::Ack(cause) => {
                self.receiver.write(now, *cause, packet);
                packet.seq = self.sender.wire_max();
            }
            Outgoing::Sender(transmit) => {
                self.sender.write(now, transmit, packet);
                let opens = packet.flags.has(Flags::SYN) && packet.payload == 0;
                if !opens {
                    let is_handshake = transmit.len == 0 && transmit.cause != SendCause::WindowProbe;
                    self.receiver.piggyback(packet, is_handshake);
                    if is_handshake {
                        packet.seq = self.sender.wire_max();
                    }
                }
            }
        }
    }

    /// The half that sends.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Like [`Duplex::sender`], but mutable, to take samples.
    pub fn sender_mut(&mut self) -> &mut Sender {
        &mut self.sender
    }

    /// The half that receives.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments sent now: sequence number, ACK and payload.
    fn drain(endpoint: &mut Duplex) -> Vec<(u32, u32, u32)> {
        let mut sent = Vec::new();
        while let Some(outgoing) = endpoint.poll_transmit(Instant::ZERO) {
            let mut packet = Packet::default();
            endpoint.write(Instant::ZERO, &outgoing, &mut packet);
            sent.push((packet.seq, packet.ack, packet.payload));
        }
        sent
    }

    fn arrives(endpoint: &mut Duplex, seq: u32) -> Option<u64> {
        let packet =
            Packet { seq, ack: 1, payload: 100, flags: Flags::ACK, window: 5000, ..Packet::default() };
        endpoint.handle_segment(Instant::ZERO, &packet)
    }

    fn established() -> Duplex {
        let config = Config { handshake: Handshake::None, ..Config::default() };
        let mut endpoint = Duplex::new(&config, Role::Passive);
        endpoint.open();
        endpoint
    }

    #[test]
    fn an_ack_in_order_goes_with_data() {
        let mut endpoint = established();
        assert_eq!(arrives(&mut endpoint, 1), Some(0));
        endpoint.supply(Instant::ZERO, 50);
        assert_eq!(drain(&mut endpoint), [(1, 101, 50)]);
        assert_eq!(endpoint.receiver.deadline(), None);
    }

    #[test]
    fn an_ack_that_tells_of_a_gap_goes_alone_and_first() {
        let mut endpoint = established();
        assert_eq!(arrives(&mut endpoint, 201), Some(200));
        endpoint.supply(Instant::ZERO, 50);
        assert_eq!(drain(&mut endpoint), [(1, 1, 0), (1, 1, 50)]);
        // Nor does one that fills a gap while another is left go with data.
        arrives(&mut endpoint, 401);
        drain(&mut endpoint);
        arrives(&mut endpoint, 1);
        endpoint.supply(Instant::ZERO, 50);
        assert_eq!(drain(&mut endpoint), [(51, 101, 0), (51, 101, 50)]);
    }

    #[test]
    fn a_duplicate_is_acknowledged_alone() {
        let mut endpoint = established();
        arrives(&mut endpoint, 1);
        arrives(&mut endpoint, 1);
        endpoint.supply(Instant::ZERO, 50);
        assert_eq!(drain(&mut endpoint), [(1, 101, 0), (1, 101, 50)]);
    }

    #[test]
    fn a_delayed_ack_and_a_retransmission_have_their_own_times() {
        let after = |millis: u64| Instant::ZERO + crate::time::Duration::from_millis(millis);
        let mut endpoint = established();
        endpoint.supply(Instant::ZERO, 50);
        drain(&mut endpoint);
        arrives(&mut endpoint, 1);
        assert_eq!(endpoint.deadline(), Some(after(200)));
        endpoint.handle_deadline(after(200));
        assert_eq!(drain(&mut endpoint), [(51, 101, 0)]);
        assert_eq!((endpoint.sender.counters().timeouts, endpoint.deadline()), (0, Some(after(1000))));
        endpoint.handle_deadline(after(1000));
        assert_eq!(drain(&mut endpoint), [(1, 101, 50)]);
    }

    #[test]
    fn data_without_a_connection_is_not_taken() {
        let mut endpoint = Duplex::new(&Config::default(), Role::Passive);
        endpoint.open();
        assert_eq!(arrives(&mut endpoint, 1), None);
        assert_eq!(drain(&mut endpoint), []);
    }
}
