//! State shared by congestion control and loss recovery: windows, sequence space, scoreboard.
//!
//! Offsets count bytes of the stream from zero and never wrap.

use super::loss_episodes::{Cut, LossEpisodes};
use crate::tcp::{Config, WindowArithmetic};
use crate::time::Instant;
use crate::trace::SendCause;
use std::collections::VecDeque;

/// Congestion window and slow start threshold, in bytes.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Congestion window. Fractions of a segment are kept.
    pub cwnd: f64,
    /// Slow start threshold.
    pub ssthresh: f64,
    /// Payload of a full segment.
    pub mss: f64,
    /// How half of a window is computed.
    pub arithmetic: WindowArithmetic,
    /// Whether a loss leaves a window below the threshold as it is.
    pub keeps_smaller: bool,
    /// Whether a loss halves the data in flight instead of using the congestion control's own threshold.
    pub halves: bool,
}

impl Window {
    /// Whether slow start, not congestion avoidance, governs growth: RFC 5681 (3.1).
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The window after a loss that allows `cwnd`.
    fn after_loss(&self, cwnd: f64) -> f64 {
        if self.keeps_smaller { cwnd.min(self.cwnd) } else { cwnd }
    }

    /// Whole segments in the window.
    pub fn segments(&self) -> u64 {
        (self.cwnd / self.mss) as u64
    }

    /// Three quarters of the window in whole segments, or the threshold if that is larger: RFC 2861 (3.2), as Linux
    /// rounds it.
    pub fn raised_threshold(&self) -> f64 {
        let cwnd = self.segments();
        self.ssthresh.max((cwnd / 2 + cwnd / 4) as f64 * self.mss)
    }

    /// Two segments, below which no threshold falls: RFC 5681 (3.1) equation 4.
    pub fn floor(&self) -> f64 {
        2.0 * self.mss
    }
}

/// Phases of loss recovery, with the kernel's names and numbers (`tcpi_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// No loss is suspected.
    #[default]
    Open = 0,
    /// Duplicate ACKs have arrived, fewer than the threshold.
    Disorder = 1,
    /// Fast recovery.
    Recovery = 3,
    /// A timeout; outstanding data is retransmitted.
    Loss = 4,
}

impl Phase {
    /// The kernel's number.
    pub const fn tcpi_ca_state(self) -> u32 {
        self as u32
    }
}

/// One segment in flight.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Offset of its first byte.
    pub start: u64,
    /// When it was sent last.
    pub sent_at: Instant,
    /// Its payload in bytes.
    pub len: u32,
    /// How often it was sent, up to 65535.
    pub transmissions: u16,
    /// The receiver has reported all of it beyond a gap: RFC 2018.
    pub is_sacked: bool,
    /// Mark of a loss recovery that marks each segment: [`crate::tcp::recovery::rack`].
    pub outcome: Outcome,
}

/// Assumed state of a segment that is neither acknowledged nor SACKed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// In flight.
    #[default]
    InFlight,
    /// Lost and not retransmitted yet.
    Lost,
    /// Lost and retransmitted.
    Retransmitted,
}

impl Segment {
    /// Records a retransmission.
    pub fn mark_retransmitted(&mut self, now: Instant) {
        self.sent_at = now;
        self.transmissions = self.transmissions.saturating_add(1);
    }

    /// Everything before `start` is acknowledged.
    pub fn cut_front(&mut self, start: u64) {
        self.len -= (start - self.start) as u32;
        self.start = start;
    }

    /// End offset (exclusive).
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }
}

