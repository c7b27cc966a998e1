//! The receiving endpoint of a flow: reassembly, acknowledgments, delayed ACK. RFC 9293, RFC 5681 (4.2).
//!
//! The application reads at once, so the advertised window is always the whole buffer.

use super::handshake::{Handshake, Progress, Role, unwrap_sequence};
use super::{Config, SegmentTemplate};
use crate::packet::{Flags, Packet};
use crate::time::{Duration, Instant};
use crate::trace::SendCause;

/// What a receiver has counted.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Counters {
    /// Segments with data received.
    pub segments: u64,
    /// Segments that held nothing new.
    pub duplicates: u64,
    /// Segments that left or met a gap.
    pub out_of_order: u64,
    /// ACKs sent.
    pub acks_sent: u64,
    /// Segments beyond the window.
    pub beyond_window: u64,
}

/// The receiving endpoint of a flow.
pub struct Receiver {
    ack_every: u32,
    delayed_ack_timeout: Duration,
    template: SegmentTemplate,
    handshake: Handshake,
    /// Next byte expected.
    rcv_nxt: u64,
    /// Ranges received beyond `rcv_nxt`: sorted, disjoint, not touching.
    ranges: Vec<(u64, u64)>,
    /// Full segments since the last ACK.
    unacked_segments: u32,
    ack_now: bool,
    ack_deadline: Option<Instant>,
    /// Timestamp to echo, RFC 7323 (4.3).
    ts_recent: u32,
    /// What the last ACK acknowledged.
    last_ack_sent: u64,
    counters: Counters,
}

impl Receiver {
    /// A receiver that has received nothing.
    pub fn new(config: &Config, role: Role) -> Self {
        Self {
            ack_every: config.ack_every,
            delayed_ack_timeout: config.delayed_ack_timeout,
            template: config.segment_template(),
            handshake: Handshake::new(config, role),
            rcv_nxt: 0,
            ranges: Vec::new(),
            unacked_segments: 0,
            ack_now: false,
            ack_deadline: None,
            ts_recent: 0,
            last_ack_sent: 0,
            counters: Counters::default(),
        }
    }

    /// Opens the connection, or listens.
    pub fn open(&mut self) {
        self.handshake.open();
    }

    /// When `handle_deadline` must be called.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        if self.handshake.is_established() { self.ack_deadline } else { self.handshake.deadline() }
    }

    /// A segment arrived. Returns the offset of its data, if it had any.
    pub fn handle_segment(&mut self, now: Instant, packet: &Packet) -> Option<u64> {
        if packet.has_timestamps && (packet.flags.has(Flags::SYN) || self.echoes(packet)) {
            self.ts_recent = packet.ts_val;
        }
        let opening = !self.handshake.is_established() || packet.flags.has(Flags::SYN);
        if opening && self.handshake.handle_segment(packet) == Progress::Consumed {
            return None;
        }
        if packet.payload == 0 {
            return None;
        }
        let wire_next = self.handshake.wire_ack(self.rcv_nxt);
        let start = unwrap_sequence(self.rcv_nxt, wire_next, packet.seq)?;
        self.handle_data(now, start, start + u64::from(packet.payload));
        Some(start)
    }

    /// RFC 7323 (4.3) (2): the segment holds the byte acknowledged last.
    fn echoes(&self, packet: &Packet) -> bool {
        let last = self.handshake.wire_ack(self.last_ack_sent);
        packet.seq.wrapping_sub(last) as i32 <= 0 && packet.ts_val.wrapping_sub(self.ts_recent) as i32 >= 0
    }

    #[inline]
    fn handle_data(&mut self, now: Instant, start: u64, end: u64) {
        self.counters.segments += 1;
        if end > self.rcv_nxt + self.template.window {
            self.counters.beyond_window += 1;
            self.ack_now = true;
            return;
        }
        if end <= self.rcv_nxt {
            self.counters.duplicates += 1;
            self.ack_now = true;
            return;
        }
        if start > self.rcv_nxt {
            self.counters.out_of_order += 1;
            self.insert(start, end);
            self.ack_now = true;
            return;
        }
        self.rcv_nxt = end;
        if !self.ranges.is_empty() {
            // RFC 5681 (4.2): a segment that fills a gap is acknowledged at once.
            self.advance();
            self.ack_now = true;
            return;
        }
        self.unacked_segments += 1;
        if self.unacked_segments >= self.ack_every {
            self.ack_now = true;
        } else if self.ack_deadline.is_none() {
            self.ack_deadline = Some(now + self.delayed_ack_timeout);
        }
    }

    /// Adds a range beyond a gap, joined with those it touches.
    fn insert(&mut self, mut start: u64, mut end: u64) {
        let from = self.ranges.partition_point(|range| range.1 < start);
        let to = self.ranges.partition_point(|range| range.0 <= end);
        if from < to {
            start = start.min(self.ranges[from].0);
            end = end.max(self.ranges[to - 1].1);
        }
        if to == from + 1 && self.ranges[from] == (start, end) {
            self.counters.duplicates += 1;
        }
        self.ranges.splice(from..to, [(start, end)]);
    }

    /// Moves `rcv_nxt` over the ranges that it has reached.
    fn advance(&mut self) {
        let reached = self.ranges.partition_point(|range| range.0 <= self.rcv_nxt);
        for (_, end) in self.ranges.drain(..reached) {
            self.rcv_nxt = self.rcv_nxt.max(end);
        }
    }

    /// The deadline has passed: the delayed ACK is due, or the SYN was not answered.
    pub fn handle_deadline(&mut self, now: Instant) {
        if !self.handshake.is_established() {
            self.handshake.handle_deadline(now);
        } else if self.ack_deadline.is_some_and(|at| at <= now) {
            self.ack_now = true;
        }
    }

    /// Whether a segment is to be sent now, and why.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<SendCause> {
        if let Some(cause) = self.handshake.poll_transmit(now) {
            return Some(cause);
        }
        if !std::mem::take(&mut self.ack_now) {
            return None;
        }
        self.unacked_segments = 0;
        self.ack_deadline = None;
        self.last_ack_sent = self.rcv_nxt;
        self.counters.acks_sent += 1;
        Some(SendCause::New)
    }

    /// Fills in the header of the segment that `poll_transmit` announced.
    #[inline]
    pub fn write(&self, now: Instant, cause: SendCause, packet: &mut Packet) {
        let template = &self.template;
        template.stamp(now, self.ts_recent, packet);
        if cause != SendCause::New {
            return self.handshake.write(packet);
        }
        packet.seq = self.handshake.wire_seq(0);
        packet.ack = self.handshake.wire_ack(self.rcv_nxt);
        packet.flags = Flags::ACK;
        packet.payload = 0;
        packet.len = template.header_bytes;
        packet.window = template.window_field;
    }

    /// Next byte expected: all bytes before it have been handed to the application.
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// What has been counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}
