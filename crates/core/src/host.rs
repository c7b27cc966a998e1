//! The simulated hosts: an element at either end of the path that holds the endpoints of every flow.
//!
//! The server's host sends downlink, the UEs' host (one for all UEs) sends uplink. Each endpoint has
//! one timer, whose deadline is a single store when it moves later, as it does with every ACK. The
//! UE opens connections, as a client does; the application starts at the flow's start. A flow without TCP
//! has an end of its application at either host, and a packet of its own kind in between.

mod datagrams;
mod flow_index;

use crate::app::datagrams::Report as DatagramReport;
use crate::app::{App, Traffic};
use crate::element::{Cx, Element, Layout};
use crate::packet::{Dir, IpVersion, Packet};
use crate::rng;
use crate::tcp::handshake::Role;
use crate::tcp::{self, Handshake, Receiver, Sender, Transmit};
use crate::time::{Duration, Instant};
use crate::trace::{Event, Kind, Reason};
use crate::wire::{Endpoints, encode_header};
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use datagrams::DatagramEnd;
pub(crate) use flow_index::FlowIndex;

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
    /// What it has to carry.
    pub app: crate::app::Config,
    /// Both endpoints.
    pub tcp: Arc<tcp::Config>,
}

/// Port of the server; a client's port is its flow number beyond [`CLIENT_PORT`].
const SERVER_PORT: u16 = 80;
const CLIENT_PORT: u16 = 49_152;

/// One endpoint of a flow at this host.
struct Endpoint {
    spec: FlowSpec,
    end: End,
    /// The application has started, or the endpoint listens.
    opened: bool,
}

enum End {
    Sends(SendingEnd),
    Receives(ReceivingEnd),
    Datagrams(DatagramEnd),
}

struct SendingEnd {
    sender: Box<Sender>,
    app: Box<dyn App>,
    finished: Option<Instant>,
}

struct ReceivingEnd {
    receiver: Box<Receiver>,
    /// Bytes that a finite transfer brings, else `u64::MAX`.
    size: u64,
    /// When the last of them had arrived.
    complete: Option<Instant>,
}

/// One end of the path.
pub struct Host {
    endpoints: Vec<Endpoint>,
    index: FlowIndex,
    port: Port,
}

impl Host {
    /// A host that sends towards `dir` and holds its end of every flow of the run with seed `run_seed`.
    /// `flows` are sorted by UE, and the flows of a UE are numbered from zero.
    pub fn new(dir: Dir, ues: u16, flows: &[FlowSpec], run_seed: u64) -> Self {
        Self {
            endpoints: flows.iter().map(|flow| Endpoint::new(flow, dir, run_seed)).collect(),
            index: FlowIndex::new(ues, flows),
            port: Port { dir, ip_id: 0, header: Vec::new() },
        }
    }
}

/// The host's connection to the path.
struct Port {
    /// The direction in which the host sends.
    dir: Dir,
    ip_id: u16,
    /// Reused from packet to packet.
    header: Vec<u8>,
}

impl Port {
    #[inline]
    fn packet(cx: &mut Cx<'_>, spec: &FlowSpec) -> Box<Packet> {
        let mut packet = cx.packet();
        packet.ue = spec.ue;
        packet.flow = spec.flow;
        packet
    }

    #[inline]
    fn send(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        self.capture(cx, &packet, self.dir);
        cx.emit(self.dir, packet);
    }

    /// Writes what passes the host's interface into the capture, if there is one.
    #[inline]
    fn capture(&mut self, cx: &mut Cx<'_>, packet: &Packet, dir: Dir) {
        if cx.capture().is_some() {
            self.write(cx, packet, dir);
        }
    }

    #[cold]
    fn write(&mut self, cx: &mut Cx<'_>, packet: &Packet, dir: Dir) {
        let now = cx.now;
        if let Some(capture) = cx.capture() {
            self.header.clear();
            self.ip_id = self.ip_id.wrapping_add(1);
            encode_header(packet, endpoints_of(packet, dir), self.ip_id, &mut self.header);
            capture.packet(self.dir.index() as u32, now, &self.header, packet.len);
        }
    }
}

impl SendingEnd {
    /// An ACK arrived.
    #[inline]
    fn handle_segment(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, packet: &Packet) {
        self.sender.handle_segment(cx.now, packet);
        if self.finished.is_none() && self.sender.is_done() {
            self.finished = Some(cx.now);
            cx.finish_transfer();
        }
        self.probe(cx, spec);
    }

