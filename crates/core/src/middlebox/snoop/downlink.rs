//! Data towards the UE: the cache of unacknowledged segments and their local retransmission.

use super::Counters;
use crate::middlebox::acks::{Segment, are_far_apart, is_after};
use crate::packet::{Flags, Packet};
use crate::tcp::rto::{self, Rto};
use crate::time::{Duration, Instant};
use crate::trace::SnoopAction;
use std::collections::VecDeque;

/// Limits of the box per connection.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// Packets in the cache.
    pub packets: usize,
    /// Local retransmissions of a segment, or NACKs for a gap.
    pub retransmissions: u32,
    /// Local timer.
    pub timer: rto::Config,
}

/// State shared by all connections of the box.
pub(super) struct Accounting {
    pub limits: Limits,
    pub counters: Counters,
    /// Reused; empty between calls of the box.
    pub copies: Copies,
}

/// A segment that has gone to the radio.
struct Cached {
    /// First octet and end (exclusive); a FIN counts as one octet.
    start: u32,
    end: u32,
    packet: Box<Packet>,
    /// When it was sent last, and its number in the order in which segments and copies went to the radio.
    sent_at: Instant,
    turn: u64,
    /// Local retransmissions.
    copies: u32,
    /// The sender has retransmitted it.
    by_sender: bool,
    /// A SACK block reports that the UE has it.
    is_sacked: bool,
    /// A copy of it has been counted as unnecessary.
    is_spurious: bool,
}

/// Handling of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is forwarded to the sender.
    Passes,
    /// It is forwarded without its SACK blocks, which show a gap that the box repairs.
    PassesWithoutBlocks,
    /// It is suppressed.
    Suppressed,
    /// It is older than the latest, and reports nothing else.
    Stale,
}

/// Whether an ACK that repeats the acknowledgment number indicates an out-of-order segment; `window` is the previous
/// window. With SACK: if it reports data above the ACK, regardless of its window (RFC 6675 (2)), since kernels move the
/// window with every segment. Without SACK: if it changes nothing (RFC 5681 (2)).
fn is_duplicate(packet: &Packet, window: u16) -> bool {
    if Segment::of(packet) != Segment::PureAck || packet.window == 0 {
        return false;
    }
    if packet.has_blocks() {
        return window > 0
            && packet.options().sack.as_slice().iter().any(|(_, right)| is_after(*right, packet.ack));
    }
    packet.window == window
}

/// Copies that leave for the radio, and why.
pub(super) type Copies = Vec<(SnoopAction, Box<Packet>)>;

/// Number of retransmitted ranges remembered, whose copies may turn out to be unnecessary.
const MOST_RECENT: usize = 16;

/// The cache of one connection.
pub(super) struct Downlink {
    /// In the order of their sequence numbers.
    segments: VecDeque<Cached>,
    /// Highest acknowledgment number of the UE, and time of the last certain delivery.
    una: u32,
    progress_at: Instant,
    /// Behind the highest octet seen.
    highest: u32,
    /// The window field that came last.
    window: u16,
    /// The ACK that acknowledged `una`.
    last_ack: Option<Box<Packet>>,
    /// The sender has retransmitted acknowledged data: an ACK was lost, and the sender waits for the next one.
    is_awaited: bool,
    /// Duplicate ACKs that segments in flight before the latest copy of the segment at `una` may still cause.
    expected: u64,
    /// Segments and copies so far.
    turns: u64,
    rto: Rto,
    /// The minimum RTT of the radio.
    min_rtt: Option<Duration>,
    /// Acknowledged segments that the box had retransmitted.
    recent: VecDeque<(u32, u32)>,
    /// The sequence number after a FIN.
    fin: Option<u32>,
}

impl Downlink {
    /// A connection whose first octet is `first`.
    pub fn new(first: u32, timer: &rto::Config) -> Self {
        Self {
            segments: VecDeque::new(),
            una: first,
            progress_at: Instant::ZERO,
            highest: first,
            window: u16::MAX,
            last_ack: None,
            is_awaited: false,
            expected: 0,
            turns: 0,
            rto: Rto::new(timer),
            min_rtt: None,
            recent: VecDeque::new(),
            fin: None,
        }
    }

