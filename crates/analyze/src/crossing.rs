//! Packets of one end between two interfaces: each packet seen at one is found again at the other, or was lost in
//! between.
//!
//! A packet is identified by sequence and acknowledgment number, length, flags and TSval, which no box changes. If
//! several packets are identical (retransmissions without timestamps), the first one sent after the latest arrival is
//! chosen: on a path that preserves order, earlier ones are lost. If there is none, the arrival is late and one of the
//! skipped packets. A packet that may be either a segment or its copy waits for the outcome of the copy: if fewer
//! arrive than were sent, the first are lost.
//!
//! Which interface is nearer to the sender follows from the times: both must have the same clock.

use std::collections::VecDeque;

use airpath_core::time::{Duration, Instant};
use serde::Serialize;

use crate::datagram::Datagram;
use crate::segment::{ACK, FIN, RST, SYN, Segment};
use crate::series::{Curve, Marks, Series};
use crate::sketch::{Distribution, Sketch};

/// Packets that wait for their arrival, at most.
const MOST: usize = 65_536;
/// ASSUMED: a packet that this many later packets have overtaken was lost.
const MOST_PASSED_OVER: usize = 512;
/// Packets compared for an arrival, in the mean: where little is found again, the search must not take long.
const COMPARED: usize = 8;
/// Packets compared before this mean is kept.
const COMPARED_AT_FIRST: u64 = 1 << 20;
/// If a larger share of the arrivals is not found, the interfaces saw the stream in other segments, or a box changes
/// the fields that identify packets.
const MOST_ADDED: f64 = 0.1;

/// A packet as it is known at both interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    seq: u32,
    ack: u32,
    payload: u32,
    tsval: Option<u32>,
    flags: u8,
}

impl Packet {
    /// Identity of a segment at any interface.
    pub fn of(segment: &Segment) -> Self {
        Self {
            seq: segment.seq,
            ack: segment.ack,
            payload: segment.payload,
            tsval: segment.timestamps.map(|(tsval, _)| tsval),
            flags: segment.flags & (SYN | FIN | RST | ACK),
        }
    }

    /// Identity of a datagram at any interface; `None` if too little of it was captured.
    pub fn of_datagram(datagram: &Datagram) -> Option<Self> {
        let digest = datagram.digest?;
        // No two are alike, as of segments with timestamps.
        Some(Self {
            seq: digest as u32,
            ack: (digest >> 32) as u32,
            payload: datagram.payload.max(1),
            tsval: Some(0),
            flags: 0,
        })
    }

    fn kind(&self) -> Kind {
        match self.flags {
            flags if flags & (SYN | RST) != 0 => Kind::Control,
            _ if self.payload > 0 => Kind::Data,
            flags if flags & FIN != 0 => Kind::Control,
            _ => Kind::Ack,
        }
    }
}

/// Kind of packets with separate counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Data,
    Ack,
    /// SYN, FIN and RST.
    Control,
}

/// Index of one of the two interfaces, 0 or 1.
pub type Place = usize;

/// Packets of one end at two interfaces.
#[derive(Clone, Debug, Default)]
pub struct Crossing {
    /// Packets seen first at either place.
    lanes: [Lane; 2],
    /// Number of packets that were later at place 1, and at place 0.
    later: [u64; 2],
    found: u64,
    /// Sum of the times from place 0 to place 1, seconds.
    sum_s: f64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: Packet,
    at: Instant,
    state: State,
    /// Places from here to its waiting copy; 0 if there is none.
    copy: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    /// The packet or its copy arrived at this time.
    Either(Instant),
    Arrived,
}

/// Packets seen at one place, and their outcomes at the other.
#[derive(Clone, Debug, Default)]
struct Lane {
    waiting: VecDeque<Waiting>,
    /// Position in `waiting` after the latest arrival.
    next: usize,
    /// The end of the stream so far.
    end: Option<u32>,
    searches: u64,
    /// Packets compared beyond the first few of each search.
    compared: u64,
    arrived: [u64; 3],
    lost: [u64; 3],
    late: [u64; 3],
    data_delay: Sketch,
    ack_delay: Sketch,
    delay_over_time: Series,
    lost_over_time: Series,
    shortest: Option<Duration>,
    longest: Duration,
}

