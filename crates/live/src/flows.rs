//! Which packets belong together: connections by their addresses and ports, numbered as they appear.

use airpath_core::packet::{Dir, Flags, Packet};
use airpath_core::wire::{self, Endpoints};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Flows told apart. Whatever comes beyond has the number of the last one, and nothing is measured on it.
pub const MOST_FLOWS: u16 = 4096;

const TCP: u8 = 6;

/// What a flow is known by, whichever way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// Number of the protocol above IP, of fragments that of IPv6's fragment header, 255 if unreadable.
    pub protocol: u8,
    /// Address and port on the server's side.
    pub server: SocketAddr,
    /// Address and port on the UE's side.
    pub ue: SocketAddr,
}

impl FlowKey {
    /// What cannot be read belongs together.
    const UNREADABLE: Self = {
        let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        Self { protocol: u8::MAX, server: nowhere, ue: nowhere }
    };

    fn new(dir: Dir, protocol: u8, endpoints: Endpoints) -> Self {
        let Endpoints { src, dst } = endpoints;
        match dir {
            Dir::Downlink => Self { protocol, server: src, ue: dst },
            Dir::Uplink => Self { protocol, server: dst, ue: src },
        }
    }

    /// Whether this is a TCP connection.
    pub fn is_tcp(&self) -> bool {
        self.protocol == TCP
    }

    /// The protocol's name in results.
    pub fn protocol_name(&self) -> &'static str {
        match self.protocol {
            TCP => "tcp",
            17 => "udp",
            1 | 58 => "icmp",
            _ => "other",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Known {
    number: u16,
    /// Sequence number of the SYN that opened the connection: another one with the same ports is another
    /// connection.
    syn: Option<u32>,
}

/// Flows by number.
#[derive(Debug, Default)]
pub struct Flows {
    known: HashMap<FlowKey, Known>,
    keys: Vec<FlowKey>,
}

impl Flows {
    /// The number of the flow to which a packet belongs; `bytes` are those that `packet` was read from.
    pub fn number(&mut self, dir: Dir, bytes: &[u8], packet: &Packet) -> u16 {
        let key = wire::endpoints(bytes)
            .map_or(FlowKey::UNREADABLE, |(protocol, endpoints)| FlowKey::new(dir, protocol, endpoints));
        let opens = packet.is_tcp() && packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::ACK);
        let syn = opens.then_some(packet.seq);
        match self.known.get_mut(&key) {
            Some(known) if !opens || known.syn == syn => known.number,
            // The SYN that was there first was lost on the way to us, or this is garbage: keep the number.
            Some(known) if known.syn.is_none() => {
                known.syn = syn;
                known.number
            }
            _ => self.add(key, syn),
        }
    }

    #[cold]
    fn add(&mut self, key: FlowKey, syn: Option<u32>) -> u16 {
        let number = self.keys.len().min(usize::from(MOST_FLOWS)) as u16;
        if number < MOST_FLOWS {
            self.keys.push(key);
            self.known.insert(key, Known { number, syn });
        }
        number
    }

    /// Every flow that has a number, in order.
    pub fn keys(&self) -> &[FlowKey] {
        &self.keys
    }

    /// Addresses of a packet of this flow that goes this way.
    pub fn endpoints(&self, flow: u16, dir: Dir) -> Option<Endpoints> {
        let FlowKey { server, ue, .. } = *self.keys.get(usize::from(flow))?;
        Some(match dir {
            Dir::Downlink => Endpoints { src: server, dst: ue },
            Dir::Uplink => Endpoints { src: ue, dst: server },
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use airpath_core::packet::Kind;
    use airpath_core::wire::{encode_header, parse};

    /// A TCP packet between port 80 of the server and a port of the UE.
    fn packet(dir: Dir, ue_port: u16, flags: Flags, seq: u32) -> (Vec<u8>, Packet) {
        let server: SocketAddr = "10.0.0.1:80".parse().unwrap();
        let ue = SocketAddr::new("10.0.0.2".parse().unwrap(), ue_port);
        let endpoints = match dir {
            Dir::Downlink => Endpoints { src: server, dst: ue },
            Dir::Uplink => Endpoints { src: ue, dst: server },
        };
        let header = Packet { flags, seq, len: 40, ..Packet::default() };
        let mut bytes = Vec::new();
        encode_header(&header, endpoints, 0, &mut bytes);
        let mut read = Packet::default();
        parse(&bytes, &mut read);
        (bytes, read)
    }

    fn number(flows: &mut Flows, dir: Dir, ue_port: u16, flags: Flags, seq: u32) -> u16 {
        let (bytes, packet) = packet(dir, ue_port, flags, seq);
        flows.number(dir, &bytes, &packet)
    }

    #[test]
    fn both_directions_of_a_connection_are_one_flow() {
        let mut flows = Flows::default();
        assert_eq!(number(&mut flows, Dir::Uplink, 5000, Flags::SYN, 7), 0);
        assert_eq!(number(&mut flows, Dir::Uplink, 5001, Flags::SYN, 7), 1);
        assert_eq!(number(&mut flows, Dir::Downlink, 5000, Flags::SYN | Flags::ACK, 9), 0);
        assert_eq!(number(&mut flows, Dir::Downlink, 5001, Flags::ACK, 9), 1);
        let endpoints = flows.endpoints(1, Dir::Downlink).unwrap();
        assert_eq!((endpoints.src.port(), endpoints.dst.port()), (80, 5001));
    }

    #[test]
    fn a_new_connection_over_the_same_ports_is_a_flow_of_its_own() {
        let mut flows = Flows::default();
        assert_eq!(number(&mut flows, Dir::Uplink, 5000, Flags::SYN, 7), 0);
        assert_eq!(number(&mut flows, Dir::Uplink, 5000, Flags::SYN, 7), 0, "the SYN again");
        assert_eq!(number(&mut flows, Dir::Uplink, 5000, Flags::SYN, 8), 1);
        assert_eq!(number(&mut flows, Dir::Downlink, 5000, Flags::ACK, 1), 1);
    }

    #[test]
    fn what_cannot_be_read_is_one_flow_and_the_table_is_bounded() {
        let mut flows = Flows::default();
        let garbage =
            Packet { kind: Kind::Opaque(airpath_core::packet::Opaque::Malformed), ..Packet::default() };
        assert_eq!(flows.number(Dir::Uplink, b"", &garbage), 0);
        assert_eq!(flows.number(Dir::Downlink, b"\xff\xff", &garbage), 0);
        assert_eq!(flows.keys()[0].protocol_name(), "other");
        for port in 0..MOST_FLOWS + 100 {
            number(&mut flows, Dir::Uplink, port, Flags::SYN, 7);
        }
        assert_eq!(flows.keys().len(), usize::from(MOST_FLOWS));
        assert_eq!(number(&mut flows, Dir::Uplink, MOST_FLOWS + 50, Flags::ACK, 7), MOST_FLOWS);
        assert_eq!(flows.endpoints(MOST_FLOWS, Dir::Uplink), None);
    }
}
