//! What every registered element owes its path, whatever it does.

use airpath_core::element::Element;
use airpath_core::packet::{Dir, Kind, Opaque, Packet};
use airpath_core::path::Path;
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, Kind as Probe, ProbeMask, Reason};
use airpath_core::{handover, link, middlebox, queue, radio, rlc, rng, scheduler, umts};

type Build = Box<dyn Fn(u64) -> Box<dyn Element>>;

/// Every element that can stand on a path, in each configuration that changes its nature.
fn elements() -> Vec<(String, Build)> {
    let mut all: Vec<(String, Build)> = Vec::new();
    for config in middlebox::Config::defaults() {
        all.push((
            format!("middlebox.{}", config.name()),
            Box::new(move |_| config.build(&middlebox::Plan::of(1, &[]))),
        ));
    }
    let lossy = link::Config {
        rate: Some("1 Mbit/s".parse().unwrap()),
        delay: Duration::from_millis(5),
        loss: "20 %".parse().unwrap(),
        ..link::Config::default()
    };
    all.push(("link".into(), Box::new(|seed| link::Config::default().build(seed, "wired"))));
    all.push(("link, lossy".into(), Box::new(move |seed| lossy.build(seed, "wired"))));
    for rlc in rlc::Config::defaults() {
        for limit in [None, Some(3)] {
            let mut dch = radio::dch::Config { ues: 2, ..radio::dch::Config::default() };
            for bearer in [&mut dch.downlink, &mut dch.uplink] {
                bearer.rlc = rlc.clone();
                bearer.queue =
                    queue::Config::Droptail(queue::droptail::Config { packets: limit, ..Default::default() });
                if rlc.name() != "none" {
                    bearer.channel =
                        serde_json::from_value(serde_json::json!({"bernoulli": {"bler": "30 %"}})).unwrap();
                }
            }
            let config = radio::Config::Dch(dch);
            config.validate().unwrap();
            all.push((
                format!("radio.dch, rlc.{}, limit {limit:?}", rlc.name()),
                Box::new(move |seed| config.build(&radio::Plan::of(seed))),
            ));
        }
    }
    for (number, (cell, bearer)) in evicting().into_iter().enumerate() {
        let cell_of = serde_json::json!({cell: {"ues": 2, "downlink": bearer, "uplink": bearer}});
        let config: radio::Config = serde_json::from_value(cell_of).unwrap();
        config.validate().unwrap();
        all.push((
            format!("radio.{cell}, queue.pdpc {number}"),
            Box::new(move |seed| config.build(&radio::Plan::of(seed))),
        ));
    }
    all.extend(queues());
    let fading = serde_json::json!({
        "rlc": {"fixed_delay_arq": {}}, "channel": {"markov_fading": {"bler": "30 %", "doppler": "2 Hz"}},
    });
    let bursty: radio::Config = serde_json::from_value(serde_json::json!({"dch": {
        "ues": 2, "downlink": fading, "uplink": fading,
    }}))
    .unwrap();
    bursty.validate().unwrap();
    all.push((
        "radio.dch, block errors in bursts".into(),
        Box::new(move |seed| bursty.build(&radio::Plan::of(seed))),
    ));
    // A rate that swings with a gap of two seconds; and mahimahi's way of counting, with a line 0.
    let swings = serde_json::json!({"trace_file": {"trace": "3\n9\n9\n9\n200\n2200\n2201\n"}});
    let mahimahi = serde_json::json!({"trace_file": {
        "trace": "0\n4\n11\n11\n", "accounting": "tun_1504", "spacing": "at_once",
    }});
    for (name, channel) in [("swings", swings), ("mahimahi", mahimahi)] {
        for limit in [None, Some(3)] {
            let bearer = serde_json::json!({
                "delay": "5 ms", "queue": {"droptail": {"packets": limit}}, "channel": channel,
            });
            let variable = serde_json::json!({"ues": 2, "downlink": bearer, "uplink": bearer});
            let config: radio::Config =
                serde_json::from_value(serde_json::json!({"variable": variable})).unwrap();
            config.validate().unwrap();
            let name = format!("radio.variable, {name}, limit {limit:?}");
            all.push((name, Box::new(move |seed| config.build(&radio::Plan::of(seed)))));
        }
    }
    // Packets served whole: ends computed ahead, each flow in turn, overtaking, lost on the radio, in outages.
    let drawn = serde_json::json!({"distribution": {
        "rate": {"uniform": {"mean": "200 kbit/s", "sd": "75 kbit/s"}},
        "delay": {"exponential": {"mean": "50 ms"}},
    }});
    let overtaking = serde_json::json!({"distribution": {
        "redraw": "20 ms", "order": "free",
        "rate": {"lognormal": {"mean": "200 kbit/s", "sd": "100 kbit/s"}},
        "delay": {"normal": {"mean": "50 ms", "sd": "50 ms"}},
    }});
    let switching = serde_json::json!({"switching": {"steps": [
        {"rate": "500 kbit/s", "for": "100 ms", "delay": "30 ms"}, {"rate": "0 bit/s", "for": "300 ms"},
    ]}});
    let series = serde_json::json!({"series": {
        "rows": "time_s,rate_kbps,delay_ms,loss\n0,300,20,0.2\n0.5,0,0,0\n0.7,150,5,0.5\n", "repeat": "1 s",
    }});
    let served = [("drawn", drawn), ("overtaking", overtaking), ("switching", switching), ("series", series)];
    for (name, channel) in served {
        for (limit, buffer) in [(None, "shared"), (Some(3), "shared"), (Some(2), "per_flow")] {
            let bearer = serde_json::json!({
                "delay": "5 ms", "queue": {"droptail": {"packets": limit}}, "buffer": buffer, "channel": channel,
            });
            let variable = serde_json::json!({"ues": 2, "downlink": bearer, "uplink": bearer});
            let config: radio::Config =
                serde_json::from_value(serde_json::json!({"variable": variable})).unwrap();
            config.validate().unwrap();
            let name = format!("radio.variable, {name}, limit {limit:?}, {buffer}");
            all.push((name, Box::new(move |seed| config.build(&radio::Plan::of(seed)))));
        }
    }
    all.extend(evdo());
    all.extend(shared());
    all.extend(core_networks());
    all.extend(outages());
    all
}

