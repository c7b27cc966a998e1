//! CUBIC: after a loss the window grows as a cubic function of the time since then, slowly around the window at the
//! loss, and never slower than Reno's. RFC 9438, with a slow start that may end before a loss ([`hystart`]).
//!
//! Windows are in segments and times in seconds. Growth counts bytes acknowledged; an ACK that arrives while the window
//! was not used changes nothing, and the clock of the cubic function stops meanwhile (4.2, 5.8).
//!
//! `variant = "linux"` is Linux's where that differs from the RFC: the target looks ahead by the minimum RTT instead of
//! the smoothed RTT (which is much longer with a deep buffer); growth in the Reno-friendly region does not rise when
//! the old window is reached; before the first loss the window grows by at least 5 % in a round trip; all that an ACK
//! acknowledges counts in slow start; a loss leaves 717/1024 of the window and not of the flight size, in whole
//! segments; use of the window is judged at sending ([`crate::tcp::window::validation`]), and the clock stands still
//! only while nothing is in flight; an undo restores the window and leaves the function unchanged. Growth per round
//! trip follows from whole segments ([`counted`]): the function's distance from the old window is truncated to them, so
//! the window returns to its old size, and leaves it, 1.4 s earlier than with the exact function.

mod counted;
mod hystart;

use super::{Component, CongestionControl};
use crate::registry::parameters;
use crate::tcp::window::state::{State, Window};
use crate::time::{Duration, Instant};
use counted::Counted;
use hystart::{Ack, Linux, PlusPlus};

/// RFC 9438 (5): C, segments/s^3.
const C: f64 = 0.4;
/// RFC 9438 (4.6): factor of the window after a loss.
const BETA: f64 = 0.7;
/// Linux's beta, in units of 1 / `LINUX_SCALE`.
const LINUX_BETA: u64 = 717;
const LINUX_SCALE: u64 = 1024;
/// RFC 9438 (4.3): the growth that gives Reno's mean window with this beta.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// RFC 9406 (4.2): segments that an ACK may add in slow start, L, without pacing; with pacing there is no limit (4.3).
const MOST_AT_ONCE: f64 = 8.0;
/// Linux: samples this soon after the restart of congestion avoidance belong to the loss.
const AFTER_LOSS: Duration = Duration::from_secs(1);

parameters! {
    /// The window is a cubic function of the time since the last loss: RFC 9438.
    pub struct Config {
        /// How slow start may end before a loss.
        pub hystart: HyStart = HyStart::Off,
        /// Whether a window that was smaller at this loss than at the last leaves more to others: RFC 9438 (4.7).
        pub fast_convergence: bool = true,
        /// The RFC, or Linux's deviations from it.
        pub variant: Variant = Variant::Rfc9438,
    }

    /// How slow start may end before a loss.
    pub enum HyStart {
        /// Not at all.
        #[default]
        Off,
        /// On an increased RTT or a train of ACKs, as in Linux.
        Linux,
        /// After conservative slow start: HyStart++, RFC 9406.
        PlusPlus,
    }

    /// Variant of CUBIC.
    pub enum Variant {
        /// RFC 9438.
        #[default]
        Rfc9438,
        /// Linux's `tcp_cubic`.
        Linux,
    }
}

impl Component for Config {
    fn build(&self) -> Box<dyn CongestionControl> {
        Box::new(Cubic {
            is_linux: self.variant == Variant::Linux,
            fast_convergence: self.fast_convergence,
            start: match self.hystart {
                HyStart::Off => SlowStart::Plain,
                HyStart::Linux => SlowStart::Linux(Linux::default()),
                HyStart::PlusPlus => SlowStart::PlusPlus(PlusPlus::default()),
            },
            is_limited: true,
            ..Cubic::default()
        })
    }

    fn judges_use(&self) -> bool {
        self.variant == Variant::Linux
    }

    fn checks_use(&self) -> bool {
        true
    }
}

#[derive(Clone, Debug, Default)]
enum SlowStart {
    #[default]
    Plain,
    Linux(Linux),
    PlusPlus(PlusPlus),
}

/// The variables of RFC 9438 (4.1), segments and seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    /// W_max: the window at the last loss, after fast convergence; 0 before the first.
    w_max: f64,
    /// cwnd_prior: the window at the last loss.
    prior: f64,
    epoch: Option<Epoch>,
}

/// Congestion avoidance since the last loss.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Instant,
    /// Window at the plateau of the function, segments.
    origin: f64,
    /// K, s.
    k: f64,
    /// W_est, segments.
    w_est: f64,
    /// Growth in whole segments, used by `variant = "linux"`.
    counted: Counted,
}

