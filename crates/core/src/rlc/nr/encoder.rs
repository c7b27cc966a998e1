//! Octets of PDUs, for captures: a shadow of the sender that has the octets of SDUs.

use super::{Nack, Pdu as Sent, Status};
use crate::pdcp::{Content, StatusReport};
use crate::rlc::Tti;
use crate::rlc::encode::{Encode, Pdu};
use crate::wire::rlc::udp::Mode;
use crate::wire::rlc_nr::{self as wire, AmdPdu, Part, StatusPdu, UmdPdu};
use crate::wire::{mac_nr, pdcp};
use std::collections::VecDeque;

/// Logical channel of the first data radio bearer, behind those of signalling.
const LCID: u8 = 4;

/// A MAC PDU that is longer is written as several ones: more does not fit into a datagram with its framing.
const LARGEST_BLOCK: usize = 65_000;

/// Makes the octets of the PDUs of a direction: those of PDCP that RLC takes, those of RLC, and the MAC PDU.
#[derive(Debug)]
pub struct Encoder {
    mode: Mode,
    sn_bits: u8,
    /// Bits of PDCP's sequence number; 0 if SDUs come with a header.
    pdcp_sn_bits: u8,
    /// Numbers and octets of SDUs that have started, from the first one that may still be transmitted.
    sdus: VecDeque<(u64, Vec<u8>)>,
    /// The block that is being written.
    block: Vec<u8>,
}

impl Encoder {
    /// At the start of the run, for acknowledged mode with so many bits of sequence numbers, and PDCP's.
    pub fn am(sn_bits: u8, pdcp_sn_bits: u8) -> Self {
        Self { mode: Mode::NrAm { sn_bits }, sn_bits, pdcp_sn_bits, sdus: VecDeque::new(), block: Vec::new() }
    }

    /// At the start of the run, for unacknowledged mode.
    pub fn um(sn_bits: u8, pdcp_sn_bits: u8) -> Self {
        Self { mode: Mode::NrUm { sn_bits }, ..Self::am(sn_bits, pdcp_sn_bits) }
    }

    fn is_acknowledged(&self) -> bool {
        matches!(self.mode, Mode::NrAm { .. })
    }

    /// The PDCP PDU that a PDU carries a part of.
    fn pdcp_pdu(&self, content: Content, reports: &[StatusReport]) -> Vec<u8> {
        match content {
            Content::Data { count, number } => {
                let mut octets = match self.pdcp_sn_bits {
                    0 => Vec::new(),
                    bits => pdcp::data_header((count % (1 << bits)) as u32, bits),
                };
                let place = self.sdus.partition_point(|(other, _)| *other < number);
                let sdu = self.sdus.get(place).filter(|(other, _)| *other == number);
                debug_assert!(sdu.is_some(), "SDU {number} is not known");
                octets.extend(sdu.into_iter().flat_map(|(_, own)| own));
                octets
            }
            Content::Status(number) => {
                let report = reports.iter().find(|report| report.number == number);
                report.map_or_else(Vec::new, |report| pdcp::status(report.fmc as u32, &report.bitmap))
            }
        }
    }

    fn data_pdu(&self, pdu: &Sent, sdu: &[u8]) -> Option<Vec<u8>> {
        let sn = (pdu.sn % (1 << self.sn_bits)) as u32;
        let part = match (pdu.so, pdu.last) {
            (0, true) => Part::Whole,
            (0, false) => Part::First,
            (so, true) => Part::Last(so as u16),
            (so, false) => Part::Middle(so as u16),
        };
        let data = sdu.get(pdu.so as usize..pdu.end as usize)?.to_vec();
        let written = match self.is_acknowledged() {
            true => wire::Pdu::Amd(AmdPdu { sn, poll: pdu.poll, part, data }).encode(self.sn_bits.into()),
            false => UmdPdu { sn: if part == Part::Whole { 0 } else { sn }, part, data }
                .encode(self.sn_bits.into()),
        };
        debug_assert!(written.is_ok(), "{written:?}");
        written.ok()
    }

    fn status_pdu(&self, status: &Status) -> Option<Vec<u8>> {
        let sn = |sn: u64| (sn % (1 << self.sn_bits)) as u32;
        let nack = |nack: &Nack| wire::Nack {
            sn: sn(nack.sn),
            offsets: nack.has_offsets().then(|| (nack.start as u16, nack.end.map(|end| end as u16 - 1))),
            range: (nack.range > 1).then_some(nack.range),
        };
        let pdu = StatusPdu { ack_sn: sn(status.ack_sn), nacks: status.nacks.iter().map(nack).collect() };
        let written = wire::Pdu::Status(pdu).encode(self.sn_bits.into());
        debug_assert_eq!(written.as_ref().map(|octets| octets.len() as u64), Ok(status.octets(self.sn_bits)));
        written.ok()
    }

    /// Writes an RLC PDU, and adds it to the block.
    fn write(&mut self, pdu: Pdu, octets: &[u8], out: &mut dyn FnMut(Pdu, &[u8])) {
        out(pdu, octets);
        if self.block.len() + 3 + octets.len() > LARGEST_BLOCK {
            out(Pdu::NrMac, &self.block);
            self.block.clear();
        }
        mac_nr::put(&mut self.block, LCID, octets);
    }
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
        self.sdus.extend(started);
        self.block.clear();
        if let Some(octets) = tti.nr.status.as_ref().and_then(|status| self.status_pdu(status)) {
            self.write(Pdu::NrStatus, &octets, out);
        }
        for (place, pdu) in tti.nr.data.iter().enumerate() {
            let sdu = self.pdcp_pdu(pdu.sdu, &tti.nr.reports);
            if pdu.so == 0 && !pdu.again && self.pdcp_sn_bits > 0 {
                out(Pdu::NrPdcp { sn_bits: self.pdcp_sn_bits }, &sdu);
            }
            if let Some(octets) = self.data_pdu(pdu, &sdu) {
                self.write(Pdu::Nr(place), &octets, out);
            }
        }
        // A re-established bearer retransmits from the first SDU that is not confirmed, confirmed ones included.
        let ended = self.sdus.partition_point(|(number, _)| *number < tti.nr.needed_from);
        self.sdus.drain(..ended);
        // What a bearer leaves of a block is padding if it has a part in it.
        if !self.block.is_empty() {
            if tti.nr.room <= LARGEST_BLOCK as u64 {
                mac_nr::pad(&mut self.block, tti.nr.room as usize);
            }
            out(Pdu::NrMac, &self.block);
        }
    }

    fn discard(&mut self, _sdus: &[u64]) {}

    fn begin_anew(&mut self) {}
}
