//! A connection as one interface saw it: its handshake, both directions of data, and where on the path this is.

use airpath_core::time::{Duration, Instant};
use serde::Serialize;

use crate::copies::{Copies, Look};
use crate::flow::Flow;
use crate::segment::{ACK, FIN, Offer, RST, SYN, Segment};

/// Hosts answer sooner than this.
const AT_HAND: Duration = Duration::from_millis(1);
/// ASSUMED: the sender's value where the capture has none.
const ASSUMED_ANSWER: Duration = Duration::from_millis(200);
/// Round trips that make a rule.
const ENOUGH: u64 = 20;
/// ASSUMED: more segments in front of the answer to a SYN are no stray ones; the answer was not captured.
const MOST_STRAYS: u64 = 16;
/// Nearer to one end than this share of the round trip is at that end.
const NEAR: f64 = 0.1;

pub type Side = usize;

/// Place of a capture relative to a sender's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Viewpoint {
    Sender,
    Receiver,
    Between,
    /// Unknown; the rules for the sender's side then apply.
    Unknown,
}

/// A connection at one interface.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Interface of the capture.
    pub interface: u32,
    /// Data of the lesser end, and of the other.
    pub flows: [Flow; 2],
    /// Options of both ends' SYNs.
    pub offers: [Option<Offer>; 2],
    pub opener: Option<Side>,
    pub first_at: Instant,
    pub latest_at: Instant,
    /// Packets of both ends, without copies.
    pub packets: [u64; 2],
    /// Packets recorded more than once.
    pub copied: u64,
    /// Segments in front of the answer to a SYN that are of no connection, or of an old one.
    pub strays: u64,
    /// Retransmitted SYNs and SYN-ACKs.
    pub syns_again: u64,
    pub fin: [bool; 2],
    pub rst: [bool; 2],
    /// Packets with times before those of the packets in front of them; taken for simultaneous.
    pub went_back: u64,
    /// Packets whose options could not be read.
    pub lacks_options: u64,
    /// Round trip of the handshake, seen from here to the opener's peer and to the opener.
    pub handshake: (Option<Duration>, Option<Duration>),
    /// When the opener acknowledged the answer to its SYN.
    pub established_at: Option<Instant>,
    copies: [Copies; 2],
    isn: [Option<u32>; 2],
    /// Sequence numbers that the opener's SYN took.
    syn_len: u32,
    /// The SYN was answered.
    is_answered: bool,
    /// The latest SYN of each end had an ACK.
    has_answered: [bool; 2],
    /// Acknowledgment number of the latest stray segment.
    stray_ack: Option<u32>,
    syn_at: Option<Instant>,
    answer_at: Option<Instant>,
}

impl View {
    /// An interface that has seen nothing of the connection.
    pub fn new(interface: u32, now: Instant) -> Self {
        Self { interface, first_at: now, latest_at: now, ..Self::default() }
    }

    /// Whether a segment opens another connection between the same ends.
    pub fn is_another(&self, side: Side, segment: &Segment) -> bool {
        if !segment.has(SYN) || segment.has(RST) {
            return false;
        }
        match self.isn[side] {
            Some(isn) => isn != segment.seq,
            // The reply to a captured SYN belongs to it; after data there is none.
            None => self.flows[side].counters.segments > 0 || self.isn[1 - side].is_none(),
        }
    }

    /// Whether a segment seen at another interface can belong to the connection seen here.
    pub fn fits(&self, side: Side, segment: &Segment) -> bool {
        if segment.has(SYN) {
            let is_answer = segment.has(ACK) && self.isn[1 - side] == Some(segment.ack.wrapping_sub(1));
            self.isn[side].map_or(is_answer, |isn| isn == segment.seq)
        } else {
            self.flows[side].is_near(segment.seq)
                && (!segment.has(ACK) || self.flows[1 - side].is_near(segment.ack))
        }
    }

