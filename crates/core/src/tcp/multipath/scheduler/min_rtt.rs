//! The path with the least smoothed RTT first, then the next: the default of MPTCP outside the kernel until 2020.

use super::{Component, PathState, Scheduler, by_rtt};
use crate::registry::parameters;

parameters! {
    /// The path with the least smoothed RTT that has room.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self, _paths: usize) -> Box<dyn Scheduler> {
        Box::new(MinRtt)
    }
}

struct MinRtt;

impl Scheduler for MinRtt {
    fn order(&mut self, paths: &[PathState], _window: u64, order: &mut Vec<usize>) {
        by_rtt(paths, order);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{order, path};
    use super::*;

    #[test]
    fn the_fastest_path_is_first() {
        assert_eq!(order(&Config {}, 0, &[path(50, 0), path(20, 0), path(30, 0)], 1 << 20), [1, 2, 0]);
    }
}
