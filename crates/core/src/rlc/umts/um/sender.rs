//! The transmitting UM entity: SDUs into PDUs (TS 25.322 §9.2.2.8, §11.2.2), as in AM ([`Segmentation`]), but that an
//! indicator may mark the beginning of an SDU, and that each PDU is sent once.

use super::Config;
use crate::rlc::Tti;
use crate::rlc::entities::{Counts, Report, Transmit};
use crate::rlc::umts::segmentation::Segmentation;
use crate::time::{Duration, Instant};
use serde_json::Value;
use std::collections::VecDeque;

/// The transmitting entity.
#[derive(Debug)]
pub struct Sender {
    segmentation: Segmentation,
    first_octet_indicator: bool,
    timer_discard: Option<Duration>,
    /// With Timer_Discard, SDUs and when it ends for them.
    expiries: VecDeque<(u64, Instant)>,
    /// VT(US): the sequence number of the next PDU.
    vt_us: u64,
    /// An SDU that was discarded after its first octet was sent, and nothing sent since.
    broken_off: Option<(u64, u64)>,
    counts: Counts,
}

impl Sender {
    /// An entity in its initial state.
    pub fn new(config: &Config) -> Self {
        Self {
            segmentation: Segmentation::new(config.payload(), config.li_octets(), false),
            first_octet_indicator: config.first_octet_indicator,
            timer_discard: config.timer_discard,
            expiries: VecDeque::new(),
            vt_us: 0,
            broken_off: None,
            counts: Counts::default(),
        }
    }

    /// §9.7.3.2, §11.2.4.3: discards SDUs whose timer has ended. They all run for the same time, so that these are the
    /// first ones.
    fn discard_late(&mut self, now: Instant, report: &mut Report) {
        while let Some(&(sdu, _)) = self.expiries.front().filter(|(_, end)| *end <= now) {
            self.expiries.pop_front();
            if let Some(cut) = self.segmentation.break_off(sdu) {
                self.broken_off = Some(cut);
                report.discarded.push(sdu);
                report.is_final = true;
            } else if self.segmentation.first_waiting() == sdu {
                report.unsent.extend(self.take_waiting(0));
            } else {
                continue;
            }
            self.counts.discarded_sdus += 1;
        }
    }
}

impl Transmit for Sender {
    fn handle_sdu(&mut self, now: Instant, octets: u32) {
        let sdu = self.segmentation.push(octets);
        self.expiries.extend(self.timer_discard.map(|timer| (sdu, now + timer)));
    }

    fn take_waiting(&mut self, place: usize) -> Option<u64> {
        self.segmentation.take_waiting(place)
    }

    fn deadline(&self) -> Instant {
        if self.segmentation.is_empty() { Instant::NEVER } else { Instant::ZERO }
    }

    fn backlog(&self, _now: Instant) -> u64 {
        self.segmentation.pdus()
    }

    fn build_tti(&mut self, now: Instant, pdus: u64, tti: &mut Tti, report: &mut Report) {
        self.discard_late(now, report);
        if !self.segmentation.is_empty()
            && let Some(sdu) = self.broken_off.take()
        {
            // A gap has the receiver discard what it has of that SDU; "the PDU before was exactly filled" has it
            // keep the next one.
            self.vt_us += 1;
            self.segmentation.mark(sdu);
        }
        let (first, first_waiting) = (self.vt_us, self.segmentation.first_waiting());
        self.vt_us = self.segmentation.fill(first, pdus, self.first_octet_indicator, |span| {
            tti.data.ends.push(span.end);
            report.confirmed.extend((span.last >= first).then_some(span.end.sdu));
        });
        if self.vt_us > first {
            report.confirmed.extend(self.segmentation.unmarked());
        }
        report.started = first_waiting..self.segmentation.first_waiting();
        self.counts.send(first, self.vt_us, tti);
    }

    fn report(&self) -> Value {
        self.counts.report()
    }
}
