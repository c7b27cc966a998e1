//! airpath's TCP at one end of a live path, instead of a kernel's.
//!
//! The endpoint is a [`Port`], which captures and counts as at any other end, with airpath's [`Connection`]s
//! attached: it terminates packets of the path, and creates packets with bytes and correct checksums. It draws
//! initial sequence numbers from the run's seed; its only clock is the path's. The services are in [`service`].
//!
//! The numbers of connections and of half-open connections are bounded: further SYNs are dropped, as by a kernel
//! without SYN cookies, and counted; a connection in TIME-WAIT is removed if a new one needs its slot. A segment
//! without a connection is answered with a reset. Packets that are not TCP to one of the endpoint's addresses, or
//! have a wrong checksum, are discarded.

pub mod counts;
pub mod service;

use crate::port::Port;
use airpath_core::element::{self, Cx, Element, Layout, with_counters};
use airpath_core::host::RealEnd;
use airpath_core::host::probe_tcp;
use airpath_core::packet::{Dir, Flags, IpVersion, Packet};
use airpath_core::rng::{self, Stream};
use airpath_core::tcp::connection::{Ended, Limits, Reset, Sent, State};
use airpath_core::tcp::{self, Connection};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, Kind as Probe};
use airpath_core::wire::{Endpoints, checked_payload, encode_segment, endpoints};
use counts::{Counts, Totals};
use serde_json::{Value, json};
use service::{Application, Service};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

/// Connections at a time, TIME-WAIT included.
const MOST_CONNECTIONS: usize = 1024;
/// Connections at a time whose SYN-ACK has not been acknowledged.
const MOST_HALF_OPEN: usize = 128;
/// A connection that was refused is tried again after this: the listener may not have started yet.
const TRY_AGAIN: Duration = Duration::from_millis(100);
/// The timer for that; the others are those of connections.
const NEXT_OPEN: u32 = MOST_CONNECTIONS as u32;
/// The MTU of the devices.
const MTU: u64 = 1500;

/// Settings of an endpoint.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The direction in which it sends.
    pub dir: Dir,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// Its TCP.
    pub tcp: Arc<tcp::Config>,
    /// Octets that it sends on a connection; `u64::MAX` until the other end closes.
    pub size: u64,
    /// It reads nothing for so long after a connection has begun.
    pub pause: Duration,
    /// Connections that it opens, one after the other, with the numbers of their flows.
    pub opens: Vec<(u16, Endpoints)>,
    /// Number of the interface over which it opens them.
    pub opens_over: u16,
    /// What is done with these.
    pub opens_for: Service,
    /// Whether the trace omits this endpoint's TCP, because it records the other end's.
    pub is_silent: bool,
    /// When it opens the first.
    pub opens_at: Instant,
    /// Seed of the run.
    pub run_seed: u64,
}

/// A connection with its application.
struct Slot {
    connection: Box<Connection>,
    application: Application,
    /// We are `src`.
    endpoints: Endpoints,
    /// Number of the interface of the UE.
    ue: u16,
    flow: u16,
    /// It is the one of `opens` with this number.
    opens: Option<usize>,
    was_half_open: bool,
}

/// airpath's endpoint on a live path.
pub struct Endpoint {
    port: Port,
    plan: Plan,
    limits: Limits,
    sequence_numbers: Stream,
    slots: Vec<Option<Slot>>,
    vacant: Vec<usize>,
    by_endpoints: HashMap<(std::net::SocketAddr, std::net::SocketAddr), usize>,
    by_flow: HashMap<u16, usize>,
    half_open: usize,
    /// Which of `plan.opens` comes next.
    next_open: usize,
    counts: Counts,
    /// Sums over the connections that have ended.
    totals: Totals,
    /// What has become of the connections that have ended, by flow.
    past: BTreeMap<u16, Value>,
    identification: u16,
    /// Key of its first timer.
    first_timer: u32,
}

