//! No link layer: packets are sent whole, one after the other, and arrive without errors.
//!
//! The model of a radio link in many studies, and the uplink of \[lundsten\]. The channel's block errors do not apply:
//! without retransmission a lost block would be a lost packet.

use super::Component;
use crate::channel;
use crate::error::ScenarioError;
use crate::registry::parameters;

parameters! {
    /// No link layer: packets are sent whole and arrive without errors.
    pub struct Config {}
}

impl Component for Config {
    fn sends_whole(&self) -> bool {
        true
    }

    fn check_bearer(&self, channel: &channel::Config) -> Result<(), ScenarioError> {
        if !channel.is_error_free() {
            return Err(ScenarioError::new(
                "channel",
                "without a link layer nothing retransmits lost blocks",
                "choose rlc.fixed_delay_arq, or remove the channel",
            ));
        }
        Ok(())
    }
}
