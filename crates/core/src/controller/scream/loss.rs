//! How often RTTs have losses: libwebrtc ignores rare ones while there is no queue, and does not grow while they are frequent.

use super::delay::since_s;
use crate::time::Instant;

/// Weight of an RTT with losses, and of one without.
const GAINS: (f64, f64) = (0.1, 0.2);
const RARE_BELOW: f64 = 0.25;
const FREQUENT_FROM: f64 = 0.1;

/// Average share of RTTs that have losses.
#[derive(Default)]
pub struct LossEvents {
    rate: f64,
    this_rtt: bool,
    updated: Option<Instant>,
}

impl LossEvents {
    /// Feedback arrived, with losses or without.
    pub fn update(&mut self, now: Instant, lost: bool, rtt_s: f64) {
        self.this_rtt |= lost;
        if since_s(now, self.updated) < rtt_s {
            return;
        }
        let gain = if self.this_rtt { GAINS.0 } else { GAINS.1 };
        self.rate += gain * (f64::from(u8::from(self.this_rtt)) - self.rate);
        (self.updated, self.this_rtt) = (Some(now), false);
    }

    /// Whether losses may have nothing to do with the rate.
    pub fn is_rare(&self) -> bool {
        self.rate < RARE_BELOW
    }

    /// Whether the window must not grow.
    pub fn is_frequent(&self) -> bool {
        self.rate >= FREQUENT_FROM
    }
}
