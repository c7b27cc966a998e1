//! Octets of TMD PDUs, for captures: those of SDUs, and nothing else.

use super::Config;
use crate::rlc::Tti;
use crate::rlc::encode::{Encode, Pdu};
use crate::wire::rlc::udp::Mode;

/// Makes the octets of PDUs.
#[derive(Debug)]
pub struct Encoder {
    /// Octets of a PDU, if SDUs are cut.
    pdu_octets: Option<usize>,
}

impl Encoder {
    /// For the direction with these parameters.
    pub fn new(config: &Config) -> Self {
        Self { pdu_octets: config.segmentation.then_some(config.pdu.as_u64() as usize) }
    }
}

impl Encode for Encoder {
    fn mode(&self) -> Mode {
        Mode::Tm
    }

    /// Each SDU of a TTI begins and ends in it.
    fn encode(
        &mut self,
        tti: &Tti,
        started: &mut dyn Iterator<Item = (u64, Vec<u8>)>,
        out: &mut dyn FnMut(Pdu, &[u8]),
    ) {
        for (sdu, octets) in started {
            let Some(end) = tti.data.ends.iter().find(|end| end.sdu == sdu) else { continue };
            let pdu_octets = self.pdu_octets.unwrap_or(octets.len()).max(1);
            for (sn, part) in (end.first..=end.sn).zip(octets.chunks(pdu_octets)) {
                let mut pdu = part.to_vec();
                pdu.resize(pdu_octets, 0);
                out(Pdu::Data(sn), &pdu);
            }
        }
    }

    /// None is begun and not sent.
    fn discard(&mut self, _sdus: &[u64]) {}

    /// Nothing resets this mode.
    fn begin_anew(&mut self) {}
}
