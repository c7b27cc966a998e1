//! ACK filtering: while ACKs are queued, a newer cumulative ACK replaces older ones of its flow.
//!
//! H. Balakrishnan, V. N. Padmanabhan and R. H. Katz, "The effects of asymmetry on TCP performance", MobiCom 1997,
//! section 5; RFC 3449 (5.2.1). There the filter works in the queue of the slow reverse link. A box cannot reach into a
//! bearer's buffer, so it extends that buffer at the front: it is located before the bearer that carries the ACKs (at
//! the UE for downloads) and forwards a packet only while fewer than `in_buffer` wait there. All other packets wait
//! here, in order of arrival, and the bearer never starves.
//!
//! A pure ACK that acknowledges more than others of its flow that wait here removes them. With `keep_duplicates`, an
//! ACK that carries more information than the newer one stays. Duplicate ACKs without SACK blocks stay, since the
//! sender counts them. So does an ACK with a SACK block that the newer one neither acknowledges nor contains in one of
//! its blocks: a sender with SACK counts the reported bytes, not the ACKs (RFC 6675 (4)). So does an ACK whose ECN bits
//! differ from the newer one's. Equal bits add no information: ECE is repeated until CWR (RFC 3168 (6.1.3)), and one
//! ACK is kept for each value of accurate ECN's counter (RFC 9768 (3.3.3)). Without `keep_duplicates`, every ACK that a
//! later one covers is removed.
//!
//! At most `limit` packets wait for each UE, and no more than the bearer's buffer has room for; then the oldest is
//! passed to that buffer, which may drop it.

use super::acks::{Line, Place, Segment, check_limits, is_after};
use super::{Around, Component, Plan};
use crate::element::{Cx, Element, Layout, Port, RadioEvent, RadioEventKind};
use crate::error::ScenarioError;
use crate::packet::{Dir, Flags, Packet};
use crate::time::Instant;
use crate::trace::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// Lets a newer ACK take the place of older ones that wait: Balakrishnan et al. 1997.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Location of the box, before the bearer of the ACKs: at the UE for downloads, in the network for uploads.
    pub at: Place,
    /// Whether ACKs with more information than a newer one stay: duplicate ACKs, different ECN bits, SACK blocks that
    /// the newer one does not contain.
    pub keep_duplicates: bool,
    /// Packets that wait in the bearer's own buffer.
    pub in_buffer: u32,
    /// Packets that wait in the box for each UE; at most as many as the limit in packets of the bearer's buffer.
    pub limit: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { at: Place::Ue, keep_duplicates: true, in_buffer: 1, limit: 1000 }
    }
}

impl Config {
    /// Whether `older` may go when `newer`, of the same flow, has come.
    fn removes(&self, newer: &Packet, older: &Packet) -> bool {
        if !older.is_tcp() || Segment::of(older) != Segment::PureAck {
            return false;
        }
        if is_after(older.ack, newer.ack) {
            return false;
        }
        if !self.keep_duplicates {
            return true;
        }
        let blocks = older.options().sack.as_slice();
        let is_counted = newer.ack == older.ack && blocks.is_empty();
        let other_marks = (older.flags.0 ^ newer.flags.0) & Flags::ACE.0 != 0;
        let is_needed = is_counted || other_marks || has_dsack(older);
        !is_needed && blocks.iter().all(|block| reports(newer, *block))
    }
}

/// Whether an ACK covers a whole block: acknowledged, or contained in one of its SACK blocks.
fn reports(newer: &Packet, block: (u32, u32)) -> bool {
    let own = newer.options().sack.as_slice();
    !is_after(block.1, newer.ack) || own.iter().any(|outer| is_within(block, *outer))
}

/// Whether the first block is a DSACK, i.e. below the ACK or within the second block: RFC 2883 (4). A DSACK reports a
/// duplicate and is sent only once.
fn has_dsack(packet: &Packet) -> bool {
    let blocks = packet.options().sack.as_slice();
    let is_second = |first| blocks.get(1).is_some_and(|second| is_within(first, *second));
    blocks.first().is_some_and(|first| !is_after(first.1, packet.ack) || is_second(*first))
}

