//! SDUs out of PDUs that arrive in order, with gaps, and never again: the receiving side of UM and TM.
//!
//! An SDU is whole if all its PDUs are there and it is known where it begins: by an indicator, or because no PDU is
//! missing in front of it (TS 25.322 §9.2.2.8, §11.2.3.1).

use crate::rlc::entities::{Receive, Report};
use crate::rlc::pdus::{SduEnd, Tti};
use crate::rlc::ranges::SnRange;
use crate::time::Instant;

/// The receiving side.
#[derive(Debug)]
pub struct Reassembly {
    /// VR(US): the sequence number after the last received.
    vr_us: u64,
    /// From here to VR(US) no PDU is missing.
    unbroken: u64,
    /// Whether an SDU is known to begin with this PDU, if one does.
    begins: bool,
    /// The same behind every gap.
    always_told: bool,
    /// The first SDU without a reported outcome.
    next_sdu: u64,
}

impl Reassembly {
    /// A side in its initial state. `always_told`: that an SDU begins with a PDU is always known.
    pub fn new(always_told: bool) -> Self {
        Self { vr_us: 0, unbroken: 0, begins: true, always_told, next_sdu: 0 }
    }

    fn receive(&mut self, sns: SnRange) {
        if sns.first != self.vr_us {
            (self.unbroken, self.begins) = (sns.first, self.always_told);
        }
        self.vr_us = sns.end;
    }

    /// An end in a PDU that was received: whether its SDU was.
    fn is_whole(&mut self, end: SduEnd) -> bool {
        let whole = end.first > self.unbroken || (end.first == self.unbroken && self.begins);
        // The next SDU in the same PDU starts after this end.
        self.begins |= end.sn == self.unbroken;
        whole
    }

    /// SDUs that are passed over were given up by the sender.
    fn tell(&mut self, end: SduEnd, whole: bool, report: &mut Report) {
        report.lost.extend(self.next_sdu..end.sdu);
        self.next_sdu = end.sdu + 1;
        let outcome = if whole { &mut report.up } else { &mut report.lost };
        outcome.push(end.sdu);
    }
}

impl Receive for Reassembly {
    /// An end in a PDU of no run means that its SDU is lost: the PDU is not retransmitted. A real receiver detects that
    /// later, from the gap, and does nothing about it.
    fn handle_tti(&mut self, _now: Instant, tti: &Tti, report: &mut Report) -> bool {
        let mut ends = tti.data.ends.iter().copied().peekable();
        for run in &tti.data.runs {
            while let Some(end) = ends.next_if(|end| end.sn < run.sns.first) {
                self.tell(end, false, report);
            }
            self.receive(run.sns);
            while let Some(end) = ends.next_if(|end| end.sn < run.sns.end) {
                let whole = self.is_whole(end);
                self.tell(end, whole, report);
            }
        }
        for end in ends {
            self.tell(end, false, report);
        }
        false
    }
}
