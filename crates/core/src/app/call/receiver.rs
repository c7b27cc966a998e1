//! The receiving half of a caller: reports, requests for lost packets, frames in order, play-out and freezes.
//!
//! A frame can be decoded once all its packets and all frames before it, back to the last key frame, are there; a
//! complete key frame skips missing packets before it. A lost packet is requested at once, then again after each RTT. A
//! key frame is requested when a packet is given up, or after three seconds without a frame that can be decoded:
//! libwebrtc.
//!
//! Play-out: frames are rendered at a constant delay after capture where possible. The delay follows the 95th percentile of the
//! last 128 frame delays plus 10 ms, by at most 100 ms per second. DEVIATION: libwebrtc estimates it by a Kalman filter of
//! delay over frame size. Freeze: a gap between rendered frames of at least three times the mean of the last 30, itself
//! included, and of that mean plus 150 ms (W3C webrtc-stats, freezeCount), from the fifth gap on (libwebrtc,
//! `VideoQualityObserver`).

use super::rtcp::{Arrival, MOST_REPORTED, Message};
use crate::app::datagram::{Datagram, Kind};
use crate::app::media::{Frame, Received as ReceivedReport};
use crate::time::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};

/// Tries of a request, and packets that are requested at once.
const TRIES: u32 = 100;
const MOST_MISSING: usize = 1000;
/// Time between requests before a round-trip time is known: libwebrtc.
const FIRST_RTT: Duration = Duration::from_millis(100);
/// Requests are repeated together, at most once in this time: libwebrtc.
const REQUEST_INTERVAL: Duration = Duration::from_millis(20);
/// Without a frame for this long a key frame is requested: libwebrtc.
const LONGEST_WAIT: Duration = Duration::from_secs(3);
/// Time between two requests for a key frame.
const KEY_RETRY: Duration = Duration::from_secs(1);
const RENDER_DELAY: Duration = Duration::from_millis(10);
/// Rate of change of the play-out delay, relative to real time.
const PLAYOUT_SPEED: f64 = 0.1;
const DELAYS: usize = 128;
/// Gaps whose mean a freeze is compared with, at most and at least, and by how much it is longer.
const GAPS: usize = 30;
const LEAST_GAPS: usize = 5;
const LONGER: Duration = Duration::from_millis(150);

/// A frame with at least one packet received.
#[derive(Default)]
struct Assembly {
    captured: Instant,
    is_key: bool,
    parts: Vec<bool>,
    arrived: usize,
    bytes: u32,
    total: Option<usize>,
}

impl Assembly {
    fn add(&mut self, datagram: &Datagram) {
        let part = usize::from(datagram.part);
        if self.parts.len() <= part {
            self.parts.resize(part + 1, false);
        }
        if !std::mem::replace(&mut self.parts[part], true) {
            self.arrived += 1;
            self.bytes = self.bytes.saturating_add(datagram.len);
        }
        (self.captured, self.is_key) = (datagram.captured, datagram.is_key);
        if datagram.ends_frame {
            self.total = Some(part + 1);
        }
    }

    fn is_complete(&self) -> bool {
        self.total == Some(self.arrived)
    }
}

struct Missing {
    next_request: Instant,
    tries: u32,
}

/// The receiving half.
pub struct Receiver {
    interval: Duration,
    /// Arrivals since the last report, by number.
    unreported: BTreeMap<u32, Arrival>,
    next_reported: u32,
    next_report: Option<Instant>,
    last_report: Option<Instant>,
    /// One more than the highest sequence number of video.
    expected: u32,
    missing: BTreeMap<u32, Missing>,
    /// When requests are looked at next; `Instant::NEVER` without any.
    next_requests: Instant,
    frames: BTreeMap<u32, Assembly>,
    next_frame: u32,
    /// Frames that the last packet completed.
    decoded: Vec<Frame>,
    /// When a frame could last be decoded.
    decoded_at: Instant,
    key_requested: Option<Instant>,
    wants_key: bool,
    playout: Playout,
    report: ReceivedReport,
}

