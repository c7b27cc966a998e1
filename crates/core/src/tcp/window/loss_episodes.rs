//! Loss episodes of a sender: the number of fast retransmits and timeouts caused by the losses of one window.
//! \[chan2002\] section 4, for throughput models that distinguish single losses from bursts.
//!
//! A **cut** is a fast retransmit or an expiration of the retransmission timer. The first cut starts an episode and
//! records the end of the data sent by then. Every cut before all of that data is acknowledged (`SND.UNA` below the
//! end) belongs to it, including backed-off timeouts. The kind of an episode depends on its cuts so far:
//!
//! * `timeout` (p3) with at least one timeout, whatever came before it or after;
//! * `double` (p2) with two or more fast retransmits and no timeout;
//! * `single` (p1) with one fast retransmit.
//!
//! A cut that turned out to be spurious (`undo`) stays counted. As the sender returns to its previous state, the
//! episode ends: the next cut starts another.
//!
//! All of this is recorded where a sender cuts its window, which is rare; ACKs cost nothing.

use crate::time::{Duration, Instant};
use serde::Serialize;

/// The loss episodes of a sender.
#[derive(Clone, Debug, Default)]
pub struct LossEpisodes {
    /// Every fast retransmit, of whatever episode.
    fast_retransmits: u64,
    single: u64,
    double: u64,
    timeout: u64,
    undone: u64,
    /// Sum of the first timeouts of the episodes that have one.
    first_timeouts: Duration,
    /// Sum of how long they were waited for after the latest fast retransmit.
    waits: Duration,
    latest_fast_retransmit: Instant,
    /// Sum of the squares of the windows before the first cuts, segments.
    squared_windows: u64,
    latest: Option<Episode>,
}

/// The latest episode.
#[derive(Clone, Copy, Debug)]
struct Episode {
    /// End offset (exclusive) of the data sent at its first cut.
    end: u64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Single,
    Double,
    Timeout,
}

/// State of a sender at a cut, before anything has changed.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Oldest unacknowledged byte.
    pub una: u64,
    /// End offset (exclusive) of all data sent so far.
    pub max: u64,
    /// Whole segments in the congestion window.
    pub cwnd_segments: u64,
}

/// The loss episodes in results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Episodes: the sum of `single`, `double` and `timeout`.
    pub events: u64,
    /// Episodes with exactly one fast retransmit (p1).
    pub single: u64,
    /// Two fast retransmits or more, no timeout (p2).
    pub double: u64,
    /// Episodes with at least one timeout (p3).
    pub timeout: u64,
    /// Episodes that ended because their latest cut was found spurious; 0 without `undo`.
    pub undone: u64,
    /// T0: mean, over the episodes with a timeout, of the retransmission timeout in force when the first
    /// expired, seconds. That is the first of a sequence of \[padhye1998\], before it backs off.
    pub mean_timeout_s: Option<f64>,
    /// Mean, over the same episodes, of the time from the fast retransmit before the first timeout to that
    /// timeout, seconds; where none came before, of the timeout in force. \[chan2002\] Table 1 has this as T0.
    pub mean_timeout_wait_s: Option<f64>,
    /// Wf: root mean square of the whole segments of cwnd just before the first cuts.
    pub max_window_rms_segments: Option<f64>,
}

impl LossEpisodes {
    /// Duplicate ACKs made the sender cut its window.
    #[cold]
    pub fn on_fast_retransmit(&mut self, now: Instant, cut: Cut) {
        self.fast_retransmits += 1;
        self.latest_fast_retransmit = now;
        match self.current(cut.una).map(|episode| episode.kind) {
            None => self.begin(cut, Kind::Single),
            Some(Kind::Single) => self.becomes(Kind::Double),
            Some(Kind::Double | Kind::Timeout) => {}
        }
    }

