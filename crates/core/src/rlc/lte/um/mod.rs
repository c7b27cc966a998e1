//! LTE's RLC Unacknowledged Mode (TS 36.322 §5.1.2): the entities of one direction of a bearer.
//!
//! The [`Sender`] segments SDUs into PDUs that fill the room of a TTI, with a sequence number, and sends each once.
//! HARQ delivers PDUs out of order: the [`Receiver`] reorders them, waits t-Reordering for missing PDUs, and then
//! continues without them.
//!
//! Sequence numbers are counted without wrapping. DEVIATION: a real receiver takes PDUs for old ones after a gap of
//! more than half of the numbers (512, or 16 with five bits), and loses up to as many more.

mod receiver;
mod sender;

pub use receiver::Receiver;
pub use sender::Sender;

use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::rlc::entities::{Receive, Transmit};
use crate::rlc::lte;
use crate::rlc::{Component, Encode, Errors, Ttis};
use crate::time::Duration;
use crate::units::Bitrate;

parameters! {
    /// LTE's Unacknowledged Mode, one direction: lost PDUs are not retransmitted. Keys are those of TS 36.331; any time
    /// is accepted, not only the values listed there.
    pub struct Config {
        /// Length of a TTI, where the cell does not give it.
        pub tti: Duration = Duration::from_millis(1),
        /// Start of the first TTI; the others follow without gap.
        pub offset: Duration,
        /// Correlation of losses within a TTI.
        pub errors: Errors = Errors::PerTti,
        /// sn-FieldLength: bits of a sequence number, 5 or 10. The reordering window is half of the numbers.
        pub sn_field_length: u32 = 10,
        /// t-Reordering: a missing PDU is waited for this long. Longer than HARQ repeats a transport block.
        pub t_reordering: Duration = Duration::from_millis(50),
        /// discardTimer of PDCP: an SDU whose transmission has not started within this time is discarded. If absent, no
        /// SDU is discarded.
        pub discard_timer: Option<Duration>,
        /// PDCP of LTE (TS 36.323) above it: bits of its sequence number, 7 or 12, whose header of 1 or 2 octets each SDU then
        /// has. If absent, the header is not counted, and captures have no PDU of PDCP. A leg of a split
        /// bearer has the PDCP of that bearer instead.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub pdcp_sn_size: Option<u8>,
    }
}

impl Config {
    /// Octets of the header without length indicators (§6.2.1.3).
    const fn header_octets(&self) -> u64 {
        if self.sn_field_length == 5 { 1 } else { 2 }
    }

    const fn sequence_numbers(&self) -> u64 {
        1 << self.sn_field_length
    }
}

impl Component for Config {
    fn halves(&self) -> Option<(Box<dyn Transmit>, Box<dyn Receive>)> {
        Some((Box::new(Sender::new(self)), Box::new(Receiver::new(self))))
    }

    fn ttis(&self) -> Option<Ttis> {
        let Self { tti, offset, errors, .. } = *self;
        let sequence_numbers = self.sequence_numbers();
        Some(Ttis {
            tti,
            offset,
            payload: 1,
            least: self.header_octets() + 1,
            errors,
            sequence_numbers,
            retransmits: false,
        })
    }

    fn harq_timer(&self) -> Option<(&'static str, Duration)> {
        Some(("t_reordering", self.t_reordering))
    }

    fn largest_sdu(&self) -> Option<u32> {
        self.pdcp_sn_size.map(|_| lte::LARGEST_PDCP_SDU)
    }

    fn encoder(&self) -> Option<Box<dyn Encode>> {
        Some(Box::new(lte::Encoder::um(self.sn_field_length as u8, self.pdcp_sn_size)))
    }

    fn validate(&self, _rate: Bitrate) -> Result<(), ScenarioError> {
        lte::check(self.tti, self.discard_timer)?;
        lte::check_pdcp(self.pdcp_sn_size, &[7, 12], "write 7 or 12, or leave it out")?;
        if !matches!(self.sn_field_length, 5 | 10) {
            return Err(ScenarioError::new(
                "sn_field_length",
                "is no size of a sequence number",
                "write 5 or 10",
            ));
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
        assert_eq!(error(|c| c.sn_field_length = 5), "");
        assert_eq!(
            error(|c| c.sn_field_length = 12),
            "sn_field_length: is no size of a sequence number; write 5 or 10"
        );
        assert_eq!(error(|c| c.pdcp_sn_size = Some(7)), "");
        assert_eq!(
            error(|c| c.pdcp_sn_size = Some(15)),
            "pdcp_sn_size: is 15, which is no size of a sequence number here; write 7 or 12, or leave it out"
        );
        // Whether that is too little depends on HARQ.
        assert_eq!(error(|c| c.t_reordering = Duration::ZERO), "");
        assert_eq!(
            error(|c| c.discard_timer = Some(Duration::ZERO)),
            "discard_timer: is zero; write a time, or leave it out"
        );
    }
}
