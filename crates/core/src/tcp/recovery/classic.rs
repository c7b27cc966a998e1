//! Loss recovery by duplicate ACKs (Reno, NewReno, Tahoe) or by the SACK scoreboard (RFC 6675): the common part of
//! these algorithms. Optional additions are proportional rate reduction ([`Prr`]), duplicate ACKs counted as segments
//! ([`Duplicates`]), and feedback of the radio network ([`super::rnf`]).

use super::duplicates::{Duplicate, Duplicates};
use super::prr::{Progress, Prr};
use super::rnf::{self, Feedback};
use super::{Ack, Loss, Next, Recovery};
use crate::tcp::Transmit;
use crate::tcp::WindowArithmetic;
use crate::tcp::transmission::Transmission;
use crate::tcp::undo::Verdict;
use crate::tcp::window::scoreboard::{AckOutcome, SackNews};
use crate::tcp::window::state::Phase;
use crate::time::Instant;
use crate::trace::SendCause;

/// Loss recovery by duplicate ACKs or by the SACK scoreboard.
pub struct Classic {
    recovery: Box<dyn Recovery>,
    /// Whether the SACK scoreboard defines duplicate ACKs and selects the next segment.
    pub(super) uses_scoreboard: bool,
    pub(super) prr: Option<Prr>,
    pub(super) duplicates: Option<Duplicates>,
    pub(super) feedback: Option<Feedback>,
}

impl Classic {
    /// Loss recovery with this algorithm and its options.
    pub(super) fn loss(
        recovery: Box<dyn Recovery>,
        uses_prr: bool,
        duplicates: Option<Duplicates>,
        feedback: Option<Feedback>,
    ) -> Loss {
        let (uses_scoreboard, prr) = (recovery.uses_scoreboard(), uses_prr.then(Prr::default));
        Loss::Classic(Box::new(Self { recovery, uses_scoreboard, prr, duplicates, feedback }))
    }

    /// RFC 5681 (2). With the scoreboard new SACK information makes a duplicate ACK and nothing else: RFC 6675 (2).
    fn is_dupack(&self, tx: &Transmission, ack: &Ack<'_>) -> bool {
        let is_pure = ack.packet.payload == 0 && ack.same_window;
        !self.uses_scoreboard && ack.number == tx.state.una && is_pure && tx.state.max > tx.state.una
    }

    /// An ACK outside the fast path. Returns whether it starts a fast recovery.
    pub(super) fn on_ack(&mut self, tx: &mut Transmission, ack: &Ack<'_>) -> bool {
        if self.feedback.is_some() && rnf::is_nack(ack) {
            return self.on_nack(tx, ack);
        }
        let (una, was_in_recovery) = (tx.state.una, tx.state.phase == Phase::Recovery);
        let lost_end = if self.prr.is_some() && self.uses_scoreboard { tx.state.lost_end() } else { 0 };
        tx.rto.set_sent(ack.number, tx.state.max);
        let sack = match ack.blocks() {
            [] => SackNews::default(),
            blocks => tx.state.update_scoreboard(ack.number, blocks),
        };
        let is_dupack = sack.sacked > 0 && self.uses_scoreboard || self.is_dupack(tx, ack);
        let mut outcome = ack.outcome(tx, sack, is_dupack);
        for segment in tx.state.segments.iter().take_while(|segment| segment.start < ack.number) {
            let bytes = ack.number.min(segment.end()) - segment.start;
            outcome.count(segment, bytes);
            if let Some(meter) = &mut tx.meter {
                meter.on_delivered(ack.now, segment, bytes);
            }
        }
        let mut duplicate = Duplicate::default();
        match tx.judge(&outcome) {
            Verdict::Spurious => self.take_back(tx, &outcome),
            verdict => {
                if verdict == Verdict::Genuine {
                    // RFC 5682 (2.1) step 3a: two round trips have passed since the timeout.
                    tx.state.nxt = una;
                    tx.state.window.cwnd = 3.0 * tx.state.window.mss;
                }
                let is_sampled = outcome.advances() && self.on_new_ack(tx, ack);
                if is_dupack {
                    duplicate = self.on_close_dupack(tx, ack, outcome.advances());
                }
                self.adapt_timer(tx, &outcome, is_sampled);
            }
        }
        let state = &mut tx.state;
        let is_over = was_in_recovery && state.phase == Phase::Open && state.recover.is_some();
        if self.prr.is_some() && is_over {
            state.window.cwnd = state.window.ssthresh;
        }
        if let Some(duplicates) = &mut self.duplicates {
            duplicates.on_ack(&mut tx.state, self.prr.as_mut(), &outcome, duplicate);
        } else {
            self.reduce(tx, &outcome, duplicate.begins, lost_end);
        }
        duplicate.begins
    }

