//! The receiving endpoint of a connection over several paths: bytes of all subflows in one order.
//!
//! Each subflow's receiver acknowledges its own segments. What is in order there goes to the data level by its mapping;
//! the ACK has the data ACK in addition, and the connection's window. The application reads at once.
//!
//! **The window** is the part of the buffer that is free: data that waits for earlier bytes occupies it, so the end of the
//! window stays while a gap is filled step by step, and moves at once when all that waited is read. It never moves back.
//! As in Linux 6.18 (`__mptcp_space`, `mptcp_set_rwin`).

use super::{Plan, subflow_config};
use crate::packet::mptcp::Mptcp;
use crate::packet::{Flags, Packet};
use crate::tcp::handshake::Role;
use crate::tcp::receiver::autotuning::Autotuning;
use crate::tcp::receiver::reassembly::{Arrival, Reassembly};
use crate::tcp::{Receiver, timestamp};
use crate::time::{Duration, Instant};
use crate::trace::SendCause;
use crate::wire::tcp_header_bytes;

/// Octets of options in a header at most: RFC 9293 (3.1).
const MOST_OPTION_OCTETS: u32 = 40;

/// Bytes of the connection that have arrived on a subflow.
#[derive(Clone, Copy, Debug)]
struct Piece {
    at: u64,
    data: u64,
    len: u64,
}

/// One subflow at the receiver.
struct Path {
    receiver: Receiver,
    /// What has arrived beyond a gap of the subflow, by its place there.
    pieces: Vec<Piece>,
    /// Measures the round-trip time.
    rtt: Autotuning,
    is_open: bool,
}

/// What a receiver has counted at data level.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataCounters {
    /// Bytes that another path had brought before.
    pub duplicate_bytes: u64,
    /// Most bytes that waited for earlier ones of another path.
    pub most_waiting_bytes: u64,
}

/// The receiving endpoint.
pub struct DataReceiver {
    plan: Plan,
    paths: Vec<Path>,
    data: Reassembly,
    /// Data sequence number of the first byte.
    first: u64,
    /// Size of the buffer, bytes.
    window: u64,
    /// End of the window that was advertised.
    edge: u64,
    shift: u8,
    tuning: Option<Autotuning>,
    is_established: bool,
    counters: DataCounters,
}

impl DataReceiver {
    /// An endpoint that has received nothing.
    pub fn new(plan: Plan, role: Role) -> Self {
        let (config, tcp) = (subflow_config(&plan.tcp), &plan.tcp);
        let (window, mss) = (tcp.advertised_window(), config.payload_bytes());
        let tuning = |_| Autotuning::new(window, window, tcp.largest_window(), mss, role == Role::Passive);
        let path = |_| Path {
            receiver: Receiver::new(&config, role),
            pieces: Vec::new(),
            rtt: Autotuning::default(),
            is_open: false,
        };
        Self {
            paths: plan.backup.iter().map(path).collect(),
            data: Reassembly::default(),
            first: plan.first_byte(),
            window,
            edge: 0,
            shift: config.window_shift(),
            tuning: tcp.receive_buffer_max.map(tuning),
            is_established: false,
            counters: DataCounters::default(),
            plan,
        }
    }

    /// Opens the subflow on a path, or listens.
    pub fn open(&mut self, path: usize) {
        self.paths[path].receiver.open();
    }

    /// Whether a client may open further subflows.
    pub fn is_established(&self) -> bool {
        self.is_established
    }

    /// Next byte expected: all before it have been handed to the application.
    pub fn rcv_nxt(&self) -> u64 {
        self.data.rcv_nxt()
    }

    /// The receiver of a path's subflow.
    pub fn receiver(&self, path: usize) -> &Receiver {
        &self.paths[path].receiver
    }

    /// End of a segment's payload among the bytes of the connection, if it has any.
    pub fn end_of(&self, packet: &Packet) -> Option<u64> {
        let Some(Mptcp::Data { mapping: Some(mapping), .. }) = packet.options().mptcp.as_ref() else {
            return None;
        };
        Some(mapping.data.wrapping_sub(self.first) + u64::from(mapping.len))
    }

    /// What was counted at data level.
    pub fn counters(&self) -> &DataCounters {
        &self.counters
    }

    /// When `handle_deadline` must be called for a path.
    pub fn deadline(&self, path: usize) -> Option<Instant> {
        self.paths[path].receiver.deadline()
    }

    /// The deadline of a path has passed.
    pub fn handle_deadline(&mut self, now: Instant, path: usize) {
        self.paths[path].receiver.handle_deadline(now);
    }

