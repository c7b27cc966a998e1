//! The receiving side of an AM entity (TS 25.322 §9.4, §9.7.2, §11.3.3, §11.5).

use super::config::{Config, Delivery};
use super::{Control, Form, Status};
use crate::rlc::ranges::{Ranges, SnRange};
use crate::rlc::{Run, SduEnd, Transmission};
use crate::time::Instant;
use std::collections::VecDeque;

/// PDUs that a pair of the LIST super-field names at most.
const PDUS_PER_PAIR: u64 = 16;
/// PDUs that a BITMAP super-field names at most.
const PDUS_PER_BITMAP: u64 = 128;

/// The receiving side.
#[derive(Debug)]
pub struct Receiver {
    config: Config,
    /// Bits of a STATUS PDU between its first four and its ACK super-field.
    status_bits: u64,
    /// VR(R): the sequence number after the last received in sequence.
    vr_r: u64,
    /// VR(H): the sequence number after the highest received.
    vr_h: u64,
    /// PDUs missing between the two.
    missing: Ranges,
    /// Ends that arrived of SDUs not handed up.
    ends: VecDeque<SduEnd>,
    /// A status report is due, perhaps not before Timer_Status_Prohibit ends.
    report_due: bool,
    /// When Timer_Status_Prohibit ends.
    prohibited_until: Instant,
    /// When Timer_Status_Periodic ends.
    next_periodic: Instant,
}

impl Receiver {
    /// An entity in its initial state at the start of the run, whose STATUS PDUs have the size of its own data's.
    pub fn new(config: &Config) -> Self {
        Self::reporting_by(config, config)
    }

    /// The same; its STATUS PDUs have the size of the PDUs of `back`, the other direction.
    pub fn reporting_by(config: &Config, back: &Config) -> Self {
        let next_periodic = config.timer_status_periodic.map_or(Instant::NEVER, |t| Instant::ZERO + t);
        Self {
            config: config.clone(),
            status_bits: back.status_bits(),
            vr_r: 0,
            vr_h: 0,
            missing: Ranges::default(),
            ends: VecDeque::new(),
            report_due: false,
            prohibited_until: Instant::ZERO,
            next_periodic,
        }
    }

    /// VR(R), the sequence number after the last received in sequence.
    pub fn vr_r(&self) -> u64 {
        self.vr_r
    }

    /// VR(H), the sequence number after the highest received.
    pub fn vr_h(&self) -> u64 {
        self.vr_h
    }

    /// VR(MR), the first sequence number beyond the window.
    pub fn vr_mr(&self) -> u64 {
        self.vr_r + u64::from(self.config.configured_rx_window_size)
    }

    /// Takes the PDUs of a TTI that arrived, and adds the numbers of SDUs to hand up to `up`. Ends in PDUs of
    /// no run are passed over: who loses PDUs takes them out of the runs only.
    pub fn handle_pdus(&mut self, pdus: &Transmission, up: &mut Vec<u64>) {
        for &Run { sns, poll } in &pdus.runs {
            // The P bit counts even if the data is dropped.
            self.report_due |= poll;
            let kept = SnRange::new(sns.first.max(self.vr_r), sns.end.min(self.vr_mr()));
            if !kept.is_empty() {
                self.keep_ends(&pdus.ends, kept);
                self.receive(kept);
            }
        }
        match self.config.delivery {
            Delivery::InSequence => self.hand_up_in_sequence(up),
            Delivery::OutOfSequence => self.hand_up_complete(up),
        }
    }

    /// When the receiver wants to send a status report next: at once, when a timer ends, or never.
    pub fn deadline(&self) -> Instant {
        if self.report_due { self.prohibited_until } else { self.next_periodic.max(self.prohibited_until) }
    }

    /// Lets the timers take effect that end at `now` or before.
    pub fn handle_deadline(&mut self, now: Instant) {
        if let Some(period) = self.config.timer_status_periodic
            && self.next_periodic <= now
        {
            let missed = now.since(self.next_periodic).as_nanos() / period.as_nanos();
            self.next_periodic += period.saturating_mul(missed + 1);
            self.report_due = true;
        }
    }

    /// Adds the STATUS PDUs to send in a TTI with room for `pdus` PDUs: none, or a report of the state at
    /// `now` in as many as it takes and as there is room for.
    pub fn build_status(&mut self, now: Instant, pdus: u64, out: &mut Vec<Control>) {
        self.handle_deadline(now);
        if !self.report_due || pdus == 0 || now < self.prohibited_until {
            return;
        }
        self.report_due = false;
        if let Some(prohibit) = self.config.timer_status_prohibit {
            self.prohibited_until = now + prohibit;
        }
        self.report(pdus, out);
    }

