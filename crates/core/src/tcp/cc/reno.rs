//! Reno's congestion control: slow start, congestion avoidance, halving. RFC 5681 (3.1). A window that is not used does
//! not grow (RFC 7661 (4.3), RFC 9002 (7.8)): the sender notifies it only of ACKs that found the window used up. ns-2's
//! grows in any case.
//!
//! `variant = "linux"` is Linux's: growth counts bytes and not ACKs, without a limit for an ACK (RFC 3465 with L as
//! large as may be), so that delayed ACKs do not slow it down; a loss leaves half of the window and not of the flight
//! size; an unused window does not grow ([`crate::tcp::window::validation`]). `variant = "bytes"` has only the growth.

use super::{Component, CongestionControl};
use crate::registry::parameters;
use crate::tcp::WindowArithmetic;
use crate::tcp::window::state::{State, Window};
use crate::time::Instant;

parameters! {
    /// Slow start, congestion avoidance, halving: RFC 5681 (3.1).
    pub struct Config {
        /// The RFC, or Linux's deviations from it.
        pub variant: Variant,
    }

    /// Variant of Reno.
    pub enum Variant {
        /// RFC 5681, or ns-2's with `window_arithmetic = "ns2"`.
        #[default]
        Rfc5681,
        /// The same, but growth counts bytes and not ACKs: RFC 3465 without a limit for an ACK.
        Bytes,
        /// Linux's: bytes are counted, and the window must be used to grow.
        Linux,
    }
}

impl Component for Config {
    fn build(&self) -> Box<dyn CongestionControl> {
        match self.variant {
            Variant::Rfc5681 => Box::new(Reno),
            Variant::Bytes => Box::new(Bytes),
            Variant::Linux => Box::new(Linux { uses_window: true }),
        }
    }

    fn halves_window(&self) -> bool {
        self.variant != Variant::Linux
    }

    fn judges_use(&self) -> bool {
        self.variant == Variant::Linux
    }
}

struct Reno;

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, acked: u64) {
        grow(window, acked);
    }

    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        state.half_window()
    }
}

/// Slow start below the threshold, congestion avoidance above it.
#[inline]
pub(super) fn grow(window: &mut Window, acked: u64) {
    if window.in_slow_start() {
        // Equation 2. ns-2 counts ACKs, not bytes.
        window.cwnd += match window.arithmetic {
            WindowArithmetic::Rfc5681 => window.mss.min(acked as f64),
            WindowArithmetic::Ns2 => window.mss,
        };
    } else {
        // Equation 3.
        window.cwnd += window.mss * window.mss / window.cwnd;
    }
}

/// Growth by bytes acknowledged: RFC 3465 (2.1), (2.2), with the largest L allowed.
fn grow_by_bytes(window: &mut Window, acked: u64) {
    // The part of an ACK beyond the threshold counts for congestion avoidance.
    let slow = (acked as f64).min((window.ssthresh - window.cwnd).max(0.0));
    window.cwnd += slow;
    let whole = window.cwnd - window.cwnd % window.mss;
    window.cwnd += (acked as f64 - slow) * window.mss / whole.max(window.mss);
}

struct Bytes;

impl CongestionControl for Bytes {
    fn on_ack(&mut self, window: &mut Window, acked: u64) {
        grow_by_bytes(window, acked);
    }

    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        state.half_window()
    }
}

struct Linux {
    /// The window was used before this ACK.
    uses_window: bool,
}

impl CongestionControl for Linux {
    fn on_ack(&mut self, window: &mut Window, acked: u64) {
        if self.uses_window {
            grow_by_bytes(window, acked);
        }
    }

    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        let half = state.window.segments() / 2;
        (half as f64 * state.window.mss).max(state.window.floor())
    }

    fn measures(&self) -> bool {
        true
    }

    fn on_arrival(&mut self, _now: Instant, state: &mut State, _acked: u64) {
        self.uses_window = state.uses_window;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp;
    use crate::units;

    fn linux(cwnd: f64) -> (Box<dyn CongestionControl>, State) {
        let config = tcp::Config { mss: units::Bytes::from_bytes(1000), ..tcp::Config::default() };
        let mut state = State::new(&config);
        state.window.cwnd = cwnd;
        (Config { variant: Variant::Linux }.build(), state)
    }

    fn acknowledge(cc: &mut dyn CongestionControl, state: &mut State, acked: u64) -> f64 {
        cc.on_arrival(Instant::ZERO, state, acked);
        cc.on_ack(&mut state.window, acked);
        state.window.cwnd
    }

    #[test]
    fn linux_counts_bytes_in_slow_start_and_beyond() {
        let (mut cc, mut state) = linux(10_000.0);
        assert_eq!(acknowledge(cc.as_mut(), &mut state, 2000), 12_000.0);
        // One of two segments up to the threshold, the other a thirteenth of a segment.
        state.window.ssthresh = 13_000.0;
        let grown = acknowledge(cc.as_mut(), &mut state, 2000);
        assert_eq!(grown, 13_000.0 + 1000.0 * 1000.0 / 13_000.0);
    }

    #[test]
    fn bytes_grow_a_window_whatever_is_used_and_halve_the_flight() {
        let (_, mut state) = linux(10_000.0);
        let mut cc = Config { variant: Variant::Bytes }.build();
        state.uses_window = false;
        assert_eq!(acknowledge(cc.as_mut(), &mut state, 4000), 14_000.0);
        state.window.ssthresh = 5000.0;
        assert_eq!(acknowledge(cc.as_mut(), &mut state, 4000), 14_000.0 + 4000.0 * 1000.0 / 14_000.0);
        assert_eq!(cc.ssthresh_after_loss(&state), Reno.ssthresh_after_loss(&state));
    }

    #[test]
    fn linux_grows_only_what_is_used() {
        let (mut cc, mut state) = linux(10_000.0);
        state.uses_window = false;
        assert_eq!(acknowledge(cc.as_mut(), &mut state, 2000), 10_000.0);
        state.window.ssthresh = 5000.0;
        assert_eq!(acknowledge(cc.as_mut(), &mut state, 1000), 10_000.0);
        state.uses_window = true;
        assert_eq!(acknowledge(cc.as_mut(), &mut state, 1000), 10_100.0);
    }

    #[test]
    fn linux_halves_the_window_whatever_is_in_flight() {
        for (cwnd, flight, half) in [(11_900.0, 30_000, 5000.0), (1000.0, 1000, 2000.0)] {
            let (mut cc, mut state) = linux(cwnd);
            (state.nxt, state.max) = (flight, flight);
            assert_eq!(cc.ssthresh_after_loss(&state), half);
        }
    }
}
