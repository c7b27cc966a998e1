//! Occupancy counters of a bearer's buffer: every element may read them, only the cell may update them.
//!
//! A bearer that sends packets whole does not schedule the ends of its transmissions: it computes them, and each read
//! first removes the transmissions that ended at or before now. Other bearers, with a link layer or a channel of
//! opportunities, enter, start and remove SDUs one by one.

use crate::packet::{Dir, Packet};
use crate::time::{Duration, Instant};
use crate::units::Bitrate;
use airpath_prefetch::prefetch_ends;
use std::collections::VecDeque;

/// Occupancy of a bearer's buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BearerView {
    /// Packets (SDUs) not yet delivered: waiting, in transmission, or unacknowledged.
    pub sdus: u32,
    /// Their bytes.
    pub bytes: u64,
    /// Packets not yet started.
    pub untransmitted_sdus: u32,
    /// Their bytes.
    pub untransmitted_bytes: u64,
    /// Rate of the bearer, its mean where it varies.
    pub rate: Bitrate,
    /// Most packets that may be queued in addition to the one in service, per flow if each has a buffer; `None` for no
    /// limit.
    pub limit_sdus: Option<u32>,
    /// PDPC's `Counter`, in its unit: the amount still to be delivered before the discipline may drop again. 0 if it
    /// may drop now; always 0 for other disciplines.
    pub discard_counter: u64,
}

/// Occupancy of a bearer's buffer by one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowView {
    /// Packets not yet delivered.
    pub sdus: u32,
    /// Their bytes.
    pub bytes: u64,
    /// Packets not yet started.
    pub untransmitted_sdus: u32,
    /// End of the TCP segment that arrived last: its sequence number plus its payload.
    pub last_seq_end: u32,
    /// Most packets that may be queued in the flow's buffer in addition to the one in service; `None` for no limit.
    pub limit_sdus: Option<u32>,
    /// Packets queued in that buffer, of all flows that share it.
    pub waiting_sdus: u32,
    /// Whether other flows share that buffer.
    pub is_shared: bool,
}

/// Parameters of a bearer that its counters start from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terms {
    /// Its rate, its mean where it varies.
    pub rate: Bitrate,
    /// Packets that may wait in a buffer.
    pub limit_sdus: Option<u32>,
    /// Each flow has a separate buffer; counters by flow are then kept even without a reader.
    pub by_flow: bool,
}

/// Something happened to a packet in a bearer's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioEvent {
    /// What happened.
    pub kind: RadioEventKind,
    /// Number of the UE.
    pub ue: u16,
    /// Direction of the bearer.
    pub dir: Dir,
    /// Number of the flow at its UE.
    pub flow: u16,
    /// TCP sequence number, 0 without TCP.
    pub seq: u32,
    /// Length of the packet, bytes.
    pub len: u32,
}

/// Events of a packet in a bearer's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RadioEventKind {
    /// It was taken into the buffer.
    Enqueued,
    /// Its first octet is being sent.
    Started,
    /// It left the buffer: its last octet was sent or, with a link layer, it arrived.
    Delivered,
    /// It was dropped at its arrival: no room, or the queue discipline chose it.
    Dropped,
    /// The queue discipline dropped it while it waited: no octet of it had been sent.
    Evicted,
    /// The link layer gave it up: octets of it did not arrive, or it cannot be sent.
    Discarded,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    sdus: u32,
    bytes: u64,
}

impl Count {
    fn add(&mut self, len: u32) {
        self.sdus += 1;
        self.bytes += u64::from(len);
    }

    fn take(&mut self, len: u32) {
        self.sdus -= 1;
        self.bytes -= u64::from(len);
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    held: Count,
    untransmitted: u32,
    last_seq_end: u32,
}

/// Counters by flow. Behind a pointer: few elements read them, but every packet updates its bearer's counters.
#[derive(Debug, Default)]
struct Flows(Vec<Flow>);

/// Later than the end of every run, yet small enough to add other times.
pub(crate) const FAR: Instant = Instant::from_nanos(u64::MAX / 4);

/// A computed end of transmission.
#[derive(Clone, Copy, Debug)]
struct Departure {
    end: Instant,
    len: u32,
    flow: u16,
}

/// Occupancy counters of one bearer or link: two cache lines.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Bearer {
    rate: Bitrate,
    /// [`u32::MAX`] for any number.
    limit_sdus: u32,
    /// Each flow has a buffer of its own.
    by_flow: bool,
    /// Length of the last computed transmission and how long it took: most packets of a bearer are of
    /// one size, and a division less for each is worth it.
    last_len: u32,
    last_tx: Duration,
    /// SDUs entered one by one.
    held: Count,
    untransmitted: Count,
    /// Counters by flow; `None` unless an element reads them.
    flows: Option<Box<Flows>>,
    /// Computed ends of transmission (packets sent whole), earliest first, but the last one: so a packet that finds the
    /// transmitter idle, as most do on a fast link, is put into no line. The first is in transmission, the others wait.
    departures: VecDeque<Departure>,
    /// End of the last one, whose packet has this length and flow.
    busy_until: Instant,
    busy_len: u32,
    busy_flow: u16,
    /// Whether the packet of the last departure is still in the buffer.
    is_busy: bool,
    /// Bytes of these departures and of the last one.
    departing_bytes: u64,
    discard_counter: u64,
}