    /// Sends what may be sent, and arms the timer under `key`.
    #[inline]
    fn pump(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, port: &mut Port, key: u32) {
        let now = cx.now;
        while let Some(transmit) = self.sender.poll_transmit(now) {
            let mut packet = Port::packet(cx, spec);
            self.sender.write(now, &transmit, &mut packet);
            let Transmit { seq, len: payload_bytes, cause } = transmit;
            if payload_bytes > 0 {
                let (ue, flow) = (spec.ue, spec.flow);
                cx.probe(Kind::SegmentSent, move || Event::SegmentSent {
                    ue,
                    flow,
                    seq,
                    payload_bytes,
                    cause,
                });
            }
            port.send(cx, packet);
        }
        arm(cx, key, self.sender.deadline());
    }

    #[inline]
    fn probe(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec) {
        let (ue, flow) = (spec.ue, spec.flow);
        if cx.probes(Kind::RttSample)
            && let Some(rtt) = self.sender.take_rtt_sample()
        {
            let rtt_us = rtt.as_micros() as u32;
            cx.probe(Kind::RttSample, move || Event::RttSample { ue, flow, rtt_us });
        }
        let sender = &self.sender;
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
}

impl ReceivingEnd {
    /// Data arrived.
    #[inline]
    fn handle_segment(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, packet: &Packet) {
        let Some(seq) = self.receiver.handle_segment(cx.now, packet) else { return };
        let (ue, flow, payload_bytes) = (spec.ue, spec.flow, packet.payload);
        let rcv_nxt = self.receiver.rcv_nxt();
        if rcv_nxt >= self.size && self.complete.is_none() {
            self.complete = Some(cx.now);
            cx.finish_transfer();
        }
        cx.probe(Kind::SegmentReceived, move || Event::SegmentReceived {
            ue,
            flow,
            seq,
            payload_bytes,
            rcv_nxt,
        });
    }

    /// Sends the ACK that is due, and arms the timer under `key`.
    #[inline]
    fn pump(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, port: &mut Port, key: u32) {
        let now = cx.now;
        while let Some(cause) = self.receiver.poll_transmit(now) {
            let mut packet = Port::packet(cx, spec);
            self.receiver.write(now, cause, &mut packet);
            port.send(cx, packet);
        }
        arm(cx, key, self.receiver.deadline());
    }
}

/// Arms the timer under `key` for `deadline`, or disarms it.
#[inline]
pub(crate) fn arm(cx: &mut Cx<'_>, key: u32, deadline: Option<Instant>) {
    match deadline {
        Some(at) => cx.arm(key, at),
        None => cx.disarm(key),
    }
}

impl Endpoint {
    fn new(spec: &FlowSpec, host: Dir, run_seed: u64) -> Self {
        let role = if host == Dir::Uplink { Role::Active } else { Role::Passive };
        let stream = rng::stream(run_seed, &format!("ue{}.flow{}.app", spec.ue, spec.flow));
        let end = match spec.app.build(stream) {
            Traffic::Stream(app) if spec.dir == host => {
                let sender = Box::new(Sender::new(&spec.tcp, role));
                End::Sends(SendingEnd { sender, app, finished: None })
            }
            Traffic::Stream(_) => {
                let receiver = Box::new(Receiver::new(&spec.tcp, role));
                let size = spec.app.size().unwrap_or(u64::MAX);
                End::Receives(ReceivingEnd { receiver, size, complete: None })
            }
            Traffic::Datagrams(ends) => {
                let app = if spec.dir == host { ends.sender } else { ends.receiver };
                End::Datagrams(DatagramEnd::new(app, spec.start))
            }
        };
        Self { spec: spec.clone(), end, opened: false }
    }

    /// Whether this endpoint acts first, at the flow's start; otherwise it listens from the beginning.
    fn acts_first(&self, host: Dir) -> bool {
        if let End::Datagrams(end) = &self.end {
            return end.deadline().is_some();
        }
        match self.spec.tcp.handshake {
            Handshake::ThreeWay | Handshake::Ttcp => host == Dir::Uplink,
            Handshake::None => self.spec.dir == host,
        }
    }

    fn open(&mut self) {
        self.opened = true;
        match &mut self.end {
            End::Sends(end) => {
                end.sender.open();
                end.sender.supply(end.app.handle_start());
            }
            End::Receives(end) => end.receiver.open(),
            End::Datagrams(_) => {}
        }
    }

