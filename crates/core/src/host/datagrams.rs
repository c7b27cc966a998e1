//! One endpoint of a flow of datagrams at a host: packets that no middlebox reads. A simulated packet stores the fields
//! of a datagram in the fields of a TCP header, which are otherwise unused:
//!
//! | field of the packet | field of the datagram |
//! |---|---|
//! | `seq`, `len`, ECN | number, length, ECN |
//! | `sent_at` | stamp |
//! | `ts_val` | time from capture to stamp, microseconds |
//! | `ts_ecr`, `ack` | sequence number and frame |
//! | `window` | kind (3 bits), key frame, end of the frame, part (11 bits) |
//! | `body` | octets |

use super::end::{Counted, FlowEnd};
use super::{FlowSpec, Interface, arm};
use crate::app::datagram::{Datagram, Kind as Carries};
use crate::app::datagrams::Datagrams;
use crate::app::media::Frame;
use crate::app::web::Browser;
use crate::element::Cx;
use crate::packet::{Body, Dir, Kind, Opaque, Packet};
use crate::steering::Steering;
use crate::time::{Duration, Instant};
use crate::trace::{Event, Kind as EventKind};

const KEY: u16 = 1 << 12;
const ENDS_FRAME: u16 = 1 << 11;
const PART: u16 = ENDS_FRAME - 1;
const KIND_SHIFT: u32 = 13;

pub(super) struct DatagramEnd {
    app: Box<dyn Datagrams>,
    /// Direction of the packets that arrive.
    dir: Dir,
    /// From here on nothing is sent that is not an answer.
    stop: Instant,
}

impl DatagramEnd {
    pub fn new(mut app: Box<dyn Datagrams>, spec: &FlowSpec, dir: Dir) -> Self {
        app.open(spec.start);
        Self { app, dir, stop: spec.stop }
    }

    /// When it has something to send; answers go out although the flow has stopped.
    fn deadline(&self) -> Option<Instant> {
        self.app.deadline().filter(|at| *at < self.stop)
    }
}

impl FlowEnd for DatagramEnd {
    fn acts_first(&self, _spec: &FlowSpec) -> Option<bool> {
        Some(self.deadline().is_some())
    }

    fn handle_packet(
        &mut self,
        cx: &mut Cx<'_>,
        spec: &FlowSpec,
        packet: &mut Packet,
        _pages: &mut [Browser],
        _key: u32,
    ) {
        let datagram = read(packet);
        let is_video = matches!(datagram.kind, Carries::Video | Carries::Retransmission);
        self.app.handle_packet(cx.now, datagram);
        if is_video && cx.probes(EventKind::VideoFrame) {
            record_frames(cx, spec, self.dir, self.app.decoded());
        }
    }

    fn pump(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, interface: &mut Interface, key: u32) {
        // What would be due later is not sent, though an arrival may call for an answer.
        let due = cx.now.min(Instant::from_nanos(self.stop.as_nanos().saturating_sub(1)));
        while let Some(datagram) = self.app.poll_transmit(due) {
            let mut packet = Interface::packet(cx, spec);
            packet.set_kind(Kind::Opaque(Opaque::OtherProtocol));
            packet.set_ip(spec.tcp.ip);
            write(datagram, &mut packet);
            interface.send(cx, packet);
        }
        arm(cx, key, self.deadline());
    }

    fn counted(&self) -> Counted<'_> {
        Counted { datagrams: Some(self.app.as_ref()), ..Counted::default() }
    }

    fn steering(&mut self) -> Option<&mut Steering> {
        self.app.steering()
    }
}

/// Records frames of media in a direction that could be decoded.
#[cold]
fn record_frames(cx: &mut Cx<'_>, spec: &FlowSpec, direction: Dir, frames: &[Frame]) {
    let &FlowSpec { ue, flow, .. } = spec;
    for frame in frames {
        cx.probe(EventKind::VideoFrame, || Event::VideoFrame {
            ue,
            flow,
            direction,
            frame: frame.number,
            len_bytes: frame.bytes,
            key: frame.is_key,
            delay_ns: frame.delay.as_nanos(),
            playout_delay_ns: frame.playout_delay.as_nanos(),
            freeze_ns: frame.freeze.as_nanos(),
        });
    }
}

/// Writes a datagram into a packet.
fn write(datagram: Datagram, packet: &mut Packet) {
    packet.set_ecn(datagram.ecn);
    (packet.seq, packet.len, packet.sent_at) = (datagram.number, datagram.len, datagram.stamp);
    let lag = datagram.stamp.since(datagram.captured);
    (packet.ts_val, packet.ts_ecr) = (lag.as_micros() as u32, datagram.sequence);
    packet.ack = datagram.frame;
    packet.window = u16::from(datagram.kind as u8) << KIND_SHIFT
        | if datagram.is_key { KEY } else { 0 }
        | if datagram.ends_frame { ENDS_FRAME } else { 0 }
        | datagram.part & PART;
    packet.payload = 0;
    if !datagram.octets.is_empty() {
        packet.body = Some(Box::new(Body::note(datagram.octets)));
    }
}

/// Reads the datagram in a packet, and takes its octets out.
fn read(packet: &mut Packet) -> Datagram {
    let lag = Duration::from_nanos(u64::from(packet.ts_val) * 1000);
    Datagram {
        ecn: packet.ecn(),
        kind: Carries::of((packet.window >> KIND_SHIFT) as u8),
        captured: Instant::from_nanos(packet.sent_at.as_nanos().saturating_sub(lag.as_nanos())),
        sequence: packet.ts_ecr,
        frame: packet.ack,
        part: packet.window & PART,
        ends_frame: packet.window & ENDS_FRAME != 0,
        is_key: packet.window & KEY != 0,
        octets: packet.body.take().map_or_else(Vec::new, |body| body.bytes),
        ..Datagram::new(packet.seq, packet.len, packet.sent_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_carries_every_field_of_a_datagram() {
        let at = |us: u64| Instant::from_nanos(us * 1000);
        let full = Datagram {
            ecn: Packet::ECT_1,
            kind: Carries::Feedback,
            captured: at(900),
            sequence: u32::MAX,
            frame: 70_000,
            part: 2047,
            ends_frame: true,
            is_key: true,
            octets: vec![1, 2, 3],
            ..Datagram::new(5, 1200, at(123_456))
        };
        let bare = Datagram::new(u32::MAX, 48, Instant::from_nanos(u64::MAX - 1));
        for datagram in [full, bare] {
            let mut packet = Packet::default();
            write(datagram.clone(), &mut packet);
            assert_eq!(read(&mut packet), datagram);
        }
    }
}
