//! A path as a part of a larger one, which is driven window by window: see [`windows`](crate::windows).
//!
//! A region handles its own timers, lanes and arrivals in the order in which the whole path would. What leaves gets its
//! rank in the order of the instant at which it leaves: the greatest number of the timers and lanes that the region has
//! handled at this instant so far. The whole path handles the least number first, so packets of all regions that leave
//! at one instant, ordered by rank, are in the order of the whole path.

use super::Path;
use crate::element::{Graph, bearer_index};
use crate::packet::{Dir, Packet};
use crate::port::Port;
use crate::port::Target;
use crate::time::Instant;
use crate::trace::ProbeMask;
use airpath_prefetch::prefetch_ends;
use std::collections::VecDeque;

/// Numbers in the whole path of a region's timers and lanes.
#[derive(Default)]
pub(crate) struct Numbers {
    pub timers: Vec<u32>,
    pub lanes: Vec<u32>,
}

/// Set in the rank of a lane: timers come first.
const LANE: u64 = 1 << 63;

impl Numbers {
    fn of_timer(&self, timer: usize) -> u64 {
        u64::from(self.timers[timer]) << 32
    }

    fn of_lane(&self, lane: usize) -> u64 {
        LANE | u64::from(self.lanes[lane]) << 32
    }
}

/// A packet that arrives at a region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub at: Instant,
    pub rank: u64,
    /// Where its sender has put it.
    pub slot: u32,
}

impl Arrival {
    /// Rank of the `position`-th packet that arrives over a lane at an instant.
    pub fn rank_over(lane: u32, position: u32) -> u64 {
        LANE | u64::from(lane) << 32 | u64::from(position)
    }
}

/// What a region exchanges packets with.
pub(crate) trait Outside {
    /// Takes the packet of an arrival.
    fn take(&mut self, slot: u32) -> Packet;

    /// A packet leaves at `at`, with this rank in the order of the instant. Its content is taken out of it.
    fn put(&mut self, at: Instant, rank: u64, packet: &mut Packet);
}

/// A part of a path.
pub(crate) struct Region {
    pub path: Path,
    numbers: Numbers,
    /// Where arrivals enter.
    entry: Target,
    /// First UE of its cell.
    first_ue: u16,
    /// Arrivals to come, in order.
    pub inbox: VecDeque<Arrival>,
    /// The latest instant of an event that was handled, and the greatest rank then.
    last: (Instant, u64),
}

impl Region {
    /// The region of this graph, whose first node receives packets in direction `dir`.
    pub fn new(graph: Graph, dir: Dir, numbers: Numbers, first_ue: u16) -> Self {
        let mut path = Path::of(graph, ProbeMask::NONE);
        path.engine.agenda.set_ahead_out();
        let entry = Target::new(path.owners[0], Port::from(dir.reverse()));
        Self { path, numbers, entry, first_ue, inbox: VecDeque::new(), last: (Instant::ZERO, 0) }
    }

    /// The region will be run up to `end`, before anything is observed. Packets on lanes that lead out and depart until
    /// then go out as in [`Region::run`].
    pub fn begin(&mut self, end: Instant, outside: &mut impl Outside) {
        self.path.engine.horizon = Instant::from_nanos(end.as_nanos().saturating_add(1));
        for lane in self.path.engine.agenda.lanes_out() {
            while let Some((at, _, mut packet)) = self.path.engine.take_ahead(lane) {
                outside.put(at, self.numbers.of_lane(lane), &mut packet);
                self.path.engine.free(packet);
            }
        }
    }

    /// Where the packets are that arrive before `stop`.
    pub fn arrivals_before(&self, stop: Instant) -> impl Iterator<Item = u32> {
        self.inbox.iter().take_while(move |arrival| arrival.at < stop).map(|arrival| arrival.slot)
    }

    /// Nothing is due before this time.
    pub fn earliest(&self) -> Instant {
        let arrives = self.inbox.front().map_or(Instant::NEVER, |arrival| arrival.at);
        self.path.engine.agenda.earliest().min(arrives)
    }

    /// Starts to load what the region, which is loaded itself, needs for what is due next.
    pub fn prefetch(&self) {
        prefetch_ends(&self.inbox);
        self.path.prefetch();
    }

    /// The region was run up to `end`.
    pub fn end(&mut self, end: Instant) {
        self.path.engine.horizon = Instant::ZERO;
        self.path.now = end;
    }

    /// Handles everything before `stop`.
    #[inline]
    pub fn run(&mut self, stop: Instant, outside: &mut impl Outside) {
        loop {
            let [(timer, number), (due, lane)] = self.path.engine.agenda.first_of_each();
            let arrival =
                self.inbox.front().filter(|arrival| arrival.at < timer && arrival.at <= due).copied();
            let own = timer.min(due);
            let at = arrival.map_or(own, |arrival| arrival.at);
            if at >= stop {
                return;
            }
            let rank = match arrival {
                Some(Arrival { rank, slot, .. }) => {
                    self.inbox.pop_front();
                    let mut packet = self.path.engine.packet();
                    let id = packet.id;
                    *packet = outside.take(slot);
                    packet.id = id;
                    self.path.now = at;
                    self.path.deliver(at, self.entry, packet);
                    self.path.settle_now();
                    rank
                }
                None => {
                    self.path.handle_next(at);
                    if timer <= due { self.numbers.of_timer(number) } else { self.numbers.of_lane(lane) }
                }
            };
            let rank = if self.last.0 == at { rank.max(self.last.1) } else { rank };
            self.last = (at, rank);
            while let Some((leaves, dir, mut packet)) = self.path.outputs.pop_front() {
                // It leaves ahead of time, over the lane of its bearer: nothing handled then has a greater number before it.
                let rank = match leaves > at {
                    true => self.numbers.of_lane(bearer_index(packet.ue - self.first_ue, dir)),
                    false => rank,
                };
                outside.put(leaves, rank, &mut packet);
                self.path.engine.free(packet);
            }
        }
    }
}
