//! Parameters of RLC AM of NR (TS 38.331 §6.3.2, RLC-Config; TS 38.322 §7.2 to §7.4).

use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::rlc::{Errors, lte};
use crate::time::Duration;
use crate::units::Bytes;

parameters! {
    /// Acknowledged Mode of NR, one direction. Keys are those of TS 38.331; any value is taken, not only those listed
    /// there.
    pub struct Config {
        /// Length of a TTI, where the cell does not give it.
        pub tti: Duration = Duration::from_millis(10),
        /// Start of the first TTI; the others follow without gap.
        pub offset: Duration,
        /// Correlation of losses within a TTI.
        pub errors: Errors = Errors::PerTti,
        /// sn-FieldLength: bits of a sequence number, 12 or 18. The window is half of the numbers.
        pub sn: u8 = 18,
        /// t-PollRetransmit: poll again when no answer came in this time.
        pub t_poll_retransmit: Duration = Duration::from_millis(45),
        /// pollPDU: poll on every n-th new PDU. If absent, the number of PDUs causes no poll.
        pub poll_pdu: Option<u32> = Some(64),
        /// pollByte: poll on the PDU that brings the octets sent since the last poll to this. If absent, octets cause no poll.
        pub poll_byte: Option<Bytes> = Some(Bytes::from_bytes(125_000)),
        /// maxRetxThreshold: an SDU that is to be retransmitted for this time is a radio link failure.
        pub max_retx_threshold: u32 = 16,
        /// t-Reassembly: a missing SDU or segment is reported after this. Longer than HARQ repeats a transport block; may
        /// be zero where it repeats none.
        pub t_reassembly: Duration = Duration::from_millis(40),
        /// t-StatusProhibit: no second STATUS PDU within this time; may be zero.
        pub t_status_prohibit: Duration = Duration::from_millis(10),
    }
}

impl Config {
    /// Octets of the header of an AMD PDU without SO (§6.2.2.4).
    pub const fn header_octets(&self) -> u64 {
        if self.sn == 12 { 2 } else { 3 }
    }

    /// AM_Window_Size (§7.2): half of the sequence numbers.
    pub const fn window(&self) -> u64 {
        1 << (self.sn - 1)
    }

    /// What entities with these parameters could not work with.
    pub fn check(&self) -> Result<(), ScenarioError> {
        lte::check(self.tti, None)?;
        if !matches!(self.sn, 12 | 18) {
            let message = format!("is {}, which is no size of a sequence number", self.sn);
            return Err(ScenarioError::new("sn", message, "write 12 or 18"));
        }
        if self.t_poll_retransmit.is_zero() {
            let hint = "write a time such as \"45 ms\"";
            return Err(ScenarioError::new("t_poll_retransmit", "is zero", hint));
        }
        let window = self.window();
        if let Some(pdus) = self.poll_pdu.filter(|pdus| *pdus == 0 || u64::from(*pdus) > window) {
            let message = format!("is {pdus}, and the window has {window} SDUs: it would never poll");
            let hint = format!("write 1 to {window}, or leave it out");
            return Err(ScenarioError::new("poll_pdu", message, hint));
        }
        if self.poll_byte.is_some_and(|octets| octets.as_u64() == 0) {
            return Err(ScenarioError::new("poll_byte", "is zero", "write 1 byte or more, or leave it out"));
        }
        if self.max_retx_threshold == 0 {
            let message = "lets no PDU be retransmitted";
            return Err(ScenarioError::new("max_retx_threshold", message, "write 1 or more"));
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
        assert_eq!(error(|c| (c.poll_pdu, c.poll_byte, c.t_reassembly) = (None, None, Duration::ZERO)), "");
        assert_eq!(error(|c| c.tti = Duration::ZERO), "tti: is zero; write a TTI such as \"1 ms\"");
        assert_eq!(error(|c| c.sn = 10), "sn: is 10, which is no size of a sequence number; write 12 or 18");
        assert_eq!(
            error(|c| c.t_poll_retransmit = Duration::ZERO),
            "t_poll_retransmit: is zero; write a time such as \"45 ms\""
        );
        assert_eq!(
            error(|c| (c.sn, c.poll_pdu) = (12, Some(2049))),
            "poll_pdu: is 2049, and the window has 2048 SDUs: it would never poll; write 1 to 2048, or leave it out"
        );
        assert_eq!(
            error(|c| c.poll_byte = Some(Bytes::from_bytes(0))),
            "poll_byte: is zero; write 1 byte or more, or leave it out"
        );
        assert_eq!(
            error(|c| c.max_retx_threshold = 0),
            "max_retx_threshold: lets no PDU be retransmitted; write 1 or more"
        );
    }
}
