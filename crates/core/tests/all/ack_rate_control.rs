//! ACK rate control: when ACKs leave, and what it owes the connection whatever happens.

use airpath_core::element::Element;
use airpath_core::host::Host;
use airpath_core::packet::Dir;
use airpath_core::path::Path;
use airpath_core::scenario::{Scenario, bundled};
use airpath_core::sim::{Observe, Simulation};
use airpath_core::testing::beside::{Beside, of_flow};
use airpath_core::trace::{Event, Kind, ProbeMask};
use proptest::prelude::*;

type Overrides = Vec<(String, String)>;

/// Keys below the box begin with a dot.
fn overrides(pairs: &[(&str, &str)]) -> Overrides {
    let whole = |key: &str| match key.strip_prefix('.') {
        Some(below) => format!("middlebox.0.ack_rate_control.{below}"),
        None => key.to_owned(),
    };
    pairs.iter().map(|(key, value)| (whole(key), (*value).to_owned())).collect()
}

/// Packets of 1000 B take 8 ms on the downlink, and ACKs of 40 B 1 ms on the uplink: five ACKs come 8 ms apart from 9
/// ms on, and find 4, 3, 2, 1 and no SDU in the buffer. 10 ms of delay for each.
const FIVE_SEGMENTS: &str = r#"
    duration = "2 h"
    [[middlebox]]
    ack_rate_control.t_id.linear = { minth = 0, maxth = 4, maxd = "40 ms" }
    [radio.dch]
    downlink.rate = "1 Mbit/s"
    uplink.rate = "320 kbit/s"
    [tcp]
    handshake = "none"
    mss = "960 B"
    initial_window = 5
    ack_every = 1
    rto.min = "1 s"
    [[flow]]
    app.file.size = "4800 B"
"#;

fn five_segments(pairs: &[(&str, &str)]) -> Beside {
    let run = Beside::run(&Scenario::parse(FIVE_SEGMENTS, &overrides(pairs)).unwrap(), 1);
    assert!(run.is_complete());
    run
}

/// When pure ACKs left the box, milliseconds; they came as [`FIVE_SEGMENTS`] says.
fn left(pairs: &[(&str, &str)]) -> Vec<u64> {
    let [came, left] = five_segments(pairs).times_ms(Dir::Uplink);
    assert_eq!(came, [9, 17, 25, 33, 41]);
    left
}

#[test]
fn acks_leave_until_one_needs_a_delay() {
    // At 17 ms there are 3 SDUs: 30 ms from the ACK at 9. At 39 there is one: 10 ms. At 49 there is none.
    assert_eq!(left(&[]), [9, 39, 49, 49, 49]);
    let report = &five_segments(&[]).report()["ues"][0];
    assert_eq!(
        (&report["acks"], &report["acks_held"], &report["peak_held_acks"]),
        (&5.into(), &4.into(), &3.into())
    );
    // 22, 24, 16 and 8 ms for five ACKs.
    assert_eq!(report["mean_hold_ms"], 14.0);
}

#[test]
fn as_printed_an_ack_is_stranded() {
    // At 49 ms the expiration lets one go and the computation that follows another; then no timer runs.
    assert_eq!(left(&[(".release", "strict"), (".idle_release", "100 ms")]), [9, 39, 49, 49, 149]);
    let report = &five_segments(&[(".release", "strict"), (".idle_release", "100 ms")]).report()["ues"][0];
    assert_eq!(report["forced_releases"]["idle"], 1);
}

#[test]
fn a_stranded_ack_leaves_with_the_next_arrival() {
    let step = (".t_id", "{ constant = { minth = 3, maxd = \"12 ms\" } }");
    // At 17 ms there are 3 SDUs: 12 ms after 9. From 25 on there are fewer, and each goes as it comes.
    assert_eq!(left(&[step, (".release", "strict")]), [9, 21, 25, 33, 41]);
    // Until 39 ms three have come: the expiration lets one go and the computation another. The ACK that comes at 41
    // lets the one before it go, and is stranded itself.
    let long = (".t_id", "{ constant = { minth = 3, maxd = \"30 ms\" } }");
    let strict = left(&[long, (".release", "strict"), (".idle_release", "200 ms")]);
    assert_eq!(strict, [9, 39, 39, 41, 241]);
    assert_eq!(left(&[long]), [9, 39, 39, 39, 41]);
}

