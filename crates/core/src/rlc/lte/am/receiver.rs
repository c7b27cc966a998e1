//! The receiving side of an AM entity (TS 36.322 §5.1.3.2, §5.2.3, §7.1).

use super::{Config, WINDOW};
use crate::rlc::lte::{End, Nack, Pdu, Status, insert_end};
use crate::rlc::reporting::Reporting;
use crate::rlc::{Ranges, SnRange};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// The receiving side.
#[derive(Debug)]
pub struct Receiver {
    t_reordering: Duration,
    /// VR(R): the first PDU that has not arrived completely.
    vr_r: u64,
    /// VR(X): the PDU behind the one that started t-Reordering.
    vr_x: u64,
    /// VR(MS): the highest ACK_SN that a STATUS PDU may have.
    vr_ms: u64,
    /// PDUs from VR(R) to below VR(H).
    pdus: VecDeque<Received>,
    /// Octets in these that have arrived.
    octets: Ranges,
    /// Ends of SDUs in these.
    ends: VecDeque<End>,
    /// When t-Reordering ends.
    reordering_ends: Instant,
    reporting: Reporting,
}

/// Reception state of an AMD PDU, possibly with no octet received.
#[derive(Clone, Copy, Debug)]
struct Received {
    /// Its first octet and its end offset (exclusive), where known.
    first: Option<u64>,
    end: Option<u64>,
    whole: bool,
}

const NOTHING: Received = Received { first: None, end: None, whole: false };

impl Receiver {
    /// A side in its initial state at the start of the run. It reports by the parameters of the direction in which it
    /// receives.
    pub fn new(config: &Config) -> Self {
        Self {
            t_reordering: config.t_reordering,
            vr_r: 0,
            vr_x: 0,
            vr_ms: 0,
            pdus: VecDeque::new(),
            octets: Ranges::default(),
            ends: VecDeque::new(),
            reordering_ends: Instant::NEVER,
            reporting: Reporting::new(config.t_status_prohibit),
        }
    }

    /// VR(R): the first PDU that has not arrived completely.
    pub fn vr_r(&self) -> u64 {
        self.vr_r
    }

    /// VR(MR): the first PDU behind the window.
    pub fn vr_mr(&self) -> u64 {
        self.vr_r + WINDOW
    }

    /// VR(MS): the highest ACK_SN that a STATUS PDU may have.
    pub fn vr_ms(&self) -> u64 {
        self.vr_ms
    }

    /// VR(H): the PDU after the highest one with an octet received.
    pub fn vr_h(&self) -> u64 {
        self.vr_r + self.pdus.len() as u64
    }

    /// Whether t-Reordering runs.
    pub fn is_reordering(&self) -> bool {
        self.reordering_ends != Instant::NEVER
    }

    /// A PDU or a segment arrives, with the ends of SDUs in it. `up` gets the SDUs that are handed up.
    pub fn handle_pdu(&mut self, now: Instant, pdu: &Pdu, ends: &[End], up: &mut Vec<u64>) {
        let inside = (self.vr_r..self.vr_mr()).contains(&pdu.sn);
        if !inside || self.octets.covers(pdu.octets) {
            if pdu.poll {
                self.reporting.trigger();
            }
            return;
        }
        if self.pdus.is_empty() && pdu.sn == self.vr_r && pdu.part.is_none() {
            // In order, and nothing is held: its SDUs are delivered at once.
            self.vr_ms += u64::from(pdu.sn == self.vr_ms);
            self.vr_r += 1;
            up.extend(ends.iter().map(|end| end.sdu));
        } else {
            self.hold(pdu, ends, up);
        }
        if self.vr_x <= self.vr_r {
            self.reordering_ends = Instant::NEVER;
        }
        self.wait(now);
        if pdu.poll {
            self.reporting.poll(pdu.sn);
        }
        self.trigger();
    }

    /// Stores a PDU, and delivers the SDUs that it completes.
    fn hold(&mut self, pdu: &Pdu, ends: &[End], up: &mut Vec<u64>) {
        self.place(pdu, ends);
        if pdu.sn == self.vr_ms {
            self.vr_ms = self.first_missing(self.vr_ms);
        }
        if pdu.sn == self.vr_r {
            self.hand_up(up);
        }
    }

    fn place(&mut self, pdu: &Pdu, ends: &[End]) {
        let place = (pdu.sn - self.vr_r) as usize;
        while self.pdus.len() <= place {
            self.pdus.push_back(NOTHING);
        }
        self.octets.insert(pdu.octets);
        let of = &mut self.pdus[place];
        of.first = Some(pdu.octets.first - pdu.part.map_or(0, |part| u64::from(part.so)));
        if pdu.part.is_none_or(|part| part.last) {
            of.end = Some(pdu.octets.end);
        }
        if let (Some(first), Some(end)) = (of.first, of.end) {
            of.whole = self.octets.covers(SnRange::new(first, end));
        }
        ends.iter().for_each(|&end| insert_end(&mut self.ends, end));
    }

    /// The first PDU from this one on that has not arrived completely.
    fn first_missing(&self, from: u64) -> u64 {
        let behind = self.pdus.iter().skip((from - self.vr_r) as usize);
        from + behind.take_while(|pdu| pdu.whole).count() as u64
    }

