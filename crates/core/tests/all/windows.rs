//! A run in regions gives the results of the run in one piece, to the byte: for windows of any length, regions of any
//! size, any number of threads, and when it is observed in between.

use airpath_core::rng;
use airpath_core::scenario::{BUNDLED, Scenario};
use airpath_core::sim::{Observe, Simulation, cut};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, Kind, ProbeMask};
use airpath_core::windows::{Cut, Grain, Here, Threads, Workers};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Draws one of these.
struct Draw(rng::Stream);

impl Draw {
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[(self.0.next_u64() % of.len() as u64) as usize]
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }
}

/// Flows that a scenario has, which begin together or not.
fn flows(draw: &mut Draw) -> String {
    let stagger = draw.one(&["0 s", "0 s", "12 ms", "10 ms", "37 ms"]);
    let mut text = format!("[[flow]]\nue = \"each\"\nstagger = \"{stagger}\"\napp.bulk = {{}}\n");
    let more = [
        "",
        "[[flow]]\nue = \"each\"\ndirection = \"uplink\"\napp.bulk = {}\n",
        "[[flow]]\nue = \"each\"\napp.ping = {}\n",
        "[[flow]]\nue = 1\napp.web = {}\n",
        "[[flow]]\nue = 1\napp.web = { http = \"2\" }\n[[flow]]\nue = 0\napp.web = { http = \"3\" }\n",
        "[[flow]]\nue = \"each\"\napp.call = {}\n",
        "[[flow]]\nue = 1\napp.adaptive_video = {}\n",
        "[[flow]]\nue = 0\napp.arrivals = {}\n",
        "[[flow]]\nue = \"each\"\napp.cbr = {}\n",
        "[[flow]]\nue = 0\napp.file.size = \"30 kB\"\n[[flow]]\nue = 1\ndirection = \"uplink\"\napp.file.size = \"20 kB\"\n",
    ];
    text += draw.one(&more);
    text
}

fn tcp(draw: &mut Draw) -> &'static str {
    draw.one(&[
        "",
        "tcp.profile = \"linux\"\n",
        "tcp = { profile = \"linux\", cc = \"bbr\" }\n",
        "tcp.ack_every = 1\n",
    ])
}

/// A link with a delay. Its times and those of bearers are multiples of each other, so that much happens at once.
fn link(draw: &mut Draw) -> String {
    let delay = draw.one(&["1 ms", "10 ms", "30 ms", "75 ms"]);
    let rate = draw.one(&[
        "",
        "rate = \"4 Mbit/s\", ",
        "rate = \"1 Mbit/s\", queue.droptail.packets = 9, ",
        "rate = \"100 Mbit/s\", ",
    ]);
    let queue = if rate.contains("4 M") {
        draw.one(&["", "queue.droptail = { packets = 12, in_service = \"excluded\" }, "])
    } else {
        ""
    };
    let loss = draw.one(&["", "loss = \"1 %\", "]);
    let uplink = draw
        .one(&["", ", uplink = { rate = \"500 kbit/s\", delay = \"20 ms\", queue.droptail.packets = 20 }"]);
    format!("{{ {rate}{queue}{loss}delay = \"{delay}\"{uplink} }}")
}

fn dedicated(draw: &mut Draw, ues: u64) -> String {
    let rlc =
        draw.one(&["", "rlc.none = {}\n", "rlc.none = {}\n", "rlc.am = {}\n", "rlc.fixed_delay_arq = {}\n"]);
    let mut text = format!("ues = {ues}\n");
    for way in ["downlink", "uplink"] {
        let delay = draw.one(&["0 s", "10 ms", "60 ms"]);
        let rate = if way == "uplink" {
            draw.one(&["64 kbit/s", "384 kbit/s"])
        } else {
            draw.one(&["384 kbit/s", "2 Mbit/s"])
        };
        let channel = draw.one(&["", "channel.bernoulli.bler = \"5 %\"\n"]);
        let channel = if rlc.contains("am") { channel } else { "" };
        let queue = draw.one(&["queue.droptail.packets = 20\n", "queue.droptail.packets = 5\n"]);
        let _ = writeln!(
            text,
            "[radio.dch.{way}]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n{rlc}{channel}{queue}"
        );
    }
    text
}

