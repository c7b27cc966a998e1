//! Outages of UEs in a cell, as caused by hand-overs.
//!
//! With `bearers = "pause"`, neither direction of the UE starts a transmission during the outage. A
//! transmission that started before is completed, TTIs stay on their grid, buffers continue to admit packets,
//! and link layers stand still: expired timers are handled with the first TTI after the outage. With
//! `"lose"`, both sides continue to send, and a TTI, slot or packet is lost if any part of its transmission
//! overlaps the outage. The channel's random draws are made anyway. Subscribers are notified of both kinds
//! (`Layout::outages`).
//!
//! A UE that leaves the cell stands still from the outage on, with the data that its bearers hold. Where the
//! hand-over forwards, all packets that have not been delivered to the upper layer are withdrawn and leave
//! for the new cell in order; later packets follow them. Elsewhere they are dropped when the outage ends, later
//! packets at their arrival. A UE that enters stands still until the outage ends. If it was in the cell before,
//! its bearers are re-established. A cell without hand-overs is not wrapped, so it has no cost.

use crate::channel::Channel;
use crate::element::{
    Adopt, Change as ElementChange, Cx, Element, FAR, Layout, Outage, Port, RadioEvent, as_same,
};
use crate::handover::Measured;
use crate::handover::{Bearers, Config, Episode, Role};
use crate::packet::{Dir, Packet};
use crate::radio::Plan;
use crate::time::{Duration, Instant};
use crate::trace::{Event, Kind, Reason};
use crate::units::Bitrate;
use serde_json::{Value, json};
use std::any::Any;
use std::collections::BTreeMap;

/// A cell whose bearers can stand still.
pub(super) trait Pausable: Element {
    /// Starts no transmission of the UE, in either direction, from now until `until`.
    fn pause(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant);

