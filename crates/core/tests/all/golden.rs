//! Every event of the bundled scenarios, as one number: whatever changes a behaviour, on purpose or
//! not, on this platform or another, changes it.
//!
//! After a change on purpose: say in the change log what changed and why, and take the new numbers over
//! with `cargo insta review` (or from the message of the failing test).

use airpath_core::element::Capture;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, ProbeMask, Value};
use std::fs;
use std::path::Path;

const EVERYTHING: Observe = Observe { probes: ProbeMask::ALL, capture: Capture::Packets };

/// The bundled scenarios by name, sorted.
pub fn bundled() -> Vec<(String, Scenario)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/airpath/scenarios");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "toml") {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            found.push((name, Scenario::parse(&fs::read_to_string(&path).unwrap(), &[]).unwrap()));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    assert!(found.len() >= 4, "only {} scenarios were found", found.len());
    found
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
    alcaraz-384: ends at 60000000000 ns, 24648 events 8a77a4e5c9db1568, capture ae9cfbaa9352d4ef
    alcaraz-384-ack-rate: ends at 60000000000 ns, 24471 events 67c6499f32878809, capture 6b9f9ac5f69e508e
    alcaraz-384-combined-1: ends at 60000000000 ns, 25717 events 0b48821ed6fbc5b2, capture a72bc3588b106fc9
    alcaraz-384-combined-2: ends at 60000000000 ns, 27043 events aff20736dacd8339, capture 533d84f5e93d8b56
    alcaraz-384-pdpc: ends at 60000000000 ns, 23396 events 4b1b18243c4db832, capture 7dbd5d0931cb49dc
    chan-3g1x: ends at 115518769011 ns, 8325 events 48869cf1dfcae18f, capture e74ee11e0f921641
    chan-variable-delay: ends at 3600000000000 ns, 421038 events 5e12d074af40a224, capture 40eb0c5bd1ddaa86
    chan-variable-delay-ar: ends at 3600000000000 ns, 775260 events 51f5dc30260596a0, capture 076f791fcd8b03f7
    chan-variable-rate: ends at 3600000000000 ns, 450298 events 57c2f772f330a21f, capture 6bba34c6004b4d4d
    chan-variable-rate-ar: ends at 3600000000000 ns, 720952 events 861e9db6f47ce8ce, capture 7e15418aaa039f7f
    hdr-4: ends at 600000000000 ns, 289184 events b6bef581f681bea5, capture b745a99af89bf7c6
    hdr-4-ar: ends at 600000000000 ns, 559600 events ee5824af4b8e198d, capture 2a7b680f70a2802b
    hdr-single: ends at 600000000000 ns, 198859 events e07535b09dbb470a, capture 053511c8aa48621f
    hdr-single-ar: ends at 600000000000 ns, 363623 events 42475f8eecc409bb, capture 0ec95b8a55b14677
    jayanathan-46: ends at 460725371775 ns, 10301 events bda0801e822a96c4, capture 478c8c57dd2c7873
    lundsten-384-576: ends at 5140000000 ns, 1396 events 9239a1e5826153f5, capture 59a7feace5f554e6
    lundsten-dch: ends at 1175340000000 ns, 232476 events 4b50f044e0275eaf, capture a445c7168c06ba00
    umts-128: ends at 73850004160 ns, 17193 events 8852f69c9e8b1589, capture 392f76e60b6babab
    umts-128-simple: ends at 72535637920 ns, 9130 events 7ab374df5f97c129, capture e091a33007ac1c61
    umts-384: ends at 49650014400 ns, 23760 events c348b7091bcae7fa, capture 76c7874ab0c73829
    umts-384-simple: ends at 48695737920 ns, 11810 events 33d50f3d89bd1a38, capture 9bba56e715ad5895
    umts-64: ends at 82130004160 ns, 13667 events a50efdea8dcde07d, capture 1a62a5fc8e615be3
    umts-64-simple: ends at 72752181440 ns, 6448 events 97d73efe520aada8, capture f9433986b3e02a98
    umts-handover: ends at 60000000000 ns, 27147 events 836fa48a4b038803, capture 7b7dde3f6d8a2117
    umts-network: ends at 47460387200 ns, 24126 events 4436aab2a22d4202, capture 740d91eb4e8615bc
    umts-snoop: ends at 66390003200 ns, 10074 events 406bd0dd85bf20ef, capture d50f437b82b3e9de
    variable-3g: ends at 42935004160 ns, 5180 events 9a50434b41c7fb9b, capture 245e2c0a735bc789
    zhang-dch: ends at 641129000000 ns, 136091 events 3503830938838bbb, capture ebfa7df1b756fe31
    ");
}

/// Probes and captures tell, and change nothing; nor does it matter in how many steps a run is made, or
/// that somebody asks for results in between.
#[test]
fn observation_changes_nothing() {
    for (name, mut scenario) in bundled() {
        scenario.duration = scenario.duration.min(Duration::from_secs(90));
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