/// Outcomes of packets of one kind between two interfaces.
#[derive(Clone, Debug, Serialize)]
pub struct Passage {
    /// Passed the interface near their sender and never the other.
    pub lost: u64,
    /// Had not arrived at the end of the capture, and were not overdue.
    pub in_transit: u64,
    /// Number of packets that arrived after later ones.
    pub late: u64,
    /// Passed only the interface far from their sender: made by a box in between.
    pub added: u64,
    /// Time from one interface to the other, ms.
    pub delay_ms: Option<Distribution>,
}

/// Outcomes of packets of one end between two interfaces.
#[derive(Clone, Debug)]
pub struct Report {
    /// Segments with data; `None` if the interfaces saw the stream in other segments.
    pub data: Option<Passage>,
    /// ACKs without data.
    pub acks: Option<Passage>,
    /// Delay of segments with data over time, ms.
    pub delay_over_time: Curve,
    /// Segments lost, over the time when they were sent.
    pub lost_over_time: Marks,
}

impl Crossing {
    /// A packet passes one of the places.
    pub fn pass(&mut self, now: Instant, place: Place, packet: Packet) {
        let has_begun = self.has_matches();
        let [first, second] = &mut self.lanes;
        let (here, there) = if place == 0 { (first, second) } else { (second, first) };
        let Some(sent) = there.take(now, &packet, has_begun) else {
            here.push(now, packet);
            return;
        };
        if !has_begun {
            // Packets seen only here so far were sent before the capture at the other interface began.
            here.waiting.clear();
        }
        let (from, to) = if place == 1 { (sent.at, now) } else { (now, sent.at) };
        self.found += 1;
        self.later[0] += u64::from(to > from);
        self.later[1] += u64::from(from > to);
        self.sum_s += to.since(from).as_secs_f64() - from.since(to).as_secs_f64();
        if sent.state == State::Arrived {
            // Interfaces may be written in turns: times decide which was first, not their order in the file.
            let earlier = if now < sent.at { place } else { 1 - place };
            self.lanes[earlier].on_arrival(
                packet.kind(),
                sent.at.min(now),
                to.since(from).max(from.since(to)),
            );
        }
    }

    /// Whether a packet was found at both places.
    pub fn has_matches(&self) -> bool {
        self.found > 0
    }

    /// The place that packets pass first; `None` if times do not say.
    pub fn first(&self) -> Option<Place> {
        let [to_second, to_first] = self.later;
        (to_second != to_first).then_some(usize::from(to_first > to_second))
    }

    /// Mean time from place 0 to place 1, negative if that is the first; `None` without packets at both.
    pub fn mean_s(&self) -> Option<f64> {
        self.has_matches().then(|| self.sum_s / self.found as f64)
    }

    /// Outcomes of packets that pass the place `near` first. The connection began at `start`, and the other place saw
    /// its last packet at `end`.
    pub fn report(&self, near: Place, start: Instant, end: Instant) -> Report {
        let (mut lane, other) = (self.lanes[near].clone(), &self.lanes[1 - near]);
        let in_transit = lane.settle(end);
        let passage = |kind: Kind, delay: &Sketch| {
            let waiting =
                other.waiting.iter().filter(|one| one.state == State::Waiting && one.packet.kind() == kind);
            let added = other.lost[kind as usize] + waiting.count() as u64;
            let arrived = lane.arrived[kind as usize];
            let is_alike = added as f64 <= MOST_ADDED * (arrived + added) as f64;
            is_alike.then(|| Passage {
                lost: lane.lost[kind as usize],
                in_transit: in_transit[kind as usize],
                late: lane.late[kind as usize],
                added,
                delay_ms: delay.distribution(1e3),
            })
        };
        let data = passage(Kind::Data, &lane.data_delay);
        Report {
            lost_over_time: data.as_ref().map(|_| lane.lost_over_time.marks(start)).unwrap_or_default(),
            data,
            acks: passage(Kind::Ack, &lane.ack_delay),
            delay_over_time: lane.delay_over_time.curve(start, 1e3),
        }
    }

    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.lanes.iter().map(Lane::bytes).sum::<usize>()
    }
}