    /// Withdraws all packets of a paused UE that have not been delivered to the upper layer, per direction,
    /// in order. Data in transmission is lost.
    fn withdraw(&mut self, cx: &mut Cx<'_>, ue: u16) -> [crate::radio::Packets; 2];

    /// Resumes a UE that has returned after its packets were withdrawn: link layers start with new entities
    /// at `at`, and neither direction starts a transmission before that.
    fn resume(&mut self, cx: &mut Cx<'_>, ue: u16, at: Instant);

    /// Neither direction of a UE starts a transmission before `until`, which may be earlier than in the call
    /// before. Link layers keep their state. Called only while no transmission of the UE is in progress.
    fn hold(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant);

    /// End of the latest transmission of a UE in either direction.
    fn sent_until(&self, ue: u16) -> Instant;

    /// Both directions of a UE have this rate from now on; that of their bearers with `None`.
    fn limit_rate(&mut self, ue: u16, rate: Option<Bitrate>) {
        let _ = (ue, rate);
    }

    /// Adopts the parameters of another cell of the same kind; returns whether any differs.
    fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Box<dyn Element>, how: Adopt) -> bool;
}

/// Wraps the cell with the hand-overs of its plan, and with outages that are started as changes.
pub(super) fn with_outages(cell: Box<dyn Pausable>, plan: &Plan<'_>) -> Box<dyn Element> {
    if plan.handovers.is_empty() && !plan.may_change {
        return cell;
    }
    let mut changes = Vec::new();
    let mut sides = 0;
    for Episode { handover, role, forward } in plan.handovers {
        let mut change = |at: Instant, phase, is_told, act| {
            changes.push(Change { at, phase, is_told, act, handover: handover.clone() });
        };
        sides = sides.max(forward.unwrap_or(0));
        let pauses = handover.bearers != Bearers::Lose;
        if let Some(measured) = handover.measured.filter(|_| *role != Role::Enter) {
            change(measured.at, Outage::Expected, false, Some(Act::Report(measured)));
        }
        if *role != Role::Enter && !handover.warning.is_zero() {
            change(handover.expected(), Outage::Expected, true, None);
        }
        let (during, after) = match role {
            Role::Stay => (pauses.then_some(Act::Pause), None),
            Role::Leave => {
                let leave = Act::Leave { forward: *forward };
                let after = if forward.is_none() { Some(Act::Abandon) } else { (!pauses).then_some(leave) };
                (pauses.then_some(leave), after)
            }
            Role::Release => (Some(Act::Leave { forward: *forward }), Some(Act::Enter)),
            Role::Enter => (Some(Act::Enter), None),
        };
        change(handover.begins(), Outage::Began, *role != Role::Enter, during);
        change(handover.ends(), Outage::Ended, *role != Role::Leave, after);
    }
    // At the same instant, an outage ends before another starts.
    let rank = |phase| match phase {
        Outage::Ended => 0,
        Outage::Expected => 1,
        Outage::Began => 2,
    };
    changes.sort_by_key(|change| (change.at, rank(change.phase), change.handover.ue));
    let timer = cell.layout().timers;
    Box::new(WithOutages { cell, changes, next: 0, timer, away: BTreeMap::new(), sides })
}

fn report(cx: &mut Cx<'_>, ue: u16, measured: Measured) {
    let Measured { cause: trigger, cells: [serving, target], rsrp_dbm, .. } = measured;
    let [serving_loss, target_loss] = rsrp_dbm.map(|dbm| (-1000.0 * dbm) as u32);
    cx.probe(Kind::Mobility, || Event::Mobility { ue, trigger, serving, target, serving_loss, target_loss });
}

struct Change {
    at: Instant,
    phase: Outage,
    /// Whether subscribers are notified: at a change of cell by one of the two cells.
    is_told: bool,
    act: Option<Act>,
    handover: Config,
}

/// Effect on a UE's bearers.
#[derive(Clone, Copy)]
enum Act {
    /// The UE has reported the outage, or its link has failed: no effect yet.
    Report(Measured),
    /// The bearers stand still until the outage ends.
    Pause,
    /// The bearers stand still from now on. `forward` is the pair of ports for forwarded packets, if any.
    Leave { forward: Option<u16> },
    /// The bearers stand still from now on, and what they hold is dropped.
    Abandon,
    /// The bearers stand still until the outage ends, and are re-established if the UE was here before.
    Enter,
    /// A pause without a planned end is over.
    Resume,
}

/// What becomes of the packets of a UE that has left the cell.
#[derive(Clone, Copy)]
enum Away {
    /// The bearers hold them.
    Held,
    /// They are dropped.
    Dropped,
    /// They leave by this pair of ports.
    Forwarded(u16),
}

struct WithOutages {
    cell: Box<dyn Pausable>,
    /// In order of time.
    changes: Vec<Change>,
    /// Index of the next change.
    next: usize,
    /// The timer after the cell's own timers.
    timer: u32,
    /// UEs that have left the cell.
    away: BTreeMap<u16, Away>,
    /// Index of the last pair of ports to another cell.
    sides: u16,
}

impl WithOutages {
    /// Applies due changes. A change precedes other events at its instant.
    fn catch_up(&mut self, cx: &mut Cx<'_>) {
        while let Some(change) = self.changes.get(self.next).filter(|change| change.at <= cx.now) {
            let Change { phase, is_told, act, ref handover, .. } = *change;
            let (ue, ends) = (handover.ue, handover.ends());
            self.next += 1;
            match act {
                Some(Act::Report(measured)) => report(cx, ue, measured),
                Some(Act::Pause) => self.cell.pause(cx, ue, ends),
                Some(Act::Leave { forward }) => self.leave(cx, ue, forward),
                Some(Act::Abandon) => self.abandon(cx, ue),
                Some(Act::Enter) => self.enter(cx, ue, ends),
                Some(Act::Resume) => self.cell.hold(cx, ue, cx.now),
                None => {}
            }
            if is_told {
                cx.outage(ue, phase);
            }
        }
    }

    fn leave(&mut self, cx: &mut Cx<'_>, ue: u16, forward: Option<u16>) {
        self.cell.pause(cx, ue, FAR);
        self.away.insert(ue, forward.map_or(Away::Held, Away::Forwarded));
        if let Some(side) = forward {
            for (dir, packets) in Dir::BOTH.into_iter().zip(self.cell.withdraw(cx, ue)) {
                packets.into_iter().for_each(|packet| cx.emit(Port::of_pair(side, dir), packet));
            }
        }
    }

    fn abandon(&mut self, cx: &mut Cx<'_>, ue: u16) {
        self.cell.pause(cx, ue, FAR);
        self.away.insert(ue, Away::Dropped);
        self.drop_held(cx, ue);
    }

    fn drop_held(&mut self, cx: &mut Cx<'_>, ue: u16) {
        for (dir, packets) in Dir::BOTH.into_iter().zip(self.cell.withdraw(cx, ue)) {
            packets.into_iter().for_each(|packet| cx.drop(dir, packet, Reason::CellChanged));
        }
    }

