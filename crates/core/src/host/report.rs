//! Reports of flows, from both hosts: the flows' part of the results.

use super::arrivals::{Counts, counts};
use super::end::QuicCounts;
use super::multipath::{self, DataReport, MultipathReport};
use super::{End, Endpoint, FlowSpec, Host};
use crate::app::adaptive_video;
use crate::app::datagrams::{Datagrams, Report as DatagramReport};
use crate::app::media;
use crate::app::transfers::Report as TransfersReport;
use crate::app::web::Report as WebReport;
use crate::delays::{DelayReport, Delays};
use crate::packet::Dir;
use crate::quic;
use crate::radio::fairness::jain_index;
use crate::tcp::sender::Counters;
use crate::tcp::{self, Receiver, Sender};
use crate::time::Instant;
use crate::trace::FlowRow;
use serde::Serialize;

/// Bytes of a UDP or an ICMP echo header: RFC 768, RFC 792.
const DATAGRAM_HEADER_BYTES: u32 = 8;

/// Report on a flow at the end of a run. Times in seconds or milliseconds, rates in bit/s.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlowReport {
    /// Number of the UE, or of its interface in a scenario with `[[ue]]`.
    pub ue: u16,
    /// Name of that interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Number of the flow at its UE.
    pub flow: u16,
    /// Direction of the data.
    pub direction: Dir,
    /// Name of the application.
    pub app: &'static str,
    /// When the application started; of a connection of a page, when it was opened.
    pub start_s: f64,
    /// From there to the last ACK at the sender; `None` without end or unfinished. Where a middlebox
    /// splits the connection, the ACK is the box's and may come before `received_s`.
    pub transfer_s: Option<f64>,
    /// From the start to the arrival in sequence of the last byte at the receiving application; `None`
    /// if unfinished, or without a size that is known at the start.
    pub received_s: Option<f64>,
    /// Payload acknowledged (received, without TCP), over the time of the transfer or of the run.
    pub goodput_bps: f64,
    /// Size of a transfer, if it is known at the start.
    pub bytes_to_send: Option<u64>,
    /// Payload acknowledged at the sender.
    pub bytes_acked: u64,
    /// Payload handed to the receiving application.
    pub bytes_received: u64,
    /// Counters of the sender; zero without TCP, except for RTTs, which are measured from requests to their responses.
    #[serde(flatten)]
    pub sender: Counters,
    /// From the transmission by the sender's host to the arrival at the receiver's, of each packet with data that arrived:
    /// RFC 7679 (3.4). Where a middlebox splits the connection, from its transmission by the box.
    pub one_way_delay_ms: DelayReport,
    /// How far one-way delays are above their minimum: RFC 5481 (4.2). What the path adds to its shortest delay: waiting
    /// in buffers and for a grant, retransmissions below TCP.
    pub queueing_delay_ms: DelayReport,
    /// Counters of the receiver.
    pub receiver: tcp::receiver::Counters,
    /// Report on ECN, if the flow has negotiated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<tcp::ecn::Report>,
    /// Report on radio network feedback, if the flow uses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rnf: Option<tcp::recovery::rnf::Report>,
    /// Report on datagrams, for a flow without TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramReport>,
    /// Report on media, for a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<media::Both>,
    /// Report on transfers, for a flow that makes several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers: Option<TransfersReport>,
    /// Report on adaptive streaming.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video: Option<adaptive_video::Report>,
    /// Report on QUIC, for a flow over it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quic: Option<QuicReport>,
    /// Report on a page, at its first connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web: Option<WebReport>,
    /// Report on the paths of a connection over several. The counters of the flow are then the sums over its paths, and
    /// one-way delays end when all bytes before have arrived too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multipath: Option<MultipathReport>,
}

/// Both ends of a connection over QUIC.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QuicReport {
    /// The end that has responses.
    pub server: quic::Report,
    /// The end that has requests.
    pub client: quic::Report,
    /// Packets in flight at the end of the run, at both ends.
    #[serde(skip)]
    pub in_flight: u64,
}

impl FlowReport {
    /// Enters the names of the interfaces, by their indices.
    pub fn name_interfaces(&mut self, names: &[String]) {
        let name = |ue: u16| names.get(usize::from(ue)).cloned();
        self.interface = name(self.ue);
        for subflow in self.multipath.iter_mut().flat_map(|report| &mut report.subflows) {
            subflow.interface = name(subflow.ue);
        }
    }

