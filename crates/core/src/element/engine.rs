//! Everything of a path except its elements, and what an element is lent of it for a call.

use super::layout::{wants_radio, watches_bearers};
use super::{Bearer, BearerView, FlowView, Layout, NodeId, Outage, Port, RadioEvent, Terms, Topology};
use crate::agenda::Agenda;
use crate::packet::{self, Dir, Opaque, Packet};
use crate::port::Target;
use crate::time::Instant;
use crate::trace::{BearerRow, Event, Kind, ProbeMask, Reason, Recorder};
use crate::wire::pcapng::PcapngWriter;
use airpath_prefetch::prefetch;
use std::collections::{BTreeMap, VecDeque};

/// The ID of an element, and where its ports, timers, lanes and bearers start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Base {
    element: u16,
    port: u32,
    timer: u32,
    lane: u32,
    bearer: u32,
}

impl Base {
    /// Computes the base of every element.
    pub fn of_all(layouts: &[Layout], topology: &Topology) -> Vec<Self> {
        let bases = layouts.iter().scan(Self::default(), |next, layout| {
            let base = *next;
            *next = next.behind(layout, topology.first_port(base.element + 1));
            Some(base)
        });
        bases.collect()
    }

    /// Index of the element's first lane among those of the path.
    pub fn lanes_start(&self) -> usize {
        self.lane as usize
    }

    /// Base of the element after one of this layout; its ports start at `port`.
    fn behind(self, layout: &Layout, port: u32) -> Self {
        Self {
            element: self.element + 1,
            port,
            timer: self.timer + layout.timers,
            lane: self.lane + layout.lanes.len() as u32,
            bearer: self.bearer + layout.bearers,
        }
    }
}

/// A packet in transit from one element to the next, at the present instant or, from a lane, delivered early.
pub(crate) struct Handover {
    pub at: Instant,
    pub target: Target,
    pub packet: Box<Packet>,
}

/// Marks a packet that is not on a lane: it is delivered in any case.
const NO_LANE: u32 = u32::MAX;

/// Everything of a path except its elements.
pub(crate) struct Engine {
    pub agenda: Agenda,
    /// First in, first out; `first` is used while both are empty, which saves the queue's bookkeeping.
    pub first: Option<Handover>,
    /// Further handovers, each with the lane to fall back to.
    pub handovers: VecDeque<(u32, Handover)>,
    /// Radio events that subscribers have yet to be notified of, each with its cell.
    pub radio_events: VecDeque<(u16, RadioEvent)>,
    /// Whether an element subscribed to radio events.
    pub radio_wanted: bool,
    /// Whether an element subscribed to drops, or to all radio events.
    pub drops_wanted: bool,
    /// Result of [`watches_bearers`].
    bearers_watched: bool,
    /// Hand-overs that subscribers have yet to be notified of: the UE, and the stage of its outage.
    pub outages: VecDeque<(u16, Outage)>,
    /// Whether an element subscribed to outages.
    outages_wanted: bool,
    /// Whether any subscriber must be notified of radio events, outages or packets.
    pub tells: bool,
    bearers: Vec<Bearer>,
    /// Rows of the trace that describe the bearers, written once.
    pub bearer_rows: Vec<BearerRow>,
    /// First bearer of each element.
    first_bearer: Vec<u32>,
    /// Bearers of each UE in the cell it is attached to, by direction.
    attached: Vec<[BearerId; 2]>,
    /// Target of each port, element by element.
    ports: Vec<Target>,
    /// Whether an element reads counters by flow.
    flows_wanted: bool,
    /// The packet that was freed last, unless it is in use again: hosts answer one packet with another.
    spare: Option<Box<Packet>>,
    /// Boxes, because a box is what travels: handing on a pointer instead of 64 bytes is the point.
    #[allow(clippy::vec_box)]
    pool: Vec<Box<Packet>>,
    pub recorder: Recorder,
    pub capture: Option<PcapngWriter>,
    /// Whether there is a capture.
    pub captures: bool,
    /// PDUs of the link layer are captured too.
    pub captures_pdus: bool,
    /// COUNTs of packets on the legs of split bearers, by packet; only while PDUs are captured.
    pub pdcp_counts: BTreeMap<u32, u64>,
    /// Number of the interface `iu`, if G-PDUs are captured too.
    pub iu_interface: Option<u32>,
    /// Packets dropped, by element and reason.
    pub drops: Vec<[u64; Reason::ALL.len()]>,
    /// Packets of flows without TCP that were dropped, by UE, flow and direction.
    pub datagram_drops: BTreeMap<(u16, u16, Dir), u64>,
    /// Ends of finite transfers that are not complete yet; `None` where the run has a flow without end.
    pub transfers_left: Option<u32>,
    /// All transfers are complete, or there are too many packets: nothing more is of interest.
    pub stopped: bool,
    /// Packets made so far: the number of the latest one.
    made: u32,
    /// Packets created so far: the largest number that was ever in the path at once, as the pool comes first.
    pub created: u64,
    /// Stops the run at this number of packets.
    pub most_packets: u64,
    /// The present call of the driver handles all events before this time, so early delivery may extend up to it.
    pub horizon: Instant,
}

