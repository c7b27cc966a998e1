//! The graph of elements between the server's side and the UEs' side, most often a straight line.
//!
//! A path is a driver's interface to the network. The simulator has hosts at both ends, so no packet ever leaves the
//! path; the live driver has devices there. The path does no I/O and reads no clock: the driver supplies the time.
//!
//! ```
//! use airpath_core::packet::Dir;
//! use airpath_core::path::Path;
//! use airpath_core::scenario::Scenario;
//! use airpath_core::time::{Duration, Instant};
//! use airpath_core::trace::ProbeMask;
//!
//! let text = "radio.dch.downlink.delay = \"40 ms\"\n[[flow]]\napp = \"bulk\"";
//! let scenario = Scenario::parse(text, &[]).unwrap();
//! let mut path = Path::new(scenario.network(1), ProbeMask::NONE);
//!
//! let mut packet = path.packet();
//! packet.len = 480; // 10 ms at 384 kbit/s
//! path.handle_packet(Instant::ZERO, Dir::Downlink, packet);
//! while let Some(deadline) = path.poll_timeout() {
//!     path.handle_timeout(deadline);
//! }
//! let (at, dir, _) = path.poll_output().unwrap();
//! assert_eq!((at, dir), (Instant::ZERO + Duration::from_millis(50), Dir::Downlink));
//! ```
//!
//! Contract: the driver hands packets over in order of time ([`Path::handle_packet`]), calls
//! [`Path::handle_timeout`] no earlier than [`Path::poll_timeout`] says, and drains [`Path::poll_output`]. Each deadline
//! is handled at its own instant, however late the driver wakes: lateness moves no packet of the model.
//!
//! Within one call of [`Path::handle_timeout`], packets may be delivered to elements early where the driver cannot
//! observe the difference; `element/early` defines when.

mod region;

pub(crate) use region::{Arrival, Departure, Numbers, Region, rank_over};

use crate::agenda::Due;
use crate::element::{
    Base, BearerView, Capture, Change, Cx, Element, Engine, Handover, Lookahead, Port, RadioEventKind,
};
use crate::element::{Graph, Joint, Layout, NodeId, keeps_order, lanes_ahead, watches_bearers};
use crate::link;
use crate::packet::{Dir, Flags, Packet};
use crate::port::Target;
use crate::time::Instant;
use crate::trace::{BearerRow, Event, Kind, ProbeMask, Reason, Recorder};
use airpath_prefetch::prefetch;
use std::any::Any;
use std::collections::VecDeque;

/// Default limit on the packets that drivers of real packets hold for a UE: see [`Path::inside`].
pub const MOST_INSIDE: u64 = 1 << 18;

/// Greatest depth of [`Element::prefetch`].
const DEEPEST: u8 = 3;

/// An element in its place.
struct Place {
    element: Box<dyn Element>,
    base: Base,
}

impl Place {
    /// The element, and its context for a call at `now`.
    #[inline(always)]
    fn at<'a>(&'a mut self, now: Instant, engine: &'a mut Engine) -> (&'a mut dyn Element, Cx<'a>) {
        (self.element.as_mut(), Cx::new(now, &self.base, engine))
    }
}

/// An element that is notified of radio events.
struct Subscriber {
    element: u16,
    /// Only drops.
    drops_alone: bool,
    /// Elements whose events it is notified of: the cells that its packets traverse.
    cells: Vec<u16>,
}

/// A graph of elements with all packets in flight on it.
pub struct Path {
    elements: Vec<Place>,
    engine: Engine,
    outputs: VecDeque<(Instant, Dir, Box<Packet>)>,
    now: Instant,
    /// Elements subscribed to radio events.
    subscribers: Vec<Subscriber>,
    /// Elements subscribed to hand-overs.
    outage_subscribers: Vec<u16>,
    /// The least time from the next deadline inside until a packet can leave.
    lookahead: Lookahead,
    /// No element lets a packet overtake another of its flow.
    keeps_order: bool,
    /// Owner of each element, by index: the element that handles its calls, usually itself.
    owners: Vec<u16>,
    /// Entry points of packets from outside.
    gates: Vec<Joint>,
    /// Name of each element, empty without one.
    names: Vec<String>,
    /// When each change was, and what.
    changes: Vec<(Instant, String)>,
}

impl Path {
    /// Builds a path that is a line, from the server's side to the UEs' side, and starts its elements at time zero.
    pub fn new(elements: Vec<Box<dyn Element>>, probes: ProbeMask) -> Self {
        Self::of(Graph::from(elements), probes)
    }

