//! The bearers of a UE: the default one, and maybe a second one with its own queues, PDCP and RLC.
//!
//! MAC puts PDUs of both into the same block (logical channel prioritisation, TS 38.321 §5.4.3.1). The second
//! bearer comes first, and uses at most its share of the block while the default bearer has data for the
//! rest.
//!
//! The second bearer carries the packets of selected flows, or packets with ECT(1) or CE. Once a flow uses it
//! in one direction, it uses it in both (reflective mapping, TS 23.501 §5.7.5.3), so ACKs of L4S flows take
//! the same bearer.
//!
//! Everything else about a UE depends on its default bearer: [`Bearers`] dereferences to it.

use super::Packets;
use super::rlc_bearer::OF_TTIS;
use super::rlc_pair::RlcPair;
use crate::element::{Adopt, Cx};
use crate::packet::{Dir, Packet};
use crate::rlc::{Report, Tti};
use crate::time::{Duration, Instant};
use serde_json::{Map, Value};
use std::ops::{Deref, DerefMut};

/// Selects the packets of a second bearer.
#[derive(Clone, Debug, Default)]
pub(super) struct Selector {
    /// Whether it selects packets with ECT(1) or CE, and all later packets of their flows.
    pub l4s: bool,
    /// Selected flows: one bit per flow ID.
    flows: Vec<u64>,
}

impl Selector {
    pub fn new(l4s: bool, flows: &[u16]) -> Self {
        let mut selector = Self { l4s, flows: Vec::new() };
        flows.iter().for_each(|flow| selector.add(*flow));
        selector
    }

    fn add(&mut self, flow: u16) {
        let place = usize::from(flow / 64);
        if self.flows.len() <= place {
            self.flows.resize(place + 1, 0);
        }
        self.flows[place] |= 1 << (flow % 64);
    }

    fn has(&self, flow: u16) -> bool {
        self.flows.get(usize::from(flow / 64)).is_some_and(|flows| flows & (1 << (flow % 64)) != 0)
    }

    fn takes(&mut self, packet: &Packet) -> bool {
        if self.l4s && matches!(packet.ecn(), Packet::ECT_1 | Packet::CE) {
            self.add(packet.flow);
        }
        self.has(packet.flow)
    }
}

/// A bearer in addition to the default one.
pub(super) struct Second {
    pub pair: RlcPair,
    pub selector: Selector,
    /// Share of a block that the second bearer may use while the default bearer needs the rest.
    pub share: f64,
}

/// The bearers of a UE.
pub(super) struct Bearers {
    first: RlcPair,
    second: Option<Box<Second>>,
}

impl From<RlcPair> for Bearers {
    fn from(first: RlcPair) -> Self {
        Self { first, second: None }
    }
}

impl Deref for Bearers {
    type Target = RlcPair;

    #[inline]
    fn deref(&self) -> &RlcPair {
        &self.first
    }
}

impl DerefMut for Bearers {
    #[inline]
    fn deref_mut(&mut self) -> &mut RlcPair {
        &mut self.first
    }
}

impl Bearers {
    /// Adds a second bearer.
    pub fn with_second(self, second: Second) -> Self {
        Self { second: Some(Box::new(second)), ..self }
    }

    /// The second bearer.
    pub fn second(&self) -> Option<&RlcPair> {
        self.second.as_ref().map(|second| &second.pair)
    }

    fn second_mut(&mut self) -> Option<&mut RlcPair> {
        self.second.as_mut().map(|second| &mut second.pair)
    }

