//! Split TCP for real packets: two whole endpoints of airpath's TCP per connection ([`Connection`]), and the octets
//! between them.
//!
//! A SYN opens both: the box answers it on behalf of its destination and sends its own SYN there on behalf of its
//! source. Addresses and ports stay, so the box is transparent to the hosts; sequence numbers, options, windows,
//! round-trip times and recovery are each side's own. The TCP is configured by `[tcp]`, on the radio side by the box's
//! own `tcp` if there is one, limited to the options that the other end offers, with segments as large as the smaller
//! MSS and the devices allow.
//!
//! Octets are copied from one side to the other while the latter holds less than `buffer` unacknowledged octets. Octets
//! not copied stay in the receive buffer of their side, of `buffer` octets as well, and close its window. A FIN is
//! forwarded, per direction, when all data before it has been; a reset, a refusal and a timeout are forwarded at once,
//! as a reset.
//!
//! Both sides enter TIME-WAIT like any endpoint. After a reset, segments still in flight to the removed connection are
//! answered with a reset for as long. An ended connection gives way to a new one over the same ports. With
//! [`MOST_CONNECTIONS`] connections, one in TIME-WAIT is removed; if there is none, the new connection passes unread.
//! So do connections whose SYN the box has not seen, and all packets other than TCP. A segment with a wrong checksum is
//! dropped, as by any endpoint.
//!
//! Left out: hand-overs of the box, data in a SYN (the peer retransmits it), path MTU discovery, urgent data.

use super::entrance::Entrance;
use super::{Config, Passed, Wire};
use crate::element::{Cx, Element, Layout, Port};
use crate::middlebox::Plan;
use crate::middlebox::acks::Deadlines;
use crate::packet::{Body, Dir, Flags, IpVersion, Packet};
use crate::rng::{self, Stream};
use crate::tcp::connection::{Ended, Limits, Reset, State};
use crate::tcp::{self, Connection, TCP_HEADER_BYTES};
use crate::time::Instant;
use crate::trace::Reason;
use crate::units::Bytes;
use crate::wire::{Endpoints, checked_payload, encode_segment, endpoints};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Maximum number of connections, including connections in TIME-WAIT.
const MOST_CONNECTIONS: usize = 1024;
/// Ended connections that the report lists at most.
const MOST_TOLD: usize = 4096;
/// Octets of an IP packet that every device carries: Ethernet's.
const MTU: u64 = 1500;
/// Timers.
const CONNECTIONS: u32 = 0;
const ENTRANCE: u32 = 1;

/// The UE, the server's address and the UE's.
type Key = (u16, SocketAddr, SocketAddr);

/// A packet's connection, if it is TCP.
fn key_of(dir: Dir, packet: &Packet) -> Option<Key> {
    let bytes = &packet.body.as_ref().filter(|_| packet.is_tcp())?.bytes;
    let (_, Endpoints { src, dst }) = endpoints(bytes)?;
    Some(match dir {
        Dir::Downlink => (packet.ue, src, dst),
        Dir::Uplink => (packet.ue, dst, src),
    })
}

/// One side of a split connection.
struct Side {
    connection: Connection,
    /// Octets that were given to it.
    written: u64,
    peak_held: u64,
}

impl Side {
    fn new(connection: Connection) -> Self {
        Self { connection, written: 0, peak_held: 0 }
    }

    /// Octets given to it that its other end has not acknowledged.
    fn held(&self) -> u64 {
        let una = self.connection.duplex().map_or(0, |duplex| duplex.sender().state().una);
        self.written.saturating_sub(una)
    }

    fn is_over(&self) -> bool {
        self.connection.ended().is_some() || self.connection.state() == State::TimeWait
    }

    fn report(&self) -> Value {
        let counters = self.connection.duplex().map(|duplex| duplex.sender().counters()).unwrap_or_default();
        json!({
            "state": format!("{:?}", self.connection.state()),
            "ended": self.connection.ended().map(|ended| format!("{ended:?}")),
            "bytes_given": self.written,
            "held_bytes": { "peak": self.peak_held, "at_end": self.held() },
            "segments_sent": counters.segments_sent,
            "retransmissions": counters.retransmissions(),
            "timeouts": counters.timeouts,
        })
    }
}

