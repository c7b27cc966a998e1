//! The link layer of a UE: an entity at the network and one at the UE, and the bearers between them.
//!
//! A cell decides when a TTI is filled and when it arrives; the effects on SDUs are handled here.

use super::rlc_bearer::{OF_TTIS, RlcBearer};
use crate::element::{Adopt, Cx};
use crate::packet::{Dir, Packet};
use crate::pdcp;
use crate::rlc::{self, End, Report, Tti};
use crate::time::Instant;
use crate::trace::{Kind, ProbeMask};
use airpath_prefetch::prefetch;
use serde_json::Value;

/// Probes of the outcome of PDUs.
const OF_PDUS: ProbeMask = ProbeMask::NONE.with(Kind::RlcData).with(Kind::RlcStatus);

/// The link layer of a UE.
pub(super) struct RlcPair {
    /// The entities, by the direction in which they send.
    ends: [Box<dyn End>; 2],
    bearers: [RlcBearer; 2],
    /// Per entity, the next expiry of receive timers that need no TTI.
    expiries: [Instant; 2],
    parameters: Box<Parameters>,
    /// Reports of entities that have been replaced, by the direction they sent in.
    replaced: [Vec<Value>; 2],
}

/// Parameters of the entities, downlink first.
struct Parameters {
    rlc: [rlc::Config; 2],
    pdcp: [pdcp::Config; 2],
}

impl Parameters {
    fn ends(&self) -> Option<[Box<dyn End>; 2]> {
        let ([downlink, uplink], [down, up]) = (&self.rlc, &self.pdcp);
        downlink.ends_with(uplink, [down, up])
    }
}

impl RlcPair {
    /// See [`Element::prefetch`](crate::element::Element::prefetch).
    pub fn prefetch(&self, depth: u8) {
        for (end, bearer) in self.ends.iter().zip(&self.bearers) {
            match depth {
                1 => {
                    prefetch(&**end);
                    bearer.sdus.prefetch();
                }
                2 => {
                    end.prefetch_inner();
                    bearer.sdus.prefetch_packets();
                }
                _ => {}
            }
        }
    }

    /// Downlink first; `None` if the link layers do not go together.
    pub fn new(rlc: [&rlc::Config; 2], pdcp: [&pdcp::Config; 2], bearers: [RlcBearer; 2]) -> Option<Self> {
        let parameters = Box::new(Parameters { rlc: rlc.map(Clone::clone), pdcp: pdcp.map(Clone::clone) });
        let (expiries, replaced) = ([Instant::NEVER; 2], Default::default());
        Some(Self { ends: parameters.ends()?, bearers, expiries, parameters, replaced })
    }

    /// Withdraws all packets that have not been delivered to the upper layer, downlink first.
    #[cold]
    pub fn withdraw(&mut self, cx: &mut Cx<'_>) -> [crate::radio::Packets; 2] {
        self.bearers.each_mut().map(|bearer| bearer.withdraw(cx))
    }

    /// Resumes with new entities after the UE has returned and its packets were withdrawn.
    #[cold]
    pub fn resume(&mut self) {
        let Some(ends) = self.parameters.ends() else { return };
        for (replaced, end) in self.replaced.iter_mut().zip(std::mem::replace(&mut self.ends, ends)) {
            replaced.push(end.report());
        }
        self.expiries = [Instant::NEVER; 2];
        let parameters = self.parameters.rlc.iter().zip(&self.parameters.pdcp);
        for (bearer, (rlc, pdcp)) in self.bearers.iter_mut().zip(parameters) {
            bearer.resume(rlc, pdcp);
        }
        let [down, up] = self.bearers.each_ref().map(RlcBearer::numbered_from);
        let [downlink, uplink] = &mut self.bearers;
        (downlink.reported_from, uplink.reported_from) = (up, down);
    }

    #[inline]
    pub fn bearers(&self) -> &[RlcBearer; 2] {
        &self.bearers
    }