fn is_within(block: (u32, u32), outer: (u32, u32)) -> bool {
    !is_after(outer.0, block.0) && !is_after(block.1, outer.1)
}

impl Component for Config {
    fn build(&self, _plan: &Plan<'_>) -> Box<dyn Element> {
        Box::new(AckFilter { config: self.clone(), queues: BTreeMap::new() })
    }

    fn place(&self) -> Place {
        self.at
    }

    fn validate(&self, _around: &Around<'_>) -> Result<(), ScenarioError> {
        let limits = [("in_buffer", self.in_buffer), ("limit", self.limit)];
        check_limits(&limits, "no packet could wait there")
    }
}

/// Packets waiting for a UE's bearer.
#[derive(Default)]
struct Queue {
    line: Line,
    /// Packets that left for the bearer at this instant and are not yet in its accounting.
    on_the_way: (Instant, u32),
    passed: u64,
    filtered: u64,
}

struct AckFilter {
    config: Config,
    /// Queues by UE.
    queues: BTreeMap<u16, Queue>,
}

impl AckFilter {
    /// Forwards the packets that fit into the bearer's buffer.
    fn release(&mut self, cx: &mut Cx<'_>, ue: u16) {
        let dir = self.config.at.towards_cell();
        let Some(queue) = self.queues.get_mut(&ue) else { return };
        let view = cx.radio(ue, dir);
        if queue.on_the_way.0 != cx.now {
            queue.on_the_way = (cx.now, 0);
        }
        // The first to find the bearer idle does not wait.
        let room = self.config.in_buffer.saturating_add(u32::from(view.sdus == 0));
        let mut fits = room.saturating_sub(view.untransmitted_sdus).saturating_sub(queue.on_the_way.1);
        // The box is the front of the bearer's buffer, and no larger.
        let most = self.config.limit.min(view.limit_sdus.map_or(u32::MAX, |limit| limit.max(1)));
        while fits > 0 || queue.line.len() > most as usize {
            let Some(packet) = queue.line.pop() else { break };
            fits = fits.saturating_sub(1);
            queue.on_the_way.1 += 1;
            queue.passed += 1;
            cx.emit(dir, packet);
        }
        queue.line.note_peaks();
    }
}

