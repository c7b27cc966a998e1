//! RACK-TLP: RFC 8985. Time tells what is lost ([`crate::tcp::rack`]), the scoreboard keeps a mark for each segment,
//! and a probe finds out about losses at the end of what was sent.
//!
//! What is in the network is known at any time: all that was sent, less what is SACKed, less what is lost, and what was
//! sent again since. A lost retransmission is noticed like any other loss. After a timeout the scoreboard stays, and
//! what is marked lost is sent again as the window allows (6.3), not everything as in RFC 6675.
//!
//! The sender does all this in `sender/by_rack.rs`. If the other endpoint does not permit SACK, the connection
//! uses NewReno. Round-trip times are taken from the segments themselves, SACKed ones included, as RACK does; where
//! these were sent more than once timestamps help, if they are on.

use super::Recovery;
use crate::tcp::cc::CongestionControl;
use crate::tcp::state::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Losses by time, and a probe at the end of what was sent: RACK-TLP, RFC 8985. Wants `sack = true`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Whether a probe is sent when ACKs stay away: RFC 8985 (7).
    pub tail_loss_probe: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { tail_loss_probe: true }
    }
}

impl Config {
    pub(super) fn build(&self) -> Box<dyn Recovery> {
        Box::new(Rack)
    }
}

struct Rack;

impl Recovery for Rack {
    /// The sender has its own way: `sender/by_rack.rs`.
    fn on_dupack(&mut self, _state: &mut State, _cc: &mut dyn CongestionControl) {}

    fn on_recovery_ack(&mut self, _state: &mut State, _cc: &mut dyn CongestionControl, _acked: u64) {}

    fn uses_scoreboard(&self) -> bool {
        true
    }
}