/// Dedicated channels whose UEs are out of reach for a while, one after the other and both.
fn outages() -> Vec<(String, Build)> {
    let mut all: Vec<(String, Build)> = Vec::new();
    for rlc in rlc::Config::defaults() {
        for bearers in ["pause", "lose"] {
            let mut dch = radio::dch::Config { ues: 2, ..radio::dch::Config::default() };
            (dch.downlink.rlc, dch.uplink.rlc) = (rlc.clone(), rlc.clone());
            let config = radio::Config::Dch(dch);
            config.validate().unwrap();
            let handovers: Vec<airpath_core::handover::Config> = serde_json::from_value(serde_json::json!([
                {"ue": 0, "at": "1 s", "outage": "700 ms", "bearers": bearers},
                {"ue": 1, "at": "1.5 s", "outage": "1 s", "bearers": bearers},
                {"ue": 0, "at": "1.7 s", "outage": "20 ms", "bearers": bearers},
            ]))
            .unwrap();
            config.check_handovers(&handovers).unwrap();
            all.push((
                format!("radio.dch, outages, {bearers}, rlc.{}", rlc.name()),
                Box::new(move |run_seed| {
                    config.build(&radio::Plan {
                        handovers: &airpath_core::handover::Episode::stays(&handovers),
                        ..radio::Plan::of(run_seed)
                    })
                }),
            ));
        }
    }
    all
}

