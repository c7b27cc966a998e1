//! Captures, as tshark reads them.

#[allow(dead_code)] // The core's tests use all of it.
#[path = "../../../core/tests/all/tshark.rs"]
mod tshark;

use crate::{arrivals, bundled, datagram, ms};
use airpath::{Datagram, Ecn, End, Net};
use std::net::SocketAddr;
use std::process::Command;

const FIELDS: [&str; 6] = [
    "frame.interface_name",
    "frame.time_epoch",
    "ip.checksum.status",
    "udp.checksum.status",
    "udp.length",
    "ip.dsfield.ecn",
];

#[test]
fn tshark_reads_what_both_ends_saw_with_right_checksums() {
    let scenario =
        bundled("umts-384").with("radio.dch.downlink.queue", "{ codel = { ecn = true } }").unwrap();
    let mut net = Net::builder(&scenario).capture().build();
    let [src, dst] = [End::Server, End::Ue(0)].map(|end| SocketAddr::new(end.ipv6().into(), 9));
    net.send(ms(0), End::Server, Datagram { ecn: Ecn::Ect0, ..Datagram::new(src, dst, vec![7; 333]) });
    for number in 0..100 {
        net.send(ms(10 * number), End::Server, datagram(End::Server, vec![number as u8; 1200]));
        net.send(ms(10 * number), End::Ue(0), datagram(End::Ue(0), vec![0xff; number as usize]));
    }
    let came = arrivals(&mut net, ms(30_000)).len();
    let marked = net.stats().downlink.marked;
    assert!(marked > 0);

    let file = std::env::temp_dir().join(format!("airpath-kit-{}.pcapng", std::process::id()));
    std::fs::write(&file, net.capture()).unwrap();
    let mut tshark = Command::new("tshark");
    tshark.args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    tshark.args(["-T", "fields", "-E", "separator=;", "-r"]).arg(&file);
    let output = tshark.args(FIELDS.iter().flat_map(|field| ["-e", field])).output();
    std::fs::remove_file(&file).unwrap();
    let output = match output {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return tshark::without_tshark();
        }
        output => output.unwrap(),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(';').collect()).collect();
    assert_eq!(rows.len(), 201 + came);
    // 1 is "good"; there is no such sum in an IPv6 header.
    assert!(rows.iter().all(|row| ["1", ""].contains(&row[2]) && row[3] == "1"));
    assert!(rows.is_sorted_by_key(|row| row[1]), "all times have as many digits");
    let marks = |name| rows.iter().filter(|row| row[0] == name && row[5] == "3").count() as u64;
    assert!(marks("server") == 0 && (1..=marked).contains(&marks("ue")));
    assert_eq!(rows.iter().filter(|row| row[4] == "341").count(), 2, "over IPv6, at either end");
}

#[test]
fn nothing_is_captured_unasked() {
    let mut net = Net::new(&bundled("umts-384"), 1);
    net.send(ms(0), End::Server, datagram(End::Server, vec![0; 9]));
    assert_eq!(arrivals(&mut net, ms(1000)).len(), 1);
    assert!(net.capture().is_empty());
}