#[test]
fn one_ack_leaves_in_a_tti() {
    // At 49 ms the third; the next TTIs begin at 50 and 60.
    assert_eq!(left(&[(".release", "one_per_tti")]), [9, 39, 49, 50, 60]);
    assert_eq!(left(&[(".release", "one_per_tti"), (".tti", "20 ms")]), [9, 39, 49, 60, 80]);
    // TTIs of 25 ms: at 17 the first is over at 25, and the delay at 39; then at 50.
    assert_eq!(left(&[(".release", "one_per_tti"), (".tti", "25 ms")]), [9, 39, 50, 75, 100]);
}

#[test]
fn sdus_of_which_octets_have_been_sent_may_not_count() {
    // At 17 ms 2 SDUs wait: 20 ms from 9. At 29 one: 10 ms. At 39 none.
    assert_eq!(left(&[(".occupancy", "untransmitted")]), [9, 29, 39, 39, 41]);
}

#[test]
fn a_full_line_lets_the_oldest_go() {
    // At 33 ms a third would be held; the timer still expires at 39. Then one SDU: 10 ms.
    assert_eq!(left(&[(".hold_limit", "2")]), [9, 33, 39, 49, 49]);
}

#[test]
fn after_a_drop_another_function_holds_until_the_counter_is_used_up() {
    let held = (".t_id", "{ constant = { minth = 0, maxd = \"100 ms\" } }");
    // The fifth SDU finds four: the second is dropped, and Counter is 4000 B, which are delivered at 32 ms.
    let cell = |buffer: &str| {
        format!(
            "{{ variable = {{ downlink = {{ channel = {{ distribution = {{ rate = {{ constant = \"1 Mbit/s\" }} }} }}, \
             queue = {{ pdpc = {{ max_threshold = 4, arriving = \"excluded\" }} }}, buffer = \"{buffer}\" }}, \
             uplink = {{ channel = {{ distribution = {{ rate = {{ constant = \"320 kbit/s\" }} }} }} }} }} }}"
        )
    };
    let (shared, per_flow) = (cell("shared"), cell("per_flow"));
    let full = ("radio", shared.as_str());
    let first = |pairs: &[(&str, &str)]| five_segments(pairs).times_ms(Dir::Uplink)[1][..4].to_vec();
    assert_eq!(first(&[held, full]), [9, 109, 209, 309]);
    let off = [held, full, (".t_id_after_drop", "{ off = {} }")];
    assert_eq!(first(&off), [9, 17, 25, 125]);
    assert_eq!(first(&[held, ("radio", &per_flow), off[2]]), [9, 17, 25, 125]);
    let report = &five_segments(&off).report()["ues"][0];
    assert_eq!((&report["drops_followed"], &report["t_id_after_drop_s"]), (&1.into(), &0.032.into()));
    // 20 ms at 9 and at 29 ms; the timer set then stays, and from 49 on it is 100 ms again.
    let shorter = [held, full, (".t_id_after_drop", "{ constant = { minth = 0, maxd = \"20 ms\" } }")];
    assert_eq!(first(&shorter), [9, 29, 49, 149]);
}

#[test]
fn each_bearer_has_a_line_of_its_own_and_its_flows_share_it() {
    let two = |ue: u16| format!("{FIVE_SEGMENTS}[[flow]]\nue = {ue}\napp.file.size = \"4800 B\"\n");
    let of = |text: &str, (ue, flow): (u16, u16)| {
        let pairs = overrides(&[
            ("radio.dch.ues", "2"),
            (".t_id", "{ constant = { minth = 0, maxd = \"100 ms\" } }"),
        ]);
        let run = Beside::run(&Scenario::parse(text, &pairs).unwrap(), 1);
        let [_, left] = run.beside_box(Dir::Uplink);
        let mine = left.iter().filter(|(_, packet)| (packet.ue, packet.flow) == (ue, flow));
        mine.map(|(at, _)| at.as_nanos() / 1_000_000).collect::<Vec<_>>()
    };
    let apart = two(1);
    assert_eq!(
        (of(&apart, (0, 0)), of(&apart, (1, 0))),
        (vec![9, 109, 209, 309, 409], vec![9, 109, 209, 309, 409])
    );
    // Five packets of the first flow, then five of the second: ten ACKs in one line.
    let together = two(0);
    assert_eq!(of(&together, (0, 0)), [9, 109, 209, 309, 409]);
    assert_eq!(of(&together, (0, 1)), [509, 609, 709, 809, 909]);
}

