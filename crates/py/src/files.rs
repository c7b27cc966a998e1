//! Files that a scenario names, read for the core, which opens nothing.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Larger files are no traces: the longest recordings have some megabytes.
const LARGEST_MB: u64 = 64;

/// As `read`, of files below a folder alone, wherever links lead.
pub fn read_below(folder: &Path, path: &str) -> Result<String, String> {
    let inside = folder.canonicalize().map_err(refused)?;
    // Both get the same error, so files outside are not distinguishable from missing ones.
    match inside.join(path).canonicalize() {
        Ok(file) if file.starts_with(&inside) => read(&file),
        _ => Err(format!("is no file below {}", folder.display())),
    }
}

/// The text of a file, or what is wrong with it, in words that follow its name.
pub fn read(path: &Path) -> Result<String, String> {
    // Opening a pipe waits for its writer, perhaps for ever.
    #[cfg(unix)]
    if std::os::unix::fs::FileTypeExt::is_fifo(&std::fs::metadata(path).map_err(refused)?.file_type()) {
        return Err("is a pipe and not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let limit = LARGEST_MB * 1_000_000;
    // One byte more than allowed, whatever a length says: a device has none.
    let file = File::open(path).map_err(refused)?;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(refused)?;
    if bytes.len() as u64 > limit {
        return Err(format!("is larger than {LARGEST_MB} MB"));
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("is no text: byte {} is not UTF-8", error.utf8_error().valid_up_to()))
}

fn refused(error: std::io::Error) -> String {
    // The words of the system without its number.
    let words = error.to_string();
    format!("cannot be read: {}", words.split(" (os error").next().unwrap_or(&words))
}
