//! The simulated hosts: an element at either end of the path that holds the endpoints of every flow.
//!
//! The server's host sends downlink, the UEs' host (one for all UEs) sends uplink. Each endpoint has
//! one timer, whose deadline is a single store when it moves later, as it does with every ACK. The
//! UE opens connections, as a client does; the application starts at the flow's start. A flow without TCP
//! has an end of its application at either host, and a packet of its own kind in between. The connections of
//! a web page carry data both ways, over TCP or QUIC; the UEs' host has a browser for each page.

mod arrivals;
mod beside;
mod datagrams;
mod end;
mod flow_index;
mod multipath;
mod outflow;
mod quic;
mod report;
mod steered;
mod web;

pub use beside::{Beside, RealEnd};
pub use multipath::{MultipathReport, Several, SubflowReport};
pub use report::{FlowReport, JainIndex, flow_reports, flow_rows, most_in_transit};
pub use steered::View;

use crate::app::web::Browser;
use crate::app::{App, Traffic};
use crate::delays::Delays;
use crate::element::{Cx, Early, Element, Layout, Port};
use crate::packet::{self, Dir, Opaque, Packet};
use crate::rng;
use crate::tcp::handshake::Role;
use crate::tcp::sender::PathView;
use crate::tcp::{self, Handshake, Receiver, Sender, Transmit};
use crate::time::{Duration, Instant};
use crate::trace::{Event, Kind, ModelState, ProbeMask, Reason};
use crate::wire::{encode_header, endpoints_of};
use airpath_prefetch::{SOON, prefetch};
use std::ops::Range;
use std::sync::Arc;

use arrivals::ArrivalsEnd;
use datagrams::DatagramEnd;
use end::{Counted, FlowEnd};
pub(crate) use flow_index::FlowIndex;
use multipath::MultipathEnd;
use outflow::Outflow;
use quic::QuicEnd;
use web::{ClientEnd, ServerEnd};

/// A flow as both hosts need to know it.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Number of the UE.
    pub ue: u16,
    /// Number of the flow at its UE.
    pub flow: u16,
    /// Direction of the data.
    pub dir: Dir,
    /// When the application starts.
    pub start: Instant,
    /// From when on the application sends nothing new.
    pub stop: Instant,
    /// What it has to carry.
    pub app: Arc<crate::app::Config>,
    /// Number of the connection among those of its page or of files that come and go, and 0 for every other flow. Their
    /// flows have successive numbers.
    pub connection: u16,
    /// Whether boxes cannot read its packets.
    pub encrypted: bool,
    /// Both endpoints.
    pub tcp: Arc<tcp::Config>,
    /// The connection over several paths that it belongs to.
    pub several: Option<Arc<Several>>,
}

/// One endpoint of a flow at this host.
struct Endpoint {
    spec: FlowSpec,
    end: End,
    /// The application has started, or the endpoint listens.
    opened: bool,
}

/// One end of a flow, of any kind. Plain TCP has a form of its own, which most packets are for.
enum End {
    Sends(SendingEnd),
    Receives(ReceivingEnd),
    Other(Box<dyn FlowEnd>),
    /// Has no packets: starts the files of the connections that follow.
    Arrivals(Box<ArrivalsEnd>),
    /// A connection for such a file, before the first one.
    Unused,
    /// One path of a connection over several: number of the connection at this host, and of the path.
    Path(u16, u16),
}

struct SendingEnd {
    sender: Box<Sender>,
    stream: Outflow,
    last_sent: Instant,
}

struct ReceivingEnd {
    receiver: Box<Receiver>,
    /// Bytes that a finite transfer brings, else `u64::MAX`.
    size: u64,
    /// When the last of them had arrived.
    complete: Option<Instant>,
    /// One-way delays of the segments with data: RFC 7679 (3.4).
    delays: Delays,
}

/// One end of the path.
pub struct Host {
    endpoints: Vec<Endpoint>,
    /// The pages that the UEs load.
    pages: Vec<Browser>,
    /// Connections over several paths.
    multipaths: Vec<MultipathEnd>,
    index: FlowIndex,
    interface: Interface,
    run_seed: u64,
}

