use super::*;
use crate::wire::gtp::{DecodeError, ExtensionHeader};

const RNC: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SGSN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const GGSN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 3);
const STRANGER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);

/// Between the RNC's TEID 0x11 and the GGSN's 0x33; the SGSN has 0x21 towards the RNC and 0x23 towards the GGSN.
fn network() -> (Endpoint, Relay, Endpoint) {
    let mut rnc = Endpoint::new(RNC, true);
    let mut relay = Relay::new(SGSN, false);
    let mut ggsn = Endpoint::new(GGSN, false);
    let to_sgsn = |peer_teid, bearer, has_sequence_numbers| Tunnel {
        peer: SGSN,
        peer_teid,
        bearer,
        has_sequence_numbers,
    };
    rnc.open(0x11, to_sgsn(0x21, 5, false)).unwrap();
    ggsn.open(0x33, to_sgsn(0x23, 7, true)).unwrap();
    let iu = Side { teid: 0x21, peer: RNC, peer_teid: 0x11 };
    let gn = Side { teid: 0x23, peer: GGSN, peer_teid: 0x33 };
    relay.join(iu, gn).unwrap();
    (rnc, relay, ggsn)
}

fn sent(endpoint: &mut Endpoint, teid: u32, packet: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::new();
    endpoint.send(teid, packet, &mut datagram).unwrap();
    datagram
}

/// A message from a stranger's port, not that of GTP-U.
fn from_stranger(to: Ipv4Addr, message: &Message<'_>) -> Vec<u8> {
    let mut outer = Outer::new(STRANGER, to);
    outer.src.set_port(40_000);
    let mut datagram = Vec::new();
    outer.encapsulate(message, &mut datagram).unwrap();
    datagram
}

/// Outer header of a datagram, with addresses and ports, and its message.
fn read(datagram: &[u8]) -> (Outer, Message<'_>) {
    let (outer, bytes) = decapsulate(datagram).unwrap();
    (outer, Message::decode(bytes).unwrap())
}

#[test]
fn packets_go_through_both_tunnels_either_way() {
    let (mut rnc, mut relay, mut ggsn) = network();
    for number in 0..3 {
        let packet = [number; 40];
        let down = sent(&mut ggsn, 0x33, &packet);
        let Relayed::Onward(down) = relay.receive(&down) else { panic!("not relayed") };
        let Received::Packet { teid, bearer, packet: came, g_pdu } = rnc.receive(&down) else {
            panic!("no packet")
        };
        assert_eq!((teid, bearer, came), (0x11, 5, &packet[..]));
        assert_eq!(g_pdu.sequence_number, Some(number.into()));
    }
    let up = sent(&mut rnc, 0x11, &[9; 40]);
    let Relayed::Onward(up) = relay.receive(&up) else { panic!("not relayed") };
    let (outer, g_pdu) = read(&up);
    assert_eq!((*outer.src.ip(), *outer.dst.ip(), g_pdu.teid), (SGSN, GGSN, 0x33));
    assert!(matches!(ggsn.receive(&up), Received::Packet { bearer: 7, .. }));
    assert_eq!((ggsn.counters().packets_out, rnc.counters().packets_in), (3, 3));
    assert_eq!((relay.counters().packets_in, relay.counters().packets_out), (4, 4));
    assert_eq!(relay.counters().all_rejected(), 0);
}

#[test]
fn sequence_numbers_wrap() {
    let (_, _, mut ggsn) = network();
    let mut last = None;
    for _ in 0..=65_536_u32 {
        last = read(&sent(&mut ggsn, 0x33, &[])).1.sequence_number;
    }
    assert_eq!(last, Some(0));
}

