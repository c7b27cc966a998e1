//! The connections of a capture, as many at a time as memory allows.

use std::cmp::Reverse;
use std::collections::HashMap;

use airpath_core::time::Instant;
use serde::Serialize;

use crate::Options;
use crate::connection::{Connection, Ends};
use crate::conversation::{self, Conversations};
use crate::file::{Record, Summary};
use crate::gtp::IN_TUNNEL;
use crate::gtp::Tunnel;
use crate::link::{self, Carries, ip_packet};
use crate::report::{self, ConnectionReport, Others};
use crate::segment::{self, Endpoint, Segment, Transport, Unread};
use crate::tunnels::{self, Tunnels};
use crate::view::{Side, View};

/// Report on a capture.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The file, and its unreadable parts.
    pub file: Summary,
    /// Time of the earliest packet, seconds since 1970.
    pub start_unix_s: Option<f64>,
    /// Time from the earliest packet to the latest, seconds.
    pub duration_s: f64,
    /// Packets, by how they were read.
    pub packets: Packets,
    /// LINKTYPE_ numbers of frames that are not known.
    pub unknown_link_types: Vec<u32>,
    /// Packets inside G-PDUs, by how they were read.
    pub tunneled: Packets,
    /// Tunnels of GTP-U in the capture: directions of bearers.
    pub tunnels_seen: u64,
    /// The tunnels with most data, in the order of their first packets.
    pub tunnels: Vec<tunnels::Report>,
    /// The rest.
    pub other_tunnels: Others,
    /// Connections in the capture.
    pub connections_seen: u64,
    /// Connections: half of the list has the most data, half was active for longest, in the order of their first
    /// packets.
    pub connections: Vec<ConnectionReport>,
    /// The rest.
    pub others: Others,
    /// UDP between two ends, in the capture.
    pub conversations_seen: u64,
    /// The conversations with most data, in the order of their first datagrams.
    pub conversations: Vec<conversation::Report>,
    /// The rest.
    pub other_conversations: Others,
}

/// Numbers of packets, by how they were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Packets {
    /// Segments of TCP that were read.
    pub tcp: u64,
    /// UDP datagrams that were read.
    pub udp: u64,
    /// Segments and datagrams recorded before, and counted nowhere else.
    pub copies: u64,
    /// IP with something else.
    pub other_protocol: u64,
    /// Frames without IP.
    pub not_ip: u64,
    /// Frames of links that are not known.
    pub unknown_link: u64,
    /// Fragments of IP packets, which are not reassembled.
    pub fragments: u64,
    /// Packets whose lengths contradict each other.
    pub bad_lengths: u64,
    /// Packets for which IP claims more octets than their frames had: the frame's count.
    pub lengths_beyond_frame: u64,
    /// Packets captured without their whole headers.
    pub truncated_headers: u64,
    /// Segments read without their options.
    pub options_unread: u64,
    /// Packets with a time before that of another in front of them.
    pub time_went_back: u64,
    /// Connections reported before their end because there were too many; their later packets count as another
    /// connection.
    pub connections_cut: u64,
}

impl Packets {
    /// Whether copies are usual: one in four segments, or too few segments to decide.
    fn has_copies(&self) -> bool {
        self.tcp <= 8 + 3 * self.copies
    }
}

/// Number of packets after which the memory of a connection is computed again.
const PACKETS_BETWEEN_ACCOUNTS: u64 = 64;
/// Connections of the same ends at a time: of one that ended, another interface may show the last packets later.
const MOST_BETWEEN_ENDS: usize = 8;
/// Later times are taken for this: sums of times stay in range.
const LATEST_NANOS: u64 = 1 << 62;

#[derive(Debug, Default)]
pub struct Table {
    options: Options,
    /// Connections by their ends, the newest last.
    open: HashMap<Ends, Vec<Connection>>,
    opened: u64,
    accounted: usize,
    done: Vec<ConnectionReport>,
    others: Others,
    conversations: Conversations,
    packets: Packets,
    tunneled: Packets,
    tunnels: Tunnels,
    unknown_link_types: Vec<u32>,
    first_at: Option<Instant>,
    /// Time of the earliest packet; with concatenated captures it need not be the first.
    earliest_at: Option<Instant>,
    latest_at: Instant,
}

