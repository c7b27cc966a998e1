//! Flows over several paths: `over` with a list, and `multipath`.

use super::{Flow, Scenario};
use crate::app::Carrier;
use crate::error::ScenarioError;
use crate::host::{FlowSpec, Several};
use crate::middlebox;
use crate::tcp::multipath::scheduler;
use crate::tcp::{Handshake, multipath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One place where the UE is attached, or several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "not a place; write the name of a cell or way, or a list of names")]
pub enum Over {
    /// The name of a cell or way.
    One(String),
    /// The interfaces of a connection over several paths, in their order.
    Several(Vec<Place>),
}

/// An interface of a UE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "not a place; write the name of a cell or way")]
pub enum Place {
    /// The name of the cell or way that it is attached to at the start.
    Name(String),
    /// Its number.
    Number(u16),
}

impl Place {
    /// The index of the interface; names have become indices when a scenario was read.
    fn number(&self) -> Option<u16> {
        match self {
            Self::Name(_) => None,
            Self::Number(number) => Some(*number),
        }
    }
}

/// How the paths of a connection are used: Multipath TCP, RFC 8684.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Multipath {
    /// Which path new data takes.
    pub scheduler: scheduler::Config,
    /// Names of the cells and ways in `over` that are used only if no other works.
    pub backup: Vec<Place>,
    /// Whether data outstanding on a path is also sent on another path after a timeout.
    pub reinject: bool,
    /// Whether the fastest path, while the receive window blocks it, sends the bytes that the window waits for, and the
    /// congestion window of the path that has them is halved, at most once per round trip: Raiciu et al., NSDI 2012.
    pub opportunistic: bool,
}

impl Default for Multipath {
    fn default() -> Self {
        let multipath::Config { scheduler, reinject, opportunistic } = multipath::Config::default();
        Self { scheduler, backup: Vec::new(), reinject, opportunistic }
    }
}

impl Scenario {
    /// The first flow that entry `entry` of `[[flow]]` describes, of the UE with the lowest number.
    pub fn first_of(&self, entry: usize) -> Option<FlowSpec> {
        let own = self.flow.get(entry)?;
        let ue = (0..self.ues()).find(|ue| own.is_at(*ue))?;
        let before = self.flow[..entry].iter().filter(|flow| flow.is_at(ue));
        let number: u16 = before.map(|flow| flow.app.connections()).sum();
        self.flows().into_iter().find(|spec| (spec.ue, spec.flow) == (ue, number))
    }

    /// Refuses endpoints and boxes that a connection over several paths does not allow.
    pub(super) fn validate_multipaths(&self) -> Result<(), ScenarioError> {
        for (index, flow) in self.flow.iter().enumerate().filter(|(_, flow)| !flow.paths().is_empty()) {
            self.check_places(flow).map_err(|error| error.under(&format!("flow[{index}]")))?;
            let (key, tcp) = match &flow.tcp {
                Some(own) => (format!("flow[{index}].tcp"), own),
                None => ("tcp".to_owned(), &self.tcp),
            };
            if tcp.handshake != Handshake::ThreeWay {
                let (message, hint) = (
                    "each path of a connection is opened by three segments",
                    "write three_way, or a single path",
                );
                return Err(ScenarioError::new(format!("{key}.handshake"), message, hint));
            }
            let subflow = multipath::subflow_config(tcp);
            if subflow.payload_bytes() == 0 {
                let message = "segments have no room for the option of Multipath TCP, 28 B".to_owned();
                return Err(ScenarioError::new(format!("{key}.mss"), message, "write a larger size"));
            }
            subflow.validate().map_err(|error| error.under(&key))?;
            let splits = |(_, config, _): &&(String, &middlebox::Config, _)| config.name() == "split";
            if let Some((at, ..)) = self.boxes().iter().find(splits) {
                let message = "the box ends TCP connections, and one of them has several paths".to_owned();
                return Err(ScenarioError::new(
                    at.clone(),
                    message,
                    "remove the box, or give the flow one path",
                ));
            }
        }
        Ok(())
    }

    /// Refuses paths that are not the interfaces of one UE, or that are legs of a split bearer.
    fn check_places(&self, flow: &Flow) -> Result<(), ScenarioError> {
        let error = |message: String, hint: &str| Err(ScenarioError::new("over", message, hint));
        if !self.is_graph() {
            let hint = "write a single path, or [[cell]] and [[ue]] with names";
            return error("the scenario has one cell, and no [[ue]] with names".into(), hint);
        }
        let paths = flow.paths();
        let mut first = 0;
        for ue in &self.ue {
            let own = first..first + ue.attach.len() as u16;
            first = own.end;
            if !paths.iter().any(|path| own.contains(path)) {
                continue;
            }
            if let Some(path) = paths.iter().find(|path| !own.contains(path)) {
                let message = format!("\"{}\" has no interface {path}: that is another UE's", ue.name);
                return error(message, "write the names of places where the UE is attached");
            }
            if ue.split.is_some() {
                let message =
                    format!("PDCP splits the bearer of \"{}\" over its cells: it is one path", ue.name);
                return error(message, "remove the key, or remove `split` from the [[ue]]");
            }
        }
        Ok(())
    }
}

