//! The uplink of a cell, which the network schedules: scheduling requests, buffer status reports, grants, HARQ.
//!
//! ```text
//! data -> SR in its occasion -> grant -> block with BSR -> grants until the BSR says 0
//! ```
//!
//! A UE whose data is unknown to the network sends a scheduling request (SR) in its next occasion, the first
//! uplink slot at or after each multiple of `sr_period`. The network grants it `first_block`. Each block
//! carries a buffer status report (BSR) of the data that remains, for which the network grants blocks of
//! `most_block` at most, minus its grants since then. Information from an uplink slot counts in decisions
//! after [`Frame::processing`]; the decision for an uplink slot is that of the last downlink slot that can
//! grant it. In a decision lost blocks come first, the oldest first, then the UEs that the scheduler chooses
//! among the UEs with requests.
//!
//! A standing grant needs no request: the UE has a block of a given size in each uplink slot at or after each
//! multiple of a period, if resource blocks are left. A UE with standing grants sends no SR.
//!
//! A block is filled one slot before its transmission. It arrives at the end of its slot plus the delay of
//! the uplink. The SINR of a UE is that of a single PRB at full power: on n PRBs it is 10 log10(n) less, so a
//! UE far away gets fewer PRBs. On several carriers each has an equal share of the power, 10 log10(carriers) less.
//!
//! Carriers are decided on one after the other, each with its own HARQ, fading and outer loop. Requests and standing grants
//! use the first; a buffer status report is about the UE and comes with a block of any.
//!
//! Units of `first_block`, `most_block` and standing blocks are octets of SDUs: a block is larger by [`HEADERS`].
//!
//! Left out: the levels of a BSR (values are exact), sr-ProhibitTimer and sr-TransMax, errors of control
//! channels, random access, priorities of logical channels. Whether an SR is still needed is decided when it
//! arrives.
//!
//! Sources: TS 38.321 §5.4 (SR, BSR, HARQ), TS 38.213 §9.2.4 (occasions), TS 38.214 §6.1.

mod blocks;
mod grants;
mod sender;

use super::downlink::EXCELLENT_DB;
use super::ue::Ue;
use super::{Frame, Framing, HarqConfig, Work, pop_if};
use crate::element::{Adopt, Cx, FAR, bearer_index};
use crate::packet::Dir;
use crate::radio::phy::air::Air;
use crate::scheduler::Scheduler;
use crate::time::{Duration, Instant};
use crate::trace::{Event, Kind};
use crate::units::Bitrate;
pub(in crate::radio) use sender::Sender;
use sender::{Arrival, News, Planned, What};
use serde_json::Value;
use std::collections::VecDeque;

/// Octets of a block for the headers of MAC, RLC and PDCP: 11 for each of three SDUs or segments.
const HEADERS: u64 = 33;

/// Grants that increase step by step from the first one.
#[derive(Clone, Copy, Debug)]
pub(in crate::radio) struct Ramp {
    /// Factor of a step.
    pub step: f64,
    /// A grant rises while the buffer has more than this many blocks of it.
    pub patience: f64,
}

/// Parameters of the uplink of a kind of cell.
pub(in crate::radio) struct UplinkSetup {
    pub frame: Frame,
    pub slot: Duration,
    pub air: Box<dyn Air>,
    pub framing: Framing,
    pub scheduler: Box<dyn Scheduler>,
    pub harq: HarqConfig,
    /// Time between two occasions for an SR, slots.
    pub sr_period: u64,
    /// Octets granted for an SR.
    pub first_block: u64,
    /// Maximum number of octets granted to a UE per slot on a carrier.
    pub most_block: u64,
    /// Number of carriers with equal parameters.
    pub carriers: u8,
    /// Standing grants: distance in slots, and octets of each.
    pub standing: Option<(u64, u64)>,
    /// How grants of a UE rise; at once if absent.
    pub ramp: Option<Ramp>,
    /// From the end of a slot to the packet that the network passes on.
    pub delay: Duration,
}

impl UplinkSetup {
    /// Rate of a UE that is alone in the cell, with the largest blocks that it is granted.
    pub fn largest_rate(&self) -> Bitrate {
        let units = self.air.units();
        let largest =
            self.air.format(self.air.cqi(EXCELLENT_DB), units, u64::MAX).map_or(0, |block| block.bits);
        let bits = u64::from(largest).min(self.most_block.saturating_mul(8)) * u64::from(self.carriers);
        let share = self.frame.ups_in(self.frame.period()) as f64 / self.frame.period() as f64;
        Bitrate::from_bps((bits as f64 * share / self.slot.as_secs_f64()) as u64)
    }
}

