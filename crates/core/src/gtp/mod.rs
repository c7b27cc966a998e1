//! GTP-U processing at the nodes of a core network.
//!
//! Source: TS 29.281 §4 to §7. An [`Endpoint`] is located at the RNC or the GGSN: its tunnels lead to bearers. A
//! [`Relay`] is located at the SGSN and carries packets from one tunnel into another. Both take datagrams as octets and
//! return octets; they use neither clocks nor sockets. Tunnels are opened and closed by their owner, as GTP-C and RANAP
//! would.
//!
//! Left out: putting G-PDUs back into order by their sequence numbers, repeating Echo Requests (T3-RESPONSE,
//! N3-REQUESTS), extension headers of this side's own, and a limit on Error Indications.

mod counters;
mod relay;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

pub use counters::{Counters, Rejection};
pub use relay::{Relay, Relayed, Side};

use crate::wire::EncodeError;
use crate::wire::gtp::{Body, Comprehension, Message, Outer, decapsulate};

/// One end of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Address of the peer.
    pub peer: Ipv4Addr,
    /// TEID that the peer has allocated, not 0.
    pub peer_teid: u32,
    /// The owner's index for the packets.
    pub bearer: u32,
    /// Whether G-PDUs that are sent have sequence numbers.
    pub has_sequence_numbers: bool,
}

/// A tunnel that cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// TEID 0 at either end, which means no tunnel (TS 29.281 §5.1).
    #[error("TEID 0 is no tunnel's")]
    ZeroTeid,
    /// A tunnel has this TEID already.
    #[error("TEID {0:#x} is taken")]
    Taken(u32),
}

/// A packet that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No tunnel has this TEID.
    #[error("no tunnel has TEID {0:#x}")]
    NoTunnel(u32),
    /// The packet does not fit into a datagram.
    #[error("{0}")]
    Encode(#[from] EncodeError),
}

/// Content of a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// A packet that came through a tunnel.
    Packet {
        /// TEID of the tunnel here.
        teid: u32,
        /// The owner's index for the packet.
        bearer: u32,
        /// The packet.
        packet: &'a [u8],
        /// The G-PDU with its numbers and extension headers.
        g_pdu: Message<'a>,
    },
    /// An Echo Request, with the datagram of its response.
    Answer(Vec<u8>),
    /// The peer lives.
    EchoResponse {
        /// Address of the peer.
        peer: Ipv4Addr,
        /// Sequence number of the request.
        sequence_number: Option<u16>,
    },
    /// The peer does not know a tunnel (TS 29.281 §7.3.1): its owner is to close it.
    ErrorIndication {
        /// The tunnel's TEID here, if there is such a tunnel.
        teid: Option<u32>,
    },
    /// The peer did not understand an extension header.
    Notification,
    /// Refused and counted.
    Rejected {
        /// Why.
        why: Rejection,
        /// The reply to the sender, if any.
        answer: Option<Vec<u8>>,
    },
}

/// Whether packets end their way in GTP-U here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Endpoint,
    Intermediate,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    tunnel: Tunnel,
    next_sequence_number: u16,
}

/// A node's GTP-U: one address, and its tunnels by their TEIDs.
#[derive(Clone, Debug)]
pub struct Endpoint {
    address: Ipv4Addr,
    has_udp_checksum: bool,
    role: Role,
    tunnels: BTreeMap<u32, Open>,
    identification: u16,
    counters: Counters,
}

impl Endpoint {
    /// An endpoint without tunnels, which sends datagrams with UDP checksums or without.
    pub fn new(address: Ipv4Addr, has_udp_checksum: bool) -> Self {
        Self::with_role(address, has_udp_checksum, Role::Endpoint)
    }

    fn with_role(address: Ipv4Addr, has_udp_checksum: bool, role: Role) -> Self {
        let (tunnels, identification) = (BTreeMap::new(), 0);
        let counters = Counters::default();
        Self { address, has_udp_checksum, role, tunnels, identification, counters }
    }

    /// Its counters.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Opens a tunnel that has this TEID here.
    ///
    /// # Errors
    ///
    /// A TEID of 0, and one that is taken here.
    pub fn open(&mut self, teid: u32, tunnel: Tunnel) -> Result<(), OpenError> {
        if teid == 0 || tunnel.peer_teid == 0 {
            return Err(OpenError::ZeroTeid);
        }
        if self.tunnels.contains_key(&teid) {
            return Err(OpenError::Taken(teid));
        }
        self.tunnels.insert(teid, Open { tunnel, next_sequence_number: 0 });
        Ok(())
    }

    /// Closes the tunnel of this TEID, if there is one; from now on its G-PDUs are unknown here.
    pub fn close(&mut self, teid: u32) -> Option<Tunnel> {
        self.tunnels.remove(&teid).map(|open| open.tunnel)
    }

    /// The tunnel of this TEID.
    pub fn tunnel(&self, teid: u32) -> Option<&Tunnel> {
        self.tunnels.get(&teid).map(|open| &open.tunnel)
    }

    /// Appends the datagram that carries a packet through the tunnel of this TEID.
    ///
    /// # Errors
    ///
    /// If there is no such tunnel, or the packet is too long for a datagram. Nothing is then counted, and `out` is
    /// unchanged.
    pub fn send(&mut self, teid: u32, packet: &[u8], out: &mut Vec<u8>) -> Result<(), SendError> {
        let open = self.tunnels.get(&teid).ok_or(SendError::NoTunnel(teid))?;
        let Open { tunnel, next_sequence_number } = *open;
        let number = tunnel.has_sequence_numbers.then_some(next_sequence_number);
        self.send_g_pdu(tunnel.peer, &Message::g_pdu(tunnel.peer_teid, number, packet), out)?;
        if let Some(sent) = self.tunnels.get_mut(&teid) {
            sent.next_sequence_number = next_sequence_number.wrapping_add(1);
        }
        Ok(())
    }

