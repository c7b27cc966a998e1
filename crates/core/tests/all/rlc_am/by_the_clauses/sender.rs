//! The sending side of an entity, PDU by PDU.

use super::*;

/// How the entity has segmented SDUs.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// The first unsent SDU.
    pub(super) first_waiting: u64,
    /// The partly sent SDU, and the PDU with its first octet.
    pub(super) begun: Option<(u64, u64)>,
}

/// What becomes of SDUs without being confirmed.
#[derive(Default)]
pub(super) struct GivenUp {
    pub(super) discarded: BTreeSet<u64>,
    pub(super) unsent: BTreeSet<u64>,
}

/// A discarded SDU to be reported to the receiver: the PDU with its end and, if it is the last one of an MRW, SN_MRW
/// and N_LENGTH (§11.6.2.2).
#[derive(Clone, Copy)]
pub(super) struct Told {
    pub(super) sdu: u64,
    pub(super) end: u64,
    pub(super) sn: u64,
    pub(super) n: u64,
}

/// The discard procedure in progress (§11.6).
pub(super) struct Moving {
    pub(super) mrw: Mrw,
    /// VT(MRW), and when Timer_MRW ends once it was sent.
    pub(super) vt_mrw: u32,
    pub(super) timer: Option<Instant>,
}

/// The sending side.
pub(super) struct Sender {
    pub(super) c: Config,
    /// When Timer_Discard ends for SDUs.
    pub(super) expiries: Vec<Instant>,
    pub(super) given_up: GivenUp,
    /// No PDU below is retransmitted: all its octets belong to discarded SDUs.
    pub(super) discarded_below: u64,
    /// VT(DAT) of PDUs scheduled again.
    pub(super) vt_dat: BTreeMap<u64, u32>,
    pub(super) to_tell: VecDeque<Told>,
    pub(super) moving: Option<Moving>,
    pub(super) reset_due: bool,
    pub(super) hfn: u32,
    pub(super) vt_s: u64,
    pub(super) vt_a: u64,
    pub(super) acknowledged: BTreeSet<u64>,
    /// Reported missing, to be retransmitted.
    pub(super) again: BTreeSet<u64>,
    /// The end of each SDU, once it was sent.
    pub(super) sdus: Vec<Option<SduEnd>>,
    pub(super) confirmed: BTreeSet<u64>,
    pub(super) poll_waits: bool,
    pub(super) vt_pdu: u32,
    /// Timer_Poll, and VT(S) when it started.
    pub(super) timer_poll: Option<(Instant, u64)>,
    pub(super) prohibited: Instant,
    pub(super) periodic: Instant,
}

impl Sender {
    pub(super) fn new(c: &Config) -> Self {
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

    pub(super) fn vt_ms(&self) -> u64 {
        self.vt_a + u64::from(self.c.configured_tx_window_size)
    }

    /// Nothing is left to be sent for the first time.
    pub(super) fn is_empty(&self) -> bool {
        (0..self.sdus.len()).all(|sdu| self.sdus[sdu].is_some() || self.is_settled(sdu as u64))
    }

    pub(super) fn is_given_up(&self, sdu: u64) -> bool {
        self.given_up.discarded.contains(&sdu) || self.given_up.unsent.contains(&sdu)
    }

    /// The first unsent SDU, or the next one to arrive.
    pub(super) fn first_waiting(&self, cut: Cut) -> u64 {
        (cut.first_waiting..).find(|sdu| !self.given_up.unsent.contains(sdu)).unwrap()
    }

    pub(super) fn is_settled(&self, sdu: u64) -> bool {
        self.confirmed.contains(&sdu) || self.is_given_up(sdu)
    }

    pub(super) fn is_acknowledged(&self, sn: u64) -> bool {
        sn < self.vt_a || self.acknowledged.contains(&sn)
    }

    pub(super) fn is_unacknowledged(&self) -> bool {
        (self.vt_a.max(self.discarded_below)..self.vt_s).any(|sn| !self.is_acknowledged(sn))
    }

    pub(super) fn handle_sdu(&mut self, now: Instant) {
        self.handle_timers(now);
        self.sdus.push(None);
        let timer = self.c.timer_discard.filter(|_| self.c.sdu_discard == SduDiscard::Timer);
        self.expiries.push(ends(now, timer));
    }

    /// §9.7.3: SDUs whose Timer_Discard has ended.
    pub(super) fn discard_expired(&mut self, now: Instant, cut: Cut) {
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

    /// §11.6.2: discards SDUs with octets sent, while `gone` holds for them and the PDU they start in.
    pub(super) fn discard(&mut self, cut: Cut, gone: impl Fn(u64, u64) -> bool) {
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

    /// §11.6.2.2: whether the PDU with the end contains octets of the next SDU.
    pub(super) fn told(&self, sdu: u64, end: u64, cut: Cut) -> Told {
        let begins_here = |other: &SduEnd| other.sdu > sdu && other.first == end;
        let is_followed = self.sdus.iter().flatten().any(begins_here)
            || cut.begun.is_some_and(|(begun, first)| begun > sdu && first == end);
        if !is_followed {
            return Told { sdu, end, sn: end + 1, n: 0 };
        }
        let n = self.sdus.iter().flatten().filter(|other| other.sn == end && other.sdu <= sdu).count();
        Told { sdu, end, sn: end, n: n as u64 }
    }

    /// Starts the next MRW, if an SDU is to be reported and no MRW is in progress.
    pub(super) fn begin_move(&mut self) {
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
    pub(super) fn mrw(&mut self, now: Instant) -> Option<Mrw> {
        let moving = self.moving.as_mut().filter(|moving| moving.timer.is_none_or(|end| end <= now))?;
        moving.vt_mrw += u32::from(moving.timer.is_some());
        if moving.vt_mrw >= self.c.max_mrw {
            self.reset_due = true;
            return None;
        }
        moving.timer = Some(now + self.c.timer_mrw);
        Some(moving.mrw.clone())
    }

    pub(super) fn end_move(&mut self) {
        self.moving = None;
        self.begin_move();
    }

    /// §11.3.3a: PDUs are scheduled again; returns whether one has now been scheduled MaxDAT times.
    pub(super) fn count(&mut self, sns: &BTreeSet<u64>, cut: Cut) -> bool {
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

    /// HFN of the last new PDU (§11.4.1).
    pub(super) fn hfni(&self) -> u32 {
        self.hfn + (self.vt_s.saturating_sub(1) / 4096) as u32
    }

    /// §11.4: all SDUs with octets sent are given up.
    pub(super) fn reset(&mut self, cut: Cut) {
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
    pub(super) fn handle_timers(&mut self, now: Instant) {
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
    pub(super) fn polls(&mut self, now: Instant, sn: u64, last: bool) -> bool {
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
    pub(super) fn send(
        &mut self,
        now: Instant,
        room: u64,
        new: u64,
        marked: &[SduEnd],
        cut: Cut,
    ) -> Vec<(u64, bool)> {
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
    pub(super) fn handle_status(&mut self, now: Instant, status: &Status, cut: Cut) {
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
    pub(super) fn handle_mrw_ack(&mut self, ack: MrwAck) {
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
    pub(super) fn confirm(&mut self) {
        let is_whole = |end: &&SduEnd| (end.first..=end.sn).all(|sn| self.is_acknowledged(sn));
        let whole = self.sdus.iter().flatten().filter(is_whole).map(|end| end.sdu);
        let new: Vec<u64> = whole.filter(|sdu| !self.is_settled(*sdu)).collect();
        self.confirmed.extend(new);
    }
}
