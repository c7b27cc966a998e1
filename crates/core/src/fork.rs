//! A fork of ways: a node with one port on one side and several on the other, e.g. the gateway in front of several cells.
//!
//! A packet that enters by one of the several ports leaves by the single port. A packet that enters by the single port
//! leaves by the present port of its UE. No packet carries a route.

use crate::element::{Change as ElementChange, Cx, Element, Layout, NodeId, Port, as_same};
use crate::packet::{Dir, Packet};
use crate::time::Instant;
use serde_json::json;

/// Index of a way.
pub type Way = u16;

/// A UE changes its way.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// When.
    pub at: Instant,
    /// Number of the UE.
    pub ue: u16,
    /// Its way from then on.
    pub to: Way,
}

/// An element that distributes packets over several ways.
pub struct Fork {
    /// Direction in which the ways part.
    dir: Dir,
    /// Way of each UE, indexed by UE.
    ways: Vec<Way>,
    /// Number of ways.
    count: Way,
    /// Changes to come, the next one last.
    changes: Vec<Change>,
    /// Per way: the cell that a UE on this way is attached to. Empty if another fork tracks attachment.
    cells: Vec<Option<NodeId>>,
    /// Packets that took each way.
    passed: Vec<u64>,
}

impl Fork {
    /// A fork into `count` ways in direction `dir`; `ways[ue]` is the initial way of each UE.
    ///
    /// # Panics
    /// If the initial or a later way of a UE does not exist.
    pub fn new(dir: Dir, count: Way, ways: Vec<Way>, mut changes: Vec<Change>) -> Self {
        let all = ways.iter().copied().chain(changes.iter().map(|change| change.to));
        assert!(all.max().is_none_or(|way| way < count), "there are {count} ways, counted from 0");
        changes.sort_by_key(|change| std::cmp::Reverse(change.at));
        Self { dir, ways, count, changes, cells: Vec::new(), passed: vec![0; count.into()] }
    }

    /// A fork that attaches UEs to cells: `cells` has the cell of each way, `None` for a way without a cell.
    pub fn with_cells(self, cells: Vec<Option<NodeId>>) -> Self {
        Self { cells, ..self }
    }

    /// Port of a way: the several ports lead in the direction of the fork.
    pub fn port(dir: Dir, way: Way) -> Port {
        Port::of_pair(way, dir)
    }

    fn attach(&self, cx: &mut Cx<'_>, ue: u16) {
        if let Some(cell) = self.cells.get(usize::from(self.ways[usize::from(ue)])) {
            cx.attach(ue, *cell);
        }
    }

    fn arm(&self, cx: &mut Cx<'_>) {
        if let Some(next) = self.changes.last() {
            cx.arm(0, next.at);
        }
    }
}

impl Element for Fork {
    fn layout(&self) -> Layout {
        Layout { timers: 1, passes_on: true, ..Layout::default() }
    }

    fn ports(&self) -> Vec<Port> {
        let ways = (0..self.count).map(|way| Self::port(self.dir, way));
        ways.chain([self.dir.reverse().into()]).collect()
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        for ue in 0..self.ways.len() as u16 {
            self.attach(cx, ue);
        }
        self.arm(cx);
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        if port.dir() != self.dir {
            return cx.emit(port.dir(), packet);
        }
        match self.ways.get(usize::from(packet.ue)) {
            Some(&way) => {
                self.passed[usize::from(way)] += 1;
                cx.emit(Self::port(self.dir, way), packet);
            }
            None => cx.drop(port.dir(), packet, crate::trace::Reason::UnknownUe),
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, _key: u32) {
        while let Some(change) = self.changes.pop_if(|next| next.at <= cx.now) {
            self.ways[usize::from(change.ue)] = change.to;
            self.attach(cx, change.ue);
        }
        self.arm(cx);
    }

    fn handle_change(&mut self, cx: &mut Cx<'_>, change: ElementChange) -> bool {
        let ElementChange::Reroute { ue, switch, fork } = change else { return false };
        let Some(to) = as_same::<Self>(fork).and_then(|fresh| fresh.ways.get(usize::from(ue)).copied())
        else {
            return false;
        };
        // Packets from the UE wait for the new way.
        let at = if self.dir == Dir::Uplink { cx.now } else { cx.now + switch };
        let place = self.changes.partition_point(|other| other.at > at);
        self.changes.insert(place, Change { at, ue, to });
        self.handle_timer(cx, 0);
        true
    }

    fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
        json!({ "element": "fork", "direction": self.dir.name(), "packets": self.passed })
    }
}
