//! One direction of a split bearer: buffer, PDCP's transmitting side, legs, and PDCP's receiving side.

use super::leg::Leg;
use crate::element::{Adopt, Bearer, Cx, Port};
use crate::packet::{Dir, Packet};
use crate::pdcp;
use crate::queue::{self, Aqm, Departed, Discipline, Waiting};
use crate::time::{Duration, Instant};
use crate::trace::{Event, Kind, Reason};
use crate::units::Bitrate;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// COUNTs so far below RX_DELIV are forgotten: packets that a leg has lost.
const FORGOTTEN: u64 = 1 << 18;

/// Which leg gets a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Routing {
    /// The leg over which it is expected to be transmitted first, of those that take one.
    FlowControl,
    /// The legs in turn.
    Alternate,
    /// The primary leg if there are fewer bytes than this, else the leg that takes one and over which it is expected first.
    /// `u64::MAX`: always the primary one.
    Threshold(u64),
}

/// One direction.
pub(super) struct Direction {
    pub dir: Dir,
    pub legs: [Leg; 2],
    /// Index of the primary leg.
    pub primary: usize,
    pub routing: Routing,
    pub duplicates: bool,
    pub line: Line,
    window: u64,
    /// Leg whose turn it is.
    turn: usize,
    /// TX_NEXT.
    tx_next: u64,
    /// PDUs that a leg has given back.
    again: BTreeMap<u64, (u16, Box<Packet>)>,
    /// PDUs given to legs, by packet.
    flights: BTreeMap<u32, Flight>,
    /// Lost ones are searched for when there are so many.
    flights_checked: usize,
    rx: pdcp::Receiver,
    /// SDUs that PDCP's receiving side holds.
    held: BTreeMap<u64, Held>,
    held_bytes: u64,
    most_held_bytes: u64,
    /// COUNTs that t-Reordering has passed over.
    passed_over: BTreeSet<u64>,
    duplicates_discarded: u64,
    late_sdus: u64,
    /// Reused; empty between calls.
    up: Vec<u64>,
    lost: Vec<u64>,
}

/// A PDU in transit.
#[derive(Clone, Copy, Debug)]
struct Flight {
    count: u64,
    leg: u8,
    /// Interface that the packet is addressed to.
    ue: u16,
    /// Bytes given to the leg up to its end.
    end: u64,
}

struct Held {
    since: Instant,
    leg: u8,
    packet: Box<Packet>,
}

/// Packets in front of PDCP.
pub(super) struct Line {
    queue: Discipline,
    accounting: Bearer,
    waiting: queue::Line,
    discard_timer: Option<Duration>,
    discarded: u64,
    peak_bytes: u64,
}

impl Line {
    pub fn new(queue: Discipline, discard_timer: Option<Duration>) -> Self {
        let (accounting, waiting) = (Bearer::new(Bitrate::default(), false), queue::Line::default());
        Self { queue, accounting, waiting, discard_timer, discarded: 0, peak_bytes: 0 }
    }

    fn is_empty(&self) -> bool {
        self.accounting.sdus() == 0
    }

    /// Admits a packet, or drops it or others.
    fn push(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        self.waiting.push(cx, dir, (&mut self.queue, &mut self.accounting), packet);
        self.peak_bytes = self.peak_bytes.max(self.accounting.bytes());
    }

    /// The next packet whose discardTimer has not expired.
    fn pop(&mut self, cx: &mut Cx<'_>, dir: Dir) -> Option<Box<Packet>> {
        loop {
            let next = self.waiting.pop(cx, dir, (&mut self.queue, &mut self.accounting));
            let Waiting { entered, packet, .. } = next?;
            let len = packet.len;
            self.accounting.leave(packet.flow, len);
            let delivered = self.discard_timer.is_none_or(|timer| cx.now < entered + timer);
            self.queue.handle_departure(cx.now, Departed { len, delivered }, &self.accounting);
            if delivered {
                return Some(packet);
            }
            self.discarded += 1;
            cx.drop(dir, packet, Reason::SduDiscarded);
        }
    }
}