    /// A NACK: its SACK blocks do not come from the receiver and do not change the scoreboard.
    #[cold]
    fn on_nack(&mut self, tx: &mut Transmission, ack: &Ack<'_>) -> bool {
        if ack.number > tx.state.una {
            self.on_new_ack(tx, ack);
        }
        if let Some(feedback) = &mut self.feedback {
            feedback.on_nack(tx, ack);
        }
        false
    }

    /// An ACK advances. Returns whether it gave a round-trip time.
    pub(super) fn on_new_ack(&mut self, tx: &mut Transmission, ack: &Ack<'_>) -> bool {
        let acked = ack.number - tx.state.una;
        let is_sampled = tx.advance(ack.now, ack.number, ack.packet.ts_ecr);
        tx.measure_arrival(ack.now, acked);
        let is_open = tx.state.phase == Phase::Open;
        let restarts = if is_open { tx.grow(acked) } else { self.on_late_ack(tx, acked) };
        tx.set_timer(ack.now, restarts);
        is_sampled
    }

    /// An ACK of `acked` bytes while a loss is suspected. It ends a disorder, and going back after a timeout if
    /// everything is acknowledged that was outstanding then. Returns whether the retransmission timer restarts.
    #[cold]
    pub(super) fn on_late_ack(&mut self, tx: &mut Transmission, acked: u64) -> bool {
        let state = &mut tx.state;
        if state.phase == Phase::Recovery {
            return self.recovery.on_recovery_ack(state, tx.cc.as_mut(), acked);
        }
        state.inflation = 0;
        let counted = self.duplicates.as_ref().map_or(acked, |of| of.not_covered(state, acked));
        if state.phase == Phase::Disorder || !state.is_below_recover() {
            state.phase = Phase::Open;
        }
        tx.grow(counted)
    }

    /// A duplicate ACK, possibly with feedback of the radio network.
    fn on_close_dupack(&mut self, tx: &mut Transmission, ack: &Ack<'_>, advances: bool) -> Duplicate {
        let feedback = self.feedback.as_mut().filter(|of| !advances || of.has_repaired(ack.number));
        if feedback.is_some_and(|of| of.answers(tx, ack, self.uses_scoreboard)) {
            return Duplicate::default();
        }
        self.on_dupack(tx, ack.now)
    }

    /// A duplicate ACK.
    #[cold]
    pub(super) fn on_dupack(&mut self, tx: &mut Transmission, now: Instant) -> Duplicate {
        if tx.timer.is_probing() {
            // It replies to a probe. As in BSD, which counts duplicates only while the retransmission timer runs.
            return Duplicate::default();
        }
        tx.measure_arrival(now, 0);
        let state = &mut tx.state;
        tx.counters.dupacks += 1;
        state.dupacks += 1;
        let segments = self.duplicates.as_mut().map_or(0, |duplicates| duplicates.count(state));
        if state.phase == Phase::Open {
            state.phase = Phase::Disorder;
        }
        let (inflation, limited_transmit) = (state.inflation, state.limited_transmit);
        if !self.recovery.on_dupack(state) {
            if self.duplicates.is_some() && segments == 0 {
                // One that does not count lets no segment go.
                (state.inflation, state.limited_transmit) = (inflation, limited_transmit);
            }
            return Duplicate { begins: false, segments };
        }
        let ssthresh = tx.begin_recovery(now);
        tx.state.enter_recovery(ssthresh);
        self.recovery.on_begin(&mut tx.state);
        tx.timer.at = Some(now + tx.rto.value());
        tx.rtt.forget();
        Duplicate { begins: true, segments }
    }

