//! One endpoint of a connection: handshake, keys, packets in and out.

use super::congestion::Congestion;
use super::ecn::{self, EcnReport};
use super::flow::{self, Credit, FlowControlReport, Windows};
use super::frame::{Counts, Frame, Received, Space, StreamFrame};
use super::rtt::Rtt;
use super::space::{PacketSpace, Sent};
use super::{LEAST_DATAGRAM, Streams, Tls};
use crate::delays::{DelayReport, Delays};
use crate::packet::Packet;
use crate::rlc::SnRange;
use crate::rng::Stream;
use crate::tcp::Config;
use crate::tcp::sender::PathView;
use crate::tcp::window::state::State;
use crate::time::{Duration, Instant};
use serde::Serialize;

/// Which end it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Opens the connection.
    Client,
    /// Waits for it.
    Server,
}

/// Bytes of a long header with connection IDs of 8 bytes and a packet number of 2: RFC 9000 (17.2).
const LONG_HEADER: u64 = 1 + 4 + 1 + 8 + 1 + 8 + 2 + 2;
/// Bytes of a short header: RFC 9000 (17.3).
const SHORT_HEADER: u64 = 1 + 8 + 2;
/// Bytes of the authentication tag: RFC 9001 (5.3).
const TAG: u64 = 16;
/// Longest header of a CRYPTO frame.
const CRYPTO_HEADER: u64 = 1 + 4 + 2;
/// Longest MAX_STREAM_DATA frame: RFC 9000 (19.10).
const MAX_STREAM_DATA: u64 = 1 + 8 + 8;
/// ServerHello with a key share of X25519: RFC 8446 (4.1.3).
const SERVER_HELLO: u64 = 122;
/// Finished with SHA-256: RFC 8446 (4.4.4).
const FINISHED: u64 = 4 + 32;
/// What a server may send for each byte that has arrived from an unvalidated address: RFC 9000 (8.1).
const AMPLIFICATION: u64 = 3;
/// Packets kept until there are keys for them: RFC 9001 (5.7).
const MOST_KEPT: usize = 10;

/// A datagram to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its UDP payload, bytes.
    pub len: u64,
    /// ECN field of its IP header.
    pub ecn: u8,
    /// Packets and frames as octets, without data.
    pub octets: Vec<u8>,
}

/// Report on an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Packets sent; several may share a datagram.
    pub packets_sent: u64,
    /// Packets that only acknowledge.
    pub ack_packets_sent: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// Packets declared lost that were acknowledged later.
    pub spurious_losses: u64,
    /// Probe timeouts.
    pub probe_timeouts: u64,
    /// Reductions of the congestion window.
    pub window_reductions: u64,
    /// Reductions to the minimum window, for persistent congestion.
    pub persistent_congestion: u64,
    /// Flow control, if it raised a limit or held data back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_control: Option<FlowControlReport>,
    /// ECN, if the scenario has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<EcnReport>,
    /// Round-trip times.
    pub rtt_ms: DelayReport,
}

/// One endpoint of a connection.
pub struct Connection {
    pub(super) role: Role,
    tls: Tls,
    /// UDP payload of a datagram at most.
    datagram: u64,
    ack_every: u32,
    pub(super) spaces: [PacketSpace; 3],
    pub(super) rtt: Rtt,
    pub(super) rtts: Delays,
    pub(super) first_sample_at: Option<Instant>,
    pub(super) latest_sample: Option<Duration>,
    pub(super) congestion: Congestion,
    /// Limits of flow control that the peer has set, and own ones.
    pub(super) credit: Credit,
    pub(super) windows: Windows,
    /// Since when only the peer's limits hold data back.
    blocked_since: Option<Instant>,
    flow_control: FlowControlReport,
    pub(super) ecn: Option<ecn::Sending>,
    /// ECN fields of the packets that have arrived.
    arrived: Counts,
    pub(super) probe_count: u32,
    pub(super) timer: Option<Instant>,
    /// The client has the server's Finished, the server the client's.
    is_complete: bool,
    /// RFC 9001 (4.1.2).
    pub(super) is_confirmed: bool,
    /// HANDSHAKE_DONE is to be sent.
    pub(super) owes_done: bool,
    /// The server knows that the client is where it says.
    is_validated: bool,
    bytes_in: u64,
    bytes_out: u64,
    /// Packets without keys as yet, with the ECN fields with which they came.
    kept: Vec<(Received, u8)>,
    completed_at: Option<Instant>,
    pub(super) report: Report,
}

