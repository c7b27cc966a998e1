//! A cell of dedicated channels (DCH): each UE has a downlink and an uplink bearer of its own.
//!
//! ```text
//! RNC:  SDU buffer (queue discipline) -> rlc -> slot of one TTI -> channel -> rlc -> UE     downlink
//! UE:   SDU buffer -> rlc -> ... -> RNC                                                      uplink
//! ```
//!
//! Bearers without a link layer (`rlc.none`), and bearers whose link layer fills one slot at a time, are in
//! [`slots`]; link layers based on TTIs, with entities at both ends, are in [`ttis`]. A UE may be unreachable
//! for a time: see `outages`.
//!
//! Left out: soft hand-over, power control beyond the channel's block error rate, signalling.

mod config;
mod slots;
mod ttis;

pub use config::{BearerConfig, ClassConfig, Config};
pub(crate) use slots::Dch;

use crate::element::Element;
use crate::error::ScenarioError;
use crate::packet::Dir;
use crate::queue;
use crate::radio::activity::with_activity;
use crate::radio::outages::with_outages;
use crate::radio::{Component, Plan};

impl Component for Config {
    fn build(&self, plan: &Plan<'_>) -> Box<dyn Element> {
        let cell = ttis::build(self, plan).unwrap_or_else(|| slots::build(self, plan));
        with_outages(with_activity(cell, self.activity.as_ref(), self.ues), plan)
    }

    fn ues(&self) -> u16 {
        self.ues
    }

    fn queues(&self, dir: Dir) -> Vec<&queue::Config> {
        self.bearers(dir).map(|bearer| &bearer.queue).collect()
    }

    fn largest_sdu(&self, dir: Dir) -> Option<u32> {
        self.bearers(dir).filter_map(|bearer| bearer.rlc.largest_sdu()).min()
    }

    fn check_without_core(&self) -> Result<(), ScenarioError> {
        if self.qos.is_empty() {
            return Ok(());
        }
        let message = "the core network gives UEs their classes, and there is none";
        Err(ScenarioError::new("qos", message, "add [umts], or remove the key"))
    }

    fn has_handovers(&self) -> bool {
        true
    }

    fn has_pdus(&self) -> bool {
        self.downlink.rlc.ttis().is_some()
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        self.validate()
    }
}
