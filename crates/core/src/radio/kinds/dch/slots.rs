//! Bearers of a dedicated channel one by one: packets sent whole, or a link layer that fills a slot at a time.
//!
//! Without a link layer, packets are sent whole: the end of a transmission is computed when the packet
//! enters, and it is scheduled only for subscribers to radio events. With a link layer of slots, a bearer has
//! one timer: the end of the slot or, while it is idle, the next moment to try again. [`Whole`] replaces a
//! missing link layer if the UE has outages or sleep states, or if the queue discipline releases packets one
//! by one.

use super::config::{BearerConfig, Config};
use crate::channel::Channel;
use crate::element::{Adopt, Bearer as Accounting, Cx, Early, Element, Layout, Port, as_same, bearer_index};
use crate::packet::{Dir, Packet};
use crate::radio::Plan;
use crate::radio::buffer::{
    Admitted, Buffer, Capacity, Departures, Served, cell_layout, cell_report, make_bearers, report_service,
    share,
};
use crate::radio::outages::{Pausable, Silences};
use crate::rlc::{Rlc, Slot, SlotReport};
use crate::rng;
use crate::time::{Duration, Instant};
use crate::trace::{Event, Kind, Reason};
use crate::units::Bitrate;
use airpath_prefetch::prefetch;
use std::collections::VecDeque;

/// A cell of such bearers.
pub(super) fn build(config: &Config, plan: &Plan<'_>) -> Box<dyn Pausable> {
    let sleeps = config.activity.is_some();
    let make = |ue, dir| Bearer::new(config.bearer_of(plan.class(ue), dir), plan, (ue, dir), sleeps);
    let bearers = make_bearers(config.ues_from(plan.first_ue), make);
    Box::new(Dch {
        bearers,
        offset: bearer_index(plan.first_ue, Dir::Downlink),
        report: SlotReport::default(),
    })
}

/// One direction of a UE's bearer.
struct Bearer {
    buffer: Buffer,
    /// Rate that determines the length of a slot.
    rate: Bitrate,
    /// Capacity at the bearer's current rate.
    capacity: Capacity,
    /// Length of a slot; zero where packets are sent whole.
    slot: Duration,
    /// `None` sends packets whole.
    link_layer: Option<LinkLayer>,
    /// Packets in the buffer; only without a link layer and with subscribers to radio events.
    departures: Departures,
    counts: Counts,
    /// Packets went at a rate that was not the bearer's.
    has_been_limited: bool,
}

struct LinkLayer {
    rlc: Box<dyn Rlc>,
    channel: Box<dyn Channel>,
    /// PDUs are being transmitted.
    busy: bool,
    /// Packets are sent whole.
    is_whole: bool,
    /// No transmission starts before this.
    paused_until: Instant,
    /// End of the last slot or packet.
    sent_until: Instant,
    /// Rate for packets that are sent whole, if it differs from the bearer's.
    limit: Option<Bitrate>,
    /// Start of the slot in progress.
    began: Instant,
    /// Octets of a slot; 1 if packets are sent whole.
    slot_octets: u64,
}

#[derive(Default)]
struct Counts {
    slots: u64,
    pdus_sent: u64,
    pdus_lost: u64,
}

