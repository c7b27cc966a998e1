//! Tahoe: duplicate ACKs cause the same response as a timeout, only earlier. \[jacobson1988\] with the fast retransmit
//! of 4.3BSD-Tahoe, as in ns-2's `Agent/TCP`: half the window as threshold, a window of one segment, slow start from
//! the first unacknowledged segment on.
//!
//! There is no fast recovery: the rules of a timeout (go-back-N) apply, without its wait. As in ns-2, no second fast
//! retransmit occurs before all outstanding data is acknowledged.

use super::classic::Classic;
use super::rnf::Feedback;
use super::{Component, Loss, Recovery};
use crate::registry::parameters;
use crate::tcp::Config as Tcp;
use crate::tcp::cc::CongestionControl;
use crate::tcp::window::state::{Phase, State};

parameters! {
    /// Duplicate ACKs lead to slow start: TCP before fast recovery.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self, tcp: &Tcp) -> Loss {
        Classic::loss(Box::new(Tahoe), tcp.prr, None, Feedback::of(tcp.rnf))
    }
}

struct Tahoe;

impl Recovery for Tahoe {
    fn on_begin(&mut self, state: &mut State) {
        state.inflation = 0;
        state.limited_bytes = 0;
        state.phase = Phase::Loss;
        state.window.cwnd = state.window.mss;
        state.nxt = state.segments.front().map_or(state.una, |first| first.end());
    }

    fn on_recovery_ack(&mut self, state: &mut State, _cc: &mut dyn CongestionControl, _acked: u64) -> bool {
        // Not reached: a fast retransmit leads to `Phase::Loss`.
        state.exit_recovery(state.window.ssthresh);
        true
    }
}
