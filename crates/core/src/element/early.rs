//! Early delivery: packets that are delivered before the run reaches their arrival time.
//!
//! The arrival time of a packet on a lane is known when it is put there. If nothing else can access the state that it
//! will access until then, the next element may process it at once, with the arrival time as the present: the result is
//! the same, and the search for the next deadline is saved. On a path of links and bearers, a packet is delivered early
//! at each element from the sender to the receiver, and its ACK back to where the paths of UEs meet.
//!
//! Results are the same for every scenario, because each part of the path still sees the same packets and timers at the
//! same times and in the same order; only parts that share nothing see them in another order among each other:
//!
//! * The element declares it ([`Layout::early`]): its handling of packets of one direction, of one UE or of all,
//!   depends only on these packets and their times, and nothing else depends on it. It counts, drops, draws from
//!   separate streams, and emits.
//! * All its packets come over one lane, for each UE or for all ([`Layout::by_lanes`]). Lanes preserve order.
//! * Timers of the element that share state with the packet ([`Layout::timers_of_ues`]) are checked at delivery: if one
//!   expires by then, the packet waits on its lane.
//! * A packet that the element emits at once goes to a neighbour that meets the same conditions at that time. A packet
//!   put on a lane leaves **later** than it came, so it is there before the first event of its instant, as without
//!   early delivery: events of one instant are handled in structural order in any case.
//! * The run does not end or pause before: early delivery stops at the driver's horizon. Where the last of finite
//!   transfers ends the run, it applies only to packets that precede the end ([`Packet::precedes_end`]): the end
//!   follows them over the same path, if no element reorders packets.
//! * There is no observer: with probes or a capture, whose order is that of time, all packets wait on their lanes. An
//!   element that may read bearers or subscribe to them (the default) sees bearers in their present state.
//!
//! [`Packet::precedes_end`]: crate::packet::Packet::precedes_end

use super::Topology;
use super::layout::{Early, Layout};
use crate::agenda::Timers;
use crate::packet::Dir;

/// For each lane of a path, in the order of the agenda: the timers that limit early delivery; `None` if it is not
/// possible.
pub(crate) fn lanes_ahead(layouts: &[Layout], topology: &Topology) -> Vec<Option<Timers>> {
    // Each round finds early delivery one element further along; elements not found yet count as `Never`.
    let mut found = vec![[Early::Never; 2]; layouts.len()];
    for _ in layouts {
        found = (0..layouts.len())
            .map(|at| Dir::BOTH.map(|dir| early(layouts, topology, &found, at, dir)))
            .collect();
    }
    let first_timers = layouts.iter().scan(0, |next, layout| {
        let first = *next;
        *next += layout.timers;
        Some(first)
    });
    let first_timers: Vec<u32> = first_timers.collect();
    let lanes = layouts.iter().enumerate().flat_map(|(at, layout)| {
        let numbered = layout.lanes.iter().enumerate();
        numbered.map(move |(lane, &dir)| (at, lane, dir))
    });
    let passes = |(at, lane, dir): (usize, usize, Dir)| {
        let (layout, target) = (&layouts[at], usize::from(topology.target(at as u16, dir.into()).node()));
        let (behind, first) = (layouts.get(target)?, first_timers.get(target)?);
        let is_alone = layout.lanes.iter().filter(|other| **other == dir).nth(1).is_none();
        let is_of_ue = layout.bearers as usize == layout.lanes.len();
        let ue = match found[target][dir.index()] {
            Early::OfUe if layout.by_lanes[dir.index()] && is_of_ue => Some(lane / 2),
            Early::OfUe | Early::OfAll if layout.by_lanes[dir.index()] && is_alone => None,
            _ => return None,
        };
        let timers = &behind.timers_of_ues;
        let of_target = match ue {
            Some(ue) => timers.get(ue).zip(timers.get(ue + 1)),
            None => timers.first().zip(timers.last()),
        };
        Some(of_target.map_or(0..0, |(from, to)| first + from..first + to))
    };
    let mut all: Vec<_> = lanes.clone().map(passes).collect();
    // With a single UE, data and ACKs form a closed loop and early delivery would never stop. Break the loop at the
    // server: uplink packets wait there for their time.
    if all.iter().all(Option::is_some) {
        for ((at, _, dir), ahead) in lanes.zip(&mut all) {
            if topology.target(at as u16, dir.into()).node() == 0 {
                *ahead = None;
            }
        }
    }
    all
}

