//! Headers by hand, whole, cut off and wrong.

use super::*;

/// IPv4 with TCP, the given options, and a payload that was not captured.
fn packet(options: &[u8], flags: u8, payload: usize) -> Vec<u8> {
    let header = 20 + options.len();
    let total = (20 + header + payload) as u16;
    let mut bytes = vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes.extend([
        0,
        80,
        0xC0,
        0,
        0,
        0,
        0,
        7,
        0,
        0,
        0,
        9,
        ((header / 4) << 4) as u8,
        flags,
        1,
        0,
        0,
        0,
        0,
        0,
    ]);
    bytes.extend(options);
    bytes
}

fn one(bytes: &[u8]) -> Segment {
    ends_and_segment(bytes, 0).expect("a segment").2
}

fn ends_and_segment(bytes: &[u8], missing: usize) -> Result<(Endpoint, Endpoint, Segment), Unread> {
    let found = read_all(bytes, missing)?;
    match found.transport {
        Transport::Tcp(segment) => Ok((found.from, found.to, segment)),
        Transport::Udp(datagram) => panic!("{datagram:?}"),
    }
}

fn read_all(captured: &[u8], missing: usize) -> Result<Found<'_>, Unread> {
    read(Packet { captured, missing })
}

#[test]
fn fields_and_options_are_read() {
    let (from, to, segment) = ends_and_segment(&packet(&[], ACK, 1000), 1000).expect("a segment");
    assert_eq!((from, to), (("10.0.0.1".parse().unwrap(), 80), ("10.0.0.2".parse().unwrap(), 49152)));
    let mark = Mark { identification: 1, hops: 64 };
    let expected =
        Segment { seq: 7, ack: 9, flags: ACK, window: 256, payload: 1000, mark, ..Segment::default() };
    assert_eq!(segment, expected);
    let syn = one(&packet(&[2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 3, 3, 15], SYN, 0));
    let offer = Offer { mss: Some(1460), window_scale: Some(14), sack_permitted: true, timestamps: true };
    assert_eq!((syn.offer, syn.timestamps, syn.lacks_options), (offer, Some((1, 2)), false));
    let sack = one(&packet(&[1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 3], ACK, 0));
    assert_eq!(sack.sack(), [(1, 3)]);
}

#[test]
fn what_was_cut_off_is_told_from_what_is_wrong() {
    let whole = packet(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2], ACK, 100);
    for len in 1..whole.len() {
        let cut = &whole[..len];
        match ends_and_segment(cut, whole.len() + 100 - len) {
            Ok((_, _, segment)) => {
                assert!(len >= 36 && segment.lacks_options && segment.payload == 100, "{len}")
            }
            Err(why) => assert_eq!((why, len < 36), (Unread::Truncated, true), "{len}"),
        }
    }
    assert_eq!(read_all(&[], 0), Err(Unread::Truncated));
    assert_eq!(read_all(&[0x15; 40], 0), Err(Unread::BadLength));
    let mut short = whole.clone();
    short[2..4].copy_from_slice(&50_u16.to_be_bytes());
    assert_eq!(read_all(&short, 0), Err(Unread::BadLength));
    let mut no_options = whole.clone();
    no_options[32] = 0x40;
    assert_eq!(read_all(&no_options, 0), Err(Unread::BadLength));
    // An option of length 0 ends the reading of options alone.
    let odd = one(&packet(&[8, 0, 0, 0], ACK, 0));
    assert!(odd.lacks_options);
}

#[test]
fn padding_is_no_payload_and_a_length_left_to_the_card_is_that_of_the_frame() {
    let mut padded = packet(&[], ACK, 0);
    padded.extend([0; 6]);
    assert_eq!(one(&padded).payload, 0);
    let mut offloaded = packet(&[], ACK, 0);
    offloaded[2..4].fill(0);
    assert_eq!(ends_and_segment(&offloaded, 60_000).expect("a segment").2.payload, 60_000);
}