    /// Packets in the cache.
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether a number is too far from the window to belong to this connection.
    pub fn is_foreign(&self, seq: u32) -> bool {
        are_far_apart(seq, self.una)
    }

    /// Whether everything up to a FIN is acknowledged.
    pub fn has_ended(&self) -> bool {
        self.fin.is_some_and(|fin| !is_after(fin, self.una))
    }

    /// A segment with data or FIN towards the radio. If the UE has all of it already, returns the ACK to be sent to the
    /// sender instead of forwarding the segment.
    pub fn on_data(
        &mut self,
        now: Instant,
        packet: &Packet,
        accounting: &mut Accounting,
    ) -> Option<Box<Packet>> {
        // A SYN takes one sequence number before the data.
        let start = packet.seq.wrapping_add(u32::from(packet.flags.has(Flags::SYN)));
        let fin = u32::from(packet.flags.has(Flags::FIN));
        let end = start.wrapping_add(packet.payload).wrapping_add(fin);
        if fin > 0 {
            self.fin = Some(end);
        }
        if !is_after(end, self.una) {
            // A single octet may be a keep-alive, which must reach the UE: RFC 9293 (3.8.4).
            let answer = self.last_ack.clone().filter(|_| packet.payload > 1);
            self.is_awaited = answer.is_none();
            return answer;
        }
        self.turns += 1;
        let segment = Cached {
            start,
            end,
            packet: Box::new(packet.clone()),
            sent_at: now,
            turn: self.turns,
            copies: 0,
            by_sender: is_after(self.highest, start),
            is_sacked: false,
            is_spurious: false,
        };
        accounting.counters.sender_retransmissions += u64::from(segment.by_sender);
        if is_after(end, self.highest) {
            self.highest = end;
        }
        self.insert(segment, accounting);
        None
    }

    /// Puts a segment in its place, if there is room.
    fn insert(&mut self, mut segment: Cached, accounting: &mut Accounting) {
        // Mostly it is the last.
        let at = match self.segments.back().is_none_or(|last| is_after(segment.start, last.start)) {
            true => self.segments.len(),
            false => self.segments.partition_point(|other| is_after(segment.start, other.start)),
        };
        if let Some(same) = self.segments.get_mut(at).filter(|other| other.start == segment.start) {
            // A shorter segment does not change the cached one.
            if !is_after(same.end, segment.end) {
                segment.copies = same.copies;
                *same = segment;
            }
            return;
        }
        if self.segments.len() >= accounting.limits.packets {
            // The cached segments are needed earlier.
            accounting.counters.segments_not_cached += 1;
            return;
        }
        accounting.counters.segments_cached += 1;
        self.segments.insert(at, segment);
    }

    /// The UE acknowledges.
    pub fn on_ack(&mut self, now: Instant, packet: &Packet, accounting: &mut Accounting) -> Outcome {
        let ack = packet.ack;
        if self.is_foreign(ack) {
            return Outcome::Passes;
        }
        if is_after(self.una, ack) {
            return if Segment::of(packet) == Segment::PureAck { Outcome::Stale } else { Outcome::Passes };
        }
        let window = std::mem::replace(&mut self.window, packet.window);
        self.take_duplicate_report(packet, accounting);
        self.take_blocks(packet);
        if is_after(ack, self.una) {
            self.advance(now, packet, accounting);
            self.repair_shown_gaps(now, accounting);
            let repairs = self.repairs();
            self.is_awaited = false;
            return if repairs && packet.has_blocks() {
                Outcome::PassesWithoutBlocks
            } else {
                Outcome::Passes
            };
        }
        // Nothing is outstanding: a reply to a keep-alive.
        if !is_duplicate(packet, window) || !is_after(self.highest, ack) {
            return Outcome::Passes;
        }
        let outcome = match self.on_duplicate(now, packet.has_blocks(), accounting) {
            // To the sender it is no duplicate without its blocks, and it waits for the window, perhaps, or the ACK.
            Outcome::Suppressed if packet.window > window || self.is_awaited => Outcome::PassesWithoutBlocks,
            outcome => outcome,
        };
        self.is_awaited &= outcome == Outcome::Suppressed;
        match outcome {
            Outcome::Suppressed => accounting.counters.dupacks_suppressed += 1,
            Outcome::Passes | Outcome::PassesWithoutBlocks | Outcome::Stale => {
                accounting.counters.dupacks_passed += 1
            }
        }
        outcome
    }

