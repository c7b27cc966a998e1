//! BBR, version 1: controls by a model of the path (bottleneck bandwidth and minimum RTT) instead of by losses.
//!
//! N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson, "BBR: Congestion-Based Congestion Control", ACM Queue
//! 14 (5), 2016; constants, and all that the paper leaves open, as in Linux (`tcp_bbr.c`), the algorithm of a server
//! with `net.ipv4.tcp_congestion_control = bbr`.
//!
//! * **Bandwidth**: the maximum delivery rate of ten rounds. **RTT**: the minimum of ten seconds.
//! * **Startup** doubles the rate each round until three rounds bring less than 25 % more. **Drain** empties the queue.
//!   **ProbeBW** cycles through eight phases of about one RTT, one at 1.25 times the bandwidth, one at 0.75, six at it.
//!   **ProbeRTT** leaves four segments in flight for 200 ms, if no sample was as low for ten seconds.
//! * The window is twice the estimated BDP, plus an allowance for bursts and aggregated ACKs ([`aggregation`]). In the
//!   first round of a recovery it sends as much as is delivered. Two long intervals that lose a fifth at about the
//!   same rate indicate a policer, and that rate is kept ([`policer`]).
//!
//! DEVIATION: the maximum rate of ten rounds is exact; Linux keeps only the best three.

mod aggregation;
mod policer;

use super::model::{MaxFilter, ModelView, PathAck, PathModel, burst};
use super::{Component, CongestionControl};
use crate::registry::parameters;
use crate::rng::{self, Stream};
use crate::tcp::window::state::{Phase, State, Window};
use crate::time::{Duration, Instant};
use crate::trace::ModelState;
use aggregation::Aggregation;
use policer::Policer;

parameters! {
    /// BBR, version 1, as in Linux: bandwidth and round-trip time of the path set pace and window. Requires
    /// `recovery.rack`.
    pub struct Config {
        /// Whether the window allows for aggregated ACKs, by the bytes acknowledged in excess of the bandwidth.
        pub extra_acked: bool = true,
    }
}

impl Component for Config {
    fn build(&self) -> Box<dyn CongestionControl> {
        Box::new(Bbr::new(self.extra_acked))
    }

    fn keeps_smaller_window(&self) -> bool {
        true
    }

    fn models_path(&self) -> bool {
        true
    }
}

/// Gain of Startup, 2 / ln 2, and its inverse for Drain; both as Linux rounds them.
const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
const CWND_GAIN: f64 = 2.0;
/// Pacing gains of the phases of ProbeBW.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The pacing rate stays this far below the bandwidth.
const MARGIN: f64 = 0.99;
/// Rounds of the bandwidth filter: a cycle and two.
const BW_ROUNDS: u64 = 10;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Least window, segments.
const LEAST: f64 = 4.0;
/// Growth that shows that the pipe is not full yet, and rounds without it that show that it is.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Round-trip time before the first sample.
const NOMINAL_RTT: Duration = Duration::from_millis(1);

/// Whether losses have reduced the window in this phase.
fn is_cut(phase: Phase) -> bool {
    matches!(phase, Phase::Recovery | Phase::Loss)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// The model. Rates are B/s, volumes bytes.
struct Bbr {
    stream: Stream,
    mode: Mode,
    mss: f64,
    /// Window of a new connection.
    initial_window: f64,
    round: Rounds,
    max_bw: MaxFilter,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    /// Phase of ProbeBW, and since when.
    cycle: (usize, Instant),
    full_bw: f64,
    full_bw_rounds: u32,
    pipe_is_full: bool,
    /// ProbeRTT: when it may end, and whether a round has passed.
    probe_rtt_end: Option<Instant>,
    probe_rtt_round_done: bool,
    /// The window before a recovery or ProbeRTT.
    prior_cwnd: f64,
    phase: Phase,
    /// The retransmission timer has expired since the ACK before.
    timed_out: bool,
    conserves_packets: bool,
    restarts: bool,
    has_rtt: bool,
    /// Send rate of the pacer.
    pacing_rate: f64,
    aggregation: Option<Aggregation>,
    policer: Policer,
}

/// Rounds: a round ends with the ACK of a segment that was sent after it began.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    count: u64,
    end: u64,
    /// The present ACK begins one.
    begins: bool,
}