impl Receiver {
    pub fn new(interval: Duration, start: Instant) -> Self {
        Self {
            interval,
            unreported: BTreeMap::new(),
            next_reported: 0,
            next_report: None,
            last_report: None,
            expected: 0,
            missing: BTreeMap::new(),
            next_requests: Instant::NEVER,
            frames: BTreeMap::new(),
            next_frame: 0,
            decoded: Vec::new(),
            decoded_at: start,
            key_requested: None,
            wants_key: false,
            playout: Playout::default(),
            report: ReceivedReport::new(start),
        }
    }

    /// A packet of the peer arrived, other than feedback.
    pub fn handle_packet(&mut self, now: Instant, datagram: &Datagram) {
        self.decoded.clear();
        self.report.on_received(now, datagram);
        if datagram.number >= self.next_reported {
            self.unreported.entry(datagram.number).or_insert(Arrival { at: now, ecn: datagram.ecn });
            let due = self.last_report.map_or(now, |last| now.max(last + self.interval));
            self.next_report.get_or_insert(due);
        }
        if matches!(datagram.kind, Kind::Video | Kind::Retransmission) {
            self.handle_video(now, datagram);
        }
    }

    fn handle_video(&mut self, now: Instant, datagram: &Datagram) {
        let sequence = datagram.sequence;
        if sequence >= self.expected {
            for lost in self.expected..sequence {
                self.missing.insert(lost, Missing { next_request: now, tries: 0 });
                self.next_requests = now;
            }
            self.expected = sequence + 1;
        } else {
            self.missing.remove(&sequence);
        }
        if self.missing.len() > MOST_MISSING {
            self.missing.clear();
            self.wants_key = true;
        }
        if datagram.frame < self.next_frame {
            return;
        }
        self.frames.entry(datagram.frame).or_default().add(datagram);
        self.decode(now);
    }

    /// Decodes what can be decoded.
    fn decode(&mut self, now: Instant) {
        let key = self.frames.iter().rev().find(|(_, frame)| frame.is_key && frame.is_complete());
        if let Some((&number, _)) = key
            && number > self.next_frame
            && !self.frames.get(&self.next_frame).is_some_and(Assembly::is_complete)
        {
            self.report.frames_lost += u64::from(number - self.next_frame);
            self.frames = self.frames.split_off(&number);
            self.next_frame = number;
            // Everything before the key frame is of no use any more.
            self.missing.clear();
            self.wants_key = false;
        }
        while let Some(frame) = self.frames.get(&self.next_frame).filter(|frame| frame.is_complete()) {
            let (captured, bytes, is_key) = (frame.captured, frame.bytes, frame.is_key);
            let number = self.next_frame;
            self.frames.remove(&number);
            self.next_frame += 1;
            self.decoded_at = now;
            self.report.on_frame(now, captured);
            let (rendered, freeze) = self.playout.add(now, captured, &mut self.report);
            let [delay, playout_delay] = [now, rendered].map(|at| at.since(captured));
            self.decoded.push(Frame { number, bytes, is_key, delay, playout_delay, freeze });
        }
    }

    /// Frames that could be decoded when the last packet arrived.
    pub fn decoded(&self) -> &[Frame] {
        &self.decoded
    }

    /// When it has something to send.
    pub fn deadline(&self) -> Instant {
        let report = self.next_report.unwrap_or(Instant::NEVER);
        let key = if self.wants_key || !self.frames.is_empty() { self.key_due() } else { Instant::NEVER };
        report.min(self.next_requests).min(key)
    }

    /// When a key frame is requested next, if nothing changes.
    fn key_due(&self) -> Instant {
        let wanted = if self.wants_key { Instant::ZERO } else { self.decoded_at + LONGEST_WAIT };
        self.key_requested.map_or(wanted, |last| wanted.max(last + KEY_RETRY))
    }

    /// The next message to be sent now; `rtt` is the round-trip time as the sending half knows it.
    pub fn poll_message(&mut self, now: Instant, rtt: Option<Duration>) -> Option<Message> {
        if let Some(requests) = self.poll_requests(now, rtt) {
            return Some(requests);
        }
        if (self.wants_key || !self.frames.is_empty()) && self.key_due() <= now {
            (self.key_requested, self.wants_key) = (Some(now), false);
            self.report.key_requests += 1;
            return Some(Message::PictureLoss);
        }
        self.next_report.filter(|at| *at <= now)?;
        (self.next_report, self.last_report) = (None, Some(now));
        let (begin, last) = (self.next_reported, *self.unreported.last_key_value()?.0);
        let end = last.min(begin.saturating_add(MOST_REPORTED as u32 - 1));
        let packets = (begin..=end).map(|number| self.unreported.remove(&number)).collect();
        self.next_reported = end + 1;
        if !self.unreported.is_empty() {
            self.next_report = Some(now);
        }
        Some(Message::Congestion { begin: begin as u16, packets, made_at: now })
    }

