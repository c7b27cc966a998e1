//! The sending endpoint of a flow.
//!
//! Calls come from a host: `handle_segment` with an arrived segment, `handle_deadline` when the deadline has passed,
//! `open` and `supply` from the application. After each of them the host drains `poll_transmit`, lets `write` fill in
//! each packet, and arms its timer for `deadline`.
//!
//! The sender reads and writes headers. Its [`Loss`] interprets ACKs and selects the next segment, acting on its
//! [`Transmission`]. While no loss is suspected, an ACK of new data and the segment that it permits take the fast path
//! here, unless an option in use examines every ACK.

mod coupled;
mod opening;
mod paced;
mod validation;

use super::handshake::{Handshake, Progress, Role, unwrap_sequence};
use super::recovery::{Ack, Loss, rnf};
use super::rto::{self, Rto};
use super::transmission::Transmission;
pub use super::transmission::counters::{Counters, Retransmissions};
use super::window::state::{Phase, State};
use super::window::validation::WindowUse;
use super::{Config, IdleRestart, SegmentTemplate, Transmit, ecn};
use crate::packet::{Flags, Packet};
use crate::time::{Duration, Instant};
use crate::trace::SendCause;
use airpath_prefetch::{prefetch, prefetch_ends};
pub use paced::PathView;

/// The sending endpoint of a flow.
pub struct Sender {
    template: SegmentTemplate,
    handshake: Handshake,
    tx: Transmission,
    loss: Loss,
    /// No ACK takes the fast path, even without options: for `undo`, ECN, radio feedback, or the loss recovery.
    looks_closer: bool,
    /// Data from this offset on uses the plain header.
    plain_from: u64,
    idle_restart: IdleRestart,
    peer_shift: u8,
    /// Timestamp to echo, RFC 7323 (4.3).
    ts_recent: u32,
    /// Growth, or a pause, depends on how much of the window is used.
    used: Option<Box<WindowUse>>,
    /// Duplicate ACKs counted when [`take_duplicate`](Self::take_duplicate) was last called.
    dupacks_taken: u64,
}

impl Sender {
    /// A sender that has sent nothing.
    pub fn new(config: &Config, role: Role) -> Self {
        let (tx, loss) = (Transmission::new(config), config.recovery.build(config));
        let mut handshake = Handshake::new(config, role);
        let used = WindowUse::of(config).map(Box::new);
        if matches!(loss, Loss::Rack(_)) || used.is_some() || tx.pacer.is_some() {
            handshake.ask_always();
        }
        Self {
            template: config.segment_template(),
            handshake,
            looks_closer: loss.looks_closer()
                || tx.ecn.is_some()
                || tx.undo.is_some()
                || tx.pacer.is_some()
                || config.rto.timer == rto::Timer::Linux,
            plain_from: if config.ecn == ecn::Ecn::Off { 1 } else { u64::MAX },
            idle_restart: config.idle_restart,
            peer_shift: config.window_shift(),
            ts_recent: 0,
            used,
            dupacks_taken: 0,
            tx,
            loss,
        }
    }

    /// Starts to load what it points to.
    pub(crate) fn prefetch_inner(&self) {
        prefetch(&*self.tx.cc);
        match &self.loss {
            Loss::Classic(loss) => prefetch(&**loss),
            Loss::Rack(loss) => prefetch(&**loss),
        }
        prefetch_ends(&self.tx.state.segments);
        self.tx.rtts.prefetch();
    }

    /// Opens the connection, or listens.
    pub fn open(&mut self) {
        self.handshake.open(true);
    }

    /// The application supplies `bytes` more; `u64::MAX` for a flow without end.
    pub fn supply(&mut self, bytes: u64) {
        self.tx.supplied = self.tx.supplied.saturating_add(bytes);
    }

    /// Takes back what has been supplied and never sent. Returns the bytes that remain supplied.
    pub fn withdraw_unsent(&mut self) -> u64 {
        self.tx.supplied = self.tx.supplied.min(self.tx.state.max);
        self.tx.supplied
    }