#[test]
fn an_echo_is_answered_where_it_came_from() {
    let (mut rnc, mut relay, _) = network();
    let asked = rnc.echo_request(SGSN, 77);
    let Relayed::Here(Received::Answer(answer)) = relay.receive(&asked) else { panic!("no answer") };
    let expected = Received::EchoResponse { peer: SGSN, sequence_number: Some(77) };
    assert_eq!(rnc.receive(&answer), expected);
    let stranger = from_stranger(RNC, &Message::signalling(3, Body::EchoRequest));
    let Received::Answer(back) = rnc.receive(&stranger) else { panic!("no answer") };
    let (outer, message) = read(&back);
    assert_eq!((outer.dst.port(), *outer.dst.ip(), outer.src.port()), (40_000, STRANGER, 2152));
    assert_eq!((message.teid, message.body), (0, Body::EchoResponse { recovery: 0 }));
    assert_eq!((rnc.counters().echoes_answered, rnc.counters().echo_responses), (1, 1));
}

#[test]
fn an_unknown_teid_is_indicated_and_the_sender_finds_its_tunnel() {
    let (mut rnc, mut relay, mut ggsn) = network();
    assert_eq!(rnc.close(0x11).map(|tunnel| tunnel.bearer), Some(5));
    let down = sent(&mut ggsn, 0x33, &[1; 40]);
    let Relayed::Onward(down) = relay.receive(&down) else { panic!("not relayed") };
    let Received::Rejected { why: Rejection::Teid(0x11), answer: Some(answer) } = rnc.receive(&down) else {
        panic!("not refused")
    };
    let (outer, message) = read(&answer);
    assert_eq!((outer.dst.port(), message.teid, message.sequence_number), (2152, 0, Some(0)));
    assert_eq!(message.body, Body::ErrorIndication { teid: 0x11, peer: RNC.into() });
    let told = relay.receive(&answer);
    assert_eq!(told, Relayed::Here(Received::ErrorIndication { teid: Some(0x21) }));
    assert!(relay.part(0x21) && !relay.part(0x23));
    // Now the GGSN is notified, too; for a tunnel that does not exist, nothing follows.
    let lost = sent(&mut ggsn, 0x33, &[1; 40]);
    let Relayed::Here(Received::Rejected { answer: Some(refusal), .. }) = relay.receive(&lost) else {
        panic!("not refused")
    };
    assert_eq!(ggsn.receive(&refusal), Received::ErrorIndication { teid: Some(0x33) });
    ggsn.close(0x33);
    assert_eq!(ggsn.receive(&refusal), Received::ErrorIndication { teid: None });
    assert_eq!(rnc.counters().report()["rejected"], serde_json::json!({ "unknown_teid": 1 }));
}

#[test]
fn extension_headers_are_handed_on_removed_or_refused() {
    let (mut rnc, mut relay, _) = network();
    let header = |kind| ExtensionHeader { kind, content: &[1, 2] };
    let g_pdu = |teid, kinds: &[u8]| {
        let extension_headers = kinds.iter().map(|&kind| header(kind)).collect();
        Message { extension_headers, ..Message::g_pdu(teid, None, &[6; 4]) }
    };
    let all = from_stranger(SGSN, &g_pdu(0x23, &[0x20, 0x40, 0x85]));
    let Relayed::Onward(onward) = relay.receive(&all) else { panic!("not relayed") };
    assert_eq!(read(&onward).1, g_pdu(0x11, &[0x20, 0x85]));
    let Received::Rejected { why, answer: Some(answer) } = rnc.receive(&onward) else { panic!("taken") };
    assert_eq!(why, Rejection::ExtensionHeader(0x85));
    assert_eq!(read(&answer).1.body, Body::SupportedExtensionHeaders(&[]));
    assert_eq!(relay.receive(&answer), Relayed::Here(Received::Notification));
    let optional = from_stranger(RNC, &g_pdu(0x11, &[0x20, 0x40]));
    assert!(matches!(rnc.receive(&optional), Received::Packet { packet: [6, 6, 6, 6], .. }));
    let everywhere = from_stranger(SGSN, &g_pdu(0x23, &[0xc0]));
    let refused = relay.receive(&everywhere);
    assert!(matches!(refused, Relayed::Here(Received::Rejected { answer: Some(_), .. })), "{refused:?}");
    // An answer is never answered.
    let response = Message {
        extension_headers: vec![header(0xc0)],
        ..Message::signalling(0, Body::EchoResponse { recovery: 0 })
    };
    let unanswered = Received::Rejected { why: Rejection::ExtensionHeader(0xc0), answer: None };
    assert_eq!(rnc.receive(&from_stranger(RNC, &response)), unanswered);
}

