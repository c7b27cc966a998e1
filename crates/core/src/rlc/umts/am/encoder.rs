//! Octets of the PDUs of one direction, for captures: a shadow of the transmitting side, which works without.
//!
//! It is called with the content of each TTI and the SDUs that start in it, reads their octets, and lays them out by
//! itself (TS 25.322 §9.2.2.8). PDUs are kept as long as they may be retransmitted.

use std::collections::VecDeque;

use super::Config;
use crate::rlc::encode::{Encode, Pdu};
use crate::rlc::pdus::control::Control;
use crate::rlc::umts::cutter::{Cutter, Filling, Rest};
use crate::rlc::{Run, SduEnd, Tti};
use crate::wire::rlc::udp::Mode;
use crate::wire::rlc::{self as wire, AmdPdu, PreviousEnd, Sn, Tail};

/// Number of PDUs kept for retransmission: no window is larger.
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
    cutter: Cutter,
    /// The SDU whose end the next PDU has to tell, and how.
    untold: Option<(u64, PreviousEnd)>,
    /// The PDU being written.
    octets: Vec<u8>,
}

impl Encoder {
    /// At the start of the run, for the direction with these parameters.
    pub fn new(config: &Config) -> Self {
        Self {
            vt_s: 0,
            kept: VecDeque::new(),
            cutter: Cutter::default(),
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

    fn data(&mut self, sn: u64, poll: bool, tti: &Tti, out: &mut dyn FnMut(Pdu, &[u8])) {
        let first = self.vt_s - self.kept.len() as u64;
        let kept = sn.checked_sub(first).and_then(|at| self.kept.get(at as usize));
        let Some(pdu) = kept.and_then(Option::as_ref) else {
            debug_assert!(false, "PDU {sn} is sent again, and the first one kept is {first}");
            return;
        };
        let mut pdu = AmdPdu { poll, ..pdu.clone() };
        if let Some((_, status)) = tti.piggybacked.as_ref().filter(|(at, _)| *at == sn) {
            debug_assert_eq!(pdu.tail, Tail::Padding);
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
        let pdu_octets = self.octets.len();
        let room = |indicators| AmdPdu::data_room(pdu_octets, indicators);
        let indicators = usize::from(previous != PreviousEnd::Told);
        let Filling { ends: filled, mut data, rest } = self.cutter.fill(room, indicators, started);
        let tail = match rest {
            // The special value of HE carries the end.
            Rest::UntoldEnd(sdu) if ends.iter().any(|end| end.sdu == sdu && end.sn == sn) => {
                Tail::FullWithSduEnd
            }
            Rest::UntoldEnd(sdu) => {
                self.untold = Some((sdu, PreviousEnd::Exact));
                Tail::Full
            }
            Rest::UntoldEndAndOctet(sdu) => {
                data.push(0);
                self.untold = Some((sdu, PreviousEnd::OneOctetShort));
                Tail::Full
            }
            Rest::Nothing => Tail::Full,
            Rest::Padding => Tail::Padding,
            Rest::Octet => Tail::PaddingOctet,
        };
        self.keep(Some(AmdPdu { sn: Sn::wrap(sn), poll: false, previous, ends: filled, data, tail }));
    }

    /// Skips sequence numbers below `sn` that were never transmitted: they belong to discarded SDUs.
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
}

impl Encode for Encoder {
    fn mode(&self) -> Mode {
        Mode::Am
    }

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
                self.data(sn, poll, tti, out);
            }
        }
    }

    /// Octets already sent remain; the next PDU starts another SDU.
    fn discard(&mut self, sdus: &[u64]) {
        self.cutter.discard(sdus);
        self.untold.take_if(|(sdu, _)| sdus.contains(sdu));
    }

    fn begin_anew(&mut self) {
        self.vt_s = 0;
        self.kept.clear();
        (self.cutter, self.untold) = (Cutter::default(), None);
    }
}
