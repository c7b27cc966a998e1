//! What can be learned of a TCP connection from the packets that pass one of its ends.
//!
//! The kernel is not queried here. Offsets count bytes of the stream from zero; the SYN gives the initial sequence
//! number, or the first segment if no SYN was seen. RTT samples follow RFC 6298 and Karn's rule: an ACK of a
//! retransmitted segment gives no sample.

use airpath_core::delays::Delays;
use airpath_core::packet::{Flags, Packet};
use airpath_core::tcp::handshake::unwrap_sequence;
use airpath_core::tcp::receiver::reassembly::{Arrival, Reassembly};
use airpath_core::time::{Duration, Instant};
use serde::Serialize;
use std::collections::VecDeque;

/// Largest number of timed segments; with more outstanding, the RTT is not measured.
const MOST_TIMED: usize = 1 << 16;

/// Gaps kept in mind; a stream with more is not followed any further.
const MOST_GAPS: usize = 1 << 12;

/// Data that an end sends, and the ACKs that it gets.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Sequence number of byte zero.
    first: Option<u32>,
    /// Oldest unacknowledged byte.
    pub una: u64,
    /// Byte behind the highest sent.
    max: u64,
    finished: bool,
    last_window: u16,
    timed: VecDeque<Timed>,
    /// When data was first sent.
    pub began: Option<Instant>,
    /// When data was last acknowledged for the first time.
    pub last_acked: Instant,
    /// Segments with data sent.
    pub segments: u64,
    /// Segments of these that held only bytes sent before.
    pub retransmissions: u64,
    /// Duplicate ACKs, RFC 5681 (2).
    pub dupacks: u64,
    /// Round-trip times.
    pub rtt: Delays,
    /// The last of them.
    pub last_rtt: Option<Duration>,
}

/// A segment whose ACK is awaited.
#[derive(Clone, Copy, Debug)]
struct Timed {
    end: u64,
    at: Instant,
    retransmitted: bool,
}

impl Outgoing {
    /// The end sends a segment. Returns the offset of its data, if it has any, and whether all of it was
    /// sent before.
    pub fn handle_sent(&mut self, now: Instant, packet: &Packet) -> Option<(u64, bool)> {
        if packet.flags.has(Flags::SYN) {
            self.first = Some(packet.seq.wrapping_add(1));
            return None;
        }
        self.finished |= packet.flags.has(Flags::FIN);
        if packet.payload == 0 {
            return None;
        }
        let start = unwrap_sequence(self.max, self.wire(packet.seq, self.max), packet.seq)?;
        let end = start + u64::from(packet.payload);
        self.segments += 1;
        self.began.get_or_insert(now);
        let again = end <= self.max;
        if again {
            self.retransmissions += 1;
            let from = self.timed.partition_point(|timed| timed.end <= start);
            self.timed.range_mut(from..).take_while(|t| t.end <= end).for_each(|t| t.retransmitted = true);
        } else {
            self.max = end;
            if self.timed.len() < MOST_TIMED {
                self.timed.push_back(Timed { end, at: now, retransmitted: false });
            }
        }
        Some((start, again))
    }

    /// Acknowledgment number of a segment of the peer, as an offset: of none that sets up the connection or acknowledges
    /// what was not seen.
    pub fn ack_of(&self, packet: &Packet) -> Option<u64> {
        let is_ack = packet.flags.has(Flags::ACK) && !packet.flags.has(Flags::SYN);
        let ack =
            self.offset(packet.ack).filter(|ack| is_ack && *ack <= self.max + u64::from(self.finished))?;
        Some(ack.min(self.max))
    }

