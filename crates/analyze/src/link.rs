//! From the frame of a link to the IP packet in it: LINKTYPE_ numbers of draft-ietf-opsawg-pcaplinktype.

const LINKTYPE_NULL: u32 = 0;
const LINKTYPE_ETHERNET: u32 = 1;
/// What BSDs write for raw IP in place of its number.
const DLT_RAW: [u32; 2] = [12, 14];
const LINKTYPE_RAW: u32 = 101;
const LINKTYPE_LOOP: u32 = 108;
const LINKTYPE_LINUX_SLL: u32 = 113;
const LINKTYPE_IPV4: u32 = 228;
const LINKTYPE_IPV6: u32 = 229;
const LINKTYPE_LINUX_SLL2: u32 = 276;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;
const ETHERTYPE_PPPOE: u16 = 0x8864;
/// IEEE 802.1Q, 802.1ad and what came before it.
const ETHERTYPES_VLAN: [u16; 3] = [0x8100, 0x88A8, 0x9100];

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries<'a> {
    /// An IP packet, from its first byte to the end of the frame.
    Ip(&'a [u8]),
    Other,
    /// Unknown: too little was captured.
    Truncated,
    /// Unknown: this link type is not supported.
    UnknownLink,
}

/// Finds the IP packet in a frame of a link.
pub fn ip_packet(link_type: u32, frame: &[u8]) -> Carries<'_> {
    let found = match link_type {
        LINKTYPE_RAW | LINKTYPE_IPV4 | LINKTYPE_IPV6 => raw(frame),
        LINKTYPE_ETHERNET => by_ether_type(frame, 12),
        LINKTYPE_LINUX_SLL => by_ether_type(frame, 14),
        // Protocol type, reserved bytes, index, ARPHRD, packet type, address: draft, LINKTYPE_LINUX_SLL2.
        LINKTYPE_LINUX_SLL2 => frame
            .first_chunk::<2>()
            .and_then(|protocol| Some(by_protocol(u16::from_be_bytes(*protocol), frame.get(20..)?))),
        // An address family of the machine that captured, in its byte order: the packet says what it is.
        LINKTYPE_NULL | LINKTYPE_LOOP => frame.get(4..).and_then(raw),
        other if DLT_RAW.contains(&other) => raw(frame),
        _ => return Carries::UnknownLink,
    };
    found.unwrap_or(Carries::Truncated)
}

fn raw(packet: &[u8]) -> Option<Carries<'_>> {
    Some(match packet.first()? >> 4 {
        4 | 6 => Carries::Ip(packet),
        _ => Carries::Other,
    })
}

/// A frame whose EtherType stands at `at`, tags of VLANs behind it.
fn by_ether_type(frame: &[u8], mut at: usize) -> Option<Carries<'_>> {
    loop {
        let kind = u16::from_be_bytes(*frame.get(at..)?.first_chunk::<2>()?);
        if !ETHERTYPES_VLAN.contains(&kind) {
            return Some(by_protocol(kind, &frame[at + 2..]));
        }
        at += 4;
    }
}

fn by_protocol(kind: u16, payload: &[u8]) -> Carries<'_> {
    match kind {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Carries::Ip(payload),
        // RFC 2516 (4): six bytes of PPPoE, then PPP's protocol, 0x21 for IPv4 and 0x57 for IPv6.
        ETHERTYPE_PPPOE => match payload.get(6..8) {
            Some([0, 0x21 | 0x57]) => Carries::Ip(&payload[8..]),
            Some(_) => Carries::Other,
            None => Carries::Truncated,
        },
        _ => Carries::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(header: &[u8]) -> Vec<u8> {
        [header, &[0x45, 0, 0, 20]].concat()
    }

    #[test]
    fn the_packet_is_found_in_every_frame_known() {
        let sll: &[u8] = &[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0];
        let sll2: &[u8] = &[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0];
        let ethernet = |types: &[u8]| [&[0; 12][..], types].concat();
        let cases: [(u32, Vec<u8>); 9] = [
            (101, vec![]),
            (12, vec![]),
            (0, vec![2, 0, 0, 0]),
            (108, vec![0, 0, 0, 2]),
            (113, sll.to_vec()),
            (276, sll2.to_vec()),
            (1, ethernet(&[8, 0])),
            (1, ethernet(&[0x81, 0, 0, 7, 8, 0])),
            (1, ethernet(&[0x88, 0xA8, 0, 7, 0x81, 0, 0, 9, 8, 0])),
        ];
        for (link_type, header) in cases {
            let frame = after(&header);
            assert_eq!(
                ip_packet(link_type, &frame),
                Carries::Ip(&[0x45, 0, 0, 20]),
                "{link_type} {header:?}"
            );
        }
        let pppoe = ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 22, 0, 0x21]);
        assert_eq!(ip_packet(1, &after(&pppoe)), Carries::Ip(&[0x45, 0, 0, 20]));
    }

    #[test]
    fn what_is_no_ip_is_told_from_what_is_cut_off() {
        assert_eq!(ip_packet(1, &[0; 13]), Carries::Truncated);
        assert_eq!(ip_packet(1, &[&[0; 12][..], &[8, 6]].concat()), Carries::Other);
        assert_eq!(ip_packet(101, &[0x15]), Carries::Other);
        assert_eq!(ip_packet(105, &[0x45]), Carries::UnknownLink);
    }
}
