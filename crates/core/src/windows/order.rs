//! The order in which packets of many regions reach the link between them.

use crate::link::Wire;
use crate::packet::Dir;
use crate::path::Arrival;
use crate::time::Instant;
use std::hint::select_unpredictable;

/// A packet reaches the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub at: Instant,
    /// Its place in the order of the instant.
    pub rank: u64,
    pub len: u32,
    /// Where its region keeps it.
    pub slot: u32,
}

/// A call as the link is to see it; then time and rank of its arrival behind the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    at: Instant,
    rank: u64,
    /// Index of the call, so that what one event emits keeps its order.
    call: u32,
    len: u32,
}

/// Calls of a window in one direction.
#[derive(Default)]
pub(super) struct Order {
    /// Region by region, in each in order.
    pub calls: Vec<Call>,
    /// After the last call of each region.
    pub ends: Vec<u32>,
    sorted: Vec<Place>,
    heads: Vec<u32>,
    /// By call: its arrival behind the link, at `NEVER` if it was dropped.
    pub arrivals: Vec<Arrival>,
}

impl Order {
    pub fn clear(&mut self) {
        self.calls.clear();
        self.ends.clear();
        self.sorted.clear();
    }

    /// Time and rank of a call in order, as one number; the greatest one behind the last call.
    fn key(&self, index: usize) -> u128 {
        self.sorted
            .get(index)
            .map_or(u128::MAX, |place| u128::from(place.at.as_nanos()) << 64 | u128::from(place.rank))
    }

    /// The calls of a region are complete.
    pub fn close(&mut self) {
        self.ends.push(self.calls.len() as u32);
    }

    /// Puts the calls in order. Times are spread evenly in most windows: into as many buckets as there are calls, and by
    /// insertion.
    pub fn sort(&mut self) {
        let Self { calls, sorted, heads, .. } = self;
        let count = calls.len();
        sorted.clear();
        sorted.resize(count, Place { at: Instant::ZERO, rank: 0, call: 0, len: 0 });
        let times = calls.iter().map(|call| call.at);
        let (Some(first), Some(last)) = (times.clone().min(), times.max()) else { return };
        // A power of two, as a shift: no floating point.
        let span = last.since(first).as_nanos().max(1);
        let shift = (span / count as u64).max(1).ilog2();
        let bucket = |at: Instant| (at.since(first).as_nanos() >> shift) as usize;
        heads.clear();
        heads.resize(bucket(last) + 2, 0);
        for call in calls.iter() {
            heads[bucket(call.at) + 1] += 1;
        }
        for index in 1..heads.len() {
            heads[index] += heads[index - 1];
        }
        for (number, &Call { at, rank, len, .. }) in (0_u32..).zip(calls.iter()) {
            let head = &mut heads[bucket(at)];
            sorted[*head as usize] = Place { at, rank, call: number, len };
            *head += 1;
        }
        // Many calls at one instant are rare, and must not cost their square.
        let mut start = 0;
        for end in heads.iter().map(|head| *head as usize) {
            if end > start + 1 {
                sorted[start..end].sort_unstable();
            }
            start = start.max(end);
        }
    }

    /// Gives each region its arrivals, once the link has passed all calls. What is done here, each thread does for its
    /// own regions, while the link has only one for all.
    pub fn arrive(&mut self) {
        let Self { calls, sorted, arrivals, .. } = self;
        arrivals.resize(calls.len(), Arrival { at: Instant::NEVER, rank: 0, slot: 0 });
        for &Place { at, rank, call, .. } in sorted.iter() {
            arrivals[call as usize] = Arrival { at, rank, slot: calls[call as usize].slot };
        }
    }
}

/// The link between regions, with what their order depends on.
pub(super) struct Border {
    pub wire: Wire,
    /// The latest arrival in each direction, and how many came at this instant before it.
    latest: [(Instant, u32); 2],
}

impl Border {
    /// The whole path's first two lanes are the link's.
    pub fn new(wire: Wire) -> Self {
        Self { wire, latest: [(Instant::ZERO, 0); 2] }
    }

    #[inline(always)]
    fn pass(&mut self, dir: Dir, order: &mut Order, index: usize) {
        let place = &mut order.sorted[index];
        let latest = &mut self.latest[dir.index()];
        (place.at, place.rank) = match self.wire.pass(dir, place.at, place.len) {
            Ok(arrives) => {
                *latest = if latest.0 == arrives { (arrives, latest.1 + 1) } else { (arrives, 0) };
                (arrives, Arrival::rank_over(dir.index() as u32, latest.1))
            }
            Err(_) => (Instant::NEVER, 0),
        };
    }

    /// All calls of all threads, in their common order.
    pub fn pass_all(&mut self, dir: Dir, orders: &mut [&mut Order]) {
        if let [only] = orders {
            return (0..only.sorted.len()).for_each(|index| self.pass(dir, only, index));
        }
        let mut next = vec![0; orders.len()];
        let mut heads: Vec<_> = orders.iter().map(|order| order.key(0)).collect();
        for _ in 0..orders.iter().map(|order| order.sorted.len()).sum::<usize>() {
            // Without a branch, as which thread's packet is first cannot be predicted: this part of a run has one thread.
            let first = (1..heads.len())
                .fold(0, |first, number| select_unpredictable(heads[number] < heads[first], number, first));
            self.pass(dir, orders[first], next[first]);
            next[first] += 1;
            heads[first] = orders[first].key(next[first]);
        }
    }
}
