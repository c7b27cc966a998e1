//! The results of a live run: the structure of the simulator's, and what only a live run has.
//!
//! A flow has the keys of a simulated one. What cannot be known from packets and from the kernel's
//! counters is null.

use super::kernel::TcpInfo;
use super::ours;
use super::sampler::LastSeen;
use crate::driver::{Driver, MOST_INSIDE};
use crate::meter::Counters;
use crate::port::{Counts, Flow, Port};
use airpath_core::delays::DelayReport;
use airpath_core::flows::FlowKey;
use airpath_core::host::{JainIndex, flow_reports};
use airpath_core::packet::Dir;
use airpath_core::time::Instant;
use airpath_core::trace::Outcomes;
use serde_json::{Value, json};

/// One object for each flow: the real ones in the order in which they appeared, then the simulated ones as a simulated
/// run has them. `names` are those of the UEs' interfaces.
pub fn flows(driver: &Driver, last: usize, seen: &LastSeen, names: &[String]) -> Vec<Value> {
    let path = &driver.path;
    let mut flows = real(driver, last, seen, names);
    if let (Some(server), Some(ues)) = (ours::simulated(path, 0), ours::simulated(path, last)) {
        let dropped = |ue, flow, dir| path.datagrams_dropped(ue, flow, dir);
        let mut simulated = flow_reports(server, ues, path.now(), dropped);
        simulated.iter_mut().for_each(|report| report.name_interfaces(names));
        flows.extend(simulated.iter().map(|report| json!(report)));
    }
    flows
}

/// How evenly the flows of each direction share it, by their goodputs.
pub fn jain_index(flows: &[Value]) -> JainIndex {
    JainIndex::of(flows.iter().filter_map(|flow| {
        let dir = Dir::BOTH.into_iter().find(|dir| flow["direction"] == dir.name())?;
        Some((dir, flow["goodput_bps"].as_f64()?))
    }))
}

/// Packets that the link dropped and marked.
pub fn outcomes(outcomes: &Outcomes) -> Value {
    json!({ "dropped": outcomes.dropped(), "reasons": outcomes.reasons, "marked": outcomes.marked })
}

/// The flows of the real interfaces.
fn real(driver: &Driver, last: usize, seen: &LastSeen, names: &[String]) -> Vec<Value> {
    let (Some(server), Some(ue)) = (ours::port(&driver.path, 0), ours::port(&driver.path, last)) else {
        return Vec::new();
    };
    let nothing = Flow::default();
    let keys = (0..).zip(driver.flows.keys());
    keys.filter_map(|(number, key)| {
        let ends = [server.flow(number), ue.flow(number)];
        // If the path lost all packets of a flow, only one end has seen it.
        ends[0].or(ends[1])?;
        let ends = ends.map(|end| end.unwrap_or(&nothing));
        let mut flow = if key.is_tcp() { tcp(number, key, ends, seen) } else { other(number, key, ends) };
        let interface = driver.flows.interface(number);
        flow["ue"] = interface.into();
        if let Some(name) = names.get(usize::from(interface)) {
            flow["interface"] = name.as_str().into();
        }
        for endpoint in ours::endpoints(&driver.path, last) {
            if let Some(report) = endpoint.flow(number) {
                add_ours(&mut flow, report, endpoint.dir());
            }
        }
        Some(flow)
    })
    .collect()
}

/// Adds the report of airpath's endpoint to a flow; also its sender counters if it sent the flow's data. The
/// receiver's report is `airpath_receiver` if airpath is at both ends.
fn add_ours(flow: &mut Value, report: Value, sends: Dir) {
    let is_sender = flow["direction"] == sends.name();
    if is_sender {
        flow["congestion_control"] = report["congestion_control"].clone();
        if let Value::Object(sender) = &report["sender"] {
            for (key, value) in sender {
                flow[key] = value.clone();
            }
        }
    }
    let is_second = flow["airpath"].is_object();
    if is_second && is_sender {
        flow["airpath_receiver"] = flow["airpath"].take();
    }
    flow[if is_second && !is_sender { "airpath_receiver" } else { "airpath" }] = report;
}

/// The direction in which a flow carried more, and what its sending and receiving end saw.
fn direction(ends: [&Flow; 2], carried: impl Fn(&Flow) -> u64) -> (Dir, &Flow, &Flow) {
    let [server, ue] = ends;
    if carried(ue) > carried(server) { (Dir::Uplink, ue, server) } else { (Dir::Downlink, server, ue) }
}

