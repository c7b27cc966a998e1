//! Packets queued for a transmitter, in one buffer or in one per flow.
//!
//! With `shared`, all flows of a bearer share one queue, with the queue discipline in front of it. With
//! `per_flow`, each flow has its own queue and discipline. Queues are served round robin, one packet per
//! turn; a flow that becomes backlogged joins at the end of the round. Source: \[chan2002\] section 5,
//! "per-TCP-flow queue".
//!
//! If several disciplines have a discard counter (PDPC), the bearer's accounting has the highest. ASSUMED: no
//! source combines per-flow queues with PDPC.
//!
//! Left out: turns by bytes (deficit round robin), as packets of a flow have equal sizes where it matters.

use super::buffer::{Admitted, Buffer, queue_name};
use crate::element::{Adopt, Bearer, Cx, adopt};
use crate::packet::Packet;
use crate::queue::{self, Aqm, Departed, Discipline, Evicted, Next, Place, Verdict};
use crate::registry::parameters;
use crate::time::{Duration, Instant};
use crate::units::Bitrate;
use std::collections::VecDeque;

parameters! {
    /// Who shares a buffer.
    pub enum Sharing {
        /// All flows of a bearer.
        #[default]
        Shared,
        /// Per flow: each has its own buffer, and they are served round robin, packet by packet.
        PerFlow,
    }
}

/// A packet with its time of arrival at the queue.
pub(super) struct Waiting {
    pub entered: Instant,
    pub packet: Box<Packet>,
}

/// The packets queued for one direction of a UE's bearer. Each queue has its own discipline; that of the
/// [`Buffer`] is not used.
pub(super) struct FlowBuffers {
    queue: queue::Config,
    sharing: Sharing,
    run_seed: u64,
    name: String,
    rate: Bitrate,
    tti: Duration,
    /// One queue per flow, or a single one.
    lines: Vec<Line>,
    /// Backlogged queues, in the order of their turns.
    turns: VecDeque<u16>,
}

struct Line {
    discipline: Discipline,
    /// Buffer accounting for the discipline.
    accounting: Bearer,
    waiting: VecDeque<Waiting>,
}

impl FlowBuffers {
    /// The random streams of the disciplines are named after `buffer`.
    pub fn new(
        queue: &queue::Config,
        sharing: Sharing,
        run_seed: u64,
        (rate, tti): (Bitrate, Duration),
        buffer: &Buffer,
    ) -> Self {
        let name = queue_name(buffer.ue, buffer.dir);
        let (lines, turns) = (Vec::new(), VecDeque::new());
        Self { queue: queue.clone(), sharing, run_seed, name, rate, tti, lines, turns }
    }

    /// Index of the queue of a packet.
    fn number(&self, packet: &Packet) -> u16 {
        match self.sharing {
            Sharing::Shared => 0,
            Sharing::PerFlow => packet.flow,
        }
    }

    /// The queue with this index, created if it does not exist.
    fn line(&mut self, number: u16) -> &mut Line {
        while self.lines.len() <= usize::from(number) {
            let name = match self.sharing {
                Sharing::Shared => self.name.clone(),
                Sharing::PerFlow => format!("{}.flow{}", self.name, self.lines.len()),
            };
            let place = Place { run_seed: self.run_seed, name: &name, rate: self.rate, tti: self.tti };
            self.lines.push(Line {
                discipline: self.queue.build(&place),
                accounting: Bearer::new(self.rate, false),
                waiting: VecDeque::new(),
            });
        }
        &mut self.lines[usize::from(number)]
    }

    /// Admits the packet, or drops it or another queued packet. Returns whether it is admitted.
    pub fn handle_sdu(&mut self, cx: &mut Cx<'_>, buffer: &mut Buffer, packet: Box<Packet>) -> bool {
        let number = self.number(&packet);
        let line = self.line(number);
        let waited = line.waits();
        let is_in = line.take_in(cx, buffer, packet);
        let waits = line.waits();
        self.note_counter(cx, buffer);
        match (waited, waits) {
            (false, true) => self.turns.push_back(number),
            // The discipline dropped both the queued packet and the new one.
            (true, false) => self.turns.retain(|turn| *turn != number),
            _ => {}
        }
        is_in
    }

    /// Adopts the limits of other buffers; returns whether they differ.
    #[cold]
    pub fn adopt(&mut self, fresh: Self, how: Adopt) -> bool {
        let Self { run_seed, name, rate, tti, .. } = &fresh;
        let build = || fresh.queue.build(&Place { run_seed: *run_seed, name, rate: *rate, tti: *tti });
        for line in &mut self.lines {
            line.discipline.adopt(build(), how);
        }
        self.rate = fresh.rate;
        adopt(&mut self.queue, fresh.queue)
    }

