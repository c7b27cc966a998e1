//! Parameters of PDCP (TS 38.331 §6.3.2, PDCP-Config).

use crate::error::ScenarioError;
use crate::registry::parameters;
use crate::time::Duration;
use crate::wire::pdcp::header_octets;

parameters! {
    /// PDCP of NR above rlc.am_nr or rlc.um_nr, one direction. Keys are those of TS 38.331; any time is taken, not only
    /// those listed there.
    pub struct Config {
        /// pdcp-SN-Size: bits of a sequence number, 12 or 18.
        pub sn: u8 = 18,
        /// t-Reordering: a missing SDU is waited for this long. If absent, without limit. Longer than RLC takes to
        /// repair a loss, which is t_reassembly, the delay of a STATUS PDU and a retransmission.
        pub t_reordering: Option<Duration> = Some(Duration::from_millis(100)),
        /// discardTimer: an SDU whose transmission has not begun within this time is discarded. If absent, no SDU is discarded.
        pub discard_timer: Option<Duration>,
        /// outOfOrderDelivery: SDUs are handed up as they arrive, and only duplicates dropped.
        pub out_of_order: bool = false,
        /// statusReportRequired: after a hand-over or a radio link failure the receiver reports what it has.
        pub status_report: bool = true,
        /// What the transmitter does at a hand-over or a radio link failure, with rlc.am_nr.
        pub at_handover: AtHandover,
    }

    /// What the transmitter does when RLC of acknowledged mode is re-established.
    pub enum AtHandover {
        /// Transmits all SDUs again from the first one on whose delivery is not confirmed (reestablishPDCP).
        #[default]
        ReEstablish,
        /// Transmits those again whose delivery is not confirmed (recoverPDCP).
        DataRecovery,
    }
}

impl Config {
    /// Octets of the header of a PDU with data (TS 38.323 §6.2.2.2, §6.2.2.3).
    pub const fn header_octets(&self) -> u32 {
        header_octets(self.sn)
    }

    /// Window_Size: half of the sequence numbers (§7.2).
    pub const fn window(&self) -> u64 {
        1 << (self.sn - 1)
    }

    /// Refuses what no entity can work with.
    ///
    /// # Errors
    ///
    /// The key, what is wrong with it, and what to write.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        if !matches!(self.sn, 12 | 18) {
            let message = format!("is {}, which is no size of a sequence number", self.sn);
            return Err(ScenarioError::new("sn", message, "write 12 or 18"));
        }
        if self.discard_timer.is_some_and(Duration::is_zero) {
            return Err(ScenarioError::new("discard_timer", "is zero", "write a time, or leave it out"));
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
            config.validate().map_or_else(|error| error.to_string(), |()| String::new())
        };
        assert_eq!(error(|_| ()), "");
        assert_eq!(error(|c| (c.sn, c.t_reordering) = (12, None)), "");
        assert_eq!(error(|c| c.sn = 15), "sn: is 15, which is no size of a sequence number; write 12 or 18");
        assert_eq!(
            error(|c| c.discard_timer = Some(Duration::ZERO)),
            "discard_timer: is zero; write a time, or leave it out"
        );
    }

    #[test]
    fn a_header_has_two_or_three_octets() {
        let of = |sn| Config { sn, ..Config::default() };
        assert_eq!([12, 18].map(|sn| (of(sn).header_octets(), of(sn).window())), [(2, 2048), (3, 131_072)]);
    }
}
