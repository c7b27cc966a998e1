//! One end of a flow of datagrams at a host: packets that no box reads, numbered in `seq` and stamped in the
//! halves of `ts_val` and `ts_ecr`.

use super::end::{Counted, FlowEnd};
use super::{FlowSpec, Interface, arm};
use crate::app::datagrams::{Datagram, Datagrams};
use crate::app::web::Browser;
use crate::element::Cx;
use crate::packet::{Kind, Opaque, Packet};
use crate::time::Instant;

pub(super) struct DatagramEnd {
    app: Box<dyn Datagrams>,
}

impl DatagramEnd {
    pub fn new(mut app: Box<dyn Datagrams>, start: Instant) -> Self {
        app.open(start);
        Self { app }
    }
}

impl FlowEnd for DatagramEnd {
    fn acts_first(&self, _spec: &FlowSpec) -> Option<bool> {
        Some(self.app.deadline().is_some())
    }

    fn handle_packet(
        &mut self,
        cx: &mut Cx<'_>,
        _spec: &FlowSpec,
        packet: &Packet,
        _pages: &mut [Browser],
        _key: u32,
    ) {
        let stamp = Instant::from_nanos(u64::from(packet.ts_val) << 32 | u64::from(packet.ts_ecr));
        self.app.handle_packet(cx.now, Datagram { number: packet.seq, len: packet.len, stamp });
    }

    fn pump(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, interface: &mut Interface, key: u32) {
        while let Some(datagram) = self.app.poll_transmit(cx.now) {
            let mut packet = Interface::packet(cx, spec);
            packet.set_kind(Kind::Opaque(Opaque::OtherProtocol));
            packet.set_ip(spec.tcp.ip);
            packet.seq = datagram.number;
            packet.len = datagram.len;
            let stamp = datagram.stamp.as_nanos();
            (packet.ts_val, packet.ts_ecr) = ((stamp >> 32) as u32, stamp as u32);
            (packet.ack, packet.payload, packet.window) = (0, 0, 0);
            interface.send(cx, packet);
        }
        arm(cx, key, self.app.deadline());
    }

    fn counted(&self) -> Counted<'_> {
        Counted { datagrams: Some(self.app.as_ref()), ..Counted::default() }
    }
}
