//! Parameters of RLC TM (TS 25.322 §9.2.2.9, §9.7.3).

use crate::error::ScenarioError;
use crate::rlc::{Errors, limits};
use crate::time::Duration;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// There are none on the air; traces count PDUs with as many as AM has.
pub(super) const SEQUENCE_NUMBERS: u64 = 4096;

/// Transparent Mode, one direction: no header, and no SDU larger than a TTI.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Length of a TTI.
    pub tti: Duration,
    /// Start of the first TTI; the others follow without gap.
    pub offset: Duration,
    /// Correlation of losses within a TTI.
    pub errors: Errors,
    /// Size of a PDU with segmentation. Without, a PDU is as large as its SDU; the TTI has room for the same octets.
    pub pdu: Bytes,
    /// Whether an SDU is cut into the PDUs of a TTI, which it then has for itself.
    pub segmentation: bool,
    /// Discard an SDU that was not sent within this time; absent: an SDU discards those that wait since an earlier TTI.
    pub timer_discard: Option<Duration>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tti: Duration::from_millis(10),
            offset: Duration::ZERO,
            errors: Errors::PerTti,
            pdu: Bytes::from_bytes(40),
            segmentation: false,
            timer_discard: None,
        }
    }
}

impl Config {
    /// What entities with these parameters could not work with.
    pub fn check(&self) -> Result<(), ScenarioError> {
        if self.pdu.as_u64() == 0 {
            return Err(ScenarioError::new("pdu", "is zero", "write a size such as \"40 B\""));
        }
        limits::check_timer("timer_discard", self.timer_discard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_named_with_a_remedy() {
        let error =
            |config: Config| config.check().map_or_else(|error| error.to_string(), |()| String::new());
        assert_eq!(error(Config::default()), "");
        let pdu = Config { pdu: Bytes::from_bytes(0), ..Config::default() };
        assert_eq!(error(pdu), "pdu: is zero; write a size such as \"40 B\"");
        let timer = Config { timer_discard: Some(Duration::ZERO), ..Config::default() };
        assert_eq!(error(timer), "timer_discard: is zero; write a time, or leave it out");
    }
}
