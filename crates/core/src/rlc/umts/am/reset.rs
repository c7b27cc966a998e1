//! The reset of the link at one end (TS 25.322 §11.4).
//!
//! While its own RESET is unanswered, an entity sends no data and no STATUS, and accepts neither. PDUs sent by the
//! other end before its reset arrive before its answer, as each direction preserves the order of its PDUs; so no PDU
//! from before a reset is mistaken for a later one, though both count from zero.

use super::config::Config;
use crate::rlc::pdus::control::{Control, Reset};
use crate::time::{Duration, Instant};

/// The procedure.
#[derive(Debug, Default)]
pub struct Procedure {
    timer_rst: Duration,
    max_rst: u32,
    /// RSN of the next RESET of a new procedure.
    rsn: bool,
    /// VT(RST): transmissions of the RESET.
    vt_rst: u32,
    state: State,
    /// RSN of the RESET received last.
    last_received: Option<bool>,
    /// The RESET ACK sent for it.
    answer: Option<Reset>,
    answer_due: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// DATA_TRANSFER_READY.
    #[default]
    Ready,
    /// RESET_PENDING: the RESET, and when Timer_RST ends; before the first transmission it has.
    Pending(Reset, Instant),
    /// NULL: an unrecoverable error.
    Dead,
}

impl Procedure {
    pub fn new(config: &Config) -> Self {
        Self { timer_rst: config.timer_rst, max_rst: config.max_rst, ..Self::default() }
    }

    /// Whether data and STATUS PDUs may be sent and taken.
    pub fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    /// Whether there is neither a reset in progress nor one to respond to.
    pub fn is_quiet(&self) -> bool {
        self.is_ready() && !self.answer_due
    }

    /// Whether the error is unrecoverable.
    pub fn is_dead(&self) -> bool {
        self.state == State::Dead
    }

    /// §11.4.2: starts a reset.
    pub fn start(&mut self, hfni: u32, next_sdu: u64) {
        if self.is_ready() {
            self.state = State::Pending(Reset { rsn: self.rsn, hfni, next_sdu }, Instant::ZERO);
        }
    }

    /// When there is a PDU to send.
    pub fn deadline(&self) -> Instant {
        match self.state {
            State::Dead => Instant::NEVER,
            _ if self.answer_due => Instant::ZERO,
            State::Pending(_, timer) => timer,
            State::Ready => Instant::NEVER,
        }
    }

    /// Adds the RESET ACK and the RESET to send in a TTI with room for `pdus` PDUs. When VT(RST) reaches MaxRST
    /// instead, the error is unrecoverable (§11.4.4a).
    pub fn build(&mut self, now: Instant, pdus: u64, out: &mut Vec<Control>) {
        let mut room = pdus;
        if let Some(answer) = self.answer.filter(|_| self.answer_due && room > 0 && !self.is_dead()) {
            self.answer_due = false;
            out.push(Control::ResetAck(answer));
            room -= 1;
        }
        let State::Pending(reset, timer) = self.state else { return };
        if room == 0 || now < timer {
            return;
        }
        self.vt_rst += 1;
        if self.vt_rst >= self.max_rst {
            self.state = State::Dead;
            return;
        }
        self.state = State::Pending(reset, now + self.timer_rst);
        out.push(Control::Reset(reset));
    }

    /// §11.4.3: whether this RESET begins a new procedure, to be carried out and answered with
    /// [`answer`](Self::answer). One that is repeated is answered again only.
    pub fn handle_reset(&mut self, reset: Reset) -> bool {
        let new = self.last_received != Some(reset.rsn);
        self.last_received = Some(reset.rsn);
        self.answer_due = true;
        new
    }

    /// The answer to the RESET received last.
    pub fn answer(&mut self, hfni: u32, next_sdu: u64) {
        let rsn = self.last_received.unwrap_or(false);
        self.answer = Some(Reset { rsn, hfni, next_sdu });
    }

    /// §11.4.4: whether this RESET ACK ends the procedure of this end.
    pub fn handle_reset_ack(&mut self, ack: Reset) -> bool {
        let State::Pending(reset, _) = self.state else { return false };
        if ack.rsn != reset.rsn {
            return false;
        }
        self.state = State::Ready;
        self.vt_rst = 0;
        self.rsn = !self.rsn;
        true
    }
}
