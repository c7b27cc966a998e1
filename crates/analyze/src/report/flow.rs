//! The result for one direction of data. The names of the fields are those of the JSON, with their units.

use airpath_core::time::{Duration, Instant};
use serde::Serialize;

use super::{Interface, Observed, interface, ms};
use crate::acks;
use crate::connection::Connection;
use crate::crossing::{self, Passage};
use crate::delivery;
use crate::flow::causes::{ByCause, Counts};
use crate::flow::retransmissions::Spurious;
use crate::flow::{Counters, Flow, Spending, flight, late};
use crate::series::{Curve, Marks, Rates};
use crate::sketch::Distribution;
use crate::verdict::{Figures, Verdict, verdict};
use crate::view::{Side, View, Viewpoint};

/// Packets at the interface nearest to the receiver.
#[derive(Clone, Debug, Serialize)]
pub struct ReceiverReport {
    #[serde(flatten)]
    pub interface: Interface,
    /// Segments with data that arrived.
    pub segments: u64,
    pub bytes: u64,
    /// Segments whose data had all arrived before.
    pub duplicates: u64,
    /// ACKs without data that the receiver sent.
    pub pure_acks: u64,
}

/// Outcome of packets between the interfaces nearest to sender and receiver.
#[derive(Clone, Debug, Serialize)]
pub struct PathReport {
    /// Segments with data; `None` if the interfaces saw the stream in other segments.
    pub data: Option<Passage>,
    /// ACKs without data, in the reverse direction.
    pub acks: Option<Passage>,
    /// One-way delay of segments with data, ms, over the time when they were sent.
    pub delay_over_time: Curve,
    /// Segments with data that were lost, over the time when they were sent.
    pub lost_over_time: Marks,
}

/// One direction of data at the interface nearest to its sender.
#[derive(Clone, Debug, Serialize)]
pub struct FlowReport {
    /// `client` or `server`.
    pub sender: &'static str,
    /// The interface nearest to the sender.
    #[serde(flatten)]
    pub interface: Interface,
    pub viewpoint: Viewpoint,
    /// Packets at another interface, nearer to the receiver.
    pub at_receiver: Option<ReceiverReport>,
    /// Outcome of packets between the two interfaces.
    pub path: Option<PathReport>,
    /// Time from the first data to the last ACK, seconds.
    pub duration_s: Option<f64>,
    /// Bytes of the stream acknowledged.
    pub bytes_acked: u64,
    /// Bytes of the stream seen or acknowledged.
    pub bytes_known: u64,
    /// `bytes_acked` over `duration_s`; `bytes_known` where no ACKs were captured.
    pub goodput_bps: Option<f64>,
    /// Payload of a full segment.
    pub segment_bytes: u64,
    pub counters: Counters,
    pub rtt: RttReport,
    pub acks: acks::Report,
    pub reordering: late::Report,
    pub retransmissions: RetransmissionReport,
    pub loss_episodes: EpisodeReport,
    /// Bytes in flight and windows.
    pub flight: flight::Report,
    pub rate: delivery::Report,
    pub progress: Curve,
    /// Bytes acknowledged over time, as a rate.
    pub throughput: Rates,
    pub verdict: Verdict,
}

#[derive(Clone, Debug, Serialize)]
pub struct RttReport {
    /// `timestamps` or `sequence`; `None` without a sample.
    pub method: Option<&'static str>,
    /// Minimum RTT between here and the receiver, including the handshake's, ms.
    pub min_ms: Option<f64>,
    /// RTT between here and the receiver, ms.
    pub forward_ms: Option<Distribution>,
    /// RTT between here and the sender, including its time to answer, by timestamps, ms.
    pub back_ms: Option<Distribution>,
    /// RTT - minimum RTT: queueing delay, ms.
    pub queueing_ms: Option<Queueing>,
    /// `forward_ms` over time.
    pub over_time: Curve,
}

/// Statistics of RTT - minimum RTT.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Queueing {
    pub mean: f64,
    pub median: f64,
    pub p95: f64,
    pub max: f64,
}

#[derive(Clone, Debug, Serialize)]
pub struct RetransmissionReport {
    pub total: u64,
    /// Retransmissions without evidence that they were spurious.
    pub needed: u64,
    /// Retransmissions of data that was not lost.
    pub spurious: Spurious,
    pub by_cause: Counts,
    /// `total` per segment with data.
    pub share: Option<f64>,
    pub over_time: ByCause<Marks>,
}

