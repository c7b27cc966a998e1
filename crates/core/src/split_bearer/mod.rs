//! A bearer that PDCP splits over two legs: EN-DC (LTE and NR) and NR-DC (TS 37.340).
//!
//! One PDCP entity at the network and one at the UE number and order packets (TS 38.323); RLC, MAC and PHY of each leg are
//! those of a cell. The element has both entities: it is at the way above both cells, and below them at the UE.
//!
//! ```text
//! server -> buffer -> PDCP -> fork +-> (Xn) -> cell a -+-> fork -> PDCP: order, duplicates -> UE      downlink
//!                                  +---------> cell b -+                     the uplink in the other direction
//! ```
//!
//! A leg is an interface of the UE. A packet has the number of that interface on the leg, and its own outside. It has no
//! COUNT; the element keeps COUNTs by packet, and RLC counts the octets of PDCP's header. A packet that a box on a leg has
//! made passes the element without a COUNT, and goes to the UE's first interface.
//!
//! * **Downlink**: legs report how much they take (TS 38.425, [`leg`]); of these the leg gets a PDU over which it is
//!   expected first. The rest waits in front of PDCP. Without flow control the legs take PDUs in turn.
//! * **Uplink**: the primary leg, from ul-DataSplitThreshold on the one with the shorter queue. Both get PDUs shortly before they
//!   can send them, as the downlink's legs do.
//! * **Leg released**: its cell gives back what it has not delivered, in both directions, and PDCP transmits it over the
//!   other leg with the COUNT it has (data recovery). DEVIATION: a real transmitter also retransmits what has arrived
//!   without being confirmed, and the receiver discards it.
//! * **Duplication**: both legs get each PDU.
//!
//! ASSUMED: PDCP knows RX_DELIV at once, and lets at most half of the numbers be in transit. Left out: more than two legs,
//! discard of duplicates in the other leg (§5.11.2), the time of RRC's procedures, PDCP control PDUs.

mod config;
mod direction;
mod leg;

pub use config::{Config, Downlink, Uplink};

use crate::element::{Change, Cx, Element, Layout, Port, RadioEvent, RadioEventKind, as_same};
use crate::packet::{Dir, Packet};
use crate::queue::Place;
use crate::time::{Duration, Instant};
use crate::units::Bitrate;
use direction::{Direction, Line, Routing};
use leg::Leg;
use serde_json::{Value, json};

/// A leg of a bearer.
#[derive(Clone, Debug)]
pub struct LegPlan {
    /// Number of the interface.
    pub ue: u16,
    /// Delay of the link between PDCP and the cell, downlink and uplink.
    pub delays: [Duration; 2],
    /// When the leg is not there: from its release until it is added.
    pub absences: Vec<(Instant, Instant)>,
}

/// A bearer.
#[derive(Clone, Debug)]
pub struct BearerPlan<'a> {
    /// Name of the UE.
    pub name: String,
    /// Parameters.
    pub config: &'a Config,
    /// The legs, in the order of `attach`.
    pub legs: [LegPlan; 2],
    /// Index of the primary leg.
    pub primary: usize,
}

/// Timers of a bearer.
const TIMERS: u32 = 11;
/// The first timers of a bearer: t-Reordering by direction; reports of legs made, and arrived, by direction and leg; releases and
/// additions.
const SAMPLES: u32 = 2;
const REPORTS: u32 = 6;
const CHANGES: u32 = 10;

/// Time between two requests for PDUs of a leg of the uplink. ASSUMED.
const REQUESTS: Duration = Duration::from_millis(5);

/// The split bearers of UEs below one way.
pub struct SplitBearers {
    bearers: Vec<SplitBearer>,
    /// Pairs of ports to cells that give packets back.
    sides: u16,
}

struct SplitBearer {
    name: String,
    /// Numbers of the interfaces.
    ues: [u16; 2],
    /// Downlink first.
    directions: [Direction; 2],
    /// Releases and additions to come, the next one last.
    changes: Vec<(Instant, usize, bool)>,
}

