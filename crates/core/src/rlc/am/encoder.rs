//! Octets of the PDUs of one direction, for captures: a shadow of the transmitting side, which works without.
//!
//! It is told what each TTI carries and which SDUs begin in it, asks for the octets of these, and lays them
//! out by itself (TS 25.322 §9.2.2.8). PDUs are kept as long as they may be sent again.

use std::collections::VecDeque;

use super::{Config, Control, Status};
use crate::rlc::encode::{Encode, Pdu};
use crate::rlc::{Run, SduEnd, Tti};
use crate::wire::rlc::{self as wire, AmdPdu, PreviousEnd, Sn, Tail};

/// PDUs that may be sent again: no window is larger.
const MOST_KEPT: usize = 2048;
/// RESET and RESET ACK without padding (§9.2.1.7).
const RESET_BITS: usize = 28;

/// Makes the octets of PDUs.
#[derive(Debug)]
pub struct Encoder {
    /// The next new sequence number.
    vt_s: u64,
    /// PDUs below it, the last one last; `None` where there was none.
    kept: VecDeque<Option<AmdPdu>>,
    /// The SDU that is being cut.
    cut: Option<Cut>,
    /// The SDU whose end the next PDU has to tell, and how.
    untold: Option<(u64, PreviousEnd)>,
    /// The PDU being written.
    octets: Vec<u8>,
}

#[derive(Debug)]
struct Cut {
    sdu: u64,
    octets: Vec<u8>,
    /// Octets in PDUs.
    sent: usize,
}

impl Encoder {
    /// At the start of the run, for the direction with these parameters.
    pub fn new(config: &Config) -> Self {
        Self {
            vt_s: 0,
            kept: VecDeque::new(),
            cut: None,
            untold: None,
            octets: vec![0; config.pdu.as_u64() as usize],
        }
    }

    /// The octets of a control PDU. It is as long as a data PDU, or longer if that takes it.
    fn control(&self, control: &Control) -> Vec<u8> {
        let pdu = control.to_wire();
        let bits = if let wire::Pdu::Status(status) = &pdu { status.bits() } else { RESET_BITS };
        let mut octets = vec![0; self.octets.len().max(bits.div_ceil(8))];
        let written = pdu.encode(&mut octets);
        debug_assert_eq!(written, Ok(()));
        octets
    }

    /// The octets of a data PDU, with a STATUS PDU in its padding if one rides in it.
    fn data(&mut self, sn: u64, poll: bool, rider: Option<&Status>, out: &mut dyn FnMut(Pdu, &[u8])) {
        let first = self.vt_s - self.kept.len() as u64;
        let kept = sn.checked_sub(first).and_then(|at| self.kept.get(at as usize));
        let Some(pdu) = kept.and_then(Option::as_ref) else {
            debug_assert!(false, "PDU {sn} is sent again, and the first one kept is {first}");
            return;
        };
        let mut pdu = AmdPdu { poll, ..pdu.clone() };
        if let Some(status) = rider {
            pdu.tail = Tail::Status(status.to_wire());
        }
        let written = wire::Pdu::Amd(pdu).encode(&mut self.octets);
        debug_assert_eq!(written, Ok(()));
        out(Pdu::Data(sn), &self.octets);
    }

    /// Fills the next PDU.
    fn build(&mut self, ends: &[SduEnd], started: &mut dyn Iterator<Item = (u64, Vec<u8>)>) {
        let sn = self.vt_s;
        let previous = self.untold.take().map_or(PreviousEnd::Told, |(_, end)| end);
        let mut pdu = AmdPdu {
            sn: Sn::wrap(sn),
            poll: false,
            previous,
            ends: Vec::new(),
            data: Vec::new(),
            tail: Tail::Full,
        };
        while self.room(&pdu, 0) >= self.least_room()
            && let Some(cut) = self.cut.take().or_else(|| started.next().map(Cut::new))
        {
            let left = cut.octets.len() - cut.sent;
            if left > self.room(&pdu, 0) {
                self.fill(&mut pdu, cut);
            } else if left <= self.room(&pdu, 1) {
                pdu.data.extend(&cut.octets[cut.sent..]);
                pdu.ends.push(pdu.data.len() as u16);
            } else {
                let told = ends.iter().any(|end| end.sdu == cut.sdu && end.sn == sn);
                self.end_without_indicator(&mut pdu, &cut, told);
            }
        }
        if self.room(&pdu, 0) > 0 {
            self.pad(&mut pdu);
        }
        self.keep(Some(pdu));
    }

