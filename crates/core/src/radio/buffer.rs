//! The part of a bearer's SDU buffer that all cells share: admission, notification of subscribers, and counters. The
//! packets themselves are stored by the cell.

use crate::element::{
    Adopt, Bearer, BearerView, Cx, Layout, RadioEvent, RadioEventKind, Terms, bearer_index,
};
use crate::packet::{Dir, Packet};
use crate::queue::{self, Aqm, Departed, Discipline, Evicted, Next, Place, Verdict, Waiting};
use crate::time::{Duration, Instant};
use crate::trace::{Event, Kind, Reason};
use crate::units::Bitrate;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::ops::Range;

/// The buffer of one direction of a UE's bearer. The path keeps its accounting (see `Cx::radio`).
pub(super) struct Buffer {
    index: u32,
    pub ue: u16,
    pub dir: Dir,
    /// One-way delay after the transmission.
    pub delay: Duration,
    queue: Discipline,
    /// Whether the discipline may mark packets.
    marks: bool,
    counts: Counts,
    /// Reused; empty between calls.
    evicted: Evicted,
}

#[derive(Default)]
struct Counts {
    sdus_in: u64,
    sdus_dropped: u64,
    /// Part of `sdus_dropped`: packets dropped after they had been admitted.
    sdus_evicted: u64,
    sdus_marked: u64,
    sdus_discarded: u64,
    /// Packets withdrawn because the UE left the cell, including packets held by the discipline.
    sdus_withdrawn: u64,
    bytes_in: u64,
    bytes_discarded: u64,
    bytes_withdrawn: u64,
    peak_sdus: u32,
}

/// An admitted packet; the buffer accounting includes it.
pub(super) struct Admitted {
    pub packet: Box<Packet>,
    /// Packets in the buffer, this one included.
    pub queued_sdus: u32,
}

/// Service of a transmitter of whole packets.
#[derive(Clone, Copy)]
pub(super) struct Served {
    pub sdus: u64,
    pub busy_s: f64,
}

/// Packets that have left a buffer at its far end.
#[derive(Clone, Copy, Default)]
pub(super) struct Delivered {
    pub sdus: u64,
    pub bytes: u64,
}

impl Buffer {
    /// The buffer of a transmitter with this rate and TTI. The random stream of its discipline is named after
    /// the bearer.
    pub fn new(
        queue: &queue::Config,
        (rate, tti): (Bitrate, Duration),
        delay: Duration,
        run_seed: u64,
        ue: u16,
        dir: Dir,
    ) -> Self {
        let marks = queue.marks();
        let queue = queue.build(&Place { run_seed, name: &queue_name(ue, dir), rate, tti });
        let index = bearer_index(ue, dir) as u32;
        Self { index, ue, dir, delay, queue, marks, counts: Counts::default(), evicted: Vec::new() }
    }

    /// Numbers the bearer in a cell whose first UE is this one.
    pub fn counted_from(self, first_ue: u16) -> Self {
        Self { index: bearer_index(self.ue - first_ue, self.dir) as u32, ..self }
    }

