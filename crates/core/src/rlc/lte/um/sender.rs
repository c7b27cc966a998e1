//! The transmitting UM entity (TS 36.322 §5.1.2.1).

use super::Config;
use crate::rlc::Tti;
use crate::rlc::entities::{Counts, Report, Transmit};
use crate::rlc::lte::{self, Stream, li_octets};
use crate::time::Instant;
use serde_json::Value;

/// The transmitting entity.
#[derive(Debug)]
pub struct Sender {
    stream: Stream,
    header: u64,
    /// VT(US): the sequence number of the next PDU.
    vt_us: u64,
    /// The PDU with the first octet of the SDU that continues.
    begun_in: u64,
    establishment: u32,
    counts: Counts,
}

impl Sender {
    /// An entity in its initial state.
    pub fn new(config: &Config) -> Self {
        Self {
            stream: Stream::new(config.discard_timer, config.pdcp_sn_size),
            header: config.header_octets(),
            vt_us: 0,
            begun_in: 0,
            establishment: 0,
            counts: Counts::default(),
        }
    }
}

impl Transmit for Sender {
    fn handle_sdu(&mut self, now: Instant, octets: u32) {
        self.stream.push(now, octets);
    }

    fn take_waiting(&mut self, place: usize) -> Option<u64> {
        self.stream.take_waiting(place)
    }

    fn deadline(&self) -> Instant {
        if self.stream.uncut() > 0 { Instant::ZERO } else { Instant::NEVER }
    }

    fn backlog(&self, _now: Instant) -> u64 {
        match self.stream.uncut() {
            0 => 0,
            octets => octets + self.header + li_octets(self.stream.uncut_sdus() - 1),
        }
    }

    fn build_tti(&mut self, now: Instant, room: u64, tti: &mut Tti, report: &mut Report) {
        let discarded = report.unsent.len();
        self.stream.discard(now, &mut report.unsent);
        self.counts.discarded_sdus += (report.unsent.len() - discarded) as u64;
        let first_waiting = self.stream.first_waiting();
        tti.lte.establishment = self.establishment;
        let mut left = room;
        while let Some(octets) = self.stream.cut(self.header, left) {
            let indicators = lte::put(tti, &self.stream, self.vt_us, octets, Some(&mut self.begun_in));
            left -= self.header + indicators + octets.len();
            self.stream.confirm(octets.end, &mut report.confirmed);
            self.vt_us += 1;
            self.counts.data_pdus += 1;
        }
        report.started = first_waiting..self.stream.first_waiting();
    }

    fn re_establish_sender(&mut self, _now: Instant, report: &mut Report) {
        let begun = self.stream.break_off();
        self.counts.discarded_sdus += u64::from(begun.is_some());
        report.is_final |= begun.is_some();
        report.discarded.extend(begun);
        report.began_anew = true;
        self.stream.restart();
        self.vt_us = 0;
        self.establishment += 1;
    }

    fn report(&self) -> Value {
        let mut report = self.counts.report();
        if let Some(pdus) = self.stream.pdcp_pdus() {
            report["pdcp_pdus"] = pdus.into();
        }
        report
    }
}
