//! The sending endpoint of a flow.
//!
//! Calls come from a host: `handle_segment` with what arrived, `handle_deadline` when the deadline
//! has passed, `open` and `supply` from the application. After each of them the host drains
//! `poll_transmit`, lets `write` fill in each packet, and arms its timer for `deadline`.

mod by_duplicates;
mod by_ecn;
mod by_prr;
mod by_rack;
mod by_rnf;
mod by_scoreboard;
mod counters;
mod opening;
mod persist;
mod rack_timers;
mod rack_transmit;
mod timeout;
mod use_of_window;

pub use counters::Counters;

use super::cc::CongestionControl;
use super::handshake::{Handshake, Progress, Role, unwrap_sequence};
use super::prr::Prr;
use super::recovery::{self, Recovery};
use super::rto::{self, Rto};
use super::state::{Fate, Phase, Segment, State};
use super::undo::response::Prior;
use super::undo::{self, Undo};
use super::window_use::WindowUse;
use super::{
    Config, IdleRestart, RttSampling, SegmentTemplate, ShrunkWindow, WindowProbe, ecn, rnf, timestamp,
};
use crate::packet::{Flags, Packet};
use crate::time::{Duration, Instant};
use crate::trace::SendCause;
use by_duplicates::Duplicates;
use by_rack::ByRack;
use persist::Persist;

/// A segment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Offset of its first byte in the stream.
    pub seq: u64,
    /// Payload in bytes; 0 for a segment of the handshake, and for a window probe without data.
    pub len: u32,
    /// Why it is sent.
    pub cause: SendCause,
}

/// The segment being timed, when one is timed at a time.
#[derive(Clone, Copy, Debug)]
struct Timed {
    end: u64,
    sent_at: Instant,
}

/// The sending endpoint of a flow.
pub struct Sender {
    rtt_sampling: RttSampling,
    template: SegmentTemplate,
    handshake: Handshake,
    state: State,
    cc: Box<dyn CongestionControl>,
    /// The congestion control wants to know of every ACK and round-trip time.
    cc_measures: bool,
    recovery: Box<dyn Recovery>,
    /// SACK blocks are read.
    reads_sack: bool,
    /// The SACK scoreboard says what is a duplicate ACK and what is sent after one.
    uses_scoreboard: bool,
    undo: Option<Box<dyn Undo>>,
    /// An ACK may mean more than an acknowledgment even without options: to `undo`, with ECN or radio feedback.
    looks_closer: bool,
    /// ECN is in use.
    ecn: Option<Box<ecn::Sending>>,
    /// From this offset on, headers of data have nothing beside what all have.
    plain_from: u64,
    /// What was known before the latest loss, for `undo`.
    prior: Option<Prior>,
    /// After a spurious timeout: what was known before it, and the end of what had been sent.
    adapts: Option<(Prior, u64)>,
    /// F-RTO holds going back, and lets so many new segments go.
    probe: Option<u32>,
    /// The threshold of duplicate ACKs to return to, if it adapts.
    fixed_threshold: Option<u32>,
    /// `IW` of RFC 4015 (3.2), bytes.
    initial_window: f64,
    idle_restart: IdleRestart,
    rto: Rto,
    /// When the retransmission timer expires, or the persist timer; `None` while both are off.
    rto_deadline: Option<Instant>,
    /// The window is closed: it keeps back what there is to send while nothing is in flight, or has closed over what
    /// is.
    persist: Option<Persist>,
    shrunk_window: ShrunkWindow,
    window_probe: WindowProbe,
    /// The first segment sent since the last timeout is the one that timed out.
    timed_out: bool,
    timed: Option<Timed>,
    /// Bytes that the application has supplied.
    supplied: u64,
    peer_shift: u8,
    counters: Counters,
    last_sample: Option<Duration>,
    /// Timestamp to echo, RFC 7323 (4.3).
    ts_recent: u32,
    /// Offset of the segment that timed out last.
    timeout_una: Option<u64>,
    /// Radio network feedback is acted on.
    rnf: Option<Box<rnf::Feedback>>,
    /// RACK-TLP finds losses.
    rack: Option<Box<ByRack>>,
    /// Proportional rate reduction, but for RACK's.
    prr: Option<Box<Prr>>,
    /// Duplicate ACKs are counted as segments that have left the network, as Linux does without SACK.
    duplicates: Option<Box<Duplicates>>,
    /// Growth or a pause goes by what is used of the window.
    used: Option<Box<WindowUse>>,
}

