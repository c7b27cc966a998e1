//! Westwood+: Westwood with one bandwidth sample per round trip.
//!
//! L. A. Grieco, S. Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP Congestion
//! Control", ACM Computer Communication Review 34(2), 2004. A sample is the bytes delivered during a round trip, and
//! the estimate is 7/8 of the previous one plus 1/8 of the sample. ACKs compressed by a queue on the reverse path,
//! which Westwood mistakes for a fast path, have no effect. The reduction after a loss is that of [`super::westwood`].
//!
//! ASSUMED: a round trip is as long as the last sample of its time, and ends with the first ACK after it;
//! the first estimate is the first sample; a silence is part of the sample that it ends in.

use super::westwood::{AckedCount, ssthresh};
use super::{Component, CongestionControl, reno};
use crate::registry::parameters;
use crate::tcp::window::state::{State, Window};
use crate::time::{Duration, Instant};

parameters! {
    /// Westwood with one sample of the rate in each round trip: Grieco and Mascolo, CCR 2004.
    pub struct Config {}
}

impl Component for Config {
    fn build(&self) -> Box<dyn CongestionControl> {
        Box::<WestwoodPlus>::default()
    }

    fn keeps_smaller_window(&self) -> bool {
        true
    }
}

#[derive(Default)]
struct WestwoodPlus {
    /// When the present round trip began; `None` before the first ACK.
    since: Option<Instant>,
    /// Delivered in it, bytes.
    bytes: u64,
    /// The estimate, B/s.
    estimate: Option<f64>,
    rtt: Duration,
    rtt_min: Option<Duration>,
    acked_count: AckedCount,
}

impl CongestionControl for WestwoodPlus {
    fn on_ack(&mut self, window: &mut Window, acked: u64) {
        reno::grow(window, acked);
    }

    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        ssthresh(self.estimate, self.rtt_min, state)
    }

    fn measures(&self) -> bool {
        true
    }

    fn on_rtt_sample(&mut self, rtt: Duration) {
        self.rtt = rtt;
        self.rtt_min = Some(self.rtt_min.map_or(rtt, |min| min.min(rtt)));
    }

    fn on_arrival(&mut self, now: Instant, state: &mut State, acked: u64) {
        let delivered = self.acked_count.delivered(acked, state.window.mss as u64);
        let Some(since) = self.since else {
            self.since = Some(now);
            return;
        };
        self.bytes += delivered;
        let span = now.since(since);
        if span.is_zero() || span < self.rtt {
            return;
        }
        let sample = self.bytes as f64 / span.as_secs_f64();
        self.estimate = Some(self.estimate.map_or(sample, |before| before * 7.0 / 8.0 + sample / 8.0));
        self.since = Some(now);
        self.bytes = 0;
    }
}
