//! Bursts over UDP: packets at a constant rate while on, silence while off.
//!
//! Distribution of both kinds are fixed or exponentially distributed, as in ns-2's exponential on/off source. The
//! first burst begins with the flow; each sends a packet at its start and then one every size / rate, as
//! long as it lasts. What is drawn depends on the flow's own stream of random numbers alone. Such a flow
//! never ends a run; with `packets` it falls silent.

use super::datagram::Datagram;
use super::datagrams::{Datagrams, Ends, Report, Sink};
use super::distribution::Distribution;
use super::{Carrier, Component, Traffic};
use crate::error::ScenarioError;
use crate::rng::Stream;
use crate::time::{Duration, Instant};
use crate::units::{Bitrate, Bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bursts of packets over UDP, one way: a constant rate while on, silence while off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Length of a packet, IP and UDP headers included.
    pub size: Bytes,
    /// Rate of the IP packets while on.
    pub rate: Bitrate,
    /// Length of a burst, or its mean.
    pub on: Duration,
    /// Length of a silence, or its mean.
    pub off: Duration,
    /// How both lengths are distributed.
    pub times: Distribution,
    /// How many packets are sent; no end if absent.
    pub packets: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            size: Bytes::from_bytes(200),
            rate: Bitrate::from_bps(64_000),
            on: Duration::from_millis(500),
            off: Duration::from_millis(500),
            times: Distribution::default(),
            packets: None,
        }
    }
}

impl Component for Config {
    fn build(&self, stream: Stream) -> Traffic {
        let source = Source {
            config: self.clone(),
            stream,
            burst: Instant::ZERO,
            burst_end: Instant::ZERO,
            in_burst: 0,
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
        if self.on < self.rate.time_to_send(self.size.as_u64()) {
            let hint = "write a time in which at least one packet is sent, such as \"500 ms\"";
            return Err(ScenarioError::new("on", "a burst shorter than a packet", hint));
        }
        super::validate_count("packets", self.packets)
    }
}

struct Source {
    config: Config,
    stream: Stream,
    burst: Instant,
    burst_end: Instant,
    /// Packets of this burst that have been sent.
    in_burst: u32,
    next: u32,
}

impl Source {
    fn draw(&mut self, mean: Duration) -> Duration {
        Duration::from_nanos(self.config.times.draw(&mut self.stream, mean.as_nanos()))
    }

    fn begin_burst(&mut self, at: Instant) {
        self.burst = at;
        self.burst_end = later(at, self.draw(self.config.on));
        self.in_burst = 0;
    }

    fn leaves_at(&self) -> Instant {
        let bytes = u64::from(self.in_burst) * self.config.size.as_u64();
        later(self.burst, self.config.rate.time_to_send(bytes))
    }
}

fn later(at: Instant, span: Duration) -> Instant {
    Instant::from_nanos(at.as_nanos().saturating_add(span.as_nanos()))
}

impl Datagrams for Source {
    fn open(&mut self, start: Instant) {
        self.begin_burst(start);
    }

    fn deadline(&self) -> Option<Instant> {
        let packets = self.config.packets.unwrap_or(u32::MAX);
        (self.next < packets).then(|| self.leaves_at())
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        self.deadline().filter(|at| *at <= now)?;
        let number = self.next;
        self.next += 1;
        self.in_burst += 1;
        if self.leaves_at() >= self.burst_end {
            let silence = self.draw(self.config.off);
            self.begin_burst(later(self.burst_end, silence));
        }
        Some(Datagram::new(number, self.config.size.as_u64() as u32, now))
    }

    fn report(&self, report: &mut Report) {
        report.sent = self.next.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;

    /// When the first packets leave, in milliseconds; a packet takes 10 ms.
    fn times_ms(times: Distribution, on_ms: u64, off_ms: u64, packets: usize) -> Vec<f64> {
        let config = Config {
            size: Bytes::from_bytes(125),
            rate: Bitrate::from_bps(100_000),
            on: Duration::from_millis(on_ms),
            off: Duration::from_millis(off_ms),
            times,
            packets: None,
        };
        let Traffic::Datagrams(mut ends) = config.build(rng::stream(1, "on_off")) else { unreachable!() };
        ends.sender.open(Instant::ZERO);
        let mut next = || {
            let at = ends.sender.deadline()?;
            ends.sender.poll_transmit(at).map(|datagram| datagram.stamp.as_secs_f64() * 1e3)
        };
        (0..packets).map_while(|_| next()).collect()
    }

    #[test]
    fn fixed_bursts_are_equal() {
        assert_eq!(times_ms(Distribution::Fixed, 25, 75, 7), [0.0, 10.0, 20.0, 100.0, 110.0, 120.0, 200.0]);
        // A packet at the very end of a burst is no longer of it; without silence the next begins there.
        assert_eq!(times_ms(Distribution::Fixed, 20, 5, 4), [0.0, 10.0, 25.0, 35.0]);
        assert_eq!(times_ms(Distribution::Fixed, 15, 0, 4), [0.0, 10.0, 15.0, 25.0]);
    }

    /// Bursts of exponential length L hold ceil(L / 10 ms) packets, on average 1 / (1 - exp(-0.1)) =
    /// 10.508 for a mean of 100 ms; a period lasts 400 ms on average.
    #[test]
    fn exponential_bursts_have_the_mean_of_the_distribution() {
        let times = times_ms(Distribution::Exponential, 100, 300, 100_000);
        // A gap of another length than 10 ms is a silence.
        let bursts = 1 + times.windows(2).filter(|pair| (pair[1] - pair[0] - 10.0).abs() > 1e-3).count();
        let of_burst = times.len() as f64 / bursts as f64;
        let period_ms = times[times.len() - 1] / bursts as f64;
        // 9500 bursts, standard deviations of 10 packets and 316 ms: six standard errors.
        assert!((of_burst - 10.508).abs() < 0.62, "{of_burst}");
        assert!((period_ms - 400.0).abs() < 20.0, "{period_ms}");
    }
}
