//! One direction of a UE's bearer whose link layer has entities at both ends: the SDU buffer, the outcome of
//! its SDUs, and their events.
//!
//! Entities identify SDUs by number; the packets are stored here ([`Sdus`]). An SDU counts as held by the
//! buffer until its entity has finished with it; in acknowledged mode, until it is acknowledged. The packet
//! leaves at the other side when it is delivered to the upper layer there. That may be earlier, or later if
//! the receiving entity waits for another SDU.

use super::Plan;
use super::buffer::{Buffer, Capacity, Delivered, Gone, report_service, share};
use super::pdu_capture::{PduCapture, RADIO_BEARER};
use super::sdus::Sdus;
use crate::element::{Adopt, Cx, RadioEventKind};
use crate::packet::{Dir, Packet};
use crate::pdcp;
use crate::queue::{self, Verdict};
use crate::rlc::control::Control;
use crate::rlc::{self, End, Report, Tti, Ttis};
use crate::time::{Duration, Instant};
use crate::trace::{Event, Kind, ProbeMask, Reason};
use crate::units::Bitrate;
use serde_json::{Map, Value};
use std::collections::VecDeque;

/// Probes of the contents of a TTI.
pub(super) const OF_TTIS: ProbeMask =
    ProbeMask::NONE.with(Kind::RlcData).with(Kind::RlcSdu).with(Kind::RlcStatus).with(Kind::SlotEnded);

/// One direction of a bearer.
pub(super) struct RlcBearer {
    pub buffer: Buffer,
    /// Capacity of the transmitter, at its mean rate if the rate varies.
    capacity: Capacity,
    pub ttis: Ttis,
    pub sdus: Sdus,
    /// First SDU whose end has not been transmitted; kept only while the `rlc_sdu` probe is enabled.
    next_ended: u64,
    /// Admission numbers of the SDUs dequeued from a queue discipline, from `next_ended` on. Without such a
    /// discipline they equal the link layer's numbers. Kept only while the `rlc_sdu` probe is enabled.
    numbers: VecDeque<u64>,
    occupancy: Occupancy,
    pub counts: Counts,
    capture: PduCapture,
    radio_bearer: u8,
    /// Octets of the largest packet that the lower layers accept.
    largest_sdu: u32,
    /// Octets of the header of a split bearer's PDCP.
    header: u32,
    /// Number of PDU 0 in events, where numbers continue after the entity is restarted.
    numbered_from: u64,
    /// End (exclusive) of the PDU numbers reported.
    numbered_to: u64,
    /// `numbered_from` of the data on which STATUS PDUs of this direction report.
    pub reported_from: u64,
    /// A restart was recorded, and its consequences are not settled yet.
    has_noted: bool,
}

#[derive(Default)]
pub(super) struct Counts {
    pub ttis: u64,
    pub pdus_sent: u64,
    pub pdus_lost: u64,
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

impl RlcBearer {
    /// A bearer with this rate and this delay after the transmission.
    pub fn new(
        (queue, rlc, ttis): (&queue::Config, &rlc::Config, Ttis),
        (rate, delay): (Bitrate, Duration),
        plan: &Plan<'_>,
        ue: u16,
        dir: Dir,
    ) -> Self {
        Self {
            buffer: Buffer::new(queue, (rate, ttis.tti), delay, plan.run_seed, ue, dir)
                .counted_from(plan.first_ue),
            capacity: Capacity::new(rate),
            ttis,
            sdus: Sdus::default(),
            next_ended: 0,
            numbers: VecDeque::new(),
            occupancy: Occupancy::default(),
            counts: Counts::default(),
            capture: PduCapture::new(rlc, &pdcp::Config::default(), (ue, dir, RADIO_BEARER)),
            radio_bearer: RADIO_BEARER,
            largest_sdu: rlc.largest_sdu().unwrap_or(u32::MAX),
            header: 0,
            numbered_from: 0,
            numbered_to: 0,
            reported_from: 0,
            has_noted: false,
        }
    }

    /// The same, with PDCP of these parameters above the link layer, where that has PDCP.
    pub fn with_pdcp(mut self, rlc: &rlc::Config, pdcp: &pdcp::Config) -> Self {
        self.capture = PduCapture::new(rlc, pdcp, (self.buffer.ue, self.buffer.dir, self.radio_bearer));
        self
    }

