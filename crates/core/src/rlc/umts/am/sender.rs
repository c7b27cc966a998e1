//! The transmitting side of an AM entity (TS 25.322 §9.4, §9.7.3, §11.3, §11.5.3).

use super::config::{Config, SduDiscard};
use super::discard::{Discard, Discarded, Exhausted};
use super::polling::{Polling, Submission};
use super::vt_dat::VtDat;
use crate::rlc::pdus::control::{Control, MrwAck, Status};
use crate::rlc::ranges::{Ranges, SnRange};
use crate::rlc::umts::segmentation::Segmentation;
use crate::rlc::{Report, SduEnd, Transmission};
use crate::time::Instant;
use airpath_prefetch::{prefetch, prefetch_ends};
use std::collections::VecDeque;
use std::fmt;

/// HFNI has 20 bits.
const HFNI_MODULUS: u64 = 1 << 20;
const SN_MODULUS: u64 = 1 << 12;
/// N_LENGTH has four bits.
const LARGEST_N_LENGTH: u64 = 15;

/// A STATUS PDU that names PDUs which cannot be meant: §10.1 has the sender reset the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erroneous {
    /// The sequence number that is out of place.
    pub sn: u64,
    /// VT(A): the lowest one that would be right.
    pub vt_a: u64,
    /// VT(S): the first one not sent yet.
    pub vt_s: u64,
}

impl fmt::Display for Erroneous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sn, vt_a, vt_s } = self;
        write!(f, "STATUS names PDU {sn}; unacknowledged are {vt_a} to below {vt_s}")
    }
}

impl std::error::Error for Erroneous {}

/// The transmitting side.
#[derive(Debug)]
pub struct Sender {
    config: Config,
    /// VT(S): the next new sequence number.
    vt_s: u64,
    /// VT(A): the one after the last acknowledged in sequence.
    vt_a: u64,
    /// VT(WS): size of the window.
    vt_ws: u64,
    vt_dat: VtDat,
    polling: Polling,
    segmentation: Segmentation,
    /// Ends of SDUs in PDUs that may be retransmitted.
    ends: VecDeque<SduEnd>,
    /// PDUs beyond VT(A) that are acknowledged.
    acknowledged: Ranges,
    /// The first SDU neither confirmed nor discarded.
    settled: u64,
    /// SDUs beyond that one that are confirmed.
    confirmed: Ranges,
    /// PDUs reported missing and not yet retransmitted.
    retransmissions: Ranges,
    /// PDUs below are not retransmitted: all their octets belong to discarded SDUs.
    discarded_below: u64,
    discard: Discard,
    /// With Timer_Discard, SDUs and when it ends for them.
    expiries: VecDeque<(u64, Instant)>,
    /// The link is to be reset.
    reset_due: bool,
    /// Hyper frame number of PDU 0.
    hfn: u64,
}

impl Sender {
    /// Starts to load the SDUs and the PDUs to be retransmitted.
    pub fn prefetch_inner(&self) {
        prefetch_ends(&self.ends);
        self.segmentation.prefetch_waiting();
        prefetch(self.acknowledged.as_slice());
        prefetch(self.retransmissions.as_slice());
    }

    /// An entity in its initial state at the start of the run.
    pub fn new(config: &Config) -> Self {
        Self {
            segmentation: Segmentation::new(config.payload(), config.li_octets(), config.special_he),
            polling: Polling::new(config),
            discard: Discard::new(config),
            vt_ws: u64::from(config.configured_tx_window_size),
            config: config.clone(),
            vt_s: 0,
            vt_a: 0,
            vt_dat: VtDat::default(),
            ends: VecDeque::new(),
            acknowledged: Ranges::default(),
            settled: 0,
            confirmed: Ranges::default(),
            retransmissions: Ranges::default(),
            discarded_below: 0,
            expiries: VecDeque::new(),
            reset_due: false,
            hfn: 0,
        }
    }

    /// VT(S), the next new sequence number.
    pub fn vt_s(&self) -> u64 {
        self.vt_s
    }

