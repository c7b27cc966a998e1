//! The core network as an element: GGSN towards the server, RNC towards the UEs.
//!
//! Each leg keeps the order of what it carries, so that a packet's arrival at the far end of both is known when it
//! comes to the first: it is put on a lane once. (Downlink there is a lane for each Iu leg. A drop at the SGSN is
//! therefore told of when the packet comes to the GGSN.) Only where legs of several RNCs meet at the SGSN, uplink, the
//! order is not known ahead, and a timer tells of each arrival there.

use super::capture::Tunnels;
use super::leg::Line;
use super::{Config, Leg, Plan, TrafficClass};
use crate::element::{Cx, Element, Layout};
use crate::packet::{Dir, Packet};
use crate::time::Instant;
use crate::trace::Reason;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// Lane of what goes to the server; that of Iu leg n towards the UEs is n beyond [`FIRST_DOWN`].
const UP: u32 = 0;
const FIRST_DOWN: u32 = 1;
/// Timer of echoes; that of arrivals at the SGSN on Iu leg n is n beyond [`FIRST_ARRIVAL`].
const ECHO: u32 = 0;
const FIRST_ARRIVAL: u32 = 1;

/// GGSN, SGSN and the legs to the RNCs.
pub struct CoreNetwork {
    overhead: u32,
    contexts: Vec<Context>,
    /// By direction.
    gn: [Line; 2],
    /// To the RNC of the cell, then to those of relocations.
    iu: Vec<IuLeg>,
    /// Which leg UEs take; empty without relocations.
    routes: Vec<Route>,
    tunnels: Tunnels,
    /// Legs in the order in which they come into use, and when.
    in_use: Vec<(Instant, usize)>,
    /// How many of them have begun with an echo.
    echoes: usize,
}

