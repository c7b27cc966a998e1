//! Behaviour that users of the crate rely on.

#![allow(clippy::unwrap_used)]

mod boxes;
mod capture;
mod first;
mod golden;
mod link;
mod order;
mod surface;

use airpath::{Arrival, Datagram, Duration, Ecn, End, Instant, Net, Scenario};
use std::net::SocketAddr;

fn bundled(name: &str) -> Scenario {
    Scenario::bundled(name).unwrap()
}

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// An ECN-capable datagram between the server and UE 0, from this end.
fn datagram(from: End, payload: Vec<u8>) -> Datagram {
    let [server, ue] = [End::Server, End::Ue(0)].map(|end| SocketAddr::new(end.ipv4().into(), 4433));
    let (src, dst) = if from == End::Server { (server, ue) } else { (ue, server) };
    Datagram { ecn: Ecn::Ect0, ..Datagram::new(src, dst, payload) }
}

/// All that arrives up to `until`.
fn arrivals(net: &mut Net, until: Instant) -> Vec<Arrival> {
    std::iter::from_fn(|| net.advance(until)).collect()
}
