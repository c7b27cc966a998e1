//! Westwood: a loss reduces the window to the estimated bandwidth-delay product. The bandwidth is estimated from the
//! rate of returning ACKs.
//!
//! C. Casetti, M. Gerla, S. Mascolo, M. Y. Sanadidi, R. Wang, "TCP Westwood: Bandwidth Estimation for Enhanced
//! Transport over Wireless Links", MobiCom 2001. Every ACK gives a sample, the bytes that it reports delivered over the
//! time since the ACK before; a low-pass filter, whose coefficient depends on that time, turns the samples into the
//! estimate. The window grows as Reno's does. After three duplicate ACKs the threshold is the estimate times the
//! minimum RTT, and a larger window is reduced to it; after a timeout the threshold is the same and the window one
//! segment.
//!
//! ASSUMED: an ACK at the instant of another adds to the next sample. A sample after virtual ones spans the time since
//! the last of these, so that no byte is lost or counted twice. Without any sample, the threshold is half of the
//! window.

mod acked_count;

pub(super) use acked_count::AckedCount;

use super::{Component, CongestionControl, reno};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::tcp::window::state::{State, Window};
use crate::time::{Duration, Instant};

parameters! {
    /// The threshold after a loss is the estimated bandwidth, from the rate of returning ACKs, times the minimum RTT:
    /// Mascolo et al., MobiCom 2001.
    pub struct Config {
        /// Time constant of the filter (tau); 1 / tau is its cut-off frequency.
        pub time_constant: Duration = Duration::from_millis(500),
        /// A silence of tau over this many gives a virtual sample of zero (m); at least 2.
        pub silence_divisor: u32 = 2,
    }
}

impl Config {
    /// A silence that gives a virtual sample.
    fn silence(&self) -> Duration {
        Duration::from_nanos(self.time_constant.as_nanos() / u64::from(self.silence_divisor.max(1)))
    }
}

impl Component for Config {
    fn build(&self) -> Box<dyn CongestionControl> {
        Box::new(Westwood {
            tau_s: self.time_constant.as_secs_f64(),
            silence: self.silence(),
            filter: None,
            rtt_min: None,
            acked_count: AckedCount::default(),
        })
    }

    fn keeps_smaller_window(&self) -> bool {
        true
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.time_constant < Duration::from_millis(1) {
            let hint = "write a time of at least 1 ms, such as \"500 ms\"";
            return Err(ScenarioError::new("time_constant", "too short for a filter", hint));
        }
        if !(2..=1000).contains(&self.silence_divisor) {
            let message = format!("a silence of the time constant over {}", self.silence_divisor);
            return Err(ScenarioError::new("silence_divisor", message, "write 2 to 1000"));
        }
        Ok(())
    }
}

/// An estimate that is none, B/s.
const NOTHING: f64 = 1e-6;

struct Westwood {
    tau_s: f64,
    /// After which a virtual sample is put in.
    silence: Duration,
    /// `None` before the first ACK.
    filter: Option<Filter>,
    rtt_min: Option<Duration>,
    acked_count: AckedCount,
}

struct Filter {
    /// When the last sample was taken.
    at: Instant,
    /// Bytes delivered since, at this very instant.
    bytes: u64,
    /// The last sample, B/s.
    sample: f64,
    /// The estimate, B/s; `None` before the first sample.
    estimate: Option<f64>,
}

impl Filter {
    /// A sample over `span`: the low-pass filter in Tustin's approximation.
    fn update(&mut self, tau_s: f64, sample: f64, span: Duration) {
        let span_s = span.as_secs_f64();
        let alpha = (2.0 * tau_s - span_s) / (2.0 * tau_s + span_s);
        let before = self.estimate.unwrap_or(0.0);
        self.estimate = Some(alpha * before + (1.0 - alpha) * (sample + self.sample) / 2.0);
        self.sample = sample;
        self.at += span;
    }

    /// Virtual samples of zero for the silence before `now`.
    fn pass_silence(&mut self, tau_s: f64, silence: Duration, now: Instant) {
        while now.since(self.at) > silence {
            self.update(tau_s, 0.0, silence);
            if self.estimate.is_none_or(|estimate| estimate < NOTHING) {
                // Nothing is left to decay, however long the silence.
                self.estimate = Some(0.0);
                let whole = now.since(self.at).as_nanos().saturating_sub(1) / silence.as_nanos();
                self.at += silence * whole;
            }
        }
    }
}

impl CongestionControl for Westwood {
    fn on_ack(&mut self, window: &mut Window, acked: u64) {
        reno::grow(window, acked);
    }

    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        let estimate = self.filter.as_ref().and_then(|filter| filter.estimate);
        ssthresh(estimate, self.rtt_min, state)
    }

    fn measures(&self) -> bool {
        true
    }

    fn on_rtt_sample(&mut self, rtt: Duration) {
        self.rtt_min = Some(self.rtt_min.map_or(rtt, |min| min.min(rtt)));
    }

    fn on_arrival(&mut self, now: Instant, state: &mut State, acked: u64) {
        let delivered = self.acked_count.delivered(acked, state.window.mss as u64);
        let Some(filter) = &mut self.filter else {
            self.filter = Some(Filter { at: now, bytes: 0, sample: 0.0, estimate: None });
            return;
        };
        filter.pass_silence(self.tau_s, self.silence, now);
        filter.bytes += delivered;
        let span = now.since(filter.at);
        if !span.is_zero() {
            let sample = filter.bytes as f64 / span.as_secs_f64();
            filter.update(self.tau_s, sample, span);
            filter.bytes = 0;
        }
    }

    fn on_timeout(&mut self, now: Instant) {
        if let Some(filter) = &mut self.filter {
            filter.pass_silence(self.tau_s, self.silence, now);
        }
    }
}

