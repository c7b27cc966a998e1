//! UEs attach and activate their contexts before they send; valid and invalid keys of these procedures.

use super::{error, scenario};
use airpath_core::sim::{Observe, Results, Simulation};
use airpath_core::time::Instant;
use airpath_core::trace::{Event, Kind, ProbeMask};

/// Three UEs; UE 1 has two flows, UE 2 none.
const THREE: &str = r#"
duration = "30 s"
[wired]
delay = "10 ms"
[umts]
gn.delay = "5 ms"
iu.delay = "5 ms"
attach = "2 s"
pdp_activation = "1500 ms"
[radio.dch]
ues = 3
[[flow]]
app.file.size = "20 kB"
[[flow]]
ue = 1
start = "4 s"
app.file.size = "10 kB"
[[flow]]
ue = 1
start = "20 s"
app.file.size = "10 kB"
[[flow]]
ue = 1
start = "5 s"
direction = "uplink"
app.file.size = "10 kB"
"#;

fn run(text: &str, overrides: &[(&str, &str)]) -> (Results, Vec<(Instant, Event)>) {
    let observe = Observe { probes: ProbeMask::NONE.with(Kind::BearerEnqueued), ..Observe::default() };
    let mut simulation = Simulation::new(&scenario(text, overrides), 1, observe);
    simulation.run();
    (simulation.results(), simulation.take_trace())
}

#[test]
fn no_flow_starts_before_its_ue_may_send() {
    let starts: Vec<_> = scenario(THREE, &[]).flows().iter().map(|flow| (flow.ue, flow.start)).collect();
    let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    // UE 1 attaches with its first flow; flows that start after the procedure keep their times.
    assert_eq!(starts, [(0, at(3500)), (1, at(7500)), (1, at(20_000)), (1, at(7500))]);
    let (results, events) = run(THREE, &[]);
    assert!(results.flows.iter().all(|flow| flow.received_s.is_some()));
    for (ue, active) in [(0, at(3500)), (1, at(7500))] {
        let first = events
            .iter()
            .find(|(_, event)| matches!(event, Event::BearerEnqueued { ue: of, .. } if *of == ue));
        // The UE's SYN.
        assert_eq!(first.unwrap().0, active);
    }
    let core = results.elements.iter().find(|report| report["element"] == "umts").unwrap();
    let active: Vec<_> = (0..3).map(|ue| core["ues"][ue]["active_s"].as_f64()).collect();
    assert_eq!(active, [Some(3.5), Some(7.5), None]);
    let none = serde_json::json!({"gn": 0, "iu": 0});
    assert_eq!((&core["dropped_no_pdp_context"], &core["dropped_queue_full"]), (&0.into(), &none));
}

#[test]
fn without_a_core_network_flows_start_when_they_say() {
    let bare =
        THREE.split("[umts]").next().unwrap().to_owned() + "[radio.dch]\nues = 3\n[[flow]]\nstart = \"1 s\"";
    assert_eq!(scenario(&bare, &[]).flows()[0].start, Instant::from_nanos(1_000_000_000));
    // A core network without delays changes only the first key.
    let free = [
        ("umts.attach", "0 s"),
        ("umts.pdp_activation", "0 s"),
        ("umts.gn.delay", "0 s"),
        ("umts.iu.delay", "0 s"),
    ];
    let (without, events) = run(&bare, &[]);
    let (with, same) = run(&bare, &free);
    assert_eq!(events, same);
    assert_eq!(without.flows, with.flows);
    assert_eq!(without.elements.len() + 1, with.elements.len());
}

#[test]
fn every_g_pdu_of_the_downlink_went_to_the_bearer() {
    let (results, events) = run(THREE, &[("umts.sequence_numbers", "true")]);
    let core = &results.elements[1];
    for ue in [0_u16, 1] {
        let mine = events.iter().filter_map(|(_, event)| match event {
            Event::BearerEnqueued { ue: of, direction, len_bytes, .. }
                if *of == ue && direction.name() == "downlink" =>
            {
                Some(u64::from(*len_bytes))
            }
            _ => None,
        });
        let (packets, octets) = mine.fold((0_u64, 0), |(n, sum), len| (n + 1, sum + len));
        let leg = &core["ues"][usize::from(ue)]["iu"]["downlink"];
        assert!(packets > 10);
        assert_eq!((&leg["g_pdus"], &leg["overhead_octets"]), (&packets.into(), &(40 * packets).into()));
        assert_eq!(leg["octets"], octets + 40 * packets);
    }
}

#[test]
fn the_leg_of_a_relocation_inherits_that_of_the_cell() {
    let text = THREE.to_owned()
        + "[[handover]]\nrelocation.iu.rate = \"1 Mbit/s\"\n[[handover]]\nat = \"20 s\"\nrelocation = {}\n";
    let relocated = scenario(&text, &[]);
    let legs: Vec<_> = relocated.handover.iter().map(|one| one.relocation.clone().unwrap().iu).collect();
    let iu = relocated.umts.clone().unwrap().iu;
    assert_eq!((legs[0].delay, legs[0].rate.map(|rate| rate.as_bps())), (iu.delay, Some(1_000_000)));
    assert_eq!(legs[1], iu);
    assert_eq!(scenario(&relocated.to_toml().unwrap(), &[]), relocated);
}