#[test]
fn the_trace_tells_what_is_held_and_why() {
    let scenario = Scenario::parse(FIVE_SEGMENTS, &[]).unwrap();
    let observe = Observe { probes: ProbeMask::NONE.with(Kind::AckRateControl), ..Observe::default() };
    let mut simulation = Simulation::new(&scenario, 1, observe);
    simulation.run();
    let told: Vec<_> = simulation
        .take_trace()
        .into_iter()
        .filter_map(|(at, event)| match event {
            Event::AckRateControl { held_acks, occupancy_sdus, t_id_us, after_drop: false, .. } => {
                Some((at.as_nanos() / 1_000_000, held_acks, occupancy_sdus, t_id_us))
            }
            _ => None,
        })
        .collect();
    let expected =
        [(9, 0, 4, 40_000), (17, 1, 3, 30_000), (25, 2, 2, 20_000), (33, 3, 1, 10_000), (39, 2, 1, 10_000)];
    assert_eq!(told[..5], expected);
    assert_eq!(told[5..], [(41, 3, 0, 0), (49, 0, 0, 0)]);
}

/// A download over a bearer with a small buffer; everything random is in the overrides.
const DOWNLOAD: &str = r#"
    duration = "10 h"
    wired.delay = "20 ms"
    [[middlebox]]
    ack_rate_control = {}
    [radio.dch]
    downlink.rate = "200 kbit/s"
    downlink.delay = "60 ms"
    uplink.rate = "64 kbit/s"
    uplink.delay = "60 ms"
    [tcp]
    mss = "960 B"
    [[flow]]
    app.file.size = "150 kB"
"#;

const VARIANTS: [&[(&str, &str)]; 3] = [
    &[],
    &[("tcp.sack", "true"), ("tcp.recovery.sack", "{}"), ("tcp.ip", "ipv6"), ("tcp.ack_every", "1")],
    &[("tcp.timestamps", "true"), ("tcp.initial_sequence", "4294947290")],
];

