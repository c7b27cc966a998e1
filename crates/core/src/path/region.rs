//! A path as a part of a larger one, which is driven window by window: see [`windows`](crate::windows).
//!
//! A region handles its own timers, lanes and arrivals in the order in which the whole path would. A packet that leaves
//! gets a rank in the order of the instant at which it leaves: the greatest number of the timers and lanes that the
//! region has handled at this instant so far. A packet that leaves over a lane at a later instant has the number of this
//! lane. The whole path handles the least number first, so packets of all regions that leave at one instant, ordered by
//! rank, are in the order of the whole path.

use super::Path;
use crate::element::Graph;
use crate::packet::{Dir, Packet};
use crate::port::Port;
use crate::port::Target;
use crate::time::Instant;
use crate::trace::ProbeMask;
use airpath_prefetch::{SOON, prefetch};
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
#[derive(Debug)]
pub(crate) struct Arrival {
    pub at: Instant,
    pub rank: u64,
    pub packet: Box<Packet>,
}

/// Rank of the `position`-th packet that arrives over a lane at an instant.
pub(crate) fn rank_over(lane: u32, position: u32) -> u64 {
    LANE | u64::from(lane) << 32 | u64::from(position)
}

/// A packet that leaves a region.
#[derive(Debug)]
pub(crate) struct Departure {
    /// When it leaves: now, or over a lane later.
    pub at: Instant,
    /// Its place in the order of that instant.
    pub rank: u64,
    pub packet: Box<Packet>,
}

/// A part of a path.
pub(crate) struct Region {
    pub path: Path,
    numbers: Numbers,
    /// Where arrivals enter.
    entry: Target,
    /// Arrivals after the time up to which the region was run, in order.
    held: VecDeque<Arrival>,
    /// Number of arrivals handled, modulo 2^32.
    arrived: u32,
    /// The latest instant of an event that was handled, and the greatest rank then.
    last: (Instant, u64),
}

impl Region {
    /// The region of this graph, whose first node receives packets in direction `dir`.
    pub fn new(graph: Graph, dir: Dir, numbers: Numbers) -> Self {
        let mut path = Path::of(graph, ProbeMask::NONE);
        path.engine.agenda.open_out();
        let entry = Target::new(path.owners[0], Port::from(dir.reverse()));
        Self { path, numbers, entry, held: VecDeque::new(), arrived: 0, last: (Instant::ZERO, 0) }
    }

    /// The region will be run up to `end`, before anything is observed.
    pub fn begin(&mut self, end: Instant) {
        self.path.engine.horizon = Instant::from_nanos(end.as_nanos().saturating_add(1));
    }

    /// Number of packets made in the region so far, modulo 2^32.
    pub fn made(&self) -> u32 {
        self.path.engine.made().wrapping_sub(self.arrived)
    }

    /// Nothing but arrivals that are not known yet is due before this time.
    pub fn earliest(&self) -> Instant {
        let arrives = self.held.front().map_or(Instant::NEVER, |arrival| arrival.at);
        self.path.engine.agenda.earliest().min(arrives)
    }

    /// Starts to load what the region, which is loaded itself, needs for what is due before `stop`.
    pub fn prefetch(&self, stop: Instant) {
        let soon = self.held.iter().take(SOON).take_while(|arrival| arrival.at < stop);
        soon.for_each(|arrival| prefetch(&*arrival.packet));
        prefetch(&self.numbers.timers[..self.numbers.timers.len().min(SOON)]);
        prefetch(&self.numbers.lanes[..self.numbers.lanes.len().min(SOON)]);
        self.path.prefetch();
    }

    /// Keeps arrivals, the latest first, until the region is run again. They come after those that it keeps already.
    pub fn keep(&mut self, arrivals: &mut Vec<Arrival>) {
        self.held.extend(arrivals.drain(..).rev());
    }

    /// The region was run up to `end`.
    pub fn end(&mut self, end: Instant) {
        self.path.engine.horizon = Instant::ZERO;
        self.path.now = end;
    }

    /// Handles everything before `stop`, with further arrivals, the latest first. Gives `out` each packet that leaves, with the
    /// index of its lane if it leaves over one. Packets of one lane leave in order.
    #[inline]
    pub fn run(
        &mut self,
        stop: Instant,
        arrivals: &mut Vec<Arrival>,
        mut out: impl FnMut(Option<usize>, Departure),
    ) {
        loop {
            let [(timer, number), (due, lane)] = self.path.engine.agenda.first_of_each();
            let own = timer.min(due);
            let next = self.held.front().or(arrivals.last());
            let arrives = next.map_or(Instant::NEVER, |arrival| arrival.at);
            let at = own.min(arrives);
            if at >= stop {
                break;
            }
            let rank = if arrives < timer && arrives <= due {
                let Some(arrival) = self.held.pop_front().or_else(|| arrivals.pop()) else { break };
                self.handle_arrival(arrival)
            } else {
                self.path.handle_next(at);
                if timer <= due { self.numbers.of_timer(number) } else { self.numbers.of_lane(lane) }
            };
            let rank = if self.last.0 == at { rank.max(self.last.1) } else { rank };
            self.last = (at, rank);
            while let Some((leaves, _, packet)) = self.path.outputs.pop_front() {
                debug_assert_eq!(leaves, at, "only lanes lead out later");
                out(None, Departure { at, rank, packet });
            }
            for (by, leaves, packet) in self.path.engine.agenda.take_out() {
                // The whole path handles it as an event of the lane: at a later instant when the lane's number comes, at
                // this one not before the present event.
                let of_lane = self.numbers.of_lane(by);
                let rank = if leaves > at { of_lane } else { of_lane.max(rank) };
                out(Some(by), Departure { at: leaves, rank, packet });
            }
        }
        if !arrivals.is_empty() {
            self.keep(arrivals);
        }
    }

    /// Returns the arrival's rank.
    #[inline(always)]
    fn handle_arrival(&mut self, Arrival { at, rank, mut packet }: Arrival) -> u64 {
        packet.id = self.path.engine.next_id();
        self.arrived = self.arrived.wrapping_add(1);
        self.path.now = at;
        self.path.deliver(at, self.entry, packet);
        self.path.settle_now();
        rank
    }
}
