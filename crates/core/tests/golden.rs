//! Every event of the bundled scenarios, as one number: whatever changes a behaviour, on purpose or
//! not, on this platform or another, changes it.
//!
//! After a change on purpose: say in the change log what changed and why, and take the new numbers over
//! with `cargo insta review` (or from the message of the failing test).
#![allow(clippy::unwrap_used)]

use airpath_core::element::Capture;
use airpath_core::scenario::Scenario;
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, ProbeMask, Value};
use std::fs;
use std::path::Path;

const EVERYTHING: Observe = Observe { probes: ProbeMask::ALL, capture: Capture::Packets };

/// The bundled scenarios by name, sorted.
fn bundled() -> Vec<(String, Scenario)> {
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
    alcaraz-384-ack-rate: ends at 60000000000 ns, 28048 events 7d6c4a3e14a95377, capture d6be970d287b2a95
    alcaraz-384-combined-1: ends at 60000000000 ns, 28221 events 226d55e8baf8403c, capture 9dfe08e72237ceb6
    alcaraz-384-combined-2: ends at 60000000000 ns, 27895 events c1fed035c205b722, capture a3b672ab69359716
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
    jayanathan-48: ends at 442615039707 ns, 10301 events dece64dfaf66279c, capture d59cee05c6b817f1
    lundsten-384-576: ends at 5140000000 ns, 1396 events 9239a1e5826153f5, capture 59a7feace5f554e6
    lundsten-dch: ends at 1175340000000 ns, 232476 events 4b50f044e0275eaf, capture a445c7168c06ba00
    umts-128: ends at 73890004160 ns, 17239 events 81b777b29654ea41, capture 5afe75180e51d9cd
    umts-128-simple: ends at 72535637920 ns, 9065 events 6b043b30f11d0a58, capture b542c7564315cea7
    umts-384: ends at 49610004160 ns, 23874 events a808c6d42e429e16, capture 4f396b990def6a2d
    umts-384-simple: ends at 48695637920 ns, 11842 events adf683b517a63c40, capture 98b9ced07c925cbb
    umts-64: ends at 74790004160 ns, 13609 events 7d05b66527f39bc0, capture 9070052ae76fb9bb
    umts-64-simple: ends at 72535637920 ns, 6465 events ef275c4c877cb3b1, capture 7c6366e4d14202f2
    umts-handover: ends at 60000000000 ns, 27147 events 836fa48a4b038803, capture 7b7dde3f6d8a2117
    umts-network: ends at 47460387200 ns, 24126 events 4436aab2a22d4202, capture 740d91eb4e8615bc
    umts-snoop: ends at 66390003200 ns, 10074 events 406bd0dd85bf20ef, capture d50f437b82b3e9de
    variable-3g: ends at 42995004160 ns, 5184 events f4562ff9585b7ec9, capture c1a9f25eeabc2bb2
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