impl Lane {
    fn push(&mut self, at: Instant, packet: Packet) {
        if self.waiting.len() == MOST {
            self.give_up_first();
        }
        // No two segments with timestamps are identical.
        if packet.kind() == Kind::Data && packet.tsval.is_none() {
            let end = packet.seq.wrapping_add(packet.payload);
            if self.end.is_none_or(|before| (end.wrapping_sub(before) as i32) > 0) {
                self.end = Some(end);
            } else if self.may_compare(self.waiting.len())
                && let Some(first) = self.waiting.iter().rposition(|one| one.packet == packet)
            {
                self.waiting[first].copy = self.waiting.len() - first;
            }
        }
        self.waiting.push_back(Waiting { packet, at, state: State::Waiting, copy: 0 });
    }

    /// Finds an arrival among the waiting packets. Packets sent before the first waiting one are forgotten.
    fn take(&mut self, now: Instant, packet: &Packet, has_begun: bool) -> Option<Waiting> {
        let at = self.find(packet)?;
        if at < self.next {
            self.late[packet.kind() as usize] += 1;
        }
        let copy = self.copy_of(at).filter(|copy| copy.state == State::Waiting);
        let may_be_copy = copy.is_some_and(|copy| now >= copy.at + self.shortest.unwrap_or_default());
        let sent = &mut self.waiting[at];
        sent.state = if may_be_copy { State::Either(now) } else { State::Arrived };
        let sent = *sent;
        self.next = self.next.max(at + 1);
        if !has_begun {
            self.waiting.drain(..at);
            self.next -= at;
        }
        while self.next > MOST_PASSED_OVER || self.is_first_settled() {
            self.give_up_first();
        }
        Some(sent)
    }

    fn copy_of(&self, at: usize) -> Option<&Waiting> {
        self.waiting.get(at).filter(|sent| sent.copy > 0).and_then(|sent| self.waiting.get(at + sent.copy))
    }

    fn is_first_settled(&self) -> bool {
        self.waiting.front().is_some_and(|first| match first.state {
            State::Waiting => false,
            State::Either(_) => self.copy_of(0).is_some_and(|copy| copy.state != State::Waiting),
            State::Arrived => true,
        })
    }

    /// Searches after the latest arrival first, then among the skipped packets.
    fn find(&mut self, packet: &Packet) -> Option<usize> {
        let is_it = |one: &Waiting| one.state == State::Waiting && one.packet == *packet;
        self.searches += 1;
        let near = self.waiting.len().min(self.next + COMPARED);
        if let Some(at) = self.waiting.range(self.next..near).position(is_it) {
            return Some(self.next + at);
        }
        if !self.may_compare(self.waiting.len() - near + self.next) {
            return None;
        }
        let ahead = self.waiting.range(near..).position(is_it).map(|at| near + at);
        ahead.or_else(|| self.waiting.range(..self.next).position(is_it))
    }

    /// Whether this many more packets may be compared; if so, they are counted.
    fn may_compare(&mut self, packets: usize) -> bool {
        let compared = self.compared + packets as u64;
        let may = compared <= COMPARED_AT_FIRST + self.searches * COMPARED as u64;
        if may {
            self.compared = compared;
        }
        may
    }

    /// Forgets the first: it has arrived, or never will.
    fn give_up_first(&mut self) {
        let Some(first) = self.waiting.pop_front() else { return };
        self.next = self.next.saturating_sub(1);
        let kind = first.packet.kind();
        let is_lost = match first.state {
            State::Arrived => false,
            State::Waiting => true,
            State::Either(arrived_at) => {
                let copy = first.copy.checked_sub(1).and_then(|at| self.waiting.get(at)).copied();
                match copy.filter(|copy| copy.state == State::Waiting) {
                    Some(copy) => self.was_copy(first.copy - 1, copy, arrived_at),
                    None => self.on_arrival(kind, first.at, arrived_at.since(first.at)),
                }
                copy.is_some_and(|copy| copy.state == State::Waiting)
            }
        };
        if is_lost {
            self.lost[kind as usize] += 1;
            if kind == Kind::Data {
                self.lost_over_time.add(first.at, 1.0);
            }
        }
    }

