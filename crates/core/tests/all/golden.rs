//! Every event of the bundled scenarios, as one number: whatever changes a behaviour, on purpose or
//! not, on this platform or another, changes it.
//!
//! After a change on purpose: say in the change log what changed and why, and take the new numbers over
//! with `cargo insta review` (or from the message of the failing test).

use airpath_core::element::Capture;
use airpath_core::radio;
use airpath_core::scenario::{BUNDLED, Scenario};
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, ProbeMask, Value};

const EVERYTHING: Observe = Observe { probes: ProbeMask::ALL, capture: Capture::Packets };

/// The bundled scenarios by name, sorted.
pub fn bundled() -> Vec<(String, Scenario)> {
    BUNDLED.iter().map(|(name, text)| (name.to_string(), Scenario::parse(text, &[]).unwrap())).collect()
}

/// Of a bundled scenario, when most that can happen has happened. Shared cells have many events in a second.
pub fn quick(scenario: &Scenario) -> Duration {
    let moves = !scenario.handover.is_empty();
    Duration::from_millis(match scenario.radio {
        radio::Config::Nr(_) => 300,
        radio::Config::Lte(_) | radio::Config::Hsdpa(_) if !moves => 5000,
        _ => 20_000,
    })
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

/// Those with the most events; of their kind `chan-variable-rate` and `hdr-single-ar` are checked always.
const LONG: [&str; 6] = [
    "chan-variable-delay",
    "chan-variable-delay-ar",
    "chan-variable-rate-ar",
    "hdr-4",
    "hdr-4-ar",
    "nr-n78-100mhz",
];

#[test]
fn trajectories_are_the_same_everywhere() {
    insta::assert_snapshot!(trajectories(false), @"
    alcaraz-384: ends at 60000000000 ns, 32903 events a878236b136b41b7, capture 0b93c45b97a67b69
    alcaraz-384-ack-rate: ends at 60000000000 ns, 34122 events a414834b0e7d1133, capture 3ea37690c867b2a3
    alcaraz-384-combined-1: ends at 60000000000 ns, 35753 events 75aeb36dc1ada38c, capture fc292cd9eed77aea
    alcaraz-384-combined-2: ends at 60000000000 ns, 38077 events cfc9a122678a43c5, capture 978e02177d431c29
    alcaraz-384-pdpc: ends at 60000000000 ns, 31200 events 26bf23b4c57fa1ee, capture fbd0afd0e40d9859
    chan-3g1x: ends at 115518769011 ns, 14571 events 49d09a825faced2b, capture f39cf1037fec2580
    chan-variable-rate: ends at 3600000000000 ns, 832062 events cdcc09cc1da546ae, capture c593701939fa4028
    hdr-single: ends at 600000000000 ns, 367911 events 2a161e1862eedb31, capture 6fbf4f23ec52b21a
    hdr-single-ar: ends at 600000000000 ns, 677226 events b565005bf5b8cb73, capture b5cf3715c17bffa8
    hsdpa-3.6: ends at 60000000000 ns, 177550 events c7bfbfdc22261c81, capture a2029e117235cceb
    hsdpa-7.2: ends at 60000000000 ns, 246647 events fdcfa6f9eb98670b, capture 99cea5f42ef57530
    hsdpa-7.2-4ue: ends at 60000000000 ns, 382063 events dc7ea02398ddc712, capture 06c0d90f2855c082
    jayanathan-46: ends at 460725371775 ns, 21552 events 3581b606cf94de3c, capture b689c608116438fc
    lte-10mhz: ends at 20000000000 ns, 475706 events 0388ebcf9110a21b, capture 9c3c07c6e081c93c
    lte-10mhz-10ue: ends at 20000000000 ns, 671083 events a7f7d0ee3bb5a87d, capture ec4174fed3c8ea92
    lte-5mhz: ends at 30000000000 ns, 407094 events 3f1e1035f4b9d9e4, capture bfff6018848382d6
    lte-drive: ends at 40000000000 ns, 383246 events fdea80d91a640672, capture 86aa6c687cfe74c2
    lundsten-384-576: ends at 5140000000 ns, 2452 events 3376de0a22a32cb8, capture 7e9698462999e73a
    lundsten-dch: ends at 1175340000000 ns, 402792 events 4c72f8ac3ca46f2c, capture db1954db499dda6c
    two-cells: ends at 30000000000 ns, 783072 events d951de9eb8ce20a3, capture b5e37679f4c5b7d2
    umts-128: ends at 77210004160 ns, 22515 events fb5b1b6b1a5753d2, capture a0f9de7b1c396c0b
    umts-128-simple: ends at 72535763680 ns, 12708 events 90b6fd6ad2454e59, capture b2bfd943eb4cfa0c
    umts-384: ends at 49150004160 ns, 33560 events 9523b6aeb5e2e98d, capture ecbb6fbcc67fb346
    umts-384-simple: ends at 48695737920 ns, 19526 events caf90139c85d9e44, capture 2747b70bcd527afc
    umts-64: ends at 74550012480 ns, 16419 events 877641cb88724fae, capture c5788cbd7561eee9
    umts-64-simple: ends at 72535637920 ns, 8613 events 4a97045ed1dcf965, capture 8d181fc0280afa77
    umts-handover: ends at 60000000000 ns, 39561 events 7d010f7075f4ebe1, capture fe9f58057bcb7c9c
    umts-network: ends at 47460387200 ns, 36145 events 7f9d74ef7d0e4428, capture c3da0ad86b676dd7
    umts-snoop: ends at 66390003200 ns, 13239 events 08156fdfc87913d3, capture e9f6d45a168a7b35
    variable-3g: ends at 43075004160 ns, 9712 events 48a4b205a8cad75e, capture b05d950a3cd12486
    zhang-dch: ends at 641129000000 ns, 225872 events 86bfb17d54415132, capture a4830f241928a4ee
    ");
}

#[test]
#[ignore = "slow"]
fn long_trajectories_are_the_same_everywhere() {
    insta::assert_snapshot!(trajectories(true), @"
    chan-variable-delay: ends at 3600000000000 ns, 777948 events 0295bc27c97b4c5f, capture d79cd5e145e58725
    chan-variable-delay-ar: ends at 3600000000000 ns, 1440172 events fff66647012b7536, capture 56d3c6dc9bd23cc9
    chan-variable-rate-ar: ends at 3600000000000 ns, 1323207 events 22f79cc68e49b794, capture cdf91b63416e06ee
    hdr-4: ends at 600000000000 ns, 532286 events cd3a245b0e769e8d, capture c272cbd7d84e124d
    hdr-4-ar: ends at 600000000000 ns, 1024527 events eb47b4fa74b4055d, capture 157b9f077a0e37f2
    ");
}

fn trajectories(long: bool) -> String {
    let mut lines = Vec::new();
    for (name, scenario) in bundled() {
        if LONG.contains(&name.as_str()) != long {
            continue;
        }
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
    lines.join("\n")
}

/// Probes and captures tell, and change nothing; nor does it matter in how many steps a run is made, or
/// that somebody asks for results in between.
#[test]
#[ignore = "slow"]
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