impl Curve {
    /// The present stage, which may begin now with a window of `cwnd`: (4.2), (4.8).
    fn stage(&mut self, now: Instant, cwnd: f64) -> &mut Epoch {
        let w_max = self.w_max;
        self.epoch.get_or_insert_with(|| Epoch {
            began: now,
            origin: w_max.max(cwnd),
            k: if w_max > cwnd { libm::cbrt((w_max - cwnd) / C) } else { 0.0 },
            w_est: cwnd,
            counted: Counted::new(cwnd as u64),
        })
    }
}

impl Epoch {
    /// W_cubic at `t` seconds: (4.2) equation 1.
    fn window(&self, t: f64) -> f64 {
        let x = t - self.k;
        C * x * x * x + self.origin
    }

    /// The function at `t` seconds in whole segments, as Linux computes it: the distance from the origin is rounded down.
    fn whole_target(&self, t: f64) -> u64 {
        let x = t - self.k;
        let distance = libm::floor(C * libm::fabs(x * x * x));
        (libm::floor(self.origin) + libm::copysign(distance, x)).max(0.0) as u64
    }
}

#[derive(Default)]
struct Cubic {
    is_linux: bool,
    fast_convergence: bool,
    start: SlowStart,
    curve: Curve,
    /// Before the latest loss.
    saved: Option<Curve>,
    /// No ACK has come since a timeout.
    has_timed_out: bool,
    now: Instant,
    una: u64,
    max: u64,
    is_paced: bool,
    /// The window was used up before this ACK.
    is_limited: bool,
    /// Since when the window has not been fully used.
    idle_since: Option<Instant>,
    /// RTT sample of the present ACK.
    rtt: Option<Duration>,
    srtt: Option<Duration>,
    rtt_min: Option<Duration>,
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, window: &mut Window, acked: u64) {
        self.has_timed_out = false;
        let rtt = self.rtt.take();
        if !self.is_limited {
            return;
        }
        let mut acked = acked as f64 / window.mss;
        if window.in_slow_start() {
            let ack = self.ack(window);
            if let SlowStart::PlusPlus(hystart) = &mut self.start
                && hystart.on_ack(&ack, rtt)
            {
                window.ssthresh = window.cwnd;
            } else {
                acked = self.slow_start(window, acked);
            }
        }
        if acked > 0.0 && !window.in_slow_start() {
            self.avoid_congestion(window, acked);
        }
    }

    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        let window = &state.window;
        // (4.6), (4.7): these depend on the window, regardless of the flight.
        let before = if self.is_linux { window.segments() as f64 } else { window.cwnd / window.mss };
        if self.has_timed_out {
            self.curve.prior = before;
        } else {
            self.saved = Some(self.curve);
            let shrinks = self.fast_convergence && before < self.curve.w_max;
            let w_max = if shrinks { before * (1.0 + BETA) / 2.0 } else { before };
            self.curve = Curve { w_max, prior: before, epoch: None };
        }
        if let SlowStart::PlusPlus(hystart) = &mut self.start {
            hystart.on_loss();
        }
        let left = if self.is_linux {
            (window.segments() * LINUX_BETA / LINUX_SCALE) as f64
        } else {
            // Limited transmit does not count: RFC 5681 (3.2) step 2.
            let flight = state.flight_size().saturating_sub(state.limited_bytes) as f64;
            flight.min(window.cwnd) / window.mss * BETA
        };
        (left * window.mss).max(window.floor())
    }

    fn measures(&self) -> bool {
        true
    }

    fn on_rtt_sample(&mut self, rtt: Duration) {
        self.rtt = Some(rtt);
        let old = self.srtt.unwrap_or(rtt).as_nanos();
        self.srtt = Some(Duration::from_nanos(old - old / 8 + rtt.as_nanos() / 8));
    }

    fn on_arrival(&mut self, now: Instant, state: &mut State, acked: u64) {
        let before = self.now;
        (self.now, self.una, self.max, self.is_paced) = (now, state.una, state.max, state.is_paced);
        self.look_at_round_trip(&mut state.window);
        if !matches!(self.start, SlowStart::PlusPlus(_)) {
            self.rtt = None;
        }
        if self.is_linux {
            self.is_limited = state.uses_window;
            return;
        }
        self.is_limited = state.was_used_up(acked);
        if !self.is_limited {
            self.idle_since.get_or_insert(before);
        } else if let Some(since) = self.idle_since.take()
            && let Some(epoch) = &mut self.curve.epoch
        {
            epoch.began = (epoch.began + now.since(since)).min(now);
        }
    }

    fn on_resume(&mut self, now: Instant, idle: Duration) {
        if let Some(epoch) = self.curve.epoch.as_mut().filter(|_| self.is_linux) {
            epoch.began = (epoch.began + idle).min(now);
        }
    }

    fn on_timeout(&mut self, _now: Instant) {
        // (4.8): later growth is a stage that starts at the window of that time.
        if !self.has_timed_out {
            self.saved = Some(self.curve);
        }
        self.curve = Curve::default();
        self.has_timed_out = true;
        match &mut self.start {
            SlowStart::Plain => {}
            SlowStart::Linux(hystart) => hystart.on_timeout(),
            SlowStart::PlusPlus(hystart) => hystart.on_loss(),
        }
        self.rtt_min = None;
    }

    /// The ACK with the mark has begun a stage where the window was before.
    fn on_reduced(&mut self) {
        self.curve.epoch = None;
    }

    /// (4.9.2).
    fn on_undo(&mut self) {
        self.has_timed_out = false;
        if let Some(saved) = self.saved.take().filter(|_| !self.is_linux) {
            self.curve = saved;
        }
    }
}

