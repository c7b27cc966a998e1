//! A UE in its uplink, and its exchange with the network.

use super::Ramp;
use crate::element::{Adopt, Cx};
use crate::packet::Dir;
use crate::radio::mac::harq::{Block, Harq};
use crate::radio::mac::reception::{Reception, Steps};
use crate::radio::mac::reordering::{Numbers, Reordering, tsn};
use crate::radio::mac::ue::Ue;
use crate::radio::mac::{Alone, Work};
use crate::radio::phy::air::Format;
use crate::time::{Duration, Instant};
use serde_json::{Value, json};
use std::collections::VecDeque;

/// A UE as its uplink sees it.
pub(in crate::radio) struct Sender {
    pub(super) reception: Reception,
    pub(super) harq: Harq,
    /// Data of the UE as known to the network, octets, from a BSR of this slot.
    pub(super) known: (u64, u64),
    /// An SR has arrived and is not answered yet.
    pub(super) requested: bool,
    /// Slots and octets of grants that no BSR has superseded.
    pub(super) granted: VecDeque<(u64, u64)>,
    /// Grants that are not filled.
    pub(super) unfilled: u32,
    /// The network knows, or is being notified, that there is data to send.
    pub(super) told: bool,
    /// The last slot in which it had a block, or might have had one.
    pub(super) passed: Option<u64>,
    /// Since when the UE has had data to send, and the delay caused by its first grant.
    pub(super) since: Option<Instant>,
    pub(super) delay: Duration,
    pub(super) counts: Counts,
    /// The grant that rises, in the unit of the entity; 0 before the first.
    pub(super) serving: f64,
    /// Reordering of blocks before RLC; if `None`, RLC reorders.
    pub(super) order: Option<Order>,
    /// State on further carriers; that of the first carrier, or of the selected one, is in the sender itself.
    further: Vec<OnCarrier>,
}

/// State of a UE on a further carrier of its uplink.
struct OnCarrier {
    reception: Reception,
    harq: Harq,
}

/// Blocks of a UE in their order (MAC-es).
pub(super) struct Order {
    numbers: Numbers,
    queue: Reordering<Block>,
    out: Vec<Block>,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) blocks: u64,
    pub(super) first_lost: u64,
    pub(super) repeats: u64,
    pub(super) blocks_lost: u64,
    pub(super) bits: u64,
    pub(super) alone: Alone,
}

pub(super) struct Planned {
    pub(super) slot: u64,
    pub(super) left: u32,
    pub(super) grants: Vec<Grant>,
}

#[derive(Clone, Copy)]
pub(super) struct Grant {
    pub(super) ue: u16,
    pub(super) carrier: u8,
    pub(super) epoch: u32,
    pub(super) format: Format,
    /// The process to be retransmitted; `None` for a new block.
    pub(super) again: Option<u8>,
    pub(super) steps: Steps,
}

pub(super) struct Arrival {
    pub(super) at: Instant,
    pub(super) ue: u16,
    pub(super) epoch: u32,
    pub(super) block: Block,
}

pub(super) struct News {
    pub(super) at: Instant,
    pub(super) ue: u16,
    pub(super) epoch: u32,
    pub(super) what: What,
}