    /// The same, so long after the endpoint has sent something: after a pause longer than the timeout the congestion window
    /// restarts, RFC 5681 (4.1).
    pub fn supply_after(&mut self, idle: Duration, bytes: u64) {
        // A sender that judges its use of the window notices a pause when it sends.
        let is_idle = self.tx.state.flight_size() == 0 && !self.judges_use();
        if is_idle && idle > self.rto().value() {
            self.restart_after(idle);
        }
        self.supply(bytes);
    }

    /// Whether data may flow.
    pub(crate) fn is_established(&self) -> bool {
        self.handshake.is_established()
    }

    /// Sequence number on the wire of the next new byte.
    pub(super) fn wire_max(&self) -> u32 {
        self.handshake.wire_seq(self.tx.state.max)
    }

    /// Sequence number on the wire of the oldest unacknowledged byte.
    pub(super) fn wire_una(&self) -> u32 {
        self.handshake.wire_seq(self.tx.state.una)
    }

    /// Whether everything supplied has been acknowledged.
    pub fn is_done(&self) -> bool {
        self.tx.state.una >= self.tx.supplied && self.handshake.is_established()
    }

    /// Whether something supplied has never been sent.
    #[inline]
    pub fn has_more(&self) -> bool {
        self.tx.state.max < self.tx.supplied
    }

    /// Bytes supplied and never sent.
    pub fn unsent(&self) -> u64 {
        self.tx.supplied.saturating_sub(self.tx.state.max)
    }