impl Table {
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    pub fn handle_record(&mut self, record: &Record<'_>) {
        let now = Instant::from_nanos(record.at_nanos.min(LATEST_NANOS));
        self.first_at.get_or_insert(now);
        self.earliest_at = Some(self.earliest_at.map_or(now, |earliest| earliest.min(now)));
        self.packets.time_went_back += u64::from(now < self.latest_at);
        self.latest_at = self.latest_at.max(now);
        let missing = record.original_len.saturating_sub(record.data.len() as u32);
        let packets = &mut self.packets;
        match ip_packet(record.link_type, record.data, missing) {
            Carries::Ip(packet) => {
                let is_one_of_several = record.is_one_of_several || !self.tunnels.is_empty();
                self.handle_packet(now, (record.interface, is_one_of_several), packet, None);
            }
            Carries::Other => packets.not_ip += 1,
            Carries::Truncated => packets.truncated_headers += 1,
            Carries::UnknownLink => {
                packets.unknown_link += 1;
                if !self.unknown_link_types.contains(&record.link_type) {
                    self.unknown_link_types.push(record.link_type);
                }
            }
        }
    }

    /// A packet passes an interface, perhaps in a tunnel.
    fn handle_packet(
        &mut self,
        now: Instant,
        interface: (u32, bool),
        packet: link::Packet<'_>,
        tunnel: Option<Tunnel>,
    ) {
        let between = |from: Endpoint, to: Endpoint| ((from.min(to), from.max(to)), usize::from(from > to));
        let packets = if tunnel.is_some() { &mut self.tunneled } else { &mut self.packets };
        let found = segment::read(packet);
        if let Ok(found) = &found {
            packets.lengths_beyond_frame += u64::from(found.exceeds_frame);
            if let Some(tunnel) = &tunnel {
                self.tunnels.on_inner(tunnel, matches!(found.transport, Transport::Tcp(_)));
            }
        }
        let mut opened = None;
        match found {
            Ok(segment::Found { from, to, transport: Transport::Tcp(segment), payload, .. }) => {
                let (ends, side) = between(from, to);
                let is_counted =
                    self.handle_segment(now, interface, (ends, side), (&segment, payload), tunnel);
                let counts = if tunnel.is_some() { &mut self.tunneled } else { &mut self.packets };
                *(if is_counted { &mut counts.tcp } else { &mut counts.copies }) += 1;
                counts.options_unread += u64::from(segment.lacks_options);
            }
            Ok(found @ segment::Found { transport: Transport::Udp(datagram), .. }) => {
                let limits = (self.options.memory_bytes / 4, self.options.most_connections);
                let (start, between) = (self.first_at.unwrap_or(now), between(found.from, found.to));
                let is_counted = self.conversations.handle(now, interface, between, &datagram, limits, start);
                *(if is_counted { &mut packets.udp } else { &mut packets.copies }) += 1;
                opened = found.opened.filter(|_| is_counted);
            }
            Err(Unread::OtherProtocol) => packets.other_protocol += 1,
            Err(Unread::Fragment) => {
                packets.fragments += 1;
                opened = segment::opened_fragment(packet);
            }
            Err(Unread::BadLength) => packets.bad_lengths += 1,
            Err(Unread::Truncated) => packets.truncated_headers += 1,
        }
        // One tunnel within another stays closed.
        if let Some(opened) = opened.filter(|_| tunnel.is_none()) {
            self.tunnels.handle(&opened);
            self.handle_packet(now, (interface.0 | IN_TUNNEL, true), opened.packet, Some(opened.tunnel));
        }
    }

