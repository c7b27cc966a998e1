//! RACK: a segment is lost if one that was sent later has arrived, and the time of a round trip and some
//! reordering has passed since it was sent. RFC 8985 (3, 5, 6).
//!
//! ASSUMED: RACK.min_RTT is the shortest of the connection (Linux forgets it after five minutes).

use crate::tcp::timestamp;
use crate::tcp::window::state::{Outcome, Segment};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// Recoveries without a report of a duplicate after which the reordering window is a quarter of a round trip
/// again: RFC 8985 (6.2) step 4.
const PERSIST: u32 = 16;
/// Largest multiple of a quarter round trip; beyond it the smoothed round-trip time is the limit anyway.
const MOST_QUARTERS: u32 = 255;

/// The variables of RFC 8985 (5.2).
#[derive(Debug, Default)]
pub struct Detection {
    /// RACK.xmit_ts and RACK.end_seq: of the most recently sent segment among those delivered.
    latest: Option<(Instant, u64)>,
    /// RACK.rtt: the round-trip time of the segment processed last. DEVIATION: RFC 8985 (6.2) step 2 goes through the
    /// segments that an ACK reports in the order of transmission and ends with the segment sent last; here, as in
    /// Linux, SACKed segments come first, then cumulatively acknowledged ones, each in the order of the stream. The two
    /// differ only if one ACK reports a retransmission and a segment sent after it.
    rtt: Duration,
    /// RACK.min_RTT.
    min_rtt: Option<Duration>,
    /// RACK.fack: the end of the highest segment that has arrived.
    fack: u64,
    /// RACK.fack before the present ACK.
    fack_before: u64,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// Maximum reordering extent of late segments: bytes of later data delivered before them.
    degree: u64,
    /// RACK.reo_wnd_mult minus one.
    more_quarters: u32,
    /// RACK.reo_wnd_persist.
    persist: u32,
    /// RACK.dsack_round.
    dsack_round: Option<u64>,
    /// A segment has been delivered since the last detection, so that more may be lost.
    has_advanced: bool,
}

/// Result of a loss detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Bytes marked that had not been so.
    pub lost: u64,
    /// Bytes of retransmissions that are lost again.
    pub lost_again: u64,
    /// Offset of the first segment marked.
    pub first: Option<u64>,
    /// After this time more may be lost.
    pub look_again: Option<Duration>,
}

impl Detection {
    /// An ACK has arrived. The segments that it reports have no order among themselves: only segments below an earlier
    /// ACK's highest were late.
    pub fn begin_ack(&mut self) {
        self.fack_before = self.fack;
    }