#[test]
fn other_protocols_and_fragments_are_told_apart() {
    let mut icmp = packet(&[], 0, 0);
    icmp[9] = 1;
    assert_eq!(read_all(&icmp, 0), Err(Unread::OtherProtocol));
    let mut fragment = packet(&[], 0, 0);
    fragment[6] = 0x20;
    assert_eq!(read_all(&fragment, 0), Err(Unread::Fragment));
}

#[test]
fn ipv6_extension_headers_are_skipped() {
    let tcp = &packet(&[], ACK, 0)[20..];
    let mut bytes = vec![0x60, 0, 0, 0, 0, 8 + 20 + 5, 0, 64];
    bytes.extend([&[0; 15][..], &[1], &[0; 15], &[2]].concat());
    bytes.extend([6, 0, 1, 4, 0, 0, 0, 0]);
    bytes.extend(tcp);
    let (from, _, segment) = ends_and_segment(&bytes, 5).expect("a segment");
    assert_eq!((from.0, segment.payload), ("::1".parse::<IpAddr>().unwrap(), 5));
    bytes[6] = 44;
    assert_eq!(read_all(&bytes, 5), Err(Unread::Fragment));
    // Neither offset nor more: RFC 6946.
    let mut atomic = vec![0x60, 0, 0, 0, 0, 8 + 20, 44, 64];
    atomic.extend([&[0; 15][..], &[1], &[0; 15], &[2]].concat());
    atomic.extend([6, 0, 0, 0, 0, 0, 0, 9]);
    atomic.extend(tcp);
    assert_eq!(one(&atomic).payload, 0);
}

#[test]
fn a_length_beyond_the_frame_is_the_frames() {
    let phantom = packet(&[], ACK, 83);
    let found = read_all(&phantom, 0).expect("a segment");
    let Transport::Tcp(segment) = found.transport else { panic!("no segment") };
    assert_eq!((segment.payload, found.exceeds_frame), (0, true));
    // A packet truncated by the snap length is no phantom.
    let cut = read_all(&phantom, 83).expect("a segment");
    let Transport::Tcp(whole) = cut.transport else { panic!("no segment") };
    assert_eq!((whole.payload, cut.exceeds_frame), (83, false));
}

#[test]
fn a_datagram_is_read_and_cut_off_within_its_header_it_is_not() {
    // 1200 bytes, six of them captured: the long header of QUIC's first version.
    let mut bytes = vec![0x45, 0, 4, 0xCC, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    bytes.extend([0xC0, 0, 1, 0xBB, 4, 0xB8, 0, 0, 0xC3, 0, 0, 0, 1, 8]);
    let Ok(Found { from, to, transport: Transport::Udp(datagram), .. }) = read_all(&bytes, 1194) else {
        panic!("no datagram")
    };
    assert_eq!((from.1, to.1, datagram.payload, datagram.quic()), (49152, 443, 1200, Some("1")));
    assert_eq!(read_all(&bytes[..27], 1201), Err(Unread::Truncated));
    bytes[3] = 20 + 7;
    bytes[2] = 0;
    assert_eq!(read_all(&bytes, 0), Err(Unread::BadLength));
}

#[test]
fn authentication_header_is_passed_over() {
    // RFC 4302 (2): next header, length of 4 + 2 words, reserved, SPI, number, integrity check value of 12 bytes.
    let header: Vec<u8> = [&[6, 4][..], &[0; 22]].concat();
    let mut v4 = packet(&[], ACK, 0);
    (v4[3], v4[9]) = (64, 51);
    v4.splice(20..20, header.iter().copied());
    assert_eq!((one(&v4).seq, one(&v4).ack), (7, 9));
    let v6 = [&[0x60, 0, 0, 0, 0, 44, 51, 64][..], &[1; 32], &header, &packet(&[], ACK, 0)[20..]].concat();
    assert_eq!((one(&v6).seq, one(&v6).payload), (7, 0));
    for len in 20..v4.len() - 4 {
        assert_eq!(read_all(&v4[..len], v4.len() - len), Err(Unread::Truncated), "{len}");
    }
}