    /// Builds a path of a graph, and starts its elements at time zero.
    pub fn of(graph: Graph, probes: ProbeMask) -> Self {
        let may_change = graph.may_change();
        let (mut elements, names, topology) = graph.into_parts();
        let mut layouts: Vec<_> = elements.iter().map(|element| element.layout()).collect();
        if may_change {
            // A change comes between anything, and makes delays shorter.
            for layout in &mut layouts {
                (layout.early, layout.by_lanes, layout.ahead) = Default::default();
            }
        }
        if !watches_bearers(&layouts, probes) {
            layouts.iter_mut().filter(|layout| layout.timers_tell).for_each(|layout| layout.timers = 0);
        }
        let wants = (0..).zip(&layouts).filter(|(_, layout)| layout.radio_events || layout.radio_drops);
        let subscribers = wants.map(|(index, layout): (u16, &Layout)| Subscriber {
            element: index,
            drops_alone: !layout.radio_events,
            cells: topology.around(index.into()).into_iter().map(|cell| cell as u16).collect(),
        });
        let subscribers = subscribers.collect();
        let outage_subscribers =
            (0..).zip(&layouts).filter(|(_, layout)| layout.outages).map(|(index, _)| index).collect();
        let owners = match may_change {
            true => (0..).take(elements.len()).collect(),
            false => link::join(&mut elements, &topology),
        };
        let mut engine = Engine::new(&layouts, &topology, &owners, Recorder::new(probes));
        if probes == ProbeMask::NONE && !may_change {
            engine.agenda.set_ahead(&lanes_ahead(&layouts, &topology));
        }
        let keeps_order = keeps_order(&layouts);
        let lookahead = Lookahead::new(&layouts, &topology);
        let (outputs, now) = (VecDeque::new(), Instant::ZERO);
        let elements = elements.into_iter().zip(Base::of_all(&layouts, &topology));
        let elements = elements.map(|(element, base)| Place { element, base }).collect();
        let mut path = Self {
            elements,
            engine,
            outputs,
            now,
            subscribers,
            outage_subscribers,
            lookahead,
            keeps_order,
            owners,
            gates: topology.gates,
            names,
            changes: Vec::new(),
        };
        for index in 0..path.elements.len() {
            let (element, mut cx) = path.elements[index].at(now, &mut path.engine);
            element.handle_start(&mut cx);
            path.settle_now();
        }
        path
    }

    /// Selects the packets to capture; to be called before the path is run.
    pub fn set_capture(&mut self, capture: Capture) {
        self.engine.capture = capture.writer();
        self.engine.captures = self.engine.capture.is_some();
        self.engine.captures_pdus = capture.has_pdus();
        self.engine.iu_interface = capture.iu_interface();
        if capture != Capture::Nothing {
            self.engine.agenda.set_ahead_nowhere();
        }
        for index in 0..self.elements.len() {
            let (element, mut cx) = self.elements[index].at(self.now, &mut self.engine);
            element.handle_capture(&mut cx);
        }
    }

    /// Ends the run when finite transfers are complete at `ends` hosts: each at its sender and at its receiver, where
    /// both are on this path.
    pub fn stop_after_transfers(&mut self, ends: u32) {
        self.engine.transfers_left = Some(ends);
        if !self.keeps_order {
            self.engine.agenda.set_ahead_nowhere();
        }
    }

    /// Stops the run when more than `packets` are in use at once: see [`Path::is_overfull`].
    pub fn stop_above(&mut self, packets: u64) {
        self.engine.most_packets = packets;
    }

    /// Rows of the bearers, indexed by the bearer number in events.
    pub fn bearer_rows(&self) -> &[BearerRow] {
        &self.engine.bearer_rows
    }

    /// Packets created so far: the largest number in use at once.
    pub fn created(&self) -> u64 {
        self.engine.created
    }

    /// Whether the path was stopped because of too many packets.
    pub fn is_overfull(&self) -> bool {
        self.engine.is_overfull()
    }

    /// A packet arrives at `at` from outside: from the server's side if downlink, otherwise from the UEs' side.
    /// Deadlines before `at` are handled first, deadlines at `at` afterwards.
    ///
    /// # Panics
    /// If `at` is before the path's present time, or no gate is open in this direction.
    pub fn handle_packet(&mut self, at: Instant, dir: Dir, packet: Box<Packet>) {
        assert!(at >= self.now, "a packet from the past: {at:?} before {:?}", self.now);
        while self.poll_timeout().is_some_and(|due| due < at) && self.handle_next(at) {}
        if self.engine.stopped {
            return self.engine.free(packet);
        }
        self.now = at;
        let gate = self.gates.iter().find(|(_, port)| port.dir() == dir);
        let &(NodeId(node), port) = gate.expect("a gate for packets of this direction");
        let target = Target::new(self.owners[usize::from(node)], port);
        self.deliver(at, target, packet);
        self.settle_now();
    }

