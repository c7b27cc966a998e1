//! Deadlines of a whole path: its timers and its packets in flight.
//!
//! * A **lane** is a FIFO queue of packets with their times, which never decrease; only its head is a candidate for the
//!   next deadline.
//! * A **timer** that is postponed costs one store: its tree entry stays stale until it surfaces, and is then moved
//!   without calling the owner.
//!
//! A packet that is delivered early (see `element/early`) is put on no lane. The agenda knows whether the lane is empty
//! and which timers would expire before the packet's arrival.
//!
//! Timers and lanes are numbered when the path is built: timers before lanes, each by element and key. Deadlines at the
//! same instant are handled in the order of these numbers. The order therefore depends on the structure of the path,
//! never on insertion, and results do not depend on how the search works.

use crate::packet::Packet;
use crate::port::Target;
use crate::time::{Duration, Instant};
use airpath_prefetch::prefetch;
use std::collections::VecDeque;
use std::hint::select_unpredictable;

/// A deadline that has been reached.
pub(crate) enum Due {
    /// A timer of `element` armed under `key`.
    Timer { element: u16, key: u32 },
    /// A packet reached the end of a lane and goes to the element `target`; `leads_ahead` says whether packets of this
    /// lane may be delivered early.
    Packet { lane: usize, leads_ahead: bool, target: Target, packet: Box<Packet> },
}

struct Timer {
    /// When the owner is to be called; `NEVER` when disarmed.
    wanted: Instant,
    /// Deadline of the tree entry, at most `wanted`.
    due: Instant,
    element: u16,
    key: u32,
}

/// A cache line each.
#[repr(align(64))]
struct Lane {
    packets: VecDeque<(Instant, Box<Packet>)>,
    /// Time of the packet put in last; nothing may be put in before it.
    last: Instant,
    target: Target,
    /// Packets may be delivered early unless one of these timers expires first; `None` if they must wait.
    ahead: Option<Timers>,
    /// Packets leave the path, and wait for nothing in it.
    leads_out: bool,
}

impl Lane {
    /// The next packet on this lane, of this number, has the time `at`.
    #[inline(always)]
    fn note(&mut self, number: usize, at: Instant) {
        if at < self.last {
            goes_back(number, at, self.last);
        }
        self.last = at;
    }
}

/// Takes its arguments by value, so the caller need not keep them in memory.
#[cold]
#[inline(never)]
fn goes_back(lane: usize, at: Instant, last: Instant) -> ! {
    panic!("lane {lane}: {at:?} is before {last:?}");
}

/// Numbers of successive timers.
pub(crate) type Timers = std::ops::Range<u32>;

/// Timers, lanes, and which of them is due first.
pub(crate) struct Agenda {
    /// Two, so that whether no timer at all expires by some time is seen at once.
    due_timers: Tournament,
    due_lanes: Tournament,
    timers: Vec<Timer>,
    lanes: Vec<Lane>,
    /// Packets that were put on lanes which lead out, with lane and time.
    out: Vec<(usize, Instant, Box<Packet>)>,
}

impl Agenda {
    /// Starts to load everything but the packets.
    pub fn prefetch(&self) {
        prefetch(&self.due_timers.matches[..]);
        prefetch(&self.due_lanes.matches[..]);
        prefetch(&self.timers[..]);
        prefetch(&self.lanes[..]);
    }

    /// The agenda of these timers (element, key) and lanes (by target).
    pub fn new(timers: &[(u16, u32)], lanes: &[Target]) -> Self {
        let wanted = Instant::NEVER;
        let lane = |&target| Lane {
            packets: VecDeque::new(),
            last: Instant::ZERO,
            target,
            ahead: None,
            leads_out: false,
        };
        Self {
            due_timers: Tournament::new(timers.len()),
            due_lanes: Tournament::new(lanes.len()),
            timers: timers
                .iter()
                .map(|&(element, key)| Timer { wanted, due: wanted, element, key })
                .collect(),
            lanes: lanes.iter().map(lane).collect(),
            out: Vec::new(),
        }
    }