impl Host {
    /// A host that sends towards `dir` and holds its end of every flow of the run with seed `run_seed`.
    /// `flows` are sorted by UE, and the flows of a UE are numbered from zero.
    pub fn new(dir: Dir, ues: u16, flows: &[FlowSpec], run_seed: u64) -> Self {
        Self::of_ues(dir, 0..ues, flows, run_seed)
    }

    /// Like [`Host::new`], for these UEs of the run alone.
    pub(crate) fn of_ues(dir: Dir, ues: Range<u16>, flows: &[FlowSpec], run_seed: u64) -> Self {
        let mut pages = Vec::new();
        let role = role_at(dir);
        let multipaths = multipath::connections(flows).into_iter().filter_map(|paths| {
            let sends = paths[0].0.dir == dir;
            MultipathEnd::new(paths, role, sends, run_seed)
        });
        let multipaths: Vec<_> = multipaths.collect();
        let mut endpoint = |spec: &FlowSpec| {
            let end = match multipaths.iter().position(|end| end.has(spec)).zip(spec.several.as_ref()) {
                Some((number, several)) => End::Path(number as u16, several.path),
                None => End::new(spec, dir, run_seed, &mut pages),
            };
            Endpoint { spec: spec.clone(), end, opened: false }
        };
        Self {
            endpoints: flows.iter().map(&mut endpoint).collect(),
            pages,
            multipaths,
            index: FlowIndex::new(ues, flows),
            interface: Interface { dir, ip_id: 0, header: Vec::new() },
            run_seed,
        }
    }
}

/// The host's connection to the path.
struct Interface {
    /// The direction in which the host sends.
    dir: Dir,
    ip_id: u16,
    /// Reused from packet to packet.
    header: Vec<u8>,
}

impl Interface {
    #[inline]
    fn packet(cx: &mut Cx<'_>, spec: &FlowSpec) -> Box<Packet> {
        let mut packet = cx.packet();
        packet.ue = spec.ue;
        packet.flow = spec.flow;
        if spec.encrypted {
            packet.set_kind(packet::Kind::Opaque(Opaque::Encrypted));
        }
        packet
    }

    #[inline(always)]
    fn send(&mut self, cx: &mut Cx<'_>, mut packet: Box<Packet>) {
        if cx.captures() {
            self.ip_id = self.ip_id.wrapping_add(1);
            packet.identification = self.ip_id;
            self.write(cx, &packet, self.dir);
        }
        cx.emit(self.dir, packet);
    }

    /// Writes a packet at the host's interface into the capture, if there is one.
    #[inline]
    fn capture(&mut self, cx: &mut Cx<'_>, packet: &Packet, dir: Dir) {
        if cx.captures() {
            self.write(cx, packet, dir);
        }
    }

    #[cold]
    fn write(&mut self, cx: &mut Cx<'_>, packet: &Packet, dir: Dir) {
        let now = cx.now;
        if let Some(capture) = cx.capture() {
            self.header.clear();
            encode_header(packet, endpoints_of(packet, dir), packet.identification, &mut self.header);
            // The flipped bit may be anywhere: here it is the last one of the headers, which the checksum covers.
            if packet.is_corrupt()
                && let Some(last) = self.header.last_mut()
            {
                *last ^= 1;
            }
            capture.packet(self.dir.index() as u32, now, &self.header, packet.len, packet.id);
        }
    }
}

impl SendingEnd {
    fn new(sender: Box<Sender>, app: Box<dyn App>, spec: &FlowSpec) -> Self {
        Self { sender, stream: Outflow::new(app, spec), last_sent: spec.start }
    }

    /// An ACK arrived.
    #[inline]
    fn handle_segment(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        self.sender.handle_segment(cx.now, packet);
        if self.sender.state().una >= self.stream.awaited {
            self.handle_acked(cx);
        }
        probe_tcp(cx, (packet.ue, packet.flow), &mut self.sender, Some(packet));
    }

    /// What was awaited has been acknowledged.
    #[cold]
    #[inline(never)]
    fn handle_acked(&mut self, cx: &mut Cx<'_>) {
        let acked = self.sender.state().una;
        if self.stream.tell_acked(cx, acked) {
            self.supply(cx.now);
        }
        self.stream.settle(cx, acked);
    }

