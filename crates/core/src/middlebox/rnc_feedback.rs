//! RNC feedback: flags ACKs, so that a sender can identify radio losses. \[jayanathan\], Figures 3 and 4.
//!
//! The box is located at an RNC's GTP layer, between the network and the radio. It notes the sequence numbers of the
//! segments with data that pass downlink. Uplink it counts duplicate ACKs; from the second duplicate on it sets the RNF
//! bit in each, if the missing segment is in its table: that segment has reached the radio, so no queue before it has
//! dropped it. The first duplicate is never flagged, since packets may have been reordered. A sender that supports the
//! bit retransmits the segment and keeps its window (`tcp.rnf`); others ignore it.
//!
//! * **Downlink**: a segment with payload becomes an entry of its connection's table, unless it is there or is
//!   acknowledged. A SYN resets the table. With `cache_segments` entries, the lowest in sequence is evicted first.
//! * **Uplink**: a new ACK erases what it covers, and the count of duplicates; a pure ACK of the same number is a
//!   duplicate, regardless of its window. FIN, RST or SYN deletes the table.
//!
//! Sequence numbers wrap. A segment a GiB or more from the last ACK belongs to another connection, and resets the table
//! (the largest window is a GiB, RFC 7323 (2.3)). With `connections` tables, a new one replaces the least recently used
//! one.
//!
//! UDP, fragments and ESP pass unread; the sender then gets no feedback. No packet is delayed or dropped, and only this
//! bit changes. On real packets the checksum is updated with it.
//!
//! DEVIATION: the printed code would also flag a segment with data once two pure duplicates have come; no sender reads
//! that as a duplicate ACK (RFC 5681 (2)), so it is not flagged. ASSUMED: a table begins with the first octet seen as
//! the last one acknowledged, as it is after a handshake. The segment that holds the missing octet counts as the
//! missing one: a sender may re-segment its data when it retransmits.
//!
//! * **The buffer of the bearer** comes after the box. A packet that it has no room for, or that its queue discipline
//!   drops, has passed the box but is still lost to congestion. The box, as the buffer's owner would be, is notified
//!   and erases the entry, so the loss is not reported as a radio loss. ASSUMED: the paper's buffers lose nothing.
//!
//! The bit was reserved then. Today it belongs to accurate ECN: see [`crate::tcp::recovery::rnf`] for why a deployment
//! would need another. Endpoints with accurate ECN (RFC 9768) would read the bit as part of a count: connections whose
//! SYN requests accurate ECN are not flagged, and a scenario with it is refused. The box remembers `connections` of
//! such connections, those with the highest numbers.

mod table;

use super::acks::{Segment, are_far_apart, check_limits, is_after, to_evict};
use super::{Around, Component, Plan};
use crate::element::{Cx, Element, Layout, Port, RadioEvent, with_counters};
use crate::error::ScenarioError;
use crate::packet::{Dir, Flags, Packet};
use crate::tcp::ecn::Ecn;
use crate::trace::{Event, Kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use table::Table;

/// Flags duplicate ACKs for segments that the radio has lost: Jayanathan, Sirisena and Pawlikowski.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Segments cached of a connection at most; beyond, the oldest goes.
    pub cache_segments: u32,
    /// Maximum number of connections with a table; a further one replaces the least recently used one.
    pub connections: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { cache_segments: 1000, connections: 1000 }
    }
}

impl Component for Config {
    fn build(&self, _plan: &Plan<'_>) -> Box<dyn Element> {
        Box::new(RncFeedback { config: self.clone(), ..RncFeedback::default() })
    }

    fn validate(&self, around: &Around<'_>) -> Result<(), ScenarioError> {
        let mut all = around.flows.iter().map(|flow| flow.tcp.ecn).chain([around.tcp.ecn]);
        if all.any(Ecn::is_accurate) {
            let message = "the box flags losses in a bit with which accurate ECN counts marks";
            let hint = "write tcp.ecn = true or false, or remove the box";
            return Err(ScenarioError::new("", message, hint));
        }
        let limits = [("cache_segments", self.cache_segments), ("connections", self.connections)];
        check_limits(&limits, "the box could remember nothing")
    }
}

/// A connection's table, and when it was used last.
struct Connection {
    table: Table,
    used: u64,
}

/// Counters of all connections, as reported.
#[derive(Default, Serialize)]
struct Counters {
    segments_cached: u64,
    peak_cached_segments: usize,
    /// Segments in all tables.
    #[serde(rename = "cached_at_end")]
    segments: usize,
    evictions: u64,
    acks_flagged: u64,
    forgotten_drops: u64,
    peak_connections: usize,
    connections_evicted: u64,
}

#[derive(Default)]
struct RncFeedback {
    config: Config,
    /// Connections by UE and flow.
    connections: BTreeMap<(u16, u16), Connection>,
    /// Connections whose bit is not the box's.
    accurate_ecn: BTreeSet<(u16, u16)>,
    /// Use counter of tables; later uses have larger values.
    uses: u64,
    counters: Counters,
}

/// Records in the trace how many segments a connection has in the table.
fn tell(cx: &mut Cx<'_>, (ue, flow): (u16, u16), cached: usize, flagged: bool) {
    let cached_segments = cached as u32;
    cx.probe(Kind::RncFeedback, move || Event::RncFeedback { ue, flow, cached_segments, flagged });
}

