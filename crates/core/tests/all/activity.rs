//! DRX and RRC states of silent UEs, in each kind of cell, against hand computation.

use crate::shared::{Cell, over};
use airpath_core::packet::Dir;
use airpath_core::path::Path;
use airpath_core::radio;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Activity, Event, Kind, ProbeMask};
use serde_json::{Value, json};

fn at(ms: f64) -> Instant {
    Instant::from_nanos((ms * 1e6).round() as u64)
}

/// Delay in ms of a packet that enters the cell at this time, in ms, after a silence.
fn delay(cell: &mut Cell, dir: Dir, entry: f64, len: u32) -> f64 {
    cell.run_until(at(entry));
    cell.outputs();
    let number = cell.send(at(entry), dir, 0, len);
    cell.run_until(at(entry) + Duration::from_secs(5));
    let arrived = cell.outputs().into_iter().find(|(_, packet)| packet.seq == number).map(|(at, _)| at);
    arrived.map_or(f64::NAN, |arrived| (arrived.as_nanos() - at(entry).as_nanos()) as f64 / 1e6)
}

/// A cell of a kind, with this activity or none.
fn cell(kind: &str, activity: &Value) -> Cell {
    let nr = json!({
        "downlink": {"blocks": {"bandwidth": "5 MHz", "layers": 1}, "harq": {"bler": [0]}},
        "uplink": {"blocks": {"bandwidth": "5 MHz"}, "reception": {"mean_sinr": "60 dB", "fading": {"none": {}}}, "harq": {"bler": [0]}},
    });
    let own = if kind == "nr" { nr } else { json!({}) };
    let activity = if activity.is_null() { json!({}) } else { json!({"activity": activity}) };
    Cell::new(kind, 1, &over(own, &activity))
}

/// A cell of dedicated channels: 384 kbit/s down, 64 up, 10 ms of delay each.
fn dch(rlc: &str, activity: &Value) -> Path {
    let bearer = |rate: &str| json!({"rate": rate, "delay": "10 ms", "rlc": {rlc: {}}, "queue": {"droptail": {"packets": 100}}});
    let mut keys = json!({"downlink": bearer("384 kbit/s"), "uplink": bearer("64 kbit/s")});
    if !activity.is_null() {
        keys["activity"] = activity.clone();
    }
    let config: radio::Config = serde_json::from_value(json!({"dch": keys})).unwrap();
    config.validate().unwrap();
    Path::new(vec![config.build(&radio::Plan::of(1))], ProbeMask::NONE)
}

/// Delays in ms of packets that enter such a cell: (time in ms, direction, length).
fn dch_delays(rlc: &str, activity: &Value, packets: &[(f64, Dir, u32)]) -> Vec<f64> {
    let mut path = dch(rlc, activity);
    let mut arrived = vec![f64::NAN; packets.len()];
    let mut run_until = |cell: &mut Path, end: Instant| {
        while let Some(next) = cell.poll_timeout().filter(|next| *next <= end) {
            cell.handle_timeout(next);
        }
        while let Some((when, _, packet)) = cell.poll_output() {
            let place = packet.seq as usize;
            arrived[place] = when.as_nanos() as f64 / 1e6 - packets[place].0;
        }
    };
    for (number, (entry, dir, len)) in packets.iter().enumerate() {
        run_until(&mut path, at(*entry));
        let mut packet = path.packet();
        (packet.seq, packet.len) = (number as u32, *len);
        path.handle_packet(at(*entry), *dir, packet);
    }
    run_until(&mut path, at(120_000.0));
    arrived
}

fn carrier_1() -> Value {
    json!({
        "shared": {"after": "5 s", "rate": "32 kbit/s", "promotion": "1.5 s",
                   "threshold": {"uplink": "543 B", "downlink": "475 B"}},
        "idle": {"after": "17 s", "promotion": "2 s", "paging": "1.28 s"},
    })
}