impl Element for AckFilter {
    fn layout(&self) -> Layout {
        let acks = self.config.at.towards_cell();
        Layout { radio_events: true, silent: Dir::BOTH.map(|dir| dir != acks), ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        if dir != self.config.at.towards_cell() {
            return cx.emit(dir, packet);
        }
        let (ue, config) = (packet.ue, &self.config);
        let queue = self.queues.entry(ue).or_default();
        if packet.is_tcp() && Segment::of(&packet) == Segment::PureAck {
            let is_covered = |older: &Packet| older.flow == packet.flow && config.removes(&packet, older);
            for older in queue.line.take(is_covered) {
                queue.filtered += 1;
                cx.drop(dir, older, Reason::AckFiltered);
            }
        }
        queue.line.push(packet);
        self.release(cx, ue);
    }

    fn handle_radio(&mut self, cx: &mut Cx<'_>, event: &RadioEvent) {
        if event.dir != self.config.at.towards_cell() {
            return;
        }
        match event.kind {
            RadioEventKind::Enqueued | RadioEventKind::Dropped => {
                if let Some(queue) = self.queues.get_mut(&event.ue) {
                    queue.on_the_way.1 = queue.on_the_way.1.saturating_sub(1);
                }
            }
            // An evicted or discarded SDU may have been unsent, i.e. counted as untransmitted.
            RadioEventKind::Started | RadioEventKind::Evicted | RadioEventKind::Discarded => {
                self.release(cx, event.ue);
            }
            RadioEventKind::Delivered => {}
        }
    }

    fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
        let queues: Vec<_> = self
            .queues
            .iter()
            .map(|(ue, queue)| {
                json!({
                    "ue": ue,
                    "packets_passed": queue.passed,
                    "acks_filtered": queue.filtered,
                    "held_at_end": queue.line.len(),
                    "peak_held_packets": queue.line.peak_packets,
                    "peak_held_bytes": queue.line.peak_bytes,
                })
            })
            .collect();
        json!({ "element": "middlebox.ack_filter", "queues": queues })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(number: u32) -> Packet {
        Packet { flags: Flags::ACK, ack: number, len: 40, ..Packet::default() }
    }

    #[test]
    fn what_a_later_ack_covers_goes_unless_it_tells_more() {
        let keeps = Config::default();
        let keeps_none = Config { keep_duplicates: false, ..Config::default() };
        let mut with_sack = ack(1000);
        with_sack.options_mut().sack.push(2000, 3000);
        let echo = Packet { flags: Flags::ACK | Flags::ECE, ..ack(1000) };
        let data = Packet { payload: 10, ..ack(1000) };
        let acked_since = with_sack.clone();
        // Newer, older, removed with duplicates kept and without.
        let cases = [
            (2000, ack(1000), true, true),
            (1000, ack(1000), false, true),
            (1000, ack(2000), false, false),
            (5, ack(u32::MAX - 5), true, true),
            (2000, with_sack, false, true),
            (3000, acked_since, true, true),
            (2000, echo, false, true),
            (2000, data, false, false),
        ];
        for (newer, older, kept, not_kept) in cases {
            assert_eq!(keeps.removes(&ack(newer), &older), kept, "{newer} {older:?}");
            assert_eq!(keeps_none.removes(&ack(newer), &older), not_kept, "{newer} {older:?}");
        }
    }

    /// Accurate ECN counts from 5, ECE set: of ACKs without news the last is enough.
    #[test]
    fn one_ack_is_kept_of_each_value_of_the_ecn_bits() {
        let with = |number: u32, bits: Flags| Packet { flags: Flags::ACK | bits, ..ack(number) };
        let (five, six) = (Flags::AE | Flags::ECE, Flags::AE | Flags::CWR);
        for (newer, older, removed) in [
            (five, five, true),
            (Flags::ECE, Flags::ECE, true),
            (six, five, false),
            (five, six, false),
            (Flags::default(), Flags::ECE, false),
        ] {
            let removes = Config::default().removes(&with(2000, newer), &with(1000, older));
            assert_eq!(removes, removed, "{newer:?} {older:?}");
        }
        assert!(!Config::default().removes(&with(1000, five), &with(1000, five)), "a duplicate");
    }

    fn with_blocks(number: u32, blocks: &[(u32, u32)]) -> Packet {
        let mut packet = ack(number);
        for (left, right) in blocks {
            assert!(packet.options_mut().sack.push(*left, *right));
        }
        packet
    }

    #[test]
    fn an_ack_goes_whose_blocks_a_newer_one_contains() {
        let older = with_blocks(1000, &[(2000, 3000)]);
        for (number, blocks, removed) in [
            (1000, &[(2000, 4000)][..], true),
            (1000, &[(5000, 6000), (2000, 3000)], true),
            (2500, &[(2000, 3000)], true),
            (1000, &[(2500, 4000)], false),
            (1000, &[(5000, 6000)], false),
            (1000, &[], false),
            (900, &[(2000, 4000)], false),
        ] {
            let newer = with_blocks(number, blocks);
            assert_eq!(Config::default().removes(&newer, &older), removed, "{number} {blocks:?}");
        }
        // A duplicate ACK without blocks is counted by the sender, and a DSACK is said once: RFC 2883 (4).
        assert!(!Config::default().removes(&with_blocks(1000, &[(2000, 4000)]), &ack(1000)));
        let dsack = with_blocks(1000, &[(500, 600), (2000, 3000)]);
        assert!(!Config::default().removes(&with_blocks(3000, &[]), &dsack));
        let within = with_blocks(1000, &[(2000, 2500), (2000, 3000)]);
        assert!(!Config::default().removes(&with_blocks(3000, &[]), &within));
    }
}