    /// Adopts the parameters of other bearers; returns whether any differs.
    #[cold]
    pub fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Self, how: Adopt) -> bool {
        let second = match (self.second_mut(), fresh.second) {
            (Some(own), Some(fresh)) => own.adopt(cx, fresh.pair, how),
            _ => false,
        };
        self.first.adopt(cx, fresh.first, how) | second
    }

    pub fn open(&self, cx: &mut Cx<'_>) {
        self.first.open(cx);
        self.second().iter().for_each(|second| second.open(cx));
    }

    /// Withdraws all packets that have not been delivered to the upper layer, downlink first.
    #[cold]
    pub fn withdraw(&mut self, cx: &mut Cx<'_>) -> [Packets; 2] {
        let mut packets = self.first.withdraw(cx);
        if let Some(second) = self.second_mut() {
            packets.iter_mut().zip(second.withdraw(cx)).for_each(|(all, others)| all.extend(others));
        }
        packets
    }

    #[cold]
    pub fn resume(&mut self) {
        self.first.resume();
        self.second_mut().into_iter().for_each(RlcPair::resume);
    }

    /// When an entity that sends in this direction next needs a TTI.
    #[inline]
    pub fn deadline(&self, dir: Dir) -> Instant {
        let first = self.first.deadline(dir);
        self.second().map_or(first, |second| first.min(second.deadline(dir)))
    }

    /// A packet enters the buffer of its bearer, or is dropped.
    #[inline(always)]
    pub fn handle_sdu(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        if let Some(second) = &mut self.second
            && second.selector.takes(&packet)
        {
            return second.pair.handle_sdu(cx, dir, packet);
        }
        self.first.handle_sdu(cx, dir, packet);
    }

    /// Backlog of the entities that send in this direction.
    pub fn backlog(&self, now: Instant, dir: Dir) -> u64 {
        let first = self.first.backlog(now, dir);
        self.second().map_or(first, |second| first.saturating_add(second.backlog(now, dir)))
    }

    /// Whether there is a backlog.
    pub fn has_backlog(&self, now: Instant, dir: Dir) -> bool {
        self.first.has_backlog(now, dir) || self.second().is_some_and(|second| second.has_backlog(now, dir))
    }

    /// Backlog including packets held by queue disciplines, where the entities have `own`.
    pub fn with_held(&self, cx: &mut Cx<'_>, dir: Dir, own: u64) -> u64 {
        match self.second() {
            None => self.first.bearers()[dir.index()].with_held(cx, own),
            Some(second) => {
                let now = cx.now;
                let [one, other] = [&self.first, second]
                    .map(|pair| pair.bearers()[dir.index()].with_held(cx, pair.backlog(now, dir)));
                one.saturating_add(other)
            }
        }
    }

    /// Fills a TTI, records and captures its PDUs, and settles the sending side.
    #[inline]
    pub fn fill(&mut self, cx: &mut Cx<'_>, dir: Dir, room: u64, tti: &mut Tti, report: &mut Report) {
        let left = match &mut self.second {
            None => room,
            Some(second) => room - second.fill(cx, dir, room, self.first.backlog(cx.now, dir), tti, report),
        };
        self.first.fill(cx, dir, left, tti, report);
    }

    /// A TTI arrives that was sent in this direction.
    #[inline]
    pub fn handle_tti(&mut self, cx: &mut Cx<'_>, dir: Dir, tti: &Tti, report: &mut Report) {
        if let (Some(second), Some(other)) = (&mut self.second, &tti.other) {
            second.pair.handle_tti(cx, dir, other, report);
        }
        self.first.handle_tti(cx, dir, tti, report);
    }

    /// Removes the second bearer's part of a TTI, which is lost.
    pub fn lose_second(&mut self, cx: &mut Cx<'_>, dir: Dir, tti: &mut Tti, report: &mut Report) {
        let (Some(pair), Some(mut other)) = (self.second_mut(), tti.other.take()) else { return };
        if pair.lose(cx, dir, &mut other) {
            pair.handle_tti(cx, dir, &other, report);
        }
    }

    /// Records the outcome of the PDUs of a TTI that arrives.
    pub fn note_arrives(&mut self, cx: &mut Cx<'_>, dir: Dir, tti: &Tti) {
        if cx.probes_any(OF_TTIS) {
            self.first.bearer(dir).note_outcomes(cx, tti, tti);
            if let (Some(second), Some(other)) = (self.second_mut(), &tti.other) {
                second.bearer(dir).note_outcomes(cx, other, other);
            }
        }
    }

    /// Excludes `wait` from the queueing delay of this direction.
    pub fn excuse(&mut self, dir: Dir, wait: Duration) {
        self.first.bearer(dir).buffer.excuse(wait);
        if let Some(second) = self.second_mut() {
            second.bearer(dir).buffer.excuse(wait);
        }
    }

    /// When the first timer of an entity ends that needs no TTI.
    #[inline]
    pub fn expiry(&self) -> Instant {
        let first = self.first.expiry();
        self.second().map_or(first, |second| first.min(second.expiry()))
    }

    /// Handles expired timers.
    #[inline]
    pub fn handle_expiry(&mut self, cx: &mut Cx<'_>, report: &mut Report) {
        self.first.handle_expiry(cx, report);
        if let Some(second) = self.second_mut() {
            second.handle_expiry(cx, report);
        }
    }

    /// Re-establishes all entities: the UE changes the cell.
    pub fn re_establish(&mut self, cx: &mut Cx<'_>, report: &mut Report) {
        self.first.re_establish(cx, report);
        if let Some(second) = self.second_mut() {
            second.re_establish(cx, report);
        }
    }

    /// Bytes that entered in the downlink.
    pub fn bytes_in(&self) -> u64 {
        let of = |pair: &RlcPair| pair.bearers()[0].buffer.bytes_in();
        of(&self.first) + self.second().map_or(0, of)
    }

    /// Bytes that arrived in the downlink.
    pub fn bytes_delivered(&self) -> u64 {
        let of = |pair: &RlcPair| pair.bearers()[0].bytes_delivered();
        of(&self.first) + self.second().map_or(0, of)
    }

    /// Reports of the default bearer, downlink first, with those of the second below `second`. `most`: bytes that the UE
    /// could have had in each direction, if that is not what its bearers' rates say.
    pub fn reports(&self, cx: &mut Cx<'_>, most: [Option<f64>; 2]) -> [Map<String, Value>; 2] {
        let mut reports = self.first.reports(cx, most);
        if let Some(second) = self.second() {
            let of_second = second.reports(cx, most);
            for (report, further) in reports.iter_mut().zip(of_second) {
                report.insert("second".into(), further.into());
            }
        }
        reports
    }
}

