//! DCTCP: marks shrink the window by half of the share of bytes marked. RFC 8257.
//!
//! Accurate ECN reports the bytes marked ([`super::marked_share`]). Growth and losses are handled as by Reno, in either
//! variant; an ACK with a mark causes no growth. Where the other endpoint has classic ECN, a mark halves the window
//! like a loss. Intended for networks whose queues mark early: RFC 8257 (1) forbids DCTCP on the Internet.
//!
//! Left out: the receiver's echo of marks (3.2), replaced by accurate ECN (RFC 9768); ECN-capable SYNs (3.1), pure ACKs
//! and retransmissions (4.4).

use super::marked_share::{GAIN, MarkedShare};
use super::{Component, CongestionControl, Marks, reno};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::tcp::window::state::{State, Window};
use crate::time::Instant;

parameters! {
    /// Marks shrink the window by half of the share marked: DCTCP, RFC 8257. Requires `ecn = "accurate"`.
    pub struct Config {
        /// Weight of a new window of data in the share.
        pub gain: f64 = GAIN,
        /// Variant of Reno for growth and the response to losses.
        pub variant: reno::Variant,
    }
}

impl Component for Config {
    fn build(&self) -> Box<dyn CongestionControl> {
        let reno = reno::Config { variant: self.variant }.build();
        Box::new(Dctcp { reno, share: MarkedShare::new(self.gain) })
    }

    fn halves_window(&self) -> bool {
        self.variant == reno::Variant::Rfc5681
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.gain > 0.0 && self.gain <= 1.0 {
            return Ok(());
        }
        let message = format!("{} is no weight", self.gain);
        Err(ScenarioError::new("gain", message, "write a number above 0, at most 1 (0.0625 in RFC 8257)"))
    }

    fn judges_use(&self) -> bool {
        reno::Config { variant: self.variant }.judges_use()
    }

    fn counts_marks(&self) -> bool {
        true
    }
}

struct Dctcp {
    reno: Box<dyn CongestionControl>,
    share: MarkedShare,
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, window: &mut Window, acked: u64) {
        self.reno.on_ack(window, acked);
    }

    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        self.reno.ssthresh_after_loss(state)
    }

    fn on_marks(&mut self, _now: Instant, marks: &Marks, ack: u64, state: &State) {
        self.share.on_ack(marks, ack, state.max, true);
    }

    fn ssthresh_after_marks(&mut self, _now: Instant, state: &State) -> Option<f64> {
        Some((state.window.cwnd * self.share.left()).max(state.window.floor()))
    }

    fn measures(&self) -> bool {
        self.reno.measures()
    }

    fn on_arrival(&mut self, now: Instant, state: &mut State, acked: u64) {
        self.reno.on_arrival(now, state, acked);
    }
}
