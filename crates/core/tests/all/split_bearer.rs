//! Split bearers: delays and order by hand, flow control, legs that are released, duplication, and what TCP sees.

use airpath_core::host::FlowReport;
use airpath_core::packet::Dir;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::Instant;
use airpath_core::trace::{Event, Kind, ProbeMask, Reason};
use serde_json::Value;

const SEED: u64 = 5;

/// A cell of constant rate and delay, in both directions, after a link of its own.
fn constant(name: &str, mbit_s: u32, delay_ms: u32, further: &str) -> String {
    let channel = format!("{{ rate.constant = \"{mbit_s} Mbit/s\", delay.constant = \"{delay_ms} ms\" }}");
    format!(
        "[[cell]]\nname = \"{name}\"\nbehind = \"core\"\n{further}\n\
         [cell.radio.variable]\ndownlink.channel.distribution = {channel}\nuplink.channel.distribution = {channel}\n"
    )
}

const XN: &str = "wired = { delay = \"5 ms\" }";

/// LTE of 10 MHz behind an Xn of 5 ms, without losses and with a steady SINR.
fn lte(further: &str) -> String {
    format!(
        "[[cell]]\nname = \"lte\"\nbehind = \"core\"\n{XN}\n[cell.radio.lte]\n\
         downlink.blocks.bandwidth = \"10 MHz\"\ndownlink.reception = {{ mean_sinr = \"20 dB\", fading.none = {{}} }}\n{further}\n"
    )
}

/// NR of 40 MHz.
fn nr(name: &str, further: &str) -> String {
    format!(
        "[[cell]]\nname = \"{name}\"\nbehind = \"core\"\n[cell.radio.nr]\nframe = \"DDDSU\"\n\
         downlink.blocks = {{ bandwidth = \"40 MHz\", layers = 2 }}\ndownlink.reception = {{ mean_sinr = \"15 dB\", fading.none = {{}} }}\n{further}\n"
    )
}

/// `split` is the table of the UE's keys, `legs` its cells.
fn text(duration: &str, cells: &str, ue: &str, rest: &str) -> String {
    format!(
        "duration = \"{duration}\"\ntcp.profile = \"linux\"\ntcp.receive_buffer_max = \"32 MB\"\n\
         [[way]]\nname = \"core\"\nwired.delay = \"10 ms\"\n{cells}\n[[ue]]\nname = \"phone\"\n{ue}\n{rest}\n"
    )
}

struct Run {
    flows: Vec<FlowReport>,
    /// Packets at the hosts of their direction: time in ms, number.
    arrived: [Vec<(f64, u32)>; 2],
    /// Legs over which PDCP delivered, and for how many ms it held each packet.
    delivered: [Vec<(u16, f64)>; 2],
    dropped: Vec<Reason>,
    bearer: Value,
    results: String,
}

fn run(text: &str) -> Run {
    run_with(text, SEED)
}

