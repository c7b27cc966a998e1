//! Common parts of boxes that act on ACKs: their location, the classification of segments, the queue of held segments,
//! and its deadlines.

use crate::element::Cx;
use crate::error::ScenarioError;
use crate::packet::{Dir, Flags, Packet};
use crate::time::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Location of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Between the wired link and the cell, as at an RNC.
    #[default]
    Network,
    /// Between the cell and the hosts of the UEs.
    Ue,
}

impl Place {
    /// The direction that leads from the box into the cell.
    pub const fn towards_cell(self) -> Dir {
        match self {
            Self::Network => Dir::Downlink,
            Self::Ue => Dir::Uplink,
        }
    }
}

/// The largest window, RFC 7323 (2.3).
const LARGEST_WINDOW: u32 = 1 << 30;

/// Whether two sequence numbers are so far apart that no window has both: they are of different connections.
pub(super) fn are_far_apart(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).wrapping_add(LARGEST_WINDOW) >= 2 * LARGEST_WINDOW
}

/// The connection to evict if there are `most`: the least recently used one.
pub(super) fn to_evict<T>(
    connections: &BTreeMap<(u16, u16), T>,
    most: u32,
    used: impl Fn(&T) -> u64,
) -> Option<(u16, u16)> {
    if connections.len() < most as usize {
        return None;
    }
    connections.iter().min_by_key(|(_, connection)| used(connection)).map(|(key, _)| *key)
}

/// Kind of a segment that travels against the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// An acknowledgment and nothing else.
    PureAck,
    /// A segment with data.
    Data,
    /// SYN, FIN or RST: a connection begins or ends.
    Boundary,
}

impl Segment {
    pub fn of(packet: &Packet) -> Self {
        let ends = Flags::SYN.0 | Flags::FIN.0 | Flags::RST.0;
        if packet.flags.0 & ends != 0 {
            Self::Boundary
        } else if packet.payload > 0 || !packet.flags.has(Flags::ACK) {
            Self::Data
        } else {
            Self::PureAck
        }
    }
}

/// Whether sequence number `one` comes after `other`: RFC 9293 (3.4).
pub(super) fn is_after(one: u32, other: u32) -> bool {
    one.wrapping_sub(other) as i32 > 0
}

/// Segments that a box holds, first in first out.
#[derive(Default)]
pub(super) struct Line {
    packets: VecDeque<Box<Packet>>,
    bytes: u64,
    pub peak_packets: usize,
    pub peak_bytes: u64,
}

impl Line {
    pub fn push(&mut self, packet: Box<Packet>) {
        self.bytes += u64::from(packet.len);
        self.packets.push_back(packet);
    }

    /// All ACKs that may leave have left: updates the peaks of the held ones.
    pub fn note_peaks(&mut self) {
        self.peak_packets = self.peak_packets.max(self.packets.len());
        self.peak_bytes = self.peak_bytes.max(self.bytes);
    }

    pub fn pop(&mut self) -> Option<Box<Packet>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.len);
        Some(packet)
    }

    pub fn front(&self) -> Option<&Packet> {
        self.packets.front().map(AsRef::as_ref)
    }

    pub fn len(&self) -> usize {
        self.packets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether one of them is so.
    pub fn any(&self, mut is_so: impl FnMut(&Packet) -> bool) -> bool {
        self.packets.iter().any(|packet| is_so(packet))
    }

    /// Takes out the `superfluous` segments, from the oldest to the newest.
    pub fn take(&mut self, mut superfluous: impl FnMut(&Packet) -> bool) -> VecDeque<Box<Packet>> {
        let (taken, kept): (VecDeque<_>, VecDeque<_>) =
            self.packets.drain(..).partition(|packet| superfluous(packet));
        self.packets = kept;
        self.bytes -= taken.iter().map(|packet| u64::from(packet.len)).sum::<u64>();
        taken
    }
}

/// Refuses limits of zero.
pub(super) fn check_limits(limits: &[(&str, u32)], message: &str) -> Result<(), ScenarioError> {
    let zero = limits.iter().find(|(_, limit)| *limit == 0);
    zero.map_or(Ok(()), |(key, _)| Err(ScenarioError::new(*key, message, "write at least 1")))
}

/// Refuses a box that could hold nothing.
pub(super) fn check_hold_limit(segments: u32) -> Result<(), ScenarioError> {
    check_limits(&[("hold_limit", segments)], "nothing could be held")
}

/// Non-empty lines, ordered by the departure time of their first segment: the deadlines of the box's timer 0.
pub(super) struct Deadlines<K>(BTreeSet<(Instant, K)>);

impl<K> Default for Deadlines<K> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<K: Copy + Ord> Deadlines<K> {
    /// A line's time was `before`, and is `after` now.
    pub fn change(&mut self, cx: &mut Cx<'_>, line: K, before: Option<Instant>, after: Option<Instant>) {
        if let Some(at) = before {
            self.0.remove(&(at, line));
        }
        if let Some(at) = after {
            self.0.insert((at, line));
        }
        self.arm_first(cx);
    }

    /// Arms the timer for the first of them.
    pub fn arm_first(&self, cx: &mut Cx<'_>) {
        if let Some((at, _)) = self.0.first() {
            cx.arm(0, *at);
        }
    }

    /// The line whose time came first, if it has come.
    pub fn expired(&self, now: Instant) -> Option<K> {
        self.0.first().filter(|(at, _)| *at <= now).map(|(_, line)| *line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_acknowledgment_and_nothing_else_is_a_pure_ack() {
        let of = |flags: Flags, payload: u32| Segment::of(&Packet { flags, payload, ..Packet::default() });
        assert_eq!(of(Flags::ACK, 0), Segment::PureAck);
        assert_eq!(of(Flags::ACK | Flags::ECE, 0), Segment::PureAck);
        assert_eq!(of(Flags::ACK, 1), Segment::Data);
        for flag in [Flags::SYN, Flags::FIN, Flags::RST] {
            assert_eq!(of(Flags::ACK | flag, 0), Segment::Boundary);
        }
    }

    #[test]
    fn sequence_numbers_are_compared_across_the_wrap() {
        assert!(is_after(5, u32::MAX - 5) && !is_after(u32::MAX - 5, 5) && !is_after(7, 7));
    }
}
