//! What an ACK changes.

use super::scoreboard::SackNews;
use super::state::Segment;
use crate::time::Instant;

/// What an ACK changes, computed once for each that is looked at closely, when its SACK blocks have entered the
/// scoreboard. A sample of the delivery rate would begin with `delivered`.
#[derive(Clone, Copy, Debug)]
pub struct AckOutcome {
    /// When it arrived.
    pub now: Instant,
    /// Everything before this offset is acknowledged.
    pub ack: u64,
    /// Bytes that it acknowledges for the first time.
    pub acked: u64,
    /// Whole segments of these.
    pub segments: u64,
    /// Bytes that it acknowledges or SACKs for the first time.
    pub delivered: u64,
    /// What its SACK blocks brought.
    pub sack: SackNews,
    /// It is a duplicate ACK for the loss recovery in use.
    pub is_dupack: bool,
    /// There is new data that the receiver's window permits once this ACK is taken in.
    pub can_send_new: bool,
    /// Echoed timestamp, 0 if there is none.
    pub ts_ecr: u32,
}

impl AckOutcome {
    /// Counts a segment of which `bytes` are acknowledged.
    #[inline]
    pub fn count(&mut self, segment: &Segment, bytes: u64) {
        self.segments += u64::from(segment.end() <= self.ack);
        self.delivered += if segment.is_sacked { 0 } else { bytes };
    }

    /// Whether anything is acknowledged for the first time.
    pub fn advances(&self) -> bool {
        self.acked > 0
    }
}
