//! The transmitting side of an AM entity (TS 36.322 §5.1.3.1, §5.2.1, §5.2.2, §7.1).

use super::{Config, WINDOW};
use crate::rlc::lte::{self, Part, Status, Stream};
use crate::rlc::polling::Polling;
use crate::rlc::{Ranges, Report, SnRange, Tti};
use crate::time::Instant;
use std::collections::VecDeque;

/// Octets of the header of an AMD PDU without length indicators (§6.2.1.4).
const HEADER: u64 = 2;
/// Header of a segment (§6.2.1.5).
const SEGMENT_HEADER: u64 = 4;

/// maxRetxThreshold was reached.
#[derive(Debug, PartialEq, Eq)]
pub struct RadioLinkFailure;

/// The transmitting side.
#[derive(Debug)]
pub struct Sender {
    stream: Stream,
    /// VT(A): the first PDU that is not acknowledged.
    vt_a: u64,
    /// PDUs from VT(A) to below VT(S).
    pdus: VecDeque<Sent>,
    /// Octets to retransmit.
    missing: Ranges,
    polling: Polling,
    max_retx_threshold: u32,
    /// The PDU with the first octet of the SDU that continues.
    begun_in: u64,
    counts: Counts,
}

/// An AMD PDU that was sent.
#[derive(Debug)]
struct Sent {
    octets: SnRange,
    acknowledged: bool,
    /// RETX_COUNT, and one more.
    considered: u32,
}

/// Counters of transmitted PDUs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub new: u64,
    pub again: u64,
    pub segments: u64,
    pub polls: u64,
    pub unsent: u64,
}

impl Sender {
    /// A side in its initial state at the start of the run.
    pub fn new(config: &Config) -> Self {
        Self {
            stream: Stream::new(config.discard_timer, config.pdcp_sn_size),
            vt_a: 0,
            pdus: VecDeque::new(),
            missing: Ranges::default(),
            polling: Polling::new(config.poll_pdu, config.poll_byte, config.t_poll_retransmit),
            max_retx_threshold: config.max_retx_threshold,
            begun_in: 0,
            counts: Counts::default(),
        }
    }

    /// VT(A): the first PDU that is not acknowledged.
    pub fn vt_a(&self) -> u64 {
        self.vt_a
    }

    /// VT(S): the next new PDU.
    pub fn vt_s(&self) -> u64 {
        self.vt_a + self.pdus.len() as u64
    }

    /// VT(MS): the first PDU that must not be sent.
    pub fn vt_ms(&self) -> u64 {
        self.vt_a + WINDOW
    }

