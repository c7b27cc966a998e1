//! What happens next: timers and packets in flight of a whole path, in one heap.
//!
//! * A **timer** is a slot (wanted, queued). Moving a deadline later is one store: the entry already
//!   in the heap pops early, finds a later wish and is queued again, without calling anybody.
//! * A **lane** is a first-in first-out line of packets with their times, of which only the head is
//!   in the heap. Times on a lane never decrease.
//!
//! Entries are ordered by (time, source), and sources are numbered at build: timers before lanes,
//! each by element and key. So equal instants are ordered by the structure of the path and never by
//! the order of insertion, and results do not depend on how the heap works.

use crate::packet::{Dir, Packet};
use crate::time::Instant;
use std::collections::VecDeque;

/// What fell due.
pub(crate) enum Due {
    /// A timer of `element` armed under `key`.
    Timer { element: u16, key: u32 },
    /// A packet reached the end of a lane and goes to the element `target`.
    Packet { target: u16, dir: Dir, packet: Box<Packet> },
}

struct Timer {
    /// When the owner wants to be called; `NEVER` when disarmed.
    wanted: Instant,
    /// Time of the heap entry that counts; `NEVER` when there is none.
    queued: Instant,
    element: u16,
    key: u32,
}

struct Lane {
    packets: VecDeque<(Instant, Box<Packet>)>,
    /// Time of the packet put in last; nothing may be put in before it.
    last: Instant,
    target: u16,
    dir: Dir,
}

/// Timers, lanes and the heap over both.
#[derive(Default)]
pub(crate) struct Agenda {
    heap: Heap,
    timers: Vec<Timer>,
    lanes: Vec<Lane>,
}

impl Agenda {
    /// Adds a timer; all timers must be added before the first lane.
    pub fn add_timer(&mut self, element: u16, key: u32) {
        debug_assert!(self.lanes.is_empty(), "timers come before lanes");
        self.timers.push(Timer { wanted: Instant::NEVER, queued: Instant::NEVER, element, key });
    }

    /// Adds a lane that leads to the element `target`.
    pub fn add_lane(&mut self, target: u16, dir: Dir) {
        self.lanes.push(Lane { packets: VecDeque::new(), last: Instant::ZERO, target, dir });
    }

    pub fn timer_count(&self) -> usize {
        self.timers.len()
    }

    #[inline]
    pub fn arm(&mut self, timer: usize, at: Instant) {
        let slot = &mut self.timers[timer];
        slot.wanted = at;
        if at < slot.queued {
            slot.queued = at;
            self.heap.push(at, timer as u32);
        }
    }

    #[inline]
    pub fn disarm(&mut self, timer: usize) {
        self.timers[timer].wanted = Instant::NEVER;
    }

    #[inline]
    pub fn put(&mut self, lane: usize, at: Instant, packet: Box<Packet>) {
        let line = &mut self.lanes[lane];
        assert!(at >= line.last, "lane {lane}: {at:?} is before {:?}", line.last);
        line.last = at;
        if line.packets.is_empty() {
            self.heap.push(at, (self.timers.len() + lane) as u32);
        }
        line.packets.push_back((at, packet));
    }

    /// When the next thing is due; entries that no longer count are cleared away on the way.
    pub fn next_time(&mut self) -> Option<Instant> {
        loop {
            let (at, source) = self.heap.peek()?;
            let Some(slot) = self.timers.get_mut(source as usize) else { return Some(at) };
            if slot.queued == at && slot.wanted == at {
                return Some(at);
            }
            self.heap.pop();
            if slot.queued != at {
                continue;
            }
            slot.queued = slot.wanted;
            if slot.wanted != Instant::NEVER {
                self.heap.push(slot.wanted, source);
            }
        }
    }

    /// Takes the next thing due at or before `end`.
    #[inline(always)]
    pub fn take_due(&mut self, end: Instant) -> Option<(Instant, Due)> {
        loop {
            let (at, source) = self.heap.peek()?;
            if at > end {
                return None;
            }
            self.heap.pop();
            let index = source as usize;
            if let Some(slot) = self.timers.get_mut(index) {
                if slot.queued != at {
                    continue;
                }
                slot.queued = Instant::NEVER;
                if slot.wanted == at {
                    slot.wanted = Instant::NEVER;
                    return Some((at, Due::Timer { element: slot.element, key: slot.key }));
                }
                if slot.wanted != Instant::NEVER {
                    slot.queued = slot.wanted;
                    self.heap.push(slot.wanted, source);
                }
                continue;
            }
            let line = &mut self.lanes[index - self.timers.len()];
            let Some((_, packet)) = line.packets.pop_front() else { continue };
            if let Some((head, _)) = line.packets.front() {
                self.heap.push(*head, source);
            }
            return Some((at, Due::Packet { target: line.target, dir: line.dir, packet }));
        }
    }

    /// Packets on all lanes.
    pub fn in_flight(&self) -> usize {
        self.lanes.iter().map(|lane| lane.packets.len()).sum()
    }
}

/// Four-ary min-heap of (time, source) packed into one integer.
///
/// Two things make it fast. A pop leaves a hole at the top that the next push fills, so that "take
/// the head of a lane, queue its successor" sifts once instead of twice. The smallest of four
/// children is chosen without branches, which the predictor could not learn.
struct Heap {
    /// Entries, followed by `ARITY` sentinels so that four children can always be read.
    entries: Vec<u128>,
    len: usize,
    /// The entry at the top was popped and not yet replaced.
    hole: bool,
}

