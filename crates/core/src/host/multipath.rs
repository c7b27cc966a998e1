//! The ends of a connection over several paths, at the server and at the UE: one object for the endpoints of all its
//! subflows, each of which is a flow at an interface of the UE.

use super::outflow::Outflow;
use super::{FlowSpec, Interface, arm, probe_received, probe_sent, probe_tcp};
use crate::app::StreamReport;
use crate::delays::{DelayReport, Delays};
use crate::element::Cx;
use crate::packet::Packet;
use crate::rng;
use crate::tcp;
use crate::tcp::handshake::Role;
use crate::tcp::multipath::{Config, DataReceiver, DataSender, Plan, keys::Keys};
use crate::tcp::sender::Counters;
use crate::time::Instant;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A connection over several paths, as each of its flows knows it.
#[derive(Clone, Debug)]
pub struct Several {
    /// Number of the connection in the run.
    pub connection: u16,
    /// Which of its paths the flow is; the first one opens the connection.
    pub path: u16,
    /// For each path whether it is used only if no other works.
    pub backup: Vec<bool>,
    /// Its parameters.
    pub config: Config,
}

/// One end of a connection.
pub(super) struct MultipathEnd {
    role: Role,
    side: Side,
    /// Flow of each subflow, with the key of its timer.
    paths: Vec<(FlowSpec, u32)>,
    /// The client has opened the further subflows.
    has_joined: bool,
    /// The connection is open, or the end listens.
    is_open: bool,
}

enum Side {
    Sends(Box<DataSender>, Outflow),
    Receives(Box<Receives>),
}

struct Receives {
    data: DataReceiver,
    /// Bytes that a finite transfer brings, else `u64::MAX`.
    size: u64,
    /// When the last of them had arrived.
    complete: Option<Instant>,
    /// One-way delays of the segments with data of each path.
    delays: Vec<Delays>,
    /// From the transmission of a segment to the time when all bytes before its end had arrived.
    in_order: Delays,
    /// When segments were sent that wait for earlier bytes, by the end of their bytes in the connection.
    waiting: BTreeMap<u64, Instant>,
}

impl MultipathEnd {
    /// The end of a connection whose flows are `specs`, with the keys of their timers, in the order of the paths.
    pub fn new(paths: Vec<(FlowSpec, u32)>, role: Role, sends: bool, run_seed: u64) -> Option<Self> {
        let (spec, _) = paths.first()?;
        let several = spec.several.as_deref()?;
        let name = |what: &str| format!("ue{}.flow{}.{what}", spec.ue, spec.flow);
        let plan = Plan {
            tcp: tcp::Config::clone(&spec.tcp),
            config: several.config.clone(),
            backup: several.backup.clone(),
            keys: Keys::new(rng::stream(run_seed, &name("keys")), paths.len()),
            is_upload: sends == (role == Role::Active),
        };
        let side = if sends {
            let crate::app::Traffic::Stream(app) = spec.app.build(rng::stream(run_seed, &name("app"))) else {
                return None;
            };
            let mut data = Box::new(DataSender::new(plan, role));
            for (path, (own, _)) in paths.iter().enumerate() {
                data.sender_mut(path).seed(|| super::cc_stream(own, run_seed, own.dir));
            }
            Side::Sends(data, Outflow::new(app, spec))
        } else {
            Side::Receives(Box::new(Receives {
                data: DataReceiver::new(plan, role),
                size: spec.app.size().unwrap_or(u64::MAX),
                complete: None,
                delays: vec![Delays::default(); paths.len()],
                in_order: Delays::default(),
                waiting: BTreeMap::new(),
            }))
        };
        Some(Self { role, side, paths, has_joined: false, is_open: false })
    }

    /// Whether a flow is one of its subflows.
    pub fn has(&self, flow: &FlowSpec) -> bool {
        self.paths.iter().any(|(own, _)| (own.ue, own.flow) == (flow.ue, flow.flow))
    }

    /// When the end acts first; `None` if it listens from the beginning.
    pub fn starts_at(&self) -> Option<Instant> {
        (self.role == Role::Active).then_some(self.paths[0].0.start)
    }

    /// Key of the timer that starts it.
    pub fn first_key(&self) -> u32 {
        self.paths[0].1
    }

    /// The connection is opened, or the end begins to listen on all paths.
    pub fn open(&mut self, now: Instant) {
        self.is_open = true;
        let opened = if self.role == Role::Active { 1 } else { self.paths.len() };
        (0..opened).for_each(|path| self.open_path(path));
        self.supply(now);
    }

    fn open_path(&mut self, path: usize) {
        match &mut self.side {
            Side::Sends(data, _) => data.open(path),
            Side::Receives(end) => end.data.open(path),
        }
    }

    /// Takes what the application supplies.
    fn supply(&mut self, now: Instant) {
        if let Side::Sends(data, stream) = &mut self.side {
            let bytes = stream.poll(now, || data.withdraw_unsent());
            data.supply(bytes);
        }
    }

