//! ACK pacing: the ACKs of a flow are spaced in time, so the source sends no bursts.
//!
//! The baseline that Chan and Ramjee (MobiCom 2002) compare with their Ack Regulator; the idea goes back to C.
//! Partridge, "ACK spacing for high delay-bandwidth paths with insufficient buffering", 1998. The minimum time between
//! two ACKs of a flow is the transmission time of one packet on the bearer of its data: of the largest size seen, at
//! `rate` or, by default, at the bearer's (mean) rate. Unlike the regulator, the box does not observe the buffer.
//!
//! A segment that is no pure ACK is forwarded at once if nothing of its flow is held, otherwise in its turn. SYN, FIN
//! and RST first release everything held. At most `hold_limit` segments of a flow are held; then the oldest is
//! released. Flows that share a bearer are paced independently of each other.

use super::acks::{Deadlines, Line, Place, Segment, check_hold_limit};
use super::{Around, Component, Plan};
use crate::element::{Cx, Element, Layout, Port};
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::units::Bitrate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// Lets the ACKs of a flow leave no faster than its data's bearer sends packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Location of the box: in the network for downloads, at the UE for uploads.
    pub at: Place,
    /// Rate of the data, at IP level; the rate of the data's bearer if absent.
    pub rate: Option<Bitrate>,
    /// Segments held of a flow at most; beyond, the oldest goes.
    pub hold_limit: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { at: Place::Network, rate: None, hold_limit: 1000 }
    }
}

impl Component for Config {
    fn build(&self, _plan: &Plan<'_>) -> Box<dyn Element> {
        Box::new(AckPacing { config: self.clone(), flows: BTreeMap::new(), due: Deadlines::default() })
    }

    fn place(&self) -> Place {
        self.at
    }

    fn validate(&self, _around: &Around<'_>) -> Result<(), ScenarioError> {
        if self.rate.is_some_and(|rate| rate.as_bps() == 0) {
            let hint = "write a positive rate such as \"200 kbit/s\", or remove the key for the bearer's";
            return Err(ScenarioError::new("rate", "no ACK would ever leave", hint));
        }
        check_hold_limit(self.hold_limit)
    }
}

/// UE and number.
type Key = (u16, u16);

#[derive(Default)]
struct Flow {
    line: Line,
    /// Length of the largest packet of data, bytes; 0 before the first.
    largest: u32,
    /// When the next ACK may leave.
    next: Instant,
    came: u64,
    held: u64,
    forced: u64,
}

struct AckPacing {
    config: Config,
    flows: BTreeMap<Key, Flow>,
    due: Deadlines<Key>,
}

impl Flow {
    /// The next segment that may leave now; `distance` is that between two ACKs.
    fn poll(&mut self, now: Instant, distance: Duration, hold_limit: u32) -> Option<Box<Packet>> {
        let is_ack = Segment::of(self.line.front()?) == Segment::PureAck;
        let is_full = self.line.len() > hold_limit as usize;
        if is_ack && now < self.next && !is_full {
            return None;
        }
        self.forced += u64::from(is_ack && now < self.next);
        if is_ack {
            self.next = now + distance;
        }
        self.line.pop()
    }
}

impl AckPacing {
    /// Between two ACKs of a flow.
    fn distance(&self, cx: &mut Cx<'_>, key: Key) -> Duration {
        let bearer = cx.radio(key.0, self.config.at.towards_cell()).rate;
        let rate = self.config.rate.unwrap_or(bearer);
        match self.flows.get(&key) {
            Some(flow) if rate.as_bps() > 0 => rate.time_to_send(u64::from(flow.largest)),
            _ => Duration::ZERO,
        }
    }

    /// Releases the ACKs that may leave, and records when the next one may.
    fn release(&mut self, cx: &mut Cx<'_>, key: Key) {
        let back = self.config.at.towards_cell().reverse();
        let distance = self.distance(cx, key);
        let Some(flow) = self.flows.get_mut(&key) else { return };
        let before = flow.next;
        while let Some(packet) = flow.poll(cx.now, distance, self.config.hold_limit) {
            cx.emit(back, packet);
        }
        flow.line.note_peaks();
        let after = (!flow.line.is_empty()).then_some(flow.next);
        self.due.change(cx, key, Some(before), after);
    }

    /// Lets everything of a flow go.
    fn flush(&mut self, cx: &mut Cx<'_>, key: Key) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        self.due.change(cx, key, Some(flow.next), None);
        while let Some(held) = flow.line.pop() {
            cx.emit(self.config.at.towards_cell().reverse(), held);
        }
    }
}

impl Element for AckPacing {
    fn layout(&self) -> Layout {
        Layout { timers: 1, ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        let key = (packet.ue, packet.flow);
        if !packet.is_tcp() {
            return cx.emit(dir, packet);
        }
        if dir == self.config.at.towards_cell() {
            if packet.payload > 0 {
                let flow = self.flows.entry(key).or_default();
                flow.largest = flow.largest.max(packet.len);
            }
            return cx.emit(dir, packet);
        }
        if Segment::of(&packet) == Segment::Boundary {
            self.flush(cx, key);
            return cx.emit(dir, packet);
        }
        let Some(flow) = self.flows.get_mut(&key) else { return cx.emit(dir, packet) };
        flow.came += 1;
        // It leaves at once, or after the ACKs held before it.
        flow.held += u64::from(!flow.line.is_empty() || cx.now < flow.next);
        flow.line.push(packet);
        self.release(cx, key);
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, _key: u32) {
        while let Some(key) = self.due.expired(cx.now) {
            self.release(cx, key);
        }
    }

    fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
        let flows: Vec<_> = self
            .flows
            .iter()
            .map(|((ue, number), flow)| {
                json!({
                    "ue": ue,
                    "flow": number,
                    "acks": flow.came,
                    "acks_held": flow.held,
                    "held_at_end": flow.line.len(),
                    "peak_held_acks": flow.line.peak_packets,
                    "peak_held_bytes": flow.line.peak_bytes,
                    "forced_releases": flow.forced,
                })
            })
            .collect();
        json!({ "element": "middlebox.ack_pacing", "flows": flows })
    }
}