pub(super) enum What {
    Request,
    /// Data left after a block, and the slot of the block. Processes are numbered over all carriers.
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
            serving: 0.0,
            order: None,
            further: Vec::new(),
        }
    }

    /// Adds further carriers with their receptions.
    pub fn with_carriers(mut self, receptions: Vec<Reception>) -> Self {
        let processes = self.harq.processes();
        let on_carrier = |reception| OnCarrier { reception, harq: Harq::new(processes) };
        self.further = receptions.into_iter().map(on_carrier).collect();
        self
    }

    /// Swaps the state of the first carrier with that of this carrier; a second call reverts the swap.
    pub(super) fn select(&mut self, carrier: u8) {
        let Some(other) = self.further.get_mut(usize::from(carrier).wrapping_sub(1)) else { return };
        std::mem::swap(&mut self.reception, &mut other.reception);
        std::mem::swap(&mut self.harq, &mut other.harq);
    }

    /// Adopts the mean SINR of another sender; returns whether it differs.
    #[cold]
    pub(super) fn adopt(&mut self, fresh: Self, how: Adopt) -> bool {
        let further = self.further.iter_mut().zip(fresh.further);
        further.fold(self.reception.adopt(fresh.reception, how), |differs, (own, new)| {
            own.reception.adopt(new.reception, how) | differs
        })
    }

    /// Frees the processes of all carriers; returns the blocks that were not received, in their order.
    pub(super) fn flush(&mut self) -> Vec<Block> {
        let mut blocks = self.harq.flush();
        blocks.extend(self.further.iter_mut().flat_map(|other| other.harq.flush()));
        blocks.sort_by_key(|block| block.number);
        blocks
    }

    /// Puts its blocks in order within this window; T1 limits the wait for a gap.
    pub fn in_order(mut self, window: u8, t1: Option<Duration>) -> Self {
        let (numbers, queue) = (Numbers::new(Some(window)), Reordering::new(window, t1));
        self.order = Some(Order { numbers, queue, out: Vec::new() });
        self
    }

    /// Numbers a new block whose first transmission is in this slot.
    pub(super) fn number(&mut self, slot: u64) -> u64 {
        self.order.as_mut().map_or(slot, |order| order.numbers.take())
    }

    /// Delivers a block that arrives to RLC, in order. Returns the block if its gap was given up before.
    pub(super) fn put_in_order(
        &mut self,
        cx: &mut Cx<'_>,
        ue: &mut Ue,
        block: Block,
        work: &mut Work,
    ) -> Option<Block> {
        let Some(order) = &mut self.order else {
            hand_up(cx, ue, block, work);
            return None;
        };
        let refused = order.queue.handle_block(cx.now, tsn(block.number), block, &mut order.out);
        order.out.drain(..).for_each(|ordered| hand_up(cx, ue, ordered, work));
        refused
    }

    /// When the next gap is given up.
    pub(super) fn order_expiry(&self) -> Instant {
        self.order.as_ref().map_or(Instant::NEVER, |order| order.queue.expiry())
    }

    pub(super) fn give_gaps_up(&mut self, cx: &mut Cx<'_>, ue: &mut Ue, work: &mut Work) {
        let Some(order) = &mut self.order else { return };
        order.queue.handle_expiry(cx.now, &mut order.out);
        order.out.drain(..).for_each(|block| hand_up(cx, ue, block, work));
    }

    /// Delivers the held blocks, and restarts with the first number.
    pub(super) fn reset_order(&mut self, cx: &mut Cx<'_>, ue: &mut Ue, work: &mut Work) {
        let Some(order) = &mut self.order else { return };
        order.queue.reset(&mut order.out);
        order.numbers.reset();
        order.out.drain(..).for_each(|block| hand_up(cx, ue, block, work));
    }

    /// The grant of this slot: `first` initially, and a step more each time that the UE is unhappy.
    pub(super) fn raise(&mut self, ramp: Ramp, first: u64) -> u64 {
        if self.serving == 0.0 {
            self.serving = first as f64;
        } else if self.needed() as f64 > ramp.patience * self.serving {
            self.serving *= ramp.step;
        }
        self.serving as u64
    }

    /// Octets known to the network and not granted yet.
    pub(super) fn needed(&self) -> u64 {
        let (known, slot) = self.known;
        let granted = self.granted.iter().filter(|(at, _)| *at > slot);
        known.saturating_sub(granted.map(|(_, octets)| octets).sum())
    }

    pub(super) fn asks(&self) -> bool {
        let is_due = || self.harq.has_due() || self.further.iter().any(|other| other.harq.has_due());
        self.requested || is_due() || self.needed() > 0
    }

    pub fn report(&self) -> Value {
        let Counts { requests, blocks, first_lost, repeats, blocks_lost, bits, .. } = self.counts;
        json!({
            "requests": requests, "blocks": blocks, "first_lost": first_lost, "repeats": repeats,
            "blocks_lost": blocks_lost, "bits": bits, "outer_loop_db": self.reception.offset,
        })
    }
}

fn hand_up(cx: &mut Cx<'_>, ue: &mut Ue, block: Block, work: &mut Work) {
    ue.pair.handle_tti(cx, Dir::Uplink, &block.tti, &mut work.report);
    work.spare.keep(block.tti);
}
