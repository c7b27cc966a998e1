//! Reports of flows, from both hosts: the flows' part of the results.

use super::datagrams::DatagramEnd;
use super::{End, FlowSpec, Host};
use crate::app::datagrams::Report as DatagramReport;
use crate::app::web::Report as WebReport;
use crate::packet::Dir;
use crate::tcp::window::loss_episodes::Report as LossEpisodes;
use crate::tcp::{self, Receiver, Sender};
use crate::time::{Duration, Instant};
use serde::Serialize;

/// Bytes of a UDP or an ICMP echo header: RFC 768, RFC 792.
const DATAGRAM_HEADER_BYTES: u32 = 8;

/// What is known of a flow at the end of a run. Times in seconds or milliseconds, rates in bit/s.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowReport {
    /// Number of the UE.
    pub ue: u16,
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
    /// without end or unfinished.
    pub received_s: Option<f64>,
    /// Payload acknowledged (received, without TCP), over the time of the transfer or of the run.
    pub goodput_bps: f64,
    /// Size of a finite transfer.
    pub bytes_to_send: Option<u64>,
    /// Payload acknowledged at the sender.
    pub bytes_acked: u64,
    /// Payload handed to the receiving application.
    pub bytes_received: u64,
    /// Segments with data sent, retransmissions and probes of a closed window included.
    pub segments_sent: u64,
    /// Segments sent again, by cause.
    pub retransmissions: Retransmissions,
    /// Probes of a closed window: RFC 9293 (3.8.6.1).
    pub window_probes: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Timeouts found to be spurious; 0 without `undo`.
    pub spurious_timeouts: u64,
    /// Fast retransmits found to be spurious likewise.
    pub spurious_fast_retransmits: u64,
    /// Losses by what they brought; `None` of a flow without TCP.
    pub loss_episodes: Option<LossEpisodes>,
    /// Duplicate ACKs received.
    pub dupacks: u64,
    /// Round-trip times sampled by the sender.
    pub rtt_ms: RttReport,
    /// What the receiver counted.
    pub receiver: tcp::receiver::Counters,
    /// Of a flow that has agreed on ECN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<tcp::ecn::Report>,
    /// Of a flow that acts on radio network feedback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rnf: Option<tcp::recovery::rnf::Report>,
    /// Of a flow without TCP; everything above that speaks of TCP is then zero, and `rtt_ms` that of
    /// requests and their answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramReport>,
    /// Of a page, at its first connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web: Option<WebReport>,
}

