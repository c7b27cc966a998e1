//! A path as a part of a larger one, which is driven window by window: see [`windows`](crate::windows).
//!
//! A region handles its own timers, lanes and arrivals in the order in which the whole path would. What leaves gets its
//! rank in the order of the instant at which it leaves: the greatest number of the timers and lanes that the region has
//! handled at this instant so far. The whole path handles the least number first, so packets of all regions that leave
//! at one instant, ordered by rank, are in the order of the whole path.

use super::Path;
use crate::element::Graph;
use crate::packet::{Dir, Packet};
use crate::port::Port;
use crate::port::Target;
use crate::time::Instant;
use crate::trace::ProbeMask;
use airpath_prefetch::{SOON, prefetch};

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
    /// Arrivals after the time up to which it was run, the latest first.
    held: Vec<Arrival>,
    /// The latest instant of an event that was handled, and the greatest rank then.
    last: (Instant, u64),
}

impl Region {
    /// The region of this graph, whose first node receives packets in direction `dir`.
    pub fn new(graph: Graph, dir: Dir, numbers: Numbers) -> Self {
        let mut path = Path::of(graph, ProbeMask::NONE);
        path.engine.agenda.open_out();
        let entry = Target::new(path.owners[0], Port::from(dir.reverse()));
        Self { path, numbers, entry, held: Vec::new(), last: (Instant::ZERO, 0) }
    }

    /// The region will be run up to `end`, before anything is observed.
    pub fn begin(&mut self, end: Instant) {
        self.path.engine.horizon = Instant::from_nanos(end.as_nanos().saturating_add(1));
    }

    /// Nothing but arrivals that are not known yet is due before this time.
    pub fn earliest(&self) -> Instant {
        let arrives = self.held.last().map_or(Instant::NEVER, |arrival| arrival.at);
        self.path.engine.agenda.earliest().min(arrives)
    }

    /// Starts to load what the region, which is loaded itself, needs for what is due next.
    pub fn prefetch(&self) {
        self.held.iter().for_each(|arrival| prefetch(&*arrival.packet));
        prefetch(&self.numbers.timers[..self.numbers.timers.len().min(SOON)]);
        prefetch(&self.numbers.lanes[..self.numbers.lanes.len().min(SOON)]);
        self.path.prefetch();
    }

    /// Keeps arrivals, the latest first, until the region is run again. They come after those that it keeps already.
    pub fn keep(&mut self, arrivals: &mut Vec<Arrival>) {
        arrivals.append(&mut self.held);
        self.held.append(arrivals);
    }

    /// The region was run up to `end`.
    pub fn end(&mut self, end: Instant) {
        self.path.engine.horizon = Instant::ZERO;
        self.path.now = end;
    }

    /// Handles everything before `stop`, with further arrivals, the latest first. Each packet that leaves is given to `out`
    /// with the number of its lane, 0 without one; those of one lane in order.
    #[inline]
    pub fn run(&mut self, stop: Instant, arrivals: &mut Vec<Arrival>, mut out: impl FnMut(usize, Departure)) {
        arrivals.append(&mut self.held);
        loop {
            let [(timer, number), (due, lane)] = self.path.engine.agenda.first_of_each();
            let own = timer.min(due);
            let arrives = arrivals.last().map_or(Instant::NEVER, |arrival| arrival.at);
            let at = own.min(arrives);
            if at >= stop {
                break;
            }
            let rank = match arrivals.pop_if(|arrival| arrival.at < timer && arrival.at <= due) {
                Some(Arrival { rank, mut packet, .. }) => {
                    packet.id = self.path.engine.next_id();
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
            while let Some((_, _, packet)) = self.path.outputs.pop_front() {
                out(0, Departure { at, rank, packet });
            }
            for (by, leaves, packet) in self.path.engine.agenda.take_out() {
                // Nothing handled before it at a later instant has a greater number.
                let of_lane = self.numbers.of_lane(by);
                let rank = if leaves > at { of_lane } else { of_lane.max(rank) };
                out(by, Departure { at: leaves, rank, packet });
            }
        }
        if !arrivals.is_empty() {
            self.held.append(arrivals);
        }
    }
}