impl Engine {
    /// See [`Element::prefetch`](super::Element::prefetch).
    pub fn prefetch(&self, depth: u8) {
        match depth {
            0 => {
                self.agenda.prefetch();
                prefetch(&self.bearers[..]);
            }
            1 => self.bearers.iter().for_each(Bearer::prefetch_departures),
            _ => {}
        }
    }

    /// Lays out ports, timers, lanes and bearers of all elements; `owners[i]` handles calls for element `i`.
    pub fn new(layouts: &[Layout], topology: &Topology, owners: &[u16], recorder: Recorder) -> Self {
        let (mut timers, mut lanes) = (Vec::new(), Vec::new());
        let (mut bearers, mut first_bearer) = (Vec::new(), Vec::new());
        let ports = topology.targets(owners);
        for (element, layout) in (0_u16..).zip(layouts) {
            timers.extend((0..layout.timers).map(|key| (owners[element as usize], key)));
            let port = |dir: Dir| topology.first_port(element) as usize + usize::from(Port::from(dir).0);
            lanes.extend(layout.lanes.iter().map(|&dir| ports[port(dir)]));
            first_bearer.push(bearers.len() as u32);
            bearers.resize_with(bearers.len() + layout.bearers as usize, Bearer::closed);
        }
        // At first every UE is attached to the first cell.
        let first_cell = layouts.iter().zip(&first_bearer).find(|(layout, _)| layout.bearers > 0);
        let ues = first_cell.map_or(0, |(layout, _)| layout.bearers / 2) as u16;
        let first = first_cell.map_or(0, |(_, first)| *first);
        let attached = (0..ues).map(|ue| BearerId::of(first, ue)).collect();
        let flows_wanted = layouts.iter().any(|layout| layout.flow_views);
        let radio_wanted = wants_radio(layouts);
        let drops_wanted = radio_wanted || layouts.iter().any(|layout| layout.radio_drops);
        let outages_wanted = layouts.iter().any(|layout| layout.outages);
        Self {
            agenda: Agenda::new(&timers, &lanes),
            first: None,
            handovers: VecDeque::new(),
            radio_events: VecDeque::new(),
            drops_wanted,
            bearers_watched: watches_bearers(layouts, recorder.mask),
            radio_wanted,
            outages: VecDeque::new(),
            outages_wanted,
            tells: drops_wanted || outages_wanted || recorder.mask.has(Kind::Packet),
            bearer_rows: BearerRow::of_all(layouts.iter().map(|layout| layout.bearers)),
            bearers,
            first_bearer,
            attached,
            ports,
            flows_wanted,
            spare: None,
            pool: Vec::new(),
            recorder,
            capture: None,
            captures: false,
            captures_pdus: false,
            pdcp_counts: BTreeMap::new(),
            iu_interface: None,
            drops: vec![[0; Reason::ALL.len()]; layouts.len()],
            datagram_drops: BTreeMap::new(),
            transfers_left: None,
            stopped: false,
            made: 0,
            created: 0,
            most_packets: u64::MAX,
            horizon: Instant::ZERO,
        }
    }

