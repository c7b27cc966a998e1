//! No link layer: packets are sent whole, one after the other, and arrive without errors.
//!
//! What many studies take for a radio link, and the uplink of \[lundsten\]. The channel's block
//! errors do not apply: without retransmission a lost block would be a lost packet.

use super::Rlc;
use crate::rng::Stream;
use crate::units::Bitrate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No link layer: packets are sent whole and arrive without errors.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {}

impl Config {
    pub(super) fn build(&self, _rate: Bitrate, _stream: Stream) -> Option<Box<dyn Rlc>> {
        None
    }
}
