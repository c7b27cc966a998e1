//! How much memory a run takes at most, computed from its scenario before it starts.
//!
//! Three things grow with a scenario: the state of UEs in cells, the state of flows, and packets. The window of a TCP
//! flow limits its packets. Where no window does, the run's own limit counts: it stops there. The state per UE and per
//! flow is measured with default parameters (`make scale`), and rounded up by a quarter or more.
//!
//! Left out: results, which Python holds as text and as objects; traces and captures; tables of series and recordings.

use super::{BYTES_PER_PACKET, MOST_PACKETS};
use crate::app;
use crate::host::FlowSpec;
use crate::radio;
use crate::scenario::Scenario;

/// Tables of cells, and code that is read for the first time, bytes: 5 to 9 MB with one UE.
const BYTES_OF_ENGINE: u64 = 12_000_000;

/// The state of a flow at both endpoints, bytes: 4 to 5 kB of TCP.
const BYTES_PER_FLOW: u64 = 6_000;

/// Place of a packet on another lane, of its SDU in the link layer, and of its segment at the sender, bytes.
const BYTES_PER_PACKET_ELSEWHERE: u64 = 2 * 16 + 64 + 32;

/// A bound from above of what a run holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// UEs or their interfaces, each counted in every cell that it may come to.
    pub ues: u64,
    /// State of the most expensive of them, bytes.
    pub bytes_per_ue: u64,
    /// Flows; each connection of a page and each subflow is one.
    pub flows: u64,
    /// Packets.
    pub packets: u64,
    /// Key of the first flow without a window that limits its packets.
    pub unlimited: Option<String>,
}

impl Memory {
    /// The bound of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let flows = scenario.flows();
        let cells = scenario.cells();
        let may_move = scenario.mobility.is_some() || scenario.handover.iter().any(|one| one.to.is_some());
        let places = if may_move { cells.len() as u64 } else { 1 };
        let unlimited = flows.iter().find(|flow| packets_of(flow).is_none());
        let each = flows.iter().map(|flow| packets_of(flow).unwrap_or(MOST_PACKETS));
        Self {
            ues: u64::from(scenario.ues()) * places,
            bytes_per_ue: cells.iter().map(|(_, cell)| bytes_per_ue(cell)).max().unwrap_or(0),
            flows: flows.len() as u64,
            packets: each.fold(0, u64::saturating_add).min(MOST_PACKETS),
            unlimited: unlimited.map(|flow| format!("app.{} of UE {}", flow.app.name(), flow.ue)),
        }
    }

    /// Bytes in addition to those of the program.
    pub fn bytes(&self) -> u64 {
        BYTES_OF_ENGINE
            + self.ues * self.bytes_per_ue
            + self.flows * BYTES_PER_FLOW
            + self.packets * (BYTES_PER_PACKET + BYTES_PER_PACKET_ELSEWHERE)
    }

    /// In words, for people.
    pub fn describe(&self) -> String {
        let (Self { ues, flows, packets, .. }, mb) = (self, self.bytes().div_ceil(1_000_000));
        let reason = self.unlimited.as_ref().map_or_else(String::new, |flow| {
            format!(", as no window limits those of {flow} and the run stops at {MOST_PACKETS}")
        });
        let (engine, per_ue, per_flow) =
            (BYTES_OF_ENGINE / 1_000_000, self.bytes_per_ue / 1_000, BYTES_PER_FLOW / 1_000);
        format!(
            "at most {mb} MB: {engine} MB of the engine, {ues} x {per_ue} kB of UEs in cells, {flows} x {per_flow} kB of flows, and {packets} packets{reason}"
        )
    }
}

/// Packets of a flow that exist at once, data and ACKs; `None` if no window of full segments limits them.
fn packets_of(flow: &FlowSpec) -> Option<u64> {
    let is_bulk = matches!(*flow.app, app::Config::Bulk(_) | app::Config::File(_) | app::Config::Arrivals(_));
    let payload = Some(flow.tcp.payload_bytes()).filter(|payload| is_bulk && *payload > 0)?;
    let window = flow.tcp.largest_window().div_ceil(payload);
    let segments = flow.tcp.max_window.map_or(window, |most| window.min(most.into()));
    // One more for the end of a file, one for the handshake.
    Some(2 * (segments + 2))
}

/// The state of a UE in a cell with its bearers, bytes. Measured with 100 and 600 UEs: 5 kB without link layer, else 10
/// to 28 kB, and up to 20 kB more while HARQ processes and TTIs in transit are full.
fn bytes_per_ue(cell: &radio::Config) -> u64 {
    match cell {
        radio::Config::Dch(own) if own.downlink.rlc.ttis().or(own.uplink.rlc.ttis()).is_none() => 8_000,
        radio::Config::Variable(_) => 8_000,
        radio::Config::Dch(_) | radio::Config::Evdo(_) => 28_000,
        radio::Config::Lte(_) | radio::Config::Hsdpa(_) => 48_000,
        _ => 64_000,
    }
}
