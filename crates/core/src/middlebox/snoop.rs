//! Snoop: repairs radio losses locally, transparently to the sender.
//!
//! H. Balakrishnan, S. Seshan, E. Amir, R. H. Katz, *Improving TCP/IP Performance over Wireless Networks*, MobiCom
//! 1995; H. Balakrishnan, V. N. Padmanabhan, S. Seshan, R. H. Katz, *A Comparison of Mechanisms for Improving TCP
//! Performance over Wireless Links*, IEEE/ACM Transactions on Networking 5(6), 1997. The box reads headers and ends no
//! connection: losing its state costs time but no octet.
//!
//! **Data to the UE.** Whole packets are cached until the UE acknowledges them.
//!
//! * A duplicate ACK for a cached segment indicates a radio loss: on the first one the box retransmits the segment and
//!   suppresses the ACK. It then suppresses as many duplicate ACKs as the segments in flight can cause; one more, or a
//!   SACK block for a segment sent after the retransmission, means that the retransmission was lost too. SACK blocks
//!   reveal further gaps, which are repaired at once; they are removed from ACKs that would reveal a gap under repair
//!   to the sender.
//! * A local timer, RFC 6298 applied to the RTT of the radio as measured by the box (Karn's algorithm, backoff),
//!   retransmits the segment that the UE waits for. It runs once an RTT has been measured.
//! * Segments that never reached the box, were dropped by the buffer after it, or were retransmitted often enough are
//!   left to the sender: their duplicate ACKs pass. So do those of a segment that the sender has retransmitted (out of
//!   order, or already known): it counts them.
//! * If the sender retransmits a segment that the UE has acknowledged, the box drops it and replies with the UE's
//!   latest ACK. The box never acknowledges more than the UE has.
//!
//! **Data from the UE** (`uplink_nacks`). The box detects which segments were lost on the radio, and informs the UE by
//! an ACK of the server's latest number whose SACK blocks list the data received over the radio, [`Flags::NACK`]. A
//! sender that supports radio network feedback ([`crate::tcp::recovery::rnf`]) retransmits the missing segments between
//! them and keeps its window; for other senders it is a duplicate ACK. It is sent when the gap is detected, and
//! repeated each time the radio has had time to fill it. SACK must be in use, by the handshake or, where a flow has
//! none, its configuration; accurate ECN must not be (RFC 9768 reads the bit as part of a count). There is room for
//! three blocks only: further gaps wait until the first ones are filled.
//!
//! A sequence number a GiB or more from the window belongs to another connection (RFC 7323 (2.3)). SYN and RST reset
//! the state, acknowledged FINs remove it. With `connections` connections, a new one replaces the least recently used
//! one.
//!
//! Limits. A copy waits in the bearer's buffer after all packets already forwarded: overtaking is impossible there,
//! although the authors give copies priority. Over a link layer that repairs losses itself there is nothing to repair,
//! and its delay makes the timer retransmit segments that are merely late: `spurious` counts the copies that a
//! duplicate report (RFC 2883) names or whose ACK came too early to be caused by them; there may be more. DEVIATION: an
//! ACK older than the latest passes, where the authors drop it (`drop_stale_acks`); the authors also measure only one
//! RTT per window.

mod downlink;
mod uplink;

use super::acks::{Deadlines, check_limits, to_evict};
use super::{Around, Component, Plan};
use crate::element::{Cx, Element, Layout, Port, RadioEvent, with_counters};
use crate::error::ScenarioError;
use crate::host::FlowSpec;
use crate::packet::{Dir, Flags, Packet};
use crate::tcp::{Handshake, rto};
use crate::time::{Duration, Instant};
use crate::trace::{Event, Kind, Reason, SnoopAction};
use downlink::{Accounting, Downlink, Limits, Outcome};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use uplink::Uplink;

/// Repairs losses of the radio from a cache at the RNC: Balakrishnan et al. 1995.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Packets cached per connection at most; further ones are not cached.
    pub cache_packets: u32,
    /// Maximum number of connections; a further one replaces the least recently used one.
    pub connections: u32,
    /// Minimum time after which the box retransmits a packet without a duplicate ACK.
    pub min_timeout: Duration,
    /// Maximum number of retransmissions of a packet by the box, and of NACKs for a gap; after that the endpoints
    /// recover. 0 for none.
    pub max_local_retransmissions: u32,
    /// Whether the UE is informed which of its segments were lost on the radio.
    pub uplink_nacks: bool,
    /// Whether an ACK without data that is older than the latest is dropped, as its authors do.
    pub drop_stale_acks: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            cache_packets: 200,
            connections: 1000,
            min_timeout: Duration::from_millis(200),
            max_local_retransmissions: 5,
            uplink_nacks: true,
            drop_stale_acks: false,
        }
    }
}

