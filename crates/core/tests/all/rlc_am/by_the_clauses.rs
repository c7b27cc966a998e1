//! The entities beside one that is written from the clauses of TS 25.322 PDU by PDU: under random traffic, losses and
//! parameters both send the same PDUs with the same polls and STATUS, hand up and confirm the same SDUs, and have the
//! same state variables.
//!
//! SDUs are discarded and links reset on both sides, too. How SDUs are cut, and how much of a long report fits a STATUS
//! PDU, is taken from the entities. Left out: the unrecoverable error, windows that are set, piggybacked STATUS, and
//! Poll_SDU: which PDU has the last segment of an SDU is not told where its indicator follows in the next one.

use super::link::ms;
use airpath_core::rlc::am::{Config, Delivery, Entity, SduDiscard};
use airpath_core::rlc::control::{Control, Mrw, MrwAck, Reset, Status};
use airpath_core::rlc::entities::{Receive, Transmit};
use airpath_core::rlc::{Report, SduEnd, Tti};
use airpath_core::time::{Duration, Instant};
use airpath_core::units::Bytes;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// From the start of a TTI to its arrival, ms.
const DELAY: u64 = 25;

/// When a timer that starts now ends.
fn ends(now: Instant, timer: Option<Duration>) -> Instant {
    timer.map_or(Instant::NEVER, |timer| now + timer)
}

/// What is known of how the entity has cut SDUs.
#[derive(Clone, Copy)]
struct Cut {
    /// The first SDU of which nothing was sent.
    first_waiting: u64,
    /// The one of which a part was sent, and the PDU with its first octet.
    begun: Option<(u64, u64)>,
}

/// What becomes of SDUs without being confirmed.
#[derive(Default)]
struct GivenUp {
    discarded: BTreeSet<u64>,
    unsent: BTreeSet<u64>,
}

/// A discarded SDU that the receiver is to be told of: the PDU with its end, and if it is the last one of an MRW SN_MRW
/// and N_LENGTH (§11.6.2.2).
#[derive(Clone, Copy)]
struct Told {
    sdu: u64,
    end: u64,
    sn: u64,
    n: u64,
}

/// The discard procedure that is under way (§11.6).
struct Moving {
    mrw: Mrw,
    /// VT(MRW), and when Timer_MRW ends once it was sent.
    vt_mrw: u32,
    timer: Option<Instant>,
}

/// The sending side.
struct Sender {
    c: Config,
    /// When Timer_Discard ends for SDUs.
    expiries: Vec<Instant>,
    given_up: GivenUp,
    /// No PDU below is sent again: all its octets are of discarded SDUs.
    discarded_below: u64,
    /// VT(DAT) of PDUs scheduled again.
    vt_dat: BTreeMap<u64, u32>,
    to_tell: VecDeque<Told>,
    moving: Option<Moving>,
    reset_due: bool,
    hfn: u32,
    vt_s: u64,
    vt_a: u64,
    acknowledged: BTreeSet<u64>,
    /// Reported missing, to be sent again.
    again: BTreeSet<u64>,
    /// Of each SDU its end, once that was sent.
    sdus: Vec<Option<SduEnd>>,
    confirmed: BTreeSet<u64>,
    poll_waits: bool,
    vt_pdu: u32,
    /// Timer_Poll, and VT(S) when it started.
    timer_poll: Option<(Instant, u64)>,
    prohibited: Instant,
    periodic: Instant,
}

impl Sender {
    fn new(c: &Config) -> Self {
        Self {
            expiries: Vec::new(),
            given_up: GivenUp::default(),
            discarded_below: 0,
            vt_dat: BTreeMap::new(),
            to_tell: VecDeque::new(),
            moving: None,
            reset_due: false,
            hfn: 0,
            vt_s: 0,
            vt_a: 0,
            acknowledged: BTreeSet::new(),
            again: BTreeSet::new(),
            sdus: Vec::new(),
            confirmed: BTreeSet::new(),
            poll_waits: false,
            vt_pdu: 0,
            timer_poll: None,
            prohibited: Instant::ZERO,
            periodic: ends(Instant::ZERO, c.timer_poll_periodic),
            c: c.clone(),
        }
    }

    fn vt_ms(&self) -> u64 {
        self.vt_a + u64::from(self.c.configured_tx_window_size)
    }

    /// Nothing is left to be sent for the first time.
    fn is_empty(&self) -> bool {
        (0..self.sdus.len()).all(|sdu| self.sdus[sdu].is_some() || self.is_settled(sdu as u64))
    }

    fn is_given_up(&self, sdu: u64) -> bool {
        self.given_up.discarded.contains(&sdu) || self.given_up.unsent.contains(&sdu)
    }

