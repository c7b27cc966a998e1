//! Parameters of a split bearer.

use crate::error::ScenarioError;
use crate::pdcp::{self, AtHandover};
use crate::queue;
use crate::registry::parameters;
use crate::time::Duration;
use crate::units::Bytes;

parameters! {
    /// A bearer that PDCP splits over two legs (EN-DC, NR-DC): the two cells that its UE is attached to.
    pub struct Config {
        /// primaryPath: name of the cell whose leg the uplink uses below its threshold; the first of `attach` if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub primary: Option<String>,
        /// PDCP of NR, of both directions. A release of a leg causes data recovery, whatever `at_handover` says.
        pub pdcp: pdcp::Config,
        /// The downlink.
        pub downlink: Downlink,
        /// The uplink.
        pub uplink: Uplink,
    }

    /// The downlink of a split bearer.
    pub struct Downlink {
        /// Discipline of the buffer in front of PDCP; by default droptail of 6 MB.
        pub queue: queue::Config = droptail(6_000_000),
        /// Whether legs say how much they take (TS 38.425), and the rest waits in front of PDCP. If not, the legs take
        /// PDUs in turn, however long their queues are.
        pub flow_control: bool = true,
        /// Time between two downlink data delivery status (DDDS) frames of a leg.
        pub report: Duration = Duration::from_millis(5),
        /// Queueing delay that a leg requests: its desired buffer size is what it sends in this time, in the time between
        /// two reports, and in the time of PDU and report between the cell and PDCP.
        pub buffer: Duration = Duration::from_millis(10),
        /// Duplication: each PDU is transmitted over both legs, and PDCP discards the second copy.
        pub duplication: bool,
    }

    /// The uplink of a split bearer.
    pub struct Uplink {
        /// Discipline of the buffer in front of PDCP; by default droptail of 1 MB.
        pub queue: queue::Config = droptail(1_000_000),
        /// Largest queueing delay of a leg that is given PDUs: what it sends in this time and in 5 ms, at the rate it has now. PDUs
        /// are to be given to legs as late as possible (TS 38.323 §5.2.1); the rest waits in front of PDCP.
        pub buffer: Duration = Duration::from_millis(10),
        /// ul-DataSplitThreshold: with less data in PDCP and both legs only the primary leg is used, else the leg with the
        /// shorter queue. Always the primary leg if absent (infinity).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub threshold: Option<Bytes>,
        /// Duplication, as in the downlink.
        pub duplication: bool,
    }
}

fn droptail(bytes: u64) -> queue::Config {
    let (packets, bytes) = (None, Some(Bytes::from_bytes(bytes)));
    queue::Config::Droptail(queue::droptail::Config { packets, bytes, ..Default::default() })
}

impl Config {
    /// Refuses impossible parameters. Names of cells are not checked here.
    ///
    /// # Errors
    ///
    /// The key, what is wrong with it, and what to write.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        self.pdcp.validate().map_err(|error| error.under("pdcp"))?;
        let defaults = pdcp::Config::default();
        if self.pdcp.at_handover != AtHandover::default() {
            let message =
                "has no effect on a split bearer: PDCP transmits what a released leg has not delivered";
            return Err(ScenarioError::new("pdcp.at_handover", message, "remove the key"));
        }
        if self.pdcp.status_report != defaults.status_report {
            let message = "has no effect on a split bearer: what has arrived is known without it";
            return Err(ScenarioError::new("pdcp.status_report", message, "remove the key"));
        }
        let Downlink { queue, flow_control, report, buffer, duplication } = &self.downlink;
        queue.validate().map_err(|error| error.under("queue").under("downlink"))?;
        self.uplink.queue.validate().map_err(|error| error.under("queue").under("uplink"))?;
        if self.uplink.threshold.is_some() && self.uplink.duplication {
            let message = "has no effect with duplication, which uses both legs always";
            return Err(ScenarioError::new("uplink.threshold", message, "remove one of the two keys"));
        }
        let (down, up) = (Downlink::default(), Uplink::default());
        let has_control = *flow_control && !duplication;
        for (key, time, default, has_effect) in [
            ("downlink.report", *report, down.report, has_control),
            ("downlink.buffer", *buffer, down.buffer, has_control),
            ("uplink.buffer", self.uplink.buffer, up.buffer, !self.uplink.duplication),
        ] {
            if time.is_zero() {
                return Err(ScenarioError::new(key, "is zero", "write a time such as \"5 ms\""));
            }
            if time != default && !has_effect {
                let message = "has no effect without flow control, which duplication does without";
                return Err(ScenarioError::new(key, message, "remove it"));
            }
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
        assert_eq!(error(|c| c.pdcp.sn = 12), "");
        assert_eq!(
            error(|c| c.pdcp.sn = 11),
            "pdcp.sn: is 11, which is no size of a sequence number; write 12 or 18"
        );
        assert_eq!(
            error(|c| c.downlink.report = Duration::ZERO),
            "downlink.report: is zero; write a time such as \"5 ms\""
        );
        assert_eq!(
            error(|c| (c.downlink.duplication, c.downlink.buffer) = (true, Duration::from_millis(1))),
            "downlink.buffer: has no effect without flow control, which duplication does without; remove it"
        );
        assert_eq!(
            error(|c| c.uplink.buffer = Duration::ZERO),
            "uplink.buffer: is zero; write a time such as \"5 ms\""
        );
        let copied = error(|c| (c.uplink.duplication, c.uplink.buffer) = (true, Duration::from_millis(1)));
        assert!(copied.starts_with("uplink.buffer: has no effect"), "{copied}");
        assert!(error(|c| c.pdcp.at_handover = AtHandover::DataRecovery).starts_with("pdcp.at_handover: "));
        assert!(error(|c| c.pdcp.status_report = false).starts_with("pdcp.status_report: "));
        let both = error(|c| (c.uplink.threshold, c.uplink.duplication) = (Some(Bytes::from_bytes(1)), true));
        assert!(both.starts_with("uplink.threshold: "), "{both}");
    }
}