    fn send_g_pdu(
        &mut self,
        peer: Ipv4Addr,
        g_pdu: &Message<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), SendError> {
        self.outer_to(peer).encapsulate(g_pdu, out)?;
        self.identification = self.identification.wrapping_add(1);
        self.counters.packets_out += 1;
        Ok(())
    }

    /// An Echo Request, which checks that the peer is alive.
    pub fn echo_request(&mut self, peer: Ipv4Addr, sequence_number: u16) -> Vec<u8> {
        let outer = self.outer_to(peer);
        self.datagram(outer, &Message::signalling(sequence_number, Body::EchoRequest))
    }

    /// Processes any datagram from the network.
    ///
    /// The peer's address is not compared with the tunnel's: the TEID identifies the tunnel, and the peer may have
    /// moved.
    pub fn receive<'a>(&mut self, datagram: &'a [u8]) -> Received<'a> {
        let (outer, bytes) = match decapsulate(datagram) {
            Ok(read) => read,
            Err(error) => return self.rejected(Rejection::Outer(error), None),
        };
        if *outer.dst.ip() != self.address {
            return self.rejected(Rejection::Address, None);
        }
        let message = match Message::decode(bytes) {
            Ok(message) => message,
            Err(error) => return self.rejected(Rejection::Malformed(error), None),
        };
        if let Some(kind) = self.not_comprehended(&message) {
            let answer = self.not_comprehended_answer(&outer, &message.body);
            return self.rejected(Rejection::ExtensionHeader(kind), answer);
        }
        match message.body {
            Body::GPdu(packet) => self.receive_g_pdu(&outer, packet, message),
            Body::EchoRequest => self.answer_echo(&outer, message.sequence_number.unwrap_or(0)),
            Body::EchoResponse { .. } => {
                self.counters.echo_responses += 1;
                Received::EchoResponse { peer: *outer.src.ip(), sequence_number: message.sequence_number }
            }
            Body::ErrorIndication { teid, peer } => {
                self.counters.error_indications += 1;
                // Rare enough for a look at all tunnels.
                let lost = |open: &Open| open.tunnel.peer_teid == teid && peer == open.tunnel.peer;
                let found = self.tunnels.iter().find(|(_, open)| lost(open));
                Received::ErrorIndication { teid: found.map(|(&here, _)| here) }
            }
            Body::SupportedExtensionHeaders(_) => {
                self.counters.notifications += 1;
                Received::Notification
            }
            Body::Other { message_type, .. } => self.rejected(Rejection::MessageType(message_type), None),
        }
    }

    fn receive_g_pdu<'a>(&mut self, outer: &Outer, packet: &'a [u8], g_pdu: Message<'a>) -> Received<'a> {
        let teid = g_pdu.teid;
        if let Some(open) = self.tunnels.get(&teid) {
            self.counters.packets_in += 1;
            return Received::Packet { teid, bearer: open.tunnel.bearer, packet, g_pdu };
        }
        let indication = Body::ErrorIndication { teid, peer: self.address.into() };
        let answer = self.outer_to(*outer.src.ip());
        let answer = self.datagram(answer, &Message::signalling(0, indication));
        self.rejected(Rejection::Teid(teid), Some(answer))
    }

    /// Replies to the source of the request (TS 29.281 §4.4.2.2).
    fn answer_echo(&mut self, request: &Outer, sequence_number: u16) -> Received<'static> {
        self.counters.echoes_answered += 1;
        let outer = Outer { src: request.dst, dst: request.src, ..self.outer_to(*request.src.ip()) };
        let response = Message::signalling(sequence_number, Body::EchoResponse { recovery: 0 });
        Received::Answer(self.datagram(outer, &response))
    }

    /// The type of the first extension header that had to be understood: none is here.
    fn not_comprehended(&self, message: &Message<'_>) -> Option<u8> {
        let needed = |comprehension| match comprehension {
            Comprehension::Forwarded | Comprehension::Removed => false,
            Comprehension::AtEndpoint => self.role == Role::Endpoint,
            Comprehension::Everywhere => true,
        };
        message
            .extension_headers
            .iter()
            .find(|header| needed(header.comprehension()))
            .map(|header| header.kind)
    }

    /// Supported Extension Headers Notification with an empty list. A response gets no response.
    fn not_comprehended_answer(&mut self, outer: &Outer, body: &Body<'_>) -> Option<Vec<u8>> {
        matches!(body, Body::GPdu(_) | Body::EchoRequest).then(|| {
            let outer = self.outer_to(*outer.src.ip());
            self.datagram(outer, &Message::signalling(0, Body::SupportedExtensionHeaders(&[])))
        })
    }

    fn rejected(&mut self, why: Rejection, answer: Option<Vec<u8>>) -> Received<'static> {
        self.counters.reject(why);
        Received::Rejected { why, answer }
    }

    fn outer_to(&self, peer: Ipv4Addr) -> Outer {
        Outer {
            identification: self.identification,
            has_udp_checksum: self.has_udp_checksum,
            ..Outer::new(self.address, peer)
        }
    }

    /// Encodes a message of a few octets, which always fits.
    fn datagram(&mut self, outer: Outer, message: &Message<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let written = outer.encapsulate(message, &mut bytes);
        debug_assert_eq!(written, Ok(()));
        self.identification = self.identification.wrapping_add(1);
        bytes
    }
}

#[cfg(test)]
mod tests;