    /// The first SDU of which nothing was sent, or the next to come.
    fn first_waiting(&self, cut: Cut) -> u64 {
        (cut.first_waiting..).find(|sdu| !self.given_up.unsent.contains(sdu)).unwrap()
    }

    fn is_settled(&self, sdu: u64) -> bool {
        self.confirmed.contains(&sdu) || self.is_given_up(sdu)
    }

    fn is_acknowledged(&self, sn: u64) -> bool {
        sn < self.vt_a || self.acknowledged.contains(&sn)
    }

    fn is_unacknowledged(&self) -> bool {
        (self.vt_a.max(self.discarded_below)..self.vt_s).any(|sn| !self.is_acknowledged(sn))
    }

    fn handle_sdu(&mut self, now: Instant) {
        self.handle_timers(now);
        self.sdus.push(None);
        let timer = self.c.timer_discard.filter(|_| self.c.sdu_discard == SduDiscard::Timer);
        self.expiries.push(ends(now, timer));
    }

    /// §9.7.3: SDUs whose Timer_Discard has ended.
    fn discard_expired(&mut self, now: Instant, cut: Cut) {
        let mut through = None;
        for sdu in (0..self.expiries.len()).filter(|sdu| self.expiries[*sdu] <= now).map(|sdu| sdu as u64) {
            if self.is_settled(sdu) {
                continue;
            }
            if sdu < cut.first_waiting {
                through = Some(sdu);
                continue;
            }
            self.given_up.unsent.insert(sdu);
            // The PDU sent before turns out to have emptied the buffer.
            self.poll_waits |= self.c.last_pdu_poll && self.is_empty() && self.is_unacknowledged();
        }
        if let Some(through) = through {
            self.discard(cut, |sdu, _| sdu <= through);
        }
    }

    /// §11.6.2: SDUs of which octets were sent, as long as `gone` says so of them and of the PDU they begin in.
    fn discard(&mut self, cut: Cut, gone: impl Fn(u64, u64) -> bool) {
        let mut told = Vec::new();
        for sdu in 0..cut.first_waiting {
            if self.is_settled(sdu) {
                continue;
            }
            if let Some(end) = self.sdus[sdu as usize] {
                if !gone(sdu, end.first) {
                    break;
                }
                told.push(self.told(sdu, end.sn, cut));
            } else if cut.begun.is_some_and(|(begun, first)| begun == sdu && gone(sdu, first)) {
                // The PDU with its end is passed over.
                told.push(Told { sdu, end: self.vt_s, sn: self.vt_s + 1, n: 0 });
                self.vt_s += 1;
            } else {
                break;
            }
        }
        let Some(last) = told.last() else { return };
        self.discarded_below = last.sn;
        self.again.retain(|sn| *sn >= last.sn);
        self.given_up.discarded.extend(told.iter().map(|one| one.sdu));
        self.to_tell.extend(told);
        self.begin_move();
    }

    /// §11.6.2.2: whether the PDU with the end has octets of the SDU behind it.
    fn told(&self, sdu: u64, end: u64, cut: Cut) -> Told {
        let begins_here = |other: &SduEnd| other.sdu > sdu && other.first == end;
        let is_followed = self.sdus.iter().flatten().any(begins_here)
            || cut.begun.is_some_and(|(begun, first)| begun > sdu && first == end);
        if !is_followed {
            return Told { sdu, end, sn: end + 1, n: 0 };
        }
        let n = self.sdus.iter().flatten().filter(|other| other.sn == end && other.sdu <= sdu).count();
        Told { sdu, end, sn: end, n: n as u64 }
    }

    /// The next MRW, if there is something to tell and none is under way.
    fn begin_move(&mut self) {
        if self.moving.is_some() || self.to_tell.is_empty() {
            return;
        }
        let end = self.vt_a + u64::from(self.c.configured_tx_window_size);
        let mut count = self.to_tell.len();
        if self.c.send_mrw {
            let within = self.to_tell.iter().take_while(|one| one.sn < end).count();
            count = within.min(self.c.mrw_fields().min(15) as usize).max(1);
        }
        let told: Vec<Told> = self.to_tell.drain(..count).collect();
        let last = told[count - 1];
        let named = &told[..if self.c.send_mrw { count - 1 } else { 0 }];
        let sn_mrw = named.iter().map(|one| one.end).chain([last.sn]).collect();
        let mrw = Mrw { sn_mrw, n_length: last.n, beyond_window: last.sn >= end, next_sdu: last.sdu + 1 };
        self.moving = Some(Moving { mrw, vt_mrw: 0, timer: None });
    }

