//! QUIC by quinn-proto over the link.

use crate::bundled;
use airpath::{Net, Scenario};
use airpath_transports::quic::{Control, Outcome, Transfer, run};

const DOWNLOAD: Transfer = Transfer { streams: 1, up: 0, down: 1_000_000 };

fn over(scenario: &Scenario, transfer: Transfer, seed: u8) -> Outcome {
    run(&mut Net::new(scenario, seed.into()), transfer, Control::Cubic, seed)
}

#[test]
fn a_download_takes_the_time_of_its_octets_and_the_same_twice() {
    let scenario = bundled("umts-384");
    let [first, second, third] = [1, 2, 3].map(|seed| over(&scenario, DOWNLOAD, seed));
    for run in [&first, &second, &third] {
        // 384 kbit/s, with 10 % of the blocks retransmitted.
        assert!((23.1..28.0).contains(&run.done.as_secs_f64()), "{:?}", run.done);
        assert!(run.server.path.lost_packets > 0, "the buffer fills");
    }
    assert_eq!(first.arrivals, over(&scenario, DOWNLOAD, 1).arrivals);
    assert!(first.arrivals != second.arrivals && second.arrivals != third.arrivals);
}

#[test]
fn all_that_streams_carry_arrives_both_ways() {
    let link = Scenario::mahimahi("0\n1\n2\n5", "3").unwrap().with("wired.delay", "20 ms").unwrap();
    for (control, streams) in [(Control::Cubic, 300), (Control::NewReno, 30), (Control::Bbr, 3)] {
        let transfer = Transfer { streams, up: 10_000, down: 20_000 };
        let mut net = Net::new(&link, 1);
        let done = run(&mut net, transfer, control, 1);
        let stats = net.stats();
        assert!(
            stats.uplink.delivered_bytes > streams * 10_000
                && stats.downlink.delivered_bytes > streams * 20_000
        );
        assert!(done.client.path.min_rtt >= std::time::Duration::from_millis(40));
    }
}

#[test]
fn discovery_of_the_mtu_finds_the_links() {
    let scenario = bundled("lte-10mhz-still");
    let found = [1500, 1400, 1280].map(|mtu| {
        let mut net = Net::builder(&scenario).mtu(mtu).build();
        let done = run(&mut net, DOWNLOAD, Control::Cubic, 1);
        assert_eq!(net.stats().downlink.too_big > 0, mtu < 1500);
        done.server.path.current_mtu
    });
    // quinn begins with 1200 octets above UDP and looks no further than 1452.
    assert_eq!(found[0], 1452);
    assert!((1201..=1372).contains(&found[1]) && (1200..=1252).contains(&found[2]), "{found:?}");
}

#[test]
fn marks_slow_the_sender_down_instead_of_losses() {
    let plain = over(&bundled("umts-384"), DOWNLOAD, 1);
    let marking =
        bundled("umts-384").with("radio.dch.downlink.queue", "{ codel = { ecn = true, target = \"auto\" } }");
    let mut net = Net::new(&marking.unwrap(), 1);
    let marked = run(&mut net, DOWNLOAD, Control::Cubic, 1);
    assert!(net.stats().downlink.marked > 0 && marked.server.path.congestion_events > 0);
    assert!(10 * marked.server.path.lost_packets < plain.server.path.lost_packets);
}

#[test]
#[ignore = "slow"]
fn a_hundred_megabytes_over_lte() {
    let done = over(&bundled("lte-10mhz-still"), Transfer { down: 100_000_000, ..DOWNLOAD }, 1);
    assert!((20.0..80.0).contains(&done.done.as_secs_f64()), "{:?}", done.done);
}