/// Maximum RTO of the box: RFC 6298 (2.5).
const MAX_TIMEOUT: Duration = Duration::from_secs(60);

impl Config {
    fn limits(&self) -> Limits {
        let initial = Duration::from_secs(1).max(self.min_timeout);
        Limits {
            packets: self.cache_packets as usize,
            retransmissions: self.max_local_retransmissions,
            timer: rto::Config { initial, min: self.min_timeout, max: MAX_TIMEOUT, ..rto::Config::default() },
        }
    }
}

impl Component for Config {
    fn build(&self, plan: &Plan<'_>) -> Box<dyn Element> {
        let knows_sack = |spec: &&FlowSpec| {
            spec.tcp.sack && spec.tcp.handshake == Handshake::None && !spec.tcp.ecn.is_accurate()
        };
        Box::new(Snoop {
            known_sack: plan.flows.iter().filter(knows_sack).map(|spec| (spec.ue, spec.flow)).collect(),
            config: self.clone(),
            connections: BTreeMap::new(),
            deadlines: Deadlines::default(),
            uses: 0,
            accounting: Accounting {
                limits: self.limits(),
                counters: Counters::default(),
                copies: Vec::new(),
            },
        })
    }

    fn validate(&self, _around: &Around<'_>) -> Result<(), ScenarioError> {
        let limits = [("cache_packets", self.cache_packets), ("connections", self.connections)];
        check_limits(&limits, "the box could repair nothing")?;
        if self.min_timeout.is_zero() || self.min_timeout > MAX_TIMEOUT {
            let message = format!("{} is no time to wait for an ACK", self.min_timeout);
            let hint = "write a time up to 60 s, such as \"200 ms\"";
            return Err(ScenarioError::new("min_timeout", message, hint));
        }
        Ok(())
    }
}

/// Both directions of a connection.
struct Connection {
    /// `None` before the first data or SYN from the server.
    downlink: Option<Downlink>,
    uplink: Uplink,
    /// The SYN of either direction permits SACK, by direction.
    permits_sack: [bool; 2],
    /// SACK is in use without a SYN that says so.
    known_sack: bool,
    /// The SYN requests accurate ECN.
    accurate_ecn: bool,
    /// When the connection was used last, in uses.
    used: u64,
    /// When its timer expires.
    armed: Option<Instant>,
}

impl Connection {
    fn takes_nacks(&self) -> bool {
        (self.known_sack || self.permits_sack == [true; 2]) && !self.accurate_ecn
    }

    fn cached(&self) -> usize {
        self.downlink.as_ref().map_or(0, Downlink::len)
    }
}

/// Counters of all connections, as reported.
#[derive(Default, Serialize)]
struct Counters {
    segments_cached: u64,
    segments_not_cached: u64,
    peak_cached_packets: usize,
    /// Packets in all caches.
    #[serde(rename = "cached_at_end")]
    cached: usize,
    local_retransmissions: Retransmissions,
    dupacks_suppressed: u64,
    dupacks_passed: u64,
    stale_acks: u64,
    sender_retransmissions: u64,
    answered: u64,
    forgotten_drops: u64,
    nacks: u64,
    peak_connections: usize,
    connections_evicted: u64,
}

/// Local retransmissions of the box.
#[derive(Default, Serialize)]
struct Retransmissions {
    total: u64,
    dupack: u64,
    timer: u64,
    spurious: u64,
    bytes: u64,
}

type Key = (u16, u16);

struct Snoop {
    config: Config,
    /// Flows without handshake that use SACK.
    known_sack: BTreeSet<Key>,
    /// Connections by UE and flow.
    connections: BTreeMap<Key, Connection>,
    deadlines: Deadlines<Key>,
    /// Uses of connections so far.
    uses: u64,
    accounting: Accounting,
}

/// Records an action in the trace.
fn tell(cx: &mut Cx<'_>, (ue, flow): Key, action: SnoopAction, cached: usize) {
    let cached_packets = cached as u32;
    cx.probe(Kind::Snoop, move || Event::Snoop { ue, flow, action, cached_packets });
}

