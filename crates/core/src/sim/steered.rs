//! A run in which a program sets the window or the rate of one sender, step by step, and reads its measurements.
//!
//! A step has a length in time, or ends with a number of ACKs or feedback messages. Settings take effect at the
//! beginning of a step. The run is otherwise that of [`Simulation`]: it depends on scenario, seed, steps and settings
//! alone.

use super::{Observe, Simulation};
use crate::error::ScenarioError;
use crate::host::{Host, View};
use crate::scenario::Scenario;
use crate::steering::Measured;
use crate::time::{Duration, Instant};

/// Columns of an observation: of one step if not said otherwise.
pub const COLUMNS: [&str; 10] = [
    // Length of the step.
    "elapsed_s",
    // ACKs or feedback messages that arrived.
    "reports",
    // Bytes that they reported as received, lost, and received with CE.
    "acked_bytes",
    "lost_bytes",
    "marked_bytes",
    // Mean of the round-trip times; without any, the latest one before; 0 before the first.
    "rtt_s",
    // The shortest since the flow began.
    "least_rtt_s",
    // After the latest report.
    "in_flight_bytes",
    // In force at the end of the step.
    "window_bytes",
    "rate_bps",
];

/// An observation, in the order of [`COLUMNS`].
pub type Row = [f64; COLUMNS.len()];

/// How long a step lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepLength {
    /// At most.
    pub time: Duration,
    /// Until so many ACKs or feedback messages have arrived.
    pub reports: Option<u64>,
}

/// Settings at the beginning of a step; `None` leaves a setting as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// Congestion window, segments.
    pub window: Option<f64>,
    /// Pacing rate or target rate, bit/s.
    pub rate: Option<f64>,
}

/// Whether a step was the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More steps may follow.
    Goes,
    /// The sender has sent everything, or has stopped.
    Finished,
    /// The scenario ends here.
    TimeUp,
}

/// A run with a sender that is steered.
pub struct Steered {
    simulation: Simulation,
    /// Node of the sender's host, and position of the sender there.
    place: (usize, usize),
    stop: Instant,
    /// At the end of the latest step.
    before: Measured,
}

impl Steered {
    /// Runs up to the start of the first flow that entry `entry` of `[[flow]]` describes.
    ///
    /// # Errors
    /// If there is no such flow, or its sender cannot be steered.
    pub fn new(scenario: &Scenario, seed: u64, entry: usize) -> Result<Self, ScenarioError> {
        let simulation = Simulation::in_one_piece(scenario, seed, Observe::default());
        let Some(spec) = scenario.first_of(entry) else {
            let message = format!("there is no [[flow]] {entry}");
            let hint = format!("write a number from 0 to {}", scenario.flow.len().saturating_sub(1));
            return Err(ScenarioError::new("flow", message, hint));
        };
        let node = simulation.hosts[spec.dir.index()];
        let position =
            simulation.path.element::<Host>(node).and_then(|host| host.position(spec.ue, spec.flow));
        let mut steered = Self {
            simulation,
            place: (node, position.unwrap_or(0)),
            stop: spec.stop,
            before: Measured::default(),
        };
        if steered.view().is_none() {
            let message = "its sender cannot be steered".to_owned();
            let hint = "choose a flow over one TCP connection with tcp.cc = \"constant\", or a call with controller \
                        = \"fixed\"";
            return Err(ScenarioError::new(format!("flow.{entry}"), message, hint));
        }
        steered.simulation.advance_to(spec.start);
        Ok(steered)
    }

    /// Changes settings, runs one step, and writes the observation.
    ///
    /// # Errors
    /// If the run holds more packets than it may.
    pub fn step(
        &mut self,
        settings: Settings,
        length: StepLength,
        row: &mut Row,
    ) -> Result<Progress, ScenarioError> {
        let begin = self.simulation.now();
        self.set(settings);
        let until = begin + length.time;
        match length.reports {
            None => _ = self.simulation.advance_to(until),
            Some(reports) => self.advance_by(reports, until),
        }
        if let Some(error) = self.simulation.overfull() {
            return Err(error);
        }
        Ok(self.observe(begin, row))
    }

    /// The observation of a step of no length.
    pub fn first(&mut self, row: &mut Row) {
        self.observe(self.simulation.now(), row);
    }

    /// The run.
    pub fn simulation(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    fn set(&mut self, Settings { window, rate }: Settings) {
        let (node, position) = self.place;
        if (window.is_some() || rate.is_some()) && !self.simulation.is_over() {
            self.simulation.path.call(node, |host: &mut Host, cx| host.steer(cx, position, window, rate));
        }
    }

    /// Runs until so many reports have arrived, at most until `until`.
    fn advance_by(&mut self, reports: u64, until: Instant) {
        let enough = self.before.reports.saturating_add(reports);
        while let Some(at) = self.simulation.next_event().filter(|at| *at <= until) {
            if self.simulation.advance_to(at) || self.reports() >= enough {
                return;
            }
        }
        self.simulation.advance_to(until);
    }

    fn reports(&mut self) -> u64 {
        self.view().map_or(0, |view| view.measured.reports)
    }

    fn view(&mut self) -> Option<View> {
        let (node, position) = self.place;
        self.simulation.path.element_mut::<Host>(node)?.steered(position)
    }

    fn observe(&mut self, begin: Instant, row: &mut Row) -> Progress {
        let now = self.simulation.now();
        let Some(View { measured, window, rate, is_finished }) = self.view() else {
            return Progress::Finished;
        };
        let before = std::mem::replace(&mut self.before, measured);
        let rtts = measured.rtts - before.rtts;
        let mean_s = (measured.rtt_sum_s - before.rtt_sum_s) / rtts as f64;
        *row = [
            now.since(begin).as_secs_f64(),
            (measured.reports - before.reports) as f64,
            (measured.acked - before.acked) as f64,
            (measured.lost - before.lost) as f64,
            (measured.marked - before.marked) as f64,
            if rtts > 0 { mean_s } else { measured.rtt_s },
            measured.least_rtt_s,
            measured.in_flight as f64,
            window.unwrap_or(0.0),
            rate.unwrap_or(0.0),
        ];
        if is_finished || now >= self.stop || self.simulation.path.stopped() {
            Progress::Finished
        } else if self.simulation.is_over() {
            Progress::TimeUp
        } else {
            Progress::Goes
        }
    }
}