prop_compose! {
    fn circumstances()(
        buffer in 1..30_u32, rate in 50..500_u32, loss in 0..6_u32, variant in 0..VARIANTS.len(), upload: bool, blocks: bool,
        release in prop::sample::select(vec!["strict", "loop", "one_per_tti"]), untransmitted: bool, alpha in 1..40_u32,
        function in prop::sample::select(vec!["constant", "linear", "power"]), minth in 0..10_u32, maxth in 10..40_u32,
        maxd in 1..500_u32, after in prop::sample::select(vec!["", "off", "linear"]), tti in 1..100_u32,
        hold_limit in prop::sample::select(vec![1, 5, 1000]), idle in 1..2000_u32,
    ) -> Overrides {
        let mut pairs = overrides(VARIANTS[variant]);
        let mut set = |key: &str, value: String| pairs.extend(overrides(&[(key, &value)]));
        let (thresholds, maxd) = (format!("minth = {minth}, maxth = {maxth}"), format!("maxd = \"{maxd} ms\""));
        set(".t_id", match function {
            "constant" => format!("{{ constant = {{ minth = {minth}, {maxd} }} }}"),
            "linear" => format!("{{ linear = {{ {thresholds}, {maxd} }} }}"),
            _ => format!("{{ power = {{ {thresholds}, {maxd}, alpha = {}.{} }} }}", alpha / 10, alpha % 10),
        });
        set(".release", release.into());
        set(".occupancy", if untransmitted { "untransmitted" } else { "unacked" }.into());
        set(".tti", format!("{tti} ms"));
        set(".hold_limit", hold_limit.to_string());
        set(".idle_release", format!("{idle} ms"));
        set(".at", if upload { "ue" } else { "network" }.into());
        set("flow.0.direction", if upload { "uplink" } else { "downlink" }.into());
        set("wired.loss", format!("{loss} %"));
        let bearer = if upload { "uplink" } else { "downlink" };
        set(&format!("radio.dch.{bearer}.rate"), format!("{rate} kbit/s"));
        let queue = if after.is_empty() {
            format!("{{ droptail = {{ packets = {buffer} }} }}")
        } else {
            set(".t_id_after_drop", format!("{{ {after} = {{}} }}"));
            format!("{{ pdpc = {{ packets = {buffer}, max_threshold = {minth} }} }}").replace("= 0", "= 1")
        };
        set(&format!("radio.dch.{bearer}.queue"), queue);
        if blocks || !after.is_empty() {
            let rlc = "{ fixed_delay_arq = { delivery = \"in_sequence\" } }";
            set("radio.dch.downlink.rlc", rlc.into());
            set("radio.dch.uplink.rlc", rlc.into());
        }
        pairs
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Every ACK goes out once, in order, as it came; what is held is bounded; and the transfers come to their end,
    /// also that of a flow which sends data among the ACKs of another.
    #[test]
    fn no_ack_is_lost_reordered_altered_or_kept(
        pairs in circumstances(), seed in 0..1000_u64, other in prop::sample::select(vec!["", "downlink", "uplink"]),
    ) {
        let second = format!("[[flow]]\ndirection = \"{other}\"\napp.file.size = \"60 kB\"\n");
        let text = format!("{DOWNLOAD}{}", if other.is_empty() { "" } else { &second });
        let scenario = Scenario::parse(&text, &pairs).unwrap();
        let mut run = Beside::run(&scenario, seed);
        prop_assert!(run.is_complete());
        let data = scenario.flows()[0].dir;
        for (dir, flow) in Dir::BOTH.into_iter().flat_map(|dir| [(dir, 0), (dir, 1)]) {
            let [came, left] = run.beside_box(dir).map(|passed| of_flow(passed, flow));
            prop_assert!(came.starts_with(&left), "{}, flow {flow}", dir.name());
            prop_assert!(dir != data || came.len() == left.len());
        }
        let report = run.report();
        for bearer in report["ues"].as_array().unwrap() {
            let limit = pairs.iter().find(|(key, _)| key.ends_with("hold_limit")).unwrap().1.parse().unwrap();
            prop_assert!(bearer["peak_held_acks"].as_u64().unwrap() <= limit, "{bearer}");
        }
    }

    /// Between two ACKs is at least `t_id` of the step, and with one per TTI at most one in each.
    #[test]
    fn acks_keep_their_distance(one_per_tti: bool, maxd in 1..200_u64, tti in 1..100_u64, seed in 0..1000_u64) {
        let pairs = overrides(&[
            (".t_id", &format!("{{ constant = {{ minth = 0, maxd = \"{maxd} ms\" }} }}")),
            (".release", if one_per_tti { "one_per_tti" } else { "loop" }),
            (".tti", &format!("{tti} ms")),
            ("wired.loss", "2 %"),
            ("tcp.handshake", "none"),
        ]);
        let run = Beside::run(&Scenario::parse(DOWNLOAD, &pairs).unwrap(), seed);
        let [_, left] = run.beside_box(Dir::Uplink);
        for pair in left.windows(2) {
            let [before, after] = [pair[0].0.as_nanos(), pair[1].0.as_nanos()];
            prop_assert!(after - before >= maxd * 1_000_000);
            prop_assert!(!one_per_tti || after / (tti * 1_000_000) > before / (tti * 1_000_000));
        }
    }
}

/// After the last ACK nothing more arrives: held ACKs are still released.
#[test]
fn what_is_held_when_nothing_more_happens_goes() {
    for release in ["strict", "loop", "one_per_tti"] {
        let scenario = Scenario::parse(DOWNLOAD, &overrides(&[(".release", release)])).unwrap();
        let (ues, flows) = (scenario.radio.ues(), scenario.flows());
        let mut elements: Vec<Box<dyn Element>> = vec![Box::new(Host::new(Dir::Downlink, ues, &flows, 1))];
        elements.extend(scenario.network(1));
        elements.push(Box::new(Host::new(Dir::Uplink, ues, &flows, 1)));
        let mut path = Path::new(elements, ProbeMask::NONE);
        while let Some(due) = path.poll_timeout() {
            path.handle_timeout(due);
        }
        let report = &path.reports()[2]["ues"][0];
        assert!(report["acks_held"].as_u64().unwrap() > 10, "{release}: {report}");
        assert_eq!(report["held_at_end"], 0, "{release}: {report}");
        assert_eq!(path.in_flight(), 0);
    }
}

/// Goodput in bit/s and mean delay of a packet from the downlink's buffer to its delivery, in seconds: the bundled
/// bearer of 384 kbit/s with room for 50 SDUs, and TCP by the RFCs.
fn download_at_384(pairs: &[(&str, &str)]) -> (f64, f64) {
    let text = bundled("umts-384-simple").unwrap();
    let given = [("radio.dch.downlink.queue.droptail.packets", "50"), ("tcp.profile", "rfc")];
    let pairs: Vec<_> = given.into_iter().chain(pairs.iter().copied()).collect();
    let observe = Observe { probes: ProbeMask::NONE.with(Kind::BearerDelivered), ..Observe::default() };
    let mut simulation = Simulation::new(&Scenario::parse(text, &overrides(&pairs)).unwrap(), 1, observe);
    simulation.run();
    let delays: Vec<f64> = simulation
        .take_trace()
        .into_iter()
        .filter_map(|(_, event)| match event {
            Event::BearerDelivered { direction: Dir::Downlink, delay_ns, .. } => Some(delay_ns as f64 / 1e9),
            _ => None,
        })
        .collect();
    (simulation.results().flows[0].goodput_bps, delays.iter().sum::<f64>() / delays.len() as f64)
}

/// As in Table 2, one flow: ACK rate control lowers the delay and costs at most 3 % of the goodput. As printed, ACKs
/// are stranded, and the rate cannot be kept.
#[test]
fn a_download_keeps_its_rate_and_waits_less_in_the_buffer() {
    let (goodput, delay) = download_at_384(&[]);
    let with = |release: &str| {
        let boxes = format!(
            "[{{ ack_rate_control = {{ release = \"{release}\", occupancy = \"untransmitted\" }} }}]"
        );
        download_at_384(&[("middlebox", &boxes)])
    };
    for release in ["loop", "one_per_tti"] {
        let (controlled, waited) = with(release);
        assert!(controlled > 0.97 * goodput, "{release}: {controlled} of {goodput} bit/s");
        assert!(waited < 0.5 * delay, "{release}: {waited} of {delay} s");
    }
    let (stranded, _) = with("strict");
    assert!(stranded < 0.9 * goodput, "{stranded} of {goodput} bit/s");
}

#[test]
fn what_could_delay_nothing_is_refused_in_words() {
    let cases = [
        (
            "t_id.linear = { minth = 10, maxth = 10 }",
            "t_id.linear.maxth: the time cannot grow from minth = 10 to 10 SDUs; write more than minth, such as minth = 0 \
             and maxth = 40",
        ),
        (
            "t_id.power.minth = 41",
            "t_id.power.maxth: the time cannot grow from minth = 41 to 40 SDUs; write more than minth, such as minth = 0 \
             and maxth = 40",
        ),
        (
            "t_id.constant.maxd = \"0 s\"",
            "t_id.constant.maxd: no ACK would be delayed; write a time such as \"400 ms\", or choose off = {}",
        ),
        (
            "t_id_after_drop.linear.maxd = \"0 s\"",
            "t_id_after_drop.linear.maxd: no ACK would be delayed; write a time such as \"400 ms\", or choose off = {}",
        ),
        (
            "t_id.power.alpha = 0",
            "t_id.power.alpha: the time does not grow with the power 0 of the occupancy; write a positive number such as \
             0.5, or choose constant for a step",
        ),
        (
            "t_id.power.alpha = -1.5",
            "t_id.power.alpha: the time does not grow with the power -1.5 of the occupancy; write a positive number such \
             as 0.5, or choose constant for a step",
        ),
        (
            "t_id_after_drop = { off = {} }",
            "t_id_after_drop: the buffer has no PDPC, whose counter says how long; choose queue.pdpc for the bearer, or \
             remove the key",
        ),
        ("hold_limit = 0", "hold_limit: nothing could be held; write at least 1"),
        ("tti = \"0 s\"", "tti: a TTI takes time; write that of the bearer, such as \"10 ms\""),
        ("idle_release = \"0 s\"", "idle_release: no ACK could be stranded; write a time such as \"1 s\""),
    ];
    for (key, message) in cases {
        let text = format!("[[middlebox]]\nack_rate_control.{key}\n[[flow]]");
        let error = Scenario::parse(&text, &[]).unwrap_err().to_string();
        assert_eq!(error, format!("middlebox[0].ack_rate_control.{message}"));
    }
}

#[test]
fn naming_another_function_replaces_the_one_before() {
    let scenario = Scenario::parse(FIVE_SEGMENTS, &overrides(&[(".t_id.power.alpha", "0.2")])).unwrap();
    let resolved = serde_json::to_value(&scenario.middlebox[0]).unwrap();
    let t_id = &resolved["ack_rate_control"]["t_id"];
    assert_eq!(t_id["power"]["alpha"], 0.2);
    assert!(t_id.get("linear").is_none());
}