    /// Makes this a leg of a split bearer, if it is one: SDUs are PDUs of that PDCP.
    pub fn in_split(mut self, leg: Option<&pdcp::Config>) -> Self {
        if let Some(pdcp) = leg {
            self.header = pdcp.header_octets();
            self.capture.leg = Some(pdcp.sn);
        }
        self
    }

    /// Whether its cell uses time division duplex (TDD), which captures say.
    pub fn in_tdd(mut self, is_tdd: bool) -> Self {
        self.capture.is_tdd = is_tdd;
        self
    }

    /// Makes this the second bearer of `ue`. Its buffer index remains that of the UE index it was built with.
    pub fn second_of(mut self, ue: u16) -> Self {
        (self.buffer.ue, self.radio_bearer) = (ue, RADIO_BEARER + 1);
        self
    }

    /// Adopts the rate and the limits of another bearer; returns whether any differs.
    #[cold]
    pub fn adopt(&mut self, cx: &mut Cx<'_>, fresh: Self, how: Adopt) -> bool {
        let rate = fresh.capacity.rate;
        self.buffer.adopt(cx, fresh.buffer, rate, how) | self.capacity.adopt(cx.now, rate)
    }

    pub fn open(&self, cx: &mut Cx<'_>) {
        cx.open_bearer(self.buffer.index() as usize, self.buffer.terms(self.capacity.rate, false));
        let Ttis { tti, offset, sequence_numbers, retransmits, .. } = self.ttis;
        cx.describe_bearer(self.buffer.index() as usize, |row| {
            (row.slot_ns, row.phase_ns, row.delay_ns) =
                (tti.as_nanos(), offset.as_nanos(), self.buffer.delay.as_nanos());
            (row.sequence_numbers, row.retransmits) = (sequence_numbers, retransmits);
        });
    }

    /// Withdraws all packets that have not been delivered to the upper layer, in order.
    #[cold]
    pub fn withdraw(&mut self, cx: &mut Cx<'_>) -> crate::radio::Packets {
        let mut packets = self.sdus.withdraw();
        self.buffer.withdraw(cx, self.capacity.rate, &mut packets);
        self.note_occupancy(cx);
        packets
    }

    /// Continues with a new entity, which numbers SDUs and PDUs from 0; PDU numbers in events continue. No
    /// SDU is held.
    #[cold]
    pub fn resume(&mut self, rlc: &rlc::Config, pdcp: &pdcp::Config) {
        self.sdus = Sdus::default();
        self.next_ended = 0;
        self.numbers.clear();
        self.capture.resume(rlc, pdcp);
        self.numbered_from = self.numbered_to.next_multiple_of(self.ttis.sequence_numbers.max(1));
        self.has_noted = false;
    }

    /// Number of PDU 0 in events.
    pub fn numbered_from(&self) -> u64 {
        self.numbered_from
    }

    /// Admits the packet, or drops it or another queued packet.
    #[inline(always)]
    pub fn handle_sdu(&mut self, cx: &mut Cx<'_>, end: &mut dyn End, packet: Box<Packet>) {
        if packet.len > self.largest_sdu {
            self.buffer.refuse(cx, packet, Verdict::Drop(Reason::SduDiscarded));
            return;
        }
        let sdus = &mut self.sdus;
        let take_waiting = || sdus.evict(end.take_waiting(0)?);
        let Some(admitted) = self.buffer.admit_or_evict(cx, packet, take_waiting) else {
            return self.note_occupancy(cx);
        };
        self.occupancy.set(cx.now, admitted.queued_sdus);
        let Some(sdu) = self.buffer.hold(cx, admitted.packet) else { return self.feed(cx, end, 1) };
        end.handle_sdu(cx.now, sdu.len + self.header);
        self.sdus.push(cx.now, sdu);
    }

    /// Passes SDUs from the queue discipline to the entity while the entity has fewer than `octets` octets of
    /// unstarted SDUs. The entity has at least one SDU while any is queued, so it knows when it needs a TTI.
    #[inline]
    pub fn feed(&mut self, cx: &mut Cx<'_>, end: &mut dyn End, octets: u64) {
        if self.buffer.held_bytes() > 0 {
            self.feed_held(cx, end, octets);
        }
    }

    #[inline(never)]
    fn feed_held(&mut self, cx: &mut Cx<'_>, end: &mut dyn End, octets: u64) {
        while let Some(next) = self.buffer.pull(cx, octets) {
            end.handle_sdu(cx.now, next.packet.len + self.header);
            if cx.probes(Kind::RlcSdu) {
                self.numbers.push_back(next.number);
            }
            self.sdus.push(next.entered, next.packet);
        }
        self.note_occupancy(cx);
    }

