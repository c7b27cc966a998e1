//! TCP by smoltcp over the link, in whole IP packets.

use crate::bundled;
use airpath::{Instant, Net, Stats};
use airpath_transports::tcp::download;

fn over(boxes: &str, seed: u64) -> (Instant, Stats, Vec<serde_json::Value>) {
    let scenario = bundled("umts-384").with("middlebox", boxes).unwrap();
    let mut net = Net::new(&scenario, seed);
    let done = download(&mut net, 300_000);
    (done, net.stats(), net.report())
}

#[test]
fn the_same_seed_gives_the_same_download() {
    let plain = over("[]", 1);
    assert_eq!(plain, over("[]", 1));
    assert_ne!(plain.0, over("[]", 2).0);
    // 300 kB at 384 kbit/s.
    assert!(plain.0.as_secs_f64() > 6.25);
    assert_eq!((plain.1.downlink.opaque, plain.1.uplink.opaque), (0, 0));
}

#[test]
fn boxes_see_its_segments() {
    let (_, filtered, _) = over("[{ ack_filter = {} }]", 1);
    assert!(filtered.uplink.reasons["ack_filtered"] > 0);
    let (done, split, report) = over("[{ split = {} }]", 1);
    let own = report.iter().find(|report| report["element"] == "middlebox.split").unwrap();
    assert_eq!(own["connections"].as_array().map(Vec::len), Some(1), "{own}");
    // smoltcp sends everything in flight again after a loss; between UE and box there is another TCP.
    assert!(done < over("[]", 1).0 && split.downlink.dropped > 0);
}
