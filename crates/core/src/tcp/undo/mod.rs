//! Undo: whether a timeout or a fast retransmit was spurious. If it was, windows and timer are restored.
//!
//! Detection is exchangeable. The windows are then restored as in RFC 4015, or completely at once ([`Response`]).

pub mod dsack;
pub mod eifel;
pub mod frto;
pub mod linux;
pub mod none;

use super::Config as Tcp;
use super::rto::Rto;
use super::window::scoreboard::AckOutcome;
use super::window::state::{Phase, State};
use crate::registry::{parameters, registry};
use crate::time::Duration;

/// How a spurious loss recovery is detected.
pub trait Undo: Send + Sync {
    /// A loss recovery begins, or the timer expires during one: then it is not the `first`. Called before
    /// the retransmission.
    fn on_loss(&mut self, state: &State, is_timeout: bool, first: bool);

    /// The connection has timestamps; once, before anything is sent.
    fn on_timestamps(&mut self) {}

    /// The segment of this range was retransmitted, with this timestamp. Not called for a tail loss probe.
    fn on_retransmission(&mut self, range: (u64, u64), ts_val: u32) {
        let _ = (range, ts_val);
    }

    /// An ACK arrived; `state.una` has not moved yet.
    fn on_ack(&mut self, state: &State, ack: &AckOutcome) -> Verdict;

    /// Whether a spurious timeout makes the timer more careful: RFC 4015 (3.2) step 8.
    fn adapts_timer(&self) -> bool {
        true
    }

    /// How windows return after a spurious recovery.
    fn response(&self) -> Response {
        Response::Rfc4015
    }
}

parameters! {
    /// How the windows are restored.
    pub enum Response {
        /// Without a burst: RFC 4015 (3.2) step 6.
        #[default]
        Rfc4015,
        /// Restores them to their previous values.
        Restore,
    }
}

/// Conclusion from an ACK about the latest loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No conclusion, or no new one.
    Open,
    /// Not yet enough: send two new segments instead of going back, RFC 5682 (2.1) step 2b.
    Probe,
    /// The loss was one after all: go back from the first unacknowledged segment.
    Genuine,
    /// Spurious: nothing was lost.
    Spurious,
    /// An original, and not its retransmission, filled the first gap of a fast recovery. Others are still being
    /// repaired, so the recovery stands for now.
    Delayed,
}

/// Properties of a detection's parameters.
pub trait Component {
    /// Makes the detection; `None` if there is none.
    fn build(&self) -> Option<Box<dyn Undo>>;
}

registry! {
    /// A detection of spurious loss recoveries and its parameters.
    pub enum Config: Component, default None {
        None = none,
        Dsack = dsack,
        Eifel = eifel,
        Frto = frto,
        Linux = linux,
    }
}

/// A sender's detection of spurious recoveries, and all that it keeps for taking one back.
pub struct Undoing {
    detection: Box<dyn Undo>,
    /// State before the latest loss.
    prior: Option<Prior>,
    /// After a spurious timeout: the state before it, and the end of the data sent by then.
    adapts: Option<(Prior, u64)>,
    /// F-RTO holds going back, and permits this many new segments.
    pub probe: Option<u32>,
    /// The threshold of duplicate ACKs to return to, if it adapts.
    fixed_threshold: Option<u32>,
}

impl Undoing {
    /// If this TCP detects spurious recoveries.
    pub(super) fn of(config: &Tcp) -> Option<Self> {
        let mut detection = config.undo.build()?;
        if config.timestamps {
            detection.on_timestamps();
        }
        let fixed_threshold = config.adaptive_dupack_threshold.then_some(config.dupack_threshold);
        Some(Self { detection, prior: None, adapts: None, probe: None, fixed_threshold })
    }

    /// A fast recovery is about to begin.
    pub(super) fn on_fast_retransmit(&mut self, state: &State, rto: &Rto) {
        self.prior = Some(Prior::of(state, rto, false));
        self.detection.on_loss(state, false, true);
    }

    /// The retransmission timer has expired.
    pub(super) fn on_timeout(&mut self, state: &mut State, rto: &Rto) {
        self.probe = None;
        // RFC 4015 (3.2): not again for a recovery that has begun and not ended.
        let first = state.phase != Phase::Recovery && state.recover.is_none_or(|end| state.una >= end);
        if first {
            self.prior = Some(Prior::of(state, rto, true));
        }
        self.detection.on_loss(state, true, first);
        if let Some(fixed) = self.fixed_threshold.filter(|_| state.phase == Phase::Disorder) {
            // Duplicate ACKs had come, and the threshold kept the fast retransmit back.
            state.dupack_threshold = fixed;
        }
    }

