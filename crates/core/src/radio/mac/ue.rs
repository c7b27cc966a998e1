//! One UE of a shared cell: its link layer, data queued for blocks, HARQ, and uplink.

use super::harq::{Block, Harq};
use super::iub::{self, Iub};
use super::reception::Reception;
use super::reordering::{Numbers, Reordering, tsn};
use super::{Work, pop_if};
use crate::element::{Adopt, Cx};
use crate::packet::{Dir, Packet};
use crate::radio::bearers::Bearers;
use crate::radio::mac::carrier::Carrier;
use crate::radio::outages::Silences;
use crate::radio::phy::air::Air;
use crate::radio::rlc_bearer::RlcBearer;
use crate::rlc::Tti;
use crate::time::{Duration, Instant};
use crate::trace::Kind;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Location of PDUs queued for blocks.
pub(in crate::radio) enum Source {
    /// In the entity, which fills a block when it is sent.
    Rlc,
    /// In the Node B, after the Iub.
    NodeB(Box<Iub>),
}

impl Source {
    pub fn node_b(config: &iub::Config) -> Self {
        Self::NodeB(Box::new(Iub::new(config)))
    }
}

/// Blocks in their order.
pub(in crate::radio) struct Reordered {
    queue: Reordering<Block>,
    /// Blocks lost for good. The entity above is notified of each at its position in the sequence.
    lost: VecDeque<Block>,
    out: Vec<Block>,
}

impl Reordered {
    pub fn new(window: u8, t1: Option<Duration>) -> Self {
        let queue = Reordering::new(window, t1);
        Self { queue, lost: VecDeque::new(), out: Vec::new() }
    }
}

/// Counters of a UE's downlink.
#[derive(Default)]
pub(super) struct Counts {
    /// Blocks sent for the first time, and how many of these transmissions were lost.
    pub blocks: u64,
    pub first_lost: u64,
    /// Further transmissions.
    pub repeats: u64,
    /// Blocks that never arrived.
    pub blocks_lost: u64,
    /// Slots with a transmission.
    pub slots: u64,
    /// Bits of blocks that arrived.
    pub bits: u64,
    /// Blocks by row.
    pub rows: Vec<u64>,
    pub alone: super::Alone,
}

/// State of a UE on a further carrier of its cell.
pub(super) struct OnCarrier {
    reception: Reception,
    harq: Harq,
    next_slot: u64,
}

/// One UE.
pub(in crate::radio) struct Ue {
    pub(super) pair: Bearers,
    pub(super) reception: Reception,
    pub(super) harq: Harq,
    /// State on further carriers; that of the first carrier, or of the selected one, is in the UE itself.
    further: Vec<OnCarrier>,
    pub(super) source: Source,
    /// Reordering of blocks before RLC; if `None`, RLC reorders.
    reordered: Option<Reordered>,
    /// A dedicated uplink; `None` where the cell schedules it.
    uplink: Option<Carrier>,
    pub(super) silences: Silences,
    pub(super) numbers: Numbers,
    /// The first slot in which the cell may send to the UE again.
    pub(super) next_slot: u64,
    pub(super) paused_until: Instant,
    /// End of the last slot with a transmission to the UE, or by the UE with a grant of the cell.
    pub(super) slot_until: Instant,
    pub(super) counts: Counts,
    /// Time that the timer is set to.
    armed: Instant,
}

impl Ue {
    pub fn new(
        pair: impl Into<Bearers>,
        reception: Reception,
        processes: u8,
        (source, reordered, numbers): (Source, Option<Reordered>, Numbers),
        uplink: Option<Carrier>,
        silences: Silences,
    ) -> Self {
        Self {
            pair: pair.into(),
            reception,
            harq: Harq::new(processes),
            further: Vec::new(),
            source,
            reordered,
            uplink,
            silences,
            numbers,
            next_slot: 0,
            paused_until: Instant::ZERO,
            slot_until: Instant::ZERO,
            counts: Counts { rows: vec![0; super::ROWS as usize + 1], ..Counts::default() },
            armed: Instant::NEVER,
        }
    }

