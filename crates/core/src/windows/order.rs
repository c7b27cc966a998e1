//! The order in which packets of many regions reach the link between them.

use crate::link::Wire;
use crate::packet::{Dir, Packet};
use crate::path::{Departure, Region, rank_over};
use crate::time::Instant;
use airpath_prefetch::prefetch;
use std::hint::select_unpredictable;
use std::ops::Range;

/// A packet reaches the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub at: Instant,
    /// Its place in the order of the instant.
    rank: u64,
    len: u32,
}

impl Call {
    #[inline(always)]
    pub fn of(Departure { at, rank, packet }: Departure) -> (Self, Box<Packet>) {
        (Self { at, rank, len: packet.len }, packet)
    }
}

/// A call has passed the link.
#[derive(Clone, Copy, Debug)]
struct Passed {
    /// `NEVER` if the packet was dropped.
    at: Instant,
    rank: u64,
    /// Index in `calls`.
    call: u32,
}

/// A call as the link is to see it; then time and rank of its arrival behind the link.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Time and rank as one number, as the order compares nothing else.
    key: u128,
    len: u32,
    /// Index in `calls`.
    call: u32,
    /// Number of its region among those of the thread.
    region: u32,
}

/// Comes behind every call.
const LAST: Place = Place { key: u128::MAX, len: 0, call: 0, region: 0 };

fn key(at: Instant, rank: u64) -> u128 {
    u128::from(at.as_nanos()) << 64 | u128::from(rank)
}

fn at_and_rank(key: u128) -> (Instant, u64) {
    (Instant::from_nanos((key >> 64) as u64), key as u64)
}

/// Calls of a window in one direction.
#[derive(Default)]
pub(super) struct Order {
    /// Region by region. Of one region, those at the same instant with the same rank are in order.
    calls: Vec<Call>,
    /// Their packets, until they arrive.
    packets: Vec<Option<Box<Packet>>>,
    /// After the last call of each region.
    ends: Vec<u32>,
    /// In order, and `LAST`.
    sorted: Vec<Place>,
    heads: Vec<u32>,
    /// Region by region, in each in order.
    passed: Vec<Passed>,
}

impl Order {
    pub fn clear(&mut self) {
        self.calls.clear();
        self.packets.clear();
        self.ends.clear();
    }

    /// A packet of the present region reaches the link.
    #[inline(always)]
    pub fn push(&mut self, (call, packet): (Call, Box<Packet>)) {
        self.calls.push(call);
        self.packets.push(Some(packet));
    }

    /// The calls of a region are complete.
    pub fn close(&mut self) {
        self.ends.push(self.calls.len() as u32);
    }

    /// Puts the calls in order. Times are spread evenly in most windows: into as many buckets as there are calls, and by
    /// insertion.
    pub fn sort(&mut self) {
        let Self { calls, ends, sorted, heads, .. } = self;
        let count = calls.len();
        sorted.clear();
        sorted.resize(count + 1, LAST);
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
        let mut from = 0;
        for (region, &end) in (0_u32..).zip(ends.iter()) {
            for (call, &Call { at, rank, len }) in (from..).zip(&calls[from as usize..end as usize]) {
                let head = &mut heads[bucket(at)];
                sorted[*head as usize] = Place { key: key(at, rank), len, call, region };
                *head += 1;
            }
            from = end;
        }
        // Many calls at one instant are rare, and must not cost their square.
        let mut start = 0;
        for end in heads.iter().map(|head| *head as usize) {
            if end > start + 1 {
                sorted[start..end].sort_by_key(|place| place.key);
            }
            start = start.max(end);
        }
    }

    /// Gives each region its arrivals, once the link has passed all calls. What is done here, each thread does for its
    /// own regions, while the link has only one for all.
    pub fn arrive(&mut self) {
        let Self { calls, ends, sorted, passed, heads, .. } = self;
        passed.resize(calls.len(), Passed { at: Instant::NEVER, rank: 0, call: 0 });
        heads.clear();
        heads.push(0);
        heads.extend_from_slice(ends);
        for &Place { key, call, region, .. } in &sorted[..calls.len()] {
            let (at, rank) = at_and_rank(key);
            let head = &mut heads[region as usize];
            passed[*head as usize] = Passed { at, rank, call };
            *head += 1;
        }
    }

