//! What a caller's camera and microphone produce: frames whose sizes follow the target rate, and audio packets.
//!
//! Frames: RFC 8593, 5.1: sizes deviate from the mean by a Laplacian share; the encoder takes a new rate over each 100 ms, RFC
//! 8867 (4.3). A key frame is larger by a factor; the frames after it are smaller until the mean rate is met again.
//! ASSUMED: the factor.

use crate::distribution::standard_exponential;
use crate::rng::Stream;
use crate::time::{Duration, Instant};

/// The encoder takes a new rate over after this time: RFC 8867 (4.3).
const ENCODER_LAG: Duration = Duration::from_millis(100);
/// A frame after a key frame keeps at least this share of its size.
const LEAST_SHARE: f64 = 0.5;

/// The encoder's parameters.
#[derive(Clone, Copy, Debug)]
pub struct Encoder {
    pub interval: Duration,
    /// Mean deviation of a frame's size, as a share.
    pub deviation: f64,
    /// Size of a key frame in mean sizes.
    pub key_factor: f64,
    /// Largest frame, bytes.
    pub most_bytes: f64,
}

/// An encoded frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    pub number: u32,
    pub bytes: u64,
    pub is_key: bool,
    pub captured: Instant,
}

/// Encodes frames.
pub struct Source {
    encoder: Encoder,
    stream: Stream,
    /// When the next frame is captured.
    pub next_at: Instant,
    next: u32,
    rate: f64,
    rate_taken: Option<Instant>,
    needs_key: bool,
    /// Excess of key frames over the mean, bytes.
    debt: f64,
    /// Key frames so far.
    pub key_frames: u64,
}

impl Source {
    pub fn new(encoder: Encoder, stream: Stream) -> Self {
        Self {
            encoder,
            stream,
            next_at: Instant::NEVER,
            next: 0,
            rate: 0.0,
            rate_taken: None,
            needs_key: true,
            debt: 0.0,
            key_frames: 0,
        }
    }

    /// The next frame is to be a key frame.
    pub fn request_key(&mut self) {
        self.needs_key = true;
    }

    /// Time from one frame to the next.
    pub fn interval(&self) -> Duration {
        self.encoder.interval
    }

    /// Frames encoded or skipped so far.
    pub fn frames(&self) -> u32 {
        self.next
    }

    /// Captures the frame that is due. `None` if it is skipped, as the sender has no room: its number is not used.
    pub fn capture(&mut self, target_bps: f64, skips: bool) -> Option<Frame> {
        let captured = self.next_at;
        self.next_at = captured + self.encoder.interval;
        if self.rate_taken.is_none_or(|before| captured.since(before) >= ENCODER_LAG) {
            (self.rate, self.rate_taken) = (target_bps, Some(captured));
        }
        // Drawn in any case: the frames after it do not depend on it.
        let factor = self.factor();
        if skips {
            return None;
        }
        let mean = self.rate * self.encoder.interval.as_secs_f64() / 8.0;
        let is_key = std::mem::take(&mut self.needs_key);
        let bytes = if is_key {
            self.key_frames += 1;
            let bytes = mean * self.encoder.key_factor;
            self.debt += bytes - mean;
            bytes
        } else {
            let repaid = self.debt.min(mean * (1.0 - LEAST_SHARE));
            self.debt -= repaid;
            (mean - repaid) * factor
        };
        let number = self.next;
        self.next += 1;
        let bytes = libm::round(bytes).clamp(1.0, self.encoder.most_bytes) as u64;
        Some(Frame { number, bytes, is_key, captured })
    }

    /// 1 and a Laplacian deviation, cut at 0 and 2, which keeps the mean.
    fn factor(&mut self) -> f64 {
        let doubled = 2.0 * self.stream.uniform();
        let (sign, uniform) = if doubled < 1.0 { (-1.0, doubled) } else { (1.0, doubled - 1.0) };
        1.0 + sign * (self.encoder.deviation * standard_exponential(uniform)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    fn source(deviation: f64) -> Source {
        let interval = Duration::from_nanos(33_333_333);
        let encoder = Encoder { interval, deviation, key_factor: 5.0, most_bytes: 1e6 };
        Source { next_at: Instant::ZERO, ..Source::new(encoder, rng::stream(1, "source")) }
    }

    /// By hand: 1 Mbit/s at 30 fps are frames of 4167 B; a key frame is five of them, and eight frames of half the size repay
    /// the four in excess.
    #[test]
    fn frames_follow_the_rate_and_a_key_frame_is_repaid() {
        let mut source = source(0.0);
        let mut next = |rate| source.capture(rate, false).map(|frame| (frame.bytes, frame.is_key)).unwrap();
        assert_eq!(next(1e6), (20_833, true));
        for _ in 0..8 {
            assert_eq!(next(1e6), (2_083, false));
        }
        assert_eq!(next(1e6), (4_167, false));
    }

    #[test]
    fn a_new_rate_is_taken_over_each_100_ms() {
        let mut source = source(0.0);
        source.needs_key = false;
        let sizes: Vec<u64> = [1e6, 2e6, 2e6, 2e6, 2e6]
            .iter()
            .map(|rate| source.capture(*rate, false).unwrap().bytes)
            .collect();
        // Frames at 0, 33, 67, 100 ms (99.999999): the fourth is a nanosecond early.
        assert_eq!(sizes, [4_167, 4_167, 4_167, 4_167, 8_333]);
    }

    /// RFC 8593: Laplacian with mean absolute deviation 0.15: standard deviation 21.2 % of the mean.
    #[test]
    fn sizes_are_laplacian() {
        let mut source = source(0.15);
        source.needs_key = false;
        let shares: Vec<f64> =
            (0..20_000).map(|_| source.capture(1e6, false).unwrap().bytes as f64 / 4166.7 - 1.0).collect();
        let n = shares.len() as f64;
        let mean = shares.iter().sum::<f64>() / n;
        let sd = (shares.iter().map(|share| share * share).sum::<f64>() / n).sqrt();
        assert!(mean.abs() < 0.008 && (sd - 0.212).abs() < 0.01, "{mean} {sd}");
    }
}
