//! Which packets belong together: connections by their addresses and ports, numbered as they appear.

use crate::packet::{Dir, Flags, Packet};
use crate::wire::{self, Endpoints};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Number of flows that are measured. Middleboxes must distinguish connections for as long as a link lasts, so flows
/// beyond this limit get IDs from here on, and the oldest of these IDs are reused.
pub const MOST_FLOWS: u16 = 4096;

/// Numbers beyond [`MOST_FLOWS`].
const MOST_UNMEASURED: usize = (u16::MAX - MOST_FLOWS) as usize + 1;

const TCP: u8 = 6;

/// Key of a flow, independent of the direction of a packet.
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
    /// Common key of all unreadable packets.
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
    /// Number of the interface over which the first packet of each went.
    interfaces: Vec<u16>,
    /// Keys of the flows above [`MOST_FLOWS`], indexed by flow number minus `MOST_FLOWS`.
    unmeasured: Vec<FlowKey>,
    /// The place of the next of these.
    next: usize,
}

impl Flows {
    /// None yet, and room for every number there is: where tables grow, packets of a live run wait for
    /// milliseconds.
    pub fn with_room() -> Self {
        let all = usize::from(MOST_FLOWS) + MOST_UNMEASURED;
        Self {
            known: HashMap::with_capacity(all),
            keys: Vec::with_capacity(usize::from(MOST_FLOWS)),
            interfaces: Vec::with_capacity(usize::from(MOST_FLOWS)),
            unmeasured: Vec::with_capacity(MOST_UNMEASURED),
            next: 0,
        }
    }

    /// Returns the ID of the flow a packet belongs to; `packet` was read from `bytes`.
    pub fn number(&mut self, dir: Dir, bytes: &[u8], packet: &Packet) -> u16 {
        let key = wire::endpoints(bytes)
            .map_or(FlowKey::UNREADABLE, |(protocol, endpoints)| FlowKey::new(dir, protocol, endpoints));
        let opens = packet.is_tcp() && packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::ACK);
        let syn = opens.then_some(packet.seq);
        match self.known.get_mut(&key) {
            Some(known) if !opens || known.syn == syn => known.number,
            // The first SYN was lost before this point, or this is garbage: keep the ID.
            Some(known) if known.syn.is_none() => {
                known.syn = syn;
                known.number
            }
            _ => self.add(key, syn, packet.ue),
        }
    }

    /// Returns the ID of a TCP connection over an interface before its first packet.
    pub fn reserve(&mut self, server: SocketAddr, ue: SocketAddr, interface: u16) -> u16 {
        self.add(FlowKey { protocol: TCP, server, ue }, None, interface)
    }

    #[cold]
    fn add(&mut self, key: FlowKey, syn: Option<u32>, interface: u16) -> u16 {
        let number = if self.keys.len() < usize::from(MOST_FLOWS) {
            self.keys.push(key);
            self.interfaces.push(interface);
            self.keys.len() as u16 - 1
        } else {
            MOST_FLOWS + self.add_unmeasured(key)
        };
        self.known.insert(key, Known { number, syn });
        number
    }

    fn add_unmeasured(&mut self, key: FlowKey) -> u16 {
        let place = self.next;
        self.next = (place + 1) % MOST_UNMEASURED;
        match self.unmeasured.get_mut(place) {
            None => self.unmeasured.push(key),
            Some(oldest) => {
                let gone = std::mem::replace(oldest, key);
                // It may have a later number by now.
                let number = MOST_FLOWS + place as u16;
                if self.known.get(&gone).is_some_and(|known| known.number == number) {
                    self.known.remove(&gone);
                }
            }
        }
        place as u16
    }

    /// Every flow that is measured, in the order of their numbers.
    pub fn keys(&self) -> &[FlowKey] {
        &self.keys
    }

    /// Number of the interface of a flow that is measured: the one over which its first packet went.
    pub fn interface(&self, flow: u16) -> u16 {
        self.interfaces.get(usize::from(flow)).copied().unwrap_or(0)
    }

    /// Addresses of a packet of this flow in this direction.
    pub fn endpoints(&self, flow: u16, dir: Dir) -> Option<Endpoints> {
        let beyond = || self.unmeasured.get(usize::from(flow).checked_sub(usize::from(MOST_FLOWS))?);
        let FlowKey { server, ue, .. } = *self.keys.get(usize::from(flow)).or_else(beyond)?;
        Some(match dir {
            Dir::Downlink => Endpoints { src: server, dst: ue },
            Dir::Uplink => Endpoints { src: ue, dst: server },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Form, Kind, Opaque};
    use crate::wire::{encode_header, parse};

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
            Packet { form: Form::TCP.with_kind(Kind::Opaque(Opaque::Malformed)), ..Packet::default() };
        assert_eq!(flows.number(Dir::Uplink, b"", &garbage), 0);
        assert_eq!(flows.number(Dir::Downlink, b"\xff\xff", &garbage), 0);
        assert_eq!(flows.keys()[0].protocol_name(), "other");
        for port in 0..MOST_FLOWS + 100 {
            number(&mut flows, Dir::Uplink, port, Flags::SYN, 7);
        }
        assert_eq!(flows.keys().len(), usize::from(MOST_FLOWS));
    }

    #[test]
    #[ignore = "slow"]
    fn beyond_those_that_are_measured_connections_are_still_told_apart() {
        let mut flows = Flows::with_room();
        let room = flows.known.capacity();
        for port in 0..MOST_FLOWS + 100 {
            assert_eq!(number(&mut flows, Dir::Uplink, port, Flags::SYN, 7), port);
        }
        let port = MOST_FLOWS + 50;
        assert_eq!(number(&mut flows, Dir::Downlink, port, Flags::ACK, 7), port);
        assert_eq!(flows.endpoints(port, Dir::Downlink).unwrap().dst.port(), port);
        assert_eq!(flows.endpoints(MOST_FLOWS + 100, Dir::Uplink), None);
        // A connection over the same ports gets another ID; after the last ID they start over.
        assert_eq!(number(&mut flows, Dir::Uplink, port, Flags::SYN, 8), MOST_FLOWS + 100);
        for seq in 9..9 + (u16::MAX - MOST_FLOWS - 100) {
            number(&mut flows, Dir::Uplink, 1, Flags::SYN, seq.into());
        }
        assert_eq!(number(&mut flows, Dir::Uplink, 2, Flags::SYN, 9), MOST_FLOWS);
        assert_eq!(number(&mut flows, Dir::Uplink, 2, Flags::ACK, 1), MOST_FLOWS);
        // A flow whose ID was reused gets a new one; all other flows keep their IDs.
        assert_eq!(number(&mut flows, Dir::Uplink, MOST_FLOWS, Flags::ACK, 1), MOST_FLOWS + 1);
        assert_eq!(number(&mut flows, Dir::Uplink, port, Flags::ACK, 1), MOST_FLOWS + 100);
        assert_eq!(number(&mut flows, Dir::Uplink, 3, Flags::ACK, 1), 3);
        assert!(flows.known.len() <= usize::from(u16::MAX) + 1);
        for seq in 0..300_000 {
            number(&mut flows, Dir::Uplink, seq as u16, Flags::SYN, seq);
        }
        // Places that were taken before count as used until the table is swept.
        assert!(flows.known.capacity() <= room);
    }
}
