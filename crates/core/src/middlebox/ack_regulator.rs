//! The Ack Regulator: releases ACKs to the source only if the buffer of its data has room for the packets they trigger.
//!
//! M. C. Chan and R. Ramjee, "TCP/IP Performance over 3G Wireless Links with Rate and Delay Variation", MobiCom 2002,
//! section 5, Figures 7 to 9. The box queues the ACKs of a flow and observes the buffer in which the flow's data waits
//! for the radio link. `AckReleaseCount` is the number of packets that the source still has to send for the ACKs
//! released so far. In conservative mode there is room for one packet more than that, so that none is lost. When the
//! window of the source exceeds alpha times the buffer, the box gives up that room: one packet is lost, the source
//! halves its window, and the box is conservative again. Instead of the loss, `loss_signal = "ecn"` marks a packet of
//! an ECN-capable flow (RFC 3168) and stays conservative.
//!
//! The paper's figures leave much open, and three keys select the interpretation:
//!
//! | key | default | other |
//! |---|---|---|
//! | `reset`: `AckReleaseCount = 0` | `empty`: whenever the buffer is empty, before a release, and at the arrival of an ACK too | `departure`: only when a packet leaves the buffer empty, after the release (Figure 9): small buffers stall until `idle_release` |
//! | `window` | `less_duplicates`: the data beyond the last ACK released, minus one packet for each duplicate of it, as each reports a packet that has left | `outstanding`: without that |
//! | `threshold` | `with_service`: alpha times (limit + 1), with the packet in transmission | `waiting`: alpha times the limit |
//!
//! Line 3 of Figure 7 is read with the minus of the text; in print the line assigns, which would ignore the buffer.
//!
//! The text of section 5 resets the count whenever the buffer is empty, Figure 9 only at a departure. As printed, room
//! reserved for packets that never arrive (in response to duplicates) blocks a small buffer until the source times out,
//! unless `idle_release`, which the paper does not have, ends it. `empty` is inaccurate with a long delay on the wired
//! link: consecutive ACKs that find the buffer empty do not count. Figure 7 counts the ACKs held by the difference of
//! two ACK numbers, so a duplicate changes them too: hence the key for the window. The paper does not define the
//! threshold.
//!
//! A pure ACK counts for as many packets as it acknowledges, and a duplicate for one. The paper assumes that every
//! packet is acknowledged, and counts each ACK as one (`count = "acks"`); so do its scenarios here. With delayed ACKs
//! this expects half of the packets that arrive: on the link of its Table 1, row 4, 37 timeouts per hour instead of 2.
//! In slow start the window also grows, which the room for one packet more allows for, and a source that counts bytes
//! and has an ACK for two segments needs room for two (`growth = "acked"`, for real kernels). The window is counted in
//! segments of the largest size seen. The first of a row of duplicates reserves `reserve_limited_transmit` packets
//! more, the third `reserve_fast_retransmit`.
//!
//! Only pure ACKs are held, once data of their flow has been seen. Segments with data and window updates leave at once
//! if nothing is held, otherwise after the ACKs before them: no ACK is ever overtaken, altered or lost. SYN, FIN and
//! RST first release everything held. Packets without a readable TCP header pass.
//!
//! No ACK is held forever. While the buffer holds a packet of the flow, the end of its transmission will trigger a
//! release. When the buffer has been empty for `idle_release`, as many ACKs are released as it has room for packets,
//! and earlier expectations are dropped. ASSUMED: the paper does not say what ends the wait for data that never
//! arrives. Held ACKs are bounded by `hold_limit`; the paper's estimate is alpha times the buffer, and the default is
//! far beyond it, since duplicates and a source that does not react need more.
//!
//! The paper gives each flow its own buffer. If flows share one, the packets expected from the other flows take room
//! too, and a departing packet of any flow makes room for all, in turn.
//!
//! A flow whose buffer has no limit in packets cannot be regulated: a scenario with such a flow is refused, and a
//! live one passes.