    /// Whether the numbers of a segment belong to this connection: those of the SYN, or close to the data of both ends.
    pub fn has_numbers_of(&self, side: Side, segment: &Segment) -> bool {
        if segment.has(SYN) {
            return self.fits(side, segment);
        }
        self.flows[side].is_close(segment.seq)
            && (!segment.has(ACK) || self.flows[1 - side].is_close(segment.ack))
    }

    /// Whether there is more of the connection than a SYN without an answer.
    pub fn is_begun(&self) -> bool {
        self.opener.is_none() || self.is_answered
    }

    /// Whether the sequence and acknowledgment numbers of a segment are close to the data of both ends.
    pub fn is_close(&self, side: Side, segment: &Segment) -> bool {
        if segment.has(SYN) {
            return self.fits(side, segment);
        }
        let flows = [&self.flows[side], &self.flows[1 - side]];
        flows[0].is_close(segment.seq) || segment.has(ACK) && flows[1].is_close(segment.ack)
    }

    /// A segment passes. Returns whether it is counted, i.e. no copy of an earlier one. `has_copies` says that copies
    /// are usual in the capture.
    pub fn handle(&mut self, now: Instant, side: Side, segment: &Segment, has_copies: bool) -> bool {
        if self.copies[side].is_copy(now.max(self.latest_at), Look::of_segment(segment), has_copies) {
            self.copied += 1;
            return false;
        }
        self.went_back += u64::from(now < self.latest_at);
        let now = now.max(self.latest_at);
        self.latest_at = now;
        self.packets[side] += 1;
        self.lacks_options += u64::from(segment.lacks_options);
        if self.is_stray(side, segment) {
            self.strays += 1;
            return true;
        }
        let is_third = self.opener == Some(side) && !segment.has(SYN) && segment.has(ACK);
        if is_third && self.isn[1 - side].is_some() {
            self.established_at.get_or_insert(now);
        }
        if segment.has(SYN) {
            self.on_syn(now, side, segment);
        } else if self.opener == Some(side)
            && segment.has(ACK)
            && let Some(answer_at) = self.answer_at.take()
        {
            self.on_handshake_part(side, now.since(answer_at));
        }
        self.fin[side] |= segment.has(FIN);
        self.rst[side] |= segment.has(RST);
        if self.handshake == (None, None) {
            self.guess_answer(side);
        }
        let is_repeat = self.flows[side].has_seen(segment);
        self.flows[1 - side].handle_ack(now, segment, is_repeat);
        self.flows[side].handle_data(now, segment);
        true
    }

    /// RFC 9293 (3.10.7.3): before the reply to its SYN an end discards segments that acknowledge anything but that
    /// SYN, and resets their sender: an ACK of an old connection (a challenge ACK: RFC 5961 (4)). Neither belongs to
    /// this connection.
    fn is_stray(&mut self, side: Side, segment: &Segment) -> bool {
        let Some(opener) = self.opener.filter(|_| !self.is_answered) else { return false };
        if side == opener {
            if segment.has(RST) {
                return self.stray_ack == Some(segment.seq);
            }
            self.is_answered = segment.has(ACK);
            return false;
        }
        let acked = self.isn[opener].map(|isn| segment.ack.wrapping_sub(isn));
        let is_acceptable = acked.is_none_or(|acked| (1..=self.syn_len).contains(&acked));
        if segment.has(SYN) || segment.has(ACK) && is_acceptable || self.strays >= MOST_STRAYS {
            self.is_answered = true;
            return false;
        }
        self.stray_ack = Some(segment.ack);
        true
    }

