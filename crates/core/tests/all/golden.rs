//! Every event of the bundled scenarios, as one number: whatever changes a behaviour, on purpose or
//! not, on this platform or another, changes it.
//!
//! Of each scenario there is also a hash for each kind of event in each sixteenth of its duration, which says where a
//! difference is.
//!
//! After a change on purpose: say in the change log what changed and why, and take the new numbers over
//! with `cargo insta review` (or from the message of the failing test).

use airpath_core::element::Capture;
use airpath_core::radio;
use airpath_core::scenario::{BUNDLED, Scenario};
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Event, ProbeMask, Value};
use std::collections::BTreeMap;

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
const LONG: [&str; 9] = [
    "chan-variable-delay",
    "chan-variable-delay-ar",
    "chan-variable-rate-ar",
    "hdr-4",
    "hdr-4-ar",
    "nr-fdd-15mhz-shared",
    "nr-n41-100mhz-call",
    "nr-n78-100mhz",
    "nr-n78-20mhz-private",
];

#[test]
fn trajectories_are_the_same_everywhere() {
    insta::assert_snapshot!(trajectories(false), @"
    alcaraz-384: ends at 60000000000 ns, 32903 events 32c64190a80b0b03, capture 0b93c45b97a67b69
    alcaraz-384-ack-rate: ends at 60000000000 ns, 34122 events fe760b6e07c242ba, capture 3ea37690c867b2a3
    alcaraz-384-combined-1: ends at 60000000000 ns, 35753 events f73aee8d148ec895, capture fc292cd9eed77aea
    alcaraz-384-combined-2: ends at 60000000000 ns, 38077 events 277130abde02aaf4, capture 978e02177d431c29
    alcaraz-384-pdpc: ends at 60000000000 ns, 31200 events 842f7c278e5de2aa, capture fbd0afd0e40d9859
    chan-3g1x: ends at 115518769011 ns, 14571 events 67f6e01dc9da4f24, capture f39cf1037fec2580
    chan-variable-rate: ends at 3600000000000 ns, 832062 events a33d293cd44b45af, capture c593701939fa4028
    hdr-single: ends at 600000000000 ns, 367911 events 23594062aae883a9, capture 6fbf4f23ec52b21a
    hdr-single-ar: ends at 600000000000 ns, 677226 events 2146c04ae22a512d, capture b5cf3715c17bffa8
    hsdpa-3.6: ends at 60000000000 ns, 173666 events c430548288ccfd5c, capture 4343c18a77e79af1
    hsdpa-7.2: ends at 60000000000 ns, 244043 events 0793294f6d5da12f, capture 3c9e4db6ca916932
    hsdpa-7.2-4ue: ends at 60000000000 ns, 380719 events 5f315cf3d71c8bc8, capture 9a3a534556d6e324
    jayanathan-46: ends at 460725371775 ns, 21552 events a05af9f2c3cc79b3, capture b689c608116438fc
    lte-10mhz: ends at 20000000000 ns, 472506 events 7ab250cb411f1be9, capture c65a77d9ae6c0f9d
    lte-10mhz-10ue: ends at 20000000000 ns, 670254 events d64807fc68165322, capture dd87924ed81a4e71
    lte-5mhz: ends at 30000000000 ns, 409279 events 9a847e6cd30eb56c, capture 685c997dbb872a94
    lte-drive: ends at 40000000000 ns, 387864 events 5a4c0cbd2f4480e3, capture c51faa92a5335a29
    lundsten-384-576: ends at 5140000000 ns, 2452 events 6fedf9201829bd3f, capture 7e9698462999e73a
    lundsten-dch: ends at 1175340000000 ns, 402792 events c423767a724f48e9, capture db1954db499dda6c
    two-cells: ends at 30000000000 ns, 781916 events cd1320e3ef5250f1, capture adf79513fe3e1086
    umts-128: ends at 77030004160 ns, 22585 events db648a3169078584, capture ed7edff736876bd2
    umts-128-simple: ends at 72535637920 ns, 12881 events 78f0ecb9e8db7f7e, capture 713e4a0654663433
    umts-384: ends at 50030004160 ns, 32229 events 2d934a14c441f10c, capture 564039ccaa826587
    umts-384-simple: ends at 48695637920 ns, 18836 events 4e4a479a42ffa8cd, capture fc222bcbebd273fe
    umts-64: ends at 75870004160 ns, 16467 events 723d914eff21599b, capture e1e347ffdf816744
    umts-64-simple: ends at 72535637920 ns, 8641 events ad320b47d8b06df7, capture 013bffaf715b7d24
    umts-handover: ends at 60000000000 ns, 39670 events d49c0d3d887f9569, capture fe9f58057bcb7c9c
    umts-network: ends at 47460387200 ns, 36145 events 65efce9e251dc89f, capture c3da0ad86b676dd7
    umts-snoop: ends at 66390003200 ns, 13242 events 1d141df19c4ba7eb, capture e9f6d45a168a7b35
    variable-3g: ends at 42935004160 ns, 9355 events cf05e38291ff81d0, capture c3acf12be1641e29
    zhang-dch: ends at 641129000000 ns, 225872 events b5ee2b7c6f9119a8, capture a4830f241928a4ee
    ");
}

#[test]
#[ignore = "slow"]
fn long_trajectories_are_the_same_everywhere() {
    insta::assert_snapshot!(trajectories(true), @"
    chan-variable-delay: ends at 3600000000000 ns, 777948 events 553885b644951c9d, capture d79cd5e145e58725
    chan-variable-delay-ar: ends at 3600000000000 ns, 1440172 events e1e3fbd6089b9583, capture 56d3c6dc9bd23cc9
    chan-variable-rate-ar: ends at 3600000000000 ns, 1323207 events 1b01fc24cfd70c36, capture cdf91b63416e06ee
    hdr-4: ends at 600000000000 ns, 532286 events 3dc29265ab175248, capture c272cbd7d84e124d
    hdr-4-ar: ends at 600000000000 ns, 1024527 events 6b8065aa56fd0dca, capture 157b9f077a0e37f2
    nr-n78-100mhz: ends at 2000000000 ns, 1082117 events fbe735a717508816, capture 426e5aaa5a57aad4
    ");
}

/// A run is divided into so many sections of the same length.
const SECTIONS: u64 = 16;

/// Hashes of the events of each kind in each section, so that a difference says what differs, and when.
struct Sections {
    length: Duration,
    hashes: BTreeMap<(u64, &'static str), Hash>,
}

impl Sections {
    fn of(duration: Duration) -> Self {
        Self { length: Duration::from_nanos(duration.as_nanos().div_ceil(SECTIONS)), hashes: BTreeMap::new() }
    }

    fn event(&mut self, at: Instant, event: &Event) {
        let section = at.as_nanos() / self.length.as_nanos();
        self.hashes.entry((section, event.kind().name())).or_insert_with(Hash::new).event(at, event);
    }

    /// A line for each section: its begin, and each kind with a hash.
    fn text(&self) -> String {
        let mut lines = BTreeMap::<u64, String>::new();
        for ((section, kind), hash) in &self.hashes {
            let line = lines
                .entry(*section)
                .or_insert_with(|| format!("{} s:", self.length.as_secs_f64() * *section as f64));
            *line += &format!(" {kind} {:04x}", hash.0 as u16);
        }
        lines.into_values().collect::<Vec<_>>().join("\n")
    }
}

fn trajectories(long: bool) -> String {
    let mut lines = Vec::new();
    for (name, scenario) in bundled() {
        if LONG.contains(&name.as_str()) != long {
            continue;
        }
        let mut simulation = Simulation::new(&scenario, 1, EVERYTHING);
        let (mut hash, mut events, mut captured) = (Hash::new(), 0, Hash::new());
        let mut sections = Sections::of(scenario.duration);
        let mut until = Instant::ZERO;
        let mut is_over = false;
        while !is_over {
            until += Duration::from_secs(20);
            is_over = simulation.advance_to(until);
            for (at, event) in simulation.take_trace() {
                hash.event(at, &event);
                sections.event(at, &event);
                events += 1;
            }
            captured.bytes(&simulation.take_capture());
        }
        let mut place = insta::Settings::clone_current();
        place.set_snapshot_path("golden");
        place.set_prepend_module_to_snapshot(false);
        place.set_omit_expression(true);
        place.bind(|| insta::assert_snapshot!(name.as_str(), sections.text()));
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