    /// A segment of a path's subflow arrived. Returns the offset of its data in the subflow, if it had any.
    pub fn handle_segment(&mut self, now: Instant, path: usize, packet: &Packet) -> Option<u64> {
        let own = &mut self.paths[path];
        let before = own.receiver.rcv_nxt();
        let start = own.receiver.handle_segment(now, packet);
        if !own.is_open && own.receiver.is_established() {
            own.is_open = true;
            // RFC 8684 (3.2): the client may not send on a further subflow before the ACK of its third segment.
            if path > 0 && self.plan.is_upload {
                own.receiver.acknowledge();
            }
        }
        let Some(Mptcp::Data { mapping, .. }) = packet.options().mptcp.as_ref() else { return start };
        self.is_established = true;
        let (start, mapping) = (start?, mapping.as_ref()?);
        let piece = Piece { at: start, data: mapping.data.wrapping_sub(self.first), len: mapping.len.into() };
        let index = own.pieces.partition_point(|other| other.at < piece.at);
        if own.pieces.get(index).is_none_or(|other| (other.at, other.len) != (piece.at, piece.len)) {
            own.pieces.insert(index, piece);
        }
        let rcv_nxt = own.receiver.rcv_nxt();
        let ready = own.pieces.partition_point(|other| other.at < rcv_nxt);
        for next in own.pieces.drain(..ready).filter(|other| other.at + other.len > before) {
            let arrival = self.data.handle(next.data, next.data + next.len);
            if matches!(arrival, Arrival::Duplicate | Arrival::DuplicateOutOfOrder) {
                self.counters.duplicate_bytes += next.len;
            }
        }
        if self.data.gaps() > 0 {
            let waiting = self.data.out_of_order_bytes();
            self.counters.most_waiting_bytes = self.counters.most_waiting_bytes.max(waiting);
        }
        if packet.has_timestamps && packet.ts_ecr != 0 {
            own.rtt.on_echo(timestamp(now), packet.ts_ecr);
        }
        self.grow_window(now);
        Some(start)
    }

    /// The window grows with what the application reads in a round trip of the slowest path: `mptcp_rcv_space_adjust`.
    fn grow_window(&mut self, now: Instant) {
        let Some(tuning) = &mut self.tuning else { return };
        let longest: Option<Duration> = self.paths.iter().filter_map(|path| path.rtt.rtt()).max();
        tuning.set_rtt(longest);
        let window = tuning.on_segment(now, self.data.rcv_nxt(), self.data.beyond_gaps());
        self.window = self.window.max(window);
    }

    /// The window that an ACK advertises now.
    fn advertise(&mut self) -> u64 {
        let rcv_nxt = self.data.rcv_nxt();
        let free = self.window.saturating_sub(self.data.out_of_order_bytes());
        self.edge = self.edge.max(rcv_nxt + free);
        self.edge - rcv_nxt
    }

    /// Whether a segment is to be sent now, on which path, and why.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(usize, SendCause)> {
        let mut paths = self.paths.iter_mut().enumerate();
        paths.find_map(|(at, path)| Some((at, path.receiver.poll_transmit(now)?)))
    }

    /// Fills in the header of the segment that `poll_transmit` announced.
    pub fn write(&mut self, now: Instant, path: usize, cause: SendCause, packet: &mut Packet) {
        self.paths[path].receiver.write(now, cause, packet);
        let is_syn = packet.flags.has(Flags::SYN);
        let option = if cause != SendCause::New {
            self.plan.opening(path, is_syn, packet.flags.has(Flags::ACK))
        } else {
            let ack = self.first.wrapping_add(self.data.rcv_nxt());
            Mptcp::Data { ack, mapping: None }
        };
        let field = self.advertise() >> if is_syn { 0 } else { self.shift };
        packet.window = field.min(u16::MAX.into()) as u16;
        let (timestamps, octets) = (if packet.has_timestamps { 12 } else { 0 }, option.octets());
        let options = packet.options_mut();
        if is_syn {
            options.mss = self.plan.tcp.mss.as_u64() as u16;
        }
        // SACK has what is left: RFC 2018 (3), two octets of padding and eight for each block.
        let room = (MOST_OPTION_OCTETS - timestamps).saturating_sub(octets + 4) / 8;
        options.sack.truncate(room as usize);
        options.mptcp = Some(option);
        packet.len = packet.ip().header_bytes() + tcp_header_bytes(packet);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, keys::Keys};
    use super::*;
    use crate::tcp;
    use crate::units::Bytes;

    #[test]
    fn data_that_waits_occupies_the_buffer() {
        let tcp = tcp::Config { receive_buffer: Bytes::from_bytes(60_000), ..tcp::Config::default() };
        let keys = Keys::new(crate::rng::stream(1, "keys"), 2);
        let plan = Plan { tcp, config: Config::default(), backup: vec![false; 2], keys, is_upload: false };
        let mut end = DataReceiver::new(plan, Role::Active);
        assert_eq!(end.advertise(), 60_000);
        // 20 kB arrive beyond a gap of 10 kB, which is filled in two steps: the end of the window stays until all is read.
        end.data.handle(10_000, 30_000);
        assert_eq!(end.advertise(), 60_000);
        end.data.handle(0, 5000);
        assert_eq!(end.advertise(), 55_000);
        end.data.handle(5000, 10_000);
        assert_eq!((end.rcv_nxt(), end.advertise()), (30_000, 60_000));
    }
}