    /// The timer expired: the application starts, or a deadline of TCP has passed.
    fn handle_timer(&mut self, cx: &mut Cx<'_>, port: &mut Port, key: u32) {
        let opened = self.opened;
        if !opened {
            self.open();
        }
        match &mut self.end {
            End::Sends(end) => {
                if opened {
                    end.sender.handle_deadline(cx.now);
                    end.probe(cx, &self.spec);
                }
                end.pump(cx, &self.spec, port, key);
            }
            End::Receives(end) => {
                if opened {
                    end.receiver.handle_deadline(cx.now);
                }
                end.pump(cx, &self.spec, port, key);
            }
            End::Datagrams(end) => end.pump(cx, &self.spec, port, key),
        }
    }

    /// What the sending endpoint says of its flow.
    fn sender_report(&self, now: Instant) -> Option<FlowReport> {
        let End::Sends(SendingEnd { sender, finished, .. }) = &self.end else { return None };
        let spec = &self.spec;
        let counters = sender.counters();
        let seconds = finished.unwrap_or(now).since(spec.start).as_secs_f64();
        let bytes_acked = sender.state().una;
        let samples = counters.rtt_samples;
        let ms = |rtt: Duration| rtt.as_secs_f64() * 1e3;
        Some(FlowReport {
            transfer_s: finished.map(|at| at.since(spec.start).as_secs_f64()),
            goodput_bps: if seconds > 0.0 { bytes_acked as f64 * 8.0 / seconds } else { 0.0 },
            bytes_acked,
            segments_sent: counters.segments_sent,
            retransmissions: Retransmissions {
                total: counters.retransmissions(),
                fast_retransmit: counters.retransmits_fast,
                partial_ack: counters.retransmits_partial,
                sack: counters.retransmits_sack,
                timeout: counters.retransmits_timeout,
                go_back_n: counters.retransmits_go_back_n,
            },
            window_probes: counters.window_probes,
            timeouts: counters.timeouts,
            fast_retransmits: counters.fast_retransmits,
            spurious_timeouts: counters.spurious_timeouts,
            spurious_fast_retransmits: counters.spurious_fast_retransmits,
            dupacks: counters.dupacks,
            rtt_ms: RttReport {
                mean: (samples > 0).then(|| ms(counters.rtt_sum) / samples as f64),
                min: counters.rtt_min.map(ms),
                max: (samples > 0).then(|| ms(counters.rtt_max)),
                samples,
            },
            ..FlowReport::new(spec)
        })
    }
}

/// What is known of a flow at the end of a run. Times in seconds or milliseconds, rates in bit/s.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowReport {
    /// Number of the UE.
    pub ue: u16,
    /// Number of the flow at its UE.
    pub flow: u16,
    /// Direction of the data.
    pub direction: Dir,
    /// Name of the application.
    pub app: &'static str,
    /// When the application started.
    pub start_s: f64,
    /// From there to the last ACK at the sender; `None` without end or unfinished. Where a middlebox
    /// splits the connection, the ACK is the box's and may come before `received_s`.
    pub transfer_s: Option<f64>,
    /// From the start to the arrival in sequence of the last byte at the receiving application; `None`
    /// without end or unfinished.
    pub received_s: Option<f64>,
    /// Payload acknowledged (received, without TCP), over the time of the transfer or of the run.
    pub goodput_bps: f64,
    /// Size of a finite transfer.
    pub bytes_to_send: Option<u64>,
    /// Payload acknowledged at the sender.
    pub bytes_acked: u64,
    /// Payload handed to the receiving application.
    pub bytes_received: u64,
    /// Segments with data sent, retransmissions and probes of a closed window included.
    pub segments_sent: u64,
    /// Segments sent again, by cause.
    pub retransmissions: Retransmissions,
    /// Probes of a closed window: RFC 9293 (3.8.6.1).
    pub window_probes: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Timeouts found to be spurious; 0 without `undo`.
    pub spurious_timeouts: u64,
    /// Fast retransmits found to be spurious likewise.
    pub spurious_fast_retransmits: u64,
    /// Duplicate ACKs received.
    pub dupacks: u64,
    /// Round-trip times sampled by the sender.
    pub rtt_ms: RttReport,
    /// What the receiver counted.
    pub receiver: tcp::receiver::Counters,
    /// Of a flow without TCP; everything above that speaks of TCP is then zero, and `rtt_ms` that of
    /// requests and their answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramReport>,
}

