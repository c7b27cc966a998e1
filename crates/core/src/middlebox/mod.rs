//! Middleboxes next to the radio cell: in the network, between cell and wired link, or at the UEs.
//!
//! Contract: a packet whose TCP header cannot be read (ESP, fragments, UDP) passes unchanged and is counted. A box may
//! delay, drop or mark packets, or terminate connections; its memory is bounded.

pub mod ack_filter;
pub mod ack_pacing;
pub mod ack_rate_control;
pub mod ack_regulator;
mod acks;
pub mod disturb;
pub mod freeze;
pub mod packet_loss;
pub mod policer;
pub mod rnc_feedback;
pub mod snoop;
pub mod split;
pub mod tap;
pub mod window_clamp;

pub use acks::Place;

use crate::element::Element;
use crate::error::ScenarioError;
use crate::host::FlowSpec;
use crate::radio;
use crate::registry::registry;
#[cfg(test)]
use crate::registry::tests::middlebox as scratch;
use crate::tcp;

/// Context for building a box, in addition to its own parameters.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Seed of the run.
    pub run_seed: u64,
    /// Index of the box in the scenario, from 0.
    pub number: usize,
    /// All flows of the scenario; in a session the flows of simulated UEs.
    pub flows: &'a [FlowSpec],
    /// In a session, whose packets have octets and whose connections are not in the scenario: airpath's TCP, `[tcp]`.
    pub session: Option<&'a tcp::Config>,
}

impl<'a> Plan<'a> {
    /// Context for the only box of a scenario.
    pub const fn of(run_seed: u64, flows: &'a [FlowSpec]) -> Self {
        Self { run_seed, number: 0, flows, session: None }
    }
}

/// The scenario around a box.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// `[tcp]`.
    pub tcp: &'a tcp::Config,
    /// All flows.
    pub flows: &'a [FlowSpec],
    /// The cell whose bearers the box may read; `None` on a path without a cell.
    pub radio: Option<&'a radio::Config>,
}

impl<'a> Around<'a> {
    /// The cell of a box that cannot do without one.
    ///
    /// # Errors
    /// If there is no cell after the box.
    fn cell(&self) -> Result<&'a radio::Config, ScenarioError> {
        let (message, hint) =
            ("no cell is behind the box, whose buffers it reads", "move it into a [[cell]]");
        self.radio.ok_or_else(|| ScenarioError::new("", message, hint))
    }
}

/// Properties of a box's parameters.
pub trait Component {
    /// Makes the box.
    fn build(&self, plan: &Plan<'_>) -> Box<dyn Element>;

    /// Refuses configurations that cannot work in this scenario.
    fn validate(&self, around: &Around<'_>) -> Result<(), ScenarioError> {
        let _ = around;
        Ok(())
    }

    /// Refuses configurations that only a simulation supports. `flows` are the simulated flows of the session.
    fn validate_session(&self, flows: &[FlowSpec]) -> Result<(), ScenarioError> {
        let _ = flows;
        Ok(())
    }

    /// Whether it keeps state for connections, so that the number of one must not be used for another.
    fn follows_connections(&self) -> bool {
        true
    }

    /// Where the box stands.
    fn place(&self) -> Place {
        Place::Network
    }
}

registry! {
    /// A middlebox and its parameters.
    pub enum Config: Component, validate(around: &Around<'_>) {
        AckFilter = ack_filter,
        AckPacing = ack_pacing,
        AckRateControl = ack_rate_control,
        AckRegulator = ack_regulator,
        Disturb = disturb,
        Freeze = freeze,
        PacketLoss = packet_loss,
        Policer = policer,
        RncFeedback = rnc_feedback,
        Snoop = snoop,
        Split = split,
        Tap = tap,
        WindowClamp = window_clamp,
        #[cfg(test)]
        Scratch = scratch,
    }
}

impl Config {
    /// Like the component's own, with the name of the box before the key.
    ///
    /// # Errors
    /// See [`Component::validate_session`].
    pub fn validate_session(&self, flows: &[FlowSpec]) -> Result<(), ScenarioError> {
        (**self).validate_session(flows).map_err(|error| error.under(self.name()))
    }
}

/// Validation of a box without requirements on the scenario.
#[cfg(test)]
fn validate_alone(config: &dyn Component) -> Result<(), ScenarioError> {
    let (tcp, radio) = (tcp::Config::default(), radio::Config::default());
    config.validate(&Around { tcp: &tcp, flows: &[], radio: Some(&radio) })
}
