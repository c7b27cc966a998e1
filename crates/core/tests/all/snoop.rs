//! Snoop on a whole path: the radio losses that the sender notices, the packets that leave the box, and that TCP still
//! works.

use airpath_core::host::FlowReport;
use airpath_core::packet::{Dir, Flags, Packet};
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};
use airpath_core::testing::beside::{Beside, of_flow};
use airpath_core::trace::{Event, Kind, ProbeMask, SnoopAction};
use proptest::prelude::*;
use serde_json::Value;

/// Downloads over UM: what the channel destroys stays lost. A packet of 1000 B takes 13 TTIs.
const OVER_UM: &str = r#"
duration = "2 h"
wired = { rate = "10 Mbit/s", delay = "60 ms" }
[[middlebox]]
snoop = {}
[radio.dch.downlink]
rate = "64 kbit/s"
delay = "15 ms"
rlc.um = {}
channel.bernoulli.bler = "0 %"
[radio.dch.uplink]
rate = "64 kbit/s"
delay = "15 ms"
rlc.um = {}
[tcp]
mss = "960 B"
initial_window = 2
receive_buffer = "8760 B"
[[flow]]
app.file.size = "100 kB"
"#;

const BLER: &str = "radio.dch.downlink.channel.bernoulli.bler";

fn scenario(overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Scenario::parse(OVER_UM, &overrides).unwrap()
}

fn results(overrides: &[(&str, &str)], seed: u64) -> Results {
    let mut simulation = Simulation::new(&scenario(overrides), seed, Observe::default());
    simulation.run();
    simulation.results()
}

fn element<'a>(results: &'a Results, name: &str) -> &'a Value {
    results.elements.iter().find(|part| part["element"] == name).unwrap()
}

/// Ten runs: total time, the server's retransmissions, timeouts and fast retransmits.
fn ten(overrides: &[(&str, &str)]) -> (f64, [u64; 3]) {
    let flows: Vec<_> = (0..10).map(|seed| results(overrides, seed).flows[0].clone()).collect();
    let sum = |of: &dyn Fn(&FlowReport) -> u64| flows.iter().map(of).sum::<u64>();
    let counts = [
        sum(&|flow| flow.sender.retransmissions.total),
        sum(&|flow| flow.sender.timeouts),
        sum(&|flow| flow.sender.fast_retransmits),
    ];
    (flows.iter().map(|flow| flow.received_s.unwrap()).sum(), counts)
}

/// Anywhere in the transfer, provided that a segment follows; for a tail loss both the box's timer and the sender's
/// run.
#[test]
#[ignore = "slow"]
fn a_lost_segment_is_repaired_without_the_senders_knowledge() {
    let (mut runs, mut twice, mut tails) = (0, 0, 0);
    for seed in 0..400 {
        let results = results(&[(BLER, "0.1 %"), ("tcp.initial_window", "4")], seed);
        let (flow, snoop) = (&results.flows[0], element(&results, "middlebox.snoop"));
        let lost = &element(&results, "radio.dch")["ues"][0]["downlink"]["sdus_discarded"];
        if lost.as_u64() != Some(1) {
            continue;
        }
        runs += 1;
        if snoop["local_retransmissions"]["dupack"] == 0 {
            tails += 1;
            continue;
        }
        let noticed = (flow.sender.retransmissions.total, flow.sender.timeouts, flow.sender.fast_retransmits);
        assert_eq!(noticed, (0, 0, 0), "{seed}: {snoop}");
        // Each copy beyond the first is one that came too early.
        let copies = &snoop["local_retransmissions"];
        let total = copies["total"].as_u64().unwrap();
        assert!((1..=2).contains(&total), "{seed}: {snoop}");
        twice += u64::from(total == 2);
        assert_eq!(snoop["cached_at_end"], 0);
    }
    assert!(runs > 50 && twice < runs / 10 && tails < runs / 20, "{runs}, {twice}, {tails}");
}

