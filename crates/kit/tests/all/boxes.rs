//! Whole IP packets: boxes read TCP, and only TCP.

use crate::{arrivals, bundled, datagram, ms};
use airpath::{End, Net};
use airpath_core::packet::{Dir, Flags, Packet};
use airpath_core::wire::{encode_segment, endpoints_of, parse};

/// A pure ACK of UE 0.
fn ack(number: u32) -> Vec<u8> {
    let packet = Packet { ack: number, flags: Flags::ACK, window: 1000, len: 40, ..Packet::default() };
    let mut bytes = Vec::new();
    encode_segment(&packet, endpoints_of(&packet, Dir::Uplink), 0, &[], &mut bytes);
    bytes
}

#[test]
fn a_box_filters_acks_of_tcp_and_leaves_datagrams_alone() {
    let scenario = bundled("umts-384").with("middlebox", "[{ ack_filter = {} }, { tap = {} }]").unwrap();
    let mut net = Net::new(&scenario, 1);
    for number in 0..100 {
        net.send_ip(ms(0), End::Ue(0), &ack(1000 * number));
        net.send(ms(0), End::Ue(0), datagram(End::Ue(0), vec![0; 12]));
    }
    let seen = arrivals(&mut net, ms(5000));
    let acks = seen.iter().filter(|arrival| arrival.datagram().is_none()).count();
    assert_eq!(seen.len() - acks, 100);
    assert!((1..100).contains(&acks), "{acks}");
    let uplink = net.stats().uplink;
    assert_eq!((uplink.sent, uplink.opaque), (200, 100));
    assert_eq!(uplink.reasons.get("ack_filtered"), Some(&(100 - acks as u64)));
    // The last one stays: it carries the information of all others.
    let mut last = Packet::default();
    let arrival = seen.iter().rfind(|arrival| arrival.datagram().is_none()).unwrap();
    parse(&arrival.packet, &mut last);
    assert_eq!((last.ack, &arrival.packet), (99_000, &ack(99_000)));
    let tap = net.report().into_iter().find(|report| report["element"] == "middlebox.tap").unwrap();
    assert_eq!(tap["uplink"]["pure_acks"], acks);
    assert_eq!(tap["uplink"]["passed_unread"]["other_protocol"], 100);
}
