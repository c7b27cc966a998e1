//! A connection, at each interface that saw it.
//!
//! What another interface shows between the same ends is the same connection if its SYN has the same sequence number,
//! or, without one, if its numbers are near. It is another after all, as with a proxy that ends connections, if
//! packets of both ends pass the same interface first, or if no packet is found at both.

use airpath_core::time::Instant;

use crate::crossing::{self, Crossing, Packet};
use crate::segment::{Endpoint, Segment};
use crate::view::{Side, View};

/// Between which ends connections are, the lesser first.
pub type Ends = (Endpoint, Endpoint);

/// Packets remembered for an interface that is yet to see them.
const MOST_RECENT: usize = 1024;
/// Seen at both interfaces, packets of one connection have been found again.
const ENOUGH: u64 = 4096;

#[derive(Clone, Debug)]
pub struct Connection {
    pub ends: Ends,
    /// In the order of their first packets, from 1.
    pub number: u64,
    /// In the order in which they saw it first; never empty once a packet was handled.
    pub views: Vec<View>,
    /// Packets of either end between the first view and each of the others.
    crossings: Vec<[Crossing; 2]>,
    /// The first packets at the first view, while there is no other.
    recent: Vec<(Side, Instant, Packet)>,
    /// Bytes of memory it was last found to take.
    pub accounted: usize,
}

impl Connection {
    /// A connection of which nothing has been seen.
    pub fn new(ends: Ends, number: u64) -> Self {
        Self { ends, number, views: Vec::new(), crossings: Vec::new(), recent: Vec::new(), accounted: 0 }
    }

    /// What one interface saw, and turned out to be a connection of its own.
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

    /// A segment of one side passes an interface, which may be one of several. Returns what this shows to be another
    /// connection.
    pub fn handle(
        &mut self,
        now: Instant,
        (interface, is_one_of_several): (u32, bool),
        side: Side,
        segment: &Segment,
    ) -> Option<View> {
        let at = self.views.iter().position(|view| view.interface == interface).unwrap_or_else(|| {
            self.add_view(interface, now);
            self.views.len() - 1
        });
        let view = &mut self.views[at];
        view.handle(now, side, segment);
        if !is_one_of_several {
            return None;
        }
        let (passed_at, packet) = (view.latest_at, Packet::of(segment));
        if at > 0 {
            self.crossings[at - 1][side].pass(passed_at, 1, packet);
            return self.is_stranger(at, ENOUGH).then(|| self.take(at));
        }
        for crossing in &mut self.crossings {
            crossing[side].pass(passed_at, 0, packet);
        }
        if self.views.len() == 1 && self.views[0].packets.iter().sum::<u64>() <= MOST_RECENT as u64 {
            self.recent.push((side, passed_at, packet));
        } else {
            self.recent = Vec::new();
        }
        None
    }

    fn add_view(&mut self, interface: u32, now: Instant) {
        self.views.push(View::new(interface, now));
        if self.views.len() > 1 {
            let mut crossing: [Crossing; 2] = Default::default();
            for (side, at, packet) in &self.recent {
                crossing[*side].pass(*at, 0, *packet);
            }
            self.crossings.push(crossing);
        }
    }

    /// Whether a view is shown to be of another connection than the first. Packets of one side that both must have
    /// seen for this: `enough`.
    fn is_stranger(&self, at: usize, enough: u64) -> bool {
        let crossing = &self.crossings[at - 1];
        if !crossing.iter().any(Crossing::has_matches) {
            let (one, other) = (self.views[0].packets, self.views[at].packets);
            return (0..2).any(|side| one[side].min(other[side]) >= enough);
        }
        let first = crossing[0].first();
        first.is_some() && first == crossing[1].first()
    }

    fn take(&mut self, at: usize) -> View {
        self.crossings.remove(at - 1);
        self.views.remove(at)
    }

    /// Takes away a view of another connection, if there is one, now that the whole is known.
    pub fn take_stranger(&mut self) -> Option<View> {
        let at = (1..self.views.len()).find(|&at| self.is_stranger(at, 1))?;
        Some(self.take(at))
    }

    /// Who opened it.
    pub fn opener(&self) -> Option<Side> {
        self.views.iter().find_map(|view| view.opener)
    }

    /// The views in the order of the path, from the end of one side.
    pub fn along(&self, side: Side) -> Vec<usize> {
        let first = self.opener().unwrap_or(0);
        // What the opener sends comes to each view so much later than to the first view.
        let delay = |at: usize| {
            let crossing = &self.crossings[at.checked_sub(1)?];
            crossing[first].mean_s().or(crossing[1 - first].mean_s().map(|delay| -delay))
        };
        let mut order: Vec<_> = (0..self.views.len()).collect();
        order.sort_by(|one, other| delay(*one).unwrap_or(0.0).total_cmp(&delay(*other).unwrap_or(0.0)));
        if side != first {
            order.reverse();
        }
        order
    }

    /// What became of packets of one side between two views, if they were followed.
    pub fn passage(&self, side: Side, near: usize, far: usize) -> Option<crossing::Report> {
        let (other, place) = match (near, far) {
            (0, far) => (far, 0),
            (near, 0) => (near, 1),
            _ => return None,
        };
        let crossing = &self.crossings[other.checked_sub(1)?][side];
        let end = self.views[far].latest_at;
        crossing.has_matches().then(|| crossing.report(place, self.first_at(), end))
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

    /// Payload known of, both directions.
    pub fn payload(&self) -> u64 {
        self.views.iter().map(View::payload).max().unwrap_or(0)
    }

    /// Whether nothing is to be expected any more.
    pub fn is_closed(&self) -> bool {
        self.views.iter().all(View::is_closed)
    }

    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.views.iter().map(View::bytes).sum::<usize>()
            + self.crossings.iter().flatten().map(Crossing::bytes).sum::<usize>()
            + size_of::<(Side, Instant, Packet)>() * self.recent.capacity()
    }
}