impl RncFeedback {
    /// Figure 3: a segment towards the radio. Returns how many segments of its connection are in the table.
    fn note(&mut self, packet: &Packet) -> Option<usize> {
        let key = (packet.ue, packet.flow);
        if packet.flags.has(Flags::RST) || packet.flags.has(Flags::SYN) {
            self.forget(key);
            self.note_syn(key, packet.flags);
        }
        if packet.payload == 0 || packet.flags.has(Flags::RST) || self.accurate_ecn.contains(&key) {
            return None;
        }
        // A SYN takes one sequence number before the data.
        let start = packet.seq.wrapping_add(u32::from(packet.flags.has(Flags::SYN)));
        if !self.connections.contains_key(&key) {
            self.make_room();
            let connection = Connection { table: Table::new(start), used: 0 };
            self.connections.insert(key, connection);
        }
        self.uses += 1;
        let connection = self.connections.get_mut(&key)?;
        connection.used = self.uses;
        let before = connection.table.len();
        let noted = connection.table.insert(start, packet.payload, self.config.cache_segments as usize);
        let after = connection.table.len();
        self.counters.segments = self.counters.segments + after - before;
        self.counters.segments_cached += u64::from(noted.is_new);
        self.counters.evictions += u64::from(noted.has_evicted);
        self.counters.peak_cached_segments = self.counters.peak_cached_segments.max(self.counters.segments);
        self.counters.peak_connections = self.counters.peak_connections.max(self.connections.len());
        Some(after)
    }

    /// Figure 4: a segment from the UE. Returns how many its connection has in the table, and whether the ACK is to be
    /// flagged.
    fn judge(&mut self, packet: &Packet) -> Option<(usize, bool)> {
        let key = (packet.ue, packet.flow);
        let segment = Segment::of(packet);
        if segment == Segment::Boundary {
            self.note_syn(key, packet.flags);
            return self.forget(key).then_some((0, false));
        }
        if !packet.flags.has(Flags::ACK) {
            return None;
        }
        let connection = self.connections.get_mut(&key)?;
        self.uses += 1;
        connection.used = self.uses;
        let before = connection.table.len();
        let is_lost = connection.table.on_ack(packet.ack, segment == Segment::PureAck);
        let after = connection.table.len();
        self.counters.segments -= before - after;
        self.counters.acks_flagged += u64::from(is_lost);
        Some((after, is_lost))
    }

    /// Handles a segment dropped in the buffer after the middlebox: congestion. Returns how many segments of its
    /// connection remain in the table, if it was there.
    fn forget_dropped(&mut self, key: (u16, u16), seq: u32) -> Option<usize> {
        let table = &mut self.connections.get_mut(&key)?.table;
        if !table.remove(seq) {
            return None;
        }
        self.counters.segments -= 1;
        self.counters.forgotten_drops += 1;
        Some(table.len())
    }

    /// A SYN with all three bits requests accurate ECN (RFC 9768 (3.1.1)); any other SYN, or a RST, ends that.
    fn note_syn(&mut self, key: (u16, u16), flags: Flags) {
        if flags.has(Flags::SYN | Flags::AE | Flags::CWR | Flags::ECE) {
            if self.accurate_ecn.len() >= self.config.connections as usize {
                self.accurate_ecn.pop_first();
            }
            self.accurate_ecn.insert(key);
        } else if flags.has(Flags::RST) || flags.has(Flags::SYN) && !flags.has(Flags::ACK) {
            self.accurate_ecn.remove(&key);
        }
    }

    /// A connection begins or ends. Whether it had a table.
    fn forget(&mut self, key: (u16, u16)) -> bool {
        let gone = self.connections.remove(&key);
        self.counters.segments -= gone.as_ref().map_or(0, |connection| connection.table.len());
        gone.is_some()
    }

    /// Evicts the least recently used table if the maximum is reached.
    fn make_room(&mut self) {
        if let Some(key) = to_evict(&self.connections, self.config.connections, |one| one.used) {
            self.forget(key);
            self.counters.connections_evicted += 1;
        }
    }
}

impl Element for RncFeedback {
    fn layout(&self) -> Layout {
        Layout { radio_drops: true, passes_on: true, silent: [true; 2], ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, mut packet: Box<Packet>) {
        let dir = port.dir();
        if !packet.is_tcp() {
            return cx.emit(dir, packet);
        }
        let before = self.counters.segments;
        let cached = match dir {
            Dir::Downlink => self.note(&packet).map(|cached| (cached, false)),
            Dir::Uplink => self.judge(&packet),
        };
        if let Some((cached, flagged)) = cached {
            if flagged {
                packet.flag_radio_loss();
            }
            if flagged || self.counters.segments != before {
                tell(cx, (packet.ue, packet.flow), cached, flagged);
            }
        }
        cx.emit(dir, packet);
    }

    fn handle_radio(&mut self, cx: &mut Cx<'_>, event: &RadioEvent) {
        if event.dir != Dir::Downlink {
            return;
        }
        let key = (event.ue, event.flow);
        if let Some(cached) = self.forget_dropped(key, event.seq) {
            tell(cx, key, cached, false);
        }
    }

    fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
        with_counters(json!({ "element": "middlebox.rnc_feedback" }), &self.counters)
    }
}

#[cfg(test)]
mod tests;
