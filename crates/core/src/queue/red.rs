//! RED, random early detection: packets are dropped, or marked, with a probability that grows with the mean length of
//! the queue, before there is no room.
//!
//! S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on
//! Networking 1(4), 1993: Figure 2 and sections 4, 7 and 8. At each arrival
//!
//! ```text
//! avg <- (1 - w) avg + w q             if the queue q is not empty
//! avg <- (1 - w)^m avg                 if it is; m packets of mean size could have been sent since it became so
//!
//! avg < min:           nothing; count <- -1
//! min <= avg < max:    count <- count + 1; p_b = max_p (avg - min) / (max - min)
//!                      with probability p_b / (1 - count p_b): drop or mark, count <- 0
//! max <= avg:          drop; count <- 0
//! ```
//!
//! `count` makes the distance between drops uniform, here on 1 to 1/p_b - 1 packets, and not geometric. With `gentle`
//! (S. Floyd, "Recommendation on using the 'gentle_' variant of RED", 2000) p_b grows on from max_p at max to 1 at
//! twice max, where everything is dropped. With `ecn` an ECN-capable packet is marked instead of dropped between the
//! thresholds; beyond max it is dropped like any other (RFC 3168, section 7).
//!
//! `unit = "bytes"` counts bytes, in packets of `mean_packet`: lengths of the queue, and p_b in proportion to the
//! packet's own length (section 4).
//!
//! ASSUMED: a packet without room is dropped regardless of the mean, and sets `count` to 0. Each arrival draws once, so
//! a changed parameter does not shift later random draws. Left out: adaptive max_p.

use super::droptail::{self, Droptail, InService};
use super::{Aqm, Component, Departed, Discipline, Place, Verdict};
use crate::element::Bearer;
use crate::error::ScenarioError;
use crate::packet::Packet;
use crate::rng::{self, Stream};
use crate::time::Instant;
use crate::trace::Reason;
use crate::units::{Bytes, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drops or marks at random, the more often the longer the queue is on average: Floyd and Jacobson 1993.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// At most this many packets; unlimited if absent.
    pub packets: Option<u32>,
    /// At most this many bytes; unlimited if absent.
    pub bytes: Option<Bytes>,
    /// Whether the packets being transmitted count, for the limits and for the mean.
    pub in_service: InService,
    /// Mean length below which nothing is dropped, packets.
    pub min_threshold: f64,
    /// Mean length above which every packet is dropped or, if `gentle`, more than `max_probability` of them; packets.
    pub max_threshold: f64,
    /// Probability at `max_threshold`, before it is made uniform (max_p).
    pub max_probability: Probability,
    /// Weight of the present length in the mean, above 0 and at most 1 (w_q).
    pub weight: f64,
    /// Whether the probability grows on to 1 at twice `max_threshold`.
    pub gentle: bool,
    /// Whether packets count alike or by their bytes.
    pub unit: Unit,
    /// Size of a typical packet: sets how fast the mean decreases while the queue is empty, and is the unit of `unit =
    /// "bytes"`.
    pub mean_packet: Bytes,
    /// Whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            packets: None,
            bytes: None,
            in_service: InService::Counted,
            min_threshold: 5.0,
            max_threshold: 15.0,
            max_probability: Probability::new(0.1).unwrap_or_default(),
            weight: 0.002,
            gentle: true,
            unit: Unit::Packets,
            mean_packet: Bytes::from_bytes(1500),
            ecn: false,
        }
    }
}

/// Unit of the queue length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Packets.
    #[default]
    Packets,
    /// Bytes, in packets of typical size.
    Bytes,
}

impl Config {
    fn limit(&self) -> droptail::Config {
        droptail::Config { packets: self.packets, bytes: self.bytes, in_service: self.in_service }
    }
}

impl Component for Config {
    fn build(&self, place: &Place<'_>) -> Discipline {
        Discipline::Other(Box::new(Red {
            config: self.clone(),
            limit: self.limit().in_use(),
            stream: rng::stream(place.run_seed, place.name),
            average: 0.0,
            unmarked: None,
            emptied: Instant::ZERO,
        }))
    }

