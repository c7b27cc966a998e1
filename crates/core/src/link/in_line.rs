//! A wired link whose packets wait one by one in at least one direction: for queue disciplines that hold packets, or
//! drop a waiting one.
//!
//! The next packet is chosen when the previous transmission ends, which a timer signals. All else, and a direction
//! whose queue does not need this, works as on a link with computed ends of transmission.

use super::{Half, report_of};
use crate::element::{Change, Cx, Early, Element, FAR, Layout, Port, as_same};
use crate::packet::{Dir, Packet};
use crate::queue::{self, Aqm, Departed, Waiting};
use crate::time::Instant;
use crate::trace::Reason;
use serde_json::{Value, json};

/// The link.
pub(super) struct LinkInLine {
    pub directions: [Direction; 2],
}

/// One direction, in which packets wait in a line or are computed.
pub(super) struct Direction {
    half: Half,
    line: Option<Line>,
    /// Arrival of the packet that was sent last: none overtakes it when the delay falls.
    latest: Instant,
}

/// Packets waiting in one direction, and the one in transmission.
#[derive(Default)]
struct Line {
    waiting: queue::Line,
    in_service: Option<InService>,
}

#[derive(Clone, Copy)]
struct InService {
    end: Instant,
    flow: u16,
    len: u32,
}

impl Direction {
    pub fn new(half: Half, in_line: bool) -> Self {
        Self { half, line: in_line.then(Line::default), latest: Instant::ZERO }
    }
}

impl Line {
    /// Lets a packet in, or drops it, or others.
    fn take_in(&mut self, cx: &mut Cx<'_>, half: &mut Half, latest: &mut Instant, packet: Box<Packet>) {
        // A transmission that ends at this instant counts as finished, as in a bearer's counters.
        self.handle_end(cx, half, latest);
        self.waiting.push(cx, half.dir, (&mut half.queue, &mut half.accounting), packet);
        if self.in_service.is_none() {
            self.start_next(cx, half, latest);
        }
    }

    fn start_next(&mut self, cx: &mut Cx<'_>, half: &mut Half, latest: &mut Instant) {
        let next = self.waiting.pop(cx, half.dir, (&mut half.queue, &mut half.accounting));
        let Some(Waiting { packet, .. }) = next else { return };
        let (flow, len) = (packet.flow, packet.len);
        let end = (cx.now + half.accounting.rate().time_to_send(len.into())).min(FAR);
        self.in_service = Some(InService { end, flow, len });
        cx.arm(half.dir.index() as u32, end);
        half.packets += 1;
        half.bytes += u64::from(len);
        if half.is_lossy && half.stream.chance(half.loss) {
            cx.drop(half.dir, packet, Reason::LinkLoss);
        } else {
            *latest = (end + half.delay).max(*latest);
            cx.emit_at(*latest, half.dir.index() as u32, packet);
        }
    }

    /// The packet in transmission is sent, if it is by now.
    fn handle_end(&mut self, cx: &mut Cx<'_>, half: &mut Half, latest: &mut Instant) {
        let Some(InService { flow, len, .. }) = self.in_service.take_if(|packet| packet.end <= cx.now) else {
            return;
        };
        half.accounting.leave(flow, len);
        half.queue.handle_departure(cx.now, Departed { len, delivered: true }, &half.accounting);
        self.start_next(cx, half, latest);
    }
}

impl Element for LinkInLine {
    fn layout(&self) -> Layout {
        let ahead = self.directions.each_ref().map(|direction| direction.half.delay);
        let early = self.directions.each_ref().map(|direction| match direction.line {
            None => direction.half.early(),
            Some(_) => Early::Never,
        });
        let lanes = Dir::BOTH.to_vec();
        Layout { timers: 2, lanes, ahead, passes_on: true, early, by_lanes: [true; 2], ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        let Direction { half, line, latest } = &mut self.directions[dir.index()];
        if let Some(line) = line {
            return line.take_in(cx, half, latest, packet);
        }
        let Some((at, packet)) = half.pass(cx, cx.now, packet) else { return };
        *latest = at.max(*latest);
        cx.emit_at(*latest, dir.index() as u32, packet);
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        let Direction { half, line, latest } = &mut self.directions[key as usize];
        if let Some(line) = line {
            line.handle_end(cx, half, latest);
        }
    }

    fn handle_change(&mut self, _cx: &mut Cx<'_>, change: Change) -> bool {
        let Change::Fresh(fresh, how) = change else { return false };
        let Some(fresh) = as_same::<Self>(fresh) else { return false };
        let each = self.directions.iter_mut().zip(fresh.directions);
        each.fold(false, |differs, (own, new)| own.half.adopt(new.half, how) | differs)
    }

    fn report(&self, cx: &mut Cx<'_>) -> Value {
        let halves = self.directions.each_ref().map(|direction| &direction.half);
        let mut report = report_of(halves, cx.dropped(Reason::QueueFull), cx.dropped(Reason::LinkLoss));
        for (dir, direction) in Dir::BOTH.iter().zip(&self.directions) {
            if let Some(line) = &direction.line {
                report[dir.name()]["packets_dropped"] = json!(line.waiting.dropped);
                report[dir.name()]["packets_marked"] = json!(line.waiting.marked);
            }
        }
        report
    }
}
