//! Packets can be followed by what probes tell: from place to place on the path, and through the PDUs of RLC.

use crate::golden::bundled;
use airpath_core::packet::Dir;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, ProbeMask};
use serde_json::Value;
use std::collections::HashMap;

fn traced(scenario: &Scenario) -> (Vec<(Instant, Event)>, Value) {
    let observe = Observe { probes: ProbeMask::ALL, ..Observe::default() };
    let mut simulation = Simulation::new(scenario, 1, observe);
    simulation.run();
    (simulation.take_trace(), serde_json::to_value(simulation.results()).unwrap())
}

fn named(name: &str) -> Scenario {
    bundled().into_iter().find(|(known, _)| known == name).unwrap().1
}

/// SDUs of a direction: when the buffer took them in, when they were handed up, and with which PDUs.
#[derive(Default)]
struct Sdus {
    entered: usize,
    delivered: Vec<Instant>,
    /// Sequence numbers count on behind 4096 here.
    pdus: Vec<(usize, u64, u64)>,
    /// When the PDUs of a sequence number began on the air, for the first time with success.
    arrives: HashMap<u64, Instant>,
}

/// The number with this remainder that is closest to another one.
fn unwrapped(near: u64, remainder: u64, modulus: u64) -> u64 {
    let ahead = (remainder + modulus - near % modulus) % modulus;
    if ahead < modulus / 2 || near + ahead < modulus { near + ahead } else { near + ahead - modulus }
}

impl Sdus {
    fn of(trace: &[(Instant, Event)], wanted: Dir, modulus: u64) -> Self {
        let (mut sdus, mut newest) = (Self::default(), 0);
        for &(at, event) in trace {
            match event {
                Event::BearerEnqueued { direction, .. } if direction == wanted => sdus.entered += 1,
                Event::BearerDelivered { direction, .. } if direction == wanted => sdus.delivered.push(at),
                Event::RlcData { direction, first_sn, pdus, lost, .. } if direction == wanted => {
                    let first = unwrapped(newest, first_sn.into(), modulus);
                    newest = newest.max(first);
                    for sn in first..first + u64::from(pdus) {
                        if !lost {
                            sdus.arrives.entry(sn).or_insert(at);
                        }
                    }
                }
                Event::RlcSdu { direction, sdu, first_sn, pdus, .. } if direction == wanted => {
                    let first = unwrapped(newest, first_sn.into(), modulus);
                    sdus.pdus.push((sdu as usize, first, first + u64::from(pdus)));
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
        let sdus = Sdus::of(&trace, dir, 4096);
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
        let sdus = Sdus::of(&trace, Dir::Downlink, if rlc.starts_with("um") { 128 } else { 4096 });
        let whole = sdus.pdus.iter().filter(|&&pdus| sdus.complete(pdus, Duration::ZERO).is_some()).count();
        assert!(sdus.pdus.is_sorted() && sdus.pdus.len() > 100, "{rlc}: {}", sdus.pdus.len());
        assert!(sdus.delivered.len() < sdus.pdus.len(), "{rlc}: something is lost");
        // What is still on the air at the end is not delivered.
        let delivered = results["elements"][1]["ues"][0]["downlink"]["sdus_delivered"].as_u64().unwrap();
        assert!(whole as u64 - delivered < 4, "{rlc}: {whole} {delivered}");
    }
}

/// What arrives at a place goes on to the next one, or is dropped, or was made where the box stands.
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
    // Server, link, cell, UE. The run ends when the transfer is complete: something may be on its way.
    assert!(arrived(1, Dir::Downlink) - arrived(2, Dir::Downlink) < 3 && dropped(2, Dir::Downlink) > 0);
    assert_eq!(
        arrived(2, Dir::Downlink),
        arrived(3, Dir::Downlink) + dropped(2, Dir::Downlink) + held("downlink")
    );
    assert_eq!(arrived(2, Dir::Uplink), arrived(1, Dir::Uplink) + dropped(2, Dir::Uplink) + held("uplink"));
    assert!(arrived(1, Dir::Uplink) - arrived(0, Dir::Uplink) < 3 && dropped(1, Dir::Uplink) == 0);
    assert_eq!((arrived(0, Dir::Downlink), arrived(3, Dir::Uplink)), (0, 0));
}

#[test]
fn a_dropped_packet_is_the_one_that_had_arrived_there() {
    for name in ["umts-384", "alcaraz-384"] {
        let (trace, _) = traced(&named(name));
        let mut arrived = Vec::new();
        let mut drops = 0;
        for (_, event) in trace {
            match event {
                Event::Packet { ue, flow, direction, element, seq, len_bytes, .. } => {
                    arrived.push((ue, flow, direction, element, seq, len_bytes));
                }
                Event::Dropped { ue, flow, direction, element, seq, len_bytes, .. } => {
                    assert!(
                        arrived.contains(&(ue, flow, direction, element, seq, len_bytes)),
                        "{name} {seq}"
                    );
                    drops += 1;
                }
                _ => {}
            }
        }
        assert!(drops > 0, "{name}");
    }
}

#[test]
fn places_have_the_names_of_their_reports() {
    for (name, scenario) in bundled() {
        let path = scenario.path();
        let mut simulation = Simulation::new(&scenario, 1, Observe::default());
        simulation.advance_to(Instant::ZERO + Duration::from_millis(1));
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
