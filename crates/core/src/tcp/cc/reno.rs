//! Reno's congestion control: slow start, congestion avoidance, halving. RFC 5681 (3.1).

use super::CongestionControl;
use crate::tcp::WindowArithmetic;
use crate::tcp::state::{State, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Slow start, congestion avoidance, halving: RFC 5681 (3.1).
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {}

impl Config {
    pub(super) fn build(&self) -> Box<dyn CongestionControl> {
        Box::new(Reno)
    }
}

struct Reno;

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: u64) {
        grow(window, acked);
    }

    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        state.half_window()
    }
}

/// Slow start below the threshold, congestion avoidance above it.
#[inline]
pub(super) fn grow(window: &mut Window, acked: u64) {
    if window.in_slow_start() {
        // Equation 2. ns-2 counts ACKs, not bytes.
        window.cwnd += match window.arithmetic {
            WindowArithmetic::Rfc5681 => window.mss.min(acked as f64),
            WindowArithmetic::Ns2 => window.mss,
        };
    } else {
        // Equation 3.
        window.cwnd += window.mss * window.mss / window.cwnd;
    }
}
