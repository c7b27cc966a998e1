use super::super::{Config as Any, CongestionControl};
use super::{BETA, Config, HyStart, Variant};
use crate::tcp;
use crate::tcp::window::state::State;
use crate::time::{Duration, Instant};
use crate::units::Bytes;
use proptest::prelude::*;

const MSS: u64 = 1000;

/// A sender in congestion avoidance whose window is used up.
struct Driven {
    cc: Box<dyn CongestionControl>,
    state: State,
    now: Instant,
}

fn secs(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9) as u64)
}

impl Driven {
    fn new(config: &Config, cwnd: f64) -> Self {
        let mss = Bytes::from_bytes(MSS);
        let mut state = State::new(&tcp::Config { mss, ..tcp::Config::default() });
        state.window.cwnd = cwnd * MSS as f64;
        let mut driven = Self { cc: Any::Cubic(config.clone()).build(), state, now: Instant::ZERO };
        driven.fill();
        driven
    }

    fn fill(&mut self) {
        let end = self.state.una + self.state.window.cwnd as u64;
        (self.state.nxt, self.state.max) = (end, end);
    }

    /// A window of ACKs, one for each segment, in the course of `rtt` seconds.
    fn round(&mut self, rtt: f64) {
        let segments = (self.state.window.cwnd / MSS as f64) as u64;
        for _ in 0..segments {
            self.now += secs(rtt / segments as f64);
            self.ack(rtt);
        }
    }

    fn ack(&mut self, rtt: f64) {
        self.cc.on_rtt_sample(secs(rtt));
        self.state.una += MSS;
        self.cc.on_arrival(self.now, &mut self.state, MSS);
        self.cc.on_ack(&mut self.state.window, MSS);
        self.fill();
    }

    fn loss(&mut self) {
        let ssthresh = self.cc.ssthresh_after_loss(&self.state);
        (self.state.window.ssthresh, self.state.window.cwnd) = (ssthresh, ssthresh);
        self.fill();
    }

    fn cwnd(&self) -> f64 {
        self.state.window.cwnd / MSS as f64
    }
}

#[test]
fn a_loss_leaves_seven_tenths() {
    let mut driven = Driven::new(&Config::default(), 100.0);
    driven.loss();
    assert_eq!(driven.cwnd(), 70.0);
    let mut small = Driven::new(&Config::default(), 2.0);
    small.loss();
    assert_eq!(small.cwnd(), 2.0, "two segments at least");
}

/// RFC 9438 (4.2): K = cbrt((W_max - cwnd) / C) = cbrt(300 / 0.4) = 9.086 s, when W_max is reached again.
#[test]
fn the_window_is_back_after_k_seconds_and_flat_there() {
    let mut driven = Driven::new(&Config::default(), 1000.0);
    driven.loss();
    let mut at_k = 0.0;
    while driven.now < Instant::ZERO + secs(12.0) {
        driven.round(0.1);
        if driven.now < Instant::ZERO + secs(9.086) {
            at_k = driven.cwnd();
        }
    }
    assert!((995.0..1001.0).contains(&at_k), "{at_k}");
    // 0.4 * (12 + 0.1 - 9.086)^3 = 10.9 above.
    assert!((1008.0..1012.0).contains(&driven.cwnd()), "{}", driven.cwnd());
}

/// (4.3): with a short round trip Reno grows faster. From 35 segments by 0.529 in each round trip.
#[test]
fn a_short_round_trip_grows_as_reno() {
    let mut driven = Driven::new(&Config::default(), 50.0);
    driven.loss();
    for _ in 0..10 {
        driven.round(0.01);
    }
    assert!((driven.cwnd() - (35.0 + 10.0 * 9.0 / 17.0)).abs() < 0.2, "{}", driven.cwnd());
    // From the old window on, by one.
    while driven.cwnd() < 50.0 {
        driven.round(0.01);
    }
    let before = driven.cwnd();
    driven.round(0.01);
    assert!((driven.cwnd() - before - 1.0).abs() < 0.05, "{before} {}", driven.cwnd());
}