/// Loss episodes with their shares.
#[derive(Clone, Debug, Serialize)]
pub struct EpisodeReport {
    pub events: u64,
    /// Episodes with one fast retransmit and no timeout.
    pub single: u64,
    /// Episodes with two or more fast retransmits and no timeout.
    pub double: u64,
    /// Episodes with a timeout.
    pub timeout: u64,
    /// T0: mean time from the start of the timer to the first timeout of an episode, seconds.
    pub mean_timeout_s: Option<f64>,
    /// Mean time from the fast retransmit to the first timeout of an episode that has both, seconds.
    pub mean_timeout_wait_s: Option<f64>,
    /// Root mean square of the segments in flight before the first reduction of each episode.
    pub max_window_rms_segments: Option<f64>,
    /// Share of episodes with one fast retransmit.
    pub p1: Option<f64>,
    /// Share of episodes with two or more fast retransmits and no timeout.
    pub p2: Option<f64>,
    /// Share of episodes with a timeout.
    pub p3: Option<f64>,
    /// Fast retransmits and timeouts per segment acknowledged.
    pub loss_probability: Option<f64>,
}

impl PathReport {
    /// Delay of the segments that arrived, if the interfaces saw the same packets.
    pub(crate) fn delay_ms(&self) -> Option<&Distribution> {
        self.data.as_ref()?.delay_ms.as_ref()
    }
}

/// Reports one direction of data.
pub(super) fn of_flow(
    connection: &Connection,
    seen: &Observed,
    sender: &'static str,
    spending: Option<&Spending>,
) -> FlowReport {
    let (side, view) = (seen.side, &connection.views[seen.near]);
    let flow = &view.flows[side];
    let start = connection.first_at();
    let duration_s = flow.duration().map(Duration::as_secs_f64);
    let bytes_acked = flow.bytes_acked();
    let bytes = if bytes_acked > 0 { bytes_acked } else { flow.bytes_known() };
    let goodput_bps = duration_s.map(|seconds| bytes as f64 * 8.0 / seconds);
    let viewpoint = view.viewpoint(side);
    let rtt = of_rtt(flow, start);
    let flight = flight_as_seen(flow.flight(start), viewpoint);
    let rate = flow.delivery.report();
    let path = seen.far.and_then(|far| of_path(connection, side, seen.near, far));
    let at_receiver = seen.far.map(|far| of_receiver(&connection.views[far], side));
    let in_vain = seen_again(flow, viewpoint, at_receiver.as_ref(), path.as_ref());
    let retransmissions = of_retransmissions(flow, in_vain, start);
    let spurious = flow.spurious();
    let loss_episodes = of_episodes(flow);
    let causes = flow.causes().counts();
    let figures = Figures {
        segments: flow.counters.segments,
        shares: spending.map(|spending| spending.shares),
        goodput_bps,
        bottleneck_bps: rate.bottleneck_bps,
        rtt_ms: whole_rtt_ms(&rtt, viewpoint),
        episodes: loss_episodes.events,
        cuts: causes.fast_retransmit + causes.timeout,
        spurious_cuts: spurious.timeouts + spurious.fast_retransmits,
        timeouts: causes.timeout,
        spurious_timeouts: spurious.timeouts,
        retransmissions: flow.counters.retransmissions,
        zero_windows: flight.zero_windows,
        window_probes: flow.counters.window_probes,
        max_flight_bytes: flight.max_bytes.unwrap_or_default(),
    };
    FlowReport {
        sender,
        interface: interface(view),
        viewpoint,
        at_receiver,
        path,
        duration_s,
        bytes_acked,
        bytes_known: flow.bytes_known(),
        goodput_bps,
        segment_bytes: flow.full_segment(),
        counters: flow.counted(),
        rtt,
        acks: flow.acks.report(),
        reordering: flow.late(),
        retransmissions,
        loss_episodes,
        flight,
        rate,
        progress: flow.progress.curve(start, 1.0),
        throughput: flow.progress.rates(start),
        verdict: verdict(&figures),
    }
}

fn of_receiver(view: &View, side: Side) -> ReceiverReport {
    let counters = &view.flows[side].counters;
    ReceiverReport {
        interface: interface(view),
        segments: counters.segments,
        bytes: counters.bytes,
        duplicates: counters.seen_before,
        pure_acks: counters.pure_acks,
    }
}

