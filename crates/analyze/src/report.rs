//! The words of the result. Names of fields are those of the JSON; units stand in them.

use std::net::IpAddr;

use airpath_core::time::{Duration, Instant};
use serde::Serialize;

use crate::acks;
use crate::connection::Connection;
use crate::crossing::{self, Passage};
use crate::delivery;
use crate::flow::causes::{ByCause, Counts};
use crate::flow::retransmissions::Spurious;
use crate::flow::{Counters, Flow, Spending, flight, late};
use crate::gtp::IN_TUNNEL;
use crate::phases::{Life, Phases, Told, seconds_from};
use crate::segment::{Endpoint, Offer};
use crate::series::{Curve, Marks, Rates};
use crate::sketch::Distribution;
use crate::verdict::{Figures, Verdict, verdict};
use crate::view::{Side, View, Viewpoint};

/// Connections that are not reported one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Others {
    pub connections: u64,
    pub packets: u64,
    pub payload_bytes: u64,
    /// The least of those kept for their data, and of those kept for their time.
    #[serde(skip)]
    pub(crate) least_kept: (u64, f64),
}

impl Others {
    pub(crate) fn add(&mut self, packets: u64, payload_bytes: u64) {
        self.connections += 1;
        self.packets += packets;
        self.payload_bytes = self.payload_bytes.saturating_add(payload_bytes);
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct ConnectionReport {
    /// In the order of first packets, from 1.
    pub number: u64,
    /// Who opened it, or the first end if that is not known.
    pub client: String,
    pub server: String,
    /// The host that the client asked for, by TLS or HTTP/1.1; `None` if that was not captured.
    pub name: Option<String>,
    /// From the capture's first packet to its own first, seconds.
    pub start_s: f64,
    /// From its first packet to its last, seconds.
    pub duration_s: f64,
    /// Packets of both ends, at all interfaces.
    pub packets: u64,
    /// Packets recorded more than once: copies beyond the first, which count nowhere else.
    pub copies: u64,
    /// Segments in front of the answer to the SYN that are of no connection, or of an old one.
    pub strays: u64,
    /// Tunnels of GTP-U that packets of either end came in.
    pub tunnels: Vec<TunnelReport>,
    pub payload_bytes: u64,
    /// Whether the handshake was captured: `whole`, `part` or `none`.
    pub opening: &'static str,
    /// `fin` of both ends, `half_closed`, `rst` or `open` at the end of the capture.
    pub closing: &'static str,
    /// From SYN to the end of the handshake, ms.
    pub handshake_rtt_ms: Option<f64>,
    pub syn_retransmissions: u64,
    /// What the client's SYN offered; `None` if it was not captured.
    pub client_offers: Option<Offer>,
    pub server_offers: Option<Offer>,
    /// Keep-alives that each end sent; an end may send no data besides.
    pub client_keepalives: u64,
    pub server_keepalives: u64,
    /// The interfaces that saw it, in the order of the path from client to server.
    pub views: Vec<ViewReport>,
    /// What it did from its first packet to its last.
    pub phases: Phases,
    /// Directions with data, the client's first.
    pub flows: Vec<FlowReport>,
    pub not_known: Vec<String>,
}

/// A tunnel of GTP-U that a connection came in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TunnelReport {
    /// `client` or `server`.
    pub sender: &'static str,
    /// The node that packets of this end go to.
    pub to: String,
    pub teid: u32,
}

/// An interface of the capture.
#[derive(Clone, Debug, Serialize)]
pub struct Interface {
    /// Its name, if the file has one.
    #[serde(rename = "interface")]
    pub name: Option<String>,
    /// From 0.
    #[serde(rename = "interface_number")]
    pub number: u32,
    /// Packets were inside tunnels of GTP-U there.
    pub in_tunnel: bool,
}

impl Interface {
    /// By its number, which may say that it is inside tunnels.
    pub(crate) fn of(number: u32) -> Self {
        Self { name: None, number: number & !IN_TUNNEL, in_tunnel: number & IN_TUNNEL != 0 }
    }
}

/// A connection at one interface.
#[derive(Clone, Debug, Serialize)]
pub struct ViewReport {
    #[serde(flatten)]
    pub interface: Interface,
    /// From the capture's first packet to the connection's first here, seconds.
    pub start_s: f64,
    /// Packets of both ends.
    pub packets: u64,
}

/// What reached the interface nearest to the receiver.
#[derive(Clone, Debug, Serialize)]
pub struct ReceiverReport {
    #[serde(flatten)]
    pub interface: Interface,
    /// Segments with data that came.
    pub segments: u64,
    pub bytes: u64,
    /// Segments that brought only what had come before.
    pub duplicates: u64,
    /// ACKs without data that the receiver sent.
    pub pure_acks: u64,
}

/// What became of packets between the interfaces nearest to sender and receiver.
#[derive(Clone, Debug, Serialize)]
pub struct PathReport {
    /// Segments with data; `None` if the interfaces saw the stream in other segments.
    pub data: Option<Passage>,
    /// ACKs without data, on their way back.
    pub acks: Option<Passage>,
    /// Delay of segments with data over the time when they were sent, ms.
    pub delay_over_time: Curve,
    /// Segments with data that were lost, over the time when they were sent.
    pub lost_over_time: Marks,
}

/// One direction of data, as the interface nearest to its sender saw it.
#[derive(Clone, Debug, Serialize)]
pub struct FlowReport {
    /// `client` or `server`.
    pub sender: &'static str,
    /// The interface nearest to the sender.
    #[serde(flatten)]
    pub interface: Interface,
    pub viewpoint: Viewpoint,
    /// What another interface saw, nearer to the receiver.
    pub at_receiver: Option<ReceiverReport>,
    /// What became of packets between the two.
    pub path: Option<PathReport>,
    /// From the first data to the last ACK, seconds.
    pub duration_s: Option<f64>,
    /// Bytes of the stream acknowledged.
    pub bytes_acked: u64,
    /// Bytes of the stream seen or acknowledged.
    pub bytes_known: u64,
    /// `bytes_acked` over `duration_s`; where no ACKs were captured, bytes seen.
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
    /// The shortest from here to the receiver and back, the handshake's too, ms.
    pub min_ms: Option<f64>,
    /// From here to the receiver and back, ms.
    pub forward_ms: Option<Distribution>,
    /// From here to the sender and back, with its time to answer, ms; by timestamps.
    pub back_ms: Option<Distribution>,
    /// Round trips beyond the shortest: time spent in buffers, ms.
    pub queueing_ms: Option<Queueing>,
    /// Forward over time, ms.
    pub over_time: Curve,
}

/// Delay beyond the shortest round trip.
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
    /// Those for which nothing shows that they were needless.
    pub needed: u64,
    /// Those that were needless.
    pub spurious: Spurious,
    pub by_cause: Counts,
    /// Share of the segments with data.
    pub share: Option<f64>,
    pub over_time: ByCause<Marks>,
}

