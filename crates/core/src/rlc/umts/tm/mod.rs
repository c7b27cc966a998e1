//! RLC Transparent Mode (TS 25.322 §4.2.1.1, §9.2.1.2, §11.1): the entities of one direction of a bearer.
//!
//! The [`Sender`] adds nothing to SDUs. Without segmentation each is a PDU, and a TTI carries SDUs of one length; with
//! it a TTI carries one SDU. No SDU may be larger than a TTI. The receiver is that of UM
//! ([`Reassembly`]): what a TTI does not bring whole is lost.
//!
//! DEVIATION: with segmentation, IP packets are no multiples of a PDU, as §4.2.1.1.1 demands of SDUs; the last PDU is
//! filled up. Left out: delivery of erroneous SDUs (§11.1.3).

mod sender;

pub use sender::Sender;

use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::rlc::encode::{Encode, Pdu};
use crate::rlc::entities::{self, Receive, Transmit};
use crate::rlc::{Component, Errors, Reassembly, Tti, Ttis};
use crate::time::Duration;
use crate::units::{Bitrate, Bytes};
use crate::wire::rlc::udp::Mode;

/// Real PDUs have none; traces count PDUs with as many as AM has.
const SEQUENCE_NUMBERS: u64 = 4096;

parameters! {
    /// Transparent Mode, one direction: no header, and no SDU larger than a TTI.
    pub struct Config {
        /// Length of a TTI.
        pub tti: Duration = Duration::from_millis(10),
        /// Start of the first TTI; the others follow without gap.
        pub offset: Duration,
        /// Correlation of losses within a TTI.
        pub errors: Errors = Errors::PerTti,
        /// Size of a PDU with segmentation. Without, a PDU is as large as its SDU; the TTI has room for the same
        /// octets.
        pub pdu: Bytes = Bytes::from_bytes(40),
        /// Whether an SDU is cut into the PDUs of a TTI, which it then has for itself.
        pub segmentation: bool,
        /// Discard an SDU that was not sent within this time. If absent, an SDU discards the SDUs that have waited since
        /// an earlier TTI.
        pub timer_discard: Option<Duration>,
    }
}

impl Component for Config {
    /// Real PDUs have no sequence numbers; the PDUs of an SDU are the PDUs of a TTI.
    fn halves(&self) -> Option<(Box<dyn Transmit>, Box<dyn Receive>)> {
        Some((Box::new(Sender::new(self)), Box::new(Reassembly::new(true))))
    }

    fn ttis(&self) -> Option<Ttis> {
        let (payload, sequence_numbers, retransmits) = (self.pdu.as_u64(), SEQUENCE_NUMBERS, false);
        let Self { tti, offset, errors, .. } = *self;
        Some(Ttis { tti, offset, payload, least: 0, errors, sequence_numbers, retransmits })
    }

    fn pdu_octets(&self) -> Option<u64> {
        Some(self.pdu.as_u64())
    }

    fn encoder(&self) -> Option<Box<dyn Encode>> {
        Some(Box::new(Encoder::new(self)))
    }

    fn validate(&self, _rate: Bitrate) -> Result<(), ScenarioError> {
        if self.pdu.as_u64() == 0 {
            return Err(ScenarioError::new("pdu", "is zero", "write a size such as \"40 B\""));
        }
        entities::check_timer("timer_discard", self.timer_discard)
    }
}

/// Makes the octets of PDUs, for captures: those of SDUs, and nothing else.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_named_with_a_remedy() {
        let error = |config: Config| {
            config.validate(Bitrate::default()).map_or_else(|error| error.to_string(), |()| String::new())
        };
        assert_eq!(error(Config::default()), "");
        let pdu = Config { pdu: Bytes::from_bytes(0), ..Config::default() };
        assert_eq!(error(pdu), "pdu: is zero; write a size such as \"40 B\"");
        let timer = Config { timer_discard: Some(Duration::ZERO), ..Config::default() };
        assert_eq!(error(timer), "timer_discard: is zero; write a time, or leave it out");
    }
}
