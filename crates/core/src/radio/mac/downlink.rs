//! Slot processing of a shared downlink: HARQ feedback, retransmissions, then scheduling of new blocks.

mod blocks;

use super::frame::Frame;
use super::load::Others;
use super::reception::Rows;
use super::subbands::Free;
use super::ue::Ue;
use super::{Arrival, Framing, Setup, Shares, Work, pop_if};
use crate::element::Cx;
use crate::mobility::CellLoad;
use crate::packet::Dir;
use crate::radio::phy::air::{Air, Format};
use crate::scheduler::Scheduler;
use crate::time::{Duration, Instant};
use std::collections::VecDeque;
use std::sync::Arc;

/// A ratio for which the highest row is reported.
pub(super) const EXCELLENT_DB: f32 = 1000.0;

/// The downlink of a cell.
pub(super) struct Downlink {
    slot_length: Duration,
    slot_s: f64,
    air: Box<dyn Air>,
    /// The blocks of special slots.
    special_air: Option<Box<dyn Air>>,
    framing: Framing,
    rows: Rows,
    /// By row, the block of a UE that gets all units and has enough to send; and in special slots.
    largest: [Vec<Option<(Format, f64)>>; 2],
    scheduler: Box<dyn Scheduler>,
    units: u32,
    group: u32,
    shares: Shares,
    carriers: u8,
    /// The carrier being processed.
    carrier: u8,
    ues_per_slot: usize,
    least_interval: u64,
    frame: Frame,
    max_transmissions: u8,
    combining: bool,
    /// Loss probability by transmission; the air interface decides if empty.
    bler: Vec<f64>,
    nack_as_ack: f64,
    /// The next slot to process.
    slot: u64,
    /// UEs with data, in the order of their indices; and by UE, whether it is one of them.
    active: Vec<u16>,
    is_active: Vec<bool>,
    /// UEs affected by the slot processed last.
    touched: Vec<u16>,
    /// Pending answers, in the order of their slots.
    answers: VecDeque<Answer>,
    /// By UE, possible bit rate in this slot, bit/s; zero outside of a slot.
    rates: Vec<f64>,
    /// By UE, data queued for blocks in this slot, cached until some of it is sent; `None` outside of a slot.
    backlogs: Vec<Option<u64>>,
    /// By UE with a rate in this slot, the row in use.
    in_use: Vec<u8>,
    /// UEs sent new data in this slot, with their rates.
    served: Vec<(usize, f64)>,
    /// UEs with a block to retransmit, by its age; reused.
    due: Vec<(u64, u16, u8)>,
    /// UEs that share this slot; reused.
    sharers: Vec<Sharer>,
    /// What the slot has left of each subband, if they fade on their own.
    free: Option<Free>,
    pub busy_slots: u64,
    /// Load of UEs that are not simulated.
    pub others: Option<Others>,
    /// The share of each slot's units that are sent, where the cell interferes with others.
    load: Option<Arc<CellLoad>>,
}

/// A UE that shares a slot with others, ordered by need, then by turn.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Sharer {
    groups: u32,
    turn: u64,
    number: usize,
}

/// The answer to a block that a UE was sent.
struct Answer {
    slot: u64,
    ue: u16,
    carrier: u8,
    process: u8,
    epoch: u32,
}

impl Downlink {
    pub fn new(setup: Setup, ues: usize, load: Option<Arc<CellLoad>>) -> Self {
        let Setup { slot, air, framing, scheduler, units, group, shares, ues_per_slot, .. } = setup;
        let last = air.cqi(EXCELLENT_DB);
        let with_room = |format: Format| (format, framing.carried_bits(framing.room(format.bits)));
        let largest = |of: &dyn Air| {
            (0..=last).map(|row| of.format(row, of.units(), u64::MAX).map(with_room)).collect()
        };
        let special_air = setup.special_air;
        Self {
            slot_length: slot,
            slot_s: slot.as_secs_f64(),
            rows: framing.rows(air.as_ref(), last),
            largest: [largest(air.as_ref()), special_air.as_deref().map_or_else(Vec::new, largest)],
            air,
            special_air,
            framing,
            scheduler,
            units,
            group,
            shares,
            carriers: setup.carriers,
            carrier: 0,
            ues_per_slot,
            least_interval: setup.least_interval,
            frame: setup.frame,
            max_transmissions: setup.harq.max_transmissions,
            combining: setup.harq.combining,
            bler: setup.harq.bler.iter().map(|bler| bler.as_f64()).collect(),
            nack_as_ack: setup.harq.nack_as_ack.as_f64(),
            slot: 0,
            active: Vec::new(),
            is_active: vec![false; ues],
            touched: Vec::new(),
            answers: VecDeque::new(),
            rates: vec![0.0; ues],
            backlogs: vec![None; ues],
            in_use: vec![0; ues],
            served: Vec::new(),
            due: Vec::new(),
            sharers: Vec::new(),
            free: setup.subband.map(|size| Free::new(units, size)),
            busy_slots: 0,
            others: None,
            load,
        }
    }

