//! Headers of a UDP datagram over IPv4 (RFC 768, RFC 791), for tunnels and captures.

use std::net::{Ipv4Addr, SocketAddrV4};

use etherparse::checksum::Sum16BitWords;
use etherparse::ip_number;

/// Fields of the IP and UDP header; for a GTP-U message the outer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Sender of the datagram.
    pub src: SocketAddrV4,
    /// Receiver of the datagram; for GTP-U at port 2152, or at the source port of a request (TS 29.281 §4.4.2).
    pub dst: SocketAddrV4,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// Identification (RFC 791), for fragments of datagrams too long for a link.
    pub identification: u16,
    /// Whether there is a UDP checksum. Over IPv4 it may be left out (RFC 768).
    pub has_udp_checksum: bool,
}

impl Headers {
    /// Fills in the headers at the beginning of a datagram.
    pub(super) fn put(&self, datagram: &mut [u8]) {
        let total = datagram.len() as u16;
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
        udp[4..6].copy_from_slice(&(total - IP_OCTETS as u16).to_be_bytes());
        if self.has_udp_checksum {
            let sum = udp_sum(*self.src.ip(), *self.dst.ip(), udp);
            udp[6..8].copy_from_slice(&sum.to_ones_complement_with_no_zero().to_ne_bytes());
        }
    }
}

/// Sum over the pseudo header and the whole UDP datagram (RFC 768).
pub(super) fn udp_sum(src: Ipv4Addr, dst: Ipv4Addr, udp: &[u8]) -> Sum16BitWords {
    Sum16BitWords::new()
        .add_4bytes(src.octets())
        .add_4bytes(dst.octets())
        .add_2bytes([0, ip_number::UDP.0])
        .add_2bytes((udp.len() as u16).to_be_bytes())
        .add_slice(udp)
}

pub(super) const IP_OCTETS: usize = 20;
pub(super) const UDP_OCTETS: usize = 8;
/// IPv4 with a header of five words.
const VERSION_AND_IHL: u8 = 0x45;
const TIME_TO_LIVE: u8 = 64;
