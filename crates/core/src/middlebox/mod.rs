//! Boxes in the network between the wired link and the radio cell.
//!
//! Contract: a packet whose TCP header cannot be read (ESP, fragments, UDP) passes unchanged and is
//! counted. A box may delay, drop or mark, or end connections of simulated hosts; what it holds is bounded.

pub mod split;
pub mod tap;

use crate::element::Element;
use crate::error::ScenarioError;
use crate::host::FlowSpec;
use crate::registry::registry;
use crate::tcp;

registry! {
    /// A middlebox and its parameters.
    pub enum Config: build(flows: &[FlowSpec]) -> Box<dyn Element> {
        Split = split,
        Tap = tap,
    }
}

impl Config {
    /// Refuses what cannot work with these flows, where `[tcp]` of the scenario says `shared`.
    ///
    /// # Errors
    /// Names the key below the box, what is wrong, and what would be right.
    pub fn validate(&self, shared: &tcp::Config, flows: &[FlowSpec]) -> Result<(), ScenarioError> {
        match self {
            Self::Split(config) => config.validate(shared, flows).map_err(|inner| inner.under(self.name())),
            Self::Tap(_) => Ok(()),
        }
    }

    /// Whether the box makes segments of its own: without payload, of use to simulated hosts alone.
    pub fn ends_connections(&self) -> bool {
        match self {
            Self::Split(_) => true,
            Self::Tap(_) => false,
        }
    }
}
