//! Loss recovery: detects losses, interprets ACKs accordingly, and selects the next segment.
//!
//! A sender has one [`Loss`], of one of two kinds. [`Classic`] uses duplicate ACKs or the SACK scoreboard; its
//! algorithm is a [`Recovery`], one for each of the classic recoveries. [`rack::Rack`] detects losses by time and marks
//! each segment. Both act on the sender's [`Transmission`] and handle ACKs ([`Loss::on_ack`]) and expired timers
//! ([`Loss::on_deadline`]), and select the next segment ([`Loss::poll`]).
//!
//! ```text
//! packet --> Sender::handle_segment       offsets for sequence numbers; handshake; receiver's window; closed window
//!              |          |
//!              |          +-- nothing suspected, nothing in use looks closely: advance, cc.on_ack, timer. Done.
//!              v
//!            Sender::handle_ack           an echoed mark (ECN) is read before, and answered after
//!              v
//!            Loss::on_ack                 Classic: reno, newreno, sack, tahoe        Rack
//!              1. SACK blocks into the scoreboard                                    and its marks
//!              2. AckOutcome              acked, delivered, SACK news, duplicate or not: computed once
//!              3. undo: spurious?         then the windows are restored
//!              4. take off what is acknowledged; a round-trip time; the congestion control hears of it
//!              5. a loss?                 duplicate ACKs or scoreboard               time
//!              6. begin_recovery          tells undo, ECN and the loss episodes, and asks for the threshold
//!              7. the window (PRR), the timer
//!
//! deadline --> Sender::handle_deadline    persist timer | Loss::on_deadline: reordering, tail probe, or a timeout
//! room     --> Sender::poll_transmit      new data | Loss::poll: retransmissions, limited transmit, new data
//! ```
//!
//! Flows that use none of these options pay only for the fast path: ECN, undo, radio feedback, Linux's timer and RACK
//! set `Sender::looks_closer`, and SACK blocks have the same effect.

pub mod classic;
mod duplicates;
pub mod newreno;
mod prr;
pub mod rack;
pub mod reno;
pub mod rnf;
pub mod sack;
pub mod tahoe;

use super::Config as Tcp;
use super::Transmit;
use super::cc::CongestionControl;
use super::transmission::Transmission;
use super::window::scoreboard::{AckOutcome, SackNews};
use super::window::state::{Phase, State};
use crate::packet::{Packet, SackBlocks};
use crate::registry::registry;
use crate::time::Instant;
use classic::Classic;
use rack::Rack;

/// Properties of a loss recovery's parameters.
pub trait Component {
    /// Makes the loss recovery of a sender with this configuration.
    fn build(&self, tcp: &Tcp) -> Loss;
}

registry! {
    /// A loss recovery algorithm and its parameters.
    pub enum Config: Component, default Newreno {
        Reno = reno,
        Newreno = newreno,
        Sack = sack,
        Rack = rack,
        Tahoe = tahoe,
    }
}

impl Config {
    /// Its replacement if the receiver has no SACK: NewReno, for RACK as in Linux.
    pub fn without_sack(&self) -> Self {
        match self {
            Self::Sack(_) => Self::default(),
            Self::Rack(_) => Self::Newreno(newreno::Config::linux()),
            Self::Reno(_) | Self::Newreno(_) | Self::Tahoe(_) => self.clone(),
        }
    }
}

/// An algorithm that recovers by duplicate ACKs or by the SACK scoreboard.
pub trait Recovery: Send + Sync {
    /// A duplicate ACK arrived; `state.dupacks` counts it already. Returns whether it signals a loss, so that a fast
    /// retransmit follows.
    fn on_dupack(&mut self, state: &mut State) -> bool {
        signals_loss(state)
    }

    /// The fast retransmit has begun: [`State::enter_recovery`].
    fn on_begin(&mut self, _state: &mut State) {}

    /// An ACK during fast recovery acknowledged `acked` bytes; `state.una` has moved already. Returns whether the
    /// retransmission timer restarts.
    fn on_recovery_ack(&mut self, state: &mut State, cc: &mut dyn CongestionControl, acked: u64) -> bool;

    /// Whether the SACK scoreboard defines duplicate ACKs and selects the next segment.
    fn uses_scoreboard(&self) -> bool {
        false
    }

