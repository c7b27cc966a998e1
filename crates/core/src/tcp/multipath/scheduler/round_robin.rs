//! Paths take turns, a segment each, or by shares of the data. A path without room in its congestion window is passed over,
//! or waited for with `strict`: then every path has the rate of the slowest, or of its share.
//!
//! With `shares` and `strict` this is load balancing between two accesses: TS 23.501 (5.32.8, ATSSS). Without `strict` a path
//! that was passed over catches up.

use super::{Component, PathState, Scheduler, candidates};
use crate::error::ScenarioError;
use crate::registry::parameters;

parameters! {
    /// Paths take turns, a segment each.
    pub struct Config {
        /// Whether a path without room is waited for.
        pub strict: bool,
        /// Share of the data for each path of the flow, such as [70, 30]. Empty for turns.
        pub shares: Vec<u32>,
    }
}

impl Component for Config {
    fn build(&self, paths: usize) -> Box<dyn Scheduler> {
        let taken = vec![0; self.shares.len()];
        Box::new(RoundRobin { last: paths.saturating_sub(1), config: self.clone(), taken })
    }

    fn paths(&self) -> Option<usize> {
        (!self.shares.is_empty()).then_some(self.shares.len())
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.shares.contains(&0) {
            let hint = "write a positive number for each path, or remove the path from `over`";
            return Err(ScenarioError::new(
                "round_robin.shares",
                "a path with a share of 0 has no data",
                hint,
            ));
        }
        Ok(())
    }
}

struct RoundRobin {
    last: usize,
    config: Config,
    /// Bytes that each path has taken, if they have shares.
    taken: Vec<u64>,
}

impl Scheduler for RoundRobin {
    fn order(&mut self, paths: &[PathState], _window: u64, order: &mut Vec<usize>) {
        order.clear();
        order.extend(candidates(paths));
        let turn = |path: usize| (path + paths.len() - 1 - self.last) % paths.len();
        match self.config.shares.as_slice() {
            [] => order.sort_by_key(|path| turn(*path)),
            shares => order.sort_by(|one, other| {
                let scaled = |path: usize, by: usize| u128::from(self.taken[path]) * u128::from(shares[by]);
                scaled(*one, *other).cmp(&scaled(*other, *one)).then(one.cmp(other))
            }),
        }
        if self.config.strict {
            order.truncate(1);
        }
    }

    fn on_taken(&mut self, path: usize, bytes: u64) {
        self.last = path;
        if let Some(taken) = self.taken.get_mut(path) {
            *taken += bytes;
        }
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
        assert_eq!(order(&Config { strict: true, ..Config::default() }, 2, &paths, 1 << 20), [0]);
    }

    #[test]
    fn the_path_that_has_least_of_its_share_is_next() {
        let mut scheduler = Config { shares: vec![70, 30], ..Config::default() }.build(2);
        let paths = [path(50, 0), path(20, 0)];
        let turns = (0..10).map(|_| {
            let mut order = Vec::new();
            scheduler.order(&paths, 1 << 20, &mut order);
            scheduler.on_taken(order[0], 1000);
            order[0]
        });
        assert_eq!(turns.collect::<Vec<_>>(), [0, 1, 0, 0, 1, 0, 0, 1, 0, 0]);
    }
}