    #[inline]
    pub fn arm(&mut self, timer: usize, at: Instant) {
        let own = &mut self.timers[timer];
        own.wanted = at;
        if at < own.due {
            own.due = at;
            self.due_timers.set(timer, at);
        }
    }

    /// Moves the tree entry of a timer to its owner's deadline.
    #[inline]
    fn put_right(&mut self, timer: usize) {
        let own = &mut self.timers[timer];
        own.due = own.wanted;
        self.due_timers.set(timer, own.due);
    }

    #[inline]
    pub fn disarm(&mut self, timer: usize) {
        self.timers[timer].wanted = Instant::NEVER;
    }

    /// Sets the early-delivery rule of each lane: `None` if its packets must wait, otherwise the timers that must not
    /// expire at or before the packet's arrival time.
    pub fn set_ahead(&mut self, lanes: &[Option<Timers>]) {
        for (lane, ahead) in self.lanes.iter_mut().zip(lanes) {
            lane.ahead.clone_from(ahead);
        }
    }

    /// From now on lanes that lead out of the path hold no packets: [`Agenda::take_out`] returns them at once.
    pub fn open_out(&mut self) {
        for lane in &mut self.lanes {
            debug_assert!(lane.packets.is_empty(), "opened before anything is put on lanes");
            lane.leads_out = lane.target.node() == Target::OUT;
            lane.ahead = lane.ahead.take().filter(|_| !lane.leads_out);
        }
    }