    /// Takes what the application supplies.
    #[cold]
    #[inline(never)]
    fn supply(&mut self, now: Instant) {
        let bytes = self.stream.poll(now, || self.sender.withdraw_unsent());
        if bytes > 0 {
            self.sender.supply_after(now.since(self.last_sent), bytes);
        }
    }

    /// Sends what may be sent, and arms the timer under `key`.
    #[inline(always)]
    fn pump(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, interface: &mut Interface, key: u32) {
        let (now, sender) = (cx.now, &mut *self.sender);
        while let Some(transmit) = sender.poll_transmit(now) {
            let mut packet = Interface::packet(cx, spec);
            sender.write(now, &transmit, &mut packet);
            packet.sent_at = now;
            self.last_sent = now;
            packet.set_precedes_end(sender.has_more());
            probe_sent(cx, &packet, &transmit);
            interface.send(cx, packet);
        }
        match self.stream.next_supply {
            Instant::NEVER => arm(cx, key, sender.deadline()),
            next => arm(cx, key, sender.deadline().into_iter().chain([next]).min()),
        }
    }
}

impl ReceivingEnd {
    fn new(receiver: Box<Receiver>, size: u64) -> Self {
        Self { receiver, size, complete: None, delays: Delays::default() }
    }

    /// Data arrived.
    #[inline]
    fn handle_segment(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let Some(seq) = self.receiver.handle_segment(cx.now, packet) else { return };
        // Data arrives after it was sent: nothing to saturate.
        self.delays.add(Duration::from_nanos(cx.now.as_nanos().wrapping_sub(packet.sent_at.as_nanos())));
        let rcv_nxt = self.receiver.rcv_nxt();
        if rcv_nxt >= self.size && self.complete.is_none() {
            self.complete = Some(cx.now);
            cx.finish_transfer();
        }
        probe_received(cx, packet, seq, rcv_nxt);
    }

    /// Sends the ACK that is due, and arms the timer under `key`.
    #[inline(always)]
    fn pump(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, interface: &mut Interface, key: u32) {
        let (now, receiver) = (cx.now, &mut *self.receiver);
        while let Some(cause) = receiver.poll_transmit(now) {
            let mut packet = Interface::packet(cx, spec);
            receiver.write(now, cause, &mut packet);
            packet.set_precedes_end(receiver.rcv_nxt() < self.size);
            interface.send(cx, packet);
        }
        arm(cx, key, receiver.deadline());
    }
}

/// Probes of senders.
const OF_TCP: ProbeMask = ProbeMask::NONE
    .with(Kind::RttSample)
    .with(Kind::TcpPath)
    .with(Kind::TcpState)
    .with(Kind::AckReceived)
    .with(Kind::SackBlock);

/// Records the state of the sender of a flow (UE and number) after it handled a segment or, without one, a timeout.
#[inline]
pub fn probe_tcp(cx: &mut Cx<'_>, flow: (u16, u16), sender: &mut Sender, segment: Option<&Packet>) {
    if cx.probes_any(OF_TCP) {
        tell_of_tcp(cx, flow, sender, segment);
    }
}

#[cold]
#[inline(never)]
fn tell_of_tcp(cx: &mut Cx<'_>, (ue, flow): (u16, u16), sender: &mut Sender, segment: Option<&Packet>) {
    if let Some((packet, acked)) = segment.and_then(|segment| Some((segment, sender.ack_of(segment)?))) {
        let (packet, duplicate) = (packet.id, sender.take_duplicate());
        cx.probe(Kind::AckReceived, || Event::AckReceived { ue, flow, packet, acked, duplicate });
    }
    if let Some(segment) = segment.filter(|_| cx.probes(Kind::SackBlock)) {
        for (left, right) in sender.sack_blocks(segment) {
            let packet = segment.id;
            cx.probe(Kind::SackBlock, || Event::SackBlock { ue, flow, packet, left, right });
        }
    }
    if cx.probes(Kind::RttSample)
        && let Some(rtt) = sender.take_rtt_sample()
    {
        let rtt_us = rtt.as_micros() as u32;
        cx.probe(Kind::RttSample, move || Event::RttSample { ue, flow, rtt_us });
    }
    if cx.probes(Kind::TcpPath)
        && let Some(view) = sender.path_view()
    {
        cx.probe(Kind::TcpPath, move || path_event(ue, flow, &view));
    }
    let sender = &*sender;
    cx.probe(Kind::TcpState, move || {
        let (state, rto) = (sender.state(), sender.rto());
        let segments = |bytes: f64| (bytes / state.window.mss).min(f64::from(i32::MAX)) as u32;
        Event::TcpState {
            ue,
            flow,
            tcpi_snd_cwnd: segments(state.window.cwnd + state.inflation as f64),
            tcpi_snd_ssthresh: segments(state.window.ssthresh),
            tcpi_unacked: segments(state.flight_size() as f64),
            send_window: segments(state.send_window() as f64),
            tcpi_rtt: rto.srtt().as_micros() as u32,
            tcpi_rttvar: rto.rttvar().as_micros() as u32,
            tcpi_rto: rto.value().as_micros() as u32,
            tcpi_ca_state: state.phase.tcpi_ca_state(),
            snd_una: state.una,
        }
    });
}

