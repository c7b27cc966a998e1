//! Entrance of the box: the wired link from the cell, then the box's processor.
//!
//! Every packet of a split connection goes through a TCP stack four times instead of twice; the cost depends on the
//! processing power of the node (\[lundsten2002\] 3.2). ASSUMED: one processor for both directions and all connections,
//! in order of arrival, with an unlimited queue.

use crate::element::Cx;
use crate::packet::{Dir, Packet};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// Packets that have not reached the box yet, or that wait for its processor.
pub(super) struct Entrance {
    /// Delay of the wired link from the cell, and time per packet in the processor.
    delay: Duration,
    takes: Duration,
    /// Packets in transit from the cell, with their arrival times.
    line: VecDeque<(Instant, Box<Packet>)>,
    /// When the processor is done with each packet, and the direction in which it goes.
    waiting: VecDeque<(Instant, Dir, Box<Packet>)>,
    /// Most packets in the processor at a time.
    pub peak: usize,
    /// Timer of the line; the next one is the processor's.
    key: u32,
}

impl Entrance {
    /// Uses the timers `key` and `key + 1`.
    pub fn new(delay: Duration, takes: Duration, key: u32) -> Self {
        Self { delay, takes, line: VecDeque::new(), waiting: VecDeque::new(), peak: 0, key }
    }

    /// Whether this timer is one of the entrance.
    pub fn has_timer(&self, key: u32) -> bool {
        key == self.key || key == self.key + 1
    }

    /// A packet arrives from outside. It is returned if the box can process it at once.
    pub fn enter(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) -> Option<Box<Packet>> {
        if dir == Dir::Downlink || self.delay.is_zero() {
            return self.process(cx, dir, packet);
        }
        let at = cx.now + self.delay;
        if self.line.is_empty() {
            cx.arm(self.key, at);
        }
        self.line.push_back((at, packet));
        None
    }

    /// The next packet that the box has in hand, now that this timer has expired.
    pub fn next(&mut self, cx: &mut Cx<'_>, key: u32) -> Option<(Dir, Box<Packet>)> {
        if key != self.key {
            return self.processed(cx);
        }
        while let Some((at, packet)) = self.line.pop_front() {
            if at > cx.now {
                cx.arm(self.key, at);
                self.line.push_front((at, packet));
                break;
            }
            if let Some(packet) = self.process(cx, Dir::Uplink, packet) {
                return Some((Dir::Uplink, packet));
            }
        }
        None
    }

    fn process(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) -> Option<Box<Packet>> {
        if self.takes.is_zero() {
            return Some(packet);
        }
        let begins = self.waiting.back().map_or(cx.now, |(done, ..)| *done);
        if self.waiting.is_empty() {
            cx.arm(self.key + 1, begins + self.takes);
        }
        self.waiting.push_back((begins + self.takes, dir, packet));
        self.peak = self.peak.max(self.waiting.len());
        None
    }

    fn processed(&mut self, cx: &mut Cx<'_>) -> Option<(Dir, Box<Packet>)> {
        let is_done = self.waiting.front().is_some_and(|(done, ..)| *done <= cx.now);
        let (_, dir, packet) = if is_done { self.waiting.pop_front() } else { None }?;
        if let Some((done, ..)) = self.waiting.front() {
            cx.arm(self.key + 1, *done);
        }
        Some((dir, packet))
    }
}