    /// VT(A), the sequence number after the last acknowledged in sequence.
    pub fn vt_a(&self) -> u64 {
        self.vt_a
    }

    /// VT(MS), the first sequence number that must not be sent.
    pub fn vt_ms(&self) -> u64 {
        self.vt_a + self.vt_ws
    }

    /// Number of SDUs not yet started.
    pub fn untransmitted(&self) -> usize {
        self.segmentation.waiting()
    }

    /// Index of the first SDU not yet started, or of the next to come.
    pub fn first_waiting(&self) -> u64 {
        self.segmentation.first_waiting()
    }

    /// The partly sent SDU, and the PDU with its first octet.
    pub fn begun(&self) -> Option<(u64, u64)> {
        self.segmentation.begun()
    }

    /// The hyper frame number of the last new PDU, or of PDU 0 if none was sent, modulo 2^20 (§11.4.1).
    pub fn hfni(&self) -> u32 {
        ((self.hfn + self.vt_s.saturating_sub(1) / SN_MODULUS) % HFNI_MODULUS) as u32
    }

    /// §11.4.3: the first PDU after a reset has the next hyper frame number.
    pub(super) fn advance_hfn(&mut self) {
        self.hfn += 1;
    }

    /// Whether the link is to be reset: `MaxDAT` or `MaxMRW` was reached.
    pub fn is_reset_due(&self) -> bool {
        self.reset_due
    }

    /// The PDU sent last for the first time, and the octets of it that a piggybacked STATUS PDU may take behind
    /// its length indicator; none if that is not configured.
    pub(super) fn padding(&self) -> Option<(u64, u64)> {
        let octets = self.segmentation.free().checked_sub(self.config.li_octets())?;
        self.config.piggybacked_status.then(|| (self.vt_s - 1, octets))
    }

    /// Takes an SDU of `octets`; its number, one after that of the SDU before.
    #[inline]
    pub fn handle_sdu(&mut self, now: Instant, octets: u32) -> u64 {
        self.handle_poll_timers(now);
        let sdu = self.segmentation.push(octets);
        if let Some(timer) = self.config.expiry() {
            self.expiries.push_back((sdu, now + timer));
        }
        sdu
    }

    /// Removes the SDU at `place` in the queue of unstarted SDUs; returns its index. If it was the last one, the PDU
    /// sent before has emptied the buffer after all, and triggers a poll.
    pub fn take_waiting(&mut self, place: usize) -> Option<u64> {
        let taken = self.segmentation.take_waiting(place);
        if taken.is_some() && self.config.last_pdu_poll && self.is_drained() {
            self.polling.trigger();
        }
        taken
    }

    /// When the sender needs a TTI next if nothing else happens: at once, when a timer ends, or never.
    #[inline]
    pub fn deadline(&self) -> Instant {
        let may_send_new = !self.segmentation.is_empty() && self.vt_s < self.vt_ms();
        if may_send_new || self.may_repeat() > 0 {
            return Instant::ZERO;
        }
        let expiry = self.expiries.front().map_or(Instant::NEVER, |(_, end)| *end);
        let polls = if self.is_unacknowledged() { self.polling.deadline() } else { Instant::NEVER };
        self.discard.deadline().min(expiry).min(polls)
    }

    /// Estimate of the PDUs that could be sent now: pending retransmissions plus new data, not counting
    /// timer-triggered polls.
    pub fn backlog(&self) -> u64 {
        let again = self.retransmissions.count().min(self.may_repeat());
        again + self.segmentation.pdus().min(self.vt_ms().saturating_sub(self.vt_s))
    }

    /// Whether at `now` there is neither an MRW to send nor anything to discard or to reset.
    pub fn is_quiet(&self, now: Instant) -> bool {
        let expires = self.expiries.front().is_some_and(|(_, end)| *end <= now);
        !self.reset_due && !expires && self.discard.deadline() > now
    }

