//! The sender's SACK scoreboard: the receiver's reports on the segments in flight, RFC 2018 (5), RFC 6675 (3, 4), and
//! the effects of an ACK ([`AckOutcome`]).
//!
//! A mark of each segment in [`State::segments`] is all that is kept; a segment counts as SACKed when one
//! block covers it whole. Left out: reneging, except that a timeout clears the marks (RFC 2018 (8)).

use super::state::{Segment, State};
use crate::time::Instant;

/// Changes caused by the SACK blocks of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackNews {
    /// Bytes in flight that were reported for the first time.
    pub sacked: u64,
    /// End offset (exclusive) of the first of these segments that was sent only once.
    pub first_original: Option<u64>,
    /// End offset (exclusive) of the last of these bytes.
    pub highest: u64,
    /// A range that has arrived twice: RFC 2883 (5).
    pub duplicate: Option<(u64, u64)>,
}

/// Effect of an ACK, computed once for each ACK outside the fast path, after its SACK blocks were entered into the
/// scoreboard. A sample of the delivery rate would begin with `delivered`.
#[derive(Clone, Copy, Debug)]
pub struct AckOutcome {
    /// When it arrived.
    pub now: Instant,
    /// Everything before this offset is acknowledged.
    pub ack: u64,
    /// Bytes that it acknowledges for the first time.
    pub acked: u64,
    /// Whole segments of these.
    pub segments: u64,
    /// Bytes that it acknowledges or SACKs for the first time.
    pub delivered: u64,
    /// Changes caused by its SACK blocks.
    pub sack: SackNews,
    /// Segments that arrived twice according to it, if a retransmission may be the reason: [`State::count_duplicates`].
    pub spurious: u64,
    /// It is a duplicate ACK for the loss recovery in use.
    pub is_dupack: bool,
    /// Whether there is new data that the receiver's window permits once this ACK is processed.
    pub can_send_new: bool,
    /// Echoed timestamp, 0 if there is none.
    pub ts_ecr: u32,
}

impl AckOutcome {
    /// Counts a segment with `bytes` of it acknowledged.
    #[inline]
    pub fn count(&mut self, segment: &Segment, bytes: u64) {
        self.segments += u64::from(segment.end() <= self.ack);
        self.delivered += if segment.is_sacked { 0 } else { bytes };
    }

    /// Whether anything is acknowledged for the first time.
    pub fn advances(&self) -> bool {
        self.acked > 0
    }
}

impl State {
    /// `Update()` of RFC 6675 (4): an ACK of `ack` with `blocks`, as offsets, has arrived.
    pub fn update_scoreboard(&mut self, ack: u64, blocks: &[(u64, u64)]) -> SackNews {
        self.update_scoreboard_with(ack, blocks, |_| {})
    }

    /// Like `update_scoreboard`, and calls `on_sacked` for each segment SACKed for the first time.
    pub fn update_scoreboard_with(
        &mut self,
        ack: u64,
        blocks: &[(u64, u64)],
        mut on_sacked: impl FnMut(&mut Segment),
    ) -> SackNews {
        let mut news = SackNews { duplicate: duplicate_of(ack, blocks), ..SackNews::default() };
        for (left, right) in blocks.iter().copied().filter(|block| block.0 >= ack && block.1 <= self.max) {
            let from = self.segments.partition_point(|segment| segment.start < left);
            for segment in self.segments.range_mut(from..).take_while(|segment| segment.end() <= right) {
                if !segment.is_sacked {
                    segment.is_sacked = true;
                    news.sacked += u64::from(segment.len);
                    if segment.transmissions == 1 {
                        let end = segment.end();
                        news.first_original = Some(news.first_original.map_or(end, |first| first.min(end)));
                    }
                    on_sacked(segment);
                    news.highest = news.highest.max(segment.end());
                }
            }
        }
        news
    }

    /// Counts the segments of a range that the receiver reports as a duplicate. Returns their number, or 0 if the
    /// sender has made no more than `retransmissions` in all, fewer than the receiver has reported: the network then
    /// duplicates packets, and the report does not refer to a retransmission. RFC 3708 (3), counted as Linux does.
    #[cold]
    pub fn count_duplicates(&mut self, (left, right): (u64, u64), retransmissions: u64) -> u64 {
        let segments = right.saturating_sub(left).div_ceil(self.mss());
        self.duplicates += segments;
        if self.duplicates > retransmissions { 0 } else { segments }
    }

    /// Segments of a range that are still outstanding.
    pub fn segments_within(&self, (left, right): (u64, u64)) -> impl Iterator<Item = &Segment> {
        let from = self.segments.partition_point(|segment| segment.start < left);
        self.segments.range(from..).take_while(move |segment| segment.end() <= right)
    }

    /// Segments, the last one maybe in part, and bytes that an ACK of `ack` with `blocks` reports for the first time,
    /// if it has not been processed yet.
    pub fn newly_delivered(&self, ack: u64, blocks: &[(u64, u64)]) -> (u64, u64) {
        let is_reported = |segment: &Segment| {
            segment.start < ack
                || blocks.iter().any(|(left, right)| *left <= segment.start && segment.end() <= *right)
        };
        let end = if blocks.is_empty() { ack } else { u64::MAX };
        let unsacked =
            self.segments.iter().take_while(|segment| segment.start < end).filter(|one| !one.is_sacked);
        unsacked.filter(|segment| is_reported(segment)).fold((0, 0), |(segments, bytes), segment| {
            let len =
                if segment.start < ack { ack.min(segment.end()) - segment.start } else { segment.len.into() };
            (segments + 1, bytes + len)
        })
    }

