//! An AM entity: the transmitting and the receiving side at one end of a UE's bearers, which share its TTIs.

use super::{Config, Receiver, Sender};
use crate::rlc::entities::{Receive, Transmit};
use crate::rlc::{Report, Tti};
use crate::time::Instant;
use serde::Serialize;
use serde_json::Value;

/// An AM entity.
#[derive(Debug)]
pub struct Entity {
    sender: Sender,
    receiver: Receiver,
    /// How often it was established again.
    establishment: u32,
    status_pdus: u64,
    radio_link_failures: u64,
}

/// What an entity counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// AMD PDUs and segments sent, including retransmissions.
    pub data_pdus: u64,
    /// AMD PDUs and segments retransmitted.
    pub retransmitted_pdus: u64,
    /// Segments among these.
    pub segments: u64,
    /// AMD PDUs and segments sent with the P bit.
    pub polls: u64,
    /// STATUS PDUs sent.
    pub status_pdus: u64,
    /// SDUs discarded by discardTimer.
    pub discarded_sdus: u64,
    /// How often this end reached maxRetxThreshold.
    pub radio_link_failures: u64,
    /// How often the entity was re-established: after a failure of either end, and at hand-overs.
    pub re_establishments: u32,
    /// PDUs of PDCP begun, those again included that follow a re-establishment. `None` where SDUs have no PDCP header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pdcp_pdus: Option<u64>,
}

impl Entity {
    /// An entity in its initial state at the start of the run, which sends by the parameters of one direction and
    /// receives by those of the other.
    pub fn new(sends: &Config, receives: &Config) -> Self {
        Self {
            sender: Sender::new(sends),
            receiver: Receiver::new(receives),
            establishment: 0,
            status_pdus: 0,
            radio_link_failures: 0,
        }
    }

    /// The transmitting side.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The receiving side.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// What it counted.
    pub fn counts(&self) -> Counts {
        let sent = self.sender.counts();
        Counts {
            data_pdus: sent.new + sent.again,
            retransmitted_pdus: sent.again,
            segments: sent.segments,
            polls: sent.polls,
            status_pdus: self.status_pdus,
            discarded_sdus: sent.unsent,
            radio_link_failures: self.radio_link_failures,
            re_establishments: self.establishment,
            pdcp_pdus: self.sender.pdcp_pdus(),
        }
    }

    /// Re-establishes both sides, locally or because the other end did.
    fn begin_anew(&mut self, establishment: u32, report: &mut Report) {
        self.establishment = establishment;
        self.sender.re_establish();
        self.receiver.re_establish();
        report.began_anew = true;
    }

    fn fail(&mut self, report: &mut Report) {
        self.radio_link_failures += 1;
        self.begin_anew(self.establishment + 1, report);
    }
}

impl Transmit for Entity {
    fn handle_sdu(&mut self, now: Instant, octets: u32) {
        self.sender.handle_sdu(now, octets);
    }

    fn take_waiting(&mut self, place: usize) -> Option<u64> {
        self.sender.take_waiting(place)
    }

    fn deadline(&self) -> Instant {
        self.sender.deadline().min(self.receiver.deadline())
    }

    fn backlog(&self, now: Instant) -> u64 {
        self.sender.backlog(now) + self.receiver.backlog(now)
    }

    fn has_backlog(&self, now: Instant) -> bool {
        self.sender.has_backlog(now) || self.receiver.deadline() <= now
    }

    /// §5.1.3.1.1: STATUS PDUs go before data, and retransmissions before new PDUs.
    fn build_tti(&mut self, now: Instant, room: u64, tti: &mut Tti, report: &mut Report) {
        if self.sender.expire(now, report).is_err() {
            self.fail(report);
        }
        let first_waiting = self.sender.first_waiting();
        tti.lte.establishment = self.establishment;
        tti.lte.status = self.receiver.build_status(now, room);
        let status = tti.lte.status.as_ref().map_or(0, |status| status.octets());
        self.status_pdus += u64::from(status > 0);
        self.sender.build_tti(now, room - status, tti);
        report.started = first_waiting..self.sender.first_waiting();
    }

    fn re_establish_sender(&mut self, _now: Instant, report: &mut Report) {
        self.establishment += 1;
        self.sender.re_establish();
        report.began_anew = true;
    }

    fn report(&self) -> Value {
        serde_json::to_value(self.counts()).unwrap_or_default()
    }
}

impl Receive for Entity {
    fn handle_tti(&mut self, now: Instant, tti: &Tti, report: &mut Report) -> bool {
        if tti.lte.establishment > self.establishment {
            self.begin_anew(tti.lte.establishment, report);
        }
        if tti.lte.establishment < self.establishment {
            return true;
        }
        self.receiver.expire(now);
        for pdu in &tti.lte.data {
            self.receiver.handle_pdu(now, pdu, tti.lte.ends_of(pdu), &mut report.up);
        }
        if let Some(status) = &tti.lte.status
            && self.sender.handle_status(status, report).is_err()
        {
            self.fail(report);
        }
        true
    }

    fn re_establish_receiver(&mut self, _now: Instant, _report: &mut Report) {
        self.receiver.re_establish();
    }
}
