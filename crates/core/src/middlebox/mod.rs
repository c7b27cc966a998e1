//! Boxes beside the radio cell: in the network, between it and the wired link, or at the UEs.
//!
//! Contract: a packet whose TCP header cannot be read (ESP, fragments, UDP) passes unchanged and is
//! counted. A box may delay, drop or mark, or end connections; what it holds is bounded.

pub mod ack_filter;
pub mod ack_pacing;
pub mod ack_rate_control;
pub mod ack_regulator;
mod acks;
pub mod disturb;
pub mod freeze;
pub mod packet_loss;
pub mod rnc_feedback;
pub mod snoop;
pub mod split;
pub mod tap;

pub use acks::Place;

use crate::element::Element;
use crate::error::ScenarioError;
use crate::host::FlowSpec;
use crate::radio;
use crate::registry::registry;
use crate::tcp;

/// What a box is told beside its own parameters.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Seed of the run.
    pub run_seed: u64,
    /// Which of the scenario's boxes it is, from 0.
    pub number: usize,
    /// All flows of the scenario; none in a session.
    pub flows: &'a [FlowSpec],
    /// In a session, whose packets have octets and whose connections are none of the scenario's: our TCP, `[tcp]`.
    pub session: Option<&'a tcp::Config>,
}

impl<'a> Plan<'a> {
    /// For the only box of a scenario.
    pub const fn of(run_seed: u64, flows: &'a [FlowSpec]) -> Self {
        Self { run_seed, number: 0, flows, session: None }
    }
}

registry! {
    /// A middlebox and its parameters.
    pub enum Config: build(plan: &Plan<'_>) -> Box<dyn Element> {
        AckFilter = ack_filter,
        AckPacing = ack_pacing,
        AckRateControl = ack_rate_control,
        AckRegulator = ack_regulator,
        Disturb = disturb,
        Freeze = freeze,
        PacketLoss = packet_loss,
        RncFeedback = rnc_feedback,
        Snoop = snoop,
        Split = split,
        Tap = tap,
    }
}

impl Config {
    /// Refuses what cannot work with these flows and this cell, where `[tcp]` of the scenario says `shared`.
    ///
    /// # Errors
    /// Names the key below the box, what is wrong, and what would be right.
    pub fn validate(
        &self,
        shared: &tcp::Config,
        flows: &[FlowSpec],
        radio: &radio::Config,
    ) -> Result<(), ScenarioError> {
        match self {
            Self::AckFilter(config) => config.validate(),
            Self::AckPacing(config) => config.validate(),
            Self::AckRateControl(config) => config.validate(radio),
            Self::AckRegulator(config) => config.validate(flows, radio),
            Self::Disturb(config) => config.validate(),
            Self::Freeze(config) => config.validate(),
            Self::PacketLoss(config) => config.validate(),
            Self::RncFeedback(config) => config.validate(),
            Self::Snoop(config) => config.validate(),
            Self::Split(config) => config.validate(shared, flows),
            Self::Tap(_) => Ok(()),
        }
        .map_err(|inner| inner.under(self.name()))
    }

    /// Where the box stands.
    pub fn place(&self) -> Place {
        match self {
            Self::AckFilter(config) => config.at,
            Self::AckPacing(config) => config.at,
            Self::AckRateControl(config) => config.at,
            Self::AckRegulator(config) => config.at,
            Self::Disturb(config) => config.at,
            Self::Freeze(config) => config.at,
            Self::PacketLoss(config) => config.at,
            Self::RncFeedback(_) | Self::Snoop(_) | Self::Split(_) | Self::Tap(_) => Place::Network,
        }
    }

    /// Refuses what the box can do in a simulation alone.
    ///
    /// # Errors
    /// Names the key below the box, what is wrong, and what would be right.
    pub fn validate_session(&self) -> Result<(), ScenarioError> {
        match self {
            Self::Split(config) => config.validate_session(),
            Self::AckFilter(_)
            | Self::AckPacing(_)
            | Self::AckRateControl(_)
            | Self::AckRegulator(_)
            | Self::Disturb(_)
            | Self::Freeze(_)
            | Self::PacketLoss(_)
            | Self::RncFeedback(_)
            | Self::Snoop(_)
            | Self::Tap(_) => Ok(()),
        }
        .map_err(|inner| inner.under(self.name()))
    }
}
