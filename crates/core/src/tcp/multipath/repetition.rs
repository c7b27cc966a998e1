//! Retransmission at data level: the timer of a connection whose subflows have queues, as in Linux 6.18
//! (`mptcp_retransmit_timer`, `__mptcp_retrans`, `mptcp_pm_subflow_chk_stale`).
//!
//! If no data ACK makes progress for an interval, a subflow that has nothing outstanding repeats the oldest fragment that is not
//! acknowledged. The interval is what remains of the longest timer of the subflows when data was given to one last, so that
//! a subflow repeats its own losses first. A subflow that had data outstanding when the timer expired does not count until it
//! is known to make progress: then the next repetition comes after the minimum RTO, or a timer of the other subflows.

use crate::time::{Duration, Instant};

/// Shortest interval: `TCP_RTO_MIN`.
const SHORTEST: Duration = Duration::from_millis(200);
/// Bytes of the connection in a fragment: 32 KiB minus its header of 40 B (measured with Linux 6.18).
const FRAGMENT: u64 = (32 << 10) - 40;

/// A subflow's progress from expiry to expiry.
#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    /// Expiries in a row without progress, beginning with the first one.
    periods: u8,
    /// When its last segment had arrived at the first of them.
    heard: Instant,
}

/// The timer of one connection.
#[derive(Debug)]
pub(super) struct Repetition {
    at: Option<Instant>,
    interval: Duration,
    watched: Vec<Watched>,
}

impl Repetition {
    /// A subflow that has made no progress for more expiries gets nothing new: `net.mptcp.stale_loss_cnt`.
    pub const MOST_PERIODS: u8 = 4;

    pub fn new(paths: usize) -> Self {
        Self { at: None, interval: SHORTEST, watched: vec![Watched::default(); paths] }
    }

    /// When the timer expires.
    pub fn deadline(&self) -> Option<Instant> {
        self.at
    }

    /// Data was given to a subflow; `timers` are the deadlines of all subflows.
    pub fn on_data(&mut self, now: Instant, timers: impl Iterator<Item = Option<Instant>>) {
        let counted = timers.zip(&self.watched).filter(|(_, watched)| watched.periods == 0);
        let longest = counted.filter_map(|(timer, _)| Some(timer?.since(now))).max();
        self.interval = longest.filter(|longest| *longest > Duration::ZERO).unwrap_or(SHORTEST);
        self.at.get_or_insert(now + self.interval);
    }

    /// A data ACK made progress; `is_last` if nothing is left to be sent or acknowledged.
    pub fn on_progress(&mut self, now: Instant, is_last: bool) {
        self.at = (!is_last).then(|| now + self.interval);
    }

    /// A subflow, whose last segment arrived at `heard`, has data outstanding at an expiry. Returns for how many expiries it
    /// has not made progress.
    pub fn on_outstanding(&mut self, path: usize, heard: Instant) -> u8 {
        let watched = &mut self.watched[path];
        *watched = match watched.periods {
            0 => Watched { periods: 1, heard },
            periods if watched.heard == heard => Watched { periods: periods.saturating_add(1), heard },
            _ => Watched::default(),
        };
        watched.periods
    }

    /// Whether a subflow other than this one makes progress.
    pub fn has_another(&self, path: usize) -> bool {
        let mut others = self.watched.iter().enumerate().filter(|(other, _)| *other != path);
        others.any(|(_, watched)| watched.periods < Self::MOST_PERIODS - 1)
    }

    /// End of the fragment that begins at or contains the byte `una`.
    pub fn end_of_fragment(una: u64) -> u64 {
        (una / FRAGMENT + 1) * FRAGMENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_longest_timer_of_a_subflow_is_waited_for_and_progress_begins_anew() {
        let mut timer = Repetition::new(2);
        timer.on_data(at(100), [Some(at(350)), Some(at(900))].into_iter());
        assert_eq!(timer.deadline(), Some(at(900)));
        // More data changes the interval, and not the deadline.
        timer.on_data(at(200), [Some(at(450)), None].into_iter());
        assert_eq!(timer.deadline(), Some(at(900)));
        timer.on_progress(at(300), false);
        assert_eq!(timer.deadline(), Some(at(550)));
        timer.on_progress(at(400), true);
        assert_eq!(timer.deadline(), None);
        timer.on_data(at(500), [None, None].into_iter());
        assert_eq!(timer.deadline(), Some(at(700)));
    }

    #[test]
    fn a_subflow_without_progress_does_not_count() {
        let mut timer = Repetition::new(2);
        assert_eq!(timer.on_outstanding(1, at(50)), 1);
        timer.on_data(at(100), [Some(at(350)), Some(at(900))].into_iter());
        assert_eq!(timer.deadline(), Some(at(350)));
        assert_eq!(timer.on_outstanding(1, at(50)), 2);
        // Something has arrived on it since.
        assert_eq!(timer.on_outstanding(1, at(340)), 0);
    }

    #[test]
    fn a_fragment_ends_at_32728_bytes() {
        assert_eq!([0, 32_727, 32_728].map(Repetition::end_of_fragment), [32_728, 32_728, 65_456]);
    }
}