mod flow;

use super::acks::{Place, Segment, check_hold_limit};
use super::{Around, Component, Plan};
use crate::app::{self, Carrier};
use crate::element::{Cx, Element, Layout, Port, RadioEvent, RadioEventKind};
use crate::error::ScenarioError;
use crate::packet::{Dir, Flags, Packet};
use crate::time::Duration;
use crate::trace::Kind;
use flow::{Buffer, Flow, Mode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// Holds ACKs until the buffer of the data has room for the packets they trigger: Chan and Ramjee 2002.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Location of the box: in the network for downloads, at the UE for uploads.
    pub at: Place,
    /// When `AckReleaseCount` is reset. A small buffer needs `idle_release` with `departure`.
    pub reset: Reset,
    /// Estimate of the source's window.
    pub window: Window,
    /// Whether the buffer in the threshold has the packet in transmission, too.
    pub threshold: Threshold,
    /// Former combination of `reset`, `window` and `threshold`: refused.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub reading: Option<String>,
    /// The source may lose a packet when its window exceeds this times the buffer.
    pub alpha: f64,
    /// How the source is signalled that its window is large enough.
    pub loss_signal: LossSignal,
    /// Number of packets that an ACK counts for.
    pub count: Count,
    /// Growth of the source's window per ACK, in packets, that conservative mode must have room for.
    pub growth: Growth,
    /// Packets reserved beyond that when the third duplicate ACK in a row is released.
    pub reserve_fast_retransmit: u32,
    /// Packets reserved at the first duplicate; 2 for a source with limited transmit (RFC 3042).
    pub reserve_limited_transmit: u32,
    /// Segments held of a flow at most; beyond, the oldest goes.
    pub hold_limit: u32,
    /// When the buffer has held no packet of the flow for this time, as many ACKs are released as it has room for
    /// packets.
    pub idle_release: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            at: Place::Network,
            reset: Reset::Empty,
            window: Window::LessDuplicates,
            threshold: Threshold::WithService,
            reading: None,
            alpha: 2.0,
            loss_signal: LossSignal::Drop,
            count: Count::Segments,
            growth: Growth::OneAnAck,
            reserve_fast_retransmit: 1,
            reserve_limited_transmit: 0,
            hold_limit: 1000,
            idle_release: Duration::from_millis(200),
        }
    }
}

/// When `AckReleaseCount` is reset to 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reset {
    /// Whenever the buffer is empty, as in the text: before a release, and also at the arrival of an ACK.
    Empty,
    /// Only when a packet leaves the buffer empty, after the release, as printed in Figure 9.
    Departure,
}

/// The window of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// The last data minus the last ACK released, minus its duplicates.
    LessDuplicates,
    /// The last data minus the last ACK released.
    Outstanding,
}

/// The buffer size that limits the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// Waiting packets and the packet in transmission.
    WithService,
    /// Waiting packets.
    Waiting,
}

/// How the source is signalled that its window is large enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossSignal {
    /// A packet finds no room and is lost.
    Drop,
    /// A packet is marked, RFC 3168; of a flow without ECN, one is lost.
    Ecn,
}

/// Number of packets that an ACK counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    /// Each for one packet.
    Acks,
    /// Each for as many packets as it acknowledges, and a duplicate for one.
    Segments,
}

/// Growth of a window per ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// One packet: RFC 5681 (3.1), and the paper.
    OneAnAck,
    /// As many packets as are acknowledged: bytes are counted (RFC 3465), without limit in Linux.
    Acked,
}

impl Config {
    /// The window beyond which a packet may be lost, in segments, for a buffer in which `limit` packets wait.
    fn threshold(&self, limit: u32) -> f64 {
        let in_transmission = match self.threshold {
            Threshold::WithService => 1.0,
            Threshold::Waiting => 0.0,
        };
        self.alpha * (f64::from(limit) + in_transmission)
    }
}

