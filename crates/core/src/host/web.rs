//! The ends of a page's connections over TCP: at the UE, where a browser asks, and at the server.
//!
//! Events describe the bytes of responses, which are the data of the flow; requests are in captures. Segments with data have
//! the labels of their pieces as a note ([`crate::app::web::labels`]).

use super::end::{Counted, FlowEnd};
use super::{FlowSpec, Interface, arm, probe_received, probe_sent, probe_tcp};
use crate::app::web::labels::{Reading, What, Written};
use crate::app::web::{Browser, Page, Server};
use crate::delays::Delays;
use crate::element::Cx;
use crate::packet::{Body, Packet};
use crate::rng::Stream;
use crate::tcp::Duplex;
use crate::tcp::duplex::Outgoing;
use crate::tcp::handshake::Role;
use crate::time::Instant;

/// The browser's end of a connection.
pub(super) struct ClientEnd {
    duplex: Duplex,
    /// Index of the browser at this host.
    page: usize,
    opened_at: Option<Instant>,
    /// When the latest byte in sequence arrived.
    received_at: Instant,
    /// One-way delays of the segments with data.
    delays: Delays,
    written: Written,
    reading: Reading,
    /// Requests may be sent: TLS is complete, or there is none, or it takes early data.
    is_ready: bool,
    /// The browser has said that everything is there.
    is_finished: bool,
}

impl ClientEnd {
    /// The end of the browser of that `page`; a congestion control that draws has the `stream`.
    pub fn new(spec: &FlowSpec, page: usize, stream: impl FnOnce() -> Stream) -> Self {
        let mut duplex = Duplex::new(&spec.tcp, Role::Active);
        duplex.sender_mut().seed(stream);
        Self {
            duplex,
            page,
            opened_at: None,
            received_at: Instant::ZERO,
            delays: Delays::default(),
            written: Written::default(),
            reading: Reading::default(),
            is_ready: false,
            is_finished: false,
        }
    }

    /// Sends the requests that the browser has for this connection, if it can carry them.
    fn request(&mut self, now: Instant, connection: u16, browser: &mut Browser) {
        if !self.is_ready {
            return;
        }
        let size = browser.page().request;
        let requests = browser.take_requests(now, connection).into_iter();
        let bytes = requests.map(|object| self.written.push(What::Request(object), size)).sum();
        if bytes > 0 {
            self.duplex.supply(now, bytes);
        }
    }

    /// A flight of TLS of the server has arrived: the next one of the client goes out.
    fn handle_flight(&mut self, now: Instant, flight: u8, connection: u16, browser: &mut Browser) {
        let flights = browser.page().flights.clone();
        if let Some(size) = flights.size(flight + 1) {
            let bytes = self.written.push(What::Flight(flight + 1), size);
            self.duplex.supply(now, bytes);
        }
        if flights.opens(flight) {
            self.is_ready = true;
            if connection == 0 {
                browser.handle_secured(now);
            }
        }
    }
}

impl FlowEnd for ClientEnd {
    /// The browser decides on the page's later connections.
    fn acts_first(&self, spec: &FlowSpec) -> Option<bool> {
        (spec.connection == 0).then_some(true)
    }

    fn open(&mut self, now: Instant, spec: &FlowSpec, pages: &mut [Browser]) {
        self.opened_at = Some(now);
        self.duplex.open();
        let browser = &mut pages[self.page];
        let flights = &browser.page().flights;
        self.is_ready = flights.is_empty() || flights.early_data;
        if let Some(hello) = flights.size(0) {
            let bytes = self.written.push(What::Flight(0), hello);
            self.duplex.supply(now, bytes);
        }
        self.request(now, spec.connection, browser);
    }

    /// The browser may need other connections.
    fn handle_packet(
        &mut self,
        cx: &mut Cx<'_>,
        spec: &FlowSpec,
        packet: &mut Packet,
        pages: &mut [Browser],
        key: u32,
    ) {
        let (now, browser) = (cx.now, &mut pages[self.page]);
        let expected = self.duplex.receiver().rcv_nxt();
        let arrived = self.duplex.handle_segment(now, packet);
        if spec.connection == 0 && self.duplex.sender().is_established() {
            browser.handle_connected(now);
        }
        let Some(seq) = arrived else { return };
        self.delays.add(now.since(packet.sent_at));
        let rcv_nxt = self.duplex.receiver().rcv_nxt();
        if rcv_nxt > expected {
            self.received_at = now;
        }
        probe_received(cx, packet, seq, rcv_nxt);
        read_note(&mut self.reading, packet);
        while let Some(part) = self.reading.poll(rcv_nxt) {
            match part.what {
                What::Data(object, _) => browser.handle_data(now, object, part.bytes),
                What::Flight(flight) if part.is_whole => {
                    self.handle_flight(now, flight, spec.connection, browser);
                }
                What::Flight(_) | What::Request(_) => {}
            }
        }
        let others = browser.assign(spec.connection);
        self.request(now, spec.connection, browser);
        let first = key - u32::from(spec.connection);
        others.into_iter().for_each(|connection| cx.arm(first + u32::from(connection), now));
        if browser.page().is_pool() && browser.is_loaded() && !std::mem::replace(&mut self.is_finished, true)
        {
            cx.finish_transfer();
        }
    }