    /// A segment of one side between two ends, with the captured part of its payload, passes an interface. Returns
    /// whether it is counted, i.e. no copy of an earlier one.
    fn handle_segment(
        &mut self,
        now: Instant,
        interface: (u32, bool),
        (ends, side): (Ends, Side),
        (segment, payload): (&Segment, &[u8]),
        tunnel: Option<Tunnel>,
    ) -> bool {
        let has_copies = if tunnel.is_some() { &self.tunneled } else { &self.packets }.has_copies();
        let connections = self.open.entry(ends).or_insert_with(|| Vec::with_capacity(1));
        let at = find(connections, interface.0, side, segment, tunnel.as_ref());
        let at = at.unwrap_or_else(|| {
            self.opened += 1;
            connections.push(Connection::new(ends, self.opened));
            connections.len() - 1
        });
        let connection = &mut connections[at];
        if let Some(tunnel) = tunnel {
            connection.note_tunnel(side, tunnel);
        }
        let (is_counted, stranger) = connection.handle(now, interface, side, segment, has_copies);
        if !payload.is_empty() {
            connection.look_for_name(side, payload);
        }
        if connection.packets() % PACKETS_BETWEEN_ACCOUNTS == 1 {
            let bytes = connection.bytes();
            self.accounted = (self.accounted + bytes).saturating_sub(connection.accounted);
            connection.accounted = bytes;
        }
        if let Some(view) = stranger {
            self.opened += 1;
            connections.push(Connection::of_view(*view, ends, self.opened));
        }
        if connections.len() > 1 {
            for before in take_replaced(connections) {
                self.finish(before);
            }
        }
        if self.accounted > self.options.memory_bytes {
            self.make_room();
        }
        is_counted
    }

    /// Reports the connections that are closed or idle for longest.
    fn make_room(&mut self) {
        let mut keys: Vec<_> = self
            .open
            .iter()
            .map(|(ends, between)| {
                let is_open = between.iter().any(|connection| !connection.is_closed());
                (is_open, between.iter().map(Connection::latest_at).max(), *ends)
            })
            .collect();
        keys.sort_unstable();
        let wanted = self.options.memory_bytes / 2;
        for (_, _, ends) in keys {
            if self.accounted <= wanted {
                break;
            }
            for connection in self.open.remove(&ends).into_iter().flatten() {
                self.packets.connections_cut += u64::from(!connection.is_closed());
                self.finish(connection);
            }
        }
    }

    fn finish(&mut self, mut connection: Connection) {
        self.accounted = self.accounted.saturating_sub(connection.accounted);
        while let Some(view) = connection.take_stranger() {
            self.opened += 1;
            self.report(&Connection::of_view(view, connection.ends, self.opened));
        }
        self.report(&connection);
    }

    fn report(&mut self, connection: &Connection) {
        let start = self.first_at.unwrap_or(connection.first_at());
        let payload = connection.payload();
        let life_s = connection.latest_at().since(connection.first_at()).as_secs_f64();
        let (least_bytes, least_s) = self.others.least_kept;
        // Short ones with little data are not worth a report while there are enough others.
        let is_full = self.done.len() >= self.options.most_connections.max(1);
        if is_full && payload <= least_bytes && life_s <= least_s {
            self.others.add(connection.packets(), payload);
            return;
        }
        self.done.push(report::of_connection(connection, start));
        if self.done.len() >= 2 * self.options.most_connections.max(1) {
            self.keep_largest();
        }
    }

    fn keep_largest(&mut self) {
        let kept = self.options.most_connections.min(self.done.len());
        let for_data = kept - kept / 2;
        self.done.sort_by_key(|done| (Reverse(done.payload_bytes), done.number));
        let least_bytes = for_data.checked_sub(1).map_or(0, |at| self.done[at].payload_bytes);
        let active = |done: &ConnectionReport| done.phases.active_s;
        self.done[for_data..]
            .sort_by(|one, other| active(other).total_cmp(&active(one)).then(one.number.cmp(&other.number)));
        let least_s = if kept > for_data { active(&self.done[kept - 1]) } else { f64::INFINITY };
        for dropped in self.done.drain(kept..) {
            self.others.add(dropped.packets, dropped.payload_bytes);
        }
        self.others.least_kept = (least_bytes, least_s);
    }