    /// With the scoreboard: estimate of the bytes in the network during a fast recovery, `pipe` of RFC 6675 (2).
    fn pipe(&self, state: &State) -> u64 {
        state.flight_size()
    }

    /// With the scoreboard, after duplicate ACKs: the next segment to send. `can_send_new` says whether there is new
    /// data that the receiver's window permits.
    fn next_segment(&mut self, _state: &State, _can_send_new: bool) -> Option<Next> {
        None
    }
}

/// Next segment chosen by the scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// New data.
    New,
    /// The segment at this offset, again.
    Again(u64),
}

/// Without SACK: a loss at the threshold of duplicate ACKs, RFC 5681 (3.2), and new data on the ones before it,
/// RFC 3042. During fast recovery each lets one more segment go.
fn signals_loss(state: &mut State) -> bool {
    if state.phase == Phase::Recovery {
        state.inflation += state.mss() as i64;
    } else if state.dupacks == state.dupack_threshold {
        state.limited_transmit = 0;
        return state.beyond_recover() || state.multiple_fast_retransmits;
    } else if state.dupacks < state.dupack_threshold && state.limited_transmit_enabled {
        state.limited_transmit += 1;
    }
    false
}

/// An ACK as it arrived.
#[derive(Clone, Copy)]
pub struct Ack<'a> {
    /// When.
    pub now: Instant,
    /// Everything before this offset has arrived.
    pub number: u64,
    /// The window that it offers is the one before.
    pub same_window: bool,
    /// The segment itself.
    pub packet: &'a Packet,
    blocks: [(u64, u64); SackBlocks::MAX],
    count: usize,
}

impl<'a> Ack<'a> {
    /// An ACK of `number`, its SACK blocks not read.
    pub(super) fn new(now: Instant, number: u64, same_window: bool, packet: &'a Packet) -> Self {
        Self { now, number, same_window, packet, blocks: Default::default(), count: 0 }
    }

    /// Reads its SACK blocks; `offset` is that of a sequence number.
    pub(super) fn read_blocks(&mut self, offset: impl Fn(u32) -> Option<u64>) {
        for (left, right) in self.packet.options().sack.as_slice() {
            if let Some(block) = offset(*left).zip(offset(*right)) {
                self.blocks[self.count] = block;
                self.count += 1;
            }
        }
    }

    /// Its effect, given the news `sack` of its SACK blocks; other bytes that it delivers are not counted yet.
    fn outcome(&self, tx: &mut Transmission, sack: SackNews, is_dupack: bool) -> AckOutcome {
        let retransmissions = tx.counters.retransmissions.total;
        let spurious = sack.duplicate.map_or(0, |range| tx.state.count_duplicates(range, retransmissions));
        AckOutcome {
            now: self.now,
            ack: self.number,
            acked: self.number - tx.state.una,
            segments: 0,
            delivered: sack.sacked,
            sack,
            spurious,
            is_dupack,
            can_send_new: tx.can_send_new(self.number),
            ts_ecr: self.packet.ts_ecr,
        }
    }

    /// The timestamp that it echoes.
    fn echo(&self) -> Option<u32> {
        self.packet.has_timestamps.then_some(self.packet.ts_ecr)
    }

    /// The SACK blocks as offsets, in the order of the option.
    pub(super) fn blocks(&self) -> &[(u64, u64)] {
        &self.blocks[..self.count]
    }
}

/// The loss recovery of a sender.
pub enum Loss {
    /// Uses duplicate ACKs or the SACK scoreboard.
    Classic(Box<Classic>),
    /// Uses time: RACK-TLP.
    Rack(Box<Rack>),
}

impl Loss {
    /// Whether no ACK takes the fast path.
    pub(super) fn looks_closer(&self) -> bool {
        match self {
            Self::Classic(classic) => classic.duplicates.is_some() || classic.feedback.is_some(),
            Self::Rack(_) => true,
        }
    }

    /// The receiver does not permit SACK: [`Config::without_sack`].
    pub(super) fn go_without_sack(&mut self) {
        *self = match self {
            Self::Classic(classic) if !classic.uses_scoreboard => return,
            Self::Classic(classic) => {
                newreno::Config::default().loss(classic.prr.is_some(), classic.feedback.take())
            }
            Self::Rack(rack) => newreno::Config::linux().loss(rack.uses_prr, None),
        };
    }