    /// Clears all SACK marks: RFC 2018 (8), after a timeout.
    pub fn clear_scoreboard(&mut self) {
        for segment in &mut self.segments {
            segment.is_sacked = false;
        }
    }

    /// `IsLost()` of RFC 6675 (4), for all bytes at once: it is true of every byte below this offset
    /// that is not SACKed, and of no other. `una` if nothing is lost.
    pub fn lost_end(&self) -> u64 {
        let (mut runs, mut bytes, mut in_run) = (0, 0, false);
        for segment in self.segments.iter().rev() {
            if segment.is_sacked {
                runs += u32::from(!in_run);
                bytes += u64::from(segment.len);
            } else if runs >= self.dupack_threshold
                || bytes > u64::from(self.dupack_threshold - 1) * self.mss()
            {
                return segment.end();
            }
            in_run = segment.is_sacked;
        }
        self.una
    }

    /// `SetPipe()` of RFC 6675 (4): estimate of the bytes in the network. Bytes below `lost_end` have left it, except
    /// for retransmitted ones, i.e. bytes below `high_rxt`.
    pub fn pipe(&self, lost_end: u64, high_rxt: u64) -> u64 {
        let unsacked = self.segments.iter().filter(|segment| !segment.is_sacked);
        let times =
            |segment: &Segment| u64::from(segment.end() > lost_end) + u64::from(segment.end() <= high_rxt);
        unsacked.map(|segment| u64::from(segment.len) * times(segment)).sum()
    }

    /// Bytes outstanding that are not SACKed.
    pub fn unsacked(&self) -> u64 {
        let unsacked = self.segments.iter().filter(|segment| !segment.is_sacked);
        unsacked.map(|segment| u64::from(segment.len)).sum()
    }

    /// The same, from `una` to `nxt`.
    pub fn unsacked_flight(&self) -> u64 {
        let sent = self.segments.iter().take_while(|segment| segment.start < self.nxt);
        sent.filter(|segment| !segment.is_sacked).map(|segment| u64::from(segment.len)).sum()
    }
}

/// The first block is a duplicate if the ACK covers it, or the second block does: RFC 2883 (5).
fn duplicate_of(ack: u64, blocks: &[(u64, u64)]) -> Option<(u64, u64)> {
    let first = *blocks.first()?;
    let covered = |second: &(u64, u64)| second.0 <= first.0 && first.1 <= second.1;
    (first.1 <= ack || blocks.get(1).is_some_and(covered)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Config;
    use crate::tcp::window::state::Outcome;

    /// Ten segments of 1000 B; `sacked` lists the SACKed ones.
    fn state(sacked: &[u64]) -> State {
        let mut state =
            State::new(&Config { mss: crate::units::Bytes::from_bytes(1000), ..Config::default() });
        let segment = |n| Segment {
            start: n * 1000,
            sent_at: Instant::ZERO,
            len: 1000,
            transmissions: 1,
            is_sacked: sacked.contains(&n),
            outcome: Outcome::InFlight,
        };
        state.segments = (0..10).map(segment).collect();
        (state.nxt, state.max) = (10_000, 10_000);
        state
    }

    #[test]
    fn three_runs_or_more_than_two_segments_above_make_a_loss() {
        assert_eq!(state(&[]).lost_end(), 0);
        // Two segments are not more than (DupThresh - 1) * SMSS.
        assert_eq!(state(&[8, 9]).lost_end(), 0);
        assert_eq!(state(&[7, 8, 9]).lost_end(), 7000);
        // Three discontiguous runs; above segment 4 there are two of them.
        assert_eq!(state(&[3, 5, 7]).lost_end(), 3000);
        assert_eq!(state(&[3, 5, 7, 9]).lost_end(), 5000);
    }

    #[test]
    fn the_pipe_holds_what_is_neither_sacked_nor_lost_and_what_was_retransmitted() {
        let state = state(&[1, 3, 4, 5]);
        assert_eq!(state.lost_end(), 3000);
        // Segments 6 to 9; with high_rxt = 1000 segment 0 as well, but not segment 2.
        assert_eq!(state.pipe(3000, 0), 4000);
        assert_eq!(state.pipe(3000, 1000), 5000);
        assert_eq!(state.pipe(3000, 3000), 6000);
    }

    #[test]
    fn a_block_brings_news_once() {
        let mut state = state(&[]);
        let news = state.update_scoreboard(1000, &[(3000, 5000)]);
        assert_eq!((news.sacked, news.highest, news.first_original), (2000, 5000, Some(4000)));
        let more = state.update_scoreboard(1000, &[(2000, 5000)]);
        assert_eq!(more.sacked, 1000);
        assert_eq!(state.update_scoreboard(1000, &[(2000, 5000)]), SackNews::default());
        // Beyond the data sent, and part of a segment.
        assert_eq!(state.update_scoreboard(1000, &[(9000, 11_000), (7000, 7500)]), SackNews::default());
    }

    #[test]
    fn a_first_block_below_the_ack_or_in_the_second_is_a_duplicate() {
        assert_eq!(duplicate_of(4000, &[(3000, 4000)]), Some((3000, 4000)));
        assert_eq!(duplicate_of(4000, &[(6000, 7000), (5000, 8000)]), Some((6000, 7000)));
        assert_eq!(duplicate_of(4000, &[(6000, 7000), (8000, 9000)]), None);
        assert_eq!(duplicate_of(4000, &[]), None);
    }
}
