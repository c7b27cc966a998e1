//! Changes of an element while the path runs.
//!
//! New parameters come as a second element of the same kind, built from the changed scenario. The running element copies
//! the parameters that it can adopt ([`adopt`]) and keeps its state: packets, counters and random streams. A transmission
//! that has started ends as it would have. New random streams come in the same way, built with another seed.

use super::Element;
use crate::time::Duration;
use std::any::Any;

/// What a running element takes over from a fresh one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopt {
    /// Parameters; random streams continue.
    Parameters,
    /// Random streams, which begin again with the fresh ones; parameters are the same.
    Streams,
}

/// A change of one element.
pub enum Change {
    /// Parameters or random streams of this element, which has not run, replace those of the running one.
    Fresh(Box<dyn Element>, Adopt),
    /// Neither direction of a UE starts a transmission for this time.
    Outage {
        /// Number of the UE.
        ue: u16,
        /// How long the outage lasts.
        length: Duration,
    },
    /// Neither direction of a UE starts a transmission until [`Change::Resume`].
    Pause {
        /// Number of the UE.
        ue: u16,
    },
    /// A pause of a UE ends.
    Resume {
        /// Number of the UE.
        ue: u16,
    },
    /// A UE leaves the cell for another, whose outage lasts as long; what the cell holds of it is lost.
    Leave {
        /// Number of the UE.
        ue: u16,
        /// How long the outage lasts.
        length: Duration,
    },
    /// A UE enters the cell, which serves it after the outage.
    Enter {
        /// Number of the UE.
        ue: u16,
        /// How long the outage lasts.
        length: Duration,
    },
    /// A UE takes another way: that of this fork, which has not run.
    Reroute {
        /// Number of the UE.
        ue: u16,
        /// How long packets towards the UE still go the old way.
        switch: Duration,
        /// The fork with the new ways.
        fork: Box<dyn Element>,
    },
}

/// The element with new parameters as the type of the running one; `None` if they are of different kinds.
pub fn as_same<T: Element>(fresh: Box<dyn Element>) -> Option<Box<T>> {
    (fresh as Box<dyn Any>).downcast().ok()
}

/// Replaces a parameter; returns whether it is different now.
pub fn adopt<T: PartialEq>(own: &mut T, fresh: T) -> bool {
    let differs = *own != fresh;
    *own = fresh;
    differs
}
