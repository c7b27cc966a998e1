//! Cells: radio bearers and whoever shares them.

mod bearer;
mod buffer;
mod delay_line;
mod departures;
mod flow_buffers;
mod opportunities;
mod outages;
mod packets;
mod pdu_capture;
mod ttis;
mod whole;
pub mod dch;
pub mod evdo;
pub mod variable;

use crate::element::Element;
use crate::error::ScenarioError;
use crate::handover;
use crate::packet::Dir;
use crate::queue;
use crate::registry::registry;
use crate::time::Instant;
use crate::umts::TrafficClass;

registry! {
    /// A kind of cell and its parameters.
    pub enum Config: build(plan: &Plan<'_>) -> Box<dyn Element> {
        Dch = dch,
        Evdo = evdo,
        Variable = variable,
    }
}

/// What a cell is told beside its own parameters.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Seed of the run.
    pub run_seed: u64,
    /// Hand-overs of its UEs.
    pub handovers: &'a [handover::Config],
    /// Traffic classes of its UEs by number; those beyond the list have the default.
    pub classes: &'a [TrafficClass],
}

impl Plan<'_> {
    /// A cell in which nothing else happens.
    pub const fn of(run_seed: u64) -> Self {
        Self { run_seed, handovers: &[], classes: &[] }
    }

    /// Traffic class of a UE.
    pub fn class(&self, ue: u16) -> TrafficClass {
        self.classes.get(usize::from(ue)).copied().unwrap_or_default()
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::Dch(dch::Config::default())
    }
}

impl Config {
    /// Number of UEs in the cell.
    pub fn ues(&self) -> u16 {
        match self {
            Self::Dch(config) => config.ues,
            Self::Evdo(config) => config.ues,
            Self::Variable(config) => config.ues,
        }
    }

    /// How many packets may wait in the buffer of a bearer in this direction; `None` without such a limit.
    pub fn limit_sdus(&self, dir: Dir) -> Option<u32> {
        let queue = match (self, dir) {
            (Self::Dch(config), _) => return config.limit_sdus(dir),
            (Self::Evdo(config), Dir::Downlink) => &config.downlink.queue,
            (Self::Evdo(config), Dir::Uplink) => &config.uplink.queue,
            (Self::Variable(config), _) => &config.bearer(dir).queue,
        };
        queue.limit_sdus()
    }

    /// Whether the queue discipline of a bearer in this direction counts what it has to deliver until it drops again.
    pub fn has_discard_counter(&self, dir: Dir) -> bool {
        match (self, dir) {
            (Self::Dch(config), _) => config.queues(dir).any(queue::Config::has_discard_counter),
            (Self::Evdo(config), Dir::Downlink) => config.downlink.queue.has_discard_counter(),
            (Self::Evdo(config), Dir::Uplink) => config.uplink.queue.has_discard_counter(),
            (Self::Variable(config), _) => config.bearer(dir).queue.has_discard_counter(),
        }
    }

    /// When the first bearer goes dead for good, because its channel has an end; `None` if none does.
    pub fn ends(&self) -> Option<Instant> {
        match self {
            Self::Dch(_) => None,
            Self::Evdo(config) => config.ends(),
            Self::Variable(config) => config.ends(),
        }
    }

    /// Refuses hand-overs in a cell that has none.
    ///
    /// # Errors
    /// Names the list, what is wrong, and what would be right.
    pub fn check_handovers(&self, handovers: &[handover::Config]) -> Result<(), ScenarioError> {
        match self {
            Self::Evdo(_) | Self::Variable(_) if !handovers.is_empty() => {
                let message = format!("radio.{} has no hand-overs", self.name());
                let hint = "choose radio.dch as the cell, or remove them";
                Err(ScenarioError::new("handover", message, hint))
            }
            Self::Dch(_) | Self::Evdo(_) | Self::Variable(_) => Ok(()),
        }
    }

    /// Refuses what no cell can do.
    ///
    /// # Errors
    /// Names the key below `radio`, what is wrong, and what would be right.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        if self.ues() == 0 {
            let error = ScenarioError::new("ues", "a cell needs at least one UE", "write ues = 1");
            return Err(error.under(self.name()));
        }
        match self {
            Self::Dch(config) => config.validate(),
            Self::Evdo(config) => config.validate(),
            Self::Variable(config) => config.validate(),
        }
        .map_err(|error| error.under(self.name()))
    }
}
