//! A wired link and the dedicated channels of the cell after it, merged into one element.
//!
//! If the arrival times of all bearers are computed on arrival, most packets can be delivered early (see
//! `element/early`) from the link to their bearer, or back. Both steps then take one call, and the packet is passed on
//! once instead of twice. All other packets wait between the two as they would between separate elements. Timers,
//! lanes, trace indices and reports are those of the two elements, so the merge is invisible from outside.

use super::{Half, Link};
use crate::element::{Base, Cx, Element, Layout, Port, Topology};
use crate::packet::{Dir, Packet};
use crate::radio::dch::Dch;
use serde_json::Value;
use std::any::Any;

/// Merges each link with the dedicated-channel cell directly after it. Returns the owner of each element: the element
/// itself, or the link that its cell was merged into.
pub(crate) fn join(elements: &mut [Box<dyn Element>], topology: &Topology) -> Vec<u16> {
    let mut owners: Vec<u16> = (0..).take(elements.len()).collect();
    for at in 1..elements.len() {
        let is_behind = usize::from(topology.target(at as u16 - 1, Port::DOWN).node()) == at;
        if let Some(joint) = is_behind.then(|| joined(&mut elements[at - 1..=at])).flatten() {
            elements[at - 1] = Box::new(joint);
            owners[at] = owners[at - 1];
        }
    }
    owners
}

/// A link and such a cell, out of their places.
fn joined(pair: &mut [Box<dyn Element>]) -> Option<LinkToCell> {
    let [front, behind] = pair else { return None };
    let is_computed = (behind.as_ref() as &dyn Any).downcast_ref().is_some_and(Dch::is_computed);
    if !(front.as_ref() as &dyn Any).is::<Link>() || !is_computed {
        return None;
    }
    let take = |place: &mut Box<dyn Element>| std::mem::replace(place, Box::new(Nobody)) as Box<dyn Any>;
    let (link, cell) = (take(front).downcast::<Link>().ok()?, take(behind).downcast().ok()?);
    Some(LinkToCell { halves: link.halves, cell: *cell, cell_base: Base::default() })
}

struct LinkToCell {
    /// The link's halves by direction.
    halves: [Half; 2],
    cell: Dch,
    cell_base: Base,
}

impl LinkToCell {
    /// A packet arrives at the cell.
    #[inline(always)]
    fn descend(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        let mut cx = cx.of(&self.cell_base);
        let Some((at, lane, packet)) = self.cell.pass(&mut cx, Dir::Downlink, packet) else { return };
        cx.emit_at(at, lane, packet);
    }

    /// A packet arrives at the link from the cell.
    #[inline(always)]
    fn ascend(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        let half = &mut self.halves[Dir::Uplink.index()];
        let Some((at, packet)) = half.pass(cx, cx.now, packet) else { return };
        cx.emit_at(at, Dir::Uplink as u32, packet);
    }
}

impl Element for LinkToCell {
    /// Never called: the two elements were laid out before they were merged.
    fn layout(&self) -> Layout {
        Layout::default()
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        self.cell_base = cx.base_behind(&super::layout_of(&self.halves));
        self.cell.handle_start(&mut cx.of(&self.cell_base));
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        match port {
            Port::UP => {
                let half = &mut self.halves[Dir::Downlink.index()];
                let Some((at, packet)) = half.pass(cx, cx.now, packet) else { return };
                let Some(packet) = cx.go_on_at(at, Dir::Downlink as u32, packet) else { return };
                cx.now = at;
                self.descend(cx, packet);
            }
            Port::DOWN => {
                let mut of_cell = cx.of(&self.cell_base);
                let Some((at, lane, packet)) = self.cell.pass(&mut of_cell, Dir::Uplink, packet) else {
                    return;
                };
                let Some(packet) = of_cell.go_on_at(at, lane, packet) else { return };
                cx.now = at;
                self.ascend(cx, packet);
            }
            inside => match inside.dir() {
                Dir::Downlink => self.descend(cx, packet),
                Dir::Uplink => self.ascend(cx, packet),
            },
        }
    }

    /// All timers are the cell's.
    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        self.cell.handle_timer(&mut cx.of(&self.cell_base), key);
    }

    fn reports(&self, cx: &mut Cx<'_>) -> Vec<Value> {
        vec![super::report(&self.halves, cx), self.cell.report(&mut cx.of(&self.cell_base))]
    }
}

/// Placeholder for an element that was merged into another one.
struct Nobody;

impl Element for Nobody {
    fn layout(&self) -> Layout {
        Layout::default()
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        cx.emit(port.through(), packet);
    }

    fn reports(&self, _cx: &mut Cx<'_>) -> Vec<Value> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Graph;
    use crate::scenario::Scenario;

    fn owners(text: &str) -> Vec<u16> {
        let text = format!("[[flow]]\napp = \"bulk\"\n{text}");
        let (mut elements, _, topology) =
            Graph::from(Scenario::parse(&text, &[]).unwrap().network(1)).into_parts();
        join(&mut elements, &topology)
    }

    #[test]
    fn a_link_stands_for_a_cell_without_link_layer_directly_behind_it() {
        assert_eq!(owners("[radio.dch]"), [0, 0]);
        assert_eq!(owners("[radio.dch]\nues = 3\n[[middlebox]]\npacket_loss = {}"), [0, 0, 2]);
        let apart = [
            "[radio.dch]\n[[middlebox]]\ntap = {}",
            "[radio.dch]\n[[handover]]\nat = \"1 s\"",
            "[radio.dch]\ndownlink.rlc.am = {}\nuplink.rlc.am = {}",
            "[radio.dch.downlink]\nqueue.codel = {}",
            "[radio.dch]\n[wired]\nrate = \"1 Mbit/s\"\nqueue.codel = {}",
            "[radio.dch]\n[umts]",
            "[radio.variable]",
        ];
        for text in apart {
            let own = owners(text);
            assert!(own.iter().zip(0..).all(|(owner, element)| *owner == element), "{text}: {own:?}");
        }
    }
}