/// Bearers whose discipline evicts waiting packets from the buffer.
fn evicting() -> Vec<(&'static str, serde_json::Value)> {
    let queue = serde_json::json!({"pdpc": {"packets": 5, "max_threshold": 3}});
    let dch = |arq: serde_json::Value| {
        let channel = serde_json::json!({"bernoulli": {"bler": "30 %"}});
        (
            "dch",
            serde_json::json!({"rate": "64 kbit/s", "queue": queue, "rlc": {"fixed_delay_arq": arq}, "channel": channel}),
        )
    };
    let variable = |buffer: &str, channel: serde_json::Value| {
        ("variable", serde_json::json!({"queue": queue, "buffer": buffer, "channel": channel}))
    };
    let drawn = serde_json::json!({"distribution": {"rate": {"constant": "200 kbit/s"}}});
    let series = serde_json::json!({"series": {"rows": "time_s,rate_kbps,delay_ms,loss\n0,200,20,0.2\n"}});
    let am = serde_json::json!({"am": {"poll_window": 50, "timer_poll": "60 ms"}});
    vec![
        ("dch", serde_json::json!({"rate": "64 kbit/s", "queue": queue, "rlc": am})),
        dch(serde_json::json!({})),
        dch(serde_json::json!({"pdu": "40 B", "max_transmissions": 5, "delivery": "out_of_sequence"})),
        dch(serde_json::json!({"concatenation": false, "errors": "per_tti", "slots": "grid"})),
        variable("shared", drawn.clone()),
        variable("per_flow", drawn),
        variable("shared", series),
        variable("shared", serde_json::json!({"trace_file": {"trace": "3\n9\n9\n9\n200\n2200\n2201\n"}})),
    ]
}

/// Disciplines that hold packets, or look at them as they leave, in front of every kind of transmitter.
fn queues() -> Vec<(String, Build)> {
    let law = serde_json::json!({"target": "20 ms", "interval": "40 ms"});
    let fq = serde_json::json!({"target": "20 ms", "interval": "40 ms", "packets": 10, "quantum": "700 B"});
    let mut disciplines = vec![
        serde_json::json!({"drophead": {"packets": 3}}),
        serde_json::json!({"codel": law}),
        serde_json::json!({"fq_codel": fq}),
        serde_json::json!({"pie": {"qdelay_ref": "20 ms", "max_burst": "0 ms"}}),
        serde_json::json!({"dualpi2": {"target": "20 ms", "alpha": 5, "packets": 20}}),
        serde_json::json!({"predicted_sojourn": {"packets": 20}}),
    ];
    // `evicting` has PDPC.
    let known =
        queue::Config::defaults().into_iter().map(|config| config.name()).filter(|name| *name != "pdpc");
    let others = known.filter(|name| disciplines.iter().all(|own| own.get(name).is_none()));
    let others: Vec<_> = others.map(|name| serde_json::json!({name: {"packets": 20}})).collect();
    disciplines.extend(others);
    let drawn = serde_json::json!({"distribution": {"rate": {"constant": "64 kbit/s"}}});
    let places = [
        ("dch", serde_json::json!({"rate": "64 kbit/s"})),
        ("dch", serde_json::json!({"rate": "64 kbit/s", "rlc": {"fixed_delay_arq": {}}})),
        ("dch", serde_json::json!({"rate": "64 kbit/s", "rlc": {"am": {}}})),
        ("dch", serde_json::json!({"rate": "64 kbit/s", "rlc": {"um": {}}})),
        ("variable", serde_json::json!({"channel": drawn, "buffer": "per_flow"})),
        ("variable", serde_json::json!({"channel": {"trace_file": {"trace": "3\n9\n9\n200\n500\n501\n"}}})),
        ("evdo", serde_json::json!({"mean_sinr": "-5 dB"})),
        ("lte", serde_json::json!({"reception": {"mean_sinr": "3 dB"}})),
        ("hsdpa", serde_json::json!({"reception": {"mean_sinr": "-3 dB"}, "iub": {"capacity": 40}})),
        ("nr", serde_json::json!({"reception": {"mean_sinr": "0 dB"}})),
    ];
    let mut all: Vec<(String, Build)> = Vec::new();
    for discipline in &disciplines {
        let kind = discipline.as_object().unwrap().keys().next().unwrap();
        let wire = serde_json::json!({"rate": "64 kbit/s", "delay": "5 ms", "queue": discipline});
        let wire: link::Config = serde_json::from_value(wire).unwrap();
        all.push((format!("link, queue.{kind}"), Box::new(move |seed| wire.build(seed, "wired"))));
        for (cell, place) in &places {
            let mut bearer = place.clone();
            bearer["queue"] = discipline.clone();
            let uplink = match *cell {
                "dch" | "variable" => bearer.clone(),
                _ => serde_json::json!({"queue": discipline}),
            };
            let config = serde_json::json!({*cell: {"ues": 2, "downlink": bearer, "uplink": uplink}});
            let config: radio::Config = serde_json::from_value(config).unwrap();
            config.validate().unwrap();
            all.push((
                format!("radio.{cell}, queue.{kind}: {place}"),
                Box::new(move |seed| config.build(&radio::Plan::of(seed))),
            ));
        }
    }
    all
}