const ARITY: usize = 4;
const SENTINEL: u128 = u128::MAX;

impl Default for Heap {
    fn default() -> Self {
        Self { entries: vec![SENTINEL; ARITY], len: 0, hole: false }
    }
}

impl Heap {
    #[inline(never)]
    fn push(&mut self, at: Instant, source: u32) {
        let entry = u128::from(at.as_nanos()) << 32 | u128::from(source);
        if self.hole {
            self.hole = false;
            self.sift_down(entry);
        } else {
            let at = self.len;
            self.entries.push(SENTINEL);
            self.len += 1;
            self.sift_up(at, entry);
        }
    }

    #[inline(always)]
    fn peek(&mut self) -> Option<(Instant, u32)> {
        if self.hole {
            self.fill_hole();
        }
        if self.len == 0 {
            return None;
        }
        let entry = self.entries[0];
        Some((Instant::from_nanos((entry >> 32) as u64), entry as u32))
    }

    /// Takes away what `peek` returned last.
    #[inline]
    fn pop(&mut self) {
        self.hole = true;
    }

    #[inline(never)]
    fn fill_hole(&mut self) {
        self.hole = false;
        self.len -= 1;
        let last = self.entries[self.len];
        self.entries[self.len] = SENTINEL;
        self.entries.pop();
        if self.len > 0 {
            self.sift_down(last);
        }
    }

    #[inline(never)]
    fn sift_up(&mut self, mut hole: usize, entry: u128) {
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.entries[parent] <= entry {
                break;
            }
            self.entries[hole] = self.entries[parent];
            hole = parent;
        }
        self.entries[hole] = entry;
    }

    #[inline(always)]
    fn sift_down(&mut self, entry: u128) {
        let entries = &mut self.entries[..];
        let mut hole = 0;
        loop {
            // Behind the last entry stand sentinels, which are never smaller.
            let first = ARITY * hole + 1;
            let children = entries.get(first..).and_then(|rest| rest.first_chunk::<ARITY>());
            let Some(&[a, b, c, d]) = children else { break };
            let left = usize::from(b < a);
            let right = usize::from(d < c);
            let left_value = if b < a { b } else { a };
            let right_value = if d < c { d } else { c };
            let take_right = usize::from(right_value < left_value);
            let smallest = first + left + take_right * (2 + right - left);
            let value = if right_value < left_value { right_value } else { left_value };
            if value >= entry {
                break;
            }
            entries[hole] = value;
            hole = smallest;
        }
        entries[hole] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn heap_sorts_like_a_sort_whatever_the_mix_of_pushes_and_pops() {
        let mut stream = crate::rng::stream(1, "heap test");
        let (mut heap, mut reference) = (Heap::default(), Vec::new());
        for step in 0..20_000_u32 {
            if stream.next_u64() % 3 > 0 || reference.is_empty() {
                let time = stream.next_u64() % 1_000;
                heap.push(at(time), step);
                reference.push((time, step));
            } else {
                reference.sort_unstable_by(|a, b| b.cmp(a));
                let expected = reference.pop().map(|(time, source)| (at(time), source));
                assert_eq!(heap.peek(), expected);
                heap.pop();
            }
        }
    }

    #[test]
    fn a_timer_moved_later_fires_once_at_the_later_time() {
        let mut agenda = Agenda::default();
        agenda.add_timer(3, 7);
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
        let mut agenda = Agenda::default();
        agenda.add_timer(0, 0);
        agenda.arm(0, at(30));
        agenda.arm(0, at(10));
        assert!(matches!(agenda.take_due(at(10)), Some((_, Due::Timer { .. }))));
        assert!(agenda.take_due(Instant::NEVER).is_none());
    }

    #[test]
    fn a_disarmed_timer_stays_silent_and_can_be_armed_again() {
        let mut agenda = Agenda::default();
        agenda.add_timer(0, 0);
        agenda.arm(0, at(10));
        agenda.disarm(0);
        assert_eq!(agenda.next_time(), None);
        agenda.arm(0, at(20));
        assert!(matches!(agenda.take_due(at(20)), Some((_, Due::Timer { .. }))));
    }

    #[test]
    fn equal_instants_come_in_structural_order_whatever_the_order_of_insertion() {
        let mut agenda = Agenda::default();
        agenda.add_timer(0, 0);
        agenda.add_timer(1, 0);
        agenda.add_lane(0, Dir::Downlink);
        agenda.put(0, at(5), Box::default());
        agenda.arm(1, at(5));
        agenda.arm(0, at(5));
        let mut order = Vec::new();
        while let Some((_, due)) = agenda.take_due(at(5)) {
            order.push(match due {
                Due::Timer { element, .. } => format!("timer {element}"),
                Due::Packet { target, .. } => format!("packet {target}"),
            });
        }
        assert_eq!(order, ["timer 0", "timer 1", "packet 0"]);
    }

    #[test]
    #[should_panic(expected = "is before")]
    fn a_lane_refuses_to_go_back_in_time() {
        let mut agenda = Agenda::default();
        agenda.add_lane(0, Dir::Uplink);
        agenda.put(0, Instant::ZERO + Duration::from_secs(2), Box::default());
        agenda.put(0, Instant::ZERO + Duration::from_secs(1), Box::default());
    }
}