    /// What has waited in the queue for others may have to wait for its time after all, as they have set timers: then it
    /// is put on its lane.
    #[inline(always)]
    pub fn settle_queued(&mut self, lane: u32, at: Instant, packet: Box<Packet>) -> Option<Box<Packet>> {
        if lane == NO_LANE { Some(packet) } else { self.settle_lane(lane, at, packet) }
    }

    #[inline(never)]
    fn settle_lane(&mut self, lane: u32, at: Instant, packet: Box<Packet>) -> Option<Box<Packet>> {
        if self.goes_ahead(lane, at, &packet) {
            return Some(packet);
        }
        self.agenda.put(lane as usize, at, packet);
        None
    }

    #[inline(always)]
    fn goes_ahead(&mut self, lane: u32, at: Instant, packet: &Packet) -> bool {
        at < self.horizon
            && (self.transfers_left.is_none() || packet.precedes_end())
            && self.agenda.may_go_ahead(lane as usize, at)
    }

    /// Takes the first packet of a lane if it may be delivered early.
    #[inline]
    pub fn take_ahead(&mut self, lane: usize) -> Option<(Instant, Target, Box<Packet>)> {
        self.agenda.take_ahead(lane, self.horizon, self.transfers_left.is_some())
    }

    /// Hands a packet over while nothing else is.
    #[inline(always)]
    fn hand_over(&mut self, handover: Handover) {
        // There is no packet in its place that would have to be freed.
        std::mem::forget(self.first.replace(handover));
    }

    /// Appends a packet to the handovers.
    #[cold]
    #[inline(never)]
    fn queue(&mut self, lane: u32, handover: Handover) {
        self.handovers.push_back((lane, handover));
    }

    #[inline(always)]
    fn hands_nothing_over(&self) -> bool {
        self.first.is_none() && self.handovers.is_empty()
    }

    /// A packet from the pool, cleared and with a number of its own: see [`Packet::clear`].
    #[inline]
    pub fn packet(&mut self) -> Box<Packet> {
        let mut packet = self.spare.take().or_else(|| self.pool.pop()).unwrap_or_else(|| self.create());
        packet.id = self.next_id();
        packet
    }

    /// Exchanges all unused packets for those in `pool`.
    #[allow(clippy::vec_box)]
    #[inline]
    pub fn exchange_pool(&mut self, pool: &mut Vec<Box<Packet>>) {
        self.pool.extend(self.spare.take());
        std::mem::swap(&mut self.pool, pool);
    }

    /// Number of the next packet.
    #[inline]
    pub fn next_id(&mut self) -> u32 {
        self.made = self.made.wrapping_add(1);
        self.made
    }

    /// Number of the latest packet.
    pub fn made(&self) -> u32 {
        self.made
    }

    /// Creates a packet because every other one is in use. Out of line: a run in balance creates none.
    #[cold]
    #[inline(never)]
    fn create(&mut self) -> Box<Packet> {
        self.created += 1;
        self.stopped |= self.is_overfull();
        Box::default()
    }

    /// Whether more packets are in use at once than the path may hold.
    pub fn is_overfull(&self) -> bool {
        self.created > self.most_packets
    }

    /// Puts a packet back into the pool.
    #[inline]
    pub fn free(&mut self, mut packet: Box<Packet>) {
        packet.clear();
        if let Some(other) = self.spare.replace(packet) {
            self.pool.push(other);
        }
    }
}

/// Number of a bearer on the path: one direction of a UE in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BearerId(u32);

impl BearerId {
    /// Bearer of a UE without a cell.
    const NONE: Self = Self(u32::MAX);

    /// Bearers of a UE by direction, in a cell whose bearers begin at `first`.
    fn of(first: u32, ue: u16) -> [Self; 2] {
        Dir::BOTH.map(|dir| Self(first + bearer_index(ue, dir) as u32))
    }
}