    /// Length of a slot.
    pub fn slot_length(&self) -> Duration {
        self.slot_length
    }

    pub fn slots_per_s(&self) -> f64 {
        1.0 / self.slot_length.as_secs_f64()
    }

    /// Whether the cell interferes with others.
    pub fn is_loud(&self) -> bool {
        self.load.is_some()
    }

    pub fn air(&self) -> &dyn Air {
        self.air.as_ref()
    }

    fn start_of(&self, slot: u64) -> Instant {
        Instant::from_nanos(slot * self.slot_length.as_nanos())
    }

    /// When it is decided who is sent to in a slot.
    fn decision_on(&self, slot: u64) -> Instant {
        self.start_of(slot - self.frame.lead())
    }

    /// The first slot that is not decided on before.
    fn open_slot(&self, now: Instant) -> u64 {
        now.as_nanos().div_ceil(self.slot_length.as_nanos()) + self.frame.lead()
    }

    /// Number of downlink slots that have started by then.
    pub fn slots_until(&self, now: Instant) -> u64 {
        self.frame.downs_in(now.as_nanos().div_ceil(self.slot_length.as_nanos()))
    }

    /// Number of new blocks that a UE alone in the cell could have had by then.
    pub fn blocks_until(&self, now: Instant) -> f64 {
        self.slots_until(now) as f64 * f64::from(self.carriers) / self.least_interval.max(1) as f64
    }

    pub fn is_active(&self, ue: usize) -> bool {
        self.is_active[ue]
    }

    /// Adds a UE to the UEs that the next slots serve; returns whether it is new there.
    fn insert(&mut self, ue: u16) -> bool {
        let was_active = std::mem::replace(&mut self.is_active[usize::from(ue)], true);
        if !was_active {
            let place = self.active.partition_point(|other| *other < ue);
            self.active.insert(place, ue);
        }
        !was_active
    }

    /// Activates a UE that has data to send.
    pub fn activate(&mut self, cx: &mut Cx<'_>, ue: usize, timer: u32) {
        if self.insert(ue as u16) && self.active.len() == 1 {
            self.pass_until(self.open_slot(cx.now));
            self.arm(cx, timer);
        }
    }

    /// Skips slots in which no UE is served.
    fn pass_until(&mut self, slot: u64) {
        if slot > self.slot {
            self.scheduler.handle_slots(slot - self.slot, &[]);
            self.slot = slot;
        }
    }

    /// Takes a UE affected by the slot processed last; `None` if there are no more.
    pub fn take_touched(&mut self) -> Option<u16> {
        self.touched.pop()
    }

    /// Sets the timer to the next slot if a UE is active, otherwise to the next answer.
    pub fn arm(&self, cx: &mut Cx<'_>, timer: u32) {
        let slot = match (self.active.is_empty(), self.answers.front()) {
            (false, _) => self.slot,
            (true, Some(answer)) => answer.slot,
            (true, None) => return cx.disarm(timer),
        };
        cx.arm(timer, self.decision_on(self.frame.next_down(slot)));
    }

    /// A slot is decided on.
    pub fn handle_slot(
        &mut self,
        cx: &mut Cx<'_>,
        ues: &mut [Ue],
        arrivals: &mut VecDeque<Arrival>,
        work: &mut Work,
    ) {
        self.pass_until(self.open_slot(cx.now));
        self.handle_answers(cx, ues, work);
        let (mut to, mut sent) = (0, 0);
        let taken = self.others.as_mut().map_or(0, |others| others.units(self.slot, self.units, self.group));
        for carrier in 0..self.carriers {
            self.select(ues, carrier);
            let mut left = self.units;
            self.free.iter_mut().for_each(Free::reset);
            self.repeat(cx, ues, arrivals, work, &mut left, &mut to);
            left = left.min(self.units - taken);
            self.serve(cx, ues, arrivals, work, &mut left, &mut to);
            sent += self.units - left;
            self.select(ues, carrier);
        }
        self.busy_slots += u64::from(to > 0);
        if let Some(load) = &self.load {
            load.publish(self.slot, sent as f32 / (self.air.units() * u32::from(self.carriers)) as f32);
        }
        self.scheduler.handle_slots(1, &self.served);
        self.served.clear();
        self.slot += 1;
        let Self { active, is_active, touched, backlogs, .. } = self;
        active.retain(|&ue| {
            let number = usize::from(ue);
            let works = ues[number].has_work_with(cx.now, backlogs[number].take());
            if !works {
                is_active[number] = false;
                touched.push(ue);
            }
            works
        });
    }