    /// Index of the bearer, of its timer and of its lane.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Adopts the limits of another buffer, for a transmitter that has this rate from now on. Returns whether
    /// the limits differ.
    #[cold]
    pub fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Self, rate: Bitrate, how: Adopt) -> bool {
        let differs = self.queue.adopt(fresh.queue, how);
        cx.bearer(self.index as usize).set_terms(rate, self.queue.limit_sdus());
        differs
    }

    pub fn bytes_in(&self) -> u64 {
        self.counts.bytes_in
    }

    /// Admits or drops a packet where packets are sent whole and cannot be removed from the queue. `send`
    /// adds the packet to the accounting; its result is returned. If bearers are watched, the caller calls
    /// [`Departures::watch`] next.
    #[inline(always)]
    pub fn admit<T>(
        &mut self,
        cx: &mut Cx<'_>,
        packet: Box<Packet>,
        send: impl FnOnce(&mut Bearer, Instant, &Packet) -> T,
    ) -> Option<(Box<Packet>, T)> {
        let now = cx.now;
        let accounting = cx.bearer(self.index() as usize);
        accounting.settle(now);
        if !self.queue.has_room(&packet, accounting) {
            return self.admit_if_let(cx, packet, send);
        }
        let sent = send(accounting, now, &packet);
        let queued_sdus = accounting.sdus();
        self.count(&packet, queued_sdus);
        Some((packet, sent))
    }

    /// Slow path of [`Self::admit`]: the buffer may be full, so the queue discipline decides. The accounting is
    /// already settled to `now`.
    #[inline(never)]
    fn admit_if_let<T>(
        &mut self,
        cx: &mut Cx<'_>,
        mut packet: Box<Packet>,
        send: impl FnOnce(&mut Bearer, Instant, &Packet) -> T,
    ) -> Option<(Box<Packet>, T)> {
        let now = cx.now;
        let accounting = cx.bearer(self.index() as usize);
        let verdict = self.queue.admit(now, &packet, accounting);
        if !matches!(verdict, Verdict::Enter | Verdict::Mark) {
            self.refuse(cx, packet, verdict);
            return None;
        }
        let sent = send(accounting, now, &packet);
        let queued_sdus = accounting.sdus();
        if verdict == Verdict::Mark {
            self.mark(cx, &mut packet, now);
        }
        self.count(&packet, queued_sdus);
        Some((packet, sent))
    }

    /// Admits `packet`, drops it, or evicts a waiting packet to make room. `take_waiting` removes the first packet
    /// whose transmission has not started. For bearers that account for each SDU individually.
    #[inline(always)]
    pub fn admit_or_evict(
        &mut self,
        cx: &mut Cx<'_>,
        mut packet: Box<Packet>,
        mut take_waiting: impl FnMut() -> Option<Box<Packet>>,
    ) -> Option<Admitted> {
        loop {
            let (now, accounting) = (cx.now, cx.bearer(self.index() as usize));
            let verdict = self.queue.admit(now, &packet, accounting);
            accounting.note_counter(self.queue.discard_counter());
            if matches!(verdict, Verdict::Enter | Verdict::Mark) {
                if verdict == Verdict::Mark {
                    self.mark(cx, &mut packet, now);
                }
                return Some(self.accept(cx, packet));
            }
            let waiting = if verdict == Verdict::DropWaiting { take_waiting() } else { None };
            let Some(victim) = waiting else {
                self.refuse(cx, packet, verdict);
                return None;
            };
            self.evict(cx, victim);
        }
    }

    /// Admits a packet for which there is room. The accounting must be settled and track packets
    /// individually.
    #[inline(always)]
    pub fn accept(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) -> Admitted {
        let accounting = cx.bearer(self.index() as usize);
        accounting.enter(&packet);
        let queued_sdus = accounting.sdus();
        self.count(&packet, queued_sdus);
        if cx.watches_bearers() {
            self.note_enqueued(cx, &packet);
        }
        Admitted { packet, queued_sdus }
    }

    /// Counts an admitted packet. The accounting already includes it.
    #[inline(always)]
    fn count(&mut self, packet: &Packet, queued_sdus: u32) {
        self.counts.sdus_in += 1;
        self.counts.bytes_in += u64::from(packet.len);
        self.counts.peak_sdus = self.counts.peak_sdus.max(queued_sdus);
    }

    /// Drops an arriving packet.
    #[cold]
    pub fn refuse(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>, verdict: Verdict) {
        let reason = match verdict {
            Verdict::Drop(reason) => reason,
            // A packet was to be dropped, but none is queued.
            Verdict::Enter | Verdict::Mark | Verdict::DropWaiting => Reason::EarlyDrop,
        };
        self.counts.sdus_dropped += 1;
        self.tell_drop(cx, RadioEventKind::Dropped, &packet);
        cx.drop(self.dir, packet, reason);
    }

    /// Drops a packet that was admitted and has been removed from its queue. It counts as if it had been
    /// dropped on arrival.
    #[cold]
    pub fn evict(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        self.counts.sdus_in -= 1;
        self.counts.bytes_in -= u64::from(packet.len);
        self.counts.sdus_dropped += 1;
        self.counts.sdus_evicted += 1;
        cx.bearer(self.index() as usize).evict(&packet);
        self.tell_drop(cx, RadioEventKind::Evicted, &packet);
        cx.drop(self.dir, packet, Reason::Evicted);
    }

    /// Marks a packet that entered at `entered`.
    #[cold]
    #[inline(never)]
    pub fn mark(&mut self, cx: &mut Cx<'_>, packet: &mut Packet, entered: Instant) {
        packet.mark();
        self.counts.sdus_marked += 1;
        cx.note_marked(self.dir, packet, entered);
    }

    /// Index of the last admitted packet, from 0.
    pub fn last_number(&self) -> u64 {
        (self.counts.sdus_in + self.counts.sdus_evicted).saturating_sub(1)
    }

    /// Stores the last admitted packet if the discipline holds packets. Otherwise returns it for the
    /// transmitter.
    #[inline]
    pub fn hold(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) -> Option<Box<Packet>> {
        if !matches!(self.queue, Discipline::Queue(_)) {
            return Some(packet);
        }
        self.push(cx, packet);
        None
    }

    #[inline(never)]
    fn push(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        let waiting = Waiting { number: self.last_number(), entered: cx.now, packet };
        self.queue.push(waiting, cx.bearer(self.index() as usize), &mut self.evicted);
        self.evict_all(cx);
    }

    fn evict_all(&mut self, cx: &mut Cx<'_>) {
        let mut evicted = std::mem::take(&mut self.evicted);
        evicted.drain(..).for_each(|packet| self.evict(cx, packet));
        self.evicted = evicted;
    }

    /// Bytes of packets that the discipline holds.
    #[inline]
    pub fn held_bytes(&self) -> u64 {
        self.queue.held_bytes()
    }

    /// Bytes of unstarted packets in the transmitter.
    pub fn waiting_behind(&self, cx: &mut Cx<'_>) -> u64 {
        cx.bearer(self.index() as usize).untransmitted_bytes() - self.held_bytes()
    }

    /// Excludes this part of each wait from the queueing delay from now on: see [`Discipline::excuse`].
    #[inline]
    pub fn excuse(&mut self, wait: Duration) {
        self.queue.excuse(wait);
    }

    /// Dequeues the next packet from the discipline if the transmitter has fewer than `octets` unstarted
    /// octets.
    pub fn pull(&mut self, cx: &mut Cx<'_>, octets: u64) -> Option<Waiting> {
        if self.held_bytes() == 0 || self.waiting_behind(cx) >= octets {
            return None;
        }
        let next = self.queue.queue()?.pop(cx.now, &mut self.evicted);
        self.evict_all(cx);
        let Next { mut waiting, marks } = next?;
        if marks {
            self.mark(cx, &mut waiting.packet, waiting.entered);
        }
        Some(waiting)
    }

    #[cold]
    fn note_enqueued(&self, cx: &mut Cx<'_>, packet: &Packet) {
        let accounting = cx.bearer(self.index() as usize);
        let (queued_sdus, queued_bytes) = (accounting.sdus(), accounting.bytes() as u32);
        let bearer = cx.bearer_number(self.index() as usize);
        cx.probe(Kind::BearerEnqueued, || Event::BearerEnqueued {
            ue: self.ue,
            flow: packet.flow,
            bearer,
            packet: packet.id,
            direction: self.dir,
            len_bytes: packet.len,
            queued_sdus,
            queued_bytes,
        });
        self.tell(cx, RadioEventKind::Enqueued, packet.flow, packet.seq, packet.len);
    }

    /// Starts the transmission of an SDU that is accounted for individually.
    #[inline(always)]
    pub fn start(&mut self, cx: &mut Cx<'_>, flow: u16, seq: u32, len: u32) {
        let (now, accounting) = (cx.now, cx.bearer(self.index as usize));
        accounting.start(flow, len);
        self.queue.handle_start(now, len, accounting);
        self.tell(cx, RadioEventKind::Started, flow, seq, len);
    }

    /// Delivers an SDU that is accounted for individually, after this time in the buffer.
    pub fn deliver(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>, waited: Duration) {
        let index = self.index();
        self.leave(cx, packet.flow, packet.len, true);
        self.note_delivered(cx, Gone::of(&packet), waited + self.delay);
        if self.delay.is_zero() {
            cx.emit(self.dir, packet);
        } else {
            cx.emit_at(cx.now + self.delay, index, packet);
        }
    }

    /// Removes a started SDU that is accounted for individually from the buffer.
    #[inline]
    pub fn leave(&mut self, cx: &mut Cx<'_>, flow: u16, len: u32, delivered: bool) {
        let (now, accounting) = (cx.now, cx.bearer(self.index() as usize));
        accounting.leave(flow, len);
        self.queue.handle_departure(now, Departed { len, delivered }, accounting);
        accounting.note_counter(self.queue.discard_counter());
    }

    /// Records that a packet arrives this long after its entry.
    #[inline]
    pub fn probe_delivered(&self, cx: &mut Cx<'_>, gone: Gone, delay: Duration) {
        if cx.probes(Kind::BearerDelivered) {
            self.record_delivered(cx, gone, delay);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_delivered(&self, cx: &mut Cx<'_>, gone: Gone, delay: Duration) {
        let Gone { id: packet, flow, len: len_bytes, .. } = gone;
        let bearer = cx.bearer_number(self.index() as usize);
        let (ue, direction, delay_ns) = (self.ue, self.dir, delay.as_nanos());
        cx.probe(Kind::BearerDelivered, || Event::BearerDelivered {
            ue,
            flow,
            bearer,
            packet,
            direction,
            len_bytes,
            delay_ns,
        });
    }

    /// Records that a packet left the buffer and arrives this long after its entry.
    #[inline]
    pub fn note_delivered(&self, cx: &mut Cx<'_>, gone: Gone, delay: Duration) {
        self.probe_delivered(cx, gone, delay);
        self.tell(cx, RadioEventKind::Delivered, gone.flow, gone.seq, gone.len);
    }

    /// The link layer gave a packet up.
    pub fn discard(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        self.counts.sdus_discarded += 1;
        self.counts.bytes_discarded += u64::from(packet.len);
        self.leave(cx, packet.flow, packet.len, false);
        self.tell(cx, RadioEventKind::Discarded, packet.flow, packet.seq, packet.len);
        cx.drop(self.dir, packet, Reason::MaxTransmissions);
    }

    /// Empties the buffer after the UE has left the cell. `packets` holds the packets of the link layer; the
    /// packets of the discipline are appended, and the accounting is reset to an empty buffer.
    #[cold]
    pub fn withdraw(&mut self, cx: &mut Cx<'_>, rate: Bitrate, packets: &mut crate::radio::Packets) {
        packets.extend(std::iter::from_fn(|| self.pull(cx, u64::MAX)).map(|next| next.packet));
        cx.open_bearer(self.index() as usize, self.terms(rate, false));
        for packet in packets {
            self.counts.sdus_withdrawn += 1;
            self.counts.bytes_withdrawn += u64::from(packet.len);
            self.tell(cx, RadioEventKind::Discarded, packet.flow, packet.seq, packet.len);
        }
    }

    /// Drops a transmitted packet that does not arrive. It has already left the accounting.
    #[cold]
    pub fn lose(&mut self, cx: &mut Cx<'_>, packet: Box<Packet>) {
        self.counts.sdus_discarded += 1;
        self.counts.bytes_discarded += u64::from(packet.len);
        self.tell(cx, RadioEventKind::Delivered, packet.flow, packet.seq, packet.len);
        cx.drop(self.dir, packet, Reason::LinkLoss);
    }

    /// Notifies the subscribers to radio events.
    #[inline]
    pub fn tell(&self, cx: &mut Cx<'_>, kind: RadioEventKind, flow: u16, seq: u32, len: u32) {
        let (ue, dir) = (self.ue, self.dir);
        cx.radio_event(|| RadioEvent { kind, ue, dir, flow, seq, len });
    }

    /// Notifies the subscribers to radio events of a packet that is dropped here.
    #[cold]
    fn tell_drop(&self, cx: &mut Cx<'_>, kind: RadioEventKind, packet: &Packet) {
        let (flow, seq, len) = (packet.flow, packet.seq, packet.len);
        cx.radio_drop(RadioEvent { kind, ue: self.ue, dir: self.dir, flow, seq, len });
    }

    /// Terms of a bearer of this rate, used to open its accounting.
    pub fn terms(&self, rate: Bitrate, by_flow: bool) -> Terms {
        Terms { rate, limit_sdus: self.queue.limit_sdus(), by_flow }
    }

    /// Number of packets transmitted and the time it took, where all packets are sent whole. `all` is the
    /// transmission time of all packets admitted, `unsent` the part that is not transmitted yet.
    pub fn service(&self, cx: &mut Cx<'_>, all: Duration, unsent: Duration) -> Served {
        let sdus = self.counts.sdus_in - u64::from(self.view(cx).sdus);
        Served { sdus, busy_s: all.saturating_sub(unsent).as_secs_f64() }
    }

    /// Current state of the buffer accounting, which stays with this cell wherever the UE is.
    pub fn view(&self, cx: &mut Cx<'_>) -> BearerView {
        let now = cx.now;
        cx.bearer(self.index() as usize).view(now)
    }

    pub fn delivered(&self, cx: &mut Cx<'_>) -> Delivered {
        let (held, counts) = (self.view(cx), &self.counts);
        Delivered {
            sdus: counts.sdus_in - counts.sdus_discarded - counts.sdus_withdrawn - u64::from(held.sdus),
            bytes: counts.bytes_in - counts.bytes_discarded - counts.bytes_withdrawn - held.bytes,
        }
    }

    /// Report fields common to all bearers; the cell adds its own.
    pub fn report(&self, delivered: Delivered) -> Map<String, Value> {
        let counts = &self.counts;
        let entries = [
            ("sdus_in", counts.sdus_in),
            ("sdus_delivered", delivered.sdus),
            ("sdus_dropped", counts.sdus_dropped),
            ("sdus_discarded", counts.sdus_discarded),
            ("bytes_delivered", delivered.bytes),
            ("peak_queued_sdus", u64::from(counts.peak_sdus)),
        ];
        let marked = self.marks.then_some(("sdus_marked", counts.sdus_marked));
        let withdrawn = (counts.sdus_withdrawn > 0).then_some(("sdus_withdrawn", counts.sdus_withdrawn));
        entries
            .into_iter()
            .chain(marked)
            .chain(withdrawn)
            .map(|(key, count)| (key.to_owned(), json!(count)))
            .collect()
    }
}

/// The rate of a transmitter, and its capacity since the start.
#[derive(Clone, Copy)]
pub(super) struct Capacity {
    pub rate: Bitrate,
    since: Instant,
    /// Bytes up to `since`, at rates that the transmitter had before.
    before: f64,
}

impl Capacity {
    pub fn new(rate: Bitrate) -> Self {
        Self { rate, since: Instant::ZERO, before: 0.0 }
    }

    /// Bytes up to `now`.
    pub fn bytes(&self, now: Instant) -> f64 {
        self.before + self.rate.as_bps() as f64 * now.since(self.since).as_secs_f64() / 8.0
    }

    /// The transmitter has this rate from now on; returns whether it is another.
    #[cold]
    pub fn adopt(&mut self, now: Instant, rate: Bitrate) -> bool {
        let differs = rate != self.rate;
        if differs {
            *self = Self { rate, since: now, before: self.bytes(now) };
        }
        differs
    }
}

/// Name of the random stream of a bearer's queue discipline.
pub(super) fn queue_name(ue: u16, dir: Dir) -> String {
    format!("ue{ue}.{}.queue", dir.name())
}

/// Makes the bearers of a cell in the order of their indices.
pub(super) fn make_bearers<B>(ues: Range<u16>, make: impl Fn(u16, Dir) -> B) -> Vec<B> {
    ues.flat_map(|ue| Dir::BOTH.map(|dir| make(ue, dir))).collect()
}

/// Layout of a cell: a timer, a lane and buffer accounting per bearer.
pub(super) fn cell_layout<'a>(buffers: impl Iterator<Item = &'a Buffer>) -> Layout {
    let lanes: Vec<Dir> = buffers.map(|buffer| buffer.dir).collect();
    let bearers = lanes.len() as u32;
    Layout { timers: bearers, lanes, bearers, passes_on: true, ..Layout::default() }
}