    fn on_syn(&mut self, now: Instant, side: Side, segment: &Segment) {
        let had_answered = std::mem::replace(&mut self.has_answered[side], segment.has(ACK));
        if self.isn[side].replace(segment.seq).is_some() {
            // RFC 9293 (3.5): with a simultaneous open, both ends reply after their SYN.
            let is_simultaneous = segment.has(ACK) && !had_answered;
            self.syns_again += u64::from(!is_simultaneous);
            // It is unknown which of them was answered.
            (self.syn_at, self.answer_at) = (None, None);
            return;
        }
        self.flows[side].on_syn(segment.seq);
        if !segment.lacks_options {
            self.offers[side] = Some(segment.offer);
        }
        if segment.has(ACK) {
            self.opener.get_or_insert(1 - side);
            if let Some(syn_at) = self.syn_at.take() {
                self.on_handshake_part(side, now.since(syn_at));
            }
            self.answer_at = (self.syns_again == 0).then_some(now);
        } else {
            self.opener.get_or_insert(side);
            self.syn_len = segment.payload.saturating_add(1);
            self.syn_at = Some(now);
        }
        if let [Some(one), Some(other)] = self.offers {
            let is_scaled = one.window_scale.is_some() && other.window_scale.is_some();
            for (flow, receiver) in self.flows.iter_mut().zip([other, one]) {
                flow.window_shift = Some(receiver.window_scale.filter(|_| is_scaled).unwrap_or(0));
                flow.offered_mss = receiver.mss;
            }
        }
    }

    /// The handshake shows that from here to `side` and back takes so long.
    fn on_handshake_part(&mut self, side: Side, time: Duration) {
        if self.opener == Some(side) {
            self.handshake.1 = Some(time);
        } else {
            self.handshake.0 = Some(time);
        }
        self.flows[1 - side].rtt.add_shortest(time);
        self.flows[side].answer = beyond_hand(time);
    }

    /// Without a handshake, timestamps may show how long the sender takes to answer.
    fn guess_answer(&mut self, side: Side) {
        let flow = &mut self.flows[side];
        if let Some(seconds) = flow.rtt.back.min() {
            flow.answer = beyond_hand(Duration::from_nanos((seconds * 1e9) as u64));
        } else if has_receiver_at_hand(flow) {
            flow.answer = ASSUMED_ANSWER;
        }
    }

    /// Place where the data of a side was captured.
    pub fn viewpoint(&self, side: Side) -> Viewpoint {
        let forward = self.flows[side].rtt.shortest.map(Duration::as_secs_f64);
        let (to_peer, to_opener) = self.handshake;
        let back = if self.opener == Some(side) { to_opener } else { to_peer };
        let back = back.map(Duration::as_secs_f64).or(self.flows[side].rtt.back.min());
        let Some((forward, back)) = forward.zip(back) else {
            let is_near = has_receiver_at_hand(&self.flows[side]);
            return if is_near { Viewpoint::Receiver } else { Viewpoint::Unknown };
        };
        // Losses before the place of the capture show that there is a path before it.
        let counters = &self.flows[side].counters;
        let lost_before = 2 * counters.seen_before < counters.retransmissions;
        if back <= NEAR * (forward + back) && !lost_before {
            Viewpoint::Sender
        } else if forward <= NEAR * (forward + back) {
            Viewpoint::Receiver
        } else {
            Viewpoint::Between
        }
    }

    /// Whether nothing is to be expected any more.
    pub fn is_closed(&self) -> bool {
        self.fin == [true; 2] || self.rst != [false; 2]
    }

    /// Known payload in both directions.
    pub fn payload(&self) -> u64 {
        self.flows.iter().map(|flow| flow.bytes_known().max(flow.counters.bytes)).sum()
    }

    pub fn bytes(&self) -> usize {
        let flows = self.flows.iter().map(Flow::bytes).sum::<usize>();
        size_of::<Self>() + flows + self.copies.iter().map(Copies::bytes).sum::<usize>()
    }
}

/// Whether ACKs follow data at once: nothing lies between here and the receiver.
fn has_receiver_at_hand(flow: &Flow) -> bool {
    flow.rtt.forward.count() >= ENOUGH
        && flow.rtt.forward.mean().is_some_and(|mean| mean < AT_HAND.as_secs_f64())
}

/// A host at hand answers at once.
fn beyond_hand(time: Duration) -> Duration {
    if time <= AT_HAND { Duration::ZERO } else { time }
}
