//! The path with the least smoothed RTT first, then the next: the default of MPTCP outside the kernel until 2020.

use super::{Component, PathState, Scheduler, by_rtt};
use crate::registry::parameters;
use crate::time::Duration;

parameters! {
    /// The path with the least smoothed RTT that has room.
    pub struct Config {
        /// Whether only the path with the least smoothed RTT is used, and waited for: the smallest delay of TS 23.501 (5.32.8).
        pub strict: bool,
    }
}

impl Component for Config {
    fn build(&self, paths: usize) -> Box<dyn Scheduler> {
        Box::new(MinRtt { strict: self.strict, least: vec![Duration::LONGEST; paths] })
    }
}

struct MinRtt {
    strict: bool,
    /// Least smoothed RTT of each path so far.
    least: Vec<Duration>,
}

impl Scheduler for MinRtt {
    fn order(&mut self, paths: &[PathState], _window: u64, order: &mut Vec<usize>) {
        by_rtt(paths, order);
        if !self.strict {
            return;
        }
        for (least, path) in self.least.iter_mut().zip(paths).filter(|(_, path)| path.srtt > Duration::ZERO) {
            *least = path.srtt.min(*least);
        }
        // A path without data in flight has no queue; ATSSS measures its RTT by messages.
        let rtt = |path: usize| if paths[path].in_flight == 0 { self.least[path] } else { paths[path].srtt };
        order.sort_by_key(|path| (rtt(*path), *path));
        order.truncate(1);
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

    #[test]
    fn an_idle_path_has_the_smallest_rtt_that_it_had() {
        let mut scheduler = Config { strict: true }.build(2);
        let mut order = Vec::new();
        scheduler.order(&[path(40, 1000), path(60, 0)], 1 << 20, &mut order);
        assert_eq!(order, [0]);
        // Its last samples were with a queue; without data in flight that is over.
        scheduler.order(&[path(70, 1000), path(90, 1000)], 1 << 20, &mut order);
        assert_eq!(order, [0]);
        scheduler.order(&[path(70, 1000), path(90, 0)], 1 << 20, &mut order);
        assert_eq!(order, [1]);
    }
}