/// A UE's PDP context.
struct Context {
    /// Never if it has none.
    active: Instant,
    class: TrafficClass,
    /// By direction.
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
    /// By direction.
    lines: [Line; 2],
    /// On their way to the SGSN, with their arrival there; used with several legs.
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
    /// From when on it takes which, in order of time; the first leg before.
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
        let mut in_use = vec![(Instant::ZERO, 0)];
        let mut routes = Vec::new();
        for (ue, at, relocation) in &plan.relocations {
            routes.resize_with(plan.active.len(), Route::default);
            if let Some(route) = routes.get_mut(usize::from(*ue)) {
                route.changes.push((*at, iu.len()));
                route.changes.sort_by_key(|(from, _)| *from);
                in_use.push((*at, iu.len()));
            }
            iu.push(IuLeg::new(&relocation.iu));
        }
        in_use.sort_unstable();
        Self {
            overhead: config.overhead_octets(),
            contexts,
            gn: Dir::BOTH.map(|_| Line::new(&config.gn)),
            tunnels: Tunnels::new(config.sequence_numbers, plan.active.len(), iu.len()),
            iu,
            routes,
            in_use,
            echoes: 0,
        }
    }

    /// The Iu leg that a UE's packet takes at `at`.
    #[inline(always)]
    fn leg(&self, ue: u16, at: Instant) -> usize {
        if self.routes.is_empty() { 0 } else { self.relocated(ue, at) }
    }

    #[cold]
    fn relocated(&self, ue: u16, at: Instant) -> usize {
        let changes = self.routes.get(usize::from(ue)).map_or(&[][..], |route| &route.changes);
        changes.iter().rev().find(|(from, _)| *from <= at).map_or(0, |(_, leg)| *leg)
    }

    /// When a UE's packet that would arrive at `at` arrives at the end of its Iu leg: not before those sent earlier.
    #[inline(always)]
    fn in_order(&mut self, ue: u16, dir: Dir, at: Instant) -> Instant {
        match self.routes.get_mut(usize::from(ue)) {
            Some(route) => {
                let latest = &mut route.latest[dir.index()];
                *latest = at.max(*latest);
                *latest
            }
            None => at,
        }
    }

    fn descend(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        let (ue, octets) = (packet.ue, packet.len + self.overhead);
        let Some(at_sgsn) = self.gn[Dir::Downlink.index()].pass(cx.now, octets) else {
            return cx.drop(packet, Reason::QueueFull);
        };
        self.contexts[usize::from(ue)].gn[Dir::Downlink.index()].add(&packet);
        let leg = self.leg(ue, at_sgsn);
        let Some(arrival) = self.iu[leg].lines[Dir::Downlink.index()].pass(at_sgsn, octets) else {
            return cx.drop(packet, Reason::QueueFull);
        };
        self.contexts[usize::from(ue)].iu[Dir::Downlink.index()].add(&packet);
        let at_rnc = self.in_order(ue, Dir::Downlink, arrival);
        if cx.captures_iu() {
            self.tunnels.capture(cx, at_rnc, Dir::Downlink, leg, &packet);
        }
        cx.emit_at(at_rnc, FIRST_DOWN + leg as u32, packet);
    }

    fn ascend(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        let (ue, octets) = (packet.ue, packet.len + self.overhead);
        let leg = self.leg(ue, cx.now);
        if cx.captures_iu() {
            self.tunnels.capture(cx, cx.now, Dir::Uplink, leg, &packet);
        }
        let Some(arrival) = self.iu[leg].lines[Dir::Uplink.index()].pass(cx.now, octets) else {
            return cx.drop(packet, Reason::QueueFull);
        };
        self.contexts[usize::from(ue)].iu[Dir::Uplink.index()].add(&packet);
        if self.routes.is_empty() {
            return self.leave_sgsn(cx, arrival, packet);
        }
        let at_sgsn = self.in_order(ue, Dir::Uplink, arrival);
        let ascending = &mut self.iu[leg].ascending;
        if ascending.is_empty() {
            cx.arm(FIRST_ARRIVAL + leg as u32, at_sgsn);
        }
        ascending.push_back((at_sgsn, packet));
    }

    /// A packet from a UE comes to the SGSN at `at`.
    #[inline(always)]
    fn leave_sgsn(&mut self, cx: &mut Cx<'_>, at: Instant, packet: Box<Packet>) {
        let octets = packet.len + self.overhead;
        let Some(at_ggsn) = self.gn[Dir::Uplink.index()].pass(at, octets) else {
            return cx.drop(packet, Reason::QueueFull);
        };
        self.contexts[usize::from(packet.ue)].gn[Dir::Uplink.index()].add(&packet);
        cx.emit_at(at_ggsn, UP, packet);
    }

    /// Packets from UEs arrive at the SGSN on an Iu leg.
    fn handle_arrivals(&mut self, cx: &mut Cx<'_>, leg: usize) {
        while let Some((at, packet)) = self.iu[leg].ascending.pop_front() {
            if at > cx.now {
                self.iu[leg].ascending.push_front((at, packet));
                return cx.arm(FIRST_ARRIVAL + leg as u32, at);
            }
            self.leave_sgsn(cx, at, packet);
        }
    }

    /// The RNCs whose legs come into use now ask whether the SGSN lives: for captures. Such a message takes no time from
    /// others.
    fn handle_echoes(&mut self, cx: &mut Cx<'_>) {
        while let Some((at, leg)) = self.in_use.get(self.echoes) {
            if *at > cx.now {
                return cx.arm(ECHO, *at);
            }
            self.echoes += 1;
            if cx.captures_iu() {
                let [down, up] = &self.iu[*leg].lines;
                let answered = |request, response| down.unloaded(up.unloaded(*at, request), response);
                self.tunnels.capture_echo(cx, *leg, answered);
            }
        }
    }

    fn report_of(&self, ue: usize, context: &Context) -> Value {
        let leg = |teids: Value, counts: &[Count; 2]| {
            let [downlink, uplink] = counts.map(|count| count.report(self.overhead));
            json!({ "teids": teids, "downlink": downlink, "uplink": uplink })
        };
        let route = self.routes.get(ue).map_or(&[][..], |route| &route.changes);
        let relocations: Vec<_> = route
            .iter()
            .map(|(at, leg)| json!({ "at_s": at.as_secs_f64(), "teids": Tunnels::iu_teids(ue, *leg) }))
            .collect();
        let is_active = context.active != Instant::NEVER;
        json!({
            "ue": ue,
            "class": context.class.name(),
            "active_s": is_active.then(|| context.active.as_secs_f64()),
            "gn": leg(Tunnels::gn_teids(ue), &context.gn),
            "iu": leg(Tunnels::iu_teids(ue, 0), &context.iu),
            "relocations": relocations,
        })
    }
}

impl Element for CoreNetwork {
    fn layout(&self) -> Layout {
        let mut lanes = vec![Dir::Uplink];
        lanes.extend(self.iu.iter().map(|_| Dir::Downlink));
        let arrivals = if self.routes.is_empty() { 0 } else { self.iu.len() as u32 };
        Layout { lanes, timers: FIRST_ARRIVAL + arrivals, ..Layout::default() }
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        cx.arm(ECHO, cx.now);
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        let context = self.contexts.get(usize::from(packet.ue));
        if !context.is_some_and(|context| context.active <= cx.now) {
            return cx.drop(packet, Reason::NoPdpContext);
        }
        match dir {
            Dir::Downlink => self.descend(cx, packet),
            Dir::Uplink => self.ascend(cx, packet),
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        match key.checked_sub(FIRST_ARRIVAL) {
            Some(leg) => self.handle_arrivals(cx, leg as usize),
            None => self.handle_echoes(cx),
        }
    }

    fn report(&self, cx: &mut Cx<'_>) -> Value {
        let ues: Vec<_> =
            self.contexts.iter().enumerate().map(|(ue, context)| self.report_of(ue, context)).collect();
        json!({
            "element": "umts",
            "overhead_octets_per_packet": self.overhead,
            "dropped_no_pdp_context": cx.dropped(Reason::NoPdpContext),
            "dropped_queue_full": cx.dropped(Reason::QueueFull),
            "ues": ues,
        })
    }
}