fn run_with(text: &str, seed: u64) -> Run {
    let scenario = Scenario::parse(text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let last = scenario.path().len() - 1;
    let probes =
        ProbeMask::NONE.with(Kind::Packet).with(Kind::Dropped).with(Kind::PdcpDelivered).with(Kind::Made);
    let mut run = Simulation::new(&scenario, seed, Observe { probes, ..Observe::default() });
    run.run();
    let (mut arrived, mut delivered) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let (mut dropped, mut original) = (Vec::new(), std::collections::BTreeMap::new());
    let ms = |at: Instant| at.as_nanos() as f64 / 1e6;
    for (at, event) in run.take_trace() {
        match event {
            Event::Packet { element, direction, packet, .. }
                if usize::from(element) == direction.pick(last, 0) =>
            {
                let id = original.get(&packet).copied().unwrap_or(packet);
                arrived[direction.index()].push((ms(at), id));
            }
            Event::Made { packet, copy_of, .. } => _ = original.insert(packet, copy_of),
            Event::PdcpDelivered { direction, leg, held_ns, .. } => {
                delivered[direction.index()].push((leg, held_ns as f64 / 1e6));
            }
            Event::Dropped { reason, .. } => dropped.push(reason),
            _ => {}
        }
    }
    let results = run.results();
    let found = results.elements.iter().find(|element| element["element"] == "split_bearers");
    let bearer = found.map_or(Value::Null, |element| element["bearers"][0].clone());
    let results = results.to_json();
    Run { flows: run.flows(), arrived, delivered, dropped, bearer, results }
}

fn is_in_order(arrived: &[(f64, u32)]) -> bool {
    arrived.windows(2).all(|pair| pair[0].1 < pair[1].1)
}

/// 40 Mbit/s in packets of 1500 B, one each 0.3 ms.
fn cbr(packets: u32) -> String {
    format!(
        "[[flow]]\nue = \"phone\"\napp.cbr = {{ size = \"1500 B\", rate = \"40 Mbit/s\", packets = {packets} }}"
    )
}

/// Two legs of 20 Mbit/s, with 5 and 35 ms: the second of 5 ms behind a link of 30 ms.
fn unequal(split: &str, rest: &str) -> String {
    let cells = constant("a", 20, 5, "") + &constant("b", 20, 5, "wired = { delay = \"30 ms\" }");
    text("2 s", &cells, &format!("attach = [\"a\", \"b\"]\n{split}"), rest)
}

/// Acceptance test 17 of the design, by hand. In turn, packets 2k enter at 0.6 k ms and take 10 + 0.6 + 5 ms; packets 2k + 1
/// enter at 0.6 k + 0.3 and take 10 + 30 + 0.6 + 5. So each even packet waits 30 - 0.3 ms for the odd one before it, and 49
/// or 50 of them do.
#[test]
fn two_legs_deliver_in_order_with_the_delay_of_the_slower_one() {
    let alternate = "split = { downlink.flow_control = false, pdcp.t_reordering = \"50 ms\" }";
    let run = run(&unequal(alternate, &cbr(2000)));
    assert!(is_in_order(&run.arrived[0]) && run.dropped.is_empty());
    assert_eq!(run.arrived[0].len(), 2000);
    for (number, (leg, held_ms)) in run.delivered[0].iter().enumerate().skip(1) {
        assert_eq!(*leg, (number % 2) as u16);
        let expected = if number % 2 == 0 { 29.7 } else { 0.0 };
        assert!((held_ms - expected).abs() < 1e-6, "packet {number}: {held_ms} ms");
    }
    for (number, (at, _)) in run.arrived[0].iter().enumerate().skip(1) {
        let sent = 0.6 * ((number - 1) / 2) as f64 + 0.3;
        assert!((at - sent - 45.6).abs() < 1e-6, "packet {number}: {at} ms");
    }
    let held = run.bearer["downlink"]["most_held_bytes"].as_u64().unwrap();
    assert!((73_500..=76_500).contains(&held), "{held} B");
    assert_eq!(run.bearer["downlink"]["pdcp"]["reordering_timeouts"], 0);
}

/// The timer runs for the gaps that are there when it starts, so a gap is passed over 20 to 40 ms after the packet behind it.
/// The missing packet comes after 29.7 ms: too late in (29.7 - 20) / 20 = 48.5 % of the cases, and is discarded (TS 38.323
/// §5.2.2.2). Out-of-order delivery with a timer that is long enough loses none, and TCP sees each of them late.
#[test]
fn t_reordering_below_the_difference_of_delays_discards_half_of_the_slower_leg() {
    let split = |pdcp: &str| format!("split = {{ downlink.flow_control = false, pdcp = {{ {pdcp} }} }}");
    let short = run(&unequal(&split("t_reordering = \"20 ms\""), &cbr(2000)));
    assert!(is_in_order(&short.arrived[0]));
    let late = short.dropped.iter().filter(|reason| **reason == Reason::PassedOver).count();
    assert_eq!((late, short.arrived[0].len()), (short.dropped.len(), 2000 - late));
    assert!((465..=505).contains(&late), "{late}");
    assert_eq!(short.bearer["downlink"]["late_sdus"], late);
    let free = run(&unequal(&split("t_reordering = \"50 ms\", out_of_order = true"), &cbr(2000)));
    assert_eq!((free.arrived[0].len(), free.dropped.len()), (2000, 0));
    let overtaken = free.arrived[0].windows(2).filter(|pair| pair[0].1 > pair[1].1).count();
    assert!(overtaken > 900, "{overtaken}");
    assert!(free.delivered[0].iter().all(|(_, held_ms)| *held_ms == 0.0));
}

/// 2048 SDUs of 1500 B may be in transit for 35 ms and 24 us: 701.7 Mbit/s. The first of each 2048 leaves with the arrival of
/// the one 2048 before, so the tenth of them arrives after 10 ms and ten times 35.024 ms. With 18 bits it comes at the rate
/// of the flow, 12.12 us per packet.
#[test]
#[ignore = "slow"]
fn a_sequence_number_of_12_bits_limits_the_rate() {
    let arrival = |sn: u32| {
        let cells = constant("a", 500, 35, "") + &constant("b", 500, 35, "");
        let ue =
            format!("attach = [\"a\", \"b\"]\nsplit = {{ downlink.flow_control = false, pdcp.sn = {sn} }}");
        let flow = "[[flow]]\nue = \"phone\"\napp.cbr = { size = \"1500 B\", rate = \"990 Mbit/s\" }";
        run(&text("400 ms", &cells, &ue, flow)).arrived[0][9 * 2048].0
    };
    let (short, long) = (arrival(12), arrival(18));
    assert!((short - 360.24).abs() < 0.5, "{short} ms");
    assert!((long - (45.024 + 18_432.0 * 12e3 / 990e3)).abs() < 0.5, "{long} ms");
}

/// What saturates LTE and NR carries over both as much as over each of them, and a transfer nearly so.
#[test]
#[ignore = "slow"]
fn a_split_bearer_has_the_rates_of_both_legs() {
    for dir in Dir::BOTH {
        let over = |cells: &str, ue: &str, app: &str| {
            let flow = format!("[[flow]]\nue = \"phone\"\ndirection = \"{}\"\n{app}", dir.name());
            let run = run(&text("4 s", cells, ue, &flow));
            let arrived = &run.arrived[dir.index()];
            assert!(is_in_order(arrived));
            arrived.iter().filter(|(at, _)| *at >= 2000.0).count() as f64 * 1500.0 * 8.0 / 2.0 / 1e6
        };
        let full = "app.cbr = { size = \"1500 B\", rate = \"150 Mbit/s\" }";
        let steady = "uplink.reception = { mean_sinr = \"40 dB\", fading.none = {} }";
        let (four, five) = (lte(""), nr("nr", steady));
        let sum = over(&four, "attach = [\"lte\"]", full) + over(&five, "attach = [\"nr\"]", full);
        let (cells, ue) = (four + &five, "attach = [\"nr\", \"lte\"]\nsplit.uplink.threshold = \"0 B\"");
        let (both, transfer) = (over(&cells, ue, full), over(&cells, ue, "app.bulk = {}"));
        assert!((0.95 * sum..1.02 * sum).contains(&both), "{dir:?} {both} Mbit/s of {sum}");
        assert!(transfer > 0.85 * sum, "{dir:?} {transfer} Mbit/s of {sum}");
    }
}

/// Legs of 50 and 10 Mbit/s. In turn the slower one sets the pace: 20 Mbit/s, and its queue is everybody's delay. With flow
/// control the download gets nearly 60, and no leg holds much more than its target of 10 ms.
#[test]
#[ignore = "slow"]
fn without_flow_control_the_slower_leg_sets_pace_and_delay() {
    let over = |split: &str| {
        let cells = constant("a", 50, 5, "") + &constant("b", 10, 5, XN);
        let flow = "[[flow]]\nue = \"phone\"\napp.bulk = {}";
        let ue = format!("attach = [\"a\", \"b\"]\nsplit.downlink = {split}");
        let run = run(&text("6 s", &cells, &ue, flow));
        let packets = run.arrived[0].iter().filter(|(at, _)| *at >= 2000.0).count() as f64;
        let held = run.delivered[0].iter().map(|(_, held)| *held).fold(0.0, f64::max);
        (packets * 1500.0 * 8.0 / 4.0 / 1e6, held, run)
    };
    let (turns, held_turns, of_turns) = over("{ flow_control = false }");
    let (controlled, held, of_control) = over("{ queue.droptail.bytes = \"500 kB\" }");
    assert!(turns < 21.0, "{turns} Mbit/s");
    assert!(controlled > 0.95 * 60.0, "{controlled} Mbit/s: {}", of_control.bearer);
    assert!(held < 30.0 && held_turns > 3.0 * held, "{held} ms, in turn {held_turns} ms");
    assert!(is_in_order(&of_turns.arrived[0]) && is_in_order(&of_control.arrived[0]));
}

/// Releases of `cell` from 0.6, 1.1 and 1.6 s on, and so many milliseconds later.
fn releases(cell: &str, later_ms: u64) -> String {
    let release = |at: u64| {
        format!(
            "[[handover]]\nue = \"phone\"\nfrom = \"{cell}\"\nat = \"{} ms\"\noutage = \"167 ms\"\nwarning = \"0 s\"\n\
             bearers = \"release\"\n",
            at + later_ms
        )
    };
    [600, 1100, 1600].map(release).concat()
}

/// Done when 3 of the issue: a download over LTE and NR with a leg lost and added thrice, and an upload.
#[test]
#[ignore = "slow"]
fn a_leg_lost_thrice_loses_nothing_and_keeps_the_order() {
    for (cell, dir) in [("nr", "downlink"), ("lte", "downlink"), ("nr", "uplink"), ("lte", "uplink")] {
        let flow = format!(
            "[[flow]]\nue = \"phone\"\ndirection = \"{dir}\"\napp.file.size = \"{}\"\n",
            if dir == "uplink" { "3 MB" } else { "20 MB" }
        );
        let harq = "downlink.harq.bler = [0.1, 0.01]";
        let ue = "attach = [\"nr\", \"lte\"]\nsplit.uplink.threshold = \"0 B\"";
        let cells = lte("") + &nr("nr", harq);
        let run = run(&text("20 s", &cells, ue, &(flow + &releases(cell, 0))));
        let own = &run.bearer[dir];
        let recovered: u64 = (0..2).filter_map(|leg| own["legs"][leg]["recovered_pdus"].as_u64()).sum();
        let returned: u64 = (0..2).filter_map(|leg| own["legs"][leg]["returned_pdus"].as_u64()).sum();
        assert!(run.flows[0].received_s.is_some(), "{cell} {dir}: {}", run.results);
        assert_eq!(run.flows[0].sender.retransmissions.total, 0, "{cell} {dir}");
        assert_eq!(run.dropped, [], "{cell} {dir}");
        assert!(is_in_order(&run.arrived[0]) && is_in_order(&run.arrived[1]), "{cell} {dir}");
        assert!(recovered > 0 && recovered <= returned, "{cell} {dir}: {recovered} of {returned}");
        assert_eq!(own["pdcp"]["reordering_timeouts"], 0, "{cell} {dir}");
    }
}

/// The same where both cells fade, so that the other leg takes up to 200 ms for what the released one had: at any instant
/// of a slot or a report.
#[test]
#[ignore = "slow"]
fn fading_legs_lose_nothing_either_if_t_reordering_is_long_enough() {
    for seed in 1..=5_u64 {
        for (cell, dir) in [("nr", "downlink"), ("lte", "downlink"), ("nr", "uplink"), ("lte", "uplink")] {
            let size = if dir == "uplink" { "3 MB" } else { "12 MB" };
            let flow =
                format!("[[flow]]\nue = \"phone\"\ndirection = \"{dir}\"\napp.file.size = \"{size}\"\n");
            let later = releases(cell, 37 * seed);
            let fading = "downlink.reception.mean_sinr = \"20 dB\"";
            let cells = (lte("") + &nr("nr", "")).lines().fold(String::new(), |cells, line| {
                let line = if line.starts_with("downlink.reception") { fading } else { line };
                cells + line + "\n"
            });
            let ue = "attach = [\"nr\", \"lte\"]\n\
                      split = { pdcp.t_reordering = \"200 ms\", uplink.threshold = \"0 B\" }";
            let run = run_with(&text("20 s", &cells, ue, &(flow + &later)), seed);
            let place = format!("{cell} {dir}, seed {seed}");
            assert!(run.flows[0].received_s.is_some(), "{place}: {}", run.results);
            assert_eq!((run.dropped, run.flows[0].sender.retransmissions.total), (Vec::new(), 0), "{place}");
            assert!(is_in_order(&run.arrived[0]) && is_in_order(&run.arrived[1]), "{place}");
            let legs = &run.bearer[dir]["legs"];
            let recovered = (0..2).filter_map(|leg| legs[leg]["recovered_pdus"].as_u64()).sum::<u64>();
            assert!(recovered > 0, "{place}: {}", run.bearer);
        }
    }
}

/// With the leg a second at rest nothing goes over it, and the other leg carries all.
#[test]
fn a_released_leg_carries_nothing() {
    let flow = "[[flow]]\nue = \"phone\"\napp.cbr = { size = \"1000 B\", rate = \"8 Mbit/s\" }\n";
    let release = "[[handover]]\nue = \"phone\"\nfrom = \"nr\"\nat = \"1 s\"\noutage = \"1 s\"\nwarning = \"0 s\"\n\
                   bearers = \"release\"\n";
    let cells = lte("") + &nr("nr", "");
    let run =
        run(&text("3 s", &cells, "attach = [\"nr\", \"lte\"]\nsplit = {}", &format!("{flow}{release}")));
    // The network's entry at 10 ms.
    let leg_at = |ms: f64| run.delivered[0][ms as usize].0;
    assert_eq!([500.0, 1100.0, 1900.0, 2500.0].map(leg_at), [0, 1, 1, 0]);
    assert!(run.dropped.is_empty());
}

/// A leg changes from one NR cell to another: what the old one has goes over LTE or to the new one, and nothing is lost.
#[test]
#[ignore = "slow"]
fn a_leg_may_change_its_cell() {
    let flow = "[[flow]]\nue = \"phone\"\napp.file.size = \"20 MB\"\n";
    for further in ["", "path_switch = \"20 ms\"", "forward = true"] {
        let change = format!(
            "[[handover]]\nue = \"phone\"\nfrom = \"nr\"\nto = \"second\"\nat = \"1 s\"\noutage = \"60 ms\"\nwarning = \"0 s\"\n{further}\n"
        );
        let cells = lte("") + &nr("nr", "") + &nr("second", "");
        let ue = "attach = [\"nr\", \"lte\"]\nsplit = {}";
        let run = run(&text("20 s", &cells, ue, &format!("{flow}{change}")));
        assert!(run.flows[0].received_s.is_some(), "{further}: {}", run.results);
        assert_eq!((run.dropped.len(), run.flows[0].sender.retransmissions.total), (0, 0), "{further}");
        assert!(is_in_order(&run.arrived[0]), "{further}");
    }
}

/// Delay is the least of both legs, and loss the product: 10 % and 20 % make 2 %.
#[test]
fn duplication_has_the_least_delay_and_the_product_of_losses() {
    let lossy = |share: &str, wired: &str| {
        format!("{wired}\nmiddlebox = [{{ packet_loss.downlink.loss = \"{share}\" }}]")
    };
    let cells = constant("a", 100, 5, &lossy("10 %", "")) + &constant("b", 100, 5, &lossy("20 %", XN));
    let ue =
        "attach = [\"a\", \"b\"]\nsplit = { downlink.duplication = true, pdcp.t_reordering = \"20 ms\" }";
    let flow =
        "[[flow]]\nue = \"phone\"\napp.cbr = { size = \"1250 B\", rate = \"10 Mbit/s\", packets = 20000 }";
    let run = run(&text("30 s", &cells, ue, flow));
    let lost = 1.0 - run.arrived[0].len() as f64 / 20_000.0;
    // Three standard deviations of a share of 2 % of 20,000.
    assert!((lost - 0.02).abs() < 0.003, "{lost}");
    let first = run.delivered[0].iter().filter(|(leg, _)| *leg == 0).count() as f64;
    assert!((first / 20_000.0 - 0.9).abs() < 0.0065, "{first}");
    assert_eq!(run.bearer["downlink"]["late_sdus"], 0);
    let twice = run.bearer["downlink"]["duplicate_pdus"].as_u64().unwrap() as f64;
    assert!((twice / 20_000.0 - 0.72).abs() < 0.01, "{twice}");
    assert!(is_in_order(&run.arrived[0]));
    // Over the first leg alone 15.1 ms, over the second 20.1 ms; those behind a gap wait for it.
    let direct = run.delivered[0].iter().filter(|(leg, held)| *leg == 0 && *held == 0.0).count();
    assert!(direct as f64 > 0.3 * 20_000.0, "{direct}");
}

/// Below ul-DataSplitThreshold the primary leg has all; above it both work. Without a threshold the primary leg always has.
#[test]
fn the_uplink_uses_both_legs_from_its_threshold_on() {
    let legs = |split: &str, burst: u32| {
        let cells = constant("a", 10, 5, "") + &constant("b", 10, 5, "");
        let flow = format!(
            "[[flow]]\nue = \"phone\"\ndirection = \"uplink\"\n\
             app.cbr = {{ size = \"1000 B\", rate = \"10 Gbit/s\", packets = {burst} }}"
        );
        let run = run(&text("2 s", &cells, &format!("attach = [\"a\", \"b\"]\n{split}"), &flow));
        assert!(is_in_order(&run.arrived[1]));
        assert_eq!(run.arrived[1].len(), burst as usize);
        [0, 1].map(|leg| run.bearer["uplink"]["legs"][leg]["pdus"].as_u64().unwrap())
    };
    assert_eq!(legs("split = {}", 200), [200, 0]);
    assert_eq!(legs("split.primary = \"b\"", 200), [0, 200]);
    assert_eq!(legs("split.uplink.threshold = \"50 kB\"", 40), [40, 0]);
    // Both send until fewer than 50 kB wait; each has 15 to 18.75 kB of these, what it sends in 12 to 15 ms, and the rest goes to
    // the primary one: at least 50 kB - 2 * 18.75 kB, and at most 50 kB and 12.5 kB of the last 5 ms - 2 * 15 kB.
    let counts = legs("split.uplink.threshold = \"50 kB\"", 200);
    assert!(counts[0] + counts[1] == 200 && (12..=33).contains(&(counts[0] - counts[1])), "{counts:?}");
    // Always the leg with the shorter queue: they differ by what one sends in 5 ms at most.
    let equal = legs("split.uplink.threshold = \"0 B\"", 200);
    assert!(equal[0] + equal[1] == 200 && equal[0].abs_diff(equal[1]) <= 6, "{equal:?}");
}

/// What waits longer than discardTimer is discarded before it has a COUNT, and leaves no gap.
#[test]
fn discard_timer_leaves_no_gap() {
    let cells = constant("a", 1, 5, "") + &constant("b", 1, 5, "");
    let ue = "attach = [\"a\", \"b\"]\nsplit.pdcp = { discard_timer = \"100 ms\", t_reordering = \"1 s\" }";
    let flow =
        "[[flow]]\nue = \"phone\"\napp.cbr = { size = \"1000 B\", rate = \"8 Mbit/s\", packets = 500 }";
    let run = run(&text("3 s", &cells, ue, flow));
    let discarded = run.bearer["downlink"]["sdus_discarded"].as_u64().unwrap();
    assert!(discarded > 200 && run.dropped.iter().all(|reason| *reason == Reason::SduDiscarded));
    assert_eq!(run.arrived[0].len() as u64 + discarded, 500);
    assert_eq!(run.bearer["downlink"]["pdcp"]["reordering_timeouts"], 0);
}

#[test]
fn another_ue_is_not_touched() {
    let flows = "[[ue]]\nname = \"other\"\nattach = [\"b\"]\n[[flow]]\nue = \"other\"\napp.cbr = { size = \"1000 B\", rate = \"4 Mbit/s\", packets = 300 }\n";
    let with = run(&unequal("split = {}", flows));
    let cells = constant("a", 20, 5, "") + &constant("b", 20, 5, "wired = { delay = \"30 ms\" }");
    let without = run(&text("2 s", &cells, "attach = [\"a\", \"b\"]", flows));
    assert_eq!(with.arrived[0].len(), 300);
    let times = |run: &Run| run.arrived[0].iter().map(|(at, _)| *at).collect::<Vec<_>>();
    assert_eq!(times(&with), times(&without));
}

#[test]
fn errors_name_the_key() {
    let error = |text: &str| Scenario::parse(text, &[]).unwrap_err().to_string();
    let split = |ue: &str, rest: &str| {
        let cells = lte("") + &nr("nr", "");
        error(&text("1 s", &cells, ue, &format!("[[flow]]\nue = \"phone\"\napp.bulk = {{}}\n{rest}")))
    };
    let starts = |found: String, expected: &str| assert!(found.starts_with(expected), "{found}");
    starts(
        split("attach = [\"nr\"]\nsplit = {}", ""),
        "ue[0].attach: a split bearer has two legs, and 1 of these is a cell",
    );
    starts(split("attach = [\"nr\", \"core\"]\nsplit = {}", ""), "ue[0].attach: ");
    starts(
        split("attach = [\"nr\", \"nr\"]\nsplit = {}", ""),
        "ue[0].attach: a split bearer has two legs, in two cells",
    );
    starts(
        split("attach = [\"nr\", \"lte\"]\nsplit.primary = \"wifi\"", ""),
        "ue[0].split.primary: the UE is not attached to \"wifi\"; write \"nr\" or \"lte\"",
    );
    starts(split("attach = [\"nr\", \"lte\"]\nsplit.pdcp.sn = 7", ""), "ue[0].split.pdcp.sn: ");
    starts(
        split("attach = [\"nr\", \"lte\"]\nsplit.downlink.queue.droptail.bytes = \"1 kB\"", ""),
        "ue[0].split.downlink.queue.droptail.bytes: a buffer of 1 kB has no room for a packet of 1500 B",
    );
    let release = "[[handover]]\nue = \"phone\"\nat = \"1 s\"\nbearers = \"release\"";
    starts(split("attach = [\"nr\", \"lte\"]", release), "handover[0].bearers: \"release\" is for a leg");
    let alone = "duration = \"1 s\"\n[[flow]]\napp.bulk = {}\n[[handover]]\nbearers = \"release\"\n";
    starts(error(alone), "handover[0].bearers: \"release\" is for a leg");
    let apart = nr("nr", "") + &lte("").replace("behind = \"core\"", "");
    starts(
        error(&text(
            "1 s",
            &apart,
            "attach = [\"nr\", \"lte\"]\nsplit = {}",
            "[[flow]]\nue = \"phone\"\napp.bulk = {}",
        )),
        "ue[0].attach: its cells are not behind the same way",
    );
    let dch = nr("nr", "") + "[[cell]]\nname = \"lte\"\nbehind = \"core\"\nradio = \"dch\"\n";
    starts(
        error(&text(
            "1 s",
            &dch,
            "attach = [\"nr\", \"lte\"]\nsplit = {}",
            "[[flow]]\nue = \"phone\"\napp.bulk = {}",
        )),
        "cell[1].radio: radio.dch has no leg of a split bearer",
    );
}

/// What is lost between PDCP and the cell does not fill the leg for good: 1 % of the packets of a leg are lost, and after some
/// thousands of them it has its share of 36 Mbit/s, of which each leg carries 16 to 20: 44 to 56 %.
#[test]
fn losses_in_front_of_a_cell_do_not_close_the_leg() {
    let cells =
        constant("a", 20, 5, "middlebox = [{ packet_loss = { at = \"network\", downlink.loss = \"1 %\" } }]")
            + &constant("b", 20, 5, "");
    let ue = "attach = [\"a\", \"b\"]\nsplit.pdcp.t_reordering = \"20 ms\"";
    let flow = "[[flow]]\nue = \"phone\"\napp.cbr = { size = \"1500 B\", rate = \"36 Mbit/s\" }";
    let run = run(&text("10 s", &cells, ue, flow));
    let lost = run.dropped.iter().filter(|reason| **reason == Reason::LinkLoss).count();
    let last = run.delivered[0].iter().rev().take(1000);
    let share = last.filter(|(leg, _)| *leg == 0).count();
    assert!(lost > 100 && (435..=560).contains(&share), "{lost} {share}");
}

/// PDCP of NR takes packets of 9000 B at most, whatever the legs take.
#[test]
fn a_larger_packet_is_refused_without_a_gap() {
    let sized = |size: u32| {
        let flow = format!(
            "[[flow]]\nue = \"phone\"\napp.cbr = {{ size = \"{size} B\", rate = \"4 Mbit/s\", packets = 10 }}"
        );
        run(&unequal("split = {}", &flow))
    };
    assert_eq!(sized(9000).arrived[0].len(), 10);
    assert_eq!(sized(9001).dropped, [Reason::SduDiscarded; 10]);
}

/// PDCP of LTE is not below that of NR: a leg has none, whatever the cell's other bearers have.
#[test]
fn a_leg_of_lte_has_no_pdcp_of_its_own() {
    let flow = "[[flow]]\nue = \"phone\"\napp.file.size = \"2 MB\"\n";
    let over = |further: &str, ue: &str| run(&text("4 s", &(lte(further) + &nr("nr", "")), ue, flow)).results;
    let (with, without) = ("downlink.rlc.am_lte.pdcp_sn_size = 12\nuplink.rlc.am_lte.pdcp_sn_size = 12", "");
    let split = "attach = [\"nr\", \"lte\"]\nsplit = {}";
    assert_eq!(over(with, split), over(without, split));
    assert_ne!(over(with, "attach = [\"lte\"]"), over(without, "attach = [\"lte\"]"));
}

/// Same scenario, same seed, same bytes.
#[test]
fn a_run_repeats() {
    let flow = "[[flow]]\nue = \"phone\"\napp.file.size = \"2 MB\"\n";
    let cells = lte("") + &nr("nr", "downlink.harq.bler = [0.1, 0.01]");
    let scenario = text(
        "4 s",
        &cells,
        "attach = [\"nr\", \"lte\"]\nsplit = {}",
        &(flow.to_owned() + &releases("nr", 0)),
    );
    assert_eq!(run(&scenario).results, run(&scenario).results);
}
