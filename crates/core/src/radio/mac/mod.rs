//! Medium access control (MAC) of a cell whose UEs share its downlink, slot by slot (HSDPA, LTE, NR), and its
//! uplink where it is granted.
//!
//! ```text
//! network:  SDU buffer -> RLC entity (-> Iub -> queue of the Node B) -> scheduler -> block -> HARQ -> delay
//! UE:       (MAC-hs reordering ->) RLC entity -> packets             its uplink: a carrier of its own
//! ```
//!
//! In each slot, in this order:
//!
//! 1. Answers of UEs are processed: a block was received and its process is free, or it is to be
//!    retransmitted.
//! 2. Blocks to be retransmitted are sent in their original size, the oldest first. Their UEs get nothing
//!    else in this slot.
//! 3. The scheduler chooses among the UEs that have data, a free process and a usable report; it is called
//!    repeatedly while units (codes, PRBs) are left.
//! 4. RLC fills each block. The ratio at the UE in this slot decides whether it is lost.
//!
//! Only UEs that have data cost work; an idle cell schedules nothing. A block that is sent in a slot arrives
//! at its end plus the delay of the downlink. An answer comes one round trip after the slot.
//!
//! Left out: control channels and their errors, power, several antennas. A block is lost if its UE changes
//! the cell during the transmission.

pub(in crate::radio) mod carrier;
mod config;
mod decibels;
mod downlink;
pub(crate) mod fairness;
mod frame;
pub(in crate::radio) mod grants;
mod harq;
pub mod iub;
mod load;
mod reception;
pub(in crate::radio) mod reordering;
pub(in crate::radio) mod spare;
pub(in crate::radio) mod subbands;
mod ue;
mod uplink;

pub use config::{Adaptation, HarqConfig, Standing};
pub(in crate::radio) use config::{Shares, layer_loss, validate_grants, validate_layer_loss, whole_slots};
pub use load::Load;

use super::buffer::{cell_layout, cell_report, share};
use super::outages::Pausable;
use crate::element::{Adopt, Cx, Element, Layout, Port, as_same};
use crate::fading::BLOCK;
use crate::mobility::CellLoad;
use crate::packet::{Dir, Packet};
use crate::radio::phy::air::Air;
use crate::rlc::Report;
use crate::scheduler::Scheduler;
use crate::sinr::Sinr;
use crate::time::{Duration, Instant};
use crate::trace::Reason;
use crate::units::Bitrate;
use downlink::Downlink;
use fairness::jain_index;
pub(in crate::radio) use frame::{Frame, Slot, Timing};
use load::Others;
pub(in crate::radio) use reception::Reception;
use reception::Rows;
use serde_json::Value;
use spare::Spare;
use std::collections::VecDeque;
use std::sync::Arc;
pub(in crate::radio) use ue::{Reordered, Source, Ue};
use uplink::Uplink;
pub(in crate::radio) use uplink::{Ramp, Sender, UplinkSetup};

/// Parameters of a kind of shared cell, without its UEs.
pub(in crate::radio) struct Setup {
    /// Key of the cell in a scenario.
    pub name: &'static str,
    pub slot: Duration,
    pub air: Box<dyn Air>,
    /// Air interface with the resource elements of special slots, if special slots carry data.
    pub special_air: Option<Box<dyn Air>>,
    pub framing: Framing,
    pub scheduler: Box<dyn Scheduler>,
    /// Units per slot that are assigned to UEs.
    pub units: u32,
    /// Units per group; units are assigned in groups, and the last group may be smaller.
    pub group: u32,
    /// Units of a subband, if subbands fade on their own.
    pub subband: Option<u32>,
    /// How groups are shared out.
    pub shares: Shares,
    /// Number of carriers with equal parameters; each has its own block and HARQ for each UE.
    pub carriers: u8,
    /// UEs that may be sent to in a slot.
    pub ues_per_slot: usize,
    /// Minimum number of slots from one transmission to a UE to the next.
    pub least_interval: u64,
    /// Direction of the slots, and times of answers.
    pub frame: Frame,
    pub harq: HarqConfig,
}

impl Setup {
    pub fn slots_per_s(&self) -> f64 {
        1.0 / self.slot.as_secs_f64()
    }

