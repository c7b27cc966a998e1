//! Octets of PDUs, for captures: a shadow of the sender that has the octets of the stream.

use crate::rlc::Tti;
use crate::rlc::encode::{Encode, Pdu};
use crate::rlc::pdus::lte::{Nack, Pdu as Sent, Status};
use crate::wire::rlc::udp::Mode;
use crate::wire::rlc_lte::{self as wire, AmdPdu, Data, StatusPdu, UmdPdu};
use crate::wire::{mac_lte, pdcp};
use std::collections::VecDeque;

/// Logical channel of the first data radio bearer, after those of signalling (TS 36.321 table 6.2.1-1).
const LCID: u8 = 3;

/// How many sequence numbers of acknowledged mode there are.
const AM_NUMBERS: u64 = 1024;

/// Makes the octets of the PDUs of a direction: those of PDCP, if SDUs have its header, those of RLC, and the MAC PDU
/// around them.
#[derive(Debug)]
pub struct Encoder {
    mode: Mode,
    /// Bits of a sequence number in unacknowledged mode.
    um_sn_bits: Option<u8>,
    /// Bits of PDCP's sequence number.
    pdcp_sn_bits: Option<u8>,
    /// COUNT of the next SDU (TS 36.323 §7.1: HFN and Next_PDCP_TX_SN).
    count: u64,
    /// SDUs that have started, with PDCP's header, each with the offset of its first octet in the stream. In acknowledged
    /// mode this includes SDUs that may be retransmitted.
    sdus: VecDeque<(u64, u64, Vec<u8>)>,
    /// Their end offset in the stream.
    end: u64,
    /// End offset of the octets that have been in a PDU.
    sent: u64,
}

impl Encoder {
    /// At the start of the run, for acknowledged mode, with so many bits of PDCP's sequence number.
    pub fn am(pdcp_sn_bits: Option<u8>) -> Self {
        let (mode, um_sn_bits, sdus) = (Mode::LteAm, None, VecDeque::new());
        Self { mode, um_sn_bits, pdcp_sn_bits, count: 0, sdus, end: 0, sent: 0 }
    }

    /// At the start of the run, for unacknowledged mode with so many bits of sequence number.
    pub fn um(sn_bits: u8, pdcp_sn_bits: Option<u8>) -> Self {
        let mode = if sn_bits == 5 { Mode::LteUm5 } else { Mode::LteUm10 };
        Self { mode, um_sn_bits: Some(sn_bits), ..Self::am(pdcp_sn_bits) }
    }

    /// The PDU of PDCP of an SDU that starts.
    fn pdcp_pdu(&mut self, sdu: Vec<u8>) -> Vec<u8> {
        let Some(sn_bits) = self.pdcp_sn_bits else { return sdu };
        let sn = self.count % (1 << sn_bits);
        self.count += 1;
        let mut octets = pdcp::data_header(sn as u32, sn_bits);
        octets.extend(sdu);
        octets
    }

    /// Writes the PDUs of PDCP whose first octet is sent with the octets up to `end`.
    fn write_pdcp(&mut self, end: u64, out: &mut dyn FnMut(Pdu, &[u8])) {
        if let Some(sn_bits) = self.pdcp_sn_bits {
            let place = self.sdus.partition_point(|(_, first, _)| *first < self.sent);
            for (_, _, sdu) in self.sdus.iter().skip(place).take_while(|(_, first, _)| *first < end) {
                out(Pdu::LtePdcp { sn_bits }, sdu);
            }
        }
        self.sent = self.sent.max(end);
    }

