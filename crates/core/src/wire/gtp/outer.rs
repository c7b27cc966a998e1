//! The datagram around a message: UDP over IPv4 (TS 29.281 §4.4).

use std::net::{Ipv4Addr, SocketAddrV4};

use etherparse::checksum::Sum16BitWords;
use etherparse::{Ipv4HeaderSlice, ip_number};

use super::{EncodeError, Message, OuterError, PORT};

/// The outer IP and UDP headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outer {
    /// Who sends the datagram.
    pub src: SocketAddrV4,
    /// Who is to receive it: at port 2152, or at the port that a request came from (§4.4.2).
    pub dst: SocketAddrV4,
    /// DSCP and ECN of the outer header.
    pub traffic_class: u8,
    /// Identification of the outer header (RFC 791), for fragments of datagrams too long for a link.
    pub identification: u16,
    /// Whether there is a UDP checksum. Over IPv4 it may be left out (RFC 768).
    pub has_udp_checksum: bool,
}

impl Outer {
    /// From port 2152 to port 2152, without UDP checksum.
    pub const fn new(src: Ipv4Addr, dst: Ipv4Addr) -> Self {
        Self {
            src: SocketAddrV4::new(src, PORT),
            dst: SocketAddrV4::new(dst, PORT),
            traffic_class: 0,
            identification: 0,
            has_udp_checksum: false,
        }
    }

    /// Appends a whole IP datagram with the message to `out`.
    ///
    /// # Errors
    ///
    /// What [`Message::encode`] refuses, and what no IP datagram can hold. Then `out` is as it was.
    pub fn encapsulate(&self, message: &Message<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        out.resize(start + IP_UDP_OCTETS, 0);
        let result = message.encode(out).and_then(|()| {
            let octets = out.len() - start;
            let total = u16::try_from(octets);
            total.map_err(|_| EncodeError::TooLong { octets, room: u16::MAX.into() })
        });
        match result {
            Ok(total) => {
                self.put_headers(total, &mut out[start..]);
                Ok(())
            }
            Err(error) => {
                out.truncate(start);
                Err(error)
            }
        }
    }

    /// Fills in the headers in front of a message; `total` octets altogether.
    fn put_headers(&self, total: u16, datagram: &mut [u8]) {
        let udp_length = total - IP_OCTETS as u16;
        let (ip, udp) = datagram.split_at_mut(IP_OCTETS);
        ip[..2].copy_from_slice(&[VERSION_AND_IHL, self.traffic_class]);
        ip[2..4].copy_from_slice(&total.to_be_bytes());
        ip[4..6].copy_from_slice(&self.identification.to_be_bytes());
        ip[8..10].copy_from_slice(&[TIME_TO_LIVE, ip_number::UDP.0]);
        ip[12..16].copy_from_slice(&self.src.ip().octets());
        ip[16..].copy_from_slice(&self.dst.ip().octets());
        // etherparse sums in native byte order.
        let checksum = Sum16BitWords::new().add_slice(ip).ones_complement();
        ip[10..12].copy_from_slice(&checksum.to_ne_bytes());
        udp[..2].copy_from_slice(&self.src.port().to_be_bytes());
        udp[2..4].copy_from_slice(&self.dst.port().to_be_bytes());
        udp[4..6].copy_from_slice(&udp_length.to_be_bytes());
        if self.has_udp_checksum {
            let sum = udp_sum(*self.src.ip(), *self.dst.ip(), udp);
            udp[6..8].copy_from_slice(&sum.to_ones_complement_with_no_zero().to_ne_bytes());
        }
    }
}

/// The headers of an IP datagram and the message in it, not yet read. Octets behind the IP datagram, or in it
/// behind the UDP datagram, are passed over, and so are IP options.
///
/// # Errors
///
/// What makes it no datagram with a message of GTP-U.
pub fn decapsulate(bytes: &[u8]) -> Result<(Outer, &[u8]), OuterError> {
    let ip = Ipv4HeaderSlice::from_slice(bytes).map_err(|_| OuterError::NotIpv4)?;
    let payload = bytes.get(ip.slice().len()..usize::from(ip.total_len())).ok_or(OuterError::NotIpv4)?;
    if Sum16BitWords::new().add_slice(ip.slice()).ones_complement() != 0 {
        return Err(OuterError::HeaderChecksum);
    }
    if ip.is_fragmenting_payload() {
        return Err(OuterError::Fragment);
    }
    if ip.protocol() != ip_number::UDP {
        return Err(OuterError::NotUdp(ip.protocol().0));
    }
    let &[s0, s1, d0, d1, l0, l1, c0, c1] = payload.first_chunk().ok_or(OuterError::UdpLength)?;
    let udp = payload.get(..usize::from(u16::from_be_bytes([l0, l1]))).ok_or(OuterError::UdpLength)?;
    let message = udp.get(UDP_OCTETS..).ok_or(OuterError::UdpLength)?;
    let (src, dst) = (ip.source_addr(), ip.destination_addr());
    let has_udp_checksum = [c0, c1] != [0, 0];
    if has_udp_checksum && udp_sum(src, dst, udp).ones_complement() != 0 {
        return Err(OuterError::UdpChecksum);
    }
    let ports = (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]));
    if ports.0 != PORT && ports.1 != PORT {
        return Err(OuterError::Ports { src: ports.0, dst: ports.1 });
    }
    let outer = Outer {
        src: SocketAddrV4::new(src, ports.0),
        dst: SocketAddrV4::new(dst, ports.1),
        traffic_class: bytes[1],
        identification: ip.identification(),
        has_udp_checksum,
    };
    Ok((outer, message))
}

