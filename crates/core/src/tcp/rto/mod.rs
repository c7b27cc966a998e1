//! The retransmission timeout: RFC 6298, with the coarse clock of older stacks as an option; or the Eifel
//! timer; or Linux's.
//!
//! With a `tick`, times are measured and kept in ticks the way BSD and ns-2 do: a sample is the number of ticks that
//! started while the segment was in flight, at least one; SRTT is kept in eighths and RTTVAR in quarters of a tick.

pub mod eifel;
pub mod linux;

use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::time::{Duration, Instant};
use linux::{Sent, Variation};

parameters! {
    /// Retransmission timer parameters.
    pub struct Config {
        /// Method of computing the timeout from RTT samples.
        pub timer: Timer = Timer::Rfc6298,
        /// Before the first sample: RFC 6298 (2.1).
        pub initial: Duration = Duration::from_secs(1),
        /// Lower bound: RFC 6298 (2.4).
        pub min: Duration = Duration::from_secs(1),
        /// Upper bound: RFC 6298 (2.5).
        pub max: Duration = Duration::from_secs(60),
        /// Granularity of the clock; times are exact if absent.
        pub tick: Option<Duration>,
    }

    /// Method of computing the timeout from RTT samples.
    pub enum Timer {
        /// RFC 6298.
        #[default]
        Rfc6298,
        /// The Eifel retransmission timer, see `tcp/rto/eifel.rs`.
        EifelTimer,
        /// Linux's: the minimum bounds the variation, not the whole; see `tcp/rto/linux.rs`.
        Linux,
    }
}

impl Config {
    pub(super) fn validate(&self) -> Result<(), ScenarioError> {
        if self.min.is_zero() || self.initial.is_zero() {
            let key = if self.min.is_zero() { "min" } else { "initial" };
            return Err(ScenarioError::new(key, "a timeout of no length", "write a time such as \"1 s\""));
        }
        if self.max < self.min || self.max < self.initial {
            let hint = "write a maximum of at least the minimum and the initial value";
            return Err(ScenarioError::new("max", format!("{} is too short", self.max), hint));
        }
        if self.timer != Timer::Rfc6298 && self.tick.is_some() {
            let hint = "remove tick, or choose timer = \"rfc6298\"";
            let whose = if self.timer == Timer::Linux { "Linux's" } else { "the Eifel" };
            return Err(ScenarioError::new("timer", format!("{whose} timer has an exact clock"), hint));
        }
        if self.tick.is_some_and(Duration::is_zero) {
            let hint = "write a time such as \"100 ms\", or remove the key for exact times";
            return Err(ScenarioError::new("tick", "a clock that never ticks", hint));
        }
        Ok(())
    }
}

/// Round-trip time estimate and the timeout that follows from it.
#[derive(Clone, Debug)]
pub struct Rto {
    config: Config,
    estimate: Option<Estimate>,
    /// With a tick: SRTT in eighths of a tick, RTTVAR in quarters.
    ticks: (u64, u64),
    /// The timeout before backoff and bounds.
    base: Duration,
    /// How often the timer expired since the last valid sample.
    backoff: u32,
    /// Segments in flight at the latest sample: the Eifel timer's gain.
    flight: u32,
    /// Linux's timer, once there was a sample.
    variation: Option<Variation>,
    /// State of the sender, for Linux's timer.
    sent: Sent,
}

#[derive(Clone, Copy, Debug)]
struct Estimate {
    srtt: Duration,
    rttvar: Duration,
}