    /// Data queued for the entity, in the unit of a TTI's room, where the entity itself has `own` to send. An
    /// entity with a closed window does not count its SDUs and could not send more; held packets are then not
    /// counted.
    #[inline]
    pub fn with_held(&self, cx: &mut Cx<'_>, own: u64) -> u64 {
        let held = self.buffer.held_bytes();
        if held == 0 || own.saturating_mul(self.ttis.payload) < self.buffer.waiting_behind(cx) {
            return own;
        }
        own + held.div_ceil(self.ttis.payload)
    }

    /// Writes the PDUs sent now to the capture, if it is enabled. `arrives` holds the PDUs that are not lost.
    pub fn capture_pdus(&mut self, cx: &mut Cx<'_>, sent: &Tti, arrives: &Tti, report: &Report) {
        if cx.captures_pdus() {
            self.capture.settle(report);
            let begun = report.started.clone().filter(|number| !report.unsent.contains(number));
            let packet_of = |number| Some((number, self.sdus.entry(number)?.packet.as_deref()?));
            self.capture.write(cx, sent, arrives, begun.filter_map(packet_of));
        }
    }

    /// Records each STATUS PDU, and each run of data PDUs with the same poll bit and the same outcome (received or
    /// lost).
    #[cold]
    pub fn note_outcomes(&mut self, cx: &mut Cx<'_>, sent: &Tti, arrives: &Tti) {
        let (ue, direction, own) = (self.buffer.ue, self.buffer.dir, self.buffer.index());
        // STATUS PDUs report on data of the opposite direction.
        let [bearer, reported] = [own, own ^ 1].map(|index| cx.bearer_number(index as usize));
        let alone = sent.control.iter().filter_map(|control| match control {
            Control::Status(status) => Some((status, !arrives.control.contains(control))),
            Control::Reset(_) | Control::ResetAck(_) => None,
        });
        let piggybacked = sent.piggybacked.iter().map(|(_, status)| (status, arrives.piggybacked.is_none()));
        // STATUS PDUs without LSN carry only commands and report nothing.
        let of_umts = alone
            .chain(piggybacked)
            .filter_map(|(status, lost)| Some((status.lsn?, status.missing.count() as u32, lost)));
        let of_lte = sent.lte.status.iter();
        let of_lte = of_lte.map(|status| (status.ack_sn, status.missing(), arrives.lte.status.is_none()));
        let of_nr = sent.nr.status.iter();
        let of_nr = of_nr.map(|status| (status.ack_sn, status.missing(), arrives.nr.status.is_none()));
        for (lsn, missing_pdus, lost) in of_umts.chain(of_lte).chain(of_nr) {
            let lsn = self.reported_from + lsn;
            cx.probe(Kind::RlcStatus, || Event::RlcStatus {
                ue,
                bearer: reported,
                direction,
                lsn,
                missing_pdus,
                lost,
            });
        }
        for run in &sent.data.runs {
            for (sns, lost) in run.outcomes(&arrives.data.runs) {
                let (first_sn, pdus, poll) = (self.numbered_from + sns.first, sns.len() as u32, run.poll);
                self.numbered_to = self.numbered_to.max(first_sn + u64::from(pdus));
                cx.probe(Kind::RlcData, || Event::RlcData {
                    ue,
                    bearer,
                    direction,
                    first_sn,
                    pdus,
                    poll,
                    lost,
                });
            }
        }
        let mut arrived = arrives.nr.data.iter().peekable();
        for pdu in &sent.nr.data {
            let (first_sn, poll) = (self.numbered_from + pdu.sn, pdu.poll);
            self.numbered_to = self.numbered_to.max(first_sn + 1);
            let lost = arrived.next_if_eq(&pdu).is_none();
            cx.probe(Kind::RlcData, || Event::RlcData {
                ue,
                bearer,
                direction,
                first_sn,
                pdus: 1,
                poll,
                lost,
            });
        }
    }

