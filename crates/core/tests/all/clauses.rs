//! The clause tables of `docs/models`: what they call implemented has tests, and these exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Names of functions behind `#[test]`, or in `proptest!`, below a folder.
fn tests_in(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        if path.is_dir() {
            tests_in(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let mut parts = text.split("#[test]");
            parts.next();
            for part in parts {
                let name = part.split_once("fn ").unwrap().1;
                found.insert(name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
            }
        }
    }
}

struct Row {
    clause: String,
    state: String,
    tests: Vec<String>,
}

fn rows(doc: &str) -> Vec<Row> {
    let doc = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models").join(doc);
    let text = fs::read_to_string(doc).unwrap();
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    // Rows below the head of a clause table; a document may have other tables.
    let mut in_table = false;
    let rows = text.lines().filter(|line| {
        in_table = !line.is_empty() && (in_table || line.starts_with("| clause"));
        in_table && line.starts_with("| ") && !line.starts_with("| clause")
    });
    rows.map(|line| {
        let cells: Vec<String> = cells(line);
        assert_eq!(cells.len(), 4, "{line}");
        let quoted = cells[3].split('`').skip(1).step_by(2).map(str::to_owned);
        Row { clause: cells[0].clone(), state: cells[2].clone(), tests: quoted.collect() }
    })
    .collect()
}

/// The documents, each with a number of rows that it has at least.
const DOCS: [(&str, usize); 7] = [
    ("rlc-am.md", 40),
    ("rlc-um-tm.md", 20),
    ("rlc-lte.md", 35),
    ("rlc-nr.md", 30),
    ("pdcp-nr.md", 18),
    ("mac-hs.md", 15),
    ("l4s.md", 35),
];

/// Scripts of TCP: area, slash, name.
fn scripts_in(root: &Path, found: &mut BTreeSet<String>) {
    for area in fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
        for path in fs::read_dir(&area).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.strip_prefix(root).unwrap().with_extension("");
            found.insert(name.to_string_lossy().replace('\\', "/"));
        }
    }
}

#[test]
fn what_the_clause_tables_call_implemented_is_tested() {
    let mut tests = BTreeSet::new();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests_in(&here.join("src"), &mut tests);
    tests_in(&here.join("tests"), &mut tests);
    scripts_in(&here.join("tests/scripts"), &mut tests);
    for (doc, least) in DOCS {
        let rows = rows(doc);
        assert!(rows.len() > least && tests.len() > 60, "{doc}: {} rows", rows.len());
        for Row { clause, state, tests: named } in rows {
            match state.as_str() {
                "implemented" => assert!(!named.is_empty(), "{doc}: {clause} has no test"),
                "left out" => assert!(named.is_empty(), "{doc}: {clause} is left out and has tests"),
                other => panic!("{doc}: {clause}: {other}"),
            }
            for name in named {
                assert!(tests.contains(&name), "{doc}: {clause}: there is no test {name}");
            }
        }
    }
}
