//! Dedicated channels whose link layer goes by TTIs: entities at the network and at each UE, and the PDUs
//! between them.
//!
//! ```text
//! network:  SDU buffer -> entity -> TTI -> channel -> entity -> packets      UE      downlink
//!               packets <- entity <- channel <- TTI <- entity <- SDU buffer          uplink
//! ```
//!
//! TTIs of a direction lie on a grid. One that starts at `t` arrives at `t` + its length + the delay of the
//! bearer, if the channel lets it; the channel is asked for the moment at which it ends. A UE's two bearers
//! share a timer, which stands at the next arrival, or at the next TTI that an entity wants: idle TTIs cost
//! nothing. What arrives at the instant at which a TTI starts arrives before.
//!
//! Entities know SDUs by number; the packets are here ([`Sdus`]). An SDU counts as held by the buffer until its
//! entity is done with it, in acknowledged mode until it is acknowledged. The packet leaves at the other side when
//! it is handed up there: before that, or after it if the entity there waits for another SDU.

use super::config::{BearerConfig, Config};
use super::pdu_capture::PduCapture;
use crate::channel::Channel;
use crate::element::{Cx, Element, Layout, RadioEventKind};
use crate::packet::{Dir, Packet};
use crate::radio::Plan;
use crate::radio::buffer::{Buffer, Delivered, cell_layout, cell_report, report_service, share};
use crate::radio::outages::{Pausable, Silences};
use crate::rlc::control::Control;
use crate::rlc::{End, Errors, Report, Tti, Ttis};
use crate::time::Instant;
use crate::trace::{Event, Kind, ProbeMask, Reason};
use crate::units::Bitrate;
use std::collections::VecDeque;

/// Probes of what a TTI has in it.
const OF_TTIS: ProbeMask =
    ProbeMask::NONE.with(Kind::RlcData).with(Kind::RlcSdu).with(Kind::RlcStatus).with(Kind::SlotEnded);

/// A cell of such channels; `None` if the link layer of its bearers does not go by TTIs.
pub(super) fn build(config: &Config, plan: &Plan<'_>) -> Option<Box<dyn Pausable>> {
    let mut pairs = Vec::new();
    for ue in 0..config.ues {
        let [downlink, uplink] = Dir::BOTH.map(|dir| config.bearer_of(plan.class(ue), dir));
        let ends = downlink.rlc.ends(&uplink.rlc)?;
        let lines = [
            Line::new(downlink, downlink.rlc.ttis()?, plan, ue, Dir::Downlink),
            Line::new(uplink, uplink.rlc.ttis()?, plan, ue, Dir::Uplink),
        ];
        pairs.push(Pair { ends, lines, armed: Instant::NEVER });
    }
    Some(Box::new(TtiCell { pairs, report: Report::default() }))
}

struct TtiCell {
    pairs: Vec<Pair>,
    /// Reused from call to call; empty between calls.
    report: Report,
}

/// The bearers of a UE.
struct Pair {
    /// The entities, by the direction in which they send.
    ends: [Box<dyn End>; 2],
    lines: [Line; 2],
    /// What the timer is set to.
    armed: Instant,
}

/// One direction.
struct Line {
    buffer: Buffer,
    rate: Bitrate,
    ttis: Ttis,
    pdus_per_tti: u64,
    channel: Box<dyn Channel>,
    sdus: Sdus,
    /// End of the last TTI used.
    free_at: Instant,
    /// The next TTI that the sending entity wants.
    next_tti: Instant,
    /// The TTI that is on the air, while somebody wants to know of its end.
    ending: Option<Ending>,
    /// The first SDU whose end was not on the air yet, as far as probes look on.
    next_ended: u64,
    /// TTIs on their way with their time of arrival, earliest first.
    on_air: VecDeque<(Instant, Box<Tti>)>,
    /// Kept for their memory.
    #[allow(clippy::vec_box)]
    spare: Vec<Box<Tti>>,
    occupancy: Occupancy,
    counts: Counts,
    capture: PduCapture,
}

