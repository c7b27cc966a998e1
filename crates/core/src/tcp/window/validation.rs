//! Congestion window validation: how much of its window a sender uses, judged as in Linux, whenever it has sent all
//! that it may.
//!
//! A window grows only while it is used (RFC 7661 (4.3), RFC 9438 (5.8)). When an ACK arrives, part of the data has
//! left the network, so the bytes then in flight are a poor measure. This module records, for one window of data,
//! whether the congestion window limited the sender, and otherwise the maximum number of outstanding segments. In slow
//! start a window below twice that number grows too, up to it.
//!
//! With `tcp.idle_restart = "linux"` a window not fully used for an RTO is reduced halfway to the used part, but not
//! below the initial window: RFC 2861 (3.2). An advancing ACK restarts that time, so this is rare: the sender must have
//! had segments in flight for longer than the RTO.
//!
//! Left out: sockets whose send buffer is full, which Linux exempts from that.

use super::state::{Phase, State, Window};
use crate::tcp::{Config, IdleRestart};
use crate::time::{Duration, Instant};

/// Use that a sender makes of its congestion window.
#[derive(Clone, Debug, Default)]
pub struct WindowUse {
    /// An unused window shrinks.
    shrinks: bool,
    /// The congestion window stopped the sender in this window of data.
    is_limited: bool,
    /// Most segments outstanding in this window of data.
    most: usize,
    /// End of this window of data.
    end: u64,
    /// Most segments outstanding since the congestion window was last used.
    used: usize,
    /// Since when the congestion window has not been used.
    since: Instant,
    una: u64,
    max: u64,
    /// Segments with data sent so far, and when the last one was.
    segments: u64,
    last_sent: Instant,
}

impl WindowUse {
    /// The record of a sender that keeps one.
    pub fn of(config: &Config) -> Option<Self> {
        let shrinks = config.idle_restart == IdleRestart::Linux && !config.cc.models_path();
        (shrinks || config.cc.judges_use()).then(|| Self { shrinks, ..Self::default() })
    }

    /// Data may flow from now on.
    pub fn begin(&mut self, now: Instant) {
        (self.since, self.last_sent) = (now, now);
    }

    /// Whether the window is used, so that it may grow.
    pub fn is_used(&self, window: &Window) -> bool {
        self.is_limited || window.in_slow_start() && window.cwnd < 2.0 * self.most as f64 * window.mss
    }

    /// Whether the congestion window stopped the sender in this window of data.
    pub fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// How long ago data was sent.
    pub fn idle(&self, now: Instant) -> Duration {
        now.since(self.last_sent)
    }

    /// The sender has sent all that it may, `segments` with data so far; `in_flight` bytes are in the network, and
    /// there may be more to send. Returns the maximum number of outstanding segments if the window has been unused for
    /// an RTO and shrinks, which is permitted while no loss is suspected.
    pub fn on_drained(
        &mut self,
        now: Instant,
        state: &State,
        segments: u64,
        in_flight: i64,
        has_more: bool,
        rto: Duration,
    ) -> Option<usize> {
        let (outstanding, window) = (state.segments.len(), &state.window);
        if state.una > self.una {
            (self.una, self.since) = (state.una, now);
        }
        if segments > self.segments {
            (self.segments, self.last_sent) = (segments, now);
        }
        let has_sent = state.max > self.max;
        self.max = state.max;
        // The congestion window limits the sender, or would if there were data to send.
        let is_full = in_flight + state.mss() as i64 > window.cwnd as i64;
        if !(has_sent || is_full && has_more) {
            return None;
        }
        let is_new = state.una >= self.end;
        if is_new || is_full || !self.is_limited && outstanding > self.most {
            (self.is_limited, self.most, self.end) = (is_full, outstanding, state.max);
        }
        if self.is_used(window) {
            (self.used, self.since) = (0, now);
            return None;
        }
        self.used = self.used.max(outstanding);
        if !self.shrinks || now.since(self.since) < rto {
            return None;
        }
        self.since = now;
        (state.phase == Phase::Open).then(|| std::mem::take(&mut self.used))
    }

    /// The window has just restarted after a pause.
    pub fn on_restart(&mut self, now: Instant) {
        (self.used, self.since) = (0, now);
    }
}