/// Loss episodes with their shares.
#[derive(Clone, Debug, Serialize)]
pub struct EpisodeReport {
    pub events: u64,
    /// With one fast retransmit and nothing more.
    pub single: u64,
    /// With two or more, and no timeout.
    pub double: u64,
    pub timeout: u64,
    /// T0: mean wait for the first timeout of an episode, from what started the timer, seconds.
    pub mean_timeout_s: Option<f64>,
    /// The same from the fast retransmit before it, where there is one.
    pub mean_timeout_wait_s: Option<f64>,
    /// Root mean square of what was in flight just before the first cuts, segments.
    pub max_window_rms_segments: Option<f64>,
    /// Share of episodes with one fast retransmit.
    pub p1: Option<f64>,
    /// Share with two or more and no timeout.
    pub p2: Option<f64>,
    /// Share with a timeout.
    pub p3: Option<f64>,
    /// Fast retransmits and timeouts per segment acknowledged.
    pub loss_probability: Option<f64>,
}

pub(crate) fn text((address, port): Endpoint) -> String {
    match address {
        IpAddr::V4(address) => format!("{address}:{port}"),
        IpAddr::V6(address) => format!("[{address}]:{port}"),
    }
}

impl PathReport {
    /// Delay of what arrived, if the interfaces saw the same packets.
    pub(crate) fn delay_ms(&self) -> Option<&Distribution> {
        self.data.as_ref()?.delay_ms.as_ref()
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn interface(view: &View) -> Interface {
    Interface::of(view.interface)
}

impl ConnectionReport {
    /// Counts times from a point so many seconds earlier.
    pub(crate) fn shift(&mut self, seconds: f64) {
        self.start_s += seconds;
        self.views.iter_mut().for_each(|view| view.start_s += seconds);
    }

    /// Names the interfaces by their numbers.
    pub(crate) fn name_interfaces(&mut self, name: impl Fn(u32) -> Option<String>) {
        let of_views = self.views.iter_mut().map(|view| &mut view.interface);
        let of_flows = self.flows.iter_mut().flat_map(|flow| {
            std::iter::once(&mut flow.interface).chain(flow.at_receiver.as_mut().map(|it| &mut it.interface))
        });
        for interface in of_views.chain(of_flows) {
            interface.name = name(interface.number);
        }
    }
}

/// Reports a connection of a capture that began at `start`.
pub(crate) fn of_connection(connection: &Connection, start: Instant) -> ConnectionReport {
    let client: Side = connection.opener().unwrap_or(0);
    let order = connection.along(client);
    let first_at = connection.first_at();
    // What both ends say is the same everywhere, if it was seen at all.
    let whole = connection.views.iter().find(|view| view.offers.iter().all(Option::is_some));
    let ends = whole.unwrap_or(&connection.views[0]);
    let (to_peer, to_opener) = ends.handshake;
    let observed: Vec<_> =
        [client, 1 - client].into_iter().filter_map(|side| observe(connection, side)).collect();
    let name = |seen: &Observed| if seen.side == client { "client" } else { "server" };
    let spent: Vec<_> = observed.iter().map(|seen| of_near(connection, seen).spending()).collect();
    let told = observed.iter().zip(&spent).map(|(seen, spending)| {
        let flow = of_near(connection, seen);
        Told {
            sender: name(seen),
            bytes: flow.bytes_acked().max(flow.bytes_known()),
            spending: spending.as_ref(),
        }
    });
    let life = Life {
        first_at,
        latest_at: connection.latest_at(),
        has_syn: connection.opener().is_some(),
        established_at: connection.views.iter().filter_map(|view| view.established_at).min(),
    };
    ConnectionReport {
        number: connection.number,
        client: text(connection.end(client)),
        server: text(connection.end(1 - client)),
        name: connection.name.clone(),
        start_s: seconds_from(start, first_at),
        duration_s: connection.latest_at().since(first_at).as_secs_f64(),
        packets: connection.packets(),
        copies: connection.copied(),
        strays: connection.views.iter().map(|view| view.strays).sum(),
        tunnels: [client, 1 - client]
            .into_iter()
            .flat_map(|side| connection.tunnels[side].iter().map(move |tunnel| (side, tunnel)))
            .map(|(side, tunnel)| TunnelReport {
                sender: if side == client { "client" } else { "server" },
                to: tunnel.to.to_string(),
                teid: tunnel.teid,
            })
            .collect(),
        payload_bytes: connection.payload(),
        opening: match ends.offers {
            [Some(_), Some(_)] => "whole",
            [None, None] => "none",
            _ => "part",
        },
        closing: match (ends.fin, ends.rst) {
            (_, rst) if rst != [false; 2] => "rst",
            ([true, true], _) => "fin",
            ([false, false], _) => "open",
            _ => "half_closed",
        },
        handshake_rtt_ms: to_peer.zip(to_opener).map(|(one, other)| ms(one + other)),
        syn_retransmissions: connection.views.iter().map(|view| view.syns_again).max().unwrap_or(0),
        client_offers: ends.offers[client],
        server_offers: ends.offers[1 - client],
        client_keepalives: keepalives(connection, client),
        server_keepalives: keepalives(connection, 1 - client),
        views: order
            .iter()
            .map(|at| &connection.views[*at])
            .map(|view| ViewReport {
                interface: interface(view),
                start_s: seconds_from(start, view.first_at),
                packets: view.packets.iter().sum(),
            })
            .collect(),
        phases: Phases::of(life, &told.collect::<Vec<_>>()),
        flows: observed
            .iter()
            .zip(&spent)
            .map(|(seen, spending)| of_flow(connection, seen, name(seen), spending.as_ref()))
            .collect(),
        not_known: not_known(connection, ends, &observed),
    }
}

/// Where one direction of data was seen.
struct Observed {
    side: Side,
    /// The views nearest to sender and receiver, by their place among the connection's.
    near: usize,
    far: Option<usize>,
}

/// Finds out where data of one side was seen; `None` if there was none.
fn observe(connection: &Connection, side: Side) -> Option<Observed> {
    let flow = |at: usize| &connection.views[at].flows[side];
    let along = connection.along(side);
    let seen: Vec<_> = along
        .into_iter()
        .filter(|&at| flow(at).counters.segments > 0 || flow(at).bytes_known() > 1)
        .collect();
    let near = *seen.iter().find(|&&at| flow(at).counters.segments > 0).or(seen.first())?;
    let far = seen.last().copied().filter(|&far| far != near && flow(far).counters.segments > 0);
    Some(Observed { side, near, far })
}

/// The flow as the view nearest to its sender saw it.
fn of_near<'a>(connection: &'a Connection, seen: &Observed) -> &'a Flow {
    &connection.views[seen.near].flows[seen.side]
}