/// A connection that the box has ended.
struct Split {
    key: Key,
    /// Flow ID of the connection.
    flow: u16,
    /// Direction of the SYN that opened it.
    opened: Dir,
    /// Sides by the direction in which they send: towards the UE, towards the server.
    sides: [Side; 2],
    /// When its timer expires.
    armed: Option<Instant>,
    /// When the connection is removed, if both sides have ended; segments still in flight until then are answered as by
    /// a closed endpoint.
    forgotten_at: Option<Instant>,
}

impl Split {
    fn is_over(&self) -> bool {
        self.sides.iter().all(Side::is_over)
    }

    /// Passes octets, FINs and resets on to the other side.
    fn relay(&mut self, now: Instant, buffer: u64, octets: &mut Vec<u8>) {
        let [one, other] = &mut self.sides;
        relay(now, one, other, buffer, octets);
        relay(now, other, one, buffer, octets);
    }

    /// Endpoints of packets towards `towards`.
    fn endpoints(&self, towards: Dir) -> Endpoints {
        let (_, server, client) = self.key;
        match towards {
            Dir::Downlink => Endpoints { src: server, dst: client },
            Dir::Uplink => Endpoints { src: client, dst: server },
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.sides.iter().filter_map(|side| side.connection.deadline()).min()
    }

    fn report(&self) -> Value {
        let [ue, server] = &self.sides;
        json!({
            "ue": self.key.0,
            "flow": self.flow,
            "opened_by": if self.opened == Dir::Uplink { "ue" } else { "server" },
            "towards_ue": ue.report(),
            "towards_server": server.report(),
        })
    }
}

/// Copies received octets from one side to the other if there is room.
fn relay(now: Instant, from: &mut Side, to: &mut Side, buffer: u64, octets: &mut Vec<u8>) {
    loop {
        let room = buffer.saturating_sub(to.held()).min(to.connection.writable());
        if room == 0 || from.connection.readable() == 0 {
            break;
        }
        octets.clear();
        from.connection.read(now, room, octets);
        to.connection.write(now, octets);
        to.written += octets.len() as u64;
        to.peak_held = to.peak_held.max(to.held());
    }
    if from.connection.is_read_out() && !to.connection.is_shut() {
        to.connection.shutdown(now);
    }
    let has_failed = from.connection.ended().is_some_and(|ended| ended != Ended::Closed);
    if has_failed && !to.is_over() {
        to.connection.abort();
    }
}

/// The box of a session.
pub(super) struct Proxy {
    /// Configurations by the direction in which a side sends.
    tcp: [tcp::Config; 2],
    buffer: u64,
    wire: Wire,
    sequence_numbers: Stream,
    connections: BTreeMap<Key, Split>,
    deadlines: Deadlines<Key>,
    entrance: Entrance,
    passed: [Passed; 2],
    bad_checksums: u64,
    /// Connections for which there was no room.
    refused: u64,
    told: Vec<Value>,
    identification: u16,
    /// Reused.
    octets: Vec<u8>,
}

impl Proxy {
    pub fn new(config: &Config, tcp: &tcp::Config, plan: &Plan<'_>) -> Self {
        let radio = config.tcp.as_deref().unwrap_or(tcp);
        let name = format!("middlebox{}.sequence_numbers", plan.number);
        Self {
            tcp: [radio, tcp].map(|side| tcp::Config {
                receive_buffer: config.buffer,
                receive_buffer_max: None,
                ..side.clone()
            }),
            buffer: config.buffer.as_u64(),
            wire: Wire { delay: config.delay },
            sequence_numbers: rng::stream(plan.run_seed, &name),
            connections: BTreeMap::new(),
            deadlines: Deadlines::default(),
            entrance: Entrance::new(config.delay, config.processing, ENTRANCE),
            passed: <[Passed; 2]>::default(),
            bad_checksums: 0,
            refused: 0,
            told: Vec::new(),
            identification: 0,
            octets: Vec::new(),
        }
    }