    /// The MRW to send (§11.6.2, §11.6.5); a reset if there were MaxMRW.
    fn mrw(&mut self, now: Instant) -> Option<Mrw> {
        let moving = self.moving.as_mut().filter(|moving| moving.timer.is_none_or(|end| end <= now))?;
        moving.vt_mrw += u32::from(moving.timer.is_some());
        if moving.vt_mrw >= self.c.max_mrw {
            self.reset_due = true;
            return None;
        }
        moving.timer = Some(now + self.c.timer_mrw);
        Some(moving.mrw.clone())
    }

    fn end_move(&mut self) {
        self.moving = None;
        self.begin_move();
    }

    /// §11.3.3a: PDUs are scheduled once more; what follows if one of them has been so MaxDAT times.
    fn count(&mut self, sns: &BTreeSet<u64>, cut: Cut) -> bool {
        let Some(max) = self.c.max_dat else { return false };
        let mut reached = None;
        for sn in sns {
            let count = self.vt_dat.entry(*sn).or_insert(1);
            *count += 1;
            if *count >= max {
                reached = Some(*sn);
            }
        }
        let Some(sn) = reached else { return false };
        match self.c.sdu_discard {
            SduDiscard::NoDiscard => self.reset_due = true,
            SduDiscard::MaxDat | SduDiscard::Timer => self.discard(cut, |_, first| first <= sn),
        }
        true
    }

    /// Of the last new PDU (§11.4.1).
    fn hfni(&self) -> u32 {
        self.hfn + (self.vt_s.saturating_sub(1) / 4096) as u32
    }

    /// §11.4: all is given up of which octets were sent.
    fn reset(&mut self, cut: Cut) {
        let gone: Vec<u64> = (0..cut.first_waiting).filter(|sdu| !self.is_settled(*sdu)).collect();
        self.given_up.discarded.extend(gone);
        self.sdus[..cut.first_waiting as usize].fill(None);
        self.hfn = self.hfni();
        (self.vt_s, self.vt_a, self.discarded_below, self.vt_pdu) = (0, 0, 0, 0);
        self.acknowledged.clear();
        self.again.clear();
        self.vt_dat.clear();
        self.to_tell.clear();
        (self.moving, self.timer_poll) = (None, None);
        (self.poll_waits, self.reset_due) = (false, false);
        self.prohibited = Instant::ZERO;
    }

    /// §9.5 a, c.
    fn handle_timers(&mut self, now: Instant) {
        if self.timer_poll.is_some_and(|(end, _)| end <= now) {
            self.timer_poll = None;
            self.poll_waits = true;
        }
        while self.periodic <= now {
            self.periodic = ends(self.periodic, self.c.timer_poll_periodic);
            self.poll_waits |= self.is_unacknowledged() || !self.is_empty();
        }
    }

    /// Whether a PDU polls that goes now, perhaps as the `last` of a buffer (§9.7.1).
    fn polls(&mut self, now: Instant, sn: u64, last: bool) -> bool {
        let is_new = sn == self.vt_s;
        let mut wanted = std::mem::take(&mut self.poll_waits) || last;
        self.vt_pdu += 1;
        if self.c.poll_pdu == Some(self.vt_pdu) {
            (wanted, self.vt_pdu) = (true, 0);
        }
        // Poll_Window: J = (VT(S) + 1 - VT(A)) / VT(WS), VT(S) before the PDU is submitted.
        let (in_use, window) = (self.vt_s + 1 - self.vt_a, u64::from(self.c.configured_tx_window_size));
        wanted |= self.c.poll_window.is_some_and(|percent| in_use * 100 >= u64::from(percent) * window);
        if !wanted || self.prohibited > now {
            self.poll_waits = wanted;
            return false;
        }
        self.prohibited = self.c.timer_poll_prohibit.map_or(Instant::ZERO, |prohibit| now + prohibit);
        let x = self.vt_s + u64::from(is_new);
        self.timer_poll = self.c.timer_poll.map(|timer| (now + timer, x));
        true
    }

    /// The PDUs of a TTI with their P bits; `new` of them are new, and mark these ends (§11.3.2).
    fn send(&mut self, now: Instant, room: u64, new: u64, marked: &[SduEnd], cut: Cut) -> Vec<(u64, bool)> {
        let mut sent = Vec::new();
        while (sent.len() as u64) < room
            && let Some(sn) = self.again.first().copied().filter(|sn| *sn < self.vt_ms())
        {
            self.again.pop_first();
            let last = self.c.last_retransmission_poll
                && self.again.first().is_none_or(|next| *next >= self.vt_ms());
            sent.push((sn, self.polls(now, sn, last)));
        }
        // As many as can be.
        let first = self.vt_s;
        assert!(new == 0 || sent.len() as u64 + new <= room && first + new <= self.vt_ms());
        for end in marked.iter().filter(|end| end.sn >= first) {
            self.sdus[end.sdu as usize] = Some(*end);
        }
        assert!(self.is_empty() || sent.len() as u64 + new == room || first + new >= self.vt_ms());
        for sn in first..first + new {
            let last = sn + 1 == first + new && (self.is_empty() || sn + 1 == self.vt_ms());
            sent.push((sn, self.polls(now, sn, last && self.c.last_pdu_poll)));
            self.vt_s += 1;
        }
        let is_due = self.poll_waits && self.prohibited <= now;
        if sent.is_empty() && room > 0 && is_due && self.is_unacknowledged() {
            let sn = self.vt_s - 1;
            if !self.count(&BTreeSet::from([sn]), cut) {
                sent.push((sn, self.polls(now, sn, false)));
            }
        }
        sent
    }

