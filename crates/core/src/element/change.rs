//! Changes of an element while the path runs.
//!
//! New parameters come as a second element of the same kind, built from the changed scenario. The running element copies
//! the parameters that it can adopt ([`adopt`]) and keeps its state: packets, counters and random streams. A transmission
//! that has started ends as it would have.

use super::Element;
use std::any::Any;

/// A change of one element.
pub enum Change {
    /// The parameters of this element, which has not run, replace those of the running one.
    Parameters(Box<dyn Element>),
    /// Neither direction of a UE starts a transmission for this time.
    Outage {
        /// Number of the UE.
        ue: u16,
        /// How long the outage lasts.
        length: crate::time::Duration,
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
