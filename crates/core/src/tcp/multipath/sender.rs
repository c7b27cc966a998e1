//! The sending endpoint of a connection over several paths: which subflow carries which bytes.
//!
//! The owner calls it like a [`crate::tcp::Sender`], with the path in addition: after each call it drains
//! `poll_transmit`, lets `write` fill in each packet, and arms a timer for the `deadline` of each path.
//!
//! A path is offered one segment at a time: so no byte is bound to it before its congestion window permits it. With `linux`
//! a path has a queue, and what is in it stays.

use super::repetition::Repetition;
use super::scheduler::{PathState, Scheduler};
use super::subflow::{Path, PathCounters};
use super::{Plan, subflow_config};
use crate::packet::mptcp::Mptcp;
use crate::packet::{Flags, Packet};
use crate::tcp::cc::PathShare;
use crate::tcp::handshake::Role;
use crate::tcp::{Sender, Transmit};
use crate::time::{Duration, Instant};
use crate::trace::SendCause;
use crate::wire::tcp_header_bytes;
use std::collections::VecDeque;

/// Smallest send buffer, `tcp_wmem`: the connection has it in addition to the buffers of its paths.
const SMALLEST_BUFFER: u64 = 4096;

/// Bytes to be retransmitted on another path.
#[derive(Clone, Copy, Debug)]
struct Again {
    data: u64,
    len: u64,
    /// The path that has them.
    origin: usize,
}

/// The sending endpoint.
pub struct DataSender {
    plan: Plan,
    paths: Vec<Path>,
    schedule: Box<dyn Scheduler>,
    /// Data sequence number of the first byte, and the number expected of the other direction.
    first: u64,
    back: u64,
    mss: u64,
    peer_shift: u8,
    supplied: u64,
    /// End of what may be given to paths: what the application has written into the send buffer with `linux`, else all that
    /// is supplied.
    written: u64,
    /// The first byte that no path was given.
    next: u64,
    /// The first byte that is unacknowledged at data level.
    una: u64,
    /// Bytes before this one may be sent.
    edge: u64,
    again: VecDeque<Again>,
    /// With `linux`: when the oldest data is repeated.
    repetition: Option<Repetition>,
    /// A segment with DSS has arrived.
    is_established: bool,
    /// Since when the receive window has prevented new data, and for how long it did before.
    blocked_since: Option<Instant>,
    blocked: Duration,
    couples: bool,
    /// Reused from call to call.
    states: Vec<PathState>,
    order: Vec<usize>,
    shares: Vec<PathShare>,
}

/// A segment to be sent on a path.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Index of the path.
    pub path: usize,
    /// The segment of its subflow.
    pub transmit: Transmit,
}

impl DataSender {
    /// An endpoint that has sent nothing.
    pub fn new(plan: Plan, role: Role) -> Self {
        let config = subflow_config(&plan.tcp);
        let path = |is_backup: &bool| Path::new(Sender::new(&config, role), *is_backup);
        let schedule = plan.config.scheduler.build(plan.backup.len());
        Self {
            paths: plan.backup.iter().map(path).collect(),
            repetition: schedule.has_queues().then(|| Repetition::new(plan.backup.len())),
            schedule,
            first: plan.first_byte(),
            back: plan.first_byte_back(),
            mss: config.payload_bytes(),
            peer_shift: config.window_shift(),
            supplied: 0,
            written: 0,
            next: 0,
            una: 0,
            edge: 0,
            again: VecDeque::new(),
            is_established: false,
            blocked_since: None,
            blocked: Duration::ZERO,
            couples: config.cc.couples(),
            states: Vec::new(),
            order: Vec::new(),
            shares: Vec::new(),
            plan,
        }
    }

    /// Opens the subflow on a path, or listens.
    pub fn open(&mut self, path: usize) {
        self.paths[path].sender.open();
    }

    /// Whether a client may open further subflows.
    pub fn is_established(&self) -> bool {
        self.is_established
    }

    /// The application supplies `bytes` more; `u64::MAX` for a flow without end.
    pub fn supply(&mut self, bytes: u64) {
        self.supplied = self.supplied.saturating_add(bytes);
    }

    /// Takes back what has been supplied and never sent. Returns the bytes that remain supplied.
    pub fn withdraw_unsent(&mut self) -> u64 {
        self.supplied = self.supplied.min(self.next);
        self.written = self.written.min(self.supplied);
        self.supplied
    }

