//! An AM entity: the transmitting and the receiving side at one end of a UE's bearers, which share its TTIs.

use super::config::Config;
use super::receiver::Receiver;
use super::sender::Sender;
use super::{Control, Status};
use crate::rlc::{End, Report, Tti};
use crate::time::Instant;
use serde_json::{Value, json};

/// An AM entity.
#[derive(Debug)]
pub struct Entity {
    sender: Sender,
    receiver: Receiver,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    data_pdus: u64,
    retransmitted_pdus: u64,
    polls: u64,
    status_pdus: u64,
    /// STATUS PDUs that named PDUs which were not outstanding.
    erroneous_status_pdus: u64,
}

impl Entity {
    /// An entity in its initial state at the start of the run, which sends by the parameters of one direction
    /// and receives by those of the other.
    pub fn new(sends: &Config, receives: &Config) -> Self {
        Self {
            sender: Sender::new(sends),
            receiver: Receiver::reporting_by(receives, sends),
            counts: Counts::default(),
        }
    }

    fn handle_status(&mut self, now: Instant, status: &Status, report: &mut Report) {
        match self.sender.handle_status(now, status) {
            Ok(confirmed) => report.confirmed.extend(confirmed),
            Err(_) => self.counts.erroneous_status_pdus += 1,
        }
    }
}

impl End for Entity {
    fn handle_sdu(&mut self, now: Instant, octets: u32) {
        self.sender.handle_sdu(now, octets);
    }

    fn take_waiting(&mut self) -> Option<u64> {
        self.sender.take_waiting()
    }

    fn deadline(&self) -> Instant {
        self.sender.deadline().min(self.receiver.deadline())
    }

    /// §11.3.2: control PDUs go before data.
    fn build_tti(&mut self, now: Instant, pdus: u64, tti: &mut Tti, report: &mut Report) {
        self.receiver.build_status(now, pdus, &mut tti.control);
        let room = pdus - tti.control.len() as u64;
        let (first_waiting, first_new) = (self.sender.first_waiting(), self.sender.vt_s());
        self.sender.build_tti(now, room, &mut tti.data);
        report.started = first_waiting..self.sender.first_waiting();
        let counts = &mut self.counts;
        counts.status_pdus += tti.control.len() as u64;
        for run in &tti.data.runs {
            counts.data_pdus += run.sns.len();
            counts.polls += u64::from(run.poll) * run.sns.len();
            counts.retransmitted_pdus += u64::from(run.sns.first < first_new) * run.sns.len();
        }
    }

    fn handle_tti(&mut self, now: Instant, tti: &Tti, report: &mut Report) {
        for Control::Status(status) in &tti.control {
            self.handle_status(now, status, report);
        }
        self.receiver.handle_pdus(&tti.data, &mut report.up);
    }

    fn report(&self) -> Value {
        let counts = &self.counts;
        json!({
            "data_pdus": counts.data_pdus,
            "retransmitted_pdus": counts.retransmitted_pdus,
            "polls": counts.polls,
            "status_pdus": counts.status_pdus,
            "erroneous_status_pdus": counts.erroneous_status_pdus,
        })
    }
}
