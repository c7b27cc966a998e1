//! Packets can be followed through the probes: from element to element on the path, and through the PDUs of RLC.

use airpath_core::element::Capture;
use airpath_core::packet::Dir;
use airpath_core::scenario::{BUNDLED, Scenario};
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, Kind, ProbeMask};
use serde_json::Value;
use std::collections::HashMap;

fn traced(scenario: &Scenario) -> (Vec<(Instant, Event)>, Value) {
    let observe = Observe { probes: ProbeMask::ALL, ..Observe::default() };
    let mut simulation = Simulation::new(scenario, 1, observe);
    simulation.run();
    (simulation.take_trace(), serde_json::to_value(simulation.results()).unwrap())
}

fn named(name: &str) -> Scenario {
    Scenario::parse(BUNDLED.iter().find(|(known, _)| *known == name).unwrap().1, &[]).unwrap()
}

/// SDUs of a direction: when the buffer took them in, when they were handed up, and with which PDUs.
#[derive(Default)]
struct Sdus {
    entered: usize,
    delivered: Vec<Instant>,
    pdus: Vec<(usize, u64, u64)>,
    /// When the first successful transmission of each sequence number started.
    arrives: HashMap<u64, Instant>,
}

impl Sdus {
    fn of(trace: &[(Instant, Event)], wanted: Dir) -> Self {
        let mut sdus = Self::default();
        for &(at, event) in trace {
            match event {
                Event::BearerEnqueued { direction, .. } if direction == wanted => sdus.entered += 1,
                Event::BearerDelivered { direction, .. } if direction == wanted => sdus.delivered.push(at),
                Event::RlcData { direction, first_sn, pdus, lost, .. } if direction == wanted => {
                    for sn in first_sn..first_sn + u64::from(pdus) {
                        if !lost {
                            sdus.arrives.entry(sn).or_insert(at);
                        }
                    }
                }
                Event::RlcSdu { direction, sdu, first_sn, pdus, .. } if direction == wanted => {
                    sdus.pdus.push((sdu as usize, first_sn, first_sn + u64::from(pdus)));
                }
                _ => {}
            }
        }
        sdus
    }

    /// When the last PDU of an SDU arrives whose TTI takes so long until then; `None` if one never does.
    fn complete(&self, (_, first, end): (usize, u64, u64), after: Duration) -> Option<Instant> {
        (first..end)
            .map(|sn| Some(*self.arrives.get(&sn)? + after))
            .try_fold(Instant::ZERO, |last, at| Some(last.max(at?)))
    }
}

#[test]
fn every_sdu_of_a_download_is_in_pdus_and_none_is_handed_up_before_they_have_arrived() {
    let (trace, _) = traced(&named("umts-384"));
    // A TTI and the delay of the bearer, of each direction.
    for (dir, after_ms) in [(Dir::Downlink, 25), (Dir::Uplink, 35)] {
        let sdus = Sdus::of(&trace, dir);
        let sent: Vec<usize> = sdus.pdus.iter().map(|(sdu, _, _)| *sdu).collect();
        assert!(sent.len() >= sdus.delivered.len() && sdus.delivered.len() > 500, "{dir:?}");
        // The run may end before the last SDUs are sent.
        assert_eq!(sent, (0..sent.len()).collect::<Vec<_>>(), "{dir:?}");
        assert!(sent.len() <= sdus.entered && sdus.entered - sent.len() < 30, "{dir:?}");
        for (&pdus, &handed_up) in sdus.pdus.iter().zip(&sdus.delivered) {
            let complete = sdus.complete(pdus, Duration::from_millis(after_ms));
            assert!(
                complete.is_some_and(|at| at <= handed_up),
                "{dir:?} {pdus:?} {complete:?} {handed_up:?}"
            );
        }
    }
}

#[test]
fn sdus_that_a_lossy_link_layer_delivers_have_pdus_that_have_all_arrived() {
    for rlc in ["um = { pdu = \"41 B\" }", "tm = { segmentation = true, timer_discard = \"1 s\" }"] {
        let text = format!(
            "duration = \"60 s\"\n[radio.dch.downlink]\nrate = \"1280 kbit/s\"\ndelay = \"15 ms\"\nrlc.{rlc}\n\
             channel.bernoulli.bler = \"5 %\"\n[radio.dch.uplink]\nrate = \"384 kbit/s\"\nrlc.{rlc}\n\
             [[flow]]\napp = \"bulk\""
        );
        let scenario = Scenario::parse(&text, &[]).unwrap();
        let (trace, results) = traced(&scenario);
        let sdus = Sdus::of(&trace, Dir::Downlink);
        let whole = sdus.pdus.iter().filter(|&&pdus| sdus.complete(pdus, Duration::ZERO).is_some()).count();
        assert!(sdus.pdus.is_sorted() && sdus.pdus.len() > 100, "{rlc}: {}", sdus.pdus.len());
        assert!(sdus.delivered.len() < sdus.pdus.len(), "{rlc}: something is lost");
        // SDUs still in transmission at the end are not delivered.
        let delivered = results["elements"][1]["ues"][0]["downlink"]["sdus_delivered"].as_u64().unwrap();
        assert!(whole as u64 - delivered < 4, "{rlc}: {whole} {delivered}");
    }
}