/// The uplink of a cell.
pub(super) struct Uplink {
    setup: UplinkSetup,
    /// Loss probability by transmission; the air interface decides if empty.
    bler: Vec<f64>,
    /// SINR loss on n PRBs of a carrier compared with a single PRB at full power, dB, by n.
    spread_db: Vec<f32>,
    highest: u8,
    /// Gain of combining all transmissions of a block over a single one, dB.
    combined_db: f32,
    /// Room of a block for headers of its SDUs, in the unit of the entity.
    headers: u64,
    /// Whether blocks are put in order before RLC.
    orders: bool,
    senders: Vec<Sender>,
    /// UEs with ungranted data known to the network, in the order of their indices.
    asking: Vec<u16>,
    /// UEs with standing grants and data to send.
    waiting: Vec<u16>,
    /// The first uplink slot that is not decided on.
    undecided: u64,
    /// Granted slots, in their order.
    planned: VecDeque<Planned>,
    /// The slot filled last, and its unused units.
    filled: (u64, u32),
    /// Information that the network will receive, in order of time.
    news: VecDeque<News>,
    arrivals: VecDeque<Arrival>,
    /// Pending ends of slots for probes: UE, PDUs sent and lost.
    ended: VecDeque<(Instant, u16, u32, u32)>,
    /// UEs affected by recent events.
    touched: Vec<u16>,
    rates: Vec<f64>,
    served: Vec<(usize, f64)>,
    /// End of the slots reported to the scheduler.
    scheduled: u64,
}

impl Uplink {
    pub fn new(setup: UplinkSetup, senders: Vec<Sender>) -> Self {
        let shared = setup.air.units_share_power();
        let carriers = u32::from(setup.carriers);
        let spread =
            |prbs: u32| if shared { 10.0 * libm::log10f((prbs.max(1) * carriers) as f32) } else { 0.0 };
        Self {
            bler: setup.harq.bler.iter().map(|bler| bler.as_f64()).collect(),
            spread_db: (0..=setup.air.units()).map(spread).collect(),
            rates: vec![0.0; senders.len()],
            highest: setup.air.cqi(EXCELLENT_DB),
            combined_db: match setup.harq.combining {
                true => 10.0 * libm::log10f(setup.harq.max_transmissions.into()),
                false => 0.0,
            },
            headers: if matches!(setup.framing, Framing::Pdus { .. }) { 0 } else { HEADERS },
            orders: senders.iter().any(|sender| sender.order.is_some()),
            setup,
            senders,
            asking: Vec::new(),
            waiting: Vec::new(),
            undecided: 0,
            planned: VecDeque::new(),
            filled: (0, 0),
            news: VecDeque::new(),
            arrivals: VecDeque::new(),
            ended: VecDeque::new(),
            touched: Vec::new(),
            served: Vec::new(),
            scheduled: 0,
        }
    }

    /// Adopts the mean SINR of another uplink; returns whether any differs.
    #[cold]
    pub fn adopt(&mut self, fresh: Self, how: Adopt) -> bool {
        let each = self.senders.iter_mut().zip(fresh.senders);
        each.fold(false, |differs, (own, new)| own.adopt(new, how) | differs)
    }

    /// Bytes that the UE could have sent by then, alone in the cell; `None` if it never asked for a grant.
    pub fn most_bytes(&self, ue: usize, now: Instant) -> Option<f64> {
        let slots = self.setup.frame.ups_in(self.slot_from(now));
        self.senders[ue].counts.alone.bytes(slots as f64 * f64::from(self.setup.carriers))
    }

    pub fn report(&self, ue: usize) -> Value {
        self.senders[ue].report()
    }

    fn start_of(&self, slot: u64) -> Instant {
        Instant::from_nanos(slot * self.setup.slot.as_nanos())
    }

    /// The first slot that starts then or later.
    fn slot_from(&self, now: Instant) -> u64 {
        now.as_nanos().div_ceil(self.setup.slot.as_nanos())
    }

    /// When the network can use the contents of a slot in a decision.
    fn known_after(&self, slot: u64) -> Instant {
        self.start_of(slot + 1 + self.setup.frame.processing())
    }

    /// When it is decided on an uplink slot; never if that would be before the run.
    fn decision_on(&self, slot: u64) -> Option<Instant> {
        let granting = self.setup.frame.granting(slot)?;
        Some(self.start_of(granting.checked_sub(self.setup.frame.lead())?))
    }