fn keepalives(connection: &Connection, side: Side) -> u64 {
    connection.views.iter().map(|view| view.flows[side].counters.keepalives).max().unwrap_or(0)
}

fn not_known(connection: &Connection, ends: &View, observed: &[Observed]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |line: &str| lines.push(line.to_owned());
    if ends.opener.is_none() {
        say("the capture begins in the middle of the connection: who opened it, and what was agreed on");
    }
    if connection.views.iter().all(|view| view.packets.contains(&0)) {
        say("one direction was not captured: round trips, and why segments were sent again");
    }
    if ends.opener.is_some() && ends.offers.iter().any(Option::is_none) {
        say("not both SYNs were captured: options");
    }
    let sending: Vec<_> = observed
        .iter()
        .map(|seen| (seen.side, &connection.views[seen.near]))
        .filter(|(side, view)| view.flows[*side].counters.segments > 0)
        .collect();
    if sending.iter().any(|(side, view)| view.flows[*side].window_shift.is_none()) {
        say("the window scale: receive windows are not judged");
    }
    for &(side, view) in &sending {
        let flow = &view.flows[side];
        let name = text(connection.end(side));
        match view.viewpoint(side) {
            Viewpoint::Unknown => say(&format!("from where {name} was seen: taken to be its own side")),
            Viewpoint::Receiver | Viewpoint::Between => say(&format!(
                "what {name} had in flight and when it acted: the capture was not taken at its side, and what was \
                 lost before it is known from gaps alone"
            )),
            Viewpoint::Sender => {}
        }
        if flow.counters.unseen_bytes > 0 {
            let bytes = flow.counters.unseen_bytes;
            say(&format!("{bytes} bytes of {name} were acknowledged and are not in the capture"));
        }
        if flow.forgotten() > 0 {
            say(&format!("what became of {} segments of {name}: too many were in flight", flow.forgotten()));
        }
        let is_exact = observed.iter().any(|seen| seen.side == side && seen.far.is_some());
        let has_evidence = is_exact || flow.rtt.by_timestamps || flow.counters.dsacks > 0;
        if flow.counters.retransmissions > 0 && !has_evidence {
            say(&format!(
                "whether retransmissions of {name} were spurious, but for those acknowledged too soon: neither \
                 timestamps nor DSACK"
            ));
        }
    }
    let went_back: u64 = connection.views.iter().map(|view| view.went_back).sum();
    if went_back > 0 {
        say(&format!("the order of {went_back} packets, whose times go back"));
    }
    lines
}

