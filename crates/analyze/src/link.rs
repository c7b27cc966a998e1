//! Finds the IP packet in the frame of a link: LINKTYPE_ numbers of draft-ietf-opsawg-pcaplinktype.

const LINKTYPE_NULL: u32 = 0;
const LINKTYPE_ETHERNET: u32 = 1;
const LINKTYPE_PPP: u32 = 9;
const LINKTYPE_FDDI: u32 = 10;
/// Values that BSDs write for raw IP instead of its number.
const DLT_RAW: [u32; 2] = [12, 14];
const LINKTYPE_PPP_HDLC: u32 = 50;
const LINKTYPE_PPP_ETHER: u32 = 51;
const LINKTYPE_ATM_RFC1483: u32 = 100;
const LINKTYPE_RAW: u32 = 101;
const LINKTYPE_C_HDLC: u32 = 104;
const LINKTYPE_IEEE802_11: u32 = 105;
const LINKTYPE_FRELAY: u32 = 107;
const LINKTYPE_LOOP: u32 = 108;
const LINKTYPE_ENC: u32 = 109;
const LINKTYPE_LINUX_SLL: u32 = 113;
const LINKTYPE_IEEE802_11_RADIOTAP: u32 = 127;
const LINKTYPE_PPP_PPPD: u32 = 166;
const LINKTYPE_PPI: u32 = 192;
const LINKTYPE_PPP_WITH_DIR: u32 = 204;
const LINKTYPE_IPV4: u32 = 228;
const LINKTYPE_IPV6: u32 = 229;
const LINKTYPE_NFLOG: u32 = 239;
const LINKTYPE_PKTAP: u32 = 258;
const LINKTYPE_LINUX_SLL2: u32 = 276;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86DD;
const ETHERTYPE_PPPOE: u16 = 0x8864;
/// RFC 5332 (3): downstream- and upstream-assigned labels.
const ETHERTYPES_MPLS: [u16; 2] = [0x8847, 0x8848];
/// IEEE 802.1Q, 802.1ad and the values in use before 802.1ad.
const ETHERTYPES_VLAN: [u16; 5] = [0x8100, 0x88A8, 0x9100, 0x9200, 0x9300];
/// IEEE 802.3 (3.2.6): below this an EtherType is a length, and LLC follows.
const SMALLEST_ETHERTYPE: u16 = 0x0600;
/// EtherType of Linux cooked frames that are followed by LLC.
const LINUX_802_2: u16 = 4;
/// PPP's protocols: RFC 1332 and RFC 5072.
const PPP_IP: [u16; 2] = [0x21, 0x57];
/// RFC 3032 (4.3).
const PPP_MPLS: [u16; 2] = [0x0281, 0x0283];

/// Content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries<'a> {
    /// An IP packet, from its first byte to the end of the frame.
    Ip(Packet<'a>),
    Other,
    /// Unknown: too little was captured.
    Truncated,
    /// Unknown: this link type is not supported.
    UnknownLink,
}

/// The part of a frame after a header, up to the end of the frame or of the payload length in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    pub captured: &'a [u8],
    /// Octets after them that were not captured.
    pub missing: usize,
}

impl<'a> Packet<'a> {
    /// Without its first octets.
    pub fn behind(self, octets: usize) -> Option<Self> {
        Some(Self { captured: self.captured.get(octets..)?, ..self })
    }

    /// No more than its first octets.
    pub fn within(self, octets: usize) -> Self {
        let captured = &self.captured[..octets.min(self.captured.len())];
        Self { captured, missing: self.missing.min(octets - captured.len()) }
    }

    pub fn len(self) -> usize {
        self.captured.len() + self.missing
    }

    fn u16(self, at: usize) -> Option<u16> {
        Some(u16::from_be_bytes(*self.captured.get(at..)?.first_chunk::<2>()?))
    }
}

/// Finds the IP packet in a frame of a link; `missing` octets at its end were not captured.
pub fn ip_packet(link_type: u32, frame: &[u8], missing: u32) -> Carries<'_> {
    let frame = Packet { captured: frame, missing: missing as usize };
    found(link_type, frame).unwrap_or(Carries::Truncated)
}

