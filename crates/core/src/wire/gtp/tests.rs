use super::*;

fn encoded(message: &Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}

#[test]
fn headers_have_their_octets() {
    let short = encoded(&Message::g_pdu(0x0102_0304, None, &[0xaa, 0xbb]));
    assert_eq!(short, [0x30, 255, 0, 2, 1, 2, 3, 4, 0xaa, 0xbb]);
    let long = encoded(&Message::g_pdu(5, Some(0x1234), &[0xaa]));
    assert_eq!(long, [0x32, 255, 0, 5, 0, 0, 0, 5, 0x12, 0x34, 0, 0, 0xaa]);
    let two = [
        ExtensionHeader { kind: 0xc0, content: &[7, 8] },
        ExtensionHeader { kind: 0x20, content: &[1, 2, 3, 4, 5, 6] },
    ];
    let all = Message {
        n_pdu_number: Some(9),
        extension_headers: two.to_vec(),
        ..Message::g_pdu(5, Some(1), &[0xaa])
    };
    let expected = [0x37, 255, 0, 17, 0, 0, 0, 5, 0, 1, 9, 0xc0, 1, 7, 8, 0x20, 2, 1, 2, 3, 4, 5, 6, 0, 0xaa];
    assert_eq!(encoded(&all), expected);
    assert_eq!(Message::decode(&expected), Ok(all));
    assert_eq!(
        two.map(|header| header.comprehension()),
        [Comprehension::Everywhere, Comprehension::Forwarded]
    );
}

#[test]
fn overhead_is_what_is_written() {
    let mut bytes = Vec::new();
    let outer = Outer::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    outer.encapsulate(&Message::g_pdu(1, None, &[0; 100]), &mut bytes).unwrap();
    assert_eq!(bytes.len(), 100 + OVERHEAD_OCTETS);
    bytes.clear();
    outer.encapsulate(&Message::g_pdu(1, Some(0), &[0; 100]), &mut bytes).unwrap();
    assert_eq!((bytes.len(), OVERHEAD_OCTETS, LONG_OVERHEAD_OCTETS), (140, 36, 40));
}

#[test]
fn what_is_no_gtp_u_has_a_reason() {
    let read = |bytes: &[u8]| Message::decode(bytes).unwrap_err();
    assert_eq!(read(&[0x30; 7]), DecodeError::TooShort { octets: 7, needed: 8 });
    assert_eq!(
        read(&[0x32, 255, 0, 3, 0, 0, 0, 1, 0, 0, 0]),
        DecodeError::TooShort { octets: 11, needed: 12 }
    );
    assert_eq!(read(&[0x48, 255, 0, 0, 0, 0, 0, 1]), DecodeError::Version(2));
    assert_eq!(read(&[0x1e, 255, 0, 0, 0, 0, 0, 1]), DecodeError::Version(0));
    assert_eq!(read(&[0x20, 255, 0, 0, 0, 0, 0, 1]), DecodeError::GtpPrime);
    let longer = [0x30, 255, 0, 2, 0, 0, 0, 1, 0xaa];
    assert_eq!(read(&longer), DecodeError::Length { claimed: 2, present: 1 });
    let shorter = [0x30, 255, 0, 1, 0, 0, 0, 1, 0xaa, 0xaa];
    assert_eq!(read(&shorter), DecodeError::Length { claimed: 1, present: 2 });
    assert_eq!(read(&[0x34, 255, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0x85]), DecodeError::ExtensionTruncated(0x85));
    let beyond = [0x34, 255, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0x85, 2, 0, 0, 0];
    assert_eq!(read(&beyond), DecodeError::ExtensionTruncated(0x85));
    let empty = [0x34, 255, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0x85, 0, 0, 0, 0];
    assert_eq!(read(&empty), DecodeError::ExtensionEmpty(0x85));
}

#[test]
fn unknown_types_and_spare_bits_are_no_errors() {
    let end_marker = [0x38, 254, 0, 0, 0, 0, 0, 1];
    let message = Message::decode(&end_marker).unwrap();
    assert_eq!(message.body, Body::Other { message_type: 254, payload: &[] });
    // One flag makes all optional fields present; the fields without a flag are ignored.
    let without = [0x31, 255, 0, 4, 0, 0, 0, 1, 0xff, 0xff, 7, 0xff];
    let plain = Message::decode(&without).unwrap();
    assert_eq!((plain.sequence_number, plain.n_pdu_number), (None, Some(7)));
    assert_eq!((plain.extension_headers.len(), plain.body), (0, Body::GPdu(&[])));
}

#[test]
fn what_cannot_be_carried_is_refused_and_leaves_nothing() {
    let refused = |message: &Message<'_>| {
        let mut out = vec![1, 2, 3];
        let error = message.encode(&mut out).unwrap_err();
        assert_eq!(out, [1, 2, 3]);
        error
    };
    let too_long = vec![0; 65_536];
    let error = refused(&Message::g_pdu(1, None, &too_long));
    assert_eq!(error, EncodeError::TooLong { octets: 65_536, room: 65_535 });
    for (kind, content) in [(0, &[1, 2][..]), (1, &[1, 2, 3][..]), (1, &[0; 1022][..])] {
        let extension_headers = vec![ExtensionHeader { kind, content }];
        let wrong = refused(&Message { extension_headers, ..Message::g_pdu(1, None, &[]) });
        assert!(matches!(wrong, EncodeError::Field { .. }), "{wrong}");
    }
    let known = Body::Other { message_type: 255, payload: &[] };
    assert!(matches!(refused(&Message::signalling(0, known)), EncodeError::Field { value: 255, .. }));
}