impl Rto {
    /// No sample yet.
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            estimate: None,
            ticks: (0, 0),
            base: config.initial,
            backoff: 0,
            flight: 0,
            variation: None,
            sent: Sent::default(),
        }
    }

    /// A segment sent at `sent` was acknowledged at `now`. Ends backoff (Karn's algorithm).
    #[inline(always)]
    pub fn on_sample(&mut self, now: Instant, sent: Instant) {
        self.backoff = 0;
        match self.config.tick {
            None => self.on_exact_sample(now.since(sent)),
            Some(tick) => {
                let began = |at: Instant| at.as_nanos() / tick.as_nanos();
                self.on_tick_sample((began(now) - began(sent)).max(1), tick);
            }
        }
    }

    /// A sample taken from an echoed timestamp; with a tick it is rounded to whole ticks.
    pub fn on_echoed_sample(&mut self, rtt: Duration) {
        self.backoff = 0;
        match self.config.tick {
            None => self.on_exact_sample(rtt),
            Some(tick) => {
                let ticks = (rtt.as_nanos() + tick.as_nanos() / 2) / tick.as_nanos();
                self.on_tick_sample(ticks.max(1), tick);
            }
        }
    }

    /// Notes how many segments are in flight, before a sample.
    #[inline]
    pub fn set_flight(&mut self, segments: usize) {
        self.flight = segments as u32;
    }

    /// Records the acknowledged and sent data before a sample: for Linux's timer.
    pub fn set_sent(&mut self, una: u64, max: u64) {
        self.sent = Sent { una, max };
    }

    /// Whether the timer runs from the sending of the oldest segment rather than from the latest ACK.
    #[inline]
    pub fn runs_from_sending(&self) -> bool {
        self.config.timer == Timer::EifelTimer
    }

    /// RFC 6298 (2.2), (2.3).
    #[inline]
    fn on_exact_sample(&mut self, rtt: Duration) {
        match self.config.timer {
            Timer::Rfc6298 => {}
            Timer::Linux => return self.on_linux_sample(rtt),
            Timer::EifelTimer if self.estimate.is_some() => return self.on_eifel_sample(rtt),
            Timer::EifelTimer => {}
        }
        let sample = rtt.as_nanos();
        let (srtt, rttvar) = match self.estimate {
            None => (sample, sample / 2),
            Some(old) => {
                let (srtt, rttvar) = (old.srtt.as_nanos(), old.rttvar.as_nanos());
                let deviation = srtt.abs_diff(sample);
                (srtt - srtt / 8 + sample / 8, rttvar - rttvar / 4 + deviation / 4)
            }
        };
        let (srtt, rttvar) = (Duration::from_nanos(srtt), Duration::from_nanos(rttvar));
        self.estimate = Some(Estimate { srtt, rttvar });
        self.base = srtt + rttvar * 4;
    }

    #[cold]
    #[inline(never)]
    fn on_eifel_sample(&mut self, rtt: Duration) {
        let Some(old) = self.estimate else { return };
        let (srtt, rttvar, base) = eifel::estimate((old.srtt, old.rttvar), rtt, self.flight);
        self.estimate = Some(Estimate { srtt, rttvar });
        self.base = base;
    }

    #[cold]
    #[inline(never)]
    fn on_linux_sample(&mut self, rtt: Duration) {
        let (min, sent) = (self.config.min, self.sent);
        let (srtt, variation) = match (self.estimate, self.variation) {
            (Some(old), Some(mut variation)) => (variation.on_sample(old.srtt, rtt, min, sent), variation),
            _ => (rtt, Variation::first(rtt, min, sent)),
        };
        self.variation = Some(variation);
        self.estimate = Some(Estimate { srtt, rttvar: variation.mean_deviation() });
        self.base = srtt + variation.added();
    }

    #[inline(never)]
    fn on_tick_sample(&mut self, sample: u64, tick: Duration) {
        let (srtt8, rttvar4) = match self.estimate {
            None => (sample << 3, sample << 1),
            Some(_) => {
                let (srtt8, rttvar4) = self.ticks;
                let deviation = sample.abs_diff(srtt8 >> 3);
                let srtt8 = (srtt8 + sample).saturating_sub(srtt8 >> 3).max(1);
                (srtt8, (rttvar4 + deviation).saturating_sub(rttvar4 >> 2).max(1))
            }
        };
        let nanos = tick.as_nanos();
        self.estimate = Some(Estimate {
            srtt: Duration::from_nanos(srtt8 * nanos / 8),
            rttvar: Duration::from_nanos(rttvar4 * nanos / 4),
        });
        self.ticks = (srtt8, rttvar4);
        // SRTT + 4 RTTVAR, in eighths of a tick, truncated to whole ticks.
        self.base = tick.saturating_mul(((rttvar4 << 3) + srtt8) >> 3);
    }

    /// Granularity of the clock; zero if times are exact.
    pub fn granularity(&self) -> Duration {
        self.config.tick.unwrap_or(Duration::ZERO)
    }

    /// Replaces the estimate: RFC 4015 (3.2) step 8.
    pub fn set_estimate(&mut self, srtt: Duration, rttvar: Duration) {
        self.backoff = 0;
        let least = if self.config.timer == Timer::Linux { self.config.min } else { self.granularity() };
        self.base = srtt + rttvar.saturating_mul(4).max(least);
        if let Some(tick) = self.config.tick {
            let (srtt8, rttvar4) =
                (8 * srtt.as_nanos() / tick.as_nanos(), 4 * rttvar.as_nanos() / tick.as_nanos());
            self.ticks = (srtt8, rttvar4);
            self.base = tick.saturating_mul((srtt8 + 8 * rttvar4) >> 3);
        }
        self.estimate = Some(Estimate { srtt, rttvar });
    }

    /// The timer expired: RFC 6298 (5.5).
    pub fn on_timeout(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// A SYN was lost: RFC 6298 (5.7) starts data with at least three seconds.
    pub fn on_lost_syn(&mut self) {
        self.base = self.base.max(Duration::from_secs(3));
    }

    /// The timeout to use now.
    pub fn value(&self) -> Duration {
        let least = self.base.max(self.config.min);
        let backed_off = if self.backoff == 0 { least } else { least.saturating_mul(1 << self.backoff) };
        backed_off.min(self.config.max)
    }

    /// The maximum RTO.
    pub fn max(&self) -> Duration {
        self.config.max
    }

    /// Smoothed round-trip time, zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.estimate.map_or(Duration::ZERO, |estimate| estimate.srtt)
    }

    /// Round-trip time variation, zero before the first sample.
    pub fn rttvar(&self) -> Duration {
        self.estimate.map_or(Duration::ZERO, |estimate| estimate.rttvar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + ms(millis)
    }

    #[test]
    fn rfc_6298_by_hand() {
        let mut rto = Rto::new(&Config { min: ms(1), ..Config::default() });
        assert_eq!(rto.value(), ms(1000));
        rto.on_sample(at(100), at(0));
        // SRTT = 100, RTTVAR = 50, RTO = 100 + 4 * 50.
        assert_eq!((rto.srtt(), rto.rttvar(), rto.value()), (ms(100), ms(50), ms(300)));
        rto.on_sample(at(360), at(200));
        // RTTVAR = 3/4 * 50 + 1/4 * |100 - 160| = 52.5, SRTT = 7/8 * 100 + 1/8 * 160 = 107.5.
        assert_eq!(rto.srtt(), Duration::from_nanos(107_500_000));
        assert_eq!(rto.rttvar(), Duration::from_nanos(52_500_000));
        assert_eq!(rto.value(), Duration::from_nanos(317_500_000));
    }

    #[test]
    fn backoff_doubles_up_to_the_maximum_and_ends_with_a_valid_sample() {
        let mut rto = Rto::new(&Config::default());
        rto.on_timeout();
        assert_eq!(rto.value(), ms(2000));
        for _ in 0..20 {
            rto.on_timeout();
        }
        assert_eq!(rto.value(), ms(60_000));
        rto.on_sample(at(200), at(0));
        assert_eq!(rto.value(), ms(1000), "the minimum, RFC 6298 (2.4)");
    }

    #[test]
    fn a_coarse_clock_counts_the_ticks_that_began() {
        let config = Config { tick: Some(ms(100)), min: ms(1), ..Config::default() };
        let mut rto = Rto::new(&config);
        // From 90 ms to 310 ms three ticks begin: at 100, 200 and 300 ms.
        rto.on_sample(at(310), at(90));
        assert_eq!(rto.srtt(), ms(300));
        // SRTT + 4 * RTTVAR = 3 + 4 * 1.5 ticks.
        assert_eq!(rto.value(), ms(900));
        // No tick begins: one is counted. |1 - 3| = 2: RTTVAR = (6 + 2 - 1) / 4, SRTT = (24 + 1 - 3) / 8.
        rto.on_sample(at(390), at(310));
        assert_eq!(rto.srtt(), Duration::from_nanos(275_000_000));
        assert_eq!(rto.rttvar(), Duration::from_nanos(175_000_000));
        // (7 * 8 + 22) / 8 = 9.75 ticks, cut to 9.
        assert_eq!(rto.value(), ms(900));
    }

    #[test]
    fn an_echoed_sample_is_rounded_to_the_nearest_tick_and_is_one_at_least() {
        for (rtt, ticks) in [(30, 1), (149, 1), (150, 2), (260, 3)] {
            let mut rto = Rto::new(&Config { tick: Some(ms(100)), ..Config::default() });
            rto.on_echoed_sample(ms(rtt));
            assert_eq!(rto.srtt(), ms(ticks * 100), "{rtt} ms");
        }
    }
}
