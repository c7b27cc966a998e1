//! A cell of dedicated channels (DCH): each UE has a downlink and an uplink bearer of its own.
//!
//! ```text
//! RNC:  SDU buffer (queue discipline) -> rlc -> slot of one TTI -> channel -> rlc -> UE     downlink
//! UE:   SDU buffer -> rlc -> ... -> RNC                                                      uplink
//! ```
//!
//! A bearer without a link layer (`rlc.none`) sends packets whole; its ends of transmission are
//! computed, and scheduled only if somebody subscribed to radio events. A bearer with a link layer
//! of slots has one timer: the end of the slot, or the moment to ask again while it is idle. Link layers that go
//! by TTIs, with entities at both ends, are in [`ttis`].
//!
//! A UE may be out of reach for a time: see [`super::outages`]. Packets are then sent one by one ([`super::whole`]),
//! with the same timer.
//!
//! Left out: soft hand-over, power control beyond the channel's block error rate, signalling.

mod qos;

pub use qos::ClassConfig;

use super::buffer::{
    Admitted, Buffer, Served, cell_layout, cell_report, make_bearers, report_service, share,
};
use super::departures::Departures;
use super::outages::{Pausable, Silences, with_outages};
use super::whole::Whole;
use super::{Plan, ttis};
use crate::channel::{self, Channel};
use crate::element::{Cx, Element, Layout, bearer_index};
use crate::error::ScenarioError;
use crate::packet::{Dir, Packet};
use crate::queue;
use crate::rlc::{self, Rlc, Slot, SlotReport, Ttis};
use crate::rng;
use crate::time::{Duration, Instant};
use crate::trace::{Event, Kind, Reason};
use crate::umts::TrafficClass;
use crate::units::Bitrate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A cell of dedicated channels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Number of UEs; each has its own pair of bearers.
    pub ues: u16,
    /// Bearers towards the UEs.
    pub downlink: BearerConfig,
    /// Bearers from the UEs.
    pub uplink: BearerConfig,
    /// Bearers of the UEs of a traffic class, where they are others; the classes are in `[umts]`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub qos: BTreeMap<TrafficClass, ClassConfig>,
}

impl Default for Config {
    fn default() -> Self {
        let uplink = BearerConfig { rate: Bitrate::from_bps(64_000), ..BearerConfig::default() };
        Self { ues: 1, downlink: BearerConfig::default(), uplink, qos: BTreeMap::new() }
    }
}

/// One direction of a UE's radio bearer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BearerConfig {
    /// Rate at IP level.
    pub rate: Bitrate,
    /// One-way delay behind the transmission.
    pub delay: Duration,
    /// Discipline of the SDU buffer.
    pub queue: queue::Config,
    /// Link layer.
    pub rlc: rlc::Config,
    /// Block errors; they need a link layer that retransmits.
    pub channel: channel::Config,
}

