//! Handmade files: formats, byte orders, and damage.

use super::*;

/// A pcap of raw IP with records of these bytes, one each second.
fn pcap(big: bool, nanos: bool, records: &[&[u8]]) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let magic = if nanos { 0xA1B2_3C4D } else { 0xA1B2_C3D4 };
    let version = if big { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
    let mut file = [word(magic), version, word(0), word(0), word(65_535), word(101)].concat();
    for (second, bytes) in records.iter().enumerate() {
        let len = bytes.len() as u32;
        for field in [1000 + second as u32, 500, len, len + 2] {
            file.extend(word(field));
        }
        file.extend(*bytes);
    }
    file
}

fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let len = word(body.len() as u32 + 12);
    [&word(kind)[..], &len, &body, &len].concat()
}

/// A pcapng with an interface `lo` of Ethernet frames, its times in units of 10^-`places` seconds.
fn pcapng(big: bool, places: u8, records: &[&[u8]]) -> Vec<u8> {
    let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
    let section = [&word(0x1A2B_3C4D)[..], &half(1), &half(0), &[0xFF; 8]].concat();
    let interface = [
        &half(1)[..],
        &half(0),
        &word(0),
        &half(2),
        &half(2),
        b"lo\0\0",
        &half(9),
        &half(1),
        &[places, 0, 0, 0],
    ];
    let mut file = block(big, 0x0A0D_0D0A, &section);
    file.extend(block(big, 1, &interface.concat()));
    for (tick, bytes) in records.iter().enumerate() {
        let len = bytes.len() as u32;
        let head = [word(0), word(0), word(7 + tick as u32), word(len), word(len)].concat();
        file.extend(block(big, 6, &[&head, *bytes].concat()));
    }
    file
}

/// Times and bytes of all records, and the summary of the file.
fn all(file: &[u8]) -> (Vec<(u64, Vec<u8>)>, Summary) {
    let mut source = Source::open(file).expect("a capture");
    let mut found = Vec::new();
    while let Some(record) = source.next_record().expect("memory is read") {
        found.push((record.at_nanos, record.data.to_vec()));
    }
    (found, source.into_summary())
}

#[test]
fn pcap_is_read_in_both_orders_and_resolutions() {
    for (big, nanos) in [(false, false), (false, true), (true, false), (true, true)] {
        let (found, summary) = all(&pcap(big, nanos, &[b"one", b""]));
        let fraction = if nanos { 500 } else { 500_000 };
        assert_eq!(found[0], (1_000_000_000_000 + fraction, b"one".to_vec()));
        assert_eq!((summary.records, summary.truncated_records, summary.format), (2, 2, "pcap"));
        assert_eq!((summary.unreadable_bytes, summary.interfaces[0].link_type), (0, 101));
    }
}

#[test]
fn pcapng_is_read_in_both_orders_and_any_resolution() {
    for (big, places, nanos) in
        [(false, 6, 7000), (true, 6, 7000), (false, 9, 7), (true, 3, 7_000_000), (false, 10, 0)]
    {
        let (found, summary) = all(&pcapng(big, places, &[b"one", b"three"]));
        assert_eq!(found[0], (nanos, b"one".to_vec()), "{big} {places}");
        assert_eq!(found[1].1, b"three");
        let interface = Interface { name: Some("lo".to_owned()), link_type: 1, packets: 2 };
        assert_eq!((summary.interfaces, summary.truncated_records), (vec![interface], 0));
    }
    // 2^-10 seconds.
    assert_eq!(all(&pcapng(false, 0x8A, &[b"one"])).0[0].0, 6_835_937);
}

