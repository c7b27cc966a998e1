//! The ends of a page over QUIC: at the UE, where a browser asks, and at the server. Packets are UDP, which no middlebox
//! reads; their frames are a note ([`crate::quic::frame`]).

use super::end::{Counted, FlowEnd, QuicCounts};
use super::{FlowSpec, Interface, arm, path_event};
use crate::app::web::h3::Http3;
use crate::app::web::{Browser, Page, Work};
use crate::delays::Delays;
use crate::element::Cx;
use crate::packet::{Body, Kind, Opaque, Packet};
use crate::quic::{Connection, Datagram, Role};
use crate::rng::Stream;
use crate::time::Instant;
use crate::trace::{Event, Kind as EventKind, ProbeMask};

/// Bytes of a UDP header: RFC 768.
const UDP_HEADER: u32 = 8;

/// One end of a connection.
pub(super) struct QuicEnd {
    connection: Connection,
    streams: Http3,
    side: Side,
    page: Page,
    delays: Delays,
    finished: Option<Instant>,
}

enum Side {
    /// Index of the browser at this host.
    Client(usize),
    /// Requests, and bytes of each that have arrived.
    Server(Work, Vec<u64>),
}

impl QuicEnd {
    /// The end of the browser of page number `index`.
    pub fn client(spec: &FlowSpec, page: Page, index: usize, draws: impl FnOnce() -> Stream) -> Self {
        Self::new(spec, page, Role::Client, Side::Client(index), draws)
    }

    /// The end of the server of a page.
    pub fn server(spec: &FlowSpec, page: Page, draws: impl FnOnce() -> Stream) -> Self {
        let side = Side::Server(Work::new(&page), vec![0; page.objects.len()]);
        Self::new(spec, page, Role::Server, side, draws)
    }

    fn new(spec: &FlowSpec, page: Page, role: Role, side: Side, draws: impl FnOnce() -> Stream) -> Self {
        let mut connection = Connection::new(&spec.tcp, &page.quic, role, page.flights.of_quic());
        connection.seed(draws);
        Self { connection, streams: Http3::default(), side, page, delays: Delays::default(), finished: None }
    }

    /// Sends the requests that the browser has.
    fn request(&mut self, now: Instant, browser: &mut Browser) {
        for number in browser.take_requests(now, 0) {
            self.streams.send(number, &self.page.objects[usize::from(number)], self.page.request);
        }
    }

    /// Sends the responses that are ready.
    fn answer(&mut self, now: Instant) {
        let Side::Server(work, _) = &mut self.side else { return };
        while let Some(number) = work.poll(now) {
            let object = &self.page.objects[usize::from(number)];
            self.streams.send(number, object, object.size);
        }
    }

    /// Data of streams has arrived.
    fn handle_arrived(&mut self, now: Instant, pages: &mut [Browser]) {
        while let Some((number, bytes)) = self.streams.poll_arrived() {
            match &mut self.side {
                Side::Client(index) => pages[*index].handle_data(now, number, bytes),
                Side::Server(work, requests) => {
                    let arrived = &mut requests[usize::from(number)];
                    *arrived += bytes;
                    if *arrived == self.page.request {
                        work.handle_request(now, number);
                    }
                }
            }
        }
        match self.side {
            Side::Client(index) => {
                let browser = &mut pages[index];
                if let Some(at) = self.connection.completed_at() {
                    browser.handle_connected(at);
                    browser.handle_secured(at);
                }
                browser.assign(0);
                self.request(now, browser);
                if browser.is_loaded() {
                    self.finished.get_or_insert(now);
                }
            }
            Side::Server(..) => self.answer(now),
        }
    }
}

impl FlowEnd for QuicEnd {
    fn acts_first(&self, _spec: &FlowSpec) -> Option<bool> {
        Some(matches!(self.side, Side::Client(_)))
    }

    fn open(&mut self, now: Instant, _spec: &FlowSpec, pages: &mut [Browser]) {
        if let Side::Client(index) = self.side {
            self.connection.open();
            self.request(now, &mut pages[index]);
        }
    }

