//! Octets as a message of GTP-U and as a datagram to nodes: what can be read can be written, and each datagram is
//! counted once.
#![no_main]

use std::net::Ipv4Addr;

use airpath_core::gtp::{Endpoint, Received, Relay, Relayed, Side, Tunnel};
use airpath_core::wire::gtp::{Message, Outer, decapsulate};
use libfuzzer_sys::fuzz_target;

const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

fuzz_target!(|bytes: &[u8]| {
    take(bytes);
    let Ok(message) = Message::decode(bytes) else { return };
    let mut again = Vec::new();
    message.encode(&mut again).expect("what was read can be written");
    assert!(again.len() <= bytes.len());
    assert_eq!(Message::decode(&again).as_ref(), Ok(&message));
    let mut datagram = Vec::new();
    if Outer::new(THERE, HERE).encapsulate(&message, &mut datagram).is_ok() {
        assert_eq!(decapsulate(&datagram), Ok((Outer::new(THERE, HERE), &again[..])));
        take(&datagram);
    }
});

fn take(datagram: &[u8]) {
    let mut endpoint = Endpoint::new(HERE, true);
    let tunnel = Tunnel { peer: THERE, peer_teid: 2, bearer: 3, has_sequence_numbers: true };
    endpoint.open(1, tunnel).expect("a good tunnel");
    let is_packet = matches!(endpoint.receive(datagram), Received::Packet { bearer: 3, .. });
    let counters = endpoint.counters();
    let others = counters.echoes_answered
        + counters.echo_responses
        + counters.error_indications
        + counters.notifications
        + counters.all_rejected();
    assert_eq!((counters.packets_in, others), (u64::from(is_packet), u64::from(!is_packet)));
    let mut relay = Relay::new(HERE, false);
    let side = |teid| Side { teid, peer: THERE, peer_teid: teid + 10 };
    relay.join(side(1), side(2)).expect("good tunnels");
    if let Relayed::Onward(onward) = relay.receive(datagram) {
        let (_, bytes) = decapsulate(&onward).expect("a datagram");
        let g_pdu = Message::decode(bytes).expect("a message");
        assert!(onward.len() <= datagram.len() && matches!(g_pdu.teid, 11 | 12));
    }
}
