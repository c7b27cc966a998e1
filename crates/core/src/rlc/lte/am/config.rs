//! Parameters of LTE's RLC AM (TS 36.331 §6.3.2, RLC-Config; TS 36.322 §7.2 to §7.4).

use super::WINDOW;
use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::rlc::{Errors, lte};
use crate::time::Duration;
use crate::units::Bytes;

parameters! {
    /// LTE's Acknowledged Mode, one direction. Keys are those of TS 36.331; any value is taken, not only those listed
    /// there. The defaults are those of srsRAN's eNodeB for data bearers.
    pub struct Config {
        /// Length of a TTI, where the cell does not give it.
        pub tti: Duration = Duration::from_millis(1),
        /// Start of the first TTI; the others follow without gap.
        pub offset: Duration,
        /// Correlation of losses within a TTI.
        pub errors: Errors = Errors::PerTti,
        /// t-PollRetransmit: poll again when no answer came in this time.
        pub t_poll_retransmit: Duration = Duration::from_millis(120),
        /// pollPDU: poll on every n-th new PDU. If absent, the number of PDUs causes no poll.
        pub poll_pdu: Option<u32> = Some(64),
        /// pollByte: poll on the PDU that brings the octets sent since the last poll to this. If absent, octets cause no poll.
        pub poll_byte: Option<Bytes> = Some(Bytes::from_bytes(750_000)),
        /// maxRetxThreshold: a PDU that has been retransmitted this often and is missing again is a radio link failure.
        pub max_retx_threshold: u32 = 16,
        /// t-Reordering: a missing PDU is reported after this. Longer than HARQ repeats a transport block; may be zero where
        /// it repeats none.
        pub t_reordering: Duration = Duration::from_millis(50),
        /// t-StatusProhibit: no second STATUS PDU within this time; may be zero.
        pub t_status_prohibit: Duration = Duration::from_millis(50),
        /// discardTimer of PDCP: an SDU whose transmission has not started within this time is discarded. If absent, no
        /// SDU is discarded.
        pub discard_timer: Option<Duration>,
        /// PDCP of LTE (TS 36.323) above it: bits of its sequence number, 12, 15 or 18, whose header of 2, 2 or 3 octets each SDU then
        /// has. If absent, the header is not counted, and captures have no PDU of PDCP.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub pdcp_sn_size: Option<u8>,
    }
}

impl Config {
    /// What entities with these parameters could not work with.
    pub fn check(&self) -> Result<(), ScenarioError> {
        lte::check(self.tti, self.discard_timer)?;
        lte::check_pdcp(self.pdcp_sn_size, &[12, 15, 18], "write 12, 15 or 18, or leave it out")?;
        if self.t_poll_retransmit.is_zero() {
            return Err(ScenarioError::new(
                "t_poll_retransmit",
                "is zero",
                "write a time such as \"120 ms\"",
            ));
        }
        if let Some(pdus) = self.poll_pdu.filter(|pdus| !(1..=WINDOW).contains(&u64::from(*pdus))) {
            let message = format!("is {pdus}, and the window has {WINDOW} PDUs: it would never poll");
            let hint = format!("write 1 to {WINDOW}, or leave it out");
            return Err(ScenarioError::new("poll_pdu", message, hint));
        }
        if self.poll_byte.is_some_and(|octets| octets.as_u64() == 0) {
            return Err(ScenarioError::new("poll_byte", "is zero", "write 1 byte or more, or leave it out"));
        }
        if self.max_retx_threshold == 0 {
            return Err(ScenarioError::new(
                "max_retx_threshold",
                "lets no PDU be sent again",
                "write 1 or more",
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
            config.check().map_or_else(|error| error.to_string(), |()| String::new())
        };
        assert_eq!(error(|_| ()), "");
        assert_eq!(
            error(|c| (c.poll_pdu, c.poll_byte, c.t_status_prohibit) = (None, None, Duration::ZERO)),
            ""
        );
        assert_eq!(error(|c| c.tti = Duration::ZERO), "tti: is zero; write a TTI such as \"1 ms\"");
        assert_eq!(error(|c| c.pdcp_sn_size = Some(18)), "");
        assert_eq!(
            error(|c| c.pdcp_sn_size = Some(7)),
            "pdcp_sn_size: is 7, which is no size of a sequence number here; write 12, 15 or 18, or leave it out"
        );
        // Whether that is too little depends on HARQ.
        assert_eq!(error(|c| c.t_reordering = Duration::ZERO), "");
        assert_eq!(
            error(|c| c.t_poll_retransmit = Duration::ZERO),
            "t_poll_retransmit: is zero; write a time such as \"120 ms\""
        );
        for pdus in [0, 513] {
            let config = Config { poll_pdu: Some(pdus), ..Config::default() };
            assert_eq!(
                config.check().unwrap_err().to_string(),
                format!(
                    "poll_pdu: is {pdus}, and the window has 512 PDUs: it would never poll; \
                     write 1 to 512, or leave it out"
                )
            );
        }
        assert_eq!(
            error(|c| c.poll_byte = Some(Bytes::from_bytes(0))),
            "poll_byte: is zero; write 1 byte or more, or leave it out"
        );
        assert_eq!(
            error(|c| c.max_retx_threshold = 0),
            "max_retx_threshold: lets no PDU be sent again; write 1 or more"
        );
        assert_eq!(
            error(|c| c.discard_timer = Some(Duration::ZERO)),
            "discard_timer: is zero; write a time, or leave it out"
        );
    }
}
