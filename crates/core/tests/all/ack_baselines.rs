//! ACK filtering and ACK pacing: departure times, and packets that must never be lost.

use airpath_core::packet::{Dir, Packet};
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::testing::beside::Beside;
use airpath_core::time::Instant;
use airpath_core::trace::Reason;
use proptest::prelude::*;

fn run(text: &str, overrides: &[(&str, &str)], seed: u64) -> Beside {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let run = Beside::run(&Scenario::parse(text, &overrides).unwrap(), seed);
    assert!(run.is_complete());
    run
}

/// Packets of 1000 B take 8 ms on the downlink, ACKs of 40 B 20 ms on the uplink.
const SLOW_UPLINK: &str = r#"
    duration = "2 h"
    [[middlebox]]
    ack_filter = {}
    [radio.dch]
    downlink.rate = "1 Mbit/s"
    uplink.rate = "16 kbit/s"
    [tcp]
    handshake = "none"
    mss = "960 B"
    initial_window = 10
    ack_every = 1
    [[flow]]
    app.file.size = "9600 B"
"#;

#[test]
fn a_newer_ack_takes_the_place_of_those_that_wait() {
    let mut run = run(SLOW_UPLINK, &[], 1);
    let [came, left] = run.beside_box(Dir::Uplink);
    let acked = |passed: &[(Instant, Packet)]| -> Vec<(u64, u32)> {
        passed.iter().map(|(at, packet)| (at.as_nanos() / 1_000_000, (packet.ack - 1) / 960)).collect()
    };
    assert_eq!(acked(came), (1..=10).map(|n| (8 * u64::from(n), n)).collect::<Vec<_>>());
    // On the bearer from 8 to 28 ms, and one in its buffer; whenever the next begins, what has come last before
    // follows.
    assert_eq!(acked(left), [(8, 1), (16, 2), (28, 3), (48, 5), (68, 8), (88, 10)]);
    assert_eq!(
        (&run.report()["queues"][0]["acks_filtered"], run.dropped(Reason::AckFiltered)),
        (&4.into(), 4)
    );
}

#[test]
fn without_a_queue_nothing_is_filtered() {
    let run = run(SLOW_UPLINK, &[("radio.dch.uplink.rate", "1 Mbit/s")], 1);
    let [came, left] = run.beside_box(Dir::Uplink);
    assert_eq!(came, left);
}

/// Packets of 1000 B take 8 ms, ACKs of 40 B 1 ms; three ACKs come at once behind a delayed one.
const PACED: &str = r#"
    duration = "2 h"
    [[middlebox]]
    ack_pacing = {}
    [radio.dch]
    downlink.rate = "1 Mbit/s"
    uplink.rate = "320 kbit/s"
    [tcp]
    handshake = "none"
    mss = "960 B"
    initial_window = 5
    ack_every = 1
    [[flow]]
    app.file.size = "4800 B"
"#;

#[test]
fn acks_leave_with_the_time_of_a_packet_between_them() {
    let [came, left] = run(PACED, &[], 1).times_ms(Dir::Uplink);
    assert_eq!((came.as_slice(), &left), (&[9, 17, 25, 33, 41][..], &came));
    // At half the rate a packet takes 16 ms.
    let mut run = run(PACED, &[("middlebox.0.ack_pacing.rate", "500 kbit/s")], 1);
    assert_eq!(run.times_ms(Dir::Uplink), [vec![9, 17, 25, 33, 41], vec![9, 25, 41, 57, 73]]);
    assert_eq!(run.report()["flows"][0]["peak_held_acks"], 2);
}

#[test]
fn a_full_line_lets_the_oldest_go() {
    let overrides =
        [("middlebox.0.ack_pacing.rate", "10 kbit/s"), ("middlebox.0.ack_pacing.hold_limit", "2")];
    let run = run(PACED, &overrides, 1);
    // The first at once, the second and third are held; then each that comes pushes one out. 0.8 s for each packet.
    assert_eq!(run.times_ms(Dir::Uplink)[1], [9, 33, 41, 841, 1641]);
}

const LOSSY: [&str; 2] = [
    "[[flow]]\napp.file.size = \"60 kB\"\nstart = \"1 s\"\n",
    "[[flow]]\ndirection = \"uplink\"\napp.file.size = \"30 kB\"\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Pacing keeps every segment and its order within a flow. Filtering loses pure ACKs alone, and never the newest.
    #[test]
    fn what_leaves_is_what_came_less_old_acks(
        filter: bool, keep: bool, uplink in 8..200_u32, loss in 0..8_u32, sack: bool, limit in 1..30_u32, seed in 0..1000_u64,
    ) {
        let text = format!("{SLOW_UPLINK}{}{}", LOSSY[0], LOSSY[1]);
        let middlebox = match filter {
            true => format!("[{{ ack_filter = {{ keep_duplicates = {keep}, limit = {limit} }} }}]"),
            false => format!("[{{ ack_pacing = {{ hold_limit = {limit}, rate = \"{} kbit/s\" }} }}]", 10 * uplink),
        };
        let (uplink, loss) = (format!("{uplink} kbit/s"), format!("{loss} %"));
        let sack = if sack { "true" } else { "false" };
        let mut run = run(&text, &[
            ("middlebox", &middlebox), ("radio.dch.uplink.rate", &uplink), ("wired.loss", &loss), ("tcp.sack", sack),
        ], seed);
        let [came, left] = run.beside_box(Dir::Uplink);
        for flow in 0..3 {
            let of_flow = |passed: &[(Instant, Packet)]| -> Vec<Packet> {
                passed.iter().map(|(_, packet)| packet).filter(|packet| packet.flow == flow).cloned().collect()
            };
            let (came, left) = (of_flow(came), of_flow(left));
            if !filter {
                prop_assert!(came.starts_with(&left));
                continue;
            }
            let mut rest = left.iter().peekable();
            let mut newest = 0;
            for packet in &came {
                newest = newest.max(packet.ack);
                if rest.peek() == Some(&packet) {
                    rest.next();
                } else {
                    prop_assert!(packet.payload == 0 || rest.peek().is_none());
                }
            }
            prop_assert!(rest.next().is_none(), "altered or out of order");
            prop_assert!(left.iter().map(|packet| packet.ack).max() == Some(newest));
        }
        let report = run.report();
        let parts = if filter { &report["queues"] } else { &report["flows"] };
        let peak = if filter { "peak_held_packets" } else { "peak_held_acks" };
        prop_assert!(parts.as_array().unwrap().iter().all(|part| part[peak].as_u64().unwrap() <= limit.into()));
    }
}