impl Snoop {
    /// A connection begins or ends.
    fn forget(&mut self, cx: &mut Cx<'_>, key: Key) {
        if let Some(gone) = self.connections.remove(&key) {
            self.accounting.counters.cached -= gone.cached();
            self.deadlines.change(cx, key, gone.armed, None);
        }
    }

    /// Takes a SYN in; a RST ends the connection. Whether there is, or may be, anything else to do with the packet.
    fn begin(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: &Packet) -> bool {
        let key = (packet.ue, packet.flow);
        let flags = packet.flags;
        if flags.has(Flags::RST) || flags.has(Flags::SYN) && !flags.has(Flags::ACK) {
            self.forget(cx, key);
        }
        if flags.has(Flags::RST) {
            return false;
        }
        let is_known = self.connections.contains_key(&key);
        if !is_known && !flags.has(Flags::SYN) && packet.payload == 0 {
            return false;
        }
        if !is_known {
            self.add(cx, key);
        }
        if flags.has(Flags::SYN)
            && let Some(connection) = self.connections.get_mut(&key)
        {
            connection.permits_sack[dir.index()] = packet.options().sack_permitted;
            connection.accurate_ecn |= flags.has(Flags::AE);
            if dir == Dir::Downlink {
                self.accounting.counters.cached -= connection.cached();
                let first = packet.seq.wrapping_add(1);
                connection.downlink = Some(Downlink::new(first, &self.accounting.limits.timer));
            }
        }
        true
    }

    /// Makes room for a connection: evicts the least recently used one if the maximum is reached.
    fn add(&mut self, cx: &mut Cx<'_>, key: Key) {
        if let Some(oldest) = to_evict(&self.connections, self.config.connections, |one| one.used) {
            self.forget(cx, oldest);
            self.accounting.counters.connections_evicted += 1;
        }
        let connection = Connection {
            downlink: None,
            uplink: Uplink::new(&self.accounting.limits.timer),
            permits_sack: [false; 2],
            known_sack: self.known_sack.contains(&key),
            accurate_ecn: false,
            used: 0,
            armed: None,
        };
        self.connections.insert(key, connection);
        self.accounting.counters.peak_connections =
            self.accounting.counters.peak_connections.max(self.connections.len());
    }

    /// A segment from the server. Returns the reply to the server if the UE has the segment already.
    fn handle_downlink(&mut self, cx: &mut Cx<'_>, key: Key, packet: &Packet) -> Option<Box<Packet>> {
        let connection = self.connections.get_mut(&key)?;
        self.uses += 1;
        connection.used = self.uses;
        if packet.flags.has(Flags::ACK) {
            connection.uplink.on_server_ack(packet);
        }
        if packet.payload == 0 && !packet.flags.has(Flags::FIN) {
            return None;
        }
        let before = connection.cached();
        let known = connection.downlink.take().filter(|known| !known.is_foreign(packet.seq));
        let downlink = connection
            .downlink
            .insert(known.unwrap_or_else(|| Downlink::new(packet.seq, &self.accounting.limits.timer)));
        let answer = downlink.on_data(cx.now, packet, &mut self.accounting);
        let after = downlink.len();
        self.note_cached(cx, key, before, after);
        answer
    }

    /// Updates the total of cached packets: a connection had `before` and now has `after`.
    fn note_cached(&mut self, cx: &mut Cx<'_>, key: Key, before: usize, after: usize) {
        self.accounting.counters.cached = self.accounting.counters.cached + after - before;
        self.accounting.counters.peak_cached_packets =
            self.accounting.counters.peak_cached_packets.max(self.accounting.counters.cached);
        if before != after {
            let action = if after > before { SnoopAction::Cached } else { SnoopAction::Freed };
            tell(cx, key, action, after);
        }
    }

