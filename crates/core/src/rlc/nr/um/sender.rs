//! The transmitting UM entity (TS 38.322 §5.2.2.1), with PDCP above it.

use super::Config;
use crate::pdcp::{self, Content, PdcpPdu, Transmitter};
use crate::rlc::Tti;
use crate::rlc::entities::{Report, Transmit};
use crate::rlc::nr::{self, Pdu, mac_octets, payload};
use crate::time::Instant;
use serde::Serialize;
use serde_json::Value;

/// Octets of the header of a PDU with a whole SDU (§6.2.2.3).
const WHOLE: u64 = 1;

/// The transmitting entity.
#[derive(Debug)]
pub struct Sender {
    header: u64,
    pdcp: Transmitter,
    /// TX_Next: the sequence number of the next SDU that is segmented, or of that which is.
    tx_next: u64,
    /// The SDU that has more segments to be sent, and the octets that were sent.
    cut: Option<(PdcpPdu, u32)>,
    establishment: u32,
    counts: Counts,
}

/// What an entity counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// UMD PDUs sent.
    pub data_pdus: u64,
    /// UMD PDUs with a segment of an SDU.
    pub segments: u64,
    /// MAC PDUs sent.
    pub mac_pdus: u64,
    /// SDUs discarded: by discardTimer, or because the entity was re-established within them.
    pub discarded_sdus: u64,
}

impl Sender {
    /// An entity in its initial state.
    pub fn new(config: &Config, pdcp: &pdcp::Config) -> Self {
        Self {
            header: config.header_octets(),
            pdcp: Transmitter::new(pdcp),
            tx_next: 0,
            cut: None,
            establishment: 0,
            counts: Counts::default(),
        }
    }

    /// TX_Next: the sequence number of the next SDU that is segmented, or of that which is.
    pub fn tx_next(&self) -> u64 {
        self.tx_next
    }

    /// Sends an SDU or a segment; the octets that it takes.
    #[inline]
    fn send(&mut self, room: u64, tti: &mut Tti, report: &mut Report) -> Option<u64> {
        let (sdu, so, header, most) = match self.cut {
            Some((sdu, so)) => (sdu, so, self.header + 2, payload(room, self.header + 2)),
            // A first segment has a longer header than a whole SDU.
            None if payload(room, self.header) == 0 => return None,
            None => {
                let sdu = self.pdcp.take()?;
                let is_whole = payload(room, WHOLE) >= u64::from(sdu.octets);
                let header = if is_whole { WHOLE } else { self.header };
                (sdu, 0, header, payload(room, header))
            }
        };
        if most == 0 {
            return None;
        }
        let octets = most.min(u64::from(sdu.octets - so));
        let end = so + octets as u32;
        let last = end == sdu.octets;
        let pdu = Pdu { sn: self.tx_next, sdu: sdu.content, so, end, last, poll: false, again: false };
        nr::put(tti, pdu);
        self.cut = if last { None } else { Some((sdu, end)) };
        self.tx_next += u64::from(last && so > 0);
        self.counts.data_pdus += 1;
        self.counts.segments += u64::from(!pdu.is_whole());
        if let Content::Data { number, .. } = sdu.content
            && last
        {
            report.confirmed.push(number);
        }
        let octets = header + octets;
        Some(octets + mac_octets(octets))
    }
}

impl Transmit for Sender {
    fn handle_sdu(&mut self, now: Instant, octets: u32) {
        self.pdcp.push(now, octets);
    }

    fn take_waiting(&mut self, place: usize) -> Option<u64> {
        self.pdcp.take_waiting(place)
    }

    fn deadline(&self) -> Instant {
        if self.cut.is_some() || !self.pdcp.is_empty() { Instant::ZERO } else { Instant::NEVER }
    }

    fn backlog(&self, _now: Instant) -> u64 {
        let overhead = self.header + mac_octets(u64::MAX);
        let cut = self.cut.map_or(0, |(sdu, so)| u64::from(sdu.octets - so) + overhead + 2);
        let (sdus, octets) = self.pdcp.pending();
        cut + octets + sdus * overhead
    }

    fn build_tti(&mut self, now: Instant, room: u64, tti: &mut Tti, report: &mut Report) {
        let discarded = report.unsent.len();
        self.pdcp.discard(now, &mut report.unsent);
        self.counts.discarded_sdus += (report.unsent.len() - discarded) as u64;
        let first_waiting = self.pdcp.first_waiting();
        (tti.nr.establishment, tti.nr.room) = (self.establishment, room);
        let mut left = room;
        while let Some(octets) = self.send(left, tti, report) {
            left -= octets;
        }
        tti.nr.left = left;
        let cut = self.cut.and_then(|(sdu, _)| sdu.number());
        tti.nr.needed_from = cut.unwrap_or_else(|| self.pdcp.first_pending());
        self.counts.mac_pdus += u64::from(!tti.nr.data.is_empty());
        report.started = first_waiting..self.pdcp.first_waiting();
    }

    /// TS 38.322 §5.1.2, TS 38.323 §5.1.2: what was begun is discarded, and COUNT begins with 0.
    fn re_establish_sender(&mut self, _now: Instant, report: &mut Report) {
        if let Some((PdcpPdu { content: Content::Data { number, .. }, .. }, _)) = self.cut.take() {
            self.counts.discarded_sdus += 1;
            report.discarded.push(number);
            report.is_final = true;
        }
        report.began_anew = true;
        self.pdcp.restart();
        self.tx_next = 0;
        self.establishment += 1;
    }

    fn report(&self) -> Value {
        serde_json::to_value(self.counts).unwrap_or_default()
    }
}