    /// Lets the timers take effect that end at `now` or before.
    #[inline]
    pub fn handle_deadline(&mut self, now: Instant, report: &mut Report) {
        self.handle_poll_timers(now);
        if self.expiries.front().is_some_and(|(_, end)| *end <= now) {
            self.discard_expired(now, report);
        }
    }

    /// The STATUS PDU with the MRW that is to be sent at `now`. If MaxMRW is reached, the link is to be reset
    /// instead.
    pub fn build_mrw(&mut self, now: Instant) -> Option<Control> {
        match self.discard.build(now) {
            Ok(mrw) => mrw.map(|mrw| Control::Status(Status { mrw: Some(mrw), ..Status::default() })),
            Err(Exhausted) => {
                self.reset_due = true;
                None
            }
        }
    }

    /// Fills a TTI with room for `pdus` PDUs (§11.3.2): PDUs reported missing, new ones, and if there are
    /// none of either and a poll waits, the last one again.
    #[inline]
    pub fn build_tti(&mut self, now: Instant, pdus: u64, out: &mut Transmission, report: &mut Report) {
        out.clear();
        self.handle_deadline(now, report);
        let mut room = pdus;
        while let most @ 1.. = room.min(self.may_repeat())
            && let Some(sns) = self.retransmissions.pop_first(most)
        {
            room -= sns.len();
            let last = self.config.last_retransmission_poll && self.may_repeat() == 0;
            self.repeat(now, sns, last, out);
        }
        let new = room.min(self.vt_ms().saturating_sub(self.vt_s));
        if new > 0 && !self.segmentation.is_empty() {
            self.send_new(now, new, out);
        }
        let idle = out.runs.is_empty() && self.is_unacknowledged();
        if idle && room > 0 && self.polling.is_due(now) {
            let sns = SnRange::new(self.vt_s - 1, self.vt_s);
            if !self.schedule_again(sns, report) {
                self.repeat(now, sns, false, out);
            }
        }
    }

    /// Processes a STATUS PDU; an erroneous one changes nothing.
    pub fn handle_status(
        &mut self,
        now: Instant,
        status: &Status,
        report: &mut Report,
    ) -> Result<(), Erroneous> {
        self.check(status)?;
        // Timers that end at this very instant may still be stopped.
        self.handle_poll_timers(Instant::from_nanos(now.as_nanos().saturating_sub(1)));
        let lsn = status.lsn.unwrap_or(self.vt_a);
        let again = self.newly_missing(&status.missing);
        self.retransmissions.remove(SnRange::new(self.vt_a, lsn));
        for &range in status.missing.as_slice() {
            self.retransmissions.insert(range);
        }
        self.retransmissions.remove(SnRange::new(0, self.discarded_below));
        let in_sequence = status.missing.first().map_or(lsn, |sn| sn.min(lsn));
        self.acknowledge(in_sequence);
        if in_sequence < lsn {
            self.acknowledge_beyond(&status.missing, lsn);
        }
        if let Some(wsn) = status.window.filter(|&wsn| wsn > 0) {
            self.set_window(wsn);
        }
        self.polling.handle_status(self.vt_a, &status.missing);
        self.confirm(report);
        let reached = again.as_slice().iter().filter_map(|&sns| self.count(sns)).max();
        if let Some(sn) = reached {
            self.max_dat_reached(sn, report);
        }
        if let Some(ack) = status.mrw_ack {
            self.handle_mrw_ack(ack, report);
        }
        while self.discard.is_acknowledged_by(self.vt_a) {
            self.discard.end(self.vt_a);
        }
        if !self.is_unacknowledged() {
            // ASSUMED: a waiting poll is dropped, as nothing is outstanding.
            self.polling.forget();
        }
        Ok(())
    }