impl Component for Config {
    fn build(&self, _plan: &Plan<'_>) -> Box<dyn Element> {
        Box::new(AckRegulator {
            config: self.clone(),
            flows: BTreeMap::new(),
            over: BTreeMap::new(),
            armed: false,
        })
    }

    fn place(&self) -> Place {
        self.at
    }

    fn validate(&self, around: &Around<'_>) -> Result<(), ScenarioError> {
        let error = |key: &str, message: String, hint: &str| Err(ScenarioError::new(key, message, hint));
        if let Some(reading) = &self.reading {
            let hint = match reading.as_str() {
                "literal" => "write reset = \"departure\", window = \"outstanding\", threshold = \"waiting\"",
                _ => "remove it, or write reset, window and threshold",
            };
            return error("reading", format!("\"{reading}\" is three keys now"), hint);
        }
        if !(self.alpha.is_finite() && self.alpha > 0.0) {
            let message = format!("no window is {} times the buffer", self.alpha);
            return error("alpha", message, "write a positive number such as 2");
        }
        check_hold_limit(self.hold_limit)?;
        if self.idle_release.is_zero() {
            let hint = "write a time such as \"200 ms\"";
            return error("idle_release", "nothing would ever be held".into(), hint);
        }
        let data = self.at.towards_cell();
        let radio = around.cell()?;
        let is_tcp = |app: &app::Config| app.carrier() != Carrier::Datagrams;
        let regulates = around.flows.iter().any(|spec| spec.dir == data && is_tcp(&spec.app));
        if regulates && radio.limit_sdus(data).is_none() {
            let message = format!("the {} buffer has no limit in packets to regulate by", data.name());
            let key = format!("radio.{}.{}.queue.droptail.packets", radio.name(), data.name());
            return error("", message, &format!("set {key}"));
        }
        Ok(())
    }
}

/// UE and number of a flow.
type Key = (u16, u16);

struct AckRegulator {
    config: Config,
    /// Flows by UE and number.
    flows: BTreeMap<Key, Flow>,
    /// Flows whose connection is over.
    over: BTreeMap<Key, Flow>,
    /// The timer will come.
    armed: bool,
}

/// Event in the buffer of a flow, or among its ACKs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trigger {
    Ack,
    Dequeued,
    Idle,
}

impl AckRegulator {
    fn towards_cell(&self) -> Dir {
        self.config.at.towards_cell()
    }

    /// The buffer of a flow, if it can be regulated.
    fn buffer(&self, cx: &mut Cx<'_>, (ue, flow): Key) -> Option<Buffer> {
        let mut buffer = Buffer::new(&cx.radio_flow(ue, self.towards_cell(), flow))?;
        if buffer.is_shared {
            let others = self.of_ue(ue).filter(|((_, other), _)| *other != flow);
            buffer.expected_of_others = others.map(|(_, state)| state.ack_release_count).sum();
        }
        Some(buffer)
    }

    /// The flows of a UE.
    fn of_ue(&self, ue: u16) -> impl Iterator<Item = (&Key, &Flow)> {
        self.flows.range((ue, 0)..=(ue, u16::MAX))
    }

    /// Data towards the cell.
    fn pass_data(&mut self, cx: &mut Cx<'_>, mut packet: Box<Packet>) {
        let (dir, key) = (self.towards_cell(), (packet.ue, packet.flow));
        if packet.is_tcp() {
            if packet.flags.has(Flags::SYN) || packet.flags.has(Flags::RST) {
                self.flush(cx, &packet);
                self.put_away(key);
            }
            if packet.payload > 0 {
                let over = &mut self.over;
                let again = || over.remove(&key).unwrap_or_else(|| Flow::new(cx.now));
                self.flows.entry(key).or_insert_with(again).mark(cx.now, &mut packet);
            }
            if packet.flags.has(Flags::FIN)
                && let Some(flow) = self.flows.get_mut(&key)
            {
                flow.note_fin(&packet);
            }
        }
        cx.emit(dir, packet);
    }

