//! One direction of data in a connection: the data of one end, and the acknowledgments of the other.

pub mod causes;
pub mod flight;
pub mod late;
pub mod limits;
pub mod pieces;
pub mod retransmissions;
pub mod rounds;
pub mod rtt;
mod unseen;

use airpath_core::time::{Duration, Instant};
use serde::Serialize;

use crate::acks::Acks;
use crate::delivery::Delivery;
use crate::segment::{ACK, FIN, PSH, RST, SYN, Segment};
use crate::sequence::Sequence;
use crate::series::{Curve, Series};
use causes::{Causes, Place};
use flight::Flight;
use late::{Filling, Late};
pub use limits::Spending;
use limits::{Heard, Limits, Sent};
use pieces::{Piece, Pieces};
use retransmissions::{NewAck, Retransmissions};
use rtt::Rtt;
use unseen::Unseen;

/// Without anything better: RFC 9293 (3.7.1).
const DEFAULT_MSS: u64 = 536;

/// Counters of a flow.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Counters {
    pub segments: u64,
    pub bytes: u64,
    /// Retransmitted segments with data, as seen at the place of the capture.
    pub retransmissions: u64,
    pub retransmitted_bytes: u64,
    /// Retransmissions of segments seen here before.
    pub seen_before: u64,
    /// Probes of a closed window: one byte beyond it (RFC 9293 (3.8.6.1)), or as Linux sends them, without data and one
    /// byte below the acknowledged data.
    pub window_probes: u64,
    /// Keep-alives (RFC 9293 (3.8.4)): from one byte below the acknowledged data, with at most one byte, while the
    /// window is open.
    pub keepalives: u64,
    /// ACKs without data.
    pub pure_acks: u64,
    /// RFC 5681 (2); `None` if ACKs came again and it is not known whether anything was in flight.
    pub dupacks: Option<u64>,
    /// ACKs below an earlier acknowledgment number: ACKs that were overtaken.
    pub old_acks: u64,
    /// DSACK blocks.
    pub dsacks: u64,
    /// Bytes acknowledged that were never seen here.
    pub unseen_bytes: u64,
    /// Segments recorded after their ACK.
    pub after_their_ack: u64,
    /// Data or ACKs that belong nowhere near the others.
    pub out_of_window: u64,
}

/// With nothing in flight, a sender with more data has reacted by then.
const REACTION: Duration = Duration::from_millis(1);

/// One direction of data.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    sequence: Sequence,
    /// Offset of the first known byte.
    first: Option<u64>,
    una: Option<u64>,
    /// End of the data seen or acknowledged.
    max: Option<u64>,
    /// Offset of the FIN.
    fin: Option<u64>,
    largest_payload: u64,
    /// Value of the receiver's SYN.
    pub offered_mss: Option<u16>,
    /// Shift of the windows that the receiver announces; `None` if unknown.
    pub window_shift: Option<u8>,
    /// Time from an ACK passing here to the segment that it triggers.
    pub answer: Duration,
    latest_window: Option<u16>,
    gap_dupacks: u64,
    pieces: Pieces,
    causes: Causes,
    retransmissions: Retransmissions,
    late: Late,
    unseen: Unseen,
    /// Octet beyond a closed window that the receiver has not taken, as it was last sent.
    refused: Option<Piece>,
    /// A packet of the sender was captured.
    has_sender: bool,
    /// End of the data that the receiver reports by SACK blocks.
    reported_to: u64,
    /// ACKs like the one before while nothing shows that something is in flight.
    unclear_dupacks: u64,
    pub rtt: Rtt,
    pub flight: Flight,
    limits: Limits,
    pub acks: Acks,
    pub delivery: Delivery,
    pub progress: Series,
    pub counters: Counters,
    pub first_data: Option<Instant>,
    pub last_data: Option<Instant>,
    /// Time of the last new acknowledgment.
    pub last_new_ack: Option<Instant>,
    first_ack: Option<Instant>,
    /// The sender's SYN was captured.
    is_opened: bool,
    /// End of the SYN's data that its answer did not acknowledge.
    refused_to: Option<u64>,
}

