//! The browser: what it knows of the page, its requests, over which connection and when.

use super::objects::BLOCKING;
use super::{Mode, Page};
use crate::time::Instant;
use serde::Serialize;
use std::collections::BTreeSet;

/// Report on a page at the end of a run. Times are counted from the flow's start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Connections opened.
    pub connections: u64,
    /// Requests handed to the transport.
    pub requests: u64,
    /// Retransmitted segments with requests.
    pub request_retransmissions: u64,
    /// Objects that have arrived whole, the page itself not counted.
    pub objects: u64,
    /// Until the first byte of the page arrived at the UE; `None` before.
    pub first_byte_s: Option<f64>,
    /// Until the last byte of the page and all its objects had arrived at the UE; `None` while unfinished.
    pub page_load_s: Option<f64>,
    /// Parts of the load time; of a page with TLS, a composition, a pool, HTTP/2 or HTTP/3.
    #[serde(flatten)]
    pub breakdown: Option<Breakdown>,
}

/// Parts of the load time of a page. Times in seconds are counted from the flow's start.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Breakdown {
    /// Until the first connection was open; with QUIC TLS included.
    pub connect_s: Option<f64>,
    /// Until TLS was complete at the browser; `None` without TLS.
    pub tls_s: Option<f64>,
    /// Until the page and all objects of urgency 0 and 1 had arrived: the ones without which nothing is shown.
    pub blocking_s: Option<f64>,
    /// Every object, the page first.
    pub waterfall: Vec<ObjectRow>,
}

/// An object in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ObjectRow {
    /// Size of its response, bytes.
    pub bytes: u64,
    /// Its urgency: RFC 9218 (4.1).
    pub urgency: u8,
    /// Number of the connection, from 0.
    pub connection: u16,
    /// Until the browser knew of it.
    pub known_s: Option<f64>,
    /// Until it was requested.
    pub requested_s: Option<f64>,
    /// Until its first byte had arrived.
    pub first_byte_s: Option<f64>,
    /// Until its last byte had arrived.
    pub complete_s: Option<f64>,
}

/// State of an object in the browser.
#[derive(Clone, Debug, Default)]
struct Row {
    received: u64,
    connection: u16,
    known: Option<Instant>,
    requested: Option<Instant>,
    first_byte: Option<Instant>,
    complete: Option<Instant>,
}

/// A connection of the page.
#[derive(Clone, Debug, Default)]
struct Connection {
    /// Opened, or told to be.
    is_used: bool,
    /// Objects to be requested on it.
    queue: Vec<u16>,
    /// Responses that have not arrived whole.
    outstanding: usize,
}

/// A browser that loads one page, without I/O. After data [`assign`](Self::assign) decides which connections have to act, and
/// [`take_requests`](Self::take_requests) has the requests of each.
#[derive(Debug)]
pub struct Browser {
    page: Page,
    start: Instant,
    rows: Vec<Row>,
    /// By object: objects that it refers to and that are not known, by where, the earliest last.
    unknown: Vec<Vec<u16>>,
    /// Known and not yet given to a connection, by urgency.
    pending: BTreeSet<(u8, u16)>,
    connections: Vec<Connection>,
    /// Connections opened, or told to be.
    opened: usize,
    requests: usize,
    /// Responses that have arrived whole.
    complete: usize,
    connected: Option<Instant>,
    secured: Option<Instant>,
}

impl Browser {
    /// A browser that opens its first connection at `start`.
    pub fn new(page: Page, start: Instant) -> Self {
        let count = page.objects.len();
        let mut unknown = vec![Vec::new(); count];
        for (number, object) in (0..).zip(page.objects.iter()).skip(1) {
            unknown[usize::from(object.parent)].push(number);
        }
        for children in &mut unknown {
            children.sort_by_key(|child: &u16| {
                std::cmp::Reverse((page.objects[usize::from(*child)].after, *child))
            });
        }
        let mut rows = vec![Row::default(); count];
        rows[0].known = Some(start);
        let mut connections = vec![Connection::default(); page.connections()];
        if let Some(first) = connections.first_mut() {
            *first = Connection { is_used: true, queue: vec![0], outstanding: 0 };
        }
        Self {
            start,
            rows,
            unknown,
            pending: BTreeSet::new(),
            connections,
            opened: 1,
            requests: 0,
            complete: 0,
            connected: None,
            secured: None,
            page,
        }
    }

    /// The page.
    pub fn page(&self) -> &Page {
        &self.page
    }

    /// The first connection is open.
    pub fn handle_connected(&mut self, now: Instant) {
        self.connected.get_or_insert(now);
    }

    /// TLS of the first connection is complete.
    pub fn handle_secured(&mut self, now: Instant) {
        self.secured.get_or_insert(now);
    }