    /// A segment was acknowledged or SACKed for the first time, by an ACK that echoes this timestamp: (6.2) steps 1
    /// to 3.
    pub fn on_delivered(&mut self, now: Instant, segment: &Segment, ts_ecr: Option<u32>) {
        let rtt = now.since(segment.sent_at);
        let (end, is_original) = (segment.end(), segment.transmissions == 1);
        if is_original {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        self.fack = self.fack.max(end);
        if is_original && end < self.fack_before {
            self.note_reordering(end);
        }
        // For a retransmitted segment, this ACK may belong to an earlier transmission: ignore it if the echoed
        // timestamp is older than the retransmission, or the RTT is below the minimum.
        let is_echo_older = || ts_ecr.is_some_and(|echo| is_before(echo, timestamp(segment.sent_at)));
        if !is_original && (is_echo_older() || self.min_rtt.is_some_and(|min| rtt < min)) {
            return;
        }
        self.rtt = rtt;
        self.has_advanced = true;
        if self.latest.is_none_or(|latest| (segment.sent_at, end) > latest) {
            self.latest = Some((segment.sent_at, end));
        }
    }

    /// A segment that ends at `end` was late.
    pub fn note_reordering(&mut self, end: u64) {
        if end < self.fack {
            self.reordering_seen = true;
            self.degree = self.degree.max(self.fack - end);
        }
    }

    /// Whether segments were late by more than this many bytes, so that SACKs of later ones are no sign of a loss.
    pub fn is_reordered_by(&self, bytes: u64) -> bool {
        self.degree > bytes
    }

    /// A timeout after SACKs that did not lead to a loss: segments are less late than it seemed.
    pub fn forget_degree(&mut self) {
        self.degree = 0;
    }

    /// An ACK of `una` that reports a spurious retransmission or not, while all before `max` had been sent: (6.2) step 4.
    ///
    /// DEVIATION: a report widens the window only where reordering has been seen, as in Linux.
    pub fn on_ack(&mut self, una: u64, max: u64, reports_spurious: bool) {
        self.dsack_round = self.dsack_round.filter(|round| una < *round);
        if reports_spurious && self.reordering_seen && self.dsack_round.is_none() {
            self.dsack_round = Some(max);
            self.more_quarters = (self.more_quarters + 1).min(MOST_QUARTERS - 1);
            self.persist = PERSIST;
        }
    }

    /// A recovery has ended: (6.2) step 4.
    pub fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.more_quarters = 0;
        }
    }

    /// RACK.reo_wnd: (6.2) step 4. `is_certain` says that a recovery is in progress, or that enough segments are SACKed
    /// to start one without RACK.
    pub fn reordering_window(&self, srtt: Duration, is_certain: bool) -> Duration {
        if !self.reordering_seen && is_certain {
            return Duration::ZERO;
        }
        let quarter = Duration::from_nanos(self.min_rtt.unwrap_or_default().as_nanos() / 4);
        quarter.saturating_mul((self.more_quarters + 1).into()).min(srtt)
    }

    /// How long until the segment counts as lost if no ACK reports it; `None` from then on.
    fn remaining(&self, now: Instant, segment: &Segment, reordering_window: Duration) -> Option<Duration> {
        let due = segment.sent_at + self.rtt + reordering_window;
        (due > now).then(|| due.since(now))
    }

    /// Marks the segments that count as lost: (6.2) step 5. `None` if nothing has arrived since the last call.
    pub fn detect(
        &mut self,
        now: Instant,
        reordering_window: Duration,
        segments: &mut VecDeque<Segment>,
    ) -> Option<Losses> {
        let mut losses = Losses::default();
        let latest = self.latest.filter(|_| std::mem::take(&mut self.has_advanced))?;
        for segment in segments {
            if segment.transmissions == 1 && segment.sent_at > latest.0 {
                // Every later segment was sent later.
                break;
            }
            if segment.is_sacked
                || segment.outcome == Outcome::Lost
                || (segment.sent_at, segment.end()) >= latest
            {
                continue;
            }
            match self.remaining(now, segment, reordering_window) {
                None => losses.mark(segment),
                Some(left) => {
                    losses.look_again = Some(losses.look_again.map_or(left, |most| most.max(left)));
                }
            }
        }
        Some(losses)
    }

    /// All segments are to be examined again: the reordering timer has expired, or all marks were cleared.
    pub fn look_anew(&mut self) {
        self.has_advanced = true;
    }

    /// Marks the segments that are lost when the retransmission timer expires: the oldest segment, and all that were sent so long
    /// ago that RACK would wait no longer: (6.3).
    pub fn detect_at_timeout(
        &mut self,
        now: Instant,
        reordering_window: Duration,
        segments: &mut VecDeque<Segment>,
    ) -> Losses {
        let mut losses = Losses::default();
        for (index, segment) in segments.iter_mut().enumerate() {
            let is_due = index == 0 || self.remaining(now, segment, reordering_window).is_none();
            if is_due && !segment.is_sacked && segment.outcome != Outcome::Lost {
                losses.mark(segment);
            }
        }
        losses
    }
}

/// Whether one timestamp is older than another.
fn is_before(echo: u32, sent: u32) -> bool {
    (echo.wrapping_sub(sent) as i32) < 0
}

impl Losses {
    fn mark(&mut self, segment: &mut Segment) {
        match segment.outcome {
            Outcome::InFlight => self.lost += u64::from(segment.len),
            Outcome::Retransmitted => self.lost_again += u64::from(segment.len),
            Outcome::Lost => {}
        }
        segment.outcome = Outcome::Lost;
        self.first.get_or_insert(segment.start);
    }

    /// Whether anything is newly lost.
    pub fn any(&self) -> bool {
        self.lost + self.lost_again > 0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + ms(millis)
    }

    /// Segments of 1000 B sent at these times (ms).
    fn segments(sent: &[u64]) -> VecDeque<Segment> {
        let segment = |(n, millis): (usize, &u64)| Segment {
            start: n as u64 * 1000,
            sent_at: at(*millis),
            len: 1000,
            transmissions: 1,
            is_sacked: false,
            outcome: Outcome::InFlight,
        };
        sent.iter().enumerate().map(segment).collect()
    }

    /// The segment with this number is SACKed now.
    fn arrives(rack: &mut Detection, now: u64, segments: &mut VecDeque<Segment>, n: usize) {
        segments[n].is_sacked = true;
        rack.begin_ack();
        rack.on_delivered(at(now), &segments[n].clone(), None);
    }

    fn lost(segments: &VecDeque<Segment>) -> Vec<u64> {
        segments.iter().filter(|one| one.outcome == Outcome::Lost).map(|one| one.start / 1000).collect()
    }

    #[test]
    fn a_quarter_of_a_round_trip_is_waited_for_what_may_be_reordered() {
        let (mut rack, mut sent) = (Detection::default(), segments(&[0, 10, 20]));
        arrives(&mut rack, 110, &mut sent, 1);
        let window = rack.reordering_window(ms(100), false);
        assert_eq!(window, ms(25));
        // Sent at 0, a round trip of 100 ms, 25 ms more: due at 125 ms.
        let losses = rack.detect(at(110), window, &mut sent).unwrap();
        assert_eq!((losses.any(), losses.look_again), (false, Some(ms(15))));
        rack.look_anew();
        assert_eq!(rack.detect(at(125), window, &mut sent).unwrap().lost, 1000);
        assert_eq!(lost(&sent), [0]);
    }

