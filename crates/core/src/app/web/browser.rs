//! The browser: its requests, over which connection and when.

use super::{Connections, Page};
use crate::time::Instant;
use serde::Serialize;
use std::ops::Range;

/// Report on a page at the end of a run. Times are counted from the flow's start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Connections opened.
    pub connections: u64,
    /// Requests handed to TCP.
    pub requests: u64,
    /// Retransmitted segments with requests.
    pub request_retransmissions: u64,
    /// Objects that have arrived whole, the page itself not counted.
    pub objects: u64,
    /// Until the first byte of the page arrived at the UE; `None` before.
    pub first_byte_s: Option<f64>,
    /// Until the last byte of the page and all its objects had arrived at the UE; `None` while unfinished.
    pub page_load_s: Option<f64>,
}

/// What a browser does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Bytes of requests on the connection on which something arrived.
    pub request_bytes: u64,
    /// Numbers of the connections to be opened.
    pub opens: Range<u16>,
}

/// A browser that loads one page, without I/O.
#[derive(Debug)]
pub struct Browser {
    page: Page,
    start: Instant,
    /// By connection: payload that has arrived in order, bytes.
    received: Vec<u64>,
    /// On a persistent connection: where the response that is being received ends.
    response_end: u64,
    /// Connections opened, or told to be.
    opened: usize,
    requests: usize,
    /// Responses that have arrived whole.
    complete: usize,
    first_byte: Option<Instant>,
    loaded: Option<Instant>,
}

impl Browser {
    /// A browser that opens its first connection at `start`.
    pub fn new(page: Page, start: Instant) -> Self {
        let connections = match page.connections {
            Connections::Persistent => 1,
            Connections::PerObject => page.responses.len(),
        };
        Self {
            response_end: page.responses[0],
            page,
            start,
            received: vec![0; connections],
            opened: 1,
            requests: 0,
            complete: 0,
            first_byte: None,
            loaded: None,
        }
    }

    /// A connection is being opened: bytes of its first request.
    pub fn handle_open(&mut self) -> u64 {
        self.requests += 1;
        self.page.request
    }

    /// The payload of a connection has arrived up to byte `rcv_nxt`.
    pub fn handle_received(&mut self, now: Instant, connection: u16, rcv_nxt: u64) -> Step {
        let before = std::mem::replace(&mut self.received[usize::from(connection)], rcv_nxt);
        if connection == 0 && rcv_nxt > 0 {
            self.first_byte.get_or_insert(now);
        }
        let step = match self.page.connections {
            Connections::Persistent => self.next_requests(rcv_nxt),
            Connections::PerObject => self.next_connections(connection, before..rcv_nxt),
        };
        if self.complete == self.page.responses.len() {
            self.loaded.get_or_insert(now);
        }
        step
    }

    fn next_requests(&mut self, rcv_nxt: u64) -> Step {
        let responses = &self.page.responses;
        while self.complete < responses.len() && rcv_nxt >= self.response_end {
            self.complete += 1;
            let next = responses.get(self.complete).copied().unwrap_or(0);
            self.response_end = self.response_end.saturating_add(next);
        }
        let wanted = match self.complete {
            0 => 1,
            _ if self.page.pipelining => responses.len(),
            complete => (complete + 1).min(responses.len()),
        };
        let more = wanted - self.requests;
        self.requests = wanted;
        Step { request_bytes: self.page.request.saturating_mul(more as u64), opens: 0..0 }
    }

    fn next_connections(&mut self, connection: u16, arrived: Range<u64>) -> Step {
        let size = self.page.responses[usize::from(connection)];
        self.complete += usize::from(arrived.start < size && arrived.end >= size);
        let first = self.opened;
        if self.complete > 0 {
            // One of the complete responses is the page itself, not an object.
            let allowed = self.complete.saturating_add(self.page.parallel);
            self.opened = allowed.min(self.page.responses.len());
        }
        Step { request_bytes: 0, opens: first as u16..self.opened as u16 }
    }

    /// Reports on the page.
    pub fn report(&self) -> Report {
        let since_start = |at: Instant| at.since(self.start).as_secs_f64();
        Report {
            connections: if self.requests > 0 { self.opened as u64 } else { 0 },
            requests: self.requests as u64,
            request_retransmissions: 0,
            objects: self.complete.saturating_sub(1) as u64,
            first_byte_s: self.first_byte.map(since_start),
            page_load_s: self.loaded.map(since_start),
        }
    }
}