#[test]
fn bad_gtp_is_counted_by_its_reason_and_not_answered() {
    let (mut rnc, _, _) = network();
    let good = from_stranger(RNC, &Message::g_pdu(0x11, None, &[1, 2, 3, 4]));
    let changed = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[28 + at] = to;
        bytes
    };
    // A datagram whose IP and UDP headers are right, with the first octets of a message.
    let cut = |datagram: &[u8], octets: u16| {
        let mut bytes = datagram[..28 + usize::from(octets)].to_vec();
        let mut message = bytes.split_off(28);
        message[2..4].copy_from_slice(&(octets - 8.min(octets)).to_be_bytes());
        bytes[2..4].copy_from_slice(&(28 + octets).to_be_bytes());
        bytes[10..12].fill(0);
        let sum = etherparse::checksum::Sum16BitWords::new().add_slice(&bytes[..20]).ones_complement();
        bytes[10..12].copy_from_slice(&sum.to_ne_bytes());
        bytes[24..26].copy_from_slice(&(8 + octets).to_be_bytes());
        [bytes, message].concat()
    };
    let with_number = from_stranger(RNC, &Message::g_pdu(0x11, Some(1), &[1, 2, 3, 4]));
    let end_marker = Body::Other { message_type: 254, payload: &[] };
    let bad = [
        (vec![], "bad_datagram"),
        (from_stranger(GGSN, &Message::g_pdu(0x11, None, &[])), "other_address"),
        (cut(&good, 7), "too_short"),
        (cut(&with_number, 11), "too_short"),
        (changed(0, 0x50), "version"),
        (changed(0, 0x20), "gtp_prime"),
        (changed(3, 5), "length"),
        (changed(3, 3), "length"),
        (changed(0, 0x34), "extension_headers"),
        (changed(1, 26), "information_elements"),
        (from_stranger(RNC, &Message::signalling(0, end_marker)), "message_type"),
    ];
    for (datagram, reason) in &bad {
        let Received::Rejected { why, answer: None } = rnc.receive(datagram) else { panic!("{reason}") };
        assert_eq!(why.reason(), *reason);
    }
    let length = Rejection::Malformed(DecodeError::Length { claimed: 0, present: 0 });
    assert_eq!((rnc.counters().rejected(length), rnc.counters().all_rejected()), (2, 11));
    assert_eq!(rnc.counters().report()["rejected"]["too_short"], 2);
    assert_eq!(rnc.counters().report()["rejected"]["length"], 2);
    assert_eq!(rnc.counters().packets_in, 0);
}

#[test]
fn tunnels_that_cannot_be_are_refused() {
    let (mut rnc, mut relay, _) = network();
    let tunnel = Tunnel { peer: SGSN, peer_teid: 1, bearer: 0, has_sequence_numbers: false };
    assert_eq!(rnc.open(0, tunnel), Err(OpenError::ZeroTeid));
    assert_eq!(rnc.open(1, Tunnel { peer_teid: 0, ..tunnel }), Err(OpenError::ZeroTeid));
    assert_eq!(rnc.open(0x11, tunnel), Err(OpenError::Taken(0x11)));
    let side = |teid| Side { teid, peer: RNC, peer_teid: 1 };
    assert_eq!(relay.join(side(1), side(0x21)), Err(OpenError::Taken(0x21)));
    assert_eq!(relay.join(side(1), side(1)), Err(OpenError::Taken(1)));
    // Neither attempt left anything.
    assert_eq!(relay.join(side(1), side(2)), Ok(()));
    let mut out = vec![1];
    assert_eq!(rnc.send(0x99, &[], &mut out), Err(SendError::NoTunnel(0x99)));
    let too_long = rnc.send(0x11, &[0; 65_500], &mut out);
    assert_eq!(too_long, Err(SendError::Encode(EncodeError::TooLong { octets: 65_536, room: 65_535 })));
    assert_eq!((out, rnc.counters().packets_out), (vec![1], 0));
}
