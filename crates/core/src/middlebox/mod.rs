//! Boxes in the network between the wired link and the radio cell.
//!
//! Contract: a packet whose TCP header cannot be read (ESP, fragments, UDP) passes unchanged and is
//! counted. A box may delay, drop or mark; what it holds is bounded.

pub mod tap;

use crate::element::Element;
use crate::registry::registry;

registry! {
    /// A middlebox and its parameters.
    pub enum Config: build() -> Box<dyn Element> {
        Tap = tap,
    }
}
