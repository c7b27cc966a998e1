//! The regions that one thread runs.

use super::order::{Call, Order};
use crate::packet::{self, Dir, Opaque, Packet};
use crate::path::{Arrival, Departure, Region};
use crate::time::{Duration, Instant};
use airpath_prefetch::{prefetch, prefetch_ends};
use std::collections::VecDeque;

/// A group of UEs, or a cell: the ends of its flows at the server, and everything from the link to its UEs.
pub(super) struct Group {
    /// `None` if the server's ends are in the other region.
    pub server: Option<Region>,
    pub radio: Region,
    /// Packets towards the server that leave the region after the present window.
    pub later: Later,
    /// The group is a few UEs, whose state is loaded into the cache while the group before is run.
    pub is_small: bool,
}

/// Packets that leave a region later.
#[derive(Default)]
pub(super) struct Later {
    /// Sorted by number.
    lanes: Vec<Lane>,
}

/// Packets that leave over one lane, in order: only the first ones may be due.
struct Lane {
    number: usize,
    calls: VecDeque<(Call, Box<Packet>)>,
}

impl Later {
    #[inline(always)]
    fn put(&mut self, number: usize, call: (Call, Box<Packet>)) {
        let place = self.lanes.binary_search_by_key(&number, |lane| lane.number).unwrap_or_else(|place| {
            self.lanes.insert(place, Lane { number, calls: VecDeque::new() });
            place
        });
        self.lanes[place].calls.push_back(call);
    }

    /// Gives the link the packets that leave before `stop`.
    fn take(&mut self, stop: Instant, order: &mut Order) {
        for Lane { calls, .. } in &mut self.lanes {
            while calls.front().is_some_and(|(call, _)| call.at < stop) {
                calls.pop_front().into_iter().for_each(|call| order.push(call));
            }
        }
    }

    /// Starts to load the packets that leave next. The list of lanes is loaded.
    fn prefetch(&self) {
        self.lanes.iter().for_each(|lane| prefetch_ends(&lane.calls));
    }
}

impl Group {
    fn prefetch_radio(&self) {
        prefetch(&self.radio);
        prefetch(&self.later.lanes[..]);
    }
}

/// Memory that all regions of a chunk use, one after the other: so it stays in the cache.
#[derive(Default)]
struct Shared {
    /// Unused packets.
    #[allow(clippy::vec_box)]
    pool: Vec<Box<Packet>>,
    arrivals: Vec<Arrival>,
}

impl Shared {
    /// Takes the packets that arrive at a region in the present window, and counts those that the link has dropped.
    fn take_in(&mut self, region: &mut Region, order: &mut Order, group: usize, dir: Dir) {
        for (at, rank, mut packet) in order.take_arrivals(group) {
            if at < Instant::NEVER {
                self.arrivals.push(Arrival { at, rank, packet });
                continue;
            }
            if packet.kind() == packet::Kind::Opaque(Opaque::OtherProtocol) {
                region.path.note_datagram_dropped(&packet, dir);
            }
            packet.clear();
            self.pool.push(packet);
        }
    }

    /// Runs a region up to `stop`.
    #[inline(always)]
    fn run(
        &mut self,
        region: &mut Region,
        (order, group, dir): (&mut Order, usize, Dir),
        stop: Instant,
        out: impl FnMut(Option<usize>, Departure),
    ) {
        self.take_in(region, order, group, dir);
        region.path.exchange_pool(&mut self.pool);
        region.run(stop, &mut self.arrivals, out);
        region.path.exchange_pool(&mut self.pool);
    }
}

/// What chunks do next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Job {
    /// Begin a run that is observed at this time at the earliest.
    Begin(Instant),
    /// Run the server's ends up to this time, exclusively.
    Servers(Instant),
    /// Run all behind the link up to the first time; what leaves before the second is known then.
    Radios(Instant, Instant),
    /// Run regions that share nothing up to this time, inclusively.
    Apart(Instant),
    /// End the run at this time.
    End(Instant),
}

/// Regions that one thread runs, one after the other.
#[derive(Default)]
pub(super) struct Chunk {
    pub groups: Vec<Group>,
    shared: Shared,
    /// Packets that came to the link in the present window, by direction, and when it arrives.
    pub orders: [Order; 2],
    /// Upper bound on packets in use at one instant so far. The number created is too low: regions run in turn and use
    /// packets again.
    pub packets: u64,
    /// Packets made so far, modulo 2^32, and in the last window.
    made: (u32, u32),
}

