//! The regions that one thread runs.

use super::order::{Call, Order};
use crate::packet::{self, Dir, Opaque, Packet};
use crate::path::{Arrival, Outside, Region};
use crate::time::{Duration, Instant};
use airpath_prefetch::prefetch;

/// Packets between the regions of a chunk, by value. Memory is reused last in, first out, whichever region used it: a
/// region writes the packets that leave to where it has just read those that came, so these lines are in the cache.
#[derive(Default)]
pub(super) struct Slots {
    packets: Vec<Slot>,
    free: Vec<u32>,
}

/// A packet in a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Slot(Packet);

const _: () = assert!(size_of::<Slot>() == 64);

impl Slots {
    #[inline(always)]
    fn put(&mut self, packet: &mut Packet) -> u32 {
        let own = std::mem::take(packet);
        match self.free.pop() {
            Some(slot) => {
                self.packets[slot as usize].0 = own;
                slot
            }
            None => {
                self.packets.push(Slot(own));
                self.packets.len() as u32 - 1
            }
        }
    }

    #[inline(always)]
    fn take(&mut self, slot: u32) -> Packet {
        self.free.push(slot);
        std::mem::take(&mut self.packets[slot as usize].0)
    }

    /// Starts to load the packets that arrive at a region before `stop`, which have left the cache since, and the state of
    /// a small region if anything is due.
    #[inline(always)]
    fn prefetch(&self, region: &Region, is_small: bool, stop: Instant) {
        region.arrivals_before(stop).for_each(|slot| prefetch(&self.packets[slot as usize]));
        if is_small && region.earliest() < stop {
            region.prefetch();
        }
    }
}

/// Where the packets of a region come from and go to.
struct Ports<'a> {
    slots: &'a mut Slots,
    calls: &'a mut Vec<Call>,
}

impl Outside for Ports<'_> {
    #[inline(always)]
    fn take(&mut self, slot: u32) -> Packet {
        self.slots.take(slot)
    }

    #[inline(always)]
    fn put(&mut self, at: Instant, rank: u64, packet: &mut Packet) {
        let len = packet.len;
        self.calls.push(Call { at, rank, len, slot: self.slots.put(packet) });
    }
}

/// A group of UEs, or a cell: the ends of its flows at the server, and everything from the link to its UEs.
pub(super) struct Group {
    /// `None` if the server's ends are in the other region.
    pub server: Option<Region>,
    pub radio: Region,
    /// Packets towards the server that leave the region after the present window.
    pub later: Vec<Call>,
    /// The group is a few UEs, whose state is loaded into the cache while the group before is run.
    pub is_small: bool,
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
    /// Packets between the two regions of each group.
    pub slots: Slots,
    /// Packets that came to the link in the present window, by direction, and when it arrives.
    pub orders: [Order; 2],
    /// Packets that all of this may hold at once.
    pub packets: u64,
}

impl Chunk {
    pub fn run(&mut self, job: Job) {
        match job {
            Job::Begin(end) => self.begin(end),
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

    fn end(&mut self, at: Instant) {
        let [_, arrived] = &mut self.orders;
        arrived.arrive();
        for (number, Group { server, radio, .. }) in self.groups.iter_mut().enumerate() {
            if let Some(server) = server {
                take_in(server, &mut self.slots, arrived, number, Dir::Uplink);
                server.end(at);
                radio.end(at);
            }
        }
        arrived.clear();
    }

    fn begin(&mut self, end: Instant) {
        let slots = &mut self.slots;
        for Group { server, radio, later, .. } in &mut self.groups {
            if let Some(server) = server {
                // Its lanes lead nowhere, so nothing leaves.
                server.begin(end, &mut Ports { slots, calls: later });
                radio.begin(end, &mut Ports { slots, calls: later });
            }
        }
    }

    fn run_servers(&mut self, stop: Instant) {
        let ([down, arrived], slots) = (&mut self.orders, &mut self.slots);
        arrived.arrive();
        down.clear();
        self.packets = 0;
        // While a group runs, the next one is loaded, and the first part of the one after it.
        for number in 0..=self.groups.len() {
            self.groups.get(number + 1).into_iter().for_each(|group| prefetch(&group.server));
            if let Some(Group { server: Some(next), is_small, .. }) = self.groups.get_mut(number) {
                take_in(next, slots, arrived, number, Dir::Uplink);
                slots.prefetch(next, *is_small, stop);
            }
            let present = number.checked_sub(1).map(|present| &mut self.groups[present]);
            if let Some(Group { server: Some(server), .. }) = present {
                server.run(stop, &mut Ports { slots, calls: &mut down.calls });
                down.close();
                self.packets += server.path.created();
            }
        }
        self.packets += slots.packets.len() as u64;
        down.sort();
    }

    fn run_radios(&mut self, stop: Instant, known: Instant) {
        let ([arrived, up], slots) = (&mut self.orders, &mut self.slots);
        arrived.arrive();
        up.clear();
        // As the servers.
        for number in 0..=self.groups.len() {
            self.groups.get(number + 1).into_iter().for_each(|group| prefetch(&group.radio));
            if let Some(Group { radio: next, is_small, .. }) = self.groups.get_mut(number) {
                take_in(next, slots, arrived, number, Dir::Downlink);
                slots.prefetch(next, *is_small, stop);
            }
            let present = number.checked_sub(1).map(|present| &mut self.groups[present]);
            if let Some(Group { radio, later, .. }) = present {
                radio.run(stop, &mut Ports { slots, calls: later });
                up.calls.extend(later.extract_if(.., |call| call.at < known));
                up.close();
                self.packets += radio.path.created();
            }
        }
        up.sort();
    }
}

/// Arrivals of a group over the link come into the inbox of its region; what the link dropped is counted.
fn take_in(region: &mut Region, slots: &mut Slots, order: &Order, group: usize, dir: Dir) {
    for arrival in order.arrivals_of(group) {
        if arrival.at < Instant::NEVER {
            region.inbox.push_back(*arrival);
            continue;
        }
        let packet = slots.take(arrival.slot);
        if packet.kind() == packet::Kind::Opaque(Opaque::OtherProtocol) {
            region.path.note_datagram_dropped(&packet, dir);
        }
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

impl Order {
    /// Arrivals of a group in the present window.
    fn arrivals_of(&self, group: usize) -> &[Arrival] {
        let from = if group == 0 { 0 } else { self.ends.get(group - 1).copied().unwrap_or(0) };
        let end = self.ends.get(group).copied().unwrap_or(0);
        &self.arrivals[from as usize..end as usize]
    }
}
