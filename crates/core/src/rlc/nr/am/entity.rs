//! An AM entity with PDCP above it: the transmitting and the receiving side at one end of a UE's bearers, which share its
//! TTIs.

use super::sender::RadioLinkFailure;
use super::{Config, Receiver, Sender};
use crate::pdcp::{self, AtHandover, Content, StatusReport, Transmitter};
use crate::rlc::entities::{Receive, Transmit};
use crate::rlc::nr::{mac_octets, payload};
use crate::rlc::{Report, Tti};
use crate::time::Instant;
use serde::Serialize;
use serde_json::{Value, json};

/// An AM entity with PDCP above it.
#[derive(Debug)]
pub struct Entity {
    sn_bits: u8,
    pdcp_tx: Transmitter,
    pdcp_rx: pdcp::Receiver,
    at_handover: AtHandover,
    sender: Sender,
    receiver: Receiver,
    /// The status report of PDCP that was compiled last, for the PDUs that carry it.
    status_report: Option<StatusReport>,
    /// Status reports of the peer's PDCP that are in PDUs which have arrived.
    heard: Vec<StatusReport>,
    /// SDUs that RLC hands up; kept for its memory.
    up: Vec<Content>,
    /// How often it was established again.
    establishment: u32,
    status_pdus: u64,
    nacks: u64,
    blocks: u64,
    discarded_sdus: u64,
    radio_link_failures: u64,
}

/// What an entity counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// AMD PDUs sent, with retransmissions.
    pub data_pdus: u64,
    /// AMD PDUs retransmitted.
    pub retransmitted_pdus: u64,
    /// AMD PDUs with a segment of an SDU.
    pub segments: u64,
    /// AMD PDUs sent with the P bit.
    pub polls: u64,
    /// STATUS PDUs sent.
    pub status_pdus: u64,
    /// NACK_SNs in these.
    pub nacks: u64,
    /// MAC PDUs sent.
    pub mac_pdus: u64,
    /// SDUs discarded by discardTimer.
    pub discarded_sdus: u64,
    /// How often this end reached maxRetxThreshold.
    pub radio_link_failures: u64,
    /// How often the entity was re-established: after a failure of either end, and at hand-overs.
    pub re_establishments: u32,
}

impl Entity {
    /// An entity in its initial state, which sends by the parameters of one direction, and receives by those of the other.
    pub fn new(sends: (&Config, &pdcp::Config), receives: (&Config, &pdcp::Config)) -> Self {
        Self {
            sn_bits: sends.0.sn,
            pdcp_tx: Transmitter::new(sends.1),
            pdcp_rx: pdcp::Receiver::new(receives.1),
            at_handover: sends.1.at_handover,
            sender: Sender::new(sends.0),
            receiver: Receiver::new(receives.0),
            status_report: None,
            heard: Vec::new(),
            up: Vec::new(),
            establishment: 0,
            status_pdus: 0,
            nacks: 0,
            blocks: 0,
            discarded_sdus: 0,
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
            nacks: self.nacks,
            mac_pdus: self.blocks,
            discarded_sdus: self.discarded_sdus,
            radio_link_failures: self.radio_link_failures,
            re_establishments: self.establishment,
        }
    }

    /// Re-establishes both sides, locally or because the other end did.
    fn begin_anew(&mut self, establishment: u32, report: &mut Report) {
        self.re_establish_tx(establishment, report);
        self.re_establish_rx();
    }

    /// TS 38.323 §5.1.2, §5.5: PDCP takes what RLC has not delivered back.
    fn re_establish_tx(&mut self, establishment: u32, report: &mut Report) {
        self.establishment = establishment;
        let all = self.at_handover == AtHandover::ReEstablish;
        let back = self.sender.re_establish();
        self.pdcp_tx.give_back(back.into_iter().filter(|pdu| all || !pdu.confirmed));
        report.began_anew = true;
    }

    fn re_establish_rx(&mut self) {
        self.receiver.re_establish();
        if let Some(report) = self.pdcp_rx.re_establish() {
            self.pdcp_tx.send_status(&report);
            self.status_report = Some(report);
        }
    }

    fn fail(&mut self, report: &mut Report) {
        self.radio_link_failures += 1;
        self.begin_anew(self.establishment + 1, report);
    }

    /// The STATUS PDU, if one is due; the octets that it takes with its subheader.
    #[inline]
    fn build_status(&mut self, now: Instant, room: u64, tti: &mut Tti) -> u64 {
        let status = self.receiver.build_status(now, payload(room, 0));
        let Some(status) = status else { return 0 };
        let octets = status.octets(self.sn_bits);
        self.status_pdus += 1;
        self.nacks += status.nacks.len() as u64;
        tti.nr.status = Some(status);
        octets + mac_octets(octets)
    }

