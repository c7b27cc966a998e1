//! Round trips of a flow: when one ends, and whether the amount in flight grows from one to the next.

use airpath_core::time::Instant;

use super::super::rounds::Round;
use super::{Limits, TREND};

impl Limits {
    /// Records a reduction of the congestion window.
    pub(super) fn cut(&mut self, now: Instant) {
        self.trend_seen = 0;
        self.end_round(now);
        self.rounds.cut(now.since(self.origin).as_secs_f64());
    }

    /// Starts a round trip, which ends when the data in flight now is acknowledged.
    pub(super) fn begin_round(&mut self) {
        self.round = Round::default();
        self.round.flight = self.flight();
        self.began_idle = self.flight() == 0;
        self.round_end = self.max.max(self.una.unwrap_or(0) + 1);
        self.round_from = (self.una.unwrap_or(0), self.max);
    }

    pub(super) fn end_round(&mut self, now: Instant) {
        let una = self.una.unwrap_or(0);
        let acked = una.saturating_sub(self.round_from.0);
        let sent = self.max.saturating_sub(self.round_from.1);
        let segment = self.full_segment.max(1);
        let flight = self.round.flight;
        self.trend[self.trend_seen % TREND] = flight;
        self.trend_seen += 1;
        let grows = self.grows();
        let round = &mut self.round;
        round.acked = acked;
        round.to_s = now.since(self.origin).as_secs_f64();
        // The window doubles per round trip: twice as much is sent as is acknowledged.
        let grown = sent.saturating_sub(acked);
        self.rounds_of_turn += 1;
        let is_new = self.rounds.cuts() == 0 && self.rounds_of_turn <= TREND / 2;
        round.is_slow_start = is_new || 10 * sent >= 14 * acked && 2 * grown >= 3 * segment;
        round.grows = grows;
        if self.rounds.push(self.round) {
            self.timeline.merge_rounds();
        }
        self.begin_round();
    }

    /// Whether the latest four round trips had more in flight than the four before: each of them more than the mean of
    /// the earlier four, and their mean at least one segment more. With fewer than five round trips: yes.
    fn grows(&self) -> bool {
        let count = self.trend_seen.min(TREND);
        if count <= TREND / 2 {
            return true;
        }
        let nth = |place: usize| self.trend[(self.trend_seen - count + place) % TREND] as f64;
        let mean = |places: std::ops::Range<usize>| {
            let length = places.len() as f64;
            places.map(nth).sum::<f64>() / length
        };
        let half = count / 2;
        let before = mean(0..half);
        let is_above = (half..count).all(|place| nth(place) >= before);
        is_above && mean(half..count) >= before + self.full_segment as f64
    }
}
