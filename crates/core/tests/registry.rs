//! Whatever lies in a folder of components is registered, and the other way round.
#![allow(clippy::unwrap_used)]

use airpath_core::{app, channel, fading, middlebox, queue, radio, rlc, scheduler, tcp};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Each folder with the names registered in it, and the files there that are no components.
fn folders() -> Vec<(&'static str, &'static [&'static str], &'static [&'static str])> {
    vec![
        ("app", app::Config::NAMES, &["datagrams", "distribution"]),
        ("channel", channel::Config::NAMES, &["bursts", "piecewise"]),
        ("fading", fading::Config::NAMES, &[]),
        ("middlebox", middlebox::Config::NAMES, &["acks"]),
        ("queue", queue::Config::NAMES, &[]),
        (
            "radio",
            radio::Config::NAMES,
            &[
                "bearer",
                "buffer",
                "delay_line",
                "departures",
                "flow_buffers",
                "opportunities",
                "outages",
                "packets",
                "pdu_capture",
                "ttis",
                "whole",
            ],
        ),
        ("rlc", rlc::Config::NAMES, &["cutter", "encode", "entities", "pdus", "ranges", "reassembly"]),
        ("scheduler", scheduler::Config::NAMES, &[]),
        ("tcp/cc", tcp::cc::Config::NAMES, &[]),
        ("tcp/recovery", tcp::recovery::Config::NAMES, &[]),
        ("tcp/undo", tcp::undo::Config::NAMES, &["response"]),
    ]
}

#[test]
fn every_file_of_a_component_folder_is_registered() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (folder, names, others) in folders() {
        let files: BTreeSet<String> = fs::read_dir(src.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().trim_end_matches(".rs").to_owned())
            .filter(|name| name != "mod" && !others.contains(&name.as_str()))
            .collect();
        let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(files, names, "folder {folder}");
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