    /// Bytes acknowledged at data level.
    pub fn acknowledged(&self) -> u64 {
        self.una
    }

    /// How long the receive window has kept back data.
    pub fn blocked(&self, now: Instant) -> Duration {
        self.blocked + self.blocked_since.map_or(Duration::ZERO, |since| now.since(since))
    }

    /// The sender of a path's subflow.
    pub fn sender(&self, path: usize) -> &Sender {
        &self.paths[path].sender
    }

    /// The same, mutable, to take samples.
    pub fn sender_mut(&mut self, path: usize) -> &mut Sender {
        &mut self.paths[path].sender
    }

    /// What was counted for a path.
    pub fn path_counters(&self, path: usize) -> &PathCounters {
        &self.paths[path].counters
    }

    /// When `handle_deadline` must be called for a path.
    pub fn deadline(&self, path: usize) -> Option<Instant> {
        let repetition = self.repetition.as_ref().filter(|_| path == 0).and_then(Repetition::deadline);
        self.paths[path].sender.deadline().into_iter().chain(repetition).min()
    }

    /// A segment of a path's subflow arrived.
    pub fn handle_segment(&mut self, now: Instant, path: usize, packet: &Packet) {
        let is_syn = packet.flags.has(Flags::SYN);
        let window = u64::from(packet.window) << if is_syn { 0 } else { self.peer_shift };
        if packet.flags.has(Flags::ACK) {
            let mptcp = packet.options().mptcp.as_ref();
            let data_ack = match mptcp {
                Some(Mptcp::Data { ack, .. }) => ack.wrapping_sub(self.first),
                _ => self.una,
            };
            self.is_established |= matches!(mptcp, Some(Mptcp::Data { .. }));
            self.on_data_ack(now, data_ack, window);
        }
        if self.couples {
            self.couple(path);
        }
        let is_client = self.plan.is_upload;
        let own = &mut self.paths[path];
        let was_open = own.sender.is_established();
        let has_recovered = own.handle_segment(now, packet);
        // RFC 8684 (3.2): a client waits for the ACK of the handshake's third segment.
        if !own.may_send && own.sender.is_established() && (path == 0 || !is_client || was_open) {
            own.may_send = true;
            own.counters.joined = Some(now);
        }
        if has_recovered {
            // Its own retransmissions bring the rest.
            self.again.retain(|again| again.origin != path);
        }
    }

    /// The data before `ack` has arrived, and `window` bytes more may follow.
    fn on_data_ack(&mut self, now: Instant, ack: u64, window: u64) {
        if ack > self.next {
            return;
        }
        self.edge = self.edge.max(ack + window);
        if ack <= self.una {
            return;
        }
        self.una = ack;
        while let Some(again) = self.again.front_mut() {
            let gone = ack.saturating_sub(again.data).min(again.len);
            (again.data, again.len) = (again.data + gone, again.len - gone);
            if again.len > 0 {
                break;
            }
            self.again.pop_front();
        }
        let is_last = ack == self.next && ack == self.written;
        if let Some(repetition) = &mut self.repetition {
            repetition.on_progress(now, is_last);
        }
    }

    /// Tells the congestion control of a path about the other paths.
    fn couple(&mut self, path: usize) {
        self.shares.clear();
        self.shares
            .extend(self.paths.iter().filter(|other| other.may_send).map(|other| other.sender.share()));
        let own = self.paths[..path].iter().filter(|path| path.may_send).count();
        if own < self.shares.len() && self.paths[path].may_send {
            self.paths[path].sender.couple(&self.shares, own);
        }
    }

    /// The deadline of a path has passed.
    pub fn handle_deadline(&mut self, now: Instant, path: usize) {
        let repetition = self.repetition.as_ref().filter(|_| path == 0).and_then(Repetition::deadline);
        if repetition.is_some_and(|at| at <= now) {
            self.repeat(now);
        }
        let own = &mut self.paths[path];
        let timeouts = own.sender.timeouts();
        own.sender.handle_deadline(now);
        // With `linux` it takes longer until a path counts as silent: `repeat`.
        if own.sender.timeouts() != timeouts && own.stale.is_none() && self.repetition.is_none() {
            self.give_up(path);
        }
    }

