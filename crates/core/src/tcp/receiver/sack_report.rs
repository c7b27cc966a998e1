//! SACK blocks of a receiver: received ranges, RFC 2018 (4), and duplicates, RFC 2883 (4).
//!
//! The first block is the range that the latest segment fell into, followed by the ranges reported most recently. The
//! number sent is limited to [`SackBlocks::MAX`]; a fourth, possible without timestamps, is left out. A duplicate is
//! reported once, in front of the others; of a segment with several duplicate parts the first is reported.

use super::reassembly::Reassembly;
use crate::packet::SackBlocks;

/// The ranges beyond a gap in the order in which they are reported.
#[derive(Clone, Debug, Default)]
pub struct SackReport {
    reports_duplicates: bool,
    /// All ranges beyond gaps, the one that changed last first.
    ranges: Vec<(u64, u64)>,
    /// The duplicate part of the latest segment.
    duplicate: Option<(u64, u64)>,
    /// The duplicate that the ACK being written reports.
    reported: Option<(u64, u64)>,
}

impl SackReport {
    /// An empty report.
    pub fn new(reports_duplicates: bool) -> Self {
        Self { reports_duplicates, ..Self::default() }
    }

    /// A segment is about to be processed.
    #[inline]
    pub fn before_segment(&mut self, arrived: &Reassembly, start: u64, end: u64) {
        self.duplicate = if self.reports_duplicates { arrived.first_known(start, end) } else { None };
    }

    /// The segment that starts at `start` has been processed.
    #[inline]
    pub fn after_segment(&mut self, arrived: &Reassembly, start: u64) {
        if !self.ranges.is_empty() {
            self.ranges.retain(|range| range.0 > arrived.rcv_nxt());
        }
        if let Some(latest) = arrived.range_of(start) {
            self.ranges.retain(|range| range.1 < latest.0 || range.0 > latest.1);
            self.ranges.insert(0, latest);
        }
    }

    /// An ACK is about to be sent: its report of a duplicate is not repeated.
    #[inline]
    pub fn on_ack(&mut self) {
        self.reported = self.duplicate.take();
    }

    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.reported.is_none()
    }

    /// The blocks of the ACK, as offsets.
    pub fn blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        self.reported.into_iter().chain(self.ranges.iter().copied()).take(SackBlocks::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_tell_what_has_arrived_and_the_latest_first(
            segments in prop::collection::vec((0..60_u64, 1..9_u64), 1..60), dsack: bool
        ) {
            let (mut arrived, mut report) = (Reassembly::default(), SackReport::new(dsack));
            let mut bytes = [false; 80];
            for (start, len) in segments {
                let end = start + len;
                let twice = (start..end).find(|byte| bytes[*byte as usize]);
                report.before_segment(&arrived, start, end);
                arrived.handle(start, end);
                report.after_segment(&arrived, start);
                report.on_ack();
                bytes[start as usize..end as usize].fill(true);
                let mut blocks: Vec<_> = report.blocks().collect();
                for (left, right) in &blocks {
                    prop_assert!(left < right);
                    prop_assert!(bytes[*left as usize..*right as usize].iter().all(|there| *there));
                }
                if dsack && let Some(first) = twice {
                    prop_assert_eq!(blocks.remove(0).0, first);
                }
                let rcv_nxt = arrived.rcv_nxt();
                if start > rcv_nxt {
                    prop_assert!(blocks[0].0 <= start && end <= blocks[0].1);
                }
                for (left, right) in blocks {
                    prop_assert!(left > rcv_nxt && !bytes[left as usize - 1] && !bytes[right as usize]);
                }
            }
        }
    }
}
