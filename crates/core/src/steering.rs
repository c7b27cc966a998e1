//! Steering: a program sets the window or the rate of one sender during a run, and reads its measurements.
//!
//! A congestion control or rate controller that can be steered owns a [`Steering`]: it obeys the settings and counts in
//! it what its ACKs or feedback messages report. `sim/steered` steps such a run; `airpath.gym` is its interface in
//! Python. Nothing else reads or writes a [`Steering`].

use crate::time::Duration;

/// The settings of a sender, and its measurements since the flow began.
#[derive(Clone, Debug, Default)]
pub struct Steering {
    /// Congestion window, bytes of payload; `None` for the sender's own initial window, and for senders without one.
    pub window: Option<f64>,
    /// Pacing rate of TCP's payload, or target rate of a call, bit/s; `None` for no pacing.
    pub rate: Option<f64>,
    /// What ACKs or feedback messages have reported.
    pub measured: Measured,
}

/// What ACKs, or feedback messages, have reported since the flow began. TCP counts bytes of payload, a call those of IP
/// packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// ACKs or feedback messages that arrived.
    pub reports: u64,
    /// Bytes reported as received.
    pub acked: u64,
    /// Bytes reported, or taken, as lost.
    pub lost: u64,
    /// Bytes reported as received with the mark CE; of TCP only with accurate ECN.
    pub marked: u64,
    /// Sum of all round-trip times that were sampled, seconds.
    pub rtt_sum_s: f64,
    /// Number of these samples.
    pub rtts: u64,
    /// The latest of them, seconds; 0 before the first.
    pub rtt_s: f64,
    /// The shortest of them, seconds; 0 before the first.
    pub least_rtt_s: f64,
    /// Bytes in flight after the latest report.
    pub in_flight: u64,
}

impl Measured {
    /// Adds a sample of the round-trip time.
    pub fn add_rtt(&mut self, rtt: Duration) {
        let rtt_s = rtt.as_secs_f64();
        self.least_rtt_s = if self.rtts == 0 { rtt_s } else { self.least_rtt_s.min(rtt_s) };
        self.rtt_s = rtt_s;
        self.rtt_sum_s += rtt_s;
        self.rtts += 1;
    }
}
