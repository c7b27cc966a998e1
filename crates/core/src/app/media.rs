//! Statistics of the media of a call: rates and frames as sent, delays and freezes as received.

use super::datagram::{Datagram, Kind};
use crate::controller::Outcome;
use crate::delays::{DelayReport, Delays};
use crate::time::{Duration, Instant};
use serde::Serialize;

/// Frames later than this after capture are late: RFC 8868 (5).
const LATE: Duration = Duration::from_millis(400);

/// One direction of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// At the sender.
    pub sender: Sent,
    /// At the receiver.
    pub receiver: Received,
}

/// Both directions of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Both {
    /// Media to the UE; `None` if the call has none there.
    pub downlink: Option<Report>,
    /// Media from the UE.
    pub uplink: Option<Report>,
}

/// A video frame that could be decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Its number, from 0.
    pub number: u32,
    /// Bytes of its IP packets, each counted once.
    pub bytes: u32,
    /// Whether it is a key frame.
    pub is_key: bool,
    /// From capture until it could be decoded.
    pub delay: Duration,
    /// From capture until it is rendered.
    pub playout_delay: Duration,
    /// Since the frame before was rendered, if that is a freeze; zero otherwise.
    pub freeze: Duration,
}

/// What the sender has counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sent {
    /// Mean of the video's target rate, with all headers, bit/s.
    pub target_bps: Option<f64>,
    /// Mean rate of the IP packets sent, bit/s.
    pub sent_bps: f64,
    /// Frames encoded.
    pub frames: u64,
    /// Frames skipped because video waited at the sender.
    pub frames_skipped: u64,
    /// Key frames encoded.
    pub key_frames: u64,
    /// Packets retransmitted.
    pub retransmissions: u64,
    /// Packets reported as lost.
    pub reported_lost: u64,
    /// Packets reported with the mark CE.
    pub reported_marked: u64,
    /// Mean target rate of the video in each second of the call, with all headers, bit/s.
    pub target_bps_per_second: Vec<f64>,
    #[serde(skip)]
    clock: Clock,
    #[serde(skip)]
    bytes: u64,
    /// Sum and number of targets of the current second, and of all.
    #[serde(skip)]
    second: (f64, u64),
    #[serde(skip)]
    all: (f64, u64),
}

/// What the receiver has counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Received {
    /// Mean rate of the IP packets received, bit/s.
    pub received_bps: f64,
    /// Frames that could be decoded.
    pub frames: u64,
    /// Frames that were skipped for a key frame.
    pub frames_lost: u64,
    /// From the capture of a frame until it could be decoded, milliseconds.
    pub frame_delay_ms: DelayReport,
    /// Frames that could be decoded more than 400 ms after capture.
    pub frames_late: u64,
    /// From the capture of a frame until it was rendered, milliseconds.
    pub playout_delay_ms: DelayReport,
    /// Freezes of the picture.
    pub freezes: u64,
    /// Total length of all freezes, seconds.
    pub freeze_s: f64,
    /// The longest freeze, seconds.
    pub longest_freeze_s: f64,
    /// Harmonic frame rate, frames per second: time over the sum of squared gaps. It weights long gaps.
    pub harmonic_fps: Option<f64>,
    /// Audio packets received.
    pub audio_packets: u64,
    /// From the capture of audio to its arrival, milliseconds.
    pub audio_delay_ms: DelayReport,
    /// Packets requested, each request counted.
    pub nacks: u64,
    /// Key frames requested.
    pub key_requests: u64,
    /// Bytes of the feedback sent: IP packets of reports and requests.
    pub feedback_bytes: u64,
    /// Rate of the IP packets received in each second of the call, bit/s.
    pub received_bps_per_second: Vec<f64>,
    #[serde(skip)]
    clock: Clock,
    #[serde(skip)]
    bytes: u64,
    #[serde(skip)]
    bytes_of_second: u64,
    #[serde(skip)]
    frame_delays: Delays,
    #[serde(skip)]
    playout_delays: Delays,
    #[serde(skip)]
    audio_delays: Delays,
    /// Sum of the gaps between rendered frames, and of their squares.
    #[serde(skip)]
    gaps: (f64, f64),
}

