//! Either end of a live path, in the position of the simulator's host: captures, counts and meters packets.
//!
//! A port neither changes nor delays packets. Since it takes the host's place, elements have the same positions on
//! the path as in the simulator.

use crate::meter::{Incoming, Outgoing};
use airpath_core::delays::Delays;
use airpath_core::element::{self, Cx, Element, Layout};
use airpath_core::host::RealEnd;
use airpath_core::middlebox::tap::OpaqueCounts;
use airpath_core::packet::{Dir, Kind, Packet};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, Kind as Probe, SendCause};
use airpath_core::wire::rewrite;

/// One end of a live path.
pub struct Port {
    /// The direction in which this end sends.
    dir: Dir,
    /// Bytes of each packet that the capture keeps.
    snaplen: usize,
    flows: Vec<Flow>,
    /// Whether this port emits the sender's events: segments sent and RTT samples.
    tells_of_sender: bool,
    /// Packets that this end sent into the path.
    pub sent: Counts,
    /// Packets that the path delivered to this end.
    pub received: Counts,
}

/// What passed, in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets of these whose TCP header could not be read, by the reason why.
    pub opaque: OpaqueCounts,
}

impl Counts {
    fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.len);
        if let Kind::Opaque(why) = packet.kind() {
            self.opaque.count(why);
        }
    }
}

/// What this end saw of a flow.
#[derive(Debug, Default)]
pub struct Flow {
    /// Packets and bytes sent.
    pub sent: (u64, u64),
    /// Packets and bytes received.
    pub received: (u64, u64),
    /// When the first packet passed.
    pub began: Instant,
    /// When the last one did.
    pub last: Instant,
    /// TCP data sent.
    pub outgoing: Outgoing,
    /// TCP data received.
    pub incoming: Incoming,
    /// From the other end of the path to this one: of TCP's segments with data, of every packet of other protocols.
    pub delays: Delays,
}

impl Flow {
    /// Whether nothing has passed.
    pub fn is_empty(&self) -> bool {
        self.sent.0 + self.received.0 == 0
    }
}

impl Port {
    /// An end that sends towards `dir` and keeps `snaplen` bytes of each packet, if there is a capture.
    pub fn new(dir: Dir, snaplen: usize) -> Self {
        let (sent, received) = (Counts::default(), Counts::default());
        Self { dir, snaplen, flows: Vec::new(), tells_of_sender: true, sent, received }
    }

    /// Returns the port without the sender's events, which the attached sender then emits.
    pub fn without_sender_events(self) -> Self {
        Self { tells_of_sender: false, ..self }
    }

    /// What this end saw of a flow, if it saw anything.
    pub fn flow(&self, number: u16) -> Option<&Flow> {
        self.flows.get(usize::from(number)).filter(|flow| !flow.is_empty())
    }

    /// Number of flows with a packet since `since`.
    pub fn active_flows(&self, since: Instant) -> usize {
        self.flows.iter().filter(|flow| flow.last >= since && !flow.is_empty()).count()
    }

    /// The round-trip time measured last on the flow that was busy last.
    pub fn last_rtt(&self) -> Option<(Instant, Duration)> {
        let timed = self.flows.iter().filter_map(|flow| Some((flow.last, flow.outgoing.last_rtt?)));
        timed.max_by_key(|(last, _)| *last)
    }

    fn capture(&self, cx: &mut Cx<'_>, packet: &Packet) {
        let now = cx.now;
        let (interface, snaplen) = (self.dir.index() as u32, self.snaplen);
        if let (Some(capture), Some(body)) = (cx.capture(), &packet.body) {
            let kept = &body.bytes[..body.bytes.len().min(snaplen)];
            capture.packet(interface, now, kept, body.bytes.len() as u32, packet.id);
        }
    }

    fn meter(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: &Packet) {
        let (index, tells) = (usize::from(packet.flow), self.tells_of_sender);
        if index >= self.flows.len() {
            self.flows.resize_with(index + 1, Flow::default);
        }
        let flow = &mut self.flows[index];
        let (ue, number, now, payload_bytes) = (packet.ue, packet.flow, cx.now, packet.payload);
        if flow.is_empty() {
            flow.began = now;
        }
        flow.last = now;
        let counts = if dir == self.dir { &mut flow.sent } else { &mut flow.received };
        *counts = (counts.0 + 1, counts.1 + u64::from(packet.len));
        if dir != self.dir && (packet.payload > 0 || !packet.is_tcp()) {
            flow.delays.add(now.since(packet.sent_at));
        }
        if !packet.is_tcp() {
            return;
        }
        if dir == self.dir {
            flow.incoming.handle_sent(packet);
            if let Some((seq, again)) = flow.outgoing.handle_sent(now, packet)
                && tells
            {
                let cause = if again { SendCause::Retransmission } else { SendCause::New };
                let event =
                    Event::SegmentSent { ue, flow: number, packet: packet.id, seq, payload_bytes, cause };
                cx.probe(Probe::SegmentSent, move || event);
            }
            return;
        }
        let dupacks = flow.outgoing.dupacks;
        let rtt = flow.outgoing.handle_ack(now, packet);
        if tells {
            tell_of_ack(cx, (ue, number), &flow.outgoing, packet, flow.outgoing.dupacks > dupacks);
            if let Some(rtt) = rtt {
                let rtt_us = rtt.as_micros() as u32;
                cx.probe(Probe::RttSample, move || Event::RttSample { ue, flow: number, rtt_us });
            }
        }
        if let Some(seq) = flow.incoming.handle_received(packet) {
            let rcv_nxt = flow.incoming.rcv_nxt();
            let event =
                Event::SegmentReceived { ue, flow: number, packet: packet.id, seq, payload_bytes, rcv_nxt };
            cx.probe(Probe::SegmentReceived, move || event);
        }
    }
}

/// Records an ACK that reaches the sender of a flow (UE and number), and its SACK blocks.
fn tell_of_ack(cx: &mut Cx<'_>, (ue, flow): (u16, u16), sender: &Outgoing, packet: &Packet, duplicate: bool) {
    let id = packet.id;
    if let Some(acked) = sender.ack_of(packet).filter(|_| sender.sent() > 0) {
        cx.probe(Probe::AckReceived, || Event::AckReceived { ue, flow, packet: id, acked, duplicate });
    }
    if cx.probes(Probe::SackBlock) {
        for (left, right) in sender.sack_blocks(packet) {
            cx.probe(Probe::SackBlock, || Event::SackBlock { ue, flow, packet: id, left, right });
        }
    }
}

impl Port {
    /// Takes note of a packet that passes.
    pub(crate) fn pass(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: &mut Packet) {
        if dir == self.dir {
            packet.sent_at = cx.now;
        }
        // Rewrite before the capture: it must contain the changed packet that this end receives.
        if let Some(mut body) = packet.body.take() {
            if body.touched {
                rewrite(&mut body.bytes, packet);
                body.touched = false;
            }
            packet.body = Some(body);
        }
        self.capture(cx, packet);
        if dir == self.dir { &mut self.sent } else { &mut self.received }.add(packet);
        // Results have an end.
        if packet.flow < airpath_core::flows::MOST_FLOWS {
            self.meter(cx, dir, packet);
        }
    }
}

impl RealEnd for Port {
    fn set_first_timer(&mut self, _first: u32) {}
}

impl Element for Port {
    fn layout(&self) -> Layout {
        Layout { passes_on: true, ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: element::Port, mut packet: Box<Packet>) {
        let dir = port.dir();
        self.pass(cx, dir, &mut packet);
        cx.emit(dir, packet);
    }
}
