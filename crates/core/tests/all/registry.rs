//! Whatever lies in a folder of components is registered, and the other way round.

use airpath_core::scenario::Scenario;
use airpath_core::{app, channel, controller, fading, middlebox, queue, radio, rlc, scheduler, tcp};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The folders of systems in `rlc`, and what their modes' names end with.
const SYSTEMS: [(&str, &str); 3] = [("umts", ""), ("lte", "_lte"), ("nr", "_nr")];

/// What they hold beside modes.
const PARTS: [&str; 8] =
    ["encoder", "reassembly", "cutter", "sdu_queue", "segmentation", "segments", "stream", "timers"];

/// Each folder with the names registered in it, and the files there that are no components.
fn folders() -> Vec<(&'static str, &'static [&'static str], &'static [&'static str])> {
    vec![
        ("app", app::Config::NAMES, &["datagram", "datagrams", "distribution", "media", "transfers"]),
        ("channel", channel::Config::NAMES, &["bursts", "piecewise"]),
        ("controller", controller::Config::NAMES, &["tests"]),
        ("fading", fading::Config::NAMES, &[]),
        ("middlebox", middlebox::Config::NAMES, &["acks"]),
        ("queue", queue::Config::NAMES, &["control", "fifo", "target"]),
        ("radio/kinds", radio::Config::NAMES, &[]),
        ("rlc", rlc::Config::NAMES, &["encode", "entities", "pdus", "polling", "ranges", "reporting"]),
        ("scheduler", scheduler::Config::NAMES, &[]),
        ("tcp/cc", tcp::cc::Config::NAMES, &["marked_share", "model"]),
        ("tcp/recovery", tcp::recovery::Config::NAMES, &["classic", "duplicates", "prr", "rnf"]),
        ("tcp/undo", tcp::undo::Config::NAMES, &[]),
    ]
}

#[test]
fn every_file_of_a_component_folder_is_registered() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = |folder: &Path| -> BTreeSet<String> {
        let name =
            |entry: fs::DirEntry| entry.file_name().to_string_lossy().trim_end_matches(".rs").to_owned();
        fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap())).filter(|name| name != "mod").collect()
    };
    for (folder, names, others) in folders() {
        let folder_path = src.join(folder);
        let mut files_here = files(&folder_path);
        files_here.retain(|name| !others.contains(&name.as_str()));
        for (system, suffix) in SYSTEMS.iter().filter(|_| folder == "rlc") {
            assert!(files_here.remove(*system), "no folder {system}");
            let modes = files(&folder_path.join(system)).into_iter();
            files_here.extend(modes.filter(|mode| !PARTS.contains(&mode.as_str())).map(|mode| mode + suffix));
        }
        let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(files_here, names, "folder {folder}");
    }
}

/// Where components of each folder stand in a scenario.
const PLACES: [(&str, &str); 12] = [
    ("app", "flow.0.app"),
    ("channel", "radio.dch.downlink.channel"),
    ("controller", "flow.0.app.call.controller"),
    ("fading", "radio.evdo.downlink.fading"),
    ("middlebox", "middlebox.0"),
    ("queue", "radio.dch.downlink.queue"),
    ("radio/kinds", "radio"),
    ("rlc", "radio.dch.downlink.rlc"),
    ("scheduler", "radio.evdo.downlink.scheduler"),
    ("tcp/cc", "tcp.cc"),
    ("tcp/recovery", "tcp.recovery"),
    ("tcp/undo", "tcp.undo"),
];

/// As text and as an override; some components require a parameter, or more of the scenario.
#[test]
fn the_bare_name_of_a_component_stands_for_it() {
    let base = "middlebox = [\"tap\"]\n[[flow]]\napp = \"bulk\"\n";
    let resolved = |path: &str, value: &str| {
        let overrides = [(path.to_owned(), value.to_owned())];
        Scenario::parse(base, &overrides).and_then(|scenario| scenario.to_toml())
    };
    for (folder, names, _) in folders() {
        let (_, place) = PLACES.iter().find(|(of, _)| *of == folder).unwrap();
        for name in names {
            let (bare, table) = (resolved(place, name), resolved(place, &format!("{{ {name} = {{}} }}")));
            assert_eq!(bare, table, "{place} = {name}");
            if let Err(error) = bare {
                assert!(!error.message.contains("unknown name"), "{place}: {error}");
            }
        }
    }
    let in_text = |text: &str| Scenario::parse(text, &[]).unwrap().to_toml();
    let tables = "middlebox = [{ tap = {} }]\n[tcp]\ncc.cubic = {}\n[[flow]]\napp.bulk = {}\n";
    let names = "middlebox = [\"tap\"]\ntcp.cc = \"cubic\"\n[[flow]]\napp = \"bulk\"\n";
    assert_eq!(in_text(names), in_text(tables));
    // Parameters of a component that was named before.
    let narrowed = [("tcp.cc", "cubic"), ("tcp.cc.cubic.fast_convergence", "false")];
    let narrowed = narrowed.map(|(path, value)| (path.to_owned(), value.to_owned()));
    assert!(Scenario::parse(base, &narrowed).is_ok(), "{:?}", Scenario::parse(base, &narrowed));
}

#[test]
fn the_schema_lists_bare_names() {
    let schema = serde_json::to_string(&Scenario::schema()).unwrap();
    for (folder, names, _) in folders() {
        let listed = format!("\"enum\":{}", serde_json::to_string(names).unwrap());
        assert!(schema.contains(&listed), "{folder}: {listed}");
    }
}

/// A component's tag in a scenario is its file's name.
#[test]
fn a_component_is_written_under_its_own_name() {
    for config in rlc::Config::defaults() {
        let toml = serde_json::to_value(&config).unwrap();
        assert!(toml.get(config.name()).is_some(), "{toml}");
    }
    for config in tcp::recovery::Config::defaults() {
        let toml = serde_json::to_value(&config).unwrap();
        assert!(toml.get(config.name()).is_some(), "{toml}");
    }
}

/// The component that CONTRIBUTING.md builds up is the one in the folder, and its scenario works.
#[test]
fn the_component_of_the_contributing_guide_is_as_it_says() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(core.join(path)).unwrap();
    let guide = read("../../CONTRIBUTING.md");
    let blocks = |language: &str| -> Vec<String> {
        let fence = format!("```{language}\n");
        let behind = guide.split(&fence).skip(1);
        behind.map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
    };
    let (component, folder) = (read("src/channel/bernoulli.rs"), read("src/channel/mod.rs"));
    for block in blocks("rust") {
        let has_lines = |text: &str| block.lines().all(|line| text.lines().any(|other| other == line));
        assert!(component.contains(&block) || has_lines(&folder), "{block}");
    }
    assert!(blocks("rust").len() > 3);
    for scenario in blocks("toml") {
        Scenario::parse(&scenario, &[]).unwrap();
    }
}
