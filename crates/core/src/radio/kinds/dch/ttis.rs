//! Dedicated channels whose link layer is based on TTIs: entities at the network and at each UE, and the PDUs
//! between them.
//!
//! ```text
//! network:  SDU buffer -> entity -> TTI -> channel -> entity -> packets      UE      downlink
//!               packets <- entity <- channel <- TTI <- entity <- SDU buffer          uplink
//! ```
//!
//! The two bearers of a UE share a timer. It is set to the next arrival, or to the next TTI that an entity
//! needs. A TTI that arrives at the start of another TTI is processed first.

use super::config::{BearerConfig, Config};
use crate::element::{Adopt, Cx, Element, Layout, Port, as_same};
use crate::packet::{Dir, Packet};
use crate::radio::Plan;
use crate::radio::buffer::{cell_layout, cell_report};
use crate::radio::mac::Work;
use crate::radio::mac::carrier::Carrier;
use crate::radio::outages::{Pausable, Silences};
use crate::radio::rlc_bearer::RlcBearer;
use crate::radio::rlc_pair::RlcPair;
use crate::rlc::Ttis;
use crate::time::Instant;
use crate::trace::{Kind, Reason};
use crate::units::Bitrate;
use airpath_prefetch::prefetch;

/// A cell of such channels; `None` if the link layer of its bearers does not go by TTIs.
pub(super) fn build(config: &Config, plan: &Plan<'_>) -> Option<Box<dyn Pausable>> {
    let mut users = Vec::new();
    for ue in config.ues_from(plan.first_ue) {
        let [downlink, uplink] = Dir::BOTH.map(|dir| config.bearer_of(plan.class(ue), dir));
        let [down_pdcp, up_pdcp] = [downlink, uplink].map(|bearer| bearer.pdcp.clone().unwrap_or_default());
        let (down, up) = (downlink.rlc.ttis()?, uplink.rlc.ttis()?);
        let bearers =
            [bearer(downlink, down, plan, ue, Dir::Downlink), bearer(uplink, up, plan, ue, Dir::Uplink)];
        let carriers =
            [carrier(downlink, down, plan, ue, Dir::Downlink), carrier(uplink, up, plan, ue, Dir::Uplink)];
        let pair = RlcPair::new([&downlink.rlc, &uplink.rlc], [&down_pdcp, &up_pdcp], bearers)?;
        users.push(Ue { pair, carriers, armed: Instant::NEVER });
    }
    Some(Box::new(TtiCell { users, first_ue: plan.first_ue, work: Work::default() }))
}

fn bearer(config: &BearerConfig, ttis: Ttis, plan: &Plan<'_>, ue: u16, dir: Dir) -> RlcBearer {
    let pdcp = config.pdcp.clone().unwrap_or_default();
    RlcBearer::new((&config.queue, &config.rlc, ttis), (config.rate, config.delay), plan, ue, dir)
        .with_pdcp(&config.rlc, &pdcp)
}

fn carrier(config: &BearerConfig, ttis: Ttis, plan: &Plan<'_>, ue: u16, dir: Dir) -> Carrier {
    let channel = config.channel.build(plan.run_seed, &format!("ue{ue}.{}.channel", dir.name()));
    Carrier::dedicated(config.rate, ttis, Silences::of(plan.handovers, ue).over(channel, ttis.tti))
}

struct TtiCell {
    users: Vec<Ue>,
    /// The first of these UEs.
    first_ue: u16,
    /// Reused from call to call; empty between calls.
    work: Work,
}

/// The bearers of a UE.
struct Ue {
    pair: RlcPair,
    carriers: [Carrier; 2],
    /// Time that the timer is set to.
    armed: Instant,
}