    /// §11.4: gives up all SDUs that have started; the others wait for PDU 0.
    pub fn reset(&mut self, report: &mut Report) {
        let sdus = self.ends.iter().map(|end| end.sdu);
        report.discarded.extend(sdus.filter(|&sdu| !self.is_settled(sdu)));
        report.discarded.extend(self.segmentation.begun().map(|(sdu, _)| sdu));
        self.segmentation.discard_begun();
        self.settled = self.first_waiting();
        (self.acknowledged, self.confirmed) = (Ranges::default(), Ranges::default());
        self.ends.clear();
        self.hfn = u64::from(self.hfni());
        (self.vt_s, self.vt_a, self.discarded_below) = (0, 0, 0);
        self.vt_ws = u64::from(self.config.configured_tx_window_size);
        self.vt_dat.clear();
        self.retransmissions = Ranges::default();
        self.polling.reset(self.vt_ws);
        self.discard.reset();
        self.reset_due = false;
        report.began_anew = true;
    }

    /// How many PDUs from the first one that waits for its retransmission on the window allows (§11.3.2.2).
    fn may_repeat(&self) -> u64 {
        self.retransmissions.first().map_or(0, |first| self.vt_ms().saturating_sub(first))
    }

    /// Whether PDUs to be acknowledged are in flight, other than PDUs of discarded SDUs.
    fn is_unacknowledged(&self) -> bool {
        let from = self.vt_a.max(self.discarded_below);
        let sent_last = self.acknowledged.end() == Some(self.vt_s);
        self.vt_s > from && !(sent_last && self.acknowledged.covers(SnRange::new(from, self.vt_s)))
    }

    /// Whether the buffer is empty and PDUs are unacknowledged.
    fn is_drained(&self) -> bool {
        self.segmentation.is_empty() && self.is_unacknowledged()
    }

    #[inline]
    fn handle_poll_timers(&mut self, now: Instant) {
        if self.polling.next_timer() <= now {
            self.end_poll_timers(now);
        }
    }

    #[inline(never)]
    fn end_poll_timers(&mut self, now: Instant) {
        let anything = self.is_unacknowledged() || !self.segmentation.is_empty();
        self.polling.handle_deadline(now, anything);
    }

    /// §11.6.6.3: an unexpected response is ignored.
    fn handle_mrw_ack(&mut self, ack: MrwAck, report: &mut Report) {
        if (self.vt_a..=self.vt_s).contains(&ack.sn_ack) && self.discard.is_ended_by(ack) {
            self.acknowledge(ack.sn_ack);
            self.retransmissions.remove(SnRange::new(0, self.vt_a));
            self.confirm(report);
            self.discard.end(self.vt_a);
        }
    }

    /// §9.2.2.11.3: the window never has more than its configured size. ASSUMED: if it shrinks below the PDUs in
    /// flight, a poll is triggered, as the PDUs that would have polled are not sent.
    fn set_window(&mut self, wsn: u32) {
        self.vt_ws = u64::from(wsn.min(self.config.configured_tx_window_size));
        self.polling.set_window(self.vt_ws);
        let polls = self.config.last_pdu_poll || self.config.poll_window.is_some();
        if polls && self.vt_s >= self.vt_ms() && self.is_unacknowledged() {
            self.polling.trigger();
        }
    }

    fn check(&self, status: &Status) -> Result<(), Erroneous> {
        let Self { vt_a, vt_s, .. } = *self;
        let lsn = status.lsn.unwrap_or(vt_a);
        let lowest = status.missing.first().unwrap_or(lsn).min(lsn);
        let highest = status.missing.end().map_or(lsn, |end| lsn.max(end));
        let wrong = [lowest, highest].into_iter().find(|sn| !(vt_a..=vt_s).contains(sn));
        wrong.map_or(Ok(()), |sn| Err(Erroneous { sn, vt_a, vt_s }))
    }

    /// Part of `missing` that is not yet scheduled for retransmission.
    fn newly_missing(&self, missing: &Ranges) -> Ranges {
        if self.config.max_dat.is_none() {
            return Ranges::default();
        }
        let mut new = missing.clone();
        for &held in self.retransmissions.as_slice() {
            new.remove(held);
        }
        new.remove(SnRange::new(0, self.discarded_below));
        new
    }