    fn enter(&mut self, cx: &mut Cx<'_>, ue: u16, ends: Instant) {
        if self.away.remove(&ue).is_none() {
            return self.cell.pause(cx, ue, ends);
        }
        self.drop_held(cx, ue);
        self.cell.resume(cx, ue, ends);
    }

    /// Starts an outage now, unless the UE is in one, is about to be in one, or is not in the cell. The cell is told of its
    /// beginning if the UE is here before it, and of its end if the UE is here after it.
    fn interrupt(&mut self, cx: &mut Cx<'_>, ue: u16, length: Duration, role: Role) -> bool {
        let (begins, ends) = (cx.now, (cx.now + length).min(FAR));
        let overlaps = |change: &Change| change.handover.ue == ue && change.handover.begins() < ends;
        let is_away = self.away.contains_key(&ue) && role != Role::Enter;
        if is_away || self.changes[self.next..].iter().any(overlaps) {
            return false;
        }
        let handover = Config {
            ue,
            at: begins.since(Instant::ZERO),
            outage: ends.since(begins),
            warning: Duration::ZERO,
            ..Config::default()
        };
        let change = |at, phase, is_told, act| Change { at, phase, is_told, act, handover: handover.clone() };
        self.changes.insert(self.next, change(begins, Outage::Began, role != Role::Enter, None));
        self.next += 1;
        let place = self.changes.partition_point(|other| other.at < ends);
        let after = (role == Role::Leave).then_some(Act::Abandon);
        self.changes.insert(place, change(ends, Outage::Ended, role != Role::Leave, after));
        match role {
            Role::Leave => self.leave(cx, ue, None),
            Role::Enter => self.enter(cx, ue, ends),
            Role::Stay | Role::Release => self.cell.pause(cx, ue, ends),
        }
        if role != Role::Enter {
            cx.outage(ue, Outage::Began);
        }
        self.arm(cx);
        true
    }

    /// Ends a pause: no transmission of the UE starts before the present one has ended.
    fn resume(&mut self, cx: &mut Cx<'_>, ue: u16) -> bool {
        let is_pause = |change: &Change| change.handover.ue == ue && change.at == FAR;
        let found = self.changes.iter().rposition(is_pause).filter(|place| *place >= self.next);
        let Some(mut end) = found.map(|place| self.changes.remove(place)) else { return false };
        let begins = end.handover.begins();
        end.at = cx.now.max(self.cell.sent_until(ue));
        end.handover.outage = end.at.since(begins);
        let is_begin = |change: &&mut Change| change.handover.ue == ue && change.handover.begins() == begins;
        if let Some(begin) = self.changes[..self.next].iter_mut().rfind(is_begin) {
            begin.handover.outage = end.handover.outage;
        }
        end.act = Some(Act::Resume);
        let place = self.next + self.changes[self.next..].partition_point(|other| other.at < end.at);
        self.changes.insert(place, end);
        self.catch_up(cx);
        self.arm(cx);
        true
    }

    fn arm(&self, cx: &mut Cx<'_>) {
        if let Some(change) = self.changes.get(self.next) {
            cx.arm(self.timer, change.at);
        }
    }
}

impl Element for WithOutages {
    fn layout(&self) -> Layout {
        let layout = self.cell.layout();
        // An outage can occur at any time.
        let (early, by_lanes) = Default::default();
        // Forwarded packets leave at once.
        let ahead = if self.sides > 0 { Default::default() } else { layout.ahead };
        Layout { timers: layout.timers + 1, timers_tell: false, early, by_lanes, ahead, ..layout }
    }