    /// A segment from the UE.
    fn handle_uplink(&mut self, cx: &mut Cx<'_>, key: Key, packet: &Packet) -> Outcome {
        let Some(connection) = self.connections.get_mut(&key) else { return Outcome::Passes };
        self.uses += 1;
        connection.used = self.uses;
        if packet.payload > 0 {
            connection.uplink.on_data(cx.now, packet);
        }
        let Some(downlink) = connection.downlink.as_mut().filter(|_| packet.flags.has(Flags::ACK)) else {
            return Outcome::Passes;
        };
        let before = downlink.len();
        let outcome = downlink.on_ack(cx.now, packet, &mut self.accounting);
        let after = downlink.len();
        let has_ended = downlink.has_ended();
        self.note_cached(cx, key, before, after);
        self.accounting.counters.stale_acks += u64::from(outcome == Outcome::Stale);
        if outcome == Outcome::Suppressed {
            tell(cx, key, SnoopAction::DupackSuppressed, after);
        }
        if has_ended && packet.flags.has(Flags::FIN) {
            self.forget(cx, key);
        }
        outcome
    }

    /// Sends the pending packets to the UE and arms the timer.
    fn pump(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(connection) = self.connections.get_mut(&key) else { return };
        let cached = connection.cached();
        for (action, mut copy) in self.accounting.copies.drain(..) {
            tell(cx, key, action, cached);
            cx.number(&mut copy);
            cx.emit(Dir::Downlink, copy);
        }
        let nacks = self.config.uplink_nacks && connection.takes_nacks();
        if nacks && let Some(nack) = connection.uplink.poll_nack(cx.now, &self.accounting.limits) {
            self.accounting.counters.nacks += 1;
            tell(cx, key, SnoopAction::Nack, cached);
            let mut nack = Box::new(nack);
            cx.number(&mut nack);
            cx.emit(Dir::Downlink, nack);
        }
        let downlink =
            connection.downlink.as_ref().and_then(|downlink| downlink.deadline(&self.accounting.limits));
        let uplink = if nacks { connection.uplink.deadline(&self.accounting.limits) } else { None };
        let next = downlink.into_iter().chain(uplink).min();
        if next != connection.armed {
            let before = std::mem::replace(&mut connection.armed, next);
            self.deadlines.change(cx, key, before, next);
        }
    }
}

impl Element for Snoop {
    fn layout(&self) -> Layout {
        Layout { timers: 1, radio_drops: true, ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, mut packet: Box<Packet>) {
        let dir = port.dir();
        if !packet.is_tcp() || !self.begin(cx, dir, &packet) {
            return cx.emit(dir, packet);
        }
        let key = (packet.ue, packet.flow);
        match dir {
            Dir::Downlink => match self.handle_downlink(cx, key, &packet) {
                Some(mut answer) => {
                    self.accounting.counters.answered += 1;
                    let cached = self.connections.get(&key).map_or(0, Connection::cached);
                    tell(cx, key, SnoopAction::Answered, cached);
                    cx.drop(dir, packet, Reason::AlreadyAcknowledged);
                    cx.number(&mut answer);
                    cx.emit(Dir::Uplink, answer);
                }
                None => cx.emit(dir, packet),
            },
            Dir::Uplink => match self.handle_uplink(cx, key, &packet) {
                Outcome::Passes => cx.emit(dir, packet),
                Outcome::PassesWithoutBlocks => {
                    packet.hide_blocks();
                    cx.emit(dir, packet);
                }
                Outcome::Suppressed => cx.drop(dir, packet, Reason::DupackSuppressed),
                Outcome::Stale if !self.config.drop_stale_acks => cx.emit(dir, packet),
                Outcome::Stale => cx.drop(dir, packet, Reason::StaleAck),
            },
        }
        self.pump(cx, key);
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, _key: u32) {
        while let Some(key) = self.deadlines.expired(cx.now) {
            let Some(connection) = self.connections.get_mut(&key) else { return };
            if let Some(downlink) = &mut connection.downlink {
                downlink.on_deadline(cx.now, &mut self.accounting);
            }
            self.pump(cx, key);
        }
        self.deadlines.arm_first(cx);
    }

    fn handle_radio(&mut self, cx: &mut Cx<'_>, event: &RadioEvent) {
        let key = (event.ue, event.flow);
        let connection = self.connections.get_mut(&key).filter(|_| event.dir == Dir::Downlink);
        let Some(downlink) = connection.and_then(|connection| connection.downlink.as_mut()) else { return };
        let before = downlink.len();
        if downlink.forget(event.seq) {
            let after = downlink.len();
            self.accounting.counters.forgotten_drops += 1;
            self.note_cached(cx, key, before, after);
            self.pump(cx, key);
        }
    }

    fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
        with_counters(json!({ "element": "middlebox.snoop" }), &self.accounting.counters)
    }
}