    /// §9.2.2.11.2, §11.5.3.
    fn handle_status(&mut self, now: Instant, status: &Status, cut: Cut) {
        self.handle_timers(Instant::from_nanos(now.as_nanos() - 1));
        let lsn = status.lsn.unwrap_or(self.vt_a);
        let missing: BTreeSet<u64> = sns(status).collect();
        let is_wanted = |sn: &u64| *sn >= self.discarded_below;
        let newly: BTreeSet<u64> = missing.difference(&self.again).copied().filter(is_wanted).collect();
        for sn in (self.vt_a..lsn).filter(|sn| !missing.contains(sn)) {
            self.acknowledged.insert(sn);
            self.again.remove(&sn);
        }
        self.again.extend(&newly);
        while self.acknowledged.contains(&self.vt_a) && missing.first().is_none_or(|first| *first > self.vt_a)
        {
            self.vt_a += 1;
        }
        if self.timer_poll.is_some_and(|(_, x)| self.vt_a >= x || missing.contains(&(x - 1))) {
            self.timer_poll = None;
        }
        self.confirm();
        self.count(&newly, cut);
        if let Some(ack) = status.mrw_ack {
            self.handle_mrw_ack(ack);
        }
        while self.moving.as_ref().is_some_and(|moving| self.vt_a >= moving.mrw.last()) {
            self.end_move();
        }
        self.poll_waits &= self.is_unacknowledged();
    }

    /// §11.6.4.
    fn handle_mrw_ack(&mut self, ack: MrwAck) {
        let Some(Moving { mrw, .. }) = &self.moving else { return };
        let has_moved = ack.sn_ack > mrw.last() && ack.n == 0;
        let is_answer = has_moved || (ack.sn_ack == mrw.last() && ack.n == mrw.n_length);
        if is_answer && (self.vt_a..=self.vt_s).contains(&ack.sn_ack) {
            self.vt_a = ack.sn_ack;
            self.again.retain(|sn| *sn >= ack.sn_ack);
            self.confirm();
            self.end_move();
        }
    }

    /// SDUs whose PDUs are all acknowledged.
    fn confirm(&mut self) {
        let is_whole = |end: &&SduEnd| (end.first..=end.sn).all(|sn| self.is_acknowledged(sn));
        let whole = self.sdus.iter().flatten().filter(is_whole).map(|end| end.sdu);
        let new: Vec<u64> = whole.filter(|sdu| !self.is_settled(*sdu)).collect();
        self.confirmed.extend(new);
    }
}

/// The receiving side.
struct Receiver {
    c: Config,
    received: BTreeSet<u64>,
    vr_r: u64,
    vr_h: u64,
    /// Ends in PDUs that were received.
    ends: BTreeMap<u64, SduEnd>,
    up: BTreeSet<u64>,
    /// SDUs of which nothing comes any more.
    lost: BTreeSet<u64>,
    /// SDUs below are handed up, or lost, or were never sent.
    settled: u64,
    mrw_ack: Option<MrwAck>,
    report_due: bool,
    prohibited: Instant,
    periodic: Instant,
}

impl Receiver {
    fn new(c: &Config) -> Self {
        Self {
            received: BTreeSet::new(),
            vr_r: 0,
            vr_h: 0,
            ends: BTreeMap::new(),
            up: BTreeSet::new(),
            lost: BTreeSet::new(),
            settled: 0,
            mrw_ack: None,
            report_due: false,
            prohibited: Instant::ZERO,
            periodic: ends(Instant::ZERO, c.timer_status_periodic),
            c: c.clone(),
        }
    }

    /// §11.3.3, §11.5.2.2.
    fn receive(&mut self, tti: &Tti) {
        for (sn, poll) in pdus(tti) {
            self.report_due |= poll;
            if !(self.vr_r..self.vr_r + u64::from(self.c.configured_rx_window_size)).contains(&sn) {
                continue;
            }
            self.report_due |= self.c.missing_pdu_indicator && sn > self.vr_h;
            if self.received.insert(sn) {
                let here = tti.data.ends.iter().filter(|end| end.sn == sn && end.sdu >= self.settled);
                self.ends.extend(here.map(|end| (end.sdu, *end)));
            }
            self.vr_h = self.vr_h.max(sn + 1);
            self.advance();
        }
        self.hand_up();
    }

