//! NewReno: a partial ACK during fast recovery names the next lost segment. RFC 6582.
//!
//! Only the first partial ACK restarts the retransmission timer ("impatient", section 4): with many
//! losses in a window, a timeout is then faster than one segment for each round trip.

use super::Recovery;
use crate::tcp::WindowArithmetic;
use crate::tcp::cc::CongestionControl;
use crate::tcp::state::State;
use crate::trace::SendCause;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A partial ACK names the next lost segment: RFC 6582.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Which partial ACKs restart the retransmission timer: RFC 6582 (4).
    pub variant: Variant,
}

/// Which partial ACKs restart the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Only the first.
    #[default]
    Impatient,
    /// Every one.
    SlowButSteady,
}

impl Config {
    pub(super) fn build(&self) -> Box<dyn Recovery> {
        Box::new(Newreno { variant: self.variant, partial_since: None })
    }
}

struct Newreno {
    variant: Variant,
    /// The recovery (its `recover`) in which a partial ACK has been seen.
    partial_since: Option<u64>,
}

impl Recovery for Newreno {
    fn on_recovery_ack(&mut self, state: &mut State, cc: &mut dyn CongestionControl, acked: u64) {
        let recover = state.recover.unwrap_or(state.una);
        let mss = state.window.mss;
        if state.una >= recover {
            if state.window.arithmetic == WindowArithmetic::Ns2 {
                state.exit_recovery(state.window.cwnd);
                return cc.on_ack(&mut state.window, acked);
            }
            // Step 3, full acknowledgment, option 1: avoid a burst.
            let flight = (state.flight_size() as f64).max(mss);
            state.exit_recovery(state.window.ssthresh.min(flight + mss));
            return;
        }
        // Step 3, partial acknowledgment: deflate by what left, add back one segment.
        state.inflation -= acked as i64;
        if acked >= state.mss() {
            state.inflation += state.mss() as i64;
        }
        state.retransmit = Some((state.una, SendCause::PartialAck));
        let first = self.partial_since != Some(recover);
        self.partial_since = Some(recover);
        state.restart_timer = first || self.variant == Variant::SlowButSteady;
    }
}
