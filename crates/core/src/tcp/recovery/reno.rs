//! Reno: the first ACK for new data ends fast recovery. RFC 5681 (3.2).
//!
//! When several segments of a window are lost, each needs its own fast retransmit or a timeout.

use super::classic::Classic;
use super::rnf::Feedback;
use super::{Component, Loss, Recovery};
use crate::registry::parameters;
use crate::tcp::Config as Tcp;
use crate::tcp::WindowArithmetic;
use crate::tcp::cc::CongestionControl;
use crate::tcp::window::state::State;

parameters! {
    /// The first ACK for new data ends fast recovery: RFC 5681 (3.2).
    pub struct Config {}
}

impl Component for Config {
    fn build(&self, tcp: &Tcp) -> Loss {
        Classic::loss(Box::new(Reno), tcp.prr, None, Feedback::of(tcp.rnf))
    }
}

struct Reno;

impl Recovery for Reno {
    fn on_recovery_ack(&mut self, state: &mut State, cc: &mut dyn CongestionControl, acked: u64) -> bool {
        let is_ns2 = state.window.arithmetic == WindowArithmetic::Ns2;
        state.exit_recovery(if is_ns2 { state.window.cwnd } else { state.window.ssthresh });
        if is_ns2 {
            cc.on_ack(&mut state.window, acked);
        }
        true
    }
}