impl Endpoint {
    /// An end behind `port`.
    pub fn new(port: Port, plan: Plan) -> Self {
        let name = if plan.dir == Dir::Downlink { "server.sequence_numbers" } else { "ue.sequence_numbers" };
        Self {
            port: port.without_sender_events(),
            limits: Limits::default(),
            sequence_numbers: rng::stream(plan.run_seed, name),
            plan,
            slots: (0..MOST_CONNECTIONS).map(|_| None).collect(),
            vacant: (0..MOST_CONNECTIONS).rev().collect(),
            by_endpoints: HashMap::new(),
            by_flow: HashMap::new(),
            half_open: 0,
            next_open: 0,
            counts: Counts::default(),
            totals: Totals::default(),
            past: BTreeMap::new(),
            identification: 0,
            first_timer: 0,
        }
    }

    /// The direction in which it sends.
    pub fn dir(&self) -> Dir {
        self.plan.dir
    }

    /// The port in front.
    pub fn port(&self) -> &Port {
        &self.port
    }

    /// Whether all remaining connections are in TIME-WAIT.
    pub fn is_idle(&self) -> bool {
        self.open().next().is_none()
    }

    fn open(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().flatten().filter(|slot| slot.connection.state() != State::TimeWait)
    }

    /// Sums of the senders' counters so far.
    pub fn totals(&self) -> Totals {
        let mut totals = self.totals;
        self.slots.iter().flatten().for_each(|slot| totals.add(&slot.connection));
        totals
    }

    /// The endpoint's part of a status report while the link is up.
    pub fn status(&self) -> Value {
        let totals = self.totals();
        json!({
            "open": self.open().count(),
            "retransmissions": totals.retransmissions,
            "timeouts": totals.timeouts,
        })
    }

    /// The endpoint's counters and the states of its remaining connections.
    pub fn summary(&self) -> Value {
        let mut states: BTreeMap<String, u64> = BTreeMap::new();
        for slot in self.slots.iter().flatten() {
            *states.entry(format!("{:?}", slot.connection.state())).or_default() += 1;
        }
        let summary = json!({
            "end": if self.plan.dir == Dir::Downlink { "server" } else { "ue" },
            "open": self.open().count(),
            "states": states,
            "sender": self.totals(),
        });
        with_counters(summary, &self.counts)
    }

    /// Report on a flow, if this endpoint has or had its connection.
    pub fn flow(&self, number: u16) -> Option<Value> {
        let now = self.by_flow.get(&number).and_then(|index| self.slots[*index].as_ref());
        now.map(|slot| self.report(slot)).or_else(|| self.past.get(&number).cloned())
    }

    fn report(&self, slot: &Slot) -> Value {
        let mut report = slot.application.report();
        report["state"] = json!(format!("{:?}", slot.connection.state()));
        report["ended"] = json!(slot.connection.ended().map(|ended| format!("{ended:?}")));
        report["congestion_control"] =
            json!(format!("airpath {}+{}", self.plan.tcp.cc.name(), self.plan.tcp.recovery.name()));
        let Some(duplex) = slot.connection.duplex() else { return report };
        report["sender"] = json!(duplex.sender().counters());
        report["receiver"] = json!(duplex.receiver().counters());
        let receiver = duplex.receiver();
        report["ecn"] = json!(duplex.sender().ecn().map(|ecn| {
            tcp::ecn::Report {
                marks: receiver.marks().unwrap_or_default(),
                accurate: ecn
                    .accurate
                    .zip(receiver.ecn_counts())
                    .map(|(both, counted)| tcp::ecn::BothCounts { receiver: counted, ..both }),
                ..ecn
            }
        }));
        report
    }