/// A cell with a queue and maybe boxes of its own.
fn cell(draw: &mut Draw, name: &str, behind: &str) -> String {
    let kind = draw.one(&["dch", "lte", "hsdpa", "nr", "variable", "evdo"]);
    let rest = draw.one(&["", "", "[[cell.middlebox]]\ntap = {}\n", "[[cell.middlebox]]\nsnoop = {}\n"]);
    let link = if draw.below(3) == 0 { format!("wired = {}\n", link(draw)) } else { String::new() };
    format!("[[cell]]\nname = \"{name}\"\n{behind}{link}[cell.radio.{kind}]\n{rest}")
}

fn cells(draw: &mut Draw, behind: bool) -> String {
    let count = 2 + draw.below(3);
    let mut text = String::new();
    if behind {
        let _ = writeln!(text, "[[way]]\nname = \"w\"\nwired = {}", link(draw));
    }
    let names: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
    for name in &names {
        text += &cell(draw, name, if behind { "behind = \"w\"\n" } else { "" });
    }
    for number in 0..count + draw.below(5) {
        // In an order that mixes the cells.
        let at = if number < count { number } else { draw.below(count) };
        let _ = writeln!(text, "[[ue]]\nname = \"u{number}\"\nattach = [\"c{at}\"]");
    }
    text
}

/// Words of errors of values that do not go together.
const BESIDE: [&str; 4] = ["downlink", "uplink", "http", "connections"];

fn random(draw: &mut Draw) -> Option<Scenario> {
    let seconds = 2 + draw.below(3);
    let (tcp, flows) = (tcp(draw), flows(draw));
    let head = format!("duration = \"{seconds} s\"\n{tcp}");
    let text = match draw.below(3) {
        0 => {
            let ues = 2 + draw.below(12);
            format!("{head}wired = {}\n[radio.dch]\n{}{flows}", link(draw), dedicated(draw, ues))
        }
        part => format!("{head}{}{flows}", cells(draw, part == 1)),
    };
    match Scenario::parse(&text, &[]) {
        Ok(scenario) => Some(scenario),
        // Not all of this goes together.
        Err(error) if BESIDE.iter().any(|word| error.to_string().contains(word)) => None,
        Err(error) => panic!("{error}\n{text}"),
    }
}

/// The results of a run that pauses at these times.
fn results(mut run: Simulation, pauses: &[Instant]) -> String {
    for at in pauses {
        run.advance_to(*at);
    }
    run.run();
    run.results().to_json()
}

/// Where two texts differ.
fn difference(one: &str, other: &str) -> String {
    let lines = one.lines().zip(other.lines()).enumerate().filter(|(_, (one, other))| one != other);
    lines.take(6).map(|(number, (left, right))| format!("{number}: {left} | {right}\n")).collect()
}

fn assert_same(scenario: &Scenario, cut: &Cut, draw: &mut Draw, name: &str) {
    let end = scenario.duration.as_nanos();
    let count = draw.below(3);
    let mut pauses: Vec<_> = (0..count).map(|_| Instant::from_nanos(draw.below(end))).collect();
    pauses.sort_unstable();
    let expected = results(Simulation::in_one_piece(scenario, 1, Observe::default()), &pauses);
    for chunks in [1, 2, 3] {
        let window = Duration::from_millis(draw.one(&[1, 12, 41, 1_000_000]));
        let grain = Grain { window, ues: draw.one(&[1, 2, 3, 7, 100]), chunks };
        let workers: Box<dyn Workers> =
            if draw.below(2) == 0 { Box::new(Here) } else { Box::new(Threads::new(chunks).unwrap()) };
        let run = Simulation::in_regions(scenario, 1, cut, grain, workers);
        let found = results(run, &pauses);
        assert!(
            found == expected,
            "{name}, {grain:?}, pauses {pauses:?}:\n{}\n{}",
            difference(&expected, &found),
            scenario.to_toml().unwrap()
        );
    }
}

