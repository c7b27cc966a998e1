//! Times between consecutive ACKs, and ACK compression.
//!
//! \[chan2002\] Figures 2 and 3 show the times between ACKs. An ACK is **compressed** if the time since the previous
//! ACK is below three quarters of the time between the data that the two acknowledge: J. Mogul, "Observing TCP dynamics
//! in real networks", 1992, and V. Paxson, "End-to-end Internet packet dynamics", 1999, section 5.4, which defines the
//! factor. ASSUMED: pairs of ACKs count; Paxson requires three in a row.

use airpath_core::time::Instant;
use serde::Serialize;

use crate::sketch::{Distribution, Sketch};

const COMPRESSED: f64 = 0.75;

/// The ACKs of one direction of data.
#[derive(Clone, Debug, Default)]
pub struct Acks {
    between: Sketch,
    latest_at: Option<Instant>,
    /// Arrival of the latest ACK of new data, and first send time of that data.
    latest_pair: Option<(Instant, Instant)>,
    compared: u64,
    compressed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Times between ACKs without data, ms.
    pub between_ms: Option<Distribution>,
    /// Pairs of ACKs for data that was sent at different times.
    pub pairs: u64,
    /// Pairs of ACKs that are closer together than their data.
    pub compressed_pairs: u64,
    pub compression: Option<f64>,
}

impl Acks {
    /// An ACK without data.
    pub fn on_ack(&mut self, now: Instant) {
        if let Some(latest) = self.latest_at.replace(now) {
            self.between.add(now.since(latest).as_secs_f64());
        }
    }

    /// An ACK of new data whose last byte was sent only once, at `sent`.
    pub fn on_new_ack(&mut self, now: Instant, sent: Option<Instant>) {
        let pair = sent.map(|at| (now, at));
        if let (Some((_, data)), Some((before, data_before))) = (pair, self.latest_pair)
            && data > data_before
        {
            self.compared += 1;
            let data_s = data.since(data_before).as_secs_f64();
            self.compressed += u64::from(now.since(before).as_secs_f64() < COMPRESSED * data_s);
        }
        self.latest_pair = pair;
    }

    pub fn report(&self) -> Report {
        Report {
            between_ms: self.between.distribution(1e3),
            pairs: self.compared,
            compressed_pairs: self.compressed,
            compression: (self.compared > 0).then(|| self.compressed as f64 / self.compared as f64),
        }
    }

    pub fn bytes(&self) -> usize {
        self.between.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn an_ack_is_compressed_if_it_follows_closer_than_its_data() {
        let mut acks = Acks::default();
        // Data every 40 ms, ACKs after 30 (compared: just not compressed), 29 and 100 ms.
        for (now, sent) in [(100, 0), (130, 40), (159, 80), (259, 120)] {
            acks.on_ack(at(now));
            acks.on_new_ack(at(now), Some(at(sent)));
        }
        // Retransmitted, so the time is ambiguous; and two of one burst.
        for (now, sent) in [(300, None), (301, Some(200)), (302, Some(200))] {
            acks.on_new_ack(at(now), sent.map(at));
        }
        let report = acks.report();
        assert_eq!((report.pairs, report.compressed_pairs), (3, 1));
        let between = report.between_ms.expect("ACKs");
        assert_eq!((between.samples, between.min, between.max), (3, 29.0, 100.0));
    }
}