    /// The report, including the summary `file` of the file.
    pub fn into_report(mut self, file: Summary) -> Report {
        let mut rest: Vec<_> = self.open.drain().flat_map(|(_, connections)| connections).collect();
        rest.sort_by_key(|connection| connection.number);
        for connection in rest {
            self.finish(connection);
        }
        self.keep_largest();
        self.done.sort_by_key(|done| done.number);
        let earliest = self.earliest_at.unwrap_or_default();
        let duration_s = self.latest_at.since(earliest).as_secs_f64();
        let name = |number: u32| file.interfaces.get(number as usize)?.name.clone();
        let start = self.first_at.unwrap_or_default();
        let shift_s = start.since(earliest).as_secs_f64();
        for done in &mut self.done {
            done.name_interfaces(name);
            done.shift(shift_s);
        }
        let (mut conversations, conversations_seen, other_conversations) =
            self.conversations.into_reports(self.options.most_connections, start);
        for conversation in &mut conversations {
            conversation.name_interfaces(name);
            conversation.shift(shift_s);
        }
        let (tunnels, tunnels_seen, other_tunnels) = self.tunnels.into_reports(self.options.most_connections);
        Report {
            start_unix_s: self.earliest_at.map(Instant::as_secs_f64),
            duration_s,
            packets: self.packets,
            unknown_link_types: self.unknown_link_types,
            tunneled: self.tunneled,
            tunnels_seen,
            tunnels,
            other_tunnels,
            connections_seen: self.opened,
            connections: self.done,
            others: self.others,
            conversations_seen,
            conversations,
            other_conversations,
            file,
        }
    }
}

/// The connection that a segment belongs to: one seen at its interface before, or one seen elsewhere that it fits. A SYN
/// that is not answered does not end the connection before it (RFC 5961 (4)).
fn find(
    connections: &[Connection],
    interface: u32,
    side: Side,
    segment: &Segment,
    tunnel: Option<&Tunnel>,
) -> Option<usize> {
    let is_certain = |connection: &Connection| {
        connection.view(interface).is_some_and(|view| view.has_numbers_of(side, segment))
            && tunnel.is_none_or(|tunnel| connection.tunnels[side].contains(tunnel))
    };
    let is_possible = |connection: &Connection| {
        connection.view(interface).is_some_and(|view| {
            !view.is_another(side, segment)
                && tunnel.is_none_or(|tunnel| connection.fits_tunnel(view, side, segment, tunnel))
        })
    };
    let fits =
        |connection: &Connection| connection.view(interface).is_none() && connection.fits(side, segment);
    let certain = if connections.len() > 1 { connections.iter().rposition(is_certain) } else { None };
    certain
        .or_else(|| connections.iter().rposition(is_possible))
        .or_else(|| connections.iter().rposition(fits))
}

