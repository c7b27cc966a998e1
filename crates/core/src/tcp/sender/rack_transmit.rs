//! The sender where RACK-TLP finds losses: what is sent next. RFC 8985 (6.2) step 5, RFC 6675 (5).
//!
//! While what is in the network leaves room in the window: what is marked lost, from the first on, then new data. At
//! the beginning of a recovery and after a timeout the first goes whatever the window says.

use super::by_rack::ByRack;
use super::{Sender, Transmit};
use crate::tcp::state::{Fate, Phase, Segment};
use crate::time::Instant;
use crate::trace::SendCause;

impl ByRack {
    /// The next segment to be sent now, if any.
    pub fn poll(&mut self, sender: &mut Sender, now: Instant) -> Option<Transmit> {
        if self.tail.take_due()
            && let Some(transmit) = self.send_probe(sender, now)
        {
            return Some(transmit);
        }
        if self.new_only.is_none()
            && let Some(lost) = self.next_lost(sender)
        {
            return self.send_lost(sender, now, &lost);
        }
        match self.poll_new(sender, now) {
            // F-RTO, RFC 5682 (3.1) step 2b: nothing new could be sent, so go on as after any timeout. What could holds
            // until the next ACK.
            None if self.new_only == Some(sender.state.max) => {
                self.new_only = None;
                let lost = self.next_lost(sender)?;
                self.send_lost(sender, now, &lost)
            }
            transmit => transmit,
        }
    }

    /// The first segment that is lost and was not sent again.
    fn next_lost(&mut self, sender: &Sender) -> Option<Segment> {
        let state = &sender.state;
        if self.marks.lost == self.marks.again || !matches!(state.phase, Phase::Recovery | Phase::Loss) {
            return None;
        }
        let from = state.segments.partition_point(|segment| segment.end() <= self.lost_from);
        let lost = state.segments.range(from..).find(|one| one.fate == Fate::Lost && !one.is_sacked).copied();
        self.lost_from = lost.map_or(state.max, |lost| lost.start);
        lost
    }

    fn send_lost(&mut self, sender: &mut Sender, now: Instant, lost: &Segment) -> Option<Transmit> {
        let (state, len) = (&sender.state, u64::from(lost.len));
        // RFC 1122 (4.2.2.16): what timed out is sent whatever has become of the receiver's window.
        let fits = self.pipe(state) + len <= state.window.cwnd as u64
            && lost.end() <= state.una + state.peer_window();
        if !fits && !sender.timed_out && !self.is_first {
            return None;
        }
        let cause = match sender.state.phase {
            _ if sender.timed_out => SendCause::Timeout,
            Phase::Loss => SendCause::GoBackN,
            _ if std::mem::take(&mut self.is_first) => SendCause::FastRetransmit,
            _ => SendCause::Sack,
        };
        sender.mark_sent_again(now, lost.start)?;
        sender.state.segment_mut(lost.start)?.fate = Fate::SentAgain;
        self.marks.again += len;
        self.lost_from = lost.end();
        let transmit = sender.sent(now, lost.start, lost.len, cause);
        if lost.start == sender.state.una {
            // The oldest is on its way again: RFC 6298 (5.1), as in Linux.
            self.timers.restart();
        }
        self.on_sent(sender, now, len);
        Some(transmit)
    }

    fn poll_new(&mut self, sender: &mut Sender, now: Instant) -> Option<Transmit> {
        let state = &sender.state;
        let len = state.mss().min(sender.supplied - state.max);
        if len == 0 {
            return None;
        }
        if state.max + len > state.una + state.peer_window() {
            return if state.una == state.max { sender.poll_persist(now) } else { None };
        }
        if self.pipe(state) + len > state.window.cwnd as u64 {
            return None;
        }
        let transmit = sender.send_new(now, len, SendCause::New);
        self.on_sent(sender, now, len);
        Some(transmit)
    }

    /// `bytes` were sent, new or again.
    pub fn on_sent(&mut self, sender: &mut Sender, now: Instant, bytes: u64) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
        self.set_deadline(sender, now, true);
    }
}
