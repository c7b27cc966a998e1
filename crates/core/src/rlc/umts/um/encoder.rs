//! Octets of UMD PDUs, for captures: see [`Encode`].

use super::Config;
use crate::rlc::Tti;
use crate::rlc::encode::{Encode, Pdu};
use crate::rlc::umts::cutter::{Cutter, Filling, Rest};
use crate::wire::rlc::udp::Mode;
use crate::wire::rlc::{Begin, UmdPdu, UmdSn};

/// Makes the octets of PDUs.
#[derive(Debug)]
pub struct Encoder {
    first_octet_indicator: bool,
    /// VT(US): the next sequence number.
    vt_us: u64,
    cutter: Cutter,
    /// Indication about the previous PDU that the next one must carry.
    untold: Option<Begin>,
    /// The PDU being written.
    octets: Vec<u8>,
}

impl Encoder {
    /// At the start of the run, for the direction with these parameters.
    pub fn new(config: &Config) -> Self {
        Self {
            first_octet_indicator: config.first_octet_indicator,
            vt_us: 0,
            cutter: Cutter::default(),
            untold: None,
            octets: vec![0; config.pdu.as_u64() as usize],
        }
    }

    fn build(&mut self, sn: u64, started: &mut dyn Iterator<Item = (u64, Vec<u8>)>) {
        // A number is passed over behind an SDU that was broken off: see `Sender`.
        let untold = if sn > self.vt_us { Some(Begin::PreviousExact) } else { self.untold.take() };
        self.untold = None;
        self.vt_us = sn + 1;
        let begins = self.first_octet_indicator && !self.cutter.goes_on();
        let begin = untold.unwrap_or(if begins { Begin::FirstOctet } else { Begin::Untold });
        let pdu_octets = self.octets.len();
        let room = |indicators| UmdPdu::data_room(pdu_octets, indicators);
        let indicators = usize::from(begin != Begin::Untold);
        let Filling { ends, mut data, rest } = self.cutter.fill(room, indicators, started);
        match rest {
            Rest::UntoldEnd(_) => self.untold = Some(Begin::PreviousExact),
            Rest::UntoldEndAndOctet(_) => {
                data.push(0);
                self.untold = Some(Begin::PreviousOneOctetShort);
            }
            Rest::Octet => data.push(0),
            Rest::Nothing | Rest::Padding => {}
        }
        let padding = rest == Rest::Padding;
        let pdu = UmdPdu { sn: UmdSn::wrap(sn), begin, ends, data, padding };
        let written = pdu.encode(&mut self.octets);
        debug_assert_eq!(written, Ok(()));
    }
}

impl Encode for Encoder {
    fn mode(&self) -> Mode {
        Mode::Um
    }

    fn encode(
        &mut self,
        tti: &Tti,
        started: &mut dyn Iterator<Item = (u64, Vec<u8>)>,
        out: &mut dyn FnMut(Pdu, &[u8]),
    ) {
        for sn in tti.data.runs.iter().flat_map(|run| run.sns.first..run.sns.end) {
            self.build(sn, started);
            out(Pdu::Data(sn), &self.octets);
        }
    }

    fn discard(&mut self, sdus: &[u64]) {
        self.cutter.discard(sdus);
    }

    /// Nothing resets this mode.
    fn begin_anew(&mut self) {}
}
