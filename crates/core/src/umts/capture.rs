//! Captures of the packets at the RNC side of the Iu, octet by octet.
//!
//! The GGSN is 172.16.0.1, the SGSN 172.16.0.2, the RNC of the cell 172.16.1.1 and that of the n-th relocation n beyond
//! it. TEIDs count UEs from 1, in a range for each interface of a node. The sequence numbers of a tunnel continue over
//! a relocation, as the old RNC passes them to the new one (TS 23.060 §6.9.2.2).

use crate::element::Cx;
use crate::packet::{Dir, Packet};
use crate::time::Instant;
use crate::wire::gtp::{Body, Message, Outer};
use crate::wire::octets_of;
use serde_json::{Value, json};
use std::net::Ipv4Addr;

const SGSN: Ipv4Addr = Ipv4Addr::new(172, 16, 0, 2);
const FIRST_RNC: Ipv4Addr = Ipv4Addr::new(172, 16, 1, 1);
/// The first TEIDs of each node, minus one.
const GGSN_TEIDS: u32 = 0x0100_0000;
const SGSN_GN_TEIDS: u32 = 0x0200_0000;
const SGSN_IU_TEIDS: u32 = 0x0300_0000;
const RNC_TEIDS: u32 = 0x0400_0000;
/// Distance between the TEIDs of consecutive legs at the SGSN; an RNC starts over.
const TEIDS_OF_A_LEG: u32 = 0x0002_0000;

/// Sequence numbers of the tunnels' messages; used only for captures.
pub(super) struct Tunnels {
    has_sequence_numbers: bool,
    /// Next sequence numbers by UE and direction.
    sequence_numbers: Vec<[u16; 2]>,
    /// Identification of the outer IP headers: of the SGSN, and of each RNC.
    sgsn_identification: u16,
    rnc_identifications: Vec<u16>,
}

impl Tunnels {
    pub fn new(has_sequence_numbers: bool, ues: usize, legs: usize) -> Self {
        Self {
            has_sequence_numbers,
            sequence_numbers: vec![[0; 2]; ues],
            sgsn_identification: 0,
            rnc_identifications: vec![0; legs],
        }
    }

    /// TEIDs of a UE at both ends of the Gn.
    pub fn gn_teids(ue: usize) -> Value {
        json!({ "ggsn": GGSN_TEIDS + 1 + ue as u32, "sgsn": SGSN_GN_TEIDS + 1 + ue as u32 })
    }

    /// TEIDs of a UE at both ends of an Iu leg.
    pub fn iu_teids(ue: usize, leg: usize) -> Value {
        json!({ "sgsn": sgsn_teid(ue, leg), "rnc": rnc_teid(ue) })
    }

    /// A packet passes the RNC's side of an Iu leg at `at`, now or later. A packet too long for a datagram is left out.
    #[cold]
    pub fn capture(&mut self, cx: &mut Cx<'_>, at: Instant, dir: Dir, leg: usize, packet: &Packet) {
        let ue = usize::from(packet.ue);
        let next = &mut self.sequence_numbers[ue][dir.index()];
        let number = self.has_sequence_numbers.then_some(*next);
        *next = next.wrapping_add(1);
        let teid = match dir {
            Dir::Downlink => rnc_teid(ue),
            Dir::Uplink => sgsn_teid(ue, leg),
        };
        let counter = match dir {
            Dir::Downlink => &mut self.sgsn_identification,
            Dir::Uplink => &mut self.rnc_identifications[leg],
        };
        *counter = counter.wrapping_add(1);
        let outer = Outer { identification: *counter, ..outer(dir, leg) };
        let inner = octets_of(packet, dir, packet.identification);
        let mut datagram = Vec::new();
        if outer.encapsulate(&Message::g_pdu(teid, number, &inner), &mut datagram).is_ok() {
            cx.capture_iu(at, datagram);
        }
    }

    /// Captures the Echo Request that an RNC sends at `at`, and the response, whose time `answered` returns for the
    /// octets of both.
    pub fn capture_echo(
        &self,
        cx: &mut Cx<'_>,
        leg: usize,
        at: Instant,
        answered: impl Fn(u64, u64) -> Instant,
    ) {
        let message = |dir, body| {
            let mut datagram = Vec::new();
            let written = outer(dir, leg).encapsulate(&Message::signalling(0, body), &mut datagram);
            debug_assert_eq!(written, Ok(()));
            datagram
        };
        let request = message(Dir::Uplink, Body::EchoRequest);
        let response = message(Dir::Downlink, Body::EchoResponse { recovery: 0 });
        let comes = answered(request.len() as u64, response.len() as u64);
        cx.capture_iu(at, request);
        cx.capture_iu(comes, response);
    }
}

/// The headers between the SGSN and an RNC.
fn outer(dir: Dir, leg: usize) -> Outer {
    let rnc = Ipv4Addr::from_bits(FIRST_RNC.to_bits() + leg as u32);
    let (src, dst) = if dir == Dir::Downlink { (SGSN, rnc) } else { (rnc, SGSN) };
    Outer { has_udp_checksum: true, ..Outer::new(src, dst) }
}

fn sgsn_teid(ue: usize, leg: usize) -> u32 {
    (SGSN_IU_TEIDS + 1 + ue as u32).wrapping_add(TEIDS_OF_A_LEG.wrapping_mul(leg as u32))
}

fn rnc_teid(ue: usize) -> u32 {
    RNC_TEIDS + 1 + ue as u32
}