/// Removes the connections that no interface will show again: each has accepted a newer one.
fn take_replaced(connections: &mut Vec<Connection>) -> Vec<Connection> {
    let is_replaced = |at: usize| {
        let newer = &connections[at + 1..];
        connections.len() - at > MOST_BETWEEN_ENDS
            || connections[at].views.iter().all(|view| {
                newer.iter().any(|one| {
                    one.view(view.interface).is_some_and(View::is_begun)
                        && one.shares_tunnel(&connections[at])
                })
            })
    };
    let replaced: Vec<_> = (0..connections.len()).rev().filter(|at| is_replaced(*at)).collect();
    replaced.into_iter().map(|at| connections.remove(at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{ACK, SYN};

    const CLIENT: Side = 0;
    const SERVER: Side = 1;

    fn ends() -> Ends {
        let end = |last: u8, port: u16| ([10, 0, 0, last].into(), port);
        (end(1, 40_000), end(2, 80))
    }

    /// Time in ms, interface, side, flags, sequence and acknowledgment number, payload.
    type Passing = (u64, u32, Side, u8, u32, u32, u32);

    /// Interfaces of each connection in the order of the path, and the segments of its flows.
    fn found(passing: &[Passing]) -> Vec<(Vec<u32>, Vec<u64>)> {
        let mut table = Table::new(Options::default());
        for &(ms, interface, side, flags, seq, ack, payload) in passing {
            let segment = Segment { seq, ack, flags, payload, window: 60_000, ..Segment::default() };
            let now = Instant::from_nanos(ms * 1_000_000);
            table.handle_segment(now, (interface, true), (ends(), side), (&segment, &[]), None);
        }
        let report = table.into_report(Summary::default());
        assert_eq!(report.connections_seen, report.connections.len() as u64);
        let of = |one: &ConnectionReport| {
            let views = one.views.iter().map(|view| view.interface.number).collect();
            (views, one.flows.iter().map(|flow| flow.counters.segments).collect())
        };
        report.connections.iter().map(of).collect()
    }

    /// A handshake at interface 1, near the client, and 0, near the server, 10 ms away, from `ms` on.
    fn handshake(ms: u64, isn: u32) -> Vec<Passing> {
        vec![
            (ms, 1, CLIENT, SYN, isn, 0, 0),
            (ms + 10, 0, CLIENT, SYN, isn, 0, 0),
            (ms + 10, 0, SERVER, SYN | ACK, isn + 5000, isn + 1, 0),
            (ms + 20, 1, SERVER, SYN | ACK, isn + 5000, isn + 1, 0),
            (ms + 20, 1, CLIENT, ACK, isn + 1, isn + 5001, 0),
            (ms + 30, 0, CLIENT, ACK, isn + 1, isn + 5001, 0),
        ]
    }

    /// A segment of the server at both interfaces, 10 or 40 ms apart.
    fn response(ms: u64, isn: u32, apart: u64) -> Vec<Passing> {
        [(ms, 0), (ms + apart, 1)].map(|(at, on)| (at, on, SERVER, ACK, isn + 5001, isn + 1, 1000)).to_vec()
    }

    #[test]
    fn a_connection_seen_at_two_interfaces_is_one() {
        let passing = [handshake(0, 7000), response(30, 7000, 10)].concat();
        assert_eq!(found(&passing), [(vec![1, 0], vec![1])]);
        // In the middle of it, too.
        assert_eq!(found(&response(30, 7000, 10)), [(vec![1, 0], vec![1])]);
    }

    #[test]
    fn the_last_packets_of_one_may_come_behind_the_first_of_the_next() {
        let last = [(495, 1), (505, 0)].map(|(at, on)| (at, on, CLIENT, ACK, 7001, 12_001, 300));
        let new = [handshake(500, 900_000), response(530, 900_000, 10)].concat();
        let mut passing = [&handshake(0, 7000)[..], &last[..], &new[..]].concat();
        passing.sort_by_key(|passing| passing.0);
        assert_eq!(found(&passing), [(vec![1, 0], vec![1]), (vec![1, 0], vec![1])]);
    }

    #[test]
    fn legs_that_answer_for_themselves_are_two_connections_and_so_are_those_that_share_nothing() {
        // A proxy between the interfaces takes the same numbers for both legs.
        let client = [(0, 1, CLIENT, SYN, 7000, 0, 0), (5, 1, SERVER, SYN | ACK, 12_000, 7001, 0)];
        let server = [(12, 0, CLIENT, SYN, 7000, 0, 0), (12, 0, SERVER, SYN | ACK, 12_000, 7001, 0)];
        let passing = [&client[..], &server[..], &response(30, 7000, 40)[..]].concat();
        assert_eq!(found(&passing), [(vec![1], vec![1]), (vec![0], vec![1])]);
        let other = [(30, 0, SERVER, ACK, 12_001, 7001, 1000), (30, 1, SERVER, ACK, 80_000, 7001, 900)];
        assert_eq!(found(&other), [(vec![0], vec![1]), (vec![1], vec![1])]);
    }

    #[test]
    fn a_tap_with_an_interface_for_each_direction_sees_one_connection() {
        let mut passing = handshake(0, 7000);
        passing.extend(response(30, 7000, 10));
        passing.retain(|&(_, interface, side, ..)| interface as Side != side);
        assert_eq!(found(&passing), [(vec![1, 0], vec![1])]);
    }
}
