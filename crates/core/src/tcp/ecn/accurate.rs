//! The counters of accurate ECN: RFC 9768 (3.2).
//!
//! A receiver counts packets that arrive with CE, and bytes of payload by ECN field. Every segment except a SYN carries
//! the packet count modulo 8 in three bits (AE, CWR, ECE: the ACE field) and, if there is room, the byte counts in an
//! option. The sender adds the least to its own counters that makes them agree.
//!
//! **Three bits wrap.** An ACK of more than seven segments may hide eight marks. Without the option the sender assumes
//! the most marks that its segments allow (Appendix A.2.1); with it the fewest that can hold the marked bytes, where
//! the example of A.2.2 assumes either the most or none of eight. **Old ACKs**, which report nothing new and have no
//! later timestamp, are not read (A.1).
//!
//! * The option is in every ACK that has room next to SACK blocks, in segments with data too, with all counters that
//!   have ever changed: more than the scheme of (3.2.3.3), so that the counters agree after the ACK of a
//!   retransmission.
//! * Without it marked bytes are packets times the size of the segments that the ACK reports (A.3). This includes an
//!   ACK without room for it: the bytes assumed then are reconciled with the next option.
//!
//! Left out: tests for ACE and options that a box has zeroed (3.2.2.4, 3.2.3.2.4) or dropped (3.2.3.2.2), and for
//! endless CE (3.2.2.3); the RFC leaves all of these to implementations.

use crate::packet::{EcnBytes, EcnOrder, Flags, Packet};
use crate::tcp::cc::Marks;
use serde::Serialize;

/// The field of three bits.
const ACE: u64 = 8;
/// The counters of the option.
const OPTION: u64 = 1 << 24;
/// Initial values, RFC 9768 (3.2.1): of the byte counters of ECT(0) and ECT(1), and of the packet counter of CE.
const FIRST_BYTES: u64 = 1;
const FIRST_PACKETS: u64 = 5;

/// Packets and bytes that arrived with a mark, from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets with CE.
    pub ce_packets: u64,
    /// Payload with CE.
    pub ce_bytes: u64,
    /// Payload with ECT(0).
    pub ect0_bytes: u64,
    /// Payload with ECT(1).
    pub ect1_bytes: u64,
}

impl Counts {
    /// A packet arrived.
    pub(super) fn count(&mut self, packet: &Packet) {
        // A FIN that `connection` has made an octet of is no payload.
        let payload = u64::from(packet.payload).saturating_sub(packet.flags.has(Flags::FIN).into());
        match packet.ecn() {
            Packet::CE => {
                self.ce_packets += 1;
                self.ce_bytes += payload;
            }
            Packet::ECT_0 => self.ect0_bytes += payload,
            Packet::ECT_1 => self.ect1_bytes += payload,
            _ => {}
        }
    }

    /// ACE.
    pub(super) fn ace(&self) -> u8 {
        ((FIRST_PACKETS + self.ce_packets) % ACE) as u8
    }

    /// The option, with all counters that have changed: (3.2.3.3). All three if none has.
    pub(super) fn option(&self) -> EcnBytes {
        let [ect0, ce, ect1] = [FIRST_BYTES + self.ect0_bytes, self.ce_bytes, FIRST_BYTES + self.ect1_bytes];
        match (self.ect0_bytes > 0, self.ce_bytes > 0, self.ect1_bytes > 0) {
            (true, false, false) => EcnBytes::new(EcnOrder::Ect0First, [ect0]),
            (_, true, false) => EcnBytes::new(EcnOrder::Ect0First, [ect0, ce]),
            (false, false, true) => EcnBytes::new(EcnOrder::Ect1First, [ect1]),
            (false, true, true) => EcnBytes::new(EcnOrder::Ect1First, [ect1, ce]),
            _ => EcnBytes::new(EcnOrder::Ect0First, [ect0, ce, ect1]),
        }
    }
}

/// The sender's counters.
#[derive(Debug, Default)]
pub(super) struct Follower {
    /// Counters as acknowledged; byte counts only where options reported them.
    pub told: Counts,
    /// Packets with CE since the last option, and the bytes assumed in them.
    assumed: (u64, u64),
    has_option: bool,
    /// The latest timestamp of an ACK that was read.
    latest: Option<u32>,
}

