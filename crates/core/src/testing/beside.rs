//! A run with a log on either side of its one box.

use crate::element::{Cx, Element, Layout, Port};
use crate::host::{Host, flow_reports};
use crate::middlebox::Place;
use crate::packet::{Dir, Packet};
use crate::path::Path;
use crate::scenario::Scenario;
use crate::time::Instant;
use crate::trace::{ProbeMask, Reason};
use serde_json::Value;

/// What passed, and when.
type Passed = Vec<(Instant, Packet)>;

/// The packets of one flow, without their times.
pub fn of_flow(passed: &[(Instant, Packet)], flow: u16) -> Vec<&Packet> {
    passed.iter().map(|(_, packet)| packet).filter(|packet| packet.flow == flow).collect()
}

/// Keeps every packet that passes, by direction.
#[derive(Default)]
struct Log {
    passed: [Passed; 2],
}

impl Element for Log {
    fn layout(&self) -> Layout {
        Layout::default()
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        self.passed[dir.index()].push((cx.now, (*packet).clone()));
        cx.emit(dir, packet);
    }
}

/// A finished run with a log on either side of its one box.
pub struct Beside {
    path: Path,
    at_box: usize,
    ues_host: usize,
}

impl Beside {
    /// Runs a scenario with one box, to its end or that of the transfers.
    ///
    /// # Panics
    /// If the scenario has no box.
    pub fn run(scenario: &Scenario, seed: u64) -> Self {
        let (ues, flows) = (scenario.radio.ues(), scenario.flows());
        let mut elements: Vec<Box<dyn Element>> = vec![Box::new(Host::new(Dir::Downlink, ues, &flows, seed))];
        elements.extend(scenario.network(seed));
        elements.push(Box::new(Host::new(Dir::Uplink, ues, &flows, seed)));
        // After host and link, and before or after the cell.
        let at_box = if scenario.middlebox[0].place() == Place::Ue { 3 } else { 2 };
        elements.insert(at_box + 1, Box::new(Log::default()));
        elements.insert(at_box, Box::new(Log::default()));
        let ues_host = elements.len() - 1;
        let mut path = Path::new(elements, ProbeMask::NONE);
        path.stop_after_transfers(flows.iter().map(|flow| flow.app.ends(flow.connection)).sum());
        path.handle_timeout(Instant::ZERO + scenario.duration);
        Self { path, at_box: at_box + 1, ues_host }
    }

    /// Packets in a direction before and after the middlebox.
    pub fn beside_box(&self, dir: Dir) -> [&[(Instant, Packet)]; 2] {
        let log = |index: usize| match self.path.element::<Log>(index) {
            Some(log) => &log.passed[dir.index()][..],
            None => &[],
        };
        let (before, behind) = (log(self.at_box - 1), log(self.at_box + 1));
        if dir == Dir::Downlink { [before, behind] } else { [behind, before] }
    }

    /// When it came and when it left, in whole milliseconds.
    pub fn times_ms(&self, dir: Dir) -> [Vec<u64>; 2] {
        self.beside_box(dir).map(|passed| passed.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect())
    }

    /// What the box reports.
    pub fn report(&mut self) -> Value {
        self.path.reports()[self.at_box].clone()
    }

    /// Packets that the box dropped for a reason.
    pub fn dropped(&self, reason: Reason) -> u64 {
        self.path.drops(self.at_box, reason)
    }

    /// Whether every transfer is complete.
    pub fn is_complete(&self) -> bool {
        let ends = (self.path.element::<Host>(0), self.path.element::<Host>(self.ues_host));
        let (Some(server), Some(ues)) = ends else { return false };
        let dropped = |ue, flow, dir| self.path.datagrams_dropped(ue, flow, dir);
        let flows = flow_reports(server, ues, self.path.now(), dropped);
        self.path.stopped() && flows.iter().all(|flow| flow.transfer_s.is_some())
    }
}
