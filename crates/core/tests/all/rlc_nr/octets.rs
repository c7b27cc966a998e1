//! Simulated PDUs and their octets agree: a receiver that knows octets only gets the SDUs that the entities hand up, octet for
//! octet, out of MAC PDUs (TS 38.321 §6.1.2), RLC PDUs (TS 38.322 §6.2) and PDUs of PDCP (TS 38.323 §6.2).

use super::link::{Link, NETWORK, UE};
use airpath_core::pdcp::{self, AtHandover, Content};
use airpath_core::rlc::encode::Pdu as Written;
use airpath_core::rlc::nr::Encoder;
use airpath_core::rlc::{Config, Encode, Tti, am_nr, um_nr};
use airpath_core::time::Duration;
use airpath_core::wire::rlc_nr::{Part, Pdu, UmdPdu};
use airpath_core::wire::{mac_nr, pdcp as pdcp_wire};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A receiver of octets, without loss of order: HARQ repeats nothing.
#[derive(Default)]
struct Receiver {
    /// Octets of SDUs by their sequence numbers, and how many there are of each.
    sdus: BTreeMap<u32, (BTreeMap<usize, u8>, Option<usize>)>,
    whole: BTreeSet<u32>,
    /// PDUs of PDCP: sequence number and SDU.
    up: Vec<(u32, Vec<u8>)>,
    statuses: usize,
    padding: usize,
}

impl Receiver {
    fn block(&mut self, block: &[u8], acknowledged: bool, sn_bits: usize, pdcp_bits: u8) {
        let (pdus, padding) = mac_nr::decode(block).unwrap();
        self.padding += padding;
        for (lcid, pdu) in pdus {
            assert_eq!(lcid, 4);
            let (sn, part, data) = if acknowledged {
                match Pdu::decode(pdu, sn_bits).unwrap() {
                    Pdu::Amd(amd) => (amd.sn, amd.part, amd.data),
                    Pdu::Status(_) => {
                        self.statuses += 1;
                        continue;
                    }
                }
            } else {
                let umd = UmdPdu::decode(pdu, sn_bits).unwrap();
                (umd.sn, umd.part, umd.data)
            };
            self.data(sn, part, data, acknowledged, pdcp_bits);
        }
    }

    fn data(&mut self, sn: u32, part: Part, data: Vec<u8>, acknowledged: bool, pdcp_bits: u8) {
        if self.whole.contains(&sn) {
            return;
        }
        let (offset, last) = match part {
            Part::Whole => (0, true),
            Part::First => (0, false),
            Part::Last(so) => (so.into(), true),
            Part::Middle(so) => (so.into(), false),
        };
        if part == Part::Whole && !acknowledged {
            return self.hand_up(&data, pdcp_bits);
        }
        let (octets, len) = self.sdus.entry(sn).or_default();
        if last {
            assert!(len.replace(offset + data.len()).is_none_or(|before| before == offset + data.len()));
        }
        for (at, octet) in (offset..).zip(data) {
            assert!(octets.insert(at, octet).is_none_or(|before| before == octet), "another content");
        }
        if *len == Some(octets.len()) {
            let (all, _) = self.sdus.remove(&sn).unwrap();
            self.whole.extend(acknowledged.then_some(sn));
            let sdu: Vec<u8> = all.into_values().collect();
            self.hand_up(&sdu, pdcp_bits);
        }
    }

    /// RLC begins from nothing.
    fn re_establish(&mut self) {
        self.sdus.clear();
        self.whole.clear();
    }

    fn hand_up(&mut self, sdu: &[u8], pdcp_bits: u8) {
        match pdcp_wire::Pdu::decode(sdu, pdcp_bits).unwrap() {
            pdcp_wire::Pdu::Data { sn, sdu } => self.up.push((sn, sdu)),
            pdcp_wire::Pdu::Status { .. } => {}
        }
    }
}

/// The octets of an SDU.
fn sdu(number: u64, octets: u32) -> Vec<u8> {
    (0..octets).map(|at| (u64::from(at) * 7 + number * 31) as u8).collect()
}

/// What is written of a TTI, and what a receiver makes of it that gets what is not lost.
struct Shadow {
    encoder: Encoder,
    begun: BTreeSet<u64>,
    receiver: Receiver,
    acknowledged: bool,
    sn_bits: u8,
    pdcp_bits: u8,
}

impl Shadow {
    fn write(&mut self, sent: &Tti, octets: &[u32], lost: bool) {
        let new: Vec<_> = sent.nr.data.iter().filter(|pdu| pdu.so == 0 && !pdu.again).collect();
        let numbers = new.iter().filter_map(|pdu| match pdu.sdu {
            Content::Data { number, .. } if self.begun.insert(number) => Some(number),
            _ => None,
        });
        let mut started = numbers.map(|number| (number, sdu(number, octets[number as usize])));
        let (mut rlc, mut pdcp, mut blocks) = (0, 0, Vec::new());
        self.encoder.encode(sent, &mut started, &mut |pdu, written| match pdu {
            Written::NrMac => blocks.push(written.to_vec()),
            Written::NrPdcp { .. } => pdcp += 1,
            _ => rlc += 1,
        });
        assert_eq!((rlc, pdcp), (sent.pdus(), new.len()));
        let [block] = &blocks[..] else { panic!("{} blocks", blocks.len()) };
        assert_eq!(block.len() as u64, sent.nr.room);
        if !lost {
            self.receiver.block(block, self.acknowledged, self.sn_bits.into(), self.pdcp_bits);
        }
    }
}