/// Seconds since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Clock {
    start: Instant,
    latest: Instant,
    /// Complete seconds.
    seconds: usize,
}

impl Clock {
    fn new(start: Instant) -> Self {
        Self { start, latest: start, seconds: 0 }
    }

    /// Seconds that have been completed since the last call.
    fn advance(&mut self, now: Instant) -> usize {
        self.latest = self.latest.max(now);
        let complete = (now.since(self.start).as_nanos() / 1_000_000_000) as usize;
        let new = complete.saturating_sub(self.seconds);
        self.seconds += new;
        new
    }

    fn elapsed_s(&self) -> f64 {
        self.latest.since(self.start).as_secs_f64()
    }
}

fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

impl Sent {
    pub(super) fn new(start: Instant) -> Self {
        Self { clock: Clock::new(start), ..Self::default() }
    }

    /// Records the target bitrate read by the encoder.
    pub(super) fn on_target(&mut self, now: Instant, target_bps: f64) {
        for _ in 0..self.clock.advance(now) {
            let (sum, count) = self.second;
            let mean = if count > 0 { sum / count as f64 } else { target_bps };
            self.target_bps_per_second.push(mean);
            self.second = (0.0, 0);
        }
        self.second = (self.second.0 + target_bps, self.second.1 + 1);
        self.all = (self.all.0 + target_bps, self.all.1 + 1);
    }

    pub(super) fn on_sent(&mut self, now: Instant, len: u32) {
        self.clock.latest = self.clock.latest.max(now);
        self.bytes += u64::from(len);
    }

    pub(super) fn on_outcomes(&mut self, outcomes: &[Outcome]) {
        self.reported_lost += outcomes.iter().filter(|outcome| outcome.arrived_at.is_none()).count() as u64;
        self.reported_marked += outcomes.iter().filter(|outcome| outcome.ce).count() as u64;
    }

    /// Computes the quantities derived from the counts.
    pub(super) fn close(mut self) -> Self {
        self.target_bps = (self.all.1 > 0).then(|| self.all.0 / self.all.1 as f64);
        self.sent_bps = rate(self.bytes, self.clock.elapsed_s());
        self
    }
}

impl Received {
    pub(super) fn new(start: Instant) -> Self {
        Self { clock: Clock::new(start), ..Self::default() }
    }

    pub(super) fn on_received(&mut self, now: Instant, datagram: &Datagram) {
        for _ in 0..self.clock.advance(now) {
            self.received_bps_per_second.push(self.bytes_of_second as f64 * 8.0);
            self.bytes_of_second = 0;
        }
        self.bytes += u64::from(datagram.len);
        self.bytes_of_second += u64::from(datagram.len);
        if datagram.kind == Kind::Audio {
            self.audio_packets += 1;
            self.audio_delays.add(now.since(datagram.captured));
        }
    }

    pub(super) fn on_frame(&mut self, now: Instant, captured: Instant) {
        let delay = now.since(captured);
        self.frames += 1;
        self.frames_late += u64::from(delay > LATE);
        self.frame_delays.add(delay);
    }

    pub(super) fn on_rendered(&mut self, at: Instant, captured: Instant) {
        self.playout_delays.add(at.since(captured));
    }

    pub(super) fn on_freeze(&mut self, gap_s: f64) {
        self.freezes += 1;
        self.freeze_s += gap_s;
        self.longest_freeze_s = self.longest_freeze_s.max(gap_s);
    }

    pub(super) fn add_gap(&mut self, gap_s: f64) {
        self.gaps = (self.gaps.0 + gap_s, self.gaps.1 + gap_s * gap_s);
    }

    /// Computes the quantities derived from the counts.
    pub(super) fn close(mut self) -> Self {
        self.received_bps = rate(self.bytes, self.clock.elapsed_s());
        self.frame_delay_ms = self.frame_delays.report();
        self.playout_delay_ms = self.playout_delays.report();
        self.audio_delay_ms = self.audio_delays.report();
        self.harmonic_fps = (self.gaps.1 > 0.0).then(|| self.gaps.0 / self.gaps.1);
        self
    }
}