    /// Whether no packet is queued.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// The packet whose turn it is leaves its line: its first octet is sent now.
    pub fn start_next(&mut self, cx: &mut Cx<'_>, buffer: &mut Buffer) -> Option<Waiting> {
        let (number, next) = loop {
            let number = self.turns.pop_front()?;
            // The discipline may have dropped all its packets.
            if let Some(next) = self.lines[usize::from(number)].pop(cx, buffer) {
                break (number, next);
            }
        };
        let line = &mut self.lines[usize::from(number)];
        if line.waits() {
            self.turns.push_back(number);
        }
        let packet = &next.packet;
        line.accounting.start(packet.flow, packet.len);
        line.discipline.handle_start(cx.now, packet.len, &line.accounting);
        buffer.start(cx, packet.flow, packet.seq, packet.len);
        Some(next)
    }

    /// Finishes a packet: its last byte is sent, and it leaves the accounting.
    pub fn finish(&mut self, cx: &mut Cx<'_>, buffer: &Buffer, packet: &Packet) {
        let number = self.number(packet);
        let Line { discipline, accounting, .. } = self.line(number);
        accounting.leave(packet.flow, packet.len);
        discipline.handle_departure(cx.now, Departed { len: packet.len, delivered: true }, accounting);
        cx.bearer(buffer.index() as usize).leave(packet.flow, packet.len);
        self.note_counter(cx, buffer);
    }

    /// Copies the disciplines' counters to the bearer's accounting.
    fn note_counter(&self, cx: &mut Cx<'_>, buffer: &Buffer) {
        let counters = self.lines.iter().map(|line| line.discipline.discard_counter());
        cx.bearer(buffer.index() as usize).note_counter(counters.max().unwrap_or(0));
    }
}

impl Line {
    /// Admits the packet, or drops it or another queued packet. Returns whether it is admitted.
    fn take_in(&mut self, cx: &mut Cx<'_>, buffer: &mut Buffer, packet: Box<Packet>) -> bool {
        let Some(Admitted { packet, .. }) = self.admit(cx, buffer, packet) else { return false };
        self.accounting.enter(&packet);
        let entered = cx.now;
        if self.discipline.queue().is_none() {
            self.waiting.push_back(Waiting { entered, packet });
            return true;
        }
        let mut evicted = Vec::new();
        let waiting = queue::Waiting { number: buffer.last_number(), entered, packet };
        self.discipline.push(waiting, &self.accounting, &mut evicted);
        self.evict(cx, buffer, evicted);
        true
    }

    fn waits(&self) -> bool {
        !self.waiting.is_empty() || self.discipline.held_bytes() > 0
    }

    /// Dequeues the next packet to send.
    fn pop(&mut self, cx: &mut Cx<'_>, buffer: &mut Buffer) -> Option<Waiting> {
        let Some(queue) = self.discipline.queue() else { return self.waiting.pop_front() };
        let mut evicted = Vec::new();
        let next = queue.pop(cx.now, &mut evicted);
        self.evict(cx, buffer, evicted);
        let Next { waiting: queue::Waiting { entered, mut packet, .. }, marks } = next?;
        if marks {
            buffer.mark(cx, &mut packet, entered);
        }
        Some(Waiting { entered, packet })
    }

    fn evict(&mut self, cx: &mut Cx<'_>, buffer: &mut Buffer, evicted: Evicted) {
        for packet in evicted {
            self.accounting.evict(&packet);
            buffer.evict(cx, packet);
        }
    }

    fn admit(&mut self, cx: &mut Cx<'_>, buffer: &mut Buffer, mut packet: Box<Packet>) -> Option<Admitted> {
        loop {
            let verdict = self.discipline.admit(cx.now, &packet, &self.accounting);
            if verdict == Verdict::Mark {
                let now = cx.now;
                buffer.mark(cx, &mut packet, now);
            }
            if matches!(verdict, Verdict::Enter | Verdict::Mark) {
                return Some(buffer.accept(cx, packet));
            }
            let waiting = if verdict == Verdict::DropWaiting { self.waiting.pop_front() } else { None };
            let Some(victim) = waiting else {
                buffer.refuse(cx, packet, verdict);
                return None;
            };
            self.accounting.evict(&victim.packet);
            buffer.evict(cx, victim.packet);
        }
    }
}