#[test]
fn losses_of_the_radio_cost_less_with_snoop() {
    for sack in [&[][..], &[("tcp.sack", "true"), ("tcp.recovery", "{ sack = {} }")]] {
        let run = |more: &[(&str, &str)]| ten(&[&[(BLER, "1 %")], sack, more].concat());
        let (without, [again, timeouts, fast]) = run(&[("middlebox", "[]")]);
        let (with, [less, fewer, no_fast]) = run(&[]);
        assert!(with < 0.95 * without, "{with} and {without} s");
        assert!(less < again / 4 && fewer <= timeouts / 2 && no_fast < fast / 4, "{less} {fewer} {no_fast}");
    }
}

#[test]
fn losses_before_the_box_are_congestion() {
    let wired = [("wired.loss", "2 %")];
    let (without, [_, _, fast]) = ten(&[&wired[..], &[("middlebox", "[]")]].concat());
    let (with, [_, _, as_many]) = ten(&wired);
    assert!(fast > 10 && as_many == fast, "{fast} and {as_many}");
    assert!((with - without).abs() < 0.02 * without, "{with} and {without} s");
}

/// A buffer of three packets behind the box: slow start overflows it, and the sender slows down.
#[test]
fn what_the_buffer_behind_the_box_drops_is_congestion() {
    let results = results(&[("radio.dch.downlink.queue.droptail.packets", "3")], 1);
    let dropped = &element(&results, "radio.dch")["ues"][0]["downlink"]["sdus_dropped"];
    let snoop = element(&results, "middlebox.snoop");
    assert!(dropped.as_u64() > Some(3) && results.flows[0].sender.fast_retransmits > 0, "{dropped}");
    assert_eq!((&snoop["forgotten_drops"], &snoop["local_retransmissions"]["total"]), (dropped, &0.into()));
}

/// Both at the same RNC: what snoop repairs, no flag speaks of; what it gives up, the flag does.
#[test]
fn it_works_beside_feedback() {
    let boxes = |snoop: &str| format!("[{{ rnc_feedback = {{}} }}, {{ snoop = {{ {snoop} }} }}]");
    let run = |snoop: &str| {
        let (mut flags, mut copies, mut time) = (0, 0, 0.0);
        for seed in 0..5 {
            let results =
                results(&[(BLER, "1 %"), ("tcp.rnf", "first_flagged"), ("middlebox", &boxes(snoop))], seed);
            flags += results.flows[0].rnf.unwrap().wireless_fast_retransmits;
            copies +=
                element(&results, "middlebox.snoop")["local_retransmissions"]["total"].as_u64().unwrap();
            time += results.flows[0].received_s.unwrap();
        }
        (flags, copies, time)
    };
    let (flags, copies, time) = run("");
    let (more, none, longer) = run("max_local_retransmissions = 0");
    assert!(flags < more / 4 && copies > more / 2 && none == 0, "{flags} {more} {copies}");
    assert!(time < 1.05 * longer, "{time} {longer}");
}

/// A tenth of the blocks is lost, and no packet: the timer has learned the link layer's delay.
#[test]
fn over_a_link_layer_that_repairs_nothing_is_retransmitted() {
    let am =
        [("radio.dch.downlink.rlc", "{ am = {} }"), ("radio.dch.uplink.rlc", "{ am = {} }"), (BLER, "10 %")];
    for seed in 0..5 {
        let results = results(&[&am[..], &[("tcp.sack", "true")]].concat(), seed);
        let snoop = element(&results, "middlebox.snoop");
        assert_eq!(snoop["local_retransmissions"]["total"].as_u64(), Some(0), "{snoop}");
    }
}

