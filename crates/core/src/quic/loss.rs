//! Loss detection: RFC 9002 (6) and appendix A, persistent congestion (7.6).

use super::Streams;
use super::connection::{Connection, Role};
use super::ecn;
use super::frame::{Counts, Frame, Space};
use super::rtt::GRANULARITY;
use super::space::{MAX_ACK_DELAY, PacketSpace, Sent};
use crate::rlc::SnRange;
use crate::time::{Duration, Instant};

/// Later packets whose acknowledgment makes one lost: (6.1.1).
const PACKET_THRESHOLD: u64 = 3;
/// Probe timeouts that persistent congestion lasts: (7.6.1).
const PERSISTENT: u64 = 3;
/// The largest exponent of the backoff.
const MOST_BACKOFF: u32 = 16;

impl Connection {
    /// An ACK of packets in these ranges arrived, perhaps with ECN counts.
    pub(super) fn handle_ack(
        &mut self,
        now: Instant,
        space: Space,
        delay: Duration,
        (ranges, counts): (&[SnRange], Option<Counts>),
        streams: &mut dyn Streams,
    ) {
        let Some(largest) = ranges.first().map(|range| range.end - 1) else { return };
        let of_space = &mut self.spaces[space as usize];
        if largest >= of_space.next_number {
            return;
        }
        let raises_largest = of_space.largest_acked.is_none_or(|before| largest > before);
        of_space.largest_acked = of_space.largest_acked.max(Some(largest));
        let mut acked = Vec::new();
        for range in ranges {
            let numbers: Vec<u64> =
                of_space.sent.range(range.first..range.end).map(|(number, _)| *number).collect();
            acked.extend(
                numbers.into_iter().filter_map(|number| Some((number, of_space.sent.remove(&number)?))),
            );
            while let Some(wrong) = of_space
                .declared_lost
                .as_slice()
                .iter()
                .find(|lost| lost.first < range.end && range.first < lost.end)
            {
                let both = SnRange::new(wrong.first.max(range.first), wrong.end.min(range.end));
                of_space.declared_lost.remove(both);
                self.report.spurious_losses += both.len();
            }
        }
        if acked.is_empty() {
            return;
        }
        // (5.1): only of the largest one, and only if something elicited the ACK.
        let newest = acked.iter().find(|(number, _)| *number == largest);
        let elicited = acked.iter().any(|(_, sent)| sent.elicits_ack);
        let sample = newest.filter(|_| elicited).map(|(_, sent)| now.since(sent.sent_at));
        if let Some(sample) = sample {
            // (5.3).
            let delay = if space == Space::Data { delay } else { Duration::ZERO };
            let delay = if self.is_confirmed { delay.min(MAX_ACK_DELAY) } else { delay };
            self.rtt.add(sample, delay);
            self.first_sample_at.get_or_insert(now);
            self.latest_sample = Some(sample);
            self.rtts.add(sample);
        }
        let delivered =
            acked.iter().filter(|(_, sent)| sent.in_flight).map(|(_, sent)| (sent.end, sent.bytes));
        self.congestion.on_delivered(now, delivered);
        if let Some(ecn) = &mut self.ecn {
            let newly_acked = acked.iter().filter(|(_, sent)| sent.is_ect).count() as u64;
            let marked = ecn.on_ack(&ecn::Ack { space, raises_largest, newly_acked, counts });
            if let Some(sent_at) = acked.iter().map(|(_, sent)| sent.sent_at).max().filter(|_| marked > 0) {
                self.congestion.on_marked(now, sent_at, self.rtt.smoothed);
            }
        }
        self.detect_lost(now, space, streams);
        let mut in_flight = Vec::new();
        for (_, sent) in &acked {
            if sent.in_flight {
                in_flight.push((sent.sent_at, sent.bytes));
            }
            self.handle_acked_frames(now, space, sent, streams);
        }
        let oldest = if self.congestion.models_path() { self.settled() } else { 0 };
        self.congestion.on_acked(now, &in_flight, oldest, sample, self.rtt.smoothed);
        if self.peer_validated() {
            self.probe_count = 0;
        }
        self.set_timer(now);
    }

