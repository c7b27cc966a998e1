//! The core network of UMTS: times against hand computations, sessions, classes, relocation, captures.

mod bearers;
mod iu_capture;
mod legs;
mod octets;
mod sessions;

use airpath_core::scenario::Scenario;

fn scenario(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    try_scenario(text, overrides).unwrap_or_else(|error| panic!("{error}, in:\n{text}"))
}

fn try_scenario(text: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Scenario::parse(text, &overrides).map_err(|error| error.to_string())
}

fn error(text: &str, overrides: &[(&str, &str)]) -> String {
    try_scenario(text, overrides).err().unwrap_or_else(|| "NOT REFUSED".to_owned())
}