    /// Mean rate of a UE that is alone in the cell, with reports without delay and no retransmissions.
    pub fn mean_rate(&self, mut sinr: Sinr) -> Bitrate {
        // Enough for a bearer's nominal rate: spread over the time in which a fading of 1 Hz varies.
        const BLOCKS: u64 = 64;
        const APART: u64 = 17;
        let mut bits = 0.0;
        for number in 0..BLOCKS {
            let slots = number * APART * BLOCK as u64..;
            for (slot, ratio) in slots.zip(sinr.block(number * APART)) {
                let air = match (self.frame.is_down(slot), self.frame.is_special(slot)) {
                    (false, _) => None,
                    (true, false) => Some(&self.air),
                    (true, true) => self.special_air.as_ref(),
                };
                let format = air.and_then(|air| air.format(air.cqi(*ratio), air.units(), u64::MAX));
                bits +=
                    format.map_or(0.0, |format| self.framing.carried_bits(self.framing.room(format.bits)));
            }
        }
        let samples = (BLOCKS * BLOCK as u64) as f64;
        Bitrate::from_bps((bits / samples / self.slot.as_secs_f64()) as u64)
    }
}

/// The largest new blocks that a UE could have had, alone in its cell, in the slots in which it had data and could have
/// had one.
#[derive(Default)]
struct Alone {
    /// Bits for PDUs, over all of these blocks.
    bits: f64,
    blocks: u64,
}

impl Alone {
    fn note(&mut self, bits: f64) {
        self.bits += bits;
        self.blocks += 1;
    }

    /// Bytes of so many blocks of the mean size; `None` if there was no block.
    fn bytes(&self, blocks: f64) -> Option<f64> {
        (self.blocks > 0).then(|| self.bits / self.blocks as f64 * blocks / 8.0)
    }
}

/// How RLC's PDUs lie in a block.
#[derive(Clone, Copy)]
pub(in crate::radio) enum Framing {
    /// PDUs of one size after a header.
    Pdus { header_bits: u32, pdu_bits: u32 },
    /// PDUs that fill a block after a header.
    Octets { header_octets: u32 },
}

impl Framing {
    /// Room for RLC in a block, in the unit of its entity.
    pub fn room(self, bits: u32) -> u64 {
        match self {
            Self::Pdus { header_bits, pdu_bits } => (bits.saturating_sub(header_bits) / pdu_bits).into(),
            Self::Octets { header_octets } => (bits / 8).saturating_sub(header_octets).into(),
        }
    }

    /// Bits of RLC's PDUs in so much room.
    fn carried_bits(self, room: u64) -> f64 {
        let unit = match self {
            Self::Pdus { pdu_bits, .. } => pdu_bits,
            Self::Octets { .. } => 8,
        };
        room as f64 * f64::from(unit)
    }

    /// Bits of a block with room for so much.
    pub fn bits(self, room: u64) -> u64 {
        match self {
            Self::Pdus { header_bits, pdu_bits } => u64::from(header_bits) + room * u64::from(pdu_bits),
            Self::Octets { header_octets } => 8 * (u64::from(header_octets) + room),
        }
    }

    /// Number of bits to request so that no block is larger than its PDUs need. `wanted` is in the unit of
    /// the entity; `most` is the size of the largest block available.
    pub fn fit(self, wanted: u64, most: u32) -> u64 {
        match self {
            Self::Pdus { .. } => self.bits(wanted.min(self.room(most))),
            Self::Octets { .. } => self.bits(wanted),
        }
    }

    /// The usable rows up to `last`, by the room of a block with all units.
    pub fn rows(self, air: &dyn Air, last: u8) -> Rows {
        // A PDU of LTE needs a header and data.
        let needed = if matches!(self, Self::Pdus { .. }) { 1 } else { 5 };
        let room = |row| air.format(row, air.units(), u64::MAX).map_or(0, |format| self.room(format.bits));
        let least = (1..=last).find(|row| room(*row) >= needed).unwrap_or(last);
        let lowest = (least..=last).take_while(|row| room(*row) == room(least)).last().unwrap_or(least);
        let highest = (1..=last).rev().take_while(|row| room(*row) == room(last)).last().unwrap_or(last);
        Rows { least, lowest, highest }
    }
}

/// Rows of the largest table: the MCS of NR, for one to four layers.
const ROWS: u8 = 116;

/// The cell.
pub(in crate::radio) struct SharedCell {
    name: &'static str,
    ues: Vec<Ue>,
    /// Number of bearers of all UEs.
    bearers: u32,
    downlink: Downlink,
    /// The uplink, where the cell schedules it.
    uplink: Option<Uplink>,
    /// Received blocks, with their decoding times.
    arrivals: VecDeque<Arrival>,
    /// Reused from call to call; empty between calls.
    work: Work,
}

/// Buffers reused between calls.
#[derive(Default)]
pub(in crate::radio) struct Work {
    pub report: Report,
    pub spare: Spare,
}

