//! The receiving UM entity (TS 36.322 §5.1.2.2, §7.1).

use super::Config;
use crate::rlc::entities::{Receive, Report};
use crate::rlc::lte::{End, Pdu, insert_end};
use crate::rlc::{Ranges, SnRange, Tti};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// The receiving entity.
#[derive(Debug)]
pub struct Receiver {
    /// UM_Window_Size.
    window: u64,
    t_reordering: Duration,
    /// VR(UR): the earliest PDU that is still waited for.
    vr_ur: u64,
    /// VR(UX): the PDU behind the one that started t-Reordering.
    vr_ux: u64,
    /// VR(UH): the PDU behind the highest received.
    vr_uh: u64,
    /// When t-Reordering ends.
    ends_at: Instant,
    /// PDUs from VR(UR) on: their octets, and whether an SDU begins with the first one.
    held: VecDeque<Option<(SnRange, bool)>>,
    /// Ends of SDUs in these.
    ends: VecDeque<End>,
    /// End offset of the last PDU that was parsed.
    next_octet: u64,
    /// Whether no octet is missing so far of the SDU that continues there.
    unbroken: bool,
    /// The first SDU without an outcome reported in order.
    next_sdu: u64,
    /// Later SDUs that were reported lost.
    lost: Ranges,
    establishment: u32,
}

impl Receiver {
    /// An entity in its initial state.
    pub fn new(config: &Config) -> Self {
        Self {
            window: config.sequence_numbers() / 2,
            t_reordering: config.t_reordering,
            vr_ur: 0,
            vr_ux: 0,
            vr_uh: 0,
            ends_at: Instant::NEVER,
            held: VecDeque::new(),
            ends: VecDeque::new(),
            next_octet: 0,
            unbroken: true,
            next_sdu: 0,
            lost: Ranges::default(),
            establishment: 0,
        }
    }

    fn receive(&mut self, now: Instant, pdu: &Pdu, ends: &[End], report: &mut Report) {
        let Some(place) = pdu.sn.checked_sub(self.vr_ur) else { return };
        let place = place as usize;
        if self.held.len() <= place {
            self.held.resize(place + 1, None);
        }
        if self.held[place].replace((pdu.octets, pdu.begins)).is_some() {
            return;
        }
        ends.iter().for_each(|&end| insert_end(&mut self.ends, end));
        if pdu.sn >= self.vr_uh {
            self.vr_uh = pdu.sn + 1;
            self.move_to(self.vr_uh.saturating_sub(self.window), report);
        }
        self.move_on(report);
        if self.vr_ux <= self.vr_ur {
            self.ends_at = Instant::NEVER;
        }
        self.wait(now);
    }

    /// Starts t-Reordering if a PDU is missing and it does not run.
    fn wait(&mut self, now: Instant) {
        if self.ends_at == Instant::NEVER && self.vr_uh > self.vr_ur {
            self.ends_at = now + self.t_reordering;
            self.vr_ux = self.vr_uh;
        }
    }

    /// Moves VR(UR) to the first PDU that is missing.
    fn move_on(&mut self, report: &mut Report) {
        while let Some(Some(_)) = self.held.front() {
            self.move_to(self.vr_ur + 1, report);
        }
    }

    /// Moves VR(UR), if that is ahead, and takes apart the PDUs below it.
    fn move_to(&mut self, vr_ur: u64, report: &mut Report) {
        while self.vr_ur < vr_ur {
            self.vr_ur += 1;
            if let Some((octets, begins)) = self.held.pop_front().flatten() {
                self.take_apart(octets, begins, report);
            }
        }
    }

    fn take_apart(&mut self, octets: SnRange, begins: bool, report: &mut Report) {
        if octets.first != self.next_octet {
            self.unbroken = begins;
        }
        self.next_octet = octets.end;
        while let Some(end) = self.ends.front().copied().filter(|end| end.at <= octets.end) {
            self.ends.pop_front();
            self.pass_over(end.sdu, report);
            self.next_sdu = end.sdu + 1;
            let outcome = if self.unbroken { &mut report.up } else { &mut report.lost };
            outcome.push(end.sdu);
            self.unbroken = true;
        }
    }

    /// SDUs below this one that were not named have been lost, or discarded.
    fn pass_over(&mut self, sdu: u64, report: &mut Report) {
        let lost = &mut self.lost;
        report.lost.extend((self.next_sdu..sdu).filter(|number| !lost.contains(*number)));
        lost.remove(SnRange::new(0, sdu));
    }

    /// Reports an SDU that ends in a lost PDU, which is not retransmitted. A real receiver detects that later, from the
    /// gap.
    fn lose(&mut self, sdu: u64, report: &mut Report) {
        if sdu >= self.next_sdu && !self.lost.contains(sdu) {
            self.lost.insert(SnRange::new(sdu, sdu + 1));
            report.lost.push(sdu);
        }
    }
}

impl Receive for Receiver {
    fn handle_tti(&mut self, now: Instant, tti: &Tti, report: &mut Report) -> bool {
        if tti.lte.establishment > self.establishment {
            self.re_establish_receiver(now, report);
            self.establishment = tti.lte.establishment;
        }
        let stale = tti.lte.establishment < self.establishment;
        for end in &tti.data.ends {
            if stale || !tti.lte.data.iter().any(|pdu| pdu.sn == end.sn) {
                self.lose(end.sdu, report);
            }
        }
        if !stale {
            for pdu in &tti.lte.data {
                self.receive(now, pdu, tti.lte.ends_of(pdu), report);
            }
        }
        false
    }

    fn expiry(&self) -> Instant {
        self.ends_at
    }

    fn handle_expiry(&mut self, now: Instant, report: &mut Report) {
        if self.ends_at > now {
            return;
        }
        self.ends_at = Instant::NEVER;
        self.move_to(self.vr_ux, report);
        self.move_on(report);
        self.wait(now);
    }

    /// §5.4: what is whole goes up.
    fn re_establish_receiver(&mut self, _now: Instant, report: &mut Report) {
        self.move_to(self.vr_uh, report);
        (self.vr_ur, self.vr_ux, self.vr_uh) = (0, 0, 0);
        self.ends_at = Instant::NEVER;
        (self.next_octet, self.unbroken) = (0, true);
        self.establishment += 1;
    }
}
