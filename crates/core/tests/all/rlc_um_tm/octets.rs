//! UM compared with octets: PDUs written one by one and read by the rules of the standard.

use super::bearer::{ms, um};
use airpath_core::rlc::um;
use airpath_core::time::Instant;
use airpath_core::units::Bytes;
use airpath_core::wire::rlc::{Begin, UmdPdu, UmdSn};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// SDUs into octets of PDUs, octet by octet; the numbers of PDUs of each batch.
struct Writer {
    octets: usize,
    li: usize,
    indicator: bool,
    begin: Begin,
    pdus: Vec<Vec<u8>>,
}

impl Writer {
    /// All of these, with padding at the end.
    fn write(&mut self, sdus: &[Vec<u8>]) {
        let mut rest: Vec<(usize, u8, bool)> = Vec::new();
        for sdu in sdus {
            rest.extend(sdu.iter().enumerate().map(|(i, &octet)| (i, octet, i + 1 == sdu.len())));
        }
        let mut rest = rest.into_iter().peekable();
        while rest.peek().is_some() || self.begin != Begin::Untold {
            let mut begin = std::mem::replace(&mut self.begin, Begin::Untold);
            if begin == Begin::Untold && self.indicator && rest.peek().is_some_and(|(i, ..)| *i == 0) {
                begin = Begin::FirstOctet;
            }
            let mut room = self.octets - 1 - if begin == Begin::Untold { 0 } else { self.li };
            let (mut data, mut ends) = (Vec::new(), Vec::new());
            while room > 0 {
                let Some((_, octet, last)) = rest.next() else { break };
                data.push(octet);
                room -= 1;
                if last && room >= self.li {
                    ends.push(data.len() as u16);
                    room -= self.li;
                } else if last {
                    self.begin = if room == 0 { Begin::PreviousExact } else { Begin::PreviousOneOctetShort };
                }
                if last && self.li == 2 && room == 1 {
                    data.push(0);
                    room = 0;
                }
            }
            let sn = UmdSn::wrap(self.pdus.len() as u64);
            let mut bytes = vec![0; self.octets];
            UmdPdu { sn, begin, ends, data, padding: room > 0 }.encode(&mut bytes).unwrap();
            self.pdus.push(bytes);
        }
    }
}

/// Octets of PDUs into SDUs (§11.2.3.1).
struct Reader {
    expected: UmdSn,
    /// What has come of an SDU whose beginning was seen.
    partial: Option<Vec<u8>>,
    up: Vec<Vec<u8>>,
}

impl Reader {
    fn read(&mut self, bytes: &[u8], li: usize) {
        let UmdPdu { sn, begin, ends, mut data, padding } = UmdPdu::decode(bytes).unwrap();
        if sn != self.expected {
            self.partial = None;
        }
        self.expected = UmdSn::wrap(u64::from(sn.value()) + 1);
        match begin {
            Begin::Untold => {}
            Begin::FirstOctet => self.partial = Some(Vec::new()),
            Begin::PreviousExact => self.end(),
            Begin::PreviousOneOctetShort => {
                self.partial.as_mut().map(Vec::pop);
                self.end();
            }
        }
        let mut taken = 0;
        for end in ends {
            let part = data[taken..usize::from(end)].to_vec();
            taken = usize::from(end);
            self.partial.iter_mut().for_each(|partial| partial.extend(&part));
            self.end();
        }
        data.drain(..taken);
        // A single octet behind an end is padding that no indicator of two could tell.
        let left_over = li == 2 && taken > 0 && data.len() == 1;
        if !padding && !left_over {
            self.partial.iter_mut().for_each(|partial| partial.extend(&data));
        }
    }

    fn end(&mut self) {
        self.up.extend(self.partial.replace(Vec::new()));
    }
}

/// A batch of SDUs, by their lengths; it is sent before the next one comes.
fn batches() -> impl Strategy<Value = Vec<Vec<u32>>> {
    let near_a_pdu = prop_oneof![1u32..60, 30u32..45, 190u32..203, 1u32..500];
    prop::collection::vec(prop::collection::vec(near_a_pdu, 1..6), 1..12)
}

proptest! {
    /// Entities, which carry no octets, hand up what octets say: PDUs written one by one and read by the rules of the
    /// standard, with the same ones lost. No gap is as long as the sequence numbers.
    #[test]
    fn um_agrees_with_the_octets_of_pdus(
        batches in batches(),
        pdu in prop::sample::select(vec![11u64, 41, 42, 125, 126, 199]),
        indicator: bool,
        losses in prop::collection::vec(prop::bool::weighted(0.15), 100),
        grants in prop::collection::vec(1u64..9, 1..9),
    ) {
        let config = um::Config {
            pdu: Bytes::from_bytes(pdu), first_octet_indicator: indicator, ..um::Config::default()
        };
        let li = if pdu <= 125 { 1 } else { 2 };
        let lost = |sn: u64| losses[sn as usize % losses.len()] && !sn.is_multiple_of(100);
        let mut writer =
            Writer { octets: pdu as usize, li, indicator, begin: Begin::Untold, pdus: Vec::new() };
        let mut bearer = um(&config);
        let (mut now, mut number) = (0, 0u64);
        let mut grants = grants.into_iter().cycle();
        for batch in &batches {
            let first = number;
            number += batch.len() as u64;
            let sdus: Vec<_> =
                (first..number).zip(batch).map(|(n, &octets)| vec![n as u8; octets as usize]).collect();
            writer.write(&sdus);
            batch.iter().for_each(|&octets| bearer.tx.handle_sdu(ms(now), octets));
            while bearer.tx.deadline() != Instant::NEVER {
                bearer.tti(now, grants.next().unwrap(), lost);
                now += 10;
            }
        }
        bearer.tti(now + 100, 1, lost);
        let mut reader = Reader { expected: UmdSn::wrap(0), partial: Some(Vec::new()), up: Vec::new() };
        for (_, bytes) in (0..).zip(&writer.pdus).filter(|(sn, _)| !lost(*sn)) {
            reader.read(bytes, li);
        }
        let octets: Vec<u32> = batches.concat();
        let up: Vec<_> = bearer.up.iter().map(|&n| vec![n as u8; octets[n as usize] as usize]).collect();
        prop_assert_eq!(&up, &reader.up);
        // Each is handed up once, in order, or lost.
        prop_assert!(bearer.up.is_sorted() && bearer.lost.is_sorted());
        let told: BTreeSet<u64> = bearer.up.iter().chain(&bearer.lost).copied().collect();
        prop_assert_eq!(told.len(), bearer.up.len() + bearer.lost.len());
        prop_assert_eq!(told, (0..number).collect());
    }
}
