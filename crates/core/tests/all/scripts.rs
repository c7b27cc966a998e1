//! Runs every TCP script in `tests/scripts/<area>/<behaviour>.pkt`, and tests the runner itself.
//!
//! `SCRIPT=word cargo test -p airpath-core --test all scripts::` runs only the scripts with that word in their path.

use airpath_core::testing::script::run;
use std::fs;
use std::path::{Path, PathBuf};

/// Fewer than these are not all of them.
const AT_LEAST: usize = 120;

/// All scripts: their name (`area/behaviour.pkt`) and text, sorted.
fn scripts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let entries = |dir: &Path| -> Vec<PathBuf> {
        fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
    };
    let areas = entries(&root).into_iter().filter(|path| path.is_dir());
    let files =
        areas.flat_map(|area| entries(&area)).filter(|path| path.extension().is_some_and(|e| e == "pkt"));
    let mut found: Vec<(String, String)> = files
        .map(|path| {
            let name = path.strip_prefix(&root).expect("below the root").to_string_lossy().replace('\\', "/");
            (name, fs::read_to_string(&path).expect("readable UTF-8"))
        })
        .collect();
    found.sort();
    found
}

#[test]
fn every_script_comes_true() {
    let scripts = scripts();
    assert!(scripts.len() >= AT_LEAST, "only {} scripts were found", scripts.len());
    let wanted = std::env::var("SCRIPT").unwrap_or_default();
    let failures: Vec<String> = scripts
        .iter()
        .filter(|(name, _)| name.contains(&wanted))
        .filter_map(|(name, text)| run(name, text).err())
        .collect();
    assert!(failures.is_empty(), "{} scripts failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_script_says_what_it_shows_and_where_that_is_written() {
    for (name, text) in scripts() {
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        let head = head.join(" ");
        let sources = ["RFC ", "ns-2", "ASSUMED:", "DEVIATION:"];
        assert!(sources.iter().any(|source| head.contains(source)), "{name} names no source");
    }
}

/// A script that comes true; the tests below spoil one line of it.
const GOOD: &str = r#"
sender mss="1000 B" initial_window=1 handshake="none"
file "3 kB"
0   > 0:1000 new
0.1 < ack 1000
    > 1000:2000
    > 2000:3000
    ? cwnd == 2000, srtt == 0.1, timer == 1.1
1.1 > 1000:2000 timeout
    nothing until 3
"#;

fn spoiled(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    run("bad.pkt", &GOOD.replacen(from, to, 1)).expect_err("the script came true")
}

#[test]
fn a_good_script_comes_true() {
    assert_eq!(run("good.pkt", GOOD), Ok(()));
}

#[test]
fn a_wrong_time_fails() {
    assert_eq!(
        spoiled("1.1 > 1000:2000", "1.2 > 1000:2000"),
        "bad.pkt:9: expected 1000:2000 timeout at 1.200000000s, got 1000:2000 timeout at 1.100000000s"
    );
    assert_eq!(
        spoiled("1.1 > 1000:2000", "1 > 1000:2000"),
        "bad.pkt:9: expected 1000:2000 at 1.000000000s, got nothing"
    );
}

#[test]
fn a_missing_segment_fails() {
    assert_eq!(
        spoiled("    > 2000:3000", "    > 2000:3000\n    > 3000:4000"),
        "bad.pkt:8: expected 3000:4000 at 0.100000000s, got nothing"
    );
}

#[test]
fn an_unexpected_segment_fails() {
    let unexpected = "unexpected segment 2000:3000 new at 0.100000000s";
    assert_eq!(
        spoiled("    > 2000:3000\n", ""),
        format!("bad.pkt:8: expected 1000:2000 timeout at 1.100000000s, got 2000:3000 new at 0.100000000s")
    );
    // Before another arrival, before silence, and at the end.
    let arrival = spoiled("    > 2000:3000\n", "0.2 < ack 2000\n");
    assert_eq!(arrival, format!("bad.pkt:7: {unexpected}"));
    let silence = spoiled("    > 2000:3000\n", "    nothing until 0.2\n");
    assert_eq!(silence, format!("bad.pkt:7: {unexpected}"));
    let end = spoiled("1.1 > 1000:2000 timeout\n    nothing until 3", "1.1 ? timeouts == 1");
    assert_eq!(end, "bad.pkt:9: after the last line, unexpected segment 1000:2000 timeout at 1.100000000s");
}

#[test]
fn a_wrong_segment_cause_or_field_fails() {
    assert!(spoiled("> 0:1000", "> 0:999").contains("expected 0:999"));
    assert_eq!(
        spoiled("0:1000 new", "0:1000 timeout"),
        "bad.pkt:4: expected 0:1000 timeout at 0.000000000s, got 0:1000 new at 0.000000000s"
    );
    assert_eq!(spoiled("0:1000 new", "0:1000 seq 2"), "bad.pkt:4: expected seq 2 in 0:1000, got 1");
}

#[test]
fn a_wrong_state_fails() {
    let message = spoiled("cwnd == 2000", "cwnd == 2001");
    assert_eq!(message, "bad.pkt:8: expected cwnd == 2001 at 0.100000000s, got 2000");
    assert!(spoiled("srtt == 0.1", "srtt == 0.100000001").ends_with("got 0.100000000"));
    assert!(spoiled("timer == 1.1", "timer == off").ends_with("got 1.100000000"));
}

#[test]
fn a_script_that_cannot_be_read_fails() {
    for (from, to, says) in [
        ("0:1000 new", "0:1000 old", "bad.pkt:4: unknown word \"old\""),
        ("nothing until", "silence until", "bad.pkt:10: unknown word \"silence\""),
        ("cwnd ==", "window ==", "bad.pkt:8: unknown word \"window\""),
        ("< ack 1000", "< ack", "bad.pkt:5: `ack` needs a number"),
        ("0.1 <", "0,1 <", "bad.pkt:5: \"0,1\" is no time in seconds"),
        ("1.1 >", "0.05 >", "bad.pkt:9: 0.05 s is before the line above"),
        ("initial_window", "initial_windows", "unknown field `initial_windows`"),
        ("initial_window=1", "initial_window=101", "an initial window of 101 segments"),
    ] {
        let message = spoiled(from, to);
        assert!(message.contains(says), "{message}");
    }
    assert_eq!(run("empty.pkt", "# nothing\n"), Err("empty.pkt: there is no event".into()));
    assert!(run("x.pkt", "bulk\n0 > 0:1\n").unwrap_err().contains("`sender` or `receiver`"));
}
