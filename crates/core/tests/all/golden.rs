//! Every event of the bundled scenarios, as one number: whatever changes a behaviour, on purpose or
//! not, on this platform or another, changes it.
//!
//! After a change on purpose: say in the change log what changed and why, and take the new numbers over
//! with `cargo insta review` (or from the message of the failing test).

use airpath_core::element::Capture;
use airpath_core::scenario::{BUNDLED, Scenario};
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, ProbeMask, Value};

const EVERYTHING: Observe = Observe { probes: ProbeMask::ALL, capture: Capture::Packets };

/// The bundled scenarios by name, sorted.
pub fn bundled() -> Vec<(String, Scenario)> {
    BUNDLED.iter().map(|(name, text)| (name.to_string(), Scenario::parse(text, &[]).unwrap())).collect()
}

/// Scenarios without anything random: all that varies is written in a trace.
const DRAWS_NOTHING: [&str; 1] = ["variable-3g"];

/// FNV-1a with 64 bits: short, and not in need of strength.
struct Hash(u64);

impl Hash {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn event(&mut self, at: Instant, event: &Event) {
        self.bytes(&at.as_nanos().to_le_bytes());
        self.bytes(event.kind().name().as_bytes());
        event.values(|value| match value {
            Value::Number(number) => self.bytes(&number.to_le_bytes()),
            Value::Word(word) => self.bytes(word.as_bytes()),
        });
    }
}

#[test]
fn the_hash_is_the_published_one() {
    // Test vectors of Noll's reference.
    for (text, expected) in [("", 0xcbf2_9ce4_8422_2325), ("foobar", 0x8594_4171_f739_67e8)] {
        let mut hash = Hash::new();
        hash.bytes(text.as_bytes());
        assert_eq!(hash.0, expected);
    }
}

