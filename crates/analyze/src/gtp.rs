//! GTP-U (TS 29.281): the packet of a subscriber inside the datagram that carries it between two nodes of the network.
//!
//! A G-PDU goes to port 2152 (4.4.2.3). Its header (5.1) names the tunnel by the TEID of the node that receives it, so
//! each direction of a bearer has its own. Extension headers (5.2), such as the PDU session container of a 5G core, are
//! skipped. Other tunnels, and payload other than IP, are not opened.

use std::net::IpAddr;

use crate::link::Packet;

pub const PORT: u16 = 2152;
/// Bit in the index of an interface: packets that it saw inside tunnels.
pub const IN_TUNNEL: u32 = 1 << 31;
/// Version 1, protocol type GTP.
const FLAGS: u8 = 0x30;
/// Extension header, sequence number and N-PDU number: with any of them four more octets.
const OPTIONAL: u8 = 0x07;
const EXTENSION: u8 = 0x04;
const G_PDU: u8 = 255;
const HEADER_BYTES: usize = 8;

/// A tunnel: the node that packets in it go to, and the TEID which that node gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tunnel {
    pub to: IpAddr,
    pub teid: u32,
}

/// A G-PDU opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    pub from: IpAddr,
    pub tunnel: Tunnel,
    /// The IP packet in it.
    pub packet: Packet<'a>,
}

/// Opens the payload of a datagram to port 2152; `None` if it is no G-PDU with an IP packet. If the datagram is
/// fragmented (`is_fragment`), only the first fragment is given, and the rest counts as not captured.
pub fn open(payload: Packet<'_>, from: IpAddr, to: IpAddr, is_fragment: bool) -> Option<Opened<'_>> {
    let &[flags, G_PDU, high, low, a, b, c, d, ..] = payload.captured else { return None };
    if flags & 0xF0 != FLAGS {
        return None;
    }
    let len = usize::from(u16::from_be_bytes([high, low]));
    let mut packet = payload.behind(HEADER_BYTES)?;
    if is_fragment {
        packet.missing = len.saturating_sub(packet.captured.len());
    }
    packet = packet.within(len);
    if flags & OPTIONAL != 0 {
        let &[_, _, _, next, ..] = packet.captured else { return None };
        let mut next = if flags & EXTENSION != 0 { next } else { 0 };
        packet = packet.behind(4)?;
        while next != 0 {
            // Its length in units of four octets comes first, the type of the next one last.
            let octets = 4 * usize::from(*packet.captured.first()?);
            next = *packet.captured.get(octets.checked_sub(1)?)?;
            packet = packet.behind(octets)?;
        }
    }
    let is_ip = matches!(packet.captured.first()? >> 4, 4 | 6);
    is_ip.then_some(Opened { from, tunnel: Tunnel { to, teid: u32::from_be_bytes([a, b, c, d]) }, packet })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INNER: [u8; 4] = [0x45, 0, 0, 20];

    fn opened(head: &[u8], missing: usize, is_fragment: bool) -> Option<(u32, usize, usize)> {
        let octets = [head, &INNER].concat();
        let nodes = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let found = open(Packet { captured: &octets, missing }, nodes.0, nodes.1, is_fragment)?;
        assert_eq!(found.packet.captured[..1], INNER[..1]);
        assert_eq!(found.tunnel.to, nodes.1);
        Some((found.tunnel.teid, found.packet.captured.len(), found.packet.missing))
    }

    #[test]
    fn headers_with_and_without_options_are_passed_over() {
        assert_eq!(opened(&[0x30, 255, 0, 20, 0, 0, 1, 7], 16, false), Some((0x107, 4, 16)));
        // A sequence number.
        assert_eq!(opened(&[0x32, 255, 0, 8, 0, 0, 0, 7, 0, 9, 0, 0], 0, false), Some((7, 4, 0)));
        // The same packet without the extension flag: the next type is ignored.
        assert_eq!(opened(&[0x32, 255, 0, 8, 0, 0, 0, 7, 0, 9, 0, 0x85], 0, false), Some((7, 4, 0)));
        // A PDU session container of one unit and another extension of two.
        let two = [0x34, 255, 0, 20, 0, 0, 0, 7, 0, 0, 0, 0x85, 1, 0x10, 5, 0xC0, 2, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(opened(&two, 0, false), Some((7, 4, 0)));
        // Padding after the G-PDU is not part of the packet.
        let padded = [&[0x30, 255, 0, 4, 0, 0, 0, 7], &INNER[..]].concat();
        assert_eq!(opened(&padded, 0, false), Some((7, 4, 0)));
        // The first fragment of 1400 octets.
        assert_eq!(opened(&[0x30, 255, 5, 0x78, 0, 0, 0, 7], 0, true), Some((7, 4, 1396)));
    }

    #[test]
    fn what_is_no_g_pdu_with_ip_stays_closed() {
        for head in [
            &[0x30, 1, 0, 4, 0, 0, 0, 7][..],
            &[0x40, 255, 0, 4, 0, 0, 0, 7],
            &[0x20, 255, 0, 4, 0, 0, 0, 7],
            &[0x30, 255, 0, 5, 0, 0, 0, 7, 0x60 ^ 0xFF],
            &[0x34, 255, 0, 8, 0, 0, 0, 7, 0, 0, 0, 0x85, 0],
            &[0x34, 255, 0, 8, 0, 0, 0, 7, 0, 0, 0, 0x85, 99],
            &[0x30, 255, 0],
        ] {
            assert_eq!(opened(head, 0, false), None, "{head:?}");
        }
    }
}