    /// The box has a packet in hand.
    fn handle(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        let Some(key) = key_of(dir, &packet) else {
            self.passed[dir.index()].unread += 1;
            return self.wire.emit(cx, dir, packet);
        };
        let facing = dir.reverse().index();
        let gives_way =
            |split: &Split| split.is_over() && split.sides[facing].connection.gives_way_to(&packet);
        if self.connections.get(&key).is_some_and(gives_way) {
            self.remove(cx, key);
        }
        let [syn, ack, rst] = [Flags::SYN, Flags::ACK, Flags::RST].map(|flag| packet.flags.has(flag));
        let is_known = self.connections.contains_key(&key);
        let opens = syn && !ack && !rst;
        if !is_known && !opens {
            self.passed[dir.index()].unknown += 1;
            return self.wire.emit(cx, dir, packet);
        }
        let payload = packet.body.as_ref().and_then(|body| checked_payload(&body.bytes));
        let Some(payload) = payload else {
            self.bad_checksums += 1;
            return cx.drop(dir, packet, Reason::LinkLoss);
        };
        if !is_known && !self.open(cx, dir, key, &packet) {
            self.refused += 1;
            self.passed[dir.index()].unknown += 1;
            return self.wire.emit(cx, dir, packet);
        }
        if is_known
            && let Some(split) = self.connections.get_mut(&key)
            && let Some(body) = &packet.body
        {
            let side = &mut split.sides[facing];
            if side.connection.ended().is_some()
                && let Some(reset) = Reset::answering(&packet)
            {
                let (endpoints, mut answer) = (split.endpoints(dir.reverse()), cx.packet());
                reset.write(packet.ip(), &mut answer);
                (answer.ue, answer.flow) = (packet.ue, packet.flow);
                self.send(cx, dir.reverse(), endpoints, answer, &[]);
            } else {
                side.connection.handle_segment(cx.now, &packet, &body.bytes[payload]);
            }
        }
        cx.keep(dir, packet);
        self.pump(cx, key);
    }

    /// Encodes a packet's octets and emits it.
    fn send(
        &mut self,
        cx: &mut Cx<'_>,
        towards: Dir,
        endpoints: Endpoints,
        mut packet: Box<Packet>,
        payload: &[u8],
    ) {
        cx.tell_made(&packet, 0);
        self.identification = self.identification.wrapping_add(1);
        let mut body = Box::<Body>::default();
        encode_segment(&packet, endpoints, self.identification, payload, &mut body.bytes);
        packet.body = Some(body);
        self.wire.emit(cx, towards, packet);
    }

    /// A connection begins: the box answers the SYN and sends its own SYN. Returns false if there is no room for it.
    fn open(&mut self, cx: &mut Cx<'_>, dir: Dir, key: Key, syn: &Packet) -> bool {
        if self.connections.len() >= MOST_CONNECTIONS {
            let mut over = self.connections.values().filter(|split| split.is_over());
            let Some(first) = over.next().map(|split| split.key) else { return false };
            self.remove(cx, first);
        }
        let [answers, opens] = [dir.reverse(), dir].map(|towards| self.side_config(towards, syn));
        let front = Connection::accept(&answers, Limits::default(), self.sequence_number(), cx.now, syn);
        let back = Connection::connect(&opens, Limits::default(), self.sequence_number(), cx.now);
        let (front, back) = (Side::new(front), Side::new(back));
        let sides = if dir == Dir::Uplink { [front, back] } else { [back, front] };
        let split = Split { key, flow: syn.flow, opened: dir, sides, armed: None, forgotten_at: None };
        self.connections.insert(key, split);
        true
    }

