//! Octets as an IP packet: any can be read, headers that are written read the same, and in-place changes stay within
//! their fields.
#![no_main]

use airpath_core::packet::Packet;
use airpath_core::wire;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut packet = Packet::default();
    wire::parse(bytes, &mut packet);
    assert!(packet.len as usize <= bytes.len());
    assert!(packet.payload <= packet.len);
    for range in [wire::checked_payload(bytes), wire::checked_datagram(bytes)].into_iter().flatten() {
        assert!(range.start <= range.end && range.end <= packet.len as usize);
    }
    // Written back unchanged, no octet changes.
    let mut same = bytes.to_vec();
    wire::rewrite(&mut same, &packet);
    assert_eq!(same, bytes);
    let Some((_, endpoints)) = wire::endpoints(bytes) else { return };
    if !packet.is_tcp() {
        return;
    }
    // Headers with a payload of zeros have the same fields; options that came without padding may take more.
    let mut header = Vec::new();
    wire::encode_header(&packet, endpoints, 0, &mut header);
    let mut whole = header.clone();
    whole.resize((packet.len as usize).max(header.len() + packet.payload as usize), 0);
    let mut again = Packet::default();
    wire::parse(&whole, &mut again);
    assert_eq!(
        (again.seq, again.ack, again.flags, again.window, again.ecn()),
        (packet.seq, packet.ack, packet.flags, packet.window, packet.ecn())
    );
});