impl Flow {
    /// The sender's SYN: data starts after it.
    pub fn on_syn(&mut self, seq: u32) {
        self.is_opened = true;
        if self.sequence.is_new() {
            let first = self.sequence.offset(seq.wrapping_add(1));
            (self.first, self.una, self.max) = (first, first, first);
        }
    }

    /// Whether a sequence number can be one of this flow's.
    pub fn is_near(&self, number: u32) -> bool {
        self.sequence.is_near(number)
    }

    /// Whether a number is close to this flow's: see [`Sequence::is_close`].
    pub fn is_close(&self, number: u32) -> bool {
        self.sequence.is_close(number)
    }

    /// Whether a segment has data, and none beyond what was seen before.
    pub fn has_seen(&mut self, segment: &Segment) -> bool {
        let end = self.sequence.offset(segment.seq.wrapping_add(segment.payload));
        segment.payload > 0 && end.zip(self.max).is_some_and(|(end, max)| end <= max)
    }

    pub fn handle_data(&mut self, now: Instant, segment: &Segment) {
        self.has_sender = true;
        if segment.has(RST) || segment.has(SYN) && segment.payload == 0 {
            return;
        }
        if segment.payload == 0 && !segment.has(FIN) {
            return self.on_bare_ack(now, segment);
        }
        // RFC 7413 (3): a SYN may carry data, which starts after it.
        let seq = segment.seq.wrapping_add(u32::from(segment.has(SYN)));
        let Some(start) = self.sequence.offset(seq) else {
            self.counters.out_of_window += 1;
            return;
        };
        let payload = u64::from(segment.payload);
        let end = start + payload;
        if segment.has(FIN) {
            self.fin.get_or_insert(end);
            // An ACK of the FIN counted it as an octet of data.
            self.max = self.max.map(|max| if max == end + 1 { end } else { max });
            self.unseen.take(end, end + 1);
            self.counters.unseen_bytes = self.unseen.bytes;
        }
        if payload == 0 {
            return self.on_end(now, end, segment);
        }
        if payload == 1 && self.una == Some(start + 1) {
            // A capture that begins with a keep-alive takes its byte for data.
            let was_data = !self.is_opened && self.counters.segments == 1 && self.counters.bytes == 1;
            if was_data {
                (self.counters.segments, self.counters.bytes) = (0, 0);
                self.counters.keepalives += 1;
            }
            return self.on_probe(now);
        }
        if let Some(back) = self.rtt.on_data(now, segment.timestamps) {
            self.limits.on_back(now, back);
        }
        self.late.on_data(now, segment.timestamps);
        let counters = &mut self.counters;
        counters.segments += 1;
        counters.bytes += payload;
        self.first_data.get_or_insert(now);
        self.last_data = Some(now);
        self.flight.start(now);
        self.largest_payload = self.largest_payload.max(payload);
        self.first.get_or_insert(start);
        let max = *self.max.get_or_insert(start);
        let is_probe = payload == 1
            && self.una.zip(self.flight.window()).is_some_and(|(una, window)| start >= una + window);
        let tsval = segment.timestamps.map(|(tsval, _)| tsval);
        if is_probe {
            self.counters.window_probes += 1;
            self.limits.on_probe(now);
            if start >= max {
                // RFC 9293 (3.8.6.1): an octet that the receiver refuses is sent again as new data once the window
                // opens.
                self.refused = Some(Piece::new(now, (start, end), self.counters.segments, tsval));
                return;
            }
        }
        if start >= max {
            let is_first = self.una.is_none_or(|una| una >= max);
            self.causes.on_new_data(now, is_first, self.answer);
            let has_paused =
                self.last_new_ack.is_none_or(|latest| now.since(latest) > self.answer + REACTION);
            if is_first && has_paused {
                self.delivery.pause();
            }
            self.push(now, start, end, tsval);
            if start > max {
                self.gap_dupacks = 0;
            }
        } else {
            if !is_probe {
                self.handle_below(now, start, end.min(max), tsval);
            }
            if end > max {
                self.push(now, max, end, tsval);
            }
        }
        if end > max {
            self.max = Some(end);
            self.sequence.move_to(end);
            if !is_probe {
                let sent = Sent {
                    end,
                    bytes: end - start.max(max),
                    full_segment: self.full_segment(),
                    offered: self.offered_mss.map(u64::from),
                    echo: segment.timestamps.map(|(_, echo)| echo),
                    is_pushed: segment.has(PSH),
                };
                self.limits.on_new_data(now, &sent);
            }
        }
        self.update_flight(now);
    }

