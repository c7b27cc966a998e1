//! The packets of one direction of a bearer, whose link layer knows them as SDUs by number.
//!
//! A packet is stored from its entry into the buffer until both ends of the link layer have finished with it.

use crate::packet::Packet;
use crate::time::Instant;
use airpath_prefetch::{SOON, prefetch, prefetch_ends};
use std::collections::VecDeque;

/// SDUs of one direction, from the first unfinished one on.
#[derive(Default)]
pub(super) struct Sdus {
    first: u64,
    entries: VecDeque<Sdu>,
}

pub(super) struct Sdu {
    /// `None` once it has left.
    pub packet: Option<Box<Packet>>,
    /// ID of the packet.
    pub id: u32,
    pub flow: u16,
    pub seq: u32,
    pub len: u32,
    pub entered: Instant,
    /// Its entity is done with it.
    pub released: bool,
    /// Its entity has discarded it.
    pub given_up: bool,
}

impl Sdus {
    pub fn prefetch(&self) {
        prefetch_ends(&self.entries);
    }

    /// Starts to load the packets that leave next.
    pub fn prefetch_packets(&self) {
        let packets = self.entries.iter().take(SOON).filter_map(|sdu| sdu.packet.as_ref());
        packets.for_each(|packet| prefetch(&**packet));
    }

    #[inline]
    pub fn push(&mut self, now: Instant, packet: Box<Packet>) {
        let (id, flow, seq, len) = (packet.id, packet.flow, packet.seq, packet.len);
        let (released, given_up) = (false, false);
        let packet = Some(packet);
        self.entries.push_back(Sdu { packet, id, flow, seq, len, entered: now, released, given_up });
    }

    #[inline]
    pub fn entry(&self, number: u64) -> Option<&Sdu> {
        self.entries.get(number.checked_sub(self.first)? as usize)
    }

    #[inline]
    pub fn get(&mut self, number: u64) -> Option<&mut Sdu> {
        self.entries.get_mut(number.checked_sub(self.first)? as usize)
    }

    /// Numbers of the SDUs that were given up and that the other end has not reported on.
    pub fn given_up(&self) -> Vec<u64> {
        let open = (self.first..).zip(&self.entries).filter(|(_, sdu)| sdu.given_up && sdu.packet.is_some());
        open.map(|(number, _)| number).collect()
    }

    /// Takes out an unsent SDU that its entity has already removed.
    pub fn evict(&mut self, number: u64) -> Option<Box<Packet>> {
        let sdu = self.get(number)?;
        sdu.released = true;
        sdu.packet.take()
    }

    /// Withdraws all remaining packets in order and removes all SDUs.
    pub fn withdraw(&mut self) -> crate::radio::Packets {
        self.first += self.entries.len() as u64;
        self.entries.drain(..).filter_map(|sdu| sdu.packet).collect()
    }

    /// Removes leading SDUs that both ends have finished with.
    #[inline(always)]
    pub fn forget(&mut self) {
        while self.entries.front().is_some_and(|sdu| sdu.released && sdu.packet.is_none()) {
            self.entries.pop_front();
            self.first += 1;
        }
    }
}