fn random_runs(first: u64, count: u64) -> [u64; 4] {
    let mut kinds = [0; 4];
    for seed in first..first + count {
        let mut draw = Draw(rng::stream(seed, "windows"));
        let Some(scenario) = random(&mut draw) else { continue };
        let Ok(cut) = Cut::of(&scenario) else {
            kinds[3] += 1;
            continue;
        };
        kinds[match &cut {
            Cut::Ues(_) => 0,
            Cut::Behind(_) => 1,
            Cut::Apart => 2,
        }] += 1;
        assert_same(&scenario, &cut, &mut draw, &format!("seed {seed}"));
    }
    kinds
}

#[test]
#[ignore = "slow"]
fn random_scenarios_give_the_same_results_in_regions() {
    let kinds = random_runs(0, 24);
    assert!(kinds[..3].iter().all(|count| *count > 0), "of each kind of cut: {kinds:?}");
}

#[test]
#[ignore = "slow"]
fn a_thousand_random_scenarios_give_the_same_results_in_regions_at_length() {
    let kinds = random_runs(1_000, 1_000);
    assert!(kinds[..3].iter().all(|count| *count > 100), "of each kind of cut: {kinds:?}");
}

const LINE: &str =
    "duration = \"2 s\"\nwired = { rate = \"10 Mbit/s\", delay = \"20 ms\" }\n[radio.dch]\nues = 300\n";

#[test]
fn where_there_is_no_cut_the_reason_is_told() {
    let bulk = "[[flow]]\nue = \"each\"\napp.bulk = {}\n";
    let reason = |text: &str, threads| {
        let scenario = Scenario::parse(text, &[]).unwrap();
        cut(&scenario, Observe::default(), threads).err().unwrap_or_default()
    };
    assert_eq!(reason(&format!("{LINE}{bulk}"), 2), "");
    assert_eq!(reason(&format!("{LINE}{bulk}"), 1), "");
    let few = reason(&format!("{}{bulk}", LINE.replace("300", "100")), 1);
    assert_eq!(few, "regions help one thread only with 128 or more UEs of radio.dch");
    let told = [
        (format!("{LINE}[[middlebox]]\npacket_loss = {{}}\n{bulk}"), "middlebox.packet_loss"),
        (LINE.replace("delay = \"20 ms\"", "delay = \"0 s\"") + bulk, "no delay"),
        (LINE.replace("delay = ", "queue.codel = {}, delay = ") + bulk, "wired.queue"),
        (format!("{LINE}[[handover]]\nat = \"1 s\"\n{bulk}"), "hand-overs"),
        (format!("{LINE}[[change]]\nat = \"1 s\"\nset = {{ wired.loss = \"1 %\" }}\n{bulk}"), "[[change]]"),
        (format!("{LINE}{}", bulk.replace("bulk = {}", "file.size = \"1 kB\"")), "finite"),
        (LINE.replace("dch", "lte").replace("300", "8") + bulk, "radio.lte"),
    ];
    for (text, part) in told {
        let reason = reason(&text, 2);
        assert!(reason.contains(part), "{reason:?} has no {part:?}");
    }
}

#[test]
fn one_thread_runs_many_ues_in_regions_with_the_same_results() {
    let text = format!("{LINE}[[flow]]\nue = \"each\"\nstagger = \"1 ms\"\napp.bulk = {{}}\n");
    let scenario = Scenario::parse(&text, &[]).unwrap();
    let whole = Simulation::in_one_piece(&scenario, 1, Observe::default());
    let mut regions = Simulation::new(&scenario, 1, Observe::default());
    assert_eq!(results(whole, &[]), {
        regions.run();
        regions.results().to_json()
    });
    // In regions the number is an upper bound.
    let mut again = Simulation::in_one_piece(&scenario, 1, Observe::default());
    again.run();
    assert!(regions.created() > again.created(), "{} {}", regions.created(), again.created());
}

