//! The sending half of a caller: encoder, pacer, rate controller, and retransmissions on request.
//!
//! Audio is not paced; video waits in the pacer, retransmissions in front of it. Packets that the pacing rate carries within the
//! controller's burst time leave at once; then the pacer waits until that time has passed. The pacer drains its queue within two seconds
//! whatever the controller says, and frames are skipped while more than half a second of video waits: both as libwebrtc does.
//! The window of the controller limits bytes in flight; a packet leaves each 500 ms although it is full.

use super::budget::{Budget, HEADERS};
use super::rtcp::{Arrival, extend};
use super::source::{Frame, Source};
use crate::app::datagram::{Datagram, Kind};
use crate::app::media::Sent as SentReport;
use crate::controller::{Feedback, Outcome, Probe, RateController};
use crate::steering::Steering;
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// Opus at 32 kbit/s: 80 B each 20 ms.
const AUDIO_BYTES: u32 = HEADERS + 80;
const AUDIO_INTERVAL: Duration = Duration::from_millis(20);
/// Rate of the audio with all headers, bit/s.
pub const AUDIO_BPS: f64 = AUDIO_BYTES as f64 * 8.0 / 0.02;
/// A queue is drained within this time.
const LONGEST_QUEUE_S: f64 = 2.0;
/// Frames are skipped while the queue takes longer at the target rate, or at the rate that the window allows.
const SKIP_ABOVE_S: f64 = 0.5;
/// A packet leaves after this time although the window is full.
const KEEPALIVE: Duration = Duration::from_millis(500);
/// Packets without feedback are forgotten this long after they were sent: libwebrtc, `kSendTimeHistoryWindow`.
const REMEMBERED: Duration = Duration::from_secs(60);
/// Packets may be requested again for three RTTs, this long at least, and for three times as long while there are few of them:
/// libwebrtc, `RtpPacketHistory`.
const KEPT: Duration = Duration::from_secs(1);
const FEW_KEPT: usize = 600;

/// A packet of video in the pacer's queue, or sent.
#[derive(Clone, Copy)]
struct Video {
    sequence: u32,
    frame: u32,
    part: u16,
    ends_frame: bool,
    is_key: bool,
    captured: Instant,
    len: u32,
    is_retransmission: bool,
}

struct InFlight {
    number: u32,
    len: u32,
    sent_at: Instant,
    probe: Option<u32>,
    is_reported: bool,
}

/// A probe that is being sent.
struct Probing {
    probe: Probe,
    bytes: u64,
    packets: u32,
}

/// The sending half.
pub struct Sender {
    source: Source,
    budget: Budget,
    controller: Box<dyn RateController>,
    /// Largest packet, bytes.
    size: u32,
    ecn: u8,
    next_audio: Instant,
    queue: VecDeque<Video>,
    queued_bytes: u64,
    next_sequence: u32,
    next_number: u32,
    /// When the pacing rate has carried the packets sent.
    next_send: Instant,
    /// When the pacer lets the next packet go.
    release_at: Instant,
    last_sent: Instant,
    probing: Option<Probing>,
    /// Whether the latest packet of video ended a cluster: the next cluster follows at once.
    ended_cluster: bool,
    /// Packets by number, without gaps.
    sent: VecDeque<InFlight>,
    in_flight: u64,
    /// Video that may be requested again, by sequence number, with the times of its first and its latest transmission.
    kept: VecDeque<(Video, Instant, Instant)>,
    /// Smoothed round-trip time.
    pub rtt: Option<Duration>,
    report: SentReport,
}

impl Sender {
    /// A sender that starts at `start`, with audio or without.
    pub fn new(
        mut source: Source,
        controller: Box<dyn RateController>,
        size: u32,
        ecn: u8,
        audio: bool,
        start: Instant,
    ) -> Self {
        source.next_at = start;
        Self {
            budget: Budget::new(size, source.interval()),
            source,
            controller,
            size,
            ecn,
            next_audio: if audio { start } else { Instant::NEVER },
            queue: VecDeque::new(),
            queued_bytes: 0,
            next_sequence: 0,
            next_number: 0,
            next_send: start,
            release_at: start,
            last_sent: start,
            probing: None,
            ended_cluster: false,
            sent: VecDeque::new(),
            in_flight: 0,
            kept: VecDeque::new(),
            rtt: None,
            report: SentReport::new(start),
        }
    }

