//! The simulator: hosts at both ends of the path, and virtual time as fast as it goes.

use crate::error::ScenarioError;
use crate::host::Host;
use crate::packet::Dir;
use crate::path::Path;
use crate::rng;
use crate::scenario::Scenario;
use crate::time::Instant;
use crate::trace::{Event, ProbeMask};
use crate::wire::pcapng::PcapngWriter;
use serde_json::{Value, json};

/// Version of the results' structure.
pub const RESULTS_FORMAT: u32 = 1;

/// What to keep of a run besides its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observe {
    /// Events to record.
    pub probes: ProbeMask,
    /// Whether to write a capture with the interfaces `server` and `ue`.
    pub capture: bool,
}

/// A run.
pub struct Simulation {
    path: Path,
    end: Instant,
    seed: u64,
}

impl Simulation {
    /// Builds a run at time zero.
    ///
    /// # Errors
    /// None at present: a parsed scenario is valid. Kept for components that read files.
    pub fn new(scenario: &Scenario, seed: u64, observe: Observe) -> Result<Self, ScenarioError> {
        let flows = scenario.flows();
        let ues = scenario.radio.ues();
        let mut elements = vec![
            Box::new(Host::new(Dir::Downlink, ues, &flows)) as Box<dyn crate::element::Element>,
            scenario.wired.build(seed, "wired"),
        ];
        elements.extend(scenario.middlebox.iter().map(crate::middlebox::Config::build));
        elements.push(scenario.radio.build(seed));
        elements.push(Box::new(Host::new(Dir::Uplink, ues, &flows)));
        let mut path = Path::new(elements, observe.probes);
        if observe.capture {
            path.set_capture(PcapngWriter::new(&["server", "ue"]));
        }
        if flows.iter().all(|flow| flow.app.is_finite()) {
            path.stop_after_transfers(flows.len() as u32);
        }
        Ok(Self { path, end: Instant::ZERO + scenario.duration, seed })
    }

    /// Runs until `until`, the end of the scenario, or the end of the last transfer, whichever comes
    /// first. Returns whether the run is over.
    pub fn advance_to(&mut self, until: Instant) -> bool {
        self.path.handle_timeout(until.min(self.end));
        self.is_over()
    }

    /// Runs to the end.
    pub fn run(&mut self) {
        self.advance_to(Instant::NEVER);
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.path.stopped() || self.path.now() >= self.end
    }

    /// How far the run is.
    pub fn now(&self) -> Instant {
        self.path.now()
    }

    /// When the run ends at the latest.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// What the probes recorded since the last call.
    pub fn take_trace(&mut self) -> Vec<(Instant, Event)> {
        self.path.take_trace()
    }

    /// Bytes of the capture written since the last call.
    pub fn take_capture(&mut self) -> Vec<u8> {
        self.path.take_capture()
    }

    /// What share of the run is done, 0 to 1: of the time, or of the finite transfers' bytes if larger.
    pub fn progress(&mut self) -> f64 {
        let time = self.path.now().as_secs_f64() / self.end.as_secs_f64();
        let (mut done, mut total) = (0.0, 0.0);
        for flow in flow_reports(&self.path.reports()) {
            total += flow["bytes_to_send"].as_f64().unwrap_or(0.0);
            done += flow["bytes_acked"].as_f64().filter(|_| flow["bytes_to_send"].is_u64()).unwrap_or(0.0);
        }
        let bytes = if total > 0.0 { done / total } else { 0.0 };
        if self.is_over() { 1.0 } else { time.max(bytes).min(1.0) }
    }

    /// Results so far: no clock, no host, the same on every machine.
    pub fn results(&mut self) -> Value {
        let complete = self.is_over();
        let mut reports = self.path.reports();
        let flows = flow_reports(&reports);
        let elements = if reports.len() > 2 { reports.drain(1..reports.len() - 1).collect() } else { Vec::new() };
        json!({
            "format": RESULTS_FORMAT,
            "rng": rng::VERSION,
            "seed": self.seed,
            "simulated_s": self.path.now().as_secs_f64(),
            "complete": complete,
            "flows": flows,
            "elements": elements,
        })
    }
}

/// Joins what both hosts say of each flow.
fn flow_reports(reports: &[Value]) -> Vec<Value> {
    let empty = Vec::new();
    let of = |report: Option<&Value>| report.and_then(Value::as_array).unwrap_or(&empty).clone();
    let (server, ue) = (of(reports.first()), of(reports.last()));
    let join = |(server, ue): (Value, Value)| {
        let (mut sender, receiver) =
            if server.get("segments_sent").is_some() { (server, ue) } else { (ue, server) };
        sender["bytes_received"] = receiver["bytes_received"].clone();
        sender["receiver"] = receiver;
        sender
    };
    server.into_iter().zip(ue).map(join).collect()
}
