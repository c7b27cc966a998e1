//! Radio link failure (TS 36.331 §5.3.11, TS 36.133 §7.6).
//!
//! In each radio frame the physical layer says whether the link is out of synchronisation (SINR below Qout on average over
//! 200 ms) or in synchronisation (above Qin over 100 ms). N310 of the former in a row start T310, N311 of the latter in a
//! row stop it; the link has failed when T310 is over.

use super::{FRAME, FailureConfig};
use crate::time::Duration;
use std::collections::VecDeque;

/// Frames over which Qout and Qin are evaluated: 200 ms and 100 ms (TS 36.133 §7.6.2.1).
const OUT_FRAMES: usize = (200_000_000 / FRAME.as_nanos()) as usize;
const IN_FRAMES: usize = (100_000_000 / FRAME.as_nanos()) as usize;

/// Monitoring of the link to one serving cell.
pub(super) struct Monitor {
    q_out_db: f64,
    q_in_db: f64,
    n310: u8,
    n311: u8,
    t310: Duration,
    /// The last ratios, the newest first.
    heard: VecDeque<f64>,
    /// Indications in a row.
    out: u8,
    within: u8,
    /// When T310 is over.
    fails: Option<Duration>,
}

impl Monitor {
    pub fn new(config: &FailureConfig) -> Self {
        Self {
            q_out_db: config.q_out.as_db(),
            q_in_db: config.q_in.as_db(),
            n310: config.n310,
            n311: config.n311,
            t310: config.t310,
            heard: VecDeque::with_capacity(OUT_FRAMES),
            out: 0,
            within: 0,
            fails: None,
        }
    }

    /// SINR in a frame, dB. Returns when the link has failed, if it has by now.
    pub fn hear(&mut self, now: Duration, sinr_db: f64) -> Option<Duration> {
        if let Some(at) = self.fails.filter(|at| *at <= now) {
            return Some(at);
        }
        self.heard.truncate(OUT_FRAMES - 1);
        self.heard.push_front(sinr_db);
        let mean = |frames: usize| self.heard.iter().take(frames).sum::<f64>() / frames as f64;
        if self.heard.len() >= OUT_FRAMES && mean(OUT_FRAMES) < self.q_out_db {
            self.out = self.out.saturating_add(1);
            self.within = 0;
            if self.fails.is_none() && self.out >= self.n310 {
                self.fails = Some(now + self.t310);
            }
        } else if self.heard.len() >= IN_FRAMES && mean(IN_FRAMES) > self.q_in_db {
            self.within = self.within.saturating_add(1);
            self.out = 0;
            if self.within >= self.n311 {
                self.fails = None;
            }
        }
        self.fails.filter(|at| *at <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Returns when a link with these SINRs, each for so many milliseconds, fails.
    fn fails(config: &FailureConfig, parts: &[(f64, u64)]) -> Option<Duration> {
        let mut monitor = Monitor::new(config);
        let frames = parts.iter().flat_map(|(sinr_db, millis)| (0..millis / 10).map(|_| *sinr_db));
        (0..).zip(frames).find_map(|(frame, sinr_db)| monitor.hear(ms(10 * frame), sinr_db))
    }

    /// From 0 dB to -10 dB at 1000 ms. The mean of 20 frames is -0.5 n dB after n of them: below -8 dB with the 17th, at
    /// 1160 ms, where T310 starts.
    #[test]
    fn a_link_fails_t310_after_the_mean_has_fallen_below_q_out() {
        let config = FailureConfig::default();
        assert_eq!(fails(&config, &[(0.0, 1000), (-10.0, 2000)]), Some(ms(2160)));
        // Four more indications.
        let patient = FailureConfig { n310: 5, ..config.clone() };
        assert_eq!(fails(&patient, &[(0.0, 1000), (-10.0, 2000)]), Some(ms(2200)));
        // Between Qout and Qin nothing happens.
        assert_eq!(fails(&config, &[(-7.0, 5000)]), None);
    }

    /// T310 runs from 1160 ms on. At 2000 ms the SINR is 0 dB again: the mean of ten frames is -10 + n dB, above -6 dB with
    /// the fifth, at 2040 ms; a second later it would have been too late.
    #[test]
    fn a_link_that_comes_back_stops_t310() {
        let config = FailureConfig::default();
        assert_eq!(fails(&config, &[(0.0, 1000), (-10.0, 1000), (0.0, 3000)]), None);
        let slow = FailureConfig { n311: 20, ..config.clone() };
        assert_eq!(fails(&slow, &[(0.0, 1000), (-10.0, 1000), (0.0, 3000)]), Some(ms(2160)));
    }
}