impl Bbr {
    fn new(extra_acked: bool) -> Self {
        Self {
            stream: rng::stream(0, "bbr"),
            mode: Mode::Startup,
            mss: 1.0,
            initial_window: 0.0,
            round: Rounds::default(),
            max_bw: MaxFilter::default(),
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            cycle: (0, Instant::ZERO),
            full_bw: 0.0,
            full_bw_rounds: 0,
            pipe_is_full: false,
            probe_rtt_end: None,
            probe_rtt_round_done: false,
            prior_cwnd: 0.0,
            phase: Phase::Open,
            timed_out: false,
            conserves_packets: false,
            restarts: false,
            has_rtt: false,
            pacing_rate: f64::INFINITY,
            aggregation: extra_acked.then(Aggregation::default),
            policer: Policer::default(),
        }
    }

    fn bw(&self) -> f64 {
        self.policer.rate().unwrap_or_else(|| self.max_bw.max())
    }

    /// Bytes sent in one burst.
    fn burst(&self) -> f64 {
        burst(self.pacing_rate, self.mss) as f64
    }

    /// Pacing gain and window gain.
    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (1.0, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle.0], CWND_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        }
    }

    /// The BDP at this bandwidth, times `gain`, in whole segments.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        let Some(min_rtt) = self.min_rtt else { return self.initial_window };
        (gain * bw * min_rtt.as_secs_f64() / self.mss).ceil() * self.mss
    }

    /// Room for `volume` and for bursts on both sides, an even number of segments.
    fn with_bursts(&self, volume: f64) -> f64 {
        let burst = (self.burst() / self.mss).floor().max(1.0);
        let segments = (volume / self.mss + 3.0 * burst).ceil();
        let probes = self.mode == Mode::ProbeBw && self.cycle.0 == 0;
        (2.0 * (segments / 2.0).ceil() + if probes { 2.0 } else { 0.0 }) * self.mss
    }

    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.with_bursts(self.bdp(bw, gain))
    }

    fn update_bandwidth(&mut self, ack: &PathAck) {
        self.round.begins = false;
        let (Some(sample), Some(prior)) = (ack.sample, ack.prior_delivered) else { return };
        if prior >= self.round.end {
            self.round = Rounds { count: self.round.count + 1, end: ack.delivered, begins: true };
            self.conserves_packets = false;
        }
        if self.policer.on_ack(ack, &sample, self.round.begins, self.mode == Mode::ProbeBw) {
            self.begin_probe_bw(ack.delivered_at);
        }
        let rate = sample.rate();
        if !sample.is_app_limited || rate >= self.max_bw.max() {
            self.max_bw.update(self.round.count, rate, BW_ROUNDS);
        }
    }

    /// Bytes in flight when the pacer releases the next segment.
    fn in_flight_at_next(&self, ack: &PathAck, in_flight: u64) -> f64 {
        let ahead = if ack.next_send > ack.now { ack.next_send.since(ack.now) } else { Duration::ZERO };
        let probes = if self.gains().0 > 1.0 { self.burst() } else { 0.0 };
        (in_flight as f64 + probes - self.bw() * ahead.as_secs_f64()).max(0.0)
    }

    fn update_cycle(&mut self, ack: &PathAck) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let is_full_length = ack.delivered_at.since(self.cycle.1) > self.min_rtt.unwrap_or_default();
        let gain = self.gains().0;
        let in_flight = self.in_flight_at_next(ack, ack.prior_in_flight);
        let max_bw = self.max_bw.max();
        let ends = if gain > 1.0 {
            is_full_length && (ack.newly_lost > 0 || in_flight >= self.inflight(max_bw, gain))
        } else {
            is_full_length || gain < 1.0 && in_flight <= self.inflight(max_bw, 1.0)
        };
        if ends {
            self.cycle = ((self.cycle.0 + 1) % CYCLE.len(), ack.delivered_at);
        }
    }

    fn begin_probe_bw(&mut self, now: Instant) {
        self.mode = Mode::ProbeBw;
        // Any phase but the one that drains.
        let back = (self.stream.uniform() * 7.0) as usize;
        self.cycle = ((CYCLE.len() - back) % CYCLE.len(), now);
    }

    fn check_full_pipe(&mut self, ack: &PathAck) {
        let is_app_limited = ack.sample.is_some_and(|sample| sample.is_app_limited);
        if self.pipe_is_full || !self.round.begins || is_app_limited {
            return;
        }
        let max_bw = self.max_bw.max();
        if max_bw >= FULL_GROWTH * self.full_bw {
            (self.full_bw, self.full_bw_rounds) = (max_bw, 0);
            return;
        }
        self.full_bw_rounds += 1;
        self.pipe_is_full = self.full_bw_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, ack: &PathAck) {
        if self.mode == Mode::Startup && self.pipe_is_full {
            self.mode = Mode::Drain;
        }
        let is_drained =
            || self.in_flight_at_next(ack, ack.in_flight) <= self.inflight(self.max_bw.max(), 1.0);
        if self.mode == Mode::Drain && is_drained() {
            self.begin_probe_bw(ack.delivered_at);
        }
    }

    /// Returns whether the sender counts as limited by its application.
    fn update_min_rtt(&mut self, ack: &PathAck, window: &mut Window) -> bool {
        let is_expired = ack.now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt
            && (self.min_rtt.is_none_or(|min| rtt < min) || is_expired && !ack.may_be_delayed)
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), ack.now);
        }
        if is_expired && !self.restarts && self.mode != Mode::ProbeRtt {
            self.save_window(window, self.phase);
            (self.mode, self.probe_rtt_end) = (Mode::ProbeRtt, None);
        }
        let probes = self.mode == Mode::ProbeRtt;
        if probes {
            if self.probe_rtt_end.is_none() && ack.in_flight as f64 <= LEAST * self.mss {
                self.probe_rtt_end = Some(ack.now + PROBE_RTT_TIME);
                self.probe_rtt_round_done = false;
                self.round.end = ack.delivered;
            } else if self.probe_rtt_end.is_some() {
                self.probe_rtt_round_done |= self.round.begins;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_end(ack.now, window);
                }
            }
        }
        if ack.sample.is_some() {
            self.restarts = false;
        }
        probes
    }

    fn check_probe_rtt_end(&mut self, now: Instant, window: &mut Window) {
        if self.probe_rtt_end.is_none_or(|end| now <= end) {
            return;
        }
        self.min_rtt_at = now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.pipe_is_full {
            self.begin_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn save_window(&mut self, window: &Window, phase: Phase) {
        let is_low = is_cut(phase) || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if is_low { self.prior_cwnd.max(window.cwnd) } else { window.cwnd };
    }

    fn set_pace(&mut self, srtt: Duration, window: &Window) {
        if !self.has_rtt && !srtt.is_zero() {
            self.start_pace(srtt, window);
        }
        let rate = MARGIN * self.gains().0 * self.bw();
        if self.pipe_is_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn start_pace(&mut self, srtt: Duration, window: &Window) {
        self.has_rtt = !srtt.is_zero();
        let rtt = if self.has_rtt { srtt } else { NOMINAL_RTT };
        self.pacing_rate = MARGIN * HIGH_GAIN * window.cwnd / rtt.as_secs_f64();
    }

    fn set_window(&mut self, ack: &PathAck, window: &mut Window) {
        if ack.newly_acked > 0 && !self.recover_or_restore(ack, window) {
            let acked = ack.newly_acked as f64;
            let extra = self.aggregation.as_ref().filter(|_| self.pipe_is_full);
            let extra = extra.map_or(0.0, |aggregation| aggregation.allowance(self.bw()));
            let target = self.with_bursts(self.bdp(self.bw(), self.gains().1) + extra);
            if self.pipe_is_full {
                window.cwnd = (window.cwnd + acked).min(target);
            } else if window.cwnd < target || (ack.delivered as f64) < self.initial_window {
                window.cwnd += acked;
            }
            window.cwnd = window.cwnd.max(LEAST * self.mss);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(LEAST * self.mss);
        }
    }

    /// Adjusts the window in a recovery. Returns whether nothing else may change it.
    fn recover_or_restore(&mut self, ack: &PathAck, window: &mut Window) -> bool {
        let before = std::mem::replace(&mut self.phase, ack.phase);
        let before = if std::mem::take(&mut self.timed_out) { Phase::Loss } else { before };
        let conserved = (ack.in_flight + ack.newly_acked) as f64;
        if ack.newly_lost > 0 {
            window.cwnd = (window.cwnd - ack.newly_lost as f64).max(self.mss);
        }
        if ack.phase == Phase::Recovery && before != Phase::Recovery {
            self.conserves_packets = true;
            self.round.end = ack.delivered;
            window.cwnd = conserved;
        } else if is_cut(before) && !is_cut(ack.phase) {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            self.conserves_packets = false;
        }
        if self.conserves_packets {
            window.cwnd = window.cwnd.max(conserved);
        }
        self.conserves_packets
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, _window: &mut Window, _acked: u64) {}

    /// Called before the response to a loss: saves the window, and sets no threshold.
    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        self.save_window(&state.window, state.phase);
        state.window.ssthresh
    }

    fn on_timeout(&mut self, _now: Instant) {
        self.full_bw = 0.0;
        self.timed_out = true;
        self.policer.on_timeout();
    }

    fn on_undo(&mut self) {
        (self.full_bw, self.full_bw_rounds) = (0.0, 0);
        self.policer.reset();
    }

    fn model(&mut self) -> Option<&mut dyn PathModel> {
        Some(self)
    }
}

impl PathModel for Bbr {
    fn seed(&mut self, stream: Stream) {
        self.stream = stream;
    }

    fn on_established(&mut self, now: Instant, srtt: Duration, window: &Window) {
        (self.mss, self.initial_window) = (window.mss, window.cwnd);
        (self.min_rtt, self.min_rtt_at) = ((!srtt.is_zero()).then_some(srtt), now);
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.restart(now);
        }
        self.start_pace(srtt, window);
    }

    fn on_path(&mut self, ack: &PathAck, window: &mut Window) -> bool {
        self.update_bandwidth(ack);
        let bw = self.bw();
        if let (Some(aggregation), Some(_)) = (&mut self.aggregation, ack.sample) {
            aggregation.on_ack(ack, self.round.begins, bw, window.cwnd);
        }
        self.update_cycle(ack);
        self.check_full_pipe(ack);
        self.check_drain(ack);
        let is_app_limited = self.update_min_rtt(ack, window);
        self.set_pace(ack.srtt, window);
        self.set_window(ack, window);
        is_app_limited
    }

    fn on_restart(&mut self, now: Instant, window: &mut Window) {
        self.restarts = true;
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.restart(now);
        }
        match self.mode {
            Mode::ProbeBw => self.pacing_rate = MARGIN * self.bw(),
            Mode::ProbeRtt => self.check_probe_rtt_end(now, window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    fn view(&self) -> ModelView {
        let state = match self.mode {
            Mode::Startup => ModelState::Startup,
            Mode::Drain => ModelState::Drain,
            Mode::ProbeRtt => ModelState::ProbeRtt,
            Mode::ProbeBw => match self.gains().0 {
                gain if gain > 1.0 => ModelState::ProbeBwUp,
                gain if gain < 1.0 => ModelState::ProbeBwDown,
                _ => ModelState::ProbeBwCruise,
            },
        };
        let extra_acked = self.aggregation.as_ref().map_or(0.0, Aggregation::most);
        ModelView { state, bandwidth: self.bw(), min_rtt: self.min_rtt, inflight_limit: None, extra_acked }
    }
}