/// The core network of UMTS: plain, with slow legs and short buffers, and with UEs that change their RNC.
fn core_networks() -> Vec<(String, Build)> {
    let slow = serde_json::json!({"rate": "500 kbit/s", "delay": "5 ms", "buffer": "8 kB"});
    let fast = serde_json::json!({"delay": "1 ms"});
    let configs = [
        serde_json::json!({}),
        serde_json::json!({"gn": {"rate": "1 Mbit/s", "delay": "20 ms"}, "iu": slow, "sequence_numbers": true}),
    ];
    let mut all: Vec<(String, Build)> = Vec::new();
    for (config, relocated) in configs.iter().flat_map(|config| [(config, false), (config, true)]) {
        let config: umts::Config = serde_json::from_value(config.clone()).unwrap();
        config.validate(2).unwrap();
        let to_fast: umts::Relocation = serde_json::from_value(serde_json::json!({"iu": fast})).unwrap();
        let name = format!("umts, {} octets, relocated {relocated}", config.overhead_octets());
        let build = move |_| {
            let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
            let relocations = vec![(0, at(500), &to_fast), (1, at(700), &to_fast), (0, at(900), &to_fast)];
            let relocations = if relocated { relocations } else { Vec::new() };
            let core = config.build(&umts::Plan { active: vec![Some(at(0)), Some(at(100))], relocations });
            link::Config::default().build_to(core, 1, "wired")
        };
        all.push((name, Box::new(build)));
    }
    all
}

/// 1xEV-DO in every way to choose, with losses, fading that leaves gaps, and packets that overtake.
fn evdo() -> Vec<(String, Build)> {
    let mut all: Vec<(String, Build)> = Vec::new();
    for scheduler in scheduler::Config::defaults() {
        for (choose, buffer, order) in [("packet", "per_flow", "kept"), ("slot", "shared", "free")] {
            let config: radio::Config = serde_json::from_value(serde_json::json!({"evdo": {
                "ues": 2,
                "downlink": {
                    "mean_sinr": "-5 dB", "choose": choose, "share_slots": choose == "slot", "per": "10 %",
                    "buffer": buffer, "order": order, "queue": {"droptail": {"packets": 3}},
                    "delay": {"exponential": {"mean": "20 ms"}}, "scheduler": scheduler,
                },
            }}))
            .unwrap();
            config.validate().unwrap();
            let name = format!("radio.evdo, {}, {choose}", scheduler.name());
            all.push((name, Box::new(move |seed| config.build(&radio::Plan::of(seed)))));
        }
    }
    all
}