/// A packet that arrives at an element continues to the next one, or is dropped; otherwise a box there made it.
#[test]
fn packets_that_arrive_at_a_place_were_at_the_one_before() {
    let (trace, results) = traced(&named("umts-384"));
    let arrived = |place: u16, dir: Dir| {
        let at_place = |event: &Event| matches!(event, Event::Packet { element, direction, .. } if (*element, *direction) == (place, dir));
        trace.iter().filter(|(_, event)| at_place(event)).count() as u64
    };
    let dropped = |place: u16, dir: Dir| {
        let at_place = |event: &Event| matches!(event, Event::Dropped { element, direction, .. } if (*element, *direction) == (place, dir));
        trace.iter().filter(|(_, event)| at_place(event)).count() as u64
    };
    let bearers = &results["elements"][1]["ues"][0];
    let held = |dir: &str| {
        let count = |key: &str| bearers[dir][key].as_u64().unwrap();
        count("sdus_in") - count("sdus_delivered")
    };
    // Server, link, cell, UE. The run ends when the transfer is complete: packets may be in flight.
    assert!(arrived(1, Dir::Downlink) - arrived(2, Dir::Downlink) < 3 && dropped(2, Dir::Downlink) > 0);
    assert_eq!(
        arrived(2, Dir::Downlink),
        arrived(3, Dir::Downlink) + dropped(2, Dir::Downlink) + held("downlink")
    );
    assert_eq!(arrived(2, Dir::Uplink), arrived(1, Dir::Uplink) + dropped(2, Dir::Uplink) + held("uplink"));
    assert!(arrived(1, Dir::Uplink) - arrived(0, Dir::Uplink) < 3 && dropped(1, Dir::Uplink) == 0);
    assert_eq!((arrived(0, Dir::Downlink), arrived(3, Dir::Uplink)), (0, 0));
}

/// Where a packet is: the node, and its direction.
type Place = (u16, Dir);

/// Packet numbers can be followed from element to element; packets are dropped, held, copied and delivered where they
/// are.
#[test]
#[ignore = "slow"]
fn a_number_follows_its_packet_from_place_to_place() {
    let with_box = |middlebox: &str| {
        let text = format!(
            "duration = \"20 s\"\n[[middlebox]]\n{middlebox}\n[[middlebox]]\ntap = {{}}\n[radio.dch.downlink]\n\
             rate = \"384 kbit/s\"\n[radio.dch.uplink]\nrate = \"64 kbit/s\"\n[[flow]]\napp = \"bulk\""
        );
        Scenario::parse(&text, &[]).unwrap()
    };
    let disturb =
        "disturb = { downlink.duplicate = \"5 %\", uplink = { duplicate = \"5 %\", loss = \"2 %\" } }";
    let boxes = [("disturb", with_box(disturb)), ("split", with_box("split = {}"))];
    let names = ["umts-384", "alcaraz-384", "umts-snoop", "umts-handover", "lte-drive-series"];
    let all = names.map(|name| (name, named(name))).into_iter().chain(boxes);
    let (mut copies, mut own, mut kept, mut dropped) = (0, 0, 0, 0);
    for (name, mut scenario) in all {
        scenario.duration = scenario.duration.min(Duration::from_secs(20));
        let last = scenario.path().len() as u16 - 1;
        let mut at: HashMap<u32, Place> = HashMap::new();
        // Where boxes made packets that have not come to a place yet.
        let mut made: HashMap<u32, u16> = HashMap::new();
        for (_, event) in traced(&scenario).0 {
            match event {
                Event::Packet { packet, element, direction, .. } => {
                    let from = at.get(&packet).map(|(place, _)| *place).or_else(|| made.remove(&packet));
                    let from = from.unwrap_or(if direction == Dir::Downlink { 0 } else { last });
                    let next = if direction == Dir::Downlink { from + 1 } else { from - 1 };
                    assert_eq!(element, next, "{name}: packet {packet} {direction:?}");
                    at.insert(packet, (element, direction));
                }
                Event::Made { packet, element, copy_of, .. } => {
                    assert!(!at.contains_key(&packet) && made.insert(packet, element).is_none(), "{name}");
                    assert!(copy_of < packet && (copy_of == 0 || at.contains_key(&copy_of)), "{name}");
                    *(if copy_of == 0 { &mut own } else { &mut copies }) += 1;
                }
                Event::Dropped { packet, element, direction, .. } => {
                    assert_eq!(
                        at.get(&packet),
                        Some(&(element, direction)),
                        "{name}: packet {packet} dropped"
                    );
                    dropped += 1;
                }
                Event::Kept { packet, element, direction, .. } => {
                    assert_eq!(at.get(&packet), Some(&(element, direction)), "{name}: packet {packet} kept");
                    kept += 1;
                }
                Event::BearerEnqueued { packet, direction, .. }
                | Event::BearerDelivered { packet, direction, .. }
                | Event::RlcSdu { packet, direction, .. }
                | Event::RlcConfirmed { packet, direction, .. } => {
                    assert_eq!(at[&packet].1, direction, "{name}: packet {packet} in the cell");
                }
                _ => {}
            }
        }
    }
    assert!(copies > 10 && own > 10 && kept > 10 && dropped > 10, "{copies} {own} {kept} {dropped}");
}