    /// Sequence numbers below `sn` that were never on the air: those of discarded SDUs.
    fn pass_over(&mut self, sn: u64) {
        while self.vt_s < sn {
            self.keep(None);
        }
    }

    fn keep(&mut self, pdu: Option<AmdPdu>) {
        if self.kept.len() == MOST_KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(pdu);
        self.vt_s += 1;
    }

    /// Octets that are free if the PDU gets so many length indicators more.
    fn room(&self, pdu: &AmdPdu, more: usize) -> usize {
        self.data_room(pdu, more).saturating_sub(pdu.data.len())
    }

    /// What an SDU needs to begin in a PDU: with length indicators of 15 bits no single octet.
    fn least_room(&self) -> usize {
        AmdPdu::data_room(self.octets.len(), 0) - AmdPdu::data_room(self.octets.len(), 1)
    }

    fn data_room(&self, pdu: &AmdPdu, more: usize) -> usize {
        let told = usize::from(pdu.previous != PreviousEnd::Told);
        AmdPdu::data_room(self.octets.len(), told + pdu.ends.len() + more)
    }

    /// The SDU goes on in the next PDU.
    fn fill(&mut self, pdu: &mut AmdPdu, mut cut: Cut) {
        let end = cut.sent + self.room(pdu, 0);
        pdu.data.extend(&cut.octets[cut.sent..end]);
        cut.sent = end;
        self.cut = Some(cut);
    }

    /// The SDU ends where no indicator finds room. Unless the special value of HE tells it, the next PDU does.
    fn end_without_indicator(&mut self, pdu: &mut AmdPdu, cut: &Cut, told: bool) {
        pdu.data.extend(&cut.octets[cut.sent..]);
        if told {
            pdu.tail = Tail::FullWithSduEnd;
            return;
        }
        let is_short = self.room(pdu, 0) > 0;
        if is_short {
            pdu.data.push(0);
        }
        self.untold = Some((cut.sdu, if is_short { PreviousEnd::OneOctetShort } else { PreviousEnd::Exact }));
    }

    fn pad(&self, pdu: &mut AmdPdu) {
        let is_told = self.data_room(pdu, 1) >= pdu.data.len();
        pdu.tail = if is_told { Tail::Padding } else { Tail::PaddingOctet };
    }
}

impl Encode for Encoder {
    fn encode(
        &mut self,
        tti: &Tti,
        started: &mut dyn Iterator<Item = (u64, Vec<u8>)>,
        out: &mut dyn FnMut(Pdu, &[u8]),
    ) {
        for (place, control) in tti.control.iter().enumerate() {
            out(Pdu::Control(place), &self.control(control));
        }
        for &Run { sns, poll } in &tti.data.runs {
            for sn in sns.first..sns.end {
                if sn >= self.vt_s {
                    self.pass_over(sn);
                    self.build(&tti.data.ends, started);
                }
                let rider = tti.piggybacked.as_ref().filter(|(carrier, _)| *carrier == sn);
                self.data(sn, poll, rider.map(|(_, status)| status), out);
            }
        }
    }

    /// What was sent of it stays; in the next PDU another one begins.
    fn discard(&mut self, sdus: &[u64]) {
        let given_up = |sdu| sdus.contains(&sdu);
        if self.cut.as_ref().is_some_and(|cut| given_up(cut.sdu)) {
            self.cut = None;
        }
        if self.untold.is_some_and(|(sdu, _)| given_up(sdu)) {
            self.untold = None;
        }
    }

    fn begin_anew(&mut self) {
        self.vt_s = 0;
        self.kept.clear();
        (self.cut, self.untold) = (None, None);
    }
}

impl Cut {
    fn new((sdu, octets): (u64, Vec<u8>)) -> Self {
        Self { sdu, octets, sent: 0 }
    }
}
