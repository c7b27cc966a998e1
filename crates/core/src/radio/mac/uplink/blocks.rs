//! The blocks of an uplink slot: their contents and their losses.

use super::Uplink;
use super::sender::{Arrival, Grant, News, What};
use crate::element::{Cx, bearer_index};
use crate::packet::Dir;
use crate::radio::mac::Work;
use crate::radio::mac::decibels::ratio;
use crate::radio::mac::harq::Block;
use crate::radio::mac::pop_if;
use crate::radio::mac::ue::Ue;
use crate::time::Duration;
use crate::trace::{Event, Kind};

impl Uplink {
    /// Fills the blocks of the slot that starts one slot from now.
    pub(super) fn fill_slot(&mut self, cx: &mut Cx<'_>, ues: &mut [Ue], work: &mut Work) {
        let slot = self.slot_from(cx.now) + 1;
        if self.start_of(slot - 1) != cx.now {
            return;
        }
        if self.filled.0 != slot {
            self.filled = (slot, self.setup.air.units());
        }
        while let Some(planned) = pop_if(&mut self.planned, |planned| planned.slot <= slot) {
            self.filled.1 = planned.left;
            for grant in planned.grants {
                self.senders[usize::from(grant.ue)].select(grant.carrier);
                self.send(cx, &mut ues[usize::from(grant.ue)], grant, slot, work);
                self.senders[usize::from(grant.ue)].select(grant.carrier);
            }
        }
        let Some((every, octets)) = self.setup.standing.filter(|_| !self.waiting.is_empty()) else { return };
        let waiting = std::mem::take(&mut self.waiting);
        for &number in &waiting {
            let is_due = self.standing_slot(every, number, slot) == slot;
            let ue = &mut ues[usize::from(number)];
            let sender = &mut self.senders[usize::from(number)];
            if !is_due || sender.passed == Some(slot) {
                continue;
            }
            sender.passed = Some(slot);
            if sender.harq.free().is_some() && cx.now >= ue.paused_until {
                let estimate = sender.reception.estimate(slot);
                let format = self.fit(estimate, self.filled.1, octets);
                let Some(format) = format.filter(|_| self.filled.1 > 0) else { continue };
                let steps = self.steps(number.into(), estimate, format);
                self.filled.1 -= format.units;
                let epoch = self.senders[usize::from(number)].harq.epoch;
                self.senders[usize::from(number)].unfilled += 1;
                let grant = Grant { ue: number, carrier: 0, epoch, format, again: None, steps };
                self.send(cx, ue, grant, slot, work);
            }
        }
        self.waiting = waiting;
        self.waiting.retain(|ue| ues[usize::from(*ue)].pair.deadline(Dir::Uplink) <= cx.now);
    }

    /// A UE uses its grant; the carrier of the grant is selected.
    fn send(&mut self, cx: &mut Cx<'_>, ue: &mut Ue, grant: Grant, slot: u64, work: &mut Work) {
        let number = usize::from(grant.ue);
        let delay = self.grant_delay(cx.now, number);
        let sender = &mut self.senders[number];
        if grant.epoch != sender.harq.epoch {
            return;
        }
        self.touched.push(grant.ue);
        if let Some(process) = grant.again {
            sender.counts.repeats += 1;
            return self.transmit(cx, ue, (grant.ue, grant.carrier), process, slot);
        }
        sender.unfilled -= 1;
        let gap = self.setup.slot.saturating_mul(self.setup.frame.period());
        sender.delay = if sender.delay.is_zero() { delay + gap } else { sender.delay };
        ue.pair.excuse(Dir::Uplink, sender.delay);
        let room = self.setup.framing.room(grant.format.bits);
        let process = sender.harq.free().filter(|_| room > 0);
        let mut tti = work.spare.take();
        if process.is_some() {
            ue.pair.fill(cx, Dir::Uplink, room, &mut tti, &mut work.report);
        }
        let process = process.filter(|_| !tti.is_empty());
        let left = match ue.pair.backlog(cx.now, Dir::Uplink) {
            0 => 0,
            own => ue.pair.with_held(cx, Dir::Uplink, own),
        };
        sender.told = left > 0;
        if left == 0 {
            (sender.since, sender.delay) = (None, Duration::ZERO);
        }
        match process {
            Some(process) => {
                ue.pair.bearer(Dir::Uplink).counts.ttis += 1;
                sender.counts.blocks += 1;
                let block = Block { tti, number: sender.number(slot) };
                sender.harq.begin(process, (grant.format, grant.steps), block, slot);
                sender.harq.process(process).left = left;
                self.transmit(cx, ue, (grant.ue, grant.carrier), process, slot);
            }
            // Padding, with a BSR of the queued data.
            None => {
                let (at, epoch) = (self.known_after(slot), grant.epoch);
                let what = What::Left { octets: left, slot, process: None };
                work.spare.keep(tti);
                self.tell(News { at, ue: grant.ue, epoch, what });
            }
        }
    }

    /// Transmits the block of a process in this slot.
    fn transmit(
        &mut self,
        cx: &mut Cx<'_>,
        ue: &mut Ue,
        (number, carrier): (u16, u8),
        process: u8,
        slot: u64,
    ) {
        let (at, end) = (self.known_after(slot), self.start_of(slot + 1));
        let sender = &mut self.senders[usize::from(number)];
        sender.passed = Some(slot);
        ue.slot_until = ue.slot_until.max(end);
        let units = sender.harq.process(process).format.units;
        let sinr = sender.reception.sinr(slot) - self.spread_db[units as usize];
        let draw = sender.reception.draw(slot);
        let in_silence = ue.silences.cover(self.setup.slot, end);
        let this = sender.harq.process(process);
        let by = (self.setup.air.as_ref(), &self.bler[..]);
        let lost = this.is_lost(by, self.setup.harq.combining, sinr, draw, in_silence);
        let (format, transmissions, since, left) = (this.format, this.transmissions, this.since, this.left);
        sender.counts.first_lost += u64::from(lost && transmissions == 1);
        let epoch = sender.harq.epoch;
        // Numbered over all carriers.
        let over_all = carrier * sender.harq.processes() + process;
        if cx.probes(Kind::UplinkBlock) {
            let bearer = cx.bearer_number(bearer_index(number, Dir::Uplink));
            let row = self.setup.air.number(format.cqi);
            cx.probe(Kind::UplinkBlock, move || Event::UplinkBlock {
                ue: number,
                bearer,
                slot,
                process: over_all.into(),
                transmission: transmissions.into(),
                cqi: row,
                units,
                bits: format.bits,
                sinr_thousandths: (ratio(sinr) * 1000.0) as u64,
                lost,
            });
        }
        if cx.probes(Kind::SlotEnded)
            && let Some(block) = &sender.harq.process(process).block
        {
            let pdus = block.tti.pdus() as u32;
            self.ended.push_back((end, number, pdus, if lost { pdus } else { 0 }));
        }
        if lost {
            return self.tell(News { at, ue: number, epoch, what: What::Lost { process: over_all } });
        }
        if let Some(block) = sender.harq.process(process).block.take() {
            sender.counts.bits += u64::from(format.bits);
            ue.note_arrives(cx, Dir::Uplink, &block);
            let arrives = end + self.setup.delay;
            self.arrivals.push_back(Arrival { at: arrives, ue: number, epoch, block });
        }
        let what = What::Left { octets: left, slot: since, process: Some(over_all) };
        self.tell(News { at, ue: number, epoch, what });
    }
}