/// `moves`: when the UE changes the cell.
fn run(
    config: &Config,
    pdcp: &pdcp::Config,
    octets: &[u32],
    outcomes: &[(u64, bool)],
    moves: &[u64],
) -> (Link, Shadow) {
    let mut link = Link::new(config, pdcp);
    let (sn_bits, acknowledged) = match config {
        Config::AmNr(am) => (am.sn, true),
        Config::UmNr(um) => (um.sn, false),
        _ => panic!("not of NR"),
    };
    let encoder = if acknowledged { Encoder::am(sn_bits, pdcp.sn) } else { Encoder::um(sn_bits, pdcp.sn) };
    let receiver = Receiver::default();
    let mut shadow =
        Shadow { encoder, begun: BTreeSet::new(), receiver, acknowledged, sn_bits, pdcp_bits: pdcp.sn };
    link.take(NETWORK, 0, octets);
    let calm = std::iter::repeat_n((4000, false), 1000);
    for (now, (room, lost)) in (0..).zip(outcomes.iter().copied().chain(calm)) {
        if moves.contains(&now) {
            link.re_establish(now);
            shadow.receiver.re_establish();
        }
        link.tti(UE, now, 1000, |_| 0);
        let sent = link.tti(NETWORK, now, room, |tti| {
            tti.lose(|| lost);
            0
        });
        if !sent.is_empty() {
            shadow.write(&sent, octets, lost);
        }
    }
    (link, shadow)
}

proptest! {
    #[test]
    fn octets_of_am_are_those_of_the_sdus(
        (sn, pdcp_sn) in prop::sample::select(vec![(12_u8, 12_u8), (12, 18), (18, 18)]),
        octets in prop::collection::vec(1_u32..600, 1..40),
        outcomes in prop::collection::vec((0_u64..900, any::<bool>()), 1..60),
        moves in prop::collection::vec(0_u64..60, 0..3),
        at_handover in prop::sample::select(vec![AtHandover::ReEstablish, AtHandover::DataRecovery]),
        status_report in any::<bool>(),
    ) {
        let rlc = am_nr::Config {
            sn,
            t_reassembly: Duration::from_millis(10),
            max_retx_threshold: 1000,
            ..am_nr::Config::default()
        };
        let pdcp = pdcp::Config {
            sn: pdcp_sn,
            t_reordering: None,
            at_handover,
            status_report,
            ..pdcp::Config::default()
        };
        let (link, shadow) = run(&Config::AmNr(rlc), &pdcp, &octets, &outcomes, &moves);
        prop_assert_eq!(link.up[NETWORK].len(), octets.len());
        let mut up = shadow.receiver.up;
        up.sort_unstable();
        // PDCP retransmits what RLC had not confirmed.
        up.dedup();
        let expected: Vec<_> =
            (0..).zip(&octets).map(|(number, &octets)| (number as u32, sdu(number, octets))).collect();
        prop_assert_eq!(up, expected);
    }

    #[test]
    fn octets_of_um_are_those_of_the_sdus(
        sn in prop::sample::select(vec![6_u8, 12]),
        octets in prop::collection::vec(1_u32..600, 1..30),
        outcomes in prop::collection::vec((0_u64..900, any::<bool>()), 1..60),
    ) {
        let rlc = um_nr::Config { sn, ..um_nr::Config::default() };
        let (link, shadow) = run(&Config::UmNr(rlc), &pdcp::Config::default(), &octets, &outcomes, &[]);
        let expected: Vec<_> = link.up[NETWORK]
            .iter()
            .map(|&number| (number as u32, sdu(number, octets[number as usize])))
            .collect();
        let mut up = shadow.receiver.up;
        up.sort_unstable();
        prop_assert_eq!(up, expected);
    }
}

/// The STATUS PDU of the uplink is in a block of its own room.
#[test]
fn a_block_is_padded_to_its_room() {
    let mut link = Link::new(&Config::AmNr(am_nr::Config::default()), &pdcp::Config::default());
    link.take(NETWORK, 0, &[10]);
    link.tti(NETWORK, 0, 18, |_| 0);
    let sent = link.tti(UE, 4, 120, |_| 0);
    let mut frames = Vec::new();
    Encoder::am(18, 18).encode(&sent, &mut std::iter::empty(), &mut |pdu, octets| {
        frames.push((pdu, octets.to_vec()));
    });
    let [(Written::NrStatus, status), (Written::NrMac, block)] = &frames[..] else { panic!("{frames:?}") };
    // ACK_SN 1: 0000 and 18 bits.
    assert_eq!(status, &[0, 0, 0b100]);
    assert_eq!((&block[..6], block.len()), (&[4, 3, 0, 0, 0b100, 63][..], 120));
}

/// A MAC PDU that no datagram holds is written as several ones.
#[test]
fn a_block_that_is_too_long_for_a_capture_is_written_in_parts() {
    let mut link = Link::new(&Config::AmNr(am_nr::Config::default()), &pdcp::Config::default());
    link.take(NETWORK, 0, &[1500; 90]);
    let sent = link.tti(NETWORK, 0, 135_000, |_| 0);
    let mut blocks = Vec::new();
    let mut started = (0..90).map(|number| (number, sdu(number, 1500)));
    Encoder::am(18, 18).encode(&sent, &mut started, &mut |pdu, octets| {
        if pdu == Written::NrMac {
            blocks.push(mac_nr::decode(octets).unwrap().0.len());
        }
    });
    assert_eq!(blocks, [43, 43, 4]);
}
