//! Packets that enter and leave the link.

use crate::Instant;
use airpath_core::packet::{IpVersion, Packet};
use airpath_core::wire::{checked_datagram, endpoints, ipv4_of, ipv6_of, parse};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// An end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// The server, at the far end of the wire.
    Server,
    /// The UE with this index, from 0, at the other side of the radio.
    Ue(u16),
}

impl End {
    /// The end's IPv4 address: 10.0.0.1 is the server's, 10.64.0.1 that of UE 0, 10.64.0.2 that of UE 1.
    pub fn ipv4(self) -> Ipv4Addr {
        ipv4_of(self.ue())
    }

    /// The end's IPv6 address: fd00::1 is the server's, fd00::1:0:1 that of UE 0, fd00::1:0:2 that of UE 1.
    pub fn ipv6(self) -> Ipv6Addr {
        ipv6_of(self.ue())
    }

    fn ue(self) -> Option<u16> {
        match self {
            Self::Server => None,
            Self::Ue(ue) => Some(ue),
        }
    }
}

/// The ECN field of the IP header, RFC 3168 (5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: dropped where others are marked.
    #[default]
    NotEct = 0,
    /// ECN-capable, of a sender for L4S (RFC 9331).
    Ect1 = 1,
    /// ECN-capable, the usual code point.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The code point with these two bits; higher bits are ignored.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Its two bits.
    pub const fn bits(self) -> u8 {
        self as u8
    }
}

/// A UDP datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Source.
    pub src: SocketAddr,
    /// Destination. Its address selects one of several UEs: see [`Net::send`](crate::Net::send).
    pub dst: SocketAddr,
    /// ECN field.
    pub ecn: Ecn,
    /// Octets above UDP.
    pub payload: Vec<u8>,
}

impl Datagram {
    /// A datagram that is not ECN-capable.
    pub const fn new(src: SocketAddr, dst: SocketAddr, payload: Vec<u8>) -> Self {
        Self { src, dst, ecn: Ecn::NotEct, payload }
    }

    /// Over IPv6 unless both addresses are of IPv4.
    pub(crate) fn ip(&self) -> IpVersion {
        if self.src.is_ipv4() && self.dst.is_ipv4() { IpVersion::Ipv4 } else { IpVersion::Ipv6 }
    }
}

/// Whether a packet was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sent {
    /// It is in flight: the link delivers it or drops it.
    Accepted,
    /// It is larger than the MTU, and was not sent.
    TooBig,
    /// The link holds as many packets as [`Builder::most_inside`](crate::Builder::most_inside) allows; it was not sent.
    Full,
}

/// A packet that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arrival {
    /// When.
    pub at: Instant,
    /// Where.
    pub to: End,
    /// The IP packet.
    pub packet: Vec<u8>,
}

impl Arrival {
    /// The UDP datagram in the packet, if it is one.
    pub fn datagram(&self) -> Option<Datagram> {
        let payload = self.packet[checked_datagram(&self.packet)?].to_vec();
        let (_, ends) = endpoints(&self.packet)?;
        let mut header = Packet::default();
        parse(&self.packet, &mut header);
        Some(Datagram { src: ends.src, dst: ends.dst, ecn: Ecn::from_bits(header.ecn()), payload })
    }
}
