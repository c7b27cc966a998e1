//! TCP by smoltcp over a cellular link, in virtual time, with boxes that act on its ACKs:
//! `cargo run --release --example smoltcp`.
#![allow(clippy::print_stdout)]

use airpath::{Net, Scenario, ScenarioError};
use airpath_transports::tcp;

fn main() -> Result<(), ScenarioError> {
    let plain = Scenario::bundled("umts-384").unwrap_or_else(|| unreachable!("it is bundled"));
    for boxes in ["[]", "[{ ack_filter = {} }]", "[{ split = {} }]"] {
        let mut net = Net::new(&plain.with("middlebox", boxes)?, 1);
        let done = tcp::download(&mut net, 1_000_000).as_secs_f64();
        let (stats, size) = (net.stats(), 8e-3 * 1e6);
        println!(
            "{boxes:<26}{done:7.3} s, {:.0} kbit/s, {} packets down, {} of them dropped, {} ACKs, {} filtered",
            size / done,
            stats.downlink.sent,
            stats.downlink.dropped,
            stats.uplink.sent,
            stats.uplink.dropped,
        );
    }
    Ok(())
}