    /// Records each SDU whose end is sent in these PDUs for the first time.
    #[cold]
    pub fn note_ends(&mut self, cx: &mut Cx<'_>, sent: &Tti) {
        if !cx.probes(Kind::RlcSdu) {
            return;
        }
        let (ue, direction) = (self.buffer.ue, self.buffer.dir);
        let bearer = cx.bearer_number(self.buffer.index() as usize);
        for end in &sent.data.ends {
            if end.sdu >= self.next_ended
                && let Some((flow, packet)) = self.sdus.entry(end.sdu).map(|sdu| (sdu.flow, sdu.id))
            {
                let passed = (end.sdu - self.next_ended) as usize;
                let number = self.numbers.get(passed).copied().unwrap_or(end.sdu);
                self.numbers.drain(..self.numbers.len().min(passed + 1));
                self.next_ended = end.sdu + 1;
                let (first_sn, pdus) = (self.numbered_from + end.first, (end.sn - end.first + 1) as u32);
                self.numbered_to = self.numbered_to.max(first_sn + u64::from(pdus));
                cx.probe(Kind::RlcSdu, || Event::RlcSdu {
                    ue,
                    flow,
                    bearer,
                    packet,
                    direction,
                    sdu: number,
                    first_sn,
                    pdus,
                });
            }
        }
    }

    /// Accounts for the SDUs whose transmission started in a TTI.
    #[inline(always)]
    pub fn settle_started(&mut self, cx: &mut Cx<'_>, report: &mut Report) {
        for number in report.started.clone() {
            if let Some(sdu) = self.sdus.get(number).filter(|sdu| !sdu.released) {
                let (flow, seq, len) = (sdu.flow, sdu.seq, sdu.len);
                self.buffer.start(cx, flow, seq, len);
            }
        }
        report.started = 0..0;
    }

    /// Settles the report of the entity that sends in this direction.
    #[inline(always)]
    pub fn settle_sent(&mut self, cx: &mut Cx<'_>, report: &mut Report) {
        if cx.captures_pdus() {
            self.capture.settle(report);
        }
        report.began_anew = false;
        if !(report.confirmed.is_empty() && report.discarded.is_empty() && report.unsent.is_empty()) {
            self.release_all(cx, report);
        }
    }

    /// Continues the numbering in events if the entity has restarted, at the first report of the restart.
    #[cold]
    pub fn note_beginning(&mut self, report: &Report) {
        if report.began_anew && !self.has_noted {
            self.numbered_from = self.numbered_to.next_multiple_of(self.ttis.sequence_numbers.max(1));
            self.has_noted = true;
        }
    }

    /// Completes the handling of a restart. Returns the number of PDU 0 in events.
    pub fn settle_beginning(&mut self) -> u64 {
        self.has_noted = false;
        self.numbered_from
    }

    #[inline(never)]
    fn release_all(&mut self, cx: &mut Cx<'_>, report: &mut Report) {
        for &number in &report.confirmed {
            self.release(cx, number, RadioEventKind::Delivered);
        }
        for &number in &report.discarded {
            self.give_up(cx, number);
        }
        for &number in &report.unsent {
            self.drop_unsent(cx, number);
        }
        report.confirmed.clear();
        report.discarded.clear();
        report.unsent.clear();
        self.note_occupancy(cx);
        self.sdus.forget();
    }

    /// Records the buffer's occupancy from now on.
    #[inline]
    fn note_occupancy(&mut self, cx: &mut Cx<'_>) {
        let queued_sdus = cx.bearer(self.buffer.index() as usize).sdus();
        self.occupancy.set(cx.now, queued_sdus);
    }

    /// Settles the report of the entity that receives in this direction.
    #[inline(always)]
    pub fn settle_received(&mut self, cx: &mut Cx<'_>, report: &mut Report) {
        if !(report.up.is_empty() && report.lost.is_empty()) {
            self.hand_up_all(cx, report);
        }
    }

    #[inline(never)]
    fn hand_up_all(&mut self, cx: &mut Cx<'_>, report: &mut Report) {
        for &number in &report.up {
            self.hand_up(cx, number);
        }
        for &number in &report.lost {
            self.lose_sdu(cx, number);
        }
        report.up.clear();
        report.lost.clear();
        self.sdus.forget();
    }

    /// The entity that sends in this direction is done with an SDU.
    #[inline(always)]
    fn release(&mut self, cx: &mut Cx<'_>, number: u64, kind: RadioEventKind) {
        let Some(sdu) = self.sdus.get(number).filter(|sdu| !sdu.released) else { return };
        sdu.released = true;
        let (id, flow, seq, len) = (sdu.id, sdu.flow, sdu.seq, sdu.len);
        self.buffer.leave(cx, flow, len, kind == RadioEventKind::Delivered);
        if cx.probes(Kind::RlcConfirmed) {
            self.note_confirmed(cx, Gone { id, flow, seq, len });
        }
        self.buffer.tell(cx, kind, flow, seq, len);
    }