/// Acceptance test 26 of NR: an idle UE is paged and promoted, and its own packet needs the promotion alone.
#[test]
fn nr_from_idle_waits_for_paging_and_promotion() {
    let idle = json!({"idle": {"after": "10 s", "promotion": "300 ms", "paging": "1.28 s"}});
    // Paged at 20.48 s, open at 20.78 s; a packet that enters there alone takes 2.5 ms.
    assert_eq!(delay(&mut cell("nr", &idle), Dir::Downlink, 20_000.0, 100), 480.0 + 300.0 + 2.5);
    let active = delay(&mut cell("nr", &Value::Null), Dir::Uplink, 20_300.0, 100);
    assert_eq!(delay(&mut cell("nr", &idle), Dir::Uplink, 20_000.0, 100), 300.0 + active);
    assert!((7.5..=17.5).contains(&active), "{active}");
}

/// Acceptance test 26 in LTE's numbers: after 20 s of silence a packet from the network waits for paging, U(0, 1.28 s), and
/// for the promotion of 260 ms; one from the UE for the promotion.
#[test]
fn lte_from_idle_waits_for_paging_and_promotion() {
    let idle = json!({"idle": {"after": "11.6 s", "promotion": "260 ms", "paging": "1.28 s"}});
    let mut waits = Vec::new();
    for step in 0..128_u32 {
        let entry = 20_000 + 10 * step;
        let paged = f64::from(entry.next_multiple_of(1280));
        let woken = delay(&mut cell("lte", &idle), Dir::Downlink, entry.into(), 100);
        let active = delay(&mut cell("lte", &Value::Null), Dir::Downlink, paged + 260.0, 100);
        assert_eq!(woken, paged - f64::from(entry) + 260.0 + active, "{entry}");
        // A TTI, and 3 ms to the UE.
        assert_eq!(active, 4.0);
        waits.push(woken);
    }
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!((mean - (260.0 + 635.0 + 4.0)).abs() < 1e-6, "{mean}");
    // From the UE: the promotion, and acceptance test 15.
    let active = delay(&mut cell("lte", &Value::Null), Dir::Uplink, 20_260.0, 100);
    assert_eq!(delay(&mut cell("lte", &idle), Dir::Uplink, 20_000.0, 100), 260.0 + active);
    assert!((12.0..=22.0).contains(&active), "{active}");
}

/// LTE's and HSDPA's parameters, and INACTIVE of NR.
#[test]
fn each_shared_cell_wakes_its_ue_by_the_promotion_later() {
    for (kind, state) in [("lte", "idle"), ("hsdpa", "idle"), ("nr", "idle"), ("nr", "inactive")] {
        let activity = json!({state: {"after": "10 s", "promotion": "260 ms"}});
        for dir in Dir::BOTH {
            // All grids of these cells have a point at both times.
            let active = delay(&mut cell(kind, &Value::Null), dir, 30_260.0, 100);
            let woken = delay(&mut cell(kind, &activity), dir, 30_000.0, 100);
            assert_eq!(woken, 260.0 + active, "{kind} {state} {}", dir.name());
            let before = delay(&mut cell(kind, &activity), dir, 9_900.0, 100);
            assert_eq!(
                before,
                delay(&mut cell(kind, &Value::Null), dir, 9_900.0, 100),
                "{kind}: still active"
            );
        }
    }
}

/// Acceptance test 26: with a cycle of 320 ms and 10 ms on, a downlink packet waits 0 or U(0, 310) ms, 150.2 on average.
#[test]
#[ignore = "slow"]
fn downlink_in_drx_waits_for_the_on_duration() {
    let drx = json!({"drx": {"after": "100 ms", "cycle": "320 ms", "on": "10 ms"}});
    let wait = |entry: f64, dir: Dir| {
        delay(&mut cell("lte", &drx), dir, entry, 100)
            - delay(&mut cell("lte", &Value::Null), dir, entry, 100)
    };
    let waits: Vec<f64> = (0..320).map(|step| wait(1280.0 + f64::from(step), Dir::Downlink)).collect();
    let mean = waits.iter().sum::<f64>() / 320.0;
    assert!((mean - 150.2).abs() < 1.0, "{mean}");
    assert_eq!(waits.iter().filter(|ms| **ms == 0.0).count(), 10);
    assert!(waits.iter().all(|ms| (0.0..=310.0).contains(ms)));
    assert_eq!(wait(1400.0, Dir::Uplink), 0.0, "the UE wakes itself");
}

