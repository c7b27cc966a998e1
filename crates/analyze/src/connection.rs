//! A connection, at each interface that saw it.
//!
//! Packets between the same ends at another interface belong to the same connection if its SYN has the same sequence
//! number, or, without one, if its numbers are near. They belong to another connection, as with a proxy that terminates
//! connections, if packets of both ends pass the same interface first, or if no packet is found at both.

use airpath_core::time::Instant;

use crate::between::Between;
use crate::crossing::{self, Crossing, Packet};
use crate::gtp::Tunnel;
use crate::name;
use crate::segment::{Endpoint, Segment};
use crate::view::{Side, View};

/// Between which ends connections are, the lesser first.
pub type Ends = (Endpoint, Endpoint);

/// Tunnels remembered of a side: each handover makes another.
const MOST_TUNNELS: usize = 16;
/// A client names the host in its first segments.
const MOST_LOOKED: u8 = 4;
/// Seen at both interfaces, packets of one connection have been found again.
const ENOUGH: u64 = 4096;

#[derive(Clone, Debug)]
pub struct Connection {
    pub ends: Ends,
    /// In the order of their first packets, from 1.
    pub number: u64,
    /// In the order in which they saw it first; never empty once a packet was handled.
    pub views: Vec<View>,
    /// Tunnels that packets of either side came in.
    pub tunnels: [Vec<Tunnel>; 2],
    between: Between,
    /// The host that the client asked for.
    pub name: Option<String>,
    /// Segments with payload of either side in which a name was looked for.
    looked: [u8; 2],
    /// Bytes of memory it was last found to take.
    pub accounted: usize,
}

impl Connection {
    /// A connection without any packet.
    pub fn new(ends: Ends, number: u64) -> Self {
        let (tunnels, between) = Default::default();
        Self { ends, number, views: Vec::new(), tunnels, between, name: None, looked: [0; 2], accounted: 0 }
    }

    /// A separate connection made of the view of one interface.
    pub fn of_view(view: View, ends: Ends, number: u64) -> Self {
        Self { views: vec![view], ..Self::new(ends, number) }
    }

    pub fn view(&self, interface: u32) -> Option<&View> {
        self.views.iter().find(|view| view.interface == interface)
    }

    /// Whether a segment at an interface that has not seen the connection can belong to it.
    pub fn fits(&self, side: Side, segment: &Segment) -> bool {
        self.views.iter().any(|view| view.fits(side, segment))
    }

    /// Whether a segment in a tunnel can belong to the connection, which its interface has seen in tunnels: by the tunnel,
    /// or by close numbers. Subscribers of different networks may have the same address.
    pub fn fits_tunnel(&self, view: &View, side: Side, segment: &Segment, tunnel: &Tunnel) -> bool {
        self.tunnels[side].contains(tunnel) || view.is_close(side, segment)
    }

    /// Whether both came in a common tunnel, or neither in any.
    pub fn shares_tunnel(&self, other: &Self) -> bool {
        let has_none = |one: &Self| one.tunnels.iter().all(Vec::is_empty);
        has_none(self) && has_none(other)
            || (0..2).any(|side| self.tunnels[side].iter().any(|own| other.tunnels[side].contains(own)))
    }

    pub fn note_tunnel(&mut self, side: Side, tunnel: Tunnel) {
        let known = &mut self.tunnels[side];
        if known.len() < MOST_TUNNELS && !known.contains(&tunnel) {
            known.push(tunnel);
        }
    }