    /// Configuration of airpath's TCP towards one end: segments fit the devices and are no larger than the SYN's sender
    /// accepts.
    fn side_config(&self, towards: Dir, syn: &Packet) -> tcp::Config {
        let ours = &self.tcp[towards.index()];
        let most = MTU - u64::from(syn.ip().header_bytes() + TCP_HEADER_BYTES);
        let theirs = match (syn.options().mss, syn.ip()) {
            // RFC 9293 (3.7.1): the MSS of a SYN without the option.
            (0, IpVersion::Ipv4) => 536,
            (0, IpVersion::Ipv6) => 1220,
            (mss, _) => u64::from(mss.max(LEAST_MSS)),
        };
        let mss = ours.mss.min(Bytes::from_bytes(most.min(theirs)));
        tcp::Config { ip: syn.ip(), mss, ..ours.clone() }
    }

    fn sequence_number(&mut self) -> u32 {
        (self.sequence_numbers.next_u64() >> 32) as u32
    }

    /// The connection is over, or as good as that.
    fn remove(&mut self, cx: &mut Cx<'_>, key: Key) {
        if let Some(gone) = self.connections.remove(&key) {
            self.deadlines.change(cx, key, gone.armed, None);
            if self.told.len() < MOST_TOLD {
                self.told.push(gone.report());
            }
        }
    }

    /// Sends all permitted segments on both sides, and arms the timer.
    fn pump(&mut self, cx: &mut Cx<'_>, key: Key) {
        let mut octets = std::mem::take(&mut self.octets);
        if let Some(split) = self.connections.get_mut(&key) {
            split.relay(cx.now, self.buffer, &mut octets);
        }
        for towards in Dir::BOTH {
            while let Some(split) = self.connections.get_mut(&key) {
                let mut packet = cx.packet();
                octets.clear();
                let side = &mut split.sides[towards.index()];
                if side.connection.poll_transmit(cx.now, &mut packet, &mut octets).is_none() {
                    cx.free(packet);
                    break;
                }
                (packet.ue, packet.flow, packet.sent_at) = (split.key.0, split.flow, cx.now);
                let endpoints = split.endpoints(towards);
                self.send(cx, towards, endpoints, packet, &octets);
            }
        }
        self.octets = octets;
        let Some(split) = self.connections.get_mut(&key) else { return };
        if split.sides.iter().all(|side| side.connection.ended().is_some()) {
            split.forgotten_at.get_or_insert(cx.now + Limits::default().time_wait);
        }
        let next = split.forgotten_at.or_else(|| split.deadline());
        let before = std::mem::replace(&mut split.armed, next);
        if next != before {
            self.deadlines.change(cx, key, before, next);
        }
    }
}

/// A smaller MSS is taken for this one, as in Linux.
const LEAST_MSS: u16 = 48;

impl Element for Proxy {
    fn layout(&self) -> Layout {
        Layout { timers: 3, lanes: vec![Dir::Downlink], ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        if let Some(packet) = self.entrance.enter(cx, dir, packet) {
            self.handle(cx, dir, packet);
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        if self.entrance.has_timer(key) {
            while let Some((dir, packet)) = self.entrance.next(cx, key) {
                self.handle(cx, dir, packet);
            }
            return;
        }
        debug_assert_eq!(key, CONNECTIONS);
        while let Some(due) = self.deadlines.expired(cx.now) {
            let Some(split) = self.connections.get_mut(&due) else {
                debug_assert!(false, "a deadline of no connection");
                break;
            };
            if split.forgotten_at.is_some() {
                self.remove(cx, due);
                continue;
            }
            for side in &mut split.sides {
                if side.connection.deadline().is_some_and(|at| at <= cx.now) {
                    side.connection.handle_deadline(cx.now);
                }
            }
            self.pump(cx, due);
        }
        self.deadlines.arm_first(cx);
    }

    fn report(&self, _cx: &mut Cx<'_>) -> Value {
        let open = self.connections.values().map(Split::report);
        let connections: Vec<_> = self.told.iter().cloned().chain(open).collect();
        let [downlink, uplink] = &self.passed;
        json!({
            "element": "middlebox.split",
            "downlink": downlink,
            "uplink": uplink,
            "bad_checksums": self.bad_checksums,
            "no_room": self.refused,
            "peak_in_processor": self.entrance.peak,
            "connections": connections,
        })
    }
}

#[cfg(test)]
mod tests;
