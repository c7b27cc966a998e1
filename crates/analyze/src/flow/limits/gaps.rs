//! The end of a gap: which cause the time between two new segments is assigned to.

use airpath_core::time::{Duration, Instant};

use super::super::rounds::Part;
use super::timeline::Spent;
use super::times::Gap;
use super::{Limits, PROMPTLY_S, Reason};

impl Limits {
    /// Ends the gap, which `bytes` of new data follow.
    pub(super) fn close_gap(&mut self, now: Instant, reason: Reason, bytes: u64) {
        let gap = self.gap();
        self.assign(now, gap, reason);
        self.totals.wait_s = self.totals.turn_s + self.totals.pause_s;
        if reason == Reason::Turn && self.is_turn {
            self.turns += 1;
        }
        if reason == Reason::Busy {
            // An ACK released the data, or the data follows a segment that an ACK released.
            let wait_s = match self.room_at {
                Some(_) => now.since(self.last_room_at).as_secs_f64(),
                None => gap.total(),
            };
            let is_new = self.room_at.is_some() || wait_s > PROMPTLY_S;
            self.is_prompt = wait_s <= PROMPTLY_S && (is_new || self.is_prompt);
            *(if self.is_prompt { &mut self.round.prompt } else { &mut self.round.unprompted }) += bytes;
        }
        (self.before, self.since) = (Gap::default(), Gap::default());
        self.timeline.close_gap();
    }

    /// Assigns the time of a gap, by the reason why the sender sent nothing.
    pub(super) fn assign(&mut self, now: Instant, gap: Gap, reason: Reason) {
        let patience_s = self.patience().as_secs_f64();
        let number = self.rounds.number();
        let round = &mut self.round;
        let totals = &mut self.totals;
        let timeline = &mut self.timeline;
        let closed = if self.has_probed { gap.closed_s } else { 0.0 };
        // Data in flight drains for longer than the RTT of an empty path.
        let base_s = self.shortest.map_or(0.0, Duration::as_secs_f64) + self.answer.as_secs_f64();
        let drain = self.drain.seconds(patience_s).min(gap.busy_s + gap.full_s - base_s).max(0.0);
        match reason {
            Reason::Busy if self.is_first_flight && !self.answer.is_zero() => {
                // One flight, spread by the path between the sender and the capture.
                totals.drain_s += gap.total();
                timeline.add_to_gap(Spent::On(Part::Link), gap.total());
            }
            Reason::Busy => {
                round.busy_s += gap.busy_s + gap.idle_s;
                round.window_s += gap.full_s + gap.closed_s;
                timeline.add_to_gap(Spent::Busy(number), gap.busy_s + gap.idle_s);
                timeline.add_to_gap(Spent::Window(number), gap.full_s + gap.closed_s);
            }
            Reason::Settling => {
                totals.drain_s += drain;
                round.recovery_s += gap.total() - drain;
                timeline.add_to_gap(Spent::On(Part::Link), drain);
                timeline.add_to_gap(Spent::Recovery(number), gap.total() - drain);
            }
            Reason::Outage => {
                totals.timeout_s += gap.total();
                timeline.add_to_gap(Spent::On(Part::Timeouts), gap.total());
            }
            Reason::Turn | Reason::Pause | Reason::Silence | Reason::End => {
                let windowed = if reason == Reason::Turn { closed } else { gap.closed_s + gap.full_s };
                let drain = drain.min((gap.total() - windowed).max(0.0));
                round.window_s += windowed;
                totals.drain_s += drain;
                let rest = (gap.total() - windowed - drain).max(0.0);
                let (total, part) = match (reason, self.has_pushed) {
                    (Reason::Turn, _) => (&mut totals.turn_s, Part::Idle),
                    (Reason::Silence, true) => (&mut totals.timeout_s, Part::Timeouts),
                    (Reason::Silence, false) => (&mut totals.unknown_s, Part::Unknown),
                    (Reason::End, _) => (&mut totals.pause_s, Part::Idle),
                    _ => (&mut totals.pause_s, Part::Pause),
                };
                *total += rest;
                // In order: the round trip until the first ACK of the flight, the drain, the rest, and the request.
                let asked_s = self.asked_at.filter(|_| reason == Reason::Turn);
                let waiting_s = asked_s.map_or(0.0, |at| now.since(at).as_secs_f64()).min(rest);
                let first_s = base_s.min(rest - waiting_s);
                timeline.add_to_gap(Spent::On(part), first_s);
                timeline.add_to_gap(Spent::On(Part::Link), drain);
                timeline.add_to_gap(Spent::Window(number), windowed);
                timeline.add_to_gap(Spent::On(part), rest - waiting_s - first_s);
                timeline.add_to_gap(Spent::On(Part::Waiting), waiting_s);
            }
        }
    }
}
