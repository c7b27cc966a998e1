//! What the target rate of a sender leaves for its encoder: the rate without headers and retransmissions.
//!
//! Source: libwebrtc of June 2025. The headers are those of mean frames in packets of full size; the share of retransmissions
//! is that of the last second, at most a half.

use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// Octets of IP, UDP, RTP, its extension with a transport-wide number, and SRTP's tag.
pub const HEADERS: u32 = 20 + 8 + 12 + 8 + 10;
const WINDOW: Duration = Duration::from_secs(1);
const MOST_REPAIRS: f64 = 0.5;

/// Divides the target rate.
pub struct Budget {
    /// Largest packet, bytes.
    size: f64,
    interval_s: f64,
    /// Bytes of video sent in the last second, and whether they were retransmitted.
    sent: VecDeque<(Instant, u32, bool)>,
    bytes: u64,
    repairs: u64,
}

impl Budget {
    /// For packets of at most `size` bytes and frames at this interval.
    pub fn new(size: u32, interval: Duration) -> Self {
        let interval_s = interval.as_secs_f64();
        Self { size: size.into(), interval_s, sent: VecDeque::new(), bytes: 0, repairs: 0 }
    }

    /// Video was sent.
    pub fn on_sent(&mut self, now: Instant, len: u32, is_repair: bool) {
        self.sent.push_back((now, len, is_repair));
        self.bytes += u64::from(len);
        self.repairs += if is_repair { len.into() } else { 0 };
        while let Some(&(at, old, was_repair)) = self.sent.front()
            && at + WINDOW <= now
        {
            self.bytes -= u64::from(old);
            self.repairs -= if was_repair { old.into() } else { 0 };
            self.sent.pop_front();
        }
    }

    /// Rate of the encoder for a rate of video packets, bit/s.
    pub fn encoded(&self, video_bps: f64) -> f64 {
        let share = if self.bytes > 0 { self.repairs as f64 / self.bytes as f64 } else { 0.0 };
        let packets = libm::ceil(video_bps * self.interval_s / 8.0 / self.size).max(1.0);
        let headers = packets * f64::from(HEADERS) * 8.0 / self.interval_s;
        // At the lowest rates headers alone may exceed the target.
        (video_bps - headers).max(video_bps / 4.0) * (1.0 - share.min(MOST_REPAIRS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 1 Mbit/s at 25 frames/s are 5000 B in five packets of at most 1200 B: 58 B x 5 x 25 x 8 = 58 kbit/s of headers.
    #[test]
    fn the_encoder_gets_the_target_without_headers() {
        let budget = Budget::new(1200, Duration::from_millis(40));
        assert_eq!(budget.encoded(1e6).round(), 942e3);
        assert_eq!(budget.encoded(10e3).round(), 2500.0);
    }

    /// A fifth of the bytes of the last second is retransmitted: four fifths of the rate are left; then never less than a half.
    #[test]
    fn the_encoder_makes_room_for_retransmissions() {
        let mut budget = Budget::new(1200, Duration::from_millis(40));
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        (0..10_u64).for_each(|n| budget.on_sent(at(n * 50), 1000, n % 5 == 0));
        assert_eq!(budget.encoded(1e6).round(), 753_600.0);
        (0..30_u64).for_each(|n| budget.on_sent(at(500 + n * 10), 1000, true));
        assert_eq!(budget.encoded(1e6).round(), 471e3);
        budget.on_sent(at(2000), 1000, false);
        assert_eq!(budget.encoded(1e6).round(), 942e3);
    }
}