/// Acceptance test 26: over gaps of 1 to 9 s a DRX cycle of 40 ms spreads the delays by itself, 90th percentile to 10th.
#[test]
#[ignore = "slow"]
fn drx_of_a_standalone_cell_spreads_delays_by_its_cycle() {
    let drx = json!({"drx": {"after": "100 ms", "cycle": "40 ms", "on": "1 ms"}});
    let mut delays: Vec<f64> = (0..400)
        .map(|step| delay(&mut cell("nr", &drx), Dir::Downlink, 1000.0 + 20.37 * f64::from(step), 100))
        .collect();
    delays.sort_by(f64::total_cmp);
    let spread = delays[360] - delays[40];
    assert!((spread - 0.8 * 40.0).abs() < 3.0, "{spread}");
}

/// Acceptance test 27: after 8 s of silence 400 B go by CELL_FACH at 32 kbit/s, and 600 B wait 1.5 s for the DCH.
#[test]
fn cell_fach_takes_what_is_below_its_threshold() {
    let one = |len: u32, dir: Dir| dch_delays("none", &carrier_1(), &[(8_000.0, dir, len)])[0];
    assert_eq!(one(400, Dir::Downlink), 100.0 + 10.0);
    assert_eq!(one(600, Dir::Downlink), 1500.0 + 12.5 + 10.0);
    // The UE's threshold is higher, and its channel slower.
    assert_eq!(one(540, Dir::Uplink), 135.0 + 10.0);
    assert_eq!(one(600, Dir::Uplink), 1500.0 + 75.0 + 10.0);
    // Two packets that pass the threshold together.
    let two =
        dch_delays("none", &carrier_1(), &[(8_000.0, Dir::Downlink, 400), (8_010.0, Dir::Downlink, 100)]);
    assert!(two[1] > 1500.0, "{two:?}");
}

/// With RLC a PDU of 40 B goes in each TTI of 10 ms.
#[test]
fn cell_fach_with_rlc_sends_a_pdu_per_tti() {
    for rlc in ["am", "um"] {
        let [active, shared, promoted] = [(1_000.0, 400), (8_000.0, 400), (8_000.0, 600)]
            .map(|(entry, len)| dch_delays(rlc, &carrier_1(), &[(entry, Dir::Downlink, len)])[0]);
        assert!(active <= 30.0, "{rlc}: {active}");
        assert!((110.0..=130.0).contains(&shared), "{rlc}: {shared}");
        assert!((1520.0..=1550.0).contains(&promoted), "{rlc}: {promoted}");
    }
}

/// Acceptance test 27: idle UMTS needs 2 s, with paging before it for a downlink packet; the second carrier goes by CELL_FACH.
#[test]
fn idle_umts_needs_its_promotion() {
    assert_eq!(dch_delays("none", &carrier_1(), &[(30_000.0, Dir::Uplink, 40)]), [2000.0 + 5.0 + 10.0]);
    // Paging occasions are multiples of 1.28 s: 30.72 s.
    assert_eq!(
        dch_delays("none", &carrier_1(), &[(30_000.0, Dir::Downlink, 48)]),
        [720.0 + 2000.0 + 1.0 + 10.0]
    );
    let mut second = carrier_1();
    second["idle"] = json!({"after": "17 s", "promotion": "600 ms", "into": "shared"});
    assert_eq!(dch_delays("none", &second, &[(30_000.0, Dir::Downlink, 48)]), [600.0 + 12.0 + 10.0]);
    assert_eq!(
        dch_delays("none", &second, &[(30_000.0, Dir::Downlink, 480)]),
        [600.0 + 1500.0 + 10.0 + 10.0]
    );
}

const PAGE: &str = r#"
duration = "60 s"
wired = { rate = "10 Mbit/s", delay = "40 ms" }
[radio.dch.downlink]
delay = "15 ms"
[radio.dch.uplink]
delay = "15 ms"
[[flow]]
start = "30 s"
app.web = {}
"#;

fn scenario(overrides: &[(&str, &str)]) -> Scenario {
    let own: Vec<(String, String)> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(PAGE, &own).unwrap_or_else(|error| panic!("{error}"))
}