const ASYMMETRIC: &str = r#"
duration = "30 s"
[wired]
delay = "5 ms"
[radio.variable.downlink]
delay = "5 ms"
channel.distribution.rate.constant = "10 Mbit/s"
queue.droptail.packets = 100
[radio.variable.uplink]
delay = "5 ms"
channel.distribution.rate.constant = "100 kbit/s"
queue.droptail.packets = 50
[tcp]
profile = "linux"
[[flow]]
"#;

/// Data that shares the bearer of the ACKs waits in the box too: a box larger than the bearer's buffer would be a
/// second buffer, here of a minute.
#[test]
fn the_filter_holds_no_more_than_the_buffer_behind_it_takes() {
    let text = r#"
        duration = "10 min"
        middlebox = ["ack_filter"]
        [radio.dch]
        downlink = { rate = "10 Mbit/s", queue.droptail.packets = 60 }
        uplink = { rate = "200 kbit/s", queue.droptail.packets = 60 }
        [tcp]
        profile = "linux"
        [[flow]]
        app.file.size = "1 MB"
        [[flow]]
        app.file.size = "1 MB"
        direction = "uplink"
    "#;
    let mut run = run(text, &[], 1);
    // 60 packets with the one in transmission.
    assert_eq!(run.report()["queues"][0]["peak_held_packets"], 59);
}

/// 10 Mbit/s down and 100 kbit/s up: a recovery causes an ACK with blocks for each packet, ten times as many as the
/// uplink carries. ACKs contained in a newer one are removed, and the sender's losses are repaired in time.
#[test]
#[ignore = "slow"]
fn the_filter_does_no_harm_to_a_sender_with_sack() {
    let of = |middlebox: &str| {
        let overrides = [("middlebox".to_owned(), middlebox.to_owned())];
        let scenario = Scenario::parse(ASYMMETRIC, &overrides).unwrap();
        let mut simulation = Simulation::new(&scenario, 1, Observe::default());
        simulation.run();
        let flow = simulation.flows().remove(0);
        (flow.goodput_bps, flow.sender.timeouts)
    };
    let (without, _) = of("[]");
    for filter in ["[\"ack_filter\"]", "[{ ack_filter.keep_duplicates = false }]"] {
        let (goodput, timeouts) = of(filter);
        assert!(timeouts == 0 && goodput > without, "{filter}: {goodput} bit/s, {timeouts} timeouts");
    }
}

#[test]
fn what_could_hold_nothing_is_refused_in_words() {
    let cases = [
        ("ack_filter.limit = 0", "ack_filter.limit: no packet could wait there; write at least 1"),
        ("ack_filter.in_buffer = 0", "ack_filter.in_buffer: no packet could wait there; write at least 1"),
        ("ack_pacing.hold_limit = 0", "ack_pacing.hold_limit: nothing could be held; write at least 1"),
        (
            "ack_pacing.rate = \"0 bit/s\"",
            "ack_pacing.rate: no ACK would ever leave; write a positive rate such as \"200 kbit/s\", or remove the key \
             for the bearer's",
        ),
    ];
    for (key, message) in cases {
        let error = Scenario::parse(&format!("[[middlebox]]\n{key}\n[[flow]]"), &[]).unwrap_err().to_string();
        assert_eq!(error, format!("middlebox[0].{message}"));
    }
}

#[test]
fn an_ack_may_wait_for_up_to_eight_segments_or_for_the_timer_alone() {
    let acks = |keys: &[(&str, &str)]| -> Vec<(u64, u32)> {
        let run = run(SLOW_UPLINK, keys, 1);
        let [came, _] = run.beside_box(Dir::Uplink);
        came.iter().map(|(at, packet)| (at.as_nanos() / 1_000_000, (packet.ack - 1) / 960)).collect()
    };
    // A segment arrives every 8 ms; the last two wait for 200 ms from the first of them on.
    assert_eq!(acks(&[("tcp.ack_every", "4")]), [(32, 4), (64, 8), (272, 10)]);
    assert_eq!(acks(&[("tcp.ack_every", "8")]), [(64, 8), (272, 10)]);
    assert_eq!(acks(&[("tcp.delayed_ack", "timer")]), [(208, 10)]);
    let sooner = [("tcp.delayed_ack", "timer"), ("tcp.delayed_ack_timeout", "20 ms")];
    assert_eq!(acks(&sooner), [(28, 3), (52, 6), (76, 9), (100, 10)]);
}