    /// Adds further carriers with their receptions.
    pub fn with_carriers(mut self, receptions: Vec<Reception>) -> Self {
        let processes = self.harq.processes();
        let on_carrier = |reception| OnCarrier { reception, harq: Harq::new(processes), next_slot: 0 };
        self.further = receptions.into_iter().map(on_carrier).collect();
        self
    }

    /// Swaps the state of the first carrier with that of this carrier; a second call reverts the swap.
    pub(super) fn select(&mut self, carrier: u8) {
        let Some(other) = self.further.get_mut(usize::from(carrier).wrapping_sub(1)) else { return };
        std::mem::swap(&mut self.reception, &mut other.reception);
        std::mem::swap(&mut self.harq, &mut other.harq);
        std::mem::swap(&mut self.next_slot, &mut other.next_slot);
    }

    /// Adopts the parameters of another UE; returns whether any differs.
    #[cold]
    pub fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Self, how: Adopt) -> bool {
        let pairs = self.pair.adopt(cx, fresh.pair, how);
        let further = self.further.iter_mut().zip(fresh.further);
        let heard = further.fold(self.reception.adopt(fresh.reception, how), |differs, (own, new)| {
            own.reception.adopt(new.reception, how) | differs
        });
        let uplinks = match (&mut self.uplink, fresh.uplink) {
            (Some(own), Some(fresh)) => own.adopt(cx.now, fresh, how),
            _ => false,
        };
        pairs | heard | uplinks
    }

    pub fn bearers(&self) -> &[RlcBearer; 2] {
        self.pair.bearers()
    }

    /// Opens the accounting of the bearers. The downlink uses the cell's slots, regardless of the TTI of its
    /// link layer.
    pub fn open(&self, cx: &mut Cx<'_>, slot: Duration) {
        self.pair.open(cx);
        let pairs = [Some(&*self.pair), self.pair.second()];
        for pair in pairs.into_iter().flatten() {
            let downlink = pair.bearers()[0].buffer.index() as usize;
            cx.describe_bearer(downlink, |row| {
                (row.shared, row.slot_ns, row.phase_ns) = (true, slot.as_nanos(), 0);
            });
        }
    }

    /// Room needed for all data queued for blocks, in the unit of the entity.
    pub(super) fn backlog(&self, now: Instant) -> u64 {
        match &self.source {
            Source::Rlc => self.pair.backlog(now, Dir::Downlink),
            Source::NodeB(iub) => iub.queue.pdus,
        }
    }

    /// Room needed including data queued before the entity, where `backlog` is queued for blocks.
    pub(super) fn wanted(&self, cx: &mut Cx<'_>, backlog: u64) -> u64 {
        match &self.source {
            Source::Rlc => self.pair.with_held(cx, Dir::Downlink, backlog),
            Source::NodeB(_) => backlog,
        }
    }

    /// Whether the UE has data for the next slot.
    pub fn has_work(&self, now: Instant) -> bool {
        self.has_work_with(now, None)
    }

    /// Like `has_work`, where `backlog` may be known.
    pub(super) fn has_work_with(&self, now: Instant, backlog: Option<u64>) -> bool {
        let waits = || match (backlog, &self.source) {
            (Some(backlog), _) => backlog > 0,
            (None, Source::Rlc) => self.pair.has_backlog(now, Dir::Downlink),
            (None, Source::NodeB(iub)) => iub.queue.pdus > 0,
        };
        let is_due = || self.harq.has_due() || self.further.iter().any(|other| other.harq.has_due());
        now >= self.paused_until && (is_due() || waits())
    }

    /// Fills a block.
    pub(super) fn fill(&mut self, cx: &mut Cx<'_>, room: u64, tti: &mut Tti, work: &mut Work) {
        match &mut self.source {
            Source::Rlc => self.pair.fill(cx, Dir::Downlink, room, tti, &mut work.report),
            Source::NodeB(iub) => {
                iub.queue.take(room, tti, &mut work.spare);
                iub.handle_taken(cx.now);
            }
        }
    }

    pub fn handle_sdu(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>, work: &mut Work) {
        if dir == Dir::Uplink {
            self.note_grant_delay(cx.now);
        }
        self.pair.handle_sdu(cx, dir, packet);
        match dir {
            Dir::Downlink => self.handle_source(cx, work),
            Dir::Uplink => self.plan_uplink(cx.now),
        }
    }

    /// Excludes this part of each wait from the queueing delay of the uplink.
    pub(super) fn excuse(&mut self, wait: Duration) {
        self.pair.excuse(Dir::Uplink, wait);
    }

    /// Sets the part of the uplink's waiting time that its discipline excludes from the queueing delay.
    #[inline]
    fn note_grant_delay(&mut self, now: Instant) {
        if let Some(uplink) = &self.uplink {
            let delay = uplink.grant_delay(now);
            self.pair.bearer(Dir::Uplink).buffer.excuse(delay);
        }
    }

    /// Lets the RNC send within its credits.
    fn handle_source(&mut self, cx: &mut Cx<'_>, work: &mut Work) {
        if let Source::NodeB(iub) = &mut self.source
            && cx.now >= self.paused_until
        {
            iub.handle_due(cx, &mut self.pair, &mut work.report, &mut work.spare);
        }
    }

    /// A block was decoded.
    pub fn handle_block(&mut self, cx: &mut Cx<'_>, epoch: u32, block: Block, work: &mut Work) {
        if epoch != self.harq.epoch {
            // Decoded when its UE had left the cell.
            return self.lose(cx, Dir::Downlink, block, work);
        }
        let now = cx.now;
        match &mut self.reordered {
            None => self.hand_up(cx, Dir::Downlink, block, work),
            Some(Reordered { queue, out, .. }) => {
                if let Some(refused) = queue.handle_block(now, tsn(block.number), block, out) {
                    return self.lose(cx, Dir::Downlink, refused, work);
                }
                self.hand_up_ordered(cx, work);
            }
        }
        self.plan_uplink(now);
    }

    /// Delivers the blocks released by reordering; before each block, the lost blocks that precede it.
    fn hand_up_ordered(&mut self, cx: &mut Cx<'_>, work: &mut Work) {
        let Some(reordered) = &mut self.reordered else { return };
        let mut out = std::mem::take(&mut reordered.out);
        for block in out.drain(..) {
            while let Some(lost) = self
                .reordered
                .as_mut()
                .and_then(|own| pop_if(&mut own.lost, |lost| lost.number < block.number))
            {
                self.hand_up(cx, Dir::Downlink, lost, work);
            }
            self.hand_up(cx, Dir::Downlink, block, work);
        }
        if let Some(own) = &mut self.reordered {
            own.out = out;
        }
    }

    fn hand_up(&mut self, cx: &mut Cx<'_>, dir: Dir, block: Block, work: &mut Work) {
        self.pair.handle_tti(cx, dir, &block.tti, &mut work.report);
        work.spare.keep(block.tti);
    }

    /// A block is lost for good.
    pub(super) fn lose(&mut self, cx: &mut Cx<'_>, dir: Dir, mut block: Block, work: &mut Work) {
        self.counts.blocks_lost += u64::from(dir == Dir::Downlink);
        self.pair.lose_second(cx, dir, &mut block.tti, &mut work.report);
        let tells_ends = self.pair.lose(cx, dir, &mut block.tti);
        match &mut self.reordered {
            _ if !tells_ends => work.spare.keep(block.tti),
            Some(reordered) if dir == Dir::Downlink => {
                let place = reordered.lost.partition_point(|other| other.number < block.number);
                reordered.lost.insert(place, block);
            }
            _ => self.hand_up(cx, dir, block, work),
        }
    }

    /// Records the outcome of the PDUs of a block that arrives.
    pub(super) fn note_arrives(&mut self, cx: &mut Cx<'_>, dir: Dir, block: &Block) {
        self.pair.note_arrives(cx, dir, &block.tti);
    }

    /// Discards blocks that newer ones have pushed out of the receiver's window. Returns whether there was
    /// any.
    pub(super) fn give_up_behind(&mut self, cx: &mut Cx<'_>, work: &mut Work) -> bool {
        let mut any = false;
        while let Some((_, process)) = self.harq.first_due() {
            let number = self.harq.process(process).block.as_ref().map(|block| block.number);
            if number.is_some_and(|number| self.numbers.may_repeat(number)) {
                break;
            }
            if let Some(block) = self.harq.end(process) {
                self.lose(cx, Dir::Downlink, block, work);
                any = true;
            }
        }
        any
    }

    pub fn handle_timer(&mut self, cx: &mut Cx<'_>, work: &mut Work) {
        self.armed = Instant::NEVER;
        if let Some(uplink) = &mut self.uplink {
            if cx.probes(Kind::SlotEnded) {
                uplink.note_ended(cx, &self.pair.bearers()[Dir::Uplink.index()]);
            }
            while let Some(tti) = uplink.take_arrived(cx.now) {
                self.pair.handle_tti(cx, Dir::Uplink, &tti, &mut work.report);
                work.spare.keep(tti);
            }
        }
        self.handle_source(cx, work);
        if self.pair.expiry() <= cx.now {
            self.pair.handle_expiry(cx, &mut work.report);
        }
        if let Some(Reordered { queue, out, .. }) = &mut self.reordered
            && queue.expiry() <= cx.now
        {
            queue.handle_expiry(cx.now, out);
            self.hand_up_ordered(cx, work);
        }
        if self.uplink.as_ref().is_some_and(|uplink| uplink.next_tti > cx.now) {
            self.plan_uplink(cx.now);
        }
        if self.uplink.as_ref().is_some_and(|uplink| uplink.next_tti <= cx.now) {
            self.handle_uplink_tti(cx, work);
        }
    }

    fn handle_uplink_tti(&mut self, cx: &mut Cx<'_>, work: &mut Work) {
        self.note_grant_delay(cx.now);
        let (dir, Some(uplink)) = (Dir::Uplink, &mut self.uplink) else { return };
        let mut tti = work.spare.take();
        self.pair.build_tti(cx, dir, uplink.room, &mut tti, &mut work.report);
        let is_empty = tti.is_empty();
        if is_empty {
            work.spare.keep(tti);
        } else {
            uplink.transmit(cx, self.pair.bearer(dir), tti, work);
        }
        self.pair.settle_sent(cx, dir, &mut work.report);
        let has_more = self.pair.deadline(dir) <= cx.now;
        if is_empty && has_more {
            uplink.skip(cx.now);
        }
        uplink.begun(cx.now, has_more);
        self.plan_uplink(cx.now);
    }

    fn plan_uplink(&mut self, now: Instant) {
        if let Some(uplink) = &mut self.uplink {
            uplink.plan(now, self.pair.deadline(Dir::Uplink));
        }
    }

    /// Changes the cell, or returns to this one; the UE is unreachable until `until`.
    pub fn change_cell(&mut self, cx: &mut Cx<'_>, until: Instant, work: &mut Work) {
        self.paused_until = until;
        let mut blocks = self.harq.flush();
        if !self.further.is_empty() {
            blocks.extend(self.further.iter_mut().flat_map(|other| other.harq.flush()));
            blocks.sort_by_key(|block| block.number);
        }
        for block in blocks {
            self.lose(cx, Dir::Downlink, block, work);
        }
        if let Source::NodeB(iub) = &mut self.source {
            for tti in iub.flush() {
                let number = self.numbers.take();
                self.lose(cx, Dir::Downlink, Block { tti, number }, work);
            }
        }
        // TS 25.321 §11.6.2: blocks held by the reordering are delivered.
        if let Some(Reordered { queue, out, .. }) = &mut self.reordered {
            queue.reset(out);
            self.numbers.reset();
            self.hand_up_ordered(cx, work);
            let lost = self.reordered.as_mut().map(|own| std::mem::take(&mut own.lost));
            lost.into_iter().flatten().for_each(|block| self.hand_up(cx, Dir::Downlink, block, work));
        } else {
            self.pair.re_establish(cx, &mut work.report);
            if let Some(uplink) = &mut self.uplink {
                uplink.flush();
            }
        }
        if let Some(uplink) = &mut self.uplink {
            uplink.pause(until);
        }
        self.plan_uplink(cx.now);
    }

    /// Withdraws all packets that have not been delivered to the upper layer, after the UE has left the cell.
    #[cold]
    pub fn withdraw(&mut self, cx: &mut Cx<'_>) -> [crate::radio::Packets; 2] {
        self.uplink.iter_mut().for_each(Carrier::flush);
        self.pair.withdraw(cx)
    }

    /// Resumes after the UE has returned and its packets were withdrawn.
    #[cold]
    pub fn resume(&mut self, cx: &mut Cx<'_>, at: Instant) {
        self.paused_until = at;
        self.pair.resume();
        self.uplink.iter_mut().for_each(|uplink| uplink.resume(at));
        self.plan_uplink(cx.now);
    }

    /// Neither direction starts a transmission before `until`.
    pub fn hold(&mut self, now: Instant, until: Instant) {
        self.paused_until = until;
        if let Some(uplink) = &mut self.uplink {
            uplink.hold(until);
        }
        self.plan_uplink(now);
    }

    /// End of the latest transmission in either direction.
    pub fn sent_until(&self) -> Instant {
        self.uplink.as_ref().map_or(self.slot_until, |uplink| uplink.sent_until.max(self.slot_until))
    }

    /// Returns when the downlink entity requires a TTI, not before the end of a pause.
    fn wants_slot_at(&self) -> Instant {
        match self.pair.deadline(Dir::Downlink) {
            Instant::NEVER => Instant::NEVER,
            wanted => wanted.max(self.paused_until),
        }
    }

    /// Sets the timer to the next event. `active`: the UE's data is checked in every slot anyway.
    pub fn arm(&mut self, cx: &mut Cx<'_>, active: bool) {
        let mut at = self.pair.expiry();
        if let Some(uplink) = &self.uplink {
            at = at.min(uplink.next_event());
            if cx.probes(Kind::SlotEnded) {
                at = at.min(uplink.next_end());
            }
        } else {
            // The cell handles data that is ready now.
            let wanted = self.pair.deadline(Dir::Uplink);
            at = at.min(if wanted > cx.now { wanted } else { Instant::NEVER });
        }
        if let Some(reordered) = &self.reordered {
            at = at.min(reordered.queue.expiry());
        }
        match &self.source {
            Source::NodeB(iub) => {
                at = at.min(iub.next_event(self.wants_slot_at()));
                if self.paused_until > cx.now && iub.queue.pdus > 0 {
                    at = at.min(self.paused_until);
                }
            }
            Source::Rlc if !active => at = at.min(self.wants_slot_at()),
            Source::Rlc => {}
        }
        if at == self.armed {
            return;
        }
        self.armed = at;
        let timer = self.bearers()[0].buffer.index();
        if at == Instant::NEVER {
            cx.disarm(timer);
        } else {
            cx.arm(timer, at);
        }
    }

    /// Reports of the bearers, downlink first, which could have carried `most` bytes, if known.
    pub fn reports(&self, cx: &mut Cx<'_>, air: &dyn Air, most: [Option<f64>; 2]) -> [Value; 2] {
        let [mut downlink, uplink] = self.pair.reports(cx, most);
        let Counts { blocks, first_lost, repeats, blocks_lost, slots, bits, rows, .. } = &self.counts;
        downlink.insert("slots".into(), (*slots).into());
        let harq = json!({
            "blocks": blocks, "first_lost": first_lost, "repeats": repeats, "blocks_lost": blocks_lost, "bits": bits,
            "outer_loop_db": self.reception.offset,
        });
        downlink.insert("harq".into(), harq);
        downlink.extend(air.shares(rows).into_iter().map(|(key, shares)| (key.to_owned(), shares)));
        [downlink.into(), uplink.into()]
    }
}