    fn is_missing(&self, sn: u64) -> bool {
        sn >= self.vr_r && !self.received.contains(&sn)
    }

    fn advance(&mut self) {
        while self.vr_r < self.vr_h && !self.is_missing(self.vr_r) {
            self.vr_r += 1;
        }
    }

    fn hand_up(&mut self) {
        let is_to_go_up = |end: &&SduEnd| {
            let is_in_order = end.sn < self.vr_r;
            is_in_order || self.c.delivery == Delivery::OutOfSequence && self.is_complete(end)
        };
        let new: Vec<u64> = self.ends.values().filter(is_to_go_up).map(|end| end.sdu).collect();
        self.up.extend(new);
        while let Some(first) = self.ends.first_entry().filter(|first| first.get().sn < self.vr_r) {
            self.settled = first.key() + 1;
            first.remove();
        }
    }

    fn is_complete(&self, end: &SduEnd) -> bool {
        // What is before its first octet says that it is the first: an end in the same PDU, or the PDU before.
        let before = self.ends.range(..end.sdu).next_back();
        let is_told = before.is_some_and(|(_, before)| before.sn == end.first);
        let from = if is_told { end.first } else { end.first.saturating_sub(1) };
        !(from..=end.sn).any(|sn| self.is_missing(sn))
    }

    /// Nothing more comes of SDUs below `next_sdu`; those that are complete go up if so `delivered`.
    fn give_up(&mut self, next_sdu: u64, delivered: bool) {
        for sdu in self.settled..next_sdu {
            let is_complete = self.ends.get(&sdu).is_some_and(|end| delivered && self.is_complete(end));
            if !self.up.contains(&sdu) {
                if is_complete {
                    self.up.insert(sdu)
                } else {
                    self.lost.insert(sdu)
                };
            }
        }
        self.ends = self.ends.split_off(&next_sdu);
        self.settled = self.settled.max(next_sdu);
    }

    /// §11.6.3.
    fn handle_mrw(&mut self, mrw: &Mrw) {
        let sn = mrw.last();
        self.give_up(mrw.next_sdu, true);
        self.vr_r = self.vr_r.max(sn);
        self.vr_h = self.vr_h.max(sn);
        self.advance();
        self.hand_up();
        let n = if self.vr_r == sn { mrw.n_length } else { 0 };
        self.mrw_ack = Some(MrwAck { n, sn_ack: self.vr_r });
    }

    /// §11.4.3.
    fn reset(&mut self, next_sdu: u64) {
        self.give_up(next_sdu, false);
        self.ends.clear();
        self.received.clear();
        (self.vr_r, self.vr_h) = (0, 0);
        (self.report_due, self.mrw_ack) = (false, None);
        self.prohibited = Instant::ZERO;
    }

    /// Whether a report goes in a TTI with room for it.
    fn reports(&mut self, now: Instant, has_room: bool) -> bool {
        while self.periodic <= now {
            self.periodic = ends(self.periodic, self.c.timer_status_periodic);
            self.report_due = true;
        }
        if !self.report_due || !has_room || self.prohibited > now {
            return false;
        }
        self.report_due = false;
        self.prohibited = self.c.timer_status_prohibit.map_or(self.prohibited, |timer| now + timer);
        true
    }

    /// What reports tell (§9.2.2.11.2): all that is missing, or, as far as there is no room, the first of it. None
    /// acknowledges what is missing.
    fn check(&self, told: &[&Status], room: u64) {
        let missing: Vec<u64> = (self.vr_r..self.vr_h).filter(|sn| !self.received.contains(sn)).collect();
        let named: Vec<u64> = told.iter().flat_map(|status| sns(status)).collect();
        assert_eq!(named, missing[..named.len()]);
        assert!(named.len() == missing.len() || told.len() as u64 == room);
        for (at, status) in told.iter().enumerate() {
            let lsn = status.lsn.unwrap();
            let here: BTreeSet<u64> = sns(status).collect();
            assert!(lsn <= self.vr_h && missing.iter().all(|sn| *sn >= lsn || here.contains(sn)));
            assert!(at > 0 || lsn >= self.vr_r && (here.len() < missing.len() || lsn == self.vr_h));
        }
    }
}

fn sns(status: &Status) -> impl Iterator<Item = u64> {
    status.missing.as_slice().iter().flat_map(|range| range.first..range.end)
}