/// What an element is lent for one call.
pub struct Cx<'a> {
    /// The present instant.
    pub now: Instant,
    base: &'a Base,
    engine: &'a mut Engine,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(now: Instant, base: &'a Base, engine: &'a mut Engine) -> Self {
        Self { now, base, engine }
    }

    /// Emits a packet now, by a port or, from a box with two ports, in a direction.
    #[inline]
    pub fn emit(&mut self, by: impl Into<Port>, packet: Box<Packet>) {
        let target = self.engine.ports[self.base.port as usize + usize::from(by.into().0)];
        let handover = Handover { at: self.now, target, packet };
        if self.engine.hands_nothing_over() {
            self.engine.hand_over(handover);
        } else {
            self.engine.handovers.push_back((NO_LANE, handover));
        }
    }

    /// The packet leaves at `at`, in the direction of the lane.
    ///
    /// # Panics
    /// If `at` is before the packet put on this lane last: an element that reorders needs more lanes.
    #[inline(always)]
    pub fn emit_at(&mut self, at: Instant, lane: u32, packet: Box<Packet>) {
        if let Some((target, packet)) = self.ahead_on(lane, at, packet) {
            self.engine.hand_over(Handover { at, target, packet });
        }
    }

    /// Like `ahead_on`, on a lane that stays inside the element: returns the packet if the element may process it now
    /// as it would at `at`.
    #[inline(always)]
    pub(crate) fn go_on_at(&mut self, at: Instant, lane: u32, packet: Box<Packet>) -> Option<Box<Packet>> {
        self.ahead_on(lane, at, packet).map(|(_, packet)| packet)
    }

    /// Puts a packet on a lane, or returns its target and the packet if it may be delivered early.
    #[inline(always)]
    fn ahead_on(&mut self, lane: u32, at: Instant, packet: Box<Packet>) -> Option<(Target, Box<Packet>)> {
        let (engine, lane) = (&mut *self.engine, self.base.lane + lane);
        if let Some(target) = engine.agenda.leads_ahead(lane as usize) {
            if engine.hands_nothing_over() {
                if engine.goes_ahead(lane, at, &packet) {
                    return Some((target, packet));
                }
            } else if engine.horizon > Instant::ZERO {
                engine.queue(lane, Handover { at, target, packet });
                return None;
            }
            // Without a horizon there is no early delivery, and the queue contains no packet of this lane.
        }
        engine.agenda.put(lane as usize, at, packet);
        None
    }

    /// Base of the inline element after this one, which has this layout.
    pub(crate) fn base_behind(&self, layout: &Layout) -> Base {
        self.base.behind(layout, self.base.port + 2)
    }

    /// The context of another element that this one represents.
    #[inline(always)]
    pub(crate) fn of<'b>(&'b mut self, base: &'b Base) -> Cx<'b> {
        Cx { now: self.now, base, engine: self.engine }
    }

    /// Calls [`Element::handle_timer`](super::Element::handle_timer) with `key` at `at`, or now if `at` is past, instead of
    /// when it was armed for before.
    #[inline]
    pub fn arm(&mut self, key: u32, at: Instant) {
        self.engine.agenda.arm((self.base.timer + key) as usize, at.max(self.now));
    }

    /// The timer under `key` will not expire.
    #[inline]
    pub fn disarm(&mut self, key: u32) {
        self.engine.agenda.disarm((self.base.timer + key) as usize);
    }

    /// A packet from the pool, cleared: see [`Packet::clear`].
    #[inline]
    pub fn packet(&mut self) -> Box<Packet> {
        let mut packet = self.engine.packet();
        if cfg!(debug_assertions) {
            packet.spoil();
        }
        packet
    }

    /// Gives a packet that the element has copied, or made outside of the pool, a new ID, and reports it.
    pub fn number(&mut self, packet: &mut Packet) {
        let copy_of = std::mem::replace(&mut packet.id, self.engine.next_id());
        self.tell_made(packet, copy_of);
    }

    /// Tells that an element that is no host has made a packet, a copy of another one or, with 0, one of its own.
    #[cold]
    pub fn tell_made(&mut self, packet: &Packet, copy_of: u32) {
        let (packet, ue, flow, element) = (packet.id, packet.ue, packet.flow, self.base.element);
        self.probe(Kind::Made, || Event::Made { ue, flow, packet, element, copy_of });
    }

    /// Consumes a packet at an element other than a host, which responds to it itself.
    #[cold]
    pub fn keep(&mut self, dir: Dir, packet: Box<Packet>) {
        let (ue, flow, id, element) = (packet.ue, packet.flow, packet.id, self.base.element);
        self.probe(Kind::Kept, || Event::Kept { ue, flow, direction: dir, packet: id, element });
        self.free(packet);
    }

    /// A packet reached its destination and is used up.
    #[inline]
    pub fn free(&mut self, packet: Box<Packet>) {
        self.engine.free(packet);
    }

    /// Drops a packet in transit towards `dir`: counted, and traced if the probe is enabled.
    #[cold]
    pub fn drop(&mut self, dir: Dir, packet: Box<Packet>, reason: Reason) {
        self.engine.drops[self.base.element as usize][reason as usize] += 1;
        if packet.kind() == packet::Kind::Opaque(Opaque::OtherProtocol) {
            *self.engine.datagram_drops.entry((packet.ue, packet.flow, dir)).or_default() += 1;
        }
        let element = self.base.element;
        self.probe(Kind::Dropped, || Event::Dropped {
            ue: packet.ue,
            flow: packet.flow,
            direction: dir,
            packet: packet.id,
            element,
            seq: packet.seq,
            len_bytes: packet.len,
            reason,
        });
        self.free(packet);
    }

    /// Records an event if its kind was selected. In a hot place let the closure `move` plain values: one
    /// that borrows keeps its caller's variables in memory even while the probe is off.
    #[inline]
    pub fn probe(&mut self, kind: Kind, event: impl FnOnce() -> Event) {
        if self.engine.recorder.mask.has(kind) {
            self.record(event);
        }
    }

    /// Out of line, so that a probe that is off costs its caller neither code nor registers.
    #[cold]
    #[inline(never)]
    fn record(&mut self, event: impl FnOnce() -> Event) {
        self.engine.recorder.push(self.now, event());
    }

    /// Records that a packet was marked which came to the buffer at `entered`.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_marked(&mut self, dir: Dir, packet: &Packet, entered: Instant) {
        let (element, sojourn_ns) = (self.base.element, self.now.since(entered).as_nanos());
        self.probe(Kind::Marked, || Event::Marked {
            ue: packet.ue,
            flow: packet.flow,
            direction: dir,
            packet: packet.id,
            element,
            seq: packet.seq,
            len_bytes: packet.len,
            sojourn_ns,
        });
    }

    /// Whether events of `kind` are recorded.
    #[inline]
    pub fn probes(&self, kind: Kind) -> bool {
        self.engine.recorder.mask.has(kind)
    }

    /// Whether events of one of these kinds are.
    #[inline]
    pub(crate) fn probes_any(&self, kinds: ProbeMask) -> bool {
        self.engine.recorder.mask.has_any(kinds)
    }

    /// The capture file being written, if any.
    #[inline]
    pub fn capture(&mut self) -> Option<&mut PcapngWriter> {
        self.engine.capture.as_mut()
    }

    /// Whether a capture is being written.
    #[inline]
    pub(crate) fn captures(&self) -> bool {
        self.engine.captures
    }

    /// Whether PDUs of the link layer go into the capture.
    #[inline]
    pub(crate) fn captures_pdus(&self) -> bool {
        self.engine.captures_pdus
    }

    /// Sets the COUNT of a packet on a leg of a split bearer, for captures, or removes it.
    pub(crate) fn note_pdcp_count(&mut self, packet: u32, count: Option<u64>) {
        if !self.engine.captures_pdus {
            return;
        }
        match count {
            Some(count) => self.engine.pdcp_counts.insert(packet, count),
            None => self.engine.pdcp_counts.remove(&packet),
        };
    }

    /// COUNT of a packet on a leg of a split bearer; 0 for a packet that a box has made there.
    pub(crate) fn pdcp_count(&self, packet: u32) -> u64 {
        self.engine.pdcp_counts.get(&packet).copied().unwrap_or_default()
    }

    /// Whether datagrams of the Iu are captured.
    #[inline]
    pub(crate) fn captures_iu(&self) -> bool {
        self.engine.iu_interface.is_some()
    }

    /// Writes a datagram that passes the Iu at `at`, now or later.
    pub(crate) fn capture_iu(&mut self, at: Instant, datagram: Vec<u8>) {
        if let (Some(interface), Some(capture)) = (self.engine.iu_interface, &mut self.engine.capture) {
            capture.packet_at(interface, at, datagram);
        }
    }

    /// Occupancy of a UE's bearer, now. An unknown UE has an empty bearer.
    pub fn radio(&mut self, ue: u16, dir: Dir) -> BearerView {
        let now = self.now;
        self.bearer_of(ue, dir).map(|bearer| bearer.view(now)).unwrap_or_default()
    }

    /// Occupancy of a UE's bearer by one flow, now.
    ///
    /// # Panics
    /// If no element's layout asked for flow views.
    pub fn radio_flow(&mut self, ue: u16, dir: Dir, flow: u16) -> FlowView {
        assert!(self.engine.flows_wanted, "set Layout::flow_views");
        let now = self.now;
        self.bearer_of(ue, dir).map(|bearer| bearer.flow_view(now, flow)).unwrap_or_default()
    }

    /// Attaches a UE to a cell, or to none: from now on its bearers are the bearers in this cell.
    pub(crate) fn attach(&mut self, ue: u16, cell: Option<NodeId>) {
        let bearers = match cell {
            Some(cell) => BearerId::of(self.engine.first_bearer[usize::from(cell.0)], ue),
            None => [BearerId::NONE; 2],
        };
        if let Some(own) = self.engine.attached.get_mut(usize::from(ue)) {
            *own = bearers;
        }
    }

    /// The bearer that a UE has in a direction.
    fn bearer_of(&mut self, ue: u16, dir: Dir) -> Option<&mut Bearer> {
        let BearerId(number) = self.engine.attached.get(usize::from(ue))?[dir.index()];
        self.engine.bearers.get_mut(number as usize)
    }

    /// Opens the counters of a bearer; called by the cell.
    pub(crate) fn open_bearer(&mut self, index: usize, terms: Terms) {
        self.engine.bearers[self.base.bearer as usize + index] =
            Bearer::open(&terms, self.engine.flows_wanted);
    }

    /// Completes a bearer's row in the table of bearers; the UE and the direction are already set.
    pub(crate) fn describe_bearer(&mut self, index: usize, describe: impl FnOnce(&mut BearerRow)) {
        describe(&mut self.engine.bearer_rows[self.base.bearer as usize + index]);
    }

    /// Number of a bearer of this cell among those of the path.
    pub(crate) fn bearer_number(&self, index: usize) -> u32 {
        self.base.bearer + index as u32
    }

    /// Returns the counters of a bearer to the cell that owns it.
    #[inline]
    pub(crate) fn bearer(&mut self, index: usize) -> &mut Bearer {
        &mut self.engine.bearers[self.base.bearer as usize + index]
    }

    /// Notifies the subscribers before the next packet is handed over.
    #[inline]
    pub(crate) fn radio_event(&mut self, event: impl FnOnce() -> RadioEvent) {
        if self.engine.radio_wanted {
            self.engine.radio_events.push_back((self.base.element, event()));
        }
    }

    /// Like `radio_event` for a drop, which also goes to elements subscribed only to drops.
    #[cold]
    pub(crate) fn radio_drop(&mut self, event: RadioEvent) {
        if self.engine.drops_wanted {
            self.engine.radio_events.push_back((self.base.element, event));
        }
    }

    /// Reports a hand-over: to the trace, and to the subscribers before the next packet is handed over.
    #[cold]
    pub(crate) fn outage(&mut self, ue: u16, phase: Outage) {
        self.probe(Kind::Outage, || Event::Outage { ue, phase });
        if self.engine.outages_wanted {
            self.engine.outages.push_back((ue, phase));
        }
    }

    /// Packets that this element dropped for a reason.
    pub fn dropped(&self, reason: Reason) -> u64 {
        self.engine.drops[self.base.element as usize][reason as usize]
    }

    /// Result of [`watches_bearers`].
    #[inline]
    pub(crate) fn watches_bearers(&self) -> bool {
        self.engine.bearers_watched
    }

    /// A finite transfer is complete at its sender or at its receiver; the last one ends the run.
    pub(crate) fn finish_transfer(&mut self) {
        self.engine.transfers_left = self.engine.transfers_left.map(|left| left.saturating_sub(1));
        self.engine.stopped = self.engine.transfers_left == Some(0);
    }
}

/// Bearers are numbered UE by UE, downlink first.
pub(crate) const fn bearer_index(ue: u16, dir: Dir) -> usize {
    2 * ue as usize + dir.index()
}
