//! Text as a scenario: whatever it says is refused with a reason or read, and what was read can be written and
//! reads the same.
#![no_main]

use airpath_core::scenario::Scenario;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Scenario::parse(text, &[]) {
        Ok(scenario) => {
            let resolved = scenario.to_toml().expect("what was read can be written");
            let again = Scenario::parse(&resolved, &[]).expect("the resolved form can be read");
            assert_eq!(again, scenario);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