const UPLOAD: [(&str, &str); 6] = [
    ("flow", r#"[{ direction = "uplink", app = { file = { size = "100 kB" } } }]"#),
    ("radio.dch.uplink.channel.bernoulli.bler", "1 %"),
    ("tcp.sack", "true"),
    ("tcp.recovery", "{ sack = {} }"),
    ("tcp.limited_transmit", "true"),
    ("tcp.dupack_threshold", "3"),
];

#[test]
fn nacks_let_a_mobile_sender_keep_its_window() {
    let run = |more: &[(&str, &str)]| ten(&[&UPLOAD[..], more].concat());
    let (without, [_, timeouts, fast]) = run(&[("middlebox", "[]"), ("tcp.rnf", "first_flagged")]);
    let (with, [_, fewer, less]) = run(&[("tcp.rnf", "first_flagged")]);
    assert!(with < 0.95 * without, "{with} and {without} s");
    assert!(less < fast / 2 && fewer <= timeouts, "{less} of {fast}, {fewer} of {timeouts}");
    let (quiet, _) = run(&[("middlebox.0.snoop.uplink_nacks", "false"), ("tcp.rnf", "first_flagged")]);
    assert_eq!(quiet, without);
}

/// The uplink loses and retransmits blocks, and delivers out of order. The sender would ignore old ACKs anyway, so
/// nothing else changes.
#[test]
fn acks_that_the_uplink_has_turned_round_may_end_in_the_box() {
    let turns_round = [
        ("middlebox", "[{ snoop = {} }]"),
        ("radio.dch.downlink.rlc", "{ fixed_delay_arq = {} }"),
        ("radio.dch.downlink.rate", "1 Mbit/s"),
        ("radio.dch.uplink.rlc", "{ fixed_delay_arq = { delivery = 'out_of_sequence' } }"),
        ("radio.dch.uplink.channel.bernoulli.bler", "10 %"),
        ("radio.dch.uplink.rate", "384 kbit/s"),
        ("tcp.ack_every", "1"),
    ];
    let told = |drops: &str| {
        let more = [turns_round.as_slice(), &[("middlebox.0.snoop.drop_stale_acks", drops)]].concat();
        let results = results(&more, 1);
        let stale = element(&results, "middlebox.snoop")["stale_acks"].as_u64().unwrap();
        let flow = &results.flows[0];
        (stale, flow.bytes_received, flow.sender.retransmissions.total, flow.received_s)
    };
    let passed = told("false");
    assert!(passed.0 > 5 && passed.1 == 100_000, "{passed:?}");
    assert_eq!(told("true"), passed);
}

#[test]
fn the_trace_tells_what_the_box_did() {
    let probes = ProbeMask::NONE.with(Kind::Snoop);
    let observe = Observe { probes, ..Observe::default() };
    let mut simulation = Simulation::new(&scenario(&[(BLER, "1 %")]), 1, observe);
    simulation.run();
    let trace = simulation.take_trace();
    let count = |wanted: SnoopAction| {
        let is_it = |event: &Event| matches!(event, Event::Snoop { action, .. } if *action == wanted);
        trace.iter().filter(|(_, event)| is_it(event)).count() as u64
    };
    let results = simulation.results();
    let snoop = element(&results, "middlebox.snoop");
    assert_eq!(snoop["segments_cached"], count(SnoopAction::Cached));
    assert_eq!(snoop["dupacks_suppressed"], count(SnoopAction::DupackSuppressed));
    assert_eq!(snoop["local_retransmissions"]["dupack"], count(SnoopAction::DupackRetransmission));
    assert_eq!(snoop["local_retransmissions"]["timer"], count(SnoopAction::TimerRetransmission));
    assert!(count(SnoopAction::Freed) > 10 && count(SnoopAction::DupackRetransmission) > 3);
    let most = trace.iter().map(|(_, event)| match event {
        Event::Snoop { cached_packets, .. } => u64::from(*cached_packets),
        _ => 0,
    });
    assert_eq!(snoop["peak_cached_packets"], most.max().unwrap());
}

#[test]
fn what_cannot_work_is_refused_in_words() {
    for (key, value, message) in [
        (
            "middlebox.0.snoop.cache_packets",
            "0",
            "middlebox[0].snoop.cache_packets: the box could repair nothing; write at least 1",
        ),
        (
            "middlebox.0.snoop.min_timeout",
            "2 min",
            "middlebox[0].snoop.min_timeout: 2 min is no time to wait for an ACK; write a time up to 60 s, such as \
             \"200 ms\"",
        ),
    ] {
        let overrides = [(key.to_owned(), value.to_owned())];
        let error = Scenario::parse(OVER_UM, &overrides).expect_err(message).to_string();
        assert!(error.ends_with(message), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every octet arrives, in order and exactly once, regardless of where losses occur. No ACK leaves the box that the
    /// UE has not sent, no data that the server has not sent, and the cache keeps its bound.
    #[test]
    fn transfers_complete_whatever_is_lost(
        down in 0..12_u32, up in 0..12_u32, wired in 0..4_u32, burst in 1..4_u32, sack: bool, handshake: bool,
        rnf: bool, am: bool, limit in 1..12_u32, tries in 0..4_u32, seed in 0..1000_u64,
    ) {
        let flows = r#"[{ app = { file = { size = "30 kB" } } }, { app = { file = { size = "20 kB" } } },
            { direction = "uplink", app = { file = { size = "20 kB" } } }]"#;
        let boxes = format!(
            "[{{ snoop = {{ cache_packets = {limit}, max_local_retransmissions = {tries} }} }}, {{ packet_loss = {{ \
             downlink = {{ loss = \"{down} %\", burst = {burst}.0 }}, uplink = {{ loss = \"{up} %\" }} }} }}]",
        );
        let wired = format!("{wired} %");
        let sizes = [30_000, 20_000, 20_000];
        let rlc = if am { "{ am = {} }" } else { "{ um = {} }" };
        let run = |middlebox: &str| vec![
            ("flow", flows.to_owned()), ("wired.loss", wired.clone()), ("middlebox", middlebox.to_owned()),
            ("radio.dch.downlink.rlc", rlc.to_owned()), ("radio.dch.uplink.rlc", rlc.to_owned()),
            ("tcp.sack", sack.to_string()), ("tcp.initial_sequence", "4294960000".to_owned()),
            ("tcp.recovery", (if sack { "{ sack = {} }" } else { "{ reno = {} }" }).to_owned()),
            ("tcp.rnf", (if rnf { "first_flagged" } else { "off" }).to_owned()),
            ("tcp.handshake", (if handshake { "three_way" } else { "none" }).to_owned()),
        ];
        let overrides = run(&boxes);
        let overrides: Vec<_> = overrides.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let mut beside = Beside::run(&scenario(&overrides), seed);
        prop_assert!(beside.is_complete());
        let [came, left] = beside.beside_box(Dir::Uplink);
        let [data, passed] = beside.beside_box(Dir::Downlink);
        for (flow, size) in sizes.into_iter().enumerate() {
            let flow = flow as u16;
            let has = |all: &[&Packet], one: &Packet| all.iter().any(|other| {
                (other.seq, other.payload, other.ack, other.flags) == (one.seq, one.payload, one.ack, one.flags)
            });
            let (came, data) = (of_flow(came, flow), of_flow(data, flow));
            for packet in of_flow(left, flow) {
                prop_assert!(has(&came, packet), "{packet:?}");
            }
            for packet in of_flow(passed, flow) {
                let is_nack = packet.flags.has(Flags::NACK) && data.iter().any(|one| one.ack == packet.ack);
                prop_assert!(is_nack || has(&data, packet), "{packet:?}");
            }
            let all: u32 = size;
            let end = 4_294_960_001_u32.wrapping_add(all);
            let acks = if flow == 2 { &data } else { &came };
            prop_assert!(acks.iter().any(|packet| packet.ack == end), "flow {flow}");
        }
        let report = beside.report();
        prop_assert!(report["peak_cached_packets"].as_u64().unwrap() <= 3 * u64::from(limit));
        prop_assert!(report["nacks"].as_u64() == Some(0) || sack);
    }
}
