//! The server's end of one connection: requests in, responses out. With HTTP/1.1 in their order, RFC 9112 (9.3.2), each as a whole;
//! with HTTP/2 in frames by priority, as the transport has room.

use super::labels::{What, Written};
use super::priority::Schedule;
use super::tls::RECORD;
use super::{Mode, Page};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// Header of a frame: RFC 9113 (4.1).
const FRAME_HEADER: u16 = 9;
/// Largest frame of a response: the default of nginx (`http2_chunk_size`), below the limit of RFC 9113 (4.2).
const FRAME: u64 = 8192;
/// Frames are written while TCP has less than this that is not sent, so that the order can still change. ASSUMED: that servers
/// set `TCP_NOTSENT_LOWAT` to 16 kB, as is recommended for priorities.
const LOW_WATER: u64 = 16_384;

/// The requests of a connection and the time that they take.
#[derive(Debug)]
pub struct Work {
    think: Duration,
    /// Whether requests are worked on one after the other.
    is_serial: bool,
    waiting: VecDeque<u16>,
    /// Responses that are being worked on, and when they are ready.
    working: VecDeque<(Instant, u16)>,
}

impl Work {
    /// None yet.
    pub fn new(page: &Page) -> Self {
        let is_serial = page.mode != Mode::Streams;
        Self { think: page.think, is_serial, waiting: VecDeque::new(), working: VecDeque::new() }
    }

    /// A request has arrived whole.
    pub fn handle_request(&mut self, now: Instant, object: u16) {
        self.waiting.push_back(object);
        self.begin(now);
    }

    /// Begins to work on the next request, unless there is none or it has to wait.
    fn begin(&mut self, now: Instant) {
        while (self.working.is_empty() || !self.is_serial)
            && let Some(object) = self.waiting.pop_front()
        {
            self.working.push_back((now + self.think, object));
        }
    }

    /// When the next response is ready.
    pub fn deadline(&self) -> Option<Instant> {
        self.working.front().map(|(at, _)| *at)
    }

    /// The next response that is ready.
    pub fn poll(&mut self, now: Instant) -> Option<u16> {
        let (_, object) = *self.working.front().filter(|(at, _)| *at <= now)?;
        self.working.pop_front();
        self.begin(now);
        Some(object)
    }
}

/// A server on one connection of TCP, without I/O. After every call drain `poll_supply` and read `deadline` again.
#[derive(Debug)]
pub struct Server {
    page: Page,
    connection: u16,
    work: Work,
    schedule: Schedule,
    /// Responses written as a whole.
    answered: usize,
    /// Everything that was handed to TCP.
    written: Written,
    /// Flights of TLS that were written and not handed to TCP.
    flight_bytes: u64,
}

impl Server {
    /// The server of connection number `connection` of a page.
    pub fn new(page: &Page, connection: u16) -> Self {
        Self {
            work: Work::new(page),
            page: page.clone(),
            connection,
            schedule: Schedule::default(),
            answered: 0,
            written: Written::default(),
            flight_bytes: 0,
        }
    }

    /// Something has arrived whole.
    pub fn handle_arrived(&mut self, now: Instant, what: What) {
        match what {
            What::Flight(flight) => {
                if let Some(size) = self.page.flights.size(flight + 1) {
                    self.flight_bytes += self.written.push(What::Flight(flight + 1), size);
                }
            }
            What::Request(object) => self.work.handle_request(now, object),
            What::Data(..) => {}
        }
    }

    /// When `poll_supply` has something, if nothing arrives before.
    pub fn deadline(&self) -> Option<Instant> {
        self.work.deadline()
    }

    /// Bytes to be handed to TCP now, which has `unsent` bytes that it has not sent; 0 for none.
    pub fn poll_supply(&mut self, now: Instant, unsent: u64) -> u64 {
        if self.flight_bytes > 0 {
            return std::mem::take(&mut self.flight_bytes);
        }
        while let Some(object) = self.work.poll(now) {
            let of_page = self.page.objects[usize::from(object)];
            if self.page.mode != Mode::Streams {
                self.answered += 1;
                return self.written.push(What::Data(object, 0), of_page.size);
            }
            self.schedule.add(object, of_page.urgency, of_page.incremental, of_page.size);
        }
        if unsent >= LOW_WATER {
            return 0;
        }
        let Some((object, left)) = self.schedule.next() else { return 0 };
        let bytes = left.min(FRAME);
        self.schedule.take(object, bytes);
        self.answered += usize::from(bytes == left);
        let framing = FRAME_HEADER + if self.page.flights.is_empty() { 0 } else { RECORD };
        self.written.push(What::Data(object, framing), bytes + u64::from(framing))
    }

    /// Labels of a segment, as octets.
    pub fn labels(&self, seq: u64, len: u64) -> Vec<u8> {
        self.written.labels(seq, len)
    }

    /// Whether every response has been handed to TCP; of a pool only the browser knows.
    pub fn is_done(&self) -> bool {
        match self.page.mode {
            Mode::Serial | Mode::Pipelined | Mode::Streams => self.answered == self.page.objects.len(),
            Mode::PerObject => self.answered == 1,
            Mode::Pool => false,
        }
    }

    /// Bytes of this direction, TLS and framing included as far as they are written; of a pool what has been written.
    pub fn bytes(&self) -> u64 {
        match self.page.bytes_on(self.connection) {
            Some(least) if !self.is_done() => least.max(self.written.end().saturating_add(1)),
            _ => self.written.end(),
        }
    }
}