impl SplitBearers {
    /// Bearers, and how many cells give packets back: cell `n` at the pair of ports [`Self::side`]`(n)`.
    pub fn new(plans: &[BearerPlan<'_>], cells: u16, run_seed: u64) -> Self {
        Self { bearers: plans.iter().map(|plan| SplitBearer::new(plan, run_seed)).collect(), sides: cells }
    }

    /// The port towards the UEs, below both legs.
    pub fn to_ues() -> Port {
        Port::of_pair(1, Dir::Downlink)
    }

    /// The port where the legs end, towards them.
    pub fn from_legs() -> Port {
        Port::of_pair(1, Dir::Uplink)
    }

    /// Pair of ports of a cell that gives packets back.
    pub fn side(cell: u16) -> u16 {
        2 + cell
    }

    fn bearer_of(&mut self, ue: u16) -> Option<(usize, &mut SplitBearer)> {
        self.bearers.iter_mut().enumerate().find(|(_, bearer)| bearer.ues.contains(&ue))
    }
}

impl SplitBearer {
    fn new(plan: &BearerPlan<'_>, run_seed: u64) -> Self {
        let Config { pdcp, downlink, uplink, .. } = plan.config;
        let ues = plan.legs.each_ref().map(|leg| leg.ue);
        let control =
            (downlink.flow_control && !downlink.duplication).then_some((downlink.buffer, downlink.report));
        let routing = match control {
            Some(_) => Routing::FlowControl,
            None => Routing::Alternate,
        };
        let requests = (!uplink.duplication).then_some((uplink.buffer, REQUESTS));
        let threshold = Routing::Threshold(uplink.threshold.map_or(u64::MAX, |bytes| bytes.as_u64()));
        let direction = |dir: Dir, queue: &crate::queue::Config, terms, rule, duplication| {
            let delays = |leg: &LegPlan| dir.pick(leg.delays, [Duration::ZERO; 2]);
            let legs = plan.legs.each_ref().map(|leg| Leg::new((leg.ue, dir), delays(leg), terms));
            let name = format!("split.ue{}.{}.queue", ues[0], dir.name());
            let place = Place { run_seed, name: &name, rate: Bitrate::default(), tti: Duration::ZERO };
            let line = Line::new(queue.build(&place), pdcp.discard_timer);
            Direction::new(dir, (legs, plan.primary), (rule, duplication), line, pdcp)
        };
        let mut changes: Vec<_> = plan
            .legs
            .iter()
            .enumerate()
            .flat_map(|(leg, own)| {
                own.absences.iter().flat_map(move |(from, to)| [(*from, leg, false), (*to, leg, true)])
            })
            .collect();
        changes.sort_by_key(|(at, leg, is_up)| std::cmp::Reverse((*at, *leg, !*is_up)));
        Self {
            name: plan.name.clone(),
            ues,
            directions: [
                direction(Dir::Downlink, &downlink.queue, control, routing, downlink.duplication),
                direction(Dir::Uplink, &uplink.queue, requests, threshold, uplink.duplication),
            ],
            changes,
        }
    }

    /// Arms what a call may have changed in a direction; timers of the bearer start at `first`.
    fn arm(&mut self, cx: &mut Cx<'_>, first: u32, dir: Dir) {
        let direction = &mut self.directions[dir.index()];
        match direction.expiry() {
            Instant::NEVER => cx.disarm(first + dir.index() as u32),
            at => cx.arm(first + dir.index() as u32, at),
        }
        for (timer, leg) in (first + SAMPLES + 2 * dir.index() as u32..).zip(&mut direction.legs) {
            if let Some(at) = leg.poll_sample(cx.now) {
                cx.arm(timer, at);
            }
        }
    }

