//! Policers: where two intervals in a row, of 4 to 16 rounds each, lose a fifth or more at about the same rate, that rate
//! is the bandwidth for 48 rounds.

use crate::tcp::cc::model::{PathAck, RateSample};
use crate::time::Instant;

/// Rounds of an interval: minimum, and the maximum before its losses are attributed to another cause.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// Share of the delivered bytes that an interval must lose.
const LOSS: f64 = 50.0 / 256.0;
/// Two rates are alike within this part, or this many B/s.
const ALIKE: f64 = 1.0 / 8.0;
const ALIKE_RATE: f64 = 4000.0 / 8.0;
/// Rounds for which the rate is kept.
const KEEP_ROUNDS: u32 = 48;

/// Long-term sampling of the bandwidth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    is_sampling: bool,
    rounds: u32,
    begun_at: Instant,
    /// Delivered and lost when the interval began, bytes.
    begun: (u64, u64),
    /// Rate of the interval before, B/s; 0 if there was none.
    rate: f64,
    is_in_force: bool,
    timed_out: bool,
}

impl Policer {
    /// The rate of the policer, B/s, while there seems to be one.
    pub fn rate(&self) -> Option<f64> {
        self.is_in_force.then_some(self.rate)
    }

    /// Starts over.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// The retransmission timer expired: the next ACK counts as one with losses.
    pub fn on_timeout(&mut self) {
        self.timed_out = true;
    }

    fn begin_interval(&mut self, ack: &PathAck) {
        (self.rounds, self.begun_at, self.begun) = (0, ack.delivered_at, (ack.delivered, ack.lost));
    }

    /// An ACK with a sample arrived. Returns whether the rate has been kept long enough, so probing restarts.
    pub fn on_ack(&mut self, ack: &PathAck, sample: &RateSample, begins_round: bool, probes: bool) -> bool {
        let has_losses = std::mem::take(&mut self.timed_out) || ack.newly_lost > 0;
        if self.is_in_force {
            self.rounds += u32::from(probes && begins_round);
            let is_over = self.rounds >= KEEP_ROUNDS;
            if is_over {
                self.reset();
            }
            return is_over;
        }
        if !self.is_sampling {
            if !has_losses {
                return false;
            }
            self.begin_interval(ack);
            self.is_sampling = true;
        }
        if sample.is_app_limited {
            self.reset();
            return false;
        }
        self.rounds += u32::from(begins_round);
        if self.rounds > MOST_ROUNDS {
            self.reset();
        } else if self.rounds >= LEAST_ROUNDS && has_losses {
            self.judge(ack);
        }
        false
    }

    /// A loss ends an interval that is long enough.
    fn judge(&mut self, ack: &PathAck) {
        let (delivered, lost) = (ack.delivered - self.begun.0, ack.lost - self.begun.1);
        let time = ack.delivered_at.since(self.begun_at);
        if delivered == 0 || (lost as f64) < LOSS * delivered as f64 || time.as_nanos() < 1_000_000 {
            return;
        }
        let rate = delivered as f64 / time.as_secs_f64();
        let difference = (rate - self.rate).abs();
        if self.rate > 0.0 && (difference <= ALIKE * self.rate || difference <= ALIKE_RATE) {
            (self.rate, self.is_in_force, self.rounds) = ((rate + self.rate) / 2.0, true, 0);
            return;
        }
        self.rate = rate;
        self.begin_interval(ack);
    }
}
