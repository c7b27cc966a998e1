//! Prague: a congestion control for low latency, low loss and scalable throughput (L4S). RFC 9331 (4.3),
//! draft-briscoe-iccrg-prague-congestion-control-04 (below: the draft), and its implementation for Linux, `tcp_prague.c`.
//!
//! * **Marks**: segments have ECT(1). The window shrinks by half of the share of bytes marked ([`super::marked_share`])
//!   at the first mark in a round. The share is updated with a gain of 1/16, starting with the first mark, which halves
//!   the window.
//! * **Growth**: the unmarked bytes of each ACK let the window grow, in rounds with marks too. Slow start ends with the
//!   first mark.
//! * **Losses** halve the window, as Reno's do. RACK detects them by time.
//! * **RTT independence**: with an RTT shorter than the virtual RTT, each round counts only (RTT / virtual RTT)^2, so
//!   that a flow grows like one with that RTT, by one segment per virtual round. cwnd is reduced, and alpha updated,
//!   once per virtual round. All this begins after a number of rounds: the draft, (2.4.4).
//! * **Pacing** at the window over the round-trip time, twice that in slow start, in bursts of a quarter of a millisecond.
//!
//! A mark within the virtual round of the latest reduction causes no reduction and still uses up its round of data: the
//! next mark takes effect when that data is acknowledged, as in the implementation. DEVIATION: there, a reduction
//! lowers a fractional window at once, and the congestion window follows by one segment per ACK; here the congestion
//! window is lowered at once. After the first mark, which halves the window, the implementation needs half a window of
//! ACKs for that.
//!
//! Where the other endpoint has classic ECN, segments have ECT(0), and a mark halves the window like a loss.
//!
//! Left out: detection of a classic queue that marks ECT(1), which RFC 9331 (4.3) demands and the implementation has off;
//! windows below two segments, which the implementation does not have either; ECN-capable control packets.

use super::marked_share::{GAIN, MarkedShare};
use super::{Component, CongestionControl, Marks, Pace, reno};
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::registry::parameters;
use crate::tcp::window::state::{State, Window};
use crate::time::{Duration, Instant};

/// Bursts of 2^-12 s, at least a segment.
const PACE: Pace = Pace { gain: 1.0, bursts: 4096.0, least_segments: 1.0 };

parameters! {
    /// Marks in proportion, ECT(1), paced: TCP Prague, RFC 9331 (4.3). Requires `ecn = "accurate"`; use `recovery.rack`
    /// to detect losses by time.
    pub struct Config {
        /// Shorter round-trip times grow as this one.
        pub virtual_rtt: Duration = Duration::from_millis(25),
        /// Number of rounds after slow start before RTT independence applies.
        pub virtual_after: u32 = 500,
    }
}

impl Component for Config {
    fn build(&self) -> Box<dyn CongestionControl> {
        Box::new(Prague {
            config: self.clone(),
            reno: reno::Config { variant: reno::Variant::Linux }.build(),
            share: MarkedShare::new(GAIN),
            saw_mark: false,
            rounds: 0,
            round_end: 0,
            srtt: None,
            reduced_at: None,
            changed_at: None,
            marked: 0,
            uses_window: true,
        })
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if self.virtual_rtt.is_zero() {
            let hint = "write \"25 ms\", or \"1 us\" for none";
            return Err(ScenarioError::new("virtual_rtt", "no round takes no time", hint));
        }
        Ok(())
    }

    fn judges_use(&self) -> bool {
        true
    }

    fn counts_marks(&self) -> bool {
        true
    }

    fn ect(&self) -> u8 {
        Packet::ECT_1
    }

    fn pace(&self) -> Option<Pace> {
        Some(PACE)
    }
}

struct Prague {
    config: Config,
    /// Slow start, and the answer to losses.
    reno: Box<dyn CongestionControl>,
    share: MarkedShare,
    saw_mark: bool,
    /// Rounds since slow start.
    rounds: u32,
    round_end: u64,
    srtt: Option<Duration>,
    reduced_at: Option<Instant>,
    /// When the share changed last.
    changed_at: Option<Instant>,
    /// Bytes that the present ACK reports as marked.
    marked: u64,
    uses_window: bool,
}

impl Prague {
    /// Ratio of the present round to a virtual round, at most 1.
    fn part_of_round(&self) -> f64 {
        let Some(srtt) = self.srtt.filter(|_| self.rounds >= self.config.virtual_after) else { return 1.0 };
        (srtt.as_secs_f64() / self.config.virtual_rtt.as_secs_f64()).min(1.0)
    }