    /// A segment of one side passes an interface, which may be one of several. Returns whether it is counted, i.e. no
    /// copy of an earlier one, and the views that turn out to be another connection.
    pub fn handle(
        &mut self,
        now: Instant,
        (interface, is_one_of_several): (u32, bool),
        side: Side,
        segment: &Segment,
        has_copies: bool,
    ) -> (bool, Option<Box<View>>) {
        let at = self.views.iter().position(|view| view.interface == interface).unwrap_or_else(|| {
            self.add_view(interface, now);
            self.views.len() - 1
        });
        let view = &mut self.views[at];
        let is_counted = view.handle(now, side, segment, has_copies);
        if !is_counted || !is_one_of_several {
            return (is_counted, None);
        }
        let packets = view.packets.iter().sum();
        self.between.pass(at, side, view.latest_at, Packet::of(segment), packets);
        // A view is large: with it in place the answer would be copied for each segment.
        (true, (at > 0 && self.is_stranger(at, ENOUGH)).then(|| Box::new(self.take(at))))
    }

    fn add_view(&mut self, interface: u32, now: Instant) {
        self.views.push(View::new(interface, now));
        if self.views.len() > 1 {
            self.between.add_place();
        }
    }

    /// Whether a view is shown to be of another connection than the first. Packets of one side that both must have
    /// seen for this: `enough`.
    fn is_stranger(&self, at: usize, enough: u64) -> bool {
        let crossing = self.between.crossing(at);
        if !crossing.iter().any(Crossing::has_matches) {
            let (one, other) = (self.views[0].packets, self.views[at].packets);
            return (0..2).any(|side| one[side].min(other[side]) >= enough);
        }
        let first = crossing[0].first();
        first.is_some() && first == crossing[1].first()
    }

    fn take(&mut self, at: usize) -> View {
        self.between.remove_place(at);
        self.views.remove(at)
    }

    /// Takes away a view of another connection, if there is one, now that the whole is known.
    pub fn take_stranger(&mut self) -> Option<View> {
        let at = (1..self.views.len()).find(|&at| self.is_stranger(at, 1))?;
        Some(self.take(at))
    }

    /// Looks for the name of a host in the first payloads of a side, at any of its views.
    pub fn look_for_name(&mut self, side: Side, payload: &[u8]) {
        if self.name.is_none() && self.looked[side] < MOST_LOOKED {
            self.looked[side] += 1;
            self.name = name::asked_for(payload);
        }
    }

    /// Who opened it.
    pub fn opener(&self) -> Option<Side> {
        self.views.iter().find_map(|view| view.opener)
    }

    /// The views in the order of the path, from the end of one side.
    pub fn along(&self, side: Side) -> Vec<usize> {
        self.between.along(side, self.opener().unwrap_or(0))
    }

    /// Outcomes of packets of one side between two views, if they were followed.
    pub fn passage(&self, side: Side, near: usize, far: usize) -> Option<crossing::Report> {
        self.between.passage(side, near, far, self.first_at(), self.views[far].latest_at)
    }

    pub fn first_at(&self) -> Instant {
        self.views.iter().map(|view| view.first_at).min().unwrap_or(Instant::ZERO)
    }

    pub fn latest_at(&self) -> Instant {
        self.views.iter().map(|view| view.latest_at).max().unwrap_or(Instant::ZERO)
    }

    pub fn end(&self, side: Side) -> Endpoint {
        if side == 0 { self.ends.0 } else { self.ends.1 }
    }

    /// Packets captured, at all views.
    pub fn packets(&self) -> u64 {
        self.views.iter().flat_map(|view| view.packets).sum()
    }

    /// Packets recorded more than once.
    pub fn copied(&self) -> u64 {
        self.views.iter().map(|view| view.copied).sum()
    }

    /// Known payload in both directions.
    pub fn payload(&self) -> u64 {
        self.views.iter().map(View::payload).max().unwrap_or(0)
    }

    /// Whether nothing is to be expected any more.
    pub fn is_closed(&self) -> bool {
        self.views.iter().all(View::is_closed)
    }

    pub fn bytes(&self) -> usize {
        let name = self.name.as_ref().map_or(0, String::capacity);
        size_of::<Self>() + name + self.views.iter().map(View::bytes).sum::<usize>() + self.between.bytes()
    }
}