    /// The copy of a segment arrived in its place, if it was not another copy of that.
    fn was_copy(&mut self, at: usize, copy: Waiting, arrived_at: Instant) {
        let has_copy =
            self.copy_of(at).is_some_and(|other| arrived_at >= other.at + self.shortest.unwrap_or_default());
        self.waiting[at].state = if has_copy { State::Either(arrived_at) } else { State::Arrived };
        if !has_copy {
            self.on_arrival(copy.packet.kind(), copy.at, arrived_at.since(copy.at));
        }
    }

    /// Gives up all waiting packets; returns how many of each kind may still be in flight when the other place saw its
    /// last packet.
    fn settle(&mut self, end: Instant) -> [u64; 3] {
        let mut in_transit = [0; 3];
        while let Some(first) = self.waiting.front() {
            if first.state == State::Waiting && first.at + self.longest >= end {
                in_transit[first.packet.kind() as usize] += 1;
                self.waiting.pop_front();
            } else {
                self.give_up_first();
            }
        }
        in_transit
    }

    fn on_arrival(&mut self, kind: Kind, sent_at: Instant, delay: Duration) {
        self.arrived[kind as usize] += 1;
        self.shortest = Some(self.shortest.map_or(delay, |shortest| shortest.min(delay)));
        self.longest = self.longest.max(delay);
        match kind {
            Kind::Data => {
                self.data_delay.add(delay.as_secs_f64());
                self.delay_over_time.add(sent_at, delay.as_secs_f64());
            }
            Kind::Ack => self.ack_delay.add(delay.as_secs_f64()),
            Kind::Control => {}
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Waiting>() * self.waiting.capacity()
            + self.data_delay.bytes()
            + self.ack_delay.bytes()
            + self.delay_over_time.bytes()
            + self.lost_over_time.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIKE: u32 = 0;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn data(number: u32, tsval: u32) -> Packet {
        let timestamps = (tsval != ALIKE).then_some((tsval, 0));
        let (seq, payload) = (number * 1000, 1000);
        Packet::of(&Segment { seq, payload, timestamps, flags: ACK, ..Segment::default() })
    }

    /// Time in ms, place, packet.
    fn crossing(packets: &[(u64, Place, Packet)]) -> Crossing {
        let mut crossing = Crossing::default();
        for (ms, place, packet) in packets {
            crossing.pass(at(*ms), *place, *packet);
        }
        crossing
    }

    /// Lost, in flight, late, added, and the smallest and largest delay.
    fn found(crossing: &Crossing, near: Place, end_ms: u64) -> ([u64; 4], f64, f64) {
        let data = crossing.report(near, at(0), at(end_ms)).data.expect("alike");
        let delay = data.delay_ms.expect("arrivals");
        ([data.lost, data.in_transit, data.late, data.added], delay.min, delay.max)
    }

    #[test]
    fn what_arrives_is_timed_and_what_was_passed_over_is_lost() {
        let sent = [(0, 0, data(0, 1)), (1, 0, data(1, 1)), (2, 0, data(2, 1)), (30, 0, data(3, 1))];
        let came = [(20, 1, data(0, 1)), (25, 1, data(2, 1))];
        let crossing = crossing(&[&sent[..3], &came[..], &sent[3..]].concat());
        assert_eq!(found(&crossing, 0, 40), ([1, 1, 0, 0], 20.0, 23.0));
        // Long after the maximum delay, packets that have not arrived are lost.
        assert_eq!(found(&crossing, 0, 100).0, [2, 0, 0, 0]);
        assert_eq!(crossing.first(), Some(0));
        assert!(crossing.mean_s().is_some_and(|mean| (mean - 0.0215).abs() < 1e-9));
        let marks = crossing.report(0, at(0), at(100)).lost_over_time;
        assert_eq!(marks.count.iter().sum::<u32>(), 2);
    }

    #[test]
    fn of_two_alike_the_one_behind_the_latest_arrival_is_meant() {
        let first = [(0, 0, data(0, ALIKE)), (1, 0, data(1, ALIKE)), (2, 0, data(2, ALIKE))];
        let came = [(20, 1, data(0, ALIKE)), (22, 1, data(2, ALIKE))];
        let again = [(50, 0, data(1, ALIKE)), (69, 1, data(1, ALIKE))];
        let crossing = crossing(&[&first[..], &came[..], &again[..]].concat());
        assert_eq!(found(&crossing, 0, 80), ([1, 0, 0, 0], 19.0, 20.0));
    }

    #[test]
    fn of_a_segment_and_its_copy_the_first_is_lost_if_one_is() {
        let begin = [(0, 0, data(9, ALIKE)), (20, 1, data(9, ALIKE))];
        let sent = [(100, 0, data(10, ALIKE)), (101, 0, data(11, ALIKE)), (400, 0, data(10, ALIKE))];
        let arrived = |more: &[_]| found(&crossing(&[&begin[..], &sent[..], more].concat()), 0, 1000);
        let copy = [(420, 1, data(10, ALIKE))];
        assert_eq!(arrived(&copy), ([2, 0, 0, 0], 20.0, 20.0));
        // All were held up.
        let all = [(420, 1, data(10, ALIKE)), (421, 1, data(11, ALIKE)), (425, 1, data(10, ALIKE))];
        assert_eq!(arrived(&all), ([0, 0, 0, 0], 20.0, 320.0));
        // Too soon for the copy.
        assert_eq!(arrived(&[(419, 1, data(10, ALIKE))]), ([2, 0, 0, 0], 20.0, 319.0));
    }

    #[test]
    fn what_was_overtaken_is_late_and_what_nobody_sent_was_added() {
        let sent: Vec<_> = (0..20).map(|number| (u64::from(number), 0, data(number, 1))).collect();
        let mut came: Vec<_> = (0..20).map(|number| (u64::from(number) + 30, 1, data(number, 1))).collect();
        came.swap(4, 5);
        came.push((60, 1, data(7, 1)));
        let crossing = crossing(&[sent, came].concat());
        assert_eq!(found(&crossing, 0, 80).0, [0, 0, 1, 1]);
    }

    #[test]
    fn times_decide_what_was_first_and_not_the_order_in_the_file() {
        let came = [(20, 1, data(0, 1)), (21, 1, data(1, 1))];
        let sent = [(0, 0, data(0, 1)), (1, 0, data(1, 1))];
        let crossing = crossing(&[came, sent].concat());
        assert_eq!((crossing.first(), crossing.mean_s()), (Some(0), Some(0.02)));
        assert_eq!(found(&crossing, 0, 40), ([0, 0, 0, 0], 20.0, 20.0));
    }

    #[test]
    fn a_burst_of_losses_is_passed_over_and_a_stream_cut_otherwise_is_not_judged() {
        let sent: Vec<_> = (0..3000).map(|number| (u64::from(number), 0, data(number, 1))).collect();
        let came = [(3000, 1, data(0, 1)), (3001, 1, data(2999, 1))];
        let crossing_of = |seen: &[_]| crossing(&[&sent[..], seen].concat());
        assert_eq!(found(&crossing_of(&came), 0, 9000).0, [2998, 0, 0, 0]);
        let other: Vec<_> = (0..3000).map(|number| (4000, 1, data(number, 2))).collect();
        assert!(crossing_of(&[&came[..], &other[..]].concat()).report(0, at(0), at(9000)).data.is_none());
    }

    #[test]
    fn what_passed_before_the_other_interface_began_is_not_lost() {
        let sent: Vec<_> = (0..10).map(|number| (u64::from(number), 0, data(number, 1))).collect();
        let came: Vec<_> = (6..10).map(|number| (u64::from(number) + 20, 1, data(number, 1))).collect();
        assert_eq!(found(&crossing(&[sent, came].concat()), 0, 80).0, [0, 0, 0, 0]);
    }
}