    /// An empty report for a flow.
    pub(super) fn new(spec: &FlowSpec) -> Self {
        Self {
            ue: spec.ue,
            interface: None,
            flow: spec.flow,
            direction: spec.dir,
            app: spec.app.name(),
            start_s: spec.start.as_secs_f64(),
            bytes_to_send: spec.app.size(),
            ..Self::default()
        }
    }

    /// What the sending endpoint of a flow says that began at `start`, at the end of its transfer or now.
    fn of_sender(
        spec: &FlowSpec,
        start: Instant,
        sender: &Sender,
        finished: Option<Instant>,
        now: Instant,
    ) -> Self {
        let seconds = finished.unwrap_or(now).since(start).as_secs_f64();
        let bytes_acked = sender.state().una;
        Self {
            start_s: start.as_secs_f64(),
            transfer_s: finished.map(|at| at.since(start).as_secs_f64()),
            goodput_bps: if seconds > 0.0 { bytes_acked as f64 * 8.0 / seconds } else { 0.0 },
            bytes_acked,
            sender: sender.counters(),
            ecn: sender.ecn(),
            rnf: sender.rnf(),
            ..Self::new(spec)
        }
    }

    /// Both ends of files that come and go: how many have started, and what was counted, at the sender and at the receiver.
    fn of_files(spec: &FlowSpec, from: (u64, Counts), to: (u64, Counts), now: Instant) -> Self {
        let seconds = now.since(spec.start.min(now)).as_secs_f64();
        Self {
            goodput_bps: if seconds > 0.0 { from.1.bytes as f64 * 8.0 / seconds } else { 0.0 },
            bytes_acked: from.1.bytes,
            bytes_received: to.1.bytes,
            sender: from.1.sender,
            receiver: to.1.receiver,
            transfers: Some(to.1.tally.report(to.0, to.1.abandoned)),
            ..Self::new(spec)
        }
    }

    /// Reports both endpoints of a flow without TCP; `dropped` counts its datagrams dropped on the path. Fields of TCP
    /// are zero.
    fn of_datagrams(spec: &FlowSpec, ends: [&dyn Datagrams; 2], dropped: u64, now: Instant) -> Self {
        let mut report = DatagramReport::default();
        ends.iter().for_each(|end| end.report(&mut report));
        report.lost = report.sent.saturating_sub(report.received);
        report.settle(dropped);
        let headers = u64::from(spec.tcp.ip.header_bytes() + DATAGRAM_HEADER_BYTES) * report.received;
        let bytes_received = report.bytes.saturating_sub(headers);
        let seconds = now.since(spec.start.min(now)).as_secs_f64();
        let (rtt_ms, one_way_delay_ms) = (report.rtt_ms, report.one_way_delay_ms);
        let [forward, reverse] = std::mem::take(&mut report.media);
        let call = forward.is_some().then(|| {
            let (downlink, uplink) = spec.dir.pick((forward.clone(), reverse.clone()), (reverse, forward));
            media::Both { downlink, uplink }
        });
        Self {
            goodput_bps: if seconds > 0.0 { bytes_received as f64 * 8.0 / seconds } else { 0.0 },
            bytes_received,
            sender: Counters { rtt_ms, ..Counters::default() },
            one_way_delay_ms,
            queueing_delay_ms: one_way_delay_ms.variation(),
            datagrams: Some(report),
            call,
            ..Self::new(spec)
        }
    }

    /// Both ends of a connection over several paths.
    fn of_paths(spec: &FlowSpec, data: DataReport) -> Self {
        let seconds = data.ended.since(data.start.min(data.ended)).as_secs_f64();
        Self {
            transfer_s: data.finished.map(|at| at.since(data.start).as_secs_f64()),
            received_s: data.received_s,
            goodput_bps: if seconds > 0.0 { data.bytes_acked as f64 * 8.0 / seconds } else { 0.0 },
            bytes_acked: data.bytes_acked,
            bytes_received: data.bytes_received,
            sender: data.sender,
            receiver: data.receiver,
            one_way_delay_ms: data.one_way_delay_ms,
            queueing_delay_ms: data.one_way_delay_ms.variation(),
            transfers: data.app.transfers,
            video: data.app.video,
            multipath: Some(data.multipath),
            ..Self::new(spec)
        }
    }

