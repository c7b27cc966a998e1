//! The regions that one thread runs.

use super::order::{Call, Order};
use crate::packet::{self, Dir, Opaque, Packet};
use crate::path::{Arrival, Region};
use crate::time::{Duration, Instant};

/// Packets between two regions, in memory that is reused last in, first out.
#[derive(Default)]
pub(super) struct Slots {
    packets: Vec<Packet>,
    free: Vec<u32>,
}

impl Slots {
    #[inline(always)]
    fn put(&mut self, packet: &mut Packet) -> u32 {
        let own = std::mem::take(packet);
        match self.free.pop() {
            Some(slot) => {
                self.packets[slot as usize] = own;
                slot
            }
            None => {
                self.packets.push(own);
                self.packets.len() as u32 - 1
            }
        }
    }

    #[inline(always)]
    fn take(&mut self, slot: u32) -> Packet {
        self.free.push(slot);
        std::mem::take(&mut self.packets[slot as usize])
    }
}

/// A group of UEs, or a cell: the ends of its flows at the server, and everything from the link to its UEs.
pub(super) struct Group {
    /// `None` if the server's ends are in the other region.
    pub server: Option<Region>,
    pub radio: Region,
    pub down: Slots,
    pub up: Slots,
    /// Packets towards the server that leave the region after the present window.
    pub later: Vec<Call>,
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
    /// What came to the link in the present window, by direction, and when it arrives.
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
        for (number, Group { server, radio, up, .. }) in self.groups.iter_mut().enumerate() {
            if let Some(server) = server {
                take_in(server, up, arrived, number, Dir::Uplink);
                server.end(at);
                radio.end(at);
            }
        }
        arrived.clear();
    }

    fn begin(&mut self, end: Instant) {
        for Group { server, radio, up, later, .. } in &mut self.groups {
            if let Some(server) = server {
                server.begin(end, |_, _, packet| packet);
                radio.begin(end, |at, rank, mut packet| {
                    let len = packet.len;
                    later.push(Call { at, rank, len, slot: up.put(&mut packet) });
                    packet
                });
            }
        }
    }

    fn run_servers(&mut self, stop: Instant) {
        let [down, arrived] = &mut self.orders;
        down.clear();
        self.packets = 0;
        for (number, group) in self.groups.iter_mut().enumerate() {
            let Some(server) = &mut group.server else { continue };
            take_in(server, &mut group.up, arrived, number, Dir::Uplink);
            let (up, packets) = (&mut group.up, &mut group.down);
            server.run(
                stop,
                |slot| up.take(slot),
                |at, rank, mut packet| {
                    let len = packet.len;
                    down.calls.push(Call { at, rank, len, slot: packets.put(&mut packet) });
                    packet
                },
            );
            down.close();
            self.packets += server.path.created() + (packets.packets.len() + up.packets.len()) as u64;
        }
        down.sort();
    }

    fn run_radios(&mut self, stop: Instant, known: Instant) {
        let [arrived, up] = &mut self.orders;
        up.clear();
        for (number, group) in self.groups.iter_mut().enumerate() {
            let Group { radio, later, .. } = group;
            take_in(radio, &mut group.down, arrived, number, Dir::Downlink);
            let (down, packets) = (&mut group.down, &mut group.up);
            radio.run(
                stop,
                |slot| down.take(slot),
                |at, rank, mut packet| {
                    let len = packet.len;
                    later.push(Call { at, rank, len, slot: packets.put(&mut packet) });
                    packet
                },
            );
            // Stable, as what one event emits keeps its order.
            later.sort_by_key(|call| (call.at, call.rank));
            let ready = later.partition_point(|call| call.at < known);
            up.calls.extend(later.drain(..ready));
            up.close();
            self.packets += radio.path.created();
        }
        up.sort();
    }
}

/// Arrivals of a group over the link come into the inbox of its region; what the link dropped is counted.
fn take_in(region: &mut Region, packets: &mut Slots, order: &Order, group: usize, dir: Dir) {
    for arrival in order.arrivals_of(group) {
        if arrival.at < Instant::NEVER {
            region.inbox.push_back(*arrival);
            continue;
        }
        let packet = packets.take(arrival.slot);
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