    /// A duplicate ACK: first, expected, or unexpected.
    fn on_duplicate(&mut self, now: Instant, has_blocks: bool, accounting: &mut Accounting) -> Outcome {
        let newest = self.newest_sacked();
        let Some(first) = self.segments.front().filter(|first| !is_after(first.start, self.una)) else {
            // It never reached the radio: congestion.
            return Outcome::Passes;
        };
        if first.by_sender {
            return Outcome::Passes;
        }
        let is_lost = match (first.copies, has_blocks) {
            (0, _) => true,
            // Something that went after the copy has come.
            (_, true) => newest > first.turn,
            (_, false) => self.expected == 0,
        };
        if is_lost && first.copies >= accounting.limits.retransmissions {
            return Outcome::Passes;
        }
        if is_lost {
            // Each segment sent after it will cause one duplicate ACK; this ACK is the first of them.
            self.expected = (self.turns - first.turn).saturating_sub(1);
            self.copy(now, 0, SnoopAction::DupackRetransmission, accounting);
        } else {
            self.expected = self.expected.saturating_sub(1);
            // The copy was sent after the segment that caused this ACK.
            self.progress_at = now;
        }
        self.repair_shown_gaps(now, accounting);
        Outcome::Suppressed
    }

    /// Whether the segment that the UE waits for is the box's business.
    fn repairs(&self) -> bool {
        let first = self.segments.front();
        first.is_some_and(|first| !is_after(first.start, self.una) && first.copies > 0 && !first.by_sender)
    }

