//! BBR, version 3: controls by a model of the path that losses bound.
//!
//! draft-ietf-ccwg-bbr (August 2026), whose names the comments give. The model has the maximum delivery rate of two
//! probing cycles, the minimum RTT of ten seconds, and two bounds on the data in flight and on the rate: a long-term
//! one found by the last probe ([`bounds`]) and a short-term one set by losses since then. The states are those of
//! [`cycle`].
//!
//! * **Startup** until three rounds bring less than 25 % more bandwidth, or a round of a recovery loses more than 2 %.
//! * **Drain**, then for two to three seconds, or as long as Reno would take to grow by as much, **ProbeBW**: down to
//!   the BDP, cruise below the bounds, refill without a queue, up until a plateau or too much loss indicates the limit.
//! * **ProbeRTT** halves the data in flight for 200 ms if no RTT sample was as low for five seconds.
//!
//! Where the draft leaves a choice or contradicts itself: rounds are compared with the flight in segments; Drain uses
//! only the short-term bound; the window of ProbeRTT is half of the pipe and at least four segments; a restart after a
//! pause starts a whole new epoch of ACK aggregation; high loss in Startup only sets `full_bw_reached`. Below 1.2
//! Mbit/s bursts are one segment, as in version 1. Marks count only with a short RTT: [`ecn`].

mod bounds;
mod cycle;
mod ecn;

use super::model::{LostSegment, MaxFilter, ModelView, PathAck, PathModel, burst};
use super::{Component, CongestionControl};
use crate::registry::parameters;
use crate::rng::{self, Stream};
use crate::tcp::window::state::{Phase, State, Window};
use crate::time::{Duration, Instant};
use crate::trace::ModelState;
use bounds::Bounds;
use cycle::Cycle;
use ecn::Marks;

parameters! {
    /// BBR, version 3: draft-ietf-ccwg-bbr. Bandwidth and round-trip time of the path set pace and window, and losses
    /// bound both. Requires `recovery.rack`.
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

    fn judges_use(&self) -> bool {
        true
    }

    fn models_path(&self) -> bool {
        true
    }
}

/// StartupPacingGain, 4 ln 2.
const STARTUP_GAIN: f64 = 4.0 * std::f64::consts::LN_2;
/// PacingMarginPercent.
const MARGIN: f64 = 0.99;
/// MaxBwFilterLen, cycles.
const BW_CYCLES: u64 = 2;
/// ExtraAckedFilterLen, rounds, and in Startup.
const EXTRA_ACKED_ROUNDS: (u64, u64) = (10, 1);
/// MinRTTFilterLen, ProbeRTTInterval, ProbeRTTDuration.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// MinPipeCwnd, segments.
const LEAST: f64 = 4.0;
/// Growth that shows that the pipe is not full yet, and rounds without it that show that it is.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Rounds of Drain at most.
const DRAIN_ROUNDS: u64 = 3;
/// Gaps that a round of a recovery must have to end Startup.
const STARTUP_LOSSES: u32 = 6;
const NOMINAL_RTT: Duration = Duration::from_millis(1);

/// The model. Rates are B/s, volumes bytes.
struct Bbr {
    stream: Stream,
    mss: f64,
    initial_window: f64,
    state: ModelState,
    /// Send rate of the pacer.
    pacing_rate: f64,
    has_rtt: bool,
    round: Rounds,
    max_bw: MaxFilter,
    bounds: Bounds,
    cycle: Cycle,
    full: FullPipe,
    extra_acked: Option<ExtraAcked>,
    min_rtt: MinRtt,
    probe_rtt: ProbeRtt,
    drain_begun: u64,
    startup_losses: StartupLosses,
    marks: Marks,
    /// The window before a recovery or ProbeRTT.
    prior_cwnd: f64,
    phase: Phase,
    timed_out: bool,
    restarts: bool,
    /// State to restore if the latest recovery turns out to be spurious.
    undo: Option<(ModelState, Bounds)>,
}