    fn pdu(&self, tti: &Tti, pdu: &Sent) -> Option<Vec<u8>> {
        let (from, to) = (pdu.octets.first, pdu.octets.end);
        let mut octets = Vec::with_capacity((to - from) as usize);
        let place = self.sdus.partition_point(|(_, first, sdu)| first + sdu.len() as u64 <= from);
        for (_, first, sdu) in self.sdus.iter().skip(place).take_while(|(_, first, _)| *first < to) {
            let within = |octet: u64| octet.saturating_sub(*first).min(sdu.len() as u64) as usize;
            octets.extend_from_slice(&sdu[within(from)..within(to)]);
        }
        debug_assert_eq!(octets.len() as u64, to - from, "PDU {}", pdu.sn);
        let ends = tti.lte.ends_of(pdu);
        let mut at = from;
        let lengths = ends.iter().filter(|end| end.at < to).map(|end| {
            let length = (end.at - at) as u16;
            at = end.at;
            length
        });
        let lengths = lengths.collect();
        let data =
            Data { begins: pdu.begins, ends: ends.last().is_some_and(|end| end.at == to), lengths, octets };
        let written = match self.um_sn_bits {
            Some(bits) => {
                let sn = (pdu.sn % (1 << bits)) as u16;
                UmdPdu { sn, data }.encode(bits.into())
            }
            None => {
                let (sn, part) =
                    ((pdu.sn % AM_NUMBERS) as u16, pdu.part.map(|part| (part.so as u16, part.last)));
                wire::Pdu::Amd(AmdPdu { sn, poll: pdu.poll, part, data }).encode()
            }
        };
        debug_assert!(written.is_ok(), "{written:?}");
        written.ok()
    }
}

fn status(status: &Status) -> Option<Vec<u8>> {
    let sn = |sn: u64| (sn % AM_NUMBERS) as u16;
    let nack = |nack: &Nack| wire::Nack {
        sn: sn(nack.sn),
        part: nack.part.map(|(start, end)| (start as u16, end.map(|end| end as u16 - 1))),
    };
    let pdu = StatusPdu { ack_sn: sn(status.ack_sn), nacks: status.nacks.iter().map(nack).collect() };
    let written = wire::Pdu::Status(pdu).encode();
    debug_assert_eq!(written.as_ref().map(|octets| octets.len() as u64), Ok(status.octets()));
    written.ok()
}

impl Encode for Encoder {
    fn mode(&self) -> Mode {
        self.mode
    }

    fn encode(
        &mut self,
        tti: &Tti,
        started: &mut dyn Iterator<Item = (u64, Vec<u8>)>,
        out: &mut dyn FnMut(Pdu, &[u8]),
    ) {
        for (number, octets) in started {
            let octets = self.pdcp_pdu(octets);
            let first = self.end;
            self.end += octets.len() as u64;
            self.sdus.push_back((number, first, octets));
        }
        let mut block = Vec::with_capacity(tti.lte.data.len() + 1);
        if let Some(octets) = tti.lte.status.as_ref().and_then(status) {
            out(Pdu::LteStatus, &octets);
            block.push(octets);
        }
        for (place, pdu) in tti.lte.data.iter().enumerate() {
            self.write_pdcp(pdu.octets.end, out);
            if let Some(octets) = self.pdu(tti, pdu) {
                out(Pdu::Lte(place), &octets);
                block.push(octets);
            }
            if self.um_sn_bits.is_some() {
                let sent =
                    self.sdus.partition_point(|(_, first, sdu)| first + sdu.len() as u64 <= pdu.octets.end);
                self.sdus.drain(..sent);
            }
        }
        if !block.is_empty() {
            out(Pdu::LteMac, &mac_lte::encode(LCID, &block));
        }
    }

    fn discard(&mut self, sdus: &[u64]) {
        self.sdus.retain(|(number, ..)| !sdus.contains(number));
    }

    fn confirm(&mut self, sdus: &[u64]) {
        if self.um_sn_bits.is_none() {
            while self.sdus.front().is_some_and(|(number, ..)| sdus.contains(number)) {
                self.sdus.pop_front();
            }
        }
    }

    /// Restarts the stream with the first SDU that is kept. SDUs keep their COUNT in acknowledged mode; in unacknowledged
    /// mode COUNT restarts at 0 (TS 36.323 §5.2.1).
    fn begin_anew(&mut self) {
        (self.end, self.sent) = (0, 0);
        if self.um_sn_bits.is_some() {
            self.count = 0;
        }
        for (_, first, sdu) in &mut self.sdus {
            *first = self.end;
            self.end += sdu.len() as u64;
        }
    }
}