    #[test]
    fn nothing_is_waited_for_in_recovery_unless_reordering_was_seen() {
        let (mut rack, mut sent) = (Detection::default(), segments(&[0, 10, 20]));
        arrives(&mut rack, 120, &mut sent, 2);
        // The same ACK also reports an earlier one; the order of their arrival is unknown.
        rack.on_delivered(at(120), &sent[0].clone(), None);
        assert_eq!(rack.reordering_window(ms(100), true), Duration::ZERO);
        arrives(&mut rack, 121, &mut sent, 1);
        assert_eq!(rack.reordering_window(ms(100), true), ms(25));
    }

    #[test]
    fn what_was_sent_after_the_latest_arrival_is_not_lost() {
        let (mut rack, mut sent) = (Detection::default(), segments(&[0, 0, 0, 50]));
        arrives(&mut rack, 100, &mut sent, 1);
        // Sent at one instant, the lower sequence number was sent first.
        assert_eq!(rack.detect(at(100), Duration::ZERO, &mut sent).unwrap().lost, 1000);
        assert_eq!(lost(&sent), [0]);
    }

    #[test]
    fn a_retransmission_is_lost_when_something_sent_after_it_arrives() {
        let (mut rack, mut sent) = (Detection::default(), segments(&[0, 10, 20, 130]));
        arrives(&mut rack, 110, &mut sent, 1);
        rack.detect(at(110), Duration::ZERO, &mut sent);
        (sent[0].outcome, sent[0].sent_at, sent[0].transmissions) = (Outcome::Retransmitted, at(110), 2);
        arrives(&mut rack, 125, &mut sent, 2);
        assert!(!rack.detect(at(125), Duration::ZERO, &mut sent).unwrap().any());
        arrives(&mut rack, 230, &mut sent, 3);
        let losses = rack.detect(at(230), Duration::ZERO, &mut sent).unwrap();
        assert_eq!((losses.lost, losses.lost_again, losses.first), (0, 1000, Some(0)));
    }

    #[test]
    fn an_ambiguous_arrival_tells_nothing() {
        let (mut rack, mut sent) = (Detection::default(), segments(&[0, 10, 20]));
        arrives(&mut rack, 110, &mut sent, 1);
        (sent[0].sent_at, sent[0].transmissions) = (at(115), 2);
        // 15 ms after its retransmission: too early for that.
        rack.on_delivered(at(130), &sent[0].clone(), None);
        assert_eq!(rack.latest, Some((at(10), 2000)));
        // Late enough, but the timestamp is older.
        rack.on_delivered(at(230), &sent[0].clone(), Some(0));
        assert_eq!(rack.latest, Some((at(10), 2000)));
        rack.on_delivered(at(230), &sent[0].clone(), None);
        assert_eq!((rack.latest, rack.rtt), (Some((at(115), 1000)), ms(115)));
    }

    #[test]
    fn duplicates_widen_the_window_once_a_round_and_up_to_the_round_trip_time() {
        let (mut rack, mut sent) = (Detection::default(), segments(&[0, 10, 20]));
        arrives(&mut rack, 110, &mut sent, 1);
        let window = |of: &Detection| of.reordering_window(ms(100), false);
        // Without reordering a spurious retransmission has another reason.
        rack.on_ack(0, 3000, true);
        assert_eq!(window(&rack), ms(25));
        rack.note_reordering(1000);
        rack.on_ack(0, 3000, true);
        rack.on_ack(1000, 4000, true);
        assert_eq!(window(&rack), ms(50));
        rack.on_ack(3000, 5000, true);
        assert_eq!(window(&rack), ms(75));
        for round in 3..10 {
            rack.on_ack(round * 2000, round * 2000 + 2000, true);
        }
        assert_eq!(window(&rack), ms(100));
        for _ in 0..15 {
            rack.on_recovery_end();
        }
        assert_eq!(window(&rack), ms(100));
        rack.on_recovery_end();
        assert_eq!(window(&rack), ms(25));
    }

    #[test]
    fn a_timeout_marks_the_oldest_and_what_was_sent_a_round_trip_ago() {
        let (mut rack, mut sent) = (Detection::default(), segments(&[900, 910, 920, 1150]));
        let mut arrived = segments(&[0]);
        arrives(&mut rack, 300, &mut arrived, 0);
        sent[1].is_sacked = true;
        assert_eq!(rack.detect_at_timeout(at(1220), Duration::ZERO, &mut sent).lost, 2000);
        assert_eq!(lost(&sent), [0, 2]);
    }
}
