//! A whole TCP endpoint, sans-IO: octets in both directions, from the SYN to the end of TIME-WAIT, for an arbitrary
//! peer. RFC 9293 (3.3.2, 3.10), RFC 5961, RFC 7323, RFC 6191.
//!
//! The TCP is that of simulated flows: a [`Duplex`], made when the SYNs have been exchanged, with the options that both
//! ends offer (`agreement`). It adds the parts that simulated flows do not need: the handshake with all its cases
//! (`opening`), the acceptance test of segments (`acceptance`), octets (`octets`), and closing (`open`).
//!
//! The owner writes as much as [`Connection::writable`] says and reads what is [`Connection::readable`]; unread octets
//! close the window. After every call, drain `poll_transmit` and read `deadline` again; when [`Connection::ended`] says
//! so and nothing is left to be sent, the connection is gone. The owner implements LISTEN: for a SYN it makes a
//! connection with [`Connection::accept`], and it replies to a segment without a connection with [`Reset::answering`].
//! Addresses, ports and the choice of initial sequence numbers are the owner's too.
//!
//! Left out: windows that grow (the buffer is the owner's), Nagle's algorithm (whatever is written may be sent at
//! once), keep-alive, urgent data (the pointer is ignored), data in a SYN, path MTU discovery. ASSUMED: an MSL of 30 s,
//! as in BSD and, in effect, in Linux, instead of two minutes.

mod acceptance;
mod agreement;
mod octets;
mod open;
mod opening;
mod reset;

pub use reset::Reset;

use super::{Config, Duplex};
use crate::packet::{Flags, IpVersion, Packet};
use crate::time::{Duration, Instant};
use crate::trace::SendCause;
use open::{Open, Verdict};
use opening::{Opening, Progress};

/// States of RFC 9293 (3.3.2). LISTEN is the owner's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A SYN has been sent.
    SynSent,
    /// Both SYNs have been sent.
    SynReceived,
    /// Open both ways.
    Established,
    /// This end has closed.
    FinWait1,
    /// And the other has acknowledged that.
    FinWait2,
    /// The other end has closed.
    CloseWait,
    /// Both have closed at once.
    Closing,
    /// This end has closed after the other.
    LastAck,
    /// Both have closed; segments may still be in transit.
    TimeWait,
    /// There is no connection.
    Closed,
}

/// How a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Both ends have closed it, and all octets were acknowledged.
    Closed,
    /// The other endpoint refused it.
    Refused,
    /// The other endpoint has reset it.
    Reset,
    /// The other endpoint does not answer.
    TimedOut,
    /// This end has given it up.
    Aborted,
}

/// Timeouts of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a SYN is retransmitted: R2 of RFC 9293 (3.8.3), MUST-23.
    pub syn: Duration,
    /// How long data is retransmitted, or a closed window probed, without a response: R2 of RFC 9293 (3.8.3), SHLD-11.
    pub data: Duration,
    /// TIME-WAIT: 2 MSL of RFC 9293 (3.6.1).
    pub time_wait: Duration,
    /// FIN-WAIT-2 when the owner reads no more; Linux's `tcp_fin_timeout`.
    pub fin_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            syn: Duration::from_secs(180),
            data: Duration::from_secs(100),
            time_wait: Duration::from_secs(60),
            fin_wait: Duration::from_secs(60),
        }
    }
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Offset of its first octet in the stream, if it has any.
    pub seq: u64,
    /// Its octets.
    pub len: u32,
    /// Why it was sent.
    pub cause: SendCause,
}

/// Part of the connection that the application closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closes {
    ItsDirection,
    Both,
}

/// Stage of the connection.
enum Stage {
    Opening(Box<Opening>),
    Open(Box<Open>),
}

/// A TCP endpoint.
pub struct Connection {
    ip: IpVersion,
    limits: Limits,
    stage: Stage,
    /// Octets written before the connection is open.
    early: Vec<u8>,
    /// Part that the application has closed before the connection is open.
    closes_early: Option<Closes>,
    ended: Option<Ended>,
    reset: Option<Reset>,
    /// Reused from call to call.
    rest: Packet,
}

/// Octets that may be written before the connection is open.
const EARLY: u64 = 64 << 10;

impl Connection {
    /// Opens a connection: SYN-SENT. `iss` is the sequence number of the SYN.
    pub fn connect(config: &Config, limits: Limits, iss: u32, now: Instant) -> Self {
        Self::new(config, limits, Opening::active(config, iss, now))
    }