/// How a sender paces, and what it thinks of the path.
#[cold]
fn path_event(ue: u16, flow: u16, view: &PathView) -> Event {
    let bits = |rate: f64| (8.0 * rate) as u64;
    let model = view.model;
    Event::TcpPath {
        ue,
        flow,
        state: model.map_or(ModelState::None, |model| model.state),
        pacing_bps: view.pacing.map_or(0, |rate| rate.saturating_mul(8)),
        bandwidth_bps: model.map_or(0, |model| bits(model.bandwidth)),
        min_rtt_us: model.and_then(|model| model.min_rtt).map_or(0, |rtt| rtt.as_micros() as u32),
        inflight_limit_bytes: model.and_then(|model| model.inflight_limit).map_or(0, |limit| limit as u64),
        extra_acked_bytes: model.map_or(0, |model| model.extra_acked as u64),
    }
}

/// Reports a segment with data to the probe.
#[inline]
fn probe_sent(cx: &mut Cx<'_>, packet: &Packet, transmit: &Transmit) {
    // Asked here, as what a closure takes along is written down even while the probe is off.
    if cx.probes(Kind::SegmentSent) && transmit.len > 0 {
        tell_sent(cx, packet, *transmit);
    }
}

#[cold]
#[inline(never)]
fn tell_sent(cx: &mut Cx<'_>, packet: &Packet, transmit: Transmit) {
    let Transmit { seq, len: payload_bytes, cause } = transmit;
    let (ue, flow, packet) = (packet.ue, packet.flow, packet.id);
    cx.probe(Kind::SegmentSent, || Event::SegmentSent { ue, flow, packet, seq, payload_bytes, cause });
}

/// Reports data that arrived at `seq` to the probe.
#[inline]
fn probe_received(cx: &mut Cx<'_>, packet: &Packet, seq: u64, rcv_nxt: u64) {
    if cx.probes(Kind::SegmentReceived) {
        tell_received(cx, packet, seq, rcv_nxt);
    }
}

#[cold]
#[inline(never)]
fn tell_received(cx: &mut Cx<'_>, packet: &Packet, seq: u64, rcv_nxt: u64) {
    let (ue, flow, packet, payload_bytes) = (packet.ue, packet.flow, packet.id, packet.payload);
    cx.probe(Kind::SegmentReceived, || Event::SegmentReceived {
        ue,
        flow,
        packet,
        seq,
        payload_bytes,
        rcv_nxt,
    });
}

/// Arms the timer under `key` for `deadline`, or disarms it.
#[inline(always)]
pub(crate) fn arm(cx: &mut Cx<'_>, key: u32, deadline: Option<Instant>) {
    match deadline {
        Some(at) => cx.arm(key, at),
        None => cx.disarm(key),
    }
}

/// What the congestion control draws from of the sender at the host that sends towards `host`.
fn cc_stream(spec: &FlowSpec, run_seed: u64, host: Dir) -> rng::Stream {
    rng::stream(run_seed, &format!("ue{}.flow{}.{}.cc", spec.ue, spec.flow, host.name()))
}

/// The UE opens connections.
fn role_at(host: Dir) -> Role {
    if host == Dir::Uplink { Role::Active } else { Role::Passive }
}