    /// PDCP's status reports travel in PDUs.
    #[inline(never)]
    fn attach_report(&self, tti: &mut Tti) {
        let carries =
            |report: &&StatusReport| tti.nr.data.iter().any(|pdu| pdu.sdu == Content::Status(report.number));
        let carried = self.status_report.as_ref().filter(carries).cloned();
        tti.nr.reports.extend(carried);
    }

    /// PDCP takes the SDUs that RLC has handed up.
    #[inline]
    fn hand_up(&mut self, now: Instant, report: &mut Report) {
        for content in self.up.drain(..) {
            match content {
                Content::Data { count, number } => {
                    self.pdcp_rx.handle(now, count, number, &mut report.up, &mut report.lost);
                }
                Content::Status(number) => {
                    if let Some(heard) = self.heard.iter().find(|heard| heard.number == number) {
                        self.pdcp_tx.handle_status(heard, &mut report.confirmed);
                    }
                    self.heard.clear();
                }
            }
        }
    }
}

impl Transmit for Entity {
    fn handle_sdu(&mut self, now: Instant, octets: u32) {
        self.pdcp_tx.push(now, octets);
    }

    fn take_waiting(&mut self, place: usize) -> Option<u64> {
        self.pdcp_tx.take_waiting(place)
    }

    fn deadline(&self) -> Instant {
        self.sender.deadline(&self.pdcp_tx).min(self.receiver.deadline())
    }

    fn backlog(&self, now: Instant) -> u64 {
        let status = match self.receiver.backlog(now) {
            0 => 0,
            octets => octets + mac_octets(octets),
        };
        self.sender.backlog(now, &self.pdcp_tx) + status
    }

    /// §5.2.3.1.1: STATUS PDUs go before data, and retransmissions before new data.
    fn build_tti(&mut self, now: Instant, room: u64, tti: &mut Tti, report: &mut Report) {
        let discarded = report.unsent.len();
        self.pdcp_tx.discard(now, &mut report.unsent);
        self.discarded_sdus += (report.unsent.len() - discarded) as u64;
        if self.sender.expire(now, &self.pdcp_tx) == Err(RadioLinkFailure) {
            self.fail(report);
        }
        let first_waiting = self.pdcp_tx.first_waiting();
        (tti.nr.establishment, tti.nr.room) = (self.establishment, room);
        let status = self.build_status(now, room, tti);
        tti.nr.left = self.sender.build_tti(now, room - status, &mut self.pdcp_tx, tti);
        tti.nr.needed_from = self.sender.needed_from(&self.pdcp_tx);
        if self.status_report.is_some() {
            self.attach_report(tti);
        }
        // The TTI may also have a second bearer's part.
        self.blocks += u64::from(!tti.nr.data.is_empty() || tti.nr.status.is_some());
        report.started = first_waiting..self.pdcp_tx.first_waiting();
    }

    fn re_establish_sender(&mut self, _now: Instant, report: &mut Report) {
        self.re_establish_tx(self.establishment + 1, report);
    }

    fn report(&self) -> Value {
        serde_json::to_value(self.counts()).unwrap_or_default()
    }
}

impl Receive for Entity {
    fn handle_tti(&mut self, now: Instant, tti: &Tti, report: &mut Report) -> bool {
        if tti.nr.establishment > self.establishment {
            self.begin_anew(tti.nr.establishment, report);
        }
        if tti.nr.establishment < self.establishment {
            return true;
        }
        self.receiver.expire(now);
        self.heard.extend(tti.nr.reports.iter().cloned());
        for pdu in &tti.nr.data {
            self.receiver.handle_pdu(now, pdu, &mut self.up);
        }
        self.hand_up(now, report);
        if let Some(status) = &tti.nr.status
            && self.sender.handle_status(status, report) == Err(RadioLinkFailure)
        {
            self.fail(report);
        }
        true
    }

    fn expiry(&self) -> Instant {
        self.pdcp_rx.expiry()
    }

    fn handle_expiry(&mut self, now: Instant, report: &mut Report) {
        self.pdcp_rx.handle_expiry(now, &mut report.up, &mut report.lost);
    }

    fn re_establish_receiver(&mut self, _now: Instant, _report: &mut Report) {
        self.re_establish_rx();
    }

    fn received(&self) -> Option<Value> {
        Some(json!(self.pdcp_rx.counts()))
    }
}