    /// A connection begins or ends: nothing is held any longer.
    fn flush(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let back = self.towards_cell().reverse();
        let Some(flow) = self.flows.get_mut(&(packet.ue, packet.flow)) else { return };
        while let Some(held) = flow.release(&self.config) {
            cx.emit(back, held);
        }
        if !packet.flags.has(Flags::FIN) {
            flow.forget(packet.flags.has(Flags::RST));
        }
    }

    /// A segment coming from the cell.
    fn regulate(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        let (back, key) = (self.towards_cell().reverse(), (packet.ue, packet.flow));
        if packet.is_tcp() && Segment::of(&packet) == Segment::Boundary {
            self.flush(cx, &packet);
            if let Some(flow) = self.flows.get_mut(&key) {
                flow.note_released(packet.ack);
            }
            self.put_away(key);
            return cx.emit(back, packet);
        }
        let buffer = self.buffer(cx, key);
        match (self.flows.get_mut(&key), buffer) {
            (Some(flow), Some(buffer)) if packet.is_tcp() && flow.has_data() => {
                flow.hold(packet);
                self.release(cx, key, buffer, Trigger::Ack);
                self.put_away(key);
            }
            _ => cx.emit(back, packet),
        }
    }

    /// Removes a connection that is over, so it takes no room from others and no time when all are checked.
    fn put_away(&mut self, key: Key) {
        if self.flows.get(&key).is_some_and(Flow::is_over)
            && let Some(mut flow) = self.flows.remove(&key)
        {
            flow.expect_nothing();
            flow.idle_deadline = None;
            self.over.insert(key, flow);
        }
    }

    /// Releases the ACKs that may leave.
    fn release(&mut self, cx: &mut Cx<'_>, key: Key, buffer: Buffer, trigger: Trigger) {
        let back = self.towards_cell().reverse();
        let (config, now) = (&self.config, cx.now);
        let Some(flow) = self.flows.get_mut(&key) else { return };
        let works = config.reset == Reset::Empty;
        if works && buffer.waiting == 0 {
            flow.expect_nothing();
        }
        match trigger {
            Trigger::Ack => flow.leave_conservative(now, config, buffer),
            Trigger::Dequeued => flow.return_to_conservative(now, config, buffer),
            Trigger::Idle => {
                flow.expect_nothing();
                flow.release_idle(config, buffer.limit).for_each(|packet| cx.emit(back, packet));
            }
        }
        while let Some(packet) = flow.release_beyond_limit(config).or_else(|| flow.poll(config, buffer)) {
            cx.emit(back, packet);
        }
        if trigger == Trigger::Ack {
            flow.note_held();
        }
        if !works && trigger == Trigger::Dequeued && buffer.waiting == 0 {
            flow.expect_nothing();
        }
        self.settle(cx, key, buffer);
    }

    /// A packet has left a buffer that other flows share: they may use the room, from the next flow on.
    fn release_others(&mut self, cx: &mut Cx<'_>, (ue, flow): Key, buffer: Buffer) {
        if !buffer.is_shared {
            return;
        }
        let waits = |(key, state): (&Key, &Flow)| (!state.line.is_empty()).then_some(*key);
        let (before, behind): (Vec<_>, Vec<_>) = self
            .of_ue(ue)
            .filter_map(waits)
            .filter(|(_, other)| *other != flow)
            .partition(|(_, other)| *other < flow);
        for key in behind.into_iter().chain(before) {
            if let Some(theirs) = self.buffer(cx, key) {
                self.release(cx, key, theirs, Trigger::Dequeued);
            }
        }
    }