impl End {
    /// An end at the host that sends towards `host`; `pages` are those of this host so far.
    fn new(spec: &FlowSpec, host: Dir, run_seed: u64, pages: &mut Vec<Browser>) -> Self {
        let role = role_at(host);
        let stream = rng::stream(run_seed, &format!("ue{}.flow{}.app", spec.ue, spec.flow - spec.connection));
        let draws = || cc_stream(spec, run_seed, host);
        match spec.app.build(stream) {
            Traffic::Stream(app) if spec.dir == host => {
                let mut sender = Box::new(Sender::new(&spec.tcp, role));
                sender.seed(draws);
                Self::Sends(SendingEnd::new(sender, app, spec))
            }
            Traffic::Stream(_) => {
                let receiver = Box::new(Receiver::new(&spec.tcp, role));
                Self::Receives(ReceivingEnd::new(receiver, spec.app.size().unwrap_or(u64::MAX)))
            }
            Traffic::Datagrams(ends) => {
                let app = if spec.dir == host { ends.sender } else { ends.receiver };
                Self::Other(Box::new(DatagramEnd::new(app, spec, host.reverse())))
            }
            Traffic::Arrivals(arrivals) if spec.connection == 0 => {
                Self::Arrivals(Box::new(ArrivalsEnd::new(arrivals)))
            }
            Traffic::Arrivals(_) => Self::Unused,
            Traffic::Page(page) if spec.dir == host && page.is_quic => {
                Self::Other(Box::new(QuicEnd::server(spec, page, draws)))
            }
            Traffic::Page(page) if spec.dir == host => {
                Self::Other(Box::new(ServerEnd::new(spec, &page, draws)))
            }
            Traffic::Page(page) => {
                if spec.connection == 0 {
                    pages.push(Browser::new(page.clone(), spec.start));
                }
                if page.is_quic {
                    return Self::Other(Box::new(QuicEnd::client(spec, page, pages.len() - 1, draws)));
                }
                Self::Other(Box::new(ClientEnd::new(spec, pages.len() - 1, draws)))
            }
        }
    }

    /// What it has counted.
    fn counted(&self) -> Counted<'_> {
        match self {
            Self::Sends(end) => {
                let (sender, app) = (Some(&*end.sender), Some(end.stream.app()));
                Counted { sender, app, finished: end.stream.finished, ..Counted::default() }
            }
            Self::Receives(end) => Counted {
                receiver: Some((&end.receiver, &end.delays)),
                received_at: end.complete,
                ..Counted::default()
            },
            Self::Other(end) => end.counted(),
            Self::Arrivals(_) | Self::Unused | Self::Path(..) => Counted::default(),
        }
    }
}

impl Endpoint {
    /// Whether it acts first, at the flow's start, or listens from the beginning; `None` if another end opens it.
    fn acts_first(&self, host: Dir) -> Option<bool> {
        match &self.end {
            End::Arrivals(_) => Some(true),
            End::Unused | End::Path(..) => None,
            End::Sends(_) | End::Receives(_) => match self.spec.tcp.handshake {
                Handshake::ThreeWay | Handshake::Ttcp => Some(host == Dir::Uplink),
                Handshake::None => Some(self.spec.dir == host),
            },
            End::Other(end) => end.acts_first(&self.spec),
        }
    }

    fn open(&mut self, now: Instant, pages: &mut [Browser]) {
        self.opened = true;
        match &mut self.end {
            End::Sends(end) => {
                end.sender.open();
                end.supply(now);
            }
            End::Receives(end) => end.receiver.open(),
            End::Arrivals(_) | End::Unused | End::Path(..) => {}
            End::Other(end) => end.open(now, &self.spec, pages),
        }
    }

    /// A deadline of TCP or of the application has passed.
    fn handle_timer(&mut self, cx: &mut Cx<'_>, interface: &mut Interface, pages: &mut [Browser], key: u32) {
        let spec = &self.spec;
        match &mut self.end {
            End::Sends(end) => {
                end.sender.handle_deadline(cx.now);
                if end.stream.next_supply <= cx.now {
                    end.supply(cx.now);
                }
                probe_tcp(cx, (spec.ue, spec.flow), &mut end.sender, None);
            }
            End::Receives(end) => end.receiver.handle_deadline(cx.now),
            End::Other(end) => end.handle_deadline(cx, spec, pages),
            End::Arrivals(_) | End::Unused | End::Path(..) => {}
        }
        self.end.pump(cx, &self.spec, interface, key);
    }
}