    /// A packet of the subflow on this path arrived.
    pub fn handle_packet(&mut self, cx: &mut Cx<'_>, path: usize, packet: &Packet) {
        let now = cx.now;
        match &mut self.side {
            Side::Sends(data, stream) => {
                data.handle_segment(now, path, packet);
                let acked = data.acknowledged();
                if acked >= stream.awaited {
                    if stream.tell_acked(cx, acked) {
                        let bytes = stream.poll(now, || data.withdraw_unsent());
                        data.supply(bytes);
                    }
                    stream.settle(cx, acked);
                }
                probe_tcp(cx, (packet.ue, packet.flow), data.sender_mut(path), Some(packet));
            }
            Side::Receives(end) => end.handle_packet(cx, path, packet),
        }
        if self.role == Role::Active && !self.has_joined && self.is_established() {
            self.has_joined = true;
            (1..self.paths.len()).for_each(|further| self.open_path(further));
        }
    }

    fn is_established(&self) -> bool {
        match &self.side {
            Side::Sends(data, _) => data.is_established(),
            Side::Receives(end) => end.data.is_established(),
        }
    }

    /// The deadline of a path or of the application has passed, or the connection is to be opened.
    pub fn handle_timer(&mut self, cx: &mut Cx<'_>, path: usize) {
        if !self.is_open {
            return self.open(cx.now);
        }
        let (spec, _) = &self.paths[path];
        match &mut self.side {
            Side::Sends(data, stream) => {
                data.handle_deadline(cx.now, path);
                probe_tcp(cx, (spec.ue, spec.flow), data.sender_mut(path), None);
                if stream.next_supply <= cx.now {
                    let bytes = stream.poll(cx.now, || data.withdraw_unsent());
                    data.supply(bytes);
                }
            }
            Side::Receives(end) => end.data.handle_deadline(cx.now, path),
        }
    }

    /// Sends what may be sent on any path, and arms the paths' timers.
    pub fn pump(&mut self, cx: &mut Cx<'_>, interface: &mut Interface) {
        let now = cx.now;
        match &mut self.side {
            Side::Sends(data, stream) => {
                while let Some(sending) = data.poll_transmit(now) {
                    let mut packet = Interface::packet(cx, &self.paths[sending.path].0);
                    data.write(now, &sending, &mut packet);
                    packet.sent_at = now;
                    probe_sent(cx, &packet, &sending.transmit);
                    interface.send(cx, packet);
                }
                for (path, (_, key)) in self.paths.iter().enumerate() {
                    let next = Some(stream.next_supply).filter(|next| path == 0 && *next < Instant::NEVER);
                    arm(cx, *key, data.deadline(path).into_iter().chain(next).min());
                }
            }
            Side::Receives(end) => {
                while let Some((path, cause)) = end.data.poll_transmit(now) {
                    let mut packet = Interface::packet(cx, &self.paths[path].0);
                    end.data.write(now, path, cause, &mut packet);
                    interface.send(cx, packet);
                }
                for (path, (_, key)) in self.paths.iter().enumerate() {
                    arm(cx, *key, end.data.deadline(path));
                }
            }
        }
    }
}

impl Receives {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, path: usize, packet: &Packet) {
        let before = self.data.rcv_nxt();
        let Some(seq) = self.data.handle_segment(cx.now, path, packet) else { return };
        self.delays[path].add(cx.now.since(packet.sent_at));
        let rcv_nxt = self.data.rcv_nxt();
        if let Some(end) = self.data.end_of(packet).filter(|end| *end > before) {
            self.waiting.entry(end).or_insert(packet.sent_at);
        }
        while let Some(first) = self.waiting.first_entry().filter(|first| *first.key() <= rcv_nxt) {
            self.in_order.add(cx.now.since(first.remove()));
        }
        if rcv_nxt >= self.size && self.complete.is_none() {
            self.complete = Some(cx.now);
            cx.finish_transfer();
        }
        probe_received(cx, packet, seq, self.data.receiver(path).rcv_nxt());
    }
}

/// Report on a connection over several paths: Multipath TCP.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MultipathReport {
    /// Name of the scheduler.
    pub scheduler: &'static str,
    /// How long the receive window has kept back new data, seconds.
    pub blocked_s: f64,
    /// Bytes given to a path that another path had been given before.
    pub reinjected_bytes: u64,
    /// Bytes that have arrived over more than one path, beyond the first time.
    pub duplicate_bytes: u64,
    /// Most bytes that waited at the receiver for earlier ones.
    pub most_waiting_bytes: u64,
    /// Each path, in the order of the scenario.
    pub subflows: Vec<SubflowReport>,
}

