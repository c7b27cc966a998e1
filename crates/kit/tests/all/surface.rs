//! The crate's public surface matches `tests/surface.txt`: a change shows up in the diff, and shows whether the version
//! has to change (semver.org; the Cargo book, "SemVer Compatibility").
//!
//! Read from the sources, which rustfmt has formed: public items with their attributes, variants, and implementations
//! of traits. Re-exports from the core are read from `time.rs` and `error.rs`; macros are not read.

use std::fs;
use std::path::Path;

/// Characters that end a signature.
const ENDS: [char; 4] = ['{', ';', ',', '}'];

/// The public lines of a file, one for each item.
fn surface(source: &str) -> String {
    let (mut surface, mut attributes, mut item) = (String::new(), String::new(), String::new());
    let mut in_enum = false;
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap();
    for line in code.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
        let is_item = line.starts_with("pub ") || line.starts_with("impl");
        let is_public = !item.is_empty() || is_item || (in_enum && line != "}");
        if line.starts_with("#[") {
            attributes += &format!("{line} ");
        } else if is_public {
            item += line;
            if line.ends_with(ENDS) && item.matches('(').count() == item.matches(')').count() {
                in_enum = item.starts_with("pub enum") || (in_enum && !is_item);
                surface += &format!(
                    "{attributes}{}\n",
                    item.trim_end_matches("{}").trim_end_matches(['{', ';', ',']).trim_end()
                );
                (item, attributes) = (String::new(), String::new());
            } else {
                item += " ";
            }
        } else {
            in_enum = in_enum && line != "}";
            attributes.clear();
        }
    }
    surface
}

#[test]
fn the_public_surface_is_as_it_was_promised() {
    let kit = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> =
        fs::read_dir(kit.join("src")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.extend(["time.rs", "error.rs"].map(|name| kit.join("../core/src").join(name)));
    files.sort();
    let now: String = files
        .iter()
        .map(|file| {
            let name = file.strip_prefix(kit).unwrap().display().to_string();
            format!("{name}\n{}\n", surface(&fs::read_to_string(file).unwrap()))
        })
        .collect();
    assert_eq!(now, include_str!("../surface.txt"), "now:\n{now}");
}

#[test]
fn what_is_public_is_seen_and_what_is_not_is_not() {
    let source = "/// Text.\n#[non_exhaustive]\npub enum End {\n    /// One.\n    Server,\n    #[default]\n    Ue(u16),\n}\n\n\
        impl End {\n    /// Long.\n    pub fn address(\n        self,\n        port: u16,\n    ) -> u16 {\n        let pub_x = port;\n    }\n\n\
        fn hidden() {}\n}\n\npub(crate) struct Own;\npub struct Open {\n    pub a: u8,\n    b: u8,\n}\n";
    let seen = "#[non_exhaustive] pub enum End\nServer\n#[default] Ue(u16)\nimpl End\n\
        pub fn address( self, port: u16, ) -> u16\npub struct Open\npub a: u8\n";
    assert_eq!(surface(source), seen);
}