/// A link that drops most of what comes, and a step in which little happens: no packet may stay behind.
#[test]
fn many_short_steps_hold_no_more_packets_than_one_long_one() {
    let wired = "{ delay = \"100 ms\", uplink = { rate = \"100 kbit/s\", delay = \"100 ms\", queue.droptail.packets = 2 } }";
    let text = LINE
        .replace("300", "130")
        .replace("{ rate = \"10 Mbit/s\", delay = \"20 ms\" }", wired)
        .replace("2 s", "20 s")
        + "[[flow]]\nue = \"each\"\ndirection = \"uplink\"\napp.cbr = {}\n";
    let scenario = Scenario::parse(&text, &[]).unwrap();
    let held = |step: u64| {
        let mut run = Simulation::new(&scenario, 1, Observe::default());
        let mut at = 0;
        while !run.advance_to(Instant::from_nanos(at * 1_000_000)) {
            at += step;
        }
        run.created()
    };
    let (once, often) = (held(20_000), held(50));
    assert!(often <= once + once / 10, "{often} packets with short steps, {once} with one");
}

#[test]
fn a_run_may_have_as_many_ues_as_a_scenario_may_name() {
    let text = LINE.replace("300", "65535").replace("2 s", "1 ms") + "[[flow]]\napp.file.size = \"1 kB\"\n";
    let scenario = Scenario::parse(&text, &[]).unwrap();
    let mut run = Simulation::new(&scenario, 1, Observe::default());
    run.run();
    assert_eq!(run.flows().len(), 1);
}

#[test]
fn events_number_the_bearers_of_all_ues() {
    let flow = "[[flow]]\nue = 65534\napp.file.size = \"1 kB\"\n";
    let scenario = Scenario::parse(&(LINE.replace("300", "65535") + flow), &[]).unwrap();
    let probes = ProbeMask::NONE.with(Kind::BearerEnqueued);
    let mut run = Simulation::new(&scenario, 1, Observe { probes, ..Observe::default() });
    run.run();
    let bearers: BTreeSet<_> = run
        .take_trace()
        .into_iter()
        .filter_map(|(_, event)| match event {
            Event::BearerEnqueued { ue: 65534, bearer, .. } => Some(bearer),
            _ => None,
        })
        .collect();
    // Two of each UE, the downlink first.
    assert_eq!(bearers, BTreeSet::from([131_068, 131_069]));
}

/// Leaves out what is for a number of UEs: the values of the first one are those of all.
fn for_any_ues(value: &mut toml::Value) {
    let Some(table) = value.as_table_mut() else { return };
    table.retain(|key, _| !["ues", "qos", "activity"].contains(&key));
    for (key, inner) in table.iter_mut() {
        let list = inner.as_array().filter(|_| key.as_str() == "mean_sinr");
        match list.and_then(|each| each.first()).cloned() {
            Some(first) => *inner = first,
            None => for_any_ues(inner),
        }
    }
}

