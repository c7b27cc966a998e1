//! All hand-overs of a run, from what its UEs measure.

use super::air::{CellAir, CellLoad, Heard};
use super::decision::Measurements;
use super::failure::Monitor;
use super::{Config, FRAME};
use crate::handover::{self, Bearers, Measured};
use crate::rng;
use crate::sinr::{Shadowing, Signal};
use crate::time::{Duration, Instant};
use crate::trace::Cause;
use std::sync::Arc;

/// A UE that measures.
pub struct Walker<'a> {
    /// Number of its interface.
    pub ue: u16,
    /// Name of the UE.
    pub name: &'a str,
    /// Index of the cell it is attached to at the start.
    pub cell: usize,
}

/// Computes the hand-overs of a run in the order of time, and what each cell's UEs receive. `ues` counts all
/// interfaces.
pub fn plan(
    config: &Config,
    run_seed: u64,
    (duration, subcarrier_hz, ues): (Duration, f64, u16),
    cells: &[&str],
    walkers: &[Walker<'_>],
) -> (Vec<handover::Config>, Vec<CellAir>) {
    let noise_dbm = config.noise_dbm(subcarrier_hz);
    let loads: Vec<Arc<CellLoad>> = cells.iter().map(|_| Arc::default()).collect();
    let heard = || (0..ues).map(|_| None).collect();
    let mut airs: Vec<_> = loads.iter().map(|load| CellAir { load: load.clone(), ues: heard() }).collect();
    let mut handovers = Vec::new();
    for walker in walkers {
        let signals: Vec<_> = cells.iter().map(|cell| signal(config, run_seed, walker, cell)).collect();
        for (cell, air) in airs.iter_mut().enumerate() {
            let Some(own) = signals[cell].clone() else { continue };
            let others = signals.iter().zip(&loads).enumerate().filter(|(other, _)| *other != cell);
            let others = others.filter_map(|(_, (signal, load))| Some((signal.clone()?, load.clone())));
            air.ues[usize::from(walker.ue)] = Some(Heard { own, others: others.collect(), noise_dbm });
        }
        let mut walk = Walk::new(config, walker, signals, noise_dbm);
        walk.until(duration, cells);
        handovers.append(&mut walk.handovers);
    }
    handovers.sort_by_key(|handover: &handover::Config| (handover.at, handover.ue));
    (handovers, airs)
}

/// Signal of a cell; `None` if the UE does not receive the cell.
fn signal(config: &Config, run_seed: u64, walker: &Walker<'_>, cell: &str) -> Option<Signal> {
    let mean = config.series.rows.of(walker.name, cell)?;
    let stream = rng::stream(run_seed, &format!("ue{}.{cell}.rsrp", walker.ue));
    Some(Signal::new(mean, Shadowing::of_stream(&config.shadowing, stream)))
}

/// State of one UE during the run.
struct Walk<'a> {
    config: &'a Config,
    ue: u16,
    signals: Vec<Option<Signal>>,
    noise_dbm: f64,
    serving: usize,
    measurements: Measurements,
    monitor: Monitor,
    /// The UE is out of reach until then.
    away: Duration,
    /// What has been reported, and when the interruption will begin.
    prepared: Option<(Duration, Measured)>,
    /// When the link failed, if no cell has been found since.
    failed: Option<Duration>,
    handovers: Vec<handover::Config>,
}

impl<'a> Walk<'a> {
    fn new(config: &'a Config, walker: &Walker<'_>, signals: Vec<Option<Signal>>, noise_dbm: f64) -> Self {
        Self {
            config,
            ue: walker.ue,
            measurements: Measurements::new(config, signals.len()),
            monitor: Monitor::new(&config.failure),
            signals,
            noise_dbm,
            serving: walker.cell,
            away: Duration::ZERO,
            prepared: None,
            failed: None,
            handovers: Vec::new(),
        }
    }

    fn until(&mut self, duration: Duration, cells: &[&str]) {
        let frames = duration.as_nanos().div_ceil(FRAME.as_nanos());
        for frame in 0..frames {
            self.handle_frame(FRAME * frame, cells);
        }
        // A UE that finds no cell is out of reach until the end.
        if let Some(at) = self.failed.take() {
            self.reestablish(at, duration.saturating_sub(at), self.serving, cells);
        }
    }