    /// Swaps the UEs' state of the first carrier with that of this carrier; a second call reverts the swap.
    fn select(&mut self, ues: &mut [Ue], carrier: u8) {
        self.carrier = carrier;
        if carrier > 0 {
            self.active.iter().for_each(|ue| ues[usize::from(*ue)].select(carrier));
        }
    }

    fn handle_answers(&mut self, cx: &mut Cx<'_>, ues: &mut [Ue], work: &mut Work) {
        let slot = self.slot;
        while let Some(answer) = pop_if(&mut self.answers, |answer| answer.slot <= slot) {
            let Answer { ue: number, carrier, process, epoch, .. } = answer;
            let ue = &mut ues[usize::from(number)];
            if epoch != ue.harq.epoch {
                continue;
            }
            ue.select(carrier);
            let this = ue.harq.process(process);
            let (transmissions, steps) = (this.transmissions, this.steps);
            // The answer as decoded by the network; the block is lost either way.
            let nack = this.block.is_some() && !ue.reception.misreads(slot, self.nack_as_ack);
            if transmissions == 1 {
                ue.reception.handle_first(!nack, steps);
            }
            if nack && transmissions < self.max_transmissions {
                ue.harq.set_due(process);
                self.insert(number);
            } else if let Some(block) = ue.harq.end(process) {
                ue.lose(cx, Dir::Downlink, block, work);
                self.touched.push(number);
            }
            ue.select(carrier);
        }
    }

    /// Retransmits pending blocks.
    fn repeat(
        &mut self,
        cx: &mut Cx<'_>,
        ues: &mut [Ue],
        arrivals: &mut VecDeque<Arrival>,
        work: &mut Work,
        left: &mut u32,
        to: &mut usize,
    ) {
        // A retransmission needs the same resource elements, which a special slot does not have.
        let has_room = !self.is_special();
        let mut due = std::mem::take(&mut self.due);
        for &number in &self.active {
            let ue = &mut ues[usize::from(number)];
            if !ue.harq.has_due() {
                continue;
            }
            if ue.give_up_behind(cx, work) {
                self.touched.push(number);
            }
            if has_room
                && self.may_send(cx.now, ue)
                && let Some((since, process)) = ue.harq.first_due()
            {
                due.push((since, number, process));
            }
        }
        due.sort_unstable();
        for (since, number, process) in due.drain(..) {
            let ue = &mut ues[usize::from(number)];
            let units = self.units_again(ue.harq.process(process).format, since);
            if *to < self.ues_per_slot && units <= *left {
                *left -= units.next_multiple_of(self.group).min(*left);
                *to += 1;
                ue.harq.set_awaited(process);
                ue.counts.repeats += 1;
                self.pick_units(ue, units);
                self.transmit(cx, ue, number, process, arrivals);
            }
        }
        self.due = due;
    }

    /// Units for the retransmission of a block sent in slot `since`: fewer if that was a special slot.
    fn units_again(&self, format: Format, since: u64) -> u32 {
        if !self.frame.is_special(since) {
            return format.units;
        }
        let whole = self.air.format(format.cqi, format.units, format.bits.into());
        whole.map_or(format.units, |whole| whole.units)
    }

    fn is_special(&self) -> bool {
        self.frame.is_special(self.slot)
    }

    /// The blocks of this slot.
    fn blocks(&self) -> &dyn Air {
        match &self.special_air {
            Some(special) if self.is_special() => special.as_ref(),
            _ => self.air.as_ref(),
        }
    }

    /// The largest block of a row in this slot, and its bits for PDUs.
    fn largest(&self, row: u8) -> Option<(Format, f64)> {
        self.largest[usize::from(self.is_special())][usize::from(row)]
    }

    /// Whether the UE may be sent to in this slot.
    fn may_send(&self, now: Instant, ue: &Ue) -> bool {
        self.slot >= ue.next_slot && now >= ue.paused_until
    }