    /// The latest loss recovery was spurious: RFC 4015 (3.2).
    fn take_back(&mut self, tx: &mut Transmission, outcome: &AckOutcome) {
        if outcome.advances() {
            tx.advance(outcome.now, outcome.ack, outcome.ts_ecr);
        }
        tx.take_back(outcome.acked);
        tx.set_timer(outcome.now, false);
        if tx.state.max > tx.state.una {
            tx.timer.at = Some(outcome.now + tx.rto.value());
        }
    }

    /// After a spurious timeout, the first round-trip time of new data makes the timer more careful: RFC 4015 (3.2)
    /// step 8.
    fn adapt_timer(&mut self, tx: &mut Transmission, outcome: &AckOutcome, is_sampled: bool) {
        let (Some(undo), Some(rtt)) = (&mut tx.undo, tx.rtt.latest.filter(|_| is_sampled)) else { return };
        if undo.adapt(&mut tx.rto, outcome.ack, rtt) && tx.timer.at.is_some() {
            tx.timer.at = Some(outcome.now + tx.rto.value());
        }
    }

    /// Proportional rate reduction by the scoreboard: the window after an ACK of a recovery, RFC 9937 (6). `lost_end`
    /// is where the lost segments ended before the ACK.
    fn reduce(&mut self, tx: &mut Transmission, outcome: &AckOutcome, begins: bool, lost_end: u64) {
        let state = &mut tx.state;
        let Some(prr) = self.prr.as_mut().filter(|_| state.phase == Phase::Recovery) else { return };
        if begins {
            *prr = Prr::new(state.unsacked() + outcome.delivered);
        } else if outcome.delivered == 0 {
            return;
        }
        // A segment about to be retransmitted counts as in the network already.
        let pending = if state.retransmit.is_some() { state.mss() } else { 0 };
        let in_flight = self.recovery.pipe(state).saturating_sub(pending);
        let is_safe = outcome.advances() && state.lost_end() <= lost_end.max(state.una);
        let progress = Progress { delivered: outcome.delivered, in_flight, is_safe };
        let allowed = prr.on_ack(state.window.ssthresh as u64, state.mss(), progress);
        state.window.cwnd = (in_flight + allowed) as f64;
    }

    /// The retransmission timer has expired: retransmits everything from the oldest unacknowledged byte on (go-back-N).
    pub(super) fn on_timeout(&mut self, tx: &mut Transmission, is_again: bool) {
        let state = &mut tx.state;
        state.inflation = 0;
        // RFC 5681 (3.1): a segment that times out again does not change the threshold.
        if !is_again || state.window.arithmetic == WindowArithmetic::Ns2 {
            state.window.ssthresh = tx.cc.ssthresh_after_loss(state);
        }
        state.window.cwnd = state.loss_window;
        (state.limited_transmit, state.limited_bytes, state.retransmit) = (0, 0, None);
        state.nxt = state.una;
        if tx.reads_sack {
            // RFC 2018 (8): the receiver may have discarded the data that it reported.
            state.clear_scoreboard();
        }
        if let Some(duplicates) = &mut self.duplicates {
            duplicates.forget();
        }
    }

    /// The next segment to be sent now, if any.
    pub(super) fn poll(&mut self, tx: &mut Transmission, now: Instant) -> Option<Transmit> {
        // A segment held by the pacer may have been acknowledged since.
        if let Some((seq, cause)) = tx.state.retransmit.take()
            && let Some(transmit) = tx.send_again(now, seq, cause)
        {
            return self.note_reduced(tx, Some(transmit));
        }
        if let Some(feedback) = &mut self.feedback
            && let Some(transmit) = feedback.poll(tx, now)
        {
            return Some(transmit);
        }
        if tx.state.phase != Phase::Open && tx.state.max > tx.state.una {
            if let Some(left) = tx.undo.as_ref().and_then(|undo| undo.probe) {
                return poll_frto(tx, now, left);
            }
            if self.uses_scoreboard {
                let transmit = self.poll_by_scoreboard(tx, now);
                return self.note_reduced(tx, transmit);
            }
        }
        let state = &tx.state;
        let (seq, len) = (state.nxt, state.mss().min(tx.supplied - state.nxt));
        if len == 0 {
            return None;
        }
        let mut cause = SendCause::New;
        // A timed-out segment is sent even if the window has shrunk: RFC 1122 (4.2.2.16).
        if !state.permits(seq + len) && !tx.timed_out {
            if state.una == state.max {
                return tx.poll_persist(now);
            }
            if !state.limited_transmit_permits(seq, len) {
                return None;
            }
            cause = SendCause::LimitedTransmit;
        }
        if seq < state.max {
            cause = if tx.timed_out { SendCause::Timeout } else { SendCause::GoBackN };
            let transmit = tx.send_again(now, seq, cause)?;
            tx.state.nxt = seq + u64::from(transmit.len);
            return Some(transmit);
        }
        let transmit = tx.send_new(now, len, cause);
        self.note_reduced(tx, Some(transmit))
    }

