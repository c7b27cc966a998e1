//! Loss recovery: what duplicate and partial ACKs mean.

pub mod newreno;
pub mod rack;
pub mod reno;
pub mod sack;
pub mod tahoe;

use super::cc::CongestionControl;
use super::state::{Phase, State};
use crate::registry::registry;

/// A loss recovery algorithm.
pub trait Recovery: Send + Sync {
    /// A duplicate ACK arrived; `state.dupacks` counts it already.
    fn on_dupack(&mut self, state: &mut State, cc: &mut dyn CongestionControl) {
        on_dupack_without_sack(state, cc);
    }

    /// An ACK during fast recovery acknowledged `acked` bytes; `state.una` has moved already.
    fn on_recovery_ack(&mut self, state: &mut State, cc: &mut dyn CongestionControl, acked: u64);

    /// Whether the SACK scoreboard says what is a duplicate ACK and what is sent next.
    fn uses_scoreboard(&self) -> bool {
        false
    }

    /// With the scoreboard: bytes thought to be in the network during a fast recovery, `pipe` of RFC 6675 (2).
    fn pipe(&self, state: &State) -> u64 {
        state.flight_size()
    }

    /// With the scoreboard, after duplicate ACKs: what is sent next. `can_send_new` says whether there is
    /// new data that the receiver's window lets go.
    fn next_segment(&mut self, _state: &State, _can_send_new: bool) -> Option<Next> {
        None
    }
}

/// What the scoreboard lets go next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// New data.
    New,
    /// The segment at this offset, again.
    Again(u64),
}

registry! {
    /// A loss recovery algorithm and its parameters.
    pub enum Config: build() -> Box<dyn Recovery> {
        Reno = reno,
        Newreno = newreno,
        Sack = sack,
        Rack = rack,
        Tahoe = tahoe,
    }
}

impl Config {
    /// What a sender has in its place whose receiver knows no SACK: NewReno, Linux's where it would go by RACK.
    pub fn without_sack(&self) -> Self {
        match self {
            Self::Sack(_) => Self::default(),
            Self::Rack(_) => Self::Newreno(newreno::Config::linux()),
            Self::Reno(_) | Self::Newreno(_) | Self::Tahoe(_) => self.clone(),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::Newreno(newreno::Config::default())
    }
}

/// Fast retransmit on the threshold, one more segment for each duplicate ACK beyond it: RFC 5681
/// (3.2); new data on the ones before it: RFC 3042.
fn on_dupack_without_sack(state: &mut State, cc: &mut dyn CongestionControl) {
    if state.phase == Phase::Recovery {
        state.inflation += state.mss() as i64;
    } else if state.dupacks == state.dupack_threshold {
        state.limited_transmit = 0;
        if state.beyond_recover() || state.multiple_fast_retransmits {
            let ssthresh = cc.ssthresh_after_loss(state);
            state.enter_recovery(ssthresh);
        }
    } else if state.dupacks < state.dupack_threshold && state.limited_transmit_enabled {
        state.limited_transmit += 1;
    }
}