/// Report on one path of a connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SubflowReport {
    /// Number of the interface.
    pub ue: u16,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Number of the subflow among the flows of the interface.
    pub flow: u16,
    /// Whether it is used only if no other works.
    pub backup: bool,
    /// From the start of the flow to the time when data could be sent on the path; `None` if it never could.
    pub joined_s: Option<f64>,
    /// Bytes of the connection given to the path, without retransmissions on the same path.
    pub bytes: u64,
    /// Their share in the bytes of all paths.
    pub share: f64,
    /// Those among them that another path had been given before.
    pub reinjected_bytes: u64,
    /// Times that a timeout kept new data from the path.
    pub stale: u64,
    /// Times that an ACK ended this.
    pub recovered: u64,
    /// Counters of the path's sender.
    #[serde(flatten)]
    pub sender: Counters,
    /// From the transmission to the arrival of each segment with data on the path.
    pub one_way_delay_ms: DelayReport,
    /// Counters of the path's receiver.
    pub receiver: tcp::receiver::Counters,
}

/// What both ends of a connection over several paths have counted.
pub(super) struct DataReport {
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub start: Instant,
    /// When the last byte was acknowledged, or now.
    pub ended: Instant,
    pub finished: Option<Instant>,
    pub received_s: Option<f64>,
    pub app: StreamReport,
    pub sender: Counters,
    pub receiver: tcp::receiver::Counters,
    pub one_way_delay_ms: DelayReport,
    pub multipath: MultipathReport,
}

/// Reports both ends of a connection.
pub(super) fn report(server: &MultipathEnd, ue: &MultipathEnd, now: Instant) -> Option<DataReport> {
    let (sends, receives) = match (&server.side, &ue.side) {
        (Side::Sends(data, stream), Side::Receives(end))
        | (Side::Receives(end), Side::Sends(data, stream)) => ((data, stream), end),
        _ => return None,
    };
    let (data, stream) = sends;
    let several = server.paths[0].0.several.as_deref()?;
    let start = server.paths[0].0.start;
    let (mut sender, mut receiver) = (Counters::default(), tcp::receiver::Counters::default());
    let seconds = |at: Instant| at.since(start).as_secs_f64();
    let total: u64 = (0..server.paths.len()).map(|path| data.path_counters(path).bytes).sum();
    let subflow = |(path, (spec, _)): (usize, &(FlowSpec, u32))| {
        let (counters, own) = (data.path_counters(path), data.sender(path).counters());
        sender.add(&own);
        receiver.add(receives.data.receiver(path).counters());
        SubflowReport {
            ue: spec.ue,
            interface: None,
            flow: spec.flow,
            backup: several.backup[path],
            joined_s: counters.joined.map(seconds),
            bytes: counters.bytes,
            share: if total > 0 { counters.bytes as f64 / total as f64 } else { 0.0 },
            reinjected_bytes: counters.reinjected_bytes,
            stale: counters.stale,
            recovered: counters.recovered,
            sender: own,
            one_way_delay_ms: receives.delays[path].report(),
            receiver: receives.data.receiver(path).counters().clone(),
        }
    };
    let subflows: Vec<_> = server.paths.iter().enumerate().map(subflow).collect();
    let counted = receives.data.counters();
    let ended = stream.finished.unwrap_or(now);
    Some(DataReport {
        bytes_acked: data.acknowledged(),
        bytes_received: receives.data.rcv_nxt(),
        finished: stream.finished,
        received_s: receives.complete.map(seconds),
        start,
        ended,
        app: stream.app().report(now),
        sender,
        receiver,
        one_way_delay_ms: receives.in_order.report(),
        multipath: MultipathReport {
            scheduler: several.config.scheduler.name(),
            blocked_s: data.blocked(ended).as_secs_f64(),
            reinjected_bytes: subflows.iter().map(|path| path.reinjected_bytes).sum(),
            duplicate_bytes: counted.duplicate_bytes,
            most_waiting_bytes: counted.most_waiting_bytes,
            subflows,
        },
    })
}

impl FlowSpec {
    /// Whether it is the flow that represents its connection in results: every flow but the further subflows.
    pub fn is_first(&self) -> bool {
        self.several.as_ref().is_none_or(|several| several.path == 0)
    }
}

/// Number of segments in transit on all paths.
pub(super) fn in_transit(end: &MultipathEnd) -> u64 {
    let Side::Sends(data, _) = &end.side else { return 0 };
    (0..end.paths.len()).map(|path| data.sender(path).state().segments.len() as u64).sum()
}

/// The connections of a host: the paths of each, in order, with the keys of their timers.
pub(super) fn connections(flows: &[FlowSpec]) -> Vec<Vec<(FlowSpec, u32)>> {
    let mut found: Vec<(u16, Vec<(FlowSpec, u32)>)> = Vec::new();
    for (key, flow) in (0..).zip(flows) {
        let Some(several) = &flow.several else { continue };
        match found.iter_mut().find(|(connection, _)| *connection == several.connection) {
            Some((_, paths)) => paths.push((flow.clone(), key)),
            None => found.push((several.connection, vec![(flow.clone(), key)])),
        }
    }
    let path_of =
        |(flow, _): &(FlowSpec, u32)| flow.several.as_ref().map(|several: &Arc<Several>| several.path);
    found
        .into_iter()
        .map(|(_, mut paths)| {
            paths.sort_by_key(path_of);
            paths
        })
        .collect()
}