    /// Offset up to which all packets that were in flight are acknowledged or lost.
    fn settled(&self) -> u64 {
        let oldest =
            |space: &PacketSpace| space.sent.first_key_value().map(|(_, sent)| sent.end - sent.bytes);
        self.spaces.iter().filter_map(oldest).min().unwrap_or(self.congestion.state().max)
    }

    fn handle_acked_frames(&mut self, now: Instant, space: Space, sent: &Sent, streams: &mut dyn Streams) {
        for frame in &sent.frames {
            match frame {
                Frame::Stream(data) => streams.handle_acked(now, data),
                Frame::Crypto(range) => self.spaces[space as usize].handle_acked_crypto(*range),
                _ => {}
            }
        }
    }

    /// (A.10): packets far enough behind the largest acknowledged one are lost.
    fn detect_lost(&mut self, now: Instant, space: Space, streams: &mut dyn Streams) {
        let delay = self.rtt.loss_delay();
        let of_space = &mut self.spaces[space as usize];
        of_space.loss_time = None;
        let Some(largest) = of_space.largest_acked else { return };
        let mut lost = Vec::new();
        for (number, sent) in of_space.sent.range(..=largest) {
            let at = sent.sent_at + delay;
            if at <= now || largest >= number + PACKET_THRESHOLD {
                lost.push(*number);
            } else {
                of_space.loss_time = Some(of_space.loss_time.map_or(at, |earliest| earliest.min(at)));
            }
        }
        let lost: Vec<(u64, Sent)> =
            lost.into_iter().filter_map(|number| Some((number, of_space.sent.remove(&number)?))).collect();
        if lost.is_empty() {
            return;
        }
        let (mut in_flight, mut latest) = (Vec::new(), Instant::ZERO);
        for (number, sent) in &lost {
            self.spaces[space as usize].declared_lost.insert(SnRange::new(*number, number + 1));
            if sent.in_flight {
                in_flight.push((sent.end, sent.bytes));
                latest = latest.max(sent.sent_at);
            }
            self.retransmit(space, &sent.frames, streams);
        }
        self.report.packets_lost += in_flight.len() as u64;
        if !in_flight.is_empty() {
            self.congestion.on_lost(now, &in_flight, latest, self.rtt.smoothed);
            if self.is_persistent(&lost) {
                self.congestion.collapse(now);
            }
        }
    }

    /// (7.6.2): whether consecutive lost packets that elicit ACKs span the duration of persistent congestion.
    fn is_persistent(&self, lost: &[(u64, Sent)]) -> bool {
        let Some(since) = self.first_sample_at else { return false };
        let timeout =
            self.rtt.smoothed + self.rtt.variation.saturating_mul(4).max(GRANULARITY) + MAX_ACK_DELAY;
        let duration = timeout.saturating_mul(PERSISTENT);
        let (mut first, mut expected): (Option<Instant>, u64) = (None, 0);
        for (number, sent) in lost.iter().filter(|(_, sent)| sent.sent_at > since) {
            if *number != expected {
                first = None;
            }
            expected = number + 1;
            if sent.elicits_ack {
                let first = *first.get_or_insert(sent.sent_at);
                if sent.sent_at.since(first) > duration {
                    return true;
                }
            }
        }
        false
    }

    /// Frames go again in new packets: RFC 9000 (13.3).
    fn retransmit(&mut self, space: Space, frames: &[Frame], streams: &mut dyn Streams) {
        for frame in frames {
            match frame {
                Frame::Stream(data) => streams.handle_lost(data),
                Frame::Crypto(range) => self.spaces[space as usize].handle_lost_crypto(*range),
                Frame::HandshakeDone => self.owes_done = true,
                Frame::MaxData(_) | Frame::MaxStreamData { .. } => self.windows.handle_lost(frame),
                Frame::Ping | Frame::Ack { .. } => {}
            }
        }
    }