    /// Accepts the connection that `syn`, with SYN and neither ACK nor RST, requests: SYN-RECEIVED.
    pub fn accept(config: &Config, limits: Limits, iss: u32, now: Instant, syn: &Packet) -> Self {
        Self::new(config, limits, Opening::passive(config, iss, now, syn))
    }

    fn new(config: &Config, limits: Limits, opening: Opening) -> Self {
        Self {
            ip: config.ip,
            limits,
            stage: Stage::Opening(Box::new(opening)),
            early: Vec::new(),
            closes_early: None,
            ended: None,
            reset: None,
            rest: Packet::default(),
        }
    }

    /// The state.
    pub fn state(&self) -> State {
        match (&self.stage, self.ended) {
            (_, Some(_)) => State::Closed,
            (Stage::Opening(opening), None) => opening.state(),
            (Stage::Open(open), None) => open.state,
        }
    }

    /// Reason why it has ended; `None` while it is open.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// The TCP inside, once the connection is open.
    pub fn duplex(&self) -> Option<&Duplex> {
        if let Stage::Open(open) = &self.stage { Some(&open.duplex) } else { None }
    }

    /// Like [`Connection::duplex`], but mutable, to take samples.
    pub fn duplex_mut(&mut self) -> Option<&mut Duplex> {
        if let Stage::Open(open) = &mut self.stage { Some(&mut open.duplex) } else { None }
    }

    /// When `handle_deadline` must be called.
    pub fn deadline(&self) -> Option<Instant> {
        match (&self.stage, self.ended) {
            (_, Some(_)) => None,
            (Stage::Opening(opening), None) => opening.deadline,
            (Stage::Open(open), None) => open.deadline(),
        }
    }

    /// The deadline has passed.
    pub fn handle_deadline(&mut self, now: Instant) {
        if self.ended.is_some() {
            return;
        }
        match &mut self.stage {
            Stage::Opening(opening) => self.ended = opening.handle_deadline(now, &self.limits),
            Stage::Open(open) => {
                let verdict = open.handle_deadline(now, &self.limits);
                self.obey(verdict);
            }
        }
    }

    /// A segment arrived; `payload` are its octets. The packet's body is ignored.
    pub fn handle_segment(&mut self, now: Instant, packet: &Packet, payload: &[u8]) {
        if self.ended.is_some() {
            return;
        }
        if let Stage::Opening(opening) = &mut self.stage {
            match opening.handle_segment(packet) {
                Progress::Opening => return,
                Progress::Ended(ended) => return self.ended = Some(ended),
                Progress::Stray(reset) => return self.reset = reset,
                Progress::Open(opened) => self.establish(now, Open::new(now, &opened.0, &opened.1)),
            }
            if packet.flags.has(Flags::SYN) {
                // An ACK completes the handshake; the peer retransmits data in the SYN.
                if let Stage::Open(open) = &mut self.stage {
                    open.duplex.acknowledge();
                }
                return;
            }
        }
        let Stage::Open(open) = &mut self.stage else { return };
        copy_header(packet, &mut self.rest);
        let verdict = open.handle_segment(now, &mut self.rest, payload, &self.limits);
        self.obey(verdict);
    }

    fn establish(&mut self, now: Instant, mut open: Open) {
        open.write(now, &std::mem::take(&mut self.early));
        match self.closes_early {
            None => {}
            Some(Closes::ItsDirection) => open.shutdown(now),
            // No data has arrived yet that could be unread.
            Some(Closes::Both) => _ = open.close(now, &self.limits),
        }
        self.stage = Stage::Open(Box::new(open));
    }

    fn obey(&mut self, verdict: Verdict) {
        if let Verdict::Ended(ended, reset) = verdict {
            (self.ended, self.reset) = (Some(ended), reset);
        }
    }

    /// Octets that may be written now.
    pub fn writable(&self) -> u64 {
        match (&self.stage, self.ended) {
            (_, Some(_)) => 0,
            (Stage::Opening(_), None) if self.closes_early.is_some() => 0,
            (Stage::Opening(_), None) => EARLY - self.early.len() as u64,
            (Stage::Open(open), None) => open.writable(),
        }
    }

    /// Writes as many of these octets as there is room for; returns how many.
    pub fn write(&mut self, now: Instant, octets: &[u8]) -> usize {
        let count = (self.writable() as usize).min(octets.len());
        if count > 0 {
            match &mut self.stage {
                Stage::Opening(_) => self.early.extend_from_slice(&octets[..count]),
                Stage::Open(open) => open.write(now, &octets[..count]),
            }
        }
        count
    }

