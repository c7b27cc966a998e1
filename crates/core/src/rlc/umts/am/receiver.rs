//! The receiving side of an AM entity (TS 25.322 §9.4, §9.7.2, §11.3.3, §11.5.2, §11.6.3).

use super::config::{Config, Delivery};
use super::status_report;
use crate::rlc::pdus::control::{Control, Mrw, MrwAck, Status};
use crate::rlc::ranges::{Ranges, SnRange};
use crate::rlc::{Report, Run, SduEnd, Transmission};
use crate::time::Instant;
use airpath_prefetch::{prefetch, prefetch_ends};
use std::collections::VecDeque;

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
    /// Ends that arrived of SDUs from `settled` on.
    ends: VecDeque<Arrived>,
    /// SDUs below are handed up, or never will be.
    settled: u64,
    /// A status report is due, perhaps not before Timer_Status_Prohibit ends.
    report_due: bool,
    /// When Timer_Status_Prohibit ends.
    prohibited_until: Instant,
    /// When Timer_Status_Periodic ends.
    next_periodic: Instant,
    /// The answer to an MRW, to be sent.
    mrw_ack: Option<MrwAck>,
    /// The size of window to tell the sender.
    window: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Arrived {
    end: SduEnd,
    up: bool,
}

impl Receiver {
    /// Starts to load the SDUs and the missing PDUs.
    pub fn prefetch_inner(&self) {
        prefetch_ends(&self.ends);
        prefetch(self.missing.as_slice());
    }

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
            settled: 0,
            report_due: false,
            prohibited_until: Instant::ZERO,
            next_periodic,
            mrw_ack: None,
            window: None,
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

    /// Has the next STATUS PDU set the sender's VT(WS), which grows to its configured size at most (§9.2.2.11.3).
    /// A window of zero, which the standard does not allow, counts as one PDU.
    pub fn set_window(&mut self, pdus: u32) {
        self.window = Some(pdus.max(1));
    }

    /// Takes the PDUs of a TTI that arrived, and reports SDUs to hand up. Ends in PDUs of no run are passed
    /// over: who loses PDUs takes them out of the runs only.
    #[inline]
    pub fn handle_pdus(&mut self, pdus: &Transmission, report: &mut Report) {
        for &Run { sns, poll } in &pdus.runs {
            // The P bit counts even if the data is dropped.
            self.report_due |= poll;
            let kept = SnRange::new(sns.first.max(self.vr_r), sns.end.min(self.vr_mr()));
            if !kept.is_empty() {
                self.keep_ends(&pdus.ends, kept);
                self.receive(kept);
            }
        }
        self.hand_up(report);
    }

    /// §11.6.3: delivers the complete ones among the discarded SDUs, moves the window beyond them, and schedules the
    /// response.
    pub fn handle_mrw(&mut self, mrw: &Mrw, report: &mut Report) {
        let sn = mrw.last();
        self.give_up(mrw.next_sdu, true, report);
        self.missing.remove(SnRange::new(0, sn));
        self.vr_h = self.vr_h.max(sn);
        self.vr_r = self.missing.first().unwrap_or(self.vr_h);
        self.hand_up(report);
        let n = if self.vr_r == sn { mrw.n_length } else { 0 };
        self.mrw_ack = Some(MrwAck { n, sn_ack: self.vr_r });
    }

    /// §11.4.3: restarts with SDU `next_sdu`.
    pub fn reset(&mut self, next_sdu: u64, report: &mut Report) {
        self.give_up(next_sdu, false, report);
        self.ends.clear();
        (self.vr_r, self.vr_h) = (0, 0);
        self.missing = Ranges::default();
        self.report_due = false;
        self.prohibited_until = Instant::ZERO;
        (self.mrw_ack, self.window) = (None, None);
    }

    /// When the receiver needs to send a STATUS PDU next: at once, when a timer ends, or never.
    pub fn deadline(&self) -> Instant {
        if self.mrw_ack.is_some() || self.window.is_some() {
            return Instant::ZERO;
        }
        if self.report_due { self.prohibited_until } else { self.next_periodic.max(self.prohibited_until) }
    }

    /// Whether a report of the state is due, perhaps later.
    pub(super) fn is_report_due(&self) -> bool {
        self.report_due
    }

