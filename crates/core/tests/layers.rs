//! The order of modules in `lib.rs` is a rule: a module uses only modules that stand above it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The modules of `lib.rs` in order, lower ones first.
fn modules() -> Vec<String> {
    let text = fs::read_to_string(src().join("lib.rs")).unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix("pub mod ").or(line.strip_prefix("mod ")))
        .map(|line| line.trim_end_matches(';').to_owned())
        .collect()
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Modules named behind `crate::` outside of tests and comments.
fn uses(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut named = Vec::new();
    for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for rest in line.split("crate::").skip(1) {
            named.push(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
        }
    }
    named
}

#[test]
fn a_module_uses_only_modules_above_it() {
    let modules = modules();
    let rank: BTreeMap<&str, usize> =
        modules.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    assert!(rank.len() > 15, "lib.rs was not read: {modules:?}");
    let mut wrong = Vec::new();
    for path in sources(&src()) {
        let inner = path.strip_prefix(src()).unwrap().to_string_lossy().replace('\\', "/");
        // Tests in a file of their own may use anything.
        if inner.ends_with("/tests.rs") {
            continue;
        }
        let module = inner.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
        let Some(mine) = rank.get(module.as_str()) else { continue };
        for used in uses(&fs::read_to_string(&path).unwrap()) {
            if rank.get(used.as_str()).is_some_and(|theirs| theirs > mine) {
                wrong.push(format!("{inner} uses {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "uses of a module that stands lower in lib.rs:\n{}", wrong.join("\n"));
}

#[test]
fn nothing_in_the_core_reads_a_clock_or_prints_or_opens_anything() {
    // Clippy refuses the methods; this refuses the modules.
    let refused = ["std::fs", "std::io", "std::thread", "std::process", "std::env", "println!", "SystemTime"];
    let mut wrong = Vec::new();
    for path in sources(&src()) {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for word in refused.iter().filter(|word| code.contains(**word)) {
            wrong.push(format!("{}: {word}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
