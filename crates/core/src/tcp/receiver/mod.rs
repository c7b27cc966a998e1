//! The receiving endpoint of a flow: reassembly, acknowledgments, delayed ACK. RFC 9293, RFC 5681 (4.2).
//!
//! The application reads at once, and the advertised window is always the whole buffer; or, after [`Receiver::hold`],
//! the owner of the endpoint takes bytes at its own pace, and the window is the free space. With `receive_buffer_max`
//! the application reads at once too, and the window grows ([`autotuning`]).

pub mod autotuning;
pub mod buffer;
pub mod delayed_ack;
pub mod reassembly;
pub mod sack_report;

use super::handshake::{Handshake, Opened, Progress, Role, unwrap_sequence};
use super::{Config, Delay, SegmentTemplate, WindowProbe, ecn, timestamp};
use crate::packet::{Flags, Packet};
use crate::time::{Duration, Instant};
use crate::trace::SendCause;
use crate::wire::tcp_header_bytes;
use autotuning::Autotuning;
use buffer::ReceiveBuffer;
use delayed_ack::DelayedAck;
use reassembly::{Arrival, Reassembly};
use sack_report::SackReport;

/// Counters of a receiver.
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

impl Counters {
    /// Adds what another receiver has counted.
    pub fn add(&mut self, other: &Self) {
        self.segments += other.segments;
        self.duplicates += other.duplicates;
        self.out_of_order += other.out_of_order;
        self.acks_sent += other.acks_sent;
        self.beyond_window += other.beyond_window;
    }

    /// A segment arrived out of order, or while something was missing.
    #[cold]
    #[inline(never)]
    fn on_disorder(&mut self, arrival: Arrival) {
        let is_beyond_gap = matches!(arrival, Arrival::OutOfOrder | Arrival::DuplicateOutOfOrder);
        let is_known = matches!(arrival, Arrival::Duplicate | Arrival::DuplicateOutOfOrder);
        self.out_of_order += u64::from(is_beyond_gap);
        self.duplicates += u64::from(is_known);
    }
}

/// The receiving endpoint of a flow.
pub struct Receiver {
    ack_every: u32,
    delayed_ack_timeout: Duration,
    template: SegmentTemplate,
    handshake: Handshake,
    reassembly: Reassembly,
    /// Ranges for SACK blocks; `None` without SACK.
    sack: Option<SackReport>,
    /// ECN is in use.
    ecn: Option<Box<ecn::Receiving>>,
    /// The connection is open, without ECN, quick or adaptive ACKs or a window that grows.
    is_plain: bool,
    /// There is neither SACK nor ECN nor a buffer.
    is_bare: bool,
    /// Probes of a closed window come without data.
    expects_probes: bool,
    /// Quick ACKs and delays that adapt; `None` if neither is in use.
    acks: Option<Box<DelayedAck>>,
    /// A window that grows; `None` if it stays as it is.
    tuning: Option<Box<Autotuning>>,
    /// Data not yet taken by the owner; `None` if the application reads at once.
    buffer: Option<Box<ReceiveBuffer>>,
    window_shift: u8,
    payload_bytes: u64,
    /// Full segments since the last ACK.
    unacked_segments: u32,
    ack_now: bool,
    ack_deadline: Option<Instant>,
    /// Timestamp to echo, RFC 7323 (4.3).
    ts_recent: u32,
    /// Acknowledgment number of the last ACK.
    last_ack_sent: u64,
    counters: Counters,
}

impl Receiver {
    /// A receiver that has received nothing.
    pub fn new(config: &Config, role: Role) -> Self {
        let adapts = config.delayed_ack == Delay::Linux;
        let acks = DelayedAck::new(config.quickack, adapts, config.delayed_ack_timeout);
        let (first, mss) = (config.advertised_window(), config.payload_bytes());
        let most = config.largest_window();
        let sack = config.sack.then(|| SackReport::new(config.dsack));
        let ecn = ecn::Receiving::new(config.ecn).map(Box::new);
        let mut receiver = Self {
            ack_every: if config.delayed_ack == Delay::Timer { u32::MAX } else { config.ack_every },
            delayed_ack_timeout: config.delayed_ack_timeout,
            template: config.segment_template(),
            handshake: Handshake::new(config, role),
            reassembly: Reassembly::default(),
            is_bare: sack.is_none() && ecn.is_none(),
            sack,
            ecn,
            is_plain: false,
            expects_probes: config.window_probe == WindowProbe::Empty,
            acks: (adapts || config.quickack > 0).then(|| Box::new(acks)),
            tuning: None,
            buffer: None,
            window_shift: config.window_shift(),
            payload_bytes: config.payload_bytes(),
            unacked_segments: 0,
            ack_now: false,
            ack_deadline: None,
            ts_recent: 0,
            last_ack_sent: 0,
            counters: Counters::default(),
        };
        if config.receive_buffer_max.is_some() {
            // `tcp_select_initial_window`: whole segments, without options in a SYN.
            let unit = if role == Role::Active { config.mss.as_u64() } else { mss };
            let whole = if first > unit { first - first % unit } else { first };
            receiver.hold(whole);
            receiver.tuning = Some(Box::new(Autotuning::new(whole, first, most, mss, role == Role::Passive)));
        }
        receiver
    }

