//! VT(DAT): how often PDUs were scheduled for transmission (TS 25.322 §9.4).

use crate::rlc::ranges::SnRange;

/// VT(DAT) of the PDUs that were scheduled again, as sorted runs; that of all others is 1, so that nothing is
/// done for them.
#[derive(Debug, Default)]
pub struct VtDat(Vec<(SnRange, u32)>);

impl VtDat {
    /// Counts PDUs scheduled again. Returns the last of them whose count has reached `max`.
    pub fn count(&mut self, sns: SnRange, max: u32) -> Option<u64> {
        let from = self.0.partition_point(|(held, _)| held.end <= sns.first);
        let to = self.0.partition_point(|(held, _)| held.first < sns.end);
        let mut parts = Vec::new();
        let mut reached = None;
        let mut push = |first: u64, end: u64, count: u32| {
            if first < end {
                parts.push((SnRange::new(first, end), count));
            }
        };
        let mut at = sns.first;
        for &(held, count) in &self.0[from..to] {
            push(held.first, sns.first, count);
            push(at, held.first, 2);
            let (first, end) = (held.first.max(sns.first), held.end.min(sns.end));
            push(first, end, count + 1);
            push(sns.end, held.end, count);
            if count + 1 >= max {
                reached = Some(end - 1);
            }
            at = end;
        }
        push(at, sns.end, 2);
        if max <= 2 {
            reached = Some(sns.end - 1);
        }
        self.0.splice(from..to, parts);
        reached
    }

    /// Forgets PDUs below `sn`.
    pub fn forget_below(&mut self, sn: u64) {
        let gone = self.0.partition_point(|(held, _)| held.end <= sn);
        self.0.drain(..gone);
        if let Some((held, _)) = self.0.first_mut() {
            held.first = held.first.max(sn);
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_last_pdu_that_reaches_the_limit_is_told() {
        let mut counts = VtDat::default();
        assert_eq!(counts.count(SnRange::new(4, 8), 3), None);
        assert_eq!(counts.count(SnRange::new(7, 10), 3), Some(7));
        assert_eq!(counts.count(SnRange::new(0, 5), 3), Some(4));
        // The first retransmission is the second time.
        assert_eq!(VtDat::default().count(SnRange::new(4, 8), 2), Some(7));
    }

    proptest! {
        /// Against a count for each PDU.
        #[test]
        fn counts_as_pdu_by_pdu(
            ops in prop::collection::vec((0u64..40, 1u64..9, prop::option::of(0u64..9)), 1..60),
            max in 2u32..5,
        ) {
            let (mut runs, mut single) = (VtDat::default(), BTreeMap::new());
            let mut low = 0;
            for (first, len, forget) in ops {
                if let Some(step) = forget {
                    low = (low + step).min(30);
                    runs.forget_below(low);
                    single.retain(|&sn: &u64, _| sn >= low);
                }
                let sns = SnRange::new(first.max(low), first.max(low) + len);
                let mut reached = None;
                for sn in sns.first..sns.end {
                    let count = single.entry(sn).or_insert(1);
                    *count += 1;
                    if *count >= max {
                        reached = Some(sn);
                    }
                }
                prop_assert_eq!(runs.count(sns, max), reached);
                let held: Vec<(u64, u32)> = runs.0.iter().flat_map(|&(r, n)| (r.first..r.end).map(move |sn| (sn, n))).collect();
                prop_assert_eq!(held, single.iter().map(|(&sn, &n)| (sn, n)).collect::<Vec<_>>());
            }
        }
    }
}