    /// A segment that starts one byte below the acknowledged data: the other end replies to it.
    fn on_probe(&mut self, now: Instant) {
        if self.flight.window() == Some(0) {
            self.counters.window_probes += 1;
            self.limits.on_probe(now);
        } else {
            self.counters.keepalives += 1;
        }
    }

    /// The sender's sequence number in an ACK without data shows how far it has sent.
    fn on_bare_ack(&mut self, now: Instant, segment: &Segment) {
        let (Some(una), Some(end)) = (self.una, self.sequence.offset(segment.seq)) else { return };
        // Linux: `tcp_xmit_probe_skb`, for windows and keep-alives.
        if end + 1 == una && self.max == Some(una) {
            return self.on_probe(now);
        }
        let is_allowed = self.flight.window().is_some_and(|window| end <= una + window);
        if is_allowed && self.fin.is_none_or(|fin| end <= fin) {
            self.on_end(now, end, segment);
        }
    }

    /// All data before `end` was sent, as shown by a FIN or an ACK without data. Data lost before the place of the
    /// capture leaves a gap.
    fn on_end(&mut self, now: Instant, end: u64, segment: &Segment) {
        if self.max.is_some_and(|max| end > max) {
            self.max = Some(end);
            self.sequence.move_to(end);
            self.gap_dupacks = 0;
            self.push(now, end, end, segment.timestamps.map(|(tsval, _)| tsval));
            self.update_flight(now);
        }
    }

    fn push(&mut self, now: Instant, start: u64, end: u64, tsval: Option<u32>) {
        // Data sent right after it shows that the receiver accepted it.
        if let Some(probe) = self.refused.take().filter(|probe| probe.end == start) {
            self.pieces.push(probe);
        }
        self.pieces.push(Piece::new(now, (start, end), self.counters.segments, tsval));
    }

    /// Data below the highest offset seen: retransmitted or late.
    fn handle_below(&mut self, now: Instant, start: u64, end: u64, tsval: Option<u32>) {
        let una = self.una.unwrap_or(start);
        let new_bytes = self.unseen.take(start, end);
        if new_bytes > 0 {
            self.counters.unseen_bytes = self.unseen.bytes;
            self.counters.after_their_ack += 1;
            // Data not seen before is no retransmission.
            if new_bytes == end - start {
                return;
            }
        }
        let before = self.pieces.after(start).copied();
        let was_seen = self.pieces.send_again(now, start, end, tsval) || end <= una;
        if !was_seen {
            let filling = Filling {
                at: now,
                number: self.counters.segments,
                tsval,
                dupacks: self.gap_dupacks,
                shortest_rtt: self.rtt.shortest.map(|forward| forward + self.answer),
            };
            let is_late = before.is_some_and(|behind| self.late.handle_filling(&filling, &behind));
            self.push(now, start, end, tsval);
            if is_late {
                return;
            }
            // It was sent before, at an unknown time.
            self.pieces.send_again(now, start, end, tsval);
        }
        self.counters.retransmissions += 1;
        self.counters.retransmitted_bytes += end - start - new_bytes;
        self.counters.seen_before += u64::from(was_seen);
        let place = Place {
            start,
            end,
            una,
            max: self.max.unwrap_or(end),
            mss: self.full_segment(),
            has_sacked: self.pieces.has_sacked(),
            answer: self.answer,
            was_seen,
            is_refused: self.refused_to.is_some_and(|to| end <= to),
            last_at: before.map(|piece| piece.last_at),
            was_retransmitted: before.is_some_and(|piece| piece.transmissions > 1),
            timeout: self.rtt.timeout(),
            shortest_rtt: self.rtt.shortest.map(|forward| forward + self.answer),
        };
        let cause = self.causes.handle_retransmission(now, &place);
        self.retransmissions.push(now, (start, end), tsval, cause, una);
        if end > una {
            self.limits.on_retransmission(now, cause);
        }
    }

