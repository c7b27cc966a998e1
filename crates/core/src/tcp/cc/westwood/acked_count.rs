//! The segments that an ACK reports as delivered, for Westwood's estimate: the procedure AckedCount of the MobiCom
//! paper.
//!
//! A duplicate ACK reports a segment that arrived out of order; the cumulative ACK that ends the gap reports these
//! again, and must count only the others. A delayed ACK counts all of its segments.

/// Bytes that duplicate ACKs have reported and no cumulative ACK has covered.
#[derive(Debug, Default)]
pub(in crate::tcp::cc) struct AckedCount {
    accounted_for: u64,
}

impl AckedCount {
    /// Bytes that an ACK for `acked` new bytes (0: a duplicate) adds to what was delivered.
    pub fn delivered(&mut self, acked: u64, mss: u64) -> u64 {
        if acked == 0 {
            self.accounted_for += mss;
            return mss;
        }
        if acked <= mss {
            return acked;
        }
        if self.accounted_for >= acked {
            // Counted before, except the segment that brought about this ACK.
            self.accounted_for -= acked;
            return mss;
        }
        acked - std::mem::take(&mut self.accounted_for)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivered(acks: &[u64]) -> Vec<u64> {
        let mut count = AckedCount::default();
        acks.iter().map(|acked| count.delivered(*acked, 1000)).collect()
    }

    #[test]
    fn a_delayed_ack_counts_all_of_its_segments() {
        assert_eq!(delivered(&[1000, 2000, 500]), [1000, 2000, 500]);
    }

    #[test]
    fn what_duplicate_acks_counted_is_not_counted_again() {
        // One of five segments was lost: four duplicates, then the retransmission closes the gap.
        assert_eq!(delivered(&[0, 0, 0, 0, 5000, 2000]), [1000, 1000, 1000, 1000, 1000, 2000]);
    }

    #[test]
    fn a_partial_ack_leaves_the_rest_accounted_for() {
        assert_eq!(delivered(&[0, 0, 0, 2000, 3000]), [1000, 1000, 1000, 1000, 2000]);
    }
}