impl Bearer {
    fn new(config: &BearerConfig, plan: &Plan<'_>, (ue, dir): (u16, Dir), sleeps: bool) -> Self {
        let run_seed = plan.run_seed;
        let stream = |part: &str| rng::stream(run_seed, &format!("ue{ue}.{}.{part}", dir.name()));
        let silences = Silences::of(plan.handovers, ue);
        let waits = sleeps || !plan.handovers.is_empty() || plan.may_change || config.queue.needs_line();
        let is_whole = config.rlc.sends_whole() && waits;
        let rlc = match is_whole {
            true => Some(Box::new(Whole::new(config.rate, silences.clone())) as Box<dyn Rlc>),
            false => config.rlc.build(config.rate, stream("rlc")),
        };
        let link_layer = rlc.map(|rlc| LinkLayer {
            rlc,
            channel: silences.over(
                config.channel.build(run_seed, &format!("ue{ue}.{}.channel", dir.name())),
                config.rlc.slot(),
            ),
            busy: false,
            is_whole,
            paused_until: Instant::ZERO,
            sent_until: Instant::ZERO,
            limit: None,
            began: Instant::ZERO,
            slot_octets: if is_whole { 1 } else { config.rate.bytes_in(config.rlc.slot()) },
        });
        let place = (config.rate, config.rlc.slot());
        Self {
            buffer: Buffer::new(&config.queue, place, config.delay, run_seed, ue, dir)
                .counted_from(plan.first_ue),
            rate: config.rate,
            capacity: Capacity::new(config.rate),
            slot: if config.rlc.sends_whole() { Duration::ZERO } else { config.rlc.slot() },
            link_layer,
            departures: Departures::default(),
            counts: Counts::default(),
            has_been_limited: false,
        }
    }

    #[inline]
    fn handle_sdu(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>, report: &mut SlotReport) {
        if self.link_layer.is_some() {
            return self.handle_sdu_with_link_layer(cx, packet, report);
        }
        let Some((arrival, packet)) = self.pass(cx, packet) else { return };
        cx.emit_at(arrival, self.buffer.index(), packet);
    }

    /// Without a link layer the end of the transmission is computed at once: when the packet arrives, or `None` if it is
    /// dropped.
    #[inline(always)]
    fn pass(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) -> Option<(Instant, Box<Packet>)> {
        let (packet, end) = self.buffer.admit(cx, packet, Accounting::transmit)?;
        let arrival = end + self.buffer.delay;
        if cx.watches_bearers() {
            self.departures.watch(cx, &self.buffer, &packet, (end, arrival));
        }
        Some((arrival, packet))
    }

    #[inline(never)]
    fn handle_sdu_with_link_layer(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>, report: &mut SlotReport) {
        let Some(link_layer) = &mut self.link_layer else { return };
        let take_waiting = || link_layer.rlc.take_waiting();
        let Some(Admitted { packet, .. }) = self.buffer.admit_or_evict(cx, packet, take_waiting) else {
            return;
        };
        if let Some(packet) = self.buffer.hold(cx, packet) {
            link_layer.rlc.handle_sdu(cx.now, packet);
        }
        if !link_layer.busy {
            self.start_slot(cx, false, report);
        }
    }

    fn handle_slot(&mut self, cx: &mut Cx<'_>, report: &mut SlotReport) {
        let now = cx.now;
        let Some(link_layer) = &mut self.link_layer else {
            return self.departures.handle_end(cx, &self.buffer);
        };
        let boundary = link_layer.busy;
        if boundary {
            link_layer.busy = false;
            link_layer.rlc.end_slot(now, link_layer.channel.as_mut(), report);
            let is_whole = link_layer.is_whole;
            if !is_whole {
                self.count_slot(cx, report);
            }
            for (packet, waited) in report.delivered.drain(..) {
                self.buffer.deliver(cx, packet, waited);
            }
            for packet in report.discarded.drain(..) {
                if is_whole {
                    self.buffer.leave(cx, packet.flow, packet.len, true);
                    self.buffer.lose(cx, packet);
                } else {
                    self.buffer.discard(cx, packet);
                }
            }
        }
        self.start_slot(cx, boundary, report);
    }

    /// Withdraws all packets that have not arrived. A slot in progress ends empty.
    fn withdraw(&mut self, cx: &mut Cx<'_>) -> crate::radio::Packets {
        let Some(link_layer) = &mut self.link_layer else { return Vec::new() };
        let mut packets = link_layer.rlc.withdraw();
        self.buffer.withdraw(cx, self.rate, &mut packets);
        packets
    }