    /// Opens the connection, or listens.
    pub fn open(&mut self) {
        self.handshake.open(false);
    }

    /// Another's handshake has opened the connection.
    pub(super) fn adopt(&mut self, opened: &Opened) {
        self.handshake.adopt(opened);
        self.ts_recent = opened.ts_recent;
        self.agree_ecn(&opened.ecn);
    }

    /// Applies the negotiated use of ECN.
    fn agree_ecn(&mut self, agreement: &ecn::Agreement) {
        if self.ecn.is_some() {
            self.ecn = ecn::Receiving::agreed(agreement).map(Box::new);
        }
    }

    /// Schedules an acknowledgment.
    pub(super) fn acknowledge(&mut self) {
        self.ack_now = true;
    }

    /// From the start, received data stays in a buffer of `capacity` bytes until [`Receiver::take`]. The window is the
    /// free space there, up to the maximum of the window field.
    pub fn hold(&mut self, capacity: u64) {
        self.tuning = None;
        self.is_bare = false;
        let offered = self.template.window.min(capacity);
        self.handshake.limit_window(capacity);
        self.buffer =
            Some(Box::new(ReceiveBuffer::new(capacity, self.payload_bytes, self.window_shift, offered)));
    }

    /// The owner has taken all bytes before `offset`; a window that has opened far enough is announced at once.
    pub fn take(&mut self, offset: u64) {
        let rcv_nxt = self.rcv_nxt();
        let Some(buffer) = &mut self.buffer else { return };
        self.ack_now |= buffer.take(offset, rcv_nxt) && self.handshake.is_established();
    }

    /// Moves the window to the value that the next ACK would advertise.
    pub(super) fn offer(&mut self) {
        let rcv_nxt = self.rcv_nxt();
        if let Some(buffer) = &mut self.buffer {
            buffer.offer(rcv_nxt);
        }
    }