impl Sender {
    /// A sender that has sent nothing.
    pub fn new(config: &Config, role: Role) -> Self {
        let recovery = config.recovery.build();
        let cc = config.cc.build();
        let rack = match &config.recovery {
            recovery::Config::Rack(rack) => Some(Box::new(ByRack::new(rack.tail_loss_probe, config.prr))),
            _ => None,
        };
        let mut handshake = Handshake::new(config, role);
        let used = WindowUse::of(config).map(Box::new);
        if rack.is_some() || used.is_some() {
            handshake.ask_always();
        }
        Self {
            rtt_sampling: config.rtt_sampling,
            template: config.segment_template(),
            handshake,
            state: State::new(config),
            cc_measures: cc.measures(),
            cc,
            reads_sack: config.sack,
            uses_scoreboard: recovery.uses_scoreboard(),
            looks_closer: rack.is_some()
                || Duplicates::of(config).is_some()
                || config.ecn
                || config.rto.timer == rto::Timer::Linux
                || config.rnf != rnf::Rnf::Off
                || !matches!(config.undo, undo::Config::None(_)),
            undo: config.build_undo(),
            ecn: config.ecn.then(Box::default),
            plain_from: if config.ecn { u64::MAX } else { 1 },
            prior: None,
            adapts: None,
            probe: None,
            fixed_threshold: config.adaptive_dupack_threshold.then_some(config.dupack_threshold),
            initial_window: f64::from(config.initial_window) * config.payload_bytes() as f64,
            idle_restart: config.idle_restart,
            recovery,
            rto: Rto::new(&config.rto),
            rto_deadline: None,
            persist: None,
            shrunk_window: config.shrunk_window,
            window_probe: config.window_probe,
            timed_out: false,
            timed: None,
            supplied: 0,
            peer_shift: config.window_shift(),
            counters: Counters::default(),
            last_sample: None,
            ts_recent: 0,
            timeout_una: None,
            rnf: config.rnf.needed().map(|needed| Box::new(rnf::Feedback::new(needed))),
            prr: (config.prr && rack.is_none()).then(Box::default),
            duplicates: Duplicates::of(config).map(Box::new),
            used,
            rack,
        }
    }

    /// Opens the connection, or listens.
    pub fn open(&mut self) {
        self.handshake.open(true);
    }

    /// The application supplies `bytes` more; `u64::MAX` for a flow without end.
    pub fn supply(&mut self, bytes: u64) {
        self.supplied = self.supplied.saturating_add(bytes);
    }

    /// Whether data may flow.
    pub(super) fn is_established(&self) -> bool {
        self.handshake.is_established()
    }

    /// Sequence number on the wire of the next new byte.
    pub(super) fn wire_max(&self) -> u32 {
        self.handshake.wire_seq(self.state.max)
    }

    /// Sequence number on the wire of the oldest unacknowledged byte.
    pub(super) fn wire_una(&self) -> u32 {
        self.handshake.wire_seq(self.state.una)
    }

    /// Whether everything supplied has been acknowledged.
    pub fn is_done(&self) -> bool {
        self.handshake.is_established() && self.state.una >= self.supplied
    }