    /// Counts PDUs scheduled again. Returns the last one whose VT(DAT) has reached MaxDAT.
    fn count(&mut self, sns: SnRange) -> Option<u64> {
        self.config.max_dat.and_then(|max| self.vt_dat.count(sns, max))
    }

    /// Counts another transmission of the PDU that only carries a poll; returns whether it has reached MaxDAT and must
    /// not be sent.
    fn schedule_again(&mut self, sns: SnRange, report: &mut Report) -> bool {
        let reached = self.count(sns);
        if let Some(sn) = reached {
            self.max_dat_reached(sn, report);
        }
        reached.is_some()
    }

    /// §11.3.3a: MaxDAT is reached by PDU `sn`.
    fn max_dat_reached(&mut self, sn: u64, report: &mut Report) {
        match self.config.sdu_discard {
            SduDiscard::NoDiscard => self.reset_due = true,
            SduDiscard::MaxDat | SduDiscard::Timer => self.discard_sdus(|_, first| first <= sn, report),
        }
    }

    /// §9.7.3.1, §9.7.3.2: discards SDUs whose Timer_Discard has expired; only SDUs that have started are signalled.
    #[inline(never)]
    fn discard_expired(&mut self, now: Instant, report: &mut Report) {
        let mut through = None;
        while let Some(&(sdu, _)) = self.expiries.front().filter(|(_, end)| *end <= now) {
            self.expiries.pop_front();
            if sdu >= self.first_waiting() {
                report.unsent.extend(self.take_waiting(0));
            } else if !self.is_settled(sdu) {
                through = Some(sdu);
            }
        }
        if let Some(through) = through {
            self.discard_sdus(|sdu, _| sdu <= through, report);
        }
    }

    /// §11.6.2: gives up started SDUs, as long as `gone` returns true for the index and the PDU with the first octet.
    fn discard_sdus(&mut self, gone: impl Fn(u64, u64) -> bool, report: &mut Report) {
        let from = self.ends.partition_point(|end| end.sdu < self.settled);
        let ends = self.ends.range(from..).copied();
        let mut told: Vec<Discarded> = ends
            .take_while(|end| gone(end.sdu, end.first))
            .map(|end| self.discarded(end.sdu, end.sn))
            // ASSUMED: an SDU whose end N_LENGTH cannot tell stays.
            .take_while(|told| told.n <= LARGEST_N_LENGTH)
            .collect();
        let all = from + told.len() == self.ends.len();
        told.retain(|told| !self.is_settled(told.sdu));
        if let Some((sdu, _)) = self.segmentation.begun().filter(|&(sdu, first)| all && gone(sdu, first)) {
            self.segmentation.discard_begun();
            // The PDU with its end is passed over, so that nothing joins its octets to those of the next SDU.
            told.push(Discarded { sdu, end: self.vt_s, sn: self.vt_s + 1, n: 0 });
            self.vt_s += 1;
        }
        let Some(last) = told.last() else { return };
        self.settled = last.sdu + 1;
        self.discarded_below = last.sn;
        self.retransmissions.remove(SnRange::new(0, last.sn));
        self.vt_dat.forget_below(last.sn);
        report.discarded.extend(told.iter().map(|told| told.sdu));
        self.discard.start(told, self.vt_a);
    }

    /// Signalling for a discarded SDU that ends in PDU `sn` (§11.6.2.2).
    fn discarded(&self, sdu: u64, sn: u64) -> Discarded {
        let from = self.ends.partition_point(|end| end.sn < sn);
        let after = self.ends.partition_point(|end| end.sdu <= sdu);
        let begins = |first: u64| first == sn;
        let followed = self.ends.get(after).is_some_and(|end| begins(end.first))
            || self.segmentation.begun().is_some_and(|(_, first)| begins(first));
        match followed {
            true => Discarded { sdu, end: sn, sn, n: (after - from) as u64 },
            false => Discarded { sdu, end: sn, sn: sn + 1, n: 0 },
        }
    }

