//! The simulator: hosts at both ends of the path, and virtual time as fast as it goes.

mod memory;

pub use memory::Memory;

use crate::element::{Capture, Element};
use crate::error::ScenarioError;
use crate::host::{FlowReport, Host, JainIndex, flow_reports, flow_rows, most_in_transit};
use crate::packet::Dir;
use crate::path::Path;
use crate::radio;
use crate::rng;
use crate::scenario::{Plan, Scenario, Step};
use crate::time::Instant;
use crate::trace::{Event, NodeRow, ProbeMask, Tables};
use crate::windows::{Cut, Grain, Here, Windows, Workers};
use serde::Serialize;
use serde_json::Value;

pub mod steered;

/// Version of the results' structure.
pub const RESULTS_FORMAT: u32 = 2;

/// Maximum number of packets that a run holds at once. A scenario that needs more lacks a limit somewhere: this is 50
/// Gbit in transit, and half a gigabyte of memory.
pub const MOST_PACKETS: u64 = 1 << 22;

/// Memory per packet held, bytes: the packet, the overhead of its allocation, and its place in a queue, which grows by
/// doubling.
const BYTES_PER_PACKET: u64 = 64 + 16 + 2 * 16;

/// Fewest UEs on dedicated channels for which one thread is faster in regions. Of 100 UEs the state still fits into a
/// cache of 1 MB.
const MANY_UES: u16 = 128;

/// Data to keep of a run besides its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observe {
    /// Events to record.
    pub probes: ProbeMask,
    /// Packets to capture.
    pub capture: Capture,
}

/// A run.
pub struct Simulation {
    path: Path,
    /// Nodes of the path with a host.
    hosts: [usize; 2],
    /// Names of its nodes, as of [`Scenario::path`].
    names: Vec<String>,
    /// Number of UEs or of their interfaces.
    ues: u16,
    /// Names of the UEs' interfaces; empty with a single cell.
    interfaces: Vec<String>,
    end: Instant,
    seed: u64,
    /// Changes that are still to come, the next one last.
    steps: Vec<Step>,
    /// The run in regions; `path` is empty then.
    regions: Option<Box<Regions>>,
}

/// A run in regions, and what it takes to run its scenario in one piece.
struct Regions {
    windows: Windows,
    scenario: Scenario,
}

/// How a run by `threads` threads is cut into regions.
///
/// # Errors
/// Why it is made in one piece.
pub fn cut(scenario: &Scenario, observe: Observe, threads: usize) -> Result<Cut, String> {
    if observe != Observe::default() {
        return Err("probes and captures record everything in the order of time".into());
    }
    let is_large = matches!(&scenario.radio, radio::Config::Dch(cell) if cell.ues >= MANY_UES);
    if threads < 2 && !is_large {
        return Err(format!("regions help one thread only with {MANY_UES} or more UEs of radio.dch"));
    }
    Cut::of(scenario)
}

impl Simulation {
    /// Builds a run at time zero. Nothing can fail: a parsed scenario is valid.
    pub fn new(scenario: &Scenario, seed: u64, observe: Observe) -> Self {
        Self::with_workers(scenario, seed, observe, 1, Box::new(Here))
    }

    /// Like `new`, for a run by so many workers where [`cut`] allows it. The results do not depend on them.
    pub fn with_workers(
        scenario: &Scenario,
        seed: u64,
        observe: Observe,
        count: usize,
        workers: Box<dyn Workers>,
    ) -> Self {
        match cut(scenario, observe, count) {
            Ok(cut) => Self::in_regions(scenario, seed, &cut, Grain::of_chunks(count), workers),
            Err(_) => Self::in_one_piece(scenario, seed, observe),
        }
    }

    /// A run in regions of this size.
    pub fn in_regions(
        scenario: &Scenario,
        seed: u64,
        cut: &Cut,
        grain: Grain,
        workers: Box<dyn Workers>,
    ) -> Self {
        let windows = Windows::new(scenario, seed, cut, (grain, MOST_PACKETS), workers);
        Self {
            path: Path::new(Vec::new(), ProbeMask::NONE),
            hosts: [0, 0],
            names: Vec::new(),
            ues: scenario.ues(),
            interfaces: scenario.interface_names(),
            end: Instant::ZERO + scenario.duration,
            seed,
            steps: Vec::new(),
            regions: Some(Box::new(Regions { windows, scenario: scenario.clone() })),
        }
    }

