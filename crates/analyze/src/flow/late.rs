//! Segments that arrive late at the place of the capture: overtaken, or retransmitted because they were lost before it.
//!
//! A segment that fills a gap was **overtaken** if its timestamp is older than that of the segment after the gap, or
//! equal, if the clock ticks more than once per round trip. Without conclusive timestamps, it was overtaken if it
//! arrives within half of the minimum RTT (3 ms if unknown) and before three duplicate ACKs for the gap have passed.
//! Otherwise it was lost before the place of the capture, and is a retransmission. The extent is that of RFC 4737
//! (4.2): the number of segments that arrived between the first one after the gap and this one.

use airpath_core::time::{Duration, Instant};
use serde::Serialize;

use super::pieces::Piece;

const WITHOUT_RTT: Duration = Duration::from_millis(3);
const THRESHOLD: u64 = 3;

/// Segments overtaken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Late {
    overtaken: u64,
    extents: u64,
    max_extent: u64,
    max_lateness: Duration,
    from_acks: u64,
    /// The sender's clock: the first timestamp of its data and the newest, and when each came.
    clock: Option<[(u32, Instant); 2]>,
}

/// Reordering as reported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Segments that came here late and are no retransmissions.
    pub late_segments: u64,
    /// Share of all segments with data.
    pub share: Option<f64>,
    /// Mean of the segments that overtook them.
    pub mean_extent: Option<f64>,
    /// Most segments that overtook one.
    pub max_extent: u64,
    /// Maximum time after the first overtaking segment, ms.
    pub max_lateness_ms: f64,
    /// Bytes that, according to the receiver's SACK blocks, arrived after later ones and were not retransmitted:
    /// reordering between here and the receiver.
    pub late_bytes_by_sack: u64,
}

/// A segment that fills a gap.
#[derive(Clone, Copy, Debug)]
pub struct Filling {
    pub at: Instant,
    /// Its number among those with data.
    pub number: u64,
    pub tsval: Option<u32>,
    /// Duplicate ACKs for the gap so far.
    pub dupacks: u64,
    pub shortest_rtt: Option<Duration>,
}

impl Late {
    /// The sender's data passes: updates the estimate of its timestamp clock.
    pub fn on_data(&mut self, now: Instant, timestamps: Option<(u32, u32)>) {
        let Some((tsval, _)) = timestamps else { return };
        let [_, newest] = self.clock.get_or_insert([(tsval, now); 2]);
        if (tsval.wrapping_sub(newest.0) as i32) > 0 {
            *newest = (tsval, now);
        }
    }

    /// Whether the clock is known to have ticked within a round trip.
    fn ticks_within(&self, now: Instant, rtt: Option<Duration>) -> bool {
        let Some([(first, from), (newest, _)]) = self.clock else { return false };
        let ticks = u64::from(newest.wrapping_sub(first));
        let Some(tick) = now.since(from).as_nanos().checked_div(ticks) else { return false };
        rtt.is_none_or(|rtt| tick < rtt.as_nanos())
    }

    /// Whether the segment was overtaken by the one after its gap; if so, it is counted.
    pub fn handle_filling(&mut self, filling: &Filling, behind: &Piece) -> bool {
        let lateness = filling.at.since(behind.first_at);
        let within = filling.shortest_rtt.map_or(WITHOUT_RTT, |rtt| Duration::from_nanos(rtt.as_nanos() / 2));
        let is_overtaken = match (filling.tsval, behind.tsval) {
            (Some(own), Some(other)) if own != other => (own.wrapping_sub(other) as i32) < 0,
            (Some(_), Some(_)) if self.ticks_within(filling.at, filling.shortest_rtt) => true,
            _ => lateness <= within && filling.dupacks < THRESHOLD,
        };
        if is_overtaken {
            let extent = filling.number.saturating_sub(behind.number);
            self.overtaken += 1;
            self.extents += extent;
            self.max_extent = self.max_extent.max(extent);
            self.max_lateness = self.max_lateness.max(lateness);
        }
        is_overtaken
    }

    /// The receiver's reports show that this many bytes came late.
    pub fn on_late_bytes(&mut self, bytes: u64) {
        self.from_acks += bytes;
    }

    /// Report so far, given `segments` segments with data.
    pub fn report(&self, segments: u64) -> Report {
        Report {
            late_segments: self.overtaken,
            share: (segments > 0).then(|| self.overtaken as f64 / segments as f64),
            mean_extent: (self.overtaken > 0).then(|| self.extents as f64 / self.overtaken as f64),
            max_extent: self.max_extent,
            max_lateness_ms: self.max_lateness.as_secs_f64() * 1e3,
            late_bytes_by_sack: self.from_acks,
        }
    }
}
