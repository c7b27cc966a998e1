//! ECN: RFC 9000 (13.4), RFC 9002 (7.1).
//!
//! An endpoint marks its packets as ECN-capable, and counts the ECN fields of the packets that arrive, by packet number space.
//! Its ACKs report the counts once one is not zero. CE is congestion, like a loss: once per round trip. ACKs are also the
//! validation (13.4.2.1): where counts are missing or cannot be right, the path changes the field, and the endpoint stops to
//! mark.
//!
//! Left out: the test of a path by its first packets (13.4.2, A.4), which finds paths that drop packets with ECT; none does here.

use super::frame::{Counts, Space};
use crate::packet::Packet;
use crate::tcp::Config;
use serde::Serialize;

/// Counters of ECN at an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EcnReport {
    /// Packets that arrived here, by ECN field.
    pub arrived: Counts,
    /// Packets sent from here that arrived with CE, as reported by the peer.
    pub marked: u64,
    /// Reductions of the congestion window for marks.
    pub reductions: u64,
    /// Whether nothing has shown that the path changes the ECN field.
    pub is_valid: bool,
}

/// News of an ACK.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Its packet number space.
    pub space: Space,
    /// Whether it raises the largest acknowledged number.
    pub raises_largest: bool,
    /// Newly acknowledged packets that were sent with ECT.
    pub newly_acked: u64,
    /// Its counts, if it has any.
    pub counts: Option<Counts>,
}

/// The half of the sender.
#[derive(Clone, Debug)]
pub struct Sending {
    /// Code point of packets that can be marked.
    ect: u8,
    /// Whether packets are sent with it.
    is_valid: bool,
    /// Packets sent with it, by packet number space.
    sent: [u64; 3],
    /// The latest counts of the peer.
    told: [Counts; 3],
}

impl Sending {
    /// If the scenario has ECN.
    pub fn new(config: &Config) -> Option<Self> {
        use crate::tcp::ecn::Ecn;
        let ect = if config.ecn.is_accurate() { config.cc.ect() } else { Packet::ECT_0 };
        let sending = Self { ect, is_valid: true, sent: [0; 3], told: [Counts::default(); 3] };
        (config.ecn != Ecn::Off).then_some(sending)
    }

    /// The ECN field of the next datagram.
    pub fn field(&self) -> u8 {
        if self.is_valid { self.ect } else { Packet::NOT_ECT }
    }

    /// A packet is sent with that field.
    pub fn on_sent(&mut self, space: Space) {
        self.sent[space as usize] += u64::from(self.is_valid);
    }

    /// An ACK arrived. Returns the packets newly reported with CE.
    pub fn on_ack(&mut self, ack: &Ack) -> u64 {
        // An older ACK may have lower counts: (13.4.2.1).
        if !self.is_valid || !ack.raises_largest {
            return 0;
        }
        let (told, counts) = (self.told[ack.space as usize], ack.counts.unwrap_or_default());
        let more = |count: fn(&Counts) -> u64| count(&counts).saturating_sub(count(&told));
        let marked = more(|of| of.ce);
        let arrived = counts.of(self.ect).saturating_sub(told.of(self.ect)) + marked;
        let other = if self.ect == Packet::ECT_1 { counts.ect0 } else { counts.ect1 };
        self.is_valid =
            arrived >= ack.newly_acked && counts.of(self.ect) <= self.sent[ack.space as usize] && other == 0;
        if !self.is_valid {
            return 0;
        }
        if ack.counts.is_some() {
            self.told[ack.space as usize] = counts;
        }
        marked
    }

    /// Adds what the sender knows.
    pub fn report(&self, arrived: Counts, reductions: u64) -> EcnReport {
        let marked = self.told.iter().map(|counts| counts.ce).sum();
        EcnReport { arrived, marked, reductions, is_valid: self.is_valid }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::ecn::Ecn;

    fn sending(sent: u64) -> Sending {
        let config = Config { ecn: Ecn::Classic, ..Config::default() };
        let Some(mut sending) = Sending::new(&config) else { unreachable!("ECN is on") };
        (0..sent).for_each(|_| sending.on_sent(Space::Data));
        sending
    }

    fn ack(newly_acked: u64, counts: Option<(u64, u64, u64)>) -> Ack {
        let counts = counts.map(|(ect0, ect1, ce)| Counts { ect0, ect1, ce });
        Ack { space: Space::Data, raises_largest: true, newly_acked, counts }
    }

    #[test]
    fn counts_that_explain_all_packets_are_valid_and_their_growth_is_the_marks() {
        let mut of = sending(6);
        assert_eq!(of.on_ack(&ack(2, Some((2, 0, 0)))), 0);
        assert_eq!(of.on_ack(&ack(3, Some((3, 0, 2)))), 2);
        // The peer has seen a packet whose ACK was lost: more than newly acknowledged is fine.
        assert_eq!(of.on_ack(&ack(0, Some((4, 0, 2)))), 0);
        assert_eq!((of.field(), of.report(Counts::default(), 0).marked), (Packet::ECT_0, 2));
    }

    #[test]
    fn validation_fails_by_each_rule_of_rfc_9000_13_4_2_1() {
        // No counts, too few of them, more than were sent, and a code point that was never sent.
        let wrong = [ack(1, None), ack(3, Some((1, 0, 1))), ack(1, Some((7, 0, 0))), ack(1, Some((1, 1, 0)))];
        for ack in wrong {
            let mut of = sending(6);
            assert_eq!((of.on_ack(&ack), of.field()), (0, Packet::NOT_ECT), "{ack:?}");
            // It stays off.
            assert_eq!(of.on_ack(&self::ack(1, Some((2, 0, 2)))), 0);
        }
    }

    #[test]
    fn an_ack_that_does_not_raise_the_largest_number_proves_nothing() {
        let mut of = sending(6);
        assert_eq!(of.on_ack(&ack(4, Some((2, 0, 2)))), 2);
        let late = Ack { raises_largest: false, ..ack(1, Some((1, 0, 1))) };
        assert_eq!((of.on_ack(&late), of.field()), (0, Packet::ECT_0));
    }

    #[test]
    fn prague_sends_ect_1() {
        use crate::tcp::cc;
        let cc = cc::Config::Prague(cc::prague::Config::default());
        let config = Config { ecn: Ecn::Accurate, cc, ..Config::default() };
        assert_eq!(Sending::new(&config).map(|sending| sending.field()), Some(Packet::ECT_1));
    }
}