    /// A run whose events are handled one after the other.
    pub fn in_one_piece(scenario: &Scenario, seed: u64, observe: Observe) -> Self {
        let flows = scenario.flows();
        let end = |dir| Box::new(Host::new(dir, scenario.ues(), &flows, seed)) as Box<dyn Element>;
        let Plan { graph, ues } = scenario.plan(seed, [end(Dir::Downlink), end(Dir::Uplink)], None);
        let names = if scenario.is_graph() { graph.names().to_vec() } else { scenario.path() };
        let mut path = Path::of(graph, observe.probes);
        path.set_capture(observe.capture);
        if flows.iter().all(|flow| flow.app.is_finite()) {
            path.stop_after_transfers(
                flows.iter().filter(|flow| flow.is_first()).map(|flow| flow.app.ends(flow.connection)).sum(),
            );
        }
        path.stop_above(MOST_PACKETS);
        Self {
            path,
            hosts: [0, ues.0.into()],
            names,
            ues: scenario.ues(),
            interfaces: scenario.interface_names(),
            end: Instant::ZERO + scenario.duration,
            seed,
            // A parsed scenario has valid ones.
            steps: scenario.steps().unwrap_or_default().into_iter().rev().collect(),
            regions: None,
        }
    }

    /// Packets created so far: the largest number in use at once.
    ///
    /// In regions, an upper bound on that number.
    pub fn created(&self) -> u64 {
        self.regions.as_ref().map_or_else(|| self.path.created(), |regions| regions.windows.packets())
    }

    /// The error of a run that was stopped because it held more than [`MOST_PACKETS`]: names the fullest place and
    /// the flow with the most packets in transit.
    pub fn overfull(&mut self) -> Option<ScenarioError> {
        if !self.path.is_overfull() {
            return None;
        }
        let (place, held) = self.fullest();
        let flows = self.flows();
        let [server, ues] = self.hosts.map(|node| self.path.element::<Host>(node));
        let most = server.zip(ues).and_then(|(server, ues)| most_in_transit(server, ues, &flows));
        let of_flow = most.map_or_else(String::new, |(index, packets)| {
            let FlowReport { ue, flow, app, .. } = flows[index];
            format!("; flow {flow} of UE {ue} ({app}) has {packets} in transit")
        });
        let message = format!(
            "{held} packets are held here at {:.3} s of the run, of at most {MOST_PACKETS} in all ({} MB of memory){of_flow}",
            self.path.now().as_secs_f64(),
            MOST_PACKETS * BYTES_PER_PACKET / 1_000_000,
        );
        let hint = "limit the queue (queue.droptail.packets), or lower the rate or the window of the flow";
        Some(ScenarioError::new(place, message, hint))
    }

    /// Name of the fullest place, and the packets in it: the buffer of a bearer, or an element that delays packets.
    fn fullest(&mut self) -> (String, u64) {
        let in_flight = self.path.in_flight_by_element();
        let fuller = |most: (usize, u64), next: (usize, u64)| if next.1 > most.1 { next } else { most };
        let (element, on_lanes) = in_flight.into_iter().enumerate().fold((0, 0), fuller);
        let mut fullest = (self.names.get(element).cloned().unwrap_or_default(), on_lanes);
        let cell = self.names.iter().find(|name| name.starts_with("radio.")).cloned().unwrap_or_default();
        // Packets with computed departures are also on a lane, although they wait in the buffer.
        let mut most = on_lanes / 2;
        for (ue, dir) in (0..self.ues).flat_map(|ue| Dir::BOTH.map(|dir| (ue, dir))) {
            let held = u64::from(self.path.radio(ue, dir).sdus);
            if held > most {
                most = held;
                fullest = (format!("{cell}.{} (UE {ue})", dir.name()), held);
            }
        }
        fullest
    }

