//! Decisions of the network on an uplink slot: UEs and their blocks.

use super::Uplink;
use super::sender::{Grant, Planned};
use crate::element::Cx;
use crate::radio::mac::reception::Steps;
use crate::radio::mac::ue::Ue;
use crate::radio::phy::air::Format;

/// Minimum room of a block, octets: with less, headers of RLC (2 to 5 octets) outweigh the data.
const LEAST_ROOM: u64 = 10;

impl Uplink {
    /// Grants the blocks of the slot `undecided`.
    pub(super) fn decide(&mut self, cx: &mut Cx<'_>, ues: &[Ue]) {
        let slot = self.undecided;
        self.undecided += 1;
        let mut grants = Vec::new();
        let mut left_on_first = 0;
        for carrier in 0..self.setup.carriers {
            self.select(carrier);
            let left = self.decide_on(cx, ues, (slot, carrier), &mut grants);
            self.select(carrier);
            if carrier == 0 {
                left_on_first = left;
            }
        }
        self.setup.scheduler.handle_slots(slot + 1 - self.scheduled, &self.served);
        self.scheduled = slot + 1;
        self.served.clear();
        if !grants.is_empty() {
            self.planned.push_back(Planned { slot, left: left_on_first, grants });
        }
        let senders = &self.senders;
        self.asking.retain(|ue| senders[usize::from(*ue)].asks());
    }

    /// Swaps the asking UEs' state of the first carrier with that of this carrier; a second call reverts the swap.
    fn select(&mut self, carrier: u8) {
        if carrier > 0 {
            self.asking.iter().for_each(|ue| self.senders[usize::from(*ue)].select(carrier));
        }
    }

    /// Grants the blocks of a carrier, which is selected; returns the units that are left.
    fn decide_on(
        &mut self,
        cx: &mut Cx<'_>,
        ues: &[Ue],
        (slot, carrier): (u64, u8),
        grants: &mut Vec<Grant>,
    ) -> u32 {
        let mut left = self.setup.air.units();
        let mut due: Vec<_> = self
            .asking
            .iter()
            .filter(|ue| cx.now >= ues[usize::from(**ue)].paused_until)
            .filter_map(|&ue| Some((self.senders[usize::from(ue)].harq.first_due()?, ue)))
            .collect();
        due.sort_unstable();
        for &((_, process), ue) in &due {
            let sender = &mut self.senders[usize::from(ue)];
            let format = sender.harq.process(process).format;
            if format.units <= left {
                left -= format.units;
                sender.harq.set_awaited(process);
                let (epoch, steps) = (sender.harq.epoch, Steps::default());
                grants.push(Grant { ue, carrier, epoch, format, again: Some(process), steps });
            }
        }
        for &ue in &self.asking {
            let number = usize::from(ue);
            let is_due = due.iter().any(|(_, other)| *other == ue);
            let sender = &mut self.senders[number];
            let needed = sender.needed();
            let has_data = sender.requested || needed > 0;
            if !is_due && has_data && sender.harq.free().is_some() && cx.now >= ues[number].paused_until {
                let estimate = sender.reception.estimate(slot);
                let Some(largest) = self.fit(estimate, self.setup.air.units(), u64::MAX) else { continue };
                self.rates[number] = self.bit_rate(largest);
                let room = self.room_alone(estimate, needed, largest);
                self.senders[number].counts.alone.note(self.setup.framing.carried_bits(room));
            }
        }
        while left > 0
            && let Some(number) = self.setup.scheduler.choose(&self.rates)
        {
            self.rates[number] = 0.0;
            let sender = &mut self.senders[number];
            let octets = match (sender.needed(), self.setup.ramp) {
                (0, _) => self.setup.first_block,
                (needed, None) => needed.min(self.setup.most_block),
                (needed, Some(ramp)) => sender.raise(ramp, self.setup.first_block).min(needed),
            };
            let estimate = sender.reception.estimate(slot);
            let Some(format) = self.fit(estimate, left, octets) else { continue };
            let steps = self.steps(number, estimate, format);
            left -= format.units;
            self.note_served(carrier, number, self.bit_rate(format));
            let room = self.setup.framing.room(format.bits).saturating_sub(self.headers).min(octets);
            let granted_to = &mut self.senders[number];
            granted_to.requested = false;
            granted_to.granted.push_back((slot, room.max(1)));
            granted_to.unfilled += 1;
            let (ue, epoch) = (number as u16, granted_to.harq.epoch);
            grants.push(Grant { ue, carrier, epoch, format, again: None, steps });
        }
        self.rates.fill(0.0);
        left
    }

    /// Room of the largest block that a UE alone would be granted, if its SINR allows the block `largest`.
    fn room_alone(&self, estimate: f32, needed: u64, largest: Format) -> u64 {
        let (room, most) = (self.setup.framing.room(largest.bits), self.setup.most_block);
        let cut = most.saturating_add(self.headers);
        if room <= cut || needed < most {
            // A search for the block of this room is only worth its time for a UE that needs it.
            return room.min(cut);
        }
        let granted = self.fit(estimate, self.setup.air.units(), most);
        granted.map_or(room, |block| self.setup.framing.room(block.bits))
    }

    /// Notes the rate of a block for the scheduler, added over the carriers.
    fn note_served(&mut self, carrier: u8, number: usize, rate: f64) {
        let before = if carrier > 0 { self.served.iter_mut().find(|own| own.0 == number) } else { None };
        match before {
            Some(own) => own.1 += rate,
            None => self.served.push((number, rate)),
        }
    }

    fn bit_rate(&self, block: Format) -> f64 {
        f64::from(block.bits) / self.setup.slot.as_secs_f64()
    }

    /// The block on the fewest PRBs, up to `most`, that carries `octets` octets of SDUs at this SINR of a
    /// single PRB, or else the largest one. A UE gets no more PRBs than its power supports with the lowest
    /// row and all retransmissions, unless a PDU needs them.
    pub(super) fn fit(&self, sinr_db: f32, most: u32, octets: u64) -> Option<Format> {
        let air = self.setup.air.as_ref();
        let wanted = match octets {
            u64::MAX => u64::MAX,
            octets => self.setup.framing.bits(octets + self.headers),
        };
        if !air.units_share_power() {
            return air.format(air.cqi(sinr_db), most, wanted);
        }
        let mut best: Option<Format> = None;
        let mut prbs = 1;
        // Sizes are compared in steps of 1/16, and the last step is made finer.
        while prbs <= most {
            let of_one = sinr_db - self.spread_db[prbs as usize];
            let row = air.cqi(of_one);
            let is_of_use = |format: Format| self.setup.framing.room(format.bits) >= LEAST_ROOM;
            if row == 0 && air.cqi(of_one + self.combined_db) == 0 && best.is_some_and(is_of_use) {
                break;
            }
            let row = row.max(1);
            let Some(format) = air.format(row, prbs, u64::MAX) else { break };
            if best.is_none_or(|best| best.bits < format.bits) {
                best = Some(format);
            }
            if u64::from(format.bits) >= wanted {
                best = air.format(row, prbs, wanted);
                break;
            }
            prbs = match prbs {
                last if last == most => break,
                prbs => (prbs + (prbs / 16).max(1)).min(most),
            };
        }
        best
    }

    /// Outer-loop steps that the answer to a block may cause.
    pub(super) fn steps(&self, ue: usize, estimate: f32, format: Format) -> Steps {
        let on_one = estimate - self.senders[ue].reception.offset;
        let lowest = self.setup.air.least_sinr(1) + self.spread_db[format.units as usize] - on_one;
        Steps::new(format.cqi < self.highest, lowest)
    }
}