impl Direction {
    pub fn new(
        dir: Dir,
        (legs, primary): ([Leg; 2], usize),
        (routing, duplicates): (Routing, bool),
        line: Line,
        pdcp: &pdcp::Config,
    ) -> Self {
        Self {
            dir,
            legs,
            primary,
            routing,
            duplicates,
            line,
            window: pdcp.window(),
            turn: primary,
            tx_next: 0,
            again: BTreeMap::new(),
            flights: BTreeMap::new(),
            flights_checked: 4096,
            rx: pdcp::Receiver::new(pdcp),
            held: BTreeMap::new(),
            held_bytes: 0,
            most_held_bytes: 0,
            passed_over: BTreeSet::new(),
            duplicates_discarded: 0,
            late_sdus: 0,
            up: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// The port towards the legs.
    fn to_legs(&self) -> Port {
        self.dir.pick(Port::DOWN, Port::of_pair(1, Dir::Uplink))
    }

    /// The port towards the receiver of packets.
    fn onward(&self) -> Port {
        self.dir.pick(Port::of_pair(1, Dir::Downlink), Port::UP)
    }

    /// A packet comes to the bearer.
    pub fn handle_sdu(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        if packet.len > pdcp::LARGEST_SDU {
            return cx.drop(self.dir, packet, Reason::SduDiscarded);
        }
        self.line.push(cx, self.dir, packet);
        self.serve(cx);
    }

    /// Whether the window lets another COUNT be used: no more than half of the numbers are in transit.
    fn has_window(&self) -> bool {
        self.tx_next - self.rx.rx_deliv() < self.window
    }

    /// Gives PDUs to legs while there are any and a leg takes them (TS 38.323 §5.2.1).
    pub fn serve(&mut self, cx: &mut Cx<'_>) {
        while !self.again.is_empty() || !self.line.is_empty() && self.has_window() {
            let Some(leg) = self.choose(cx) else { return };
            if let Some((count, (ue, packet))) = self.again.pop_first() {
                self.give(cx, leg, Flight { count, leg: leg as u8, ue, end: 0 }, packet, true);
            } else {
                let Some(packet) = self.line.pop(cx, self.dir) else { return };
                let flight = Flight { count: self.tx_next, leg: leg as u8, ue: packet.ue, end: 0 };
                self.tx_next += 1;
                self.duplicate(cx, flight, &packet);
                self.give(cx, leg, flight, packet, false);
            }
        }
    }

    /// The leg for the next PDU; `None` if neither takes one.
    fn choose(&mut self, cx: &mut Cx<'_>) -> Option<usize> {
        if let Routing::Threshold(least) = self.routing
            && self.legs[self.primary].is_up
            && self.volume(cx) < least
        {
            return self.legs[self.primary].has_room().then_some(self.primary);
        }
        let first = if self.routing == Routing::Alternate { self.turn } else { self.primary };
        let mut free = [first, 1 - first].into_iter().filter(|leg| self.legs[*leg].has_room());
        let (one, other) = (free.next()?, free.next());
        let Some(other) = other else { return Some(one) };
        let is_first = match self.routing {
            Routing::Alternate => {
                self.turn = other;
                true
            }
            Routing::Threshold(_) | Routing::FlowControl => {
                self.legs[one].wait_s(cx) <= self.legs[other].wait_s(cx)
            }
        };
        Some(if is_first { one } else { other })
    }

    /// Bytes in PDCP and in both legs whose transmission has not begun.
    fn volume(&self, cx: &mut Cx<'_>) -> u64 {
        let in_legs = self.legs.each_ref().map(|leg| leg.waiting(cx));
        let again = self.again.values().map(|(_, packet)| u64::from(packet.len)).sum::<u64>();
        in_legs[0] + in_legs[1] + self.line.accounting.bytes() + again
    }

    /// Gives the other leg a copy, with duplication.
    fn duplicate(&mut self, cx: &mut Cx<'_>, flight: Flight, packet: &Packet) {
        let other = 1 - flight.leg;
        if self.duplicates && self.legs[usize::from(other)].is_up {
            let mut copy = cx.packet();
            (*copy).clone_from(packet);
            cx.number(&mut copy);
            self.give(cx, other.into(), Flight { leg: other, ..flight }, copy, false);
        }
    }

    fn give(&mut self, cx: &mut Cx<'_>, leg: usize, flight: Flight, mut packet: Box<Packet>, again: bool) {
        let leg = &mut self.legs[leg];
        packet.ue = leg.ue;
        let end = leg.send(packet.len, again);
        self.flights.insert(packet.id, Flight { end, ..flight });
        if self.flights.len() > self.flights_checked {
            self.forget_lost();
        }
        cx.note_pdcp_count(packet.id, Some(flight.count));
        cx.emit(self.to_legs(), packet);
    }

    /// Forgets PDUs that legs have lost long ago.
    #[cold]
    fn forget_lost(&mut self) {
        let least = self.rx.rx_deliv().saturating_sub(FORGOTTEN);
        self.flights.retain(|_, flight| flight.count >= least);
        self.passed_over = self.passed_over.split_off(&least);
        self.flights_checked = 2 * self.flights.len() + 4096;
    }

    /// A PDU arrives over a leg (TS 38.323 §5.2.2), or a packet that a box on the leg has made.
    pub fn handle_pdu(&mut self, cx: &mut Cx<'_>, mut packet: Box<Packet>) {
        let Some(Flight { count, leg, ue, end }) = self.flights.remove(&packet.id) else {
            packet.ue = self.legs[0].ue;
            return cx.emit(self.onward(), packet);
        };
        self.legs[usize::from(leg)].note_passage(end);
        cx.note_pdcp_count(packet.id, None);
        packet.ue = ue;
        let discarded = self.rx.counts().discarded_sdus;
        self.rx.handle(cx.now, count, count, &mut self.up, &mut self.lost);
        if self.rx.counts().discarded_sdus > discarded {
            return self.discard(cx, count, packet);
        }
        self.legs[usize::from(leg)].counts.first_pdus += 1;
        self.held_bytes += u64::from(packet.len);
        self.held.insert(count, Held { since: cx.now, leg, packet });
        self.settle(cx);
        if !self.line.is_empty() {
            self.serve(cx);
        }
    }

    /// An SDU was received before, or passed over.
    fn discard(&mut self, cx: &mut Cx<'_>, count: u64, packet: Box<Packet>) {
        if self.passed_over.remove(&count) {
            self.late_sdus += 1;
            return cx.drop(self.dir, packet, Reason::PassedOver);
        }
        self.duplicates_discarded += 1;
        cx.keep(self.dir, packet);
    }

    /// t-Reordering has expired, if its time has come.
    pub fn handle_expiry(&mut self, cx: &mut Cx<'_>) {
        self.rx.handle_expiry(cx.now, &mut self.up, &mut self.lost);
        self.settle(cx);
        self.serve(cx);
    }

    /// When t-Reordering expires.
    pub fn expiry(&self) -> Instant {
        self.rx.expiry()
    }

    /// SDUs go up, and others never will.
    fn settle(&mut self, cx: &mut Cx<'_>) {
        for count in std::mem::take(&mut self.lost) {
            match self.held.remove(&count) {
                // Its COUNT was mistaken.
                Some(Held { packet, .. }) => {
                    self.held_bytes -= u64::from(packet.len);
                    self.late_sdus += 1;
                    cx.drop(self.dir, packet, Reason::PassedOver);
                }
                None => _ = self.passed_over.insert(count),
            }
        }
        let mut up = std::mem::take(&mut self.up);
        for count in up.drain(..) {
            let Some(Held { since, leg, packet }) = self.held.remove(&count) else { continue };
            self.held_bytes -= u64::from(packet.len);
            let (ue, flow, id, direction) = (packet.ue, packet.flow, packet.id, self.dir);
            let (leg, held_ns) = (self.legs[usize::from(leg)].ue, cx.now.since(since).as_nanos());
            cx.probe(Kind::PdcpDelivered, || Event::PdcpDelivered {
                ue,
                flow,
                packet: id,
                direction,
                leg,
                count,
                held_ns,
            });
            cx.emit(self.onward(), packet);
        }
        self.up = up;
        self.most_held_bytes = self.most_held_bytes.max(self.held_bytes);
    }

    /// A released leg gives a PDU back that it has not delivered: it is transmitted over the other one (TS 38.323 §5.5).
    pub fn handle_return(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        let Some(Flight { count, leg, ue, .. }) = self.flights.remove(&packet.id) else {
            return cx.drop(self.dir, packet, Reason::CellChanged);
        };
        cx.note_pdcp_count(packet.id, None);
        self.legs[usize::from(leg)].counts.returned_pdus += 1;
        let has_arrived = count < self.rx.rx_deliv() || self.held.contains_key(&count);
        if self.duplicates && (has_arrived || self.legs[usize::from(1 - leg)].is_up) {
            // The other leg has delivered it, or has it.
            return cx.keep(self.dir, packet);
        }
        self.again.insert(count, (ue, packet));
        self.serve(cx);
    }

    /// Takes over the limits of the queue of another direction; returns whether they differ.
    #[cold]
    pub fn adopt(&mut self, fresh: Self, how: Adopt) -> bool {
        self.line.queue.adopt(fresh.line.queue, how)
    }

    /// The leg is released, or added.
    pub fn set_leg(&mut self, cx: &mut Cx<'_>, leg: usize, is_up: bool) {
        self.legs[leg].reset(is_up);
        if is_up {
            self.serve(cx);
        }
    }

    pub fn report(&self) -> Value {
        let legs = self.legs.each_ref().map(|leg| {
            let mut report = json!(leg.counts);
            report["ue"] = leg.ue.into();
            report
        });
        let line = &self.line;
        json!({
            "legs": legs,
            "pdcp": self.rx.counts(),
            "most_held_bytes": self.most_held_bytes,
            "duplicate_pdus": self.duplicates_discarded,
            "late_sdus": self.late_sdus,
            "peak_queue_bytes": line.peak_bytes,
            "packets_dropped": line.waiting.dropped,
            "packets_marked": line.waiting.marked,
            "sdus_discarded": line.discarded,
        })
    }
}