    /// Runs until `until`, the end of the scenario, or the end of the last transfer, whichever comes first. Returns
    /// whether the run is over; [`Simulation::overfull`] says whether memory ran out.
    pub fn advance_to(&mut self, until: Instant) -> bool {
        let until = until.min(self.end);
        if let Some(regions) = &mut self.regions {
            if until <= regions.windows.now() || regions.windows.advance(until) {
                return self.is_over();
            }
            // There may be too many packets: only the run in one piece knows where and when.
            *self = Self::in_one_piece(&regions.scenario, self.seed, Observe::default());
        }
        while let Some(step) = self.steps.pop_if(|step| step.at <= until) {
            self.path.handle_timeout(step.at);
            if self.path.stopped() {
                break;
            }
            step.prepare(None).apply(&mut self.path);
        }
        self.path.handle_timeout(until);
        self.is_over()
    }

    /// When something happens next, in a run in one piece.
    fn next_event(&mut self) -> Option<Instant> {
        let change = self.steps.last().map(|step| step.at);
        self.path.poll_timeout().into_iter().chain(change).min()
    }

    /// Runs to the end.
    pub fn run(&mut self) {
        self.advance_to(Instant::NEVER);
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.path.stopped() || self.now() >= self.end
    }

    /// Simulated time so far.
    pub fn now(&self) -> Instant {
        self.regions.as_ref().map_or_else(|| self.path.now(), |regions| regions.windows.now())
    }

    /// End of the run at the latest.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// Events that the probes recorded since the last call.
    pub fn take_trace(&mut self) -> Vec<(Instant, Event)> {
        self.path.take_trace()
    }

    /// Meaning of the indices in events.
    pub fn tables(&self) -> Tables {
        if let Some(regions) = &self.regions {
            return Self::in_one_piece(&regions.scenario, self.seed, Observe::default()).tables();
        }
        Tables {
            nodes: self.names.iter().map(|name| NodeRow { name: name.clone() }).collect(),
            interfaces: self.interfaces.clone(),
            bearers: self.path.bearer_rows().to_vec(),
            flows: self.path.element::<Host>(self.hosts[0]).map(flow_rows).unwrap_or_default(),
        }
    }

    /// Number of events recorded since the last call of `take_trace`.
    pub fn recorded(&self) -> usize {
        self.path.recorded()
    }

    /// Bytes of the capture written since the last call.
    pub fn take_capture(&mut self) -> Vec<u8> {
        self.path.take_capture()
    }

    /// Share of the run that is done, 0 to 1: of the time or, if all flows are finite transfers, of their bytes if larger.
    pub fn progress(&self) -> f64 {
        if self.is_over() {
            return 1.0;
        }
        let time = self.now().as_secs_f64() / self.end.as_secs_f64();
        let flows = self.flows();
        let Some(sizes) = flows.iter().map(|flow| flow.bytes_to_send).collect::<Option<Vec<_>>>() else {
            return time.min(1.0);
        };
        let total = sizes.into_iter().fold(0, u64::saturating_add);
        let done: u64 = flows.iter().map(|flow| flow.bytes_acked.min(flow.bytes_received)).sum();
        let bytes = if total > 0 { done as f64 / total as f64 } else { 0.0 };
        time.max(bytes).min(1.0)
    }

    /// Report of every flow.
    pub fn flows(&self) -> Vec<FlowReport> {
        let hosts = self.hosts.map(|node| self.path.element::<Host>(node));
        let mut flows = match (&self.regions, hosts) {
            (Some(regions), _) => regions.windows.flows(),
            (None, [Some(server), Some(ues)]) => {
                let dropped = |ue, flow, dir| self.path.datagrams_dropped(ue, flow, dir);
                flow_reports(server, ues, self.path.now(), dropped)
            }
            _ => Vec::new(),
        };
        for flow in &mut flows {
            flow.name_interfaces(&self.interfaces);
        }
        flows
    }

    /// Results so far: no clock, no host, the same on every machine.
    pub fn results(&mut self) -> Results {
        let reports = match &mut self.regions {
            Some(regions) => regions.windows.reports(),
            None => self.path.reports(),
        };
        let flows = self.flows();
        Results {
            format: RESULTS_FORMAT,
            rng: rng::VERSION,
            seed: self.seed,
            simulated_s: self.now().as_secs_f64(),
            complete: self.is_over() && !self.path.is_overfull(),
            jain_index: JainIndex::of(flows.iter().map(|flow| (flow.direction, flow.goodput_bps))),
            flows,
            changes: self.path.changes().iter().map(ChangeReport::of).collect(),
            elements: reports.into_iter().filter(|report| !report.is_null()).collect(),
        }
    }
}

