//! Control PDUs as transmitted: sequence numbers of 12 bits, super-fields (TS 25.322 §9.2.2.11).
//!
//! The SDU index in MRW, RESET and RESET ACK has no field; a real receiver infers it from the octets of PDUs.

use super::status_report::{PAIRS, PDUS_PER_BITMAP, PDUS_PER_PAIR};
use crate::rlc::pdus::control::{Control, Form, Mrw, MrwAck, Reset, Status};
use crate::rlc::ranges::{Ranges, SnRange};
use crate::wire::rlc::{self as wire, ListPair, Pdu, Sn, StatusEnd, Sufi};

impl Control {
    /// The PDU.
    pub fn to_wire(&self) -> Pdu {
        match self {
            Self::Status(status) => Pdu::Status(status.to_wire()),
            Self::Reset(reset) => Pdu::Reset(reset.to_wire()),
            Self::ResetAck(reset) => Pdu::ResetAck(reset.to_wire()),
        }
    }
}

impl Reset {
    fn to_wire(self) -> wire::Reset {
        wire::Reset { rsn: self.rsn, hfni: self.hfni }
    }
}

impl Status {
    /// The super-fields: first commands, then reports, with ACK at the end.
    pub fn to_wire(&self) -> wire::Status {
        let window = self.window.map(|wsn| Sufi::Window(wsn as u16));
        let mrw = self.mrw.as_ref().map(Mrw::to_wire);
        let mrw_ack =
            self.mrw_ack.map(|MrwAck { n, sn_ack }| Sufi::MrwAck { n: n as u8, sn_ack: Sn::wrap(sn_ack) });
        let missing = match self.form {
            Form::List => lists(&self.missing),
            Form::Bitmap => bitmaps(&self.missing),
        };
        let sufis = window.into_iter().chain(mrw).chain(mrw_ack).chain(missing).collect();
        let end = self.lsn.map_or(StatusEnd::NoMore, |lsn| StatusEnd::Ack(Sn::wrap(lsn)));
        wire::Status { sufis, end }
    }

    /// Decodes super-fields, including RLIST, for a sender whose VT(A) is `vt_a`. Ignores MRW, which is addressed to
    /// the receiver at its side.
    pub fn of_wire(status: &wire::Status, vt_a: u64) -> Self {
        let unwrap = |sn: Sn| vt_a + u64::from(sn.after(Sn::wrap(vt_a)));
        let lsn = match status.end {
            StatusEnd::Ack(lsn) => Some(unwrap(lsn)),
            StatusEnd::NoMore => None,
        };
        let mut read = Self { lsn, ..Self::default() };
        for sufi in &status.sufis {
            match sufi {
                Sufi::Window(wsn) => read.window = Some((*wsn).into()),
                &Sufi::MrwAck { n, sn_ack } => {
                    read.mrw_ack = Some(MrwAck { n: n.into(), sn_ack: unwrap(sn_ack) });
                }
                Sufi::Bitmap { .. } => read.form = Form::Bitmap,
                Sufi::List(_) | Sufi::Rlist { .. } | Sufi::Mrw { .. } => {}
            }
            for sn in sufi.missing().into_iter().map(unwrap) {
                read.missing.insert(SnRange::new(sn, sn + 1));
            }
        }
        read
    }
}

impl Mrw {
    fn to_wire(&self) -> Sufi {
        let sn_mrw = self.sn_mrw.iter().map(|&sn| Sn::wrap(sn)).collect();
        Sufi::Mrw { sn_mrw, beyond_window: self.beyond_window, n_length: self.n_length as u8 }
    }
}

fn lists(missing: &Ranges) -> Vec<Sufi> {
    let mut pairs = Vec::new();
    for range in missing.as_slice() {
        let mut first = range.first;
        while first < range.end {
            let pdus = (range.end - first).min(PDUS_PER_PAIR);
            pairs.push(ListPair { sn: Sn::wrap(first), more: pdus as u8 - 1 });
            first += pdus;
        }
    }
    pairs.chunks(PAIRS as usize).map(|pairs| Sufi::List(pairs.to_vec())).collect()
}

/// From the first missing PDU to the last one. The remaining bits of the last octet report no missing PDU: a PDU that
/// was never sent must not be reported.
fn bitmaps(missing: &Ranges) -> Vec<Sufi> {
    let (Some(first), Some(end)) = (missing.first(), missing.end()) else { return Vec::new() };
    let octet = |from: u64| {
        let bits = (0..8).filter(|bit| !missing.contains(from + bit));
        bits.fold(0_u8, |octet, bit| octet | 0x80 >> bit)
    };
    (first..end)
        .step_by(PDUS_PER_BITMAP as usize)
        .map(|fsn| {
            let end = end.min(fsn + PDUS_PER_BITMAP);
            Sufi::Bitmap { fsn: Sn::wrap(fsn), bits: (fsn..end).step_by(8).map(octet).collect() }
        })
        .collect()
}
