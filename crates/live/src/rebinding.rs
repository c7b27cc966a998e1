//! A network address translator between the bearer and the server that loses its state on demand: NAT rebinding, and a change
//! of the UE's address, as transports with connection migration meet them (RFC 9000, section 9).
//!
//! Until the first rebinding, packets pass unchanged. After it, the next packet of a flow from the UE gets another source
//! port, and with a change of address also another address; packets to the old ones are dropped. The UE notices nothing.
//! Inside the bearer, and in its capture, packets have the UE's own address and port.
//!
//! Source: RFC 4787, endpoint-independent mapping and filtering. Left out: ICMP, other protocols and fragments, which pass
//! unchanged; addresses in payloads.

use airpath_core::packet::Dir;
use serde::Deserialize;
use std::collections::HashMap;

/// The part of the mapping that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rebind {
    /// The mapping of ports: each flow gets another.
    Port,
    /// The address: each flow gets another port of another address.
    Address,
}

/// Ports that are given out: dynamic ones of RFC 6335.
const FIRST_PORT: u16 = 49_152;
const PORTS: u16 = 16_384;
/// Addresses of the UE: the last octet of its own, and others up to here.
const LAST_ADDRESS: u8 = 250;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Protocol, last octet of the address, and port.
type Endpoint = (u8, u8, u16);

/// The translator.
#[derive(Debug, Default)]
pub struct Rebinding {
    /// Whether packets may be changed at all.
    is_active: bool,
    /// Added to the last octet of the UE's address.
    shift: u8,
    next_port: u16,
    /// From the UE's own endpoint to that which the server sees, and back.
    out: HashMap<Endpoint, Endpoint>,
    back: HashMap<Endpoint, Endpoint>,
    /// Packets to endpoints that are gone.
    pub dropped: u64,
}

impl Rebinding {
    /// Loses the state. Returns what has happened, for people.
    pub fn rebind(&mut self, what: Rebind) -> &'static str {
        self.is_active = true;
        self.out.clear();
        self.back.clear();
        match what {
            Rebind::Port => "NAT rebinding: other ports",
            Rebind::Address => {
                self.shift = self.shift % (LAST_ADDRESS - 2) + 1;
                "NAT rebinding: another address"
            }
        }
    }

    /// Whether packets have to be shown to [`Rebinding::translate`].
    pub fn is_active(&self) -> bool {
        self.is_active
    }

    /// Changes a packet that goes in direction `dir`; returns whether it passes.
    pub fn translate(&mut self, dir: Dir, packet: &mut [u8]) -> bool {
        let Some(place) = Place::of(packet, dir) else { return true };
        let own = place.endpoint(packet);
        let other = match dir {
            Dir::Uplink => self.mapped(own),
            Dir::Downlink => match self.back.get(&own) {
                Some(endpoint) => *endpoint,
                None => {
                    self.dropped += 1;
                    return false;
                }
            },
        };
        place.write(packet, own, other);
        true
    }

    fn mapped(&mut self, own: Endpoint) -> Endpoint {
        if let Some(endpoint) = self.out.get(&own) {
            return *endpoint;
        }
        let (protocol, host, _) = own;
        // More flows than ports take ports from the oldest ones.
        let other = (protocol, host.wrapping_add(self.shift), FIRST_PORT + self.next_port % PORTS);
        self.next_port = (self.next_port + 1) % PORTS;
        if let Some(older) = self.back.insert(other, own) {
            self.out.remove(&older);
        }
        self.out.insert(own, other);
        other
    }
}

/// Where the UE's endpoint stands in a packet.
#[derive(Clone, Copy)]
struct Place {
    protocol: u8,
    /// Offset of the last two octets of the address.
    address: usize,
    port: usize,
    /// Offset of IPv4's header checksum, if there is one.
    header_checksum: Option<usize>,
    /// Offset of the checksum of TCP or UDP; `None` for UDP without one.
    checksum: Option<usize>,
}

impl Place {
    /// In a packet of TCP or UDP; `None` of others.
    fn of(packet: &[u8], dir: Dir) -> Option<Self> {
        let (protocol, transport, address, header_checksum) = match packet.first()? >> 4 {
            4 => {
                let fragment = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x3fff;
                let length = usize::from(packet[0] & 0xf) * 4;
                let address = dir.pick(16, 12);
                (fragment == 0).then_some((*packet.get(9)?, length, address + 2, Some(10)))?
            }
            6 => (*packet.get(6)?, 40, dir.pick(24, 8) + 14, None),
            _ => return None,
        };
        let checksum = transport
            + match protocol {
                TCP => 16,
                UDP => 6,
                _ => return None,
            };
        let end = packet.get(checksum..checksum + 2)?;
        let has_checksum = protocol == TCP || end != [0, 0];
        let port = transport + dir.pick(2, 0);
        Some(Self { protocol, address, port, header_checksum, checksum: has_checksum.then_some(checksum) })
    }

    fn endpoint(self, packet: &[u8]) -> Endpoint {
        let port = u16::from_be_bytes([packet[self.port], packet[self.port + 1]]);
        (self.protocol, packet[self.address + 1], port)
    }