    /// When `handle_deadline` must be called.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        if !self.handshake.is_established() {
            return self.handshake.deadline();
        }
        match &self.tx.pacer {
            Some(pacer) if pacer.holds => self.tx.timer.at.into_iter().chain([pacer.next()]).min(),
            _ => self.tx.timer.at,
        }
    }

    /// A segment arrived.
    #[inline(always)]
    pub fn handle_segment(&mut self, now: Instant, packet: &Packet) {
        if packet.has_timestamps && packet.ts_val.wrapping_sub(self.ts_recent) as i32 >= 0 {
            self.ts_recent = packet.ts_val;
        }
        let mut shift = self.peer_shift;
        if !self.handshake.is_established() {
            let progress = self.handshake.handle_segment(packet);
            self.take_options(packet);
            if progress == Progress::Consumed {
                return;
            }
            self.established(now);
            shift = if packet.flags.has(Flags::SYN) { 0 } else { self.peer_shift };
        } else if packet.flags.has(Flags::SYN) {
            self.handshake.handle_segment(packet);
            return;
        }
        let tx = &mut self.tx;
        let wire_una = self.handshake.wire_seq(tx.state.una);
        let Some(ack) = unwrap_sequence(tx.state.una, wire_una, packet.ack) else { return };
        let rwnd = u64::from(packet.window) << shift;
        if tx.timer.is_probing() {
            tx.on_answer_to_probe(now, ack, rwnd);
        }
        if ack > tx.state.max || ack < tx.state.una || !packet.flags.has(Flags::ACK) {
            return self.handle_old_ack(now, ack, packet);
        }
        let same_window = rwnd == tx.state.rwnd;
        if !same_window {
            tx.on_window_change(now, ack, rwnd);
        }
        let is_usual = packet.options.is_none() && tx.state.phase == Phase::Open;
        if self.looks_closer || tx.reads_sack && !is_usual {
            return self.handle_ack(now, ack, same_window, packet);
        }
        let acked = ack - tx.state.una;
        if acked > 0 {
            tx.advance(now, ack, packet.ts_ecr);
            tx.measure_arrival(now, acked);
            let is_open = tx.state.phase == Phase::Open;
            let restarts = if is_open { tx.grow(acked) } else { self.loss.on_late_ack(tx, acked) };
            tx.set_timer(now, restarts);
        } else if packet.payload == 0 && same_window && tx.state.max > tx.state.una {
            self.loss.on_plain_dupack(tx, now);
        }
    }

    /// An ACK outside the fast path.
    #[cold]
    fn handle_ack(&mut self, now: Instant, ack: u64, same_window: bool, packet: &Packet) {
        let prior_in_flight = self.in_flight_before();
        let ack = self.read(now, ack, same_window, packet);
        let tx = &mut self.tx;
        let echo = tx.ecn.as_mut();
        let number = (ack.number, ack.blocks());
        let echo = echo.and_then(|ecn| ecn.on_ack(packet, now, number, &tx.state, tx.cc.as_mut()));
        let begins = self.loss.on_ack(tx, &ack);
        if let (Some(ecn), Some(echo), false) = (&mut tx.ecn, echo, begins) {
            ecn.answer(echo, &mut tx.state, tx.cc.as_mut());
        }
        if tx.pacer.is_some() {
            self.set_pace(now, prior_in_flight);
        }
    }

    /// An ACK of data acknowledged before, or never sent, arrived.
    #[cold]
    fn handle_old_ack(&mut self, now: Instant, ack: u64, packet: &Packet) {
        if ack > self.tx.state.max || !packet.flags.has(Flags::ACK) {
            return;
        }
        let prior_in_flight = self.in_flight_before();
        let ack = self.read(now, ack, true, packet);
        self.loss.on_old_ack(&mut self.tx, &ack);
        if self.tx.pacer.is_some() {
            self.set_pace(now, prior_in_flight);
        }
    }

    /// Reads an ACK of `number`.
    #[inline(always)]
    fn read<'a>(&self, now: Instant, number: u64, same_window: bool, packet: &'a Packet) -> Ack<'a> {
        let mut ack = Ack::new(now, number, same_window, packet);
        if self.tx.reads_sack && packet.options.is_some() {
            ack.read_blocks(|wire| self.offset(wire));
        }
        ack
    }

    /// Stream offset of a sequence number, if it is near the data in flight.
    #[inline(always)]
    fn offset(&self, wire: u32) -> Option<u64> {
        let una = self.tx.state.una;
        unwrap_sequence(una, self.handshake.wire_seq(una), wire)
    }

    /// The deadline has passed: the SYN or the oldest segment in flight was not acknowledged in time.
    pub fn handle_deadline(&mut self, now: Instant) {
        if !self.handshake.is_established() {
            self.handshake.handle_deadline(now);
        } else if self.tx.timer.at.is_some_and(|at| at <= now) && !self.tx.expire_probing() {
            self.loss.on_deadline(&mut self.tx, now);
            self.note_losses(now);
        }
    }

    /// The next segment to be sent now, if any. A pacer returns `None` here; `deadline` has its time.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if self.handshake.is_pending() {
            return self.poll_closely(now);
        }
        let state = &self.tx.state;
        let is_usual = state.phase == Phase::Open && state.nxt == state.max && state.una < state.max;
        if !is_usual {
            return self.poll_any(now);
        }
        // No loss is suspected, and data is in flight: new data up to the window.
        debug_assert!(state.retransmit.is_none() && state.limited_transmit == 0);
        let len = self.tx.new_bytes();
        if len == 0 || !state.permits(state.max + len) {
            return None;
        }
        Some(self.tx.send_new(now, len, SendCause::New))
    }

    /// Like [`Sender::poll_transmit`], for any state.
    #[inline(never)]
    fn poll_any(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(cause) = self.handshake.poll_transmit(now) {
            return Some(Transmit { seq: 0, len: 0, cause });
        }
        if !self.handshake.is_established() {
            return None;
        }
        if self.tx.timer.is_frozen() {
            return self.tx.poll_frozen(now);
        }
        self.loss.poll(&mut self.tx, now)
    }

    /// Fills in the header of a segment that `poll_transmit` announced.
    #[inline]
    pub fn write(&self, now: Instant, transmit: &Transmit, packet: &mut Packet) {
        let template = &self.template;
        template.stamp(now, self.ts_recent, packet);
        if transmit.len == 0 {
            return self.write_without_data(*transmit, packet);
        }
        packet.seq = self.handshake.wire_seq(transmit.seq);
        packet.ack = self.handshake.wire_ack(0);
        packet.flags = Flags::ACK;
        packet.payload = transmit.len;
        packet.len = template.header_bytes + transmit.len;
        packet.window = template.window_field;
        if transmit.seq < self.plain_from {
            self.write_more(*transmit, packet);
        }
    }

    /// A segment of the handshake, or a probe.
    #[cold]
    fn write_without_data(&self, transmit: Transmit, packet: &mut Packet) {
        if transmit.cause != SendCause::WindowProbe {
            return self.handshake.write(packet);
        }
        packet.seq = self.handshake.wire_seq(transmit.seq).wrapping_sub(1);
        packet.ack = self.handshake.wire_ack(0);
        packet.flags = Flags::ACK;
        packet.payload = 0;
        packet.len = self.template.header_bytes;
        packet.window = self.template.window_field;
        if let Some(ecn) = &self.tx.ecn {
            ecn.write(&transmit, packet);
        }
    }

    /// The header of a segment that may open the connection, or with ECN.
    #[cold]
    fn write_more(&self, transmit: Transmit, packet: &mut Packet) {
        if let Some(flags) = self.handshake.opens_with_data().filter(|_| transmit.seq == 0) {
            packet.flags = flags;
            packet.seq = packet.seq.wrapping_sub(1);
        }
        if let Some(ecn) = &self.tx.ecn {
            ecn.write(&transmit, packet);
        }
    }

    /// Windows, sequence space and scoreboard.
    pub fn state(&self) -> &State {
        &self.tx.state
    }

    /// Round-trip time estimate and timeout.
    pub fn rto(&self) -> &Rto {
        &self.tx.rto
    }

    /// The counters.
    pub fn counters(&self) -> Counters {
        let (counters, losses) = (&self.tx.counters, &self.tx.state.losses);
        let tail_loss_probe =
            self.probes_tail().then_some(counters.retransmissions.tail_loss_probe.unwrap_or(0));
        Counters {
            retransmissions: Retransmissions { tail_loss_probe, ..counters.retransmissions.clone() },
            fast_retransmits: losses.fast_retransmits(),
            loss_episodes: Some(losses.report()),
            rtt_ms: self.tx.rtts.report(),
            ..counters.clone()
        }
    }

    /// ECN counters of this end, if ECN is in use: echoes, reductions, and the counters of accurate ECN.
    pub fn ecn(&self) -> Option<ecn::Report> {
        self.tx.ecn.as_ref().map(|ecn| ecn.report())
    }

    /// Counters of radio network feedback, if the sender supports it.
    pub fn rnf(&self) -> Option<rnf::Report> {
        self.loss.rnf()
    }

    /// Whether it sends tail loss probes: RFC 8985 (7).
    fn probes_tail(&self) -> bool {
        matches!(&self.loss, Loss::Rack(rack) if rack.probes_tail)
    }

    /// The round-trip time sample taken since the last call, if any.
    #[inline]
    pub fn take_rtt_sample(&mut self) -> Option<Duration> {
        self.tx.rtt.latest.take()
    }

    /// Acknowledgment number of an arrived segment, as an offset; `None` for a segment that sets up the connection or
    /// acknowledges unsent data.
    pub fn ack_of(&self, packet: &Packet) -> Option<u64> {
        let is_ack = packet.flags.has(Flags::ACK) && !packet.flags.has(Flags::SYN);
        self.offset(packet.ack).filter(|ack| is_ack && *ack <= self.tx.state.max)
    }

    /// SACK blocks of a segment that arrived, as offsets; none if the connection does without SACK.
    pub fn sack_blocks<'a>(&'a self, packet: &'a Packet) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let blocks = if self.tx.reads_sack { packet.options().sack.as_slice() } else { &[] };
        blocks.iter().filter_map(|(left, right)| self.offset(*left).zip(self.offset(*right)))
    }

    /// Whether a duplicate ACK was counted since the last call.
    pub fn take_duplicate(&mut self) -> bool {
        let before = std::mem::replace(&mut self.dupacks_taken, self.tx.counters.dupacks);
        before < self.tx.counters.dupacks
    }
}
