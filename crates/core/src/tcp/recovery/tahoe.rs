//! Tahoe: duplicate ACKs are answered like a timeout, only sooner. [jacobson1988] with the fast retransmit of
//! 4.3BSD-Tahoe, as ns-2's `Agent/TCP` has it: half the window as threshold, a window of one segment, slow
//! start from the first unacknowledged segment on.
//!
//! There is no fast recovery: what follows are the rules of a timeout, go-back-N, without its wait. As there,
//! no second fast retransmit follows before everything outstanding is acknowledged.

use super::Recovery;
use crate::tcp::cc::CongestionControl;
use crate::tcp::state::{Phase, State};
use crate::trace::SendCause;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Duplicate ACKs lead to slow start: TCP before fast recovery.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {}

impl Config {
    pub(super) fn build(&self) -> Box<dyn Recovery> {
        Box::new(Tahoe)
    }
}

struct Tahoe;

impl Recovery for Tahoe {
    fn on_dupack(&mut self, state: &mut State, cc: &mut dyn CongestionControl) {
        if state.dupacks == state.dupack_threshold {
            state.limited_transmit = 0;
            if state.beyond_recover() || state.multiple_fast_retransmits {
                let ssthresh = cc.ssthresh_after_loss(state);
                state.enter_recovery(ssthresh);
                state.inflation = 0;
                state.limited_bytes = 0;
                state.phase = Phase::Loss;
                state.window.cwnd = state.window.mss;
                state.nxt = state.segments.front().map_or(state.una, |first| first.end());
                state.retransmit = Some((state.una, SendCause::FastRetransmit));
            }
        } else if state.dupacks < state.dupack_threshold && state.limited_transmit_enabled {
            state.limited_transmit += 1;
        }
    }

    fn on_recovery_ack(&mut self, state: &mut State, _cc: &mut dyn CongestionControl, _acked: u64) {
        // Not reached: a fast retransmit leads to `Phase::Loss`.
        state.exit_recovery(state.window.ssthresh);
    }
}
