//! ARQ with a fixed retransmission delay: the link model of \[lundsten\] ("EasyLink").
//!
//! SDUs are cut into blocks of one size. A slot lasts one TTI and carries one block that fills it, or
//! several smaller PDUs that all complete at its end. At the end of the slot the channel decides for
//! each PDU; a lost one comes back to the **head** of the queue a fixed delay later, as often as it
//! takes. An SDU is handed up when its last octet has arrived, at once or in sequence.
//!
//! Left out: headers, STATUS PDUs, polling, windows and timers; see `am` for those. The feedback
//! itself cannot be lost. The paper leaves much open; every such choice is an option here:
//! which slot a block catches that comes back exactly at a slot boundary (`tie`), the order of
//! blocks that come back together (`requeue`), whether slots follow a grid (`slots`).
//!
//! Blocks are ranges of one stream of octets: the SDUs concatenated without padding.

use super::{Component, Errors, Rlc, Slot, SlotReport};
use crate::channel::{self, Channel};
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::registry::parameters;
use crate::rng::{Stream, Threshold};
use crate::time::{Duration, Instant};
use crate::units::{Bitrate, Bytes, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

parameters! {
    /// ARQ with a fixed retransmission delay.
    pub struct Config {
        /// Length of a slot, the transmission time interval.
        pub tti: Duration = Duration::from_millis(20),
        /// Size of a PDU; one block that fills the TTI if absent.
        pub pdu: Option<Bytes>,
        /// From the end of the slot in which a PDU was lost until it returns to the queue.
        pub retransmission_delay: Duration = Duration::from_millis(60),
        /// Slot used by a PDU that returns exactly at a slot boundary.
        pub tie: Tie = Tie::Before,
        /// Order in which SDUs are delivered.
        pub delivery: Delivery = Delivery::InSequence,
        /// Order of PDUs that return together.
        pub requeue: Requeue = Requeue::OneByOne,
        /// An SDU is discarded when one of its PDUs was lost this many times; never if absent.
        pub max_transmissions: Option<u32>,
        /// Whether a new SDU fills the room left in the last block that was not sent yet.
        pub concatenation: bool = true,
        /// When slots may begin.
        pub slots: Slots = Slots::BackToBack,
        /// Whether PDUs of one slot are lost independently.
        pub errors: Errors = Errors::PerPdu,
    }
}

/// Slot used by a PDU that returns exactly when a slot starts.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tie {
    /// It returns before the slot is filled, and uses it.
    #[default]
    Before,
    /// It returns after the slot was filled, and uses the next.
    After,
    /// It uses the slot with this probability.
    Probability(Probability),
}

parameters! {
    /// Order in which complete SDUs are delivered.
    pub enum Delivery {
        /// A complete SDU waits for those sent before it.
        #[default]
        InSequence,
        /// A complete SDU is delivered at once.
        OutOfSequence,
    }

    /// Order of PDUs that return at the same instant.
    pub enum Requeue {
        /// Each is put in front of the one before: their order is reversed.
        #[default]
        OneByOne,
        /// They keep their order.
        Together,
    }

    /// When slots may begin.
    pub enum Slots {
        /// At once when the bearer is idle, otherwise when the slot before ends.
        #[default]
        BackToBack,
        /// At multiples of the TTI.
        Grid,
    }
}

impl Config {
    /// Octets that one TTI carries at `rate`.
    pub fn tti_bytes(&self, rate: Bitrate) -> u64 {
        rate.bytes_in(self.tti)
    }
}