    /// Packets put on lanes that lead out, in the order in which they were put, with lane and time.
    #[inline(always)]
    pub fn take_out(&mut self) -> std::vec::Drain<'_, (usize, Instant, Box<Packet>)> {
        self.out.drain(..)
    }

    /// When the first timer and the first lane are due, and their numbers. Corrects stale entries of postponed timers as
    /// they surface.
    #[inline(always)]
    pub fn first_of_each(&mut self) -> [(Instant, usize); 2] {
        loop {
            let (timer, lane) = (self.due_timers.first(), self.due_lanes.first());
            if timer.0 > lane.0 || timer.0 == Instant::NEVER || self.timers[timer.1].wanted == timer.0 {
                return [timer, lane];
            }
            self.put_right(timer.1);
        }
    }

    /// Nothing is due before this time. A postponed timer may count with its earlier deadline.
    pub fn earliest(&self) -> Instant {
        self.due_timers.first().0.min(self.due_lanes.first().0)
    }

    /// Disables early delivery on all lanes.
    pub fn set_ahead_nowhere(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.ahead = None);
    }

    /// Target of a lane if its packets may be delivered early.
    #[inline(always)]
    pub fn leads_ahead(&self, lane: usize) -> Option<Target> {
        let line = &self.lanes[lane];
        line.ahead.is_some().then_some(line.target)
    }

    /// Whether a packet for this lane with arrival time `at` may be delivered early: no packet precedes it, and none of
    /// the timers expires by then.
    #[inline(always)]
    pub fn may_go_ahead(&mut self, lane: usize, at: Instant) -> bool {
        let line = &mut self.lanes[lane];
        if !line.packets.is_empty() {
            return false;
        }
        // In debug builds also checks that elements emit in order of time.
        if cfg!(debug_assertions) {
            line.note(lane, at);
        }
        let timers = line.ahead.clone();
        timers.is_some_and(|timers| self.is_quiet(timers, at))
    }

    /// Takes the first packet of this lane if it may be delivered early: its time is before `horizon` and, if the run
    /// `may_end`, precedes the end.
    pub fn take_ahead(
        &mut self,
        lane: usize,
        horizon: Instant,
        may_end: bool,
    ) -> Option<(Instant, Target, Box<Packet>)> {
        let timers = self.lanes[lane].ahead.clone()?;
        let (at, packet) = self.lanes[lane].packets.front()?;
        let at = *at;
        if at >= horizon || may_end && !packet.precedes_end() || !self.is_quiet(timers, at) {
            return None;
        }
        let line = &mut self.lanes[lane];
        let (_, first) = line.packets.pop_front()?;
        let next = line.packets.front().map_or(Instant::NEVER, |head| head.0);
        self.due_lanes.set(lane, next);
        Some((at, line.target, first))
    }

    /// Whether none of these timers expires at or before `at`.
    #[inline(always)]
    fn is_quiet(&mut self, timers: Timers, at: Instant) -> bool {
        if timers.is_empty() {
            return true;
        }
        // Checks the timers of a UE one by one; most UEs have one flow.
        match timers.len() {
            1 => self.timers[timers.start as usize].wanted > at,
            ..=4 => {
                let timers = &self.timers[timers.start as usize..timers.end as usize];
                timers.iter().all(|timer| timer.wanted > at)
            }
            _ => self.due_timers.first().0 > at || self.is_quiet_among_many(timers, at),
        }
    }

    /// Like `is_quiet`, but searches the tournament tree. Postponed timers whose tree entry is stale are corrected as
    /// they surface.
    #[inline(never)]
    fn is_quiet_among_many(&mut self, timers: Timers, at: Instant) -> bool {
        loop {
            let first = self.due_timers.first_of(timers.clone());
            if first.at > at {
                return true;
            }
            let source = first.source;
            if self.timers[source].wanted <= at {
                return false;
            }
            self.put_right(source);
        }
    }

    #[inline(always)]
    pub fn put(&mut self, lane: usize, at: Instant, packet: Box<Packet>) {
        let line = &mut self.lanes[lane];
        line.note(lane, at);
        if line.packets.is_empty() {
            if line.leads_out {
                return self.out.push((lane, at, packet));
            }
            self.due_lanes.set(lane, at);
        }
        line.packets.push_back((at, packet));
    }

    /// Time of the next deadline. Corrects stale entries of postponed timers as they surface.
    pub fn next_time(&mut self) -> Option<Instant> {
        loop {
            let ((first, number), (at, _)) = (self.due_timers.first(), self.due_lanes.first());
            if first > at {
                return Some(at);
            }
            if first == Instant::NEVER {
                return None;
            }
            if self.timers[number].wanted == first {
                return Some(first);
            }
            self.put_right(number);
        }
    }

    /// Takes the next thing due at or before `end`, which is not `NEVER`.
    #[inline(always)]
    pub fn take_due(&mut self, end: Instant) -> Option<(Instant, Due)> {
        loop {
            let (at, lane) = self.due_lanes.first();
            let (first, number) = self.due_timers.first();
            if first > at {
                break self.take_due_packet(at, lane, end);
            }
            if first > end || first == Instant::NEVER {
                return None;
            }
            let timer = &mut self.timers[number];
            if timer.wanted == first {
                // The tree entry stays stale until it surfaces again; most timers are re-armed before that.
                timer.wanted = Instant::NEVER;
                return Some((first, Due::Timer { element: timer.element, key: timer.key }));
            }
            self.put_right(number);
        }
    }

    #[inline(always)]
    fn take_due_packet(&mut self, at: Instant, lane: usize, end: Instant) -> Option<(Instant, Due)> {
        if at > end {
            return None;
        }
        let line = &mut self.lanes[lane];
        let (_, packet) = line.packets.pop_front()?;
        let next = line.packets.front().map_or(Instant::NEVER, |(time, following)| {
            // It may have left the cache since it was put there.
            prefetch(&**following);
            *time
        });
        self.due_lanes.set(lane, next);
        let leads_ahead = line.ahead.is_some();
        Some((at, Due::Packet { lane, leads_ahead, target: line.target, packet }))
    }

    /// The minimum over the deadlines of all timers and lanes, each plus its addend. Scans every timer and lane.
    pub fn next_time_with(&self, timers: &[Duration], lanes: &[Duration]) -> Option<Instant> {
        let wanted = self.timers.iter().map(|timer| timer.wanted);
        let heads = self.lanes.iter().map(|lane| lane.packets.front().map_or(Instant::NEVER, |head| head.0));
        let later =
            |(at, by): (Instant, &Duration)| Instant::from_nanos(at.as_nanos().saturating_add(by.as_nanos()));
        wanted.zip(timers).chain(heads.zip(lanes)).map(later).min().filter(|at| *at != Instant::NEVER)
    }

    /// Packets on each lane.
    pub fn by_lane(&self) -> impl Iterator<Item = usize> {
        self.lanes.iter().map(|lane| lane.packets.len())
    }

    /// Packets on all lanes.
    pub fn in_flight(&self) -> usize {
        self.by_lane().sum()
    }
}