    fn limits(&self) -> (Option<u32>, Option<Bytes>) {
        self.limit().limits()
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        let error = |key: &str, message: String, hint: &str| Err(ScenarioError::new(key, message, hint));
        if !(self.min_threshold.is_finite() && self.min_threshold > 0.0) {
            let message = format!("no mean length can be below {}", self.min_threshold);
            return error("min_threshold", message, "write a positive number of packets, such as 5");
        }
        if !(self.max_threshold.is_finite() && self.max_threshold > self.min_threshold) {
            let message =
                format!("{} is not above min_threshold, {}", self.max_threshold, self.min_threshold);
            return error("max_threshold", message, "write two to three times min_threshold");
        }
        if self.max_probability == Probability::ZERO {
            let hint = "write for example \"10 %\", or choose queue.droptail";
            return error("max_probability", "nothing is dropped below max_threshold".into(), hint);
        }
        if !(self.weight > 0.0 && self.weight <= 1.0) {
            let message = format!("{} is no weight of a mean", self.weight);
            return error("weight", message, "write a number above 0 and at most 1, such as 0.002");
        }
        if self.mean_packet.as_u64() == 0 {
            return error("mean_packet", "a packet of no size".into(), "write a size such as \"1500 B\"");
        }
        self.limit().validate()
    }

    fn marks(&self) -> bool {
        self.ecn
    }
}

struct Red {
    config: Config,
    limit: Droptail,
    stream: Stream,
    /// `avg`, packets.
    average: f64,
    /// `count`; `None` for -1.
    unmarked: Option<u32>,
    /// When the buffer became empty last, of one that packets leave one by one.
    emptied: Instant,
}

/// Decision of RED itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Early {
    Enter,
    /// Drop, or mark.
    Signal,
    Drop,
}

impl Red {
    fn update_average(&mut self, now: Instant, buffer: &Bearer) {
        let weight = self.config.weight;
        if buffer.sdus() > 0 {
            self.average += weight * (self.length(buffer) - self.average);
            return;
        }
        let since = self.emptied.max(buffer.free_at(Instant::ZERO));
        let packet = buffer.rate().time_to_send(self.config.mean_packet.as_u64());
        let packets = now.since(since).as_secs_f64() / packet.as_secs_f64();
        self.average *= libm::pow(1.0 - weight, packets);
    }

    /// `q`.
    fn length(&self, buffer: &Bearer) -> f64 {
        let (sdus, bytes) = match self.config.in_service {
            InService::Counted => (buffer.sdus(), buffer.bytes()),
            InService::Excluded => (buffer.untransmitted_sdus(), buffer.untransmitted_bytes()),
        };
        match self.config.unit {
            Unit::Packets => f64::from(sdus),
            Unit::Bytes => bytes as f64 / self.config.mean_packet.as_u64() as f64,
        }
    }

    fn decide(&mut self, len: u32) -> Early {
        let draw = self.stream.uniform();
        let Config { min_threshold, max_threshold, gentle, .. } = self.config;
        if self.average < min_threshold {
            self.unmarked = None;
            return Early::Enter;
        }
        let above = self.average >= max_threshold;
        if above && !(gentle && self.average < 2.0 * max_threshold) {
            self.unmarked = Some(0);
            return Early::Drop;
        }
        let count = self.unmarked.map_or(0, |count| count + 1);
        self.unmarked = Some(count);
        let p_b = self.probability(len);
        let left = 1.0 - f64::from(count) * p_b;
        // p_a is 1 once the uniform distance is used up.
        if left > 0.0 && draw >= p_b / left {
            return Early::Enter;
        }
        self.unmarked = Some(0);
        if above { Early::Drop } else { Early::Signal }
    }