    fn acknowledge(&mut self, sn: u64) {
        self.vt_a = self.vt_a.max(sn);
        self.vt_dat.forget_below(self.vt_a);
        self.acknowledged.remove(SnRange::new(0, self.vt_a));
    }

    /// PDUs from VT(A) to below `lsn` are acknowledged that are not `missing` (§9.2.2.11.2).
    fn acknowledge_beyond(&mut self, missing: &Ranges, lsn: u64) {
        let mut from = self.vt_a;
        for gap in missing.as_slice().iter().take_while(|gap| gap.first < lsn) {
            self.acknowledged.insert(SnRange::new(from, gap.first));
            from = gap.end;
        }
        self.acknowledged.insert(SnRange::new(from, lsn));
    }

    /// Whether a started SDU is confirmed or discarded.
    fn is_settled(&self, sdu: u64) -> bool {
        sdu < self.settled || self.confirmed.contains(sdu)
    }

    /// Confirms SDUs whose PDUs are all acknowledged. Ends are kept as long as the PDU that carries them may be
    /// retransmitted.
    fn confirm(&mut self, report: &mut Report) {
        // SDUs confirmed before, when their PDUs lay beyond VT(A).
        let mut beyond = self.confirmed.as_slice().iter().peekable();
        while let Some(&SduEnd { sdu, .. }) = self.ends.front().filter(|end| end.sn < self.vt_a) {
            self.ends.pop_front();
            if sdu >= self.settled {
                while beyond.next_if(|sdus| sdus.end <= sdu).is_some() {}
                if beyond.peek().is_none_or(|sdus| sdu < sdus.first) {
                    report.confirmed.push(sdu);
                }
                self.settled = sdu + 1;
            }
        }
        if !self.acknowledged.is_empty() {
            self.confirm_beyond(report);
        }
        while self.expiries.front().is_some_and(|(sdu, _)| self.is_settled(*sdu)) {
            self.expiries.pop_front();
        }
    }

    /// Confirms SDUs whose ends lie beyond VT(A).
    fn confirm_beyond(&mut self, report: &mut Report) {
        self.confirmed.remove(SnRange::new(0, self.settled));
        for pdus in self.acknowledged.as_slice() {
            let from = self.ends.partition_point(|end| end.first.max(self.vt_a) < pdus.first);
            for end in self.ends.range(from..).take_while(|end| end.sn < pdus.end) {
                let sdu = end.sdu;
                if !self.is_settled(sdu) {
                    self.confirmed.insert(SnRange::new(sdu, sdu + 1));
                    report.confirmed.push(sdu);
                }
            }
        }
    }

    #[inline]
    fn send_new(&mut self, now: Instant, pdus: u64, out: &mut Transmission) {
        let first = self.vt_s;
        let (polling, ends) = (&mut self.polling, &mut self.ends);
        let end = self.segmentation.fill(first, pdus, false, |span| {
            // ASSUMED: if the last segment went before its indicator in another TTI, this one polls.
            polling.count_sdu(span.last.max(first));
            out.ends.push(span.end);
            ends.push_back(span.end);
        });
        let last = self.segmentation.is_empty() || end == self.vt_ms();
        self.submit(now, SnRange::new(first, end), true, last && self.config.last_pdu_poll, out);
        self.vt_s = end;
    }

    #[inline(never)]
    fn repeat(&mut self, now: Instant, sns: SnRange, last: bool, out: &mut Transmission) {
        let from = self.ends.partition_point(|end| end.sn < sns.first);
        let ends = self.ends.range(from..).copied();
        out.ends.extend(ends.take_while(|end| end.sn < sns.end));
        self.submit(now, sns, false, last, out);
    }

    #[inline(always)]
    fn submit(&mut self, now: Instant, sns: SnRange, new: bool, last: bool, out: &mut Transmission) {
        let Self { vt_s, vt_a, .. } = *self;
        self.polling.submit(now, Submission { sns, new, last, vt_s, vt_a }, out);
    }
}