    /// Whether there is nothing to send at `now`.
    pub fn is_quiet(&self, now: Instant) -> bool {
        self.deadline() > now && self.next_periodic > now
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

    /// Adds the STATUS PDUs to send in a TTI with room for `pdus` PDUs: one with WINDOW and MRW_ACK if there is
    /// either, which nothing prohibits, and a report of the state at `now` in as many as it takes and as
    /// there is room for.
    pub fn build_status(&mut self, now: Instant, pdus: u64, out: &mut Vec<Control>) {
        self.handle_deadline(now);
        let mut room = pdus;
        if room > 0 && (self.mrw_ack.is_some() || self.window.is_some()) {
            let (window, mrw_ack) = (self.window.take(), self.mrw_ack.take());
            out.push(Control::Status(Status { window, mrw_ack, ..Status::default() }));
            room -= 1;
        }
        if !self.report_due || room == 0 || now < self.prohibited_until {
            return;
        }
        self.report_due = false;
        if let Some(prohibit) = self.config.timer_status_prohibit {
            self.prohibited_until = now + prohibit;
        }
        status_report::report(&self.missing, self.vr_r, self.vr_h, self.status_bits, room, |status| {
            out.push(Control::Status(status));
        });
    }

    /// The ends in PDUs that were not received before.
    #[inline]
    fn keep_ends(&mut self, ends: &[SduEnd], kept: SnRange) {
        for &end in ends {
            let new = end.sn >= self.vr_h || self.missing.contains(end.sn);
            if kept.first <= end.sn && end.sn < kept.end && new && end.sdu >= self.settled {
                if self.ends.back().is_none_or(|last| last.end.sdu < end.sdu) {
                    self.ends.push_back(Arrived { end, up: false });
                } else {
                    self.keep_between(end);
                }
            }
        }
    }

    #[inline(never)]
    fn keep_between(&mut self, end: SduEnd) {
        let at = self.ends.partition_point(|held| held.end.sdu < end.sdu);
        self.ends.insert(at, Arrived { end, up: false });
    }

    fn receive(&mut self, sns: SnRange) {
        if sns.first > self.vr_h {
            self.missing.insert(SnRange::new(self.vr_h, sns.first));
            self.report_due |= self.config.missing_pdu_indicator;
        }
        self.missing.remove(sns);
        self.vr_h = self.vr_h.max(sns.end);
        self.vr_r = self.missing.first().unwrap_or(self.vr_h);
    }

    /// Whether all of an SDU has arrived, and the mark of its beginning: the end of the one before it in the same
    /// PDU, or else the PDU before.
    fn is_complete(&self, at: usize) -> bool {
        let SduEnd { first, sn, .. } = self.ends[at].end;
        let follows = at.checked_sub(1).is_some_and(|before| self.ends[before].end.sn == first);
        let from = if follows { first } else { first.saturating_sub(1) };
        !self.missing.meets(SnRange::new(from, sn + 1))
    }

    #[inline]
    fn hand_up(&mut self, report: &mut Report) {
        if self.config.delivery == Delivery::OutOfSequence {
            self.hand_up_complete(report);
        }
        while let Some(&Arrived { end, up }) = self.ends.front()
            && end.sn < self.vr_r
        {
            if !up {
                report.up.push(end.sdu);
            }
            self.settled = end.sdu + 1;
            self.ends.pop_front();
        }
    }

    #[inline(never)]
    fn hand_up_complete(&mut self, report: &mut Report) {
        for at in 0..self.ends.len() {
            if !self.ends[at].up && self.is_complete(at) {
                self.ends[at].up = true;
                report.up.push(self.ends[at].end.sdu);
            }
        }
    }

    /// Gives up all SDUs below `next_sdu`. Complete ones are delivered if `delivered` is set; all others are reported
    /// lost, including SDUs that the sender discarded before transmitting any octet.
    fn give_up(&mut self, next_sdu: u64, delivered: bool, report: &mut Report) {
        let told = self.ends.partition_point(|held| held.end.sdu < next_sdu);
        for at in 0..told {
            let Arrived { end, up } = self.ends[at];
            report.lost.extend(self.settled..end.sdu);
            match up {
                true => {}
                false if delivered && self.is_complete(at) => report.up.push(end.sdu),
                false => report.lost.push(end.sdu),
            }
            self.settled = end.sdu + 1;
        }
        self.ends.drain(..told);
        report.lost.extend(self.settled..next_sdu);
        self.settled = self.settled.max(next_sdu);
    }
}
