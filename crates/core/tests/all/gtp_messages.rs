//! Properties of the codec of GTP-U: what is written is read back, whatever comes in.

use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use airpath_core::gtp::{Endpoint, Received, Relay, Side, Tunnel};
use airpath_core::wire::gtp::{Body, ExtensionHeader, Message, Outer, PORT, decapsulate};
use proptest::collection::vec;
use proptest::prelude::*;

/// What a message borrows.
#[derive(Clone, Debug)]
struct Owned {
    teid: u32,
    sequence_number: Option<u16>,
    n_pdu_number: Option<u8>,
    extension_headers: Vec<(u8, Vec<u8>)>,
    what: u8,
    peer: IpAddr,
    octets: Vec<u8>,
}

impl Owned {
    fn message(&self) -> Message<'_> {
        Message {
            teid: self.teid,
            sequence_number: self.sequence_number,
            n_pdu_number: self.n_pdu_number,
            extension_headers: self
                .extension_headers
                .iter()
                .map(|(kind, content)| ExtensionHeader { kind: *kind, content })
                .collect(),
            body: match self.what {
                0 => Body::EchoRequest,
                1 => Body::EchoResponse { recovery: self.teid as u8 },
                2 => Body::ErrorIndication { teid: !self.teid, peer: self.peer },
                3 => Body::SupportedExtensionHeaders(&self.octets[..self.octets.len().min(255)]),
                4 => Body::Other { message_type: 254, payload: &self.octets },
                _ => Body::GPdu(&self.octets),
            },
        }
    }
}

fn extension_header() -> impl Strategy<Value = (u8, Vec<u8>)> {
    // The longest has 255 units of 4 octets.
    let units = prop_oneof![4 => 1..4_usize, 1 => Just(255_usize)];
    (1..=255_u8, units, any::<u8>()).prop_map(|(kind, units, octet)| (kind, vec![octet; units * 4 - 2]))
}

fn owned() -> impl Strategy<Value = Owned> {
    let peer = prop_oneof![
        any::<u32>().prop_map(|bits| Ipv4Addr::from_bits(bits).into()),
        any::<u128>().prop_map(|bits| std::net::Ipv6Addr::from_bits(bits).into()),
    ];
    let headers = vec(extension_header(), 0..4);
    (
        any::<u32>(),
        any::<Option<u16>>(),
        any::<Option<u8>>(),
        headers,
        0..8_u8,
        peer,
        vec(any::<u8>(), 0..300),
    )
        .prop_map(|(teid, sequence_number, n_pdu_number, extension_headers, what, peer, octets)| Owned {
            teid,
            sequence_number,
            n_pdu_number,
            extension_headers,
            what,
            peer,
            octets,
        })
}

fn outer() -> impl Strategy<Value = Outer> {
    let address = || any::<u32>().prop_map(Ipv4Addr::from_bits);
    (address(), any::<u16>(), address(), any::<u8>(), any::<u16>(), any::<bool>()).prop_map(
        |(src, port, dst, traffic_class, identification, has_udp_checksum)| Outer {
            src: SocketAddrV4::new(src, port),
            dst: SocketAddrV4::new(dst, PORT),
            traffic_class,
            identification,
            has_udp_checksum,
        },
    )
}

const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// An endpoint and a relay take the datagram, and each counts it once.
fn take(datagram: &[u8]) {
    let mut endpoint = Endpoint::new(HERE, true);
    let tunnel = Tunnel { peer: THERE, peer_teid: 2, bearer: 3, has_sequence_numbers: true };
    endpoint.open(1, tunnel).unwrap();
    let is_packet = matches!(endpoint.receive(datagram), Received::Packet { bearer: 3, .. });
    let counters = endpoint.counters();
    assert_eq!(counters.packets_in, u64::from(is_packet));
    let others = counters.echoes_answered
        + counters.echo_responses
        + counters.error_indications
        + counters.notifications
        + counters.all_rejected();
    assert_eq!(others, u64::from(!is_packet));
    let mut relay = Relay::new(HERE, false);
    let side = |teid| Side { teid, peer: THERE, peer_teid: teid + 10 };
    relay.join(side(1), side(2)).unwrap();
    relay.receive(datagram);
    assert_eq!(relay.counters().packets_in, relay.counters().packets_out);
}

/// What can be read can be written, and reads the same.
fn read(bytes: &[u8]) {
    let Ok(message) = Message::decode(bytes) else { return };
    let mut again = Vec::new();
    message.encode(&mut again).unwrap();
    assert!(again.len() <= bytes.len());
    assert_eq!(Message::decode(&again), Ok(message));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(owned in owned(), outer in outer()) {
        let message = owned.message();
        let mut bytes = Vec::new();
        message.encode(&mut bytes).unwrap();
        prop_assert_eq!(Message::decode(&bytes), Ok(message.clone()));
        let mut datagram = Vec::new();
        outer.encapsulate(&message, &mut datagram).unwrap();
        prop_assert_eq!(decapsulate(&datagram), Ok((outer, &bytes[..])));
    }

    #[test]
    fn a_message_cut_or_prolonged_is_none(owned in owned(), cut in any::<prop::sample::Index>()) {
        let mut bytes = Vec::new();
        owned.message().encode(&mut bytes).unwrap();
        prop_assert!(Message::decode(&bytes[..cut.index(bytes.len())]).is_err());
        bytes.push(0);
        prop_assert!(Message::decode(&bytes).is_err());
    }

    #[test]
    fn changed_messages_are_read_or_refused(
        owned in owned(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = Vec::new();
        owned.message().encode(&mut bytes).unwrap();
        for (at, to) in changes {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        read(&bytes);
    }

    #[test]
    fn any_octets_are_read_or_refused(mut bytes in vec(any::<u8>(), 0..200), is_plausible in any::<bool>()) {
        if is_plausible && bytes.len() >= 8 {
            bytes[0] = 0x30 | bytes[0] & 7;
            let length = (bytes.len() - 8) as u16;
            bytes[2..4].copy_from_slice(&length.to_be_bytes());
        }
        read(&bytes);
        take(&bytes);
    }

    #[test]
    fn nodes_count_each_datagram_once(
        owned in owned(),
        teid in 0..3_u32,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let message = Message { teid, ..owned.message() };
        let mut datagram = Vec::new();
        Outer::new(THERE, HERE).encapsulate(&message, &mut datagram).unwrap();
        for (at, to) in changes {
            let at = at.index(datagram.len());
            datagram[at] = to;
        }
        take(&datagram);
    }
}
