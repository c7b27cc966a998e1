//! When the receiving side of acknowledged mode sends a STATUS PDU, in LTE and NR (TS 36.322 §5.2.3, TS 38.322 §5.3.4).

use crate::time::{Duration, Instant};

/// What triggers STATUS PDUs, and t-StatusProhibit.
#[derive(Debug)]
pub struct Reporting {
    t_status_prohibit: Duration,
    /// When t-StatusProhibit ends, or has ended.
    prohibit_ends: Instant,
    /// A STATUS PDU is to be sent.
    triggered: bool,
    /// PDUs that have polled, and have not triggered a STATUS PDU yet.
    polls: Vec<u64>,
}

impl Reporting {
    /// Nothing is triggered.
    pub const fn new(t_status_prohibit: Duration) -> Self {
        Self { t_status_prohibit, prohibit_ends: Instant::ZERO, triggered: false, polls: Vec::new() }
    }

    /// A STATUS PDU is to be sent as soon as t-StatusProhibit allows it.
    #[inline]
    pub fn trigger(&mut self) {
        self.triggered = true;
    }

    /// A PDU has polled.
    pub fn poll(&mut self, sn: u64) {
        self.polls.push(sn);
    }

    /// Polls of PDUs outside of `below..from`, for which HARQ had its time, trigger a STATUS PDU.
    #[inline]
    pub fn settle(&mut self, below: u64, from: u64) {
        if !self.polls.is_empty() {
            let before = self.polls.len();
            self.polls.retain(|sn| (below..from).contains(sn));
            self.triggered |= self.polls.len() < before;
        }
    }

    /// When a STATUS PDU is due, where the timer that waits for HARQ ends at `waits_until`.
    #[inline]
    pub fn deadline(&self, waits_until: Instant) -> Instant {
        let triggered = if self.triggered { Instant::ZERO } else { waits_until };
        triggered.max(self.prohibit_ends)
    }

    /// Whether a STATUS PDU is sent now.
    #[inline]
    pub fn is_due(&self, now: Instant) -> bool {
        self.triggered && now >= self.prohibit_ends
    }

    /// A STATUS PDU is sent.
    pub fn sent(&mut self, now: Instant) {
        self.triggered = false;
        self.prohibit_ends = now + self.t_status_prohibit;
    }

    /// As at the start of the run.
    pub fn restart(&mut self) {
        self.polls.clear();
        self.triggered = false;
        self.prohibit_ends = Instant::ZERO;
    }
}
