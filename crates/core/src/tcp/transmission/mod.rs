//! State shared by a sender and its loss recovery: windows and segments in flight, congestion control, the timer and
//! its RTT estimate, supplied data and counters.
//!
//! [`Sender`](super::Sender) reads headers and calls [`Loss`](super::recovery::Loss) to interpret an ACK and to select
//! the next segment; both act on one [`Transmission`]. This module contains the code common to both kinds of loss
//! recovery: sending a segment, removing acknowledged ones, and reporting a recovery, a timeout or an undo.

pub(super) mod counters;
pub(super) mod delivery;
pub(super) mod pacer;
pub(super) mod rtt;
pub(super) mod timer;

use super::cc::CongestionControl;
use super::ecn;
use super::rto::Rto;
use super::undo::{Undoing, Verdict};
use super::window::state::{Outcome, Segment, State};
use super::{Config, ShrunkWindow, Transmit, WindowArithmetic, WindowProbe, timestamp};
use crate::delays::Delays;
use crate::tcp::window::scoreboard::AckOutcome;
use crate::time::Instant;
use crate::trace::SendCause;
use counters::Counters;
use delivery::Meter;
use pacer::Pacer;
use rtt::RttMeter;
use timer::SendTimer;

/// State shared by a sender and its loss recovery.
pub struct Transmission {
    pub state: State,
    pub cc: Box<dyn CongestionControl>,
    /// SACK blocks are read.
    pub reads_sack: bool,
    /// Whether the congestion control is notified of every ACK and RTT sample.
    cc_measures: bool,
    /// The window grows only while it is used, and the congestion control does not look at that.
    checks_use: bool,
    /// Delivery rates, for a congestion control that models the path.
    pub meter: Option<Box<Meter>>,
    pub pacer: Option<Box<Pacer>>,
    pub rto: Rto,
    pub rtt: RttMeter,
    pub timer: SendTimer,
    /// Detection of spurious recoveries.
    pub undo: Option<Box<Undoing>>,
    pub(super) ecn: Option<Box<ecn::Sending>>,
    pub counters: Counters,
    pub rtts: Delays,
    /// Bytes that the application has supplied.
    pub supplied: u64,
    /// The timer has expired and nothing was sent since.
    pub timed_out: bool,
    /// Offset of the segment that timed out last.
    timeout_una: Option<u64>,
    shrunk_window: ShrunkWindow,
    window_probe: WindowProbe,
}

impl Transmission {
    /// Nothing has been sent.
    pub fn new(config: &Config) -> Self {
        let cc = config.cc.build();
        Self {
            state: State::new(config),
            reads_sack: config.sack,
            cc_measures: cc.measures(),
            checks_use: !config.cc.checks_use() && config.window_arithmetic == WindowArithmetic::Rfc5681,
            cc,
            meter: config.cc.models_path().then(Box::default),
            pacer: config.pace().map(|pace| Box::new(Pacer::new(config.max_pacing_rate, pace))),
            rto: Rto::new(&config.rto),
            rtt: RttMeter::new(config),
            timer: SendTimer::default(),
            undo: Undoing::of(config).map(Box::new),
            ecn: ecn::Sending::new(config.ecn, config.cc.ect()).map(Box::new),
            counters: Counters::default(),
            rtts: Delays::default(),
            supplied: 0,
            timed_out: false,
            timeout_una: None,
            shrunk_window: config.shrunk_window,
            window_probe: config.window_probe,
        }
    }

    /// Length of the next new segment; 0 if there is nothing new to send.
    #[inline]
    pub fn new_bytes(&self) -> u64 {
        self.state.mss().min(self.supplied - self.state.max)
    }

    /// Whether there is new data that the peer's window permits once everything before `una` is acknowledged.
    pub fn can_send_new(&self, una: u64) -> bool {
        let len = self.new_bytes();
        len > 0 && self.state.max + len <= una + self.state.peer_window()
    }

    /// Sends `len` bytes of new data.
    #[inline(always)]
    pub fn send_new(&mut self, now: Instant, len: u64, cause: SendCause) -> Transmit {
        let state = &mut self.state;
        let seq = state.max;
        if cause == SendCause::LimitedTransmit {
            state.limited_bytes += len;
        }
        let len = len as u32;
        state.segments.push_back(Segment {
            start: seq,
            sent_at: now,
            len,
            transmissions: 1,
            is_sacked: false,
            outcome: Outcome::InFlight,
        });
        state.nxt = seq + u64::from(len);
        state.max = state.nxt;
        self.rtt.on_new(now, state.max);
        self.sent(now, seq, len, cause)
    }

    /// Sends the segment at `seq` again, if it is in flight.
    #[cold]
    pub fn send_again(&mut self, now: Instant, seq: u64, cause: SendCause) -> Option<Transmit> {
        let segment = self.state.segment_mut(seq)?;
        segment.mark_retransmitted(now);
        let len = segment.len;
        if let Some(undo) = &mut self.undo {
            undo.on_retransmission((seq, seq + u64::from(len)), timestamp(now));
        }
        Some(self.sent(now, seq, len, cause))
    }