fn pdus(tti: &Tti) -> Vec<(u64, bool)> {
    tti.data.runs.iter().flat_map(|run| (run.sns.first..run.sns.end).map(|sn| (sn, run.poll))).collect()
}

/// The reset procedure at one end (§11.4).
#[derive(Default)]
struct Resets {
    rsn: bool,
    /// The RESET that is unanswered, and when Timer_RST ends once it was sent.
    pending: Option<(Reset, Option<Instant>)>,
    received: Option<bool>,
    answer: Option<Reset>,
    answer_due: bool,
}

/// One end, plainly.
struct End {
    sender: Sender,
    receiver: Receiver,
    resets: Resets,
}

impl End {
    fn is_ready(&self) -> bool {
        self.resets.pending.is_none()
    }

    fn start_reset(&mut self, cut: Cut) {
        if self.sender.reset_due && self.is_ready() {
            let (rsn, hfni) = (self.resets.rsn, self.sender.hfni());
            let next_sdu = self.sender.first_waiting(cut);
            self.resets.pending = Some((Reset { rsn, hfni, next_sdu }, None));
        }
    }

    fn begin_anew(&mut self, next_sdu: u64, cut: Cut) {
        self.sender.reset(cut);
        self.sender.hfn += u32::from(self.is_ready());
        self.receiver.reset(next_sdu);
    }

    fn handle_control(&mut self, now: Instant, control: &Control, cut: Cut) {
        match control {
            Control::Status(status) if self.is_ready() => {
                self.sender.handle_status(now, status, cut);
                if let Some(mrw) = &status.mrw {
                    self.receiver.handle_mrw(mrw);
                }
                self.start_reset(cut);
            }
            Control::Status(_) => {}
            Control::Reset(reset) => {
                self.resets.answer_due = true;
                if self.resets.received.replace(reset.rsn) != Some(reset.rsn) {
                    let hfni = self.sender.hfni();
                    self.begin_anew(reset.next_sdu, cut);
                    let next_sdu = self.sender.first_waiting(cut);
                    self.resets.answer = Some(Reset { rsn: reset.rsn, hfni, next_sdu });
                }
            }
            Control::ResetAck(ack) => {
                if self.resets.pending.take_if(|(reset, _)| reset.rsn == ack.rsn).is_some() {
                    self.resets.rsn = !self.resets.rsn;
                    self.begin_anew(ack.next_sdu, cut);
                }
            }
        }
    }

    /// RESET ACK and RESET, as far as there is room.
    fn resets(&mut self, now: Instant, room: u64, out: &mut Vec<Control>) {
        let resets = &mut self.resets;
        if (out.len() as u64) < room && resets.answer_due {
            resets.answer_due = false;
            out.extend(resets.answer.map(Control::ResetAck));
        }
        if let Some((reset, timer)) = &mut resets.pending
            && (out.len() as u64) < room
            && timer.is_none_or(|end| end <= now)
        {
            *timer = Some(now + self.sender.c.timer_rst);
            out.push(Control::Reset(*reset));
        }
    }

    /// The control PDUs that go before data, but for reports; whether there is one.
    fn control(&mut self, now: Instant, room: u64, cut: Cut, out: &mut Vec<Control>) -> bool {
        self.resets(now, room, out);
        if !self.is_ready() {
            return false;
        }
        self.sender.handle_timers(now);
        self.sender.discard_expired(now, cut);
        let status = |status| Control::Status(status);
        if (out.len() as u64) < room {
            let mrw = self.sender.mrw(now);
            out.extend(mrw.map(|mrw| status(Status { mrw: Some(mrw), ..Status::default() })));
        }
        self.start_reset(cut);
        if !self.is_ready() {
            self.resets(now, room, out);
            return false;
        }
        if (out.len() as u64) < room
            && let Some(ack) = self.receiver.mrw_ack.take()
        {
            out.push(status(Status { mrw_ack: Some(ack), ..Status::default() }));
        }
        self.receiver.reports(now, (out.len() as u64) < room)
    }

    /// SDUs confirmed, discarded, taken out unsent, handed up and lost so far.
    fn outcomes(&self) -> [BTreeSet<u64>; 5] {
        let (sender, receiver) = (&self.sender, &self.receiver);
        let GivenUp { discarded, unsent } = &sender.given_up;
        [&sender.confirmed, discarded, unsent, &receiver.up, &receiver.lost].map(BTreeSet::clone)
    }
}

/// Both ends, the network's first, with what is on the way from each.
struct Pair {
    ends: [Entity; 2],
    plain: [End; 2],
    air: [VecDeque<(u64, Tti)>; 2],
}