    fn handle_packet(
        &mut self,
        cx: &mut Cx<'_>,
        spec: &FlowSpec,
        packet: &mut Packet,
        pages: &mut [Browser],
        _key: u32,
    ) {
        let Some(body) = packet.body.take() else { return };
        self.delays.add(cx.now.since(packet.sent_at));
        let payload = packet.len.saturating_sub(packet.ip().header_bytes() + UDP_HEADER);
        let datagram = Datagram { len: payload.into(), ecn: packet.ecn(), octets: body.bytes };
        self.connection.handle_datagram(cx.now, &datagram, &mut self.streams);
        self.handle_arrived(cx.now, pages);
        if matches!(self.side, Side::Server(..)) {
            let is_done = self.streams.acked().1 == self.page.objects.len();
            if is_done && self.finished.is_none() {
                self.finished = Some(cx.now);
                cx.finish_transfer();
            }
            probe(cx, spec, &mut self.connection);
        }
    }

    /// A timer of the connection has expired, or a response is ready.
    fn handle_deadline(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, _pages: &mut [Browser]) {
        self.connection.handle_deadline(cx.now, &mut self.streams);
        self.answer(cx.now);
        if matches!(self.side, Side::Server(..)) {
            probe(cx, spec, &mut self.connection);
        }
    }

    fn pump(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, interface: &mut Interface, key: u32) {
        while let Some(datagram) = self.connection.poll_transmit(cx.now, &mut self.streams) {
            let mut packet = Interface::packet(cx, spec);
            packet.set_kind(Kind::Opaque(Opaque::OtherProtocol));
            packet.set_ip(spec.tcp.ip);
            packet.set_ecn(datagram.ecn);
            packet.len = spec.tcp.ip.header_bytes() + UDP_HEADER + datagram.len as u32;
            packet.sent_at = cx.now;
            (packet.seq, packet.ack, packet.ts_val, packet.ts_ecr) = (0, 0, 0, 0);
            (packet.payload, packet.window) = (0, 0);
            packet.body = Some(Box::new(Body::note(datagram.octets)));
            interface.send(cx, packet);
        }
        let ready = match &self.side {
            Side::Server(work, _) => work.deadline(),
            Side::Client(_) => None,
        };
        // A probe may be overdue once the server may send again.
        let now = cx.now;
        arm(cx, key, self.connection.deadline().into_iter().chain(ready).min().map(|at| at.max(now)));
    }

    fn counted(&self) -> Counted<'_> {
        let quic = QuicCounts {
            report: self.connection.report(),
            received: self.streams.received(),
            acked: self.streams.acked().0,
            in_flight: self.connection.packets_in_flight(),
            size: self.page.objects.iter().fold(0, |sum, object| sum.saturating_add(object.size)),
            one_way_delay_ms: self.delays.report(),
            finished: self.finished,
            page: if let Side::Client(index) = self.side { Some(index) } else { None },
        };
        Counted { quic: Some(Box::new(quic)), ..Counted::default() }
    }
}

const OF_QUIC: ProbeMask =
    ProbeMask::NONE.with(EventKind::RttSample).with(EventKind::TcpState).with(EventKind::TcpPath);

/// Records the state of a server's congestion control after a datagram or a timeout, in the terms of TCP.
fn probe(cx: &mut Cx<'_>, spec: &FlowSpec, connection: &mut Connection) {
    if cx.probes_any(OF_QUIC) {
        tell(cx, spec, connection);
    }
}

#[cold]
#[inline(never)]
fn tell(cx: &mut Cx<'_>, spec: &FlowSpec, connection: &mut Connection) {
    let (ue, flow) = (spec.ue, spec.flow);
    if cx.probes(EventKind::RttSample)
        && let Some(rtt) = connection.take_rtt_sample()
    {
        let rtt_us = rtt.as_micros() as u32;
        cx.probe(EventKind::RttSample, move || Event::RttSample { ue, flow, rtt_us });
    }
    if cx.probes(EventKind::TcpPath)
        && let Some(view) = connection.path_view()
    {
        cx.probe(EventKind::TcpPath, move || path_event(ue, flow, &view));
    }
    let [srtt, rttvar, rto] = connection.times().map(|time| time.as_micros() as u32);
    let state = connection.state();
    cx.probe(EventKind::TcpState, || {
        let packets = |bytes: f64| (bytes / state.window.mss).min(f64::from(i32::MAX)) as u32;
        Event::TcpState {
            ue,
            flow,
            tcpi_snd_cwnd: packets(state.window.cwnd),
            tcpi_snd_ssthresh: packets(state.window.ssthresh),
            tcpi_unacked: packets(state.flight_size() as f64),
            send_window: packets(state.window.cwnd),
            tcpi_rtt: srtt,
            tcpi_rttvar: rttvar,
            tcpi_rto: rto,
            tcpi_ca_state: state.phase.tcpi_ca_state(),
            snd_una: state.una,
        }
    });
}
