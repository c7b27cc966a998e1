//! Packets that wait for a transmitter, in one buffer or in one for each flow.
//!
//! With `shared` all flows of a bearer wait in one line, in front of which the queue discipline stands. With
//! `per_flow` each flow has a line with a discipline of its own, which sees the flow's packets alone, and the
//! lines are served in turn, a packet each; a flow that comes to wait goes behind those that do. Source:
//! \[chan2002\] section 5, "per-TCP-flow queue".
//!
//! Left out: turns by bytes (deficit round robin); packets of one flow are of one size where it matters.

use super::buffer::{Admitted, Buffer};
use crate::element::{Bearer, Cx};
use crate::packet::Packet;
use crate::queue::{self, Aqm, Discipline};
use crate::time::Instant;
use crate::units::Bitrate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Who shares a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// All flows of a bearer.
    #[default]
    Shared,
    /// Nobody: each flow has a buffer, and they are served in turn, packet by packet.
    PerFlow,
}

/// A packet with the time at which it came.
pub(super) struct Waiting {
    pub entered: Instant,
    pub packet: Box<Packet>,
}

/// The packets that wait in front of one direction of a UE's bearer.
pub(super) struct FlowBuffers {
    /// The discipline of each flow's buffer; `None` if all share one, whose discipline is the [`Buffer`]'s.
    own: Option<queue::Config>,
    /// By flow, or the one line of all.
    lines: Vec<Line>,
    /// The lines in which packets wait, by whose turn it is.
    turns: VecDeque<u16>,
}

struct Line {
    discipline: Discipline,
    /// What the discipline sees.
    books: Bearer,
    waiting: VecDeque<Waiting>,
}

impl FlowBuffers {
    pub fn new(queue: &queue::Config, sharing: Sharing) -> Self {
        let own = (sharing == Sharing::PerFlow).then(|| queue.clone());
        Self { own, lines: vec![Line::new(queue)], turns: VecDeque::new() }
    }

    /// Lets a packet in, or drops it. Returns whether it is in.
    pub fn handle_sdu(&mut self, cx: &mut Cx<'_>, buffer: &mut Buffer, packet: Box<Packet>) -> bool {
        let number = self.own.as_ref().map_or(0, |_| packet.flow);
        let Some(Admitted { packet, .. }) = self.admit(cx, buffer, packet) else { return false };
        cx.bearer(buffer.index() as usize).enter(&packet);
        let line = &mut self.lines[usize::from(number)];
        line.books.enter(&packet);
        if line.waiting.is_empty() {
            self.turns.push_back(number);
        }
        line.waiting.push_back(Waiting { entered: cx.now, packet });
        true
    }

    fn admit(&mut self, cx: &mut Cx<'_>, buffer: &mut Buffer, packet: Box<Packet>) -> Option<Admitted> {
        let Some(queue) = &self.own else { return buffer.admit(cx, packet) };
        let number = usize::from(packet.flow);
        while self.lines.len() <= number {
            self.lines.push(Line::new(queue));
        }
        let line = &mut self.lines[number];
        match line.discipline.admit(cx.now, &packet, &line.books) {
            Ok(()) => Some(buffer.accept(cx, packet)),
            Err(reason) => {
                buffer.refuse(cx, packet, reason);
                None
            }
        }
    }

    /// Whether no packet waits.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// The packet whose turn it is leaves its line: its first octet is sent now.
    pub fn start_next(&mut self, cx: &mut Cx<'_>, buffer: &Buffer) -> Option<Waiting> {
        let number = self.turns.pop_front()?;
        let line = &mut self.lines[usize::from(number)];
        let next = line.waiting.pop_front()?;
        if !line.waiting.is_empty() {
            self.turns.push_back(number);
        }
        let packet = &next.packet;
        line.books.start(packet.flow, packet.len);
        buffer.start(cx, packet.flow, packet.seq, packet.len);
        Some(next)
    }

    /// The last octet of a packet that was started is sent: it leaves the books.
    pub fn finish(&mut self, cx: &mut Cx<'_>, buffer: &Buffer, packet: &Packet) {
        let number = self.own.as_ref().map_or(0, |_| packet.flow);
        self.lines[usize::from(number)].books.leave(packet.flow, packet.len);
        cx.bearer(buffer.index() as usize).leave(packet.flow, packet.len);
    }
}

impl Line {
    fn new(queue: &queue::Config) -> Self {
        let books = Bearer::new(Bitrate::default(), false);
        Self { discipline: queue.build(), books, waiting: VecDeque::new() }
    }
}
