//! The Ack Regulator: which ACKs go when, and what it owes the connection whatever happens.

use airpath_core::element::Element;
use airpath_core::host::Host;
use airpath_core::packet::Dir;
use airpath_core::path::Path;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Results, Simulation};
use airpath_core::testing::beside::{Beside, of_flow};
use airpath_core::trace::ProbeMask;
use proptest::prelude::*;
use serde_json::Value;

type Overrides = Vec<(String, String)>;

fn overrides(pairs: &[(&str, &str)]) -> Overrides {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// A download over a bearer with a small buffer; everything random is in the overrides.
const DOWNLOAD: &str = r#"
    duration = "10 h"
    wired.delay = "20 ms"
    [[middlebox]]
    ack_regulator = {}
    [radio.dch]
    downlink.rate = "200 kbit/s"
    downlink.delay = "150 ms"
    downlink.queue.droptail = { packets = 10, in_service = "excluded" }
    uplink.rate = "64 kbit/s"
    uplink.delay = "150 ms"
    uplink.queue.droptail = { packets = 10, in_service = "excluded" }
    [tcp]
    mss = "960 B"
    [[flow]]
    app.file.size = "300 kB"
"#;

const VARIANTS: [&[(&str, &str)]; 5] = [
    &[],
    &[
        ("tcp.recovery.reno", "{}"),
        ("tcp.window_arithmetic", "ns2"),
        ("tcp.ack_every", "1"),
        ("tcp.handshake", "none"),
    ],
    &[("tcp.sack", "true"), ("tcp.recovery.sack", "{}"), ("tcp.ip", "ipv6"), ("tcp.ack_every", "1")],
    &[("tcp.sack", "true"), ("tcp.timestamps", "true"), ("tcp.initial_sequence", "4294947290")],
    &[("tcp.recovery.tahoe", "{}"), ("tcp.limited_transmit", "false")],
];

prop_compose! {
    fn circumstances()(
        buffer in 1..20_u32, rate in 20..500_u32, loss in 0..8_u32, variant in 0..VARIANTS.len(),
        at_departure: bool, outstanding: bool, waiting: bool,
        upload: bool, by_segments: bool, alpha in 1..60_u32, hold_limit in prop::sample::select(vec![2, 30, 1000]),
        trace: bool, blocks: bool, uplink_buffer in 1..20_u32,
    ) -> Overrides {
        let mut pairs = overrides(VARIANTS[variant]);
        let mut set = |key: &str, value: String| pairs.push((key.to_owned(), value));
        let regulator = "middlebox.0.ack_regulator";
        set(&format!("{regulator}.reset"), if at_departure { "departure" } else { "empty" }.into());
        set(&format!("{regulator}.window"), if outstanding { "outstanding" } else { "less_duplicates" }.into());
        set(&format!("{regulator}.threshold"), if waiting { "waiting" } else { "with_service" }.into());
        set(&format!("{regulator}.at"), if upload { "ue" } else { "network" }.into());
        set(&format!("{regulator}.count"), if by_segments { "segments" } else { "acks" }.into());
        set(&format!("{regulator}.alpha"), format!("{}.{}", alpha / 10, alpha % 10));
        set(&format!("{regulator}.hold_limit"), hold_limit.to_string());
        set("flow.0.direction", if upload { "uplink" } else { "downlink" }.into());
        set("wired.loss", format!("{loss} %"));
        if trace && !blocks {
            // Opportunities of 1504 B, with a pause of two seconds.
            let queue = |packets: u32| format!("queue.droptail = {{ packets = {packets}, in_service = \"excluded\" }}");
            let bearer = |packets: u32| format!(
                "{{ {}, delay = \"80 ms\", channel.trace_file.trace = \"40\\n90\\n91\\n400\\n2400\\n2410\\n\" }}",
                queue(packets)
            );
            set("radio", format!("{{ variable = {{ downlink = {}, uplink = {} }} }}", bearer(buffer), bearer(uplink_buffer)));
        } else {
            set("radio.dch.downlink.queue.droptail.packets", buffer.to_string());
            set("radio.dch.uplink.queue.droptail.packets", uplink_buffer.to_string());
            set(if upload { "radio.dch.uplink.rate" } else { "radio.dch.downlink.rate" }, format!("{rate} kbit/s"));
            if blocks {
                set("radio.dch.downlink.rlc", "{ fixed_delay_arq = { delivery = \"out_of_sequence\" } }".into());
                set("radio.dch.uplink.rlc", "{ fixed_delay_arq = { delivery = \"out_of_sequence\" } }".into());
            }
        }
        pairs
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Every ACK goes out once, in order, as it came; what is held is bounded; and the transfers come to their end.
    #[test]
    fn no_ack_is_lost_reordered_altered_or_kept(pairs in circumstances(), seed in 0..1000_u64, flows in 1..3_usize) {
        let text = format!("{DOWNLOAD}{}", "[[flow]]\napp.file.size = \"100 kB\"\n".repeat(flows - 1));
        let direction = pairs.iter().find(|(key, _)| key == "flow.0.direction").unwrap().1.clone();
        let other = (flows > 1).then(|| ("flow.1.direction".to_owned(), direction));
        let all: Overrides = pairs.iter().cloned().chain(other).collect();
        let scenario = Scenario::parse(&text, &all).unwrap();
        let mut run = Beside::run(&scenario, seed);
        prop_assert!(run.is_complete());
        for (dir, flow) in Dir::BOTH.into_iter().flat_map(|dir| [(dir, 0), (dir, 1)]) {
            let [came, left] = run.beside_box(dir).map(|passed| of_flow(passed, flow));
            let is_data = dir == scenario.flows()[0].dir;
            prop_assert!(came.starts_with(&left), "{}, flow {flow}", dir.name());
            prop_assert!(!is_data || came.len() == left.len());
        }
        let report = run.report();
        for flow in report["flows"].as_array().unwrap() {
            let limit = pairs.iter().find(|(key, _)| key.ends_with("hold_limit")).unwrap().1.parse().unwrap();
            prop_assert!(flow["peak_held_acks"].as_u64().unwrap() <= limit, "{flow}");
        }
    }
}

/// After the last ACK nothing makes room any more: held ACKs are still released.
#[test]
fn what_is_held_when_nothing_more_happens_goes() {
    for reset in ["empty", "departure"] {
        let scenario = Scenario::parse(
            DOWNLOAD,
            &overrides(&[
                ("middlebox.0.ack_regulator.reset", reset),
                ("radio.dch.downlink.queue.droptail.packets", "1"),
            ]),
        )
        .unwrap();
        let (ues, flows) = (scenario.radio.ues(), scenario.flows());
        let mut elements: Vec<Box<dyn Element>> = vec![Box::new(Host::new(Dir::Downlink, ues, &flows, 1))];
        elements.extend(scenario.network(1));
        elements.push(Box::new(Host::new(Dir::Uplink, ues, &flows, 1)));
        let mut path = Path::new(elements, ProbeMask::NONE);
        while let Some(due) = path.poll_timeout() {
            path.handle_timeout(due);
        }
        let report = &path.reports()[2]["flows"][0];
        assert_eq!(report["held_at_end"], 0, "{reset}: {report}");
        assert_eq!(path.in_flight(), 0);
    }
}

fn run(text: &str, pairs: &[(&str, &str)]) -> Results {
    let mut simulation =
        Simulation::new(&Scenario::parse(text, &overrides(pairs)).unwrap(), 1, Observe::default());
    simulation.run();
    simulation.results()
}

fn regulated(results: &Results) -> &Value {
    let report =
        results.elements.iter().find(|report| report["element"] == "middlebox.ack_regulator").unwrap();
    &report["flows"][0]
}

/// Packets of 1000 B take 8 ms on the downlink, where two may wait, and ACKs of 40 B 1 ms on the uplink.
const SEVEN_SEGMENTS: &str = r#"
    [[middlebox]]
    ack_regulator = {}
    [radio.dch]
    downlink.rate = "1 Mbit/s"
    downlink.queue.droptail = { packets = 2, in_service = "excluded" }
    uplink.rate = "320 kbit/s"
    [tcp]
    handshake = "none"
    mss = "960 B"
    initial_window = 3
    ack_every = 1
    [[flow]]
    app.file.size = "6720 B"
"#;

/// When pure ACKs came to the box and left it, milliseconds.
fn ack_times(pairs: &[(&str, &str)]) -> [Vec<u64>; 2] {
    let run = Beside::run(&Scenario::parse(SEVEN_SEGMENTS, &overrides(pairs)).unwrap(), 1);
    assert!(run.is_complete());
    run.times_ms(Dir::Uplink)
}

#[test]
fn an_ack_goes_when_there_is_room_for_two_packets() {
    let [came, left] = ack_times(&[]);
    assert_eq!(came, [9, 17, 25, 33, 41, 49, 57]);
    // At 16 ms the third packet leaves the buffer empty: the first ACK triggers two, which fill it; the same happens at
    // 32 ms. At 48 ms the last packet starts. The packets that the third ACK was to trigger do not arrive, but an ACK
    // that finds the buffer empty expects none. Then nothing happens for 200 ms.
    assert_eq!(left, [16, 32, 48, 49, 57, 257, 257]);
}

#[test]
fn each_choice_is_a_key_and_the_old_one_says_which() {
    for (key, value) in AS_PRINTED {
        let [_, left] = ack_times(&[(key, value)]);
        assert_eq!(left.len(), 7, "{key}");
    }
    let [_, departure] = ack_times(&AS_PRINTED[..1]);
    assert_eq!(*departure.last().unwrap(), 456, "what is expected never comes, and only the wait ends");
    let old = [("middlebox.0.ack_regulator.reading", "literal")];
    let error = Scenario::parse(DOWNLOAD, &overrides(&old)).unwrap_err().to_string();
    assert!(error.contains("reading") && error.contains("reset = \"departure\""), "{error}");
}

/// What Figures 7 to 9 print, where the text says otherwise or nothing.
const AS_PRINTED: [(&str, &str); 3] = [
    ("middlebox.0.ack_regulator.reset", "departure"),
    ("middlebox.0.ack_regulator.window", "outstanding"),
    ("middlebox.0.ack_regulator.threshold", "waiting"),
];

#[test]
fn as_printed_it_waits_for_what_does_not_come() {
    let [_, left] = ack_times(&AS_PRINTED);
    // At 33 ms the window exceeds twice the buffer, so that at 40 the room for one packet is enough. At 57 the buffer
    // is empty, but what the ACK at 49 was to bring is still expected: only the wait comes to an end.
    assert_eq!(left, [16, 32, 40, 49, 256, 256, 456]);
}

/// The flow of Table 1, row 4: 200 kbit/s, a delay of 100 ms in the mean, a buffer of ten packets; an hour.
const ROW_4: &str = r#"
    duration = "1 h"
    wired = { delay = "1 ms", rate = "100 Mbit/s" }
    [[middlebox]]
    ack_regulator = {}
    [radio.variable.downlink]
    queue.droptail = { packets = 10, in_service = "excluded" }
    channel.distribution = { rate.constant = "200 kbit/s", delay.exponential.mean = "100 ms" }
    [radio.variable.uplink]
    queue.droptail = { packets = 50, in_service = "excluded" }
    channel.distribution = { rate.constant = "64 kbit/s", delay.constant = "300 ms" }
    [tcp]
    handshake = "none"
    mss = "960 B"
    initial_window = 1
    max_window = 500
    receive_buffer = "1 MB"
    window_arithmetic = "ns2"
    rtt_sampling = "one_per_window"
    ack_every = 1
    limited_transmit = false
    multiple_fast_retransmits = true
    rto = { initial = "3 s", min = "1 s", tick = "100 ms" }
    recovery.reno = {}
    [[flow]]
    app.bulk = {}
"#;

/// Chan and Ramjee, Table 3: 496 fast retransmits, 114 timeouts and 129 kbit/s without it, 302, 8 and 184 with it.
#[test]
#[ignore = "slow"]
fn the_flow_of_table_1_row_4_sees_few_timeouts() {
    let (without, with) = (run(ROW_4, &[("middlebox", "[]")]), run(ROW_4, &[]));
    let [without, with] = [&without, &with].map(|results| &results.flows[0]);
    assert!(without.sender.timeouts > 50, "{}", without.sender.timeouts);
    assert!(with.sender.timeouts <= 8, "{}", with.sender.timeouts);
    assert!(with.sender.fast_retransmits < without.sender.fast_retransmits);
    assert!(with.goodput_bps > 1.3 * without.goodput_bps, "{}", with.goodput_bps);
}

/// An ACK of two packets brings two.
#[test]
#[ignore = "slow"]
fn delayed_acks_count_for_what_they_acknowledge() {
    let delayed = ("tcp.ack_every", "2");
    let [by_acks, by_segments] = ["acks", "segments"]
        .map(|count| run(ROW_4, &[delayed, ("middlebox.0.ack_regulator.count", count)]).flows[0].clone());
    assert_eq!(by_segments, run(ROW_4, &[delayed]).flows[0]);
    assert!(
        by_segments.sender.timeouts <= 8 && by_acks.sender.timeouts > 20,
        "{} {}",
        by_segments.sender.timeouts,
        by_acks.sender.timeouts
    );
}

/// Section 5: what is reserved behind duplicates keeps later ones back.
#[test]
#[ignore = "slow"]
fn a_reserve_for_duplicates_holds_more_acks() {
    let held = |pairs: &[(&str, &str)]| regulated(&run(ROW_4, pairs))["acks_held"].as_u64().unwrap();
    let [none, two, nine] = ["0", "2", "9"]
        .map(|packets| held(&[("middlebox.0.ack_regulator.reserve_fast_retransmit", packets)]));
    assert!(none < two && two < nine, "{none} {two} {nine}");
    let limited = ("tcp.limited_transmit", "true");
    let [without, with] = ["0", "2"]
        .map(|packets| held(&[limited, ("middlebox.0.ack_regulator.reserve_limited_transmit", packets)]));
    assert!(without < with, "{without} {with}");
}

#[test]
#[ignore = "slow"]
fn an_upload_is_regulated_at_the_ue() {
    let text =
        ROW_4.replace("downlink]", "other]").replace("uplink]", "downlink]").replace("other]", "uplink]");
    let at_ue = [("flow.0.direction", "uplink"), ("middlebox.0.ack_regulator.at", "ue")];
    let (without, with) = (run(&text, &[at_ue[0], ("middlebox", "[]")]), run(&text, &at_ue));
    assert!(without.flows[0].sender.timeouts > 50 && with.flows[0].sender.timeouts <= 8);
    assert!(regulated(&with)["acks_held"].as_u64().unwrap() > 1000);
}

/// Section 6.7: of an encrypted flow it sees lengths alone.
#[test]
#[ignore = "slow"]
fn an_encrypted_flow_fares_as_without_the_box() {
    let encrypted = ("flow.0.encrypted", "true");
    let flows_of = |results: &Results| {
        let box_report = |report: &&Value| report["element"] == "middlebox.ack_regulator";
        results.elements.iter().find(box_report).unwrap()["flows"].as_array().unwrap().clone()
    };
    let (without, with) = (run(ROW_4, &[("middlebox", "[]")]), run(ROW_4, &[encrypted]));
    assert_eq!(with.flows, without.flows);
    assert!(flows_of(&with).is_empty());
    // Another flow of the same UE is regulated as ever.
    let both = ROW_4.replace("app.bulk = {}", "app.bulk = {}\n[[flow]]\napp.bulk = {}");
    let regulated = flows_of(&run(&both, &[encrypted]));
    assert_eq!(regulated.iter().map(|flow| flow["flow"].as_u64().unwrap()).collect::<Vec<_>>(), [1]);
}

#[test]
#[ignore = "slow"]
fn a_mark_takes_the_place_of_the_loss() {
    let ecn = ("middlebox.0.ack_regulator.loss_signal", "ecn");
    let marked = run(ROW_4, &[ecn, ("tcp.ecn", "true")]);
    let (flow, report) = (&marked.flows[0], regulated(&marked));
    let counts = flow.ecn.unwrap();
    assert!(counts.reductions > 100, "{counts:?}");
    assert_eq!(report["packets_marked"], counts.marks);
    assert_eq!(report["non_conservative_s"], 0.0);
    // Slow start alone, before the first ACK is held, may still fill the buffer.
    let lost = &run(ROW_4, &[]).flows[0];
    assert!(
        10 * flow.sender.retransmissions.total < lost.sender.retransmissions.total,
        "{:?}",
        flow.sender.retransmissions
    );
    // A flow that cannot be marked loses a packet as before.
    let unmarked = &run(ROW_4, &[ecn]).flows[0];
    assert_eq!(unmarked, lost);
}

#[test]
fn what_cannot_be_regulated_is_refused_in_words() {
    let cases = [
        ("alpha", "0", "alpha: no window is 0 times the buffer; write a positive number such as 2"),
        ("alpha", "inf", "alpha: no window is inf times the buffer; write a positive number such as 2"),
        ("hold_limit", "0", "hold_limit: nothing could be held; write at least 1"),
        ("idle_release", "0 s", "idle_release: nothing would ever be held; write a time such as \"200 ms\""),
    ];
    for (key, value, message) in cases {
        let pairs = overrides(&[(&format!("middlebox.0.ack_regulator.{key}"), value)]);
        let error = Scenario::parse(DOWNLOAD, &pairs).unwrap_err().to_string();
        assert_eq!(error, format!("middlebox[0].ack_regulator.{message}"));
    }
    let unlimited = DOWNLOAD.replace("packets = 10, ", "");
    assert_eq!(
        Scenario::parse(&unlimited, &[]).unwrap_err().to_string(),
        "middlebox[0].ack_regulator: the downlink buffer has no limit in packets to regulate by; set \
         radio.dch.downlink.queue.droptail.packets"
    );
    // Nothing is sent that way, or nothing over TCP.
    for harmless in [("flow.0.direction", "uplink"), ("flow.0.app", "{ cbr = {} }")] {
        Scenario::parse(&unlimited, &overrides(&[harmless])).unwrap();
    }
}
