//! Packets that wait in their order, and how many may.

use super::droptail;
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::time::Instant;
use crate::units::Bytes;
use std::collections::VecDeque;

/// A packet that waits in a queue.
#[derive(Debug)]
pub struct Waiting {
    /// Arrival index of the packet at the buffer, from 0.
    pub number: u64,
    /// When it entered.
    pub entered: Instant,
    /// The packet.
    pub packet: Box<Packet>,
}

/// Packets in the order in which they came.
#[derive(Default)]
pub(super) struct Fifo {
    waiting: VecDeque<Waiting>,
    bytes: u64,
}

impl Fifo {
    pub fn push(&mut self, waiting: Waiting) {
        self.bytes += u64::from(waiting.packet.len);
        self.waiting.push_back(waiting);
    }

    pub fn pop(&mut self) -> Option<Waiting> {
        let first = self.waiting.pop_front()?;
        self.bytes -= u64::from(first.packet.len);
        Some(first)
    }

    /// When the first one entered.
    pub fn head(&self) -> Option<Instant> {
        self.waiting.front().map(|first| first.entered)
    }

    pub fn packets(&self) -> u32 {
        self.waiting.len() as u32
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// How many packets may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    packets: u32,
    bytes: u64,
}

impl Limit {
    pub fn new(packets: Option<u32>, bytes: Option<Bytes>) -> Self {
        Self { packets: packets.unwrap_or(u32::MAX), bytes: bytes.map_or(u64::MAX, Bytes::as_u64) }
    }

    /// Refuses limits that let nothing wait.
    pub fn validate(packets: Option<u32>, bytes: Option<Bytes>) -> Result<(), ScenarioError> {
        use super::Component;
        droptail::Config { packets, bytes, ..Default::default() }.validate()
    }

    /// Whether a packet of `len` bytes fits next to `packets` packets with `bytes` bytes.
    pub fn fits(&self, packets: u32, bytes: u64, len: u32) -> bool {
        self.holds(packets.saturating_add(1), bytes + u64::from(len))
    }

    /// Whether `packets` packets with `bytes` bytes may wait.
    pub fn holds(&self, packets: u32, bytes: u64) -> bool {
        packets <= self.packets && bytes <= self.bytes
    }
}