    #[inline]
    pub fn bearer(&mut self, dir: Dir) -> &mut RlcBearer {
        &mut self.bearers[dir.index()]
    }

    /// Adopts the rates and limits of other bearers; returns whether any differs.
    #[cold]
    pub fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Self, how: Adopt) -> bool {
        let each = self.bearers.iter_mut().zip(fresh.bearers);
        each.fold(false, |differs, (own, new)| own.adopt(cx, new, how) | differs)
    }

    pub fn open(&self, cx: &mut Cx<'_>) {
        self.bearers.iter().for_each(|bearer| bearer.open(cx));
    }

    /// When the entity that sends in this direction needs a TTI.
    #[inline]
    pub fn deadline(&self, dir: Dir) -> Instant {
        self.ends[dir.index()].deadline()
    }

    /// A packet enters a buffer, or is dropped.
    #[inline(always)]
    pub fn handle_sdu(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        self.bearers[dir.index()].handle_sdu(cx, self.ends[dir.index()].as_mut(), packet);
    }

    /// Fills a TTI that starts now. [`settle_sent`](Self::settle_sent) has to follow.
    #[inline]
    pub fn build_tti(&mut self, cx: &mut Cx<'_>, dir: Dir, room: u64, tti: &mut Tti, report: &mut Report) {
        let (end, bearer) = (self.ends[dir.index()].as_mut(), &mut self.bearers[dir.index()]);
        let octets = room.saturating_mul(bearer.ttis.payload);
        bearer.feed(cx, end, octets);
        end.build_tti(cx.now, room, tti, report);
    }

    /// Fills a TTI, records and captures its PDUs, and settles the sending side. Whether the PDUs are lost is decided
    /// later.
    pub fn fill(&mut self, cx: &mut Cx<'_>, dir: Dir, room: u64, tti: &mut Tti, report: &mut Report) {
        self.build_tti(cx, dir, room, tti, report);
        self.send(cx, dir, tti, report);
    }

    /// Records and captures the PDUs of a TTI that [`build_tti`](Self::build_tti) has filled, and settles the sending
    /// side.
    pub fn send(&mut self, cx: &mut Cx<'_>, dir: Dir, tti: &Tti, report: &mut Report) {
        let bearer = self.bearer(dir);
        if cx.probes_any(OF_TTIS) || cx.captures_pdus() {
            bearer.note_beginning(report);
            bearer.note_ends(cx, tti);
            bearer.capture_pdus(cx, tti, tti, report);
        }
        bearer.counts.pdus_sent += tti.pdus();
        self.settle_sent(cx, dir, report);
    }

    /// Empties a TTI that is lost for good. Returns whether it marks ends of SDUs and must therefore be
    /// passed up anyway: only without retransmissions, see [`Ttis::retransmits`](rlc::Ttis::retransmits).
    pub fn lose(&mut self, cx: &mut Cx<'_>, dir: Dir, tti: &mut Tti) -> bool {
        let sent = cx.probes_any(OF_PDUS).then(|| tti.clone());
        let bearer = self.bearer(dir);
        bearer.counts.pdus_lost += tti.lose(|| true);
        if let Some(sent) = sent {
            bearer.note_outcomes(cx, &sent, tti);
        }
        !bearer.ttis.retransmits && !tti.data.ends.is_empty()
    }

    /// Backlog of the entity that sends in this direction.
    pub fn backlog(&self, now: Instant, dir: Dir) -> u64 {
        self.ends[dir.index()].backlog(now)
    }

    /// Whether the entity that sends in this direction has data to send now.
    pub fn has_backlog(&self, now: Instant, dir: Dir) -> bool {
        self.ends[dir.index()].has_backlog(now)
    }

    /// When the first timer of an entity ends that needs no TTI.
    #[inline]
    pub fn expiry(&self) -> Instant {
        let [network, ue] = self.expiries;
        network.min(ue)
    }

    /// Handles expired timers of the entities.
    #[inline]
    pub fn handle_expiry(&mut self, cx: &mut Cx<'_>, report: &mut Report) {
        for dir in Dir::BOTH {
            let place = dir.reverse().index();
            if self.expiries[place] <= cx.now {
                self.ends[place].handle_expiry(cx.now, report);
                self.expiries[place] = self.ends[place].expiry();
                self.bearers[dir.index()].settle_received(cx, report);
            }
        }
    }

    /// Re-establishes both entities: the UE changes the cell.
    pub fn re_establish(&mut self, cx: &mut Cx<'_>, report: &mut Report) {
        for dir in Dir::BOTH {
            self.ends[dir.index()].re_establish(cx.now, report);
            self.expiries[dir.index()] = self.ends[dir.index()].expiry();
            self.settle_sent(cx, dir, report);
            self.bearers[dir.reverse().index()].settle_received(cx, report);
        }
    }

    /// Settles the effects of filling a TTI.
    #[inline(always)]
    pub fn settle_sent(&mut self, cx: &mut Cx<'_>, dir: Dir, report: &mut Report) {
        self.bearers[dir.index()].settle_started(cx, report);
        if report.began_anew {
            self.note_beginning(dir, report);
        }
        self.settle_given_up(cx, dir, report);
        self.bearers[dir.index()].feed(cx, self.ends[dir.index()].as_mut(), 1);
    }

    /// The entity that sends in this direction has restarted: STATUS PDUs of the other entity report on its
    /// new numbers.
    #[cold]
    #[inline(never)]
    fn note_beginning(&mut self, dir: Dir, report: &Report) {
        let bearer = &mut self.bearers[dir.index()];
        bearer.note_beginning(report);
        let numbered_from = bearer.settle_beginning();
        self.bearers[dir.reverse().index()].reported_from = numbered_from;
    }

    /// Handles a TTI that arrives in this direction. Returns whether the deadline of the other direction may
    /// have changed.
    #[inline(always)]
    pub fn handle_tti(&mut self, cx: &mut Cx<'_>, dir: Dir, tti: &Tti, report: &mut Report) -> bool {
        let other = dir.reverse();
        let end = &mut self.ends[other.index()];
        let concerns_sender = end.handle_tti(cx.now, tti, report);
        self.expiries[other.index()] = end.expiry();
        self.bearers[dir.index()].settle_received(cx, report);
        if concerns_sender {
            if report.began_anew {
                self.note_beginning(other, report);
            }
            self.settle_given_up(cx, other, report);
        }
        concerns_sender
    }

    /// Settles what the entity that sends in this direction has done with SDUs.
    #[inline(always)]
    fn settle_given_up(&mut self, cx: &mut Cx<'_>, dir: Dir, report: &mut Report) {
        let is_final =
            report.is_final || !report.discarded.is_empty() && self.ends[dir.reverse().index()].is_dead();
        report.is_final = false;
        self.bearers[dir.index()].settle_sent(cx, report);
        if is_final {
            self.bearers[dir.index()].lose_given_up(cx);
            if self.ends[dir.index()].is_dead() {
                self.bearers[dir.reverse().index()].lose_given_up(cx);
            }
        }
    }

    /// Reports of the bearers, downlink first.
    pub fn reports(&self, cx: &mut Cx<'_>, most: [Option<f64>; 2]) -> [serde_json::Map<String, Value>; 2] {
        let [downlink, uplink] = &self.bearers;
        let [network, ue] = &self.ends;
        let mut reports = [
            downlink.report(cx, most[0], network.report(), ue.received()),
            uplink.report(cx, most[1], ue.report(), network.received()),
        ];
        for (report, replaced) in reports.iter_mut().zip(&self.replaced) {
            if !replaced.is_empty() {
                report.insert("rlc_before".into(), replaced.clone().into());
            }
        }
        reports
    }
}
