//! A packet service of variable rate, without link layer: each UE has a downlink and an uplink bearer of
//! its own, and the channel of a bearer says when how much may be sent.
//!
//! ```text
//! network:  SDU buffer (queue discipline) -> opportunities of the channel -> delay -> UE      downlink
//! UE:       SDU buffer -> opportunities of the channel -> delay -> network                     uplink
//! ```
//!
//! Packets leave in their order. Several small ones share an opportunity; one that is larger than what is
//! left of an opportunity takes the rest and goes on in the next, and it is delivered with its last byte.
//! An opportunity that finds the buffer empty is lost, and so is what it has left when the buffer is
//! empty. A packet that comes at the very instant of an opportunity into an empty buffer is in time.
//! The timer of a bearer is armed only while something waits: an idle bearer costs nothing.
//!
//! Left out: losses on the air, which a trace of deliveries does not show, and any dependence between the
//! bearers of a cell. Source: mm-link(1) of mahimahi, whose link this is with `channel.trace_file`.

use super::buffer::{Admitted, Buffer, cell_layout, cell_report, make_bearers, share};
use crate::channel::{self, Channel, Opportunity};
use crate::element::{Cx, Element, Layout, bearer_index};
use crate::error::ScenarioError;
use crate::packet::{Dir, Packet};
use crate::queue;
use crate::rng;
use crate::time::{Duration, Instant};
use crate::trace::Reason;
use crate::units::Bitrate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A packet service of variable rate, without link layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Number of UEs; each has its own pair of bearers.
    pub ues: u16,
    /// Bearers towards the UEs.
    pub downlink: BearerConfig,
    /// Bearers from the UEs.
    pub uplink: BearerConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self { ues: 1, downlink: BearerConfig::default(), uplink: BearerConfig::default() }
    }
}

/// One direction of a UE's bearer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BearerConfig {
    /// One-way delay behind the transmission.
    pub delay: Duration,
    /// Discipline of the SDU buffer.
    pub queue: queue::Config,
    /// When how much may be sent.
    pub channel: channel::Config,
}

impl Default for BearerConfig {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            queue: queue::Config::default(),
            channel: channel::Config::TraceFile(channel::trace_file::Config::default()),
        }
    }
}

impl Config {
    /// Parameters of one direction.
    pub fn bearer(&self, dir: Dir) -> &BearerConfig {
        match dir {
            Dir::Downlink => &self.downlink,
            Dir::Uplink => &self.uplink,
        }
    }

    pub(super) fn ends(&self) -> Option<Instant> {
        Dir::BOTH.iter().filter_map(|dir| self.bearer(*dir).channel.ends()).min()
    }

    pub(super) fn validate(&self) -> Result<(), ScenarioError> {
        for dir in Dir::BOTH {
            self.bearer(dir).validate().map_err(|error| error.under(dir.name()))?;
        }
        Ok(())
    }

    pub(super) fn build(&self, run_seed: u64) -> Box<dyn Element> {
        let bearers = make_bearers(self.ues, |ue, dir| Bearer::new(self.bearer(dir), run_seed, ue, dir));
        Box::new(Variable { bearers })
    }
}

impl BearerConfig {
    fn validate(&self) -> Result<(), ScenarioError> {
        self.queue.validate().map_err(|error| error.under("queue"))?;
        match &self.channel {
            channel::Config::TraceFile(config) => {
                config.validate().map_err(|error| error.under("trace_file").under("channel"))
            }
            channel::Config::Bernoulli(_) => Err(ScenarioError::new(
                "channel",
                format!("{} loses blocks, and here packets are sent whole", self.channel.name()),
                "choose channel.trace_file, or radio.dch as the cell",
            )),
        }
    }
}

/// One direction of a UE's bearer.
struct Bearer {
    buffer: Buffer,
    /// Mean of the channel's.
    rate: Bitrate,
    channel: Box<dyn Channel>,
    waiting: VecDeque<Waiting>,
    /// What the packet at the head has taken of opportunities, bytes.
    sent: u32,
    /// What the packets at the head will use; `None` while nothing waits, and when the channel has ended.
    next: Option<Opportunity>,
}

struct Waiting {
    entered: Instant,
    packet: Box<Packet>,
}

impl Bearer {
    fn new(config: &BearerConfig, run_seed: u64, ue: u16, dir: Dir) -> Self {
        let stream = rng::stream(run_seed, &format!("ue{ue}.{}.channel", dir.name()));
        Self {
            buffer: Buffer::new(&config.queue, config.delay, ue, dir),
            rate: config.channel.mean_rate().unwrap_or_default(),
            channel: config.channel.build(stream),
            waiting: VecDeque::new(),
            sent: 0,
            next: None,
        }
    }

    fn handle_sdu(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        let Some(Admitted { packet, queued_sdus, .. }) = self.buffer.admit(cx, packet) else { return };
        cx.bearer(self.buffer.index() as usize).enter(&packet);
        self.waiting.push_back(Waiting { entered: cx.now, packet });
        if queued_sdus == 1 {
            self.await_opportunity(cx);
        }
    }

    fn await_opportunity(&mut self, cx: &mut Cx<'_>) {
        self.next = self.channel.next_opportunity(cx.now);
        if let Some(opportunity) = self.next {
            cx.arm(self.buffer.index(), opportunity.at);
        }
    }

    fn handle_opportunity(&mut self, cx: &mut Cx<'_>) {
        let Some(opportunity) = self.next.take() else { return };
        self.send(cx, opportunity.bytes);
        if !self.waiting.is_empty() {
            self.await_opportunity(cx);
        }
    }

    fn send(&mut self, cx: &mut Cx<'_>, mut room: u32) {
        while room > 0
            && let Some(Waiting { packet, .. }) = self.waiting.front()
        {
            if self.sent == 0 {
                self.buffer.start(cx, packet.flow, packet.seq, packet.len);
            }
            let left = self.channel.packet_bytes(packet.len) - self.sent;
            if left > room {
                self.sent += room;
                return;
            }
            room -= left;
            self.sent = 0;
            if let Some(gone) = self.waiting.pop_front() {
                let waited = cx.now.since(gone.entered);
                self.buffer.deliver(cx, gone.packet, waited);
            }
        }
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let delivered = self.buffer.delivered(cx);
        let offered = self.channel.offered(cx.now);
        // As the channel counts: with what it adds to each packet.
        let overhead = u64::from(self.channel.packet_bytes(0));
        let carried = delivered.bytes + delivered.sdus * overhead;
        let mut report = self.buffer.report(cx);
        report.insert("opportunities".into(), offered.opportunities.into());
        report.insert("utilisation".into(), share(carried as f64, offered.bytes as f64).into());
        report.into()
    }
}

struct Variable {
    bearers: Vec<Bearer>,
}

impl Element for Variable {
    fn layout(&self) -> Layout {
        cell_layout(self.bearers.iter().map(|bearer| &bearer.buffer))
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        for bearer in &self.bearers {
            let index = bearer.buffer.index() as usize;
            cx.open_bearer(index, bearer.rate, bearer.buffer.limit_sdus());
        }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        match self.bearers.get_mut(bearer_index(packet.ue, dir)) {
            Some(bearer) => bearer.handle_sdu(cx, packet),
            None => cx.drop(packet, Reason::UnknownUe),
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        self.bearers[key as usize].handle_opportunity(cx);
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let reports: Vec<_> = self.bearers.iter().map(|bearer| bearer.report(cx)).collect();
        cell_report("radio.variable", &reports)
    }
}
