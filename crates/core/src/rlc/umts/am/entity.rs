//! An AM entity: the transmitting and the receiving side at one end of a UE's bearers, which share its TTIs.

use super::config::Config;
use super::receiver::Receiver;
use super::reset::Procedure;
use super::sender::Sender;
use crate::rlc::entities::{Receive, Transmit};
use crate::rlc::pdus::control::{Control, Reset, Status};
use crate::rlc::{Report, Run, Tti};
use crate::time::Instant;
use serde::Serialize;
use serde_json::Value;

/// An AM entity.
#[derive(Debug)]
pub struct Entity {
    sender: Sender,
    receiver: Receiver,
    reset: Procedure,
    counts: Counts,
}

/// Counters of an entity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// AMD PDUs sent, including retransmissions.
    pub data_pdus: u64,
    /// AMD PDUs retransmitted.
    pub retransmitted_pdus: u64,
    /// AMD PDUs sent with the P bit.
    pub polls: u64,
    /// STATUS PDUs sent, without piggybacked ones.
    pub status_pdus: u64,
    /// STATUS PDUs sent in the padding of AMD PDUs.
    pub piggybacked_status_pdus: u64,
    /// STATUS PDUs received that named PDUs which were not outstanding.
    pub erroneous_status_pdus: u64,
    /// SDUs discarded.
    pub discarded_sdus: u64,
    /// MRW super-fields sent.
    pub mrws: u64,
    /// RESET PDUs sent.
    pub reset_pdus: u64,
    /// RESET ACK PDUs sent.
    pub reset_ack_pdus: u64,
    /// Resets initiated by this end and acknowledged by the other.
    pub resets: u64,
    /// 1 if no RESET was acknowledged: the entity is silent from then on.
    pub unrecoverable_errors: u64,
}

impl Counts {
    fn count_run(&mut self, run: &Run, first_new: u64) {
        self.data_pdus += run.sns.len();
        self.polls += u64::from(run.poll) * run.sns.len();
        // A run of polled PDUs may extend from the last retransmitted PDU to the first new one.
        self.retransmitted_pdus += run.sns.end.min(first_new).saturating_sub(run.sns.first);
    }
}

impl Entity {
    /// The entity of the network, or the UTRAN, in its initial state at the start of the run, which sends by the
    /// parameters of one direction and receives by those of the other.
    pub fn at_network(sends: &Config, receives: &Config) -> Self {
        Self {
            sender: Sender::new(sends),
            receiver: Receiver::reporting_by(receives, sends),
            reset: Procedure::new(sends),
            counts: Counts::default(),
        }
    }

    /// The entity of the UE. Its timers start when the transmission of a PDU is indicated, at the end of the TTI;
    /// those of the UTRAN when it is submitted (§9.5).
    pub fn at_ue(sends: &Config, receives: &Config) -> Self {
        Self::at_network(&sends.with_timers_after(sends.tti), &receives.with_timers_after(sends.tti))
    }

    /// The transmitting side.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The receiving side.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// Its counters.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Whether MaxRST was reached: nothing is sent or taken any more (§11.4.4a).
    pub fn is_dead(&self) -> bool {
        self.reset.is_dead()
    }

    /// Whether neither data nor STATUS PDUs are sent or taken: a RESET is unanswered, or MaxRST was reached.
    pub fn is_suspended_by_reset(&self) -> bool {
        !self.reset.is_ready()
    }

    /// Makes the next STATUS PDU set the other end's window, in PDUs.
    pub fn set_window(&mut self, pdus: u32) {
        self.receiver.set_window(pdus);
    }

    #[inline(never)]
    fn handle_commands(&mut self, now: Instant, tti: &Tti, report: &mut Report) {
        let discarded = given_up(report);
        for control in &tti.control {
            self.handle_control(now, control, report);
        }
        if let Some((_, status)) = tti.piggybacked.as_ref().filter(|_| self.reset.is_ready()) {
            self.handle_status(now, status, report);
        }
        self.counts.discarded_sdus += given_up(report) - discarded;
    }

    fn handle_control(&mut self, now: Instant, control: &Control, report: &mut Report) {
        match control {
            Control::Status(status) if self.reset.is_ready() => self.handle_status(now, status, report),
            // §9.3.3.3.
            Control::Status(_) => {}
            Control::Reset(reset) => self.handle_reset(*reset, report),
            Control::ResetAck(ack) => {
                if self.reset.handle_reset_ack(*ack) {
                    self.counts.resets += 1;
                    self.begin_anew(ack.next_sdu, report);
                }
            }
        }
    }

    fn handle_status(&mut self, now: Instant, status: &Status, report: &mut Report) {
        if self.sender.handle_status(now, status, report).is_err() {
            self.counts.erroneous_status_pdus += 1;
            self.start_reset();
            return;
        }
        if let Some(mrw) = &status.mrw {
            self.receiver.handle_mrw(mrw, report);
        }
        if self.sender.is_reset_due() {
            self.start_reset();
        }
    }

    fn handle_reset(&mut self, reset: Reset, report: &mut Report) {
        if self.reset.handle_reset(reset) {
            let hfni = self.sender.hfni();
            self.begin_anew(reset.next_sdu, report);
            self.reset.answer(hfni, self.sender.first_waiting());
        }
    }

    fn start_reset(&mut self) {
        self.reset.start(self.sender.hfni(), self.sender.first_waiting());
    }

    fn begin_anew(&mut self, next_sdu: u64, report: &mut Report) {
        self.sender.reset(report);
        // §11.4.5.3: while a reset of this end is pending, its answer does this.
        if self.reset.is_ready() {
            self.sender.advance_hfn();
        }
        self.receiver.reset(next_sdu, report);
    }