impl Default for BearerConfig {
    fn default() -> Self {
        Self {
            rate: Bitrate::from_bps(384_000),
            delay: Duration::ZERO,
            queue: queue::Config::default(),
            rlc: rlc::Config::default(),
            channel: channel::Config::default(),
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

    pub(super) fn validate(&self) -> Result<(), ScenarioError> {
        for dir in Dir::BOTH {
            self.bearer(dir).validate().map_err(|error| error.under(dir.name()))?;
        }
        validate_pair(Dir::BOTH.map(|dir| self.bearer(dir)))?;
        self.validate_classes()
    }

    pub(super) fn build(&self, plan: &Plan<'_>) -> Box<dyn Element> {
        let cell = ttis::build(self, plan).unwrap_or_else(|| {
            let bearers = make_bearers(self.ues, |ue, dir| {
                Bearer::new(self.bearer_of(plan.class(ue), dir), plan, ue, dir)
            });
            Box::new(Dch { bearers, report: SlotReport::default() })
        });
        with_outages(cell, plan.handovers)
    }
}

/// Refuses bearers of a UE, downlink first, that do not go together.
fn validate_pair(bearers: [&BearerConfig; 2]) -> Result<(), ScenarioError> {
    let [downlink, uplink] = bearers.map(|bearer| &bearer.rlc);
    if matches!(uplink, rlc::Config::Um(um) if !um.first_octet_indicator) {
        let message = "a UE always tells where an SDU begins with a PDU";
        let key = "uplink.rlc.um.first_octet_indicator";
        return Err(ScenarioError::new(key, message, "leave it out (the downlink may be without)"));
    }
    let by_ttis = downlink.ttis().is_some() || uplink.ttis().is_some();
    if by_ttis && rlc::ends(downlink, uplink).is_none() {
        let message =
            format!("rlc.{} does not work with rlc.{} in the downlink", uplink.name(), downlink.name());
        let hint = match (downlink, uplink) {
            (rlc::Config::Am(_), _) | (_, rlc::Config::Am(_)) => {
                "write rlc.am in both directions: its STATUS PDUs go the other way"
            }
            _ => "write rlc.um or rlc.tm in both directions",
        };
        return Err(ScenarioError::new("uplink.rlc", message, hint));
    }
    validate_repeats(bearers)
}

/// Polls go in one direction and are answered in the other: where either loses PDUs, something has to ask again.
fn validate_repeats(bearers: [&BearerConfig; 2]) -> Result<(), ScenarioError> {
    if bearers.iter().all(|bearer| bearer.channel.is_error_free()) {
        return Ok(());
    }
    for (dir, bearer) in Dir::BOTH.into_iter().zip(bearers) {
        if let rlc::Config::Am(am) = &bearer.rlc {
            am.check_with_losses().map_err(|error| error.under("rlc.am").under(dir.name()))?;
        }
    }
    Ok(())
}

impl BearerConfig {
    fn validate(&self) -> Result<(), ScenarioError> {
        if self.rate.as_bps() == 0 {
            let hint = "write a positive rate such as \"384 kbit/s\"";
            return Err(ScenarioError::new("rate", "a bearer of rate zero never sends", hint));
        }
        self.queue.validate().map_err(|error| error.under("queue"))?;
        if self.channel.kind() != channel::Kind::Blocks {
            return Err(ScenarioError::new(
                "channel",
                format!("a dedicated channel has a rate, and {} one of its own", self.channel.name()),
                "choose radio.variable as the cell, or channel.bernoulli",
            ));
        }
        self.channel.validate().map_err(|error| error.under("channel"))?;
        match &self.rlc {
            rlc::Config::None(_) if !self.channel.is_error_free() => Err(ScenarioError::new(
                "channel",
                "without a link layer nothing retransmits lost blocks",
                "choose rlc.fixed_delay_arq, or remove the channel",
            )),
            rlc::Config::None(_) => {
                let hint = "choose queue.red or queue.droptail, or rlc.am";
                self.queue.check_sent_whole(hint).map_err(|error| error.under("queue"))
            }
            rlc::Config::FixedDelayArq(arq) => {
                arq.validate(self.rate).map_err(|error| error.under("rlc.fixed_delay_arq"))?;
                if self.channel.loses_everything() && arq.max_transmissions.is_none() {
                    return Err(ScenarioError::new(
                        "channel",
                        "every block is lost and retransmitted for ever",
                        "lower the block error rate, or set rlc.fixed_delay_arq.max_transmissions",
                    ));
                }
                Ok(())
            }
            rlc::Config::Am(am) => {
                am.check()
                    .and_then(|()| self.validate_ttis(am.ttis()))
                    .map_err(|error| error.under("rlc.am"))?;
                if self.channel.loses_everything() {
                    let hint = "lower the block error rate";
                    return Err(ScenarioError::new("channel", "every block is lost, and so for ever", hint));
                }
                Ok(())
            }
            rlc::Config::Um(um) => {
                um.check().and_then(|()| self.validate_ttis(um.ttis())).map_err(|error| error.under("rlc.um"))
            }
            rlc::Config::Tm(tm) => {
                tm.check().and_then(|()| self.validate_ttis(tm.ttis())).map_err(|error| error.under("rlc.tm"))
            }
        }
    }

    /// Refuses a TTI that is no whole number of PDUs.
    fn validate_ttis(&self, ttis: rlc::Ttis) -> Result<(), ScenarioError> {
        let Ttis { tti, payload, .. } = ttis;
        if tti.is_zero() {
            return Err(ScenarioError::new("tti", "is zero", "write a TTI such as \"10 ms\""));
        }
        let octets = self.rate.bytes_in(tti);
        if octets != 0 && octets.is_multiple_of(payload) {
            return Ok(());
        }
        let message = format!(
            "a TTI of {tti} at {} carries {octets} B, which is no whole number of PDUs with {payload} B of payload",
            self.rate
        );
        Err(ScenarioError::new("pdu", message, "change the PDU's size, the TTI or the rate of the bearer"))
    }
}

/// One direction of a UE's bearer.
struct Bearer {
    buffer: Buffer,
    rate: Bitrate,
    /// `None` sends packets whole.
    link_layer: Option<LinkLayer>,
    /// Without a link layer, and only if somebody looks: packets in the buffer.
    departures: Departures,
    counts: Counts,
}

struct LinkLayer {
    rlc: Box<dyn Rlc>,
    channel: Box<dyn Channel>,
    /// PDUs are on the air.
    busy: bool,
    /// Packets are sent whole.
    is_whole: bool,
    /// Nothing begins before this.
    paused_until: Instant,
    /// When the slot began that is under way.
    began: Instant,
}

#[derive(Default)]
struct Counts {
    slots: u64,
    pdus_sent: u64,
    pdus_lost: u64,
}

impl Bearer {
    fn new(config: &BearerConfig, plan: &Plan<'_>, ue: u16, dir: Dir) -> Self {
        let run_seed = plan.run_seed;
        let stream = |part: &str| rng::stream(run_seed, &format!("ue{ue}.{}.{part}", dir.name()));
        let silences = Silences::of(plan.handovers, ue);
        let is_whole = matches!(config.rlc, rlc::Config::None(_)) && !plan.handovers.is_empty();
        let rlc = match is_whole {
            true => Some(Box::new(Whole::new(config.rate, silences.clone())) as Box<dyn Rlc>),
            false => config.rlc.build(config.rate, stream("rlc")),
        };
        let link_layer = rlc.map(|rlc| LinkLayer {
            rlc,
            channel: silences.over(
                config.channel.build(run_seed, &format!("ue{ue}.{}.channel", dir.name())),
                config.rlc.slot(),
            ),
            busy: false,
            is_whole,
            paused_until: Instant::ZERO,
            began: Instant::ZERO,
        });
        Self {
            buffer: Buffer::new(&config.queue, config.delay, run_seed, ue, dir),
            rate: config.rate,
            link_layer,
            departures: Departures::default(),
            counts: Counts::default(),
        }
    }

    #[inline]
    fn handle_sdu(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>, report: &mut SlotReport) {
        if self.link_layer.is_some() {
            return self.handle_sdu_with_link_layer(cx, packet, report);
        }
        let Some(Admitted { packet, watched, .. }) = self.buffer.admit(cx, packet) else { return };
        // Without a link layer the end of the transmission is computed at once.
        let index = self.buffer.index();
        let now = cx.now;
        let end = cx.bearer(index as usize).transmit(now, &packet);
        let arrival = end + self.buffer.delay();
        if watched {
            self.departures.watch(cx, &self.buffer, &packet, (end, arrival));
        }
        cx.emit_at(arrival, index, packet);
    }

    #[inline(never)]
    fn handle_sdu_with_link_layer(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>, report: &mut SlotReport) {
        let Some(link_layer) = &mut self.link_layer else { return };
        let take_waiting = || link_layer.rlc.take_waiting();
        let Some(Admitted { packet, .. }) = self.buffer.admit_or_evict(cx, packet, take_waiting) else {
            return;
        };
        cx.bearer(self.buffer.index() as usize).enter(&packet);
        link_layer.rlc.handle_sdu(cx.now, packet);
        if !link_layer.busy {
            self.start_slot(cx, false, report);
        }
    }

    fn handle_slot(&mut self, cx: &mut Cx<'_>, report: &mut SlotReport) {
        let now = cx.now;
        let Some(link_layer) = &mut self.link_layer else {
            return self.departures.handle_end(cx, &self.buffer);
        };
        let boundary = link_layer.busy;
        if boundary {
            link_layer.busy = false;
            link_layer.rlc.end_slot(now, link_layer.channel.as_mut(), report);
            match link_layer.is_whole {
                true => self.packet_ended(cx, report),
                false => self.slot_ended(cx, report),
            }
        }
        self.start_slot(cx, boundary, report);
    }

    fn slot_ended(&mut self, cx: &mut Cx<'_>, report: &mut SlotReport) {
        let (ue, direction) = (self.buffer.ue, self.buffer.dir);
        let (pdus_sent, pdus_lost) = (report.pdus_sent, report.pdus_lost);
        self.counts.slots += 1;
        self.counts.pdus_sent += u64::from(pdus_sent);
        self.counts.pdus_lost += u64::from(pdus_lost);
        cx.probe(Kind::SlotEnded, || Event::SlotEnded { ue, direction, pdus_sent, pdus_lost });
        for (packet, waited) in report.delivered.drain(..) {
            self.buffer.deliver(cx, packet, waited);
        }
        for packet in report.discarded.drain(..) {
            self.buffer.discard(cx, packet);
        }
        (report.pdus_sent, report.pdus_lost) = (0, 0);
    }

    /// The last bit of a packet has been sent that is sent whole.
    fn packet_ended(&mut self, cx: &mut Cx<'_>, report: &mut SlotReport) {
        for (packet, waited) in report.delivered.drain(..) {
            self.buffer.deliver(cx, packet, waited);
        }
        for packet in report.discarded.drain(..) {
            self.buffer.leave(cx, packet.flow, packet.len, true);
            self.buffer.lose(cx, packet);
        }
    }

    fn start_slot(&mut self, cx: &mut Cx<'_>, boundary: bool, report: &mut SlotReport) {
        let index = self.buffer.index();
        let Some(link_layer) = &mut self.link_layer else { return };
        if cx.now < link_layer.paused_until {
            return cx.arm(index, link_layer.paused_until);
        }
        link_layer.began = cx.now;
        match link_layer.rlc.start_slot(cx.now, boundary, report) {
            Slot::BusyUntil(end) => {
                link_layer.busy = true;
                cx.arm(index, end);
            }
            Slot::IdleUntil(at) => cx.arm(index, at),
            Slot::Idle => cx.disarm(index),
        }
        for (flow, seq, len) in report.started.drain(..) {
            self.buffer.start(cx, flow, seq, len);
        }
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let capacity = self.rate.as_bps() as f64 * cx.now.since(Instant::ZERO).as_secs_f64() / 8.0;
        let used = share(self.buffer.delivered(cx).bytes as f64, capacity);
        let served = self.served(cx);
        let mut report = self.buffer.report(self.buffer.delivered(cx));
        report.insert("slots".into(), self.counts.slots.into());
        report.insert("pdus_sent".into(), self.counts.pdus_sent.into());
        report.insert("pdus_lost".into(), self.counts.pdus_lost.into());
        report.insert("utilisation".into(), used.into());
        let mean_delay_ms = served.map(|_| self.buffer.delay().as_secs_f64() * 1e3);
        report_service(&mut report, served, mean_delay_ms);
        report.into()
    }

    /// What the transmitter did, where it sends packets whole: the time follows from rate and bytes.
    fn served(&self, cx: &mut Cx<'_>) -> Option<Served> {
        let now = cx.now;
        let unsent = match &self.link_layer {
            None => cx.bearer(self.buffer.index() as usize).free_at(now).since(now),
            Some(LinkLayer { is_whole: true, busy, began, .. }) => {
                let held = self.rate.time_to_send(cx.radio(self.buffer.ue, self.buffer.dir).bytes);
                held.saturating_sub(if *busy { now.since(*began) } else { Duration::ZERO })
            }
            Some(_) => return None,
        };
        Some(self.buffer.service(cx, self.rate.time_to_send(self.buffer.bytes_in()), unsent))
    }
}

struct Dch {
    bearers: Vec<Bearer>,
    /// Reused from slot to slot; empty between calls.
    report: SlotReport,
}

impl Pausable for Dch {
    fn pause(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant) {
        for dir in Dir::BOTH {
            let Some(bearer) = self.bearers.get_mut(bearer_index(ue, dir)) else { continue };
            let index = bearer.buffer.index();
            let Some(link_layer) = &mut bearer.link_layer else { continue };
            link_layer.paused_until = until;
            if !link_layer.busy {
                cx.arm(index, until);
            }
        }
    }
}

impl Element for Dch {
    fn layout(&self) -> Layout {
        // However a packet is sent, it takes its bearer's delay from the end of that.
        let least = |dir| {
            let own = self.bearers.iter().map(|bearer| &bearer.buffer).filter(|buffer| buffer.dir == dir);
            own.map(Buffer::delay).min().unwrap_or(Duration::ZERO)
        };
        let layout = cell_layout(self.bearers.iter().map(|bearer| &bearer.buffer));
        Layout { ahead: Dir::BOTH.map(least), ..layout }
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        for bearer in &self.bearers {
            let buffer = &bearer.buffer;
            cx.open_bearer(buffer.index() as usize, buffer.terms(bearer.rate, false));
        }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        match self.bearers.get_mut(bearer_index(packet.ue, dir)) {
            Some(bearer) => bearer.handle_sdu(cx, packet, &mut self.report),
            None => cx.drop(packet, Reason::UnknownUe),
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        self.bearers[key as usize].handle_slot(cx, &mut self.report);
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let reports: Vec<_> = self.bearers.iter().map(|bearer| bearer.report(cx)).collect();
        cell_report("radio.dch", &reports)
    }
}