    /// Requests packets whose time has come.
    fn poll_requests(&mut self, now: Instant, rtt: Option<Duration>) -> Option<Message> {
        if self.next_requests > now {
            return None;
        }
        let retry = rtt.unwrap_or(FIRST_RTT);
        let mut sequences = Vec::new();
        let mut given_up = Vec::new();
        for (sequence, missing) in self.missing.iter_mut().filter(|(_, missing)| missing.next_request <= now)
        {
            if missing.tries >= TRIES {
                given_up.push(*sequence);
                continue;
            }
            missing.tries += 1;
            missing.next_request = now + retry;
            sequences.push(*sequence as u16);
        }
        for sequence in given_up {
            self.missing.remove(&sequence);
            self.wants_key = true;
        }
        let next = self.missing.values().map(|missing| missing.next_request).min();
        self.next_requests = next.map_or(Instant::NEVER, |next| next.max(now + REQUEST_INTERVAL));
        self.report.nacks += sequences.len() as u64;
        (!sequences.is_empty()).then_some(Message::Nack(sequences))
    }

    /// Counts the octets of a message that was sent.
    pub fn count_message(&mut self, len: u32) {
        self.report.feedback_bytes += u64::from(len);
    }

    /// What it has counted.
    pub fn report(&self) -> ReceivedReport {
        self.report.clone().close()
    }
}

/// When frames are rendered.
#[derive(Default)]
struct Playout {
    delays: VecDeque<u64>,
    /// Delay from capture to rendering, nanoseconds.
    delay_ns: f64,
    rendered_at: Option<Instant>,
    /// The latest gaps between rendered frames, nanoseconds.
    gaps: VecDeque<u64>,
}

impl Playout {
    /// A frame is decoded: renders it. Returns when, and the length of the freeze that it ends, zero without one.
    fn add(&mut self, now: Instant, captured: Instant, report: &mut ReceivedReport) -> (Instant, Duration) {
        self.delays.push_back(now.since(captured).as_nanos());
        if self.delays.len() > DELAYS {
            self.delays.pop_front();
        }
        let mut sorted: Vec<u64> = self.delays.iter().copied().collect();
        sorted.sort_unstable();
        let wanted = (sorted[(sorted.len() - 1) * 95 / 100] + RENDER_DELAY.as_nanos()) as f64;
        let earliest = now.max(Instant::from_nanos(captured.as_nanos() + self.delay_ns as u64));
        let at = self.rendered_at.map_or(earliest, |last| earliest.max(last));
        let last = self.rendered_at.replace(at);
        self.delay_ns = match last {
            None => wanted,
            Some(last) => {
                let most = PLAYOUT_SPEED * at.since(last).as_nanos() as f64;
                self.delay_ns + (wanted - self.delay_ns).clamp(-most, most)
            }
        };
        report.on_rendered(at, captured);
        (at, last.map_or(Duration::ZERO, |last| self.count_gap(at.since(last), report)))
    }

