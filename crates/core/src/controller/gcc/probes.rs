//! Probe clusters: short bursts at a multiple of the rate, whose arrival rate is taken over as the new rate.
//!
//! Source: libwebrtc of June 2025: three and six times the start rate at once; then twice the target, as long as the target
//! exceeds 0.7 of the latest probe within a second. A cluster has 15 ms and five packets at least, and counts once 80 % of it
//! have arrived; later packets of it refine the result. Left out: probes of an application that sends less than it may.

use crate::controller::{Outcome, Probe};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

const SPAN_S: f64 = 0.015;
const PACKETS: u32 = 5;
/// Share of the packets and bytes of a cluster that must arrive.
const ENOUGH: f64 = 0.8;
/// A result is awaited for this time; a cluster lasts no longer, neither at the sender nor at the receiver.
const PATIENCE: Duration = Duration::from_secs(1);
/// Nothing above this is probed: libwebrtc, where the application sets no limit.
const MOST_BPS: f64 = 5e6;
/// The target must exceed this share of the latest probe for a further one, at a multiple of it.
const FURTHER_ABOVE: f64 = 0.7;
const FURTHER: f64 = 2.0;

/// What has arrived of a cluster.
struct Cluster {
    probe: Probe,
    packets: u32,
    bytes: u64,
    sent: (Instant, Instant),
    arrived: (Instant, Instant),
    /// Lengths of the first packet to arrive and of the last one that was sent.
    first_arrived: u32,
    last_sent: u32,
}

/// Sends and evaluates probes.
pub struct Probes {
    waiting: VecDeque<Probe>,
    /// Clusters that were sent, with what has arrived of them.
    clusters: Vec<(Probe, Option<Cluster>)>,
    next: u32,
    most_bps: f64,
    /// When the latest probes were planned, and the target above which a further one follows.
    further: Option<(Instant, f64)>,
}

impl Probes {
    /// Probes for a sender whose media has at most `max` bit/s.
    pub fn new(now: Instant, start: f64, max: f64) -> Self {
        let most_bps = MOST_BPS.min(2.0 * max);
        let mut probes = Self { most_bps, ..Self::none() };
        probes.plan(now, &[3.0 * start, 6.0 * start]);
        probes
    }

    /// None at all.
    pub fn none() -> Self {
        Self { waiting: VecDeque::new(), clusters: Vec::new(), next: 0, most_bps: 0.0, further: None }
    }

    fn plan(&mut self, now: Instant, rates: &[f64]) {
        let may_go_on = rates.iter().all(|rate| *rate < self.most_bps);
        let rates = rates.iter().map(|rate| rate.min(self.most_bps));
        for rate_bps in rates {
            let bytes = (rate_bps * SPAN_S / 8.0) as u64;
            self.waiting.push_back(Probe { cluster: self.next, rate_bps, bytes, packets: PACKETS });
            self.next += 1;
        }
        let last = self.waiting.back().map_or(f64::INFINITY, |probe| probe.rate_bps);
        self.further = may_go_on.then_some((now, FURTHER_ABOVE * last));
    }

    /// The next cluster to be sent.
    pub fn poll(&mut self) -> Option<Probe> {
        let probe = self.waiting.pop_front()?;
        self.clusters.push((probe, None));
        Some(probe)
    }

    /// The target is `target` bit/s now; `is_limited` says whether delay or losses keep it from growing.
    pub fn on_target(&mut self, now: Instant, target: f64, is_limited: bool) {
        let Some((since, above)) = self.further else { return };
        if now.since(since) > PATIENCE {
            self.further = None;
        } else if target > above && !is_limited {
            self.plan(now, &[FURTHER * target]);
        }
    }

    /// A packet of a cluster arrived. Returns the rate that the cluster measured, bit/s, once enough of it is there.
    pub fn add(&mut self, outcome: &Outcome) -> Option<f64> {
        let arrived = outcome.arrived_at?;
        self.clusters.retain(|(_, known)| {
            known.as_ref().is_none_or(|cluster| cluster.arrived.1 + PATIENCE >= arrived)
        });
        let (probe, known) =
            self.clusters.iter_mut().find(|(probe, _)| Some(probe.cluster) == outcome.probe)?;
        let cluster = known.get_or_insert(Cluster {
            probe: *probe,
            packets: 0,
            bytes: 0,
            sent: (outcome.sent_at, outcome.sent_at),
            arrived: (arrived, arrived),
            first_arrived: outcome.len,
            last_sent: outcome.len,
        });
        cluster.add(outcome, arrived);
        cluster.measured()
    }
}

impl Cluster {
    fn add(&mut self, outcome: &Outcome, arrived: Instant) {
        if outcome.sent_at > self.sent.1 {
            (self.sent.1, self.last_sent) = (outcome.sent_at, outcome.len);
        }
        if arrived < self.arrived.0 {
            (self.arrived.0, self.first_arrived) = (arrived, outcome.len);
        }
        self.sent.0 = self.sent.0.min(outcome.sent_at);
        self.arrived.1 = self.arrived.1.max(arrived);
        (self.packets, self.bytes) = (self.packets + 1, self.bytes + u64::from(outcome.len));
    }

    /// The lower of the sending rate and the arrival rate of the packets.
    fn measured(&self) -> Option<f64> {
        let is_enough = f64::from(self.packets) >= libm::floor(ENOUGH * f64::from(self.probe.packets))
            && self.bytes as f64 >= ENOUGH * self.probe.bytes as f64;
        if !is_enough {
            return None;
        }
        let of = |octets: u64, span: (Instant, Instant)| {
            let length = span.1.since(span.0);
            (length > Duration::ZERO && length <= PATIENCE)
                .then(|| octets as f64 * 8.0 / length.as_secs_f64())
        };
        // N packets are N - 1 intervals.
        let send = of(self.bytes - u64::from(self.last_sent), self.sent)?;
        let receive = of(self.bytes - u64::from(self.first_arrived), self.arrived)?;
        if receive > 2.0 * send {
            return None;
        }
        // A link that is the bottleneck of the probe: stay below it.
        Some(if receive < 0.9 * send { 0.95 * receive } else { send.min(receive) })
    }
}
