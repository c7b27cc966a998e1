//! Lists the folder `scenarios` for `scenario::BUNDLED`.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // Cargo reads it there.
    #[allow(clippy::print_stdout)]
    {
        println!("cargo::rerun-if-changed=scenarios");
    }
    let [folder, out] = ["CARGO_MANIFEST_DIR", "OUT_DIR"].map(|name| env::var(name).unwrap_or_default());
    let mut files = Vec::new();
    for entry in fs::read_dir(Path::new(&folder).join("scenarios"))? {
        let path = entry?.path();
        if let (Some(name), true) = (path.file_stem(), path.extension().is_some_and(|end| end == "toml")) {
            files.push((name.to_string_lossy().into_owned(), path));
        }
    }
    files.sort();
    let rows = files.iter().map(|(name, path)| format!("    ({name:?}, include_str!({path:?})),\n"));
    fs::write(Path::new(&out).join("bundled.rs"), format!("[\n{}]\n", rows.collect::<String>()))
}