fn found(link_type: u32, frame: Packet<'_>) -> Option<Carries<'_>> {
    match link_type {
        LINKTYPE_RAW | LINKTYPE_IPV4 | LINKTYPE_IPV6 => raw(frame),
        LINKTYPE_ETHERNET => by_ether_type(frame, 12),
        LINKTYPE_LINUX_SLL => by_ether_type(frame, 14),
        // Protocol type, reserved bytes, index, ARPHRD, packet type, address: draft, LINKTYPE_LINUX_SLL2.
        LINKTYPE_LINUX_SLL2 => by_protocol(frame.u16(0)?, frame.behind(20)?),
        // An address family of the capturing machine, in its byte order: the packet itself shows its IP version.
        LINKTYPE_NULL | LINKTYPE_LOOP => raw(frame.behind(4)?),
        // Address family, security parameters index and flags.
        LINKTYPE_ENC => raw(frame.behind(12)?),
        LINKTYPE_PPP | LINKTYPE_PPP_HDLC => hdlc(frame),
        LINKTYPE_PPP_WITH_DIR => hdlc(frame.behind(1)?),
        // The direction replaces the address, then 0x03.
        LINKTYPE_PPP_PPPD => ppp(frame.behind(2)?),
        LINKTYPE_PPP_ETHER => pppoe(frame),
        LINKTYPE_C_HDLC => by_protocol(frame.u16(2)?, frame.behind(4)?),
        LINKTYPE_ATM_RFC1483 => llc(frame),
        // RFC 1390: frame control and two addresses.
        LINKTYPE_FDDI => llc(frame.behind(13)?),
        // RFC 2427 (3): two octets of address, control, NLPID.
        LINKTYPE_FRELAY => match frame.captured.get(2..4)? {
            [3, 0xCC | 0x8E] => raw(frame.behind(4)?),
            _ => Some(Carries::Other),
        },
        LINKTYPE_IEEE802_11 => wireless(frame),
        LINKTYPE_IEEE802_11_RADIOTAP => wireless(frame.behind(little(frame, 2)?.into())?),
        LINKTYPE_PPI => nested(little(frame, 4)?.into(), frame.behind(little(frame, 2)?.into())?),
        LINKTYPE_PKTAP => nested(little(frame, 8)?.into(), frame.behind(little(frame, 0)?.into())?),
        LINKTYPE_NFLOG => nflog(frame),
        other if DLT_RAW.contains(&other) => raw(frame),
        _ => Some(Carries::UnknownLink),
    }
}

/// A frame of another link type after a header that describes it.
fn nested(link_type: u32, frame: Packet<'_>) -> Option<Carries<'_>> {
    match link_type {
        LINKTYPE_PPI | LINKTYPE_PKTAP => Some(Carries::Other),
        inner => found(inner, frame),
    }
}

fn little(frame: Packet<'_>, at: usize) -> Option<u16> {
    frame.u16(at).map(u16::swap_bytes)
}

fn raw(packet: Packet<'_>) -> Option<Carries<'_>> {
    Some(match packet.captured.first()? >> 4 {
        4 | 6 => Carries::Ip(packet),
        _ => Carries::Other,
    })
}

/// Reads a frame whose EtherType is at `at`.
fn by_ether_type(frame: Packet<'_>, at: usize) -> Option<Carries<'_>> {
    by_protocol(frame.u16(at)?, frame.behind(at + 2)?)
}

/// Reads the payload that follows an EtherType. A VLAN tag has two bytes in front of the next EtherType.
fn by_protocol(mut kind: u16, mut payload: Packet<'_>) -> Option<Carries<'_>> {
    while ETHERTYPES_VLAN.contains(&kind) {
        (kind, payload) = (payload.u16(2)?, payload.behind(4)?);
    }
    match kind {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Some(Carries::Ip(payload)),
        ETHERTYPE_PPPOE => pppoe(payload),
        mpls if ETHERTYPES_MPLS.contains(&mpls) => labelled(payload),
        LINUX_802_2 => llc(payload),
        length if length < SMALLEST_ETHERTYPE => llc(payload.within(length.into())),
        _ => Some(Carries::Other),
    }
}

/// RFC 2516 (4): six octets of PPPoE, the last two the length of the payload.
fn pppoe(frame: Packet<'_>) -> Option<Carries<'_>> {
    let len = frame.u16(4)?;
    ppp(frame.behind(6)?.within(len.into()))
}

/// RFC 1662 (3.1): address and control, which may be left out, in front of PPP; or Cisco's framing.
fn hdlc(frame: Packet<'_>) -> Option<Carries<'_>> {
    match frame.captured {
        [0xFF, 0x03, ..] => ppp(frame.behind(2)?),
        [0x0F | 0x8F, 0x00, ..] => by_protocol(frame.u16(2)?, frame.behind(4)?),
        _ => ppp(frame),
    }
}

/// RFC 1661 (2): the protocol in two octets, or in one that is odd.
fn ppp(frame: Packet<'_>) -> Option<Carries<'_>> {
    let first = *frame.captured.first()?;
    let (protocol, octets) = if first & 1 == 1 { (first.into(), 1) } else { (frame.u16(0)?, 2) };
    let payload = frame.behind(octets)?;
    match protocol {
        ip if PPP_IP.contains(&ip) => Some(Carries::Ip(payload)),
        mpls if PPP_MPLS.contains(&mpls) => labelled(payload),
        _ => Some(Carries::Other),
    }
}

/// RFC 3032 (2.1): labels of four octets up to the one with the bottom bit.
fn labelled(mut frame: Packet<'_>) -> Option<Carries<'_>> {
    loop {
        let is_bottom = frame.captured.get(2)? & 1 == 1;
        frame = frame.behind(4)?;
        if is_bottom {
            return raw(frame);
        }
    }
}

/// RFC 1042: LLC with SNAP and no organisation, then an EtherType.
fn llc(frame: Packet<'_>) -> Option<Carries<'_>> {
    match frame.captured.get(..6)? {
        // A second LLC header would have no end.
        [0xAA, 0xAA, 3, 0, 0, 0] if frame.u16(6)? >= SMALLEST_ETHERTYPE => by_ether_type(frame, 6),
        _ => Some(Carries::Other),
    }
}

/// IEEE 802.11 (9.2.4): data frames that are not encrypted and hold one packet.
fn wireless(frame: Packet<'_>) -> Option<Carries<'_>> {
    const FROM_AND_TO_DS: u8 = 3;
    let (kind, flags) = (*frame.captured.first()?, *frame.captured.get(1)?);
    let (is_data, has_body, has_qos) = (kind & 0x0C == 8, kind & 0x40 == 0, kind & 0x80 != 0);
    let (is_protected, has_order) = (flags & 0x40 != 0, flags & 0x80 != 0);
    if !is_data || !has_body || is_protected {
        return Some(Carries::Other);
    }
    let mut header = if flags & 3 == FROM_AND_TO_DS { 30 } else { 24 };
    if has_qos {
        if frame.captured.get(header)? & 0x80 != 0 {
            return Some(Carries::Other);
        }
        header += if has_order { 6 } else { 2 };
    }
    llc(frame.behind(header)?)
}

/// Linux's netfilter log: four octets, then attributes of length, type and value; type 9 is the packet.
fn nflog(frame: Packet<'_>) -> Option<Carries<'_>> {
    const PAYLOAD: u16 = 9;
    let mut rest = frame.behind(4)?;
    loop {
        let (len, kind) = (usize::from(little(rest, 0)?), little(rest, 2)?);
        if len < 4 {
            return Some(Carries::Other);
        }
        if kind == PAYLOAD {
            return raw(rest.behind(4)?.within(len - 4));
        }
        rest = rest.behind(len.next_multiple_of(4))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(header: &[u8]) -> Vec<u8> {
        [header, &[0x45, 0, 0, 20]].concat()
    }

    fn ip(missing: usize) -> Carries<'static> {
        Carries::Ip(Packet { captured: &[0x45, 0, 0, 20], missing })
    }

    #[test]
    fn the_packet_is_found_in_every_frame_known() {
        let sll: &[u8] = &[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0];
        let sll2: &[u8] = &[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0];
        let ethernet = |types: &[u8]| [&[0; 12][..], types].concat();
        let cases = [
            (101, vec![]),
            (12, vec![]),
            (0, vec![2, 0, 0, 0]),
            (108, vec![0, 0, 0, 2]),
            (113, sll.to_vec()),
            (113, [&sll[..14], &[0x81, 0, 0, 7, 8, 0]].concat()),
            (276, sll2.to_vec()),
            (276, [&[0x81, 0][..], &sll2[2..], &[0, 7, 8, 0]].concat()),
            (276, [&[0x88, 0xA8][..], &sll2[2..], &[0, 7, 0x81, 0, 0, 9, 8, 0]].concat()),
            (1, ethernet(&[8, 0])),
            (1, ethernet(&[0x81, 0, 0, 7, 8, 0])),
            (1, ethernet(&[0x88, 0xA8, 0, 7, 0x81, 0, 0, 9, 8, 0])),
            (1, ethernet(&[0x88, 0x47, 0, 1, 0x10, 9, 0, 2, 0x11, 9])),
            (1, ethernet(&[0, 12, 0xAA, 0xAA, 3, 0, 0, 0, 8, 0])),
            (9, vec![0xFF, 3, 0, 0x21]),
            (9, vec![0x21]),
            (9, vec![0xFF, 3, 2, 0x81, 0, 1, 0x11, 9]),
            (10, [&[0x50; 13][..], &[0xAA, 0xAA, 3, 0, 0, 0, 8, 0]].concat()),
            (50, vec![0x0F, 0, 8, 0]),
            (51, vec![0x11, 0, 0, 1, 0, 6, 0, 0x21]),
            (100, vec![0xAA, 0xAA, 3, 0, 0, 0, 8, 0]),
            (104, vec![0x0F, 0, 8, 0]),
            (104, vec![0x0F, 0, 0x81, 0, 0, 7, 8, 0]),
            (105, [&[0x88, 1][..], &[0; 24], &[0xAA, 0xAA, 3, 0, 0, 0, 8, 0]].concat()),
            (127, [&[0, 0, 8, 0, 0, 0, 0, 0, 8, 1][..], &[0; 22], &[0xAA, 0xAA, 3, 0, 0, 0, 8, 0]].concat()),
            (107, vec![0x18, 0x41, 3, 0xCC]),
            (109, vec![0; 12]),
            (166, vec![1, 3, 0, 0x21]),
            (204, vec![1, 0xFF, 3, 0, 0x21]),
            (192, vec![0, 0, 8, 0, 101, 0, 0, 0]),
            (258, [&[12, 0, 0, 0, 1, 0, 0, 0, 12, 0, 0, 0][..]].concat()),
            (239, vec![2, 0, 0, 0, 5, 0, 7, 0, 1, 0, 0, 0, 8, 0, 9, 0]),
        ];
        for (link_type, header) in cases {
            let frame = after(&header);
            assert_eq!(ip_packet(link_type, &frame, 0), ip(0), "{link_type} {header:?}");
        }
        let pppoe = ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 22, 0, 0x21]);
        assert_eq!(ip_packet(1, &after(&pppoe), 16), ip(16));
    }

    #[test]
    fn the_length_of_pppoe_ends_the_packet() {
        let header = |len: u8| [&[0; 12][..], &[0x88, 0x64, 0x11, 0, 0, 1, 0, len, 0, 0x21]].concat();
        let padded = [after(&header(6)), vec![0; 30]].concat();
        assert_eq!(ip_packet(1, &padded, 0), ip(0));
        // 100 octets, 96 of them not captured, and 20 octets.
        assert_eq!(ip_packet(1, &after(&header(102)), 100), ip(96));
        assert_eq!(ip_packet(1, &after(&header(22)), 100), ip(16));
    }

    #[test]
    fn what_is_no_ip_is_told_from_what_is_cut_off() {
        assert_eq!(ip_packet(1, &[0; 13], 0), Carries::Truncated);
        assert_eq!(ip_packet(1, &[&[0; 12][..], &[8, 6]].concat(), 0), Carries::Other);
        assert_eq!(ip_packet(101, &[0x15], 0), Carries::Other);
        assert_eq!(ip_packet(147, &[0x45], 0), Carries::UnknownLink);
    }
}
