//! Checks of scenarios with names.

use super::Scenario;
use crate::error::ScenarioError;
use crate::middlebox::Place;
use crate::scenario::{Flow, Over};

impl Scenario {
    /// Refuses names that are missing, taken or unknown, cycles of ways, and ways that lead nowhere.
    pub(in crate::scenario) fn validate_graph(&self) -> Result<(), ScenarioError> {
        self.refuse_names()?;
        if !self.is_graph() {
            return self.refuse_releases();
        }
        let error = |key: String, message: String, hint: String| Err(ScenarioError::new(key, message, hint));
        let places: Vec<(String, &str, Option<&str>)> =
            (self.way.iter().enumerate())
                .map(|(index, way)| (format!("way[{index}]"), way.name.as_str(), way.behind.as_deref()))
                .chain(self.cell.iter().enumerate().map(|(index, cell)| {
                    (format!("cell[{index}]"), cell.name.as_str(), cell.behind.as_deref())
                }))
                .collect();
        let ues = self.ue.iter().enumerate().map(|(index, ue)| (format!("ue[{index}]"), ue.name.as_str()));
        let mut taken = Vec::new();
        for (key, name) in places.iter().map(|(key, name, _)| (key.clone(), *name)).chain(ues) {
            if name.is_empty() {
                return error(format!("{key}.name"), "is missing".into(), "write a name".into());
            }
            if taken.contains(&name) {
                let message = format!("\"{name}\" is the name of another");
                return error(format!("{key}.name"), message, "write a name of its own".into());
            }
            taken.push(name);
        }
        let ways: Vec<_> = self.way.iter().map(|way| format!("\"{}\"", way.name)).collect();
        for (key, name, behind) in &places {
            let Some(behind) = behind else { continue };
            if !self.way.iter().any(|way| way.name == *behind) {
                let hint = if ways.is_empty() {
                    "add a [[way]]".into()
                } else {
                    format!("known: {}", ways.join(", "))
                };
                return error(format!("{key}.behind"), format!("there is no way \"{behind}\""), hint);
            }
            if self.is_behind(Some(behind), name) {
                let hint = "let one of them begin at the server: remove its `behind`".into();
                return error(format!("{key}.behind"), "the ways form a circle".into(), hint);
            }
        }
        if self.ue.is_empty() {
            let hint = "add [[ue]] with a name and attach = [\"NAME OF A CELL OR WAY\"]".into();
            return error("ue".into(), "no UE is attached to any of the cells and ways".into(), hint);
        }
        let names: Vec<_> = places.iter().map(|(_, name, _)| format!("\"{name}\"")).collect();
        for (index, ue) in self.ue.iter().enumerate() {
            let key = format!("ue[{index}].attach");
            if let Some(to) = ue.attach.iter().find(|to| !places.iter().any(|(_, name, _)| name == to)) {
                let hint = format!("known: {}", names.join(", "));
                return error(key, format!("there is no cell and no way \"{to}\""), hint);
            }
        }
        for (index, way) in self.way.iter().enumerate() {
            if let Some(number) = way.middlebox.iter().position(|config| config.place() == Place::Ue) {
                let key = format!("way[{index}].middlebox[{number}].{}.at", way.middlebox[number].name());
                return error(
                    key,
                    "no UE is at the end of this box".into(),
                    "move the box into a [[cell]]".into(),
                );
            }
            let leads = places.iter().any(|(_, _, behind)| *behind == Some(&way.name))
                || self.interfaces().any(|(_, to)| *to == way.name);
            if !leads {
                let hint = "let a cell be `behind` it, or attach a UE to it".into();
                return error(format!("way[{index}].name"), format!("\"{}\" leads nowhere", way.name), hint);
            }
        }
        self.validate_changes()?;
        self.validate_split()
    }

    /// Refuses keys that require names of UEs and cells if there are none.
    fn refuse_names(&self) -> Result<(), ScenarioError> {
        // Where `ue` is a name, `over` and `from` have been read with it.
        let is_name = |flow: &Flow| matches!(flow.over, Some(Over::One(_)));
        let mut flows = (0..).zip(&self.flow).filter(|(_, flow)| is_name(flow));
        let over = flows.next().map(|(at, _): (usize, _)| format!("flow[{at}].over"));
        let mut moves = (0..).zip(&self.handover);
        let moved = moves.find_map(|(at, handover): (usize, _)| {
            let key = if handover.from.is_some() { "from" } else { "to" };
            let is_misplaced = handover.from.is_some() || handover.to.is_some() && !self.is_graph();
            is_misplaced.then(|| format!("handover[{at}].{key}"))
        });
        let Some(key) = over.or(moved) else { return Ok(()) };
        let (message, hint) = match self.is_graph() {
            true => ("goes with the name of a UE, and `ue` is a number", "write the name, or remove the key"),
            false => (
                "the scenario has one cell, and no [[ue]] with names",
                "remove the key, or write [[cell]] and [[ue]]",
            ),
        };
        Err(ScenarioError::new(key, message, hint))
    }

    /// Refuses changes of cell that cannot be.
    fn validate_changes(&self) -> Result<(), ScenarioError> {
        let mut cells_of: Vec<String> = self.interfaces().map(|(_, to)| to.clone()).collect();
        let mut ordered: Vec<_> = self.handover.iter().enumerate().collect();
        ordered.sort_by_key(|(_, handover)| handover.at);
        for (index, handover) in ordered {
            let error = |key: &str, message: String, hint: String| {
                Err(ScenarioError::new(format!("handover[{index}].{key}"), message, hint))
            };
            let cells: Vec<_> = self.cell.iter().map(|cell| format!("\"{}\"", cell.name)).collect();
            let Some(here) = cells_of.get_mut(usize::from(handover.ue)) else { continue };
            if !self.cell.iter().any(|cell| cell.name == *here) {
                let message = format!("the interface is attached to \"{here}\", which is no cell");
                return error("ue", message, "choose another with `from`".into());
            }
            let Some(to) = &handover.to else { continue };
            if !self.cell.iter().any(|cell| cell.name == *to) {
                return error(
                    "to",
                    format!("there is no cell \"{to}\""),
                    format!("known: {}", cells.join(", ")),
                );
            }
            if here == to {
                let message = format!("the interface is in \"{to}\" already");
                return error("to", message, "choose another cell, or remove the key".into());
            }
            *here = to.clone();
        }
        for (index, ends) in self.moves().ends.into_iter().enumerate() {
            let Some((from, to)) = ends else { continue };
            for cell in self.cell.iter().filter(|cell| [from, to].contains(&cell.name.as_str())) {
                let own = &self.handover[index..=index];
                cell.radio.check_handovers(own).map_err(|error| {
                    let message = format!("{} (\"{}\")", error.message, cell.name);
                    ScenarioError::new(format!("handover[{index}]"), message, error.hint)
                })?;
            }
        }
        Ok(())
    }
}
