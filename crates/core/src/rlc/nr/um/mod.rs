//! RLC Unacknowledged Mode of NR (TS 38.322 §5.2.2), with PDCP above it: the entities of one direction of a bearer.
//!
//! The [`Sender`] fills the room of a TTI with PDUs of one SDU or segment each, and sends each once. Whole SDUs have no
//! sequence number, and go up at once; an SDU that is segmented has one, and the [`Receiver`] waits t-Reassembly for
//! segments that are missing. That an SDU is missing is noticed by PDCP only.
//!
//! Sequence numbers are counted without wrapping. DEVIATION: a real receiver mistakes the segments of new SDUs for those of
//! old ones after a gap of more than half of the numbers, and loses more.

mod receiver;
mod sender;

pub use receiver::Receiver;
pub use sender::Sender;

use crate::error::ScenarioError;
use crate::pdcp;
use crate::registry::parameters;
use crate::rlc::entities::{Halves, Receive, Transmit};
use crate::rlc::{self, Component, Encode, End, Errors, Ttis, lte, nr};
use crate::time::Duration;
use crate::units::Bitrate;

parameters! {
    /// Unacknowledged Mode of NR, one direction: lost PDUs are not retransmitted. Keys are those of TS 38.331; any time is
    /// taken, not only those listed there.
    pub struct Config {
        /// Length of a TTI, where the cell does not give it.
        pub tti: Duration = Duration::from_millis(10),
        /// Start of the first TTI; the others follow without gap.
        pub offset: Duration,
        /// Correlation of losses within a TTI.
        pub errors: Errors = Errors::PerTti,
        /// sn-FieldLength: bits of the sequence number of a segmented SDU, 6 or 12. The reassembly window is half of the
        /// numbers.
        pub sn: u8 = 12,
        /// t-Reassembly: missing segments are waited for this long. Longer than HARQ repeats a transport block.
        pub t_reassembly: Duration = Duration::from_millis(40),
    }
}

/// Octets of a segment's SO (§6.2.2.3), MAC's subheader (TS 38.321 §6.1.2) and one octet of data.
const SO_AND_MORE: u64 = 2 + 2 + 1;

impl Config {
    /// Octets of the header of a UMD PDU with a segment, without SO (§6.2.2.3).
    const fn header_octets(&self) -> u64 {
        if self.sn == 6 { 1 } else { 2 }
    }

    /// UM_Window_Size (§7.2): half of the sequence numbers.
    const fn window(&self) -> u64 {
        1 << (self.sn - 1)
    }

    fn halves_with(&self, pdcp: &pdcp::Config) -> (Box<dyn Transmit>, Box<dyn Receive>) {
        (Box::new(Sender::new(self, pdcp)), Box::new(Receiver::new(self, pdcp)))
    }
}

impl Component for Config {
    fn halves(&self) -> Option<(Box<dyn Transmit>, Box<dyn Receive>)> {
        Some(self.halves_with(&pdcp::Config::default()))
    }

    fn ends_with(&self, uplink: &rlc::Config, [down, up]: [&pdcp::Config; 2]) -> Option<[Box<dyn End>; 2]> {
        let ((down_tx, down_rx), (up_tx, up_rx)) = match uplink {
            rlc::Config::UmNr(uplink) => (self.halves_with(down), uplink.halves_with(up)),
            other => (self.halves_with(down), other.halves()?),
        };
        Some([Box::new(Halves { tx: down_tx, rx: up_rx }), Box::new(Halves { tx: up_tx, rx: down_rx })])
    }

    fn ttis(&self) -> Option<Ttis> {
        let Self { tti, offset, errors, .. } = *self;
        let sequence_numbers = 1 << self.sn;
        Some(Ttis {
            tti,
            offset,
            payload: 1,
            least: self.header_octets() + SO_AND_MORE,
            errors,
            sequence_numbers,
            retransmits: false,
        })
    }

    fn harq_timer(&self) -> Option<(&'static str, Duration)> {
        Some(("t_reassembly", self.t_reassembly))
    }

    fn has_pdcp(&self) -> bool {
        true
    }

    fn encoder_with(&self, pdcp: &pdcp::Config) -> Option<Box<dyn Encode>> {
        Some(Box::new(nr::Encoder::um(self.sn, pdcp.sn)))
    }

    fn validate(&self, _rate: Bitrate) -> Result<(), ScenarioError> {
        lte::check(self.tti, None)?;
        if !matches!(self.sn, 6 | 12) {
            let message = format!("is {}, which is no size of a sequence number", self.sn);
            return Err(ScenarioError::new("sn", message, "write 6 or 12"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_named_with_a_remedy() {
        let error = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            config.validate(Bitrate::default()).map_or_else(|error| error.to_string(), |()| String::new())
        };
        assert_eq!(error(|_| ()), "");
        // Whether that is too little depends on HARQ.
        assert_eq!(error(|c| (c.sn, c.t_reassembly) = (6, Duration::ZERO)), "");
        assert_eq!(error(|c| c.tti = Duration::ZERO), "tti: is zero; write a TTI such as \"1 ms\"");
        assert_eq!(error(|c| c.sn = 10), "sn: is 10, which is no size of a sequence number; write 6 or 12");
    }
}