    /// The steering of its controller, if that has one.
    pub fn steering(&mut self) -> Option<&mut Steering> {
        self.controller.steering()
    }

    /// When it acts next.
    pub fn deadline(&self) -> Instant {
        let timers = self.next_audio.min(self.source.next_at);
        let timers = self.controller.deadline().map_or(timers, |at| timers.min(at));
        if self.queue.is_empty() && self.probing.is_none() {
            return timers;
        }
        timers.min(self.may_send_at())
    }

    /// When the pacer and the window let the next packet of video go.
    fn may_send_at(&self) -> Instant {
        let next = self.queue.front().map_or(self.size, |video| video.len);
        if self.in_flight + u64::from(next) > self.controller.permit().window_bytes {
            return self.release_at.max(self.last_sent + KEEPALIVE);
        }
        self.release_at
    }

    /// When the next packet may leave by the pacing rate and the burst time; a cluster has no bursts.
    fn release(&self, now: Instant) -> Instant {
        let is_burst = self.probing.is_none() && self.next_send.since(now) < self.controller.burst(now);
        if is_burst { now } else { self.next_send }
    }

    /// The next packet to be sent now.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        if self.controller.deadline().is_some_and(|at| at <= now) {
            self.controller.handle_deadline(now);
        }
        if self.next_audio <= now {
            let captured = self.next_audio;
            self.next_audio = captured + AUDIO_INTERVAL;
            return Some(Datagram { captured, kind: Kind::Audio, ..self.packet(now, AUDIO_BYTES, None) });
        }
        while self.source.next_at <= now {
            self.capture();
        }
        if self.probing.is_none() && (self.ended_cluster || !self.queue.is_empty()) {
            self.probing =
                self.controller.poll_probe(now).map(|probe| Probing { probe, bytes: 0, packets: 0 });
            if self.probing.is_some() {
                // A cluster has its own rate from its first packet on.
                self.next_send = self.next_send.min(now);
                self.release_at = now;
            }
            self.ended_cluster = false;
        }
        if self.queue.is_empty() && self.probing.is_none() || self.may_send_at() > now {
            return None;
        }
        Some(self.send_video(now))
    }

    fn capture(&mut self) {
        let audio = if self.next_audio == Instant::NEVER { 0.0 } else { AUDIO_BPS };
        let target = self.controller.permit().target_bps - audio;
        let skips = self.queued_bytes as f64 * 8.0 > SKIP_ABOVE_S * target.min(self.window_bps());
        self.report.on_target(self.source.next_at, target);
        match self.source.capture(self.budget.encoded(target), skips) {
            Some(frame) => {
                if self.queue.is_empty() {
                    self.release_at = self.release(frame.captured);
                }
                self.packetize(frame);
            }
            None => self.report.frames_skipped += 1,
        }
    }

    /// Rate that the window allows, bit/s.
    fn window_bps(&self) -> f64 {
        let window = self.controller.permit().window_bytes;
        match self.rtt {
            Some(rtt) if window != u64::MAX => window as f64 * 8.0 / rtt.as_secs_f64().max(1e-3),
            _ => f64::INFINITY,
        }
    }

    /// The fewest packets of equal length.
    fn packetize(&mut self, frame: Frame) {
        let packets = frame.bytes.div_ceil((self.size - HEADERS).into()).max(1);
        let payload = frame.bytes.div_ceil(packets) as u32;
        for part in 0..packets as u16 {
            self.queue.push_back(Video {
                sequence: self.next_sequence,
                frame: frame.number,
                part,
                ends_frame: u64::from(part) + 1 == packets,
                is_key: frame.is_key,
                captured: frame.captured,
                len: HEADERS + payload,
                is_retransmission: false,
            });
            self.next_sequence = self.next_sequence.wrapping_add(1);
        }
        self.queued_bytes += packets * u64::from(HEADERS + payload);
    }

    /// Sends video, or padding where a probe finds none, and sets the time of the next packet.
    fn send_video(&mut self, now: Instant) -> Datagram {
        let permit = self.controller.permit();
        let cluster = self.probing.as_ref().map(|probing| probing.probe.cluster);
        let datagram = match self.queue.pop_front() {
            Some(video) => {
                self.queued_bytes -= u64::from(video.len);
                self.keep(now, video);
                self.budget.on_sent(now, video.len, video.is_retransmission);
                self.report.retransmissions += u64::from(video.is_retransmission);
                Datagram {
                    kind: if video.is_retransmission { Kind::Retransmission } else { Kind::Video },
                    sequence: video.sequence,
                    frame: video.frame,
                    part: video.part,
                    ends_frame: video.ends_frame,
                    is_key: video.is_key,
                    captured: video.captured,
                    ..self.packet(now, video.len, cluster)
                }
            }
            None => Datagram { kind: Kind::Padding, ..self.packet(now, self.size, cluster) },
        };
        let len = datagram.len;
        let drained = self.queued_bytes as f64 * 8.0 / LONGEST_QUEUE_S;
        let mut rate = permit.pacing_bps.max(drained);
        if let Some(probing) = &mut self.probing {
            rate = rate.max(probing.probe.rate_bps);
            (probing.bytes, probing.packets) = (probing.bytes + u64::from(len), probing.packets + 1);
            if probing.bytes >= probing.probe.bytes && probing.packets >= probing.probe.packets {
                (self.probing, self.ended_cluster) = (None, true);
            }
        }
        let takes = Duration::from_nanos((f64::from(len) * 8e9 / rate.max(1.0)) as u64);
        // What an idle pacer has missed is not made up for.
        self.next_send = self.next_send.max(now) + takes;
        self.release_at = self.release(now);
        datagram
    }

    fn keep(&mut self, now: Instant, video: Video) {
        let least = KEPT.max(self.rtt.unwrap_or_default().saturating_mul(3));
        let longest = if self.kept.len() < FEW_KEPT { least.saturating_mul(3) } else { least };
        while self.kept.front().is_some_and(|(_, first, _)| now.since(*first) > longest) {
            self.kept.pop_front();
        }
        if !video.is_retransmission {
            self.kept.push_back((video, now, now));
        }
    }

    fn packet(&mut self, now: Instant, len: u32, probe: Option<u32>) -> Datagram {
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        self.last_sent = now;
        while self.sent.front().is_some_and(|first| now.since(first.sent_at) > REMEMBERED) {
            self.forget_first();
        }
        self.sent.push_back(InFlight { number, len, sent_at: now, probe, is_reported: false });
        self.in_flight += u64::from(len);
        self.report.on_sent(now, len);
        Datagram { ecn: self.ecn, ..Datagram::new(number, len, now) }
    }

    fn forget_first(&mut self) {
        if let Some(first) = self.sent.pop_front()
            && !first.is_reported
        {
            self.in_flight -= u64::from(first.len);
        }
    }

    /// A report on packets arrived, made at `made_at`.
    pub fn handle_report(&mut self, now: Instant, begin: u16, packets: &[Option<Arrival>], made_at: Instant) {
        let Some(first_kept) = self.sent.front().map(|first| first.number) else { return };
        let begin = extend(begin, self.next_number);
        let in_flight = self.in_flight;
        // The report on packets before this one was lost; no later report covers them.
        for entry in self.sent.iter_mut().take_while(|entry| entry.number < begin) {
            if !std::mem::replace(&mut entry.is_reported, true) {
                self.in_flight -= u64::from(entry.len);
            }
        }
        let mut outcomes = Vec::new();
        let mut rtt = None;
        for (number, arrival) in (begin..).zip(packets) {
            let place = number.checked_sub(first_kept).map(|at| at as usize);
            let Some(entry) = place.and_then(|at| self.sent.get_mut(at)) else { continue };
            if std::mem::replace(&mut entry.is_reported, true) {
                continue;
            }
            self.in_flight -= u64::from(entry.len);
            if let Some(arrival) = arrival {
                let held = made_at.since(arrival.at);
                rtt = Some(now.since(entry.sent_at).saturating_sub(held));
            }
            outcomes.push(Outcome {
                number,
                len: entry.len,
                sent_at: entry.sent_at,
                arrived_at: arrival.map(|arrival| arrival.at),
                ce: arrival.is_some_and(|arrival| arrival.ecn == crate::packet::Packet::CE),
                probe: entry.probe,
            });
        }
        while self.sent.front().is_some_and(|first| first.is_reported) {
            self.sent.pop_front();
        }
        if let Some(rtt) = rtt {
            let smoothed =
                self.rtt.map_or(rtt, |srtt| Duration::from_nanos((srtt.as_nanos() * 7 + rtt.as_nanos()) / 8));
            self.rtt = Some(smoothed);
        }
        if !outcomes.is_empty() {
            self.report.on_outcomes(&outcomes);
            self.controller.handle_feedback(now, Feedback { packets: &outcomes, rtt, in_flight });
        }
    }

    /// The receiver requests packets. One that was sent less than an RTT ago may still be in transit.
    pub fn handle_nack(&mut self, now: Instant, sequences: &[u16]) {
        let rtt = self.rtt.unwrap_or_default();
        for low in sequences {
            let sequence = extend(*low, self.next_sequence);
            let Ok(place) = self.kept.binary_search_by_key(&sequence, |(video, ..)| video.sequence) else {
                continue;
            };
            let (video, _, latest) = &mut self.kept[place];
            if now.since(*latest) < rtt {
                continue;
            }
            *latest = now;
            let video = Video { is_retransmission: true, ..*video };
            let is_waiting = |other: &Video| other.is_retransmission && other.sequence == sequence;
            if !self.queue.iter().take_while(|other| other.is_retransmission).any(is_waiting) {
                let behind = self.queue.iter().take_while(|other| other.is_retransmission).count();
                self.queue.insert(behind, video);
                self.queued_bytes += u64::from(video.len);
            }
        }
    }

    /// Handles a request for a key frame from the receiver.
    pub fn handle_picture_loss(&mut self) {
        self.source.request_key();
    }

    /// Packets sent so far.
    pub fn packets(&self) -> u64 {
        self.next_number.into()
    }

    /// What it has counted.
    pub fn report(&self) -> SentReport {
        let mut report = self.report.clone();
        report.frames = self.source.frames().into();
        report.key_frames = self.source.key_frames;
        report.close()
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::Encoder;
    use super::*;
    use crate::controller::Permit;
    use crate::rng;

    /// A window of 1200 B, which a packet fits into that nobody reports on.
    struct Closed;

    impl RateController for Closed {
        fn handle_feedback(&mut self, _now: Instant, _feedback: Feedback<'_>) {}

        fn permit(&self) -> Permit {
            Permit { target_bps: 150e3, pacing_bps: 1e6, window_bytes: 1200 }
        }
    }

    /// A packet leaves each 500 ms, and the window allows 24 kbit/s at an RTT of 400 ms: three packets of 625 B in half a second.
    /// By the target of 150 kbit/s alone 15 packets would wait, for 7.5 s.
    #[test]
    fn frames_are_skipped_while_the_window_is_closed() {
        let interval = Duration::from_nanos(33_333_333);
        let encoder = Encoder { interval, deviation: 0.0, key_factor: 1.0, most_bytes: 1e6 };
        let source = Source::new(encoder, rng::stream(1, "closed"));
        let mut sender = Sender::new(source, Box::new(Closed), 1200, 0, false, Instant::ZERO);
        sender.rtt = Some(Duration::from_millis(400));
        let (mut oldest_s, mut now) = (0.0_f64, Instant::ZERO);
        while now.as_secs_f64() < 60.0 {
            now = now.max(sender.deadline());
            while let Some(datagram) = sender.poll_transmit(now) {
                oldest_s = oldest_s.max(now.since(datagram.captured).as_secs_f64());
            }
        }
        let report = sender.report();
        assert!(
            oldest_s < 2.1 && report.frames > 100 && report.frames_skipped > 1600,
            "{oldest_s} {report:?}"
        );
    }
}