/// (4.7): W_max = 70 * 0.85 after a loss at 70 that follows one at 100; without, 70.
#[test]
fn fast_convergence_aims_lower() {
    for (fast_convergence, w_max) in [(true, 59.5), (false, 70.0)] {
        let mut driven = Driven::new(&Config { fast_convergence, ..Config::default() }, 100.0);
        driven.loss();
        driven.loss();
        assert!((driven.cwnd() - 49.0).abs() < 1e-9);
        // The function is flat at W_max: K = cbrt((W_max - 49) / 0.4).
        let k = libm::cbrt((w_max - 49.0) / 0.4);
        while driven.now < Instant::ZERO + secs(k) {
            driven.round(1.0);
        }
        assert!((driven.cwnd() - w_max).abs() < 1.5, "{} for {w_max}", driven.cwnd());
    }
}

/// (4.8): after a timeout the stage begins where the window is, flat.
#[test]
fn a_timeout_forgets_the_old_window() {
    let mut driven = Driven::new(&Config::default(), 100.0);
    driven.cc.on_timeout(driven.now);
    assert_eq!(driven.cc.ssthresh_after_loss(&driven.state), 70_000.0);
    (driven.state.window.cwnd, driven.state.window.ssthresh) = (70_000.0, 70_000.0);
    driven.fill();
    driven.round(1.0);
    // 0.4 * (1 + 1)^3 = 3.2 above at the end of the round, and not the steep rise to 100.
    assert!((70.0..73.3).contains(&driven.cwnd()), "{}", driven.cwnd());
}

/// (4.9.2): after an undo the function is restored, and grows by 9 segments in its second second; Linux begins a new
/// one, which is flat.
#[test]
fn an_undo_brings_the_function_back() {
    for (variant, grows) in [(Variant::Rfc9438, 7.0..11.0), (Variant::Linux, 0.0..2.0)] {
        let mut driven = Driven::new(&Config { variant, ..Config::default() }, 100.0);
        driven.loss();
        driven.round(1.0);
        let before = driven.state.window.clone();
        driven.loss();
        driven.state.window = before;
        driven.cc.on_undo();
        driven.fill();
        let cwnd = driven.cwnd();
        driven.round(1.0);
        assert!(grows.contains(&(driven.cwnd() - cwnd)), "{variant:?}: {cwnd} {}", driven.cwnd());
    }
}

/// (5.8): a window that is not used up does not grow, and the time does not count.
#[test]
fn what_the_application_does_not_use_does_not_grow() {
    let mut driven = Driven::new(&Config::default(), 100.0);
    driven.loss();
    driven.round(0.1);
    // The data in flight was sent with a fully used window.
    while driven.state.una + MSS <= driven.state.max {
        driven.state.una += MSS;
        driven.cc.on_arrival(driven.now, &mut driven.state, MSS);
    }
    let before = driven.cwnd();
    for _ in 0..100 {
        driven.now += secs(1.0);
        driven.state.una += MSS;
        (driven.state.nxt, driven.state.max) = (driven.state.una + 5 * MSS, driven.state.una + 5 * MSS);
        driven.cc.on_arrival(driven.now, &mut driven.state, MSS);
        driven.cc.on_ack(&mut driven.state.window, MSS);
    }
    assert_eq!(driven.cwnd(), before);
    driven.fill();
    driven.round(0.1);
    assert!(driven.cwnd() < before + 4.0, "{before} {}", driven.cwnd());
}

/// Linux looks ahead by the minimum RTT, the RFC by the smoothed RTT.
#[test]
fn with_a_deep_buffer_linux_looks_less_far_ahead() {
    let grown = |variant| {
        let mut driven = Driven::new(&Config { variant, ..Config::default() }, 1000.0);
        driven.loss();
        driven.ack(0.1);
        for _ in 0..40 {
            driven.now += secs(0.05);
            driven.ack(2.0);
        }
        driven.cwnd() - 700.0
    };
    let (rfc, linux) = (grown(Variant::Rfc9438), grown(Variant::Linux));
    assert!(rfc > linux + 3.0, "{rfc} {linux}");
}