    /// The first uplink slot with a standing grant of the UE from this one on.
    fn standing_slot(&self, every: u64, ue: u16, from: u64) -> u64 {
        let offset = u64::from(ue) % every;
        let mut at = from.saturating_sub(offset) / every * every + offset;
        loop {
            let slot = self.setup.frame.next_up(at);
            if slot >= from {
                return slot;
            }
            at += every;
        }
    }

    /// The next slot in which a standing grant is used.
    fn next_standing(&self, now: Instant) -> Option<u64> {
        let (every, _) = self.setup.standing?;
        let from = self.slot_from(now) + 1;
        let next = |ue: &u16| {
            let behind = self.senders[usize::from(*ue)].passed.map_or(0, |slot| slot + 1);
            self.standing_slot(every, *ue, from.max(behind))
        };
        self.waiting.iter().map(next).min()
    }

    /// Time of the next event.
    pub fn next_event(&mut self, now: Instant) -> Instant {
        let mut next = self.news.front().map_or(Instant::NEVER, |news| news.at);
        next = next.min(self.arrivals.front().map_or(Instant::NEVER, |arrival| arrival.at));
        next = next.min(self.ended.front().map_or(Instant::NEVER, |ended| ended.0));
        if self.orders {
            next = self.senders.iter().map(Sender::order_expiry).fold(next, Instant::min);
        }
        if !self.asking.is_empty() {
            next = next.min(self.next_decision(now));
        }
        let planned = self.planned.front().map(|planned| planned.slot);
        let standing = if self.waiting.is_empty() { None } else { self.next_standing(now) };
        let fill = planned.into_iter().chain(standing).min();
        next.min(fill.map_or(Instant::NEVER, |slot| self.start_of(slot - 1)))
    }

    /// When the next uplink slot is decided on whose decision is not past.
    fn next_decision(&mut self, now: Instant) -> Instant {
        loop {
            let slot = self.setup.frame.next_up(self.undecided);
            match self.decision_on(slot) {
                Some(at) if at >= now => {
                    self.undecided = slot;
                    return at;
                }
                _ => self.undecided = slot + 1,
            }
        }
    }

    /// Checks a UE for new data to send. Returns whether the time of the next event changes.
    #[inline]
    pub fn note(&mut self, now: Instant, ue: &Ue, number: u16) -> bool {
        let wanted = ue.pair.deadline(Dir::Uplink);
        let sender = &mut self.senders[usize::from(number)];
        if wanted > now {
            return false;
        }
        sender.since.get_or_insert(now);
        if self.setup.standing.is_some() {
            let place = self.waiting.binary_search(&number);
            if let Err(place) = place {
                self.waiting.insert(place, number);
            }
            return place.is_err();
        }
        if !sender.told && sender.unfilled == 0 {
            sender.told = true;
            sender.counts.requests += 1;
            let epoch = sender.harq.epoch;
            let slot = self.occasion(number, self.slot_from(now.max(ue.paused_until)));
            self.tell(News { at: self.known_after(slot), ue: number, epoch, what: What::Request });
            return true;
        }
        false
    }

    /// The first uplink slot from this one on in which the UE may send an SR.
    fn occasion(&self, ue: u16, from: u64) -> u64 {
        self.standing_slot(self.setup.sr_period, ue, from)
    }

    fn tell(&mut self, news: News) {
        let place = self.news.partition_point(|other| other.at <= news.at);
        self.news.insert(place, news);
    }

    /// The part of a wait that is caused by grants rather than by a queue.
    pub fn grant_delay(&self, now: Instant, ue: usize) -> Duration {
        let sender = &self.senders[ue];
        match sender.since {
            Some(since) if sender.delay.is_zero() => now.since(since),
            _ => sender.delay,
        }
    }

    /// Takes a UE affected by recent events; `None` if there are no more.
    pub fn take_touched(&mut self) -> Option<u16> {
        self.touched.pop()
    }

    /// Discards grants; blocks in transit are lost.
    pub fn change_cell(&mut self, cx: &mut Cx<'_>, ue: &mut Ue, number: u16, work: &mut Work) {
        let sender = &mut self.senders[usize::from(number)];
        for block in sender.flush() {
            ue.lose(cx, Dir::Uplink, block, work);
        }
        sender.reset_order(cx, ue, work);
        (sender.known, sender.serving) = ((0, 0), 0.0);
        sender.granted.clear();
        (sender.requested, sender.told, sender.unfilled) = (false, false, 0);
        (sender.since, sender.delay) = (None, Duration::ZERO);
        self.asking.retain(|other| *other != number);
        self.waiting.retain(|other| *other != number);
    }

