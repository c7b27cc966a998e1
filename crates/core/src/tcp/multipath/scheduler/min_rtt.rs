//! The path with the least smoothed RTT first, then the next: the default of MPTCP outside the kernel until 2020.

use super::{Component, PathState, Scheduler, by_rtt};
use crate::registry::parameters;

parameters! {
    /// The path with the least smoothed RTT that has room.
    pub struct Config {
        /// Whether only the path with the least smoothed RTT is used, and waited for: the smallest delay of TS 23.501 (5.32.8).
        pub strict: bool,
    }
}

impl Component for Config {
    fn build(&self, _paths: usize) -> Box<dyn Scheduler> {
        Box::new(MinRtt(self.strict))
    }
}

/// Whether it is strict.
struct MinRtt(bool);

impl Scheduler for MinRtt {
    fn order(&mut self, paths: &[PathState], _window: u64, order: &mut Vec<usize>) {
        by_rtt(paths, order);
        if self.0 {
            order.truncate(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{order, path};
    use super::*;

    #[test]
    fn the_fastest_path_is_first() {
        let paths = [path(50, 0), path(20, 0), path(30, 0)];
        assert_eq!(order(&Config::default(), 0, &paths, 1 << 20), [1, 2, 0]);
        assert_eq!(order(&Config { strict: true }, 0, &paths, 1 << 20), [1]);
    }
}