    /// A packet for us has arrived.
    fn take(&mut self, cx: &mut Cx<'_>, mut packet: Box<Packet>) {
        let body = packet.body.take();
        let bytes = body.as_ref().map(|body| body.bytes.as_slice());
        let flow = packet.flow;
        let index = if let Some(bytes) = bytes {
            let Some(addresses) = self.addresses(&packet, bytes) else {
                self.counts.not_served += 1;
                return cx.free(packet);
            };
            let Some(payload) = checked_payload(bytes) else {
                self.counts.bad_checksums += 1;
                return cx.free(packet);
            };
            let Some(index) = self.find(cx, addresses, &packet) else { return cx.free(packet) };
            self.handle_segment(cx, index, &packet, &bytes[payload]);
            index
        } else if let Some(index) = self.by_flow.get(&flow).copied().filter(|_| packet.payload == 0) {
            // A packet that a middlebox created has no bytes.
            self.handle_segment(cx, index, &packet, &[]);
            index
        } else {
            self.counts.not_served += 1;
            return cx.free(packet);
        };
        cx.free(packet);
        self.pump(cx, index);
    }

    /// Whose packet it is, we being `src`; `None` if it is no TCP for us.
    fn addresses(&self, packet: &Packet, bytes: &[u8]) -> Option<Endpoints> {
        let (_, Endpoints { src, dst }) = endpoints(bytes).filter(|_| packet.is_tcp())?;
        self.plan.addresses.contains(&dst.ip()).then_some(Endpoints { src: dst, dst: src })
    }

    /// Finds the connection of a segment, or opens one for a SYN.
    fn find(&mut self, cx: &mut Cx<'_>, addresses: Endpoints, packet: &Packet) -> Option<usize> {
        let known = self.by_endpoints.get(&(addresses.src, addresses.dst)).copied();
        let gives_way = |slot: &Slot| slot.connection.gives_way_to(packet);
        if let Some(index) = known {
            if !self.slots[index].as_ref().is_some_and(gives_way) {
                return Some(index);
            }
            self.remove(cx, index);
        }
        let [syn, ack, rst] = [Flags::SYN, Flags::ACK, Flags::RST].map(|flag| packet.flags.has(flag));
        let service = Service::at(addresses.src.port());
        let Some(service) = service.filter(|_| syn && !ack && !rst) else {
            self.answer_stray(cx, addresses, packet);
            return None;
        };
        self.accept(cx, addresses, packet, service)
    }

    fn answer_stray(&mut self, cx: &mut Cx<'_>, addresses: Endpoints, packet: &Packet) {
        let Some(reset) = Reset::answering(packet) else { return };
        self.counts.strays_reset += 1;
        let mut answer = cx.packet();
        reset.write(packet.ip(), &mut answer);
        self.send(cx, answer, addresses, (packet.ue, packet.flow), &[]);
    }

    fn accept(
        &mut self,
        cx: &mut Cx<'_>,
        endpoints: Endpoints,
        syn: &Packet,
        service: Service,
    ) -> Option<usize> {
        if self.half_open >= MOST_HALF_OPEN || self.vacant.is_empty() && !self.make_room(cx) {
            self.counts.syns_dropped += 1;
            return None;
        }
        self.counts.accepted += 1;
        let (config, iss) = (self.config(syn.ip()), self.sequence_number());
        let connection = Connection::accept(&config, self.limits, iss, cx.now, syn);
        Some(self.insert(cx.now, connection, endpoints, (syn.ue, syn.flow), service, None))
    }

    /// Opens the next connection that this end is to open.
    fn open_next(&mut self, cx: &mut Cx<'_>) {
        let Some((flow, endpoints)) = self.plan.opens.get(self.next_open).copied() else { return };
        // Between two attempts the other end may have opened one over the same ports.
        let is_taken = self.by_endpoints.contains_key(&(endpoints.src, endpoints.dst));
        if is_taken || self.vacant.is_empty() && !self.make_room(cx) {
            return cx.arm(self.first_timer + NEXT_OPEN, cx.now + TRY_AGAIN);
        }
        self.counts.opened += 1;
        let ip = if endpoints.src.is_ipv4() { IpVersion::Ipv4 } else { IpVersion::Ipv6 };
        let (config, iss) = (self.config(ip), self.sequence_number());
        let connection = Connection::connect(&config, self.limits, iss, cx.now);
        let opens = Some(self.next_open);
        self.next_open += 1;
        let flow = (self.plan.opens_over, flow);
        let index = self.insert(cx.now, connection, endpoints, flow, self.plan.opens_for, opens);
        self.pump(cx, index);
    }