impl Bearer {
    pub(super) fn prefetch_departures(&self) {
        prefetch_ends(&self.departures);
    }

    /// Counters of an empty buffer in front of a transmitter of this rate, also by flow if requested.
    pub fn new(rate: Bitrate, by_flow: bool) -> Self {
        Self { rate, limit_sdus: u32::MAX, flows: by_flow.then(Box::default), ..Self::default() }
    }

    /// Counters of a bearer not yet opened.
    pub(crate) fn closed() -> Self {
        Self::new(Bitrate::default(), false)
    }

    /// Counters of an empty buffer with these parameters, also by flow if an element reads them.
    pub(crate) fn open(terms: &Terms, flows_wanted: bool) -> Self {
        let Terms { rate, limit_sdus, by_flow } = *terms;
        let limit_sdus = limit_sdus.unwrap_or(u32::MAX);
        Self { limit_sdus, by_flow, ..Self::new(rate, by_flow || flows_wanted) }
    }

    fn limit_sdus(&self) -> Option<u32> {
        (self.limit_sdus < u32::MAX).then_some(self.limit_sdus)
    }

    /// Computed ends of transmission, earliest first.
    fn departures(&self) -> impl Iterator<Item = Departure> {
        self.departures.iter().copied().chain(self.is_busy.then_some(self.last_departure()))
    }

    #[inline(always)]
    fn last_departure(&self) -> Departure {
        Departure { end: self.busy_until, len: self.busy_len, flow: self.busy_flow }
    }

    /// Occupancy of the buffer at `now`.
    pub fn view(&mut self, now: Instant) -> BearerView {
        self.settle(now);
        BearerView {
            sdus: self.sdus(),
            bytes: self.bytes(),
            untransmitted_sdus: self.untransmitted_sdus(),
            untransmitted_bytes: self.untransmitted_bytes(),
            rate: self.rate,
            limit_sdus: self.limit_sdus(),
            discard_counter: self.discard_counter,
        }
    }

    /// Packets not yet delivered at the last update.
    #[inline(always)]
    pub fn sdus(&self) -> u32 {
        self.held.sdus + self.departures.len() as u32 + u32::from(self.is_busy)
    }

