//! ACK rate control: the ACKs of a bearer are spaced by a time that grows with the buffer of its data.
//!
//! J. J. Alcaraz and F. Cerdan, "Combining ACK Rate Control and AQM to Enhance TCP Performance over 3G Links", PM2HW2N
//! 2006, sections 3.1, 3.3 and 3.4, Figure 3. Between two ACKs that a bearer's UE sends is at least `t_id`, a function
//! of the SDUs that its buffer holds ([`t_id`]). One timer for each bearer, `id_timer`, holds the first ACK until then;
//! later changes of the buffer do not move it.
//!
//! While `Counter` is above zero another function, f_2, gives `t_id` (3.2, Figure 3). `Counter` is that of the buffer's
//! PDPC, which sets it on a drop and decrements it by the bytes delivered; the box only reads it. Packets refused by a
//! full buffer, or discarded by the link layer, do not start it. A buffer without PDPC has no `Counter`: this is plain
//! ACK rate control, always with f_1 (section 6), and `t_id_after_drop` is refused.
//!
//! The paper leaves open, and an option decides:
//!
//! * **Release of ACKs that need no delay** (`release`). `strict` is Figure 3 as printed: after an arrival or an
//!   expiration one ACK is released without delay, and the timer stays off even if others are held; only the next
//!   arrival releases another, so ACKs are stranded. `loop` continues until a delay is positive or nothing is held.
//!   `one_per_tti` is like `loop` but releases at most one ACK per TTI, as a link layer that works by TTIs would.
//! * **Definition of the occupancy** (`occupancy`). `unacked`: all SDUs not yet delivered, as described in section 2.
//!   `untransmitted`: SDUs whose transmission has not started.
//!
//! `t_id_after_drop` is f_2; `off = {}` is the paper's f_2 = 0. ASSUMED: the first ACK of a bearer is not delayed.
//!
//! Only pure ACKs are held, once data of their flow has been seen. Segments with data wait for held ACKs of their flow
//! and leave with the last of them; SYN, FIN and RST first release everything held of their flow. No ACK is altered,
//! lost, or overtaken within its flow. Packets without a readable TCP header pass.
//!
//! No segment is held forever. With `strict`, segments that no event has released for `idle_release` are reconsidered.
//! At most `hold_limit` segments of a bearer are held; then the oldest is released.

mod bearer;
pub mod t_id;

use super::acks::{Deadlines, Place, Segment, check_hold_limit};
use super::{Around, Component, Plan};
use crate::element::{Cx, Element, Layout, Port, RadioEvent, RadioEventKind};
use crate::error::ScenarioError;
use crate::packet::{Dir, Flags, Packet};
use crate::time::Duration;
use crate::trace::Kind;
use bearer::{Bearer, occupancy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// Spaces the ACKs of a bearer by the occupancy of its buffer: Alcaraz and Cerdan 2006.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Location of the box: in the network for downloads, at the UE for uploads.
    pub at: Place,
    /// Time between two ACKs, by the occupancy of the buffer: f_1.
    pub t_id: t_id::Function,
    /// `t_id` while the counter of the buffer's PDPC is above zero: f_2; the usual function if absent.
    pub t_id_after_drop: Option<t_id::Function>,
    /// SDUs that count for the occupancy.
    pub occupancy: Occupancy,
    /// Release of ACKs that need no delay.
    pub release: Release,
    /// Length of a TTI, counted from the start of the run, for `release = "one_per_tti"`.
    pub tti: Duration,
    /// Segments held of a bearer at most; beyond, the oldest goes.
    pub hold_limit: u32,
    /// With `release = "strict"`, time without another ACK after which the delay of a stranded ACK is recomputed.
    pub idle_release: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            at: Place::Network,
            t_id: t_id::Function::default(),
            t_id_after_drop: None,
            occupancy: Occupancy::Unacked,
            release: Release::Loop,
            tti: Duration::from_millis(10),
            hold_limit: 1000,
            idle_release: Duration::from_secs(1),
        }
    }
}

/// SDUs of the buffer that count for the occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Occupancy {
    /// All that have not been delivered.
    Unacked,
    /// SDUs whose transmission has not started.
    Untransmitted,
}

/// Release of ACKs that need no delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// One ACK per arrival and per expiration, as printed.
    Strict,
    /// All, until one needs a delay.
    Loop,
    /// Like `loop`, but at most one ACK per TTI.
    OnePerTti,
}

impl Component for Config {
    fn build(&self, _plan: &Plan<'_>) -> Box<dyn Element> {
        let (bearers, deadlines) = (BTreeMap::new(), Deadlines::default());
        Box::new(AckRateControl { config: self.clone(), bearers, deadlines })
    }

    fn place(&self) -> Place {
        self.at
    }

