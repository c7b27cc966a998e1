//! Accurate ECN over a path: what the sender knows in the end, whatever becomes of ACKs.

use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};
use proptest::prelude::*;

/// A download over a queue that marks, with a reverse path that loses ACKs.
const MARKED: &str = r#"
duration = "8000 s"
wired = { rate = "1 Mbit/s", delay = "20 ms", queue.red = { min_threshold = 1, max_threshold = 20, max_probability = "30 %", ecn = true, packets = 200 } }
radio.dch = { downlink.rate = "1 Gbit/s", uplink.rate = "1 Gbit/s" }
tcp = { ecn = "accurate" }
[[middlebox]]
disturb.at = "ue"
[[flow]]
app.file.size = "1 MB"
"#;

fn run(overrides: &[(&str, &str)], seed: u64) -> Results {
    let owned: Vec<_> = overrides.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect();
    let scenario = Scenario::parse(MARKED, &owned).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&scenario, seed, Observe::default());
    simulation.run();
    simulation.results()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_senders_bytes_are_in_the_end_those_of_the_receiver(
        seed in 1..1_000_000_u64, loss in 0..30_u32, data_loss in 0..3_u32,
        profile in prop::sample::select(vec!["rfc", "linux", "linux-reno", "linux-bbr"]),
        handshake in prop::sample::select(vec!["three_way", "none"]),
    ) {
        let (loss, data_loss) = (format!("{loss} %"), format!("{data_loss} %"));
        let results = run(&[
            ("middlebox.0.disturb.uplink.loss", &loss),
            ("wired.loss", &data_loss),
            ("tcp.profile", profile),
            ("tcp.handshake", handshake),
        ], seed);
        let flow = &results.flows[0];
        prop_assert!(flow.transfer_s.is_some());
        let accurate = flow.ecn.unwrap().accurate.unwrap();
        let (told, counted) = (accurate.sender, accurate.receiver);
        prop_assert!(data_loss != "0 %" || counted.ce_bytes > 0);
        prop_assert!(counted.ect0_bytes > 500_000, "{:?}", counted);
        prop_assert_eq!((told.ce_bytes, told.ect0_bytes), (counted.ce_bytes, counted.ect0_bytes));
        prop_assert_eq!(counted.ect1_bytes, 0);
        prop_assert_eq!(told.ce_packets, counted.ce_packets);
    }
}

/// An ACK for every second segment: eight marks never hide in one.
#[test]
fn without_the_option_packets_are_right_as_long_as_acks_arrive() {
    let results = run(&[("tcp.ecn", "accurate_flags")], 1);
    let ecn = results.flows[0].ecn.unwrap();
    let accurate = ecn.accurate.unwrap();
    assert!(ecn.reductions > 5 && accurate.receiver.ce_packets > 10, "{ecn:?}");
    assert_eq!(accurate.sender.ce_packets, accurate.receiver.ce_packets);
}

/// Counted marks, like echoed ones, cause one response per window of data.
#[test]
fn goodput_is_that_of_classic_ecn() {
    let goodput = |ecn| run(&[("tcp.ecn", ecn)], 1).flows[0].goodput_bps;
    let ratio = goodput("accurate") / goodput("true");
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}