    fn count_slot(&mut self, cx: &mut Cx<'_>, report: &mut SlotReport) {
        let (ue, direction) = (self.buffer.ue, self.buffer.dir);
        let (pdus_sent, pdus_lost) = (report.pdus_sent, report.pdus_lost);
        self.counts.slots += 1;
        self.counts.pdus_sent += u64::from(pdus_sent);
        self.counts.pdus_lost += u64::from(pdus_lost);
        let bearer = cx.bearer_number(self.buffer.index() as usize);
        cx.probe(Kind::SlotEnded, || Event::SlotEnded { ue, bearer, direction, pdus_sent, pdus_lost });
        (report.pdus_sent, report.pdus_lost) = (0, 0);
    }

    fn start_slot(&mut self, cx: &mut Cx<'_>, boundary: bool, report: &mut SlotReport) {
        let index = self.buffer.index();
        let Some(link_layer) = &mut self.link_layer else { return };
        if cx.now < link_layer.paused_until {
            return cx.arm(index, link_layer.paused_until);
        }
        link_layer.began = cx.now;
        while let Some(next) = self.buffer.pull(cx, link_layer.slot_octets) {
            link_layer.rlc.handle_sdu(next.entered, next.packet);
        }
        match link_layer.rlc.start_slot(cx.now, boundary, report) {
            Slot::BusyUntil(end) => {
                let end = match link_layer.limit {
                    None => end,
                    Some(limit) => cx.now + limit.time_to_send(self.rate.bytes_in(end.since(cx.now))),
                };
                link_layer.busy = true;
                link_layer.sent_until = end;
                cx.arm(index, end);
            }
            Slot::IdleUntil(at) => cx.arm(index, at),
            Slot::Idle => cx.disarm(index),
        }
        for (flow, seq, len) in report.started.drain(..) {
            self.buffer.start(cx, flow, seq, len);
        }
    }

    /// Limits the bearer's own rate to this rate.
    fn limit_rate(&mut self, most: Option<Bitrate>) {
        let rate = most.map_or(self.capacity.rate, |most| most.min(self.capacity.rate));
        let limit = (rate != self.rate).then_some(rate);
        self.has_been_limited |= limit.is_some();
        if let Some(link_layer) = &mut self.link_layer {
            link_layer.limit = limit;
        }
    }

    /// A limit of the rate ends.
    #[cold]
    fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Self, how: Adopt) -> bool {
        let rate = fresh.rate;
        let mut differs = self.buffer.adopt(cx, fresh.buffer, rate, how);
        if let (Some(own), Some(fresh)) = (&mut self.link_layer, fresh.link_layer) {
            differs |= own.channel.adopt(cx.now, fresh.channel, how);
        }
        if self.capacity.adopt(cx.now, rate) {
            self.limit_rate(None);
            differs = true;
        }
        differs
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let capacity = self.capacity.bytes(cx.now);
        let used = share(self.buffer.delivered(cx).bytes as f64, capacity);
        let served = self.served(cx);
        let mut report = self.buffer.report(self.buffer.delivered(cx));
        report.insert("slots".into(), self.counts.slots.into());
        report.insert("pdus_sent".into(), self.counts.pdus_sent.into());
        report.insert("pdus_lost".into(), self.counts.pdus_lost.into());
        report.insert("utilisation".into(), used.into());
        let mean_delay_ms = served.map(|_| self.buffer.delay.as_secs_f64() * 1e3);
        report_service(&mut report, served, mean_delay_ms);
        report.into()
    }

    /// Service of the transmitter, where it sends packets whole: the time follows from rate and bytes. `None`
    /// with several rates.
    fn served(&self, cx: &mut Cx<'_>) -> Option<Served> {
        let now = cx.now;
        if self.has_been_limited {
            return None;
        }
        let unsent = match &self.link_layer {
            None => cx.bearer(self.buffer.index() as usize).free_at(now).since(now),
            Some(LinkLayer { is_whole: true, busy, began, .. }) => {
                let held = self.rate.time_to_send(self.buffer.view(cx).bytes);
                held.saturating_sub(if *busy { now.since(*began) } else { Duration::ZERO })
            }
            Some(_) => return None,
        };
        Some(self.buffer.service(cx, self.rate.time_to_send(self.buffer.bytes_in()), unsent))
    }
}