fn run(overrides: &[(&str, &str)], probes: &[Kind]) -> (Value, Vec<(f64, Event)>) {
    let probes = probes.iter().fold(ProbeMask::NONE, |mask, kind| mask.with(*kind));
    let mut simulation = Simulation::new(&scenario(overrides), 1, Observe { probes, ..Observe::default() });
    simulation.run();
    let trace = simulation.take_trace().into_iter().map(|(at, event)| (at.as_secs_f64(), event)).collect();
    (serde_json::to_value(simulation.results()).unwrap(), trace)
}

/// Acceptance test 27: the first byte of a page after 30 s of silence comes 2.0 s later.
#[test]
fn first_byte_of_a_page_comes_later_by_the_promotion() {
    let first = |overrides: &[(&str, &str)]| {
        let (_, trace) = run(overrides, &[Kind::SegmentReceived]);
        trace.first().map(|(at, _)| *at).unwrap()
    };
    let (always, carrier) = (first(&[]), first(&[("radio.dch.activity.preset", "\"qian-2010-carrier-1\"")]));
    assert!((carrier - always - 2.0).abs() < 0.006, "{always} {carrier}");
}

#[test]
fn events_times_and_energy_agree() {
    let preset = [("radio.dch.activity.preset", "\"qian-2010-carrier-1\"")];
    let (results, trace) = run(&preset, &[Kind::Activity]);
    let states: Vec<(f64, Activity)> = trace
        .iter()
        .map(|(at, event)| match event {
            Event::Activity { ue_state, .. } => (*at, *ue_state),
            other => panic!("{other:?}"),
        })
        .collect();
    let begin = [(0.0, Activity::Active), (5.0, Activity::Shared), (17.0, Activity::Idle)];
    assert_eq!(states[..5], [&begin[..], &[(30.0, Activity::Promotion), (32.0, Activity::Active)]].concat());
    let text = results.to_string();
    let report = results["elements"]
        .as_array()
        .and_then(|elements| elements.iter().find(|element| element["element"] == "radio.dch"))
        .unwrap_or_else(|| panic!("{text}"));
    let activity = &report["ues"][0]["activity"];
    let time = |state: &str| activity["time_s"][state].as_f64().unwrap();
    assert_eq!([time("shared"), time("idle"), time("promotion")], [12.0, 13.0, 2.0]);
    let energy = 0.8 * time("active") + 0.46 * 12.0 + 0.55 * 2.0;
    assert!((activity["energy_j"].as_f64().unwrap() - energy).abs() < 1e-9, "{activity}");
    assert_eq!(activity["woken"], json!({"active": 0, "shared": 0, "idle": 1, "promotion": 0}));
    // A run is the same whether its states are recorded or not.
    assert_eq!(run(&preset, &[]).0, results);
}

#[test]
fn what_no_ue_can_do_is_refused_with_its_key() {
    let refused = |overrides: &[(&str, &str)]| {
        let own: Vec<(String, String)> =
            overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Scenario::parse(PAGE, &own).unwrap_err().to_string()
    };
    let own = |key: &str| format!("radio.dch.activity.{key}");
    for (key, value, place) in [
        ("preset", "\"qian\"", "preset"),
        ("idle", "{ after = \"4 s\" , into = \"shared\" }", "idle.into"),
        ("idle", "{ paging = \"0 s\" }", "idle.paging"),
        ("inactive", "{}", "inactive"),
        ("idle", "{ promotion = \"1000000 h\" }", "idle.promotion"),
        ("drx", "{ on = \"0 ms\" }", "drx.on"),
        ("drx", "{ on = \"50 ms\" }", "drx.cycle"),
        ("drx", "{ short_cycle = \"80 ms\" }", "drx.short_cycle"),
        ("shared", "{ rate = \"0 kbit/s\" }", "shared.rate"),
    ] {
        let message = refused(&[(&own(key), value)]);
        assert!(message.contains(&own(place)), "{message}");
    }
    let order = refused(&[(&own("shared"), "{ after = \"20 s\" }"), (&own("idle"), "{ after = \"17 s\" }")]);
    assert!(order.contains(&own("idle.after")), "{order}");
    let slots = refused(&[("radio.dch.downlink.rlc", "\"fixed_delay_arq\""), (&own("shared"), "{}")]);
    assert!(slots.contains(&own("shared")), "{slots}");
    assert!(refused(&[("radio.dch.activity", "{}")]).contains("radio.dch.activity"));
}