impl Pair {
    fn new(down: &Config, up: &Config) -> Self {
        down.check().unwrap();
        up.check().unwrap();
        let end = |sends, receives| {
            let (sender, receiver) = (Sender::new(sends), Receiver::new(receives));
            End { sender, receiver, resets: Resets::default() }
        };
        Self {
            ends: [Entity::at_network(down, up), Entity::at_network(up, down)],
            plain: [end(down, up), end(up, down)],
            air: Default::default(),
        }
    }

    fn handle_sdu(&mut self, end: usize, at: u64, octets: u32) {
        self.ends[end].handle_sdu(ms(at), octets);
        self.plain[end].sender.handle_sdu(ms(at));
    }

    fn cut(&self, end: usize) -> Cut {
        let sender = self.ends[end].sender();
        Cut { first_waiting: sender.first_waiting(), begun: sender.begun() }
    }

    fn tti(&mut self, end: usize, now: u64, room: u64, lose: impl FnMut() -> bool) {
        let (mut tti, mut report) = (Tti::default(), Report::default());
        let (cut, before) = (self.cut(end), self.plain[end].outcomes());
        self.ends[end].build_tti(ms(now), room, &mut tti, &mut report);
        let plain = &mut self.plain[end];
        let is_report =
            |control: &&Control| matches!(control, Control::Status(status) if status.lsn.is_some());
        let told: Vec<&Status> = tti.control.iter().filter(is_report).map(status_of).collect();
        let mut control = Vec::new();
        let reports = plain.control(ms(now), room, cut, &mut control);
        assert_eq!(!told.is_empty(), reports, "a report at {now}");
        if reports {
            plain.receiver.check(&told, room - control.len() as u64);
        }
        let sent = pdus(&tti);
        if plain.is_ready() {
            let left = room - (control.len() + told.len()) as u64;
            let new = sent.iter().filter(|(sn, _)| *sn >= plain.sender.vt_s).count() as u64;
            assert_eq!(plain.sender.send(ms(now), left, new, &tti.data.ends, cut), sent, "at {now}");
            if sent.is_empty() {
                // A PDU that would only have polled may have reached MaxDAT.
                let again = plain.control(ms(now), room - told.len() as u64, cut, &mut control);
                assert!(!again);
            }
        } else {
            assert!(sent.is_empty());
        }
        let others: Vec<&Control> = tti.control.iter().filter(|one| !is_report(one)).collect();
        assert_eq!(others, control.iter().collect::<Vec<_>>(), "at {now}");
        self.check(end, &before, &report, now);
        tti.lose(lose);
        if !tti.is_empty() {
            self.air[end].push_back((now + DELAY, tti));
        }
    }

    fn arrive(&mut self, until: u64) {
        while let Some(from) = [0, 1]
            .into_iter()
            .filter(|end| self.air[*end].front().is_some_and(|(at, _)| *at <= until))
            .min_by_key(|end| self.air[*end].front().map(|(at, _)| *at))
        {
            let (at, tti) = self.air[from].pop_front().unwrap();
            let end = 1 - from;
            let mut report = Report::default();
            let (cut, before) = (self.cut(end), self.plain[end].outcomes());
            self.ends[end].handle_tti(ms(at), &tti, &mut report);
            let plain = &mut self.plain[end];
            for control in &tti.control {
                plain.handle_control(ms(at), control, cut);
            }
            if plain.is_ready() {
                plain.receiver.receive(&tti);
            }
            self.check(end, &before, &report, at);
        }
    }

    fn check(&self, end: usize, before: &[BTreeSet<u64>; 5], report: &Report, at: u64) {
        let (plain, entity) = (&self.plain[end], &self.ends[end]);
        let Report { confirmed, discarded, unsent, up, lost, .. } = report;
        let theirs = [confirmed, discarded, unsent, up, lost];
        for ((after, earlier), told) in plain.outcomes().iter().zip(before).zip(theirs) {
            let mut in_order = told.clone();
            in_order.sort_unstable();
            assert!(in_order.iter().eq(after.difference(earlier)), "at {at}: {in_order:?}");
        }
        let (sender, receiver) = (&plain.sender, &plain.receiver);
        let variables = (entity.sender().vt_s(), entity.sender().vt_a(), entity.sender().vt_ms());
        assert_eq!((sender.vt_s, sender.vt_a, sender.vt_ms()), variables);
        assert_eq!((receiver.vr_r, receiver.vr_h), (entity.receiver().vr_r(), entity.receiver().vr_h()));
        assert_eq!(plain.is_ready(), !entity.is_suspended_by_reset());
        assert_eq!(entity.counts().erroneous_status_pdus, 0);
    }

