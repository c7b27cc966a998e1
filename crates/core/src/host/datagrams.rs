//! One end of a flow of datagrams at a host: packets that no box reads, numbered in `seq` and stamped in the
//! halves of `ts_val` and `ts_ecr`.

use super::{FlowReport, FlowSpec, Port, RttReport, arm};
use crate::app::datagrams::{Datagram, Datagrams, Report};
use crate::element::Cx;
use crate::packet::{Kind, Opaque, Packet};
use crate::time::Instant;

/// Bytes of a UDP or an ICMP echo header: RFC 768, RFC 792.
const HEADER_BYTES: u32 = 8;

pub(super) struct DatagramEnd {
    app: Box<dyn Datagrams>,
}

impl DatagramEnd {
    pub fn new(mut app: Box<dyn Datagrams>, start: Instant) -> Self {
        app.open(start);
        Self { app }
    }

    /// When it sends first of its own accord, if ever.
    pub fn deadline(&self) -> Option<Instant> {
        self.app.deadline()
    }

    pub fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        let stamp = Instant::from_nanos(u64::from(packet.ts_val) << 32 | u64::from(packet.ts_ecr));
        self.app.handle_packet(now, Datagram { number: packet.seq, len: packet.len, stamp });
    }

    /// Sends what is due, and arms the timer under `key`.
    pub fn pump(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, port: &mut Port, key: u32) {
        while let Some(datagram) = self.app.poll_transmit(cx.now) {
            let mut packet = Port::packet(cx, spec);
            packet.kind = Kind::Opaque(Opaque::OtherProtocol);
            packet.ip = spec.tcp.ip;
            packet.seq = datagram.number;
            packet.len = datagram.len;
            let stamp = datagram.stamp.as_nanos();
            (packet.ts_val, packet.ts_ecr) = ((stamp >> 32) as u32, stamp as u32);
            (packet.ack, packet.payload, packet.window) = (0, 0, 0);
            port.send(cx, packet);
        }
        arm(cx, key, self.app.deadline());
    }
}

/// What both ends say of their flow. What belongs to TCP alone is zero: there is nothing of it.
pub(super) fn flow_report(spec: &FlowSpec, ends: [&DatagramEnd; 2], now: Instant) -> FlowReport {
    let mut report = Report::default();
    ends.iter().for_each(|end| end.app.report(&mut report));
    let headers = u64::from(spec.tcp.ip.header_bytes() + HEADER_BYTES) * report.received;
    let bytes_received = report.bytes.saturating_sub(headers);
    let seconds = now.since(spec.start.min(now)).as_secs_f64();
    let rtt = report.rtt_ms;
    FlowReport {
        goodput_bps: if seconds > 0.0 { bytes_received as f64 * 8.0 / seconds } else { 0.0 },
        bytes_received,
        rtt_ms: RttReport { mean: rtt.mean, min: rtt.min, max: rtt.max, samples: rtt.samples },
        datagrams: Some(report),
        ..FlowReport::new(spec)
    }
}