/// Shared cells with losses at every place, in which UEs share slots, and hand-overs in either way.
fn shared() -> Vec<(String, Build)> {
    let lte = serde_json::json!({"lte": {
        "ues": 2,
        "downlink": {
            "queue": {"droptail": {"packets": 5}}, "rlc": {"am_lte": {}}, "sharing": "equally", "group": 3,
            "reception": {"mean_sinr": ["3 dB", "12 dB"], "fading": {"jakes": {"doppler": "30 Hz"}}},
            "harq": {"max_transmissions": 2, "nack_as_ack": "1 %"},
        },
        "uplink": {"bler": "20 %", "max_transmissions": 2, "block": "200 B"},
    }});
    let um = |tti: &str| serde_json::json!({"um": {"tti": tti, "pdu": "41 B"}});
    let hsdpa = |rlc: [serde_json::Value; 2]| {
        let [down, up] = rlc;
        serde_json::json!({"hsdpa": {
            "ues": 2,
            "downlink": {
                "queue": {"droptail": {"packets": 5}}, "rlc": down, "ues_per_tti": 2, "scheduler": {"round_robin": {}},
                "reception": {"mean_sinr": ["-3 dB", "5 dB"], "fading": {"jakes": {"doppler": "30 Hz"}}},
                "harq": {"max_transmissions": 2, "nack_as_ack": "1 %"}, "reordering": {"t1": "20 ms", "window": 8},
                "iub": {"capacity": 40},
            },
            "uplink": {"rlc": up, "channel": {"bernoulli": {"bler": "10 %"}}},
        }})
    };
    let nr = |rlc: serde_json::Value| {
        serde_json::json!({"nr": {
            "ues": 2,
            "downlink": {
                "queue": {"droptail": {"packets": 5}}, "rlc": rlc,
                "reception": {"mean_sinr": ["0 dB", "12 dB"], "fading": {"jakes": {"doppler": "30 Hz"}}},
                "harq": {"max_transmissions": 2, "nack_as_ack": "1 %"},
            },
            "uplink": {"rlc": rlc},
        }})
    };
    let am = |tti: &str| serde_json::json!({"am": {"tti": tti}});
    let cells = [
        ("radio.lte", lte),
        ("radio.nr, am", nr(serde_json::json!({"am_nr": {}}))),
        ("radio.nr, um", nr(serde_json::json!({"um_nr": {}}))),
        ("radio.hsdpa, am", hsdpa([am("2 ms"), am("20 ms")])),
        ("radio.hsdpa, um", hsdpa([um("2 ms"), um("20 ms")])),
    ];
    let mut all: Vec<(String, Build)> = Vec::new();
    for (name, config) in cells {
        let config: radio::Config = serde_json::from_value(config).unwrap();
        config.validate().unwrap();
        for bearers in ["pause", "lose"] {
            let handover = |ue: u16, at: &str| serde_json::json!({"ue": ue, "at": at, "outage": "300 ms", "bearers": bearers});
            let handovers = serde_json::json!([handover(0, "1 s"), handover(1, "2 s"), handover(0, "3 s")]);
            let handovers: Vec<handover::Config> = serde_json::from_value(handovers).unwrap();
            let config = config.clone();
            let build = move |seed| {
                config.build(&radio::Plan {
                    handovers: &airpath_core::handover::Episode::stays(&handovers),
                    ..radio::Plan::of(seed)
                })
            };
            all.push((format!("{name}, {bearers}"), Box::new(build)));
        }
    }
    all
}

/// A packet that tells itself apart by its sequence number.
fn packet(path: &mut Path, number: u32) -> Box<Packet> {
    let mut packet = path.packet();
    packet.seq = number;
    packet.ack = 1;
    packet.ue = (number % 2) as u16;
    packet.flow = (number % 3) as u16;
    packet.len = 40 + number * 7 % 1400;
    packet.payload = packet.len - 40;
    if number.is_multiple_of(5) {
        let why = [Opaque::OtherProtocol, Opaque::Encrypted, Opaque::Fragment, Opaque::Malformed];
        packet.set_kind(Kind::Opaque(why[(number / 5 % 4) as usize]));
    }
    packet
}

/// Packets that left a path, as (nanoseconds, direction, packet).
type Log = Vec<(u64, Dir, Packet)>;

/// Pushes 400 packets from both sides at random times and runs until nothing is left to do.
fn drive(build: &Build, seed: u64) -> (Log, Vec<Packet>, Vec<(Instant, Event)>) {
    let mut path = Path::new(vec![build(seed)], ProbeMask::NONE.with(Probe::Dropped));
    let mut stream = rng::stream(seed, "contract.arrivals");
    let mut clock = Instant::ZERO;
    let mut sent = Vec::new();
    for number in 0..400 {
        clock += Duration::from_nanos(stream.next_u64() % 30_000_000);
        let dir = if stream.next_u64().is_multiple_of(2) { Dir::Downlink } else { Dir::Uplink };
        let packet = packet(&mut path, number);
        sent.push((*packet).clone());
        path.handle_packet(clock, dir, packet);
    }
    let mut wakeups = 0;
    while let Some(next) = path.poll_timeout() {
        path.handle_timeout(next);
        wakeups += 1;
        assert!(wakeups < 1_000_000, "an element keeps itself awake");
    }
    assert_eq!(path.in_flight(), 0);
    let mut log = Vec::new();
    while let Some((at, dir, packet)) = path.poll_output() {
        log.push((at.as_nanos(), dir, *packet));
    }
    let trace = path.take_trace();
    let dropped: u64 = Reason::ALL.iter().map(|reason| path.drops(0, *reason)).sum();
    assert_eq!(dropped, trace.len() as u64, "a drop is counted and traced");
    (log, sent, trace)
}