    /// When `handle_deadline` must be called.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        if self.handshake.is_established() { self.rto_deadline } else { self.handshake.deadline() }
    }

    /// A segment arrived.
    #[inline(always)]
    pub fn handle_segment(&mut self, now: Instant, packet: &Packet) {
        if packet.has_timestamps && packet.ts_val.wrapping_sub(self.ts_recent) as i32 >= 0 {
            self.ts_recent = packet.ts_val;
        }
        if !self.handshake.is_established() {
            let progress = self.handshake.handle_segment(packet);
            self.take_options(packet);
            if progress == Progress::Consumed {
                return;
            }
            self.established(now);
        } else if packet.flags.has(Flags::SYN) {
            self.handshake.handle_segment(packet);
            return;
        }
        let wire_una = self.handshake.wire_seq(self.state.una);
        let Some(ack) = unwrap_sequence(self.state.una, wire_una, packet.ack) else { return };
        let shift = if packet.flags.has(Flags::SYN) { 0 } else { self.peer_shift };
        let rwnd = u64::from(packet.window) << shift;
        if self.persist.is_some() {
            self.on_answer_to_probe(now, ack, rwnd);
        }
        if ack > self.state.max || ack < self.state.una || !packet.flags.has(Flags::ACK) {
            return self.handle_old_ack(now, ack, packet);
        }
        let same_window = rwnd == self.state.rwnd;
        if !same_window {
            self.on_window_change(now, ack, rwnd);
        }
        if self.looks_closer || self.reads_sack && packet.options.is_some() {
            return self.handle_ack(now, ack, same_window, packet);
        }
        if ack > self.state.una {
            self.handle_new_ack(now, ack, packet);
        } else if self.uses_scoreboard {
            // RFC 6675 (2): without new SACK information it is no duplicate ACK.
        } else if packet.payload == 0 && same_window && self.state.max > self.state.una {
            self.handle_dupack(now);
        }
    }

    #[inline(always)]
    fn handle_new_ack(&mut self, now: Instant, ack: u64, packet: &Packet) {
        let acked = ack - self.state.una;
        self.advance(now, ack, packet);
        if self.cc_measures {
            self.cc.on_arrival(now, &mut self.state, acked);
        }
        self.state.restart_timer = true;
        if self.state.phase == Phase::Open {
            self.state.inflation = 0;
            self.cc.on_ack(&mut self.state.window, acked);
        } else {
            self.take_in_after_a_loss(acked);
        }
        if self.state.una >= self.state.max {
            self.rto_deadline = None;
        } else if self.state.restart_timer {
            // RFC 6298 (5.3).
            self.rto_deadline = Some(now + self.rto.value());
            if self.rto.runs_from_sending()
                && let Some(oldest) = self.state.segments.front()
            {
                self.rto_deadline = Some((oldest.sent_at + self.rto.value()).max(now));
            }
        }
    }

    /// An ACK of `acked` bytes where a loss is suspected. It ends a disorder, and going back after a timeout if everything
    /// is acknowledged that was outstanding then.
    #[cold]
    fn take_in_after_a_loss(&mut self, acked: u64) {
        if self.state.phase == Phase::Recovery {
            return self.recovery.on_recovery_ack(&mut self.state, self.cc.as_mut(), acked);
        }
        self.state.inflation = 0;
        let counted = self.not_told_of(acked);
        self.cc.on_ack(&mut self.state.window, counted);
        if self.state.phase != Phase::Loss || !self.state.is_below_recover() {
            self.state.phase = Phase::Open;
        }
    }

    /// Moves the left edge of the window to `ack`.
    #[inline(always)]
    fn advance(&mut self, now: Instant, ack: u64, packet: &Packet) {
        let advances = ack > self.state.una;
        self.state.una = ack;
        self.state.nxt = self.state.nxt.max(ack);
        if advances {
            self.take_acked(now, packet);
        }
        self.state.dupacks = 0;
        self.state.limited_transmit = 0;
        self.state.limited_bytes = 0;
    }

    /// Takes acknowledged segments off the scoreboard and a round-trip time sample from them.
    #[inline(always)]
    fn take_acked(&mut self, now: Instant, packet: &Packet) {
        let una = self.state.una;
        let mut first = None;
        let mut ambiguous = false;
        while let Some(segment) = self.state.segments.front_mut() {
            if segment.start >= una {
                break;
            }
            first.get_or_insert(segment.sent_at);
            ambiguous |= segment.transmissions > 1;
            if segment.end() > una {
                segment.len -= (una - segment.start) as u32;
                segment.start = una;
                break;
            }
            self.state.segments.pop_front();
        }
        self.rto.set_flight(self.state.segments.len());
        if self.template.has_timestamps {
            // RFC 7323 (4.1): an ACK that advances the left edge gives a sample.
            let elapsed = timestamp(now).wrapping_sub(packet.ts_ecr);
            let rtt = Duration::from_millis(u64::from(elapsed));
            self.rto.on_echoed_sample(rtt);
            self.count_sample(rtt);
            return;
        }
        let sent_at = match self.rtt_sampling {
            RttSampling::EverySegment => first.filter(|_| !ambiguous),
            RttSampling::OnePerWindow => self.take_timed().map(|timed| timed.sent_at),
        };
        if let Some(sent_at) = sent_at {
            self.sample(now, sent_at);
        }
    }

    /// The segment being timed, if it has been acknowledged.
    #[inline]
    fn take_timed(&mut self) -> Option<Timed> {
        let una = self.state.una;
        self.timed.take_if(|timed| una >= timed.end)
    }

    #[inline(always)]
    fn sample(&mut self, now: Instant, sent_at: Instant) {
        self.rto.on_sample(now, sent_at);
        self.count_sample(now.since(sent_at));
    }

    fn count_sample(&mut self, rtt: Duration) {
        self.counters.on_sample(rtt);
        self.last_sample = Some(rtt);
        if self.cc_measures {
            self.cc.on_rtt_sample(rtt);
        }
    }

    #[cold]
    fn handle_dupack(&mut self, now: Instant) {
        if self.persist.is_some() {
            // It answers a probe. As in BSD, which counts duplicates only while the retransmission timer runs.
            return;
        }
        self.cc.on_arrival(now, &mut self.state, 0);
        self.counters.dupacks += 1;
        self.state.dupacks += 1;
        if self.duplicates.is_some() {
            self.count_duplicate();
        }
        self.state.restart_timer = false;
        if self.state.phase == Phase::Open {
            self.state.phase = Phase::Disorder;
        }
        let prior = self.undo.as_ref().map(|_| Prior::of(&self.state, &self.rto, false));
        let fast_retransmits = self.state.losses.fast_retransmits();
        self.recovery.on_dupack(&mut self.state, self.cc.as_mut());
        if self.state.losses.fast_retransmits() > fast_retransmits {
            self.state.losses.fast_retransmit_was_at(now);
            if let Some(undo) = &mut self.undo {
                self.prior = prior;
                undo.on_loss(&self.state, false, true);
            }
        }
        if self.state.restart_timer {
            self.rto_deadline = Some(now + self.rto.value());
            self.timed = None;
        }
    }

    /// The deadline has passed: the SYN or the oldest segment in flight was not acknowledged in time.
    pub fn handle_deadline(&mut self, now: Instant) {
        if !self.handshake.is_established() {
            self.handshake.handle_deadline(now);
            return;
        }
        if self.rto_deadline.is_none_or(|at| at > now) {
            return;
        }
        if let Some(persist) = &mut self.persist {
            persist.expire(&mut self.state);
            self.rto_deadline = None;
            return;
        }
        if let Some(mut rack) = self.rack.take() {
            rack.handle_deadline(self, now);
            self.rack = Some(rack);
            return;
        }
        self.handle_timeout(now);
    }

    /// The next segment to be sent now, if any.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let state = &self.state;
        let is_usual = state.phase == Phase::Open && state.nxt == state.max && state.una < state.max;
        if self.handshake.is_pending() {
            return self.poll_closely(now);
        }
        if !is_usual {
            return self.poll_any(now);
        }
        // Nothing is amiss, and something is in flight: new data as far as the window goes.
        debug_assert!(state.retransmit.is_none() && state.limited_transmit == 0);
        let len = state.mss().min(self.supplied - state.max);
        if len == 0 || state.max + len > state.una + state.send_window() {
            return None;
        }
        Some(self.send_new(now, len, SendCause::New))
    }

    /// As [`Sender::poll_transmit`], whatever has happened.
    #[inline(never)]
    fn poll_any(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(cause) = self.handshake.poll_transmit(now) {
            return Some(Transmit { seq: 0, len: 0, cause });
        }
        if !self.handshake.is_established() {
            return None;
        }
        if self.is_frozen() {
            return self.poll_frozen(now);
        }
        if let Some(mut rack) = self.rack.take() {
            let transmit = rack.poll(self, now);
            self.rack = Some(rack);
            return transmit;
        }
        if let Some((seq, cause)) = self.state.retransmit {
            self.state.retransmit = None;
            let len = self.mark_sent_again(now, seq)?;
            self.note_reduced(len);
            return Some(self.sent(now, seq, len, cause));
        }
        if self.rnf.is_some()
            && let Some(transmit) = self.poll_named(now)
        {
            return Some(transmit);
        }
        if self.state.phase != Phase::Open && self.state.max > self.state.una {
            if let Some(segments) = self.probe {
                return self.poll_probe(now, segments);
            }
            if self.uses_scoreboard {
                let transmit = self.poll_by_scoreboard(now)?;
                self.note_reduced(transmit.len);
                return Some(transmit);
            }
        }
        let state = &mut self.state;
        let seq = state.nxt;
        let len = state.mss().min(self.supplied - seq);
        if len == 0 {
            return None;
        }
        let mut cause = SendCause::New;
        if seq + len > state.una + state.send_window() {
            // What timed out is sent whatever has become of the window: RFC 1122 (4.2.2.16).
            if !self.timed_out {
                if state.una == state.max {
                    return self.poll_persist(now);
                }
                if !state.limited_transmit_permits(seq, len) {
                    return None;
                }
                cause = SendCause::LimitedTransmit;
            }
        }
        if seq < state.max {
            cause = if self.timed_out { SendCause::Timeout } else { SendCause::GoBackN };
            let length = self.mark_sent_again(now, seq)?;
            self.state.nxt = seq + u64::from(length);
            return Some(self.sent(now, seq, length, cause));
        }
        let transmit = self.send_new(now, len, cause);
        self.note_reduced(transmit.len);
        Some(transmit)
    }

    /// Sends `len` bytes of new data.
    #[inline]
    fn send_new(&mut self, now: Instant, len: u64, cause: SendCause) -> Transmit {
        let state = &mut self.state;
        let seq = state.max;
        if cause == SendCause::LimitedTransmit {
            state.limited_bytes += len;
        }
        let len = len as u32;
        state.segments.push_back(Segment {
            start: seq,
            sent_at: now,
            len,
            transmissions: 1,
            is_sacked: false,
            fate: Fate::UnderWay,
        });
        state.nxt = seq + u64::from(len);
        state.max = state.nxt;
        if self.timed.is_none() && self.rtt_sampling == RttSampling::OnePerWindow {
            self.timed = Some(Timed { end: state.max, sent_at: now });
        }
        self.sent(now, seq, len, cause)
    }

    /// Notes on the scoreboard that the segment at `seq` is sent again; its length.
    #[cold]
    fn mark_sent_again(&mut self, now: Instant, seq: u64) -> Option<u32> {
        let segment = self.state.segment_mut(seq)?;
        segment.sent_at = now;
        segment.transmissions = segment.transmissions.saturating_add(1);
        let len = segment.len;
        if let Some(undo) = &mut self.undo {
            undo.on_retransmission(timestamp(now));
        }
        Some(len)
    }

    #[inline]
    fn sent(&mut self, now: Instant, seq: u64, len: u32, cause: SendCause) -> Transmit {
        self.counters.on_sent(cause);
        self.timed_out = false;
        if self.rto_deadline.is_none() {
            // RFC 6298 (5.1).
            self.rto_deadline = Some(now + self.rto.value());
        }
        Transmit { seq, len, cause }
    }

    /// Fills in the header of a segment that `poll_transmit` announced.
    #[inline]
    pub fn write(&self, now: Instant, transmit: &Transmit, packet: &mut Packet) {
        let template = &self.template;
        template.stamp(now, self.ts_recent, packet);
        if transmit.len == 0 {
            return self.write_without_data(transmit, packet);
        }
        packet.seq = self.handshake.wire_seq(transmit.seq);
        packet.ack = self.handshake.wire_ack(0);
        packet.flags = Flags::ACK;
        packet.payload = transmit.len;
        packet.len = template.header_bytes + transmit.len;
        packet.window = template.window_field;
        if transmit.seq < self.plain_from {
            self.write_more(transmit, packet);
        }
    }

    /// A segment of the handshake, or a probe.
    #[cold]
    fn write_without_data(&self, transmit: &Transmit, packet: &mut Packet) {
        if transmit.cause != SendCause::WindowProbe {
            return self.handshake.write(packet);
        }
        packet.seq = self.handshake.wire_seq(transmit.seq).wrapping_sub(1);
        packet.ack = self.handshake.wire_ack(0);
        packet.flags = Flags::ACK;
        packet.len = self.template.header_bytes;
        packet.window = self.template.window_field;
    }

    /// What a header says if it may open the connection, or with ECN.
    #[cold]
    fn write_more(&self, transmit: &Transmit, packet: &mut Packet) {
        if let Some(flags) = self.handshake.opens_with_data().filter(|_| transmit.seq == 0) {
            packet.flags = flags;
            packet.seq = packet.seq.wrapping_sub(1);
        }
        if let Some(ecn) = &self.ecn {
            ecn.write(transmit, packet);
        }
    }

    /// Windows, sequence space and scoreboard.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Round-trip time estimate and timeout.
    pub fn rto(&self) -> &Rto {
        &self.rto
    }

    /// What has been counted.
    pub fn counters(&self) -> Counters {
        Counters { fast_retransmits: self.state.losses.fast_retransmits(), ..self.counters.clone() }
    }

    /// The round-trip time sample taken since the last call, if any.
    #[inline]
    pub fn take_rtt_sample(&mut self) -> Option<Duration> {
        self.last_sample.take()
    }
}