    /// Their bytes.
    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        self.held.bytes + self.departing_bytes
    }

    /// Packets not yet started at the last update.
    pub fn untransmitted_sdus(&self) -> u32 {
        self.untransmitted.sdus + self.departures.len() as u32
    }

    /// Their bytes.
    pub fn untransmitted_bytes(&self) -> u64 {
        let in_service = self.departures().next().map_or(0, |departure| departure.len);
        self.untransmitted.bytes + self.departing_bytes - u64::from(in_service)
    }

    /// Rate of the transmitter, its mean where it varies.
    pub fn rate(&self) -> Bitrate {
        self.rate
    }

    /// Occupancy of the buffer by `flow` at `now`.
    pub fn flow_view(&mut self, now: Instant, flow: u16) -> FlowView {
        self.settle(now);
        let accounting =
            self.flows.as_ref().and_then(|flows| flows.0.get(flow as usize)).copied().unwrap_or_default();
        let mut view = FlowView {
            sdus: accounting.held.sdus,
            bytes: accounting.held.bytes,
            untransmitted_sdus: accounting.untransmitted,
            last_seq_end: accounting.last_seq_end,
            limit_sdus: self.limit_sdus(),
            waiting_sdus: 0,
            is_shared: !self.by_flow,
        };
        for (place, departure) in self.departures().enumerate().filter(|(_, d)| d.flow == flow) {
            view.sdus += 1;
            view.bytes += u64::from(departure.len);
            view.untransmitted_sdus += u32::from(place > 0);
        }
        view.waiting_sdus = if self.by_flow { view.untransmitted_sdus } else { self.untransmitted_sdus() };
        view
    }

    /// The transmitter has this rate from now on, and at most so many packets may wait.
    #[cold]
    pub(crate) fn set_terms(&mut self, rate: Bitrate, limit_sdus: Option<u32>) {
        (self.rate, self.limit_sdus) = (rate, limit_sdus.unwrap_or(u32::MAX));
        self.last_len = 0;
    }

    /// The queue discipline's counter is at `counter` now, see [`BearerView::discard_counter`].
    pub(crate) fn note_counter(&mut self, counter: u64) {
        self.discard_counter = counter;
    }

    /// One by one: an SDU enters the buffer.
    #[inline]
    pub(crate) fn enter(&mut self, packet: &Packet) {
        self.held.add(packet.len);
        self.untransmitted.add(packet.len);
        if self.flows.is_some()
            && let Some(flow) = self.flow(packet)
        {
            flow.held.add(packet.len);
            flow.untransmitted += 1;
        }
    }

    /// One by one: an unsent SDU leaves the buffer.
    pub(crate) fn evict(&mut self, packet: &Packet) {
        self.start(packet.flow, packet.len);
        self.leave(packet.flow, packet.len);
    }

    /// One by one: the first octet of an SDU is sent.
    #[inline]
    pub(crate) fn start(&mut self, flow: u16, len: u32) {
        self.untransmitted.take(len);
        if let Some(flows) = &mut self.flows {
            flows.0[flow as usize].untransmitted -= 1;
        }
    }

    /// One by one: a started SDU leaves the buffer.
    #[inline]
    pub(crate) fn leave(&mut self, flow: u16, len: u32) {
        self.held.take(len);
        if let Some(flows) = &mut self.flows {
            flows.0[flow as usize].held.take(len);
        }
    }

    /// Sent whole: a packet is sent after all queued ones. Returns the end of its transmission.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Instant, packet: &Packet) -> Instant {
        if self.last_len != packet.len {
            self.note_len(packet.len);
        }
        let end = (self.free_at(now) + self.last_tx).min(FAR);
        self.depart(end, packet);
        end
    }

    #[inline(never)]
    fn note_len(&mut self, len: u32) {
        let tx = self.rate.time_to_send(u64::from(len));
        (self.last_len, self.last_tx) = (len, tx.min(FAR.since(Instant::ZERO)));
    }

    /// When the transmission of a packet that comes at `now` begins, if all are sent whole.
    #[inline(always)]
    pub(crate) fn free_at(&self, now: Instant) -> Instant {
        self.busy_until.max(now)
    }

    /// Sent whole: the transmission of a packet ends at `end`, after all earlier ones.
    #[inline(always)]
    pub(crate) fn depart(&mut self, end: Instant, packet: &Packet) {
        if self.is_busy {
            self.departures.push_back(self.last_departure());
        }
        (self.busy_until, self.busy_len, self.busy_flow) = (end, packet.len, packet.flow);
        self.is_busy = true;
        self.departing_bytes += u64::from(packet.len);
        if self.flows.is_some() {
            self.flow(packet);
        }
    }

    /// Removes packets that have departed by `now`, inclusive.
    #[inline(always)]
    pub(crate) fn settle(&mut self, now: Instant) {
        if self.busy_until <= now {
            self.departures.clear();
            (self.is_busy, self.departing_bytes) = (false, 0);
            return;
        }
        while let Some(departure) = self.departures.front().filter(|departure| departure.end <= now) {
            self.departing_bytes -= u64::from(departure.len);
            self.departures.pop_front();
        }
    }

    /// Counters of the packet's flow, if an element reads them; also stores the packet's sequence number.
    #[inline(never)]
    fn flow(&mut self, packet: &Packet) -> Option<&mut Flow> {
        let Flows(flows) = self.flows.as_deref_mut()?;
        let index = packet.flow as usize;
        if index >= flows.len() {
            flows.resize(index + 1, Flow::default());
        }
        let flow = flows.get_mut(index)?;
        flow.last_seq_end = packet.seq.wrapping_add(packet.payload);
        Some(flow)
    }
}

const _: () = assert!(size_of::<Bearer>() == 128);

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(flow: u16, len: u32) -> Packet {
        Packet { flow, len, seq: 1000, payload: len - 40, ..Packet::default() }
    }

    #[test]
    fn computed_ends_are_settled_when_the_books_are_read() {
        let mut bearer = Bearer::new(Bitrate::from_bps(112_000), true);
        let tx = Duration::from_millis(10);
        for flow in 0..3 {
            bearer.transmit(Instant::ZERO, &packet(flow, 140));
        }
        let view = bearer.view(Instant::ZERO);
        assert_eq!((view.sdus, view.bytes, view.untransmitted_sdus), (3, 420, 2));
        // A transmission that ends at `now` counts as finished.
        let later = bearer.view(Instant::ZERO + tx);
        assert_eq!((later.sdus, later.untransmitted_sdus, later.untransmitted_bytes), (2, 1, 140));
        assert_eq!(bearer.flow_view(Instant::ZERO + tx, 0).sdus, 0);
        let last = bearer.flow_view(Instant::ZERO + tx, 2);
        assert_eq!((last.sdus, last.untransmitted_sdus, last.last_seq_end), (1, 1, 1100));
    }
}