    /// TCP configuration for this IP version, with segments that fit the devices' MTU.
    fn config(&self, ip: IpVersion) -> tcp::Config {
        let most = MTU - u64::from(ip.header_bytes() + tcp::TCP_HEADER_BYTES);
        let mss = self.plan.tcp.mss.min(airpath_core::units::Bytes::from_bytes(most));
        tcp::Config { ip, mss, ..(*self.plan.tcp).clone() }
    }

    fn sequence_number(&mut self) -> u32 {
        (self.sequence_numbers.next_u64() >> 32) as u32
    }

    fn insert(
        &mut self,
        now: Instant,
        connection: Connection,
        endpoints: Endpoints,
        (ue, flow): (u16, u16),
        service: Service,
        opens: Option<usize>,
    ) -> usize {
        let index = self.vacant.pop().unwrap_or_default();
        let was_half_open = connection.state() == State::SynReceived;
        self.half_open += usize::from(was_half_open);
        self.by_endpoints.insert((endpoints.src, endpoints.dst), index);
        self.by_flow.insert(flow, index);
        let application = Application::new(service, self.plan.size, now + self.plan.pause);
        let connection = Box::new(connection);
        self.slots[index] = Some(Slot { connection, application, endpoints, ue, flow, opens, was_half_open });
        index
    }

    /// Ends the TIME-WAIT that has the least left; false if there is none.
    fn make_room(&mut self, cx: &mut Cx<'_>) -> bool {
        let waits = |index: &usize| {
            let slot = self.slots[*index].as_ref()?;
            (slot.connection.state() == State::TimeWait).then(|| slot.connection.deadline())
        };
        let first = (0..MOST_CONNECTIONS).filter(|index| waits(index).is_some()).min_by_key(waits);
        if let Some(index) = first {
            self.counts.made_room += 1;
            self.remove(cx, index);
        }
        first.is_some()
    }

    /// The connection is over, or as good as that.
    fn remove(&mut self, cx: &mut Cx<'_>, index: usize) {
        let Some(slot) = self.slots[index].take() else { return };
        cx.disarm(self.first_timer + index as u32);
        self.vacant.push(index);
        self.half_open -= usize::from(slot.was_half_open);
        let ends = (slot.endpoints.src, slot.endpoints.dst);
        if self.by_endpoints.get(&ends) == Some(&index) {
            self.by_endpoints.remove(&ends);
        }
        if self.by_flow.get(&slot.flow) == Some(&index) {
            self.by_flow.remove(&slot.flow);
        }
        let report = self.report(&slot);
        if slot.flow < airpath_core::flows::MOST_FLOWS {
            self.past.insert(slot.flow, report);
        }
        self.counts.add(slot.connection.ended().unwrap_or(Ended::Closed));
        self.totals.add(&slot.connection);
    }

    fn handle_segment(&mut self, cx: &mut Cx<'_>, index: usize, packet: &Packet, payload: &[u8]) {
        let Some(slot) = &mut self.slots[index] else { return };
        slot.connection.handle_segment(cx.now, packet, payload);
        if let Some(duplex) = slot.connection.duplex_mut().filter(|_| !self.plan.is_silent) {
            probe_tcp(cx, (slot.ue, slot.flow), duplex.sender_mut(), Some(packet));
        }
    }