/// The end of a TTI, and its PDUs.
struct Ending {
    at: Instant,
    pdus_sent: u32,
    pdus_lost: u32,
}

#[derive(Default)]
struct Counts {
    ttis: u64,
    pdus_sent: u64,
    pdus_lost: u64,
    sdus_lost: u64,
    delivered: Delivered,
}

/// Time integral of the SDUs in a buffer.
#[derive(Default)]
struct Occupancy {
    sdus: u32,
    since: Instant,
    sdu_ns: u128,
}

impl Occupancy {
    fn set(&mut self, now: Instant, sdus: u32) {
        self.sdu_ns += u128::from(self.sdus) * u128::from(now.since(self.since).as_nanos());
        (self.sdus, self.since) = (sdus, now);
    }

    fn mean(&self, now: Instant) -> f64 {
        let last = u128::from(self.sdus) * u128::from(now.since(self.since).as_nanos());
        share((self.sdu_ns + last) as f64, now.as_nanos() as f64)
    }
}

/// SDUs of one direction, from the first on that is not done with.
#[derive(Default)]
struct Sdus {
    first: u64,
    entries: VecDeque<Sdu>,
}

struct Sdu {
    /// `None` once it has left.
    packet: Option<Box<Packet>>,
    flow: u16,
    seq: u32,
    len: u32,
    entered: Instant,
    /// Its entity is done with it.
    released: bool,
    /// Its entity has given it up.
    given_up: bool,
}

impl Sdus {
    fn push(&mut self, now: Instant, packet: Box<Packet>) {
        let (flow, seq, len) = (packet.flow, packet.seq, packet.len);
        let (released, given_up) = (false, false);
        let packet = Some(packet);
        self.entries.push_back(Sdu { packet, flow, seq, len, entered: now, released, given_up });
    }

    fn entry(&self, number: u64) -> Option<&Sdu> {
        self.entries.get(number.checked_sub(self.first)? as usize)
    }

    fn get(&mut self, number: u64) -> Option<&mut Sdu> {
        self.entries.get_mut(number.checked_sub(self.first)? as usize)
    }

    /// Takes out an SDU of which nothing was sent: its entity does not know it any more.
    fn evict(&mut self, number: u64) -> Option<Box<Packet>> {
        let sdu = self.get(number)?;
        sdu.released = true;
        sdu.packet.take()
    }

    /// Forgets those in front that are done with at both ends.
    fn forget(&mut self) {
        while self.entries.front().is_some_and(|sdu| sdu.released && sdu.packet.is_none()) {
            self.entries.pop_front();
            self.first += 1;
        }
    }
}

impl Line {
    fn new(config: &BearerConfig, ttis: Ttis, plan: &Plan<'_>, ue: u16, dir: Dir) -> Self {
        let run_seed = plan.run_seed;
        let channel = config.channel.build(run_seed, &format!("ue{ue}.{}.channel", dir.name()));
        Self {
            buffer: Buffer::new(&config.queue, config.delay, run_seed, ue, dir),
            rate: config.rate,
            ttis,
            pdus_per_tti: config.rate.bytes_in(ttis.tti) / ttis.payload,
            channel: Silences::of(plan.handovers, ue).over(channel, ttis.tti),
            sdus: Sdus::default(),
            free_at: ttis.next(Instant::ZERO),
            next_tti: Instant::NEVER,
            ending: None,
            next_ended: 0,
            on_air: VecDeque::new(),
            spare: Vec::new(),
            occupancy: Occupancy::default(),
            counts: Counts::default(),
            capture: PduCapture::new(&config.rlc, ue, dir),
        }
    }

    /// Finds the next TTI, if one is wanted at this time.
    fn plan(&mut self, now: Instant, wanted: Instant) {
        let from = wanted.max(now);
        self.next_tti = match wanted {
            Instant::NEVER => Instant::NEVER,
            _ if from <= self.free_at => self.free_at,
            _ => self.ttis.next(from),
        };
    }

    fn next_event(&self) -> Instant {
        self.next_tti.min(self.next_arrival())
    }

