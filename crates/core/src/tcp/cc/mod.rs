//! Congestion control: how the window grows, and what a loss leaves of it.

pub mod bbr;
pub mod bbr3;
pub mod copa;
pub mod cubic;
pub mod model;
pub mod reno;
pub mod westwood;
pub mod westwood_plus;

// The one that CONTRIBUTING.md builds up.
#[path = "../../../tests/guide/aimd.rs"]
#[cfg(test)]
pub mod guide;

use crate::error::ScenarioError;
use crate::registry::registry;
#[cfg(test)]
use crate::registry::tests::cc as scratch;
use crate::tcp::window::state::{State, Window};
use crate::time::{Duration, Instant};
use model::PathModel;

/// A congestion control algorithm.
///
/// One that estimates something from the arrival of ACKs says so by [`measures`](Self::measures); the
/// others are spared the calls.
pub trait CongestionControl: Send + Sync {
    /// `acked` bytes were newly acknowledged outside of fast recovery.
    fn on_ack(&mut self, window: &mut Window, acked: u64);

    /// The slow start threshold after a loss was detected.
    fn ssthresh_after_loss(&mut self, state: &State) -> f64;

    /// Whether this algorithm wants the calls below; asked once.
    fn measures(&self) -> bool {
        false
    }

    /// A round-trip time was sampled.
    fn on_rtt_sample(&mut self, _rtt: Duration) {}

    /// An ACK arrived, in whatever phase, for `acked` new bytes, 0 if it is a duplicate; before
    /// anything else is made of it.
    fn on_arrival(&mut self, _now: Instant, _state: &mut State, _acked: u64) {}

    /// Data is about to be sent, the first for `idle`, and nothing is in flight. Told if the sender judges what it uses
    /// of its window.
    fn on_resume(&mut self, _now: Instant, _idle: Duration) {}

    /// The window has just been reduced for a mark, to the threshold that [`ssthresh_after_loss`](Self::ssthresh_after_loss)
    /// gave before the ACK with the mark was taken in.
    fn on_reduced(&mut self) {}

    /// The retransmission timer expired; before [`ssthresh_after_loss`](Self::ssthresh_after_loss).
    fn on_timeout(&mut self, _now: Instant) {}

    /// The latest loss turned out to be none, and the window is what it was: `undo`.
    fn on_undo(&mut self) {}

    /// The same algorithm, if it models the path. Its component says so too: [`Component::models_path`].
    fn model(&mut self) -> Option<&mut dyn PathModel> {
        None
    }
}

/// What is asked of a congestion control's parameters.
pub trait Component {
    /// Makes the algorithm.
    fn build(&self) -> Box<dyn CongestionControl>;

    /// Refuses what cannot work.
    ///
    /// # Errors
    /// Names the key below the algorithm, what is wrong, and what would be right.
    fn validate(&self) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// Whether a loss leaves a congestion window that is below the new threshold as it is, so that slow
    /// start goes on up to the threshold.
    fn keeps_smaller_window(&self) -> bool {
        false
    }

    /// Whether growth goes by what a sender has used of the window: [`crate::tcp::window::validation`].
    fn judges_use(&self) -> bool {
        false
    }

    /// Whether it models the path: [`model`].
    fn models_path(&self) -> bool {
        false
    }
}

registry! {
    /// A congestion control algorithm and its parameters.
    pub enum Config: Component, default Reno, validate() {
        Reno = reno,
        Cubic = cubic,
        Westwood = westwood,
        WestwoodPlus = westwood_plus,
        Bbr = bbr,
        Bbr3 = bbr3,
        Copa = copa,
        #[cfg(test)]
        Guide = guide,
        #[cfg(test)]
        Scratch = scratch,
    }
}