impl Follower {
    /// An ACK arrived that reports these segments, the last one maybe in part, and bytes for the first time.
    pub fn read(&mut self, packet: &Packet, (segments, delivered): (u64, u64), mss: u64) -> Marks {
        let ts_val = packet.has_timestamps.then_some(packet.ts_val);
        let is_later = ts_val
            .is_some_and(|ts_val| self.latest.is_none_or(|latest| ts_val.wrapping_sub(latest) as i32 > 0));
        if delivered == 0 && !is_later {
            return Marks::default();
        }
        self.latest = if is_later { ts_val } else { self.latest };
        let option = packet.options().ecn;
        let ce_bytes = self.follow_bytes(&option);
        let least = (u64::from(packet.ace()) + ACE - u64::from(self.told.ace())) % ACE;
        let (packets, bytes) = match ce_bytes {
            Some(told) => {
                let (packets, bytes) = std::mem::take(&mut self.assumed);
                self.has_option = true;
                let more = told.div_ceil(mss).saturating_sub(packets + least).next_multiple_of(ACE);
                (least + more, told.saturating_sub(bytes))
            }
            None => {
                let packets = if self.has_option { least } else { most_likely(least, segments) };
                let bytes = packets * delivered.checked_div(segments).unwrap_or(mss);
                self.assumed = (self.assumed.0 + packets, self.assumed.1 + bytes);
                (packets, bytes)
            }
        };
        self.told.ce_packets += packets;
        Marks { packets, bytes, delivered }
    }

    /// The counters, to the extent that they are known.
    pub fn counts(&self) -> Counts {
        Counts { ce_bytes: self.told.ce_bytes + self.assumed.1, ..self.told }
    }

    /// Follows the counters of an option: (3.2.3.1). Returns how many bytes with CE are new; `None` without an option. A
    /// counter that is not there has never changed.
    fn follow_bytes(&mut self, option: &EcnBytes) -> Option<u64> {
        option.order()?;
        let [ect0, ce, ect1] = option.by_mark();
        let follow = |counter: &mut u64, field: Option<u32>, first: u64| {
            let Some(field) = field else { return 0 };
            let news = (u64::from(field) + OPTION - (first + *counter) % OPTION) % OPTION;
            // Half of the range on is a step back.
            let news = if news < OPTION / 2 { news } else { 0 };
            *counter += news;
            news
        };
        follow(&mut self.told.ect0_bytes, ect0, FIRST_BYTES);
        follow(&mut self.told.ect1_bytes, ect1, FIRST_BYTES);
        Some(follow(&mut self.told.ce_bytes, ce, 0))
    }
}

