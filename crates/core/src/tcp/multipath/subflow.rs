//! One subflow at the sending endpoint: its sender, which bytes of the connection it has sent, and its queue with `linux`.
//!
//! The sender is given what it may send next at each poll, and what it does not send is taken back.

use super::scheduler::PathState;
use crate::packet::Packet;
use crate::packet::mptcp::Mapping;
use crate::tcp::{Sender, Transmit};
use crate::time::Instant;
use std::collections::VecDeque;

/// Bytes of Linux's send buffer for each segment of the congestion window (`tcp_sndbuf_expand`), for segments of 1460 B.
///
/// ASSUMED: twice 2304 B, as measured with Linux 6.18. It depends on how the kernel was built: with headers of wireless LAN it
/// is twice 4352 B.
const BUFFER_PER_SEGMENT: u64 = 2 * 2304;
/// Memory that Linux has for each segment in flight in addition to its payload: 960 B for headers and bookkeeping of two
/// segments, which are sent as one (`tcp_tso_autosize`, below some 20 Mbit/s). Measured with Linux 6.18: 0.4 to 0.6 kB.
const OVERHEAD_PER_SEGMENT: u64 = 960 / 2;
/// Largest send buffer: `tcp_wmem`.
const LARGEST_BUFFER: u64 = 4 << 20;

/// RTT, s, that Linux's pacing rate is for while there is no sample: an eighth of a microsecond, the unit of `srtt_us`
/// (`tcp_update_pacing_rate`).
const NO_SAMPLE_S: f64 = 125e-9;

/// Bytes of the connection on a subflow.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Offset in the subflow.
    at: u64,
    /// Offset in the connection.
    data: u64,
    len: u64,
}

/// One subflow at the sender.
pub(super) struct Path {
    pub sender: Sender,
    /// What it has sent and its receiver has not acknowledged, in the order of the subflow.
    pieces: VecDeque<Piece>,
    /// Data in its own queue: offset in the connection, length.
    queue: VecDeque<(u64, u64)>,
    queued: u64,
    /// Largest send buffer so far: `linux`.
    pub send_buffer: u64,
    /// Next byte of the connection that it sends, if it sends all: `redundant`.
    pub next: u64,
    pub is_backup: bool,
    /// Data may be sent.
    pub may_send: bool,
    /// Its oldest byte in flight when it timed out, until an ACK of it.
    pub stale: Option<u64>,
    last_sent: Instant,
    /// When its last segment arrived.
    pub heard: Instant,
    pub penalised: Instant,
    pub counters: PathCounters,
}

/// What a sender has counted for one path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathCounters {
    /// When data could be sent first.
    pub joined: Option<Instant>,
    /// Bytes of the connection given to it, without its own retransmissions.
    pub bytes: u64,
    /// Bytes that another path had been given before.
    pub reinjected_bytes: u64,
    /// Times it was given nothing new after a timeout.
    pub stale: u64,
    /// Times this ended.
    pub recovered: u64,
}

impl Path {
    /// A path over which nothing was sent.
    pub fn new(sender: Sender, is_backup: bool) -> Self {
        Self {
            sender,
            pieces: VecDeque::new(),
            queue: VecDeque::new(),
            queued: 0,
            send_buffer: 0,
            next: 0,
            is_backup,
            may_send: false,
            stale: None,
            last_sent: Instant::ZERO,
            heard: Instant::ZERO,
            penalised: Instant::ZERO,
            counters: PathCounters::default(),
        }
    }

    /// A segment of the subflow arrived. Returns whether it ends a silence.
    pub fn handle_segment(&mut self, now: Instant, packet: &Packet) -> bool {
        self.heard = now;
        self.sender.handle_segment(now, packet);
        let una = self.sender.state().una;
        while self.pieces.front().is_some_and(|piece| piece.at + piece.len <= una) {
            self.pieces.pop_front();
        }
        let has_recovered = self.stale.is_some_and(|oldest| una > oldest);
        if has_recovered {
            self.stale = None;
            self.counters.recovered += 1;
        }
        has_recovered
    }