#[test]
fn times_of_pcapng_begin_at_the_interfaces_offset_and_older_blocks_are_read() {
    for (big, offset) in [(false, 5_i64), (true, 5), (false, -5), (true, i64::MAX)] {
        let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        let seconds = if big { offset.to_be_bytes() } else { offset.to_le_bytes() };
        let section = [&word(0x1A2B_3C4D)[..], &half(1), &half(0), &[0xFF; 8]].concat();
        // if_speed has no effect here; if_tsoffset has.
        let speed = [&half(8)[..], &half(8), &[0; 8]].concat();
        let interface =
            [&half(1)[..], &half(0), &word(0), &speed, &half(14), &half(8), &seconds, &half(0), &half(0)];
        let mut file = block(big, 0x0A0D_0D0A, &section);
        file.extend(block(big, 1, &interface.concat()));
        // The obsolete packet block: interface 0, three dropped; 10 s in microseconds.
        let place = [&half(0)[..], &half(3), &word(0), &word(10_000_000), &word(3), &word(3)].concat();
        file.extend(block(big, 2, &[&place[..], b"one"].concat()));
        let at_nanos = u64::try_from(offset.saturating_add(10)).unwrap().saturating_mul(1_000_000_000);
        assert_eq!(all(&file).0, [(at_nanos, b"one".to_vec())], "{big} {offset}");
    }
}

#[test]
fn a_length_that_no_block_can_have_is_passed_over() {
    let mut file = pcapng(false, 6, &[b"one", b"two"]);
    let at = file.len() - 2 * 36;
    file[at + 4] = 37;
    let (found, summary) = all(&file);
    assert_eq!(found, [(8000, b"two".to_vec())]);
    assert_eq!((summary.unreadable_bytes, summary.unreadable_from), (36, Some(at as u64)));
}

/// A reader that is interrupted, returns its data octet by octet, and fails.
struct Failing<'a>(&'a [u8], bool);

