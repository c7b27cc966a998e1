//! A packet number space: packets sent and outstanding, packets that have arrived and is to be acknowledged.

use super::frame::{Counts, Frame};
use crate::rlc::{Ranges, SnRange};
use crate::time::{Duration, Instant};
use std::collections::BTreeMap;

/// How long ACKs of data are delayed: the default of `max_ack_delay`, RFC 9000 (18.2).
pub const MAX_ACK_DELAY: Duration = Duration::from_millis(25);
/// Ranges of an ACK at most.
const MOST_RANGES: usize = 32;

/// A packet in flight, or one that only acknowledges.
#[derive(Debug)]
pub struct Sent {
    pub sent_at: Instant,
    /// Bytes of UDP payload.
    pub bytes: u64,
    /// End offset among the bytes of all packets in flight since the connection began.
    pub end: u64,
    pub elicits_ack: bool,
    pub in_flight: bool,
    /// Whether it was sent with ECT.
    pub is_ect: bool,
    /// Frames that are retransmitted if it is lost.
    pub frames: Vec<Frame>,
}

/// Data of TLS to be sent.
#[derive(Debug, Default)]
pub struct CryptoOut {
    /// Bytes that TLS has written.
    pub len: u64,
    sent: u64,
    lost: Ranges,
}

impl CryptoOut {
    pub fn has_data(&self) -> bool {
        self.sent < self.len || !self.lost.is_empty()
    }

    pub fn poll(&mut self, room: u64) -> Option<SnRange> {
        if let Some(range) = self.lost.pop_first(room) {
            return Some(range);
        }
        let range = SnRange::new(self.sent, self.len.min(self.sent + room));
        self.sent = range.end;
        (!range.is_empty()).then_some(range)
    }
}

/// One packet number space of an endpoint.
#[derive(Debug, Default)]
pub struct PacketSpace {
    pub next_number: u64,
    pub sent: BTreeMap<u64, Sent>,
    pub largest_acked: Option<u64>,
    /// When the next packet counts as lost.
    pub loss_time: Option<Instant>,
    /// When the latest packet was sent that elicits an ACK.
    pub last_eliciting: Option<Instant>,
    /// Packets that count as lost, to notice that one was not.
    pub declared_lost: Ranges,
    /// Probe packets to be sent.
    pub probes: u8,
    pub crypto_out: CryptoOut,
    pub crypto_in: Ranges,
    /// Numbers that have arrived, and below which all count as old.
    received: Ranges,
    old: u64,
    largest: Option<(u64, Instant)>,
    /// ECN fields of the packets that have arrived.
    pub arrived: Counts,
    /// Packets that elicit an ACK and are not acknowledged.
    unacked: u32,
    /// An ACK is due, or will be at this time.
    pub ack_due: bool,
    pub ack_at: Option<Instant>,
    /// The keys are discarded: nothing is sent or read.
    pub is_discarded: bool,
}

impl PacketSpace {
    /// Whether a packet in flight elicits an ACK.
    pub fn is_waiting(&self) -> bool {
        self.sent.values().any(|sent| sent.elicits_ack && sent.in_flight)
    }

    /// A packet arrived. Returns whether it is the first copy.
    pub fn handle_number(&mut self, number: u64) -> bool {
        if number < self.old || self.received.contains(number) {
            return false;
        }
        self.received.insert(SnRange::new(number, number + 1));
        while self.received.as_slice().len() > 2 * MOST_RANGES {
            if let Some(range) = self.received.pop_first(u64::MAX) {
                self.old = range.end;
            }
        }
        true
    }

    /// Schedules the ACK of an arrived packet. It is due at once with each `ack_every`-th packet, where `at_once`, and where
    /// the packet is not the next one: RFC 9000 (13.2.1), (13.2.2).
    pub fn schedule_ack(&mut self, now: Instant, number: u64, elicits: bool, at_once: bool, ack_every: u32) {
        let is_next = number == self.largest.map_or(0, |(largest, _)| largest + 1);
        if self.largest.is_none_or(|(largest, _)| number > largest) {
            self.largest = Some((number, now));
        }
        if !elicits {
            return;
        }
        self.unacked += 1;
        if at_once || !is_next || self.unacked >= ack_every {
            self.ack_due = true;
        } else {
            self.ack_at.get_or_insert(now + MAX_ACK_DELAY);
        }
    }

    /// The ACK of everything that has arrived, if something new has.
    pub fn take_ack(&mut self, now: Instant) -> Option<Frame> {
        let unacked = std::mem::take(&mut self.unacked);
        (self.ack_due, self.ack_at) = (false, None);
        let (_, at) = self.largest.filter(|_| unacked > 0)?;
        let ranges = self.received.as_slice().iter().rev().take(MOST_RANGES).copied().collect();
        let ecn = (self.arrived != Counts::default()).then_some(self.arrived);
        Some(Frame::Ack { delay: now.since(at), ranges, ecn })
    }

    /// The keys are discarded. Returns the bytes that were in flight.
    pub fn discard(&mut self) -> u64 {
        let in_flight = self.sent.values().filter(|sent| sent.in_flight).map(|sent| sent.bytes).sum();
        *self = Self { is_discarded: true, next_number: self.next_number, ..Self::default() };
        in_flight
    }

    /// TLS data was lost, or goes again as a probe.
    pub fn handle_lost_crypto(&mut self, range: SnRange) {
        self.crypto_out.lost.insert(range);
    }

    /// TLS data was acknowledged.
    pub fn handle_acked_crypto(&mut self, range: SnRange) {
        self.crypto_out.lost.remove(range);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_gaps_the_lowest_numbers_are_forgotten() {
        let mut space = PacketSpace::default();
        // Every other packet is lost.
        for number in (0..400).step_by(2) {
            assert!(space.handle_number(number));
        }
        assert_eq!(space.received.as_slice().len(), 2 * MOST_RANGES);
        // 200 ranges of one number, the highest 64 of which are kept.
        assert_eq!(space.old, 271);
        assert!(!space.handle_number(269) && !space.handle_number(272) && space.handle_number(273));
    }
}