impl Ue {
    fn handle_sdu(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        self.pair.handle_sdu(cx, dir, packet);
        if !self.carriers[dir.index()].is_next(cx.now) {
            self.plan(cx.now, dir);
            self.arm(cx);
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, work: &mut Work) {
        self.armed = Instant::NEVER;
        if cx.probes(Kind::SlotEnded) {
            let bearers = self.pair.bearers();
            self.carriers
                .iter_mut()
                .zip(bearers)
                .for_each(|(carrier, bearer)| carrier.note_ended(cx, bearer));
        }
        self.handle_arrivals(cx, Dir::Downlink, work);
        self.handle_arrivals(cx, Dir::Uplink, work);
        if self.pair.expiry() <= cx.now {
            self.pair.handle_expiry(cx, &mut work.report);
        }
        for dir in Dir::BOTH {
            if self.carriers[dir.index()].next_tti <= cx.now {
                self.handle_tti_start(cx, dir, work);
            }
        }
        self.arm(cx);
    }

    #[inline]
    fn handle_arrivals(&mut self, cx: &mut Cx<'_>, dir: Dir, work: &mut Work) {
        while self.carriers[dir.index()].next_arrival <= cx.now {
            self.handle_arrival(cx, dir, work);
        }
    }

    #[inline(never)]
    fn handle_arrival(&mut self, cx: &mut Cx<'_>, dir: Dir, work: &mut Work) {
        let Some(tti) = self.carriers[dir.index()].take_arrived(cx.now) else { return };
        let may_have_changed = self.pair.handle_tti(cx, dir, &tti, &mut work.report);
        work.spare.keep(tti);
        // A TTI of the other direction that starts now is filled in any case.
        let other = dir.reverse();
        if may_have_changed && self.carriers[other.index()].next_tti > cx.now {
            self.plan(cx.now, other);
        }
    }

    #[inline(never)]
    fn handle_tti_start(&mut self, cx: &mut Cx<'_>, dir: Dir, work: &mut Work) {
        let carrier = &mut self.carriers[dir.index()];
        let mut tti = work.spare.take();
        self.pair.build_tti(cx, dir, carrier.room, &mut tti, &mut work.report);
        let is_empty = tti.is_empty();
        if is_empty {
            work.spare.keep(tti);
        } else {
            carrier.transmit(cx, self.pair.bearer(dir), tti, work);
        }
        self.pair.settle_sent(cx, dir, &mut work.report);
        if is_empty && self.pair.deadline(dir) <= cx.now {
            self.carriers[dir.index()].skip(cx.now);
        }
        self.plan(cx.now, dir);
    }

    /// Starts no TTI before `until`; a TTI in progress continues.
    #[cold]
    fn pause(&mut self, cx: &mut Cx<'_>, until: Instant) {
        for dir in Dir::BOTH {
            self.carriers[dir.index()].pause(until);
            self.plan(cx.now, dir);
        }
        self.arm(cx);
    }

    #[cold]
    fn withdraw(&mut self, cx: &mut Cx<'_>) -> [crate::radio::Packets; 2] {
        self.carriers.iter_mut().for_each(Carrier::flush);
        self.pair.withdraw(cx)
    }

    #[cold]
    fn resume(&mut self, cx: &mut Cx<'_>, at: Instant) {
        self.pair.resume();
        for dir in Dir::BOTH {
            self.carriers[dir.index()].resume(at);
            self.plan(cx.now, dir);
        }
        self.arm(cx);
    }

    /// No TTI starts before `until`.
    #[cold]
    fn hold(&mut self, cx: &mut Cx<'_>, until: Instant) {
        for dir in Dir::BOTH {
            self.carriers[dir.index()].hold(until);
            self.plan(cx.now, dir);
        }
        self.arm(cx);
    }

    #[cold]
    fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Self, how: Adopt) -> bool {
        let pairs = self.pair.adopt(cx, fresh.pair, how);
        let each = self.carriers.iter_mut().zip(fresh.carriers);
        each.fold(pairs, |differs, (own, new)| own.adopt(cx.now, new, how) | differs)
    }

