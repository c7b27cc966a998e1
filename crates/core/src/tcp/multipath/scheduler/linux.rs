//! Linux: the path that would empty its queue first at its pacing rate takes up to 64 kB in one go, as far as its send
//! buffer has room, whether or not its congestion window has. A run ends early when the receive window is exhausted: the next
//! ACK lets the choice be made again. As in Linux 6.18 (`mptcp_subflow_get_send`, `__mptcp_subflow_push_pending`).
//!
//! What is in a path's queue stays there, so data waits behind a slow path although a faster one could send it. If the
//! best queue is full, no other is used.

use super::{Component, PathState, Scheduler, candidates};
use crate::registry::parameters;

/// Largest run of data for one path: 64 kB minus headers (`MPTCP_SEND_BURST_SIZE`).
const BURST: u64 = (1 << 16) - 20 - 40 - 40 - 8;

parameters! {
    /// The path that empties its queue first: Linux.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self, paths: usize) -> Box<dyn Scheduler> {
        Box::new(Linux { last: 0, burst: 0, rates: vec![0.0; paths] })
    }

    fn allows_opportunistic(&self) -> bool {
        false
    }
}

struct Linux {
    /// The path that took data last.
    last: usize,
    /// Bytes that it may still take in this run.
    burst: u64,
    /// Average pacing rate of each path, B/s, each run weighted by its bytes.
    rates: Vec<f64>,
}

impl Scheduler for Linux {
    fn has_queues(&self) -> bool {
        true
    }

    fn on_push(&mut self) {
        self.burst = 0;
    }

    fn on_taken(&mut self, path: usize, bytes: u64) {
        self.last = path;
        self.burst = self.burst.saturating_sub(bytes);
    }

    fn choose_queue(&mut self, paths: &[PathState], window: u64) -> Option<usize> {
        let has_room = |path: usize| paths[path].memory < paths[path].send_buffer;
        if self.burst > 0 && paths[self.last].is_usable && has_room(self.last) {
            return Some(self.last);
        }
        for (average, path) in self.rates.iter_mut().zip(paths) {
            if *average <= 0.0 && path.is_usable {
                *average = path.rate;
            }
        }
        let linger = |path: &usize| paths[*path].memory as f64 / self.rates[*path];
        let best = candidates(paths).min_by(|one, other| linger(one).total_cmp(&linger(other)))?;
        if !has_room(best) {
            return None;
        }
        self.burst = BURST.min(window);
        let (burst, queued) = (self.burst as f64, paths[best].memory as f64);
        if burst > 0.0 {
            self.rates[best] = (self.rates[best] * queued + paths[best].rate * burst) / (burst + queued);
        }
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::path;
    use super::*;

    #[test]
    fn the_queue_that_empties_first_takes_64_kb() {
        let mut linux = Config {}.build(2);
        assert_eq!(linux.choose_queue(&[path(20, 30_000), path(200, 0)], 1 << 20), Some(1));
        linux.on_taken(1, BURST - 1);
        assert_eq!(linux.choose_queue(&[path(20, 0), path(200, 39_000)], 1 << 20), Some(1));
        linux.on_taken(1, 1);
        // 39 kB at 100 kB/s against 30 kB at 1 MB/s.
        assert_eq!(linux.choose_queue(&[path(20, 30_000), path(200, 39_000)], 1 << 20), Some(0));
    }

    #[test]
    fn a_run_ends_with_the_push_that_began_it() {
        let mut linux = Config {}.build(2);
        assert_eq!(linux.choose_queue(&[path(20, 0), path(200, 0)], 1 << 20), Some(0));
        linux.on_taken(0, 2000);
        assert_eq!(linux.choose_queue(&[path(20, 2000), path(200, 0)], 1 << 20), Some(0));
        linux.on_push();
        assert_eq!(linux.choose_queue(&[path(20, 2000), path(200, 0)], 1 << 20), Some(1));
    }

    #[test]
    fn headers_and_bookkeeping_of_segments_count() {
        // Equal bytes at equal rates; those of the first path are in flight, and have more memory.
        let first = PathState { memory: 36_000, ..path(20, 30_000) };
        assert_eq!(Config {}.build(2).choose_queue(&[first, path(20, 30_000)], 1 << 20), Some(1));
    }

    #[test]
    fn no_queue_is_used_while_the_best_one_is_full() {
        let mut linux = Config {}.build(2);
        assert_eq!(linux.choose_queue(&[path(20, 40_000), path(2000, 20_000)], 1 << 20), None);
    }
}