    /// Hands up what is complete without a gap in front.
    fn hand_up(&mut self, up: &mut Vec<u64>) {
        let mut to = 0;
        while let Some(pdu) = self.pdus.front().filter(|pdu| pdu.whole) {
            to = pdu.end.unwrap_or(to);
            self.pdus.pop_front();
            self.vr_r += 1;
        }
        self.octets.remove(SnRange::new(0, to));
        while let Some(end) = self.ends.front().filter(|end| end.at <= to) {
            up.push(end.sdu);
            self.ends.pop_front();
        }
    }

    /// Starts t-Reordering if a PDU is missing and it does not run.
    fn wait(&mut self, now: Instant) {
        if !self.is_reordering() && self.vr_h() > self.vr_r {
            self.reordering_ends = now + self.t_reordering;
            self.vr_x = self.vr_h();
        }
    }

    /// §5.2.3: polls trigger a STATUS PDU when HARQ had its time.
    fn trigger(&mut self) {
        self.reporting.settle(self.vr_ms, self.vr_mr());
    }

    /// t-Reordering has expired before `until`: missing PDUs below VR(X) are reported.
    pub fn expire(&mut self, until: Instant) {
        while self.reordering_ends < until {
            let ended = std::mem::replace(&mut self.reordering_ends, Instant::NEVER);
            self.vr_ms = self.first_missing(self.vr_x);
            self.reporting.trigger();
            if self.vr_h() > self.vr_ms {
                self.reordering_ends = ended + self.t_reordering;
                self.vr_x = self.vr_h();
            }
            self.trigger();
        }
    }

    /// When a STATUS PDU is due.
    pub fn deadline(&self) -> Instant {
        self.reporting.deadline(self.reordering_ends)
    }

    /// Octets of the STATUS PDU that is due: none, or about so many.
    pub fn backlog(&self, now: Instant) -> u64 {
        if self.deadline() > now {
            return 0;
        }
        let missing = self.pdus.iter().filter(|pdu| !pdu.whole).count() as u64;
        (Status::HEADER_BITS + missing * Nack { sn: 0, part: None }.bits()).div_ceil(8)
    }

    /// The STATUS PDU, if it is due and the room has any.
    pub fn build_status(&mut self, now: Instant, room: u64) -> Option<Status> {
        self.expire(now + Duration::from_nanos(1));
        let left = (room * 8).checked_sub(Status::HEADER_BITS)?;
        if !self.reporting.is_due(now) {
            return None;
        }
        self.reporting.sent(now);
        Some(self.status(left))
    }

    /// Reports missing PDUs below VR(MS), up to this many bits after the header.
    fn status(&self, mut left: u64) -> Status {
        let mut status = Status { ack_sn: self.vr_ms, nacks: Vec::new() };
        for (sn, pdu) in (self.vr_r..self.vr_ms).zip(&self.pdus).filter(|(_, pdu)| !pdu.whole) {
            let named = status.nacks.len();
            let fits = self.name(sn, pdu, |nack| {
                let fits = nack.bits() <= left;
                if fits {
                    left -= nack.bits();
                    status.nacks.push(nack);
                }
                fits
            });
            if !fits {
                // ACK_SN: the next PDU that is missing and not named.
                let behind = if status.nacks.len() > named { self.first_missing(sn + 1) } else { sn };
                status.ack_sn = behind.min(self.vr_ms);
                break;
            }
        }
        status
    }

    /// Lists the missing parts of a PDU, until `put` returns false; returns whether it did not.
    fn name(&self, sn: u64, pdu: &Received, mut put: impl FnMut(Nack) -> bool) -> bool {
        let Some(first) = pdu.first else { return put(Nack { sn, part: None }) };
        let end = pdu.end.unwrap_or(u64::MAX);
        let octets = self.octets.as_slice();
        let from = octets.partition_point(|held| held.end <= first);
        let offset = |octet: u64| (octet - first) as u32;
        let mut at = first;
        for held in octets[from..].iter().take_while(|held| held.first < end) {
            // Octets of the PDU behind, where the end of this one is not known.
            if held.first > at && pdu.end.is_none() && self.belongs_behind(sn, held.first) {
                break;
            }
            if held.first > at && !put(Nack { sn, part: Some((offset(at), Some(offset(held.first)))) }) {
                return false;
            }
            at = held.end;
        }
        at >= end || put(Nack { sn, part: Some((offset(at), None)) })
    }

    /// Whether an octet lies in a PDU behind this one.
    fn belongs_behind(&self, sn: u64, octet: u64) -> bool {
        let behind = self.pdus.iter().skip((sn + 1 - self.vr_r) as usize);
        behind.filter_map(|pdu| pdu.first).next().is_some_and(|first| first <= octet)
    }

    /// §5.4: drops what was not handed up.
    pub fn re_establish(&mut self) {
        (self.vr_r, self.vr_x, self.vr_ms) = (0, 0, 0);
        self.pdus.clear();
        self.octets = Ranges::default();
        self.ends.clear();
        self.reporting.restart();
        self.reordering_ends = Instant::NEVER;
    }
}