/// Combines the reports of a cell's bearers, which are ordered by UE, downlink first.
pub(super) fn cell_report(element: &str, bearers: &[Value]) -> Value {
    let ues: Vec<_> =
        bearers.chunks(2).map(|pair| json!({ "downlink": pair[0], "uplink": pair[1] })).collect();
    json!({ "element": element, "ues": ues })
}

/// Adds the transmitter's service to a bearer's report: time spent sending, packets sent per second of it,
/// and the mean time from the end of a transmission to the arrival. Values that a bearer does not have are
/// null.
pub(super) fn report_service(
    report: &mut Map<String, Value>,
    served: Option<Served>,
    mean_delay_ms: Option<f64>,
) {
    let busy = served.filter(|all| all.busy_s > 0.0);
    let rate = busy.map(|all| all.sdus as f64 / all.busy_s);
    report.insert("busy_s".into(), served.map(|all| all.busy_s).into());
    report.insert("service_rate_packets_per_s".into(), rate.into());
    report.insert("mean_delay_ms".into(), mean_delay_ms.into());
}

/// Utilisation: the share of the possible amount that was sent, 0 to 1.
pub(super) fn share(sent: f64, possible: f64) -> f64 {
    if possible > 0.0 { sent / possible } else { 0.0 }
}

/// Identifies a packet that has left a buffer, for events.
#[derive(Clone, Copy)]
pub(super) struct Gone {
    pub id: u32,
    pub seq: u32,
    pub len: u32,
    pub flow: u16,
}

