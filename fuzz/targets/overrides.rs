//! Values set over bundled scenarios: each is refused with the key that is wrong, or makes a scenario that can be
//! written and reads the same.
#![no_main]

use airpath_core::scenario::{BUNDLED, Scenario};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// All keys that a bundled scenario has once it is resolved.
static KEYS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut keys = Vec::new();
    for (name, text) in BUNDLED {
        let resolved = Scenario::parse(text, &[]).and_then(|scenario| scenario.to_toml());
        let resolved = resolved.unwrap_or_else(|error| panic!("{name}: {error}"));
        collect("", &resolved.parse().expect("a resolved scenario is TOML"), &mut keys);
    }
    keys.sort_unstable();
    keys.dedup();
    keys
});

fn collect(path: &str, table: &toml::Table, keys: &mut Vec<String>) {
    for (key, value) in table {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if let toml::Value::Table(table) = value {
            collect(&path, table, keys);
        }
        keys.push(path);
    }
}

#[derive(Arbitrary, Debug)]
enum Key<'a> {
    Known(u16),
    /// Below a known one.
    Below(u16, &'a str),
    Any(&'a str),
}

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    scenario: u8,
    set: Vec<(Key<'a>, &'a str)>,
}

fuzz_target!(|input: Input<'_>| {
    let known = |number: u16| &KEYS[usize::from(number) % KEYS.len()];
    let set: Vec<(String, String)> = input
        .set
        .into_iter()
        .take(8)
        .map(|(key, value)| {
            let key = match key {
                Key::Known(number) => known(number).clone(),
                Key::Below(number, key) => format!("{}.{key}", known(number)),
                Key::Any(key) => key.to_owned(),
            };
            (key, value.to_owned())
        })
        .collect();
    let (_, text) = BUNDLED[usize::from(input.scenario) % BUNDLED.len()];
    match Scenario::parse(text, &set) {
        Ok(scenario) => {
            let resolved = scenario.to_toml().expect("what was read can be written");
            let again = Scenario::parse(&resolved, &[]).expect("the resolved form can be read");
            assert_eq!(again, scenario);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