    /// After an event of a flow: updates its idle deadline and records its state.
    fn settle(&mut self, cx: &mut Cx<'_>, key: Key, buffer: Buffer) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if let Some(deadline) = flow.watch_idle(cx.now, &self.config, buffer)
            && !self.armed
        {
            self.armed = true;
            cx.arm(0, deadline);
        }
        if cx.probes(Kind::AckRegulator)
            && let Some(news) = flow.take_news(key, self.config.window)
        {
            cx.probe(Kind::AckRegulator, move || news);
        }
    }
}

impl Element for AckRegulator {
    fn layout(&self) -> Layout {
        let silent = Dir::BOTH.map(|dir| dir == self.towards_cell());
        Layout { timers: 1, radio_events: true, flow_views: true, silent, ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        if dir == self.towards_cell() {
            self.pass_data(cx, packet);
        } else {
            self.regulate(cx, packet);
        }
    }

    fn handle_radio(&mut self, cx: &mut Cx<'_>, event: &RadioEvent) {
        let key = (event.ue, event.flow);
        if event.dir != self.towards_cell() || !self.flows.contains_key(&key) {
            return;
        }
        let view = cx.radio_flow(event.ue, event.dir, event.flow);
        let Some(buffer) = self.buffer(cx, key) else { return };
        let (config, now) = (&self.config, cx.now);
        let Some(flow) = self.flows.get_mut(&key) else { return };
        match event.kind {
            RadioEventKind::Enqueued => {
                // A segment without data is no response to an ACK.
                if view.last_seq_end != event.seq {
                    flow.on_data(event.seq, view.last_seq_end);
                }
                flow.return_to_conservative(now, config, buffer);
            }
            RadioEventKind::Started => {
                self.release(cx, key, buffer, Trigger::Dequeued);
                return self.release_others(cx, key, buffer);
            }
            RadioEventKind::Dropped => {
                flow.on_expected();
                flow.enter(now, Mode::Conservative);
            }
            // A buffer with an evicting discipline is not regulated, and an SDU discarded by the link layer is no loss
            // of the buffer: it was counted on arrival.
            RadioEventKind::Delivered | RadioEventKind::Evicted | RadioEventKind::Discarded => {}
        }
        self.settle(cx, key, buffer);
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, _key: u32) {
        self.armed = false;
        let due: Vec<_> =
            self.flows.iter().filter_map(|(key, flow)| Some((*key, flow.idle_deadline?))).collect();
        for (key, deadline) in due {
            let Some(buffer) = self.buffer(cx, key) else { continue };
            if deadline <= cx.now {
                self.release(cx, key, buffer, Trigger::Idle);
            } else {
                self.settle(cx, key, buffer);
            }
        }
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let all: BTreeMap<_, _> = self.flows.iter().chain(&self.over).collect();
        let flows: Vec<_> =
            all.into_iter().map(|((ue, flow), state)| state.report(cx.now, *ue, *flow)).collect();
        json!({ "element": "middlebox.ack_regulator", "flows": flows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;

    #[test]
    fn a_connection_that_is_over_takes_no_room_from_others() {
        let flows = [0, 1].map(|flow| {
            let mut state = Flow::new(Instant::ZERO);
            state.ack_release_count = 5;
            ((0, flow), state)
        });
        let mut regulator = AckRegulator {
            config: Config::default(),
            flows: flows.into(),
            over: BTreeMap::new(),
            armed: false,
        };
        let expected = |one: &AckRegulator| -> Vec<_> {
            one.of_ue(0).map(|(key, flow)| (key.1, flow.ack_release_count)).collect()
        };
        regulator.put_away((0, 0));
        assert_eq!(expected(&regulator), [(0, 5), (1, 5)]);
        if let Some(flow) = regulator.flows.get_mut(&(0, 0)) {
            flow.forget(true);
        }
        regulator.put_away((0, 0));
        assert_eq!(expected(&regulator), [(1, 5)]);
        assert_eq!(regulator.over.len(), 1);
    }
}