    /// Whether at `now` there is nothing to do but to send data.
    fn is_quiet(&self, now: Instant) -> bool {
        self.reset.is_quiet() && self.sender.is_quiet(now) && self.receiver.is_quiet(now)
    }

    /// Adds the control PDUs that go before data; whether data may follow.
    #[inline(never)]
    fn build_control(
        &mut self,
        now: Instant,
        pdus: u64,
        out: &mut Vec<Control>,
        report: &mut Report,
    ) -> bool {
        let room = |sent: &Vec<Control>| pdus.saturating_sub(sent.len() as u64);
        self.reset.build(now, room(out), out);
        if self.reset.is_ready() {
            self.sender.handle_deadline(now, report);
            if room(out) > 0 {
                out.extend(self.sender.build_mrw(now));
            }
            if self.sender.is_reset_due() {
                self.start_reset();
                self.reset.build(now, room(out), out);
            } else {
                self.receiver.build_status(now, room(out), out);
            }
        }
        if self.reset.is_dead() {
            self.give_up(report);
        }
        self.reset.is_ready()
    }

    /// §11.4.4a: the error is unrecoverable. SDUs that have started are given up; queued ones stay.
    fn give_up(&mut self, report: &mut Report) {
        if self.counts.unrecoverable_errors == 0 {
            self.counts.unrecoverable_errors = 1;
            self.sender.reset(report);
            report.is_final = true;
        }
    }

    /// §9.2.1.6: the last STATUS PDU goes into the padding of the last AMD PDU, if it is new and has the room.
    fn piggyback(&self, tti: &mut Tti, first_new: u64) {
        let Some((sn, octets)) = self.sender.padding().filter(|&(sn, _)| sn >= first_new) else { return };
        let fits = |control: &mut Control| match control {
            Control::Status(status) => status.to_wire().bits() as u64 <= octets * 8,
            Control::Reset(_) | Control::ResetAck(_) => false,
        };
        if let Some(Control::Status(status)) = tti.control.pop_if(fits) {
            tti.piggybacked = Some((sn, status));
        }
    }

    fn count(&mut self, tti: &Tti, first_new: u64) {
        let counts = &mut self.counts;
        for control in &tti.control {
            match control {
                Control::Status(status) => {
                    counts.status_pdus += 1;
                    counts.mrws += u64::from(status.mrw.is_some());
                }
                Control::Reset(_) => counts.reset_pdus += 1,
                Control::ResetAck(_) => counts.reset_ack_pdus += 1,
            }
        }
        if let Some((_, status)) = &tti.piggybacked {
            counts.piggybacked_status_pdus += 1;
            counts.mrws += u64::from(status.mrw.is_some());
        }
        match tti.data.runs.as_slice() {
            [run] => counts.count_run(run, first_new),
            runs => runs.iter().for_each(|run| counts.count_run(run, first_new)),
        }
    }
}

impl Transmit for Entity {
    fn is_dead(&self) -> bool {
        self.reset.is_dead()
    }

    fn prefetch_inner(&self) {
        self.sender.prefetch_inner();
        self.receiver.prefetch_inner();
    }

    fn handle_sdu(&mut self, now: Instant, octets: u32) {
        self.sender.handle_sdu(now, octets);
    }

    fn take_waiting(&mut self, place: usize) -> Option<u64> {
        self.sender.take_waiting(place)
    }

    fn deadline(&self) -> Instant {
        if !self.reset.is_ready() {
            return self.reset.deadline();
        }
        match self.sender.deadline() {
            Instant::ZERO => Instant::ZERO,
            sender => sender.min(self.receiver.deadline()).min(self.reset.deadline()),
        }
    }

    fn backlog(&self, now: Instant) -> u64 {
        let due = u64::from(self.deadline() <= now);
        if !self.reset.is_ready() {
            return due;
        }
        let data = self.sender.backlog();
        due.max(data + u64::from(self.receiver.deadline() <= now))
    }

    /// §11.3.2: control PDUs go before data.
    fn build_tti(&mut self, now: Instant, pdus: u64, tti: &mut Tti, report: &mut Report) {
        let discarded = given_up(report);
        let mut first_new = self.sender.vt_s();
        if self.is_quiet(now) || self.build_control(now, pdus, &mut tti.control, report) {
            let room = pdus - tti.control.len() as u64;
            let first_waiting = self.sender.first_waiting();
            first_new = self.sender.vt_s();
            self.sender.build_tti(now, room, &mut tti.data, report);
            report.started = first_waiting..self.sender.first_waiting();
            if !tti.data.runs.is_empty() {
                self.piggyback(tti, first_new);
            } else if !self.is_quiet(now) {
                // A PDU that would only have polled has reached MaxDAT.
                self.build_control(now, pdus, &mut tti.control, report);
            }
        }
        self.count(tti, first_new);
        self.counts.discarded_sdus += given_up(report) - discarded;
    }

    fn report(&self) -> Value {
        serde_json::to_value(&self.counts).unwrap_or_default()
    }
}

impl Receive for Entity {
    fn handle_tti(&mut self, now: Instant, tti: &Tti, report: &mut Report) -> bool {
        if self.reset.is_dead() {
            return false;
        }
        let commands = !tti.control.is_empty() || tti.piggybacked.is_some();
        if commands {
            self.handle_commands(now, tti, report);
        }
        let due = self.receiver.is_report_due();
        if self.reset.is_ready() {
            self.receiver.handle_pdus(&tti.data, report);
        }
        commands || self.receiver.is_report_due() != due
    }
}

fn given_up(report: &Report) -> u64 {
    (report.discarded.len() + report.unsent.len()) as u64
}
