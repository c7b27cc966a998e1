//! The ends of a page's connections: at the UE, where a browser asks, and at the server.
//!
//! Events describe the responses, which are the data of the flow; requests are in captures.

use super::end::{Counted, FlowEnd};
use super::{FlowSpec, Interface, arm, probe_received, probe_sent, probe_tcp};
use crate::app::web::{Browser, Page, Server};
use crate::delays::Delays;
use crate::element::Cx;
use crate::packet::Packet;
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
}

impl ClientEnd {
    /// The end of the browser of that `page`; a congestion control that draws has the `stream`.
    pub fn new(spec: &FlowSpec, page: usize, stream: impl FnOnce() -> Stream) -> Self {
        let mut duplex = Duplex::new(&spec.tcp, Role::Active);
        duplex.sender_mut().seed(stream);
        Self { duplex, page, opened_at: None, received_at: Instant::ZERO, delays: Delays::default() }
    }
}

impl FlowEnd for ClientEnd {
    /// The browser decides on the page's later connections.
    fn acts_first(&self, spec: &FlowSpec) -> Option<bool> {
        (spec.connection == 0).then_some(true)
    }

    fn open(&mut self, now: Instant, pages: &mut [Browser]) {
        self.opened_at = Some(now);
        self.duplex.open();
        self.duplex.supply(now, pages[self.page].handle_open());
    }

    /// The browser may open further connections.
    fn handle_packet(
        &mut self,
        cx: &mut Cx<'_>,
        spec: &FlowSpec,
        packet: &mut Packet,
        pages: &mut [Browser],
        key: u32,
    ) {
        let now = cx.now;
        let expected = self.duplex.receiver().rcv_nxt();
        let Some(seq) = self.duplex.handle_segment(now, packet) else { return };
        self.delays.add(now.since(packet.sent_at));
        let rcv_nxt = self.duplex.receiver().rcv_nxt();
        if rcv_nxt > expected {
            self.received_at = now;
        }
        probe_received(cx, packet, seq, rcv_nxt);
        let step = pages[self.page].handle_received(now, spec.connection, rcv_nxt);
        if step.request_bytes > 0 {
            self.duplex.supply(now, step.request_bytes);
        }
        let first = key - u32::from(spec.connection);
        step.opens.for_each(|connection| cx.arm(first + u32::from(connection), now));
    }

    fn handle_deadline(&mut self, cx: &mut Cx<'_>, _spec: &FlowSpec) {
        self.duplex.handle_deadline(cx.now);
    }

    fn pump(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, interface: &mut Interface, key: u32) {
        send(&mut self.duplex, cx, spec, interface, false);
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
    /// When the last response was acknowledged.
    finished: Option<Instant>,
}

impl ServerEnd {
    /// The end of the server of this page; a congestion control that draws has the `stream`.
    pub fn new(spec: &FlowSpec, page: &Page, stream: impl FnOnce() -> Stream) -> Self {
        let server = Server::new(page, spec.connection);
        let mut duplex = Duplex::new(&spec.tcp, Role::Passive);
        duplex.sender_mut().seed(stream);
        Self { duplex, server, finished: None }
    }

    fn answer(&mut self, now: Instant) {
        while let Some(bytes) = self.server.poll_response(now) {
            self.duplex.supply(now, bytes);
        }
    }
}

impl FlowEnd for ServerEnd {
    fn acts_first(&self, _spec: &FlowSpec) -> Option<bool> {
        Some(false)
    }

    fn open(&mut self, _now: Instant, _pages: &mut [Browser]) {
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
            self.server.handle_received(cx.now, self.duplex.receiver().rcv_nxt());
            self.answer(cx.now);
        }
    }

    /// TCP's deadline has passed, or a response is ready.
    fn handle_deadline(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec) {
        self.duplex.handle_deadline(cx.now);
        probe_tcp(cx, (spec.ue, spec.flow), self.duplex.sender_mut(), None);
        self.answer(cx.now);
    }

    fn pump(&mut self, cx: &mut Cx<'_>, spec: &FlowSpec, interface: &mut Interface, key: u32) {
        send(&mut self.duplex, cx, spec, interface, true);
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

/// Sends what may be sent; with `tells`, each segment is an event of the trace.
fn send(duplex: &mut Duplex, cx: &mut Cx<'_>, spec: &FlowSpec, interface: &mut Interface, tells: bool) {
    while let Some(outgoing) = duplex.poll_transmit(cx.now) {
        let mut packet = Interface::packet(cx, spec);
        duplex.write(cx.now, &outgoing, &mut packet);
        packet.sent_at = cx.now;
        if let Outgoing::Sender(transmit) = outgoing
            && tells
        {
            probe_sent(cx, &packet, &transmit);
        }
        interface.send(cx, packet);
    }
}
