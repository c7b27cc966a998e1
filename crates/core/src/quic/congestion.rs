//! Congestion control of a connection: the algorithms of [`crate::tcp::cc`] with the rules of RFC 9002 (7).
//!
//! Windows count bytes of UDP payload, headers and tags included: (B.2). A loss of a packet that was sent after the last
//! reduction reduces the window once: (7.3.2). The threshold is computed from the window, not from the data in flight:
//! (7.3.2). A report of CE does the same as a loss: (7.1). Only packets sent after that let it grow, each by its bytes: (B.5); a window that is not used does not grow:
//! (7.8). Packets are paced: (7.7).

use super::measured::Measured;
use crate::tcp::cc::{CongestionControl, Pace};
use crate::tcp::window::state::{Phase, State};
use crate::tcp::{Config, Pacer};
use crate::time::{Duration, Instant};
use crate::units::Bytes;

/// How much faster than window / RTT packets may leave: RFC 9002 (7.7).
const PACE: f64 = 1.25;

/// The congestion control of an endpoint.
pub struct Congestion {
    pub(super) cc: Box<dyn CongestionControl>,
    measures: bool,
    /// Delivery rates, for a congestion control that models the path.
    pub(super) measured: Option<Box<Measured>>,
    /// `una` to `max` are the bytes in flight, `una` also counts lost ones.
    pub(super) state: State,
    /// When the window was last reduced, or the recovery of a model began.
    pub(super) reduced_at: Option<Instant>,
    pub pacer: Pacer,
    /// Reductions of the window, and those of them that marks have caused.
    pub reductions: u64,
    pub reductions_for_marks: u64,
    /// Reductions to the minimum: (7.6).
    pub collapses: u64,
}

impl Congestion {
    /// With packets of up to `datagram` bytes of UDP payload.
    pub fn new(config: &Config, datagram: u64) -> Self {
        let of_datagrams = Config { mss: Bytes::from_bytes(datagram), timestamps: false, ..config.clone() };
        let cc = config.cc.build();
        let mut state = State::new(&of_datagrams);
        state.is_paced = true;
        let pace = config.pace().unwrap_or(Pace { gain: PACE, ..Pace::default() });
        Self {
            measures: cc.measures(),
            measured: Measured::of(config),
            cc,
            state,
            reduced_at: None,
            pacer: Pacer::new(config.max_pacing_rate, pace),
            reductions: 0,
            reductions_for_marks: 0,
            collapses: 0,
        }
    }

    /// Windows and bytes in flight.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether the window has room for a datagram of `bytes`.
    pub fn permits(&self, bytes: u64) -> bool {
        (self.state.flight_size() + bytes) as f64 <= self.state.window.cwnd
    }

    /// A packet in flight is sent. Returns its end offset.
    pub fn on_sent(&mut self, now: Instant, bytes: u64) -> u64 {
        let before = self.state.flight_size();
        self.state.max += bytes;
        self.state.nxt = self.state.max;
        if let Some(measured) = &mut self.measured {
            measured.on_sent(now, self.state.max, before, bytes);
        }
        self.state.max
    }

    /// A packet in flight is forgotten: neither acknowledged nor lost.
    pub fn forget(&mut self, bytes: u64) {
        self.state.una += bytes;
    }

    /// Packets were acknowledged: when each was sent, and its bytes; all that end up to `oldest` are settled. `rtt` is the
    /// sample, if there is one.
    pub fn on_acked(
        &mut self,
        now: Instant,
        acked: &[(Instant, u64)],
        oldest: u64,
        rtt: Option<Duration>,
        srtt: Duration,
    ) {
        let total = acked.iter().map(|(_, bytes)| bytes).sum();
        self.state.una += total;
        if self.models_path() {
            let latest = acked.iter().map(|(sent_at, _)| *sent_at).max();
            return self.model_path(now, latest, oldest, srtt);
        }
        let is_used = self.state.was_used_up(total) || self.pacer.holds;
        self.state.uses_window = is_used;
        if self.measures {
            if let Some(rtt) = rtt {
                self.cc.on_rtt_sample(rtt);
            }
            self.cc.on_arrival(now, &mut self.state, total);
        }
        for (_, bytes) in acked.iter().filter(|(sent_at, _)| self.reduced_at.is_none_or(|at| *sent_at > at)) {
            if is_used {
                self.cc.on_ack(&mut self.state.window, *bytes);
            }
        }
        self.set_pace(srtt);
    }

    /// Packets are lost: end offset and bytes of each; the latest of them was sent at `sent_at`.
    pub fn on_lost(&mut self, now: Instant, lost: &[(u64, u64)], sent_at: Instant, srtt: Duration) {
        self.state.una += lost.iter().map(|(_, bytes)| bytes).sum::<u64>();
        if self.models_path() {
            self.tell_lost(now, lost.iter().copied());
            return self.recover(now, sent_at);
        }
        self.reduce(now, sent_at, srtt);
    }

    /// An ACK reported packets with CE; the latest packet that it acknowledges was sent at `sent_at`.
    pub fn on_marked(&mut self, now: Instant, sent_at: Instant, srtt: Duration) {
        if !self.models_path() {
            self.reductions_for_marks += u64::from(self.reduce(now, sent_at, srtt));
        }
    }

    /// There is congestion that a packet sent at `sent_at` has met. Returns whether the window is reduced.
    fn reduce(&mut self, now: Instant, sent_at: Instant, srtt: Duration) -> bool {
        if self.reduced_at.is_some_and(|at| sent_at <= at) {
            return false;
        }
        // The algorithms use the window as the flight size.
        let sent = self.state.nxt;
        self.state.nxt = self.state.una + self.state.window.cwnd as u64;
        let ssthresh = self.cc.ssthresh_after_loss(&self.state);
        self.state.nxt = sent;
        let window = &mut self.state.window;
        window.ssthresh = ssthresh.max(window.floor());
        window.cwnd = window.ssthresh;
        self.reduced_at = Some(now);
        self.reductions += 1;
        self.set_pace(srtt);
        true
    }

    /// Persistent congestion: (7.6.2).
    pub fn collapse(&mut self, now: Instant) {
        self.cc.on_timeout(now);
        self.state.window.cwnd = self.state.window.floor();
        self.reduced_at = None;
        if self.models_path() {
            (self.state.phase, self.reduced_at) = (Phase::Loss, Some(now));
        }
        self.collapses += 1;
    }

    fn set_pace(&mut self, srtt: Duration) {
        if let Some(rate) = self.pacer.rate_of(&self.state, srtt) {
            self.pacer.set(rate, self.state.window.mss);
        }
    }
}
