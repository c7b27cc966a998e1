//! Reno: the first ACK for new data ends fast recovery. RFC 5681 (3.2).
//!
//! When several segments of a window are lost, each needs its own fast retransmit or a timeout.

use super::Recovery;
use crate::tcp::WindowArithmetic;
use crate::tcp::cc::CongestionControl;
use crate::tcp::state::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The first ACK for new data ends fast recovery: RFC 5681 (3.2).
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {}

impl Config {
    pub(super) fn build(&self) -> Box<dyn Recovery> {
        Box::new(Reno)
    }
}

struct Reno;

impl Recovery for Reno {
    fn on_recovery_ack(&mut self, state: &mut State, cc: &mut dyn CongestionControl, acked: u64) {
        let is_ns2 = state.window.arithmetic == WindowArithmetic::Ns2;
        state.exit_recovery(if is_ns2 { state.window.cwnd } else { state.window.ssthresh });
        if is_ns2 {
            cc.on_ack(&mut state.window, acked);
        }
    }
}