    /// `p_b` of a packet, for a mean from `min_threshold` to twice `max_threshold`.
    fn probability(&self, len: u32) -> f64 {
        let Config { min_threshold, max_threshold, .. } = self.config;
        let max_p = self.config.max_probability.as_f64();
        let p_b = if self.average < max_threshold {
            max_p * (self.average - min_threshold) / (max_threshold - min_threshold)
        } else {
            max_p + (1.0 - max_p) * (self.average - max_threshold) / max_threshold
        };
        match self.config.unit {
            Unit::Packets => p_b,
            Unit::Bytes => p_b * f64::from(len) / self.config.mean_packet.as_u64() as f64,
        }
    }
}

impl Aqm for Red {
    fn stream(&mut self) -> Option<&mut Stream> {
        Some(&mut self.stream)
    }

    fn admit(&mut self, now: Instant, packet: &Packet, buffer: &Bearer) -> Verdict {
        self.update_average(now, buffer);
        let early = self.decide(packet.len);
        let marks = early == Early::Signal && self.config.ecn && packet.can_be_marked();
        if early != Early::Enter && !marks {
            return Verdict::Drop(Reason::EarlyDrop);
        }
        let verdict = self.limit.admit(now, packet, buffer);
        if verdict != Verdict::Enter {
            self.unmarked = Some(0);
            return verdict;
        }
        if marks { Verdict::Mark } else { Verdict::Enter }
    }