/// Rounds: a round ends with the ACK of a segment that was sent after it began.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    count: u64,
    end: u64,
    /// The present ACK begins one.
    begins: bool,
    /// Rounds since the last probe for bandwidth.
    since_probe: u64,
}

/// Whether the pipe is full: a sender that could send more sees no more delivered.
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    bw: f64,
    rounds: u32,
    now: bool,
    reached: bool,
}

impl FullPipe {
    /// Restarts the plateau detection from this rate.
    fn reset(&mut self, bw: f64) {
        *self = Self { bw, reached: self.reached, ..Self::default() };
    }
}

/// State of the ACK aggregation estimate.
#[derive(Clone, Debug, Default)]
struct ExtraAcked {
    epoch: Instant,
    delivered: f64,
    most: MaxFilter,
}

#[derive(Clone, Copy, Debug, Default)]
struct MinRtt {
    value: Option<Duration>,
    at: Instant,
    /// The shortest since the last ProbeRTT.
    recent: Option<Duration>,
    recent_at: Instant,
}

#[derive(Clone, Copy, Debug, Default)]
struct ProbeRtt {
    end: Option<Instant>,
    round_done: bool,
}

/// Losses in a round of a recovery during Startup.
#[derive(Clone, Copy, Debug, Default)]
struct StartupLosses {
    /// The round began in a recovery.
    whole_round: bool,
    gaps: u32,
    lost: u64,
    delivered: u64,
}

impl Bbr {
    fn new(extra_acked: bool) -> Self {
        Self {
            stream: rng::stream(0, "bbr3"),
            mss: 1.0,
            initial_window: 0.0,
            state: ModelState::Startup,
            pacing_rate: f64::INFINITY,
            has_rtt: false,
            round: Rounds::default(),
            max_bw: MaxFilter::default(),
            bounds: Bounds::default(),
            cycle: Cycle::default(),
            full: FullPipe::default(),
            extra_acked: extra_acked.then(ExtraAcked::default),
            min_rtt: MinRtt::default(),
            probe_rtt: ProbeRtt::default(),
            drain_begun: 0,
            startup_losses: StartupLosses::default(),
            marks: Marks::default(),
            prior_cwnd: 0.0,
            phase: Phase::Open,
            timed_out: false,
            restarts: false,
            undo: None,
        }
    }

    /// `bw`: BBRBoundBWForModel.
    fn bw(&self) -> f64 {
        self.max_bw.max().min(self.bounds.short_bw)
    }

    /// Bytes sent in one burst.
    fn burst(&self) -> f64 {
        burst(self.pacing_rate, self.mss) as f64
    }

    /// Pacing gain and window gain.
    fn gains(&self) -> (f64, f64) {
        match self.state {
            ModelState::Startup => (STARTUP_GAIN, 2.0),
            ModelState::Drain => (0.5, 2.0),
            ModelState::ProbeBwDown => (0.90, 2.0),
            ModelState::ProbeBwCruise | ModelState::ProbeBwRefill => (1.0, 2.0),
            ModelState::ProbeBwUp => (1.25, 2.25),
            ModelState::ProbeRtt => (1.0, 0.5),
            ModelState::None | ModelState::FewWait | ModelState::Competes => (1.0, 1.0),
        }
    }

    fn probes_bw(&self) -> bool {
        use ModelState::{ProbeBwCruise, ProbeBwDown, ProbeBwRefill, ProbeBwUp};
        matches!(self.state, ProbeBwDown | ProbeBwCruise | ProbeBwRefill | ProbeBwUp)
    }

    fn least(&self) -> f64 {
        LEAST * self.mss
    }