impl Connection {
    /// An endpoint that has sent and received nothing; its peer has the same windows.
    pub fn new(config: &Config, windows: &flow::Config, role: Role, tls: Tls) -> Self {
        let datagram = config.mss.as_u64().max(LEAST_DATAGRAM);
        Self {
            role,
            tls,
            datagram,
            ack_every: config.ack_every,
            spaces: Default::default(),
            rtt: Rtt::default(),
            rtts: Delays::default(),
            first_sample_at: None,
            latest_sample: None,
            congestion: Congestion::new(config, datagram),
            credit: Credit::new(windows),
            windows: Windows::new(windows),
            blocked_since: None,
            flow_control: FlowControlReport::default(),
            ecn: ecn::Sending::new(config),
            arrived: Counts::default(),
            probe_count: 0,
            timer: None,
            is_complete: false,
            is_confirmed: false,
            owes_done: false,
            is_validated: role == Role::Client,
            bytes_in: 0,
            bytes_out: 0,
            kept: Vec::new(),
            completed_at: None,
            report: Report::default(),
        }
    }

    /// The client opens the connection.
    pub fn open(&mut self) {
        self.spaces[Space::Initial as usize].crypto_out.len = self.tls.client_hello;
    }

    /// When the handshake was complete at this end.
    pub fn completed_at(&self) -> Option<Instant> {
        self.completed_at
    }

    /// Windows and bytes in flight.
    pub fn state(&self) -> &State {
        self.congestion.state()
    }

    /// Smoothed round-trip time, its variation, and the present probe timeout without ACK delay and backoff.
    pub fn times(&self) -> [Duration; 3] {
        [self.rtt.smoothed, self.rtt.variation, self.rtt.probe_timeout()]
    }

    /// Gives a randomised congestion control its own random stream, before anything is sent.
    pub fn seed(&mut self, stream: impl FnOnce() -> Stream) {
        self.congestion.seed(stream);
    }

    /// Model of the path and pacing rate, if the congestion control models it.
    pub fn path_view(&mut self) -> Option<PathView> {
        self.congestion.path_view()
    }

    /// The round-trip time sampled since the last call.
    pub fn take_rtt_sample(&mut self) -> Option<Duration> {
        self.latest_sample.take()
    }

    /// What it has counted.
    pub fn report(&self) -> Report {
        Report {
            window_reductions: self.congestion.reductions,
            persistent_congestion: self.congestion.collapses,
            flow_control: (self.flow_control != FlowControlReport::default()).then_some(self.flow_control),
            ecn: self.ecn.as_ref().map(|ecn| ecn.report(self.arrived, self.congestion.reductions_for_marks)),
            rtt_ms: self.rtts.report(),
            ..self.report.clone()
        }
    }

    /// Packets in flight.
    pub fn packets_in_flight(&self) -> u64 {
        let in_flight =
            |space: &PacketSpace| space.sent.values().filter(|sent| sent.in_flight).count() as u64;
        self.spaces.iter().map(in_flight).sum()
    }

    pub(super) fn has_handshake_keys(&self) -> bool {
        let hello = &self.spaces[Space::Initial as usize];
        let needed = if self.role == Role::Client { self.server_hello() } else { self.tls.client_hello };
        hello.is_discarded || hello.crypto_in.covers(SnRange::new(0, needed))
    }

    fn server_hello(&self) -> u64 {
        SERVER_HELLO.min(self.tls.server_flight)
    }

    /// Whether packets of this space can be sent.
    fn can_send(&self, space: Space) -> bool {
        !self.spaces[space as usize].is_discarded
            && match space {
                Space::Initial => true,
                Space::Handshake => self.has_handshake_keys(),
                Space::Data if self.role == Role::Client => self.is_complete || self.tls.early_data,
                Space::Data => self.has_handshake_keys(),
            }
    }

    /// Whether packets of this space can be read.
    fn can_read(&self, packet: &Received) -> bool {
        match packet.space {
            Space::Initial => true,
            Space::Handshake => self.has_handshake_keys(),
            Space::Data if packet.is_early => self.has_handshake_keys() && self.tls.early_data,
            Space::Data => self.is_complete,
        }
    }