impl Gone {
    #[inline]
    pub fn of(packet: &Packet) -> Self {
        Self { id: packet.id, seq: packet.seq, len: packet.len, flow: packet.flow }
    }
}

/// Reports the starts and ends of precomputed transmissions as events. Holds the packets of a buffer in
/// order, while there are subscribers.
#[derive(Default)]
pub(super) struct Departures(VecDeque<Watched>);

#[derive(Clone, Copy)]
struct Watched {
    entered: Instant,
    end: Instant,
    /// From the end of the transmission to the arrival.
    behind: Duration,
    packet: Gone,
}

impl Departures {
    /// Records an admitted packet that is transmitted until `end` and arrives at `arrival`. It starts now if
    /// no packet precedes it. A transmission that ends at this instant precedes it until its end has been
    /// reported.
    #[cold]
    #[inline(never)]
    pub fn watch(
        &mut self,
        cx: &mut Cx<'_>,
        buffer: &Buffer,
        packet: &Packet,
        (end, arrival): (Instant, Instant),
    ) {
        buffer.note_enqueued(cx, packet);
        let starts = self.0.is_empty();
        let behind = arrival.since(end);
        let watched = Watched { entered: cx.now, end, behind, packet: Gone::of(packet) };
        self.0.push_back(watched);
        if starts {
            Self::start(cx, buffer, watched);
        }
    }

    /// The first transmission has ended.
    pub fn handle_end(&mut self, cx: &mut Cx<'_>, buffer: &Buffer) {
        if let Some(gone) = self.0.pop_front() {
            let delay = cx.now.since(gone.entered) + gone.behind;
            buffer.note_delivered(cx, gone.packet, delay);
        }
        if let Some(next) = self.0.front() {
            Self::start(cx, buffer, *next);
        }
    }

    fn start(cx: &mut Cx<'_>, buffer: &Buffer, Watched { packet, end, .. }: Watched) {
        buffer.tell(cx, RadioEventKind::Started, packet.flow, packet.seq, packet.len);
        cx.arm(buffer.index(), end);
    }
}
