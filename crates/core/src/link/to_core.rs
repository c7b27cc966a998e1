//! A wired link and the core network after it, merged into one element.
//!
//! Link, Gn and Iu all preserve the order of packets, and none of them depends on the present state of another element.
//! A packet's times on all three are therefore computed at once, and it is put on a lane once instead of twice.

use super::{Half, report_of};
use crate::element::{Cx, Element, Layout, Port};
use crate::packet::{Dir, Packet};
use crate::time::Instant;
use crate::trace::Reason;
use crate::umts::{CoreNetwork, UP};
use serde_json::Value;

pub(super) struct LinkToCore {
    /// The link's halves by direction.
    pub halves: [Half; 2],
    pub core: CoreNetwork,
}

impl LinkToCore {
    /// A packet from a UE arrives at the GGSN at `at`.
    #[inline(always)]
    fn leave_core(&mut self, cx: &mut Cx<'_>, at: Instant, packet: Box<Packet>) {
        let half = &mut self.halves[Dir::Uplink.index()];
        let Some((arrival, packet)) = half.pass(cx, at, packet) else { return };
        cx.emit_at(arrival, UP, packet);
    }
}

impl Element for LinkToCore {
    fn layout(&self) -> Layout {
        self.core.layout()
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        match dir {
            Dir::Downlink => {
                let half = &mut self.halves[Dir::Downlink.index()];
                let Some((at, packet)) = half.pass(cx, cx.now, packet) else { return };
                self.core.descend(cx, at, packet);
            }
            Dir::Uplink => {
                let Some((at, packet)) = self.core.ascend(cx, packet) else { return };
                self.leave_core(cx, at, packet);
            }
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        while let Some((at, packet)) = self.core.arrived(cx, key) {
            self.leave_core(cx, at, packet);
        }
    }

    fn handle_capture(&mut self, cx: &mut Cx<'_>) {
        self.core.handle_capture(cx);
    }

    fn reports(&self, cx: &mut Cx<'_>) -> Vec<Value> {
        let queue_full = cx.dropped(Reason::QueueFull) - self.core.dropped_queue_full();
        let link = report_of(self.halves.each_ref(), queue_full, cx.dropped(Reason::LinkLoss));
        vec![link, self.core.report()]
    }
}