impl Component for Config {
    fn build(&self, rate: Bitrate, stream: Stream) -> Option<Box<dyn Rlc>> {
        let tti_bytes = self.tti_bytes(rate);
        let pdu_bytes = self.pdu.map_or(tti_bytes, Bytes::as_u64);
        Some(Box::new(FixedDelayArq {
            config: self.clone(),
            pdu_bytes,
            pdus_per_slot: (tti_bytes / pdu_bytes) as usize,
            tie_before: Threshold::from(match self.tie {
                Tie::Before => Probability::ONE,
                Tie::After => Probability::ZERO,
                Tie::Probability(probability) => probability,
            }),
            stream,
            stream_end: 0,
            sdus: VecDeque::new(),
            first_sdu: 0,
            next_up: 0,
            queue: VecDeque::new(),
            on_air: Vec::new(),
            returning: VecDeque::new(),
        }))
    }

    fn validate(&self, rate: Bitrate) -> Result<(), ScenarioError> {
        let error = |key: &str, message: String, hint: &str| Err(ScenarioError::new(key, message, hint));
        if self.tti.is_zero() {
            return error("tti", "a slot of no length".into(), "write a TTI such as \"20 ms\"");
        }
        let tti_bytes = self.tti_bytes(rate);
        if tti_bytes == 0 {
            let hint = "lengthen the TTI or raise the rate";
            return error("tti", format!("a TTI of {} at {rate} carries less than one byte", self.tti), hint);
        }
        if let Some(pdu) = self.pdu {
            if pdu.as_u64() == 0 {
                return error(
                    "pdu",
                    "a PDU of no size".into(),
                    "write a size such as \"40 B\", or remove the key",
                );
            }
            if !tti_bytes.is_multiple_of(pdu.as_u64()) {
                let message =
                    format!("a TTI carries {tti_bytes} B, which is no whole number of PDUs of {pdu}");
                return error("pdu", message, "choose a size that divides the TTI, or remove the key");
            }
        }
        if self.max_transmissions == Some(0) {
            let hint = "write at least 1, or remove the key for no limit";
            return error("max_transmissions", "nothing would ever be sent".into(), hint);
        }
        Ok(())
    }

    fn slot(&self) -> Duration {
        self.tti
    }

    fn check_bearer(&self, channel: &channel::Config) -> Result<(), ScenarioError> {
        if channel.loses_everything() && self.max_transmissions.is_none() {
            return Err(ScenarioError::new(
                "channel",
                "every block is lost and retransmitted for ever",
                "lower the block error rate, or set rlc.fixed_delay_arq.max_transmissions",
            ));
        }
        Ok(())
    }
}

/// A range of the octet stream that is sent as one PDU.
#[derive(Clone, Copy, Debug)]
struct Block {
    start: u64,
    end: u64,
    /// The SDU that holds the octet `start`.
    first_sdu: u64,
    transmissions: u32,
}

struct Sdu {
    start: u64,
    end: u64,
    /// Octets that have not arrived.
    missing: u64,
    entered: Instant,
    /// `None` once delivered or discarded.
    packet: Option<Box<Packet>>,
}

struct FixedDelayArq {
    config: Config,
    pdu_bytes: u64,
    pdus_per_slot: usize,
    tie_before: Threshold,
    stream: Stream,
    /// Octets of all SDUs so far.
    stream_end: u64,
    /// SDUs from number `first_sdu` on.
    sdus: VecDeque<Sdu>,
    first_sdu: u64,
    /// In-sequence delivery: the next SDU to deliver.
    next_up: u64,
    queue: VecDeque<Block>,
    on_air: Vec<Block>,
    /// Lost blocks until their return to the queue, earliest first.
    returning: VecDeque<(Instant, Block)>,
}

impl Rlc for FixedDelayArq {
    fn handle_sdu(&mut self, entered: Instant, sdu: Box<Packet>) {
        let start = self.stream_end;
        let end = start + u64::from(sdu.len);
        let number = self.first_sdu + self.sdus.len() as u64;
        self.stream_end = end;
        self.sdus.push_back(Sdu { start, end, missing: end - start, entered, packet: Some(sdu) });
        self.cut(number, start, end);
    }

