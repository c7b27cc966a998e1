//! Tables that a trace has once: the meaning of the indices in events.

use crate::packet::Dir;
use serde::Serialize;

/// A node of the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeRow {
    /// Its name, as in a scenario; `link+umts` stands for both.
    pub name: String,
}

/// A bearer: one direction of a UE in a cell. Times that a link layer does not have are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BearerRow {
    /// Number of the cell among the nodes.
    pub node: u16,
    /// Number of the UE, or of its interface.
    pub ue: u16,
    /// Direction of the data.
    pub direction: Dir,
    /// Length of a TTI or slot, nanoseconds; 0 where packets are sent whole.
    pub slot_ns: u64,
    /// Start of the first TTI, nanoseconds.
    pub phase_ns: u64,
    /// Time from the end of a transmission to its arrival, nanoseconds.
    pub delay_ns: u64,
    /// Size of the link layer's sequence number space over the air; 0 without sequence numbers.
    pub sequence_numbers: u64,
    /// Whether the link layer sends lost PDUs again.
    pub retransmits: bool,
    /// Whether its transmissions are blocks of a cell that UEs share.
    pub shared: bool,
}

impl BearerRow {
    /// Bearers of all nodes, from the number of bearers per node; only their owner is known yet.
    pub(crate) fn of_all(counts: impl Iterator<Item = u32>) -> Vec<Self> {
        let of_cell = |(node, count): (u16, u32)| {
            (0..count).map(move |index| Self {
                node,
                ue: (index / 2) as u16,
                direction: Dir::BOTH[index as usize % 2],
                slot_ns: 0,
                phase_ns: 0,
                delay_ns: 0,
                sequence_numbers: 0,
                retransmits: false,
                shared: false,
            })
        };
        (0..).zip(counts).flat_map(of_cell).collect()
    }
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowRow {
    /// Number of its UE, or of the UE's interface.
    pub ue: u16,
    /// Its number there.
    pub flow: u16,
    /// Direction of its data.
    pub direction: Dir,
    /// Name of its application.
    pub app: &'static str,
}

/// All tables of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tables {
    /// Nodes, indexed by `element`.
    pub nodes: Vec<NodeRow>,
    /// Names of the UEs' interfaces by number, which `ue` has; none where each UE has one.
    pub interfaces: Vec<String>,
    /// Bearers, indexed by `bearer`.
    pub bearers: Vec<BearerRow>,
    /// Flows.
    pub flows: Vec<FlowRow>,
}