    pub(super) fn is_amplification_limited(&self) -> bool {
        !self.is_validated && self.bytes_out >= AMPLIFICATION * self.bytes_in
    }

    /// When `handle_deadline` must be called.
    pub fn deadline(&self) -> Option<Instant> {
        let acks = self.spaces.iter().filter_map(|space| space.ack_at);
        let pacer = self.congestion.pacer.holds.then(|| self.congestion.pacer.next());
        acks.chain(self.timer).chain(pacer).min()
    }

    /// The deadline has passed.
    pub fn handle_deadline(&mut self, now: Instant, streams: &mut dyn Streams) {
        for space in &mut self.spaces {
            if space.ack_at.take_if(|at| *at <= now).is_some() {
                space.ack_due = true;
            }
        }
        if self.timer.take_if(|at| *at <= now).is_some() {
            self.handle_loss_timeout(now, streams);
        }
    }

    /// A datagram arrived.
    pub fn handle_datagram(&mut self, now: Instant, datagram: &Datagram, streams: &mut dyn Streams) {
        let was_limited = self.is_amplification_limited();
        self.bytes_in += datagram.len;
        for packet in Received::read_all(&datagram.octets) {
            self.handle_packet(now, packet, datagram.ecn, streams);
        }
        if was_limited {
            // RFC 9002 (A.6).
            self.set_timer(now);
        }
    }

    fn handle_packet(&mut self, now: Instant, packet: Received, ecn: u8, streams: &mut dyn Streams) {
        let space = packet.space;
        if self.spaces[space as usize].is_discarded {
            return;
        }
        if !self.can_read(&packet) {
            if self.kept.len() < MOST_KEPT {
                self.kept.push((packet, ecn));
            }
            return;
        }
        let elicits = packet.frames.iter().any(Frame::elicits_ack);
        let of_space = &mut self.spaces[space as usize];
        if !of_space.handle_number(packet.number) {
            // Perhaps the ACK was lost.
            return of_space.schedule_ack(now, packet.number, elicits, true, self.ack_every);
        }
        of_space.arrived.count(ecn);
        self.arrived.count(ecn);
        // RFC 9000 (13.2.1).
        let at_once = space != Space::Data || ecn == Packet::CE;
        of_space.schedule_ack(now, packet.number, elicits, at_once, self.ack_every);
        if space == Space::Handshake && self.role == Role::Server {
            self.is_validated = true;
            self.discard(now, Space::Initial);
        }
        for frame in &packet.frames {
            match frame {
                Frame::Ack { delay, ranges, ecn: counts } => {
                    self.handle_ack(now, space, *delay, (ranges, *counts), streams);
                }
                Frame::Stream(data) => {
                    let read = streams.handle_received(now, data);
                    self.windows.on_data(now, data, read, self.rtt.smoothed);
                }
                Frame::MaxData(limit) => self.credit.raise_connection(*limit),
                Frame::MaxStreamData { stream, limit } => self.credit.raise_stream(*stream, *limit),
                Frame::Crypto(range) => {
                    self.spaces[space as usize].crypto_in.insert(*range);
                    self.progress(now);
                }
                Frame::HandshakeDone => self.confirm(now),
                Frame::Ping => {}
            }
        }
        if !self.kept.is_empty() {
            for (early, its_ecn) in std::mem::take(&mut self.kept) {
                self.handle_packet(now, early, its_ecn, streams);
            }
        }
    }

    /// Data of the handshake has arrived: RFC 9001 (4).
    fn progress(&mut self, now: Instant) {
        let has = |space: &PacketSpace, len| space.crypto_in.covers(SnRange::new(0, len));
        let hello = self.server_hello();
        if self.role == Role::Server {
            if self.has_handshake_keys() {
                self.spaces[Space::Initial as usize].crypto_out.len = hello;
                self.spaces[Space::Handshake as usize].crypto_out.len = self.tls.server_flight - hello;
            }
            if has(&self.spaces[Space::Handshake as usize], FINISHED) && !self.is_complete {
                (self.is_complete, self.completed_at, self.owes_done) = (true, Some(now), true);
                self.confirm(now);
            }
        } else if self.has_handshake_keys()
            && has(&self.spaces[Space::Handshake as usize], self.tls.server_flight - hello)
            && !self.is_complete
        {
            self.spaces[Space::Handshake as usize].crypto_out.len = FINISHED;
            (self.is_complete, self.completed_at) = (true, Some(now));
        }
    }

