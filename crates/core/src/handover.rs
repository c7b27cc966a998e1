//! Hand-overs: for a time a UE is in no cell's coverage.
//!
//! A hard hand-over, or a shadow, is an outage of both bearers of a UE at a time that the scenario says. If the serving
//! RNC changes with it (SRNS relocation, TS 25.331 and TS 23.060), the path through the core network does as well.
//!
//! In a scenario with several cells a hand-over may lead `to` another one. What the UE sends from the beginning of the
//! outage on waits for the new cell; downlink packets go there from `path_switch` after its end. What the old cell holds is
//! lost or, with `forward`, goes to the new one, as do packets that still come to the old cell (TS 36.300, 10.1.2.3).
//!
//! Left out: soft hand-over, Iur and drift RNCs. Measurements and decisions: [`crate::mobility`].

use crate::error::ScenarioError;
use crate::time::{Duration, Instant};
use crate::trace::Cause;
use crate::umts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One hand-over of one UE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Number of the UE, or its name in `[[ue]]`.
    #[schemars(with = "NumberOrName")]
    pub ue: u16,
    /// Name of the cell that the UE leaves, if the UE has several interfaces: the cell the interface was attached to at
    /// the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Name of the cell in which it is after the outage; the same if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// How long after the outage downlink packets still go to the old cell, with `to`; no time if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_switch: Option<Duration>,
    /// With `to`: whether the old cell forwards to the new one what it holds and what still comes to it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forward: bool,
    /// When the outage begins.
    pub at: Duration,
    /// How long the UE is out of reach, in both directions.
    pub outage: Duration,
    /// How long before the outage the UE is notified of it.
    pub warning: Duration,
    /// Whether the bearers pause or lose transmissions during the outage.
    pub bearers: Bearers,
    /// The serving RNC changes with it, and the path through `[umts]`.
    pub relocation: Option<umts::Relocation>,
    /// Measurement that triggered it, if a UE has measured it.
    #[serde(skip)]
    pub measured: Option<Measured>,
}

/// Measurement that triggered a hand-over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Cause.
    pub cause: Cause,
    /// When the UE reported it, or when its link failed.
    pub at: Instant,
    /// Number of the cell that served it, in the order of the scenario, and of the new one.
    pub cells: [u16; 2],
    /// Filtered RSRP of the two, dBm.
    pub rsrp_dbm: [f64; 2],
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ue: 0,
            from: None,
            to: None,
            path_switch: None,
            forward: false,
            at: Duration::from_secs(10),
            outage: Duration::from_secs(1),
            warning: Duration::from_millis(500),
            bearers: Bearers::Pause,
            relocation: None,
            measured: None,
        }
    }
}

/// A number, or a name of a `[[ue]]`.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)] // For the schema: names become numbers before a scenario is read.
pub enum NumberOrName {
    /// Number of the interface, from 0.
    Number(u16),
    /// Name of the UE.
    Name(String),
}

/// A hand-over from the point of view of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// The hand-over.
    pub handover: Config,
    /// Role of the cell in it.
    pub role: Role,
    /// Index of the pair of ports over which the cell forwards its data of the UE; `None` if it does not forward.
    pub forward: Option<u16>,
}

impl Episode {
    /// Hand-overs after which UEs are in the same cell.
    pub fn stays(handovers: &[Config]) -> Vec<Self> {
        let stay = |handover: &Config| Self { handover: handover.clone(), role: Role::Stay, forward: None };
        handovers.iter().map(stay).collect()
    }
}

/// Role of a cell in a hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The UE is in the cell before and after it.
    Stay,
    /// The UE is in the cell before and after it, and its bearers are not.
    Release,
    /// The UE leaves the cell.
    Leave,
    /// The UE comes into the cell.
    Enter,
}

/// Behaviour of the bearers during an outage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bearers {
    /// Both sides expect the outage: nothing is sent until it is over, and buffers retain their data.
    #[default]
    Pause,
    /// Neither side expects the outage: both continue to send, and transmissions during the outage are lost.
    Lose,
    /// The leg of a split bearer is released, and added again when the outage ends: PDCP transmits over the other leg
    /// what has not arrived. Only for such legs.
    Release,
}

impl Config {
    /// When the UE is notified of the outage.
    pub fn expected(&self) -> Instant {
        Instant::ZERO + self.at.saturating_sub(self.warning)
    }

    /// When the outage begins.
    pub fn begins(&self) -> Instant {
        Instant::ZERO + self.at
    }

    /// When a cell that the UE leaves stops serving it: with `lose` only after the outage, as neither side is aware of
    /// it.
    pub fn leaves(&self) -> Instant {
        match self.bearers {
            Bearers::Pause | Bearers::Release => self.begins(),
            Bearers::Lose => self.ends(),
        }
    }

    /// When downlink packets are switched to the new cell.
    pub fn switches(&self) -> Instant {
        self.ends() + self.path_switch.unwrap_or_default()
    }

    /// When the UE can be reached again.
    pub fn ends(&self) -> Instant {
        self.begins() + self.outage
    }

    /// Refuses what cannot be, or would be without effect.
    pub fn validate(&self, ues: u16) -> Result<(), ScenarioError> {
        if self.ue >= ues {
            let message = format!("there is no UE {}: the cell has {ues}, counted from 0", self.ue);
            let hint = "raise the cell's number of UEs, or choose another";
            return Err(ScenarioError::new("ue", message, hint));
        }
        if self.to.is_none() && self.path_switch.is_some() {
            let message = "the UE stays in its cell, so no path is switched";
            return Err(ScenarioError::new("path_switch", message, "add `to`, or remove the key"));
        }
        if self.to.is_none() && self.forward {
            let message = "the UE stays in its cell, so nothing is forwarded";
            return Err(ScenarioError::new("forward", message, "add `to`, or remove the key"));
        }
        if self.outage.is_zero() {
            let hint = "write a time such as \"1 s\"";
            return Err(ScenarioError::new("outage", "an outage of no length", hint));
        }
        if self.warning > self.at {
            let message =
                format!("the UE would know {} before the outage, earlier than the run begins", self.warning);
            return Err(ScenarioError::new("warning", message, "write a time of at most `at`"));
        }
        self.relocation.as_ref().map_or(Ok(()), |relocation| {
            relocation.iu.validate().map_err(|error| error.under("iu").under("relocation"))
        })
    }
}

/// Refuses outages of one UE that overlap.
pub fn check_apart(handovers: &[Config]) -> Result<(), ScenarioError> {
    for (index, late) in handovers.iter().enumerate() {
        let overlaps = |early: &&Config| {
            early.ue == late.ue && early.begins() < late.ends() && late.begins() < early.ends()
        };
        if let Some(early) = handovers[..index].iter().find(overlaps) {
            let [(from, to), (other_from, other_to)] =
                [late, early].map(|handover| (handover.at, handover.at + handover.outage));
            let message = format!(
                "the outage of UE {} from {from} to {to} overlaps another from {other_from} to {other_to}",
                late.ue
            );
            let hint = "let one begin when the other has ended, or later";
            let error = ScenarioError::new("at", message, hint);
            return Err(error.under(&format!("handover[{index}]")));
        }
    }
    Ok(())
}