    /// Every SDU is confirmed or given up, and every one that is confirmed was handed up; where others were given up, it
    /// may have gone with those: what a reset threw away while it waited for them, or what lacks the PDU that would have
    /// told where it begins.
    fn is_done(&self) -> bool {
        [0, 1].into_iter().all(|end| {
            let (End { sender, .. }, receiver) = (&self.plain[end], &self.plain[1 - end].receiver);
            let others = !sender.given_up.discarded.is_empty();
            let is_taken = |sdu: &u64| receiver.up.contains(sdu) || others && receiver.lost.contains(sdu);
            let is_told = sender.moving.is_none() && sender.to_tell.is_empty() && self.plain[end].is_ready();
            is_told
                && (0..sender.sdus.len() as u64).all(|sdu| sender.is_settled(sdu))
                && sender.confirmed.iter().all(is_taken)
        })
    }
}

fn status_of(control: &Control) -> &Status {
    let Control::Status(status) = control else { panic!("{control:?}") };
    status
}

fn config() -> impl Strategy<Value = Config> {
    let timer = |from: u64, to: u64| prop::option::of((from..to).prop_map(Duration::from_millis));
    let polls = (timer(20, 200), timer(60, 300), timer(10, 100), prop::option::of(1_u32..9));
    let more = (prop::option::of(1_u32..=100), any::<bool>(), any::<bool>());
    let reports = (timer(10, 100), timer(50, 300), any::<bool>(), any::<bool>(), any::<bool>());
    let sizes = (
        prop::sample::select(vec![10_u64, 16, 42, 126, 127]),
        prop::sample::select(vec![1_u32, 2, 5, 64, 2048]),
    );
    let discard = (0_u8..5, 40_u64..500, 2_u32..6, any::<bool>(), 2_u32..5, 60_u64..300);
    (polls, more, reports, sizes, discard).prop_map(|(polls, more, reports, sizes, discard)| {
        let (timer_poll, timer_poll_periodic, timer_poll_prohibit, poll_pdu) = polls;
        let (poll_window, last_pdu_poll, last_retransmission_poll) = more;
        let (timer_status_prohibit, timer_status_periodic, missing_pdu_indicator, in_sequence, special_he) =
            reports;
        // Something must ask for what a lost poll would have.
        let timer_poll_periodic = timer_poll_periodic.or(Some(Duration::from_millis(90)));
        let (mode, expiry, most, send_mrw, max_mrw, signal) = discard;
        let (sdu_discard, timer_discard, max_dat) = match mode {
            0 => (SduDiscard::NoDiscard, None, Some(most)),
            1 => (SduDiscard::MaxDat, None, Some(most)),
            2 => (SduDiscard::Timer, Some(Duration::from_millis(expiry)), None),
            _ => (SduDiscard::NoDiscard, None, None),
        };
        let delivery = if in_sequence { Delivery::InSequence } else { Delivery::OutOfSequence };
        Config {
            pdu: Bytes::from_bytes(sizes.0),
            configured_tx_window_size: sizes.1,
            configured_rx_window_size: 2048,
            timer_poll,
            timer_poll_periodic,
            timer_poll_prohibit,
            poll_pdu,
            poll_window,
            last_pdu_poll,
            last_retransmission_poll,
            timer_status_prohibit,
            timer_status_periodic,
            missing_pdu_indicator,
            delivery,
            special_he,
            sdu_discard,
            timer_discard,
            max_dat,
            send_mrw,
            max_mrw,
            timer_mrw: Duration::from_millis(signal),
            timer_rst: Duration::from_millis(signal),
            max_rst: u32::MAX,
            ..Config::default()
        }
    })
}

proptest! {
    #[test]
    fn both_do_the_same(
        downlink in config(),
        uplink in config(),
        mut sdus in prop::collection::vec((0_u64..600, any::<bool>(), 20_u32..800), 1..40),
        fates in prop::collection::vec((0_u8..5, any::<u64>()), 1..200),
        room in prop::sample::select(vec![1_u64, 2, 5, 12]),
    ) {
        let mut pair = Pair::new(&downlink, &uplink);
        sdus.sort_unstable();
        sdus.reverse();
        for n in 0..100_000_u64 {
            let now = n * 10;
            while let Some((at, end, octets)) = sdus.pop_if(|(at, ..)| *at <= now) {
                pair.arrive(at);
                pair.handle_sdu(end.into(), at, octets);
            }
            pair.arrive(now);
            for end in [1, 0] {
                // Two TTIs of a line: all is lost, some PDUs are, or nothing is.
                let (kind, mask) = fates.get(n as usize * 2 + end).copied().unwrap_or((4, 0));
                let mut pdu = 0;
                pair.tti(end, now, room, || {
                    pdu += 1;
                    kind == 0 || kind < 3 && mask >> (pdu % 64) & 1 == 1
                });
            }
            if sdus.is_empty() && pair.is_done() {
                break;
            }
        }
        prop_assert!(sdus.is_empty() && pair.is_done());
    }
}