#[test]
fn trajectories_are_the_same_everywhere() {
    let mut lines = Vec::new();
    for (name, scenario) in bundled() {
        let mut simulation = Simulation::new(&scenario, 1, EVERYTHING);
        let (mut hash, mut events, mut captured) = (Hash::new(), 0, Hash::new());
        let mut until = Instant::ZERO;
        let mut is_over = false;
        while !is_over {
            until += Duration::from_secs(20);
            is_over = simulation.advance_to(until);
            for (at, event) in simulation.take_trace() {
                hash.event(at, &event);
                events += 1;
            }
            captured.bytes(&simulation.take_capture());
        }
        let end = simulation.now().as_nanos();
        lines.push(format!(
            "{name}: ends at {end} ns, {events} events {:016x}, capture {:016x}",
            hash.0, captured.0
        ));
    }
    insta::assert_snapshot!(lines.join("\n"), @"
    alcaraz-384: ends at 60000000000 ns, 32903 events a878236b136b41b7, capture ae9cfbaa9352d4ef
    alcaraz-384-ack-rate: ends at 60000000000 ns, 34122 events a414834b0e7d1133, capture 6b9f9ac5f69e508e
    alcaraz-384-combined-1: ends at 60000000000 ns, 35753 events 75aeb36dc1ada38c, capture a72bc3588b106fc9
    alcaraz-384-combined-2: ends at 60000000000 ns, 38077 events cfc9a122678a43c5, capture 533d84f5e93d8b56
    alcaraz-384-pdpc: ends at 60000000000 ns, 31200 events 26bf23b4c57fa1ee, capture 7dbd5d0931cb49dc
    chan-3g1x: ends at 115518769011 ns, 14571 events 9a5270ad85ee114b, capture e74ee11e0f921641
    chan-variable-delay: ends at 3600000000000 ns, 777948 events 0295bc27c97b4c5f, capture 40eb0c5bd1ddaa86
    chan-variable-delay-ar: ends at 3600000000000 ns, 1440172 events fff66647012b7536, capture 076f791fcd8b03f7
    chan-variable-rate: ends at 3600000000000 ns, 832062 events cdcc09cc1da546ae, capture 6bba34c6004b4d4d
    chan-variable-rate-ar: ends at 3600000000000 ns, 1323207 events 22f79cc68e49b794, capture 7e15418aaa039f7f
    hdr-4: ends at 600000000000 ns, 532286 events cd3a245b0e769e8d, capture b745a99af89bf7c6
    hdr-4-ar: ends at 600000000000 ns, 1024527 events eb47b4fa74b4055d, capture 2a7b680f70a2802b
    hdr-single: ends at 600000000000 ns, 367911 events 2a161e1862eedb31, capture 053511c8aa48621f
    hdr-single-ar: ends at 600000000000 ns, 677226 events b565005bf5b8cb73, capture 0ec95b8a55b14677
    hsdpa-3.6: ends at 60000000000 ns, 179167 events f10c023200e738c2, capture c9d912a24b160e3d
    hsdpa-7.2: ends at 60000000000 ns, 234657 events 0a77a73dd96255aa, capture e72f97bc42744336
    hsdpa-7.2-4ue: ends at 60000000000 ns, 394426 events d0b45bf6716c0926, capture 1420ffae0e5cdc27
    jayanathan-46: ends at 460725371775 ns, 21552 events 7fc9fa08126b4874, capture 478c8c57dd2c7873
    lte-10mhz: ends at 20000000000 ns, 416506 events 072357749c35f884, capture 62407916883ede8e
    lte-10mhz-10ue: ends at 20000000000 ns, 488765 events 5acad064ff9b301a, capture 79c69385250d0103
    lte-5mhz: ends at 30000000000 ns, 360789 events bddaae75e9814213, capture ab514e12247b4046
    lte-drive: ends at 40000000000 ns, 343115 events cd5631397da40507, capture ea181d99a7db14df
    lundsten-384-576: ends at 5140000000 ns, 2452 events 3376de0a22a32cb8, capture 59a7feace5f554e6
    lundsten-dch: ends at 1175340000000 ns, 402792 events 4c72f8ac3ca46f2c, capture a445c7168c06ba00
    umts-128: ends at 73850004160 ns, 22379 events fa3de140aa078e93, capture 392f76e60b6babab
    umts-128-simple: ends at 72535637920 ns, 13311 events f9af10c3858c8761, capture e091a33007ac1c61
    umts-384: ends at 49650014400 ns, 32464 events c5f7faf4679f6c7c, capture 76c7874ab0c73829
    umts-384-simple: ends at 48695737920 ns, 18874 events 1236d79c982127a7, capture 9bba56e715ad5895
    umts-64: ends at 82130004160 ns, 16479 events 6ccb7cbb648ba91d, capture 1a62a5fc8e615be3
    umts-64-simple: ends at 72752181440 ns, 8610 events 70202f0348238a80, capture f9433986b3e02a98
    umts-handover: ends at 60000000000 ns, 39561 events cdbc7f90745002d5, capture 7b7dde3f6d8a2117
    umts-network: ends at 47460387200 ns, 36145 events 3a90ff8e9234ad5a, capture 740d91eb4e8615bc
    umts-snoop: ends at 66390003200 ns, 13239 events 7b96fef1aff706d0, capture d50f437b82b3e9de
    variable-3g: ends at 42935004160 ns, 9117 events f305b5c6c2f50976, capture 245e2c0a735bc789
    zhang-dch: ends at 641129000000 ns, 225872 events 86bfb17d54415132, capture ebfa7df1b756fe31
    ");
}

/// Probes and captures tell, and change nothing; nor does it matter in how many steps a run is made, or
/// that somebody asks for results in between.
#[test]
fn observation_changes_nothing() {
    check_observation(Duration::from_secs(20));
}

#[test]
#[ignore = "slow"]
fn observation_changes_nothing_in_longer_runs() {
    check_observation(Duration::from_secs(90));
}

fn check_observation(longest: Duration) {
    for (name, mut scenario) in bundled() {
        scenario.duration = scenario.duration.min(longest);
        let mut plain = Simulation::new(&scenario, 1, Observe::default());
        plain.run();
        let expected = plain.results();
        assert!(plain.take_trace().is_empty() && plain.take_capture().is_empty());

        let mut observed = Simulation::new(&scenario, 1, EVERYTHING);
        let mut until = Instant::ZERO;
        while !observed.advance_to(until) {
            until += Duration::from_nanos(777_777_777);
            observed.results();
        }
        assert!(observed.results() == expected, "{name} changes when it is observed");
        assert!(!observed.take_trace().is_empty() && !observed.take_capture().is_empty());

        let mut other_seed = Simulation::new(&scenario, 2, Observe::default());
        other_seed.run();
        let is_same = other_seed.results().flows == expected.flows;
        assert_eq!(is_same, DRAWS_NOTHING.contains(&name.as_str()), "{name}: does the seed matter?");
    }
}