    /// An ACK arrived that is not older than the last. Returns whether it begins a fast recovery.
    pub(super) fn on_ack(&mut self, tx: &mut Transmission, ack: &Ack<'_>) -> bool {
        match self {
            Self::Classic(classic) => classic.on_ack(tx, ack),
            Self::Rack(rack) => rack.on_ack(tx, ack),
        }
    }

    /// An ACK of `acked` bytes, already taken off, while a loss is suspected and nothing looks at ACKs closely. Returns
    /// whether the retransmission timer restarts.
    pub(super) fn on_late_ack(&mut self, tx: &mut Transmission, acked: u64) -> bool {
        match self {
            Self::Classic(classic) => classic.on_late_ack(tx, acked),
            Self::Rack(_) => true,
        }
    }

    /// A duplicate ACK on the fast path. With the scoreboard an ACK without SACK information is none: RFC 6675 (2).
    pub(super) fn on_plain_dupack(&mut self, tx: &mut Transmission, now: Instant) {
        if let Self::Classic(classic) = self
            && !classic.uses_scoreboard
        {
            classic.on_dupack(tx, now);
        }
    }

    /// An ACK older than the last arrived.
    pub(super) fn on_old_ack(&mut self, tx: &mut Transmission, ack: &Ack<'_>) {
        if let Self::Rack(rack) = self {
            rack.on_old_ack(tx, ack);
        }
    }

    /// The deadline has passed.
    pub(super) fn on_deadline(&mut self, tx: &mut Transmission, now: Instant) {
        let is_timeout = match self {
            Self::Classic(_) => true,
            Self::Rack(rack) => !rack.on_timer(tx, now),
        };
        if is_timeout {
            self.on_timeout(tx, now);
        }
    }

    /// The retransmission timer has expired: RFC 6298 (5.4) to (5.6), RFC 5681 (3.1).
    fn on_timeout(&mut self, tx: &mut Transmission, now: Instant) {
        let is_again = tx.begin_timeout(now);
        tx.rtt.forget();
        tx.timed_out = true;
        tx.timer.at = Some(now + tx.rto.value());
        match self {
            Self::Classic(classic) => classic.on_timeout(tx, is_again),
            Self::Rack(rack) => rack.on_timeout(tx, now, is_again),
        }
        let state = &mut tx.state;
        (state.dupacks, state.phase, state.recover) = (0, Phase::Loss, Some(state.max));
    }

    /// The next segment to be sent now, if any.
    pub(super) fn poll(&mut self, tx: &mut Transmission, now: Instant) -> Option<Transmit> {
        match self {
            Self::Classic(classic) => classic.poll(tx, now),
            Self::Rack(rack) => rack.poll(tx, now),
        }
    }

    /// Counters of radio network feedback, if it is enabled.
    pub(super) fn rnf(&self) -> Option<rnf::Report> {
        match self {
            Self::Classic(classic) => classic.feedback.as_ref().map(|feedback| feedback.report),
            Self::Rack(_) => None,
        }
    }

    /// Whether a segment would be sent now if the pacer permitted it; approximate if a loss is suspected.
    pub(super) fn would_send(&self, tx: &Transmission) -> bool {
        match self {
            Self::Classic(_) => {
                let state = &tx.state;
                let len = state.mss().min(tx.supplied - state.nxt);
                let fits = len > 0 && state.permits(state.nxt + len);
                fits || state.phase != Phase::Open
            }
            Self::Rack(rack) => rack.would_send(tx),
        }
    }

    /// Whether a segment marked lost has not been retransmitted yet.
    pub(super) fn waits_to_repair(&self) -> bool {
        match self {
            Self::Classic(_) => false,
            Self::Rack(rack) => rack.waits_to_repair(),
        }
    }

    /// Bytes marked lost since the connection began.
    pub(super) fn lost(&self) -> u64 {
        match self {
            Self::Classic(_) => 0,
            Self::Rack(rack) => rack.total_lost,
        }
    }

    /// Bytes in the network as estimated by the loss recovery.
    pub(super) fn in_flight(&self, state: &State) -> i64 {
        match self {
            Self::Classic(_) => state.flight_size() as i64 - state.inflation,
            Self::Rack(rack) => rack.pipe(state) as i64,
        }
    }
}
