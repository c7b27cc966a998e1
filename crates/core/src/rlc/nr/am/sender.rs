//! The transmitting side of an AM entity (TS 38.322 §5.2.3.1, §5.3.2, §5.3.3).
//!
//! The SDUs that have a sequence number, concatenated, are a stream of octets: octets to be retransmitted are ranges of
//! it, so a lost block of many SDUs is one range.

use super::Config;
use crate::pdcp::{Content, PdcpPdu, Transmitter};
use crate::rlc::nr::{self, LARGEST_SDU, Nack, Pdu, Status, mac_octets, payload};
use crate::rlc::polling::Polling;
use crate::rlc::{Ranges, Report, SnRange, Tti};
use crate::time::Instant;
use std::collections::VecDeque;

/// maxRetxThreshold was reached.
#[derive(Debug, PartialEq, Eq)]
pub struct RadioLinkFailure;

/// The transmitting side.
#[derive(Debug)]
pub struct Sender {
    header: u64,
    window: u64,
    /// TX_Next_Ack: the first SDU that is not acknowledged.
    tx_next_ack: u64,
    /// SDUs from TX_Next_Ack to below TX_Next.
    sdus: VecDeque<Sent>,
    /// End offset of the last SDU in the stream.
    end: u64,
    /// End offset of the octets sent: less than `end` while the last SDU has more segments.
    sent: u64,
    /// SDUs beyond TX_Next_Ack that are acknowledged.
    acknowledged: Ranges,
    /// Octets of the stream to be retransmitted.
    missing: Ranges,
    polling: Polling,
    max_retx_threshold: u32,
    counts: Counts,
}

/// An SDU with a sequence number.
#[derive(Clone, Copy, Debug)]
struct Sent {
    pdu: PdcpPdu,
    /// The octet of the stream that is its first.
    first: u64,
    /// RETX_COUNT, and one more; 0 before it is considered for retransmission.
    considered: u32,
}

impl Sent {
    fn end(&self) -> u64 {
        self.first + u64::from(self.pdu.octets)
    }
}

/// Counters of transmitted PDUs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub new: u64,
    pub again: u64,
    pub segments: u64,
    pub polls: u64,
}

impl Sender {
    /// A side in its initial state.
    pub fn new(config: &Config) -> Self {
        Self {
            header: config.header_octets(),
            window: config.window(),
            tx_next_ack: 0,
            sdus: VecDeque::new(),
            end: 0,
            sent: 0,
            acknowledged: Ranges::default(),
            missing: Ranges::default(),
            polling: Polling::new(config.poll_pdu, config.poll_byte, config.t_poll_retransmit),
            max_retx_threshold: config.max_retx_threshold,
            counts: Counts::default(),
        }
    }

    /// TX_Next_Ack: the first SDU that is not acknowledged.
    pub fn tx_next_ack(&self) -> u64 {
        self.tx_next_ack
    }

    /// TX_Next: the sequence number of the next SDU.
    #[inline]
    pub fn tx_next(&self) -> u64 {
        self.tx_next_ack + self.sdus.len() as u64
    }

