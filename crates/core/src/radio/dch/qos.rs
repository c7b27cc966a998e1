//! Bearers by traffic class: which of a cell's bearers a UE has, and whether they go together.

use super::{BearerConfig, Config};
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::queue;
use crate::rlc;
use crate::umts::TrafficClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bearers of the UEs of a traffic class, where they are not the cell's own. What one does not say is as the cell's
/// own of its direction.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClassConfig {
    /// Bearers towards the UEs.
    pub downlink: Option<BearerConfig>,
    /// Bearers from the UEs.
    pub uplink: Option<BearerConfig>,
}

impl ClassConfig {
    fn bearer(&self, dir: Dir) -> Option<&BearerConfig> {
        match dir {
            Dir::Downlink => self.downlink.as_ref(),
            Dir::Uplink => self.uplink.as_ref(),
        }
    }
}

impl Config {
    /// Parameters of one direction for UEs of a traffic class.
    pub fn bearer_of(&self, class: TrafficClass, dir: Dir) -> &BearerConfig {
        self.qos.get(&class).and_then(|bearers| bearers.bearer(dir)).unwrap_or_else(|| self.bearer(dir))
    }

    /// How many packets may wait in any buffer of a direction; `None` if one has no such limit.
    pub(in crate::radio) fn limit_sdus(&self, dir: Dir) -> Option<u32> {
        let limits = self.queues(dir).map(queue::Config::limit_sdus);
        limits.reduce(|one, other| Some(one?.min(other?))).flatten()
    }

    /// The disciplines of all buffers of a direction.
    pub(in crate::radio) fn queues(&self, dir: Dir) -> impl Iterator<Item = &queue::Config> {
        let classes = self.qos.values().filter_map(move |bearers| bearers.bearer(dir));
        classes.chain([self.bearer(dir)]).map(|bearer| &bearer.queue)
    }

    /// Refuses bearers of classes that cannot be, each with those that take the place of a direction not named.
    pub(super) fn validate_classes(&self) -> Result<(), ScenarioError> {
        for (class, bearers) in &self.qos {
            let key = format!("qos.{}", class.name());
            let error = |error: ScenarioError| error.under(&key);
            if bearers == &ClassConfig::default() {
                let hint = "write a downlink, an uplink or both, or remove it";
                return Err(error(ScenarioError::new("", "names no bearer", hint)));
            }
            for dir in Dir::BOTH {
                let result = bearers.bearer(dir).map_or(Ok(()), BearerConfig::validate);
                result.map_err(|inner| error(inner.under(dir.name())))?;
            }
            self.validate_family(*class).map_err(error)?;
            let pair = Dir::BOTH.map(|dir| self.bearer_of(*class, dir));
            super::validate_pair(pair).map_err(error)?;
        }
        Ok(())
    }

    /// The cell keeps time for all its bearers in one way.
    fn validate_family(&self, class: TrafficClass) -> Result<(), ScenarioError> {
        let family = |rlc: &rlc::Config| if rlc.ttis().is_some() { "by TTIs" } else { "without TTIs" };
        let own = &self.bearer(Dir::Downlink).rlc;
        for dir in Dir::BOTH {
            let rlc = &self.bearer_of(class, dir).rlc;
            if family(rlc) != family(own) {
                let message = format!(
                    "rlc.{} goes {}, and rlc.{} of the cell's own downlink goes {}",
                    rlc.name(),
                    family(rlc),
                    own.name(),
                    family(own)
                );
                let hint = "all classes of a cell go by TTIs (rlc.am, rlc.um, rlc.tm), or none does \
                            (rlc.none, rlc.fixed_delay_arq)";
                return Err(ScenarioError::new(format!("{}.rlc", dir.name()), message, hint));
            }
        }
        Ok(())
    }
}
