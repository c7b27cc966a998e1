//! AIMD: adds a number of segments to the window in each round trip, keeps a share of it after a loss.
//!
//! Leaves out everything that needs a clock: pacing, round-trip times. Slow start is that of RFC 5681 (3.1), counting
//! bytes. Source: Chiu and Jain, Computer Networks and ISDN Systems 17 (1), 1989.

use super::{Component, CongestionControl};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::tcp::window::state::{State, Window};

parameters! {
    /// Additive increase, multiplicative decrease: Chiu and Jain 1989.
    pub struct Config {
        /// Growth of the window in segments per round trip.
        pub increase: f64 = 1.0,
        /// Share of the window that a loss leaves.
        pub keep: f64 = 0.5,
    }
}

impl Component for Config {
    fn build(&self) -> Box<dyn CongestionControl> {
        Box::new(Aimd { increase: self.increase, keep: self.keep })
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if !(0.0..=100.0).contains(&self.increase) {
            let message = format!("{} segments per round trip", self.increase);
            return Err(ScenarioError::new("increase", message, "write 0 to 100, such as 1.0"));
        }
        if !(0.01..=0.99).contains(&self.keep) {
            let message = format!("a loss leaves {} of the window", self.keep);
            return Err(ScenarioError::new("keep", message, "write 0.01 to 0.99, such as 0.5"));
        }
        Ok(())
    }
}

struct Aimd {
    increase: f64,
    keep: f64,
}

impl CongestionControl for Aimd {
    fn on_ack(&mut self, window: &mut Window, acked: u64) {
        let acked = acked as f64;
        window.cwnd += match window.in_slow_start() {
            true => acked,
            false => self.increase * window.mss * acked / window.cwnd,
        };
    }

    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        (self.keep * state.window.cwnd).max(state.window.floor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_ten_segments_grows_by_two_in_a_round_trip_of_five_acks() {
        let mut aimd = Aimd { increase: 2.0, keep: 0.5 };
        let mut window = Window { cwnd: 10_000.0, ssthresh: 5000.0, mss: 1000.0, ..Window::default() };
        for _ in 0..5 {
            aimd.on_ack(&mut window, 2000);
        }
        // A little less than two segments: the window grows meanwhile.
        assert!((11_800.0..12_000.0).contains(&window.cwnd), "{}", window.cwnd);
    }
}
