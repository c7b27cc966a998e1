//! Parameters of a second data radio bearer of each UE.

use super::validate_rlc;
use crate::error::ScenarioError;
use crate::pdcp;
use crate::queue;
use crate::registry::parameters;
use crate::rlc;
use crate::units::Probability;

parameters! {
    /// A second data radio bearer of each UE, with its own queues, PDCP and RLC. Each block serves it before
    /// the default one.
    pub struct SecondBearer {
        /// Whether it carries packets with ECT(1) or CE (L4S), and all later packets of their flows in both directions.
        pub l4s: bool,
        /// IDs of the flows that it carries, as a packet filter for their 5QI would choose them.
        pub flows: Vec<u16>,
        /// Share of a block that it may use while the default bearer has data for the rest; 100 % is strict
        /// priority.
        pub share: Probability = Probability::new(1.0).unwrap_or_default(),
        /// The downlink of the bearer.
        pub downlink: BearerConfig,
        /// The uplink of the bearer.
        pub uplink: BearerConfig = BearerConfig { queue: super::droptail(1_000_000), ..BearerConfig::default() },
    }

    /// One direction of a second bearer.
    pub struct BearerConfig {
        /// Discipline of the bearer's buffer; by default droptail, of 6 MB in the downlink and 1 MB in the uplink.
        pub queue: queue::Config = super::droptail(6_000_000),
        /// Link layer: rlc.am_nr or rlc.um_nr.
        pub rlc: rlc::Config = rlc::Config::AmNr(Default::default()),
        /// PDCP above it.
        pub pdcp: pdcp::Config,
    }
}

impl SecondBearer {
    /// `transmissions` of HARQ in the downlink and the uplink.
    pub(super) fn validate(&self, transmissions: [u8; 2]) -> Result<(), ScenarioError> {
        if !self.l4s && self.flows.is_empty() {
            let hint = "write l4s = true, or the numbers of flows, such as flows = [1]";
            return Err(ScenarioError::new("flows", "nothing would use the second bearer", hint));
        }
        if self.share.as_f64() <= 0.0 {
            return Err(ScenarioError::new("share", "the bearer would get nothing", "write more than 0 %"));
        }
        for (name, dir, most) in
            [("downlink", &self.downlink, transmissions[0]), ("uplink", &self.uplink, transmissions[1])]
        {
            dir.queue.validate().map_err(|error| error.under("queue").under(name))?;
            validate_rlc(&dir.rlc, &dir.pdcp, most).map_err(|error| error.under(name))?;
        }
        rlc::Config::check_pair([&self.downlink.rlc, &self.uplink.rlc], true)
    }
}
