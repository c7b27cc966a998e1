//! No undo: every timeout and every fast retransmit is taken for a loss. RFC 5681.

use super::{Component, Undo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every timeout and fast retransmit is taken for a loss.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {}

impl Component for Config {
    fn build(&self) -> Option<Box<dyn Undo>> {
        None
    }
}
