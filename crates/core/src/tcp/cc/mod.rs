//! Congestion control: growth of the window, and its reduction after a loss.

pub mod bbr;
pub mod bbr3;
pub mod constant;
pub mod copa;
pub mod cubic;
pub mod dctcp;
pub mod lia;
mod marked_share;
pub mod model;
pub mod olia;
pub mod prague;
pub mod reno;
pub mod westwood;
pub mod westwood_plus;

// The one that CONTRIBUTING.md builds up.
#[path = "../../../tests/guide/aimd.rs"]
#[cfg(test)]
pub mod guide;

use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::registry::registry;
#[cfg(test)]
use crate::registry::tests::cc as scratch;
use crate::steering::Steering;
use crate::tcp::window::state::{State, Window};
use crate::time::{Duration, Instant};
use model::PathModel;

/// A congestion control algorithm.
///
/// One that estimates something from the arrival of ACKs says so by [`measures`](Self::measures); the
/// others are spared the calls.
pub trait CongestionControl: Send + Sync {
    /// `acked` bytes were newly acknowledged outside of fast recovery, and the window may grow: it was used, or the
    /// algorithm looks at that itself ([`Component::checks_use`]).
    fn on_ack(&mut self, window: &mut Window, acked: u64);

    /// The slow start threshold after a loss was detected.
    fn ssthresh_after_loss(&mut self, state: &State) -> f64;

    /// Whether this algorithm uses the calls below; evaluated once.
    fn measures(&self) -> bool {
        false
    }

    /// A round-trip time was sampled.
    fn on_rtt_sample(&mut self, _rtt: Duration) {}

    /// An ACK arrived, in any phase, for `acked` new bytes, 0 if it is a duplicate; called before any other processing
    /// of the ACK.
    fn on_arrival(&mut self, _now: Instant, _state: &mut State, _acked: u64) {}

    /// Data is about to be sent after a pause of `idle`, with nothing in flight. Called only if the sender judges its
    /// use of the window.
    fn on_resume(&mut self, _now: Instant, _idle: Duration) {}

    /// With accurate ECN: the marks that an ACK of `ack` reports, before any other processing of the ACK.
    fn on_marks(&mut self, _now: Instant, _marks: &Marks, _ack: u64, _state: &State) {}

    /// With accurate ECN: the threshold after marks, requested once per window of data. `None` if the window stays for
    /// this window of data.
    fn ssthresh_after_marks(&mut self, _now: Instant, state: &State) -> Option<f64> {
        Some(self.ssthresh_after_loss(state))
    }

    /// With accurate ECN: whether an ACK with marks lets the window grow by its unmarked bytes, as reported to
    /// [`on_marks`](Self::on_marks).
    fn grows_beside_marks(&self) -> bool {
        false
    }

    /// The window has just been reduced for a mark, to the threshold that
    /// [`ssthresh_after_loss`](Self::ssthresh_after_loss) returned before the ACK with the mark was processed.
    fn on_reduced(&mut self) {}

    /// The retransmission timer expired; before [`ssthresh_after_loss`](Self::ssthresh_after_loss).
    fn on_timeout(&mut self, _now: Instant) {}

    /// The latest loss turned out to be spurious, and the window is restored: `undo`.
    fn on_undo(&mut self) {}

    /// Of a connection over several paths: the paths before an ACK on path `own`. Called only if the component says
    /// [`Component::couples`].
    fn on_paths(&mut self, _paths: &[PathShare], _own: usize) {}

    /// The larger of the bytes acknowledged since the last loss and between the last two, if it counts them.
    fn interval(&self) -> f64 {
        0.0
    }

    /// This algorithm as a path model, if it is one. Its component says so too: [`Component::models_path`].
    fn model(&mut self) -> Option<&mut dyn PathModel> {
        None
    }

    /// Settings from outside and measurements, if a program can steer it.
    fn steering(&mut self) -> Option<&mut Steering> {
        None
    }
}

/// Properties of a congestion control's parameters.
pub trait Component {
    /// Makes the algorithm.
    fn build(&self) -> Box<dyn CongestionControl>;

    /// Refuses values that cannot work.
    ///
    /// # Errors
    /// The error names the key below the algorithm, the problem, and a valid value.
    fn validate(&self) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// Whether a loss keeps a congestion window that is below the new threshold, so that slow start continues up to the
    /// threshold.
    fn keeps_smaller_window(&self) -> bool {
        false
    }

    /// Whether a loss halves the data in flight ([`State::half_window`]) instead of setting a separate threshold.
    fn halves_window(&self) -> bool {
        false
    }

    /// Whether growth depends on how much of the window the sender has used: [`crate::tcp::window::validation`].
    fn judges_use(&self) -> bool {
        false
    }

    /// Whether it checks the use of the window itself before growth. Otherwise it is not called for ACKs that arrived
    /// while the window was not used.
    fn checks_use(&self) -> bool {
        self.judges_use() || self.models_path()
    }

    /// Whether it couples the windows of several paths of a connection.
    fn couples(&self) -> bool {
        false
    }

    /// Whether it models the path: [`model`].
    fn models_path(&self) -> bool {
        false
    }

    /// Whether it responds to the number of marks and so requires accurate ECN.
    fn counts_marks(&self) -> bool {
        false
    }

    /// The code point of data that can be marked, with accurate ECN.
    fn ect(&self) -> u8 {
        Packet::ECT_0
    }

    /// How it paces, regardless of `tcp.pacing`; `None` if `tcp.pacing` decides.
    fn pace(&self) -> Option<Pace> {
        self.models_path().then(Pace::default)
    }
}

/// A path of a connection that has several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathShare {
    /// Congestion window, bytes.
    pub cwnd: f64,
    /// Smoothed RTT, seconds.
    pub rtt: f64,
    /// [`CongestionControl::interval`] of its congestion control.
    pub interval: f64,
}

impl PathShare {
    /// Window over RTT, B/s.
    fn rate(&self) -> f64 {
        self.cwnd / self.rtt
    }
}

/// Marks reported by an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Packets with CE since the last ACK.
    pub packets: u64,
    /// Payload with CE since then.
    pub bytes: u64,
    /// Payload that the ACK reports for the first time.
    pub delivered: u64,
}

/// How segments are paced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Pacing rate relative to window / RTT, after slow start; unused by a control that models the path, which sets the
    /// rate.
    pub gain: f64,
    /// Bursts in a second of the rate.
    pub bursts: f64,
    /// Least burst, segments.
    pub least_segments: f64,
}

impl Default for Pace {
    /// Linux's with the queue discipline fq.
    fn default() -> Self {
        Self { gain: 1.2, bursts: 1000.0, least_segments: 2.0 }
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
        Constant = constant,
        Copa = copa,
        Dctcp = dctcp,
        Prague = prague,
        Lia = lia,
        Olia = olia,
        #[cfg(test)]
        Guide = guide,
        #[cfg(test)]
        Scratch = scratch,
    }
}