    fn next_arrival(&self) -> Instant {
        self.on_air.front().map_or(Instant::NEVER, |(at, _)| *at)
    }

    /// Puts a TTI on the air that starts now.
    fn transmit(&mut self, cx: &mut Cx<'_>, mut tti: Box<Tti>, report: &Report) {
        let end = cx.now + self.ttis.tti;
        self.free_at = end;
        let pdus = tti.pdus();
        let watched = cx.probes_any(OF_TTIS) || cx.captures_pdus();
        let lost = match watched {
            true => self.lose_watched(cx, &mut tti, end, report),
            false => self.lose(&mut tti, end),
        };
        self.counts.ttis += 1;
        self.counts.pdus_sent += pdus;
        self.counts.pdus_lost += lost;
        let tells_ends = !self.ttis.resends && !tti.data.ends.is_empty();
        if lost < pdus || tells_ends {
            self.on_air.push_back((end + self.buffer.delay, tti));
        } else {
            tti.clear();
            self.spare.push(tti);
        }
    }

    /// Has the channel decide what of a TTI that ends then arrives; how many PDUs do not.
    fn lose(&mut self, tti: &mut Tti, end: Instant) -> u64 {
        let channel = &mut self.channel;
        match self.ttis.errors {
            Errors::PerTti if channel.block_lost(end) => tti.lose(|| true),
            Errors::PerTti => 0,
            Errors::PerPdu => tti.lose(|| channel.block_lost(end)),
        }
    }

    #[cold]
    #[inline(never)]
    fn lose_watched(&mut self, cx: &mut Cx<'_>, tti: &mut Tti, end: Instant, report: &Report) -> u64 {
        let sent = tti.clone();
        let lost = self.lose(tti, end);
        if cx.probes(Kind::SlotEnded) {
            self.ending = Some(Ending { at: end, pdus_sent: sent.pdus() as u32, pdus_lost: lost as u32 });
        }
        self.note_sent(cx, &sent, tti);
        self.capture_pdus(cx, &sent, tti, report);
        lost
    }

    fn capture_pdus(&mut self, cx: &mut Cx<'_>, sent: &Tti, arrives: &Tti, report: &Report) {
        if cx.captures_pdus() {
            self.capture.settle(report);
            let begun = report.started.clone().filter(|number| !report.unsent.contains(number));
            let packet_of = |number| Some((number, self.sdus.entry(number)?.packet.as_deref()?));
            self.capture.write(cx, sent, arrives, begun.filter_map(packet_of));
        }
    }

    /// Tells of each run of PDUs that share their P bit and their fate, of each STATUS PDU, and of the SDUs that end.
    #[cold]
    fn note_sent(&mut self, cx: &mut Cx<'_>, sent: &Tti, arrives: &Tti) {
        let (ue, direction) = (self.buffer.ue, self.buffer.dir);
        let alone = sent.control.iter().filter_map(|control| match control {
            Control::Status(status) => Some((status, !arrives.control.contains(control))),
            Control::Reset(_) | Control::ResetAck(_) => None,
        });
        let piggybacked = sent.piggybacked.iter().map(|(_, status)| (status, arrives.piggybacked.is_none()));
        for (status, lost) in alone.chain(piggybacked) {
            // Those that only command report nothing.
            let Some(lsn) = status.lsn else { continue };
            let missing_pdus = status.missing.count() as u32;
            let lsn = (lsn % self.ttis.sequence_numbers) as u32;
            cx.probe(Kind::RlcStatus, || Event::RlcStatus { ue, direction, lsn, missing_pdus, lost });
        }
        for run in &sent.data.runs {
            for (sns, lost) in run.fates(&arrives.data.runs) {
                let (first_sn, pdus) = ((sns.first % self.ttis.sequence_numbers) as u32, sns.len() as u32);
                let poll = run.poll;
                cx.probe(Kind::RlcData, || Event::RlcData { ue, direction, first_sn, pdus, poll, lost });
            }
        }
        for end in &sent.data.ends {
            if end.sdu >= self.next_ended
                && let Some(flow) = self.sdus.entry(end.sdu).map(|sdu| sdu.flow)
            {
                self.next_ended = end.sdu + 1;
                let (first_sn, pdus) =
                    ((end.first % self.ttis.sequence_numbers) as u32, (end.sn - end.first + 1) as u32);
                let sdu = end.sdu;
                cx.probe(Kind::RlcSdu, || Event::RlcSdu { ue, flow, direction, sdu, first_sn, pdus });
            }
        }
    }