    /// A path gets nothing new until an ACK of new data, and others send its outstanding data.
    fn give_up(&mut self, path: usize) {
        let own = &mut self.paths[path];
        own.stale = Some(own.sender.state().una);
        own.counters.stale += 1;
        if !self.plan.config.reinject || self.schedule.is_redundant() {
            return;
        }
        let una = self.una;
        for (data, len) in own.outstanding() {
            let gone = una.saturating_sub(data).min(len);
            if gone < len {
                self.again.push_back(Again { data: data + gone, len: len - gone, origin: path });
            }
        }
        self.again.make_contiguous().sort_by_key(|again| again.data);
    }

    /// The next segment to be sent now, if any.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Sending> {
        self.look();
        if self.schedule.has_queues() {
            self.fill_queues(now);
        } else {
            self.written = self.supplied;
            let mut order = std::mem::take(&mut self.order);
            self.schedule.order(&self.states, self.edge.saturating_sub(self.una), &mut order);
            let sending = order.iter().find_map(|path| self.offer(now, *path));
            self.order = order;
            if sending.is_some() {
                return sending;
            }
        }
        let mut polled = self.paths.iter_mut().enumerate();
        let sending = polled.find_map(|(path, own)| own.poll(now).map(|transmit| Sending { path, transmit }));
        if sending.is_none() {
            self.note_blocking(now);
        }
        sending
    }

    /// Reads the state of each path.
    fn look(&mut self) {
        self.states.clear();
        self.states.extend(self.paths.iter_mut().map(Path::state));
    }

    /// Gives data to the queues that have room: `linux`.
    fn fill_queues(&mut self, now: Instant) {
        self.write_data();
        self.schedule.on_push();
        let first = self.next;
        loop {
            let window = self.edge.saturating_sub(self.next);
            let Some(path) = self.schedule.choose_queue(&self.states, window) else { break };
            let Some((data, len, is_again)) = self.next_piece(path) else { break };
            self.take(path, data, len, is_again);
            self.enqueue(path, data, len);
        }
        if let Some(repetition) = self.repetition.as_mut().filter(|_| self.next > first) {
            repetition.on_data(now, self.paths.iter().map(|path| path.sender.deadline()));
        }
    }

    /// Puts bytes into the queue of a path.
    fn enqueue(&mut self, path: usize, data: u64, len: u64) {
        self.paths[path].enqueue(data, len, self.mss);
        self.states[path].queued += len;
        self.states[path].memory += len;
    }

    /// No data ACK has made progress for long: a path with nothing outstanding repeats the oldest fragment; one of a backup
    /// subflow does if all others are silent.
    fn repeat(&mut self, now: Instant) {
        self.look();
        let Some(repetition) = &mut self.repetition else { return };
        let (mut idle, mut idle_backup, mut silent_for) = (None, None, u8::MAX);
        let mut silent = None;
        for (path, state) in self.states.iter().enumerate().filter(|(_, state)| state.is_usable) {
            if state.queued > 0 {
                let periods = repetition.on_outstanding(path, self.paths[path].heard);
                silent_for = silent_for.min(periods);
                silent = silent.or((periods > Repetition::MOST_PERIODS).then_some(path));
            } else if state.is_backup {
                idle_backup = idle_backup.or(Some(path));
            } else {
                idle = idle.or(Some(path));
            }
        }
        repetition.on_progress(now, false);
        if let Some(path) = silent.filter(|path| repetition.has_another(*path)) {
            self.give_up(path);
        }
        let Some(path) = idle.or(idle_backup.filter(|_| silent_for > 1)) else { return };
        let end = Repetition::end_of_fragment(self.una).min(self.next);
        self.paths[path].counters.bytes += end - self.una;
        self.paths[path].counters.reinjected_bytes += end - self.una;
        for data in (self.una..end).step_by(self.mss as usize) {
            self.enqueue(path, data, self.mss.min(end - data));
        }
    }

    /// Fills the connection's send buffer, which holds all that is not acknowledged at data level, once a third of it is free:
    /// an application that writes until the buffer is full is not woken up before (`sk_stream_is_writeable`).
    fn write_data(&mut self) {
        let of_paths =
            self.paths.iter().filter(|path| path.may_send).map(|path| path.send_buffer).sum::<u64>();
        let buffer = SMALLEST_BUFFER + of_paths;
        let held = self.written - self.una;
        if held <= buffer.saturating_sub(held) * 2 {
            self.written = self.supplied.min(self.una + buffer).max(self.written);
        }
    }

    /// The bytes that a path would take next: offset, length, and whether another path has them already.
    fn next_piece(&self, path: usize) -> Option<(u64, u64, bool)> {
        if let Some(again) = self.again.iter().find(|again| again.origin != path) {
            return Some((again.data, again.len.min(self.mss), true));
        }
        let next = if self.schedule.is_redundant() { self.paths[path].next.max(self.una) } else { self.next };
        let len = self.mss.min(self.written - next);
        let room = self.edge.saturating_sub(next);
        if self.schedule.has_queues() {
            // Linux uses up the window: the next data continues the segment if it is still in the queue.
            return (len.min(room) > 0).then_some((next, len.min(room), false));
        }
        if len > 0 && room >= len {
            return Some((next, len, self.schedule.is_redundant() && next < self.next));
        }
        // A window of less than a segment is used while nothing is outstanding.
        (len > 0 && room > 0 && self.next == self.una).then_some((next, room, false))
    }

    /// A path has taken `len` bytes.
    fn take(&mut self, path: usize, data: u64, len: u64, is_again: bool) {
        let own = &mut self.paths[path];
        own.counters.bytes += len;
        if is_again {
            own.counters.reinjected_bytes += len;
        }
        own.next = data + len;
        self.next = self.next.max(data + len);
        if is_again && let Some(at) = self.again.iter().position(|again| again.data == data) {
            let again = &mut self.again[at];
            (again.data, again.len) = (again.data + len, again.len - len);
            if again.len == 0 {
                self.again.remove(at);
            }
        }
        self.schedule.on_taken(path, len);
    }

    /// Offers the next bytes to a path.
    fn offer(&mut self, now: Instant, path: usize) -> Option<Sending> {
        let (data, len, is_again) = self.next_piece(path).or_else(|| self.unblock(now, path))?;
        let (transmit, sent) = self.paths[path].send(now, data, len);
        if sent > 0 {
            self.take(path, data, sent, is_again);
        }
        transmit.map(|transmit| Sending { path, transmit })
    }

    /// With `opportunistic`, if the receive window blocks the fastest path: the bytes that the window waits for, if another
    /// path has them, whose window is halved.
    fn unblock(&mut self, now: Instant, path: usize) -> Option<(u64, u64, bool)> {
        let usable = self.states.iter().enumerate().filter(|(_, state)| state.is_usable);
        let fastest = usable.min_by_key(|(at, state)| (state.srtt, *at)).map(|(at, _)| at);
        let state = &self.states[path];
        let has_room = state.queued as f64 + state.mss <= state.cwnd;
        let is_blocked = self.una < self.next && self.next < self.supplied;
        if !self.plan.config.opportunistic || !is_blocked || !has_room || fastest != Some(path) {
            return None;
        }
        let una = self.una;
        if self.paths[path].rest_of_piece(una).is_some() {
            return None;
        }
        let mut holders = self.paths.iter().enumerate();
        let (holder, len) = holders.find_map(|(at, other)| Some((at, other.rest_of_piece(una)?)))?;
        let holder = &mut self.paths[holder];
        if now.since(holder.penalised) >= holder.sender.rto().srtt() {
            holder.penalised = now;
            holder.sender.halve_window();
        }
        Some((una, len, true))
    }

    /// Counts the time in which the receive window keeps back data.
    fn note_blocking(&mut self, now: Instant) {
        let len = self.mss.min(self.supplied - self.next);
        let is_blocked = len > 0 && self.edge.saturating_sub(self.next) < len;
        match (is_blocked, self.blocked_since) {
            (true, None) => self.blocked_since = Some(now),
            (false, Some(since)) => {
                self.blocked += now.since(since);
                self.blocked_since = None;
            }
            _ => {}
        }
    }

    /// Fills in the header of a segment that `poll_transmit` announced.
    pub fn write(&self, now: Instant, sending: &Sending, packet: &mut Packet) {
        let Sending { path, transmit } = *sending;
        let own = &self.paths[path];
        own.sender.write(now, &transmit, packet);
        let is_opening = transmit.len == 0 && transmit.cause != SendCause::WindowProbe;
        let is_syn = packet.flags.has(Flags::SYN);
        let option = if is_opening {
            self.plan.opening(path, is_syn, packet.flags.has(Flags::ACK))
        } else {
            Mptcp::Data { ack: self.back, mapping: own.mapping(self.first, &transmit) }
        };
        let options = packet.options_mut();
        if is_syn {
            options.mss = self.plan.tcp.mss.as_u64() as u16;
        }
        options.mptcp = Some(option);
        packet.len = packet.ip().header_bytes() + tcp_header_bytes(packet) + packet.payload;
    }
}