    /// When `handle_deadline` must be called.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        // A connection that is open has none of the handshake's, and one that is not has acknowledged nothing.
        self.handshake.deadline().or(self.ack_deadline)
    }

    /// A segment arrived. Returns the offset of its data, if it had any.
    #[inline(always)]
    pub fn handle_segment(&mut self, now: Instant, packet: &Packet) -> Option<u64> {
        if packet.has_timestamps {
            if packet.flags.has(Flags::SYN) || self.echoes(packet) {
                self.ts_recent = packet.ts_val;
            } else if self.is_stale(packet) {
                self.counters.segments += 1;
                self.ack_now = true;
                return None;
            }
        }
        if !self.is_plain || packet.flags.has(Flags::SYN) {
            return self.handle_closely(now, packet);
        }
        self.take_data(now, packet)
    }

    /// The data of a segment.
    #[inline(always)]
    fn take_data(&mut self, now: Instant, packet: &Packet) -> Option<u64> {
        if packet.payload == 0 {
            return None;
        }
        let rcv_nxt = self.rcv_nxt();
        // A SYN takes one sequence number before the data.
        let first = packet.seq.wrapping_add(u32::from(packet.flags.has(Flags::SYN)));
        let start = unwrap_sequence(rcv_nxt, self.handshake.wire_ack(rcv_nxt), first)?;
        self.handle_data(now, start, start + u64::from(packet.payload));
        Some(start)
    }

    /// A segment without data, numbered one below the next expected byte, is a probe, and is answered: RFC 9293
    /// (3.8.4), (3.10.7.4).
    fn take_probe(&mut self, packet: &Packet) {
        let rcv_nxt = self.rcv_nxt();
        let last = self.handshake.wire_ack(rcv_nxt).wrapping_sub(1);
        let is_pure_ack = packet.payload == 0 && !packet.flags.has(Flags::SYN);
        self.ack_now |= is_pure_ack && rcv_nxt > 0 && packet.seq == last;
    }

    /// A segment arrived that needs more than the fast path.
    #[cold]
    fn handle_closely(&mut self, now: Instant, packet: &Packet) -> Option<u64> {
        let was_open = self.handshake.is_established();
        if self.look_closer(packet, was_open) == Progress::Consumed {
            return None;
        }
        if let (false, Some(acks), Some(sent)) = (was_open, &mut self.acks, self.handshake.sent_at()) {
            acks.set_rtt(now.since(sent));
        }
        if self.expects_probes {
            self.take_probe(packet);
        }
        let before = Before {
            rcv_nxt: self.rcv_nxt(),
            duplicates: self.counters.duplicates,
            had_deadline: self.ack_deadline.is_some(),
            was_due: self.ack_now,
            had_gaps: self.has_gaps(),
        };
        let beyond = self.counters.beyond_window;
        let start = self.take_data(now, packet);
        if start.is_some() {
            let grows = self.grow_window(now, packet);
            self.schedule_ack(now, &before, grows);
        }
        let is_old = start.is_some_and(|start| start + u64::from(packet.payload) <= before.rcv_nxt);
        if self.counters.beyond_window == beyond && !is_old && !packet.flags.has(Flags::SYN) {
            self.count_marks(packet);
        }
        start
    }

    /// With accurate ECN: counts the mark of an acceptable packet, which may call for an ACK.
    fn count_marks(&mut self, packet: &Packet) {
        let has_unacked = self.rcv_nxt() > self.last_ack_sent || self.has_gaps();
        if let Some(ecn) = &mut self.ecn {
            self.ack_now |= ecn.on_accepted(packet, has_unacked);
        }
    }

    /// A segment arrived that may open the connection, or may be marked.
    fn look_closer(&mut self, packet: &Packet, was_open: bool) -> Progress {
        if !was_open || packet.flags.has(Flags::SYN) {
            if self.handshake.handle_segment(packet) == Progress::Consumed {
                return Progress::Consumed;
            }
            self.sack.take_if(|_| !self.handshake.permits_sack());
            if !was_open {
                let agreement = *self.handshake.ecn();
                self.agree_ecn(&agreement);
            }
        }
        self.is_plain =
            self.ecn.is_none() && self.acks.is_none() && self.tuning.is_none() && !self.expects_probes;
        if let Some(ecn) = self.ecn.as_mut() {
            ecn.on_segment(packet);
        }
        Progress::Established
    }

    /// RFC 7323 (4.3) (2): the segment holds the byte acknowledged last.
    fn echoes(&self, packet: &Packet) -> bool {
        let last = self.handshake.wire_ack(self.last_ack_sent);
        packet.seq.wrapping_sub(last) as i32 <= 0 && packet.ts_val.wrapping_sub(self.ts_recent) as i32 >= 0
    }

    /// RFC 7323 (5.3) R1: the segment was sent before the one that advanced the window last, and is answered but not
    /// accepted. On a path without reordering it is an old duplicate; on a path that delays packets, segments overtaken
    /// by a retransmission are lost. Data received before is answered like any duplicate.
    fn is_stale(&self, packet: &Packet) -> bool {
        let next = self.handshake.wire_ack(self.rcv_nxt());
        let is_older = (packet.ts_val.wrapping_sub(self.ts_recent) as i32) < 0;
        is_older && packet.payload > 0 && packet.seq.wrapping_sub(next) as i32 > 0
    }

    /// Data up to this offset is accepted.
    #[inline]
    pub(super) fn window_end(&self) -> u64 {
        match &self.buffer {
            None => self.rcv_nxt() + self.template.window,
            Some(buffer) => buffer.window_end(),
        }
    }

    #[inline(always)]
    fn handle_data(&mut self, now: Instant, start: u64, end: u64) {
        self.counters.segments += 1;
        if end > self.window_end() {
            self.counters.beyond_window += 1;
            self.ack_now = true;
            return;
        }
        if let Some(sack) = &mut self.sack {
            sack.before_segment(&self.reassembly, start, end);
        }
        let arrival = self.reassembly.handle(start, end);
        if let Some(sack) = &mut self.sack {
            sack.after_segment(&self.reassembly, start);
        }
        // RFC 5681 (4.2): only a segment in order, while nothing is missing, may wait for its ACK.
        if arrival == Arrival::InOrder {
            self.unacked_segments += 1;
            if self.unacked_segments < self.ack_every {
                self.ack_deadline.get_or_insert(now + self.delayed_ack_timeout);
                return;
            }
        } else {
            self.counters.on_disorder(arrival);
        }
        self.ack_now = true;
    }

    /// The deadline has passed: the delayed ACK is due, or the SYN was not answered.
    pub fn handle_deadline(&mut self, now: Instant) {
        if !self.handshake.is_established() {
            self.handshake.handle_deadline(now);
        } else if self.ack_deadline.is_some_and(|at| at <= now) {
            self.ack_now = true;
            let has_waited_in_vain = self.unacked_segments < self.ack_every && !self.has_gaps();
            if let Some(acks) = self.acks.as_mut().filter(|_| has_waited_in_vain) {
                acks.on_expiry();
            }
        }
    }

    /// Whether a segment is to be sent now, and why.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<SendCause> {
        if let Some(cause) = self.handshake.poll_transmit(now) {
            return Some(cause);
        }
        if !self.ack_now {
            return None;
        }
        self.on_ack_sent();
        self.counters.acks_sent += 1;
        Some(SendCause::New)
    }

    /// An ACK has been sent.
    #[inline]
    fn on_ack_sent(&mut self) {
        self.ack_now = false;
        self.unacked_segments = 0;
        self.ack_deadline = None;
        self.last_ack_sent = self.rcv_nxt();
        if !self.is_bare {
            self.tell_ack_sent();
        }
    }

    /// Notifies SACK, the buffer and ECN that an ACK was sent.
    #[inline(never)]
    fn tell_ack_sent(&mut self) {
        if let Some(sack) = &mut self.sack {
            sack.on_ack();
        }
        if let Some(buffer) = &mut self.buffer {
            buffer.offer(self.last_ack_sent);
        }
        if let Some(ecn) = &mut self.ecn {
            ecn.on_ack_sent();
        }
    }

    /// A segment of the other direction, perhaps one of the handshake, takes the acknowledgment along: RFC 9293 (3.8.6.3).
    pub(super) fn piggyback(&mut self, packet: &mut Packet, is_handshake: bool) {
        packet.ack = self.handshake.wire_ack(self.rcv_nxt());
        if packet.has_timestamps {
            packet.ts_ecr = self.ts_recent;
        }
        self.on_ack_sent();
        if let Some(buffer) = &self.buffer {
            packet.window = buffer.window_field(self.rcv_nxt());
        }
        if let Some(ecn) = self.ecn.as_ref().filter(|_| !is_handshake) {
            let room = self.payload_bytes.saturating_sub(packet.payload.into());
            ecn.write(packet, room as u32);
        }
    }

    /// The other endpoint's latest timestamp: `TS.Recent` of RFC 7323 (4.3).
    pub(super) fn ts_recent(&self) -> u32 {
        self.ts_recent
    }

    /// Sequence number on the wire of the next byte expected.
    pub(super) fn wire_rcv_nxt(&self) -> u32 {
        self.handshake.wire_ack(self.rcv_nxt())
    }

    /// Segments that arrived with a mark; `None` without ECN.
    pub fn marks(&self) -> Option<u64> {
        self.ecn.as_ref().map(|ecn| ecn.marks)
    }

    /// Packets and bytes that arrived, by mark; `None` without accurate ECN.
    pub fn ecn_counts(&self) -> Option<ecn::Counts> {
        self.ecn.as_ref()?.counts()
    }

    /// Whether something has arrived beyond a gap.
    pub(super) fn has_gaps(&self) -> bool {
        self.reassembly.gaps() > 0
    }

    /// Fills in the header of the segment that `poll_transmit` announced.
    #[inline(always)]
    pub fn write(&self, now: Instant, cause: SendCause, packet: &mut Packet) {
        let template = &self.template;
        template.stamp(now, self.ts_recent, packet);
        if cause != SendCause::New {
            return self.handshake.write(packet);
        }
        packet.seq = self.handshake.wire_seq(0);
        packet.ack = self.handshake.wire_ack(self.rcv_nxt());
        packet.flags = Flags::ACK;
        packet.payload = 0;
        packet.len = template.header_bytes;
        packet.window = template.window_field;
        if !self.is_bare {
            self.write_more(packet);
        }
    }

    /// Writes the SACK, ECN and window fields of an ACK.
    #[inline(never)]
    fn write_more(&self, packet: &mut Packet) {
        if let Some(buffer) = &self.buffer {
            packet.window = buffer.window_field(self.rcv_nxt());
        }
        if let Some(sack) = self.sack.as_ref().filter(|sack| !sack.is_empty()) {
            for (left, right) in sack.blocks() {
                let (left, right) = (self.handshake.wire_ack(left), self.handshake.wire_ack(right));
                packet.options_mut().sack.push(left, right);
            }
            packet.len = self.template.ip.header_bytes() + tcp_header_bytes(packet);
        }
        if let Some(ecn) = &self.ecn {
            ecn.write(packet, u32::MAX);
        }
    }

    /// Whether the connection is open.
    pub(super) fn is_established(&self) -> bool {
        self.handshake.is_established()
    }

    /// Next byte expected: all bytes before it have been handed to the application, or wait for it.
    #[inline]
    pub fn rcv_nxt(&self) -> u64 {
        self.reassembly.rcv_nxt()
    }

    /// End of the acknowledged bytes.
    pub fn acknowledged(&self) -> u64 {
        self.last_ack_sent
    }

    /// Bytes received above a gap.
    pub fn out_of_order_bytes(&self) -> u64 {
        self.reassembly.out_of_order_bytes()
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// State before a segment, for a receiver with other rules for ACKs than RFC 5681.
struct Before {
    rcv_nxt: u64,
    duplicates: u64,
    had_deadline: bool,
    was_due: bool,
    had_gaps: bool,
}

impl Receiver {
    /// Schedules the ACK of a segment where it departs from RFC 5681 (4.2): [`delayed_ack`].
    fn schedule_ack(&mut self, now: Instant, before: &Before, window_grows: bool) {
        let (rcv_nxt, has_gaps) = (self.rcv_nxt(), self.has_gaps());
        let Some(acks) = &mut self.acks else { return };
        let mut is_soon = None;
        if rcv_nxt > before.rcv_nxt {
            let is_quick = acks.on_segment(now, window_grows);
            if acks.adapts && !before.had_gaps && !is_quick {
                self.ack_now = before.was_due;
                if self.unacked_segments >= self.ack_every {
                    is_soon = acks.wait_for_reader(now);
                }
            }
            self.ack_now |= is_quick;
        } else if self.counters.duplicates > before.duplicates {
            acks.on_duplicate(now);
        } else if has_gaps && self.sack.is_some() && acks.compresses(rcv_nxt) {
            self.ack_now = before.was_due;
            is_soon = Some(acks.compressed_at(now));
        }
        if self.ack_deadline.is_some() && !before.had_deadline {
            self.ack_deadline = Some(now + acks.delay());
        }
        if let Some(at) = is_soon {
            self.ack_deadline = Some(self.ack_deadline.map_or(at, |due| due.min(at)));
        }
    }

    /// The application has read a segment; whether the window grows. [`autotuning`].
    fn grow_window(&mut self, now: Instant, packet: &Packet) -> bool {
        let (rcv_nxt, beyond) = (self.rcv_nxt(), self.reassembly.beyond_gaps());
        let (Some(tuning), Some(buffer)) = (&mut self.tuning, &mut self.buffer) else { return false };
        if !packet.has_timestamps {
            tuning.time_a_window(now, rcv_nxt);
        } else if packet.ts_ecr != 0 {
            tuning.on_echo(timestamp(now), packet.ts_ecr);
        }
        let grows = buffer.grow(tuning.on_segment(now, rcv_nxt, beyond));
        buffer.take(rcv_nxt, rcv_nxt);
        grows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Handshake as Mode;

    #[test]
    fn a_window_that_opens_is_told_once_however_often_bytes_are_taken_before() {
        let config = Config { handshake: Mode::None, ..Config::default() };
        let mut receiver = Receiver::new(&config, Role::Active);
        receiver.hold(10_000);
        receiver.open();
        for start in (0..10_000).step_by(1000) {
            receiver.handle_data(Instant::ZERO, start, start + 1000);
        }
        assert_eq!(receiver.poll_transmit(Instant::ZERO), Some(SendCause::New));
        receiver.take(6000);
        receiver.take(9000);
        assert_eq!(receiver.poll_transmit(Instant::ZERO), Some(SendCause::New));
        assert_eq!(receiver.poll_transmit(Instant::ZERO), None);
    }
}