    /// Tells of the TTI that ends now.
    #[cold]
    fn note_ended(&mut self, cx: &mut Cx<'_>) {
        if let Some(Ending { pdus_sent, pdus_lost, .. }) = self.ending.take_if(|ending| ending.at <= cx.now) {
            let (ue, direction) = (self.buffer.ue, self.buffer.dir);
            cx.probe(Kind::SlotEnded, || Event::SlotEnded { ue, direction, pdus_sent, pdus_lost });
        }
    }

    /// Tells of the SDUs that were begun in a TTI.
    fn settle_started(&mut self, cx: &mut Cx<'_>, report: &mut Report) {
        for number in report.started.clone() {
            if let Some(sdu) = self.sdus.get(number).filter(|sdu| !sdu.released) {
                let (flow, seq, len) = (sdu.flow, sdu.seq, sdu.len);
                self.buffer.start(cx, flow, seq, len);
            }
        }
        report.started = 0..0;
    }

    /// Does what the end has reported that sends in this direction.
    #[inline(always)]
    fn settle_sent(&mut self, cx: &mut Cx<'_>, report: &mut Report) {
        if cx.captures_pdus() {
            self.capture.settle(report);
        }
        report.began_anew = false;
        if !(report.confirmed.is_empty() && report.discarded.is_empty() && report.unsent.is_empty()) {
            self.release_all(cx, report);
        }
    }

    #[inline(never)]
    fn release_all(&mut self, cx: &mut Cx<'_>, report: &mut Report) {
        for number in report.confirmed.drain(..) {
            self.release(cx, number, RadioEventKind::Delivered);
        }
        for number in report.discarded.drain(..) {
            self.give_up(cx, number);
        }
        for number in report.unsent.drain(..) {
            self.drop_unsent(cx, number);
        }
        self.sdus.forget();
    }

    /// Does what the end has reported that receives in this direction.
    fn settle_received(&mut self, cx: &mut Cx<'_>, report: &mut Report) {
        for number in report.up.drain(..) {
            self.hand_up(cx, number);
        }
        for number in report.lost.drain(..) {
            self.lose_sdu(cx, number);
        }
        self.sdus.forget();
    }

    /// The entity that sends in this direction is done with an SDU.
    fn release(&mut self, cx: &mut Cx<'_>, number: u64, kind: RadioEventKind) {
        let Some(sdu) = self.sdus.get(number).filter(|sdu| !sdu.released) else { return };
        sdu.released = true;
        let (flow, seq, len) = (sdu.flow, sdu.seq, sdu.len);
        self.buffer.leave(cx, flow, len, kind == RadioEventKind::Delivered);
        let queued_sdus = cx.bearer(self.buffer.index() as usize).sdus();
        self.occupancy.set(cx.now, queued_sdus);
        let (ue, direction) = (self.buffer.ue, self.buffer.dir);
        cx.probe(Kind::RlcConfirmed, || Event::RlcConfirmed {
            ue,
            flow,
            direction,
            len_bytes: len,
            queued_sdus,
        });
        self.buffer.tell(cx, kind, flow, seq, len);
    }

    /// The entity gives an SDU up; whether it arrives all the same, its peer will tell.
    fn give_up(&mut self, cx: &mut Cx<'_>, number: u64) {
        if let Some(sdu) = self.sdus.get(number) {
            sdu.given_up = true;
        }
        self.release(cx, number, RadioEventKind::Discarded);
    }