    fn validate(&self, around: &Around<'_>) -> Result<(), ScenarioError> {
        self.t_id.validate().map_err(|inner| inner.under("t_id"))?;
        let error = |key, message, hint| Err(ScenarioError::new(key, message, hint));
        let radio = around.cell()?;
        if let Some(after) = &self.t_id_after_drop {
            after.validate().map_err(|inner| inner.under("t_id_after_drop"))?;
            if !radio.has_discard_counter(self.at.towards_cell()) {
                let message = "the buffer has no PDPC, whose counter says how long";
                let hint = "choose queue.pdpc for the bearer, or remove the key";
                return error("t_id_after_drop", message, hint);
            }
        }
        check_hold_limit(self.hold_limit)?;
        if self.tti.is_zero() {
            return error("tti", "a TTI takes time", "write that of the bearer, such as \"10 ms\"");
        }
        if self.idle_release.is_zero() {
            return error("idle_release", "no ACK could be stranded", "write a time such as \"1 s\"");
        }
        Ok(())
    }
}

struct AckRateControl {
    config: Config,
    /// Bearers by UE.
    bearers: BTreeMap<u16, Bearer>,
    deadlines: Deadlines<u16>,
}

impl AckRateControl {
    /// The direction of the data.
    fn data(&self) -> Dir {
        self.config.at.towards_cell()
    }

    /// Data towards the cell.
    fn pass_data(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        if packet.is_tcp() {
            if packet.flags.has(Flags::SYN) || packet.flags.has(Flags::RST) {
                self.flush(cx, &packet);
            }
            if packet.payload > 0 {
                let bearer = self.bearers.entry(packet.ue).or_insert_with(|| Bearer::new(cx.now));
                bearer.flows.insert(packet.flow);
            }
        }
        cx.emit(self.data(), packet);
    }

    /// A segment coming from the cell.
    fn control(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        let (back, ue, flow) = (self.data().reverse(), packet.ue, packet.flow);
        let segment = packet.is_tcp().then(|| Segment::of(&packet));
        if segment == Some(Segment::Boundary) {
            self.flush(cx, &packet);
        }
        let waits = self.bearers.get(&ue).is_some_and(|bearer| match segment {
            Some(Segment::PureAck) => bearer.flows.contains(&flow),
            Some(Segment::Data) => bearer.holds(flow),
            Some(Segment::Boundary) | None => false,
        });
        if !waits {
            return cx.emit(back, packet);
        }
        self.act(cx, ue, |bearer, cx, config, occupancy| {
            bearer.handle_segment(cx.now, config, occupancy, packet, &mut |first| cx.emit(back, first));
        });
    }

    /// A connection begins or ends: releases everything held of its flow.
    fn flush(&mut self, cx: &mut Cx<'_>, packet: &Packet) {
        let back = self.data().reverse();
        if self.bearers.get(&packet.ue).is_some_and(|bearer| bearer.holds(packet.flow)) {
            self.act(cx, packet.ue, |bearer, cx, _, _| {
                bearer.flush(cx.now, packet.flow, &mut |held| cx.emit(back, held));
            });
        }
    }

    /// Does something to a bearer, given the occupancy of its buffer; then updates its deadline, and traces.
    fn act(&mut self, cx: &mut Cx<'_>, ue: u16, what: impl FnOnce(&mut Bearer, &mut Cx<'_>, &Config, u32)) {
        let data = self.data();
        let Some(bearer) = self.bearers.get_mut(&ue) else { return };
        let sdus = occupancy(&self.config, &cx.radio(ue, data));
        let before = bearer.deadline();
        what(bearer, cx, &self.config, sdus);
        self.deadlines.change(cx, ue, before, bearer.deadline());
        if cx.probes(Kind::AckRateControl)
            && let Some(news) = bearer.take_news(ue, &self.config, sdus)
        {
            cx.probe(Kind::AckRateControl, move || news);
        }
    }
}

impl Element for AckRateControl {
    fn layout(&self) -> Layout {
        let silent = Dir::BOTH.map(|dir| dir == self.config.at.towards_cell());
        Layout { timers: 1, radio_events: self.config.t_id_after_drop.is_some(), silent, ..Layout::default() }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        if dir == self.data() {
            self.pass_data(cx, packet);
        } else {
            self.control(cx, packet);
        }
    }

    fn handle_radio(&mut self, cx: &mut Cx<'_>, event: &RadioEvent) {
        // Radio events also arrive for other boxes that subscribed to them.
        if event.dir != self.data() || self.config.t_id_after_drop.is_none() {
            return;
        }
        let Some(bearer) = self.bearers.get_mut(&event.ue) else { return };
        match event.kind {
            RadioEventKind::Dropped | RadioEventKind::Evicted | RadioEventKind::Delivered => {
                bearer.on_counter(cx.now, cx.radio(event.ue, event.dir).discard_counter);
            }
            RadioEventKind::Enqueued | RadioEventKind::Started | RadioEventKind::Discarded => {}
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, _key: u32) {
        let back = self.data().reverse();
        while let Some(ue) = self.deadlines.expired(cx.now) {
            self.act(cx, ue, |bearer, cx, config, occupancy| {
                bearer.handle_timer(cx.now, config, occupancy, &mut |first| cx.emit(back, first));
            });
        }
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let ues: Vec<_> = self.bearers.iter().map(|(ue, bearer)| bearer.report(cx.now, *ue)).collect();
        json!({ "element": "middlebox.ack_rate_control", "ues": ues })
    }
}