    /// SACK blocks of a segment of the peer, as offsets.
    pub fn sack_blocks<'a>(&'a self, packet: &'a Packet) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let blocks = packet.options().sack.as_slice().iter();
        blocks.filter_map(|(left, right)| self.offset(*left).zip(self.offset(*right)))
    }

    /// Offset of the byte with this sequence number, once the stream has begun.
    fn offset(&self, wire: u32) -> Option<u64> {
        unwrap_sequence(self.una, self.first?.wrapping_add(self.una as u32), wire)
    }

    /// The end gets a segment of its peer. Returns a round-trip time if the segment gives one.
    pub fn handle_ack(&mut self, now: Instant, packet: &Packet) -> Option<Duration> {
        let window = std::mem::replace(&mut self.last_window, packet.window);
        if !packet.flags.has(Flags::ACK) || packet.flags.has(Flags::SYN) {
            return None;
        }
        let acked = unwrap_sequence(self.una, self.wire(packet.ack, self.una), packet.ack)?;
        // A FIN takes a sequence number of its own.
        if acked > self.max + u64::from(self.finished) {
            return None;
        }
        let acked = acked.min(self.max);
        if acked <= self.una {
            let is_pure = packet.payload == 0 && !packet.flags.has(Flags::FIN);
            let same_window = packet.window == window || !packet.options().sack.as_slice().is_empty();
            self.dupacks += u64::from(acked == self.una && is_pure && same_window && self.max > self.una);
            return None;
        }
        self.una = acked;
        self.last_acked = now;
        // As the simulator's sender: from the oldest segment that the ACK covers.
        let (mut oldest, mut is_clean) = (None, true);
        while let Some(timed) = self.timed.front().filter(|timed| timed.end <= acked) {
            is_clean &= !timed.retransmitted;
            oldest.get_or_insert(timed.at);
            self.timed.pop_front();
        }
        let rtt = now.since(oldest.filter(|_| is_clean)?);
        self.rtt.add(rtt);
        self.last_rtt = Some(rtt);
        self.last_rtt
    }

    /// Bytes of the stream sent so far, without retransmissions.
    pub fn sent(&self) -> u64 {
        self.max
    }

    /// Bytes of the stream, if its end has been sent.
    pub fn size(&self) -> Option<u64> {
        self.finished.then_some(self.max)
    }

    /// The sequence number of byte `offset`; a stream that begins with `seq` begins there.
    fn wire(&mut self, seq: u32, offset: u64) -> u32 {
        self.first.get_or_insert(seq).wrapping_add(offset as u32)
    }
}

/// Data that an end gets, and the ACKs that it sends.
#[derive(Debug, Default)]
pub struct Incoming {
    first: Option<u32>,
    reassembly: Reassembly,
    /// What was counted, in the words of the simulator's receiver.
    pub counters: Counters,
}

/// What a receiver counted, as seen from outside.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counters {
    /// Segments with data received.
    pub segments: u64,
    /// Segments that held nothing new.
    pub duplicates: u64,
    /// Segments that left or met a gap.
    pub out_of_order: u64,
    /// ACKs without data sent.
    pub acks_sent: u64,
}

impl Incoming {
    /// The end gets a segment. Returns the offset of its data, if it has any.
    pub fn handle_received(&mut self, packet: &Packet) -> Option<u64> {
        if packet.flags.has(Flags::SYN) {
            self.first = Some(packet.seq.wrapping_add(1));
            return None;
        }
        if packet.payload == 0 {
            return None;
        }
        let next = self.reassembly.rcv_nxt();
        let wire = self.first.get_or_insert(packet.seq).wrapping_add(next as u32);
        let start = unwrap_sequence(next, wire, packet.seq)?;
        self.counters.segments += 1;
        if self.reassembly.gaps() < MOST_GAPS {
            match self.reassembly.handle(start, start + u64::from(packet.payload)) {
                Arrival::InOrder | Arrival::FillsGap => {}
                Arrival::OutOfOrder => self.counters.out_of_order += 1,
                Arrival::DuplicateOutOfOrder | Arrival::Duplicate => self.counters.duplicates += 1,
            }
        }
        Some(start)
    }

    /// The end sends a segment.
    pub fn handle_sent(&mut self, packet: &Packet) {
        let is_ack = packet.payload == 0 && packet.flags.has(Flags::ACK);
        let other = Flags(Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0);
        self.counters.acks_sent += u64::from(is_ack && packet.flags.0 & other.0 == 0);
    }