    fn handle_frame(&mut self, now: Duration, cells: &[&str]) {
        let time_s = now.as_secs_f64();
        let heard: Vec<Option<f64>> =
            self.signals.iter_mut().map(|signal| signal.as_mut().map(|signal| signal.at(time_s))).collect();
        // Reports and hand-overs scheduled before this frame precede its measurement.
        self.report(now.saturating_sub(Duration::from_nanos(1)));
        if now.as_nanos().is_multiple_of(self.config.period.as_nanos()) {
            self.measurements.measure(&heard);
            if self.is_reached(now) {
                self.measurements.evaluate(now, self.serving);
            }
        }
        self.report(now);
        self.hand_over(now, cells);
        if let Some(at) = self.failed {
            self.search(now, at, &heard, cells);
        } else if self.is_reached(now)
            && let Some(at) = self.monitor.hear(now, self.sinr_db(self.serving, &heard))
        {
            self.prepared = None;
            self.failed = Some(at);
            self.search(now, at, &heard, cells);
        }
    }

    fn is_reached(&self, now: Duration) -> bool {
        now >= self.away && self.failed.is_none()
    }

    /// SINR of a cell while all others send, dB: control channels and reference signals are always transmitted.
    fn sinr_db(&self, cell: usize, heard: &[Option<f64>]) -> f64 {
        let power = |dbm: f64| libm::pow(10.0, dbm / 10.0);
        let others = heard.iter().enumerate().filter(|(other, _)| *other != cell);
        let interference: f64 = others.filter_map(|(_, dbm)| dbm.map(power)).sum();
        let own_dbm = heard[cell].unwrap_or(f64::NEG_INFINITY);
        own_dbm - 10.0 * libm::log10(power(self.noise_dbm) + interference)
    }

    fn measured(&self, cause: Cause, at: Duration, to: usize) -> Measured {
        let rsrp = |cell: usize| self.measurements.filtered[cell].unwrap_or(f64::NEG_INFINITY);
        Measured {
            cause,
            at: Instant::ZERO + at,
            cells: [self.serving as u16, to as u16],
            rsrp_dbm: [rsrp(self.serving), rsrp(to)],
        }
    }

    /// The UE reports a neighbour if that is due by now.
    fn report(&mut self, now: Duration) {
        if self.prepared.is_some() || !self.is_reached(now) {
            return;
        }
        if let Some((at, to)) = self.measurements.due(now) {
            self.prepared = Some((at + self.config.preparation, self.measured(Cause::A3, at, to)));
        }
    }

    /// What was prepared is executed if it is due by now.
    fn hand_over(&mut self, now: Duration, cells: &[&str]) {
        let Some((at, measured)) = self.prepared.filter(|(at, _)| *at <= now) else { return };
        self.leave(at, self.config.interruption, measured, cells);
    }

    /// After a failure the UE chooses the strongest cell that it can hold.
    fn search(&mut self, now: Duration, failed: Duration, heard: &[Option<f64>], cells: &[&str]) {
        let q_in_db = self.config.failure.q_in.as_db();
        let suitable = (0..heard.len()).filter(|cell| self.sinr_db(*cell, heard) > q_in_db);
        let strongest = suitable.max_by(|one, other| {
            let dbm = |cell: &usize| heard[*cell].unwrap_or(f64::NEG_INFINITY);
            dbm(one).total_cmp(&dbm(other))
        });
        if let Some(to) = strongest {
            let found = now.max(failed);
            let outage = found.saturating_sub(failed) + self.config.failure.reestablishment;
            self.reestablish(failed, outage, to, cells);
        }
    }

    fn reestablish(&mut self, at: Duration, outage: Duration, to: usize, cells: &[&str]) {
        self.failed = None;
        if !outage.is_zero() {
            let measured = self.measured(Cause::Failure, at, to);
            self.leave(at, outage, measured, cells);
        }
    }

    fn leave(&mut self, at: Duration, outage: Duration, measured: Measured, cells: &[&str]) {
        let to = usize::from(measured.cells[1]);
        let changes = to != self.serving;
        self.handovers.push(handover::Config {
            ue: self.ue,
            from: None,
            to: changes.then(|| cells[to].to_owned()),
            path_switch: (changes && !self.config.path_switch.is_zero()).then_some(self.config.path_switch),
            forward: changes && self.config.forward,
            at,
            outage,
            warning: Duration::ZERO,
            bearers: Bearers::Pause,
            relocation: None,
            measured: Some(measured),
        });
        self.serving = to;
        self.away = at + outage;
        self.prepared = None;
        self.measurements.forget_events();
        self.monitor = Monitor::new(&self.config.failure);
    }
}