    /// When the calls of a region have passed the link.
    fn passed(&self, region: usize) -> &[Passed] {
        self.passed.get(self.range(region)).unwrap_or_default()
    }

    /// Indices of the calls of a region.
    fn range(&self, region: usize) -> Range<usize> {
        let end_of = |number: usize| self.ends.get(number).map_or(0, |end| *end as usize);
        region.checked_sub(1).map_or(0, end_of)..end_of(region)
    }

    /// Starts to load the lists of what arrives at a region.
    pub fn prefetch_lists(&self, region: usize) {
        prefetch(self.packets.get(self.range(region)).unwrap_or_default());
        prefetch(self.passed(region));
    }

    /// Time, rank and packet of each arrival at a region, the latest first; at `NEVER` if it was dropped.
    pub fn take_arrivals(&mut self, region: usize) -> impl Iterator<Item = (Instant, u64, Box<Packet>)> {
        let range = self.range(region);
        let packets = &mut self.packets;
        self.passed[range]
            .iter()
            .rev()
            .filter_map(|passed| Some((passed.at, passed.rank, packets[passed.call as usize].take()?)))
    }

    /// Starts to load the packets that arrive at a region, which have left the cache since they were sent, and the state
    /// of a small region if anything is due before `stop`.
    #[inline(always)]
    pub fn prefetch(&self, number: usize, region: &Region, is_small: bool, stop: Instant) {
        let mut is_due = region.earliest() < stop;
        for Passed { at, call, .. } in self.passed(number) {
            self.packets[*call as usize].iter().for_each(|packet| prefetch(&**packet));
            is_due |= *at < stop;
        }
        if is_small && is_due {
            region.prefetch(stop);
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
    fn pass(&mut self, dir: Dir, place: &mut Place) {
        let latest = &mut self.latest[dir.index()];
        let (at, _) = at_and_rank(place.key);
        place.key = match self.wire.pass(dir, at, place.len) {
            Ok(arrives) => {
                *latest = (arrives, if latest.0 == arrives { latest.1 + 1 } else { 0 });
                key(arrives, rank_over(dir.index() as u32, latest.1))
            }
            Err(_) => key(Instant::NEVER, 0),
        };
    }

    /// All calls of all threads, in their common order. Which thread's packet is first cannot be predicted, so it is chosen
    /// without a branch: this part of a run has one thread.
    pub fn pass_all(&mut self, dir: Dir, orders: &mut [&mut Order]) {
        let count = orders.iter().map(|order| order.calls.len()).sum();
        match orders {
            [only] => only.sorted.iter_mut().take(count).for_each(|place| self.pass(dir, place)),
            // As below, with all in registers: 3 % of a thread's time.
            [one, other] => {
                let (mut at, mut at_other) = (0, 0);
                for _ in 0..count {
                    let (first, second) = (&mut one.sorted[at], &mut other.sorted[at_other]);
                    let is_second = second.key < first.key;
                    self.pass(dir, select_unpredictable(is_second, second, first));
                    at += usize::from(!is_second);
                    at_other += usize::from(is_second);
                }
            }
            _ => {
                let mut lines: Vec<_> = orders.iter_mut().map(|order| order.sorted.iter_mut()).collect();
                let mut heads: Vec<_> = lines.iter_mut().filter_map(Iterator::next).collect();
                for _ in 0..count {
                    let first = (1..heads.len()).fold(0, |first, number| {
                        select_unpredictable(heads[number].key < heads[first].key, number, first)
                    });
                    self.pass(dir, heads[first]);
                    if let Some(next) = lines[first].next() {
                        heads[first] = next;
                    }
                }
            }
        }
    }
}