/// A change during a run, whose number in events is its place in the list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeReport {
    /// When it was.
    pub at_s: f64,
    /// What changed.
    pub what: String,
}

impl ChangeReport {
    /// A change of [`Path::changes`].
    pub fn of((at, what): &(Instant, String)) -> Self {
        Self { at_s: at.as_secs_f64(), what: what.clone() }
    }
}

/// What a run has to tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// Version of this structure.
    pub format: u32,
    /// Version of the random streams.
    pub rng: &'static str,
    /// Seed of the run.
    pub seed: u64,
    /// Simulated time.
    pub simulated_s: f64,
    /// Whether the run came to its end.
    pub complete: bool,
    /// Fairness of the flows of each direction.
    pub jain_index: JainIndex,
    /// Every flow, by UE.
    pub flows: Vec<FlowReport>,
    /// What has changed during the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeReport>,
    /// What the elements counted, from the server's side to the UEs'.
    pub elements: Vec<Value>,
}

impl Results {
    /// The results as JSON text, keys in the order of declaration.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The numbers that the JSON text has at `paths`, keys of objects and numbers of lists from the outside to the
    /// inside; `None` for a null. Returns `None` as a whole if a path leads to anything but a number or null of a flow
    /// or an element; the caller then reads the JSON text.
    pub fn numbers_at(&self, paths: &[Vec<String>]) -> Option<Vec<Option<f64>>> {
        let mut flows: Vec<Option<Value>> = vec![None; self.flows.len()];
        let number = |path: &Vec<String>| {
            let [part, number, inside @ ..] = path.as_slice() else { return None };
            let number = index(number)?;
            match part.as_str() {
                "flows" => {
                    let flow = flows.get_mut(number)?;
                    if flow.is_none() {
                        *flow = serde_json::to_value(self.flows.get(number)?).ok();
                    }
                    number_in(flow.as_ref()?, inside)
                }
                "elements" => number_in(self.elements.get(number)?, inside),
                _ => None,
            }
        };
        paths.iter().map(number).collect()
    }
}

/// The number below `value`; the inner `None` is a null, the outer one anything else.
fn number_in(value: &Value, path: &[String]) -> Option<Option<f64>> {
    match (value, path) {
        (Value::Null, []) => Some(None),
        (Value::Number(number), []) => number.as_f64().map(Some),
        (Value::Object(map), [key, inside @ ..]) => number_in(map.get(key)?, inside),
        (Value::Array(list), [number, inside @ ..]) => number_in(list.get(index(number)?)?, inside),
        _ => None,
    }
}

/// Place in a list, in decimal digits.
fn index(text: &str) -> Option<usize> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_path_and_nothing_else_is() {
        let results = Results {
            format: RESULTS_FORMAT,
            rng: rng::VERSION,
            seed: 1,
            simulated_s: 2.5,
            complete: true,
            jain_index: JainIndex::default(),
            flows: Vec::new(),
            changes: Vec::new(),
            elements: vec![serde_json::json!({ "a": [7, null, { "b": 0.1 }], "on": true, "word": "x" })],
        };
        let at = |path: &str| results.numbers_at(&[path.split('.').map(String::from).collect()]);
        assert_eq!(at("elements.0.a.0"), Some(vec![Some(7.0)]));
        assert_eq!(at("elements.0.a.1"), Some(vec![None]));
        assert_eq!(at("elements.0.a.2.b"), Some(vec![Some(0.1)]));
        for elsewhere in [
            "",
            "elements",
            "elements.0",
            "elements.1.a.0",
            "elements.+0.a.0",
            "elements.0.a",
            "elements.0.a.3",
            "elements.0.a.0.b",
            "elements.0.on",
            "elements.0.word",
            "elements.0.b",
            "flows.0.ue",
            "simulated_s",
        ] {
            assert_eq!(at(elsewhere), None, "{elsewhere}");
        }
        assert_eq!(results.numbers_at(&[]), Some(Vec::new()));
    }
}