    /// The entity gives an SDU up of which it has sent nothing.
    fn drop_unsent(&mut self, cx: &mut Cx<'_>, number: u64) {
        if let Some(sdu) = self.sdus.get(number).filter(|sdu| !sdu.released) {
            cx.bearer(self.buffer.index() as usize).start(sdu.flow, sdu.len);
            self.give_up(cx, number);
            self.drop_sdu(cx, number, Reason::SduDiscarded);
        }
    }

    /// An SDU will not be handed up at the other side.
    fn lose_sdu(&mut self, cx: &mut Cx<'_>, number: u64) {
        let Some(sdu) = self.sdus.get(number) else { return };
        // Where PDUs are sent again, an end loses what the other one gives up, by a discard or a reset.
        let given_up = sdu.given_up || self.ttis.resends;
        let reason = if given_up { Reason::MaxTransmissions } else { Reason::LinkLoss };
        self.drop_sdu(cx, number, reason);
    }

    fn drop_sdu(&mut self, cx: &mut Cx<'_>, number: u64, reason: Reason) {
        if let Some(packet) = self.sdus.get(number).and_then(|sdu| sdu.packet.take()) {
            self.counts.sdus_lost += 1;
            cx.drop(self.buffer.dir, packet, reason);
        }
    }

    /// An SDU is handed up at the other side.
    fn hand_up(&mut self, cx: &mut Cx<'_>, number: u64) {
        let Some(sdu) = self.sdus.get(number) else { return };
        let Some(packet) = sdu.packet.take() else { return };
        let delay = cx.now.since(sdu.entered);
        self.counts.delivered.sdus += 1;
        self.counts.delivered.bytes += u64::from(packet.len);
        self.buffer.probe_delivered(cx, packet.flow, packet.len, delay);
        cx.emit(self.buffer.dir, packet);
    }

    fn report(&self, cx: &mut Cx<'_>, entity: serde_json::Value) -> serde_json::Value {
        let (counts, elapsed) = (&self.counts, cx.now.since(Instant::ZERO));
        let capacity = self.rate.as_bps() as f64 * elapsed.as_secs_f64() / 8.0;
        let mut report = self.buffer.report(counts.delivered);
        report.insert("sdus_discarded".into(), counts.sdus_lost.into());
        report.insert("slots".into(), counts.ttis.into());
        report.insert("pdus_sent".into(), counts.pdus_sent.into());
        report.insert("pdus_lost".into(), counts.pdus_lost.into());
        report.insert("utilisation".into(), share(counts.delivered.bytes as f64, capacity).into());
        report.insert("mean_queued_sdus".into(), self.occupancy.mean(cx.now).into());
        report_service(&mut report, None, None);
        report.insert("rlc".into(), entity);
        report.into()
    }
}