impl End {
    /// Sends what may be sent, and arms the timer under `key`.
    #[inline(never)]
    fn pump(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, interface: &mut Interface, key: u32) {
        match self {
            Self::Sends(end) => end.pump(cx, spec, interface, key),
            Self::Receives(end) => end.pump(cx, spec, interface, key),
            Self::Other(end) => end.pump(cx, spec, interface, key),
            Self::Arrivals(_) | Self::Unused | Self::Path(..) => {}
        }
    }
}

impl Element for Host {
    fn layout(&self) -> Layout {
        // What an end does with a packet is its own affair, or its page's, which is of the same UE.
        // Packets of one path of a connection also concern its other paths, which belong to other interfaces.
        let early = if self.multipaths.is_empty() { Early::OfUe } else { Early::Never };
        Layout {
            timers: self.endpoints.len() as u32,
            early: [early; 2],
            by_lanes: Dir::BOTH.map(|dir| dir != self.interface.dir),
            timers_of_ues: self.index.first_of_ue(),
            ..Layout::default()
        }
    }

    fn ports(&self) -> Vec<Port> {
        vec![self.interface.dir.into()]
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        for (key, endpoint) in (0..).zip(&mut self.endpoints) {
            match endpoint.acts_first(self.interface.dir) {
                Some(true) => cx.arm(key, endpoint.spec.start),
                Some(false) => endpoint.open(cx.now, &mut self.pages),
                None => {}
            }
        }
        for end in &mut self.multipaths {
            match end.starts_at() {
                Some(start) => cx.arm(end.first_key(), start),
                None => end.open(cx.now),
            }
        }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, mut packet: Box<Packet>) {
        let dir = port.dir();
        self.interface.capture(cx, &packet, dir);
        if packet.is_corrupt() {
            return cx.drop(dir, packet, Reason::Corrupted);
        }
        let Some(index) = self.index.position(packet.ue, packet.flow) else {
            return cx.drop(dir, packet, Reason::UnknownFlow);
        };
        let (Endpoint { spec, end, .. }, key) = (&mut self.endpoints[index], index as u32);
        match end {
            End::Sends(end) => {
                end.handle_segment(cx, &packet);
                cx.free(packet);
                end.pump(cx, spec, &mut self.interface, key);
            }
            End::Receives(end) => {
                end.handle_segment(cx, &packet);
                cx.free(packet);
                end.pump(cx, spec, &mut self.interface, key);
            }
            End::Other(end) => {
                end.handle_packet(cx, spec, &mut packet, &mut self.pages, key);
                cx.free(packet);
                end.pump(cx, spec, &mut self.interface, key);
            }
            End::Path(number, path) => {
                let several = &mut self.multipaths[usize::from(*number)];
                several.handle_packet(cx, usize::from(*path), &packet);
                cx.free(packet);
                several.pump(cx, &mut self.interface);
            }
            End::Arrivals(_) | End::Unused => cx.free(packet),
        }
    }

    fn prefetch(&self, depth: u8) {
        if depth == 0 {
            prefetch(self);
            return prefetch(&self.endpoints[..self.endpoints.len().min(SOON)]);
        }
        // Of more flows, most have nothing to do.
        for Endpoint { end, .. } in self.endpoints.iter().take(SOON) {
            match (end, depth) {
                (End::Sends(end), 1) => prefetch(&*end.sender),
                (End::Sends(end), 2) => end.sender.prefetch_inner(),
                (End::Receives(end), 1) => prefetch(&*end.receiver),
                (End::Receives(end), 2) => end.delays.prefetch(),
                _ => {}
            }
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        let endpoint = &mut self.endpoints[key as usize];
        if endpoint.opened {
            endpoint.handle_timer(cx, &mut self.interface, &mut self.pages, key);
        } else if let End::Path(number, path) = endpoint.end {
            let end = &mut self.multipaths[usize::from(number)];
            end.handle_timer(cx, usize::from(path));
            end.pump(cx, &mut self.interface);
        } else if matches!(endpoint.end, End::Arrivals(_)) {
            self.start_files(cx, key as usize);
        } else {
            endpoint.open(cx.now, &mut self.pages);
            endpoint.end.pump(cx, &endpoint.spec, &mut self.interface, key);
        }
    }
}
