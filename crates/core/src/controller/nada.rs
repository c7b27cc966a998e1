//! NADA: one signal of queueing delay, losses and marks, and a rate that follows it.
//!
//! Source: RFC 8698, with its letters and the values of its table 2. The receiver's part (section 4.2) is computed at the
//! sender, from feedback on each packet. Left out: the rate shaping buffer of section 4.3 (BETA_S and BETA_V are zero, as in
//! the authors' ns-3 model).

use super::{Component, Feedback, Limits, Permit, RateController};
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

parameters! {
    /// NADA, RFC 8698: one signal of queueing delay, losses and marks.
    pub struct Config {
        /// Weight of priority of the flow (PRIO).
        pub priority: f64 = 1.0,
        /// Reference congestion level (XREF).
        pub reference: Duration = Duration::from_millis(10),
        /// Whether packets are sent with ECT(1).
        pub ecn: bool = true,
    }
}

const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const TAU: f64 = 0.5;
const DELTA: Duration = Duration::from_millis(100);
const LOGWIN: Duration = Duration::from_millis(500);
const QEPS: f64 = 0.010;
const DFILT: Duration = Duration::from_millis(120);
const GAMMA_MAX: f64 = 0.5;
const QBOUND: f64 = 0.050;
const MULTILOSS: f64 = 7.0;
const QTH: f64 = 0.050;
const LAMBDA: f64 = 0.5;
const PLRREF: f64 = 0.01;
const PMRREF: f64 = 0.01;
const DLOSS: f64 = 0.010;
const DMARK: f64 = 0.002;
const ALPHA: f64 = 0.1;
/// The paced rate in multiples of the reference rate: frames leave before the next one.
const PACING: f64 = 1.5;

impl Component for Config {
    fn build(&self, limits: Limits, _start: Instant) -> Box<dyn RateController> {
        Box::new(Nada {
            config: self.clone(),
            limits,
            r_ref: limits.start,
            x_prev: 0.0,
            d_base: f64::INFINITY,
            p_loss: 0.0,
            p_mark: 0.0,
            log: VecDeque::new(),
            latest: Instant::ZERO,
            rtt_s: 0.1,
            updated: None,
            loss: LossIntervals::default(),
        })
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        if !(self.priority.is_finite() && self.priority > 0.0) {
            return Err(ScenarioError::new("priority", "is not positive", "write a number such as 1"));
        }
        if self.reference.is_zero() {
            return Err(ScenarioError::new("reference", "is zero", "write a time such as \"10 ms\""));
        }
        Ok(())
    }

    fn feedback_interval(&self) -> Duration {
        DELTA
    }

    fn reads_marks(&self) -> bool {
        self.ecn
    }
}

/// A packet of the last LOGWIN.
#[derive(Clone, Copy)]
struct Entry {
    at: Instant,
    bytes: u32,
    /// One-way delay, seconds; `None` if lost.
    delay_s: Option<f64>,
    ce: bool,
}

/// Average number of packets between loss events.
#[derive(Default)]
struct LossIntervals {
    since_last: f64,
    average: Option<f64>,
}

impl LossIntervals {
    fn add(&mut self, lost: bool) {
        self.since_last += 1.0;
        if lost {
            let interval = self.since_last;
            self.average = Some(self.average.map_or(interval, |mean| mean + ALPHA * (interval - mean)));
            self.since_last = 0.0;
        }
    }

    /// Whether losses are recent: RFC 8698, 4.2.
    fn is_recent(&self) -> bool {
        self.average.is_some_and(|average| self.since_last < MULTILOSS * average)
    }
}

struct Nada {
    config: Config,
    limits: Limits,
    /// Reference rate, bit/s.
    r_ref: f64,
    /// Congestion signal at the last update, seconds.
    x_prev: f64,
    /// Shortest one-way delay, seconds.
    d_base: f64,
    p_loss: f64,
    p_mark: f64,
    log: VecDeque<Entry>,
    /// The latest arrival.
    latest: Instant,
    rtt_s: f64,
    updated: Option<Instant>,
    loss: LossIntervals,
}