/// The cell of a bundled scenario twice, behind its link or with a link for each: with UEs that download, and a UE
/// that is in both cells.
fn doubled(bundled: &toml::Table, is_behind: bool) -> String {
    let mut radio = bundled["radio"].as_table().cloned().unwrap();
    radio.iter_mut().for_each(|(_, kind)| for_any_ues(kind));
    let wired = bundled.get("wired").cloned();
    let mut head = toml::Table::new();
    // Fast ones have many packets sooner.
    head.insert("duration".into(), if radio.contains_key("nr") { "100 ms" } else { "1 s" }.into());
    head.extend(bundled.get("tcp").map(|tcp| ("tcp".into(), tcp.clone())));
    let mut text = head.to_string();
    if is_behind {
        let way = wired.clone().map(|wired| ("wired".into(), wired));
        text += &format!(
            "[[way]]\nname = \"w\"\n{}",
            toml::Table::from_iter(way).to_string().replace("[wired", "[way.wired")
        );
    }
    let own = wired.filter(|_| !is_behind).map(|wired| ("wired".into(), wired));
    let cell = own.into_iter().chain([("radio".into(), radio.into())]).collect::<toml::Table>();
    let cell = cell.to_string().replace("[wired", "[cell.wired").replace("[radio", "[cell.radio");
    let behind = if is_behind { "behind = \"w\"\n" } else { "" };
    for name in ["a", "b"] {
        text += &format!("[[cell]]\nname = \"{name}\"\n{behind}{cell}");
    }
    for (name, attach) in [("first", "'a'"), ("second", "'b'"), ("both", "'b', 'a'"), ("last", "'a'")] {
        text += &format!("[[ue]]\nname = \"{name}\"\nattach = [{attach}]\n");
        text += &format!("[[flow]]\nue = \"{name}\"\napp.bulk = {{}}\n");
    }
    text + "[[flow]]\nue = \"both\"\nover = \"a\"\napp.bulk = {}\n"
}

#[test]
#[ignore = "slow"]
fn cells_of_bundled_scenarios_give_the_same_results_in_regions() {
    let mut kinds = [0; 2];
    for (name, original) in BUNDLED {
        let bundled: toml::Table = original.parse().unwrap();
        let Some(_) = bundled.get("radio") else { continue };
        let mut draw = Draw(rng::stream(1, name));
        let text = doubled(&bundled, draw.below(2) == 0);
        let scenario = Scenario::parse(&text, &[]).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        let cut = match Cut::of(&scenario) {
            Ok(cut) => cut,
            Err(reason) => {
                assert!(
                    reason.contains("delays are below") || reason.contains("no delay"),
                    "{name}: {reason}"
                );
                continue;
            }
        };
        kinds[usize::from(cut == Cut::Apart)] += 1;
        assert_same(&scenario, &cut, &mut draw, name);
    }
    assert!(kinds.iter().all(|count| *count > 10), "of each kind of cut: {kinds:?}");
}

/// Changes that let a bundled scenario with dedicated channels, or with several cells, be cut.
const CUT: [(&str, &str); 6] = [
    ("duration", "\"2 s\""),
    ("flow", "[{ ue = \"each\", stagger = \"10 ms\", app.bulk = {} }]"),
    ("middlebox", "[]"),
    ("handover", "[]"),
    ("change", "[]"),
    ("radio.dch.ues", "5"),
];

#[test]
#[ignore = "slow"]
fn bundled_scenarios_give_the_same_results_in_regions() {
    let mut kinds = [0; 2];
    for (name, text) in BUNDLED {
        let is_graph = text.contains("[[cell]]");
        if !is_graph && !text.contains("[radio.dch.") {
            continue;
        }
        let changes =
            CUT.iter().filter(|(key, _)| !is_graph || !["radio.dch.ues", "middlebox"].contains(key));
        let changes: Vec<_> = changes.map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let scenario = Scenario::parse(text, &changes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let cut = match Cut::of(&scenario) {
            Ok(cut) => cut,
            Err(reason) => {
                let known = ["[umts]", "hand-overs", "[[ue]] with split", "a flow over several paths"];
                assert!(known.iter().any(|known| reason.starts_with(known)), "{name}: {reason}");
                continue;
            }
        };
        kinds[usize::from(is_graph)] += 1;
        assert_same(&scenario, &cut, &mut Draw(rng::stream(1, name)), name);
    }
    assert!(kinds[0] > 10 && kinds[1] > 0, "{kinds:?}");
}
