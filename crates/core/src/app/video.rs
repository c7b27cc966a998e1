//! The video of a call over RTP and UDP: frames at a nearly constant rate, cut into packets.
//!
//! The statistical source of RFC 8593 (section 5.1) in its steady state: intervals between frames and their sizes deviate
//! from their means by independent Laplacian shares. A frame is cut into the fewest packets of equal length, which leave
//! together. What is drawn depends on the flow's own stream of random numbers alone. Such a flow never ends a run; with
//! `packets` it falls silent.
//!
//! Left out: a sender that adapts its rate, and so the transient phase of the RFC; pacing of packets; key frames.

use super::datagram::Datagram;
use super::datagrams::{Datagrams, Ends, Report, Sink};
use super::{Carrier, Component, Traffic};
use crate::distribution::standard_exponential;
use crate::error::ScenarioError;
use crate::rng::Stream;
use crate::time::{Duration, Instant};
use crate::units::{Bitrate, Bytes, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Octets of the headers of IP, UDP and RTP.
const HEADERS: u64 = 20 + 8 + 12;
/// Packets of the largest frame at most: they leave together.
const MOST_PACKETS_OF_FRAME: f64 = 65_536.0;

/// Video of a call over UDP, one way: frames of varying size, each cut into packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Mean rate of the frames; packets add 40 B of headers each.
    pub rate: Bitrate,
    /// Mean time from one frame to the next.
    pub interval: Duration,
    /// Length of a packet at most, IP, UDP and RTP headers included.
    pub size: Bytes,
    /// Mean deviation of an interval from `interval`, as a share of it; 0 for none.
    pub interval_deviation: Probability,
    /// Mean deviation of a frame's size from the mean size, as a share of it; 0 for none.
    pub frame_deviation: Probability,
    /// How many packets are sent; no end if absent.
    pub packets: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        // SCALE_t and SCALE_B of RFC 8593 (5.1); so in syncodecs, the implementation of its authors.
        let deviation = Probability::new(0.15).unwrap_or_default();
        Self {
            size: Bytes::from_bytes(1200),
            rate: Bitrate::from_bps(1_000_000),
            interval: Duration::from_nanos(33_333_000),
            interval_deviation: deviation,
            frame_deviation: deviation,
            packets: None,
        }
    }
}

impl Component for Config {
    fn build(&self, stream: Stream) -> Traffic {
        let source = Source {
            config: self.clone(),
            stream,
            frame_at: Instant::ZERO,
            packet_len: 0,
            left_in_frame: 0,
            next: 0,
        };
        Traffic::Datagrams(Ends { sender: Box::new(source), receiver: Box::new(Sink::new(None)) })
    }

    fn datagram_bytes(&self) -> [Bytes; 2] {
        [self.size, Bytes::default()]
    }

    fn carrier(&self) -> Carrier {
        Carrier::Datagrams
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        super::validate_packet("size", self.size)?;
        super::validate_rate("rate", self.rate)?;
        if self.interval.is_zero() {
            let hint = "write a time such as \"33.3 ms\"";
            return Err(ScenarioError::new("interval", "frames would never end", hint));
        }
        if self.mean_frame_bytes() < 1.0 {
            let hint = "write a rate of at least an octet in each interval, such as \"1 Mbit/s\"";
            return Err(ScenarioError::new("rate", "frames would be empty", hint));
        }
        let largest = 2.0 * self.mean_frame_bytes();
        if largest > MOST_PACKETS_OF_FRAME * (self.size.as_u64() - HEADERS) as f64 {
            let message = format!(
                "a frame of {} would have over {MOST_PACKETS_OF_FRAME} packets",
                Bytes::from_bytes(largest as u64)
            );
            return Err(ScenarioError::new("interval", message, "shorten it, lower rate, or raise size"));
        }
        super::validate_count("packets", self.packets)
    }
}

impl Config {
    fn mean_frame_bytes(&self) -> f64 {
        self.rate.as_bps() as f64 * self.interval.as_secs_f64() / 8.0
    }
}

struct Source {
    config: Config,
    stream: Stream,
    frame_at: Instant,
    /// Length of the packets of this frame, bytes.
    packet_len: u32,
    left_in_frame: u32,
    next: u32,
}

