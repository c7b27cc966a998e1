//! The uplink of a cell, which the network schedules: scheduling requests, buffer status reports, grants, HARQ.
//!
//! ```text
//! data -> SR in its occasion -> grant -> block with BSR -> grants until the BSR says 0
//! ```
//!
//! A UE whose data nobody knows of sends a scheduling request (SR) in its next occasion, the first uplink slot at or after
//! each multiple of `sr_period`. The network grants it `first_block`. Each block carries a buffer status report (BSR) of
//! what is left behind it, for which the network grants blocks of `most_block` at most, less what it has granted since.
//! What an uplink slot brought counts in decisions after [`Frame::processing`]; the decision for an uplink slot is that of
//! the last downlink slot that can grant it. In a decision lost blocks come first, the oldest first, then the UEs that the
//! scheduler chooses among those that asked.
//!
//! A standing grant needs no request: the UE has a block of a given size in each uplink slot at or after each multiple of a
//! period, if resource blocks are left. A UE with standing grants sends no SR.
//!
//! A block is filled one slot before it is on the air. It arrives at its end and the delay of the uplink. The SINR of a UE
//! is that of a single PRB at full power: on n PRBs it is 10 log10(n) less, so that a UE far away gets fewer PRBs.
//!
//! Units of `first_block`, `most_block` and standing blocks are octets of SDUs: a block is larger by [`HEADERS`].
//!
//! Left out: the levels of a BSR (values are exact), sr-ProhibitTimer and sr-TransMax, errors of control channels, random
//! access, priorities of logical channels. Whether an SR is still needed when it is sent is decided when it arrives.
//!
//! Sources: TS 38.321 §5.4 (SR, BSR, HARQ), TS 38.213 §9.2.4 (occasions), TS 38.214 §6.1.

use super::air::{Air, Format};
use super::downlink::EXCELLENT_DB;
use super::harq::{Block, Harq, decibel};
use super::reception::{Reception, Steps};
use super::ue::Ue;
use super::{Frame, Framing, HarqConfig, Work, pop_if};
use crate::element::Cx;
use crate::packet::Dir;
use crate::rlc::Tti;
use crate::scheduler::Scheduler;
use crate::time::{Duration, Instant};
use crate::trace::{Event, Kind};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Octets of a block for the headers of MAC, RLC and PDCP: 11 for each of three SDUs or segments.
const HEADERS: u64 = 33;

/// What a kind of cell says of its uplink.
pub(in crate::radio) struct UplinkSetup {
    pub frame: Frame,
    pub slot: Duration,
    pub air: Box<dyn Air>,
    pub framing: Framing,
    pub scheduler: Box<dyn Scheduler>,
    pub harq: HarqConfig,
    /// Time between two occasions for an SR, slots.
    pub sr_period: u64,
    /// What is granted for an SR, octets.
    pub first_block: u64,
    /// What is granted to a UE in a slot at most, octets.
    pub most_block: u64,
    /// Standing grants: slots from one to the next, and octets of each.
    pub standing: Option<(u64, u64)>,
    /// From the end of a slot to the packet that the network passes on.
    pub delay: Duration,
}

/// The uplink of a cell.
pub(super) struct Uplink {
    setup: UplinkSetup,
    /// Probabilities of loss by transmission; those of the air interface if empty.
    bler: Vec<f64>,
    /// By number of PRBs, by how much its SINR is below that of one, dB.
    spread_db: Vec<f32>,
    highest: u8,
    senders: Vec<Sender>,
    /// UEs for which the network has something to grant, in the order of their numbers.
    asking: Vec<u16>,
    /// UEs with standing grants and something to send.
    waiting: Vec<u16>,
    /// The first uplink slot that is not decided on.
    undecided: u64,
    /// Granted slots, in their order.
    planned: VecDeque<Planned>,
    /// The slot filled last, and units that are left there.
    filled: (u64, u32),
    /// What the network will learn, in the order of time.
    news: VecDeque<News>,
    arrivals: VecDeque<Arrival>,
    /// Ends of slots that somebody wants to know of: UE, PDUs sent and lost.
    ended: VecDeque<(Instant, u16, u32, u32)>,
    /// UEs to which something happened.
    touched: Vec<u16>,
    rates: Vec<f64>,
    served: Vec<(usize, f64)>,
    /// The slot up to which the scheduler knows.
    scheduled: u64,
}

