//! Both sides of an entity, and its reset procedure.

use super::*;

/// The reset procedure at one end (§11.4).
#[derive(Default)]
pub(super) struct Resets {
    pub(super) rsn: bool,
    /// The RESET that is unanswered, and when Timer_RST ends once it was sent.
    pub(super) pending: Option<(Reset, Option<Instant>)>,
    pub(super) received: Option<bool>,
    pub(super) answer: Option<Reset>,
    pub(super) answer_due: bool,
}

/// One end, plainly.
pub(super) struct End {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) resets: Resets,
}

impl End {
    pub(super) fn is_ready(&self) -> bool {
        self.resets.pending.is_none()
    }

    pub(super) fn start_reset(&mut self, cut: Cut) {
        if self.sender.reset_due && self.is_ready() {
            let (rsn, hfni) = (self.resets.rsn, self.sender.hfni());
            let next_sdu = self.sender.first_waiting(cut);
            self.resets.pending = Some((Reset { rsn, hfni, next_sdu }, None));
        }
    }

    pub(super) fn begin_anew(&mut self, next_sdu: u64, cut: Cut) {
        self.sender.reset(cut);
        self.sender.hfn += u32::from(self.is_ready());
        self.receiver.reset(next_sdu);
    }

    pub(super) fn handle_control(&mut self, now: Instant, control: &Control, cut: Cut) {
        match control {
            Control::Status(status) if self.is_ready() => {
                self.sender.handle_status(now, status, cut);
                if let Some(mrw) = &status.mrw {
                    self.receiver.handle_mrw(mrw);
                }
                self.start_reset(cut);
            }
            Control::Status(_) => {}
            Control::Reset(reset) => {
                self.resets.answer_due = true;
                if self.resets.received.replace(reset.rsn) != Some(reset.rsn) {
                    let hfni = self.sender.hfni();
                    self.begin_anew(reset.next_sdu, cut);
                    let next_sdu = self.sender.first_waiting(cut);
                    self.resets.answer = Some(Reset { rsn: reset.rsn, hfni, next_sdu });
                }
            }
            Control::ResetAck(ack) => {
                if self.resets.pending.take_if(|(reset, _)| reset.rsn == ack.rsn).is_some() {
                    self.resets.rsn = !self.resets.rsn;
                    self.begin_anew(ack.next_sdu, cut);
                }
            }
        }
    }

    /// RESET ACK and RESET, if there is room.
    pub(super) fn resets(&mut self, now: Instant, room: u64, out: &mut Vec<Control>) {
        let resets = &mut self.resets;
        if (out.len() as u64) < room && resets.answer_due {
            resets.answer_due = false;
            out.extend(resets.answer.map(Control::ResetAck));
        }
        if let Some((reset, timer)) = &mut resets.pending
            && (out.len() as u64) < room
            && timer.is_none_or(|end| end <= now)
        {
            *timer = Some(now + self.sender.c.timer_rst);
            out.push(Control::Reset(*reset));
        }
    }

    /// The control PDUs that precede data, except reports; returns whether there is one.
    pub(super) fn control(&mut self, now: Instant, room: u64, cut: Cut, out: &mut Vec<Control>) -> bool {
        self.resets(now, room, out);
        if !self.is_ready() {
            return false;
        }
        self.sender.handle_timers(now);
        self.sender.discard_expired(now, cut);
        let status = |status| Control::Status(status);
        if (out.len() as u64) < room {
            let mrw = self.sender.mrw(now);
            out.extend(mrw.map(|mrw| status(Status { mrw: Some(mrw), ..Status::default() })));
        }
        self.start_reset(cut);
        if !self.is_ready() {
            self.resets(now, room, out);
            return false;
        }
        if (out.len() as u64) < room
            && let Some(ack) = self.receiver.mrw_ack.take()
        {
            out.push(status(Status { mrw_ack: Some(ack), ..Status::default() }));
        }
        self.receiver.reports(now, (out.len() as u64) < room)
    }

    /// SDUs confirmed, discarded, taken out unsent, handed up and lost so far.
    pub(super) fn outcomes(&self) -> [BTreeSet<u64>; 5] {
        let (sender, receiver) = (&self.sender, &self.receiver);
        let GivenUp { discarded, unsent } = &sender.given_up;
        [&sender.confirmed, discarded, unsent, &receiver.up, &receiver.lost].map(BTreeSet::clone)
    }
}