impl io::Read for Failing<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        match self.0 {
            _ if self.1 => Err(io::ErrorKind::Interrupted.into()),
            [first, rest @ ..] => {
                (out[0], self.0) = (*first, rest);
                Ok(1)
            }
            [] => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

#[test]
fn an_error_of_the_disk_is_told_and_an_interruption_is_none() {
    let file = pcap(false, false, &[b"one"]);
    let mut source = Source::open(Failing(&file, false)).unwrap();
    assert_eq!(source.next_record().unwrap().unwrap().data, b"one");
    assert!(source.next_record().is_err());
}

#[test]
fn a_file_cut_off_anywhere_gives_the_records_before() {
    for (file, header, record) in [
        (pcap(false, false, &[&[1; 40], &[2; 40]]), 24, 56),
        (pcapng(true, 6, &[&[1; 40], &[2; 40]]), 64, 72),
    ] {
        for len in header..=file.len() {
            let (found, summary) = all(&file[..len]);
            assert_eq!(found.len(), (len - header) / record, "{len}");
            let rest = (len - header) % record;
            assert_eq!(
                (summary.unreadable_bytes, summary.ends_within_record),
                (rest as u64, rest > 0),
                "{len}"
            );
            assert_eq!(summary.unreadable_from, (rest > 0).then_some((len - rest) as u64));
        }
    }
}

#[test]
fn behind_a_damaged_stretch_reading_goes_on() {
    let records: Vec<Vec<u8>> = (0..20).map(|number| vec![0xF0 | number; 60]).collect();
    let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
    for (mut file, from) in
        [(pcap(false, true, &records), 24 + 5 * 76), (pcapng(false, 9, &records), 64 + 5 * 92)]
    {
        file[from..from + 30].fill(0xEE);
        let (found, summary) = all(&file);
        assert_eq!((found.len(), summary.unreadable_from), (19, Some(from as u64)));
        assert_eq!(found[5].1, records[6]);
        assert!(!summary.ends_within_record && summary.unreadable_bytes >= 76);
    }
}

#[test]
fn what_is_no_capture_is_refused() {
    for bytes in [&b""[..], b"GET / HTTP/1.1\r\nHost: example\r\n", &[0xA1, 0xB2, 0xC3]] {
        assert!(matches!(Source::open(bytes), Err(FileError::NoCapture(_))));
    }
}

#[test]
fn blocks_without_time_and_without_interface_are_counted() {
    let mut file = pcapng(false, 6, &[]);
    file.extend(block(false, 3, &[4, 0, 0, 0, 1, 2, 3, 4]));
    file.extend(block(false, 6, &[[9, 0, 0, 0], [0; 4], [0; 4], [0; 4], [0; 4]].concat()));
    file.extend(block(false, 77, b"whatever"));
    let (found, summary) = all(&file);
    assert_eq!((found.len(), summary.records_without_time, summary.unreadable_bytes), (0, 2, 0));
}

#[test]
fn what_is_no_capture_is_named() {
    for (bytes, said) in [
        (&b""[..], ": it is empty"),
        (b"GET / HTTP", ": its first octets are 47 45 54 20 2f 20 48 54"),
        (
            b"snoop\0\0\0\0\0\0\x02",
            ": its first octets are 73 6e 6f 6f 70 00 00 00 (a snoop capture: editcap -F pcapng converts it)",
        ),
        (b"BZh9", ": its first octets are 42 5a 68 39 (compressed by bzip2: unpack it first)"),
    ] {
        let error = Source::open(bytes).map(|_| ()).expect_err("no capture").to_string();
        assert_eq!(error, format!("does not begin like a pcap or pcapng file{said}"));
    }
}

#[test]
fn modified_pcap_has_longer_headers() {
    let mut file = pcap(false, false, &[]);
    file[..4].copy_from_slice(&0xA1B2_CD34_u32.to_le_bytes());
    for second in 0..2_u32 {
        for word in [1000 + second, 5, 3, 3, 1, 0x0800] {
            file.extend(word.to_le_bytes());
        }
        file.extend(b"one");
    }
    let (found, summary) = all(&file);
    assert_eq!(found[1], (1_001_000_005_000, b"one".to_vec()));
    assert_eq!((found.len(), summary.unreadable_bytes), (2, 0));
}

#[test]
fn a_fraction_beyond_a_second_is_carried() {
    let mut file = pcap(false, false, &[b"one", b"two"]);
    file[24 + 4..24 + 8].copy_from_slice(&1_113_000_u32.to_le_bytes());
    let (found, summary) = all(&file);
    assert_eq!(found[0], (1_001_113_000_000, b"one".to_vec()));
    assert_eq!((found.len(), summary.unreadable_bytes), (2, 0));
}

#[test]
fn a_length_on_the_wire_below_the_captured_one_is_no_damage() {
    let mut file = pcap(false, false, &[&[1; 40], &[2; 40], &[3; 40]]);
    for record in 0..3 {
        file[24 + 56 * record + 12] = 26;
    }
    let (found, summary) = all(&file);
    assert_eq!((found.len(), found[2].1[0], summary.unreadable_bytes), (3, 3, 0));
    // A header whose lengths were overwritten is.
    file[24 + 56 + 8] = 60;
    let (before, damaged) = all(&file);
    assert_eq!((before.len(), damaged.unreadable_bytes > 0), (1, true));
}

#[test]
fn captures_appended_with_their_headers_are_read_on() {
    let mut other = pcap(true, true, &[b"two"]);
    other[20..24].copy_from_slice(&1_u32.to_be_bytes());
    let file = [pcap(false, false, &[b"one"]), other, pcap(false, false, &[b"three"])].concat();
    let (found, summary) = all(&file);
    let bytes: Vec<_> = found.iter().map(|(_, bytes)| &bytes[..]).collect();
    assert_eq!(bytes, [&b"one"[..], b"two", b"three"]);
    let links: Vec<_> = summary.interfaces.iter().map(|one| (one.link_type, one.packets)).collect();
    assert_eq!((links, summary.unreadable_bytes), (vec![(101, 2), (1, 1)], 0));
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    io::Write::write_all(&mut encoder, content).expect("memory is written");
    encoder.finish().expect("memory is written")
}

fn zstd(content: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(content, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn compressed_captures_are_read_whole_or_cut_off() {
    let plain = pcap(false, false, &[&[7; 40_000], &[8; 40_000]]);
    let (first, second) = plain.split_at(30_000);
    let skippable = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3];
    for (name, file) in [
        ("gzip", gzip(&plain)),
        ("gzip", [gzip(first), gzip(second)].concat()),
        ("zstd", zstd(&plain)),
        ("zstd", [&skippable[..], &zstd(first), &skippable, &zstd(second)].concat()),
    ] {
        let (found, summary) = all(&file);
        assert_eq!((found.len(), &found[1].1[..]), (2, &[8; 40_000][..]), "{name}");
        assert_eq!((summary.compression, summary.compression_error), (Some(name), None));
        assert_eq!(summary.bytes, plain.len() as u64);
    }
    for file in [[gzip(first), gzip(second)].concat(), [zstd(first), zstd(second)].concat()] {
        let (found, summary) = all(&file[..file.len() - 12]);
        assert!(summary.compression_error.is_some() && found.len() <= 2, "{:?}", summary.compression);
    }
    let error = Source::open(&gzip(b"notes")[..]).map(|_| ()).expect_err("no capture").to_string();
    assert!(error.ends_with("its first octets behind gzip are 6e 6f 74 65 73"), "{error}");
    let twice = Source::open(&gzip(&gzip(&plain))[..]).map(|_| ()).expect_err("no capture").to_string();
    assert!(twice.ends_with("(compressed by gzip: unpack it first)"), "{twice}");
    let cut = Source::open(&zstd(&plain)[..20]).map(|_| ()).expect_err("no capture").to_string();
    assert!(cut.starts_with("cannot be uncompressed: zstd: "), "{cut}");
}

#[test]
fn an_error_of_the_disk_behind_a_compressed_beginning_is_told() {
    let file = gzip(&pcap(false, false, &[&[7; 4000]]));
    let read = |part| -> Result<(), FileError> {
        let mut source = Source::open(Failing(part, false))?;
        while source.next_record()?.is_some() {}
        Ok(())
    };
    let cut = &file[..file.len() - 20];
    assert!(matches!(read(cut), Err(FileError::Io(error)) if error.kind() == io::ErrorKind::NotConnected));
}

#[test]
fn a_capture_behind_one_that_was_cut_off_is_read_on() {
    // In 2023.
    let file = |lens: &[usize]| {
        let payload: Vec<_> = lens.iter().map(|len| vec![0; *len]).collect();
        let mut file = pcap(false, false, &payload.iter().map(|bytes| &bytes[..]).collect::<Vec<_>>());
        let mut at = 24;
        for (second, len) in (1_700_000_000_u32..).zip(lens) {
            file[at..at + 4].copy_from_slice(&second.to_le_bytes());
            at += 16 + len;
        }
        file
    };
    let (one, two) = (file(&[40, 90]), file(&[40, 60, 70]));
    let (found, summary) = all(&[&one[..one.len() - 50], &two].concat());
    // The record that was cut off, and the header and the record that it swallowed, are lost.
    let lens: Vec<_> =
        found.iter().map(|(at, bytes)| (at / 1_000_000_000 - 1_700_000_000, bytes.len())).collect();
    assert_eq!(lens, [(0, 40), (1, 90), (1, 60), (2, 70)]);
    assert!(summary.unreadable_bytes > 0);
}

#[test]
fn interfaces_without_a_name_are_the_same_in_each_section() {
    let interface = |link_type: u8| block(false, 1, &[link_type, 0, 0, 0, 0, 0, 0, 0]);
    let section = pcapng(false, 6, &[])[..28].to_vec();
    let packet = |number: u8| {
        block(false, 6, &[&[number, 0, 0, 0][..], &[0; 8], &[1, 0, 0, 0, 1, 0, 0, 0, 9]].concat())
    };
    let file = [section, interface(101), interface(101), interface(1), packet(0), packet(1), packet(2)];
    let (found, summary) = all(&[file.concat(), file.concat()].concat());
    let links: Vec<_> = summary.interfaces.iter().map(|one| (one.link_type, one.packets)).collect();
    assert_eq!((found.len(), links), (6, vec![(101, 2), (101, 2), (1, 2)]));
}