fn of_path(connection: &Connection, side: Side, near: usize, far: usize) -> Option<PathReport> {
    let crossing::Report { data, delay_over_time, lost_over_time, .. } =
        connection.passage(side, near, far)?;
    let acks = connection.passage(1 - side, far, near).and_then(|back| back.acks);
    Some(PathReport { data, acks, delay_over_time, lost_over_time })
}

/// Number of segments that arrived at the receiver twice, if known: spurious retransmissions, regardless of the ACKs.
fn seen_again(
    flow: &Flow,
    viewpoint: Viewpoint,
    at_receiver: Option<&ReceiverReport>,
    path: Option<&PathReport>,
) -> Option<u64> {
    if let (Some(receiver), Some(path)) = (at_receiver, path) {
        // A middlebox may have sent copies.
        return path.data.as_ref().map(|data| receiver.duplicates.saturating_sub(data.added));
    }
    let at_least = || flow.counters.seen_before.max(flow.spurious().total);
    (viewpoint == Viewpoint::Receiver).then(at_least)
}

/// The report without the shares of time if they are meaningless: nothing is in flight at the receiver.
fn flight_as_seen(report: flight::Report, viewpoint: Viewpoint) -> flight::Report {
    match viewpoint {
        Viewpoint::Sender | Viewpoint::Unknown => report,
        Viewpoint::Between | Viewpoint::Receiver => {
            flight::Report { idle_share: None, window_limited_share: None, ..report }
        }
    }
}

/// Minimum and median RTT between sender and receiver, where the capture shows them.
fn whole_rtt_ms(rtt: &RttReport, viewpoint: Viewpoint) -> Option<(f64, f64)> {
    let forward = rtt.forward_ms.as_ref()?;
    let shortest = rtt.min_ms?;
    match viewpoint {
        Viewpoint::Sender | Viewpoint::Unknown => Some((shortest, forward.median)),
        Viewpoint::Between | Viewpoint::Receiver => {
            let back = rtt.back_ms.as_ref()?;
            Some((shortest + back.min, forward.median + back.median))
        }
    }
}

fn of_rtt(flow: &Flow, start: Instant) -> RttReport {
    let rtt = &flow.rtt;
    let forward = rtt.forward.distribution(1e3);
    let min_ms = rtt.shortest.map(ms);
    let queueing_ms = forward.as_ref().zip(min_ms).map(|(forward, min)| Queueing {
        mean: forward.mean - min,
        median: (forward.median - min).max(0.0),
        p95: (forward.p95 - min).max(0.0),
        max: forward.max - min,
    });
    RttReport {
        method: forward.as_ref().map(|_| if rtt.by_timestamps { "timestamps" } else { "sequence" }),
        min_ms,
        forward_ms: forward,
        back_ms: rtt.back.distribution(1e3),
        queueing_ms,
        over_time: rtt.over_time.curve(start, 1e3),
    }
}

fn of_retransmissions(flow: &Flow, in_vain: Option<u64>, start: Instant) -> RetransmissionReport {
    let total = flow.counters.retransmissions;
    let found = flow.spurious();
    let in_vain = in_vain.unwrap_or(found.total).min(total);
    let segments = flow.counters.segments;
    RetransmissionReport {
        total,
        needed: total - in_vain,
        spurious: Spurious { total: in_vain, ..found },
        by_cause: flow.causes().counts(),
        share: (segments > 0).then(|| total as f64 / segments as f64),
        over_time: flow.causes().over_time(start),
    }
}

fn of_episodes(flow: &Flow) -> EpisodeReport {
    let all = flow.causes().episodes();
    let causes = flow.causes().counts();
    let share = |part: u64| (all.events > 0).then(|| part as f64 / all.events as f64);
    let acked = flow.bytes_acked() as f64 / flow.full_segment() as f64;
    EpisodeReport {
        p1: share(all.single),
        p2: share(all.double),
        p3: share(all.timeout),
        loss_probability: (acked > 0.0).then(|| (causes.fast_retransmit + causes.timeout) as f64 / acked),
        events: all.events,
        single: all.single,
        double: all.double,
        timeout: all.timeout,
        mean_timeout_s: all.mean_timeout_s,
        mean_timeout_wait_s: all.mean_timeout_wait_s,
        max_window_rms_segments: all.max_window_rms_segments,
    }
}