/// The cell.
pub(crate) struct Dch {
    bearers: Vec<Bearer>,
    /// Index that the first of them would have in a cell of all UEs.
    offset: usize,
    /// Reused from slot to slot; empty between calls.
    report: SlotReport,
}

impl Dch {
    /// Index of a bearer; past the end for a UE that is not in the cell.
    #[inline(always)]
    fn index_of(&self, ue: u16, dir: Dir) -> usize {
        bearer_index(ue, dir).wrapping_sub(self.offset)
    }

    /// Whether all arrivals are computed when packets enter, so bearers need timers only to report events.
    pub fn is_computed(&self) -> bool {
        self.bearers.iter().all(|bearer| bearer.link_layer.is_none())
    }

    /// Enters a packet into such a cell. Returns its arrival time and lane; `None` if it is dropped.
    #[inline(always)]
    pub fn pass(
        &mut self,
        cx: &mut Cx<'_>,
        dir: Dir,
        packet: Box<Packet>,
    ) -> Option<(Instant, u32, Box<Packet>)> {
        let index = self.index_of(packet.ue, dir);
        let Some(bearer) = self.bearers.get_mut(index) else {
            cx.drop(dir, packet, Reason::UnknownUe);
            return None;
        };
        let (at, packet) = bearer.pass(cx, packet)?;
        Some((at, bearer.buffer.index(), packet))
    }
}

impl Pausable for Dch {
    fn pause(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant) {
        for dir in Dir::BOTH {
            let index = self.index_of(ue, dir);
            let Some(bearer) = self.bearers.get_mut(index) else { continue };
            let timer = bearer.buffer.index();
            let Some(link_layer) = &mut bearer.link_layer else { continue };
            link_layer.paused_until = until;
            if !link_layer.busy {
                cx.arm(timer, until);
            }
        }
    }

    fn withdraw(&mut self, cx: &mut Cx<'_>, ue: u16) -> [crate::radio::Packets; 2] {
        Dir::BOTH.map(|dir| {
            let index = self.index_of(ue, dir);
            self.bearers.get_mut(index).map(|bearer| bearer.withdraw(cx)).unwrap_or_default()
        })
    }

    fn resume(&mut self, cx: &mut Cx<'_>, ue: u16, at: Instant) {
        self.pause(cx, ue, at);
    }

    fn hold(&mut self, cx: &mut Cx<'_>, ue: u16, until: Instant) {
        self.pause(cx, ue, until);
    }

    fn sent_until(&self, ue: u16) -> Instant {
        let own = Dir::BOTH.map(|dir| self.bearers.get(self.index_of(ue, dir)));
        let link_layers = own.into_iter().flatten().filter_map(|bearer| bearer.link_layer.as_ref());
        link_layers.map(|link_layer| link_layer.sent_until).max().unwrap_or(Instant::ZERO)
    }

    fn limit_rate(&mut self, ue: u16, rate: Option<Bitrate>) {
        for dir in Dir::BOTH {
            let index = self.index_of(ue, dir);
            let Some(bearer) = self.bearers.get_mut(index) else { continue };
            bearer.limit_rate(rate);
        }
    }

    fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Box<dyn Element>, how: Adopt) -> bool {
        let Some(fresh) = as_same::<Self>(fresh) else { return false };
        let each = self.bearers.iter_mut().zip(fresh.bearers);
        each.fold(false, |differs, (own, new)| own.adopt(cx, new, how) | differs)
    }
}

impl Element for Dch {
    fn prefetch(&self, depth: u8) {
        if depth == 0 {
            prefetch(&self.bearers[..]);
        }
    }