    /// A pause without a planned end is over: the UE may ask again.
    #[cold]
    pub fn resume(&mut self, number: u16) {
        let is_never =
            |news: &News| news.ue == number && news.at >= FAR && matches!(news.what, What::Request);
        if let Some(place) = self.news.iter().position(is_never) {
            self.news.remove(place);
            let sender = &mut self.senders[usize::from(number)];
            sender.told = false;
            sender.counts.requests -= 1;
        }
    }

    /// Drops blocks that a UE has sent and that are not delivered yet.
    #[cold]
    pub fn flush(&mut self, number: u16) {
        self.arrivals.retain(|arrival| arrival.ue != number);
    }

    /// Handles expired timers.
    pub fn handle_timer(&mut self, cx: &mut Cx<'_>, ues: &mut [Ue], work: &mut Work) {
        while let Some((_, ue, pdus_sent, pdus_lost)) = pop_if(&mut self.ended, |ended| ended.0 <= cx.now) {
            if cx.probes(Kind::SlotEnded) {
                let bearer = cx.bearer_number(bearer_index(ue, Dir::Uplink));
                let direction = Dir::Uplink;
                let event = Event::SlotEnded { ue, bearer, direction, pdus_sent, pdus_lost };
                cx.probe(Kind::SlotEnded, move || event);
            }
        }
        while let Some(arrival) = pop_if(&mut self.arrivals, |arrival| arrival.at <= cx.now) {
            let Arrival { ue: number, epoch, block, .. } = arrival;
            let ue = &mut ues[usize::from(number)];
            let sender = &mut self.senders[usize::from(number)];
            if epoch != sender.harq.epoch {
                ue.lose(cx, Dir::Uplink, block, work);
            } else if let Some(refused) = sender.put_in_order(cx, ue, block, work) {
                ue.lose(cx, Dir::Uplink, refused, work);
            }
            self.touched.push(number);
        }
        if self.orders {
            for (number, (sender, ue)) in self.senders.iter_mut().zip(ues.iter_mut()).enumerate() {
                if sender.order_expiry() <= cx.now {
                    sender.give_gaps_up(cx, ue, work);
                    self.touched.push(number as u16);
                }
            }
        }
        while let Some(news) = pop_if(&mut self.news, |news| news.at <= cx.now) {
            self.learn(cx, ues, news, work);
        }
        if !self.asking.is_empty() && self.next_decision(cx.now) <= cx.now {
            self.decide(cx, ues);
        }
        self.fill_slot(cx, ues, work);
    }

    fn learn(&mut self, cx: &mut Cx<'_>, ues: &mut [Ue], news: News, work: &mut Work) {
        let number = usize::from(news.ue);
        let sender = &mut self.senders[number];
        if news.epoch != sender.harq.epoch {
            return;
        }
        let processes = sender.harq.processes();
        let carrier = match news.what {
            What::Left { process: Some(process), .. } | What::Lost { process } => process / processes,
            What::Request | What::Left { process: None, .. } => 0,
        };
        sender.select(carrier);
        match news.what {
            What::Request => sender.requested = sender.needed() == 0 && sender.unfilled == 0,
            What::Left { octets, slot, process } => {
                if let Some(process) = process.map(|over_all| over_all % processes) {
                    if sender.harq.process(process).transmissions == 1 {
                        let steps = sender.harq.process(process).steps;
                        sender.reception.handle_first(true, steps);
                    }
                    sender.harq.end(process);
                }
                if slot >= sender.known.1 {
                    sender.known = (octets, slot);
                    if octets == 0 {
                        sender.serving = 0.0;
                    }
                    while pop_if(&mut sender.granted, |(at, _)| *at <= slot).is_some() {}
                }
            }
            What::Lost { process } => {
                let process = process % processes;
                let this = sender.harq.process(process);
                let (transmissions, steps) = (this.transmissions, this.steps);
                if transmissions == 1 {
                    sender.reception.handle_first(false, steps);
                }
                if transmissions < self.setup.harq.max_transmissions {
                    sender.harq.set_due(process);
                } else if let Some(block) = sender.harq.end(process) {
                    // With the block its BSR is lost: the UE asks again.
                    sender.told = false;
                    sender.counts.blocks_lost += 1;
                    ues[number].lose(cx, Dir::Uplink, block, work);
                    self.touched.push(news.ue);
                }
            }
        }
        self.senders[number].select(carrier);
        let asks = self.senders[number].asks();
        match (self.asking.binary_search(&news.ue), asks) {
            (Err(place), true) => self.asking.insert(place, news.ue),
            (Ok(place), false) => _ = self.asking.remove(place),
            _ => {}
        }
    }
}