    /// Finds the next TTI of a direction after a change in its sending entity.
    #[inline]
    fn plan(&mut self, now: Instant, dir: Dir) {
        let wanted = self.pair.deadline(dir);
        self.carriers[dir.index()].plan(now, wanted);
    }

    /// Sets the timer to the next TTI or arrival.
    fn arm(&mut self, cx: &mut Cx<'_>) {
        let [downlink, uplink] = &self.carriers;
        let mut at = downlink.next_event().min(uplink.next_event()).min(self.pair.expiry());
        if cx.probes(Kind::SlotEnded) {
            at = at.min(downlink.next_end()).min(uplink.next_end());
        }
        if at == self.armed {
            return;
        }
        self.armed = at;
        let timer = self.pair.bearers()[0].buffer.index();
        if at == Instant::NEVER {
            cx.disarm(timer);
        } else {
            cx.arm(timer, at);
        }
    }
}

impl TtiCell {
    /// A UE; `None` if it is not in the cell.
    fn user(&mut self, ue: u16) -> Option<&mut Ue> {
        self.users.get_mut(usize::from(ue.wrapping_sub(self.first_ue)))
    }
}

impl Pausable for TtiCell {
    fn pause(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant) {
        if let Some(user) = self.user(ue) {
            user.pause(cx, until);
        }
    }

    fn withdraw(&mut self, cx: &mut Cx<'_>, ue: u16) -> [crate::radio::Packets; 2] {
        self.user(ue).map(|user| user.withdraw(cx)).unwrap_or_default()
    }

    fn resume(&mut self, cx: &mut Cx<'_>, ue: u16, at: Instant) {
        if let Some(user) = self.user(ue) {
            user.resume(cx, at);
        }
    }

    fn hold(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant) {
        if let Some(user) = self.user(ue) {
            user.hold(cx, until);
        }
    }

    fn sent_until(&self, ue: u16) -> Instant {
        let user = self.users.get(usize::from(ue.wrapping_sub(self.first_ue)));
        let latest = |own: &Ue| own.carriers.iter().map(|carrier| carrier.sent_until).max();
        user.and_then(latest).unwrap_or(Instant::ZERO)
    }

    fn limit_rate(&mut self, ue: u16, rate: Option<Bitrate>) {
        let carriers = self.user(ue).map(|user| &mut user.carriers);
        carriers.into_iter().flatten().for_each(|carrier| carrier.limit_rate(rate));
    }

    fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Box<dyn Element>, how: Adopt) -> bool {
        let Some(fresh) = as_same::<Self>(fresh) else { return false };
        let each = self.users.iter_mut().zip(fresh.users);
        each.fold(false, |differs, (own, new)| own.adopt(cx, new, how) | differs)
    }
}

impl Element for TtiCell {
    fn prefetch(&self, depth: u8) {
        if depth == 0 {
            return prefetch(&self.users[..]);
        }
        self.work.spare.prefetch(depth);
        for Ue { pair, carriers, .. } in &self.users {
            pair.prefetch(depth);
            carriers.iter().for_each(|carrier| carrier.prefetch(depth));
        }
    }

    fn layout(&self) -> Layout {
        cell_layout(self.users.iter().flat_map(|ue| ue.pair.bearers().iter().map(|bearer| &bearer.buffer)))
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        self.users.iter().for_each(|ue| ue.pair.open(cx));
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        match self.user(packet.ue) {
            Some(ue) => ue.handle_sdu(cx, dir, packet),
            None => cx.drop(dir, packet, Reason::UnknownUe),
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        self.users[key as usize / 2].handle_timer(cx, &mut self.work);
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let reports = self.users.iter().flat_map(|ue| ue.pair.reports(cx, [None, None])).map(Into::into);
        let reports: Vec<serde_json::Value> = reports.collect();
        cell_report("radio.dch", &reports)
    }
}
