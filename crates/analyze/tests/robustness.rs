//! Whatever a file holds, there is a report, and every packet is in one of its counters.

use airpath_analyze::{Options, analyze};
use proptest::prelude::*;

/// Whether it is an answer, milliseconds before it, numbers, flags, data offset, length, options.
type Fields = (bool, u16, [u8; 12], u8, u8, u16, Vec<u8>);

/// A capture of raw IP in which a few ends exchange segments with arbitrary fields.
fn capture(segments: &[Fields]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xA1B2_C3D4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    let mut at = 0_u64;
    for (is_answer, wait, numbers, flags, offset, len, options) in segments {
        at += u64::from(*wait);
        let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 1];
        packet[if *is_answer { 15 } else { 19 }] = 2;
        packet[2..4].copy_from_slice(&(len % 2000).to_be_bytes());
        let ports: [u8; 4] = if *is_answer { [0, 1, 0, 2] } else { [0, 2, 0, 1] };
        packet.extend(ports);
        packet.extend([numbers[0] & 1, numbers[1] & 7, numbers[2], numbers[3]]);
        packet.extend([numbers[4] & 1, numbers[5] & 7, numbers[6], numbers[7]]);
        packet.extend([(offset % 16) << 4, *flags, numbers[8], numbers[9], 0, 0, 0, 0]);
        packet.extend(options);
        let captured = packet.len() as u32;
        for word in
            [(at / 1000) as u32, (at % 1000) as u32 * 1000, captured, captured.max(u32::from(len % 2000))]
        {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// Whether it is an answer, milliseconds before it, ports and identification, length, payload.
type Sent = (bool, u16, [u8; 3], u16, Vec<u8>);

/// A capture of raw IP in which a few ends exchange datagrams.
fn udp_capture(datagrams: &[Sent]) -> Vec<u8> {
    let mut file = capture(&[]);
    let mut at = 0_u64;
    for (is_answer, wait, [source, destination, id], len, payload) in datagrams {
        at += u64::from(*wait);
        let total = 28 + len;
        let mut packet = vec![0x45, 0, 0, 0, 0, *id, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 1];
        packet[if *is_answer { 15 } else { 19 }] = 2;
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        packet.extend([0, source & 3, 0, destination & 3]);
        packet.extend((8 + len).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(payload.iter().take(usize::from(*len)));
        let captured = packet.len() as u32;
        for word in [(at / 1000) as u32, (at % 1000) as u32 * 1000, captured, u32::from(total)] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

fn check(file: &[u8], options: Options) -> Result<(), TestCaseError> {
    let Ok(report) = analyze(file, options) else { return Ok(()) };
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
    prop_assert_eq!(counted, report.file.records);
    prop_assert_eq!(report.file.bytes, file.len() as u64);
    let reported: u64 = report.connections.iter().map(|one| one.packets).sum();
    prop_assert_eq!(reported + report.others.packets, packets.tcp + report.tunneled.tcp);
    prop_assert_eq!(report.connections.len() as u64 + report.others.connections, report.connections_seen);
    let datagrams: u64 = report.conversations.iter().map(|one| one.datagrams).sum();
    prop_assert_eq!(datagrams + report.other_conversations.packets, packets.udp + report.tunneled.udp);
    let inner: u64 = report.tunnels.iter().map(|one| one.packets).sum();
    let tunneled = report.tunneled;
    let opened = tunneled.tcp
        + tunneled.udp
        + tunneled.copies
        + tunneled.other_protocol
        + tunneled.fragments
        + tunneled.bad_lengths
        + tunneled.truncated_headers;
    prop_assert_eq!(inner + report.other_tunnels.packets, opened);
    let conversations = report.conversations.len() as u64 + report.other_conversations.connections;
    prop_assert_eq!(conversations, report.conversations_seen);
    for one in &report.connections {
        let phases = &one.phases;
        prop_assert_eq!(phases.start_s.len(), phases.phase.len());
        let starts = std::iter::once(&0.0).chain(&phases.end_s);
        prop_assert!(phases.start_s.iter().zip(starts).all(|(start_s, end_s)| start_s == end_s));
        prop_assert!(phases.start_s.iter().zip(&phases.end_s).all(|(start_s, end_s)| start_s < end_s));
        prop_assert!(phases.end_s.last().copied().unwrap_or(0.0) >= one.duration_s);
    }
    for flow in report.connections.iter().flat_map(|one| &one.flows) {
        let again = &flow.retransmissions;
        let causes = again.by_cause;
        let by_cause = causes.fast_retransmit
            + causes.partial_ack
            + causes.sack
            + causes.timeout
            + causes.go_back_n
            + causes.tail_probe
            + causes.other;
        prop_assert_eq!(by_cause, again.total);
        prop_assert_eq!(again.needed + again.spurious.total, again.total);
        prop_assert!(again.total <= flow.counters.segments);
    }
    serde_json::to_string(&report).map_err(|error| TestCaseError::fail(error.to_string()))?;
    Ok(())
}

proptest! {
    #[test]
    fn arbitrary_bytes_behind_the_header_of_a_file(
        which in 0..3_usize,
        rest in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let pcap: &[u8] = &[0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 101, 0, 0, 0];
        let pcapng: &[u8] = &[10, 13, 13, 10, 28, 0, 0, 0, 0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0, 255, 255, 255, 255,
            255, 255, 255, 255, 28, 0, 0, 0, 1, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0];
        let file = [[pcap, pcapng, &[]][which], &rest].concat();
        check(&file, Options::default())?;
    }

    #[test]
    fn arbitrary_segments_of_one_connection(
        segments in prop::collection::vec(
            (
                any::<bool>(),
                0..3000_u16,
                any::<[u8; 12]>(),
                prop_oneof![Just(16_u8), Just(16_u8), Just(17_u8), Just(2_u8), Just(18_u8), any::<u8>()],
                prop_oneof![Just(5_u8), 5..12_u8, any::<u8>()],
                40..2000_u16,
                prop::collection::vec(prop_oneof![Just(1_u8), Just(5_u8), Just(8_u8), Just(10_u8), any::<u8>()], 0..40),
            ),
            0..200,
        ),
        small in any::<bool>(),
    ) {
        let options = Options { most_connections: 2, memory_bytes: if small { 20_000 } else { 64 << 20 } };
        check(&capture(&segments), options)?;
    }

    #[test]
    fn arbitrary_datagrams_of_a_few_conversations(
        datagrams in prop::collection::vec(
            (any::<bool>(), 0..3000_u16, any::<[u8; 3]>(), 0..1500_u16, prop::collection::vec(any::<u8>(), 0..40)),
            0..200,
        ),
        small in any::<bool>(),
    ) {
        let options = Options { most_connections: 2, memory_bytes: if small { 20_000 } else { 64 << 20 } };
        check(&udp_capture(&datagrams), options)?;
    }

    #[test]
    fn a_capture_with_bytes_changed(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..30),
    ) {
        let segment = |number: u8| (number.is_multiple_of(2), 50, [0, 0, number, 0, 0, 0, number, 0, 9, 9, 9, 9], 16, 5, 1040, vec![]);
        let mut file = capture(&(0..60).map(segment).collect::<Vec<_>>());
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        check(&file, Options::default())?;
    }
}