impl Second {
    /// Fills the second bearer's part of a TTI with `room`; the default bearer would use `rest` of it.
    /// Returns the room used.
    fn fill(
        &mut self,
        cx: &mut Cx<'_>,
        dir: Dir,
        room: u64,
        rest: u64,
        tti: &mut Tti,
        report: &mut Report,
    ) -> u64 {
        if self.pair.backlog(cx.now, dir) == 0 {
            return 0;
        }
        let own = ((room as f64 * self.share) as u64).max(room.saturating_sub(rest));
        let mut other = Box::<Tti>::default();
        self.pair.build_tti(cx, dir, own, &mut other, report);
        // The rest of the block is the default bearer's.
        let used = if other.is_empty() { 0 } else { own - other.nr.left };
        other.nr.room = used;
        self.pair.send(cx, dir, &other, report);
        if used > 0 {
            tti.other = Some(other);
        }
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_stays_on_the_bearer_that_it_was_seen_on() {
        let packet = |flow, ecn| {
            let mut packet = Packet { flow, ..Packet::default() };
            packet.set_ecn(ecn);
            packet
        };
        let mut l4s = Selector::new(true, &[70]);
        assert!(!l4s.takes(&packet(3, Packet::ECT_0)) && !l4s.takes(&packet(3, 0)));
        assert!(l4s.takes(&packet(3, Packet::ECT_1)));
        // ACKs of these flows too, though they cannot be marked.
        assert!(l4s.takes(&packet(3, 0)) && l4s.takes(&packet(70, 0)) && !l4s.takes(&packet(67, 0)));
        let mut flows = Selector::new(false, &[1]);
        assert!(!flows.takes(&packet(0, Packet::ECT_1)) && flows.takes(&packet(1, 0)));
    }
}