    /// How many PDUs of PDCP were begun; `None` without PDCP's header.
    pub(super) fn pdcp_pdus(&self) -> Option<u64> {
        self.stream.pdcp_pdus()
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes an SDU.
    pub fn handle_sdu(&mut self, now: Instant, octets: u32) {
        self.stream.push(now, octets);
    }

    /// Removes an SDU that has not started.
    pub fn take_waiting(&mut self, place: usize) -> Option<u64> {
        self.stream.take_waiting(place)
    }

    /// Whether something can be sent that was not asked for by a timer.
    fn has_data(&self) -> bool {
        !self.missing.is_empty() || self.has_new()
    }

    /// Whether a new PDU can be sent.
    fn has_new(&self) -> bool {
        self.stream.uncut() > 0 && !self.is_stalled()
    }

    /// Whether the window is full.
    fn is_stalled(&self) -> bool {
        self.vt_s() >= self.vt_ms()
    }

    /// When there is something to send, or an SDU to discard.
    pub fn deadline(&self) -> Instant {
        match self.has_data() {
            true => Instant::ZERO,
            false => self.polling.deadline().min(self.stream.expiry()),
        }
    }

    /// Whether there is something to send, new, missing, or because t-PollRetransmit has ended.
    pub fn has_backlog(&self, now: Instant) -> bool {
        self.has_data() || self.polling.deadline() <= now
    }

    /// Octets to be sent, with their headers.
    pub fn backlog(&self, now: Instant) -> u64 {
        let new = match self.has_new() {
            true => self.stream.uncut() + HEADER + lte::li_octets(self.stream.uncut_sdus() - 1),
            false => 0,
        };
        if !self.missing.is_empty() {
            let parts = self.missing.as_slice().len() as u64;
            let ends = self.stream.ends_in(&self.missing);
            return self.missing.count() + SEGMENT_HEADER * parts + lte::li_octets(ends) + new;
        }
        if new == 0 && self.polling.deadline() <= now {
            let of_last = self.to_poll_with().map_or(0, |place| self.pdus[place].octets.len());
            return of_last + SEGMENT_HEADER;
        }
        new
    }

    /// §5.2.2.3: the PDU that is retransmitted because nothing else can be sent, VT(S) - 1 or the last one that is not
    /// acknowledged.
    fn to_poll_with(&self) -> Option<usize> {
        self.pdus.iter().rposition(|pdu| !pdu.acknowledged)
    }

    /// Handles expired timers.
    pub fn expire(&mut self, now: Instant, report: &mut Report) -> Result<(), RadioLinkFailure> {
        let before = report.unsent.len();
        self.stream.discard(now, &mut report.unsent);
        self.counts.unsent += (report.unsent.len() - before) as u64;
        if self.polling.expire(now)
            && !self.has_data()
            && let Some(place) = self.to_poll_with()
        {
            let octets = self.pdus[place].octets;
            return self.consider(place, [octets].into_iter());
        }
        Ok(())
    }

    /// §5.2.1: considers octets of a PDU for retransmission. ASSUMED: several parts that one STATUS PDU names count
    /// once.
    fn consider(
        &mut self,
        place: usize,
        parts: impl Iterator<Item = SnRange>,
    ) -> Result<(), RadioLinkFailure> {
        let mut newly = false;
        for octets in parts {
            newly |= !self.missing.covers(octets);
            self.missing.insert(octets);
        }
        let sent = &mut self.pdus[place];
        sent.considered += u32::from(newly);
        if sent.considered > self.max_retx_threshold { Err(RadioLinkFailure) } else { Ok(()) }
    }

    /// Fills a TTI: PDUs that are missing, then new ones.
    pub fn build_tti(&mut self, now: Instant, room: u64, tti: &mut Tti) {
        let mut left = room;
        while let Some(octets) = self.send_again(now, left, tti) {
            left -= octets;
        }
        while self.missing.is_empty()
            && let Some(octets) = self.send_new(now, left, tti)
        {
            left -= octets;
        }
    }

    /// Sends a PDU or a segment again that fits; the octets it takes.
    fn send_again(&mut self, now: Instant, room: u64, tti: &mut Tti) -> Option<u64> {
        let first = self.missing.as_slice().first().copied()?;
        let place = self.pdus.partition_point(|sent| sent.octets.end <= first.first);
        let (sn, whole) = (self.vt_a + place as u64, self.pdus[place].octets);
        let wanted = SnRange::new(first.first, first.end.min(whole.end));
        let as_pdu = (wanted == whole).then(|| self.stream.cut_again(wanted, HEADER, room)).flatten();
        let (octets, header) = match as_pdu.filter(|octets| *octets == whole) {
            Some(octets) => (octets, HEADER),
            None => (self.stream.cut_again(wanted, SEGMENT_HEADER, room)?, SEGMENT_HEADER),
        };
        self.missing.remove(octets);
        let indicators = lte::put(tti, &self.stream, sn, octets, None);
        if header == SEGMENT_HEADER
            && let Some(pdu) = tti.lte.data.last_mut()
        {
            let so = (octets.first - whole.first) as u32;
            pdu.part = Some(Part { so, last: octets.end == whole.end });
            self.counts.segments += 1;
        }
        self.counts.again += 1;
        self.poll(now, tti);
        Some(header + indicators + octets.len())
    }

    /// Sends a new PDU; the octets it takes.
    fn send_new(&mut self, now: Instant, room: u64, tti: &mut Tti) -> Option<u64> {
        if self.is_stalled() {
            return None;
        }
        let octets = self.stream.cut(HEADER, room)?;
        let indicators = lte::put(tti, &self.stream, self.vt_s(), octets, Some(&mut self.begun_in));
        self.pdus.push_back(Sent { octets, acknowledged: false, considered: 0 });
        self.polling.count(octets.len());
        self.counts.new += 1;
        self.poll(now, tti);
        Some(HEADER + indicators + octets.len())
    }

    /// §5.2.2.1: has the PDU that was put into the TTI last poll, if it is to. VT(S) counts it.
    fn poll(&mut self, now: Instant, tti: &mut Tti) {
        let last = self.missing.is_empty() && self.stream.uncut() == 0;
        if !(last || self.is_stalled() || self.polling.is_due()) {
            return;
        }
        self.polling.poll(now, self.vt_s() - 1);
        self.counts.polls += 1;
        if let (Some(pdu), Some(run)) = (tti.lte.data.last_mut(), tti.data.runs.last_mut()) {
            (pdu.poll, run.poll) = (true, true);
        }
    }

    /// §5.2.1, §5.2.2.2: a STATUS PDU arrives. It is ignored if it refers to PDUs that were not sent.
    pub fn handle_status(&mut self, status: &Status, report: &mut Report) -> Result<(), RadioLinkFailure> {
        if !(self.vt_a..=self.vt_s()).contains(&status.ack_sn) {
            return Ok(());
        }
        self.polling.handle_status(status.ack_sn);
        let mut failure = Ok(());
        let mut nacks = &status.nacks[..];
        for sn in self.vt_a..status.ack_sn {
            let place = (sn - self.vt_a) as usize;
            let from = nacks.partition_point(|nack| nack.sn < sn);
            let to = nacks.partition_point(|nack| nack.sn <= sn);
            let of_pdu = &nacks[from..to];
            let octets = self.pdus[place].octets;
            if of_pdu.is_empty() {
                self.pdus[place].acknowledged = true;
                self.missing.remove(octets);
            } else if !self.pdus[place].acknowledged {
                let parts = of_pdu.iter().map(|nack| match nack.part {
                    None => octets,
                    Some((start, end)) => {
                        let at = |offset: u32| octets.end.min(octets.first + u64::from(offset));
                        SnRange::new(at(start), end.map_or(octets.end, at))
                    }
                });
                failure = failure.and(self.consider(place, parts.filter(|part| !part.is_empty())));
            }
            nacks = &nacks[to..];
        }
        while self.pdus.front().is_some_and(|pdu| pdu.acknowledged) {
            self.pdus.pop_front();
            self.vt_a += 1;
        }
        let confirmed = self.pdus.front().map_or(self.stream.cut_octets(), |pdu| pdu.octets.first);
        self.stream.confirm(confirmed, &mut report.confirmed);
        failure
    }

    /// §5.4: restarts with the first SDU that is not confirmed.
    pub fn re_establish(&mut self) {
        self.stream.restart();
        self.pdus.clear();
        self.missing = Ranges::default();
        self.polling.restart();
        (self.vt_a, self.begun_in) = (0, 0);
    }

    /// Index of the first SDU that has never started.
    pub(super) fn first_waiting(&self) -> u64 {
        self.stream.first_waiting()
    }
}