    /// Whether a virtual round has passed since then.
    fn has_passed(&self, now: Instant, since: Option<Instant>) -> bool {
        self.part_of_round() >= 1.0 || since.is_none_or(|at| now.since(at) >= self.config.virtual_rtt)
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, window: &mut Window, acked: u64) {
        let acked = acked.saturating_sub(std::mem::take(&mut self.marked));
        if window.in_slow_start() {
            self.reno.on_ack(window, acked);
        } else if self.uses_window {
            let part = self.part_of_round();
            window.cwnd += part * part * acked as f64 * window.mss / window.cwnd;
        }
    }

    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        self.reno.ssthresh_after_loss(state)
    }

    fn on_marks(&mut self, now: Instant, marks: &Marks, ack: u64, state: &State) {
        self.saw_mark |= marks.packets > 0;
        self.marked = marks.bytes;
        if ack > self.round_end {
            self.round_end = state.max;
            self.rounds = if state.window.in_slow_start() { 0 } else { self.rounds.saturating_add(1) };
        }
        let may_change = self.has_passed(now, self.changed_at);
        if self.saw_mark && self.share.on_ack(marks, ack, state.max, may_change) {
            self.changed_at = Some(now);
        }
    }

    fn ssthresh_after_marks(&mut self, now: Instant, state: &State) -> Option<f64> {
        if !self.has_passed(now, self.reduced_at) {
            return None;
        }
        self.reduced_at = Some(now);
        Some((state.window.cwnd * self.share.left()).max(state.window.floor()))
    }

    fn grows_beside_marks(&self) -> bool {
        true
    }

    fn measures(&self) -> bool {
        true
    }

    fn on_rtt_sample(&mut self, rtt: Duration) {
        let old = self.srtt.unwrap_or(rtt).as_nanos();
        self.srtt = Some(Duration::from_nanos(old - old / 8 + rtt.as_nanos() / 8));
    }

    fn on_arrival(&mut self, now: Instant, state: &mut State, acked: u64) {
        self.uses_window = state.uses_window;
        self.reno.on_arrival(now, state, acked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp;
    use crate::units::Bytes;

    const MSS: u64 = 1000;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// A sender in congestion avoidance with 20 segments, with an RTT of `rtt_ms` milliseconds.
    fn prague(rtt_ms: u64) -> (Box<dyn CongestionControl>, State) {
        let mut state = State::new(&tcp::Config { mss: Bytes::from_bytes(MSS), ..tcp::Config::default() });
        (state.window.cwnd, state.window.ssthresh, state.max) = (20_000.0, 20_000.0, 20_000);
        let mut cc = Config { virtual_after: 0, ..Config::default() }.build();
        cc.on_rtt_sample(Duration::from_millis(rtt_ms));
        (cc, state)
    }

    /// An ACK of `acked` bytes, `marked` of them marked. Returns whether the window is reduced.
    fn ack(cc: &mut dyn CongestionControl, state: &mut State, now: Instant, acked: u64, marked: u64) -> bool {
        let marks = Marks { packets: marked / MSS, bytes: marked, delivered: acked };
        cc.on_marks(now, &marks, state.una + acked, state);
        let ssthresh = if marked > 0 { cc.ssthresh_after_marks(now, state) } else { None };
        state.una += acked;
        state.max += acked;
        cc.on_arrival(now, state, acked);
        cc.on_ack(&mut state.window, acked);
        if let Some(ssthresh) = ssthresh {
            (state.window.ssthresh, state.window.cwnd) = (ssthresh, state.window.cwnd.min(ssthresh));
        }
        ssthresh.is_some()
    }

    #[test]
    fn the_first_mark_halves_the_window_and_the_share_counts_from_then_on() {
        let (mut cc, mut state) = prague(30);
        for round in 0..100 {
            assert!(!ack(cc.as_mut(), &mut state, at(30 * round), 20_000, 0));
        }
        let before = state.window.cwnd;
        assert!(ack(cc.as_mut(), &mut state, at(3000), 2000, 1000));
        // The round with the mark has been processed: (15 + 0.5) / 16 of the window at most.
        assert!(
            (state.window.cwnd / before - (1.0 - 0.96875 / 2.0)).abs() < 1e-9,
            "{}",
            state.window.cwnd / before
        );
    }

    #[test]
    fn what_is_not_marked_lets_the_window_grow() {
        let (mut cc, mut state) = prague(30);
        ack(cc.as_mut(), &mut state, at(0), 2000, 0);
        assert_eq!(state.window.cwnd, 20_000.0 + 2000.0 * 1000.0 / 20_000.0);
        let before = state.window.cwnd;
        cc.on_marks(at(1), &Marks { packets: 1, bytes: 1000, delivered: 2000 }, 4000, &state);
        cc.on_arrival(at(1), &mut state, 2000);
        cc.on_ack(&mut state.window, 2000);
        assert_eq!(state.window.cwnd, before + 1000.0 * 1000.0 / before);
    }

    /// Five rounds of 5 ms make a virtual one: a segment in 25 ms, as with a window five times as large.
    #[test]
    fn short_rounds_grow_as_the_virtual_one_and_are_reduced_once_in_it() {
        let (mut cc, mut state) = prague(5);
        ack(cc.as_mut(), &mut state, at(0), 20_000, 0);
        assert!((state.window.cwnd - (20_000.0 + 1000.0 / 25.0)).abs() < 1e-9);
        let reduced =
            [5, 10, 15, 20, 25, 29, 30, 55].map(|now| ack(cc.as_mut(), &mut state, at(now), 20_000, 1000));
        assert_eq!(reduced, [true, false, false, false, false, false, true, true]);
    }

    #[test]
    fn growth_is_that_of_the_virtual_round_after_some_rounds() {
        let mut state = prague(5).1;
        let mut cc = Config { virtual_after: 3, ..Config::default() }.build();
        cc.on_rtt_sample(Duration::from_millis(5));
        let grown = [5, 10, 15, 20].map(|now| {
            state.window.cwnd = 20_000.0;
            ack(cc.as_mut(), &mut state, at(now), 20_000, 0);
            (state.window.cwnd - 20_000.0).round()
        });
        assert_eq!(grown, [1000.0, 1000.0, 40.0, 40.0]);
    }

    #[test]
    fn no_window_falls_below_two_segments() {
        let (mut cc, mut state) = prague(30);
        for round in 0..100 {
            ack(cc.as_mut(), &mut state, at(30 * round), 20_000, 20_000);
        }
        assert_eq!(state.window.cwnd, 2000.0);
    }
}