    /// Notes that a segment is sent.
    #[inline(always)]
    pub fn sent(&mut self, now: Instant, seq: u64, len: u32, cause: SendCause) -> Transmit {
        self.counters.on_sent(cause);
        self.timed_out = false;
        if self.timer.at.is_none() {
            // RFC 6298 (5.1).
            self.timer.at = Some(now + self.rto.value());
        }
        Transmit { seq, len, cause }
    }

    /// An ACK advances: moves the left edge of the window to `ack`. Returns whether it gave a round-trip time.
    #[inline(always)]
    pub fn advance(&mut self, now: Instant, ack: u64, ts_ecr: u32) -> bool {
        let state = &mut self.state;
        state.una = ack;
        state.nxt = state.nxt.max(ack);
        let (mut first, mut is_ambiguous) = (None, false);
        while let Some(segment) = state.segments.front_mut() {
            if segment.start >= ack {
                break;
            }
            first.get_or_insert(segment.sent_at);
            is_ambiguous |= segment.transmissions > 1;
            if segment.end() > ack {
                segment.cut_front(ack);
                break;
            }
            state.segments.pop_front();
        }
        state.dupacks = 0;
        state.limited_transmit = 0;
        state.limited_bytes = 0;
        self.rto.set_flight(state.segments.len());
        // Karn's algorithm.
        let sent_at = first.filter(|_| !is_ambiguous);
        self.sample_acked(now, ack, sent_at, ts_ecr)
    }

    /// Notifies the congestion control of an ACK of `acked` new bytes.
    #[inline(always)]
    pub fn measure_arrival(&mut self, now: Instant, acked: u64) {
        if self.cc_measures {
            self.cc.on_arrival(now, &mut self.state, acked);
        }
    }

    /// An ACK of `acked` bytes while no loss is suspected. The retransmission timer restarts.
    #[inline(always)]
    pub fn grow(&mut self, acked: u64) -> bool {
        debug_assert_eq!(self.state.inflation, 0);
        if !self.checks_use || self.state.was_used_up(acked) || self.is_held() {
            self.cc.on_ack(&mut self.state.window, acked);
        }
        true
    }

    /// Whether the pacer keeps a segment back, so that it is not the application that leaves the window unused: RFC 9002
    /// (7.8).
    #[cold]
    fn is_held(&self) -> bool {
        self.pacer.as_ref().is_some_and(|pacer| pacer.holds)
    }

    /// An ACK has advanced: the timer stops if nothing is in flight, and otherwise restarts if `restarts` is set.
    #[inline(always)]
    pub fn set_timer(&mut self, now: Instant, restarts: bool) {
        if self.state.una >= self.state.max {
            self.timer.at = None;
        } else if restarts {
            // RFC 6298 (5.3).
            self.timer.at = Some(now + self.rto.value());
            if self.rto.runs_from_sending()
                && let Some(oldest) = self.state.segments.front()
            {
                self.timer.at = Some((oldest.sent_at + self.rto.value()).max(now));
            }
        }
    }

    /// Judges from an ACK whether the latest recovery was spurious.
    pub fn judge(&mut self, outcome: &AckOutcome) -> Verdict {
        self.undo.as_mut().map_or(Verdict::Open, |undo| undo.judge(&self.state, outcome))
    }

    /// A fast recovery begins. Returns the slow start threshold.
    pub fn begin_recovery(&mut self, now: Instant) -> f64 {
        let state = &mut self.state;
        if let Some(undo) = &mut self.undo {
            undo.on_fast_retransmit(state, &self.rto);
        }
        if let Some(ecn) = &mut self.ecn {
            ecn.on_reduction(state.max);
        }
        state.losses.on_fast_retransmit(now, state.cut());
        self.cc.ssthresh_after_loss(state)
    }

    /// The retransmission timer has expired. Returns whether the same segment timed out before.
    pub fn begin_timeout(&mut self, now: Instant) -> bool {
        let state = &mut self.state;
        self.counters.timeouts += 1;
        if let Some(undo) = &mut self.undo {
            undo.on_timeout(state, &self.rto);
        }
        if let Some(ecn) = &mut self.ecn {
            ecn.on_reduction(state.max);
        }
        self.cc.on_timeout(now);
        state.losses.on_timeout(now, state.cut(), self.rto.value());
        self.rto.on_timeout();
        self.timeout_una.replace(state.una) == Some(state.una)
    }

    /// An ACK of `acked` bytes, already processed, shows that the latest recovery was spurious: the windows are
    /// restored.
    pub fn take_back(&mut self, acked: u64) {
        self.rtt.forget();
        let state = &mut self.state;
        let window = self.meter.as_ref().map(|_| state.window.clone());
        let Some(is_timeout) = self.undo.as_mut().and_then(|undo| undo.restore(state, acked)) else { return };
        if let Some(window) = window {
            // A control that models the path sets it alone.
            state.window = window;
        }
        state.losses.on_undo();
        self.cc.on_undo();
        if is_timeout {
            self.counters.spurious_timeouts += 1;
            self.timed_out = false;
        } else {
            self.counters.spurious_fast_retransmits += 1;
        }
    }
}