    /// Removes the first SDU that has not been started. The SDUs after it move forward in the octet stream and are
    /// segmented again.
    fn take_waiting(&mut self) -> Option<Box<Packet>> {
        let is_unsent = |block: &&Block| block.transmissions == 0;
        let unsent = self.queue.iter().find(is_unsent).map_or(self.stream_end, |block| block.start);
        let index = self.sdus.partition_point(|sdu| sdu.start < unsent);
        let taken = self.sdus.remove(index)?;
        self.queue.retain_mut(|block| {
            let stays = block.transmissions > 0 || block.start < taken.start;
            if stays {
                block.end = block.end.min(taken.start);
            }
            stays
        });
        self.stream_end = taken.start;
        for behind in index..self.sdus.len() {
            let sdu = &mut self.sdus[behind];
            let start = self.stream_end;
            (sdu.end, sdu.start) = (start + (sdu.end - sdu.start), start);
            self.stream_end = sdu.end;
            let end = sdu.end;
            self.cut(self.first_sdu + behind as u64, start, end);
        }
        taken.packet
    }

    fn withdraw(&mut self) -> Vec<Box<Packet>> {
        self.queue.clear();
        self.on_air.clear();
        self.returning.clear();
        self.first_sdu += self.sdus.len() as u64;
        self.next_up = self.first_sdu;
        self.sdus.drain(..).filter_map(|sdu| sdu.packet).collect()
    }

    fn start_slot(&mut self, now: Instant, boundary: bool, report: &mut SlotReport) -> Slot {
        debug_assert!(self.on_air.is_empty());
        if self.config.slots == Slots::Grid {
            let start = now.next_grid_point(self.config.tti.as_nanos(), 1);
            if start != now {
                let idle = self.queue.is_empty() && self.returning.is_empty();
                return if idle { Slot::Idle } else { Slot::IdleUntil(start) };
            }
        }
        // On the grid every slot begins at a boundary, whether another ends there or not.
        self.take_back(now, boundary || self.config.slots == Slots::Grid);
        if self.queue.is_empty() {
            return match self.returning.front() {
                Some(&(at, _)) => Slot::IdleUntil(at),
                None => Slot::Idle,
            };
        }
        while self.on_air.len() < self.pdus_per_slot
            && let Some(mut block) = self.queue.pop_front()
        {
            if block.transmissions == 0 {
                for sdu in self.sdus.range(self.touched(block)).filter(|sdu| sdu.start >= block.start) {
                    report.started.extend(sdu.packet.as_ref().map(|p| (p.flow, p.seq, p.len)));
                }
            }
            block.transmissions += 1;
            self.on_air.push(block);
        }
        Slot::BusyUntil(now + self.config.tti)
    }

    fn end_slot(&mut self, now: Instant, channel: &mut dyn Channel, report: &mut SlotReport) {
        report.pdus_sent = self.on_air.len() as u32;
        let slot_lost = self.config.errors == Errors::PerTti && channel.block_lost(now);
        for index in 0..self.on_air.len() {
            let block = self.on_air[index];
            let lost = match self.config.errors {
                Errors::PerPdu => channel.block_lost(now),
                Errors::PerTti => slot_lost,
            };
            if !lost {
                self.arrived(now, block, report);
                continue;
            }
            report.pdus_lost += 1;
            if self.config.max_transmissions == Some(block.transmissions) {
                self.give_up(block, report);
            } else if self.is_needed(&block) {
                self.returning.push_back((now + self.config.retransmission_delay, block));
            }
        }
        self.on_air.clear();
        self.hand_up_in_sequence(now, report);
        self.forget_finished();
    }
}

impl FixedDelayArq {
    /// Cuts the octets `start..end` of an SDU, the last of the stream, into blocks.
    fn cut(&mut self, number: u64, start: u64, end: u64) {
        let mut offset = start;
        if self.config.concatenation
            && let Some(last) = self.queue.back_mut().filter(|block| block.transmissions == 0)
        {
            last.end = end.min(last.start + self.pdu_bytes);
            offset = last.end;
        }
        while offset < end {
            let block_end = end.min(offset + self.pdu_bytes);
            let block = Block { start: offset, end: block_end, first_sdu: number, transmissions: 0 };
            self.queue.push_back(block);
            offset = block_end;
        }
    }