impl Chunk {
    pub fn run(&mut self, job: Job) {
        match job {
            Job::Begin(end) => self.regions().for_each(|region| region.begin(end)),
            Job::Servers(stop) => self.run_servers(stop),
            Job::Radios(stop, known) => self.run_radios(stop, known),
            Job::Apart(until) => {
                self.packets = 0;
                for group in &mut self.groups {
                    group.radio.path.handle_timeout(until);
                    self.packets += group.radio.path.created();
                }
            }
            Job::End(at) => self.end(at),
        }
    }

    fn regions(&mut self) -> impl Iterator<Item = &mut Region> {
        self.groups.iter_mut().flat_map(|group| group.server.iter_mut().chain([&mut group.radio]))
    }

    fn end(&mut self, at: Instant) {
        let [_, arrived] = &mut self.orders;
        arrived.arrive();
        for (number, Group { server, .. }) in self.groups.iter_mut().enumerate() {
            if let Some(server) = server {
                self.shared.take_in(server, arrived, number, Dir::Uplink);
                server.keep(&mut self.shared.arrivals);
            }
        }
        arrived.clear();
        self.regions().for_each(|region| region.end(at));
    }

    fn run_servers(&mut self, stop: Instant) {
        let [down, arrived] = &mut self.orders;
        arrived.arrive();
        down.clear();
        // While a group runs, the next one is loaded, and the first part of the one after it.
        for number in 0..=self.groups.len() {
            self.groups.get(number + 1).into_iter().for_each(|group| prefetch(&group.server));
            arrived.prefetch_lists(number + 1);
            if let Some(Group { server: Some(next), is_small, .. }) = self.groups.get(number) {
                arrived.prefetch(number, next, *is_small, stop);
            }
            let present = number.checked_sub(1).map(|present| &mut self.groups[present]);
            if let Some(Group { server: Some(server), .. }) = present {
                self.shared.run(server, (arrived, number - 1, Dir::Uplink), stop, |_, leaves| {
                    down.push(Call::of(leaves));
                });
                down.close();
            }
        }
        down.sort();
    }

    /// At any time in this window, packets are in use that existed before all regions came to it, or that were made in it
    /// or in the one before.
    fn count_packets(&mut self) {
        let counts = self.regions().map(|region| (region.path.created(), region.made()));
        let (created, made) = counts.fold((0, 0_u32), |all, own| (all.0 + own.0, all.1.wrapping_add(own.1)));
        let (before, in_last) = self.made;
        let in_this = made.wrapping_sub(before);
        self.made = (made, in_this);
        self.packets = self.packets.max(created + u64::from(in_last) + u64::from(in_this));
    }

    fn run_radios(&mut self, stop: Instant, known: Instant) {
        let [arrived, up] = &mut self.orders;
        arrived.arrive();
        up.clear();
        // As the servers.
        for number in 0..=self.groups.len() {
            self.groups.get(number + 1).into_iter().for_each(Group::prefetch_radio);
            arrived.prefetch_lists(number + 1);
            if let Some(Group { radio: next, is_small, later, .. }) = self.groups.get(number) {
                later.prefetch();
                arrived.prefetch(number, next, *is_small, stop);
            }
            let present = number.checked_sub(1).map(|present| &mut self.groups[present]);
            if let Some(Group { radio, later, .. }) = present {
                later.take(known, up);
                self.shared.run(radio, (arrived, number - 1, Dir::Downlink), stop, |lane, leaves| {
                    let call = Call::of(leaves);
                    match lane {
                        Some(lane) if call.0.at >= known => later.put(lane, call),
                        _ => up.push(call),
                    }
                });
                up.close();
            }
        }
        self.count_packets();
        self.orders[Dir::Uplink.index()].sort();
    }
}

/// How far the regions on both sides of the link are. What reaches the link before `known` is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front {
    pub server: Instant,
    pub radio: Instant,
    pub known: Instant,
}

impl Front {
    pub fn at(now: Instant) -> Self {
        Self { server: now, radio: now, known: now }
    }

    /// Whether anything before `stop` is to be done.
    pub fn is_before(&self, stop: Instant) -> bool {
        self.server.min(self.radio).min(self.known) < stop
    }

    /// The next window, of at most this length: each side runs as far as what it knows of the other one reaches.
    pub fn advance(&mut self, delays: [Duration; 2], ahead: Duration, stop: Instant, longest: Duration) {
        let [down, up] = delays;
        self.server = (self.known + up).min(self.server + longest).min(stop);
        self.radio = (self.server + down).min(self.radio + longest).min(stop);
        self.known = (self.radio + ahead).min(stop);
    }
}
