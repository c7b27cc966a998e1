//! A voice call over a cellular link with a concurrent download that fills the buffer: one-way delays of the call's
//! datagrams.
//!
//! `cargo run --release --example datagrams`
#![allow(clippy::print_stdout)]

use airpath::{Datagram, Duration, End, Instant, Net, Scenario, ScenarioError};
use std::net::SocketAddr;

fn main() -> Result<(), ScenarioError> {
    let link = Scenario::bundled("umts-384").unwrap_or_else(|| unreachable!("it is bundled"));
    for (what, queue) in
        [("drop-tail", "{ droptail.packets = 30 }"), ("FQ-CoDel", "{ fq_codel.target = \"auto\" }")]
    {
        let mut net = Net::new(&link.with("radio.dch.downlink.queue", queue)?, 1);
        let [call, download] = [5004, 80].map(|port| SocketAddr::new(End::Server.ipv4().into(), port));
        let ue = SocketAddr::new(End::Ue(0).ipv4().into(), 5004);
        let mut delays = Vec::new();
        for frame in 0..600_u64 {
            let at = Instant::ZERO + Duration::from_millis(20) * frame;
            // The last two seconds drain the packets in flight.
            if frame < 500 {
                let stamp = at.as_nanos().to_be_bytes();
                net.send(at, End::Server, Datagram::new(call, ue, stamp.repeat(4)));
                // More than the bearer carries.
                net.send(at, End::Server, Datagram::new(download, ue, vec![0; 1000]));
            }
            while let Some(arrival) = net.advance(at + Duration::from_millis(20)) {
                let voice = arrival.datagram().filter(|datagram| datagram.src == call);
                if let Some(stamp) = voice.as_ref().and_then(|datagram| datagram.payload.first_chunk()) {
                    delays.push(arrival.at.since(Instant::from_nanos(u64::from_be_bytes(*stamp))));
                }
            }
        }
        delays.sort();
        let ms = |part: usize| delays[delays.len() * part / 100].as_secs_f64() * 1e3;
        println!(
            "{what:<10} of 500 frames {} came, half within {:.0} ms, 95 % within {:.0} ms",
            delays.len(),
            ms(50),
            ms(95)
        );
    }
    Ok(())
}
