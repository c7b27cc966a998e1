//! What an element needs from its path, and says of itself.

use crate::packet::Dir;
use crate::time::Duration;
use crate::trace::{Kind, ProbeMask};

/// What an element needs from the path.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Timers, with keys `0..timers`.
    pub timers: u32,
    /// All timers are there to tell what happens in bearers, and are armed only if somebody wants to know.
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
    /// Whether [`Cx::radio_flow`](super::Cx::radio_flow) is going to be called: books by flow are kept only then.
    pub flow_views: bool,
    /// Bearers that the element keeps, two for each UE (downlink first); only a cell has any.
    pub bearers: u32,
    /// By direction: what leaves was put on a lane at least so much earlier. For [`Path::poll_wakeup`], as are the next
    /// two; a value given here must hold, and zero always does.
    ///
    /// [`Path::poll_wakeup`]: crate::path::Path::poll_wakeup
    pub ahead: [Duration; 2],
    /// A packet that arrives can set off nothing in the other direction.
    pub passes_on: bool,
    /// By direction: a radio event or an outage sets nothing off there.
    pub silent: [bool; 2],
    /// By direction: whether packets may be handed to the element ahead of their time.
    pub early: [Early; 2],
    /// By direction: what leaves is put on a lane, and nothing is ever emitted at once.
    pub by_lanes: [bool; 2],
    /// Of an element whose timers touch what packets touch that are handed over ahead of their time: the first timer of
    /// each UE and, last, the number of timers. Empty where timers touch nothing of this.
    pub timers_of_ues: Vec<u32>,
}

/// Whether packets of a direction may be handed to an element ahead of their time. What it does with them must depend
/// on them, their times and their order alone, and touch nothing that others read; it reads no bearer's books (but a
/// cell its own), and puts packets on lanes for later than now. Sums of counters are nothing in this sense, nor are the
/// ends of transfers.
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
    /// Of a cell whose bearers in a direction are computed when a packet comes, or are not.
    pub(crate) fn of_ue_if(computed: bool) -> Self {
        if computed { Self::OfUe } else { Self::Never }
    }
}

/// Whether somebody subscribed to radio events.
pub(super) fn wants_radio(layouts: &[Layout]) -> bool {
    layouts.iter().any(|layout| layout.radio_events)
}

/// Whether somebody wants to know what happens in the buffers of bearers.
pub(crate) fn watches_bearers(layouts: &[Layout], probes: ProbeMask) -> bool {
    wants_radio(layouts) || probes.has(Kind::BearerEnqueued) || probes.has(Kind::BearerDelivered)
}
