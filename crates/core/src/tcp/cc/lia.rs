//! LIA: the coupled congestion control of a connection over several paths. RFC 6356.
//!
//! An ACK of n bytes on path i opens its window w_i by the lesser of a·n·MSS / w and n·MSS / w_i, where w is the sum of
//! the windows and a = w · max(w_i / R_i²) / (sum of w_i / R_i)², so that the connection gets as much as one TCP on the
//! best path, and no path more than one TCP would. Slow start and the reaction to a loss are those of one path. With a
//! single path it is Reno.

use super::{Component, CongestionControl, PathShare};
use crate::registry::parameters;
use crate::tcp::window::state::{State, Window};

parameters! {
    /// Coupled windows of several paths: RFC 6356.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self) -> Box<dyn CongestionControl> {
        Box::new(Lia { shared: 0.0 })
    }

    fn halves_window(&self) -> bool {
        true
    }

    fn couples(&self) -> bool {
        true
    }
}

struct Lia {
    /// Growth per byte acknowledged, in segments of the MSS: a / w. Zero without other paths.
    shared: f64,
}

impl CongestionControl for Lia {
    fn on_ack(&mut self, window: &mut Window, acked: u64) {
        let left = slow_start(window, acked);
        let alone = 1.0 / window.cwnd;
        let growth = if self.shared > 0.0 { self.shared.min(alone) } else { alone };
        window.cwnd += growth * left * window.mss;
    }

    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        state.half_window()
    }

    fn on_paths(&mut self, paths: &[PathShare], _own: usize) {
        let sum = paths.iter().map(PathShare::rate).sum::<f64>();
        let best = paths.iter().map(|path| path.rate() / path.rtt).fold(0.0, f64::max);
        self.shared = if sum > 0.0 { best / (sum * sum) } else { 0.0 };
    }
}

/// Slow start, which no path couples: RFC 3465 (2.2), with the largest L allowed. Returns the bytes acknowledged beyond the
/// threshold.
pub(super) fn slow_start(window: &mut Window, acked: u64) -> f64 {
    let slow = (acked as f64).min((window.ssthresh - window.cwnd).max(0.0));
    window.cwnd += slow;
    acked as f64 - slow
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: f64) -> Window {
        Window { cwnd, ssthresh: 1.0, mss: 1000.0, ..Window::default() }
    }

    fn share(cwnd: f64, rtt: f64) -> PathShare {
        PathShare { cwnd, rtt, interval: 0.0 }
    }

    #[test]
    fn paths_of_equal_round_trips_grow_as_one_flow() {
        let mut lia = Lia { shared: 0.0 };
        lia.on_paths(&[share(10_000.0, 0.1), share(30_000.0, 0.1)], 0);
        // a = 40 (30 / R^2) / (40 / R)^2 = 0.75, over a window of 40 segments.
        let mut own = window(10_000.0);
        lia.on_ack(&mut own, 1000);
        assert!((own.cwnd - 10_000.0 - 1000.0 * 0.75 / 40.0).abs() < 1e-9, "{}", own.cwnd);
    }

    #[test]
    fn no_path_grows_faster_than_alone() {
        let mut lia = Lia { shared: 0.0 };
        lia.on_paths(&[share(10_000.0, 0.01), share(10_000.0, 1.0)], 1);
        let mut own = window(50_000.0);
        lia.on_ack(&mut own, 1000);
        assert!((own.cwnd - 50_000.0 - 20.0).abs() < 1e-9, "{}", own.cwnd);
        let mut alone = window(50_000.0);
        Lia { shared: 0.0 }.on_ack(&mut alone, 1000);
        assert!((alone.cwnd - 50_020.0).abs() < 1e-9);
    }
}
