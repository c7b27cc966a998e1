//! Sets of sequence numbers as sorted, disjoint ranges.

/// Adjacent sequence numbers: `first` to below `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnRange {
    /// The first one.
    pub first: u64,
    /// The one after the last.
    pub end: u64,
}

impl SnRange {
    /// `first` to below `end`.
    pub const fn new(first: u64, end: u64) -> Self {
        Self { first, end }
    }

    /// How many.
    pub const fn len(self) -> u64 {
        self.end - self.first
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.first >= self.end
    }
}

/// A set of sequence numbers: sorted ranges that neither touch nor overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(Vec<SnRange>);

impl Ranges {
    /// The ranges, lowest first.
    pub fn as_slice(&self) -> &[SnRange] {
        &self.0
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The lowest sequence number.
    pub fn first(&self) -> Option<u64> {
        self.0.first().map(|range| range.first)
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|range| range.len()).sum()
    }

    /// One after the highest sequence number.
    pub fn end(&self) -> Option<u64> {
        self.0.last().map(|range| range.end)
    }

    /// Whether a number is in the set.
    #[inline]
    pub fn contains(&self, sn: u64) -> bool {
        !self.0.is_empty() && self.meets(SnRange::new(sn, sn + 1))
    }

    /// Whether any of `range` is in the set.
    pub fn meets(&self, range: SnRange) -> bool {
        let at = self.0.partition_point(|held| held.end <= range.first);
        !range.is_empty() && self.0.get(at).is_some_and(|held| held.first < range.end)
    }

    /// Whether all of `range` is in the set.
    pub fn covers(&self, range: SnRange) -> bool {
        let at = self.0.partition_point(|held| held.end <= range.first);
        range.is_empty()
            || self.0.get(at).is_some_and(|held| held.first <= range.first && range.end <= held.end)
    }

    /// Adds a range.
    pub fn insert(&mut self, range: SnRange) {
        if range.is_empty() {
            return;
        }
        if self.0.last().is_none_or(|highest| highest.end < range.first) {
            return self.0.push(range);
        }
        let from = self.0.partition_point(|held| held.end < range.first);
        let to = self.0.partition_point(|held| held.first <= range.end);
        if from == to {
            return self.0.insert(from, range);
        }
        let (first, end) = (self.0[from].first.min(range.first), self.0[to - 1].end.max(range.end));
        self.0[from] = SnRange::new(first, end);
        if from + 1 < to {
            self.0.drain(from + 1..to);
        }
    }

    /// Takes a range out.
    #[inline]
    pub fn remove(&mut self, range: SnRange) {
        // Most of what is taken out lies outside.
        if let (Some(lowest), Some(highest)) = (self.0.first(), self.0.last())
            && lowest.first < range.end
            && range.first < highest.end
        {
            self.cut_out(range);
        }
    }

    fn cut_out(&mut self, range: SnRange) {
        let from = self.0.partition_point(|held| held.end <= range.first);
        let to = self.0.partition_point(|held| held.first < range.end);
        if from >= to || range.is_empty() {
            return;
        }
        let below = SnRange::new(self.0[from].first, range.first);
        let above = SnRange::new(range.end, self.0[to - 1].end);
        let mut gone = from..to;
        if !below.is_empty() {
            self.0[gone.start] = below;
            gone.start += 1;
        }
        if !above.is_empty() {
            if gone.is_empty() {
                return self.0.insert(gone.start, above);
            }
            gone.end -= 1;
            self.0[gone.end] = above;
        }
        if !gone.is_empty() {
            self.0.drain(gone);
        }
    }

    /// Takes out the lowest range, cut to `most` sequence numbers.
    pub fn pop_first(&mut self, most: u64) -> Option<SnRange> {
        let lowest = *self.0.first()?;
        let taken = SnRange::new(lowest.first, lowest.end.min(lowest.first.saturating_add(most)));
        self.remove(taken);
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a set of single numbers.
        #[test]
        fn behaves_as_a_set(ops in prop::collection::vec((any::<bool>(), 0u64..60, 0u64..12), 1..60)) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for (add, first, len) in ops {
                let range = SnRange::new(first, first + len);
                if add {
                    ranges.insert(range);
                    set.extend(first..range.end);
                } else {
                    ranges.remove(range);
                    set.retain(|sn| !(first..range.end).contains(sn));
                }
                let members: Vec<u64> = ranges.0.iter().flat_map(|held| held.first..held.end).collect();
                prop_assert_eq!(members, set.iter().copied().collect::<Vec<_>>());
                prop_assert!(ranges.0.iter().all(|held| !held.is_empty()));
                prop_assert!(ranges.0.windows(2).all(|pair| pair[0].end < pair[1].first));
                prop_assert_eq!(ranges.contains(first), set.contains(&first));
                prop_assert_eq!(ranges.meets(range), set.range(first..range.end).next().is_some());
                prop_assert_eq!(ranges.covers(range), (first..range.end).all(|sn| set.contains(&sn)));
            }
            let lowest = set.iter().next().copied();
            prop_assert_eq!(ranges.pop_first(1).map(|range| range.first), lowest);
            prop_assert!(lowest.is_none_or(|sn| !ranges.meets(SnRange::new(sn, sn + 1))));
        }
    }
}
