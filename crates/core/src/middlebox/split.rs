//! Split TCP: a proxy that terminates every passing TCP connection and carries the bytes on over its own.
//!
//! After I-TCP (A. Bakre and B. R. Badrinath, ICDCS 1995) and RFC 3135 (2.4). Towards the data's sender the box is the
//! receiver, towards the receiver it is a sender with its own window, round-trip time and loss recovery: each side
//! repairs its own losses over its own short loop. The buffer in between is finite, and the window that the box
//! advertises is the free space in it. A byte is held until the receiver has acknowledged it.
//!
//! A connection starts with the UE's SYN or, if the handshake is `none`, with the first data segment. The box answers
//! the SYN itself and opens its own connection at the same time, as performance enhancing proxies of satellite links
//! do, instead of waiting until the other side has answered.
//!
//! End-to-end semantics are lost (RFC 3135 (4.1.3)): data that the sender considers delivered may still be in the box.
//! The report says how much. Packets whose TCP header cannot be read, and segments of a flow that is unknown to the box
//! or whose start it has not seen, pass unchanged and are counted.
//!
//! `delay` is that of the wired link between box and cell, for all packets; `wired.delay` is then the server's side.
//! `processing` is the time that the box spends on each packet, one after another ([`entrance`]).
//!
//! **During a hand-over** the box moves to another RNC if `handover` says so. With `transfer` the state of the UE's
//! connections follows: the buffered octets move from the old to the new RNC. This starts with the outage and takes
//! `transfer_delay` plus the time of these octets at `transfer_rate`. Until then the box sends nothing, and arriving
//! packets wait (the old RNC forwards them afterwards). With `lose` the new RNC has no state, and segments pass it
//! unchanged. The buffered octets have been acknowledged to the sender, which never retransmits them: the transfer does
//! not complete. This is the cost of losing state in the network without end-to-end semantics, and the report says how
//! many octets are lost for good.
//!
//! **Real packets** have octets, and their connections are not known beforehand: [`proxy`] handles them.
//!
//! Left out: data in both directions (`app.web` is refused), a limit for all connections together, failure of the box.
//! ASSUMED: without a handshake, the sender assumes that the first window and the scale follow the flow's
//! `receive_buffer`, as it would without the box; data beyond the box's buffer is refused.

mod connection;
mod entrance;
mod proxy;

use super::{Around, Component, Plan};
use crate::app::Carrier;
use crate::element::{Cx, Element, Layout, Outage, Port};
use crate::error::ScenarioError;
use crate::host::{FlowIndex, FlowSpec};
use crate::packet::{Dir, Flags, Packet};
use crate::rng;
use crate::tcp::{self, Handshake};
use crate::time::Duration;
use crate::units::{Bitrate, Bytes};
use connection::{Connection, Endpoints, Keys};
use entrance::Entrance;
use proxy::Proxy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Terminates every TCP connection and carries its bytes over a second one: split TCP, RFC 3135.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Bytes that the box holds per connection at most; the window towards the data's sender is the free part.
    pub buffer: Bytes,
    /// One-way delay between the box and the cell. `wired.delay` is that between the server and the box.
    pub delay: Duration,
    /// Time that the box's processor takes for each packet that reaches it, one after another.
    pub processing: Duration,
    /// Effect of a hand-over of the UE on its connections.
    pub handover: Handover,
    /// With `handover = "transfer"`: one-way delay between the two RNCs.
    pub transfer_delay: Duration,
    /// With `handover = "transfer"`: rate between the two RNCs.
    pub transfer_rate: Bitrate,
    /// Configuration of the box's endpoints on the radio side if different from `[tcp]`; the flow's if absent. Options
    /// that both ends must agree on are not affected.
    pub tcp: Option<Box<tcp::Config>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            buffer: Bytes::from_bytes(65_535),
            delay: Duration::ZERO,
            processing: Duration::ZERO,
            handover: Handover::Keep,
            transfer_delay: Duration::from_millis(20),
            transfer_rate: Bitrate::from_bps(10_000_000),
            tcp: None,
        }
    }
}

/// Effect of a hand-over of the UE on the connections that the box terminates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Handover {
    /// The box stays: the new cell belongs to the same RNC.
    #[default]
    Keep,
    /// Their state moves to the box at the new RNC.
    Transfer,
    /// Their state is lost.
    Lose,
}

/// The largest window that can be advertised, RFC 7323 (2.3).
const LARGEST_BUFFER: u64 = 1 << 30;

/// Takes the options that both ends of a connection must agree on from `flow`.
fn agree(config: &tcp::Config, flow: &tcp::Config) -> tcp::Config {
    tcp::Config {
        ip: flow.ip,
        handshake: flow.handshake,
        initial_sequence: flow.initial_sequence,
        timestamps: flow.timestamps,
        sack: flow.sack,
        ecn: flow.ecn,
        window_scaling: flow.window_scaling,
        receive_buffer: flow.receive_buffer,
        receive_buffer_max: flow.receive_buffer_max,
        ..config.clone()
    }
}