    /// The retransmission timer, set to `rto`, expired now.
    #[cold]
    pub fn on_timeout(&mut self, now: Instant, cut: Cut, rto: Duration) {
        let wait = match self.current(cut.una).map(|episode| episode.kind) {
            Some(Kind::Timeout) => return,
            None => {
                self.begin(cut, Kind::Timeout);
                rto
            }
            Some(Kind::Single | Kind::Double) => {
                self.becomes(Kind::Timeout);
                now.since(self.latest_fast_retransmit)
            }
        };
        self.first_timeouts += rto;
        self.waits += wait;
    }

    /// The latest cut was found to be spurious.
    #[cold]
    pub fn on_undo(&mut self) {
        if self.latest.take().is_some() {
            self.undone += 1;
        }
    }

    /// Fast retransmits so far.
    pub fn fast_retransmits(&self) -> u64 {
        self.fast_retransmits
    }

    /// Counts so far; an episode in progress counts as its present kind.
    pub fn report(&self) -> Report {
        let events = self.single + self.double + self.timeout;
        let mean_s = |sum: Duration| (self.timeout > 0).then(|| sum.as_secs_f64() / self.timeout as f64);
        let window = (self.squared_windows as f64 / events as f64).sqrt();
        Report {
            events,
            single: self.single,
            double: self.double,
            timeout: self.timeout,
            undone: self.undone,
            mean_timeout_s: mean_s(self.first_timeouts),
            mean_timeout_wait_s: mean_s(self.waits),
            max_window_rms_segments: (events > 0).then_some(window),
        }
    }

    /// The episode that a cut at `una` belongs to, if it begins none.
    fn current(&self, una: u64) -> Option<Episode> {
        self.latest.filter(|episode| una < episode.end)
    }

    fn begin(&mut self, cut: Cut, kind: Kind) {
        self.latest = Some(Episode { end: cut.max, kind });
        let squared = cut.cwnd_segments.saturating_mul(cut.cwnd_segments);
        self.squared_windows = self.squared_windows.saturating_add(squared);
        *self.count(kind) += 1;
    }

    /// The latest episode turns out to be of another kind.
    fn becomes(&mut self, kind: Kind) {
        if let Some(episode) = &mut self.latest {
            let before = std::mem::replace(&mut episode.kind, kind);
            *self.count(before) -= 1;
            *self.count(kind) += 1;
        }
    }