    fn handle_departure(&mut self, now: Instant, _gone: Departed, buffer: &Bearer) {
        if buffer.sdus() == 0 {
            self.emptied = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Form;
    use crate::time::Duration;
    use crate::units::Bitrate;

    /// One 1500-byte packet per second.
    const RATE: Bitrate = Bitrate::from_bps(12_000);

    fn red(config: &Config) -> Red {
        let (limit, stream) = (config.limit().in_use(), rng::stream(1, "red"));
        let config = config.clone();
        Red { config, limit, stream, average: 0.0, unmarked: None, emptied: Instant::ZERO }
    }

    fn after(seconds: f64) -> Instant {
        Instant::ZERO + Duration::from_nanos((seconds * 1e9) as u64)
    }

    fn buffer(sdus: u32, len: u32) -> Bearer {
        let mut accounting = Bearer::new(RATE, false);
        for _ in 0..sdus {
            accounting.enter(&Packet { len, ..Packet::default() });
        }
        accounting
    }

    /// By hand: w = 1/4, queues of 0, 1, 2, 3 and 4.
    #[test]
    fn the_mean_is_weighted() {
        let mut red = red(&Config { weight: 0.25, ..Config::default() });
        let means = [0, 1, 2, 3, 4].map(|sdus| {
            red.update_average(Instant::ZERO, &buffer(sdus, 1500));
            red.average
        });
        assert_eq!(means, [0.0, 0.25, 0.6875, 1.265_625, 1.949_218_75]);
    }

    #[test]
    fn the_mean_falls_while_the_queue_is_empty() {
        let mut red = red(&Config { weight: 0.25, ..Config::default() });
        red.average = 8.0;
        red.emptied = after(10.0);
        // Three packets of a second each: 8 x (3/4)^3.
        red.update_average(after(13.0), &buffer(0, 0));
        assert!((red.average - 3.375).abs() < 1e-12, "{}", red.average);
        // The accounting knows only the last of the computed ends: one packet until 5 s, then one and a half.
        red.average = 8.0;
        red.emptied = Instant::ZERO;
        let mut accounting = Bearer::new(RATE, false);
        accounting.transmit(after(4.0), &Packet { len: 1500, ..Packet::default() });
        accounting.settle(after(6.5));
        red.update_average(after(6.5), &accounting);
        assert!((red.average - 8.0 * libm::pow(0.75, 1.5)).abs() < 1e-12, "{}", red.average);
    }

    #[test]
    fn in_bytes_lengths_and_probabilities_are_in_packets_of_mean_size() {
        let config = Config { unit: Unit::Bytes, weight: 1.0, ..Config::default() };
        let mut red = red(&config);
        red.update_average(Instant::ZERO, &buffer(30, 500));
        assert!((red.average - 10.0).abs() < 1e-12);
        // Half way between 5 and 15: 0.05 for a packet of 1500 bytes.
        assert!((red.probability(1500) - 0.05).abs() < 1e-12);
        assert!((red.probability(300) - 0.01).abs() < 1e-12);
    }

    /// p_b = 0.05 throughout: distances are uniform on 1 to 19. Chi-square with 18 degrees of freedom exceeds 42.3
    /// with probability 0.001.
    #[test]
    fn drops_are_uniformly_apart() {
        let mut red = red(&Config::default());
        red.average = 10.0;
        let mut counts = [0_u32; 20];
        let (mut gap, mut drops) = (0, 0);
        while drops <= 19_000 {
            gap += 1;
            if red.decide(1500) == Early::Signal {
                // The first one does not follow a drop.
                if drops > 0 {
                    counts[gap] += 1;
                }
                drops += 1;
                gap = 0;
            }
        }
        let off = counts[1..].iter().map(|count| f64::from(*count) - 1000.0);
        let chi_square = off.map(|off| off * off / 1000.0).sum::<f64>();
        assert_eq!(counts[0], 0);
        assert!(chi_square < 42.3, "{chi_square}: {counts:?}");
    }

    #[test]
    fn beyond_the_thresholds_all_or_nothing_is_dropped() {
        let shares = |gentle: bool, average: f64| {
            let mut red = red(&Config { gentle, ..Config::default() });
            red.average = average;
            let verdicts: Vec<_> = (0..10_000).map(|_| red.decide(1500)).collect();
            [Early::Signal, Early::Drop].map(|kind| verdicts.iter().filter(|early| **early == kind).count())
        };
        for gentle in [false, true] {
            assert_eq!(shares(gentle, 4.999), [0, 0]);
            // One in 10 on average, uniform on 1 to 19.
            let [signals, drops] = shares(gentle, 10.0);
            assert!((950..1050).contains(&signals) && drops == 0, "{signals} {drops}");
        }
        assert_eq!(shares(false, 15.0), [0, 10_000]);
        // p_b = 0.1 + 0.9 / 3 = 0.4: after a drop the next one may pass, and the second one is dropped for sure.
        let [signals, drops] = shares(true, 20.0);
        assert!(signals == 0 && (7300..7700).contains(&drops), "{signals} {drops}");
        assert_eq!(shares(true, 30.0), [0, 10_000]);
    }

    #[test]
    fn what_can_be_marked_is_between_the_thresholds() {
        let config = Config { ecn: true, packets: Some(40), ..Config::default() };
        let verdicts = |sdus: u32, ecn: u8| {
            let mut red = red(&Config { weight: 1.0, ..config.clone() });
            let mut seen = [0; 3];
            for _ in 0..1000 {
                let packet = Packet { len: 1500, form: Form::TCP.with_ecn(ecn), ..Packet::default() };
                let kind = match red.admit(Instant::ZERO, &packet, &buffer(sdus, 1500)) {
                    Verdict::Enter => 0,
                    Verdict::Mark => 1,
                    _ => 2,
                };
                seen[kind] += 1;
            }
            seen
        };
        let ([passed, marked, dropped], [.., unmarkable]) = (verdicts(14, 2), verdicts(14, 0));
        assert!(passed > 700 && marked > 100 && dropped == 0, "{passed} {marked} {dropped}");
        assert_eq!(unmarkable, marked);
        assert_eq!(verdicts(31, 2), [0, 0, 1000]);
        // No room: not marked, but dropped.
        let full = Config { packets: Some(14), weight: 1.0, ..config.clone() };
        let packet = Packet { len: 1500, form: Form::TCP.with_ecn(2), ..Packet::default() };
        let verdict = red(&full).admit(Instant::ZERO, &packet, &buffer(14, 1500));
        assert_eq!(verdict, Verdict::Drop(Reason::QueueFull));
    }
}
