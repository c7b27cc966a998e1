//! Delivery rate: the rate of acknowledged data, and from it the rate of the bottleneck.
//!
//! Rates are measured over stretches of a minimum number of ACKs and at least the minimum RTT, with data in flight all
//! the time, so bursts of ACKs have little weight. The bottleneck's rate is the 95th percentile over time; if the rate
//! varies, this is near its maximum. A connection that never fills the link shows less: an estimate from below.

use std::collections::VecDeque;

use airpath_core::time::{Duration, Instant};
use serde::Serialize;

use crate::sketch::Sketch;

/// ACKs in a stretch.
const FEWEST: usize = 16;
const MOST: usize = 256;

/// The rate of delivery.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    /// Times of ACKs, with the bytes acknowledged by then.
    latest: VecDeque<(Instant, u64)>,
    rates: Sketch,
}

/// Rates of delivery as reported, payload only, bit/s.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub bottleneck_bps: Option<f64>,
    /// Half of the time with data in flight had less.
    pub median_bps: Option<f64>,
    /// Stretches measured.
    pub samples: u64,
}

impl Delivery {
    /// Everything up to `una` is acknowledged now.
    pub fn on_ack(&mut self, now: Instant, una: u64, shortest_rtt: Option<Duration>) {
        let since = self.latest.back().map_or(Duration::ZERO, |(before, _)| now.since(*before));
        self.latest.push_back((now, una));
        if self.latest.len() > MOST {
            self.latest.pop_front();
        }
        let span = shortest_rtt.unwrap_or_default();
        while self.latest.len() > FEWEST + 1
            && self.latest.get(1).is_some_and(|(at, _)| now.since(*at) >= span)
        {
            self.latest.pop_front();
        }
        if self.latest.len() > FEWEST
            && let Some(&(from, acked)) = self.latest.front()
            && (now.since(from) >= span || self.latest.len() == MOST)
        {
            let seconds = now.since(from).as_secs_f64();
            self.rates.add_weighted((una - acked) as f64 * 8.0 / seconds, since.as_secs_f64());
        }
    }

    /// Nothing is in flight: a new stretch starts.
    pub fn pause(&mut self) {
        self.latest.clear();
    }

    pub fn report(&self) -> Report {
        Report {
            bottleneck_bps: self.rates.quantile(0.95),
            median_bps: self.rates.quantile(0.5),
            samples: self.rates.count(),
        }
    }

    pub fn bytes(&self) -> usize {
        16 * self.latest.capacity() + self.rates.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bottleneck_is_what_is_rarely_exceeded() {
        let mut delivery = Delivery::default();
        let mut at = 0;
        for packet in 1..=2000_u64 {
            // 1000 bytes each 20 ms; every hundredth ACK waits for 100 ms and takes five with it.
            let held = packet % 100 < 5;
            at = if held { packet / 100 * 100 * 20 + 100 } else { packet * 20 } * 1_000_000;
            delivery.on_ack(Instant::from_nanos(at), packet * 1000, Some(Duration::from_millis(400)));
        }
        assert!(at > 0);
        let report = delivery.report();
        let bottleneck = report.bottleneck_bps.expect("rates");
        assert!((bottleneck / 400_000.0 - 1.0).abs() < 0.2, "{bottleneck}");
        assert!((report.median_bps.expect("rates") / 400_000.0 - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_pause_is_in_no_stretch() {
        let mut delivery = Delivery::default();
        for packet in 1..=17_u64 {
            delivery.on_ack(Instant::from_nanos(packet * 1_000_000), packet * 1000, None);
        }
        delivery.pause();
        for packet in 18..=40_u64 {
            delivery.on_ack(Instant::from_nanos((packet + 60_000) * 1_000_000), packet * 1000, None);
        }
        let report = delivery.report();
        assert_eq!(report.samples, 1 + 23 - 16);
        assert!((report.median_bps.expect("rates") / 8e6 - 1.0).abs() < 0.01);
    }
}
