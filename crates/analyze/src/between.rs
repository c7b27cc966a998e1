//! Packets of two ends between the interfaces that see them: between the first and each of the others.

use airpath_core::time::Instant;

use crate::crossing::{self, Crossing, Packet};
use crate::view::Side;

/// Packets remembered for an interface that is yet to see them.
const MOST_RECENT: usize = 1024;

/// Interfaces are known by their place, in the order in which they saw the first packets.
#[derive(Clone, Debug, Default)]
pub struct Between {
    /// Packets of either end between the first place and each of the others.
    crossings: Vec<[Crossing; 2]>,
    /// The first packets at the first place, while there is no other.
    recent: Vec<(Side, Instant, Packet)>,
}

impl Between {
    /// A further interface has seen packets; the first needs no crossing.
    pub fn add_place(&mut self) {
        let mut crossing: [Crossing; 2] = Default::default();
        for (side, at, packet) in &self.recent {
            crossing[*side].pass(*at, 0, *packet);
        }
        self.crossings.push(crossing);
    }

    pub fn remove_place(&mut self, place: usize) {
        self.crossings.remove(place - 1);
    }

    /// A packet of one side passes a place, which has seen `packets` packets including it.
    pub fn pass(&mut self, place: usize, side: Side, now: Instant, packet: Packet, packets: u64) {
        if place > 0 {
            return self.crossings[place - 1][side].pass(now, 1, packet);
        }
        for crossing in &mut self.crossings {
            crossing[side].pass(now, 0, packet);
        }
        if self.crossings.is_empty() && packets <= MOST_RECENT as u64 {
            self.recent.push((side, now, packet));
        } else {
            self.recent = Vec::new();
        }
    }

    /// Between the first place and another.
    pub fn crossing(&self, place: usize) -> &[Crossing; 2] {
        &self.crossings[place - 1]
    }

    /// The places in the order of the path, starting at one side, derived from the packets that `opener` sends if it is
    /// known.
    pub fn along(&self, side: Side, opener: Side) -> Vec<usize> {
        // Delay of the opener's packets at each place, relative to the first place.
        let delay = |place: usize| {
            let crossing = &self.crossings[place.checked_sub(1)?];
            crossing[opener].mean_s().or(crossing[1 - opener].mean_s().map(|delay| -delay))
        };
        let mut order: Vec<_> = (0..=self.crossings.len()).collect();
        order.sort_by(|one, other| delay(*one).unwrap_or(0.0).total_cmp(&delay(*other).unwrap_or(0.0)));
        if side != opener {
            order.reverse();
        }
        order
    }

    /// Outcomes of packets of one side between two places, if they were followed: with `start` and `end` as in
    /// [`Crossing::report`].
    pub fn passage(
        &self,
        side: Side,
        near: usize,
        far: usize,
        start: Instant,
        end: Instant,
    ) -> Option<crossing::Report> {
        let (other, place) = match (near, far) {
            (0, far) => (far, 0),
            (near, 0) => (near, 1),
            _ => return None,
        };
        let crossing = &self.crossings[other.checked_sub(1)?][side];
        crossing.has_matches().then(|| crossing.report(place, start, end))
    }

    pub fn bytes(&self) -> usize {
        self.crossings.iter().flatten().map(Crossing::bytes).sum::<usize>()
            + size_of::<(Side, Instant, Packet)>() * self.recent.capacity()
    }
}