    /// Counts a gap between frames, and returns its length if it is a freeze.
    fn count_gap(&mut self, gap: Duration, report: &mut ReceivedReport) -> Duration {
        report.add_gap(gap.as_secs_f64());
        if self.gaps.len() == GAPS {
            self.gaps.pop_front();
        }
        self.gaps.push_back(gap.as_nanos());
        let mean = self.gaps.iter().sum::<u64>() / self.gaps.len() as u64;
        if self.gaps.len() < LEAST_GAPS || gap.as_nanos() < (3 * mean).max(mean + LONGER.as_nanos()) {
            return Duration::ZERO;
        }
        report.on_freeze(gap.as_secs_f64());
        gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn video(number: u32, frame: u32, part: u16, ends_frame: bool, captured_ms: u64) -> Datagram {
        Datagram {
            kind: Kind::Video,
            sequence: number,
            frame,
            part,
            ends_frame,
            is_key: frame == 0,
            captured: at(captured_ms),
            ..Datagram::new(number, 1200, at(captured_ms))
        }
    }

    #[test]
    fn a_lost_packet_is_requested_at_once_and_again_after_a_round_trip() {
        let mut receiver = Receiver::new(Duration::from_millis(50), at(0));
        receiver.handle_packet(at(10), &video(0, 0, 0, false, 0));
        receiver.handle_packet(at(12), &video(2, 0, 2, true, 0));
        let rtt = Some(Duration::from_millis(40));
        assert_eq!(receiver.poll_message(at(12), rtt), Some(Message::Nack(vec![1])));
        // The report on both, which is due since the first one arrived.
        assert!(matches!(receiver.poll_message(at(12), rtt), Some(Message::Congestion { begin: 0, .. })));
        assert_eq!((receiver.poll_message(at(51), rtt), receiver.deadline()), (None, at(52)));
        assert_eq!(receiver.poll_message(at(52), rtt), Some(Message::Nack(vec![1])));
        let again = Datagram { kind: Kind::Retransmission, number: 3, ..video(1, 0, 1, false, 0) };
        receiver.handle_packet(at(90), &again);
        let report = receiver.report();
        assert_eq!((report.frames, report.frame_delay_ms.max), (1, Some(90.0)));
    }

    /// By hand: after 29 gaps of 33 ms 188.2 ms are 150 above the mean of 30, after four 220.5 ms above that of five.
    #[test]
    fn freezes_are_gaps_well_above_the_mean() {
        for (before, gap, freezes) in
            [(100, 189, 1), (100, 188, 0), (29, 189, 1), (4, 221, 1), (4, 220, 0), (3, 9000, 0)]
        {
            let (mut playout, mut report) = (Playout::default(), ReceivedReport::new(at(0)));
            for _ in 0..before {
                assert_eq!(playout.count_gap(Duration::from_millis(33), &mut report), Duration::ZERO);
            }
            let freeze = playout.count_gap(Duration::from_millis(gap), &mut report);
            let expected = if freezes > 0 { Duration::from_millis(gap) } else { Duration::ZERO };
            assert_eq!((report.freezes, freeze), (freezes, expected), "{gap} after {before}");
        }
    }

    #[test]
    fn a_frame_waits_for_those_before_it_and_a_key_frame_does_not() {
        let mut receiver = Receiver::new(Duration::from_millis(50), at(0));
        receiver.handle_packet(at(10), &video(0, 0, 0, true, 0));
        receiver.handle_packet(at(70), &video(2, 2, 0, true, 66));
        assert_eq!(receiver.report().frames, 1);
        let key = Datagram { is_key: true, ..video(9, 3, 0, true, 99) };
        receiver.handle_packet(at(110), &key);
        let report = receiver.report();
        assert_eq!((report.frames, report.frames_lost), (2, 2));
        let decoded: Vec<_> =
            receiver.decoded().iter().map(|own| (own.number, own.is_key, own.bytes)).collect();
        assert_eq!(decoded, [(3, true, 1200)]);
        assert_eq!(receiver.decoded()[0].delay, Duration::from_millis(11));
    }

    #[test]
    fn a_key_frame_is_requested_once_a_packet_is_given_up() {
        let mut receiver = Receiver::new(Duration::from_secs(1000), at(0));
        receiver.handle_packet(at(0), &video(0, 0, 0, true, 0));
        receiver.poll_message(at(0), None);
        receiver.handle_packet(at(1), &video(2, 2, 0, true, 0));
        let rtt = Some(Duration::from_millis(10));
        let nacks = (0..TRIES).filter(|n| {
            let message = receiver.poll_message(at(1 + u64::from(*n) * 20), rtt);
            matches!(message, Some(Message::Nack(_)))
        });
        assert_eq!(nacks.count(), 100);
        assert_eq!(receiver.poll_message(at(2001), rtt), Some(Message::PictureLoss));
        assert_eq!(receiver.poll_message(at(2001), rtt), None);
    }
}