    /// The UE has all octets before the ACK.
    fn advance(&mut self, now: Instant, packet: &Packet, accounting: &mut Accounting) {
        let ack = packet.ack;
        let (mut newest, mut is_ambiguous) = (None, false);
        while self.segments.front().is_some_and(|first| !is_after(first.end, ack)) {
            let Some(first) = self.segments.pop_front() else { break };
            newest = Some(first.sent_at);
            is_ambiguous |= first.copies > 0 || first.by_sender;
            if first.copies > 0 && !first.by_sender && !first.is_spurious {
                self.judge_copy(now, &first, accounting);
            }
        }
        if is_after(ack, self.highest) {
            self.highest = ack;
        }
        (self.una, self.progress_at, self.expected) = (ack, now, 0);
        // Karn's algorithm.
        if let Some(sent_at) = newest.filter(|_| !is_ambiguous) {
            self.rto.on_sample(now, sent_at);
            let rtt = now.since(sent_at);
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        if Segment::of(packet) == Segment::PureAck && !packet.has_blocks() {
            self.last_ack.get_or_insert_default().as_mut().clone_from(packet);
        } else {
            self.last_ack = None;
        }
    }

    /// An ACK that arrives in less than half of the minimum RTT does not acknowledge the copy.
    fn judge_copy(&mut self, now: Instant, segment: &Cached, accounting: &mut Accounting) {
        if self.min_rtt.is_some_and(|min| now.since(segment.sent_at).saturating_mul(2) < min) {
            accounting.counters.local_retransmissions.spurious += 1;
            return;
        }
        if self.recent.len() == MOST_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((segment.start, segment.end));
    }

    /// Marks the cached segments that SACK blocks report.
    fn take_blocks(&mut self, packet: &Packet) {
        for &(left, right) in packet.options().sack.as_slice() {
            let covers = |one: &Cached| !is_after(left, one.start) && !is_after(one.end, right);
            for segment in self.segments.iter_mut().filter(|one| covers(one)) {
                segment.is_sacked = true;
            }
        }
    }

    /// The UE received a segment twice, RFC 2883: an unnecessary copy if only the box has retransmitted it.
    fn take_duplicate_report(&mut self, packet: &Packet, accounting: &mut Accounting) {
        let blocks = packet.options().sack;
        let Some(&(left, right)) = blocks.as_slice().first() else { return };
        let within = |(l, r): &(u32, u32)| !is_after(*l, left) && !is_after(right, *r);
        if is_after(right, packet.ack) && !blocks.as_slice().get(1).is_some_and(within) {
            return;
        }
        let reported = |start: u32, end: u32| !is_after(left, start) && !is_after(end, right);
        let before = self.recent.len();
        self.recent.retain(|&(start, end)| !reported(start, end));
        accounting.counters.local_retransmissions.spurious += (before - self.recent.len()) as u64;
        for segment in self.segments.iter_mut().filter(|one| reported(one.start, one.end)) {
            if segment.copies > 0 && !segment.by_sender && !segment.is_spurious {
                segment.is_spurious = true;
                accounting.counters.local_retransmissions.spurious += 1;
            }
        }
    }

    /// Index of the latest segment known to have arrived with its first transmission.
    fn newest_sacked(&self) -> u64 {
        let once = self.segments.iter().filter(|one| one.is_sacked && one.copies == 0 && !one.by_sender);
        once.map(|one| one.turn).max().unwrap_or(0)
    }

    /// Retransmits every cached segment that the SACK blocks leave out although a segment sent after it is known to
    /// have arrived.
    fn repair_shown_gaps(&mut self, now: Instant, accounting: &mut Accounting) {
        let newest = self.newest_sacked();
        if newest == 0 || accounting.limits.retransmissions == 0 {
            return;
        }
        for at in 0..self.segments.len() {
            let one = &self.segments[at];
            if !one.is_sacked && one.copies == 0 && !one.by_sender && one.turn < newest {
                self.copy(now, at, SnoopAction::DupackRetransmission, accounting);
            }
        }
    }

    /// Retransmits a cached segment.
    fn copy(&mut self, now: Instant, at: usize, why: SnoopAction, accounting: &mut Accounting) {
        let segment = &mut self.segments[at];
        self.turns += 1;
        (segment.turn, segment.sent_at) = (self.turns, now);
        segment.copies += 1;
        let counts = &mut accounting.counters.local_retransmissions;
        counts.total += 1;
        counts.bytes += u64::from(segment.packet.len);
        let is_timed = why == SnoopAction::TimerRetransmission;
        *(if is_timed { &mut counts.timer } else { &mut counts.dupack }) += 1;
        accounting.copies.push((why, segment.packet.clone()));
    }

    /// Deadline of the local timer. It runs for the segment that the UE waits for, once an RTT is known.
    pub fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let first = self.segments.front().filter(|first| !is_after(first.start, self.una))?;
        if first.copies >= limits.retransmissions || self.window == 0 || self.min_rtt.is_none() {
            return None;
        }
        Some(first.sent_at.max(self.progress_at) + self.rto.value())
    }

    /// The local timer has expired.
    pub fn on_deadline(&mut self, now: Instant, accounting: &mut Accounting) {
        if self.deadline(&accounting.limits).is_none_or(|at| at > now) {
            return;
        }
        self.expected = self.turns - self.segments[0].turn;
        self.rto.on_timeout();
        self.copy(now, 0, SnoopAction::TimerRetransmission, accounting);
    }

    /// The buffer after the box has dropped the segment that starts at octet `start`: congestion, which the sender
    /// handles. Returns whether it was in the cache. A dropped copy is retransmitted again.
    pub fn forget(&mut self, start: u32) -> bool {
        let at = self.segments.partition_point(|other| is_after(start, other.start));
        let is_there = self.segments.get(at).is_some_and(|one| one.start == start && one.copies == 0);
        if is_there {
            self.segments.remove(at);
        }
        is_there
    }
}