#[test]
fn every_kind_of_cell_is_among_the_elements() {
    let names: Vec<String> = elements().into_iter().map(|(name, _)| name).collect();
    for config in radio::Config::defaults() {
        let cell = format!("radio.{}", config.name());
        assert!(names.iter().any(|name| name.starts_with(&cell) && !name.contains("queue.")), "{cell}");
    }
}

#[test]
#[ignore = "slow"]
fn every_packet_comes_out_unchanged_or_is_dropped_with_a_reason() {
    for (name, build) in elements() {
        let (log, sent, trace) = drive(&build, 7);
        assert_eq!(log.len() + trace.len(), sent.len(), "{name}");
        for (_, _, packet) in &log {
            assert_eq!(packet, &sent[packet.seq as usize], "{name}");
        }
    }
}

#[test]
fn a_packet_whose_header_cannot_be_read_passes_like_any_other() {
    for (name, build) in elements().into_iter().filter(|(name, _)| name.starts_with("middlebox")) {
        let (log, sent, _) = drive(&build, 11);
        let unread = |packets: &[Packet]| packets.iter().filter(|packet| !packet.is_tcp()).count();
        let out: Vec<Packet> = log.into_iter().map(|(_, _, packet)| packet).collect();
        assert_eq!(unread(&out), unread(&sent), "{name}");
        assert!(unread(&out) > 0);
    }
}

#[test]
#[ignore = "slow"]
fn the_same_seed_gives_the_same_log_and_late_wake_ups_change_nothing() {
    for (name, build) in elements() {
        let (log, _, trace) = drive(&build, 3);
        let (again, _, trace_again) = drive(&build, 3);
        assert_eq!(log, again, "{name}");
        assert_eq!(trace, trace_again, "{name}");
    }
}

