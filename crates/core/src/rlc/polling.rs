//! When a PDU of acknowledged mode polls, in LTE and NR (TS 36.322 §5.2.2, TS 38.322 §5.3.3).

use crate::time::{Duration, Instant};
use crate::units::Bytes;

/// Counters and timer of polls.
#[derive(Debug)]
pub struct Polling {
    poll_pdu: Option<u32>,
    poll_byte: Option<u64>,
    t_poll_retransmit: Duration,
    /// PDU_WITHOUT_POLL.
    pdus: u32,
    /// BYTE_WITHOUT_POLL.
    octets: u64,
    /// POLL_SN.
    poll_sn: u64,
    /// When t-PollRetransmit ends.
    ends_at: Instant,
    /// t-PollRetransmit has ended, and no PDU has polled since.
    due: bool,
}

impl Polling {
    /// Without PDUs sent, by pollPDU, pollByte and t-PollRetransmit.
    pub fn new(poll_pdu: Option<u32>, poll_byte: Option<Bytes>, t_poll_retransmit: Duration) -> Self {
        Self {
            poll_pdu,
            poll_byte: poll_byte.map(|octets| octets.as_u64()),
            t_poll_retransmit,
            pdus: 0,
            octets: 0,
            poll_sn: 0,
            ends_at: Instant::NEVER,
            due: false,
        }
    }

    /// As at the start of the run.
    pub fn restart(&mut self) {
        (self.pdus, self.octets, self.poll_sn) = (0, 0, 0);
        (self.ends_at, self.due) = (Instant::NEVER, false);
    }

    /// When t-PollRetransmit ends.
    pub fn deadline(&self) -> Instant {
        self.ends_at
    }

    /// Whether t-PollRetransmit has expired since the last call.
    pub fn expire(&mut self, now: Instant) -> bool {
        let expired = self.ends_at <= now;
        if expired {
            (self.ends_at, self.due) = (Instant::NEVER, true);
        }
        expired
    }

    /// Counts a new PDU with so many octets of data.
    pub fn count(&mut self, octets: u64) {
        self.pdus += 1;
        self.octets += octets;
    }

    /// Whether the PDU that is sent now polls, for other reasons than that nothing can follow.
    pub fn is_due(&self) -> bool {
        self.due
            || self.poll_pdu.is_some_and(|pdus| self.pdus >= pdus)
            || self.poll_byte.is_some_and(|octets| self.octets >= octets)
    }

    /// A PDU polls; the highest sent is `poll_sn`.
    pub fn poll(&mut self, now: Instant, poll_sn: u64) {
        (self.pdus, self.octets, self.due) = (0, 0, false);
        self.poll_sn = poll_sn;
        self.ends_at = now + self.t_poll_retransmit;
    }

    /// A STATUS PDU reports on PDUs below `ack_sn`.
    pub fn handle_status(&mut self, ack_sn: u64) {
        if self.poll_sn < ack_sn {
            self.ends_at = Instant::NEVER;
        }
    }
}