    /// The ends in PDUs that were not received before.
    fn keep_ends(&mut self, ends: &[SduEnd], kept: SnRange) {
        for &end in ends.iter().filter(|end| (kept.first..kept.end).contains(&end.sn)) {
            let new = end.sn >= self.vr_h || self.missing.meets(SnRange::new(end.sn, end.sn + 1));
            if new {
                let at = self.ends.partition_point(|held| held.sdu < end.sdu);
                self.ends.insert(at, end);
            }
        }
    }

    fn receive(&mut self, sns: SnRange) {
        if sns.first > self.vr_h {
            self.missing.insert(SnRange::new(self.vr_h, sns.first));
            self.report_due |= self.config.missing_pdu_indicator;
        }
        if !self.missing.is_empty() {
            self.missing.remove(sns);
        }
        self.vr_h = self.vr_h.max(sns.end);
        self.vr_r = self.missing.first().unwrap_or(self.vr_h);
    }

    fn hand_up_in_sequence(&mut self, up: &mut Vec<u64>) {
        while let Some(end) = self.ends.front()
            && end.sn < self.vr_r
        {
            up.push(end.sdu);
            self.ends.pop_front();
        }
    }

    fn hand_up_complete(&mut self, up: &mut Vec<u64>) {
        let missing = &self.missing;
        self.ends.retain(|end| {
            let complete = !missing.meets(SnRange::new(end.first, end.sn + 1));
            if complete {
                up.push(end.sdu);
            }
            !complete
        });
    }

    /// A LIST if one PDU holds all that is missing, else a BITMAP if that does, else several LISTs.
    fn report(&self, pdus: u64, out: &mut Vec<Control>) {
        let bits = self.status_bits;
        let pairs = pairs_that_fit(bits);
        if let (Some(first), Some(end)) = (self.missing.first(), self.missing.end())
            && pairs_needed(&self.missing) > pairs
            && bitmap_bits(end - first) <= bits
        {
            let missing = self.missing.clone();
            out.push(Control::Status(Status { missing, form: Form::Bitmap, lsn: self.vr_h }));
            return;
        }
        let mut rest = self.missing.clone();
        for report in 0..pdus {
            let missing = take_pairs(&mut rest, pairs);
            // §11.5.2.2: LSN is VR(H) only if nothing below it is left out, VR(R) is always right.
            let lsn = match (report == 0, rest.first()) {
                (true, None) => self.vr_h,
                (true, Some(left_out)) => left_out,
                (false, _) => self.vr_r,
            };
            out.push(Control::Status(Status { missing, form: Form::List, lsn }));
            if rest.is_empty() {
                break;
            }
        }
    }
}

/// Pairs in LIST super-fields of at most 15 pairs (§9.2.2.11.4).
fn pairs_that_fit(bits: u64) -> u64 {
    const TYPE_AND_LENGTH: u64 = 8;
    const PAIR: u64 = 16;
    const PAIRS: u64 = 15;
    let full = bits / (TYPE_AND_LENGTH + PAIRS * PAIR);
    let left = bits % (TYPE_AND_LENGTH + PAIRS * PAIR);
    full * PAIRS + left.saturating_sub(TYPE_AND_LENGTH) / PAIR
}

fn pairs_needed(missing: &Ranges) -> u64 {
    missing.as_slice().iter().map(|range| range.len().div_ceil(PDUS_PER_PAIR)).sum()
}

/// Bits of BITMAP super-fields for so many PDUs (§9.2.2.11.5).
fn bitmap_bits(pdus: u64) -> u64 {
    const TYPE_LENGTH_AND_FSN: u64 = 20;
    pdus.div_ceil(PDUS_PER_BITMAP) * TYPE_LENGTH_AND_FSN + pdus.div_ceil(8) * 8
}

/// Takes what `pairs` pairs name from the lowest on.
fn take_pairs(rest: &mut Ranges, pairs: u64) -> Ranges {
    let mut taken = Ranges::default();
    let mut left = pairs;
    while left > 0
        && let Some(range) = rest.pop_first(left * PDUS_PER_PAIR)
    {
        left -= range.len().div_ceil(PDUS_PER_PAIR);
        taken.insert(range);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 336 bits less four and the ACK: a LIST of 15 pairs and one of 3, or two BITMAPs of 256 PDUs.
    #[test]
    fn a_status_pdu_of_42_octets_holds_18_pairs() {
        let bits = Config::default().status_bits();
        assert_eq!(bits, 316);
        assert_eq!(pairs_that_fit(bits), 18);
        assert!(bitmap_bits(256) <= bits && bitmap_bits(257) > bits);
    }

    #[test]
    fn the_smallest_pdu_holds_a_pair() {
        let pdu = crate::units::Bytes::from_bytes(10);
        assert_eq!(pairs_that_fit(Config { pdu, ..Config::default() }.status_bits()), 3);
    }
}