    #[cold]
    fn note_confirmed(&self, cx: &mut Cx<'_>, Gone { id: packet, flow, len: len_bytes, .. }: Gone) {
        let (ue, direction, index) = (self.buffer.ue, self.buffer.dir, self.buffer.index() as usize);
        let (bearer, queued_sdus) = (cx.bearer_number(index), cx.bearer(index).sdus());
        cx.probe(Kind::RlcConfirmed, || Event::RlcConfirmed {
            ue,
            flow,
            bearer,
            packet,
            direction,
            len_bytes,
            queued_sdus,
        });
    }

    /// The entity discards an SDU; its peer reports whether the SDU arrives anyway.
    #[inline(never)]
    fn give_up(&mut self, cx: &mut Cx<'_>, number: u64) {
        if let Some(sdu) = self.sdus.get(number) {
            sdu.given_up = true;
        }
        self.release(cx, number, RadioEventKind::Discarded);
    }

    /// The entity discards an SDU whose transmission has not started.
    #[inline(never)]
    fn drop_unsent(&mut self, cx: &mut Cx<'_>, number: u64) {
        if let Some(sdu) = self.sdus.get(number).filter(|sdu| !sdu.released) {
            cx.bearer(self.buffer.index() as usize).start(sdu.flow, sdu.len);
            self.give_up(cx, number);
            self.drop_sdu(cx, number, Reason::SduDiscarded);
        }
    }

    /// An SDU will not be delivered to the upper layer at the other side.
    #[inline(never)]
    fn lose_sdu(&mut self, cx: &mut Cx<'_>, number: u64) {
        let Some(sdu) = self.sdus.get(number) else { return };
        // With retransmissions, a receiver loses only SDUs that its peer discards, by a discard or a reset.
        let given_up = sdu.given_up || self.ttis.retransmits;
        let reason = if given_up { Reason::MaxTransmissions } else { Reason::LinkLoss };
        self.drop_sdu(cx, number, reason);
    }

    fn drop_sdu(&mut self, cx: &mut Cx<'_>, number: u64, reason: Reason) {
        if let Some(packet) = self.sdus.get(number).and_then(|sdu| sdu.packet.take()) {
            self.counts.sdus_lost += 1;
            cx.drop(self.buffer.dir, packet, reason);
        }
    }

    /// What the entity has given up will not arrive.
    #[inline(never)]
    pub fn lose_given_up(&mut self, cx: &mut Cx<'_>) {
        for number in self.sdus.given_up() {
            self.drop_sdu(cx, number, Reason::MaxTransmissions);
        }
        self.sdus.forget();
    }

    /// An SDU is handed up at the other side.
    #[inline]
    fn hand_up(&mut self, cx: &mut Cx<'_>, number: u64) {
        let Some(sdu) = self.sdus.get(number) else { return };
        let Some(packet) = sdu.packet.take() else { return };
        let delay = cx.now.since(sdu.entered);
        self.counts.delivered.sdus += 1;
        self.counts.delivered.bytes += u64::from(packet.len);
        self.buffer.probe_delivered(cx, Gone::of(&packet), delay);
        cx.emit(self.buffer.dir, packet);
    }

    pub fn bytes_delivered(&self) -> u64 {
        self.counts.delivered.bytes
    }

    /// Report fields common to all such bearers, with the report of the entity, and of PDCP at the other end. `most`: bytes
    /// that it could have carried, if that is not what its rate says.
    pub fn report(
        &self,
        cx: &mut Cx<'_>,
        most: Option<f64>,
        entity: Value,
        pdcp: Option<Value>,
    ) -> Map<String, Value> {
        let (counts, capacity) = (&self.counts, most.unwrap_or_else(|| self.capacity.bytes(cx.now)));
        let mut report = self.buffer.report(counts.delivered);
        report.insert("sdus_discarded".into(), counts.sdus_lost.into());
        report.insert("slots".into(), counts.ttis.into());
        report.insert("pdus_sent".into(), counts.pdus_sent.into());
        report.insert("pdus_lost".into(), counts.pdus_lost.into());
        report.insert("utilisation".into(), share(counts.delivered.bytes as f64, capacity).into());
        report.insert("mean_queued_sdus".into(), self.occupancy.mean(cx.now).into());
        report_service(&mut report, None, None);
        report.insert("rlc".into(), entity);
        report.extend(pdcp.map(|pdcp| ("pdcp".into(), pdcp)));
        report
    }
}
