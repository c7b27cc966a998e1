//! BLEST: as `min_rtt`, but a slower path waits if the send window could not hold its segment and what the fastest path
//! sends meanwhile.
//!
//! S. Ferlin, O. Alay, O. Mehani, R. Boreli, "BLEST: Blocking Estimation-based MPTCP Scheduler for Heterogeneous Networks",
//! IFIP Networking 2016: meanwhile the fastest path sends X = MSS · (w_F + (r - 1) / 2) · r, r = RTT_S / RTT_F, with its
//! window w_F in segments; the slow path waits if X is above the window minus what would then be in flight on it. Left out:
//! the correction of X by observed blocking (its factor is 1).

use super::{Component, PathState, Scheduler, by_rtt};
use crate::registry::parameters;

parameters! {
    /// The path with the least smoothed RTT, or none if a slower one would block the window: Ferlin et al., 2016.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self, _paths: usize) -> Box<dyn Scheduler> {
        Box::new(Blest)
    }
}

struct Blest;

impl Scheduler for Blest {
    fn order(&mut self, paths: &[PathState], window: u64, order: &mut Vec<usize>) {
        by_rtt(paths, order);
        if let Some(fastest) = order.first().copied() {
            order.retain(|path| *path == fastest || !blocks(&paths[fastest], &paths[*path], window));
        }
    }
}

/// Whether a segment on the slow path would block the fast one, while `window` bytes may be outstanding.
fn blocks(fast: &PathState, slow: &PathState, window: u64) -> bool {
    let ratio = slow.srtt.as_secs_f64() / fast.srtt.as_secs_f64().max(1e-9);
    let meanwhile = fast.mss * (fast.cwnd / fast.mss + (ratio - 1.0) / 2.0) * ratio;
    meanwhile > window as f64 - slow.mss * (slow.in_flight + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::tests::{order, path};
    use super::*;

    #[test]
    fn the_slow_path_is_kept_from_a_window_that_it_would_block() {
        let paths = [path(20, 0), path(200, 0)];
        // While a segment takes the slow path, the fast one sends (20 + 4.5) * 10 segments.
        assert_eq!(order(&Config {}, 0, &paths, 245_000), [0]);
        assert_eq!(order(&Config {}, 0, &paths, 247_000), [0, 1]);
        assert_eq!(order(&Config {}, 0, &[path(20, 0), path(200, 5000)], 247_000), [0]);
    }
}