/// Tournament tree over all sources; the winner has the earliest deadline.
///
/// A match has four entries, and its winner advances: the earliest, the lowest number on a tie. Setting a source
/// replays the matches on its way to the final, without a branch that depends on times.
///
/// Measured against a four-ary heap with the same interface, then with two in a match: with a handful of sources it
/// takes a quarter of the instructions, and a source that is taken and set again costs one walk, not two.
struct Tournament {
    /// The final is match 1; in match n the winners of matches 4n to 4n + 3 meet, in the last ones the sources.
    matches: Vec<Match>,
    /// The first match in which sources meet.
    first_round: usize,
    /// Winner of the final.
    winner: Entry,
}

/// A cache line.
#[derive(Clone)]
#[repr(align(64))]
struct Match([Entry; 4]);

/// A source and its time.
#[derive(Clone, Copy)]
struct Entry {
    at: Instant,
    source: usize,
}

impl Entry {
    /// No source: its deadline is never.
    const NOBODY: Self = Self { at: Instant::NEVER, source: 0 };

    /// The entry with the earlier deadline; on a tie `self`, whose number is lower.
    #[inline(always)]
    fn or_earlier(self, other: Self) -> Self {
        let is_earlier = other.at < self.at;
        Self {
            at: select_unpredictable(is_earlier, other.at, self.at),
            source: select_unpredictable(is_earlier, other.source, self.source),
        }
    }
}

impl Match {
    #[inline(always)]
    fn winner(&self) -> Entry {
        let [a, b, c, d] = self.0;
        a.or_earlier(b).or_earlier(c.or_earlier(d))
    }
}

impl Tournament {
    /// A tournament of `sources` sources, all without a deadline.
    fn new(sources: usize) -> Self {
        let mut first_round = 1;
        while 4 * first_round < sources {
            first_round *= 4;
        }
        let matches = vec![Match([Entry::NOBODY; 4]); first_round + sources.div_ceil(4)];
        Self { matches, first_round, winner: Entry::NOBODY }
    }

    /// The earliest deadline and its source.
    #[inline(always)]
    fn first(&self) -> (Instant, usize) {
        (self.winner.at, self.winner.source)
    }

    /// The entry at a place of the round that begins with this match.
    #[inline(always)]
    fn seated(&self, round: usize, place: usize) -> Entry {
        self.matches[round + place / 4].0[place % 4]
    }

    /// One of the earliest of successive sources; at `NEVER` if there are none.
    #[inline]
    fn first_of(&self, sources: Timers) -> Entry {
        let (mut low, mut high) = (sources.start as usize, sources.end as usize);
        let (mut round, mut first) = (self.first_round, Entry::NOBODY);
        loop {
            // Matches that are only partly inside the range are compared entry by entry; matches entirely inside it
            // are represented by their winner.
            while low < high && low % 4 > 0 {
                first = first.or_earlier(self.seated(round, low));
                low += 1;
            }
            while low < high && high % 4 > 0 {
                high -= 1;
                first = first.or_earlier(self.seated(round, high));
            }
            if low >= high {
                return first;
            }
            if round == 1 {
                return first.or_earlier(self.winner);
            }
            (low, high, round) = (low / 4, high / 4, round / 4);
        }
    }