impl Flow {
    /// The interfaces of a flow over several paths, in their order; empty for every other flow.
    pub(crate) fn paths(&self) -> Vec<u16> {
        match &self.over {
            Some(Over::Several(places)) => places.iter().filter_map(Place::number).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether the flow, or one of its paths, is at this interface.
    pub(super) fn is_at(&self, ue: u16) -> bool {
        match &self.over {
            Some(Over::Several(_)) => self.paths().contains(&ue),
            _ => self.ue.includes(ue),
        }
    }

    /// The part that an interface has in the connection `number`.
    pub(super) fn several(&self, number: u16, ue: u16) -> Option<Arc<Several>> {
        let paths = self.paths();
        let path = paths.iter().position(|own| *own == ue)? as u16;
        let Multipath { scheduler, backup, reinject, opportunistic } =
            self.multipath.clone().unwrap_or_default();
        let is_backup = |own: &u16| backup.contains(&Place::Number(*own));
        Some(Arc::new(Several {
            connection: number,
            path,
            backup: paths.iter().map(is_backup).collect(),
            config: multipath::Config { scheduler, reinject, opportunistic },
        }))
    }

    /// Refuses paths that cannot carry the flow.
    pub(super) fn validate_paths(&self, ues: u16) -> Result<(), ScenarioError> {
        let error = |key: &str, message: String, hint: &str| Err(ScenarioError::new(key, message, hint));
        let Some(Over::Several(places)) = &self.over else {
            return match &self.multipath {
                None => Ok(()),
                Some(_) => error(
                    "multipath",
                    "the flow has one path".into(),
                    "write over = [\"NAME\", \"NAME\"], the places where the UE is attached, or remove the key",
                ),
            };
        };
        let paths = self.paths();
        if paths.len() < places.len() {
            let hint = "write the name of the UE in `ue`";
            return error("over", "goes with the name of a UE".into(), hint);
        }
        if let Some(path) = paths.iter().find(|path| **path >= ues) {
            let message = format!("there is no interface {path}: there are {ues}, counted from 0");
            return error("over", message, "write the names of places where the UE is attached");
        }
        let is_repeated = |at: usize| paths[..at].contains(&paths[at]);
        if !(2..=8).contains(&paths.len()) || (1..paths.len()).any(is_repeated) {
            let message = format!("{} paths of one connection", paths.len());
            return error("over", message, "write two to eight different places where the UE is attached");
        }
        if self.ue != super::UeChoice::One(paths[0]) {
            let hint = "write the name of the UE in `ue`";
            return error("over", "goes with the name of a UE".into(), hint);
        }
        if self.app.carrier() != Carrier::Tcp {
            let message = format!("{} is not one connection with data in one direction", self.app.name());
            return error("over", message, "choose another app, or a single path");
        }
        if let Some(multipath) = &self.multipath {
            multipath.scheduler.validate().map_err(|wrong| wrong.under("multipath.scheduler"))?;
            if let Some(shares) = multipath.scheduler.paths().filter(|shares| *shares != paths.len()) {
                let message = format!("{shares} shares for {} paths", paths.len());
                let hint = "write as many numbers as `over` has names, such as [70, 30]";
                return error("multipath.scheduler.round_robin.shares", message, hint);
            }
            if multipath.opportunistic && !multipath.scheduler.allows_opportunistic() {
                let message =
                    format!("the scheduler {} gives no path data of another", multipath.scheduler.name());
                let hint = "remove the key, or choose another scheduler, such as min_rtt";
                return error("multipath.opportunistic", message, hint);
            }
            let is_path = |place: &Place| place.number().is_some_and(|number| paths.contains(&number));
            if !multipath.backup.iter().all(is_path) {
                let hint = "write names that `over` has";
                return error("multipath.backup", "one of them is no path of the flow".into(), hint);
            }
            if multipath.backup.contains(&Place::Number(paths[0])) {
                let hint = "let another path be the first in `over`";
                return error("multipath.backup", "the first path opens the connection".into(), hint);
            }
        }
        Ok(())
    }
}
