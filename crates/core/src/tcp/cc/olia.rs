//! OLIA: the opportunistic coupled congestion control of a connection over several paths.
//!
//! R. Khalili, N. Gast, M. Popovic, J.-Y. Le Boudec, "MPTCP Is Not Pareto-Optimal: Performance Issues and a Possible
//! Solution", IEEE/ACM Transactions on Networking 21(5), 2013, and draft-khalili-mptcp-congestion-control (2.3). An ACK of
//! n bytes on path i opens its window w_i by n · ((w_i / R_i²) / (sum of w / R)² + α_i / w_i), windows in segments. α moves
//! traffic from the paths with the largest windows to the best ones, by the bytes between losses squared over the RTT, if
//! these have smaller windows. Slow start and the reaction to a loss are those of one path.

use super::lia::slow_start;
use super::{Component, CongestionControl, PathShare};
use crate::registry::parameters;
use crate::tcp::window::state::{State, Window};

parameters! {
    /// Coupled windows of several paths that leave congested ones: Khalili et al., 2013.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self) -> Box<dyn CongestionControl> {
        Box::<Olia>::default()
    }

    fn halves_window(&self) -> bool {
        true
    }

    fn couples(&self) -> bool {
        true
    }
}

#[derive(Default)]
struct Olia {
    /// Growth per byte acknowledged in bytes: the first term times MSS, before the division by windows in segments.
    base: Option<f64>,
    /// α of this path.
    alpha: f64,
    /// Bytes acknowledged since the last loss, and between the last two.
    since_loss: f64,
    before_loss: f64,
}

impl CongestionControl for Olia {
    fn on_ack(&mut self, window: &mut Window, acked: u64) {
        let left = slow_start(window, acked);
        let segments = window.cwnd / window.mss;
        // `base` has windows in bytes: one division by the MSS is left.
        let base = self.base.map_or(1.0 / segments, |base| base * window.mss);
        window.cwnd = (window.cwnd + left * (base + self.alpha / segments)).max(window.mss);
    }

    fn on_arrival(&mut self, _now: crate::time::Instant, _state: &mut State, acked: u64) {
        self.since_loss += acked as f64;
    }

    fn measures(&self) -> bool {
        true
    }

    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        (self.before_loss, self.since_loss) = (self.since_loss, 0.0);
        state.half_window()
    }

    fn interval(&self) -> f64 {
        self.since_loss.max(self.before_loss)
    }

    fn on_paths(&mut self, paths: &[PathShare], own: usize) {
        let sum = paths.iter().map(PathShare::rate).sum::<f64>();
        self.base = (sum > 0.0).then(|| paths[own].rate() / paths[own].rtt / (sum * sum));
        let quality = |path: &PathShare| path.interval * path.interval / path.rtt;
        let best = paths.iter().map(quality).fold(0.0, f64::max);
        let largest = paths.iter().map(|path| path.cwnd).fold(0.0, f64::max);
        let is_best = |path: &PathShare| quality(path) >= best;
        let is_largest = |path: &PathShare| path.cwnd >= largest;
        let collected = paths.iter().filter(|path| is_best(path) && !is_largest(path)).count();
        let count = paths.len() as f64;
        self.alpha = if collected == 0 {
            0.0
        } else if is_best(&paths[own]) && !is_largest(&paths[own]) {
            1.0 / (count * collected as f64)
        } else if is_largest(&paths[own]) {
            -1.0 / (count * paths.iter().filter(|path| is_largest(path)).count() as f64)
        } else {
            0.0
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(cwnd: f64, interval: f64) -> PathShare {
        PathShare { cwnd, rtt: 0.1, interval }
    }

    #[test]
    fn a_path_with_few_losses_takes_from_the_one_with_the_largest_window() {
        let paths = [share(10_000.0, 90_000.0), share(30_000.0, 20_000.0)];
        let grown = |own: usize| {
            let mut olia = Olia::default();
            olia.on_paths(&paths, own);
            let cwnd = paths[own].cwnd;
            let mut window = Window { cwnd, ssthresh: 1.0, mss: 1000.0, ..Window::default() };
            olia.on_ack(&mut window, 1000);
            (window.cwnd - cwnd) / 1000.0
        };
        // w / R^2 over (sum of w / R)^2 is w / 40^2; alpha is one half.
        assert!((grown(0) - (10.0 / 1600.0 + 0.5 / 10.0)).abs() < 1e-9, "{}", grown(0));
        assert!((grown(1) - (30.0 / 1600.0 - 0.5 / 30.0)).abs() < 1e-9, "{}", grown(1));
    }

    #[test]
    fn alone_it_is_reno() {
        let mut olia = Olia::default();
        olia.on_paths(&[share(10_000.0, 0.0)], 0);
        let mut window = Window { cwnd: 10_000.0, ssthresh: 1.0, mss: 1000.0, ..Window::default() };
        olia.on_ack(&mut window, 1000);
        assert!((window.cwnd - 10_100.0).abs() < 1e-9, "{}", window.cwnd);
    }
}
