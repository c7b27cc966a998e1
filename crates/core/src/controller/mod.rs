//! Rate controllers: the rate that a real-time sender may encode and send with, from feedback on each packet.
//!
//! A controller is called with every feedback message of the receiver, and decides three things: the target rate of the
//! encoder, the pacing rate of packets, and how many bytes may be in flight. It reads no clock and draws no random
//! numbers. Which packets are sent, and when, is decided by the sender (`app::call`).
//!
//! Feedback has the content of RFC 8888: of each packet whether it arrived, when, and with which ECN mark. Numbers are
//! transport-wide: one sequence for all packets of a sender.

pub mod fixed;
pub mod gcc;
pub mod nada;
pub mod scream;

use crate::error::ScenarioError;
use crate::registry::registry;
#[cfg(test)]
use crate::registry::tests::controller as scratch;
use crate::steering::Steering;
use crate::time::{Duration, Instant};

/// Limits within which a controller works, bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Rate before there is feedback.
    pub start: f64,
    /// Lowest target rate.
    pub min: f64,
    /// Highest target rate.
    pub max: f64,
}

/// What a controller permits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Permit {
    /// Rate of all packets that the sender aims at, with their headers, bit/s.
    pub target_bps: f64,
    /// Pacing rate of packets, bit/s.
    pub pacing_bps: f64,
    /// Bytes that may be in flight; `u64::MAX` for no limit.
    pub window_bytes: u64,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Transport-wide number.
    pub number: u32,
    /// Length of the IP packet, bytes.
    pub len: u32,
    /// When it was sent.
    pub sent_at: Instant,
    /// When it arrived, by the clock of the receiver; `None` if it did not.
    pub arrived_at: Option<Instant>,
    /// Whether it arrived with the mark CE.
    pub ce: bool,
    /// Index of the probe cluster that it belongs to.
    pub probe: Option<u32>,
}

/// A feedback message.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// Packets that the message is the first to report, by number.
    pub packets: &'a [Outcome],
    /// Round-trip time of the newest packet that arrived, without the time for which the receiver held its report.
    pub rtt: Option<Duration>,
    /// Bytes that were in flight before this message.
    pub in_flight: u64,
}

/// A cluster of packets that is sent at a rate of its own to measure the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// Index of the cluster.
    pub cluster: u32,
    /// Sending rate of the cluster, bit/s.
    pub rate_bps: f64,
    /// Bytes to be sent at least.
    pub bytes: u64,
    /// Packets to be sent at least.
    pub packets: u32,
}

/// A rate controller, without I/O.
pub trait RateController: Send + Sync {
    /// A feedback message arrived.
    fn handle_feedback(&mut self, now: Instant, feedback: Feedback<'_>);

    /// When `handle_deadline` must be called.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// The deadline has passed.
    fn handle_deadline(&mut self, now: Instant) {
        let _ = now;
    }

    /// A probe cluster that is to be sent now.
    fn poll_probe(&mut self, now: Instant) -> Option<Probe> {
        let _ = now;
        None
    }

    /// What it permits now.
    fn permit(&self) -> Permit;

    /// Packets that the pacing rate carries within this time may leave at once.
    fn burst(&self, now: Instant) -> Duration {
        let _ = now;
        Duration::ZERO
    }

    /// Settings from outside and measurements, if a program can steer it.
    fn steering(&mut self) -> Option<&mut Steering> {
        None
    }
}

/// Parameters of a controller.
pub trait Component {
    /// Makes the controller of a sender that starts at `start`.
    fn build(&self, limits: Limits, start: Instant) -> Box<dyn RateController>;

    /// Refuses impossible parameters.
    fn validate(&self) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// Longest time between two feedback messages of the receiver, unless the scenario fixes it.
    fn feedback_interval(&self) -> Duration;

    /// Whether packets are sent with ECT(1): the controller reads CE.
    fn reads_marks(&self) -> bool {
        false
    }
}

registry! {
    /// A rate controller and its parameters.
    pub enum Config: Component, default Gcc, validate() {
        Fixed = fixed,
        Gcc = gcc,
        Nada = nada,
        Scream = scream,
        #[cfg(test)]
        Scratch = scratch,
    }
}

#[cfg(test)]
mod tests;
