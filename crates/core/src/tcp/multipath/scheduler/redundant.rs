//! Every path carries all data: each continues with the oldest byte that is unacknowledged at data level and not sent on
//! it. A byte arrives as soon as on the fastest path, at the cost of the sum of all paths.

use super::{Component, PathState, Scheduler, by_rtt};
use crate::registry::parameters;

parameters! {
    /// All data on every path.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self, _paths: usize) -> Box<dyn Scheduler> {
        Box::new(Redundant)
    }

    fn allows_opportunistic(&self) -> bool {
        false
    }
}

struct Redundant;

impl Scheduler for Redundant {
    fn order(&mut self, paths: &[PathState], _window: u64, order: &mut Vec<usize>) {
        by_rtt(paths, order);
    }

    fn is_redundant(&self) -> bool {
        true
    }
}
