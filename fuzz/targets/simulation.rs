//! Requests of a studio client: values set over bundled scenarios. Every valid scenario runs some thousand events
//! without stopping, with results and a chunk for the browser.
#![no_main]

use airpath_core::element::Capture;
use airpath_core::scenario::{BUNDLED, Scenario};
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::{Chunk, ProbeMask, Table};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// A run is over after this many events, and after this time.
const ENOUGH: usize = 5000;
const LONG: Duration = Duration::from_secs(60);

/// The keys of each bundled scenario once it is resolved, with their values.
static SCENARIOS: LazyLock<Vec<(&str, Vec<(String, String)>)>> = LazyLock::new(|| {
    let of = |(name, text): &(&'static str, &'static str)| {
        let resolved = Scenario::parse(text, &[]).and_then(|scenario| scenario.to_toml());
        let resolved = resolved.unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut keys = Vec::new();
        collect("", &resolved.parse().expect("a resolved scenario is TOML"), &mut keys);
        (*text, keys)
    };
    BUNDLED.iter().map(of).collect()
});

fn collect(path: &str, table: &toml::Table, keys: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match value {
            toml::Value::Table(table) => collect(&path, table, keys),
            toml::Value::Array(list) if list.iter().all(toml::Value::is_table) => {}
            _ => keys.push((path, value.to_string())),
        }
    }
}

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    scenario: u8,
    seed: u64,
    set: Vec<(u16, Value<'a>)>,
    capture: bool,
}

#[derive(Arbitrary, Debug)]
enum Value<'a> {
    /// The value that is there, with its number replaced.
    Number(u32),
    /// The value that another scenario has there.
    Other(u8),
    Switch(bool),
    /// A box on the path, or none.
    Box(u8),
    Any(&'a str),
}

const BOXES: [&str; 8] = [
    "[{freeze = {}}]",
    "[{ack_filter = {}}, {ack_pacing = {}}]",
    "[{ack_rate_control = {}}]",
    "[{ack_regulator = {}}]",
    "[{disturb = {downlink = {loss = \"10 %\", duplicate = \"10 %\", reorder = \"10 %\"}}}]",
    "[{rnc_feedback = {}}]",
    "[{snoop = {}}]",
    "[{split = {buffer = \"20 kB\"}}]",
];

impl Value<'_> {
    fn set(&self, key: &str, known: &str) -> Option<(String, String)> {
        let value = match self {
            Self::Number(number) => {
                let is_number = |character: char| character.is_ascii_digit() || character == '.';
                let start = known.find(|character: char| character.is_ascii_digit())?;
                let end = known[start..]
                    .find(|character| !is_number(character))
                    .map_or(known.len(), |at| start + at);
                format!("{}{number}{}", &known[..start], &known[end..])
            }
            Self::Other(scenario) => {
                let (_, keys) = &SCENARIOS[usize::from(*scenario) % SCENARIOS.len()];
                keys.iter().find(|(other, _)| other == key)?.1.clone()
            }
            Self::Switch(on) => on.to_string(),
            Self::Box(number) => {
                return Some(("middlebox".to_owned(), BOXES[usize::from(*number) % BOXES.len()].to_owned()));
            }
            Self::Any(value) => (*value).to_owned(),
        };
        Some((key.to_owned(), value))
    }
}

fuzz_target!(|input: Input<'_>| {
    let (text, keys) = &SCENARIOS[usize::from(input.scenario) % SCENARIOS.len()];
    let set = input.set.iter().take(6).filter_map(|(number, value)| {
        let (key, known) = &keys[usize::from(*number) % keys.len()];
        value.set(key, known)
    });
    let set: Vec<(String, String)> = set.collect();
    let Ok(scenario) = Scenario::parse(text, &set) else { return };
    // A cell of thousands is slow and no error.
    if scenario.radio.ues() > 50 {
        return;
    }
    let capture = Capture::of(input.capture, input.capture, input.capture);
    let mut run = Simulation::new(&scenario, input.seed, Observe { probes: ProbeMask::ALL, capture });
    let mut until = Duration::from_nanos(1000);
    while !run.advance_to(Instant::ZERO + until) && run.recorded() < ENOUGH && until < LONG {
        until = until + until;
    }
    assert!((0.0..=1.0).contains(&run.progress()));
    let mut chunk = Chunk::new(false);
    Table::from_events(&run.take_trace()).iter().for_each(|table| chunk.add_table(table));
    assert!(!chunk.finish().is_empty());
    run.take_capture();
    let results = run.results();
    assert!(
        serde_json::from_str::<serde_json::Value>(&results.to_json()).is_ok_and(|value| value.is_object())
    );
});