    /// Lets the application work, sends what may be sent, and arms the timer.
    fn pump(&mut self, cx: &mut Cx<'_>, index: usize) {
        let now = cx.now;
        loop {
            let Some(slot) = &mut self.slots[index] else { return };
            slot.application.work(now, &mut slot.connection);
            let (mut packet, mut payload) = (cx.packet(), Vec::new());
            let Some(sent) = slot.connection.poll_transmit(now, &mut packet, &mut payload) else {
                cx.free(packet);
                break;
            };
            let (flow, endpoints) = ((slot.ue, slot.flow), slot.endpoints);
            probe_sent(cx, flow, packet.id, &sent);
            self.send(cx, packet, endpoints, flow, &payload);
        }
        self.settle(cx, index);
    }

    /// Takes note of what has become of a connection.
    fn settle(&mut self, cx: &mut Cx<'_>, index: usize) {
        let Some(slot) = &mut self.slots[index] else { return };
        if slot.was_half_open && slot.connection.state() != State::SynReceived {
            slot.was_half_open = false;
            self.half_open -= 1;
        }
        let ended = slot.connection.ended();
        let is_over = ended.is_some() || slot.connection.state() == State::TimeWait;
        if is_over && let Some(number) = slot.opens.take() {
            let refused = ended == Some(Ended::Refused);
            self.next_open = number + usize::from(!refused);
            cx.arm(self.first_timer + NEXT_OPEN, if refused { cx.now + TRY_AGAIN } else { cx.now });
        }
        if ended.is_some() {
            return self.remove(cx, index);
        }
        let work = slot.application.deadline(&slot.connection).filter(|at| *at > cx.now);
        match slot.connection.deadline().into_iter().chain(work).min() {
            Some(at) => cx.arm(self.first_timer + index as u32, at),
            None => cx.disarm(self.first_timer + index as u32),
        }
    }

    /// Makes the packet's bytes, and lets it out.
    fn send(
        &mut self,
        cx: &mut Cx<'_>,
        mut packet: Box<Packet>,
        endpoints: Endpoints,
        flow: (u16, u16),
        payload: &[u8],
    ) {
        (packet.ue, packet.flow) = flow;
        self.identification = self.identification.wrapping_add(1);
        let mut body = Box::<airpath_core::packet::Body>::default();
        encode_segment(&packet, endpoints, self.identification, payload, &mut body.bytes);
        packet.body = Some(body);
        self.port.pass(cx, self.plan.dir, &mut packet);
        cx.emit(self.plan.dir, packet);
    }
}

/// Records `segment_sent` for a segment with data.
fn probe_sent(cx: &mut Cx<'_>, (ue, flow): (u16, u16), packet: u32, sent: &Sent) {
    let Sent { seq, len: payload_bytes, cause } = *sent;
    if payload_bytes > 0 {
        let event = Event::SegmentSent { ue, flow, packet, seq, payload_bytes, cause };
        cx.probe(Probe::SegmentSent, move || event);
    }
}

impl RealEnd for Endpoint {
    fn set_first_timer(&mut self, first: u32) {
        self.first_timer = first;
    }
}

impl Element for Endpoint {
    fn layout(&self) -> Layout {
        Layout { timers: NEXT_OPEN + 1, ..Layout::default() }
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        if !self.plan.opens.is_empty() {
            cx.arm(self.first_timer + NEXT_OPEN, self.plan.opens_at);
        }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: element::Port, mut packet: Box<Packet>) {
        let dir = port.dir();
        if dir == self.plan.dir {
            // From outside nothing comes: what would have is a kernel's.
            return cx.free(packet);
        }
        self.port.pass(cx, dir, &mut packet);
        self.take(cx, packet);
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        let key = key - self.first_timer;
        if key == NEXT_OPEN {
            return self.open_next(cx);
        }
        let index = key as usize;
        let Some(slot) = &mut self.slots[index] else { return };
        slot.connection.handle_deadline(cx.now);
        if let Some(duplex) = slot.connection.duplex_mut().filter(|_| !self.plan.is_silent) {
            probe_tcp(cx, (slot.ue, slot.flow), duplex.sender_mut(), None);
        }
        self.pump(cx, index);
    }
}