    /// Octets that may be read now; also after the other endpoint has closed, but not after a reset or a timeout.
    pub fn readable(&self) -> u64 {
        match (&self.stage, self.ended) {
            (Stage::Open(open), None | Some(Ended::Closed)) => open.readable(),
            _ => 0,
        }
    }

    /// Appends at most `most` of the octets that have arrived to `out`.
    pub fn read(&mut self, now: Instant, most: u64, out: &mut Vec<u8>) {
        if self.readable() > 0
            && let Stage::Open(open) = &mut self.stage
        {
            let verdict = open.read(now, most, out, &self.limits);
            self.obey(verdict);
        }
    }

    /// Whether the other endpoint has closed and all of its octets have been read.
    pub fn is_read_out(&self) -> bool {
        matches!(&self.stage, Stage::Open(open) if open.is_read_out())
    }

    /// Whether the application has closed its direction.
    pub fn is_shut(&self) -> bool {
        match &self.stage {
            Stage::Opening(_) => self.closes_early.is_some(),
            Stage::Open(open) => open.fin.is_some(),
        }
    }

    /// The application will write no more; it may still read. CLOSE of RFC 9293 (3.10.4), a half-close.
    pub fn shutdown(&mut self, now: Instant) {
        match (&mut self.stage, self.ended) {
            (_, Some(_)) => {}
            (Stage::Opening(_), None) => _ = self.closes_early.get_or_insert(Closes::ItsDirection),
            (Stage::Open(open), None) => open.shutdown(now),
        }
    }

    /// The application will neither write nor read. Unread data, and data that arrives from now on, is answered with a
    /// reset: RFC 1122 (4.2.2.13).
    pub fn close(&mut self, now: Instant) {
        match (&mut self.stage, self.ended) {
            (_, Some(_)) => {}
            (Stage::Opening(opening), None) if opening.state() == State::SynSent => {
                self.ended = Some(Ended::Aborted);
            }
            (Stage::Opening(_), None) => self.closes_early = Some(Closes::Both),
            (Stage::Open(open), None) => {
                let verdict = open.close(now, &self.limits);
                self.obey(verdict);
            }
        }
    }

    /// Gives the connection up: ABORT of RFC 9293 (3.10.5).
    pub fn abort(&mut self) {
        if self.ended.is_some() {
            return;
        }
        self.reset = match &self.stage {
            Stage::Opening(opening) => opening.reset(),
            Stage::Open(open) if open.state == State::TimeWait => None,
            Stage::Open(open) => Some(open.reset()),
        };
        self.ended = Some(Ended::Aborted);
    }

    /// Whether a SYN with the same addresses and ports may replace this connection, which has ended except for
    /// TIME-WAIT: RFC 9293 (3.10.7.4), RFC 6191 (2).
    pub fn gives_way_to(&self, packet: &Packet) -> bool {
        let [syn, ack, rst] = [Flags::SYN, Flags::ACK, Flags::RST].map(|flag| packet.flags.has(flag));
        match (&self.stage, self.ended) {
            _ if !syn || ack || rst => false,
            (_, Some(_)) => true,
            (Stage::Open(open), None) => open.state == State::TimeWait && open.precedes(packet),
            (Stage::Opening(_), None) => false,
        }
    }

    /// The next segment to be sent now: fills in its header and appends its octets to `payload`. `None` if there is
    /// none.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        payload: &mut Vec<u8>,
    ) -> Option<Sent> {
        if let Some(reset) = self.reset.take() {
            reset.write(self.ip, packet);
            return Some(Sent { seq: 0, len: 0, cause: SendCause::New });
        }
        if self.ended.is_some() {
            return None;
        }
        match &mut self.stage {
            Stage::Opening(opening) => {
                let cause = opening.poll_transmit(now, packet)?;
                Some(Sent { seq: 0, len: 0, cause })
            }
            Stage::Open(open) => open.poll_transmit(now, packet, payload),
        }
    }
}

/// Copies all header fields of a packet, without its body.
fn copy_header(from: &Packet, to: &mut Packet) {
    to.options.clone_from(&from.options);
    (to.seq, to.ack, to.ts_val, to.ts_ecr) = (from.seq, from.ack, from.ts_val, from.ts_ecr);
    (to.len, to.payload, to.flags, to.window) = (from.len, from.payload, from.flags, from.window);
    (to.has_timestamps, to.form) = (from.has_timestamps, from.form);
    (to.ue, to.flow, to.identification) = (from.ue, from.flow, from.identification);
}