/// The most marks among `segments` that are `least` modulo 8: dSafer.cep of (A.2.1).
fn most_likely(least: u64, segments: u64) -> u64 {
    if segments > least { segments - (segments - least) % ACE } else { least }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Form;

    const MSS: u64 = 1460;

    #[test]
    fn counters_begin_where_a_zeroed_field_would_show() {
        let counts = Counts::default();
        assert_eq!((counts.ace(), counts.option().by_mark()), (5, [Some(1), Some(0), Some(1)]));
    }

    #[test]
    fn the_option_has_what_has_changed_in_the_shorter_order() {
        let arrived = |marks: &[u8]| {
            let mut counts = Counts::default();
            marks.iter().for_each(|ecn| {
                counts.count(&Packet { form: Form::TCP.with_ecn(*ecn), payload: 10, ..Packet::default() })
            });
            let option = counts.option();
            (option.order(), option.as_slice().to_vec())
        };
        assert_eq!(arrived(&[2, 2]), (Some(EcnOrder::Ect0First), vec![21]));
        assert_eq!(arrived(&[2, 3]), (Some(EcnOrder::Ect0First), vec![11, 10]));
        assert_eq!(arrived(&[3]), (Some(EcnOrder::Ect0First), vec![1, 10]));
        assert_eq!(arrived(&[1]), (Some(EcnOrder::Ect1First), vec![11]));
        assert_eq!(arrived(&[1, 3]), (Some(EcnOrder::Ect1First), vec![11, 10]));
        assert_eq!(arrived(&[1, 2]), (Some(EcnOrder::Ect0First), vec![11, 0, 11]));
    }

    /// The example of A.2.1.
    #[test]
    fn without_the_option_the_most_marks_are_taken_that_the_segments_allow() {
        assert_eq!([most_likely(2, 9), most_likely(2, 10), most_likely(7, 3)], [2, 10, 7]);
    }

    /// The examples of A.2.2; and ten marks among thirty segments.
    #[test]
    fn with_the_option_the_fewest_are_taken_that_can_hold_the_bytes() {
        let packets = |least: u8, segments, ce| {
            let option = EcnBytes::new(EcnOrder::Ect0First, [1, ce]);
            let mut follower = Follower::default();
            follower.read(&ack(5 + least, 0, option), (segments, segments * MSS), MSS).packets
        };
        let read = [(0, 8, 1460), (2, 10, 1460), (7, 15, 10_200), (2, 30, 14_600)];
        assert_eq!(read.map(|(least, segments, ce)| packets(least, segments, ce)), [8, 2, 7, 10]);
    }

    #[test]
    fn an_ack_without_room_for_the_option_waits_for_the_next_one() {
        let mut follower = Follower::default();
        let mut packets = |ace, option| follower.read(&ack(ace, 0, option), (10, 10 * MSS), MSS).packets;
        let bytes = |ce: u64| EcnBytes::new(EcnOrder::Ect0First, [1, ce]);
        assert_eq!(packets(5, bytes(0)), 0);
        assert_eq!([packets(6, EcnBytes::NONE), packets(7, EcnBytes::NONE)], [1, 1]);
        assert_eq!(packets(0, bytes(11 * MSS)), 9);
    }

    fn ack(ace: u8, ts_val: u32, option: EcnBytes) -> Packet {
        let mut packet = Packet { flags: Flags::ACK, has_timestamps: true, ts_val, ..Packet::default() };
        packet.set_ace(ace);
        packet.options_mut().ecn = option;
        packet
    }

    #[test]
    fn up_to_seven_marks_an_ack_three_bits_are_right() {
        let mut follower = Follower::default();
        let mut marked = 0;
        for (segments, marks) in [(7, 7), (2, 1), (7, 0), (7, 7), (3, 2), (7, 6), (1, 1)] {
            marked += marks;
            let packet = ack(((5 + marked) % 8) as u8, 0, EcnBytes::NONE);
            let read = follower.read(&packet, (segments, segments * MSS), MSS);
            assert_eq!(read, Marks { packets: marks, bytes: marks * MSS, delivered: segments * MSS });
        }
        assert_eq!(follower.told.ce_packets, marked);
    }

    #[test]
    fn an_old_ack_is_not_read() {
        let mut follower = Follower::default();
        let mut packets =
            |ace, ts_val, delivered| follower.read(&ack(ace, ts_val, EcnBytes::NONE), delivered, MSS).packets;
        assert_eq!(packets(6, 20, (0, 0)), 1);
        assert_eq!(packets(5, 19, (0, 0)), 0);
        assert_eq!(packets(7, 20, (0, 0)), 0);
        // It reports something new, whatever its timestamp.
        assert_eq!(packets(7, 19, (1, MSS)), 1);
    }

    #[test]
    fn what_was_assumed_without_the_option_is_set_off() {
        let mut follower = Follower::default();
        let bytes = |ce: u64| EcnBytes::new(EcnOrder::Ect0First, [1, ce]);
        let mut read = |ace, option| follower.read(&ack(ace, 0, option), (2, 2 * MSS), MSS).bytes;
        assert_eq!(read(6, EcnBytes::NONE), MSS);
        // It was that, and another one is marked, which is small.
        assert_eq!(read(7, bytes(MSS + 100)), 100);
        assert_eq!(read(0, EcnBytes::NONE), MSS);
        // The segment was small.
        assert_eq!(read(0, bytes(MSS + 300)), 0);
        assert_eq!(read(1, bytes(2 * MSS + 300)), MSS);
    }

    #[test]
    fn counters_of_24_bits_wrap_and_do_not_step_back() {
        let mut follower = Follower::default();
        let mut ce_bytes = |so_far: u64| {
            let option = EcnBytes::new(EcnOrder::Ect1First, [1, so_far]);
            follower.read(&ack(5, 0, option), (1, MSS), MSS);
            follower.told.ce_bytes
        };
        let steps = [8_000_000, 16_000_000, 17_000_000, 16_990_000, 24_000_000];
        assert_eq!(steps.map(&mut ce_bytes), [8_000_000, 16_000_000, 17_000_000, 17_000_000, 24_000_000]);
    }
}