    /// Reports a page over QUIC, from its server and its browser. Fields of TCP are zero.
    fn of_quic(
        spec: &FlowSpec,
        server: QuicCounts,
        client: QuicCounts,
        web: WebReport,
        now: Instant,
    ) -> Self {
        let since_start = |at: Instant| at.since(spec.start.min(at)).as_secs_f64();
        let seconds = since_start(server.finished.unwrap_or(now));
        Self {
            transfer_s: server.finished.map(since_start),
            received_s: client.finished.map(since_start),
            goodput_bps: if seconds > 0.0 { server.acked as f64 * 8.0 / seconds } else { 0.0 },
            bytes_to_send: Some(server.size),
            bytes_acked: server.acked,
            bytes_received: client.received,
            sender: Counters { rtt_ms: server.report.rtt_ms, ..Counters::default() },
            one_way_delay_ms: client.one_way_delay_ms,
            queueing_delay_ms: client.one_way_delay_ms.variation(),
            quic: Some(QuicReport {
                in_flight: server.in_flight + client.in_flight,
                server: server.report,
                client: client.report,
            }),
            web: Some(web),
            ..Self::new(spec)
        }
    }

    fn with_receiver(self, receiver: &Receiver, delays: &Delays) -> Self {
        let marks = receiver.marks().unwrap_or_default();
        let accurate = |sent: tcp::ecn::Report| {
            let counts = sent.accurate.zip(receiver.ecn_counts());
            counts.map(|(both, counted)| tcp::ecn::BothCounts { receiver: counted, ..both })
        };
        let one_way_delay_ms = delays.report();
        Self {
            bytes_received: receiver.rcv_nxt(),
            receiver: receiver.counters().clone(),
            one_way_delay_ms,
            queueing_delay_ms: one_way_delay_ms.variation(),
            ecn: self.ecn.map(|report| tcp::ecn::Report { marks, accurate: accurate(report), ..report }),
            ..self
        }
    }
}

/// How evenly the flows of each direction share it: Jain's index of their goodputs; `None` without any goodput. A
/// connection of a page is a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct JainIndex {
    /// Index of flows whose data goes to the UEs.
    pub downlink: Option<f64>,
    /// Index of flows whose data goes to the server.
    pub uplink: Option<f64>,
}

impl JainIndex {
    /// The index of flows with these directions and goodputs.
    pub fn of(flows: impl Iterator<Item = (Dir, f64)> + Clone) -> Self {
        let [downlink, uplink] = Dir::BOTH
            .map(|dir| jain_index(flows.clone().filter(|(of, _)| *of == dir).map(|(_, goodput)| goodput)));
        Self { downlink, uplink }
    }
}

/// Reports of all flows from both hosts, in the order of the flows. `dropped` counts the datagrams of a UE's flow that
/// were dropped in a direction: others that did not arrive are in transit, and not lost.
pub fn flow_reports(
    server: &Host,
    ues: &Host,
    now: Instant,
    dropped: impl Fn(u16, u16, Dir) -> u64,
) -> Vec<FlowReport> {
    let flows = reported(server).filter_map(|(index, at_server)| {
        let (spec, at_ue) = (&at_server.spec, ues.endpoints.get(index)?);
        if matches!(at_server.end, End::Arrivals(_)) {
            let [sender, receiver] = spec.dir.pick([server, ues], [ues, server]);
            return Some(FlowReport::of_files(spec, counts(sender, index), counts(receiver, index), now));
        }
        if let (End::Path(own, _), End::Path(other, _)) = (&at_server.end, &at_ue.end) {
            let [own, other] =
                [(server, own), (ues, other)].map(|(host, number)| &host.multipaths[usize::from(*number)]);
            return Some(FlowReport::of_paths(spec, multipath::report(own, other, now)?));
        }
        let (of_server, of_ue) = (at_server.end.counted(), at_ue.end.counted());
        if let (Some(one), Some(other)) = (of_server.datagrams, of_ue.datagrams) {
            let dropped = dropped(spec.ue, spec.flow, spec.dir);
            return Some(FlowReport::of_datagrams(spec, [one, other], dropped, now));
        }
        if let (Some(sent), Some(read)) = (&of_server.quic, &of_ue.quic) {
            let web = read.page.map(|page| ues.pages[page].report()).unwrap_or_default();
            let (sent, read) = (QuicCounts::clone(sent), QuicCounts::clone(read));
            return Some(FlowReport::of_quic(spec, sent, read, web, now));
        }
        let (from, to) = spec.dir.pick((&of_server, &of_ue), (&of_ue, &of_server));
        let (receiver, delays) = to.receiver?;
        let start = to.opened_at.unwrap_or(spec.start);
        let report = FlowReport::of_sender(spec, start, from.sender?, from.finished, now);
        let is_complete = from.bytes.is_none_or(|bytes| receiver.rcv_nxt() >= bytes);
        let received_at = to.received_at.filter(|_| is_complete);
        let stream = from.app.map(|app| app.report(now)).unwrap_or_default();
        Some(FlowReport {
            received_s: received_at.map(|at| at.since(start).as_secs_f64()),
            bytes_to_send: from.bytes.or(report.bytes_to_send),
            transfers: stream.transfers,
            video: stream.video,
            web: to.page.filter(|_| spec.connection == 0).map(|page| web_report(ues, index, page)),
            ..report.with_receiver(receiver, delays)
        })
    });
    flows.collect()
}

