//! The core network: GGSN towards the server, RNC towards the UEs.
//!
//! Each leg preserves the order of packets, so the arrival time at the far end of both is known when a packet reaches
//! the first. The core network is attached to the end of the wired link, which preserves order too: the link's element
//! ([`crate::link`]) queries both legs for their times and puts the packet on a lane once for all three. Downlink there
//! is one lane per Iu leg. Only uplink, where the legs of several RNCs merge at the SGSN, the order is unknown in
//! advance, and a timer marks each arrival there.
//!
//! DEVIATION: a drop on a later leg is recorded when the packet enters the first leg, that is, too early by the
//! packet's travel time to the point of the drop.

use super::capture::Tunnels;
use super::leg::Line;
use super::{Config, Leg, Plan, TrafficClass};
use crate::element::{Cx, Layout};
use crate::packet::{Dir, Packet};
use crate::time::Instant;
use crate::trace::Reason;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Lane of uplink packets. Lanes of Iu legs with a smaller index have the leg's index; those of further legs have the
/// index plus one.
pub const UP: u32 = 1;

/// A packet towards the server, and its arrival time at the GGSN.
type Onward = Option<(Instant, Box<Packet>)>;

/// GGSN, SGSN and the legs to the RNCs.
pub struct CoreNetwork {
    overhead: u32,
    contexts: Vec<Context>,
    /// The Gn leg by direction.
    gn: [Line; 2],
    /// Leg to the RNC of the cell, then legs to the RNCs of relocations.
    iu: Vec<IuLeg>,
    /// Route of each UE over the legs; empty without relocations.
    routes: Vec<Route>,
    tunnels: Tunnels,
    /// When each leg comes into use.
    in_use: Vec<Instant>,
    /// Drops by place.
    drops: [u64; 3],
}

/// Where packets are dropped: without a context, or without room on a leg.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Context,
    Gn,
    Iu,
}

/// A UE's PDP context.
struct Context {
    /// Never without a context.
    active: Instant,
    class: TrafficClass,
    /// Counters of the Gn leg by direction.
    gn: [Count; 2],
    iu: [Count; 2],
}

/// G-PDUs, and the octets of the packets in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    g_pdus: u64,
    octets: u64,
}

impl Count {
    #[inline(always)]
    fn add(&mut self, packet: &Packet) {
        self.g_pdus += 1;
        self.octets += u64::from(packet.len);
    }

    fn report(self, overhead: u32) -> Value {
        let overhead_octets = self.g_pdus * u64::from(overhead);
        json!({
            "g_pdus": self.g_pdus,
            "octets": self.octets + overhead_octets,
            "overhead_octets": overhead_octets,
        })
    }
}

struct IuLeg {
    /// The leg's queues by direction.
    lines: [Line; 2],
    /// Packets in transit to the SGSN, with their arrival times there; used with several legs.
    ascending: VecDeque<(Instant, Box<Packet>)>,
}

impl IuLeg {
    fn new(leg: &Leg) -> Self {
        Self { lines: Dir::BOTH.map(|_| Line::new(leg)), ascending: VecDeque::new() }
    }
}

/// The legs of a UE.
#[derive(Default)]
struct Route {
    /// Changes of leg in order of time; the first leg applies before them.
    changes: Vec<(Instant, usize)>,
    /// Latest arrival at the end of its legs, by direction: nothing overtakes.
    latest: [Instant; 2],
}

impl CoreNetwork {
    pub(super) fn new(config: &Config, plan: &Plan<'_>) -> Self {
        let active = |ue: usize| plan.active.get(ue).copied().flatten().unwrap_or(Instant::NEVER);
        let contexts = (0..plan.active.len())
            .map(|ue| Context {
                active: active(ue),
                class: config.class(ue as u16),
                gn: Default::default(),
                iu: Default::default(),
            })
            .collect();
        let mut iu = vec![IuLeg::new(&config.iu)];
        let mut in_use = vec![Instant::ZERO];
        let mut routes = Vec::new();
        // Legs are numbered in order of time: of two packets that arrive at the same instant, the packet of the lower
        // leg is first.
        let mut relocations = plan.relocations.clone();
        relocations.sort_by_key(|(_, at, _)| *at);
        for (ue, at, relocation) in &relocations {
            routes.resize_with(plan.active.len(), Route::default);
            if let Some(route) = routes.get_mut(usize::from(*ue)) {
                route.changes.push((*at, iu.len()));
            }
            in_use.push(*at);
            iu.push(IuLeg::new(&relocation.iu));
        }
        Self {
            overhead: config.overhead_octets(),
            contexts,
            gn: Dir::BOTH.map(|_| Line::new(&config.gn)),
            tunnels: Tunnels::new(config.sequence_numbers, plan.active.len(), iu.len()),
            iu,
            routes,
            in_use,
            drops: [0; 3],
        }
    }