    /// Number of the first SDU that may still be transmitted, here or by PDCP.
    #[inline]
    pub fn needed_from(&self, pdcp: &Transmitter) -> u64 {
        self.sdus.iter().find_map(|sdu| sdu.pdu.number()).unwrap_or_else(|| pdcp.first_pending())
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether the last SDU has more segments to be sent.
    #[inline]
    fn is_cut(&self) -> bool {
        self.sent < self.end
    }

    /// Whether no further SDU may be sent.
    #[inline]
    fn is_stalled(&self) -> bool {
        self.sdus.len() as u64 >= self.window
    }

    /// Whether something can be sent that was not sent before.
    #[inline]
    fn has_new(&self, pdcp: &Transmitter) -> bool {
        self.is_cut() || !(self.is_stalled() || pdcp.is_empty())
    }

    /// Whether there is data to send apart from polls triggered by a timer.
    #[inline]
    fn has_data(&self, pdcp: &Transmitter) -> bool {
        !self.missing.is_empty() || self.has_new(pdcp)
    }

    /// When there is something to send, or an SDU to discard.
    #[inline]
    pub fn deadline(&self, pdcp: &Transmitter) -> Instant {
        match self.has_data(pdcp) {
            true => Instant::ZERO,
            false => self.polling.deadline().min(pdcp.expiry()),
        }
    }

    /// Octets to be sent, with their headers and subheaders.
    pub fn backlog(&self, now: Instant, pdcp: &Transmitter) -> u64 {
        let overhead = self.header + mac_octets(u64::MAX);
        let again = self.missing_octets();
        let cut = match self.end - self.sent {
            0 => 0,
            octets => octets + overhead + 2,
        };
        let (sdus, octets) = pdcp.pending();
        let allowed = sdus.min(self.window - self.sdus.len() as u64);
        let new = if allowed == sdus { octets } else { octets * allowed / sdus };
        let all = again + cut + new + allowed * overhead;
        if all == 0 && self.polling.deadline() <= now {
            let last = self.to_poll_with().map_or(0, |place| u64::from(self.sdus[place].pdu.octets));
            return if last == 0 { 0 } else { last + overhead };
        }
        all
    }

    fn missing_octets(&self) -> u64 {
        if self.missing.is_empty() {
            return 0;
        }
        let sdus = self.missing.as_slice().iter().map(|range| {
            let from = self.place(range.first);
            1 + self.sdus.range(from..).take_while(|sdu| sdu.end() < range.end).count() as u64
        });
        self.missing.count() + sdus.sum::<u64>() * (self.header + 2 + mac_octets(u64::MAX))
    }

    /// The place of the SDU with an octet of the stream.
    fn place(&self, octet: u64) -> usize {
        self.sdus.partition_point(|sdu| sdu.end() <= octet)
    }

    /// §5.3.3.4: the SDU that is retransmitted because nothing else can be sent, the last one that is not acknowledged.
    fn to_poll_with(&self) -> Option<usize> {
        let tx_next = self.tx_next();
        let highest = self.acknowledged.as_slice().last().filter(|range| range.end == tx_next);
        let last = highest.map_or(tx_next, |range| range.first);
        last.checked_sub(self.tx_next_ack + 1).map(|place| place as usize)
    }

    /// Handles expired timers.
    pub fn expire(&mut self, now: Instant, pdcp: &Transmitter) -> Result<(), RadioLinkFailure> {
        if self.polling.expire(now)
            && !self.has_data(pdcp)
            && let Some(place) = self.to_poll_with()
        {
            let sdu = self.sdus[place];
            return self.consider(place, SnRange::new(sdu.first, sdu.end()), true);
        }
        Ok(())
    }

    /// §5.3.2: considers octets of an SDU for retransmission. `first`: no other part of it is named by the same STATUS PDU.
    fn consider(&mut self, place: usize, octets: SnRange, first: bool) -> Result<(), RadioLinkFailure> {
        let octets = SnRange::new(octets.first, octets.end.min(self.sent));
        if octets.is_empty() || self.missing.covers(octets) {
            return Ok(());
        }
        self.missing.insert(octets);
        let sdu = &mut self.sdus[place];
        sdu.considered += u32::from(first || sdu.considered == 0);
        if sdu.considered > self.max_retx_threshold { Err(RadioLinkFailure) } else { Ok(()) }
    }

    /// Fills a TTI with `room` octets for data: retransmissions, then new SDUs (§5.2.3.1.1). What is left of the room.
    pub fn build_tti(&mut self, now: Instant, room: u64, pdcp: &mut Transmitter, tti: &mut Tti) -> u64 {
        let mut left = room;
        while !self.missing.is_empty() {
            let Some(octets) = self.send_again(now, left, pdcp, tti) else { return left };
            left -= octets;
        }
        while let Some(octets) = self.send_new(now, left, pdcp, tti) {
            left -= octets;
        }
        left
    }

    /// Retransmits an SDU or a segment that fits; the octets that it takes.
    fn send_again(&mut self, now: Instant, room: u64, pdcp: &Transmitter, tti: &mut Tti) -> Option<u64> {
        let first = *self.missing.as_slice().first()?;
        let place = self.place(first.first);
        let sdu = self.sdus[place];
        let so = (first.first - sdu.first) as u32;
        let header = self.header + if so > 0 { 2 } else { 0 };
        let octets = payload(room, header).min(first.end.min(sdu.end()) - first.first);
        if octets == 0 {
            return None;
        }
        let octets = SnRange::new(first.first, first.first + octets);
        self.missing.remove(octets);
        self.counts.again += 1;
        Some(self.put(now, place, octets, true, pdcp, tti))
    }

    /// Sends an SDU or a segment for the first time; the octets that it takes.
    #[inline]
    fn send_new(&mut self, now: Instant, room: u64, pdcp: &mut Transmitter, tti: &mut Tti) -> Option<u64> {
        let is_cut = self.is_cut();
        let so = if is_cut { self.sent - self.sdus.back()?.first } else { 0 };
        let header = self.header + if so > 0 { 2 } else { 0 };
        let most = payload(room, header);
        if most == 0 {
            return None;
        }
        if !is_cut {
            if self.is_stalled() {
                return None;
            }
            let pdu = pdcp.take()?;
            debug_assert!(pdu.octets <= LARGEST_SDU, "{pdu:?}");
            self.sdus.push_back(Sent { pdu, first: self.end, considered: 0 });
            self.end += u64::from(pdu.octets);
        }
        let octets = SnRange::new(self.sent, self.end.min(self.sent + most));
        self.sent = octets.end;
        self.polling.count(octets.len());
        self.counts.new += 1;
        Some(self.put(now, self.sdus.len() - 1, octets, false, pdcp, tti))
    }

    /// Puts octets of an SDU into a TTI, and polls if that is due (§5.3.3.2); the octets of the PDU and its subheader.
    #[inline]
    fn put(
        &mut self,
        now: Instant,
        place: usize,
        octets: SnRange,
        again: bool,
        pdcp: &Transmitter,
        tti: &mut Tti,
    ) -> u64 {
        let sdu = &self.sdus[place];
        let (so, end) = ((octets.first - sdu.first) as u32, (octets.end - sdu.first) as u32);
        let sn = self.tx_next_ack + place as u64;
        let last = end == sdu.pdu.octets;
        let mut pdu = Pdu { sn, sdu: sdu.pdu.content, so, end, last, poll: false, again };
        let is_last = self.missing.is_empty() && !self.has_new(pdcp);
        if is_last || self.polling.is_due() {
            self.polling.poll(now, self.tx_next() - 1);
            self.counts.polls += 1;
            pdu.poll = true;
        }
        self.counts.segments += u64::from(!pdu.is_whole());
        nr::put(tti, pdu);
        let octets = self.header + if so > 0 { 2 } else { 0 } + octets.len();
        octets + mac_octets(octets)
    }

    /// §5.3.2, §5.3.3.3: a STATUS PDU arrives. It is ignored if it refers to SDUs that were not sent.
    pub fn handle_status(&mut self, status: &Status, report: &mut Report) -> Result<(), RadioLinkFailure> {
        if !(self.tx_next_ack..=self.tx_next()).contains(&status.ack_sn) {
            return Ok(());
        }
        self.polling.handle_status(status.ack_sn);
        let mut failure = Ok(());
        // Below are the SDUs that the NACKs before have named, or that are acknowledged.
        let mut at = self.tx_next_ack;
        for nack in &status.nacks {
            let behind = (nack.sn + u64::from(nack.range)).min(status.ack_sn);
            self.acknowledge(at, nack.sn, report);
            failure = failure.and(self.handle_nack(nack, behind, at));
            at = at.max(behind);
        }
        self.acknowledge(at, status.ack_sn, report);
        self.move_on();
        failure
    }

    /// SDUs below `counted` were named by another NACK of the same STATUS PDU.
    fn handle_nack(&mut self, nack: &Nack, behind: u64, counted: u64) -> Result<(), RadioLinkFailure> {
        let mut failure = Ok(());
        for sn in nack.sn.max(self.tx_next_ack)..behind {
            if self.acknowledged.contains(sn) {
                continue;
            }
            let place = (sn - self.tx_next_ack) as usize;
            let sdu = self.sdus[place];
            let at = |offset: u32| sdu.end().min(sdu.first + u64::from(offset));
            let first = if sn == nack.sn { at(nack.start) } else { sdu.first };
            let end = nack.end.filter(|_| sn + 1 == behind).map_or(sdu.end(), at);
            failure = failure.and(self.consider(place, SnRange::new(first, end.max(first)), sn >= counted));
        }
        failure
    }

    /// SDUs from `first` to below `end` have arrived.
    fn acknowledge(&mut self, first: u64, end: u64, report: &mut Report) {
        let mut at = first.max(self.tx_next_ack);
        while at < end {
            // Up to the next one that is known to have arrived.
            let known = self.acknowledged.as_slice();
            let known = known.get(known.partition_point(|range| range.end <= at)).copied();
            let gap = known.map_or(end, |known| known.first.min(end));
            for sn in at..gap {
                let sdu = &mut self.sdus[(sn - self.tx_next_ack) as usize];
                if let Content::Data { number, .. } = sdu.pdu.content
                    && !sdu.pdu.confirmed
                {
                    report.confirmed.push(number);
                }
                sdu.pdu.confirmed = true;
                let octets = SnRange::new(sdu.first, sdu.end());
                self.missing.remove(octets);
            }
            at = known.map_or(end, |known| known.end.max(gap));
        }
        self.acknowledged.insert(SnRange::new(first.max(self.tx_next_ack), end.max(first)));
    }

    /// TX_Next_Ack moves to the first SDU that is not acknowledged.
    fn move_on(&mut self) {
        if let Some(range) = self.acknowledged.as_slice().first().copied()
            && range.first == self.tx_next_ack
        {
            self.sdus.drain(..range.len() as usize);
            self.tx_next_ack = range.end;
            self.acknowledged.remove(range);
        }
    }

    /// §5.1.2: resets the sender. Returns the SDUs from the first unacknowledged one on.
    pub fn re_establish(&mut self) -> VecDeque<PdcpPdu> {
        let sdus = self.sdus.drain(..).map(|sdu| sdu.pdu).collect();
        (self.tx_next_ack, self.end, self.sent) = (0, 0, 0);
        self.acknowledged = Ranges::default();
        self.missing = Ranges::default();
        self.polling.restart();
        sdus
    }
}