impl Cubic {
    fn ack(&self, window: &Window) -> Ack {
        let cwnd = window.cwnd / window.mss;
        Ack { now: self.now, una: self.una, max: self.max, cwnd, is_paced: self.is_paced }
    }

    /// Takes in the round-trip time of the present ACK, if it gave one. With it Linux's HyStart may end slow start.
    fn look_at_round_trip(&mut self, window: &mut Window) {
        let is_of_a_loss =
            self.is_linux && self.curve.epoch.is_some_and(|epoch| self.now.since(epoch.began) < AFTER_LOSS);
        let Some(rtt) = self.rtt.filter(|_| !is_of_a_loss) else { return };
        let rtt_min = self.rtt_min.map_or(rtt, |min| min.min(rtt));
        self.rtt_min = Some(rtt_min);
        let ack = self.ack(window);
        if let SlowStart::Linux(hystart) = &mut self.start
            && window.in_slow_start()
            && hystart.on_ack(&ack, rtt, rtt_min)
        {
            window.ssthresh = window.cwnd;
        }
    }

    /// Up to the threshold; returns the rest of `acked` segments.
    fn slow_start(&self, window: &mut Window, acked: f64) -> f64 {
        let (most, divisor) = match &self.start {
            _ if self.is_linux => (f64::INFINITY, 1.0),
            SlowStart::PlusPlus(hystart) if self.is_paced => (f64::INFINITY, hystart.divisor()),
            SlowStart::PlusPlus(hystart) => (MOST_AT_ONCE, hystart.divisor()),
            // RFC 5681 (3.1) equation 2.
            SlowStart::Plain | SlowStart::Linux(_) => (1.0, 1.0),
        };
        let grown = window.cwnd + acked.min(most) / divisor * window.mss;
        if grown < window.ssthresh {
            window.cwnd = grown;
            return 0.0;
        }
        let left = (grown - window.ssthresh) * divisor / window.mss;
        window.cwnd = window.ssthresh;
        left
    }

    fn avoid_congestion(&mut self, window: &mut Window, acked: f64) {
        let cwnd = window.cwnd / window.mss;
        let (now, prior, is_first) = (self.now, self.curve.prior, self.curve.w_max == 0.0);
        let ahead = if self.is_linux { self.rtt_min } else { self.srtt };
        let epoch = self.curve.stage(now, cwnd);
        let t = now.since(epoch.began).as_secs_f64();
        let ahead_of = t + ahead.unwrap_or_default().as_secs_f64();
        if self.is_linux {
            let mut counted = epoch.counted;
            let grown = counted.on_ack(now, cwnd as u64, acked, is_first, || epoch.whole_target(ahead_of));
            epoch.counted = counted;
            window.cwnd += grown as f64 * window.mss;
            return;
        }
        // (4.2): the target, at most half as much again in a round trip.
        let target = epoch.window(ahead_of).clamp(cwnd, 1.5 * cwnd);
        // (4.3) equation 4.
        let alpha = if epoch.w_est >= prior { 1.0 } else { ALPHA };
        epoch.w_est += alpha * acked / cwnd;
        let grown = if epoch.window(t) < epoch.w_est {
            // No more than is acknowledged, where an undo or a pause has left the window below.
            cwnd.max(epoch.w_est).min(cwnd + acked)
        } else {
            cwnd + (target - cwnd) / cwnd * acked
        };
        window.cwnd = grown * window.mss;
    }
}

#[cfg(test)]
mod tests;