/// Of the pseudo header and the whole UDP datagram (RFC 768).
fn udp_sum(src: Ipv4Addr, dst: Ipv4Addr, udp: &[u8]) -> Sum16BitWords {
    Sum16BitWords::new()
        .add_4bytes(src.octets())
        .add_4bytes(dst.octets())
        .add_2bytes([0, ip_number::UDP.0])
        .add_2bytes((udp.len() as u16).to_be_bytes())
        .add_slice(udp)
}

const IP_OCTETS: usize = 20;
const UDP_OCTETS: usize = 8;
pub(super) const IP_UDP_OCTETS: usize = IP_OCTETS + UDP_OCTETS;
/// IPv4 with a header of five words.
const VERSION_AND_IHL: u8 = 0x45;
const TIME_TO_LIVE: u8 = 64;

#[cfg(test)]
mod tests {
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};

    use super::*;

    const RNC: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    const SGSN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

    fn datagram(has_udp_checksum: bool, packet: &[u8]) -> Vec<u8> {
        let outer =
            Outer { has_udp_checksum, identification: 7, traffic_class: 0x2a, ..Outer::new(RNC, SGSN) };
        let mut bytes = Vec::new();
        outer.encapsulate(&Message::g_pdu(1, None, packet), &mut bytes).unwrap();
        assert_eq!(decapsulate(&bytes).unwrap().0, outer);
        bytes
    }

    #[test]
    fn another_reader_finds_the_headers_and_checksums_right() {
        for packet in [&[0xab; 5][..], &[0xff; 1400], &[]] {
            let bytes = datagram(true, packet);
            let sliced = SlicedPacket::from_ip(&bytes).unwrap();
            let Some(NetSlice::Ipv4(ip)) = sliced.net else { panic!("{sliced:?}") };
            let header = ip.header().to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            assert_eq!(usize::from(ip.header().total_len()), bytes.len());
            let Some(TransportSlice::Udp(udp)) = sliced.transport else { panic!("no UDP") };
            let expected = udp.to_header().calc_checksum_ipv4_raw(RNC.octets(), SGSN.octets(), udp.payload());
            assert_eq!(udp.checksum(), expected.unwrap());
            assert_eq!(udp.payload(), decapsulate(&bytes).unwrap().1);
        }
        assert_eq!(datagram(false, &[1])[26..28], [0, 0]);
    }

    #[test]
    fn what_is_no_gtp_datagram_has_a_reason() {
        let good = datagram(true, &[1, 2, 3]);
        let changed = |at: usize, to: u8| {
            let mut bytes = good.clone();
            bytes[at] = to;
            // The header's checksum made right again: it is not what this is about.
            bytes[10..12].fill(0);
            let sum = Sum16BitWords::new().add_slice(&bytes[..20]).ones_complement();
            bytes[10..12].copy_from_slice(&sum.to_ne_bytes());
            decapsulate(&bytes).map(|(outer, _)| outer).unwrap_err()
        };
        assert_eq!(decapsulate(&[]), Err(OuterError::NotIpv4));
        assert_eq!(decapsulate(&good[..good.len() - 1]), Err(OuterError::NotIpv4));
        assert_eq!(changed(0, 0x65), OuterError::NotIpv4);
        assert_eq!(changed(6, 0x20), OuterError::Fragment);
        assert_eq!(changed(9, 6), OuterError::NotUdp(6));
        assert_eq!(changed(25, 7), OuterError::UdpLength);
        assert_eq!(changed(25, 200), OuterError::UdpLength);
        assert_eq!(changed(38, 9), OuterError::UdpChecksum);
        let mut bytes = good.clone();
        bytes[8] = 63;
        assert_eq!(decapsulate(&bytes), Err(OuterError::HeaderChecksum));
        let mut other = Outer::new(RNC, SGSN);
        (other.src, other.dst) = (SocketAddrV4::new(RNC, 5), SocketAddrV4::new(SGSN, 6));
        bytes.clear();
        other.encapsulate(&Message::g_pdu(1, None, &[]), &mut bytes).unwrap();
        assert_eq!(decapsulate(&bytes), Err(OuterError::Ports { src: 5, dst: 6 }));
    }

    #[test]
    fn no_datagram_is_too_long_and_padding_behind_it_is_passed_over() {
        let mut bytes = vec![9];
        let most = vec![0; 65_535 - super::super::OVERHEAD_OCTETS];
        Outer::new(RNC, SGSN).encapsulate(&Message::g_pdu(1, None, &most), &mut bytes).unwrap();
        assert_eq!(bytes.len(), 65_536);
        let more = Message::g_pdu(1, Some(1), &most);
        bytes.truncate(1);
        let error = Outer::new(RNC, SGSN).encapsulate(&more, &mut bytes).unwrap_err();
        assert_eq!(error, EncodeError::TooLong { octets: 65_539, room: 65_535 });
        assert_eq!(bytes, [9]);
        let mut padded = datagram(true, &[1, 2, 3]);
        padded.extend_from_slice(&[0; 20]);
        assert_eq!(decapsulate(&padded).unwrap().1.len(), 11);
    }
}