/// Who looks at one kind of event sees the same numbers as who looks at all.
#[test]
fn numbers_of_packets_are_the_same_whatever_is_recorded() {
    for name in ["variable-3g", "umts-384-simple", "chan-3g1x"] {
        let mut scenario = named(name);
        scenario.duration = scenario.duration.min(Duration::from_secs(10));
        let sent = |probes| {
            let mut simulation = Simulation::new(&scenario, 1, Observe { probes, ..Observe::default() });
            simulation.run();
            let all = simulation.take_trace().into_iter();
            let sent = all.filter(|(_, event)| event.kind() == Kind::SegmentSent).collect::<Vec<_>>();
            assert!(sent.len() > 100, "{name}: {}", sent.len());
            sent
        };
        assert!(sent(ProbeMask::ALL) == sent(ProbeMask::NONE.with(Kind::SegmentSent)), "{name}");
    }
}

/// A RESET restarts numbering at PDU 0; in events the numbers continue.
#[test]
fn numbers_of_pdus_go_on_behind_a_reset() {
    let text = "duration = \"60 s\"\n[radio.dch.downlink]\nrate = \"384 kbit/s\"\n\
        rlc.am = { pdu = \"42 B\", max_dat = 2 }\nchannel.bernoulli.bler = \"20 %\"\n\
        [radio.dch.uplink]\nrate = \"64 kbit/s\"\nrlc.am = { pdu = \"42 B\" }\n[[flow]]\napp = \"bulk\"";
    let (trace, results) = traced(&Scenario::parse(text, &[]).unwrap());
    let cell = &results["elements"][1]["ues"][0]["downlink"]["rlc"];
    assert!(cell["resets"].as_u64().unwrap() > 3, "{cell}");
    let (mut next, mut told) = (0, std::collections::BTreeSet::new());
    for (_, event) in trace {
        match event {
            Event::RlcData { direction: Dir::Downlink, first_sn, pdus, .. } => {
                // What is new follows on what was, or begins at the next multiple.
                assert!(
                    first_sn <= next || first_sn == u64::next_multiple_of(next, 4096),
                    "{first_sn} {next}"
                );
                next = next.max(first_sn + u64::from(pdus));
            }
            Event::RlcSdu { direction: Dir::Downlink, first_sn, .. } => {
                told.insert(first_sn / 4096);
            }
            _ => {}
        }
    }
    assert!(told.len() > 3, "{told:?}");
}

#[test]
#[ignore = "slow"]
fn places_have_the_names_of_their_reports() {
    for (name, text) in BUNDLED {
        let scenario = Scenario::parse(text, &[]).unwrap();
        let path = scenario.path();
        let observe = Observe { probes: ProbeMask::ALL, capture: Capture::Packets };
        let mut simulation = Simulation::new(&scenario, 1, observe);
        // So far that the assertions of a debug build see something of each (tests/runs/test_trajectories.py: release).
        simulation.advance_to(Instant::ZERO + Duration::from_millis(500));
        let results = serde_json::to_value(simulation.results()).unwrap();
        let reported: Vec<&str> = results["elements"]
            .as_array()
            .unwrap()
            .iter()
            .map(|each| each["element"].as_str().unwrap())
            .collect();
        // The core network reports at the place of the link; nodes of a scenario with several cells have names.
        let kinds = path[1..path.len() - 1].iter().map(|each| each.split(' ').next().unwrap());
        let named: Vec<&str> = kinds.flat_map(|each| each.split('+')).collect();
        assert_eq!(reported, named, "{name}");
    }
}
