//! Octets as a capture file: there is a report or a refusal, and every packet is in one of its counters.
#![no_main]

use airpath_analyze::{Options, analyze};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The first octet says which file header is in front, so that few inputs are refused at once.
    let Some((which, rest)) = bytes.split_first() else { return };
    let pcap: &[u8] =
        &[0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 101, 0, 0, 0];
    let file = if which % 2 == 0 { rest.to_vec() } else { [pcap, rest].concat() };
    let options = Options { most_connections: 3, memory_bytes: 100_000 };
    let Ok(report) = analyze(&file[..], options) else { return };
    let packets = report.packets;
    let counted = packets.tcp
        + packets.udp
        + packets.copies
        + packets.other_protocol
        + packets.not_ip
        + packets.unknown_link
        + packets.fragments
        + packets.bad_lengths
        + packets.truncated_headers;
    assert_eq!(counted, report.file.records);
    let reported: u64 = report.connections.iter().map(|one| one.packets).sum();
    assert_eq!(reported + report.others.packets, packets.tcp + report.tunneled.tcp);
    assert_eq!(report.connections.len() as u64 + report.others.connections, report.connections_seen);
});