/// A received block in decoding.
struct Arrival {
    at: Instant,
    ue: u16,
    /// Counts up with each change of the cell: blocks sent before are lost.
    epoch: u32,
    block: harq::Block,
}

impl SharedCell {
    /// `load` receives the share of units sent in each slot, if another cell needs it.
    pub fn new(setup: Setup, ues: Vec<Ue>, load: Option<Arc<CellLoad>>) -> Self {
        let name = setup.name;
        let downlink = Downlink::new(setup, ues.len(), load);
        let bearers = ues.iter().map(|ue| if ue.pair.second().is_some() { 4 } else { 2 }).sum();
        Self { name, ues, bearers, downlink, uplink: None, arrivals: VecDeque::new(), work: Work::default() }
    }

    /// Adds a load of UEs that are not simulated.
    pub fn with_load(mut self, load: Option<&Load>, run_seed: u64) -> Self {
        self.downlink.others = load.map(|load| Others::new(load, run_seed, self.downlink.slots_per_s()));
        self
    }

    /// The UEs share an uplink too, as these senders.
    pub fn with_uplink(mut self, setup: UplinkSetup, senders: Vec<Sender>) -> Self {
        self.uplink = Some(Uplink::new(setup, senders));
        self
    }

    /// Timers after the UEs' timers: of slots, of arriving blocks, and of the uplink.
    fn timers(&self) -> [u32; 3] {
        [self.bearers, self.bearers + 1, self.bearers + 2]
    }

    /// Updates the timers after any event that may have given the UE data to send.
    fn settle(&mut self, cx: &mut Cx<'_>, ue: usize) {
        let [slots, _, uplinks] = self.timers();
        let user = &mut self.ues[ue];
        if let Some(uplink) = &mut self.uplink
            && uplink.note(cx.now, user, ue as u16)
        {
            cx.arm(uplinks, uplink.next_event(cx.now));
        }
        if !self.downlink.is_active(ue) && user.has_work(cx.now) {
            self.downlink.activate(cx, ue, slots);
        }
        user.arm(cx, self.downlink.is_active(ue));
    }

    fn handle_slot(&mut self, cx: &mut Cx<'_>) {
        let [slots, blocks, _] = self.timers();
        // Blocks decoded at the start of a slot precede the slot.
        self.handle_arrivals(cx);
        self.downlink.handle_slot(cx, &mut self.ues, &mut self.arrivals, &mut self.work);
        while let Some(number) = self.downlink.take_touched() {
            let ue = usize::from(number);
            self.ues[ue].arm(cx, self.downlink.is_active(ue));
        }
        self.downlink.arm(cx, slots);
        self.arm_arrivals(cx, blocks);
    }

    fn handle_uplink(&mut self, cx: &mut Cx<'_>) {
        let [_, _, uplinks] = self.timers();
        let Some(uplink) = &mut self.uplink else { return };
        uplink.handle_timer(cx, &mut self.ues, &mut self.work);
        while let Some(number) = self.uplink.as_mut().and_then(Uplink::take_touched) {
            self.settle(cx, number.into());
        }
        match self.uplink.as_mut().map_or(Instant::NEVER, |own| own.next_event(cx.now)) {
            Instant::NEVER => cx.disarm(uplinks),
            next => cx.arm(uplinks, next),
        }
    }

    fn handle_arrivals(&mut self, cx: &mut Cx<'_>) {
        while let Some(arrival) = pop_if(&mut self.arrivals, |arrival| arrival.at <= cx.now) {
            let ue = usize::from(arrival.ue);
            self.ues[ue].handle_block(cx, arrival.epoch, arrival.block, &mut self.work);
            self.settle(cx, ue);
        }
    }

    fn arm_arrivals(&self, cx: &mut Cx<'_>, timer: u32) {
        if let Some(first) = self.arrivals.front() {
            cx.arm(timer, first.at);
        }
    }
}

impl Pausable for SharedCell {
    fn pause(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant) {
        let ue = usize::from(ue);
        if let Some(user) = self.ues.get_mut(ue) {
            user.change_cell(cx, until, &mut self.work);
            if let Some(uplink) = &mut self.uplink {
                uplink.change_cell(cx, user, ue as u16, &mut self.work);
            }
            self.settle(cx, ue);
        }
    }

    fn withdraw(&mut self, cx: &mut Cx<'_>, ue: u16) -> [crate::radio::Packets; 2] {
        self.arrivals.retain(|arrival| arrival.ue != ue);
        if let Some(uplink) = &mut self.uplink {
            uplink.flush(ue);
        }
        self.ues.get_mut(usize::from(ue)).map(|user| user.withdraw(cx)).unwrap_or_default()
    }

