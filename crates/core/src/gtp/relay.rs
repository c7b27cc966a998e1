//! The SGSN between RNC and GGSN: forwards packets from one tunnel to another.

use std::net::Ipv4Addr;

use super::{Counters, Endpoint, OpenError, Received, Role, Tunnel};
use crate::wire::gtp::Comprehension;

/// One side of a pair of tunnels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// TEID of the tunnel here.
    pub teid: u32,
    /// Address of the peer.
    pub peer: Ipv4Addr,
    /// TEID that the peer has allocated.
    pub peer_teid: u32,
}

/// Content of a datagram for a relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relayed<'a> {
    /// A packet to be forwarded in this datagram.
    Onward(Vec<u8>),
    /// Anything else; never [`Received::Packet`].
    Here(Received<'a>),
}

/// A node that joins tunnels in pairs. Sequence and N-PDU numbers are forwarded unchanged.
#[derive(Clone, Debug)]
pub struct Relay {
    /// In it the bearer of a tunnel is the TEID of the other one of its pair.
    endpoint: Endpoint,
}

impl Relay {
    /// A relay without tunnels, which sends datagrams with UDP checksums or without.
    pub fn new(address: Ipv4Addr, has_udp_checksum: bool) -> Self {
        Self { endpoint: Endpoint::with_role(address, has_udp_checksum, Role::Intermediate) }
    }

    /// Its counters.
    pub const fn counters(&self) -> &Counters {
        self.endpoint.counters()
    }

    /// Opens two tunnels: packets received in one are sent through the other.
    ///
    /// # Errors
    ///
    /// A TEID of 0, and one that is taken here. Then neither is open.
    pub fn join(&mut self, one: Side, other: Side) -> Result<(), OpenError> {
        let tunnel = |side: Side, onward: Side| Tunnel {
            peer: side.peer,
            peer_teid: side.peer_teid,
            bearer: onward.teid,
            has_sequence_numbers: false,
        };
        self.endpoint.open(one.teid, tunnel(one, other))?;
        self.endpoint.open(other.teid, tunnel(other, one)).inspect_err(|_| {
            self.endpoint.close(one.teid);
        })
    }

    /// Closes the tunnel of this TEID and its pair; returns whether there was one.
    pub fn part(&mut self, teid: u32) -> bool {
        let closed = self.endpoint.close(teid);
        if let Some(tunnel) = closed {
            self.endpoint.close(tunnel.bearer);
        }
        closed.is_some()
    }

    /// Processes any datagram from the network.
    pub fn receive<'a>(&mut self, datagram: &'a [u8]) -> Relayed<'a> {
        let mut received = self.endpoint.receive(datagram);
        // Tunnels are opened and closed in pairs.
        if let Received::Packet { bearer: onward, g_pdu, .. } = &mut received
            && let Some(&Tunnel { peer, peer_teid, .. }) = self.endpoint.tunnel(*onward)
        {
            g_pdu.teid = peer_teid;
            g_pdu.extension_headers.retain(|header| header.comprehension() != Comprehension::Removed);
            let mut relayed = Vec::new();
            // It came in a datagram with headers as long as these or longer.
            let sent = self.endpoint.send_g_pdu(peer, g_pdu, &mut relayed);
            debug_assert_eq!(sent, Ok(()));
            return Relayed::Onward(relayed);
        }
        Relayed::Here(received)
    }
}
