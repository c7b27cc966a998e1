//! Packets that wait one by one for a transmitter, those apart that the discipline holds itself.

use super::{Aqm, Discipline, Evicted, Next, Verdict, Waiting};
use crate::element::{Bearer, Cx};
use crate::packet::{Dir, Packet};
use crate::time::Instant;
use crate::trace::Reason;
use std::collections::VecDeque;

/// A discipline, and the accounting of what it lets in.
pub(crate) type Buffer<'a> = (&'a mut Discipline, &'a mut Bearer);

/// Packets in front of a transmitter.
#[derive(Default)]
pub(crate) struct Line {
    waiting: VecDeque<Waiting>,
    /// Packets admitted.
    entered: u64,
    /// Packets dropped by the discipline.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Reused; empty between calls.
    evicted: Evicted,
}

impl Line {
    fn drop(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>, reason: Reason) {
        self.dropped += 1;
        cx.drop(dir, packet, reason);
    }

    fn evict_all(&mut self, cx: &mut Cx<'_>, dir: Dir, accounting: &mut Bearer) {
        for packet in std::mem::take(&mut self.evicted) {
            accounting.evict(&packet);
            self.drop(cx, dir, packet, Reason::Evicted);
        }
    }

    fn mark(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: &mut Packet, entered: Instant) {
        packet.mark();
        self.marked += 1;
        cx.note_marked(dir, packet, entered);
    }

    /// Lets a packet in, or drops it, or others.
    pub fn push(
        &mut self,
        cx: &mut Cx<'_>,
        dir: Dir,
        (queue, accounting): Buffer<'_>,
        mut packet: Box<Packet>,
    ) {
        loop {
            match queue.admit(cx.now, &packet, accounting) {
                Verdict::Enter => break,
                Verdict::Mark => {
                    let now = cx.now;
                    self.mark(cx, dir, &mut packet, now);
                    break;
                }
                Verdict::Drop(reason) => return self.drop(cx, dir, packet, reason),
                Verdict::DropWaiting => match self.waiting.pop_front() {
                    Some(first) => self.evicted.push(first.packet),
                    None => return self.drop(cx, dir, packet, Reason::EarlyDrop),
                },
            }
            self.evict_all(cx, dir, accounting);
        }
        accounting.enter(&packet);
        let waiting = Waiting { number: self.entered, entered: cx.now, packet };
        self.entered += 1;
        match queue.queue() {
            None => self.waiting.push_back(waiting),
            Some(queue) => queue.push(waiting, &mut self.evicted),
        }
        self.evict_all(cx, dir, accounting);
    }

    /// The next packet for the transmitter, whose transmission starts now.
    pub fn pop(&mut self, cx: &mut Cx<'_>, dir: Dir, (queue, accounting): Buffer<'_>) -> Option<Waiting> {
        let next = match queue.queue() {
            None => self.waiting.pop_front().map(|waiting| Next { waiting, marks: false }),
            Some(queue) => queue.pop(cx.now, &mut self.evicted),
        };
        self.evict_all(cx, dir, accounting);
        let Next { mut waiting, marks } = next?;
        if marks {
            self.mark(cx, dir, &mut waiting.packet, waiting.entered);
        }
        let (flow, len) = (waiting.packet.flow, waiting.packet.len);
        accounting.start(flow, len);
        queue.handle_start(cx.now, len, accounting);
        Some(waiting)
    }
}
