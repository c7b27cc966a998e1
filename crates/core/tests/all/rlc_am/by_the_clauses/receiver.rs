//! The receiving side of an entity, PDU by PDU.

use super::*;

/// The receiving side.
pub(super) struct Receiver {
    pub(super) c: Config,
    pub(super) received: BTreeSet<u64>,
    pub(super) vr_r: u64,
    pub(super) vr_h: u64,
    /// Ends in PDUs that were received.
    pub(super) ends: BTreeMap<u64, SduEnd>,
    pub(super) up: BTreeSet<u64>,
    /// SDUs that can no longer be completed.
    pub(super) lost: BTreeSet<u64>,
    /// SDUs below are handed up, or lost, or were never sent.
    pub(super) settled: u64,
    pub(super) mrw_ack: Option<MrwAck>,
    pub(super) report_due: bool,
    pub(super) prohibited: Instant,
    pub(super) periodic: Instant,
}

impl Receiver {
    pub(super) fn new(c: &Config) -> Self {
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
    pub(super) fn receive(&mut self, tti: &Tti) {
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

    pub(super) fn is_missing(&self, sn: u64) -> bool {
        sn >= self.vr_r && !self.received.contains(&sn)
    }

    pub(super) fn advance(&mut self) {
        while self.vr_r < self.vr_h && !self.is_missing(self.vr_r) {
            self.vr_r += 1;
        }
    }

    pub(super) fn hand_up(&mut self) {
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

    pub(super) fn is_complete(&self, end: &SduEnd) -> bool {
        // What is before its first octet says that it is the first: an end in the same PDU, or the PDU before.
        let before = self.ends.range(..end.sdu).next_back();
        let is_told = before.is_some_and(|(_, before)| before.sn == end.first);
        let from = if is_told { end.first } else { end.first.saturating_sub(1) };
        !(from..=end.sn).any(|sn| self.is_missing(sn))
    }

    /// Gives up all SDUs below `next_sdu`; complete ones are delivered if `delivered` is set.
    pub(super) fn give_up(&mut self, next_sdu: u64, delivered: bool) {
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
    pub(super) fn handle_mrw(&mut self, mrw: &Mrw) {
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
    pub(super) fn reset(&mut self, next_sdu: u64) {
        self.give_up(next_sdu, false);
        self.ends.clear();
        self.received.clear();
        (self.vr_r, self.vr_h) = (0, 0);
        (self.report_due, self.mrw_ack) = (false, None);
        self.prohibited = Instant::ZERO;
    }

    /// Whether a report goes in a TTI with room for it.
    pub(super) fn reports(&mut self, now: Instant, has_room: bool) -> bool {
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

    /// Content of reports (§9.2.2.11.2): all missing PDUs, or the first ones that fit. No report acknowledges a missing
    /// PDU.
    pub(super) fn check(&self, told: &[&Status], room: u64) {
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
