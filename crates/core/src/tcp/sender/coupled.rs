//! The sender as one of several paths of a connection: [`crate::tcp::multipath`].

use super::Sender;
use crate::tcp::cc::PathShare;

/// Minimum RTT in the shares of paths, seconds: one nanosecond, so that no rate is infinite.
const SHORTEST: f64 = 1e-9;

impl Sender {
    /// This path, for the congestion control of the others.
    pub(in crate::tcp) fn share(&self) -> PathShare {
        PathShare {
            cwnd: self.tx.state.window.cwnd,
            rtt: self.tx.rto.srtt().as_secs_f64().max(SHORTEST),
            interval: self.tx.cc.interval(),
        }
    }

    /// Timeouts so far.
    pub(in crate::tcp) fn timeouts(&self) -> u64 {
        self.tx.counters.timeouts
    }

    /// Tells the congestion control about all paths; this one has the index `own`.
    pub(in crate::tcp) fn couple(&mut self, paths: &[PathShare], own: usize) {
        self.tx.cc.on_paths(paths, own);
    }

    /// Halves the congestion window, as after a loss.
    pub(in crate::tcp) fn halve_window(&mut self) {
        let window = &mut self.tx.state.window;
        window.cwnd = (window.cwnd / 2.0).max(window.floor()).min(window.cwnd);
        window.ssthresh = window.cwnd;
    }
}