/// The first of these keys in which two configurations differ.
fn disagreement(one: &tcp::Config, other: &tcp::Config) -> Option<&'static str> {
    let differs = [
        ("ip", one.ip != other.ip),
        ("handshake", one.handshake != other.handshake),
        ("initial_sequence", one.initial_sequence != other.initial_sequence),
        ("timestamps", one.timestamps != other.timestamps),
        ("sack", one.sack != other.sack),
        ("ecn", one.ecn != other.ecn),
        ("window_scaling", one.window_scaling != other.window_scaling),
        ("receive_buffer", one.receive_buffer != other.receive_buffer),
        ("receive_buffer_max", one.receive_buffer_max != other.receive_buffer_max),
    ];
    differs.into_iter().find(|(_, differs)| *differs).map(|(key, _)| key)
}

impl Config {
    /// The box's two endpoints of a flow.
    fn endpoints(&self, spec: &FlowSpec) -> Endpoints {
        let flow = spec.tcp.as_ref();
        let radio = self.tcp.as_ref().map_or_else(|| flow.clone(), |tcp| agree(tcp, flow));
        let (mut receives, sends) = match spec.dir {
            Dir::Downlink => (flow.clone(), radio),
            Dir::Uplink => (radio, flow.clone()),
        };
        if receives.handshake == Handshake::ThreeWay {
            // The SYN announces the scale that the buffer needs.
            receives.receive_buffer = self.buffer;
            receives.receive_buffer_max = None;
        }
        Endpoints { receives, sends, buffer: self.buffer.as_u64() }
    }
}

impl Component for Config {
    fn build(&self, plan: &Plan<'_>) -> Box<dyn Element> {
        if let Some(tcp) = plan.session {
            return Box::new(Proxy::new(self, tcp, plan));
        }
        let flows = plan.flows;
        let ues = flows.last().map_or(0, |flow| flow.ue + 1);
        let slots: Vec<_> = flows.iter().map(|spec| Slot { spec: spec.clone(), connection: None }).collect();
        Box::new(Split {
            config: self.clone(),
            index: FlowIndex::new(0..ues, flows),
            entrance: Entrance::new(self.delay, self.processing, 2 * slots.len() as u32),
            slots,
            run_seed: plan.run_seed,
            number: plan.number,
            passed: <[Passed; 2]>::default(),
        })
    }

    fn validate(&self, around: &Around<'_>) -> Result<(), ScenarioError> {
        if self.handover == Handover::Transfer && self.transfer_rate.as_bps() == 0 {
            let hint = "write a positive rate such as \"10 Mbit/s\"";
            return Err(ScenarioError::new("transfer_rate", "state would never arrive", hint));
        }
        if self.buffer.as_u64() > LARGEST_BUFFER {
            let message = format!("no window can express {}", self.buffer);
            return Err(ScenarioError::new("buffer", message, "write at most 1 GiB (RFC 7323)"));
        }
        for spec in around.flows {
            if spec.app.carrier() == Carrier::TcpBothWays {
                let message = "a page's connections carry data both ways, which the box does not split";
                let hint = "choose app.file or app.bulk, or remove the box";
                return Err(ScenarioError::new("", message, hint));
            }
            let segment = spec.tcp.payload_bytes();
            if self.buffer.as_u64() < segment {
                let message = format!("a buffer of {} is below one segment of {segment} B", self.buffer);
                let hint = "write a buffer of several segments, such as \"64 kB\"";
                return Err(ScenarioError::new("buffer", message, hint));
            }
        }
        let Some(tcp) = &self.tcp else { return Ok(()) };
        if let Some(key) = disagreement(tcp, around.tcp) {
            let hint = "set it in [tcp] or in the flow, or remove it here";
            let message = "both ends of a connection must agree on this";
            return Err(ScenarioError::new(key, message, hint).under("tcp"));
        }
        let mut configs = around.flows.iter().map(|spec| agree(tcp, &spec.tcp));
        configs.try_for_each(|config| config.validate()).map_err(|inner| inner.under("tcp"))
    }

    fn validate_session(&self, flows: &[FlowSpec]) -> Result<(), ScenarioError> {
        if !flows.is_empty() {
            let message = "the box splits real connections or simulated ones, and the cell has both";
            let hint = "set the cell's ues to 1, or remove the box";
            return Err(ScenarioError::new("", message, hint));
        }
        if self.handover != Handover::Keep {
            let message = "the state of real connections neither moves nor is lost";
            return Err(ScenarioError::new("handover", message, "write \"keep\", or remove the key"));
        }
        Ok(())
    }
}