    /// Next byte expected.
    pub fn rcv_nxt(&self) -> u64 {
        self.reassembly.rcv_nxt()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn data(seq: u32, payload: u32) -> Packet {
        Packet { seq, payload, flags: Flags::ACK, ..Packet::default() }
    }

    fn ack(ack: u32) -> Packet {
        Packet { ack, flags: Flags::ACK, window: 100, ..Packet::default() }
    }

    /// A sender that has sent its SYN, with byte zero at 1001.
    fn opened() -> Outgoing {
        let mut outgoing = Outgoing::default();
        outgoing.handle_sent(at(0), &Packet { seq: 1000, flags: Flags::SYN, ..Packet::default() });
        outgoing
    }

    #[test]
    fn offsets_count_from_the_syn_and_cross_the_end_of_sequence_space() {
        let mut outgoing = Outgoing::default();
        outgoing.handle_sent(at(0), &Packet { seq: u32::MAX - 5, flags: Flags::SYN, ..Packet::default() });
        assert_eq!(outgoing.handle_sent(at(1), &data(u32::MAX - 4, 10)), Some((0, false)));
        assert_eq!(outgoing.handle_sent(at(1), &data(5, 10)), Some((10, false)));
        outgoing.handle_ack(at(9), &ack(15));
        assert_eq!(outgoing.una, 20);
    }

    #[test]
    fn the_oldest_segment_covered_is_timed_and_one_sent_twice_is_not() {
        let mut outgoing = opened();
        for (ms, seq) in [(10, 1001), (20, 1101), (30, 1201), (40, 1301)] {
            outgoing.handle_sent(at(ms), &data(seq, 100));
        }
        assert_eq!(outgoing.handle_ack(at(110), &ack(1201)), Some(Duration::from_millis(100)));
        assert_eq!(outgoing.handle_sent(at(120), &data(1201, 100)), Some((200, true)));
        assert_eq!(outgoing.handle_ack(at(130), &ack(1301)), None, "Karn");
        assert_eq!(outgoing.handle_ack(at(140), &ack(1401)), Some(Duration::from_millis(100)));
        assert_eq!((outgoing.segments, outgoing.retransmissions), (5, 1));
        let rtt = outgoing.rtt.report();
        assert_eq!((rtt.mean, rtt.min, rtt.max, rtt.samples), (Some(100.0), Some(100.0), Some(100.0), 2));
        assert_eq!((rtt.p50, rtt.p99), (Some(100.0), Some(100.0)));
    }

    #[test]
    fn a_duplicate_ack_is_pure_and_repeats_number_and_window_while_data_is_out() {
        let mut outgoing = opened();
        outgoing.handle_ack(at(1), &ack(1001));
        assert_eq!(outgoing.dupacks, 0, "nothing is outstanding");
        outgoing.handle_sent(at(2), &data(1001, 100));
        outgoing.handle_ack(at(3), &ack(1001));
        assert_eq!(outgoing.dupacks, 1);
        outgoing.handle_ack(at(3), &Packet { window: 99, ..ack(1001) });
        outgoing.handle_ack(at(3), &Packet { payload: 5, window: 99, ..ack(1001) });
        assert_eq!(outgoing.dupacks, 1);
    }

    #[test]
    fn a_fin_takes_a_number_and_an_ack_beyond_everything_is_ignored() {
        let mut outgoing = opened();
        outgoing.handle_sent(at(1), &data(1001, 100));
        outgoing.handle_ack(at(2), &ack(1102));
        assert_eq!(outgoing.una, 0);
        assert_eq!(outgoing.size(), None);
        outgoing.handle_sent(at(3), &Packet { flags: Flags::ACK | Flags::FIN, ..data(1101, 0) });
        outgoing.handle_ack(at(4), &ack(1102));
        assert_eq!((outgoing.una, outgoing.size()), (100, Some(100)));
        assert_eq!(outgoing.last_acked, at(4));
    }

    #[test]
    fn a_receiver_is_followed_through_gaps_and_duplicates() {
        let mut incoming = Incoming::default();
        incoming.handle_received(&Packet { seq: 9, flags: Flags::SYN, ..Packet::default() });
        for seq in [10, 30, 30, 10, 20] {
            incoming.handle_received(&data(seq, 10));
        }
        assert_eq!(incoming.rcv_nxt(), 30);
        let expected = Counters { segments: 5, duplicates: 2, out_of_order: 1, acks_sent: 0 };
        assert_eq!(incoming.counters, expected);
        incoming.handle_sent(&ack(1));
        incoming.handle_sent(&Packet { flags: Flags::ACK | Flags::FIN, ..ack(1) });
        assert_eq!(incoming.counters.acks_sent, 1);
    }
}