fn tcp(number: u16, key: &FlowKey, ends: [&Flow; 2], seen: &LastSeen) -> Value {
    let (dir, sender, receiver) = direction(ends, |end| end.outgoing.sent());
    let (out, info) = (&sender.outgoing, seen.get(&number));
    let start = start(ends);
    let finished = out.size().is_some_and(|size| out.una >= size && size > 0);
    let seconds = out.last_acked.since(start).as_secs_f64();
    let mut flow = unmeasured(number, key, dir, start);
    flow["congestion_control"] = json!(info.map(|info| &info.congestion_control));
    flow["transfer_s"] = json!(finished.then_some(seconds));
    flow["goodput_bps"] = rate(out.una, seconds).into();
    flow["bytes_to_send"] = out.size().into();
    flow["bytes_acked"] = out.una.into();
    flow["bytes_received"] = receiver.incoming.rcv_nxt().into();
    flow["segments_sent"] = out.segments.into();
    flow["retransmissions"]["total"] = out.retransmissions.into();
    flow["timeouts"] = json!(info.map(TcpInfo::timeouts));
    flow["dupacks"] = out.dupacks.into();
    flow["rtt_ms"] = json!(out.rtt.report());
    add_delays(&mut flow, receiver);
    flow["receiver"] = json!(receiver.incoming.counters);
    flow
}

/// Delays from one TUN device to the other, of the packets that came out at this end.
fn add_delays(flow: &mut Value, receiver: &Flow) {
    let delays = receiver.delays.report();
    flow["one_way_delay_ms"] = json!(delays);
    flow["queueing_delay_ms"] = json!(delays.variation());
}

/// UDP, ICMP and the rest: packets and bytes of IP.
fn other(number: u16, key: &FlowKey, ends: [&Flow; 2]) -> Value {
    let (dir, sender, receiver) = direction(ends, |end| end.sent.1);
    let start = start(ends);
    let (packets, bytes) = receiver.received;
    let mut flow = unmeasured(number, key, dir, start);
    flow["goodput_bps"] = rate(bytes, receiver.last.since(start).as_secs_f64()).into();
    flow["bytes_received"] = bytes.into();
    flow["segments_sent"] = sender.sent.0.into();
    add_delays(&mut flow, receiver);
    flow["receiver"]["segments"] = packets.into();
    flow
}

/// The keys of every flow, in their order, without measurements.
fn unmeasured(number: u16, key: &FlowKey, dir: Dir, start: Instant) -> Value {
    json!({
        "ue": 0,
        "flow": number,
        "direction": dir.name(),
        "app": null,
        "protocol": key.protocol_name(),
        "server_address": key.server.to_string(),
        "ue_address": key.ue.to_string(),
        "congestion_control": null,
        "start_s": start.as_secs_f64(),
        "transfer_s": null,
        "received_s": null,
        "goodput_bps": null,
        "bytes_to_send": null,
        "bytes_acked": null,
        "bytes_received": null,
        "segments_sent": null,
        "retransmissions": {
            "total": 0,
            "fast_retransmit": null,
            "partial_ack": null,
            "sack": null,
            "timeout": null,
            "go_back_n": null,
        },
        "window_probes": null,
        "timeouts": null,
        "fast_retransmits": null,
        "spurious_timeouts": null,
        "spurious_fast_retransmits": null,
        "loss_episodes": null,
        "dupacks": 0,
        "rtt_ms": DelayReport::default(),
        "one_way_delay_ms": DelayReport::default(),
        "queueing_delay_ms": DelayReport::default(),
        "receiver": Counters::default(),
    })
}

/// When the first packet passed either end.
fn start(ends: [&Flow; 2]) -> Instant {
    ends.iter().filter(|end| !end.is_empty()).map(|end| end.began).min().unwrap_or_default()
}

fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

pub fn end(port: &Port, tun_dropped: u64, refused: u64) -> Value {
    let Counts { packets: received, bytes: received_bytes, .. } = port.received;
    json!({
        "sent": port.sent.packets,
        "sent_bytes": port.sent.bytes,
        "received": received,
        "received_bytes": received_bytes,
        "tun_dropped": tun_dropped,
        "refused_by_kernel": refused,
        "opaque": port.sent.opaque,
    })
}

/// Why a run does not show what the model says, if it does not.
pub fn invalid_because(p99_us: f64, bound_us: f64, tun_dropped: u64, left_out: u64) -> Vec<String> {
    let mut reasons = Vec::new();
    if p99_us > bound_us {
        reasons.push(format!("p99 lateness {p99_us:.0} us passes the bound of {bound_us:.0} us"));
    }
    if tun_dropped > 0 {
        reasons.push(format!("the TUN devices dropped {tun_dropped} packets that the model never saw"));
    }
    if left_out > 0 {
        reasons.push(format!(
            "{left_out} packets were not let in, because {MOST_INSIDE} were inside: give the buffers a limit"
        ));
    }
    reasons
}

/// How much happened in one direction: for statuses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    pub at: Instant,
    /// Bytes that came out, by direction.
    pub bytes: [u64; 2],
}
