//! Proportional rate reduction: how much a sender may send with each ACK of a fast recovery, so that the window is
//! at the threshold when the recovery ends and ACKs clock data out until then. RFC 9937 (6).
//!
//! While more is in the network than the threshold, the data sent is to the data delivered as the threshold to the flight
//! size before (the proportional part). Below it, as much is sent as is delivered (the conservative bound, CRB), and a
//! segment more with an ACK that advances and shows no other loss (the slow start bound, SSRB, for such a
//! `safe` ACK).

/// The variables of one recovery, bytes.
#[derive(Clone, Debug, Default)]
pub struct Prr {
    delivered: u64,
    out: u64,
    recover_fs: u64,
}

/// Progress reported by an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// DeliveredData: bytes acknowledged or SACKed for the first time.
    pub delivered: u64,
    /// `inflight`: bytes thought to be in the network.
    pub in_flight: u64,
    /// The ACK advances, and shows no further loss.
    pub is_safe: bool,
}

impl Prr {
    /// A recovery begins with `recover_fs` bytes in flight: RecoverFS.
    pub fn new(recover_fs: u64) -> Self {
        Self { recover_fs: recover_fs.max(1), ..Self::default() }
    }

    /// An ACK that starts the recovery or arrives during it. Returns the bytes that may be sent now (`SndCnt`).
    pub fn on_ack(&mut self, ssthresh: u64, mss: u64, ack: Progress) -> u64 {
        self.delivered += ack.delivered;
        let allowed = if ack.in_flight > ssthresh {
            let share = u128::from(self.delivered) * u128::from(ssthresh);
            (share.div_ceil(self.recover_fs.into()) as u64).saturating_sub(self.out)
        } else {
            let bound = self.delivered.saturating_sub(self.out).max(ack.delivered);
            (bound + if ack.is_safe { mss } else { 0 }).min(ssthresh - ack.in_flight)
        };
        // The first retransmission is sent at once.
        if self.out == 0 { allowed.max(mss) } else { allowed }
    }

    /// `bytes` were sent, new or again.
    pub fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u64 = 1000;

    fn ack(delivered: u64, in_flight: u64, is_safe: bool) -> Progress {
        Progress { delivered, in_flight, is_safe }
    }

    #[test]
    fn above_the_threshold_every_second_segment_is_answered_if_the_window_is_halved() {
        // 20 segments in flight, one lost, a threshold of ten.
        let mut prr = Prr::new(20_000);
        let mut sent = Vec::new();
        let mut in_flight = 18_000;
        for _ in 0..7 {
            let allowed = prr.on_ack(10_000, MSS, ack(1000, in_flight, false));
            let whole = allowed / MSS * MSS;
            prr.on_sent(whole);
            in_flight += whole;
            in_flight -= 1000;
            sent.push(whole);
        }
        assert_eq!(sent, [1000, 0, 0, 1000, 0, 1000, 0]);
    }

    #[test]
    fn below_the_threshold_a_safe_ack_lets_one_more_go() {
        // After a burst of losses 5 of 20 are left, the threshold is ten.
        let mut prr = Prr::new(20_000);
        assert_eq!(prr.on_ack(10_000, MSS, ack(1000, 4000, false)), 1000);
        prr.on_sent(1000);
        assert_eq!(prr.on_ack(10_000, MSS, ack(1000, 4000, true)), 2000);
        prr.on_sent(2000);
        assert_eq!(prr.on_ack(10_000, MSS, ack(1000, 5000, false)), 1000);
        // Never beyond the threshold.
        assert_eq!(prr.on_ack(10_000, MSS, ack(9000, 9500, true)), 500);
    }

    proptest! {
        /// RFC 9937 (5): no more is sent than is delivered, a segment for each safe ACK and the first one.
        #[test]
        fn sending_is_bounded_by_what_is_delivered(
            flight in 4..100_u64, threshold in 2..100_u64, lost in 0..50_u64,
            acks in prop::collection::vec((1..4_u64, prop::bool::ANY), 1..200),
        ) {
            let ssthresh = threshold.min(flight) * MSS;
            let mut in_flight = flight.saturating_sub(lost).max(1) * MSS;
            let mut prr = Prr::new(flight * MSS);
            let (mut delivered, mut sent, mut safe) = (0, 0, 0);
            for (segments, is_safe) in acks {
                let bytes = (segments * MSS).min(in_flight);
                in_flight -= bytes;
                delivered += bytes;
                safe += u64::from(is_safe);
                let is_first = sent == 0;
                let allowed = prr.on_ack(ssthresh, MSS, ack(bytes, in_flight, is_safe)) / MSS * MSS;
                prr.on_sent(allowed);
                prop_assert!(is_first || in_flight > ssthresh || in_flight + allowed <= ssthresh);
                in_flight += allowed;
                sent += allowed;
                prop_assert!(sent <= delivered + (safe + 1) * MSS, "{sent} for {delivered} and {safe}");
            }
        }
    }
}