#[test]
#[ignore = "slow"]
fn packets_leave_in_order_of_time() {
    for (name, build) in elements() {
        let (log, _, _) = drive(&build, 5);
        assert!(log.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{name}");
        assert!(!log.is_empty(), "{name}");
    }
}

/// A driver that wakes late hands packets on late, but the model's times do not move.
#[test]
#[ignore = "slow"]
fn lateness_of_the_driver_does_not_move_the_model() {
    for (name, build) in elements() {
        let run = |late: bool| {
            let mut path = Path::new(vec![build(9)], ProbeMask::NONE);
            for number in 0..200_u64 {
                if !late {
                    while let Some(next) =
                        path.poll_timeout().filter(|next| next.as_nanos() < number * 9_000_000)
                    {
                        path.handle_timeout(next);
                    }
                }
                let packet = packet(&mut path, number as u32);
                path.handle_packet(Instant::from_nanos(number * 9_000_000), Dir::Downlink, packet);
            }
            path.handle_timeout(Instant::from_nanos(60_000_000_000));
            std::iter::from_fn(|| path.poll_output())
                .map(|(at, dir, packet)| (at, dir, packet.seq))
                .collect::<Vec<_>>()
        };
        assert_eq!(run(false), run(true), "{name}");
    }
}

/// A wired link of 5 ms, the element, and, unless the element is a cell, a cell of 15 ms and 3 packets, after or before
/// it, whose UE is out of reach now and then.
fn line_around(name: &str, element: Box<dyn Element>, is_at_ue: bool) -> Vec<Box<dyn Element>> {
    let wire = link::Config { delay: Duration::from_millis(5), ..link::Config::default() };
    let mut line = vec![wire.build(1, "wired"), element];
    if !name.starts_with("radio") {
        let bearer = serde_json::json!({"rate": "128 kbit/s", "delay": "15 ms", "queue": {"droptail": {"packets": 3}}});
        let cell = serde_json::json!({"dch": {"ues": 2, "downlink": bearer, "uplink": bearer}});
        let outages = serde_json::json!([
            {"at": "700 ms", "outage": "300 ms", "warning": "100 ms"}, {"ue": 1, "at": "1500 ms", "outage": "200 ms"},
        ]);
        let handovers: Vec<airpath_core::handover::Config> = serde_json::from_value(outages).unwrap();
        let plan = radio::Plan {
            handovers: &airpath_core::handover::Episode::stays(&handovers),
            ..radio::Plan::of(1)
        };
        let at = if is_at_ue { 1 } else { 2 };
        line.insert(at, serde_json::from_value::<radio::Config>(cell).unwrap().build(&plan));
    }
    line
}

/// A driver may sleep until something can leave: nothing does before that, and what then does has the same times.
#[test]
#[ignore = "slow"]
fn nothing_leaves_before_the_path_said_so() {
    let (mut slept, mut woken) = (0, 0);
    for ((name, build), is_at_ue) in elements().iter().flat_map(|one| [(one, false), (one, true)]) {
        let run = |sleeps: bool| {
            let mut path = Path::new(line_around(name, build(9), is_at_ue), ProbeMask::NONE);
            let mut stream = rng::stream(9, "contract.arrivals");
            let (mut clock, mut wakeups, mut log) = (Instant::ZERO, 0_u64, Vec::new());
            for number in 0..=200 {
                clock += Duration::from_nanos(stream.next_u64() % 30_000_000);
                let end = if number == 200 { Instant::from_nanos(30_000_000_000) } else { clock };
                loop {
                    let next = if sleeps { path.poll_wakeup() } else { path.poll_timeout() };
                    let Some(next) = next.filter(|next| *next < end) else { break };
                    // Up to the moment before it nothing comes.
                    path.handle_timeout(path.now().max(Instant::from_nanos(next.as_nanos() - 1)));
                    assert!(path.poll_output().is_none(), "{name}: out before {next:?}");
                    path.handle_timeout(next);
                    wakeups += 1;
                    log.extend(
                        std::iter::from_fn(|| path.poll_output()).map(|(at, dir, out)| (at, dir, out.seq)),
                    );
                }
                let towards = if stream.next_u64().is_multiple_of(2) { Dir::Downlink } else { Dir::Uplink };
                let packet = packet(&mut path, number);
                path.handle_packet(end, towards, packet);
                log.extend(
                    std::iter::from_fn(|| path.poll_output()).map(|(at, dir, out)| (at, dir, out.seq)),
                );
            }
            (log, wakeups)
        };
        let ((asleep, few), (awake, many)) = (run(true), run(false));
        assert_eq!(asleep, awake, "{name}, {is_at_ue}");
        (slept, woken) = (slept + few, woken + many);
    }
    assert!(slept < woken, "{slept} of {woken}");
}

/// Records the radio events.
#[derive(Default)]
struct Listener {
    started: u64,
    ended: u64,
    enqueued: u64,
    dropped: u64,
    evicted: u64,
    discarded: u64,
    /// Whether the buffer accounting agrees with the events.
    views_agree: bool,
}

impl Element for Listener {
    fn layout(&self) -> airpath_core::element::Layout {
        airpath_core::element::Layout { radio_events: true, flow_views: true, ..Default::default() }
    }

    fn handle_start(&mut self, _cx: &mut airpath_core::element::Cx<'_>) {
        self.views_agree = true;
    }

    fn handle_packet(
        &mut self,
        cx: &mut airpath_core::element::Cx<'_>,
        port: airpath_core::element::Port,
        packet: Box<Packet>,
    ) {
        cx.emit(port.through(), packet);
    }

    fn handle_radio(
        &mut self,
        cx: &mut airpath_core::element::Cx<'_>,
        event: &airpath_core::element::RadioEvent,
    ) {
        use airpath_core::element::RadioEventKind as E;
        match event.kind {
            E::Enqueued => self.enqueued += 1,
            E::Started => self.started += 1,
            E::Delivered => self.ended += 1,
            E::Dropped => self.dropped += 1,
            E::Evicted => self.evicted += 1,
            E::Discarded => self.discarded += 1,
        }
        let held: u32 = (0..2)
            .flat_map(|ue| Dir::BOTH.map(|dir| (ue, dir)))
            .map(|(ue, dir)| {
                let whole = cx.radio(ue, dir);
                let flows: u32 = (0..3).map(|flow| cx.radio_flow(ue, dir, flow).sdus).sum();
                self.views_agree &= flows == whole.sdus && whole.untransmitted_sdus <= whole.sdus;
                whole.sdus
            })
            .sum();
        let gone = self.ended + self.evicted + self.discarded;
        // Until the arrival event, the accounting may be one packet ahead.
        let ahead = u64::from(event.kind != E::Enqueued);
        self.views_agree &= u64::from(held) + gone <= self.enqueued + ahead;
    }

    fn report(&self, _cx: &mut airpath_core::element::Cx<'_>) -> serde_json::Value {
        serde_json::json!({
            "enqueued": self.enqueued, "started": self.started, "ended": self.ended, "dropped": self.dropped,
            "evicted": self.evicted, "discarded": self.discarded, "views_agree": self.views_agree,
        })
    }
}

/// A subscriber is notified of every packet that enters, starts and leaves, consistently with the buffer accounting.
#[test]
#[ignore = "slow"]
fn radio_events_tell_the_whole_life_of_every_packet() {
    for (name, build) in elements().into_iter().filter(|(name, _)| name.starts_with("radio")) {
        let mut path = Path::new(vec![Box::new(Listener::default()), build(1)], ProbeMask::NONE);
        for number in 0..300_u64 {
            let packet = packet(&mut path, number as u32);
            let dir = if number % 3 == 0 { Dir::Uplink } else { Dir::Downlink };
            path.handle_packet(Instant::from_nanos(number * 11_000_000), dir, packet);
        }
        while let Some(next) = path.poll_timeout() {
            path.handle_timeout(next);
        }
        let report = path.reports()[0].clone();
        let count = |key: &str| report[key].as_u64().unwrap();
        assert_eq!(count("enqueued") + count("dropped"), 300, "{name}: {report}");
        let gone = count("ended") + count("discarded") + count("evicted");
        assert_eq!(gone, count("enqueued"), "{name}: {report}");
        // In transparent mode an SDU that no TTI can carry is given up unsent.
        let unsent = gone - count("started") - count("evicted");
        assert!(unsent == 0 || name.contains("rlc.tm") && unsent == count("discarded"), "{name}: {report}");
        let evicts = name.contains("pdpc");
        assert!(count("evicted") > 0 || !evicts, "{name}: {report}");
        assert!(count("evicted") == 0 || name.contains("queue."), "{name}: {report}");
        // At a hand-over RLC UM is re-established and discards the SDU that it has started (TS 38.322 §5.1.2).
        let gives_up = name.contains("rlc.tm") || name.ends_with("pdpc 2") || name == "radio.nr, um, pause";
        assert_eq!(count("discarded") > 0, gives_up, "{name}: {report}");
        assert_eq!(report["views_agree"], true, "{name}: the accounting disagrees with the events");
    }
}

/// A packet that arrives exactly at the end of the previous one starts once, and each end is reported at its time.
#[test]
fn back_to_back_packets_start_once_and_end_in_their_time() {
    let whole = serde_json::json!({"rate": "64 kbit/s", "rlc": {"none": {}}});
    let drawn = serde_json::json!({"channel": {"distribution": {"rate": {"constant": "64 kbit/s"}}}});
    for (cell, downlink) in [("dch", whole), ("variable", drawn)] {
        let config: radio::Config =
            serde_json::from_value(serde_json::json!({cell: {"downlink": downlink}})).unwrap();
        let elements =
            vec![Box::new(Listener::default()) as Box<dyn Element>, config.build(&radio::Plan::of(1))];
        let mut path = Path::new(elements, ProbeMask::NONE.with(Probe::BearerDelivered));
        for number in 0..4_u64 {
            let mut packet = path.packet();
            (packet.len, packet.payload) = (80, 40);
            path.handle_packet(Instant::from_nanos(number * 10_000_000), Dir::Downlink, packet);
        }
        path.handle_timeout(Instant::from_nanos(1_000_000_000));
        let ends: Vec<u64> = path.take_trace().iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
        assert_eq!(ends, [10, 20, 30, 40], "{cell}");
        let report = &path.reports()[0];
        let counts = ["enqueued", "started", "ended", "dropped"].map(|key| report[key].as_u64().unwrap());
        assert_eq!((counts, &report["views_agree"]), ([4, 4, 4, 0], &true.into()), "{cell}");
    }
}
