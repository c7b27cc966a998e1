//! ACK aggregation: the bytes that ACKs report in excess of the bandwidth are added to the window, so the sender does
//! not stall while the next batch of ACKs is in transit.
//!
//! An epoch starts whenever the bandwidth accounts for all bytes acknowledged. The largest excess of five to ten rounds
//! counts, up to what the bandwidth delivers in 100 ms.

use crate::tcp::cc::model::PathAck;
use crate::time::Instant;

/// Rounds after which the older of two maxima is forgotten.
const ROUNDS: u32 = 5;
/// An epoch ends when this many bytes were acknowledged in it: the 2^20 segments of Linux, of 1448 bytes.
const LONGEST: f64 = 1_048_576.0 * 1448.0;
/// Seconds of the bandwidth that are added at most.
const MOST_SECONDS: f64 = 0.1;

/// Excess of ACKs over the bandwidth, bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    epoch: Instant,
    acked: f64,
    maxima: [f64; 2],
    current: usize,
    rounds: u32,
}

impl Aggregation {
    /// A new epoch begins.
    pub fn restart(&mut self, now: Instant) {
        (self.epoch, self.acked) = (now, 0.0);
    }

    /// An ACK with a sample arrived.
    pub fn on_ack(&mut self, ack: &PathAck, begins_round: bool, bw: f64, cwnd: f64) {
        if ack.newly_acked == 0 {
            return;
        }
        if begins_round {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.maxima[self.current] = 0.0;
            }
        }
        let newly = ack.newly_acked as f64;
        let mut expected = bw * ack.delivered_at.since(self.epoch).as_secs_f64();
        if self.acked <= expected || self.acked + newly >= LONGEST {
            self.restart(ack.delivered_at);
            expected = 0.0;
        }
        self.acked += newly;
        let extra = (self.acked - expected).min(cwnd);
        self.maxima[self.current] = self.maxima[self.current].max(extra);
    }

    /// The largest excess of late.
    pub fn most(&self) -> f64 {
        self.maxima[0].max(self.maxima[1])
    }

    /// Allowance added to the window.
    pub fn allowance(&self, bw: f64) -> f64 {
        self.most().min(MOST_SECONDS * bw)
    }
}