#[test]
fn slow_start_counts_segments_of_an_ack_in_linux_and_acks_in_the_rfc() {
    for (variant, hystart, cwnd) in [
        (Variant::Linux, HyStart::Off, 14.0),
        (Variant::Rfc9438, HyStart::Off, 11.0),
        (Variant::Rfc9438, HyStart::PlusPlus, 14.0),
    ] {
        let mut driven = Driven::new(&Config { variant, hystart, ..Config::default() }, 10.0);
        driven.cc.on_arrival(driven.now, &mut driven.state, 0);
        driven.cc.on_ack(&mut driven.state.window, 4 * MSS);
        assert_eq!(driven.cwnd(), cwnd);
        // Up to the threshold; the rest of the ACK counts beyond it.
        driven.state.window.ssthresh = (cwnd + 0.5) * MSS as f64;
        driven.cc.on_ack(&mut driven.state.window, 4 * MSS);
        assert!(driven.cwnd() >= cwnd + 0.5 && driven.cwnd() < cwnd + 1.0);
    }
}

/// RFC 9406 (4.2), (4.3): an ACK adds eight segments at most, or all that it acknowledges if the sender paces.
#[test]
fn hystart_plus_plus_has_no_limit_for_an_ack_where_the_sender_paces() {
    for (is_paced, cwnd) in [(false, 18.0), (true, 30.0)] {
        let mut driven = Driven::new(&Config { hystart: HyStart::PlusPlus, ..Config::default() }, 10.0);
        driven.state.is_paced = is_paced;
        driven.cc.on_arrival(driven.now, &mut driven.state, 0);
        driven.cc.on_ack(&mut driven.state.window, 20 * MSS);
        assert_eq!(driven.cwnd(), cwnd);
    }
}

/// From 100 segments to 70: K = cbrt(30 / 0.4) = 4.22 s. In whole segments Linux's target is 100 from K - cbrt(1 / 0.4)
/// = 2.86 s on, minus the RTT that it looks ahead, and is reached a few round trips later.
#[test]
fn in_whole_segments_linux_is_back_at_the_old_window_earlier() {
    for (variant, back) in [(Variant::Linux, true), (Variant::Rfc9438, false)] {
        let mut driven = Driven::new(&Config { variant, ..Config::default() }, 100.0);
        driven.loss();
        while driven.now < Instant::ZERO + secs(3.3) {
            driven.round(0.1);
        }
        assert_eq!(driven.cwnd() >= 100.0, back, "{variant:?}: {}", driven.cwnd());
    }
}

proptest! {
    /// For any sequence of events, the window stays between one segment and the bytes acknowledged.
    #[test]
    fn the_window_stays_within_bounds(
        events in prop::collection::vec((0..40_u8, 1..4_u64, 1..3000_u64), 1..300),
        linux: bool, hystart in prop::sample::select(vec![HyStart::Off, HyStart::Linux, HyStart::PlusPlus]),
    ) {
        let variant = if linux { Variant::Linux } else { Variant::Rfc9438 };
        let mut driven = Driven::new(&Config { variant, hystart, ..Config::default() }, 10.0);
        for (what, segments, rtt_ms) in events {
            let before = driven.cwnd();
            driven.now += Duration::from_millis(rtt_ms / 20);
            match what {
                0 => {
                    driven.loss();
                    prop_assert!(driven.cwnd() <= (before * BETA).max(2.0) + 1e-9);
                }
                1 => {
                    driven.cc.on_timeout(driven.now);
                    driven.state.window.ssthresh = driven.cc.ssthresh_after_loss(&driven.state);
                    driven.state.window.cwnd = MSS as f64;
                    driven.fill();
                }
                2 => driven.cc.on_undo(),
                _ => {
                    let acked = (segments * MSS).min(driven.state.flight_size());
                    driven.cc.on_rtt_sample(Duration::from_millis(rtt_ms));
                    driven.state.una += acked;
                    driven.cc.on_arrival(driven.now, &mut driven.state, acked);
                    driven.cc.on_ack(&mut driven.state.window, acked);
                    driven.fill();
                    let after = driven.cwnd();
                    prop_assert!(after.is_finite() && after >= before, "{before} {after}");
                    prop_assert!(after <= before + segments as f64 + 1e-9, "{before} {after}");
                }
            }
        }
    }
}
