//! Probe clusters: short bursts at a multiple of the rate, whose arrival rate is taken over as the new rate.
//!
//! Source: libwebrtc of June 2025: three and six times the start rate, then twice the result while it is at least 0.7 of what
//! was probed; 15 ms and five packets each; a cluster counts once 80 % of it have arrived. Left out: probes of an application
//! that sends less than it may, and after a large drop.

use crate::controller::{Outcome, Probe};
use crate::time::{Duration, Instant};

const SPAN_S: f64 = 0.015;
const PACKETS: u32 = 5;
const PATIENCE: Duration = Duration::from_secs(1);

/// A cluster whose result is awaited.
struct Cluster {
    probe: Probe,
    begun: Instant,
    arrived: Vec<Outcome>,
}

/// Sends and evaluates probes.
pub struct Probes {
    /// Rates to be probed next, bit/s.
    waiting: Vec<f64>,
    clusters: Vec<Cluster>,
    next: u32,
    max: f64,
}

impl Probes {
    pub fn new(start: f64, max: f64) -> Self {
        let waiting = [6.0, 3.0].map(|factor| (start * factor).min(2.0 * max)).to_vec();
        Self { waiting, clusters: Vec::new(), next: 0, max }
    }

    /// None at all.
    pub fn none() -> Self {
        Self { waiting: Vec::new(), clusters: Vec::new(), next: 0, max: 0.0 }
    }

    /// The next cluster.
    pub fn poll(&mut self, now: Instant) -> Option<Probe> {
        let rate_bps = self.waiting.pop()?;
        let bytes = (rate_bps * SPAN_S / 8.0) as u64;
        let probe = Probe { cluster: self.next, rate_bps, bytes, packets: PACKETS };
        self.next += 1;
        self.clusters.push(Cluster { probe, begun: now, arrived: Vec::new() });
        Some(probe)
    }

    /// Forgets what is planned: the path was overused.
    pub fn abandon(&mut self) {
        self.waiting.clear();
    }

    /// A packet of a cluster arrived. Returns the rate that the cluster measured, bit/s, once enough of it is there.
    pub fn add(&mut self, now: Instant, outcome: Outcome) -> Option<f64> {
        self.clusters.retain(|known| now.since(known.begun) <= PATIENCE);
        let at = self.clusters.iter().position(|known| Some(known.probe.cluster) == outcome.probe)?;
        let cluster = &mut self.clusters[at];
        cluster.arrived.push(outcome);
        let bytes: u64 = cluster.arrived.iter().map(|arrived| u64::from(arrived.len)).sum();
        let is_enough = cluster.arrived.len() as f64 >= 0.8 * f64::from(cluster.probe.packets)
            && bytes as f64 >= 0.8 * cluster.probe.bytes as f64;
        if !is_enough {
            return None;
        }
        let Cluster { probe, arrived, .. } = self.clusters.remove(at);
        let rate = measured(&arrived)?;
        if rate >= 0.7 * probe.rate_bps && probe.rate_bps < self.max && self.waiting.is_empty() {
            self.waiting.push((2.0 * rate).min(2.0 * self.max));
        }
        Some(rate)
    }
}

/// The lower of the sending rate and the arrival rate of the packets.
fn measured(packets: &[Outcome]) -> Option<f64> {
    let (first, last) = (packets.first()?, packets.last()?);
    let (mut sent, mut arrived) = ((first.sent_at, last.sent_at), (first.arrived_at?, last.arrived_at?));
    for packet in packets {
        sent = (sent.0.min(packet.sent_at), sent.1.max(packet.sent_at));
        arrived = (arrived.0.min(packet.arrived_at?), arrived.1.max(packet.arrived_at?));
    }
    let bytes: u64 = packets.iter().map(|packet| u64::from(packet.len)).sum();
    let of = |octets: u64, span: (Instant, Instant)| {
        let seconds = span.1.since(span.0).as_secs_f64();
        (seconds > 0.0).then(|| octets as f64 * 8.0 / seconds)
    };
    // N packets are N - 1 intervals.
    let send = of(bytes - u64::from(last.len), sent)?;
    let receive = of(bytes - u64::from(first.len), arrived)?;
    // A link that is the bottleneck of the probe: stay below it.
    Some(if receive < 0.9 * send { 0.95 * receive } else { send.min(receive) })
}