    /// Puts blocks that have returned by `now` at the head of the queue.
    fn take_back(&mut self, now: Instant, boundary: bool) {
        // Where nothing else is waiting the bearer is idle, and whatever comes back goes at once.
        let mut is_waiting = !self.queue.is_empty();
        while let Some(&(at, _)) = self.returning.front() {
            if at > now {
                break;
            }
            // One draw decides for all blocks that return at this instant.
            if at == now && boundary && is_waiting && !self.stream.chance(self.tie_before) {
                break;
            }
            is_waiting = true;
            self.take_back_at(at);
        }
    }

    /// Puts the blocks that return at one instant at the head of the queue.
    fn take_back_at(&mut self, instant: Instant) {
        let count = self.returning.iter().take_while(|(at, _)| *at == instant).count();
        let together = self.returning.drain(..count).map(|(_, block)| block);
        match self.config.requeue {
            Requeue::OneByOne => together.for_each(|block| self.queue.push_front(block)),
            Requeue::Together => together.rev().for_each(|block| self.queue.push_front(block)),
        }
    }

    /// Whether the block holds octets of an SDU that was not given up. (One that was handed up has no
    /// octets in a block that has not arrived.)
    fn is_needed(&self, block: &Block) -> bool {
        self.sdus.range(self.touched(*block)).any(|sdu| sdu.packet.is_some())
    }

    /// The SDUs that a block touches, as indices into `sdus`.
    fn touched(&self, block: Block) -> std::ops::Range<usize> {
        let from = block.first_sdu.saturating_sub(self.first_sdu) as usize;
        let count = self.sdus.range(from..).take_while(|sdu| sdu.start < block.end).count();
        from..from + count
    }

    fn arrived(&mut self, now: Instant, block: Block, report: &mut SlotReport) {
        for index in self.touched(block) {
            let sdu = &mut self.sdus[index];
            // Saturating: an SDU that was given up misses nothing, though octets of it still arrive.
            sdu.missing = sdu.missing.saturating_sub(sdu.end.min(block.end) - sdu.start.max(block.start));
            if sdu.missing == 0 && self.config.delivery == Delivery::OutOfSequence {
                let delay = now.since(sdu.entered);
                report.delivered.extend(sdu.packet.take().map(|packet| (packet, delay)));
            }
        }
    }

    /// Discards every SDU that has octets in the block, with all blocks that hold nothing else.
    fn give_up(&mut self, block: Block, report: &mut SlotReport) {
        for index in self.touched(block) {
            let sdu = &mut self.sdus[index];
            sdu.missing = 0;
            report.discarded.extend(sdu.packet.take());
        }
        let mut queue = std::mem::take(&mut self.queue);
        queue.retain(|other| self.is_needed(other));
        self.queue = queue;
        let mut returning = std::mem::take(&mut self.returning);
        returning.retain(|(_, other)| self.is_needed(other));
        self.returning = returning;
    }

    fn hand_up_in_sequence(&mut self, now: Instant, report: &mut SlotReport) {
        if self.config.delivery != Delivery::InSequence {
            return;
        }
        while let Some(sdu) = self.sdus.get_mut((self.next_up - self.first_sdu) as usize)
            && sdu.missing == 0
        {
            let delay = now.since(sdu.entered);
            report.delivered.extend(sdu.packet.take().map(|packet| (packet, delay)));
            self.next_up += 1;
        }
    }

    /// Removes leading SDUs that are delivered or discarded.
    fn forget_finished(&mut self) {
        while self.sdus.front().is_some_and(|sdu| sdu.missing == 0 && sdu.packet.is_none()) {
            self.sdus.pop_front();
            self.first_sdu += 1;
        }
        self.next_up = self.next_up.max(self.first_sdu);
    }
}