impl Source {
    /// 1 and a Laplacian deviation of this mean absolute value, cut at 0 and 2, which keeps the mean.
    fn factor(&mut self, mean_deviation: f64) -> f64 {
        let doubled = 2.0 * self.stream.uniform();
        let (sign, uniform) = if doubled < 1.0 { (-1.0, doubled) } else { (1.0, doubled - 1.0) };
        1.0 + sign * (mean_deviation * standard_exponential(uniform)).min(1.0)
    }

    fn begin_frame(&mut self, at: Instant) {
        self.frame_at = at;
        let bytes = self.config.mean_frame_bytes() * self.factor(self.config.frame_deviation.as_f64());
        let bytes = (bytes.round() as u64).max(1);
        let packets = bytes.div_ceil(self.config.size.as_u64() - HEADERS);
        self.packet_len = (HEADERS + bytes.div_ceil(packets)) as u32;
        self.left_in_frame = packets as u32;
    }
}

impl Datagrams for Source {
    fn open(&mut self, start: Instant) {
        self.begin_frame(start);
    }

    fn deadline(&self) -> Option<Instant> {
        (self.next < self.config.packets.unwrap_or(u32::MAX)).then_some(self.frame_at)
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        self.deadline().filter(|at| *at <= now)?;
        let (number, len) = (self.next, self.packet_len);
        self.next += 1;
        self.left_in_frame -= 1;
        if self.left_in_frame == 0 {
            let interval = self.config.interval.as_nanos() as f64;
            let interval = interval * self.factor(self.config.interval_deviation.as_f64());
            // Two frames at one instant would be one; the interval must stay positive.
            let interval = (interval as u64).max(1);
            self.begin_frame(Instant::from_nanos(self.frame_at.as_nanos().saturating_add(interval)));
        }
        Some(Datagram::new(number, len, now))
    }

    fn report(&self, report: &mut Report) {
        report.sent = self.next.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    /// Instants in ms and lengths of the first packets.
    fn packets(config: Config, count: usize) -> Vec<(f64, u32)> {
        let Traffic::Datagrams(mut ends) = config.build(rng::stream(1, "video")) else { unreachable!() };
        ends.sender.open(Instant::ZERO);
        let mut next = || {
            let at = ends.sender.deadline()?;
            ends.sender.poll_transmit(at).map(|datagram| (datagram.stamp.as_secs_f64() * 1e3, datagram.len))
        };
        (0..count).map_while(|_| next()).collect()
    }

    #[test]
    fn without_deviation_frames_are_equal() {
        // 2 Mbit/s in 33.333 ms are 8333 B: eight packets of 1042 B, rounded up, and 40 B of headers.
        let config = Config {
            rate: Bitrate::from_bps(2_000_000),
            interval_deviation: Probability::default(),
            frame_deviation: Probability::default(),
            packets: Some(9),
            ..Config::default()
        };
        let mut expected = vec![(0.0, 1082); 8];
        expected.push((33.333, 1082));
        assert_eq!(packets(config, 20), expected);
    }

    #[test]
    fn deviations_are_laplacian() {
        let all = packets(Config { rate: Bitrate::from_bps(64_000), ..Config::default() }, 100_000);
        // Frames of 267 B: one packet each.
        let shares = |values: Vec<f64>, mean: f64| -> Vec<f64> {
            let apart: Vec<f64> = values.iter().map(|value| value / mean - 1.0).collect();
            let count = apart.len() as f64;
            let spread = apart.iter().map(|own| own.abs()).sum::<f64>() / count;
            let beyond = apart.iter().filter(|own| own.abs() > 0.45).count() as f64 / count;
            vec![apart.iter().sum::<f64>() / count, spread, beyond]
        };
        let times = all.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        let sizes = all.iter().map(|(_, len)| f64::from(*len - HEADERS as u32)).collect();
        for (own, what) in [(shares(times, 33.333), "intervals"), (shares(sizes, 266.664), "sizes")] {
            // Mean deviation 0 and 0.15; three means away exp(-3) = 5.0 %. Six standard errors.
            assert!(own[0].abs() < 0.004 && (own[1] - 0.15).abs() < 0.003, "{what}: {own:?}");
            assert!((own[2] - 0.0498).abs() < 0.0045, "{what}: {own:?}");
        }
    }
}