    /// Sends queued data to the UEs that the scheduler chooses.
    fn serve(
        &mut self,
        cx: &mut Cx<'_>,
        ues: &mut [Ue],
        arrivals: &mut VecDeque<Arrival>,
        work: &mut Work,
        left: &mut u32,
        to: &mut usize,
    ) {
        if *left == 0 || *to >= self.ues_per_slot {
            return;
        }
        let mut candidates = 0;
        for &number in &self.active {
            let ue = &mut ues[usize::from(number)];
            // A UE with a retransmission in this slot has a later `next_slot`.
            if !self.may_send(cx.now, ue) || ue.harq.free().is_none() {
                continue;
            }
            let backlog = ue.backlog(cx.now);
            self.backlogs[usize::from(number)] = Some(backlog);
            if backlog == 0 {
                continue;
            }
            let row = ue.reception.row(self.air.as_ref(), self.slot, self.rows.least);
            if let Some((largest, bits)) = self.largest(row) {
                ue.counts.alone.note(bits);
                self.rates[usize::from(number)] = self.bit_rate(largest);
                self.in_use[usize::from(number)] = row;
                candidates += 1;
            }
        }
        let groups = left.div_ceil(self.group);
        if self.shares == Shares::MaxMin && candidates > 1 {
            self.choose_sharers(cx, ues, groups.min((self.ues_per_slot - *to) as u32));
            let mut sharers = std::mem::take(&mut self.sharers);
            for (place, sharer) in sharers.iter().enumerate() {
                let share = left.div_ceil(self.group) / (sharers.len() - place) as u32 * self.group;
                self.send_share(cx, ues, sharer.number, share, arrivals, work, left, to);
            }
            sharers.clear();
            self.sharers = sharers;
        } else {
            let share = match self.shares {
                Shares::Equal if candidates > 0 => {
                    (groups / candidates.min((self.ues_per_slot - *to) as u32)).max(1) * self.group
                }
                _ => *left,
            };
            while *left > 0
                && *to < self.ues_per_slot
                && let Some(number) = self.scheduler.choose(&self.rates)
            {
                self.rates[number] = 0.0;
                self.send_share(cx, ues, number, share, arrivals, work, left, to);
            }
        }
        for &number in &self.active {
            self.rates[usize::from(number)] = 0.0;
        }
    }

    fn bit_rate(&self, block: Format) -> f64 {
        f64::from(block.bits) / self.slot_s
    }

    /// Fills `sharers` with at most `most` UEs chosen by the scheduler. The UE with the least need comes
    /// first, so its unused share goes to the others. UEs of equal need take turns in the last place, as the
    /// last UE gets the indivisible rest.
    fn choose_sharers(&mut self, cx: &mut Cx<'_>, ues: &[Ue], most: u32) {
        while self.sharers.len() < most as usize
            && let Some(number) = self.scheduler.choose(&self.rates)
        {
            self.rates[number] = 0.0;
            let ue = &ues[number];
            let row = self.in_use[number];
            let backlog = self.backlogs[number].unwrap_or_else(|| ue.backlog(cx.now));
            let wanted = self.framing.bits(ue.wanted(cx, backlog));
            let units = match self.largest(row) {
                Some((largest, _)) if wanted > largest.bits.into() => self.units,
                _ => self.blocks().format(row, self.units, wanted).map_or(0, |format| format.units),
            };
            self.sharers.push(Sharer { groups: units.div_ceil(self.group), turn: 0, number });
        }
        let all = self.sharers.len() as u64;
        for (place, sharer) in (self.slot..).zip(&mut self.sharers) {
            sharer.turn = place % all;
        }
        self.sharers.sort_unstable();
    }

    /// Sends a new block to a UE within its share of the remaining units.
    #[expect(clippy::too_many_arguments, reason = "state of a slot that its steps share")]
    fn send_share(
        &mut self,
        cx: &mut Cx<'_>,
        ues: &mut [Ue],
        number: usize,
        share: u32,
        arrivals: &mut VecDeque<Arrival>,
        work: &mut Work,
        left: &mut u32,
        to: &mut usize,
    ) {
        let units = share.min(*left);
        let Some(sent) = self.send_new(cx, &mut ues[number], number as u16, units, arrivals, work) else {
            return;
        };
        *left -= sent.units.next_multiple_of(self.group).min(*left);
        *to += 1;
        let rate = self.bit_rate(sent);
        let before = if self.carrier > 0 { self.served.iter_mut().find(|own| own.0 == number) } else { None };
        match before {
            Some(own) => own.1 += rate,
            None => self.served.push((number, rate)),
        }
    }
}