/// The shared state of a sender.
#[derive(Debug, Default)]
pub struct State {
    /// Congestion window and threshold.
    pub window: Window,
    /// Payload of a full segment, bytes.
    mss: u64,
    /// Inflation of the congestion window in bytes by duplicate ACKs during recovery; a partial ACK may make it
    /// negative: RFC 6582 (3.2) step 3.
    pub inflation: i64,
    /// The receiver's window, in bytes.
    pub rwnd: u64,
    /// Limit of the sender itself, in bytes.
    pub max_window: u64,
    /// Oldest unacknowledged byte.
    pub una: u64,
    /// Next byte to send; back at `una` after a timeout.
    pub nxt: u64,
    /// End offset (exclusive) of all data sent so far.
    pub max: u64,
    /// Duplicate ACKs since the last new one.
    pub dupacks: u32,
    /// Phase of loss recovery.
    pub phase: Phase,
    /// `max` when the last recovery began or the last timeout happened: RFC 6582 (3.2). `None` before
    /// the first.
    pub recover: Option<u64>,
    /// A segment to be retransmitted before anything else is sent.
    pub retransmit: Option<(u64, SendCause)>,
    /// Offset of the segment retransmitted because of a radio loss: [`crate::tcp::recovery::rnf`]. Valid only while it
    /// equals `una`.
    pub repaired: Option<u64>,
    /// New segments that duplicate ACKs allow beyond the window: RFC 3042.
    pub limited_transmit: u32,
    /// Bytes that limited transmit has sent since the last new ACK.
    pub limited_bytes: u64,
    /// Segments from `una` to `max`.
    pub segments: VecDeque<Segment>,
    /// Duplicate ACKs that signal a loss.
    pub dupack_threshold: u32,
    /// Congestion window of a new connection, bytes: IW.
    pub initial_window: f64,
    /// Congestion window after a timeout, bytes.
    pub loss_window: f64,
    /// Whether the first duplicate ACKs allow new data.
    pub limited_transmit_enabled: bool,
    /// Whether a second fast retransmit may follow within one window of data.
    pub multiple_fast_retransmits: bool,
    /// Segments that the receiver has reported as duplicates.
    pub duplicates: u64,
    /// Losses by their consequences. Behind a pointer: it is used only when the window is reduced, the rest with every
    /// ACK.
    pub losses: Box<LossEpisodes>,
    /// End of the data sent when the window was last fully used: [`State::was_used_up`].
    used_end: u64,
    /// A pacer spaces the segments.
    pub is_paced: bool,
    /// The window is used, so that it may grow: [`super::validation`]. True for a sender that does not judge it.
    pub uses_window: bool,
}

impl State {
    /// A sender that has sent nothing.
    pub fn new(config: &Config) -> Self {
        let mss = config.payload_bytes() as f64;
        let ssthresh = config.initial_ssthresh.map_or(f64::INFINITY, |bytes| bytes.as_u64() as f64);
        Self {
            window: Window {
                cwnd: f64::from(config.initial_window) * mss,
                ssthresh,
                mss,
                arithmetic: config.window_arithmetic,
                keeps_smaller: config.cc.keeps_smaller_window(),
                halves: config.cc.halves_window(),
            },
            mss: config.payload_bytes(),
            rwnd: config.advertised_window(),
            max_window: config.max_window.map_or(u64::MAX, |n| u64::from(n) * config.payload_bytes()),
            dupack_threshold: config.dupack_threshold,
            initial_window: f64::from(config.initial_window) * mss,
            loss_window: f64::from(config.loss_window) * mss,
            limited_transmit_enabled: config.limited_transmit,
            multiple_fast_retransmits: config.multiple_fast_retransmits,
            is_paced: config.pace().is_some(),
            uses_window: true,
            ..Self::default()
        }
    }

    /// Payload of a full segment, bytes.
    pub fn mss(&self) -> u64 {
        self.mss
    }

    /// Bytes sent and not acknowledged: RFC 5681 (2).
    pub fn flight_size(&self) -> u64 {
        self.nxt - self.una
    }

    /// Bytes in flight permitted by the receiver and by the sender's own limit.
    pub fn peer_window(&self) -> u64 {
        self.rwnd.min(self.max_window)
    }

    /// Bytes that may be in flight now.
    #[inline]
    pub fn send_window(&self) -> u64 {
        let inflated = (self.window.cwnd as i64).saturating_add(self.inflation).max(0);
        (inflated as u64).min(self.peer_window())
    }

    /// Whether everything before offset `end` may be in flight now.
    #[inline]
    pub fn permits(&self, end: u64) -> bool {
        // As `send_window` has it, but a whole number becomes a float at less cost than a float a whole number.
        let flight = end.wrapping_sub(self.una) as i64;
        (flight - self.inflation) as f64 <= self.window.cwnd && flight <= self.peer_window() as i64
    }

    /// RFC 3042 (2): the receiver's window permits it, and no more than two segments beyond cwnd. Only ns-2 retransmits
    /// this way.
    #[inline]
    pub fn limited_transmit_permits(&self, seq: u64, len: u64) -> bool {
        if self.limited_transmit == 0 {
            return false;
        }
        let cwnd_end = self.una + self.window.cwnd as u64 + u64::from(self.limited_transmit) * self.mss();
        let is_new = seq >= self.max || self.window.arithmetic == WindowArithmetic::Ns2;
        is_new && seq + len <= cwnd_end.min(self.una + self.peer_window())
    }