    /// The handshake is confirmed, and its keys are discarded: RFC 9001 (4.1.2), (4.9.2).
    fn confirm(&mut self, now: Instant) {
        if !self.is_confirmed {
            self.is_confirmed = true;
            self.discard(now, Space::Handshake);
        }
    }

    /// RFC 9002 (A.11).
    fn discard(&mut self, now: Instant, space: Space) {
        if !self.spaces[space as usize].is_discarded {
            let in_flight = self.spaces[space as usize].discard();
            self.congestion.forget(in_flight);
            self.probe_count = 0;
            self.set_timer(now);
        }
    }

    /// Whether a space has something that elicits an ACK.
    fn has_content(&self, space: Space, streams: &dyn Streams) -> bool {
        match space {
            Space::Data => self.owes_done || self.windows.owes() || streams.has_data(&self.credit),
            _ => self.spaces[space as usize].crypto_out.has_data(),
        }
    }

    /// Whether a space whose packets can be sent has something that elicits an ACK.
    fn has_any_content(&self, streams: &dyn Streams) -> bool {
        let mut spaces = Space::ALL.into_iter().filter(|space| self.can_send(*space));
        spaces.any(|space| self.has_content(space, streams))
    }

    /// The next datagram to be sent now.
    pub fn poll_transmit(&mut self, now: Instant, streams: &mut dyn Streams) -> Option<Datagram> {
        let allowed = if self.is_validated {
            u64::MAX
        } else {
            (AMPLIFICATION * self.bytes_in).saturating_sub(self.bytes_out)
        };
        let room = self.datagram.min(allowed);
        if self.congestion.models_path() {
            let srtt = self.rtt.min.map_or(Duration::ZERO, |_| self.rtt.smoothed);
            self.congestion.on_ready(now, srtt, self.has_any_content(streams));
        }
        self.congestion.pacer.holds = false;
        let mut may_send = self.congestion.permits(self.datagram);
        if may_send && !self.congestion.pacer.permits(now, self.datagram) {
            may_send = false;
            self.congestion.pacer.holds = self.has_any_content(streams);
        }
        let (mut len, mut octets) = (0, Vec::new());
        let (mut sent_initial, mut in_flight, mut in_flight_numbers) = (None, 0, Vec::new());
        let (mut has_initial, mut has_handshake) = (false, false);
        for space in Space::ALL {
            if let Some(sent) = self.packet(now, space, room - len, may_send, streams, &mut octets) {
                len += sent.bytes;
                in_flight += if sent.in_flight { sent.bytes } else { 0 };
                if let Some(ecn) = &mut self.ecn {
                    ecn.on_sent(space);
                }
                let number = self.spaces[space as usize].next_number;
                self.spaces[space as usize].next_number += 1;
                if sent.elicits_ack {
                    self.spaces[space as usize].last_eliciting = Some(now);
                    if space == Space::Initial {
                        sent_initial = Some(number);
                    }
                }
                self.report.packets_sent += 1;
                if sent.in_flight {
                    in_flight_numbers.push((space, number));
                    self.spaces[space as usize].sent.insert(number, sent);
                } else {
                    self.report.ack_packets_sent += 1;
                }
                has_initial |= space == Space::Initial;
                has_handshake |= space == Space::Handshake;
            }
        }
        if len == 0 {
            self.note_blocked(now, may_send, streams);
            if self.congestion.models_path() {
                self.congestion.on_drained(now, self.has_any_content(streams));
            }
            return None;
        }
        if let Some(number) = sent_initial
            && let padding @ 1.. = LEAST_DATAGRAM.min(room).saturating_sub(len)
            && let Some(sent) = self.spaces[Space::Initial as usize].sent.get_mut(&number)
        {
            sent.bytes += padding;
            (len, in_flight) = (len + padding, in_flight + padding);
        } else if has_initial && self.role == Role::Client {
            // RFC 9000 (14.1): also where it only acknowledges.
            len = len.max(LEAST_DATAGRAM.min(room));
        }
        if in_flight > 0 {
            for (space, number) in in_flight_numbers {
                if let Some(sent) = self.spaces[space as usize].sent.get_mut(&number) {
                    sent.end = self.congestion.on_sent(now, sent.bytes);
                }
            }
            self.congestion.pacer.on_sent(now, in_flight);
            self.set_timer(now);
        }
        if has_handshake && self.role == Role::Client {
            self.discard(now, Space::Initial);
        }
        self.bytes_out += len;
        self.report.datagrams_sent += 1;
        let ecn = self.ecn.as_ref().map_or(Packet::NOT_ECT, ecn::Sending::field);
        Some(Datagram { len, ecn, octets })
    }

