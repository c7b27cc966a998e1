//! The datagram around a message: UDP over IPv4 (TS 29.281 §4.4).

use std::net::{Ipv4Addr, SocketAddrV4};

use etherparse::checksum::Sum16BitWords;
use etherparse::{Ipv4HeaderSlice, ip_number};

use super::{EncodeError, Message, OuterError, PORT};
use crate::wire::datagram::{Headers as Outer, IP_OCTETS, UDP_OCTETS, udp_sum};

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
    /// Messages that [`Message::encode`] refuses, or that no IP datagram can hold. `out` is then unchanged.
    pub fn encapsulate(&self, message: &Message<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        out.resize(start + IP_UDP_OCTETS, 0);
        let result = message.encode(out).and_then(|()| {
            let (octets, room) = (out.len() - start, usize::from(u16::MAX));
            if octets <= room { Ok(()) } else { Err(EncodeError::TooLong { octets, room }) }
        });
        match result {
            Ok(()) => self.put(&mut out[start..]),
            Err(_) => out.truncate(start),
        }
        result
    }
}

/// The headers of an IP datagram and the message in it, not yet read. Octets after the IP datagram, or in it after the
/// UDP datagram, are ignored, and so are IP options.
///
/// # Errors
///
/// If it is no datagram with a message of GTP-U.
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

pub(super) const IP_UDP_OCTETS: usize = IP_OCTETS + UDP_OCTETS;

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
            // Corrects the header's checksum, which this test is not about.
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