    /// Handles everything due up to `now`, each thing at its own instant.
    #[inline]
    pub fn handle_timeout(&mut self, now: Instant) {
        self.engine.horizon = Instant::from_nanos(now.as_nanos().saturating_add(1));
        while self.handle_next(now) {}
        self.engine.horizon = Instant::ZERO;
        if !self.engine.stopped {
            self.now = now;
        }
    }

    /// Handles the first deadline up to `now`, with all its consequences at that instant. Returns whether there was
    /// one. For drivers that react at once: call [`Path::poll_output`] in between.
    #[inline(always)]
    pub fn handle_next(&mut self, now: Instant) -> bool {
        if self.engine.stopped {
            return false;
        }
        let Some((at, due)) = self.engine.agenda.take_due(now) else { return false };
        debug_assert!(at >= self.now, "time goes back from {:?} to {at:?}", self.now);
        self.now = at;
        match due {
            Due::Packet { lane, leads_ahead, target, packet } => {
                if self.engine.tells {
                    self.deliver_told(at, target, packet);
                } else {
                    self.deliver(at, target, packet);
                }
                self.settle_now();
                if leads_ahead {
                    self.deliver_ahead(lane);
                }
            }
            Due::Timer { element, key } => {
                let (owner, mut cx) = self.elements[element as usize].at(at, &mut self.engine);
                owner.handle_timer(&mut cx, key);
                self.settle_now();
            }
        }
        true
    }

    /// Starts to load what the next events need, up to `DEEPEST` pointers away: see [`Element::prefetch`].
    fn prefetch(&self) {
        prefetch(&self.elements[..]);
        for depth in 0..=DEEPEST {
            self.engine.prefetch(depth);
            self.elements.iter().for_each(|place| place.element.prefetch(depth));
        }
    }

    /// Changes an element now, after all events scheduled for now. Returns whether it has changed, which an event reports;
    /// [`Path::keep_change`] ends the change that this is a part of.
    ///
    /// The path must have been built of a graph that may change ([`Graph::set_may_change`]).
    pub fn change(&mut self, element: usize, change: Change) -> bool {
        let (number, now) = (self.changes.len() as u32, self.now);
        let Some(place) = self.elements.get_mut(element) else { return false };
        let (changing, mut cx) = place.at(now, &mut self.engine);
        let is_changed = changing.handle_change(&mut cx, change);
        if is_changed {
            let element = element as u16;
            cx.probe(Kind::Change, || Event::Change { element, change: number });
        }
        self.settle_now();
        is_changed
    }

    /// Number of its elements, the ends included.
    pub fn element_count(&self) -> usize {
        self.elements.len()
    }

    /// Records a change that the driver makes outside of the path, now and at the server's end: an event, an entry of the list,
    /// and a comment in the capture.
    pub fn note_change(&mut self, text: &str) {
        let change = self.changes.len() as u32;
        if self.engine.recorder.mask.has(Kind::Change) {
            self.engine.recorder.push(self.now, Event::Change { element: 0, change });
        }
        self.keep_change(text);
    }

    /// Records a change whose elements have changed: in the list, and as a comment in the capture.
    pub fn keep_change(&mut self, text: &str) {
        self.changes.push((self.now, text.to_owned()));
        if let Some(capture) = &mut self.engine.capture {
            capture.note(self.now, text);
        }
    }

    /// When each change was, and what it was.
    pub fn changes(&self) -> &[(Instant, String)] {
        &self.changes
    }