    /// (A.8).
    pub(super) fn set_timer(&mut self, now: Instant) {
        self.timer = match self.spaces.iter().filter_map(|space| space.loss_time).min() {
            Some(at) => Some(at),
            None if self.is_amplification_limited() => None,
            None => self.probe_time(now).map(|(at, _)| at),
        };
    }

    /// When a probe is sent, and in which space: (A.8), `GetPtoTimeAndSpace`.
    fn probe_time(&self, now: Instant) -> Option<(Instant, Space)> {
        let backoff = 1 << self.probe_count.min(MOST_BACKOFF);
        let timeout = self.rtt.probe_timeout().saturating_mul(backoff);
        let mut earliest: Option<(Instant, Space)> = None;
        for space in Space::ALL {
            let of_space = &self.spaces[space as usize];
            let Some(sent_at) = of_space.last_eliciting.filter(|_| of_space.is_waiting()) else { continue };
            let mut timeout = timeout;
            if space == Space::Data {
                if !self.is_confirmed {
                    break;
                }
                timeout += MAX_ACK_DELAY.saturating_mul(backoff);
            }
            let at = sent_at + timeout;
            if earliest.is_none_or(|(earliest, _)| at < earliest) {
                earliest = Some((at, space));
            }
        }
        // (6.2.2.1): else the server may not be allowed to send, whatever data of 0-RTT is in flight.
        earliest.or_else(|| {
            let space = if self.has_handshake_keys() { Space::Handshake } else { Space::Initial };
            (!self.peer_validated()).then(|| (now + timeout, space))
        })
    }

    /// (A.9): the timer has expired.
    pub(super) fn handle_loss_timeout(&mut self, now: Instant, streams: &mut dyn Streams) {
        let by_time =
            Space::ALL.into_iter().filter_map(|space| Some((self.spaces[space as usize].loss_time?, space)));
        if let Some((_, space)) = by_time.min() {
            self.detect_lost(now, space, streams);
            return self.set_timer(now);
        }
        let Some((_, space)) = self.probe_time(now) else { return };
        self.report.probe_timeouts += 1;
        self.probe_count += 1;
        if space == Space::Data {
            self.probe(space, streams);
        } else {
            // (6.2.4): with the bytes in flight in the other space of the handshake.
            for other in [Space::Initial, Space::Handshake] {
                if other == space || self.spaces[other as usize].is_waiting() {
                    self.probe(other, streams);
                }
            }
        }
        self.set_timer(now);
    }

    /// (6.2.4): two packets, with new data, else with what has been outstanding for longest; of the handshake with everything.
    fn probe(&mut self, space: Space, streams: &mut dyn Streams) {
        let of_space = &mut self.spaces[space as usize];
        of_space.probes = if of_space.is_waiting() { 2 } else { 1 };
        let (has_new, most) = match space {
            Space::Data => (self.windows.owes() || streams.has_data(&self.credit), 2),
            _ => (of_space.crypto_out.has_data(), usize::MAX),
        };
        if !has_new {
            let waiting = of_space.sent.values().filter(|sent| sent.elicits_ack && sent.in_flight);
            let frames: Vec<Frame> =
                waiting.take(most).flat_map(|sent| sent.frames.iter().cloned()).collect();
            self.retransmit(space, &frames, streams);
        }
    }

    /// (A.8): whether the peer has validated this endpoint's address.
    fn peer_validated(&self) -> bool {
        self.role == Role::Server
            || self.is_confirmed
            || self.spaces[Space::Handshake as usize].largest_acked.is_some()
            || self.spaces[Space::Handshake as usize].is_discarded
    }
}
