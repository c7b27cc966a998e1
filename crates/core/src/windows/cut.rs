//! Where a scenario can be cut into regions.

use crate::link::{self, Wire};
use crate::packet::Dir;
use crate::radio::{self, dch};
use crate::scenario::{Scenario, Split};
use crate::time::Duration;

/// The shortest sum of delays for which windows are worth their exchange.
const SHORTEST: Duration = Duration::from_millis(1);

/// Into what a scenario is cut.
#[derive(Clone, Debug, PartialEq)]
pub enum Cut {
    /// Dedicated channels behind one link: every few UEs of the cell are regions.
    Ues(Box<dch::Config>),
    /// Cells or ways that meet at the end of the way with this name, whose link is between the regions.
    Behind(String),
    /// Cells or ways that meet nowhere but at the server.
    Apart,
}

impl Cut {
    /// Finds the cut of a scenario.
    ///
    /// # Errors
    /// Why the scenario is run in one piece.
    pub fn of(scenario: &Scenario) -> Result<Self, String> {
        let flows = scenario.flows();
        if scenario.may_change() {
            return Err("[[change]] may come between any two events".into());
        }
        if scenario.umts.is_some() {
            return Err("[umts]: the core network is one element for all UEs".into());
        }
        if scenario.mobility.is_some() || !scenario.handover.is_empty() {
            return Err("hand-overs: what a cell holds of a UE goes to another one without delay".into());
        }
        if scenario.ue.iter().any(|ue| ue.split.is_some()) {
            return Err("[[ue]] with split: its bearer is in two cells".into());
        }
        if scenario.flow.iter().any(|flow| !flow.paths().is_empty()) {
            return Err(
                "a flow over several paths: its ends see the packets of all of them in one order".into()
            );
        }
        if flows.iter().all(|flow| flow.app.is_finite()) {
            return Err("all transfers are finite: the run ends at the last one's completion, which is not known before".into());
        }
        if !scenario.is_graph() {
            return Self::of_line(scenario);
        }
        match scenario.split() {
            Split::Apart(_) => Ok(Self::Apart),
            Split::Behind(way, _) if !way.middlebox.is_empty() => {
                Err(format!("way {}: its middleboxes see the packets of all cells in one order", way.name))
            }
            Split::Behind(way, _) => {
                check_wire(&way.wired)?;
                Ok(Self::Behind(way.name.clone()))
            }
            Split::Whole => Err("there is one cell".into()),
        }
    }

    fn of_line(scenario: &Scenario) -> Result<Self, String> {
        let radio::Config::Dch(cell) = &scenario.radio else {
            return Err(format!("the UEs of radio.{} share it", scenario.radio.name()));
        };
        if let Some(first) = scenario.middlebox.first() {
            return Err(format!("middlebox.{} sees the packets of all UEs", first.name()));
        }
        if cell.activity.is_some() {
            return Err("radio.dch.activity: the states of all UEs are one element".into());
        }
        if cell.ues < 2 {
            return Err("there is one UE".into());
        }
        check_wire(&scenario.wired)?;
        Ok(Self::Ues(Box::new(cell.clone())))
    }

    /// In words, for people.
    pub fn describe(&self) -> String {
        match self {
            Self::Ues(_) => "each UE's bearers and ends are a region, with the wired link between".into(),
            Self::Behind(way) => {
                format!("each cell or way behind way {way} is a region, with its link between")
            }
            Self::Apart => "each cell or way at the server is a region; they share nothing".into(),
        }
    }
}

/// Whether a link can be between regions.
fn check_wire(config: &link::Config) -> Result<(), String> {
    let Some(wire) = Wire::new(config, 0, "wired") else {
        return Err("wired.queue: it decides by what it knows of each packet".into());
    };
    let delays = wire.delays();
    if let Some(dir) = Dir::BOTH.into_iter().find(|dir| delays[dir.index()].is_zero()) {
        return Err(format!("the wired link has no delay in the {}", dir.name()));
    }
    if delays[0] + delays[1] < SHORTEST {
        return Err(format!("the wired link's delays are below {SHORTEST} together"));
    }
    Ok(())
}
