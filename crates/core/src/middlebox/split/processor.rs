//! The box's processor: packets that reach the box pass its two stacks one after another, each in the same time.
//!
//! Every packet of a split connection goes through a TCP stack four times instead of twice; what that costs depends on
//! the processing power of the node (\[lundsten2002\] 3.2). ASSUMED: one processor for both directions and all
//! connections, in order of arrival, without limit of what waits.

use crate::element::Cx;
use crate::packet::{Dir, Packet};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// A queue with one server of constant time.
pub(super) struct Processor {
    /// What a packet takes.
    takes: Duration,
    /// When the last of them is done, with each packet and the direction in which it goes.
    waiting: VecDeque<(Instant, Dir, Box<Packet>)>,
    peak: usize,
}

impl Processor {
    /// One that takes this time for each packet.
    pub fn new(takes: Duration) -> Self {
        Self { takes, waiting: VecDeque::new(), peak: 0 }
    }

    /// Whether packets take no time at all.
    pub fn is_instant(&self) -> bool {
        self.takes.is_zero()
    }

    /// A packet comes; the timer `key` is for the first one.
    pub fn put(&mut self, cx: &mut Cx<'_>, key: u32, dir: Dir, packet: Box<Packet>) {
        let begins = self.waiting.back().map_or(cx.now, |(done, ..)| *done);
        if self.waiting.is_empty() {
            cx.arm(key, begins + self.takes);
        }
        self.waiting.push_back((begins + self.takes, dir, packet));
        self.peak = self.peak.max(self.waiting.len());
    }

    /// The packet that is done now; the timer `key` is armed for the next one.
    pub fn take(&mut self, cx: &mut Cx<'_>, key: u32) -> Option<(Dir, Box<Packet>)> {
        let is_done = self.waiting.front().is_some_and(|(done, ..)| *done <= cx.now);
        let (_, dir, packet) = if is_done { self.waiting.pop_front() } else { None }?;
        if let Some((done, ..)) = self.waiting.front() {
            cx.arm(key, *done);
        }
        Some((dir, packet))
    }

    /// Most packets in it at a time.
    pub fn peak(&self) -> usize {
        self.peak
    }
}