impl FlowReport {
    /// A flow of which nothing has been counted.
    pub(super) fn new(spec: &FlowSpec) -> Self {
        Self {
            ue: spec.ue,
            flow: spec.flow,
            direction: spec.dir,
            app: spec.app.name(),
            start_s: spec.start.as_secs_f64(),
            transfer_s: None,
            received_s: None,
            goodput_bps: 0.0,
            bytes_to_send: spec.app.size(),
            bytes_acked: 0,
            bytes_received: 0,
            segments_sent: 0,
            retransmissions: Retransmissions::default(),
            window_probes: 0,
            timeouts: 0,
            fast_retransmits: 0,
            spurious_timeouts: 0,
            spurious_fast_retransmits: 0,
            loss_episodes: None,
            dupacks: 0,
            rtt_ms: RttReport::default(),
            receiver: tcp::receiver::Counters::default(),
            ecn: None,
            rnf: None,
            datagrams: None,
            web: None,
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
        let counters = sender.counters();
        let seconds = finished.unwrap_or(now).since(start).as_secs_f64();
        let bytes_acked = sender.state().una;
        let samples = counters.rtt_samples;
        let ms = |rtt: Duration| rtt.as_secs_f64() * 1e3;
        Self {
            start_s: start.as_secs_f64(),
            transfer_s: finished.map(|at| at.since(start).as_secs_f64()),
            goodput_bps: if seconds > 0.0 { bytes_acked as f64 * 8.0 / seconds } else { 0.0 },
            bytes_acked,
            segments_sent: counters.segments_sent,
            retransmissions: Retransmissions {
                total: counters.retransmissions(),
                fast_retransmit: counters.retransmits_fast,
                partial_ack: counters.retransmits_partial,
                sack: counters.retransmits_sack,
                timeout: counters.retransmits_timeout,
                go_back_n: counters.retransmits_go_back_n,
                tail_loss_probe: sender.probes_tail().then_some(counters.retransmits_probe),
            },
            window_probes: counters.window_probes,
            timeouts: counters.timeouts,
            fast_retransmits: counters.fast_retransmits,
            spurious_timeouts: counters.spurious_timeouts,
            spurious_fast_retransmits: counters.spurious_fast_retransmits,
            loss_episodes: Some(sender.state().losses.report()),
            dupacks: counters.dupacks,
            rtt_ms: RttReport {
                mean: (samples > 0).then(|| ms(counters.rtt_sum) / samples as f64),
                min: counters.rtt_min.map(ms),
                max: (samples > 0).then(|| ms(counters.rtt_max)),
                samples,
            },
            ecn: sender.ecn(),
            rnf: sender.rnf(),
            ..Self::new(spec)
        }
    }

    /// Both ends of a flow without TCP. What belongs to TCP alone is zero.
    fn of_datagrams(spec: &FlowSpec, ends: [&DatagramEnd; 2], now: Instant) -> Self {
        let mut report = DatagramReport::default();
        ends.iter().for_each(|end| end.report(&mut report));
        let headers = u64::from(spec.tcp.ip.header_bytes() + DATAGRAM_HEADER_BYTES) * report.received;
        let bytes_received = report.bytes.saturating_sub(headers);
        let seconds = now.since(spec.start.min(now)).as_secs_f64();
        let rtt = report.rtt_ms;
        Self {
            goodput_bps: if seconds > 0.0 { bytes_received as f64 * 8.0 / seconds } else { 0.0 },
            bytes_received,
            rtt_ms: RttReport { mean: rtt.mean, min: rtt.min, max: rtt.max, samples: rtt.samples },
            datagrams: Some(report),
            ..Self::new(spec)
        }
    }

    fn with_receiver(self, receiver: &Receiver) -> Self {
        let marks = receiver.marks().unwrap_or_default();
        Self {
            bytes_received: receiver.rcv_nxt(),
            receiver: receiver.counters().clone(),
            ecn: self.ecn.map(|report| tcp::ecn::Report { marks, ..report }),
            ..self
        }
    }
}

/// Segments sent again, by cause.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Retransmissions {
    /// All of them, those on radio network feedback (`rnf`) included.
    pub total: u64,
    /// On the duplicate ACK threshold.
    pub fast_retransmit: u64,
    /// On a partial ACK.
    pub partial_ack: u64,
    /// By the SACK scoreboard.
    pub sack: u64,
    /// When the timer expired.
    pub timeout: u64,
    /// The others after a timeout.
    pub go_back_n: u64,
    /// As a probe at the end of what was sent; with `recovery.rack`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_loss_probe: Option<u64>,
}

/// Round-trip times in milliseconds; `None` without a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RttReport {
    /// Mean of all samples.
    pub mean: Option<f64>,
    /// The shortest.
    pub min: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
    /// How many.
    pub samples: u64,
}

/// What both hosts say of every flow, in the order of the flows.
pub fn flow_reports(server: &Host, ues: &Host, now: Instant) -> Vec<FlowReport> {
    let ends = server.endpoints.iter().zip(&ues.endpoints).enumerate();
    ends.filter_map(|(index, (at_server, at_ue))| {
        let spec = &at_server.spec;
        match (&at_server.end, &at_ue.end) {
            (End::Sends(from), End::Receives(to)) | (End::Receives(to), End::Sends(from)) => {
                let report = FlowReport::of_sender(spec, spec.start, &from.sender, from.finished, now);
                let received_s = to.complete.map(|at| at.since(spec.start).as_secs_f64());
                Some(FlowReport { received_s, ..report.with_receiver(&to.receiver) })
            }
            (End::Datagrams(one), End::Datagrams(other)) => {
                Some(FlowReport::of_datagrams(spec, [one, other], now))
            }
            (End::Serves(from), End::Browses(to)) => {
                let start = to.opened_at().unwrap_or(spec.start);
                let report = FlowReport::of_sender(spec, start, from.duplex().sender(), from.finished(), now);
                Some(FlowReport {
                    received_s: to.received(from.bytes()).map(|at| at.since(start).as_secs_f64()),
                    bytes_to_send: Some(from.bytes()),
                    web: (spec.connection == 0).then(|| web_report(ues, index)),
                    ..report.with_receiver(to.duplex().receiver())
                })
            }
            _ => None,
        }
    })
    .collect()
}

/// What is known of the page whose first connection is the flow with this index.
fn web_report(ues: &Host, index: usize) -> WebReport {
    let clients = ues.endpoints[index..].iter().map_while(|endpoint| match &endpoint.end {
        End::Browses(end) => Some((endpoint.spec.connection, end)),
        _ => None,
    });
    let Some((_, first)) = clients.clone().next() else { return WebReport::default() };
    let others = clients.skip(1).take_while(|(connection, _)| *connection > 0).map(|(_, end)| end);
    let counters = std::iter::once(first).chain(others).map(|end| end.duplex().sender().counters());
    WebReport {
        request_retransmissions: counters.map(|counters| counters.retransmissions()).sum(),
        ..ues.pages[first.page()].report()
    }
}