fn of_flow(
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
    let flight = flight_as_seen(flow.flight.report(start), viewpoint);
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
        max_flight_bytes: flight.max_bytes,
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

/// Segments that came to the receiver again, where that is known: they were sent in vain, whatever ACKs say.
fn seen_again(
    flow: &Flow,
    viewpoint: Viewpoint,
    at_receiver: Option<&ReceiverReport>,
    path: Option<&PathReport>,
) -> Option<u64> {
    if let (Some(receiver), Some(path)) = (at_receiver, path) {
        // A box may have sent copies.
        return path.data.as_ref().map(|data| receiver.duplicates.saturating_sub(data.added));
    }
    let at_least = || flow.counters.seen_before.max(flow.spurious().total);
    (viewpoint == Viewpoint::Receiver).then(at_least)
}

/// At the receiver nothing is in flight: the shares of time say nothing there.
fn flight_as_seen(report: flight::Report, viewpoint: Viewpoint) -> flight::Report {
    match viewpoint {
        Viewpoint::Sender | Viewpoint::Unknown => report,
        Viewpoint::Between | Viewpoint::Receiver => {
            flight::Report { idle_share: None, window_limited_share: None, ..report }
        }
    }
}

/// The shortest and the median round trip from sender to receiver and back, where they can be told.
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