    /// A packet arrives at the GGSN at `at`, now or later. It leaves on a lane, or is dropped.
    #[inline(always)]
    pub fn descend(&mut self, cx: &mut Cx<'_>, at: Instant, packet: Box<Packet>) {
        const DOWN: usize = Dir::Downlink.index();
        let (ue, octets) = (packet.ue, packet.len + self.overhead);
        let Some(context) = self.contexts.get_mut(usize::from(ue)).filter(|context| context.active <= at)
        else {
            return self.drop(cx, Dir::Downlink, packet, Place::Context);
        };
        let Some(at_sgsn) = self.gn[DOWN].pass(at, octets) else {
            return self.drop(cx, Dir::Downlink, packet, Place::Gn);
        };
        context.gn[DOWN].add(&packet);
        let leg = if self.routes.is_empty() { 0 } else { leg_at(&self.routes, ue, at_sgsn) };
        let Some(mut at_rnc) = self.iu[leg].lines[DOWN].pass(at_sgsn, octets) else {
            return self.drop(cx, Dir::Downlink, packet, Place::Iu);
        };
        context.iu[DOWN].add(&packet);
        if !self.routes.is_empty() {
            at_rnc = self.in_order(ue, Dir::Downlink, at_rnc);
        }
        if cx.captures_iu() {
            self.tunnels.capture(cx, at_rnc, Dir::Downlink, leg, &packet);
        }
        let leg = leg as u32;
        cx.emit_at(at_rnc, if leg < UP { leg } else { leg + 1 }, packet);
    }

    /// A packet arrives at the RNC now. Returns its arrival time at the GGSN; `None` if it is dropped, or in transit to
    /// the SGSN.
    #[inline(always)]
    pub fn ascend(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) -> Onward {
        const UPWARDS: usize = Dir::Uplink.index();
        let (ue, octets) = (packet.ue, packet.len + self.overhead);
        let Some(context) = self.contexts.get_mut(usize::from(ue)).filter(|context| context.active <= cx.now)
        else {
            self.drop(cx, Dir::Uplink, packet, Place::Context);
            return None;
        };
        let leg = if self.routes.is_empty() { 0 } else { leg_at(&self.routes, ue, cx.now) };
        if cx.captures_iu() {
            self.tunnels.capture(cx, cx.now, Dir::Uplink, leg, &packet);
        }
        let Some(at_sgsn) = self.iu[leg].lines[UPWARDS].pass(cx.now, octets) else {
            self.drop(cx, Dir::Uplink, packet, Place::Iu);
            return None;
        };
        context.iu[UPWARDS].add(&packet);
        if self.routes.is_empty() {
            return self.leave_sgsn(cx, at_sgsn, packet);
        }
        self.wait_for_sgsn(cx, leg, at_sgsn, packet);
        None
    }

    /// A packet from a UE arrives at the SGSN at `at`.
    #[inline(always)]
    fn leave_sgsn(&mut self, cx: &mut Cx<'_>, at: Instant, packet: Box<Packet>) -> Onward {
        let Some(at_ggsn) = self.gn[Dir::Uplink.index()].pass(at, packet.len + self.overhead) else {
            self.drop(cx, Dir::Uplink, packet, Place::Gn);
            return None;
        };
        let context = self.contexts.get_mut(usize::from(packet.ue))?;
        context.gn[Dir::Uplink.index()].add(&packet);
        Some((at_ggsn, packet))
    }

    #[cold]
    fn wait_for_sgsn(&mut self, cx: &mut Cx<'_>, leg: usize, at: Instant, packet: Box<Packet>) {
        let at_sgsn = self.in_order(packet.ue, Dir::Uplink, at);
        let ascending = &mut self.iu[leg].ascending;
        if ascending.is_empty() {
            cx.arm(leg as u32, at_sgsn);
        }
        ascending.push_back((at_sgsn, packet));
    }

