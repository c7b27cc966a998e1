//! Presets: measured states of a network by one name. A preset is a table that lies below what is written, before
//! anything is read ([`apply`]); a resolved scenario has every key written out.

use toml::{Table, Value};

/// Names and texts of the presets, sorted. The comment at the top of each names the source of its numbers.
pub const PRESETS: &[(&str, &str)] = &[
    ("huang-2012", include_str!("presets/huang-2012.toml")),
    ("qian-2010-carrier-1", include_str!("presets/qian-2010-carrier-1.toml")),
    ("qian-2010-carrier-2", include_str!("presets/qian-2010-carrier-2.toml")),
    ("tmobile-lte-2021", include_str!("presets/tmobile-lte-2021.toml")),
    ("tmobile-nsa-2021", include_str!("presets/tmobile-nsa-2021.toml")),
    ("tmobile-sa-2021", include_str!("presets/tmobile-sa-2021.toml")),
    ("verizon-lte-2021", include_str!("presets/verizon-lte-2021.toml")),
    ("verizon-mmwave-2021", include_str!("presets/verizon-mmwave-2021.toml")),
    ("verizon-nsa-2021", include_str!("presets/verizon-nsa-2021.toml")),
];

/// A cell's table `activity` as written, on top of its preset. `merge` puts the second over the first. A name that is
/// none stays: validation refuses it.
pub fn apply(written: &Table, merge: impl FnOnce(&Table, &Table) -> Table) -> Table {
    let name = written.get("preset").and_then(Value::as_str);
    let text = PRESETS.iter().find(|(known, _)| Some(*known) == name).map(|(_, text)| *text);
    match text.and_then(|text| text.parse::<Table>().ok()) {
        Some(preset) => merge(&preset, written),
        None => written.clone(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::activity::{Config, Offers};

    #[test]
    fn every_preset_is_a_configuration_that_can_be_and_names_its_source() {
        for (name, text) in PRESETS {
            assert!(text.starts_with("# ") && text.contains("Source:"), "{name}");
            let config: Config = text.parse::<Table>().unwrap().try_into().unwrap();
            config.validate(Offers { shared: true, inactive: true }).unwrap();
            assert!(config.preset.is_none() && config.idle.is_some(), "{name}");
        }
        assert!(PRESETS.is_sorted());
    }
}