    /// TCP's deadline has passed, or the browser has a request for this connection.
    fn handle_deadline(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, pages: &mut [Browser]) {
        self.duplex.handle_deadline(cx.now);
        self.request(cx.now, spec.connection, &mut pages[self.page]);
    }

    fn pump(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, interface: &mut Interface, key: u32) {
        let written = &self.written;
        send(&mut self.duplex, cx, spec, interface, false, |seq, len| written.labels(seq, len));
        arm(cx, key, self.duplex.deadline());
    }

    fn counted(&self) -> Counted<'_> {
        Counted {
            sender: Some(self.duplex.sender()),
            receiver: Some((self.duplex.receiver(), &self.delays)),
            opened_at: self.opened_at,
            received_at: Some(self.received_at),
            page: Some(self.page),
            ..Counted::default()
        }
    }
}

/// The server's end of a connection.
pub(super) struct ServerEnd {
    duplex: Duplex,
    server: Server,
    reading: Reading,
    /// When the last response was acknowledged.
    finished: Option<Instant>,
}

impl ServerEnd {
    /// The end of the server of this page; a congestion control that draws has the `stream`.
    pub fn new(spec: &FlowSpec, page: &Page, stream: impl FnOnce() -> Stream) -> Self {
        let server = Server::new(page, spec.connection);
        let mut duplex = Duplex::new(&spec.tcp, Role::Passive);
        duplex.sender_mut().seed(stream);
        Self { duplex, server, reading: Reading::default(), finished: None }
    }

    /// Hands to TCP what the server has. Returns whether that was anything.
    fn answer(&mut self, now: Instant) -> bool {
        let mut has_answered = false;
        while let bytes @ 1.. = self.server.poll_supply(now, self.duplex.sender().unsent()) {
            self.duplex.supply(now, bytes);
            has_answered = true;
        }
        has_answered
    }
}

impl FlowEnd for ServerEnd {
    fn acts_first(&self, _spec: &FlowSpec) -> Option<bool> {
        Some(false)
    }

    fn open(&mut self, _now: Instant, _spec: &FlowSpec, _pages: &mut [Browser]) {
        self.duplex.open();
    }

    /// The segment is an ACK, a request, or both.
    fn handle_packet(
        &mut self,
        cx: &mut Cx<'_>,
        spec: &FlowSpec,
        packet: &mut Packet,
        _pages: &mut [Browser],
        _key: u32,
    ) {
        let brought_data = self.duplex.handle_segment(cx.now, packet).is_some();
        let is_done = self.server.is_done() && self.duplex.sender().is_done();
        if is_done && self.finished.is_none() {
            self.finished = Some(cx.now);
            cx.finish_transfer();
        }
        probe_tcp(cx, (spec.ue, spec.flow), self.duplex.sender_mut(), Some(packet));
        if brought_data {
            read_note(&mut self.reading, packet);
            while let Some(part) = self.reading.poll(self.duplex.receiver().rcv_nxt()) {
                if part.is_whole {
                    self.server.handle_arrived(cx.now, part.what);
                }
            }
            self.answer(cx.now);
        }
    }

    /// TCP's deadline has passed, or a response is ready.
    fn handle_deadline(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, _pages: &mut [Browser]) {
        self.duplex.handle_deadline(cx.now);
        probe_tcp(cx, (spec.ue, spec.flow), self.duplex.sender_mut(), None);
        self.answer(cx.now);
    }

    fn pump(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, interface: &mut Interface, key: u32) {
        loop {
            let server = &self.server;
            send(&mut self.duplex, cx, spec, interface, true, |seq, len| server.labels(seq, len));
            // The packets sent have made room.
            if !self.answer(cx.now) {
                break;
            }
        }
        let deadline = self.duplex.deadline().into_iter().chain(self.server.deadline()).min();
        arm(cx, key, deadline);
    }

    fn counted(&self) -> Counted<'_> {
        Counted {
            sender: Some(self.duplex.sender()),
            finished: self.finished,
            bytes: Some(self.server.bytes()),
            ..Counted::default()
        }
    }
}

/// Reads the labels of a segment.
fn read_note(reading: &mut Reading, packet: &Packet) {
    if let Some(note) = packet.body.as_ref().filter(|body| body.is_note) {
        reading.handle_labels(&note.bytes);
    }
}

/// Sends what may be sent, with labels; with `tells`, each segment is an event of the trace.
fn send(
    duplex: &mut Duplex,
    cx: &mut Cx<'_>,
    spec: &FlowSpec,
    interface: &mut Interface,
    tells: bool,
    labels: impl Fn(u64, u64) -> Vec<u8>,
) {
    while let Some(outgoing) = duplex.poll_transmit(cx.now) {
        let mut packet = Interface::packet(cx, spec);
        duplex.write(cx.now, &outgoing, &mut packet);
        packet.sent_at = cx.now;
        if let Outgoing::Sender(transmit) = outgoing {
            if transmit.len > 0 {
                packet.body = Some(Box::new(Body::note(labels(transmit.seq, transmit.len.into()))));
            }
            if tells {
                probe_sent(cx, &packet, &transmit);
            }
        }
        interface.send(cx, packet);
    }
}