    fn ports(&self) -> Vec<Port> {
        let sides = (1..=self.sides).flat_map(|side| Dir::BOTH.map(|dir| Port::of_pair(side, dir)));
        self.cell.ports().into_iter().chain(sides).collect()
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        self.cell.handle_start(cx);
        self.arm(cx);
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        self.catch_up(cx);
        match self.away.get(&packet.ue) {
            Some(Away::Forwarded(side)) => cx.emit(Port::of_pair(*side, port.dir()), packet),
            Some(Away::Dropped) => cx.drop(port.dir(), packet, Reason::CellChanged),
            Some(Away::Held) | None => self.cell.handle_packet(cx, port, packet),
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        self.catch_up(cx);
        if key == self.timer {
            self.arm(cx);
        } else {
            self.cell.handle_timer(cx, key);
        }
    }

    fn handle_radio(&mut self, cx: &mut Cx<'_>, event: &RadioEvent) {
        self.cell.handle_radio(cx, event);
    }

    fn handle_capture(&mut self, cx: &mut Cx<'_>) {
        self.cell.handle_capture(cx);
    }

    fn handle_change(&mut self, cx: &mut Cx<'_>, change: ElementChange) -> bool {
        self.catch_up(cx);
        match change {
            ElementChange::Outage { ue, length } => self.interrupt(cx, ue, length, Role::Stay),
            ElementChange::Pause { ue } => self.interrupt(cx, ue, FAR.since(Instant::ZERO), Role::Stay),
            ElementChange::Resume { ue } => self.resume(cx, ue),
            ElementChange::Leave { ue, length } => self.interrupt(cx, ue, length, Role::Leave),
            ElementChange::Enter { ue, length } => self.interrupt(cx, ue, length, Role::Enter),
            ElementChange::Reroute { .. } => false,
            ElementChange::Fresh(fresh, how) => {
                as_same::<Self>(fresh).is_some_and(|fresh| self.cell.adopt(cx, fresh.cell, how))
            }
        }
    }

    fn report(&self, cx: &mut Cx<'_>) -> Value {
        let mut report = self.cell.report(cx);
        let now = cx.now;
        let is_begin = |change: &&Change| change.phase == Outage::Began && change.is_told;
        let begun = self.changes[..self.next].iter().filter(is_begin);
        let outages: Vec<_> = begun
            .map(|Change { handover, .. }| {
                // A pause may still last.
                let lasts = handover.ends() == FAR;
                let length = if lasts { now.since(handover.begins()) } else { handover.outage };
                let mut outage = json!({
                    "ue": handover.ue,
                    "at_s": handover.at.as_secs_f64(),
                    "outage_s": length.as_secs_f64(),
                    "bearers": handover.bearers,
                });
                if let Some(measured) = handover.measured {
                    outage["cause"] = measured.cause.name().into();
                    handover.to.iter().for_each(|to| outage["to"] = to.as_str().into());
                }
                outage
            })
            .collect();
        report["outages"] = outages.into();
        report
    }
}

/// Silences: periods in which nothing sent by or to a UE arrives.
#[derive(Clone, Default)]
pub(super) struct Silences(Vec<(Instant, Instant)>);

impl Silences {
    /// Silences of a UE.
    pub fn of(handovers: &[Episode], ue: u16) -> Self {
        let here = handovers.iter().filter(|episode| episode.role != Role::Enter);
        let mine = here.map(|episode| &episode.handover).filter(|handover| handover.ue == ue);
        let lost = mine.filter(|handover| handover.bearers == Bearers::Lose);
        Self(lost.map(|handover| (handover.begins(), handover.ends())).collect())
    }

    /// Whether a transmission that took this time and ends now overlaps a silence.
    pub fn cover(&self, took: Duration, now: Instant) -> bool {
        self.0.iter().any(|&(begins, ends)| begins < now && now < ends + took)
    }

    /// The channel with these silences, for transmissions that take this time.
    pub fn over(self, channel: Box<dyn Channel>, air: Duration) -> Box<dyn Channel> {
        if self.0.is_empty() { channel } else { Box::new(Silenced { channel, air, silences: self }) }
    }
}

/// A channel of blocks that loses every block whose transmission overlaps a silence.
struct Silenced {
    channel: Box<dyn Channel>,
    air: Duration,
    silences: Silences,
}

impl Channel for Silenced {
    fn block_lost(&mut self, now: Instant) -> bool {
        self.channel.block_lost(now) | self.silences.cover(self.air, now)
    }

    fn adopt(&mut self, now: Instant, fresh: Box<dyn Channel>, how: Adopt) -> bool {
        let fresh = (fresh as Box<dyn Any>).downcast::<Self>();
        fresh.is_ok_and(|fresh| self.channel.adopt(now, fresh.channel, how))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_covers_what_is_on_the_air_for_any_part_of_it() {
        let ms = |millis| Instant::ZERO + Duration::from_millis(millis);
        let silences = Silences(vec![(ms(100), ms(200))]);
        let covers = |end| silences.cover(Duration::from_millis(10), ms(end));
        // From 90 to 100 ms, the transmission ends when the silence starts; from 200 ms on, the silence has
        // ended.
        assert_eq!([100, 101, 209, 210].map(covers), [false, true, true, false]);
    }
}