    fn write(self, packet: &mut [u8], (_, old_host, old_port): Endpoint, (_, host, port): Endpoint) {
        let words = |last: u8| u16::from_be_bytes([packet[self.address], last]);
        let (old_word, word) = (words(old_host), words(host));
        for place in self.header_checksum.into_iter().chain(self.checksum) {
            adjust(packet, place, old_word, word);
        }
        if let Some(place) = self.checksum {
            adjust(packet, place, old_port, port);
            if self.protocol == UDP && packet[place..place + 2] == [0, 0] {
                packet[place..place + 2].copy_from_slice(&[0xff, 0xff]);
            }
        }
        packet[self.address + 1] = host;
        packet[self.port..self.port + 2].copy_from_slice(&port.to_be_bytes());
    }
}

/// RFC 1624, equation 3.
fn adjust(packet: &mut [u8], place: usize, old: u16, new: u16) {
    let checksum = u16::from_be_bytes([packet[place], packet[place + 1]]);
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[place..place + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of 16-bit words, which is all ones if a checksum among them is right.
    fn sum(parts: &[&[u8]]) -> u16 {
        let mut sum = 0_u32;
        for part in parts {
            for pair in part.chunks(2) {
                sum += u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
            }
        }
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// A datagram of IPv4 with right checksums.
    fn datagram(from: ([u8; 4], u16), to: ([u8; 4], u16)) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 33, 0, 1, 0x40, 0, 64, UDP, 0, 0];
        packet.extend(from.0);
        packet.extend(to.0);
        packet.extend(from.1.to_be_bytes());
        packet.extend(to.1.to_be_bytes());
        packet.extend([0, 13, 0, 0, b'h', b'e', b'l', b'l', b'o']);
        let header = !sum(&[&packet[..20]]);
        packet[10..12].copy_from_slice(&header.to_be_bytes());
        let whole = !sum(&[&packet[12..], &[0, UDP, 0, 13]]);
        packet[26..28].copy_from_slice(&whole.to_be_bytes());
        packet
    }

    fn is_right(packet: &[u8]) -> bool {
        sum(&[&packet[..20]]) == 0xffff && sum(&[&packet[12..], &[0, UDP, 0, 13]]) == 0xffff
    }

    const UE: ([u8; 4], u16) = ([10, 77, 0, 2], 5555);
    const SERVER: ([u8; 4], u16) = ([10, 77, 0, 1], 443);

    fn source(packet: &[u8]) -> ([u8; 4], u16) {
        (packet[12..16].try_into().unwrap(), u16::from_be_bytes([packet[20], packet[21]]))
    }

    #[test]
    fn a_flow_gets_another_port_and_answers_find_back() {
        let mut nat = Rebinding::default();
        assert!(!nat.is_active());
        nat.rebind(Rebind::Port);
        let mut up = datagram(UE, SERVER);
        assert!(nat.translate(Dir::Uplink, &mut up) && is_right(&up));
        let seen = source(&up);
        assert!(seen.0 == UE.0 && seen.1 != UE.1);
        let mut again = datagram(UE, SERVER);
        assert!(nat.translate(Dir::Uplink, &mut again));
        assert_eq!(source(&again), seen);
        let mut down = datagram(SERVER, seen);
        assert!(nat.translate(Dir::Downlink, &mut down) && is_right(&down));
        assert_eq!(down, datagram(SERVER, UE));
        assert!(!nat.translate(Dir::Downlink, &mut datagram(SERVER, UE)), "the old port is gone");
        nat.rebind(Rebind::Port);
        assert!(!nat.translate(Dir::Downlink, &mut datagram(SERVER, seen)));
        let mut anew = datagram(UE, SERVER);
        assert!(nat.translate(Dir::Uplink, &mut anew));
        assert_ne!(source(&anew), seen);
        assert_eq!(nat.dropped, 2);
    }

    #[test]
    fn another_address_is_never_the_servers() {
        let mut nat = Rebinding::default();
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..1000 {
            nat.rebind(Rebind::Address);
            let mut up = datagram(UE, SERVER);
            assert!(nat.translate(Dir::Uplink, &mut up) && is_right(&up));
            let (address, _) = source(&up);
            assert!(address[3] > 2 && address[3] < 255, "{address:?}");
            seen.insert(address);
        }
        assert_eq!(seen.len(), usize::from(LAST_ADDRESS) - 2);
    }

    #[test]
    fn what_is_neither_tcp_nor_udp_passes_unchanged() {
        let mut nat = Rebinding::default();
        nat.rebind(Rebind::Address);
        let mut fragment = datagram(UE, SERVER);
        fragment[7] = 1;
        let mut icmp = datagram(UE, SERVER);
        icmp[9] = 1;
        for packet in [fragment, icmp, vec![0x45; 10], vec![0x60; 41], Vec::new()] {
            let mut changed = packet.clone();
            assert!(nat.translate(Dir::Uplink, &mut changed));
            assert_eq!(changed, packet);
        }
    }
}