    /// An ACK; `is_repeat` if the data that it carries passed before.
    pub fn handle_ack(&mut self, now: Instant, segment: &Segment, is_repeat: bool) {
        if !segment.has(ACK) || segment.has(RST) {
            return;
        }
        let is_pure = segment.payload == 0 && !segment.has(SYN | FIN);
        let Some(mut ack) = self.sequence.offset(segment.ack) else {
            self.counters.out_of_window += 1;
            return;
        };
        if is_pure {
            self.counters.pure_acks += 1;
            self.acks.on_ack(now);
        }
        // A D-SACK of a FIN that came twice reports its octet, which `ack` below leaves out.
        let edge = ack;
        if let Some(fin) = self.fin
            && ack == fin + 1
        {
            ack = fin;
        }
        self.first.get_or_insert(ack);
        self.first_ack.get_or_insert(now);
        let max = *self.max.get_or_insert(ack);
        let una = *self.una.get_or_insert_with(|| self.first.unwrap_or(ack).min(ack));
        let is_same_window = self.latest_window.replace(segment.window) == Some(segment.window);
        if segment.has(SYN) && max > ack {
            self.refused_to = Some(max);
        }
        let has_news = self.take_sack(now, segment, edge);
        // Without the sender's packets SACK blocks alone show that data are in flight. The octet of a FIN is none.
        let is_in_flight = max > una || self.reported_to.min(self.fin.unwrap_or(u64::MAX)) > una;
        if ack > una {
            self.on_new_ack(now, segment, una, ack, max);
        } else if ack == una && is_pure && is_same_window && is_in_flight {
            *self.counters.dupacks.get_or_insert(0) += 1;
            self.gap_dupacks += 1;
            self.causes.on_dupack(now);
        } else if ack == una {
            self.unclear_dupacks += u64::from(is_pure && is_same_window && !self.has_sender);
            if has_news && is_in_flight {
                self.causes.on_dupack(now);
            } else {
                self.causes.on_other_ack(now);
            }
        } else {
            self.counters.old_acks += 1;
        }
        self.causes.set_overtaken(now, self.pieces.is_overtaken());
        if ack >= una {
            let shift = if segment.has(SYN) { Some(0) } else { self.window_shift };
            self.flight.set_window(now, shift.map(|shift| u64::from(segment.window) << shift));
        }
        self.update_flight(now);
        let heard = Heard {
            ack,
            window: self.flight.window(),
            tsval: segment.timestamps.map(|(tsval, _)| tsval),
            has_data: segment.payload > 0 && !is_repeat,
        };
        self.limits.on_ack(now, heard, self.answer);
    }

    fn on_new_ack(&mut self, now: Instant, segment: &Segment, una: u64, ack: u64, max: u64) {
        if let Some(probe) = self.refused.take().filter(|probe| probe.end <= ack) {
            // The receiver took it after all.
            self.pieces.push(probe);
            self.max = Some(max.max(probe.end));
        }
        if ack > max {
            self.max = Some(ack);
            self.sequence.move_to(ack);
        }
        let echo = segment.timestamps.map(|(_, echo)| echo);
        let from = una.max(self.first.unwrap_or(una));
        let acked = self.pieces.acknowledge((now, self.rtt.shortest), (from, ack), echo, &mut self.unseen);
        self.counters.unseen_bytes = self.unseen.bytes;
        self.late.on_late_bytes(acked.late_bytes);
        let sample = self.rtt.on_new_ack(now, segment.timestamps, &acked, (ack, max.max(ack)));
        if let Some(sample) = sample {
            self.limits.on_forward(sample, self.rtt.shortest);
        }
        let new = NewAck { at: now, una, ack, echo, shortest_rtt: self.rtt.shortest };
        self.una = Some(ack);
        self.gap_dupacks = 0;
        self.causes.on_advance(now, ack);
        if self.retransmissions.on_ack(&new) {
            self.causes.on_spurious(segment.timestamps.is_some());
        }
        if segment.payload == 0 {
            self.acks.on_new_ack(now, acked.last_at);
        }
        self.delivery.on_ack(now, ack, self.rtt.shortest);
        self.last_new_ack = Some(now);
        self.progress.add(now, ack.saturating_sub(self.first.unwrap_or(ack)) as f64);
    }

