//! NewReno: a partial ACK during fast recovery names the next lost segment. RFC 6582.
//!
//! Only the first partial ACK restarts the retransmission timer ("impatient", section 4): with many losses in a window,
//! a timeout is then faster than one retransmission per round trip.
//!
//! Linux without SACK restarts it with every partial ACK. It ends a recovery only with an ACK beyond the recovery
//! point, counts no duplicates until then, and adapts its threshold to them ([`Config::max_reordering`],
//! [`super::duplicates`]); together with `tcp.prr` the model of Linux is complete.

use super::classic::Classic;
use super::duplicates::Duplicates;
use super::rnf::Feedback;
use super::{Component, Loss, Recovery, signals_loss};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::tcp::Config as Tcp;
use crate::tcp::WindowArithmetic;
use crate::tcp::cc::CongestionControl;
use crate::tcp::window::state::{Phase, State};
use crate::trace::SendCause;

parameters! {
    /// A partial ACK names the next lost segment: RFC 6582.
    pub struct Config {
        /// Partial ACKs that restart the retransmission timer, RFC 6582 (4), and further rules of Linux.
        pub variant: Variant,
        /// With `variant = "linux"`: the maximum threshold of duplicate ACKs, 300 if absent (`tcp_max_reordering`). If
        /// there are more duplicate ACKs than segments in flight, the threshold becomes the number of segments in
        /// flight.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub max_reordering: Option<u32>,
    }
}

/// Linux's default.
const MAX_REORDERING: u32 = 300;

parameters! {
    /// Partial ACKs that restart the retransmission timer.
    pub enum Variant {
        /// Only the first.
        #[default]
        Impatient,
        /// Every one.
        SlowButSteady,
        /// Every partial ACK restarts the timer; the recovery ends beyond the recovery point; the threshold adapts to
        /// duplicate ACKs.
        Linux,
    }
}

impl Config {
    /// Like Linux without SACK.
    pub fn linux() -> Self {
        Self { variant: Variant::Linux, max_reordering: None }
    }

    pub(super) fn loss(&self, uses_prr: bool, feedback: Option<Feedback>) -> Loss {
        let newreno = Newreno { variant: self.variant, partial_since: None };
        let counts = self.counts_duplicates(uses_prr);
        let duplicates = counts.then(|| Duplicates::new(self.max_reordering()));
        Classic::loss(Box::new(newreno), uses_prr, duplicates, feedback)
    }

    /// The largest threshold of duplicate ACKs, if it follows them.
    pub fn max_reordering(&self) -> Option<u32> {
        (self.variant == Variant::Linux).then_some(self.max_reordering.unwrap_or(MAX_REORDERING))
    }

    /// Whether duplicate ACKs count as segments delivered, with proportional rate reduction or for the threshold.
    pub fn counts_duplicates(&self, uses_prr: bool) -> bool {
        uses_prr || self.variant == Variant::Linux
    }

    /// Refuses values that cannot work.
    ///
    /// # Errors
    /// The error names the key, the problem, and a valid value.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        let error = |message: &str, hint: &str| Err(ScenarioError::new("max_reordering", message, hint));
        match self.max_reordering {
            Some(0) => error("every ACK would be a loss", "write at least 1, or remove the key"),
            Some(_) if self.variant != Variant::Linux => error(
                "this variant's threshold does not change",
                "remove the key, or set variant = \"linux\"",
            ),
            _ => Ok(()),
        }
    }
}

impl Component for Config {
    fn build(&self, tcp: &Tcp) -> Loss {
        self.loss(tcp.prr, Feedback::of(tcp.rnf))
    }
}

struct Newreno {
    variant: Variant,
    /// The recovery (its `recover`) in which a partial ACK has been seen.
    partial_since: Option<u64>,
}

impl Newreno {
    /// All that was outstanding has arrived, so that the duplicate ACKs that follow are ambiguous.
    fn holds(&self, state: &State) -> bool {
        self.variant == Variant::Linux && state.recover == Some(state.una)
    }
}

impl Recovery for Newreno {
    fn on_dupack(&mut self, state: &mut State) -> bool {
        if self.variant == Variant::Linux && state.phase == Phase::Recovery && self.holds(state) {
            return false;
        }
        signals_loss(state)
    }

    fn on_recovery_ack(&mut self, state: &mut State, cc: &mut dyn CongestionControl, acked: u64) -> bool {
        let recover = state.recover.unwrap_or(state.una);
        let mss = state.window.mss;
        if state.una >= recover && !self.holds(state) {
            if state.window.arithmetic == WindowArithmetic::Ns2 {
                state.exit_recovery(state.window.cwnd);
                cc.on_ack(&mut state.window, acked);
                return true;
            }
            // Step 3, full acknowledgment, option 1: avoid a burst.
            let flight = (state.flight_size() as f64).max(mss);
            state.exit_recovery(state.window.ssthresh.min(flight + mss));
            return true;
        }
        if self.holds(state) {
            // The segments that duplicate ACKs stood for have been acknowledged.
            state.inflation = 0;
        } else {
            // Step 3, partial acknowledgment: deflate by the bytes acknowledged, add back one segment.
            state.inflation -= acked as i64;
            if acked >= state.mss() {
                state.inflation += state.mss() as i64;
            }
            state.retransmit = Some((state.una, SendCause::PartialAck));
        }
        let first = self.partial_since != Some(recover);
        self.partial_since = Some(recover);
        first || self.variant != Variant::Impatient
    }
}