/// A flow, and its connection once it has begun.
struct Slot {
    spec: FlowSpec,
    connection: Option<Box<Connection>>,
}

/// Packets that passed unchanged in one direction.
#[derive(Default, Serialize)]
struct Passed {
    #[serde(rename = "passed_unread")]
    unread: u64,
    #[serde(rename = "passed_unknown_flow")]
    unknown: u64,
}

struct Split {
    config: Config,
    index: FlowIndex,
    slots: Vec<Slot>,
    entrance: Entrance,
    run_seed: u64,
    /// Number of the box on the path.
    number: usize,
    /// Passed packets by direction.
    passed: [Passed; 2],
}

/// The wired link between the box and the cell.
#[derive(Clone, Copy)]
struct Wire {
    delay: Duration,
}

impl Wire {
    /// Sends towards `dir`. Downlink packets cross the wired link first, which is the box's only lane.
    fn emit(self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        if dir == Dir::Downlink && !self.delay.is_zero() {
            cx.emit_at(cx.now + self.delay, 0, packet);
        } else {
            cx.emit(dir, packet);
        }
    }
}

/// Whether a connection begins with this packet.
fn begins(spec: &FlowSpec, dir: Dir, packet: &Packet) -> bool {
    match spec.tcp.handshake {
        Handshake::None => dir == spec.dir && packet.payload > 0,
        Handshake::ThreeWay | Handshake::Ttcp => dir == Dir::Uplink && packet.flags.has(Flags::SYN),
    }
}

impl Split {
    fn wire(&self) -> Wire {
        Wire { delay: self.config.delay }
    }

    /// The box has a packet in hand.
    fn handle(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        let wire = self.wire();
        if !packet.is_tcp() {
            self.passed[dir.index()].unread += 1;
            return wire.emit(cx, dir, packet);
        }
        if let Some(position) = self.index.position(packet.ue, packet.flow) {
            let Slot { spec, connection } = &mut self.slots[position];
            if connection.is_none() && begins(spec, dir, &packet) {
                let endpoints = self.config.endpoints(spec);
                let name = format!("middlebox{}.ue{}.flow{}.cc", self.number, spec.ue, spec.flow);
                let stream = || rng::stream(self.run_seed, &name);
                *connection = Some(Box::new(Connection::new(spec, &endpoints, stream)));
            }
            if let Some(connection) = connection.as_mut().filter(|connection| !connection.is_lost()) {
                return connection.take(cx, dir, packet, Keys::of(position), wire);
            }
        }
        self.passed[dir.index()].unknown += 1;
        wire.emit(cx, dir, packet);
    }
}

impl Element for Split {
    fn layout(&self) -> Layout {
        Layout {
            timers: 2 * self.slots.len() as u32 + 2,
            lanes: vec![Dir::Downlink],
            outages: self.config.handover != Handover::Keep,
            ..Layout::default()
        }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        if let Some(packet) = self.entrance.enter(cx, dir, packet) {
            self.handle(cx, dir, packet);
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        if self.entrance.has_timer(key) {
            while let Some((dir, packet)) = self.entrance.next(cx, key) {
                self.handle(cx, dir, packet);
            }
            return;
        }
        let (position, wire) = (key as usize / 2, self.wire());
        let Some(connection) = &mut self.slots[position].connection else { return };
        connection.handle_timer(cx, Keys::of(position), wire);
    }

    fn handle_outage(&mut self, cx: &mut Cx<'_>, ue: u16, phase: Outage) {
        // Every hand-over counts as one to another RNC.
        if phase != Outage::Began {
            return;
        }
        let Config { handover, transfer_delay, transfer_rate, .. } = self.config;
        for (position, slot) in self.slots.iter_mut().enumerate().filter(|(_, slot)| slot.spec.ue == ue) {
            let Some(connection) = slot.connection.as_mut().filter(|connection| !connection.is_lost()) else {
                continue;
            };
            match handover {
                Handover::Keep => {}
                Handover::Transfer => {
                    let takes = transfer_delay + transfer_rate.time_to_send(connection.held());
                    connection.begin_move(cx, Keys::of(position), takes);
                }
                Handover::Lose => connection.lose(cx, Keys::of(position)),
            }
        }
    }

    fn report(&self, _cx: &mut Cx<'_>) -> serde_json::Value {
        let connections = self.slots.iter().filter_map(|slot| slot.connection.as_ref());
        let connections: Vec<_> = connections.map(|connection| connection.report()).collect();
        let [downlink, uplink] = &self.passed;
        json!({
            "element": "middlebox.split",
            "downlink": downlink,
            "uplink": uplink,
            "peak_in_processor": self.entrance.peak,
            "connections": connections,
        })
    }
}