    /// Whether the window was used up before an ACK of `acked` bytes, which are already subtracted, or when the
    /// acknowledged data was in flight. Otherwise it must not grow (RFC 7661 (4.3), RFC 9438 (5.8), RFC 9002 (7.8)).
    /// After a window has doubled, only half of it is in use, so slow start requires only that.
    #[inline(always)]
    pub fn was_used_up(&mut self, acked: u64) -> bool {
        self.una <= self.used_end || self.is_used_up(acked)
    }

    #[inline]
    fn is_used_up(&mut self, acked: u64) -> bool {
        let window = &self.window;
        let enough = if window.in_slow_start() { window.cwnd / 2.0 } else { window.cwnd };
        let is_full = (self.flight_size() + acked) as i64 as f64 + window.mss > enough;
        if is_full {
            self.used_end = self.max;
        }
        is_full
    }

    /// The threshold after a loss: RFC 5681 (3.1) equation 4, or ns-2's halving.
    pub fn half_window(&self) -> f64 {
        match self.window.arithmetic {
            WindowArithmetic::Rfc5681 => {
                // RFC 5681 (3.2) step 2: without limited transmit.
                let mut flight = self.flight_size().saturating_sub(self.limited_bytes) as f64;
                if self.phase == Phase::Recovery || self.is_under_repair() {
                    // "No more than" the equation: segments that duplicate ACKs report as delivered are still counted
                    // in FlightSize. After a long recovery that ends in a timeout they would make a threshold far above
                    // the capacity of the path, and the next slow start would end like the last.
                    flight = flight.min(self.window.cwnd);
                }
                (flight / 2.0).max(self.window.floor())
            }
            WindowArithmetic::Ns2 => {
                let half_segments = (self.send_window() / self.mss()) / 2;
                (half_segments as f64 * self.window.mss).max(self.window.floor())
            }
        }
    }

    /// Whether everything outstanding at the last loss event is acknowledged, so that duplicate ACKs
    /// signal a new one: RFC 6582 (3.2) step 1.
    pub fn beyond_recover(&self) -> bool {
        self.recover.is_none_or(|recover| self.una > recover)
    }

    /// Whether something that was outstanding at the last loss event still is.
    pub fn is_below_recover(&self) -> bool {
        self.recover.is_some_and(|recover| self.una < recover)
    }

    /// Whether the oldest unacknowledged segment has been retransmitted because of a radio loss.
    pub fn is_under_repair(&self) -> bool {
        self.repaired == Some(self.una)
    }

    /// The segment that holds byte `seq`.
    pub fn segment_mut(&mut self, seq: u64) -> Option<&mut Segment> {
        let index = self.segments.partition_point(|segment| segment.end() <= seq);
        self.segments.get_mut(index)
    }

    /// State of the sender before a reduction of its window.
    pub fn cut(&self) -> Cut {
        Cut { una: self.una, max: self.max, cwnd_segments: self.window.segments() }
    }

    /// Enters fast recovery; all observers are already notified. `ssthresh` is the new threshold and window (unless
    /// that was smaller and the congestion control keeps it, [`Window::keeps_smaller`]), inflated by the segments that
    /// have left the network; the first unacknowledged segment is retransmitted. RFC 5681 (3.2).
    pub fn enter_recovery(&mut self, ssthresh: f64) {
        let half = (self.send_window() / self.mss() / 2).max(1) * self.mss();
        let before = self.window.cwnd;
        self.window.ssthresh = ssthresh;
        self.window.cwnd = self.window.after_loss(ssthresh);
        if self.window.arithmetic == WindowArithmetic::Ns2 {
            // Reno: only the threshold has a floor of two; half of three is a window of one. Modules with a threshold of
            // their own (Westwood, CUBIC) take it where the window is larger: `if (cwnd > ssthresh) cwnd = ssthresh`.
            let window = &mut self.window;
            window.cwnd = if window.halves { window.cwnd.min(half as f64) } else { before.min(ssthresh) };
        }
        self.inflation = i64::from(self.dupack_threshold) * self.mss() as i64;
        self.recover = Some(self.max);
        self.phase = Phase::Recovery;
        self.retransmit = Some((self.una, SendCause::FastRetransmit));
    }

    /// Ends fast recovery with a window of `cwnd` bytes.
    pub fn exit_recovery(&mut self, cwnd: f64) {
        self.window.cwnd = self.window.after_loss(cwnd);
        self.inflation = 0;
        self.phase = Phase::Open;
    }
}