    /// Nothing more is sent now; congestion control and pacing would let something go if `may_send`.
    fn note_blocked(&mut self, now: Instant, may_send: bool, streams: &dyn Streams) {
        let is_blocked =
            may_send && self.can_send(Space::Data) && streams.is_waiting() && !streams.has_data(&self.credit);
        if is_blocked {
            self.blocked_since.get_or_insert(now);
        } else if let Some(since) = self.blocked_since.take() {
            self.flow_control.blocked_s += now.since(since).as_secs_f64();
        }
    }

    /// A packet of this space of at most `room` bytes.
    fn packet(
        &mut self,
        now: Instant,
        space: Space,
        room: u64,
        may_send: bool,
        streams: &mut dyn Streams,
        octets: &mut Vec<u8>,
    ) -> Option<Sent> {
        let is_early = space == Space::Data && self.role == Role::Client && !self.is_complete;
        let is_short = space == Space::Data && !is_early;
        let token = u64::from(space == Space::Initial);
        let overhead = if is_short { SHORT_HEADER } else { LONG_HEADER + token } + TAG;
        // Less is not worth a packet.
        let left = room.checked_sub(overhead + 2 * StreamFrame::HEADER)?;
        let mut left = left + 2 * StreamFrame::HEADER;
        let probes = self.spaces[space as usize].probes > 0;
        // DEVIATION: the window of RFC 9002 (7) does not hold back the handshake, which is small. Otherwise data of streams that
        // the peer cannot read or acknowledge before it has a lost part of the handshake would fill the window for ever.
        let may_send = may_send || probes || space != Space::Data;
        let has_content = may_send && (probes || self.has_content(space, streams));
        let acks = self.spaces[space as usize].ack_due && !is_early;
        if !self.can_send(space) || !acks && !has_content {
            return None;
        }
        let mut frames = Vec::new();
        if !is_early && let Some(ack) = self.spaces[space as usize].take_ack(now) {
            push(ack, &mut frames, &mut left);
        }
        if may_send {
            if space == Space::Data {
                if self.owes_done && std::mem::take(&mut self.owes_done) {
                    push(Frame::HandshakeDone, &mut frames, &mut left);
                }
                while left >= MAX_STREAM_DATA
                    && let Some(limit) = self.windows.poll()
                {
                    self.flow_control.updates_sent += 1;
                    push(limit, &mut frames, &mut left);
                }
                while left > StreamFrame::HEADER
                    && let Some(data) = streams.poll(left - StreamFrame::HEADER, &mut self.credit)
                {
                    push(Frame::Stream(data), &mut frames, &mut left);
                }
            } else {
                while left > CRYPTO_HEADER
                    && let Some(range) = self.spaces[space as usize].crypto_out.poll(left - CRYPTO_HEADER)
                {
                    push(Frame::Crypto(range), &mut frames, &mut left);
                }
            }
        }
        if probes {
            self.spaces[space as usize].probes -= 1;
            if !frames.iter().any(Frame::elicits_ack) {
                push(Frame::Ping, &mut frames, &mut left);
            }
        }
        if frames.is_empty() {
            return None;
        }
        let number = self.spaces[space as usize].next_number;
        let packet = Received { space, is_early, number, frames };
        packet.write(octets);
        let mut kept = packet.frames;
        kept.retain(Frame::elicits_ack);
        let elicits_ack = !kept.is_empty();
        let is_ect = self.ecn.as_ref().is_some_and(|ecn| ecn.field() != Packet::NOT_ECT);
        let bytes = room - left;
        // The end offset follows when the datagram is complete.
        Some(Sent { sent_at: now, bytes, end: 0, elicits_ack, in_flight: elicits_ack, is_ect, frames: kept })
    }
}

/// Adds a frame to a packet with `left` bytes of room.
fn push(frame: Frame, frames: &mut Vec<Frame>, left: &mut u64) {
    let mut octets = Vec::new();
    frame.write(&mut octets);
    *left = left.saturating_sub(octets.len() as u64 + frame.data_len());
    frames.push(frame);
}
