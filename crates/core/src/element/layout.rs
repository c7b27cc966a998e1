//! Requirements and declarations of an element, for its path.

use crate::packet::Dir;
use crate::time::Duration;
use crate::trace::{Kind, ProbeMask};

/// What an element needs from the path.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Timers, with keys `0..timers`.
    pub timers: u32,
    /// All timers only serve reports of what happens in bearers, and are armed only if there is an observer.
    pub timers_tell: bool,
    /// The direction of each lane; lane `n` is the n-th.
    pub lanes: Vec<Dir>,
    /// Whether [`Element::handle_radio`](super::Element::handle_radio) is to be called.
    pub radio_events: bool,
    /// Whether it is to be called for drops alone: what a buffer had no room for, or its discipline chose
    /// (`RadioEventKind::Dropped`, `RadioEventKind::Evicted`). Packets that pass make no events then.
    pub radio_drops: bool,
    /// Whether [`Element::handle_outage`](super::Element::handle_outage) is to be called.
    pub outages: bool,
    /// Whether [`Cx::radio_flow`](super::Cx::radio_flow) is going to be called: counters by flow are kept only then.
    pub flow_views: bool,
    /// Bearers that the element keeps, two for each UE (downlink first); only a cell has any.
    pub bearers: u32,
    /// Per direction: minimum time between the decision to send a packet and its departure. [`Path::poll_wakeup`]
    /// relies on this and on the next two fields, so it must be a true lower bound; zero is always safe.
    ///
    /// [`Path::poll_wakeup`]: crate::path::Path::poll_wakeup
    pub ahead: [Duration; 2],
    /// A packet that arrives can set off nothing in the other direction.
    pub passes_on: bool,
    /// By direction: a radio event or an outage sets nothing off there.
    pub silent: [bool; 2],
    /// By direction: whether packets may be delivered early to the element.
    pub early: [Early; 2],
    /// By direction: departing packets are put on a lane, never emitted at once.
    pub by_lanes: [bool; 2],
    /// Index of each UE's first timer, followed by the total number of timers. Needed if timers share state with
    /// packets that are delivered early; empty otherwise.
    pub timers_of_ues: Vec<u32>,
}

/// Whether packets of a direction may be delivered early. Requirements: the handler's result depends only on the
/// packets, their times and their order; it modifies no state that other elements read (counters and transfer
/// completion excepted); it reads no buffer accounting, except a cell its own; and it emits only to lanes, for times
/// later than now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Early {
    /// If the packets of each UE come in their order.
    OfUe,
    /// If all packets come in their order.
    OfAll,
    /// Not at all.
    #[default]
    Never,
}

impl Early {
    /// For a cell: `OfUe` if its bearers in a direction are computed when a packet arrives, else `Never`.
    pub(crate) fn of_ue_if(computed: bool) -> Self {
        if computed { Self::OfUe } else { Self::Never }
    }
}

/// Whether any element subscribed to radio events.
pub(super) fn wants_radio(layouts: &[Layout]) -> bool {
    layouts.iter().any(|layout| layout.radio_events)
}

/// Whether an element or a probe observes the buffers of bearers.
pub(crate) fn watches_bearers(layouts: &[Layout], probes: ProbeMask) -> bool {
    wants_radio(layouts) || probes.has(Kind::BearerEnqueued) || probes.has(Kind::BearerDelivered)
}