    /// `bytes` more of an object have arrived in order.
    pub fn handle_data(&mut self, now: Instant, object: u16, bytes: u64) {
        let of_page = self.page.objects[usize::from(object)];
        let row = &mut self.rows[usize::from(object)];
        if bytes > 0 {
            row.first_byte.get_or_insert(now);
        }
        row.received += bytes;
        let received = row.received;
        if received >= of_page.size && row.complete.is_none() {
            row.complete = Some(now);
            self.complete += 1;
            let connection = &mut self.connections[usize::from(row.connection)];
            connection.outstanding = connection.outstanding.saturating_sub(1);
        }
        let children = &mut self.unknown[usize::from(object)];
        while let Some(child) =
            children.pop_if(|child| self.page.objects[usize::from(*child)].after <= received)
        {
            self.rows[usize::from(child)].known = Some(now);
            self.pending.insert((self.page.objects[usize::from(child)].urgency, child));
        }
    }

    /// Whether everything has arrived.
    pub fn is_loaded(&self) -> bool {
        self.complete == self.page.objects.len()
    }

    /// Gives known objects to connections, as the mode allows. Returns connections other than `current` that have to act.
    pub fn assign(&mut self, current: u16) -> Vec<u16> {
        let mut others = Vec::new();
        while let Some(&(urgency, object)) = self.pending.first() {
            let Some(connection) = self.connection_for_next(current) else { break };
            self.pending.remove(&(urgency, object));
            let chosen = &mut self.connections[usize::from(connection)];
            chosen.queue.push(object);
            if !std::mem::replace(&mut chosen.is_used, true) {
                self.opened += 1;
            }
            if connection != current && !others.contains(&connection) {
                others.push(connection);
            }
        }
        others
    }

    /// The connection for the next request, if there may be one now.
    fn connection_for_next(&self, current: u16) -> Option<u16> {
        let is_idle = |connection: &Connection| connection.queue.is_empty() && connection.outstanding == 0;
        match self.page.mode {
            Mode::Pipelined | Mode::Streams => Some(0),
            Mode::Serial => is_idle(&self.connections[0]).then_some(0),
            // One of the complete responses is the page itself, not an object.
            Mode::PerObject => {
                let may_open = self.opened < self.complete.saturating_add(self.page.parallel);
                (may_open && self.opened < self.connections.len()).then_some(self.opened as u16)
            }
            Mode::Pool => {
                let of = |number: u16| &self.connections[usize::from(number)];
                let mut numbers = std::iter::once(current).chain(0..self.connections.len() as u16);
                numbers
                    .find(|number| of(*number).is_used && is_idle(of(*number)))
                    .or_else(|| (0..self.connections.len() as u16).find(|number| !of(*number).is_used))
            }
        }
    }

    /// The objects that are requested now on a connection that can carry requests.
    pub fn take_requests(&mut self, now: Instant, connection: u16) -> Vec<u16> {
        let of = &mut self.connections[usize::from(connection)];
        let objects = std::mem::take(&mut of.queue);
        of.outstanding += objects.len();
        self.requests += objects.len();
        for object in &objects {
            let row = &mut self.rows[usize::from(*object)];
            (row.requested, row.connection) = (Some(now), connection);
        }
        objects
    }

    /// Reports on the page.
    pub fn report(&self) -> Report {
        let since_start = |at: Instant| at.since(self.start).as_secs_f64();
        let last = self.rows.iter().map(|row| row.complete).max().flatten();
        Report {
            connections: if self.requests > 0 { self.opened as u64 } else { 0 },
            requests: self.requests as u64,
            request_retransmissions: 0,
            objects: self.complete.saturating_sub(1) as u64,
            first_byte_s: self.rows[0].first_byte.map(since_start),
            page_load_s: last.filter(|_| self.is_loaded()).map(since_start),
            breakdown: self.page.has_breakdown.then(|| self.breakdown()),
        }
    }

    fn breakdown(&self) -> Breakdown {
        let since_start = |at: Option<Instant>| at.map(|at| at.since(self.start).as_secs_f64());
        let objects = || self.page.objects.iter().zip(&self.rows);
        let blocking =
            objects().enumerate().filter(|(number, (object, _))| *number == 0 || object.urgency <= BLOCKING);
        let blocking: Option<Vec<Instant>> = blocking.map(|(_, (_, row))| row.complete).collect();
        Breakdown {
            connect_s: since_start(self.connected),
            tls_s: since_start(self.secured),
            blocking_s: since_start(blocking.and_then(|times| times.into_iter().max())),
            waterfall: objects()
                .map(|(object, row)| ObjectRow {
                    bytes: object.size,
                    urgency: object.urgency,
                    connection: row.connection,
                    known_s: since_start(row.known),
                    requested_s: since_start(row.requested),
                    first_byte_s: since_start(row.first_byte),
                    complete_s: since_start(row.complete),
                })
                .collect(),
        }
    }
}