/// The BDP at `estimate` B/s, at least two segments.
pub(super) fn ssthresh(estimate: Option<f64>, rtt_min: Option<Duration>, state: &State) -> f64 {
    match (estimate, rtt_min) {
        (Some(rate), Some(rtt)) => (rate * rtt.as_secs_f64()).max(state.window.floor()),
        _ => state.half_window(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config as Any;
    use super::super::westwood_plus;
    use crate::tcp;
    use crate::tcp::window::state::State;
    use crate::time::{Duration, Instant};
    use crate::units::Bytes;

    const MSS: u64 = 1000;

    fn config(cc: Any) -> tcp::Config {
        tcp::Config { cc, mss: Bytes::from_bytes(MSS), ..tcp::Config::default() }
    }

    /// The estimate in B/s after ACKs of one segment at these times (ms), derived from the threshold after a loss: the
    /// minimum RTT is 1 s, the last RTT 100 ms.
    fn estimate(cc: Any, times_ms: impl IntoIterator<Item = u64>) -> f64 {
        let mut state = State::new(&config(cc.clone()));
        let mut cc = cc.build();
        cc.on_rtt_sample(Duration::from_secs(1));
        for at in times_ms {
            cc.on_arrival(Instant::from_nanos(at * 1_000_000), &mut state, MSS);
        }
        cc.ssthresh_after_loss(&state)
    }

    fn original() -> Any {
        Any::Westwood(super::Config::default())
    }

    #[test]
    fn the_filter_answers_a_step_as_computed_by_hand() {
        // 10 kB/s in steps of 100 ms with tau = 500 ms: alpha = 0.9 / 1.1 = 9/11. The first sample is averaged with
        // none: 2/11 * 5000. After that each sample adds 1 - 9/11 of the difference.
        let after = |acks: u64| estimate(original(), (0..=acks).map(|n| n * 100));
        assert_eq!(after(1), 2000.0, "10000 / 11 is below two segments");
        for (acks, expected) in
            [(2, 310_000.0 / 121.0), (3, 5_210_000.0 / 1331.0), (4, 73_510_000.0 / 14641.0)]
        {
            assert!((after(acks) - expected).abs() < 1e-9, "{acks}: {}", after(acks));
        }
        assert!((after(60) - 10_000.0).abs() < 1.0);
    }

    #[test]
    fn silence_decays_by_six_tenths_every_quarter_of_a_second() {
        // From a settled 10 kB/s: 0.6 * 10000 + 0.4 * 5000, then 0.6 of that each time. The ACK at the end of a silence
        // is a sample over the rest of it.
        let mut cc = original().build();
        let mut state = State::new(&config(original()));
        cc.on_rtt_sample(Duration::from_secs(1));
        for n in 0..1000 {
            cc.on_arrival(Instant::from_nanos(n * 100_000_000), &mut state, MSS);
        }
        let last = Instant::from_nanos(999 * 100_000_000);
        cc.on_timeout(last + Duration::from_millis(250));
        assert!((cc.ssthresh_after_loss(&state) - 10_000.0).abs() < 1e-6);
        cc.on_timeout(last + Duration::from_millis(251));
        assert!((cc.ssthresh_after_loss(&state) - 8_000.0).abs() < 1e-6);
        cc.on_timeout(last + Duration::from_millis(751));
        assert!((cc.ssthresh_after_loss(&state) - 8_000.0 * 0.36).abs() < 1e-6);
        cc.on_timeout(Instant::from_nanos(u64::MAX / 2));
        assert_eq!(cc.ssthresh_after_loss(&state), 2000.0);
    }

    #[test]
    fn after_a_long_silence_the_estimate_begins_anew() {
        // Nothing is left after 1000 s. The silence ends in 4000 virtual samples and a span of 100 ms, and then follows
        // the step above: 2/11 * 5000, then 2/11 of the difference.
        let after = |acks: u64| {
            let silence_ends = 60_000 + 1_000_000;
            estimate(original(), (0..=600).map(|n| n * 100).chain((1..=acks).map(|n| silence_ends + n * 100)))
        };
        assert!((after(2) - 310_000.0 / 121.0).abs() < 1e-9, "{}", after(2));
        assert!((after(3) - 5_210_000.0 / 1331.0).abs() < 1e-9, "{}", after(3));
    }

    /// ACK compression: the same 10 ACKs in 100 ms, five together 1 ms apart, then 46 ms nothing.
    #[test]
    fn compressed_acks_fool_the_original_and_not_its_successor() {
        let even = || (0..600).map(|n| n * 10);
        let compressed = || (0..600).map(|n| n / 5 * 50 + n % 5);
        let plus = || Any::WestwoodPlus(westwood_plus::Config::default());
        assert!((estimate(original(), even()) - 100_000.0).abs() < 1.0);
        assert!(estimate(original(), compressed()) > 400_000.0);
        assert!((estimate(plus(), even()) - 100_000.0).abs() < 1_000.0);
        assert!((estimate(plus(), compressed()) - 100_000.0).abs() < 1_000.0);
    }

    #[test]
    fn without_a_sample_half_of_the_window_is_left() {
        let mut state = State::new(&config(original()));
        state.nxt = 10_000;
        state.max = 10_000;
        let mut cc = original().build();
        assert_eq!(cc.ssthresh_after_loss(&state), 5_000.0);
        cc.on_arrival(Instant::ZERO, &mut state, MSS);
        assert_eq!(cc.ssthresh_after_loss(&state), 5_000.0);
    }
}
