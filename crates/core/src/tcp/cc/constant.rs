//! No control: the initial window for the whole connection, at a constant pacing rate or none. The reference for every
//! congestion control, and the one that a program steers: `airpath.gym` sets window and pacing rate during the run
//! ([`crate::steering`]).
//!
//! Loss recovery is RACK's, and leaves the window as it is; after a retransmission timeout the window is `loss_window`
//! until the next ACK. Source: none.

use super::model::{LostSegment, ModelView, PathAck, PathModel};
use super::{Component, CongestionControl};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::rng::Stream;
use crate::steering::Steering;
use crate::tcp::window::state::{State, Window};
use crate::time::{Duration, Instant};
use crate::trace::ModelState;
use crate::units::Bitrate;

parameters! {
    /// No control: `initial_window` for the whole connection. `airpath.gym` steers it. Requires `recovery.rack`.
    pub struct Config {
        /// Pacing rate of the payload; not paced if absent.
        pub pacing_rate: Option<Bitrate>,
    }
}

impl Component for Config {
    fn build(&self) -> Box<dyn CongestionControl> {
        let rate = self.pacing_rate.map(|rate| rate.as_bps() as f64);
        Box::new(Constant { steering: Steering { rate, ..Steering::default() }, marked: 0 })
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.pacing_rate.is_some_and(|rate| rate.as_bps() < 8) {
            let hint = "write at least 8 bit/s, or remove the key";
            return Err(ScenarioError::new("pacing_rate", "less than one byte per second", hint));
        }
        Ok(())
    }

    fn keeps_smaller_window(&self) -> bool {
        true
    }

    fn models_path(&self) -> bool {
        true
    }
}

struct Constant {
    steering: Steering,
    /// Bytes delivered with CE, as of the latest ACK.
    marked: u64,
}

impl CongestionControl for Constant {
    fn on_ack(&mut self, _window: &mut Window, _acked: u64) {}

    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        state.window.ssthresh
    }

    fn model(&mut self) -> Option<&mut dyn PathModel> {
        Some(self)
    }

    fn steering(&mut self) -> Option<&mut Steering> {
        Some(&mut self.steering)
    }
}

impl PathModel for Constant {
    fn seed(&mut self, _stream: Stream) {}

    fn on_established(&mut self, _now: Instant, _srtt: Duration, window: &Window) {
        self.steering.window.get_or_insert(window.cwnd);
    }

    fn on_path(&mut self, ack: &PathAck, window: &mut Window) -> bool {
        let measured = &mut self.steering.measured;
        measured.reports += 1;
        measured.acked += ack.newly_acked;
        measured.marked += ack.marked.map_or(0, |marked| marked - self.marked);
        measured.in_flight = ack.in_flight;
        if let Some(rtt) = ack.rtt {
            measured.add_rtt(rtt);
        }
        self.marked = ack.marked.unwrap_or(0);
        window.cwnd = *self.steering.window.get_or_insert(window.cwnd);
        false
    }

    fn on_lost(&mut self, _now: Instant, lost: &LostSegment, _window: &Window) {
        self.steering.measured.lost += lost.len;
    }

    fn on_restart(&mut self, _now: Instant, _window: &mut Window) {}

    fn pacing_rate(&self) -> f64 {
        self.steering.rate.map_or(f64::INFINITY, |rate| rate / 8.0)
    }

    fn view(&self) -> ModelView {
        let rtt_s = self.steering.measured.least_rtt_s;
        ModelView {
            state: ModelState::None,
            bandwidth: 0.0,
            min_rtt: (rtt_s > 0.0).then(|| Duration::from_nanos((rtt_s * 1e9) as u64)),
            inflight_limit: None,
            extra_acked: 0.0,
        }
    }
}
