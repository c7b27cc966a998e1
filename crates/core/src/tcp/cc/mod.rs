//! Congestion control: how the window grows, and what a loss leaves of it.

pub mod reno;

use super::state::{State, Window};
use crate::registry::registry;

/// A congestion control algorithm.
pub trait CongestionControl: Send + Sync {
    /// `acked` bytes were newly acknowledged outside of fast recovery.
    fn on_ack(&mut self, window: &mut Window, acked: u64);

    /// The slow start threshold after a loss was detected.
    fn ssthresh_after_loss(&mut self, state: &State) -> f64;
}

registry! {
    /// A congestion control algorithm and its parameters.
    pub enum Config: build() -> Box<dyn CongestionControl> {
        Reno = reno,
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::Reno(reno::Config::default())
    }
}
