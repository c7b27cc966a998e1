//! Simulated packets as octets: their addresses and payload.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::ip::{Endpoints, encode_header};
use super::rewrite;
use crate::packet::{Dir, IpVersion, Packet};

/// Addresses and ports of a simulated packet: the server is 10.0.0.1, UE n has 10.64.0.1 + n (over IPv6
/// the same numbers in fd00::/64), as in captures.
pub fn endpoints_of(packet: &Packet, dir: Dir) -> Endpoints {
    let [server, client] = [None, Some(packet.ue)].map(|ue| match packet.ip() {
        IpVersion::Ipv4 => IpAddr::from(ipv4_of(ue)),
        IpVersion::Ipv6 => ipv6_of(ue).into(),
    });
    let server = SocketAddr::new(server, SERVER_PORT);
    let client = SocketAddr::new(client, CLIENT_PORT.wrapping_add(packet.flow));
    match dir {
        Dir::Downlink => Endpoints { src: server, dst: client },
        Dir::Uplink => Endpoints { src: client, dst: server },
    }
}

/// IPv4 address of this UE, or of the server.
pub fn ipv4_of(ue: Option<u16>) -> Ipv4Addr {
    ue.map_or(Ipv4Addr::new(10, 0, 0, 1), |ue| Ipv4Addr::from_bits(0x0A40_0001 + u32::from(ue)))
}

/// IPv6 address of this UE, or of the server.
pub fn ipv6_of(ue: Option<u16>) -> Ipv6Addr {
    let host = ue.map_or(1, |ue| (1 << 32) + 1 + u128::from(ue));
    Ipv6Addr::from_bits((0xFD00 << 112) + host)
}

/// All octets of a packet, `packet.len` of them: the received octets with the changes of boxes; for a simulated packet,
/// headers with this identification, followed by zeros.
pub fn octets_of(packet: &Packet, dir: Dir, ip_id: u16) -> Vec<u8> {
    let mut octets = Vec::new();
    match &packet.body {
        Some(body) if !body.is_note => {
            octets.extend_from_slice(&body.bytes);
            if body.touched {
                rewrite(&mut octets, packet);
            }
        }
        _ => encode_header(packet, endpoints_of(packet, dir), ip_id, &mut octets),
    }
    octets.resize(packet.len as usize, 0);
    octets
}

/// Port of the server; a client's port is its flow number beyond [`CLIENT_PORT`].
const SERVER_PORT: u16 = 80;
const CLIENT_PORT: u16 = 49_152;
