//! Entry and exit of packets on the path, at the place of a host.

use airpath_core::element::{Cx, Element, Layout, Port};
use airpath_core::host::RealEnd;
use airpath_core::packet::{Dir, Packet};
use airpath_core::wire::octets_of;

/// A capture point for packets that an end sends towards this direction.
pub(crate) struct Edge(pub Dir);

impl RealEnd for Edge {
    fn set_first_timer(&mut self, _first: u32) {}
}

impl Element for Edge {
    fn layout(&self) -> Layout {
        Layout { passes_on: true, ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        let (interface, now) = (self.0.index() as u32, cx.now);
        if let Some(capture) = cx.capture() {
            capture.packet(interface, now, &octets_of(&packet, dir, 0), packet.len, packet.id);
        }
        cx.emit(dir, packet);
    }
}