    fn layout(&self) -> Layout {
        // Regardless of how a packet is sent, its bearer's delay follows the end of the transmission.
        let least = |dir| {
            let own = self.bearers.iter().map(|bearer| &bearer.buffer).filter(|buffer| buffer.dir == dir);
            own.map(|buffer| buffer.delay).min().unwrap_or(Duration::ZERO)
        };
        let ahead = Dir::BOTH.map(least);
        let sends_whole = Dir::BOTH.map(|dir| {
            let mut own = self.bearers.iter().filter(|bearer| bearer.buffer.dir == dir);
            own.all(|bearer| bearer.link_layer.is_none())
        });
        let by_lanes = Dir::BOTH.map(|dir| sends_whole[dir.index()] || !ahead[dir.index()].is_zero());
        let layout = cell_layout(self.bearers.iter().map(|bearer| &bearer.buffer));
        let timers_tell = sends_whole == [true; 2];
        Layout { ahead, timers_tell, early: sends_whole.map(Early::of_ue_if), by_lanes, ..layout }
    }

    fn handle_start(&mut self, cx: &mut Cx<'_>) {
        for bearer in &self.bearers {
            let buffer = &bearer.buffer;
            cx.open_bearer(buffer.index() as usize, buffer.terms(bearer.rate, false));
            cx.describe_bearer(buffer.index() as usize, |row| {
                row.delay_ns = buffer.delay.as_nanos();
                row.slot_ns = bearer.slot.as_nanos();
            });
        }
    }

    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Box<Packet>) {
        let dir = port.dir();
        let index = self.index_of(packet.ue, dir);
        match self.bearers.get_mut(index) {
            Some(bearer) => bearer.handle_sdu(cx, packet, &mut self.report),
            None => cx.drop(dir, packet, Reason::UnknownUe),
        }
    }

    fn handle_timer(&mut self, cx: &mut Cx<'_>, key: u32) {
        self.bearers[key as usize].handle_slot(cx, &mut self.report);
    }

    fn report(&self, cx: &mut Cx<'_>) -> serde_json::Value {
        let reports: Vec<_> = self.bearers.iter().map(|bearer| bearer.report(cx)).collect();
        cell_report("radio.dch", &reports)
    }
}

/// A queue of packets in front of a transmitter that sends them whole, each with its own end of transmission.
/// It serves a channel without link layer whose UE has outages or sleep states, or whose queue discipline
/// releases packets one by one. Lost packets are reported as discarded.
struct Whole {
    rate: Bitrate,
    silences: Silences,
    /// Packets with their time of entry; the first may be in transmission.
    waiting: VecDeque<(Instant, Box<Packet>)>,
    /// Transmission time of the first packet, while it is in transmission.
    air: Option<Duration>,
}

impl Whole {
    fn new(rate: Bitrate, silences: Silences) -> Self {
        Self { rate, silences, waiting: VecDeque::new(), air: None }
    }
}

impl Rlc for Whole {
    fn handle_sdu(&mut self, entered: Instant, sdu: Box<Packet>) {
        self.waiting.push_back((entered, sdu));
    }

    fn take_waiting(&mut self) -> Option<Box<Packet>> {
        self.waiting.remove(usize::from(self.air.is_some())).map(|(_, packet)| packet)
    }

    fn withdraw(&mut self) -> Vec<Box<Packet>> {
        self.air = None;
        self.waiting.drain(..).map(|(_, packet)| packet).collect()
    }

    fn start_slot(&mut self, now: Instant, _boundary: bool, report: &mut SlotReport) -> Slot {
        let Some((_, packet)) = self.waiting.front() else { return Slot::Idle };
        let air = self.rate.time_to_send(u64::from(packet.len));
        self.air = Some(air);
        report.started.push((packet.flow, packet.seq, packet.len));
        Slot::BusyUntil(now + air)
    }

    fn end_slot(&mut self, now: Instant, _channel: &mut dyn Channel, report: &mut SlotReport) {
        let (Some(air), Some((entered, packet))) = (self.air.take(), self.waiting.pop_front()) else {
            return;
        };
        if self.silences.cover(air, now) {
            report.discarded.push(packet);
        } else {
            report.delivered.push((packet, now.since(entered)));
        }
    }
}
