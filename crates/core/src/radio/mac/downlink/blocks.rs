//! Blocks of a downlink slot: their units, contents and losses.

use super::{Answer, Downlink};
use crate::element::{Cx, bearer_index};
use crate::packet::Dir;
use crate::radio::mac::decibels::ratio;
use crate::radio::mac::harq::{Block, State};
use crate::radio::mac::ue::{Source, Ue};
use crate::radio::mac::{Arrival, Work};
use crate::radio::phy::air::Format;
use crate::trace::{Event, Kind};
use std::collections::VecDeque;

impl Downlink {
    /// Sends a new block within these units, if RLC has data for it.
    pub(super) fn send_new(
        &mut self,
        cx: &mut Cx<'_>,
        ue: &mut Ue,
        number: u16,
        units: u32,
        arrivals: &mut VecDeque<Arrival>,
        work: &mut Work,
    ) -> Option<Format> {
        let backlog = self.backlogs[usize::from(number)].take().unwrap_or_else(|| ue.backlog(cx.now));
        let wanted = ue.wanted(cx, backlog);
        let (row, units) = match self.free {
            None => (self.in_use[usize::from(number)], units),
            Some(_) => self.pick(ue, units, self.framing.bits(wanted)),
        };
        let most = self.blocks().format(row, units, u64::MAX)?;
        let format = match self.framing.fit(wanted, most.bits) {
            // No block carries so much.
            bits if bits > most.bits.into() => most,
            bits => self.blocks().format(row, units, bits)?,
        };
        let room = self.framing.room(format.bits);
        let process = ue.harq.free()?;
        let mut tti = work.spare.take();
        if room > 0 {
            ue.fill(cx, room, &mut tti, work);
        }
        if tti.is_empty() {
            work.spare.keep(tti);
            return None;
        }
        let block = Block { tti, number: ue.numbers.take() };
        ue.counts.blocks += 1;
        ue.counts.rows[usize::from(format.cqi)] += 1;
        let tests_row = self.tests_row(row, most, format);
        let steps = ue.reception.steps(self.air.as_ref(), self.rows, row, tests_row);
        ue.harq.begin(process, (format, steps), block, self.slot);
        self.take(ue, format.units);
        self.transmit(cx, ue, number, process, arrivals);
        // A block moves the timer of an active UE only where it frees room in the Node B.
        if matches!(ue.source, Source::NodeB(_)) {
            self.touched.push(number);
        }
        Some(format)
    }

    /// Picks subbands for a block of so many bits on `most` units at most; returns its row and units.
    fn pick(&mut self, ue: &Ue, most: u32, bits: u64) -> (u8, u32) {
        let Some(subbands) = &ue.reception.subbands else { return (0, 0) };
        let Some(mut free) = self.free.take() else { return (0, 0) };
        let (air, blocks, least) = (self.air.as_ref(), self.blocks(), self.rows.least);
        let carries =
            |row, units| blocks.format(row, units, u64::MAX).map_or(0, |format| u64::from(format.bits));
        let is_enough = |set, units| carries(ue.reception.row_on(air, set, least), units) >= bits;
        let (set, units) = free.pick(subbands, most, is_enough);
        let row = ue.reception.row_on(air, set, least);
        self.free = Some(free);
        (row, units)
    }

    /// Picks the best free subbands for a retransmission on so many units.
    pub(super) fn pick_units(&mut self, ue: &mut Ue, units: u32) {
        if let (Some(free), Some(subbands)) = (&mut self.free, &ue.reception.subbands) {
            free.pick(subbands, u32::MAX, |_, own| own >= units);
            self.take(ue, units);
        }
    }

    /// Takes the groups of a block out of the subbands picked last: its SINR is theirs.
    fn take(&mut self, ue: &mut Ue, units: u32) {
        if let (Some(free), Some(subbands)) = (&mut self.free, &mut ue.reception.subbands) {
            subbands.used = free.take(units.next_multiple_of(self.group));
        }
    }

    /// Whether a block is as large as its row allows: neither a lack of data nor of units has made it more
    /// robust. `most` is the largest block within the units.
    fn tests_row(&self, row: u8, most: Format, format: Format) -> bool {
        let has_units = self.largest(row).is_some_and(|(largest, _)| most.cqi >= largest.cqi);
        let room = |block: Format| self.framing.room(block.bits);
        has_units && (format.cqi >= most.cqi || room(format) >= room(most))
    }

    /// Transmits the block of a process in this slot.
    pub(super) fn transmit(
        &mut self,
        cx: &mut Cx<'_>,
        ue: &mut Ue,
        number: u16,
        process: u8,
        arrivals: &mut VecDeque<Arrival>,
    ) {
        let (slot, end) = (self.slot, self.start_of(self.slot + 1));
        ue.next_slot = slot + self.least_interval;
        ue.counts.slots += u64::from(self.carrier == 0 || ue.slot_until < end);
        ue.slot_until = ue.slot_until.max(end);
        let sinr = ue.reception.sinr(slot);
        if let Some(subbands) = &mut ue.reception.subbands {
            subbands.used = 0;
        }
        let delay = ue.bearers()[0].buffer.delay;
        let epoch = ue.harq.epoch;
        let carrier = self.carrier;
        self.answers.push_back(Answer {
            slot: self.frame.answered(slot),
            ue: number,
            carrier,
            process,
            epoch,
        });
        let draw = ue.reception.draw(slot);
        let in_silence = ue.silences.cover(self.slot_length, end);
        let this = ue.harq.process(process);
        debug_assert_eq!(this.state, State::Awaited);
        let lost = this.is_lost((self.air.as_ref(), &self.bler), self.combining, sinr, draw, in_silence);
        let (format, transmissions) = (this.format, this.transmissions);
        ue.counts.first_lost += u64::from(lost && transmissions == 1);
        if cx.probes(Kind::BlockSent) {
            let (row, Format { units, bits, .. }) = (self.air.number(format.cqi), format);
            let bearer = cx.bearer_number(bearer_index(number, Dir::Downlink));
            // Numbered over all carriers.
            let process = carrier * ue.harq.processes() + process;
            cx.probe(Kind::BlockSent, move || Event::BlockSent {
                ue: number,
                bearer,
                slot,
                process: process.into(),
                transmission: transmissions.into(),
                cqi: row,
                units,
                bits,
                sinr_thousandths: (ratio(sinr) * 1000.0) as u64,
                lost,
            });
        }
        if lost {
            return;
        }
        if let Some(block) = ue.harq.process(process).block.take() {
            ue.counts.bits += u64::from(format.bits);
            ue.note_arrives(cx, Dir::Downlink, &block);
            arrivals.push_back(Arrival { at: end + delay, ue: number, epoch, block });
        }
    }
}
