//! The least time from the next deadline inside a path until a packet can leave the path.
//!
//! A real-time driver need not wake for internal events. It can sleep until a packet could leave the path and then
//! process the earlier events in order, each at its own time. The most frequent internal event is the end of a
//! transmission that a middlebox subscribed to: the packet itself still needs the bearer's delay, and an ACK released
//! in response still needs the wired link's delay.
//!
//! The result is a lower bound, computed from the elements' declarations ([`Layout::ahead`], [`Layout::passes_on`],
//! [`Layout::silent`]); without a declaration it is zero, and the driver wakes each time.

use super::{Layout, Topology};
use crate::packet::Dir;
use crate::time::Duration;

/// For each timer and each lane of a path, in the order of the agenda.
#[derive(Debug, Default)]
pub(crate) struct Lookahead {
    pub timers: Vec<Duration>,
    pub lanes: Vec<Duration>,
}

impl Lookahead {
    pub fn new(layouts: &[Layout], topology: &Topology) -> Self {
        let path = Nodes { layouts, topology };
        // From a packet's arrival at an element, in a direction, until anything can be out: shortest ways, from above.
        let mut arrival = vec![[Duration::MAX; 2]; layouts.len()];
        loop {
            let next: Vec<_> = (0..layouts.len())
                .map(|at| Dir::BOTH.map(|dir| path.after_arrival(&arrival, at, dir)))
                .collect();
            if next == arrival {
                break;
            }
            arrival = next;
        }
        let mut found = Self::default();
        for (at, layout) in layouts.iter().enumerate() {
            let acted = path.after_act(&arrival, at, None);
            found.timers.extend((0..layout.timers).map(|_| acted));
            found.lanes.extend(layout.lanes.iter().map(|&dir| path.behind(&arrival, at, dir)));
        }
        found
    }
}

/// Elements of a path, and what lies behind each.
#[derive(Clone, Copy)]
struct Nodes<'a> {
    layouts: &'a [Layout],
    topology: &'a Topology,
}

impl Nodes<'_> {
    /// From a packet's leaving an element in a direction.
    fn behind(self, arrival: &[[Duration; 2]], at: usize, dir: Dir) -> Duration {
        let next = self.topology.next(at, dir);
        let times = next.map(|next| next.map_or(Duration::ZERO, |next| arrival[next][dir.index()]));
        times.min().unwrap_or(Duration::ZERO)
    }

    fn after_arrival(self, arrival: &[[Duration; 2]], at: usize, dir: Dir) -> Duration {
        self.after_act(arrival, at, self.layouts[at].passes_on.then_some(dir))
    }

    /// Computes the bound from a moment when an element acts, in one direction or in any, and notifies its subscribers.
    fn after_act(self, arrival: &[[Duration; 2]], at: usize, only: Option<Dir>) -> Duration {
        let leaves = |who: usize, dir: Dir| {
            let ahead = self.layouts[who].ahead[dir.index()];
            let behind = self.behind(arrival, who, dir);
            Duration::from_nanos(ahead.as_nanos().saturating_add(behind.as_nanos()))
        };
        let directions = Dir::BOTH.into_iter().filter(|dir| only.is_none_or(|only| only == *dir));
        let own = directions.map(|dir| leaves(at, dir));
        let hears = |layout: &Layout| layout.radio_events || layout.radio_drops || layout.outages;
        let told = (self.layouts[at].bearers > 0).then(|| {
            self.layouts.iter().enumerate().filter(|(_, layout)| hears(layout)).flat_map(|(other, layout)| {
                let may = move |dir: &Dir| !layout.silent[dir.index()];
                Dir::BOTH.into_iter().filter(may).map(move |dir| leaves(other, dir))
            })
        });
        own.chain(told.into_iter().flatten()).min().unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn lookahead(layouts: &[Layout]) -> Lookahead {
        Lookahead::new(layouts, &Topology::line(layouts.len()))
    }

    fn port() -> Layout {
        Layout { passes_on: true, ..Layout::default() }
    }

    fn link(delay: u64) -> Layout {
        Layout { lanes: Dir::BOTH.to_vec(), ahead: [MS(delay); 2], passes_on: true, ..Layout::default() }
    }

    fn cell(delay: u64) -> Layout {
        Layout { timers: 2, bearers: 2, ..link(delay) }
    }

    #[test]
    fn what_is_inside_shows_after_the_shortest_way_out() {
        let found = lookahead(&[port(), link(75), cell(15), port()]);
        assert_eq!(found.timers, [MS(15), MS(15)]);
        // Lanes: link to cell, link to server, cell to UE, cell to link.
        assert_eq!(found.lanes, [MS(15), MS(0), MS(0), MS(75)]);
    }

    #[test]
    fn who_hears_of_the_radio_may_answer_at_once_in_the_direction_that_it_releases_to() {
        let ears = Layout { radio_events: true, timers: 1, ..Layout::default() };
        let regulator = Layout { silent: [true, false], ..ears.clone() };
        let found = lookahead(&[port(), link(5), regulator, cell(15), port()]);
        assert_eq!(found.timers, [MS(5), MS(5), MS(5)]);
        // At the UE, an element without declarations may send to the UE at once.
        assert_eq!(lookahead(&[port(), link(5), cell(15), ears, port()]).timers, [MS(0); 3]);
    }

    #[test]
    fn a_host_or_a_box_that_says_nothing_is_seen_at_once() {
        let found = lookahead(&[Layout { timers: 1, ..Layout::default() }, cell(15), port()]);
        assert_eq!(found.timers, [MS(0), MS(15), MS(15)]);
    }
}
