//! Tunnels of GTP-U, and the packets in each.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;

use serde::Serialize;

use crate::gtp::{Opened, Tunnel};
use crate::report::Others;

/// Maximum number of tunnels reported individually; further ones are summed up.
const MOST: usize = 65_536;

/// One direction of a bearer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The node that sends into it first seen.
    pub from: String,
    /// The node that gave it its TEID.
    pub to: String,
    pub teid: u32,
    /// G-PDUs with an IP packet.
    pub packets: u64,
    /// Octets of the IP packets.
    pub bytes: u64,
    pub tcp: u64,
    pub udp: u64,
}

#[derive(Debug)]
struct Counted {
    number: usize,
    from: IpAddr,
    packets: u64,
    bytes: u64,
    tcp: u64,
    udp: u64,
}

#[derive(Debug, Default)]
pub struct Tunnels {
    known: HashMap<Tunnel, Counted>,
    others: Others,
}

impl Tunnels {
    /// A G-PDU passes.
    pub fn handle(&mut self, opened: &Opened<'_>) {
        let (number, bytes) = (self.known.len(), opened.packet.len() as u64);
        if number >= MOST && !self.known.contains_key(&opened.tunnel) {
            self.others.packets += 1;
            self.others.payload_bytes += bytes;
            return;
        }
        let new = || Counted { number, from: opened.from, packets: 0, bytes: 0, tcp: 0, udp: 0 };
        let tunnel = self.known.entry(opened.tunnel).or_insert_with(new);
        tunnel.packets += 1;
        tunnel.bytes += bytes;
    }

    /// Counts a packet from a tunnel by its transport.
    pub fn on_inner(&mut self, tunnel: &Tunnel, is_tcp: bool) {
        if let Some(counted) = self.known.get_mut(tunnel) {
            *(if is_tcp { &mut counted.tcp } else { &mut counted.udp }) += 1;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The tunnels with most octets in the order of their first packets, how many there were, and the rest in sum.
    pub fn into_reports(self, most: usize) -> (Vec<Report>, u64, Others) {
        let (seen, mut others) = (self.known.len() as u64, self.others);
        let mut all: Vec<_> = self.known.into_iter().collect();
        all.sort_by_key(|(_, counted)| (Reverse(counted.bytes), counted.number));
        for (_, dropped) in all.drain(most.min(all.len())..) {
            others.connections += 1;
            others.packets += dropped.packets;
            others.payload_bytes += dropped.bytes;
        }
        all.sort_by_key(|(_, counted)| counted.number);
        let report = |(tunnel, counted): (Tunnel, Counted)| Report {
            from: counted.from.to_string(),
            to: tunnel.to.to_string(),
            teid: tunnel.teid,
            packets: counted.packets,
            bytes: counted.bytes,
            tcp: counted.tcp,
            udp: counted.udp,
        };
        (all.into_iter().map(report).collect(), seen, others)
    }
}