/// A UE as its uplink sees it.
pub(in crate::radio) struct Sender {
    reception: Reception,
    harq: Harq,
    /// What the network knows that the UE has to send, octets, from a BSR of this slot.
    known: (u64, u64),
    /// An SR has come, and is not answered.
    requested: bool,
    /// Slots and octets of grants, as long as no BSR says what is left behind them.
    granted: VecDeque<(u64, u64)>,
    /// Grants that are not filled.
    unfilled: u32,
    /// The network has been told, or is being told, that there is something to send.
    told: bool,
    /// The last slot in which it had a block, or might have had one.
    passed: Option<u64>,
    /// Since when the UE has had something to send, and the delay that its first grant explains.
    since: Option<Instant>,
    delay: Duration,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    requests: u64,
    blocks: u64,
    first_lost: u64,
    repeats: u64,
    blocks_lost: u64,
    bits: u64,
}

struct Planned {
    slot: u64,
    left: u32,
    grants: Vec<Grant>,
}

#[derive(Clone, Copy)]
struct Grant {
    ue: u16,
    epoch: u32,
    format: Format,
    /// The process that is due; a new block has none yet.
    again: Option<u8>,
    steps: Steps,
}

struct Arrival {
    at: Instant,
    ue: u16,
    epoch: u32,
    tti: Box<Tti>,
}

struct News {
    at: Instant,
    ue: u16,
    epoch: u32,
    what: What,
}

enum What {
    Request,
    /// What a block has left behind, and the slot in which that was.
    Left {
        octets: u64,
        slot: u64,
        process: Option<u8>,
    },
    Lost {
        process: u8,
    },
}

impl Sender {
    pub fn new(reception: Reception, processes: u8) -> Self {
        Self {
            reception,
            harq: Harq::new(processes),
            known: (0, 0),
            requested: false,
            granted: VecDeque::new(),
            unfilled: 0,
            told: false,
            passed: None,
            since: None,
            delay: Duration::ZERO,
            counts: Counts::default(),
        }
    }

    /// What the network knows of and has not granted, octets.
    fn needed(&self) -> u64 {
        let (known, slot) = self.known;
        let granted = self.granted.iter().filter(|(at, _)| *at > slot);
        known.saturating_sub(granted.map(|(_, octets)| octets).sum())
    }

    fn asks(&self) -> bool {
        self.requested || self.harq.has_due() || self.needed() > 0
    }

    pub fn report(&self) -> Value {
        let Counts { requests, blocks, first_lost, repeats, blocks_lost, bits } = self.counts;
        json!({
            "requests": requests, "blocks": blocks, "first_lost": first_lost, "repeats": repeats,
            "blocks_lost": blocks_lost, "bits": bits, "outer_loop_db": self.reception.offset,
        })
    }
}