    fn resume(&mut self, cx: &mut Cx<'_>, ue: u16, at: Instant) {
        self.pause(cx, ue, at);
        let ue = usize::from(ue);
        if let Some(user) = self.ues.get_mut(ue) {
            user.resume(cx, at);
            self.settle(cx, ue);
        }
    }

    fn hold(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant) {
        let ue = usize::from(ue);
        if let Some(user) = self.ues.get_mut(ue) {
            user.hold(cx.now, until);
            if let Some(uplink) = &mut self.uplink {
                uplink.resume(ue as u16);
            }
            self.settle(cx, ue);
        }
    }

    fn sent_until(&self, ue: u16) -> Instant {
        self.ues.get(usize::from(ue)).map_or(Instant::ZERO, Ue::sent_until)
    }

    fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Box<dyn Element>, how: Adopt) -> bool {
        let Some(fresh) = as_same::<Self>(fresh) else { return false };
        let uplinks = match (&mut self.uplink, fresh.uplink) {
            (Some(own), Some(fresh)) => own.adopt(fresh, how),
            _ => false,
        };
        let each = self.ues.iter_mut().zip(fresh.ues);
        each.fold(uplinks, |differs, (own, new)| own.adopt(cx, new, how) | differs)
    }
}

impl Element for SharedCell {
    fn layout(&self) -> Layout {
        // Second bearers have the indices after all default bearers.
        let second = self.ues.iter().filter_map(|ue| ue.pair.second());
        let pairs = self.ues.iter().map(|ue| &*ue.pair).chain(second);
        let layout = cell_layout(pairs.flat_map(|pair| pair.bearers().iter().map(|bearer| &bearer.buffer)));
        let layout = Layout { timers: layout.timers + if self.uplink.is_some() { 3 } else { 2 }, ..layout };
        if !self.downlink.is_loud() {
            return layout;
        }
        // Other cells know the load of a slot only once the slot starts.
        let (early, by_lanes, ahead) = Default::default();
        Layout { early, by_lanes, ahead, ..layout }
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        let slot = self.downlink.slot_length();
        self.ues.iter().for_each(|ue| ue.open(cx, slot));
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        let ue = usize::from(packet.ue);
        match self.ues.get_mut(ue) {
            Some(user) => {
                if let (Some(uplink), Dir::Uplink) = (&self.uplink, dir) {
                    let delay = uplink.grant_delay(cx.now, ue);
                    user.excuse(delay);
                }
                user.handle_sdu(cx, dir, packet, &mut self.work);
                self.settle(cx, ue);
            }
            None => cx.drop(dir, packet, Reason::UnknownUe),
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        let [slots, blocks, uplinks] = self.timers();
        if key == slots {
            self.handle_slot(cx);
        } else if key == blocks {
            self.handle_arrivals(cx);
            self.arm_arrivals(cx, blocks);
        } else if key == uplinks {
            self.handle_uplink(cx);
        } else {
            let ue = key as usize / 2;
            self.ues[ue].handle_timer(cx, &mut self.work);
            self.settle(cx, ue);
        }
    }

    fn report(&self, cx: &mut Cx<'_>) -> Value {
        let air = self.downlink.air();
        let blocks = self.downlink.blocks_until(cx.now);
        let ues = self.ues.iter().enumerate();
        let of_ues = ues.flat_map(|(number, ue)| {
            let most = self.uplink.as_ref().and_then(|uplink| uplink.most_bytes(number, cx.now));
            ue.reports(cx, air, [ue.counts.alone.bytes(blocks), most])
        });
        let mut reports: Vec<Value> = of_ues.collect();
        if let Some(uplink) = &self.uplink {
            let of_uplinks = reports.iter_mut().skip(1).step_by(2).enumerate();
            of_uplinks.for_each(|(ue, report)| report["harq"] = uplink.report(ue));
        }
        let mut report = cell_report(self.name, &reports);
        report["slots_busy_share"] =
            share(self.downlink.busy_slots as f64, self.downlink.slots_until(cx.now) as f64).into();
        let wanting = self.ues.iter().filter(|ue| ue.pair.bytes_in() > 0);
        let bytes: Vec<u64> = wanting.map(|ue| ue.pair.bytes_delivered()).collect();
        report["jain_index"] = jain_index(bytes.iter().map(|bytes| *bytes as f64)).into();
        report
    }
}

/// The first of a queue, if it is so.
fn pop_if<T>(queue: &mut VecDeque<T>, is_so: impl FnOnce(&T) -> bool) -> Option<T> {
    if queue.front().is_some_and(is_so) { queue.pop_front() } else { None }
}