    /// BBRBDPMultiple.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        let Some(min_rtt) = self.min_rtt.value else { return self.initial_window };
        gain * bw * min_rtt.as_secs_f64()
    }

    /// BBRQuantizationBudget.
    fn with_bursts(&self, volume: f64) -> f64 {
        let volume = volume.max(3.0 * self.burst()).max(self.least());
        volume + if self.state == ModelState::ProbeBwUp { 2.0 * self.mss } else { 0.0 }
    }

    /// BBRInflight.
    fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.with_bursts(self.bdp(bw, gain))
    }

    /// BBRUpdateRound, BBRUpdateMaxBw.
    fn update_bandwidth(&mut self, ack: &PathAck) {
        self.round.begins = false;
        let Some(prior) = ack.prior_delivered else { return };
        if prior >= self.round.end {
            self.round.count += 1;
            self.round.since_probe += 1;
            self.begin_round(ack.delivered);
            self.round.begins = true;
        }
        let Some(sample) = ack.sample else { return };
        let rate = sample.rate();
        if rate >= self.max_bw.max() || !sample.is_app_limited {
            self.max_bw.update(self.cycle.count, rate, BW_CYCLES);
        }
    }

    /// BBRStartRound.
    fn begin_round(&mut self, delivered: u64) {
        self.round.end = delivered;
    }

    /// BBRUpdateACKAggregation.
    fn update_extra_acked(&mut self, ack: &PathAck, cwnd: f64) {
        let (bw, round) = (self.bw(), self.round.count);
        let rounds = if self.full.reached { EXTRA_ACKED_ROUNDS.0 } else { EXTRA_ACKED_ROUNDS.1 };
        let Some(extra) = &mut self.extra_acked else { return };
        let mut expected = bw * ack.now.since(extra.epoch).as_secs_f64();
        if extra.delivered <= expected {
            (extra.delivered, extra.epoch, expected) = (0.0, ack.now, 0.0);
        }
        extra.delivered += ack.newly_acked as f64;
        extra.most.update(round, (extra.delivered - expected).min(cwnd), rounds);
    }

    /// BBRCheckFullBWReached.
    fn check_full_pipe(&mut self, ack: &PathAck) {
        let Some(sample) = ack.sample else { return };
        if self.full.now || !self.round.begins || sample.is_app_limited {
            return;
        }
        if sample.rate() >= FULL_GROWTH * self.full.bw {
            self.full.reset(sample.rate());
            return;
        }
        self.full.rounds += 1;
        self.full.now = self.full.rounds >= FULL_ROUNDS;
        self.full.reached |= self.full.now;
    }

    /// BBRHandleQueueTooHighInStartup.
    fn stop_startup(&mut self) {
        self.full.reached = true;
        self.bounds.long = self.bdp(self.max_bw.max(), 1.0).max(self.bounds.latest_inflight);
    }

    /// BBRCheckStartupDone, with BBRCheckStartupHighLoss.
    fn check_startup(&mut self, ack: &PathAck) {
        let losses = &mut self.startup_losses;
        losses.lost += ack.newly_lost;
        losses.delivered += ack.newly_acked;
        if self.state == ModelState::Startup && self.round.begins {
            let sent = (losses.lost + losses.delivered) as f64;
            let is_high = losses.whole_round && losses.lost as f64 > bounds::LOSS_THRESHOLD * sent;
            if is_high && losses.gaps >= STARTUP_LOSSES && ack.phase == Phase::Recovery {
                self.stop_startup();
            }
        }
        if self.round.begins {
            let whole_round = ack.phase == Phase::Recovery;
            self.startup_losses = StartupLosses { whole_round, ..StartupLosses::default() };
        }
        if self.state == ModelState::Startup && self.full.reached {
            self.state = ModelState::Drain;
            self.drain_begun = self.round.count;
        }
    }

    /// BBRCheckDrainDone.
    fn check_drain(&mut self, ack: &PathAck) {
        let is_done = || {
            ack.in_flight as f64 <= self.inflight(self.bw(), 1.0)
                || self.round.count > self.drain_begun + DRAIN_ROUNDS
        };
        if self.state == ModelState::Drain && is_done() {
            self.begin_down(ack.now, ack.delivered);
        }
    }

    /// BBRUpdateMinRTT. Returns whether no round-trip time was as short for ProbeRTTInterval.
    fn update_min_rtt(&mut self, ack: &PathAck) -> bool {
        let min = &mut self.min_rtt;
        let is_recent_old = ack.now > min.recent_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.rtt
            && (min.recent.is_none_or(|recent| rtt < recent) || is_recent_old)
        {
            (min.recent, min.recent_at) = (Some(rtt), ack.now);
        }
        let is_old = ack.now > min.at + MIN_RTT_WINDOW;
        if let Some(recent) = min.recent
            && (min.value.is_none_or(|value| recent < value) || is_old)
        {
            (min.value, min.at) = (Some(recent), min.recent_at);
        }
        is_recent_old
    }

    /// BBRCheckProbeRTT. Returns whether the sender counts as limited by its application.
    fn check_probe_rtt(&mut self, ack: &PathAck, is_due: bool, window: &mut Window) -> bool {
        if self.state != ModelState::ProbeRtt && is_due && !self.restarts {
            self.save_window(window, self.phase);
            self.state = ModelState::ProbeRtt;
            self.probe_rtt = ProbeRtt::default();
            self.cycle.stop_probing();
            self.begin_round(ack.delivered);
        }
        let probes = self.state == ModelState::ProbeRtt;
        if probes {
            if self.probe_rtt.end.is_none() {
                if ack.in_flight as f64 <= self.probe_rtt_window() {
                    self.probe_rtt.end = Some(ack.now + PROBE_RTT_TIME);
                    self.begin_round(ack.delivered);
                }
            } else {
                self.probe_rtt.round_done |= self.round.begins;
                if self.probe_rtt.round_done {
                    self.check_probe_rtt_end(ack.now, ack.delivered, window);
                }
            }
        }
        if ack.sample.is_some() {
            self.restarts = false;
        }
        probes
    }

    /// BBRProbeRTTCwnd.
    fn probe_rtt_window(&self) -> f64 {
        self.bdp(self.bw(), 0.5).max(self.least())
    }

    /// BBRCheckProbeRTTDone, BBRExitProbeRTT.
    fn check_probe_rtt_end(&mut self, now: Instant, delivered: u64, window: &mut Window) {
        if self.probe_rtt.end.is_none_or(|end| now <= end) {
            return;
        }
        self.min_rtt.recent_at = now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.bounds.forget_short();
        if self.full.reached {
            self.begin_down(now, delivered);
            self.state = ModelState::ProbeBwCruise;
        } else {
            self.state = ModelState::Startup;
        }
    }

    /// BBRSaveCwnd.
    fn save_window(&mut self, window: &Window, phase: Phase) {
        let is_low = matches!(phase, Phase::Recovery | Phase::Loss) || self.state == ModelState::ProbeRtt;
        self.prior_cwnd = if is_low { self.prior_cwnd.max(window.cwnd) } else { window.cwnd };
    }

    fn start_pace(&mut self, srtt: Duration, window: &Window) {
        self.has_rtt = !srtt.is_zero();
        let rtt = if self.has_rtt { srtt } else { NOMINAL_RTT };
        self.pacing_rate = STARTUP_GAIN * window.cwnd / rtt.as_secs_f64();
    }

    /// BBRSetPacingRate.
    fn set_pace(&mut self, srtt: Duration, window: &Window) {
        if !self.has_rtt && !srtt.is_zero() {
            self.start_pace(srtt, window);
        }
        let rate = MARGIN * self.gains().0 * self.bw();
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// BBRSetCwnd.
    fn set_window(&mut self, ack: &PathAck, window: &mut Window) {
        self.restore_after_recovery(ack, window);
        let acked = ack.newly_acked as f64;
        let extra = self.extra_acked.as_ref().map_or(0.0, |extra| extra.most.max());
        let most = self.with_bursts(self.bdp(self.bw(), self.gains().1) + extra);
        if self.full.reached {
            window.cwnd = (window.cwnd + acked).min(most);
        } else if window.cwnd < most || (ack.delivered as f64) < self.initial_window {
            window.cwnd += acked;
        }
        window.cwnd = window.cwnd.max(self.least());
        if self.state == ModelState::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_window());
        }
        window.cwnd = window.cwnd.min(self.bound().max(self.least()));
    }

    /// BBRBoundCwndForModel.
    fn bound(&self) -> f64 {
        let long = match self.state {
            ModelState::ProbeBwCruise | ModelState::ProbeRtt => self.bounds.with_headroom(self.mss),
            _ if self.probes_bw() => self.bounds.long,
            _ => f64::INFINITY,
        };
        long.min(self.bounds.short)
    }

    fn restore_after_recovery(&mut self, ack: &PathAck, window: &mut Window) {
        let is_cut = |phase| matches!(phase, Phase::Recovery | Phase::Loss);
        let before = std::mem::replace(&mut self.phase, ack.phase);
        let was_cut = std::mem::take(&mut self.timed_out) || is_cut(before);
        if was_cut && !is_cut(ack.phase) {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
        }
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, _window: &mut Window, _acked: u64) {}

    /// Called before the response to a loss: saves window and bounds, and sets no threshold.
    fn ssthresh_after_loss(&mut self, state: &State) -> f64 {
        self.save_window(&state.window, state.phase);
        if !matches!(state.phase, Phase::Recovery | Phase::Loss) {
            self.undo = Some((self.state, self.bounds));
        }
        state.window.ssthresh
    }

    fn on_timeout(&mut self, _now: Instant) {
        self.timed_out = true;
    }

    /// BBRHandleSpuriousLossDetection. ASSUMED: the draft compares states alone, so Startup and probes are returned to
    /// even if a plateau had ended them meanwhile and not the loss; another plateau ends them after three rounds. Startup
    /// begins with `full_bw_reached` cleared, without which it would end at once, and a probe with its Refill.
    fn on_undo(&mut self) {
        let Some((state, bounds)) = self.undo.take() else { return };
        self.bounds.undo(&bounds);
        self.full.reset(0.0);
        if self.state == ModelState::ProbeRtt || self.state == state {
            return;
        }
        match state {
            ModelState::Startup => {
                self.state = ModelState::Startup;
                self.full.reached = false;
            }
            ModelState::ProbeBwUp => self.begin_refill(self.round.end),
            _ => {}
        }
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
        self.min_rtt.value = (!srtt.is_zero()).then_some(srtt);
        (self.min_rtt.at, self.min_rtt.recent_at) = (now, now);
        if let Some(extra) = &mut self.extra_acked {
            extra.epoch = now;
        }
        self.start_pace(srtt, window);
    }

    fn on_path(&mut self, ack: &PathAck, window: &mut Window) -> bool {
        self.bounds.begin_ack(ack);
        self.update_bandwidth(ack);
        self.update_marks(ack);
        self.adapt_short_bounds(window);
        self.update_extra_acked(ack, window.cwnd);
        self.check_full_pipe(ack);
        self.check_startup(ack);
        self.check_drain(ack);
        self.update_cycle(ack, window);
        let is_due = self.update_min_rtt(ack);
        let is_app_limited = self.check_probe_rtt(ack, is_due, window);
        self.bounds.end_ack(ack);
        self.set_pace(ack.srtt, window);
        self.set_window(ack, window);
        is_app_limited
    }

    fn on_lost(&mut self, now: Instant, lost: &LostSegment, window: &Window) {
        self.bounds.note_loss(lost.delivered);
        self.startup_losses.gaps += 1;
        self.note_probe_loss(now, lost, window);
    }

    /// BBRHandleRestartFromIdle.
    fn on_restart(&mut self, now: Instant, window: &mut Window) {
        self.restarts = true;
        if let Some(extra) = &mut self.extra_acked {
            (extra.epoch, extra.delivered) = (now, 0.0);
        }
        if self.probes_bw() {
            self.pacing_rate = MARGIN * self.bw();
        } else if self.state == ModelState::ProbeRtt {
            self.check_probe_rtt_end(now, self.round.end, window);
        }
    }

    fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    fn view(&self) -> ModelView {
        let limit = self.bound();
        ModelView {
            state: self.state,
            bandwidth: self.bw(),
            min_rtt: self.min_rtt.value,
            inflight_limit: limit.is_finite().then_some(limit),
            extra_acked: self.extra_acked.as_ref().map_or(0.0, |extra| extra.most.max()),
        }
    }
}

#[cfg(test)]
mod tests;