/// Endpoints of a host that have a separate report, with their index: every endpoint except the connections of files
/// that come and go.
fn reported(host: &Host) -> impl Iterator<Item = (usize, &Endpoint)> {
    let mut skipped = 0;
    host.endpoints.iter().enumerate().filter(move |(index, endpoint)| {
        let has_report = *index >= skipped && endpoint.spec.is_first();
        if let End::Arrivals(end) = &endpoint.end {
            skipped = index + 1 + end.connections();
        }
        has_report
    })
}

/// Every flow whose number packets can have, or have in results.
pub fn flow_rows(server: &Host) -> Vec<FlowRow> {
    let used = server.endpoints.iter().filter(|endpoint| !matches!(endpoint.end, End::Unused));
    used.map(|Endpoint { spec, .. }| FlowRow {
        ue: spec.ue,
        flow: spec.flow,
        direction: spec.dir,
        app: spec.app.name(),
    })
    .collect()
}

/// Index in `reports` of the flow with the most packets in transit, and how many these are.
pub fn most_in_transit(server: &Host, ues: &Host, reports: &[FlowReport]) -> Option<(usize, u64)> {
    let in_flight = |sender: &Sender| sender.state().flight_size().div_ceil(sender.state().mss().max(1));
    let of_tcp = |endpoint: &Endpoint| endpoint.end.counted().sender.map_or(0, in_flight);
    let in_transit = reported(server).zip(reports).map(|((index, at_server), report)| {
        match (&report.datagrams, &report.quic) {
            (Some(datagrams), _) => datagrams.sent.saturating_sub(datagrams.received + datagrams.lost),
            (None, Some(quic)) => quic.in_flight,
            (None, None) => {
                let connections = match &at_server.end {
                    End::Arrivals(end) => 1 + end.used(),
                    _ => 1,
                };
                if let End::Path(number, _) = &at_server.end {
                    let ends = [server, ues].map(|host| &host.multipaths[usize::from(*number)]);
                    return ends.into_iter().map(multipath::in_transit).sum();
                }
                let ends = [server, ues]
                    .into_iter()
                    .flat_map(|host| host.endpoints[index..].iter().take(connections));
                ends.map(of_tcp).sum()
            }
        }
    });
    in_transit.enumerate().reduce(|most, next| if next.1 > most.1 { next } else { most })
}

/// Reports the page of this index, whose first connection is the flow with index `flow`.
fn web_report(ues: &Host, flow: usize, page: usize) -> WebReport {
    let connections = ues.endpoints[flow..].iter();
    let of_page =
        connections.enumerate().take_while(|(place, endpoint)| *place == 0 || endpoint.spec.connection > 0);
    let senders = of_page.filter_map(|(_, endpoint)| endpoint.end.counted().sender);
    WebReport {
        request_retransmissions: senders.map(|sender| sender.counters().retransmissions()).sum(),
        ..ues.pages[page].report()
    }
}
