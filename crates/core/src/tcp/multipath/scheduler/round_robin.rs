//! Paths take turns, a segment each. A path without room in its congestion window is passed over, or waited for with
//! `strict`: then every path has the rate of the slowest.

use super::{Component, PathState, Scheduler, candidates};
use crate::registry::parameters;

parameters! {
    /// Paths take turns, a segment each.
    pub struct Config {
        /// Whether a path without room is waited for.
        pub strict: bool,
    }
}

impl Component for Config {
    fn build(&self, paths: usize) -> Box<dyn Scheduler> {
        Box::new(RoundRobin { last: paths.saturating_sub(1), strict: self.strict })
    }
}

struct RoundRobin {
    last: usize,
    strict: bool,
}

impl Scheduler for RoundRobin {
    fn order(&mut self, paths: &[PathState], _window: u64, order: &mut Vec<usize>) {
        order.clear();
        order.extend(candidates(paths));
        order.sort_by_key(|path| (path + paths.len() - 1 - self.last) % paths.len());
        if self.strict {
            order.truncate(1);
        }
    }

    fn on_taken(&mut self, path: usize, _bytes: u64) {
        self.last = path;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{order, path};
    use super::*;

    #[test]
    fn paths_take_turns() {
        let paths = [path(50, 0), path(20, 0), path(30, 0)];
        assert_eq!(order(&Config::default(), 1, &paths, 1 << 20), [2, 0, 1]);
        assert_eq!(order(&Config { strict: true }, 2, &paths, 1 << 20), [0]);
    }
}
