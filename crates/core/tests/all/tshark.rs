//! What tshark makes of datagrams.

use airpath_core::time::Instant;
use airpath_core::wire::PcapngWriter;
use std::io::Write;
use std::process::Command;

/// The fields that tshark shows of each datagram, with their values; `None` where tshark is not installed. `name` is
/// that of the file that it reads, for tests that run at the same time.
pub fn dissected<'a>(
    name: &str,
    options: &[&str],
    fields: &[&'a str],
    datagrams: &[Vec<u8>],
) -> Option<Vec<Vec<(&'a str, String)>>> {
    let mut writer = PcapngWriter::new(&[name]);
    for (i, packet) in datagrams.iter().enumerate() {
        writer.packet(
            0,
            Instant::from_nanos(i as u64 * 10_000_000),
            packet,
            packet.len() as u32,
            i as u32 + 1,
        );
    }
    let file = std::env::temp_dir().join(format!("airpath-{name}-{}.pcapng", std::process::id()));
    std::fs::write(&file, writer.take()).unwrap();
    let mut tshark = Command::new("tshark");
    tshark.args(options).args(["-T", "fields", "-E", "separator=;", "-r"]).arg(&file);
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = tshark.output();
    std::fs::remove_file(&file).unwrap();
    let output = match output {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        output => output.unwrap(),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = |line: &str| {
        let known = fields.iter().zip(line.split(';')).filter(|(_, value)| !value.is_empty());
        known.map(|(field, value)| (*field, value.to_owned())).collect()
    };
    Some(String::from_utf8(output.stdout).unwrap().lines().map(shown).collect())
}

/// Cargo knows no skipped tests: where all must run, this one fails. Elsewhere it is noted for the last line of `make
/// test` (`tools/left_out.py`).
pub fn without_tshark() {
    assert!(std::env::var_os("AIRPATH_ALL_TOOLS").is_none(), "tshark is not installed");
    if let Some(file) = std::env::var_os("AIRPATH_LEFT_OUT") {
        let mut notes = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        notes.write_all(b"test\tnot installed: tshark\n").unwrap();
    }
}