/// Whether no element of a path lets a packet overtake another of its UE.
pub(crate) fn keeps_order(layouts: &[Layout]) -> bool {
    layouts.iter().all(|layout| !layout.early.contains(&Early::Never))
}

/// Whether an element may have packets of a direction early, with all that they set off at once.
fn early(layouts: &[Layout], topology: &Topology, found: &[[Early; 2]], at: usize, dir: Dir) -> Early {
    let layout = &layouts[at];
    let is_seen = layout.bearers > 0
        && layouts.iter().any(|other| other.bearers == 0 && other.early == [Early::Never; 2]);
    if is_seen || !layout.passes_on && !topology.is_end(at) {
        return Early::Never;
    }
    let answers = Dir::BOTH.into_iter().filter(|other| !layout.passes_on || *other == dir);
    let at_once = answers.filter(|other| !layout.by_lanes[other.index()]).flat_map(|other| {
        let is_only_way = !layout.lanes.contains(&other);
        topology.next(at, other).map(move |next| match next {
            Some(next) if is_only_way && layouts[next].timers_of_ues.is_empty() => found[next][other.index()],
            _ => Early::Never,
        })
    });
    at_once.fold(layout.early[dir.index()], Early::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link() -> Layout {
        Layout {
            lanes: Dir::BOTH.to_vec(),
            early: [Early::OfAll; 2],
            by_lanes: [true; 2],
            passes_on: true,
            ..Layout::default()
        }
    }

    fn cell(ues: u32) -> Layout {
        let lanes = (0..ues).flat_map(|_| Dir::BOTH).collect();
        Layout { lanes, bearers: 2 * ues, early: [Early::OfUe; 2], ..link() }
    }

    fn host(ues: u32, sends: Dir) -> Layout {
        Layout {
            timers: ues,
            early: [Early::OfUe; 2],
            by_lanes: Dir::BOTH.map(|dir| dir != sends),
            timers_of_ues: (0..=ues).collect(),
            ..Layout::default()
        }
    }

    fn path(ues: u32, middle: Vec<Layout>) -> Vec<Layout> {
        [vec![host(ues, Dir::Downlink)], middle, vec![host(ues, Dir::Uplink)]].concat()
    }

    fn ahead(layouts: &[Layout]) -> Vec<Option<Timers>> {
        lanes_ahead(layouts, &Topology::line(layouts.len()))
    }

    #[test]
    fn packets_of_one_ue_go_all_the_way_ahead_until_the_server() {
        let lanes = ahead(&path(1, vec![link(), cell(1)]));
        assert_eq!(lanes, [Some(0..0), None, Some(1..2), Some(0..0)]);
    }

    #[test]
    fn where_the_ways_of_ues_meet_the_order_is_that_of_time() {
        let lanes = ahead(&path(2, vec![link(), cell(2)]));
        // At the server all timers count, since what it sends is one line; at a UE its own.
        assert_eq!(lanes, [Some(0..0), Some(0..2), Some(2..3), None, Some(3..4), None]);
    }

    #[test]
    fn a_box_that_may_look_at_bearers_finds_them_as_they_are() {
        let lanes = ahead(&path(1, vec![link(), Layout::default(), cell(1)]));
        assert_eq!(lanes, [None, Some(0..1), None, None]);
    }

    #[test]
    fn a_box_that_only_passes_on_does_so_at_any_time() {
        let counts = Layout { lanes: Vec::new(), by_lanes: [false; 2], ..link() };
        let lanes = ahead(&path(1, vec![link(), counts, cell(1)]));
        assert_eq!(lanes, [Some(0..0), None, Some(1..2), Some(0..0)]);
    }

    #[test]
    fn what_is_emitted_at_once_past_a_lane_has_no_order_ahead_of_time() {
        let hasty = Layout { by_lanes: [false; 2], ..link() };
        assert_eq!(ahead(&path(1, vec![hasty, cell(1)]))[..2], [None, None]);
    }

    #[test]
    fn nothing_goes_ahead_out_of_the_path() {
        assert_eq!(ahead(&[link()]), [None, None]);
    }
}