#[test]
fn what_cannot_be_is_named() {
    let cases: &[(&str, &str)] = &[
        ("umts.gn.rate", "0 bit/s"),
        ("umts.iu.buffer", "0 B"),
        ("umts.iu.buffer", "64 kB"),
        ("umts.iu.delay", "5"),
        ("umts.attach", "-1 s"),
        ("umts.qos", "[\"gold\"]"),
        ("umts.qos", "[\"streaming\", \"streaming\", \"streaming\", \"streaming\"]"),
        ("umts.gtp", "2"),
        ("umts.sequence_numbers", "1"),
        ("radio.dch.qos.gold.downlink.rate", "64 kbit/s"),
        ("radio.dch.qos.streaming", "{}"),
        ("radio.dch.qos.streaming.downlink.rate", "0 bit/s"),
        ("radio.dch.qos.streaming.downlink.rlc.um", "{}"),
        ("radio.dch.qos.streaming.uplink.channel.bernoulli.bler", "10 %"),
    ];
    let handover = "[[handover]]\nrelocation.iu.rate = \"0 bit/s\"";
    let am = "[radio.dch.downlink]\nrlc.am = {}\n[radio.dch.uplink]\nrate = \"64 kbit/s\"\nrlc.am = {}\n";
    let without = "[radio.dch]\nues = 1\n[[flow]]\n";
    let mut lines: Vec<_> = cases.iter().map(|case| error(THREE, &[*case])).collect();
    lines.push(error(&format!("{THREE}{handover}"), &[]));
    let class = |bearers: &str| error(&format!("{THREE}{am}[radio.dch.qos.streaming]\n{bearers}"), &[]);
    lines.push(class("downlink.rlc.um = {}"));
    lines.push(class("downlink.rlc.none = {}"));
    lines.push(class("uplink.rlc.am.pdu = \"7 B\""));
    lines.push(error(&format!("{without}[radio.dch.qos.streaming]\ndownlink.rate = \"64 kbit/s\""), &[]));
    lines.push(error(&format!("{without}[[handover]]\nrelocation = {{}}"), &[]));
    insta::assert_snapshot!(lines.join("\n"), @r#"
    umts.gn.rate: a leg of rate zero never sends; write a positive rate such as "2 Mbit/s", or remove the key for no limit
    umts.iu.buffer: a buffer without room drops everything; write a size such as "64 kB", or remove the key for no limit
    umts.iu.buffer: nothing waits for a leg of infinite rate; set the rate, or remove the buffer
    umts.iu.delay: missing unit; write "60 ms" or "1.5 s", not 5
    umts.attach: a duration cannot be negative: -1 s; write for example "60 ms"
    umts.qos[0]: unknown name "gold"; known here: conversational, streaming, interactive, background
    umts.qos: classes for 4 UEs, and the cell has 3; shorten the list, or raise the cell's number of UEs
    umts.gtp: unknown key; known here: gn, iu, sequence_numbers, attach, pdp_activation, qos
    umts.sequence_numbers: invalid type: integer `1`; write true or false
    radio.dch.qos.gold: unknown name; known here: conversational, streaming, interactive, background
    radio.dch.qos.streaming: names no bearer; write a downlink, an uplink or both, or remove it
    radio.dch.qos.streaming.downlink.rate: a bearer of rate zero never sends; write a positive rate such as "384 kbit/s"
    radio.dch.qos.streaming.downlink.rlc: rlc.um goes by TTIs, and rlc.none of the cell's own downlink goes without TTIs; all classes of a cell go by TTIs (rlc.am, rlc.um, rlc.tm), or none does (rlc.none, rlc.fixed_delay_arq)
    radio.dch.qos.streaming.uplink.channel: without a link layer nothing retransmits lost blocks; choose rlc.fixed_delay_arq, or remove the channel
    handover[0].relocation.iu.rate: a leg of rate zero never sends; write a positive rate such as "2 Mbit/s", or remove the key for no limit
    radio.dch.qos.streaming.uplink.rlc: rlc.am does not work with rlc.um in the downlink; write rlc.am in both directions: its STATUS PDUs go the other way
    radio.dch.qos.streaming.downlink.rlc: rlc.none goes without TTIs, and rlc.am of the cell's own downlink goes by TTIs; all classes of a cell go by TTIs (rlc.am, rlc.um, rlc.tm), or none does (rlc.none, rlc.fixed_delay_arq)
    radio.dch.qos.streaming.uplink.rlc.am.pdu: is no size of a PDU; write 10 to 4096 bytes
    radio.dch.qos: the core network gives UEs their classes, and there is none; add [umts], or remove the key
    handover[0].relocation: the serving RNC changes in a core network, and there is none; add [umts], or remove the key
    "#);
}