impl Uplink {
    pub fn new(setup: UplinkSetup, senders: Vec<Sender>) -> Self {
        let spread = |prbs: u32| 10.0 * libm::log10f(prbs.max(1) as f32);
        Self {
            bler: setup.harq.bler.iter().map(|bler| bler.as_f64()).collect(),
            spread_db: (0..=setup.air.units()).map(spread).collect(),
            rates: vec![0.0; senders.len()],
            highest: setup.air.cqi(EXCELLENT_DB),
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

    pub fn report(&self, ue: usize) -> Value {
        self.senders[ue].report()
    }

    fn start_of(&self, slot: u64) -> Instant {
        Instant::from_nanos(slot * self.setup.slot.as_nanos())
    }

    /// The first slot that begins then or later.
    fn slot_from(&self, now: Instant) -> u64 {
        now.as_nanos().div_ceil(self.setup.slot.as_nanos())
    }

    /// When the network can decide by what a slot brought.
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

    /// The slot in which a standing grant is used next.
    fn next_standing(&self, now: Instant) -> Option<u64> {
        let (every, _) = self.setup.standing?;
        let from = self.slot_from(now) + 1;
        let next = |ue: &u16| {
            let behind = self.senders[usize::from(*ue)].passed.map_or(0, |slot| slot + 1);
            self.standing_slot(every, *ue, from.max(behind))
        };
        self.waiting.iter().map(next).min()
    }

    /// When something happens next.
    pub fn next_event(&mut self, now: Instant) -> Instant {
        let mut next = self.news.front().map_or(Instant::NEVER, |news| news.at);
        next = next.min(self.arrivals.front().map_or(Instant::NEVER, |arrival| arrival.at));
        next = next.min(self.ended.front().map_or(Instant::NEVER, |ended| ended.0));
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

    /// Something may have come to a UE to be sent. Whether that changes what happens next.
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

    /// How much of a wait is due to grants, not to a queue.
    pub fn grant_delay(&self, now: Instant, ue: usize) -> Duration {
        let sender = &self.senders[ue];
        match sender.since {
            Some(since) if sender.delay.is_zero() => now.since(since),
            _ => sender.delay,
        }
    }

    /// A UE to which something happened, until there is none.
    pub fn take_touched(&mut self) -> Option<u16> {
        self.touched.pop()
    }

    /// What was granted is gone, and blocks on their way are lost.
    pub fn change_cell(&mut self, cx: &mut Cx<'_>, ue: &mut Ue, number: u16, work: &mut Work) {
        let sender = &mut self.senders[usize::from(number)];
        for block in sender.harq.flush() {
            ue.lose(cx, Dir::Uplink, block, work);
        }
        sender.known = (0, 0);
        sender.granted.clear();
        (sender.requested, sender.told, sender.unfilled) = (false, false, 0);
        (sender.since, sender.delay) = (None, Duration::ZERO);
        self.asking.retain(|other| *other != number);
        self.waiting.retain(|other| *other != number);
    }

    /// Does what is due.
    pub fn handle_timer(&mut self, cx: &mut Cx<'_>, ues: &mut [Ue], work: &mut Work) {
        while let Some((_, ue, pdus_sent, pdus_lost)) = pop_if(&mut self.ended, |ended| ended.0 <= cx.now) {
            let direction = Dir::Uplink;
            cx.probe(Kind::SlotEnded, || Event::SlotEnded { ue, direction, pdus_sent, pdus_lost });
        }
        while let Some(arrival) = pop_if(&mut self.arrivals, |arrival| arrival.at <= cx.now) {
            let Arrival { ue: number, epoch, tti, .. } = arrival;
            let ue = &mut ues[usize::from(number)];
            if epoch == self.senders[usize::from(number)].harq.epoch {
                ue.pair.handle_tti(cx, Dir::Uplink, &tti, &mut work.report);
                work.spare.keep(tti);
            } else {
                ue.lose(cx, Dir::Uplink, Block { tti, number: 0 }, work);
            }
            self.touched.push(number);
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
        match news.what {
            What::Request => sender.requested = sender.needed() == 0 && sender.unfilled == 0,
            What::Left { octets, slot, process } => {
                if let Some(process) = process {
                    if sender.harq.process(process).transmissions == 1 {
                        let steps = sender.harq.process(process).steps;
                        sender.reception.handle_first(true, steps);
                    }
                    sender.harq.end(process);
                }
                if slot >= sender.known.1 {
                    sender.known = (octets, slot);
                    while pop_if(&mut sender.granted, |(at, _)| *at <= slot).is_some() {}
                }
            }
            What::Lost { process } => {
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
        let asks = self.senders[number].asks();
        match (self.asking.binary_search(&news.ue), asks) {
            (Err(place), true) => self.asking.insert(place, news.ue),
            (Ok(place), false) => _ = self.asking.remove(place),
            _ => {}
        }
    }

    /// Grants the blocks of the slot `undecided`.
    fn decide(&mut self, cx: &mut Cx<'_>, ues: &[Ue]) {
        let slot = self.undecided;
        self.undecided += 1;
        let mut left = self.setup.air.units();
        let mut grants = Vec::new();
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
                grants.push(Grant { ue, epoch, format, again: Some(process), steps });
            }
        }
        for &ue in &self.asking {
            let number = usize::from(ue);
            let is_due = due.iter().any(|(_, other)| *other == ue);
            let sender = &mut self.senders[number];
            let has_data = sender.requested || sender.needed() > 0;
            if !is_due && has_data && sender.harq.free().is_some() && cx.now >= ues[number].paused_until {
                let estimate = sender.reception.estimate(slot);
                let most = self.fit(estimate, self.setup.air.units(), u64::MAX);
                self.rates[number] = most.map_or(0.0, |format| self.bit_rate(format));
            }
        }
        while left > 0
            && let Some(number) = self.setup.scheduler.choose(&self.rates)
        {
            self.rates[number] = 0.0;
            let sender = &mut self.senders[number];
            let octets = match sender.needed() {
                0 => self.setup.first_block,
                needed => needed.min(self.setup.most_block),
            };
            let estimate = sender.reception.estimate(slot);
            let Some(format) = self.fit(estimate, left, octets) else { continue };
            let steps = self.steps(number, estimate, format);
            left -= format.units;
            self.served.push((number, self.bit_rate(format)));
            let sender = &mut self.senders[number];
            sender.requested = false;
            let room = self.setup.framing.room(format.bits).saturating_sub(HEADERS).min(octets);
            sender.granted.push_back((slot, room.max(1)));
            sender.unfilled += 1;
            let (ue, epoch) = (number as u16, sender.harq.epoch);
            grants.push(Grant { ue, epoch, format, again: None, steps });
        }
        self.rates.fill(0.0);
        self.setup.scheduler.handle_slots(slot + 1 - self.scheduled, &self.served);
        self.scheduled = slot + 1;
        self.served.clear();
        if !grants.is_empty() {
            self.planned.push_back(Planned { slot, left, grants });
        }
        let senders = &self.senders;
        self.asking.retain(|ue| senders[usize::from(*ue)].asks());
    }

    fn bit_rate(&self, block: Format) -> f64 {
        f64::from(block.bits) / self.setup.slot.as_secs_f64()
    }

    /// The block on the fewest PRBs, of `most`, that carries so many octets of SDUs at an SINR on a single PRB, or else the
    /// largest one.
    fn fit(&self, sinr_db: f32, most: u32, octets: u64) -> Option<Format> {
        let air = self.setup.air.as_ref();
        let bits = octets.saturating_add(HEADERS).saturating_mul(8);
        let wanted = if octets == u64::MAX { u64::MAX } else { self.setup.framing.bits(bits / 8) };
        let mut best: Option<Format> = None;
        let mut prbs = 1;
        // Sizes are compared in steps of 1/16, and the last step is made finer.
        while prbs <= most {
            let row = air.cqi(sinr_db - self.spread_db[prbs as usize]).max(1);
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

    /// What the answer to a block may do to the outer loop.
    fn steps(&self, ue: usize, estimate: f32, format: Format) -> Steps {
        let on_one = estimate - self.senders[ue].reception.offset;
        let lowest = self.setup.air.least_sinr(1) + self.spread_db[format.units as usize] - on_one;
        Steps::new(format.cqi < self.highest, lowest)
    }

    /// Fills the blocks of the slot that begins one slot from now.
    fn fill_slot(&mut self, cx: &mut Cx<'_>, ues: &mut [Ue], work: &mut Work) {
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
                self.send(cx, &mut ues[usize::from(grant.ue)], grant, slot, work);
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
                self.send(cx, ue, Grant { ue: number, epoch, format, again: None, steps }, slot, work);
            }
        }
        self.waiting = waiting;
        self.waiting.retain(|ue| ues[usize::from(*ue)].pair.deadline(Dir::Uplink) <= cx.now);
    }

    /// A UE uses its grant.
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
            return self.transmit(cx, ue, grant.ue, process, slot);
        }
        sender.unfilled -= 1;
        let gap = self.setup.slot.saturating_mul(self.setup.frame.period());
        sender.delay = if sender.delay.is_zero() { delay + gap } else { sender.delay };
        ue.pair.bearer(Dir::Uplink).buffer.excuse(sender.delay);
        let room = self.setup.framing.room(grant.format.bits);
        let process = sender.harq.free().filter(|_| room > 0);
        let mut tti = work.spare.take();
        if process.is_some() {
            ue.pair.fill(cx, Dir::Uplink, room, &mut tti, &mut work.report);
        }
        let process = process.filter(|_| !tti.is_empty());
        let left = match ue.pair.backlog(cx.now, Dir::Uplink) {
            0 => 0,
            own => ue.pair.bearers()[Dir::Uplink.index()].with_held(cx, own),
        };
        sender.told = left > 0;
        if left == 0 {
            (sender.since, sender.delay) = (None, Duration::ZERO);
        }
        match process {
            Some(process) => {
                ue.pair.bearer(Dir::Uplink).counts.ttis += 1;
                sender.counts.blocks += 1;
                let block = Block { tti, number: slot };
                sender.harq.begin(process, (grant.format, grant.steps), block, slot);
                sender.harq.process(process).left = left;
                self.transmit(cx, ue, grant.ue, process, slot);
            }
            // Padding, with a BSR of what there is.
            None => {
                let (at, epoch) = (self.known_after(slot), grant.epoch);
                let what = What::Left { octets: left, slot, process: None };
                work.spare.keep(tti);
                self.tell(News { at, ue: grant.ue, epoch, what });
            }
        }
    }

    /// The block of a process goes on the air in this slot.
    fn transmit(&mut self, cx: &mut Cx<'_>, ue: &mut Ue, number: u16, process: u8, slot: u64) {
        let (at, end) = (self.known_after(slot), self.start_of(slot + 1));
        let sender = &mut self.senders[usize::from(number)];
        sender.passed = Some(slot);
        let units = sender.harq.process(process).format.units;
        let sinr = sender.reception.sinr(slot) - self.spread_db[units as usize];
        let this = sender.harq.process(process);
        this.hear(sinr, self.setup.harq.combining);
        let heard = decibel(this.heard);
        let (format, transmissions, since, left) = (this.format, this.transmissions, this.since, this.left);
        let probability = match self.bler.get(usize::from(transmissions) - 1).or(self.bler.last()) {
            Some(given) => *given,
            None => self.setup.air.bler(format, heard),
        };
        let lost = sender.reception.loses(slot, probability) | ue.silences.cover(self.setup.slot, end);
        sender.counts.first_lost += u64::from(lost && transmissions == 1);
        let epoch = sender.harq.epoch;
        if cx.probes(Kind::SlotEnded)
            && let Some(block) = &sender.harq.process(process).block
        {
            let pdus = block.tti.pdus() as u32;
            self.ended.push_back((end, number, pdus, if lost { pdus } else { 0 }));
        }
        if lost {
            return self.tell(News { at, ue: number, epoch, what: What::Lost { process } });
        }
        if let Some(block) = sender.harq.process(process).block.take() {
            sender.counts.bits += u64::from(format.bits);
            ue.note_arrives(cx, Dir::Uplink, &block);
            let at = end + self.setup.delay;
            self.arrivals.push_back(Arrival { at, ue: number, epoch, tti: block.tti });
        }
        let what = What::Left { octets: left, slot: since, process: Some(process) };
        self.tell(News { at, ue: number, epoch, what });
    }
}
