//! airpath's endpoints on a live path, derived from the configuration and the scenario.

use super::message::{Configuration, EndpointConfiguration, Side};
use super::namespaces::{self, Addresses, OfInterface};
use crate::endpoint::service::Service;
use crate::endpoint::{Endpoint, Plan};
use crate::port::Port;
use airpath_core::element::Element;
use airpath_core::flows::Flows;
use airpath_core::host::{Beside, Host, RealEnd};
use airpath_core::packet::Dir;
use airpath_core::path::Path;
use airpath_core::scenario::{self, Scenario};
use airpath_core::tcp::{self, Handshake};
use airpath_core::time::{Duration, Instant};
use airpath_core::wire::Endpoints;
use serde_json::Value;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// First local port of connections that airpath's endpoint opens.
const FIRST_PORT: u16 = 40_000;

/// Ports of the server's end if airpath is at both: flow 0's data, or discard.
const DATA: u16 = 5001;
const DISCARD: u16 = 9;

/// Settings of airpath's endpoint that sends in direction `dir`; registers the flows that it opens. With airpath at
/// both ends, the UE opens the connections for flow 0's data, in its direction, and the sending end records its TCP
/// in the trace.
pub fn plan(
    endpoint: EndpointConfiguration,
    dir: Dir,
    configuration: &Configuration,
    scenario: &Scenario,
    real: &[u16],
    flows: &mut Flows,
) -> Plan {
    let (ours, theirs): (OfInterface, OfInterface) = match dir {
        Dir::Downlink => (namespaces::server, namespaces::ue),
        Dir::Uplink => (namespaces::ue, namespaces::server),
    };
    let both = |end: Addresses| [IpAddr::V4(end.0), IpAddr::V6(end.1)];
    let first_interface = real.first().copied().unwrap_or_default();
    let tcp = our_tcp(scenario, real);
    let which = usize::from(tcp.ip == airpath_core::packet::IpVersion::Ipv6);
    let first = flow(scenario, real);
    let data = first.map_or(Dir::Downlink, |flow| flow.direction);
    let (port, service) = match (endpoint.end, data) {
        (Side::Both, _) if dir == Dir::Downlink => (None, Service::Data),
        (Side::Both, Dir::Downlink) => (Some(DATA), Service::Discard),
        (Side::Both, Dir::Uplink) => (Some(DISCARD), Service::Data),
        (Side::Server | Side::Ue, _) => (endpoint.connect, Service::Data),
    };
    let opens = port.map_or(0..0, |_| 0..endpoint.connections).map(|number| {
        let src = SocketAddr::new(both(ours(0))[which], FIRST_PORT + number);
        let dst = SocketAddr::new(both(theirs(0))[which], port.unwrap_or_default());
        let flow = match dir {
            Dir::Downlink => flows.reserve(src, dst, first_interface),
            Dir::Uplink => flows.reserve(dst, src, first_interface),
        };
        (flow, Endpoints { src, dst })
    });
    Plan {
        dir,
        addresses: (0..real.len() as u8).flat_map(|number| both(ours(number))).collect(),
        size: first.and_then(|flow| flow.app.size()).unwrap_or(u64::MAX),
        pause: Duration::from_nanos((endpoint.pause_s.clamp(0.0, 1e6) * 1e9) as u64),
        opens: opens.collect(),
        opens_over: first_interface,
        opens_for: service,
        is_silent: endpoint.end == Side::Both && dir != data,
        opens_at: Instant::ZERO + first.map_or(Duration::ZERO, |flow| flow.start),
        run_seed: configuration.seed,
        tcp,
    }
}

/// The first flow of the real interfaces in a scenario.
pub fn flow<'a>(scenario: &'a Scenario, real: &[u16]) -> Option<&'a scenario::Flow> {
    scenario.flow.iter().find(|flow| real.iter().any(|ue| flow.ue.includes(*ue)))
}

/// The TCP of that flow, or of all flows.
fn our_tcp(scenario: &Scenario, real: &[u16]) -> Arc<tcp::Config> {
    let said = flow(scenario, real).and_then(|flow| flow.tcp.as_ref());
    Arc::new(said.unwrap_or(&scenario.tcp).clone())
}

/// What of the scenario means something else here.
pub fn notices(scenario: &Scenario, real: &[u16]) -> Option<String> {
    let is_other = our_tcp(scenario, real).handshake != Handshake::ThreeWay;
    is_other.then(|| {
        "tcp.handshake: a kernel opens connections with three segments only, and so does our end".to_owned()
    })
}

/// The port at this position of a live path, for airpath's endpoint or the kernel's.
pub fn port(path: &Path, index: usize) -> Option<&Port> {
    real(path, index).or_else(|| real(path, index).map(Endpoint::port))
}

/// airpath's endpoints on this path, whose last element is at `last`.
pub fn endpoints(path: &Path, last: usize) -> impl Iterator<Item = &Endpoint> {
    [0, last].into_iter().filter_map(|index| real(path, index))
}

/// Returns `tell` of airpath's endpoint; a list if there are two.
pub fn told(path: &Path, last: usize, tell: impl Fn(&Endpoint) -> Value) -> Value {
    let mut told: Vec<Value> = endpoints(path, last).map(tell).collect();
    if told.len() > 1 { told.into() } else { told.pop().unwrap_or_default() }
}

/// The real interfaces' end at this position, with or without simulated UEs.
fn real<R: RealEnd>(path: &Path, index: usize) -> Option<&R> {
    path.element(index).or_else(|| path.element(index).map(Beside::real))
}

/// The ends of the simulated UEs at this position, if there are any.
pub fn simulated(path: &Path, index: usize) -> Option<&Host> {
    let beside_ours = || path.element(index).map(Beside::<Endpoint>::simulated);
    path.element(index).map(Beside::<Port>::simulated).or_else(beside_ours)
}

/// An end of a live path for the interfaces `real`, combined with the simulated UEs if there are any.
pub fn end(end: impl RealEnd, real: &[u16], simulated: Option<Host>) -> Box<dyn Element> {
    match simulated {
        Some(host) => Box::new(Beside::new(end, real.to_vec(), host)),
        None => Box::new(end),
    }
}