    fn count(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Single => &mut self.single,
            Kind::Double => &mut self.double,
            Kind::Timeout => &mut self.timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cut with `una` acknowledged, `max` sent and a window of `cwnd_segments`.
    fn cut(una: u64, max: u64, cwnd_segments: u64) -> Cut {
        Cut { una, max, cwnd_segments }
    }

    fn kinds(episodes: &LossEpisodes) -> [u64; 4] {
        let report = episodes.report();
        assert_eq!(report.events, report.single + report.double + report.timeout);
        [report.single, report.double, report.timeout, report.undone]
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn before_the_first_cut_there_is_nothing_to_average() {
        let report = LossEpisodes::default().report();
        assert_eq!((report.events, report.mean_timeout_s, report.max_window_rms_segments), (0, None, None));
    }

    #[test]
    fn a_second_cut_before_the_end_of_the_window_makes_an_episode_double() {
        let mut episodes = LossEpisodes::default();
        episodes.on_fast_retransmit(Instant::ZERO, cut(1000, 9000, 8));
        assert_eq!(kinds(&episodes), [1, 0, 0, 0]);
        episodes.on_fast_retransmit(Instant::ZERO, cut(8999, 12_000, 4));
        assert_eq!(kinds(&episodes), [0, 1, 0, 0]);
        // A third changes nothing, and belongs to the window of the first.
        episodes.on_fast_retransmit(Instant::ZERO, cut(8999, 12_000, 2));
        assert_eq!(kinds(&episodes), [0, 1, 0, 0]);
        assert_eq!(episodes.fast_retransmits(), 3);
    }

    #[test]
    fn a_cut_behind_the_window_begins_another_episode() {
        let mut episodes = LossEpisodes::default();
        episodes.on_fast_retransmit(Instant::ZERO, cut(1000, 9000, 6));
        episodes.on_fast_retransmit(Instant::ZERO, cut(9000, 17_000, 8));
        assert_eq!(kinds(&episodes), [2, 0, 0, 0]);
        // sqrt((36 + 64) / 2): windows before later cuts of an episode do not count.
        episodes.on_fast_retransmit(Instant::ZERO, cut(10_000, 17_000, 100));
        assert_eq!(episodes.report().max_window_rms_segments, Some(50_f64.sqrt()));
    }

    #[test]
    fn an_episode_with_a_timeout_is_one_whatever_else_happens_in_it() {
        let mut episodes = LossEpisodes::default();
        episodes.on_fast_retransmit(Instant::ZERO, cut(1000, 9000, 8));
        episodes.on_fast_retransmit(Instant::ZERO, cut(2000, 9000, 4));
        episodes.on_timeout(Instant::ZERO, cut(3000, 9000, 2), SECOND);
        episodes.on_fast_retransmit(Instant::ZERO, cut(4000, 9000, 2));
        assert_eq!(kinds(&episodes), [0, 0, 1, 0]);
        // After a single, and without any fast retransmit.
        episodes.on_fast_retransmit(Instant::ZERO, cut(9000, 17_000, 8));
        episodes.on_timeout(Instant::ZERO, cut(9000, 17_000, 4), SECOND);
        episodes.on_timeout(Instant::ZERO, cut(17_000, 18_000, 1), SECOND);
        assert_eq!(kinds(&episodes), [0, 0, 3, 0]);
    }

    #[test]
    fn the_mean_timeout_is_that_of_the_first_of_each_episode() {
        let mut episodes = LossEpisodes::default();
        episodes.on_timeout(Instant::ZERO, cut(0, 9000, 8), SECOND);
        episodes.on_timeout(Instant::ZERO, cut(0, 9000, 1), SECOND * 2);
        episodes.on_timeout(Instant::ZERO, cut(0, 9000, 1), SECOND * 4);
        assert_eq!((kinds(&episodes), episodes.report().mean_timeout_s), ([0, 0, 1, 0], Some(1.0)));
        episodes.on_timeout(Instant::ZERO, cut(9000, 10_000, 1), SECOND * 2);
        assert_eq!(episodes.report().mean_timeout_s, Some(1.5));
    }

    #[test]
    fn the_wait_for_a_timeout_begins_with_the_fast_retransmit_before_it() {
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let mut episodes = LossEpisodes::default();
        for seconds in [10, 12] {
            episodes.on_fast_retransmit(at(seconds), cut(1000, 9000, 8));
        }
        episodes.on_timeout(at(15), cut(2000, 9000, 2), SECOND);
        episodes.on_timeout(at(17), cut(2000, 9000, 1), SECOND * 2);
        assert_eq!(episodes.report().mean_timeout_wait_s, Some(3.0));
        // Without a fast retransmit in its own episode it is the timer's.
        episodes.on_timeout(at(40), cut(9000, 17_000, 4), SECOND);
        let report = episodes.report();
        assert_eq!((report.mean_timeout_wait_s, report.mean_timeout_s), (Some(2.0), Some(1.0)));
    }

    #[test]
    fn what_was_undone_stays_counted_and_ends_its_episode() {
        let mut episodes = LossEpisodes::default();
        episodes.on_undo();
        episodes.on_fast_retransmit(Instant::ZERO, cut(1000, 9000, 8));
        episodes.on_undo();
        episodes.on_undo();
        assert_eq!(kinds(&episodes), [1, 0, 0, 1]);
        episodes.on_fast_retransmit(Instant::ZERO, cut(2000, 9000, 8));
        assert_eq!(kinds(&episodes), [2, 0, 0, 1]);
    }
}
