//! Selection of the next segment with RACK-TLP. RFC 8985 (6.2) step 5, RFC 6675 (5).
//!
//! While the bytes in the network leave room in the window: segments marked lost, lowest first, then new data. At the
//! start of a recovery and after a timeout the first segment is sent regardless of the window.

use super::Rack;
use crate::tcp::Transmit;
use crate::tcp::transmission::Transmission;
use crate::tcp::window::state::{Outcome, Phase, Segment};
use crate::time::Instant;
use crate::trace::SendCause;

impl Rack {
    /// The next segment to be sent now, if any.
    pub(in crate::tcp::recovery) fn poll(&mut self, tx: &mut Transmission, now: Instant) -> Option<Transmit> {
        if std::mem::take(&mut self.tail.is_due)
            && let Some(transmit) = self.send_probe(tx, now)
        {
            return Some(transmit);
        }
        if self.new_only.is_none()
            && let Some(lost) = self.next_lost(tx)
        {
            return self.send_lost(tx, now, &lost);
        }
        match self.poll_new(tx, now) {
            // F-RTO, RFC 5682 (3.1) step 2b: if no new data could be sent, continue as after any timeout; otherwise
            // wait for the next ACK. In a fast recovery caused by reordering, wait in any case.
            None if self.new_only == Some(tx.state.max) && tx.state.phase == Phase::Loss => {
                self.new_only = None;
                let lost = self.next_lost(tx)?;
                self.send_lost(tx, now, &lost)
            }
            transmit => transmit,
        }
    }

    /// Whether [`Rack::poll`] would find a segment to send; exact if the lost bytes fill whole segments.
    pub(in crate::tcp::recovery) fn would_send(&self, tx: &Transmission) -> bool {
        let state = &tx.state;
        let is_repairing = matches!(state.phase, Phase::Recovery | Phase::Loss) && self.waits_to_repair();
        let has_room = |len: u64| self.pipe(state) + len <= state.window.cwnd as u64;
        self.tail.is_due
            || is_repairing && (tx.timed_out || self.is_first || has_room(state.mss()))
            || tx.can_send_new(state.una) && has_room(tx.new_bytes())
    }

    /// Whether a segment marked lost has not been retransmitted yet.
    pub(in crate::tcp::recovery) fn waits_to_repair(&self) -> bool {
        self.marks.lost > self.marks.again
    }

    /// The first lost segment not yet retransmitted.
    fn next_lost(&mut self, tx: &Transmission) -> Option<Segment> {
        let state = &tx.state;
        if self.marks.lost == self.marks.again || !matches!(state.phase, Phase::Recovery | Phase::Loss) {
            return None;
        }
        let from = state.segments.partition_point(|segment| segment.end() <= self.lost_from);
        let lost =
            state.segments.range(from..).find(|one| one.outcome == Outcome::Lost && !one.is_sacked).copied();
        self.lost_from = lost.map_or(state.max, |lost| lost.start);
        lost
    }

    fn send_lost(&mut self, tx: &mut Transmission, now: Instant, lost: &Segment) -> Option<Transmit> {
        let (state, len) = (&tx.state, u64::from(lost.len));
        // RFC 1122 (4.2.2.16): a timed-out segment is sent even if the receiver's window has shrunk.
        let fits = self.pipe(state) + len <= state.window.cwnd as u64
            && lost.end() <= state.una + state.peer_window();
        if !fits && !tx.timed_out && !self.is_first {
            return None;
        }
        let cause = match state.phase {
            _ if tx.timed_out => SendCause::Timeout,
            Phase::Loss => SendCause::GoBackN,
            _ if std::mem::take(&mut self.is_first) => SendCause::FastRetransmit,
            _ => SendCause::Sack,
        };
        let transmit = tx.send_again(now, lost.start, cause)?;
        tx.state.segment_mut(lost.start)?.outcome = Outcome::Retransmitted;
        self.marks.again += len;
        self.lost_from = lost.end();
        if lost.start == tx.state.una {
            // The oldest segment was retransmitted: RFC 6298 (5.1), as in Linux.
            self.timers.restart();
        }
        self.on_sent(tx, now, len);
        Some(transmit)
    }

    fn poll_new(&mut self, tx: &mut Transmission, now: Instant) -> Option<Transmit> {
        let (state, len) = (&tx.state, tx.new_bytes());
        if len == 0 {
            return None;
        }
        if state.max + len > state.una + state.peer_window() {
            return if state.una == state.max { tx.poll_persist(now) } else { None };
        }
        if self.pipe(state) + len > state.window.cwnd as u64 {
            return None;
        }
        let transmit = tx.send_new(now, len, SendCause::New);
        self.on_sent(tx, now, len);
        Some(transmit)
    }

    /// `bytes` were sent, new or again.
    pub(super) fn on_sent(&mut self, tx: &mut Transmission, now: Instant, bytes: u64) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
        self.set_timer(tx, now, true);
    }
}