    /// Applies due releases and additions. They precede other events at their instant, as in the cells.
    fn catch_up(&mut self, cx: &mut Cx<'_>) {
        while let Some((_, leg, is_up)) = self.changes.pop_if(|(at, ..)| *at <= cx.now) {
            self.directions.iter_mut().for_each(|direction| direction.set_leg(cx, leg, is_up));
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, first: u32, key: u32) {
        self.catch_up(cx);
        match key {
            CHANGES => self.arm_changes(cx, first),
            SAMPLES.. => {
                let dir = ((key - SAMPLES) / 2 % 2) as usize;
                let (direction, leg) = (&mut self.directions[dir], (key % 2) as usize);
                let of_leg = first + 2 * dir as u32 + leg as u32;
                let own = &mut direction.legs[leg];
                if key < REPORTS
                    && let Some(next) = own.sample(cx)
                {
                    cx.arm(of_leg + SAMPLES, next);
                }
                if let Some(arrival) = own.handle_reports(cx.now) {
                    cx.arm(of_leg + REPORTS, arrival);
                }
                direction.serve(cx);
            }
            dir => self.directions[dir as usize].handle_expiry(cx),
        }
        Dir::BOTH.into_iter().for_each(|dir| self.arm(cx, first, dir));
    }

    fn arm_changes(&self, cx: &mut Cx<'_>, first: u32) {
        if let Some((at, ..)) = self.changes.last() {
            cx.arm(first + CHANGES, *at);
        }
    }
}

impl Element for SplitBearers {
    fn layout(&self) -> Layout {
        Layout { timers: TIMERS * self.bearers.len() as u32, radio_events: true, ..Layout::default() }
    }

    fn ports(&self) -> Vec<Port> {
        (0..2 + self.sides).flat_map(|pair| Dir::BOTH.map(|dir| Port::of_pair(pair, dir))).collect()
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        for (first, bearer) in (0..).step_by(TIMERS as usize).zip(&self.bearers) {
            bearer.arm_changes(cx, first);
        }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        let Some((number, bearer)) = self.bearer_of(packet.ue) else {
            return cx.emit(port.through(), packet);
        };
        bearer.catch_up(cx);
        let direction = &mut bearer.directions[dir.index()];
        match port {
            Port::UP => direction.handle_sdu(cx, packet),
            Port::DOWN => direction.handle_pdu(cx, packet),
            port if port == Self::to_ues() => direction.handle_sdu(cx, packet),
            port if port == Self::from_legs() => direction.handle_pdu(cx, packet),
            _ => direction.handle_return(cx, packet),
        }
        bearer.arm(cx, number as u32 * TIMERS, dir);
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        if let Some(bearer) = self.bearers.get_mut((key / TIMERS) as usize) {
            bearer.handle_timer(cx, key / TIMERS * TIMERS, key % TIMERS);
        }
    }

    fn handle_radio(&mut self, _cx: &mut Cx<'_>, event: &RadioEvent) {
        if !matches!(event.kind, RadioEventKind::Enqueued | RadioEventKind::Dropped) {
            return;
        }
        if let Some((_, bearer)) = self.bearer_of(event.ue)
            && let Some(leg) =
                bearer.directions[event.dir.index()].legs.iter_mut().find(|leg| leg.ue == event.ue)
        {
            leg.note_arrival(event.len);
        }
    }

    fn handle_change(&mut self, _cx: &mut Cx<'_>, change: Change) -> bool {
        let Change::Fresh(fresh, how) = change else { return false };
        let Some(fresh) = as_same::<Self>(fresh) else { return false };
        let all = self.bearers.iter_mut().flat_map(|bearer| &mut bearer.directions);
        let each = all.zip(fresh.bearers.into_iter().flat_map(|bearer| bearer.directions));
        each.fold(false, |differs, (own, new)| own.adopt(new, how) | differs)
    }

    fn report(&self, _cx: &mut Cx<'_>) -> Value {
        let bearers = self.bearers.iter().map(|bearer| {
            let [downlink, uplink] = bearer.directions.each_ref().map(Direction::report);
            json!({ "name": bearer.name, "downlink": downlink, "uplink": uplink })
        });
        json!({ "element": "split_bearers", "bearers": bearers.collect::<Vec<_>>() })
    }
}
