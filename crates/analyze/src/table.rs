//! The connections of a capture, as many at a time as memory allows.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use airpath_core::time::Instant;

use crate::Options;
use crate::connection::{Connection, Key};
use crate::file::{Record, Summary};
use crate::link::{Carries, ip_packet};
use crate::report::{self, ConnectionReport, Others, Packets, Report};
use crate::segment::{self, Endpoint, Segment, Unread};

/// How often it is asked what a connection takes, in its packets.
const PACKETS_BETWEEN_ACCOUNTS: u64 = 64;
/// Later times are taken for this: sums of times stay in range.
const LATEST_NANOS: u64 = 1 << 62;

/// The connections seen so far.
#[derive(Debug)]
pub struct Table {
    options: Options,
    open: HashMap<Key, Box<Connection>>,
    opened: u64,
    accounted: usize,
    done: Vec<ConnectionReport>,
    others: Others,
    packets: Packets,
    first_at: Option<Instant>,
    latest_at: Instant,
}

impl Table {
    /// An empty table.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            open: HashMap::new(),
            opened: 0,
            accounted: 0,
            done: Vec::new(),
            others: Others::default(),
            packets: Packets::default(),
            first_at: None,
            latest_at: Instant::ZERO,
        }
    }

    /// A packet of the capture.
    pub fn handle_record(&mut self, record: &Record<'_>) {
        let now = Instant::from_nanos(record.at_nanos.min(LATEST_NANOS));
        self.first_at.get_or_insert(now);
        self.packets.time_went_back += u64::from(now < self.latest_at);
        self.latest_at = self.latest_at.max(now);
        let packets = &mut self.packets;
        let packet = match ip_packet(record.link_type, record.data) {
            Carries::Ip(packet) => packet,
            Carries::Other => return packets.not_ip += 1,
            Carries::Truncated => return packets.truncated_headers += 1,
            Carries::UnknownLink => return packets.unknown_link += 1,
        };
        let missing = record.original_len.saturating_sub(record.data.len() as u32);
        match segment::read(packet, missing) {
            Ok((from, to, segment)) => {
                packets.tcp += 1;
                packets.options_unread += u64::from(segment.lacks_options);
                self.handle_segment(now, record.interface, (from, to), &segment);
            }
            Err(Unread::NotTcp) => packets.not_tcp += 1,
            Err(Unread::Fragment) => packets.fragments += 1,
            Err(Unread::BadLength) => packets.bad_lengths += 1,
            Err(Unread::Truncated) => packets.truncated_headers += 1,
        }
    }

    fn handle_segment(
        &mut self,
        now: Instant,
        interface: u32,
        ends: (Endpoint, Endpoint),
        segment: &Segment,
    ) {
        let (from, to) = ends;
        let side = usize::from(from > to);
        let key = Key { interface, low: from.min(to), high: from.max(to) };
        let mut replaced = None;
        let connection = match self.open.entry(key) {
            Entry::Occupied(mut entry) => {
                if entry.get().is_another(side, segment) {
                    self.opened += 1;
                    replaced = Some(entry.insert(Box::new(Connection::new(key, self.opened, now))));
                }
                entry.into_mut()
            }
            Entry::Vacant(entry) => {
                self.opened += 1;
                entry.insert(Box::new(Connection::new(key, self.opened, now)))
            }
        };
        connection.handle(now, side, segment);
        if connection.packets.iter().sum::<u64>() % PACKETS_BETWEEN_ACCOUNTS == 1 {
            let bytes = connection.bytes();
            self.accounted = (self.accounted + bytes).saturating_sub(connection.accounted);
            connection.accounted = bytes;
        }
        if let Some(before) = replaced {
            self.finish(&before);
        }
        if self.accounted > self.options.memory_bytes {
            self.make_room();
        }
    }

    /// Reports the connections that are closed or idle for longest.
    fn make_room(&mut self) {
        let mut keys: Vec<_> = self
            .open
            .iter()
            .map(|(key, connection)| (!connection.is_closed(), connection.latest_at, *key))
            .collect();
        keys.sort_unstable();
        let wanted = self.options.memory_bytes / 2;
        for (is_open, _, key) in keys {
            if self.accounted <= wanted {
                break;
            }
            if let Some(connection) = self.open.remove(&key) {
                self.packets.connections_cut += u64::from(is_open);
                self.finish(&connection);
            }
        }
    }

    fn finish(&mut self, connection: &Connection) {
        self.accounted = self.accounted.saturating_sub(connection.accounted);
        let start = self.first_at.unwrap_or(connection.first_at);
        let payload = connection.payload();
        // Those with little data are not worth a report while there are enough with more.
        if self.done.len() >= self.options.most_connections.max(1) && payload <= self.others.least_kept_bytes
        {
            self.others.add(connection.packets.iter().sum(), payload);
            return;
        }
        self.done.push(report::of_connection(connection, start));
        if self.done.len() >= 2 * self.options.most_connections.max(1) {
            self.keep_largest();
        }
    }

    fn keep_largest(&mut self) {
        self.done.sort_by_key(|done| (Reverse(done.payload_bytes), done.number));
        let kept = self.options.most_connections.min(self.done.len());
        for dropped in self.done.drain(kept..) {
            self.others.add(dropped.packets, dropped.payload_bytes);
        }
        self.others.least_kept_bytes = self.done.last().map_or(0, |least| least.payload_bytes);
    }

    /// What was found, in a file of which this is known.
    pub fn into_report(mut self, file: Summary) -> Report {
        let mut rest: Vec<_> = self.open.drain().map(|(_, connection)| connection).collect();
        rest.sort_by_key(|connection| connection.number);
        for connection in rest {
            self.finish(&connection);
        }
        self.keep_largest();
        self.done.sort_by_key(|done| done.number);
        let duration_s = self.first_at.map_or(0.0, |first| self.latest_at.since(first).as_secs_f64());
        for done in &mut self.done {
            done.interface =
                file.interfaces.get(done.interface_number as usize).and_then(|it| it.name.clone());
        }
        Report {
            start_unix_s: self.first_at.map(Instant::as_secs_f64),
            duration_s,
            packets: self.packets,
            connections_seen: self.opened,
            connections: self.done,
            others: self.others,
            file,
        }
    }
}
