//! Received bytes of a stream: all before `rcv_nxt`, and ranges above gaps.
//!
//! Offsets count bytes of the stream from zero and never wrap.

/// Received bytes of a stream.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    rcv_nxt: u64,
    /// Ranges received beyond `rcv_nxt`: sorted, disjoint, not touching.
    ranges: Vec<(u64, u64)>,
}

/// Effect of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The bytes that were expected next, while nothing was missing.
    InOrder,
    /// The bytes expected next; later ones had arrived before them.
    FillsGap,
    /// New bytes beyond a gap.
    OutOfOrder,
    /// Only duplicate data, above a gap.
    DuplicateOutOfOrder,
    /// Only duplicate data.
    Duplicate,
}

impl Reassembly {
    /// Next byte expected: all before it have arrived.
    #[inline]
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// Number of received ranges above a gap.
    pub fn gaps(&self) -> usize {
        self.ranges.len()
    }

    /// Bytes from the next expected one to the end of the last range; 0 if nothing is missing.
    pub fn beyond_gaps(&self) -> u64 {
        self.ranges.last().map_or(0, |range| range.1 - self.rcv_nxt)
    }

    /// Bytes in these ranges.
    pub fn out_of_order_bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.1 - range.0).sum()
    }

    /// The range beyond a gap that holds byte `offset`.
    pub fn range_of(&self, offset: u64) -> Option<(u64, u64)> {
        let index = self.ranges.partition_point(|range| range.1 <= offset);
        self.ranges.get(index).copied().filter(|range| range.0 <= offset)
    }

    /// The first run of bytes from `start` to before `end` that have arrived already.
    pub fn first_known(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        if start < self.rcv_nxt {
            return Some((start, end.min(self.rcv_nxt)));
        }
        let index = self.ranges.partition_point(|range| range.1 <= start);
        let range = self.ranges.get(index).filter(|range| range.0 < end)?;
        Some((range.0.max(start), range.1.min(end)))
    }

    /// The bytes from `start` to before `end` have arrived.
    #[inline]
    pub fn handle(&mut self, start: u64, end: u64) -> Arrival {
        if end <= self.rcv_nxt {
            return Arrival::Duplicate;
        }
        if start > self.rcv_nxt {
            return self.insert(start, end);
        }
        self.rcv_nxt = end;
        if self.ranges.is_empty() {
            return Arrival::InOrder;
        }
        self.advance();
        Arrival::FillsGap
    }

    /// Adds a range beyond a gap, joined with those it touches.
    fn insert(&mut self, mut start: u64, mut end: u64) -> Arrival {
        let from = self.ranges.partition_point(|range| range.1 < start);
        let to = self.ranges.partition_point(|range| range.0 <= end);
        if from < to {
            start = start.min(self.ranges[from].0);
            end = end.max(self.ranges[to - 1].1);
        }
        let is_known = to == from + 1 && self.ranges[from] == (start, end);
        self.ranges.splice(from..to, [(start, end)]);
        if is_known { Arrival::DuplicateOutOfOrder } else { Arrival::OutOfOrder }
    }

    /// Moves `rcv_nxt` over the ranges that it has reached.
    fn advance(&mut self) {
        let reached = self.ranges.partition_point(|range| range.0 <= self.rcv_nxt);
        for (_, end) in self.ranges.drain(..reached) {
            self.rcv_nxt = self.rcv_nxt.max(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_knows_what_has_arrived_like_a_list_of_bytes(
            segments in prop::collection::vec((0..60_u64, 1..12_u64), 1..40)
        ) {
            let (mut reassembly, mut bytes) = (Reassembly::default(), [false; 80]);
            for (start, len) in segments {
                let is_new = bytes[start as usize..(start + len) as usize].contains(&false);
                bytes[start as usize..(start + len) as usize].fill(true);
                let known = (start..start + len).find(|byte| {
                    let before = reassembly.range_of(*byte).is_some();
                    *byte < reassembly.rcv_nxt() || before
                });
                let first = reassembly.first_known(start, start + len);
                prop_assert_eq!(first.map(|(left, _)| left), known);
                let arrival = reassembly.handle(start, start + len);
                prop_assert_eq!(is_new, !matches!(arrival, Arrival::Duplicate | Arrival::DuplicateOutOfOrder));
                let expected = bytes.iter().position(|there| !there).unwrap_or(bytes.len());
                prop_assert_eq!(reassembly.rcv_nxt(), expected as u64);
                let beyond = bytes[expected..].windows(2).filter(|pair| !pair[0] && pair[1]).count();
                prop_assert_eq!(reassembly.gaps(), beyond);
            }
        }
    }
}