impl Nada {
    /// Adds packets to the log. Times are those of the receiver: feedback may take longer than LOGWIN.
    fn log(&mut self, feedback: &Feedback<'_>) {
        for packet in feedback.packets {
            let delay_s = packet
                .arrived_at
                .map(|at| (at.as_nanos() as i64).wrapping_sub(packet.sent_at.as_nanos() as i64) as f64 / 1e9);
            if let Some(delay_s) = delay_s {
                self.d_base = self.d_base.min(delay_s);
            }
            self.loss.add(delay_s.is_none());
            self.latest = packet.arrived_at.map_or(self.latest, |at| at.max(self.latest));
            let at = packet.arrived_at.unwrap_or(self.latest);
            self.log.push_back(Entry { at, bytes: packet.len, delay_s, ce: packet.ce });
        }
        while self.log.front().is_some_and(|entry| self.latest.since(entry.at) > LOGWIN) {
            self.log.pop_front();
        }
    }

    /// Queueing delay: the minimum over DFILT.
    fn queueing_delay(&self) -> f64 {
        let recent = self.log.iter().filter(|entry| self.latest.since(entry.at) <= DFILT);
        let delays = recent.filter_map(|entry| entry.delay_s);
        let lowest = delays.fold(f64::INFINITY, f64::min);
        let last = || self.log.iter().rev().find_map(|entry| entry.delay_s);
        let delay = if lowest.is_finite() { lowest } else { last().unwrap_or(self.d_base) };
        if delay.is_finite() { (delay - self.d_base).max(0.0) } else { 0.0 }
    }

    /// Ratios of lost and of marked packets in the log.
    fn update_ratios(&mut self) {
        let n = self.log.len().max(1) as f64;
        let lost = self.log.iter().filter(|entry| entry.delay_s.is_none()).count() as f64 / n;
        let marked = self.log.iter().filter(|entry| entry.ce).count() as f64 / n;
        self.p_loss += ALPHA * (lost - self.p_loss);
        self.p_mark += ALPHA * (marked - self.p_mark);
    }

    /// Aggregate congestion signal, seconds: RFC 8698, 4.2.
    fn signal(&self, d_queue: f64) -> f64 {
        let d_tilde = if d_queue < QTH || !self.loss.is_recent() {
            d_queue
        } else {
            QTH * libm::exp(-LAMBDA * (d_queue - QTH) / QTH)
        };
        let (loss, mark) = (self.p_loss / PLRREF, self.p_mark / PMRREF);
        d_tilde + DLOSS * loss * loss + DMARK * mark * mark
    }

    /// Whether there were neither losses nor queues in LOGWIN: accelerated ramp-up.
    fn may_ramp_up(&self) -> bool {
        self.log
            .iter()
            .all(|entry| entry.delay_s.is_some_and(|delay| delay - self.d_base < QEPS) && !entry.ce)
    }

    fn received_bps(&self) -> f64 {
        let arrived = self.log.iter().filter(|entry| entry.delay_s.is_some());
        arrived.map(|entry| f64::from(entry.bytes)).sum::<f64>() * 8.0 / LOGWIN.as_secs_f64()
    }
}

impl RateController for Nada {
    fn handle_feedback(&mut self, now: Instant, feedback: Feedback<'_>) {
        if let Some(rtt) = feedback.rtt {
            self.rtt_s = rtt.as_secs_f64();
        }
        self.log(&feedback);
        let since = self.updated.replace(now).map_or(DELTA, |before| now.since(before));
        let delta_s = since.as_secs_f64().min(2.0 * TAU);
        self.update_ratios();
        let d_queue = self.queueing_delay();
        let x_curr = self.signal(d_queue);
        if self.may_ramp_up() {
            let gamma = GAMMA_MAX.min(QBOUND / (self.rtt_s + DELTA.as_secs_f64() + DFILT.as_secs_f64()));
            self.r_ref = self.r_ref.max((1.0 + gamma) * self.received_bps());
        } else {
            let reference = self.config.priority * self.config.reference.as_secs_f64();
            let x_offset = x_curr - reference * self.limits.max / self.r_ref;
            let x_diff = x_curr - self.x_prev;
            self.r_ref -= KAPPA * (delta_s / TAU) * (x_offset / TAU) * self.r_ref;
            self.r_ref -= KAPPA * ETA * (x_diff / TAU) * self.r_ref;
        }
        self.x_prev = x_curr;
        self.r_ref = self.r_ref.clamp(self.limits.min, self.limits.max);
    }

    fn permit(&self) -> Permit {
        Permit { target_bps: self.r_ref, pacing_bps: PACING * self.r_ref, window_bytes: u64::MAX }
    }
}
