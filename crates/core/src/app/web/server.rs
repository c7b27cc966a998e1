//! The server's end of one connection: requests in, responses out in their order, RFC 9112 (9.3.2).

use super::Page;
use crate::time::{Duration, Instant};

/// A server on one connection, without I/O. After `handle_received` drain `poll_response` and read `deadline` again.
#[derive(Debug)]
pub struct Server {
    /// Size of a request, bytes.
    request: u64,
    /// Sizes of the responses, bytes.
    responses: Vec<u64>,
    think: Duration,
    /// Requests that have arrived whole.
    received: usize,
    /// Responses handed to TCP.
    answered: usize,
    /// When the response that is being worked on is ready.
    ready_at: Option<Instant>,
}

impl Server {
    /// The server of connection number `connection` of a page.
    pub fn new(page: &Page, connection: u16) -> Self {
        Self {
            request: page.request,
            responses: page.responses_on(connection).to_vec(),
            think: page.think,
            received: 0,
            answered: 0,
            ready_at: None,
        }
    }

    /// Requests have arrived up to byte `rcv_nxt` of the connection.
    pub fn handle_received(&mut self, now: Instant, rcv_nxt: u64) {
        self.received = (rcv_nxt / self.request) as usize;
        self.begin(now);
    }

    /// Begins to work on the next request, unless there is none or one is being worked on.
    fn begin(&mut self, now: Instant) {
        if self.answered < self.received {
            self.ready_at.get_or_insert(now + self.think);
        }
    }

    /// When `poll_response` has something to send, if nothing arrives before.
    pub fn deadline(&self) -> Option<Instant> {
        self.ready_at
    }

    /// Size of the next response that is to be handed to TCP now, bytes.
    pub fn poll_response(&mut self, now: Instant) -> Option<u64> {
        self.ready_at.take_if(|at| *at <= now)?;
        let size = self.responses.get(self.answered).copied()?;
        self.answered += 1;
        self.begin(now);
        Some(size)
    }

    /// Whether every response has been handed to TCP.
    pub fn is_done(&self) -> bool {
        self.answered == self.responses.len()
    }

    /// All responses together, bytes.
    pub fn bytes(&self) -> u64 {
        self.responses.iter().fold(0, |sum, size| sum.saturating_add(*size))
    }
}