    /// A segment is sent, maybe in a recovery.
    fn note_reduced(&mut self, tx: &Transmission, transmit: Option<Transmit>) -> Option<Transmit> {
        if let (Some(prr), Some(sent), Phase::Recovery) = (&mut self.prr, transmit, tx.state.phase) {
            prr.on_sent(sent.len.into());
        }
        transmit
    }

    /// With the scoreboard, the next segment after duplicate ACKs: RFC 6675 (5).
    #[cold]
    fn poll_by_scoreboard(&mut self, tx: &mut Transmission, now: Instant) -> Option<Transmit> {
        let state = &tx.state;
        let (new_bytes, can_send_new) = (tx.new_bytes(), tx.can_send_new(state.una));
        let beyond_cwnd = !state.permits(state.max + new_bytes);
        let next = match state.phase {
            Phase::Loss => return poll_going_back(tx, now),
            Phase::Recovery => self.recovery.next_segment(state, can_send_new)?,
            Phase::Open | Phase::Disorder if !beyond_cwnd => can_send_new.then_some(Next::New)?,
            Phase::Open | Phase::Disorder if state.limited_transmit_enabled || state.is_under_repair() => {
                self.recovery.next_segment(state, can_send_new)?
            }
            Phase::Open | Phase::Disorder => return None,
        };
        match next {
            Next::Again(seq) => tx.send_again(now, seq, SendCause::Sack),
            Next::New => {
                let is_limited = beyond_cwnd && state.phase == Phase::Disorder && !state.is_under_repair();
                let cause = if is_limited { SendCause::LimitedTransmit } else { SendCause::New };
                Some(tx.send_new(now, new_bytes, cause))
            }
        }
    }
}

/// With the scoreboard, the next segment after a timeout: RFC 6675 (5.1). Goes back, skipping data reported since.
fn poll_going_back(tx: &mut Transmission, now: Instant) -> Option<Transmit> {
    let state = &mut tx.state;
    let nxt = state.nxt;
    let mut behind = state.segments.iter().filter(|segment| segment.start >= nxt);
    let hole = behind.find(|segment| !segment.is_sacked).copied();
    let new_bytes = state.mss().min(tx.supplied - state.max);
    let len = hole.map_or(new_bytes, |hole| u64::from(hole.len));
    if state.unsacked_flight() + len > state.send_window() && !tx.timed_out {
        return None;
    }
    match hole {
        // As without a scoreboard: RFC 1122 (4.2.2.16).
        Some(hole) if hole.end() <= state.una + state.peer_window() || tx.timed_out => {
            state.nxt = hole.end();
            let cause = if tx.timed_out { SendCause::Timeout } else { SendCause::GoBackN };
            tx.send_again(now, hole.start, cause)
        }
        Some(_) => None,
        None => tx.can_send_new(tx.state.una).then(|| tx.send_new(now, new_bytes, SendCause::New)),
    }
}

/// F-RTO: new data instead of going back, RFC 5682 (2.1) step 2b, while there is some and `left` segments are permitted.
#[cold]
fn poll_frto(tx: &mut Transmission, now: Instant, left: u32) -> Option<Transmit> {
    if left == 0 || !tx.can_send_new(tx.state.una) {
        return None;
    }
    if let Some(undo) = &mut tx.undo {
        undo.probe = Some(left - 1);
    }
    Some(tx.send_new(now, tx.new_bytes(), SendCause::New))
}
