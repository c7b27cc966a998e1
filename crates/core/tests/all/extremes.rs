//! Values at the limits of their keys: each is refused with its key, or the run continues without a panic.
//!
//! Arithmetic is checked in tests, so that a sum or a product that wraps is a panic here.

use airpath_core::scenario::{BUNDLED, Scenario};
use airpath_core::sim::{Observe, Simulation};
use airpath_core::time::{Duration, Instant};
use airpath_core::trace::ProbeMask;
use proptest::prelude::*;
use std::sync::LazyLock;

const DURATIONS: &[&str] = &["0 s", "1 ns", "1 us", "1 h", "100000000 s", "1000000000 s", "18446744073 s"];
const RATES: &[&str] = &["0 bit/s", "1 bit/s", "7 bit/s", "1000 Gbit/s", "18446744073 Gbit/s"];
const SIZES: &[&str] = &["0 B", "1 B", "4294967296 B", "9223372036854775808 B", "18446744073709551615 B"];
const FREQUENCIES: &[&str] = &["0 Hz", "1 mHz", "1000 MHz", "18446744073709551615 mHz"];
const PROBABILITIES: &[&str] = &["0 %", "0.0000000000000001 %", "100 %"];
const RATIOS: &[&str] = &["0 dB", "-400 dB", "400 dB", "1000000 dB"];
const WHOLE: &[&str] =
    &["-1", "0", "1", "2", "255", "256", "65535", "65536", "4294967295", "4294967296", "9223372036854775807"];
const REAL: &[&str] = &["-1e308", "0.0", "5e-324", "1e-300", "1e308", "nan", "inf"];

/// Trace entries after which a run has gone far enough.
const ENOUGH: usize = 3000;

/// Simulated time after which it has, too.
const LONG_ENOUGH: Instant = Instant::from_nanos(100_000_000_000);

/// Keys, each with the values that it may be set to.
type Keys = Vec<(String, &'static [&'static str])>;

/// Text and keys of each bundled scenario.
static KEYS: LazyLock<Vec<(&str, Keys)>> = LazyLock::new(|| {
    let keys = |(_, text): &(&'static str, &'static str)| {
        let resolved = Scenario::parse(text, &[]).unwrap().to_toml().unwrap();
        let mut keys = Vec::new();
        collect("", &toml::Value::Table(resolved.parse().unwrap()), &mut keys);
        (*text, keys)
    };
    BUNDLED.iter().map(keys).collect()
});

fn collect(path: &str, value: &toml::Value, keys: &mut Keys) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let extremes = match value {
        toml::Value::Table(table) => {
            return table.iter().for_each(|(key, part)| collect(&below(key), part, keys));
        }
        toml::Value::Array(all) => {
            return all.iter().enumerate().for_each(|(n, part)| collect(&below(&n.to_string()), part, keys));
        }
        toml::Value::Integer(_) => WHOLE,
        toml::Value::Float(_) => REAL,
        toml::Value::String(text) => match text.split_once(' ').map(|(_, unit)| unit) {
            Some("s" | "ms" | "us" | "ns" | "min" | "h") => DURATIONS,
            Some("bit/s" | "kbit/s" | "Mbit/s" | "Gbit/s") => RATES,
            Some("B" | "kB" | "MB" | "GB" | "KiB" | "MiB") => SIZES,
            Some("Hz" | "mHz" | "kHz" | "MHz") => FREQUENCIES,
            Some("%") => PROBABILITIES,
            Some("dB") => RATIOS,
            _ => return,
        },
        _ => return,
    };
    keys.push((path.to_owned(), extremes));
}

/// Runs a scenario until enough has happened, however much happens at a time, or little for long.
fn run(scenario: &Scenario) {
    let mut simulation =
        Simulation::new(scenario, 1, Observe { probes: ProbeMask::ALL, ..Observe::default() });
    let mut step = Duration::from_nanos(1);
    while simulation.recorded() < ENOUGH && simulation.now() < LONG_ENOUGH {
        if simulation.advance_to(simulation.now() + step) {
            break;
        }
        step = step.saturating_mul(2);
    }
    assert!((0.0..=1.0).contains(&simulation.progress()));
    assert!(simulation.results().to_json().starts_with('{'));
}

fn at_extremes() -> impl Strategy<Value = (usize, Vec<(usize, usize)>)> {
    (any::<usize>(), prop::collection::vec((any::<usize>(), any::<usize>()), 1..4))
}

fn check(scenario: usize, changes: &[(usize, usize)]) {
    let (text, keys) = &KEYS[scenario % KEYS.len()];
    let set: Vec<(String, String)> = changes
        .iter()
        .map(|(key, value)| {
            let (path, values) = &keys[key % keys.len()];
            (path.clone(), values[value % values.len()].to_owned())
        })
        .collect();
    match Scenario::parse(text, &set) {
        Ok(changed) => run(&changed),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

#[test]
fn arithmetic_is_checked_here() {
    let wraps = || std::hint::black_box(u64::MAX) + std::hint::black_box(1);
    assert!(std::panic::catch_unwind(wraps).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn extreme_values_are_refused_or_run((scenario, changes) in at_extremes()) {
        check(scenario, &changes);
    }
}