    /// The segment of this range was retransmitted, with this timestamp.
    pub(super) fn on_retransmission(&mut self, range: (u64, u64), ts_val: u32) {
        self.detection.on_retransmission(range, ts_val);
    }

    /// An ACK arrived; `state.una` has not moved yet.
    pub(super) fn judge(&mut self, state: &State, ack: &AckOutcome) -> Verdict {
        if let Some(prior) = &mut self.prior {
            prior.dupacks = prior.dupacks.max(state.dupacks);
        }
        let verdict = self.detection.on_ack(state, ack);
        match verdict {
            Verdict::Open | Verdict::Delayed => {}
            Verdict::Probe => self.probe = Some(2),
            Verdict::Genuine | Verdict::Spurious => self.probe = None,
        }
        verdict
    }

    /// An ACK of `acked` bytes, already processed, shows that the latest recovery was spurious: restores the windows.
    /// Returns whether the recovery had started with a timeout; `None` if the previous windows are unknown.
    pub(super) fn restore(&mut self, state: &mut State, acked: u64) -> Option<bool> {
        let prior = self.prior.take()?;
        prior.restore(state, self.detection.response(), acked);
        if prior.is_timeout {
            self.adapts = self.detection.adapts_timer().then_some((prior, state.max));
        } else if let Some(fixed) = self.fixed_threshold {
            // One segment that is late can bring a duplicate ACK for each of the others.
            let most = (state.window.segments() as u32).saturating_sub(1).max(fixed);
            state.dupack_threshold = state.dupack_threshold.max(prior.dupacks + 1).min(most);
        }
        Some(prior.is_timeout)
    }

    /// An ACK of `ack` gave the round-trip time `sample`. RFC 4015 (3.2) step 8: after a spurious timeout, the first
    /// sample of new data makes the timer more careful. Returns whether it did.
    pub(super) fn adapt(&mut self, rto: &mut Rto, ack: u64, sample: Duration) -> bool {
        let Some((prior, _)) = self.adapts.take_if(|(_, end)| ack > *end) else { return false };
        prior.adapt(rto, sample);
        true
    }
}

/// State of a sender before its windows were reduced: RFC 4015 (3.2) step 0.
#[derive(Clone, Copy, Debug)]
struct Prior {
    /// A timeout, not a fast retransmit.
    is_timeout: bool,
    /// Most duplicate ACKs seen in a row since.
    dupacks: u32,
    cwnd: f64,
    ssthresh: f64,
    pipe_prev: f64,
    srtt_prev: Duration,
    rttvar_prev: Duration,
}

impl Prior {
    /// Notes the windows and the estimate.
    fn of(state: &State, rto: &Rto, is_timeout: bool) -> Self {
        Self {
            is_timeout,
            dupacks: state.dupacks,
            cwnd: state.window.cwnd,
            ssthresh: state.window.ssthresh,
            pipe_prev: (state.flight_size() as f64).max(state.window.ssthresh),
            srtt_prev: rto.srtt() + rto.granularity().saturating_mul(2),
            rttvar_prev: rto.rttvar(),
        }
    }

    /// The recovery was spurious; the ACK that showed it acknowledged `acked` bytes, and is already processed.
    fn restore(&self, state: &mut State, response: Response, acked: u64) {
        // Step 5: continue with new data.
        state.nxt = state.max;
        (state.window.cwnd, state.window.ssthresh) = match response {
            Response::Rfc4015 => {
                let flight = state.flight_size() as f64;
                // ASSUMED: at least a segment. With less and nothing in flight, no ACK would ever open the window.
                ((flight + (acked as f64).min(state.initial_window)).max(state.window.mss), self.pipe_prev)
            }
            Response::Restore => (state.window.cwnd.max(self.cwnd), self.ssthresh.max(state.window.ssthresh)),
        };
        state.inflation = 0;
        state.dupacks = 0;
        state.retransmit = None;
        state.limited_transmit = 0;
        state.limited_bytes = 0;
        // As if there had been no loss: the next duplicate ACKs may signal one. RFC 5682 (2.1) step 3b.
        state.recover = None;
        state.phase = Phase::Open;
    }

    /// Step 8: the first sample of data that was new when the timeout turned out to be spurious.
    fn adapt(&self, rto: &mut Rto, sample: Duration) {
        let half = Duration::from_nanos(sample.as_nanos() / 2);
        rto.set_estimate(self.srtt_prev.max(sample), self.rttvar_prev.max(half));
    }
}