    /// The timer of an Iu leg has expired: returns the next packet that has arrived at the SGSN and its arrival time at
    /// the GGSN. Call until there is none.
    pub fn arrived(&mut self, cx: &mut Cx<'_>, leg: u32) -> Onward {
        while let Some((at, packet)) = self.iu.get_mut(leg as usize)?.ascending.pop_front() {
            if at > cx.now {
                self.iu[leg as usize].ascending.push_front((at, packet));
                cx.arm(leg, at);
                return None;
            }
            let left = self.leave_sgsn(cx, at, packet);
            if left.is_some() {
                return left;
            }
        }
        None
    }

    /// Arrival time at the end of its Iu leg of a UE's packet that would arrive at `at`: not before earlier packets.
    #[cold]
    fn in_order(&mut self, ue: u16, dir: Dir, at: Instant) -> Instant {
        let Some(route) = self.routes.get_mut(usize::from(ue)) else { return at };
        let latest = &mut route.latest[dir.index()];
        *latest = at.max(*latest);
        *latest
    }

    #[cold]
    fn drop(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>, place: Place) {
        self.drops[place as usize] += 1;
        let reason = if place == Place::Context { Reason::NoPdpContext } else { Reason::QueueFull };
        cx.drop(dir, packet, reason);
    }

    /// A capture begins: each leg with an Echo Request of the RNC and its response, when it comes into use. These
    /// messages take no time from other packets.
    pub fn handle_capture(&mut self, cx: &mut Cx<'_>) {
        for (leg, at) in self.in_use.iter().enumerate() {
            let [down, up] = &self.iu[leg].lines;
            let answered = |request, response| down.unloaded(up.unloaded(*at, request), response);
            self.tunnels.capture_echo(cx, leg, *at, answered);
        }
    }

    /// Layout of its lanes (one direction each) and timers.
    pub fn layout(&self) -> Layout {
        let mut lanes = vec![Dir::Downlink; self.iu.len()];
        lanes.insert(UP as usize, Dir::Uplink);
        let timers = if self.routes.is_empty() { 0 } else { self.iu.len() as u32 };
        Layout { lanes, timers, ..Layout::default() }
    }

    /// Packets that found no room on a leg.
    pub fn dropped_queue_full(&self) -> u64 {
        self.drops[Place::Gn as usize] + self.drops[Place::Iu as usize]
    }

    /// Counters for the results of the run.
    pub fn report(&self) -> Value {
        let contexts = self.contexts.iter().enumerate();
        let ues: Vec<_> = contexts.map(|(ue, context)| self.report_of(ue, context)).collect();
        let [no_context, gn, iu] = self.drops;
        json!({
            "element": "umts",
            "overhead_octets_per_packet": self.overhead,
            "dropped_no_pdp_context": no_context,
            "dropped_queue_full": { "gn": gn, "iu": iu },
            "ues": ues,
        })
    }

    fn report_of(&self, ue: usize, context: &Context) -> Value {
        let leg = |teids: Value, counts: &[Count; 2]| {
            let [downlink, uplink] = counts.map(|count| count.report(self.overhead));
            json!({ "teids": teids, "downlink": downlink, "uplink": uplink })
        };
        let route = self.routes.get(ue).map_or(&[][..], |route| &route.changes);
        let relocations: Vec<_> = route
            .iter()
            .map(|(at, other)| json!({ "at_s": at.as_secs_f64(), "teids": Tunnels::iu_teids(ue, *other) }))
            .collect();
        let is_active = context.active != Instant::NEVER;
        json!({
            "ue": ue,
            "class": context.class,
            "active_s": is_active.then(|| context.active.as_secs_f64()),
            "gn": leg(Tunnels::gn_teids(ue), &context.gn),
            "iu": leg(Tunnels::iu_teids(ue, 0), &context.iu),
            "relocations": relocations,
        })
    }
}

/// The Iu leg that a UE's packet takes at `at`.
#[cold]
fn leg_at(routes: &[Route], ue: u16, at: Instant) -> usize {
    let changes = routes.get(usize::from(ue)).map_or(&[][..], |route| &route.changes);
    changes.iter().rev().find(|(from, _)| *from <= at).map_or(0, |(_, leg)| *leg)
}
