//! The transmitting UM entity: SDUs into PDUs (TS 25.322 §9.2.2.8, §11.2.2).
//!
//! SDUs follow each other without padding as long as there is data when a PDU is built. The end of an SDU costs a
//! length indicator in the PDU with its last octet; if that finds no room, the next PDU begins with an indicator that
//! says so, even when there is no other data for it. An SDU that begins with a PDU costs one too, unless such an
//! indicator is there.

use super::config::Config;
use crate::rlc::entities::{Counts, Report, Transmit};
use crate::rlc::sdu_queue::SduQueue;
use crate::rlc::{SduEnd, Tti};
use crate::time::{Duration, Instant};
use serde_json::Value;

/// The transmitting entity.
#[derive(Debug)]
pub struct Sender {
    payload: u64,
    li_octets: u64,
    first_octet_indicator: bool,
    timer_discard: Option<Duration>,
    /// VT(US): the sequence number of the next PDU.
    vt_us: u64,
    waiting: SduQueue<Waiting>,
    cut: Option<Cut>,
    /// An SDU whose last octet is sent, and whose end is not told: (number, PDU with its first octet).
    untold: Option<(u64, u64)>,
    /// An SDU that was discarded after its first octet was sent, and nothing sent since.
    broken_off: Option<(u64, u64)>,
    counts: Counts,
}

/// An SDU of which no octet is sent.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    octets: u32,
    entered: Instant,
}

/// The SDU that is being cut, and octets of it not yet in a PDU.
#[derive(Clone, Copy, Debug)]
struct Cut {
    sdu: u64,
    first: u64,
    octets: u64,
    entered: Instant,
}

impl Sender {
    /// An entity in its initial state.
    pub fn new(config: &Config) -> Self {
        Self {
            payload: config.payload(),
            li_octets: config.li_octets(),
            first_octet_indicator: config.first_octet_indicator,
            timer_discard: config.timer_discard,
            vt_us: 0,
            waiting: SduQueue::default(),
            cut: None,
            untold: None,
            broken_off: None,
            counts: Counts::default(),
        }
    }

    /// VT(US), the sequence number of the next PDU.
    pub fn vt_us(&self) -> u64 {
        self.vt_us
    }

    fn has_data(&self) -> bool {
        self.cut.is_some() || !self.waiting.is_empty()
    }

    /// §9.7.3.2, §11.2.4.3: discards SDUs whose timer has ended. They all run for the same time, so that these are the
    /// first ones.
    fn discard_late(&mut self, now: Instant, report: &mut Report) {
        let Some(timer) = self.timer_discard else { return };
        if let Some(cut) = self.cut.take_if(|cut| cut.entered + timer <= now) {
            self.broken_off = Some((cut.sdu, cut.first));
            report.discarded.push(cut.sdu);
            self.counts.discarded_sdus += 1;
        }
        while self.waiting.iter().next().is_some_and(|sdu| sdu.entered + timer <= now) {
            report.unsent.extend(self.take_waiting(0));
            self.counts.discarded_sdus += 1;
        }
    }

    /// Fills PDU `sn`, and below `limit` those that an SDU fills alone; the one after.
    fn fill(&mut self, sn: u64, limit: u64, tti: &mut Tti, report: &mut Report) -> u64 {
        let mut room = self.payload;
        if let Some((sdu, first)) = self.untold.take() {
            room -= self.li_octets;
            tti.data.ends.push(SduEnd { sdu, first, sn });
        } else if self.cut.is_none() && self.first_octet_indicator {
            room -= self.li_octets;
        }
        // Where 15 bits are used, a single octet left over is padding.
        while room >= self.li_octets {
            let Some(cut) = self.cut.take().or_else(|| self.begin(sn)) else { break };
            let Cut { sdu, first, octets, .. } = cut;
            if octets > room {
                let rest = octets - room;
                let whole = ((rest - 1) / self.payload).min(limit - sn - 1);
                self.cut = Some(Cut { octets: rest - whole * self.payload, ..cut });
                return sn + whole + 1;
            }
            report.confirmed.push(sdu);
            if octets + self.li_octets > room {
                self.untold = Some((sdu, first));
                break;
            }
            room -= octets + self.li_octets;
            tti.data.ends.push(SduEnd { sdu, first, sn });
        }
        sn + 1
    }

    fn begin(&mut self, sn: u64) -> Option<Cut> {
        let (sdu, Waiting { octets, entered }) = self.waiting.pop()?;
        Some(Cut { sdu, first: sn, octets: octets.into(), entered })
    }
}

impl Transmit for Sender {
    fn handle_sdu(&mut self, now: Instant, octets: u32) {
        self.waiting.push(Waiting { octets, entered: now });
    }

    fn take_waiting(&mut self, place: usize) -> Option<u64> {
        self.waiting.take(place)
    }

    fn deadline(&self) -> Instant {
        if self.has_data() || self.untold.is_some() { Instant::ZERO } else { Instant::NEVER }
    }

    fn build_tti(&mut self, now: Instant, pdus: u64, tti: &mut Tti, report: &mut Report) {
        self.discard_late(now, report);
        if self.has_data()
            && let Some(sdu) = self.broken_off.take()
        {
            // A gap has the receiver discard what it has of that SDU; "the PDU before was exactly filled" has it
            // keep the next one.
            self.vt_us += 1;
            self.untold = Some(sdu);
        }
        let (first, limit, first_waiting) = (self.vt_us, self.vt_us + pdus, self.waiting.first());
        while self.vt_us < limit && (self.has_data() || self.untold.is_some()) {
            self.vt_us = self.fill(self.vt_us, limit, tti, report);
        }
        report.started = first_waiting..self.waiting.first();
        self.counts.send(first, self.vt_us, tti);
    }

    fn report(&self) -> Value {
        self.counts.report()
    }
}
