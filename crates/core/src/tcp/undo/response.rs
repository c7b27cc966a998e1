//! What a sender takes back when a loss recovery was spurious: RFC 4015, or all of it at once.

use crate::tcp::rto::Rto;
use crate::tcp::window::state::{Phase, State};
use crate::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the windows are restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// Without a burst: RFC 4015 (3.2) step 6.
    #[default]
    Rfc4015,
    /// To what they were.
    Restore,
}

/// What a sender knew before its windows were reduced: RFC 4015 (3.2) step 0.
#[derive(Clone, Copy, Debug)]
pub struct Prior {
    /// A timeout, not a fast retransmit.
    pub is_timeout: bool,
    /// Most duplicate ACKs seen in a row since.
    pub dupacks: u32,
    cwnd: f64,
    ssthresh: f64,
    pipe_prev: f64,
    srtt_prev: Duration,
    rttvar_prev: Duration,
}

impl Prior {
    /// Notes the windows and the estimate.
    pub fn of(state: &State, rto: &Rto, is_timeout: bool) -> Self {
        Self {
            is_timeout,
            dupacks: state.dupacks,
            cwnd: state.window.cwnd,
            ssthresh: state.window.ssthresh,
            pipe_prev: (state.flight_size() as f64).max(state.window.ssthresh),
            srtt_prev: rto.srtt() + rto.granularity().saturating_mul(2),
            rttvar_prev: rto.rttvar(),
        }
    }

    /// The recovery was spurious; the ACK that showed it acknowledged `acked` bytes, and was taken in already.
    pub fn restore(&self, state: &mut State, response: Response, acked: u64) {
        // Step 5: go on with new data.
        state.nxt = state.max;
        (state.window.cwnd, state.window.ssthresh) = match response {
            Response::Rfc4015 => {
                let flight = state.flight_size() as f64;
                // ASSUMED: at least a segment. With less and nothing in flight, no ACK would ever open the window.
                ((flight + (acked as f64).min(state.initial_window)).max(state.window.mss), self.pipe_prev)
            }
            Response::Restore => (state.window.cwnd.max(self.cwnd), self.ssthresh.max(state.window.ssthresh)),
        };
        state.inflation = 0;
        state.dupacks = 0;
        state.retransmit = None;
        state.limited_transmit = 0;
        state.limited_bytes = 0;
        // As if there had been no loss: the next duplicate ACKs may signal one. RFC 5682 (2.1) step 3b.
        state.recover = None;
        state.phase = Phase::Open;
    }

    /// Step 8: the first sample of data that was new when the timeout turned out to be spurious.
    pub fn adapt(&self, rto: &mut Rto, sample: Duration) {
        let half = Duration::from_nanos(sample.as_nanos() / 2);
        rto.set_estimate(self.srtt_prev.max(sample), self.rttvar_prev.max(half));
    }
}
