//! No undo: every timeout and every fast retransmit counts as a loss. RFC 5681.

use super::{Component, Undo};
use crate::registry::parameters;

parameters! {
    /// Every timeout and fast retransmit counts as a loss.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self) -> Option<Box<dyn Undo>> {
        None
    }
}