    /// What a scheduler has to know of it.
    pub fn state(&mut self) -> PathState {
        let (state, rto) = (self.sender.state(), self.sender.rto());
        let (window, srtt) = (&state.window, rto.srtt());
        let gain = if window.cwnd < window.ssthresh / 2.0 { 2.0 } else { 1.2 };
        let seconds = if srtt.is_zero() { NO_SAMPLE_S } else { srtt.as_secs_f64() };
        let in_flight = state.segments.len() as u64;
        let queued = state.max - state.una + self.queued;
        let buffer = BUFFER_PER_SEGMENT * window.segments().max(10);
        self.send_buffer = self.send_buffer.max(buffer.min(LARGEST_BUFFER));
        PathState {
            is_usable: self.may_send && self.stale.is_none(),
            is_backup: self.is_backup,
            srtt,
            cwnd: window.cwnd,
            mss: window.mss,
            queued,
            memory: queued + in_flight * OVERHEAD_PER_SEGMENT,
            in_flight,
            rate: gain * window.cwnd.max(in_flight as f64 * window.mss) / seconds,
            send_buffer: self.send_buffer,
        }
    }

    /// Bytes of the connection that it has and that no ACK of the subflow covers: offset and length.
    pub fn outstanding(&self) -> impl Iterator<Item = (u64, u64)> {
        self.pieces.iter().map(|piece| (piece.data, piece.len)).chain(self.queue.iter().copied())
    }

    /// Bytes from `data` on to the end of the piece that has it, if it was sent here and is not acknowledged.
    pub fn rest_of_piece(&self, data: u64) -> Option<u64> {
        let mut pieces = self.pieces.iter();
        let piece = pieces.find(|piece| (piece.data..piece.data + piece.len).contains(&data))?;
        Some(piece.data + piece.len - data)
    }

    /// Puts bytes of the connection into its queue, in segments of at most `mss`.
    pub fn enqueue(&mut self, data: u64, len: u64, mss: u64) {
        self.queued += len;
        // What continues a part of a segment that is still in the queue goes into the same segment.
        match self.queue.back_mut().filter(|last| last.0 + last.1 == data && last.1 + len <= mss) {
            Some(last) => last.1 += len,
            None => self.queue.push_back((data, len)),
        }
    }

    /// The next segment, which may have `len` bytes from `data` on, and how many of them it has.
    pub fn send(&mut self, now: Instant, data: u64, len: u64) -> (Option<Transmit>, u64) {
        let at = self.sender.state().max;
        self.sender.supply_after(now.since(self.last_sent), len);
        let transmit = self.sender.poll_transmit(now);
        self.sender.withdraw_unsent();
        let sent = self.sender.state().max - at;
        if sent > 0 {
            self.pieces.push_back(Piece { at, data, len: sent });
        }
        if transmit.is_some() {
            self.last_sent = now;
        }
        (transmit, sent)
    }

    /// The next segment without new data, except from its own queue.
    pub fn poll(&mut self, now: Instant) -> Option<Transmit> {
        let Some((data, len)) = self.queue.front().copied() else {
            let transmit = self.sender.poll_transmit(now);
            if transmit.is_some() {
                self.last_sent = now;
            }
            return transmit;
        };
        let (transmit, sent) = self.send(now, data, len);
        self.queued -= sent;
        if sent == len {
            self.queue.pop_front();
        } else {
            self.queue[0] = (data + sent, len - sent);
        }
        transmit
    }

    /// Which bytes of the connection a segment has; `first` is the data sequence number of the connection's first byte.
    pub fn mapping(&self, first: u64, transmit: &Transmit) -> Option<Mapping> {
        let index = self.pieces.partition_point(|piece| piece.at + piece.len <= transmit.seq);
        let piece = self.pieces.get(index).filter(|_| transmit.len > 0)?;
        let data = first.wrapping_add(piece.data + (transmit.seq - piece.at));
        Some(Mapping { data, subflow: transmit.seq.wrapping_add(1) as u32, len: transmit.len as u16 })
    }
}