    /// This source is due at `at`, `NEVER` for not at all.
    #[inline(never)]
    fn set(&mut self, source: usize, at: Instant) {
        let (mut number, mut seat) = (self.first_round + source / 4, source % 4);
        let mut winner = Entry { at, source };
        while number > 0 {
            let played = &mut self.matches[number];
            played.0[seat] = winner;
            winner = played.winner();
            (number, seat) = (number / 4, number % 4);
        }
        self.winner = winner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Port;
    use crate::time::Duration;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn the_winner_is_the_earliest_and_of_equals_the_lowest_number() {
        let mut stream = crate::rng::stream(1, "tournament");
        for sources in [1, 2, 3, 4, 5, 7, 16, 17, 64, 65, 100] {
            let mut tournament = Tournament::new(sources);
            let mut times = vec![Instant::NEVER; sources];
            for _ in 0..2_000 {
                let source = (stream.next_u64() % sources as u64) as usize;
                let time = match stream.next_u64() % 50 {
                    0 => Instant::NEVER,
                    number => at(number),
                };
                times[source] = time;
                tournament.set(source, time);
                let earliest = times.iter().min().unwrap();
                let expected = times.iter().position(|one| one == earliest).unwrap();
                assert_eq!(tournament.first().0, *earliest);
                assert!(*earliest == Instant::NEVER || tournament.first().1 == expected);
                let end = (stream.next_u64() % sources as u64) as usize;
                let some = (source.min(end), source.max(end));
                let first = tournament.first_of(some.0 as u32..some.1 as u32).at;
                assert_eq!(first, times[some.0..some.1].iter().copied().min().unwrap_or(Instant::NEVER));
            }
        }
    }

    #[test]
    fn a_timer_moved_later_fires_once_at_the_later_time() {
        let mut agenda = Agenda::new(&[(3, 7)], &[]);
        agenda.arm(0, at(10));
        agenda.arm(0, at(30));
        assert!(agenda.take_due(at(29)).is_none());
        assert_eq!(agenda.next_time(), Some(at(30)));
        let Some((when, Due::Timer { element: 3, key: 7 })) = agenda.take_due(at(30)) else { panic!() };
        assert_eq!(when, at(30));
        assert!(agenda.take_due(Instant::NEVER).is_none());
    }

    #[test]
    fn a_timer_moved_earlier_fires_once_at_the_earlier_time() {
        let mut agenda = Agenda::new(&[(0, 0)], &[]);
        agenda.arm(0, at(30));
        agenda.arm(0, at(10));
        assert!(matches!(agenda.take_due(at(10)), Some((_, Due::Timer { .. }))));
        assert!(agenda.take_due(Instant::NEVER).is_none());
    }

    #[test]
    fn a_disarmed_timer_stays_silent_and_can_be_armed_again() {
        let mut agenda = Agenda::new(&[(0, 0)], &[]);
        agenda.arm(0, at(10));
        agenda.disarm(0);
        assert_eq!(agenda.next_time(), None);
        agenda.arm(0, at(20));
        assert!(matches!(agenda.take_due(at(20)), Some((_, Due::Timer { .. }))));
    }

    #[test]
    fn equal_instants_come_in_structural_order_whatever_the_order_of_insertion() {
        let mut agenda = Agenda::new(&[(0, 0), (1, 0)], &[Target::new(0, Port::UP)]);
        agenda.put(0, at(5), Box::default());
        agenda.arm(1, at(5));
        agenda.arm(0, at(5));
        let mut order = Vec::new();
        while let Some((_, due)) = agenda.take_due(at(5)) {
            order.push(match due {
                Due::Timer { element, .. } => format!("timer {element}"),
                Due::Packet { target, .. } => format!("packet {}", target.node()),
            });
        }
        assert_eq!(order, ["timer 0", "timer 1", "packet 0"]);
    }

    #[test]
    #[should_panic(expected = "is before")]
    fn a_lane_refuses_to_go_back_in_time() {
        let mut agenda = Agenda::new(&[], &[Target::new(0, Port::DOWN)]);
        agenda.put(0, Instant::ZERO + Duration::from_secs(2), Box::default());
        agenda.put(0, Instant::ZERO + Duration::from_secs(1), Box::default());
    }
}