impl Pair {
    fn handle_sdu(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        let line = &mut self.lines[dir.index()];
        let (end, sdus) = (&mut self.ends[dir.index()], &mut line.sdus);
        let take_waiting = || sdus.evict(end.take_waiting(0)?);
        let admitted = line.buffer.admit_or_evict(cx, packet, take_waiting).map(|admitted| admitted.packet);
        let books = cx.bearer(line.buffer.index() as usize);
        admitted.iter().for_each(|sdu| books.enter(sdu));
        let queued_sdus = books.sdus();
        line.occupancy.set(cx.now, queued_sdus);
        if let Some(sdu) = admitted {
            end.handle_sdu(cx.now, sdu.len);
            line.sdus.push(cx.now, sdu);
        }
        // Under load the next TTI is the earliest that there can be.
        if self.lines[dir.index()].next_tti > self.lines[dir.index()].free_at {
            self.plan(cx.now, dir);
            self.arm(cx);
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, report: &mut Report) {
        self.armed = Instant::NEVER;
        if cx.probes(Kind::SlotEnded) {
            self.lines.iter_mut().for_each(|line| line.note_ended(cx));
        }
        for dir in Dir::BOTH {
            while self.lines[dir.index()].next_arrival() <= cx.now {
                self.handle_arrival(cx, dir, report);
            }
        }
        for dir in Dir::BOTH {
            if self.lines[dir.index()].next_tti <= cx.now {
                self.handle_tti_start(cx, dir, report);
            }
        }
        self.arm(cx);
    }

    fn handle_arrival(&mut self, cx: &mut Cx<'_>, dir: Dir, report: &mut Report) {
        let Some((_, mut tti)) = self.lines[dir.index()].on_air.pop_front() else { return };
        let other = dir.reverse();
        self.ends[other.index()].handle_tti(cx.now, &tti, report);
        tti.clear();
        let [sent, received] = self.lines_of(other);
        received.spare.push(tti);
        received.settle_received(cx, report);
        sent.settle_sent(cx, report);
        // A TTI that starts now is filled in any case.
        if self.lines[other.index()].next_tti > cx.now {
            self.plan(cx.now, other);
        }
    }

    fn handle_tti_start(&mut self, cx: &mut Cx<'_>, dir: Dir, report: &mut Report) {
        let line = &mut self.lines[dir.index()];
        let mut tti = line.spare.pop().unwrap_or_default();
        self.ends[dir.index()].build_tti(cx.now, line.pdus_per_tti, &mut tti, report);
        if tti.is_empty() {
            line.spare.push(tti);
        } else {
            line.transmit(cx, tti, report);
        }
        line.settle_started(cx, report);
        line.settle_sent(cx, report);
        self.plan(cx.now, dir);
    }

    /// The direction in which an end sends, and that in which it receives.
    fn lines_of(&mut self, end: Dir) -> [&mut Line; 2] {
        let [downlink, uplink] = &mut self.lines;
        if end == Dir::Downlink { [downlink, uplink] } else { [uplink, downlink] }
    }

    /// No TTI starts before `until`, except what has started.
    #[cold]
    fn pause(&mut self, cx: &mut Cx<'_>, until: Instant) {
        for dir in Dir::BOTH {
            let line = &mut self.lines[dir.index()];
            line.free_at = line.free_at.max(line.ttis.next(until));
            self.plan(cx.now, dir);
        }
        self.arm(cx);
    }

    /// Finds the next TTI of a direction, after something has happened to its end.
    fn plan(&mut self, now: Instant, dir: Dir) {
        let wanted = self.ends[dir.index()].deadline();
        self.lines[dir.index()].plan(now, wanted);
    }

    /// Sets the timer to the next TTI or arrival.
    fn arm(&mut self, cx: &mut Cx<'_>) {
        let [downlink, uplink] = &self.lines;
        let mut at = downlink.next_event().min(uplink.next_event());
        if cx.probes(Kind::SlotEnded) {
            let ends = self.lines.iter().filter_map(|line| Some(line.ending.as_ref()?.at));
            at = ends.fold(at, Instant::min);
        }
        if at == self.armed {
            return;
        }
        self.armed = at;
        let timer = downlink.buffer.index();
        if at == Instant::NEVER {
            cx.disarm(timer);
        } else {
            cx.arm(timer, at);
        }
    }
}

impl Pausable for TtiCell {
    fn pause(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant) {
        if let Some(pair) = self.pairs.get_mut(usize::from(ue)) {
            pair.pause(cx, until);
        }
    }
}

impl Element for TtiCell {
    fn layout(&self) -> Layout {
        cell_layout(self.pairs.iter().flat_map(|pair| pair.lines.iter().map(|line| &line.buffer)))
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        for line in self.pairs.iter().flat_map(|pair| &pair.lines) {
            cx.open_bearer(line.buffer.index() as usize, line.buffer.terms(line.rate, false));
        }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, dir: Dir, packet: Box<Packet>) {
        match self.pairs.get_mut(usize::from(packet.ue)) {
            Some(pair) => pair.handle_sdu(cx, dir, packet),
            None => cx.drop(dir, packet, Reason::UnknownUe),
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        self.pairs[key as usize / 2].handle_timer(cx, &mut self.report);
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let mut reports = Vec::new();
        for pair in &self.pairs {
            for (line, end) in pair.lines.iter().zip(&pair.ends) {
                reports.push(line.report(cx, end.report()));
            }
        }
        cell_report("radio.dch", &reports)
    }
}