impl FlowReport {
    /// A flow of which nothing has been counted.
    fn new(spec: &FlowSpec) -> Self {
        Self {
            ue: spec.ue,
            flow: spec.flow,
            direction: spec.dir,
            app: spec.app.name(),
            start_s: spec.start.as_secs_f64(),
            transfer_s: None,
            received_s: None,
            goodput_bps: 0.0,
            bytes_to_send: spec.app.size(),
            bytes_acked: 0,
            bytes_received: 0,
            segments_sent: 0,
            retransmissions: Retransmissions::default(),
            window_probes: 0,
            timeouts: 0,
            fast_retransmits: 0,
            spurious_timeouts: 0,
            spurious_fast_retransmits: 0,
            dupacks: 0,
            rtt_ms: RttReport::default(),
            receiver: tcp::receiver::Counters::default(),
            datagrams: None,
        }
    }
}

/// Segments sent again, by cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Retransmissions {
    /// All of them.
    pub total: u64,
    /// On the duplicate ACK threshold.
    pub fast_retransmit: u64,
    /// On a partial ACK.
    pub partial_ack: u64,
    /// By the SACK scoreboard.
    pub sack: u64,
    /// When the timer expired.
    pub timeout: u64,
    /// The others after a timeout.
    pub go_back_n: u64,
}

/// Round-trip times in milliseconds; `None` without a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RttReport {
    /// Mean of all samples.
    pub mean: Option<f64>,
    /// The shortest.
    pub min: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
    /// How many.
    pub samples: u64,
}

/// What both hosts say of every flow, in the order of the flows.
pub fn flow_reports(server: &Host, ues: &Host, now: Instant) -> Vec<FlowReport> {
    let ends = server.endpoints.iter().zip(&ues.endpoints);
    ends.filter_map(|(at_server, at_ue)| {
        if let (End::Datagrams(one), End::Datagrams(other)) = (&at_server.end, &at_ue.end) {
            return Some(datagrams::flow_report(&at_server.spec, [one, other], now));
        }
        let (mut report, other) = match at_server.sender_report(now) {
            Some(report) => (report, at_ue),
            None => (at_ue.sender_report(now)?, at_server),
        };
        if let End::Receives(ReceivingEnd { receiver, complete, .. }) = &other.end {
            report.received_s = complete.map(|at| at.since(at_server.spec.start).as_secs_f64());
            report.bytes_received = receiver.rcv_nxt();
            report.receiver = receiver.counters().clone();
        }
        Some(report)
    })
    .collect()
}

impl Element for Host {
    fn layout(&self) -> Layout {
        Layout { timers: self.endpoints.len() as u32, ..Layout::default() }
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        for (key, endpoint) in (0..).zip(&mut self.endpoints) {
            if endpoint.acts_first(self.port.dir) {
                cx.arm(key, endpoint.spec.start);
            } else {
                endpoint.open();
            }
        }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        self.port.capture(cx, &packet, dir);
        let Some(index) = self.index.position(packet.ue, packet.flow) else {
            return cx.drop(packet, Reason::UnknownFlow);
        };
        let Endpoint { spec, end, .. } = &mut self.endpoints[index];
        match end {
            End::Sends(end) => {
                end.handle_segment(cx, spec, &packet);
                cx.free(packet);
                end.pump(cx, spec, &mut self.port, index as u32);
            }
            End::Receives(end) => {
                end.handle_segment(cx, spec, &packet);
                cx.free(packet);
                end.pump(cx, spec, &mut self.port, index as u32);
            }
            End::Datagrams(end) => {
                end.handle_packet(cx.now, &packet);
                cx.free(packet);
                end.pump(cx, spec, &mut self.port, index as u32);
            }
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        self.endpoints[key as usize].handle_timer(cx, &mut self.port, key);
    }
}

/// Addresses and ports of a simulated packet: the server is 10.0.0.1, UE n has 10.64.0.1 + n (over IPv6
/// the same numbers in fd00::/64), as in captures.
pub fn endpoints_of(packet: &Packet, dir: Dir) -> Endpoints {
    let ue = u32::from(packet.ue) + 1;
    let (server, client): (IpAddr, IpAddr) = match packet.ip {
        IpVersion::Ipv4 => (Ipv4Addr::new(10, 0, 0, 1).into(), Ipv4Addr::from_bits(0x0A40_0000 + ue).into()),
        IpVersion::Ipv6 => {
            let prefix = 0xFD00_u128 << 112;
            (
                Ipv6Addr::from_bits(prefix + 1).into(),
                Ipv6Addr::from_bits(prefix + (1 << 32) + u128::from(ue)).into(),
            )
        }
    };
    let server = SocketAddr::new(server, SERVER_PORT);
    let client = SocketAddr::new(client, CLIENT_PORT.wrapping_add(packet.flow));
    match dir {
        Dir::Downlink => Endpoints { src: server, dst: client },
        Dir::Uplink => Endpoints { src: client, dst: server },
    }
}