    /// Reads SACK blocks; whether they report something new.
    fn take_sack(&mut self, now: Instant, segment: &Segment, ack: u64) -> bool {
        let blocks = segment.sack();
        if blocks.is_empty() {
            return false;
        }
        let mut offsets = [None; 4];
        for (offset, (left, right)) in offsets.iter_mut().zip(blocks) {
            let edges = self.sequence.offset(*left).zip(self.sequence.offset(*right));
            *offset = edges.filter(|edges| edges.0 < edges.1);
        }
        let mut has_news = false;
        for (at, block) in offsets.into_iter().enumerate() {
            let Some(block) = block else { continue };
            // RFC 2883 (4): below the ACK, or within the second block.
            let is_within = |outer: (u64, u64)| outer.0 <= block.0 && block.1 <= outer.1;
            if at == 0 && (block.1 <= ack || offsets[1].is_some_and(is_within)) {
                self.counters.dsacks += 1;
                if self.retransmissions.on_dsack(block) {
                    self.causes.on_spurious(true);
                }
                continue;
            }
            self.reported_to = self.reported_to.max(block.1);
            let (is_new, late_bytes) = self.pieces.sack((now, self.rtt.shortest), block.0, block.1);
            self.late.on_late_bytes(late_bytes);
            has_news |= is_new;
            if is_new {
                self.retransmissions.on_sack(now, block, self.rtt.shortest);
            }
        }
        has_news
    }

    fn update_flight(&mut self, now: Instant) {
        if let (Some(una), Some(max)) = (self.una, self.max)
            && self.first_data.is_some()
        {
            self.flight.set(now, max - una.min(max), self.full_segment());
        }
    }

    /// Bytes in flight and windows. Without a captured ACK nothing says what had arrived.
    pub fn flight(&self, start: Instant) -> flight::Report {
        let report = self.flight.report(start);
        if self.first_ack.is_some() {
            return report;
        }
        flight::Report {
            max_bytes: None,
            mean_bytes: None,
            idle_share: None,
            over_time: Curve::default(),
            ..report
        }
    }

    /// Payload of a full segment, as known so far.
    pub fn full_segment(&self) -> u64 {
        let offered = self.offered_mss.map_or(self.largest_payload, u64::from);
        match self.largest_payload.min(offered) {
            0 => DEFAULT_MSS,
            largest => largest,
        }
    }

    /// Bytes acknowledged, without data from before the capture.
    pub fn bytes_acked(&self) -> u64 {
        self.una.zip(self.first).map_or(0, |(una, first)| una.saturating_sub(first))
    }

    /// Bytes of the stream seen or acknowledged.
    pub fn bytes_known(&self) -> u64 {
        self.max.zip(self.first).map_or(0, |(max, first)| max.saturating_sub(first))
    }

    /// Time from the first data to the last ACK for data, or between the first and last of those that exist.
    pub fn duration(&self) -> Option<Duration> {
        let from = self.first_data.or(self.first_ack)?;
        let to = self.last_new_ack.or(self.last_data)?;
        (to > from).then(|| to.since(from))
    }

    pub fn causes(&self) -> &Causes {
        &self.causes
    }

    /// Use of its time; `None` where data or ACKs were not captured.
    pub fn spending(&self) -> Option<Spending> {
        self.first_ack.and(self.first_data).and_then(|_| self.limits.spending())
    }

    pub fn spurious(&self) -> retransmissions::Spurious {
        self.retransmissions.spurious()
    }

    /// The counters.
    pub fn counted(&self) -> Counters {
        let is_unclear = !self.has_sender && self.unclear_dupacks > 0;
        let dupacks = if is_unclear { None } else { Some(self.counters.dupacks.unwrap_or(0)) };
        Counters { dupacks, ..self.counters }
    }

    pub fn late(&self) -> late::Report {
        self.late.report(self.counters.segments)
    }

    /// Segments that could not be followed because too many were in flight.
    pub fn forgotten(&self) -> u64 {
        self.pieces.forgotten
    }

    pub fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.pieces.bytes()
            + self.unseen.memory()
            + self.causes.bytes()
            + self.retransmissions.bytes()
            + self.rtt.bytes()
            + self.flight.bytes()
            + self.limits.bytes()
            + self.acks.bytes()
            + self.delivery.bytes()
            + self.progress.bytes()
    }
}

#[cfg(test)]
mod tests;
