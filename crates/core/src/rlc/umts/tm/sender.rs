//! The transmitting TM entity (TS 25.322 §9.2.2.9, §9.7.3.5, §11.1.2).

use super::Config;
use crate::rlc::entities::{Counts, Report, Transmit};
use crate::rlc::umts::sdu_queue::SduQueue;
use crate::rlc::{SduEnd, Tti};
use crate::time::Instant;
use serde_json::Value;

/// The transmitting entity.
#[derive(Debug)]
pub struct Sender {
    config: Config,
    /// Sequence number of the next PDU. It is not transmitted: PDUs are distinguished by their TTI.
    next_sn: u64,
    waiting: SduQueue<Waiting>,
    /// Discarded since the last TTI was filled.
    discarded: Vec<u64>,
    counts: Counts,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    octets: u64,
    entered: Instant,
}

impl Sender {
    /// An entity in its initial state.
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            next_sn: 0,
            waiting: SduQueue::default(),
            discarded: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Number of the TTI in which this instant lies.
    fn tti_of(&self, at: Instant) -> u64 {
        at.as_nanos().saturating_sub(self.config.offset.as_nanos()) / self.config.tti.as_nanos()
    }

    fn discard_first(&mut self) {
        self.counts.discarded_sdus += 1;
        let sdu = self.take_waiting(0);
        self.discarded.extend(sdu);
    }

    /// Discards SDUs whose timer has expired, and SDUs too large for a TTI.
    fn discard_unsent(&mut self, now: Instant, room: u64) {
        let late = |entered| self.config.timer_discard.is_some_and(|timer| entered + timer <= now);
        let unfit = |sdu: &Waiting| sdu.octets > room || late(sdu.entered);
        let count = self.waiting.iter().take_while(|sdu| unfit(sdu)).count();
        (0..count).for_each(|_| self.discard_first());
    }

    /// Sends the first SDU in `pdus` PDUs.
    fn send(&mut self, pdus: u64, tti: &mut Tti, report: &mut Report) {
        let Some((sdu, _)) = self.waiting.pop() else { return };
        report.confirmed.push(sdu);
        let first = self.next_sn;
        self.next_sn += pdus;
        tti.data.ends.push(SduEnd { sdu, first, sn: self.next_sn - 1 });
    }

    /// How many of the SDUs that wait go in one TTI, each as a PDU: all of them are of one length.
    fn of_one_length(&self, room: u64) -> u64 {
        let Some(first) = self.waiting.iter().next() else { return 0 };
        let fit = (room / first.octets.max(1)) as usize;
        self.waiting.iter().take(fit).take_while(|sdu| sdu.octets == first.octets).count() as u64
    }
}

impl Transmit for Sender {
    /// Without a timer, SDUs that came in a TTI before this one are discarded (§9.7.3.5).
    fn handle_sdu(&mut self, now: Instant, octets: u32) {
        if self.config.timer_discard.is_none() {
            let this = self.tti_of(now);
            let count = self.waiting.iter().take_while(|sdu| self.tti_of(sdu.entered) < this).count();
            (0..count).for_each(|_| self.discard_first());
        }
        self.waiting.push(Waiting { octets: octets.into(), entered: now });
    }

    fn take_waiting(&mut self, place: usize) -> Option<u64> {
        self.waiting.take(place)
    }

    fn deadline(&self) -> Instant {
        if self.waiting.is_empty() && self.discarded.is_empty() { Instant::NEVER } else { Instant::ZERO }
    }

    fn build_tti(&mut self, now: Instant, pdus: u64, tti: &mut Tti, report: &mut Report) {
        let room = pdus * self.config.pdu.as_u64();
        self.discard_unsent(now, room);
        report.unsent.append(&mut self.discarded);
        let (first, first_waiting) = (self.next_sn, self.waiting.first());
        if self.config.segmentation {
            let octets = self.waiting.iter().next().map_or(0, |sdu| sdu.octets);
            self.send(octets.div_ceil(self.config.pdu.as_u64()), tti, report);
        } else {
            (0..self.of_one_length(room)).for_each(|_| self.send(1, tti, report));
        }
        report.started = first_waiting..self.waiting.first();
        self.counts.send(first, self.next_sn, tti);
    }

    fn report(&self) -> Value {
        self.counts.report()
    }
}