    /// When [`Path::handle_timeout`] has something to do next.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        self.engine.agenda.next_time()
    }

    /// Time until which a driver may sleep: no packet leaves the path earlier unless one arrives or a deadline is
    /// handled. All deadlines of [`Path::poll_timeout`] up to then are handled together, each at its own instant.
    pub fn poll_wakeup(&self) -> Option<Instant> {
        self.engine.agenda.next_time_with(&self.lookahead.timers, &self.lookahead.lanes)
    }

    /// The next packet that left the path, with the model time of its departure.
    pub fn poll_output(&mut self) -> Option<(Instant, Dir, Box<Packet>)> {
        self.outputs.pop_front()
    }

    /// A packet from the pool, as new but for its number.
    pub fn packet(&mut self) -> Box<Packet> {
        let mut packet = self.engine.packet();
        *packet = Packet { id: packet.id, ..Packet::default() };
        packet
    }

    /// Exchanges all unused packets for those in `pool`.
    #[allow(clippy::vec_box)]
    pub(crate) fn exchange_pool(&mut self, pool: &mut Vec<Box<Packet>>) {
        self.engine.exchange_pool(pool);
    }

    /// Gives a packet that came out back to the pool.
    pub fn free(&mut self, packet: Box<Packet>) {
        self.engine.free(packet);
    }

    /// Present time of the path.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Whether all transfers are complete.
    pub fn stopped(&self) -> bool {
        self.engine.stopped
    }

    /// Events that the enabled probes recorded since the last call.
    pub fn take_trace(&mut self) -> Vec<(Instant, Event)> {
        self.engine.recorder.take()
    }

    /// Number of these events.
    pub fn recorded(&self) -> usize {
        self.engine.recorder.len()
    }

    /// Bytes of the capture written since the last call.
    pub fn take_capture(&mut self) -> Vec<u8> {
        let now = self.now;
        let written = self.engine.capture.as_mut().map(|capture| {
            capture.settle(now);
            capture.take()
        });
        written.unwrap_or_default()
    }

    /// Number of packets in flight on lanes inside the path.
    pub fn in_flight(&self) -> usize {
        self.engine.agenda.in_flight()
    }

    /// Packets on lanes by the element that put them there, from the server's side.
    pub fn in_flight_by_element(&self) -> Vec<u64> {
        let mut by_lane = self.engine.agenda.by_lane();
        let ends = self.elements.iter().skip(1).map(|place| place.base.lanes_start()).chain([usize::MAX]);
        let mut start = 0;
        ends.map(|end| {
            let lanes = by_lane.by_ref().take(end - start);
            start = end;
            lanes.sum::<usize>() as u64
        })
        .collect()
    }

    /// Packets that a driver's bound counts for a UE: in the buffers of its bearers and on all lanes; one that is on
    /// both counts twice.
    pub fn inside(&mut self, ue: u16) -> u64 {
        let held = Dir::BOTH.map(|dir| u64::from(self.radio(ue, dir).sdus));
        held.iter().sum::<u64>() + self.in_flight() as u64
    }

    /// State of a UE's bearer at the path's present time.
    pub fn radio(&mut self, ue: u16, dir: Dir) -> BearerView {
        Cx::new(self.now, &Base::default(), &mut self.engine).radio(ue, dir)
    }

    /// Packets that an element dropped for a reason.
    pub fn drops(&self, element: usize, reason: Reason) -> u64 {
        self.engine.drops[element][reason as usize]
    }

    /// Packets of a flow without TCP that were dropped in direction `dir`.
    pub fn datagrams_dropped(&self, ue: u16, flow: u16, dir: Dir) -> u64 {
        self.engine.datagram_drops.get(&(ue, flow, dir)).copied().unwrap_or(0)
    }

    /// A packet of a flow was dropped outside of the path, between this region and another one.
    pub(crate) fn note_datagram_dropped(&mut self, packet: &Packet, dir: Dir) {
        *self.engine.datagram_drops.entry((packet.ue, packet.flow, dir)).or_default() += 1;
    }

    /// The element at a position counted from the server's side, if it is of type `T`.
    pub fn element<T: Element>(&self, index: usize) -> Option<&T> {
        let element: &dyn Any = self.elements.get(index)?.element.as_ref();
        element.downcast_ref()
    }

    /// The same, to be changed by a driver.
    pub(crate) fn element_mut<T: Element>(&mut self, index: usize) -> Option<&mut T> {
        let element: &mut dyn Any = self.elements.get_mut(index)?.element.as_mut();
        element.downcast_mut()
    }

    /// Calls the element at a position, if it is of type `T`, at the path's present time, after all events scheduled for
    /// now.
    pub(crate) fn call<T: Element>(&mut self, index: usize, call: impl FnOnce(&mut T, &mut Cx<'_>)) {
        let now = self.now;
        let Some(place) = self.elements.get_mut(index) else { return };
        let (element, mut cx) = place.at(now, &mut self.engine);
        let element: &mut dyn Any = element;
        if let Some(element) = element.downcast_mut() {
            call(element, &mut cx);
        }
        self.settle_now();
    }

    /// Report of each element, from the server's side to the UEs' side, with its name as `node` if it has one.
    pub fn reports(&mut self) -> Vec<serde_json::Value> {
        let now = self.now;
        let mut reports = Vec::new();
        for (place, name) in self.elements.iter_mut().zip(&self.names) {
            let (element, mut cx) = place.at(now, &mut self.engine);
            let first = reports.len();
            reports.extend(element.reports(&mut cx));
            if let Some(report) =
                reports.get_mut(first).filter(|report| report.is_object() && !name.is_empty())
            {
                report["node"] = name.as_str().into();
            }
        }
        reports
    }

    /// Others on a lane may have waited for the packet before them alone.
    #[inline(never)]
    fn deliver_ahead(&mut self, lane: usize) {
        while let Some((at, target, packet)) = self.engine.take_ahead(lane) {
            self.deliver(at, target, packet);
            self.settle_now();
        }
    }

    #[inline]
    fn deliver(&mut self, at: Instant, target: Target, packet: Box<Packet>) {
        match self.elements.get_mut(usize::from(target.node())) {
            Some(place) => {
                let (element, mut cx) = place.at(at, &mut self.engine);
                element.handle_packet(&mut cx, target.port(), packet);
            }
            None => self.outputs.push_back((at, target.port().dir(), packet)),
        }
    }

    /// Like `deliver`, if anything may be subscribed: a separate function, so that most packets skip these checks when
    /// probes are off.
    #[cold]
    #[inline(never)]
    fn deliver_told(&mut self, at: Instant, target: Target, packet: Box<Packet>) {
        let direction = target.port().dir();
        if let Some(element) = self.number(target, direction)
            && self.engine.recorder.mask.has(Kind::Packet)
        {
            let Packet { id, ue, flow, seq, len: len_bytes, flags, .. } = *packet;
            let (ack, flags) = (if flags.has(Flags::ACK) { packet.ack } else { 0 }, flags.0);
            let event =
                Event::Packet { ue, flow, packet: id, element, direction, seq, ack, len_bytes, flags };
            self.engine.recorder.push(at, event);
        }
        self.deliver(at, target, packet);
    }

    /// Index of the element that a packet for `target` arrives at. Differs from the node of `target` if that element
    /// was merged with its neighbour and the packet is for the second of the two.
    fn number(&self, target: Target, dir: Dir) -> Option<u16> {
        let inside = target.port() > Port::DOWN;
        let owner = target.node();
        let stands_for_two = self.owners.get(usize::from(owner) + 1) == Some(&owner);
        let is_second = stands_for_two && inside == (dir == Dir::Downlink);
        self.owners.get(usize::from(owner)).map(|_| owner + u16::from(is_second))
    }

    /// Handles the consequences of the last call at the present instant.
    #[inline(always)]
    fn settle_now(&mut self) {
        if self.engine.tells {
            return self.settle_with_subscribers();
        }
        while self.hand_over(Self::deliver) {}
    }

    /// Hands over the next packet. Returns whether there was one.
    #[inline(always)]
    fn hand_over(&mut self, deliver: impl Fn(&mut Self, Instant, Target, Box<Packet>)) -> bool {
        // Two calls, so most packets are passed on in registers.
        if let Some(Handover { at, target, packet }) = self.engine.first.take() {
            deliver(self, at, target, packet);
            return true;
        }
        let Some((lane, handover)) = self.engine.handovers.pop_front() else { return false };
        let Handover { at, target, packet } = handover;
        if let Some(packet) = self.engine.settle_queued(lane, at, packet) {
            deliver(self, at, target, packet);
        }
        true
    }

    /// Like `settle_now`, but handles notifications of radio events and outages before the next packet is delivered.
    #[cold]
    fn settle_with_subscribers(&mut self) {
        loop {
            self.tell_subscribers();
            if !self.hand_over(Self::deliver_told)
                && self.engine.radio_events.is_empty()
                && self.engine.outages.is_empty()
            {
                return;
            }
        }
    }

    fn tell_subscribers(&mut self) {
        while let Some((ue, phase)) = self.engine.outages.pop_front() {
            for &index in &self.outage_subscribers {
                let (element, mut cx) = self.elements[index as usize].at(self.now, &mut self.engine);
                element.handle_outage(&mut cx, ue, phase);
            }
        }
        while let Some((cell, event)) = self.engine.radio_events.pop_front() {
            let is_drop = matches!(event.kind, RadioEventKind::Dropped | RadioEventKind::Evicted);
            let told = self.subscribers.iter().filter(|subscriber| is_drop || !subscriber.drops_alone);
            for subscriber in told.filter(|subscriber| subscriber.cells.contains(&cell)) {
                let place = &mut self.elements[subscriber.element as usize];
                let (element, mut cx) = place.at(self.now, &mut self.engine);
                element.handle_radio(&mut cx, &event);
            }
        }
    }
}
